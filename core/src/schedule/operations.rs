use super::{Demand, ScheduleError};
use crate::fabric::{NodeId, Shape};
use std::str::FromStr;

/// A collective operation over all nodes, as phases of messages.
///
/// A phase may use what the phases before it have delivered; the messages within one are
/// independent. All-to-all is one phase. The others work dimension by dimension: all-gather and
/// reduce-scatter pass blocks once around each ring (the bucket algorithm; on the single injection
/// port of a node a second direction would bring nothing), all-reduce is one after the other, and
/// broadcast halves the part of a line that still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
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

impl Operation {
    /// Names as users write them.
    pub const NAMES: [&'static str; 5] =
        ["all-to-all", "all-gather", "reduce-scatter", "all-reduce", "broadcast"];

    /// The messages of every phase. `payload` is one node's block in flits; every message carries a
    /// header flit more.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, schedule::Operation};
    /// let shape = Shape::torus(&[4, 4])?;
    /// assert_eq!(Operation::AllToAll.phases(&shape, 7)?[0].len(), 16 * 15);
    /// assert_eq!(Operation::AllGather.phases(&shape, 7)?.len(), 3 + 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The root does not exist, or a message would be too long.
    pub fn phases(self, shape: &Shape, payload: u32) -> Result<Vec<Vec<Demand>>, ScheduleError> {
        let nodes = shape.nodes() as NodeId;
        let largest = u64::from(payload) * u64::from(nodes);
        if payload == 0 || largest > u64::from(super::Problem::MAX_LENGTH) {
            return Err(ScheduleError::TooMuch(largest));
        }
        let message = |source, destination, length| Demand { source, destination, length, slices: 1 };
        Ok(match self {
            Self::AllToAll => {
                let all = (0..nodes).flat_map(|source| {
                    (0..nodes)
                        .filter(move |&other| other != source)
                        .map(move |other| message(source, other, payload + 1))
                });
                vec![all.collect()]
            }
            Self::AllGather => gather(shape, payload),
            Self::ReduceScatter => {
                let mut phases = gather(shape, payload);
                phases.reverse();
                phases
            }
            Self::AllReduce => {
                let mut phases = Self::ReduceScatter.phases(shape, payload)?;
                phases.extend(gather(shape, payload));
                phases
            }
            Self::Broadcast { root } => {
                if root >= nodes {
                    return Err(ScheduleError::Node { packet: 0, node: root, last: nodes - 1 });
                }
                broadcast(shape, root, payload + 1)
            }
        })
    }

    /// A duration below which no algorithm can stay: the flits that one injection port must pass,
    /// the last of them over one hop (two cycles more), or the longest way. What must be passed on
    /// is counted once, with one header for all.
    pub fn bound(self, shape: &Shape, payload: u32) -> u64 {
        let others = shape.nodes() as u64 - 1;
        let payload = u64::from(payload);
        match self {
            Self::AllToAll => others * (payload + 1) + 2,
            Self::AllGather | Self::ReduceScatter => others * payload + 1 + 2,
            Self::AllReduce => 2 * others * payload + 1 + 2,
            Self::Broadcast { root } => {
                let farthest = (0..shape.nodes() as NodeId).map(|node| shape.distance(root, node)).max();
                payload + 1 + u64::from(farthest.unwrap_or(0)) + 1
            }
        }
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "all-to-all" => Self::AllToAll,
            "all-gather" => Self::AllGather,
            "reduce-scatter" => Self::ReduceScatter,
            "all-reduce" => Self::AllReduce,
            "broadcast" => Self::Broadcast { root: 0 },
            _ => {
                return Err(format!("unknown operation {name:?}; there are {}", Self::NAMES.join(", ")));
            }
        })
    }
}

/// The node at the given coordinate of one dimension, the others as they are.
fn moved(shape: &Shape, node: NodeId, dimension: usize, coordinate: u32) -> NodeId {
    let old = shape.coordinate(node, dimension);
    node - old * shape.stride(dimension) + coordinate * shape.stride(dimension)
}

fn gather(shape: &Shape, payload: u32) -> Vec<Vec<Demand>> {
    let mut phases = Vec::new();
    let mut block = payload;
    for dimension in 0..shape.dimensions() {
        let size = shape.size(dimension);
        for _ in 1..size {
            let send = |source: NodeId| {
                let next = (shape.coordinate(source, dimension) + 1) % size;
                let destination = moved(shape, source, dimension, next);
                Demand { source, destination, length: block + 1, slices: 1 }
            };
            phases.push((0..shape.nodes() as NodeId).map(send).collect());
        }
        block *= size;
    }
    phases
}

fn broadcast(shape: &Shape, root: NodeId, length: u32) -> Vec<Vec<Demand>> {
    let mut phases = Vec::new();
    let mut holders = vec![root];
    for dimension in 0..shape.dimensions() {
        let size = shape.size(dimension);
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
                    let own = shape.coordinate(holder, dimension);
                    let at = |distance: u32| moved(shape, holder, dimension, (own + distance) % size);
                    let (source, destination) = (at(first), at(first + half));
                    phase.push(Demand { source, destination, length, slices: 1 });
                    reached.push(destination);
                }
            }
            parts = next;
            phases.push(phase);
        }
        holders = reached;
    }
    phases
}
