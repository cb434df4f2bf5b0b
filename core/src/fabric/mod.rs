//! What exists: shape, nodes, coordinates, directions, links and failed parts.

mod circulant;
mod colours;
mod direction;
mod factor;
mod failures;
mod fat_tree;
mod graph;
mod grid;
mod groups;
mod lattice;
mod network;
mod product;
mod recognise;
mod rows;
mod sets;
mod shape;
mod shifts;
mod symmetry;
mod translations;
mod twist;
pub mod walk;

pub(crate) use circulant::common_divisor;
pub use circulant::{MAX_STEPS, Steps};
pub use direction::{Direction, Sign};
pub use factor::{Factor, MAX_DIRECTIONS, MAX_RINGS};
pub use failures::Fabric;
pub use fat_tree::FatTree;
pub use graph::{Graph, MAX_PORTS, UNREACHABLE};
pub use grid::{Grid, Placed};
pub use groups::Groups;
pub use lattice::Lattice;
pub use network::{Lines, Network};
pub use product::Product;
pub use recognise::{Recognition, recognise};
pub use shape::{MAX_DIMENSIONS, MAX_NODES, Shape, Ties};
pub(crate) use shape::{divide, reciprocal};
pub use shifts::Shifts;
pub use symmetry::Symmetry;
pub use twist::Displacement;

use crate::fault::Fault;

/// Index of a node (router): `w = ... + z*Nx*Ny + y*Nx + x`, the first dimension fastest.
pub type NodeId = u32;

/// Index of a unidirectional link: `node * directions + direction.index()`.
///
/// The numbering is dense over all directions; entries of links that do not exist (the rim of a
/// mesh) are unused.
pub type LinkId = u32;

/// What can be wrong with the description of a fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FabricError {
    /// The number of dimensions is out of range.
    Dimensions(usize),
    /// A dimension is too small.
    Size {
        /// Index of the dimension.
        dimension: usize,
        /// The size that was given.
        size: u32,
    },
    /// The product of the sizes is too large.
    Nodes(u64),
    /// Full meshes and circulants with too many links per node.
    Directions(u64),
    /// A circulant with no steps or too many.
    StepCount(usize),
    /// A circulant with steps that do not fit it.
    Steps {
        /// The circulant.
        factor: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        advice: String,
    },
    /// More rings of steps and dimensions than packets can have channels for.
    Rings(usize),
    /// These sizes have no twist.
    Twist(Vec<u32>),
    /// A node index beyond the shape.
    Node {
        /// The node that was named.
        node: u64,
        /// Highest valid index.
        last: NodeId,
    },
    /// A link between two nodes that are not neighbours.
    NotNeighbours(NodeId, NodeId),
    /// Nodes without coordinates, where a grid is needed.
    NoGrid,
    /// A switch with more ports than InfiniBand numbers.
    Ports(u32, u64),
}

crate::fault::displays_fault!(FabricError);

impl FabricError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let topology = |problem: String, advice: String| Fault::at("topology.sizes", problem, advice);
        match self {
            Self::Dimensions(given) => topology(
                format!("{given} dimensions given"),
                format!("a torus or mesh has 1 to {MAX_DIMENSIONS}"),
            ),
            Self::Size { dimension, size } => {
                topology(format!("dimension {dimension} has size {size}"), "sizes start at 2".into())
            }
            Self::Nodes(given) => {
                topology(format!("{given} routers"), format!("at most {MAX_NODES} (2^20) are supported"))
            }
            Self::Directions(given) => topology(
                format!("{given} directions of links"),
                format!(
                    "full meshes of sizes k have k/2 in both senses, circulants their steps, at most {MAX_DIRECTIONS} \
                     in all"
                ),
            ),
            Self::StepCount(given) => topology(
                format!(
                    "a circulant has {}",
                    if *given == 0 { "no steps".into() } else { format!("{given} steps") }
                ),
                format!("1 to {MAX_STEPS} are possible"),
            ),
            Self::Steps { factor, problem, advice } => {
                topology(format!("{factor} {problem}"), advice.clone())
            }
            Self::Rings(given) => topology(
                format!("rings in {given} dimensions and steps of circulants"),
                format!("at most {MAX_RINGS} are possible"),
            ),
            Self::Twist(sizes) => Fault::at(
                "topology.twist",
                format!("{} has none", named(sizes)),
                "a twisted torus wraps around in every dimension and has short dimensions of size K and long ones of an \
                 even size nK, as 4x4x8 or 4x8x8",
            ),
            Self::Node { node, last } => {
                Fault::somewhere(format!("node {node} does not exist"), format!("nodes are 0 to {last}"))
            }
            Self::NotNeighbours(a, b) => Fault::somewhere(
                format!("nodes {a} and {b} are not neighbours"),
                "a link joins two neighbouring nodes",
            ),
            Self::NoGrid => {
                Fault::somewhere("nodes of this network have no coordinates", "give a torus, mesh or product")
            }
            Self::Ports(switch, ports) => Fault::somewhere(
                format!("switch {switch} has {ports} ports, hosts included"),
                format!("at most {MAX_PORTS}"),
            ),
        }
    }
}

/// Sizes as people write them.
fn named(sizes: &[u32]) -> String {
    sizes.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
}
