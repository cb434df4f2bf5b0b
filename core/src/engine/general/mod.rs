//! The general engine in words: every feature, one bit per router for whatever a body flit needs.
//!
//! # State
//!
//! *Planes* hold one bit per router: which queue owns which output channel (one plane per pair of a
//! queue and an output that ever occurs, allotted at its first grant), the number of flits in every
//! queue and of flits left to every owner bit by bit, which output has not sent the header yet,
//! which channel a port used last. Planes only the router itself reads lie together for every vector
//! of routers; those its neighbours read - full queues, flits sent - stretch over the network, so that
//! a neighbour's bit is two masked, shifted reads away.
//!
//! *Records* are touched by headers and tails only: per output channel one integer with the queues
//! that request it in the order of its port list, its owner and where the next evaluation begins
//! (a grant is a shift and a count of zeros); per queue the packets whose header has come and whose
//! tail has not left, linked through the packets.
//!
//! # A cycle
//!
//! In `phases`. *Decide*, from the state at its beginning: packets enter processor queues (`inject`);
//! headers at the front of queues ask for outputs (`route_computation`, `adaptive_requests`); throttles hold
//! some of them (`injection_control`); outputs get owners (`vc_allocation`); flits cross the router, and ports choose those
//! that are sent, all in words (`crossbar`, a file per router variant). *Arrive*: headers find the queue they enter
//! and tails free outputs (`crossbar`); headers and flits enter (`arrive`). *Account* (`account`). Unpredictable branches are lists written without
//! a branch.
//!
//! Vectors are chosen at run time; the outcome does not depend on them.

mod crossbar;
mod crossing;
mod deadlock;
mod demands;
mod explicit_routes;
mod feeds;
mod full_ahead;
mod halo;
mod halo_exchange;
mod injection_control;
mod layout;
mod link_counts;
mod links;
mod memory;
mod moving;
mod observe;
mod output_arbiter;
mod packets;
mod pairs;
mod phases;
mod queues;
mod reach;
mod record;
mod repartition;
mod row_partition;
mod run;
mod saving;
mod source_queues;
mod state;
mod step;
mod throttles;

use super::{
    Network, Options, Outcome, SimulationError,
    protocol::{Clock, Engine, drive},
    regions::Rank,
};
use crate::{
    bits::{Available, InstructionSet, OnVectors, Vector},
    fabric::NodeId,
    probe::{Events, OutputChannel, Probe},
    router::{Arbitration, ChannelScheme, FlowControl, RouterError},
    routing::RoutingFunction,
    throttle::Interlock,
    traffic::{PacketSource, Sources, Workload},
};
use demands::Demands;
use layout::Layout;
pub use memory::bytes_per_router;
use record::Record;
use row_partition::{Common, Parts, divide};
use run::Run;
use state::State;
use std::{marker::PhantomData, sync::Arc};

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
pub fn simulate(
    network: &Network,
    workload: &Workload,
    options: &Options,
    probe: &mut dyn Probe,
) -> Result<Outcome, SimulationError> {
    General::new(network).run(workload, options, probe)
}

/// What is told of a run beside its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kept {
    /// The use of links.
    pub links: bool,
    /// What happens in windows of so many cycles.
    pub windows: Option<u64>,
    /// What a probe will be told.
    pub events: Events,
}

/// A network prepared for simulations.
#[derive(Clone, Debug)]
pub struct General {
    network: Network,
    layout: Arc<Layout>,
    set: InstructionSet,
}

impl General {
    /// Prepares a network.
    pub fn new(network: &Network) -> Self {
        let nodes = network.fabric().shape().nodes();
        let set = [InstructionSet::Avx512, InstructionSet::Avx2]
            .into_iter()
            .find(|&set| set.is_available() && 2 * nodes > set.bits())
            .unwrap_or(InstructionSet::Word);
        Self { network: network.clone(), layout: Arc::new(Layout::new(network)), set }
    }

    /// Uses other vectors than the best ones; the outcome does not depend on them. A set this
    /// processor does not have is not used.
    pub fn set_vectors(&mut self, set: InstructionSet) {
        if set.is_available() {
            self.set = set;
        }
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
        Arc::make_mut(&mut self.layout).set_arbitration(arbitration);
        Ok(())
    }

    /// Changes the channel scheme of one output port.
    ///
    /// # Panics
    /// The port does not exist.
    pub fn set_scheme(&mut self, node: NodeId, port: usize, scheme: ChannelScheme) {
        Arc::make_mut(&mut self.layout).set_scheme(node as usize, port, scheme);
    }

    /// Changes the port list of one output channel; `list` is a permutation of the input ports.
    ///
    /// # Panics
    /// The channel does not exist, or the list is not of the right length.
    pub fn set_port_list(&mut self, output: OutputChannel, list: &[u8]) {
        let OutputChannel { node, port, channel } = output;
        Arc::make_mut(&mut self.layout).set_port_list(node as usize, port.into(), channel.into(), list);
    }

    /// Simulates a workload from an empty network; see [`simulate`].
    ///
    /// # Errors
    /// As [`simulate`].
    pub fn run(
        &self,
        workload: &Workload,
        options: &Options,
        probe: &mut dyn Probe,
    ) -> Result<Outcome, SimulationError> {
        let kept = Kept { events: probe.wants(), ..Kept::default() };
        let mut engine = self.begin(workload, options, kept, Division::Threads(1))?;
        let mut clock = Clock::default();
        drive(&mut *engine, &mut clock, options, probe)?;
        engine.totals(&clock.stopped(options))
    }

    /// A run at its beginning that keeps records, in so many parts, if there are so many rows and what it
    /// does is divided among them. Probes are told of the whole only.
    ///
    /// # Errors
    /// The workload cannot run here.
    pub(crate) fn begin(
        &self,
        workload: &Workload,
        options: &Options,
        kept: Kept,
        division: Division,
    ) -> Result<Box<dyn Engine>, SimulationError> {
        let longest = self.check(workload)?;
        let guided = explicit_routes::by_dimension_order(&self.network, workload);
        let workload = guided.as_ref().unwrap_or(workload);
        let shape = self.network.fabric().shape();
        if shape.has_steps() && options.throttle.claims().signals {
            return Err(SimulationError::FullLines(Box::new(options.throttle)));
        }
        if shape.is_twisted() && options.throttle.claims().signals {
            return Err(SimulationError::TwistedLines(Box::new(options.throttle)));
        }
        let router = self.network.router();
        let depth = router.buffer - router.variant.behind_queue();
        if let Some(margin) = options.throttle.margin().filter(|&margin| margin >= depth) {
            return Err(SimulationError::Margin { margin, depth });
        }
        let given = workload.routes().is_some() || workload.book().is_some();
        let function = match (self.network.router().routing, given) {
            (RoutingFunction::DimensionOrder, true) => RoutingFunction::Given,
            (function, _) => function,
        };
        let place = self.network.router().place(self.network.fabric().shape());
        let claims = function.claims(place, self.layout.bubble);
        let may_deadlock = !function.is_deadlock_free(place, self.layout.bubble);
        let interlock = options.throttle == Interlock.into();
        let demands = Demands {
            uniform: workload.uniform_length().map(|_| longest),
            exact_feed: workload.listens() || interlock || may_deadlock,
            interlock,
            reinitialise: options.reinitialise_slices,
            links: kept.links,
            windows: kept.windows,
            watched: kept.events.blocked || kept.events.arbitration,
            function,
            reconsiders: !claims.oblivious,
            draws: claims.draws,
            seed: options.seed,
            watches: claims.watches,
            ..Demands::plain(longest)
        };
        let throttle = options.throttle;
        let common = Common {
            network: self.network.clone(),
            layout: self.layout.clone(),
            workload: workload.clone(),
            demands,
            may_deadlock,
            throttle,
        };
        let division = if kept.events == Events::NONE { division } else { Division::Threads(1) };
        Ok(self.begin_parts(common, division))
    }

    /// The parts of an empty network, in the narrowest records that hold its requests.
    fn begin_parts(&self, common: Common, division: Division) -> Box<dyn Engine> {
        let parts = if self.layout.fits::<u32>() {
            Self::parts_of::<u32>
        } else if self.layout.fits::<u64>() {
            Self::parts_of::<u64>
        } else {
            Self::parts_of::<u128>
        };
        parts(self, common, division)
    }

    fn parts_of<R: Record>(&self, common: Common, division: Division) -> Box<dyn Engine> {
        let begin = Begin::<R>(common, division, PhantomData);
        // Built without vectors of its own, it gets those that the compiler makes of four words.
        #[cfg(not(all(target_arch = "x86_64", feature = "vectors")))]
        if self.layout.nodes > 64 {
            return begin.run(crate::bits::Words::<4>::PROOF);
        }
        self.set.run(begin)
    }

    /// Checks that the workload can run here; returns the length of its longest packet.
    fn check(&self, workload: &Workload) -> Result<u32, SimulationError> {
        let nodes = self.layout.nodes;
        workload.check_nodes(nodes).map_err(|given| SimulationError::Nodes { given, needed: nodes })?;
        let longest = workload.longest();
        let (buffer, flow_control) = (self.network.router().buffer, self.network.router().flow_control);
        let packets_held = match flow_control {
            FlowControl::Wormhole => u64::from(self.layout.grant_needs_room),
            FlowControl::CutThrough => 1,
            FlowControl::Bubble => 2,
        };
        let needed = packets_held * u64::from(longest);
        if needed > u64::from(buffer) {
            let grant_needs_room = self.layout.grant_needs_room;
            return Err(SimulationError::PacketTooLong {
                buffer,
                flow_control,
                grant_needs_room,
                needed,
                length: longest,
            });
        }
        if self.layout.processor_queues > 1 && matches!(workload, Workload::Graph(_)) {
            return Err(SimulationError::GraphQueues);
        }
        reach::check(&self.network, workload)?;
        Ok(longest)
    }
}

/// Who runs a network.
pub(crate) enum Division {
    /// So many threads.
    Threads(usize),
    /// This process and others.
    Rank(Rank),
}

/// An empty network, whole or in parts, in records `R`.
struct Begin<R>(Common, Division, PhantomData<R>);

impl<R: Record> OnVectors for Begin<R> {
    type Output = Box<dyn Engine>;

    fn run<V: Vector>(self, proof: Available<V>) -> Self::Output {
        let Self(common, division, _) = self;
        let (threads, rank) = match division {
            Division::Threads(threads) => (threads, None),
            Division::Rank(rank) => (rank.ranks, Some(rank)),
        };
        let ranges = divide(&common.layout, threads);
        if ranges.len() > 1 || rank.is_some() {
            return Box::new(Parts::<V, R>::new(proof, common, ranges, rank));
        }
        let (rule, may_hold) = (common.rule(), common.may_hold());
        let Common { network, layout, workload, demands, may_deadlock, .. } = common;
        let sources = Sources::new(&workload, layout.nodes);
        let step = Box::new(State::<V, R>::new(proof, &layout, sources, demands, rule));
        Box::new(Run { network, layout, step, may_deadlock, may_hold })
    }
}
