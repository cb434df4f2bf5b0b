//! The strategy: layouts first, then few hops, then loads.

use super::{
    Score, anneal, assignment,
    bounds::Bound,
    dice::Dice,
    layouts, linear,
    loads::Scorer,
    polish,
    problem::{Finalists, Problem, Watch},
};
use crate::fabric::NodeId;

/// Part of the effort in which hop-bytes become less once the bound of the fullest channel is met.
const POLISH: u64 = 16;

/// What a search found.
pub struct Found {
    /// The node of every rank.
    pub nodes: Vec<NodeId>,
    /// How good it is.
    pub score: Score,
    /// How good ranks in the order of the places are.
    pub row_major: Score,
    /// The best placements by score, the best one first.
    pub finalists: Vec<(Score, Vec<NodeId>)>,
    /// The part of the effort after which what counts first became no less; 0 if it is met at once.
    pub gained: f64,
    /// Channels touched: at most the effort.
    pub spent: u64,
}

/// Searches; `effort` is counted in channels touched, so the answer depends on the seed and on it, not on the machine.
///
/// The bound, if it is one on what counts first, ends the search when it is met.
pub fn search(problem: &Problem, bound: &Bound, seed: u64, effort: u64, watch: &mut Watch) -> Found {
    let mut dice = Dice::new(seed);
    let mut finalists = Finalists { best: Vec::new(), now: 0.0, gained: 0.0 };
    let ranks = problem.demand.ranks();
    let plain = problem.slots[..ranks].to_vec();
    let row_major = Scorer::new(problem.ways, problem.demand, u64::MAX).score(&plain, u64::MAX);
    let row_major = row_major.unwrap_or(Score { fullest: u64::MAX, count: 0, hops: u64::MAX });
    finalists.offer(problem, row_major, &plain);
    let met = |finalists: &Finalists| problem.is_met(&finalists.best[0].0, bound.value);
    let assigns = problem.by_hops && assignment::applies(problem);
    let mut left = effort;
    // Hops of a quadratic assignment need little structure to begin with, and a matrix has none.
    let structured = problem.axes.len() > 1;
    let begin = if structured { effort / 8 } else { effort / 64 };
    let share = if assigns { begin } else { effort * 3 / 8 };
    left -= layouts::search(problem, &mut dice, share, bound.value, watch, &mut finalists);
    watch.done = 0.4;
    finalists.now = watch.done;
    let share = if assigns { begin } else { effort / 5 };
    left -= linear::search(problem, &mut dice, share, bound.value, watch, &mut finalists);
    watch.done = 0.5;
    finalists.now = 0.5;
    // Hops first from the best layout and from anywhere, then loads from all that was found.
    if assigns {
        left -= assignment::search(problem, &mut dice, left, bound.value, watch, &mut finalists);
    } else if !met(&finalists) && ranks > 1 {
        let start = finalists.best[0].1.clone();
        let share = if problem.by_hops { left } else { left / 8 };
        left -= anneal::hops(problem, &start, &mut dice, share, watch, &mut finalists);
    }
    watch.done = if problem.by_hops { 1.0 } else { 0.6 };
    finalists.now = watch.done;
    let mut round = 0;
    let rounds = 6;
    while !problem.by_hops && round < rounds && !met(&finalists) && !watch.stopped() {
        // Half of the rounds go on from the best, the others from one of the best.
        let from = if round % 2 == 0 { 0 } else { (round / 2 + 1) % finalists.best.len() };
        let start = finalists.best[from].1.clone();
        let power = if round < rounds / 2 { 8 } else { 16 };
        let share = left / (rounds - round) as u64;
        left -= anneal::loads(problem, &start, &mut dice, share, power, bound.value, watch, &mut finalists);
        round += 1;
        watch.done = 0.6 + 0.4 * round as f64 / rounds as f64;
        finalists.now = watch.done;
    }
    if !problem.by_hops && met(&finalists) && ranks > 1 && finalists.best[0].0.hops > 0 {
        let share = left.min(effort / POLISH) / 2;
        let start = finalists.best[0].1.clone();
        left -= anneal::hops(problem, &start, &mut dice, share, watch, &mut finalists);
        let start = finalists.best[0].1.clone();
        left -= polish::search(problem, &start, &mut dice, share, watch, &mut finalists);
    }
    let (score, nodes) = finalists.best[0].clone();
    let spent = effort - left;
    Found { nodes, score, row_major, gained: finalists.gained, finalists: finalists.best, spent }
}
