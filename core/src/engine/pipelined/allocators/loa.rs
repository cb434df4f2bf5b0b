//! Lonely output allocator: requesters ask for the resource that the fewest ask for.

use super::{
    Allocator, NONE, Request,
    arbiter::{after, behind},
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
            let requester = request.requester as usize;
            let key = |request: &Request| {
                let distance = behind(request.resource, self.accepts[requester], self.resources);
                (self.touched[request.resource as usize], distance)
            };
            let best = self.best_in[requester];
            if best == NONE || key(request) < key(&requests[best as usize]) {
                self.best_in[requester] = index as u32;
            }
        }
        for (index, request) in requests.iter().enumerate() {
            if self.best_in[request.requester as usize] != index as u32 {
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
