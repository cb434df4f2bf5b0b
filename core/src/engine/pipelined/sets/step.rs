//! One cycle of sets of channels.

use super::{
    super::{
        breach::Breach,
        flit::{Packets, Ways},
        network::Place,
        numbers::Numbers,
        rules::Rules,
        wiring::End,
    },
    state::{Activated, HEAD, Lane, NO_PORT, NOBODY, PACKET, Scratch, Sets, TAIL, View},
};
use crate::bits::ones;
use std::ops::Range;

/// What all routers share while they work.
pub(in super::super) struct Around<'a> {
    pub now: u32,
    pub rules: &'a Rules,
    pub packets: &'a mut Packets,
    pub numbers: &'a mut dyn Numbers,
    /// Per output port of all routers the flits known behind it.
    pub load: &'a mut [u32],
    /// Steps of this cycle.
    pub steps: u32,
    /// The mark of flits whose ways are computed one router ahead, if any are.
    looks_ahead: u32,
}

/// Of 64 routers those in a range.
fn part(which: &Range<usize>, word: usize) -> u64 {
    let end = (which.end - 64 * word).min(64);
    u64::MAX >> (64 - end) & u64::MAX << which.start.saturating_sub(64 * word)
}

impl Lane {
    /// Takes the ways of its packet; there is at most one.
    #[inline]
    pub(super) fn set_ways(&mut self, ways: &Ways) {
        self.port = NO_PORT;
        if let Some(way) = ways.iter().next() {
            (self.port, self.first, self.last) = (way.port, way.first as u8, way.last as u8);
        }
    }
}

impl<'a> Around<'a> {
    pub(in super::super) fn new(
        (now, steps): (u32, u32),
        rules: &'a Rules,
        packets: &'a mut Packets,
        numbers: &'a mut dyn Numbers,
        load: &'a mut [u32],
    ) -> Self {
        let looks_ahead = if rules.routing_delay == 0 && !rules.cuts_by_next_port { HEAD } else { 0 };
        Self { now, rules, packets, numbers, load, steps, looks_ahead }
    }
}

impl Sets {
    /// All routers do their steps of a cycle.
    pub(in super::super) fn work(&mut self, around: &mut Around<'_>) {
        let (all, steps, first) = (self.routers.len(), around.steps, self.leaving.step);
        // A router draws the numbers of all of its steps before the next one does.
        let together = if steps > 1 && self.layout.draws { 1 } else { all };
        for router in (0..all).step_by(together) {
            for step in 0..steps {
                self.leaving.step = first.wrapping_add(step);
                self.step(router..router + together, u32::from(step + 1 == steps), around);
            }
        }
        self.leaving.step = first.wrapping_add(steps);
        self.leaving.cycle = self.leaving.cycle.wrapping_add(1);
    }

    /// Routers do a step; what crosses leaves so many cycles later.
    fn step(&mut self, which: Range<usize>, later: u32, around: &mut Around<'_>) {
        let rules = around.rules;
        self.allocate_switch(which.clone(), rules, around.numbers);
        for word in which.start / 64..which.end.div_ceil(64) {
            for bit in ones(self.at_work[word] & part(&which, word)) {
                self.route_and_allocate_vcs(word * 64 + bit, around);
            }
        }
        if !self.scratch.activated.is_empty() {
            self.activate(rules);
        }
        let mut winners = std::mem::take(&mut self.scratch.winners);
        if self.layout.keeps_order {
            // Those of a router in the order of the list that other routers keep.
            let comes_first = |one: (u32, u32, u32), other: (u32, u32, u32)| {
                (one.0 == other.0) & (self.order[one.1 as usize] < self.order[other.1 as usize])
            };
            for next in 1..winners.len() {
                let mut at = next;
                while at > 0 && comes_first(winners[at], winners[at - 1]) {
                    winners.swap(at - 1, at);
                    at -= 1;
                }
            }
        }
        let is_lean = self.layout.is_lean;
        let mut view = self.view();
        for &(number, lane, output) in &winners {
            if is_lean {
                view.traverse_switch::<true, false>(number as usize, lane, output, later, around);
            } else {
                view.traverse_switch::<false, false>(number as usize, lane, output, later, around);
            }
        }
        self.scratch.winners = winners;
        for word in which.start / 64..which.end.div_ceil(64) {
            for bit in ones(self.at_work[word] & part(&which, word)) {
                let router = &mut self.routers[word * 64 + bit];
                router.old = (router.to_be_routed.len(), router.waiting.len());
                let is_idle = router.old == (0, 0) && router.routing.is_empty();
                self.at_work[word] &= !(u64::from(is_idle) << bit);
            }
        }
    }

    /// Input channels enter the routing stage if it is empty; whether it is done with those inside.
    pub(super) fn begin_routing(&mut self, number: usize, rules: &Rules, now: u32) -> bool {
        let router = &mut self.routers[number];
        if router.routing.is_empty() && !router.to_be_routed.is_empty() {
            std::mem::swap(&mut router.routing, &mut router.to_be_routed);
            router.routed_at = now + rules.routing_delay - 1;
        }
        !router.routing.is_empty() && now >= router.routed_at
    }

    /// Ways are computed, and output channels given.
    fn route_and_allocate_vcs(&mut self, number: usize, around: &mut Around<'_>) {
        let (rules, now) = (around.rules, around.now);
        let router = &mut self.routers[number];
        if self.layout.keeps_order {
            // What arrived in this cycle entered the lists by port.
            let (routed, waiting) = (&mut router.to_be_routed, &mut router.waiting);
            if routed.len() > router.old.0 + 1 {
                routed[router.old.0..].sort_unstable();
            }
            if waiting.len() > router.old.1 + 1 {
                waiting[router.old.1..].sort_unstable();
            }
        }
        let is_routed = self.begin_routing(number, rules, now);
        let waits = !self.routers[number].waiting.is_empty();
        if waits {
            self.allocate_vcs(number, rules, around.numbers);
        }
        if is_routed || waits {
            self.finish_vc_allocation::<false>(number, is_routed, around);
        }
    }

    /// Input channels whose ways are known now wait for an output channel, then those that were given none.
    #[inline(always)]
    pub(super) fn finish_vc_allocation<const IN_TURN: bool>(
        &mut self,
        number: usize,
        is_routed: bool,
        around: &mut Around<'_>,
    ) {
        if is_routed {
            for at in 0..self.routers[number].routing.len() {
                self.compute_route::<IN_TURN>(number, self.routers[number].routing[at], around);
            }
        }
        let Self { routers, scratch, lanes, .. } = self;
        let Scratch { list, given, activated, .. } = scratch;
        let router = &mut routers[number];
        std::mem::swap(list, &mut router.waiting);
        if is_routed {
            // Now it is empty, so that the lists may change places.
            std::mem::swap(&mut router.waiting, &mut router.routing);
        }
        for (entry, (&lane, &channel)) in list.iter().zip(given.iter()).enumerate() {
            if channel == NOBODY {
                lanes[lane as usize].has_won = false;
                router.waiting.push(lane);
            } else {
                activated.push(Activated { router: number as u32, lane, channel, entry: entry as u32 });
            }
        }
        list.clear();
    }

    /// Those that were given an output channel are active.
    fn activate(&mut self, rules: &Rules) {
        let mut activated = std::mem::take(&mut self.scratch.activated);
        let mut winners = std::mem::take(&mut self.scratch.winners);
        let mut view = self.view();
        if rules.is_speculative
            && let Some(behind) = &view.shared
        {
            // Whoever has won crosses if its channel was not full before channels were given.
            for &Activated { router, lane, channel, .. } in &activated {
                let state = &mut view.lanes[lane as usize];
                let at = view.routers[router as usize].first_output + u32::from(state.port);
                state.has_won &= !behind.is_full(&rules.policy, at as usize, channel as usize);
            }
        }
        for Activated { router, lane, channel, entry } in activated.drain(..) {
            let state = &mut view.lanes[lane as usize];
            let has_won = std::mem::take(&mut state.has_won);
            let port = state.port;
            if view.layout.keeps_order {
                view.order[lane as usize] = i64::from(entry) - (i64::from(view.leaving.step) << 16);
            }
            let may_send = view.take(router, lane, channel, rules);
            // Of queues with places of their own none becomes full meanwhile; shared ones were looked at.
            if has_won && may_send {
                winners.push((router, lane, port.into()));
            }
        }
        (self.scratch.activated, self.scratch.winners) = (activated, winners);
    }

    #[inline(always)]
    fn compute_route<const IN_TURN: bool>(&mut self, number: usize, lane: u32, around: &mut Around<'_>) {
        let rules = around.rules;
        let state = &mut self.lanes[lane as usize];
        let flit = self.queues[((lane << self.layout.place_bits) + state.head) as usize];
        let input = &self.inputs[(lane >> self.layout.channel_bits) as usize];
        let packet = &mut around.packets[flit & PACKET];
        packet.hops += 1;
        let place = Place {
            router: self.first_router + number as u32,
            port: input.local as usize,
            enters: input.far.is_node,
            channel: lane & ((1 << self.layout.channel_bits) - 1),
            channels: rules.range(packet.kind),
            load: around.load,
        };
        let ways = rules.ways(&place, packet, around.numbers);
        state.set_ways(&ways);
        if IN_TURN {
            if let Some(own) = self.in_turn.ways.get_mut(lane as usize) {
                *own = ways;
            }
            if rules.is_speculative {
                self.view().enter(number, lane);
            }
        }
    }
}

impl View<'_> {
    /// An input channel has an output channel from now on; whether the queue behind that was not full.
    #[inline(always)]
    pub(super) fn take(&mut self, router: u32, lane: u32, channel: u32, rules: &Rules) -> bool {
        let state = &mut self.lanes[lane as usize];
        state.channel = channel as u8;
        let port = state.port;
        let at = self.routers[router as usize].first_output + u32::from(port);
        let known = &mut self.known[((at << self.layout.channel_bits) + channel) as usize];
        known.take(lane);
        let output = &mut self.outputs[at as usize];
        output.free &= !(1 << channel);
        let may_send = output.full >> channel & 1 == 0;
        state.may_send = may_send && self.shared.is_none();
        if self.shared.is_some() {
            let (out, channel) = (at as usize, channel as usize);
            self.share(out, channel, rules, |behind| behind.take(&rules.policy, out, channel));
            if self.layout.in_turn
                && self.shared.as_ref().is_some_and(|behind| !behind.has_limit(&rules.policy, out))
            {
                self.in_turn.breach = Some(Breach::PlacePerOwner);
            }
        } else {
            self.ask(lane, port, may_send);
        }
        may_send
    }

    /// The first flit of an input channel goes through the crossbar; whether it was the last one of its packet.
    #[inline(always)]
    pub(super) fn traverse_switch<const LEAN: bool, const IN_TURN: bool>(
        &mut self,
        number: usize,
        lane: u32,
        output: u32,
        later: u32,
        around: &mut Around<'_>,
    ) -> bool {
        let (rules, now) = (around.rules, around.now);
        let state = &mut self.lanes[lane as usize];
        let flit = self.queues[((lane << self.layout.place_bits) + state.head) as usize];
        state.head = (state.head + 1) & ((1u32 << self.layout.place_bits) - 1);
        state.count -= 1;
        let (is_empty, channel) = (state.count == 0, u32::from(state.channel));
        let inputs = self.inputs;
        let input = &inputs[(lane >> self.layout.channel_bits) as usize];
        let out = (input.first_output + output) as usize;
        let port = &mut self.outputs[out];
        let known = &mut self.known[(out << self.layout.channel_bits) + channel as usize];
        let (is_shared, is_common) = (!LEAN && self.shared.is_some(), !LEAN && self.common.is_some());
        let is_private = !is_shared && !is_common;
        known.add(u32::from(is_private));
        let is_full = is_private && known.used() == self.layout.places;
        if is_full {
            state.may_send = false;
            port.full |= 1 << channel;
        }
        let is_tail = flit & TAIL != 0;
        known.give_up(is_tail);
        port.free |= u64::from(is_tail && !rules.waits_for_tail && !is_shared) << channel;
        let far = port.far;
        if !LEAN && self.layout.has_priorities && !self.layout.is_by_packet {
            self.set_priority(lane, rules);
        }
        if is_shared || !self.layout.is_small {
            if is_full || is_empty || is_tail {
                self.stop_asking(lane, number, output);
            }
        } else {
            self.stop_asking_in_words(input, lane, output, is_full || is_empty || is_tail);
        }
        if let Some(common) = self.common.filter(|_| !LEAN) {
            self.fill(common, out, channel as usize);
        } else if is_shared {
            if IN_TURN
                && self.shared.as_ref().is_some_and(|all| all.overflows(&rules.policy, out, channel as usize))
            {
                self.in_turn.breach = Some(Breach::SharedPlace);
            }
            self.share(out, channel as usize, rules, |behind| {
                behind.send(&rules.policy, out, channel as usize, is_tail);
            });
        }
        if !LEAN && self.layout.goes_by_load {
            around.load[out] += 1;
        }
        self.send_credit::<IN_TURN>(input, lane, now);
        self.send_flit::<IN_TURN>((out, far), channel, flit, now, later);
        if flit & around.looks_ahead != 0 {
            route_ahead(self.first_router + number as u32, output, channel, flit, around);
        }
        if is_tail {
            let state = &mut self.lanes[lane as usize];
            (state.is_idle, state.may_send) = (true, false);
            if !is_empty && IN_TURN {
                self.begin_in_turn(lane, around);
            } else if !is_empty {
                self.begin::<LEAN>(lane, rules, around.packets);
            }
        }
        is_tail
    }
}

/// Computes the ways of a header at the router behind an output.
fn route_ahead(number: u32, output: u32, channel: u32, flit: u32, around: &mut Around<'_>) {
    let rules = around.rules;
    let End::Router(router, entry) = rules.wiring.outputs(number)[output as usize].end else { return };
    let packet = &mut around.packets[flit & PACKET];
    packet.hops += 1;
    let channels = rules.range(packet.kind);
    let load = &*around.load;
    let place = Place { router, port: usize::from(entry), enters: false, channel, channels, load };
    packet.ahead = rules.ways(&place, packet, around.numbers);
}
