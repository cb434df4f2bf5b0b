//! The network in motion: a network, a workload and what came of them.

pub mod general;
mod lower_bound;
mod network;
mod outcome;
pub mod planes;
mod sweep;

pub use lower_bound::{Bottleneck, LowerBound, lower_bound};
pub use network::{Network, NetworkError};
pub use outcome::{DeadlockReport, Outcome, SimulationError, WaitingChannel, fingerprint, lateness};
pub use sweep::stack;

use crate::{probe::NoProbe, traffic::Workload};

/// Simulates without probes, on the fastest engine that covers the case: the planes where they can
/// and pay, else the general engine.
///
/// # Errors
/// As [`general::simulate`].
pub fn simulate(
    network: &Network,
    workload: &Workload,
    options: &general::Options,
) -> Result<Outcome, SimulationError> {
    let covered = options.plain_rules() && planes::supports(network, workload).is_ok();
    if covered && planes::pays(network, workload) {
        let set = planes::InstructionSet::best(network, 1);
        return planes::simulate(network, workload, options, set);
    }
    general::simulate(network, workload, options, &mut NoProbe)
}
