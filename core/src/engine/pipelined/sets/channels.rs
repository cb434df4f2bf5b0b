//! Who gets which output channel.

use super::{
    super::{
        allocators::{AllocatorKind, Request, after, behind, first_channel},
        numbers::Numbers,
        rules::{Rules, SWITCH_LAST},
    },
    state::{Ask, NO_PORT, NOBODY, Sets},
};

/// A bit per channel of a range.
pub(super) fn bits(first: u8, last: u8) -> u64 {
    u64::MAX >> (63 - (last - first)) << first
}

impl Sets {
    /// Decides who of a router's list gets which channel of its output.
    pub(super) fn allocate_vcs(&mut self, number: usize, rules: &Rules, numbers: &mut dyn Numbers) {
        let router = &self.routers[number];
        self.scratch.given.clear();
        self.scratch.given.resize(router.waiting.len(), NOBODY);
        let mut asks = std::mem::take(&mut self.scratch.asks);
        asks.clear();
        let (mut ports, mut meet) = (0u64, false);
        for (entry, &lane) in router.waiting.iter().enumerate() {
            let state = &self.lanes[lane as usize];
            let entry = entry as u32;
            let mut look = |port: u32, first: u8, last: u8, rank: i16| {
                let output = &self.outputs[(router.first_output + port) as usize];
                let mut set = output.free & bits(first, last);
                if rules.busy_when_full {
                    set &= !self.full(router.first_output + port, rules);
                }
                if set != 0 {
                    // Of more ports than fit some seem to meet that do not.
                    meet |= ports >> (port & 63) & 1 != 0;
                    ports |= 1 << (port & 63);
                    asks.push(Ask { entry, lane, port, set, looks: set, rank });
                }
            };
            if self.layout.has_escapes {
                for way in self.ways_of(lane).iter() {
                    look(way.port.into(), way.first as u8, way.last as u8, way.rank);
                }
            } else if state.port != NO_PORT {
                look(state.port.into(), state.first, state.last, 0);
            }
        }
        self.scratch.asks = asks;
        if !self.channel_allocators.is_empty() {
            self.match_listed_vcs(number, rules, numbers);
            return;
        }
        if meet {
            self.match_vcs(number, rules);
            return;
        }
        let asks = std::mem::take(&mut self.scratch.asks);
        for ask in &asks {
            self.grant_vc(number, ask, ask.set, rules);
        }
        self.scratch.asks = asks;
    }

    /// A bit per channel of an output that is full.
    pub(super) fn full(&self, output: u32, rules: &Rules) -> u64 {
        let Some(behind) = &self.shared else { return self.outputs[output as usize].full };
        let is_full = |&channel: &usize| behind.is_full(&rules.policy, output as usize, channel);
        (0..rules.channels).filter(is_full).fold(0, |set, channel| set | 1 << channel)
    }

    /// Gives one of the channels that are granted to an ask.
    #[inline]
    fn grant_vc(&mut self, number: usize, ask: &Ask, granted: u64, rules: &Rules) {
        let router = &self.routers[number];
        let channels = rules.channels;
        let turn = u32::from(self.accepts[ask.lane as usize]);
        let channel = first_channel(granted, ask.port as u16, channels, turn);
        self.scratch.given[ask.entry as usize] = channel;
        let resource = ask.port * channels as u32 + channel;
        self.accepts[ask.lane as usize] = after(resource, router.outputs as usize * channels) as u16;
        let requester = self.requester(number, ask.lane, channels as u32);
        let at = ((router.first_output + ask.port) << self.layout.channel_bits) + channel;
        self.grants[at as usize] = after(requester, router.inputs as usize * channels) as u16;
    }

    /// The number of an input channel at its router.
    #[inline]
    fn requester(&self, number: usize, lane: u32, channels: u32) -> u32 {
        let port = (lane >> self.layout.channel_bits) - self.routers[number].first_input;
        let channel = lane & ((1 << self.layout.channel_bits) - 1);
        if self.layout.shuffles {
            channel * self.routers[number].inputs + port
        } else {
            port * channels + channel
        }
    }

    /// Matches with an allocator that takes a list.
    fn match_listed_vcs(&mut self, number: usize, rules: &Rules, numbers: &mut dyn Numbers) {
        let channels = rules.channels as u32;
        let mut requests = std::mem::take(&mut self.scratch.requests);
        requests.clear();
        for ask in &self.scratch.asks {
            let requester = self.requester(number, ask.lane, channels);
            let outer =
                if self.layout.has_priorities { self.priorities[ask.lane as usize].into() } else { 0 };
            let mut set = ask.set;
            while set > 0 {
                let channel = set.trailing_zeros();
                set &= set - 1;
                let output = self.routers[number].first_output + ask.port;
                let is_lowered = rules.prefers_empty && self.used(output, channel) > 0;
                let inner = i64::from(ask.rank) + if is_lowered { SWITCH_LAST } else { 0 };
                requests.push(Request { requester, resource: ask.port * channels + channel, inner, outer });
            }
        }
        self.channel_allocators[number].allocate(&requests, numbers);
        for at in 0..self.scratch.asks.len() {
            let ask = self.scratch.asks[at];
            let requester = self.requester(number, ask.lane, channels);
            let given = self.channel_allocators[number].given[requester as usize];
            // Nothing given is no channel of any port.
            let channel = given.wrapping_sub(ask.port * channels);
            if channel < channels {
                self.scratch.given[ask.entry as usize] = channel;
                self.lanes[ask.lane as usize].port = ask.port as u16;
            }
        }
        self.scratch.requests = requests;
    }

    fn match_vcs(&mut self, number: usize, rules: &Rules) {
        let channels = rules.channels as u32;
        let picks_first =
            matches!(rules.channel_allocator, AllocatorKind::Separable { input_first: true, .. });
        let requesters = self.routers[number].inputs as usize * rules.channels;
        let first_output = self.routers[number].first_output;
        let mut asks = std::mem::take(&mut self.scratch.asks);
        let mut best = std::mem::take(&mut self.scratch.best);
        // Per channel the ask that is nearest to its turn, of those that look at the channel.
        for at in 0..asks.len() {
            let ask = &mut asks[at];
            if picks_first {
                let turn = u32::from(self.accepts[ask.lane as usize]);
                ask.looks = 1 << first_channel(ask.set, ask.port as u16, rules.channels, turn);
            }
            let ask = asks[at];
            let mine = self.requester(number, ask.lane, channels);
            let mut looks = ask.looks;
            while looks > 0 {
                let channel = looks.trailing_zeros();
                looks &= looks - 1;
                let slot = &mut best[(ask.port * channels + channel) as usize];
                if *slot == NOBODY {
                    *slot = at as u32;
                    continue;
                }
                let output = ((first_output + ask.port) << self.layout.channel_bits) + channel;
                let turn = u32::from(self.grants[output as usize]);
                let other = self.requester(number, asks[*slot as usize].lane, channels);
                if behind(mine, turn, requesters) < behind(other, turn, requesters) {
                    *slot = at as u32;
                }
            }
        }
        for (at, ask) in asks.iter().enumerate() {
            let mut granted = 0;
            let mut looks = ask.looks;
            while looks > 0 {
                let channel = looks.trailing_zeros();
                looks &= looks - 1;
                if best[(ask.port * channels + channel) as usize] == at as u32 {
                    granted |= 1 << channel;
                }
            }
            if granted != 0 {
                self.grant_vc(number, ask, granted, rules);
            }
        }
        for ask in &asks {
            let mut looks = ask.looks;
            while looks > 0 {
                best[(ask.port * channels + looks.trailing_zeros()) as usize] = NOBODY;
                looks &= looks - 1;
            }
        }
        (self.scratch.asks, self.scratch.best) = (asks, best);
    }
}
