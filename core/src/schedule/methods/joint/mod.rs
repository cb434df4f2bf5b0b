//! Routes and starts at once.

mod assign;
mod choice;

use super::{
    Budget, Incumbent, Method, Progress, Schedule, Task,
    ejection::{Fitting, Manner, Targets},
    exact, greedy, search,
};
use crate::{
    fabric::Fabric,
    routing::dimension_order,
    schedule::{
        Contention, Domains, Placement, Problem, Quotient, duration_of, lower_bound,
        occupancy::{MOST_MEETINGS, Neighbours},
    },
    traffic::{Purpose, draw, draw_below},
};
use assign::assign;
use choice::{Choice, MOST_OPTIONS, has_many_routes, options};

/// The search for routes and starts at once.
///
/// It begins with the best schedule over routes in dimension order, where they are among those
/// allowed. Attempts at shorter and shorter durations follow: routes are [assigned](assign()) so that
/// links keep slack and agree about phases, their starts are searched with these routes kept, and
/// from there on jobs may change their routes too. Attempts are made in turn in quotients by groups
/// of several sizes: a large group makes a small problem, but leaves few choices of routes. Small
/// problems are also searched as they are.
pub(super) struct Joint;

impl Method for Joint {
    const NAME: &'static str = "joint";
    const SUMMARY: &'static str =
        "routes and starts at once: routes that suit each other, then packets that push others away";

    fn applies(task: &Task) -> bool {
        let problem = task.problem();
        !problem.is_in_phases() && !problem.has_any_minimal_route() && !problem.has_fixed_routes()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let mut report = |progress| incumbent.report(progress);
        let found = search_in(task, &quotients(task), budget, &mut report);
        incumbent.offer(Schedule::new(found), task);
    }
}

/// Quotients of several sizes, and the problem itself where it is small.
fn quotients(task: &Task) -> Vec<Option<Quotient>> {
    const GROUPS: [usize; 2] = [8, 2];
    const SMALL: usize = 128;
    let Some(full) = task.quotient() else { return vec![None] };
    let jobs = |quotient: &Quotient| quotient.problem().jobs().len();
    let mut all = vec![Some(full.clone())];
    let mut largest = 0;
    for group in GROUPS {
        let smaller = full.smaller(task.fabric(), task.problem(), group);
        if let Some(quotient) = smaller.filter(|quotient| jobs(quotient) > largest) {
            largest = jobs(&quotient);
            all.push(Some(quotient));
        }
    }
    // The shortest schedules need not be symmetric.
    if task.problem().jobs().len() <= SMALL {
        all.push(None);
    }
    all
}

/// The shortest schedule found in the given quotients; `None` stands for the problem itself.
pub(super) fn search_in(
    task: &Task,
    quotients: &[Option<Quotient>],
    budget: &mut Budget,
    on_progress: &mut dyn FnMut(Progress),
) -> Vec<Placement> {
    let (problem, bound) = (task.problem(), task.bound());
    let best = greedy(problem);
    let mut state = Attempts { duration: duration_of(problem, &best), bound, best, on_progress };
    state.in_dimension_order(task, budget);
    let view = |quotient| View { quotient, neighbours: None, attempts: 0 };
    let mut views: Vec<View> = quotients.iter().map(Option::as_ref).map(view).collect();
    let mut number = 0;
    while state.duration > bound && budget.moves > 0 {
        let index = number % views.len();
        number += 1;
        let seed = draw(task.seed(), index as u32, Purpose::Search, 0);
        // As long as schedules get shorter here, with growing strides.
        let mut stride = 1;
        while state.attempt(problem, &mut views[index], seed, stride, budget) {
            stride *= 2;
        }
    }
    state.best
}

/// A quotient of the problem, or the problem itself.
struct View<'a> {
    quotient: Option<&'a Quotient>,
    neighbours: Option<Option<Neighbours>>,
    attempts: u64,
}

/// What one attempt aims at, and how much it may spend on what.
struct Aim {
    seed: u64,
    target: u32,
    steps: u64,
    fixed_moves: u64,
    joint_moves: u64,
}

struct Attempts<'a> {
    bound: u32,
    duration: u32,
    best: Vec<Placement>,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl Attempts<'_> {
    fn in_dimension_order(&mut self, task: &Task, budget: &mut Budget) {
        let Some(routes) = dimension_order_routes(task.fabric(), task.problem()) else { return };
        let fixed = task.problem().with_routes(&routes);
        let inner = Task::new(task.fabric(), &fixed, task.seed());
        if inner.bound() >= self.duration {
            return;
        }
        let moves = 50_000 + 100 * task.problem().jobs().len() as u64;
        let best = self.duration;
        let mut report = |progress: Progress| {
            (self.on_progress)(Progress { best: best.min(progress.best), ..progress });
        };
        let incumbent = Incumbent::new(&inner, &mut report);
        let found = budget.share(moves, |share| search(&inner, &exact(&inner), incumbent, share));
        let Some(found) = found.filter(|found| found.duration < self.duration) else { return };
        self.duration = found.duration;
        let placements = found.schedule.placements.into_iter().zip(&routes);
        self.best =
            placements.map(|(placement, &route)| Placement { route: route as u32, ..placement }).collect();
    }

    /// One attempt at a schedule `stride` cycles shorter in a view; whether a shorter one was found.
    fn attempt(
        &mut self,
        whole: &Problem,
        view: &mut View,
        seed: u64,
        stride: u32,
        budget: &mut Budget,
    ) -> bool {
        if self.duration <= self.bound || budget.moves == 0 {
            return false;
        }
        let number = view.attempts;
        view.attempts += 1;
        let problem = view.quotient.map_or(whole, Quotient::problem);
        let (jobs, options) = (problem.jobs().len() as u64, options(problem) as u64);
        let longer = (number / 24).min(20);
        let mut aim = Aim {
            seed: draw(seed, 0, Purpose::Search, number),
            target: match number {
                0 => self.bound + (self.duration - self.bound) / 4,
                _ => self.duration.saturating_sub(stride).max(self.bound),
            },
            steps: (5_000 + 100 * jobs + 10 * options) << longer,
            fixed_moves: (5_000 + 30 * jobs) << longer,
            joint_moves: (5_000 + 150 * jobs) << longer,
        };
        // Some traffic is best spread by the search for starts itself.
        let free = number % 4 == 3 && options <= MOST_OPTIONS as u64;
        let routes = if free { vec![0; jobs as usize] } else { self.assigned(problem, &aim, budget) };
        let fixed = (!free).then(|| problem.with_routes(&routes));
        let partial = match &fixed {
            None => None,
            Some(fixed) if number == 0 => self.anew(fixed, None, &aim, budget).map(|found| {
                aim.target = duration_of(fixed, &found);
                found.into_iter().map(Some).collect()
            }),
            Some(fixed) => match self.with_fixed(fixed, &aim, has_many_routes(problem), budget) {
                None => return false,
                partial => partial,
            },
        };
        let choice = Choice::new(problem, routes, aim.seed, &mut view.neighbours);
        let mut found = match &partial {
            None => self.anew(choice.problem(), choice.neighbours(), &aim, budget),
            Some(partial) => self.completed(&choice, &choice.of_assigned(partial), &aim, budget),
        };
        let mut shortest = None;
        while let Some(shorter) = found {
            self.duration = duration_of(choice.problem(), &shorter);
            aim.target = self.duration - 1;
            let partial: Vec<Option<Placement>> = shorter.iter().copied().map(Some).collect();
            shortest = Some(shorter);
            found = match aim.target >= self.bound {
                true => self.completed(&choice, &partial, &aim, budget),
                false => None,
            };
        }
        let Some(found) = shortest.map(|found| choice.named(&found)) else { return false };
        self.best = view.quotient.map_or_else(|| found.clone(), |quotient| quotient.expand(&found));
        true
    }

    /// Routes for a schedule that may be somewhat shorter: they then have slack in this one.
    fn assigned(&self, problem: &Problem, aim: &Aim, budget: &mut Budget) -> Vec<usize> {
        let spare = problem.jobs().iter().map(|job| job.length).max().unwrap_or(1) * 3 / 4;
        let target = aim.target.saturating_sub(draw_below(aim.seed, 1, Purpose::Search, 0, spare + 1));
        budget.share(aim.steps, |share| assign(problem, target, aim.seed, aim.steps, share))
    }

    /// A schedule from an empty one, as short as it gets.
    fn anew(
        &mut self,
        problem: &Problem,
        neighbours: Option<&Neighbours>,
        aim: &Aim,
        budget: &mut Budget,
    ) -> Option<Vec<Placement>> {
        let bound = self.bound;
        let least = lower_bound(problem).0.max(bound);
        let contention = Contention::new(problem);
        let domains = contention.filter(problem, least)?;
        let own = neighbours.is_none().then(|| Neighbours::new(problem, MOST_MEETINGS)).flatten();
        let mut report = |progress: Progress| (self.on_progress)(Progress { bound, ..progress });
        let mut search = Targets {
            problem,
            neighbours: neighbours.or(own.as_ref()),
            contention,
            seed: aim.seed,
            bound: least,
            best: Vec::new(),
            duration: self.duration,
            on_progress: &mut report,
        };
        budget.share(aim.joint_moves, |share| search.improve(&domains, share));
        (!search.best.is_empty()).then_some(search.best)
    }

    /// A part of a schedule with routes kept; `None` if they do not allow the target, unless such
    /// routes are wanted too: where there are many, a few other ones may do.
    fn with_fixed(
        &mut self,
        fixed: &Problem,
        aim: &Aim,
        keep_refuted: bool,
        budget: &mut Budget,
    ) -> Option<Vec<Option<Placement>>> {
        let mut domains = Contention::new(fixed).filter(fixed, aim.target);
        if domains.is_none() && keep_refuted {
            domains = Domains::new(fixed, aim.target);
        }
        let domains = domains?;
        let neighbours = Neighbours::new(fixed, MOST_MEETINGS);
        let mut search = Fitting::new(fixed, neighbours.as_ref(), domains, aim.target, aim.manner(fixed));
        let found = budget.share(aim.fixed_moves, |share| search.run(share));
        Some(found.map_or_else(|| search.best().to_vec(), |found| found.into_iter().map(Some).collect()))
    }

    /// A part of a schedule completed by changing routes too.
    fn completed(
        &mut self,
        choice: &Choice,
        partial: &[Option<Placement>],
        aim: &Aim,
        budget: &mut Budget,
    ) -> Option<Vec<Placement>> {
        let problem = choice.problem();
        let domains = Contention::new(problem).filter(problem, aim.target)?;
        let mut search = Fitting::new(problem, choice.neighbours(), domains, aim.target, aim.manner(problem));
        search.start_from(partial);
        let found = budget.share(aim.joint_moves, |share| search.run(share));
        (self.on_progress)(Progress {
            best: found.as_ref().map_or(self.duration, |found| duration_of(problem, found)),
            bound: self.bound,
            target: aim.target,
            unplaced: search.fewest_unplaced(),
            moves: budget.moves,
        });
        found
    }
}

impl Aim {
    fn manner(&self, problem: &Problem) -> Manner {
        // Measured: order pays on large problems, chance on small ones.
        const LARGE: usize = 400;
        let jobs = problem.jobs().len();
        let period = (jobs as u64 / 2).max(100);
        Manner { seed: self.seed, newest_first: false, period, orderly: jobs >= LARGE }
    }
}

/// The routes in dimension order, where every job may take that.
fn dimension_order_routes(fabric: &Fabric, problem: &Problem) -> Option<Vec<usize>> {
    let nodes = fabric.shape().nodes() as u32;
    let links = nodes * fabric.shape().directions() as u32;
    problem
        .jobs()
        .iter()
        .map(|job| {
            let uses = &job.routes.first()?.uses;
            let source = uses.first()?.resource.checked_sub(links)?;
            let destination = uses.last()?.resource.checked_sub(links + nodes)?;
            let mut path = Vec::new();
            path.extend(dimension_order::path(fabric, source, destination));
            job.routes.iter().position(|route| *route.path == *path)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Direction, Shape},
        schedule::{Demand, RouteChoice, Slicing},
    };

    #[test]
    fn routes_in_dimension_order_are_found_among_those_with_two_bends() {
        let shape = Shape::torus(&[5, 5]).unwrap();
        let fabric = Fabric::new(shape.clone());
        // Two nodes along x and one along y, or further where a row ends; no way around is as long as the other.
        let demand = |source| Demand { source, destination: (source + 7) % 25, length: 2, slices: 1 };
        let demands: Vec<Demand> = (0..25).map(demand).collect();
        let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::TwoBends).unwrap();
        let routes = dimension_order_routes(&fabric, &problem).unwrap();
        assert_eq!(routes.len(), 25);
        for ((job, &route), demand) in problem.jobs().iter().zip(&routes).zip(&demands) {
            let path = &job.routes[route].path;
            let ends = path.iter().map(|&link| fabric.link_ends(link));
            let dimensions: Vec<usize> = ends.clone().map(|(_, direction)| direction.dimension()).collect();
            assert!(
                dimensions.is_sorted()
                    && dimensions.len() as u32 == shape.distance(demand.source, demand.destination)
            );
            let next = |node: u32, direction: Direction| shape.neighbour(node, direction).unwrap();
            let end = ends.fold(demand.source, |node, (from, direction)| {
                assert_eq!(node, from);
                next(node, direction)
            });
            assert_eq!(end, demand.destination);
        }
    }
}
