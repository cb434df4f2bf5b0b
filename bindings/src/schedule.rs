//! Schedules: problems, searches, plans checked, and plans as workloads.

use crate::{
    errors::spec_error,
    lists::named,
    network::Routers,
    running::{interruptible, keeping, time_is_over, was_interrupted},
    traffic::Workload,
};
use flitloom_core::{
    engine,
    fabric::{Direction, Fabric},
    schedule::{
        self as planning, Budget, Demand, Dependencies, Incumbent, MethodName, OctantPair, Placement,
        PlannedPacket, Problem, RouteChoice, Share, Slicing, Task,
    },
    traffic,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::sync::{Mutex, atomic::Ordering};

/// The routes of packets: where each one ends in the list of all hops, and the directions of these.
pub type Routes<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>);

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

/// The choice of routes with a name; `None` for all minimal routes.
fn route_choice(py: Python<'_>, name: &str) -> PyResult<Option<RouteChoice>> {
    if name == "staircase" { Ok(None) } else { named(py, "routes", &RouteChoice::NAMES, name).map(Some) }
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

/// What all nodes of 8x8x8 send in a pair of opposite octants of an all-to-all, as it is stored; `None` if nothing
/// was found.
#[pyfunction]
pub fn octant_pair(
    py: Python<'_>,
    mixed: bool,
    cycles: u32,
    beams: u64,
    width: usize,
    seed: u64,
) -> PyResult<Option<String>> {
    let pair = if mixed { OctantPair::Mixed } else { OctantPair::Equal };
    interruptible(
        py,
        |interrupt| {
            let should_stop = |_| interrupt.load(Ordering::Relaxed);
            planning::octant_pair(
                pair,
                cycles,
                (beams, width),
                seed,
                &mut Budget::new(u64::MAX, &should_stop),
            )
        },
        |_| Ok(()),
    )
}

/// Messages to be scheduled on a network, checked once.
#[pyclass(frozen)]
pub struct ScheduleProblem {
    network: engine::Network,
    demands: Vec<Demand>,
    slicing: Slicing,
    plain: Problem,
    /// With cycles kept free behind packets.
    guarded: Option<Problem>,
}

#[pymethods]
impl ScheduleProblem {
    /// Rows of `messages` are source, destination, slice length and slices. With `phases`, the numbers of messages
    /// of each, a node waits for what it receives in earlier ones.
    #[new]
    #[pyo3(signature = (network, messages, routes, interval=None, free=false, guard=0, phases=None))]
    #[expect(clippy::too_many_arguments, reason = "what is to be scheduled")]
    fn new(
        py: Python<'_>,
        network: &Routers,
        messages: PyReadonlyArray2<'_, i64>,
        routes: &str,
        interval: Option<u32>,
        free: bool,
        guard: u32,
        phases: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let choice = route_choice(py, routes)?;
        let slicing = match interval {
            _ if free => Slicing::Free,
            Some(interval) => Slicing::Interval(interval),
            None => Slicing::OneInterval,
        };
        let demands = demands_of(&messages);
        let fabric = network.ringed(py, "schedules are")?.fabric();
        let make = |demands: &[Demand]| match choice {
            Some(choice) => Problem::new(fabric, demands, slicing, choice),
            None => Problem::over_any_minimal_route(fabric, demands),
        };
        let problem = |demands: &[Demand]| make(demands).map_err(|error| spec_error(py, "traffic", error));
        let mut plain = problem(&demands)?;
        let guarded = if guard > 0 { Some(problem(&guarded(&demands, slicing, guard))?) } else { None };
        if let Some(phases) = phases {
            plain = plain.in_phases(Dependencies::of_phases(&ends(&demands), &phases));
        }
        Ok(Self { network: network.inner.clone(), demands, slicing, plain, guarded })
    }

    /// A proven lower bound on the duration in cycles, the name of what proves it, and its argument.
    fn proof(&self, py: Python<'_>) -> (u32, &'static str, &'static str) {
        let proof = py.detach(|| planning::proof(self.fabric(), &self.plain));
        (proof.cycles, proof.bound.name(), proof.bound.argument())
    }

    /// The methods of an exact search, and their shares of the budget.
    fn exact(&self, py: Python<'_>) -> Vec<(&'static str, f64)> {
        let shares = py.detach(|| planning::exact(&Task::new(self.fabric(), self.searched(), 0)));
        shares.into_iter().map(|(method, share)| (method.name(), share)).collect()
    }

    /// The methods that can do anything for it.
    fn methods(&self, py: Python<'_>) -> Vec<&'static str> {
        let applies = |task: &Task| -> Vec<&'static str> {
            let all = MethodName::ALL.iter().filter(|method| method.applies(task));
            all.map(|method| method.name()).collect()
        };
        py.detach(|| applies(&Task::new(self.fabric(), self.searched(), 0)))
    }

    /// Searches for start cycles without conflicts with the given methods and their shares, or those of an
    /// exact search; `None` if none of them applies. Ends after `moves` placements or `seconds`, and
    /// after Ctrl-C with what it has.
    #[pyo3(signature = (methods, seed, moves, seconds=None, progress=None))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        methods: Option<Vec<(String, f64)>>,
        seed: u64,
        moves: u64,
        seconds: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (fabric, problem) = (self.fabric(), self.searched());
        let given = methods.map(|methods| shares_of(py, &methods)).transpose()?;
        if given.as_ref().is_none_or(|given| given.iter().any(|share| share.0 != MethodName::Greedy)) {
            planning::check_size(fabric, problem).map_err(|error| spec_error(py, "traffic", error))?;
        }
        let latest = Mutex::new(None);
        let (found, failure) = keeping(
            py,
            |interrupt| {
                let should_stop = time_is_over(interrupt, seconds);
                let task = Task::new(fabric, problem, seed);
                let shares = given.unwrap_or_else(|| planning::exact(&task));
                let shares: Vec<Share> = shares.into_iter().filter(|share| share.0.applies(&task)).collect();
                let mut told = |state: planning::Progress| {
                    if let Ok(mut slot) = latest.lock() {
                        let best = if state.best == u32::MAX { 0 } else { state.best };
                        *slot = Some((best, state.bound, state.target, state.unplaced));
                    }
                };
                let incumbent = Incumbent::new(&task, &mut told);
                let mut budget = Budget::new(moves, &should_stop);
                let mut found = planning::search(&task, &shares, incumbent, &mut budget)?;
                if self.guarded.is_some() {
                    found.bound = planning::proven_bound(fabric, &self.plain);
                }
                Some(found)
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
        let Some(found) = found else { return Ok(None) };
        let packets = found.packets(&self.demands, self.slicing, problem);
        let result = self.checked(py, &packets)?;
        result.set_item("bound", found.bound)?;
        result.set_item("moves", found.moves)?;
        result.set_item("stopped", found.stopped || interrupted)?;
        result.set_item("interrupted", interrupted)?;
        Ok(Some(result))
    }

    /// For one target: per job its length and, per route, its resources with offsets and the starts that no
    /// proof removes; `None` if the target is refuted.
    #[expect(clippy::type_complexity, reason = "a table per job")]
    fn candidates(
        &self,
        py: Python<'_>,
        target: u32,
    ) -> Option<Vec<(u32, Vec<(Vec<(u32, u32)>, Vec<u32>)>)>> {
        let starts = py.detach(|| planning::candidates(self.fabric(), &self.plain, target))?;
        let jobs = self.plain.jobs().iter().zip(starts).map(|(job, starts)| {
            let uses = job
                .routes
                .iter()
                .map(|route| route.uses.iter().map(|held| (held.resource, held.offset)).collect());
            (job.length, uses.zip(starts).collect())
        });
        Some(jobs.collect())
    }

    /// The packets of a schedule: one route, by its number, and one start per job.
    fn packets<'py>(&self, py: Python<'py>, placements: Vec<(u32, u32)>) -> PyResult<Bound<'py, PyDict>> {
        let known = self.plain.jobs().iter().zip(&placements);
        let fits = placements.len() == self.plain.jobs().len()
            && known.clone().all(|(job, &(route, _))| (route as usize) < job.routes.len());
        if !fits {
            return Err(spec_error(py, "placements", "need one of its routes for every job"));
        }
        let placements: Vec<Placement> =
            placements.into_iter().map(|(route, start)| Placement { route, start }).collect();
        let packets = planning::planned_packets(&self.demands, self.slicing, &self.plain, &placements);
        self.checked(py, &packets)
    }
}

impl ScheduleProblem {
    fn fabric(&self) -> &Fabric {
        self.network.fabric()
    }

    fn searched(&self) -> &Problem {
        self.guarded.as_ref().unwrap_or(&self.plain)
    }

    /// Verified packets, and their duration.
    fn checked<'py>(&self, py: Python<'py>, packets: &[PlannedPacket]) -> PyResult<Bound<'py, PyDict>> {
        let fabric = self.fabric();
        let duration = planning::verify(fabric, packets).map_err(|error| spec_error(py, "plan", error))?;
        let result = PyDict::new(py);
        result.set_item("duration", duration)?;
        put_packets(py, &result, fabric, packets)?;
        Ok(result)
    }
}

/// Sources and destinations.
pub fn ends(demands: &[Demand]) -> Vec<(u32, u32)> {
    demands.iter().map(|demand| (demand.source, demand.destination)).collect()
}

fn shares_of(py: Python<'_>, methods: &[(String, f64)]) -> PyResult<Vec<Share>> {
    let share = |(name, share): &(String, f64)| {
        let method = MethodName::from_name(name)
            .ok_or_else(|| spec_error(py, "method", format!("there is no method {name:?}")))?;
        Ok((method, *share))
    };
    methods.iter().map(share).collect()
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
    let mut ends: Vec<i64> = Vec::with_capacity(packets.len());
    let mut directions: Vec<u8> = Vec::new();
    for packet in packets {
        directions.extend(packet.path.iter().map(|&link| fabric.link_ends(link).1.index() as u8));
        ends.push(directions.len() as i64);
    }
    result.set_item("table", table)?;
    let routes = (PyArray1::from_vec(py, ends).into_any(), PyArray1::from_vec(py, directions).into_any());
    result.set_item("routes", PyTuple::new(py, [routes.0, routes.1])?)
}

pub fn planned(
    py: Python<'_>,
    network: &Routers,
    table: &PyReadonlyArray2<'_, i64>,
    (ends, directions): &Routes<'_>,
) -> PyResult<Vec<PlannedPacket>> {
    let fabric = network.ringed(py, "plans are")?.fabric();
    let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let (table, ends, directions) = (table.as_array(), ends.as_array(), directions.as_array());
    let mut begin = 0;
    let ranges = ends.iter().map(|&end| {
        let range = begin..usize::try_from(end).unwrap_or(usize::MAX);
        begin = range.end;
        range
    });
    let ranges: Vec<std::ops::Range<usize>> = ranges.collect();
    let ordered = ranges.iter().all(|range| range.start <= range.end) && begin <= directions.len();
    if !ordered || ranges.len() != table.nrows() {
        return Err(spec_error(py, "routes", "need one route per packet, one behind the other"));
    }
    let packets = table.rows().into_iter().zip(ranges).map(|(row, range)| {
        let mut here = number(row[0]);
        let mut path = Vec::with_capacity(range.len());
        for &index in directions.slice(numpy::ndarray::s![range]) {
            let direction = Direction::from_index(index.into());
            let inside =
                (here as usize) < fabric.shape().nodes() && usize::from(index) < fabric.shape().directions();
            // A route that leaves the network keeps its last link, which no check accepts.
            let link = if inside { fabric.link(here, direction) } else { u32::MAX };
            here = inside.then(|| fabric.shape().neighbour(here, direction)).flatten().unwrap_or(u32::MAX);
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
    });
    Ok(packets.collect())
}

/// Checks a plan and returns its duration; raises what is wrong with it.
#[pyfunction]
pub fn check_plan(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
) -> PyResult<u64> {
    let packets = planned(py, network, &table, &routes)?;
    planning::verify(network.inner.fabric(), &packets).map_err(|error| spec_error(py, "plan", error))
}

/// The first packet of a plan whose route is none of those that `routes` names.
#[pyfunction]
pub fn other_route(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    paths: Routes<'_>,
    routes: &str,
) -> PyResult<Option<usize>> {
    let choice = route_choice(py, routes)?;
    let packets = planned(py, network, &table, &paths)?;
    Ok(py.detach(|| planning::other_route(network.inner.fabric(), &packets, choice)))
}

/// A plan, or packets with routes, as traffic; `channels` are the first virtual channels of the
/// packets. Errors name `place`. Packets of a node go in the order of their starts.
#[pyfunction]
pub fn plan_workload(
    py: Python<'_>,
    network: &Routers,
    table: PyReadonlyArray2<'_, i64>,
    routes: Routes<'_>,
    channels: Vec<u8>,
    place: &str,
) -> PyResult<Workload> {
    let fabric = network.inner.fabric();
    let packets = planned(py, network, &table, &routes)?;
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
