//! Who forwards what to whom, step by step, over all links: collective operations in which every link works.
//!
//! In one step a link carries at most one chunk; a node uses all its links at once, keeps what it ever
//! held, may copy, and may add partial results. On tori, plain or twisted, all nodes do the same,
//! shifted, so that a plan is one orbit: offsets over directions instead of chunks over links.

mod balance;
mod bounds;
mod cut;
mod exchange;
mod graph;
mod grown;
mod growth;
mod lengths;
mod list;
mod moves;
mod operation;
mod orbit;
mod overlap;
mod paths;
mod place;
mod plan;
mod reduce;
mod routed;
mod solve;
mod spread;
mod together;
mod torus;

pub use bounds::{Bound, Proof};
pub use cut::hardest_cut;
pub use exchange::exchange;
pub use graph::Graph;
pub use growth::gather;
pub use lengths::{prove_load, proven_load};
pub use moves::{Demand, Move};
pub use operation::CollectiveKind;
pub use orbit::{Orbit, OrbitKind, Row};
pub use place::Place;
pub use plan::{Plan, Request, Schedule};
pub use solve::{MAX_MOVES, plan_demands, plan_graph, plan_repaired, plan_torus};
pub use torus::{Generator, MAX_ORBIT_NODES, MAX_PORTS, Torus};

use crate::fabric::{FabricError, NodeId};
use thiserror::Error;

/// What can be wrong with the description of a collective operation.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CollectiveError {
    /// Sizes out of range.
    #[error(
        "topology.sizes: {nodes} nodes; every size is at least 2, and at most {MAX_ORBIT_NODES} nodes are planned"
    )]
    Sizes {
        /// Product of the sizes.
        nodes: u64,
    },
    /// The network cannot be.
    #[error("topology: {0}")]
    Fabric(#[from] FabricError),
    /// The number of widths is not that of the dimensions.
    #[error("width: {given} numbers for {needed} dimensions; give one per dimension")]
    Widths {
        /// Numbers given.
        given: usize,
        /// Dimensions.
        needed: usize,
    },
    /// A width out of range.
    #[error("width: {0} parallel links; 1 to 64 are possible")]
    Width(u32),
    /// Too many links at a node.
    #[error("topology: {0} links leave every node; at most {MAX_PORTS} are planned")]
    Ports(usize),
    /// A twisted mesh.
    #[error("twist: a twisted torus wraps around in every dimension")]
    TwistedMesh,
    /// A name of no operation.
    #[error(
        "operation: {0:?} is unknown; it is all-gather, reduce-scatter, all-reduce, broadcast, reduce, scatter, gather or all-to-all"
    )]
    Name(String),
    /// A number of chunks out of range.
    #[error(
        "chunks: {chunks} make {moves} moves; at least one chunk and at most {MAX_MOVES} moves are planned"
    )]
    Chunks {
        /// Chunks asked for.
        chunks: u32,
        /// Moves, about.
        moves: u64,
    },
    /// A latency out of range.
    #[error("latency: {0} steps; 0 to 65536 are possible")]
    Latency(u32),
    /// An operation that is no orbit.
    #[error("operation: {0} has a root, so that its nodes do not all do the same")]
    NeedsGraph(&'static str),
    /// A node that does not exist.
    #[error("node {node} does not exist; there are {nodes}")]
    Node {
        /// The node.
        node: NodeId,
        /// How many there are.
        nodes: NodeId,
    },
    /// Two nodes without a link.
    #[error("nodes {0} and {1} are not neighbours; a link joins two neighbouring nodes")]
    NotNeighbours(NodeId, NodeId),
    /// A failed node takes part.
    #[error("node {0} has failed; leave it out")]
    Failed(NodeId),
    /// Members that make no operation.
    #[error("members: at least two different nodes, in ascending order, take part in an operation")]
    Members,
    /// The root is no member.
    #[error("root: node {0} does not take part")]
    Root(NodeId),
    /// No way between two members.
    #[error("no way leads from node {0} to node {1} and back")]
    Unreachable(NodeId, NodeId),
}
