//! Collective operations: their messages, bounds, and schedules without barriers.

use crate::{
    errors::spec_error,
    network::Routers,
    running::{keeping, time_is_over, was_interrupted},
    schedule::{Routes, planned},
};
use flitloom_core::{
    names::UnknownName,
    schedule::{
        Budget, Dependencies, Incumbent, Placement, PlannedPacket, Problem, Schedule, Task, exact, search,
    },
    traffic::{CollectiveOperation, Group},
};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

/// The messages of a collective operation, phase by phase, and a bound on any algorithm for it.
/// Without `nodes`, all nodes take part.
#[pyfunction]
pub fn operation_phases<'py>(
    py: Python<'py>,
    network: &Routers,
    name: &str,
    root: u32,
    payload: u32,
    nodes: Option<Vec<u32>>,
) -> PyResult<(Vec<Bound<'py, PyArray2<i64>>>, u64)> {
    let shape = network.ringed(py, "these operations are")?.fabric().shape();
    let operation: CollectiveOperation =
        name.parse().map_err(|error: UnknownName| spec_error(py, "operation", error))?;
    let operation = match operation {
        CollectiveOperation::Broadcast { .. } => CollectiveOperation::Broadcast { root },
        other => other,
    };
    let group = nodes.map_or_else(|| Group::all(shape), |nodes| Group::new(shape, &nodes));
    let phases = operation.phases(&group, payload).map_err(|error| spec_error(py, "operation", error))?;
    let tables = phases.iter().map(|phase| {
        let rows = phase.iter().flat_map(|demand| {
            [demand.source, demand.destination, demand.length, demand.slices].map(i64::from)
        });
        numpy::ndarray::Array2::from_shape_vec((phase.len(), 4), rows.collect())
            .map(|table| table.into_pyarray(py))
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    });
    Ok((tables.collect::<PyResult<Vec<_>>>()?, operation.bound(shape, &group, payload)))
}

/// The problem of sending the packets of a plan over their own routes, in phases of so many packets each, and
/// how the plan does it.
fn phased(
    py: Python<'_>,
    network: &Routers,
    packets: &[PlannedPacket],
    phases: &[usize],
) -> PyResult<(Problem, Vec<Placement>)> {
    let ends: Vec<(u32, u32)> = packets.iter().map(|packet| (packet.source, packet.destination)).collect();
    let problem = Problem::of_packets(network.inner.fabric(), packets, false)
        .map_err(|error| spec_error(py, "plan", error))?
        .in_phases(Dependencies::of_phases(&ends, phases));
    let placement = |packet: &PlannedPacket| {
        let start = u32::try_from(packet.start)
            .map_err(|_| spec_error(py, "plan", format!("a start of {} cycles", packet.start)))?;
        Ok(Placement { route: 0, start })
    };
    Ok((problem, packets.iter().map(placement).collect::<PyResult<_>>()?))
}

/// Whether every packet starts after what its node receives in earlier phases has arrived.
#[pyfunction]
pub fn phases_respected(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
    phases: Vec<usize>,
) -> PyResult<bool> {
    let packets = planned(py, network, &table, &routes)?;
    let (problem, placements) = phased(py, network, &packets, &phases)?;
    Ok(problem.dependencies().is_none_or(|order| order.holds(&problem, &placements)))
}

/// Shortens the schedule of an operation without barriers between its phases: new starts, and
/// whether Ctrl-C ended the search.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a plan, and how long to search")]
pub fn tighten_phases(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
    phases: Vec<usize>,
    bound: u32,
    seed: u64,
    moves: u64,
    seconds: Option<f64>,
) -> PyResult<(Vec<u32>, bool)> {
    let packets = planned(py, network, &table, &routes)?;
    let (problem, placements) = phased(py, network, &packets, &phases)?;
    let (found, failure) = keeping(
        py,
        |interrupt| {
            let should_stop = time_is_over(interrupt, seconds);
            let mut budget = Budget::new(moves, &should_stop);
            let task = Task::new(network.inner.fabric(), &problem, seed).at_least(bound);
            let mut told = |_| ();
            let mut incumbent = Incumbent::new(&task, &mut told);
            incumbent.offer(Schedule::new(placements), &task);
            search(&task, &exact(&task), incumbent, &mut budget)
        },
        |_| Ok(()),
    );
    let placements = found.map(|found| found.schedule.placements).unwrap_or_default();
    let starts = placements.iter().map(|placement| placement.start).collect();
    Ok((starts, was_interrupted(py, failure)?))
}
