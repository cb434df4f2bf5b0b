//! Who crosses to which output.

use super::{
    super::{
        allocators::{Request, after, behind, first},
        numbers::Numbers,
        rules::{Rules, SWITCH_LAST},
    },
    channels::bits,
    matrix,
    state::{NO_PORT, Sets},
};
use crate::bits::ones;
use std::{cmp::Reverse, ops::Range};

/// Of some channels the one of the highest priority, and of several such the first from the turn on.
fn foremost(priorities: &[i32], set: u64, turn: u32) -> u32 {
    let later = set >> turn << turn;
    let (mut best, mut highest) = (0, i64::MIN);
    for channel in ones(later).chain(ones(set & !later)) {
        let priority = i64::from(priorities[channel]);
        if priority > highest {
            (best, highest) = (channel as u32, priority);
        }
    }
    best
}

impl Sets {
    /// Decides in some routers which input crosses to which output.
    pub(super) fn allocate_switch(&mut self, which: Range<usize>, rules: &Rules, numbers: &mut dyn Numbers) {
        self.scratch.winners.clear();
        let (is_small, is_single) = (
            self.layout.is_small && self.switch_allocators.is_empty(),
            self.layout.input_speedup * self.layout.output_speedup == 1,
        );
        if is_small
            && self.layout.iterations == 1
            && !rules.is_speculative
            && which == (0..self.routers.len())
        {
            if is_single {
                self.match_all_words::<true>();
            } else {
                self.match_all_words::<false>();
            }
            return;
        }
        for number in which {
            if is_small && self.layout.output_speedup > 1 {
                for class in 0..self.layout.output_speedup {
                    let asks = self.asks[number * self.layout.output_speedup as usize + class as usize];
                    if asks != 0 {
                        self.match_words(number, class, asks);
                    }
                }
                continue;
            }
            let mut asks = self.asks[number];
            if rules.is_speculative && !self.routers[number].waiting.is_empty() {
                asks |= self.speculative_requests(number, rules);
            }
            if asks == 0 {
                continue;
            }
            if !self.switch_allocators.is_empty() {
                self.match_listed(number, asks, numbers);
            } else if self.layout.is_small {
                self.match_words(number, 0, asks);
            } else if asks & (asks - 1) == 0 {
                self.grant_only(number, asks.trailing_zeros());
            } else if self.layout.input_first {
                self.match_from_inputs(number, rules);
            } else {
                self.match_from_outputs(number, rules);
            }
            if rules.is_speculative {
                self.scratch.speculative.fill(0);
            }
        }
    }

    /// Matches in all routers whose requests fit in words, in one iteration; whether every port is a single one for the
    /// switch.
    fn match_all_words<const SINGLE: bool>(&mut self) {
        let mut winners = std::mem::take(&mut self.scratch.winners);
        let (output_bits, channel_bits, channels) =
            (self.layout.output_bits, self.layout.channel_bits, self.layout.channels);
        let (input_speedup, output_speedup) =
            if SINGLE { (1, 1) } else { (self.layout.input_speedup, self.layout.output_speedup) };
        let has_priorities = self.layout.has_priorities;
        let Self {
            routers, asks, grant_bytes, accept_bytes, ready, turns, priorities, subs, input_of, ..
        } = self;
        for (word, asks) in asks.chunks(64).enumerate() {
            // Who asks at all is hard to foresee.
            let asking = asks.iter().rev().fold(0, |set, &asks| set << 1 | u64::from(asks != 0));
            for bit in ones(asking) {
                let (block, asks) = (word * 64 + bit, asks[bit]);
                let (number, class) = if SINGLE {
                    (block, 0)
                } else {
                    (block / output_speedup as usize, block as u32 % output_speedup)
                };
                let router = &routers[number];
                let (grants, accepts) = (&mut grant_bytes[block], &mut accept_bytes[block]);
                let (grant, accept) = (u64::from_le_bytes(*grants), u64::from_le_bytes(*accepts));
                let mut matched = if self.layout.input_first {
                    matrix::from_inputs(asks, grant, accept)
                } else {
                    matrix::from_outputs(asks, grant, accept)
                };
                let (rows, outputs) = (router.rows(class, input_speedup, output_speedup), router.outputs);
                while matched > 0 {
                    let at = matched.trailing_zeros();
                    matched &= matched - 1;
                    let (row, output) = (at / 8, at % 8);
                    let (accepted, granted) = (output + 1, row + 1);
                    accepts[row as usize] = matrix::turn(if accepted == outputs { 0 } else { accepted });
                    grants[output as usize] = matrix::turn(if granted == rows { 0 } else { granted });
                    let (port, sub) = if SINGLE {
                        (router.first_input + row, 0)
                    } else {
                        let among = u32::from(input_of[row as usize]);
                        (router.first_input + among * output_speedup + class, row - among * input_speedup)
                    };
                    let turn = &mut turns[(port * input_speedup + sub) as usize];
                    let mut set = ready[((port << output_bits) + output) as usize];
                    if !SINGLE {
                        set &= subs[sub as usize];
                    }
                    let first = port << channel_bits;
                    let channel = if has_priorities && set & (set - 1) != 0 {
                        foremost(&priorities[first as usize..], set, (*turn).into())
                    } else {
                        let later = set >> *turn << *turn;
                        (if later == 0 { set } else { later }).trailing_zeros()
                    };
                    let next = channel + input_speedup;
                    *turn = if next < channels { next } else { next % channels } as u8;
                    winners.push((number as u32, first + channel, output));
                }
            }
        }
        self.scratch.winners = winners;
    }

    /// What input channels that wait for an output channel ask for.
    fn speculative_requests(&mut self, number: usize, rules: &Rules) -> u64 {
        let mut asks = 0;
        let router = &self.routers[number];
        for &lane in &router.waiting {
            let state = &self.lanes[lane as usize];
            if state.port == NO_PORT {
                continue;
            }
            let output = u32::from(state.port);
            let may_ask = if rules.checks_eligibility {
                let at = router.first_output + output;
                let full = if rules.checks_credits { self.full(at, rules) } else { 0 };
                self.outputs[at as usize].free & !full & bits(state.first, state.last) != 0
            } else {
                !rules.checks_credits
            };
            if may_ask {
                let port = (lane >> self.layout.channel_bits) - router.first_input;
                let channel = lane & ((1 << self.layout.channel_bits) - 1);
                let inner = port * self.layout.input_speedup + channel % self.layout.input_speedup;
                self.scratch.speculative[(8 * port + output) as usize] |= 1 << channel;
                asks |= 1 << (8 * output + inner);
            }
        }
        asks
    }

    /// Matches with an allocator that takes a list; those that wait come behind all others.
    fn match_listed(&mut self, number: usize, asks: u64, numbers: &mut dyn Numbers) {
        let mut requests = std::mem::take(&mut self.scratch.requests);
        requests.clear();
        let mut ask = |requester: u32, resource: u32, is_sure: bool| {
            let priority = if self.layout.has_priorities {
                self.forward(number, requester, resource / self.layout.output_speedup).2
            } else if is_sure {
                0
            } else {
                SWITCH_LAST
            };
            requests.push(Request { requester, resource, inner: priority, outer: priority });
        };
        if self.layout.is_small {
            let sure = self.asks[number];
            ones(asks).for_each(|at| ask(at as u32 % 8, at as u32 / 8, sure >> at & 1 != 0));
        } else {
            let first = (self.routers[number].first_output * self.layout.output_speedup) as usize;
            for outer in ones(asks) {
                let asked_by = self.asked_by[first + outer];
                ones(asked_by).for_each(|inner| ask(inner as u32, outer as u32, true));
            }
        }
        self.switch_allocators[number].allocate(&requests, numbers);
        for request in &requests {
            if self.switch_allocators[number].given[request.requester as usize] == request.resource {
                self.win(number, request.requester, request.resource);
            }
        }
        self.scratch.requests = requests;
    }

    /// Matches the input sub-ports that ask for output sub-ports of a number, with words.
    fn match_words(&mut self, number: usize, class: u32, mut asks: u64) {
        let (input_speedup, output_speedup) = (self.layout.input_speedup, self.layout.output_speedup);
        let block = number * output_speedup as usize + class as usize;
        let grants = u64::from_le_bytes(self.grant_bytes[block]);
        let accepts = u64::from_le_bytes(self.accept_bytes[block]);
        let mut matched = if self.layout.input_first {
            matrix::from_inputs(asks, grants, accepts)
        } else {
            matrix::from_outputs(asks, grants, accepts)
        };
        let router = &self.routers[number];
        let (rows, outputs) = (router.rows(class, input_speedup, output_speedup), router.outputs);
        for time in 0..self.layout.iterations {
            if time > 0 {
                asks = matrix::without(asks, matched);
                if asks == 0 {
                    break;
                }
                // Turns are those of the beginning; what they were at matched ports does not matter any more.
                matched = matrix::from_outputs(asks, grants, accepts);
            }
            let mut found = matched;
            while found > 0 {
                let at = found.trailing_zeros();
                found &= found - 1;
                let (row, output) = (at / 8, at % 8);
                let among = u32::from(self.input_of[row as usize]);
                let inner = row + (among * (output_speedup - 1) + class) * input_speedup;
                self.win(number, inner, output * output_speedup + class);
                if time == 0 {
                    let (accepted, granted) = (output + 1, row + 1);
                    self.accept_bytes[block][row as usize] =
                        matrix::turn(if accepted == outputs { 0 } else { accepted });
                    self.grant_bytes[block][output as usize] =
                        matrix::turn(if granted == rows { 0 } else { granted });
                }
            }
        }
    }

    /// Matches the only output sub-port that is asked for.
    fn grant_only(&mut self, number: usize, outer: u32) {
        let at = (self.routers[number].first_output * self.layout.output_speedup + outer) as usize;
        let inner = first(self.asked_by[at], self.switch_grants[at].into());
        self.pair(number, inner, outer, true);
    }

    fn match_from_inputs(&mut self, number: usize, rules: &Rules) {
        let first_sub = self.routers[number].first_input as usize * rules.input_speedup;
        let first_outer = (self.routers[number].first_output * self.layout.output_speedup) as usize;
        let (mut asked, mut asking) = (self.asks[number], 0u64);
        while asked > 0 {
            let outer = asked.trailing_zeros();
            asked &= asked - 1;
            let mut set = self.asked_by[first_outer + outer as usize];
            asking |= set;
            while set > 0 {
                self.scratch.by_input[set.trailing_zeros() as usize] |= 1 << outer;
                set &= set - 1;
            }
        }
        let mut offered = 0u64;
        while asking > 0 {
            let inner = asking.trailing_zeros();
            asking &= asking - 1;
            let turn = self.switch_accepts[first_sub + inner as usize];
            let outer = first(std::mem::take(&mut self.scratch.by_input[inner as usize]), turn.into());
            self.scratch.offers[outer as usize] |= 1 << inner;
            offered |= 1 << outer;
        }
        while offered > 0 {
            let outer = offered.trailing_zeros();
            offered &= offered - 1;
            let offers = std::mem::take(&mut self.scratch.offers[outer as usize]);
            let inner = first(offers, self.switch_grants[first_outer + outer as usize].into());
            self.pair(number, inner, outer, true);
        }
    }

    fn match_from_outputs(&mut self, number: usize, rules: &Rules) {
        let first_sub = self.routers[number].first_input as usize * rules.input_speedup;
        let first_outer = (self.routers[number].first_output * self.layout.output_speedup) as usize;
        let (mut free_inputs, mut free_outputs) = (u64::MAX, self.asks[number]);
        for time in 0..self.layout.iterations {
            let (mut offered, mut left) = (0u64, free_outputs);
            while left > 0 {
                let outer = left.trailing_zeros();
                left &= left - 1;
                let set = self.asked_by[first_outer + outer as usize] & free_inputs;
                if set != 0 {
                    let inner = first(set, self.switch_grants[first_outer + outer as usize].into());
                    self.scratch.offers[inner as usize] |= 1 << outer;
                    offered |= 1 << inner;
                }
            }
            if offered == 0 {
                break;
            }
            while offered > 0 {
                let inner = offered.trailing_zeros();
                offered &= offered - 1;
                let offers = std::mem::take(&mut self.scratch.offers[inner as usize]);
                let outer = first(offers, self.switch_accepts[first_sub + inner as usize].into());
                free_inputs &= !(1 << inner);
                free_outputs &= !(1 << outer);
                self.pair(number, inner, outer, time == 0);
            }
        }
    }

    fn pair(&mut self, number: usize, inner: u32, outer: u32, learns: bool) {
        let router = &self.routers[number];
        if learns {
            let sub_port = (router.first_input * self.layout.input_speedup + inner) as usize;
            let inputs = router.inputs * self.layout.input_speedup;
            let outputs = router.outputs * self.layout.output_speedup;
            let first_outer = router.first_output * self.layout.output_speedup;
            self.switch_accepts[sub_port] = after(outer, outputs as usize) as u8;
            self.switch_grants[(first_outer + outer) as usize] = after(inner, inputs as usize) as u8;
        }
        self.win(number, inner, outer);
    }

    /// The channel that a sub-port puts forward for an output, whether it has an output channel, and its priority: the
    /// highest one, then the first from the sub-port's turn on.
    #[inline(always)]
    fn forward(&self, number: usize, inner: u32, output: u32) -> (u32, bool, i64) {
        let speedup = self.layout.input_speedup;
        let port = u32::from(self.input_of[inner as usize]);
        let sub = inner - port * speedup;
        let first_input = self.routers[number].first_input;
        let at = first_input + port;
        let ready = self.ready[((at << self.layout.output_bits) + output) as usize] & self.subs[sub as usize];
        let turn = u32::from(self.turns[(first_input * speedup + inner) as usize]);
        let speculative = self.scratch.speculative.get((8 * port + output) as usize);
        let speculative = speculative.map_or(0, |set| set & self.subs[sub as usize]);
        let first_lane = at << self.layout.channel_bits;
        if !self.layout.has_priorities {
            let is_sure = ready != 0;
            return (first_lane + first(if is_sure { ready } else { speculative }, turn), is_sure, 0);
        }
        let mut best = None;
        let mut set = ready | speculative;
        if set & (set - 1) == 0 && set & ready != 0 {
            let lane = first_lane + set.trailing_zeros();
            return (lane, true, self.priorities[lane as usize].into());
        }
        while set > 0 {
            let channel = set.trailing_zeros();
            set &= set - 1;
            let is_sure = ready >> channel & 1 != 0;
            let priority = i64::from(self.priorities[(first_lane + channel) as usize]);
            let priority = priority + if is_sure { 0 } else { SWITCH_LAST };
            let key = (priority, Reverse(behind(channel, turn, self.layout.channels as usize)));
            if best.is_none_or(|(other, _)| key > other) {
                best = Some((key, (first_lane + channel, is_sure, priority)));
            }
        }
        best.map_or((first_lane, false, SWITCH_LAST), |(_, found)| found)
    }

    /// A sub-port is matched with an output: the channel that it puts forward crosses.
    #[inline(always)]
    fn win(&mut self, number: usize, inner: u32, outer: u32) {
        let speedup = self.layout.input_speedup;
        let output = self.output_of[outer as usize].into();
        let (lane, is_sure, _) = self.forward(number, inner, output);
        let next = (lane & ((1 << self.layout.channel_bits) - 1)) + speedup;
        self.turns[(self.routers[number].first_input * speedup + inner) as usize] =
            if next < self.layout.channels { next } else { next % self.layout.channels } as u8;
        if is_sure {
            self.scratch.winners.push((number as u32, lane, output));
        } else {
            self.lanes[lane as usize].has_won = true;
        }
    }
}
