//! Who forwards what to whom, step by step, over all links: collective operations in which every link works.
//!
//! In one step a link carries at most one chunk; a node uses all its links at once, keeps what it ever
//! held, may copy, and may add partial results. On tori, plain or twisted, all nodes do the same,
//! shifted, so that a plan is one orbit: offsets over directions instead of chunks over links.

mod balance;
mod bounds;
mod exchange;
mod grown;
mod growth;
mod list;
mod matching;
mod moves;
mod nested;
mod operation;
mod orbit;
mod overlap;
mod pieces;
mod plan;
mod potentials;
mod reduce;
mod routed;
mod solve;
mod spread;
mod together;
mod torus;

pub use bounds::{Bound, Proof};
pub use exchange::exchange;
pub use growth::gather;
pub use moves::Move;
pub use nested::{Shift, nested_rounds};
pub use operation::CollectiveKind;
pub use orbit::{Orbit, OrbitKind, Row};
pub use pieces::{PieceWays, Spread, spread_pieces};
pub use plan::{Plan, Request, Schedule};
pub use potentials::raises;
pub use solve::{MAX_MOVES, plan, plan_demands, plan_graph, plan_repaired, plan_torus};
pub use torus::{Generator, MAX_ORBIT_NODES, MAX_PORTS, Torus};

use crate::{
    fabric::{FabricError, NodeId},
    fault::Fault,
    names::UnknownName,
};

/// What can be wrong with the description of a collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectiveError {
    /// Sizes out of range.
    Sizes {
        /// Product of the sizes.
        nodes: u64,
    },
    /// The network cannot be.
    Fabric(FabricError),
    /// The number of widths is not that of the dimensions.
    Widths {
        /// Numbers given.
        given: usize,
        /// Dimensions.
        needed: usize,
    },
    /// A width out of range.
    Width(u32),
    /// Too many links at a node.
    Ports(usize),
    /// A name of no operation.
    Name(UnknownName),
    /// A number of chunks out of range.
    Chunks {
        /// Chunks asked for.
        chunks: u32,
        /// Moves, about.
        moves: u64,
    },
    /// A latency out of range.
    Latency(u32),
    /// An operation that is no orbit.
    NeedsGraph(&'static str),
    /// A node that does not exist.
    Node {
        /// The node.
        node: NodeId,
        /// How many there are.
        nodes: NodeId,
    },
    /// Two nodes without a link.
    NotNeighbours(NodeId, NodeId),
    /// A failed node takes part.
    Failed(NodeId),
    /// Members that make no operation.
    Members,
    /// The root is no member.
    Root(NodeId),
    /// No way between two members.
    Unreachable(NodeId, NodeId),
}

crate::fault::displays_fault!(CollectiveError);

impl CollectiveError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Sizes { nodes } => Fault::at(
                "topology.sizes",
                format!("{nodes} nodes"),
                format!("every size is at least 2, and at most {MAX_ORBIT_NODES} nodes are planned"),
            ),
            Self::Fabric(error) => error.fault().or_at("topology"),
            Self::Widths { given, needed } => Fault::at(
                "width",
                format!("{given} numbers for {needed} dimensions"),
                "give one per dimension",
            ),
            Self::Width(given) => {
                Fault::at("width", format!("{given} parallel links"), "1 to 64 are possible")
            }
            Self::Ports(given) => Fault::at(
                "topology",
                format!("{given} links leave every node"),
                format!("at most {MAX_PORTS} are planned"),
            ),
            Self::Name(error) => error.fault().or_at("operation"),
            Self::Chunks { chunks, moves } => Fault::at(
                "chunks",
                format!("{chunks} make {moves} moves"),
                format!("at least one chunk and at most {MAX_MOVES} moves are planned"),
            ),
            Self::Latency(given) => Fault::at("latency", format!("{given} steps"), "0 to 65536 are possible"),
            Self::NeedsGraph(name) => Fault::at(
                "operation",
                format!("{name} has a root, so that its nodes do not all do the same"),
                "",
            ),
            Self::Node { node, nodes } => {
                Fault::somewhere(format!("node {node} does not exist"), format!("there are {nodes}"))
            }
            Self::NotNeighbours(a, b) => FabricError::NotNeighbours(*a, *b).fault(),
            Self::Failed(node) => Fault::at("members", format!("node {node} has failed"), "leave it out"),
            Self::Members => Fault::at(
                "members",
                "at least two different nodes, in ascending order, take part in an operation",
                "",
            ),
            Self::Root(node) => Fault::at("root", format!("node {node} does not take part"), ""),
            Self::Unreachable(a, b) => {
                Fault::somewhere(format!("no way leads from node {a} to node {b} and back"), "")
            }
        }
    }
}

impl From<FabricError> for CollectiveError {
    fn from(error: FabricError) -> Self {
        match error {
            FabricError::Node { node, last } => Self::Node { node: node as NodeId, nodes: last + 1 },
            FabricError::NotNeighbours(a, b) => Self::NotNeighbours(a, b),
            other => Self::Fabric(other),
        }
    }
}
