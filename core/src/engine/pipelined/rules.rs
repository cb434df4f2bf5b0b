//! The rules of all routers of a run.

use super::{
    allocators::AllocatorKind,
    buffers::Policy,
    flit::{Kind, Packet, Ways},
    networks::Network,
    numbers::Numbers,
    priority::Priority,
    routing::{Place, Routing},
    shape::Shape,
    wiring::{End, Wiring},
};

/// Added to what goes behind everything else.
pub(super) const SWITCH_LAST: i64 = i32::MIN as i64;

/// The rules of all routers.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub shape: Shape,
    pub wiring: Wiring,
    /// What is no grid.
    pub network: Option<Network>,
    pub channels: usize,
    pub classes: usize,
    pub routing: Routing,
    /// First and last channel by kind of message.
    pub ranges: [(u32, u32); 5],
    pub policy: Policy,
    pub waits_for_tail: bool,
    pub busy_when_full: bool,
    pub prefers_empty: bool,
    pub donates: bool,
    pub shuffles: bool,
    pub holds_switch: bool,
    pub is_speculative: bool,
    pub is_piggyback: bool,
    pub checks_eligibility: bool,
    pub checks_credits: bool,
    pub masks_by_requests: bool,
    pub channel_allocator: AllocatorKind,
    pub switch_allocator: AllocatorKind,
    /// `None`: the switch allocator, with a low priority.
    pub speculative_allocator: Option<AllocatorKind>,
    pub priority: Priority,
    pub input_speedup: usize,
    pub output_speedup: usize,
    pub internal_speedup: f64,
    pub routing_delay: u32,
    pub crossbar_delay: u32,
    pub credit_delay: u32,
    /// Whether a packet may only use the part of the channels that stands for its port out of the next router.
    pub cuts_by_next_port: bool,
    pub output_places: Option<usize>,
    /// Flits of the largest packet.
    pub largest: u32,
    /// Whether channels, and the switch, are allocated without listed requests.
    pub is_plain_channels: bool,
    pub is_plain_switch: bool,
}

impl Rules {
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
