use super::{
    Budget, Contention, Placement, Problem, Progress, Quotient,
    assign::{self, assign},
    duration_of,
    ejection::{Ejection, Manner},
    greedy, lower_bound,
    neighbours::Neighbours,
    solve::{MOST_MEETINGS, Search},
};
use crate::fabric::Fabric;

/// The search for routes and starts at once, above a proven bound.
///
/// Rounds of growing length, each in the quotient by all symmetries and in one by two at most (a
/// large group leaves few choices of routes): routes that no resource alone forbids are assigned and
/// kept while their schedule is searched; from there on, jobs may change their routes again. Then
/// both are searched from nothing. Returns the best schedule.
pub(super) fn search_jointly(
    fabric: &Fabric,
    problem: &Problem,
    bound: u32,
    seed: u64,
    budget: &mut Budget,
    on_progress: &mut dyn FnMut(Progress),
) -> Vec<Placement> {
    let full = Quotient::new(fabric, problem, usize::MAX);
    let pair = full.as_ref().and_then(|_| Quotient::new(fabric, problem, 2));
    let mut quotients = vec![full];
    let jobs_of =
        |quotient: &Option<Quotient>| quotient.as_ref().map_or(problem, Quotient::problem).jobs().len();
    if quotients[0].is_some() && jobs_of(&pair) > jobs_of(&quotients[0]) {
        quotients.push(pair);
    }
    let neighbours: Vec<Option<Neighbours>> = quotients
        .iter()
        .map(|quotient| Neighbours::new(quotient.as_ref().map_or(problem, Quotient::problem), MOST_MEETINGS))
        .collect();
    let mut best = greedy(problem);
    let mut duration = duration_of(problem, &best);
    let mut assigned_at = vec![bound; quotients.len()];
    let mut round = 0;
    while duration > bound && budget.moves > 0 {
        for (index, quotient) in quotients.iter().enumerate() {
            let small = quotient.as_ref().map_or(problem, Quotient::problem);
            let share = (20_000 + 50 * small.jobs().len() as u64) << round.min(30);
            let seed = seed.wrapping_mul(31).wrapping_add(round);
            let mut turn = Turn {
                problem: small,
                neighbours: neighbours[index].as_ref(),
                bound,
                duration,
                seed,
                found: None,
                on_progress,
            };
            turn.with_assigned_routes(&mut assigned_at[index], share, budget);
            turn.descend(share / 2, budget);
            turn.anew(share, budget);
            turn.descend(share / 2, budget);
            if let Some(found) = turn.found {
                best = quotient.as_ref().map_or(found.clone(), |quotient| quotient.expand(&found));
                duration = duration_of(problem, &best);
            }
        }
        round += 1;
    }
    best
}

struct Turn<'a> {
    problem: &'a Problem,
    neighbours: Option<&'a Neighbours>,
    bound: u32,
    /// Best duration known so far, found here or before.
    duration: u32,
    seed: u64,
    found: Option<Vec<Placement>>,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl Turn<'_> {
    fn with_assigned_routes(&mut self, at: &mut u32, share: u64, budget: &mut Budget) {
        let steps = (500 + 2 * self.problem.jobs().len() as u64).min(20_000);
        while *at < self.duration && budget.moves > 0 {
            let seed = self.seed;
            let routes = spend(budget, steps * assign::COST, |share| assign(self.problem, *at, seed, share));
            let Some(routes) = routes else {
                *at += 1;
                continue;
            };
            let fixed = self.problem.with_routes(&routes);
            let (least, domains) = lower_bound(&fixed);
            if least < self.duration {
                let neighbours = Neighbours::new(&fixed, MOST_MEETINGS);
                let found = self.search(&fixed, neighbours.as_ref(), least, &domains, share, budget);
                self.found = found
                    .map(|found| {
                        let placements = found.iter().zip(&routes);
                        placements.map(|(old, &route)| Placement { route: route as u32, ..*old }).collect()
                    })
                    .or(self.found.take());
            }
            return;
        }
    }

    fn anew(&mut self, share: u64, budget: &mut Budget) {
        if self.duration <= self.bound {
            return;
        }
        if let Some(domains) = Contention::new(self.problem).filter(self.problem, self.bound) {
            let (problem, neighbours, bound) = (self.problem, self.neighbours, self.bound);
            let found = self.search(problem, neighbours, bound, &domains, share, budget);
            self.found = found.or(self.found.take());
        }
    }

    fn search(
        &mut self,
        problem: &Problem,
        neighbours: Option<&Neighbours>,
        least: u32,
        domains: &super::Domains,
        share: u64,
        budget: &mut Budget,
    ) -> Option<Vec<Placement>> {
        let bound = self.bound;
        let mut report = |progress: Progress| (self.on_progress)(Progress { bound, ..progress });
        let mut search = Search {
            problem,
            neighbours,
            contention: Contention::new(problem),
            seed: self.seed,
            bound: least,
            best: Vec::new(),
            duration: self.duration,
            on_progress: &mut report,
        };
        spend(budget, share, |share| search.improve(domains, share));
        let (best, duration) = (search.best, search.duration);
        (duration < self.duration).then(|| {
            self.duration = duration;
            best
        })
    }

    /// Shortens what was found here cycle by cycle; routes may change.
    fn descend(&mut self, share: u64, budget: &mut Budget) {
        let contention = Contention::new(self.problem);
        while let Some(found) = &self.found
            && self.duration > self.bound
            && budget.moves > 0
        {
            let target = self.duration - 1;
            let Some(domains) = contention.filter(self.problem, target) else { return };
            let period = (self.problem.jobs().len() as u64 / 2).max(200);
            let manner = Manner { seed: self.seed ^ u64::from(target), newest_first: false, period };
            let mut search = Ejection::new(self.problem, self.neighbours, domains, target, manner);
            search.start_from(&found.iter().copied().map(Some).collect::<Vec<_>>());
            let shorter = spend(budget, share, |share| search.run(share));
            if let Some(shorter) = &shorter {
                self.duration = duration_of(self.problem, shorter);
            }
            (self.on_progress)(Progress {
                best: self.duration,
                bound: self.bound,
                target,
                unplaced: search.fewest_unplaced(),
                moves: budget.moves,
            });
            if shorter.is_none() {
                return;
            }
            self.found = shorter;
        }
    }
}

/// Lets a search spend a part of a budget.
fn spend<T>(budget: &mut Budget, share: u64, search: impl FnOnce(&mut Budget) -> T) -> T {
    let given = share.min(budget.moves);
    let mut part = Budget { moves: given, should_stop: budget.should_stop };
    let outcome = search(&mut part);
    budget.moves = if (budget.should_stop)() { 0 } else { budget.moves - (given - part.moves) };
    outcome
}
