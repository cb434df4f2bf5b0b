//! What arrives at sets of channels, sources and sinks, and what is put on links.

use super::{
    super::{
        buffers::Behind,
        flit::{Flit, Packets},
        routers::Shared,
        rules::Rules,
    },
    state::{Far, InputPort, Leaving, NOBODY, PACKET, Sets, View},
};

/// Where a flit that a source sends arrives among all input channels, and after how many cycles.
#[inline(always)]
pub(super) fn way_in(rules: &Rules, node: u32, channel: u16, channel_bits: u32) -> (u32, u32) {
    let (router, port) = rules.wiring.entries[node as usize];
    let input = rules.wiring.input(router, port.into()) as u32;
    // A source sends straight on its link.
    let delay = rules.wiring.inputs(router)[usize::from(port)].latency + 1;
    ((input << channel_bits) + u32::from(channel), delay)
}

/// Where a place that a sink gives back arrives among all output channels, and after how many cycles.
#[inline(always)]
pub(super) fn way_back(rules: &Rules, node: u32, channel: u16, channel_bits: u32) -> (u32, u32) {
    let (router, port) = rules.wiring.exits[node as usize];
    let output = rules.wiring.output(router, port.into()) as u32;
    let delay = rules.wiring.outputs(router)[usize::from(port)].latency + 1 + rules.credit_delay;
    ((output << channel_bits) + u32::from(channel), delay)
}

/// Flits reach sinks, which retire in the order of their nodes.
#[inline]
pub(super) fn reach_sinks(
    flits: &mut [u64],
    channel_bits: u32,
    packets: &Packets,
    arrived: &mut Vec<(u32, Flit)>,
) {
    if !flits.is_sorted() {
        flits.sort_unstable();
    }
    let mask = (1 << channel_bits) - 1;
    for &item in &*flits {
        let place = (item >> 32) as u32;
        let flit = packets.arriving(item as u32 & PACKET, (place & mask) as u16);
        arrived.push((place >> channel_bits, flit));
    }
}

/// Credits reach sources.
#[inline]
pub(super) fn reach_sources(credits: &[u64], channel_bits: u32, rules: &Rules, sources: &mut Behind) {
    let mask = (1 << channel_bits) - 1;
    for &item in credits {
        let place = (item >> 32) as u32;
        sources.credit(&rules.policy, (place >> channel_bits) as usize, (place & mask) as usize);
    }
}

impl Sets {
    /// Takes the flits that reach sinks, with their nodes, and gives sources and routers what arrives for them.
    pub(super) fn take_arriving(
        &mut self,
        now: u32,
        rules: &Rules,
        packets: &Packets,
        Shared { sources, load, .. }: &mut Shared,
        arrived: &mut Vec<(u32, Flit)>,
    ) {
        self.credits_under_way -= self.credits.count(now);
        let mut arriving = std::mem::take(&mut self.scratch.arriving);
        self.flits.take(now, true, &mut arriving);
        reach_sinks(&mut arriving, self.layout.channel_bits, packets, arrived);
        self.credits.take(now, true, &mut arriving);
        reach_sources(&arriving, self.layout.channel_bits, rules, sources);
        if self.layout.in_turn {
            self.scratch.arriving = arriving;
            self.keep_arriving(now);
            return;
        }
        self.flits.take(now, false, &mut arriving);
        self.take_flits(&arriving, now, rules, packets);
        self.credits.take(now, false, &mut arriving);
        self.take_credits(&arriving, rules, load);
        self.scratch.arriving = arriving;
    }

    /// Keeps what arrives at routers until it is their turn.
    fn keep_arriving(&mut self, now: u32) {
        let Self { in_turn, flits, credits, inputs, at_work, layout, .. } = self;
        let [new_flits, new_credits] = &mut in_turn.arriving;
        flits.take(now, false, new_flits);
        credits.take(now, false, new_credits);
        new_flits.sort_unstable();
        new_credits.sort_unstable();
        in_turn.taken = [0, 0];
        let port = |item: &u64| (item >> 32) as usize >> layout.channel_bits;
        let of_flits = new_flits.iter().map(|item| inputs[port(item)].router);
        for router in of_flits.chain(new_credits.iter().map(|item| in_turn.router_of[port(item)])) {
            at_work[router as usize / 64] |= 1 << (router % 64);
        }
    }

    /// Flits arrive at input channels.
    pub(super) fn take_flits(&mut self, arriving: &[u64], now: u32, rules: &Rules, packets: &Packets) {
        let is_lean = self.layout.is_lean;
        let mut view = self.view();
        for &item in arriving {
            let (place, flit) = ((item >> 32) as u32, item as u32);
            if is_lean {
                view.arrive::<true>(place, flit, now, rules, packets);
            } else {
                view.arrive::<false>(place, flit, now, rules, packets);
            }
        }
    }

    /// Credits arrive at output channels.
    pub(super) fn take_credits(&mut self, arriving: &[u64], rules: &Rules, load: &mut [u32]) {
        let is_lean = self.layout.is_lean;
        let mut view = self.view();
        for &item in arriving {
            let place = (item >> 32) as u32;
            if is_lean {
                view.credit::<true>(place, rules, load);
            } else {
                view.credit::<false>(place, rules, load);
            }
        }
    }
}

impl View<'_> {
    /// Puts a flit in a queue; whether that was idle, and whether it was empty.
    #[inline(always)]
    pub(super) fn queue<const LEAN: bool>(
        &mut self,
        lane: u32,
        flit: u32,
        now: u32,
        rules: &Rules,
        packets: &Packets,
    ) -> (bool, bool) {
        let state = &mut self.lanes[lane as usize];
        let mask = (1u32 << self.layout.place_bits) - 1;
        let place = (state.head + state.count) & mask;
        self.queues[((lane << self.layout.place_bits) + place) as usize] = flit;
        state.count += 1;
        let (is_idle, is_first) = (state.is_idle, state.count == 1);
        if !LEAN && self.layout.has_priorities && !self.layout.is_by_packet {
            self.stamp(lane, place, now, rules, packets);
        }
        (is_idle, is_first)
    }

    #[inline(always)]
    fn arrive<const LEAN: bool>(&mut self, lane: u32, flit: u32, now: u32, rules: &Rules, packets: &Packets) {
        let (is_idle, is_first) = self.queue::<LEAN>(lane, flit, now, rules, packets);
        let state = &self.lanes[lane as usize];
        if is_idle {
            self.begin::<LEAN>(lane, rules, packets);
        } else if is_first {
            // One that is neither idle nor waits has an output channel.
            let (output, may_send) = (state.port, state.may_send);
            if self.layout.keeps_order {
                let local = self.inputs[(lane >> self.layout.channel_bits) as usize].local;
                self.order[lane as usize] = (i64::from(self.leaving.step) << 16) + i64::from(local);
            }
            self.ask(lane, output, may_send);
        }
    }

    /// A credit comes back.
    #[inline(always)]
    pub(super) fn credit<const LEAN: bool>(&mut self, channel: u32, rules: &Rules, load: &mut [u32]) {
        if !LEAN && self.shared.is_some() {
            let output = channel >> self.layout.channel_bits;
            if self.layout.goes_by_load {
                load[output as usize] -= 1;
            }
            let channel = (channel & ((1 << self.layout.channel_bits) - 1)) as usize;
            let out = output as usize;
            self.share(out, channel, rules, |behind| behind.credit(&rules.policy, out, channel));
            return;
        }
        if let Some(common) = self.common.filter(|_| !LEAN) {
            let (output, inner) =
                (channel >> self.layout.channel_bits, channel & ((1 << self.layout.channel_bits) - 1));
            if self.layout.goes_by_load {
                load[output as usize] -= 1;
            }
            self.return_place(common, output as usize, inner as usize, rules.waits_for_tail);
            return;
        }
        let known = &mut self.known[channel as usize];
        known.remove();
        let was_full = known.used() + 1 == self.layout.places;
        let is_left = rules.waits_for_tail && known.tail_sent() && known.used() == 0;
        if !LEAN && self.layout.goes_by_load {
            load[(channel >> self.layout.channel_bits) as usize] -= 1;
        }
        if !(was_full || is_left) {
            return;
        }
        let owner = known.owner;
        let output = &mut self.outputs[(channel >> self.layout.channel_bits) as usize];
        let bit = 1u64 << (channel & ((1 << self.layout.channel_bits) - 1));
        output.full &= !bit;
        output.free |= if is_left { bit } else { 0 };
        if was_full && owner != NOBODY {
            let state = &mut self.lanes[owner as usize];
            state.may_send = true;
            let (port, has_flits) = (state.port, state.count > 0);
            self.ask(owner, port, has_flits);
        }
    }

    /// Begins with the packet at the front of a queue.
    #[inline(always)]
    pub(super) fn begin<const LEAN: bool>(&mut self, lane: u32, rules: &Rules, packets: &Packets) {
        let number = self.inputs[(lane >> self.layout.channel_bits) as usize].router;
        let state = &mut self.lanes[lane as usize];
        state.is_idle = false;
        let router = &mut self.routers[number as usize];
        let first = ((lane << self.layout.place_bits) + state.head) as usize;
        if !LEAN && self.layout.is_by_packet {
            self.priorities[lane as usize] = packets[self.queues[first] & PACKET].priority;
        }
        if rules.routing_delay > 0 {
            router.to_be_routed.push(lane);
        } else {
            state.set_ways(&packets[self.queues[first] & PACKET].ahead);
            router.waiting.push(lane);
        }
        self.wake(number);
    }

    /// Puts the credit of a place of an input channel on its link.
    #[inline(always)]
    pub(super) fn send_credit<const IN_TURN: bool>(&mut self, input: &InputPort, lane: u32, now: u32) {
        let far = input.far;
        if far.is_wired {
            *self.credits_under_way += 1;
            if IN_TURN && self.layout.is_staged {
                self.free_place(lane);
                return;
            }
            let channel = lane & ((1 << self.layout.channel_bits) - 1);
            let mut leaves = now;
            if !IN_TURN && self.layout.queues_up {
                // One message of an input port leaves in a cycle; what is sent in one step is one message.
                let Leaving { credits, cycle, step, .. } = &mut *self.leaving;
                let (made, next) = &mut credits[(lane >> self.layout.channel_bits) as usize];
                if *made != *step {
                    (*made, *next) = (*step, (*next).max(*cycle) + 1);
                }
                leaves += *next - 1 - *cycle;
            }
            self.credits.push(leaves + far.delay, far.leaves, far.first + channel, 0);
        }
    }

    /// Puts a flit on its link, so many cycles from now when it leaves the crossbar or after those that queue there.
    #[inline(always)]
    pub(super) fn send_flit<const IN_TURN: bool>(
        &mut self,
        (output, far): (usize, Far),
        channel: u32,
        flit: u32,
        now: u32,
        later: u32,
    ) {
        if IN_TURN && self.layout.is_staged {
            let router = self.in_turn.router_of[output] as usize;
            self.in_turn.routers[router].crossbar.waiting.push((output as u32, channel, flit));
            return;
        }
        if far.is_wired {
            let mut leaves = now + later;
            if !IN_TURN && self.layout.queues_up {
                let next = &mut self.leaving.flits[output];
                let at = (*next).max(self.leaving.cycle + later);
                *next = at + 1;
                leaves = now + (at - self.leaving.cycle);
            }
            if let Some(leaves_next) = &mut self.leaves_next {
                leaves_next.push(output as u32);
            }
            self.flits.push(leaves + far.delay, far.leaves, far.first + channel, flit);
        }
    }
}
