use super::{
    Acceptance, Evaluation, Generation, GeneticError, IntervalLimit, Limits, Record, Settings, Ties,
    case::{Case, GeneSpace},
    evaluator::{Observer, Wanted, evaluator},
    operators::{cross, pairs},
    population::{Population, Step},
    record::Records,
};
use crate::{
    engine::Options,
    fabric::NodeId,
    router::ChannelScheme,
    traffic::{Purpose, draw, draw_below},
};
use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

/// A genetic search under way; see [`search`].
pub struct Search<'a> {
    settings: Settings,
    limits: Limits,
    space: GeneSpace,
    population: Population<'a>,
    observer: Observer<'a>,
    records: Records,
    /// Generation, score and values of the chromosome of the best score, as long as nobody has to know more.
    unseen: Option<(u32, u64, Vec<u32>)>,
    best: Option<u64>,
    /// Generation of the best score, or of the last new beginning after it.
    watched_from: u32,
    history: Vec<Generation>,
    evaluations: u64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOutcome {
    /// The first chromosome of the best score and, if asked for, its synonyms with a property that
    /// was the best so far, in the order in which they were found.
    pub records: Vec<Record>,
    /// One entry per generation.
    pub history: Vec<Generation>,
    /// Limits of the genes' values.
    pub limits: Limits,
    /// Genes that could make a difference.
    pub genes: usize,
    /// Chromosomes evaluated.
    pub evaluations: u64,
    /// Simulations they took; fewer where unused genes were skipped.
    pub simulations: u64,
    /// Whether it ended before its last generation.
    pub stopped: bool,
}

impl SearchOutcome {
    /// The chromosome found first among those of the best score.
    pub fn best(&self) -> Option<&Record> {
        self.records.first()
    }
}

/// Runs one genetic search, its generations in parallel on the current rayon pool. The outcome does
/// not depend on the number of threads.
///
/// `watch` is told every generation and may end the search; so does `interrupt`. What was found by
/// then is kept.
///
/// ```
/// use flitloom_core::{
///     engine::Network,
///     fabric::{Fabric, Shape},
///     router::RouterConfig,
///     genetic::{Case, Groups, Settings, search},
///     traffic::{Collective, Pattern},
/// };
/// use std::ops::ControlFlow;
/// let shape = Shape::torus(&[4, 4])?;
/// let destinations = Pattern::BitReverse.destinations(&shape, 0)?;
/// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
/// let collective = Collective { payload: 14, slices: 2, interval: 8, ..Collective::default() };
/// let case = Case::new(&network, &destinations, collective, Groups::FULL)?;
/// let settings = Settings { generations: 30, training: 10, ..Settings::default() };
/// let outcome = search(&case, &settings, None, &mut |_| ControlFlow::Continue(()))?;
/// let best = outcome.best().unwrap();
/// assert_eq!(best.score, outcome.history[29].best);
/// assert!(best.score <= outcome.history[0].best);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The settings are not valid, or a simulation fails.
pub fn search(
    case: &Case,
    settings: &Settings,
    interrupt: Option<&AtomicBool>,
    watch: &mut dyn FnMut(&Generation) -> ControlFlow<()>,
) -> Result<SearchOutcome, GeneticError> {
    let mut search = Search::new(case, settings.clone())?;
    let mut stopped = false;
    while !search.is_finished() {
        let interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
        // There is something to keep from the first generation on.
        if interrupted && !search.history.is_empty() {
            stopped = true;
            break;
        }
        if watch(&search.step()?).is_break() {
            stopped = !search.is_finished();
            break;
        }
    }
    search.into_outcome(stopped)
}

impl<'a> Search<'a> {
    /// Measures the limits and prepares the first generation.
    ///
    /// # Errors
    /// The settings are not valid, or a simulation fails.
    pub fn new(case: &'a Case<'a>, settings: Settings) -> Result<Self, GeneticError> {
        settings.check()?;
        let limits = first_simulation(case, &settings)?;
        let space = GeneSpace::new(case, &limits);
        if space.len() == 0 {
            return Err(GeneticError::NoGenes);
        }
        let population = Population::new(case, &space, &settings)?;
        let observer = Observer::new(case, &space, &settings)?;
        Ok(Self {
            settings,
            limits,
            space,
            population,
            observer,
            records: Records::default(),
            unseen: None,
            best: None,
            watched_from: 0,
            history: Vec::new(),
            evaluations: 0,
        })
    }

    /// Whether all generations have passed.
    pub fn is_finished(&self) -> bool {
        self.history.len() >= self.settings.generations as usize
    }

    /// One generation.
    ///
    /// # Errors
    /// A simulation fails.
    pub fn step(&mut self) -> Result<Generation, GeneticError> {
        let generation = self.history.len() as u32;
        self.plan(generation)?;
        self.population.breed(&self.space, &self.settings, generation, &Options::default())?;
        let (mut sum, mut count) = (0, 0_u32);
        for place in 0..self.settings.chromosomes {
            let individual = self.population.get(place);
            let (step, score, child) = (individual.step, individual.score, individual.child_score);
            if step == Step::Rest {
                self.population.get_mut(place).step = Step::Mutate;
                continue;
            }
            if self.settings.averages {
                sum += child;
                count += 1;
            }
            self.evaluations += 1;
            let accepted = match self.settings.acceptance {
                _ if step != Step::Mutate => true,
                Acceptance::NotLater => {
                    (child, individual.child.lateness) <= (score, individual.evaluation.lateness)
                }
                Acceptance::NotWorse => child <= score,
                Acceptance::Better => child < score,
            };
            let is_clone = self.consider(place, child, generation)?;
            self.population.settle(place, accepted, generation);
            self.population.get_mut(place).step =
                if accepted && is_clone { Step::Initialise } else { Step::Mutate };
        }
        self.end_lives(generation);
        let average = (count > 0).then(|| sum as f64 / f64::from(count));
        let entry = Generation { best: self.best.unwrap_or(u64::MAX), average };
        self.history.push(entry);
        Ok(entry)
    }

    /// Ends the search.
    ///
    /// # Errors
    /// A simulation fails.
    pub fn into_outcome(mut self, stopped: bool) -> Result<SearchOutcome, GeneticError> {
        if let Some((generation, score, values)) = self.unseen.take() {
            self.observe(generation, score, &values)?;
        }
        Ok(SearchOutcome {
            records: self.records.records,
            history: self.history,
            limits: self.limits,
            genes: self.space.len(),
            evaluations: self.evaluations,
            simulations: self.population.simulations,
            stopped,
        })
    }

    /// Decides what happens to every chromosome.
    fn plan(&mut self, generation: u32) -> Result<(), GeneticError> {
        let Settings { training, crossover_interval, .. } = self.settings;
        if generation >= training.max(1)
            && crossover_interval > 0
            && generation.is_multiple_of(crossover_interval)
        {
            self.count_among_ties()?;
            self.cross_over(generation);
        }
        Ok(())
    }

    /// Counts lost arbitrations where they decide the order: among chromosomes of equal score. Doing
    /// so only now leaves all other simulations to the faster engine.
    fn count_among_ties(&mut self) -> Result<(), GeneticError> {
        if !self.settings.sort_key.needs_counts() {
            return Ok(());
        }
        let mut scores = HashMap::new();
        let scored = self.scored();
        for &place in &scored {
            *scores.entry(self.population.get(place).score).or_insert(0) += 1;
        }
        for place in scored {
            let individual = self.population.get(place);
            if individual.evaluation.counts.is_none() && scores[&individual.score] > 1 {
                let counts = self.observer.observe(&self.space, &individual.values)?.counts;
                self.population.get_mut(place).evaluation.counts = counts;
            }
        }
        Ok(())
    }

    /// Places of the chromosomes that have a score.
    fn scored(&self) -> Vec<usize> {
        (0..self.settings.chromosomes)
            .filter(|&place| self.population.get(place).step != Step::Initialise)
            .collect()
    }

    /// The stronger of every pair passes genes to the weaker; chromosomes that begin anew take no
    /// part. All others keep their place without a child.
    fn cross_over(&mut self, generation: u32) {
        let order = self.sorted(generation);
        let mut touched = vec![false; order.len()];
        let mut values: Vec<Vec<u32>> =
            order.iter().map(|&place| self.population.get(place).values.clone()).collect();
        for (pair, (stronger, weaker)) in pairs(order.len(), self.settings.pairs).enumerate() {
            let (before, after) = values.split_at_mut(weaker);
            let rate = self.settings.crossover_rate;
            cross(&before[stronger], &mut after[0], rate, self.settings.seed, pair, generation);
            touched[weaker] = true;
        }
        for ((&place, values), touched) in order.iter().zip(values).zip(touched) {
            self.population.get_mut(place).plan_crossover(touched.then_some(&values[..]));
        }
    }

    /// Places of the chromosomes that have a score, the strongest first.
    fn sorted(&self, generation: u32) -> Vec<usize> {
        let mut order = self.scored();
        let tie = |place: usize| match self.settings.ties {
            Ties::Age => u64::from(self.population.get(place).born),
            Ties::Random => draw(self.settings.seed, place as NodeId, Purpose::Tie, generation.into()),
        };
        order.sort_by_cached_key(|&place| {
            let individual = self.population.get(place);
            let key = self.settings.sort_key.key(individual.score, &individual.evaluation);
            let led = self.settings.acceptance == Acceptance::NotLater;
            (key, if led { individual.evaluation.lateness } else { 0 }, tie(place), place)
        });
        order
    }

    /// Looks at a new child of the best score or a better one; true if it is a clone.
    fn consider(&mut self, place: usize, score: u64, generation: u32) -> Result<bool, GeneticError> {
        if self.best.is_some_and(|best| score > best) {
            return Ok(false);
        }
        let values = self.population.get(place).child_values();
        let signature = Records::signature(&values);
        let improved = self.best.is_none_or(|best| score < best);
        if improved {
            self.best = Some(score);
            self.watched_from = generation;
            self.records.clear();
            self.unseen = None;
        }
        if !self.records.note(signature) {
            return Ok(true);
        }
        if self.settings.synonyms {
            self.observe(generation, score, &values)?;
        } else if improved {
            // A better one may come.
            self.unseen = Some((generation, score, values));
        }
        Ok(false)
    }

    /// Sees everything about a chromosome and offers it to the records.
    fn observe(&mut self, generation: u32, score: u64, values: &[u32]) -> Result<(), GeneticError> {
        let evaluation = self.observer.observe(&self.space, values)?;
        let chromosome = self.space.chromosome(values);
        self.records.offer(Record { generation, score, evaluation, chromosome });
        Ok(())
    }

    /// Lifetime and watchdog.
    fn end_lives(&mut self, generation: u32) {
        let Settings { lifetime, watchdog, chromosomes, .. } = self.settings;
        if lifetime > 0 {
            for place in 0..chromosomes {
                let individual = self.population.get_mut(place);
                if generation - individual.born >= lifetime {
                    individual.step = Step::Initialise;
                }
            }
        }
        if watchdog > 0 && generation - self.watched_from >= watchdog {
            self.watched_from = generation;
            for place in 0..chromosomes {
                self.population.get_mut(place).step = Step::Initialise;
            }
        }
    }
}

/// A single slice in unison under random channel schemes, if those may vary: its height and
/// thickness limit the genes' values (cup-stacking-extended-2023, A.3).
fn first_simulation(case: &Case, settings: &Settings) -> Result<Limits, GeneticError> {
    let single = case.with_slices(1)?;
    let wanted = Wanted { thickness: true, planes: settings.planes, ..Wanted::default() };
    let mut evaluator = evaluator(&single, wanted)?;
    for node in 0..case.nodes() as NodeId {
        for lane in 0..evaluator.lanes() {
            evaluator.set_delay(lane, node, 0);
        }
        for port in (0..case.ports() as u8).filter(|_| case.groups.schemes) {
            let scheme = draw_below(settings.seed, node, Purpose::GeneValue, u64::MAX - u64::from(port), 10);
            for lane in 0..evaluator.lanes() {
                evaluator.set_scheme(lane, node, port, ChannelScheme::PUBLISHED[scheme as usize]);
            }
        }
    }
    evaluator.run(&Options::default())?;
    let Evaluation { duration: height, thickness, .. } = evaluator.seen(0);
    let length = u64::from(case.collective.slice_length());
    let limit = match settings.interval_limit {
        IntervalLimit::Height => height,
        IntervalLimit::Thickness => thickness,
    };
    Ok(Limits {
        height,
        thickness,
        first_interval: length,
        last_interval: limit.saturating_sub(length).max(length),
        last_delay: height.saturating_sub(length),
    })
}
