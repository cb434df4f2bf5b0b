//! What a run asks of the engine.

use crate::routing::RoutingFunction;

/// What a run has to do beyond the plain case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demands {
    /// Length of all packets, if it is one.
    pub uniform: Option<u32>,
    pub longest: u32,
    /// Whether packets must be taken from their sources in the very cycle in which the processor
    /// queue has room for them.
    pub exact_feed: bool,
    /// Whether nodes wait for the packets they receive.
    pub interlock: bool,
    /// Whether receiving a packet takes a router's arbiters back to their initial state.
    pub reinitialise: bool,
    /// Whether the use of links is kept.
    pub links: bool,
    /// Cycles of a window, if windows are kept.
    pub windows: Option<u64>,
    /// Whether ready and sendable outputs are kept for probes.
    pub watched: bool,
    /// Which way packets go.
    pub function: RoutingFunction,
    /// Whether that depends on the traffic, so that headers without an output choose in every cycle.
    pub reconsiders: bool,
    /// Whether it goes by numbers drawn for packets, and their seed.
    pub draws: bool,
    pub seed: u64,
    /// The channel of which routers are told what is full ahead, if they are.
    pub watches: Option<u8>,
}

impl Demands {
    /// The plain case, of packets of so many flits at most.
    pub(super) fn plain(longest: u32) -> Self {
        Self {
            uniform: None,
            longest,
            exact_feed: false,
            interlock: false,
            reinitialise: false,
            links: false,
            windows: None,
            watched: false,
            function: RoutingFunction::DimensionOrder,
            reconsiders: false,
            draws: false,
            seed: 0,
            watches: None,
        }
    }
}
