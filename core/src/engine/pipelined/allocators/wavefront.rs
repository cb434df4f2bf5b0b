//! Wavefront: diagonals of the matrix of requests, from one that has its turn.

use super::{
    Allocator, Request,
    arbiter::{after, behind},
};
use std::cmp::Reverse;

impl Allocator {
    pub(super) fn wavefront(&mut self, skips: bool, requests: &[Request]) {
        if requests.is_empty() {
            return;
        }
        let size = self.requesters.max(self.resources) as u32;
        let diagonal = |request: &Request| (request.requester + request.resource) % size;
        let turn = self.turn;
        let mut order: Vec<_> = (0..requests.len() as u32).collect();
        order.sort_unstable_by_key(|&index| {
            let request = &requests[index as usize];
            let wait = behind(diagonal(request), turn, size as usize);
            (Reverse((request.outer, request.inner)), wait, request.requester)
        });
        let mut first = None;
        for index in order {
            let request = &requests[index as usize];
            if self.is_free(request) {
                self.pair(request.requester, request.resource);
                first.get_or_insert(diagonal(request));
            }
        }
        let done = if skips { first.unwrap_or(turn) } else { turn };
        self.turn = after(done, size as usize);
    }
}
