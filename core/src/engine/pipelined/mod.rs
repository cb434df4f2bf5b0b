//! The router of BookSim2 (Jiang et al., A detailed and flexible cycle-accurate network-on-chip simulator, ISPASS
//! 2013) with its pipeline, credits and allocators: for files of BookSim2 the same packets flit for flit
//! ([`Phases`]), and with flitloom's own networks, packets and numbers ([`Simulation`]).

mod allocators;
mod batch;
mod batches;
mod bound;
mod breach;
mod buffers;
mod build;
mod classes;
mod config;
mod config_error;
mod deadlock;
mod exchange;
mod feed;
mod flit;
mod forms;
mod lists;
mod measures;
mod networks;
mod numbers;
mod options;
mod patterns;
mod phases;
mod planes;
mod priority;
mod process;
mod router;
mod routers;
mod routing;
mod rules;
mod run;
mod seen;
mod sets;
mod shape;
mod simulation;
mod sources;
mod step;
mod subnet;
mod switch;
mod waiting;
mod wiring;

pub use allocators::{AllocatorKind, ArbiterKind};
pub use bound::Demand;
pub use breach::Breach;
pub use config::{BufferPolicy, Config};
pub use config_error::ConfigError;
pub use deadlock::BlockedQueue;
pub use feed::Replies;
pub use measures::{ClassFacts, Delays, Rates};
pub use networks::{Lanes, Switched};
pub use options::{OPTIONS, OptionError, Options};
pub use phases::{ClassSample, Event, Left, Phases};
pub use priority::Priority;
pub use run::PacketRecord;
pub use simulation::{Place, Setup, Simulation, Stop};
