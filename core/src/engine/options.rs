use crate::throttle::Throttle;
use std::sync::atomic::AtomicBool;

/// When a run ends other than by delivering everything, and what rules of papers it follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Return the totals at the start of this cycle, whatever is still under way.
    pub stop_at: Option<u64>,
    /// Fail when this cycle is reached.
    pub cycle_limit: Option<u64>,
    /// Fail soon after this becomes true.
    pub interrupt: Option<&'a AtomicBool>,
    /// Slice re-initialisation: at the end of a cycle in which a node receives the last flit of a
    /// packet, its port lists and the channels its ports used last return to their initial state
    /// (cup-stacking-extended-2023, 7.2, T08).
    pub reinitialise_slices: bool,
    /// Who must wait before injecting.
    pub throttle: Throttle,
    /// Seed of what routing functions leave to chance.
    pub seed: u64,
}

impl Options<'_> {
    /// Whether the routers follow the plain rules: nobody waits, and nothing is done when a node receives a
    /// packet.
    pub fn plain_rules(&self) -> bool {
        !self.reinitialise_slices && self.throttle == Throttle::None
    }
}
