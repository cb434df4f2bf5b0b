use super::{
    Bound, CollectiveError, CollectiveKind, Plan, Proof, Request, Schedule, Torus,
    bounds::{broadcast_bound, exchange_bound, scatter_bound},
    exchange, gather,
    grown::{gathered, grown},
    reduce::reduced,
    routed::{paths_on_whole_torus, routed},
};
use crate::{
    fabric::{Network, NodeId},
    flow::demands::Demand,
};

/// Most chunks times links of a plan.
pub const MAX_MOVES: u64 = 1 << 25;

/// The best plan found: as orbits where all nodes of a whole torus or product of full meshes take part alike, move by
/// move over the links of the network elsewhere. Without `members` all working nodes take part.
///
/// ```
/// use flitloom_core::{
///     collective::{CollectiveKind, Request, Schedule, plan},
///     fabric::{Fabric, Network, Shape},
/// };
/// let torus = Network::of_grid(&Fabric::new(Shape::torus(&[8, 8])?), &[])?;
/// let request = Request { kind: CollectiveKind::AllGather, chunks: 1, root: 0, latency: 0, seed: 1 };
/// assert!(matches!(plan(&torus, None, &request)?.schedule, Schedule::Orbits(_)));
/// let broken = torus.without(&[], &[(0, 1)])?;
/// let found = plan(&broken, None, &request)?;
/// assert_eq!((found.steps, found.bound.steps), (21, 21)); // 63 chunks over three links
/// assert_eq!(broken.links().len(), 254);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The network or the request is impossible, or a member cannot be reached.
pub fn plan(
    network: &Network,
    members: Option<&[NodeId]>,
    request: &Request,
) -> Result<Plan, CollectiveError> {
    let group = Torus::of(network)?;
    if let Some(torus) = &group
        && members.is_none()
        && network.is_healthy()
        && !request.kind.has_root()
    {
        return plan_torus(torus, request);
    }
    let working = network.working();
    let members = members.unwrap_or(&working);
    // With many nodes missing, the paths of the whole torus are no good start.
    let most = 4 * members.len() > 3 * network.nodes();
    match group.filter(|_| most && request.kind == CollectiveKind::AllToAll) {
        Some(torus) => plan_repaired(&torus, network, members, request),
        None => plan_graph(network, members, request),
    }
}

/// A plan on a torus without failures in which all nodes take part in the same way, as orbits.
///
/// Operations with a root have none: plan them with [`plan_graph`].
///
/// ```
/// use flitloom_core::{collective::{CollectiveKind, Request, Torus, plan_torus}, fabric::Lines};
/// let request = Request { kind: CollectiveKind::AllToAll, chunks: 1, root: 0, latency: 0, seed: 1 };
/// let plan = plan_torus(&Torus::new(&Lines::rings(&[4, 4, 8], true))?, &request)?;
/// assert_eq!((u64::from(plan.steps), 74), (plan.bound.steps, 74));
/// # Ok::<(), flitloom_core::collective::CollectiveError>(())
/// ```
///
/// # Errors
/// The number of chunks is out of range, or the operation has a root.
pub fn plan_torus(torus: &Torus, request: &Request) -> Result<Plan, CollectiveError> {
    check(request, torus.nodes() as u64 * torus.generators().len() as u64)?;
    let neighbours = torus.neighbours();
    let distances = torus.distances(&neighbours);
    let (far, distance) = farthest(&distances);
    let stretch = u64::from(1 + request.latency);
    let others = torus.nodes() as u64 - 1;
    let (chunks, latency, links) =
        (u64::from(request.chunks), u64::from(request.latency), neighbours.len() as u64);
    let reach = Bound::nothing().or(u64::from(distance) * stretch, || Proof::Distance { from: 0, to: far });
    let opposite: Vec<usize> = (0..neighbours.len()).map(|generator| torus.opposite(generator)).collect();
    let all_but_first = || Proof::Cut { nodes: (1..torus.nodes() as NodeId).collect() };
    let (orbits, bound) = match request.kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => {
            let bound = reach.or((others * chunks).div_ceil(links) + latency, all_but_first);
            let orbit = gather(torus, request.chunks, request.latency, request.seed);
            let backwards = request.kind == CollectiveKind::ReduceScatter;
            (vec![if backwards { orbit.reversed(request.latency, &opposite) } else { orbit }], bound)
        }
        CollectiveKind::AllReduce => {
            let bound = reach.or((2 * others * chunks).div_ceil(links) + latency, || Proof::Transfers);
            let orbit = gather(torus, request.chunks, request.latency, request.seed);
            (vec![orbit.reversed(request.latency, &opposite), orbit], bound)
        }
        CollectiveKind::AllToAll => {
            let hops: u64 = distances.iter().map(|&distance| u64::from(distance)).sum();
            let mut bound = reach.or((hops * chunks).div_ceil(links) + latency, || Proof::Hops);
            if !torus.is_twisted() {
                for dimension in 0..torus.sizes().len() {
                    let (steps, first, last) = plane_cut(torus, dimension, chunks);
                    let stride: u32 = torus.sizes()[..dimension].iter().product();
                    let inside =
                        |&node: &NodeId| (first..last).contains(&(node / stride % torus.sizes()[dimension]));
                    let nodes = || (0..torus.nodes() as NodeId).filter(inside).collect();
                    bound = bound.or(steps + latency, || Proof::Cut { nodes: nodes() });
                }
            }
            (vec![exchange(torus, request.chunks, request.latency, request.seed)], bound)
        }
        other => return Err(CollectiveError::NeedsGraph(other.name())),
    };
    let steps = orbits.iter().map(|orbit| orbit.steps).sum();
    Ok(Plan { steps, bound, schedule: Schedule::Orbits(orbits) })
}

/// Steps that the two halves of a dimension need to exchange their chunks, and the planes of one half.
fn plane_cut(torus: &Torus, dimension: usize, chunks: u64) -> (u64, u32, u32) {
    let size = torus.sizes()[dimension];
    let half = size / 2;
    let plane = torus.nodes() as u64 / u64::from(size);
    let crossing = plane * u64::from(half) * plane * u64::from(size - half) * chunks;
    // Each of the two senses of a ring leaves the half at one of its ends; a ring of size 2 has one.
    let ends = if torus.is_full(dimension) { half * (size - half) } else { size.min(3) - 1 };
    (crossing.div_ceil(plane * u64::from(ends * torus.width(dimension))), 0, half)
}

fn farthest(distances: &[u32]) -> (NodeId, u32) {
    let farthest = (0..).zip(distances.iter().copied()).max_by_key(|&(_, distance)| distance);
    farthest.unwrap_or((0, 0))
}

fn check(request: &Request, size: u64) -> Result<(), CollectiveError> {
    let moves = size.saturating_mul(u64::from(request.chunks));
    if request.chunks == 0 || moves > MAX_MOVES {
        return Err(CollectiveError::Chunks { chunks: request.chunks, moves });
    }
    if request.latency > 1 << 16 {
        return Err(CollectiveError::Latency(request.latency));
    }
    Ok(())
}

/// A plan on any graph, for the given members (nodes in ascending order); others only pass things on.
///
/// Chunk `c` of the member at place `i` is item `i * chunks + c`; a broadcast or reduce has items
/// `0..chunks`; chunk `c` from place `i` to place `j` of `m` is item `(i * m + j) * chunks + c`.
///
/// ```
/// use flitloom_core::{
///     collective::{CollectiveKind, Request, plan_graph},
///     fabric::{Fabric, Network, Shape},
/// };
/// let graph = Network::of_grid(&Fabric::new(Shape::mesh(&[6, 6])?), &[])?;
/// let request = Request { kind: CollectiveKind::AllGather, chunks: 1, root: 0, latency: 0, seed: 1 };
/// let plan = plan_graph(&graph, &graph.working(), &request)?;
/// assert_eq!((plan.steps, plan.bound.steps), (18, 18)); // 35 chunks over the two links of a corner
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The number of chunks is out of range, a member or the root does not work or cannot be reached.
pub fn plan_graph(graph: &Network, members: &[NodeId], request: &Request) -> Result<Plan, CollectiveError> {
    let count = members.len() as u64;
    let items = match request.kind {
        CollectiveKind::Broadcast | CollectiveKind::Reduce => count,
        CollectiveKind::Scatter | CollectiveKind::Gather => count * 4,
        _ => count * count,
    };
    check(request, items)?;
    check_members(graph, members, request)?;
    let Request { kind, chunks, root, latency, seed } = *request;
    let backwards = graph.reversed();
    match kind {
        CollectiveKind::AllGather => Ok(gathered(graph, members, request, false)),
        CollectiveKind::ReduceScatter => Ok(gathered(&backwards, members, request, true)),
        CollectiveKind::AllReduce => Ok(reduced(graph, &backwards, members, request)),
        CollectiveKind::Broadcast | CollectiveKind::Reduce => {
            let adds = kind == CollectiveKind::Reduce;
            let graph = if adds { &backwards } else { graph };
            let bound = broadcast_bound(graph, members, root, chunks, latency);
            let origins = vec![root; chunks as usize];
            Ok(grown(graph, members, &origins, request, bound, adds))
        }
        CollectiveKind::Scatter | CollectiveKind::Gather => {
            let inwards = kind == CollectiveKind::Gather;
            let graph = if inwards { &backwards } else { graph };
            let bound = scatter_bound(graph, members, root, chunks, latency);
            let demand = |&destination: &NodeId| Demand { source: root, destination };
            let demands: Vec<Demand> =
                members.iter().flat_map(|node| (0..chunks).map(move |_| demand(node))).collect();
            let plan = routed(graph, &demands, latency, seed, bound, Vec::new(), true)?;
            Ok(if inwards { plan.backwards(latency) } else { plan })
        }
        CollectiveKind::AllToAll => {
            let demands = exchange_demands(members, chunks);
            plan_demands(graph, &demands, latency, seed)
        }
    }
}

fn exchange_demands(members: &[NodeId], chunks: u32) -> Vec<Demand> {
    let pairs =
        members.iter().flat_map(|&source| members.iter().map(move |&destination| (source, destination)));
    let demand = |(source, destination)| Demand { source, destination };
    pairs.flat_map(|pair| (0..chunks).map(move |_| demand(pair))).collect()
}

/// An all-to-all on a torus with failures, as [`plan_graph`]: what the whole torus would do, repaired.
///
/// # Errors
/// As for [`plan_graph`].
pub fn plan_repaired(
    torus: &Torus,
    graph: &Network,
    members: &[NodeId],
    request: &Request,
) -> Result<Plan, CollectiveError> {
    let count = members.len() as u64;
    check(request, count * count)?;
    check_members(graph, members, request)?;
    let Request { chunks, latency, seed, .. } = *request;
    let demands = exchange_demands(members, chunks);
    let known = paths_on_whole_torus(torus, graph, &demands, chunks, seed);
    let bound = exchange_bound(graph, &demands, latency);
    routed(graph, &demands, latency, seed, bound, known, false)
}

/// A plan for chunks that each go from one node to another; item `i` is demand `i`.
///
/// # Errors
/// The network is impossible, or a demand cannot be served.
pub fn plan_demands(
    graph: &Network,
    demands: &[Demand],
    latency: u32,
    seed: u64,
) -> Result<Plan, CollectiveError> {
    Torus::of(graph)?;
    let nodes = graph.nodes() as NodeId;
    if let Some(&node) =
        demands.iter().flat_map(|demand| [&demand.source, &demand.destination]).find(|&&node| node >= nodes)
    {
        return Err(CollectiveError::Node { node, nodes });
    }
    let bound = exchange_bound(graph, demands, latency);
    routed(graph, demands, latency, seed, bound, Vec::new(), false)
}

fn check_members(graph: &Network, members: &[NodeId], request: &Request) -> Result<(), CollectiveError> {
    let nodes = graph.nodes() as NodeId;
    let working = graph.working();
    let of_root = request.kind.has_root().then_some(&request.root);
    if let Some(&node) = members.iter().chain(of_root).find(|&&node| node >= nodes) {
        return Err(CollectiveError::Node { node, nodes });
    }
    if let Some(&node) = members.iter().chain(of_root).find(|node| working.binary_search(node).is_err()) {
        return Err(CollectiveError::Failed(node));
    }
    if members.len() < 2 || !members.is_sorted_by(|a, b| a < b) {
        return Err(CollectiveError::Members);
    }
    if request.kind.has_root() && members.binary_search(&request.root).is_err() {
        return Err(CollectiveError::Root(request.root));
    }
    for way in [graph.distances(members[0]), graph.reversed().distances(members[0])] {
        if let Some(&to) = members.iter().find(|&&node| way[node as usize] == u32::MAX) {
            return Err(CollectiveError::Unreachable(members[0], to));
        }
    }
    Ok(())
}
