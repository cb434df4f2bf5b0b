//! Records of packets that have arrived.

use super::super::{
    layout::Layout,
    packets::Packet,
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::Vector,
    engine::{fingerprint, lateness},
    probe::Delivery,
};

impl<V: Vector, R: Record> State<V, R> {
    /// Totals of the cycle; deliveries are told to whoever waits for them.
    #[inline(always)]
    pub(in crate::engine::general) fn account_all(&mut self, layout: &Layout, cycle: u64) {
        if self.moving.sent_any.part(layout.link_outputs, layout.channels) != 0 {
            self.outcome.duration = cycle + 2;
        }
        if self.moving.delivered.is_empty() {
            return;
        }
        self.outcome.packets_delivered += self.moving.delivered.len() as u64;
        let late = lateness(cycle, self.moving.delivered.len() as u64);
        self.outcome.lateness = self.outcome.lateness.saturating_add(late);
        for &(node, slot) in &self.moving.delivered {
            self.outcome.latency_sum += cycle - self.packets.packet(slot).start;
            let node = layout.first as u32 + node;
            self.outcome.fingerprint = self.outcome.fingerprint.wrapping_add(fingerprint(cycle, node));
        }
        if let Some(windows) = &mut self.windows {
            for &(_, slot) in &self.moving.delivered {
                let &Packet { source, start, injected, .. } = self.packets.packet(slot);
                windows.deliver(Delivery { cycle, source, start, injected });
            }
        }
        if self.sources.listens() || self.demands.interlock || self.demands.reinitialise {
            self.send_halo(layout, cycle);
        }
        for &(_, slot) in &self.moving.delivered {
            self.packets.remove(slot);
        }
    }

    #[inline(never)]
    fn send_halo(&mut self, layout: &Layout, cycle: u64) {
        // A node receives one packet at most.
        self.moving.delivered.sort_unstable();
        for index in 0..self.moving.delivered.len() {
            let (node, slot) = self.moving.delivered[index];
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
