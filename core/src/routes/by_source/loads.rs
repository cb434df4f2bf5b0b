use super::{NO_ROUTE, System};
use crate::fabric::{Direction, MAX_DIMENSIONS, NodeId, Shape, Sign};
use crate::power::power_of;

/// How evenly a table loads the links; an unweighted load is a number of routes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// Largest load of a working link (edge-forwarding index).
    pub max_load: u64,
    /// Smallest load of a working link.
    pub min_load: u64,
    /// Sum of all loads over the number of working links.
    pub perfect_load: f64,
    /// `(mean |load - perfect_load|^4)^(1/4)` (angara-routing-2021, Section 1.1).
    pub sigma4: f64,
    /// Most hops of a route.
    pub max_distance: u32,
    /// Load of every link, 0 for links that do not work.
    pub loads: Vec<u64>,
}

impl Quality {
    /// The quality of given loads.
    pub(crate) fn new(system: &System, loads: Vec<u64>, max_distance: u32) -> Self {
        let working = || {
            (0..loads.len()).filter(|&link| system.next(link as u32) != NodeId::MAX).map(|link| loads[link])
        };
        let channels = working().count().max(1) as f64;
        let perfect_load = working().map(u128::from).sum::<u128>() as f64 / channels;
        let fourth: f64 = working().map(|load| power_of(load as f64 - perfect_load, 4)).sum();
        Self {
            max_load: working().max().unwrap_or(0),
            min_load: working().min().unwrap_or(0),
            perfect_load,
            sigma4: (fourth / channels).sqrt().sqrt(),
            max_distance,
            loads,
        }
    }

    /// The quality of a table given by its headers, each pair counting with its weight.
    pub(crate) fn of(system: &System, headers: &[u32], traffic: Option<&[u64]>) -> Self {
        let nodes = system.nodes();
        let mut loads = Runs::new(system);
        let mut max_distance = 0;
        for (source, row) in headers.chunks_exact(nodes).enumerate() {
            let begin = Here::new(loads.shape, source as NodeId);
            for (destination, &header) in row.iter().enumerate() {
                if header == NO_ROUTE {
                    continue;
                }
                let weight = traffic.map_or(1, |traffic| traffic[source * nodes + destination]);
                let route = system.layout().unpack(header);
                let mut here = begin;
                for (direction, hops) in system.runs(&route) {
                    loads.add(&mut here, direction, hops, weight);
                }
                max_distance = max_distance.max(route.length());
            }
        }
        Self::new(system, loads.finish(), max_distance)
    }
}

/// A node, with the coordinates that runs change one by one.
#[derive(Clone, Copy)]
struct Here {
    node: NodeId,
    coordinates: [u32; MAX_DIMENSIONS],
}

impl Here {
    fn new(shape: &Shape, node: NodeId) -> Self {
        let mut coordinates = [0; MAX_DIMENSIONS];
        for (dimension, coordinate) in coordinates[..shape.dimensions()].iter_mut().enumerate() {
            *coordinate = shape.coordinate(node, dimension);
        }
        Self { node, coordinates }
    }
}

/// Loads of links from runs of hops: where a run begins and ends along its line, summed up at the end.
struct Runs<'a> {
    shape: &'a Shape,
    /// By link: by how much its load differs from that of the link before, modulo 2^64.
    changes: Vec<u64>,
}

impl<'a> Runs<'a> {
    fn new(system: &'a System) -> Self {
        let shape = system.fabric().shape();
        Self { shape, changes: vec![0; shape.nodes() * shape.directions()] }
    }

    /// Adds a weight to the links of a run, and goes to the node where it ends.
    fn add(&mut self, here: &mut Here, direction: Direction, hops: u32, weight: u64) {
        let dimension = direction.dimension();
        let (size, stride) = (self.shape.size(dimension), self.shape.stride(dimension));
        let coordinate = here.coordinates[dimension];
        let head = here.node - coordinate * stride;
        // Places along the line in the sense of the direction.
        let turned = |place: u32| if direction.sign() == Sign::Plus { place } else { size - 1 - place };
        let link = |place: u32| {
            (head + turned(place) * stride) as usize * self.shape.directions() + direction.index()
        };
        let start = turned(coordinate);
        let mut end = start + hops;
        while end >= size {
            end -= size;
            self.changes[link(0)] = self.changes[link(0)].wrapping_add(weight);
        }
        self.changes[link(start)] = self.changes[link(start)].wrapping_add(weight);
        self.changes[link(end)] = self.changes[link(end)].wrapping_sub(weight);
        here.coordinates[dimension] = turned(end);
        here.node = head + turned(end) * stride;
    }

    fn finish(mut self) -> Vec<u64> {
        let directions = self.shape.directions();
        for direction in (0..directions).map(Direction::from_index) {
            let dimension = direction.dimension();
            let (size, stride) = (self.shape.size(dimension), self.shape.stride(dimension));
            let nodes = 0..self.shape.nodes() as NodeId;
            for head in nodes.filter(|&node| self.shape.coordinate(node, dimension) == 0) {
                let mut load = 0_u64;
                for place in 0..size {
                    let place = if direction.sign() == Sign::Plus { place } else { size - 1 - place };
                    let link = (head + place * stride) as usize * directions + direction.index();
                    load = load.wrapping_add(self.changes[link]);
                    self.changes[link] = load;
                }
            }
        }
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Fabric;
    use crate::names;
    use crate::routes::by_source::{Request, route};
    use crate::routes::methods::Method;
    use crate::routing::{Rules, TurnPolicy};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn loads_of_runs_are_those_of_hops(
            sizes in prop::collection::vec(2_u32..=6, 1..=3),
            mesh in any::<bool>(),
            failed in prop::collection::vec(0_u32..1000, 0..3),
            weighted in any::<bool>(),
        ) {
            let shape = if mesh { Shape::mesh(&sizes) } else { Shape::torus(&sizes) }.unwrap();
            let mut fabric = Fabric::new(shape);
            for node in failed {
                fabric.fail_node(node % fabric.shape().nodes() as u32).unwrap();
            }
            let system = System::new(fabric, Rules::angara(sizes.len()), TurnPolicy::ClosedForm).unwrap();
            let traffic: Vec<u64> = (0..(system.nodes() * system.nodes()) as u64).map(|pair| pair % 5).collect();
            let traffic = weighted.then_some(traffic);
            let request = Request { traffic: traffic.clone(), ..Request::default() };
            let bfs = names::find(&Method::by_source(), "bfs").unwrap();
            let Ok(answer) = route(system, bfs, &request, &mut |_| true) else { return Ok(()) };
            let table = answer.table;
            let nodes = table.system().nodes();
            let mut loads = vec![0; answer.quality.loads.len()];
            for pair in 0..nodes * nodes {
                let ends = ((pair / nodes) as NodeId, (pair % nodes) as NodeId);
                for link in table.links(ends.0, ends.1).unwrap_or_default() {
                    loads[link as usize] += traffic.as_ref().map_or(1, |traffic| traffic[pair]);
                }
                if let (Some(nodes), Some(route)) = (table.nodes(ends.0, ends.1), table.route(ends.0, ends.1)) {
                    prop_assert_eq!(nodes.last(), Some(&ends.1));
                    prop_assert!(table.system().route_works(ends.0, &route));
                }
            }
            prop_assert_eq!(answer.quality.loads, loads);
        }
    }
}
