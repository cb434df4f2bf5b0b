//! Minimal routes on dragonflies: a hop to the switch with the cable to the destination's group, that cable, a hop.
//! Routes to groups of higher and of lower numbers need a lane each.

use super::{DimensionOrder, Forwarding, Graph, Method, Start};
use crate::fabric::Groups;
use rayon::prelude::*;

pub(super) const METHOD: Method = Method {
    name: "dragonfly",
    kind: "dragonfly",
    about: "all pairs on dragonflies: one cable between groups, a hop before and a hop behind it",
    start,
};

fn start(graph: &Graph, order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    if order.is_some() {
        return None;
    }
    let groups = Groups::of(graph)?;
    let mut table = Forwarding::spread(graph, roots.to_vec());
    let switches = graph.switches();
    table.next.par_chunks_mut(switches).enumerate().for_each(|(destination, row)| {
        let root = roots[destination];
        let home = groups.of[root as usize];
        for (switch, entry) in (0..switches as u32).zip(row).filter(|&(switch, _)| switch != root) {
            let group = groups.of[switch as usize];
            // Of several cables between two groups, destinations take turns, from switches that have none.
            let target = |next: u32| match groups.gates.get(&(group, home)) {
                None => next == root,
                Some(gates) if gates.contains(&switch) => groups.of[next as usize] == home,
                Some(gates) => next == gates[destination % gates.len()],
            };
            let cables = graph.outgoing(switch).iter().filter(|&&channel| target(graph.ends(channel).1));
            let cables: Vec<&u32> = cables.collect();
            *entry = *cables[destination % cables.len()];
        }
    });
    Some(Start { table, gently: true })
}
