//! Separable allocators: one side picks, then the other among those who were picked.

use super::{
    Allocator, NONE, Request,
    arbiter::{Arbiters, Key},
};

/// Of some requests those that the arbiters of one side pick, in their order. Of each request it is said which it is,
/// whose, for which place, and with which priority; nothing is best before and after.
#[inline(always)]
fn pick(
    arbiters: &Arbiters,
    best: &mut [(u32, Key)],
    picked: &mut Vec<u32>,
    requests: impl Iterator<Item = (u32, u32, u32, i64)>,
) {
    picked.clear();
    for (index, arbiter, place, priority) in requests {
        let key = arbiters.key(arbiter, place, priority);
        let best = &mut best[arbiter as usize];
        if best.0 == NONE {
            picked.push(arbiter);
        } else if key <= best.1 {
            continue;
        }
        *best = (index, key);
    }
    for one in &mut *picked {
        *one = std::mem::replace(&mut best[*one as usize].0, NONE);
    }
    if picked.len() > 1 && !picked.is_sorted() {
        picked.sort_unstable();
    }
}

impl Allocator {
    pub(super) fn separable(&mut self, input_first: bool, requests: &[Request]) {
        let Self { arbiters, best, picked: [first, both], .. } = self;
        let Some(arbiters) = arbiters else { return };
        let (at_requesters, at_resources) = &mut **arbiters;
        let inner = |index: u32, of: &Request| (index, of.requester, of.resource, of.inner);
        let outer = |index: u32, of: &Request| (index, of.resource, of.requester, of.outer);
        let all = (0..).zip(requests);
        if requests.len() == 1 {
            both.clear();
            both.push(0);
        } else if input_first {
            pick(at_requesters, best, first, all.map(|(index, of)| inner(index, of)));
            let left = first.iter().map(|&index| outer(index, &requests[index as usize]));
            pick(at_resources, best, both, left);
        } else {
            pick(at_resources, best, first, all.map(|(index, of)| outer(index, of)));
            let left = first.iter().map(|&index| inner(index, &requests[index as usize]));
            pick(at_requesters, best, both, left);
        }
        for &index in &*both {
            let Request { requester, resource, .. } = requests[index as usize];
            at_requesters.won(requester, resource);
            at_resources.won(resource, requester);
        }
        for at in 0..self.picked[1].len() {
            let Request { requester, resource, .. } = requests[self.picked[1][at] as usize];
            self.pair(requester, resource);
        }
    }
}
