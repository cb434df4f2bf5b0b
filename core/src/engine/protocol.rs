//! What a cycle is, and the one loop over cycles.
//!
//! A cycle of anything in motion is: decide, from the state at its beginning; arrive; account. The
//! engines say what these are, [`drive`] says when.

use super::{Options, Outcome, SimulationError};
use crate::{
    probe::{LinkOccupation, Probe, Windows},
    save::{Archive, SaveError},
};
use std::{any::Any, sync::atomic::Ordering};

/// Cycles between two looks for local deadlocks.
const CHECK_EVERY: u64 = 4096;
/// Routers times cycles between two looks at the interrupt flag, well below a tenth of a second.
const LOOK_EVERY: u64 = 1 << 19;

/// A network in motion.
pub(crate) trait Motion {
    /// Decides what happens in a cycle; false if nothing can happen in it.
    fn decide(&mut self, cycle: u64, probe: Option<&mut dyn Probe>) -> bool;
    /// What was decided happens.
    fn arrive(&mut self, cycle: u64);
    /// Counts what happened.
    fn account(&mut self, cycle: u64);
    /// What a cycle in which nothing can happen means.
    fn rest(&self, cycle: u64) -> Quiescence;
}

/// Why nothing happens in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiescence {
    /// Nothing is under way before this cycle.
    Until(u64),
    /// Everything is delivered.
    Finished,
    /// Packets are under way that can never move.
    Stuck,
}

/// Runs the cycles from `cycle` on and before `until`; `cycle` is the first one not run. Where there is a probe, it
/// is told what is decided.
#[inline(always)]
pub(crate) fn advance<M: Motion>(
    motion: &mut M,
    cycle: &mut u64,
    until: u64,
    mut probe: Option<&mut dyn Probe>,
) -> Option<Quiescence> {
    while *cycle < until {
        let listening = probe.as_mut().map(|probe| &mut **probe as &mut dyn Probe);
        if !motion.decide(*cycle, listening) {
            return Some(motion.rest(*cycle));
        }
        motion.arrive(*cycle);
        motion.account(*cycle);
        *cycle += 1;
    }
    None
}

/// Something whose cycles the loop runs.
pub(crate) trait Cycles {
    /// As the function [`advance`].
    ///
    /// # Errors
    /// Another process of the same run has failed.
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError>;
    /// Whether the run pauses here, given whether this process was told to: where others run parts of it, all of
    /// them do if any was.
    ///
    /// # Errors
    /// Another process of the same run has failed.
    fn pauses(&self, told: bool) -> Result<bool, SimulationError> {
        Ok(told)
    }
    /// Routers of the general engine that take as long as a thread's part of all networks side by side.
    fn routers(&self) -> usize;
    /// Packets delivered so far.
    fn delivered(&self) -> u64;
    /// The last cycle that it can run, if there is one.
    fn last_cycle(&self) -> u64 {
        u64::MAX
    }
    /// Cycles between two looks for local deadlocks.
    fn check_every(&self) -> u64 {
        CHECK_EVERY
    }
    /// Whether it is to be looked for them now, since nothing has arrived for long.
    fn stands_still(&self) -> bool {
        false
    }
    /// Joins what is kept apart while one cycle follows the other. Deadlocks are looked for, and a call ends,
    /// after that.
    ///
    /// # Errors
    /// Another process of the same run has failed.
    fn join(&mut self) -> Result<(), SimulationError> {
        Ok(())
    }
    /// Whether some packets wait for each other for good while others still move, where that can be.
    ///
    /// # Errors
    /// They do.
    fn check(&self, _cycle: u64) -> Result<(), SimulationError> {
        Ok(())
    }
    /// What [`Quiescence::Finished`] leaves behind.
    ///
    /// # Errors
    /// Somebody still waits for packets that nobody sends.
    fn finished(&self, _cycle: u64) -> Result<(), SimulationError> {
        Ok(())
    }
    /// What [`Quiescence::Stuck`] means.
    fn stuck(&self, cycle: u64, _options: &Options) -> SimulationError {
        SimulationError::Stuck { cycle }
    }
}

/// An engine with a network in it, whatever it is compiled for: its cycles, and what is asked of a run that is held.
pub(crate) trait Engine: Cycles + Send + Sync {
    /// Parts the network is divided into.
    fn parts(&self) -> usize {
        1
    }
    /// The totals so far.
    ///
    /// # Errors
    /// Operations of a message graph are left that wait for each other.
    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError>;
    /// First and last cycle and flits of every link, if the engine keeps them.
    fn links(&self) -> Option<LinkOccupation> {
        None
    }
    /// What happened in windows, if the engine keeps it; all that ended before a cycle are closed.
    fn windows(&mut self, _cycle: u64) -> Option<&mut Windows> {
        None
    }
    /// Flits in every input buffer: `(node * directions + direction) * channels + channel`, where the
    /// direction is that in which they came.
    fn occupancy(&self) -> Vec<u16>;
    /// The engine itself, if it knows what others do not.
    fn itself(&self) -> Option<&dyn Any> {
        None
    }
    /// The same once more.
    fn copy(&self) -> Box<dyn Engine>;
    /// The state as fields, to be saved or restored, with the clock.
    ///
    /// # Errors
    /// What is restored is not of this simulation.
    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError>;
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The cycle that comes next.
    pub cycle: u64,
    /// When to look for local deadlocks.
    pub next_check: u64,
    /// Nothing changes before this cycle, and the probes know.
    pub idle_until: u64,
    /// Nothing more will happen.
    pub finished: bool,
}

impl Clock {
    /// The clock as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { cycle, next_check, idle_until, finished } = self;
        archive.number("cycle", cycle)?;
        archive.number("next check", next_check)?;
        archive.number("idle until", idle_until)?;
        archive.flag("finished", finished)
    }

    /// A run that was to stop at a cycle has run until then, whatever there was to do.
    pub(crate) fn stopped(self, options: &Options) -> Self {
        match options.stop_at {
            Some(stop) => Self { cycle: stop, finished: false, ..self },
            None => self,
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self { cycle: 0, next_check: CHECK_EVERY, idle_until: 0, finished: false }
    }
}

/// The loop over cycles: until everything is delivered or `options` end it. A run that was stopped
/// or interrupted goes on where it was when it is driven again.
///
/// # Errors
/// A limit was met, the run was interrupted, or nothing can move any more.
pub(crate) fn drive(
    engine: &mut dyn Cycles,
    clock: &mut Clock,
    options: &Options,
    probe: &mut dyn Probe,
) -> Result<(), SimulationError> {
    let ended = go_on(engine, clock, options, probe);
    let joined = engine.join();
    ended.and(joined)
}

fn go_on(
    engine: &mut dyn Cycles,
    clock: &mut Clock,
    options: &Options,
    probe: &mut dyn Probe,
) -> Result<(), SimulationError> {
    let last = engine.last_cycle();
    let limit = options.cycle_limit.unwrap_or(u64::MAX).min(last);
    let stop = options.stop_at.unwrap_or(u64::MAX);
    let look_every = (LOOK_EVERY / engine.routers().max(1) as u64).clamp(1, CHECK_EVERY);
    while !clock.finished && clock.cycle < stop {
        if clock.cycle >= limit {
            return Err(SimulationError::CycleLimit { cycles: limit, delivered: engine.delivered() });
        }
        if let Some(flag) = options.interrupt
            && engine.pauses(flag.load(Ordering::Relaxed))?
        {
            return Err(SimulationError::Interrupted(clock.cycle));
        }
        if clock.cycle >= clock.next_check || engine.stands_still() {
            clock.next_check = clock.cycle + engine.check_every();
            engine.join()?;
            engine.check(clock.cycle)?;
        }
        if clock.cycle < clock.idle_until {
            clock.cycle = clock.idle_until.min(stop).min(last);
            continue;
        }
        let until = stop.min(limit).min(clock.next_check).min(clock.cycle.saturating_add(look_every));
        match engine.advance(&mut clock.cycle, until, probe)? {
            None => {}
            Some(Quiescence::Until(cycle)) => clock.idle_until = cycle,
            Some(Quiescence::Finished) => {
                engine.finished(clock.cycle)?;
                clock.finished = true;
            }
            Some(Quiescence::Stuck) => return Err(engine.stuck(clock.cycle, options)),
        }
    }
    Ok(())
}
