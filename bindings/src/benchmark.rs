use crate::{
    errors::{simulation_error, spec_error},
    network::Network,
    running::interruptible,
    simulation::totals,
    traffic::Workload,
};
use flitloom_core::{
    engine::{
        Options, SimulationError,
        general::General,
        planes::{InstructionSet, Planes, Settings},
    },
    probe::NoProbe,
};
use pyo3::{prelude::*, types::PyDict};

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

/// The planes flitloom would pick for `networks` copies of a network side by side.
#[pyfunction]
pub fn best_planes(network: &Network, networks: usize) -> &'static str {
    let best = InstructionSet::best(&network.inner, networks);
    SETS.into_iter().find(|&(_, set)| set == best).map_or("planes u64", |(name, _)| name)
}

/// Simulates the same case `repeats` times on one engine, prepared once, with as many copies side by
/// side as one vector holds; returns the totals of one simulation, under `networks` how many ran side
/// by side, and under `bytes` what the planes of all of them take.
#[pyfunction]
pub fn repeat<'py>(
    py: Python<'py>,
    network: &Network,
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
