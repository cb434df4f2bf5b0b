//! Runs in several parts: whatever their number, the same bits as in one.

use crate::common::{CaseSpace, cases};
use flitloom_core::{
    bits::InstructionSet,
    engine::{EngineKind, Network, Options, Outcome, Setup, Simulation, SimulationError},
    fabric::{Direction, Fabric, NodeId, Shape, Sign},
    probe::{Histogram, LinkOccupation, Window, Windows},
    router::{Arbitration, FlowControl, ProcessorQueues, RouterConfig, Variant},
    routing::RoutingFunction,
    throttle::{Interlock, PathTurn, Spth, Throttle},
    traffic::{
        MessageGraph, OpenLoad, Operation, OperationKind, Packet, PacketList, Pattern, Purpose, RouteBook,
        Workload, draw_below,
    },
};
use proptest::prelude::*;
use std::sync::{Arc, atomic::AtomicBool};

/// How a run ended, and what it left behind.
#[derive(Debug, PartialEq)]
struct End {
    result: Result<(), SimulationError>,
    now: u64,
    totals: Option<Outcome>,
    occupancy: Vec<u16>,
    links: Option<LinkOccupation>,
    windows: Option<Seen>,
}

/// What happened in windows.
#[derive(Debug, PartialEq)]
struct Seen {
    closed: Vec<Window>,
    stretch: (u64, u64),
    of_stretch: (u64, u64),
    by_source: Vec<u64>,
    ages: [Histogram; 2],
    /// Cycles of a slot; packets generated and sent, busy cycles and flits for nodes by slot.
    queues: (u64, Vec<u32>, Vec<u32>, Vec<u64>, Vec<u64>),
}

impl Seen {
    fn of(windows: &Windows) -> Self {
        // Histograms that hold the same may have room for more.
        let plain = |ages: &Histogram| {
            let mut plain = Histogram::default();
            for (least, count) in ages.classes() {
                (0..count).for_each(|_| plain.add(least));
            }
            plain
        };
        Self {
            closed: windows.closed().to_vec(),
            stretch: windows.stretch(),
            of_stretch: windows.of_stretch(),
            by_source: windows.delivered_by_source().to_vec(),
            ages: [plain(windows.ages()), plain(windows.network_ages())],
            queues: {
                let queues = windows.queues();
                let (generated, sent) = (queues.generated().to_vec(), queues.sent().to_vec());
                (queues.cycles(), generated, sent, windows.busy(), queues.generated_for().to_vec())
            },
        }
    }
}

impl End {
    fn of(held: &mut Simulation, result: Result<(), SimulationError>) -> Self {
        Self {
            result,
            now: held.now(),
            totals: held.totals().ok(),
            occupancy: held.occupancy(),
            links: held.links(),
            windows: held.windows().map(|windows| Seen::of(windows)),
        }
    }
}

/// Shapes whose last dimension has rows for many parts.
fn long() -> CaseSpace {
    CaseSpace { sizes: 2..=9, most_nodes: 120, packets_per_node: 3, ..CaseSpace::default() }
}

/// Twisted tori, whose steps over an edge of a short dimension lead to opposite rows, where the last dimension is
/// long, or elsewhere within the row behind.
fn twisted() -> CaseSpace {
    CaseSpace {
        twisted: &[
            &[4, 8],
            &[8, 4],
            &[2, 4],
            &[4, 2],
            &[3, 12],
            &[2, 2, 8],
            &[2, 4, 4],
            &[4, 2, 4],
            &[4, 4, 2],
            &[3, 3, 6],
            &[6, 3, 6],
            &[16, 4],
        ],
        throttles: false,
        given_routes: false,
        packets_per_node: 3,
        ..CaseSpace::default()
    }
}

fn begin(
    network: &Network,
    workload: &Workload,
    rules: &Options<'static>,
    parts: usize,
    set: InstructionSet,
) -> Result<Simulation, SimulationError> {
    let setup = Setup {
        engine: Some(EngineKind::General),
        set: Some(set),
        links: true,
        parts,
        options: *rules,
        windows: (rules.seed % 2 == 1).then_some(7),
        ..Setup::default()
    };
    Simulation::new(network, workload, &setup)
}

/// Runs in parts equal the run in one at two moments and at the end; saved in between, they are taken
/// up in other parts.
fn check(
    network: &Network,
    workload: &Workload,
    rules: &Options<'static>,
    stops: [u64; 2],
) -> Result<(), TestCaseError> {
    let rows = network.fabric().shape().sizes().last().map_or(1, |&size| size as usize);
    let sets: Vec<_> = InstructionSet::ALL.into_iter().filter(|set| set.is_available()).collect();
    let mut expected: Vec<End> = Vec::new();
    let mut saved: Option<Vec<u8>> = None;
    for (turn, parts) in [1, 2, 3, 5].into_iter().enumerate() {
        let set = |turn: usize| sets[turn % sets.len()];
        let mut held = match begin(network, workload, rules, parts, set(turn)) {
            Ok(held) => held,
            Err(error) => {
                prop_assert!(turn == 0, "{parts} parts: {error}");
                return Ok(());
            }
        };
        prop_assert_eq!(held.parts(), parts.min(rows));
        let mut ends = Vec::new();
        for stop in stops.map(Some).into_iter().chain([None]) {
            let options = Options { stop_at: stop, ..*rules };
            let result = held.run(&options);
            let failed = result.is_err();
            ends.push(End::of(&mut held, result));
            if failed {
                break;
            }
            if ends.len() == 1 && turn > 0 {
                // Another number of parts takes it up; so does a copy.
                let other = saved.replace(held.save());
                let state = other.unwrap_or_else(|| held.save());
                let mut restored = begin(network, workload, rules, parts, set(turn + 1)).unwrap();
                restored.restore(state).unwrap();
                let seen = End::of(&mut restored, Ok(()));
                prop_assert_eq!(&seen, &ends[0], "restored in {} parts", parts);
                held = restored.clone();
            } else if ends.len() == 1 {
                // The first one goes on.
                saved = Some(held.save());
            }
            if ends.len() == 1 {
                // Some of what comes is measured.
                let now = held.now();
                if let Some(windows) = held.windows() {
                    windows.measure(now + 3, now + 40);
                }
            }
        }
        if turn == 0 {
            expected = ends;
        } else {
            prop_assert_eq!(&ends, &expected, "{} parts", parts);
        }
    }
    Ok(())
}

/// A packet that starts long after the last flit moved and may not enter ends the run in its own cycle.
#[test]
fn a_start_that_must_wait_counts_in_parts_as_in_one() {
    let shape = Shape::torus(&[3, 4]).unwrap();
    let packet = |start| Packet { destination: 1, length: 3, start, slice: 0 };
    let lists = (0..12).map(|node| if node == 0 { vec![packet(0), packet(25)] } else { vec![] });
    let workload = Workload::Packets(PacketList::from_nodes(lists).unwrap());
    let options = Options { throttle: Interlock.into(), ..Options::default() };
    for processor_queues in [ProcessorQueues::One, ProcessorQueues::PerDirection] {
        let router = RouterConfig { processor_queues, ..RouterConfig::for_shape(&shape) };
        let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
        for parts in 1..=3 {
            let set = InstructionSet::Word;
            let mut held = begin(&network, &workload, &options, parts, set).unwrap();
            let expected = Err(SimulationError::Interlocked { cycle: 25, node: 0, count: 1 });
            assert_eq!(held.run(&options), expected, "{parts} parts");
        }
    }
}

/// Ranks that compute, and send to ranks some way ahead, again and again.
fn graph(nodes: u32, seed: u64) -> MessageGraph {
    let draw = |stream: u32, index: u64, bound: u32| draw_below(seed, stream, Purpose::Shuffle, index, bound);
    let mut order: Vec<NodeId> = (0..nodes).collect();
    for last in (1..nodes).rev() {
        order.swap(last as usize, draw(0, last.into(), last + 1) as usize);
    }
    let ranks = 2 + draw(1, 0, nodes - 1);
    order.truncate(ranks as usize);
    let mut operations: Vec<Vec<Operation>> = vec![Vec::new(); ranks as usize];
    for round in 0..4 {
        let ahead = 1 + draw(2, round, ranks - 1);
        let flits = 1 + u64::from(draw(3, round, 40));
        for rank in 0..ranks {
            let own = &mut operations[rank as usize];
            let before: Vec<u32> = (0..own.len() as u32).rev().take(2).collect();
            let cycles = u64::from(draw(4 + rank, round, 90));
            own.push(Operation { kind: OperationKind::Compute { cycles }, requires: before.clone() });
            let computed = own.len() as u32 - 1;
            let kind = OperationKind::Send { to: (rank + ahead) % ranks, flits, tag: round as u32 };
            own.push(Operation { kind, requires: vec![computed] });
            let from = (rank + ranks - ahead) % ranks;
            let kind = OperationKind::Receive { from, flits, tag: round as u32 };
            own.push(Operation { kind, requires: before });
        }
    }
    MessageGraph::new(operations, order, 7).expect("graphs are valid")
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn parts_do_what_one_does(
        case in prop_oneof![long().packet_lists(), long().loads()],
        stops in (0_u64..40, 0_u64..60),
        seed in 0..2_u64,
    ) {
        let stops = [stops.0, stops.0 + stops.1];
        check(&case.network(), &case.workload(), &Options { seed, ..case.options() }, stops)?;
    }

    #[test]
    fn twisted_tori_and_products_run_in_parts_as_in_one(
        case in prop_oneof![
            twisted().packet_lists(),
            twisted().loads(),
            CaseSpace::products().packet_lists(),
            CaseSpace::products().loads(),
        ],
        throttle in proptest::sample::select(&["none", "alo", "alo:any", "pace:7", "global:3"][..]),
        stops in (0_u64..40, 0_u64..60),
        seed in 0..2_u64,
    ) {
        let stops = [stops.0, stops.0 + stops.1];
        let mut rules = Options { seed, ..case.options() };
        if rules.throttle == Throttle::None {
            rules.throttle = throttle.parse().unwrap();
        }
        check(&case.network(), &case.workload(), &rules, stops)?;
    }

    #[test]
    fn headers_choose_in_parts_as_in_one(
        case in prop_oneof![2 => long().loads(), 1 => CaseSpace::products().loads()],
        function in proptest::sample::select(RoutingFunction::ALL),
        stops in (0_u64..40, 0_u64..60),
        seed in any::<u64>(),
    ) {
        let Some(network) = case.network_with(function, 0) else { return Ok(()) };
        let stops = [stops.0, stops.0 + stops.1];
        check(&network, &case.workload(), &Options { seed, ..case.options() }, stops)?;
    }

    #[test]
    fn headers_that_turn_in_other_parts_are_held_as_in_one(
        case in long().loads(),
        function in proptest::sample::select(RoutingFunction::ALL),
        (release, margin, behind) in (20..60_u64, 0..4_u16, 1..4_u16),
        stops in (0_u64..40, 0_u64..60),
        seed in any::<u64>(),
    ) {
        let Some(network) = case.network_with(function, 0) else { return Ok(()) };
        let (release, margin, behind) = (Some(release), Some(margin), Some(behind));
        let throttle = PathTurn { release, margin, behind, shared: false }.into();
        let stops = [stops.0, stops.0 + stops.1];
        check(&network, &case.workload(), &Options { seed, throttle, ..case.options() }, stops)?;
    }
}

proptest! {
    // Fewer, since what parts tell each other costs more.
    #![proptest_config(cases(10))]

    #[test]
    fn parts_wait_for_each_others_messages(
        sizes in proptest::collection::vec(3_u32..8, 1..=2),
        wraps in any::<bool>(),
        twist in proptest::option::weighted(0.3, proptest::sample::select(twisted().twisted)),
        seed in any::<u64>(),
        stops in (0_u64..80, 0_u64..300),
    ) {
        let shape = match twist {
            Some(sizes) => Shape::twisted(sizes).unwrap(),
            None => Shape::new(&sizes, &vec![wraps; sizes.len()]).unwrap(),
        };
        let workload = Workload::Graph(graph(shape.nodes() as u32, seed));
        let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
        check(&network, &workload, &Options { seed, ..Options::default() }, [stops.0, stops.0 + stops.1])?;
    }

    #[test]
    fn registers_are_sent_in_parts_as_in_one(
        case in prop_oneof![
            long().packet_lists(),
            long().loads(),
            twisted().packet_lists(),
            twisted().loads(),
            CaseSpace::products().packet_lists(),
            CaseSpace::products().loads(),
        ],
        stops in (0_u64..40, 0_u64..60),
        seed in 0..2_u64,
    ) {
        let channels = RouterConfig::channels_needed(&case.shape).max(case.router.channels);
        let router = RouterConfig {
            variant: Variant::Registers,
            channels,
            buffer: case.router.buffer.max(2),
            latency: 1,
            flow_control: FlowControl::Wormhole,
            grant_needs_room: false,
            arbitration: Arbitration::uniform(case.router.scheme),
            ..case.config()
        };
        let network = Network::new(Fabric::new(case.shape.clone()), router).unwrap();
        let stops = [stops.0, stops.0 + stops.1];
        check(&network, &case.workload(), &Options { seed, ..case.options() }, stops)?;
    }

    #[test]
    fn closed_sources_hear_of_other_parts(
        case in prop_oneof![2 => long().loads(), 1 => twisted().loads(), 1 => CaseSpace::products().loads()],
        outstanding in 1_u32..5,
        stops in (0_u64..40, 0_u64..60),
        seed in 0..2_u64,
    ) {
        let Workload::Load(load) = case.workload() else { return Ok(()) };
        let workload = Workload::Load(load.closed(outstanding).unwrap());
        let stops = [stops.0, stops.0 + stops.1];
        check(&case.network(), &workload, &Options { seed, ..case.options() }, stops)?;
    }

    #[test]
    fn registers_of_busy_buffers_share_links_in_parts_as_in_one(
        case in long().loads(),
        throttle in prop_oneof![
            (0..4_u16, 1..5_u16, any::<bool>()).prop_map(|(margin, length, own)| {
                Spth { margin, length: Some(length), own, shared: true }.into()
            }),
            (1..60_u64, 0..4_u16, 1..4_u16).prop_map(|(release, margin, behind)| {
                let (release, margin, behind) = (Some(release), Some(margin), Some(behind));
                PathTurn { release, margin, behind, shared: true }.into()
            }),
        ],
        stops in (0_u64..40, 0_u64..60),
        seed in 0..2_u64,
    ) {
        let router = RouterConfig { buffer: case.router.buffer.max(4), ..case.config() };
        let network = Network::new(Fabric::new(case.shape.clone()), router).unwrap();
        let stops = [stops.0, stops.0 + stops.1];
        let rules: Options = Options { seed, throttle, ..case.options() };
        check(&network, &case.workload(), &rules, stops)?;
    }
}

/// The last dimension first, always the plus way round.
#[derive(Debug)]
struct Around(Shape);

impl RouteBook for Around {
    fn covers(&self, _: NodeId, _: NodeId) -> bool {
        true
    }

    fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>> {
        let Self(shape) = self;
        let steps = |dimension: usize| {
            let size = shape.size(dimension);
            let coordinate = |node| shape.coordinate(node, dimension);
            let count = (coordinate(destination) + size - coordinate(source)) % size;
            vec![Direction::new(dimension, Sign::Plus); count as usize]
        };
        Some((0..shape.dimensions()).rev().flat_map(steps).collect())
    }
}

#[test]
fn routes_that_are_looked_up_go_on_in_other_parts() {
    let shape = Shape::torus(&[4, 9]).unwrap();
    let router = RouterConfig {
        channels: 1,
        buffer: 12,
        flow_control: FlowControl::Bubble,
        ..RouterConfig::default()
    };
    let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
    let random = Pattern::Random.destinations(&shape, 3).unwrap();
    let load = OpenLoad::new(random, 0.3, 6, 200, 3).unwrap();
    let workload = Workload::Load(load.with_book(Arc::new(Around(shape))));
    check(&network, &workload, &Options::default(), [70, 150]).unwrap();
}

/// Where most buffers are full, registers of them decide which way headers go: what they show is saved and
/// told across borders.
#[test]
fn full_buffers_ahead_are_known_in_other_parts() {
    let shape = Shape::torus(&[14, 14]).unwrap();
    let to = Pattern::Transpose.destinations(&shape, 3).unwrap();
    let workload = Workload::Load(OpenLoad::new(to, 0.5, 4, 160, 3).unwrap());
    for &function in RoutingFunction::ALL {
        let router = RouterConfig::for_routing(&shape, function);
        let watches = function.claims(router.place(&shape), false).watches;
        if watches.is_none() {
            continue;
        }
        let network = Network::new(Fabric::new(shape.clone()), RouterConfig { buffer: 4, ..router }).unwrap();
        for stop in [60, 100, 140] {
            check(&network, &workload, &Options::default(), [stop, stop + 10]).unwrap();
        }
    }
}

#[test]
fn limits_and_interruptions_end_all_parts() {
    let shape = Shape::torus(&[4, 8]).unwrap();
    let random = Pattern::Random.destinations(&shape, 1).unwrap();
    let workload = Workload::Load(OpenLoad::new(random, 0.4, 8, 2000, 1).unwrap());
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let seen: Vec<_> = [1, 4]
        .map(|parts| {
            let mut held =
                begin(&network, &workload, &Options::default(), parts, InstructionSet::Word).unwrap();
            let limited = held.run(&Options { cycle_limit: Some(777), ..Options::default() });
            assert!(matches!(limited, Err(SimulationError::CycleLimit { cycles: 777, .. })));
            let flag = AtomicBool::new(true);
            let stopped = held.run(&Options { interrupt: Some(&flag), ..Options::default() });
            assert_eq!(stopped, Err(SimulationError::Interrupted(777)));
            held.run(&Options::default()).unwrap();
            (limited, held.totals().unwrap())
        })
        .into();
    assert_eq!(seen[0], seen[1]);
}

/// The planes give rows of blocks to threads: on networks of several rows of blocks, vectors of a word
/// have as many parts as there are rows.
#[test]
fn the_planes_in_parts_do_what_one_does() {
    for (sizes, wraps) in [([24, 40], [true, true]), ([20, 33], [true, false]), ([50, 14], [false, true])] {
        let shape = Shape::new(&sizes, &wraps).unwrap();
        let random = Pattern::Random.destinations(&shape, 5).unwrap();
        let workload = Workload::Load(OpenLoad::new(random, 0.1, 6, 300, 5).unwrap());
        let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
        let mut expected = None;
        for parts in [1, 2, 3, 4, 7] {
            let setup = Setup {
                engine: Some(EngineKind::Planes),
                set: Some(InstructionSet::Word),
                links: true,
                latencies: true,
                parts,
                ..Setup::default()
            };
            let mut held = Simulation::new(&network, &workload, &setup).unwrap();
            assert_eq!(held.engine(), EngineKind::Planes);
            assert!(held.parts() <= parts && (held.parts() > 1) == (parts > 1), "{sizes:?}");
            held.run(&Options { stop_at: Some(150), ..Options::default() }).unwrap();
            let saved = held.save();
            let mut held = held.clone();
            held.run(&Options::default()).unwrap();
            let ended = held.save();
            let end = End::of(&mut held, Ok(()));
            let (first, last, same) = expected.get_or_insert_with(|| (saved.clone(), ended.clone(), end));
            assert_eq!((&saved, &ended), (&*first, &*last), "{parts} parts");
            assert_eq!(&End::of(&mut held, Ok(())), same);
            // Another number of parts takes up what one saved.
            let mut restored = Simulation::new(&network, &workload, &setup).unwrap();
            restored.restore(first.clone()).unwrap();
            restored.run(&Options::default()).unwrap();
            assert_eq!(&End::of(&mut restored, Ok(())), same);
        }
    }
}
