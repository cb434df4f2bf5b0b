use super::{
    EngineKind, Network, Options, Outcome, Rank, Setup, SimulationError,
    general::{self, Division, Kept},
    pipelined::{self, Pipeline},
    planes::{self, Planes},
    protocol::{Clock, Engine, drive},
};
use crate::{
    bits::InstructionSet,
    probe::{LinkOccupation, NoProbe, Probe, SavedProbe, Windows},
    save::{Archive, SaveError},
    traffic::Workload,
};

/// A simulation that somebody holds: it can be run a piece at a time, looked at and copied.
///
/// ```
/// use flitloom_core::{
///     engine::{Network, Options, Setup, Simulation},
///     fabric::{Fabric, Shape},
///     router::RouterConfig,
///     traffic::{Collective, Pattern, Workload},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let destinations = Pattern::Transpose.destinations(&shape, 0)?;
/// let packets = Collective::default().packet_list(shape.nodes(), &destinations)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let mut simulation = Simulation::new(&network, &Workload::Packets(packets), &Setup::default())?;
/// simulation.run(&Options { stop_at: Some(20), ..Options::default() })?;
/// assert_eq!(simulation.now(), 20);
/// assert!(simulation.totals()?.packets_delivered < 256);
/// simulation.run(&Options::default())?;
/// assert!(simulation.is_finished());
/// assert_eq!(simulation.totals()?.duration, 74); // cup-stacking-2022, Table 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<P: Probe = NoProbe> {
    /// Routers of one cycle, of which the general engine is asked what the planes do not know.
    network: Option<Network>,
    workload: Workload,
    kind: EngineKind,
    engine: Box<dyn Engine>,
    clock: Clock,
    probe: P,
}

impl Simulation {
    /// A run at its beginning, on the fastest engine that covers the case unless one is named: the
    /// planes where they can and pay, else the general engine.
    ///
    /// # Errors
    /// The workload cannot run on the network.
    pub fn new(network: &Network, workload: &Workload, setup: &Setup) -> Result<Self, SimulationError> {
        let wants_planes = match setup.engine {
            Some(kind) => kind == EngineKind::Planes,
            None => planes::pays(network, workload),
        };
        let on_planes = if wants_planes && setup.options.plain_rules() && setup.windows.is_none() {
            let wanted = planes::Settings {
                set: setup.set,
                occupation: setup.links,
                latencies: setup.latencies || setup.options.stop_at.is_some(),
                ..planes::Settings::default()
            };
            let stop_at = setup.options.stop_at.filter(|_| !setup.latencies);
            planes::begin(network, workload, wanted, stop_at, setup.latencies, setup.parts).ok()
        } else {
            None
        };
        let (kind, engine) = if let Some(engine) = on_planes {
            (EngineKind::Planes, engine)
        } else {
            let kept = Kept { links: setup.links, windows: setup.windows, ..Kept::default() };
            let mut general = general::General::new(network);
            if let Some(set) = setup.set {
                general.set_vectors(set);
            }
            let division = Division::Threads(setup.parts);
            let engine = general.begin(workload, &setup.options, kept, division)?;
            (EngineKind::General, engine)
        };
        Ok(Self::begun(Some(network), workload, kind, engine, NoProbe))
    }

    /// A run at its beginning on pipelined routers, of a workload whose nodes are those of the network.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::{Options, Setup, Simulation, pipelined::{Config, Place}},
    ///     fabric::Shape,
    ///     routing::{ChannelRule, Datelines, RoutingFunction},
    ///     traffic::{OpenLoad, Packet, PacketList, Pattern, Workload},
    /// };
    /// let shape = Shape::mesh(&[4, 4])?;
    /// let packet = Packet { destination: 5, length: 3, start: 0, slice: 0 };
    /// let nodes = (0..16).map(|node| if node == 0 { vec![packet] } else { vec![] });
    /// let workload = Workload::Packets(PacketList::from_nodes(nodes)?);
    /// let rule = ChannelRule::new(1, Datelines::BOTH);
    /// let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
    /// let mut simulation = Simulation::pipelined(&Config::default(), &place, &workload, &Setup::default())?;
    /// simulation.run(&Options::default())?;
    /// // Three routers of three cycles, four links of two, and two more flits.
    /// assert_eq!(simulation.totals()?.duration, 3 * 3 + 4 * 2 + 2);
    ///
    /// // What comes out depends neither on threads nor on how a run is held.
    /// let torus = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&torus, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.3, 5, 500, 1)?);
    /// let rule = ChannelRule::new(4, Datelines::BOTH);
    /// let place = Place::Grid(&torus, RoutingFunction::DimensionOrder, rule);
    /// let begin = |parts| {
    ///     let setup = Setup { parts, ports_of_a_part: Some(100), ..Setup::default() };
    ///     Simulation::pipelined(&Config::default(), &place, &load, &setup)
    /// };
    /// let (mut first, mut second) = (begin(2)?, begin(1)?);
    /// assert_eq!((first.parts(), second.parts()), (2, 1));
    /// first.run(&Options { stop_at: Some(200), ..Options::default() })?;
    /// second.restore(first.save())?;
    /// first.run(&Options::default())?;
    /// second.run(&Options::default())?;
    /// assert_eq!((first.totals()?, first.links()), (second.totals()?, second.links()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A field of the routers has a value that is not known, or not together with others.
    pub fn pipelined(
        config: &pipelined::Config,
        place: &pipelined::Place<'_>,
        workload: &Workload,
        setup: &Setup,
    ) -> Result<Self, SimulationError> {
        Self::pipelined_observed(config, place, workload, setup, None, |_| NoProbe)
    }

    /// A run at its beginning of which this process has a part and others, which begin the same, have
    /// theirs: `rank.ranks` parts, no more than the network has rows. Every call must be made by all
    /// of them in the same order; they all see the same.
    ///
    /// # Errors
    /// The workload cannot run on the network.
    pub fn on_rank(
        network: &Network,
        workload: &Workload,
        setup: &Setup,
        rank: Rank,
    ) -> Result<Self, SimulationError> {
        let mut general = general::General::new(network);
        if let Some(set) = setup.set {
            general.set_vectors(set);
        }
        let kept = Kept { links: setup.links, windows: setup.windows, ..Kept::default() };
        let engine = general.begin(workload, &setup.options, kept, Division::Rank(rank))?;
        Ok(Self::begun(Some(network), workload, EngineKind::General, engine, NoProbe))
    }
}

impl<P: Probe> Simulation<P> {
    /// A run at its beginning on the general engine, listened to by a probe.
    ///
    /// # Errors
    /// The workload cannot run on the network.
    pub fn observed(
        network: &Network,
        workload: &Workload,
        options: &Options,
        probe: P,
    ) -> Result<Self, SimulationError> {
        let kept = Kept { events: probe.wants(), ..Kept::default() };
        let engine = general::General::new(network).begin(workload, options, kept, Division::Threads(1))?;
        Ok(Self::begun(Some(network), workload, EngineKind::General, engine, probe))
    }

    /// As [`pipelined`](Simulation::pipelined), listened to by a probe of so many links, which are output ports of all
    /// routers: a packet is injected when its header leaves its source, and flits are ejected when they leave their last router. On
    /// ranks it is in as many parts as there are processes that begin the same run; as with
    /// [`on_rank`](Simulation::on_rank) all of them make the same calls, and see the same.
    ///
    /// # Errors
    /// As [`pipelined`](Simulation::pipelined), and if on ranks routers with these options, or with a probe, are not divided.
    pub fn pipelined_observed(
        config: &pipelined::Config,
        place: &pipelined::Place<'_>,
        workload: &Workload,
        setup: &Setup,
        rank: Option<Rank>,
        probe: impl FnOnce(usize) -> P,
    ) -> Result<Self, SimulationError> {
        let (pipeline, probe) = Pipeline::new(config, place, workload, setup, rank, probe)?;
        Ok(Self::on(pipeline, workload, probe))
    }

    /// A run on pipelined routers that are at its beginning.
    pub(super) fn on(pipeline: Pipeline, workload: &Workload, probe: P) -> Self {
        Self::begun(None, workload, EngineKind::Pipelined, Box::new(pipeline), probe)
    }

    fn begun(
        network: Option<&Network>,
        workload: &Workload,
        kind: EngineKind,
        engine: Box<dyn Engine>,
        probe: P,
    ) -> Self {
        let (network, workload) = (network.cloned(), workload.clone());
        let clock = Clock { next_check: engine.check_every(), ..Clock::default() };
        Self { network, workload, kind, engine, clock, probe }
    }

    /// Runs until everything is delivered or `options` end it; their rules are those the run was made
    /// with. After a limit or an interruption it can be run on.
    ///
    /// # Errors
    /// A limit was met, the run was interrupted, or nothing can move any more.
    pub fn run(&mut self, options: &Options) -> Result<(), SimulationError> {
        drive(&mut *self.engine, &mut self.clock, options, &mut self.probe).map_err(|error| {
            match &self.network {
                Some(network) => why(error, network, &self.workload, options),
                None => error,
            }
        })
    }

    /// Whether some packets already wait for each other for good while others may still move; a run
    /// looks every 4096 cycles, one of pipelined routers every 16384 and when no flit arrives.
    ///
    /// # Errors
    /// They do: [`SimulationError::Deadlock`], or [`SimulationError::Blocked`] in pipelined routers.
    pub fn check_deadlock(&self) -> Result<(), SimulationError> {
        self.engine.check(self.clock.cycle)
    }

    /// The cycle that comes next.
    pub fn now(&self) -> u64 {
        self.clock.cycle
    }

    /// Packets delivered so far.
    pub fn delivered(&self) -> u64 {
        self.engine.delivered()
    }

    /// Whether everything is delivered.
    pub fn is_finished(&self) -> bool {
        self.clock.finished
    }

    /// The engine it runs on.
    pub fn engine(&self) -> EngineKind {
        self.kind
    }

    /// Parts the network is divided into, each with a thread of its own.
    pub fn parts(&self) -> usize {
        self.engine.parts()
    }

    /// What only pipelined routers know, if it runs on them.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.engine.itself()?.downcast_ref()
    }

    /// What is sent.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// What the probe has seen so far.
    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// The totals so far. [`Outcome::cycles`] counts to the present cycle, or to the last delivery
    /// once everything is delivered.
    ///
    /// # Errors
    /// Operations of a message graph are left that wait for each other.
    pub fn totals(&mut self) -> Result<Outcome, SimulationError> {
        self.engine.totals(&self.clock)
    }

    /// The totals of a run that was to stop at `options.stop_at`: they count all cycles before it.
    ///
    /// # Errors
    /// As [`totals`](Self::totals).
    pub fn totals_at_stop(&mut self, options: &Options) -> Result<Outcome, SimulationError> {
        self.engine.totals(&self.clock.stopped(options))
    }

    /// The state in bytes, from which [`restore`](Self::restore) takes it up again. What the run
    /// was made of (network, workload, setup) is not in it.
    pub fn save(&mut self) -> Vec<u8>
    where
        P: SavedProbe,
    {
        Archive::written(|archive| self.fields(archive))
    }

    /// Takes a saved state up in a simulation at its beginning that was made of the same things; on
    /// an error it must not be used any more.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::{Network, Options, Setup, Simulation},
    ///     fabric::{Fabric, Shape},
    ///     router::RouterConfig,
    ///     traffic::{OpenLoad, Pattern, Workload},
    /// };
    /// let shape = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.3, 8, 500, 1)?);
    /// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
    /// let mut first = Simulation::new(&network, &load, &Setup::default())?;
    /// first.run(&Options { stop_at: Some(300), ..Options::default() })?;
    /// let mut second = Simulation::new(&network, &load, &Setup::default())?;
    /// second.restore(first.save())?;
    /// first.run(&Options::default())?;
    /// second.run(&Options::default())?;
    /// assert_eq!(first.totals(), second.totals());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are not those of such a simulation.
    pub fn restore(&mut self, bytes: Vec<u8>) -> Result<(), SaveError>
    where
        P: SavedProbe,
    {
        let mut archive = Archive::reading(bytes);
        self.fields(&mut archive)?;
        archive.end()
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError>
    where
        P: SavedProbe,
    {
        self.kind.fields(archive)?;
        self.engine.fields(&mut self.clock, archive)?;
        self.probe.fields(archive)
    }

    /// First and last cycle and flits of every link, if they are kept; of every output port of pipelined routers.
    pub fn links(&self) -> Option<LinkOccupation> {
        self.engine.links()
    }

    /// What happened in the windows that have ended, if that is kept; where
    /// [`measure`](Windows::measure) says what is measured.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::{Network, Options, Setup, Simulation},
    ///     fabric::{Fabric, Shape},
    ///     router::RouterConfig,
    ///     traffic::{OpenLoad, Pattern, Workload},
    /// };
    /// let shape = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.2, 8, 500, 1)?);
    /// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
    /// let setup = Setup { windows: Some(100), ..Setup::default() };
    /// let mut simulation = Simulation::new(&network, &load, &setup)?;
    /// simulation.run(&Options { stop_at: Some(300), ..Options::default() })?;
    /// let delivered = simulation.delivered();
    /// let windows = simulation.windows().unwrap();
    /// assert_eq!(windows.closed().len(), 3);
    /// assert_eq!(windows.closed().iter().map(|window| window.delivered_packets).sum::<u64>(), delivered);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn windows(&mut self) -> Option<&mut Windows> {
        let cycle = self.clock.cycle;
        // Nothing more will happen in the last window of a finished run.
        let rest = if self.clock.finished { self.engine.windows(cycle)?.cycles() - 1 } else { 0 };
        self.engine.windows(cycle + rest)
    }

    /// Flits in every input buffer: `(node * directions + direction) * channels + channel`, where the
    /// direction is that in which they came; `input * channels + channel` of [pipelined routers](Pipeline::input).
    pub fn occupancy(&self) -> Vec<u16> {
        self.engine.occupancy()
    }
}

impl<P: Probe + Clone> Clone for Simulation<P> {
    fn clone(&self) -> Self {
        Self {
            network: self.network.clone(),
            workload: self.workload.clone(),
            kind: self.kind,
            engine: self.engine.copy(),
            clock: self.clock,
            probe: self.probe.clone(),
        }
    }
}

/// Simulates a workload until everything is delivered or `options` end it, as
/// [`general::simulate`] does.
///
/// ```
/// use flitloom_core::{
///     engine::{self, Network, planes},
///     fabric::{Fabric, Shape},
///     router::RouterConfig,
///     traffic::{Collective, Pattern, Workload},
/// };
/// let shape = Shape::torus(&[16, 16])?;
/// let destinations = Pattern::Transpose.destinations(&shape, 0)?;
/// let packets = Collective::default().packet_list(shape.nodes(), &destinations)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let workload = Workload::Packets(packets);
/// assert_eq!(planes::supports(&network, &workload), Ok(()));
/// let set = planes::best_set(&network, 1);
/// let outcome = engine::simulate_in_planes(&network, &workload, &Default::default(), set)?;
/// assert_eq!(outcome.duration, 74); // cup-stacking-2022, Table 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A case that is not covered, or an instruction set this processor does not have, goes to the
/// general engine.
///
/// # Errors
/// As [`general::simulate`].
pub fn simulate_in_planes(
    network: &Network,
    workload: &Workload,
    options: &Options,
    set: InstructionSet,
) -> Result<Outcome, SimulationError> {
    let settings = planes::Settings { set: Some(set), ..planes::Settings::default() };
    let Ok(mut planes) = Planes::new(network, workload, settings) else {
        return general::simulate(network, workload, options, &mut NoProbe);
    };
    let outcomes = planes.run(options).map_err(|error| why(error, network, workload, options))?;
    Ok(outcomes[0].clone())
}

/// Why nothing moves any more, where an engine does not know: the general engine is asked.
fn why(error: SimulationError, network: &Network, workload: &Workload, options: &Options) -> SimulationError {
    let SimulationError::Stuck { cycle } = error else { return error };
    let options = Options { stop_at: None, cycle_limit: Some(cycle + 2), ..*options };
    match general::simulate(network, workload, &options, &mut NoProbe) {
        Err(error @ (SimulationError::Deadlock(_) | SimulationError::Interrupted(_))) => error,
        _ => SimulationError::Disagreement { cycle },
    }
}
