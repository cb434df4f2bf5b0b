//! The reference model and the general engine under congestion: bursts on the router of
//! state-propagation-throttling-2015 with every throttle, and the router with output registers. The
//! values are those of an independent program.

use crate::common::sampled;
use crate::reference::{self, Crossing, End, Lines, Rules, Throttle, Watch};
use flitloom_core::{
    engine::{Network, Options, general},
    fabric::{Fabric, Shape},
    probe::NoProbe,
    router::{Arbitration, ChannelScheme, FlowControl, ProcessorQueues, RouterConfig},
    traffic::{Collective, Packet, Pattern, Workload},
};
use std::thread;

const LENGTH: usize = 8;
const DEPTH: usize = 16;

fn packets(shape: &Shape, name: &str, collective: &Collective) -> Vec<Vec<Packet>> {
    let to = Pattern::from_name(name, shape).unwrap().destinations(shape, 0).unwrap();
    let list = collective.packet_list(shape.nodes(), &to).unwrap();
    (0..shape.nodes() as u32).map(|node| list.of(node).to_vec()).collect()
}

/// A burst of ten packets from every node of an N x N torus.
fn burst_of(size: u32, name: &str) -> (Network, Workload) {
    let shape = Shape::torus(&[size, size]).unwrap();
    let to = Pattern::from_name(name, &shape).unwrap().destinations(&shape, 0).unwrap();
    let collective = Collective { packets: 10, ..Collective::default() };
    let workload = Workload::Packets(collective.packet_list(shape.nodes(), &to).unwrap());
    let router = RouterConfig {
        buffer: DEPTH as u16,
        flow_control: FlowControl::CutThrough,
        grant_needs_room: true,
        processor_queues: ProcessorQueues::PerDirection,
        arbitration: Arbitration::uniform(ChannelScheme::Packet),
        ..RouterConfig::default()
    };
    (Network::new(Fabric::new(shape), router).unwrap(), workload)
}

/// Duration of a burst of ten packets from every node of an N x N torus, and the sum over all packets
/// of the cycle of their tail's ejection plus 2.
fn burst(size: u32, name: &str, throttle: Throttle) -> (u64, u64) {
    let (network, workload) = burst_of(size, name);
    let Workload::Packets(list) = workload else { unreachable!() };
    let packets: Vec<_> = (0..size * size).map(|node| list.of(node).to_vec()).collect();
    let run = reference::simulate(&network, &packets, &Rules::t15(throttle));
    assert_eq!(run.end, End::Delivered);
    (run.totals.duration, run.totals.latency_sum + 2 * run.totals.packets_delivered)
}

fn watch(size: u32, margin: usize) -> Watch {
    Watch { margin, length: size as usize / 2, shared: false, following: false }
}

fn spth(size: u32, margin: usize) -> Throttle {
    Throttle::Spth { watch: watch(size, margin), own: false }
}

fn path_and_turn(size: u32) -> Throttle {
    let watch = Watch { following: true, ..watch(size, DEPTH - LENGTH) };
    Throttle::Pt { watch, release: (LENGTH as u32 * size).into(), behind: 2 }
}

/// Computes cells on as many threads as there are cores, and lists those that differ.
fn differing<C, V>(cells: &[(C, V)], compute: impl Fn(&C) -> V + Sync) -> Vec<String>
where
    C: Sync + std::fmt::Debug,
    V: PartialEq + Sync + std::fmt::Debug,
{
    let cells: Vec<_> = sampled(cells, 4).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((cell, expected)) = cells.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        {
            let got = compute(cell);
            if got != *expected {
                wrong.push(format!("{cell:?}: {got:?}, not {expected:?}"));
            }
        }
        wrong
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    })
}

type Bursts = [(&'static str, [(u64, u64); 3])];

/// By pattern: without throttle, th(0), th(8).
const OF_8: &Bursts = &[
    ("trns", [(326, 88240), (326, 88240), (326, 88240)]),
    ("shfl", [(252, 68196), (254, 68542), (308, 73180)]),
    ("bcmp", [(173, 58880), (173, 58880), (173, 58880)]),
    ("brev", [(397, 106298), (397, 105610), (381, 103300)]),
    ("brot", [(308, 74252), (308, 74956), (303, 73848)]),
    ("torn", [(323, 107520), (323, 107520), (324, 107520)]),
];
const OF_16: &Bursts = &[
    ("trns", [(650, 755040), (650, 755040), (649, 755040)]),
    ("shfl", [(762, 826902), (722, 814152), (741, 782518)]),
    ("bcmp", [(499, 655952), (369, 481280), (353, 465920)]),
    ("brev", [(867, 942754), (841, 926390), (784, 881275)]),
    ("brot", [(833, 766915), (805, 835042), (725, 665382)]),
    ("torn", [(643, 844800), (643, 844800), (644, 844800)]),
];
const OF_32: &Bursts = &[
    ("trns", [(1298, 6312640), (1298, 6312640), (1298, 6312836)]),
    ("shfl", [(2321, 11179676), (1928, 8890166), (1664, 7291260)]),
    ("bcmp", [(1185, 6137600), (916, 4562256), (939, 4410560)]),
    ("brev", [(1833, 7905384), (1721, 7700646), (1684, 7474068)]),
    ("brot", [(1973, 8158966), (1573, 6249928), (1430, 5756040)]),
    ("torn", [(1283, 6696960), (1283, 6696960), (1286, 6696960)]),
];

type Cell = ((u32, &'static str, Throttle), (u64, u64));

fn cells(size: u32, table: &Bursts) -> Vec<Cell> {
    let throttles = [Throttle::None, spth(size, 0), spth(size, 8)];
    let of_pattern = |(name, values): &(&'static str, [(u64, u64); 3])| {
        let name = *name;
        let values = *values;
        throttles.into_iter().zip(values).map(move |(throttle, value)| ((size, name, throttle), value))
    };
    table.iter().flat_map(of_pattern).collect()
}

fn of_path_and_turn(size: u32, values: [(u64, u64); 6]) -> Vec<Cell> {
    let names = ["trns", "shfl", "bcmp", "brev", "brot", "torn"];
    names.into_iter().zip(values).map(|(name, value)| ((size, name, path_and_turn(size)), value)).collect()
}

const PT_16: [(u64, u64); 6] =
    [(650, 755044), (659, 655510), (380, 501088), (755, 864452), (694, 647812), (644, 844800)];
const PT_32: [(u64, u64); 6] =
    [(1303, 6314204), (1435, 5808286), (772, 3937520), (1649, 7238172), (1419, 5449922), (1286, 6696960)];
/// On a shared link: th(0), th(8).
const SHARED_32: &[(&str, [(u64, u64); 2])] = &[
    ("trns", [(1298, 6312640), (1296, 6312640)]),
    ("shfl", [(1981, 8896714), (1661, 7331994)]),
    ("bcmp", [(916, 4562256), (940, 4426976)]),
    ("brev", [(1673, 7703320), (1684, 7477344)]),
    ("brot", [(1659, 6363526), (1455, 5766206)]),
    ("torn", [(1283, 6696960), (1286, 6696960)]),
];

/// The same of the general engine.
fn burst_in_words(size: u32, name: &str, throttle: &str) -> (u64, u64) {
    let (network, workload) = burst_of(size, name);
    let options = Options { throttle: throttle.parse().unwrap(), ..Options::default() };
    let outcome = general::simulate(&network, &workload, &options, &mut NoProbe).unwrap();
    (outcome.duration, outcome.latency_sum + 2 * outcome.packets_delivered)
}

#[test]
fn bursts_in_words() {
    let mut cells = Vec::new();
    for (size, table) in [(8, OF_8), (16, OF_16), (32, OF_32)] {
        for &(name, values) in table {
            let throttles = ["none", "spth:margin=0", "spth:margin=8"];
            cells.extend(
                throttles.into_iter().zip(values).map(|(throttle, value)| ((size, name, throttle), value)),
            );
        }
    }
    for (size, values) in [(16, PT_16), (32, PT_32)] {
        let names = OF_32.iter().map(|&(name, _)| name);
        cells.extend(names.zip(values).map(|(name, value)| ((size, name, "pt"), value)));
    }
    for &(name, values) in SHARED_32 {
        let throttles = ["spth:margin=0,link=shared", "spth:margin=8,link=shared"];
        cells
            .extend(throttles.into_iter().zip(values).map(|(throttle, value)| ((32, name, throttle), value)));
    }
    let wrong = differing(&cells, |&(size, name, throttle)| burst_in_words(size, name, throttle));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn check(cells: &[Cell]) {
    let wrong = differing(cells, |&(size, name, throttle)| burst(size, name, throttle));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn bursts_on_8x8() {
    check(&cells(8, OF_8));
}

#[test]
fn bursts_on_16x16() {
    check(&cells(16, OF_16));
}

#[test]
fn bursts_with_path_and_turn_on_16x16() {
    check(&of_path_and_turn(16, PT_16));
}

#[test]
#[ignore = "a minute; run with --release -- --ignored"]
fn bursts_on_32x32() {
    let mut all = cells(32, OF_32);
    all.extend(of_path_and_turn(32, PT_32));
    for &(name, values) in SHARED_32 {
        for (margin, value) in [0, 8].into_iter().zip(values) {
            let watch = Watch { shared: true, ..watch(32, margin) };
            all.push(((32, name, Throttle::Spth { watch, own: false }), value));
        }
    }
    check(&all);
}

/// Duration of slices of `length` flits on the 16x16 torus under the router with output registers.
fn registers(name: &str, collective: &Collective, scheme: ChannelScheme) -> u64 {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let packets = packets(&shape, name, collective);
    let router = RouterConfig { arbitration: Arbitration::uniform(scheme), ..RouterConfig::default() };
    let network = Network::new(Fabric::new(shape), router).unwrap();
    let rules = Rules { crossing: Crossing::Registered, lines: Lines::WrapNotFirst, ..Rules::default() };
    let run = reference::simulate(&network, &packets, &rules);
    assert_eq!(run.end, End::Delivered);
    // The links do nothing in cycle 0.
    run.totals.duration - 1
}

fn slices(payload: u32, slices: u32, interval: u64) -> Collective {
    Collective { payload, slices, interval, ..Collective::default() }
}

#[test]
fn single_slices_with_output_registers() {
    let table = [
        ("bcmp", [65, 114, 212]),
        ("brev", [108, 199, 381]),
        ("brot", [91, 178, 363]),
        ("shfl", [95, 246, 528]),
        ("torn", [67, 123, 235]),
        ("trns", [74, 130, 242]),
    ];
    let cells: Vec<_> = table
        .iter()
        .flat_map(|&(name, values)| {
            [8, 15, 29].into_iter().zip(values).map(move |(length, value)| ((name, length), value))
        })
        .collect();
    let one = |&(name, length): &(&str, u32)| registers(name, &slices(length - 1, 1, 0), ChannelScheme::C00);
    let wrong = differing(&cells, one);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
