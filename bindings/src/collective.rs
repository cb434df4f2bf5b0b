//! Collective operations in which every link works.

use crate::{errors::spec_error, network::Network, running::interruptible};
use flitloom_core::{
    collective::{
        self, CollectiveError, CollectiveKind, Generator, OrbitKind, PieceWays, Proof, Request, Schedule,
        Shift, Torus, plan, plan_demands,
    },
    fabric::Sign,
    flow::demands::Demand,
};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    ndarray::ArrayView1,
};
use pyo3::{prelude::*, types::PyDict};

/// A plan of a collective operation with its bound. Without `members` all working nodes take part; with
/// `demands` (rows of source and destination) chunks go from node to node instead.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a spec")]
pub fn plan_collective<'py>(
    py: Python<'py>,
    network: &Network,
    name: &str,
    chunks: u32,
    root: u32,
    latency: u32,
    seed: u64,
    members: Option<Vec<u32>>,
    demands: Option<PyReadonlyArray2<'_, u32>>,
) -> PyResult<Bound<'py, PyDict>> {
    let failed = |error: CollectiveError| spec_error(py, "collective", error);
    let network = &network.inner;
    let kind: CollectiveKind = name.parse().map_err(failed)?;
    let request = Request { kind, chunks, root, latency, seed };
    let demands: Option<Vec<Demand>> = demands.map(|rows| {
        let rows = rows.as_array();
        rows.outer_iter().map(|row| Demand { source: row[0], destination: row[1] }).collect()
    });
    let found = interruptible(
        py,
        |_| match &demands {
            Some(demands) => plan_demands(network, demands, latency, seed),
            None => plan(network, members.as_deref(), &request),
        },
        |_| Ok(()),
    )?;
    let plan = found.map_err(failed)?;
    let facts = PyDict::new(py);
    facts.set_item("steps", plan.steps)?;
    facts.set_item("bound", plan.bound.steps)?;
    facts.set_item("proof", proof(py, &plan.bound)?)?;
    match plan.schedule {
        Schedule::Orbits(orbits) => {
            let vector = |generator: &Generator| {
                let mut vector = vec![0; network.sizes().len()];
                let step = i64::from(generator.step);
                vector[generator.dimension] = if generator.sign == Sign::Plus { step } else { -step };
                vector
            };
            let torus = Torus::of(network).map_err(failed)?;
            let generators = torus.iter().flat_map(|torus| torus.generators());
            facts.set_item("generators", generators.map(vector).collect::<Vec<Vec<i64>>>())?;
            let mut parts = Vec::new();
            for orbit in orbits {
                let kind = match orbit.kind {
                    OrbitKind::Gather => "sends",
                    OrbitKind::Reduce => "adds",
                    OrbitKind::Exchange => "paths",
                };
                let rows = orbit.rows.iter().flat_map(|row| [row.step, row.generator, row.offset, row.chunk]);
                parts.push((kind, orbit.steps, table(py, rows.collect())?));
            }
            facts.set_item("orbits", parts)?;
        }
        Schedule::Moves(moves) => {
            let rows =
                moves.iter().flat_map(|moved| [moved.step, moved.link, moved.item, u32::from(moved.adds)]);
            facts.set_item("moves", table(py, rows.collect())?)?;
            facts.set_item("links", network.links().to_vec())?;
        }
    }
    Ok(facts)
}

/// Rounds of nodes that cost less, by shifts (rows of node, other round, most that all may cost more).
#[pyfunction]
pub fn nested_rounds<'py>(
    py: Python<'py>,
    costs: PyReadonlyArray3<'_, i32>,
    own: PyReadonlyArray1<'_, u32>,
    shifts: PyReadonlyArray2<'_, i64>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (costs, own, shifts) = (costs.as_slice()?, own.as_slice()?, shifts.as_array());
    let shift = |row: ArrayView1<'_, i64>| Shift { node: row[0] as u32, other: row[1] as u32, more: row[2] };
    let found = py.detach(|| collective::nested_rounds(costs, own, shifts.outer_iter().map(shift)));
    Ok(found.into_pyarray(py))
}

/// Pieces on every way, and by round what the busiest link has.
type Spread<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

/// Pieces on other ways of their chunks, so that the busiest links have little, and what these have by round.
#[pyfunction]
pub fn spread_pieces<'py>(
    py: Python<'py>,
    loads: PyReadonlyArray3<'_, f64>,
    owners: PyReadonlyArray1<'_, u32>,
    first: PyReadonlyArray1<'_, u32>,
) -> PyResult<Spread<'py>> {
    let (rounds, links) = (loads.as_array().shape()[1], loads.as_array().shape()[2]);
    let (loads, owners, first) = (loads.as_slice()?, owners.as_slice()?, first.as_slice()?);
    let found = py.detach(|| collective::spread_pieces(&PieceWays { rounds, links, loads, owners }, first));
    Ok((found.pieces.into_pyarray(py), found.busiest.into_pyarray(py)))
}

/// By sender and receiver how much the potentials of all nodes rise from those at the one to those at the other.
#[pyfunction]
pub fn raises<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray2<'_, f64>,
    ends: PyReadonlyArray2<'_, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (starts, ends, nodes) = (starts.as_slice()?, ends.as_slice()?, ends.as_array().ncols());
    Ok(py.detach(|| collective::raises(starts, ends, nodes)).into_pyarray(py))
}

fn table<'py>(py: Python<'py>, values: Vec<u32>) -> PyResult<Bound<'py, PyArray2<u32>>> {
    numpy::ndarray::Array2::from_shape_vec((values.len() / 4, 4), values)
        .map(|table| table.into_pyarray(py))
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

fn proof<'py>(py: Python<'py>, bound: &collective::Bound) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    let name = match &bound.proof {
        Proof::Nothing => "nothing",
        Proof::Distance { from, to } => {
            facts.set_item("from", from)?;
            facts.set_item("to", to)?;
            "distance"
        }
        Proof::Cut { nodes } => {
            facts.set_item("nodes", nodes)?;
            "cut"
        }
        Proof::Hops => "hops",
        Proof::Lengths { lengths } => {
            facts.set_item("lengths", lengths)?;
            "lengths"
        }
        Proof::Root { node } => {
            facts.set_item("node", node)?;
            "root"
        }
        Proof::Arrival { node } => {
            facts.set_item("node", node)?;
            "arrival"
        }
        Proof::Farthest { distance } => {
            facts.set_item("distance", distance)?;
            "farthest"
        }
        Proof::Crossing { nodes, from, to } => {
            facts.set_item("nodes", nodes)?;
            facts.set_item("from", from)?;
            facts.set_item("to", to)?;
            "crossing"
        }
        Proof::Transfers => "transfers",
    };
    facts.set_item("kind", name)?;
    Ok(facts)
}
