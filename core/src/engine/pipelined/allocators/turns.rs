//! Offers by turn, as most allocators make them: resources grant, requesters accept.

use super::{
    Allocator, NONE, Request,
    arbiter::{after, behind},
};

/// Takes down a request, unless one is there whose key is not larger.
#[inline]
pub(super) fn offer<K: Ord>(best: &mut u32, index: usize, requests: &[Request], key: impl Fn(&Request) -> K) {
    if *best == NONE || key(&requests[index]) < key(&requests[*best as usize]) {
        *best = index as u32;
    }
}

impl Allocator {
    /// Every resource grants the free request behind its turn; false if there is none.
    #[inline]
    pub(super) fn grant_by_turn(&mut self, requests: &[Request]) -> bool {
        let (of, mut any) = (self.requesters, false);
        for (index, request) in requests.iter().enumerate() {
            if self.is_free(request) {
                any = true;
                let turn = self.grants[request.resource as usize];
                let best = &mut self.best_out[request.resource as usize];
                offer(best, index, requests, |one| behind(one.requester, turn, of));
            }
        }
        any
    }

    /// Every requester accepts the grant behind its turn.
    #[inline]
    pub(super) fn accept_by_turn(&mut self, requests: &[Request]) {
        let of = self.resources;
        for (index, request) in requests.iter().enumerate() {
            if self.best_out[request.resource as usize] == index as u32 {
                let turn = self.accepts[request.requester as usize];
                let best = &mut self.best_in[request.requester as usize];
                offer(best, index, requests, |one| behind(one.resource, turn, of));
            }
        }
    }

    /// What was accepted is matched, and turns go on if they are to.
    #[inline]
    pub(super) fn pair_accepted(&mut self, requests: &[Request], goes_on: bool) {
        for (index, &Request { requester, resource, .. }) in requests.iter().enumerate() {
            if self.best_in[requester as usize] == index as u32 {
                self.pair(requester, resource);
                if goes_on {
                    self.grants[resource as usize] = after(requester, self.requesters);
                    self.accepts[requester as usize] = after(resource, self.resources);
                }
            }
        }
    }
}
