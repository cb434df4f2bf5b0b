use crate::{
    engine::Network,
    fabric::{Direction, NodeId, Shape, Sign},
    router::{Arbitration, ChannelScheme, FlowControl, default_port_list},
    routing::{ChannelRule, dimension_order},
    traffic::Routes,
};

/// No queue, no output, no link.
pub(super) const NONE: u32 = u32::MAX;

/// Everything about a network that does not change while it runs.
///
/// Indices: a queue is `node * queues + port * channels + channel` (port = the side it faces), the
/// processor queue the last of its node; an output port is `node * ports + port`; an output channel
/// is `output port << channel_shift | channel`.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub nodes: usize,
    pub dimensions: usize,
    pub ports: usize,
    pub channels: usize,
    /// 2 or 3.
    pub channel_shift: u32,
    pub queues: usize,
    pub buffer: u16,
    /// Binary logarithm of the places per queue in [`Channels::rings`](super::channels::Channels).
    pub ring_shift: u32,
    pub latency: usize,
    /// Cut-through, with or without bubbles.
    pub cut_through: bool,
    pub bubble: bool,
    /// Per dimension: whether its links form rings.
    rings: Vec<bool>,
    /// Per `node * directions + direction`: first queue of the port the link leads to.
    pub downstream: Vec<u32>,
    /// Per `node * directions + port`: output port that feeds the input port.
    pub upstream: Vec<u32>,
    rule: ChannelRule,
    /// Per `node * directions + direction`: whether packets go one channel up on the link.
    rises: Vec<bool>,
    /// Per queue: node, port it faces and channel, packed.
    places: Vec<u32>,
    /// Per `node * dimensions + dimension`.
    coordinates: Vec<u32>,
    /// Per dimension: the port from one coordinate towards another.
    turns: Vec<Turns>,
    /// Input ports in evaluation order: one list for all output channels, or one for each.
    port_lists: Vec<u8>,
    /// Per list: the place of every input port in it.
    places_in_list: Vec<u8>,
    one_list: bool,
    /// Per scheme and channel used last a row, per mask of channels that can send an entry: the
    /// channel chosen, and above [`CHOICE_BITS`] the row that follows.
    pub choices: Vec<u16>,
    /// Per output port: its first row in `choices` (no channel used yet).
    pub first_rows: Vec<u16>,
}

impl Layout {
    pub fn new(network: &Network) -> Self {
        let (shape, router) = (network.fabric().shape(), network.router());
        let (nodes, directions) = (shape.nodes(), shape.directions());
        let (ports, channels) = (directions + 1, router.channels as usize);
        let queues = directions * channels + 1;
        let mut layout = Self {
            nodes,
            dimensions: shape.dimensions(),
            ports,
            channels,
            channel_shift: if channels <= 4 { 2 } else { 3 },
            queues,
            buffer: router.buffer,
            ring_shift: router.buffer.next_power_of_two().trailing_zeros().max(BASIC_RING),
            latency: router.latency as usize,
            cut_through: router.flow_control != FlowControl::Wormhole,
            bubble: router.flow_control == FlowControl::Bubble,
            rings: (0..shape.dimensions()).map(|dimension| shape.wraps(dimension)).collect(),
            downstream: vec![NONE; nodes * directions],
            upstream: vec![NONE; nodes * directions],
            rule: router.channel_rule(),
            rises: vec![false; nodes * directions],
            coordinates: (0..nodes as NodeId).flat_map(|node| shape.coordinates(node)).collect(),
            places: Vec::with_capacity(nodes * queues),
            turns: (0..shape.dimensions()).map(|dimension| Turns::new(shape, dimension)).collect(),
            port_lists: Vec::new(),
            places_in_list: Vec::new(),
            one_list: true,
            choices: choice_table(router.channels),
            first_rows: Vec::with_capacity(nodes * ports),
        };
        layout.set_arbitration(&router.arbitration, router.channels, shape);
        for node in 0..nodes {
            let links = (0..directions).flat_map(|port| (0..channels).map(move |channel| (port, channel)));
            let all = links.chain([(directions, 0)]);
            layout.places.extend(all.map(|(port, channel)| (node << 8 | port << 4 | channel) as u32));
            for direction in (0..directions).map(Direction::from_index) {
                let Some(other) = shape.neighbour(node as NodeId, direction) else { continue };
                let link = node * directions + direction.index();
                let facing = other as usize * directions + direction.opposite().index();
                let first = other as usize * queues + direction.opposite().index() * channels;
                layout.downstream[link] = first as u32;
                layout.upstream[facing] = (node * ports + direction.index()) as u32;
                layout.rises[link] = layout.rule.rises(shape, node as NodeId, direction).ever();
            }
        }
        layout
    }

    /// Sets the schemes of all output ports and the lists of all output channels.
    pub fn set_arbitration(&mut self, arbitration: &Arbitration, channels: u8, shape: &Shape) {
        self.one_list = arbitration.port_lists.is_empty();
        self.port_lists.clear();
        if self.one_list {
            self.port_lists.extend(default_port_list(shape));
        } else {
            self.port_lists.extend_from_slice(&arbitration.port_lists);
        }
        self.places_in_list.clear();
        self.places_in_list.resize(self.port_lists.len(), 0);
        for first in (0..self.port_lists.len()).step_by(self.ports) {
            self.invert_list(first);
        }
        let ports = self.ports;
        let all = (0..self.nodes).flat_map(|node| (0..ports).map(move |port| (node, port)));
        let schemes = all.map(|(node, port)| arbitration.scheme(node, port, ports));
        self.first_rows.clear();
        self.first_rows.extend(schemes.map(|scheme| row(scheme, 0, channels)));
    }

    /// Sets the scheme of one output port.
    pub fn set_scheme(&mut self, port: usize, scheme: ChannelScheme) {
        self.first_rows[port] = row(scheme, 0, self.channels as u8);
    }

    /// Sets the list of one output channel.
    pub fn set_port_list(&mut self, port: usize, channel: usize, list: &[u8]) {
        if self.one_list {
            self.one_list = false;
            let lists = self.nodes * self.ports * self.channels;
            self.port_lists = self.port_lists.repeat(lists);
            self.places_in_list = self.places_in_list.repeat(lists);
        }
        let first = (port * self.channels + channel) * self.ports;
        self.port_lists[first..first + self.ports].copy_from_slice(list);
        self.invert_list(first);
    }

    fn invert_list(&mut self, first: usize) {
        for place in 0..self.ports {
            let port = usize::from(self.port_lists[first + place]);
            self.places_in_list[first + port] = place as u8;
        }
    }

    /// Where the list of an output channel begins.
    #[inline(always)]
    fn list(&self, port: usize, channel: usize) -> usize {
        if self.one_list { 0 } else { (port * self.channels + channel) * self.ports }
    }

    /// The input port at a place of the list of an output channel.
    #[inline(always)]
    pub fn listed_port(&self, port: usize, channel: usize, place: u32) -> usize {
        self.port_lists[self.list(port, channel) + place as usize].into()
    }

    /// The place of an input port in the list of an output channel.
    #[inline(always)]
    pub fn place_in_list(&self, port: usize, channel: usize, input: usize) -> u8 {
        self.places_in_list[self.list(port, channel) + input]
    }

    /// Stands in the place of an output channel for what feeds a processor queue.
    #[inline(always)]
    pub fn feed(&self, node: usize) -> u32 {
        ((self.nodes * self.ports) << self.channel_shift).next_multiple_of(64) as u32 + node as u32
    }

    /// Link and channel of an output channel.
    pub fn link(&self, output: u32) -> (u32, u8) {
        let port = output as usize >> self.channel_shift;
        let link = (port / self.ports) * (self.ports - 1) + port % self.ports;
        (link as u32, (output & ((1 << self.channel_shift) - 1)) as u8)
    }

    /// Node of a queue, port it faces and its channel.
    #[inline(always)]
    pub fn place(&self, queue: usize) -> (usize, usize, usize) {
        let place = self.places[queue] as usize;
        (place >> 8, place >> 4 & 15, place & 15)
    }

    /// Output port and channel for the next step of a given route.
    pub fn follow(&self, node: usize, channel: usize, step: u8) -> (usize, usize) {
        if step == Routes::END {
            return (self.ports - 1, channel);
        }
        let port = usize::from(step);
        let rises = self.rises[node * (self.ports - 1) + port];
        (port, self.rule.next(channel as u8, rises) as usize)
    }

    /// Whether a packet goes from a queue over an output port into a ring it was not in before.
    pub fn enters_ring(&self, queue: usize, output_port: u32) -> bool {
        let (_, from, _) = self.place(queue);
        let to = output_port as usize % self.ports;
        // Straight on, a packet leaves through the port opposite to the one it came in by.
        self.rings[to / 2] && (from + 1 == self.ports || from ^ 1 != to)
    }

    /// Output port and channel at `node` for a packet in `channel` to `destination`.
    #[inline(always)]
    pub fn route(&self, node: usize, channel: usize, destination: usize) -> (usize, usize) {
        let here = &self.coordinates[node * self.dimensions..(node + 1) * self.dimensions];
        let there = &self.coordinates[destination * self.dimensions..(destination + 1) * self.dimensions];
        for ((&here, &there), turns) in here.iter().zip(there).zip(&self.turns) {
            if here != there {
                let port = turns.port(here, there);
                let rises = self.rises[node * (self.ports - 1) + port];
                return (port, self.rule.next(channel as u8, rises) as usize);
            }
        }
        (self.ports - 1, channel)
    }
}

/// Ports of one dimension (the rule of `routing::dimension_order`), tabulated where that is small.
#[derive(Clone, Debug)]
struct Turns {
    dimension: usize,
    size: u32,
    wraps: bool,
    table: Vec<u8>,
}

impl Turns {
    /// Largest size with a table; 64 KiB.
    const TABULATED: u32 = 256;

    fn new(shape: &Shape, dimension: usize) -> Self {
        let (size, wraps) = (shape.size(dimension), shape.wraps(dimension));
        let mut turns = Self { dimension, size, wraps, table: Vec::new() };
        if size <= Self::TABULATED {
            let pairs = (0..size).flat_map(|from| (0..size).map(move |to| (from, to)));
            turns.table = pairs.map(|(from, to)| turns.compute(from, to) as u8).collect();
        }
        turns
    }

    #[inline(always)]
    fn port(&self, from: u32, to: u32) -> usize {
        let pair = from as usize * self.size as usize + to as usize;
        self.table.get(pair).map_or_else(|| self.compute(from, to), |&port| port.into())
    }

    fn compute(&self, from: u32, to: u32) -> usize {
        let sign = dimension_order::sign(self.size, self.wraps, from, to).unwrap_or(Sign::Plus);
        Direction::new(self.dimension, sign).index()
    }
}

/// [`Layout::ring_shift`] of buffers of up to four flits, which the engine is compiled for.
pub(super) const BASIC_RING: u32 = 2;

/// Bits of the chosen channel in an entry of [`Layout::choices`].
pub(super) const CHOICE_BITS: u32 = 3;

fn row(scheme: ChannelScheme, last: u8, channels: u8) -> u16 {
    scheme as u16 * u16::from(channels) + u16::from(last)
}

fn choice_table(channels: u8) -> Vec<u16> {
    let masks = 1_usize << channels;
    ChannelScheme::ALL
        .into_iter()
        .flat_map(|scheme| (0..channels).map(move |last| (scheme, last)))
        .flat_map(|(scheme, last)| {
            (0..masks).map(move |mask| {
                let chosen =
                    scheme.order(last, channels).find(|&channel| mask >> channel & 1 == 1).unwrap_or(last);
                row(scheme, chosen, channels) << CHOICE_BITS | u16::from(chosen)
            })
        })
        .collect()
}
