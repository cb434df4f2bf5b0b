//! Late starters: spare time in a plan, virtual channels and what could wait for what.

use crate::{
    errors::spec_error,
    network::Routers,
    schedule::{Routes, planned},
};
use flitloom_core::{
    routing::ChannelRule,
    schedule::{Placement, Problem, Spread, dependencies, separate, spread},
    traffic::{Purpose, draw_below},
};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};

/// Starts of the packets of a plan, spread within `target` cycles against delays up to `reach`; with
/// `together`, the slices of a message keep their distances.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a plan and the settings of the search")]
pub fn spread_plan(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
    together: bool,
    target: u32,
    reach: u32,
    sweeps: u32,
    seed: u64,
) -> PyResult<Vec<u64>> {
    let packets = planned(py, network, &table, &routes)?;
    let problem = Problem::of_packets(network.inner.fabric(), &packets, together)
        .map_err(|error| spec_error(py, "plan", error))?;
    let mut placements = Vec::new();
    for job in problem.jobs() {
        let start = u32::try_from(packets[job.origin.0].start)
            .ok()
            .filter(|start| start.checked_add(job.routes[0].span).is_some_and(|end| end <= target))
            .ok_or_else(|| spec_error(py, "target", format!("the plan takes more than {target} cycles")))?;
        placements.push(Placement { route: 0, start });
    }
    Ok(py.detach(|| {
        let found = spread(&problem, &placements, Spread { target, reach, sweeps, seed });
        let mut starts = vec![0; packets.len()];
        let firsts = problem.jobs().iter().map(|job| job.origin.0);
        let ends = firsts.clone().skip(1).chain([packets.len()]);
        for ((first, end), placement) in firsts.zip(ends).zip(&found) {
            for index in first..end {
                let later = packets[index].start - packets[first].start;
                starts[index] = u64::from(placement.start) + later;
            }
        }
        starts
    }))
}

/// Delays of all nodes in one trial, uniform from 0 to `most` cycles: each a function of (seed, node,
/// trial) alone.
#[pyfunction]
pub fn delays(py: Python<'_>, nodes: u32, most: u32, seed: u64, trial: u64) -> Bound<'_, PyArray1<i64>> {
    let delay = |node| i64::from(draw_below(seed, node, Purpose::Delay, trial, most.saturating_add(1)));
    PyArray1::from_iter(py, (0..nodes).map(delay))
}

/// Virtual channels the router needs, and the first of every packet, so that late nodes cannot cause
/// a deadlock; `None` if 8 are too few.
#[pyfunction]
pub fn separate_channels(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
) -> PyResult<Option<(u8, Vec<u8>)>> {
    let packets = planned(py, network, &table, &routes)?;
    let (fabric, datelines) = (network.inner.fabric(), network.inner.router().datelines);
    Ok(py.detach(|| separate(fabric, &packets, datelines).map(|found| (found.channels, found.first))))
}

/// What the packets of a plan can wait for when nodes are late: `ranks` of all channels if there is no
/// cycle, else `None` and the shortest `cycle` as the names of its channels.
#[pyfunction]
pub fn plan_dependencies<'py>(
    py: Python<'py>,
    network: &Routers,
    table: PyReadonlyArray2<'py, i64>,
    routes: Routes<'_>,
    channels: u8,
    first: Vec<u8>,
) -> PyResult<Bound<'py, PyDict>> {
    let packets = planned(py, network, &table, &routes)?;
    if channels == 0 || channels > flitloom_core::router::MAX_CHANNELS {
        return Err(spec_error(py, "plan.channels", format!("{channels} virtual channels")));
    }
    let fabric = network.inner.fabric();
    let rule = ChannelRule::new(channels, network.inner.router().datelines);
    let order = py.detach(|| {
        let graph = dependencies(fabric, &packets, rule, &first);
        graph.order(false).map_err(|cycle| graph.names(&cycle))
    });
    let (ranks, cycle) = match order {
        Ok(ranks) => (Some(PyArray1::from_vec(py, ranks)), Vec::new()),
        Err(cycle) => (None, cycle),
    };
    let result = PyDict::new(py);
    result.set_item("cycle", cycle)?;
    result.set_item("ranks", ranks)?;
    Ok(result)
}
