use super::{Case, Chromosome, Evaluation, Settings, case::GeneSpace, evaluation::Evaluator};
use crate::{
    engine::{
        Options, Outcome, SimulationError,
        general::General,
        planes::{self, Planes},
    },
    fabric::{Direction, NodeId},
    probe::{ArbitrationCounts, ArbitrationUse, LinkOccupation, NoProbe, OutputChannel, Probe},
    router::ChannelScheme,
    throttle::{Interlock, Throttle},
    traffic::{Collective, Workload},
};

/// What is to be seen in every simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    pub thickness: bool,
    /// Lost arbitrations, which only the general engine counts.
    pub counts: bool,
    /// Which arbitration settings mattered, where that is cheap to know.
    pub used: bool,
    pub reinitialise_slices: bool,
    pub interlock_slices: bool,
    pub planes: bool,
}

impl Wanted {
    /// What a search with these settings needs.
    pub(super) fn by(settings: &Settings) -> Self {
        Self {
            thickness: settings.objective.needs_thickness() || settings.sort_key.needs_thickness(),
            counts: false,
            used: settings.skip_unused,
            reinitialise_slices: settings.reinitialise_slices,
            interlock_slices: settings.interlock_slices,
            planes: settings.planes,
        }
    }

    /// Everything about a chromosome.
    pub(super) fn all(settings: &Settings) -> Self {
        Self { counts: true, thickness: true, used: false, ..Self::by(settings) }
    }
}

/// The fastest evaluator that shows what is wanted.
pub(super) fn evaluator<'a>(
    case: &'a Case,
    wanted: Wanted,
) -> Result<Box<dyn Evaluator + 'a>, SimulationError> {
    let rules = wanted.reinitialise_slices || wanted.interlock_slices;
    if wanted.planes && !rules && !wanted.counts && planes::pays(case.network, &case.workload) {
        let settings = planes::Settings {
            set: None,
            networks: 2,
            fingerprints: false,
            occupation: wanted.thickness,
            latencies: false,
            totals: false,
        };
        if let Ok(planes) = Planes::new(case.network, &case.workload, settings) {
            let lanes = planes.networks();
            let mut planes = PlaneEvaluator {
                planes,
                seen: vec![Evaluation::default(); lanes],
                packets: case.packets(),
                nodes: case.nodes(),
                directions: case.ports() - 1,
                thickness: wanted.thickness,
            };
            for lane in 0..lanes {
                planes.set_interval(lane, case.collective.interval);
                for (node, &delay) in case.collective.delays.iter().enumerate() {
                    planes.set_delay(lane, node as NodeId, delay);
                }
            }
            return Ok(Box::new(planes));
        }
    }
    Ok(Box::new(GeneralEvaluator::new(case, wanted)))
}

/// Gives all lanes the values of a chromosome that fits the case.
pub(super) fn load(evaluator: &mut dyn Evaluator, case: &Case, chromosome: &Chromosome) {
    let (ports, channels) = (case.ports(), case.channels());
    let arbitration = &chromosome.arbitration;
    for lane in 0..evaluator.lanes() {
        evaluator.set_interval(lane, chromosome.interval);
        for node in 0..case.nodes() {
            evaluator.set_delay(lane, node as NodeId, chromosome.delays.get(node).copied().unwrap_or(0));
            for port in 0..ports {
                let scheme = arbitration.scheme(node, port, ports);
                evaluator.set_scheme(lane, node as NodeId, port as u8, scheme);
                for channel in 0..channels {
                    let first = ((node * ports + port) * channels + channel) * ports;
                    if let Some(list) = arbitration.port_lists.get(first..first + ports) {
                        let place =
                            OutputChannel { node: node as NodeId, port: port as u8, channel: channel as u8 };
                        evaluator.set_port_list(lane, place, list);
                    }
                }
            }
        }
    }
}

/// Shows everything about chromosomes of one search after another, which change little in between.
pub(super) struct Observer<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    /// Values of all genes of the last one.
    values: Vec<u32>,
}

impl<'a> Observer<'a> {
    pub(super) fn new(
        case: &'a Case,
        space: &GeneSpace,
        settings: &Settings,
    ) -> Result<Self, SimulationError> {
        let mut evaluator = evaluator(case, Wanted::all(settings))?;
        for gene in 0..space.len() {
            space.apply(evaluator.as_mut(), 0, gene, 0);
        }
        Ok(Self { evaluator, values: vec![0; space.len()] })
    }

    /// Simulates the chromosome of the given values.
    pub(super) fn observe(
        &mut self,
        space: &GeneSpace,
        values: &[u32],
    ) -> Result<Evaluation, SimulationError> {
        for (gene, (old, &new)) in self.values.iter_mut().zip(values).enumerate() {
            if *old != new {
                space.apply(self.evaluator.as_mut(), 0, gene, new);
                *old = new;
            }
        }
        self.evaluator.run(&Options::default())?;
        Ok(self.evaluator.seen(0))
    }
}

/// The duration; beyond all numbers if the simulation was stopped before all packets were delivered.
fn duration(outcome: &Outcome, packets: u64) -> u64 {
    if outcome.packets_delivered < packets { u64::MAX } else { outcome.duration }
}

struct PlaneEvaluator {
    planes: Planes,
    seen: Vec<Evaluation>,
    packets: u64,
    nodes: usize,
    directions: usize,
    thickness: bool,
}

impl PlaneEvaluator {
    /// Largest occupation of a link, and span of the network.
    fn thickness(&self, lane: usize) -> (u64, u64) {
        let (mut thickness, mut begin, mut end) = (0, u64::MAX, 0);
        for link in 0..self.nodes * self.directions {
            let direction = Direction::from_index(link % self.directions);
            let node = (link / self.directions) as NodeId;
            if let Some((first, last)) = self.planes.link_cycles(lane, node, direction) {
                thickness = thickness.max(last - first + 1);
                (begin, end) = (begin.min(first), end.max(last));
            }
        }
        (thickness, end.saturating_sub(begin))
    }
}

impl Evaluator for PlaneEvaluator {
    fn lanes(&self) -> usize {
        self.planes.networks()
    }

    fn set_interval(&mut self, lane: usize, cycles: u64) {
        self.planes.set_interval(lane, cycles);
    }

    fn set_delay(&mut self, lane: usize, node: NodeId, cycles: u64) {
        self.planes.set_delay(lane, node, cycles);
    }

    fn set_scheme(&mut self, lane: usize, node: NodeId, port: u8, scheme: ChannelScheme) {
        self.planes.set_scheme(lane, node, port.into(), scheme);
    }

    fn set_port_list(&mut self, lane: usize, output: OutputChannel, list: &[u8]) {
        self.planes.set_port_list(lane, output.node, output.port.into(), output.channel, list);
    }

    fn run(&mut self, options: &Options) -> Result<(), SimulationError> {
        let outcomes = self.planes.run(options)?;
        for (seen, outcome) in self.seen.iter_mut().zip(outcomes) {
            seen.duration = duration(outcome, self.packets);
            seen.lateness = outcome.lateness;
        }
        if self.thickness {
            for lane in 0..self.seen.len() {
                let (thickness, span) = self.thickness(lane);
                (self.seen[lane].thickness, self.seen[lane].span) = (thickness, span);
            }
        }
        Ok(())
    }

    fn seen(&self, lane: usize) -> Evaluation {
        self.seen[lane]
    }

    fn used(&self, _lane: usize) -> Option<&ArbitrationUse> {
        None
    }
}

struct GeneralEvaluator<'a> {
    case: &'a Case<'a>,
    wanted: Wanted,
    general: General,
    collective: Collective,
    seen: Evaluation,
    used: ArbitrationUse,
}

impl<'a> GeneralEvaluator<'a> {
    fn new(case: &'a Case, wanted: Wanted) -> Self {
        let mut collective = case.collective.clone();
        collective.delays.resize(case.nodes(), 0);
        Self {
            case,
            wanted,
            general: General::new(case.network),
            collective,
            seen: Evaluation::default(),
            used: ArbitrationUse::new(case.nodes(), case.ports(), case.channels()),
        }
    }

    fn simulate(&self, options: &Options, probe: &mut dyn Probe) -> Result<Outcome, SimulationError> {
        let packets = self.collective.packet_list(self.case.nodes(), self.case.destinations)?;
        let options = Options {
            reinitialise_slices: self.wanted.reinitialise_slices,
            throttle: if self.wanted.interlock_slices { Interlock.into() } else { Throttle::None },
            ..*options
        };
        self.general.run(&Workload::Packets(packets), &options, probe)
    }
}

impl Evaluator for GeneralEvaluator<'_> {
    fn lanes(&self) -> usize {
        1
    }

    fn set_interval(&mut self, _lane: usize, cycles: u64) {
        self.collective.interval = cycles;
    }

    fn set_delay(&mut self, _lane: usize, node: NodeId, cycles: u64) {
        self.collective.delays[node as usize] = cycles;
    }

    fn set_scheme(&mut self, _lane: usize, node: NodeId, port: u8, scheme: ChannelScheme) {
        self.general.set_scheme(node, port.into(), scheme);
    }

    fn set_port_list(&mut self, _lane: usize, output: OutputChannel, list: &[u8]) {
        self.general.set_port_list(output, list);
    }

    fn run(&mut self, options: &Options) -> Result<(), SimulationError> {
        let links = self.case.nodes() * (self.case.ports() - 1);
        let mut used = std::mem::take(&mut self.used);
        used.clear();
        let mut occupation = LinkOccupation::new(links);
        let mut counts = ArbitrationCounts::default();
        let Wanted { thickness, counts: wants_counts, used: wants_used, .. } = self.wanted;
        // Compiled for what is wanted only.
        let outcome = match (thickness, wants_counts, wants_used) {
            (false, false, false) => self.simulate(options, &mut NoProbe),
            (false, false, true) => self.simulate(options, &mut used),
            (true, false, false) => self.simulate(options, &mut occupation),
            (true, false, true) => {
                let mut probe = (occupation, used);
                let outcome = self.simulate(options, &mut probe);
                (occupation, used) = probe;
                outcome
            }
            (_, true, _) => {
                let mut probe = ((occupation, used), counts);
                let outcome = self.simulate(options, &mut probe);
                ((occupation, used), counts) = probe;
                outcome
            }
        };
        self.used = used;
        let outcome = outcome?;
        self.seen = Evaluation {
            duration: duration(&outcome, self.case.packets()),
            lateness: outcome.lateness,
            thickness: occupation.effective_thickness(),
            span: occupation.span(),
            counts: wants_counts.then_some(counts),
        };
        Ok(())
    }

    fn seen(&self, _lane: usize) -> Evaluation {
        self.seen
    }

    fn used(&self, _lane: usize) -> Option<&ArbitrationUse> {
        self.wanted.used.then_some(&self.used)
    }
}
