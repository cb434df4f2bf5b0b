//! Flits enter the queues behind the links.

use super::super::{
    crossing::Crossing,
    layout::Layout,
    record::{Any, Record, Set},
    state::State,
};
use crate::bits::{Vector, above_with, half_add, half_subtract, words};
use std::mem::take;

impl<V: Vector, R: Record> State<V, R> {
    /// Headers and flits enter; the counts of all queues follow.
    #[inline(always)]
    pub(in crate::engine::general) fn arrive_all(&mut self, layout: &Layout, cycle: u64) {
        if layout.latency > 1 {
            self.arrive_later(layout, cycle);
        } else if !self.moving.crossings.items().is_empty() {
            let crossings = take(&mut self.moving.crossings);
            self.enter(layout, crossings.items());
            self.moving.crossings = crossings;
        }
        self.moving.crossings.clear();
        self.queues.full_any = R::Set::default();
        self.moving.entered = R::Set::default();
        let mut sent = self.moving.sent_any & R::Set::below(layout.link_outputs);
        while !sent.is_empty() {
            self.moving.entered |= R::Set::of(layout.queue_behind[sent.pop()].into(), true);
        }
        for block in 0..self.blocks {
            self.count_block(layout, block);
        }
    }

    #[inline(always)]
    fn enter(&mut self, layout: &Layout, crossings: &[Crossing]) {
        let mut asking = take(&mut self.requests.asking);
        let (fifos, headers) = (&mut self.fifos[..], &mut self.packets.headers[..]);
        asking.reserve(crossings.len());
        for &Crossing { to, slot } in crossings {
            asking.put(to, fifos[to.node() * layout.queues + to.index()].push(slot, headers));
        }
        self.requests.asking = asking;
    }

    /// Links of more than one cycle: what was sent now comes later, what was sent earlier comes now.
    #[inline(never)]
    fn arrive_later(&mut self, layout: &Layout, cycle: u64) {
        let latency = layout.latency as u64;
        let later = &mut self.wheel[((cycle + latency - 1) % latency) as usize];
        later.crossings.extend_from_slice(self.moving.crossings.items());
        for queue in (0..layout.link_queues)
            .filter(|&queue| self.moving.sent_any.has(layout.output_before[queue].into()))
        {
            let links = &layout.links[usize::from(layout.port_of_queue[queue])];
            let sent = self.moving.sent.with_margins(usize::from(layout.output_before[queue]));
            for block in 0..self.blocks {
                let first = block * V::WORDS;
                let flits: V = links.seen(sent, first);
                for (word, &bits) in (first..).zip(words(std::slice::from_ref(&flits))) {
                    if bits != 0 {
                        later.flits.push((queue as u32, word as u32, bits));
                        self.on_links += u64::from(bits.count_ones());
                    }
                }
            }
        }
        let now = (cycle % latency) as usize;
        let due = take(&mut self.wheel[now]);
        self.enter(layout, &due.crossings);
        for &(queue, word, bits) in &due.flits {
            self.on_links -= u64::from(bits.count_ones());
            *self.queues.nonempty.word_mut(queue as usize, word as usize * 64) |= bits;
            // Counting up by one: the carry runs through the bits.
            let mut carry = bits;
            for bit in 0..self.queues.count_bits {
                let plane = queue as usize * self.queues.count_bits + bit;
                half_add(self.queues.counts.word_mut(plane, word as usize * 64), &mut carry);
            }
        }
        self.wheel[now] = due;
        self.wheel[now].crossings.clear();
        self.wheel[now].flits.clear();
    }

    /// Counts what left the queues of a block and what arrives in them.
    #[inline(always)]
    pub(in crate::engine::general) fn count_block(&mut self, layout: &Layout, block: usize) {
        let (count_bits, word) = (self.queues.count_bits, block * V::WORDS);
        let slow = layout.latency > 1;
        let leaves = self.moving.leaves.block(block);
        let nonempty = self.queues.nonempty.block_mut(block);
        let Any { leaves: mut changing, full: mut any_full, .. } = self.any[block];
        changing = (changing | self.moving.entered) & R::Set::below(layout.link_queues);
        while !changing.is_empty() {
            let queue = changing.pop();
            let before = usize::from(layout.output_before[queue]);
            let (mut comes, mut goes) = (V::zero(), V::zero());
            if self.moving.sent_any.has(before) {
                let links = &layout.links[usize::from(layout.port_of_queue[queue])];
                comes = links.seen(self.moving.sent.with_margins(before), word);
            }
            if self.any[block].leaves.has(queue) {
                goes = leaves[queue];
            }
            let planes = queue * count_bits..(queue + 1) * count_bits;
            let counts = if slow {
                let (mut borrow, mut some) = (goes, V::zero());
                for count in &mut self.queues.counts.block_mut(block)[planes.clone()] {
                    half_subtract(count, &mut borrow);
                    some = some | *count;
                }
                nonempty[queue] = some;
                &mut self.queues.held.block_mut(block)[planes]
            } else {
                &mut self.queues.counts.block_mut(block)[planes]
            };
            let (mut up, mut down) = (comes & !goes, goes & !comes);
            let (mut full, mut some) = (V::zero(), V::zero());
            for (bit, count) in counts.iter_mut().enumerate() {
                let before = *count;
                *count = before ^ (up | down);
                up = up & before;
                down = down & !before;
                some = some | *count;
                full = above_with(full, self.queues.most, bit, *count);
                if layout.headers_wait {
                    count.store(&mut self.queues.levels.plane_mut(queue * count_bits + bit)[word..]);
                }
            }
            if !slow {
                nonempty[queue] = some;
            }
            full.store(&mut self.queues.full.plane_mut(queue)[word..]);
            any_full = any_full & !R::Set::of(queue, true) | R::Set::of(queue, full.any());
        }
        self.any[block].full = any_full;
        self.queues.full_any |= any_full;
    }
}
