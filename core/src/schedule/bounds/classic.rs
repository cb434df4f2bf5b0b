use crate::{
    fabric::{Direction, Fabric, NodeId},
    schedule::{Demand, Problem},
};

/// The classic lower bound on the duration, in cycles.
///
/// Per resource: its users hold it one after the other (the sum of their lengths), none reaches it
/// before the smallest offset, and after the last one at least the smallest rest of a route remains:
/// `load + min head + min tail + 2`, two cycles being the way in and out of the network. Per packet:
/// the time it takes unhindered. A job with several routes counts only where all of them pass.
pub fn classic_bound(problem: &Problem) -> u32 {
    #[derive(Clone, Copy)]
    struct Load {
        total: u64,
        head: u32,
        rest: u32,
    }
    let mut loads = vec![Load { total: 0, head: u32::MAX, rest: u32::MAX }; problem.resources()];
    let mut bound = 0;
    for job in problem.jobs() {
        let span = job.routes.iter().map(|route| route.span).min().unwrap_or(0);
        bound = bound.max(u64::from(span));
        let Some((first, others)) = job.routes.split_first() else { continue };
        for held in &first.uses {
            if others.iter().all(|route| route.uses.contains(held)) {
                let load = &mut loads[held.resource as usize];
                load.total += u64::from(job.length);
                load.head = load.head.min(held.offset);
                load.rest = load.rest.min(span - held.offset - job.length);
            }
        }
    }
    let busiest = loads
        .iter()
        .filter(|load| load.total > 0)
        .map(|load| load.total + u64::from(load.head) + u64::from(load.rest))
        .max();
    bound.max(busiest.unwrap_or(0)) as u32
}

/// A lower bound on the duration in cycles whatever routes the packets take.
///
/// All links together must carry every flit over at least the distance of its ends, so the busiest
/// carries no less than the mean; a port carries what its node sends or receives. Behind the last
/// flit there, as before the first, come the cycles of the way in and out: two on a link or port
/// before the destination. A single packet takes its distance, its length and one cycle.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, distance_bound};
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source| Demand { source, destination: 3, length: 4, slices: 1 };
/// assert_eq!(distance_bound(&fabric, &[demand(1), demand(2)]), 10);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn distance_bound(fabric: &Fabric, demands: &[Demand]) -> u64 {
    let shape = fabric.shape();
    let nodes = shape.nodes();
    let (mut sent, mut received) = (vec![0_u64; nodes], vec![0_u64; nodes]);
    let (mut travelled, mut bound) = (0, 0);
    for demand in demands {
        let flits = u64::from(demand.length) * u64::from(demand.slices);
        let hops = u64::from(shape.distance(demand.source, demand.destination));
        bound = bound.max(flits + hops + 1);
        if hops > 0 {
            travelled += flits * hops;
            sent[demand.source as usize] += flits;
            received[demand.destination as usize] += flits;
        }
    }
    let works = |node: usize| {
        let directions = (0..shape.directions()).map(Direction::from_index);
        directions.filter(|&direction| fabric.working_neighbour(node as NodeId, direction).is_some()).count()
    };
    let links: usize = (0..nodes).map(works).sum();
    let busiest = sent.into_iter().chain(received).chain([travelled.div_ceil(links.max(1) as u64)]).max();
    match busiest {
        Some(flits) if flits > 0 => bound.max(flits + 2),
        _ => bound,
    }
}
