use crate::{
    errors::{simulation_error, spec_error},
    film::add_moved,
    network::{Network, Routers},
    pipelined_simulation::{self, Router, Tables, Terms},
    ranks::Ranks,
    running::{deadline, guarded, interruptible, sound},
    traffic::Workload,
};
use flitloom_core::{
    engine::{self, Bottleneck, EngineKind, Options, Outcome, Setup, SimulationError, pipelined::Pipeline},
    fabric::{LinkId, NodeId},
    probe::{
        Film, LinkOccupation, LinkTime, PacketRecord, PacketRecords, QueueCounts, Window, Windows,
        utilisation,
    },
    throttle::Throttle,
    traffic::{self, PacketSource},
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::{
    exceptions::PyStopIteration,
    prelude::*,
    types::{PyBytes, PyDict},
};
use std::time::Instant;

/// Records of single packets and cycles, each only if it was asked for.
type Records = (Option<PacketRecords>, (Option<LinkTime>, Option<Film>));

/// A simulation without records of packets or cycles, on the fastest engine, or with them.
#[derive(Clone)]
pub enum Held {
    Plain(Box<engine::Simulation>),
    Recording(Box<engine::Simulation<(Option<LinkOccupation>, Records)>>),
}

/// The same call for both kinds of simulation.
macro_rules! each {
    ($held:expr, $simulation:ident => $call:expr) => {
        match $held {
            Held::Plain($simulation) => $call,
            Held::Recording($simulation) => $call,
        }
    };
}

/// What an experiment says of a run.
#[derive(FromPyObject)]
struct ExperimentSpec {
    stop_at: Option<u64>,
    seed: u64,
    throttle: String,
}

/// What is recorded of a run and who runs it; `latencies` says whether its sum of latencies is wanted in any
/// cycle before the end, not only where it stops, `state` is that of a saved simulation that is to be
/// restored.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Settings<'py> {
    #[pyo3(default)]
    links: bool,
    #[pyo3(default)]
    packets: bool,
    #[pyo3(default)]
    link_time: bool,
    #[pyo3(default)]
    film: bool,
    #[pyo3(default)]
    latencies: bool,
    #[pyo3(default)]
    windows: Option<u64>,
    threads: usize,
    #[pyo3(default)]
    state: Option<Bound<'py, PyBytes>>,
    #[pyo3(default)]
    ranks: Option<Bound<'py, PyAny>>,
}

/// A simulation that Python holds.
#[pyclass(module = "flitloom._core")]
pub struct Simulation {
    held: Held,
    is_restored: bool,
    /// Of pipelined routers, what users call their parts.
    terms: Option<Terms>,
}

impl Simulation {
    fn counted<'py>(
        &mut self,
        py: Python<'py>,
        stop_at: Option<u64>,
        records: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = Options { stop_at, ..Options::default() };
        let held = &mut self.held;
        let outcome = each!(held, simulation => simulation.totals_at_stop(&options))
            .map_err(|error| simulation_error(py, error))?;
        let result = totals(py, &outcome)?;
        result.set_item("engine", self.engine())?;
        result.set_item("parts", each!(&self.held, simulation => simulation.parts()))?;
        let pipelined = self.pipeline();
        if let Some((_, pipeline)) = pipelined {
            Terms::add_facts(&result, pipeline)?;
        }
        if !records {
            return Ok(result);
        }
        let all = self.links();
        if let Some(all) = &all {
            let links = match pipelined {
                Some((terms, pipeline)) => &terms.links(pipeline, all),
                None => all,
            };
            result.set_item("links", link_table(py, links)?)?;
        }
        let Held::Recording(simulation) = &self.held else { return Ok(result) };
        let (packets, (time, _)) = &simulation.probe().1;
        if let Some(packets) = packets {
            result.set_item("packets", packet_table(py, &packets.clone().into_sorted())?)?;
        }
        match (time, pipelined) {
            (Some(time), Some((terms, pipeline))) => {
                // A cycle in which flits leave for nodes only is one, too.
                let cycles = all.map_or(0, |links| links.end()) as usize;
                terms.add_link_time(&result, pipeline, time, cycles)?;
            }
            (Some(time), None) => add_link_time(&result, time)?,
            (None, _) => {}
        }
        Ok(result)
    }

    /// Of pipelined routers, what users call their parts, and what only they know.
    fn pipeline(&self) -> Option<(&Terms, &Pipeline)> {
        self.terms.as_ref().zip(each!(&self.held, simulation => simulation.pipeline()))
    }

    /// The use of links, by the engine or a probe.
    fn links(&self) -> Option<LinkOccupation> {
        match &self.held {
            Held::Plain(simulation) => simulation.links(),
            Held::Recording(simulation) => simulation.probe().0.clone().or_else(|| simulation.links()),
        }
    }
}

#[pymethods]
impl Simulation {
    /// A run of an experiment at its beginning.
    #[new]
    fn new(
        py: Python<'_>,
        network: &Routers,
        workload: &Workload,
        experiment: ExperimentSpec,
        settings: Settings<'_>,
    ) -> PyResult<Self> {
        let ExperimentSpec { stop_at, seed, throttle } = experiment;
        let Settings { links, packets, link_time, film, latencies, windows, threads, state, ranks } =
            settings;
        let throttle = throttle.parse().map_err(|error| spec_error(py, "throttle", error))?;
        let rank = ranks.map(Ranks::rank).transpose()?;
        let engine = state.and_then(|state| EngineKind::of_saved(state.as_bytes()));
        if rank.is_some() && engine == Some(EngineKind::Planes) {
            let text = "it was begun on the planes, and ranks run the general engine; go on in one process";
            return Err(spec_error(py, "engine", text));
        }
        let shape = network.inner.fabric().shape();
        let count = shape.nodes() * shape.directions();
        let options = Options { stop_at, seed, throttle, ..Options::default() };
        let held = interruptible(
            py,
            |_| {
                let (network, workload) = (&network.inner, &workload.inner);
                Ok(if packets || link_time || film {
                    let links = links.then(|| LinkOccupation::new(count));
                    let moved = (link_time.then(|| LinkTime::new(count)), film.then(|| Film::new(count)));
                    let records = (packets.then(PacketRecords::default), moved);
                    let observed =
                        engine::Simulation::observed(network, workload, &options, (links, records))?;
                    Held::Recording(Box::new(observed))
                } else {
                    let setup = Setup {
                        engine,
                        links,
                        latencies,
                        windows,
                        parts: threads,
                        options,
                        ..Setup::default()
                    };
                    Held::Plain(Box::new(match rank {
                        None => engine::Simulation::new(network, workload, &setup)?,
                        Some(rank) => engine::Simulation::on_rank(network, workload, &setup, rank)?,
                    }))
                })
            },
            |_| Ok(()),
        )?
        .map_err(|error| simulation_error(py, error))?;
        Ok(Self { held, is_restored: false, terms: None })
    }

    /// A run on pipelined routers at its beginning; `names` tells the name of a queue in a deadlock.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the parts of a run")]
    fn pipelined(
        py: Python<'_>,
        network: &Network,
        routers: Option<&Routers>,
        workload: &Workload,
        router: Router,
        settings: pipelined_simulation::Settings<'_>,
        tables: Option<Tables<'_>>,
        names: Py<PyAny>,
    ) -> PyResult<Self> {
        let (held, terms) = pipelined_simulation::begin(
            py,
            (network, routers),
            &workload.inner,
            &router,
            settings,
            tables,
            names,
        )?;
        Ok(Self { held, is_restored: false, terms: Some(terms) })
    }

    /// Runs until everything is delivered, or to a cycle; fails at `cycle_limit`. False if it pauses
    /// because so many seconds are over.
    fn run(
        &mut self,
        py: Python<'_>,
        stop_at: Option<u64>,
        cycle_limit: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<bool> {
        let held = &mut self.held;
        let deadline = deadline(seconds);
        let (result, failure) = guarded(
            py,
            self.is_restored,
            |interrupt| {
                let options =
                    Options { stop_at, cycle_limit, interrupt: Some(interrupt), ..Options::default() };
                each!(held, simulation => simulation.run(&options))
            },
            |_| match deadline {
                Some(deadline) if Instant::now() >= deadline => Err(PyStopIteration::new_err(())),
                _ => Ok(()),
            },
        )?;
        match (result, failure) {
            (_, Some(failure)) if !failure.is_instance_of::<PyStopIteration>(py) => Err(failure),
            // Without a reason of its own, a rank pauses since another one does.
            (Err(SimulationError::Interrupted(_)), _) => Ok(false),
            (result, _) => result.map(|()| true).map_err(|error| match &self.terms {
                Some(terms) => terms.error(py, error),
                None => simulation_error(py, error),
            }),
        }
    }

    /// The state in bytes, from which `restore` takes it up in a simulation made of the same things.
    fn save<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let held = &mut self.held;
        let bytes = py.detach(|| each!(held, simulation => simulation.save()));
        PyBytes::new(py, &bytes)
    }

    /// Takes a saved state up.
    fn restore(&mut self, py: Python<'_>, state: Vec<u8>) -> PyResult<()> {
        self.is_restored = true;
        let held = &mut self.held;
        py.detach(|| each!(held, simulation => simulation.restore(state)))
            .map_err(|error| spec_error(py, "state", error))
    }

    /// Packets in all, if they are known in advance.
    #[getter]
    fn packets(&self) -> Option<u64> {
        each!(&self.held, simulation => simulation.workload()).count()
    }

    /// Packets delivered so far.
    #[getter]
    fn delivered(&self) -> u64 {
        each!(&self.held, simulation => simulation.delivered())
    }

    /// The cycle that comes next.
    #[getter]
    fn now(&self) -> u64 {
        each!(&self.held, simulation => simulation.now())
    }

    /// Whether everything is delivered.
    #[getter]
    fn finished(&self) -> bool {
        each!(&self.held, simulation => simulation.is_finished())
    }

    /// The engine it runs on.
    #[getter]
    fn engine(&self) -> &'static str {
        each!(&self.held, simulation => simulation.engine()).name()
    }

    /// The totals so far, if asked for with the records under `links`, `packets` and `link_time`; those
    /// of a run that was to stop at a cycle count all cycles before it.
    fn totals<'py>(
        &mut self,
        py: Python<'py>,
        stop_at: Option<u64>,
        records: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        sound(py, self.is_restored, || self.counted(py, stop_at, records))
    }

    /// What happened in the windows that have ended, as columns; and over the measured stretch ages,
    /// network ages and packets by source.
    fn windows<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let held = &mut self.held;
        sound(py, self.is_restored, || {
            let windows = each!(held, simulation => simulation.windows());
            windows.map(|windows| window_table(py, windows)).transpose()
        })
    }

    /// Measures a stretch of cycles, the end not included, in place of what was measured before.
    fn measure(&mut self, first: u64, end: u64) {
        if let Some(windows) = each!(&mut self.held, simulation => simulation.windows()) {
            windows.measure(first, end);
        }
    }

    /// Flits in every input buffer, by node, direction in which they came and channel.
    fn occupancy<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u16>> {
        let queued = each!(&self.held, simulation => simulation.occupancy());
        match self.pipeline() {
            Some((terms, pipeline)) => terms.occupancy(pipeline, &queued),
            None => queued,
        }
        .into_pyarray(py)
    }

    /// All that moved: `link_time`, and `packets` and `hops` as columns; `None` if it was not kept.
    fn film<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Held::Recording(simulation) = &self.held else { return Ok(None) };
        let Some(film) = &simulation.probe().1.1.1 else { return Ok(None) };
        let result = PyDict::new(py);
        match self.pipeline() {
            Some((terms, pipeline)) => terms.add_film(&result, pipeline, film)?,
            None => {
                add_moved(&result, film, |link| link.into())?;
                add_link_time(&result, &film.link_time)?;
            }
        }
        Ok(Some(result))
    }

    /// The same simulation once more, to be run on by itself.
    fn copy(&self, py: Python<'_>) -> Self {
        let terms = self.terms.as_ref().map(|terms| terms.copy(py));
        Self { held: self.held.clone(), is_restored: self.is_restored, terms }
    }
}

pub fn link_table<'py>(py: Python<'py>, links: &LinkOccupation) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let used = |cycle: u64, flits: u64| if flits == 0 { -1 } else { cycle as i64 };
    let cycles = |cycles: &[u64]| {
        let values = cycles.iter().zip(&links.flits).map(|(&cycle, &flits)| used(cycle, flits));
        PyArray1::from_iter(py, values)
    };
    table.set_item("effective_thickness", links.effective_thickness())?;
    table.set_item("span", links.span())?;
    table.set_item("first", cycles(&links.first))?;
    table.set_item("last", cycles(&links.last))?;
    table.set_item("flits", column(py, links.flits.iter().map(|&flits| flits as i64)))?;
    Ok(table)
}

/// The cells of a link-time record that misses nothing.
pub fn link_cells<'a>(py: Python<'_>, record: &'a LinkTime) -> PyResult<&'a [u8]> {
    if record.is_full() {
        let most = LinkTime::MAX_CELLS;
        let text = format!("the record has more than {most} cells; stop earlier (stop_at)");
        return Err(spec_error(py, "link_time", text));
    }
    Ok(record.cells())
}

fn add_link_time(result: &Bound<'_, PyDict>, record: &LinkTime) -> PyResult<()> {
    let cells = link_cells(result.py(), record)?.to_vec();
    result.set_item("link_time", (cells.into_pyarray(result.py()), record.links()))
}

/// A bound, and what it rests on: in words, as nodes, or as a link.
type LowerBound = (u64, String, Vec<NodeId>, Option<LinkId>);

/// A duration no arbitration can beat on the same routes, and what it rests on; `None` for a load.
#[pyfunction]
pub fn lower_bound(network: &Routers, workload: &Workload) -> Option<LowerBound> {
    let traffic::Workload::Packets(packets) = &workload.inner else { return None };
    let bound = engine::lower_bound(&network.inner, packets);
    let fabric = network.inner.fabric();
    let at = |node| fabric.shape().describe(node);
    let (words, nodes, link) = match bound.bottleneck {
        None => ("no packets".to_owned(), vec![], None),
        Some(Bottleneck::Path { source, destination }) => {
            (format!("route from {} to {}", at(source), at(destination)), vec![source, destination], None)
        }
        Some(Bottleneck::Link(link)) => {
            let (node, direction) = fabric.link_ends(link);
            (format!("link {}{}", at(node), fabric.shape().direction_name(direction)), vec![], Some(link))
        }
        Some(Bottleneck::Injection(node)) => (format!("injection at {}", at(node)), vec![node], None),
        Some(Bottleneck::Ejection(node)) => (format!("ejection at {}", at(node)), vec![node], None),
    };
    Some((bound.duration, words, nodes, link))
}

/// The totals of an outcome by name.
pub fn totals<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let totals = PyDict::new(py);
    totals.set_item("duration", outcome.duration)?;
    totals.set_item("cycles", outcome.cycles)?;
    totals.set_item("packets_injected", outcome.packets_injected)?;
    totals.set_item("packets_delivered", outcome.packets_delivered)?;
    totals.set_item("flits_delivered", outcome.flits_delivered)?;
    totals.set_item("flit_hops", outcome.flit_hops)?;
    totals.set_item("latency_sum", outcome.latency_sum)?;
    totals.set_item("fingerprint", outcome.fingerprint)?;
    if let Some(makespan) = outcome.makespan {
        totals.set_item("makespan", makespan)?;
    }
    Ok(totals)
}

pub fn window_table<'py>(py: Python<'py>, windows: &Windows) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let add = |name: &str, get: fn(&Window) -> u64| {
        table.set_item(name, column(py, windows.closed().iter().map(|window| get(window) as i64)))
    };
    add("generated_flits", |window| window.generated_flits)?;
    add("injected_packets", |window| window.injected_packets)?;
    add("ejected_flits", |window| window.ejected_flits)?;
    add("delivered_packets", |window| window.delivered_packets)?;
    add("age_sum", |window| window.age_sum)?;
    add("network_age_sum", |window| window.network_age_sum)?;
    add("age_max", |window| window.age_max)?;
    add("network_age_max", |window| window.network_age_max)?;
    add("in_flight", |window| window.in_flight)?;
    let by_source = windows.delivered_by_source().iter().map(|&packets| packets as i64);
    table.set_item("delivered_by_source", column(py, by_source))?;
    for (name, ages) in [("age", windows.ages()), ("network_age", windows.network_ages())] {
        let least = column(py, ages.classes().map(|(least, _)| least as i64));
        let counts = column(py, ages.classes().map(|(_, count)| count as i64));
        table.set_item(format!("{name}_histogram"), (least, counts))?;
    }
    let queues = windows.queues();
    table.set_item("slot_cycles", queues.cycles())?;
    table.set_item("source_queues", queues.queues())?;
    table.set_item("generated_by_source", counts(py, queues.generated()))?;
    table.set_item("sent_by_source", counts(py, queues.sent()))?;
    table.set_item("busy_by_source", counts(py, &windows.busy()))?;
    table.set_item("generated_for", counts(py, queues.generated_for()))?;
    table.set_item("stretch", windows.stretch())?;
    table.set_item("of_stretch", windows.of_stretch())?;
    Ok(table)
}

/// What counted source queues say: the verdict, the utilisation's logarithm, its error, and the busiest queue. Counts
/// are by slot and queue, or by slot and node, slot by slot.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "an array per quantity")]
pub fn source_queue_verdict(
    slots: usize,
    slot_cycles: u64,
    length: f64,
    busy: PyReadonlyArray1<'_, u64>,
    sent: PyReadonlyArray1<'_, u64>,
    generated: PyReadonlyArray1<'_, u64>,
    generated_for: PyReadonlyArray1<'_, u64>,
    rate: Option<f64>,
) -> PyResult<(&'static str, f64, f64, usize)> {
    let counts = QueueCounts {
        slots,
        slot_cycles,
        length,
        busy: busy.as_slice()?,
        sent: sent.as_slice()?,
        generated: generated.as_slice()?,
        generated_for: generated_for.as_slice()?,
        rate,
    };
    let found = utilisation(&counts);
    Ok((found.verdict.name(), found.log, found.error, found.worst))
}

pub fn packet_table<'py>(py: Python<'py>, records: &[PacketRecord]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let add = |name: &str, get: fn(&PacketRecord) -> u64| {
        table.set_item(name, column(py, records.iter().map(|record| get(record) as i64)))
    };
    add("source", |record| record.source.into())?;
    add("destination", |record| record.destination.into())?;
    add("number", |record| record.number)?;
    add("slice", |record| record.slice.into())?;
    add("generated", |record| record.generated)?;
    add("injected", |record| record.injected)?;
    add("head_arrival", |record| record.head_arrival)?;
    add("tail_arrival", |record| record.tail_arrival)?;
    add("hops", |record| record.hops.into())?;
    Ok(table)
}

/// Counts as an array.
fn counts<'py, T: Copy + Into<u64>>(py: Python<'py>, counts: &[T]) -> Bound<'py, PyArray1<i64>> {
    column(py, counts.iter().map(|&count| count.into() as i64))
}

/// Whole numbers as an array.
pub fn column(py: Python<'_>, values: impl Iterator<Item = i64>) -> Bound<'_, PyArray1<i64>> {
    PyArray1::from_iter(py, values)
}

/// A throttle's text with all of its parameters.
#[pyfunction]
pub fn throttle_text(py: Python<'_>, text: &str) -> PyResult<String> {
    let throttle: Throttle = text.parse().map_err(|error| spec_error(py, "throttle", error))?;
    Ok(throttle.to_string())
}
