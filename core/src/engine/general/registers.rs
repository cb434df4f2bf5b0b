//! Output registers: one flit behind every output channel.

use super::layout::{Layout, Place};
use crate::{
    bits::{Blocks, Vector},
    save::{Archive, SaveError},
};

/// The registers of all output channels.
#[derive(Clone, Debug)]
pub(super) struct Registers<V> {
    /// Per output channel: there is a flit in it, a header, a tail.
    pub full: Blocks<V>,
    pub head: Blocks<V>,
    pub tail: Blocks<V>,
    /// Per node and output channel: the packet whose flits pass.
    pub slots: Vec<u32>,
}

impl<V: Vector> Registers<V> {
    pub fn new(layout: &Layout, blocks: usize) -> Self {
        let planes = || Blocks::new(blocks, layout.outputs, V::zero());
        Self { full: planes(), head: planes(), tail: planes(), slots: vec![0; layout.nodes * layout.outputs] }
    }

    /// The registers as fields.
    pub fn archive(&mut self, words: usize, slots: usize, archive: &mut Archive) -> Result<(), SaveError> {
        self.full.archive("flits in registers", words, archive)?;
        self.head.archive("headers in registers", words, archive)?;
        self.tail.archive("tails in registers", words, archive)?;
        archive.slice("packets in registers", &mut self.slots)?;
        match self.slots.iter().find(|&&slot| slot as usize >= slots) {
            None => Ok(()),
            Some(&slot) => Err(SaveError::Value { field: "packets in registers", value: slot.into() }),
        }
    }

    /// Whether a tail waits in the register of an output channel, which has left its owner's queue.
    pub fn holds_tail(&self, place: Place) -> bool {
        let (output, node) = (place.index(), place.node());
        self.full.bit(output, node) && self.tail.bit(output, node)
    }

    /// The packet whose flits pass a register.
    pub fn slot(&self, layout: &Layout, place: Place) -> u32 {
        self.slots[place.node() * layout.outputs + place.index()]
    }

    /// Sets it.
    pub fn set_slot(&mut self, layout: &Layout, place: Place, slot: u32) {
        self.slots[place.node() * layout.outputs + place.index()] = slot;
    }

    /// Whether there is a flit in a register, and whether that is a header.
    pub fn holds(&self, place: Place) -> (bool, bool) {
        let full = self.full.bit(place.index(), place.node());
        (full, full && self.head.bit(place.index(), place.node()))
    }

    /// Copies the flits of so many nodes, but not whose they are.
    pub fn copy_nodes(&mut self, to: usize, other: &Self, from: usize, nodes: usize) {
        self.full.copy_nodes(to, &other.full, from, nodes);
        self.head.copy_nodes(to, &other.head, from, nodes);
        self.tail.copy_nodes(to, &other.tail, from, nodes);
    }

    /// The packet whose flit is in a register, and whether that is the header or the tail.
    pub fn flit(&self, layout: &Layout, place: Place) -> (u32, bool, bool) {
        let (output, node) = (place.index(), place.node());
        (self.slot(layout, place), self.head.bit(output, node), self.tail.bit(output, node))
    }
}
