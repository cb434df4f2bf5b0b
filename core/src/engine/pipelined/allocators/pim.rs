//! Parallel iterative matching: starts are drawn.

use super::{Allocator, NONE, Numbers, Request, arbiter::behind};

impl Allocator {
    pub(super) fn pim(&mut self, times: u32, requests: &[Request], numbers: &mut dyn Numbers) {
        for _ in 0..times {
            self.clear_offers(requests);
            for start in &mut self.grants {
                *start = numbers.upto(self.requesters as u32 - 1);
            }
            for (index, request) in requests.iter().enumerate() {
                if !self.is_free(request) {
                    continue;
                }
                let resource = request.resource as usize;
                let distance =
                    |request: &Request| behind(request.requester, self.grants[resource], self.requesters);
                let best = self.best_out[resource];
                if best == NONE || distance(request) < distance(&requests[best as usize]) {
                    self.best_out[resource] = index as u32;
                }
            }
            for start in &mut self.accepts {
                *start = numbers.upto(self.resources as u32 - 1);
            }
            for (index, request) in requests.iter().enumerate() {
                if self.best_out[request.resource as usize] != index as u32 {
                    continue;
                }
                let requester = request.requester as usize;
                let distance =
                    |request: &Request| behind(request.resource, self.accepts[requester], self.resources);
                let best = self.best_in[requester];
                if best == NONE || distance(request) < distance(&requests[best as usize]) {
                    self.best_in[requester] = index as u32;
                }
            }
            for (index, request) in requests.iter().enumerate() {
                if self.best_in[request.requester as usize] == index as u32 {
                    self.pair(request.requester, request.resource);
                }
            }
        }
    }
}
