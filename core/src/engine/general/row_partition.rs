//! A run in several parts, each with a thread or a process of its own.
//!
//! Whatever is looked at is the whole: processes send their states to all.

use super::{demands::Demands, layout::Layout, record::Record, run::Run, state::State, step::Step};
use crate::{
    bits::{Available, Task, Vector},
    engine::{
        Network, Options, Outcome, Rank, SimulationError,
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

/// Routers whose cycle takes about as long as an exchange between processes.
const EXCHANGE: usize = 2048;

/// A part, and how it meets those of other threads.
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
    /// The nodes of all parts.
    ranges: Vec<Range<usize>>,
    /// The parts of this process.
    seats: Vec<Seat<V, R>>,
    /// The process, if there are others, each with a part.
    rank: Option<Rank>,
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
    fn gather<V: Vector, R: Record>(&self, proof: Available<V>, parts: Vec<Part<V, R>>) -> State<V, R> {
        let Self { layout, workload, demands, .. } = self;
        let parts = parts.into_iter().map(|Part { layout, state }| (layout, state));
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
    /// Parts of an empty network: all of them, or that of a process.
    pub(super) fn new(
        proof: Available<V>,
        common: Common,
        ranges: Vec<Range<usize>>,
        rank: Option<Rank>,
    ) -> Self {
        let part = |number| Part::new(proof, &common, &ranges, number);
        let seats = seated(match &rank {
            None => (0..ranges.len()).map(part).collect(),
            // More ranks than rows: the last ones have the last row, which the callers refuse.
            Some(rank) => vec![part(rank.rank.min(ranges.len() - 1))],
        });
        Self { common, proof, ranges, seats, rank, seen: None }
    }

    /// All parts as they are.
    fn all(&self) -> Result<Vec<Part<V, R>>, SimulationError> {
        let Some(rank) = &self.rank else {
            return Ok(self.seats.iter().map(|seat| seat.part.clone()).collect());
        };
        let Part { layout, state } = &self.seats[0].part;
        let own = Archive::written(|archive| state.clone().archive(layout, archive));
        let all = rank.transport().collect(own)?;
        let read = |(number, bytes)| {
            let mut part = Part::<V, R>::new(self.proof, &self.common, &self.ranges, number);
            let read = part.state.archive(&part.layout, &mut Archive::reading(bytes));
            read.map(|()| part).map_err(|_| SimulationError::Lost)
        };
        (0..self.ranges.len()).zip(all).map(read).collect()
    }

    /// The whole network as it is.
    fn gather(&self) -> Result<State<V, R>, SimulationError> {
        Ok(self.common.gather(self.proof, self.all()?))
    }

    /// The parts go on from what somebody looked at.
    fn settle(&mut self) {
        if let Some(seen) = self.seen.take() {
            self.seats.iter_mut().for_each(|seat| seat.part.go_on_from(&seen));
        }
    }

    /// The same as a run of its own.
    fn whole(&self) -> Result<Run, SimulationError> {
        Ok(self.common.whole(self.gather()?))
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
    /// Runs the part with those of other threads or processes.
    fn advance(
        &mut self,
        rank: Option<&Rank>,
        mut cycle: u64,
        until: u64,
    ) -> Result<(u64, Option<Quiescence>), Lost> {
        let _watch = self.thread.watch();
        let Self { part, thread, messages } = self;
        let rest = match rank {
            None => regions::advance(part, thread, messages, &mut cycle, until),
            Some(rank) => regions::advance(part, &mut **rank.transport(), messages, &mut cycle, until),
        }?;
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
        let (begin, rank) = (*cycle, self.rank.as_ref());
        let Some((first, others)) = self.seats.split_first_mut() else { return Ok(None) };
        let first = thread::scope(|scope| {
            let others: Vec<_> =
                others.iter_mut().map(|seat| scope.spawn(move || seat.advance(None, begin, until))).collect();
            let first = first.advance(rank, begin, until);
            for other in others {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            first
        });
        // A thread is lost only if another one panics, and its panic goes on above.
        let (end, rest) = first?;
        *cycle = end;
        Ok(rest)
    }

    fn pauses(&self, told: bool) -> Result<bool, SimulationError> {
        Ok(self.rank.as_ref().map_or(Ok(told), |rank| rank.any(told))?)
    }

    fn routers(&self) -> usize {
        // The same for all, so that all do the same.
        let each = self.common.layout.nodes / self.ranges.len();
        if self.rank.is_some() { each.max(EXCHANGE) } else { each }
    }

    fn delivered(&self) -> u64 {
        let own = self.seats.iter().map(|seat| seat.part.state.outcome.packets_delivered).sum();
        let all = |rank: &Rank| rank.transport().sum([own, 0, 0]).map_or(0, |[all, ..]| all);
        self.rank.as_ref().map_or(own, all)
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        if self.common.may_stop() { Cycles::check(&self.whole()?, cycle) } else { Ok(()) }
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        Cycles::finished(&self.whole()?, cycle)
    }

    fn stuck(&self, cycle: u64, options: &Options) -> SimulationError {
        self.whole().map_or_else(|error| error, |whole| Cycles::stuck(&whole, cycle, options))
    }
}

impl<V: Vector, R: Record> Engine for Parts<V, R> {
    fn parts(&self) -> usize {
        self.ranges.len()
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        Engine::totals(&mut self.whole()?, clock)
    }

    fn links(&self) -> Option<LinkOccupation> {
        Engine::links(&self.whole().ok()?)
    }

    fn occupancy(&self) -> Vec<u16> {
        self.whole().map_or_else(|_| Vec::new(), |whole| Engine::occupancy(&whole))
    }

    fn windows(&mut self, cycle: u64) -> Option<&mut Windows> {
        self.settle();
        let closed = |Part { layout, state }: &mut Part<V, R>| {
            Some((state.windows(layout, cycle)?.clone(), state.counted()))
        };
        let own: Option<Vec<_>> = self.seats.iter_mut().map(|seat| closed(&mut seat.part)).collect();
        let mut every = own?;
        if self.rank.is_some() {
            // Other processes have closed theirs as well.
            every = self.all().ok()?.iter_mut().filter_map(closed).collect();
        }
        self.seen = self.common.windows(every);
        self.seen.as_deref_mut()
    }

    fn copy(&self) -> Box<dyn Engine> {
        let Self { common, proof, ranges, seats, rank, seen } = self;
        let seats = seated(seats.iter().map(|seat| seat.part.clone()).collect());
        let (common, ranges, rank, seen) = (common.clone(), ranges.clone(), rank.clone(), seen.clone());
        Box::new(Self { common, proof: *proof, ranges, seats, rank, seen })
    }

    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        clock.fields(archive)?;
        self.settle();
        let Common { layout, workload, demands, .. } = &self.common;
        if !archive.is_reading() {
            let lost = |_| SaveError::Short { field: "states of other ranks" };
            return self.gather().map_err(lost)?.archive(layout, archive);
        }
        let (sources, rule) = (Sources::new(workload, layout.nodes), self.common.rule());
        let mut whole = State::new(self.proof, layout, sources, *demands, rule.clone());
        whole.archive(layout, archive)?;
        let layouts: Vec<_> =
            (0..self.ranges.len()).map(|number| layout.part(&self.ranges, number)).collect();
        let states = whole.scatter(layout, &layouts.iter().collect::<Vec<_>>(), rule.as_ref());
        let first = self.rank.as_ref().map_or(0, |rank| rank.rank);
        for (seat, state) in self.seats.iter_mut().zip(states.into_iter().skip(first)) {
            seat.part.state = state;
        }
        Ok(())
    }
}
