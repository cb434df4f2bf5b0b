//! The router with output registers: the engine held against the reference model, and the whole table of
//! docs/router.md, whose values are those of an independent program.

use crate::common::{CaseSpace, Recorder, cases};
use crate::reference::{self, Crossing, End, Event, Rules, Throttle, What};
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        Network, Options, Setup, Simulation, SimulationError,
        general::{self, General},
        planes::{self, Unsupported},
        stack,
    },
    fabric::{Fabric, Shape},
    probe::NoProbe,
    router::{Arbitration, ChannelScheme, FlowControl, RouterConfig, RouterError, Variant},
    routing::{Datelines, RoutingFunction},
    traffic::{Collective, Pattern, Workload},
};
use proptest::prelude::*;

fn space() -> CaseSpace {
    CaseSpace {
        latency: 1..=1,
        buffer: 2..=6,
        flow_controls: vec![FlowControl::Wormhole],
        given_routes: false,
        slice_rules: false,
        packets_per_node: 8,
        ..CaseSpace::default()
    }
}

/// Moves and lost VC allocations; the links of a cycle count as those of the one before.
pub fn seen(events: impl IntoIterator<Item = Event>, shift: u64) -> Vec<Event> {
    let of = |Event { cycle, what }| match what {
        What::Crosses { .. } | What::Ejected { .. } => Some(Event { cycle: cycle - shift, what }),
        What::LostQueue { .. } => Some(Event { cycle, what }),
        What::Blocked { .. } | What::LostChannel { .. } => None,
    };
    let mut events: Vec<Event> = events.into_iter().filter_map(of).collect();
    events.sort();
    events
}

/// The output register holds a flit of the buffer, so that an empty queue of a buffer of four has room for three.
#[test]
fn a_margin_is_below_the_depth_of_the_queues_without_the_register() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let to = Pattern::from_name("bcmp", &shape).unwrap().destinations(&shape, 0).unwrap();
    let sent = Workload::Packets(Collective::default().packet_list(64, &to).unwrap());
    let router = RouterConfig {
        variant: Variant::Registers,
        datelines: Datelines::WRAP_UNLESS_INJECTED,
        ..Default::default()
    };
    let network = Network::new(Fabric::new(shape), router).unwrap();
    let run = |margin: u16| {
        let throttle = format!("spth:margin={margin}").parse().unwrap();
        general::simulate(&network, &sent, &Options { throttle, ..Options::default() }, &mut NoProbe)
    };
    assert_eq!(run(2).unwrap().packets_delivered, 64);
    assert!(matches!(run(3), Err(SimulationError::Margin { margin: 3, depth: 3 })));
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn the_engine_does_as_the_reference(drawn in space().packet_lists(), stop in 0..60_u64) {
        let mut case = drawn;
        case.router.channels = RouterConfig::channels_needed(&case.shape).max(case.router.channels);
        case.router.grant_needs_room = false;
        if case.router.scheme == ChannelScheme::Packet {
            case.router.scheme = ChannelScheme::C01;
        }
        let router = RouterConfig { variant: Variant::Registers, ..case.config() };
        let network = Network::new(Fabric::new(case.shape.clone()), router).unwrap();
        let rules = Rules { crossing: Crossing::Registered, throttle: Throttle::None, ..case.rules() };
        let expected = reference::simulate(&network, &case.packets(), &rules);
        prop_assert_eq!(expected.end, End::Delivered);
        let (workload, options) = (case.workload(), Options::default());
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            let (mut engine, mut recorder) = (General::new(&network), Recorder::default());
            engine.set_vectors(set);
            let outcome = engine.run(&workload, &options, &mut recorder).unwrap();
            let events = recorder.events(&case.packets()).map_err(TestCaseError::fail)?;
            prop_assert_eq!(seen(events, 0), seen(expected.events.clone(), 1));
            prop_assert_eq!(outcome.packets_injected, outcome.packets_delivered);
            prop_assert_eq!(outcome.flit_hops, expected.totals.flit_hops);
            prop_assert_eq!(outcome.duration, expected.totals.duration.saturating_sub(1));
            // Saved in any cycle and taken up again.
            let begin = || Simulation::new(&network, &workload, &Setup::default()).unwrap();
            let (mut parted, mut other) = (begin(), begin());
            parted.run(&Options { stop_at: Some(stop), ..options }).unwrap();
            other.restore(parted.save()).unwrap();
            prop_assert_eq!(other.save(), parted.save());
            other.run(&options).unwrap();
            prop_assert_eq!(other.totals().unwrap(), outcome);
        }
    }
}

fn network(scheme: ChannelScheme) -> Network {
    let router = RouterConfig {
        variant: Variant::Registers,
        datelines: Datelines::WRAP_UNLESS_INJECTED,
        arbitration: Arbitration::uniform(scheme),
        ..RouterConfig::default()
    };
    Network::new(Fabric::new(Shape::torus(&[16, 16]).unwrap()), router).unwrap()
}

/// Durations of slices of `flits` flits at intervals.
fn durations(name: &str, flits: u32, slices: u32, scheme: ChannelScheme, intervals: &[u64]) -> Vec<u64> {
    let network = network(scheme);
    let shape = network.fabric().shape();
    let to = Pattern::from_name(name, shape).unwrap().destinations(shape, 0).unwrap();
    let collective = Collective { payload: (flits - 1) * slices, slices, ..Collective::default() };
    let outcomes = stack(&network, &collective, &to, intervals, &Options::default(), &|| ()).unwrap();
    outcomes.iter().map(|outcome| outcome.duration).collect()
}

/// The least duration over all intervals from 8 to the duration of one slice.
fn least(name: &str, slices: u32, scheme: ChannelScheme) -> u64 {
    let one = durations(name, 8, 1, scheme, &[0])[0];
    let intervals: Vec<u64> = (8..=one).collect();
    durations(name, 8, slices, scheme, &intervals).into_iter().min().unwrap()
}

/// By pattern: one slice of 8, 15, 29 flits; two slices of 8 under C00 to C09; four under C00.
const TABLE: [(&str, [u64; 3], [u64; 10], u64); 6] = [
    ("bcmp", [65, 114, 212], [100, 100, 100, 100, 102, 106, 102, 102, 106, 106], 182),
    ("brev", [108, 199, 381], [179, 194, 179, 194, 172, 208, 173, 173, 208, 208], 326),
    ("brot", [91, 178, 363], [147, 155, 147, 155, 176, 146, 189, 189, 146, 148], 259),
    ("shfl", [95, 246, 528], [153, 152, 153, 152, 153, 149, 158, 158, 149, 150], 269),
    ("torn", [67, 123, 235], [131, 131, 131, 131, 131, 138, 131, 131, 138, 138], 259),
    ("trns", [74, 130, 242], [138; 10], 266),
];

#[test]
fn durations_are_those_of_the_table() {
    let mut wrong = Vec::new();
    for (name, single, two, four) in TABLE {
        for (flits, value) in [8, 15, 29].into_iter().zip(single) {
            let got = durations(name, flits, 1, ChannelScheme::C00, &[0])[0];
            if got != value {
                wrong.push(format!("{name}, {flits} flits: {got}, not {value}"));
            }
        }
        let schemes = ChannelScheme::PUBLISHED.into_iter().zip(two).map(|(scheme, value)| (2, scheme, value));
        for (slices, scheme, value) in schemes.chain([(4, ChannelScheme::C00, four)]) {
            let got = least(name, slices, scheme);
            if got != value {
                wrong.push(format!("{name}, {slices} slices, {scheme:?}: {got}, not {value}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_it_is_not_defined_for_is_refused() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let plain = RouterConfig { variant: Variant::Registers, ..RouterConfig::default() };
    for router in [
        RouterConfig { flow_control: FlowControl::CutThrough, ..plain.clone() },
        RouterConfig { latency: 2, ..plain.clone() },
        RouterConfig { grant_needs_room: true, ..plain.clone() },
        RouterConfig { buffer: 1, ..plain.clone() },
        RouterConfig { routing: RoutingFunction::Ugal, channels: 6, ..plain.clone() },
    ] {
        assert_eq!(router.check(&shape), Err(RouterError::Variant(Variant::Registers)));
    }
    let few = RouterConfig { channels: 2, ..plain.clone() };
    assert_eq!(
        few.check(&shape),
        Err(RouterError::VariantChannels { variant: Variant::Registers, needed: 3, given: 2 })
    );
    let network = network(ChannelScheme::C00);
    let to = Pattern::Transpose.destinations(network.fabric().shape(), 0).unwrap();
    let workload = Workload::Packets(Collective::default().packet_list(256, &to).unwrap());
    assert_eq!(planes::supports(&network, &workload), Ok(()));
    let short = Collective { payload: 2, ..Collective::default() }.packet_list(256, &to).unwrap();
    let refused = planes::supports(&network, &Workload::Packets(short));
    assert_eq!(refused, Err(Unsupported::Registers { length: 3, buffer: 4 }));
    // A node's packets may take their ways in another order, too.
    let router = RouterConfig { routing: RoutingFunction::O1Turn, channels: 6, ..plain };
    let network = Network::new(Fabric::new(Shape::torus(&[16, 16]).unwrap()), router).unwrap();
    let outcome =
        general::simulate(&network, &workload, &Options::default(), &mut flitloom_core::probe::NoProbe);
    assert_eq!(outcome.unwrap().packets_delivered, 256);
}
