//! Message graphs on pipelined routers: drawn messages start when what they wait for is complete, and times worked out
//! by hand.

use crate::{
    common::cases,
    pipelined::{KNOWN, LIMITED, meshes, read, replayed},
};
use flitloom_core::{
    engine::{
        Options, Setup, Simulation, SimulationError,
        pipelined::{Config, Place},
    },
    fabric::Shape,
    probe::{PacketRecord, PacketRecords},
    routing::{ChannelRule, Datelines, RoutingFunction},
    traffic::{
        GraphError, MessageGraph, Operation,
        OperationKind::{self, Compute, Receive, Send},
        Workload,
    },
};
use proptest::{prelude::*, sample::Index};

/// A message: its ranks, what its sender computes before it, and which operations of both ranks before they wait for.
type Drawn = (Index, Index, Option<u64>, Vec<Index>, Option<Index>);

fn messages() -> impl Strategy<Value = Vec<Drawn>> {
    let waits = prop_oneof![Just(vec![]), proptest::collection::vec(any::<Index>(), 1..4)];
    let computed = proptest::option::of(0..200_u64);
    let message = (any::<Index>(), any::<Index>(), computed, waits, proptest::option::of(any::<Index>()));
    proptest::collection::vec(message, 1..40)
}

/// An operation of a rank, and those that must be complete before, by their numbers.
struct Step {
    rank: usize,
    kind: OperationKind,
    after: Vec<usize>,
}

/// The operations of messages of so many flits, none of which stands before what it waits for; a receive stands behind
/// its send.
fn steps(drawn: &[Drawn], ranks: usize, flits: u64) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    // Computations of a rank follow each other, whichever is known first.
    let mut computed: Vec<Option<usize>> = vec![None; ranks];
    for (from, to, cycles, waits, receiver) in drawn {
        let (from, to) = (from.index(ranks), to.index(ranks));
        // Records do not tell when all of a message has left.
        let of = |all: &[Step], rank: usize, index: &Index| {
            let is_known = |one: &Step| one.rank == rank && !matches!(one.kind, Send { .. });
            let own: Vec<usize> = (0..all.len()).filter(|&one| is_known(&all[one])).collect();
            (!own.is_empty()).then(|| own[index.index(own.len())])
        };
        let mut after: Vec<usize> = waits.iter().filter_map(|index| of(&all, from, index)).collect();
        if let Some(cycles) = *cycles {
            after.extend(computed[from].replace(all.len()));
            after.sort_unstable();
            after.dedup();
            all.push(Step { rank: from, kind: Compute { cycles }, after });
            after = vec![all.len() - 1];
        }
        after.sort_unstable();
        after.dedup();
        let before = receiver.as_ref().and_then(|index| of(&all, to, index));
        let tag = all.len() as u32;
        all.push(Step { rank: from, kind: Send { to: to as u32, flits, tag }, after });
        let kind = Receive { from: from as u32, flits, tag };
        all.push(Step { rank: to, kind, after: before.into_iter().collect() });
    }
    all
}

/// The same as a message graph.
fn graph(all: &[Step], nodes: &[u32], payload: u32) -> MessageGraph {
    let mut ranks: Vec<Vec<Operation>> = vec![Vec::new(); nodes.len()];
    let mut places = Vec::new();
    for Step { rank, kind, after } in all {
        places.push(ranks[*rank].len() as u32);
        let requires = after.iter().map(|&before| places[before]).collect();
        ranks[*rank].push(Operation { kind: *kind, requires });
    }
    MessageGraph::new(ranks, nodes.to_vec(), payload).unwrap()
}

/// When the last operation is complete, by the packets of messages of so many packets each; every message starts when
/// all that it waits for is complete, the first such one first.
fn end(all: &[Step], nodes: &[u32], found: &[PacketRecord], packets: usize) -> u64 {
    let mut sent: Vec<Vec<&PacketRecord>> = vec![Vec::new(); nodes.len()];
    for (rank, &node) in nodes.iter().enumerate() {
        sent[rank] = found.iter().filter(|one| one.source == node).collect();
        assert!(sent[rank].is_sorted_by_key(|one| one.generated));
    }
    let mut ends = vec![0; all.len()];
    for (number, Step { rank, kind, after }) in all.iter().enumerate() {
        let ready = after.iter().map(|&before| ends[before]).max().unwrap_or(0);
        ends[number] = match *kind {
            Compute { cycles } => ready + cycles,
            Receive { .. } => ready.max(ends[number - 1]),
            Send { to, .. } => {
                let is_of =
                    |one: &&PacketRecord| (one.destination, one.generated) == (nodes[to as usize], ready);
                let messages = sent[*rank].chunks(packets);
                let place = messages.map(|message| message.iter().all(is_of)).position(|is_it| is_it);
                let first = place.expect("a message starts when it may") * packets;
                let message = sent[*rank].drain(first..first + packets);
                // Of a send the cycle in which its receiver knows of it.
                message.map(|one| one.tail_arrival + KNOWN).max().unwrap_or(0)
            }
        };
    }
    assert!(sent.iter().all(Vec::is_empty));
    ends.into_iter().max().unwrap_or(0)
}

proptest! {
    #![proptest_config(cases(80))]
    #[test]
    fn messages_start_when_what_they_wait_for_is_complete(
        words in meshes(),
        drawn in messages(),
        order in any::<u64>(),
        (ranks, payload) in (1_usize..10, 1_u32..20),
        flits in prop_oneof![Just(0_u64), 1..12_u64, 1..60_u64],
        stops in proptest::collection::vec(1_u64..80, 0..4),
    ) {
        let words = format!("{words} packet_size=1 seed=1");
        let (options, shape) = read(&words);
        // Ranks sit on nodes in any order.
        let mut nodes: Vec<u32> = (0..shape.nodes() as u32).collect();
        nodes.sort_unstable_by_key(|&node| (u64::from(node) + 1).wrapping_mul(order | 1).rotate_left(32));
        nodes.truncate(ranks);
        let all = steps(&drawn, nodes.len(), flits);
        let workload = Workload::Graph(graph(&all, &nodes, payload));
        let rule = ChannelRule::new(1, Datelines::BOTH);
        let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
        let Ok(config) = options.config() else { return Ok(()) };
        let begin = |packets: bool| {
            let probe = |_| packets.then(PacketRecords::default);
            Simulation::pipelined_observed(&config, &place, &workload, &Setup::default(), None, probe)
        };
        let (Ok(mut recorded), Ok(mut others)) = (begin(true), begin(false)) else { return Ok(()) };
        let ended = recorded.run(&LIMITED);
        // What waits is saved and taken up again.
        for stop in stops {
            _ = others.run(&Options { stop_at: Some(others.now() + stop), ..Options::default() });
            let bytes = others.save();
            let mut restored = begin(false).unwrap();
            restored.restore(bytes).unwrap();
            others = restored;
        }
        prop_assert_eq!(others.run(&LIMITED), ended.clone());
        prop_assert_eq!(others.totals(), recorded.totals());
        if ended.is_err() {
            return Ok(());
        }
        let found = recorded.probe().clone().unwrap().into_sorted();
        let (packets, payload) = (flits.div_ceil(payload.into()).max(1), u64::from(payload));
        prop_assert_eq!(recorded.totals().unwrap().makespan, Some(end(&all, &nodes, &found, packets as usize)));
        let length = |one: &PacketRecord| {
            let is_last = (one.number + 1).is_multiple_of(packets);
            1 + if is_last { flits - (packets - 1) * payload } else { payload } as u32
        };
        prop_assert_eq!(&replayed((&config, &place), &found, shape.nodes(), length), &found);
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
