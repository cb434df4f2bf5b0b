//! Packets with their starts and routes: made from a schedule, verified, made ready for late nodes.

mod again;
mod separation;
mod spread;
mod verify;

pub use separation::{Separation, dependencies, separate};
pub use spread::{Spread, spread};
pub use verify::{PlanError, check_route, other_route, verify};

use super::problem::{Demand, Placement, Problem, RouteChoice, Slicing, routes};
use crate::{
    fabric::{Fabric, LinkId, NodeId},
    traffic::{Packet, PacketList, Routes, WorkloadError},
};

/// One packet of a finished schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPacket {
    /// Sending node.
    pub source: NodeId,
    /// Receiving node.
    pub destination: NodeId,
    /// Flits, the header included.
    pub length: u32,
    /// Cycle in which its first flit is injected.
    pub start: u64,
    /// Which slice of its message it is.
    pub slice: u32,
    /// The links it takes, in order.
    pub path: Vec<LinkId>,
}

/// The packets of a schedule, slice by slice, in the order of the demands.
pub fn planned_packets(
    demands: &[Demand],
    slicing: Slicing,
    problem: &Problem,
    placements: &[Placement],
) -> Vec<PlannedPacket> {
    let mut packets = Vec::new();
    for (job, placement) in problem.jobs().iter().zip(placements) {
        let (index, first) = job.origin;
        let demand = demands[index];
        let (slices, interval) = match slicing {
            Slicing::OneInterval => (0..demand.slices, demand.length),
            Slicing::Interval(interval) => (0..demand.slices, interval),
            Slicing::Free => (first..first + 1, 0),
        };
        let path = &job.routes[placement.route as usize].path;
        packets.extend(slices.map(|slice| PlannedPacket {
            source: demand.source,
            destination: demand.destination,
            length: demand.length,
            start: u64::from(placement.start) + u64::from(slice) * u64::from(interval),
            slice,
            path: path.to_vec(),
        }));
    }
    packets
}

/// The packets as traffic for the engine, each with its own route. It enters the network in the
/// virtual channel given for it (0 for those beyond the end of `channels`).
///
/// # Errors
/// A packet has no flits or starts too late.
pub fn packet_list(
    fabric: &Fabric,
    packets: &[PlannedPacket],
    channels: &[u8],
) -> Result<PacketList, WorkloadError> {
    let mut order: Vec<(usize, &PlannedPacket)> = packets.iter().enumerate().collect();
    order.sort_by_key(|(_, packet)| (packet.source, packet.start));
    let mut lists = vec![Vec::new(); fabric.shape().nodes()];
    let mut routes = Routes::default();
    for (index, packet) in order {
        let (destination, length) = (packet.destination, packet.length);
        lists[packet.source as usize].push(Packet {
            destination,
            length,
            start: packet.start,
            slice: packet.slice,
        });
        let channel = channels.get(index).copied().unwrap_or(0);
        routes.push(packet.path.iter().map(|&link| fabric.link_ends(link).1), channel);
    }
    PacketList::from_nodes(lists)?.with_routes(routes)
}
