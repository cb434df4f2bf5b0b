//! What routers know of the lines ahead: registers of full buffers (scaling-effects-2007, cross line;
//! state-propagation-throttling-2015, Section 4), as planes that move a hop against the traffic in
//! every cycle.

use super::layout::Layout;
use crate::{
    bits::{Blocks, Planes, Vector, spans},
    fabric::Direction,
    visit::{State, Visited, Visitor},
};

/// A register of bits per node and direction: bit k of cycle t says whether the buffer k + 1 hops ahead
/// was full at the start of cycle t - k.
#[derive(Clone, Debug)]
pub(super) struct FullAhead {
    /// The channel whose buffers are looked at.
    channel: usize,
    /// Hops a register shows.
    length: usize,
    /// Per direction: the queue behind the channel is full, at the node that has the queue.
    full: Planes,
    /// Per direction and bit.
    bits: Planes,
    /// Per direction: bits from here on are clear at all nodes.
    clear_from: Vec<usize>,
    /// What the row before and the one behind told, in other parts: bit by bit, as many as any has.
    told: [Vec<u64>; 2],
}

impl FullAhead {
    pub(super) fn new(layout: &Layout, channel: u8) -> Self {
        // As many hops as a packet may have left in a direction.
        let length = layout.shape.reach() as usize;
        Self {
            channel: channel.into(),
            length,
            full: Planes::new(layout.directions, layout.extent),
            bits: Planes::new(layout.directions * length, layout.extent),
            clear_from: vec![0; layout.directions],
            told: [Vec::new(), Vec::new()],
        }
    }

    /// Whether nothing is known of full buffers anywhere.
    pub(super) fn is_clear(&self) -> bool {
        self.clear_from.iter().all(|&from| from == 0)
    }

    /// Full buffers among the first `hops` ahead of a node.
    #[inline(always)]
    pub(super) fn count(&self, node: usize, direction: Direction, hops: u32) -> u32 {
        let first = direction.index() * self.length;
        let last = first + self.clear_from[direction.index()].min(hops as usize);
        let bits = (first..last).map(|plane| (self.bits.plane(plane)[node / 64] >> (node % 64) & 1) as u32);
        bits.sum()
    }

    /// What the registers of a row show, from its first node on.
    pub(super) fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        for bit in 0..self.clear_from[direction] {
            let plane = direction * self.length + bit;
            words.extend(
                spans(row).map(|(piece, count)| self.bits.bits(plane, first + piece as isize, count)),
            );
        }
    }

    /// Takes what a row of another part told.
    pub(super) fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.told[side].clear();
        self.told[side].extend_from_slice(words);
    }

    /// One cycle further, given flits in and on their way to queues, bit by bit.
    #[inline(always)]
    pub(super) fn step<V: Vector>(
        &mut self,
        layout: &Layout,
        held: &Blocks<V>,
        levels: &Planes,
        blocks: usize,
        count_bits: usize,
    ) {
        for direction in 0..layout.directions {
            let queue = usize::from(layout.queue_behind[direction * layout.channels + self.channel]);
            let mut any = false;
            for block in 0..blocks {
                let counts = &held.block(block)[queue * count_bits..(queue + 1) * count_bits];
                // No count exceeds the buffer, so one with all of its bits is the buffer.
                let mut full = V::ones();
                for (bit, &count) in counts.iter().enumerate() {
                    full = if layout.buffer >> bit & 1 == 1 { full & count } else { full };
                }
                any |= full.any();
                full.store(&mut self.full.plane_mut(direction)[block * V::WORDS..]);
            }
            let (links, first) = (&layout.links[direction], direction * self.length);
            let mut set = self.clear_from[direction];
            if let Some(halo) = layout.halo_of(direction) {
                // The row of another part, as its queues are and as it told.
                let (told, width) = (&self.told[halo.side], halo.nodes.div_ceil(64));
                set = set.max(told.len() / width);
                for (piece, (begin, count)) in spans(halo.nodes).enumerate() {
                    let node = halo.others + begin as isize;
                    let mut full = u64::MAX >> (64 - count);
                    for bit in (0..count_bits).filter(|&bit| layout.buffer >> bit & 1 == 1) {
                        full &= levels.bits(queue * count_bits + bit, node, count);
                    }
                    any |= full != 0;
                    self.full.set_bits(direction, node, count, full);
                    for bit in 0..set.min(self.length) {
                        let shown = told.get(bit * width + piece).copied().unwrap_or(0);
                        self.bits.set_bits(first + bit, node, count, shown);
                    }
                }
            }
            let mut clear_from = 0;
            for bit in (1..self.length.min(set + 1)).rev() {
                let mut some = false;
                for block in 0..blocks {
                    let word = block * V::WORDS;
                    let moved: V = links.seen(self.bits.with_margins(first + bit - 1), word);
                    some |= moved.any();
                    moved.store(&mut self.bits.plane_mut(first + bit)[word..]);
                }
                if some && clear_from == 0 {
                    clear_from = bit + 1;
                }
            }
            if any || set > 0 {
                for block in 0..blocks {
                    let word = block * V::WORDS;
                    let own: V = links.seen(self.full.with_margins(direction), word);
                    own.store(&mut self.bits.plane_mut(first)[word..]);
                    if own.any() && clear_from == 0 {
                        clear_from = 1;
                    }
                }
            }
            self.clear_from[direction] = clear_from;
        }
    }
}

impl State for FullAhead {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of; what follows; what does not outlive a cycle.
        let Self { channel: _, length, bits, clear_from, full: _, told: _ } = self;
        visitor.bits("full buffers ahead", bits)?;
        if visitor.changes() {
            for (direction, clear_from) in clear_from.iter_mut().enumerate() {
                let last = (0..*length).rev().find(|bit| bits.any(direction * *length + bit));
                *clear_from = last.map_or(0, |bit| bit + 1);
            }
        }
        Ok(())
    }
}
