//! What routers hold, as all of their forms can tell it.

use super::flit::Ways;

/// What an input channel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Routing,
    /// For an output channel.
    Waiting,
    Active,
}

/// A queue behind an input port.
#[derive(Clone, Debug)]
pub(super) struct SeenInput {
    pub state: State,
    pub has_flits: bool,
    /// The output channels that it may have, while it waits.
    pub ways: Ways,
    /// The output port and channel that it has, once it has one.
    pub port: u16,
    pub channel: u16,
}

/// What is known of the queue behind an output port, of a channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenOutput {
    pub is_owned: bool,
    pub is_full: bool,
}

/// What routers hold, by router: inputs by port and channel, and outputs.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub inputs: Vec<Vec<SeenInput>>,
    pub outputs: Vec<Vec<SeenOutput>>,
}
