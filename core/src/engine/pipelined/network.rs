//! What a network is to its routers: which way packets go over a wiring.

use super::{
    config::Config,
    config_error::ConfigError,
    flit::{Packet, Ways},
    numbers::Numbers,
    wiring::{Link, Wiring},
};
use std::fmt;

/// Most nodes in a line of a mesh whose coordinates are bytes.
pub(crate) const MOST_IN_LINE: usize = 256;

/// Where a header is when its ways are computed.
pub(crate) struct Place<'a> {
    pub router: u32,
    /// The port it came in by, whether that is one of a node, and the channel it came in.
    pub port: usize,
    pub enters: bool,
    pub channel: u32,
    /// First and last channel it may use.
    pub channels: (u32, u32),
    /// Per output port of all routers the flits known behind it.
    pub load: &'a [u32],
}

/// The routing function of a network, and what forms of routers want to know of it.
pub(crate) trait Network: fmt::Debug + Send + Sync {
    /// The ways of a header at a router.
    fn ways(
        &self,
        wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        numbers: &mut dyn Numbers,
    ) -> Ways;

    /// The channels that a header to a node may take from its source, of so many on the link and of those that its kind
    /// of message has.
    fn entry_channels(
        &self,
        _wiring: &Wiring,
        _to: u32,
        (_all, channels): (usize, (u32, u32)),
        _numbers: &mut dyn Numbers,
    ) -> (u32, u32) {
        channels
    }

    /// Whether ways draw numbers.
    fn draws(&self) -> bool;

    /// Whether ways depend on the load.
    fn goes_by_load(&self) -> bool {
        false
    }

    /// Whether a header may have two ways, one before the other.
    fn has_escapes(&self) -> bool {
        false
    }

    /// The least number of channels that it needs for a packet.
    fn least_channels(&self) -> u32 {
        1
    }

    /// How many channels its narrowest way has, of so many that a packet may use.
    fn narrowest_way(&self, channels: u32) -> u32 {
        channels
    }

    /// The nodes in a line along the first dimension of a mesh of at most two, of at most [`MOST_IN_LINE`] each, with
    /// dimension order in all channels of a packet and links of one cycle; `None` for all others.
    fn line_of_plain_mesh(&self, _wiring: &Wiring) -> Option<usize> {
        None
    }

    /// The latency of a link out of a router, as its buffer policy takes it.
    fn latency_of(&self, _router: u32, link: Link) -> u32 {
        link.latency
    }

    /// Refuses options that it does not go together with.
    ///
    /// # Errors
    /// Some do not.
    fn check(&self, _config: &Config) -> Result<(), ConfigError> {
        Ok(())
    }
}
