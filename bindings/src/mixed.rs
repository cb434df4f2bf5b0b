//! Tables by destination beside those of before: entries in place of others, and what mixtures of both do.

use crate::{
    fabric::{Laid, Loaded, copied, entries},
    network::Network,
};
use flitloom_core::routes::by_destination::{self, Change, Management, MixedTables, Senders};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};

/// Entries in place of those of some places that are missing, at which pairs keep their levels, or get some of the
/// lanes of the first of `choices` that suffices; `None` if there are none.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a subnet")]
pub fn patch_forwarding<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    old: Laid<'py>,
    lost: Laid<'py>,
    lanes: usize,
    missing: PyReadonlyArray1<'py, u32>,
    choices: Option<Vec<Vec<u8>>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let graph = network.switches(py)?;
    let (loaded, missing) = (Loaded::new(&old, &lost), missing.as_array().to_vec());
    let made = py.detach(|| {
        by_destination::patch(graph, &roots, loaded.before(), lanes, &missing, choices.as_deref())
    });
    let Some(made) = made else { return Ok(None) };
    let shape = [roots.len(), graph.switches()];
    let facts = PyDict::new(py);
    facts.set_item("next", PyArray1::from_vec(py, made.next).reshape(shape)?)?;
    facts.set_item("levels", PyArray1::from_vec(py, made.levels).reshape(shape)?)?;
    facts.set_item("rounds", made.rounds)?;
    facts.set_item("choice", made.choice)?;
    Ok(Some(facts))
}

/// What mixtures of two sets of tables do, of which senders at these switches have packets.
#[pyfunction]
pub fn mixed_forwarding<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    at: Vec<u32>,
    first: Laid<'py>,
    second: Laid<'py>,
    lanes: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = network.switches(py)?;
    let [first, second] = [&first, &second].map(copied);
    let found = py.detach(|| {
        let tables = [&first, &second].map(|(next, levels)| MixedTables { next, levels });
        by_destination::mixed(graph, Senders { at: &at, roots: &roots }, tables, lanes)
    });
    let facts = PyDict::new(py);
    facts.set_item("circles", found.circles)?;
    facts.set_item("lost", found.lost)?;
    facts.set_item("unserved", found.unserved)?;
    facts.set_item("moved", found.moved)?;
    facts.set_item("differs", found.differs)?;
    facts.set_item("acyclic", found.acyclic)?;
    Ok(facts)
}

/// Channels to hosts, and to switches, by destination and switch.
type Led<'py> = (PyReadonlyArray2<'py, u32>, PyReadonlyArray2<'py, u32>);

/// Places, by switch and destinations there, at which one manager closes a circle of channels that wait for each
/// other, with those that are `known`: channel and lane, and those behind.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a subnet")]
pub fn unsafe_managers(
    py: Python<'_>,
    network: &Network,
    roots: Vec<u32>,
    first: Led<'_>,
    second: Led<'_>,
    known: PyReadonlyArray2<'_, u32>,
    places: Vec<(u32, Vec<u32>)>,
    used: u16,
    lanes: usize,
) -> PyResult<Vec<u32>> {
    let graph = network.switches(py)?;
    let [one, other] = [&first, &second].map(|(hosts, switches)| (entries(hosts), entries(switches)));
    let pair = |row: numpy::ndarray::ArrayView1<'_, u32>| [(row[0], row[1] as u8), (row[2], row[3] as u8)];
    let known: Vec<_> = known.as_array().rows().into_iter().map(pair).collect();
    Ok(py.detach(|| {
        let beside = Management {
            known: &known,
            places: &places,
            lanes: used,
            roots: &roots,
            to_hosts: [&one.0, &other.0],
            to_switches: [&one.1, &other.1],
        };
        by_destination::unsafe_places(graph, beside, lanes)
    }))
}

/// Tables: channels by destination and switch, and service levels by destination and sender.
type Made<'py> = (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<u8>>);

/// Destinations whose entries change, and destinations and senders whose level does.
type Changing = (Vec<u32>, Vec<(u32, u32)>);

/// Tables with as many changes towards others as may lie beside what there is; `None` for none.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a subnet")]
pub fn change_together<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    at: Vec<u32>,
    now: Laid<'py>,
    aim: Laid<'py>,
    changes: Vec<Changing>,
    smallest: usize,
    lanes: usize,
) -> PyResult<Option<Made<'py>>> {
    let graph = network.switches(py)?;
    let [now, aim] = [&now, &aim].map(copied);
    let changes: Vec<Change> = changes.into_iter().map(|(rows, pairs)| Change { rows, pairs }).collect();
    let found = py.detach(|| {
        let [now, aim] = [&now, &aim].map(|(next, levels)| MixedTables { next, levels });
        let senders = Senders { at: &at, roots: &roots };
        by_destination::together(graph, senders, now, aim, &changes, smallest, lanes)
    });
    let Some((next, levels)) = found else { return Ok(None) };
    let next = PyArray1::from_vec(py, next).reshape([roots.len(), graph.switches()])?;
    Ok(Some((next, PyArray1::from_vec(py, levels).reshape([roots.len(), at.len()])?)))
}
