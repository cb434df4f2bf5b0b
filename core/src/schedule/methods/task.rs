use crate::{
    fabric::Fabric,
    schedule::{Problem, Quotient, ScheduleError, proven_bound},
};
use std::cell::OnceCell;

/// What methods work on: a problem, how short its schedules could be, and what is symmetric about it.
pub struct Task<'a> {
    fabric: &'a Fabric,
    problem: &'a Problem,
    seed: u64,
    bound: u32,
    quotient: OnceCell<Option<Quotient>>,
}

impl<'a> Task<'a> {
    /// A task with its proven bound; what is found depends on the seed.
    pub fn new(fabric: &'a Fabric, problem: &'a Problem, seed: u64) -> Self {
        let mut task = Self { fabric, problem, seed, bound: 0, quotient: OnceCell::new() };
        // With fixed routes, the bounds of the small problem are those of the large one.
        let through_quotient = problem.has_fixed_routes() && !problem.is_in_phases();
        task.bound = proven_bound(fabric, if through_quotient { task.small() } else { problem });
        task
    }

    /// The same task with a bound that is proven elsewhere, if that is higher.
    #[must_use]
    pub fn at_least(mut self, bound: u32) -> Self {
        self.bound = self.bound.max(bound);
        self
    }

    /// The network.
    pub fn fabric(&self) -> &'a Fabric {
        self.fabric
    }

    /// What is to be scheduled.
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// Seed of all that is drawn.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// No schedule is shorter, in cycles.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// The quotient by as many symmetries as possible, if there are any.
    pub fn quotient(&self) -> Option<&Quotient> {
        let find = || Quotient::new(self.fabric, self.problem, usize::MAX);
        self.quotient.get_or_init(find).as_ref()
    }

    /// The problem of the quotient, or the whole.
    pub fn small(&self) -> &Problem {
        self.quotient().map_or(self.problem, Quotient::problem)
    }
}

/// Refuses a problem that an [`exact`](super::exact) search would need too much memory and time for.
///
/// # Errors
/// There are more than [`Problem::MAX_STARTS`] possible starts, also in the quotient.
pub fn check_size(fabric: &Fabric, problem: &Problem) -> Result<(), ScheduleError> {
    if problem.starts() <= Problem::MAX_STARTS || problem.has_any_minimal_route() {
        return Ok(());
    }
    let quotient = if problem.has_fixed_routes() { Quotient::new(fabric, problem, usize::MAX) } else { None };
    match quotient.as_ref().map_or(problem, Quotient::problem) {
        small if small.starts() <= Problem::MAX_STARTS => Ok(()),
        small => Err(ScheduleError::TooManyStarts { packets: small.jobs().len(), starts: small.starts() }),
    }
}
