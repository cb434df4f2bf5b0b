//! The forms of routers: the one list, and the one place that chooses.

use super::{
    planes,
    routers::{AnyRouters, Wanted},
    rules::Rules,
    sets::Sets,
    source::Source,
};

/// Routers without flits; `None` if the form does not cover these rules, or what is wanted.
type Make<S> = fn(&Rules, Wanted) -> Option<AnyRouters<S>>;

/// All forms but the last, the fastest first.
fn forms<S: Source>() -> [Make<S>; 1] {
    [planes::make]
}

/// Routers without flits in the fastest form; sets cover everything.
pub(super) fn choose<S: Source>(rules: &Rules, wanted: Wanted) -> AnyRouters<S> {
    forms().iter().find_map(|make| make(rules, wanted)).unwrap_or_else(|| Sets::make(rules, wanted))
}
