//! Products with full meshes and circulants in the general engine, held against the reference model, whose links, ways and
//! datelines there are its own.

use crate::common::{self, Case, CaseSpace, Recorder, cases, compare, twin};
use crate::reference::{self, End, Routing, Rules};
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        EngineKind, Network, Options, Setup, Simulation, SimulationError,
        general::{self, General},
        planes::{self, Unsupported},
    },
    fabric::{Fabric, Factor, NodeId, Shape, Steps},
    router::{RouterConfig, RouterError},
    routing::RoutingFunction,
    throttle::Throttle,
    traffic::{Packet, PacketList, Workload},
};
use proptest::prelude::*;

/// More than one vector of routers.
fn large() -> CaseSpace {
    const LARGE: &[&[Factor]] = &[
        &[Factor::Full(9), Factor::Full(10)],
        &[Factor::Full(13), Factor::Ring(11)],
        &[Factor::Line(25), Factor::Full(12), Factor::Full(4)],
        &[Factor::Circulant(16, Steps::ascending([1, 4])), Factor::Ring(6)],
        &[Factor::Full(3), Factor::Circulant(70, Steps::ascending([1, 12]))],
        &[Factor::Circulant(96, Steps::ascending([5, 12, 48]))],
    ];
    CaseSpace { products: LARGE, channels: 1..=2, packets_per_node: 2, ..CaseSpace::products() }
}

/// Of the throttles, those that go by no lines of routers.
fn throttled(mut case: Case, throttle: &str) -> Case {
    if !case.slices.interlock && case.routes().is_none() {
        case.throttle = throttle.parse().unwrap();
    }
    if case.throttle != Throttle::None {
        // Nobody waits for ever.
        case.router.channels = case.router.channels.max(RouterConfig::channels_needed(&case.shape));
    }
    case
}

fn compared(case: &Case, network: &Network, rules: &Rules, options: &Options) -> Result<(), TestCaseError> {
    let (workload, packets, routes) = (case.workload(), case.packets(), case.routes());
    let expected = reference::simulate_with_routes(network, &packets, routes.as_deref(), rules);
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let (mut engine, mut seen) = (General::new(network), Recorder::default());
        engine.set_vectors(set);
        let result = engine.run(&workload, options, &mut seen);
        compare(case, &expected, &result, &seen)
            .map_err(|difference| TestCaseError::fail(format!("{set:?}: {difference}")))?;
    }
    Ok(())
}

fn equal(case: &Case) -> Result<(), TestCaseError> {
    compared(case, &case.network(), &case.rules(), &case.options())
}

fn functions() -> impl Iterator<Item = RoutingFunction> {
    let all = RoutingFunction::ALL.iter().copied();
    all.filter(|function| function.is_of_routers() && *function != RoutingFunction::CrossLine)
}

const THROTTLES: [&str; 6] = ["none", "none", "alo", "alo:any", "pace:7", "global:3"];

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn packet_lists_run_as_in_the_reference(
        case in CaseSpace::products().packet_lists(),
        throttle in proptest::sample::select(&THROTTLES[..]),
    ) {
        equal(&throttled(case, throttle))?;
    }

    #[test]
    fn loads_run_as_in_the_reference(
        case in CaseSpace::products().loads(),
        throttle in proptest::sample::select(&THROTTLES[..]),
    ) {
        equal(&throttled(case, throttle))?;
    }

    /// Saved in any cycle and taken up again, whatever parts are asked for.
    #[test]
    fn runs_go_on_as_they_were(case in CaseSpace::products().loads(), stop in 0..90_u64, threads in 1..4_usize) {
        let (network, workload, options) = (case.network(), case.workload(), case.options());
        let setup = Setup { engine: Some(EngineKind::General), options, ..Setup::default() };
        let begin = |threads| Simulation::new(&network, &workload, &Setup { parts: threads, ..setup }).unwrap();
        let (mut whole, mut parted, mut other) = (begin(1), begin(threads), begin(1));
        let ended = whole.run(&options);
        prop_assume!(ended.is_ok());
        parted.run(&Options { stop_at: Some(stop), ..options }).unwrap();
        other.restore(parted.save()).unwrap();
        other.run(&options).unwrap();
        prop_assert_eq!(other.totals().unwrap(), whole.totals().unwrap());
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn large_products_run_as_in_the_reference(case in large().packet_lists()) {
        equal(&case)?;
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn routing_functions_run_as_in_the_reference(
        case in CaseSpace { given_routes: false, slice_rules: false, ..CaseSpace::products() }.loads(),
        seed in any::<u64>(),
    ) {
        let longest = case.packets().iter().flatten().map(|packet| packet.length).max().unwrap_or(1);
        for function in functions() {
            let network = case.network_with(function, 0).expect("routers have the channels");
            let throttle = twin(case.throttle, &case.shape, network.router().buffer, longest);
            let rules = Rules { routing: Routing::of(function), seed, throttle, ..case.rules() };
            compared(&case, &network, &rules, &Options { seed, ..case.options() })
                .map_err(|error| TestCaseError::fail(format!("{function}: {error}")))?;
        }
    }
}

/// Without deadlock in the channels that are needed, from every node to every other at once.
#[test]
fn all_to_all_arrives_with_the_channels_that_are_needed() {
    for factors in CaseSpace::products().products {
        let shape = Shape::product(factors).unwrap();
        let nodes = shape.nodes() as NodeId;
        let packets: Vec<Vec<_>> = (0..nodes)
            .map(|node| {
                let packet = |by| Packet { destination: (node + by) % nodes, length: 3, start: 0, slice: 0 };
                (1..nodes).map(packet).collect()
            })
            .collect();
        let channels = RouterConfig::channels_needed(&shape);
        let router = RouterConfig { buffer: 1, channels, ..RouterConfig::default() };
        let network = Network::new(Fabric::new(shape), router).unwrap();
        let workload = Workload::Packets(PacketList::from_nodes(packets.clone()).unwrap());
        let mut probe = flitloom_core::probe::NoProbe;
        let outcome = general::simulate(&network, &workload, &Options::default(), &mut probe);
        let expected = reference::simulate(&network, &packets, &Rules::default());
        assert_eq!(expected.end, End::Delivered, "{factors:?}");
        assert_eq!(common::totals(&outcome.unwrap()), expected.totals, "{factors:?}");
    }
}

#[test]
fn what_cannot_run_says_so() {
    let shape = Shape::product(&[Factor::Full(8), Factor::Full(8)]).unwrap();
    let usual = RouterConfig::for_shape(&shape);
    let network = |router| Network::new(Fabric::new(shape.clone()), router);
    let workload = Workload::Packets(PacketList::from_nodes(vec![Vec::new(); 64]).unwrap());
    let plain = network(usual.clone()).unwrap();
    assert_eq!(planes::supports(&plain, &workload), Err(Unsupported::Full));
    let throttle: Throttle = "spth".parse().unwrap();
    let setup = Setup { options: Options { throttle, ..Options::default() }, ..Setup::default() };
    let refused = Simulation::new(&plain, &workload, &setup).err();
    assert_eq!(refused, Some(SimulationError::FullLines(Box::new(throttle))));
    let lines = RouterConfig::for_routing(&shape, RoutingFunction::CrossLine);
    assert_eq!(lines.check(&shape), Err(RouterError::Lines(RoutingFunction::CrossLine)));
    let wide = Shape::product(&[Factor::Full(64)]).unwrap();
    assert_eq!(RouterConfig::for_shape(&wide).channels, 1);
    let two = RouterConfig { channels: 2, ..usual };
    assert_eq!(two.check(&wide), Err(RouterError::Queues { links: 64, channels: 2, needed: 130 }));
}
