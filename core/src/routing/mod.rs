//! Which way: the routing functions, the rules of a router as data, the dependency graph and its
//! deadlock certificate.

mod components;
mod dateline;
mod dependencies;
pub mod dimension_order;
mod legal;
mod route;
mod routing_graph;
mod rules;
mod turns;

pub use dateline::{crosses_dateline, next_channel};
pub use dependencies::{Channel, DependencyGraph, Verdict};
pub use legal::{Candidate, candidate_routes, legal_routes, route_links};
pub use route::{HeaderLayout, Hops, Route};
pub use routing_graph::{RoutingEdge, RoutingGraph};
pub use rules::{Flow, Rules, RulesError, Violation};
#[cfg(test)]
pub(crate) use turns::useful_direction_sets;
pub use turns::{TurnPolicy, TurnSet};

use crate::fabric::{Direction, NodeId, Shape};

/// The virtual channel of the link that leaves `node` in `direction`, for a packet in `channel`.
pub fn channel_after(shape: &Shape, flow: Flow, channel: u8, node: NodeId, direction: Direction) -> u8 {
    match flow {
        Flow::Channels { count, datelines: true } => {
            next_channel(channel, crosses_dateline(shape, node, direction), count)
        }
        _ => channel,
    }
}
