//! The test-only throttle `even` in words: this file and a line in the list.

use super::in_words::{Around, InWords, Made};
use crate::{
    bits::Vector,
    engine::general::layout::Place,
    throttle,
    visit::{State, Visited, Visitor},
};
use std::marker::PhantomData;

/// Headers leave in even cycles only.
#[derive(Clone)]
pub(in crate::engine::general) struct EvenCycles<V> {
    /// Whether they leave in cycle 0, 2, ...
    even: bool,
    vectors: PhantomData<V>,
}

impl<V> EvenCycles<V> {
    fn lets_go(&self, cycle: u64) -> bool {
        cycle.is_multiple_of(2) == self.even
    }
}

impl<V: Vector> InWords<V> for EvenCycles<V> {
    fn of(state: &throttle::State, _made: &Made<'_>) -> Option<Self> {
        let throttle::State::EvenCycles(state) = state else { return None };
        Some(Self { even: state.lets_go(0), vectors: PhantomData })
    }

    fn may(&self, around: &impl Around<V>, pending: V, _block: usize, _queue: usize) -> Option<V> {
        Some(if self.lets_go(around.cycle()) { pending } else { V::zero() })
    }

    fn may_begin(&self, around: &impl Around<V>, _place: Place, _output: usize) -> bool {
        self.lets_go(around.cycle())
    }
}

impl<V> State for EvenCycles<V> {
    fn visit(&mut self, _visitor: &mut impl Visitor) -> Visited {
        Ok(())
    }
}
