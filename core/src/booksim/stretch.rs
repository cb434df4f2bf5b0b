//! Cycles of a run of a file of BookSim2 in the one loop.

use super::traffic_manager::TrafficManager;
use crate::{
    engine::{
        Clock, Cycles, Options, Quiescence, SimulationError, drive,
        pipelined::{Breach, Division, Run},
    },
    probe::{NoProbe, Probe},
};
use std::sync::atomic::AtomicBool;

/// Cycles that go on until something is so.
struct Stretch<'a, F> {
    run: &'a mut Run<TrafficManager>,
    division: &'a mut Division,
    goes_on: F,
}

/// BookSim2 looks for no deadlocks but by how long nothing arrives, which breaks a run.
impl<F: FnMut(&Run<TrafficManager>) -> bool> Cycles for Stretch<'_, F> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        self.division.begin(self.run, until - *cycle)?;
        let _watch = self.division.watch();
        while *cycle < until {
            self.division.wait(self.run);
            if self.run.terminals.breach.is_some() || !(self.goes_on)(self.run) {
                return Ok(Some(Quiescence::Finished));
            }
            self.division.cycle(self.run);
            *cycle += 1;
        }
        Ok(None)
    }

    fn routers(&self) -> usize {
        self.run.routers_as_fast()
    }

    fn delivered(&self) -> u64 {
        self.run.terminals.facts.iter().map(|facts| facts.packet.count).sum()
    }

    fn join(&mut self) -> Result<(), SimulationError> {
        Ok(self.division.join(self.run)?)
    }
}

/// Runs cycles until one would be `stop`, something that is asked before every cycle is not so any more, something has
/// happened that must not, or soon after the flag was raised.
pub(super) fn run_while(
    (run, division): (&mut Run<TrafficManager>, &mut Division),
    stop: Option<u32>,
    interrupt: &AtomicBool,
    goes_on: impl FnMut(&Run<TrafficManager>) -> bool,
) {
    let mut clock = Clock { cycle: run.terminals.now.into(), next_check: u64::MAX, ..Clock::default() };
    let stop_at = stop.map(u64::from);
    let options = Options { stop_at, interrupt: Some(interrupt), ..Options::default() };
    let mut stretch = Stretch { run, division, goes_on };
    if drive(&mut stretch, &mut clock, &options, &mut NoProbe) == Err(SimulationError::Lost) {
        run.terminals.breach = Some(Breach::Lost);
    }
    // Whoever runs it looks at the flag, too, which is all that can be the matter else.
}
