//! One internal step of a router: everything is decided from the state at its beginning, then the state changes.

use super::{
    allocators::{NONE, Request},
    flit::Flit,
    network::{Rules, SWITCH_LAST},
    router::{Router, State, World},
    routing::Place,
};
use std::cmp::Reverse;

impl Router {
    /// One internal step.
    pub(super) fn step(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let routed = self.routing.step(world.now, rules.routing_delay);
        let to_be_given = std::mem::take(&mut self.to_be_given);
        if !to_be_given.is_empty() {
            self.ask_for_channels(&to_be_given, world);
        } else if rules.is_speculative {
            self.channel_allocator.forget();
        }
        let holders = std::mem::take(&mut self.holders);
        let free: Vec<bool> = holders
            .iter()
            .map(|&index| {
                let input = &self.inputs[usize::from(index)];
                !self.behind[usize::from(input.port)].is_full(&rules.policy, usize::from(input.channel))
            })
            .collect();
        let to_cross = std::mem::take(&mut self.to_cross);
        if !to_cross.is_empty() {
            self.ask_for_the_switch(&to_cross, world);
        }
        let crossed = self.crossbar.step(world.now, rules.crossbar_delay);

        if routed {
            self.finish_routing(world);
        }
        self.give_channels(to_be_given, world);
        for (&index, &free) in holders.iter().zip(&free) {
            self.hold_on(index, free, world);
        }
        self.cross(to_cross, world);
        if crossed {
            let mut inside = std::mem::take(&mut self.crossbar.inside);
            for (port, flit) in inside.drain(..) {
                self.output[usize::from(port)].push_back(flit);
            }
            self.crossbar.inside = inside;
        }
        for port in 0..self.freed.len() {
            let set = std::mem::take(&mut self.freed[port]);
            if set > 0 {
                self.credits[port].push_back(set);
            }
        }
    }

    fn finish_routing(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let mut inside = std::mem::take(&mut self.routing.inside);
        for index in inside.drain(..) {
            let input = &mut self.inputs[usize::from(index)];
            let packet = &mut world.packets[input.queue[0].packet];
            let place = Place {
                router: self.number,
                port: usize::from(index) / rules.channels,
                channel: u32::from(index) % rules.channels as u32,
                channels: rules.range(packet.kind),
                load: world.load,
            };
            input.ways = rules.routing.ways(&rules.shape, &place, packet, world.numbers);
            input.state = State::Waiting;
            if rules.is_speculative {
                self.to_cross.push(index);
            }
            if !rules.is_piggyback {
                self.to_be_given.push(index);
            }
        }
        self.routing.inside = inside;
    }

    /// The number of an input or output channel for the allocator.
    fn requester(rules: &Rules, index: u16) -> u32 {
        if rules.shuffles {
            let (port, channel) = (usize::from(index) / rules.channels, usize::from(index) % rules.channels);
            (channel * rules.shape.ports() + port) as u32
        } else {
            u32::from(index)
        }
    }

    fn ask_for_channels(&mut self, list: &[u16], world: &mut World<'_>) {
        let rules = world.rules;
        let mut requests = std::mem::take(&mut self.scratch.requests);
        requests.clear();
        for &index in list {
            let input = &self.inputs[usize::from(index)];
            for way in input.ways.iter() {
                let behind = &self.behind[usize::from(way.port)];
                for channel in usize::from(way.first)..=usize::from(way.last) {
                    if behind.is_owned[channel]
                        || rules.busy_when_full && behind.is_full(&rules.policy, channel)
                    {
                        continue;
                    }
                    let is_lowered = rules.prefers_empty && behind.used[channel] > 0;
                    requests.push(Request {
                        requester: Self::requester(rules, index),
                        resource: u32::from(way.port) * rules.channels as u32 + channel as u32,
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
        let resource = self.channel_allocator.given[Self::requester(rules, index) as usize];
        let channels = rules.channels as u32;
        (resource != NONE).then(|| ((resource / channels) as u16, (resource % channels) as u16))
    }

    fn give_channels(&mut self, list: Vec<u16>, world: &World<'_>) {
        let rules = world.rules;
        for &index in &list {
            match self.given(rules, index) {
                None => self.to_be_given.push(index),
                Some((port, channel)) => {
                    self.behind[usize::from(port)].take(&rules.policy, usize::from(channel));
                    let input = &mut self.inputs[usize::from(index)];
                    input.state = State::Active;
                    (input.port, input.channel) = (port, channel);
                    if !rules.is_speculative {
                        self.to_cross.push(index);
                    }
                }
            }
        }
    }

    /// Sub-ports of an input channel and an output port.
    pub(super) fn sub_ports(rules: &Rules, index: u16, output: u16) -> (u32, u32) {
        let (port, channel) = (usize::from(index) / rules.channels, usize::from(index) % rules.channels);
        let inner = port * rules.input_speedup + channel % rules.input_speedup;
        let outer = usize::from(output) * rules.output_speedup + port % rules.output_speedup;
        (inner as u32, outer as u32)
    }

    fn hold_on(&mut self, index: u16, may_send: bool, world: &mut World<'_>) {
        let rules = world.rules;
        let output = self.inputs[usize::from(index)].port;
        if may_send && !self.has_room(rules, output) {
            self.holders.push(index);
            return;
        }
        let mut goes_on = false;
        if may_send {
            let is_tail = self.send(index, world);
            goes_on = !is_tail && !self.inputs[usize::from(index)].queue.is_empty();
        } else {
            self.to_cross.push(index);
        }
        if goes_on {
            self.holders.push(index);
        } else {
            let (inner, outer) = Self::sub_ports(rules, index, output);
            self.input_held[inner as usize] = false;
            self.output_held[outer as usize] = false;
            self.inputs[usize::from(index)].holds = false;
        }
    }

    pub(super) fn has_room(&self, rules: &Rules, output: u16) -> bool {
        rules.output_places.is_none_or(|places| self.output[usize::from(output)].len() < places)
    }

    fn cross(&mut self, list: Vec<u16>, world: &mut World<'_>) {
        let rules = world.rules;
        for index in list {
            let won = self.scratch.crossing[usize::from(index)].take();
            let Some(output) = won.filter(|&output| self.goes_on(rules, index, output, world)) else {
                self.to_cross.push(index);
                continue;
            };
            let is_tail = self.send(index, world);
            if is_tail || self.inputs[usize::from(index)].queue.is_empty() {
                continue;
            }
            if rules.holds_switch {
                let (inner, outer) = Self::sub_ports(rules, index, output);
                self.input_held[inner as usize] = true;
                self.output_held[outer as usize] = true;
                self.inputs[usize::from(index)].holds = true;
                self.holders.push(index);
            } else {
                self.to_cross.push(index);
            }
        }
    }

    /// Whether a winner may send; with piggyback it takes its output channel now.
    fn goes_on(&mut self, rules: &Rules, index: u16, output: u16, world: &World<'_>) -> bool {
        let input = &self.inputs[usize::from(index)];
        if input.state == State::Active && !self.scratch.failed.contains(&index) {
            return true;
        }
        if !rules.is_piggyback || self.scratch.barred.contains(&index) {
            return false;
        }
        let class = usize::from(world.packets[input.queue[0].packet].class);
        let at = usize::from(output) * rules.classes + class;
        let turn = self.piggyback_turns[at];
        let behind = &self.behind[usize::from(output)];
        let mut best = None;
        for way in input.ways.iter().filter(|way| way.port == output) {
            for channel in way.first..=way.last {
                let place = usize::from(channel);
                if behind.is_owned[place] || behind.is_full(&rules.policy, place) {
                    continue;
                }
                let is_lowered = rules.prefers_empty && behind.used[place] > 0;
                let rank = i64::from(way.rank) + if is_lowered { SWITCH_LAST } else { 0 };
                let key = (rank, i32::from(channel) >= turn, Reverse(channel));
                if best.is_none_or(|other| key > other) {
                    best = Some(key);
                }
            }
        }
        let Some((_, _, Reverse(channel))) = best else { return false };
        self.piggyback_turns[at] = i32::from(channel) + 1;
        self.behind[usize::from(output)].take(&rules.policy, usize::from(channel));
        let input = &mut self.inputs[usize::from(index)];
        input.state = State::Active;
        (input.port, input.channel) = (output, channel);
        true
    }

    /// Sends the first flit of an active channel into the crossbar; true if it was a tail.
    fn send(&mut self, index: u16, world: &mut World<'_>) -> bool {
        let rules = world.rules;
        let at = usize::from(index);
        let input = &mut self.inputs[at];
        let (output, channel) = (input.port, input.channel);
        let Some(mut flit) = input.queue.pop_front() else { return true };
        input.set_priority(rules);
        flit.channel = channel;
        let port = usize::from(output);
        self.freed[at / rules.channels] |= 1 << (at % rules.channels);
        *world.overflowed |= self.behind[port].overflows(&rules.policy, usize::from(channel));
        self.behind[port].send(&rules.policy, usize::from(channel), flit.is_tail);
        world.load[self.number as usize * rules.shape.ports() + port] += 1;
        if flit.is_head() && rules.routing_delay == 0 && port != rules.shape.processor() {
            self.look_ahead(&flit, port, world);
        }
        let is_tail = flit.is_tail;
        self.crossbar.waiting.push((output, flit));
        if is_tail {
            let input = &mut self.inputs[at];
            input.state = State::Idle;
            if !input.queue.is_empty() {
                self.begin(index, world);
            }
        }
        is_tail
    }

    fn look_ahead(&self, flit: &Flit, port: usize, world: &mut World<'_>) {
        let rules = world.rules;
        let packet = &mut world.packets[flit.packet];
        let place = Place {
            router: rules.shape.neighbour(self.number, port),
            port: port ^ 1,
            channel: u32::from(flit.channel),
            channels: rules.range(packet.kind),
            load: world.load,
        };
        packet.ahead = rules.routing.ways(&rules.shape, &place, packet, world.numbers);
    }
}
