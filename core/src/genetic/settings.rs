use super::{Objective, SortKey};
use crate::{engine::SimulationError, fault::Fault, traffic::WorkloadError};

named! {
    /// How chromosomes of equal score are sorted before crossover (cup-stacking-extended-2023, A.3 (4)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Ties {
        /// At random.
        #[default]
        Random = "random",
        /// The oldest first.
        Age = "age",
    }
}

named! {
    /// Which of two survives when a mutated chromosome scores as its parent does.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Acceptance {
        /// The child, if its packets are not later over all (least sum of the fourth powers of delivery
        /// times); crossover sorts ties likewise. Ties are what most children are, so this leads on where
        /// the duration alone does not.
        #[default]
        NotLater = "not-later",
        /// The child, which must not be worse (cup-stacking-2022, 4.3).
        NotWorse = "not-worse",
        /// The parent; the child must be better (cup-stacking-extended-2023, A.3 (3)).
        Better = "better",
    }
}

named! {
    /// Upper limit of the interval between slices.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum IntervalLimit {
        /// `t_d0 - l_c`, as for injection delays (cup-stacking-extended-2023, A.3).
        #[default]
        Height = "height",
        /// `T_e - l_c` (cup-stacking-extended-2023, Eq. 5).
        Thickness = "thickness",
    }
}

named! {
    /// Values of the genes with which a chromosome begins. The interval begins at random.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Beginning {
        /// The same everywhere: one scheme for all ports and one order for all port lists, drawn per
        /// chromosome, and no delays, which are then mutated once. The search leads away from what is there
        /// without it.
        #[default]
        Uniform = "uniform",
        /// Any values within the limits.
        Random = "random",
    }
}

/// Most rates of mutation.
pub(super) const MOST_LEVELS: u32 = 16;

/// Parameters of one genetic search. The defaults are values used in cup-stacking-extended-2023, A.3.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of chromosomes: 50.
    pub chromosomes: usize,
    /// Number of generations, the first random one included: 1000.
    pub generations: u32,
    /// Generations of mutation only at the beginning: 100.
    pub training: u32,
    /// `r_m`: probability that a gene mutates: 0.05 (of 0.1, 0.05, 0.02). One gene mutates at least.
    pub mutation_rate: f64,
    /// Every child draws its rate from this many: `r_m`, `r_m / 4`, `r_m / 16` and so on. 3, which is
    /// ours: high rates leave poor solutions, low ones polish good ones. The papers have 1.
    pub mutation_levels: u32,
    /// `i_c`: every so many generations there is crossover instead of mutation: 10 (of 10, 20;
    /// cup-stacking-2022: of 100, 200). 0 for never.
    pub crossover_interval: u32,
    /// `r_c`: probability that a gene crosses over: 0.1 (of 0.1, 0.2, 0.4, 0.6, 0.8, 0.9). With all
    /// pairs, higher ones make nearly all chromosomes clones of the strongest.
    pub crossover_rate: f64,
    /// Pairs that cross over, in the order (1,2), (1,3), (2,3), (1,4) and so on: 1225, all pairs of 50
    /// chromosomes. Genes pass on one pair after the other; then every changed chromosome is
    /// evaluated. The papers name the order only.
    pub pairs: usize,
    /// How ties are sorted: at random (or by age).
    pub ties: Ties,
    /// `lt`: generations after which a chromosome that has not improved begins anew: 0 for never (of
    /// 0, 100, 200). Excludes a watchdog.
    pub lifetime: u32,
    /// `wd`: generations without a new best score after which all chromosomes begin anew: 0 for
    /// never (of 0, 100, 200). Excludes a lifetime.
    pub watchdog: u32,
    /// How chromosomes begin: uniform. The papers do not say.
    pub beginning: Beginning,
    /// Largest change of a delay or of the interval in one mutation: 8 cycles; 0 for any value within
    /// the limits, as the papers may be read. Steps find what single draws do not.
    pub timing_step: u64,
    /// Which of parent and child survives a tie.
    pub acceptance: Acceptance,
    /// Upper limit of the interval.
    pub interval_limit: IntervalLimit,
    /// What is made small.
    pub objective: Objective,
    /// By what chromosomes are sorted.
    pub sort_key: SortKey,
    /// Every evaluation tries all intervals this near and keeps the best (7.1): 0 (of 0, 5).
    pub perturbation: u64,
    /// Slice re-initialisation (T08).
    pub reinitialise_slices: bool,
    /// Slice interlocking (T10).
    pub interlock_slices: bool,
    /// Whether other chromosomes of the best score are recorded when one of their properties is the
    /// best so far (6.3).
    pub synonyms: bool,
    /// Whether a child is not simulated when none of its mutated genes was used in its parent's
    /// simulation; this changes nothing but the time.
    pub skip_unused: bool,
    /// Whether the average score of every generation is known. Otherwise children are simulated only
    /// as long as they can survive, which changes nothing else but the time.
    pub averages: bool,
    /// Whether the bit-plane engine may be used; this changes nothing but the time.
    pub planes: bool,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chromosomes: 50,
            generations: 1000,
            training: 100,
            mutation_rate: 0.05,
            mutation_levels: 3,
            crossover_interval: 10,
            crossover_rate: 0.1,
            pairs: 1225,
            ties: Ties::default(),
            lifetime: 0,
            watchdog: 0,
            beginning: Beginning::default(),
            timing_step: 8,
            acceptance: Acceptance::default(),
            interval_limit: IntervalLimit::default(),
            objective: Objective::default(),
            sort_key: SortKey::default(),
            perturbation: 0,
            reinitialise_slices: false,
            interlock_slices: false,
            synonyms: false,
            skip_unused: true,
            averages: false,
            planes: true,
            seed: 1,
        }
    }
}

impl Settings {
    /// Checks every parameter.
    ///
    /// # Errors
    /// A parameter is out of range, or two exclude each other.
    pub fn check(&self) -> Result<(), GeneticError> {
        if !(2..=100_000).contains(&self.chromosomes) {
            return Err(GeneticError::Chromosomes(self.chromosomes));
        }
        if self.pairs == 0 && self.crossover_interval > 0 {
            return Err(GeneticError::Pairs);
        }
        if self.generations == 0 {
            return Err(GeneticError::Generations);
        }
        if !(1..=MOST_LEVELS).contains(&self.mutation_levels) {
            return Err(GeneticError::Levels(self.mutation_levels));
        }
        for (name, rate) in [("mutation_rate", self.mutation_rate), ("crossover_rate", self.crossover_rate)] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(GeneticError::Rate { name, rate });
            }
        }
        if self.lifetime > 0 && self.watchdog > 0 {
            return Err(GeneticError::Exclusive);
        }
        Ok(())
    }
}

/// What can be wrong with a genetic search.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneticError {
    /// Too few or too many chromosomes.
    Chromosomes(usize),
    /// Crossover without pairs.
    Pairs,
    /// No generation at all.
    Generations,
    /// No rate of mutation, or too many.
    Levels(u32),
    /// Not a probability.
    Rate {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        rate: f64,
    },
    /// Lifetime and watchdog together.
    Exclusive,
    /// Nothing to choose.
    NoGenes,
    /// A chromosome for another network.
    Delays {
        /// Delays of the chromosome.
        given: usize,
        /// Nodes of the network.
        needed: usize,
    },
    /// A simulation failed.
    Simulation(SimulationError),
}

crate::fault::displays_fault!(GeneticError);

impl GeneticError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Chromosomes(given) => {
                Fault::of("genetic.chromosomes", format!("is {given}"), "it must be 2 to 100000")
            }
            Self::Pairs => Fault::of(
                "genetic.pairs",
                "is 0",
                "set genetic.crossover_interval to 0 for a search without crossover",
            ),
            Self::Generations => Fault::of("genetic.generations", "is 0", "there must be at least one"),
            Self::Levels(given) => Fault::of(
                "genetic.mutation_levels",
                format!("is {given}"),
                format!("it must be 1 to {MOST_LEVELS}"),
            ),
            Self::Rate { name, rate } => Fault {
                goes_on: true,
                ..Fault::at(format!("genetic.{name}"), format!("is {rate}"), "it must be between 0 and 1")
            },
            Self::Exclusive => Fault::of(
                "genetic.lifetime",
                "and genetic.watchdog exclude each other",
                "set one of them to 0",
            ),
            Self::NoGenes => Fault::at(
                "genetic.genes",
                "nothing is left to choose",
                "let at least one group of genes vary",
            ),
            Self::Delays { given, needed } => {
                Fault::at("chromosome", format!("it has {given} delays, the network {needed} nodes"), "")
            }
            Self::Simulation(error) => error.fault(),
        }
    }
}

impl From<SimulationError> for GeneticError {
    fn from(error: SimulationError) -> Self {
        Self::Simulation(error)
    }
}

impl From<WorkloadError> for GeneticError {
    fn from(error: WorkloadError) -> Self {
        Self::Simulation(error.into())
    }
}
