use crate::{errors::spec_error, lists::named};
use flitloom_core::{
    engine,
    fabric::{Direction, Fabric, Shape},
    router::{Arbitration, FlowControl, ProcessorQueues, RouterConfig, Variant},
    routing::{Datelines, RoutingFunction},
};
use pyo3::prelude::*;

/// A fabric with its routers.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Network {
    pub inner: engine::Network,
}

#[pymethods]
impl Network {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the fields of a spec")]
    fn new(
        py: Python<'_>,
        sizes: Vec<u32>,
        wraps: Vec<bool>,
        failed_nodes: Vec<u32>,
        failed_links: Vec<(u32, u32)>,
        channels: Option<u8>,
        buffer: u16,
        latency: u16,
        flow_control: &str,
        datelines: &str,
        grant_needs_room: bool,
        processor_queues: &str,
        schemes: Vec<String>,
        port_lists: Vec<u8>,
        routing: &str,
        variant: &str,
    ) -> PyResult<Self> {
        let topology = |error| spec_error(py, "topology", error);
        let mut fabric = Fabric::new(Shape::new(&sizes, &wraps).map_err(topology)?);
        for node in failed_nodes {
            fabric.fail_node(node).map_err(|error| spec_error(py, "topology.failed_nodes", error))?;
        }
        for (a, b) in failed_links {
            fabric.fail_cable(a, b).map_err(|error| spec_error(py, "topology.failed_links", error))?;
        }
        let flow_control = named(py, "router.flow_control", &FlowControl::NAMES, flow_control)?;
        let datelines = named(py, "router.datelines", &Datelines::NAMES, datelines)?;
        let processor_queues =
            named(py, "router.processor_queues", &ProcessorQueues::NAMES, processor_queues)?;
        let schemes: Result<Vec<_>, _> = schemes.iter().map(|scheme| scheme.parse()).collect();
        let schemes = schemes.map_err(|error| spec_error(py, "router.arbitration", error))?;
        let variant = named(py, "router.variant", &Variant::NAMES, variant)?;
        let routing: RoutingFunction =
            routing.parse().map_err(|error| spec_error(py, "router.routing", error))?;
        let usual = RouterConfig::for_routing(fabric.shape(), routing);
        let router = RouterConfig {
            channels: channels.unwrap_or(usual.channels),
            buffer,
            latency,
            flow_control,
            datelines,
            grant_needs_room,
            processor_queues,
            arbitration: Arbitration { schemes, port_lists },
            routing,
            variant,
        };
        let inner = engine::Network::new(fabric, router).map_err(|error| spec_error(py, "router", error))?;
        Ok(Self { inner })
    }

    /// Virtual channels per link.
    #[getter]
    fn channels(&self) -> u8 {
        self.inner.router().channels
    }

    /// Bytes that a run of packets of at most so many flits takes per router, packets not counted, and
    /// records of links if they are kept.
    fn bytes_per_router(&self, longest: u32, links: bool) -> u64 {
        engine::bytes_per_router(&self.inner, longest, links)
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
        let count = self.inner.fabric().shape().directions();
        (0..count).map(|index| Direction::from_index(index).to_string()).collect()
    }
}
