use crate::{
    engine::Network,
    fabric::{Direction, NodeId},
    router::{ChannelScheme, FlowControl, crosses_dateline, default_port_list},
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
    pub channel_shift: u32,
    pub queues: usize,
    pub buffer: u16,
    pub latency: usize,
    pub cut_through: bool,
    /// Per `node * directions + direction`: first queue of the port the link leads to.
    pub downstream: Vec<u32>,
    /// Per `node * directions + port`: output port that feeds the input port.
    pub upstream: Vec<u32>,
    /// Per `node * directions + direction`: whether the link crosses a dateline.
    pub crosses: Vec<bool>,
    /// Per `node * dimensions + dimension`.
    pub coordinates: Vec<u32>,
    pub sizes: Vec<u32>,
    pub wraps: Vec<bool>,
    /// Input ports in evaluation order: one list for all output channels, or one for each.
    port_lists: Vec<u8>,
    one_list: bool,
    /// Channel chosen, per scheme, channel used last and mask of channels that can send.
    choices: Vec<u8>,
    /// Per output port: where its scheme's part of `choices` begins.
    pub choice_base: Vec<u16>,
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
            channel_shift: channels.next_power_of_two().trailing_zeros(),
            queues,
            buffer: router.buffer,
            latency: router.latency as usize,
            cut_through: router.flow_control == FlowControl::CutThrough,
            downstream: vec![NONE; nodes * directions],
            upstream: vec![NONE; nodes * directions],
            crosses: vec![false; nodes * directions],
            coordinates: (0..nodes as NodeId).flat_map(|node| shape.coordinates(node)).collect(),
            sizes: shape.sizes().to_vec(),
            wraps: (0..shape.dimensions()).map(|dimension| shape.wraps(dimension)).collect(),
            port_lists: router.arbitration.port_lists.clone(),
            one_list: router.arbitration.port_lists.is_empty(),
            choices: choice_table(router.channels),
            choice_base: Vec::with_capacity(nodes * ports),
        };
        if layout.one_list {
            layout.port_lists = default_port_list(shape);
        }
        let scheme_size = channels << channels;
        for node in 0..nodes {
            for direction in (0..directions).map(Direction::from_index) {
                let Some(other) = shape.neighbour(node as NodeId, direction) else { continue };
                let link = node * directions + direction.index();
                let facing = other as usize * directions + direction.opposite().index();
                let first = other as usize * queues + direction.opposite().index() * channels;
                layout.downstream[link] = first as u32;
                layout.upstream[facing] = (node * ports + direction.index()) as u32;
                layout.crosses[link] = crosses_dateline(shape, node as NodeId, direction);
            }
            layout
                .choice_base
                .extend((0..ports).map(|port| {
                    (router.arbitration.scheme(node, port, ports) as usize * scheme_size) as u16
                }));
        }
        layout
    }

    /// The list of input ports of an output channel.
    pub fn port_list(&self, port: usize, channel: usize) -> &[u8] {
        let list = if self.one_list { 0 } else { port * self.channels + channel };
        &self.port_lists[list * self.ports..(list + 1) * self.ports]
    }

    /// The channel an output port chooses.
    pub fn choose(&self, base: u16, last: u8, sendable: u8) -> u8 {
        self.choices[base as usize + ((last as usize) << self.channels) + sendable as usize]
    }

    /// Output port and channel at `node` for a packet in `channel` to `destination` (the rule of
    /// `routing::dimension_order`, on precomputed coordinates).
    pub fn route(&self, node: usize, channel: usize, destination: usize) -> (usize, usize) {
        use crate::{fabric::Sign, router::next_channel, routing::dimension_order};
        let here = &self.coordinates[node * self.dimensions..(node + 1) * self.dimensions];
        let there = &self.coordinates[destination * self.dimensions..(destination + 1) * self.dimensions];
        for dimension in 0..self.dimensions {
            let (size, wraps) = (self.sizes[dimension], self.wraps[dimension]);
            if let Some(sign) = dimension_order::sign(size, wraps, here[dimension], there[dimension]) {
                let port = 2 * dimension + usize::from(sign == Sign::Minus);
                let crosses = self.crosses[node * 2 * self.dimensions + port];
                return (port, next_channel(channel as u8, crosses, self.channels as u8) as usize);
            }
        }
        (self.ports - 1, channel)
    }
}

fn choice_table(channels: u8) -> Vec<u8> {
    let masks = 1_usize << channels;
    ChannelScheme::ALL
        .into_iter()
        .flat_map(|scheme| (0..channels).map(move |last| (scheme, last)))
        .flat_map(|(scheme, last)| {
            (0..masks).map(move |mask| {
                scheme.order(last, channels).find(|&channel| mask >> channel & 1 == 1).unwrap_or(0)
            })
        })
        .collect()
}
