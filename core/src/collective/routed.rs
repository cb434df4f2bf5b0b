use super::{
    Bound, CollectiveError, Plan, Proof, Schedule, Torus, exchange, list::list_schedule, moves::steps_of,
    together::reroute_together,
};
use crate::{
    fabric::{Network, NodeId},
    flow::{
        balance::balance_paths,
        demands::Demand,
        prices::{prove_load, steep_lengths},
    },
};
use std::collections::HashMap;

/// Shortest-path sweeps for a proof, times links times nodes.
const PROOF_WORK: u64 = 40_000_000;
/// Paths that are chosen anew one by one where none is known, times links.
const BALANCING_WORK: u64 = 400_000_000;
/// Shortest ways for paths that are chosen anew together, times links.
const REROUTING_WORK: u64 = 300_000_000;

/// Loads of the fullest link beyond the least one that are tried.
const FULLER: usize = 8;

/// Paths, then a list schedule; the bound is proven with lengths of links where the simple one is not met.
///
/// Paths given are kept where nothing speaks against them; with `from_root` the bound stays as it is.
pub(super) fn routed(
    graph: &Network,
    demands: &[Demand],
    latency: u32,
    seed: u64,
    mut bound: Bound,
    known: Vec<Vec<u32>>,
    from_root: bool,
) -> Result<Plan, CollectiveError> {
    let mut effort = 40 * demands.len() as u64 + 2_000;
    if known.is_empty() {
        effort = effort.min(BALANCING_WORK / (graph.links().len() as u64 + 1));
    }
    let goal = bound.steps.saturating_sub(u64::from(latency));
    let failed = |demand: Demand| CollectiveError::Unreachable(demand.source, demand.destination);
    let (mut paths, mut load) =
        balance_paths(graph, demands, known.clone(), goal, effort, seed).map_err(failed)?;
    if load > goal {
        let searches = REROUTING_WORK / (graph.links().len() as u64 + 1);
        load = reroute_together(graph, demands, &mut paths, goal, searches, seed);
    }
    let mut moves = list_schedule(graph, &paths, latency);
    let mut steps = steps_of(&moves, latency);
    // Where long ways take the time, fuller links with shorter ways may take less.
    for fuller in (load + 1..).take(FULLER) {
        if fuller + u64::from(latency) >= u64::from(steps) || u64::from(steps) <= bound.steps {
            break;
        }
        let (shorter, _) =
            balance_paths(graph, demands, known.clone(), fuller, effort, seed).map_err(failed)?;
        let other = list_schedule(graph, &shorter, latency);
        if steps_of(&other, latency) < steps {
            (steps, moves) = (steps_of(&other, latency), other);
        }
    }
    if u64::from(steps) > bound.steps && !from_root {
        let rounds = (PROOF_WORK / (graph.links().len() as u64 * graph.nodes() as u64 + 1)).clamp(60, 3_000);
        let starts = steep_lengths(graph, &paths);
        let (lengths, proven) = prove_load(graph, demands, load, rounds as u32, starts);
        bound = bound.or(proven + u64::from(latency), || Proof::Lengths { lengths });
    }
    Ok(Plan { steps, bound, schedule: Schedule::Moves(moves) })
}

/// Per demand its path in the all-to-all of the whole torus, all links of which are equally full; empty where
/// it leads over a failed link. Demands are `chunks` per ordered pair of nodes, one after the other.
pub(super) fn paths_on_whole_torus(
    torus: &Torus,
    graph: &Network,
    demands: &[Demand],
    chunks: u32,
    seed: u64,
) -> Vec<Vec<u32>> {
    let orbit = exchange(torus, chunks, 0, seed);
    let mut hops: Vec<Vec<u32>> = vec![Vec::new(); torus.nodes() * chunks as usize];
    for row in &orbit.rows {
        hops[(row.offset * chunks + row.chunk) as usize].push(row.generator);
    }
    let mut between: HashMap<(NodeId, NodeId), Vec<u32>> = HashMap::new();
    for (link, &ends) in (0..).zip(graph.links()) {
        between.entry(ends).or_default().push(link);
    }
    let neighbours = torus.neighbours();
    let over = |from: NodeId, generator: u32| {
        let to = neighbours[generator as usize][from as usize];
        let lane = torus.generators()[generator as usize].lane as usize;
        let links = between.get(&(from, to))?;
        Some((links[lane % links.len()], to))
    };
    let path = |(number, demand): (usize, &Demand)| {
        let offset = torus.add(demand.destination, torus.negative(demand.source));
        let chunk = number as u32 % chunks;
        let mut here = demand.source;
        let mut path = Vec::new();
        for &generator in &hops[(offset * chunks + chunk) as usize] {
            let Some((link, next)) = over(here, generator) else { return Vec::new() };
            path.push(link);
            here = next;
        }
        path
    };
    demands.iter().enumerate().map(path).collect()
}
