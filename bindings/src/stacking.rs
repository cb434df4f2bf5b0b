use crate::{
    errors::simulation_error,
    network::Routers,
    running::{interruptible, on_threads},
    traffic::Destinations,
};
use flitloom_core::{engine, traffic::Collective};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Durations of a collective at each of the given intervals; `progress` is told how many are done.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a spec")]
pub fn stack(
    py: Python<'_>,
    network: &Routers,
    destinations: &Destinations,
    payload: u32,
    slices: u32,
    delays: Vec<u64>,
    packets: u32,
    intervals: Vec<u64>,
    cycle_limit: Option<u64>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<u64>> {
    let collective = Collective { payload, slices, interval: 0, delays, packets };
    let finished = AtomicUsize::new(0);
    let outcomes = interruptible(
        py,
        |interrupt| {
            let options = engine::Options { cycle_limit, interrupt: Some(interrupt), ..Default::default() };
            let done = || {
                finished.fetch_add(1, Ordering::Relaxed);
            };
            on_threads(threads, || {
                engine::stack(&network.inner, &collective, &destinations.inner, &intervals, &options, &done)
            })
        },
        |py| match &progress {
            Some(progress) => progress.call1(py, (finished.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        },
    )??;
    let outcomes = outcomes.map_err(|error| simulation_error(py, error))?;
    Ok(outcomes.into_iter().map(|outcome| outcome.duration).collect())
}
