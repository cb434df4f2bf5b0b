//! The strategy: layouts first, then few hops, then loads.

use super::{Demand, Score, Ways, anneal, bounds::Bound, dice::Dice, layouts, linear, loads::Scorer};
use crate::fabric::NodeId;

/// What is to be placed where.
pub struct Problem<'a> {
    /// Ways of all pairs of nodes.
    pub ways: &'a Ways,
    /// Traffic between ranks.
    pub demand: &'a Demand,
    /// The node of every place that a rank can have; a node with several places stands there several times.
    pub slots: &'a [NodeId],
    /// Sizes of the logical mesh that the ranks are, first axis fastest; their product is the number of ranks.
    pub axes: Vec<u32>,
    /// Whether hop-bytes count first, instead of the fullest channel.
    pub by_hops: bool,
}

impl Problem<'_> {
    /// What is compared: less is better.
    pub(super) fn key(&self, score: &Score) -> (u64, u64, u64) {
        if self.by_hops {
            (score.hops, score.fullest, u64::from(score.count))
        } else {
            (score.fullest, u64::from(score.count), score.hops)
        }
    }

    /// Whether a bound says that nothing is better in what counts first.
    pub(super) fn is_met(&self, score: &Score, bound: u64) -> bool {
        self.key(score).0 <= bound
    }
}

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
}

/// Who is asked whether to go on, and told how far the search is.
pub struct Watch<'a> {
    should_stop: &'a dyn Fn(f64) -> bool,
    calls: u32,
    over: bool,
    /// Part of the whole effort that is done.
    pub(super) done: f64,
}

impl<'a> Watch<'a> {
    /// `should_stop` is told the part of the effort that is done, now and then.
    pub fn new(should_stop: &'a dyn Fn(f64) -> bool) -> Self {
        Self { should_stop, calls: 0, over: false, done: 0.0 }
    }

    pub(super) fn stopped(&mut self) -> bool {
        self.calls += 1;
        if self.calls.is_multiple_of(32) {
            self.over |= (self.should_stop)(self.done);
        }
        self.over
    }
}

/// The best placements so far, of different scores.
pub(super) struct Finalists {
    pub(super) best: Vec<(Score, Vec<NodeId>)>,
    /// Part of the effort that is done now, and that was when what counts first became less for the last time.
    pub(super) now: f64,
    pub(super) gained: f64,
}

impl Finalists {
    const KEPT: usize = 4;

    pub(super) fn offer(&mut self, problem: &Problem, score: Score, nodes: &[NodeId]) {
        let at = self.best.partition_point(|(other, _)| problem.key(other) < problem.key(&score));
        if at >= Self::KEPT || self.best.get(at).is_some_and(|(other, _)| *other == score) {
            return;
        }
        if at == 0 && self.best.first().is_none_or(|(best, _)| problem.key(&score).0 < problem.key(best).0) {
            self.gained = self.now;
        }
        self.best.insert(at, (score, nodes.to_vec()));
        self.best.truncate(Self::KEPT);
    }
}

/// Searches; `effort` is counted in channels touched, so the answer depends on the seed and on it, not on the machine.
///
/// The bound, if it is one on what counts first, ends the search when it is met.
pub fn search(problem: &Problem, bound: &Bound, seed: u64, effort: u64, watch: &mut Watch) -> Found {
    let mut dice = Dice::new(seed);
    let mut finalists = Finalists { best: Vec::new(), now: 0.0, gained: 0.0 };
    let ranks = problem.demand.ranks();
    let plain = problem.slots[..ranks].to_vec();
    let row_major = Scorer::new(problem.ways, problem.demand).score(&plain, u64::MAX).unwrap_or(Score {
        fullest: u64::MAX,
        count: 0,
        hops: u64::MAX,
    });
    finalists.offer(problem, row_major, &plain);
    let met = |finalists: &Finalists| problem.is_met(&finalists.best[0].0, bound.value);
    layouts::search(problem, &mut dice, effort / 2, bound.value, watch, &mut finalists);
    watch.done = 0.4;
    finalists.now = watch.done;
    linear::search(problem, &mut dice, effort / 4, bound.value, watch, &mut finalists);
    let mut left = effort - effort / 2;
    watch.done = 0.5;
    finalists.now = 0.5;
    // Hops first from the best layout and from anywhere, then loads from all that was found.
    if !met(&finalists) && ranks > 1 {
        let start = finalists.best[0].1.clone();
        let share = if problem.by_hops { left } else { left / 8 };
        anneal::hops(problem, &start, &mut dice, share, watch, &mut finalists);
        left -= share;
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
        anneal::loads(
            problem,
            &start,
            &mut dice,
            left / rounds as u64,
            power,
            bound.value,
            watch,
            &mut finalists,
        );
        round += 1;
        watch.done = 0.6 + 0.4 * round as f64 / rounds as f64;
        finalists.now = watch.done;
    }
    let (score, nodes) = finalists.best[0].clone();
    Found { nodes, score, row_major, gained: finalists.gained, finalists: finalists.best }
}
