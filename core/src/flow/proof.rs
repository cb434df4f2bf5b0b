//! What no table can go below, with its proof.

use crate::fabric::{Graph, Placed};

/// A lower bound on the largest number of pairs of hosts on a channel, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutBound {
    /// The bound: pairs divided by channels, rounded up.
    pub value: u64,
    /// Pairs of hosts (or hops of all pairs) that must cross.
    pub pairs: u64,
    /// Channels they share.
    pub channels: u64,
    /// The switches on the side the pairs come from; empty if all distances are counted instead.
    pub side: Vec<u32>,
    /// Prices of the channels in whole numbers, where pairs and channels are counted at these; else empty.
    pub prices: Vec<u64>,
    /// What the proof is in words.
    pub proof: String,
}

impl CutBound {
    /// What is known of any fabric.
    pub(crate) fn none() -> Self {
        Self { value: 0, pairs: 0, channels: 1, side: Vec::new(), prices: Vec::new(), proof: String::new() }
    }
}

/// A way to find such a bound.
pub struct Prover {
    /// What it is called.
    pub name: &'static str,
    /// Finds one for all pairs of hosts, where switches may stand on a grid.
    pub prove: fn(&Graph, Option<&Placed>) -> CutBound,
}
