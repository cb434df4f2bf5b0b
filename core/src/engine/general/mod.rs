//! The general engine: every feature, scalar, work proportional to what moves.
//!
//! State is plain struct-of-arrays. Which output channels are requested and which output ports can
//! send is kept up to date on change, so a cycle only touches queues whose flits move.

mod channels;
mod cycle;
mod deadlock;
mod layout;
mod observe;
mod state;

use super::{Network, Outcome, SimulationError};
use crate::{
    fabric::NodeId,
    probe::{OutputChannel, Probe},
    router::{Arbitration, ChannelScheme, RouterError},
    routing::dimension_order,
    traffic::{Destinations, PacketList, Sources, Workload},
};
use cycle::Run;
use layout::Layout;
use std::sync::atomic::AtomicBool;

/// When a simulation ends other than by delivering everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Return the totals at the start of this cycle, whatever is still under way.
    pub stop_at: Option<u64>,
    /// Fail when this cycle is reached.
    pub cycle_limit: Option<u64>,
    /// Fail soon after this becomes true.
    pub interrupt: Option<&'a AtomicBool>,
    /// Slice re-initialisation: at the end of a cycle in which a node receives the last flit of a
    /// packet, its port lists and the channels its ports used last return to their initial state
    /// (cup-stacking-extended-2023, 7.2, T08).
    pub reinitialise_slices: bool,
    /// Slice interlocking: a node sends its packet number k (from 0) only after it has received k
    /// packets; one received in a cycle counts from the next (cup-stacking-extended-2023, 7.2, T10).
    pub interlock_slices: bool,
}

/// Simulates a workload until everything is delivered or `options` end it.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, general},
///     fabric::{Fabric, Shape},
///     probe::NoProbe,
///     router::RouterConfig,
///     traffic::{Collective, Pattern, Workload},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let destinations = Pattern::Transpose.destinations(&shape, 0)?;
/// let packets = Collective::default().packet_list(shape.nodes(), &destinations)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let outcome = general::simulate(&network, &Workload::Packets(packets), &Default::default(), &mut NoProbe)?;
/// assert_eq!(outcome.duration, 74); // cup-stacking-2022, Table 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A packet needs a failed part, the network deadlocks, or a limit of `options` is met.
pub fn simulate<P: Probe>(
    network: &Network,
    workload: &Workload,
    options: &Options,
    probe: &mut P,
) -> Result<Outcome, SimulationError> {
    General::new(network).run(workload, options, probe)
}

/// A network prepared for simulations.
#[derive(Clone, Debug)]
pub struct General<'a> {
    network: &'a Network,
    layout: Layout,
}

impl<'a> General<'a> {
    /// Prepares a network.
    pub fn new(network: &'a Network) -> Self {
        Self { network, layout: Layout::new(network) }
    }

    /// Replaces the arbitration settings of all routers; the rest of the preparation stays.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::{Network, general::General},
    ///     fabric::{Fabric, Shape},
    ///     router::{Arbitration, ChannelScheme, RouterConfig},
    /// };
    /// let network = Network::new(Fabric::new(Shape::torus(&[8, 8])?), RouterConfig::default())?;
    /// let mut prepared = General::new(&network);
    /// prepared.set_arbitration(&Arbitration::uniform(ChannelScheme::C05))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The settings do not fit the network.
    pub fn set_arbitration(&mut self, arbitration: &Arbitration) -> Result<(), SimulationError> {
        let router = self.network.router();
        arbitration.check(self.network.fabric().shape(), router.channels).map_err(RouterError::from)?;
        self.layout.set_arbitration(arbitration, router.channels, self.network.fabric().shape());
        Ok(())
    }

    /// Changes the channel scheme of one output port.
    ///
    /// # Panics
    /// The port does not exist.
    pub fn set_scheme(&mut self, node: NodeId, port: usize, scheme: ChannelScheme) {
        self.layout.set_scheme(node as usize * self.layout.ports + port, scheme);
    }

    /// Changes the port list of one output channel; `list` is a permutation of the input ports.
    ///
    /// # Panics
    /// The channel does not exist, or the list is not of the right length.
    pub fn set_port_list(&mut self, output: OutputChannel, list: &[u8]) {
        let port = output.node as usize * self.layout.ports + usize::from(output.port);
        self.layout.set_port_list(port, usize::from(output.channel), list);
    }

    /// Simulates a workload from an empty network; see [`simulate`].
    ///
    /// # Errors
    /// As [`simulate`].
    pub fn run<P: Probe>(
        &self,
        workload: &Workload,
        options: &Options,
        probe: &mut P,
    ) -> Result<Outcome, SimulationError> {
        self.check(workload)?;
        let sources = Sources::new(workload, self.layout.nodes);
        let basic = !self.layout.cut_through && self.layout.latency == 1;
        match (self.layout.channel_shift, basic) {
            (2, true) => Run::<2, true>::new(self.network, &self.layout, sources).until(options, probe),
            (2, false) => Run::<2, false>::new(self.network, &self.layout, sources).until(options, probe),
            (_, true) => Run::<3, true>::new(self.network, &self.layout, sources).until(options, probe),
            (_, false) => Run::<3, false>::new(self.network, &self.layout, sources).until(options, probe),
        }
    }

    fn check(&self, workload: &Workload) -> Result<(), SimulationError> {
        let nodes = self.layout.nodes;
        let longest = match workload {
            Workload::Packets(list) => {
                if list.nodes() != nodes {
                    return Err(SimulationError::Nodes { given: list.nodes(), needed: nodes });
                }
                list.iter().map(|(_, packet)| packet.length).max().unwrap_or(1)
            }
            Workload::Load(load) => load.length(),
        };
        let buffer = self.layout.buffer;
        if self.layout.cut_through && longest > u32::from(buffer) {
            return Err(SimulationError::PacketTooLong { buffer, length: longest });
        }
        if self.network.fabric().is_healthy() { Ok(()) } else { self.check_reachable(workload) }
    }

    fn check_reachable(&self, workload: &Workload) -> Result<(), SimulationError> {
        /// Pairs listed in the error.
        const LISTED: usize = 1000;
        let nodes = 0..self.layout.nodes as u32;
        let needed: Box<dyn Iterator<Item = (u32, u32)> + '_> = match workload {
            Workload::Packets(list) => Box::new(distinct_pairs(list)),
            Workload::Load(load) => match load.destinations() {
                Destinations::Fixed(to) => Box::new(nodes.map(|node| (node, to[node as usize]))),
                Destinations::Random { .. } => {
                    Box::new(nodes.clone().flat_map(move |from| nodes.clone().map(move |to| (from, to))))
                }
            },
        };
        let fabric = self.network.fabric();
        let pairs: Vec<(u32, u32)> = needed
            .filter(|&(from, to)| {
                let mut path = dimension_order::path(fabric, from, to);
                let whole = path.all(|link| {
                    let (node, direction) = fabric.link_ends(link);
                    fabric.link_works(node, direction)
                });
                !(whole && fabric.node_works(from) && fabric.node_works(to))
            })
            .take(LISTED)
            .collect();
        match pairs.first() {
            None => Ok(()),
            Some(&(source_node, destination)) => {
                Err(SimulationError::Unreachable { source_node, destination, count: pairs.len(), pairs })
            }
        }
    }
}

fn distinct_pairs(list: &PacketList) -> impl Iterator<Item = (u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = list.iter().map(|(from, packet)| (from, packet.destination)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into_iter()
}
