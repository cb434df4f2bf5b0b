//! Every routing function held against what it claims of itself, on every pair of nodes and every
//! state of the network.

use flitloom_core::{
    fabric::{Direction, Fabric, Factor, NodeId, Shape, Steps},
    router::RouterConfig,
    routing::{
        At, ChannelRule, Datelines, Freedom, Header, Line, Output, Place, RoutingFunction, Seen,
        dimension_order_walk,
    },
    traffic::{Purpose, draw},
};
use petgraph::{algo::is_cyclic_directed, graph::DiGraph};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn shapes() -> Vec<Shape> {
    let torus = |sizes: &[u32]| Shape::torus(sizes).unwrap();
    let product = |factors: &[Factor]| Shape::product(factors).unwrap();
    vec![
        torus(&[7]),
        torus(&[3, 3]),
        torus(&[4, 4]),
        torus(&[5, 2]),
        torus(&[6, 5]),
        torus(&[3, 4, 3]),
        Shape::new(&[5, 4], &[true, false]).unwrap(),
        Shape::mesh(&[4, 3]).unwrap(),
        product(&[Factor::Full(4), Factor::Full(5)]),
        product(&[Factor::Full(4), Factor::Ring(6)]),
        product(&[Factor::Ring(4), Factor::Full(3), Factor::Line(2)]),
        product(&[Factor::Circulant(13, Steps::ascending([1, 5]))]),
        product(&[Factor::Circulant(8, Steps::ascending([1, 3])), Factor::Ring(3)]),
        product(&[Factor::Line(2), Factor::Circulant(10, Steps::ascending([2, 3, 5]))]),
    ]
}

/// Readings of the datelines under which functions are used.
fn readings() -> [Datelines; 4] {
    Datelines::NAMES.map(|(_, reading)| reading)
}

fn places(shape: &Shape) -> impl Iterator<Item = Place<'_>> {
    readings().into_iter().map(|lines| Place { shape, rule: ChannelRule::new(8, lines) })
}

/// Headers of all pairs; with a function that draws, for every node and both of two kinds.
fn headers(place: Place, function: RoutingFunction) -> Vec<Header> {
    let nodes = place.shape.nodes() as NodeId;
    let share = u64::MAX / u64::from(nodes);
    let draws = if function.claims(place, false).draws {
        (0..nodes).map(|node| share * u64::from(node) + 98 + u64::from(node % 3)).collect()
    } else {
        vec![0]
    };
    let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
    pairs
        .flat_map(|(from, to)| draws.iter().map(move |&drawn| Header { drawn, ..Header::new(from, to, 8) }))
        .collect()
}

/// All states a header can come to, with the outputs it may ask for there.
fn reachable(
    function: RoutingFunction,
    place: Place,
    header: &Header,
) -> BTreeMap<(NodeId, usize, u8), Vec<Output>> {
    let key = |at: At| (at.node, at.along.map_or(usize::MAX, Direction::index), at.channel);
    let mut states = BTreeMap::new();
    let mut open = vec![At::source(header.source)];
    while let Some(at) = open.pop() {
        if states.contains_key(&key(at)) {
            continue;
        }
        let options = function.options(place, at, header);
        for output in &options {
            if let Some(direction) = output.direction {
                let node = place.shape.neighbour(at.node, direction).expect("ways stay in the shape");
                open.push(At { node, along: Some(direction), channel: output.channel });
            }
        }
        states.insert(key(at), options);
    }
    states
}

/// Functions that need nothing but a header.
fn functions() -> impl Iterator<Item = RoutingFunction> {
    RoutingFunction::ALL.iter().copied().filter(|function| function.is_of_routers())
}

#[test]
fn names_and_functions_belong_together() {
    for (&function, &name) in RoutingFunction::ALL.iter().zip(RoutingFunction::NAMES) {
        assert_eq!((function.name(), name.parse()), (name, Ok(function)));
        assert_eq!(function.long_name().parse(), Ok(function));
        assert_eq!(RoutingFunction::ALL.iter().filter(|other| other.name() == name).count(), 1);
        assert!(!function.summary().is_empty());
    }
    let error = "best".parse::<RoutingFunction>().unwrap_err().to_string();
    assert!(error.contains("\"best\"") && error.contains("valiant"), "{error}");
}

#[test]
fn every_way_ends_at_its_destination() {
    for shape in shapes() {
        for (function, place) in functions().flat_map(|f| places(&shape).map(move |place| (f, place))) {
            let claims = function.claims(place, false);
            for header in headers(place, function) {
                for ((node, _, _), options) in reachable(function, place, &header) {
                    assert!(!options.is_empty());
                    assert!(!claims.oblivious || options.len() == 1, "{function}: {options:?}");
                    let left = |node| shape.distance(node, header.destination);
                    for output in options {
                        let most = if claims.oblivious { claims.channels } else { place.rule.channels() };
                        assert!(output.channel < most, "{function}: {output}");
                        let Some(direction) = output.direction else {
                            assert_eq!(node, header.destination);
                            continue;
                        };
                        let next = shape.neighbour(node, direction).unwrap();
                        assert!(!claims.minimal || left(next) < left(node), "{function}");
                    }
                }
            }
        }
    }
}

/// With as many channels as are claimed to be needed, channels are not waited for in a circle; of
/// adaptive functions the escape channels, also where adaptive hops lie between two of them.
#[test]
fn claimed_freedom_is_an_acyclic_graph() {
    let mut tested = 0;
    for shape in shapes() {
        let fabric = Fabric::new(shape.clone());
        for (function, place) in functions().flat_map(|f| places(&shape).map(move |place| (f, place))) {
            let Some(freedom) = function.claims(place, false).freedom else { continue };
            let layer = |output: &Output| match freedom {
                Freedom::Escape(channels) => output.channel < channels,
                _ => true,
            };
            let mut graph = BTreeSet::new();
            for header in headers(place, function) {
                graph.extend(waits(function, place, &fabric, &header, layer));
            }
            assert!(!has_cycle(&graph), "{function} on {shape:?} with {:?}", place.rule);
            tested += 1;
        }
    }
    assert_eq!(tested, shapes().len() * 4 * functions().count());
}

/// The checkerboard on every even and odd torus up to 16x16, in 3 channels: an uncounted crossing has no channel of
/// its ring before it. Without datelines rings of 5 and more close, so that the check can fail.
#[test]
fn a_checkerboard_is_free_of_deadlock_on_every_torus() {
    let sizes = (2..=16).flat_map(|x| (2..=16).map(move |y| [x, y]));
    sizes.par_bridge().for_each(|sizes| {
        let shape = Shape::torus(&sizes).unwrap();
        let fabric = Fabric::new(shape.clone());
        let cyclic = |lines: Datelines| {
            let rule = ChannelRule::new(3, lines);
            let nodes = shape.nodes() as NodeId;
            let mut graph = BTreeSet::<Wait>::new();
            for (from, to) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                let mut held = None;
                for hop in dimension_order_walk(&fabric, rule, from, to) {
                    let wanted = (hop.link, hop.channel);
                    assert!(hop.channel < 3);
                    graph.extend(held.replace(wanted).map(|held| (held, wanted)));
                }
            }
            has_cycle(&graph)
        };
        assert!(!cyclic(Datelines::CHECKERBOARD), "{sizes:?}");
        if sizes[0] == sizes[1] {
            assert_eq!(cyclic(Datelines::NONE), sizes[0] >= 5, "{sizes:?}");
        }
    });
}

/// Dimension order on every circulant of up to 14 nodes with up to three steps, alone and beside a ring, in as many
/// channels as it is said to need, with all readings of datelines. Without datelines many have circles, so that the check
/// can fail.
#[test]
fn circulants_are_free_of_deadlock() {
    let factors: Vec<Vec<Factor>> = (2..=14_u32).flat_map(circulants).collect();
    let cyclic = factors.par_iter().map(|factors| {
        let shape = Shape::product(factors).unwrap();
        let fabric = Fabric::new(shape.clone());
        let needed = RouterConfig::channels_needed(&shape);
        let cyclic = |lines: Datelines| {
            let rule = ChannelRule::new(8, lines);
            let nodes = shape.nodes() as NodeId;
            let mut graph = BTreeSet::<Wait>::new();
            for (from, to) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                let mut held = None;
                let mut hops = 0;
                for hop in dimension_order_walk(&fabric, rule, from, to) {
                    let wanted = (hop.link, hop.channel);
                    assert!(hop.channel < needed, "{factors:?}");
                    graph.extend(held.replace(wanted).map(|held| (held, wanted)));
                    hops += 1;
                }
                assert_eq!(hops, shape.distance(from, to), "{factors:?}");
            }
            has_cycle(&graph)
        };
        for lines in readings() {
            assert!(!cyclic(lines), "{factors:?}, {lines:?}");
        }
        cyclic(Datelines::NONE)
    });
    let cyclic: Vec<bool> = cyclic.collect();
    assert!(cyclic.iter().filter(|&&cyclic| cyclic).count() > cyclic.len() / 5);
}

/// All circulants of a size with up to three steps that join all nodes, alone, and small ones beside a ring.
fn circulants(size: u32) -> Vec<Vec<Factor>> {
    let half = size / 2;
    let chosen = |mask: u32| (1..=half).filter(move |step| mask >> (step - 1) & 1 == 1).collect::<Vec<_>>();
    let masks = (1..1_u32 << half).filter(|mask| mask.count_ones() <= 3);
    let factors = masks.map(|mask| vec![Factor::Circulant(size, Steps::new(&chosen(mask)).unwrap())]);
    let joined: Vec<_> = factors.filter(|factors| Shape::product(factors).is_ok()).collect();
    let beside =
        joined.iter().filter(|_| size <= 7).map(|factors| [&factors[..], &[Factor::Ring(4)]].concat());
    joined.iter().cloned().chain(beside).collect()
}

/// A channel held and one waited for, each a link and its virtual channel.
type Wait = ((u32, u8), (u32, u8));

/// Whether channels, each of one link, wait for each other in a circle.
fn has_cycle(waits: &BTreeSet<Wait>) -> bool {
    let vertex = |(link, channel): (u32, u8)| link * 8 + u32::from(channel);
    let edges = waits.iter().map(|&(held, wanted)| (vertex(held), vertex(wanted)));
    is_cyclic_directed(&DiGraph::<(), (), u32>::from_edges(edges))
}

/// Channels of a layer that a packet may hold while it waits for another one of it.
fn waits(
    function: RoutingFunction,
    place: Place,
    fabric: &Fabric,
    header: &Header,
    layer: impl Fn(&Output) -> bool,
) -> BTreeSet<Wait> {
    let states = reachable(function, place, header);
    let mut edges = BTreeSet::new();
    for (&(node, _, _), options) in &states {
        for held in options.iter().filter(|output| layer(output)) {
            let Some(direction) = held.direction else { continue };
            // Follow the packet from this channel over any others to the next ones of the layer.
            let next = fabric.shape().neighbour(node, direction).unwrap();
            let mut open = vec![(next, direction.index(), held.channel)];
            let mut seen = BTreeSet::new();
            while let Some(state) = open.pop() {
                if !seen.insert(state) {
                    continue;
                }
                for output in &states[&state] {
                    let Some(direction) = output.direction else { continue };
                    let link = fabric.link(state.0, direction);
                    if layer(output) {
                        edges.insert((
                            (fabric.link(node, direction_of(held)), held.channel),
                            (link, output.channel),
                        ));
                    } else {
                        let there = fabric.shape().neighbour(state.0, direction).unwrap();
                        open.push((there, direction.index(), output.channel));
                    }
                }
            }
        }
    }
    edges
}

fn direction_of(output: &Output) -> Direction {
    output.direction.expect("a link")
}

/// Without datelines a ring closes: the test above can fail, and no freedom is claimed.
#[test]
fn rings_without_datelines_are_not_claimed_to_be_free() {
    let shape = Shape::torus(&[5, 5]).unwrap();
    let fabric = Fabric::new(shape.clone());
    let place = Place { shape: &shape, rule: ChannelRule::new(8, Datelines::NONE) };
    for function in functions() {
        if matches!(function.claims(place, false).freedom, Some(Freedom::Escape(_))) {
            continue;
        }
        let mut graph = BTreeSet::new();
        for header in headers(place, function) {
            graph.extend(waits(function, place, &fabric, &header, |_| true));
        }
        assert!(has_cycle(&graph), "{function}");
        assert!(!function.is_deadlock_free(place, false), "{function}");
    }
    assert!(RoutingFunction::DimensionOrder.is_deadlock_free(place, true), "with bubbles");
    assert!(!RoutingFunction::Given.is_deadlock_free(place, true));
    let few = Place { shape: &shape, rule: ChannelRule::new(2, Datelines::BOTH) };
    assert!(!RoutingFunction::DimensionOrder.is_deadlock_free(few, false));
}

/// A router whose outputs all look as a table says: owner, free space of 16 and full buffers ahead.
struct Table<'a>(&'a dyn Fn(Direction, u8) -> (bool, u32, u32));

impl Seen for Table<'_> {
    fn owned(&self, direction: Direction, channel: u8) -> bool {
        (self.0)(direction, channel).0
    }

    fn held(&self, direction: Direction, channel: u8) -> u32 {
        16 - (self.0)(direction, channel).1
    }

    fn free(&self, direction: Direction, channel: u8) -> u32 {
        (self.0)(direction, channel).1
    }

    fn full_ahead(&self, direction: Direction, channel: u8, _hops: u32) -> u32 {
        (self.0)(direction, channel).2
    }
}

#[test]
fn a_choice_is_always_one_of_the_options() {
    for shape in shapes() {
        for (function, place) in functions().flat_map(|f| places(&shape).map(move |place| (f, place))) {
            for header in headers(place, function) {
                let state = |direction: Direction, channel: u8| {
                    let drawn = draw(
                        7,
                        header.source,
                        Purpose::Gap,
                        (direction.index() * 8) as u64 + u64::from(channel),
                    );
                    (drawn & 3 == 0, (drawn >> 8) as u32 % 17, (drawn >> 20) as u32 % 5)
                };
                for (&(node, along, channel), options) in &reachable(function, place, &header) {
                    let along = (along < usize::MAX).then(|| Direction::from_index(along));
                    let at = At { node, along, channel };
                    if let Some(choice) = function.choice(place, at, &header, &Table(&state)) {
                        assert!(options.contains(&choice), "{function}");
                    } else {
                        assert!(!function.claims(place, false).oblivious);
                    }
                }
            }
        }
    }
}

/// The choices of both adaptive functions at one router, case by case written out by hand.
#[test]
fn adaptive_choices_by_hand() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let place = Place { shape: &shape, rule: ChannelRule::new(3, Datelines::WRAP_ONLY) };
    // From (0, 0) to (2, 1): +x and +y are productive.
    let (header, at) = (Header::new(0, 10, 8), At::source(0));
    let choose = |function: RoutingFunction, table: &dyn Fn(Direction, u8) -> (bool, u32, u32)| {
        function.choice(place, at, &header, &Table(table)).map(|output| output.to_string())
    };
    let (sa, cl) = (RoutingFunction::SimpleAdaptive, RoutingFunction::CrossLine);
    let is_x = |direction: Direction| direction.dimension() == 0;
    let more_space_in_y = |direction, _| (false, if is_x(direction) { 9 } else { 10 }, 0);
    assert_eq!(choose(sa, &more_space_in_y).as_deref(), Some("+y vc2"));
    let even = |_, _| (false, 16, 1);
    assert_eq!(choose(sa, &even).as_deref(), Some("+x vc2"));
    assert_eq!(choose(cl, &even).as_deref(), Some("+x vc2"));
    let busy_in_y = |direction, _| (false, if is_x(direction) { 9 } else { 10 }, u32::from(!is_x(direction)));
    assert_eq!(choose(sa, &busy_in_y).as_deref(), Some("+y vc2"));
    assert_eq!(choose(cl, &busy_in_y).as_deref(), Some("+x vc2"));
    let no_room = |_, _| (false, 7, 0);
    assert_eq!(choose(sa, &no_room).as_deref(), Some("+x vc0"), "the escape asks for no room");
    let owned = |_, channel| (channel == 2, 16, 0);
    assert_eq!(choose(cl, &owned).as_deref(), Some("+x vc0"));
    assert_eq!(choose(cl, &|_, _| (true, 16, 0)), None);
}

/// The escape channel is 1 from the wrap line on, also after adaptive hops over it.
#[test]
fn escapes_remember_the_wrap_line() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let place = Place { shape: &shape, rule: ChannelRule::new(3, Datelines::WRAP_ONLY) };
    let header = Header::new(6, 1, 8);
    let east = Direction::from_index(0);
    let escape = |node, along| {
        let options = RoutingFunction::SimpleAdaptive.options(place, At { node, along, channel: 2 }, &header);
        options.iter().last().map(|output| output.channel)
    };
    assert_eq!([escape(6, None), escape(7, Some(east)), escape(0, Some(east))], [Some(0), Some(1), Some(1)]);
}

/// A walk is what the function says hop by hop, and its channels are the count of counted lines.
#[test]
fn walks_count_datelines() {
    for shape in shapes() {
        let fabric = Fabric::new(shape.clone());
        for place in places(&shape) {
            let nodes = shape.nodes() as NodeId;
            for (from, to) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                let mut at = At::source(from);
                let mut lines = 0;
                for hop in dimension_order_walk(&fabric, place.rule, from, to) {
                    let options =
                        RoutingFunction::DimensionOrder.options(place, at, &Header::new(from, to, 8));
                    let only = Output { direction: Some(hop.direction), channel: hop.channel };
                    assert_eq!(options, [only]);
                    let sum: u32 = (0..shape.dimensions()).map(|k| shape.coordinate(at.node, k)).sum();
                    let first = at.along.is_none();
                    let counts = match (place.rule.datelines(), Line::crossed(&shape, at.node, hop.direction))
                    {
                        (_, None) => false,
                        (Datelines::BOTH, _) => true,
                        (Datelines::WRAP_ONLY, line) => line == Some(Line::Wrap),
                        (Datelines::WRAP_UNLESS_INJECTED, line) => line == Some(Line::Mid) || !first,
                        (Datelines::CHECKERBOARD, _) => !first || sum.is_multiple_of(2),
                        other => unreachable!("{other:?}"),
                    };
                    lines += u8::from(counts);
                    assert_eq!(hop.channel, lines);
                    let node = shape.neighbour(at.node, hop.direction).unwrap();
                    at = At { node, along: Some(hop.direction), channel: hop.channel };
                }
                assert_eq!(at.node, to);
            }
        }
    }
}
