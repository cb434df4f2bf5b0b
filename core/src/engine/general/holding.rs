//! Throttles in words: who of the pending headers may begin, a vector of routers at a time.
//!
//! Every throttle works as the state machine that it is ([`throttle::State`]), asked header by header.
//! The two that go by busy buffers ahead have their registers in planes here, which costs a tenth of that:
//! `spth` and `pt`. Where headers go in dimension order and wait by direction, both are asked in words; so is
//! `alo`, and `pace` everywhere. They decide the same.

use super::{
    bends::Bends,
    layout::{Layout, Place},
    masks::{Pauses, Useful},
    signals::{Shown, Signals},
};
use crate::{
    bits::{Blocks, Vector, ones, words, words_mut},
    fabric::Sign,
    throttle::{self, Ask, RegisterSettings},
    visit::{NodeBits, State, Visited, Visitor},
};
use std::collections::VecDeque;

type PathTurnState = <throttle::PathTurn as throttle::Rule>::AtWork;

/// How a throttle is asked.
#[derive(Clone)]
pub(super) enum Rule<V> {
    /// Header by header.
    State(throttle::State),
    /// No busy buffer on the line ahead.
    Lines(Lines),
    /// No busy buffer on the packet's own path.
    Paths(Box<Paths<V>>),
    /// The same, whichever way that goes.
    Bends(Box<Bends>),
    /// No grant for some time.
    Pauses(Box<Pauses<V>>),
    /// A free channel.
    Useful(Box<Useful>),
}

impl<V: Vector> Rule<V> {
    /// The rule of a throttle, where all headers go in dimension order or not.
    pub(super) fn new(state: throttle::State, layout: &Layout, blocks: usize, ordered: bool) -> Self {
        match state {
            throttle::State::Spth(spth) if !spth.settings().shared => {
                let settings = spth.settings();
                let shown = shown(settings, spth.is_own(), false);
                Self::Lines(Lines::new(layout, shown))
            }
            throttle::State::PathTurn(path_turn) if !path_turn.settings().shared => {
                let shown = shown(path_turn.settings(), true, true);
                if ordered {
                    Self::Paths(Box::new(Paths::new(layout, shown, &path_turn, blocks)))
                } else {
                    // They may turn at routers of other parts, of which words know nothing.
                    Self::Bends(Box::new(Bends::new(layout, shown, &path_turn)))
                }
            }
            throttle::State::Pace(pace) => Self::Pauses(Box::new(Pauses::new(pace, blocks))),
            throttle::State::Alo(alo) => {
                Self::Useful(Box::new(Useful::new(alo, layout, first_channels(layout))))
            }
            state => Self::State(state),
        }
    }

    /// Whether idle cycles may be left out.
    pub(super) fn at_rest(&self) -> bool {
        match self {
            Self::State(state) => state.at_rest(),
            Self::Lines(lines) => lines.signals.is_clear(),
            Self::Paths(paths) => paths.signals.is_clear() && !paths.turned.contains(&true),
            Self::Bends(bends) => bends.at_rest(),
            Self::Pauses(_) | Self::Useful(_) => true,
        }
    }
}

fn shown(settings: RegisterSettings, apart: bool, following: bool) -> Shown {
    Shown { margin: settings.margin.into(), length: settings.length.into(), apart, following }
}

/// By direction and node: whether a first hop is in channel 1, since it crosses a dateline.
fn first_channels(layout: &Layout) -> Vec<Vec<u64>> {
    let of = |direction| {
        let mut plane = vec![0; layout.words];
        for node in 0..layout.nodes {
            let second = layout.first_channel(node, direction) > 0;
            plane[node / 64] |= u64::from(second) << (node % 64);
        }
        plane
    };
    (0..layout.directions).map(of).collect()
}

/// `spth`: headers are held while any buffer on the line ahead of their first hop is busy.
#[derive(Clone)]
pub(super) struct Lines {
    pub signals: Signals,
    apart: bool,
    second: Vec<Vec<u64>>,
}

impl Lines {
    fn new(layout: &Layout, shown: Shown) -> Self {
        Self { signals: Signals::new(layout, shown), apart: shown.apart, second: first_channels(layout) }
    }

    /// Of pending headers whose first hop is in a direction, those that may begin.
    #[inline(always)]
    pub(super) fn may<V: Vector>(&self, pending: V, direction: usize, word: usize) -> V {
        let mut held = self.busy::<V>(direction, 0, word);
        if self.apart {
            let second = V::load(&self.second[direction][word..]);
            if second.any() {
                held = second.select(self.busy(direction, 1, word), held);
            }
        }
        pending & !held
    }

    /// Nodes that know of a busy buffer. No closure: those are not compiled for the instruction set.
    #[inline(always)]
    fn busy<V: Vector>(&self, direction: usize, channel: usize, word: usize) -> V {
        let register = self.signals.register(direction, channel);
        if self.signals.shows(register) { self.signals.above(register, 0, word) } else { V::zero() }
    }

    /// The same of a single header.
    pub(super) fn may_begin(&self, node: usize, direction: usize, channel: usize) -> bool {
        self.signals.number(self.signals.register(direction, channel), node) == 0
    }
}

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

/// `pt`: headers are held while a buffer on their own way to their turn is busy, or one of the first
/// behind it, but not longer than the release.
#[derive(Clone)]
pub(super) struct Paths<V> {
    pub signals: Signals,
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

impl<V: Vector> Paths<V> {
    fn new(layout: &Layout, shown: Shown, path_turn: &PathTurnState, blocks: usize) -> Self {
        let signals = Signals::new(layout, shown);
        let queues = layout.processor_queues;
        let planes = |count| Blocks::new(blocks, count, V::zero());
        let into = layout.directions - 2;
        let slots = (shown.length as usize).next_power_of_two();
        Self {
            release: path_turn.release(),
            behind: path_turn.behind(),
            second: first_channels(layout),
            beyond: planes(queues * signals.bits),
            turns: planes(queues),
            released: planes(queues),
            turn: vec![Turn::default(); queues * layout.nodes],
            due: VecDeque::new(),
            rings: vec![0; slots * into * layout.words],
            turned: vec![false; slots],
            slot: 0,
            into,
            signals,
        }
    }

    /// A header waits in a processor queue.
    pub(super) fn wait(&mut self, layout: &Layout, place: Place, ask: &Ask) {
        let (node, queue) = (place.node(), place.index() - layout.link_queues);
        let (line, length) = (layout.line(node, place.index()), self.signals.length());
        let beyond = length.saturating_sub(ask.hops);
        for bit in 0..self.signals.bits {
            self.beyond.set(queue * self.signals.bits + bit, node, beyond >> bit & 1 == 1);
        }
        let turn = Turn::of(layout, ask, length);
        self.turns.set(queue, node, turn.is_some());
        self.released.set(queue, node, false);
        self.turn[queue * layout.nodes + node] = turn.unwrap_or_default();
        self.due.push_back((ask.since + self.release, line as u32));
    }

    /// What is told of turns in a cycle, from the registers of the last one.
    #[inline(always)]
    pub(super) fn tell_turns(&mut self, layout: &Layout, cycle: u64, blocks: usize) {
        let slot = cycle as usize & (self.turned.len() - 1);
        self.slot = slot;
        let limit = self.signals.length().saturating_sub(self.behind);
        let (into, mut told) = (layout.directions - 2, false);
        for direction in 2..layout.directions {
            let plane = (slot * into + direction - 2) * layout.words;
            let plane = &mut self.rings[plane..plane + layout.words];
            let signals = &self.signals;
            let registers = (0..layout.channels).map(|channel| signals.register(direction, channel));
            let shown = registers.filter(|&register| signals.shows(register));
            if shown.clone().next().is_none() {
                if self.turned[slot] {
                    plane.fill(0);
                }
                continue;
            }
            for word in (0..blocks).map(|block| block * V::WORDS) {
                let mut busy = V::zero();
                for register in shown.clone() {
                    busy = busy | signals.above(register, limit, word);
                }
                told |= busy.any();
                busy.store(&mut plane[word..]);
            }
        }
        self.turned[slot] = told;
    }

    /// Headers that have waited long enough by a cycle; `since` says since when a processor queue's
    /// pending header waits.
    pub(super) fn let_go(&mut self, layout: &Layout, cycle: u64, since: &[u64]) {
        while let Some(&(due, line)) = self.due.front() {
            if due > cycle {
                break;
            }
            self.due.pop_front();
            let (node, queue) =
                (line as usize / layout.processor_queues, line as usize % layout.processor_queues);
            if since[line as usize] + self.release == due {
                self.released.set(queue, node, true);
            }
        }
    }

    /// Of pending headers of a processor queue, those that may begin.
    #[inline(always)]
    pub(super) fn may(&self, layout: &Layout, pending: V, block: usize, queue: usize) -> V {
        let (bits, word) = (self.signals.bits, block * V::WORDS);
        let [first, second] =
            [0, 1].map(|channel| self.signals.register(queue, channel.min(layout.channels - 1)));
        let mut may = pending;
        if self.signals.shows(first) || self.signals.shows(second) {
            let beyond = &self.beyond.block(block)[queue * bits..(queue + 1) * bits];
            let rises = V::load(&self.second[queue][word..]);
            let mut held = V::zero();
            for (bit, &beyond) in beyond.iter().enumerate() {
                let number = rises.select(
                    V::load(&self.signals.plane(second, bit)[word..]),
                    V::load(&self.signals.plane(first, bit)[word..]),
                );
                held = number & !beyond | held & !(number ^ beyond);
            }
            may = may & !held;
        }
        let asked = may & self.turns.block(block)[queue];
        if asked.any() && self.turned.contains(&true) {
            may = may & !self.behind_turns(layout, asked, word, queue);
        }
        may | pending & self.released.block(block)[queue]
    }

    /// The same of a single header, in any queue.
    pub(super) fn may_begin(&self, layout: &Layout, cycle: u64, ask: &Ask) -> bool {
        if cycle - ask.since >= self.release {
            return true;
        }
        let length = self.signals.length();
        let register = self.signals.register(ask.direction.index(), ask.channel.into());
        if self.signals.number(register, ask.node as usize) > length.saturating_sub(ask.hops) {
            return false;
        }
        !Turn::of(layout, ask, length).is_some_and(|turn| self.is_told(layout, turn))
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

impl<V: Vector> State for Rule<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        match self {
            Self::State(state) => state.visit(visitor),
            Self::Lines(lines) => lines.visit(visitor),
            Self::Paths(paths) => paths.visit(visitor),
            Self::Bends(bends) => bends.visit(visitor),
            Self::Pauses(pauses) => pauses.visit(visitor),
            // It goes by what it sees alone.
            Self::Useful(_) => Ok(()),
        }
    }
}

impl State for Lines {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { signals, apart: _, second: _ } = self;
        signals.visit(visitor)
    }
}

impl<V: Vector> State for Paths<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of, and the slot of a cycle.
        let Self {
            release: _,
            behind: _,
            second: _,
            into,
            slot: _,
            signals,
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
        signals.visit(visitor)?;
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
