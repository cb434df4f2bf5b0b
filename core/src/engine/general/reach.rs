//! Whether every packet has a whole way to its destination.

use crate::{
    engine::{Network, SimulationError},
    fabric::{Direction, Fabric, NodeId},
    routing::{RoutingFunction, dimension_order},
    traffic::{Guide, PacketSource, Way, Workload},
};
use std::collections::BTreeSet;

/// Pairs listed in an error.
const LISTED: usize = 1000;
/// Ways that are looked at only to count how many more pairs there are.
const LOOKED_AT: usize = 1 << 22;

/// Checks given routes, and on a fabric with failures also those of dimension order.
pub(super) fn check(network: &Network, workload: &Workload) -> Result<(), SimulationError> {
    let fabric = network.fabric();
    let by_function_alone = workload.routes().is_none() && workload.book().is_none();
    let routing = network.router().routing;
    if routing != RoutingFunction::DimensionOrder {
        if !by_function_alone {
            return Err(SimulationError::RoutesGiven(routing));
        }
        if !fabric.is_healthy() {
            return Err(SimulationError::Failures(routing));
        }
    }
    if by_function_alone && fabric.is_healthy() {
        return Ok(());
    }
    let (mut unserved, mut more) = (BTreeSet::new(), "");
    let mut listed = Vec::new();
    for (looked_at, way) in workload.ways(fabric.shape().nodes()).enumerate() {
        let Way { from, to, number, guide } = way;
        let served = match guide {
            Guide::Function => fabric.is_healthy() || works(fabric, from, to),
            Guide::Book => {
                let covers = workload.book().is_some_and(|book| book.covers(from, to));
                (from == to && fabric.node_works(from)) || covers
            }
            Guide::Route(index) => {
                let given = workload.routes();
                if !given.is_some_and(|routes| leads(fabric, from, to, routes.directions(index))) {
                    return Err(SimulationError::Route { source_node: from, number, destination: to });
                }
                true
            }
        };
        if served {
            continue;
        }
        if listed.len() >= LISTED && looked_at > LOOKED_AT {
            more = " or more";
            break;
        }
        if unserved.insert((from, to)) && listed.len() < LISTED {
            listed.push((from, to));
        }
    }
    match listed.first() {
        None => Ok(()),
        Some(&(source_node, destination)) => Err(SimulationError::Unreachable {
            source_node,
            destination,
            count: unserved.len(),
            more,
            pairs: listed,
        }),
    }
}

/// Whether dimension order leads from one node to another over working links.
fn works(fabric: &Fabric, from: NodeId, to: NodeId) -> bool {
    let whole = dimension_order::path(fabric, from, to).all(|link| {
        let (node, direction) = fabric.link_ends(link);
        fabric.link_works(node, direction)
    });
    whole && fabric.node_works(from) && fabric.node_works(to)
}

/// Whether directions lead from one node to another over working links.
fn leads(fabric: &Fabric, from: NodeId, to: NodeId, mut directions: impl Iterator<Item = Direction>) -> bool {
    let exists = |direction: Direction| direction.index() < fabric.shape().directions();
    let end = directions.try_fold(from, |node, direction| {
        if exists(direction) { fabric.working_neighbour(node, direction) } else { None }
    });
    end == Some(to) && fabric.node_works(from)
}
