//! The forms of routers: the one list, and the one place that chooses.

use super::{
    lists::Lists,
    planes,
    routers::{AnyRouters, Routers},
    rules::Rules,
    sets::Sets,
};

/// What is wanted of the routers of a run beside its rules.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// Single flits are recorded, or nodes do not take them at once.
    pub single_flits: bool,
    /// When flits leave by links is counted.
    pub links: bool,
}

/// Routers without flits; `None` if the form does not cover these rules, or what is wanted.
type Make = fn(&Rules, Wanted) -> Option<AnyRouters>;

/// All forms but the last, the fastest first.
const FORMS: [Make; 2] = [planes::make, Sets::make];

/// Routers without flits in the fastest form; lists cover everything.
pub(super) fn choose(rules: &Rules, wanted: Wanted) -> Box<dyn Routers> {
    FORMS.iter().find_map(|make| make(rules, wanted)).unwrap_or_else(|| Box::new(Lists::new(rules)))
}
