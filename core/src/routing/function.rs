//! Which way a packet may go, asked at every router: the closed list of routing functions.

use super::{ChannelRule, Datelines, adaptive, dimension_order, o1turn, valiant};
use crate::fabric::{Direction, NodeId, Shape};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// A routing function.
///
/// What packets carry ([`Header`]) never changes on their way; everything else a function goes by is
/// where the packet is and how it came there ([`At`]).
///
/// ```
/// use flitloom_core::fabric::Shape;
/// use flitloom_core::routing::{At, ChannelRule, Datelines, Header, Place, RoutingFunction};
/// let place = Place { shape: &Shape::torus(&[8, 8])?, rule: ChannelRule::new(3, Datelines::BOTH) };
/// let header = Header::new(0, 18, 8);
/// let ways = |function: RoutingFunction| -> Vec<String> {
///     let options = function.options(place, At::source(0), &header);
///     options.iter().map(|output| output.to_string()).collect()
/// };
/// assert_eq!(ways(RoutingFunction::DimensionOrder), ["+x vc0"]);
/// assert_eq!(ways("sa".parse()?), ["+x vc2", "+y vc2", "+x vc0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum RoutingFunction {
    /// `do`: one dimension after the other ([`dimension_order`]).
    #[default]
    DimensionOrder,
    /// `given`: every packet brings its route.
    Given,
    /// `sa`: an adaptive channel in the direction with more space, else an escape channel in dimension
    /// order (simple adaptive; scaling-effects-2007).
    SimpleAdaptive,
    /// `cl`: as `sa`, in the direction with fewer busy buffers on the whole line ahead (cross line;
    /// scaling-effects-2007).
    CrossLine,
    /// `o1turn`: every packet draws whether it takes the dimensions in ascending or descending order
    /// (Seo et al. 2005).
    O1Turn,
    /// `valiant`: in dimension order to a node drawn for the packet, and on from there (Valiant and
    /// Brebner 1981).
    Valiant,
}

/// No such routing function.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown routing function {0:?}; the functions are {names}", names = RoutingFunction::NAMES.join(", "))]
pub struct UnknownFunction(String);

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

/// A few outputs, in the order of preference.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    outputs: [Output; Self::MOST],
    count: u8,
}

impl Options {
    /// Largest number of options.
    pub const MOST: usize = 8;

    pub(super) const fn none() -> Self {
        Self { outputs: [Output { direction: None, channel: 0 }; Self::MOST], count: 0 }
    }

    pub(super) fn one(direction: Option<Direction>, channel: u8) -> Self {
        let mut options = Self::none();
        options.push(direction, channel);
        options
    }

    pub(super) fn push(&mut self, direction: Option<Direction>, channel: u8) {
        self.outputs[usize::from(self.count)] = Output { direction, channel };
        self.count += 1;
    }

    /// The options.
    pub fn iter(&self) -> impl Iterator<Item = Output> + '_ {
        self.outputs[..usize::from(self.count)].iter().copied()
    }
}

/// What a router knows at the start of a cycle.
pub trait Seen {
    /// Whether an output channel has an owner.
    fn owned(&self, direction: Direction, channel: u8) -> bool;
    /// Free space of the queue behind an output channel in flits.
    fn free(&self, direction: Direction, channel: u8) -> u32;
    /// Busy buffers among the first `hops` ahead, as the router's register of this direction and
    /// channel shows them.
    fn busy_ahead(&self, direction: Direction, channel: u8, hops: u32) -> u32;
}

/// What keeps a function free of deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// Its channels are never waited for in a circle.
    Acyclic,
    /// The bubble rule lets every ring drain.
    Bubble,
    /// A header that gets no adaptive channel may always ask for an escape channel, and those are never
    /// waited for in a circle (Duato 1993); a waiting packet must fit in one queue, so it needs
    /// cut-through.
    Escape,
}

/// What a function claims of itself on a shape; the tests of the list check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Every hop leads nearer to the destination.
    pub minimal: bool,
    /// The way depends on the packet alone, not on the traffic.
    pub oblivious: bool,
    /// Virtual channels it needs.
    pub channels: u8,
    /// What keeps it free of deadlock with that many channels, if it says so.
    pub freedom: Option<Freedom>,
}

impl RoutingFunction {
    /// All functions.
    pub const ALL: [Self; 6] = [
        Self::DimensionOrder,
        Self::Given,
        Self::SimpleAdaptive,
        Self::CrossLine,
        Self::O1Turn,
        Self::Valiant,
    ];

    /// Names in the order of [`ALL`](Self::ALL).
    pub const NAMES: [&'static str; 6] = ["do", "given", "sa", "cl", "o1turn", "valiant"];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// What it claims where it is used; `bubble` says whether the bubble rule is in force.
    pub fn claims(self, place: Place, bubble: bool) -> Claims {
        let wrapping = (0..place.shape.dimensions()).filter(|&dimension| place.shape.wraps(dimension));
        // Every ring is left at most one channel higher, however many of its datelines count.
        let dateline_channels = 1 + wrapping.count() as u8;
        let no_lines = place.rule.datelines() == Datelines::NONE && dateline_channels > 1;
        let acyclic = if no_lines { None } else { Some(Freedom::Acyclic) };
        match self {
            Self::DimensionOrder if bubble => {
                Claims { minimal: true, oblivious: true, channels: 1, freedom: Some(Freedom::Bubble) }
            }
            Self::DimensionOrder => {
                Claims { minimal: true, oblivious: true, channels: dateline_channels, freedom: acyclic }
            }
            Self::Given => Claims { minimal: false, oblivious: true, channels: 1, freedom: None },
            Self::SimpleAdaptive | Self::CrossLine => Claims {
                minimal: true,
                oblivious: false,
                channels: adaptive::CHANNELS,
                freedom: if bubble { None } else { Some(Freedom::Escape) },
            },
            Self::O1Turn | Self::Valiant => Claims {
                minimal: self == Self::O1Turn,
                oblivious: true,
                channels: 2 * dateline_channels,
                freedom: if bubble { None } else { acyclic },
            },
        }
    }

    /// Whether it is free of deadlock where it is used, so that no run has to look for one.
    pub fn is_deadlock_free(self, place: Place, bubble: bool) -> bool {
        let claims = self.claims(place, bubble);
        claims.freedom.is_some() && place.rule.channels() >= claims.channels
    }

    /// Every output a header may ask for in some state of the network, the processor's alone when it
    /// has arrived.
    pub fn options(self, place: Place, at: At, header: &Header) -> Options {
        match self {
            Self::DimensionOrder => {
                let direction = dimension_order::next(place.shape, at.node, header.destination);
                place.follow(at, at.channel, direction)
            }
            Self::Given => {
                let channel = if at.along.is_none() { header.first_channel } else { at.channel };
                place.follow(at, channel, header.step)
            }
            Self::SimpleAdaptive | Self::CrossLine => adaptive::options(place, at, header),
            Self::O1Turn => o1turn::options(place, at, header),
            Self::Valiant => valiant::options(place, at, header),
        }
    }

    /// The output a header asks for in this cycle, given what its router sees; `None` for nothing this
    /// time.
    pub fn choice(self, place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
        match self {
            Self::SimpleAdaptive => adaptive::choice(place, at, header, seen, |_, _| 0),
            Self::CrossLine => adaptive::choice(place, at, header, seen, |direction, hops| {
                seen.busy_ahead(direction, adaptive::ADAPTIVE, hops)
            }),
            _ => self.options(place, at, header).iter().next(),
        }
    }
}

impl Place<'_> {
    /// The one output of a packet in `channel` that goes on in a direction, or has arrived.
    pub(super) fn follow(self, at: At, channel: u8, direction: Option<Direction>) -> Options {
        let after = |direction| self.rule.after(self.shape, channel, at.node, at.along, direction);
        Options::one(direction, direction.map_or(channel, after))
    }
}

impl fmt::Display for RoutingFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for RoutingFunction {
    type Err = UnknownFunction;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|function| function.name() == text);
        found.ok_or_else(|| UnknownFunction(text.to_owned()))
    }
}
