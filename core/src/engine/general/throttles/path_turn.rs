//! `pt` in words, where headers go in dimension order.

use super::{
    busy_registers::{BusyRegisters, Shown, first_channels},
    in_words::{Around, InWords, Made},
};
use crate::{
    bits::{Blocks, Vector, ones, words, words_mut},
    engine::general::layout::{Layout, Place},
    fabric::Sign,
    throttle::{self, Ask},
    visit::{NodeBits, State, Visited, Visitor},
};
use std::collections::VecDeque;

/// Where a packet turns.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// The bit of its router and the direction it turns into, of what is told of turns in a cycle.
    place: u32,
    hops: u16,
}

impl Turn {
    /// Where a header turns that waits at a node, if into a higher dimension and within the bits of a register.
    fn of(layout: &Layout, ask: &Ask, length: u32) -> Option<Self> {
        let (node, dimension) = (ask.node as usize, ask.direction.dimension());
        let turn = ask.turn.filter(|turn| turn.dimension() > dimension && ask.hops <= length)?;
        // The last dimension has none behind it, so the node is in the same part.
        let (size, here) = (layout.shape.size(dimension), layout.coordinate(node, dimension));
        // Routes may go round a ring; divisions take long.
        let hops = if ask.hops < size { ask.hops } else { ask.hops % size };
        let there = match ask.direction.sign() {
            Sign::Plus if here + hops < size => here + hops,
            Sign::Plus => here + hops - size,
            Sign::Minus if here >= hops => here - hops,
            Sign::Minus => here + size - hops,
        };
        let distance = (i64::from(there) - i64::from(here)) * i64::from(layout.shape.stride(dimension));
        let node = (node as i64 + distance) as usize;
        let place = ((turn.index() - 2) * layout.words * 64 + node) as u32;
        Some(Self { place, hops: ask.hops as u16 })
    }
}

/// Headers are held while a buffer on their own path to their turn is busy, or one of the first behind it, but
/// not longer than the release.
#[derive(Clone)]
pub(in crate::engine::general) struct PathInOrder<V> {
    registers: BusyRegisters,
    /// Whether it is asked in words.
    in_words: bool,
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
    second: Vec<Vec<u64>>,
    /// Per processor queue: bits of a register beyond the hops of its header's first dimension, bit by
    /// bit; numbers above show busy buffers on the path.
    beyond: Blocks<V>,
    /// Per processor queue: its header turns into the next dimension within a register's length.
    turns: Blocks<V>,
    /// Per processor queue: its header has waited long enough.
    released: Blocks<V>,
    /// Where it does, queue by queue.
    turn: Vec<Turn>,
    /// When headers have waited long enough, with their processor queues.
    due: VecDeque<(u64, u32)>,
    /// By cycle modulo the number of slots, a power of two and no less than the length, and direction of the
    /// second dimension on: routers with busy buffers just ahead in that direction; whether there are any in
    /// a cycle.
    rings: Vec<u64>,
    turned: Vec<bool>,
    /// This cycle modulo the number of slots.
    slot: usize,
    /// Directions of the second dimension on.
    into: usize,
}

impl<V: Vector> PathInOrder<V> {
    /// What is told of turns in a cycle, from the registers of the last one.
    #[inline(always)]
    fn update_turns(&mut self, layout: &Layout, cycle: u64, blocks: usize) {
        let slot = cycle as usize & (self.turned.len() - 1);
        self.slot = slot;
        let limit = self.registers.length().saturating_sub(self.behind);
        let (into, mut told) = (layout.directions - 2, false);
        for direction in 2..layout.directions {
            let plane = (slot * into + direction - 2) * layout.words;
            let plane = &mut self.rings[plane..plane + layout.words];
            let registers = &self.registers;
            let of_direction = registers.registers_of(direction);
            let shown = of_direction.filter(|&register| registers.shows(register));
            if shown.clone().next().is_none() {
                if self.turned[slot] {
                    plane.fill(0);
                }
                continue;
            }
            for word in (0..blocks).map(|block| block * V::WORDS) {
                let mut busy = V::zero();
                for register in shown.clone() {
                    busy = busy | registers.above(register, limit, word);
                }
                told |= busy.any();
                busy.store(&mut plane[word..]);
            }
        }
        self.turned[slot] = told;
    }

    /// Headers that have waited long enough by a cycle.
    fn let_go(&mut self, around: &impl Around<V>) {
        let layout = around.layout();
        while let Some(&(due, line)) = self.due.front() {
            if due > around.cycle() {
                break;
            }
            self.due.pop_front();
            let (node, queue) =
                (line as usize / layout.processor_queues, line as usize % layout.processor_queues);
            if around.waits_for(Place::new(node, layout.link_queues + queue)).0 + self.release == due {
                self.released.set(queue, node, true);
            }
        }
    }

    /// Whether a busy buffer behind a turn is known.
    #[inline(always)]
    fn is_told(&self, layout: &Layout, turn: Turn) -> bool {
        // Nothing was told before the first cycle.
        let slot = (self.slot + 1).wrapping_sub(turn.hops.into()) & (self.turned.len() - 1);
        let first = slot * self.into * layout.words;
        self.rings[first + turn.place as usize / 64] >> (turn.place % 64) & 1 == 1
    }

    /// Of headers that turn, those of whom a busy buffer behind the turn is known.
    #[inline(always)]
    fn behind_turns(&self, layout: &Layout, asked: V, word: usize, queue: usize) -> V {
        let mut held = V::zero();
        let turns = &self.turn[queue * layout.nodes..(queue + 1) * layout.nodes];
        let asked = words(std::slice::from_ref(&asked));
        for ((word, &bits), held) in (word..).zip(asked).zip(words_mut(std::slice::from_mut(&mut held))) {
            for bit in ones(bits) {
                *held |= u64::from(self.is_told(layout, turns[word * 64 + bit])) << bit;
            }
        }
        held
    }
}

impl<V: Vector> InWords<V> for PathInOrder<V> {
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self> {
        let throttle::State::PathTurn(path_turn) = state else { return None };
        // Others may turn at routers of other parts, of which words know nothing.
        if path_turn.settings().shared || !made.ordered {
            return None;
        }
        let layout = made.layout;
        let shown = Shown::of(path_turn.settings(), true, true);
        let registers = BusyRegisters::new(layout, shown);
        let queues = layout.processor_queues;
        let planes = |count| Blocks::new(made.blocks, count, V::zero());
        let into = layout.directions - 2;
        let slots = (shown.length as usize).next_power_of_two();
        Some(Self {
            release: path_turn.release(),
            behind: path_turn.behind(),
            second: first_channels(layout),
            beyond: planes(queues * registers.bits),
            turns: planes(queues),
            released: planes(queues),
            turn: vec![Turn::default(); queues * layout.nodes],
            due: VecDeque::new(),
            rings: vec![0; slots * into * layout.words],
            turned: vec![false; slots],
            slot: 0,
            into,
            registers,
            in_words: made.by_direction,
        })
    }

    #[inline(always)]
    fn observe(&mut self, around: &impl Around<V>) {
        let flits = around.flits();
        self.update_turns(around.layout(), around.cycle(), flits.blocks);
        self.registers.step(around.layout(), flits);
        self.let_go(around);
    }

    #[inline(always)]
    fn may(&self, around: &impl Around<V>, pending: V, block: usize, queue: usize) -> Option<V> {
        if !self.in_words {
            return None;
        }
        let layout = around.layout();
        let (bits, word) = (self.registers.bits, block * V::WORDS);
        let [first, second] =
            [0, 1].map(|channel| self.registers.register(queue, channel.min(layout.channels - 1)));
        let mut may = pending;
        if self.registers.shows(first) || self.registers.shows(second) {
            let beyond = &self.beyond.block(block)[queue * bits..(queue + 1) * bits];
            let rises = V::load(&self.second[queue][word..]);
            let mut held = V::zero();
            for (bit, &beyond) in beyond.iter().enumerate() {
                let number = rises.select(
                    V::load(&self.registers.plane(second, bit)[word..]),
                    V::load(&self.registers.plane(first, bit)[word..]),
                );
                held = number & !beyond | held & !(number ^ beyond);
            }
            may = may & !held;
        }
        let asked = may & self.turns.block(block)[queue];
        if asked.any() && self.turned.contains(&true) {
            may = may & !self.behind_turns(layout, asked, word, queue);
        }
        Some(may | pending & self.released.block(block)[queue])
    }

    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool {
        let ask = around.path(place, output);
        if around.cycle() - ask.since >= self.release {
            return true;
        }
        let length = self.registers.length();
        let register = self.registers.register(ask.direction.index(), ask.channel.into());
        if self.registers.number(register, ask.node as usize) > length.saturating_sub(ask.hops) {
            return false;
        }
        !Turn::of(around.layout(), &ask, length).is_some_and(|turn| self.is_told(around.layout(), turn))
    }

    fn keeps_headers(&self) -> bool {
        self.in_words
    }

    fn wait(&mut self, layout: &Layout, place: Place, ask: &Ask) {
        let (node, queue) = (place.node(), place.index() - layout.link_queues);
        let (line, length) = (layout.line(node, place.index()), self.registers.length());
        let beyond = length.saturating_sub(ask.hops);
        for bit in 0..self.registers.bits {
            self.beyond.set(queue * self.registers.bits + bit, node, beyond >> bit & 1 == 1);
        }
        let turn = Turn::of(layout, ask, length);
        self.turns.set(queue, node, turn.is_some());
        self.released.set(queue, node, false);
        self.turn[queue * layout.nodes + node] = turn.unwrap_or_default();
        self.due.push_back((ask.since + self.release, line as u32));
    }

    fn at_rest(&self) -> bool {
        self.registers.is_clear() && !self.turned.contains(&true)
    }

    fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.registers.send_halo(direction, first, row, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.registers.receive_halo(side, words);
    }
}

/// Planes of so many words each.
struct Rings<'a>(&'a mut [u64], usize);

impl NodeBits for Rings<'_> {
    fn planes(&self) -> usize {
        self.0.len() / self.1
    }

    fn word_of(&mut self, plane: usize, word: usize) -> &mut u64 {
        &mut self.0[plane * self.1 + word]
    }

    fn saved_words(&self, _nodes: usize) -> usize {
        self.1
    }
}

impl<V: Vector> State for PathInOrder<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of, and the slot of a cycle.
        let Self {
            release: _,
            in_words: _,
            behind: _,
            second: _,
            into,
            slot: _,
            registers,
            rings,
            turned,
            due,
            beyond,
            turns,
            released,
            turn,
        } = self;
        // What follows from the pending headers.
        let _ = (beyond, turns, released, turn);
        registers.visit(visitor)?;
        let words = rings.len() / (turned.len() * *into).max(1);
        visitor.bits("turns told", &mut Rings(rings, words.max(1)))?;
        if visitor.changes() {
            let slot = rings.len() / turned.len();
            for (turned, ring) in turned.iter_mut().zip(rings.chunks(slot.max(1))) {
                *turned = ring.iter().any(|&word| word != 0);
            }
            due.clear();
        }
        Ok(())
    }
}
