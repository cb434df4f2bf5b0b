//! Whether every packet has a whole way to its destination.

use crate::{
    engine::{FailedEnds, Network, Obstacle, SimulationError},
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
                let routes = workload.routes();
                let directions = || routes.map(|routes| routes.directions(index)).into_iter().flatten();
                let none = from != to && directions().next().is_none();
                let served = !none && fabric.node_works(from) && fabric.node_works(to);
                if served && !leads(fabric, from, to, directions()) {
                    return Err(SimulationError::Route { source_node: from, number, destination: to });
                }
                served
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
            obstacle: if by_function_alone { Obstacle::Routing } else { Obstacle::Routes },
            failed: FailedEnds::of(fabric, &listed),
            load: matches!(workload, Workload::Load(_)),
            pairs: listed,
        }),
    }
}

impl FailedEnds {
    /// What failed nodes have to do with pairs that are not served.
    fn of(fabric: &Fabric, pairs: &[(NodeId, NodeId)]) -> Self {
        let failed =
            |&(from, to): &(NodeId, NodeId)| [to, from].into_iter().find(|&node| !fabric.node_works(node));
        match pairs.iter().find_map(failed) {
            None => Self::None,
            Some(node) if pairs.iter().all(|pair| failed(pair).is_some()) => Self::All(node),
            Some(node) => Self::Some(node),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Shape,
        router::RouterConfig,
        traffic::{Packet, PacketList, Purpose, draw_below},
    };

    /// Whether a packet gets through that goes one dimension after the other the shorter way round, which
    /// is known in rings of odd size.
    fn gets_through(shape: &Shape, failed: &[(NodeId, NodeId)], from: NodeId, to: NodeId) -> bool {
        let mut here = shape.coordinates(from);
        let end = shape.coordinates(to);
        for dimension in 0..here.len() {
            let size = shape.size(dimension);
            while here[dimension] != end[dimension] {
                let before = shape.node(&here);
                let ahead = (end[dimension] + size - here[dimension]) % size;
                let plus =
                    if shape.wraps(dimension) { 2 * ahead < size } else { end[dimension] > here[dimension] };
                here[dimension] = (here[dimension] + if plus { 1 } else { size - 1 }) % size;
                let cable = (before, shape.node(&here));
                if failed.contains(&cable) || failed.contains(&(cable.1, cable.0)) {
                    return false;
                }
            }
        }
        true
    }

    #[test]
    fn unreachable_pairs_are_those_whose_ways_are_cut() {
        for (seed, wraps) in (0..20).zip([true, false].into_iter().cycle()) {
            let shape = Shape::new(&[5, 3, 2], &[wraps, true, false]).unwrap();
            let nodes = shape.nodes() as u32;
            let draw = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index, bound);
            let mut fabric = Fabric::new(shape.clone());
            let mut failed = Vec::new();
            for index in 0..3 {
                let node = draw(2 * index, nodes);
                let direction = Direction::from_index(draw(2 * index + 1, 6) as usize);
                if let Some(other) = shape.neighbour(node, direction) {
                    fabric.fail_cable(node, other).unwrap();
                    failed.push((node, other));
                }
            }
            let dead = draw(9, nodes);
            if seed % 4 == 3 {
                fabric.fail_node(dead).unwrap();
                failed.extend((0..nodes).map(|other| (dead, other)));
            }
            let works = |node| seed % 4 != 3 || node != dead;
            let pairs = || (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
            let cut: Vec<_> = pairs()
                .filter(|&(from, to)| !(works(from) && works(to) && gets_through(&shape, &failed, from, to)))
                .collect();
            let to_all =
                || (0..nodes).map(|destination| Packet { destination, length: 1, start: 0, slice: 0 });
            let list = PacketList::from_nodes((0..nodes).map(|_| to_all())).unwrap();
            let network = Network::new(fabric, RouterConfig::for_shape(&shape)).unwrap();
            match check(&network, &Workload::Packets(list)) {
                Ok(()) => assert_eq!(cut, []),
                Err(SimulationError::Unreachable { pairs, count, .. }) => {
                    assert_eq!((count, &pairs), (cut.len(), &cut), "seed {seed}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
