//! `pace` in words.

use super::in_words::{Around, InWords, Made};
use crate::{
    bits::{Blocks, Vector},
    engine::general::layout::Place,
    fabric::NodeId,
    throttle::{self, AtWork as _},
    visit::{State, Visited, Visitor},
};
use std::collections::VecDeque;

type PaceState = <throttle::Pace as throttle::Rule>::AtWork;

/// Nodes that had a grant rest for a while.
#[derive(Clone)]
pub(in crate::engine::general) struct Resting<V> {
    pace: PaceState,
    /// Nodes that rest.
    resting: Blocks<V>,
    /// When they do no longer.
    due: VecDeque<(u64, u32)>,
}

impl<V: Vector> Resting<V> {
    /// Who rests, from when everybody may begin.
    fn derive(&mut self) {
        let mut due: Vec<(u64, u32)> =
            (0..).zip(self.pace.next()).map(|(node, &next)| (next, node)).collect();
        due.retain(|&(next, _)| next > 0);
        due.sort_unstable();
        due.iter().for_each(|&(_, node)| self.resting.set(0, node as usize, true));
        self.due = due.into();
    }
}

impl<V: Vector> InWords<V> for Resting<V> {
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
        let throttle::State::Pace(pace) = state else { return None };
        let resting = Blocks::new(made.blocks, 1, V::zero());
        let mut throttle = Self { pace: pace.clone(), resting, due: VecDeque::new() };
        throttle.derive();
        Some(throttle)
    }

    #[inline(always)]
    fn observe(&mut self, around: &impl Around<V>) {
        while let Some(&(due, node)) = self.due.front() {
            if due > around.cycle() {
                break;
            }
            self.due.pop_front();
            // It may have been granted another one since, which is due later.
            if self.pace.next()[node as usize] <= around.cycle() {
                self.resting.set(0, node as usize, false);
            }
        }
    }

    #[inline(always)]
    fn may(&self, _around: &impl Around<V>, pending: V, block: usize, _queue: usize) -> Option<V> {
        Some(pending & !self.resting.block(block)[0])
    }

    fn may_begin(&self, _around: &impl Around<V>, place: Place, _output: usize) -> bool {
        !self.resting.bit(0, place.node())
    }

    fn holds_everything(&self, _cycle: u64, node: usize) -> bool {
        self.resting.bit(0, node)
    }

    fn granted(&mut self, cycle: u64, node: NodeId) {
        self.pace.granted(cycle, node);
        self.resting.set(0, node as usize, true);
        self.due.push_back((self.pace.next()[node as usize], node));
    }
}

impl<V: Vector> State for Resting<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // Which nodes rest follows.
        let Self { pace, resting: _, due: _ } = self;
        pace.visit(visitor)?;
        if visitor.changes() {
            self.derive();
        }
        Ok(())
    }
}
