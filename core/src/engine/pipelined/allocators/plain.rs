//! Matching without listed requests: sets of bits, for iSLIP and separable allocators with turns, without
//! priorities.

use super::{
    Allocator, AllocatorKind,
    arbiter::{ArbiterKind, after},
};

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

    /// Asks for a resource; both numbers are below 64.
    #[inline]
    pub(in super::super) fn ask(&mut self, requester: u32, resource: u32) {
        self.asking |= 1 << requester;
        self.asked_for |= 1 << resource;
        self.by_requester[requester as usize] |= 1 << resource;
        self.by_resource[resource as usize] |= 1 << requester;
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
