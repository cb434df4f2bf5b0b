use crate::{
    errors::{simulation_error, spec_error},
    network::Routers,
    running::interruptible,
    simulation::totals,
    traffic::Workload,
};
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        EngineKind, Options, Setup, Simulation, SimulationError, exchange_messages,
        general::General,
        planes::{Planes, Settings, best_set, supports},
    },
    probe::NoProbe,
};
use pyo3::{prelude::*, types::PyDict};
use std::time::Instant;

const SETS: [(&str, InstructionSet); 3] = [
    ("planes u64", InstructionSet::Word),
    ("planes AVX2", InstructionSet::Avx2),
    ("planes AVX-512", InstructionSet::Avx512),
];

/// The engines this processor can run, the general one first.
#[pyfunction]
pub fn engines() -> Vec<&'static str> {
    let planes = SETS.into_iter().filter(|(_, set)| set.is_available()).map(|(name, _)| name);
    std::iter::once("general").chain(planes).collect()
}

/// The planes flitloom would pick for `networks` copies of a network side by side, if they cover it.
#[pyfunction]
pub fn best_planes(network: &Routers, workload: &Workload, networks: usize) -> Option<&'static str> {
    supports(&network.inner, &workload.inner).ok()?;
    let best = best_set(&network.inner, networks);
    SETS.into_iter().find(|&(_, set)| set == best).map(|(name, _)| name)
}

/// Seconds that so many cycles take on an engine in so many threads, after others to begin with; the
/// fingerprint at the end, and the parts there were.
#[pyfunction]
pub fn in_parts(
    py: Python<'_>,
    network: &Routers,
    workload: &Workload,
    engine: &str,
    threads: usize,
    before: u64,
    cycles: u64,
) -> PyResult<(f64, u64, usize)> {
    let engine = EngineKind::OF_ONE_CYCLE.into_iter().find(|kind| kind.name() == engine);
    let (network, workload) = (&network.inner, &workload.inner);
    interruptible(
        py,
        |interrupt| {
            let stop =
                |cycle| Options { stop_at: Some(cycle), interrupt: Some(interrupt), ..Options::default() };
            let options = stop(before + cycles);
            let setup = Setup { engine, parts: threads, options, ..Setup::default() };
            let mut simulation = Simulation::new(network, workload, &setup)?;
            simulation.run(&stop(before))?;
            let begin = Instant::now();
            simulation.run(&options)?;
            let seconds = begin.elapsed().as_secs_f64();
            Ok((seconds, simulation.totals_at_stop(&options)?.fingerprint, simulation.parts()))
        },
        |_| Ok(()),
    )?
    .map_err(|error: SimulationError| simulation_error(py, error))
}

/// Seconds of one exchange of so many words between neighbours among so many threads.
#[pyfunction]
pub fn exchange_seconds(py: Python<'_>, threads: usize, words: usize, exchanges: u64) -> f64 {
    let begin = Instant::now();
    py.detach(|| exchange_messages(threads, words, exchanges));
    begin.elapsed().as_secs_f64() / exchanges as f64
}

/// Simulates the same case `repeats` times on one engine, prepared once, with as many copies side by
/// side as one vector holds; returns the totals of one simulation, under `networks` how many ran side
/// by side, and under `bytes` what the planes of all of them take.
#[pyfunction]
pub fn repeat<'py>(
    py: Python<'py>,
    network: &Routers,
    workload: &Workload,
    engine: &str,
    repeats: usize,
    stop_at: Option<u64>,
    fingerprints: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let set = SETS.into_iter().find(|&(name, _)| name == engine).map(|(_, set)| set);
    let (network, workload) = (&network.inner, &workload.inner);
    let outcome = interruptible(
        py,
        |interrupt| {
            let options = Options { stop_at, interrupt: Some(interrupt), ..Default::default() };
            let mut last = Default::default();
            let Some(set) = set else {
                let general = General::new(network);
                for _ in 0..repeats {
                    last = general.run(workload, &options, &mut NoProbe)?;
                }
                return Ok(Ok((last, 1, None)));
            };
            let networks = (set.bits() / network.fabric().shape().nodes()).max(1);
            let settings =
                Settings { set: Some(set), networks, fingerprints, latencies: false, ..Settings::default() };
            let mut planes = match Planes::new(network, workload, settings) {
                Ok(planes) => planes,
                Err(unsupported) => return Ok(Err(unsupported)),
            };
            for _ in 0..repeats {
                last = planes.run(&options)?[0].clone();
            }
            Ok::<_, SimulationError>(Ok((last, planes.networks(), Some(planes.bytes()))))
        },
        |_| Ok(()),
    )?
    .map_err(|error| simulation_error(py, error))?;
    let (outcome, networks, bytes) = outcome.map_err(|error| spec_error(py, "engine", error))?;
    let result = totals(py, &outcome)?;
    result.set_item("networks", networks)?;
    result.set_item("bytes", bytes)?;
    Ok(result)
}
