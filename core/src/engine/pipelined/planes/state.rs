//! What routers remember: planes, and records of packets.

use super::{
    super::{allocators::AllocatorKind, buffers::Policy, flit::Packet, priority::Priority, rules::Rules},
    channel_list::ChannelList,
    layout::Layout,
    leaving::Leaving,
    links::Links,
    matching::{PORTS, Turns},
    mesh::Mesh,
    queues::Queues,
    records::{CHANNELS, COUNT, FIELDS, Head, IDLE, Known, LEFT, Lane, NOBODY, Output, Owned},
};
use crate::bits::{Available, Vector};

/// What the rules of all routers say, as planes need it.
#[derive(Clone)]
pub(super) struct RouterOptions {
    pub places: u32,
    pub left_bits: usize,
    pub waits_for_tail: bool,
    pub busy_when_full: bool,
    pub routes_later: bool,
    pub picks_first: bool,
    pub input_first: bool,
    pub iterations: u32,
    /// The channels of every kind of message.
    pub ranges: [u16; 5],
}

impl RouterOptions {
    fn new(rules: &Rules) -> Self {
        let is_separable = |kind, input: bool| matches!(kind, AllocatorKind::Separable { input_first, .. } if input_first == input);
        Self {
            places: rules.policy.places(),
            left_bits: (rules.largest - 1).checked_ilog2().map_or(0, |bits| bits as usize + 1),
            waits_for_tail: rules.waits_for_tail,
            busy_when_full: rules.busy_when_full,
            routes_later: rules.routing_delay > 0,
            picks_first: is_separable(rules.channel_allocator, true),
            input_first: is_separable(rules.switch_allocator, true),
            iterations: match rules.switch_allocator {
                AllocatorKind::Islip(times) => times,
                _ => 1,
            },
            ranges: rules.ranges.map(|(first, last)| u16::MAX >> (15 - (last - first)) << first),
        }
    }

    /// What headers say of a packet.
    pub(super) fn head(&self, packet: &Packet) -> Head {
        Head {
            to: packet.destination as u16,
            range: self.ranges[packet.kind as usize],
            left: packet.size.saturating_sub(1) as u16,
        }
    }
}

/// What is known of the channels of all outputs.
#[derive(Clone)]
pub(super) struct Outputs {
    /// By output port, and by output channel.
    pub ports: Vec<Output>,
    pub owned: Vec<Owned>,
    /// A bit per output port where somebody waits.
    pub pending: Vec<u64>,
}

impl Outputs {
    /// Outputs whose channels are free.
    fn new<V: Vector>(layout: &Layout<V>, mesh: &Mesh) -> Self {
        let free = u16::MAX >> (16 - layout.channels);
        let queues = (0..layout.nodes).flat_map(|node| {
            let beside =
                mesh.beside(node).map(|(there, port)| there * layout.all + (port << layout.span_bits));
            beside.into_iter().chain([layout.queue_of_node(node, 0)])
        });
        let port = |behind: usize| Output { waiting: [0; 2], free, full: 0, behind: behind as u32 };
        Self {
            ports: queues.map(port).collect(),
            owned: vec![Owned { owner: NOBODY, grants: 0 }; layout.nodes * layout.all],
            pending: vec![0; (layout.nodes * PORTS).div_ceil(64)],
        }
    }

    /// An input channel waits for a channel of an output.
    #[inline(always)]
    pub(super) fn wait(&mut self, at: usize, number: usize) {
        self.ports[at].waiting[number / 64] |= 1 << (number % 64);
        self.pending[at / 64] |= 1 << (at % 64);
    }
}

/// Channels where something has happened in this cycle that records are to know.
#[derive(Clone)]
pub(super) struct Changes {
    /// Input channels that are to be routed: router and number.
    pub begun: ChannelList,
    /// Tails that have crossed; output channels that became full, that are full no more, and that were left.
    pub tails: ChannelList,
    pub filled: ChannelList,
    pub emptied: ChannelList,
    pub vacated: ChannelList,
}

impl Changes {
    fn new(channels: usize) -> Self {
        let list = || ChannelList::new(channels);
        Self { begun: list(), tails: list(), filled: list(), emptied: list(), vacated: list() }
    }
}

/// All routers of a subnet.
#[derive(Clone)]
pub(super) struct Planes<V: Vector> {
    pub proof: Available<V>,
    pub layout: Layout<V>,
    pub options: RouterOptions,
    pub mesh: Mesh,
    /// By port and vector.
    pub lanes: Vec<Lane<V>>,
    pub known: Vec<Known<V>>,
    /// By block, with a sub-port per input or two.
    pub single: Vec<Turns<V, PORTS>>,
    pub double: Vec<Turns<V, { 2 * PORTS }>>,
    pub links: Links<V>,
    /// By vector of a port what asks.
    pub asking: Vec<V>,
    pub queues: Queues,
    pub outputs: Outputs,
    pub changes: Changes,
    /// What leaves by every output port, if it is counted.
    pub leaving: Option<Leaving<V>>,
}

/// Whether routers with these rules can be planes.
pub(super) fn covers(rules: &Rules) -> bool {
    let Policy::Private(places) = rules.policy else { return false };
    rules.network.line_of_plain_mesh(&rules.wiring).is_some()
        && places < 1 << COUNT
        && rules.channels <= CHANNELS
        && rules.largest <= 1 << LEFT
        && rules.priority == Priority::None
        && matches!(rules.channel_allocator, AllocatorKind::Islip(1) | AllocatorKind::Separable { .. })
        && rules.channel_allocator.is_plain(1)
        && rules.switch_allocator.is_plain(u32::MAX)
        && !rules.is_speculative
        && !rules.shuffles
        && !rules.prefers_empty
        && !rules.holds_switch
        && !rules.is_piggyback
        && !rules.cuts_by_next_port
        && rules.output_places != Some(0)
        && rules.input_speedup <= 2
        && rules.channels.is_multiple_of(rules.input_speedup)
        && rules.output_speedup == 1
        && rules.internal_speedup == 1.0
        && rules.crossbar_delay == 1
        && rules.routing_delay <= 1
}

impl<V: Vector> Planes<V> {
    /// Routers without flits.
    pub(super) fn new(rules: &Rules, proof: Available<V>) -> Self {
        let nodes = rules.wiring.nodes();
        let (options, layout) =
            (RouterOptions::new(rules), Layout::new(nodes, rules.channels, rules.input_speedup));
        // Whoever builds planes has asked whether the rules are those of planes.
        let line = rules.network.line_of_plain_mesh(&rules.wiring);
        let mesh = Mesh::new(nodes, line.unwrap_or(nodes));
        let (zero, lanes) = (V::zero(), PORTS * layout.vectors);
        let mut idle = [zero; FIELDS];
        idle[IDLE] = V::ones();
        let known: Known<V> =
            std::array::from_fn(
                |bit| if bit < COUNT && options.places >> bit & 1 == 1 { V::ones() } else { zero },
            );
        let turns = |sub_ports: usize| if rules.input_speedup == sub_ports { layout.blocks } else { 0 };
        Self {
            proof,
            lanes: vec![idle; lanes],
            known: vec![known; lanes],
            single: vec![Turns::new(); turns(1)],
            double: vec![Turns::new(); turns(2)],
            links: Links::new(layout.vectors, rules.credit_delay),
            asking: vec![zero; layout.exists.len()],
            queues: Queues::new(layout.queue_of_node(nodes, 0), options.places),
            outputs: Outputs::new(&layout, &mesh),
            changes: Changes::new(nodes * layout.all),
            leaving: None,
            options,
            layout,
            mesh,
        }
    }
}
