//! Films: all that moved in a run, as columns.

use crate::simulation::column;
use flitloom_core::{fabric::LinkId, probe::Film};
use pyo3::{prelude::*, types::PyDict};

/// Adds `packets` and `hops` as columns (-1 for what did not happen), with the links by their numbers for users.
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
