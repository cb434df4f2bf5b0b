//! Files of BookSim2 and closed sources on pipelined routers: the same in any number of parts, and packets that start
//! when they may.

use crate::common::cases;
use crate::pipelined_simulations::Wires;
use flitloom_core::{
    booksim::{self, Event, OptionError, PacketRecord, Parts, Phases},
    engine::{
        Options, Rank, Setup, Simulation,
        pipelined::{Config, Place},
    },
    fabric::Shape,
    probe::{self, PacketRecords},
    routing::{ChannelRule, Datelines, RoutingFunction},
    throttle::Throttle,
    traffic::{OpenLoad, Packet, PacketList, Pattern, Process, Profile, Workload},
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
type Ran = Result<(usize, Option<Vec<PacketRecord>>), OptionError>;

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
    Ok((parts, Some(phases.take_log())))
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
fn threads_and_processes_run_a_file_as_one_part_does() {
    let (cases, in_parts, refused) = (cases(150), Cell::new(0), Cell::new(0));
    let all = cases.cases;
    let drawn = (configurations(), any::<bool>(), 2_usize..4);
    let ended = TestRunner::new(cases).run(&drawn, |(words, is_apart, count)| {
        let words = if is_apart { replaced(&words, APART) } else { words };
        let (_, expected) = engine(&words, Parts::default()).expect("known options");
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

/// Cycles from the arrival of a tail at its last router to the first in which its node knows of it.
pub const KNOWN: u64 = 3;

/// The same packets as a list, with the starts that they had: what routers do with them does not depend on who makes
/// them.
pub fn replayed(
    (config, place): (&Config, &Place<'_>),
    found: &[probe::PacketRecord],
    nodes: usize,
    length: impl Fn(&probe::PacketRecord) -> u32,
) -> Vec<probe::PacketRecord> {
    let mut lists = vec![Vec::new(); nodes];
    for one in found {
        let (destination, start, slice) = (one.destination, one.generated, one.slice);
        lists[one.source as usize].push(Packet { destination, length: length(one), start, slice });
    }
    let workload = Workload::Packets(PacketList::from_nodes(lists).unwrap());
    let probe = |_| PacketRecords::default();
    let run = Simulation::pipelined_observed(config, place, &workload, &Setup::default(), None, probe);
    let mut run = run.unwrap();
    assert_eq!(run.run(&LIMITED), Ok(()));
    run.probe().clone().into_sorted()
}

/// Whether the packets of a node start when the load says, not before there is room for them, and go where it says.
fn starts_in_turn(load: &OpenLoad, limit: usize, node: u32, own: &[&probe::PacketRecord]) -> bool {
    let mut room: Vec<u64> = own.iter().map(|one| one.tail_arrival + KNOWN).collect();
    room.sort_unstable();
    let mut from = 0;
    (0..=own.len()).all(|number| {
        let least = number.checked_sub(limit).map_or(0, |before| room[before]);
        let start = load.start_with_room(node, number as u64, from, least);
        let to = start.map(|start| load.packet_at(node, number as u64, start).destination);
        from = start.unwrap_or(0) + 1;
        start.zip(to) == own.get(number).map(|one| (one.generated, one.destination))
    })
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn closed_sources_start_packets_as_soon_as_they_may(
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
        let rule = ChannelRule::new(1, Datelines::BOTH);
        let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
        let Ok(config) = options.config() else { return Ok(()) };
        let begin = |packets: bool| {
            let setup = Setup { windows: Some(7), ..Setup::default() };
            let probe = |_| packets.then(PacketRecords::default);
            let load = Workload::Load(load.clone());
            Simulation::pipelined_observed(&config, &place, &load, &setup, None, probe)
        };
        let (Ok(mut recorded), Ok(mut others)) = (begin(true), begin(false)) else { return Ok(()) };
        let ended = recorded.run(&LIMITED);
        prop_assert_eq!((others.run(&LIMITED), others.totals()), (ended.clone(), recorded.totals()));
        if ended.is_err() {
            return Ok(());
        }
        let found = recorded.probe().clone().unwrap().into_sorted();
        for node in 0..shape.nodes() as u32 {
            let own: Vec<_> = found.iter().filter(|one| one.source == node).collect();
            prop_assert!(starts_in_turn(&load, limit as usize, node, &own));
        }
        prop_assert_eq!(&replayed((&config, &place), &found, shape.nodes(), |_| length), &found);
        // Windows draw the same starts from what has arrived.
        let end = others.now() + 7;
        _ = others.run(&Options { stop_at: Some(end), ..Options::default() });
        for (window, counted) in others.windows().unwrap().closed().iter().enumerate() {
            let made = found.iter().filter(|one| one.generated / 7 == window as u64).count() as u64;
            prop_assert_eq!(counted.generated_flits, made * u64::from(length));
        }
    }
}
