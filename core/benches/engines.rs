//! Both engines on the cases of `flitloom bench`: `cargo bench -p flitloom-core`.
//!
//! Counters are flit-hops, so the throughput column reads in the field's own unit. Goals on one core
//! (general engine): 40 M flit-hops/s on 16x16 and 32x32 at 75 % of saturation, 15 M on 128x128.

use divan::{Bencher, counter::ItemsCount};
use flitloom_core::{
    engine::{
        Network, Options,
        general::General,
        planes::{Planes, Settings},
    },
    fabric::{Fabric, Shape},
    probe::NoProbe,
    router::RouterConfig,
    traffic::{Collective, OpenLoad, Pattern, Workload},
};

/// Square tori: size, rate in flits/node/cycle (0 for two slices) and cycles.
const CASES: [(u32, f64, u64); 4] = [(16, 0.0, 0), (16, 0.16, 2000), (32, 0.07, 1000), (128, 0.1, 200)];

fn main() {
    divan::main();
}

fn case((size, rate, cycles): (u32, f64, u64)) -> (Network, Workload, Options<'static>) {
    let shape = Shape::torus(&[size, size]).expect("sizes are in range");
    let nodes = shape.nodes();
    let (workload, stop_at) = if rate > 0.0 {
        let uniform = Pattern::Random.destinations(&shape, 1).expect("defined on every shape");
        let load = OpenLoad::new(uniform, rate, 8, cycles, 1).expect("the rate is in range");
        (Workload::Load(load), Some(cycles))
    } else {
        let shuffle = Pattern::PerfectShuffle.destinations(&shape, 1).expect("16 is a power of two");
        let slices = Collective { payload: 14, slices: 2, interval: 58, ..Collective::default() };
        (Workload::Packets(slices.packet_list(nodes, &shuffle).expect("slices fit")), None)
    };
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).expect("the papers' router");
    (network, workload, Options { stop_at, ..Options::default() })
}

#[divan::bench(args = CASES)]
fn general(bencher: Bencher, args: (u32, f64, u64)) {
    let (network, workload, options) = case(args);
    let engine = General::new(&network);
    let run = || engine.run(&workload, &options, &mut NoProbe).expect("it ends").flit_hops;
    let flit_hops = run();
    bencher.counter(ItemsCount::new(flit_hops)).bench_local(run);
}

#[divan::bench(args = CASES)]
fn planes(bencher: Bencher, args: (u32, f64, u64)) {
    let (network, workload, options) = case(args);
    let mut engine = Planes::new(&network, &workload, Settings::default()).expect("planes cover it");
    let mut run = || engine.run(&options).expect("it ends")[0].flit_hops;
    let flit_hops = run();
    bencher.counter(ItemsCount::new(flit_hops)).bench_local(run);
}
