//! Packets come from their sources into the processor queues.
//!
//! At the beginning of a cycle a processor queue is topped up with as many flits as fit, so it never
//! runs empty while its front packet is under way: no planes count its flits. Where nothing depends
//! on the cycle in which a packet is taken from its source, the next one is taken when the tail of
//! the last has left. Message graphs, interlocked slices and reports of deadlocks depend on it; for
//! them the flits in and before the queue are counted (`exact`).

use super::{
    before::Before,
    layout::{Layout, NONE, Place},
    packets::Packet,
    record::Record,
    state::{List, State},
};
use crate::{
    engine::planes::vector::Vector,
    fabric::NodeId,
    throttle::{AtWork, Received},
    traffic::{self, Sources},
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What was taken for a processor queue and has not been sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    /// Flits of the packets taken that have not left the queue.
    pub unsent: u32,
    /// Those of them in the queue.
    pub queued: u32,
}

/// The nodes' sources.
#[derive(Clone, Debug)]
pub(super) struct Feeds {
    /// Processor queues to be looked at in the next cycle: a list, or (exact) a set of nodes, since their
    /// order counts.
    pub free: List,
    pub look: Vec<u64>,
    /// Nodes that wait for the start of their next packet.
    pub wheel: Wheel,
    /// Exact: the same with their starts; a node may be there several times.
    pub wakes: BinaryHeap<Reverse<(u64, NodeId)>>,
    /// Exact: nodes among them.
    pub waiting: Vec<u64>,
    /// Exact: the last cycle in which the packet of any of them started.
    pub woken: u64,
    /// Exact, per processor queue.
    pub backlog: Vec<Backlog>,
    /// Per processor queue, where nodes have several: what waits before it.
    pub before: Vec<Before>,
    /// What interlocked nodes have received.
    pub interlock: Received,
}

/// Nodes by the start of their next packet; later starts go round again.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    first: Vec<NodeId>,
    /// Per node: the next one in the same slot.
    behind: Vec<NodeId>,
    waiting: usize,
}

impl Wheel {
    const SLOTS: usize = 1024;

    pub fn new(nodes: usize) -> Self {
        Self { first: vec![NONE; Self::SLOTS], behind: vec![NONE; nodes], waiting: 0 }
    }

    /// The nodes that wait.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let some = |node: NodeId| (node != NONE).then_some(node);
        let next = move |&node: &NodeId| some(self.behind[node as usize]);
        self.first.iter().flat_map(move |&first| std::iter::successors(some(first), next))
    }

    #[inline(always)]
    pub fn wait(&mut self, node: NodeId, start: u64) {
        let slot = &mut self.first[start as usize % Self::SLOTS];
        self.behind[node as usize] = std::mem::replace(slot, node);
        self.waiting += 1;
    }

    /// Empties the slot of a cycle; its first node, or [`NONE`].
    #[inline(always)]
    fn due(&mut self, cycle: u64) -> NodeId {
        std::mem::replace(&mut self.first[cycle as usize % Self::SLOTS], NONE)
    }

    /// The node behind one that was due.
    #[inline(always)]
    fn behind(&mut self, node: NodeId) -> NodeId {
        self.waiting -= 1;
        self.behind[node as usize]
    }

    /// The earliest start at or after a cycle.
    fn next(&self, cycle: u64, start: impl Fn(NodeId) -> u64) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let starts = |slot: usize| {
            let mut node = self.first[slot];
            std::iter::from_fn(|| {
                let here = (node != NONE).then_some(node)?;
                node = self.behind[here as usize];
                Some(start(here))
            })
            .min()
        };
        let soon = (cycle..cycle + Self::SLOTS as u64)
            .find(|&soon| starts(soon as usize % Self::SLOTS) == Some(soon));
        soon.or_else(|| (0..Self::SLOTS).filter_map(starts).min())
    }
}

impl Feeds {
    pub fn new(nodes: usize, queues: usize, sources: &Sources, exact: bool) -> Self {
        let words = if exact { nodes.div_ceil(64) } else { 0 };
        let mut feeds = Self {
            free: List::default(),
            wheel: Wheel::new(if exact { 0 } else { nodes }),
            look: vec![0; words],
            wakes: BinaryHeap::new(),
            waiting: vec![u64::MAX; words],
            woken: 0,
            backlog: vec![Backlog::default(); if exact { nodes * queues } else { 0 }],
            before: vec![Before::default(); if queues > 1 { nodes * queues } else { 0 }],
            interlock: Received::default(),
        };
        for node in 0..nodes as NodeId {
            let start = sources.next_start(node);
            if start != u64::MAX && exact {
                feeds.wakes.push(Reverse((start, node)));
            } else if start != u64::MAX {
                feeds.wheel.wait(node, start);
            }
        }
        feeds
    }

    /// When the first of the waiting nodes has its next packet.
    pub fn next_wake(&self, sources: &Sources, cycle: u64) -> Option<u64> {
        let soonest = self.wakes.peek().map(|&Reverse((start, _))| start);
        soonest.or_else(|| self.wheel.next(cycle, |node| sources.next_start(node)))
    }

    /// Room for so many nodes that become free.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        self.free.reserve(more);
    }

    /// The tail of a node's packet has left, perhaps.
    #[inline(always)]
    pub fn freed(&mut self, processor: Place, keep: bool) {
        self.free.put(processor, keep);
    }

    /// Exact: a node is looked at in the next cycle.
    #[inline(always)]
    fn look_at(&mut self, node: usize) {
        self.look[node / 64] |= 1 << (node % 64);
    }

    /// Exact: a flit left a processor queue of a node.
    #[inline(always)]
    pub fn left(&mut self, node: usize, line: usize) {
        self.backlog[line].unsent -= 1;
        self.backlog[line].queued -= 1;
        self.look_at(node);
    }

    /// Exact: flits in a processor queue.
    pub fn queued(&self, line: usize) -> u32 {
        self.backlog[line].queued
    }

    /// Interlocked: a node received a packet.
    pub fn received(&mut self, node: usize) {
        self.interlock.received(node as NodeId);
        self.look_at(node);
    }

    /// A node has something new to send from a cycle on.
    pub fn wake(&mut self, node: NodeId, start: u64) {
        self.wakes.push(Reverse((start, node)));
    }
}

impl<V: Vector, R: Record> State<V, R> {
    /// Tops the processor queues up; true if any flit came.
    #[inline(always)]
    pub fn top_up_all(&mut self, layout: &Layout, cycle: u64) -> bool {
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
            let mut bits = std::mem::take(&mut self.feeds.look[word]);
            while bits != 0 {
                any |= self.top_up_node(layout, word * 64 + bits.trailing_zeros() as usize, cycle);
                bits &= bits - 1;
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
        if self.demands.interlock && !self.feeds.interlock.may_take(node as NodeId, taken) {
            return None;
        }
        let length = self.take(layout, node, cycle)?;
        self.feeds.waiting[node / 64] &= !(1 << (node % 64));
        Some(length)
    }

    /// Takes the next packet of a node into its one processor queue; its length.
    #[inline(always)]
    fn take(&mut self, layout: &Layout, node: usize, cycle: u64) -> Option<u32> {
        let (number, packet) = self.sources.take(node as NodeId, cycle)?;
        Some(self.enter_processor(layout, Place::new(node, layout.link_queues), number, packet))
    }

    /// A packet enters a processor queue; its length.
    #[inline(always)]
    pub fn enter_processor(
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
        let front = self.fifos[node * layout.queues + queue].push(slot, &mut self.packets);
        self.asking.reserve(1);
        self.asking.put(place, front);
        packet.length
    }
}
