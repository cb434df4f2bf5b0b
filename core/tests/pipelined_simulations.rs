//! Runs of the pipelined router on flitloom's own networks that are saved, taken up again and continued.

use crate::common::cases;
use flitloom_core::{
    booksim,
    engine::{
        Lost, Message, Options, Rank, Setup, Simulation, SimulationError, Transport,
        pipelined::{Lanes, Place, Replies, Switched},
    },
    fabric::{Graph, Shape},
    probe::{LinkTime, PacketRecord, PacketRecords, Probe},
    routes::by_destination::{ForwardingRequest, forward},
    routing::{ChannelRule, Datelines, RoutingFunction},
    traffic::{MessageGraph, OpenLoad, Operation, OperationKind, Packet, PacketList, Pattern, Workload},
};
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use std::{
    cell::Cell,
    sync::{
        atomic::AtomicBool,
        mpsc::{Receiver, Sender, channel},
    },
};

/// A run with records, if it keeps them.
type Run = Simulation<Option<(PacketRecords, LinkTime)>>;

const ALLOCATORS: &[&str] = &[
    "islip",
    "islip",
    "islip(2)",
    "separable_input_first",
    "wavefront",
    "select",
    "pim",
    "loa",
    "max_size",
    "rr_wavefront",
    "separable_output_first(matrix)",
];
const POLICIES: &[&str] = &[
    "private",
    "private",
    "private",
    "private",
    "shared",
    "shared",
    "limited",
    "dynamic",
    "shifting",
    "feedback",
    "simplefeedback",
];
const PRIORITIES: &[&str] =
    &["none", "none", "age", "network_age", "local_age", "queue_length", "hop_count", "sequence", "class"];
const OPTIONS: &[(&str, &[&str])] = &[
    ("vc_allocator", ALLOCATORS),
    ("sw_allocator", ALLOCATORS),
    ("vc_buf_size", &["1", "2", "4", "8"]),
    ("buffer_policy", POLICIES),
    ("private_bufs", &["-1", "-1", "2"]),
    ("routing_delay", &["0", "1", "2"]),
    ("st_final_delay", &["1", "1", "1", "2"]),
    ("credit_delay", &["0", "1", "3"]),
    ("wait_for_tail_credit", &["0", "1"]),
    ("vc_busy_when_full", &["0", "1"]),
    ("vc_shuffle_requests", &["0", "0", "0", "1"]),
    ("priority", PRIORITIES),
    ("vc_priority_donation", &["0", "1"]),
    ("vc_prioritize_empty", &["0", "0", "0", "1"]),
    ("vc_alloc_delay", &["1", "1", "1", "2"]),
    ("sw_alloc_delay", &["1", "1", "1", "3"]),
    ("st_prepare_delay", &["0", "0", "0", "1"]),
    ("output_delay", &["0", "0", "0", "2"]),
    ("alloc_iters", &["1", "1", "2"]),
    ("spec_check_elig", &["1", "0"]),
    ("spec_check_cred", &["1", "0"]),
    ("spec_mask_by_reqs", &["0", "1"]),
    ("max_held_slots", &["-1", "-1", "2"]),
    ("feedback_aging_scale", &["1", "3"]),
    ("feedback_offset", &["1000", "5"]),
];
/// Of which no two exclude each other.
const FORMS: &[&str] = &[
    "input_speedup=1",
    "input_speedup=1",
    "input_speedup=2",
    "input_speedup=9",
    "input_speedup=64",
    "output_speedup=2",
    "internal_speedup=1.5",
    "output_buffer_size=2",
    "hold_switch_for_packet=1",
    "speculative=1",
    "speculative=1 spec_sw_allocator=wavefront",
    "speculative=1 vc_allocator=piggyback",
];

/// Requests in one half of the channels, replies in the other.
const ANSWERED: &str = "classes=2 use_read_write=1 read_request_end_vc=-1 read_reply_begin_vc=-1 \
    read_reply_end_vc=-1 write_request_begin_vc=-1 write_request_end_vc=-1 write_reply_begin_vc=-1 \
    write_reply_end_vc=-1";

/// What lets routers do each part of a step together, with most other options.
const PLAIN: &str = "st_final_delay=1 vc_shuffle_requests=0 hold_switch_for_packet=0 output_speedup=1 \
    internal_speedup=1.0 vc_prioritize_empty=0 vc_alloc_delay=1 sw_alloc_delay=1 st_prepare_delay=0 \
    output_delay=0 alloc_iters=1 max_held_slots=-1";

#[derive(Clone, Debug)]
enum Ground {
    Grid(Shape, RoutingFunction, u8),
    /// Switches with hosts, cables, and whether the lane of a packet changes on its way.
    Graph(Graph, bool),
}

fn grounds() -> impl Strategy<Value = (Ground, &'static str)> {
    let shapes = [
        Shape::torus(&[4, 4]),
        Shape::torus(&[5]),
        Shape::torus(&[3, 2, 4]),
        Shape::mesh(&[4, 3]),
        Shape::mesh(&[2, 3, 2]),
    ];
    let shapes = select(shapes.into_iter().flatten().collect::<Vec<_>>());
    // One class on a ring lets packets wait for each other.
    let functions = select(vec![
        (RoutingFunction::DimensionOrder, 1, "2"),
        (RoutingFunction::DimensionOrder, 4, "8"),
        (RoutingFunction::O1Turn, 8, "16"),
        (RoutingFunction::Valiant, 8, "17"),
    ]);
    let ring: Vec<_> = (0..5).map(|switch| (switch, (switch + 1) % 5)).collect();
    let graphs = [
        Graph::new(vec![2, 1, 0, 3, 1], &ring),
        Graph::new(vec![2; 4], &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (0, 1)]),
    ];
    prop_oneof![
        (shapes, functions).prop_map(|(shape, (function, classes, channels))| {
            (Ground::Grid(shape, function, classes), channels)
        }),
        (select(graphs.into_iter().flatten().collect::<Vec<_>>()), any::<bool>())
            .prop_map(|(graph, changes)| (Ground::Graph(graph, changes), "8")),
    ]
}

/// The tables of a graph; lanes by levels, or by a table of every switch that spreads them.
fn tables(graph: &Graph, changes: bool) -> Switched {
    let roots = (0..graph.switches() as u32).collect();
    let made = forward(graph, None, roots, None, None, ForwardingRequest::default());
    let switches = graph.switches() as u32;
    let following: Vec<u32> = (0..switches as usize).flat_map(|row| made.table.row(row).to_vec()).collect();
    // A row for every switch, which leads to all of its hosts.
    let rows = (0..switches).flat_map(|switch| std::iter::repeat_n(switch, graph.hosts(switch) as usize));
    let levels = made.lanes.host_levels(graph);
    let lanes = if changes {
        let (mut start, mut entries) = (Vec::new(), Vec::new());
        for switch in 0..switches {
            start.push(entries.len());
            let degree = graph.outgoing(switch).len();
            let pairs = (degree + graph.hosts(switch) as usize) * degree;
            entries.extend((0..pairs).map(|pair| [(pair % 2) as u8; 16]));
        }
        Lanes::Tables(start, entries)
    } else {
        Lanes::Levels(made.lanes.lanes as u8)
    };
    Switched::new(graph, &following, rows.collect(), Some(levels), lanes)
}

#[derive(Clone, Debug)]
struct Case {
    ground: Ground,
    words: String,
    seed: u64,
    length: u32,
    /// All at once, or a load, of closed sources above 3; 6 is a message graph, 7 all at once and once more later.
    kind: u8,
    latency: u32,
    windows: Option<u64>,
    replies: Option<(u32, Option<u32>)>,
    /// Link times and packets, of routers that work in turn.
    records: bool,
}

fn drawn() -> impl Strategy<Value = Case> {
    let options: Vec<_> = OPTIONS
        .iter()
        .map(|&(name, values)| select(values).prop_map(move |value| format!("{name}={value}")))
        .collect();
    let rest = (1u64..1000, 1u32..12, 0u8..8, select(vec![1, 1, 2, 3]), select(vec![None, Some(40)]));
    let replies = select(vec![None, None, Some((2, None)), Some((5, Some(1)))]);
    let (records, is_plain) = (select(vec![false, false, true]), select(vec![false, true, true]));
    (grounds(), options, select(FORMS), rest, replies, records, is_plain).prop_map(
        |((ground, channels), options, form, rest, replies, records, is_plain)| {
            let (seed, length, kind, latency, windows) = rest;
            let classes = if replies.is_some() { ANSWERED } else { "classes=1" };
            let last = if is_plain { PLAIN } else { "" };
            let words = format!("{} {form} num_vcs={channels} {classes} {last}", options.join(" "));
            let records = records && !is_plain;
            Case { ground, words, seed, length, kind, latency, windows, replies, records }
        },
    )
}

impl Case {
    fn nodes(&self) -> usize {
        match &self.ground {
            Ground::Grid(shape, ..) => shape.nodes(),
            Ground::Graph(graph, _) => graph.all_hosts() as usize,
        }
    }

    fn workload(&self) -> Workload {
        let nodes = self.nodes();
        if self.kind == 6 {
            return Workload::Graph(self.messages(nodes as u32));
        }
        if (1..6).contains(&self.kind) {
            let random =
                Pattern::Random.destinations(&Shape::mesh(&[nodes as u32]).unwrap(), self.seed).unwrap();
            let load = OpenLoad::new(random, f64::from(self.kind) * 0.15, self.length, 120, self.seed);
            let load = load.unwrap();
            return Workload::Load(if self.kind > 3 { load.closed(self.kind.into()).unwrap() } else { load });
        }
        // All at once to a node half the network away, which is what fills rings.
        let packet = |node: usize, start, slice| Packet {
            destination: ((node + nodes / 2) % nodes) as u32,
            length: self.length,
            start,
            slice,
        };
        let second = if self.kind == 7 { 1500 } else { 1 };
        let all = (0..nodes).map(|node| vec![packet(node, 0, 0), packet(node, second, 1)]);
        Workload::Packets(PacketList::from_nodes(all).unwrap())
    }

    /// Everybody sends to the node half the network away, computes when its own message is there, and sends twice more.
    fn messages(&self, nodes: u32) -> MessageGraph {
        let flits = u64::from(self.length) * 3;
        let rank = |node: u32| {
            let (to, from) = ((node + nodes / 2) % nodes, (node + nodes - nodes / 2) % nodes);
            let operation = |kind, requires: &[u32]| Operation { kind, requires: requires.to_vec() };
            let send = |tag| OperationKind::Send { to, flits, tag };
            let receive = |tag| OperationKind::Receive { from, flits, tag };
            vec![
                operation(send(0), &[]),
                operation(receive(0), &[]),
                operation(OperationKind::Compute { cycles: self.seed % 90 }, &[1]),
                operation(send(1), &[2]),
                operation(receive(1), &[]),
                operation(send(2), &[3, 4]),
                operation(receive(2), &[4]),
            ]
        };
        MessageGraph::new((0..nodes).map(rank).collect(), (0..nodes).collect(), self.length).unwrap()
    }

    fn begin(&self) -> Option<Run> {
        self.begin_in(1)
    }

    /// A run that may use so many threads.
    fn begin_in(&self, threads: usize) -> Option<Run> {
        self.begin_on(threads, None)?.ok()
    }

    /// The same in one of several processes.
    fn begin_on(&self, threads: usize, rank: Option<Rank>) -> Option<Result<Run, SimulationError>> {
        let mut options = booksim::Options::default();
        for word in self.words.split_whitespace() {
            let (name, value) = word.split_once('=')?;
            assert!(options.set(name, value), "{name}");
        }
        let switched;
        let place = match &self.ground {
            Ground::Grid(shape, function, classes) => {
                Place::Grid(shape, *function, ChannelRule::new(*classes, Datelines::BOTH))
            }
            Ground::Graph(graph, changes) => {
                switched = tables(graph, *changes);
                Place::Graph(graph, &switched)
            }
        };
        let setup = Setup {
            windows: self.windows,
            parts: threads,
            ports_of_a_part: Some(1),
            options: Options { seed: self.seed, ..Options::default() },
            ..Setup::default()
        };
        let replies = self.replies.map(|(length, places)| Replies { length, places });
        let (mut config, workload) = (options.config().ok()?, self.workload());
        (config.latency, config.replies) = (self.latency, replies);
        let probe = |links| self.records.then(|| (PacketRecords::default(), LinkTime::new(links)));
        Some(Simulation::pipelined_observed(&config, &place, &workload, &setup, rank, probe))
    }
}

/// All that can be asked of a run.
fn told(run: &mut Run) -> String {
    let windows = run.windows().map(|windows| {
        let queues = (windows.queues(), windows.busy());
        format!("{:?} {:?} {queues:?}", windows.closed(), windows.of_stretch())
    });
    let (now, is_finished, totals, links) = (run.now(), run.is_finished(), run.totals(), run.links());
    let pipeline = run.pipeline().unwrap();
    let records = run.probe().clone().map(|(packets, time)| (time, packets.into_sorted()));
    let facts = pipeline.facts();
    format!("{now} {is_finished} {totals:?} {facts:?} {links:?} {records:?} {windows:?}")
}

/// Runs to a cycle, or to the end of everything.
fn go<P: Probe>(run: &mut Simulation<P>, stop_at: Option<u64>) -> Result<(), SimulationError> {
    run.run(&Options { stop_at, ..Options::default() })
}

/// The cycle to which runs go, if they do not end before.
const LAST: Option<u64> = Some(4000);

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_is_saved_is_taken_up(case in drawn(), steps in proptest::collection::vec(1_u64..60, 1..6)) {
        let Some(mut whole) = case.begin() else { return Ok(()) };
        let expected = (go(&mut whole, LAST), told(&mut whole));
        let mut held = case.begin().unwrap();
        let (mut cycle, mut ended) = (0, Ok(()));
        for step in steps {
            cycle += step;
            ended = go(&mut held, Some(cycle));
            if ended != Ok(()) || held.is_finished() {
                break;
            }
            let bytes = held.save();
            let mut restored = case.begin().unwrap();
            restored.restore(bytes.clone()).unwrap();
            prop_assert_eq!(told(&mut restored), told(&mut held));
            prop_assert!(restored.save() == bytes);
            held = restored;
        }
        if ended == Ok(()) {
            ended = go(&mut held, LAST);
        }
        prop_assert_eq!((ended, told(&mut held)), expected);
    }

    #[test]
    fn windows_do_not_depend_on_how_a_run_is_driven(case in drawn(), step in 1_u64..200) {
        let case = Case { windows: Some(40), replies: None, ..case };
        let Some(mut once) = case.begin() else { return Ok(()) };
        if go(&mut once, LAST) != Ok(()) || !once.is_finished() {
            return Ok(());
        }
        let expected = format!("{:?}", once.windows().unwrap().closed());
        let counted: u64 = once.windows().unwrap().closed().iter().map(|window| window.ejected_flits).sum();
        prop_assert_eq!(counted, once.totals().unwrap().flits_delivered);
        prop_assert_eq!(once.windows().unwrap().closed().len() as u64, once.now().div_ceil(40));
        let mut held = case.begin().unwrap();
        while !held.is_finished() {
            let to = held.now() + step;
            _ = go(&mut held, Some(to));
        }
        _ = go(&mut held, Some(100_000));
        prop_assert_eq!(format!("{:?}", held.windows().unwrap().closed()), expected);
    }

    #[test]
    fn damage_is_refused_or_stays_in_the_network(
        case in drawn(),
        cycle in 1_u64..60,
        bits in proptest::collection::vec(any::<prop::sample::Index>(), 8),
    ) {
        let Some(mut run) = case.begin() else { return Ok(()) };
        _ = go(&mut run, Some(cycle));
        let bytes = run.save();
        prop_assert!(case.begin().unwrap().restore(bytes[1..].to_vec()).is_err());
        prop_assert!(case.begin().unwrap().restore(bytes[..bytes.len() - 1].to_vec()).is_err());
        let other = Case { latency: case.latency + 9, ..case.clone() };
        if let Some(mut other) = other.begin() {
            prop_assert!(other.restore(bytes.clone()).is_err());
        }
        for bit in bits {
            let mut damaged = bytes.clone();
            let bit = bit.index(8 * bytes.len());
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut again = case.begin().unwrap();
            // What is taken up names nothing that is not there.
            _ = again.restore(damaged).map(|()| told(&mut again));
        }
    }
}

/// Holds a run in parts against one in one part, whole and saved and taken up in other numbers of parts; whether there
/// were several.
fn compare_parts(case: &Case, threads: usize, steps: &[(u64, usize)]) -> Result<bool, TestCaseError> {
    let Some(mut whole) = case.begin() else { return Ok(false) };
    let expected = (go(&mut whole, LAST), told(&mut whole));
    let mut held = case.begin_in(threads).unwrap();
    let parts = held.parts();
    let ended = go(&mut held, LAST);
    prop_assert_eq!(&(ended, told(&mut held)), &expected);
    let (mut held, mut cycle) = (case.begin_in(threads).unwrap(), 0);
    let mut once_more = case.begin().unwrap();
    for &(step, threads) in steps {
        cycle += step;
        let ended = go(&mut held, Some(cycle));
        prop_assert_eq!(&ended, &go(&mut once_more, Some(cycle)));
        prop_assert_eq!(told(&mut held), told(&mut once_more));
        if ended != Ok(()) || held.is_finished() {
            return Ok(parts > 1);
        }
        let mut restored = case.begin_in(threads).unwrap();
        restored.restore(held.save()).unwrap();
        held = restored;
    }
    let ended = go(&mut held, LAST);
    prop_assert_eq!(&(ended, told(&mut held)), &expected);
    Ok(parts > 1)
}

#[test]
fn parts_do_what_one_does() {
    let (threads, cases) = (select(vec![2_usize, 2, 3, 5]), cases(64));
    let steps = proptest::collection::vec((20_u64..200, select(vec![1_usize, 2, 3, 5])), 0..4);
    let (all, several) = (cases.cases, Cell::new(0));
    let ended = TestRunner::new(cases).run(&(drawn(), threads, steps), |(case, threads, steps)| {
        several.set(several.get() + u32::from(compare_parts(&case, threads, &steps)?));
        Ok(())
    });
    ended.unwrap_or_else(|error| panic!("{error}"));
    // Much of what is drawn is for routers that work in turn.
    assert!(several.get() > all / 8, "only {} of {all} cases ran in several parts", several.get());
}

/// How a thread that stands for a process sends to each of the others, and receives.
pub struct Wires {
    to: Vec<Sender<Vec<u64>>>,
    from: Vec<Receiver<Vec<u64>>>,
}

impl Wires {
    /// Those of so many threads.
    pub fn all(count: usize) -> Vec<Self> {
        let none = || Self { to: Vec::new(), from: Vec::new() };
        let mut all: Vec<Self> = (0..count).map(|_| none()).collect();
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let (sender, receiver) = channel();
            all[from].to.push(sender);
            all[to].from.push(receiver);
        }
        all
    }

    /// What all say to all, in their order.
    fn told(&self, words: &[u64]) -> Result<Vec<Vec<u64>>, Lost> {
        for to in &self.to {
            to.send(words.to_vec()).map_err(|_| Lost)?;
        }
        self.from.iter().map(|from| from.recv().map_err(|_| Lost)).collect()
    }
}

impl Transport for Wires {
    fn exchange(&mut self, messages: &mut [Message]) -> Result<(), Lost> {
        for Message { part, out, .. } in &*messages {
            self.to[*part].send(out.clone()).map_err(|_| Lost)?;
        }
        for Message { part, come, .. } in messages {
            *come = self.from[*part].recv().map_err(|_| Lost)?;
        }
        Ok(())
    }

    fn greatest(&mut self, values: [u64; 4]) -> Result<[u64; 4], Lost> {
        let all = self.told(&values)?;
        Ok(std::array::from_fn(|at| all.iter().map(|one| one[at]).max().unwrap_or(0)))
    }

    fn sum(&mut self, _values: [u64; 3]) -> Result<[u64; 3], Lost> {
        Err(Lost)
    }

    fn collect(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let all = self.told(&own.into_iter().map(u64::from).collect::<Vec<_>>())?;
        Ok(all.into_iter().map(|words| words.into_iter().map(|word| word as u8).collect()).collect())
    }
}

/// How a run ended, and what was known of it then.
type Looked = (Result<(), SimulationError>, String);

/// How a run ends that goes through these cycles, and what is known of it on the way; and its states.
fn passed(run: &mut Run, steps: &[u64]) -> (Vec<Looked>, Vec<Vec<u8>>) {
    let (never, mut cycle, mut all) = (AtomicBool::new(false), 0, (Vec::new(), Vec::new()));
    for &step in steps {
        cycle += step;
        let ended = run.run(&Options { stop_at: Some(cycle), interrupt: Some(&never), ..Options::default() });
        let is_over = ended.is_err();
        all.0.push((ended, told(run)));
        all.1.push(run.save());
        if is_over {
            break;
        }
    }
    all
}

#[test]
fn processes_do_what_one_does() {
    let (ranks, cases) = (select(vec![2_usize, 2, 3, 4]), cases(64));
    let steps = proptest::collection::vec(20_u64..300, 1..5);
    let (all, several) = (cases.cases, Cell::new(0));
    let ended = TestRunner::new(cases).run(&(drawn(), ranks, steps), |(case, ranks, steps)| {
        let Some(mut whole) = case.begin() else { return Ok(()) };
        let steps = [&steps[..], &[4000]].concat();
        let runs: Vec<_> = std::thread::scope(|scope| {
            let begin = |(rank, wires)| {
                let rank = Rank::new(rank, ranks, Box::new(wires));
                let (case, steps) = (&case, &steps);
                scope.spawn(move || {
                    case.begin_on(1, Some(rank)).expect("one begins").map(|mut run| {
                        assert_eq!(run.parts(), ranks);
                        passed(&mut run, steps)
                    })
                })
            };
            let all: Vec<_> = Wires::all(ranks).into_iter().enumerate().map(begin).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let runs: Vec<_> = match runs.into_iter().collect::<Result<_, _>>() {
            Ok(runs) => runs,
            Err(error) => {
                prop_assert_eq!(SimulationError::fault(&error).field, "mpiexec");
                return Ok(());
            }
        };
        let expected = passed(&mut whole, &steps).0;
        for (seen, states) in &runs {
            prop_assert_eq!(seen, &expected);
            prop_assert!(*states == runs[0].1);
        }
        // One process goes on from the state of several.
        let mut alone = case.begin().unwrap();
        alone.restore(runs[0].1[0].clone()).unwrap();
        if expected.iter().all(|(ended, _)| ended.is_ok()) {
            prop_assert_eq!(
                (go(&mut alone, Some(steps.iter().sum())), told(&mut alone)),
                expected.last().cloned().unwrap()
            );
        }
        several.set(several.get() + 1);
        Ok(())
    });
    ended.unwrap_or_else(|error| panic!("{error}"));
    assert!(several.get() > all / 8, "only {} of {all} cases ran in several processes", several.get());
}

#[test]
fn channels_by_the_next_port_are_refused_on_own_networks() {
    let shape = Shape::mesh(&[4, 3]).unwrap();
    let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, ChannelRule::new(1, Datelines::BOTH));
    let mut options = booksim::Options::default();
    assert!(options.set("noq", "1"));
    let random = Pattern::Random.destinations(&shape, 5).unwrap();
    let load = Workload::Load(OpenLoad::new(random, 0.1, 2, 60, 5).unwrap());
    let config = options.config().unwrap();
    let error = Simulation::pipelined(&config, &place, &load, &Setup::default()).err().unwrap();
    assert_eq!(error.fault().field, "router.noq");
}

#[test]
fn closed_sources_wait_for_the_replies_to_their_packets() {
    let shape = Shape::mesh(&[4, 3]).unwrap();
    let rule = ChannelRule::new(1, Datelines::BOTH);
    let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
    let mut options = booksim::Options::default();
    for word in ANSWERED.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap();
        assert!(options.set(name, value), "{name}");
    }
    let random = Pattern::Random.destinations(&shape, 5).unwrap();
    for limit in [1_u32, 3] {
        let load = OpenLoad::new(random.clone(), 0.9, 2, 600, 5).unwrap().closed(limit).unwrap();
        let replies = Some(Replies { length: 4, places: None });
        let mut config = options.config().unwrap();
        config.replies = replies;
        let (load, setup) = (Workload::Load(load), Setup::default());
        let probe = |_| PacketRecords::default();
        let mut run = Simulation::pipelined_observed(&config, &place, &load, &setup, None, probe).unwrap();
        assert_eq!(go(&mut run, None), Ok(()));
        let all = run.probe().clone().into_sorted();
        let (replies, requests): (Vec<PacketRecord>, Vec<PacketRecord>) =
            all.into_iter().partition(|one| one.number >= 1 << 31);
        assert!(replies.len() == requests.len() && requests.len() > 100);
        for node in 0..12 {
            let starts = requests.iter().filter(|one| one.source == node).map(|one| one.generated);
            // Two cycles after their last router replies are at the node.
            let arrivals = replies.iter().filter(|one| one.destination == node);
            let mut arrivals: Vec<u64> = arrivals.map(|one| one.tail_arrival + 2).collect();
            arrivals.sort_unstable();
            for (start, arrival) in starts.skip(limit as usize).zip(arrivals) {
                assert!(start > arrival);
            }
        }
    }
}
