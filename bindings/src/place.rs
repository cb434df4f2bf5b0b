//! Where each rank sits.

use crate::{errors::spec_error, network::Network, running::keeping};
use flitloom_core::{
    fabric::FabricError,
    placement::{
        Axis, AxisKind, Bound, Demand, Fit, Floor, Found, Listed, Problem, Proof, Score, StreamJob, Turn,
        Watch, Ways, channel_loads, fullest_channel, fullest_port, least_hops, score, search, stream,
    },
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use std::sync::atomic::{AtomicU64, Ordering};

/// Traffic between ranks on a network, by dimension order or by listed ways; or on hosts of switches, by the ways
/// between them, whose numbers have an order.
#[pyclass(frozen, module = "flitloom._core")]
pub struct PlacementProblem {
    ways: Ways,
    demand: Demand,
    slots: Vec<u32>,
    /// Ranks that a node can have.
    per_node: usize,
}

/// Bytes between ranks as a description has them.
#[derive(FromPyObject)]
struct Traffic<'py> {
    ranks: u32,
    sources: PyReadonlyArray1<'py, u32>,
    destinations: PyReadonlyArray1<'py, u32>,
    bytes: PyReadonlyArray1<'py, u64>,
}

/// Ways that are listed, as descriptions of networks have them.
#[derive(FromPyObject)]
struct Routes<'py> {
    rows: PyReadonlyArray1<'py, u32>,
    starts: PyReadonlyArray1<'py, u32>,
    channels: PyReadonlyArray1<'py, u32>,
    numbers: usize,
}

impl Routes<'_> {
    /// The same if starts and channels are those of so many nodes.
    fn listed(&self, nodes: usize) -> PyResult<Listed> {
        let rows = self.rows.as_slice()?.to_vec();
        let (starts, channels) = (self.starts.as_slice()?.to_vec(), self.channels.as_slice()?.to_vec());
        let count = rows.iter().max().map_or(0, |last| *last as usize + 1);
        let are_listed = rows.len() == nodes
            && starts.len() == count * nodes + 1
            && starts.is_sorted()
            && starts.last().copied() == Some(channels.len() as u32);
        if !are_listed || channels.iter().any(|channel| *channel as usize >= self.numbers) {
            return Err(PyValueError::new_err("ways are channels per pair of nodes"));
        }
        Ok(Listed { rows, starts, channels, numbers: self.numbers })
    }
}

#[pymethods]
impl PlacementProblem {
    /// `order` are sizes in whose order the nodes are, where they have no grid.
    #[new]
    #[pyo3(signature = (network, order, traffic, slots, ways=None))]
    fn new(
        py: Python<'_>,
        network: &Network,
        order: Vec<u32>,
        traffic: Traffic<'_>,
        slots: Vec<u32>,
        ways: Option<Routes<'_>>,
    ) -> PyResult<Self> {
        let ways = match ways {
            None => {
                let shape = network.grid(py)?.shape().clone();
                if shape.is_twisted() && shape.nodes() > Ways::MAX_LISTED_NODES {
                    return Err(PyValueError::new_err("too many nodes for listed ways"));
                }
                Ways::new(shape)
            }
            Some(routes) => {
                let listed = routes.listed(network.inner.hosts())?;
                let ways = Ways::listed(&network.inner, &order, listed);
                ways.map_err(|error| spec_error(py, "topology", error))?
            }
        };
        let rows = (traffic.sources.as_slice()?.iter().zip(traffic.destinations.as_slice()?))
            .zip(traffic.bytes.as_slice()?);
        let rows: Vec<_> =
            rows.map(|((source, destination), bytes)| (*source, *destination, *bytes)).collect();
        let demand = Demand::new(traffic.ranks, &rows).map_err(|error| spec_error(py, "traffic", error))?;
        let mut places = vec![0; ways.shape().nodes()];
        for node in &slots {
            *places.get_mut(*node as usize).ok_or_else(|| PyValueError::new_err("no such node"))? += 1;
        }
        if slots.len() < demand.ranks() || demand.ranks() == 0 {
            return Err(PyValueError::new_err("more ranks than places, or none"));
        }
        let per_node = places.into_iter().max().unwrap_or(1);
        Ok(Self { ways, demand, slots, per_node })
    }

    /// The bounds of the fullest channel and of hop-bytes: value and proof.
    fn bounds<'py>(
        &self,
        py: Python<'py>,
        axes: Vec<(u32, String, u64)>,
    ) -> PyResult<(Bound_<'py>, Bound_<'py>)> {
        let axes = axes.into_iter().map(axis).collect::<PyResult<Vec<_>>>()?;
        let found = py.detach(|| {
            let channel = fullest_channel(&self.ways, &self.demand, &axes, self.per_node)?;
            Ok((channel, least_hops(&self.ways, &self.demand, self.per_node)?))
        });
        let (channel, hops) = found.map_err(|error: FabricError| spec_error(py, "topology", error))?;
        Ok((described(py, &channel)?, described(py, &hops)?))
    }

    /// The best placement found; `progress` is score_parts the part of the effort that is done.
    #[pyo3(signature = (axes, by_hops, bound, seed, effort, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "the fields of a spec")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        axes: Vec<u32>,
        by_hops: bool,
        bound: u64,
        seed: u64,
        effort: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<pyo3::Bound<'py, PyDict>> {
        let problem = Problem { ways: &self.ways, demand: &self.demand, slots: &self.slots, axes, by_hops };
        let bound = Bound { value: bound, proof: Proof::Nothing };
        let done = AtomicU64::new(0);
        let (found, failure) = keeping(
            py,
            |interrupt| {
                let should_stop = |part: f64| {
                    done.store(part.to_bits(), Ordering::Relaxed);
                    interrupt.load(Ordering::Relaxed)
                };
                search(&problem, &bound, seed, effort, &mut Watch::new(&should_stop))
            },
            |py| match &progress {
                Some(progress) => {
                    progress.call1(py, (f64::from_bits(done.load(Ordering::Relaxed)),)).map(drop)
                }
                None => Ok(()),
            },
        );
        let facts = PyDict::new(py);
        let Found { nodes, score, row_major, finalists, gained, spent } = found;
        facts.set_item("nodes", nodes.into_pyarray(py))?;
        facts.set_item("score", score_parts(score))?;
        facts.set_item("row_major", score_parts(row_major))?;
        let finalists: Vec<_> = finalists
            .into_iter()
            .map(|(score, nodes)| (score_parts(score), nodes.into_pyarray(py)))
            .collect();
        facts.set_item("finalists", finalists)?;
        facts.set_item("gained", gained)?;
        facts.set_item("spent", spent)?;
        facts.set_item("interrupted", crate::running::was_interrupted(py, failure)?)?;
        Ok(facts)
    }

    /// Loads of all channels (node times directions plus direction), the score, and the fullest port.
    fn loads<'py>(&self, py: Python<'py>, nodes: PyReadonlyArray1<'_, u32>) -> PyResult<Loads<'py>> {
        let nodes = nodes.as_slice()?;
        let network = self.ways.shape().nodes();
        if nodes.len() != self.demand.ranks() || nodes.iter().any(|node| *node as usize >= network) {
            return Err(PyValueError::new_err("one node per rank is needed"));
        }
        let loads = channel_loads(&self.ways, &self.demand, nodes);
        let score = score_parts(score(&loads));
        Ok((loads.into_pyarray(py), score, fullest_port(&self.demand, nodes, network)))
    }
}

/// Loads by channel, the score, and the fullest port.
type Loads<'py> = (pyo3::Bound<'py, PyArray1<u64>>, (u64, u32, u64), u64);

/// Per job its start, corner and box; searches; whether it was interrupted.
type Starts = (Vec<Option<(u64, u32, u32)>>, u64, bool);

type Bound_<'py> = (u64, pyo3::Bound<'py, PyDict>);

fn score_parts(score: Score) -> (u64, u32, u64) {
    (score.fullest, score.count, score.hops)
}

fn axis((size, kind, units): (u32, String, u64)) -> PyResult<Axis> {
    let kind = match kind.as_str() {
        "a2a" => AxisKind::Clique,
        "ring" => AxisKind::Ring,
        "line" => AxisKind::Line,
        _ => return Err(PyValueError::new_err("an axis is a2a, ring or line")),
    };
    Ok(Axis { size, kind, units })
}

fn described<'py>(py: Python<'py>, bound: &Bound) -> PyResult<Bound_<'py>> {
    let facts = PyDict::new(py);
    facts.set_item("kind", bound.proof.name())?;
    match &bound.proof {
        Proof::Nothing | Proof::Uniform => {}
        Proof::Message { source, destination } => {
            facts.set_item("source", source)?;
            facts.set_item("destination", destination)?;
        }
        Proof::Degree { rank, sends, channels } => {
            facts.set_item("rank", rank)?;
            facts.set_item("sends", sends)?;
            facts.set_item("channels", channels)?;
        }
        Proof::Sorted { lengths } => facts.set_item("lengths", lengths)?,
        Proof::Cut { dimension, nodes, channels } => {
            facts.set_item("dimension", dimension)?;
            facts.set_item("nodes", nodes)?;
            facts.set_item("channels", channels)?;
        }
    }
    Ok((bound.value, facts))
}

/// Which nodes of a torus or mesh jobs have taken.
#[pyclass(module = "flitloom._core")]
pub struct JobFloor {
    floor: Floor,
    dimensions: usize,
    nodes: usize,
}

impl JobFloor {
    fn check(&self, sides: &[u32]) -> PyResult<()> {
        if sides.len() != self.dimensions || sides.contains(&0) {
            return Err(PyValueError::new_err("a box has a side per dimension, at least 1 long"));
        }
        Ok(())
    }
}

#[pymethods]
impl JobFloor {
    #[new]
    fn new(py: Python<'_>, network: &Network, taken: Vec<u32>) -> PyResult<Self> {
        let fabric = network.grid(py)?;
        let shape = fabric.shape();
        let (dimensions, nodes) = (shape.dimensions(), shape.nodes());
        let mut floor = Floor::new(shape.clone())
            .ok_or_else(|| PyValueError::new_err("no twist, and rows of at most 128 nodes"))?;
        for node in fabric.failed_nodes().chain(taken) {
            if node as usize >= nodes {
                return Err(PyValueError::new_err("no such node"));
            }
            floor.close(node);
        }
        Ok(Self { floor, dimensions, nodes })
    }

    /// Nodes that nobody has.
    fn free(&self) -> usize {
        self.floor.free()
    }

    /// The first box that is free somewhere, and its corner.
    fn find(&self, boxes: Vec<Vec<u32>>, contact: bool) -> PyResult<Option<(usize, u32)>> {
        boxes.iter().try_for_each(|sides| self.check(sides))?;
        let fit = if contact { Fit::Contact } else { Fit::First };
        Ok(boxes
            .iter()
            .enumerate()
            .find_map(|(chosen, sides)| self.floor.find(sides, fit).map(|corner| (chosen, corner))))
    }

    /// Takes the nodes of a box, or gives them back.
    fn flip(&mut self, corner: u32, sides: Vec<u32>) -> PyResult<()> {
        self.check(&sides)?;
        if corner as usize >= self.nodes {
            return Err(PyValueError::new_err("no such node"));
        }
        self.floor.take(corner, &sides);
        Ok(())
    }

    /// Runs a stream of jobs (boxes, arrival, time) and says when, where and in which box each began, how many
    /// searches there were and whether it was interrupted.
    fn stream(
        &self,
        py: Python<'_>,
        jobs: Vec<(Vec<Vec<u32>>, u64, u64)>,
        window: usize,
        contact: bool,
        largest: bool,
    ) -> PyResult<Starts> {
        let mut list = Vec::with_capacity(jobs.len());
        for (boxes, arrival, time) in jobs {
            boxes.iter().try_for_each(|sides| self.check(sides))?;
            list.push(StreamJob { boxes, arrival, time });
        }
        let fit = if contact { Fit::Contact } else { Fit::First };
        let turn = if largest { Turn::Largest } else { Turn::Arrival };
        let (done, failure) = keeping(
            py,
            |interrupt| {
                stream(&self.floor, &list, (turn, window), fit, &|| interrupt.load(Ordering::Relaxed))
            },
            |_| Ok(()),
        );
        let begun = done.begun.into_iter().map(|one| one.map(|one| (one.start, one.corner, one.chosen)));
        Ok((begun.collect(), done.decisions, crate::running::was_interrupted(py, failure)?))
    }
}
