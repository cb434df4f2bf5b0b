//! Whether every packet has a whole way to its destination.

use crate::{
    engine::{Network, SimulationError},
    fabric::{Direction, Fabric, NodeId},
    routing::dimension_order,
    traffic::{Destinations, MessageGraph, PacketList, Workload},
};

/// Pairs listed in an error.
const LISTED: usize = 1000;

/// Checks given routes, and on a fabric with failures also those of dimension order.
pub(super) fn check(network: &Network, workload: &Workload) -> Result<(), SimulationError> {
    let fabric = network.fabric();
    let nodes = 0..fabric.shape().nodes() as NodeId;
    match workload {
        Workload::Packets(list) if list.routes().is_some() => check_routes(fabric, list),
        Workload::Graph(graph) => check_graph(fabric, graph),
        _ if fabric.is_healthy() => Ok(()),
        Workload::Packets(list) => {
            let mut pairs: Vec<_> = list.iter().map(|(from, packet)| (from, packet.destination)).collect();
            pairs.sort_unstable();
            pairs.dedup();
            check_pairs(fabric, pairs.into_iter())
        }
        Workload::Load(load) => match load.destinations() {
            Destinations::Fixed(to) => check_pairs(fabric, nodes.map(|node| (node, to[node as usize]))),
            Destinations::Random { .. } => {
                check_pairs(fabric, nodes.clone().flat_map(|from| nodes.clone().map(move |to| (from, to))))
            }
        },
    }
}

fn check_pairs(
    fabric: &Fabric,
    pairs: impl Iterator<Item = (NodeId, NodeId)>,
) -> Result<(), SimulationError> {
    let works = |from, to| {
        let mut path = dimension_order::path(fabric, from, to);
        let whole = path.all(|link| {
            let (node, direction) = fabric.link_ends(link);
            fabric.link_works(node, direction)
        });
        whole && fabric.node_works(from) && fabric.node_works(to)
    };
    let pairs: Vec<_> = pairs.filter(|&(from, to)| !works(from, to)).take(LISTED).collect();
    match pairs.first() {
        None => Ok(()),
        Some(&(source_node, destination)) => {
            Err(SimulationError::Unreachable { source_node, destination, count: pairs.len(), pairs })
        }
    }
}

fn check_routes(fabric: &Fabric, list: &PacketList) -> Result<(), SimulationError> {
    let Some(routes) = list.routes() else { return Ok(()) };
    for node in 0..list.nodes() as NodeId {
        for (packet, number) in list.of(node).iter().zip(0..) {
            if !leads(fabric, node, packet.destination, routes.directions(list.index(node, number))) {
                let destination = packet.destination;
                return Err(SimulationError::Route { source_node: node, number, destination });
            }
        }
    }
    Ok(())
}

fn check_graph(fabric: &Fabric, graph: &MessageGraph) -> Result<(), SimulationError> {
    let mut unrouted = Vec::new();
    for (from, to) in graph.pairs() {
        match graph.routes().zip(graph.route_index(from, to)) {
            None => unrouted.push((from, to)),
            Some((routes, index)) if leads(fabric, from, to, routes.directions(index)) => {}
            Some(_) => return Err(SimulationError::Route { source_node: from, number: 0, destination: to }),
        }
    }
    if fabric.is_healthy() { Ok(()) } else { check_pairs(fabric, unrouted.into_iter()) }
}

/// Whether directions lead from one node to another over working links.
fn leads(fabric: &Fabric, from: NodeId, to: NodeId, mut directions: impl Iterator<Item = Direction>) -> bool {
    let exists = |direction: Direction| direction.index() < fabric.shape().directions();
    let end = directions.try_fold(from, |node, direction| {
        if exists(direction) { fabric.working_neighbour(node, direction) } else { None }
    });
    end == Some(to) && fabric.node_works(from)
}
