//! Lonely output allocator: requesters ask for the resource that the fewest ask for.

use super::{
    Allocator, Request,
    arbiter::{after, behind},
    turns::offer,
};

impl Allocator {
    pub(super) fn loa(&mut self, requests: &[Request]) {
        self.clear_offers(requests);
        self.touched.clear();
        self.touched.resize(self.resources, 0);
        for request in requests {
            self.touched[request.resource as usize] += 1;
        }
        for (index, request) in requests.iter().enumerate() {
            let turn = self.accepts[request.requester as usize];
            offer(&mut self.best_in[request.requester as usize], index, requests, |one| {
                (self.touched[one.resource as usize], behind(one.resource, turn, self.resources))
            });
        }
        for (index, request) in requests.iter().enumerate() {
            if self.best_in[request.requester as usize] != index as u32 {
                continue;
            }
            let turn = self.grants[request.resource as usize];
            offer(&mut self.best_out[request.resource as usize], index, requests, |one| {
                behind(one.requester, turn, self.requesters)
            });
        }
        for (index, request) in requests.iter().enumerate() {
            if self.best_out[request.resource as usize] != index as u32 {
                continue;
            }
            self.pair(request.requester, request.resource);
            let (requester, resource) = (request.requester as usize, request.resource as usize);
            self.accepts[requester] = after(self.accepts[requester], self.resources);
            self.grants[resource] = after(self.grants[resource], self.requesters);
        }
    }
}
