//! VC allocation: output channels without owner are granted to the first requesting queue.

use super::super::{
    layout::{Layout, Place},
    record::{Record, Set},
    state::State,
};
use crate::bits::{Vector, words};
use std::mem::take;

impl<V: Vector, R: Record> State<V, R> {
    /// Every requested output channel without owner gets one; true if any did. Space downstream is
    /// not looked at, except for bubbles and where a grant needs room. A request that is refused stays;
    /// it is looked at again in the next cycle, or, when it `parks`, as soon as there is room.
    #[inline(always)]
    pub(in crate::engine::general) fn allocate_vcs(&mut self, layout: &Layout) -> bool {
        if self.demands.watched {
            self.watched.granted.clear();
        }
        if self.requests.parks {
            self.unpark(layout);
        }
        if self.requests.wanted.items().is_empty() {
            return false;
        }
        let mut wanted = take(&mut self.requests.wanted);
        let (mut refused, mut granted) = (0, R::Set::default());
        let selective = layout.bubble || layout.grant_needs_room;
        let plain = !layout.has_lists() && !selective;
        let throttled = self.injection_control.is_some();
        for index in 0..wanted.items().len() {
            let place = wanted.items()[index];
            let (node, output) = (place.node(), place.index());
            if throttled {
                // Requests may have been taken back, so an output may have been forgotten and listed again.
                let record = self.output(layout, place);
                if record.owner() != 0 || !record.is_requested() {
                    continue;
                }
            }
            let bit = if plain {
                self.first_in_line(layout, place)
            } else if self.queues.by_room && !layout.has_lists() {
                self.first_with_room(layout, place)
            } else {
                self.first_allowed(layout, place)
            };
            let Some(bit) = bit else {
                if self.requests.parks {
                    self.park(place);
                } else {
                    wanted.keep(refused, place);
                    refused += 1;
                }
                continue;
            };
            granted |= R::Set::of(output, true);
            let (queue, list_place) = if layout.has_lists() {
                (layout.queue_of_bit(node, output, bit), layout.place_of_bit(node, output, bit))
            } else {
                (bit as usize, u32::from(layout.place_of_queue[bit as usize]))
            };
            let rotation = if list_place as usize == layout.directions { 0 } else { list_place + 1 };
            let record = &mut self.outputs[node * layout.outputs + output];
            *record = record.grant(bit, queue as u32 + 1, rotation);
            self.own(node, output, queue);
            if let Some(control) = &mut self.injection_control
                && layout.is_processor(queue)
            {
                control.granted(layout, Place::new(node, queue));
            }
            if self.demands.uniform.is_none() {
                let slot = self.fifos[node * layout.queues + queue].front;
                let left = self.packets.packet(slot).length.saturating_sub(1);
                for bit in 0..self.left_bits {
                    self.left.set(output * self.left_bits + bit, node, left >> bit & 1 == 1);
                }
            }
            if self.demands.watched {
                self.watched.granted.push(place);
            }
        }
        wanted.truncate(refused);
        self.requests.wanted = wanted;
        for any in &mut self.any {
            any.owned |= granted;
        }
        !granted.is_empty()
    }

    #[inline(always)]
    fn first_in_line(&self, layout: &Layout, place: Place) -> Option<u32> {
        let record = self.output(layout, place);
        Some(record.first_request(record.rotation() * layout.channels as u32))
    }

    /// An output channel waits for room behind it.
    #[inline(always)]
    fn park(&mut self, place: Place) {
        *self.requests.parked.word_mut(place.index(), place.node()) |= 1 << (place.node() % 64);
        self.any[place.node() / V::BITS].parked |= R::Set::of(place.index(), true);
    }

    /// Parked output channels with room behind them are wanted again.
    #[inline(always)]
    fn unpark(&mut self, layout: &Layout) {
        for block in 0..self.blocks {
            let mut outputs = self.any[block].parked;
            while !outputs.is_empty() {
                let output = outputs.pop();
                let behind = self.queues.full.with_margins(layout.queue_behind[output].into());
                let links = &layout.links[layout.port_of_output(output)];
                let parked = &mut self.requests.parked.block_mut(block)[output];
                let stay = *parked & links.seen::<V>(behind, block * V::WORDS);
                let go = *parked & !stay;
                *parked = stay;
                if !stay.any() {
                    self.any[block].parked = self.any[block].parked & !R::Set::of(output, true);
                }
                if go.any() {
                    for (word, &bits) in (block * V::WORDS..).zip(words(std::slice::from_ref(&go))) {
                        self.requests.wanted.put_ones(bits, |bit| Place::new(word * 64 + bit, output));
                    }
                }
            }
        }
    }

    /// The first requesting queue, if a packet of the one length there is fits behind the link.
    #[inline(always)]
    fn first_with_room(&self, layout: &Layout, place: Place) -> Option<u32> {
        if self.has_room(layout, place) { self.first_in_line(layout, place) } else { None }
    }

    #[inline(always)]
    fn has_room(&self, layout: &Layout, place: Place) -> bool {
        let output = place.index();
        if output >= layout.link_outputs {
            return true;
        }
        let next = layout.links[layout.port_of_output(output)].neighbour(place.node());
        !self.queues.full.bit(layout.queue_behind[output].into(), next as isize)
    }

    /// The first requesting queue that leaves a bubble and has room.
    #[inline(never)]
    fn first_allowed(&self, layout: &Layout, place: Place) -> Option<u32> {
        let record = self.output(layout, place);
        let bits = layout.request_bits() as u32;
        let first = layout.bit_of_place(place.node(), place.index(), record.rotation());
        (first..bits).chain(0..first).filter(|&bit| record.requests(bit)).find(|&bit| {
            let queue = layout.queue_of_bit(place.node(), place.index(), bit);
            (!layout.bubble || self.bubble_stays(layout, place, queue))
                && (!layout.grant_needs_room || self.fits(layout, place, queue))
        })
    }

    /// Whether the packet at the front of a queue fits as a whole behind an output channel.
    fn fits(&self, layout: &Layout, place: Place, queue: usize) -> bool {
        if place.index() >= layout.link_outputs {
            return true;
        }
        let slot = self.fifo(layout, Place::new(place.node(), queue)).front;
        layout.buffer - self.held_behind(layout, place) >= self.packets.packet(slot).length
    }

    /// Flits behind an output channel that is a link, and on their way there.
    fn held_behind(&self, layout: &Layout, place: Place) -> u32 {
        let output = place.index();
        let next = layout.links[layout.port_of_output(output)].neighbour(place.node());
        let queue = usize::from(layout.queue_behind[output]);
        self.queues.held_by(layout, next, queue)
    }

    /// Bubble flow control: whether a packet that wants to enter a ring leaves a bubble in it. Asked
    /// before the grant, since an owner that has to wait would stop the ring.
    fn bubble_stays(&self, layout: &Layout, place: Place, queue: usize) -> bool {
        if !layout.enters_ring(queue, place.index()) {
            return true;
        }
        let slot = self.fifo(layout, Place::new(place.node(), queue)).front;
        layout.buffer - self.held_behind(layout, place)
            >= self.packets.packet(slot).length + self.demands.longest
    }

    /// A queue owns an output channel.
    #[inline(always)]
    pub(in crate::engine::general) fn set_owner(&mut self, node: usize, output: usize, queue: usize) {
        self.own(node, output, queue);
        self.any[node / V::BITS].owned |= R::Set::of(output, true);
    }

    /// The same without a word about it to the block.
    #[inline(always)]
    fn own(&mut self, node: usize, output: usize, queue: usize) {
        let plane = match self.pairs.plane(output, queue) {
            Some(plane) => plane,
            None => self.allot(output, queue),
        };
        *self.own.word_mut(plane, node) |= 1 << (node % 64);
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
