use crate::{errors::spec_error, lists::named};
use flitloom_core::{
    engine,
    fabric::{Direction, Fabric, FabricError, Factor, Shape, Steps, Ties},
    router::{Arbitration, FlowControl, North, ProcessorQueues, RouterConfig, Variant},
    routing::{ChannelRule, Datelines, Place, RoutingFunction},
};
use pyo3::prelude::*;

/// A fabric with its routers.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Network {
    pub inner: engine::Network,
}

/// A topology as specs have it.
#[derive(FromPyObject)]
pub(crate) struct Topology {
    sizes: Vec<u32>,
    wraps: Vec<bool>,
    twist: bool,
    full: Vec<bool>,
    steps: Vec<Vec<u32>>,
    failed_nodes: Vec<u32>,
    failed_links: Vec<(u32, u32)>,
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
    ties: String,
    variant: String,
    north: String,
}

/// One scheme for all, or one per router or port.
#[derive(FromPyObject)]
enum Schemes {
    One(String),
    Own(Vec<String>),
}

impl Topology {
    /// The network without what has failed.
    pub(crate) fn shape(&self, py: Python<'_>) -> PyResult<Shape> {
        let shape = if self.twist {
            Shape::twisted(&self.sizes)
        } else if self.full.contains(&true) || self.steps.iter().any(|steps| !steps.is_empty()) {
            let kinds = self.full.iter().zip(&self.wraps).zip(&self.steps);
            let factor = |(&size, kind): (&u32, ((&bool, &bool), &Vec<u32>))| match kind {
                (_, steps) if !steps.is_empty() => Ok(Factor::Circulant(size, Steps::new(steps)?)),
                ((true, _), _) => Ok(Factor::Full(size)),
                ((_, true), _) => Ok(Factor::Ring(size)),
                _ => Ok(Factor::Line(size)),
            };
            let factors: Result<Vec<Factor>, FabricError> =
                self.sizes.iter().zip(kinds).map(factor).collect();
            factors.and_then(|factors| Shape::product(&factors))
        } else {
            Shape::new(&self.sizes, &self.wraps)
        };
        shape.map_err(|error| spec_error(py, "topology", error))
    }

    fn fabric(self, py: Python<'_>, ties: Ties) -> PyResult<Fabric> {
        let mut fabric = Fabric::new(self.shape(py)?.with_ties(ties));
        for node in self.failed_nodes {
            fabric.fail_node(node).map_err(|error| spec_error(py, "topology.failed_nodes", error))?;
        }
        for (a, b) in self.failed_links {
            fabric.fail_cable(a, b).map_err(|error| spec_error(py, "topology.failed_links", error))?;
        }
        Ok(fabric)
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
impl Network {
    #[new]
    fn new(py: Python<'_>, topology: Topology, router: Router) -> PyResult<Self> {
        let ties = named(py, "router.ties", &Ties::NAMES, &router.ties)?;
        let fabric = topology.fabric(py, ties)?;
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

    /// Whether each link exists and works, by `node * directions + direction`.
    fn working_links(&self) -> Vec<bool> {
        let fabric = self.inner.fabric();
        let links = fabric.shape().nodes() * fabric.shape().directions();
        let mut works = vec![false; links];
        fabric.working_links().for_each(|link| works[link as usize] = true);
        works
    }

    /// Names of the directions, by their index.
    fn directions(&self) -> Vec<String> {
        let shape = self.inner.fabric().shape();
        (0..shape.directions()).map(|index| shape.direction_name(Direction::from_index(index))).collect()
    }
}
