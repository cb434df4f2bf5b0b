//! The pipelined router held against a slow reference on random meshes and tori, packet for packet, and the reference
//! against packets that BookSim2 logged.

use crate::common::cases;
use crate::reference::pipelined::{Record, run};
use flitloom_core::engine::pipelined::{Event, Options, Phases};
use proptest::{prelude::*, sample::select};

/// Cycles in which sources make packets.
const CYCLES: usize = 200;
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

/// The packets of the engine; `None` if they wait for each other.
fn engine(words: &str) -> Option<Vec<Record>> {
    let mut options = Options::default();
    for word in words.split_whitespace().chain(PHASES.split_whitespace()) {
        let (name, value) = word.split_once('=').expect("name=value");
        assert!(options.set(name, value), "{name}");
    }
    let mut phases = Phases::new(&options, true).expect("known options");
    while let Some(event) = phases.advance(&false.into()) {
        if matches!(event, Event::Broken(..)) {
            return None;
        }
    }
    let log = phases.take_log();
    let record = |one: &flitloom_core::engine::pipelined::PacketRecord| {
        let times = [one.created, one.injected, one.head, one.tail];
        let [created, injected, head, tail] = times.map(|time| time as usize);
        let ends = (one.source as usize, one.destination as usize);
        [one.packet as usize, ends.0, ends.1, created, injected, head, tail, one.hops.into()]
    };
    Some(log.iter().map(record).collect())
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn the_engine_equals_the_reference(words in configurations()) {
        prop_assert_eq!(engine(&words), run(&words, CYCLES));
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
