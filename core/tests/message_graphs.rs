//! Message graphs: times that can be worked out by hand, and what cannot run.

use flitloom_core::{
    engine::{Network, Outcome, SimulationError, general},
    fabric::{Fabric, Shape},
    probe::NoProbe,
    router::RouterConfig,
    traffic::{
        GraphError, MessageGraph, Operation,
        OperationKind::{self, Compute, Receive, Send},
        Workload, WorkloadError,
    },
};

fn after(requires: &[u32], kind: OperationKind) -> Operation {
    Operation { kind, requires: requires.to_vec() }
}

fn run(ranks: Vec<Vec<Operation>>, nodes: Vec<u32>) -> Result<Outcome, SimulationError> {
    let network = Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), RouterConfig::default()).unwrap();
    let graph = MessageGraph::new(ranks, nodes, 16).unwrap();
    general::simulate(&network, &Workload::Graph(graph), &Default::default(), &mut NoProbe)
}

#[test]
fn a_ping_and_its_answer_take_the_time_of_their_ways() {
    let ping = vec![
        after(&[], Send { to: 1, flits: 7, tag: 0 }),
        after(&[0], Receive { from: 1, flits: 7, tag: 1 }),
    ];
    let pong = vec![
        after(&[], Receive { from: 0, flits: 7, tag: 0 }),
        after(&[0], Compute { cycles: 100 }),
        after(&[1], Send { to: 0, flits: 7, tag: 1 }),
    ];
    // Three hops of an 8-flit packet: the tail is ejected in cycle 3 + 7, the message is complete in
    // the next; after 100 cycles of computing the same way back.
    let outcome = run(vec![ping, pong], vec![0, 3]).unwrap();
    assert_eq!(outcome.makespan, Some(11 + 100 + 11));
    assert_eq!(outcome.duration, 11 + 100 + 10 + 2);
}

#[test]
fn computations_of_a_rank_follow_each_other() {
    let work = (0..3).map(|_| after(&[], Compute { cycles: 50 })).collect();
    let outcome = run(vec![work], vec![0]).unwrap();
    assert_eq!((outcome.makespan, outcome.packets_delivered), (Some(150), 0));
}

#[test]
fn long_messages_go_in_packets() {
    let sender = vec![after(&[], Send { to: 1, flits: 40, tag: 0 })];
    let receiver = vec![after(&[], Receive { from: 0, flits: 40, tag: 0 })];
    let outcome = run(vec![sender, receiver], vec![9, 10]).unwrap();
    assert_eq!((outcome.packets_delivered, outcome.flits_delivered), (3, 43));
    // All 43 flits back to back over one hop.
    assert_eq!(outcome.makespan, Some(1 + 43));
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    let rank = |other| {
        vec![
            after(&[], Receive { from: other, flits: 1, tag: 0 }),
            after(&[0], Send { to: other, flits: 1, tag: 0 }),
        ]
    };
    let error = run(vec![rank(1), rank(0)], vec![0, 1]).unwrap_err();
    let stuck = GraphError::Stuck { left: 4, rank: 0, operation: 0 };
    assert_eq!(error, SimulationError::Workload(WorkloadError::Graph(stuck)));
}

#[test]
fn graphs_that_make_no_sense_are_refused() {
    let new = |ranks| MessageGraph::new(ranks, vec![0, 1], 16).unwrap_err();
    let idle = Vec::new;
    let send = |flits| after(&[], Send { to: 1, flits, tag: 0 });
    let receive = after(&[], Receive { from: 0, flits: 2, tag: 0 });
    assert_eq!(new(vec![vec![send(2)], idle()]), GraphError::NoReceive { from: 0, to: 1, tag: 0 });
    assert_eq!(new(vec![idle(), vec![receive.clone()]]), GraphError::NoSend { from: 0, to: 1, tag: 0 });
    let size = GraphError::Size { from: 0, to: 1, tag: 0, sent: 3, received: 2 };
    assert_eq!(new(vec![vec![send(3)], vec![receive]]), size);
    let circle = vec![after(&[1], Compute { cycles: 1 }), after(&[0], Compute { cycles: 1 })];
    assert_eq!(new(vec![circle, idle()]), GraphError::Cycle { rank: 0, operation: 0 });
    let named = vec![after(&[7], Compute { cycles: 1 })];
    assert_eq!(new(vec![named, idle()]), GraphError::Requires { rank: 0, operation: 0, named: 7 });
    let far = after(&[], Send { to: 9, flits: 1, tag: 0 });
    assert_eq!(new(vec![vec![far], idle()]), GraphError::Rank { rank: 0, operation: 0, named: 9, ranks: 2 });
    assert_eq!(
        MessageGraph::new(vec![idle(), idle()], vec![4, 4], 16).unwrap_err(),
        GraphError::SharedNode(4)
    );
}
