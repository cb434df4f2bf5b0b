//! What every kind of workload says of its packets, so that nobody else has to know the kinds.

use super::{
    Destinations, GraphProgress, MessageGraph, OpenLoad, Packet, PacketList, RouteBook, Routes, Workload,
};
use crate::fabric::NodeId;
use std::sync::Arc;

/// How a packet finds its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guide {
    /// By the network's routing function.
    Function,
    /// By a given route: its index in the workload's [`routes`](PacketSource::routes).
    Route(usize),
    /// By a route of the workload's [`book`](PacketSource::book).
    Book,
}

/// Packets that a workload may send from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Where they start.
    pub from: NodeId,
    /// Where they go.
    pub to: NodeId,
    /// Number of the packet in its source's order, if each has a route of its own; else 0.
    pub number: u64,
    /// How they find their way.
    pub guide: Guide,
}

/// A kind of workload. Packets of a node are numbered from 0 in the order in which it sends them.
///
/// ```
/// use flitloom_core::{fabric::Shape, traffic::{Collective, PacketSource, Pattern, Workload}};
/// let shape = Shape::torus(&[4, 4])?;
/// let collective = Collective { payload: 14, slices: 2, interval: 9, ..Collective::default() };
/// let packets = collective.packet_list(16, &Pattern::Transpose.destinations(&shape, 0)?)?;
/// let workload = Workload::Packets(packets);
/// assert_eq!((workload.longest(), workload.uniform_length()), (8, Some(8)));
/// assert_eq!(workload.next_start(1, 1, 0), Some(9));
/// assert_eq!(workload.packet_at(1, 1, 9).map(|packet| packet.destination), Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PacketSource {
    /// Whether it fits a network of so many nodes.
    ///
    /// # Errors
    /// The number of nodes it is for.
    fn check_nodes(&self, nodes: usize) -> Result<(), usize>;
    /// Flits of the longest packet, at least 1.
    fn longest(&self) -> u32;
    /// Flits of every packet, if all have the same and no packet waits for another; 1 without packets.
    fn uniform_length(&self) -> Option<u32>;
    /// Number of packets of all nodes, if it is known in advance.
    fn count(&self) -> Option<u64>;
    /// Start of a packet of a node, at `from` at the earliest (the cycle after its predecessor's);
    /// `None` when there is none, or when its start depends on deliveries.
    fn next_start(&self, node: NodeId, number: u64, from: u64) -> Option<u64>;
    /// A packet of a node, which starts in cycle `start`; `None` when it depends on deliveries.
    fn packet_at(&self, node: NodeId, number: u64, start: u64) -> Option<Packet>;
    /// Where the packets of a network of so many nodes go.
    fn ways(&self, nodes: usize) -> Box<dyn Iterator<Item = Way> + '_>;
    /// Given routes.
    fn routes(&self) -> Option<&Arc<Routes>>;
    /// Index in [`routes`](Self::routes) of the route of a packet.
    fn route_index(&self, node: NodeId, number: u64, destination: NodeId) -> Option<usize>;
    /// Routes that are looked up when a packet is taken.
    fn book(&self) -> Option<&Arc<dyn RouteBook>> {
        None
    }
    /// Whether packets may wait for deliveries.
    fn listens(&self) -> bool {
        false
    }
    /// Packets of a node that may be outstanding (generated, and the tail not ejected) at most, if the
    /// sources are closed.
    fn outstanding(&self) -> Option<u32> {
        None
    }
    /// As [`next_start`](Self::next_start), where no packet may be generated before cycle `least`.
    fn start_with_room(&self, node: NodeId, number: u64, from: u64, least: u64) -> Option<u64> {
        self.next_start(node, number, from.max(least))
    }
    /// What has to be told of deliveries, if packets wait for them.
    fn progress(&self, _nodes: usize) -> Option<GraphProgress> {
        None
    }
}

impl PacketSource for PacketList {
    fn check_nodes(&self, nodes: usize) -> Result<(), usize> {
        if self.nodes() == nodes { Ok(()) } else { Err(self.nodes()) }
    }

    fn longest(&self) -> u32 {
        self.iter().map(|(_, packet)| packet.length).max().unwrap_or(1)
    }

    fn uniform_length(&self) -> Option<u32> {
        let mut lengths = self.iter().map(|(_, packet)| packet.length);
        let first = lengths.next().unwrap_or(1);
        lengths.all(|length| length == first).then_some(first)
    }

    fn count(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    #[inline(always)]
    fn next_start(&self, node: NodeId, number: u64, _from: u64) -> Option<u64> {
        self.of(node).get(number as usize).map(|packet| packet.start)
    }

    #[inline(always)]
    fn packet_at(&self, node: NodeId, number: u64, _start: u64) -> Option<Packet> {
        self.of(node).get(number as usize).copied()
    }

    fn ways(&self, _nodes: usize) -> Box<dyn Iterator<Item = Way> + '_> {
        if self.routes().is_some() {
            let of = move |from| {
                self.of(from).iter().zip(0..).map(move |(packet, number)| Way {
                    from,
                    to: packet.destination,
                    number,
                    guide: Guide::Route(self.index(from, number)),
                })
            };
            return Box::new((0..self.nodes() as NodeId).flat_map(of));
        }
        let mut pairs: Vec<_> = self.iter().map(|(from, packet)| (from, packet.destination)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Box::new(pairs.into_iter().map(|(from, to)| Way { from, to, number: 0, guide: Guide::Function }))
    }

    fn routes(&self) -> Option<&Arc<Routes>> {
        self.routes()
    }

    fn route_index(&self, node: NodeId, number: u64, _destination: NodeId) -> Option<usize> {
        self.routes().map(|_| self.index(node, number))
    }
}

impl PacketSource for OpenLoad {
    fn check_nodes(&self, nodes: usize) -> Result<(), usize> {
        self.destinations().map(Destinations::nodes).find(|&given| given != nodes).map_or(Ok(()), Err)
    }

    fn longest(&self) -> u32 {
        self.length()
    }

    fn uniform_length(&self) -> Option<u32> {
        Some(self.length())
    }

    fn count(&self) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn next_start(&self, node: NodeId, number: u64, from: u64) -> Option<u64> {
        self.start(node, number, from)
    }

    #[inline(always)]
    fn packet_at(&self, node: NodeId, number: u64, start: u64) -> Option<Packet> {
        Some(self.packet_at(node, number, start))
    }

    fn ways(&self, nodes: usize) -> Box<dyn Iterator<Item = Way> + '_> {
        let guide = if self.book().is_some() { Guide::Book } else { Guide::Function };
        let pairs = self.destinations().flat_map(move |destinations| destinations.pairs(nodes));
        let pairs = pairs.filter(|&(from, _)| self.sends(from));
        Box::new(pairs.map(move |(from, to)| Way { from, to, number: 0, guide }))
    }

    fn routes(&self) -> Option<&Arc<Routes>> {
        None
    }

    fn route_index(&self, _node: NodeId, _number: u64, _destination: NodeId) -> Option<usize> {
        None
    }

    fn book(&self) -> Option<&Arc<dyn RouteBook>> {
        self.book()
    }

    fn listens(&self) -> bool {
        self.outstanding().is_some()
    }

    fn outstanding(&self) -> Option<u32> {
        self.outstanding()
    }

    fn start_with_room(&self, node: NodeId, number: u64, from: u64, least: u64) -> Option<u64> {
        self.start_with_room(node, number, from, least)
    }
}

impl PacketSource for MessageGraph {
    fn check_nodes(&self, nodes: usize) -> Result<(), usize> {
        match self.nodes().iter().find(|&&node| node as usize >= nodes) {
            Some(&node) => Err(node as usize + 1),
            None => Ok(()),
        }
    }

    fn longest(&self) -> u32 {
        self.longest_packet()
    }

    fn uniform_length(&self) -> Option<u32> {
        None
    }

    fn count(&self) -> Option<u64> {
        Some(self.packets())
    }

    fn next_start(&self, _node: NodeId, _number: u64, _from: u64) -> Option<u64> {
        None
    }

    fn packet_at(&self, _node: NodeId, _number: u64, _start: u64) -> Option<Packet> {
        None
    }

    fn ways(&self, _nodes: usize) -> Box<dyn Iterator<Item = Way> + '_> {
        Box::new(self.pairs().into_iter().map(|(from, to)| {
            let guide = self.route_of(from, to).map_or(Guide::Function, Guide::Route);
            Way { from, to, number: 0, guide }
        }))
    }

    fn routes(&self) -> Option<&Arc<Routes>> {
        self.routes()
    }

    fn route_index(&self, node: NodeId, _number: u64, destination: NodeId) -> Option<usize> {
        self.route_of(node, destination)
    }

    fn listens(&self) -> bool {
        true
    }

    fn progress(&self, nodes: usize) -> Option<GraphProgress> {
        Some(GraphProgress::new(self, nodes))
    }
}

/// The same of whichever kind a workload is: the one place that tells them apart.
macro_rules! of_any_kind {
    ($($(#[$attribute:meta])* fn $name:ident(&self $(, $argument:ident: $kind:ty)*) -> $result:ty;)*) => {
        impl PacketSource for Workload {
            $($(#[$attribute])* fn $name(&self $(, $argument: $kind)*) -> $result {
                match self {
                    Self::Packets(list) => PacketSource::$name(list $(, $argument)*),
                    Self::Load(load) => PacketSource::$name(load $(, $argument)*),
                    Self::Graph(graph) => PacketSource::$name(graph $(, $argument)*),
                }
            })*
        }
    };
}
of_any_kind! {
    fn check_nodes(&self, nodes: usize) -> Result<(), usize>;
    fn longest(&self) -> u32;
    fn uniform_length(&self) -> Option<u32>;
    fn count(&self) -> Option<u64>;
    #[inline(always)]
    fn next_start(&self, node: NodeId, number: u64, from: u64) -> Option<u64>;
    #[inline(always)]
    fn packet_at(&self, node: NodeId, number: u64, start: u64) -> Option<Packet>;
    fn ways(&self, nodes: usize) -> Box<dyn Iterator<Item = Way> + '_>;
    fn routes(&self) -> Option<&Arc<Routes>>;
    fn route_index(&self, node: NodeId, number: u64, destination: NodeId) -> Option<usize>;
    fn book(&self) -> Option<&Arc<dyn RouteBook>>;
    fn listens(&self) -> bool;
    fn outstanding(&self) -> Option<u32>;
    fn start_with_room(&self, node: NodeId, number: u64, from: u64, least: u64) -> Option<u64>;
    fn progress(&self, nodes: usize) -> Option<GraphProgress>;
}
