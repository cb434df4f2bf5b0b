//! The general engine held against the reference model on random networks and loads: cycle for
//! cycle, flit for flit.

use crate::common::{self, Case, CaseSpace, Recorder, Router, Traffic, cases, compare, last_move, totals};
use crate::reference::{self, End, Lines, PacketRecord, Rules, SliceRules};
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        EngineKind, Options, Outcome, Setup, Simulation, SimulationError,
        general::{self, General},
    },
    fabric::{NodeId, Shape},
    probe::{LinkOccupation, NoProbe, PacketRecords},
    router::{ChannelScheme, FlowControl, ProcessorQueues},
    throttle::{Interlock, Throttle},
    traffic::Packet,
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use std::collections::HashMap;

fn engine(case: &Case) -> (Result<Outcome, SimulationError>, Recorder) {
    let mut seen = Recorder::default();
    let result = general::simulate(&case.network(), &case.workload(), &case.options(), &mut seen);
    (result, seen)
}

/// The engine is equal to the reference with the vectors of every instruction set there is.
fn equal(case: &Case) -> Result<(), TestCaseError> {
    let (network, workload, expected) = (case.network(), case.workload(), common::reference(case));
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let (mut engine, mut seen) = (General::new(&network), Recorder::default());
        engine.set_vectors(set);
        let result = engine.run(&workload, &case.options(), &mut seen);
        compare(case, &expected, &result, &seen)
            .map_err(|difference| TestCaseError::fail(format!("{set:?}: {difference}")))?;
    }
    Ok(())
}

/// Rings with a single channel of few flits under heavy load: many of these deadlock.
fn tight_rings() -> CaseSpace {
    CaseSpace {
        flow_controls: vec![FlowControl::Wormhole],
        slice_rules: false,
        given_routes: false,
        ..CaseSpace::tight_rings()
    }
}

/// More channels, deeper buffers, longer links and more dimensions than usual.
fn large_routers() -> CaseSpace {
    CaseSpace {
        dimensions: 1..=6,
        sizes: 2..=3,
        channels: 5..=8,
        buffer: 1..=20,
        latency: 1..=9,
        lengths: 1..=30,
        ..CaseSpace::default()
    }
}

/// Networks that fill more than one vector.
fn large_networks() -> CaseSpace {
    CaseSpace { sizes: 2..=24, most_nodes: 1200, packets_per_node: 1, ..CaseSpace::default() }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn large_networks_run_as_in_the_reference(case in large_networks().packet_lists()) {
        equal(&case)?;
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn packet_lists_run_as_in_the_reference(case in CaseSpace::default().packet_lists()) {
        equal(&case)?;
    }

    #[test]
    fn loads_run_as_in_the_reference(case in CaseSpace::default().loads()) {
        equal(&case)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn deadlocks_are_those_of_the_reference(case in tight_rings().packet_lists()) {
        equal(&case)?;
    }

    #[test]
    fn large_routers_run_as_in_the_reference(case in large_routers().packet_lists()) {
        equal(&case)?;
    }

    #[test]
    fn a_simulation_can_stop_at_any_cycle(case in CaseSpace::default().loads(), stop in 0..200_u64) {
        let expected = common::reference(&case);
        // A deadlock may be noticed before the stop.
        let stop = if expected.end == End::Delivered { stop } else { stop.min(last_move(&expected.events)) };
        let options = Options { stop_at: Some(stop), ..case.options() };
        let outcome = general::simulate(&case.network(), &case.workload(), &options, &mut NoProbe).unwrap();
        prop_assert_eq!(totals(&outcome), expected.totals_before(stop));
    }

    /// Every flit of every packet leaves once, at its destination, in order.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(case in CaseSpace::default().packet_lists()) {
        let (result, seen) = engine(&case);
        let packets = case.packets();
        let mut left: HashMap<(NodeId, u64), u32> = HashMap::new();
        for (_, node, flit) in seen.ejections {
            let packet = packets[flit.source as usize][flit.number as usize];
            let index = left.entry((flit.source, flit.number)).or_insert(0);
            prop_assert_eq!(node, packet.destination);
            prop_assert_eq!((flit.head, flit.tail), (*index == 0, *index + 1 == packet.length));
            *index += 1;
            prop_assert!(*index <= packet.length);
        }
        if result.is_ok() {
            let delivered = packets.iter().enumerate().all(|(node, packets)| {
                packets.iter().zip(0_u64..).all(|(packet, number)| left.get(&(node as NodeId, number)) == Some(&packet.length))
            });
            prop_assert!(delivered);
        }
    }

    /// Two runs are equal: from scratch, from one preparation, from a copy, and without probes.
    #[test]
    fn runs_repeat(case in CaseSpace::default().loads()) {
        let (first, seen) = engine(&case);
        let (network, workload) = (case.network().clone(), case.workload());
        let prepared = General::new(&network);
        let copy = prepared.clone();
        for engine in [&prepared, &copy, &prepared] {
            let mut again = Recorder::default();
            prop_assert_eq!(&engine.run(&workload, &case.options(), &mut again), &first);
            prop_assert_eq!(&again, &seen);
        }
        prop_assert_eq!(&prepared.run(&workload, &case.options(), &mut NoProbe), &first);
    }

    /// Links are counted over windows of cycles as a probe counts them flit by flit.
    #[test]
    fn links_are_counted_as_a_probe_does(
        case in CaseSpace { last_start: 900, ..CaseSpace::default() }.loads(),
        stop in 0..1500_u64,
    ) {
        let (network, workload) = (case.network(), case.workload());
        let options = Options { stop_at: Some(stop), ..case.options() };
        let mut probe = LinkOccupation::new(network.fabric().shape().nodes() * network.fabric().shape().directions());
        let expected = general::simulate(&network, &workload, &options, &mut probe);
        let setup = Setup { engine: Some(EngineKind::General), links: true, options, ..Setup::default() };
        let mut simulation = Simulation::new(&network, &workload, &setup).unwrap();
        prop_assert_eq!(simulation.run(&options), expected.map(|_| ()));
        prop_assert_eq!(simulation.links(), Some(probe));
    }

    #[test]
    fn packet_records_are_those_of_the_reference(case in CaseSpace::default().packet_lists()) {
        let expected = common::reference(&case);
        let mut records = PacketRecords::default();
        let result = general::simulate(&case.network(), &case.workload(), &case.options(), &mut records);
        prop_assume!(result.is_ok());
        let mut expected = expected.packets;
        expected.sort_by_key(|packet| (packet.source, packet.number));
        let packets = case.packets();
        let got: Vec<_> = records.into_sorted().into_iter().map(|record| {
            let packet = packets[record.source as usize][record.number as usize];
            assert_eq!(record.slice, packet.slice);
            PacketRecord {
                source: record.source,
                number: record.number,
                destination: record.destination,
                length: packet.length,
                start: record.generated,
                injected: record.injected,
                head: record.head_arrival,
                tail: record.tail_arrival,
                hops: record.hops,
            }
        }).collect();
        prop_assert_eq!(got, expected);
    }
}

/// The same cases in every test run.
fn fixed_cases(strategy: &impl Strategy<Value = Case>, count: usize) -> Vec<Case> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// A reference with one wrong rule does not pass: the comparison sees what it is there to see.
#[test]
fn wrong_rules_are_noticed() {
    let right = Rules::default;
    let wrong = [
        ("no datelines", Rules { datelines: false, ..right() }),
        ("ties the other way", Rules { ties: false, ..right() }),
        ("lists from the end", Rules { lists_from_front: false, ..right() }),
        ("lists that stay", Rules { lists_turn: false, ..right() }),
        ("ports that forget", Rules { remembers_channel: false, ..right() }),
        ("links without flits", Rules { flits_in_flight_take_space: false, ..right() }),
        ("re-initialised", Rules { slices: SliceRules { reinitialise: true, interlock: false }, ..right() }),
        ("interlocked", Rules { slices: SliceRules { reinitialise: false, interlock: true }, ..right() }),
    ];
    let space = CaseSpace {
        flow_controls: vec![FlowControl::Wormhole],
        router_rules: false,
        throttles: false,
        slice_rules: false,
        given_routes: false,
        ..CaseSpace::default()
    };
    let cases = fixed_cases(&space.packet_lists(), 40);
    let runs: Vec<_> = cases.iter().map(engine).collect();
    let differing = |rules: &Rules| {
        let differs = cases.iter().zip(&runs).filter(|(case, (result, seen))| {
            let expected = reference::simulate(&case.network(), &case.packets(), rules);
            compare(case, &expected, result, seen).is_err()
        });
        differs.count()
    };
    assert_eq!(differing(&right()), 0);
    for (name, rules) in wrong {
        assert_ne!(differing(&rules), 0, "{name}");
    }
}

/// The random cases contain what they are there for.
#[test]
fn cases_are_of_every_kind() {
    let cases = fixed_cases(&CaseSpace::default().packet_lists(), 300);
    let tight = fixed_cases(&tight_rings().packet_lists(), 60);
    let some = |what: &str, kind: &dyn Fn(&Case) -> bool| {
        assert!(cases.iter().any(kind), "no {what}");
        assert!(!cases.iter().all(kind), "nothing but {what}");
    };
    for dimensions in 1..=4 {
        some("such dimensions", &|case| case.shape.dimensions() == dimensions);
    }
    some("size 2", &|case| case.shape.sizes().contains(&2));
    some("odd ring", &|case| case.shape.size(0) % 2 == 1 && case.shape.wraps(0));
    some("mesh of 3 and more", &|case| case.shape.size(0) > 2 && !case.shape.wraps(0));
    some("cut-through", &|case| case.router.flow_control == FlowControl::CutThrough);
    some("bubbles", &|case| case.router.flow_control == FlowControl::Bubble);
    some("grants that need room", &|case| case.router.grant_needs_room);
    for lines in [Lines::Both, Lines::WrapOnly, Lines::WrapNotFirst, Lines::Checkerboard] {
        some("such datelines", &|case| case.router.lines == lines);
    }
    some("another north", &|case| case.router.north_is_minus);
    some("queues per direction", &|case| case.router.processor_queues == ProcessorQueues::PerDirection);
    some("rounds by packet", &|case| case.router.scheme == ChannelScheme::Packet);
    for throttle in Throttle::all() {
        let interlocked = throttle == Interlock.into();
        some(throttle.name(), &|case| match interlocked {
            true => case.slices.interlock,
            false => case.throttle.name() == throttle.name(),
        });
    }
    some("given routes", &|case| case.routes().is_some());
    some("own lists", &|case| case.router.own_lists.is_some());
    some("re-initialised slices", &|case| case.slices.reinitialise);
    some("interlocked slices", &|case| {
        case.slices.interlock && common::reference(case).end == End::Delivered
    });
    some("own schemes", &|case| case.router.own_schemes.is_some());
    some("self-addressed packet", &|case| {
        case.packets()
            .iter()
            .zip(0..)
            .any(|(packets, node)| packets.iter().any(|packet| packet.destination == node))
    });
    let deadlocks =
        |cases: &[Case]| cases.iter().filter(|case| common::reference(case).end != End::Delivered).count();
    assert!((3..50).contains(&deadlocks(&tight)), "{}", deadlocks(&tight));
}

/// One ring is stuck; elsewhere a packet of many thousand flits goes on.
#[test]
fn a_deadlock_is_noticed_while_other_flits_move() {
    let packet = |destination, length| Packet { destination, length, start: 0, slice: 0 };
    let stuck = (0..5).map(|node| (node, packet((node + 2) % 5, 4)));
    let case = Case {
        shape: Shape::torus(&[5, 2]).unwrap(),
        router: Router {
            channels: 1,
            buffer: 1,
            latency: 1,
            flow_control: FlowControl::Wormhole,
            lines: Lines::Both,
            north_is_minus: false,
            grant_needs_room: false,
            processor_queues: ProcessorQueues::One,
            scheme: ChannelScheme::C00,
            own_schemes: None,
            own_lists: None,
        },
        traffic: Traffic::Packets { list: stuck.chain([(5, packet(6, 9000))]).collect(), routes: None },
        slices: SliceRules::default(),
        throttle: Throttle::None,
    };
    let (result, seen) = engine(&case);
    let Err(SimulationError::Deadlock(report)) = &result else { panic!("{result:?}") };
    assert!(report.cycle < 9000, "noticed at {}", report.cycle);
    // Every header waits for the P queue that owns its output, and that for the header behind it.
    assert_eq!(report.channels.len(), 10);
    assert_eq!(compare(&case, &common::reference(&case), &result, &seen), Ok(()));
}
