//! All-to-all in turns: in each of them all nodes send by the same offset.
//!
//! On rings of up to four nodes no two packets of a turn meet anywhere: where two hops lead half way round, half of
//! the nodes go forwards and the others backwards. A turn then holds a port or link from so many cycles after
//! its start on, and all nodes are alike, so that what is left is the order of the turns. One can follow another
//! at the length of a packet if it uses no port or link earlier than that did: if hops grow from turn to turn, ports
//! lose nothing.

use super::{Budget, Incumbent, Method, Progress, Schedule, Task};
use crate::{
    fabric::{NodeId, Shape},
    schedule::Placement,
    traffic::{DRAWS, Purpose, draw, draw_below},
};
use std::collections::HashMap;

/// Largest network that is looked at.
const MOST_NODES: usize = 1024;
/// Orders tried in the first round; every round has twice as many as the one before.
const FIRST_ROUND: u64 = 50_000;
/// Orders that are longer by so many cycles are taken at the beginning of a round, one time in three.
const WARM: f64 = 3.0;
/// The same at its end.
const COLD: f64 = 0.05;
/// How many cycles all turns together may come later for one cycle of the duration.
const PER_CYCLE: f64 = 50.0;

/// An order of turns is annealed, again and again from that of growing hops; each turn starts as early as those before
/// it let it.
pub(super) struct Turns;

impl Method for Turns {
    const NAME: &'static str = "turns";
    const SUMMARY: &'static str =
        "all-to-all on tori with rings of up to four nodes: all nodes send by one offset after the other";

    fn applies(task: &Task) -> bool {
        turns(task).is_some()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let Some(turns) = turns(task) else { return };
        let problem = task.problem();
        let mut best = turns.by_hops();
        let mut value = turns.value(&best);
        for round in 0_u64.. {
            if value.0 <= task.bound() || budget.is_over() {
                break;
            }
            let moves = (FIRST_ROUND << round.min(20)).min(budget.moves);
            let seed = task.seed().wrapping_mul(1_000_003).wrapping_add(round);
            let found = budget.share(moves, |share| turns.anneal(seed, task.bound(), share));
            if found.0 < value {
                (value, best) = found;
            }
            let moves = budget.moves;
            incumbent.report(Progress { best: value.0, bound: 0, target: task.bound(), unplaced: 0, moves });
        }
        let mut placements = vec![Placement { route: 0, start: 0 }; problem.jobs().len()];
        turns.visit(&best, |turn, start| {
            for &job in &turns.turns[turn].jobs {
                placements[job as usize].start = start;
            }
        });
        incumbent.offer(Schedule::new(placements), task);
    }
}

/// All packets by one offset.
struct Turn {
    jobs: Vec<u32>,
    /// Cycles until they are complete.
    span: u32,
    /// Kinds of ports and links, and from how many cycles after its start on it holds them.
    uses: Vec<(u32, u32)>,
}

struct AllTurns {
    length: u32,
    turns: Vec<Turn>,
    /// Kinds of ports and links: all of a kind are always held together.
    kinds: usize,
}

/// Duration, and the sum of all starts.
type Value = (u32, u64);

/// Number of the node to which another one is at the offset of this node to node 0.
fn offset(shape: &Shape, from: NodeId, to: NodeId) -> usize {
    let along = |dimension: usize| {
        let size = shape.size(dimension);
        (shape.coordinate(to, dimension) + size - shape.coordinate(from, dimension)) % size
    };
    (0..shape.dimensions())
        .rev()
        .fold(0, |number, dimension| number * shape.size(dimension) as usize + along(dimension) as usize)
}

/// The turns of a task; `None` if it is no all-to-all on such a torus, or packets of a turn meet.
fn turns(task: &Task) -> Option<AllTurns> {
    let (fabric, problem) = (task.fabric(), task.problem());
    let (shape, nodes) = (fabric.shape(), fabric.shape().nodes());
    // Two nodes in a row are a ring, too.
    let is_short = |dimension| shape.size(dimension) <= if shape.wraps(dimension) { 4 } else { 2 };
    let small = (0..shape.dimensions()).all(is_short);
    let jobs = problem.jobs();
    let one_route = problem.has_fixed_routes() && !problem.has_any_minimal_route();
    if !small
        || nodes > MOST_NODES
        || problem.is_in_phases()
        || !one_route
        || jobs.len() != nodes * (nodes - 1)
    {
        return None;
    }
    let length = jobs.first()?.length;
    let mut of_offset: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (job, demand) in (0..).zip(problem.demands(fabric)) {
        of_offset[offset(shape, demand.source, demand.destination)].push(job);
    }
    if !of_offset[0].is_empty() {
        return None;
    }
    of_offset.remove(0);
    // By resource, per turn one more than the cycles after which it is held.
    let mut held = vec![vec![0_u16; of_offset.len()]; problem.resources()];
    for (turn, members) in of_offset.iter().enumerate() {
        let span = jobs[*members.first()? as usize].routes[0].span;
        for &job in members {
            let job = &jobs[job as usize];
            if job.length != length || job.routes[0].span != span {
                return None;
            }
            for used in &job.routes[0].uses {
                let here = &mut held[used.resource as usize][turn];
                if std::mem::replace(here, u16::try_from(used.offset + 1).ok()?) != 0 {
                    return None;
                }
            }
        }
    }
    let mut kinds: HashMap<&[u16], u32> = HashMap::new();
    let mut uses = vec![Vec::new(); of_offset.len()];
    for held in &held {
        let kind = kinds.len() as u32;
        if *kinds.entry(held).or_insert(kind) == kind {
            for (uses, &from) in uses.iter_mut().zip(held).filter(|&(_, &from)| from > 0) {
                uses.push((kind, u32::from(from) - 1));
            }
        }
    }
    let kinds = kinds.len();
    let turns = of_offset.into_iter().zip(uses).map(|(members, uses)| {
        let span = jobs[members[0] as usize].routes[0].span;
        Turn { jobs: members, span, uses }
    });
    Some(AllTurns { length, turns: turns.collect(), kinds })
}

impl AllTurns {
    fn by_hops(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.turns.len()).collect();
        order.sort_by_key(|&turn| self.turns[turn].span);
        order
    }

    /// Shows every turn with its start, as early as those before it allow.
    fn visit(&self, order: &[usize], mut show: impl FnMut(usize, u32)) {
        let mut free = vec![0; self.kinds];
        for &turn in order {
            let uses = &self.turns[turn].uses;
            let late = uses.iter().map(|&(kind, after)| u32::saturating_sub(free[kind as usize], after));
            let start = late.max().unwrap_or(0);
            for &(kind, after) in uses {
                free[kind as usize] = start + after + self.length;
            }
            show(turn, start);
        }
    }

    fn value(&self, order: &[usize]) -> Value {
        let (mut duration, mut sum) = (0, 0);
        self.visit(order, |turn, start| {
            duration = duration.max(start + self.turns[turn].span);
            sum += u64::from(start);
        });
        (duration, sum)
    }

    /// The best order that is met while all moves of the budget are spent, or the first one at the bound.
    fn anneal(&self, seed: u64, bound: u32, budget: &mut Budget) -> (Value, Vec<usize>) {
        let count = self.turns.len();
        let mut order = self.by_hops();
        let mut value = self.value(&order);
        let mut best = (value, order.clone());
        let moves = budget.moves.max(1) as f64;
        let mut other = order.clone();
        while best.0.0 > bound && budget.take() {
            let number = budget.moves;
            let below = |purpose, bound: usize| {
                draw_below(seed, purpose, Purpose::Search, number, bound as u32) as usize
            };
            let (from, to) = (below(0, count), below(1, count));
            other.clone_from(&order);
            match below(2, 3) {
                0 => other.swap(from, to),
                1 => {
                    let turn = other.remove(from);
                    other.insert(to, turn);
                }
                _ => other[from..count.min(from + 2 + below(3, 4))].reverse(),
            }
            let found = self.value(&other);
            let worse =
                (f64::from(found.0) - f64::from(value.0)) + (found.1 as f64 - value.1 as f64) / PER_CYCLE;
            let warmth = COLD + (WARM - COLD) * budget.moves as f64 / moves;
            if worse <= warmth * exponential(draw(seed, 4, Purpose::Search, number)) {
                std::mem::swap(&mut order, &mut other);
                value = found;
                if value < best.0 {
                    best = (value, order.clone());
                }
            }
        }
        best
    }
}

/// A number whose distribution is nearly exponential with mean 1, the same on any machine: the logarithm is drawn
/// straight between powers of two.
fn exponential(drawn: u64) -> f64 {
    let zeros = drawn.leading_zeros();
    let rest = drawn.checked_shl(zeros + 1).unwrap_or(0) as f64 / DRAWS;
    std::f64::consts::LN_2 * (f64::from(zeros) + 1.0 - rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Fabric,
        schedule::{MethodName, Problem, RouteChoice, Slicing, planned_packets, search, verify},
        traffic::{CollectiveOperation, Group},
    };

    /// Duration in turns, verified; and the bound.
    fn exchange(sizes: &[u32], length: u32) -> Option<(u64, u32)> {
        let fabric = Fabric::new(Shape::torus(sizes).unwrap());
        let demands =
            CollectiveOperation::AllToAll.phases(&Group::all(fabric.shape()), length - 1).unwrap().remove(0);
        let problem =
            Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::BalancedTies).unwrap();
        let task = Task::new(&fabric, &problem, 1);
        if !Turns::applies(&task) {
            return None;
        }
        let mut told = |_| ();
        let incumbent = Incumbent::new(&task, &mut told);
        let found =
            search(&task, &[(MethodName::Turns, 1.0)], incumbent, &mut Budget::of_moves(60_000)).unwrap();
        let placements = &found.schedule.placements;
        let packets = planned_packets(&demands, Slicing::OneInterval, &problem, placements);
        Some((verify(&fabric, &packets).unwrap(), task.bound()))
    }

    #[test]
    fn ports_lose_little_on_rings_of_up_to_four() {
        // Sizes, packet length, and how far above the bound it may end, in cycles.
        let cases: [(&[u32], u32, u64); 7] = [
            (&[4, 4], 8, 0),
            (&[3, 3, 3], 8, 1),
            (&[2, 4], 5, 1),
            (&[4, 3], 12, 2),
            (&[4, 4, 4], 8, 5),
            (&[4, 4, 2], 2, 4),
            (&[4], 8, 2),
        ];
        for (sizes, length, above) in cases {
            let (duration, bound) = exchange(sizes, length).unwrap();
            let limit = u64::from(bound) + above;
            assert!((u64::from(bound)..=limit).contains(&duration), "{sizes:?}: {duration} over {bound}");
        }
    }

    #[test]
    fn packets_of_a_turn_meet_on_longer_rings() {
        assert_eq!(exchange(&[8, 8], 8), None);
        assert_eq!(exchange(&[4, 5], 8), None);
    }
}
