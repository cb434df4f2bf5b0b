use super::{
    Budget,
    ejection::{Ejection, Manner},
    greedy,
    joint::search_jointly,
    slots,
};
use crate::{
    fabric::Fabric,
    schedule::{
        Contention, Domains, Placement, Problem, Quotient, ScheduleError, duration_of, lower_bound,
        occupancy::{MOST_MEETINGS, Neighbours},
        proven_bound,
    },
};

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Duration of the best schedule so far.
    pub best: u32,
    /// Proven lower bound.
    pub bound: u32,
    /// Duration that is tried now.
    pub target: u32,
    /// Fewest packets (or orbits of packets) left over at that target.
    pub unplaced: usize,
    /// Moves left.
    pub moves: u64,
}

/// A complete schedule of a problem with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// One placement per job.
    pub placements: Vec<Placement>,
    /// Its duration in cycles.
    pub duration: u32,
    /// Proven lower bound on the duration of any schedule.
    pub bound: u32,
    /// Moves spent.
    pub moves: u64,
    /// Whether it was told to stop before its moves were spent.
    pub stopped: bool,
}

impl Solution {
    /// Whether no shorter schedule exists.
    pub fn is_optimal(&self) -> bool {
        self.duration == self.bound
    }
}

/// Packets of an all-to-all beyond which the general search never caught up with slots in step.
const LARGE_EXCHANGE: usize = 5_000;

/// Searches for a schedule at the lower bound.
///
/// All-to-all on tori is first tried with all packets in step with rotating slots. In general,
/// attempts from an empty schedule at the bound, each longer than the one before, alternate with
/// attempts half way to the best duration. What an attempt leaves unplaced is then fitted in at the
/// smallest target that works. Symmetric problems are searched in their quotient. Where routes can
/// be chosen, they are first assigned so that no link needs more than the target and links agree about
/// the times of their packets; dimension order is tried before, if it is allowed.
///
/// The result is a function of the problem, the seed and the moves, unless `should_stop` ends it.
pub fn solve(
    fabric: &Fabric,
    problem: &Problem,
    seed: u64,
    budget: &mut Budget,
    on_progress: &mut dyn FnMut(Progress),
) -> Solution {
    let total = budget.moves;
    let (bound, placements) = match problem.has_fixed_routes() {
        true => search_starts(fabric, problem, seed, budget, on_progress),
        false => {
            let bound = proven_bound(fabric, problem);
            (bound, search_jointly(fabric, problem, bound, seed, budget, on_progress))
        }
    };
    let duration = duration_of(problem, &placements);
    let stopped = duration > bound && (budget.should_stop)();
    Solution { placements, duration, bound, moves: total - budget.moves, stopped }
}

pub(crate) fn search_starts(
    fabric: &Fabric,
    problem: &Problem,
    seed: u64,
    budget: &mut Budget,
    on_progress: &mut dyn FnMut(Progress),
) -> (u32, Vec<Placement>) {
    let quotient = Quotient::new(fabric, problem, usize::MAX);
    let small = quotient.as_ref().map_or(problem, Quotient::problem);
    let (bound, domains) = lower_bound(small);
    let aligned = slots::all_to_all(fabric, problem, seed, budget);
    let aligned = aligned.map(|placements| (duration_of(problem, &placements), placements));
    if let Some((best, _)) = aligned {
        on_progress(Progress { best, bound, target: best, unplaced: 0, moves: budget.moves });
    }
    if let Some((duration, placements)) = &aligned
        && (*duration == bound || problem.jobs().len() > LARGE_EXCHANGE)
    {
        return (bound, placements.clone());
    }
    let best = greedy(small);
    let duration = duration_of(small, &best);
    let contention = Contention::new(small);
    let neighbours = Neighbours::new(small, MOST_MEETINGS);
    let neighbours = neighbours.as_ref();
    let mut search =
        Search { problem: small, neighbours, contention, seed, bound, best, duration, on_progress };
    search.improve(&domains, budget);
    let mut placements = match &quotient {
        Some(quotient) => quotient.expand(&search.best),
        None => search.best,
    };
    if let Some((_, shorter)) = aligned.filter(|aligned| aligned.0 < duration_of(problem, &placements)) {
        placements = shorter;
    }
    (bound, placements)
}

/// Refuses a problem that [`solve`] would need too much memory and time for.
///
/// # Errors
/// There are more than [`Problem::MAX_STARTS`] possible starts, also in the quotient.
pub fn check_size(fabric: &Fabric, problem: &Problem) -> Result<(), ScheduleError> {
    if problem.starts() <= Problem::MAX_STARTS {
        return Ok(());
    }
    let quotient = if problem.has_fixed_routes() { Quotient::new(fabric, problem, usize::MAX) } else { None };
    match quotient.as_ref().map_or(problem, Quotient::problem) {
        small if small.starts() <= Problem::MAX_STARTS => Ok(()),
        small => Err(ScheduleError::TooManyStarts { packets: small.jobs().len(), starts: small.starts() }),
    }
}

pub(crate) struct Search<'a> {
    pub problem: &'a Problem,
    pub neighbours: Option<&'a Neighbours>,
    pub contention: Contention,
    pub seed: u64,
    pub bound: u32,
    pub best: Vec<Placement>,
    pub duration: u32,
    pub on_progress: &'a mut dyn FnMut(Progress),
}

impl Search<'_> {
    pub fn improve(&mut self, at_bound: &Domains, budget: &mut Budget) {
        let jobs = self.problem.jobs().len() as u64;
        let mut attempt = 0;
        // Targets below are given up for now: too much was left over there.
        let mut floor = self.bound;
        let mut round = 0;
        while self.duration > self.bound && budget.moves > 0 {
            if floor >= self.duration {
                floor = self.bound;
                round += 1;
            }
            let target = if attempt % 3 == 2 { (floor + self.duration) / 2 } else { floor };
            let domains = match target == self.bound {
                true => Some(at_bound.clone()),
                false => self.contention.filter(self.problem, target),
            };
            attempt += 1;
            let Some(domains) = domains else { continue };
            // Small problems profit from both orders and frequent compaction, large ones from neither.
            let manner = Manner {
                seed: self.seed.wrapping_mul(1_000_003).wrapping_add(attempt),
                newest_first: attempt.is_multiple_of(2) && jobs < 1000,
                period: if attempt % 4 < 2 { 100 } else { 300 }.max(jobs / 2),
                orderly: false,
            };
            let moves = (10_000 + 30 * jobs) << (attempt / 2).max(round).min(20);
            let problem = self.problem;
            let mut search = Ejection::new(problem, self.neighbours, domains, target, manner);
            if !self.turn(&mut search, target, moves, budget) {
                let rest = search.best().to_vec();
                let hopeless = search.fewest_unplaced() as u64 > 3 + jobs / 50;
                self.fit_in(rest, target, manner, moves / 4, budget);
                if hopeless && target == floor {
                    floor += 1 + (self.duration - floor) / 4;
                }
            }
        }
    }

    /// Completes a partial schedule at growing targets beyond its own.
    fn fit_in(
        &mut self,
        mut partial: Vec<Option<Placement>>,
        from: u32,
        manner: Manner,
        moves: u64,
        budget: &mut Budget,
    ) {
        let (mut failed, mut step) = (from, 1);
        while failed + 1 < self.duration && budget.moves > 0 {
            // Doubling steps up to the first success, then halves of what lies between.
            let target = match failed + step < self.duration {
                true => failed + step,
                false => failed + (self.duration - failed) / 2,
            };
            step = if failed + step < self.duration { step * 2 } else { 1 << 20 };
            let Some(domains) = self.contention.filter(self.problem, target) else {
                failed = target;
                continue;
            };
            let problem = self.problem;
            let mut search = Ejection::new(problem, self.neighbours, domains, target, manner);
            search.start_from(&partial);
            if self.turn(&mut search, target, moves, budget) {
                step = 1 << 20;
            } else {
                failed = target;
                partial = search.best().to_vec();
            }
        }
    }

    /// Runs a search for some moves; whether it placed everything.
    fn turn(&mut self, search: &mut Ejection, target: u32, moves: u64, budget: &mut Budget) -> bool {
        let given = moves.min(budget.moves);
        let mut share = Budget { moves: given, should_stop: budget.should_stop };
        let found = search.run(&mut share);
        let spent = given - share.moves;
        let stopped = found.is_none() && (budget.should_stop)();
        budget.moves = if stopped { 0 } else { budget.moves - spent };
        let success = found.is_some();
        if let Some(found) = found {
            self.duration = duration_of(self.problem, &found);
            self.best = found;
        }
        (self.on_progress)(Progress {
            best: self.duration,
            bound: self.bound,
            target,
            unplaced: search.fewest_unplaced(),
            moves: budget.moves,
        });
        success
    }
}
