//! What ends a run in the middle of it.

/// What must not happen in a network. BookSim2 does not survive it, either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Two flits took the last shared place of a queue in one step.
    SharedPlace,
    /// More channels of a port have an owner than a policy of shared buffers has places for.
    PlacePerOwner,
    /// Two classes of a source took the same channel.
    ChannelTwice,
    /// Packets wait for each other: no flit has arrived for [so long](Breach::STANDSTILL).
    Deadlock,
    /// Another process of the same run has failed.
    Lost,
}

impl Breach {
    /// Cycles without an arrival after which packets are taken to wait for each other.
    pub const STANDSTILL: u32 = 100_000;
}
