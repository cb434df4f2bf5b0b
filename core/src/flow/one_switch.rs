//! What leaves the switch with the most hosts for its cables: for tests only.

use super::proof::{CutBound, Prover};

pub(super) const BOUND: Prover = Prover {
    name: "one-switch",
    prove: |graph, _placed| {
        let parts = graph.parts();
        let whole = graph.hosts_by_part(&parts);
        let most = (0..graph.switches() as u32).max_by_key(|&switch| graph.hosts(switch)).unwrap_or(0);
        let channels = graph.outgoing(most).len().max(1) as u64;
        let hosts = u64::from(graph.hosts(most));
        let pairs = hosts * (whole[parts[most as usize] as usize] - hosts);
        CutBound { value: pairs.div_ceil(channels), pairs, channels, ..CutBound::none() }
    },
};
