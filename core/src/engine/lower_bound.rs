use super::Network;
use crate::{
    fabric::{LinkId, NodeId},
    router::ProcessorQueues,
    routing::{RoutingFunction, dimension_order},
    traffic::{Packet, PacketList},
};
use std::collections::HashMap;

/// Visits of links beyond which only the ways of single packets and the ports are looked at.
const MAX_VISITS: u64 = 1 << 26;

/// What a lower bound rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The way of a single packet.
    Path {
        /// Where it starts.
        source: NodeId,
        /// Where it ends.
        destination: NodeId,
    },
    /// Everything that must cross one network link.
    Link(LinkId),
    /// Everything one node sends.
    Injection(NodeId),
    /// Everything one node receives.
    Ejection(NodeId),
}

/// A duration no arbitration can beat on the given routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerBound {
    /// The bound in cycles, comparable to [`Outcome::duration`](super::Outcome::duration).
    pub duration: u64,
    /// The resource it was found at; `None` without packets.
    pub bottleneck: Option<Bottleneck>,
}

/// Bounds the duration of a fixed packet list on its given routes, or those of dimension order, from
/// below.
///
/// For a resource that carries one flit per cycle (a link, an injection or an ejection port) and any
/// set of packets that must use it: the first of their flits comes at the earliest after the
/// shortest way before it, all their flits take a cycle each, and from the last one it is still the
/// shortest way behind. With another routing function ways are at least the distances, and links are left
/// out. The bound is the largest such sum over all resources and over the sets
/// "everything that arrives at or after a given time". Where packets cross more than 2^26 links in
/// all, links are left out.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, lower_bound},
///     fabric::{Fabric, Shape},
///     router::RouterConfig,
///     traffic::{Collective, Pattern},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let packets = Collective::default()
///     .packet_list(shape.nodes(), &Pattern::Tornado.destinations(&shape, 0)?)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// assert_eq!(lower_bound(&network, &packets).duration, 67); // reached: cup-stacking-2022, Table 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lower_bound(network: &Network, packets: &PacketList) -> LowerBound {
    let fabric = network.fabric();
    let latency = u64::from(network.router().latency);
    let mut best = LowerBound { duration: 0, bottleneck: None };
    let mut consider = |duration: u64, bottleneck| {
        if duration > best.duration {
            best = LowerBound { duration, bottleneck: Some(bottleneck) };
        }
    };
    let hops = |(index, (source, packet)): (usize, (NodeId, &Packet))| match packets.routes() {
        None => u64::from(fabric.shape().distance(source, packet.destination)),
        Some(routes) => routes.directions(index).count() as u64,
    };
    let with_links = packets.iter().enumerate().map(hops).sum::<u64>() <= MAX_VISITS;
    // Any other function has no ways that are known in advance; none is shorter than the distance.
    let ways_known = network.router().routing == RoutingFunction::DimensionOrder;
    let mut links: HashMap<LinkId, Vec<Visit>> = HashMap::new();
    let mut injections: Vec<Vec<Visit>> = vec![Vec::new(); packets.nodes()];
    let mut ejections: Vec<Vec<Visit>> = vec![Vec::new(); packets.nodes()];
    for (index, (source, packet)) in packets.iter().enumerate() {
        let destination = packet.destination;
        let way = hops((index, (source, packet))) * latency;
        let flits = u64::from(packet.length);
        consider(packet.start + way + flits + 1, Bottleneck::Path { source, destination });
        let mut pass = |before: usize, link| {
            let before = before as u64 * latency;
            let visit = Visit { arrival: packet.start + before, flits, way_behind: way - before };
            links.entry(link).or_default().push(visit);
        };
        match packets.routes() {
            _ if !with_links => {}
            None if !ways_known => {}
            None => dimension_order::path(fabric, source, destination)
                .enumerate()
                .for_each(|(before, link)| pass(before, link)),
            Some(routes) => {
                let mut node = source;
                for (before, direction) in routes.directions(index).enumerate() {
                    let Some(next) = fabric.shape().neighbour(node, direction) else { break };
                    pass(before, fabric.link(node, direction));
                    node = next;
                }
            }
        }
        let start = packet.start;
        injections[source as usize].push(Visit { arrival: start, flits, way_behind: way });
        ejections[destination as usize].push(Visit { arrival: start + way, flits, way_behind: 0 });
    }
    // Several queues of a processor send side by side.
    let one_queue = network.router().processor_queues == ProcessorQueues::One;
    for (node, visits) in injections.iter_mut().enumerate().filter(|_| one_queue) {
        consider(duration_through(visits), Bottleneck::Injection(node as NodeId));
    }
    for (node, visits) in ejections.iter_mut().enumerate() {
        consider(duration_through(visits), Bottleneck::Ejection(node as NodeId));
    }
    // In the order of the links, so that the named bottleneck is always the same one.
    let mut links: Vec<_> = links.into_iter().collect();
    links.sort_unstable_by_key(|&(link, _)| link);
    for (link, visits) in &mut links {
        consider(duration_through(visits), Bottleneck::Link(*link));
    }
    best
}

/// A packet at a resource.
#[derive(Clone, Copy)]
struct Visit {
    /// Earliest cycle its first flit can be there.
    arrival: u64,
    flits: u64,
    /// Cycles from there to ejection at the least.
    way_behind: u64,
}

fn duration_through(visits: &mut [Visit]) -> u64 {
    // Of those that come together the ones with the longest ways first: without the others they may take longer.
    visits.sort_unstable_by_key(|visit| std::cmp::Reverse((visit.arrival, visit.way_behind)));
    let (mut flits, mut way_behind, mut bound) = (0, u64::MAX, 0);
    for visit in visits {
        flits += visit.flits;
        way_behind = way_behind.min(visit.way_behind);
        bound = bound.max(visit.arrival + flits + way_behind + 1);
    }
    bound
}
