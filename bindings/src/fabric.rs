//! Fabrics without coordinates: what they are, tables by destination, and the check of tables.

use crate::{errors::spec_error, network::Network, running::interruptible};
use flitloom_core::{
    fabric::{self, Factor, FatTree, Groups, Product, walk::Ways},
    flow::{
        bounds,
        demands::{self, Pairs},
        proof::CutBound,
    },
    routes::{
        by_destination::{
            self, Before, Beside, BesideVerdict, DimensionOrder, DumpError, DumpReader, Forwarding,
            ForwardingRequest, LaneRule, LevelReader, MAX_LANES, Mode, Rising, SERVICE_LEVELS, ShiftLoads,
            SurviveRequest,
        },
        methods::{self, Method},
    },
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyDict},
};
use std::collections::HashMap;

pub fn ends(cables: &PyReadonlyArray2<'_, u32>) -> Vec<(u32, u32)> {
    cables.as_array().rows().into_iter().map(|row| (row[0], row[1])).collect()
}

/// Coordinates of switches without any: `None` where the fabric is no torus or mesh, or nobody can be sure.
#[pyfunction]
pub fn recognise<'py>(
    py: Python<'py>,
    switches: usize,
    cables: PyReadonlyArray2<'py, u32>,
    sizes: Option<Vec<u32>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let cables = ends(&cables);
    let Some(found) = py.detach(|| fabric::recognise(switches, &cables, sizes.as_deref())) else {
        return Ok(None);
    };
    let grid = &found.grid;
    let facts = PyDict::new(py);
    facts.set_item("sizes", grid.sizes())?;
    facts.set_item(
        "wraps",
        (0..grid.dimensions()).map(|dimension| grid.wraps(dimension)).collect::<Vec<_>>(),
    )?;
    facts.set_item("twisted", !grid.lattice().is_plain())?;
    let closed: Vec<Vec<i32>> = (0..grid.dimensions())
        .filter_map(|dimension| grid.lattice().row(dimension))
        .map(<[i32]>::to_vec)
        .collect();
    facts.set_item("closed", closed)?;
    let coordinates: Vec<Vec<u32>> =
        found.positions.iter().map(|&position| grid.coordinates(position)).collect();
    facts.set_item("coordinates", coordinates)?;
    let missing: Vec<Vec<u32>> =
        found.missing_switches.iter().map(|&position| grid.coordinates(position)).collect();
    facts.set_item("missing_switches", missing)?;
    facts.set_item("missing_cables", found.missing_cables)?;
    facts.set_item("misfits", found.misfits)?;
    facts.set_item("swaps", found.swaps.iter().map(|swap| swap.to_vec()).collect::<Vec<_>>())?;
    Ok(Some(facts))
}

/// Level of every switch of a fat tree, and its switches with hosts in order; `None` for other fabrics.
#[pyfunction]
pub fn recognise_fat_tree(py: Python<'_>, network: &Network) -> PyResult<Option<(Vec<u16>, Vec<u32>)>> {
    let graph = network.switches(py)?;
    Ok(py.detach(|| FatTree::of(graph)).map(|tree| (tree.levels, tree.order)))
}

/// The group of every switch of a dragonfly; `None` for other fabrics.
#[pyfunction]
pub fn recognise_groups(py: Python<'_>, network: &Network) -> PyResult<Option<Vec<u32>>> {
    let graph = network.switches(py)?;
    Ok(py.detach(|| Groups::of(graph)).map(|groups| groups.of))
}

/// Factors, coordinates and missing parts of a product of full meshes, rings and lines; `None` for other fabrics.
#[pyfunction]
pub fn recognise_product<'py>(py: Python<'py>, network: &Network) -> PyResult<Option<Bound<'py, PyDict>>> {
    let graph = network.switches(py)?;
    let Some(found) = py.detach(|| Product::of(graph)) else { return Ok(None) };
    let told = |factor: &Factor| match *factor {
        Factor::Full(size) => ("full", size),
        Factor::Ring(size) => ("ring", size),
        Factor::Line(size) => ("line", size),
        Factor::Circulant(size, _) => ("circulant", size),
    };
    let factors: Vec<(&str, u32)> = found.factors.iter().map(told).collect();
    let facts = PyDict::new(py);
    facts.set_item("factors", factors)?;
    facts.set_item("coordinates", found.coordinates)?;
    facts.set_item("missing_switches", found.missing_switches)?;
    facts.set_item("missing_cables", found.missing_cables)?;
    Ok(Some(facts))
}

/// The entries of an array, row by row.
pub fn entries<T: numpy::Element + Copy>(array: &PyReadonlyArray2<'_, T>) -> Vec<T> {
    match array.as_slice() {
        Ok(entries) => entries.to_vec(),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

/// The lower bound on the largest load, and the pairs of hosts that no way joins.
#[pyfunction]
pub fn fabric_bound(py: Python<'_>, network: &Network) -> PyResult<(u64, u64)> {
    let graph = network.switches(py)?;
    Ok(py.detach(|| (bounds::bound(graph, network.inner.placed()).value, graph.pairs_apart())))
}

/// Sums of the lengths of cables, 1 each unless given, on the shortest ways between every two switches; -1 where there
/// is no way.
#[pyfunction]
#[pyo3(signature = (network, lengths=None))]
pub fn fabric_distances<'py>(
    py: Python<'py>,
    network: &Network,
    lengths: Option<Vec<u32>>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let graph = network.switches(py)?;
    let lengths = lengths.unwrap_or_else(|| vec![1; graph.channels() / 2]);
    if 2 * lengths.len() != graph.channels() {
        return Err(PyValueError::new_err("a length per cable is needed"));
    }
    let rows: Vec<Vec<i64>> = py.detach(|| {
        let mut ways = Ways::<i64>::new(graph.switches());
        let step =
            |&channel: &u32| (channel, graph.ends(channel).1, i64::from(lengths[channel as usize / 2]));
        (0..graph.switches() as u32)
            .map(|switch| {
                ways.find(switch, |here| graph.outgoing(here).iter().map(step), |_, _| true);
                ways.cost.iter().map(|&cost| if cost == i64::MAX { -1 } else { cost }).collect()
            })
            .collect()
    });
    PyArray2::from_vec2(py, &rows).map_err(Into::into)
}

/// Pairs that count by destination and switch, and the hosts by switch among which each counts once.
type Counted<'py> = (PyReadonlyArray2<'py, u32>, Option<Vec<u32>>);

fn counted((pairs, hosts): Counted<'_>) -> Pairs {
    Pairs { pairs: entries(&pairs), hosts }
}

/// Balanced tables by destination; further ones for the destinations of `extra` stand behind those of `roots`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a request")]
pub fn forward<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    old: Option<PyReadonlyArray2<'py, u32>>,
    demand: Option<Counted<'py>>,
    extra: Vec<u32>,
    mode: Option<&str>,
    lanes: usize,
    tries: u64,
    slack: f64,
    reversible: bool,
    method: Option<&str>,
    tree: Option<Vec<u32>>,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = network.switches(py)?;
    let method = method.and_then(|name| {
        Method::by_destination().into_iter().map(|method| method.0).find(|&known| known == name)
    });
    let mode = match mode {
        None => None,
        Some("portable") => Some(Mode::Portable),
        Some("sl2vl") => Some(Mode::Tables),
        Some(other) => {
            return Err(spec_error(py, "mode", format!("{other:?} is unknown; write portable or sl2vl")));
        }
    };
    let old: Option<Vec<u32>> = old.map(|old| entries(&old));
    let demand = demand.map(counted);
    let (made, shifts) = py.detach(|| {
        let order = DimensionOrder::of(&network.inner);
        let made = by_destination::forward(
            graph,
            order.as_ref(),
            roots,
            old.as_deref(),
            demand.as_ref(),
            ForwardingRequest { method, mode, lanes, tries, slack, reversible, tree: tree.as_deref() },
        );
        let tree = if order.is_none() { FatTree::of(graph) } else { None };
        let shifts = tree.map(|tree| ShiftLoads::of(graph, &tree, &made.table));
        if extra.is_empty() {
            return (made, shifts);
        }
        (by_destination::extend(graph, order.as_ref(), made, &extra, (lanes, reversible), tries), shifts)
    });
    let switches = graph.switches();
    let facts = PyDict::new(py);
    let matrix = |rows: usize| [rows, switches];
    let rows = made.table.roots.len();
    facts.set_item("next", PyArray1::from_vec(py, made.table.next).reshape(matrix(rows))?)?;
    let (start, entries) = made.lanes.tables();
    facts.set_item("start", PyArray1::from_vec(py, start.iter().map(|&start| start as u64).collect()))?;
    facts.set_item(
        "entries",
        PyArray2::from_vec2(py, &entries.iter().map(|entry| entry.to_vec()).collect::<Vec<_>>())?,
    )?;
    let name = |mode| match mode {
        Mode::Portable => "portable",
        Mode::Tables => "sl2vl",
        Mode::Rising => "rising",
    };
    facts.set_item("mode", name(made.lanes.mode))?;
    let rising = (made.lanes.mode == Mode::Rising).then_some(made.lanes.rising);
    facts.set_item("rising", rising.map(|switches| PyArray1::from_vec(py, switches)))?;
    let other = made.other.map(|(mode, load)| (name(mode), load));
    facts.set_item("other", other.into_iter().collect::<HashMap<_, _>>())?;
    facts.set_item("lanes", made.lanes.lanes)?;
    facts.set_item("levels", PyArray1::from_vec(py, made.lanes.levels).reshape(matrix(rows))?)?;
    facts.set_item("bound", bound_facts(py, &made.bound)?)?;
    facts.set_item("balanced", made.balanced)?;
    facts.set_item("short_of_lanes", made.short_of_lanes)?;
    facts.set_item("method", made.method)?;
    facts.set_item("shifts", shifts.map(|found| (found.mean, found.worst, found.shifts)))?;
    Ok(facts)
}

/// Channels by destination and switch, and service levels by destination and sender.
pub(crate) type Laid<'py> = (PyReadonlyArray2<'py, u32>, PyReadonlyArray2<'py, u8>);

/// Copies of tables, which threads may read.
pub(crate) fn copied((next, levels): &Laid<'_>) -> (Vec<u32>, Vec<u8>) {
    (entries(next), entries(levels))
}

/// Tables that are loaded, and what they have for destinations that are gone.
pub(crate) struct Loaded {
    tables: (Vec<u32>, Vec<u8>),
    lost: (Vec<u32>, Vec<u8>),
}

impl Loaded {
    pub(crate) fn new(tables: &Laid<'_>, lost: &Laid<'_>) -> Self {
        Self { tables: copied(tables), lost: copied(lost) }
    }

    pub(crate) fn before(&self) -> Before<'_> {
        let ((next, levels), (lost_next, lost_levels)) = (&self.tables, &self.lost);
        Before { next, levels, lost_next, lost_levels }
    }
}

/// Repaired tables with constant lanes, of which no mixture with the old ones can deadlock; `None` if there
/// were none.
///
/// `old` and `lost` are entries and service levels by destination and switch, `lost` for destinations that
/// are gone. With `bounded` comes a bound, tightened where the load is more than `slack` above it.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a request")]
pub fn repair_forwarding<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    old: Laid<'py>,
    lost: Laid<'py>,
    demand: Option<Counted<'py>>,
    lanes: usize,
    tries: u64,
    slack: f64,
    bounded: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let graph = network.switches(py)?;
    let loaded = Loaded::new(&old, &lost);
    let demand = demand.map(counted);
    let made = py.detach(|| {
        let (order, before) = (DimensionOrder::of(&network.inner), loaded.before());
        let request = ForwardingRequest { lanes, tries, slack, ..ForwardingRequest::default() };
        let made = by_destination::repair(graph, order.as_ref(), roots, before, demand.as_ref(), request)?;
        let load = made.table.loads(graph).into_iter().max().unwrap_or(0);
        let roots = &made.table.roots;
        let (placed, near) = (network.inner.placed(), (load, slack));
        let bound = bounded.then(|| demands::near_bound(graph, placed, roots, demand.as_ref(), near));
        Some((made, bound))
    });
    let Some((made, bound)) = made else { return Ok(None) };
    let shape = [made.table.roots.len(), graph.switches()];
    let facts = PyDict::new(py);
    facts.set_item("next", PyArray1::from_vec(py, made.table.next).reshape(shape)?)?;
    facts.set_item("levels", PyArray1::from_vec(py, made.levels).reshape(shape)?)?;
    facts.set_item("rounds", made.rounds)?;
    facts.set_item("last", made.last)?;
    facts.set_item("both_ways", made.both_ways)?;
    facts.set_item("bound", bound.map(|bound| bound_facts(py, &bound)).transpose()?)?;
    Ok(Some(facts))
}

/// Entries and levels of tables that survive the loss of cables; `None` if none were found.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a request")]
pub fn survive_forwarding<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    following: PyReadonlyArray2<'py, u32>,
    demand: Option<Counted<'py>>,
    lanes: usize,
    load: u64,
    seed: u64,
    looks: u64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let graph = network.switches(py)?;
    let mut table = Forwarding::new(graph.switches(), roots, entries(&following));
    if let Some(demand) = demand {
        table = table.with_demand(counted(demand).pairs);
    }
    let request = SurviveRequest { lanes, load, seed, looks };
    let search = |interrupt: &_| by_destination::survive(graph, &table, request, interrupt);
    let Some(found) = interruptible(py, search, |_| Ok(()))? else { return Ok(None) };
    let shape = [found.table.roots.len(), graph.switches()];
    let facts = PyDict::new(py);
    facts.set_item("next", PyArray1::from_vec(py, found.table.next).reshape(shape)?)?;
    facts.set_item("levels", PyArray1::from_vec(py, found.levels).reshape(shape)?)?;
    Ok(Some(facts))
}

fn bound_facts<'py>(py: Python<'py>, bound: &CutBound) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("value", bound.value)?;
    facts.set_item("pairs", bound.pairs)?;
    facts.set_item("channels", bound.channels)?;
    facts.set_item("side", &bound.side)?;
    facts.set_item("prices", PyArray1::from_vec(py, bound.prices.clone()))?;
    facts.set_item("proof", &bound.proof)?;
    Ok(facts)
}

/// Checks tables by destination: deadlock, reach and loads.
///
/// `owners` has the host of every destination, `levels` a row per destination and a column per host; `tables` is the start of every switch's table
/// and its entries (a row per port in and out, 16 levels); `rising` says by switch whether the lane rises there.
/// Without both the lane is `level mod lanes`. Whoever has the
/// bound for these loads leaves it out (`bounded`); `others` are what else is judged.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a subnet")]
pub fn check_forwarding<'py>(
    py: Python<'py>,
    network: &Network,
    roots: Vec<u32>,
    owners: Vec<u32>,
    following: PyReadonlyArray2<'py, u32>,
    levels: Option<PyReadonlyArray2<'py, u8>>,
    tables: Option<LaneTables<'py>>,
    rising: Option<Vec<bool>>,
    lanes: u8,
    demand: Option<Counted<'py>>,
    bounded: bool,
    others: Option<OtherTraffic>,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = network.switches(py)?;
    let levels: Option<Vec<u8>> = levels.map(|levels| entries(&levels));
    let rule = lane_rule(tables, rising, lanes);
    let next: Vec<u32> = entries(&following);
    let demand = demand.map(counted);
    let (verdict, bound, shortest, beside) = py.detach(|| {
        let mut table = Forwarding::new(graph.switches(), roots, next).with_owners(owners.clone());
        if let Some(demand) = &demand {
            table = table.with_demand(demand.pairs.clone());
        }
        let verdict = by_destination::check(graph, &table, levels.as_deref(), &rule);
        let (placed, load) = (network.inner.placed(), verdict.uses.max_load());
        let bound = bounded.then(|| demands::bound_for(graph, placed, &table.roots, demand.as_ref(), load));
        // Nobody asks where nothing can deadlock.
        let shortest = !verdict.cycle().is_empty() && table.is_shortest(graph);
        let beside = others.filter(|_| verdict.cycle().is_empty()).map(|others| {
            let (managers, level, trees, multicast, roots, next) = others;
            let switches = Forwarding::new(graph.switches(), roots, next);
            let request = Beside {
                owners: &owners,
                managers: &managers,
                manager_level: level,
                switches: &switches,
                trees: &trees,
                multicast_level: multicast,
            };
            let pairs = &verdict.uses.waits;
            by_destination::beside(graph, &table, levels.as_deref(), &rule, pairs, request)
        });
        (verdict, bound, shortest, beside)
    });
    let facts = PyDict::new(py);
    let cycle = verdict.cycle().iter().map(|waiting| (waiting.link, waiting.channel));
    facts.set_item("cycle", cycle.collect::<Vec<_>>())?;
    facts.set_item("shortest", shortest)?;
    let pairs = verdict.problems().map(|problem| (problem.source_node, problem.destination));
    facts.set_item("unreachable", verdict.problem_count())?;
    facts.set_item("examples", pairs.collect::<Vec<_>>())?;
    facts.set_item("max_load", verdict.uses.max_load())?;
    facts.set_item("lanes", verdict.uses.lanes)?;
    facts.set_item("levels", verdict.uses.levels)?;
    facts.set_item("bound", bound.map(|bound| bound_facts(py, &bound)).transpose()?)?;
    facts.set_item("loads", PyArray1::from_vec(py, verdict.uses.loads))?;
    facts.set_item("beside", beside.map(|beside| beside_facts(py, &beside)).transpose()?)?;
    Ok(facts)
}

/// Managers and their service level, the channels of multicast trees and theirs; switches, and routes to these.
type OtherTraffic = (Vec<u32>, u8, Vec<Vec<u32>>, u8, Vec<u32>, Vec<u32>);

fn beside_facts<'py>(py: Python<'py>, found: &BesideVerdict) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    for (name, cycle) in
        [("both_ways", &found.both_ways), ("multicast", &found.multicast), ("managers", &found.managers)]
    {
        let cycle = cycle.iter().map(|waiting| (waiting.link, waiting.channel));
        facts.set_item(name, cycle.collect::<Vec<_>>())?;
    }
    facts.set_item("places", found.places.len())?;
    facts.set_item("unsafe_places", &found.unsafe_places)?;
    Ok(facts)
}

/// The channels of the multicast tree that OpenSM builds for a group of all hosts, by the ports where channels leave.
#[pyfunction]
pub fn multicast_tree(py: Python<'_>, network: &Network, ports: Vec<u8>) -> PyResult<Vec<u32>> {
    let graph = network.switches(py)?;
    Ok(py.detach(|| by_destination::multicast_tree(graph, &ports)))
}

/// Where lanes rise with the lanes there are, or an odd cycle.
type Colours = (Option<(Vec<bool>, usize)>, Vec<u32>);

/// By switch whether the lane rises there and the lanes that shortest ways between hosts take, or the switches of an odd
/// cycle, where the network is not two-coloured.
#[pyfunction]
pub fn rising_lanes(py: Python<'_>, network: &Network) -> PyResult<Colours> {
    let graph = network.switches(py)?;
    Ok(py.detach(|| {
        let roots: Vec<u32> =
            (0..graph.switches() as u32).filter(|&switch| graph.hosts(switch) > 0).collect();
        match methods::rising(graph, &roots) {
            Ok(Rising { switches, lanes }) => (Some((switches, lanes)), Vec::new()),
            Err(cycle) => (None, cycle),
        }
    }))
}

/// Start of every switch's table, and entries with a lane per service level.
pub type LaneTables<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray2<'py, u8>);

fn lane_rule(tables: Option<LaneTables<'_>>, rising: Option<Vec<bool>>, lanes: u8) -> LaneRule {
    if let Some(switches) = rising {
        return LaneRule::Rising { switches, lanes: lanes.clamp(1, MAX_LANES as u8) };
    }
    match tables {
        None => LaneRule::Identity(lanes.clamp(1, MAX_LANES as u8)),
        Some(tables) => {
            let (start, entries) = lane_entries(&tables);
            LaneRule::Tables { start, entries }
        }
    }
}

/// Where the table of every switch begins, and all entries.
pub fn lane_entries((start, entries): &LaneTables<'_>) -> (Vec<usize>, Vec<[u8; SERVICE_LEVELS]>) {
    let rows = entries.as_array();
    let rows = rows.rows().into_iter();
    (
        start.as_array().iter().map(|&start| start as usize).collect(),
        rows.map(|row| std::array::from_fn::<u8, SERVICE_LEVELS, _>(|level| row[level])).collect(),
    )
}

/// Hands the pieces of a text on, one after the other.
fn read_pieces(
    py: Python<'_>,
    pieces: &Bound<'_, PyAny>,
    mut read: impl FnMut(&[u8]) -> Result<(), DumpError> + Send,
) -> PyResult<()> {
    for piece in pieces.try_iter()? {
        let piece = piece?;
        let piece = piece.cast::<PyBytes>()?.as_bytes();
        py.detach(|| read(piece)).map_err(damaged)?;
    }
    Ok(())
}

fn damaged(error: DumpError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}

/// Out ports by switch and LID from the pieces of a dump of OpenSM, and the switches it leaves out.
#[pyfunction]
pub fn read_lfts<'py>(
    py: Python<'py>,
    pieces: Bound<'py, PyAny>,
    guids: Vec<u64>,
    strict: bool,
) -> PyResult<(Bound<'py, PyArray2<u8>>, Vec<u32>)> {
    let switches: HashMap<u64, u32> =
        guids.iter().enumerate().map(|(switch, &guid)| (guid, switch as u32)).collect();
    let mut reader = DumpReader::new(&switches, guids.len(), strict);
    read_pieces(py, &pieces, |piece| reader.read(piece))?;
    let table = reader.finish().map_err(damaged)?;
    Ok((PyArray1::from_vec(py, table.ports).reshape([guids.len(), table.lids])?, table.absent))
}

/// Service levels by destination and host from the pieces of a list of paths, pairs without one, and lines of
/// strangers.
#[pyfunction]
pub fn read_path_levels<'py>(
    py: Python<'py>,
    pieces: Bound<'py, PyAny>,
    sources: HashMap<u64, Vec<u32>>,
    lids: Vec<u16>,
    hosts: usize,
) -> PyResult<(Bound<'py, PyArray2<u8>>, u64, u64)> {
    let mut reader = LevelReader::new(&sources, &lids, hosts);
    read_pieces(py, &pieces, |piece| reader.read(piece))?;
    let table = reader.finish().map_err(damaged)?;
    let levels = PyArray1::from_vec(py, table.levels).reshape([lids.len(), hosts])?;
    Ok((levels, table.untold, table.strangers))
}
