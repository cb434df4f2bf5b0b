//! Every routing function of routers, in the general engine, with throttles, patterns and schemes drawn
//! beside it, held against the reference model: flit for flit and cycle for cycle, delivered, and saved
//! and taken up again.

use crate::common::{Case, CaseSpace, Recorder, cases, compare, twin};
use crate::reference::{self, Routing, Rules};
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        EngineKind, Network, Options, Setup, Simulation, SimulationError,
        general::{self, General},
        planes::{self, Unsupported},
    },
    fabric::{Fabric, NodeId, Shape},
    router::{FlowControl, RouterConfig, RouterError},
    routing::{Freedom, RoutingFunction},
    traffic::{Collective, Packet, Pattern, Routes, Workload},
};
use proptest::prelude::*;

/// Functions that may be chosen for a router, but the one that all other tests are about.
fn functions() -> Vec<RoutingFunction> {
    let all = RoutingFunction::ALL.iter().copied();
    all.filter(|&function| function.is_of_routers() && function != RoutingFunction::DimensionOrder).collect()
}

/// The network of a case with another routing function, perhaps with a channel more than that needs.
fn network(case: &Case, function: RoutingFunction) -> Option<Network> {
    case.network_with(function, case.router.channels % 2)
}

fn space() -> CaseSpace {
    CaseSpace {
        flow_controls: vec![FlowControl::Wormhole, FlowControl::CutThrough],
        given_routes: false,
        slice_rules: false,
        packets_per_node: 8,
        ..CaseSpace::default()
    }
}

/// Large enough for several words.
fn large() -> CaseSpace {
    CaseSpace { dimensions: 2..=2, sizes: 9..=14, most_nodes: 196, packets_per_node: 3, ..space() }
}

fn equal(case: &Case, seed: u64) -> Result<(), TestCaseError> {
    let (workload, packets) = (case.workload(), case.packets());
    let longest = packets.iter().flatten().map(|packet| packet.length).max().unwrap_or(1);
    for function in functions() {
        let Some(network) = network(case, function) else { continue };
        let throttle = twin(case.throttle, &case.shape, network.router().buffer, longest);
        let rules = Rules { routing: Routing::of(function), seed, throttle, ..case.rules() };
        let expected = reference::simulate(&network, &packets, &rules);
        let options = Options { seed, ..case.options() };
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            let (mut engine, mut seen) = (General::new(&network), Recorder::default());
            engine.set_vectors(set);
            let result = engine.run(&workload, &options, &mut seen);
            compare(case, &expected, &result, &seen)
                .map_err(|difference| TestCaseError::fail(format!("{function}, {set:?}: {difference}")))?;
            prop_assert!(result.is_ok(), "{function} claims to be free of deadlock, {}", case.throttle);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn packet_lists_run_as_in_the_reference(case in space().packet_lists(), seed in any::<u64>()) {
        equal(&case, seed)?;
    }

    #[test]
    fn loads_run_as_in_the_reference(case in space().loads(), seed in any::<u64>()) {
        equal(&case, seed)?;
    }

    /// Saved at any cycle and taken up again.
    #[test]
    fn runs_go_on_as_they_were(case in space().loads(), seed in any::<u64>(), stop in 0..120_u64) {
        for function in functions() {
            let Some(network) = network(&case, function) else { continue };
            let setup = Setup { options: Options { seed, ..case.options() }, ..Setup::default() };
            let begin = || Simulation::new(&network, &case.workload(), &setup).unwrap();
            let (mut whole, mut parted, mut other) = (begin(), begin(), begin());
            whole.run(&Options::default()).unwrap();
            parted.run(&Options { stop_at: Some(stop), ..Options::default() }).unwrap();
            other.restore(parted.save()).unwrap();
            prop_assert_eq!(other.save(), parted.save());
            other.run(&Options::default()).unwrap();
            prop_assert_eq!(other.totals().unwrap(), whole.totals().unwrap(), "{}", function);
        }
    }
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn large_networks_run_as_in_the_reference(case in large().packet_lists(), seed in any::<u64>()) {
        equal(&case, seed)?;
    }
}

fn bursts(shape: &Shape, pattern: &str) -> Workload {
    let to = Pattern::from_name(pattern, shape).unwrap().destinations(shape, 0).unwrap();
    let collective = Collective { packets: 3, ..Collective::default() };
    Workload::Packets(collective.packet_list(shape.nodes(), &to).unwrap())
}

/// Hops of minimal functions are the distances, and no function takes more than two minimal ways.
#[test]
fn hops_are_as_claimed() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let workload = bursts(&shape, "brev");
    let Workload::Packets(list) = &workload else { unreachable!() };
    let distance = |(from, packet): (NodeId, &Packet)| {
        u64::from(shape.distance(from, packet.destination) * packet.length)
    };
    let least: u64 = list.iter().map(distance).sum();
    for function in functions() {
        let router = RouterConfig { buffer: 16, ..RouterConfig::for_routing(&shape, function) };
        let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
        let claims = function.claims(network.router().place(&shape), false);
        let options = Options { seed: 5, ..Options::default() };
        let outcome =
            general::simulate(&network, &workload, &options, &mut flitloom_core::probe::NoProbe).unwrap();
        assert_eq!(outcome.packets_delivered, list.len() as u64);
        if claims.minimal {
            assert_eq!(outcome.flit_hops, least, "{function}");
        } else {
            assert!(outcome.flit_hops > least, "{function}");
        }
        // Another seed is another run exactly where something is drawn.
        let options = Options { seed: 6, ..Options::default() };
        let other =
            general::simulate(&network, &workload, &options, &mut flitloom_core::probe::NoProbe).unwrap();
        assert_eq!(other.fingerprint != outcome.fingerprint, claims.draws, "{function}");
    }
}

#[test]
fn what_cannot_run_says_so() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let new = |router| Network::new(Fabric::new(shape.clone()), router);
    for function in functions() {
        let usual = RouterConfig { buffer: 16, ..RouterConfig::for_routing(&shape, function) };
        assert_eq!(
            RouterConfig { channels: 2, ..usual.clone() }.check(&shape).unwrap_err(),
            RouterError::RoutingChannels { routing: function, needed: usual.channels, given: 2 }
        );
        let bubble = RouterConfig { flow_control: FlowControl::Bubble, ..usual.clone() };
        assert_eq!(bubble.check(&shape), Err(RouterError::NoDatelines(function)));
        let wormhole = RouterConfig { flow_control: FlowControl::Wormhole, ..usual.clone() };
        let escapes = matches!(function.claims(usual.place(&shape), false).freedom, Some(Freedom::Escape(_)));
        let answer = if escapes { Err(RouterError::Wormhole(function)) } else { Ok(()) };
        assert_eq!(wormhole.check(&shape), answer);
        let network = new(usual.clone()).unwrap();
        let workload = bursts(&shape, "trns");
        assert_eq!(planes::supports(&network, &workload), Err(Unsupported::Routing(function.name())));
        let simulation = Simulation::new(&network, &workload, &Setup::default()).unwrap();
        assert_eq!(simulation.engine(), EngineKind::General);
        let mut fabric = Fabric::new(shape.clone());
        fabric.fail_node(9).unwrap();
        let failed = Network::new(fabric, usual).unwrap();
        let error = Simulation::new(&failed, &workload, &Setup::default()).err();
        assert_eq!(error, Some(SimulationError::Failures(function)));
        let Workload::Packets(list) = workload else { unreachable!() };
        let mut routes = Routes::default();
        list.iter().for_each(|_| routes.push([], 0));
        let given = Workload::Packets(list.with_routes(routes).unwrap());
        let error = Simulation::new(&network, &given, &Setup::default()).err();
        assert_eq!(error, Some(SimulationError::RoutesGiven(function)));
    }
    let given = RouterConfig { routing: RoutingFunction::Given, ..RouterConfig::default() };
    assert_eq!(given.check(&shape), Err(RouterError::GivenRoutes));
}
