//! The slow, obvious simulator: one struct per flit, plain loops over every node, port and channel
//! in every cycle. It is written for reading, shares no rule with the engines and decides what is
//! right when they disagree.
//!
//! One cycle `t`, every decision from the state at its start:
//!
//! 0. **Arrivals**: a flit sent in cycle `t - latency` enters its queue.
//! 1. **Top up**: the P queue (channel 0 of the processor port, as deep as any other) is filled in
//!    the order of the node's packets. A packet's flits enter only when its start has come and all
//!    flits of the packets before it have entered.
//! 2. **VC allocation**: for every output channel without owner, the candidates are the queues
//!    that own no output and whose front flit is a header that asks for it. The first input port in
//!    the channel's list is granted, and the list is turned so that it comes last. Of several
//!    channels of one input port (possible only on the last channel) the lowest is granted.
//!    Space downstream plays no part (but for bubbles).
//! 3. **Switch allocation**: for every output port, the first channel in the scheme's order that has
//!    an owner with a flit and - but for P - space downstream at the start of the cycle sends one
//!    flit. Flits on the link count as occupying the downstream queue. With cut-through a header
//!    needs space for its whole packet.
//! 4. **Move**: all selected flits at once. A tail frees its output for step 2 of the next cycle,
//!    and the slot a flit leaves is seen upstream at the start of the next cycle.
//!
//! P accepts one flit per cycle over all its channels; it has channels, owners, lists and a scheme
//! as any other port. A self-addressed packet goes from P to P in channel 0. The channel a port used
//! last is initially 0.
//!
//! With bubble flow control, as with cut-through, a header needs space for its whole packet, and there
//! are no datelines. A header that enters a ring, that is, asks for a port of a dimension that wraps
//! without having come in at the port opposite, is a candidate in step 2 only if its packet and one
//! more of the longest kind fit downstream.
//!
//! Further rules can be added: which datelines count, grants that need room, a P
//! queue per direction, adaptive routing, throttles, and a router with output registers ([`Rules`]).
//!
//! A packet with a given route follows it instead of dimension order. Two rules for slices can be
//! added ([`SliceRules`]).

mod rules;
mod simulator;

pub use rules::way;
pub use simulator::{simulate, simulate_held, simulate_with_routes};

use flitloom_core::{
    fabric::{LinkId, NodeId},
    routing::RoutingFunction,
};

/// Which rules are followed. The default is right; every other setting is deliberately wrong, to
/// see that a comparison notices.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Channel numbers rise at datelines.
    pub datelines: bool,
    /// A tie at half a ring goes as the shape says: over the wrap-around link, or by the parity of the coordinate.
    pub ties: bool,
    /// Port lists are read from the front.
    pub lists_from_front: bool,
    /// A granted port goes to the end of its list.
    pub lists_turn: bool,
    /// A port remembers the channel it used last.
    pub remembers_channel: bool,
    /// Flits on a link take space in the queue they go to.
    pub flits_in_flight_take_space: bool,
    /// Rules for slices, right or wrong as the network has them.
    pub slices: SliceRules,
    /// Which datelines are counted.
    pub lines: Lines,
    /// Lists begin with the port towards lower coordinates of the last dimension, and the one towards higher
    /// ones takes its place.
    pub north_is_minus: bool,
    /// Step 2 grants a link output only if the header's whole packet fits downstream.
    pub grant_needs_room: bool,
    /// A P queue for every direction of the first hop, instead of one for all.
    pub p_queue_per_direction: bool,
    /// Which way packets go.
    pub routing: Routing,
    /// Seed of what packets draw for their ways.
    pub seed: u64,
    /// Who must wait before injecting.
    pub throttle: Throttle,
    /// How flits cross a router.
    pub crossing: Crossing,
}

impl Rules {
    /// The router of state-propagation-throttling-2015, with a throttle; its scheme is `packet`.
    pub fn t15(throttle: Throttle) -> Self {
        Self { grant_needs_room: true, p_queue_per_direction: true, throttle, ..Self::default() }
    }
}

/// How flits cross a router: its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// In the cycle in which they are sent.
    Direct,
    /// Through registers. Behind an input queue one flit shorter than the buffer (the P
    /// queue as deep as ever) every output channel has a register of one flit. The cycle is then: a) every
    /// output port sends, of the channels whose register is full and whose downstream queue had space at
    /// the start of the cycle, the first in the scheme's order, and the flit is in that queue at once;
    /// b) top-up; c) VC allocation, for output channels that have no owner; d) every output channel
    /// with an owner and an empty register takes a flit of its owner's queue. An output channel loses its
    /// owner when the tail leaves the register.
    Registered,
}

/// Readings of the dateline rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Both lines of a ring count.
    Both,
    /// Only the line between the ends counts.
    WrapOnly,
    /// As `Both`, but the line between the ends does not count for a first hop.
    WrapNotFirst,
    /// As `Both`, but neither line counts for a first hop from a node whose coordinates have an odd sum.
    Checkerboard,
}

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    DimensionOrder,
    SimpleAdaptive,
    CrossLine,
    O1Turn,
    Valiant,
    MinimalAdaptive,
    Ugal,
}

impl Routing {
    /// The slow twin of a routing function.
    pub fn of(function: RoutingFunction) -> Self {
        match function {
            RoutingFunction::DimensionOrder | RoutingFunction::Given => Self::DimensionOrder,
            RoutingFunction::SimpleAdaptive => Self::SimpleAdaptive,
            RoutingFunction::CrossLine => Self::CrossLine,
            RoutingFunction::O1Turn => Self::O1Turn,
            RoutingFunction::Valiant => Self::Valiant,
            RoutingFunction::MinimalAdaptive => Self::MinimalAdaptive,
            RoutingFunction::Ugal => Self::Ugal,
        }
    }
}

/// Registers that show busy queues ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// A queue with at most so many free places is busy.
    pub margin: usize,
    /// Bits, at least 1.
    pub length: usize,
    /// One update per link and cycle.
    pub shared: bool,
    /// Channel numbers rise at datelines along a register.
    pub following: bool,
}

/// A throttle from elsewhere, to stand in the place of the reference's own.
pub trait Hold {
    /// Once per cycle, before step 2: packets in flight, flits ejected, whether a header was held in the
    /// cycle before, and what routers see.
    fn observe(&mut self, cycle: u64, sums: (u64, u64, bool), view: &View);
    /// Whether a header is held.
    fn holds(&self, cycle: u64, header: &Waiting, view: &View) -> bool;
    /// A header was granted its first output.
    fn granted(&mut self, cycle: u64, node: NodeId);
}

/// A header at the front of a P queue that wants to leave over a link.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub node: NodeId,
    /// Output port and channel of its first hop.
    pub output: (usize, usize),
    /// Hops in that direction, and the port of the next one.
    pub hops: usize,
    pub turn: Option<usize>,
    /// When it came to the front.
    pub since: u64,
}

/// What routers see of their outputs (node, port, channel).
pub struct View<'a> {
    /// Free places downstream; none without a link.
    pub free: &'a dyn Fn(NodeId, usize, usize) -> Option<usize>,
    pub owned: &'a dyn Fn(NodeId, usize, usize) -> bool,
}

/// Who must wait before injecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    None,
    /// Any busy queue ahead, in the channel of the first hop or in any.
    Spth {
        watch: Watch,
        own: bool,
    },
    /// No useful channel is free.
    Alo {
        own: bool,
    },
    /// A packet per interval.
    Pace {
        interval: u64,
    },
    /// Too many packets in flight in the whole network.
    Global {
        threshold: u64,
        tune: bool,
    },
    /// Busy queues on the packet's own path, or behind its turn.
    Pt {
        watch: Watch,
        release: u64,
        /// Queues behind a turn that are looked at.
        behind: usize,
    },
}

/// The two additions of cup-stacking-extended-2023, 7.2 (T08 and T10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceRules {
    /// After step 4 of a cycle in which a node ejects a tail, its lists and the channels its ports
    /// used last are as at the start.
    pub reinitialise: bool,
    /// The flits of a node's packet number k (from 0) enter the P queue only in a cycle before which
    /// the node has ejected k tails.
    pub interlock: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            datelines: true,
            ties: true,
            lists_from_front: true,
            lists_turn: true,
            remembers_channel: true,
            flits_in_flight_take_space: true,
            slices: SliceRules::default(),
            lines: Lines::Both,
            north_is_minus: false,
            grant_needs_room: false,
            p_queue_per_direction: false,
            routing: Routing::DimensionOrder,
            seed: 0,
            throttle: Throttle::None,
            crossing: Crossing::Direct,
        }
    }
}

/// A given route: the output ports on the way, and the channel from which the first link is entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub ports: Vec<usize>,
    pub channel: usize,
}

/// Something seen in a cycle; sorted by cycle, then kind, then place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub cycle: u64,
    pub what: What,
}

/// What was seen. A flit is named by its packet's source, the packet's number (from 0) in the
/// source's order, and its index in the packet (0 is the header).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A flit was sent over a link, on a channel.
    Crosses { link: LinkId, channel: u8, source: NodeId, number: u64, index: u32 },
    /// No flit crossed a link, although one of its output channels had an owner with a flit.
    Blocked { link: LinkId },
    /// A flit left the network.
    Ejected { node: NodeId, source: NodeId, number: u64, index: u32 },
    /// VC allocation granted this output channel (node, port, channel) to a packet (source,
    /// number) while the header of another asked for it.
    LostQueue { output: (NodeId, usize, usize), granted: (NodeId, u64), blocked: (NodeId, u64) },
    /// Switch allocation let this output channel send a flit of a packet while one of another packet
    /// could have been sent by the same port.
    LostChannel { output: (NodeId, usize, usize), granted: (NodeId, u64), blocked: (NodeId, u64) },
}

impl What {
    /// Whether a flit moves.
    pub fn is_move(&self) -> bool {
        matches!(self, Self::Crosses { .. } | Self::Ejected { .. })
    }
}

/// What became of one packet, in cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    pub source: NodeId,
    pub number: u64,
    pub destination: NodeId,
    pub length: u32,
    /// When it was available to its router.
    pub start: u64,
    /// When its header left the P queue.
    pub injected: u64,
    /// When its header was ejected.
    pub head: u64,
    /// When its tail was ejected.
    pub tail: u64,
    /// Links its header crossed.
    pub hops: u32,
}

/// Totals, as in the core's `Outcome`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub duration: u64,
    pub cycles: u64,
    pub packets_delivered: u64,
    pub flits_delivered: u64,
    pub flit_hops: u64,
    pub packets_injected: u64,
    pub latency_sum: u64,
    pub fingerprint: u64,
    pub lateness: u128,
}

/// How a simulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every flit was delivered.
    Delivered,
    /// In this cycle nothing moved, nothing was granted, nothing was in flight and nothing was to
    /// come, yet flits were left.
    Deadlock { cycle: u64 },
    /// Nothing is left in the network, but interlocked nodes still have packets.
    Interlocked { first: NodeId, count: usize },
}

/// Everything that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub end: End,
    pub totals: Totals,
    /// All events, sorted.
    pub events: Vec<Event>,
    /// The delivered packets, in the order of their tails' ejection, then by node.
    pub packets: Vec<PacketRecord>,
    /// Cycles in which headers left a P queue.
    pub injections: Vec<u64>,
    /// Queues with flits at the end; none unless it is a deadlock.
    pub stuck: Vec<Stuck>,
}

/// A queue that can never move again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    pub node: NodeId,
    /// Input port (the side of the router) and channel.
    pub queue: (usize, usize),
    /// Output port and channel its front flit needs.
    pub wants: (usize, usize),
    /// The input queue that owns that output.
    pub owner: Option<(usize, usize)>,
    /// Flits in it.
    pub flits: u64,
}

impl Run {
    /// The totals at the start of a cycle.
    pub fn totals_before(&self, cycle: u64) -> Totals {
        let mut totals = Totals::default();
        for event in self.events.iter().filter(|event| event.cycle < cycle) {
            match event.what {
                What::Crosses { .. } => totals.flit_hops += 1,
                What::Blocked { .. } | What::LostQueue { .. } | What::LostChannel { .. } => {}
                What::Ejected { .. } => {
                    totals.flits_delivered += 1;
                    totals.duration = event.cycle + 2;
                }
            }
        }
        for packet in self.packets.iter().filter(|packet| packet.tail < cycle) {
            totals.packets_delivered += 1;
            totals.latency_sum += packet.tail - packet.start;
            totals.lateness += u128::from(packet.tail).pow(4);
            let share = flitloom_core::engine::fingerprint(packet.tail, packet.destination);
            totals.fingerprint = totals.fingerprint.wrapping_add(share);
        }
        totals.packets_injected = self.injections.iter().filter(|&&injected| injected < cycle).count() as u64;
        totals.cycles = cycle;
        totals
    }

    /// Largest occupation time over all links: cycles from the first to the last flit, both
    /// included.
    pub fn effective_thickness(&self) -> u64 {
        let mut windows = std::collections::BTreeMap::new();
        for event in &self.events {
            if let What::Crosses { link, .. } = event.what {
                windows.entry(link).or_insert((event.cycle, event.cycle)).1 = event.cycle;
            }
        }
        windows.values().map(|(first, last)| last - first + 1).max().unwrap_or(0)
    }
}
