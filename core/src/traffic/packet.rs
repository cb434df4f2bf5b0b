//! One packet that a node has to send, and its limits.

use crate::{fabric::NodeId, fault::Fault};

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// No flits, or too many.
    Length(u32),
    /// A node that does not exist.
    Destination {
        /// The node that was named.
        node: NodeId,
        /// Highest valid index.
        last: NodeId,
    },
    /// A start time out of range.
    Start(u64),
}

crate::fault::displays_fault!(PacketError);

impl PacketError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Length(flits) => Fault::of(
                "length",
                format!("is {flits} flits"),
                format!("lengths are 1 to {}", Packet::MAX_LENGTH),
            ),
            Self::Destination { node, last } => {
                Fault::of("destination", format!("{node} does not exist"), format!("nodes are 0 to {last}"))
            }
            Self::Start(cycle) => Fault::of(
                "start",
                format!("is cycle {cycle}"),
                format!("starts are up to {}", Packet::MAX_START),
            ),
        }
    }
}
