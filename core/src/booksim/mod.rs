//! Files of BookSim2 (Jiang et al., A detailed and flexible cycle-accurate network-on-chip simulator, ISPASS 2013) in
//! front of pipelined routers: its options, networks, traffic, random numbers and the phases of its runs, with the same
//! packets flit for flit.

mod batch;
mod batches;
mod build;
mod classes;
mod demand;
#[cfg(test)]
mod forms_agree;
mod judged;
mod networks;
mod numbers;
mod options;
mod patterns;
mod phases;
mod process;
mod stretch;
mod traffic_manager;

pub use build::Parts;
pub use demand::Demand;
pub use judged::Judged;
pub use options::{OPTIONS, OptionError, Options};
pub use phases::{ClassSample, Event, Left, Phases};
pub use traffic_manager::PacketRecord;
