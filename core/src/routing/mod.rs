//! Which way: the routing functions, the rules of a router as data, the dependency graph and its
//! deadlock certificate.

mod asking;
mod channels;
mod claims;
mod components;
mod cross_line;
mod dependencies;
pub mod dimension_order;
mod escape;
mod function;
mod given;
mod in_order;
mod legal;
mod minimal_adaptive;
mod o1turn;
#[cfg(test)]
mod reverse_order;
mod route;
mod routing_graph;
mod rules;
mod simple_adaptive;
mod turns;
mod ugal;
mod valiant;
mod waits;
mod walk;

pub use asking::{At, Header, Output, Place, Seen};
pub use channels::{Came, ChannelRule, Datelines, Line, Rises};
pub use claims::{Claims, Freedom};
pub use dependencies::DependencyGraph;
pub use function::RoutingFunction;
pub use legal::{Candidate, candidate_routes, legal_routes, route_links};
pub use route::{HeaderLayout, Hops, Route};
pub use routing_graph::{RoutingEdge, RoutingGraph};
pub use rules::{Flow, Rules, RulesError, Violation};
#[cfg(test)]
pub(crate) use turns::useful_direction_sets;
pub use turns::{TurnPolicy, TurnSet};
pub use waits::{Channel, Waits};
pub use walk::{Hop, dimension_order_walk, walk};
