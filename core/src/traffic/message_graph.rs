//! Whole applications as message graphs: per rank sends, receives and computations that wait for
//! each other.

mod goal;
mod progress;

pub use goal::{GoalError, parse_goal};
pub use progress::GraphProgress;
pub(crate) use progress::Message;

use super::Routes;
use crate::{fabric::NodeId, fault::Fault};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Sends a message; complete when the router has taken its last packet.
    Send {
        /// Rank that receives it.
        to: u32,
        /// Payload in flits.
        flits: u64,
        /// Messages match receives of the same tag in their order.
        tag: u32,
    },
    /// Receives a message; complete in the cycle after its last flit was ejected.
    Receive {
        /// Rank that sends it.
        from: u32,
        /// Payload in flits.
        flits: u64,
        /// Tag of the message.
        tag: u32,
    },
    /// Computes; the computations of one rank follow each other, in the order in which they become ready.
    Compute {
        /// Duration in cycles.
        cycles: u64,
    },
}

/// One operation of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: OperationKind,
    /// Operations of the same rank, by index, that must be complete before.
    pub requires: Vec<u32>,
}

/// Index of the route of a pair of nodes.
pub type RouteOfPair = HashMap<(NodeId, NodeId), usize>;

/// Operations of all ranks, checked: every message has a sender and a receiver, and no operation
/// requires itself. Clones share them.
///
/// ```
/// use flitloom_core::traffic::{MessageGraph, Operation, OperationKind::{Receive, Send}};
/// let operation = |kind| Operation { kind, requires: vec![] };
/// let graph = MessageGraph::new(
///     vec![
///         vec![operation(Send { to: 1, flits: 64, tag: 0 })],
///         vec![operation(Receive { from: 0, flits: 64, tag: 0 })],
///     ],
///     vec![0, 5],
///     16,
/// )?;
/// assert_eq!(graph.longest_packet(), 17);
/// # Ok::<(), flitloom_core::traffic::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MessageGraph {
    operations: Arc<[Operation]>,
    /// First operation of every rank, and their number.
    first: Arc<[u32]>,
    nodes: Arc<[NodeId]>,
    packet_payload: u32,
    /// Per operation: the receive of a send.
    partner: Arc<[u32]>,
    routes: Option<(Arc<Routes>, Arc<RouteOfPair>)>,
}

impl MessageGraph {
    /// A graph of the given operations per rank, rank `r` on node `nodes[r]`; messages are cut into
    /// packets of a header and at most `packet_payload` flits.
    ///
    /// # Errors
    /// Ranks share a node, an operation names a rank or operation that does not exist, messages do
    /// not match, or requirements form a cycle.
    pub fn new(
        ranks: Vec<Vec<Operation>>,
        nodes: Vec<NodeId>,
        packet_payload: u32,
    ) -> Result<Self, GraphError> {
        if nodes.len() != ranks.len() {
            return Err(GraphError::Nodes { given: nodes.len(), needed: ranks.len() });
        }
        let mut seen = HashSet::new();
        if let Some(&node) = nodes.iter().find(|&&node| !seen.insert(node)) {
            return Err(GraphError::SharedNode(node));
        }
        if packet_payload == 0 || packet_payload > super::Packet::MAX_LENGTH {
            return Err(GraphError::PacketPayload(packet_payload));
        }
        let mut first = vec![0];
        for (rank, operations) in ranks.iter().enumerate() {
            check_rank(rank as u32, operations, ranks.len() as u32)?;
            first.push(first[rank] + operations.len() as u32);
        }
        let partner = match_messages(&ranks, &first)?;
        let operations = ranks.into_iter().flatten().collect();
        let (first, nodes, partner) = (first.into(), nodes.into(), partner.into());
        Ok(Self { operations, first, nodes, packet_payload, partner, routes: None })
    }

    /// How long the processor takes for an operation.
    fn cycles_of(&self, operation: u32) -> u64 {
        match self.operations[operation as usize].kind {
            OperationKind::Compute { cycles } => cycles,
            OperationKind::Send { .. } | OperationKind::Receive { .. } => 0,
        }
    }

    /// Gives routes for pairs of nodes; other pairs use dimension order.
    pub fn with_routes(self, routes: Routes, pairs: RouteOfPair) -> Self {
        Self { routes: Some((Arc::new(routes), Arc::new(pairs))), ..self }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.nodes.len()
    }

    /// Nodes of the ranks.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Flits of the longest packet, its header included.
    pub fn longest_packet(&self) -> u32 {
        let longest = self.operations.iter().map(|operation| match operation.kind {
            OperationKind::Send { flits, .. } => flits.min(self.packet_payload.into()) as u32,
            _ => 0,
        });
        longest.max().unwrap_or(0) + 1
    }

    /// Packets of all messages.
    pub fn packets(&self) -> u64 {
        let of = |operation: &Operation| match operation.kind {
            OperationKind::Send { flits, .. } => self.packets_of(flits),
            _ => 0,
        };
        self.operations.iter().map(of).sum()
    }

    /// Packets of a message of so many flits: one if it has none.
    fn packets_of(&self, flits: u64) -> u64 {
        flits.div_ceil(self.packet_payload.into()).max(1)
    }

    /// Pairs of nodes that exchange messages, each once, in ascending order.
    pub fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        let mut pairs: Vec<_> = (0..self.ranks() as u32)
            .flat_map(|rank| self.of(rank).iter().map(move |operation| (rank, operation)))
            .filter_map(|(rank, operation)| match operation.kind {
                OperationKind::Send { to, .. } => Some((self.nodes[rank as usize], self.nodes[to as usize])),
                _ => None,
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// The given routes.
    pub fn routes(&self) -> Option<&Arc<Routes>> {
        self.routes.as_ref().map(|(routes, _)| routes)
    }

    /// The given route of a pair of nodes, by its index in [`routes`](Self::routes).
    pub fn route_of(&self, from: NodeId, to: NodeId) -> Option<usize> {
        self.routes.as_ref().and_then(|(_, pairs)| pairs.get(&(from, to)).copied())
    }

    fn of(&self, rank: u32) -> &[Operation] {
        &self.operations[self.first[rank as usize] as usize..self.first[rank as usize + 1] as usize]
    }
}

fn check_rank(rank: u32, operations: &[Operation], ranks: u32) -> Result<(), GraphError> {
    let count = operations.len() as u32;
    for (index, operation) in operations.iter().enumerate() {
        let index = index as u32;
        let other = match operation.kind {
            OperationKind::Send { to: other, .. } | OperationKind::Receive { from: other, .. } => other,
            OperationKind::Compute { .. } => rank,
        };
        if other >= ranks {
            return Err(GraphError::Rank { rank, operation: index, named: other, ranks });
        }
        if let Some(&named) = operation.requires.iter().find(|&&required| required >= count) {
            return Err(GraphError::Requires { rank, operation: index, named });
        }
    }
    // Kahn's algorithm: what cannot be ordered lies on or behind a cycle.
    let mut left: Vec<usize> = operations.iter().map(|operation| operation.requires.len()).collect();
    let mut dependents = vec![Vec::new(); operations.len()];
    for (index, operation) in operations.iter().enumerate() {
        operation.requires.iter().for_each(|&required| dependents[required as usize].push(index));
    }
    let mut ready: Vec<usize> = (0..operations.len()).filter(|&index| left[index] == 0).collect();
    while let Some(index) = ready.pop() {
        for &dependent in &dependents[index] {
            left[dependent] -= 1;
            if left[dependent] == 0 {
                ready.push(dependent);
            }
        }
    }
    match left.iter().position(|&left| left > 0) {
        Some(operation) => Err(GraphError::Cycle { rank, operation: operation as u32 }),
        None => Ok(()),
    }
}

/// The receive of every send: the k-th send from a rank to another under a tag belongs to the k-th
/// receive.
fn match_messages(ranks: &[Vec<Operation>], first: &[u32]) -> Result<Vec<u32>, GraphError> {
    let total = first.last().copied().unwrap_or(0) as usize;
    let mut partner = vec![u32::MAX; total];
    let mut receives: HashMap<(u32, u32, u32), VecDeque<(u32, u64)>> = HashMap::new();
    let all = || {
        ranks.iter().enumerate().flat_map(|(rank, operations)| {
            operations
                .iter()
                .zip(first[rank]..)
                .map(move |(operation, index)| (rank as u32, index, operation.kind))
        })
    };
    for (rank, index, kind) in all() {
        if let OperationKind::Receive { from, flits, tag } = kind {
            receives.entry((from, rank, tag)).or_default().push_back((index, flits));
        }
    }
    for (rank, index, kind) in all() {
        if let OperationKind::Send { to, flits, tag } = kind {
            let receive = receives.get_mut(&(rank, to, tag)).and_then(VecDeque::pop_front);
            match receive {
                Some((receive, size)) if size == flits => partner[index as usize] = receive,
                Some((_, size)) => {
                    return Err(GraphError::Size { from: rank, to, tag, sent: flits, received: size });
                }
                None => return Err(GraphError::NoReceive { from: rank, to, tag }),
            }
        }
    }
    let mut left: Vec<_> = receives.into_iter().filter(|(_, queue)| !queue.is_empty()).collect();
    left.sort_unstable_by_key(|&(key, _)| key);
    match left.first() {
        Some(&((from, to, tag), _)) => Err(GraphError::NoSend { from, to, tag }),
        None => Ok(partner),
    }
}

/// What can be wrong with a message graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// Nodes do not fit the ranks.
    Nodes {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Two ranks on one node.
    SharedNode(NodeId),
    /// A packet size out of range.
    PacketPayload(u32),
    /// A rank that does not exist.
    Rank {
        /// Rank of the operation.
        rank: u32,
        /// Its index.
        operation: u32,
        /// The rank it names.
        named: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// An operation that does not exist.
    Requires {
        /// Rank of the operation.
        rank: u32,
        /// Its index.
        operation: u32,
        /// The operation it names.
        named: u32,
    },
    /// Requirements in a circle.
    Cycle {
        /// Rank of the operation.
        rank: u32,
        /// Its index.
        operation: u32,
    },
    /// A message of two sizes.
    Size {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag.
        tag: u32,
        /// Flits sent.
        sent: u64,
        /// Flits expected.
        received: u64,
    },
    /// A send without receive.
    NoReceive {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag.
        tag: u32,
    },
    /// A receive without send.
    NoSend {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag.
        tag: u32,
    },
    /// Ranks that wait for each other.
    Stuck {
        /// Operations that are not complete.
        left: usize,
        /// Rank of the first of them.
        rank: u32,
        /// Its index.
        operation: u32,
    },
}

crate::fault::displays_fault!(GraphError);

impl GraphError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let (problem, advice) = match self {
            Self::Nodes { given, needed } => {
                return Fault::at(
                    "traffic.nodes",
                    format!("{given} nodes given for {needed} ranks"),
                    "every rank needs one",
                );
            }
            Self::SharedNode(node) => {
                let problem = format!("node {node} holds two ranks");
                return Fault::at("traffic.nodes", problem, "every rank needs a node of its own");
            }
            Self::PacketPayload(given) => {
                let advice = format!("it must be 1 to {}", super::Packet::MAX_LENGTH);
                return Fault::of("traffic.packet_payload", format!("is {given} flits"), advice);
            }
            Self::Rank { rank, operation, named, ranks } => (
                format!("operation {operation} of rank {rank} names rank {named}"),
                format!("there are {ranks} ranks"),
            ),
            Self::Requires { rank, operation, named } => (
                format!(
                    "operation {operation} of rank {rank} requires operation {named}, which does not exist"
                ),
                String::new(),
            ),
            Self::Cycle { rank, operation } => (
                format!("operation {operation} of rank {rank} requires itself, directly or through others"),
                String::new(),
            ),
            Self::Size { from, to, tag, sent, received } => (
                format!(
                    "rank {from} sends {sent} flits to rank {to} under tag {tag}, which receives {received}"
                ),
                String::new(),
            ),
            Self::NoReceive { from, to, tag } => (
                format!("rank {from} sends a message to rank {to} under tag {tag} that is never received"),
                String::new(),
            ),
            Self::NoSend { from, to, tag } => (
                format!("rank {to} waits for a message from rank {from} under tag {tag} that is never sent"),
                String::new(),
            ),
            Self::Stuck { left, rank, operation } => (
                format!("{left} operations can never start"),
                format!(
                    "the first is operation {operation} of rank {rank}: its rank and others wait for each other's \
                     messages"
                ),
            ),
        };
        Fault::somewhere(problem, advice)
    }
}
