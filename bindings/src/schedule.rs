//! Schedules: search, check, and plans as workloads.

use crate::{
    errors::spec_error,
    lists::named,
    network::Network,
    running::{deadline, is_over, keeping, was_interrupted},
    traffic::Workload,
};
use flitloom_core::{
    fabric::{Direction, Fabric},
    schedule::{
        self as planning, Budget, Demand, Placement, PlannedPacket, Problem, RouteChoice, Slicing, Solution,
    },
    traffic,
};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};
use std::sync::Mutex;

pub fn demands_of(table: &PyReadonlyArray2<'_, i64>) -> Vec<Demand> {
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let rows = table.as_array();
    let demand = |row: numpy::ndarray::ArrayView1<'_, i64>| Demand {
        source: number(row[0]),
        destination: number(row[1]),
        length: number(row[2]),
        slices: number(row[3]),
    };
    rows.rows().into_iter().map(demand).collect()
}

pub fn route_choice(py: Python<'_>, name: &str) -> PyResult<RouteChoice> {
    named(py, "routes", &RouteChoice::NAMES, name)
}

fn slicing_of(interval: Option<u32>, free: bool) -> Slicing {
    match interval {
        _ if free => Slicing::Free,
        Some(interval) => Slicing::Interval(interval),
        None => Slicing::OneInterval,
    }
}

fn problem_of(
    py: Python<'_>,
    network: &Network,
    messages: &PyReadonlyArray2<'_, i64>,
    routes: &str,
    slicing: Slicing,
) -> PyResult<Problem> {
    let choice = route_choice(py, routes)?;
    Problem::new(network.inner.fabric(), &demands_of(messages), slicing, choice)
        .map_err(|error| spec_error(py, "traffic", error))
}

/// Demands with a gap behind each packet, or behind all slices of a message at one interval.
fn guarded(demands: &[Demand], slicing: Slicing, guard: u32) -> Vec<Demand> {
    let longer = |demand: &Demand| match slicing {
        Slicing::OneInterval => {
            let length = demand.length.saturating_mul(demand.slices).saturating_add(guard);
            Demand { length, slices: 1, ..*demand }
        }
        _ => Demand { length: demand.length.saturating_add(guard), ..*demand },
    };
    demands.iter().map(longer).collect()
}

/// Searches for start cycles without conflicts; rows of `messages` are source, destination, slice
/// length and slices. Ends after `moves` placements or `seconds`, and after Ctrl-C with what it has.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what to search for, and how long")]
pub fn schedule<'py>(
    py: Python<'py>,
    network: &Network,
    messages: PyReadonlyArray2<'py, i64>,
    exact: bool,
    routes: &str,
    interval: Option<u32>,
    free: bool,
    guard: u32,
    seed: u64,
    moves: u64,
    seconds: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let fabric = network.inner.fabric();
    let demands = demands_of(&messages);
    let choice = route_choice(py, routes)?;
    let slicing = slicing_of(interval, free);
    let error = |error| spec_error(py, "traffic", error);
    let plain = Problem::new(fabric, &demands, slicing, choice).map_err(error)?;
    if exact {
        planning::check_size(fabric, &plain).map_err(error)?;
    }
    let problem = match guard {
        0 => plain.clone(),
        _ => Problem::new(fabric, &guarded(&demands, slicing, guard), slicing, choice).map_err(error)?,
    };
    let latest = Mutex::new(None);
    let deadline = deadline(seconds);
    let ((found, bound), failure) = keeping(
        py,
        |interrupt| {
            let should_stop = || is_over(interrupt, deadline);
            let found = if exact {
                let mut budget = Budget { moves, should_stop: &should_stop };
                planning::solve(fabric, &problem, seed, &mut budget, &mut |state| {
                    if let Ok(mut slot) = latest.lock() {
                        *slot = Some((state.best, state.bound, state.target, state.unplaced));
                    }
                })
            } else {
                let placements = planning::greedy(&problem);
                let duration = planning::duration_of(&problem, &placements);
                let bound = planning::proven_bound(fabric, &problem);
                Solution { placements, duration, bound, moves: 0, stopped: false }
            };
            let bound = if guard == 0 { found.bound } else { planning::proven_bound(fabric, &plain) };
            (found, bound)
        },
        |py| {
            let state = latest.lock().ok().and_then(|mut slot| slot.take());
            match (&progress, state) {
                (Some(callback), Some(state)) => callback.call1(py, state).map(drop),
                _ => Ok(()),
            }
        },
    );
    let interrupted = was_interrupted(py, failure)?;
    let packets = planning::planned_packets(&demands, slicing, &problem, &found.placements);
    let duration = planning::verify(fabric, &packets).map_err(|error| spec_error(py, "plan", error))?;
    let result = PyDict::new(py);
    result.set_item("duration", duration)?;
    result.set_item("bound", bound)?;
    result.set_item("moves", found.moves)?;
    result.set_item("stopped", found.stopped || interrupted)?;
    result.set_item("interrupted", interrupted)?;
    put_packets(py, &result, fabric, &packets)?;
    Ok(result)
}

/// Searches for a schedule of all-to-all traffic over minimal routes with any number of bends; `None`
/// if the traffic or the network does not fit the method.
#[pyfunction]
pub fn schedule_staircases<'py>(
    py: Python<'py>,
    network: &Network,
    messages: PyReadonlyArray2<'py, i64>,
    seed: u64,
    moves: u64,
    seconds: Option<f64>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let fabric = network.inner.fabric();
    let demands = demands_of(&messages);
    let deadline = deadline(seconds);
    let ((packets, spent, stopped), failure) = keeping(
        py,
        |interrupt| {
            let should_stop = || is_over(interrupt, deadline);
            let mut budget = Budget { moves, should_stop: &should_stop };
            let packets = planning::staircases(fabric, &demands, seed, &mut budget);
            (packets, moves - budget.moves, should_stop())
        },
        |_| Ok(()),
    );
    let interrupted = was_interrupted(py, failure)?;
    let Some(packets) = packets.map_err(|error| spec_error(py, "traffic", error))? else {
        return Ok(None);
    };
    let duration = planning::verify(fabric, &packets).map_err(|error| spec_error(py, "plan", error))?;
    let result = PyDict::new(py);
    result.set_item("duration", duration)?;
    result.set_item("bound", planning::distance_bound(fabric, &demands))?;
    result.set_item("moves", spent)?;
    result.set_item("stopped", stopped || interrupted)?;
    result.set_item("interrupted", interrupted)?;
    put_packets(py, &result, fabric, &packets)?;
    Ok(Some(result))
}

fn put_packets<'py>(
    py: Python<'py>,
    result: &Bound<'py, PyDict>,
    fabric: &Fabric,
    packets: &[PlannedPacket],
) -> PyResult<()> {
    let rows: Vec<i64> = packets
        .iter()
        .flat_map(|packet| {
            let (source, destination) = (packet.source.into(), packet.destination.into());
            [source, destination, packet.length.into(), packet.start as i64, packet.slice.into()]
        })
        .collect();
    let table: Bound<'py, PyArray2<i64>> = numpy::ndarray::Array2::from_shape_vec((packets.len(), 5), rows)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?
        .into_pyarray(py);
    let route = |packet: &PlannedPacket| -> Vec<u8> {
        packet.path.iter().map(|&link| fabric.link_ends(link).1.index() as u8).collect()
    };
    result.set_item("table", table)?;
    result.set_item(
        "routes",
        packets.iter().map(|packet| pyo3::types::PyBytes::new(py, &route(packet))).collect::<Vec<_>>(),
    )
}

pub fn planned(
    network: &Network,
    table: &PyReadonlyArray2<'_, i64>,
    routes: &[Vec<u8>],
) -> Vec<PlannedPacket> {
    let fabric = network.inner.fabric();
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    table
        .as_array()
        .rows()
        .into_iter()
        .zip(routes)
        .map(|(row, route)| {
            let mut here = number(row[0]);
            let mut path = Vec::with_capacity(route.len());
            for &index in route {
                let direction = Direction::from_index(index.into());
                let inside = (here as usize) < fabric.shape().nodes()
                    && usize::from(index) < fabric.shape().directions();
                // A route that leaves the network keeps its last link, which no check accepts.
                let link = if inside { fabric.link(here, direction) } else { u32::MAX };
                here =
                    inside.then(|| fabric.shape().neighbour(here, direction)).flatten().unwrap_or(u32::MAX);
                path.push(link);
            }
            PlannedPacket {
                source: number(row[0]),
                destination: number(row[1]),
                length: number(row[2]),
                start: u64::try_from(row[3]).unwrap_or(0),
                slice: number(row[4]),
                path,
            }
        })
        .collect()
}

/// Checks a plan and returns its duration; raises what is wrong with it.
#[pyfunction]
pub fn check_plan(
    py: Python<'_>,
    network: &Network,
    table: PyReadonlyArray2<'_, i64>,
    routes: Vec<Vec<u8>>,
) -> PyResult<u64> {
    let packets = planned(network, &table, &routes);
    planning::verify(network.inner.fabric(), &packets).map_err(|error| spec_error(py, "plan", error))
}

/// The first packet of a plan whose route is none of those that `routes` names.
#[pyfunction]
pub fn other_route(
    py: Python<'_>,
    network: &Network,
    table: PyReadonlyArray2<'_, i64>,
    paths: Vec<Vec<u8>>,
    routes: &str,
) -> PyResult<Option<usize>> {
    let choice = if routes == "staircase" { None } else { Some(route_choice(py, routes)?) };
    let packets = planned(network, &table, &paths);
    Ok(py.detach(|| planning::other_route(network.inner.fabric(), &packets, choice)))
}

/// A plan, or packets with routes, as traffic; `channels` are the first virtual channels of the
/// packets. Errors name `place`. Packets of a node go in the order of their starts.
#[pyfunction]
pub fn plan_workload(
    py: Python<'_>,
    network: &Network,
    table: PyReadonlyArray2<'_, i64>,
    routes: Vec<Vec<u8>>,
    channels: Vec<u8>,
    place: &str,
) -> PyResult<Workload> {
    let fabric = network.inner.fabric();
    let packets = planned(network, &table, &routes);
    for (index, packet) in packets.iter().enumerate() {
        planning::check_route(fabric, index, packet).map_err(|error| spec_error(py, place, error))?;
    }
    let available = network.inner.router().channels;
    if let Some(channel) = channels.iter().find(|&&channel| channel >= available) {
        let text = format!("virtual channel {channel} is asked for, the router has {available}");
        return Err(spec_error(py, place, text));
    }
    planning::packet_list(fabric, &packets, &channels)
        .map(|list| Workload { inner: traffic::Workload::Packets(list) })
        .map_err(|error| spec_error(py, place, error))
}

/// The lower bound on any schedule of the messages, and the classic one; for staircases, which may
/// take any minimal route, the bound of the distances.
#[pyfunction]
pub fn schedule_bound(
    py: Python<'_>,
    network: &Network,
    messages: PyReadonlyArray2<'_, i64>,
    routes: &str,
    interval: Option<u32>,
    free: bool,
) -> PyResult<(u32, u32)> {
    if routes == "staircase" {
        let bound = planning::distance_bound(network.inner.fabric(), &demands_of(&messages));
        let bound = u32::try_from(bound).unwrap_or(u32::MAX);
        return Ok((bound, bound));
    }
    let problem = problem_of(py, network, &messages, routes, slicing_of(interval, free))?;
    let fabric = network.inner.fabric();
    Ok(py.detach(|| (planning::proven_bound(fabric, &problem), planning::classic_bound(&problem))))
}

/// For one target: per job its length and, per route, its resources with offsets and the starts that no
/// proof removes; `None` if the target is refuted.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a table per job")]
pub fn candidate_starts(
    py: Python<'_>,
    network: &Network,
    messages: PyReadonlyArray2<'_, i64>,
    routes: &str,
    interval: Option<u32>,
    free: bool,
    target: u32,
) -> PyResult<Option<Vec<(u32, Vec<(Vec<(u32, u32)>, Vec<u32>)>)>>> {
    let problem = problem_of(py, network, &messages, routes, slicing_of(interval, free))?;
    let fabric = network.inner.fabric();
    let Some(starts) = py.detach(|| planning::candidates(fabric, &problem, target)) else {
        return Ok(None);
    };
    let jobs = problem.jobs().iter().zip(starts).map(|(job, starts)| {
        let uses = job
            .routes
            .iter()
            .map(|route| route.uses.iter().map(|held| (held.resource, held.offset)).collect());
        (job.length, uses.zip(starts).collect())
    });
    Ok(Some(jobs.collect()))
}

/// The packets of a schedule: one route, by its number, and one start per job.
#[pyfunction]
pub fn placed_packets<'py>(
    py: Python<'py>,
    network: &Network,
    messages: PyReadonlyArray2<'py, i64>,
    routes: &str,
    interval: Option<u32>,
    free: bool,
    placements: Vec<(u32, u32)>,
) -> PyResult<Bound<'py, PyDict>> {
    let slicing = slicing_of(interval, free);
    let problem = problem_of(py, network, &messages, routes, slicing)?;
    let known = problem.jobs().iter().zip(&placements);
    let fits = placements.len() == problem.jobs().len()
        && known.clone().all(|(job, &(route, _))| (route as usize) < job.routes.len());
    if !fits {
        return Err(spec_error(py, "placements", "need one of its routes for every job"));
    }
    let placements: Vec<Placement> =
        placements.into_iter().map(|(route, start)| Placement { route, start }).collect();
    let fabric = network.inner.fabric();
    let packets = planning::planned_packets(&demands_of(&messages), slicing, &problem, &placements);
    let duration = planning::verify(fabric, &packets).map_err(|error| spec_error(py, "plan", error))?;
    let result = PyDict::new(py);
    result.set_item("duration", duration)?;
    put_packets(py, &result, fabric, &packets)?;
    Ok(result)
}
