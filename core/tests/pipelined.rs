//! The pipelined router held against a slow reference on random meshes and tori, packet for packet, and the reference
//! against packets that BookSim2 logged.

use crate::common::cases;
use crate::pipelined_simulations::Wires;
use crate::reference::pipelined::{Record, run, run_closed};
use flitloom_core::{
    booksim::{self, Event, OptionError, PacketRecord, Parts, Phases},
    engine::{Options, Rank, Setup, Simulation, pipelined::Place},
    fabric::Shape,
    probe::{self, PacketRecords},
    routing::{ChannelRule, Datelines, RoutingFunction},
    throttle::Throttle,
    traffic::{OpenLoad, Pattern, Process, Profile, Workload},
};
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use std::cell::Cell;

/// Cycles in which sources make packets.
const CYCLES: usize = 200;
/// Cycles after which packets are taken to wait for each other.
pub const LIMITED: Options<'_> = Options {
    stop_at: None,
    cycle_limit: Some(100_000),
    interrupt: None,
    reinitialise_slices: false,
    throttle: Throttle::None,
    seed: 0,
};
/// Samples that are never enough, so that sources stop after a fixed time.
const PHASES: &str = "sim_type=throughput warmup_periods=1 max_samples=2 sample_period=100";
const ALLOCATORS: &[&str] = &[
    "islip",
    "islip(2)",
    "pim",
    "separable_input_first",
    "separable_output_first",
    "separable_input_first(matrix)",
    "separable_output_first(matrix)",
    "wavefront",
];
const MESH: &[&str] = &["dor", "xy_yx", "adaptive_xy_yx", "romm", "valiant", "min_adapt"];
const PRIORITIES: &[&str] = &["none", "none", "age", "network_age", "local_age", "queue_length", "hop_count"];
const FLAG: &[&str] = &["0", "0", "1"];
const OPTIONS: &[(&str, &[&str])] = &[
    ("num_vcs", &["2", "3", "4"]),
    ("vc_buf_size", &["1", "2", "3", "8"]),
    ("traffic", &["uniform", "uniform", "tornado", "neighbor", "diagonal"]),
    ("packet_size", &["1", "2", "5"]),
    ("injection_rate", &["0.03", "0.1", "0.3"]),
    ("routing_delay", &["0", "1", "2"]),
    ("credit_delay", &["0", "1", "2"]),
    ("st_prepare_delay", &["0", "1"]),
    ("st_final_delay", &["1", "2"]),
    ("vc_allocator", ALLOCATORS),
    ("sw_allocator", ALLOCATORS),
    ("speculative", FLAG),
    ("spec_check_elig", &["0", "1"]),
    ("spec_check_cred", &["0", "1"]),
    ("spec_mask_by_reqs", &["0", "1"]),
    ("spec_sw_allocator", &["prio", "prio", "islip", "separable_input_first", "wavefront", "pim"]),
    ("priority", PRIORITIES),
    ("wait_for_tail_credit", FLAG),
    ("vc_busy_when_full", FLAG),
    ("vc_prioritize_empty", FLAG),
    ("vc_priority_donation", FLAG),
    ("vc_shuffle_requests", FLAG),
    ("hold_switch_for_packet", FLAG),
];
/// Speedups of which no two exclude each other.
const SPEEDUPS: &[&str] = &[
    "output_buffer_size=-1",
    "output_buffer_size=2",
    "input_speedup=2 output_buffer_size=2",
    "output_speedup=2 output_buffer_size=1",
    "internal_speedup=2.0",
    "input_speedup=2 output_speedup=2 internal_speedup=1.5",
];

/// Options as words.
fn configurations() -> impl Strategy<Value = String> {
    let routing = prop_oneof![
        select(MESH).prop_map(|name| format!("topology=mesh routing_function={name}")),
        select(vec!["dim_order", "dim_order_bal"])
            .prop_map(|name| format!("topology=torus routing_function={name}")),
    ];
    let sizes = select(vec!["k=3 n=2", "k=4 n=2", "k=4 n=1", "k=5 n=1"]);
    let rest: Vec<_> = OPTIONS
        .iter()
        .map(|&(name, values)| select(values).prop_map(move |value| format!("{name}={value}")))
        .collect();
    (routing, sizes, rest, select(SPEEDUPS), 0..1000u32).prop_map(|(routing, sizes, rest, speedups, seed)| {
        format!("{routing} {sizes} {} {speedups} seed={seed}", rest.join(" "))
    })
}

/// In how many parts the engine is, and its packets; `None` if they wait for each other.
type Ran = Result<(usize, Option<Vec<Record>>), OptionError>;

/// What the engine does in some parts.
fn engine(words: &str, parts: Parts) -> Ran {
    let mut options = booksim::Options::default();
    for word in words.split_whitespace().chain(PHASES.split_whitespace()) {
        let (name, value) = word.split_once('=').expect("name=value");
        assert!(options.set(name, value), "{name}");
    }
    let mut phases = Phases::in_parts(&options, true, parts)?;
    let parts = phases.parts();
    while let Some(event) = phases.advance(&false.into()) {
        if matches!(event, Event::Broken(..)) {
            return Ok((parts, None));
        }
    }
    let log = phases.take_log();
    let record = |one: &PacketRecord| {
        let times = [one.created, one.injected, one.head, one.tail];
        let [created, injected, head, tail] = times.map(|time| time as usize);
        let ends = (one.source as usize, one.destination as usize);
        [one.packet as usize, ends.0, ends.1, created, injected, head, tail, one.hops.into()]
    };
    Ok((parts, Some(log.iter().map(record).collect())))
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn the_engine_equals_the_reference(words in configurations()) {
        let (_, packets) = engine(&words, Parts::default()).expect("known options");
        prop_assert_eq!(packets, run(&words, CYCLES));
    }
}

/// Options whose routers do not depend on each other, in place of those that are drawn.
const APART: &str = "routing_function=dor topology=mesh priority=age st_prepare_delay=0 st_final_delay=1 \
                     vc_allocator=wavefront sw_allocator=islip speculative=0 vc_prioritize_empty=0 \
                     vc_shuffle_requests=0 hold_switch_for_packet=0";

/// Options with others in their place.
fn replaced(words: &str, others: &str) -> String {
    let name = |word: &str| word.split('=').next().map(str::to_owned);
    let stays = |word: &&str| others.split(' ').all(|other| name(other) != name(word));
    let stay: Vec<_> = words.split(' ').filter(stays).collect();
    format!("{} {others}", stay.join(" "))
}

/// What the engine does on so many processes.
fn on_processes(words: &str, ranks: usize) -> Vec<Ran> {
    std::thread::scope(|scope| {
        let begin = |(rank, wires)| {
            let rank = Some(Rank::new(rank, ranks, Box::new(wires)));
            scope.spawn(move || engine(words, Parts { rank, ..Parts::default() }))
        };
        let all: Vec<_> = Wires::all(ranks).into_iter().enumerate().map(begin).collect();
        all.into_iter().map(|one| one.join().expect("no panic")).collect()
    })
}

#[test]
fn threads_and_processes_run_a_file_as_the_reference_does() {
    let (cases, in_parts, refused) = (cases(150), Cell::new(0), Cell::new(0));
    let all = cases.cases;
    let drawn = (configurations(), any::<bool>(), 2_usize..4);
    let ended = TestRunner::new(cases).run(&drawn, |(words, is_apart, count)| {
        let words = if is_apart { replaced(&words, APART) } else { words };
        let expected = run(&words, CYCLES);
        let threads = Parts { threads: count, ports_of_a_part: Some(1), rank: None };
        let (parts, packets) = engine(&words, threads).expect("known options");
        prop_assert_eq!(packets, expected.clone());
        in_parts.set(in_parts.get() + usize::from(parts == count));
        for found in on_processes(&words, count) {
            match found {
                Ok(found) => prop_assert_eq!(found, (count, expected.clone())),
                Err(error) => {
                    prop_assert_eq!(error.option, "mpiexec");
                    prop_assert_eq!(parts, 1);
                    refused.set(refused.get() + 1);
                }
            }
        }
        Ok(())
    });
    ended.unwrap_or_else(|error| panic!("{error}"));
    let few = all as usize / 10;
    assert!(
        in_parts.get() > few && refused.get() > few,
        "{} in parts, {} refused",
        in_parts.get(),
        refused.get()
    );
}

/// Meshes with dimension order, which flitloom's own routing function and that of BookSim2 do alike.
pub fn meshes() -> impl Strategy<Value = String> {
    let sizes = select(vec!["k=3 n=2", "k=4 n=2", "k=5 n=1"]);
    let rest: Vec<_> = OPTIONS
        .iter()
        .filter(|(name, _)| !["packet_size", "priority"].contains(name))
        .map(|&(name, values)| {
            // Its numbers are drawn from another generator.
            let known: Vec<_> = values.iter().filter(|&&value| value != "pim").collect();
            select(known).prop_map(move |value| format!("{name}={value}"))
        })
        .collect();
    (sizes, rest, select(SPEEDUPS)).prop_map(|(sizes, rest, speedups)| {
        format!("topology=mesh routing_function=dor {sizes} {} {speedups}", rest.join(" "))
    })
}

/// Options, and the mesh of the words of [`meshes`].
pub fn read(words: &str) -> (booksim::Options, Shape) {
    let mut options = booksim::Options::default();
    let mut sizes = Vec::new();
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').expect("name=value");
        assert!(options.set(name, value), "{name}");
        match name {
            "k" => sizes = vec![value.parse::<u32>().unwrap()],
            "n" => sizes = sizes.repeat(value.parse().unwrap()),
            _ => {}
        }
    }
    (options, Shape::mesh(&sizes).unwrap())
}

/// Ends and times of a packet as the reference has them.
pub fn times(one: &probe::PacketRecord) -> [usize; 6] {
    let ends = [one.source, one.destination].map(|node| node as usize);
    // The engine counts arrivals where flits leave their last router.
    let times = [one.generated, one.injected, one.head_arrival + 2, one.tail_arrival + 2];
    let [made, sent, head, tail] = times.map(|time| time as usize);
    [ends[0], ends[1], made, sent, head, tail]
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn closed_sources_equal_those_of_the_reference(
        words in meshes(),
        (limit, length, rate, seed) in (1_u32..6, 1_u32..6, 0.05..0.9, 0_u64..1000),
        gap in any::<bool>(),
    ) {
        let words = format!("{words} packet_size={length} seed=1");
        let (options, shape) = read(&words);
        let to = Pattern::Random.destinations(&shape, seed).unwrap();
        let process = if gap { Process::Gap } else { Process::Bernoulli };
        let profile = Profile::new(&[(0, rate), (60, rate / 3.0)]).unwrap();
        let load = OpenLoad::shaped(to, process, profile, length, CYCLES as u64, seed);
        let Ok(load) = load.and_then(|load| load.closed(limit)) else { return Ok(()) };
        let starts = |node: usize, number: usize, from: usize, least: usize| {
            let (named, index) = (node as u32, number as u64);
            let start = load.start_with_room(named, index, from as u64, least as u64)?;
            Some((start as usize, load.packet_at(named, index, start).destination as usize))
        };
        let expected = run_closed(&words, limit as usize, &starts);
        let rule = ChannelRule::new(1, Datelines::BOTH);
        let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
        let Ok(config) = options.config() else { return Ok(()) };
        let begin = |packets: bool| {
            let setup = Setup { windows: Some(7), ..Setup::default() };
            let probe = |_| packets.then(PacketRecords::default);
            let load = Workload::Load(load.clone());
            Simulation::pipelined_observed(&config, &place, &load, &setup, None, probe)
        };
        let (Ok(mut lists), Ok(mut others)) = (begin(true), begin(false)) else { return Ok(()) };
        let ended = lists.run(&LIMITED);
        prop_assert_eq!((others.run(&LIMITED), others.totals()), (ended.clone(), lists.totals()));
        let Some(mut expected) = expected.filter(|_| ended.is_ok()) else { return Ok(()) };
        // Windows draw the same starts from what has arrived.
        let end = others.now() + 7;
        _ = others.run(&Options { stop_at: Some(end), ..Options::default() });
        for (window, counted) in others.windows().unwrap().closed().iter().enumerate() {
            let made = expected.iter().filter(|one| one[3] / 7 == window).count() as u64;
            prop_assert_eq!(counted.generated_flits, made * u64::from(length));
        }
        // By source in the order in which they were made.
        expected.sort_unstable_by_key(|one| (one[1], one[0]));
        let expected: Vec<_> = expected.into_iter().map(|[_, from, to, made, sent, head, tail, _]| [from, to, made, sent, head, tail]).collect();
        let found: Vec<_> = lists.probe().clone().unwrap().into_sorted().iter().map(times).collect();
        prop_assert_eq!(found, expected);
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A line of the record: the packets that BookSim2 (commit 28f43299) logged, a hash of the log (packet, source,
/// destination, created, injected, head, tail, hops, in the order of arrival), and the options.
#[test]
fn the_reference_does_what_booksim2_logged() {
    let recorded = include_str!("reference/pipelined/recorded.txt");
    for line in recorded.lines() {
        let [packets, hashed, words] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let records = run(words, CYCLES).expect("packets do not wait for each other");
        let text = |one: &Record| one.map(|number| number.to_string()).join(" ") + "\n";
        let log: String = records.iter().map(text).collect();
        assert_eq!(
            (records.len().to_string(), format!("{:016x}", hash(&log))),
            (packets.to_owned(), hashed.to_owned()),
            "{words}"
        );
    }
    assert!(recorded.lines().count() >= 50);
}
