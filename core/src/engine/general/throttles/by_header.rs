//! Any throttle, asked header by header.

use super::in_words::{Around, InWords, Made};
use crate::{
    bits::Vector,
    engine::general::layout::Place,
    fabric::{Direction, NodeId},
    throttle,
    visit::{State, Visited, Visitor},
};
use std::marker::PhantomData;

/// The state machine of a throttle.
#[derive(Clone)]
pub(in crate::engine::general) struct ByHeader<V> {
    state: throttle::State,
    vectors: PhantomData<V>,
}

impl<V: Vector> InWords<V> for ByHeader<V> {
    fn of(state: &throttle::State, _made: &Made<'_>) -> Option<Self> {
        Some(Self { state: state.clone(), vectors: PhantomData })
    }

    fn observe(&mut self, around: &impl Around<V>) {
        self.state.observe(around.cycle(), around.sums(), around);
    }

    #[inline(always)]
    fn may(&self, around: &impl Around<V>, pending: V, _block: usize, _queue: usize) -> Option<V> {
        let all = self.state.all_may_begin(around.cycle())?;
        Some(if all { pending } else { V::zero() })
    }

    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
        let asks = self.state.asks_the_way();
        let ask = if asks { around.path(place, output) } else { around.first_hop(place, output) };
        self.state.may_begin(around.cycle(), &ask, around)
    }

    fn holds_everything(&self, cycle: u64, _node: usize) -> bool {
        self.state.all_may_begin(cycle) == Some(false)
    }

    fn granted(&mut self, cycle: u64, node: NodeId) {
        self.state.granted(cycle, node);
    }

    fn at_rest(&self) -> bool {
        self.state.at_rest()
    }

    fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.state.send_halo(Direction::from_index(direction), first as usize, row, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.state.receive_halo(side, words);
    }

    fn asks_for_sums(&self, cycle: u64) -> Option<bool> {
        self.state.asks_for_sums(cycle).then(|| self.state.has_held())
    }
}

impl<V> State for ByHeader<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { state, vectors: _ } = self;
        state.visit(visitor)
    }
}
