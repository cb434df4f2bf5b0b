//! What a routing function is asked, what it may look at and how it answers.

use super::{ChannelRule, dimension_order};
use crate::fabric::{Direction, NodeId, Shape};
use std::fmt;

/// Where a function is used.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The sizes of the network.
    pub shape: &'a Shape,
    /// Its channels and datelines.
    pub rule: ChannelRule,
}

/// Where a packet's header is, and how it came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The router.
    pub node: NodeId,
    /// Direction of the last hop; `None` in the processor queue.
    pub along: Option<Direction>,
    /// Virtual channel of the queue.
    pub channel: u8,
}

impl At {
    /// In the processor queue of a node.
    pub const fn source(node: NodeId) -> Self {
        Self { node, along: None, channel: 0 }
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it was injected.
    pub source: NodeId,
    /// Where it goes.
    pub destination: NodeId,
    /// Its flits, the header included.
    pub length: u32,
    /// A number drawn for it, for functions that leave something to chance.
    pub drawn: u64,
    /// With a given route: the next step, `None` at its end.
    pub step: Option<Direction>,
    /// With a given route: the channel from which it enters its first link.
    pub first_channel: u8,
}

impl Header {
    /// A header without a given route and with nothing drawn.
    pub const fn new(source: NodeId, destination: NodeId, length: u32) -> Self {
        Self { source, destination, length, drawn: 0, step: None, first_channel: 0 }
    }
}

/// An output a header may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Output {
    /// Direction of the link; `None` for the processor.
    pub direction: Option<Direction>,
    /// Virtual channel.
    pub channel: u8,
}

impl fmt::Display for Output {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.direction {
            Some(direction) => write!(out, "{direction} vc{}", self.channel),
            None => write!(out, "P vc{}", self.channel),
        }
    }
}

/// What a router knows at the start of a cycle.
pub trait Seen {
    /// Whether an output channel has an owner.
    fn owned(&self, direction: Direction, channel: u8) -> bool;
    /// Flits in the queue behind an output channel and on their way to it.
    fn held(&self, direction: Direction, channel: u8) -> u32;
    /// Free space of that queue in flits.
    fn free(&self, direction: Direction, channel: u8) -> u32;
    /// Whether so many flits fit there.
    #[inline(always)]
    fn has_room(&self, direction: Direction, channel: u8, flits: u32) -> bool {
        self.free(direction, channel) >= flits
    }
    /// Full buffers among the first `hops` ahead, as the router's register of this direction and
    /// channel shows them.
    fn full_ahead(&self, direction: Direction, channel: u8, hops: u32) -> u32;
}

impl Place<'_> {
    /// The one output of a packet in `channel` that goes on in a direction, or has arrived.
    pub(super) fn follow(self, at: At, channel: u8, direction: Option<Direction>) -> Output {
        let after = |direction| self.rule.after(self.shape, channel, at.node, at.along, direction);
        Output { direction, channel: direction.map_or(channel, after) }
    }

    /// The direction in which a packet travels in a dimension, if it has to.
    pub(super) fn way(self, dimension: usize, from: NodeId, to: NodeId) -> Option<Direction> {
        let [from, to] = [from, to].map(|node| self.shape.coordinate(node, dimension));
        dimension_order::along(self.shape, dimension, from, to).map(|(direction, _)| direction)
    }

    /// Directions that lead nearer, first dimension first, with the hops left in them.
    #[inline]
    pub(super) fn productive(self, from: NodeId, to: NodeId) -> impl Iterator<Item = (Direction, u32)> {
        (0..self.shape.dimensions()).filter_map(move |dimension| {
            let [from, to] = [from, to].map(|node| self.shape.coordinate(node, dimension));
            dimension_order::along(self.shape, dimension, from, to)
        })
    }

    /// Channels that keep dimension order free of deadlock without bubbles: every ring is left at most
    /// one channel higher, however many of its datelines count.
    pub(super) fn dateline_channels(self) -> u8 {
        1 + self.shape.rings() as u8
    }

    /// Whether rings close, since none of their datelines counts.
    pub(super) fn rings_close(self) -> bool {
        self.rule.datelines() == super::Datelines::NONE && self.dateline_channels() > 1
    }
}
