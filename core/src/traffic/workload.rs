use super::OpenLoad;
use crate::fabric::NodeId;
use thiserror::Error;

/// One packet a node has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it goes.
    pub destination: NodeId,
    /// Flits, the header included.
    pub length: u32,
    /// First cycle in which its flits are available to the router.
    pub start: u64,
    /// Which slice of its message it is, for the link-time record.
    pub slice: u32,
}

/// A fixed list of packets per node, in the order in which the node sends them. A packet waits for
/// its predecessors even if its own start time has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketList {
    first: Vec<u32>,
    packets: Vec<Packet>,
}

impl PacketList {
    /// Largest packet length in flits.
    pub const MAX_LENGTH: u32 = 1 << 20;
    /// Largest number of packets in one list.
    pub const MAX_PACKETS: u64 = 1 << 28;
    /// Latest start cycle.
    pub const MAX_START: u64 = 1 << 40;

    /// Collects the packets of all nodes, node 0 first.
    pub fn from_nodes<I>(nodes: impl Iterator<Item = I>) -> Self
    where
        I: IntoIterator<Item = Packet>,
    {
        let mut list = Self { first: vec![0], packets: Vec::new() };
        for packets in nodes {
            list.packets.extend(packets);
            list.first.push(list.packets.len() as u32);
        }
        list
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.first.len().saturating_sub(1)
    }

    /// The packets of one node.
    pub fn of(&self, node: NodeId) -> &[Packet] {
        let node = node as usize;
        &self.packets[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// All packets with their sources.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Packet)> {
        (0..self.nodes() as NodeId).flat_map(|node| self.of(node).iter().map(move |packet| (node, packet)))
    }
}

/// Everything the nodes send.
#[derive(Clone, Debug)]
pub enum Workload {
    /// A fixed list.
    Packets(PacketList),
    /// A random load, drawn while the simulation runs.
    Load(OpenLoad),
}

/// Hands out the packets of a workload, node by node in their order, without storing those of a
/// load: an unbounded source queue in constant space.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    workload: &'a Workload,
    taken: Vec<u64>,
    next_start: Vec<u64>,
}

impl<'a> Sources<'a> {
    /// The sources at cycle 0.
    pub fn new(workload: &'a Workload, nodes: usize) -> Self {
        let mut sources = Self { workload, taken: vec![0; nodes], next_start: vec![0; nodes] };
        for node in 0..nodes as NodeId {
            sources.next_start[node as usize] = sources.start_after(node, 0, 0);
        }
        sources
    }

    /// The cycle from which the next packet of a node is available; `u64::MAX` if there is none.
    pub fn next_start(&self, node: NodeId) -> u64 {
        self.next_start[node as usize]
    }

    /// Packets a node has sent so far.
    pub fn taken(&self, node: NodeId) -> u64 {
        self.taken[node as usize]
    }

    /// Takes the next packet of a node, with its number (from 0) in the node's order.
    pub fn take(&mut self, node: NodeId) -> Option<(u64, Packet)> {
        let index = node as usize;
        let (number, start) = (self.taken[index], self.next_start[index]);
        if start == u64::MAX {
            return None;
        }
        let packet = match self.workload {
            Workload::Packets(list) => list.of(node)[number as usize],
            Workload::Load(load) => Packet {
                destination: load.destinations().of(node, number),
                length: load.length(),
                start,
                slice: 0,
            },
        };
        self.taken[index] = number + 1;
        self.next_start[index] = self.start_after(node, number + 1, start + 1);
        Some((number, packet))
    }

    fn start_after(&self, node: NodeId, number: u64, from: u64) -> u64 {
        let start = match self.workload {
            Workload::Packets(list) => list.of(node).get(number as usize).map(|packet| packet.start),
            Workload::Load(load) => load.start(node, number, from),
        };
        start.unwrap_or(u64::MAX)
    }
}

/// What can be wrong with a workload.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum WorkloadError {
    /// More slices than payload flits, or none.
    #[error("traffic.slices is {slices}; it must be 1 to the payload ({payload})")]
    Slices {
        /// Slices asked for.
        slices: u32,
        /// Payload in flits.
        payload: u32,
    },
    /// No packet at all.
    #[error("traffic.packets is 0; every node must send at least one packet")]
    NoPackets,
    /// A length out of range.
    #[error("a packet of {0} flits; lengths are 1 to {max}", max = PacketList::MAX_LENGTH)]
    Payload(u32),
    /// Delays do not fit the nodes.
    #[error("traffic.delays has {given} entries; one per node ({needed}) is needed")]
    Delays {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Too many packets.
    #[error("{0} packets in all; at most {max} are supported", max = PacketList::MAX_PACKETS)]
    TooManyPackets(u64),
    /// A start time out of range.
    #[error("a start time of {0} cycles; at most {max} are supported", max = PacketList::MAX_START)]
    Start(u64),
    /// A rate out of range.
    #[error("traffic.load is {0} flits/node/cycle; it must be above 0 and at most 1")]
    Rate(f64),
}
