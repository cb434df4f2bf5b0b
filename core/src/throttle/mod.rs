//! Who must wait before injecting, and what it knows when it decides.
//!
//! A throttle acts on the header at the front of a processor queue only: a held header is no candidate
//! of VC allocation in this cycle. Through traffic is never held, nor a packet that was granted.

mod alo;
#[cfg(test)]
mod even_cycles;
mod expression;
mod global;
mod interlock;
mod list;
mod pace;
mod path_turn;
mod registers;
mod rule;
mod spth;
mod turns;
mod when;

pub use alo::Alo;
pub use global::Global;
pub use interlock::{Interlock, Received};
pub use list::{State, Throttle, ThrottleError};
pub use pace::Pace;
pub use path_turn::PathTurn;
pub use registers::{Following, RegisterSettings, Registers};
pub use rule::{AtWork, Parameter, Rule};
pub use spth::Spth;
pub use turns::Turns;
pub use when::{VARIABLES, When};

use crate::{
    fabric::{Direction, NodeId, Shape},
    routing::ChannelRule,
};

/// What a throttle claims of itself; the tests of the list check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// It goes by what other routers tell, one hop per cycle.
    pub signals: bool,
    /// It goes by sums over the whole network.
    pub sums: bool,
    /// It may hold a header for ever while the network is busy enough.
    pub may_starve: bool,
}

/// The network a throttle works in.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Its shape.
    pub shape: &'a Shape,
    /// Its channels and datelines.
    pub rule: ChannelRule,
    /// Depth of the queues behind its links in flits.
    pub buffer: u16,
    /// Flits of its longest packet.
    pub longest: u32,
}

impl Surroundings<'_> {
    /// The largest size.
    fn largest(&self) -> u32 {
        self.shape.sizes().iter().copied().max().unwrap_or(1)
    }

    /// Whether every dimension is a ring.
    fn is_torus(&self) -> bool {
        (0..self.shape.dimensions()).all(|dimension| self.shape.wraps(dimension))
    }

    /// Hops of a packet in one dimension, at most.
    fn reach(&self) -> u16 {
        self.shape.reach().min(u16::MAX.into()) as u16
    }

    /// Hops half around the largest ring, at least 1.
    fn half(&self) -> u16 {
        (self.largest() / 2).clamp(1, u16::MAX.into()) as u16
    }
}

/// What routers see at the start of a cycle.
pub trait Seen {
    /// Free space of the queue behind an output channel in flits, as the flow control knows it; `None`
    /// without a link.
    fn free(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u16>;
    /// Whether that queue is empty, with nothing on its way to it.
    fn is_empty(&self, node: NodeId, direction: Direction, channel: u8) -> bool;
    /// Whether an output channel has an owner.
    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool;
}

/// Sums over the whole network at the start of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets whose header has left its processor queue and whose tail is not ejected.
    pub in_flight: u64,
    /// Flits ejected so far.
    pub ejected: u64,
    /// Whether a header was held since the sums were last taken.
    pub held: bool,
}

/// A header at the front of a processor queue that wants to leave over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its node.
    pub node: NodeId,
    /// Direction of its first hop.
    pub direction: Direction,
    /// Channel of its first hop.
    pub channel: u8,
    /// Hops in that direction, at least 1: as many as lead nearer, or one where that leads away.
    pub hops: u32,
    /// Direction it turns into after them: the first of the others that lead nearer.
    pub turn: Option<Direction>,
    /// First cycle in which it was at the front of its queue after the top-up.
    pub since: u64,
}
