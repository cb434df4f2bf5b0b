//! The phases of a run: warming up, measuring until little changes, waiting for what was measured, emptying.

use super::{
    build::{self, Parts},
    demand::{Demand, demand},
    options::{OptionError, Options},
    stretch::run_while,
    traffic_manager::{PacketRecord, TrafficManager},
};
use crate::engine::pipelined::{Breach, ClassFacts, Counting, Division, Run};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
};

/// What a class looks like at the end of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSample {
    /// What was measured since counts were cleared.
    pub facts: ClassFacts,
    /// By how much the mean latency changed, as a part of it; then the same of the rate of delivered flits.
    pub changes: (f64, f64),
}

/// What happens between stretches of cycles.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A sample is over.
    Sample {
        /// Cycles since counts were cleared.
        cycles: u32,
        /// The classes that are measured, with their numbers.
        classes: Vec<(usize, ClassSample)>,
    },
    /// For `deadlock_warn_timeout` cycles no flit has arrived.
    Stuck,
    /// The mean latency of a class is above its limit.
    Exceeded(usize, f64),
    /// Warm-up is over.
    WarmedUp(u32),
    /// Too little time for the measured values to settle.
    TooLong,
    /// What was measured is waited for.
    Waiting,
    /// Flits left by class: the first of all and how many, the first of those measured and how many.
    Remaining(Vec<Left>),
    /// BookSim2 ends here, in this cycle.
    Broken(Breach, u32),
    /// The run has no stable state.
    Unstable,
    /// Sources stop.
    Emptying,
    /// Every node begins to send so many packets.
    BatchBegins {
        /// Which batch, from 1 on.
        number: u32,
        /// Packets per node.
        size: u32,
    },
    /// Every node has made its packets, after so many cycles.
    BatchSent {
        /// Since the batch began.
        cycles: u32,
    },
    /// All packets of a batch have arrived.
    BatchArrived {
        /// Since the last packet was made.
        cycles: u32,
        /// The packet and the flit that arrived last.
        last: Option<(u32, u32)>,
    },
    /// What was counted up to the end of a batch.
    BatchCounted {
        /// Cycles since the run began.
        cycles: u32,
        /// The classes that are measured, with their numbers.
        classes: Vec<(usize, ClassFacts)>,
        /// How many cycles each batch took.
        durations: Vec<u32>,
    },
    /// Everything has arrived; with `sim_count` another run begins, but for the last.
    End {
        /// The cycle that would come next.
        now: u32,
        /// Cycles over which rates were counted.
        cycles: u32,
        /// The classes that are measured, with their numbers.
        classes: Vec<(usize, ClassFacts)>,
        /// How many cycles each batch took.
        durations: Vec<u32>,
    },
}

/// The first flits left and how many there are, of all and of those measured.
pub type Left = ((Vec<u32>, u64), (Vec<u32>, u64));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Sampling,
    SendingBatch,
    CompletingBatch,
    Waiting,
    Emptying,
    Over,
}

/// Flits that are left are told every so many cycles.
const TOLD_EVERY: u32 = 1000;

impl Phase {
    /// Whether it is over after so many cycles, where a sample has so many.
    fn is_over(self, run: &Run<TrafficManager>, cycles: u32, sample: u32) -> bool {
        match self {
            Self::Sampling => cycles == sample,
            Self::SendingBatch => {
                let size = run.source.batch.as_ref().map_or(0, |batch| batch.size);
                cycles > 0 && run.terminals.sequence.iter().all(|&made| made >= size)
            }
            Self::CompletingBatch => run.terminals.in_flight() == 0,
            Self::Waiting => !is_outstanding(run),
            Self::Emptying => run.is_empty(),
            Self::Over => true,
        }
    }

    /// Whether the flits that are left are told in it.
    fn tells(self) -> bool {
        matches!(self, Self::CompletingBatch | Self::Waiting | Self::Emptying)
    }
}

/// The classes of a run that are measured.
fn measured(run: &Run<TrafficManager>) -> impl Iterator<Item = usize> {
    (0..run.source.classes.len()).filter(|&class| run.source.classes[class].is_measured)
}

/// Whether something that was measured is under way, or will be.
fn is_outstanding(run: &Run<TrafficManager>) -> bool {
    let classes = run.source.classes.len();
    measured(run).any(|class| {
        run.terminals.facts[class].measured_in_flight > 0
            || (0..run.terminals.nodes).any(|node| !run.terminals.waiting[node * classes + class].is_done)
    })
}

/// A run in its phases.
///
/// ```
/// use flitloom_core::booksim::{Event, Options, Phases};
///
/// let mut options = Options::default();
/// for (name, value) in [("topology", "mesh"), ("routing_function", "dor"), ("k", "4")] {
///     assert!(options.set(name, value));
/// }
/// let mut run = Phases::new(&options, false)?;
/// let last = std::iter::from_fn(|| run.advance(&false.into())).last();
/// assert!(matches!(last, Some(Event::End { .. })));
/// # Ok::<(), flitloom_core::booksim::OptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Phases {
    pub(super) run: Run<TrafficManager>,
    division: Division,
    pub(super) phase: Phase,
    pub(super) events: VecDeque<Event>,
    samples: u32,
    converged: u32,
    clears: bool,
    pub(super) cleared_at: u32,
    /// Mean latency and rate of the sample before, by class.
    before: Vec<(f64, f64)>,
    pub(super) steps: u32,
    warm_up: i64,
    period: u32,
    most: u32,
    by_latency: bool,
    /// Runs that are left behind this one.
    runs_left: u32,
    pub(super) batch_began_at: u32,
    pub(super) batch_sent_at: u32,
}

impl Phases {
    /// A run of some options at its beginning, in one part; packets are recorded if asked for.
    ///
    /// # Errors
    ///
    /// As [`in_parts`](Self::in_parts).
    pub fn new(options: &Options, keeps_log: bool) -> Result<Self, OptionError> {
        Self::in_parts(options, keeps_log, Parts::default())
    }

    /// A run in several parts, if its routers draw nothing and none of its options needs the order of all routers. What
    /// comes out does not depend on their number.
    ///
    /// # Errors
    ///
    /// If an option has a value that is not known here, or with which BookSim2 itself ends.
    pub fn in_parts(options: &Options, keeps_log: bool, parts: Parts) -> Result<Self, OptionError> {
        let by_latency = match options.text("sim_type") {
            "latency" => true,
            "throughput" | "batch" => false,
            other => {
                let text = format!("{other:?} is not known here; there are latency, throughput, batch");
                return Err(OptionError { option: "sim_type", text });
            }
        };
        let runs = options.within("sim_count", 1..=1 << 20)? as u32;
        let (run, division) = build::run(options, keeps_log, parts)?;
        let classes = run.source.classes.len();
        let mut all = Self {
            run,
            division,
            phase: Phase::Sampling,
            events: VecDeque::new(),
            samples: 0,
            converged: 0,
            clears: false,
            cleared_at: 0,
            before: vec![(0.0, 0.0); classes],
            steps: 0,
            warm_up: options.whole("warmup_periods")?,
            period: options.within("sample_period", 1..=1 << 30)? as u32,
            most: options.within("max_samples", 1..=1 << 30)? as u32,
            by_latency,
            runs_left: runs - 1,
            batch_began_at: 0,
            batch_sent_at: 0,
        };
        all.begin_batch();
        Ok(all)
    }

    /// Goes on to the next event; `None` at the end, or soon after the flag was raised, whereupon the run is of
    /// no more use.
    pub fn advance(&mut self, interrupt: &AtomicBool) -> Option<Event> {
        loop {
            if interrupt.load(Ordering::Relaxed) {
                return None;
            }
            if let Some((breach, cycle)) = self.run.terminals.take_breach() {
                self.phase = Phase::Over;
                self.events.clear();
                return Some(Event::Broken(breach, cycle));
            }
            if self.run.source.warnings > 0 {
                self.run.source.warnings -= 1;
                return Some(Event::Stuck);
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.phase == Phase::Over {
                return None;
            }
            if self.phase == Phase::Sampling && self.steps == 0 && !self.begin_sample() {
                continue;
            }
            if self.go_on(interrupt) {
                self.report_remaining();
            } else if self.phase.is_over(&self.run, self.steps, self.period) {
                match self.phase {
                    Phase::Sampling => self.end_sample(),
                    Phase::SendingBatch => self.end_sending(),
                    Phase::CompletingBatch => self.end_batch(),
                    Phase::Waiting => self.begin_to_empty(),
                    Phase::Emptying => self.end(),
                    Phase::Over => {}
                }
            }
        }
    }

    /// Goes on until the phase is over, or the flits that are left are to be told; whether they are.
    fn go_on(&mut self, interrupt: &AtomicBool) -> bool {
        let Self { run, division, phase, steps, period, .. } = self;
        let (mut counts, mut tells) = (false, false);
        run_while((run, division), None, interrupt, |run| {
            if counts {
                *steps += 1;
                tells = phase.tells() && steps.is_multiple_of(TOLD_EVERY);
            }
            // While only credits are left nothing is told.
            counts = *phase != Phase::Emptying || run.terminals.in_flight() > 0;
            !tells && !phase.is_over(run, *steps, *period)
        });
        tells
    }

    /// Tells which flits are left.
    fn report_remaining(&mut self) {
        // Those that are not measured count, too.
        let all = 0..self.run.source.classes.len();
        if let Some(class) = self.exceeded(all).filter(|_| self.phase == Phase::Waiting) {
            self.events.push_back(Event::Exceeded(class, self.run.source.classes[class].latency_limit));
            self.events.push_back(Event::Unstable);
            self.phase = Phase::Over;
            return;
        }
        self.events.push_back(self.remaining());
    }

    /// What a unit of the injection rate means for nodes and links.
    #[must_use]
    pub fn demand(&self) -> Demand {
        demand(&self.run)
    }

    /// In how many parts it is.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.division.parts()
    }

    /// The cycle that comes next.
    #[must_use]
    pub fn now(&self) -> u32 {
        self.run.terminals.now
    }

    /// The records of packets since the last call, in the order of their arrival.
    pub fn take_log(&mut self) -> Vec<PacketRecord> {
        self.run.source.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Whether all packets count, before those do that are measured.
    fn warms_up(&self) -> bool {
        self.run.terminals.counting == Counting::All
    }

    fn measures(&self) -> bool {
        self.run.terminals.counting == Counting::Measured
    }

    pub(super) fn measured(&self) -> Vec<usize> {
        measured(&self.run).collect()
    }

    /// The first of some classes whose mean latency, with flits under way at their age, is above its limit.
    fn exceeded(&self, classes: impl IntoIterator<Item = usize>) -> Option<usize> {
        let run = &self.run;
        classes.into_iter().find(|&class| {
            let facts = &run.terminals.facts[class];
            let ages =
                facts.in_flight * u64::from(run.terminals.now) - run.terminals.created_in_flight[class];
            let limit = run.source.classes[class].latency_limit;
            let mean = (facts.packet.sum + ages) as f64 / (facts.packet.count + facts.in_flight) as f64;
            limit >= 0.0 && mean > limit
        })
    }

    /// Counts begin anew where they do; false if there is no sample any more.
    fn begin_sample(&mut self) -> bool {
        if self.samples >= self.most || (self.measures() && self.converged >= 3) {
            self.end_samples();
            return false;
        }
        if std::mem::take(&mut self.clears) || self.warms_up() && self.samples.is_multiple_of(2) {
            self.run.terminals.facts.iter_mut().for_each(ClassFacts::clear);
            self.cleared_at = self.run.terminals.now;
        }
        true
    }

    fn end_sample(&mut self) {
        self.steps = 0;
        let mut classes = Vec::new();
        let (mut latency_moves, mut rate_moves) = (false, false);
        let time = f64::from(self.run.terminals.now - self.cleared_at);
        for class in self.measured() {
            let facts = &self.run.terminals.facts[class];
            let latency = facts.packet.mean();
            let rate = facts.delivered_flits.sum() as f64 / time / self.run.terminals.nodes as f64;
            let (latency_before, rate_before) = self.before[class];
            let changes = (((latency - latency_before) / latency).abs(), ((rate - rate_before) / rate).abs());
            self.before[class] = (latency, rate);
            let settings = &self.run.source.classes[class];
            let limits = if self.warms_up() { settings.warm_up } else { settings.stopping };
            latency_moves |= limits.0 >= 0.0 && changes.0 > limits.0;
            rate_moves |= limits.1 >= 0.0 && changes.1 > limits.1;
            classes.push((class, ClassSample { facts: facts.clone(), changes }));
        }
        self.events.push_back(Event::Sample { cycles: self.run.terminals.now - self.cleared_at, classes });
        if let Some(class) = self.exceeded(self.measured()).filter(|_| self.by_latency) {
            self.events.push_back(Event::Exceeded(class, self.run.source.classes[class].latency_limit));
            self.fail();
            return;
        }
        let settled = !(self.by_latency && latency_moves || rate_moves);
        if self.warms_up() {
            let is_warm =
                if self.warm_up > 0 { i64::from(self.samples) + 1 >= self.warm_up } else { settled };
            if is_warm {
                self.events.push_back(Event::WarmedUp(self.run.terminals.now));
                self.clears = true;
                self.run.terminals.counting = Counting::Measured;
            }
        } else {
            self.converged = if settled { self.converged + 1 } else { 0 };
        }
        self.samples += 1;
    }

    fn fail(&mut self) {
        self.events.push_back(Event::TooLong);
        self.events.push_back(Event::Unstable);
        self.phase = Phase::Over;
    }

    fn end_samples(&mut self) {
        if !self.measures() {
            self.fail();
            return;
        }
        self.run.terminals.counting = Counting::Delays;
        self.run.source.drains_after = Some(self.run.terminals.now);
        self.steps = 0;
        if self.by_latency {
            self.events.push_back(Event::Waiting);
            self.phase = Phase::Waiting;
        } else {
            self.begin_to_empty();
        }
    }

    pub(super) fn begin_to_empty(&mut self) {
        self.events.push_back(Event::Emptying);
        self.run.source.is_on = false;
        self.steps = 0;
        self.phase = Phase::Emptying;
    }

    /// Everything has arrived.
    fn end(&mut self) {
        let time = self.run.source.drains_after.unwrap_or(self.run.terminals.now) - self.cleared_at;
        let classes =
            self.measured().into_iter().map(|class| (class, self.run.terminals.facts[class].clone()));
        let classes = classes.collect();
        let durations = self.run.source.batch.as_mut().map(|batch| std::mem::take(&mut batch.durations));
        let durations = durations.unwrap_or_default();
        self.events.push_back(Event::End { now: self.run.terminals.now, cycles: time, classes, durations });
        if self.runs_left == 0 {
            self.phase = Phase::Over;
            return;
        }
        self.runs_left -= 1;
        self.run.restart();
        self.run.source.restart();
        (self.steps, self.samples, self.converged, self.clears, self.cleared_at) = (0, 0, 0, false, 0);
        self.before.fill((0.0, 0.0));
        self.phase = Phase::Sampling;
        self.begin_batch();
    }

    pub(super) fn remaining(&self) -> Event {
        /// Flits that are named.
        const NAMED: usize = 10;
        let mut left = Vec::new();
        for class in 0..self.run.source.classes.len() {
            let mut packets: Vec<_> = self
                .run
                .terminals
                .packets
                .iter()
                .filter(|packet| usize::from(packet.class) == class)
                .collect();
            packets.sort_unstable_by_key(|packet| packet.first_flit);
            let first = |only_measured: bool| {
                let packets = packets.iter().filter(|packet| packet.is_measured || !only_measured);
                packets
                    .flat_map(|packet| (packet.delivered..packet.size).map(|index| packet.first_flit + index))
                    .take(NAMED)
                    .collect::<Vec<_>>()
            };
            let facts = &self.run.terminals.facts[class];
            left.push(((first(false), facts.in_flight), (first(true), facts.measured_in_flight)));
        }
        Event::Remaining(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_run_before_its_first_cycle_is_told_of_it() {
        let mut options = Options::default();
        assert!(options.set("topology", "mesh") && options.set("routing_function", "dor"));
        let mut run = Phases::new(&options, false).unwrap();
        run.run.terminals.breach = Some(Breach::Lost);
        assert_eq!(run.advance(&false.into()), Some(Event::Broken(Breach::Lost, 0)));
        assert_eq!(run.advance(&false.into()), None);
    }
}
