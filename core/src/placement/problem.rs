//! What a search is about: the problem, who may end it, and the best placements so far.

use super::{Demand, Score, Ways};
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
