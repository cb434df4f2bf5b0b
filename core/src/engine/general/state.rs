//! Everything that changes while a network runs.

use super::{
    crossbar::Registers,
    crossing::Due,
    demands::Demands,
    feeds::Feeds,
    full_ahead::FullAhead,
    injection_control::InjectionControl,
    layout::{Layout, Place},
    link_counts::LinkCounts,
    moving::{Moving, Requests, Watched},
    packets::{Fifo, Packets},
    pairs::Pairs,
    queues::Queues,
    record::{Any, Record},
};
use crate::{
    bits::{Available, Blocks, Vector},
    engine::Outcome,
    probe::{Counted, Windows},
    routing::RoutingFunction,
    throttle,
    traffic::{Routes, Sources},
};
use std::sync::Arc;

/// The state of a run, in vectors `V` and records `R`.
#[derive(Clone)]
pub(super) struct State<V: Vector, R: Record> {
    pub proof: Available<V>,
    pub demands: Demands,
    pub blocks: usize,
    pub left_bits: usize,

    pub queues: Queues<V, R>,
    pub requests: Requests<V>,
    pub moving: Moving<V, R>,
    pub watched: Watched<V>,

    // Planes of a block, private to it.
    /// Per pair of a queue and an output channel: the queue owns the output.
    pub own: Blocks<V>,
    pub pairs: Pairs,
    /// Per output channel: flits of the owner's packet still to be sent, less one, bit by bit.
    pub left: Blocks<V>,
    /// Per output channel: no flit of a packet has passed since the last tail.
    pub fresh: Blocks<V>,
    /// Per port and channel: the channel was used last.
    pub last: Blocks<V>,
    /// What of a block has any bit set.
    pub any: Vec<Any<R::Set>>,

    // Records.
    /// Per node and output channel.
    pub outputs: Vec<R>,
    /// Per node and queue.
    pub fifos: Vec<Fifo>,
    pub packets: Packets,
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
        let left_bits = (32 - (demands.longest - 1).leading_zeros()) as usize;
        let planes = |planes| Blocks::new(blocks, planes, V::zero());
        let queues = Queues::new(layout, &demands);
        let mut state = Self {
            proof,
            demands,
            blocks,
            left_bits,
            requests: Requests::new(layout, &demands, queues.by_room),
            moving: Moving::new(layout),
            watched: Watched::new(layout, demands.watched),
            queues,
            own: planes(0),
            pairs: Pairs::new(layout.queues, layout.outputs),
            left: planes(layout.outputs * left_bits),
            fresh: Blocks::new(blocks, layout.outputs, V::ones()),
            last: planes(layout.ports() * layout.channels),
            any: vec![Any::default(); blocks],
            outputs: vec![R::EMPTY; layout.nodes * layout.outputs],
            fifos: vec![Fifo::default(); layout.nodes * layout.queues],
            packets: Packets::new(),
            wheel: vec![Due::default(); if layout.latency > 1 { layout.latency } else { 0 }],
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

    /// The packet that passes an output channel: at the front of its owner's queue.
    pub(super) fn passing(&self, layout: &Layout, place: Place) -> u32 {
        let queue = self.output(layout, place).owner() as usize - 1;
        self.fifo(layout, Place::new(place.node(), queue)).front
    }

    /// The packets of a queue.
    #[inline(always)]
    pub(super) fn fifo(&self, layout: &Layout, place: Place) -> Fifo {
        self.fifos[place.node() * layout.queues + place.index()]
    }
}
