//! Deadlock where it must happen, and bubbles or datelines where they prevent it.

use flitloom_core::{
    engine::{Network, Outcome, SimulationError, general},
    fabric::{Direction, Fabric, Shape, Sign},
    probe::NoProbe,
    router::{FlowControl, RouterConfig},
    traffic::{Collective, Packet, PacketList, Pattern, Routes, Workload},
};

fn ring(flow_control: FlowControl, channels: u8) -> Network {
    let router = RouterConfig { flow_control, channels, buffer: 8, ..RouterConfig::default() };
    Network::new(Fabric::new(Shape::torus(&[8]).unwrap()), router).unwrap()
}

/// Every node sends packets three further in one direction: more than a ring without help can take.
fn all_around() -> Workload {
    let destinations = Pattern::Given((0..8).map(|node| (node + 3) % 8).collect());
    let destinations = destinations.destinations(&Shape::torus(&[8]).unwrap(), 0).unwrap();
    let collective = Collective { payload: 3, packets: 40, ..Collective::default() };
    Workload::Packets(collective.packet_list(8, &destinations).unwrap())
}

fn run(network: &Network, workload: &Workload) -> Result<Outcome, SimulationError> {
    general::simulate(network, workload, &Default::default(), &mut NoProbe)
}

#[test]
fn one_channel_on_a_ring_deadlocks_and_says_where() {
    for flow_control in [FlowControl::Wormhole, FlowControl::CutThrough] {
        let error = run(&ring(flow_control, 1), &all_around()).unwrap_err();
        let SimulationError::Deadlock(report) = error else { panic!("{error}") };
        assert_eq!(report.channels.len(), 8, "{}", report.text);
        assert!(report.text.contains("(0)+x vc0 -> (1)+x vc0"), "{}", report.text);
        assert!(report.stuck_flits > 0);
    }
}

#[test]
fn bubbles_and_datelines_keep_the_ring_moving() {
    for network in [ring(FlowControl::Bubble, 1), ring(FlowControl::Wormhole, 2)] {
        let outcome = run(&network, &all_around()).unwrap();
        assert_eq!(outcome.packets_delivered, 8 * 40);
        assert_eq!(outcome.flit_hops, 8 * 40 * 4 * 3);
    }
}

#[test]
fn a_bubble_needs_room_for_two_packets() {
    let long = Collective { payload: 4, ..Collective::default() };
    let destinations = Pattern::Neighbour.destinations(&Shape::torus(&[8]).unwrap(), 0).unwrap();
    let workload = Workload::Packets(long.packet_list(8, &destinations).unwrap());
    let error = run(&ring(FlowControl::Bubble, 1), &workload).unwrap_err();
    assert!(error.to_string().contains("needs at least 10 for packets of 5 flits"), "{error}");
}

#[test]
fn given_routes_are_followed() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let (east, north) = (Direction::new(0, Sign::Plus), Direction::new(1, Sign::Plus));
    let list = |steps: Vec<Direction>| {
        let packet = Packet { destination: 5, length: 2, start: 0, slice: 0 };
        let mut routes = Routes::default();
        routes.push(steps, 0);
        let all = (0..16).map(|node| if node == 0 { vec![packet] } else { vec![] });
        Workload::Packets(PacketList::from_nodes(all).unwrap().with_routes(routes).unwrap())
    };
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let outcome = run(&network, &list(vec![north, east])).unwrap();
    assert_eq!((outcome.flit_hops, outcome.duration), (4, 5));
    let around = run(&network, &list(vec![north, north, east, Direction::new(1, Sign::Minus)])).unwrap();
    assert_eq!((around.flit_hops, around.duration), (8, 7));
    let lost = run(&network, &list(vec![north])).unwrap_err();
    assert!(matches!(lost, SimulationError::Route { source_node: 0, number: 0, destination: 5 }));
}
