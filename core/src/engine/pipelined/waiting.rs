//! What waits at a node: a packet of each class, and replies that it owes.

use super::flit::Kind;
use crate::save::plain_record;

/// A source of one class at a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// The packet that waits: its place, the next flit and how many it has (0: none waits), the subnet and the
    /// priority of its flits, the channel of those behind the first.
    pub packet: u32,
    pub next: u32,
    pub size: u32,
    pub subnet: u16,
    pub priority: i32,
    pub channel: u16,
    /// The channel that the header at the front found when it was looked at first; it keeps it.
    pub chosen: Option<u16>,
    /// The first cycle that was not asked for.
    pub asked: u32,
    /// Every cycle up to the end of measuring was asked for.
    pub is_done: bool,
}

plain_record!(Waiting {
    packet: u32,
    next: u32,
    size: u32,
    subnet: u16,
    priority: i32,
    channel: u16,
    chosen: Option<u16>,
    asked: u32,
    is_done: bool,
});

/// A reply that a node owes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    pub to: u32,
    pub time: u32,
    pub is_measured: bool,
    pub kind: Kind,
}

plain_record!(Reply { to: u32, time: u32, is_measured: bool, kind: Kind });
