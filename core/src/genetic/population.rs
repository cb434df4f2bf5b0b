use super::{
    Evaluation, Settings,
    case::{Case, Gene, GeneSpace},
    evaluation::Evaluator,
    evaluator::{Wanted, evaluator},
    operators::{Change, Gaps, initialise, mutate},
};
use crate::{
    engine::{Options, SimulationError},
    probe::ArbitrationUse,
};
use rayon::prelude::*;

/// What happens to a chromosome in a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It begins anew.
    Initialise,
    /// It has a mutated child.
    Mutate,
    /// It is replaced by a child of two.
    Cross,
    /// Nothing.
    Rest,
}

/// One chromosome and the child it has in this generation.
pub(super) struct Individual {
    /// Values of all genes.
    pub values: Vec<u32>,
    pub evaluation: Evaluation,
    pub score: u64,
    /// Generation in which it began or improved.
    pub born: u32,
    /// What happens to it in the next generation.
    pub step: Step,
    /// How the child differs.
    pub changes: Vec<Change>,
    pub child: Evaluation,
    pub child_score: u64,
    /// How the last child differed, if it was rejected; the evaluator still has its genes.
    rejected: Vec<Change>,
    /// Settings that mattered in its simulation, if known.
    used: Option<ArbitrationUse>,
    /// The child was not simulated, since it behaves as its parent.
    skipped: bool,
}

impl Individual {
    fn new(genes: usize) -> Self {
        Self {
            values: vec![0; genes],
            evaluation: Evaluation::default(),
            score: u64::MAX,
            born: 0,
            step: Step::Initialise,
            changes: Vec::new(),
            child: Evaluation::default(),
            child_score: u64::MAX,
            rejected: Vec::new(),
            used: None,
            skipped: false,
        }
    }

    /// In the next generation it is replaced by a child of given values, or has none.
    pub(super) fn plan_crossover(&mut self, values: Option<&[u32]>) {
        self.changes.clear();
        self.step = if values.is_some() { Step::Cross } else { Step::Rest };
        let pairs = self.values.iter().zip(values.unwrap_or_default()).enumerate();
        let differing = pairs.filter(|(_, (old, new))| old != new);
        self.changes.extend(differing.map(|(gene, (&old, &new))| Change { gene: gene as u32, old, new }));
    }

    /// The values of all genes of the child.
    pub(super) fn child_values(&self) -> Vec<u32> {
        let mut values = self.values.clone();
        for change in &self.changes {
            values[change.gene as usize] = change.new;
        }
        values
    }
}

/// Chromosomes that share an evaluator, one lane each.
struct Group<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    individuals: Vec<Individual>,
}

/// All chromosomes of a search.
pub(super) struct Population<'a> {
    groups: Vec<Group<'a>>,
    lanes: usize,
    /// Per rate of mutation.
    levels: Vec<Gaps>,
    /// Simulations so far; those of idle lanes are not counted.
    pub simulations: u64,
}

impl<'a> Population<'a> {
    /// Chromosomes without values yet.
    pub(super) fn new(
        case: &'a Case,
        space: &GeneSpace,
        settings: &Settings,
    ) -> Result<Self, SimulationError> {
        let wanted = Wanted::by(settings);
        let first = evaluator(case, wanted)?;
        let lanes = first.lanes();
        let mut groups = Vec::with_capacity(settings.chromosomes.div_ceil(lanes));
        let mut next = Some(first);
        while groups.len() * lanes < settings.chromosomes {
            let evaluator = match next.take() {
                Some(first) => first,
                None => evaluator(case, wanted)?,
            };
            let left = settings.chromosomes - groups.len() * lanes;
            let mut group = Group {
                evaluator,
                individuals: (0..left.min(lanes)).map(|_| Individual::new(space.len())).collect(),
            };
            // The evaluators begin where the values do.
            for lane in 0..group.individuals.len() {
                for gene in 0..space.len() {
                    space.apply(group.evaluator.as_mut(), lane, gene, 0);
                }
            }
            groups.push(group);
        }
        Ok(Self { groups, lanes, levels: Gaps::levels(settings), simulations: 0 })
    }

    pub(super) fn get(&self, place: usize) -> &Individual {
        &self.groups[place / self.lanes].individuals[place % self.lanes]
    }

    pub(super) fn get_mut(&mut self, place: usize) -> &mut Individual {
        &mut self.groups[place / self.lanes].individuals[place % self.lanes]
    }

    /// All children of a generation are made and evaluated, in parallel.
    pub(super) fn breed(
        &mut self,
        space: &GeneSpace,
        settings: &Settings,
        generation: u32,
        options: &Options,
    ) -> Result<(), SimulationError> {
        let (levels, lanes) = (&self.levels, self.lanes);
        let results: Vec<Result<u64, SimulationError>> = self
            .groups
            .par_iter_mut()
            .enumerate()
            .map(|(number, group)| {
                for (lane, individual) in group.individuals.iter_mut().enumerate() {
                    let place = number * lanes + lane;
                    make_child(
                        group.evaluator.as_mut(),
                        lane,
                        individual,
                        space,
                        levels,
                        settings,
                        place,
                        generation,
                    );
                }
                group.evaluate(space, settings, options)
            })
            .collect();
        for result in results {
            self.simulations += result?;
        }
        Ok(())
    }

    /// The child of a chromosome takes its place, or goes.
    pub(super) fn settle(&mut self, place: usize, accepted: bool, generation: u32) {
        let (group, lane) = (&mut self.groups[place / self.lanes], place % self.lanes);
        let individual = &mut group.individuals[lane];
        if accepted {
            for change in &individual.changes {
                individual.values[change.gene as usize] = change.new;
            }
            // A child that merely ties continues its parent's life.
            if individual.step != Step::Mutate || individual.child_score < individual.score {
                individual.born = generation;
            }
            individual.evaluation = individual.child;
            individual.score = individual.child_score;
            if !individual.skipped {
                individual.used = group.evaluator.used(lane).cloned();
            }
        } else {
            std::mem::swap(&mut individual.changes, &mut individual.rejected);
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one loop body")]
fn make_child(
    evaluator: &mut dyn Evaluator,
    lane: usize,
    individual: &mut Individual,
    space: &GeneSpace,
    levels: &[Gaps],
    settings: &Settings,
    place: usize,
    generation: u32,
) {
    for change in individual.rejected.drain(..) {
        space.apply(evaluator, lane, change.gene as usize, change.old);
    }
    let values = &individual.values;
    match individual.step {
        Step::Initialise => initialise(space, values, settings, place, generation, &mut individual.changes),
        Step::Mutate => mutate(space, levels, values, settings, place, generation, &mut individual.changes),
        Step::Cross => {}
        Step::Rest => individual.changes.clear(),
    }
    for change in &individual.changes {
        space.apply(evaluator, lane, change.gene as usize, change.new);
    }
    let unused = |change: &Change| match (space.gene(change.gene as usize), &individual.used) {
        (_, None) | (Gene::Interval | Gene::Delay(_), _) => false,
        (&Gene::Scheme(node, port), Some(used)) => !used.used_scheme(node, port),
        (&Gene::PortList(output, _), Some(used)) => !used.used_port_list(output),
    };
    // A perturbed interval is looked for again at every evaluation.
    let same_interval = settings.perturbation == 0 || !space.has_interval();
    individual.skipped = individual.step == Step::Rest
        || settings.skip_unused
            && same_interval
            && individual.score != u64::MAX
            && individual.changes.iter().all(unused);
}

impl Group<'_> {
    /// Evaluates the children of all lanes; returns how many were simulated.
    fn evaluate(
        &mut self,
        space: &GeneSpace,
        settings: &Settings,
        options: &Options,
    ) -> Result<u64, SimulationError> {
        let simulated = self.individuals.iter().filter(|individual| !individual.skipped).count() as u64;
        let mut simulations = simulated;
        let options = Options { stop_at: self.last_cycles(settings), ..*options };
        if simulated > 0 {
            if settings.perturbation > 0 && space.has_interval() {
                simulations *= self.perturb(space, settings, &options)?;
            } else {
                self.evaluator.run(&options)?;
                for (lane, individual) in self.individuals.iter_mut().enumerate() {
                    individual.child = self.evaluator.seen(lane);
                }
            }
        }
        for individual in &mut self.individuals {
            if individual.skipped {
                individual.child = individual.evaluation;
            }
            individual.child_score = settings.objective.score(&individual.child);
        }
        Ok(simulations)
    }

    /// Cycles after which no child that is still under way can survive; none if a child survives
    /// anyway, or if its score is wanted all the same.
    fn last_cycles(&self, settings: &Settings) -> Option<u64> {
        if settings.averages || settings.objective.needs_thickness() {
            return None;
        }
        let children = self.individuals.iter().filter(|individual| !individual.skipped);
        // Whoever is to be as fast as its parent has delivered all one cycle before the parent's end.
        let last = |individual: &Individual| {
            (individual.step == Step::Mutate && individual.score != u64::MAX).then(|| individual.score - 1)
        };
        children.map(last).try_fold(0, |most, cycles| cycles.map(|cycles| most.max(cycles)))
    }

    /// Tries the intervals near that of every child and gives it the best one; of equal ones the
    /// nearest, then the smaller. Returns how many were tried.
    fn perturb(
        &mut self,
        space: &GeneSpace,
        settings: &Settings,
        options: &Options,
    ) -> Result<u64, SimulationError> {
        let reach = settings.perturbation as i64;
        let last = i64::from(space.counts[0]) - 1;
        let mut offsets: Vec<i64> = (-reach..=reach).collect();
        offsets.sort_by_key(|offset| (offset.abs(), *offset));
        let centres: Vec<i64> = self
            .individuals
            .iter()
            .map(|individual| {
                let changed = individual.changes.iter().find(|change| change.gene == 0);
                changed.map_or(individual.values[0], |change| change.new).into()
            })
            .collect();
        let late = Evaluation { duration: u64::MAX, ..Evaluation::default() };
        let mut best: Vec<_> = centres.iter().map(|&centre| (u64::MAX, centre as u32, late)).collect();
        for &offset in &offsets {
            for (lane, &centre) in centres.iter().enumerate() {
                let value = (centre + offset).clamp(0, last) as u32;
                space.apply(self.evaluator.as_mut(), lane, 0, value);
            }
            self.evaluator.run(options)?;
            for (lane, &centre) in centres.iter().enumerate() {
                let seen = self.evaluator.seen(lane);
                let score = settings.objective.score(&seen);
                if score < best[lane].0 {
                    best[lane] = (score, (centre + offset).clamp(0, last) as u32, seen);
                }
            }
        }
        for (lane, (individual, (_, value, seen))) in self.individuals.iter_mut().zip(best).enumerate() {
            if individual.skipped {
                space.apply(self.evaluator.as_mut(), lane, 0, centres[lane] as u32);
                continue;
            }
            space.apply(self.evaluator.as_mut(), lane, 0, value);
            individual.changes.retain(|change| change.gene != 0);
            let old = individual.values[0];
            individual.changes.push(Change { gene: 0, old, new: value });
            individual.child = seen;
        }
        Ok(offsets.len() as u64)
    }
}
