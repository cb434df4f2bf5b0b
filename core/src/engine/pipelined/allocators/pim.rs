//! Parallel iterative matching: starts are drawn.

use super::{Allocator, Numbers, Request};

impl Allocator {
    pub(super) fn pim(&mut self, times: u32, requests: &[Request], numbers: &mut dyn Numbers) {
        for _ in 0..times {
            self.clear_offers(requests);
            self.grants.fill_with(|| numbers.upto(self.requesters as u32 - 1));
            self.grant_by_turn(requests);
            self.accepts.fill_with(|| numbers.upto(self.resources as u32 - 1));
            self.accept_by_turn(requests);
            self.pair_accepted(requests, false);
        }
    }
}
