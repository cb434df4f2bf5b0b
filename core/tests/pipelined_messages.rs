//! Message graphs on pipelined routers: held against the slow reference on drawn cases, and times worked out by hand.

use crate::{
    common::cases,
    pipelined::{LIMITED, meshes, read, times},
    reference::pipelined::{self as reference, What, run_messages},
};
use flitloom_core::{
    engine::{
        Options, Setup, Simulation, SimulationError,
        pipelined::{Config, Place},
    },
    fabric::Shape,
    probe::PacketRecords,
    routing::{ChannelRule, Datelines, RoutingFunction},
    traffic::{
        GraphError, MessageGraph, Operation,
        OperationKind::{self, Compute, Receive, Send},
        Workload,
    },
};
use proptest::{prelude::*, sample::Index};

/// A message: its ranks, its flits, and what its sender computes before it, and which operations of both ranks before
/// they wait for.
type Drawn = (Index, Index, u64, Option<u64>, Vec<Index>, Option<Index>);

fn messages() -> impl Strategy<Value = Vec<Drawn>> {
    let flits = prop_oneof![Just(0_u64), 1..12_u64, 1..60_u64];
    let waits = prop_oneof![Just(vec![]), proptest::collection::vec(any::<Index>(), 1..4)];
    let message = (
        any::<Index>(),
        any::<Index>(),
        flits,
        proptest::option::of(0..200_u64),
        waits,
        proptest::option::of(any::<Index>()),
    );
    proptest::collection::vec(message, 1..40)
}

/// The operations of messages, none of which stands before what it waits for, with those of their rank by number.
fn operations(drawn: &[Drawn], ranks: usize) -> Vec<reference::Operation> {
    let mut all: Vec<reference::Operation> = Vec::new();
    // Computations of a rank follow each other, whichever is known first.
    let mut computed: Vec<Option<usize>> = vec![None; ranks];
    for (from, to, flits, cycles, waits, receiver) in drawn {
        let (from, to) = (from.index(ranks), to.index(ranks));
        let of = |all: &[reference::Operation], rank: usize, index: &Index| {
            let own: Vec<usize> = (0..all.len()).filter(|&one| all[one].rank == rank).collect();
            (!own.is_empty()).then(|| own[index.index(own.len())])
        };
        let mut after: Vec<usize> = waits.iter().filter_map(|index| of(&all, from, index)).collect();
        after.sort_unstable();
        after.dedup();
        if let Some(cycles) = cycles {
            let before = computed[from].into_iter().chain(after.clone());
            let mut before: Vec<usize> = before.collect();
            before.sort_unstable();
            before.dedup();
            computed[from] = Some(all.len());
            let what = What::Compute(*cycles as usize);
            all.push(reference::Operation { rank: from, what, after: before });
            after.push(all.len() - 1);
        }
        let receive = all.len() + 1;
        let before = receiver.as_ref().and_then(|index| of(&all, to, index));
        let what = What::Send(to, *flits as usize, receive);
        all.push(reference::Operation { rank: from, what, after });
        let after = before.into_iter().collect();
        all.push(reference::Operation { rank: to, what: What::Receive, after });
    }
    all
}

/// The same as a message graph; every message has its own tag.
fn graph(all: &[reference::Operation], nodes: &[u32], payload: u32) -> MessageGraph {
    let mut ranks: Vec<Vec<Operation>> = vec![Vec::new(); nodes.len()];
    let mut places = Vec::new();
    for (number, one) in all.iter().enumerate() {
        let kind = match (one.what, number.checked_sub(1).map(|before| (&all[before], before))) {
            (What::Send(to, flits, receive), _) => {
                Send { to: to as u32, flits: flits as u64, tag: receive as u32 }
            }
            (What::Compute(cycles), _) => Compute { cycles: cycles as u64 },
            (
                What::Receive,
                Some((&reference::Operation { rank, what: What::Send(_, flits, tag), .. }, _)),
            ) => Receive { from: rank as u32, flits: flits as u64, tag: tag as u32 },
            (What::Receive, _) => unreachable!("a receive stands behind its send"),
        };
        places.push(ranks[one.rank].len() as u32);
        let requires = one.after.iter().map(|&before| places[before]).collect();
        ranks[one.rank].push(Operation { kind, requires });
    }
    MessageGraph::new(ranks, nodes.to_vec(), payload).unwrap()
}

proptest! {
    #![proptest_config(cases(80))]
    #[test]
    fn messages_wait_as_in_the_reference(
        words in meshes(),
        drawn in messages(),
        order in any::<u64>(),
        (ranks, payload) in (1_usize..10, 1_u32..20),
        stops in proptest::collection::vec(1_u64..80, 0..4),
    ) {
        let words = format!("{words} packet_size=1 seed=1");
        let (options, shape) = read(&words);
        // Ranks sit on nodes in any order.
        let mut nodes: Vec<u32> = (0..shape.nodes() as u32).collect();
        nodes.sort_unstable_by_key(|&node| (u64::from(node) + 1).wrapping_mul(order | 1).rotate_left(32));
        nodes.truncate(ranks);
        let all = operations(&drawn, nodes.len());
        let expected = run_messages(
            &words,
            &all,
            &nodes.iter().map(|&node| node as usize).collect::<Vec<_>>(),
            payload as usize,
        );
        let workload = Workload::Graph(graph(&all, &nodes, payload));
        let rule = ChannelRule::new(1, Datelines::BOTH);
        let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
        let Ok(config) = options.config() else { return Ok(()) };
        let begin = |packets: bool| {
            let probe = |_| packets.then(PacketRecords::default);
            Simulation::pipelined_observed(&config, &place, &workload, &Setup::default(), None, probe)
        };
        let (Ok(mut lists), Ok(mut others)) = (begin(true), begin(false)) else { return Ok(()) };
        let ended = lists.run(&LIMITED);
        // What waits is saved and taken up again.
        for stop in stops {
            _ = others.run(&Options { stop_at: Some(others.now() + stop), ..Options::default() });
            let bytes = others.save();
            let mut restored = begin(false).unwrap();
            restored.restore(bytes).unwrap();
            others = restored;
        }
        prop_assert_eq!(others.run(&LIMITED), ended.clone());
        prop_assert_eq!(others.totals(), lists.totals());
        let Some((mut expected, end)) = expected.filter(|_| ended.is_ok()) else { return Ok(()) };
        prop_assert_eq!(lists.totals().unwrap().makespan, Some(end as u64));
        expected.sort_unstable_by_key(|one| (one[1], one[0]));
        let expected: Vec<_> =
            expected.into_iter().map(|[_, from, to, made, sent, head, tail, _]| [from, to, made, sent, head, tail]).collect();
        let found: Vec<_> = lists.probe().clone().unwrap().into_sorted().iter().map(times).collect();
        prop_assert_eq!(found, expected);
    }
}

fn after(requires: &[u32], kind: OperationKind) -> Operation {
    Operation { kind, requires: requires.to_vec() }
}

fn run(ranks: Vec<Vec<Operation>>, nodes: Vec<u32>) -> (Result<(), SimulationError>, Simulation) {
    let shape = Shape::mesh(&[4, 4]).unwrap();
    let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, ChannelRule::new(1, Datelines::BOTH));
    let workload = Workload::Graph(MessageGraph::new(ranks, nodes, 16).unwrap());
    let mut run = Simulation::pipelined(&Config::default(), &place, &workload, &Setup::default()).unwrap();
    (run.run(&Options::default()), run)
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
    let (ended, mut run) = run(vec![ping, pong], vec![0, 3]);
    assert_eq!(ended, Ok(()));
    // Four routers of three cycles and five links of two, and seven flits more: the tail arrives in cycle 29, and the
    // message is complete in the next; after 100 cycles of computing the same way back.
    let way = 4 * 3 + 5 * 2 + 7;
    assert_eq!(run.totals().unwrap().makespan, Some(2 * (way + 1) + 100));
    assert_eq!(run.totals().unwrap().duration, 2 * way + 1 + 100);
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    let rank = |other| {
        vec![
            after(&[], Receive { from: other, flits: 1, tag: 0 }),
            after(&[0], Send { to: other, flits: 1, tag: 0 }),
        ]
    };
    let (ended, mut run) = run(vec![rank(1), rank(0)], vec![0, 1]);
    let stuck = GraphError::Stuck { left: 4, rank: 0, operation: 0 };
    assert_eq!(ended, Err(SimulationError::Workload(stuck.into())));
    assert_eq!(run.totals().unwrap().makespan, None);
}
