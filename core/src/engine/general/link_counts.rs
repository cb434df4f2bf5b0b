//! First and last cycle and flits of every link, counted in words.

use super::{
    layout::Layout,
    record::{Any, Set},
};
use crate::{
    bits::{Blocks, Planes, Vector, count_up_long, ones, words},
    probe::LinkOccupation,
    visit::{State, Visited, Visitor},
};

/// Bits of a cycle within a window.
const WINDOW: u32 = 8;
/// Bits of the flits of a window.
const FLITS: usize = WINDOW as usize + 1;
const PLANES: usize = WINDOW as usize + FLITS + 1;

/// The links of all nodes. Within a window of cycles, the last cycle and the flits of a link are
/// counted bit by bit in planes; between windows they are added to the table.
#[derive(Clone, Debug)]
pub(super) struct LinkCounts<V> {
    pub table: LinkOccupation,
    directions: usize,
    nodes: usize,
    pub window: u64,
    /// Per direction: bits of the last cycle, bits of the flits, and whether the link was ever used.
    pub planes: Blocks<V>,
    blocks: usize,
}

impl<V: Vector> LinkCounts<V> {
    pub(super) fn new(layout: &Layout, blocks: usize) -> Self {
        let (nodes, directions) = (layout.nodes, layout.directions);
        Self {
            table: LinkOccupation::new(nodes * directions),
            directions,
            nodes,
            window: 0,
            planes: Blocks::new(blocks, directions * PLANES, V::zero()),
            blocks,
        }
    }

    /// Counts the flits sent in a cycle.
    #[inline(always)]
    pub(super) fn count<S: Set>(&mut self, layout: &Layout, sent: &Planes, any: &[Any<S>], cycle: u64) {
        if cycle >> WINDOW != self.window {
            self.close();
            self.window = cycle >> WINDOW;
        }
        for (block, any) in any.iter().enumerate() {
            for port in 0..layout.directions {
                let outputs = any.sent.part(port * layout.channels, layout.channels);
                if outputs == 0 {
                    continue;
                }
                let mut used = V::zero();
                for channel in 0..layout.channels {
                    if outputs >> channel & 1 == 1 {
                        let plane = sent.plane(port * layout.channels + channel);
                        used = used | V::load(&plane[block * V::WORDS..]);
                    }
                }
                let planes = &mut self.planes.block_mut(block)[port * PLANES..(port + 1) * PLANES];
                for (bit, last) in planes[..WINDOW as usize].iter_mut().enumerate() {
                    *last = if cycle >> bit & 1 == 1 { *last | used } else { *last & !used };
                }
                count_up_long(&mut planes[WINDOW as usize..PLANES - 1], used);
                let first = used & !planes[PLANES - 1];
                planes[PLANES - 1] = planes[PLANES - 1] | used;
                if first.any() {
                    for (word, &bits) in (block * V::WORDS..).zip(words(std::slice::from_ref(&first))) {
                        for bit in ones(bits) {
                            let node = word * 64 + bit;
                            self.table.first[node * self.directions + port] = cycle;
                        }
                    }
                }
            }
        }
    }

    /// Adds what was counted in a window to the table.
    fn close(&mut self) {
        let Self { table, planes, directions, .. } = self;
        for block in 0..self.blocks {
            for port in 0..*directions {
                let planes = &mut planes.block_mut(block)[port * PLANES..(port + 1) * PLANES - 1];
                for word in 0..V::WORDS {
                    let number = |planes: &[V], node: usize| {
                        let bit = |plane: &V| words(std::slice::from_ref(plane))[word] >> node & 1;
                        planes.iter().rev().fold(0, |number, plane| number << 1 | bit(plane))
                    };
                    let first = (block * V::WORDS + word) * 64;
                    for node in first..self.nodes.min(first + 64) {
                        let flits = number(&planes[WINDOW as usize..], node % 64);
                        if flits > 0 {
                            let link = node * *directions + port;
                            table.flits[link] += flits;
                            table.last[link] =
                                self.window << WINDOW | number(&planes[..WINDOW as usize], node % 64);
                        }
                    }
                }
                planes[WINDOW as usize..].fill(V::zero());
            }
        }
    }

    /// The same with all it has counted in the table.
    pub(super) fn closed(&self) -> Self {
        let mut closed = self.clone();
        closed.close();
        closed
    }

    /// The table so far.
    pub(super) fn table(&self) -> LinkOccupation {
        self.closed().table
    }
}

impl<V: Vector> State for LinkCounts<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        if visitor.divides() {
            // A part in which nothing happened may be in an earlier window.
            self.close();
        }
        // What it was made of.
        let Self { directions: _, nodes: _, blocks: _, table, window, planes } = self;
        let LinkOccupation { first, last, flits } = table;
        visitor.numbers("first cycles of links", first)?;
        visitor.numbers("last cycles of links", last)?;
        visitor.numbers("flits of links", flits)?;
        visitor.same(|archive| archive.number("window of links", window))?;
        visitor.bits("links in the window", planes)
    }
}
