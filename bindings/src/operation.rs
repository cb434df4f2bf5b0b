//! Collective operations: their messages, bounds, and schedules without barriers.

use crate::{
    errors::spec_error,
    network::Network,
    running::{deadline, is_over, keeping, was_interrupted},
    schedule::{demands_of, planned, route_choice},
};
use flitloom_core::{
    names::UnknownName,
    schedule::{Budget, Dependencies, Placement, PlannedPacket, Problem, Slicing, chain_bound, tighten},
    traffic::{CollectiveOperation, Group},
};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

/// The messages of a collective operation, phase by phase, and a bound on any algorithm for it.
/// Without `nodes`, all nodes take part.
#[pyfunction]
pub fn operation_phases<'py>(
    py: Python<'py>,
    network: &Network,
    name: &str,
    root: u32,
    payload: u32,
    nodes: Option<Vec<u32>>,
) -> PyResult<(Vec<Bound<'py, PyArray2<i64>>>, u64)> {
    let shape = network.inner.fabric().shape();
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

fn order_of(packets: &[PlannedPacket], phases: &[usize]) -> Dependencies {
    let ends: Vec<(u32, u32)> = packets.iter().map(|packet| (packet.source, packet.destination)).collect();
    Dependencies::of_phases(&ends, phases)
}

/// A lower bound on any schedule of the messages of all phases, given one after the other with the
/// number of messages of each, in which a node waits for what it receives in earlier phases.
#[pyfunction]
pub fn phase_bound(
    py: Python<'_>,
    network: &Network,
    messages: PyReadonlyArray2<'_, i64>,
    phases: Vec<usize>,
    routes: &str,
) -> PyResult<u32> {
    let demands = demands_of(&messages);
    let choice = route_choice(py, routes)?;
    let problem = Problem::new(network.inner.fabric(), &demands, Slicing::OneInterval, choice)
        .map_err(|error| spec_error(py, "operation", error))?;
    let ends: Vec<(u32, u32)> = demands.iter().map(|demand| (demand.source, demand.destination)).collect();
    Ok(py.detach(|| chain_bound(&problem, &Dependencies::of_phases(&ends, &phases))))
}

/// Whether every packet starts after what its node receives in earlier phases has arrived.
#[pyfunction]
pub fn phases_respected(
    py: Python<'_>,
    network: &Network,
    table: PyReadonlyArray2<'_, i64>,
    routes: Vec<Vec<u8>>,
    phases: Vec<usize>,
) -> PyResult<bool> {
    let packets = planned(network, &table, &routes);
    let problem = Problem::of_packets(network.inner.fabric(), &packets, false)
        .map_err(|error| spec_error(py, "plan", error))?;
    Ok(order_of(&packets, &phases).holds(&problem, &placements_of(py, &packets)?))
}

fn placements_of(py: Python<'_>, packets: &[PlannedPacket]) -> PyResult<Vec<Placement>> {
    let placement = |packet: &PlannedPacket| {
        let start = u32::try_from(packet.start)
            .map_err(|_| spec_error(py, "plan", format!("a start of {} cycles", packet.start)))?;
        Ok(Placement { route: 0, start })
    };
    packets.iter().map(placement).collect()
}

/// Shortens the schedule of an operation without barriers between its phases: new starts, and
/// whether Ctrl-C ended the search.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a plan, and how long to search")]
pub fn tighten_phases(
    py: Python<'_>,
    network: &Network,
    table: PyReadonlyArray2<'_, i64>,
    routes: Vec<Vec<u8>>,
    phases: Vec<usize>,
    bound: u32,
    seed: u64,
    moves: u64,
    seconds: Option<f64>,
) -> PyResult<(Vec<u32>, bool)> {
    let packets = planned(network, &table, &routes);
    let problem = Problem::of_packets(network.inner.fabric(), &packets, false)
        .map_err(|error| spec_error(py, "plan", error))?;
    let placements = placements_of(py, &packets)?;
    let order = order_of(&packets, &phases);
    let deadline = deadline(seconds);
    let (found, failure) = keeping(
        py,
        |interrupt| {
            let should_stop = || is_over(interrupt, deadline);
            let mut budget = Budget { moves, should_stop: &should_stop };
            tighten(&problem, &order, &placements, bound, seed, &mut budget)
        },
        |_| Ok(()),
    );
    let starts = found.iter().map(|placement| placement.start).collect();
    Ok((starts, was_interrupted(py, failure)?))
}
