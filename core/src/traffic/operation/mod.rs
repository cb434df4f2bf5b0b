mod group;

pub use group::Group;

use super::Demand;
use crate::{
    fabric::{NodeId, Shape},
    fault::Fault,
    names::UnknownName,
};
use std::str::FromStr;

/// What can be wrong with an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationError {
    /// A root that does not take part.
    Root(NodeId),
    /// A message that is too long.
    Message(u64),
    /// Too many messages.
    TooManyMessages(u64),
}

crate::fault::displays_fault!(OperationError);

impl OperationError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Root(node) => Fault::at(
                "operation.root",
                format!("node {node} does not take part, so it cannot broadcast"),
                "",
            ),
            Self::Message(flits) => Fault::at(
                "operation.payload",
                format!("a message would have {flits} flits of payload"),
                format!("at least 1 and at most {} are possible", Demand::MAX_LENGTH - 1),
            ),
            Self::TooManyMessages(messages) => Fault::somewhere(
                format!("{messages} messages"),
                format!("at most {} can be scheduled", CollectiveOperation::MAX_MESSAGES),
            ),
        }
    }
}

/// A collective operation over a group of nodes, as phases of messages.
///
/// A phase may use what the phases before it have delivered; the messages within one are
/// independent. All-to-all is one phase. The others work dimension by dimension: all-gather and
/// reduce-scatter pass blocks once around each ring (the bucket algorithm; on the single injection
/// port of a node a second direction would bring nothing), all-reduce is one after the other, and
/// broadcast halves the part of a line that still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveOperation {
    /// Every node sends a message of its own to every other node.
    AllToAll,
    /// Every node's block goes to every node.
    AllGather,
    /// Every node ends with the sum of one block over all nodes.
    ReduceScatter,
    /// Every node ends with the sum of all blocks.
    AllReduce,
    /// One node's message goes to every node.
    Broadcast {
        /// The node that sends.
        root: NodeId,
    },
}

impl CollectiveOperation {
    /// Largest number of messages.
    pub const MAX_MESSAGES: u64 = 1 << 20;
    /// Names as users write them.
    pub const NAMES: [&'static str; 5] =
        ["all-to-all", "all-gather", "reduce-scatter", "all-reduce", "broadcast"];

    /// The messages of every phase. `payload` is one node's block in flits; every message carries a
    /// header flit more.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::{CollectiveOperation, Group}};
    /// let shape = Shape::torus(&[4, 4])?;
    /// let all = Group::all(&shape);
    /// assert_eq!(CollectiveOperation::AllToAll.phases(&all, 7)?[0].len(), 16 * 15);
    /// assert_eq!(CollectiveOperation::AllGather.phases(&all, 7)?.len(), 3 + 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The root does not take part, or a message would be too long.
    pub fn phases(self, group: &Group, payload: u32) -> Result<Vec<Vec<Demand>>, OperationError> {
        let blocks = match self {
            Self::AllToAll | Self::Broadcast { .. } => 1,
            // In the last ring, blocks of all nodes of the others go together.
            _ => group.len() as u64 / group.sizes().filter(|&size| size > 1).last().map_or(1, u64::from),
        };
        let largest = u64::from(payload) * blocks;
        if payload == 0 || largest >= u64::from(Demand::MAX_LENGTH) {
            return Err(OperationError::Message(largest));
        }
        let nodes = group.len() as u64;
        let around: u64 = group.sizes().map(|size| u64::from(size) - 1).sum();
        let messages = match self {
            Self::AllToAll => nodes * (nodes - 1),
            Self::AllGather | Self::ReduceScatter => nodes * around,
            Self::AllReduce => 2 * nodes * around,
            Self::Broadcast { .. } => nodes - 1,
        };
        if messages > Self::MAX_MESSAGES {
            return Err(OperationError::TooManyMessages(messages));
        }
        Ok(match self {
            Self::AllToAll => {
                let nodes = group.nodes();
                let others = |&source: &NodeId| {
                    let to = nodes.iter().filter(move |&&other| other != source);
                    to.map(move |&other| message(source, other, payload + 1))
                };
                vec![nodes.iter().flat_map(others).collect()]
            }
            Self::AllGather => gather(group, payload),
            Self::ReduceScatter => {
                let mut phases = gather(group, payload);
                phases.reverse();
                phases
            }
            Self::AllReduce => {
                let mut phases = Self::ReduceScatter.phases(group, payload)?;
                phases.extend(gather(group, payload));
                phases
            }
            Self::Broadcast { root } => {
                let Some(place) = group.place(root) else {
                    return Err(OperationError::Root(root));
                };
                broadcast(group, place, payload + 1)
            }
        })
    }

    /// A duration below which no algorithm can stay: the flits that one injection port must pass,
    /// the last of them over the shortest way, or the longest way. What must be passed on is counted
    /// once, with one header for all.
    pub fn bound(self, shape: &Shape, group: &Group, payload: u32) -> u64 {
        let others = (group.len() as u64).saturating_sub(1);
        let payload = u64::from(payload);
        let way = u64::from(group.nearest(shape)) + 1;
        match self {
            Self::AllToAll => others * (payload + 1) + way,
            Self::AllGather | Self::ReduceScatter => others * payload + 1 + way,
            Self::AllReduce => 2 * others * payload + 1 + way,
            Self::Broadcast { root } => {
                let farthest = group.nodes().iter().map(|&node| shape.distance(root, node)).max();
                payload + 1 + u64::from(farthest.unwrap_or(0)) + 1
            }
        }
    }
}

impl FromStr for CollectiveOperation {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match name {
            "all-to-all" => Self::AllToAll,
            "all-gather" => Self::AllGather,
            "reduce-scatter" => Self::ReduceScatter,
            "all-reduce" => Self::AllReduce,
            "broadcast" => Self::Broadcast { root: 0 },
            _ => return Err(UnknownName::of("operation", "there are", name, &Self::NAMES)),
        })
    }
}

fn message(source: NodeId, destination: NodeId, length: u32) -> Demand {
    Demand { source, destination, length, slices: 1 }
}

/// The place that lies `distance` further along an axis of `size` places, around its end.
fn further(place: u32, stride: u32, size: u32, distance: u32) -> u32 {
    let own = place / stride % size;
    place - own * stride + (own + distance) % size * stride
}

fn gather(group: &Group, payload: u32) -> Vec<Vec<Demand>> {
    let mut phases = Vec::new();
    let (mut block, mut stride) = (payload, 1);
    for size in group.sizes() {
        for _ in 1..size {
            let send = |place: u32| {
                let next = further(place, stride, size, 1);
                message(group.node(place), group.node(next), block + 1)
            };
            phases.push((0..group.len() as u32).map(send).collect());
        }
        block *= size;
        stride *= size;
    }
    phases
}

fn broadcast(group: &Group, root: u32, length: u32) -> Vec<Vec<Demand>> {
    let mut phases = Vec::new();
    let mut holders = vec![root];
    let mut stride = 1;
    for size in group.sizes() {
        // Parts of the line, seen from the holder: distance of its first node, and nodes.
        let mut parts = vec![(0, size)];
        let mut reached = holders.clone();
        while parts.iter().any(|&(_, nodes)| nodes > 1) {
            let mut phase = Vec::new();
            let mut next = Vec::new();
            for &(first, nodes) in &parts {
                let half = nodes.div_ceil(2);
                next.push((first, half));
                if nodes == half {
                    continue;
                }
                next.push((first + half, nodes - half));
                for &holder in &holders {
                    let at = |distance| further(holder, stride, size, distance);
                    phase.push(message(group.node(at(first)), group.node(at(first + half)), length));
                    reached.push(at(first + half));
                }
            }
            parts = next;
            phases.push(phase);
        }
        holders = reached;
        stride *= size;
    }
    phases
}
