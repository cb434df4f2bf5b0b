//! A run in several parts, each with a thread of its own.

use super::{demands::Demands, layout::Layout, record::Record, run::Run, state::State, step::Step};
use crate::{
    bits::{Available, Task, Vector},
    engine::{
        Network, Options, Outcome, SimulationError,
        bell::Lost,
        protocol::{Clock, Cycles, Engine, Quiescence},
        regions::{self, Message, Region, Thread},
    },
    probe::{Counted, LinkOccupation, Probe, Windows},
    save::{Archive, SaveError},
    throttle::{self, Surroundings, Throttle},
    traffic::{Sources, Workload},
};
use std::{ops::Range, sync::Arc, thread};

/// A part of the network.
#[derive(Clone)]
pub(super) struct Part<V: Vector, R: Record> {
    pub layout: Arc<Layout>,
    pub state: State<V, R>,
}

/// A part, and how it meets the others.
struct Seat<V: Vector, R: Record> {
    part: Part<V, R>,
    thread: Thread,
    messages: Vec<Message>,
}

/// What all parts share.
#[derive(Clone)]
pub(super) struct Common {
    pub network: Network,
    pub layout: Arc<Layout>,
    pub workload: Workload,
    pub demands: Demands,
    pub may_deadlock: bool,
    pub throttle: Throttle,
}

/// A simulation under way in several parts.
pub(super) struct Parts<V: Vector, R: Record> {
    common: Common,
    proof: Available<V>,
    seats: Vec<Seat<V, R>>,
    /// What happened in windows, if somebody looked at it since the parts ran: they go on from it.
    seen: Option<Box<Windows>>,
}

/// Whole rows for so many parts, at most one each.
pub(super) fn divide(layout: &Layout, parts: usize) -> Vec<Range<usize>> {
    let rows = layout.shape.size(layout.shape.dimensions() - 1) as usize;
    let row = layout.nodes / rows;
    let parts = parts.clamp(1, rows);
    (0..parts).map(|part| part * rows / parts * row..(part + 1) * rows / parts * row).collect()
}

/// What leaves a part, and what enters it; what both are between is compiled once for parts and wholes.
struct Leave<'s, V: Vector, R: Record>(&'s mut Part<V, R>, u64, &'s mut [Message]);
struct Enter<'s, V: Vector, R: Record>(&'s mut Part<V, R>, u64, &'s [Message]);

impl<V: Vector, R: Record> Task for Leave<'_, V, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Part { layout, state }, cycle, messages) = self;
        state.leave_part(layout, cycle, messages);
    }
}

/// What leaves a part once its neighbours have told what room they made.
struct LeaveLate<'s, V: Vector, R: Record>(&'s mut Part<V, R>, u64, &'s mut [Message]);

impl<V: Vector, R: Record> Task for LeaveLate<'_, V, R> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self(Part { layout, state }, cycle, messages) = self;
        let sends = state.send_from_part(layout, cycle, messages);
        state.leave_part(layout, cycle, messages);
        sends
    }
}

impl<V: Vector, R: Record> Task for Enter<'_, V, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Part { layout, state }, cycle, messages) = self;
        state.enter_part(layout, cycle, messages);
    }
}

impl<V: Vector, R: Record> Region for Part<V, R> {
    fn leave(&mut self, cycle: u64, messages: &mut [Message]) -> bool {
        let changes = self.state.decide(&self.layout, cycle);
        if self.leaves_late() {
            self.state.send_room(&self.layout, messages);
        } else {
            V::enter(self.state.proof, Leave(self, cycle, messages));
        }
        changes
    }

    fn leaves_late(&self) -> bool {
        State::<V, R>::sends_late(&self.layout)
    }

    fn leave_late(&mut self, cycle: u64, messages: &mut [Message]) -> bool {
        V::enter(self.state.proof, LeaveLate(self, cycle, messages))
    }

    fn arrive(&mut self, cycle: u64, messages: &mut [Message]) {
        V::enter(self.state.proof, Enter(self, cycle, messages));
        self.state.account(&self.layout, cycle);
    }

    fn next_wake(&self, cycle: u64) -> Option<u64> {
        self.state.feeds.next_wake(&self.state.sources, cycle)
    }

    fn woken(&self) -> u64 {
        self.state.feeds.woken
    }

    fn is_busy(&self) -> bool {
        self.state.packets.inside() > 0
    }

    fn at_rest(&self) -> bool {
        self.state.at_rest()
    }

    fn sums(&self, cycle: u64) -> Option<[u64; 3]> {
        self.state.sums_of_part(cycle)
    }

    fn take_sums(&mut self, sums: [u64; 3]) {
        self.state.take_sums(sums);
    }

    fn news(&mut self) -> Option<Vec<u8>> {
        self.state.news()
    }

    fn receive_news(&mut self, cycle: u64, news: Vec<Vec<u8>>) {
        self.state.receive_news(cycle, &news);
    }
}

impl<V: Vector, R: Record> Part<V, R> {
    /// Some rows of an empty network.
    pub(super) fn new(proof: Available<V>, common: &Common, parts: &[Range<usize>], number: usize) -> Self {
        let (whole, nodes) = (&common.layout, parts[number].clone());
        let sources = Sources::of_part(&common.workload, whole.nodes, nodes.clone());
        let rule = common.rule().map(|rule| rule.part(nodes.clone()));
        let layout = Arc::new(whole.part(parts, number));
        let state = State::new(proof, &layout, sources, common.demands, rule);
        Self { layout, state }
    }

    /// What it sends and receives in a cycle.
    pub(super) fn messages(&self) -> Vec<Message> {
        self.layout.halos.iter().map(|halo| Message::new(halo.part, halo.there)).collect()
    }

    /// Goes on from what happened in windows of the whole network.
    pub(super) fn go_on_from(&mut self, seen: &Windows) {
        if let Some(windows) = &mut self.state.windows {
            let nodes = self.layout.first..self.layout.first + self.layout.nodes;
            **windows = seen.part(nodes, windows.before());
        }
    }
}

impl Common {
    /// Whether its throttle is what somebody wrote, which may hold packets for ever.
    pub(super) fn may_hold(&self) -> bool {
        !self.throttle.stands_alone()
    }

    /// Whether packets may be left that wait for each other, or for the throttle.
    pub(super) fn may_stop(&self) -> bool {
        self.may_deadlock || self.may_hold()
    }

    /// A whole network as a run of its own.
    pub(super) fn whole<V: Vector, R: Record>(&self, state: State<V, R>) -> Run {
        let (network, layout) = (self.network.clone(), self.layout.clone());
        Run {
            network,
            layout,
            step: Box::new(state),
            may_deadlock: self.may_deadlock,
            may_hold: self.may_hold(),
        }
    }

    /// The throttle of the whole network at the beginning of a run; interlocked slices are a rule of the sources.
    pub(super) fn rule(&self) -> Option<throttle::State> {
        if matches!(self.throttle, Throttle::None | Throttle::Interlock(_)) {
            return None;
        }
        let network = &self.network;
        let (shape, router) = (network.fabric().shape(), network.router());
        // A register is one of the places of a buffer, not of the queue.
        let (buffer, longest) = (self.layout.buffer as u16, self.demands.longest);
        Some(self.throttle.state(Surroundings { shape, rule: router.channel_rule(), buffer, longest }))
    }

    /// The state of the whole network, given those of its parts.
    pub(super) fn gather<'a, V: Vector, R: Record>(
        &self,
        proof: Available<V>,
        parts: impl Iterator<Item = (&'a Layout, &'a State<V, R>)>,
    ) -> State<V, R> {
        let Self { layout, workload, demands, .. } = self;
        State::gather(proof, layout, workload, *demands, self.rule(), parts)
    }

    /// What happened in the windows of the whole network, given the parts' and their totals.
    pub(super) fn windows(&self, parts: Vec<(Windows, Counted)>) -> Option<Box<Windows>> {
        let Layout { nodes, processor_queues, .. } = *self.layout;
        let mut windows =
            Windows::of_part(&self.workload, nodes, 0..nodes, self.demands.windows?, processor_queues);
        windows.gather(parts);
        Some(Box::new(windows))
    }
}

impl<V: Vector, R: Record> Parts<V, R> {
    /// Parts of an empty network.
    pub(super) fn new(proof: Available<V>, common: Common, ranges: &[Range<usize>]) -> Self {
        let parts = (0..ranges.len()).map(|number| Part::new(proof, &common, ranges, number)).collect();
        let seats = seated(parts);
        Self { common, proof, seats, seen: None }
    }

    /// The whole network as it is.
    fn gather(&self) -> State<V, R> {
        self.common.gather(self.proof, self.seats.iter().map(|seat| (&*seat.part.layout, &seat.part.state)))
    }

    /// The parts go on from what somebody looked at.
    fn settle(&mut self) {
        if let Some(seen) = self.seen.take() {
            self.seats.iter_mut().for_each(|seat| seat.part.go_on_from(&seen));
        }
    }

    /// The same as a run of its own.
    fn whole(&self) -> Run {
        self.common.whole(self.gather())
    }
}

/// Parts with new places to meet.
fn seated<V: Vector, R: Record>(parts: Vec<Part<V, R>>) -> Vec<Seat<V, R>> {
    let messages: Vec<_> = parts.iter().map(Part::messages).collect();
    let threads = Thread::all(messages.iter().map(Vec::len));
    let seats = parts.into_iter().zip(threads).zip(messages);
    seats.map(|((part, thread), messages)| Seat { part, thread, messages }).collect()
}

impl<V: Vector, R: Record> Seat<V, R> {
    fn advance(&mut self, mut cycle: u64, until: u64) -> Result<(u64, Option<Quiescence>), Lost> {
        let _watch = self.thread.watch();
        let Self { part, thread, messages } = self;
        let rest = regions::advance(part, thread, messages, &mut cycle, until)?;
        Ok((cycle, rest))
    }
}

impl<V: Vector, R: Record> Cycles for Parts<V, R> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        self.settle();
        let begin = *cycle;
        let Some((first, others)) = self.seats.split_first_mut() else { return Ok(None) };
        let first = thread::scope(|scope| {
            let others: Vec<_> =
                others.iter_mut().map(|seat| scope.spawn(move || seat.advance(begin, until))).collect();
            let first = first.advance(begin, until);
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            first
        });
        // Only a thread that panics is lost, and its panic goes on above.
        let (end, rest) = first.map_err(|Lost| SimulationError::Lost)?;
        *cycle = end;
        Ok(rest)
    }

    fn routers(&self) -> usize {
        self.common.layout.nodes / self.seats.len().max(1)
    }

    fn delivered(&self) -> u64 {
        self.seats.iter().map(|seat| seat.part.state.outcome.packets_delivered).sum()
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        if self.common.may_stop() { Cycles::check(&self.whole(), cycle) } else { Ok(()) }
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        Cycles::finished(&self.whole(), cycle)
    }

    fn stuck(&self, cycle: u64, options: &Options) -> SimulationError {
        Cycles::stuck(&self.whole(), cycle, options)
    }
}

impl<V: Vector, R: Record> Engine for Parts<V, R> {
    fn parts(&self) -> usize {
        self.seats.len()
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        Engine::totals(&mut self.whole(), clock)
    }

    fn links(&self) -> Option<LinkOccupation> {
        Engine::links(&self.whole())
    }

    fn occupancy(&self) -> Vec<u16> {
        Engine::occupancy(&self.whole())
    }

    fn windows(&mut self, cycle: u64) -> Option<&mut Windows> {
        self.settle();
        let close = |seat: &mut Seat<V, R>| {
            let Part { layout, state } = &mut seat.part;
            Some((state.windows(layout, cycle)?.clone(), state.counted()))
        };
        self.seen = self.common.windows(self.seats.iter_mut().filter_map(close).collect());
        self.seen.as_deref_mut()
    }

    fn copy(&self) -> Box<dyn Engine> {
        let parts = self.seats.iter().map(|seat| seat.part.clone()).collect();
        let seats = seated(parts);
        Box::new(Self { common: self.common.clone(), proof: self.proof, seats, seen: self.seen.clone() })
    }

    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        clock.fields(archive)?;
        self.settle();
        let mut whole = self.gather();
        let layout = self.common.layout.clone();
        whole.archive(&layout, archive)?;
        if archive.is_reading() {
            let parts: Vec<Arc<Layout>> = self.seats.iter().map(|seat| seat.part.layout.clone()).collect();
            let layouts: Vec<&Layout> = parts.iter().map(|part| &**part).collect();
            let states = whole.scatter(&layout, &layouts, self.common.rule().as_ref());
            let parts = parts.into_iter().zip(states).map(|(layout, state)| Part { layout, state }).collect();
            self.seats = seated(parts);
        }
        Ok(())
    }
}
