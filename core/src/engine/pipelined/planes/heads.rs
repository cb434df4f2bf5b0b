//! Packets: their ways, who gets which output channel, and what happens when a tail has left.

use super::{
    super::{
        buffers::Behind,
        flit::{Flit, Packets},
        rules::Rules,
    },
    channel_list::ChannelList,
    matching::PORTS,
    records::{
        BEHIND, CHANNEL, CHANNELS, COUNT, DIGITS, FIELDS, FLIGHT, NOBODY, NODE, OCCUPIED, OUTPUT, Output,
        Owned, READY, SHORT, TAIL_SENT,
    },
    state::Planes,
};
use crate::bits::{Vector, ones, words, words_mut};

/// Somebody who asks for an output channel: input channel, the channels that it may have, and those that it gets.
#[derive(Clone, Copy)]
struct Ask {
    number: u32,
    looks: u16,
    granted: u16,
}

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
    /// The words of the planes of an input channel at a router, from the first plane to the last.
    #[inline(always)]
    pub(super) fn planes_of(&mut self, number: usize, router: usize) -> &mut [u64] {
        let first = (self.layout.first_words[number] + self.layout.further[router / 64]) as usize;
        &mut words_mut(self.lanes.as_flattened_mut())[first..][..(FIELDS - 1) * V::WORDS + 1]
    }

    /// Whether a few planes hold the number of flits in a queue.
    #[inline(always)]
    fn has_short_queues(&self) -> bool {
        self.options.places < 1 << SHORT
    }

    /// The way of the packet at the front of an input channel; it waits for an output channel from now on.
    #[inline(always)]
    fn compute_route(&mut self, router: usize, number: usize) {
        let to = self.queues.front(router * self.layout.all + number).to;
        let output = self.mesh.output(router, to.into());
        self.outputs.wait(router * PORTS + output, number);
    }

    #[inline(always)]
    fn compute_routes(&mut self) {
        let mut begun = std::mem::take(&mut self.changes.begun);
        for (router, number) in begun.iter() {
            self.compute_route(router as usize, number as usize);
        }
        begun.clear();
        self.changes.begun = begun;
    }

    /// Gives output channels to those who wait.
    #[inline(always)]
    fn allocate_vcs(&mut self) {
        for word in 0..self.outputs.pending.len() {
            for bit in ones(self.outputs.pending[word]) {
                let at = word * 64 + bit;
                let Output { waiting: [low, high], mut free, full, .. } = self.outputs.ports[at];
                if self.options.busy_when_full {
                    free &= !full;
                }
                if free == 0 {
                    continue;
                }
                if high == 0 && low & (low - 1) == 0 {
                    let (router, output, number) = (at / PORTS, at % PORTS, low.trailing_zeros());
                    let head = self.queues.front(router * self.layout.all + number as usize);
                    let granted = free & head.range;
                    if granted != 0 {
                        self.grant_vc(router, output, number, granted);
                        self.outputs.pending[word] &= !(1 << bit);
                    }
                    continue;
                }
                self.match_vcs(at, free);
                if self.outputs.ports[at].waiting == [0; 2] {
                    self.outputs.pending[word] &= !(1 << bit);
                }
            }
        }
    }

    /// Gives the free channels of an output to several who wait.
    fn match_vcs(&mut self, at: usize, free: u16) {
        let (router, output) = (at / PORTS, at % PORTS);
        let mut asks = [Ask { number: 0, looks: 0, granted: 0 }; PORTS * CHANNELS];
        let (mut count, mut wanted) = (0, 0);
        for (word, waiting) in self.outputs.ports[at].waiting.into_iter().enumerate() {
            for bit in ones(waiting) {
                let number = (64 * word + bit) as u32;
                let queue = router * self.layout.all + number as usize;
                let mut looks = free & self.queues.front(queue).range;
                if self.options.picks_first && looks != 0 {
                    looks = 1 << self.choice(looks, output, self.queues.records[queue].accepts);
                }
                wanted |= looks;
                asks[count] = Ask { number, looks, granted: 0 };
                count += 1;
            }
        }
        let asks = &mut asks[..count];
        for channel in ones(wanted.into()) {
            let turn: u32 = self.outputs.owned
                [router * self.layout.all + (output << self.layout.span_bits) + channel]
                .grants
                .into();
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
        let turn = usize::from(turn).wrapping_sub(output << self.layout.span_bits).min(63);
        let granted = u64::from(granted);
        let later = granted >> turn << turn;
        (if later == 0 { granted } else { later }).trailing_zeros()
    }

    /// An input channel takes one of the channels that it is granted.
    #[inline(always)]
    fn grant_vc(&mut self, router: usize, output: usize, number: u32, granted: u16) {
        let number = number as usize;
        let queue = router * self.layout.all + number;
        let channel = self.choice(granted, output, self.queues.records[queue].accepts) as usize;
        let left = self.queues.front(queue).left;
        let (at, known) = (router * PORTS + output, (output << self.layout.span_bits) + channel);
        let record = &mut self.queues.records[queue];
        record.accepts = known as u8 + 1;
        record.known = known as u8;
        let packet = record.front;
        self.outputs.owned[router * self.layout.all + known] =
            Owned { owner: number as u8, grants: number as u8 + 1 };
        let port = &mut self.outputs.ports[at];
        port.waiting[number / 64] &= !(1 << (number % 64));
        port.free &= !(1 << channel);
        let (full, behind) = (port.full, port.behind);
        let may_send = u64::from(!full >> channel & 1);
        let shift = router % 64;
        if self.options.waits_for_tail {
            let (vector, word) = self.layout.vector_of(output, channel, router);
            words_mut(&mut self.known[vector])[TAIL_SENT * V::WORDS + word] &= !(1 << shift);
        }
        // All of these are clear while it has none.
        let channel_bits = self.layout.channel_bits;
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
        self.queues.enter(behind as usize + channel, packet);
    }

    /// Output channels that became full, or were full and are not any more.
    #[inline(always)]
    fn note_full(&mut self, list: &ChannelList, is_full: bool) {
        for (router, number) in list.iter() {
            let (router, number) = (router as usize, number as usize);
            let (output, channel) = self.layout.port_and_channel(number);
            let full = &mut self.outputs.ports[router * PORTS + output].full;
            *full = *full & !(1 << channel) | u16::from(is_full) << channel;
            let owner = self.outputs.owned[router * self.layout.all + number].owner;
            if owner != NOBODY {
                let ready = &mut self.planes_of(owner.into(), router)[READY * V::WORDS];
                *ready = *ready & !(1 << (router % 64)) | u64::from(!is_full) << (router % 64);
            }
        }
    }

    /// Tails have left: their channels are free, and what is behind them begins.
    #[inline(always)]
    fn finish_tails(&mut self) {
        let mut tails = std::mem::take(&mut self.changes.tails);
        for (router, number) in tails.iter() {
            let (router, number) = (router as usize, number as usize);
            let queue = router * self.layout.all + number;
            self.queues.leave(queue);
            let known = usize::from(self.queues.records[queue].known);
            let (output, channel) = self.layout.port_and_channel(known);
            self.outputs.owned[router * self.layout.all + known].owner = NOBODY;
            if self.options.waits_for_tail {
                let (vector, word) = self.layout.vector_of(output, channel, router);
                words_mut(&mut self.known[vector])[TAIL_SENT * V::WORDS + word] |= 1 << (router % 64);
            } else {
                self.outputs.ports[router * PORTS + output].free |= 1 << channel;
            }
            if self.planes_of(number, router)[OCCUPIED * V::WORDS] >> (router % 64) & 1 == 1 {
                if self.options.routes_later {
                    self.changes.begun.push(router, number);
                } else {
                    self.compute_route(router, number);
                }
            }
        }
        tails.clear();
        self.changes.tails = tails;
    }

    /// Of the planes of the channels of a port, where any is set, and the digits of the channel, for 64 routers at each
    /// of which no more than one is.
    #[inline(always)]
    fn digits(&self, planes: &[u64], word: usize) -> (u64, [u64; CHANNEL]) {
        let (mut any, mut digits) = (0, [0; CHANNEL]);
        for channel in 0..self.layout.channels {
            let plane = planes[channel * self.layout.words + word];
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
        let sent = words(self.links.sent_before(FLIGHT, NODE));
        for word in 0..self.layout.words {
            let (any, digits) = self.digits(sent, word);
            for bit in ones(any) {
                let (node, channel) = (word * 64 + bit, number_of(&digits, bit));
                let queue = self.layout.queue_of_node(node, channel);
                let flit = packets.arriving(self.queues.records[queue].front, channel as u16);
                arrived.push((node as u32, flit));
            }
        }
        let credits = words(self.links.credits_before(2, NODE));
        if self.double.is_empty() {
            for word in 0..self.layout.words {
                let (any, digits) = self.digits(credits, word);
                for bit in ones(any) {
                    sources.credit(&rules.policy, word * 64 + bit, number_of(&digits, bit));
                }
            }
        } else {
            // Up to two at a node.
            for channel in 0..self.layout.channels {
                for word in 0..self.layout.words {
                    for bit in ones(credits[channel * self.layout.words + word]) {
                        sources.credit(&rules.policy, word * 64 + bit, channel);
                    }
                }
            }
        }
        self.links.carry(self.mesh.radix);
        if self.has_short_queues() {
            self.queue_inputs::<SHORT>();
        } else {
            self.queue_inputs::<COUNT>();
        }
        let mut vacated = std::mem::take(&mut self.changes.vacated);
        for (router, number) in vacated.iter() {
            let (output, channel) = self.layout.port_and_channel(number as usize);
            self.outputs.ports[router as usize * PORTS + output].free |= 1 << channel;
        }
        vacated.clear();
        self.changes.vacated = vacated;
        let mut emptied = std::mem::take(&mut self.changes.emptied);
        self.note_full(&emptied, false);
        emptied.clear();
        self.changes.emptied = emptied;
        if !self.options.routes_later {
            self.compute_routes();
        }
        self.links.credit_arrivals();
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
        if self.options.routes_later {
            self.compute_routes();
        }
        self.finish_tails();
        let mut filled = std::mem::take(&mut self.changes.filled);
        self.note_full(&filled, true);
        filled.clear();
        self.changes.filled = filled;
        self.links.tick = self.links.tick.wrapping_add(1);
    }
}
