//! What waits before processor queues where a node has several, one per direction of the first hop.
//!
//! A node's packets come from its source in their order. When one starts, it is counted before its
//! queue; when the queue has room for it, it is looked up again, behind the last one that entered. So
//! unbounded queues take constant space, and packets are drawn once more only where they had to wait.

use super::{
    feeds::Before,
    layout::{Layout, Place},
    record::Record,
    state::State,
};
use crate::{bits::Vector, fabric::NodeId, traffic::Packet};

impl<V: Vector, R: Record> State<V, R> {
    /// The packets of a node that start now go before their queues; true if there are any.
    pub(super) fn sort_out(&mut self, layout: &Layout, node: usize, cycle: u64) -> bool {
        let mut any = false;
        while self.sources.next_start(node as NodeId) <= cycle {
            let Some((number, packet)) = self.sources.take(node as NodeId, cycle) else { break };
            if !self.feeds.waiting.is_empty() {
                self.feeds.waiting[node / 64] &= !(1 << (node % 64));
            }
            let queue = self.queue_of(layout, node, number, &packet);
            let before = &mut self.feeds.before[layout.line(node, queue)];
            if before.count == 0 {
                (before.number, before.start) = (number, packet.start);
            }
            before.count += 1;
            any = true;
            if let Some(windows) = &mut self.windows {
                windows.add(layout.line(node, queue), cycle);
            }
        }
        any
    }

    /// The processor queue of a packet.
    fn queue_of(&mut self, layout: &Layout, node: usize, number: u64, packet: &Packet) -> usize {
        let source = layout.first + node;
        let route = self.sources.route(source as NodeId, number, packet.destination, &mut self.routes);
        let port = match (route, &self.routes) {
            (Some((first, _)), Some(routes)) => usize::from(routes.steps()[first as usize]),
            _ => layout.first_port(node, layout.way(source, packet.destination as usize)),
        };
        layout.processor(port)
    }

    /// If a processor queue is empty, the next packet enters it; true if one does.
    pub(super) fn refill(&mut self, layout: &Layout, place: Place) -> bool {
        self.fifo(layout, place).front == 0 && self.take_over(layout, place).is_some()
    }

    /// The next packet before a processor queue enters it, unless it is interlocked; its length.
    pub(super) fn take_over(&mut self, layout: &Layout, place: Place) -> Option<u32> {
        let (node, line) = (place.node(), layout.line(place.node(), place.index()));
        let mut before = self.feeds.before[line];
        if before.count == 0 {
            return None;
        }
        let packet = loop {
            let packet = self.sources.again(node as NodeId, before.number, before.start)?;
            if self.queue_of(layout, node, before.number, &packet) == place.index() {
                break packet;
            }
            self.step_on(node, &mut before);
        };
        let number = before.number;
        let may = !self.demands.interlock || self.is_let_in(layout, node, number, || Some(packet));
        if may {
            before.count -= 1;
            if before.count > 0 {
                self.step_on(node, &mut before);
            }
        }
        self.feeds.before[line] = before;
        may.then(|| self.enter_processor(layout, place, number, packet))
    }

    /// Starts of the packets at the fronts of all processor queues and of what waits before them, `u64::MAX` for none;
    /// where nodes have one, its generator knows.
    pub(super) fn fronts(&self, layout: &Layout) -> Vec<u64> {
        if layout.processor_queues == 1 {
            return Vec::new();
        }
        let lines = (0..layout.nodes)
            .flat_map(|node| (layout.link_queues..layout.queues).map(move |queue| (node, queue)));
        let front = |(node, queue)| {
            let line = layout.line(node, queue);
            let slots = self.fifo(layout, Place::new(node, queue)).slots(&self.packets);
            let mut waits = slots.iter().map(|&slot| self.packets.packet(slot));
            let next = self.windows.as_ref().map_or(0, |windows| windows.next_to_leave(line));
            let entered = waits.find(|packet| packet.number >= next);
            let before = self.feeds.before[line];
            entered.map_or(if before.count > 0 { before.start } else { u64::MAX }, |packet| packet.start)
        };
        lines.map(front).collect()
    }

    fn step_on(&self, node: usize, before: &mut Before) {
        before.number += 1;
        before.start = self.sources.start_again(node as NodeId, before.number, before.start + 1);
    }
}
