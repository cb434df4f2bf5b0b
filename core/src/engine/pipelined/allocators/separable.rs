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
    if !picked.is_sorted() {
        picked.sort_unstable();
    }
}

impl Allocator {
    pub(super) fn separable(&mut self, input_first: bool, requests: &[Request]) {
        let Some(mut arbiters) = self.arbiters.take() else { return };
        let (at_requesters, at_resources) = &mut *arbiters;
        let mut picked = std::mem::take(&mut self.picked);
        let [first, both] = &mut picked;
        let inner = |index: u32, of: &Request| (index, of.requester, of.resource, of.inner);
        let outer = |index: u32, of: &Request| (index, of.resource, of.requester, of.outer);
        let all = (0..).zip(requests);
        if input_first {
            pick(at_requesters, &mut self.best, first, all.map(|(index, of)| inner(index, of)));
            let left = first.iter().map(|&index| outer(index, &requests[index as usize]));
            pick(at_resources, &mut self.best, both, left);
        } else {
            pick(at_resources, &mut self.best, first, all.map(|(index, of)| outer(index, of)));
            let left = first.iter().map(|&index| inner(index, &requests[index as usize]));
            pick(at_requesters, &mut self.best, both, left);
        }
        for &index in &*both {
            let Request { requester, resource, .. } = requests[index as usize];
            self.pair(requester, resource);
            at_requesters.won(requester, resource);
            at_resources.won(resource, requester);
        }
        self.picked = picked;
        self.arbiters = Some(arbiters);
    }
}
