use crate::{
    errors::{simulation_error, spec_error, waiting_channel},
    network::Routers,
    running::interruptible,
    simulation::{column, totals},
    traffic::Workload,
};
use flitloom_core::{
    engine::{Options, SimulationError, general},
    fabric::LinkId,
    probe::Film,
};
use numpy::IntoPyArray;
use pyo3::{prelude::*, types::PyDict};

/// Simulates a workload and returns all that moved: `link_time`, `packets` and `hops` as columns (-1 for
/// what did not happen), and either `totals`, or `deadlock`, or the `limit` that was met.
#[pyfunction]
pub fn film<'py>(
    py: Python<'py>,
    network: &Routers,
    workload: &Workload,
    stop_at: Option<u64>,
    cycle_limit: Option<u64>,
    seed: u64,
    throttle: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let throttle = throttle.parse().map_err(|error| spec_error(py, "throttle", error))?;
    let shape = network.ringed(py, "live pages are")?.fabric().shape();
    let mut film = Film::new(shape.nodes() * shape.directions());
    let outcome = interruptible(
        py,
        |interrupt| {
            let interrupt = Some(interrupt);
            let options = Options { stop_at, cycle_limit, interrupt, seed, throttle, ..Default::default() };
            general::simulate(&network.inner, &workload.inner, &options, &mut film)
        },
        |_| Ok(()),
    )?;
    let result = PyDict::new(py);
    match outcome {
        Ok(outcome) => result.set_item("totals", totals(py, &outcome)?)?,
        Err(SimulationError::Deadlock(report)) => {
            let deadlock = PyDict::new(py);
            let channels: PyResult<Vec<_>> = report
                .channels
                .iter()
                .map(|channel| waiting_channel(py, channel, &report.directions))
                .collect();
            deadlock.set_item("cycle", report.cycle)?;
            deadlock.set_item("channels", channels?)?;
            deadlock.set_item("stuck_flits", report.stuck_flits)?;
            deadlock.set_item("text", &report.text)?;
            result.set_item("deadlock", deadlock)?;
        }
        Err(SimulationError::CycleLimit { cycles, .. }) => result.set_item("limit", cycles)?,
        Err(error) => return Err(simulation_error(py, error)),
    }
    add_moved(&result, &film, |link| link.into())?;
    let width = film.link_time.links();
    result.set_item("link_time", (film.link_time.cells().to_vec().into_pyarray(py), width))?;
    Ok(result)
}

/// Adds `packets` and `hops` as columns, with the links by their numbers for users.
pub fn add_moved(result: &Bound<'_, PyDict>, film: &Film, link_of: impl Fn(LinkId) -> i64) -> PyResult<()> {
    let py = result.py();
    let packets = PyDict::new(py);
    let all = &film.packets;
    let signed = |cycle: Option<u64>| cycle.map_or(-1, |cycle| cycle as i64);
    packets.set_item("source", column(py, all.iter().map(|packet| packet.source.into())))?;
    packets.set_item(
        "destination",
        column(py, all.iter().map(|packet| packet.head_arrival.map_or(-1, |(node, _)| node.into()))),
    )?;
    packets.set_item("number", column(py, all.iter().map(|packet| packet.number as i64)))?;
    packets.set_item("slice", column(py, all.iter().map(|packet| packet.slice.into())))?;
    packets.set_item("start", column(py, all.iter().map(|packet| packet.start as i64)))?;
    packets.set_item("injected", column(py, all.iter().map(|packet| packet.injected as i64)))?;
    packets.set_item(
        "head_arrival",
        column(py, all.iter().map(|packet| signed(packet.head_arrival.map(|(_, cycle)| cycle)))),
    )?;
    packets.set_item("tail_arrival", column(py, all.iter().map(|packet| signed(packet.tail_arrival))))?;
    result.set_item("packets", packets)?;
    let hops = PyDict::new(py);
    let all = &film.hops;
    hops.set_item("packet", column(py, all.iter().map(|hop| hop.packet as i64)))?;
    hops.set_item("link", column(py, all.iter().map(|hop| link_of(hop.link))))?;
    hops.set_item("channel", column(py, all.iter().map(|hop| hop.channel.into())))?;
    hops.set_item("head", column(py, all.iter().map(|hop| hop.head as i64)))?;
    hops.set_item("last", column(py, all.iter().map(|hop| hop.last as i64)))?;
    hops.set_item("flits", column(py, all.iter().map(|hop| hop.flits.into())))?;
    hops.set_item("complete", column(py, all.iter().map(|hop| hop.complete.into())))?;
    result.set_item("hops", hops)
}
