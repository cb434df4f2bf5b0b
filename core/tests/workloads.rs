//! What workloads accept, and loads over the routes of tables.

use crate::common;
use crate::reference;
use flitloom_core::{
    engine::{FailedEnds, Network, Options, SimulationError, general},
    fabric::{Fabric, NodeId, Shape},
    names,
    probe::NoProbe,
    router::{FlowControl, RouterConfig},
    routes::{
        by_source::{Request, System, Table, route},
        methods::Method,
    },
    routing::{Rules, TurnPolicy},
    throttle::Throttle,
    traffic::{
        Collective, OpenLoad, Packet, PacketError, PacketList, PacketSource, Pattern, RouteBook, Workload,
        WorkloadError,
    },
};
use proptest::prelude::*;
use std::sync::Arc;

fn balanced() -> &'static Method {
    names::find(&Method::by_source(), "balanced").unwrap()
}

#[test]
fn packets_that_cannot_be_are_refused() {
    let packet = |destination, length, start| Packet { destination, length, start, slice: 0 };
    let good = packet(1, 8, 0);
    let error = |bad| match PacketList::from_nodes([vec![], vec![good, bad]]) {
        Err(WorkloadError::Packet { source_node: 1, number: 1, what }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(packet(0, 0, 0)), PacketError::Length(0));
    assert_eq!(
        error(packet(0, PacketList::MAX_LENGTH + 1, 0)),
        PacketError::Length(PacketList::MAX_LENGTH + 1)
    );
    assert_eq!(error(packet(2, 8, 0)), PacketError::Destination { node: 2, last: 1 });
    assert_eq!(error(packet(0, 8, u64::MAX)), PacketError::Start(u64::MAX));
    assert_eq!(PacketList::from_nodes([vec![], vec![good]]).unwrap().len(), 1);
}

#[test]
fn a_load_for_another_network_is_refused() {
    let small = Shape::torus(&[4, 4]).unwrap();
    let network = Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), RouterConfig::default()).unwrap();
    for name in ["rand", "trns"] {
        let destinations = Pattern::from_name(name, &small).unwrap().destinations(&small, 1).unwrap();
        let load = Workload::Load(OpenLoad::new(destinations, 0.1, 8, 10, 1).unwrap());
        let result = general::simulate(&network, &load, &Default::default(), &mut NoProbe);
        assert_eq!(result, Err(SimulationError::Nodes { given: 16, needed: 64 }));
    }
}

/// A torus with a failed node, its tables, and the network that runs them.
fn failed() -> (Network, Arc<Table>) {
    let mut fabric = Fabric::new(Shape::torus(&[5, 4]).unwrap());
    fabric.fail_node(7).unwrap();
    let system = System::new(fabric.clone(), Rules::angara(2), TurnPolicy::ClosedForm).unwrap();
    let table = route(system, balanced(), &Request::default(), &mut |_| true).unwrap().table;
    let router = RouterConfig {
        channels: 1,
        buffer: 10,
        flow_control: FlowControl::Bubble,
        ..RouterConfig::default()
    };
    (Network::new(fabric, router).unwrap(), Arc::new(table))
}

/// Random pairs among the working nodes, as a pattern.
fn destinations(network: &Network, seed: u64) -> Vec<NodeId> {
    let shape = network.fabric().shape();
    let pairs = Pattern::RandomPair.destinations(shape, seed).unwrap();
    let to = |node: NodeId| {
        let other = pairs.of(node, 0);
        if node == 7 || other == 7 { node } else { other }
    };
    (0..shape.nodes() as NodeId).map(to).collect()
}

#[test]
fn loads_and_collectives_over_tables_run_as_in_the_reference() {
    let (network, table) = failed();
    let shape = network.fabric().shape();
    let book: Arc<dyn RouteBook> = table.clone();
    for seed in 1..5 {
        let to = Pattern::Given(destinations(&network, seed)).destinations(shape, 0).unwrap();
        let load = OpenLoad::new(to.clone(), 0.5, 5, 120, seed).unwrap();
        let collective = Collective { payload: 4, packets: 3, ..Collective::default() };
        let list = collective.packet_list(shape.nodes(), &to).unwrap();
        for workload in [Workload::Load(load), Workload::Packets(list)] {
            // Node 7 has failed: it sends nothing in the reference, and must not be asked to here.
            let mut packets = packets_of(&workload, shape.nodes());
            packets[7].clear();
            let routes: Vec<Vec<_>> = packets
                .iter()
                .zip(0..)
                .map(|(packets, source)| {
                    packets.iter().map(|packet| route_of(&table, source, packet)).collect()
                })
                .collect();
            let rules = reference::Rules::default();
            let expected = reference::simulate_with_routes(&network, &packets, Some(&routes), &rules);
            assert_eq!(expected.end, reference::End::Delivered);
            let result =
                general::simulate(&network, &workload.with_book(&book), &Default::default(), &mut NoProbe);
            let Err(SimulationError::Unreachable { pairs, failed, .. }) = result else {
                panic!("{result:?}");
            };
            assert_eq!((pairs, failed), (vec![(7, 7)], FailedEnds::All(7)));
            // The same packets without those of the failed node.
            let list = Workload::Packets(PacketList::from_nodes(packets).unwrap()).with_book(&book);
            let outcome = general::simulate(&network, &list, &Default::default(), &mut NoProbe).unwrap();
            assert_eq!(outcome.fingerprint, expected.totals.fingerprint);
            assert_eq!(outcome.latency_sum, expected.totals.latency_sum);
        }
    }
}

/// A healthy torus whose packets go over tables of all kinds of turns.
fn healthy() -> (Network, Arc<Table>) {
    let fabric = Fabric::new(Shape::torus(&[4, 4]).unwrap());
    let system = System::new(fabric.clone(), Rules::angara(2), TurnPolicy::ClosedForm).unwrap();
    let table = route(system, balanced(), &Request::default(), &mut |_| true).unwrap().table;
    let router = RouterConfig {
        channels: 1,
        buffer: 12,
        flow_control: FlowControl::Bubble,
        ..RouterConfig::default()
    };
    (Network::new(fabric, router).unwrap(), Arc::new(table))
}

/// The packets of a workload with their routes, as the reference takes them.
fn routed(
    workload: &Workload,
    network: &Network,
    table: &Table,
) -> (Vec<Vec<Packet>>, Vec<Vec<reference::Route>>) {
    let packets = packets_of(workload, network.fabric().shape().nodes());
    let of = |(packets, source): (&Vec<Packet>, NodeId)| {
        packets.iter().map(|packet| route_of(table, source, packet)).collect()
    };
    let routes = packets.iter().zip(0..).map(of).collect();
    (packets, routes)
}

/// On a healthy network random destinations are looked up as they come.
#[test]
fn random_loads_over_tables_run_as_in_the_reference() {
    let (network, table) = healthy();
    let random = Pattern::Random.destinations(network.fabric().shape(), 3).unwrap();
    let load = Workload::Load(OpenLoad::new(random, 0.4, 6, 200, 3).unwrap());
    let (packets, routes) = routed(&load, &network, &table);
    let expected =
        reference::simulate_with_routes(&network, &packets, Some(&routes), &reference::Rules::default());
    let book: Arc<dyn RouteBook> = table;
    let over_tables = load.clone().with_book(&book);
    let outcome = general::simulate(&network, &over_tables, &Default::default(), &mut NoProbe).unwrap();
    assert_eq!(outcome.fingerprint, expected.totals.fingerprint);
    assert_eq!(outcome.flit_hops, expected.totals.flit_hops);
    assert!(outcome.packets_delivered > 150);
    let plain = general::simulate(&network, &load, &Default::default(), &mut NoProbe).unwrap();
    assert_ne!(plain.fingerprint, outcome.fingerprint, "tables make a difference here");
}

proptest! {
    #![proptest_config(common::cases(24))]

    /// Throttles ask about the first hops of given routes, of loads and of lists, for any pattern.
    #[test]
    fn throttles_over_given_routes_run_as_in_the_reference(
        throttle in proptest::sample::select(common::THROTTLES.to_vec()),
        pattern in proptest::sample::select(vec!["rand", "trns", "torn", "brev"]),
        seed in 1..1000_u64,
        listed in any::<bool>(),
    ) {
        let throttle: Throttle = throttle.parse().unwrap();
        let (network, table) = healthy();
        let shape = network.fabric().shape();
        let to = Pattern::from_name(pattern, shape).unwrap().destinations(shape, seed).unwrap();
        let load = Workload::Load(OpenLoad::new(to, 0.5, 6, 150, seed).unwrap());
        let (packets, routes) = routed(&load, &network, &table);
        let buffer = network.router().buffer;
        let rules = reference::Rules {
            throttle: common::twin(throttle, shape, buffer, 6),
            ..reference::Rules::default()
        };
        let expected = reference::simulate_with_routes(&network, &packets, Some(&routes), &rules);
        let workload = if listed { Workload::Packets(PacketList::from_nodes(packets).unwrap()) } else { load };
        let book: Arc<dyn RouteBook> = table;
        let workload = workload.with_book(&book);
        let options = Options { throttle, ..Options::default() };
        let outcome = general::simulate(&network, &workload, &options, &mut NoProbe).unwrap();
        prop_assert_eq!(expected.end, reference::End::Delivered);
        prop_assert_eq!(outcome.fingerprint, expected.totals.fingerprint, "{}", throttle);
        prop_assert_eq!(outcome.latency_sum, expected.totals.latency_sum);
        prop_assert_eq!(outcome.flit_hops, expected.totals.flit_hops);
    }
}

fn packets_of(workload: &Workload, nodes: usize) -> Vec<Vec<Packet>> {
    let of = |node: NodeId| {
        let (mut packets, mut from) = (Vec::new(), 0);
        while let Some(start) = workload.next_start(node, packets.len() as u64, from) {
            packets.extend(workload.packet_at(node, packets.len() as u64, start));
            from = start + 1;
        }
        packets
    };
    (0..nodes as NodeId).map(of).collect()
}

fn route_of(table: &Table, source: NodeId, packet: &Packet) -> reference::Route {
    let hops = table.hops(source, packet.destination).unwrap_or_default();
    reference::Route { ports: hops.iter().map(|hop| hop.index()).collect(), channel: 0 }
}
