//! Dimension order on products of full meshes, rings and lines: one hop in a full mesh, the nearer way on a ring.
//! In a product in which nothing is missing it carries all pairs evenly, and full meshes and lines need one lane.

use super::{BySource, DimensionOrder, Graph, Method, Start};
use crate::fabric::{Factor, NodeId, Product, Sign};
use crate::routes::by_source::{KeepGoing, Made, NO_ROUTE, Request, System, TableError, share};
use crate::routing::{Route, dimension_order};
use std::collections::HashMap;

pub(super) const METHOD: Method = Method {
    name: "dor",
    kind: "product",
    about: "all pairs on products of full meshes, rings and lines: dimension order",
    by_source: Some(BySource { headers, searches: false }),
    by_destination: Some(start),
};

fn start(graph: &Graph, _order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    let product = &Product::of(graph)?;
    let at: &HashMap<&[u32], u32> = &product.coordinates.iter().map(Vec::as_slice).zip(0..).collect();
    Some(Start::by_rule(graph, roots, |_, root| {
        let distances = graph.distances_to(root);
        move |switch| {
            let place =
                hop(product, &product.coordinates[switch as usize], &product.coordinates[root as usize]);
            // Around what is missing any shortest route does.
            let next = at.get(place.as_slice()).copied();
            let next = next.filter(|&next| distances[next as usize] < distances[switch as usize])?;
            Some(move |there| there == next)
        }
    }))
}

/// Where dimension order goes next: along the first factor in which the places differ.
fn hop(product: &Product, here: &[u32], there: &[u32]) -> Vec<u32> {
    let mut next = here.to_vec();
    if let Some(factor) = (0..here.len()).find(|&factor| here[factor] != there[factor]) {
        let (from, to) = (here[factor], there[factor]);
        // Half the switches go either way to the one opposite.
        let beside = |size, wraps| match dimension_order::nearer(size, wraps, from, to, || from % 2 == 0) {
            Some(Sign::Plus) => (from + 1) % size,
            _ => (from + size - 1) % size,
        };
        next[factor] = match product.factors[factor] {
            Factor::Full(_) => to,
            Factor::Line(size) => beside(size, false),
            Factor::Ring(size) => beside(size, true),
            // No fabric is recognised as one; its routes stay shortest ones.
            Factor::Circulant(..) => from,
        };
    }
    next
}

/// Plain ordered routes without first and last steps: per dimension the shorter way, ties as in
/// [`crate::routing::dimension_order`]. The order of directions is that of the rules.
fn headers(system: &System, _request: &Request, keep_going: KeepGoing<'_>) -> Result<Made, TableError> {
    let keep_going = &mut share(keep_going, 0.0, 0.2);
    let (fabric, shape) = (system.fabric(), system.fabric().shape());
    let nodes = system.nodes() as NodeId;
    let mut headers = vec![NO_ROUTE; (nodes * nodes) as usize];
    let mut unserved = Vec::new();
    for source in (0..nodes).filter(|&source| fabric.node_works(source)) {
        if !keep_going(f64::from(source) / f64::from(nodes)) {
            return Err(TableError::Interrupted);
        }
        for destination in (0..nodes).filter(|&node| node != source && fabric.node_works(node)) {
            let mut route = Route::default();
            for dimension in 0..shape.dimensions() {
                let (from, to) =
                    (shape.coordinate(source, dimension), shape.coordinate(destination, dimension));
                let size = shape.size(dimension);
                let ahead = to as i32 - from as i32;
                route.hops[dimension] =
                    match dimension_order::sign(size, shape.wraps(dimension), shape.ties(), from, to) {
                        Some(Sign::Plus) if ahead < 0 => ahead + size as i32,
                        Some(Sign::Minus) if ahead > 0 => ahead - size as i32,
                        _ => ahead,
                    };
            }
            if system.route_works(source, &route) {
                headers[(source * nodes + destination) as usize] = system.layout().pack(&route);
            } else {
                unserved.push((source, destination));
            }
        }
    }
    Made::of(headers, &unserved)
}
