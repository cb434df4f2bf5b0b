//! Packets come from their sources into the processor queues.
//!
//! At the beginning of a cycle a processor queue is topped up with as many flits as fit, so it never
//! runs empty while its front packet is under way: no planes count its flits. Where nothing depends
//! on the cycle in which a packet is taken from its source, the next one is taken when the tail of
//! the last has left. Message graphs, interlocked slices and reports of deadlocks depend on it; for
//! them the flits in and before the queue are counted (`exact`).

use super::super::{
    feeds::Backlog,
    layout::{Layout, NONE, Place},
    packets::Packet,
    record::Record,
    state::State,
};
use crate::{
    bits::{Vector, ones},
    fabric::NodeId,
    throttle::AtWork,
    traffic,
};
use std::cmp::Reverse;

impl<V: Vector, R: Record> State<V, R> {
    /// Tops the processor queues up; true if any flit came.
    #[inline(always)]
    pub(in crate::engine::general) fn top_up_all(&mut self, layout: &Layout, cycle: u64) -> bool {
        if self.demands.exact_feed {
            return self.top_up_exactly(layout, cycle);
        }
        let mut any = false;
        let mut node = self.feeds.wheel.due(cycle);
        while node != NONE {
            let next = self.feeds.wheel.behind(node);
            any |= self.start(layout, node, cycle);
            node = next;
        }
        for index in 0..self.feeds.free.items().len() {
            let place = self.feeds.free.items()[index];
            if layout.processor_queues > 1 {
                any |= self.refill(layout, place);
            } else {
                any |= self.start(layout, place.node() as NodeId, cycle);
            }
        }
        self.feeds.free.clear();
        any
    }

    /// The next packet of a node without one starts now or waits for its time; where a node has several
    /// queues, all that start now go before theirs.
    #[inline(always)]
    fn start(&mut self, layout: &Layout, node: NodeId, cycle: u64) -> bool {
        if layout.processor_queues > 1 {
            let any = self.sort_out(layout, node as usize, cycle)
                && (layout.link_queues..layout.queues)
                    .fold(false, |any, queue| self.refill(layout, Place::new(node as usize, queue)) | any);
            let start = self.sources.next_start(node);
            if start != u64::MAX {
                self.feeds.wheel.wait(node, start);
            }
            return any;
        }
        let start = self.sources.next_start(node);
        if start <= cycle {
            return self.take(layout, node as usize, cycle).is_some();
        }
        if start != u64::MAX {
            self.feeds.wheel.wait(node, start);
        }
        false
    }

    #[inline(never)]
    fn top_up_exactly(&mut self, layout: &Layout, cycle: u64) -> bool {
        while let Some(&Reverse((start, node))) = self.feeds.wakes.peek() {
            if start > cycle {
                break;
            }
            self.feeds.wakes.pop();
            self.feeds.woken = cycle;
            self.feeds.look_at(node as usize);
        }
        let mut any = false;
        for word in 0..self.feeds.look.len() {
            let bits = std::mem::take(&mut self.feeds.look[word]);
            for bit in ones(bits) {
                any |= self.top_up_node(layout, word * 64 + bit, cycle);
            }
        }
        any
    }

    fn top_up_node(&mut self, layout: &Layout, node: usize, cycle: u64) -> bool {
        if layout.processor_queues > 1 {
            self.sort_out(layout, node, cycle);
            self.wait_for_next(node, cycle);
        }
        let mut any = false;
        for queue in layout.link_queues..layout.queues {
            let line = layout.line(node, queue);
            let mut backlog = self.feeds.backlog[line];
            while backlog.unsent < layout.processor_buffer {
                let next = if layout.processor_queues > 1 {
                    self.take_over(layout, Place::new(node, queue))
                } else {
                    self.next_packet(layout, node, cycle)
                };
                match next {
                    Some(length) => backlog.unsent += length,
                    None => break,
                }
            }
            let queued = backlog.unsent.min(layout.processor_buffer);
            any |= queued != backlog.queued;
            self.feeds.backlog[line] = Backlog { queued, ..backlog };
        }
        any
    }

    /// A node without a packet that has started waits for the start of its next one; true if it does.
    fn wait_for_next(&mut self, node: usize, cycle: u64) -> bool {
        let start = self.sources.next_start(node as NodeId);
        let bit = 1 << (node % 64);
        if start <= cycle {
            return false;
        }
        // Newcomers count as waiting: their first wake is there from the beginning.
        let waits = self.feeds.waiting[node / 64] & bit != 0;
        self.feeds.waiting[node / 64] |= bit;
        if start != u64::MAX && !waits {
            self.feeds.wakes.push(Reverse((start, node as NodeId)));
        }
        true
    }

    /// Takes the next packet of a node if it has started, else waits for its start; its length.
    fn next_packet(&mut self, layout: &Layout, node: usize, cycle: u64) -> Option<u32> {
        if self.wait_for_next(node, cycle) {
            return None;
        }
        // An interlocked node looks again when a packet for it arrives.
        let taken = self.sources.taken(node as NodeId);
        let next = || self.sources.again(node as NodeId, taken, self.sources.next_start(node as NodeId));
        if self.demands.interlock && !self.is_let_in(layout, node, taken, next) {
            return None;
        }
        let length = self.take(layout, node, cycle)?;
        self.feeds.waiting[node / 64] &= !(1 << (node % 64));
        Some(length)
    }

    /// Whether an interlocked node may take its packet of a number: those to itself wait for no others.
    pub(in crate::engine::general) fn is_let_in(
        &self,
        layout: &Layout,
        node: usize,
        number: u64,
        packet: impl FnOnce() -> Option<traffic::Packet>,
    ) -> bool {
        let is_own = |packet: traffic::Packet| packet.destination as usize == layout.first + node;
        self.feeds.interlock.may_take(node as NodeId, number) || packet().is_some_and(is_own)
    }

    /// Takes the next packet of a node into its one processor queue; its length.
    #[inline(always)]
    fn take(&mut self, layout: &Layout, node: usize, cycle: u64) -> Option<u32> {
        let (number, packet) = self.sources.take(node as NodeId, cycle)?;
        Some(self.enter_processor(layout, Place::new(node, layout.link_queues), number, packet))
    }

    /// A packet enters a processor queue; its length.
    #[inline(always)]
    pub(in crate::engine::general) fn enter_processor(
        &mut self,
        layout: &Layout,
        place: Place,
        number: u64,
        packet: traffic::Packet,
    ) -> u32 {
        let (node, queue) = (place.node(), place.index());
        let source = (layout.first + node) as NodeId;
        let route = self.sources.route(source, number, packet.destination, &mut self.routes);
        let (route, first_channel) = route.unwrap_or((NONE, 0));
        if self.sources.listens() {
            // Taking the last packet of a message may let others start.
            let wakes = &mut self.feeds.wakes;
            self.sources.refresh(&mut |node, start| wakes.push(Reverse((start, node))));
        }
        let way = layout.way(source as usize, packet.destination as usize);
        let slot = self.packets.place(
            way,
            Packet {
                number,
                start: packet.start,
                injected: 0,
                source,
                destination: packet.destination,
                slice: packet.slice,
                length: packet.length,
                route,
                first_channel,
            },
        );
        let front = self.fifos[node * layout.queues + queue].push(slot, &mut self.packets.headers);
        self.requests.asking.reserve(1);
        self.requests.asking.put(place, front);
        packet.length
    }
}
