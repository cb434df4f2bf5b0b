//! Queue selection: output channels without owner are granted to the first requesting queue.

use super::{
    layout::{Layout, Place},
    record::{Record, Set},
    state::State,
};
use crate::engine::planes::vector::Vector;

impl<V: Vector, R: Record> State<V, R> {
    /// Every requested output channel without owner gets one; true if any did. Space downstream is
    /// not looked at, except that bubbles may refuse everybody; such a request stays.
    #[inline(always)]
    pub fn grant_all(&mut self, layout: &Layout) -> bool {
        if self.demands.watched {
            self.granted.clear();
        }
        let mut refused = 0;
        let count = self.wanted.items().len();
        let plain = !layout.has_lists() && !layout.bubble;
        for index in 0..count {
            let place = self.wanted.items()[index];
            let (node, output) = (place.node(), place.index());
            let bit =
                if plain { self.first_in_line(layout, place) } else { self.first_allowed(layout, place) };
            let Some(bit) = bit else {
                self.wanted.keep(refused, place);
                refused += 1;
                continue;
            };
            let (queue, list_place) = if plain {
                (bit as usize, u32::from(layout.place_of_queue[bit as usize]))
            } else {
                (layout.queue_of_bit(node, output, bit), bit / layout.channels as u32)
            };
            let rotation = if list_place as usize == layout.directions { 0 } else { list_place + 1 };
            let record = &mut self.outputs[node * layout.outputs + output];
            *record = record.grant(bit, queue as u32 + 1, rotation);
            self.set_owner(node, output, queue);
            if self.demands.uniform.is_none() {
                let slot = self.fifos[node * layout.queues + queue].front;
                let left = self.packets.packet(slot).length.saturating_sub(1);
                for bit in 0..self.left_bits {
                    self.left.set(output * self.left_bits + bit, node, left >> bit & 1 == 1);
                }
            }
            if self.demands.watched {
                self.granted.push(place);
            }
        }
        self.wanted.truncate(refused);
        refused < count
    }

    #[inline(always)]
    fn first_in_line(&self, layout: &Layout, place: Place) -> Option<u32> {
        let record = self.output(layout, place);
        Some(record.first_request(record.rotation() * layout.channels as u32))
    }

    /// The first requesting queue that leaves a bubble.
    #[inline(never)]
    fn first_allowed(&self, layout: &Layout, place: Place) -> Option<u32> {
        let record = self.output(layout, place);
        let bits = (layout.ports() * layout.channels) as u32;
        let first = record.rotation() * layout.channels as u32;
        (first..bits).chain(0..first).filter(|&bit| record.requests(bit)).find(|&bit| {
            let queue = layout.queue_of_bit(place.node(), place.index(), bit);
            !layout.bubble || self.bubble_stays(layout, place, queue)
        })
    }

    /// Bubble flow control: whether a packet that wants to enter a ring leaves a bubble in it. Asked
    /// before the grant, since an owner that has to wait would stop the ring.
    fn bubble_stays(&self, layout: &Layout, place: Place, queue: usize) -> bool {
        let (node, output) = (place.node(), place.index());
        if !layout.enters_ring(queue, output) {
            return true;
        }
        let next = layout.links[layout.port_of_output(output)].neighbour(node);
        let held = self.count(layout, next, usize::from(layout.queue_behind[output]), true);
        let slot = self.fifo(layout, Place::new(node, queue)).front;
        layout.buffer - held >= self.packets.packet(slot).length + self.demands.longest
    }

    /// A queue owns an output channel.
    #[inline(always)]
    pub fn set_owner(&mut self, node: usize, output: usize, queue: usize) {
        let plane = match self.pairs.plane(output, queue) {
            Some(plane) => plane,
            None => self.allot(output, queue),
        };
        *self.own.word_mut(plane, node) |= 1 << (node % 64);
        self.any[node / V::BITS].owned |= R::Set::of(output, true);
    }

    #[cold]
    fn allot(&mut self, output: usize, queue: usize) -> usize {
        /// Planes added at once.
        const MORE: usize = 16;
        let plane = self.pairs.allot(output, queue);
        if self.own.planes() <= plane {
            self.own.widen(self.blocks, plane + MORE);
        }
        plane
    }
}
