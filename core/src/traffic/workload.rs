use super::{GraphError, MessageGraph, OpenLoad, Packet, PacketError, RouteBook, RouteOfPair, Routes};
use crate::{fabric::NodeId, fault::Fault};
use std::sync::Arc;

/// A fixed list of packets per node, in the order in which the node sends them. A packet waits for
/// its predecessors even if its own start time has come. Clones share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketList {
    first: Arc<[u32]>,
    packets: Arc<[Packet]>,
    routes: Option<Arc<Routes>>,
}

impl PacketList {
    /// Largest packet length in flits.
    pub const MAX_LENGTH: u32 = Packet::MAX_LENGTH;
    /// Largest number of packets in one list.
    pub const MAX_PACKETS: u64 = 1 << 24;
    /// Latest start cycle.
    pub const MAX_START: u64 = Packet::MAX_START;

    /// Collects the packets of all nodes, node 0 first.
    ///
    /// ```
    /// use flitloom_core::traffic::{Packet, PacketList};
    /// let packet = Packet { destination: 1, length: 8, start: 0, slice: 0 };
    /// assert_eq!(PacketList::from_nodes([vec![packet], vec![]])?.len(), 1);
    /// let error = PacketList::from_nodes([[packet]]).unwrap_err();
    /// assert!(error.to_string().starts_with("packet 0 of node 0: destination 1 does not exist"));
    /// # Ok::<(), flitloom_core::traffic::WorkloadError>(())
    /// ```
    ///
    /// # Errors
    /// A packet without flits or with too many, to a node that does not exist or with too late a start,
    /// or too many packets.
    pub fn from_nodes<I>(nodes: impl IntoIterator<Item = I>) -> Result<Self, WorkloadError>
    where
        I: IntoIterator<Item = Packet>,
    {
        let (mut first, mut all) = (vec![0], Vec::new());
        for packets in nodes {
            all.extend(packets);
            if all.len() as u64 > Self::MAX_PACKETS {
                return Err(WorkloadError::TooManyPackets(all.len() as u64));
            }
            first.push(all.len() as u32);
        }
        let list = Self { first: first.into(), packets: all.into(), routes: None };
        for source in 0..list.nodes() as NodeId {
            for (number, packet) in list.of(source).iter().enumerate() {
                list.check(packet).map_err(|what| WorkloadError::Packet {
                    source_node: source,
                    number,
                    what,
                })?;
            }
        }
        Ok(list)
    }

    fn check(&self, packet: &Packet) -> Result<(), PacketError> {
        if !(1..=Self::MAX_LENGTH).contains(&packet.length) {
            return Err(PacketError::Length(packet.length));
        }
        if packet.destination as usize >= self.nodes() {
            let (node, last) = (packet.destination, self.nodes() as NodeId - 1);
            return Err(PacketError::Destination { node, last });
        }
        if packet.start > Self::MAX_START {
            return Err(PacketError::Start(packet.start));
        }
        Ok(())
    }

    /// Gives every packet its own route, in the order of [`iter`](Self::iter).
    ///
    /// # Errors
    /// The number of routes is not that of the packets.
    pub fn with_routes(self, routes: Routes) -> Result<Self, WorkloadError> {
        let (given, needed) = (routes.len(), self.packets.len());
        if given != needed {
            return Err(WorkloadError::Routes { given, needed });
        }
        Ok(Self { routes: Some(Arc::new(routes)), ..self })
    }

    /// The routes of all packets, if they were given.
    pub fn routes(&self) -> Option<&Arc<Routes>> {
        self.routes.as_ref()
    }

    /// Index of a packet in the order of [`iter`](Self::iter).
    pub fn index(&self, node: NodeId, number: u64) -> usize {
        self.first[node as usize] as usize + number as usize
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

/// Everything the nodes send. Clones share what they hold, so that every run can own its workload.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Workload {
    /// A fixed list.
    Packets(PacketList),
    /// A random load, drawn while the simulation runs.
    Load(OpenLoad),
    /// Messages and computations that wait for each other.
    Graph(MessageGraph),
}

impl Workload {
    /// The same over the routes of a book; packets of a node to itself need none. Packets to which the
    /// book has no route are found when the workload is simulated.
    pub fn with_book(self, book: &Arc<dyn RouteBook>) -> Self {
        let hops = |source, destination| book.hops(source, destination).unwrap_or_default();
        let mut routes = Routes::default();
        match self {
            Self::Packets(list) => {
                for (source, packet) in list.iter() {
                    routes.push(hops(source, packet.destination), 0);
                }
                Self::Packets(PacketList { routes: Some(Arc::new(routes)), ..list })
            }
            Self::Load(load) => Self::Load(load.with_book(Arc::clone(book))),
            Self::Graph(graph) => {
                let mut pairs = RouteOfPair::new();
                for (source, destination) in graph.pairs() {
                    pairs.insert((source, destination), routes.len());
                    routes.push(hops(source, destination), 0);
                }
                Self::Graph(graph.with_routes(routes, pairs))
            }
        }
    }
}

/// What can be wrong with a workload.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadError {
    /// More slices than payload flits, or none.
    Slices {
        /// Slices asked for.
        slices: u32,
        /// Payload in flits.
        payload: u32,
    },
    /// No packet at all.
    NoPackets,
    /// A length out of range.
    Payload(u32),
    /// Delays do not fit the nodes.
    Delays {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// Too many packets.
    TooManyPackets(u64),
    /// A start time out of range.
    Start(u64),
    /// Routes do not fit the packets.
    Routes {
        /// How many were given.
        given: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A packet that cannot be.
    Packet {
        /// Its source.
        source_node: NodeId,
        /// Its number in its source's order.
        number: usize,
        /// What is wrong with it.
        what: PacketError,
    },
    /// A rate out of range.
    Rate(f64),
    /// A rate that the gap process cannot reach.
    GapRate {
        /// The rate.
        rate: f64,
        /// The largest that it reaches.
        most: f64,
    },
    /// A number of outstanding packets out of range.
    Outstanding(u32),
    /// An impulse from closed sources.
    ClosedImpulse,
    /// Points of a rate over time out of order.
    Profile {
        /// The cycle of a point.
        cycle: u64,
        /// That of the point before it.
        before: u64,
    },
    /// A message graph that cannot be run.
    Graph(GraphError),
}

crate::fault::displays_fault!(WorkloadError);

impl WorkloadError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Slices { slices, payload } => Fault::of(
                "traffic.slices",
                format!("is {slices}"),
                format!("it must be 1 to the payload ({payload})"),
            ),
            Self::NoPackets => {
                Fault::of("traffic.packets", "is 0", "every node must send at least one packet")
            }
            Self::Payload(length) => Fault::somewhere(
                format!("a packet of {length} flits"),
                format!("lengths are 1 to {}", PacketList::MAX_LENGTH),
            ),
            Self::Delays { given, needed } => Fault::of(
                "traffic.delays",
                format!("has {given} entries"),
                format!("one per node ({needed}) is needed"),
            ),
            Self::Outstanding(given) => Fault::of(
                "traffic.outstanding",
                format!("is {given}"),
                format!("it must be 1 to {}", OpenLoad::MOST_OUTSTANDING),
            ),
            Self::ClosedImpulse => Fault::of(
                "traffic.impulse",
                "waits for nothing",
                "closed sources (traffic.outstanding) do: give one of them",
            ),
            Self::TooManyPackets(packets) => Fault::somewhere(
                format!("{packets} packets in all"),
                format!("at most {} are supported", PacketList::MAX_PACKETS),
            ),
            Self::Start(cycle) => Fault::somewhere(
                format!("a start time of {cycle} cycles"),
                format!("at most {} are supported", PacketList::MAX_START),
            ),
            Self::Routes { given, needed } => Fault::somewhere(
                format!("{given} routes given"),
                format!("one per packet ({needed}) is needed"),
            ),
            Self::Packet { source_node, number, what } => {
                let Fault { field, problem, advice, .. } = what.fault();
                let problem = format!("packet {number} of node {source_node}: {field} {problem}");
                Fault::somewhere(problem, advice)
            }
            Self::Rate(rate) => Fault::of(
                "traffic.load",
                format!("is {rate} flits/node/cycle"),
                "it must be above 0 and at most 1",
            ),
            Self::GapRate { rate, most } => Fault::somewhere(
                format!("a gap process of {rate} flits/node/cycle"),
                format!("with packets of this length it reaches {most:.4} at most"),
            ),
            Self::Profile { cycle, before } => Fault::at(
                "traffic.profile",
                format!("cycle {cycle} comes after cycle {before}"),
                "cycles must not fall",
            ),
            Self::Graph(error) => error.fault(),
        }
    }
}

impl From<GraphError> for WorkloadError {
    fn from(error: GraphError) -> Self {
        Self::Graph(error)
    }
}
