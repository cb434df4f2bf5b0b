//! Queues of pipelined routers that take part in a deadlock.

/// A queue that takes part in a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockedQueue {
    /// Behind the link that leaves an output port of a router, in a channel.
    Link(u32, u16, u16),
    /// In a router, of flits that come from a node, in a channel.
    Entry(u32, u16),
    /// Of flits that a node does not take, in a channel.
    Exit(u32, u16),
    /// Of replies that a node cannot send.
    Replies(u32),
}
