//! The general engine: every feature, scalar, work proportional to what moves.
//!
//! State is plain struct-of-arrays. Which output channels are requested and which output ports can
//! send is kept up to date on change, so a cycle only touches queues whose flits move.

mod channels;
mod cycle;
mod deadlock;
mod layout;
mod observe;
mod reach;
mod saving;
mod state;

use super::{
    Network, Options, Outcome, SimulationError,
    protocol::{Clock, Engine, drive},
};
use crate::{
    fabric::NodeId,
    probe::{OutputChannel, Probe},
    router::{Arbitration, ChannelScheme, FlowControl, RouterError},
    traffic::{PacketSource, Sources, Workload},
};
use cycle::{Run, SliceRules};
use layout::Layout;
use std::sync::Arc;

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
pub struct General {
    network: Network,
    layout: Arc<Layout>,
}

impl General {
    /// Prepares a network.
    pub fn new(network: &Network) -> Self {
        Self { network: network.clone(), layout: Arc::new(Layout::new(network)) }
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
        Arc::make_mut(&mut self.layout).set_arbitration(
            arbitration,
            router.channels,
            self.network.fabric().shape(),
        );
        Ok(())
    }

    /// Changes the channel scheme of one output port.
    ///
    /// # Panics
    /// The port does not exist.
    pub fn set_scheme(&mut self, node: NodeId, port: usize, scheme: ChannelScheme) {
        let port = node as usize * self.layout.ports + port;
        Arc::make_mut(&mut self.layout).set_scheme(port, scheme);
    }

    /// Changes the port list of one output channel; `list` is a permutation of the input ports.
    ///
    /// # Panics
    /// The channel does not exist, or the list is not of the right length.
    pub fn set_port_list(&mut self, output: OutputChannel, list: &[u8]) {
        let port = output.node as usize * self.layout.ports + usize::from(output.port);
        Arc::make_mut(&mut self.layout).set_port_list(port, usize::from(output.channel), list);
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
        let mut engine = self.begin(workload, options)?;
        let mut clock = Clock::default();
        drive(&mut *engine, &mut clock, options, probe)?;
        engine.totals(&clock.stopped(options))
    }

    /// A run at its beginning.
    ///
    /// # Errors
    /// The workload cannot run here.
    pub(crate) fn begin<P: Probe>(
        &self,
        workload: &Workload,
        options: &Options,
    ) -> Result<Box<dyn Engine<P>>, SimulationError> {
        let longest = self.check(workload)?;
        let sources = Sources::new(workload, self.layout.nodes);
        let (network, layout) = (self.network.clone(), self.layout.clone());
        let basic = !layout.cut_through && layout.latency == 1 && layout.ring_shift == layout::BASIC_RING;
        let rules = SliceRules::from(options);
        Ok(match (layout.channel_shift, basic) {
            (2, true) => Box::new(Run::<2, true>::new(network, layout, sources, longest, rules)),
            (2, false) => Box::new(Run::<2, false>::new(network, layout, sources, longest, rules)),
            (_, true) => Box::new(Run::<3, true>::new(network, layout, sources, longest, rules)),
            (_, false) => Box::new(Run::<3, false>::new(network, layout, sources, longest, rules)),
        })
    }

    /// Checks that the workload can run here; returns the length of its longest packet.
    fn check(&self, workload: &Workload) -> Result<u32, SimulationError> {
        let nodes = self.layout.nodes;
        workload.check_nodes(nodes).map_err(|given| SimulationError::Nodes { given, needed: nodes })?;
        let longest = workload.longest();
        let (buffer, flow_control) = (self.layout.buffer, self.network.router().flow_control);
        let packets_held = match flow_control {
            FlowControl::Wormhole => 0,
            FlowControl::CutThrough => 1,
            FlowControl::Bubble => 2,
        };
        let needed = packets_held * u64::from(longest);
        if needed > u64::from(buffer) {
            return Err(SimulationError::PacketTooLong { buffer, flow_control, needed, length: longest });
        }
        reach::check(&self.network, workload)?;
        Ok(longest)
    }
}
