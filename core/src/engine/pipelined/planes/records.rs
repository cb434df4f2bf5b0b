//! What planes hold of every channel, and what records hold of channels, ports and packets.

use super::matching::PORTS;

/// Most planes of a number of flits in a queue, and those that do for short queues.
pub(super) const COUNT: usize = 7;
pub(super) const SHORT: usize = 4;
/// Most planes of the flits left of a packet, and of a channel.
pub(super) const LEFT: usize = 8;
pub(super) const CHANNEL: usize = 4;
/// Most channels of a port.
pub(super) const CHANNELS: usize = 1 << CHANNEL;
/// Cycles from a crossing to the arrival at the next router or node.
pub(super) const FLIGHT: u32 = 3;
/// Slots for what is sent.
pub(super) const SLOTS: u32 = 4;
/// Where nodes send and receive.
pub(super) const NODE: usize = 4;
/// Nobody.
pub(super) const NOBODY: u8 = u8::MAX;

/// The planes of some input channels, by what they say: has an output channel that is not full; has flits; has no
/// packet; whether the turn of its sub-port is here or before; how many flits it has; how many of the packet at the front
/// are behind its next one; output, and channel there.
pub(super) type Lane<V> = [V; FIELDS];
pub(super) const READY: usize = 0;
pub(super) const OCCUPIED: usize = 1;
pub(super) const IDLE: usize = 2;
pub(super) const TURN: usize = 3;
pub(super) const OUTPUT: usize = 4;
pub(super) const DIGITS: usize = OUTPUT + PORTS;
pub(super) const FLITS: usize = DIGITS + CHANNEL;
pub(super) const BEHIND: usize = FLITS + COUNT;
pub(super) const FIELDS: usize = BEHIND + LEFT;

/// The planes of some output channels: the places left in the queues behind them, and whether the tail was sent.
pub(super) type Known<V> = [V; COUNT + 1];
pub(super) const TAIL_SENT: usize = COUNT;

/// The record of an output port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// A bit per input channel that waits for a channel of it.
    pub waiting: [u64; 2],
    /// A bit per channel: without owner; full.
    pub free: u16,
    pub full: u16,
    /// The first queue behind it.
    pub behind: u32,
}

/// The record of an output channel: its owner, and the turn among input channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub owner: u8,
    pub grants: u8,
}

/// What headers say of a packet: destination, channels that it may have, and flits behind the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub to: u16,
    pub range: u16,
    pub left: u16,
}

/// The record of an input channel, or of a channel to a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// The packet at the front.
    pub front: u32,
    /// Packets that entered and left its queue.
    pub entered: u8,
    pub left: u8,
    /// The number of its output channel, and the turn among output channels.
    pub known: u8,
    pub accepts: u8,
}
