//! iSLIP with priorities before turns. A grant that was not accepted stands until its resource grants anew, and
//! requesters that are matched look at their grants again.

use super::{Allocator, NONE, Request, arbiter::behind, turns::offer};
use std::cmp::Reverse;

impl Allocator {
    pub(super) fn select(&mut self, times: u32, requests: &[Request]) {
        self.clear_offers(requests);
        for time in 0..times {
            self.touched.clear();
            for (index, request) in requests.iter().enumerate() {
                if !self.is_free(request) {
                    continue;
                }
                let resource = request.resource as usize;
                let turn = self.grants[resource];
                let key = |request: &Request| {
                    (request.outer, Reverse(behind(request.requester, turn, self.requesters)))
                };
                let best = self.best_out[resource];
                let is_new = !self.touched.contains(&request.resource);
                if is_new || key(request) > key(&requests[best as usize]) {
                    self.best_out[resource] = index as u32;
                }
                if is_new {
                    self.touched.push(request.resource);
                }
            }
            for request in requests {
                self.best_in[request.requester as usize] = NONE;
            }
            for (index, request) in requests.iter().enumerate() {
                if self.best_out[request.resource as usize] != index as u32 {
                    continue;
                }
                let requester = request.requester as usize;
                let turn = self.accepts[requester];
                offer(&mut self.best_in[requester], index, requests, |one| {
                    (Reverse(one.inner), behind(one.resource, turn, self.resources))
                });
            }
            self.pair_accepted(requests, time == 0);
        }
    }
}
