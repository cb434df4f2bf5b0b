//! Output registers: one flit behind every output channel.

use crate::{
    bits::{Blocks, Vector},
    engine::general::layout::{Layout, Place},
    visit::{State, Visited, Visitor},
};

/// The registers of all output channels.
#[derive(Clone, Debug)]
pub(in crate::engine::general) struct Registers<V> {
    /// Per output channel: there is a flit in it, a header, a tail.
    pub full: Blocks<V>,
    pub head: Blocks<V>,
    pub tail: Blocks<V>,
    /// Per node and output channel: the packet whose flits pass.
    pub slots: Vec<u32>,
}

impl<V: Vector> Registers<V> {
    pub(in crate::engine::general) fn new(layout: &Layout, blocks: usize) -> Self {
        let planes = || Blocks::new(blocks, layout.outputs, V::zero());
        Self { full: planes(), head: planes(), tail: planes(), slots: vec![0; layout.nodes * layout.outputs] }
    }

    /// Whether a tail waits in the register of an output channel, which has left its owner's queue.
    pub(in crate::engine::general) fn holds_tail(&self, place: Place) -> bool {
        let (output, node) = (place.index(), place.node());
        self.full.bit(output, node) && self.tail.bit(output, node)
    }

    /// The packet whose flits pass a register.
    pub(in crate::engine::general) fn slot(&self, layout: &Layout, place: Place) -> u32 {
        self.slots[place.node() * layout.outputs + place.index()]
    }

    /// Sets it.
    pub(in crate::engine::general) fn set_slot(&mut self, layout: &Layout, place: Place, slot: u32) {
        self.slots[place.node() * layout.outputs + place.index()] = slot;
    }

    /// Whether there is a flit in a register, and whether that is a header.
    pub(in crate::engine::general) fn holds(&self, place: Place) -> (bool, bool) {
        let full = self.full.bit(place.index(), place.node());
        (full, full && self.head.bit(place.index(), place.node()))
    }

    /// The packet whose flit is in a register, and whether that is the header or the tail.
    pub(in crate::engine::general) fn flit(&self, layout: &Layout, place: Place) -> (u32, bool, bool) {
        let (output, node) = (place.index(), place.node());
        (self.slot(layout, place), self.head.bit(output, node), self.tail.bit(output, node))
    }
}

impl<V: Vector> State for Registers<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { full, head, tail, slots } = self;
        visitor.bits("flits in registers", full)?;
        visitor.bits("headers in registers", head)?;
        visitor.bits("tails in registers", tail)?;
        // Packets have other slots in every part.
        visitor.whole(|archive| archive.slice("packets in registers", slots))
    }
}
