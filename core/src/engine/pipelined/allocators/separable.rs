//! Separable allocators: one side picks, then the other among those who were picked.

use super::{Allocator, NONE, Request};

impl Allocator {
    pub(super) fn separable(&mut self, input_first: bool, requests: &[Request]) {
        self.clear_offers(requests);
        let Some(mut arbiters) = self.arbiters.take() else { return };
        let (at_requesters, at_resources) = &mut *arbiters;
        let inner = |arbiters: &super::Arbiters, request: &Request| {
            arbiters.key(request.requester, request.resource, request.inner)
        };
        let outer = |arbiters: &super::Arbiters, request: &Request| {
            arbiters.key(request.resource, request.requester, request.outer)
        };
        for second in [false, true] {
            let requesters_pick = input_first != second;
            for (index, request) in requests.iter().enumerate() {
                let (requester, resource) = (request.requester as usize, request.resource as usize);
                let picked = if requesters_pick { self.best_out[resource] } else { self.best_in[requester] };
                if second && picked != index as u32 {
                    continue;
                }
                let best =
                    if requesters_pick { &mut self.best_in[requester] } else { &mut self.best_out[resource] };
                let is_better = *best == NONE || {
                    let other = &requests[*best as usize];
                    if requesters_pick {
                        inner(at_requesters, request) > inner(at_requesters, other)
                    } else {
                        outer(at_resources, request) > outer(at_resources, other)
                    }
                };
                if is_better {
                    *best = index as u32;
                }
            }
        }
        for (index, request) in requests.iter().enumerate() {
            let last = if input_first {
                self.best_out[request.resource as usize]
            } else {
                self.best_in[request.requester as usize]
            };
            if last == index as u32 {
                self.pair(request.requester, request.resource);
                at_requesters.won(request.requester, request.resource);
                at_resources.won(request.resource, request.requester);
            }
        }
        self.arbiters = Some(arbiters);
    }
}
