//! The forms of routers: the one list, and the one place that chooses.

use super::{
    lists::Lists,
    planes,
    routers::{AnyRouters, Nodes, Wanted},
    rules::Rules,
    sets::Sets,
};

/// Routers without flits; `None` if the form does not cover these rules, or what is wanted.
type Make<N> = fn(&Rules, Wanted) -> Option<AnyRouters<N>>;

/// All forms but the last, the fastest first.
fn forms<N: Nodes>() -> [Make<N>; 2] {
    [planes::make, Sets::make]
}

/// Routers without flits in the fastest form; lists cover everything.
pub(super) fn choose<N: Nodes>(rules: &Rules, wanted: Wanted) -> AnyRouters<N> {
    forms().iter().find_map(|make| make(rules, wanted)).unwrap_or_else(|| Box::new(Lists::new(rules)))
}
