//! The rules of all routers of a run.

use super::{
    allocators::AllocatorKind,
    config::Config,
    config_error::ConfigError,
    flit::{Kind, Packet, Ways},
    networks::Network,
    numbers::Numbers,
    priority::Priority,
    routing::{Place, Routing},
    shape::Shape,
    wiring::{End, Wiring},
};
use crate::fault::Fault;
use std::ops::{Deref, RangeInclusive};

/// Added to what goes behind everything else.
pub(super) const SWITCH_LAST: i64 = i32::MIN as i64;

/// Routers, links and which way packets go.
pub(super) struct Ground {
    pub shape: Shape,
    pub routing: Routing,
    /// What is no grid of BookSim2.
    pub network: Option<Network>,
    pub wiring: Wiring,
}

impl Ground {
    /// That of a network that has a routing function of its own.
    pub(super) fn of(network: Network, wiring: Wiring) -> Self {
        Self { shape: Shape::new(1, 1, false), routing: Routing::OfNetwork, network: Some(network), wiring }
    }
}

/// The rules of all routers: their options, and the network that they are of.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub config: Config,
    pub shape: Shape,
    pub wiring: Wiring,
    /// What is no grid.
    pub network: Option<Network>,
    pub routing: Routing,
    /// Flits of the largest packet.
    pub largest: u32,
    /// Whether channels, and the switch, are allocated without listed requests.
    pub is_plain_channels: bool,
    pub is_plain_switch: bool,
}

impl Deref for Rules {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl Rules {
    /// The rules of all routers on a network.
    ///
    /// # Errors
    /// A field has a value that is not known, or not together with others.
    pub(super) fn new(config: Config, ground: Ground) -> Result<Self, ConfigError> {
        check(&config)?;
        check_channels(&config, &ground)?;
        let Ground { shape, routing, network, wiring } = ground;
        if network.is_none() && config.output_speedup > shape.ports() {
            return fault("output_speedup", "is more than the ports of a router", "give less");
        }
        check_next_port(&config, &wiring)?;
        let has_no_priorities = config.priority == Priority::None;
        let is_plain_channels = has_no_priorities
            && config.channel_allocator.is_plain(1)
            && config.channels <= 64
            && routing != Routing::MinimalAdaptive
            && !config.shuffles
            && !config.prefers_empty;
        let is_plain_switch = has_no_priorities
            && config.switch_allocator.is_plain(u32::MAX)
            && !config.is_speculative
            && wiring.most_ports() * config.input_speedup.max(config.output_speedup) <= 64;
        let largest = 1;
        Ok(Self { config, shape, wiring, network, routing, largest, is_plain_channels, is_plain_switch })
    }

    /// The channels of a kind of message.
    pub(super) fn range(&self, kind: Kind) -> (u32, u32) {
        self.ranges[kind as usize]
    }

    /// The shortest round trip of a flit and its credit from a router over a link, as BookSim2 counts it: it asks
    /// for the latency of a link before it gives one to those of a dragonfly, and to links of a torus that lead to
    /// routers made later.
    pub(super) fn least_round_trip(&self, router: u32, port: usize) -> u32 {
        let link = self.wiring.outputs(router)[port];
        let is_late = match &self.network {
            None => matches!(link.end, End::Router(there, _) if there > router),
            Some(network) => matches!(network, Network::Dragonfly(_)),
        };
        let latency = if is_late { 1 } else { link.latency };
        self.least_round_trip_of_source(latency) + self.crossbar_delay + self.credit_delay
    }

    /// The same from a source.
    pub(super) fn least_round_trip_of_source(&self, latency: u32) -> u32 {
        // Channel and switch are allocated one after the other, or at once; then the credit leaves the router.
        let allocation = if self.is_speculative { 1 } else { 2 };
        2 * latency + self.routing_delay + allocation + 1
    }

    /// The ways of a header at a router.
    pub(super) fn ways(&self, place: &Place<'_>, packet: &mut Packet, numbers: &mut Numbers) -> Ways {
        match &self.network {
            Some(network) => network.ways(&self.wiring, place, packet, numbers),
            None => self.routing.ways(&self.shape, place, packet, numbers),
        }
    }
}

/// Refuses values out of range, and those that do not go together.
fn check(config: &Config) -> Result<(), ConfigError> {
    within("channels", config.channels, Config::CHANNELS)?;
    for (name, delay) in [("routing_delay", config.routing_delay), ("credit_delay", config.credit_delay)] {
        within(name, delay as usize, Config::DELAYS)?;
    }
    within("crossbar_delay", config.crossbar_delay as usize, 1..=2 * Config::DELAYS.end())?;
    within("input_speedup", config.input_speedup, Config::SPEEDUPS)?;
    within("output_speedup", config.output_speedup, Config::SPEEDUPS)?;
    if config.policy.places() == 0 {
        return fault("buffer", "has no place", "give at least 1");
    }
    if config.internal_speedup < 1.0 {
        let problem = "is below 1, which loses flits that arrive while nothing steps";
        return fault("internal_speedup", problem, "give at least 1");
    }
    if config.internal_speedup > 64.0 {
        return fault("internal_speedup", "is more than 64", "give at most 64");
    }
    if config.output_places.is_some() && config.internal_speedup > 1.0 {
        return fault("output_buffer", "is limited with internal_speedup > 1", "give -1");
    }
    if config.is_piggyback && !config.is_speculative {
        return fault("vc_allocator", "is piggyback without speculative requests", "give speculative = 1");
    }
    if config.is_piggyback && config.output_speedup > 1 {
        let problem = "is piggyback with output_speedup > 1, where two take the last channel";
        return fault("vc_allocator", problem, "give output_speedup 1");
    }
    let is_max_size = config.switch_allocator == AllocatorKind::MaxSize
        || config.speculative_allocator == Some(AllocatorKind::MaxSize);
    if config.output_speedup > config.input_speedup && is_max_size {
        return fault(
            "output_speedup",
            "makes more outputs than inputs, which max_size does not know for the switch",
            "give another allocator, or input_speedup as large",
        );
    }
    Ok(())
}

/// Refuses channels that routes or kinds of messages do not find enough of.
fn check_channels(config: &Config, ground: &Ground) -> Result<(), ConfigError> {
    let Ground { shape, routing, network, .. } = ground;
    let used = &config.ranges[config.kinds.clone()];
    let has_reads = config.kinds.start == 0;
    if has_reads && *routing == Routing::MinimalAdaptive && config.ranges.iter().any(|&(a, _)| a > 0) {
        let problem = "is min_adapt with channels of messages that do not begin at 0, which its escape \
                       channels leave";
        return fault("routing", problem, "let all kinds begin at channel 0");
    }
    let too_few = |problem: &str, advice: String| fault("channels", problem, advice);
    let parts = network.as_ref().map_or_else(|| routing.parts(shape), Network::least_channels);
    if used.iter().any(|(a, b)| b - a + 1 < parts) {
        let advice = format!("this routing function needs at least {parts} for a packet");
        return too_few("there are too few", advice);
    }
    let halves = match routing {
        Routing::DimensionOrder | Routing::DimensionOrderBalanced => shape.wraps,
        Routing::PlanarAdaptive | Routing::OfNetwork | Routing::PerNode | Routing::PerCoordinate => false,
        Routing::MinimalAdaptive if shape.wraps => {
            if used.iter().any(|(a, b)| b - a < 3) {
                return too_few("there are too few", "min_adapt on a torus needs at least 4".to_owned());
            }
            false
        }
        _ => true,
    };
    if halves && used.iter().any(|(a, b)| a == b) {
        let problem = "there are too few: this routing function divides those of a packet";
        return too_few(problem, "it needs at least 2".to_owned());
    }
    Ok(())
}

/// Refuses what packets with the channels of their next output port do not know.
fn check_next_port(config: &Config, wiring: &Wiring) -> Result<(), ConfigError> {
    if !config.cuts_by_next_port {
        return Ok(());
    }
    if config.routing_delay != 0 {
        return fault("noq", "needs routes that are known a router ahead", "give routing_delay = 0");
    }
    let ports = wiring.most_ports();
    if config.ranges[config.kinds.clone()].iter().any(|(a, b)| ((b - a + 1) as usize) < ports) {
        return fault(
            "channels",
            "there are too few",
            format!("noq needs a channel per port of a router, {ports}"),
        );
    }
    Ok(())
}

/// A field is refused.
fn fault<T>(
    field: &'static str,
    problem: impl Into<String>,
    advice: impl Into<String>,
) -> Result<T, ConfigError> {
    Err(Fault::at(field, problem, advice).into())
}

/// Refuses a number out of a range.
fn within(field: &'static str, value: usize, range: RangeInclusive<usize>) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    fault(field, format!("is {value}, not within {} to {}", range.start(), range.end()), "give one of these")
}
