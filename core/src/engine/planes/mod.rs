//! The plane engine: regular networks as a cellular automaton in bit planes.
//!
//! Every variable of a router - an owner, a precedence, a bit of an occupancy - is a plane with one
//! bit per router, and a cycle is a fixed sequence of logic operations on vectors of 64 to 512
//! routers. Dimension-order routing and datelines leave eleven input queues per router, so that a
//! router takes about 40 bytes. Outcomes equal those of the [general](super::general) engine bit for bit.
//!
//! [`supports`] says what it covers. Packets need no identity here, so it serves no probes except
//! the occupation of links.

mod arbiter;
mod arbitration_planes;
mod batch_sources;
mod block;
mod cycle;
mod injection;
mod lanes;
mod machine;
mod occupation;
mod packet_tags;
mod phases;
mod receive;
mod registers;
mod row_partition;
mod saving;
mod totals;

use super::{
    Network, Options, Outcome, SimulationError,
    protocol::{Clock, Engine, drive},
};
use crate::{
    bits::{Available, InstructionSet, OnVectors, Vector},
    fabric::{Direction, NodeId},
    probe::NoProbe,
    router::{ChannelScheme, FlowControl, ProcessorQueues, RouterConfig, Start},
    routing::{Datelines, RoutingFunction},
    traffic::{PacketSource, Workload},
};
pub use block::MAX_HEADERS;
use machine::{AnyMachine, Machine, Plan};
use thiserror::Error;

/// Deepest buffer in flits.
pub const MAX_BUFFER: u16 = 1 << (OCCUPANCY - 1);
/// Planes of a queue's occupancy.
const OCCUPANCY: usize = 4;

/// The fastest set of this processor for `networks` copies of a network: the widest one that the
/// routers fill, or else the narrowest that holds them all.
pub fn best_set(network: &Network, networks: usize) -> InstructionSet {
    let lanes = |set: InstructionSet| {
        lanes::Tiling::new(network.fabric().shape(), set.bits(), networks).lanes() as usize
    };
    [InstructionSet::Avx512, InstructionSet::Avx2]
        .into_iter()
        .find(|&set| set.is_available() && 2 * lanes(set) > set.bits())
        .unwrap_or(InstructionSet::Word)
}

/// Why the planes do not cover a case.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unsupported {
    /// More than two dimensions.
    #[error("planes cover one and two dimensions, not {0}")]
    Dimensions(usize),
    /// Dimensions that are full meshes or circulants.
    #[error("planes cover tori and meshes, not full meshes or circulants")]
    Full,
    /// A twisted torus.
    #[error("planes cover no twisted tori")]
    Twist,
    /// Something has failed.
    #[error("planes cover healthy networks only")]
    Failures,
    /// Too few virtual channels to keep the datelines apart.
    #[error("planes need {needed} virtual channels here, not {given}")]
    Channels {
        /// Channels of the router.
        given: u8,
        /// Channels that keep the network free of deadlock.
        needed: u8,
    },
    /// Buffers too deep.
    #[error("planes cover buffers up to {MAX_BUFFER} flits, not {0}")]
    Buffer(u16),
    /// Links too slow.
    #[error("planes cover links of one cycle, not {0}")]
    Latency(u16),
    /// Virtual cut-through.
    #[error("planes cover wormhole flow control only")]
    FlowControl,
    /// Datelines of no [name](Datelines::NAMES).
    #[error("planes cover routers whose rings have datelines only")]
    Datelines,
    /// Grants that need room.
    #[error("planes cover grants that do not look at the space behind a link only")]
    GrantNeedsRoom,
    /// Several queues of the processor.
    #[error("planes cover routers with one queue of the processor only")]
    ProcessorQueues,
    /// A channel-selection scheme.
    #[error("planes do not cover switch allocation by scheme {0}")]
    Scheme(ChannelScheme),
    /// A variant of the router.
    #[error("planes do not cover routers of variant {0}")]
    Variant(&'static str),
    /// A message graph.
    #[error("planes cover packet lists and loads, not message graphs")]
    Graph,
    /// Sources that wait for deliveries.
    #[error("planes cover open loads, not closed sources")]
    Closed,
    /// Packets so short that two of them are in a register and the queue before it.
    #[error(
        "planes cover output registers only with packets as long as buffers, {buffer} flits, not {length}"
    )]
    Registers {
        /// Flits of every packet.
        length: u32,
        /// Depth of buffers, a register included.
        buffer: u16,
    },
    /// Another way than dimension order.
    #[error("planes cover dimension-order routing only, not {0}")]
    Routing(&'static str),
    /// Packets with routes of their own.
    #[error("planes cover dimension-order routes only")]
    Routes,
    /// Packets of several lengths.
    #[error("planes cover packets of one length only")]
    Lengths,
    /// Packets so short that a queue holds too many headers.
    #[error("planes cover up to {MAX_HEADERS} headers per queue, not {0}")]
    Headers(u32),
    /// The workload is for another number of nodes.
    #[error("the workload is for another number of nodes")]
    Nodes,
}

/// Whether the planes cover a case: a healthy torus or mesh of one or two dimensions with any sizes,
/// at least as many virtual channels as it needs to be free of deadlock, buffers up to 8 flits,
/// latency of one cycle and wormhole flow control, any datelines and any arbitration settings but
/// [`ChannelScheme::Packet`]; and packets of one length, of which a queue holds four at most. Output registers
/// take packets at least as long as the buffers.
///
/// # Errors
/// What is not covered.
pub fn supports(network: &Network, workload: &Workload) -> Result<(), Unsupported> {
    let (shape, router) = (network.fabric().shape(), network.router());
    if router.routing != RoutingFunction::DimensionOrder {
        return Err(Unsupported::Routing(router.routing.name()));
    }
    if shape.dimensions() > 2 {
        return Err(Unsupported::Dimensions(shape.dimensions()));
    }
    if shape.is_twisted() {
        return Err(Unsupported::Twist);
    }
    if shape.has_steps() {
        return Err(Unsupported::Full);
    }
    if !network.fabric().is_healthy() {
        return Err(Unsupported::Failures);
    }
    let needed = RouterConfig::channels_needed(shape);
    if router.channels < needed {
        return Err(Unsupported::Channels { given: router.channels, needed });
    }
    if router.buffer > MAX_BUFFER {
        return Err(Unsupported::Buffer(router.buffer));
    }
    if router.latency != 1 {
        return Err(Unsupported::Latency(router.latency));
    }
    if router.flow_control != FlowControl::Wormhole {
        return Err(Unsupported::FlowControl);
    }
    if Datelines::NAMES.iter().all(|&(_, datelines)| datelines != router.datelines) {
        return Err(Unsupported::Datelines);
    }
    if router.grant_needs_room {
        return Err(Unsupported::GrantNeedsRoom);
    }
    if router.processor_queues != ProcessorQueues::One {
        return Err(Unsupported::ProcessorQueues);
    }
    if let Some(&scheme) = router.arbitration.schemes.iter().find(|&&scheme| !have(scheme)) {
        return Err(Unsupported::Scheme(scheme));
    }
    let facts = router.variant.facts();
    if !facts.in_planes {
        return Err(Unsupported::Variant(facts.name));
    }
    let length = length(workload)?;
    if facts.registers && length < u32::from(router.buffer) {
        return Err(Unsupported::Registers { length, buffer: router.buffer });
    }
    let headers = u32::from(router.buffer - router.variant.behind_queue()).div_ceil(length.max(1));
    if headers > MAX_HEADERS {
        return Err(Unsupported::Headers(headers));
    }
    if workload.check_nodes(shape.nodes()).is_err() {
        return Err(Unsupported::Nodes);
    }
    if workload.routes().is_some() || workload.book().is_some() {
        return Err(Unsupported::Routes);
    }
    Ok(())
}

/// Whether the planes have a scheme: by the channels' numbers, or with the channel used last before or behind all
/// others.
fn have(scheme: ChannelScheme) -> bool {
    match scheme.start() {
        Start::Last | Start::At(_) => true,
        Start::After => scheme.ascending(),
        Start::Before => !scheme.ascending(),
        Start::ByPacket => false,
    }
}

/// Flits of every packet.
fn length(workload: &Workload) -> Result<u32, Unsupported> {
    match workload {
        Workload::Graph(_) => Err(Unsupported::Graph),
        Workload::Load(load) if load.outstanding().is_some() => Err(Unsupported::Closed),
        _ => workload.uniform_length().ok_or(Unsupported::Lengths),
    }
}

/// Whether the planes are likely to be faster than the general engine in a case they cover.
///
/// Their work is the same whatever moves, so the lanes have to be filled (sizes with few factors of
/// two leave most of a vector empty), and a fixed list has to keep some links busy.
pub fn pays(network: &Network, workload: &Workload) -> bool {
    /// Packets looked at.
    const SAMPLE: usize = 1024;
    /// Flit-hops per router and cycle at which the engines are about equally fast.
    const BREAK_EVEN: f64 = 0.04;
    let shape = network.fabric().shape();
    if lanes::Tiling::new(shape, 64, 1).lanes() < 16 {
        return false;
    }
    let Workload::Packets(list) = workload else { return true };
    let sample = list.iter().step_by(list.len() / SAMPLE + 1);
    let (mut flit_hops, mut cycles, mut looked_at) = (0, 1, 0);
    for (source, packet) in sample {
        let way = u64::from(shape.distance(source, packet.destination) + packet.length);
        flit_hops += way * u64::from(packet.length);
        cycles = cycles.max(packet.start + way);
        looked_at += 1;
    }
    let share = list.len() as f64 / f64::from(looked_at.max(1));
    flit_hops as f64 * share > BREAK_EVEN * shape.nodes() as f64 * cycles as f64
}

/// What a [`Planes`] is built for.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The vectors; the best ones if none are named.
    pub set: Option<InstructionSet>,
    /// Networks to be simulated side by side, each with settings of its own. As many as fit in a
    /// vector are made: [`Planes::networks`].
    pub networks: usize,
    /// Whether [`Outcome::fingerprint`] is computed; otherwise it is 0.
    pub fingerprints: bool,
    /// Whether the first and last cycle of every link are kept.
    pub occupation: bool,
    /// Whether [`Outcome::latency_sum`] is exact also when a run is stopped with packets under way,
    /// for which their headers carry tags; otherwise it is 0 then.
    pub latencies: bool,
    /// Whether all totals are counted; otherwise [`Outcome::duration`], [`Outcome::cycles`],
    /// [`Outcome::packets_delivered`] and [`Outcome::lateness`] only, and all others may be 0.
    pub totals: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { set: None, networks: 1, fingerprints: true, occupation: false, latencies: true, totals: true }
    }
}

/// A network and a workload prepared for many simulations: settings of single routers are changed in
/// place, and runs allocate nothing.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, planes::{Planes, Settings}},
///     fabric::{Fabric, Shape},
///     router::{ChannelScheme, RouterConfig},
///     traffic::{Collective, Pattern, Workload},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let destinations = Pattern::Tornado.destinations(&shape, 0)?;
/// let packets = Collective::default().packet_list(shape.nodes(), &destinations)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let workload = Workload::Packets(packets);
/// let mut planes = Planes::new(&network, &workload, Settings::default())?;
/// assert_eq!(planes.run(&Default::default())?[0].duration, 67);
/// planes.set_delay(0, 17, 3);
/// planes.set_scheme(0, 17, 0, ChannelScheme::C05);
/// planes.set_port_list(0, 17, 4, 0, &[0, 1, 2, 3, 4]);
/// assert!(planes.run(&Default::default())?[0].duration >= 67);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Planes {
    engine: Box<dyn AnyMachine>,
    ports: usize,
}

/// A run of one network at its beginning, in so many threads; see [`AnyMachine::begin`].
///
/// # Errors
/// The case is not covered.
pub(crate) fn begin(
    network: &Network,
    workload: &Workload,
    settings: Settings,
    stop_at: Option<u64>,
    tags: bool,
    threads: usize,
) -> Result<Box<dyn Engine>, Unsupported> {
    let mut engine = Planes::new(network, workload, settings)?.engine;
    engine.set_threads(threads);
    engine.begin(stop_at, tags);
    Ok(engine)
}

impl Planes {
    /// Prepares a network for a workload; `settings.set` falls back to the best available one.
    ///
    /// # Errors
    /// The case is not covered; see [`supports`].
    pub fn new(network: &Network, workload: &Workload, settings: Settings) -> Result<Self, Unsupported> {
        supports(network, workload)?;
        let set = settings.set.filter(|set| set.is_available());
        let set = set.unwrap_or_else(|| best_set(network, settings.networks));
        let plan = Plan {
            workload,
            length: length(workload)?.max(1),
            copies: settings.networks,
            fingerprints: settings.fingerprints,
            latencies: settings.latencies,
            occupation: settings.occupation,
            totals: settings.totals,
        };
        let engine = set.run(Build { network, plan: &plan });
        let ports = network.fabric().shape().directions() + 1;
        Ok(Self { engine, ports })
    }

    /// Networks simulated side by side.
    pub fn networks(&self) -> usize {
        self.engine.copies()
    }

    /// Simulates from empty networks; one outcome per network.
    ///
    /// # Errors
    /// A limit was met or the run was interrupted. Nothing that the planes cover deadlocks; where nothing can move
    /// any more, [`simulate_in_planes`](super::simulate_in_planes) asks the general engine why.
    pub fn run(&mut self, options: &Options) -> Result<&[Outcome], SimulationError> {
        // Where packets turn out to be older than the tags, once more with tags from the beginning.
        if !self.run_once(options, false)? {
            self.run_once(options, true)?;
        }
        Ok(self.engine.totals_of_all())
    }

    fn run_once(&mut self, options: &Options, tags: bool) -> Result<bool, SimulationError> {
        self.engine.begin(options.stop_at, tags);
        let mut clock = Clock::default();
        drive(&mut *self.engine, &mut clock, options, &mut NoProbe)?;
        Ok(self.engine.add_up(&clock.stopped(options)))
    }

    /// Adds a delay in cycles to the starts of all packets of a node.
    pub fn set_delay(&mut self, network: usize, node: NodeId, cycles: u64) {
        self.engine.set_delay(network, node, cycles);
    }

    /// Adds a number of cycles to the start of packet number k (from 0) of every node, k times.
    pub fn set_interval(&mut self, network: usize, cycles: u64) {
        self.engine.set_interval(network, cycles);
    }

    /// Sets the channel-selection scheme of an output port.
    pub fn set_scheme(&mut self, network: usize, node: NodeId, port: usize, scheme: ChannelScheme) {
        self.engine.set_scheme(network, node, port, scheme);
    }

    /// Sets the port list of an output channel: a permutation of the input ports.
    pub fn set_port_list(&mut self, network: usize, node: NodeId, port: usize, channel: u8, list: &[u8]) {
        debug_assert_eq!(list.len(), self.ports);
        self.engine.set_port_list(network, node, port, channel, list);
    }

    /// First and last cycle in which a flit crossed a link in the last run, if it was used and
    /// occupation is kept.
    pub fn link_cycles(&self, network: usize, node: NodeId, direction: Direction) -> Option<(u64, u64)> {
        self.engine.link_cycles(network, node, direction.index())
    }

    /// Bytes of state and settings, all networks together.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }
}

/// A machine to be built.
struct Build<'a> {
    network: &'a Network,
    plan: &'a Plan<'a>,
}

impl OnVectors for Build<'_> {
    type Output = Box<dyn AnyMachine>;

    fn run<V: Vector>(self, proof: Available<V>) -> Self::Output {
        Box::new(Machine::<V, OCCUPANCY>::new(proof, self.network, self.plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::general,
        fabric::{Fabric, Shape},
        router::Variant,
        traffic::{OpenLoad, Pattern},
    };

    #[test]
    fn one_flipped_plane_bit_is_noticed() {
        let shape = Shape::torus(&[8, 8]).unwrap();
        let pattern = Pattern::Hotspot { fraction: 0.3, target: 19 };
        let destinations = pattern.destinations(&shape, 7).unwrap();
        let load = Workload::Load(OpenLoad::new(destinations, 0.3, 8, 200, 7).unwrap());
        let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
        let options = Options { cycle_limit: Some(5000), ..Options::default() };
        let expected = general::simulate(&network, &load, &options, &mut NoProbe);
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            let settings = Settings { set: Some(set), ..Settings::default() };
            let mut planes = Planes::new(&network, &load, settings).unwrap();
            assert_eq!(planes.run(&options).map(|outcomes| outcomes[0].clone()), expected);
            planes.engine.corrupt(19);
            let corrupted = planes.run(&options).map(|outcomes| outcomes[0].clone());
            assert_ne!(corrupted, expected, "{set:?}");
        }
    }

    /// Sums of latencies at a stop, at any load: without a run from the beginning once more, and as the
    /// general engine has them.
    #[test]
    fn latencies_at_a_stop_are_known_beyond_saturation() {
        for (side, stops) in [(8, [400, 3000]), (16, [300, 2000])] {
            let shape = Shape::torus(&[side, side]).unwrap();
            let registers = RouterConfig {
                variant: Variant::Registers,
                datelines: Datelines::CHECKERBOARD,
                ..RouterConfig::default()
            };
            let networks = [RouterConfig::default(), registers]
                .map(|router| Network::new(Fabric::new(shape.clone()), router).unwrap());
            let rates = [0.1, 0.4, 0.9].into_iter().flat_map(|rate| stops.map(|stop| (rate, stop)));
            for ((rate, stop), network) in
                rates.flat_map(|at| networks.each_ref().map(|network| (at, network)))
            {
                let random = Pattern::Random.destinations(&shape, 3).unwrap();
                let load = Workload::Load(OpenLoad::new(random, rate, 8, stop, 3).unwrap());
                let options = Options { stop_at: Some(stop), ..Options::default() };
                let mut planes = Planes::new(network, &load, Settings::default()).unwrap();
                assert!(planes.run_once(&options, false).unwrap(), "{side} {rate} {stop}");
                let expected = general::simulate(network, &load, &options, &mut NoProbe).unwrap();
                assert_eq!(planes.engine.totals_of_all()[0], expected, "{side} {rate} {stop}");
            }
        }
    }

    /// Rows that send and receive in one sweep do what rows do that all send first.
    #[test]
    fn sweeps_do_what_phases_do() {
        for (sizes, wraps) in [([24, 24], true), ([24, 40], false), ([16, 56], true), ([8, 136], true)] {
            let shape = Shape::new(&sizes, &[wraps; 2]).unwrap();
            let network = Network::new(Fabric::new(shape.clone()), RouterConfig::default()).unwrap();
            for (rate, length) in [(0.05, 8), (0.6, 3), (0.9, 1)] {
                let random = Pattern::Random.destinations(&shape, 5).unwrap();
                let load = Workload::Load(OpenLoad::new(random, rate, length, 150, 5).unwrap());
                let settings = Settings {
                    set: Some(InstructionSet::Word),
                    occupation: true,
                    latencies: false,
                    ..Settings::default()
                };
                let [mut phases, mut sweeps] =
                    [(); 2].map(|()| Planes::new(&network, &load, settings).unwrap());
                sweeps.engine.set_sweeps();
                for stop_at in [Some(120), None] {
                    let options = Options { stop_at, ..Options::default() };
                    assert_eq!(sweeps.run(&options), phases.run(&options), "{sizes:?} {rate}");
                    let used = |planes: &Planes| planes.engine.links();
                    assert!(used(&sweeps) == used(&phases));
                }
            }
        }
    }

    #[test]
    fn what_is_not_covered_says_so() {
        let shape = Shape::torus(&[4, 4, 4]).unwrap();
        let random = Pattern::Random.destinations(&shape, 1).unwrap();
        let load = Workload::Load(OpenLoad::new(random, 0.1, 8, 10, 1).unwrap());
        let router = RouterConfig::for_shape(&shape);
        let network = Network::new(Fabric::new(shape), router).unwrap();
        assert_eq!(supports(&network, &load), Err(Unsupported::Dimensions(3)));
    }
}
