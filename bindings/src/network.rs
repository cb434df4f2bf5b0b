use crate::{errors::spec_error, fabric::ends, lists::named};
use flitloom_core::{
    engine,
    fabric::{
        self, Direction, Fabric, FabricError, Factor, Graph, Lattice, Lines, Placed, Shape, Steps, Ties,
    },
    router::{Arbitration, FlowControl, North, ProcessorQueues, RouterConfig, Variant},
    routing::{ChannelRule, Datelines, Place, RoutingFunction},
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use std::sync::Arc;

/// A network: its nodes, and how they are joined.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Network {
    pub inner: fabric::Network,
}

/// Routers of one cycle at the nodes of a grid.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Routers {
    pub inner: engine::Network,
}

/// A grid as specs have it.
#[derive(FromPyObject)]
struct Grid {
    sizes: Vec<u32>,
    wraps: Vec<bool>,
    twist: bool,
    full: Vec<bool>,
    steps: Vec<Vec<u32>>,
    width: Vec<u32>,
    failed_nodes: Vec<u32>,
    failed_links: Vec<(u32, u32)>,
}

/// Sizes, closed ways and the coordinates of every switch.
type Coordinates = (Vec<u32>, Vec<Vec<i32>>, Vec<Vec<i32>>);

fn placed((sizes, closed, coordinates): Coordinates) -> Option<Placed> {
    let mut lattice = Lattice::new(sizes.len());
    closed.iter().for_each(|way| lattice.add(way));
    Placed::new(fabric::Grid::new(lattice, sizes), &coordinates)
}

/// A router as specs have it.
#[derive(FromPyObject)]
struct Router {
    channels: Option<u8>,
    buffer: u16,
    latency: u16,
    flow_control: String,
    datelines: String,
    grant_needs_room: bool,
    processor_queues: String,
    arbitration: Schemes,
    queue_order: Vec<u8>,
    routing: String,
    variant: String,
    north: String,
}

/// One scheme for all, or one per router or port.
#[derive(FromPyObject)]
enum Schemes {
    One(String),
    Own(Vec<String>),
}

impl Grid {
    fn lines(&self) -> Result<Lines, FabricError> {
        let kinds = self.full.iter().zip(&self.wraps).zip(&self.steps);
        let factor = |(&size, kind): (&u32, ((&bool, &bool), &Vec<u32>))| match kind {
            (_, steps) if !steps.is_empty() => Ok(Factor::Circulant(size, Steps::new(steps)?)),
            ((true, _), _) => Ok(Factor::Full(size)),
            ((_, true), _) => Ok(Factor::Ring(size)),
            _ => Ok(Factor::Line(size)),
        };
        let factors: Result<_, _> = self.sizes.iter().zip(kinds).map(factor).collect();
        Ok(Lines { factors: factors?, widths: self.width.clone(), twisted: self.twist })
    }
}

impl Router {
    fn config(self, py: Python<'_>, shape: &Shape) -> PyResult<RouterConfig> {
        let schemes = match self.arbitration {
            Schemes::One(scheme) => vec![scheme],
            Schemes::Own(schemes) => schemes,
        };
        let schemes: Result<Vec<_>, _> = schemes.iter().map(|scheme| scheme.parse()).collect();
        let schemes = schemes.map_err(|error| spec_error(py, "router.arbitration", error))?;
        let routing: RoutingFunction =
            self.routing.parse().map_err(|error| spec_error(py, "router.routing", error))?;
        Ok(RouterConfig {
            channels: self.channels.unwrap_or(RouterConfig::for_routing(shape, routing).channels),
            buffer: self.buffer,
            latency: self.latency,
            flow_control: named(py, "router.flow_control", &FlowControl::NAMES, &self.flow_control)?,
            datelines: named(py, "router.datelines", &Datelines::NAMES, &self.datelines)?,
            grant_needs_room: self.grant_needs_room,
            processor_queues: named(
                py,
                "router.processor_queues",
                &ProcessorQueues::NAMES,
                &self.processor_queues,
            )?,
            arbitration: Arbitration { schemes, port_lists: self.queue_order },
            routing,
            variant: named(py, "router.variant", Variant::NAMES, &self.variant)?,
            north: named(py, "router.north", &North::NAMES, &self.north)?,
        })
    }
}

impl Network {
    /// The grid of its nodes, with what has failed.
    pub fn grid(&self, py: Python<'_>) -> PyResult<&Arc<Fabric>> {
        self.inner.grid().map_err(|error| spec_error(py, "topology", error))
    }

    /// The switches with hosts, and the cables between them.
    pub fn switches(&self, py: Python<'_>) -> PyResult<&Arc<Graph>> {
        self.inner.switches().ok_or_else(|| spec_error(py, "fabric", "has no switches with hosts"))
    }

    /// The same network less nodes and links.
    pub fn without(&self, py: Python<'_>, nodes: &[u32], links: &[(u32, u32)]) -> PyResult<Self> {
        let network = self.inner.clone().without(nodes, &[]);
        let network = network.map_err(|error| spec_error(py, "topology.failed_nodes", error))?;
        let inner = network.without(&[], links);
        Ok(Self { inner: inner.map_err(|error| spec_error(py, "topology.failed_links", error))? })
    }
}

#[pymethods]
impl Network {
    /// A torus, a mesh or a product; `ties` is which way dimension order goes to the opposite place of a ring.
    #[staticmethod]
    #[pyo3(signature = (grid, ties="wrap"))]
    fn of_grid(py: Python<'_>, grid: Grid, ties: &str) -> PyResult<Self> {
        let ties = named(py, "router.ties", &Ties::NAMES, ties)?;
        let network = grid.lines().and_then(|lines| fabric::Network::of_lines(lines, ties));
        let inner = network.map_err(|error| spec_error(py, "topology", error))?;
        Self { inner }.without(py, &grid.failed_nodes, &grid.failed_links)
    }

    /// Nodes joined by cables and by links that lead one way.
    #[staticmethod]
    fn of_cables(
        py: Python<'_>,
        nodes: u32,
        cables: Vec<(u32, u32)>,
        one_way: Vec<(u32, u32)>,
        failed_nodes: Vec<u32>,
        failed_links: Vec<(u32, u32)>,
    ) -> PyResult<Self> {
        let network = fabric::Network::of_cables(nodes, &cables, &one_way);
        let inner = network.map_err(|error| spec_error(py, "topology", error))?;
        Self { inner }.without(py, &failed_nodes, &failed_links)
    }

    /// Hosts at switches, in the order of coordinates where sizes are given; switches may stand on a torus or mesh.
    #[staticmethod]
    #[pyo3(signature = (hosts, cables, sizes=None, grid=None))]
    fn of_switches(
        py: Python<'_>,
        hosts: Vec<u32>,
        cables: PyReadonlyArray2<'_, u32>,
        sizes: Option<Vec<u32>>,
        grid: Option<Coordinates>,
    ) -> PyResult<Self> {
        let graph = Graph::new(hosts, &ends(&cables)).map_err(|error| spec_error(py, "fabric", error))?;
        let switches = grid
            .and_then(placed)
            .into_iter()
            .fold(fabric::Network::of_switches(graph), fabric::Network::placed_on);
        Ok(Self { inner: sizes.into_iter().fold(switches, fabric::Network::numbered_by) })
    }

    /// The same network less nodes.
    fn without_nodes(&self, py: Python<'_>, nodes: Vec<u32>) -> PyResult<Self> {
        self.without(py, &nodes, &[])
    }

    /// Whether each link of a grid exists and works, by `node * directions + direction`; of other networks every
    /// channel does.
    fn working_links(&self) -> Vec<bool> {
        let Ok(grid) = self.inner.grid() else {
            return vec![true; self.inner.switches().map_or(0, |graph| graph.channels())];
        };
        let mut works = vec![false; grid.shape().nodes() * grid.shape().directions()];
        grid.working_links().for_each(|link| works[link as usize] = true);
        works
    }

    /// Names of the directions of a grid, by their index.
    fn directions(&self) -> Vec<String> {
        let Ok(grid) = self.inner.grid() else { return Vec::new() };
        let shape = grid.shape();
        (0..shape.directions()).map(|index| shape.direction_name(Direction::from_index(index))).collect()
    }
}

impl Routers {
    /// Classes of channels that the routing function needs.
    pub fn classes(&self) -> u8 {
        let (shape, router) = (self.inner.fabric().shape(), self.inner.router());
        let place = Place { shape, rule: ChannelRule::new(router.channels, router.datelines) };
        router.routing.claims(place, false).channels.max(1)
    }

    /// The network, if none of its dimensions is a full mesh; `what` is for such networks only.
    pub fn ringed(&self, py: Python<'_>, what: &str) -> PyResult<&engine::Network> {
        if self.inner.fabric().shape().has_steps() {
            let text = format!("is a product with full meshes or circulants, and {what} for tori and meshes");
            return Err(spec_error(py, "network", text));
        }
        Ok(&self.inner)
    }
}

#[pymethods]
impl Routers {
    #[new]
    fn new(py: Python<'_>, network: &Network, router: Router) -> PyResult<Self> {
        let fabric = network.grid(py)?.clone();
        let router = router.config(py, fabric.shape())?;
        let inner = engine::Network::new(fabric, router).map_err(|error| spec_error(py, "router", error))?;
        Ok(Self { inner })
    }

    /// Virtual channels per link.
    #[getter]
    fn channels(&self) -> u8 {
        self.inner.router().channels
    }

    /// Classes of channels that the routing function needs to be free of deadlock.
    #[getter]
    fn channel_classes(&self) -> u8 {
        self.classes()
    }

    /// Bytes that a run of packets of at most so many flits takes per router, packets not counted, and
    /// records of links if they are kept.
    fn bytes_per_router(&self, longest: u32, links: bool) -> u64 {
        engine::general::bytes_per_router(&self.inner, longest, links)
    }
}
