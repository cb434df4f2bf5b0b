//! Packets: their ways, who gets which output channel, and what happens when a tail has left.

use super::{
    super::{
        buffers::Behind,
        flit::{Flit, Packet, Packets},
        rules::Rules,
    },
    channel_list::ChannelList,
    matching::PORTS,
    state::{
        BEHIND, CHANNEL, CHANNELS, COUNT, DIGITS, FIELDS, FLIGHT, Head, NOBODY, NODE, OCCUPIED, OUTPUT,
        Output, Owned, Planes, READY, SHORT, SLOTS, TAIL_SENT,
    },
};
use crate::bits::{Vector, ones, words, words_mut};

/// Somebody who asks for an output channel: input channel, the channels that it may have, and those that it gets.
#[derive(Clone, Copy)]
struct Ask {
    number: u32,
    looks: u16,
    granted: u16,
}

/// The output by whether x is above and below, then y.
const TOWARDS: [u8; 16] = {
    let mut towards = [NODE as u8; 16];
    let mut at = 1;
    while at < 16 {
        towards[at] = at.trailing_zeros() as u8;
        at += 1;
    }
    towards
};

/// The number whose digits stand at a bit.
#[inline(always)]
fn number_of(digits: &[u64; CHANNEL], bit: usize) -> usize {
    let mut number = 0;
    for (place, digit) in digits.iter().enumerate() {
        number |= (digit >> bit & 1) << place;
    }
    number as usize
}

impl<V: Vector> Planes<V> {
    /// The vector of a channel of a port at a router, and the word there.
    #[inline(always)]
    pub(super) fn vector_of(&self, port: usize, channel: usize, router: usize) -> (usize, usize) {
        let word = channel * self.words + router / 64;
        (port * self.vectors + word / V::WORDS, word % V::WORDS)
    }

    /// The words of the planes of an input channel at a router, from the first plane to the last.
    #[inline(always)]
    pub(super) fn planes_of(&mut self, number: usize, router: usize) -> &mut [u64] {
        let first = (self.first_words[number] + self.further[router / 64]) as usize;
        &mut words_mut(self.lanes.as_flattened_mut())[first..][..(FIELDS - 1) * V::WORDS + 1]
    }

    /// Whether a few planes hold the number of flits in a queue.
    #[inline(always)]
    fn has_short_queues(&self) -> bool {
        self.places < 1 << SHORT
    }

    /// A packet enters a queue.
    #[inline(always)]
    pub(super) fn enter(&mut self, queue: usize, packet: u32) {
        let record = &mut self.records[queue];
        if record.entered == record.left {
            record.front = packet;
        } else {
            let place = usize::from(record.entered & self.ring);
            self.rings[place * self.nodes * (self.all + (1 << self.span_bits)) + queue] = packet;
        }
        record.entered = record.entered.wrapping_add(1);
    }

    /// The packet at the front leaves a queue.
    #[inline(always)]
    pub(super) fn leave(&mut self, queue: usize) {
        let record = &mut self.records[queue];
        record.left = record.left.wrapping_add(1);
        if record.entered != record.left {
            let place = usize::from(record.left & self.ring);
            record.front = self.rings[place * self.nodes * (self.all + (1 << self.span_bits)) + queue];
        }
    }

    /// Routers on the way from one to another, with both.
    pub(super) fn routers_between(&self, from: usize, to: usize) -> u16 {
        let ((x, y), (to_x, to_y)) = (self.places_of[from], self.places_of[to]);
        u16::from(x.abs_diff(to_x)) + u16::from(y.abs_diff(to_y)) + 1
    }

    /// Takes down what headers say of the packet at a place.
    pub(super) fn learn(&mut self, place: u32, packet: &Packet) {
        let at = place as usize;
        if at >= self.heads.len() {
            self.heads.resize((at + 1).next_power_of_two(), Head::default());
        }
        self.heads[at] = Head {
            to: packet.destination as u16,
            range: self.ranges[packet.kind as usize],
            left: packet.size.saturating_sub(1) as u16,
        };
    }

    /// What is known of the packet at the front of a queue.
    #[inline(always)]
    fn front(&self, queue: usize) -> Head {
        self.heads[self.records[queue].front as usize]
    }

    /// The way of the packet at the front of an input channel; it waits for an output channel from now on.
    #[inline(always)]
    fn compute_route(&mut self, router: u32, number: u32) {
        let queue = router as usize * self.all + number as usize;
        let to = self.front(queue).to;
        let (x, y) = self.places_of[router as usize];
        let (to_x, to_y) = self.places_of[usize::from(to)];
        let towards = usize::from(to_x > x)
            | usize::from(to_x < x) << 1
            | usize::from(to_y > y) << 2
            | usize::from(to_y < y) << 3;
        let at = router as usize * PORTS + usize::from(TOWARDS[towards]);
        self.outputs[at].waiting[number as usize / 64] |= 1 << (number % 64);
        self.pending[at / 64] |= 1 << (at % 64);
    }

    #[inline(always)]
    fn compute_routes(&mut self) {
        let mut begun = std::mem::take(&mut self.begun);
        for (router, number) in begun.iter() {
            self.compute_route(router, number);
        }
        begun.clear();
        self.begun = begun;
    }

    /// Gives output channels to those who wait.
    #[inline(always)]
    fn allocate_vcs(&mut self) {
        for word in 0..self.pending.len() {
            for bit in ones(self.pending[word]) {
                let at = word * 64 + bit;
                let Output { waiting: [low, high], mut free, full, .. } = self.outputs[at];
                if self.busy_when_full {
                    free &= !full;
                }
                if free == 0 {
                    continue;
                }
                if high == 0 && low & (low - 1) == 0 {
                    let (router, output, number) = (at / PORTS, at % PORTS, low.trailing_zeros());
                    let head = self.front(router * self.all + number as usize);
                    let granted = free & head.range;
                    if granted != 0 {
                        self.grant_vc(router, output, number, granted);
                        self.pending[word] &= !(1 << bit);
                    }
                    continue;
                }
                self.match_vcs(at, free);
                if self.outputs[at].waiting == [0; 2] {
                    self.pending[word] &= !(1 << bit);
                }
            }
        }
    }

    /// Gives the free channels of an output to several who wait.
    fn match_vcs(&mut self, at: usize, free: u16) {
        let (router, output) = (at / PORTS, at % PORTS);
        let mut asks = [Ask { number: 0, looks: 0, granted: 0 }; PORTS * CHANNELS];
        let (mut count, mut wanted) = (0, 0);
        for (word, waiting) in self.outputs[at].waiting.into_iter().enumerate() {
            for bit in ones(waiting) {
                let number = (64 * word + bit) as u32;
                let queue = router * self.all + number as usize;
                let mut looks = free & self.front(queue).range;
                if self.picks_first && looks != 0 {
                    looks = 1 << self.choice(looks, output, self.records[queue].accepts);
                }
                wanted |= looks;
                asks[count] = Ask { number, looks, granted: 0 };
                count += 1;
            }
        }
        let asks = &mut asks[..count];
        for channel in ones(wanted.into()) {
            let turn: u32 =
                self.owned[router * self.all + (output << self.span_bits) + channel].grants.into();
            // Those at the turn or behind it come first; the list ascends.
            let mut chosen = usize::MAX;
            for (place, ask) in asks.iter().enumerate() {
                if ask.looks >> channel & 1 == 1 {
                    if ask.number >= turn {
                        chosen = place;
                        break;
                    }
                    chosen = chosen.min(place);
                }
            }
            asks[chosen].granted |= 1 << channel;
        }
        for ask in asks.iter().filter(|ask| ask.granted != 0) {
            self.grant_vc(router, output, ask.number, ask.granted);
        }
    }

    /// The first of some channels from a turn on that runs over the channels of all outputs.
    #[inline(always)]
    fn choice(&self, granted: u16, output: usize, turn: u8) -> u32 {
        // A turn at another output is none, as one behind all channels.
        let turn = usize::from(turn).wrapping_sub(output << self.span_bits).min(63);
        let granted = u64::from(granted);
        let later = granted >> turn << turn;
        (if later == 0 { granted } else { later }).trailing_zeros()
    }

    /// An input channel takes one of the channels that it is granted.
    #[inline(always)]
    fn grant_vc(&mut self, router: usize, output: usize, number: u32, granted: u16) {
        let number = number as usize;
        let queue = router * self.all + number;
        let channel = self.choice(granted, output, self.records[queue].accepts) as usize;
        let left = self.front(queue).left;
        let (at, known) = (router * PORTS + output, (output << self.span_bits) + channel);
        let record = &mut self.records[queue];
        record.accepts = known as u8 + 1;
        record.known = known as u8;
        let packet = record.front;
        self.owned[router * self.all + known] = Owned { owner: number as u8, grants: number as u8 + 1 };
        let port = &mut self.outputs[at];
        port.waiting[number / 64] &= !(1 << (number % 64));
        port.free &= !(1 << channel);
        let (full, behind) = (port.full, port.behind);
        let may_send = u64::from(!full >> channel & 1);
        let shift = router % 64;
        if self.waits_for_tail {
            let (vector, word) = self.vector_of(output, channel, router);
            words_mut(&mut self.known[vector])[TAIL_SENT * V::WORDS + word] &= !(1 << shift);
        }
        // All of these are clear while it has none.
        let channel_bits = self.channel_bits;
        let lane = self.planes_of(number, router);
        lane[READY * V::WORDS] |= may_send << shift;
        lane[(OUTPUT + output) * V::WORDS] |= 1 << shift;
        for digit in 0..channel_bits {
            lane[(DIGITS + digit) * V::WORDS] |= (channel as u64 >> digit & 1) << shift;
        }
        // Most packets have the same digits.
        for digit in ones(left.into()) {
            lane[(BEHIND + digit) * V::WORDS] |= 1 << shift;
        }
        self.enter(behind as usize + channel, packet);
    }

    /// Output channels that became full, or were full and are not any more.
    #[inline(always)]
    fn note_full(&mut self, list: &ChannelList, is_full: bool) {
        for (router, number) in list.iter() {
            let (router, number) = (router as usize, number as usize);
            let (output, channel) = (number >> self.span_bits, number & ((1 << self.span_bits) - 1));
            let full = &mut self.outputs[router * PORTS + output].full;
            *full = *full & !(1 << channel) | u16::from(is_full) << channel;
            let owner = self.owned[router * self.all + number].owner;
            if owner != NOBODY {
                let ready = &mut self.planes_of(owner.into(), router)[READY * V::WORDS];
                *ready = *ready & !(1 << (router % 64)) | u64::from(!is_full) << (router % 64);
            }
        }
    }

    /// Tails have left: their channels are free, and what is behind them begins.
    #[inline(always)]
    fn finish_tails(&mut self) {
        let mut tails = std::mem::take(&mut self.tails);
        for (router, number) in tails.iter() {
            let (router, number) = (router as usize, number as usize);
            let queue = router * self.all + number;
            self.leave(queue);
            let known = usize::from(self.records[queue].known);
            let (output, channel) = (known >> self.span_bits, known & ((1 << self.span_bits) - 1));
            self.owned[router * self.all + known].owner = NOBODY;
            if self.waits_for_tail {
                let (vector, word) = self.vector_of(output, channel, router);
                words_mut(&mut self.known[vector])[TAIL_SENT * V::WORDS + word] |= 1 << (router % 64);
            } else {
                self.outputs[router * PORTS + output].free |= 1 << channel;
            }
            if self.planes_of(number, router)[OCCUPIED * V::WORDS] >> (router % 64) & 1 == 1 {
                if self.routes_later {
                    self.begun.push(router, number);
                } else {
                    self.compute_route(router as u32, number as u32);
                }
            }
        }
        tails.clear();
        self.tails = tails;
    }

    /// Of the planes of the channels of a port, where any is set, and the digits of the channel, for 64 routers at each
    /// of which no more than one is.
    #[inline(always)]
    fn digits(&self, planes: &[u64], word: usize) -> (u64, [u64; CHANNEL]) {
        let (mut any, mut digits) = (0, [0; CHANNEL]);
        for channel in 0..self.channels {
            let plane = planes[channel * self.words + word];
            any |= plane;
            for (bit, digit) in digits.iter_mut().enumerate() {
                *digit |= if channel >> bit & 1 == 1 { plane } else { 0 };
            }
        }
        (any, digits)
    }

    /// What arrives at nodes, and what arrives at routers.
    #[inline(always)]
    pub(super) fn receive_all(
        &mut self,
        rules: &Rules,
        packets: &Packets,
        sources: &mut Behind,
        arrived: &mut Vec<(u32, Flit)>,
    ) {
        let port = self.vectors;
        let sent = (self.tick.wrapping_sub(FLIGHT) % SLOTS) as usize * PORTS * port + NODE * port;
        let sent = words(&self.sent[sent..][..port]);
        for word in 0..self.words {
            let (any, digits) = self.digits(sent, word);
            for bit in ones(any) {
                let (node, channel) = (word * 64 + bit, number_of(&digits, bit));
                let queue = self.nodes * self.all + (node << self.span_bits) + channel;
                let flit = packets.arriving(self.records[queue].front, channel as u16);
                arrived.push((node as u32, flit));
            }
        }
        let late = self.tick.wrapping_sub(2) & (self.credit_slots - 1);
        let credits = words(&self.credits[late as usize * (PORTS + 1) * port + NODE * port..][..port]);
        if self.double.is_empty() {
            for word in 0..self.words {
                let (any, digits) = self.digits(credits, word);
                for bit in ones(any) {
                    sources.credit(&rules.policy, word * 64 + bit, number_of(&digits, bit));
                }
            }
        } else {
            // Up to two at a node.
            for channel in 0..self.channels {
                for word in 0..self.words {
                    for bit in ones(credits[channel * self.words + word]) {
                        sources.credit(&rules.policy, word * 64 + bit, channel);
                    }
                }
            }
        }
        self.carry();
        if self.has_short_queues() {
            self.queue_inputs::<SHORT>();
        } else {
            self.queue_inputs::<COUNT>();
        }
        let mut vacated = std::mem::take(&mut self.vacated);
        for (router, number) in vacated.iter() {
            let (output, channel) = (number >> self.span_bits, number & ((1 << self.span_bits) - 1));
            self.outputs[(router * PORTS as u32 + output) as usize].free |= 1 << channel;
        }
        vacated.clear();
        self.vacated = vacated;
        let mut emptied = std::mem::take(&mut self.emptied);
        self.note_full(&emptied, false);
        emptied.clear();
        self.emptied = emptied;
        if !self.routes_later {
            self.compute_routes();
        }
        // Nodes give back at once what arrives.
        let slot = (self.tick & (self.credit_slots - 1)) as usize * (PORTS + 1) * port + PORTS * port;
        let sent = (self.tick.wrapping_sub(FLIGHT) % SLOTS) as usize * PORTS * port + NODE * port;
        self.credits[slot..][..port].copy_from_slice(&self.sent[sent..][..port]);
    }

    /// The switch is matched and crossed; then channels are given to those who waited, and ways are computed.
    #[inline(always)]
    pub(super) fn step(&mut self, now: u32) {
        if let Some(leaving) = &mut self.leaving {
            leaving.count(now);
        }
        if self.has_short_queues() {
            self.traverse_switch::<SHORT>();
        } else {
            self.traverse_switch::<COUNT>();
        }
        self.allocate_vcs();
        if self.routes_later {
            self.compute_routes();
        }
        self.finish_tails();
        let mut filled = std::mem::take(&mut self.filled);
        self.note_full(&filled, true);
        filled.clear();
        self.filled = filled;
        self.tick = self.tick.wrapping_add(1);
    }
}
