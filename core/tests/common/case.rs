//! Random networks with random packets. A [`CaseSpace`] bounds what is drawn, so that an engine that
//! does less than everything can be given only what it does.

use super::{drawn::drawn, twin};
use crate::reference::{Lines, Route, Rules, SliceRules};
use flitloom_core::{
    engine::{Network, Options},
    fabric::{Direction, Fabric, Factor, NodeId, Shape, Sign, Steps, Ties},
    router::{Arbitration, ChannelScheme, FlowControl, MAX_CHANNELS, North, ProcessorQueues, RouterConfig},
    routing::{Datelines, RoutingFunction, dimension_order},
    throttle::{Interlock, Throttle},
    traffic::{OpenLoad, Packet, PacketList, Pattern, Purpose, Routes, Workload, draw_below},
};
use proptest::{collection::vec, prelude::*, test_runner::FileFailurePersistence};
use std::ops::RangeInclusive;

/// Throttles that are drawn.
pub const THROTTLES: [&str; 18] = [
    "spth:margin=0",
    "spth:margin=2,length=1",
    "spth:margin=1,watch=own",
    "spth:margin=3,link=shared",
    "alo:own",
    "alo:any",
    "pace:7",
    "global:3",
    "global:tuned",
    "pt",
    "pt:release=9",
    "pt:link=shared",
    "pt:margin=1",
    "pt:behind=0",
    "pt:behind=3",
    "when:empty and not owned",
    "when:idle_channels >= 1",
    "when:since_granted >= 7",
];

/// What is drawn.
#[derive(Clone, Debug)]
pub struct CaseSpace {
    pub dimensions: RangeInclusive<usize>,
    pub sizes: RangeInclusive<u32>,
    /// Sizes of further dimensions are cut to 2, then dimensions dropped, to keep below this.
    pub most_nodes: u32,
    /// Whether dimensions that do not wrap are drawn.
    pub meshes: bool,
    /// Sizes of twisted tori that are drawn instead of other shapes.
    pub twisted: &'static [&'static [u32]],
    /// Products that are drawn instead of other shapes.
    pub products: &'static [&'static [Factor]],
    pub channels: RangeInclusive<u8>,
    pub buffer: RangeInclusive<u16>,
    pub latency: RangeInclusive<u16>,
    pub flow_controls: Vec<FlowControl>,
    /// Whether further rules of routers are drawn: which datelines count, grants that need room,
    /// queues of the processor.
    pub router_rules: bool,
    /// Whether every port and output channel may have its own scheme and list.
    pub own_arbitration: bool,
    /// Whether slices may be re-initialised and interlocked.
    pub slice_rules: bool,
    /// Whether packets may be throttled; then the router keeps free of deadlock and no routes are given.
    pub throttles: bool,
    /// Whether packets may have given routes, of all kinds.
    pub given_routes: bool,
    /// Packets per node on average, at most.
    pub packets_per_node: usize,
    pub lengths: RangeInclusive<u32>,
    /// Whether the packets of a case may differ in length.
    pub mixed_lengths: bool,
    pub last_start: u64,
}

impl Default for CaseSpace {
    /// Everything the reference model does, on small shapes.
    fn default() -> Self {
        Self {
            dimensions: 1..=4,
            sizes: 2..=7,
            most_nodes: 48,
            meshes: true,
            twisted: &[],
            products: &[],
            channels: 1..=4,
            buffer: 1..=6,
            latency: 1..=3,
            flow_controls: vec![FlowControl::Wormhole, FlowControl::CutThrough, FlowControl::Bubble],
            router_rules: true,
            own_arbitration: true,
            slice_rules: true,
            throttles: true,
            given_routes: true,
            packets_per_node: 4,
            lengths: 1..=12,
            mixed_lengths: true,
            last_start: 60,
        }
    }
}

impl CaseSpace {
    /// What the planes cover, and a little more: with a single channel some may deadlock.
    pub fn of_planes() -> Self {
        Self {
            dimensions: 1..=2,
            sizes: 2..=9,
            most_nodes: 64,
            buffer: 1..=8,
            latency: 1..=1,
            flow_controls: vec![FlowControl::Wormhole],
            router_rules: false,
            throttles: false,
            slice_rules: false,
            given_routes: false,
            mixed_lengths: false,
            lengths: 2..=12,
            ..Self::default()
        }
    }

    /// Products with full meshes and circulants.
    pub fn products() -> Self {
        use Factor::{Circulant, Full, Line, Ring};
        const PRODUCTS: &[&[Factor]] = &[
            &[Full(4), Full(4)],
            &[Full(8)],
            &[Full(5), Ring(5)],
            &[Ring(6), Full(4)],
            &[Full(4), Line(4)],
            &[Line(3), Full(3), Ring(4)],
            &[Full(6), Full(3)],
            &[Full(3), Full(2), Full(4)],
            &[Ring(5), Full(5)],
            &[Full(16)],
            &[Circulant(16, Steps::ascending([1, 4]))],
            &[Circulant(13, Steps::ascending([1, 5]))],
            &[Circulant(12, Steps::ascending([2, 3]))],
            // Half the ring, and rings of three.
            &[Circulant(12, Steps::ascending([1, 4, 6]))],
            &[Circulant(8, Steps::ascending([1, 4])), Ring(4)],
            &[Line(3), Circulant(9, Steps::ascending([1, 3]))],
            &[Full(3), Circulant(10, Steps::ascending([2, 5]))],
            &[Circulant(6, Steps::ascending([1, 2])), Circulant(5, Steps::ascending([1, 2]))],
            &[Circulant(8, Steps::ascending([2, 3])), Full(4)],
            &[Circulant(18, Steps::ascending([1, 5, 8]))],
        ];
        Self { products: PRODUCTS, throttles: false, ..Self::default() }
    }

    /// Rings with a single channel of few flits under heavy load: many of these deadlock.
    pub fn tight_rings() -> Self {
        Self {
            dimensions: 1..=2,
            sizes: 5..=7,
            meshes: false,
            channels: 1..=1,
            buffer: 1..=3,
            throttles: false,
            packets_per_node: 12,
            lengths: 4..=12,
            last_start: 3,
            ..Self::default()
        }
    }
}

/// One network with its packets.
#[derive(Clone, Debug)]
pub struct Case {
    pub shape: Shape,
    pub router: Router,
    pub traffic: Traffic,
    pub slices: SliceRules,
    pub throttle: Throttle,
}

/// The router's parameters in a form that reads and shrinks well.
#[derive(Clone, Debug)]
pub struct Router {
    pub channels: u8,
    pub buffer: u16,
    pub latency: u16,
    pub flow_control: FlowControl,
    /// Which datelines count.
    pub lines: Lines,
    /// Lists of input ports begin with the minus direction of the last dimension.
    pub north_is_minus: bool,
    pub grant_needs_room: bool,
    pub processor_queues: ProcessorQueues,
    /// The scheme of all ports, unless each has its own.
    pub scheme: ChannelScheme,
    /// Seed of a scheme per port.
    pub own_schemes: Option<u64>,
    /// Seed of a list per output channel.
    pub own_lists: Option<u64>,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// (source, packet) in the order in which a source sends.
    Packets {
        list: Vec<(NodeId, Packet)>,
        /// Seed of a given route per packet.
        routes: Option<u64>,
    },
    /// A load of so many thousandths of a flit per node and cycle, where a pattern says.
    Load { pattern: &'static str, thousandths: u32, length: u32, cycles: u64, seed: u64 },
}

impl Case {
    /// A throttled router keeps free of deadlock, so that nobody waits for ever.
    fn at_ease(mut self) -> Self {
        if self.throttle != Throttle::None {
            // Above every margin that is drawn.
            self.router.buffer = self.router.buffer.max(4);
            self.router.channels = self.router.channels.max(RouterConfig::channels_needed(&self.shape));
            if self.router.flow_control == FlowControl::Bubble {
                self.router.flow_control = FlowControl::CutThrough;
            }
        }
        self
    }

    fn north(&self) -> North {
        if self.router.north_is_minus { North::Minus } else { North::Plus }
    }

    /// The router's parameters as the core takes them.
    pub fn config(&self) -> RouterConfig {
        let Router { channels, buffer, latency, flow_control, scheme, own_schemes, own_lists, .. } =
            self.router;
        let default = self.north().port_list(&self.shape);
        let outputs = (self.shape.nodes() * default.len()) as u32;
        let schemes = match own_schemes {
            None => vec![scheme],
            Some(seed) => {
                // Packet by packet only where that is drawn for all.
                let all = if scheme == ChannelScheme::Packet {
                    &ChannelScheme::ALL[..]
                } else {
                    &ChannelScheme::PUBLISHED
                };
                let one = |port| all[draw_below(seed, port, Purpose::Shuffle, 0, all.len() as u32) as usize];
                (0..outputs).map(one).collect()
            }
        };
        let port_lists = match own_lists {
            None => Vec::new(),
            Some(seed) => {
                let lists = 0..outputs * u32::from(channels);
                lists.flat_map(|list| shuffled(default.clone(), seed, list)).collect()
            }
        };
        RouterConfig {
            channels,
            buffer,
            latency,
            flow_control,
            datelines: match self.router.lines {
                Lines::Both => Datelines::BOTH,
                Lines::WrapOnly => Datelines::WRAP_ONLY,
                Lines::WrapNotFirst => Datelines::WRAP_UNLESS_INJECTED,
                Lines::Checkerboard => Datelines::CHECKERBOARD,
            },
            north: self.north(),
            grant_needs_room: self.router.grant_needs_room,
            processor_queues: self.router.processor_queues,
            arbitration: Arbitration { schemes, port_lists },
            ..RouterConfig::default()
        }
    }

    /// The rules for slices and the throttle as the core takes them.
    pub fn options(&self) -> Options<'static> {
        Options {
            reinitialise_slices: self.slices.reinitialise,
            throttle: if self.slices.interlock { Interlock.into() } else { self.throttle },
            ..Options::default()
        }
    }

    /// The same parameters and the rules for slices as the reference model takes them.
    pub fn rules(&self) -> Rules {
        let longest = self.packets().iter().flatten().map(|packet| packet.length).max().unwrap_or(1);
        Rules {
            slices: self.slices,
            throttle: twin(self.throttle, &self.shape, self.router.buffer, longest),
            lines: self.router.lines,
            north_is_minus: self.router.north_is_minus,
            grant_needs_room: self.router.grant_needs_room,
            p_queue_per_direction: self.router.processor_queues == ProcessorQueues::PerDirection,
            ..Rules::default()
        }
    }

    /// The network.
    pub fn network(&self) -> Network {
        Network::new(Fabric::new(self.shape.clone()), self.config()).expect("cases are valid")
    }

    /// The network with another routing function: as many channels as that needs and so many more, and buffers as
    /// much deeper as the case says. `None` where the function is not one of routers, no router has so many channels,
    /// or full meshes have not the lines that it goes by.
    pub fn network_with(&self, function: RoutingFunction, more: u8) -> Option<Network> {
        let (needed, usual) = (RouterConfig::for_routing(&self.shape, function), self.config());
        let channels = needed.channels + more;
        let has_lines = function != RoutingFunction::CrossLine || !self.shape.has_steps();
        if channels > MAX_CHANNELS || !function.is_of_routers() || !has_lines {
            return None;
        }
        let wormhole = [needed.flow_control, usual.flow_control] == [FlowControl::Wormhole; 2];
        let router = RouterConfig {
            routing: function,
            channels,
            buffer: 12 + usual.buffer,
            flow_control: if wormhole { FlowControl::Wormhole } else { FlowControl::CutThrough },
            arbitration: Arbitration::uniform(self.router.scheme),
            ..usual
        };
        Some(Network::new(Fabric::new(self.shape.clone()), router).expect("the function has what it needs"))
    }

    /// What the nodes send, as the core takes it.
    pub fn workload(&self) -> Workload {
        match &self.traffic {
            Traffic::Packets { .. } => {
                let list = PacketList::from_nodes(self.packets()).expect("packets are valid");
                Workload::Packets(match self.routes() {
                    None => list,
                    Some(given) => {
                        let mut routes = Routes::default();
                        for route in given.iter().flatten() {
                            let directions = route.ports.iter().map(|&port| Direction::from_index(port));
                            routes.push(directions, route.channel as u8);
                        }
                        list.with_routes(routes).expect("one route per packet")
                    }
                })
            }
            &Traffic::Load { pattern, thousandths, length, cycles, seed } => {
                let pattern = Pattern::from_name(pattern, &self.shape).expect("names are of the list");
                let destinations = pattern.destinations(&self.shape, seed).expect("drawn where it fits");
                let rate = f64::from(thousandths) / 1000.0;
                let load = OpenLoad::new(destinations, rate, length, cycles, seed);
                Workload::Load(load.expect("loads are valid"))
            }
        }
    }

    /// The packets of every node, those of a load drawn in advance.
    pub fn packets(&self) -> Vec<Vec<Packet>> {
        let mut packets = vec![Vec::new(); self.shape.nodes()];
        match &self.traffic {
            Traffic::Packets { list, .. } => {
                for &(source, packet) in list {
                    packets[source as usize].push(packet);
                }
            }
            Traffic::Load { .. } => {
                let Workload::Load(load) = self.workload() else { unreachable!() };
                for (node, packets) in packets.iter_mut().enumerate() {
                    let mut from = 0;
                    while let Some(packet) = load.packet(node as NodeId, packets.len() as u64, from) {
                        from = packet.start + 1;
                        packets.push(packet);
                    }
                }
            }
        }
        packets
    }

    /// The routes of all packets in the order of [`packets`](Self::packets), if they are given.
    pub fn routes(&self) -> Option<Vec<Vec<Route>>> {
        let Traffic::Packets { routes: Some(seed), .. } = self.traffic else { return None };
        let mut stream = 0;
        let mut draw = |bound: usize| {
            stream += 1;
            draw_below(seed, 0, Purpose::Shuffle, stream, bound as u32) as usize
        };
        let mut routes = Vec::new();
        for (source, packets) in self.packets().iter().enumerate() {
            let route = |packet: &Packet| self.route(source as NodeId, packet.destination, &mut draw);
            routes.push(packets.iter().map(route).collect());
        }
        Some(routes)
    }

    /// Any order of steps, the short or the long way round, sometimes with one step to the side and
    /// back, from any channel.
    fn route(&self, source: NodeId, destination: NodeId, draw: &mut impl FnMut(usize) -> usize) -> Route {
        let shape = &self.shape;
        let mut ports: Vec<usize> = Vec::new();
        for dimension in 0..shape.dimensions() {
            let (from, to) = (shape.coordinate(source, dimension), shape.coordinate(destination, dimension));
            let size = shape.size(dimension);
            if shape.is_full(dimension) {
                ports.extend(shape.across(dimension, from, to).map(Direction::index));
                continue;
            }
            if shape.steps(dimension).is_some() {
                let mut here = source;
                while let Some((direction, _)) =
                    dimension_order::along(shape, dimension, shape.coordinate(here, dimension), to)
                {
                    ports.push(direction.index());
                    here = shape.neighbour(here, direction).expect("ways are of links");
                }
                continue;
            }
            let plus = if shape.wraps(dimension) { draw(2) == 0 } else { to > from };
            let steps = if plus { to + size - from } else { from + size - to } % size;
            let first = shape.direction(dimension, Sign::Plus).index();
            ports.extend(vec![first + usize::from(!plus); steps as usize]);
        }
        for last in (1..ports.len()).rev() {
            ports.swap(last, draw(last + 1));
        }
        // Half way round a circulant either sense leads to the same node, but only one is there.
        let mut here = source;
        for port in &mut ports {
            let there = |port| shape.neighbour(here, Direction::from_index(port));
            if there(*port).is_none() {
                *port ^= 1;
            }
            here = there(*port).expect("the way stays in the shape");
        }
        if draw(4) == 0 {
            let place = draw(ports.len() + 1);
            let here = ports[..place].iter().fold(source, |node, &port| {
                shape.neighbour(node, Direction::from_index(port)).expect("the way stays in the shape")
            });
            let aside = Direction::from_index(draw(shape.directions()));
            if shape.neighbour(here, aside).is_some() {
                ports.splice(place..place, [aside.index(), aside.opposite().index()]);
            }
        }
        let channel = if ports.is_empty() { 0 } else { draw(self.router.channels as usize) };
        Route { ports, channel }
    }
}

fn shuffled(mut list: Vec<u8>, seed: u64, stream: u32) -> Vec<u8> {
    for last in (1..list.len()).rev() {
        let chosen = draw_below(seed, stream, Purpose::Shuffle, last as u64, last as u32 + 1);
        list.swap(last, chosen as usize);
    }
    list
}

impl CaseSpace {
    /// Cases with a fixed list of packets.
    pub fn packet_lists(self) -> impl Strategy<Value = Case> {
        let space = self.clone();
        self.networks().prop_flat_map(move |(shape, router, slices)| {
            let packets = space.traffic(&shape, &router);
            let routes = maybe_seed(space.given_routes, 1);
            let parts = (Just(shape), Just(router), packets, routes, space.throttle(&slices));
            parts.prop_map(move |(shape, router, list, routes, throttle)| {
                let routes = routes.filter(|_| throttle == Throttle::None);
                let traffic = Traffic::Packets { list, routes };
                Case { shape, router, traffic, slices, throttle }.at_ease()
            })
        })
    }

    /// Cases with a random load, from light to beyond saturation.
    pub fn loads(self) -> impl Strategy<Value = Case> {
        let lengths = self.lengths.clone();
        let cycles = self.last_start;
        let space = self.clone();
        self.networks().prop_flat_map(move |(shape, router, slices)| {
            let lengths = fitting(&lengths, &router);
            let load = (patterns(&shape), 20..=1000_u32, lengths, 1..=cycles, any::<u64>()).prop_map(
                |(pattern, thousandths, length, cycles, seed)| Traffic::Load {
                    pattern,
                    thousandths,
                    length,
                    cycles,
                    seed,
                },
            );
            (Just(shape), Just(router), load, space.throttle(&slices)).prop_map(
                move |(shape, router, traffic, throttle)| {
                    Case { shape, router, traffic, slices, throttle }.at_ease()
                },
            )
        })
    }

    /// In one of three cases a throttle, if at all.
    fn throttle(&self, slices: &SliceRules) -> BoxedStrategy<Throttle> {
        if !self.throttles || slices.interlock {
            return Just(Throttle::None).boxed();
        }
        let throttles = THROTTLES.map(|text| text.parse().expect("texts are valid"));
        prop_oneof![2 => Just(Throttle::None), 1 => proptest::sample::select(throttles.to_vec())].boxed()
    }

    fn networks(self) -> impl Strategy<Value = (Shape, Router, SliceRules)> {
        let (sizes, most, meshes) = (self.sizes.clone(), self.most_nodes, self.meshes);
        let dimensions =
            self.dimensions.clone().prop_flat_map(move |count| vec((sizes.clone(), any::<bool>()), count));
        let smallest = *self.sizes.start();
        let shapes = match self.twisted {
            _ if !self.products.is_empty() => proptest::sample::select(self.products)
                .prop_map(|factors| Shape::product(factors).expect("factors fit"))
                .boxed(),
            [] => dimensions.prop_map(move |dimensions| shape(&dimensions, smallest, most, meshes)).boxed(),
            twisted => proptest::sample::select(twisted)
                .prop_map(|sizes| Shape::twisted(sizes).expect("sizes have a twist"))
                .boxed(),
        };
        let flow_control = proptest::sample::select(self.flow_controls.clone());
        let own = || maybe_seed(self.own_arbitration, 2);
        let scheme = if self.router_rules { &ChannelScheme::ALL[..] } else { &ChannelScheme::PUBLISHED };
        let scheme = proptest::sample::select(scheme.to_vec());
        let rarely = || proptest::bool::weighted(if self.router_rules { 0.25 } else { 0.0 });
        let others = [Lines::WrapOnly, Lines::WrapNotFirst, Lines::Checkerboard];
        let lines = match self.router_rules {
            true => {
                prop_oneof![4 => Just(Lines::Both), 3 => proptest::sample::select(others.to_vec())].boxed()
            }
            false => Just(Lines::Both).boxed(),
        };
        let routers = (
            self.channels.clone(),
            self.buffer.clone(),
            self.latency.clone(),
            flow_control,
            scheme,
            (own(), own()),
            (lines, rarely(), rarely(), rarely()),
        )
            .prop_map(|(channels, buffer, latency, flow_control, scheme, own, rules)| Router {
                channels,
                // A bubble needs room for two packets.
                buffer: if flow_control == FlowControl::Bubble { buffer.max(2) } else { buffer },
                latency,
                flow_control,
                lines: rules.0,
                north_is_minus: rules.3,
                grant_needs_room: rules.1,
                processor_queues: if rules.2 { ProcessorQueues::PerDirection } else { ProcessorQueues::One },
                scheme,
                own_schemes: own.0,
                own_lists: own.1,
            });
        let one_in_eight = if self.slice_rules { 0.125 } else { 0.0 };
        let rule = || proptest::bool::weighted(one_in_eight);
        let slices =
            (rule(), rule()).prop_map(|(reinitialise, interlock)| SliceRules { reinitialise, interlock });
        let ties = proptest::sample::select(Ties::NAMES.map(|(_, ties)| ties).to_vec());
        let shapes = (shapes, ties).prop_map(|(shape, ties)| shape.with_ties(ties));
        (shapes, routers, slices)
    }

    fn traffic(
        &self,
        shape: &Shape,
        router: &Router,
    ) -> impl Strategy<Value = Vec<(NodeId, Packet)>> + use<> {
        let nodes = shape.nodes() as NodeId;
        let lengths = fitting(&self.lengths, router);
        prop_oneof![2 => self.scattered(nodes, lengths.clone()), 1 => self.in_unison(nodes, lengths)]
    }

    /// Any packets from anywhere to anywhere at any time.
    fn scattered(&self, nodes: NodeId, lengths: RangeInclusive<u32>) -> BoxedStrategy<Vec<(NodeId, Packet)>> {
        let most = self.packets_per_node * nodes as usize;
        let mixed = if self.mixed_lengths { any::<bool>().boxed() } else { Just(false).boxed() };
        let case = (mixed, lengths.clone(), 0..=self.last_start);
        let packets = case.prop_flat_map(move |(mixed, length, last_start)| {
            let lengths = if mixed { lengths.clone() } else { length..=length };
            // Some sources and destinations are hot, some packets are for their own node.
            let node = || prop_oneof![4 => 0..nodes, 1 => 0..nodes.min(2)];
            let destination = prop_oneof![12 => node().prop_map(Some), 1 => Just(None)];
            let packet = (node(), destination, lengths, 0..=last_start, 0..4_u32).prop_map(
                |(source, destination, length, start, slice)| {
                    (source, Packet { destination: destination.unwrap_or(source), length, start, slice })
                },
            );
            vec(packet, 0..=most)
        });
        packets.boxed()
    }

    /// Every node sends the same number of packets to the node a fixed distance ahead, at intervals
    /// and with a delay of its own.
    fn in_unison(&self, nodes: NodeId, lengths: RangeInclusive<u32>) -> BoxedStrategy<Vec<(NodeId, Packet)>> {
        let slices = 1..=self.packets_per_node as u32;
        let delays = vec(prop_oneof![2 => Just(0), 1 => 0..=self.last_start], nodes as usize);
        let packets = (0..nodes, slices, lengths, 0..=self.last_start, delays).prop_map(
            move |(distance, slices, length, interval, delays)| {
                let packet = |source: NodeId, slice: u32| Packet {
                    destination: (source + distance) % nodes,
                    length,
                    start: u64::from(slice) * interval + delays[source as usize],
                    slice,
                };
                let of_node = |source| (0..slices).map(move |slice| (source, packet(source, slice)));
                (0..nodes).flat_map(of_node).collect()
            },
        );
        packets.boxed()
    }
}

/// Any pattern that is defined on a shape, random destinations in half of all cases.
fn patterns(shape: &Shape) -> BoxedStrategy<&'static str> {
    let fits =
        |name: &&str| Pattern::from_name(name, shape).is_ok_and(|it| it.destinations(shape, 0).is_ok());
    let all: Vec<&str> = Pattern::NAMES.into_iter().filter(fits).collect();
    prop_oneof![Just("rand"), proptest::sample::select(all)].boxed()
}

/// In so many quarters of all cases a seed, if at all.
fn maybe_seed(at_all: bool, quarters: u32) -> BoxedStrategy<Option<u64>> {
    if !at_all {
        return Just(None).boxed();
    }
    prop_oneof![4 - quarters => Just(None), quarters => any::<u64>().prop_map(Some)].boxed()
}

/// The lengths that fit the router: where need be, a buffer holds a whole packet, with bubbles two.
fn fitting(lengths: &RangeInclusive<u32>, router: &Router) -> RangeInclusive<u32> {
    let most = match router.flow_control {
        FlowControl::Wormhole if router.grant_needs_room => u32::from(router.buffer),
        FlowControl::Wormhole => u32::MAX,
        FlowControl::CutThrough => u32::from(router.buffer),
        FlowControl::Bubble => u32::from(router.buffer) / 2,
    };
    let least = (*lengths.start()).min(most);
    least..=(*lengths.end()).min(most)
}

fn shape(dimensions: &[(u32, bool)], smallest: u32, most: u32, meshes: bool) -> Shape {
    let (mut sizes, mut wraps, mut nodes) = (Vec::new(), Vec::new(), 1);
    for &(size, wrap) in dimensions {
        let size = if nodes * size <= most { size } else { smallest };
        if nodes * size > most && !sizes.is_empty() {
            break;
        }
        nodes *= size;
        sizes.push(size);
        wraps.push(wrap || !meshes);
    }
    Shape::new(&sizes, &wraps).expect("sizes are at least 2")
}

/// So many cases, half of them where a sample will do; PROPTEST_CASES=2560 makes them ten times as many.
pub fn cases(usual: u32) -> ProptestConfig {
    let beside_the_test = FileFailurePersistence::WithSource("proptest-regressions");
    let cases = drawn(usual);
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(beside_the_test)),
        ..ProptestConfig::default()
    }
}
