//! The network in motion: a network, a workload and what came of them.

#![warn(unreachable_pub)]

mod bell;
pub mod general;
mod letterbox;
mod lower_bound;
mod network;
mod options;
mod outcome;
pub mod pipelined;
pub mod planes;
mod protocol;
mod regions;
mod setup;
mod simulation;
mod sweep;
mod sync;

pub use bell::Lost;
pub use lower_bound::{Bottleneck, LowerBound, lower_bound};
pub use network::{Network, NetworkError};
pub use options::Options;
pub use outcome::{
    DeadlockReport, FailedEnds, Obstacle, Outcome, SimulationError, WaitingChannel, fingerprint, lateness,
};
pub use regions::{Message, Rank, Transport, exchange_messages};
pub use setup::{EngineKind, Setup};
pub use simulation::{Simulation, simulate_in_planes};
pub use sweep::stack;

pub(crate) use protocol::{Clock, Cycles, Quiescence, drive};

use crate::traffic::Workload;

/// Simulates without probes, on the fastest engine that covers the case: the planes where they can
/// and pay, else the general engine.
///
/// # Errors
/// As [`general::simulate`].
pub fn simulate(
    network: &Network,
    workload: &Workload,
    options: &Options,
) -> Result<Outcome, SimulationError> {
    let mut simulation =
        Simulation::new(network, workload, &Setup { options: *options, ..Setup::default() })?;
    simulation.run(options)?;
    simulation.totals_at_stop(options)
}
