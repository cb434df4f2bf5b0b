//! Plans on any graph in which chunks spread from where they are, grown step by step.

use super::{
    Bound, Move, Plan, Proof, Request, Schedule,
    bounds::{cut_steps, flags, gather_bound},
    moves::{reversed, steps_of},
    spread::{Spreading, spread},
};
use crate::{
    fabric::{Network, NodeId},
    flow::cuts::hardest_cut,
};
use std::collections::HashSet;

/// Growths tried before the hardest cut is looked for.
const FIRST_ATTEMPTS: u64 = 4;
/// Growths tried in all.
const ATTEMPTS: u64 = 60;

/// An all-gather, or backwards in time a reduce-scatter, by growth.
pub(super) fn gathered(graph: &Network, members: &[NodeId], request: &Request, adds: bool) -> Plan {
    let bound = gather_bound(graph, members, request.chunks, request.latency);
    let origins: Vec<NodeId> =
        members.iter().flat_map(|&node| (0..request.chunks).map(move |_| node)).collect();
    let plan = grown(graph, members, &origins, request, bound, adds);
    if u64::from(plan.steps) == plan.bound.steps {
        return plan;
    }
    let inside = hardest_cut(graph, members);
    let steps = cut_steps(graph, members, &inside, request.chunks, request.latency);
    let bound = plan.bound.or(steps, || Proof::Cut { nodes: inside });
    Plan { bound, ..plan }
}

/// The best of several growths.
pub(super) fn grown(
    graph: &Network,
    members: &[NodeId],
    origins: &[NodeId],
    request: &Request,
    bound: Bound,
    adds: bool,
) -> Plan {
    let everybody = graph.working();
    let latency = request.latency;
    let mut best: Option<Vec<Move>> = None;
    let mut bound = bound;
    for attempt in 0..ATTEMPTS {
        let limit = best.as_ref().map_or(u32::MAX / 4, |moves| steps_of(moves, latency) - 1);
        if u64::from(limit) < bound.steps {
            break;
        }
        if attempt == FIRST_ATTEMPTS && origins.first() != origins.last() {
            let inside = hardest_cut(graph, members);
            let steps = cut_steps(graph, members, &inside, request.chunks, latency);
            bound = bound.or(steps, || Proof::Cut { nodes: inside });
            continue;
        }
        let seed = request.seed.wrapping_add(attempt);
        let problem = Spreading { graph, members, origins, latency };
        let mut found = spread(&problem, limit, seed);
        if found.is_none() && best.is_none() {
            // Members that are not connected among themselves need everybody's help.
            found = spread(&Spreading { members: &everybody, ..problem }, limit, seed)
                .map(|moves| useful(graph, members, &moves));
        }
        best = found.or(best);
    }
    let moves = best.unwrap_or_default();
    let steps = steps_of(&moves, latency);
    let moves = if adds { reversed(&moves, latency, true) } else { moves };
    Plan { steps, bound, schedule: Schedule::Moves(moves) }
}

/// The moves without those that bring a chunk to nobody who needs it or passes it on to such.
fn useful(graph: &Network, members: &[NodeId], moves: &[Move]) -> Vec<Move> {
    let is_member = flags(graph.nodes(), members);
    let mut wanted: HashSet<(NodeId, u32)> = HashSet::new();
    let needed = |moved: &&Move| {
        let (from, to) = graph.links()[moved.link as usize];
        let keep = is_member[to as usize] || wanted.contains(&(to, moved.item));
        if keep {
            wanted.insert((from, moved.item));
        }
        keep
    };
    let mut kept: Vec<Move> = moves.iter().rev().filter(needed).copied().collect();
    kept.reverse();
    kept
}
