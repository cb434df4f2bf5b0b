//! One packet that a node has to send, and its limits.

use crate::fabric::NodeId;
use thiserror::Error;

/// One packet a node has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it goes.
    pub destination: NodeId,
    /// Flits, the header included.
    pub length: u32,
    /// First cycle in which its flits are available to the router.
    pub start: u64,
    /// Which slice of its message it is, for the link-time record.
    pub slice: u32,
}

impl Packet {
    /// Most flits.
    pub const MAX_LENGTH: u32 = 1 << 20;
    /// Latest start cycle.
    pub const MAX_START: u64 = 1 << 40;
}

/// What can be wrong with a packet.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PacketError {
    /// No flits, or too many.
    #[error("its length is {0} flits; lengths are 1 to {max}", max = Packet::MAX_LENGTH)]
    Length(u32),
    /// A node that does not exist.
    #[error("destination {node} does not exist; nodes are 0 to {last}")]
    Destination {
        /// The node that was named.
        node: NodeId,
        /// Highest valid index.
        last: NodeId,
    },
    /// A start time out of range.
    #[error("it starts in cycle {0}; starts are up to {max}", max = Packet::MAX_START)]
    Start(u64),
}
