//! Searching which way: generators of routing tables, their balance and its lower bounds.

mod bound;
mod check;
mod choices;
mod fold;
mod listed;
mod loads;
mod mirrored;
mod on_demand;
mod program;
mod request;
pub(crate) mod rings;
mod route;
mod search;
mod system;
mod table;
mod tie_break;

pub use bound::Bound;
pub use check::{CheckReport, WalkChecker, check_table};
pub use choices::Choices;
pub(crate) use fold::Fold;
pub use listed::ListedRoutes;
pub use loads::Quality;
pub use mirrored::{LeftOutUnder, mirrored};
pub use on_demand::{Regime, on_demand, on_demand_while, serves};
pub use program::Program;
pub use request::{GeneticSettings, Made, Request};
pub use route::{Answer, left_out, prove_bound, route};
pub(crate) use search::{Prover, Search};
pub use system::System;
pub use table::{NO_ROUTE, Table};
pub(crate) use tie_break::TieBreak;

use crate::{fabric::NodeId, fault::Fault};

/// Largest number of nodes for which tables are made.
pub const MAX_TABLE_NODES: usize = 8192;

/// Why there is no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// Too many nodes for a header of 32 bits per pair.
    TooManyNodes(usize),
    /// A traffic matrix of the wrong size.
    TrafficSize {
        /// Entries given.
        given: usize,
        /// Entries needed.
        needed: usize,
    },
    /// Traffic too large to be summed exactly.
    TrafficRange,
    /// Pairs without a legal deadlock-free route.
    Unserved {
        /// Source of the first.
        source_node: NodeId,
        /// Its destination.
        destination: NodeId,
        /// How many there are.
        count: usize,
        /// The pairs, at most 1000 of them.
        pairs: Vec<(NodeId, NodeId)>,
    },
    /// A method that makes no tables by source.
    Method(&'static str),
    /// Interrupted from outside.
    Interrupted,
}

crate::fault::displays_fault!(TableError);

impl TableError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::TooManyNodes(nodes) => Fault::at(
                "topology",
                format!("{nodes} nodes"),
                format!("routing tables are made for at most {MAX_TABLE_NODES}"),
            ),
            Self::TrafficSize { given, needed } => Fault::of(
                "traffic",
                format!("has {given} entries"),
                format!("{needed} (nodes x nodes) are needed"),
            ),
            Self::TrafficRange => Fault::of(
                "traffic",
                "is too large",
                "the weights of all pairs times the longest route must stay below 2^63; scale them down",
            ),
            Self::Unserved { source_node, destination, count, .. } => Fault::somewhere(
                format!(
                    "{count} pairs have no legal deadlock-free route, the first from node {source_node} to node \
                     {destination}"
                ),
                "",
            ),
            Self::Method(name) => Fault::at("method", format!("{name} makes no tables by source"), ""),
            Self::Interrupted => Fault::somewhere("interrupted", ""),
        }
    }
}

/// Told the fraction of the work that is done, now and then; ends the work by returning false.
pub type KeepGoing<'a> = &'a mut dyn FnMut(f64) -> bool;

/// Tells `keep_going` a part of the whole work: from `first` to `last` as this part is done.
pub(crate) fn share<'a>(keep_going: KeepGoing<'a>, first: f64, last: f64) -> impl FnMut(f64) -> bool + 'a {
    move |done| keep_going(first + (last - first) * done)
}

impl TableError {
    pub(crate) fn unserved(pairs: &[(NodeId, NodeId)]) -> Self {
        let (source_node, destination) = pairs.first().copied().unwrap_or_default();
        let count = pairs.len();
        Self::Unserved { source_node, destination, count, pairs: pairs[..count.min(1000)].to_vec() }
    }
}
