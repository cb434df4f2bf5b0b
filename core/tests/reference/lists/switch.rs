//! Switch allocation: who asks for which sub-port, who is put forward, who wins.

use super::super::{
    allocators::{NONE, Request},
    flit::Way,
    rules::{Rules, SWITCH_LAST},
    seen::State,
};
use super::router::{Router, World};

impl Router {
    /// Decides who of the list crosses to which output.
    pub(super) fn request_switch(&mut self, world: &mut World<'_>) {
        let rules = world.rules;
        let separate = rules.speculative_allocator.is_some();
        self.scratch.failed.clear();
        self.scratch.barred.clear();
        for at in 0..self.awaiting_switch.len() {
            let index = self.awaiting_switch[at];
            let input = &self.inputs[usize::from(index)];
            if input.state == State::Active {
                let output = input.port;
                let (inner, outer) = self.sub_ports(rules, index, output);
                if !self.behind.is_full(&rules.policy, usize::from(output), usize::from(input.channel))
                    && self.has_room(rules, output)
                    && !self.input_held[inner as usize]
                    && !self.output_held[outer as usize]
                {
                    self.put_forward(rules, index, inner, outer, i64::from(input.priority), false);
                }
                continue;
            }
            self.scratch.failed.push(index);
            let ways = input.ways;
            let priority = i64::from(input.priority) + if separate { 0 } else { SWITCH_LAST };
            let mut asked_for = None;
            for way in ways.iter() {
                let (inner, outer) = self.sub_ports(rules, index, way.port);
                if !self.is_eligible(rules, way) {
                    self.scratch.barred.push(index);
                } else if asked_for != Some(way.port)
                    && !self.input_held[inner as usize]
                    && !self.output_held[outer as usize]
                {
                    asked_for = Some(way.port);
                    self.put_forward(rules, index, inner, outer, priority, separate);
                }
            }
        }
        let mut asked = std::mem::take(&mut self.scratch.asked);
        let mut requests = std::mem::take(&mut self.scratch.requests);
        let outputs = self.output_held.len() as u32;
        Self::collect(&self.scratch.forward, &asked, outputs, &mut requests);
        self.switch_allocator.allocate(&requests, world.numbers);
        let mut asked_speculative = std::mem::take(&mut self.scratch.asked_speculative);
        let mut speculative = std::mem::take(&mut self.scratch.speculative);
        if let Some(allocator) = &mut self.speculative_allocator {
            Self::collect(&self.scratch.forward_speculative, &asked_speculative, outputs, &mut speculative);
            allocator.allocate(&speculative, world.numbers);
        }
        for &request in &requests {
            let (inner, outer) = (request.requester, request.resource);
            if self.switch_allocator.given[inner as usize] == outer {
                self.wins(rules, inner, outer, false);
            }
        }
        for &request in &speculative {
            let (inner, outer) = (request.requester, request.resource);
            if self.speculative_allocator.as_ref().is_none_or(|one| one.given[inner as usize] != outer)
                || self.switch_allocator.given[inner as usize] != NONE
            {
                continue;
            }
            let is_masked = if rules.masks_by_requests {
                requests.iter().any(|other| other.resource == outer)
            } else {
                self.switch_allocator.taken[outer as usize] != NONE
            };
            if !is_masked {
                self.wins(rules, inner, outer, true);
            }
        }
        for pair in asked.drain(..) {
            self.scratch.forward[pair as usize] = None;
        }
        for pair in asked_speculative.drain(..) {
            self.scratch.forward_speculative[pair as usize] = None;
        }
        speculative.clear();
        (self.scratch.asked, self.scratch.asked_speculative) = (asked, asked_speculative);
        (self.scratch.requests, self.scratch.speculative) = (requests, speculative);
    }

    /// Whether a header that has no output channel yet may ask for the output of one of its ways.
    fn is_eligible(&self, rules: &Rules, way: &Way) -> bool {
        if !rules.checks_eligibility {
            return !rules.checks_credits;
        }
        let port = usize::from(way.port);
        let mut channels = (usize::from(way.first)..=usize::from(way.last))
            .filter(|&channel| !self.behind.channel(port, channel).is_owned);
        self.has_room(rules, way.port)
            && channels
                .any(|channel| !rules.checks_credits || !self.behind.is_full(&rules.policy, port, channel))
    }

    fn collect(forward: &[Option<(u16, i64)>], asked: &[u32], outputs: u32, requests: &mut Vec<Request>) {
        requests.clear();
        for &pair in asked {
            if let Some((_, priority)) = forward[pair as usize] {
                requests.push(Request {
                    requester: pair / outputs,
                    resource: pair % outputs,
                    inner: priority,
                    outer: priority,
                });
            }
        }
    }

    fn put_forward(&mut self, rules: &Rules, index: u16, inner: u32, outer: u32, priority: i64, apart: bool) {
        let pair = inner * self.output_held.len() as u32 + outer;
        let scratch = &mut self.scratch;
        let (forward, asked) = if apart {
            (&mut scratch.forward_speculative, &mut scratch.asked_speculative)
        } else {
            (&mut scratch.forward, &mut scratch.asked)
        };
        let turn = u32::from(self.turns[inner as usize]);
        let channels = rules.channels as u32;
        let wait = |index: u16| (u32::from(index) % channels + channels - turn) % channels;
        let slot = &mut forward[pair as usize];
        match slot {
            None => {
                asked.push(pair);
                *slot = Some((index, priority));
            }
            Some((other, best)) => {
                if priority > *best || (priority == *best && wait(index) < wait(*other)) {
                    *slot = Some((index, priority));
                }
            }
        }
    }

    fn wins(&mut self, rules: &Rules, inner: u32, outer: u32, apart: bool) {
        let pair = (inner * self.output_held.len() as u32 + outer) as usize;
        let forward = if apart { self.scratch.forward_speculative[pair] } else { self.scratch.forward[pair] };
        let Some((index, _)) = forward else { return };
        if self.scratch.barred.contains(&index) {
            return;
        }
        let channel = usize::from(index) % rules.channels;
        self.turns[inner as usize] = ((channel + rules.input_speedup) % rules.channels) as u16;
        let output = (outer as usize / rules.output_speedup) as u16;
        self.scratch.crossing[usize::from(index)] = Some(output);
        if self.scratch.failed.contains(&index) && !rules.is_piggyback {
            let fits = self.given(rules, index).is_some_and(|(port, channel)| {
                port == output && !self.behind.is_full(&rules.policy, usize::from(port), usize::from(channel))
            });
            if fits {
                self.scratch.failed.retain(|&other| other != index);
            }
        }
    }
}
