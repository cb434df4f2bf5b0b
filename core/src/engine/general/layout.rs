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
            first_rows: Vec::with_capacity(nodes * ports),
        };
        if layout.one_list {
            layout.port_lists = default_port_list(shape);
        }
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
            let schemes = (0..ports).map(|port| router.arbitration.scheme(node, port, ports));
            layout.first_rows.extend(schemes.map(|scheme| row(scheme, 0, router.channels)));
        }
        layout
    }

    /// The list of input ports of an output channel.
    pub fn port_list(&self, port: usize, channel: usize) -> &[u8] {
        let list = if self.one_list { 0 } else { port * self.channels + channel };
        &self.port_lists[list * self.ports..(list + 1) * self.ports]
    }

    /// Link and channel of an output channel.
    pub fn link(&self, output: u32) -> (u32, u8) {
        let port = output as usize >> self.channel_shift;
        let link = (port / self.ports) * (self.ports - 1) + port % self.ports;
        (link as u32, (output & ((1 << self.channel_shift) - 1)) as u8)
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
