//! Routing tables: generators, bounds, failures and the check.

use crate::{
    errors::{exception, spec_error},
    lists::named,
    network::Network,
    running::interruptible,
};
use flitloom_core::{
    fabric::{Direction, Fabric, NodeId},
    names::{self, UnknownName},
    routes::by_source::{
        self as tables, CheckReport, GeneticSettings, Regime, Request, TableError, WalkChecker,
    },
    routes::{
        failures::{Repair, advise},
        methods::Method,
    },
    routing::{Flow, Hops, Rules, TurnPolicy, TurnSet},
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};
use rayon::prelude::*;
use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Runs work that is told whether to go on, and tells `progress` the fraction done.
fn with_progress<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(f64) -> bool) -> T + Send,
) -> PyResult<T> {
    let done = AtomicU64::new(0);
    interruptible(
        py,
        |interrupt| {
            work(&mut |fraction| {
                done.store(fraction.to_bits(), Ordering::Relaxed);
                !interrupt.load(Ordering::Relaxed)
            })
        },
        |py| match progress {
            Some(progress) => progress.call1(py, (f64::from_bits(done.load(Ordering::Relaxed)),)).map(drop),
            None => Ok(()),
        },
    )
}

/// As [`with_progress`], for work that asks in several places whether to go on.
fn attended<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    interruptible(py, work, |_| Ok(()))
}

fn table_error(py: Python<'_>, error: TableError) -> PyErr {
    let text = error.to_string();
    match error {
        TableError::Unserved { pairs, .. } => exception(py, "UnreachableError", (text, pairs)),
        TableError::Interrupted => pyo3::exceptions::PyKeyboardInterrupt::new_err(text),
        error => spec_error(py, "traffic", error),
    }
}

fn direction(py: Python<'_>, place: &str, name: &str) -> PyResult<Direction> {
    let known = (0..12).map(Direction::from_index).find(|direction| direction.to_string() == name);
    known.ok_or_else(|| spec_error(py, place, format!("{name:?} is not a direction; write +x, -y and so on")))
}

/// What a router accepts as a route.
#[pyclass(frozen, module = "flitloom._core")]
pub struct RoutingRules {
    pub inner: Rules,
}

#[pymethods]
impl RoutingRules {
    /// Rules of a name.
    #[staticmethod]
    fn named(py: Python<'_>, name: &str, dimensions: usize) -> PyResult<Self> {
        let inner = Rules::named(name, dimensions).map_err(|error| spec_error(py, "rules", error))?;
        Ok(Self { inner })
    }

    /// Rules from their parts; no number of virtual channels means the bubble rule.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the fields of a spec")]
    fn new(
        py: Python<'_>,
        name: &str,
        order: Vec<String>,
        direction_bits: bool,
        first_steps: Vec<String>,
        last_steps: Vec<String>,
        channels: Option<u8>,
        datelines: bool,
        any_walk: bool,
    ) -> PyResult<Self> {
        let read = |place: &str, names: Vec<String>| -> PyResult<Vec<Direction>> {
            names.iter().map(|name| direction(py, place, name)).collect()
        };
        let flow = channels.map_or(Flow::Bubble, |count| Flow::Channels { count, datelines });
        let inner = Rules::new(
            name,
            read("rules.order", order)?,
            direction_bits,
            read("rules.first_steps", first_steps)?,
            read("rules.last_steps", last_steps)?,
            flow,
        )
        .map_err(|error| spec_error(py, "rules", error))?;
        Ok(Self { inner: inner.with_any_walk(any_walk) })
    }

    /// All parts, as the constructor takes them.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let names = |directions: &[Direction]| -> Vec<String> {
            directions.iter().map(ToString::to_string).collect()
        };
        let parts = PyDict::new(py);
        parts.set_item("name", self.inner.name())?;
        parts.set_item("order", names(self.inner.order()))?;
        parts.set_item("direction_bits", self.inner.direction_bits())?;
        parts.set_item("first_steps", names(self.inner.first_steps()))?;
        parts.set_item("last_steps", names(self.inner.last_steps()))?;
        let (channels, datelines) = match self.inner.flow() {
            Flow::Bubble => (None, false),
            Flow::Channels { count, datelines } => (Some(count), datelines),
        };
        parts.set_item("virtual_channels", channels)?;
        parts.set_item("datelines", datelines)?;
        parts.set_item("any_walk", self.inner.any_walk())?;
        Ok(parts)
    }
}

/// Numerator, denominator and proof of a bound, and the prices of links.
type ProvenBound<'py> = (u128, u128, &'static str, Bound<'py, PyArray1<u64>>);

/// A turn: node, direction in, direction out.
type Turn = (u32, String, String);

/// A fabric with the rules of its routers and their permitted turns.
#[pyclass(frozen, module = "flitloom._core")]
pub struct RoutingSystem {
    pub inner: tables::System,
    unserved: Option<Vec<(NodeId, NodeId)>>,
}

#[pymethods]
impl RoutingSystem {
    /// `turns` is a policy, or "on-demand"; `progress` is told the fraction done.
    #[new]
    #[pyo3(signature = (network, rules, turns, progress=None))]
    fn new(
        py: Python<'_>,
        network: &Network,
        rules: &RoutingRules,
        turns: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let fabric = network.grid(py)?;
        let (rules, dimensions) = (rules.inner.clone(), fabric.shape().dimensions());
        if 2 * dimensions != rules.order().len() {
            let text =
                format!("they are for {} dimensions, the shape has {dimensions}", rules.order().len() / 2);
            return Err(spec_error(py, "rules", text));
        }
        let made =
            with_progress(py, progress.as_ref(), |keep_going| Self::made(fabric, &rules, turns, keep_going))?;
        made.map_err(|error| table_error(py, error))?.ok_or_else(|| {
            let names: Vec<_> = names::all(&TurnPolicy::NAMES).into_iter().chain(["on-demand"]).collect();
            spec_error(py, "turns", UnknownName::of("", "it must be one of", turns, &names))
        })
    }

    /// The same system with given turns against the order, and others in it withheld, as (node,
    /// direction in, direction out).
    fn with_turns(&self, py: Python<'_>, turns: Vec<Turn>, withheld: Vec<Turn>) -> PyResult<Self> {
        let fabric = self.inner.fabric();
        let mut set = TurnSet::none(fabric);
        for (place, list) in [("turns", turns), ("withheld_turns", withheld)] {
            for (node, along, out) in list {
                let (along, out) = (direction(py, place, &along)?, direction(py, place, &out)?);
                let exists = (node as usize) < self.inner.nodes()
                    && along.index().max(out.index()) < fabric.shape().directions();
                let before = if exists { fabric.shape().neighbour(node, along.opposite()) } else { None };
                let Some(before) = before else {
                    return Err(spec_error(
                        py,
                        place,
                        format!("no link arrives at node {node} along {along}"),
                    ));
                };
                if place == "turns" {
                    set.insert(fabric.link(before, along), out);
                } else {
                    set.withhold(fabric.link(before, along), out);
                }
            }
        }
        let inner = tables::System::with_turns(fabric.clone(), self.inner.rules().clone(), set)
            .map_err(|error| table_error(py, error))?;
        Ok(Self { inner, unserved: None })
    }

    /// Pairs without a legal deadlock-free route.
    fn unserved(&self, py: Python<'_>) -> PyResult<Vec<(NodeId, NodeId)>> {
        match &self.unserved {
            Some(unserved) => Ok(unserved.clone()),
            None => {
                let found =
                    with_progress(py, None, |keep_going| tables::Choices::found(&self.inner, keep_going))?;
                Ok(found.map_err(|error| table_error(py, error))?.unserved().to_vec())
            }
        }
    }

    /// Permitted turns against the order, and withheld ones in it, as (node, direction in, direction
    /// out).
    fn turns(&self) -> (Vec<Turn>, Vec<Turn>) {
        let fabric = self.inner.fabric();
        let ends = |(link, out): (u32, Direction)| {
            let (before, along) = fabric.link_ends(link);
            let node = fabric.shape().neighbour(before, along).unwrap_or(before);
            (node, along.to_string(), out.to_string())
        };
        let turns = self.inner.turns();
        (turns.iter().map(ends).collect(), turns.withheld().map(ends).collect())
    }

    /// Working links as rows of index, source node, target node; and their names.
    fn links(&self) -> Vec<(u32, u32, u32, String)> {
        let fabric = self.inner.fabric();
        let row = |link| {
            let (node, direction) = fabric.link_ends(link);
            let name = format!("{}{direction}", fabric.shape().describe(node));
            (link, node, self.inner.next(link), name)
        };
        fabric.working_links().map(row).collect()
    }

    /// Numbers of pairs with exactly one and with several shortest legal routes.
    fn route_counts(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let found = with_progress(py, None, |keep_going| tables::Choices::found(&self.inner, keep_going))?;
        let choices = found.map_err(|error| table_error(py, error))?;
        Ok((choices.single(), choices.multiple()))
    }

    /// Bits of the hop counts in a packed header, per dimension.
    fn header_widths(&self) -> Vec<u32> {
        self.inner.layout().widths().to_vec()
    }

    /// The balancing problem as arrays of a linear program; `row_of` has the row of every link, all ones for none.
    fn program<'py>(
        &self,
        py: Python<'py>,
        traffic: Option<PyReadonlyArray2<'py, u64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let traffic = weights(traffic);
        let (program, row_of) = with_progress(py, None, |keep_going| {
            let choices = tables::Choices::found(&self.inner, keep_going)?;
            let row_of = tables::Program::row_of(&self.inner, &choices, traffic.is_some());
            Ok((tables::Program::new(&self.inner, &choices, traffic.as_deref()), row_of))
        })?
        .map_err(|error| table_error(py, error))?;
        let arrays = PyDict::new(py);
        arrays.set_item("row_of", PyArray1::from_vec(py, row_of))?;
        for (name, values) in
            [("sizes", program.sizes), ("fixed", program.fixed), ("weights", program.weights)]
        {
            arrays.set_item(name, PyArray1::from_vec(py, values))?;
        }
        for (name, values) in [
            ("options", program.options),
            ("entries", program.entries),
            ("rows", program.rows),
            ("hops", program.hops),
        ] {
            arrays.set_item(name, PyArray1::from_vec(py, values))?;
        }
        Ok(arrays)
    }

    /// Pairs that tables of a method leave without a route.
    fn left_out(
        &self,
        py: Python<'_>,
        method: &str,
        traffic: Option<PyReadonlyArray2<'_, u64>>,
    ) -> PyResult<Vec<(NodeId, NodeId)>> {
        let method = method_of(py, method)?;
        let request = Request { traffic: weights(traffic), ..Request::default() };
        with_progress(py, None, |keep_going| tables::left_out(&self.inner, method, &request, keep_going))?
            .map_err(|error| table_error(py, error))
    }

    /// The rules with the two ways along some dimensions exchanged so that tables of a method, with the
    /// turns of a policy, serve every pair; `None` if there are none.
    #[pyo3(signature = (method, turns, traffic, progress=None))]
    fn mirrored(
        &self,
        py: Python<'_>,
        method: &str,
        turns: &str,
        traffic: Option<PyReadonlyArray2<'_, u64>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<RoutingRules>> {
        let method = method_of(py, method)?;
        let request = Request { traffic: weights(traffic), ..Request::default() };
        let (fabric, rules) = (self.inner.fabric(), self.inner.rules());
        let found = with_progress(py, progress.as_ref(), |keep_going| {
            let keep_going = RefCell::new(keep_going);
            let left_out = |changed: &Rules| {
                let mut keep_going = keep_going.borrow_mut();
                Self::left_out_of(fabric, changed, (turns, method, &request), &mut **keep_going)
            };
            let unserved = left_out(rules)?;
            tables::mirrored(fabric, rules, &unserved, &left_out)
        })?;
        Ok(found.map_err(|error| table_error(py, error))?.map(|inner| RoutingRules { inner }))
    }

    /// What can be done about pairs that tables of a method, with the turns of a policy, leave out.
    fn advise<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        turns: &str,
        traffic: Option<PyReadonlyArray2<'py, u64>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let method = method_of(py, method)?;
        let request = Request { traffic: weights(traffic), ..Request::default() };
        let (fabric, rules) = (self.inner.fabric(), self.inner.rules());
        let advice = attended(py, |interrupt| {
            let left_out = |changed: &Fabric| {
                let keep_going = &mut |_| !interrupt.load(Ordering::Relaxed);
                Self::left_out_of(changed, rules, (turns, method, &request), keep_going)
            };
            advise(fabric, rules, &left_out)
        })?
        .map_err(|error| table_error(py, error))?;
        let Some(advice) = advice else { return Ok(None) };
        let entry = PyDict::new(py);
        entry.set_item("first", advice.first)?;
        entry.set_item("cause", format!("{:?}", advice.cause))?;
        let single: Vec<(&str, u32, Option<u32>)> = advice
            .single
            .iter()
            .map(|repair| match *repair {
                Repair::Cable(a, b) => ("cable", a, Some(b)),
                Repair::Node(node) => ("node", node, None),
                Repair::Drop(node) => ("drop", node, None),
            })
            .collect();
        entry.set_item("single", single)?;
        entry.set_item("together", advice.together)?;
        Ok(Some(entry))
    }

    /// The bound on the largest load of any tables, proven anew from the loads of some: numerator,
    /// denominator, proof, and the prices of all links; `None` if a pair has no legal route.
    #[pyo3(signature = (loads, traffic=None, progress=None))]
    fn bound<'py>(
        &self,
        py: Python<'py>,
        loads: PyReadonlyArray1<'py, u64>,
        traffic: Option<PyReadonlyArray2<'py, u64>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<ProvenBound<'py>>> {
        let loads = loads.as_slice()?.to_vec();
        let traffic = weights(traffic);
        let found = with_progress(py, progress.as_ref(), |keep_going| {
            tables::prove_bound(&self.inner, traffic.as_deref(), loads, keep_going)
        })?;
        Ok(found.ok().map(|(bound, prices)| {
            (bound.numerator, bound.denominator, bound.proof, PyArray1::from_vec(py, prices))
        }))
    }

    /// Checks listed routes: route i goes from `sources[i]` to `destinations[i]` over
    /// `nodes[offsets[i]..offsets[i + 1]]`. With `any_turn` they are not held against the system's turns.
    #[pyo3(signature = (sources, destinations, offsets, nodes, channels, any_turn, progress=None))]
    #[expect(clippy::too_many_arguments, reason = "the arrays of the routes")]
    fn check<'py>(
        &self,
        py: Python<'py>,
        sources: PyReadonlyArray1<'py, u32>,
        destinations: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u64>,
        nodes: PyReadonlyArray1<'py, u32>,
        channels: Option<PyReadonlyArray1<'py, u8>>,
        any_turn: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (sources, destinations) = (sources.as_slice()?, destinations.as_slice()?);
        let (offsets, nodes) = (offsets.as_slice()?, nodes.as_slice()?);
        let channels = channels.as_ref().map(|channels| channels.as_slice()).transpose()?;
        let report = with_progress(py, progress.as_ref(), |keep_going| {
            let checker = WalkChecker::new(&self.inner);
            let mut checker = if any_turn { checker.with_any_turn() } else { checker };
            for route in 0..sources.len() {
                if route.is_multiple_of(1 << 12) && !keep_going(route as f64 / sources.len() as f64) {
                    return Err(TableError::Interrupted);
                }
                let (start, end) = (offsets[route] as usize, offsets[route + 1] as usize);
                // A route has one hop less than nodes; its channels follow at the same place.
                let own = channels.map(|channels| &channels[start..end.max(start + 1) - 1]);
                checker.add_nodes(sources[route], destinations[route], &nodes[start..end], own);
            }
            Ok(checker.finish())
        })?;
        report_dict(py, &self.inner, report.map_err(|error| table_error(py, error))?)
    }
}

impl RoutingSystem {
    /// The system with the turns of a policy, `None` if there is no such policy.
    fn made(
        fabric: &Fabric,
        rules: &Rules,
        turns: &str,
        keep_going: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Self>, TableError> {
        if turns == "on-demand" {
            let (inner, unserved) = tables::on_demand_while(fabric, rules, keep_going)?;
            return Ok(Some(Self { inner, unserved: Some(unserved) }));
        }
        let Some(&(_, policy)) = TurnPolicy::NAMES.iter().find(|(name, _)| *name == turns) else {
            return Ok(None);
        };
        let inner = tables::System::new(fabric.clone(), rules.clone(), policy)?;
        Ok(Some(Self { inner, unserved: None }))
    }

    /// The pairs that tables of a method, with the turns of a policy and for some traffic, leave out.
    fn left_out_of(
        fabric: &Fabric,
        rules: &Rules,
        (turns, method, request): (&str, &Method, &Request),
        keep_going: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<(NodeId, NodeId)>, TableError> {
        match Self::made(fabric, rules, turns, keep_going)? {
            Some(system) => tables::left_out(&system.inner, method, request, keep_going),
            None => Ok(Vec::new()),
        }
    }
}

/// Weights of pairs, source-major.
fn weights(traffic: Option<PyReadonlyArray2<'_, u64>>) -> Option<Vec<u64>> {
    traffic.map(|matrix| matrix.as_array().iter().copied().collect())
}

fn method_of(py: Python<'_>, name: &str) -> PyResult<&'static Method> {
    named(py, "method", &Method::by_source(), name)
}

fn report_dict<'py>(
    py: Python<'py>,
    system: &tables::System,
    report: CheckReport,
) -> PyResult<Bound<'py, PyDict>> {
    let (entry, verdict) = (PyDict::new(py), report.verdict);
    entry.set_item("passed", verdict.passed())?;
    entry.set_item("routes", verdict.uses.routes)?;
    entry.set_item("problem_count", verdict.problem_count())?;
    entry.set_item("problems", verdict.problems().map(ToString::to_string).collect::<Vec<_>>())?;
    let several = system.rules().flow().channels() > 1;
    let names = verdict.cycle().iter().map(|channel| channel.name(system.fabric(), several));
    entry.set_item("cycle", names.collect::<Vec<_>>())?;
    entry.set_item("ranks", verdict.ranks().map(|ranks| PyArray1::from_slice(py, ranks)))?;
    quality_into(py, &entry, report.quality)?;
    Ok(entry)
}

fn quality_into(py: Python<'_>, entry: &Bound<'_, PyDict>, quality: tables::Quality) -> PyResult<()> {
    entry.set_item("max_load", quality.max_load)?;
    entry.set_item("min_load", quality.min_load)?;
    entry.set_item("perfect_load", quality.perfect_load)?;
    entry.set_item("sigma4", quality.sigma4)?;
    entry.set_item("max_distance", quality.max_distance)?;
    entry.set_item("loads", PyArray1::from_vec(py, quality.loads))
}

/// One route per ordered pair of working nodes.
#[pyclass(frozen, module = "flitloom._core")]
pub struct RoutingTable {
    pub inner: Arc<tables::Table>,
}

#[pymethods]
impl RoutingTable {
    /// A table from packed headers.
    #[staticmethod]
    fn from_headers(
        py: Python<'_>,
        system: &RoutingSystem,
        headers: PyReadonlyArray2<'_, u32>,
    ) -> PyResult<Self> {
        let headers: Vec<u32> = headers.as_array().iter().copied().collect();
        let inner = attended(py, |_| tables::Table::from_headers(system.inner.clone(), headers))?;
        let inner = inner.map_err(|pair| {
            let nodes = system.inner.nodes();
            let text = format!("from node {} to node {} does not lead there", pair / nodes, pair % nodes);
            spec_error(py, "headers", text)
        })?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Packed headers, by source and destination.
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let nodes = self.inner.system().nodes();
        PyArray1::from_slice(py, self.inner.headers()).reshape([nodes, nodes])
    }

    /// Nodes of one route, both ends included.
    fn nodes(&self, source: u32, destination: u32) -> Option<Vec<u32>> {
        let known = |node: u32| (node as usize) < self.inner.system().nodes();
        if known(source) && known(destination) { self.inner.nodes(source, destination) } else { None }
    }

    /// Hops of one route as text.
    fn hops(&self, source: u32, destination: u32) -> Option<String> {
        Some(Hops(&self.inner.hops(source, destination)?).to_string())
    }

    /// All routes: sources, destinations, offsets and nodes, of which there may be `most`.
    #[expect(clippy::type_complexity, reason = "four arrays")]
    fn listed<'py>(
        &self,
        py: Python<'py>,
        most: usize,
    ) -> PyResult<(
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u64>>,
        Bound<'py, PyArray1<u32>>,
    )> {
        let lists = py.detach(|| {
            let count = self.inner.system().nodes() as u32;
            let (mut sources, mut destinations, mut offsets, mut all) = (vec![], vec![], vec![0], vec![]);
            for (source, destination) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))) {
                if let Some(nodes) = self.inner.nodes(source, destination) {
                    sources.push(source);
                    destinations.push(destination);
                    all.extend(nodes);
                    offsets.push(all.len() as u64);
                    if all.len() > most {
                        return None;
                    }
                }
            }
            Some((sources, destinations, offsets, all))
        });
        let Some((sources, destinations, offsets, all)) = lists else {
            let text =
                format!("all routes together visit more than {most} nodes and are not listed; take .npz");
            return Err(spec_error(py, "output", text));
        };
        Ok((
            PyArray1::from_vec(py, sources),
            PyArray1::from_vec(py, destinations),
            PyArray1::from_vec(py, offsets),
            PyArray1::from_vec(py, all),
        ))
    }

    /// Checks every route, hop by hop, and unless `any_turn` against the system's turns.
    #[pyo3(signature = (any_turn, progress=None))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        any_turn: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let report = with_progress(py, progress.as_ref(), |keep_going| {
            tables::check_table(&self.inner, any_turn, keep_going)
        })?;
        report_dict(py, self.inner.system(), report.map_err(|error| table_error(py, error))?)
    }
}

/// Makes a table; `progress` is told the fraction done.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a request")]
pub fn route<'py>(
    py: Python<'py>,
    system: &RoutingSystem,
    method: &str,
    traffic: Option<PyReadonlyArray2<'py, u64>>,
    seed: u64,
    effort: u32,
    genetic: (usize, f64, u32, f64),
    unique_first: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(RoutingTable, Bound<'py, PyDict>)> {
    let method = method_of(py, method)?;
    let (population, mutation, patience, threshold) = genetic;
    let request = Request {
        traffic: weights(traffic),
        seed,
        effort,
        unique_first,
        genetic: GeneticSettings { population, mutation, patience, threshold },
        ..Request::default()
    };
    let answer = with_progress(py, progress.as_ref(), |keep_going| {
        tables::route(system.inner.clone(), method, &request, keep_going)
    })?
    .map_err(|error| table_error(py, error))?;
    let facts = PyDict::new(py);
    quality_into(py, &facts, answer.quality)?;
    facts.set_item("bound_numerator", answer.bound.numerator)?;
    facts.set_item("bound_denominator", answer.bound.denominator)?;
    facts.set_item("proof", answer.bound.proof)?;
    facts.set_item("calls", answer.calls)?;
    Ok((RoutingTable { inner: Arc::new(answer.table) }, facts))
}

/// Failed nodes and failed cables.
type Failures = (Vec<u32>, Vec<(u32, u32)>);

/// Whether every pair stays served, per failure set and regime (plain, direction-sets, closed-form,
/// exact, on-demand).
#[pyfunction]
pub fn resilience(
    py: Python<'_>,
    network: &Network,
    rules: &RoutingRules,
    failures: Vec<Failures>,
) -> PyResult<Vec<[bool; 5]>> {
    let left = |(nodes, links): &Failures| Ok(network.without(py, nodes, links)?.grid(py)?.clone());
    let fabrics: Vec<Arc<Fabric>> = failures.iter().map(left).collect::<PyResult<_>>()?;
    let rules = &rules.inner;
    let judged = attended(py, |interrupt| {
        let judge = |fabric: &Arc<Fabric>| -> Result<[bool; 5], TableError> {
            let mut served = [false; 5];
            for (entry, (_, regime)) in served.iter_mut().zip(Regime::NAMES) {
                let keep_going = &mut |_| !interrupt.load(Ordering::Relaxed);
                *entry = tables::serves(fabric, rules, regime, keep_going)?.is_empty();
            }
            Ok(served)
        };
        fabrics.par_iter().map(judge).collect::<Result<Vec<_>, _>>()
    })?;
    judged.map_err(|error| table_error(py, error))
}
