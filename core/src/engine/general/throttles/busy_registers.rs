//! Registers of busy buffers ahead, as routers are told of them, in few planes.
//!
//! In cycle t bit k of the register of an output (direction d, channel v) says whether the buffer k + 1
//! hops ahead was busy at the start of cycle t - k (state-propagation-throttling-2015, Section 4): a
//! register is that of the router ahead, one place further. Throttles ask where its lowest set bit is,
//! and that moves as the register does: it is bit 0 if the own handshake shows a busy buffer, else one
//! more than ahead. So a register of n bits is kept as the number n less that place, 0 for none, bit by
//! bit in planes.

use super::in_words::Flits;
use crate::{
    bits::{Planes, Vector, Words, above, above_with, half_subtract, spans},
    engine::general::{halo::Halo, layout::Layout},
    fabric::Direction,
    routing::Came,
    throttle::RegisterSettings,
    visit::{State, Visited, Visitor},
};
use std::ops::Range;

/// Bits of the length of a register, at most.
const MOST_BITS: usize = 16;

/// What the registers show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    /// A queue with at most so many free places is busy, in flits.
    pub margin: u32,
    /// Bits of a register.
    pub length: u32,
    /// One register per channel of a direction, else one for all of them.
    pub apart: bool,
    /// Behind a dateline a register shows the channel that a packet would use there.
    pub following: bool,
}

impl Shown {
    pub(super) fn of(settings: RegisterSettings, apart: bool, following: bool) -> Self {
        Self { margin: settings.margin.into(), length: settings.length.into(), apart, following }
    }
}

/// The registers of all outputs.
#[derive(Clone, Debug)]
pub(super) struct BusyRegisters {
    shown: Shown,
    /// Registers per direction.
    registers: usize,
    /// Planes of a number.
    pub bits: usize,
    /// Per queue: it is busy, at the node that has it; of all channels, where they are not kept apart.
    busy: Planes,
    numbers: Planes,
    next: Planes,
    /// Registers in which any number is above 0, and those in which any was a cycle ago.
    any: Vec<bool>,
    before: Vec<bool>,
    /// Per direction, where registers follow packets: nodes at which those that go straight on go one
    /// channel up, and nodes of this part whose neighbour ahead is one of these.
    rises: Planes,
    ahead_rises: Planes,
    /// What the row before and the one behind told, in other parts: register by register, bit by bit.
    told: [Vec<u64>; 2],
}

impl BusyRegisters {
    pub(super) fn new(layout: &Layout, shown: Shown) -> Self {
        let registers = if shown.apart { layout.channels } else { 1 };
        let bits = (32 - shown.length.leading_zeros()) as usize;
        let (directions, words, extent) = (layout.directions, layout.words, layout.extent);
        let mut rises = Planes::new(directions, extent);
        let mut ahead_rises = rises.clone();
        for direction in 0..if shown.following { directions } else { 0 } {
            for node in 0..layout.nodes {
                let global = (layout.first + node) as u32;
                let at = layout.rule.rises(&layout.shape, global, Direction::from_index(direction));
                rises.set_bits(direction, node as isize, 1, at.on(Came::Underway).into());
            }
            for word in 0..words {
                let ahead: Words<1> = layout.links[direction].seen(rises.with_margins(direction), word);
                ahead.store(&mut ahead_rises.plane_mut(direction)[word..]);
            }
        }
        Self {
            shown,
            registers,
            bits,
            busy: Planes::new(directions * registers, extent),
            numbers: Planes::new(directions * registers * bits, extent),
            next: Planes::new(directions * registers * bits, extent),
            any: vec![false; directions * registers],
            before: vec![false; directions * registers],
            rises,
            ahead_rises,
            told: [Vec::new(), Vec::new()],
        }
    }

    /// The register of an output.
    pub(super) fn register(&self, direction: usize, channel: usize) -> usize {
        if self.shown.apart { direction * self.registers + channel } else { direction }
    }

    /// The registers of a direction.
    pub(super) fn registers_of(&self, direction: usize) -> Range<usize> {
        direction * self.registers..(direction + 1) * self.registers
    }

    /// Bits of a register.
    pub(super) fn length(&self) -> u32 {
        self.shown.length
    }

    /// Whether no register shows anything.
    pub(super) fn is_clear(&self) -> bool {
        !self.any.contains(&true)
    }

    /// Whether a register shows anything at any node.
    pub(super) fn shows(&self, register: usize) -> bool {
        self.any[register]
    }

    /// A plane of the numbers of a register.
    #[inline(always)]
    pub(super) fn plane(&self, register: usize, bit: usize) -> &[u64] {
        self.numbers.plane(register * self.bits + bit)
    }

    /// The number of a register of a node.
    pub(super) fn number(&self, register: usize, node: usize) -> u32 {
        let bit = |bit| ((self.plane(register, bit)[node / 64] >> (node % 64) & 1) as u32) << bit;
        (0..self.bits).map(bit).sum()
    }

    /// Nodes at which any of some bits from the lowest on is set in a register: those whose number is
    /// above a limit.
    #[inline(always)]
    pub(super) fn above<V: Vector>(&self, register: usize, limit: u32, word: usize) -> V {
        let mut above = V::zero();
        for bit in 0..self.bits {
            let number = V::load(&self.plane(register, bit)[word..]);
            above = above_with(above, limit, bit, number);
        }
        above
    }

    /// What the registers of a row show a hop against a direction, from its first node on; nothing if they
    /// are clear.
    pub(super) fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        let registers = self.registers_of(direction);
        if !registers.clone().any(|register| self.any[register]) {
            return;
        }
        for register in registers.clone() {
            let higher = self.shown.following && register + 1 < registers.end;
            for bit in 0..self.bits {
                words.extend(spans(row).map(|(piece, count)| {
                    let node = first + piece as isize;
                    let own = self.numbers.bits(register * self.bits + bit, node, count);
                    if !higher {
                        return own;
                    }
                    let up = self.numbers.bits((register + 1) * self.bits + bit, node, count);
                    let rises = self.rises.bits(direction, node, count);
                    own & !rises | up & rises
                }));
            }
        }
    }

    /// Takes what a row of another part told.
    pub(super) fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.told[side].clear();
        self.told[side].extend_from_slice(words);
    }

    /// One cycle further.
    #[inline(always)]
    pub(super) fn step<V: Vector>(&mut self, layout: &Layout, flits: Flits<'_, V>) {
        for direction in 0..layout.directions {
            for register in 0..self.registers {
                let mut busy = self.look(layout, flits, direction, register);
                for halo in layout.halos_of(direction) {
                    busy |= self.look_across(layout, (halo, direction), flits, register);
                }
                self.advance::<V>(layout, flits.blocks, direction, register, busy);
            }
        }
        std::mem::swap(&mut self.numbers, &mut self.next);
    }

    /// Which queues are busy, without telling of it.
    #[inline(always)]
    pub(super) fn look_all<V: Vector>(&mut self, layout: &Layout, flits: Flits<'_, V>) {
        for direction in 0..layout.directions {
            for register in 0..self.registers {
                self.look(layout, flits, direction, register);
                for halo in layout.halos_of(direction) {
                    self.look_across(layout, (halo, direction), flits, register);
                }
            }
        }
    }

    /// Nodes behind whose output channel the queue is busy that was looked at last.
    #[inline(always)]
    pub(super) fn busy_behind<V: Vector>(
        &self,
        layout: &Layout,
        direction: usize,
        channel: usize,
        word: usize,
    ) -> V {
        layout.links[direction].seen(self.busy.with_margins(self.register(direction, channel)), word)
    }

    /// Which queues are busy that a register is told of; whether any is.
    #[inline(always)]
    fn look<V: Vector>(
        &mut self,
        layout: &Layout,
        flits: Flits<'_, V>,
        direction: usize,
        register: usize,
    ) -> bool {
        let Flits { held, blocks, bits, .. } = flits;
        let channels = if self.shown.apart { register..register + 1 } else { 0..layout.channels };
        let plane = self.busy.plane_mut(direction * self.registers + register);
        let mut any = false;
        for block in 0..blocks {
            let mut busy = V::zero();
            for channel in channels.clone() {
                let queue = usize::from(layout.queue_behind[direction * layout.channels + channel]);
                let counts = &held.block(block)[queue * bits..(queue + 1) * bits];
                busy = busy | at_most_free(counts, layout.buffer, self.shown.margin);
            }
            any |= busy.any();
            busy.store(&mut plane[block * V::WORDS..]);
        }
        any
    }

    /// The same of rows of another part, behind the links of a direction.
    fn look_across<V: Vector>(
        &mut self,
        layout: &Layout,
        (halo, direction): (&Halo, usize),
        flits: Flits<'_, V>,
        register: usize,
    ) -> bool {
        let Flits { levels, bits, .. } = flits;
        let channels = if self.shown.apart { register..register + 1 } else { 0..layout.channels };
        let mut any = false;
        for (first, count) in spans(halo.nodes) {
            let node = halo.others + first as isize;
            let mut busy = 0;
            for channel in channels.clone() {
                let queue = usize::from(layout.queue_behind[direction * layout.channels + channel]);
                let planes = queue * bits..(queue + 1) * bits;
                let counts = planes.map(|plane| levels.bits(plane, node, count));
                let mut above = 0;
                match layout.buffer.checked_sub(self.shown.margin + 1) {
                    None => above = u64::MAX >> (64 - count),
                    Some(most) => counts.enumerate().for_each(|(bit, count)| {
                        above = above_with(above, most, bit, count);
                    }),
                }
                busy |= above;
            }
            any |= busy != 0;
            self.busy.set_bits(direction * self.registers + register, node, count, busy);
        }
        any
    }

    /// Puts what the row behind an edge told of a register where its planes are read.
    fn receive_news(&mut self, halo: &Halo, register: usize) {
        let (told, width) = (&self.told[halo.side], halo.nodes.div_ceil(64));
        let first = (halo.out[0] * self.registers + register) * self.bits;
        for bit in 0..self.bits {
            for (piece, (begin, count)) in spans(halo.nodes).enumerate() {
                let shown = told.get((register * self.bits + bit) * width + piece).copied().unwrap_or(0);
                self.numbers.set_bits(first + bit, halo.others + begin as isize, count, shown);
            }
        }
    }

    #[inline(always)]
    fn advance<V: Vector>(
        &mut self,
        layout: &Layout,
        blocks: usize,
        direction: usize,
        register: usize,
        busy: bool,
    ) {
        let (this, bits) = (direction * self.registers + register, self.bits);
        let higher = register + 1 < self.registers && self.shown.following;
        let halo = layout.halo_of(direction);
        let told = halo.is_some_and(|halo| !self.told[halo.side].is_empty());
        let ahead = told || self.any[this] || higher && self.any[this + 1];
        // What is written over is from a cycle ago.
        let stale = std::mem::replace(&mut self.before[this], self.any[this]);
        if !ahead && !busy {
            for bit in 0..if stale { bits } else { 0 } {
                self.next.plane_mut(this * bits + bit).fill(0);
            }
            self.any[this] = false;
            return;
        }
        if let Some(halo) = halo {
            self.receive_news(halo, register);
        }
        // Loops of a known length are unrolled.
        self.any[this] = match bits {
            5 => self.move_on::<V, 5>(layout, blocks, direction, this, higher),
            6 => self.move_on::<V, 6>(layout, blocks, direction, this, higher),
            7 => self.move_on::<V, 7>(layout, blocks, direction, this, higher),
            _ => self.move_on::<V, 0>(layout, blocks, direction, this, higher),
        };
    }

    /// The same of a register that shows something; whether it does so behind it. `BITS` of a number, or 0 if
    /// they are not known.
    #[inline(always)]
    fn move_on<V: Vector, const BITS: usize>(
        &mut self,
        layout: &Layout,
        blocks: usize,
        direction: usize,
        this: usize,
        higher: bool,
    ) -> bool {
        let bits = if BITS > 0 { BITS } else { self.bits.min(MOST_BITS) };
        let links = &layout.links[direction];
        let numbers = self.numbers.several(this * bits, bits);
        let above = self.numbers.several(if higher { (this + 1) * bits } else { 0 }, bits);
        let rises = self.ahead_rises.plane(direction);
        let busy = self.busy.with_margins(this);
        let (length, stride, margin) = (self.shown.length, self.next.stride(), self.next.margin());
        let next = self.next.several_mut(this * bits, bits);
        let mut any = V::zero();
        for word in (0..blocks).map(|block| block * V::WORDS) {
            let links = links.glance::<V>(word);
            let busy = links.read(busy);
            let mut number = [V::zero(); MOST_BITS];
            let mut some = V::zero();
            for (bit, number) in number[..bits].iter_mut().enumerate() {
                *number = links.read(&numbers[bit * stride..][..stride]);
                some = some | *number;
            }
            // What goes one channel up ahead is seen there; in other parts, those told what they see.
            let rises = if higher { V::load(&rises[word..]) } else { V::zero() };
            if rises.any() {
                some = V::zero();
                for (bit, number) in number[..bits].iter_mut().enumerate() {
                    *number = rises.select(links.read(&above[bit * stride..][..stride]), *number);
                    some = some | *number;
                }
            }
            // One less, if it is not 0; the whole length where the own handshake shows a busy buffer.
            let mut borrow = some;
            any = any | busy;
            for (bit, &number) in number[..bits].iter().enumerate() {
                let mut less = number;
                half_subtract(&mut less, &mut borrow);
                let new = if length >> bit & 1 == 1 { less | busy } else { less & !busy };
                new.store(&mut next[bit * stride + margin + word..]);
                any = any | new;
            }
        }
        any.any()
    }
}

impl State for BusyRegisters {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What they were made of.
        let Self {
            shown: _,
            registers: _,
            bits,
            rises: _,
            ahead_rises: _,
            numbers,
            any,
            before,
            busy,
            next,
            told,
        } = self;
        // What does not outlive a cycle.
        let _ = (busy, next, told);
        let bits = *bits;
        visitor.bits("busy buffers ahead", numbers)?;
        if visitor.changes() {
            for (register, any) in any.iter_mut().enumerate() {
                *any = (register * bits..(register + 1) * bits).any(|plane| numbers.any(plane));
            }
            before.fill(true);
        }
        Ok(())
    }
}

/// By direction and node: whether a first hop is in channel 1, since it crosses a dateline.
pub(super) fn first_channels(layout: &Layout) -> Vec<Vec<u64>> {
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

/// Nodes of whose queue at most `margin` places are free.
#[inline(always)]
fn at_most_free<V: Vector>(counts: &[V], buffer: u32, margin: u32) -> V {
    match buffer.checked_sub(margin + 1) {
        Some(most) => above(counts, most),
        None => V::ones(),
    }
}
