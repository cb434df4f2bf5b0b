//! Which way: the routing functions, the rules of a router as data, the dependency graph and its
//! deadlock certificate.

mod adaptive;
mod channels;
mod components;
mod dependencies;
pub mod dimension_order;
mod function;
mod legal;
mod o1turn;
mod route;
mod routing_graph;
mod rules;
mod turns;
mod valiant;
mod walk;

pub use channels::{Came, ChannelRule, Datelines, Line, Rises};
pub(crate) use components::components;
pub use dependencies::{Channel, DependencyGraph, Verdict};
pub use function::{
    At, Claims, Freedom, Header, Options, Output, Place, RoutingFunction, Seen, UnknownFunction,
};
pub use legal::{Candidate, candidate_routes, legal_routes, route_links};
pub use route::{HeaderLayout, Hops, Route};
pub use routing_graph::{RoutingEdge, RoutingGraph};
pub use rules::{Flow, Rules, RulesError, Violation};
#[cfg(test)]
pub(crate) use turns::useful_direction_sets;
pub use turns::{TurnPolicy, TurnSet};
pub use walk::{Hop, dimension_order_walk, walk};
