//! Matching without listed requests: sets of bits, for iSLIP and separable allocators with turns, without
//! priorities.

use super::{
    Allocator, AllocatorKind, NONE,
    arbiter::{ArbiterKind, after, behind},
};

/// A requester of output channels: its number, its output port, and a bit per channel there that it may take.
pub(in super::super) type Ask = (u16, u16, u64);

impl AllocatorKind {
    /// Whether it matches without priorities by turns alone, which sets of bits do.
    pub(in super::super) fn is_plain(self, iterations: u32) -> bool {
        match self {
            Self::Islip(times) => times <= iterations,
            Self::Separable { arbiter, .. } => arbiter == ArbiterKind::RoundRobin,
            _ => false,
        }
    }
}

/// The first bit from a turn on, around the circle.
#[inline]
pub(in super::super) fn first(set: u64, turn: u32) -> u32 {
    let later = if turn < 64 { set >> turn << turn } else { 0 };
    (if later == 0 { set } else { later }).trailing_zeros()
}

/// The first channel of a port from a turn on that runs over the channels of all ports.
#[inline]
pub(in super::super) fn first_channel(set: u64, port: u16, channels: usize, turn: u32) -> u32 {
    let begin = u32::from(port) * channels as u32;
    first(set, if turn > begin && turn < begin + channels as u32 { turn - begin } else { 0 })
}

impl Allocator {
    fn picks_first(&self) -> bool {
        matches!(self.kind, AllocatorKind::Separable { input_first: true, .. })
    }

    #[inline]
    fn match_one(&mut self, requester: u32, resource: u32) {
        self.asked.push((requester, resource));
        self.pair(requester, resource);
        self.accepts[requester as usize] = after(resource, self.resources);
        self.grants[resource as usize] = after(requester, self.requesters);
    }

    /// Matches requesters with channels. What it found stands in `given` and `taken` until the next call.
    pub(in super::super) fn allocate_channels(&mut self, asks: &[Ask], channels: usize) {
        self.forget();
        let number = |port: u16, channel: u32| u32::from(port) * channels as u32 + channel;
        if let [(requester, port, set)] = *asks {
            if set != 0 {
                let turn = self.accepts[usize::from(requester)];
                let channel = first_channel(set, port, channels, turn);
                self.match_one(requester.into(), number(port, channel));
            }
            return;
        }
        let picks_first = self.picks_first();
        // Per channel the ask that is nearest to its turn, of those that look at the channel.
        let mut sets = std::mem::take(&mut self.sets);
        sets.clear();
        for (at, &(requester, port, set)) in asks.iter().enumerate() {
            let mut looks = set;
            if picks_first && set != 0 {
                let turn = self.accepts[usize::from(requester)];
                looks = 1 << first_channel(set, port, channels, turn);
            }
            sets.push(looks);
            while looks > 0 {
                let resource = number(port, looks.trailing_zeros()) as usize;
                looks &= looks - 1;
                let best = self.best_out[resource];
                let wait = |at: usize| behind(asks[at].0.into(), self.grants[resource], self.requesters);
                if best == NONE || wait(at) < wait(best as usize) {
                    self.best_out[resource] = at as u32;
                }
            }
        }
        for (at, &(requester, port, _)) in asks.iter().enumerate() {
            let mut granted = 0;
            let mut looks = sets[at];
            while looks > 0 {
                let channel = looks.trailing_zeros();
                looks &= looks - 1;
                if self.best_out[number(port, channel) as usize] == at as u32 {
                    granted |= 1 << channel;
                }
            }
            if granted != 0 {
                let turn = self.accepts[usize::from(requester)];
                let channel = first_channel(granted, port, channels, turn);
                self.match_one(requester.into(), number(port, channel));
            }
        }
        for (&(_, port, _), &looks) in asks.iter().zip(&sets) {
            let mut looks = looks;
            while looks > 0 {
                self.best_out[number(port, looks.trailing_zeros()) as usize] = NONE;
                looks &= looks - 1;
            }
        }
        self.sets = sets;
    }

    /// Asks for a resource; both numbers are below 64.
    #[inline]
    pub(in super::super) fn ask(&mut self, requester: u32, resource: u32) {
        self.asking |= 1 << requester;
        self.asked_for |= 1 << resource;
        self.by_requester[requester as usize] |= 1 << resource;
        self.by_resource[resource as usize] |= 1 << requester;
    }

    /// The resources that a requester asked for.
    #[inline]
    pub(in super::super) fn asked_by(&self, requester: u32) -> u64 {
        self.by_requester[requester as usize]
    }

    /// Matches what was asked for, tells every pair, and forgets it all.
    #[inline]
    pub(in super::super) fn allocate_asked(&mut self, mut tell: impl FnMut(u32, u32)) {
        let times = if let AllocatorKind::Islip(times) = self.kind { times } else { 1 };
        let picks_first = self.picks_first();
        let (mut free_requesters, mut free_resources) = (u64::MAX, u64::MAX);
        for time in 0..times {
            // The first side chooses, which leaves the other side a set of offers each.
            let mut offered = 0u64;
            let mut choosers = if picks_first { self.asking } else { self.asked_for & free_resources };
            while choosers > 0 {
                let chooser = choosers.trailing_zeros();
                choosers &= choosers - 1;
                let (set, turn) = if picks_first {
                    (self.by_requester[chooser as usize], self.accepts[chooser as usize])
                } else {
                    (self.by_resource[chooser as usize] & free_requesters, self.grants[chooser as usize])
                };
                if set != 0 {
                    let chosen = first(set, turn);
                    offered |= 1 << chosen;
                    self.offers[chosen as usize] |= 1 << chooser;
                }
            }
            if offered == 0 {
                break;
            }
            while offered > 0 {
                let taker = offered.trailing_zeros();
                offered &= offered - 1;
                let set = std::mem::take(&mut self.offers[taker as usize]);
                let turn =
                    if picks_first { self.grants[taker as usize] } else { self.accepts[taker as usize] };
                let taken = first(set, turn);
                let (requester, resource) = if picks_first { (taken, taker) } else { (taker, taken) };
                free_requesters &= !(1 << requester);
                free_resources &= !(1 << resource);
                tell(requester, resource);
                if time == 0 {
                    self.accepts[requester as usize] = after(resource, self.resources);
                    self.grants[resource as usize] = after(requester, self.requesters);
                }
            }
        }
        while self.asking > 0 {
            self.by_requester[self.asking.trailing_zeros() as usize] = 0;
            self.asking &= self.asking - 1;
        }
        while self.asked_for > 0 {
            self.by_resource[self.asked_for.trailing_zeros() as usize] = 0;
            self.asked_for &= self.asked_for - 1;
        }
    }
}
