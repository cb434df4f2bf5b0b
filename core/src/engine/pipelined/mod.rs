//! The router of BookSim2 (Jiang et al., A detailed and flexible cycle-accurate network-on-chip simulator, ISPASS
//! 2013) with its pipeline, credits and allocators, on meshes, tori and other networks of it, for the same packets
//! flit for flit.

mod allocators;
mod batch;
mod batches;
mod bound;
mod buffers;
mod build;
mod classes;
mod flit;
mod measures;
mod network;
mod networks;
mod numbers;
mod options;
mod patterns;
mod phases;
mod plain;
mod priority;
mod process;
mod router;
mod routing;
mod rules;
mod run;
mod shape;
mod sources;
mod step;
mod switch;
mod waiting;
mod wiring;

pub use bound::Demand;
pub use measures::{ClassFacts, Delays, Rates};
pub use options::{OPTIONS, OptionError, Options};
pub use phases::{ClassSample, Event, Left, Phases};
pub use run::{Breach, PacketRecord};
