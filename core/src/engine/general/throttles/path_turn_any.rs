//! `pt` where headers may turn into any dimension, and at routers of other parts: registers in words, asked header by header.

use super::{
    busy_registers::{BusyRegisters, Shown},
    in_words::{Around, InWords, Made},
};
use crate::{
    bits::Vector,
    engine::general::layout::Place,
    fabric::{Direction, NodeId},
    throttle::{self, Turns},
    visit::{State, Visited, Visitor},
};
use std::marker::PhantomData;

/// Registers of outputs in planes, turn registers one by one.
#[derive(Clone)]
pub(in crate::engine::general) struct AnyPath<V> {
    registers: BusyRegisters,
    turns: Turns,
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
    /// Per direction: nodes that see a busy buffer among the first so many.
    close: Vec<Vec<u64>>,
    vectors: PhantomData<V>,
}

impl<V: Vector> AnyPath<V> {
    /// Numbers above it show a busy buffer just ahead.
    fn limit(&self) -> u32 {
        self.registers.length().saturating_sub(self.behind)
    }

    #[inline(never)]
    fn turn(&mut self) {
        let close = &self.close;
        self.turns
            .observe(|node, direction| close[direction.index()][node as usize / 64] >> (node % 64) & 1 == 1);
    }
}

impl<V: Vector> InWords<V> for AnyPath<V> {
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
        let throttle::State::PathTurn(path_turn) = state else { return None };
        let (settings, layout) = (path_turn.settings(), made.layout);
        (!settings.shared).then(|| Self {
            registers: BusyRegisters::new(layout, Shown::of(settings, true, true)),
            turns: path_turn.turns().clone(),
            release: path_turn.release(),
            behind: path_turn.behind(),
            close: vec![vec![0; layout.words]; layout.directions],
            vectors: PhantomData,
        })
    }

    #[inline(always)]
    fn observe(&mut self, around: &impl Around<V>) {
        let (layout, flits, limit) = (around.layout(), around.flits(), self.limit());
        for (direction, close) in self.close.iter_mut().enumerate() {
            for word in (0..flits.blocks).map(|block| block * V::WORDS) {
                let mut busy = V::zero();
                for channel in 0..layout.channels {
                    let register = self.registers.register(direction, channel);
                    if self.registers.shows(register) {
                        busy = busy | self.registers.above(register, limit, word);
                    }
                }
                busy.store(&mut close[word..]);
            }
        }
        self.turn();
        self.registers.step(layout, flits);
    }

    #[inline(always)]
    fn may(&self, _around: &impl Around<V>, _pending: V, _block: usize, _queue: usize) -> Option<V> {
        None
    }

    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
        let ask = around.path(place, output);
        if around.cycle() - ask.since >= self.release {
            return true;
        }
        let register = self.registers.register(ask.direction.index(), ask.channel.into());
        let shown = self.registers.shows(register)
            && self.registers.number(register, ask.node as usize)
                > self.registers.length().saturating_sub(ask.hops);
        !shown && !ask.turn.is_some_and(|turn| self.turns.is_busy(ask.node, ask.direction, ask.hops, turn))
    }

    fn at_rest(&self) -> bool {
        self.registers.is_clear() && self.turns.is_clear()
    }

    fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.registers.send_halo(direction, first, row, words);
        let limit = self.limit();
        let close = |node: NodeId, turn: Direction| {
            let registers = self.registers.registers_of(turn.index());
            registers.into_iter().any(|register| self.registers.number(register, node as usize) > limit)
        };
        self.turns.send_halo(Direction::from_index(direction), first as usize, row, close, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        let registers = self.turns.receive_halo(side, words);
        self.registers.receive_halo(side, registers);
    }
}

impl<V> State for AnyPath<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of; what does not outlive a cycle.
        let Self { release: _, behind: _, registers, turns, close: _, vectors: _ } = self;
        registers.visit(visitor)?;
        turns.visit(visitor)
    }
}
