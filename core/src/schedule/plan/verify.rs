use super::{PlannedPacket, RouteChoice, routes::Path};
use crate::{
    fabric::{Fabric, LinkId, NodeId},
    fault::Fault,
};
use std::collections::BTreeMap;

/// What is wrong with a plan; packets are named by their index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// A node that does not exist or has failed.
    Node(usize, NodeId),
    /// No flits.
    Length(usize),
    /// A link that does not exist or does not continue the route.
    Route {
        /// The packet.
        packet: usize,
        /// The hop, from 0.
        hop: usize,
        /// Where the route is by then.
        node: NodeId,
    },
    /// A route that ends elsewhere.
    End {
        /// The packet.
        packet: usize,
        /// Where the route ends.
        end: NodeId,
        /// Where it should end.
        destination: NodeId,
    },
    /// Two packets at once.
    Conflict {
        /// One packet.
        first: usize,
        /// The other.
        second: usize,
        /// What they hold.
        place: String,
        /// First cycle they share.
        cycle: u64,
    },
}

crate::fault::displays_fault!(PlanError);

impl PlanError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let (index, rest, problem) = match self {
            Self::Node(index, node) => (index, "", format!("node {node} does not exist or has failed")),
            Self::Length(index) => {
                let advice = "a packet has at least its header";
                let field = format!("packets[{index}].length");
                return Fault { goes_on: true, ..Fault::at(field, "is 0", advice) };
            }
            Self::Route { packet, hop, node } => {
                (packet, ".route", format!("hop {hop} does not lead on from node {node} over a working link"))
            }
            Self::End { packet, end, destination } => {
                let problem = format!("ends at node {end}, not at its destination {destination}");
                return Fault { goes_on: true, ..Fault::at(format!("packets[{packet}].route"), problem, "") };
            }
            Self::Conflict { first, second, place, cycle } => {
                let problem = format!("packets {first} and {second} both hold {place} in cycle {cycle}");
                return Fault::somewhere(problem, "");
            }
        };
        Fault::at(format!("packets[{index}]{rest}"), problem, "")
    }
}

/// Follows the route of packet `index` link by link.
///
/// # Errors
/// A node that does not exist or has failed, no flits, or a route that does not lead from the source
/// over working links to the destination.
pub fn check_route(fabric: &Fabric, index: usize, packet: &PlannedPacket) -> Result<(), PlanError> {
    let shape = fabric.shape();
    for node in [packet.source, packet.destination] {
        if node as usize >= shape.nodes() || !fabric.node_works(node) {
            return Err(PlanError::Node(index, node));
        }
    }
    if packet.length == 0 {
        return Err(PlanError::Length(index));
    }
    let mut node = packet.source;
    for (hop, &link) in packet.path.iter().enumerate() {
        let fault = PlanError::Route { packet: index, hop, node };
        if link as usize >= shape.nodes() * shape.directions() {
            return Err(fault);
        }
        let (from, direction) = fabric.link_ends(link);
        node = match fabric.working_neighbour(from, direction) {
            Some(next) if from == node => next,
            _ => return Err(fault),
        };
    }
    if node != packet.destination {
        let destination = packet.destination;
        return Err(PlanError::End { packet: index, end: node, destination });
    }
    Ok(())
}

/// The first packet whose route is none of a choice of routes; `None` stands for all minimal routes.
///
/// Nodes and links must exist, as [`check_route`] finds.
///
/// ```
/// use flitloom_core::fabric::{Direction, Fabric, Shape, Sign};
/// use flitloom_core::schedule::{PlannedPacket, RouteChoice, other_route};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let (x, y) = (Direction::new(0, Sign::Plus), Direction::new(1, Sign::Plus));
/// let path = vec![fabric.link(0, y), fabric.link(4, x)];
/// let packet = PlannedPacket { source: 0, destination: 5, length: 8, start: 0, slice: 0, path };
/// assert_eq!(other_route(&fabric, &[packet.clone()], Some(RouteChoice::DimensionOrder)), Some(0));
/// assert_eq!(other_route(&fabric, &[packet], Some(RouteChoice::AnyOrder)), None);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn other_route(fabric: &Fabric, packets: &[PlannedPacket], choice: Option<RouteChoice>) -> Option<usize> {
    let mut known: BTreeMap<(NodeId, NodeId), Vec<Path>> = BTreeMap::new();
    packets.iter().position(|packet| {
        let (source, destination) = (packet.source, packet.destination);
        match choice {
            None => packet.path.len() != fabric.shape().distance(source, destination) as usize,
            Some(choice) => {
                let paths = known
                    .entry((source, destination))
                    .or_insert_with(|| choice.paths(fabric, source, destination));
                !paths.iter().any(|path| **path == *packet.path)
            }
        }
    })
}

/// Checks a plan against the fabric alone and returns its duration in cycles.
///
/// It follows every route link by link, notes who holds what from when on, and looks for two holders
/// of one port or link in the same cycle. It shares no code with the search.
///
/// # Errors
/// The first fault found.
pub fn verify(fabric: &Fabric, packets: &[PlannedPacket]) -> Result<u64, PlanError> {
    let mut links: BTreeMap<LinkId, Vec<(u64, usize)>> = BTreeMap::new();
    let mut injection: BTreeMap<NodeId, Vec<(u64, usize)>> = BTreeMap::new();
    let mut ejection: BTreeMap<NodeId, Vec<(u64, usize)>> = BTreeMap::new();
    let mut duration = 0;
    for (index, packet) in packets.iter().enumerate() {
        check_route(fabric, index, packet)?;
        injection.entry(packet.source).or_default().push((packet.start, index));
        for (&link, time) in packet.path.iter().zip(packet.start..) {
            links.entry(link).or_default().push((time, index));
        }
        let (node, time) = (packet.destination, packet.start + packet.path.len() as u64);
        ejection.entry(node).or_default().push((time, index));
        duration = duration.max(time + u64::from(packet.length) + 1);
    }
    let name = |link: &LinkId| {
        let (node, direction) = fabric.link_ends(*link);
        format!("link {}{direction}", fabric.shape().describe(node))
    };
    check(packets, &mut links, name)?;
    check(packets, &mut injection, |node| format!("injection at {}", fabric.shape().describe(*node)))?;
    check(packets, &mut ejection, |node| format!("ejection at {}", fabric.shape().describe(*node)))?;
    Ok(duration)
}

fn check<K: Ord + Copy>(
    packets: &[PlannedPacket],
    held: &mut BTreeMap<K, Vec<(u64, usize)>>,
    name: impl Fn(&K) -> String,
) -> Result<(), PlanError> {
    for (place, users) in held {
        users.sort_unstable();
        for pair in users.windows(2) {
            let ((begin, first), (cycle, second)) = (pair[0], pair[1]);
            if cycle < begin + u64::from(packets[first].length) {
                return Err(PlanError::Conflict { first, second, place: name(place), cycle });
            }
        }
    }
    Ok(())
}
