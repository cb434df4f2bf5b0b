//! What a policy of shared buffers comes to where its limits are fixed.

use super::super::buffers::{Limit, Policy};

/// Places that every channel owns, common ones beside them, and how many a channel may fill.
#[derive(Clone, Debug)]
pub(in super::super) struct Common {
    pub owned: Vec<u32>,
    pub places: u32,
    pub most: u32,
}

impl Common {
    /// What a policy comes to; `None` if groups of channels own places, or limits change.
    pub(super) fn new(policy: &Policy, channels: usize) -> Option<Self> {
        let Policy::Shared(sharing) = policy else { return None };
        let most = match sharing.limit {
            Limit::None => sharing.places,
            Limit::Fixed(most) => most,
            _ => return None,
        };
        let is_own = sharing.owned.len() == channels;
        is_own.then(|| Self { owned: sharing.owned.clone(), places: sharing.common, most })
    }
}
