//! What the routers of a run are like: typed options.

use super::{
    allocators::AllocatorKind,
    buffers::{Limit, Policy, Sharing},
    config_error::ConfigError,
    flit::Kind,
    priority::Priority,
};
use crate::fault::Fault;
use std::ops::{Range, RangeInclusive};

named! {
    /// How the channels of an input port share its places.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BufferPolicy {
        /// Every channel has its own.
        Private = "private",
        /// Beside a place of its own every channel takes what is free.
        Shared = "shared",
        /// The same, up to a number.
        Limited = "limited",
        /// The same, up to the places divided by the channels that have an owner.
        Dynamic = "dynamic",
        /// The same, up to the places halved until they cover the channels that have an owner.
        Shifting = "shifting",
    }
}

impl BufferPolicy {
    /// What limits a channel of a port with so many places; `None` if they are private.
    pub(crate) fn limit(self, places: u32) -> Option<Limit> {
        match self {
            Self::Private => None,
            Self::Shared => Some(Limit::None),
            Self::Limited => Some(Limit::Fixed(places)),
            Self::Dynamic => Some(Limit::Dynamic),
            Self::Shifting => Some(Limit::Shifting),
        }
    }
}

/// First and last channel by kind of message.
pub(crate) type Ranges = [(u32, u32); Kind::COUNT];

/// Every packet of a workload is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replies {
    /// Flits of a reply.
    pub length: u32,
    /// Requests that a node may hold whose reply has not left it. While it holds so many it takes no further one
    /// from the network. `None`: any number.
    pub places: Option<u32>,
}

/// Options of the routers of a run.
///
/// ```
/// use flitloom_core::engine::pipelined::{AllocatorKind, BufferPolicy, Config};
/// let mut config = Config::new(4, BufferPolicy::Private, 8);
/// config.switch_allocator = AllocatorKind::named("islip(2)")?;
/// config.routing_delay = 0;
/// # Ok::<(), flitloom_core::engine::pipelined::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Channels of a link.
    pub channels: usize,
    /// Classes of packets, and the channels that they may have.
    pub(crate) classes: usize,
    pub(crate) ranges: Ranges,
    /// The kinds of messages that there are.
    pub(crate) kinds: Range<usize>,
    pub(crate) policy: Policy,
    /// Whether an output channel is free only once the credit of the last tail is back.
    pub waits_for_tail: bool,
    /// Whether an output channel is taken while the queue behind it is full.
    pub busy_when_full: bool,
    /// Whether output channels with an empty queue behind them go first.
    pub prefers_empty: bool,
    /// Whether the flit at the front of a queue has the highest priority in it.
    pub donates: bool,
    /// Whether requests for channels are made in turns.
    pub shuffles: bool,
    /// Whether a connection through the switch is kept for a packet.
    pub holds_switch: bool,
    /// Whether the switch is asked for before a channel is given.
    pub is_speculative: bool,
    /// Whether channels are given to those who win the switch.
    pub is_piggyback: bool,
    /// Of speculative requests: whether they need a free channel, whether they need a credit, and whether all others
    /// mask them, not only those that won.
    pub checks_eligibility: bool,
    /// As above.
    pub checks_credits: bool,
    /// As above.
    pub masks_by_requests: bool,
    /// Who gets which channel.
    pub channel_allocator: AllocatorKind,
    /// Who crosses the switch.
    pub switch_allocator: AllocatorKind,
    /// Who of the speculative requests does; `None`: the switch allocator, with a low priority.
    pub speculative_allocator: Option<AllocatorKind>,
    /// Which flits go first.
    pub priority: Priority,
    /// Connections of an input port to the switch.
    pub input_speedup: usize,
    /// Connections of the switch to an output port.
    pub output_speedup: usize,
    /// How often routers step in a cycle.
    pub internal_speedup: f64,
    /// Cycles of route computation.
    pub routing_delay: u32,
    /// Cycles of the crossbar.
    pub crossbar_delay: u32,
    /// Cycles that a credit takes beyond those of the link.
    pub credit_delay: u32,
    /// Whether a packet may only use the part of the channels that stands for its port out of the next router.
    pub cuts_by_next_port: bool,
    /// Places behind the crossbar, if they are limited.
    pub output_places: Option<usize>,
    /// Cycles from one router to the next on tori, meshes and graphs; networks of BookSim2 have latencies of their own.
    pub latency: u32,
    /// Whether every packet is answered there.
    pub replies: Option<Replies>,
}

impl Default for Config {
    /// Routers of 16 channels of 8 places.
    fn default() -> Self {
        Self::new(16, BufferPolicy::Private, 8)
    }
}

impl Config {
    /// Most channels of a link.
    pub const CHANNELS: RangeInclusive<usize> = 1..=64;
    /// In place of an allocator for speculative requests: that of the switch, with a low priority.
    pub const BY_PRIORITY: &str = "prio";
    /// Delays, in cycles.
    pub const DELAYS: RangeInclusive<usize> = 0..=1000;
    /// Connections of a port to the switch.
    pub const SPEEDUPS: RangeInclusive<usize> = 1..=64;

    /// Routers with so many channels per link, whose queues have so many places each, or as many together; allocated
    /// by iSLIP, with a cycle for every stage.
    #[must_use]
    pub fn new(channels: usize, policy: BufferPolicy, places: u32) -> Self {
        let together = places.saturating_mul(channels as u32);
        let policy = match policy.limit(together) {
            None => Policy::Private(places),
            Some(limit) => Policy::Shared(Sharing::with_a_place_each(channels, together, limit)),
        };
        Self {
            channels,
            classes: 1,
            ranges: [(0, channels.max(1) as u32 - 1); Kind::COUNT],
            kinds: 4..5,
            policy,
            waits_for_tail: false,
            busy_when_full: false,
            prefers_empty: false,
            donates: false,
            shuffles: false,
            holds_switch: false,
            is_speculative: false,
            is_piggyback: false,
            checks_eligibility: true,
            checks_credits: true,
            masks_by_requests: false,
            channel_allocator: AllocatorKind::Islip(1),
            switch_allocator: AllocatorKind::Islip(1),
            speculative_allocator: None,
            priority: Priority::None,
            input_speedup: 1,
            output_speedup: 1,
            internal_speedup: 1.0,
            routing_delay: 1,
            crossbar_delay: 1,
            credit_delay: 0,
            cuts_by_next_port: false,
            output_places: None,
            latency: 1,
            replies: None,
        }
    }

    /// Gives channels to packets by the allocator of a name, or by `piggyback` to those who win the switch.
    ///
    /// # Errors
    /// There is no such allocator.
    pub fn allocate_channels_by(&mut self, name: &str) -> Result<(), ConfigError> {
        self.is_piggyback = name == "piggyback";
        let allocator =
            if self.is_piggyback { Ok(AllocatorKind::Islip(1)) } else { AllocatorKind::named(name) };
        self.channel_allocator = allocator.map_err(|error| error.or_at("vc_allocator"))?;
        Ok(())
    }

    /// Packets are answered with replies; requests and replies have half of the channels each, or all of them.
    ///
    /// # Errors
    /// There are no halves.
    pub fn answer(&mut self, replies: Replies, halves: bool) -> Result<(), ConfigError> {
        (self.replies, self.classes, self.kinds) = (Some(replies), 2, 0..4);
        if !halves {
            return Ok(());
        }
        let (half, last) = (self.channels as u32 / 2, self.channels.max(1) as u32 - 1);
        if half == 0 {
            let problem = format!("is {}, and requests and replies have half of them each", self.channels);
            return Err(Fault::at("channels", problem, "give at least 2").into());
        }
        for (kind, range) in self.ranges[..4].iter_mut().enumerate() {
            *range = if kind % 2 == 0 { (0, half - 1) } else { (half, last) };
        }
        Ok(())
    }
}
