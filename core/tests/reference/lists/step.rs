//! One internal step of a router: everything is decided from the state at its beginning, then the state changes.

use super::super::{
    allocators::{NONE, Request},
    breach::Breach,
    flit::Flit,
    network::Place,
    rules::{Rules, SWITCH_LAST},
    seen::State,
    wiring::End,
};
use super::router::{Router, World};
use std::cmp::Reverse;

impl Router {
    /// One internal step.
    pub(super) fn step(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        self.count_step();
        let routed = self.routing.step(world.now, rules.routing_delay);
        if !self.awaiting_vc.is_empty() {
            self.request_vcs(world);
        } else if rules.is_speculative {
            self.channel_allocator.forget();
        }
        if !self.holders.is_empty() {
            self.check_holders(rules);
        }
        if !self.awaiting_switch.is_empty() {
            self.request_switch(world);
        }
        let crossed = self.crossbar.step(world.now, rules.crossbar_delay);

        std::mem::swap(&mut self.awaiting_vc, &mut self.scratch.given);
        std::mem::swap(&mut self.awaiting_switch, &mut self.scratch.crossed);
        if routed {
            self.compute_routes(world);
        }
        if !self.scratch.given.is_empty() {
            self.finish_vc_allocation(world);
        }
        if !self.scratch.held.is_empty() {
            let mut held = std::mem::take(&mut self.scratch.held);
            for (index, may_send) in held.drain(..) {
                self.hold_on(index, may_send, world);
            }
            self.scratch.held = held;
        }
        if !self.scratch.crossed.is_empty() {
            self.traverse_switch(world);
        }
        if crossed {
            for (port, flit) in self.crossbar.inside.drain(..) {
                let queue = &mut self.output[usize::from(port)];
                if queue.is_empty() {
                    self.busy_outputs.push(port);
                }
                queue.push_back(flit);
            }
        }
    }

    fn compute_routes(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let mut inside = std::mem::take(&mut self.routing.inside);
        for index in inside.drain(..) {
            let input = &mut self.inputs[usize::from(index)];
            let packet = &mut world.packets[input.queue[0].packet];
            let place = Place {
                router: self.number,
                port: usize::from(input.at.0),
                enters: matches!(rules.wiring.inputs(self.number)[usize::from(input.at.0)].end, End::Node(_)),
                channel: u32::from(input.at.1),
                channels: rules.range(packet.kind),
                load: world.load,
            };
            input.ways = rules.ways(&place, packet, world.numbers);
            self.wait(index, rules);
        }
        self.routing.inside = inside;
    }

    /// The number of an input or output channel for the allocator; `ports` of the side it belongs to.
    fn requester(&self, rules: &Rules, index: u16) -> u32 {
        if rules.shuffles {
            let (port, channel) = self.inputs[usize::from(index)].at;
            (usize::from(channel) * self.credits.len() + usize::from(port)) as u32
        } else {
            u32::from(index)
        }
    }

    fn request_vcs(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let mut requests = std::mem::take(&mut self.scratch.requests);
        requests.clear();
        for &index in &self.awaiting_vc {
            let input = &self.inputs[usize::from(index)];
            let requester = self.requester(rules, index);
            for way in input.ways.iter() {
                let port = usize::from(way.port);
                for channel in usize::from(way.first)..=usize::from(way.last) {
                    let known = self.behind.channel(port, channel);
                    if known.is_owned
                        || rules.busy_when_full && self.behind.is_full(&rules.policy, port, channel)
                    {
                        continue;
                    }
                    let is_lowered = rules.prefers_empty && known.used > 0;
                    requests.push(Request {
                        requester,
                        resource: (port * rules.channels + channel) as u32,
                        inner: i64::from(way.rank) + if is_lowered { SWITCH_LAST } else { 0 },
                        outer: i64::from(input.priority),
                    });
                }
            }
        }
        self.channel_allocator.allocate(&requests, world.numbers);
        self.scratch.requests = requests;
    }

    /// The output channel that an input channel was given in this step.
    pub(super) fn given(&self, rules: &Rules, index: u16) -> Option<(u16, u16)> {
        let resource = self.channel_allocator.given[self.requester(rules, index) as usize];
        let channels = rules.channels as u32;
        (resource != NONE).then(|| ((resource / channels) as u16, (resource % channels) as u16))
    }

    fn finish_vc_allocation(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let mut list = std::mem::take(&mut self.scratch.given);
        for index in list.drain(..) {
            match self.given(rules, index) {
                None => self.awaiting_vc.push(index),
                Some((port, channel)) => {
                    self.take(usize::from(port), usize::from(channel), world);
                    let input = &mut self.inputs[usize::from(index)];
                    input.state = State::Active;
                    (input.port, input.channel) = (port, channel);
                    if !rules.is_speculative {
                        self.awaiting_switch.push(index);
                    }
                }
            }
        }
        self.scratch.given = list;
    }

    /// Sub-ports of an input channel and an output port.
    #[inline]
    pub(super) fn sub_ports(&self, rules: &Rules, index: u16, output: u16) -> (u32, u32) {
        let (port, channel) = self.inputs[usize::from(index)].at;
        if rules.input_speedup == 1 && rules.output_speedup == 1 {
            return (u32::from(port), u32::from(output));
        }
        let (port, channel) = (usize::from(port), usize::from(channel));
        let inner = port * rules.input_speedup + channel % rules.input_speedup;
        let outer = usize::from(output) * rules.output_speedup + port % rules.output_speedup;
        (inner as u32, outer as u32)
    }

    fn check_holders(&mut self, rules: &Rules) {
        for index in self.holders.drain(..) {
            let input = &self.inputs[usize::from(index)];
            let is_full =
                self.behind.is_full(&rules.policy, usize::from(input.port), usize::from(input.channel));
            self.scratch.held.push((index, !is_full));
        }
    }

    fn hold_on(&mut self, index: u16, may_send: bool, world: &mut World<'_>) {
        let rules = world.rules;
        let output = self.inputs[usize::from(index)].port;
        let mut goes_on = false;
        if may_send && self.has_room(rules, output) {
            let is_tail = self.send(index, world);
            goes_on = !is_tail && !self.inputs[usize::from(index)].queue.is_empty();
        } else {
            self.awaiting_switch.push(index);
        }
        if goes_on {
            self.holders.push(index);
        } else {
            let (inner, outer) = self.sub_ports(rules, index, output);
            self.input_held[inner as usize] = false;
            self.output_held[outer as usize] = false;
            self.inputs[usize::from(index)].holds = false;
        }
    }

    #[inline]
    pub(super) fn has_room(&self, rules: &Rules, output: u16) -> bool {
        rules.output_places.is_none_or(|places| self.output[usize::from(output)].len() < places)
    }

    fn traverse_switch(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let mut list = std::mem::take(&mut self.scratch.crossed);
        for index in list.drain(..) {
            let won = self.scratch.crossing[usize::from(index)].take();
            let Some(output) = won.filter(|&output| self.goes_on(rules, index, output, world)) else {
                self.awaiting_switch.push(index);
                continue;
            };
            let is_tail = self.send(index, world);
            if is_tail || self.inputs[usize::from(index)].queue.is_empty() {
                continue;
            }
            if rules.holds_switch {
                let (inner, outer) = self.sub_ports(rules, index, output);
                self.input_held[inner as usize] = true;
                self.output_held[outer as usize] = true;
                self.inputs[usize::from(index)].holds = true;
                self.holders.push(index);
            } else {
                self.awaiting_switch.push(index);
            }
        }
        self.scratch.crossed = list;
    }

    /// Whether a winner may send; with piggyback it takes its output channel now.
    fn goes_on(&mut self, rules: &Rules, index: u16, output: u16, world: &mut World<'_>) -> bool {
        let input = &self.inputs[usize::from(index)];
        if !rules.is_speculative || input.state == State::Active && !self.scratch.failed.contains(&index) {
            return true;
        }
        if !rules.is_piggyback || self.scratch.barred.contains(&index) {
            return false;
        }
        let class = usize::from(world.packets[input.queue[0].packet].class);
        let at = usize::from(output) * rules.classes + class;
        let turn = self.piggyback_turns[at];
        let port = usize::from(output);
        let mut best = None;
        for way in input.ways.iter().filter(|way| way.port == output) {
            for channel in way.first..=way.last {
                let known = self.behind.channel(port, usize::from(channel));
                if known.is_owned || self.behind.is_full(&rules.policy, port, usize::from(channel)) {
                    continue;
                }
                let is_lowered = rules.prefers_empty && known.used > 0;
                let rank = i64::from(way.rank) + if is_lowered { SWITCH_LAST } else { 0 };
                let key = (rank, i32::from(channel) >= turn, Reverse(channel));
                if best.is_none_or(|other| key > other) {
                    best = Some(key);
                }
            }
        }
        let Some((_, _, Reverse(channel))) = best else { return false };
        self.piggyback_turns[at] = i32::from(channel) + 1;
        self.take(port, usize::from(channel), world);
        let input = &mut self.inputs[usize::from(index)];
        input.state = State::Active;
        (input.port, input.channel) = (output, channel);
        true
    }

    /// A channel behind an output gets an owner.
    fn take(&mut self, port: usize, channel: usize, world: &mut World<'_>) {
        self.behind.take(&world.rules.policy, port, channel);
        if !self.behind.has_limit(&world.rules.policy, port) {
            *world.breach = Some(Breach::PlacePerOwner);
        }
    }

    /// Sends the first flit of an active channel into the crossbar; true if it was a tail.
    fn send(&mut self, index: u16, world: &mut World<'_>) -> bool {
        let rules = world.rules;
        let input = &mut self.inputs[usize::from(index)];
        let (output, channel, at) = (input.port, input.channel, input.at);
        let Some(mut flit) = input.queue.pop_front() else { return true };
        input.set_priority(rules);
        flit.channel = channel;
        let port = usize::from(output);
        self.free_place(at.0, at.1);
        if self.behind.overflows(&rules.policy, port, usize::from(channel)) {
            *world.breach = Some(Breach::SharedPlace);
        }
        let is_tail = flit.is_tail();
        self.behind.send(&rules.policy, port, usize::from(channel), is_tail);
        world.load[self.first_output as usize + port] += 1;
        if rules.routing_delay == 0 && !rules.cuts_by_next_port && flit.is_head() {
            self.route_ahead(&flit, port, world);
        }
        self.crossbar.waiting.push((output, flit));
        if is_tail {
            let input = &mut self.inputs[usize::from(index)];
            input.state = State::Idle;
            if !input.queue.is_empty() {
                self.begin(index, world);
            }
        }
        is_tail
    }

    fn route_ahead(&self, flit: &Flit, port: usize, world: &mut World<'_>) {
        let rules = world.rules;
        let End::Router(router, entry) = rules.wiring.outputs(self.number)[port].end else { return };
        let packet = &mut world.packets[flit.packet];
        let place = Place {
            router,
            port: usize::from(entry),
            enters: false,
            channel: u32::from(flit.channel),
            channels: rules.range(packet.kind),
            load: world.load,
        };
        packet.ahead = rules.ways(&place, packet, world.numbers);
    }
}
