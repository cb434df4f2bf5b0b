use crate::{
    errors::spec_error,
    network::{Network, Routers},
    route::RoutingTable,
};
use flitloom_core::{
    names::UnknownName,
    routes::by_source::ListedRoutes,
    traffic::{
        self, Collective, OpenLoad, Packet, PacketList, PacketSource, Pattern, Process, Profile, RouteBook,
        WorkloadError,
    },
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Where each packet of each node goes.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Destinations {
    pub inner: traffic::Destinations,
}

#[pymethods]
impl Destinations {
    /// Those of a pattern; `fraction` and `target` are for hotspots.
    #[staticmethod]
    fn of_pattern(
        py: Python<'_>,
        network: &Network,
        name: &str,
        fraction: f64,
        target: Option<u32>,
        seed: u64,
    ) -> PyResult<Self> {
        let sizes = network.inner.sizes();
        let mut pattern =
            Pattern::from_name(name, sizes).map_err(|error| spec_error(py, "traffic.pattern", error))?;
        if let Pattern::Hotspot { fraction: share, target: middle } = &mut pattern {
            *share = fraction;
            *middle = target.unwrap_or(*middle);
        }
        let inner =
            pattern.destinations(sizes, seed).map_err(|error| spec_error(py, "traffic.pattern", error))?;
        Ok(Self { inner })
    }

    /// One given destination per node.
    #[staticmethod]
    fn given(py: Python<'_>, network: &Network, destinations: Vec<u32>) -> PyResult<Self> {
        let inner = Pattern::Given(destinations)
            .destinations(network.inner.sizes(), 0)
            .map_err(|error| spec_error(py, "traffic.destinations", error))?;
        Ok(Self { inner })
    }

    /// Those drawn by weights, a row per node.
    #[staticmethod]
    fn weighted(py: Python<'_>, network: &Network, weights: Vec<Vec<u64>>, seed: u64) -> PyResult<Self> {
        let nodes = network.inner.hosts();
        let wrong = weights.iter().map(Vec::len).find(|&given| given != nodes);
        let wrong = if weights.len() == nodes { wrong } else { Some(weights.len()) };
        if let Some(given) = wrong {
            let text = format!("{given} rows or columns; one per node ({nodes}) is needed");
            return Err(spec_error(py, "traffic.weights", text));
        }
        Ok(Self { inner: traffic::Destinations::weighted(&weights, seed) })
    }

    /// Those of several classes, each with its share of all packets.
    #[staticmethod]
    fn classes(classes: Vec<(u64, PyRef<'_, Self>)>, seed: u64) -> Self {
        let classes = classes.into_iter().map(|(weight, destinations)| (weight, destinations.inner.clone()));
        Self { inner: traffic::Destinations::classes(classes.collect(), seed) }
    }

    /// The same among the nodes of a network that work.
    fn among_working(&self, py: Python<'_>, network: &Network) -> PyResult<Self> {
        let among = self.inner.clone().among(&network.inner.works()[..network.inner.hosts()]);
        Ok(Self { inner: among.map_err(|error| spec_error(py, "traffic", error))? })
    }

    /// Destination of packet number `index` of a node.
    fn of(&self, node: u32, index: u64) -> u32 {
        self.inner.of(node, index)
    }
}

/// A collective as specs have it.
#[derive(FromPyObject)]
struct CollectiveSpec {
    payload: u32,
    slices: u32,
    interval: u64,
    delays: Vec<u64>,
    packets: u32,
}

/// A load as specs have it: its rate by points over time, an impulse, and packets of a closed source that
/// may be outstanding.
#[derive(FromPyObject)]
struct LoadSpec {
    process: String,
    points: Vec<(u64, f64)>,
    impulse: Option<ImpulseSpec>,
    outstanding: Option<u32>,
    length: u32,
    cycles: u64,
}

/// So many packets of every node at a cycle.
#[derive(FromPyObject)]
struct ImpulseSpec {
    at: u64,
    packets: u64,
}

/// Everything the nodes send.
#[pyclass(frozen, module = "flitloom._core")]
pub struct Workload {
    pub inner: traffic::Workload,
}

impl Workload {
    fn packet_list(py: Python<'_>, list: Result<PacketList, WorkloadError>) -> PyResult<Self> {
        let list = list.map_err(|error| spec_error(py, "traffic", error))?;
        Ok(Self { inner: traffic::Workload::Packets(list) })
    }

    fn with_book(&self, py: Python<'_>, book: Arc<dyn RouteBook>) -> Self {
        Self { inner: py.detach(|| self.inner.clone().with_book(&book)) }
    }
}

#[pymethods]
impl Workload {
    /// A collective communication, as specs have it.
    #[staticmethod]
    fn collective(
        py: Python<'_>,
        network: &Network,
        destinations: &Destinations,
        collective: CollectiveSpec,
    ) -> PyResult<Self> {
        let CollectiveSpec { payload, slices, interval, delays, packets } = collective;
        let collective = Collective { payload, slices, interval, delays, packets };
        let nodes = network.inner.hosts();
        Self::packet_list(py, collective.packet_list(nodes, &destinations.inner))
    }

    /// A load, as specs have it; where packets go from some cycles on, and those of its impulse.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        destinations: &Destinations,
        load: LoadSpec,
        changes: Vec<(u64, PyRef<'_, Destinations>)>,
        impulse: Option<PyRef<'_, Destinations>>,
        seed: u64,
    ) -> PyResult<Self> {
        let LoadSpec { process, points: profile, impulse: at_once, outstanding, length, cycles } = load;
        let process: Process =
            process.parse().map_err(|error: UnknownName| spec_error(py, "traffic.process", error))?;
        let to = destinations.inner.clone();
        let nodes = to.nodes();
        let impulse = impulse.zip(at_once).map(|(to, spec)| (to.inner.clone(), spec.at, spec.packets));
        let changes: Vec<_> = changes.into_iter().map(|(at, to)| (at, to.inner.clone())).collect();
        let load = py.detach(|| {
            let profile = Profile::new(&profile)?;
            let load = OpenLoad::shaped(to, process, profile, length, cycles, seed)?.changing(changes);
            let load = match impulse {
                Some((to, at, packets)) => load.with_impulse(to, at, packets, nodes),
                None => load,
            };
            outstanding.map_or(Ok(load.clone()), |outstanding| load.closed(outstanding))
        });
        load.map(|load| Self { inner: traffic::Workload::Load(load) })
            .map_err(|error: WorkloadError| spec_error(py, "traffic", error))
    }

    /// Packets in all, if they are known in advance.
    #[getter]
    fn count(&self) -> Option<u64> {
        self.inner.count()
    }

    /// The same without the packets of some nodes of a load.
    fn without(&self, nodes: Vec<u32>) -> Self {
        let inner = match &self.inner {
            traffic::Workload::Load(load) => {
                let all = load.destinations().next().map_or(0, traffic::Destinations::nodes);
                traffic::Workload::Load(load.clone().without(&nodes, all))
            }
            other => other.clone(),
        };
        Self { inner }
    }

    /// The same over the routes of a table.
    fn over_table(&self, py: Python<'_>, network: &Routers, table: &RoutingTable) -> PyResult<Self> {
        if table.inner.system().fabric() != network.inner.fabric() {
            return Err(spec_error(py, "tables", "they are for another network"));
        }
        Ok(self.with_book(py, table.inner.clone()))
    }

    /// The same over listed routes: route i visits `nodes[offsets[i]..offsets[i + 1]]`.
    fn over_routes(
        &self,
        py: Python<'_>,
        network: &Routers,
        sources: PyReadonlyArray1<'_, u32>,
        destinations: PyReadonlyArray1<'_, u32>,
        offsets: PyReadonlyArray1<'_, u64>,
        nodes: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Self> {
        let (sources, destinations) = (sources.as_array().to_vec(), destinations.as_array().to_vec());
        let (offsets, nodes) = (offsets.as_array().to_vec(), nodes.as_array().to_vec());
        let fabric = network.inner.fabric();
        let routes = sources.iter().zip(&destinations).enumerate().map(|(index, (&source, &destination))| {
            let [first, end] = [0, 1].map(|next| offsets.get(index + next).copied().unwrap_or(0) as usize);
            (source, destination, nodes.get(first..end).unwrap_or_default())
        });
        let listed = ListedRoutes::new(fabric, routes).map_err(|index| {
            let (from, to) = (sources[index], destinations[index]);
            let text = format!(
                "route {index}, from node {from} to node {to}, is not a walk over working links of the network, or the second one of its pair"
            );
            spec_error(py, "tables", text)
        })?;
        Ok(self.with_book(py, Arc::new(listed)))
    }

    /// Packets in rows of source, destination, length, start and slice; those of one source stay in
    /// their order.
    #[staticmethod]
    fn packets(py: Python<'_>, network: &Network, table: PyReadonlyArray2<'_, i64>) -> PyResult<Self> {
        let nodes = network.inner.hosts();
        let mut lists: Vec<Vec<Packet>> = vec![Vec::new(); nodes];
        for (number, row) in table.as_array().rows().into_iter().enumerate() {
            for (name, node) in [("source", row[0]), ("destination", row[1])] {
                if node < 0 || node >= nodes as i64 {
                    let place = format!("traffic.table[{number}]");
                    let text = format!("{name} {node} does not exist; nodes are 0 to {}", nodes - 1);
                    return Err(spec_error(py, &place, text));
                }
            }
            lists[row[0] as usize].push(Packet {
                destination: row[1] as u32,
                length: row[2] as u32,
                start: row[3] as u64,
                slice: row[4] as u32,
            });
        }
        Self::packet_list(py, PacketList::from_nodes(lists))
    }
}
