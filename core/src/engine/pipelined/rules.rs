//! The rules of all routers of a run.

use super::{
    allocators::AllocatorKind,
    config::Config,
    config_error::ConfigError,
    flit::{Kind, Packet, Ways},
    network::{Network, Place},
    numbers::Numbers,
    priority::Priority,
    wiring::Wiring,
};
use crate::{fabric::Graph, fault::Fault};
use std::{
    ops::{Deref, RangeInclusive},
    sync::Arc,
};

/// Added to what goes behind everything else.
pub(super) const SWITCH_LAST: i64 = i32::MIN as i64;

/// The rules of all routers: their options, and the network that they are of.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) config: Config,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) wiring: Wiring,
    /// Flits of the largest packet.
    pub(crate) largest: u32,
    /// Whether the switch is allocated without listed requests.
    pub(crate) is_plain_switch: bool,
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
    pub(crate) fn new(
        config: Config,
        network: impl Network + 'static,
        wiring: Wiring,
    ) -> Result<Self, ConfigError> {
        check(&config)?;
        let least = network.least_channels();
        if config.ranges[config.kinds.clone()].iter().any(|(a, b)| b - a + 1 < least) {
            let advice = format!("this routing function needs at least {least} for a packet");
            return fault("channels", "there are too few", advice);
        }
        network.check(&config)?;
        check_next_port(&config, &network, &wiring)?;
        let has_no_priorities = config.priority == Priority::None;
        let is_plain_switch = has_no_priorities
            && config.switch_allocator.is_plain(u32::MAX)
            && !config.is_speculative
            && wiring.most_ports() * config.input_speedup.max(config.output_speedup) <= 64;
        let largest = 1;
        let network = Arc::new(network);
        Ok(Self { config, network, wiring, largest, is_plain_switch })
    }

    /// How many nodes send and receive.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.wiring.nodes()
    }

    /// The two routers of every cable; `None` if some links lead one way.
    ///
    /// ```
    /// use flitloom_core::booksim::Options;
    /// let mut options = Options::default();
    /// for (name, value) in [("topology", "fattree"), ("k", "2"), ("n", "2"), ("routing_function", "nca")] {
    ///     assert!(options.set(name, value));
    /// }
    /// let rules = options.rules()?;
    /// assert_eq!((rules.nodes(), rules.routers(), rules.cables().map_or(0, |cables| cables.len())), (4, 4, 4));
    /// # Ok::<(), flitloom_core::booksim::OptionError>(())
    /// ```
    #[must_use]
    pub fn cables(&self) -> Option<Vec<(u32, u32)>> {
        self.wiring.cables()
    }

    /// By node the router that it enters at.
    #[must_use]
    pub fn routers_of_nodes(&self) -> Vec<u32> {
        self.wiring.entries.iter().map(|&(router, _)| router).collect()
    }

    /// How many routers there are.
    #[must_use]
    pub fn routers(&self) -> usize {
        self.wiring.routers()
    }

    /// Router and output port of every channel of a graph whose switches are the routers.
    #[must_use]
    pub fn outputs_of(&self, graph: &Graph) -> Vec<Option<(u32, usize)>> {
        self.wiring.outputs_of(graph)
    }

    /// The channels of a kind of message.
    pub(crate) fn range(&self, kind: Kind) -> (u32, u32) {
        self.ranges[kind as usize]
    }

    /// The shortest round trip of a flit and its credit from a router over a link.
    pub(super) fn least_round_trip(&self, router: u32, port: usize) -> u32 {
        let latency = self.network.latency_of(router, self.wiring.outputs(router)[port]);
        self.least_round_trip_of_source(latency) + self.crossbar_delay + self.credit_delay
    }

    /// The same from a source.
    pub(super) fn least_round_trip_of_source(&self, latency: u32) -> u32 {
        // Channel and switch are allocated one after the other, or at once; then the credit leaves the router.
        let allocation = if self.is_speculative { 1 } else { 2 };
        2 * latency + self.routing_delay + allocation + 1
    }

    /// The ways of a header at a router.
    pub(crate) fn ways(&self, place: &Place<'_>, packet: &mut Packet, numbers: &mut dyn Numbers) -> Ways {
        self.network.ways(&self.wiring, place, packet, numbers)
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

/// Refuses what packets with the channels of their next output port do not know.
fn check_next_port(config: &Config, network: &dyn Network, wiring: &Wiring) -> Result<(), ConfigError> {
    if !config.cuts_by_next_port {
        return Ok(());
    }
    if config.routing_delay != 0 {
        return fault("noq", "needs routes that are known a router ahead", "give routing_delay = 0");
    }
    let (ports, all) = (wiring.most_ports(), config.ranges[config.kinds.clone()].iter());
    let Some(least) = all.map(|(a, b)| network.narrowest_way(b - a + 1)).min() else { return Ok(()) };
    if (least as usize) < ports {
        let problem = format!("there are too few: the routing function gives a packet {least} for some ways");
        return fault("channels", problem, format!("noq needs a channel per port of a router, {ports}"));
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
