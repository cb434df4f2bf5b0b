//! Everything about a network that does not change while it runs.

use super::{
    halo::{self, Halo},
    links::Links,
    output_arbiter::{Schemes, Sizes},
    record::Record,
};
use crate::{
    bits::Extent,
    engine::Network,
    fabric::{Direction, NodeId, Shape, Sign, Ties},
    router::{Arbitration, ChannelScheme, FlowControl, North, RouterConfig, Variant},
    routing::{self, At, Came, ChannelRule, dimension_order},
    traffic::Routes,
};
use std::{ops::Range, sync::Arc};

/// No slot, no route.
pub(super) const NONE: u32 = u32::MAX;
/// Words of a plane are a multiple of this, so that any vector divides them.
pub(super) const WORDS: usize = 8;
/// Bits of a queue or output channel in a [`Place`].
const PLACE_BITS: u32 = 7;

/// A queue or an output channel of a node, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

impl Place {
    #[inline(always)]
    pub(super) fn new(node: usize, index: usize) -> Self {
        Self((node as u32) << PLACE_BITS | index as u32)
    }

    /// As a number, and back.
    #[inline(always)]
    pub(super) fn pack(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn unpack(packed: u32) -> Self {
        Self(packed)
    }

    #[inline(always)]
    pub(super) fn node(self) -> usize {
        (self.0 >> PLACE_BITS) as usize
    }

    #[inline(always)]
    pub(super) fn index(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// Where a header wants to go, packed: the coordinates of the destination, and per dimension whether
/// it travels in the minus direction. Dimension order keeps the sign of a dimension, so it is found
/// once.
pub(super) type RouteWord = u32;
/// First sign of a [`RouteWord`]: 2^20 nodes in six dimensions take at most 25 bits of coordinates.
const SIGNS: u32 = 25;
/// The number of a direction in which packets never go up, in a set of 16.
const NEVER: u8 = 16;

/// The immutable side of the engine, of the whole network or of a part of it: some of its rows, the
/// nodes of equal coordinate in the last dimension. The nodes of a part are numbered from 0; those
/// of other parts to which its links lead have numbers before and behind (see [`Halo`]).
///
/// Queues of a node are numbered in the order of the initial port list, the channels of a port
/// ascending, those of the processor last, in the order of their directions; output channels are `port * channels + channel`.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub shape: Shape,
    /// Its first node in the network, and how many it has.
    pub first: usize,
    pub nodes: usize,
    /// Whether this is a part, and what it sees of the others.
    pub is_part: bool,
    pub halos: Vec<Halo>,
    /// Words of a plane.
    pub words: usize,
    pub extent: Extent,
    /// Ports that are links; the processor port follows them.
    pub directions: usize,
    pub channels: usize,
    /// Queues behind links; those of the processor follow them.
    pub link_queues: usize,
    pub processor_queues: usize,
    pub queues: usize,
    /// Output channels that are links; those of the processor port follow them.
    pub link_outputs: usize,
    pub outputs: usize,
    pub buffer: u32,
    /// Depth of the processor queue.
    pub processor_buffer: u32,
    /// How flits cross a router.
    pub variant: Variant,
    pub latency: usize,
    /// Cut-through, with or without bubbles.
    pub cut_through: bool,
    pub bubble: bool,
    /// Only a packet that fits as a whole behind a link is granted it.
    pub grant_needs_room: bool,
    /// Headers wait after their grant until the whole packet fits.
    pub headers_wait: bool,
    /// Per direction.
    pub links: Vec<Links>,
    /// Per queue: the port it faces (the processor port for the last ones) and its channel.
    pub port_of_queue: Vec<u8>,
    pub channel_of_queue: Vec<u8>,
    /// Per queue: the place of its port in the initial list.
    pub place_of_queue: Vec<u8>,
    /// Per queue behind a link: the output channel that feeds it.
    pub output_before: Vec<u8>,
    /// Per output channel that is a link: the queue behind it.
    pub queue_behind: Vec<u8>,
    /// Per port: its first queue.
    pub first_queue: Vec<u8>,
    /// Per node of the network: packed coordinates.
    coordinates: Arc<[u32]>,
    /// Per dimension: where its coordinate begins.
    fields: Vec<u32>,
    /// Per bit of coordinates: its dimension; the number of dimensions behind the last bit.
    dimension_of_bit: [u8; 33],
    /// Ports of the first hops in every dimension, where any is a full mesh or circulant.
    hops: Option<Hops>,
    pub rule: ChannelRule,
    /// Per node: directions on whose link packets go one channel up, as a set; where any dimension is a full mesh
    /// or circulant, those that close rings have the places.
    rises: Arc<[u16]>,
    /// The same for packets that come from the processor.
    rises_first: Arc<[u16]>,
    pub schemes: Schemes,
    /// Where initial lists begin.
    north: North,
    lists: Option<Lists>,
}

/// Which port leads from one coordinate to another one of the same dimension.
#[derive(Clone, Debug)]
struct Hops {
    dimensions: Vec<Differences>,
    port: Vec<u8>,
    /// Per port: its number in a set of `rises`, beyond it if packets never go up there.
    rising: Vec<u8>,
}

/// Where the ports of a dimension are.
#[derive(Clone, Copy, Debug)]
struct Differences {
    /// That of the difference 0.
    middle: u32,
    /// Coordinates from here on are in the upper half.
    half: u32,
    /// Ports from one kind of pairs to the next: ways along a circulant depend on the halves, too, balanced ties on
    /// whether a packet comes from an odd coordinate.
    kinds: u32,
    is_by_parity: bool,
}

impl Hops {
    fn new(shape: &Shape) -> Self {
        let mut hops = Self { dimensions: Vec::new(), port: Vec::new(), rising: rising(shape) };
        for dimension in 0..shape.dimensions() {
            let (size, half) = (shape.size(dimension), shape.size(dimension) / 2);
            let halves = shape.steps(dimension).is_some();
            let is_by_parity = !halves && shape.wraps(dimension) && shape.ties() == Ties::Balanced;
            hops.dimensions.push(Differences {
                middle: hops.port.len() as u32 + size - 1,
                half,
                kinds: if halves || is_by_parity { 2 * size - 1 } else { 0 },
                is_by_parity,
            });
            let bounds = [0..half, half..size];
            let kinds = [0, 1].into_iter().flat_map(|from| [0, 1].map(|to| [&bounds[from], &bounds[to]]));
            let whole = 0..size;
            let kinds: Vec<_> =
                if halves { kinds.collect() } else { vec![[&whole; 2]; 1 + usize::from(is_by_parity)] };
            for (kind, [froms, tos]) in (0..).zip(kinds) {
                // Ties that wrap depend on the half a packet comes from, and so on the sign of the difference.
                for place in 0..2 * size - 1 {
                    // Any pair of them with this difference.
                    let mut from = (tos.start + size - 1).saturating_sub(place).max(froms.start);
                    from += u32::from(is_by_parity && from % 2 != kind);
                    let to = from + place - (size - 1).min(from + place);
                    let fits = froms.contains(&from) && tos.contains(&to);
                    let along = fits.then(|| dimension_order::along(shape, dimension, from, to)).flatten();
                    hops.port.push(along.map_or(0, |(direction, _)| direction.index() as u8));
                }
            }
        }
        hops
    }

    /// The port that leads from one coordinate of a dimension to another.
    fn port(&self, dimension: usize, from: u32, to: u32) -> u8 {
        let Differences { middle, half, kinds, is_by_parity } = self.dimensions[dimension];
        let halves = 2 * u32::from(from >= half) + u32::from(to >= half);
        let kind = if is_by_parity { from % 2 } else { halves };
        self.port[(middle + kinds * kind + to - from) as usize]
    }
}

/// Per direction, its number in a set of `rises`.
fn rising(shape: &Shape) -> Vec<u8> {
    if !shape.has_steps() {
        return (0..shape.directions() as u8).collect();
    }
    let mut closing = 0;
    let mut places = vec![NEVER; shape.directions()];
    for axis in (0..shape.directions()).step_by(2) {
        if shape.closes(Direction::from_index(axis)) {
            places[axis..axis + 2].copy_from_slice(&[closing, closing + 1]);
            closing += 2;
        }
    }
    places
}

/// A port list for every output channel.
#[derive(Clone, Debug)]
struct Lists {
    /// Per output channel of all nodes: the input ports in the order of evaluation, ...
    ports: Vec<u8>,
    /// ... and the place of every input port in it.
    places: Vec<u8>,
}

/// The queues of a router, port by port in the order of its port list.
struct QueueList {
    /// Per port: its first queue.
    first: Vec<u8>,
    /// Per queue: its port, its channel, and the place of the port in the port list.
    ports: Vec<u8>,
    channels: Vec<u8>,
    places: Vec<u8>,
}

impl QueueList {
    fn new(router: &RouterConfig, directions: usize, processor_queues: usize, port_list: &[u8]) -> Self {
        let (ports, channels, places) = (Vec::new(), Vec::new(), Vec::new());
        let mut queues = Self { first: vec![0; directions + 1], ports, channels, places };
        for (place, &port) in port_list.iter().enumerate() {
            queues.first[usize::from(port)] = queues.ports.len() as u8;
            let of_processor = usize::from(port) == directions;
            for channel in 0..if of_processor { processor_queues } else { router.channels as usize } {
                queues.ports.push(port);
                queues.places.push(place as u8);
                queues.channels.push(if of_processor { 0 } else { channel as u8 });
            }
        }
        queues
    }
}

/// Where each coordinate of a node lies in its packed coordinates, and the dimension of every bit of them.
fn packed_fields(shape: &Shape) -> (Vec<u32>, [u8; 33]) {
    let fields: Vec<u32> = (0..shape.dimensions())
        .scan(0, |next, dimension| {
            let here = *next;
            *next += 32 - (shape.size(dimension) - 1).leading_zeros();
            Some(here)
        })
        .collect();
    let mut dimension_of_bit = [shape.dimensions() as u8; 33];
    for (dimension, &field) in fields.iter().enumerate() {
        let end = fields.get(dimension + 1).copied().unwrap_or(SIGNS);
        dimension_of_bit[field as usize..end as usize].fill(dimension as u8);
    }
    (fields, dimension_of_bit)
}

impl Layout {
    pub(super) fn new(network: &Network) -> Self {
        Self::of_first(network, network.fabric().shape().nodes())
    }

    /// That of so many nodes, as if there were no others: what it takes by node is what the whole does.
    pub(super) fn of_first(network: &Network, nodes: usize) -> Self {
        let (shape, router) = (network.fabric().shape().clone(), network.router());
        let directions = shape.directions();
        let channels = router.channels as usize;
        let words = nodes.div_ceil(64).next_multiple_of(WORDS);
        let processor_queues = router.processor_queues.count(&shape);
        let extent = Extent::new(words, [0, 0]);
        let list = router.north.port_list(&shape);
        let queues = QueueList::new(router, directions, processor_queues, &list);
        let bubble = router.flow_control == FlowControl::Bubble;
        let cut_through = router.flow_control != FlowControl::Wormhole;
        let all = || (0..directions).map(Direction::from_index);
        let rule = router.channel_rule();
        let places = rising(&shape);
        let rising = |node, came| {
            let up = all().filter(|&direction| rule.rises(&shape, node, direction).on(came));
            up.fold(0, |set, direction| set | 1 << places[direction.index()])
        };
        let (fields, dimension_of_bit) = packed_fields(&shape);
        let packed = |node| {
            let coordinate = |(dimension, field): (usize, &u32)| shape.coordinate(node, dimension) << field;
            fields.iter().enumerate().map(coordinate).sum()
        };
        let mut layout = Self {
            first: 0,
            nodes,
            is_part: false,
            halos: Vec::new(),
            words,
            extent,
            directions,
            channels,
            link_queues: directions * channels,
            processor_queues,
            queues: directions * channels + processor_queues,
            link_outputs: directions * channels,
            outputs: (directions + 1) * channels,
            buffer: u32::from(router.buffer - router.variant.behind_queue()),
            processor_buffer: router.buffer.into(),
            variant: router.variant,
            latency: router.latency as usize,
            cut_through,
            bubble,
            grant_needs_room: router.grant_needs_room,
            headers_wait: cut_through && !router.grant_needs_room,
            links: all().map(|direction| Links::new(&shape, direction, 0..nodes, &[], extent)).collect(),
            port_of_queue: queues.ports,
            channel_of_queue: queues.channels,
            place_of_queue: queues.places,
            output_before: Vec::new(),
            queue_behind: Vec::new(),
            first_queue: queues.first,
            coordinates: (0..nodes as NodeId).map(packed).collect(),
            hops: shape.has_steps().then(|| Hops::new(&shape)),
            rule,
            rises: (0..nodes as NodeId).map(|node| rising(node, Came::Underway)).collect(),
            rises_first: (0..nodes as NodeId).map(|node| rising(node, Came::Injected)).collect(),
            fields,
            dimension_of_bit,
            schemes: Schemes::Same(ChannelScheme::C00),
            north: router.north,
            lists: None,
            shape,
        };
        layout.queue_behind = (0..layout.link_outputs).map(|output| layout.behind(output) as u8).collect();
        layout.output_before = (0..layout.link_queues).map(|queue| layout.before(queue) as u8).collect();
        layout.set_arbitration(&router.arbitration);
        layout
    }

    /// One of the parts of this, the whole network.
    pub(super) fn part(&self, parts: &[Range<usize>], number: usize) -> Self {
        let (mut part, nodes) = (self.clone(), parts[number].clone());
        part.first = nodes.start;
        part.nodes = nodes.len();
        part.is_part = true;
        part.halos = halo::halos(&self.shape, parts, number);
        part.words = nodes.len().div_ceil(64).next_multiple_of(WORDS);
        part.extent = Extent::new(part.words, halo::extent(nodes.len(), &part.halos));
        part.links = (0..self.directions)
            .map(|direction| {
                let direction = Direction::from_index(direction);
                Links::new(&self.shape, direction, nodes.clone(), &part.halos, part.extent)
            })
            .collect();
        part.schemes = self.schemes.part(nodes.clone(), part.sizes());
        if let Some(Lists { ports, places }) = &self.lists {
            let lists = self.outputs * self.ports();
            let of = |all: &[u8]| all[nodes.start * lists..nodes.end * lists].to_vec();
            part.lists = Some(Lists { ports: of(ports), places: of(places) });
        }
        part
    }

    /// The halos into which a direction leads.
    #[inline(always)]
    pub(super) fn halos_of(&self, direction: usize) -> impl Iterator<Item = &Halo> {
        self.halos.iter().filter(move |halo| halo.out.contains(&direction))
    }

    /// That of the row before or behind, from which registers of buffers ahead are told, if there is one.
    #[inline(always)]
    pub(super) fn halo_of(&self, direction: usize) -> Option<&Halo> {
        self.halos_of(direction).find(|halo| halo.side < 2)
    }

    /// The number of the halo with a place outside of this part's nodes.
    pub(super) fn halo_with(&self, place: isize) -> Option<usize> {
        self.halos.iter().position(|halo| (halo.others..halo.others + halo.nodes as isize).contains(&place))
    }

    fn sizes(&self) -> Sizes {
        Sizes { nodes: self.nodes, words: self.words, ports: self.ports(), channels: self.channels }
    }

    /// The ports of a router, the processor's included.
    pub(super) fn ports(&self) -> usize {
        self.directions + 1
    }

    /// Whether a queue is one of the processor's.
    #[inline(always)]
    pub(super) fn is_processor(&self, queue: usize) -> bool {
        queue >= self.link_queues
    }

    /// The number of a processor queue among those of all nodes.
    #[inline(always)]
    pub(super) fn line(&self, node: usize, queue: usize) -> usize {
        node * self.processor_queues + queue - self.link_queues
    }

    /// The processor queue of packets whose first hop is over a port.
    #[inline(always)]
    pub(super) fn processor(&self, port: usize) -> usize {
        let several = self.processor_queues > 1 && port < self.directions;
        self.link_queues + if several { port } else { 0 }
    }

    /// Sets the schemes of all output ports and the lists of all output channels.
    pub(super) fn set_arbitration(&mut self, arbitration: &Arbitration) {
        self.schemes = match arbitration.schemes[..] {
            [scheme] => Schemes::Same(scheme),
            _ => {
                let mut schemes = Schemes::own(ChannelScheme::C00, self.sizes());
                for (index, &scheme) in arbitration.schemes.iter().take(self.nodes * self.ports()).enumerate()
                {
                    schemes.set(index / self.ports(), index % self.ports(), scheme);
                }
                schemes
            }
        };
        self.lists = None;
        if !arbitration.port_lists.is_empty() {
            let ports = arbitration.port_lists[..self.nodes * self.outputs * self.ports()].to_vec();
            let mut lists = Lists { places: vec![0; ports.len()], ports };
            for first in (0..lists.ports.len()).step_by(self.ports()) {
                lists.invert(first, self.ports());
            }
            self.lists = Some(lists);
        }
    }

    /// Sets the scheme of one output port.
    pub(super) fn set_scheme(&mut self, node: usize, port: usize, scheme: ChannelScheme) {
        if let Schemes::Same(same) = self.schemes {
            self.schemes = Schemes::own(same, self.sizes());
        }
        self.schemes.set(node, port, scheme);
    }

    /// Sets the list of one output channel.
    pub(super) fn set_port_list(&mut self, node: usize, port: usize, channel: usize, list: &[u8]) {
        let (ports, outputs) = (self.ports(), self.outputs);
        let lists = self.lists.get_or_insert_with(|| {
            let mut lists = Lists { ports: self.north.port_list(&self.shape), places: vec![0; ports] };
            lists.invert(0, ports);
            let count = self.nodes * outputs;
            Lists { ports: lists.ports.repeat(count), places: lists.places.repeat(count) }
        });
        let first = (node * outputs + port * self.channels + channel) * ports;
        lists.ports[first..first + ports].copy_from_slice(list);
        lists.invert(first, ports);
    }

    /// Whether output channels have lists of their own.
    #[inline(always)]
    pub(super) fn has_lists(&self) -> bool {
        self.lists.is_some()
    }

    /// Whether records of output channels of a width hold its requests.
    pub(super) fn fits<R: Record>(&self) -> bool {
        self.request_bits() <= R::REQUESTS && self.ports() <= R::PORTS
    }

    /// Bytes that it takes for its nodes.
    pub(super) fn bytes(&self) -> usize {
        let Self { coordinates, rises, rises_first, lists, schemes, directions, nodes, .. } = self;
        let lists = lists.as_ref().map_or(0, |Lists { ports, places }| ports.len() + places.len());
        // Two sets of nodes by direction.
        let links = 2 * directions * nodes / 8;
        size_of_val(&**coordinates)
            + size_of_val(&**rises)
            + size_of_val(&**rises_first)
            + lists
            + schemes.bytes()
            + links
    }

    /// Bits that requests of an output channel need.
    pub(super) fn request_bits(&self) -> usize {
        if self.has_lists() { self.ports() * self.channels + self.more_bits() } else { self.queues }
    }

    /// In a list, bits of the processor's port beyond those of a link.
    fn more_bits(&self) -> usize {
        self.processor_queues.saturating_sub(self.channels)
    }

    /// The bit at which a place of the list of an output channel begins.
    #[inline(always)]
    pub(super) fn bit_of_place(&self, node: usize, output: usize, place: u32) -> u32 {
        let behind_processor = self.lists.as_ref().is_some_and(|lists| {
            let first = (node * self.outputs + output) * self.ports();
            place > lists.places[first + self.directions].into()
        });
        place * self.channels as u32 + if behind_processor { self.more_bits() as u32 } else { 0 }
    }

    /// The place in the list of an output channel that a bit belongs to, where it has a list.
    pub(super) fn place_of_bit(&self, node: usize, output: usize, bit: u32) -> u32 {
        let places = (0..self.ports() as u32).rev();
        places.into_iter().find(|&place| self.bit_of_place(node, output, place) <= bit).unwrap_or(0)
    }

    /// The bit of a queue in the requests of an output channel of a node.
    #[inline(always)]
    pub(super) fn bit_of_queue(&self, node: usize, output: usize, queue: usize) -> u32 {
        let Some(lists) = &self.lists else { return queue as u32 };
        let first = (node * self.outputs + output) * self.ports();
        let port = usize::from(self.port_of_queue[queue]);
        let place = lists.places[first + port].into();
        self.bit_of_place(node, output, place) + queue as u32 - u32::from(self.first_queue[port])
    }

    /// The queue of a bit.
    #[inline(always)]
    pub(super) fn queue_of_bit(&self, node: usize, output: usize, bit: u32) -> usize {
        let Some(lists) = &self.lists else { return bit as usize };
        let place = self.place_of_bit(node, output, bit);
        let port = lists.ports[(node * self.outputs + output) * self.ports() + place as usize];
        usize::from(self.first_queue[usize::from(port)])
            + (bit - self.bit_of_place(node, output, place)) as usize
    }

    /// The way of a packet between nodes of the network.
    pub(super) fn way(&self, source: usize, destination: usize) -> RouteWord {
        let (from, to) = (self.coordinates[source], self.coordinates[destination]);
        let mut signs = 0;
        for dimension in 0..self.fields.len() {
            let [from, to] = [from, to].map(|packed| self.unpacked(packed, dimension));
            let (size, wraps) = (self.shape.size(dimension), self.shape.wraps(dimension));
            let sign = dimension_order::sign(size, wraps, self.shape.ties(), from, to);
            signs |= u32::from(sign == Some(Sign::Minus)) << dimension;
        }
        to | signs << SIGNS
    }

    /// The destination of a way.
    pub(super) fn destination(&self, way: RouteWord) -> usize {
        let coordinates: Vec<u32> =
            (0..self.fields.len()).map(|dimension| self.unpacked(way, dimension)).collect();
        self.shape.node(&coordinates) as usize
    }

    /// The output channel of a header in a queue of a node, in dimension order.
    #[inline(always)]
    pub(super) fn next_of(&self, node: usize, queue: usize, way: RouteWord) -> usize {
        let rises = if queue >= self.link_queues { &self.rises_first } else { &self.rises };
        let (channel, rises) = (self.channel_of_queue[queue], rises[self.first + node]);
        let ahead = (way ^ self.coordinates[self.first + node]) & ((1 << SIGNS) - 1);
        let dimension = u32::from(self.dimension_of_bit[ahead.trailing_zeros() as usize]);
        if let Some(hops) = &self.hops {
            return self.next_by(hops, node, dimension as usize, way, (channel, rises));
        }
        let port = 2 * dimension + (way >> SIGNS >> dimension & 1);
        let rises = rises >> port & 1 == 1;
        port as usize * self.channels + usize::from(self.rule.next(channel, rises))
    }

    /// The same among full meshes and circulants, in a dimension.
    #[inline(never)]
    fn next_by(
        &self,
        hops: &Hops,
        node: usize,
        dimension: usize,
        way: RouteWord,
        (channel, rises): (u8, u16),
    ) -> usize {
        if dimension == self.fields.len() {
            return self.link_outputs + usize::from(channel);
        }
        let (from, to) = (self.coordinate(node, dimension), self.unpacked(way, dimension));
        let port = hops.port(dimension, from, to);
        let rises = u32::from(rises) >> hops.rising[usize::from(port)] & 1 == 1;
        usize::from(port) * self.channels + usize::from(self.rule.next(channel, rises))
    }

    /// Where routing functions are used.
    #[inline(always)]
    pub(super) fn place(&self) -> routing::Place<'_> {
        routing::Place { shape: &self.shape, rule: self.rule }
    }

    /// Where a header at the front of a queue is.
    #[inline(always)]
    pub(super) fn at(&self, node: usize, queue: usize) -> At {
        let port = usize::from(self.port_of_queue[queue]);
        // Flits come in through the port that faces where they came from.
        let along = (port < self.directions).then(|| Direction::from_index(port ^ 1));
        At { node: (self.first + node) as NodeId, along, channel: self.channel_of_queue[queue] }
    }

    /// The output channel for the next step of a given route.
    pub(super) fn follow(&self, node: usize, queue: usize, channel: u8, step: u8) -> usize {
        if step == Routes::END {
            return self.link_outputs + usize::from(channel);
        }
        let rises = if queue >= self.link_queues { &self.rises_first } else { &self.rises };
        let rises = u32::from(rises[self.first + node]) >> self.rise_of(step.into()) & 1 == 1;
        usize::from(step) * self.channels + usize::from(self.rule.next(channel, rises))
    }

    /// A coordinate of a packed node or way.
    #[inline(always)]
    fn unpacked(&self, packed: u32, dimension: usize) -> u32 {
        let end = self.fields.get(dimension + 1).copied().unwrap_or(SIGNS);
        packed >> self.fields[dimension] & ((1 << (end - self.fields[dimension])) - 1)
    }

    /// A coordinate of a node.
    pub(super) fn coordinate(&self, node: usize, dimension: usize) -> u32 {
        self.unpacked(self.coordinates[self.first + node], dimension)
    }

    /// Hops from a node to the end of a way in a direction, and the direction that comes next in
    /// dimension order; one hop in a direction that leads away from there.
    pub(super) fn straight(
        &self,
        node: usize,
        direction: Direction,
        way: RouteWord,
    ) -> (u32, Option<Direction>) {
        if let Some(hops) = &self.hops {
            return self.straight_by(hops, node, direction, way);
        }
        let ahead = |dimension: usize| {
            (self.coordinate(node, dimension), self.unpacked(way, dimension), self.shape.size(dimension))
        };
        let (from, to, size) = ahead(direction.dimension());
        let leads_there = way >> SIGNS >> direction.dimension() & 1 == direction.index() as u32 & 1;
        if from == to || !leads_there {
            return (1, None);
        }
        // Divisions take long.
        let [from, to] = if direction.sign() == Sign::Plus { [from, to] } else { [to, from] };
        let hops = if to > from { to - from } else { to + size - from };
        let others = (0..self.shape.dimensions()).filter(|&dimension| dimension != direction.dimension());
        let mut turns = others.filter(|&dimension| ahead(dimension).0 != ahead(dimension).1);
        let turn = turns
            .next()
            .map(|dimension| Direction::from_index(2 * dimension + (way >> SIGNS >> dimension & 1) as usize));
        (hops, turn)
    }

    /// The same among full meshes and circulants.
    #[inline(never)]
    fn straight_by(
        &self,
        hops: &Hops,
        node: usize,
        direction: Direction,
        way: RouteWord,
    ) -> (u32, Option<Direction>) {
        let along = |dimension: usize| {
            let (from, to) = (self.coordinate(node, dimension), self.unpacked(way, dimension));
            let port = hops.port(dimension, from, to);
            (from != to).then(|| (Direction::from_index(port.into()), from, to))
        };
        let own = self.shape.dimension_of(direction);
        match along(own) {
            Some((port, from, to)) if port == direction => {
                let hops = dimension_order::along(&self.shape, own, from, to).map_or(1, |(_, hops)| hops);
                let (size, by) = (self.shape.size(own), hops * self.shape.step_of(direction));
                let there = match direction.sign() {
                    Sign::Plus => (from + by) % size,
                    Sign::Minus => (from + size - by % size) % size,
                };
                // A circulant may have other steps to make.
                let more = dimension_order::along(&self.shape, own, there, to).map(|(turn, _)| turn);
                let others = (0..self.fields.len()).filter(|&dimension| dimension != own);
                (hops, more.or_else(|| others.filter_map(along).next().map(|(port, ..)| port)))
            }
            _ => (1, None),
        }
    }

    /// The channel of the first hop of packets that leave a node in a direction.
    pub(super) fn first_channel(&self, node: usize, direction: usize) -> u8 {
        let rises = u32::from(self.rises_first[self.first + node]);
        self.rule.next(0, rises >> self.rise_of(direction) & 1 == 1)
    }

    /// The number of a port in a set of `rises`.
    #[inline(always)]
    fn rise_of(&self, port: usize) -> usize {
        self.hops.as_ref().map_or(port, |hops| hops.rising[port].into())
    }

    /// The port of the first hop of a packet, in dimension order.
    pub(super) fn first_port(&self, node: usize, way: RouteWord) -> usize {
        self.port_of_output(self.next_of(node, self.link_queues, way))
    }

    /// The queue behind an output channel that is a link.
    #[inline(always)]
    pub(super) fn behind_link(&self, place: Place) -> Place {
        let behind = usize::from(self.queue_behind[place.index()]);
        // It faces where flits come from.
        let links = &self.links[usize::from(self.port_of_queue[behind]) ^ 1];
        Place::new(links.neighbour(place.node()), behind)
    }

    /// The port of an output channel.
    #[inline(always)]
    pub(super) fn port_of_output(&self, output: usize) -> usize {
        output / self.channels
    }

    /// Whether an output channel of a node leads anywhere: at the edge of a mesh there is no link.
    pub(super) fn leads_on(&self, node: usize, output: usize) -> bool {
        let port = self.port_of_output(output);
        let here = (self.first + node) as NodeId;
        port == self.directions || self.shape.neighbour(here, Direction::from_index(port)).is_some()
    }

    fn behind(&self, output: usize) -> usize {
        let opposite = Direction::from_index(output / self.channels).opposite().index();
        usize::from(self.first_queue[opposite]) + output % self.channels
    }

    fn before(&self, queue: usize) -> usize {
        let opposite = Direction::from_index(self.port_of_queue[queue].into()).opposite().index();
        opposite * self.channels + usize::from(self.channel_of_queue[queue])
    }

    /// Whether a packet goes from a queue over an output channel into a ring it was not in before.
    pub(super) fn enters_ring(&self, queue: usize, output: usize) -> bool {
        let (from, to) = (usize::from(self.port_of_queue[queue]), self.port_of_output(output));
        // Straight on, a packet leaves through the port opposite to the one it came in by.
        let closes = |port| self.shape.closes(Direction::from_index(port));
        to < self.directions && closes(to) && (from == self.directions || from ^ 1 != to)
    }
}

impl Lists {
    fn invert(&mut self, first: usize, ports: usize) {
        for place in 0..ports {
            let port = usize::from(self.ports[first + place]);
            self.places[first + port] = place as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Factor, Steps},
        router::RouterConfig,
    };

    #[test]
    fn ways_are_those_of_dimension_order() {
        let tori = [
            (vec![6, 5], vec![true, true]),
            (vec![4, 3, 2], vec![true, false, true]),
            (vec![2, 2, 3, 2, 2, 2], vec![true; 6]),
        ]
        .map(|(sizes, wraps)| Shape::new(&sizes, &wraps).unwrap());
        let usual: Vec<Shape> = tori.into_iter().chain(products()).collect();
        let balanced = usual.clone().into_iter().map(|shape| shape.with_ties(Ties::Balanced));
        for shape in usual.into_iter().chain(balanced) {
            let network = Network::new(Fabric::new(shape.clone()), RouterConfig::for_shape(&shape)).unwrap();
            let layout = Layout::new(&network);
            for (from, to) in (0..shape.nodes()).flat_map(|from| (0..shape.nodes()).map(move |to| (from, to)))
            {
                let way = layout.way(from, to);
                let mut here = from as NodeId;
                while let Some(direction) = dimension_order::next(&shape, here, to as NodeId) {
                    let output = layout.next_of(here as usize, 0, way);
                    assert_eq!(layout.port_of_output(output), direction.index());
                    let rises = network.router().channel_rule().rises(&shape, here, direction).ever();
                    assert_eq!(output % layout.channels, usize::from(rises));
                    here = shape.neighbour(here, direction).unwrap();
                }
                assert_eq!(layout.next_of(to, 1, way), layout.link_outputs + 1);
                assert_eq!(layout.destination(way), to);
            }
        }
    }

    fn products() -> [Shape; 6] {
        use Factor::{Circulant, Full, Line, Ring};
        let all = [
            vec![Full(8), Full(5)],
            vec![Ring(6), Full(4), Line(3)],
            vec![Full(3), Ring(5)],
            vec![Circulant(12, Steps::ascending([1, 4, 6])), Full(3)],
            vec![Ring(4), Circulant(13, Steps::ascending([2, 3]))],
            vec![Circulant(8, Steps::ascending([1, 3])), Circulant(7, Steps::ascending([1, 2, 3]))],
        ];
        all.map(|factors| Shape::product(&factors).unwrap())
    }

    #[test]
    fn queues_and_outputs_fit_together() {
        for shape in products().into_iter().chain([Shape::torus(&[4, 4, 4]).unwrap()]) {
            let network = Network::new(Fabric::new(shape.clone()), RouterConfig::for_shape(&shape)).unwrap();
            let layout = Layout::new(&network);
            for output in 0..layout.link_outputs {
                let queue = usize::from(layout.queue_behind[output]);
                assert_eq!(usize::from(layout.output_before[queue]), output);
                assert_eq!(usize::from(layout.channel_of_queue[queue]), output % layout.channels);
            }
            assert_eq!(usize::from(layout.port_of_queue[layout.processor(0)]), layout.directions);
        }
    }
}
