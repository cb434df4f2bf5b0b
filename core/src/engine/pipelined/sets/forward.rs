//! Who crosses to which output, where routers work in turn: who is put forward, and who wins.

use super::{
    super::{
        allocators::{NONE, Request, behind, first},
        numbers::Numbers,
        rules::{Rules, SWITCH_LAST},
    },
    beside::OfStep,
    channels::bits,
    in_turn::WAITS,
    state::{NOBODY, Router, Sets},
};
use crate::bits::ones;
use std::cmp::Reverse;

/// The channels of an input port that ask for an output: those that may send there, and those that wait.
#[derive(Clone, Copy, Default)]
struct Asking {
    ready: u64,
    ahead: u64,
}

impl Sets {
    /// Sub-ports of an input channel and an output port of its router, among all.
    pub(super) fn sub_ports(&self, number: usize, lane: u32, output: u32) -> (usize, usize) {
        let (inner, outer) = (self.layout.input_speedup, self.layout.output_speedup);
        let (port, channel) =
            (lane >> self.layout.channel_bits, lane & ((1 << self.layout.channel_bits) - 1));
        let router = &self.routers[number];
        let input = port * inner + channel % inner;
        let output = (router.first_output + output) * outer + (port - router.first_input) % outer;
        (input as usize, output as usize)
    }

    /// Decides which input of a router crosses to which output.
    pub(super) fn allocate_switch_in_turn(
        &mut self,
        number: usize,
        rules: &Rules,
        numbers: &mut dyn Numbers,
    ) {
        if rules.is_plain_switch {
            self.allocate_switch_plainly(number, rules);
            return;
        }
        if rules.is_speculative {
            self.ask_ahead(number, rules);
        }
        let is_apart = !self.in_turn.speculative_allocators.is_empty();
        self.begin_requests();
        self.put_all_forward(number, rules, !is_apart);
        let requests = std::mem::take(&mut self.scratch.requests);
        let lanes = std::mem::take(&mut self.in_turn.step.lanes);
        self.switch_allocators[number].allocate(&requests, numbers);
        for (request, &lane) in requests.iter().zip(&lanes) {
            if self.switch_allocators[number].given[request.requester as usize] == request.resource {
                self.win_in_turn(number, request, lane, rules);
            }
        }
        if is_apart {
            let asked = std::mem::take(&mut self.in_turn.step.asked_ahead);
            for &pair in &asked {
                let ahead = self.in_turn.step.ahead[pair as usize];
                self.put_forward(number, pair, Asking { ready: 0, ahead }, 0);
            }
            self.in_turn.step.asked_ahead = asked;
            let ahead = std::mem::take(&mut self.scratch.requests);
            let lanes_ahead = std::mem::take(&mut self.in_turn.step.lanes);
            self.in_turn.speculative_allocators[number].allocate(&ahead, numbers);
            for (request, &lane) in ahead.iter().zip(&lanes_ahead) {
                let (inner, outer) = (request.requester as usize, request.resource as usize);
                let sure = &self.switch_allocators[number];
                if self.in_turn.speculative_allocators[number].given[inner] != request.resource
                    || sure.given[inner] != NONE
                {
                    continue;
                }
                let is_masked = if rules.masks_by_requests {
                    requests.iter().any(|other| other.resource == request.resource)
                } else {
                    sure.taken[outer] != NONE
                };
                if !is_masked {
                    self.win_in_turn(number, request, lane, rules);
                }
            }
        }
        (self.scratch.requests, self.in_turn.step.lanes) = (requests, lanes);
        let OfStep { ahead, asked_ahead, .. } = &mut self.in_turn.step;
        asked_ahead.drain(..).for_each(|pair| ahead[pair as usize] = 0);
    }

    fn begin_requests(&mut self) {
        self.scratch.requests.clear();
        self.in_turn.step.lanes.clear();
    }

    /// Lists the input ports and outputs of a router for which channels are ready, from its first port on.
    fn list_pairs(&self, number: usize, list: &mut Vec<u32>) -> u32 {
        let router = &self.routers[number];
        let from = router.first_input << self.layout.output_bits;
        let to = (router.first_input + router.inputs) << self.layout.output_bits;
        list.clear();
        list.extend(self.in_turn.pairs.within(from, to).map(|pair| pair - from));
        from
    }

    /// Decides it by turns alone, with sets of bits.
    fn allocate_switch_plainly(&mut self, number: usize, rules: &Rules) {
        let (inner, outer) = (self.layout.input_speedup, self.layout.output_speedup);
        let (output_bits, channel_bits) = (self.layout.output_bits, self.layout.channel_bits);
        let Router { first_input, first_output, inputs, .. } = self.routers[number];
        let Self { switch_allocators, scratch, ready, subs, turns, in_turn, .. } = self;
        let allocator = &mut switch_allocators[number];
        let (from, to) = (first_input << output_bits, (first_input + inputs) << output_bits);
        for at in in_turn.pairs.within(from, to) {
            let pair = at - from;
            let (port, output) = (pair >> output_bits, pair & ((1 << output_bits) - 1));
            let resource = output * outer + port % outer;
            if in_turn.held_outputs[(first_output * outer + resource) as usize]
                || !in_turn.has_room(first_output + output, rules)
            {
                continue;
            }
            for (sub, &of_sub) in (0..).zip(&*subs) {
                let requester = port * inner + sub;
                if ready[at as usize] & of_sub != 0
                    && !in_turn.held_inputs[(first_input * inner + requester) as usize]
                {
                    allocator.ask(requester, resource);
                }
            }
        }
        let channels = self.layout.channels;
        allocator.allocate_asked(|requester, resource| {
            let (port, sub) = (first_input + requester / inner, requester % inner);
            let output = resource / outer;
            let set = ready[((port << output_bits) + output) as usize] & subs[sub as usize];
            let turn = &mut turns[(first_input * inner + requester) as usize];
            let channel = first(set, u32::from(*turn));
            *turn = ((channel + inner) % channels) as u8;
            scratch.winners.push((number as u32, (port << channel_bits) + channel, output));
        });
    }

    /// What input channels that wait for an output channel ask for.
    fn ask_ahead(&mut self, number: usize, rules: &Rules) {
        self.in_turn.step.barred.clear();
        for at in 0..self.routers[number].waiting.len() {
            let lane = self.routers[number].waiting[at];
            let port = (lane >> self.layout.channel_bits) - self.routers[number].first_input;
            let channel = lane & ((1 << self.layout.channel_bits) - 1);
            for way in self.ways_of(lane).iter() {
                let output = self.routers[number].first_output + u32::from(way.port);
                let may_ask = if rules.checks_eligibility {
                    let full = if rules.checks_credits { self.full(output, rules) } else { 0 };
                    let free = self.outputs[output as usize].free & !full;
                    free & bits(way.first as u8, way.last as u8) != 0 && self.in_turn.has_room(output, rules)
                } else {
                    !rules.checks_credits
                };
                let OfStep { ahead, asked_ahead, barred, .. } = &mut self.in_turn.step;
                if !may_ask {
                    barred.push(lane);
                    continue;
                }
                let pair = (port << self.layout.output_bits) + u32::from(way.port);
                let set = &mut ahead[pair as usize];
                if *set == 0 {
                    asked_ahead.push(pair);
                }
                *set |= 1 << channel;
            }
        }
    }

    /// Puts forward those that may send, and with them those that wait.
    fn put_all_forward(&mut self, number: usize, rules: &Rules, with_ahead: bool) {
        let (first_output, output_bits) = (self.routers[number].first_output, self.layout.output_bits);
        let mut list = std::mem::take(&mut self.scratch.list);
        let from = self.list_pairs(number, &mut list);
        for &pair in &list {
            let output = pair & ((1 << output_bits) - 1);
            let has_room = self.in_turn.has_room(first_output + output, rules);
            let ready = if has_room { self.ready[(from + pair) as usize] } else { 0 };
            let ahead =
                if with_ahead { self.in_turn.step.ahead.get(pair as usize).copied().unwrap_or(0) } else { 0 };
            self.put_forward(number, pair, Asking { ready, ahead }, SWITCH_LAST);
        }
        list.clear();
        self.scratch.list = list;
        if !with_ahead {
            return;
        }
        let asked = std::mem::take(&mut self.in_turn.step.asked_ahead);
        for &pair in &asked {
            if self.ready[(from + pair) as usize] != 0 {
                continue;
            }
            let ahead = self.in_turn.step.ahead[pair as usize];
            self.put_forward(number, pair, Asking { ready: 0, ahead }, SWITCH_LAST);
        }
        self.in_turn.step.asked_ahead = asked;
    }

    /// Of each sub-port of an input port the channel that it puts forward for an output: the highest priority, then the
    /// first from the sub-port's turn on.
    fn put_forward(&mut self, number: usize, pair: u32, asking: Asking, lowered: i64) {
        let (inner, outer) = (self.layout.input_speedup, self.layout.output_speedup);
        let router = &self.routers[number];
        let (port, output) = (pair >> self.layout.output_bits, pair & ((1 << self.layout.output_bits) - 1));
        let resource = output * outer + port % outer;
        if self.in_turn.held_outputs[(router.first_output * outer + resource) as usize] {
            return;
        }
        let first_lane = (router.first_input + port) << self.layout.channel_bits;
        for (sub, &of_sub) in (0..).zip(&self.subs) {
            let set = (asking.ready | asking.ahead) & of_sub;
            let requester = port * inner + sub;
            let at = (router.first_input * inner + requester) as usize;
            if set == 0 || self.in_turn.held_inputs[at] {
                continue;
            }
            let turn = u32::from(self.turns[at]);
            let key = |channel: usize| {
                let own = self.priorities.get(first_lane as usize + channel).map_or(0, |&one| i64::from(one));
                let is_ready = asking.ready >> channel & 1 != 0;
                let wait = behind(channel as u32, turn, self.layout.channels as usize);
                (own + if is_ready { 0 } else { lowered }, Reverse(wait))
            };
            let best = ones(set).max_by_key(|&channel| key(channel));
            let Some(channel) = best else { continue };
            let (priority, _) = key(channel);
            self.scratch.requests.push(Request { requester, resource, inner: priority, outer: priority });
            self.in_turn.step.lanes.push(first_lane + channel as u32);
        }
    }

    /// Who was put forward has won; whoever waits crosses if it is given a channel of this output that is not full.
    fn win_in_turn(&mut self, number: usize, request: &Request, lane: u32, rules: &Rules) {
        if rules.is_speculative && self.in_turn.step.barred.contains(&lane) {
            return;
        }
        let (inner, output) = (self.layout.input_speedup, request.resource / self.layout.output_speedup);
        let channel = lane & ((1 << self.layout.channel_bits) - 1);
        let at = (self.routers[number].first_input * inner + request.requester) as usize;
        self.turns[at] = ((channel + inner) % self.layout.channels) as u8;
        let waits = rules.is_speculative && !self.is_active(number, lane);
        if !waits {
            self.scratch.winners.push((number as u32, lane, output));
        } else if rules.is_piggyback {
            self.scratch.winners.push((number as u32, lane, output | WAITS));
        } else {
            let given = self.in_turn.given[lane as usize];
            let out = self.routers[number].first_output + output;
            let state = &self.lanes[lane as usize];
            if given != NOBODY && u32::from(state.port) == output && self.full(out, rules) >> given & 1 == 0 {
                self.scratch.winners.push((number as u32, lane, output));
            }
        }
    }
}
