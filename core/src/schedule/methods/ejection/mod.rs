//! Starts by ejection: packets push others away until all have a place.

mod fitting;

pub(super) use fitting::{Fitting, Manner};

use super::{Budget, Incumbent, Method, Progress, Schedule, Task, greedy};
use crate::schedule::{
    Contention, Domains, Placement, Problem, duration_of,
    occupancy::{MOST_MEETINGS, Neighbours},
};

/// Jobs from which on it never caught up with slots in step.
const LARGE_EXCHANGE: usize = 5_000;

/// Attempts from an empty schedule at the bound, each longer than the one before, alternate with attempts half
/// way to the best duration. What an attempt leaves unplaced is then fitted in at the smallest target
/// that works. Symmetric problems are searched in their quotient.
pub(super) struct Ejection;

impl Method for Ejection {
    const NAME: &'static str = "ejection";
    const SUMMARY: &'static str = "packets push others away until all have a place within a target duration";

    fn applies(task: &Task) -> bool {
        !task.problem().is_in_phases() && !task.problem().has_any_minimal_route()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let (problem, bound) = (task.small(), task.bound());
        if incumbent.schedule().is_some() && task.problem().jobs().len() > LARGE_EXCHANGE {
            return;
        }
        let best = greedy(problem);
        let duration = duration_of(problem, &best);
        let contention = Contention::new(problem);
        let neighbours = Neighbours::new(problem, MOST_MEETINGS);
        let at_bound = contention.filter(problem, bound);
        let mut report = |progress| incumbent.report(progress);
        let mut search = Targets {
            problem,
            neighbours: neighbours.as_ref(),
            contention,
            seed: task.seed(),
            bound,
            best,
            duration,
            on_progress: &mut report,
        };
        if let Some(at_bound) = at_bound {
            search.improve(&at_bound, budget);
        }
        let found = task.quotient().map_or_else(|| search.best.clone(), |small| small.expand(&search.best));
        incumbent.offer(Schedule::new(found), task);
    }
}

/// Attempts at one target after the other.
pub(super) struct Targets<'a> {
    pub problem: &'a Problem,
    pub neighbours: Option<&'a Neighbours>,
    pub contention: Contention,
    pub seed: u64,
    pub bound: u32,
    pub best: Vec<Placement>,
    pub duration: u32,
    pub on_progress: &'a mut dyn FnMut(Progress),
}

impl Targets<'_> {
    pub(super) fn improve(&mut self, at_bound: &Domains, budget: &mut Budget) {
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
            let mut search = Fitting::new(problem, self.neighbours, domains, target, manner);
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
            let mut search = Fitting::new(problem, self.neighbours, domains, target, manner);
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
    fn turn(&mut self, search: &mut Fitting, target: u32, moves: u64, budget: &mut Budget) -> bool {
        let found = budget.share(moves, |share| search.run(share));
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
