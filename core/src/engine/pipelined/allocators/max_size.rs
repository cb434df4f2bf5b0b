//! Maximum matchings by shortest augmenting paths, beginning with the requester that has its turn.

use super::{
    Allocator, NONE, Request,
    arbiter::{after, behind},
};
use std::collections::VecDeque;

impl Allocator {
    pub(super) fn max_size(&mut self, requests: &[Request]) {
        let mut pairs: Vec<_> = requests.iter().map(|one| (one.requester, one.resource)).collect();
        pairs.sort_unstable_by_key(|&(requester, resource)| {
            (behind(requester, self.turn, self.requesters), resource)
        });
        while self.augment(requests, &pairs) {}
        self.turn = after(self.turn, self.requesters);
    }

    /// One more pair, by the shortest path that alternates between new and old ones; false if there is none.
    fn augment(&mut self, requests: &[Request], pairs: &[(u32, u32)]) -> bool {
        self.clear_offers(requests);
        let mut queue: VecDeque<u32> = VecDeque::new();
        for &(requester, _) in pairs {
            if self.given[requester as usize] == NONE && queue.back() != Some(&requester) {
                queue.push_back(requester);
            }
        }
        while let Some(requester) = queue.pop_front() {
            for &(_, resource) in pairs.iter().filter(|pair| pair.0 == requester) {
                let reached = &mut self.best_out[resource as usize];
                if *reached != NONE {
                    continue;
                }
                *reached = requester;
                match self.taken[resource as usize] {
                    NONE => {
                        self.exchange(resource);
                        return true;
                    }
                    owner => queue.push_back(owner),
                }
            }
        }
        false
    }

    /// Gives a resource to who reached it, the one that this had to who reached that, and so on.
    fn exchange(&mut self, mut resource: u32) {
        loop {
            let requester = self.best_out[resource as usize];
            let before = self.given[requester as usize];
            self.pair(requester, resource);
            if before == NONE {
                return;
            }
            resource = before;
        }
    }
}
