//! Records of what leaves: headers, tails, and packets that have arrived.

use super::super::{
    crossing::Crossing,
    layout::{Layout, Place},
    packets::Packet,
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::{Vector, ones, words},
    engine::{fingerprint, lateness},
    probe::Delivery,
};

impl<V: Vector, R: Record> State<V, R> {
    /// Finds where headers go, and frees what tails leave.
    #[inline(always)]
    pub(in crate::engine::general) fn depart_all(&mut self, layout: &Layout, cycle: u64) {
        self.delivered.clear();
        for block in 0..self.blocks {
            self.send_headers(layout, block, cycle);
            self.free_behind_tails(layout, block);
            if self.demands.exact_feed {
                self.drain_processors(layout, block);
            }
        }
    }

    #[inline(always)]
    fn send_headers(&mut self, layout: &Layout, block: usize, cycle: u64) {
        let link_queues = layout.link_queues as u32;
        let windows = self.windows.is_some();
        let mut injected = 0;
        let first = self.crossings.items().len();
        // First where they come from (in the place of the slot) and where they go, ...
        let mut outputs = self.any[block].heads;
        while !outputs.is_empty() {
            let output = outputs.pop();
            let heads = words(std::slice::from_ref(&self.heads.block(block)[output]));
            if output >= layout.link_outputs {
                // Only those of a node to itself are of interest.
                for (word, &bits) in (block * V::WORDS..).zip(heads) {
                    for bit in ones(bits) {
                        let node = word * 64 + bit;
                        let owner = self.outputs[node * layout.outputs + output].owner();
                        injected += u64::from(owner > link_queues);
                        if windows && owner > link_queues {
                            let slot = self.fifos[node * layout.queues + owner as usize - 1].front;
                            self.packets.packet_mut(slot).injected = cycle;
                        }
                    }
                }
                continue;
            }
            let (links, behind) =
                (&layout.links[layout.port_of_output(output)], usize::from(layout.queue_behind[output]));
            for (word, &bits) in (block * V::WORDS..).zip(heads) {
                self.crossings.reserve(bits.count_ones() as usize);
                for bit in ones(bits) {
                    let node = word * 64 + bit;
                    let to = Place::new(links.neighbour(node), behind);
                    self.crossings.push(Crossing { to, slot: Place::new(node, output).pack() });
                }
            }
        }
        // ... then who they are.
        for crossing in &mut self.crossings.items_mut()[first..] {
            let from = Place::unpack(crossing.slot);
            let owner = self.outputs[from.node() * layout.outputs + from.index()].owner();
            injected += u64::from(owner > link_queues);
            crossing.slot = self.fifos[from.node() * layout.queues + owner as usize - 1].front;
            if windows && owner > link_queues {
                self.packets.packet_mut(crossing.slot).injected = cycle;
            }
        }
        self.outcome.packets_injected += injected;
    }

    #[inline(always)]
    fn free_behind_tails(&mut self, layout: &Layout, block: usize) {
        let mut outputs = self.any[block].tails;
        self.freed.clear();
        while !outputs.is_empty() {
            let output = outputs.pop();
            let tails = words(std::slice::from_ref(&self.tails.block(block)[output]));
            for (word, &bits) in (block * V::WORDS..).zip(tails) {
                self.freed.reserve(bits.count_ones() as usize);
                for bit in ones(bits) {
                    self.freed.put(Place::new(word * 64 + bit, output), true);
                }
            }
        }
        let count = self.freed.items().len();
        self.wanted.reserve(count);
        self.asking.reserve(count);
        self.feeds.reserve(count);
        let lazy = !self.demands.exact_feed;
        for &place in self.freed.items() {
            let (node, output) = (place.node(), place.index());
            let record = &mut self.outputs[node * layout.outputs + output];
            let queue = record.owner() as usize - 1;
            *record = record.free();
            self.wanted.put(place, record.is_requested());
            let fifo = &mut self.fifos[node * layout.queues + queue];
            if output >= layout.link_outputs {
                self.delivered.push((node as u32, fifo.front));
            }
            let more = fifo.pop(&self.packets);
            let place = Place::new(node, queue);
            self.asking.put(place, more);
            self.feeds.freed(place, lazy && layout.is_processor(queue));
        }
    }

    /// Counts the flits that leave the processor queues.
    pub(in crate::engine::general) fn drain_processors(&mut self, layout: &Layout, block: usize) {
        for queue in (layout.link_queues..layout.queues).filter(|&queue| self.any[block].leaves.has(queue)) {
            let leaves = words(std::slice::from_ref(&self.leaves.block(block)[queue]));
            for (word, &bits) in (block * V::WORDS..).zip(leaves) {
                for bit in ones(bits) {
                    let node = word * 64 + bit;
                    self.feeds.left(node, layout.line(node, queue));
                }
            }
        }
    }

    /// Totals of the cycle; deliveries are told to whoever waits for them.
    #[inline(always)]
    pub(in crate::engine::general) fn account_all(&mut self, layout: &Layout, cycle: u64) {
        if self.sent_any.part(layout.link_outputs, layout.channels) != 0 {
            self.outcome.duration = cycle + 2;
        }
        if self.delivered.is_empty() {
            return;
        }
        self.outcome.packets_delivered += self.delivered.len() as u64;
        self.outcome.lateness += lateness(cycle) * self.delivered.len() as u128;
        for &(node, slot) in &self.delivered {
            self.outcome.latency_sum += cycle - self.packets.packet(slot).start;
            let node = layout.first as u32 + node;
            self.outcome.fingerprint = self.outcome.fingerprint.wrapping_add(fingerprint(cycle, node));
        }
        if let Some(windows) = &mut self.windows {
            for &(_, slot) in &self.delivered {
                let &Packet { source, start, injected, .. } = self.packets.packet(slot);
                windows.deliver(Delivery { cycle, source, start, injected });
            }
        }
        if self.sources.listens() || self.demands.interlock || self.demands.reinitialise {
            self.send_halo(layout, cycle);
        }
        for &(_, slot) in &self.delivered {
            self.packets.remove(slot);
        }
    }

    #[inline(never)]
    fn send_halo(&mut self, layout: &Layout, cycle: u64) {
        // A node receives one packet at most.
        self.delivered.sort_unstable();
        for index in 0..self.delivered.len() {
            let (node, slot) = self.delivered[index];
            let node = node as usize;
            let feeds = &mut self.feeds;
            let &Packet { source, number, slice, .. } = self.packets.packet(slot);
            if self.sources.are_elsewhere(source) {
                self.news.push((source, number));
            }
            self.sources.delivered((source, number, slice), cycle, |node, start| {
                feeds.wake(node, start.max(cycle + 1))
            });
            if self.demands.reinitialise {
                self.reinitialise(layout, node);
            }
            if self.demands.interlock {
                self.feeds.received(node);
            }
        }
    }

    /// Takes the arbiters of a router back to their initial state.
    fn reinitialise(&mut self, layout: &Layout, node: usize) {
        for record in &mut self.outputs[node * layout.outputs..(node + 1) * layout.outputs] {
            *record = record.rewind();
        }
        for output in 0..layout.outputs {
            self.last.set(output, node, output % layout.channels == 0);
        }
    }
}
