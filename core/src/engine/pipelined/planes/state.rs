//! What routers remember: planes, and records of packets.

use super::{
    super::{
        allocators::AllocatorKind, buffers::Policy, networks::Network, priority::Priority, routing::Routing,
        rules::Rules, shape::MOST_IN_LINE,
    },
    channel_list::{ChannelList, FirstOfWord},
    links::Leaving,
    matching::{PORTS, Turns},
};
use crate::bits::{Available, Vector, words_mut};

/// Most planes of a number of flits in a queue, and those that do for short queues.
pub(super) const COUNT: usize = 7;
pub(super) const SHORT: usize = 4;
/// Most planes of the flits left of a packet, and of a channel.
pub(super) const LEFT: usize = 8;
pub(super) const CHANNEL: usize = 4;
/// Most channels of a port.
pub(super) const CHANNELS: usize = 1 << CHANNEL;
/// Cycles from a crossing to the arrival at the next router or node.
pub(super) const FLIGHT: u32 = 3;
/// Slots for what is sent.
pub(super) const SLOTS: u32 = 4;
/// Where nodes send and receive.
pub(super) const NODE: usize = 4;
/// Nobody.
pub(super) const NOBODY: u8 = u8::MAX;

/// The planes of some input channels, by what they say: has an output channel that is not full; has flits; has no
/// packet; whether the turn of its sub-port is here or before; how many flits it has; how many of the packet at the front
/// are behind its next one; output, and channel there.
pub(super) type Lane<V> = [V; FIELDS];
pub(super) const READY: usize = 0;
pub(super) const OCCUPIED: usize = 1;
pub(super) const IDLE: usize = 2;
pub(super) const TURN: usize = 3;
pub(super) const OUTPUT: usize = 4;
pub(super) const DIGITS: usize = OUTPUT + PORTS;
pub(super) const FLITS: usize = DIGITS + CHANNEL;
pub(super) const BEHIND: usize = FLITS + COUNT;
pub(super) const FIELDS: usize = BEHIND + LEFT;

/// The planes of some output channels: the places left in the queues behind them, and whether the tail was sent.
pub(super) type Known<V> = [V; COUNT + 1];
pub(super) const TAIL_SENT: usize = COUNT;

/// The record of an input channel, or of a channel to a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// The packet at the front.
    pub front: u32,
    /// Packets that entered and left its queue.
    pub entered: u8,
    pub left: u8,
    /// The number of its output channel, and the turn among output channels.
    pub known: u8,
    pub accepts: u8,
}

/// The record of an output port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// A bit per input channel that waits for a channel of it.
    pub waiting: [u64; 2],
    /// A bit per channel: without owner; full.
    pub free: u16,
    pub full: u16,
    /// The first queue behind it.
    pub behind: u32,
}

/// The record of an output channel: its owner, and the turn among input channels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub owner: u8,
    pub grants: u8,
}

/// What headers say of a packet: destination, channels that it may have, and flits behind the first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub to: u16,
    pub range: u16,
    pub left: u16,
}

/// All routers of a subnet.
#[derive(Clone)]
pub(super) struct Planes<V: Vector> {
    pub proof: Available<V>,
    pub nodes: usize,
    pub channels: usize,
    /// The numbers of the channels of a port, a power of two, and of all ports.
    pub span_bits: u32,
    pub all: usize,
    pub places: u32,
    pub left_bits: usize,
    pub channel_bits: usize,
    pub waits_for_tail: bool,
    pub busy_when_full: bool,
    pub routes_later: bool,
    pub picks_first: bool,
    pub input_first: bool,
    pub iterations: u32,
    pub credit_delay: u32,
    pub ranges: [u16; 5],
    /// Planes of a plane. The planes of the channels of a port stand one behind the other, in so many vectors: several
    /// in a vector, or each in so many vectors.
    pub words: usize,
    pub vectors: usize,
    pub blocks: usize,
    /// By word of the planes of all ports its first router, and the input or output channel.
    pub first_of_words: Vec<FirstOfWord>,
    /// Where the first word of an input channel stands among those of the planes of all, and how far behind it another
    /// word of the same plane is.
    pub first_words: Vec<u32>,
    pub further: Vec<u32>,
    /// What turns vectors by planes: by half a vector, by a quarter of it and so on to one plane; and what moves them
    /// up by one plane, by two and so on.
    pub spread_steps: usize,
    pub spreads: [V::Order; 3],
    pub ups: [(V::Order, V); 3],
    /// By vector of a port the planes of the channels of each sub-port, and the digits of the channels.
    pub subs: Vec<V>,
    pub exists: Vec<V>,
    pub numbers: Vec<[V; CHANNEL]>,
    pub tick: u32,
    /// By port and vector.
    pub lanes: Vec<Lane<V>>,
    pub known: Vec<Known<V>>,
    /// By block, with a sub-port per input or two.
    pub single: Vec<Turns<V, PORTS>>,
    pub double: Vec<Turns<V, { 2 * PORTS }>>,
    /// By slot, output and vector the flits that left; by slot, input and vector the credits that left, and then
    /// those of nodes; by slot and vector the flits of nodes.
    pub sent: Vec<V>,
    pub credits: Vec<V>,
    pub entering: Vec<V>,
    pub credit_slots: u32,
    /// By input and vector what arrives, by output and vector the credits that do.
    pub arriving: Vec<V>,
    pub credited: Vec<V>,
    /// By vector of a port what asks.
    pub asking: Vec<V>,
    /// Nodes in a line along the first dimension.
    pub radix: usize,
    /// By node its coordinates.
    pub places_of: Vec<(u8, u8)>,
    /// By input channel, and then by node and channel.
    pub records: Vec<Record>,
    /// Packets behind the first of a queue: in a ring, by place and queue.
    pub rings: Vec<u32>,
    pub ring: u8,
    /// By place of a packet.
    pub heads: Vec<Head>,
    /// By output port, and by output channel.
    pub outputs: Vec<Output>,
    pub owned: Vec<Owned>,
    /// A bit per output port where somebody waits.
    pub pending: Vec<u64>,
    /// Input channels that are to be routed: router and number.
    pub begun: ChannelList,
    /// Tails that have crossed; output channels that became full, that are full no more, and that were left.
    pub tails: ChannelList,
    pub filled: ChannelList,
    pub emptied: ChannelList,
    pub vacated: ChannelList,
    /// What leaves by every output port, if it is counted.
    pub leaving: Option<Leaving<V>>,
}

fn bits_of(most: u32) -> usize {
    (u32::BITS - most.leading_zeros()) as usize
}

/// The nodes in a line along the first dimension of a mesh of at most two, with dimension order and links of one
/// cycle; `None` for other networks.
fn line(rules: &Rules) -> Option<usize> {
    match &rules.network {
        Some(Network::Grid(grid)) => grid.line_of_plain_mesh(&rules.wiring),
        Some(_) => None,
        None => {
            let shape = &rules.shape;
            let is_plain = !shape.wraps && shape.dimensions <= 2 && rules.routing == Routing::DimensionOrder;
            (is_plain && shape.radix as usize <= MOST_IN_LINE).then_some(shape.radix as usize)
        }
    }
}

/// Whether routers with these rules can be planes.
pub(super) fn covers(rules: &Rules) -> bool {
    let Policy::Private(places) = rules.policy else { return false };
    line(rules).is_some()
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
        let places = match &rules.policy {
            Policy::Private(places) => *places,
            Policy::Shared(sharing) => sharing.places,
        };
        let channels = rules.channels;
        let words = nodes.div_ceil(64).next_power_of_two();
        let words = if words < V::WORDS { words } else { nodes.div_ceil(V::BITS) * V::WORDS };
        let (together, blocks) = ((V::WORDS / words).max(1), words.div_ceil(V::WORDS));
        let groups = channels.div_ceil(together);
        let vectors = groups * blocks;
        let spread_steps = together.trailing_zeros() as usize;
        let plane_of = |word: usize| word / words;
        let vector = |holds: &dyn Fn(usize) -> bool| {
            let mut vector = V::zero();
            for (at, word) in words_mut(std::slice::from_mut(&mut vector)).iter_mut().enumerate() {
                *word = if holds(at) { u64::MAX } else { 0 };
            }
            vector
        };
        let turned = |by: usize| V::order(|word| (word + V::WORDS - by % V::WORDS) % V::WORDS);
        let channel_of = |group: usize, word: usize| group * together + plane_of(word);
        let span_bits = channels.next_power_of_two().trailing_zeros();
        let all = PORTS << span_bits;
        // Whoever builds planes has asked whether the rules are those of planes.
        let radix = line(rules).unwrap_or(nodes);
        let (ring, queues) = ((places as usize + 1).next_power_of_two(), nodes * (all + (1 << span_bits)));
        let credit_slots = (3 + rules.credit_delay).next_power_of_two();
        let zero = V::zero();
        let mut idle = [zero; FIELDS];
        idle[IDLE] = V::ones();
        let known: Known<V> =
            std::array::from_fn(|bit| if bit < COUNT && places >> bit & 1 == 1 { V::ones() } else { zero });
        let free = u16::MAX >> (16 - channels);
        let mut outputs = Vec::new();
        for node in 0..nodes {
            let steps = [(1, 1), (-1, 0), (radix as isize, 3), (-(radix as isize), 2)];
            let beside = steps.map(|(step, port): (isize, usize)| {
                let there = (node as isize + step).rem_euclid(nodes as isize) as usize;
                there * all + (port << span_bits)
            });
            for behind in beside.into_iter().chain([nodes * all + (node << span_bits)]) {
                outputs.push(Output { waiting: [0; 2], free, full: 0, behind: behind as u32 });
            }
        }
        let is_separable = |kind, input: bool| matches!(kind, AllocatorKind::Separable { input_first, .. } if input_first == input);
        Self {
            proof,
            nodes,
            channels,
            span_bits,
            all,
            places,
            left_bits: bits_of(rules.largest - 1),
            channel_bits: bits_of(channels as u32 - 1),
            waits_for_tail: rules.waits_for_tail,
            busy_when_full: rules.busy_when_full,
            routes_later: rules.routing_delay > 0,
            picks_first: is_separable(rules.channel_allocator, true),
            input_first: is_separable(rules.switch_allocator, true),
            iterations: match rules.switch_allocator {
                AllocatorKind::Islip(times) => times,
                _ => 1,
            },
            credit_delay: rules.credit_delay,
            ranges: rules.ranges.map(|(first, last)| u16::MAX >> (15 - (last - first)) << first),
            words,
            vectors,
            blocks,
            first_of_words: (0..PORTS * vectors * V::WORDS)
                .map(|word| {
                    let (port, word) = (word / (vectors * V::WORDS), word % (vectors * V::WORDS));
                    FirstOfWord::new(word % words * 64, (port << span_bits) + word / words)
                })
                .collect(),
            first_words: (0..all)
                .map(|number| {
                    let (port, channel) = (number >> span_bits, number % (1 << span_bits));
                    let word = channel * words;
                    ((port * vectors + word / V::WORDS) * FIELDS * V::WORDS + word % V::WORDS) as u32
                })
                .collect(),
            further: (0..words)
                .map(|word| (word / V::WORDS * FIELDS * V::WORDS + word % V::WORDS) as u32)
                .collect(),
            spread_steps,
            spreads: std::array::from_fn(|step| turned(V::WORDS >> (step + 1))),
            ups: std::array::from_fn(|step| (turned(words << step), vector(&|word| word >= words << step))),
            subs: (0..groups * rules.input_speedup)
                .map(|at| {
                    let (group, sub) = (at / rules.input_speedup, at % rules.input_speedup);
                    vector(&|word| channel_of(group, word) % rules.input_speedup == sub)
                })
                .collect(),
            exists: (0..groups).map(|group| vector(&|word| channel_of(group, word) < channels)).collect(),
            numbers: (0..groups)
                .map(|group| {
                    std::array::from_fn(|bit| vector(&|word| channel_of(group, word) >> bit & 1 == 1))
                })
                .collect(),
            tick: 0,
            lanes: vec![idle; PORTS * vectors],
            known: vec![known; PORTS * vectors],
            single: vec![Turns::new(); if rules.input_speedup == 1 { blocks } else { 0 }],
            double: vec![Turns::new(); if rules.input_speedup == 2 { blocks } else { 0 }],
            sent: vec![zero; SLOTS as usize * PORTS * vectors],
            credits: vec![zero; credit_slots as usize * (PORTS + 1) * vectors],
            entering: vec![zero; SLOTS as usize * vectors],
            credit_slots,
            arriving: vec![zero; PORTS * vectors],
            credited: vec![zero; PORTS * vectors],
            asking: vec![zero; groups],
            radix,
            places_of: (0..nodes).map(|node| ((node % radix) as u8, (node / radix) as u8)).collect(),
            records: vec![Record::default(); queues],
            rings: vec![0; queues * ring],
            ring: (ring - 1) as u8,
            heads: Vec::new(),
            outputs,
            owned: vec![Owned { owner: NOBODY, grants: 0 }; nodes * all],
            pending: vec![0; (nodes * PORTS).div_ceil(64)],
            begun: ChannelList::new(nodes * all),
            tails: ChannelList::new(nodes * all),
            filled: ChannelList::new(nodes * all),
            emptied: ChannelList::new(nodes * all),
            vacated: ChannelList::new(nodes * all),
            leaving: None,
        }
    }
}
