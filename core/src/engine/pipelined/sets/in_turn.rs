//! Routers that do a whole step one after the other, each with what arrives for it: their allocators draw or count how often
//! they are asked, headers have two ways, connections are held, or it is seen when every flit leaves.

use super::{
    super::{
        breach::Breach,
        flit::Ways,
        network::Place,
        rules::{Rules, SWITCH_LAST},
        wiring::End,
    },
    beside::{Beside, InTurn},
    state::{Activated, NO_PORT, NOBODY, PACKET, Router, Sets, View},
    step::Around,
};
use crate::bits::ones;
use std::cmp::Reverse;

/// The mark of a winner that has no output channel yet.
pub(super) const WAITS: u32 = 1 << 31;

/// The input channels of a router have numbers of so many bits.
const STEP_BITS: u32 = 24;

impl Sets {
    /// All routers do their steps of a cycle.
    pub(super) fn work_in_turn(&mut self, around: &mut Around<'_>) -> Option<Breach> {
        let first = self.leaving.step;
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let number = word * 64 + bit;
                self.leaving.step = first;
                self.let_in(number, around);
                for step in 0..around.steps {
                    self.leaving.step = first.wrapping_add(step);
                    self.step_of(number, around);
                }
            }
        }
        self.leaving.step = first.wrapping_add(around.steps);
        self.leaving.cycle = self.leaving.cycle.wrapping_add(1);
        self.in_turn.breach.take()
    }

    /// Lets in what arrives at a router in this cycle.
    fn let_in(&mut self, number: usize, around: &mut Around<'_>) {
        let (rules, now) = (around.rules, around.now);
        let router = &self.routers[number];
        let bits = self.layout.channel_bits;
        let last_input = (router.first_input + router.inputs) << bits;
        let (first_output, behind_outputs) = (router.first_output, router.first_output + router.outputs);
        let [flits, credits] = std::mem::take(&mut self.in_turn.arriving);
        let mut view = self.view();
        view.in_turn.next = i64::from(view.leaving.step) << STEP_BITS;
        while let Some(&item) = flits.get(view.in_turn.taken[0])
            && ((item >> 32) as u32) < last_input
        {
            view.in_turn.taken[0] += 1;
            if view.lanes[(item >> 32) as usize].count >> view.layout.place_bits > 0 {
                self.make_room(self.layout.place_bits + 1);
                view = self.view();
            }
            view.let_flit_in((item >> 32) as u32, item as u32, around);
        }
        if let Some(behind) = &mut view.shared {
            behind.set_time(now);
        }
        while let Some(&item) = credits.get(view.in_turn.taken[1])
            && ((item >> 32) as u32) < behind_outputs << bits
        {
            view.in_turn.taken[1] += 1;
            view.credit::<false>((item >> 32) as u32, rules, around.load);
        }
        if rules.policy.goes_by_round_trips() {
            view.pass_time(first_output..behind_outputs, rules);
        }
        self.in_turn.arriving = [flits, credits];
    }

    /// A step: everything is decided from the state at its beginning, then the state changes.
    fn step_of(&mut self, number: usize, around: &mut Around<'_>) {
        let (rules, now) = (around.rules, around.now);
        let is_routed = self.begin_routing(number, rules, now);
        let waits = !self.routers[number].waiting.is_empty();
        if waits && rules.is_piggyback {
            self.scratch.given.clear();
            self.scratch.given.resize(self.routers[number].waiting.len(), NOBODY);
        } else if waits {
            self.allocate_vcs(number, rules, around.numbers);
            self.note_given(number, rules);
        }
        let Self { in_turn, lanes, .. } = &mut *self;
        let beside = &mut in_turn.routers[number];
        let held = beside.holders.drain(..).map(|lane| (lane, lanes[lane as usize].may_send));
        in_turn.step.held.extend(held);
        self.scratch.winners.clear();
        if self.in_turn.routers[number].asking > 0 {
            self.allocate_switch_in_turn(number, rules, around.numbers);
        }
        let is_through = self.in_turn.routers[number].crossbar.step(now, rules.crossbar_delay);

        self.in_turn.next = -(i64::from(self.leaving.step) << STEP_BITS);
        if is_routed || waits {
            self.finish_vc_allocation::<true>(number, is_routed, around);
        }
        if !self.scratch.activated.is_empty() {
            self.activate_in_turn(rules);
        }
        if !self.in_turn.step.held.is_empty() {
            self.hold_on(number, around);
        }
        if !self.scratch.winners.is_empty() {
            self.traverse_in_turn(number, around);
        }
        if is_through {
            let InTurn { routers, outputs, .. } = &mut self.in_turn;
            let Beside { crossbar, busy_outputs, .. } = &mut routers[number];
            for (output, channel, flit) in crossbar.inside.drain(..) {
                let queue = &mut outputs[output as usize];
                if queue.is_empty() {
                    busy_outputs.push(output);
                }
                queue.push_back((channel, flit));
            }
        }
    }

    /// Notes who is given which output channel, for those who have asked for the switch already.
    fn note_given(&mut self, number: usize, rules: &Rules) {
        if rules.is_speculative {
            for (&lane, &channel) in self.routers[number].waiting.iter().zip(&self.scratch.given) {
                self.in_turn.given[lane as usize] = channel;
            }
        }
    }

    /// Those that were given an output channel are active.
    fn activate_in_turn(&mut self, rules: &Rules) {
        let mut activated = std::mem::take(&mut self.scratch.activated);
        let mut view = self.view();
        for Activated { router, lane, channel, .. } in activated.drain(..) {
            view.take(router, lane, channel, rules);
            if rules.is_speculative {
                view.in_turn.given[lane as usize] = NOBODY;
            } else {
                view.enter(router as usize, lane);
            }
        }
        self.scratch.activated = activated;
    }

    /// Those that hold connections send, or give them back.
    fn hold_on(&mut self, number: usize, around: &mut Around<'_>) {
        let rules = around.rules;
        let mut held = std::mem::take(&mut self.in_turn.step.held);
        for (lane, may_send) in held.drain(..) {
            let output = u32::from(self.lanes[lane as usize].port);
            let (inner, outer) = self.sub_ports(number, lane, output);
            let mut goes_on = false;
            let has_room = self.in_turn.has_room(self.routers[number].first_output + output, rules);
            let mut view = self.view();
            if may_send && has_room {
                let is_tail = view.traverse_switch::<false, true>(number, lane, output, 1, around);
                goes_on = !is_tail && view.lanes[lane as usize].count > 0;
            } else {
                view.enter(number, lane);
            }
            if goes_on {
                view.in_turn.routers[number].holders.push(lane);
            } else {
                view.in_turn.held_inputs[inner] = false;
                view.in_turn.held_outputs[outer] = false;
            }
        }
        self.in_turn.step.held = held;
    }

    /// Winners of the switch send, in the order in which they have asked.
    fn traverse_in_turn(&mut self, number: usize, around: &mut Around<'_>) {
        let rules = around.rules;
        let mut winners = std::mem::take(&mut self.scratch.winners);
        winners.sort_unstable_by_key(|winner| self.order[winner.1 as usize]);
        let mut view = self.view();
        for &(_, lane, output) in &winners {
            let waits = output & WAITS != 0;
            let output = output & !WAITS;
            if waits {
                let takes = self.take_with_switch(number, lane, output, around);
                view = self.view();
                if !takes {
                    continue;
                }
            }
            view.in_turn.next = view.order[lane as usize];
            let is_tail = view.traverse_switch::<false, true>(number, lane, output, 1, around);
            let goes_on = !is_tail && view.lanes[lane as usize].count > 0;
            if goes_on && !rules.holds_switch {
                continue;
            }
            let beside = &mut view.in_turn.routers[number];
            beside.asking -= 1;
            if goes_on {
                beside.holders.push(lane);
                let (inner, outer) = self.sub_ports(number, lane, output);
                self.in_turn.held_inputs[inner] = true;
                self.in_turn.held_outputs[outer] = true;
                view = self.view();
            }
        }
        self.scratch.winners = winners;
    }

    /// A winner without output channel takes one now; whether there is one.
    fn take_with_switch(&mut self, number: usize, lane: u32, output: u32, around: &Around<'_>) -> bool {
        let rules = around.rules;
        let state = &self.lanes[lane as usize];
        let flit = self.queues[((lane << self.layout.place_bits) + state.head) as usize];
        let class = usize::from(around.packets[flit & PACKET].class);
        let out = self.routers[number].first_output + output;
        let turn = self.in_turn.turns[out as usize * rules.classes + class];
        let free = self.outputs[out as usize].free & !self.full(out, rules);
        let mut best = None;
        for way in self.ways_of(lane).iter().filter(|way| u32::from(way.port) == output) {
            for channel in way.first..=way.last {
                if free >> channel & 1 == 0 {
                    continue;
                }
                let is_lowered = rules.prefers_empty && self.used(out, channel.into()) > 0;
                let rank = i64::from(way.rank) + if is_lowered { SWITCH_LAST } else { 0 };
                let key = (rank, i32::from(channel) >= turn, Reverse(channel));
                if best.is_none_or(|other| key > other) {
                    best = Some(key);
                }
            }
        }
        let Some((_, _, Reverse(channel))) = best else { return false };
        self.in_turn.turns[out as usize * rules.classes + class] = i32::from(channel) + 1;
        self.routers[number].waiting.retain(|&other| other != lane);
        self.lanes[lane as usize].port = output as u16;
        self.view().take(number as u32, lane, channel.into(), rules);
        true
    }

    /// Queues have room for 2 to the power of `bits` flits from now on, each of which begins at its first place.
    pub(super) fn make_room(&mut self, bits: u32) {
        let (room, more) = (1 << self.layout.place_bits, 1 << bits);
        let mut queues = vec![0; self.lanes.len() << bits];
        let mut stamps = vec![0; if self.stamps.is_empty() { 0 } else { queues.len() }];
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            for flit in 0..lane.count as usize {
                let from = at * room + (lane.head as usize + flit) % room;
                queues[at * more + flit] = self.queues[from];
                if let Some(stamp) = self.stamps.get(from) {
                    stamps[at * more + flit] = *stamp;
                }
            }
            lane.head = 0;
        }
        (self.queues, self.stamps) = (queues, stamps);
        self.layout.place_bits = bits;
    }

    /// Whether an input channel has an output channel.
    pub(super) fn is_active(&self, number: usize, lane: u32) -> bool {
        let state = &self.lanes[lane as usize];
        let out = self.routers[number].first_output + u32::from(state.port);
        let at = (out << self.layout.channel_bits) + u32::from(state.channel);
        state.port != NO_PORT && self.known[at as usize].owner == lane
    }

    /// The ways of an input channel that waits.
    pub(super) fn ways_of(&self, lane: u32) -> Ways {
        let state = &self.lanes[lane as usize];
        match self.in_turn.ways.get(lane as usize) {
            Some(ways) => *ways,
            None if state.port == NO_PORT => Ways::default(),
            None => Ways::one(state.port.into(), state.first.into(), state.last.into()),
        }
    }

    /// Flits that are known in the queue of a channel behind an output port.
    pub(super) fn used(&self, output: u32, channel: u32) -> u32 {
        match &self.shared {
            Some(behind) => behind.channel(output as usize, channel as usize).used,
            None => self.known[((output << self.layout.channel_bits) + channel) as usize].used(),
        }
    }

    /// Whether steps would change nothing, and nothing is to be sent.
    pub(super) fn is_at_rest(&self, number: usize) -> bool {
        let Router { to_be_routed, routing, waiting, .. } = &self.routers[number];
        let Beside { holders, asking, crossbar, busy_outputs, busy_inputs } = &self.in_turn.routers[number];
        to_be_routed.is_empty()
            && routing.is_empty()
            && waiting.is_empty()
            && holders.is_empty()
            && *asking == 0
            && crossbar.is_empty()
            && busy_outputs.is_empty()
            && busy_inputs.is_empty()
    }
}

impl View<'_> {
    /// A flit arrives.
    fn let_flit_in(&mut self, lane: u32, flit: u32, around: &mut Around<'_>) {
        let (is_idle, is_first) = self.queue::<false>(lane, flit, around.now, around.rules, around.packets);
        if is_idle {
            self.begin_in_turn(lane, around);
        } else if is_first {
            // One that is neither idle nor waits has an output channel.
            let state = &self.lanes[lane as usize];
            let (output, may_send) = (state.port, state.may_send);
            let router = self.inputs[(lane >> self.layout.channel_bits) as usize].router;
            self.ask(lane, output, may_send);
            self.enter(router as usize, lane);
        }
    }

    /// An input channel is among those that ask for the switch from now on.
    pub(super) fn enter(&mut self, number: usize, lane: u32) {
        self.in_turn.routers[number].asking += 1;
        self.order[lane as usize] = self.in_turn.next;
        self.in_turn.next += 1;
    }

    /// Begins with the packet at the front of a queue.
    pub(super) fn begin_in_turn(&mut self, lane: u32, around: &mut Around<'_>) {
        let rules = around.rules;
        self.begin::<false>(lane, rules, around.packets);
        if rules.routing_delay > 0 {
            return;
        }
        let state = &self.lanes[lane as usize];
        let first = ((lane << self.layout.place_bits) + state.head) as usize;
        let place = self.queues[first] & PACKET;
        let router = self.inputs[(lane >> self.layout.channel_bits) as usize].router as usize;
        if let Some(ways) = self.in_turn.ways.get_mut(lane as usize) {
            *ways = around.packets[place].ahead;
        }
        if rules.cuts_by_next_port {
            let ways = self.cut_by_next_port(lane, place, around);
            self.lanes[lane as usize].set_ways(&ways);
            if let Some(own) = self.in_turn.ways.get_mut(lane as usize) {
                *own = ways;
            }
        }
        if rules.is_speculative {
            self.enter(router, lane);
        }
    }

    /// The way out of this router with the channels that stand for the output port of the next one, whose way is
    /// computed now. In front of a node they stand for the port of this one, but for packets from nodes of this
    /// router, which may use all.
    fn cut_by_next_port(&self, lane: u32, place: u32, around: &mut Around<'_>) -> Ways {
        let rules = around.rules;
        let packet = &mut around.packets[place];
        packet.hops += 1;
        let here = packet.ahead;
        let Some(way) = here.iter().next() else { return here };
        let input = &self.inputs[(lane >> self.layout.channel_bits) as usize];
        let outputs = rules.wiring.outputs(input.router);
        let mut ports = outputs.len();
        if let End::Router(router, entry) = outputs[usize::from(way.port)].end {
            let (port, channels) = (usize::from(entry), rules.range(packet.kind));
            let place = Place { router, port, enters: false, channel: 0, channels, load: around.load };
            packet.ahead = rules.ways(&place, packet, around.numbers);
            ports = rules.wiring.outputs(router).len();
        } else if input.far.is_node {
            return here;
        }
        let range = packet.ahead.iter().next().map_or((0, 0), |next| (next.first.into(), next.last.into()));
        here.within(packet.ahead.part_of(range, ports))
    }
}
