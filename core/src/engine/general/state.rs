//! Everything that changes while a network runs.

use super::{
    crossbar::Registers,
    crossing::{Crossing, Due},
    feeds::Feeds,
    full_ahead::FullAhead,
    injection_control::InjectionControl,
    layout::{Layout, Place},
    link_counts::LinkCounts,
    packets::{Fifo, Packets},
    pairs::Pairs,
    record::{Any, Record},
};
use crate::{
    bits::{Available, Blocks, List, Planes, Vector},
    engine::Outcome,
    probe::{Counted, Windows},
    routing::{Header, RoutingFunction},
    throttle,
    traffic::{Routes, Sources},
};
use std::sync::Arc;

/// What a run has to do beyond the plain case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demands {
    /// Length of all packets, if it is one.
    pub uniform: Option<u32>,
    pub longest: u32,
    /// Whether packets must be taken from their sources in the very cycle in which the processor
    /// queue has room for them.
    pub exact_feed: bool,
    /// Whether nodes wait for the packets they receive.
    pub interlock: bool,
    /// Whether receiving a packet takes a router's arbiters back to their initial state.
    pub reinitialise: bool,
    /// Whether the use of links is kept.
    pub links: bool,
    /// Cycles of a window, if windows are kept.
    pub windows: Option<u64>,
    /// Whether ready and sendable outputs are kept for probes.
    pub watched: bool,
    /// Which way packets go.
    pub function: RoutingFunction,
    /// Whether that depends on the traffic, so that headers without an output choose in every cycle.
    pub reconsiders: bool,
    /// Whether it goes by numbers drawn for packets, and their seed.
    pub draws: bool,
    pub seed: u64,
    /// The channel of which routers are told what is full ahead, if they are.
    pub watches: Option<u8>,
}

/// The state of a run, in vectors `V` and records `R`.
#[derive(Clone)]
pub(super) struct State<V: Vector, R: Record> {
    pub proof: Available<V>,
    pub demands: Demands,
    pub blocks: usize,
    pub count_bits: usize,
    pub left_bits: usize,

    // Planes of a block, private to it.
    /// Per queue behind a link: flits in it, bit by bit.
    pub counts: Blocks<V>,
    /// The same with the flits on their way to it, where links take more than one cycle.
    pub held: Blocks<V>,
    /// Per pair of a queue and an output channel: the queue owns the output.
    pub own: Blocks<V>,
    pub pairs: Pairs,
    /// Per output channel: flits of the owner's packet still to be sent, less one, bit by bit.
    pub left: Blocks<V>,
    /// Per output channel: no flit of a packet has passed since the last tail.
    pub fresh: Blocks<V>,
    /// Per port and channel: the channel was used last.
    pub last: Blocks<V>,
    /// Per queue: a flit leaves it in this cycle.
    pub leaves: Blocks<V>,
    /// Per output channel: a header or a tail passes in this cycle.
    pub heads: Blocks<V>,
    pub tails: Blocks<V>,
    /// What of a block has any bit set.
    pub any: Vec<Any<R::Set>>,
    /// Per queue: it holds a flit. The processor queue does while it has a packet.
    pub nonempty: Blocks<V>,
    /// For probes: outputs whose owner has a flit, and those of them that could send it.
    pub ready: Blocks<V>,
    pub sendable: Blocks<V>,
    /// Per output channel that is a link: it is requested and waits for room behind it.
    pub parked: Blocks<V>,

    // Planes over the network, read by neighbours; in a part, with the rows before and behind it.
    /// Per queue behind a link: it holds more than `most` flits.
    pub full: Planes,
    /// Most flits of a queue that takes another one, or, where a grant needs room, another packet.
    pub most: u32,
    /// Whether a full queue is one without room for a packet, so that a look at one bit grants.
    pub by_room: bool,
    /// Whether a requested output channel that is not granted is parked until there is room behind it,
    /// rather than looked at in every cycle.
    pub parks: bool,
    /// Queues of which any is full.
    pub full_any: R::Set,
    /// Per queue behind a link and bit of its count: flits in it and on their way to it, where whole packets
    /// have to fit; in a part, those of the rows before and behind in any case.
    pub levels: Planes,
    /// Per output channel: it sends a flit in this cycle.
    pub sent: Planes,
    /// Outputs of which any sends, and queues which any flit enters.
    pub sent_any: R::Set,
    pub entered: R::Set,

    // Records.
    /// Per node and output channel.
    pub outputs: Vec<R>,
    /// Per node and queue.
    pub fifos: Vec<Fifo>,
    pub packets: Packets,
    /// Queues with a new header at the front.
    pub asking: List<Place>,
    /// Per entry of it, where headers choose in every cycle: the output channel chosen in this one.
    pub chosen: Vec<u8>,
    /// Of its first entries, then: their headers, which lie here in the order in which they are looked at.
    pub headers: Vec<Header>,
    /// Output channels without owner that are requested.
    pub wanted: List<Place>,
    /// Output channels granted in this cycle, for probes.
    pub granted: Vec<Place>,
    /// Headers that cross a link in this cycle.
    pub crossings: List<Crossing>,
    /// Scratch: nodes in which a header or tail passes the same output channel.
    pub passed: List<usize>,
    /// Scratch: packets whose tails cross a halo of this part.
    pub leaving: Vec<u32>,
    /// Scratch: output channels a tail leaves.
    pub freed: List<Place>,
    /// Packets whose tail was ejected in this cycle, and where.
    pub delivered: Vec<(u32, u32)>,
    /// By arrival cycle modulo the latency.
    pub wheel: Vec<Due>,
    pub on_links: u64,
    pub feeds: Feeds,
    pub sources: Sources,
    /// Who must wait before injecting.
    pub injection_control: Option<Box<InjectionControl<V>>>,
    /// All given routes.
    pub routes: Option<Arc<Routes>>,
    /// Use of links, if it is kept.
    pub links: Option<LinkCounts<V>>,
    /// What happened in windows, if that is kept.
    pub windows: Option<Box<Windows>>,
    /// Totals at the beginning of a cycle before which a window ends, until it is known that anything happens
    /// in it.
    pub before: Option<Counted>,
    /// Of closed sources: packets of other parts that were delivered in this one in this cycle.
    pub news: Vec<(u32, u64)>,
    /// Registers behind output channels, if there are any.
    pub registers: Option<Box<Registers<V>>>,
    /// What routers know of full buffers ahead, if they are told.
    pub ahead: Option<FullAhead>,
    pub outcome: Outcome,
}

impl<V: Vector, R: Record> State<V, R> {
    pub(super) fn new(
        proof: Available<V>,
        layout: &Layout,
        sources: Sources,
        demands: Demands,
        rule: Option<throttle::State>,
    ) -> Self {
        let blocks = layout.nodes.div_ceil(V::BITS);
        let count_bits = (32 - layout.buffer.leading_zeros()) as usize;
        let left_bits = (32 - (demands.longest - 1).leading_zeros()) as usize;
        let link_queues = layout.link_queues;
        let planes = |planes| Blocks::new(blocks, planes, V::zero());
        let room = demands.uniform.filter(|_| layout.grant_needs_room).unwrap_or(1);
        let some = |wanted: bool, count: usize| if wanted { count } else { 0 };
        let slow = layout.latency > 1;
        let by_room = layout.grant_needs_room && demands.uniform.is_some() && !layout.bubble;
        // Requests of a single cycle are not kept.
        let parks = by_room && !demands.reconsiders;
        let mut state = Self {
            proof,
            demands,
            blocks,
            count_bits,
            left_bits,
            counts: planes(link_queues * count_bits),
            held: planes(some(slow, link_queues * count_bits)),
            own: planes(0),
            pairs: Pairs::new(layout.queues, layout.outputs),
            left: planes(layout.outputs * left_bits),
            fresh: Blocks::new(blocks, layout.outputs, V::ones()),
            last: planes(layout.ports() * layout.channels),
            leaves: planes(layout.queues),
            heads: planes(layout.outputs),
            tails: planes(layout.outputs),
            any: vec![Any::default(); blocks],
            nonempty: planes(layout.queues),
            ready: planes(some(demands.watched, layout.outputs)),
            sendable: planes(some(demands.watched, layout.outputs)),
            full: Planes::new(link_queues, layout.extent),
            full_any: Default::default(),
            most: layout.buffer.saturating_sub(room),
            by_room,
            parks,
            parked: planes(some(parks, layout.link_outputs)),
            levels: Planes::new(
                some(layout.headers_wait || layout.is_part, link_queues * count_bits),
                layout.extent,
            ),
            sent: Planes::new(layout.outputs, layout.extent),
            sent_any: Default::default(),
            entered: Default::default(),
            outputs: vec![R::EMPTY; layout.nodes * layout.outputs],
            fifos: vec![Fifo::default(); layout.nodes * layout.queues],
            packets: Packets::new(),
            asking: List::default(),
            chosen: Vec::new(),
            headers: Vec::new(),
            wanted: List::default(),
            granted: Vec::new(),
            crossings: List::default(),
            passed: List::default(),
            leaving: Vec::new(),
            freed: List::default(),
            delivered: Vec::new(),
            wheel: vec![Due::default(); if slow { layout.latency } else { 0 }],
            on_links: 0,
            feeds: Feeds::new(
                layout.nodes,
                (layout.link_queues, layout.processor_queues),
                &sources,
                demands.exact_feed,
            ),
            injection_control: rule.and_then(|rule| {
                let ordered = demands.function == RoutingFunction::DimensionOrder;
                InjectionControl::new(&rule, layout, blocks, ordered).map(Box::new)
            }),
            routes: sources.routes(),
            windows: demands.windows.map(|cycles| {
                let part = layout.first..layout.first + layout.nodes;
                let (all, queues) = (layout.shape.nodes(), layout.processor_queues);
                Box::new(Windows::of_part(sources.workload(), all, part, cycles, queues))
            }),
            sources,
            before: None,
            news: Vec::new(),
            links: demands.links.then(|| LinkCounts::new(layout, blocks)),
            registers: layout.variant.facts().registers.then(|| Box::new(Registers::new(layout, blocks))),
            ahead: demands.watches.map(|channel| FullAhead::new(layout, channel)),
            outcome: Outcome::default(),
        };
        for block in 0..blocks {
            state.nonempty.block_mut(block)[layout.link_queues..].fill(V::ones());
            for port in 0..layout.ports() {
                state.last.block_mut(block)[port * layout.channels] = V::ones();
            }
            if let Some(length) = demands.uniform {
                for (plane, bits) in state.left.block_mut(block).iter_mut().enumerate() {
                    *bits = if (length - 1) >> (plane % left_bits) & 1 == 1 { V::ones() } else { V::zero() };
                }
            }
        }
        state
    }

    /// Something happens in a cycle: windows that ended before it are closed.
    pub(super) fn close_windows(&mut self, cycle: u64) {
        // How long nothing happens is known later.
        if let (Some(before), Some(windows)) = (self.before.take(), &mut self.windows) {
            windows.close(cycle, before);
        }
    }

    /// The totals that windows are made of.
    pub(super) fn counted(&self) -> Counted {
        let Outcome { packets_injected, flits_delivered, packets_delivered, .. } = self.outcome;
        Counted {
            injected_packets: packets_injected,
            ejected_flits: flits_delivered,
            delivered_packets: packets_delivered,
        }
    }

    /// The record of an output channel.
    #[inline(always)]
    pub(super) fn output(&self, layout: &Layout, place: Place) -> R {
        self.outputs[place.node() * layout.outputs + place.index()]
    }

    /// The packets of a queue.
    #[inline(always)]
    pub(super) fn fifo(&self, layout: &Layout, place: Place) -> Fifo {
        self.fifos[place.node() * layout.queues + place.index()]
    }

    /// Flits in a queue behind a link and on their way to it, of a node of this part or, as told, of the row
    /// before or behind it.
    #[inline(always)]
    pub(super) fn held_by(&self, layout: &Layout, node: usize, queue: usize) -> u32 {
        if node < layout.nodes {
            return self.count(layout, node, queue, true);
        }
        let bit = |bit| u32::from(self.levels.bit(queue * self.count_bits + bit, node as isize)) << bit;
        (0..self.count_bits).map(bit).sum()
    }

    /// Flits in a queue behind a link, or with those on their way to it.
    #[inline(always)]
    pub(super) fn count(&self, layout: &Layout, node: usize, queue: usize, held: bool) -> u32 {
        let planes = if held && layout.latency > 1 { &self.held } else { &self.counts };
        let bits =
            (0..self.count_bits).map(|bit| u32::from(planes.bit(queue * self.count_bits + bit, node)) << bit);
        bits.sum()
    }
}
