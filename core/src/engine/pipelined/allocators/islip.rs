//! iSLIP: turns that only go on where a grant was accepted in the first iteration.

use super::{Allocator, Request};

impl Allocator {
    pub(super) fn islip(&mut self, times: u32, requests: &[Request]) {
        for time in 0..times {
            self.clear_offers(requests);
            if !self.grant_by_turn(requests) {
                break;
            }
            self.accept_by_turn(requests);
            self.pair_accepted(requests, time == 0);
        }
    }
}
