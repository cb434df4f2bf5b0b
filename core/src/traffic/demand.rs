use super::PacketList;
use crate::fabric::NodeId;

/// One message that has to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Sending node.
    pub source: NodeId,
    /// Receiving node.
    pub destination: NodeId,
    /// Flits of one slice, its header included.
    pub length: u32,
    /// Slices of the message; 1 for a whole packet.
    pub slices: u32,
}

impl Demand {
    /// Largest length of one message in flits.
    pub const MAX_LENGTH: u32 = PacketList::MAX_LENGTH;
}
