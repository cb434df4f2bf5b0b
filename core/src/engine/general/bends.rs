//! `pt` where headers may turn into any dimension, and at routers of other parts: asked header by header.

use super::{
    layout::Layout,
    signals::{Shown, Signals},
};
use crate::{
    bits::{Blocks, Planes, Vector},
    fabric::{Direction, NodeId},
    throttle::{self, Ask, Turns},
    visit::{State, Visited, Visitor},
};

type PathTurnState = <throttle::PathTurn as throttle::Rule>::AtWork;

/// `pt` for headers that go any way: registers of outputs in planes, turn registers one by one.
#[derive(Clone)]
pub(super) struct Bends {
    signals: Signals,
    turns: Turns,
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
    /// Per direction: nodes that see a busy buffer among the first so many.
    close: Vec<Vec<u64>>,
}

impl Bends {
    pub(super) fn new(layout: &Layout, shown: Shown, path_turn: &PathTurnState) -> Self {
        Self {
            signals: Signals::new(layout, shown),
            turns: path_turn.turns().clone(),
            release: path_turn.release(),
            behind: path_turn.behind(),
            close: vec![vec![0; layout.words]; layout.directions],
        }
    }

    /// Numbers above it show a busy buffer just ahead.
    fn limit(&self) -> u32 {
        self.signals.length().saturating_sub(self.behind)
    }

    /// One cycle further; see [`Signals::step`].
    #[inline(always)]
    pub(super) fn step<V: Vector>(
        &mut self,
        layout: &Layout,
        held: &Blocks<V>,
        levels: &Planes,
        blocks: usize,
        count_bits: usize,
    ) {
        let limit = self.limit();
        for (direction, close) in self.close.iter_mut().enumerate() {
            for word in (0..blocks).map(|block| block * V::WORDS) {
                let mut busy = V::zero();
                for channel in 0..layout.channels {
                    let register = self.signals.register(direction, channel);
                    if self.signals.shows(register) {
                        busy = busy | self.signals.above(register, limit, word);
                    }
                }
                busy.store(&mut close[word..]);
            }
        }
        self.turn();
        self.signals.step(layout, held, levels, blocks, count_bits);
    }

    #[inline(never)]
    fn turn(&mut self) {
        let close = &self.close;
        self.turns
            .observe(|node, direction| close[direction.index()][node as usize / 64] >> (node % 64) & 1 == 1);
    }

    /// Whether a header may begin.
    pub(super) fn may_begin(&self, cycle: u64, ask: &Ask) -> bool {
        if cycle - ask.since >= self.release {
            return true;
        }
        let register = self.signals.register(ask.direction.index(), ask.channel.into());
        let shown = self.signals.shows(register)
            && self.signals.number(register, ask.node as usize)
                > self.signals.length().saturating_sub(ask.hops);
        !shown && !ask.turn.is_some_and(|turn| self.turns.is_busy(ask.node, ask.direction, ask.hops, turn))
    }

    /// Whether idle cycles may be left out.
    pub(super) fn at_rest(&self) -> bool {
        self.signals.is_clear() && self.turns.is_clear()
    }

    /// What a row tells the row of another part that is a hop against a direction.
    pub(super) fn tell(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.signals.tell(direction, first, row, words);
        let limit = self.limit();
        let close = |node: NodeId, turn: Direction| {
            let registers = self.signals.registers_of(turn.index());
            registers.into_iter().any(|register| self.signals.number(register, node as usize) > limit)
        };
        self.turns.tell(Direction::from_index(direction), first as usize, row, close, words);
    }

    /// Takes what a row of another part told.
    pub(super) fn listen(&mut self, side: usize, words: &[u64]) {
        let signals = self.turns.listen(side, words);
        self.signals.listen(side, signals);
    }
}

impl State for Bends {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of; what does not outlive a cycle.
        let Self { release: _, behind: _, signals, turns, close: _ } = self;
        signals.visit(visitor)?;
        turns.visit(visitor)
    }
}
