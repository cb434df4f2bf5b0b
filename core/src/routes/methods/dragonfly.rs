//! Minimal routes on dragonflies: a hop to the switch with the cable to the destination's group, that cable, a hop.
//! Routes to groups of higher and of lower numbers need a lane each.

use super::{DimensionOrder, Graph, Method, Start};
use crate::fabric::Groups;

pub(super) const METHOD: Method = Method {
    kind: "dragonfly",
    by_destination: Some(start),
    ..Method::any(
        "dragonfly",
        "all pairs on dragonflies: one cable between groups, a hop before and a hop behind it",
    )
};

fn start(graph: &Graph, _order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    let groups = &Groups::of(graph)?;
    Some(Start::by_rule(graph, roots, |destination, root| {
        let home = groups.of[root as usize];
        move |switch| {
            let group = groups.of[switch as usize];
            // Of several cables between two groups, destinations take turns, from switches that have none.
            Some(move |next: u32| match groups.gates.get(&(group, home)) {
                None => next == root,
                Some(gates) if gates.contains(&switch) => groups.of[next as usize] == home,
                Some(gates) => next == gates[destination % gates.len()],
            })
        }
    }))
}
