//! iSLIP: turns that only go on where a grant was accepted in the first iteration.

use super::{
    Allocator, NONE, Request,
    arbiter::{after, behind},
};

impl Allocator {
    pub(super) fn islip(&mut self, times: u32, requests: &[Request]) {
        for time in 0..times {
            self.clear_offers(requests);
            let mut any = false;
            for (index, request) in requests.iter().enumerate() {
                if !self.is_free(request) {
                    continue;
                }
                any = true;
                let resource = request.resource as usize;
                let turn = self.grants[resource];
                let best = self.best_out[resource];
                let distance = behind(request.requester, turn, self.requesters);
                if best == NONE || distance < behind(requests[best as usize].requester, turn, self.requesters)
                {
                    self.best_out[resource] = index as u32;
                }
            }
            if !any {
                break;
            }
            for (index, request) in requests.iter().enumerate() {
                if self.best_out[request.resource as usize] != index as u32 {
                    continue;
                }
                let requester = request.requester as usize;
                let turn = self.accepts[requester];
                let best = self.best_in[requester];
                let distance = behind(request.resource, turn, self.resources);
                if best == NONE || distance < behind(requests[best as usize].resource, turn, self.resources) {
                    self.best_in[requester] = index as u32;
                }
            }
            for (index, request) in requests.iter().enumerate() {
                if self.best_in[request.requester as usize] != index as u32 {
                    continue;
                }
                self.pair(request.requester, request.resource);
                if time == 0 {
                    self.grants[request.resource as usize] = after(request.requester, self.requesters);
                    self.accepts[request.requester as usize] = after(request.resource, self.resources);
                }
            }
        }
    }
}
