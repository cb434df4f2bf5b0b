use flitloom_core::{
    engine::Network,
    fabric::{Fabric, Shape, Ties},
    names::{self, UnknownName},
    router::{Arbitration, ArbitrationError, FlowControl, RouterConfig},
    throttle::{Throttle, ThrottleError},
    traffic::{Collective, Destinations, OpenLoad, Pattern, Workload},
};
use serde::Deserialize;

/// What a live page simulates.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    sizes: Vec<u32>,
    wraps: Vec<bool>,
    channels: Option<u8>,
    buffer: u16,
    latency: u16,
    flow_control: String,
    arbitration: String,
    routing: String,
    ties: String,
    throttle: String,
    pattern: String,
    traffic: Traffic,
    /// Seed of everything random.
    pub seed: u64,
    /// Return the totals at the start of this cycle.
    pub stop_at: Option<u64>,
}

/// What the nodes send.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Traffic {
    Collective { payload: u32, slices: u32, interval: u64, packets: u32 },
    Load { rate: f64, length: u32, cycles: u64 },
}

impl Spec {
    /// Reads a spec.
    ///
    /// # Errors
    /// It is no JSON, or a field is missing, unknown or of another type.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    /// The network, with the router of the papers where nothing else is said.
    ///
    /// # Errors
    /// The fields do not make a network.
    pub fn network(&self) -> Result<Network, String> {
        let ties = names::find(&Ties::NAMES, &self.ties).map_err(|error| format!("ties: {error}"))?;
        let shape = Shape::new(&self.sizes, &self.wraps).map_err(|error| error.to_string())?.with_ties(ties);
        let routing = self.routing.parse().map_err(|error: UnknownName| format!("routing: {error}"))?;
        let usual = RouterConfig::for_routing(&shape, routing);
        let flow_control = names::find(&FlowControl::NAMES, &self.flow_control)
            .map_err(|error| format!("flow_control: {error}"))?;
        let scheme =
            self.arbitration.parse().map_err(|error: ArbitrationError| format!("arbitration: {error}"))?;
        let router = RouterConfig {
            channels: self.channels.unwrap_or(usual.channels),
            buffer: self.buffer,
            latency: self.latency,
            flow_control,
            arbitration: Arbitration { schemes: vec![scheme], port_lists: Vec::new() },
            ..usual
        };
        Network::new(Fabric::new(shape), router).map_err(|error| error.to_string())
    }

    /// Who must wait before injecting.
    ///
    /// # Errors
    /// There is no such throttle.
    pub fn throttle(&self) -> Result<Throttle, String> {
        self.throttle.parse().map_err(|error: ThrottleError| format!("throttle: {error}"))
    }

    /// The workload on a network.
    ///
    /// # Errors
    /// The traffic does not fit the network.
    pub fn workload(&self, network: &Network) -> Result<Workload, String> {
        match self.traffic {
            Traffic::Collective { payload, slices, interval, packets } => {
                let to = self.destinations(network)?;
                let nodes = network.fabric().shape().nodes();
                let collective = Collective { payload, slices, interval, packets, delays: Vec::new() };
                let list = collective.packet_list(nodes, &to).map_err(|error| error.to_string())?;
                Ok(Workload::Packets(list))
            }
            Traffic::Load { rate, length, cycles } => {
                Ok(Workload::Load(self.load(network, rate, length, cycles)?))
            }
        }
    }

    /// The load for so many cycles, its rate in flits per node and cycle, and the flits of a packet; nothing if
    /// the traffic is another.
    ///
    /// # Errors
    /// The traffic does not fit the network.
    pub fn long_load(&self, network: &Network, cycles: u64) -> Result<Option<(OpenLoad, f64, u32)>, String> {
        match self.traffic {
            Traffic::Collective { .. } => Ok(None),
            Traffic::Load { rate, length, .. } => {
                Ok(Some((self.load(network, rate, length, cycles)?, rate, length)))
            }
        }
    }

    fn load(&self, network: &Network, rate: f64, length: u32, cycles: u64) -> Result<OpenLoad, String> {
        OpenLoad::new(self.destinations(network)?, rate, length, cycles, self.seed)
            .map_err(|error| error.to_string())
    }

    fn destinations(&self, network: &Network) -> Result<Destinations, String> {
        let shape = network.fabric().shape();
        let pattern = Pattern::from_name(&self.pattern, shape).map_err(|error| error.to_string())?;
        pattern.destinations(shape, self.seed).map_err(|error| error.to_string())
    }
}
