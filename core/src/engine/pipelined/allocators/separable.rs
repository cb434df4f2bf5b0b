//! Separable allocators: one side picks, then the other among those who were picked.

use super::{
    Allocator, NONE, Request,
    arbiter::{Arbiters, Key},
};

/// Arbiters of one side pick the best of some requests, of each of which it is told whose it is, for which place, and
/// with which priority.
#[inline(always)]
fn pick(
    arbiters: &Arbiters,
    best: &mut [u32],
    keys: &mut [Key],
    requests: impl Iterator<Item = usize>,
    side: impl Fn(usize) -> (u32, u32, i64),
) {
    for index in requests {
        let (arbiter, place, priority) = side(index);
        let key = arbiters.key(arbiter, place, priority);
        keys[index] = key;
        let best = &mut best[arbiter as usize];
        if *best == NONE || key > keys[*best as usize] {
            *best = index as u32;
        }
    }
}

impl Allocator {
    pub(super) fn separable(&mut self, input_first: bool, requests: &[Request]) {
        let Some(mut arbiters) = self.arbiters.take() else { return };
        let (at_requesters, at_resources) = &mut *arbiters;
        if let [request] = requests {
            self.pair(request.requester, request.resource);
            at_requesters.won(request.requester, request.resource);
            at_resources.won(request.resource, request.requester);
            self.arbiters = Some(arbiters);
            return;
        }
        self.clear_offers(requests);
        self.keys.clear();
        self.keys.resize(requests.len(), Key::default());
        let Self { best_in, best_out, keys, .. } = self;
        let requester = |index: usize| requests[index].requester as usize;
        let resource = |index: usize| requests[index].resource as usize;
        let inner = |index: usize| {
            let Request { requester, resource, inner, .. } = requests[index];
            (requester, resource, inner)
        };
        let outer = |index: usize| {
            let Request { requester, resource, outer, .. } = requests[index];
            (resource, requester, outer)
        };
        let all = 0..requests.len();
        if input_first {
            pick(at_requesters, best_in, keys, all.clone(), inner);
            let picked = all.clone().filter(|&index| best_in[requester(index)] == index as u32);
            pick(at_resources, best_out, keys, picked, outer);
        } else {
            pick(at_resources, best_out, keys, all.clone(), outer);
            let picked = all.clone().filter(|&index| best_out[resource(index)] == index as u32);
            pick(at_requesters, best_in, keys, picked, inner);
        }
        for index in all {
            let last =
                if input_first { self.best_out[resource(index)] } else { self.best_in[requester(index)] };
            if last == index as u32 {
                let Request { requester, resource, .. } = requests[index];
                self.pair(requester, resource);
                at_requesters.won(requester, resource);
                at_resources.won(resource, requester);
            }
        }
        self.arbiters = Some(arbiters);
    }
}
