//! What crosses the borders of a part, exchanged once per cycle: flits sent across, places left in the
//! queues behind, headers with what is known of their packets.
//!
//! Every halo has a message. It has, for every channel of its ports, a bit for each of its nodes: flits that come;
//! then for every channel the flits left in the queues that are fed across the edge of the part, bit by bit: the
//! sender adds what it sends. Then comes what the row's registers of buffers ahead show, and their words before
//! it; then the headers, each with its place.

use super::{
    crossing::Crossing,
    halo::{Across, Halo},
    layout::{Layout, NONE, Place},
    packets::{PACKED, Packed},
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::{Vector, above_with, half_add, half_subtract, ones, spans},
    engine::regions::Message,
};

/// Words of a header: its packet, its place in the row and its channel.
const HEADER: usize = PACKED + 1;
/// Numbers of nodes in a [`Place`] wrap around.
const WRAPPED: i64 = 1 << 25;

/// Output channels of some ports.
#[inline(always)]
fn channels_of(ports: &[usize], layout: &Layout) -> impl Iterator<Item = usize> {
    let channels = layout.channels;
    ports.iter().flat_map(move |port| port * channels..(port + 1) * channels)
}

impl<V: Vector, R: Record> State<V, R> {
    /// Flits leave: [`depart`](Self::depart), and what crosses an edge is written down.
    #[inline(always)]
    pub(super) fn leave_part(&mut self, layout: &Layout, cycle: u64, messages: &mut [Message]) {
        if self.demands.reconsiders {
            self.withdraw(layout);
        }
        self.list_packets_that_leave(layout);
        self.depart(layout, cycle);
        for (halo, Message { out, .. }) in layout.halos.iter().zip(&mut *messages) {
            self.write_words(layout, halo, out);
            self.write_signals(halo, out);
        }
        self.write_headers(layout, messages);
        // Their tails are across now.
        for &slot in &self.moving.leaving {
            self.packets.remove(slot);
        }
    }

    /// Flits arrive: [`arrive_all`](Self::arrive_all), with what came across the borders.
    #[inline(always)]
    pub(super) fn enter_part(&mut self, layout: &Layout, cycle: u64, messages: &[Message]) {
        for (halo, Message { come, .. }) in layout.halos.iter().zip(messages) {
            self.read_flits(layout, halo, come);
        }
        self.arrive_all(layout, cycle);
        for (halo, Message { come, .. }) in layout.halos.iter().zip(messages) {
            let flits = halo.back.len() * layout.channels * halo.nodes.div_ceil(64);
            self.read_places(layout, halo, &come[flits..], true);
            // Links of others are not counted here.
            for output in channels_of(&halo.back, layout) {
                for (first, count) in spans(halo.nodes) {
                    self.moving.sent.set_bits(output, halo.others + first as isize, count, 0);
                }
            }
        }
    }

    /// Tells neighbours what room was made, where links send by it in the same cycle.
    pub(super) fn send_room(&mut self, layout: &Layout, messages: &mut [Message]) {
        for (halo, Message { out, .. }) in layout.halos.iter().zip(messages) {
            out.clear();
            self.write_places(layout, halo, out);
        }
    }

    /// Flits are sent late, by what room there is behind the borders; true if any is.
    #[inline(always)]
    pub(super) fn send_from_part(&mut self, layout: &Layout, cycle: u64, messages: &[Message]) -> bool {
        for (halo, Message { come, .. }) in layout.halos.iter().zip(messages) {
            self.read_places(layout, halo, come, false);
        }
        let sends = self.send_late(layout);
        if sends {
            self.close_windows(cycle);
        }
        sends
    }

    /// Slots of packets whose tails cross a halo in this cycle.
    fn list_packets_that_leave(&mut self, layout: &Layout) {
        self.moving.leaving.clear();
        for Halo { nodes, out, own, .. } in &layout.halos {
            for output in channels_of(out, layout) {
                let links = &layout.links[layout.port_of_output(output)];
                for (first, count) in spans(*nodes) {
                    let first = *own as usize + first;
                    let any = |node: usize| self.any[node / V::BITS].tails.has(output);
                    let mut tails = 0;
                    if any(first) || any(first + count - 1) {
                        tails = self.moving.tails.bits(output, first, count);
                    }
                    for bit in ones(tails) {
                        let node = first + bit;
                        // Other nodes of these rows may have their links inside.
                        if any(node) && links.neighbour(node) >= layout.nodes {
                            let place = Place::new(node, output);
                            let registers = self.registers.as_ref();
                            let in_register = registers.map(|all| all.slot(layout, place));
                            let slot = in_register.unwrap_or_else(|| self.passing(layout, place));
                            self.moving.leaving.push(slot);
                        }
                    }
                }
            }
        }
    }

    /// Flits that cross a halo, and flits left in the queues that are fed across it.
    fn write_words(&self, layout: &Layout, halo: &Halo, message: &mut Vec<u64>) {
        let &Halo { nodes, own, ref out, .. } = halo;
        message.clear();
        for output in channels_of(out, layout) {
            message.extend(
                spans(nodes).map(|(first, count)| self.moving.sent.bits(output, own + first as isize, count)),
            );
        }
        self.write_places(layout, halo, message);
    }

    /// Flits left in the queues that are fed across an edge.
    fn write_places(&self, layout: &Layout, halo: &Halo, message: &mut Vec<u64>) {
        let &Halo { nodes, own, ref back, .. } = halo;
        let held = if layout.latency > 1 { &self.queues.held } else { &self.queues.counts };
        for output in channels_of(back, layout) {
            let queue = usize::from(layout.queue_behind[output]);
            for (first, count) in spans(nodes) {
                let first = own as usize + first;
                let has = |node: usize| self.any[node / V::BITS].leaves.has(queue);
                // What leaves is known of those blocks only in which anything does.
                let mut borrow = 0;
                if has(first) {
                    let inside = (V::BITS - first % V::BITS).min(count);
                    borrow |= self.moving.leaves.bits(queue, first, inside);
                }
                if first / V::BITS != (first + count - 1) / V::BITS && has(first + count - 1) {
                    let inside = V::BITS - first % V::BITS;
                    borrow |= self.moving.leaves.bits(queue, first + inside, count - inside) << inside;
                }
                for bit in 0..self.queues.count_bits {
                    let mut left = held.bits(queue * self.queues.count_bits + bit, first, count);
                    half_subtract(&mut left, &mut borrow);
                    message.push(left);
                }
            }
        }
    }

    /// What registers of buffers ahead show of this row.
    fn write_signals(&self, halo: &Halo, message: &mut Vec<u64>) {
        let place = message.len();
        message.extend([0, 0]);
        let &Halo { side: 0 | 1, nodes: row, own, ref back, .. } = halo else { return };
        let back = back[0];
        if let Some(ahead) = &self.ahead {
            ahead.send_halo(back, own, row, message);
        }
        message[place] = (message.len() - place - 2) as u64;
        let begin = message.len();
        if let Some(control) = &self.injection_control {
            control.send_halo(back, own, row, message);
        }
        message[place + 1] = (message.len() - begin) as u64;
    }

    /// Takes what the registers of the row behind an edge show, and returns what follows it.
    fn read_signals<'m>(&mut self, side: usize, message: &'m [u64]) -> &'m [u64] {
        let (words, message) = message.split_at(2);
        if side > 1 {
            return message;
        }
        let (full, message) = message.split_at(words[0] as usize);
        let (busy, message) = message.split_at(words[1] as usize);
        if let Some(ahead) = &mut self.ahead {
            ahead.receive_halo(side, full);
        }
        if let Some(control) = &mut self.injection_control {
            control.receive_halo(side, busy);
        }
        message
    }

    /// What closed sources in other parts must know of this cycle.
    pub(super) fn news(&mut self) -> Option<Vec<u8>> {
        let bytes =
            |(source, number): (u32, u64)| source.to_le_bytes().into_iter().chain(number.to_le_bytes());
        self.sources.are_closed().then(|| self.news.drain(..).flat_map(bytes).collect())
    }

    /// Takes the news of all parts.
    pub(super) fn receive_news(&mut self, cycle: u64, news: &[Vec<u8>]) {
        for item in news.iter().flat_map(|news| news.chunks_exact(12)) {
            let number =
                |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
            let (source, number) = (number(&item[..4]) as u32, number(&item[4..]));
            if self.sources.are_elsewhere(source) {
                continue;
            }
            let counted = self.counted();
            if let Some(windows) = &mut self.windows {
                // Nothing has happened here since they ended.
                windows.close(cycle, counted);
                windows.make_room(source, cycle);
            }
            let feeds = &mut self.feeds;
            self.sources.delivered((source, number, 0), cycle, |node, start| {
                feeds.wake(node, start.max(cycle + 1));
            });
        }
    }

    /// Headers that cross a halo.
    fn write_headers(&mut self, layout: &Layout, messages: &mut [Message]) {
        let nodes = layout.nodes as i64;
        let mut kept = 0;
        for index in 0..self.moving.crossings.items().len() {
            let crossing = self.moving.crossings.items()[index];
            let node = crossing.to.node() as i64;
            if node < nodes {
                self.moving.crossings.items_mut()[kept] = crossing;
                kept += 1;
                continue;
            }
            let place = if node >= WRAPPED / 2 { node - WRAPPED } else { node } as isize;
            let Some(halo) = layout.halo_with(place) else { continue };
            let place = place - layout.halos[halo].others;
            let mut packed = self.packets.pack(crossing.slot);
            if self.sources.looks_up() {
                packed.route -= self.begin_of_route(layout, &packed);
            }
            let message = &mut messages[halo].out;
            message.extend(packed.words());
            message.push(place as u64 | (crossing.to.index() as u64) << 32);
        }
        self.moving.crossings.truncate(kept);
    }

    /// Where the route of a packet begins here, which looks its route up itself.
    pub(super) fn begin_of_route(&mut self, layout: &Layout, packed: &Packed) -> u32 {
        if packed.route == NONE {
            return 0;
        }
        let destination = layout.destination(packed.way) as u32;
        let route = self.sources.route(packed.source, packed.number, destination, &mut self.routes);
        route.map_or(0, |(begin, _)| begin)
    }

    /// Takes what comes across an edge.
    fn read_flits(&mut self, layout: &Layout, halo: &Halo, message: &[u64]) {
        let &Halo { side, nodes, own, others, ref back, .. } = halo;
        let mut words = message.iter().copied();
        for output in channels_of(back, layout) {
            let mut any = 0;
            for ((first, count), flits) in spans(nodes).zip(&mut words) {
                self.moving.sent.set_bits(output, others + first as isize, count, flits);
                any |= flits;
            }
            self.moving.sent_any |= R::Set::of(output, any != 0);
        }
        let fixed = back.len() * layout.channels * (1 + self.queues.count_bits) * nodes.div_ceil(64);
        let headers = self.read_signals(side, &message[fixed..]).chunks_exact(HEADER);
        self.moving.crossings.reserve(headers.len());
        for header in headers {
            let (packet, place) = header.split_at(PACKED);
            let mut packed = Packed::from_words(packet);
            if self.sources.looks_up() {
                packed.route += self.begin_of_route(layout, &packed);
            }
            let (place, queue) = (place[0] as u32 as usize, (place[0] >> 32) as usize);
            let to = Place::new(own as usize + place, queue);
            let slot = self.packets.unpack(packed);
            self.moving.crossings.push(Crossing { to, slot });
        }
    }

    /// Which queues across an edge are full now, with those flits, if they are to be counted, that were sent there.
    fn read_places(&mut self, layout: &Layout, halo: &Halo, places: &[u64], with_sent: bool) {
        let &Halo { nodes, own, others, ref out, ref links, is_straight, .. } = halo;
        let mut counts = places.iter().copied();
        for (index, output) in channels_of(out, layout).enumerate() {
            let queue = usize::from(layout.queue_behind[output]);
            let mut any = 0;
            for (first, count) in spans(nodes) {
                let mut carry = 0;
                if with_sent && is_straight {
                    carry = self.moving.sent.bits(output, own + first as isize, count);
                }
                let mut full = 0;
                for (bit, mut level) in (0..self.queues.count_bits).zip(&mut counts) {
                    half_add(&mut level, &mut carry);
                    full = above_with(full, self.queues.most, bit, level);
                    let plane = queue * self.queues.count_bits + bit;
                    self.queues.levels.set_bits(plane, others + first as isize, count, level);
                }
                self.queues.full.set_bits(queue, others + first as isize, count, full);
                any |= full;
            }
            // Links that lead to other places there: their flits are added one after the other.
            let links = if with_sent && !is_straight { &links[index / layout.channels][..] } else { &[] };
            for &Across { own, place, count } in links {
                let (mut carry, mut full) = (self.moving.sent.bits(output, own, count), 0);
                if carry == 0 {
                    continue;
                }
                let place = others + place as isize;
                for bit in 0..self.queues.count_bits {
                    let plane = queue * self.queues.count_bits + bit;
                    let mut level = self.queues.levels.bits(plane, place, count);
                    half_add(&mut level, &mut carry);
                    full = above_with(full, self.queues.most, bit, level);
                    self.queues.levels.set_bits(plane, place, count, level);
                }
                self.queues.full.set_bits(queue, place, count, full);
                any |= full;
            }
            self.queues.full_any |= R::Set::of(queue, any != 0);
        }
    }
}
