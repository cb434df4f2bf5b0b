//! What is sent, and what flits leave behind: queues and packets grow shorter.

use crate::{
    bits::{self, Vector, ones, words},
    engine::general::{
        layout::{Layout, Place},
        packets::leave_source,
        record::{Any, Record, Set},
        state::State,
    },
};

/// Counts the flits taken of the packets in an output channel, where `left` are those still to come less
/// one; returns where tails were among them. Where all packets are `uniform`, the next one is counted.
#[inline(always)]
pub(super) fn take_flits<V: Vector>(left: &mut [V], taken: V, uniform: Option<u32>) -> V {
    let at_tail = bits::count_down(&mut *left, taken);
    if let Some(length) = uniform {
        // The counter of a tail went below zero: all bits are set.
        for (bit, plane) in left.iter_mut().enumerate() {
            if (length - 1) >> bit & 1 == 0 {
                *plane = *plane & !at_tail;
            }
        }
    }
    at_tail
}

impl<V: Vector, R: Record> State<V, R> {
    /// Takes down what a block sends in this cycle, with the hops of it: output channels that have sent last time and
    /// send nothing now fall silent.
    #[inline(always)]
    pub(super) fn sent_are(&mut self, block: usize, after: Any<R::Set>, hops: u64) {
        let mut silent = self.any[block].sent & !after.sent;
        while !silent.is_empty() {
            V::zero().store(&mut self.moving.sent.plane_mut(silent.pop())[block * V::WORDS..]);
        }
        self.moving.sent_any |= after.sent;
        self.any[block] = after;
        self.outcome.flit_hops += hops;
    }

    /// The packet whose header passes an output channel; counted where it leaves its source.
    #[inline(always)]
    pub(super) fn pass_header(
        &mut self,
        layout: &Layout,
        place: Place,
        cycle: u64,
        injected: &mut u64,
    ) -> u32 {
        let queue = self.output(layout, place).owner() as usize - 1;
        let slot = self.fifo(layout, Place::new(place.node(), queue)).front;
        *injected += u64::from(layout.is_processor(queue));
        if self.windows.is_some() && layout.is_processor(queue) {
            let line = layout.line(place.node(), queue);
            leave_source(&mut self.windows, line, self.packets.packet_mut(slot), cycle);
        }
        slot
    }

    /// Counts the flits that leave the processor queues.
    pub(super) fn drain_processors(&mut self, layout: &Layout, block: usize) {
        for queue in (layout.link_queues..layout.queues).filter(|&queue| self.any[block].leaves.has(queue)) {
            let leaves = words(std::slice::from_ref(&self.moving.leaves.block(block)[queue]));
            for (word, &bits) in (block * V::WORDS..).zip(leaves) {
                for bit in ones(bits) {
                    let node = word * 64 + bit;
                    self.feeds.left(node, layout.line(node, queue));
                }
            }
        }
    }
}
