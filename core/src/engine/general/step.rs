//! The parts of a cycle, each compiled for an instruction set.

use super::{
    deadlock::Snapshot,
    layout::{Layout, Place},
    observe::{Loss, Move},
    record::Record,
    state::State,
};
use crate::{
    bits::{Task, Vector},
    engine::{Outcome, SimulationError},
    fabric::{LinkId, NodeId},
    probe::{LinkOccupation, Windows},
    save::{Archive, SaveError},
    traffic::WorkloadError,
};

/// The state of a run, whatever vectors and records it is made of.
pub(super) trait Step: Send + Sync {
    /// Packets enter the processor queues, headers request, outputs are granted and choose: all from
    /// the state at the beginning of the cycle. False if nothing can happen in it.
    fn decide(&mut self, layout: &Layout, cycle: u64) -> bool;
    /// Flits leave their queues and enter those behind their links.
    fn arrive(&mut self, layout: &Layout, cycle: u64);
    /// Totals, and whoever waits for deliveries is told of them.
    fn account(&mut self, layout: &Layout, cycle: u64);

    /// When the first waiting node has its next packet.
    fn next_wake(&self, cycle: u64) -> Option<u64>;
    /// Whether cycles in which nothing moves may be left out.
    fn at_rest(&self) -> bool;
    /// Whether packets are in the network.
    fn is_busy(&self) -> bool;
    /// Nodes with packets left to send: the first, and how many.
    fn unsent(&self, layout: &Layout) -> Option<(NodeId, usize)>;
    /// Where nothing is in the network: the node whose throttle has held a header longest, and since when.
    fn held(&self, layout: &Layout) -> Option<(NodeId, u64)>;
    /// The totals.
    fn outcome(&self) -> &Outcome;
    /// Cycle in which the last operation of a message graph was complete.
    fn makespan(&self) -> Result<Option<u64>, SimulationError>;
    /// Who waits for whom.
    fn snapshot(&self, layout: &Layout) -> Snapshot;
    /// The use of links, if it is kept.
    fn links(&self) -> Option<LinkOccupation>;
    /// Flits in a queue behind a link.
    fn flits(&self, layout: &Layout, node: usize, queue: usize) -> u32;
    /// What happened in windows, if that is kept; all that ended before a cycle are closed.
    fn windows(&mut self, layout: &Layout, cycle: u64) -> Option<&mut Windows>;
    /// The state as fields, to be saved or restored.
    fn fields(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError>;
    /// The same once more.
    fn copy(&self) -> Box<dyn Step>;

    /// The flits that are sent, node by node, port by port.
    fn moves(&self, layout: &Layout, moves: &mut Vec<Move>);
    /// Links that carry nothing although an owner of one of their channels has a flit.
    fn blocked(&self, layout: &Layout, links: &mut Vec<LinkId>);
    /// Headers that lost a VC allocation.
    fn queue_losses(&self, layout: &Layout, losses: &mut Vec<Loss>);
    /// Flits that lost a switch allocation.
    fn channel_losses(&self, layout: &Layout, moves: &[Move], losses: &mut Vec<Loss>);
}

struct Decide<'s, V: Vector, R: Record>(&'s mut State<V, R>, &'s Layout, u64);
struct Arrive<'s, V: Vector, R: Record>(&'s mut State<V, R>, &'s Layout, u64);
struct Account<'s, V: Vector, R: Record>(&'s mut State<V, R>, &'s Layout, u64);

impl<V: Vector, R: Record> Task for Decide<'_, V, R> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self(state, layout, cycle) = self;
        let ends = state.windows.as_ref().is_some_and(|windows| windows.end() <= cycle);
        state.before = ends.then(|| state.counted());
        let mut changes = state.top_up_all(layout, cycle);
        state.look_ahead(layout);
        let throttled = state.injection_control.is_some();
        if throttled {
            state.observe_for_throttle(layout, cycle);
        }
        state.compute_routes(layout);
        if throttled {
            changes |= state.hold_all(layout);
        }
        changes |= state.allocate_vcs(layout);
        changes |= state.cross(layout, cycle);
        // A part has to hear of its neighbours first.
        changes |= !layout.is_part && state.send_late(layout);
        changes |= state.on_links > 0 || state.ahead.as_ref().is_some_and(|ahead| !ahead.is_clear());
        if !changes && state.demands.reconsiders {
            state.withdraw(layout);
        }
        if changes {
            state.close_windows(cycle);
        }
        changes
    }
}

impl<V: Vector, R: Record> Task for Arrive<'_, V, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(state, layout, cycle) = self;
        if state.demands.reconsiders {
            state.withdraw(layout);
        }
        state.depart(layout, cycle);
        state.arrive_all(layout, cycle);
    }
}

impl<V: Vector, R: Record> Task for Account<'_, V, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(state, layout, cycle) = self;
        if let Some(links) = &mut state.links {
            links.count(layout, &state.moving.sent, &state.any, cycle);
        }
        state.account_all(layout, cycle);
    }
}

// Never inlined: they are called by wholes and by parts, and compilers take long over them.
impl<V: Vector, R: Record> Step for State<V, R> {
    #[inline(never)]
    fn decide(&mut self, layout: &Layout, cycle: u64) -> bool {
        V::enter(self.proof, Decide(self, layout, cycle))
    }

    #[inline(never)]
    fn arrive(&mut self, layout: &Layout, cycle: u64) {
        V::enter(self.proof, Arrive(self, layout, cycle));
    }

    #[inline(never)]
    fn account(&mut self, layout: &Layout, cycle: u64) {
        V::enter(self.proof, Account(self, layout, cycle));
    }

    fn next_wake(&self, cycle: u64) -> Option<u64> {
        self.feeds.next_wake(&self.sources, cycle)
    }

    fn at_rest(&self) -> bool {
        self.injection_control.as_ref().is_none_or(|injection_control| injection_control.at_rest())
    }

    fn is_busy(&self) -> bool {
        self.packets.inside() > 0
    }

    fn unsent(&self, layout: &Layout) -> Option<(NodeId, usize)> {
        let before = |node: NodeId| {
            let line = layout.line(node as usize, layout.link_queues);
            self.feeds.before.get(line..line + layout.processor_queues)
        };
        let waits = |&node: &NodeId| {
            self.sources.next_start(node) != u64::MAX
                || before(node).is_some_and(|before| before.iter().any(|before| before.count > 0))
        };
        let mut nodes = (0..layout.nodes as NodeId).filter(waits);
        nodes.next().map(|first| (first, 1 + nodes.count()))
    }

    fn held(&self, layout: &Layout) -> Option<(NodeId, u64)> {
        let control = self.injection_control.as_ref()?;
        if self.outcome.packets_injected != self.outcome.packets_delivered {
            return None;
        }
        let places = (0..layout.nodes)
            .flat_map(|node| (layout.link_queues..layout.queues).map(move |queue| Place::new(node, queue)));
        let pending = places.filter(|&place| control.is_pending(layout, place));
        pending
            .map(|place| (place.node() as NodeId, control.waits_for(layout, place).0))
            .min_by_key(|&(_, since)| since)
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn makespan(&self) -> Result<Option<u64>, SimulationError> {
        Ok(self.sources.makespan().map_err(WorkloadError::from)?)
    }

    fn snapshot(&self, layout: &Layout) -> Snapshot {
        Snapshot::new(layout, self)
    }

    fn links(&self) -> Option<LinkOccupation> {
        self.links.as_ref().map(|links| links.table())
    }

    fn windows(&mut self, layout: &Layout, cycle: u64) -> Option<&mut Windows> {
        let (counted, fronts) = (self.counted(), self.fronts(layout));
        let windows = self.windows.as_mut()?;
        windows.close(cycle, counted);
        windows.set_fronts(fronts);
        windows.count_messages(&self.sources);
        Some(windows)
    }

    fn flits(&self, layout: &Layout, node: usize, queue: usize) -> u32 {
        self.queues.count(layout, node, queue, false)
    }

    fn fields(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        self.archive(layout, archive)
    }

    fn copy(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn moves(&self, layout: &Layout, moves: &mut Vec<Move>) {
        self.list_moves(layout, moves);
    }

    fn blocked(&self, layout: &Layout, links: &mut Vec<LinkId>) {
        self.list_blocked(layout, links);
    }

    fn queue_losses(&self, layout: &Layout, losses: &mut Vec<Loss>) {
        self.list_queue_losses(layout, losses);
    }

    fn channel_losses(&self, layout: &Layout, moves: &[Move], losses: &mut Vec<Loss>) {
        self.list_channel_losses(layout, moves, losses);
    }
}
