//! `spth` in words.

use super::{
    busy_registers::{BusyRegisters, Shown, first_channels},
    in_words::{Around, InWords, Made},
};
use crate::{
    bits::Vector,
    engine::general::layout::Place,
    throttle,
    visit::{State, Visited, Visitor},
};
use std::marker::PhantomData;

/// Headers are held while any buffer on the line ahead of their first hop is busy.
#[derive(Clone)]
pub(in crate::engine::general) struct LineAhead<V> {
    registers: BusyRegisters,
    /// Per channel, else of all.
    apart: bool,
    /// Whether it is asked in words.
    in_words: bool,
    second: Vec<Vec<u64>>,
    vectors: PhantomData<V>,
}

impl<V: Vector> LineAhead<V> {
    /// Nodes that know of a busy buffer. No closure: those are not compiled for the instruction set.
    #[inline(always)]
    fn busy(&self, direction: usize, channel: usize, word: usize) -> V {
        let register = self.registers.register(direction, channel);
        if self.registers.shows(register) { self.registers.above(register, 0, word) } else { V::zero() }
    }
}

impl<V: Vector> InWords<V> for LineAhead<V> {
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
        let throttle::State::Spth(spth) = state else { return None };
        let (settings, layout) = (spth.settings(), made.layout);
        let shown = Shown::of(settings, spth.is_own(), false);
        (!settings.shared).then(|| Self {
            registers: BusyRegisters::new(layout, shown),
            apart: shown.apart,
            in_words: made.by_direction,
            second: first_channels(layout),
            vectors: PhantomData,
        })
    }

    #[inline(always)]
    fn observe(&mut self, around: &impl Around<V>) {
        self.registers.step(around.layout(), around.flits());
    }

    #[inline(always)]
    fn may(&self, _around: &impl Around<V>, pending: V, block: usize, queue: usize) -> Option<V> {
        if !self.in_words {
            return None;
        }
        let word = block * V::WORDS;
        let mut held = self.busy(queue, 0, word);
        if self.apart {
            let second = V::load(&self.second[queue][word..]);
            if second.any() {
                held = second.select(self.busy(queue, 1, word), held);
            }
        }
        Some(pending & !held)
    }

    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
        let layout = around.layout();
        let register = self.registers.register(layout.port_of_output(output), output % layout.channels);
        self.registers.number(register, place.node()) == 0
    }

    fn at_rest(&self) -> bool {
        self.registers.is_clear()
    }

    fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.registers.send_halo(direction, first, row, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.registers.receive_halo(side, words);
    }
}

impl<V> State for LineAhead<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of.
        let Self { registers, apart: _, in_words: _, second: _, vectors: _ } = self;
        registers.visit(visitor)
    }
}
