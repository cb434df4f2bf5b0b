//! What sets of channels are made of: sizes, and what their rules ask for.

use super::super::{allocators::AllocatorKind, buffers::Policy, priority::Priority, rules::Rules};

/// Most places of a queue for which there is room from the beginning.
pub(super) const MOST_PLACES: u32 = 128;
/// Most flits that queue behind the crossbar.
const MOST_BEHIND: u32 = 512;

/// Sizes and rules of all routers, which never change.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Layout {
    /// The channels of a port, and the flits of a queue, stand this far apart, as powers of two.
    pub channel_bits: u32,
    pub place_bits: u32,
    pub channels: u32,
    pub places: u32,
    /// Input and output ports of a router are this far apart among all requests, as a power of two.
    pub output_bits: u32,
    /// Whether requests of the switch fit in words, one for the inputs of every output sub-port.
    pub is_small: bool,
    pub input_speedup: u32,
    pub output_speedup: u32,
    pub input_first: bool,
    pub iterations: u32,
    /// Whether the order of lists decides on drawn numbers or on the order of flits behind the crossbar; whether ways
    /// draw numbers, and whether they depend on the load.
    pub keeps_order: bool,
    pub draws: bool,
    pub goes_by_load: bool,
    pub has_priorities: bool,
    /// Whether an input channel has the priority of its packet.
    pub is_by_packet: bool,
    /// Whether queues have places of their own, and neither priorities nor loads are kept.
    pub is_lean: bool,
    /// Whether flits and credits may queue behind the crossbar.
    pub queues_up: bool,
    /// Whether every router does a whole step before the next one; and whether flits then are in the crossbar and queue
    /// behind it, so that it is seen when each of them leaves.
    pub in_turn: bool,
    pub is_staged: bool,
    /// Whether input channels may have two ways, and whether their requests are numbered by channel first.
    pub has_escapes: bool,
    pub shuffles: bool,
}

/// Whether an allocator works on words, which know no priorities.
pub(super) fn is_word(rules: &Rules, kind: AllocatorKind, most: u32, others: bool) -> bool {
    match kind {
        AllocatorKind::Islip(times) => times <= most,
        kind => kind.is_plain(1) && rules.priority == Priority::None && !others,
    }
}

/// Places behind an output port.
pub(super) fn places_behind(rules: &Rules) -> u32 {
    match &rules.policy {
        Policy::Private(places) => places * rules.channels as u32,
        Policy::Shared(sharing) => sharing.places,
    }
}

impl Layout {
    /// Whether all routers can do the parts of a step together.
    fn is_together(rules: &Rules, goes_by_load: bool, draws: bool) -> bool {
        let most = rules.wiring.most_ports() * rules.input_speedup;
        let most_outer = rules.wiring.most_ports() * rules.output_speedup;
        let queues_up = rules.output_speedup > 1 || rules.internal_speedup > 1.0;
        // These draw, or count how often they are asked.
        let is_odd = |kind| matches!(kind, AllocatorKind::Pim(_) | AllocatorKind::MaxSize);
        !rules.network.has_escapes()
            && !is_odd(rules.channel_allocator)
            && !is_odd(rules.switch_allocator)
            && most <= 64
            && most_outer <= 64
            && (!rules.is_speculative
                || most <= 8
                    && !draws
                    && rules.output_speedup == 1
                    && rules.speculative_allocator.is_none())
            // Round trips fill a channel as time goes by.
            && !rules.policy.goes_by_round_trips()
            && !rules.policy.can_run_out(rules.channels)
            // Two flits of a step may take the last shared place, and each sees the queue behind the crossbar.
            && (rules.output_speedup == 1
                || matches!(rules.policy, Policy::Private(_)) && rules.output_places.is_none())
            && rules.crossbar_delay == 1
            && !rules.holds_switch
            && !rules.is_piggyback
            && !rules.cuts_by_next_port
            && rules.output_places != Some(0)
            // Ways that are computed ahead see the load of routers that have not taken their credits yet.
            && !(goes_by_load && rules.routing_delay == 0)
            && !(queues_up && places_behind(rules) > MOST_BEHIND)
    }

    /// That of routers with these rules, which tell when every flit leaves by a link, if that is wanted.
    pub(super) fn new(rules: &Rules, single_flits: bool) -> Self {
        let (goes_by_load, draws) = (rules.network.goes_by_load(), rules.network.draws());
        let places = rules.policy.places();
        let in_turn = single_flits || places > MOST_PLACES || !Self::is_together(rules, goes_by_load, draws);
        let queues_up = rules.output_speedup > 1 || rules.internal_speedup > 1.0;
        let is_slow = rules.crossbar_delay > 1 || rules.output_places == Some(0);
        let has_priorities = rules.priority != Priority::None;
        let most = rules.wiring.most_ports();
        let is_listed = !is_word(rules, rules.switch_allocator, u32::MAX, rules.is_speculative);
        Self {
            channel_bits: rules.channels.next_power_of_two().trailing_zeros(),
            place_bits: places.min(MOST_PLACES).next_power_of_two().trailing_zeros(),
            channels: rules.channels as u32,
            places,
            output_bits: most.next_power_of_two().trailing_zeros(),
            is_small: !in_turn
                && most <= 8
                && most.div_ceil(rules.output_speedup) * rules.input_speedup <= 8
                && (rules.output_speedup == 1 || !is_listed),
            input_speedup: rules.input_speedup as u32,
            output_speedup: rules.output_speedup as u32,
            input_first: matches!(rules.switch_allocator, AllocatorKind::Separable { input_first: true, .. }),
            iterations: match rules.switch_allocator {
                AllocatorKind::Islip(times) => times,
                _ => 1,
            },
            keeps_order: in_turn || draws || rules.output_speedup > 1,
            draws,
            goes_by_load,
            has_priorities,
            is_by_packet: has_priorities
                && !rules.donates
                && matches!(rules.priority, Priority::Class | Priority::Age | Priority::Sequence),
            is_lean: !in_turn
                && matches!(rules.policy, Policy::Private(_))
                && !has_priorities
                && !goes_by_load,
            queues_up: queues_up && !in_turn,
            in_turn,
            is_staged: in_turn && (single_flits || queues_up || is_slow),
            has_escapes: rules.network.has_escapes(),
            shuffles: rules.shuffles,
        }
    }
}
