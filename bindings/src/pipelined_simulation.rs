//! Runs of the pipelined router on flitloom's own networks: what they are made of, and what users call their parts.

use crate::{
    errors::{exception, simulation_error, spec_error},
    fabric::{LaneTables, entries, lane_entries},
    film::add_moved,
    lists::named,
    network::{Network, Routers},
    pipelined::options_of,
    ranks::Ranks,
    simulation::{Held, link_cells},
};
use flitloom_core::{
    booksim::OptionError,
    engine::{
        Options, Setup, Simulation, SimulationError,
        pipelined::{
            AllocatorKind, BlockedQueue, BufferPolicy, Config, ConfigError, Lanes, Pipeline, Place, Priority,
            Replies, Rules, Switched,
        },
    },
    fabric::{Direction, Graph},
    fault::Fault,
    probe::{Film, IDLE, LinkOccupation, LinkTime, NoProbe, PacketRecords},
    routing::ChannelRule,
    traffic::{self, PacketSource},
};
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::{prelude::*, types::PyDict};
use std::{collections::HashMap, sync::Arc};

/// Tables by destination of a network of switches.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Tables<'py> {
    network: PyRef<'py, Network>,
    following: PyReadonlyArray2<'py, u32>,
    rows: Vec<u32>,
    levels: Option<PyReadonlyArray2<'py, u8>>,
    tables: Option<LaneTables<'py>>,
    /// By switch whether the lane rises there.
    rising: Option<Vec<bool>>,
    lanes: u8,
    /// Of a torus or mesh that they lead through, by `node * directions + direction` the channel; any other number
    /// where there is none.
    grid: Option<Vec<u32>>,
}

/// Ports of links, as `node * directions + direction` or as channels of a graph; none where there is no link.
#[derive(Clone, Default)]
struct Ports {
    /// Router and output port of every link.
    outputs: Vec<Option<(u32, usize)>>,
    /// Of a grid, router and input port where flits come in that moved in a direction, by node and direction.
    inputs: Vec<Option<(u32, usize)>>,
}

impl Ports {
    fn of_grid(nodes: usize, directions: usize) -> Self {
        let all = || (0..nodes as u32).flat_map(|node| (0..directions).map(move |way| (node, way)));
        // Flits come in through the port that faces where they came from.
        let facing = |(node, way)| Some((node, Direction::from_index(way).opposite().index()));
        Self { outputs: all().map(Some).collect(), inputs: all().map(facing).collect() }
    }

    fn of_graph(graph: &Graph) -> Self {
        let channels = 0..graph.channels() as u32;
        let output = |channel| Some((graph.ends(channel).0, graph.place(channel)));
        Self { outputs: channels.map(output).collect(), ..Self::default() }
    }

    /// Of packets that find their way so, in the grid of tables if they lead through one.
    fn of(py: Python<'_>, network: &Network, ways: &Ways<'_>, of_grid: Option<&[u32]>) -> PyResult<Self> {
        let directions = || Ok::<_, PyErr>(network.grid(py)?.shape().directions());
        Ok(match (ways, of_grid, network.inner.switches()) {
            (Ways::AsDescribed(rules), _, Some(graph)) => Self::of_described(graph, rules),
            (Ways::InGrid(_) | Ways::AsDescribed(_), ..) => {
                Self::of_grid(network.inner.hosts(), directions()?)
            }
            (Ways::ByTables(graph, _), None, _) => Self::of_graph(graph),
            (Ways::ByTables(graph, _), Some(grid), _) => Self::of_tables_of_grid(graph, grid, directions()?),
        })
    }

    fn of_described(graph: &Graph, rules: &Rules) -> Self {
        Self { outputs: rules.outputs_of(graph), ..Self::default() }
    }

    fn of_tables_of_grid(graph: &Graph, channels: &[u32], directions: usize) -> Self {
        let mut ports = Self { outputs: vec![None; channels.len()], inputs: vec![None; channels.len()] };
        for (link, &channel) in channels.iter().enumerate() {
            if (channel as usize) < graph.channels() {
                let (from, to) = graph.ends(channel);
                ports.outputs[link] = Some((from, graph.place(channel)));
                let there = to as usize * directions + link % directions;
                ports.inputs[there] = Some((to, graph.place(channel ^ 1)));
            }
        }
        ports
    }
}

/// How packets find their way.
enum Ways<'a> {
    /// By tables, over a graph of switches.
    ByTables(Arc<Graph>, Box<Switched>),
    /// By a routing function of a grid.
    InGrid(&'a Routers),
    /// As a file of BookSim2 says, over a grid.
    AsDescribed(Box<Rules>),
}

impl Ways<'_> {
    fn of_tables(py: Python<'_>, tables: Tables<'_>) -> PyResult<Self> {
        let Tables { network, following, rows, levels, tables, rising, lanes, .. } = tables;
        let graph = network.switches(py)?.clone();
        let lanes = match (tables, rising) {
            (_, Some(rising)) => Lanes::Rising(rising, lanes),
            (None, None) => Lanes::Levels(lanes),
            (Some(tables), None) => {
                let (start, entries) = lane_entries(&tables);
                Lanes::Tables(start, entries)
            }
        };
        let following: Vec<u32> = entries(&following);
        let levels: Option<Vec<u8>> = levels.map(|levels| entries(&levels));
        let made = Switched::new(&graph, &following, rows, levels, lanes);
        Ok(Self::ByTables(graph, Box::new(made)))
    }
}

/// How a run is set up.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings<'py> {
    latency: u32,
    seed: u64,
    windows: Option<u64>,
    link_time: bool,
    packets: bool,
    film: bool,
    /// Flits of a reply, and requests that a node holds.
    replies: Option<(u32, Option<u32>)>,
    /// Parts that the channels of a link are cut into for kinds of messages.
    parts: u32,
    /// Threads that may be used.
    threads: usize,
    /// The processes that share it.
    ranks: Option<Bound<'py, PyAny>>,
}

/// The fields of a pipelined router that a spec gives.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Router {
    channels: Option<usize>,
    buffer: u32,
    buffer_policy: String,
    vc_allocator: String,
    switch_allocator: String,
    speculative: bool,
    speculative_allocator: String,
    priority: String,
    input_speedup: usize,
    output_speedup: usize,
    internal_speedup: f64,
    output_buffer: i64,
    routing_delay: u32,
    crossbar_delay: u32,
    credit_delay: u32,
    wait_for_tail_credit: bool,
    /// Options of a file of BookSim2, which say all the rest.
    options: Option<HashMap<String, String>>,
}

impl Router {
    /// What a file of BookSim2 says of routers and their network, if there is one.
    fn described(&self, py: Python<'_>, nodes: usize) -> PyResult<Option<(Config, Rules)>> {
        let Some(options) = &self.options else { return Ok(None) };
        let refused = |error: OptionError| {
            let place = format!("router.options.{}", error.option);
            spec_error(py, &place, Fault::at(place.clone(), error.text, ""))
        };
        let rules = options_of(options)?.rules().map_err(refused)?;
        if rules.nodes() != nodes {
            let text = format!("describe {} nodes, and the network has {nodes}", rules.nodes());
            return Err(spec_error(py, "router.options", text));
        }
        Ok(Some((Config::clone(&rules), rules)))
    }

    /// What the core takes, with so many channels where none are given.
    fn config(&self, py: Python<'_>, channels: usize) -> PyResult<Config> {
        let field = |name: &str| format!("router.{name}");
        let allocator = |name: &str, text: &str| {
            AllocatorKind::named(text).map_err(|error| spec_error(py, &field(name), error))
        };
        let policy = named(py, &field("buffer_policy"), &BufferPolicy::NAMES, &self.buffer_policy)?;
        let mut config = Config::new(self.channels.unwrap_or(channels), policy, self.buffer);
        config.allocate_channels_by(&self.vc_allocator).map_err(|error| of_router(py, &error))?;
        config.switch_allocator = allocator("switch_allocator", &self.switch_allocator)?;
        config.is_speculative = self.speculative;
        if self.speculative && self.speculative_allocator != Config::BY_PRIORITY {
            config.speculative_allocator =
                Some(allocator("speculative_allocator", &self.speculative_allocator)?);
        }
        config.priority = named(py, &field("priority"), &Priority::NAMES, &self.priority)?;
        (config.input_speedup, config.output_speedup) = (self.input_speedup, self.output_speedup);
        config.internal_speedup = self.internal_speedup;
        config.output_places = usize::try_from(self.output_buffer).ok();
        config.routing_delay = self.routing_delay;
        config.crossbar_delay = self.crossbar_delay;
        config.credit_delay = self.credit_delay;
        config.waits_for_tail = self.wait_for_tail_credit;
        Ok(config)
    }
}

/// The error for a field of a router.
fn of_router(py: Python<'_>, error: &ConfigError) -> PyErr {
    spec_error(py, "router", error.fault().within("router"))
}

/// What users call the queues and links of pipelined routers; `names` tells the name of a queue in a deadlock.
pub struct Terms {
    ports: Ports,
    names: Py<PyAny>,
}

/// A run at its beginning, and what its network calls the parts of its routers.
pub fn begin(
    py: Python<'_>,
    (network, routers): (&Network, Option<&Routers>),
    workload: &traffic::Workload,
    router: &Router,
    settings: Settings<'_>,
    tables: Option<Tables<'_>>,
    names: Py<PyAny>,
) -> PyResult<(Held, Terms)> {
    let nodes = network.inner.hosts();
    if let Err(given) = workload.check_nodes(nodes) {
        return Err(spec_error(py, "traffic", format!("is for {given} nodes, and there are {nodes}")));
    }
    let of_grid = tables.as_ref().and_then(|tables| tables.grid.clone());
    let (described, rules) = router.described(py, nodes)?.unzip();
    let ways = match (tables, routers, rules) {
        (_, _, Some(rules)) => Ways::AsDescribed(Box::new(rules)),
        (Some(tables), _, _) => Ways::of_tables(py, tables)?,
        (None, Some(routers), _) => Ways::InGrid(routers),
        (None, None, _) => return Err(spec_error(py, "tables", "none are given, and hosts are at switches")),
    };
    let ports = Ports::of(py, network, &ways, of_grid.as_deref())?;
    let classes = match &ways {
        Ways::InGrid(routers) => routers.classes().into(),
        Ways::ByTables(_, switched) => switched.lanes(),
        Ways::AsDescribed(_) => 1,
    };
    let Settings { latency, seed, windows, link_time, packets, film, replies, parts, threads, ranks } =
        settings;
    let mut config = match described {
        Some(config) => config,
        None => {
            let mut own = router.config(py, (2 * classes * parts) as usize)?;
            own.latency = latency;
            own
        }
    };
    if let Some((length, places)) = replies {
        config.answer(Replies { length, places }, parts == 2).map_err(|error| of_router(py, &error))?;
    }
    let setup = Setup {
        windows,
        parts: threads,
        options: Options { seed, ..Options::default() },
        ..Setup::default()
    };
    let place = match &ways {
        Ways::ByTables(graph, switched) => {
            check_joined(py, network, (graph, switched), workload, of_grid.is_some())?;
            Place::Graph(graph, switched)
        }
        Ways::InGrid(routers) => {
            let (shape, router) = (routers.inner.fabric().shape(), routers.inner.router());
            Place::Grid(shape, router.routing, ChannelRule::new(classes as u8, router.datelines))
        }
        Ways::AsDescribed(rules) => Place::Described(rules),
    };
    let rank = ranks.map(Ranks::rank).transpose()?;
    let records = |links| {
        let moved = (link_time.then(|| LinkTime::new(links)), film.then(|| Film::new(links)));
        (None, (packets.then(PacketRecords::default), moved))
    };
    let held = py.detach(|| {
        Ok(if packets || link_time || film {
            let observed = Simulation::pipelined_observed(&config, &place, workload, &setup, rank, records)?;
            Held::Recording(Box::new(observed))
        } else {
            let plain = Simulation::pipelined_observed(&config, &place, workload, &setup, rank, |_| NoProbe)?;
            Held::Plain(Box::new(plain))
        })
    });
    Ok((held.map_err(|error| simulation_error(py, error))?, Terms { ports, names }))
}

/// Refuses tables that do not join all nodes that the workload may send between.
fn check_joined(
    py: Python<'_>,
    network: &Network,
    (graph, switched): (&Graph, &Switched),
    workload: &traffic::Workload,
    is_grid: bool,
) -> PyResult<()> {
    let lost = unreachable(graph, switched, workload, network.inner.hosts());
    let Some((from, to)) = lost else { return Ok(()) };
    let failed = [from, to].into_iter().find(|&node| !network.inner.works()[node as usize]);
    let (end, advice) = match (is_grid, failed) {
        (false, _) => ("host", "give tables that do, or traffic between other hosts".to_owned()),
        (true, None) => {
            ("node", "no way is left between them: give traffic among nodes that are joined".to_owned())
        }
        (true, Some(node)) => ("node", format!("node {node} has failed: give traffic that leaves it out")),
    };
    let text = format!("the tables do not lead from {end} {from} to {end} {to}; {advice}");
    Err(exception(py, "UnreachableError", (text, vec![(from, to)])))
}

impl Terms {
    /// The same once more.
    pub fn copy(&self, py: Python<'_>) -> Self {
        Self { ports: self.ports.clone(), names: self.names.clone_ref(py) }
    }

    /// Adds what pipelined routers know beside the totals.
    pub fn add_facts(result: &Bound<'_, PyDict>, pipeline: &Pipeline) -> PyResult<()> {
        let facts = pipeline.facts();
        result.set_item("network_latency_sum", facts[0].network.sum)?;
        result.set_item("latency_max", facts[0].packet.most)?;
        result.set_item("hop_sum", facts[0].hops.sum)?;
        if let Some(replies) = facts.get(1) {
            result.set_item("replies", (replies.packet.count, replies.packet.sum))?;
        }
        Ok(())
    }

    /// Adds all that moved.
    pub fn add_film(&self, result: &Bound<'_, PyDict>, pipeline: &Pipeline, film: &Film) -> PyResult<()> {
        let places = self.places(pipeline).into_iter().enumerate();
        let links: HashMap<usize, i64> = places.filter_map(|(link, at)| Some((at?, link as i64))).collect();
        add_moved(result, film, |output| links[&(output as usize)])?;
        self.add_link_time(result, pipeline, &film.link_time, 0)
    }

    /// Flits in every input buffer of a torus or mesh, by node, direction in which they came and channel.
    pub fn occupancy(&self, pipeline: &Pipeline, queued: &[u16]) -> Vec<u16> {
        let channels = pipeline.channels();
        let of = |port: &Option<(u32, usize)>| match *port {
            Some((router, port)) => {
                let first = pipeline.input(router, port) * channels;
                queued[first..first + channels].to_vec()
            }
            None => vec![0; channels],
        };
        self.ports.inputs.iter().flat_map(of).collect()
    }

    /// Output ports of links among those of all routers.
    fn places(&self, pipeline: &Pipeline) -> Vec<Option<usize>> {
        let of = |(router, port)| pipeline.output(router, port);
        self.ports.outputs.iter().map(|output| output.map(of)).collect()
    }

    /// Adds what every link did in every cycle, so many at least: of all output ports those of links.
    pub fn add_link_time(
        &self,
        result: &Bound<'_, PyDict>,
        pipeline: &Pipeline,
        record: &LinkTime,
        cycles: usize,
    ) -> PyResult<()> {
        let py = result.py();
        let places = self.places(pipeline);
        let rows = link_cells(py, record)?.chunks(record.links());
        let cell = |row: &[u8], place: Option<usize>| place.map_or(0, |place| row[place]);
        let mut cells: Vec<u8> = rows.flat_map(|row| places.iter().map(|&place| cell(row, place))).collect();
        cells.resize(cells.len().max(cycles * places.len()), IDLE);
        result.set_item("link_time", (cells.into_pyarray(py), places.len()))
    }

    /// Of all output ports those of links.
    pub fn links(&self, pipeline: &Pipeline, all: &LinkOccupation) -> LinkOccupation {
        let places = self.places(pipeline);
        let of = |counts: &[u64], none| places.iter().map(|at| at.map_or(none, |at| counts[at])).collect();
        LinkOccupation { first: of(&all.first, u64::MAX), last: of(&all.last, 0), flits: of(&all.flits, 0) }
    }

    /// The link that leaves a router by a port.
    fn link(&self, router: u32, port: usize) -> Option<usize> {
        self.ports.outputs.iter().position(|&output| output == Some((router, port)))
    }

    /// The exception for a failed run.
    pub fn error(&self, py: Python<'_>, error: SimulationError) -> PyErr {
        match error {
            SimulationError::Blocked { cycle, queues, stuck_flits } if !queues.is_empty() => {
                self.deadlock(py, cycle, &queues, stuck_flits).unwrap_or_else(|error| error)
            }
            error => simulation_error(py, error),
        }
    }

    fn deadlock(
        &self,
        py: Python<'_>,
        cycle: u64,
        queues: &[BlockedQueue],
        stuck_flits: u64,
    ) -> PyResult<PyErr> {
        let mut names = Vec::new();
        for &queue in queues {
            let (kind, place, channel) = match queue {
                BlockedQueue::Link(router, port, channel) => {
                    ("link", self.link(router, port.into()).unwrap_or_default() as u32, channel)
                }
                BlockedQueue::Entry(node, channel) => ("entry", node, channel),
                BlockedQueue::Exit(node, channel) => ("exit", node, channel),
                BlockedQueue::Replies(node) => ("replies", node, 0),
            };
            names.push(self.names.call1(py, (kind, place, channel))?.extract::<String>(py)?);
        }
        let text = format!("deadlock in cycle {cycle}: {} -> {}", names.join(" -> "), names[0]);
        let channels: PyResult<Vec<_>> = names
            .iter()
            .zip(queues)
            .map(|(name, &queue)| {
                let entry = PyDict::new(py);
                entry.set_item("queue", name)?;
                let BlockedQueue::Link(router, port, _) = queue else { return Ok(entry) };
                entry.set_item("link", self.link(router, port.into()))?;
                Ok(entry)
            })
            .collect();
        Ok(exception(py, "DeadlockError", (text, cycle, channels?, stuck_flits)))
    }
}

/// A pair of hosts that the tables do not join, of those that the workload may send between.
fn unreachable(
    graph: &Graph,
    switched: &Switched,
    workload: &traffic::Workload,
    hosts: usize,
) -> Option<(u32, u32)> {
    let mut ways = workload.ways(hosts).map(|way| (way.from, way.to));
    ways.find(|&(from, to)| !switched.reaches(graph, from, to))
}
