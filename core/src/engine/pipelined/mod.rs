//! Routers with a pipeline, credits and allocators, as the field describes them (Dally and Towles, Principles and
//! Practices of Interconnection Networks, 2004; Jiang et al., A detailed and flexible cycle-accurate network-on-chip
//! simulator, ISPASS 2013): typed options ([`Config`]), a network with its routing function, and a source of packets.
//! [`Pipeline`] is the engine that runs them with flitloom's own networks, packets and numbers; files of BookSim2 are in
//! [`booksim`](crate::booksim).

mod allocators;
mod blocked_queue;
mod breach;
mod buffers;
mod config;
mod config_error;
mod cycle;
mod deadlock;
mod division;
mod ejection;
mod exchange;
mod feed;
mod flit;
mod forms;
mod injection;
#[cfg(test)]
#[path = "../../../tests/reference/lists/mod.rs"]
mod lists;
mod measures;
mod network;
mod networks;
mod numbers;
mod pipeline;
mod planes;
mod priority;
mod routers;
mod rules;
mod run;
mod saving;
mod seen;
mod sets;
mod source;
mod stage;
mod subnet;
mod terminals;
mod waiting;
mod wiring;
#[cfg(test)]
mod with_form;

pub use allocators::{AllocatorKind, ArbiterKind};
pub use blocked_queue::BlockedQueue;
pub use breach::Breach;
pub use config::{BufferPolicy, Config, Replies};
pub use config_error::ConfigError;
pub use measures::{ClassFacts, Delays, Rates};
pub use networks::{Lanes, Switched};
pub use pipeline::{Pipeline, Place};
pub use priority::Priority;
pub use rules::Rules;
#[cfg(test)]
pub(crate) use with_form::Form;
pub(crate) use {
    buffers::{Limit, Policy, RoundTrips, Sharing},
    config::Ranges,
    division::Division,
    flit::{Flit, Kind, Packet, Ways, part},
    network::{MOST_IN_LINE, Network, Place as HeaderPlace},
    numbers::Numbers,
    routers::Wanted,
    run::Run,
    source::Source,
    subnet::Subnet,
    terminals::{Counting, Terminals},
    waiting::Reply,
    wiring::{End, Link, Wiring},
};
