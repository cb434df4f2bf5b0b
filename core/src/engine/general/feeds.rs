//! The nodes' sources as the engine sees them: who is to be looked at, who waits for the start of its next
//! packet, what was taken and has not left.

use super::layout::{NONE, Place};
use crate::{
    bits::List,
    fabric::NodeId,
    save::SaveError,
    throttle::{AtWork, Received},
    traffic::Sources,
    visit::{Visited, Visitor},
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
    pub free: List<Place>,
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
    /// The first processor queue of a router, and how many it has.
    processor: usize,
    queues: usize,
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

    pub(super) fn new(nodes: usize) -> Self {
        Self { first: vec![NONE; Self::SLOTS], behind: vec![NONE; nodes], waiting: 0 }
    }

    /// The nodes that wait.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let some = |node: NodeId| (node != NONE).then_some(node);
        let next = move |&node: &NodeId| some(self.behind[node as usize]);
        let most = self.behind.len();
        self.first.iter().flat_map(move |&first| std::iter::successors(some(first), next).take(most))
    }

    #[inline(always)]
    pub(super) fn wait(&mut self, node: NodeId, start: u64) {
        let slot = &mut self.first[start as usize % Self::SLOTS];
        self.behind[node as usize] = std::mem::replace(slot, node);
        self.waiting += 1;
    }

    /// Empties the slot of a cycle; its first node, or [`NONE`].
    #[inline(always)]
    pub(super) fn due(&mut self, cycle: u64) -> NodeId {
        std::mem::replace(&mut self.first[cycle as usize % Self::SLOTS], NONE)
    }

    /// The node behind one that was due.
    ///
    /// # Panics
    ///
    /// If more nodes are due than wait: lists of a state that somebody changed may lead round in circles.
    #[inline(always)]
    pub(super) fn behind(&mut self, node: NodeId) -> NodeId {
        self.waiting = self.waiting.checked_sub(1).expect("a node waits once");
        self.behind[node as usize]
    }

    /// The earliest start at or after a cycle.
    pub(super) fn next(&self, cycle: u64, start: impl Fn(NodeId) -> u64) -> Option<u64> {
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
            .take(self.behind.len())
            .min()
        };
        let soon = (cycle..cycle + Self::SLOTS as u64)
            .find(|&soon| starts(soon as usize % Self::SLOTS) == Some(soon));
        soon.or_else(|| (0..Self::SLOTS).filter_map(starts).min())
    }
}

impl Feeds {
    /// The sources of so many nodes with so many processor queues each, the first of which has a number.
    pub(super) fn new(
        nodes: usize,
        (processor, queues): (usize, usize),
        sources: &Sources,
        exact: bool,
    ) -> Self {
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
            processor,
            queues,
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
    pub(super) fn next_wake(&self, sources: &Sources, cycle: u64) -> Option<u64> {
        let soonest = self.wakes.peek().map(|&Reverse((start, _))| start);
        soonest.or_else(|| self.wheel.next(cycle, |node| sources.next_start(node)))
    }

    /// Exact: a node is looked at in the next cycle.
    #[inline(always)]
    pub(super) fn look_at(&mut self, node: usize) {
        self.look[node / 64] |= 1 << (node % 64);
    }

    /// Exact: a flit left a processor queue of a node.
    #[inline(always)]
    pub(super) fn left(&mut self, node: usize, line: usize) {
        self.backlog[line].unsent -= 1;
        self.backlog[line].queued -= 1;
        self.look_at(node);
    }

    /// Flits in a processor queue as far as they are counted: exactly, or not at all.
    pub(super) fn queued(&self, line: usize) -> u32 {
        self.backlog.get(line).map_or(0, |backlog| backlog.queued)
    }

    /// Interlocked: a node received a packet.
    pub(super) fn received(&mut self, node: usize) {
        self.interlock.received(node as NodeId);
        self.look_at(node);
    }

    /// A node has something new to send from a cycle on.
    pub(super) fn wake(&mut self, node: NodeId, start: u64) {
        self.wakes.push(Reverse((start, node)));
    }
}

impl Feeds {
    /// Nobody waits.
    pub(super) fn forget_starts(&mut self) {
        self.wheel = Wheel::new(self.wheel.behind.len());
        self.wakes.clear();
    }

    /// Shows them to a visitor; `sources` are what they are fed by.
    pub(super) fn visit(&mut self, sources: &Sources, visitor: &mut impl Visitor) -> Visited {
        // What they were made of, and the cycle of the last wake.
        let Self {
            processor,
            queues,
            woken: _,
            free,
            look,
            wheel,
            wakes,
            waiting,
            backlog,
            before,
            interlock,
        } = self;
        let (processor, queues) = (*processor, *queues);
        let line = |place: &Place| (place.node() * queues + place.index() - processor) as u32;
        let mut lines: Vec<u32> = free.items().iter().map(line).collect();
        lines.sort_unstable();
        visitor.places("processor queues to begin", queues, &mut lines)?;
        let of_wheel = wheel.behind.len();
        let mut on_wheel: Vec<NodeId> = wheel.nodes().collect();
        on_wheel.sort_unstable();
        visitor.places("nodes that wait", usize::from(of_wheel > 0), &mut on_wheel)?;
        let mut timed: Vec<(u64, u32)> = wakes.drain().map(|Reverse(wake)| wake).collect();
        timed.sort_unstable();
        visitor.timed(["wakes", "nodes to wake"], &mut timed)?;
        wakes.extend(timed.into_iter().map(Reverse));
        visitor.bits("nodes to top up", look)?;
        visitor.bits("nodes with a wake", waiting)?;
        visitor.records("flits unsent", backlog, |Backlog { unsent, queued: _ }| unsent)?;
        visitor.records("flits in processor queues", backlog, |Backlog { unsent: _, queued }| queued)?;
        visitor.records("packets before queues", before, |Before { count, number: _, start: _ }| count)?;
        visitor.records("numbers before queues", before, |Before { count: _, number, start: _ }| number)?;
        visitor.records("starts before queues", before, |Before { count: _, number: _, start }| start)?;
        interlock.visit(visitor)?;
        if visitor.changes() {
            let nodes = visitor.nodes();
            let last = look.last().copied().unwrap_or(0);
            let beyond =
                last.checked_shr((nodes % 64) as u32).filter(|_| !nodes.is_multiple_of(64)).unwrap_or(0);
            if beyond != 0 {
                return Err(SaveError::Value { field: "nodes to top up", value: beyond });
            }
            free.clear();
            free.reserve(lines.len());
            for line in lines {
                let (node, queue) = (line as usize / queues, line as usize % queues);
                free.put(Place::new(node, processor + queue), true);
            }
            on_wheel.dedup();
            *wheel = Wheel::new(of_wheel);
            for node in on_wheel {
                wheel.wait(node, sources.next_start(node));
            }
        }
        Ok(())
    }
}

/// Packets that have started and wait before a processor queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    pub count: u64,
    /// The first of them is the first packet of its queue from this number on, ...
    pub number: u64,
    /// ... and the packet of that number starts in this cycle.
    pub start: u64,
}
