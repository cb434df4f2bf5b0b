//! The network in motion: a network, a workload and what came of them.

pub mod general;
mod network;
mod outcome;

pub use network::{Network, NetworkError};
pub use outcome::{DeadlockReport, Outcome, SimulationError, WaitingChannel, fingerprint};
