use super::choice::has_many_routes;
use crate::{
    schedule::{Budget, Problem, Route, bounds::rotated},
    traffic::{Purpose, draw},
};

/// Chooses one route per job so that little speaks against a schedule of `target` cycles.
///
/// Simulated annealing over single changes of routes. A resource that its users reach after their
/// *heads* and leave before their *tails* needs `least head + flits + least tail` cycles; it costs
/// the more the nearer that is to the target, and far more beyond. What is left, its slack, lets its
/// users start in `slack + 1` phases modulo their length; a job costs the more the fewer phases all
/// its resources allow together. Loads alone are no guide: a busy link in the middle of many long
/// routes cannot be used early or late. Where there are many routes, every pair of jobs that share a
/// resource has a cost at last: such jobs keep each other from nearly two lengths of starts, however
/// many links they share, so routes are better shared for long by few than for short by many. A step
/// takes a move of the budget.
pub(super) fn assign(
    problem: &Problem,
    target: u32,
    seed: u64,
    steps: u64,
    budget: &mut Budget,
) -> Vec<usize> {
    // From nearly everything being accepted to nearly nothing, in as many stages of 2^-(1/19).
    const STAGES: u64 = 128;
    const COOLER: f64 = 0.965;
    let mut search = Assignment::new(problem, target);
    let free: Vec<u32> = (0..problem.jobs().len())
        .filter(|&job| problem.jobs()[job].routes.len() > 1)
        .map(|job| job as u32)
        .collect();
    if free.is_empty() {
        return search.routes;
    }
    let mut temperature = UNIT as f64;
    for step in 0..steps {
        if !budget.take() {
            break;
        }
        if step % steps.div_ceil(STAGES) == 0 {
            temperature *= COOLER;
        }
        let random = draw(seed, 1, Purpose::Search, step);
        let job = free[(random >> 32) as usize % free.len()] as usize;
        let (old, choices) = (search.routes[job], problem.jobs()[job].routes.len());
        let route = (old + 1 + random as u32 as usize % (choices - 1)) % choices;
        let change = search.change(job, route);
        if change > 0 && change as f64 > temperature * exponential(draw(seed, 2, Purpose::Search, step)) {
            search.change_back(job, old);
        }
    }
    search.routes
}

/// Cost of a resource that is as full as the target allows.
const UNIT: i64 = 1 << 16;

/// Cost of a pair of jobs that share a resource.
const PAIR: i64 = UNIT * 3 / 16;

/// Pairs are counted in problems of up to so many jobs.
const MOST_PAIRED: usize = 4_096;

/// A number with roughly the exponential distribution of mean 1, linear between its octaves.
fn exponential(random: u64) -> f64 {
    let random = random | 1;
    let octave = random.leading_zeros();
    let within = (random << octave << 1 >> 48) as f64 / 65_536.0;
    (f64::from(octave) + 1.0 - within) * std::f64::consts::LN_2
}

/// A job on a resource: cycles before and behind it.
#[derive(Clone, Copy, Debug)]
struct User {
    job: u32,
    head: u32,
    tail: u32,
    length: u32,
}

/// What its users make of a resource: its cost, and the phases in which it can be taken.
#[derive(Clone, Copy, Debug)]
struct State {
    cost: i64,
    phases: u64,
}

struct Assignment<'p> {
    problem: &'p Problem,
    target: u32,
    /// The length of all jobs if that is the same and not too long for phases, else 0.
    length: u32,
    all_phases: u64,
    routes: Vec<usize>,
    users: Vec<Vec<User>>,
    states: Vec<State>,
    job_costs: Vec<i64>,
    /// Cost of a resource by the cycles left to the target.
    cost_of_rest: Vec<i64>,
    /// Cost of a job by the number of its phases.
    cost_of_phases: Vec<i64>,
    /// How many uses each pair of jobs shares; empty if pairs do not count.
    shared: Vec<u16>,
    /// Pairs of jobs that share a resource.
    pairs: i64,
    /// Jobs seen in the change with this number.
    seen: Vec<u64>,
    changes: u64,
    affected: Vec<u32>,
    old_states: Vec<(u32, State)>,
    old_costs: Vec<(u32, i64)>,
}

impl<'p> Assignment<'p> {
    fn new(problem: &'p Problem, target: u32) -> Self {
        let (jobs, resources) = (problem.jobs().len(), problem.resources());
        let longest = problem.jobs().iter().map(|job| job.length).max().unwrap_or(1);
        let same = problem.jobs().iter().all(|job| job.length == longest);
        let length = if same && longest <= 64 { longest } else { 0 };
        let all_phases = if length == 0 { 0 } else { u64::MAX >> (64 - length) };
        // A resource with one and a half packets to spare costs a little over a third.
        let decay = (i64::from(longest) * 3 / 2).max(2);
        let mut cost_of_rest = vec![UNIT];
        while let Some(&cost) = cost_of_rest.last()
            && cost >= decay
        {
            cost_of_rest.push(cost - cost / decay);
        }
        // No phase is as bad as two full resources; a halving of the phases a fifth of one.
        let mut cost_of_phases = vec![0; length as usize + 1];
        for phases in (1..length as usize).rev() {
            cost_of_phases[phases] = cost_of_phases[phases + 1] + 3 * UNIT / (10 * phases as i64);
        }
        cost_of_phases[0] = if length == 0 { 0 } else { 2 * UNIT };
        let paired = jobs <= MOST_PAIRED && has_many_routes(problem);
        let mut this = Self {
            problem,
            target,
            length,
            all_phases,
            routes: vec![0; jobs],
            users: vec![Vec::new(); resources],
            states: vec![State { cost: 0, phases: all_phases }; resources],
            job_costs: vec![0; jobs],
            cost_of_rest,
            cost_of_phases,
            shared: vec![0; if paired { jobs * jobs } else { 0 }],
            pairs: 0,
            seen: vec![0; jobs],
            changes: 0,
            affected: Vec::new(),
            old_states: Vec::new(),
            old_costs: Vec::new(),
        };
        for job in 0..jobs {
            for held in 0..problem.jobs()[job].routes[0].uses.len() {
                this.add(job, 0, held);
            }
        }
        for resource in 0..resources {
            this.states[resource] = this.state_of(resource as u32);
        }
        for job in 0..jobs {
            this.job_costs[job] = this.cost_of_job(job);
        }
        this
    }

    fn add(&mut self, job: usize, route: usize, held: usize) {
        let description = &self.problem.jobs()[job];
        let (length, route) = (description.length, &description.routes[route]);
        let held = route.uses[held];
        let tail = route.span - held.offset - length;
        let user = User { job: job as u32, head: held.offset, tail, length };
        self.share(job, held.resource, true);
        self.users[held.resource as usize].push(user);
    }

    fn take_out(&mut self, job: usize, route: usize, held: usize) {
        let held = self.problem.jobs()[job].routes[route].uses[held];
        let users = &mut self.users[held.resource as usize];
        if let Some(index) = users.iter().position(|user| user.job == job as u32 && user.head == held.offset)
        {
            users.swap_remove(index);
            self.share(job, held.resource, false);
        }
    }

    /// Counts a job as one that shares a resource with its users, or no longer.
    fn share(&mut self, job: usize, resource: u32, more: bool) {
        if self.shared.is_empty() {
            return;
        }
        for user in &self.users[resource as usize] {
            let other = user.job as usize;
            if other == job {
                continue;
            }
            let shared = &mut self.shared[job.min(other) * self.routes.len() + job.max(other)];
            let before = *shared;
            // Only many slices over many common links reach the end; the cost is then a guess.
            *shared = if more { before.saturating_add(1) } else { before.saturating_sub(1) };
            self.pairs += i64::from(*shared > 0) - i64::from(before > 0);
        }
    }

    fn state_of(&self, resource: u32) -> State {
        let users = &self.users[resource as usize];
        if users.is_empty() {
            return State { cost: 0, phases: self.all_phases };
        }
        let (mut flits, mut head, mut tail) = (0_u64, u32::MAX, u32::MAX);
        for user in users {
            flits += u64::from(user.length);
            head = head.min(user.head);
            tail = tail.min(user.tail);
        }
        let need = flits + u64::from(head) + u64::from(tail);
        let cost = match u64::from(self.target).checked_sub(need) {
            Some(rest) => self.cost_of_rest.get(rest as usize).copied().unwrap_or(0),
            None => UNIT + 2 * UNIT * (need - u64::from(self.target)).min(1 << 24) as i64,
        };
        let slack = u64::from(self.target).saturating_sub(need);
        let phases = match slack + 1 < u64::from(self.length) {
            true => rotated((1 << (slack + 1)) - 1, self.length, head),
            false => self.all_phases,
        };
        State { cost, phases }
    }

    fn cost_of_job(&self, job: usize) -> i64 {
        let mut phases = self.all_phases;
        for held in &self.problem.jobs()[job].routes[self.routes[job]].uses {
            let allowed = self.states[held.resource as usize].phases;
            if allowed != self.all_phases {
                phases &= rotated(allowed, self.length, self.length - held.offset % self.length);
            }
        }
        self.cost_of_phases[phases.count_ones() as usize]
    }

    /// Gives a job another route; returns by how much the costs grow.
    fn change(&mut self, job: usize, route: usize) -> i64 {
        self.changes += 1;
        self.old_states.clear();
        self.old_costs.clear();
        self.affected.clear();
        let problem = self.problem;
        let pairs = self.pairs;
        let old = std::mem::replace(&mut self.routes[job], route);
        let (before, after) = (&problem.jobs()[job].routes[old], &problem.jobs()[job].routes[route]);
        for held in differences(before, after) {
            self.take_out(job, old, held);
            let resource = before.uses[held].resource;
            self.old_states.push((resource, self.states[resource as usize]));
        }
        for held in differences(after, before) {
            self.add(job, route, held);
            let resource = after.uses[held].resource;
            self.old_states.push((resource, self.states[resource as usize]));
        }
        self.touch(job as u32);
        let mut change = (self.pairs - pairs) * PAIR;
        for index in 0..self.old_states.len() {
            let resource = self.old_states[index].0;
            let (old, new) = (self.states[resource as usize], self.state_of(resource));
            self.states[resource as usize] = new;
            change += new.cost - old.cost;
            if new.phases != old.phases {
                for user in 0..self.users[resource as usize].len() {
                    self.touch(self.users[resource as usize][user].job);
                }
            }
        }
        for index in 0..self.affected.len() {
            let job = self.affected[index] as usize;
            let (old, new) = (self.job_costs[job], self.cost_of_job(job));
            if old != new {
                self.old_costs.push((job as u32, old));
                self.job_costs[job] = new;
                change += new - old;
            }
        }
        change
    }

    /// Undoes the last change.
    fn change_back(&mut self, job: usize, old: usize) {
        let problem = self.problem;
        let route = std::mem::replace(&mut self.routes[job], old);
        let (before, after) = (&problem.jobs()[job].routes[old], &problem.jobs()[job].routes[route]);
        for held in differences(after, before) {
            self.take_out(job, route, held);
        }
        for held in differences(before, after) {
            self.add(job, old, held);
        }
        // A resource may be there twice: its first state is the one to return to.
        for &(resource, state) in self.old_states.iter().rev() {
            self.states[resource as usize] = state;
        }
        for &(job, cost) in &self.old_costs {
            self.job_costs[job as usize] = cost;
        }
    }

    fn touch(&mut self, job: u32) {
        if std::mem::replace(&mut self.seen[job as usize], self.changes) != self.changes {
            self.affected.push(job);
        }
    }
}

/// The uses of one route that the other has not, or not with the same tail.
fn differences<'r>(one: &'r Route, other: &'r Route) -> impl Iterator<Item = usize> + 'r {
    let same = one.span == other.span;
    (0..one.uses.len()).filter(move |&held| !(same && other.uses.contains(&one.uses[held])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        schedule::{Demand, RouteChoice, Slicing, classic_bound, lower_bound},
        traffic::Pattern,
    };
    use std::collections::HashSet;

    fn rotation(choice: RouteChoice) -> Problem {
        let shape = Shape::torus(&[16, 16]).unwrap();
        let fabric = Fabric::new(shape.clone());
        let to = Pattern::BitRotation.destinations(&shape, 0).unwrap();
        let demand = |source| Demand { source, destination: to.of(source, 0), length: 8, slices: 2 };
        let demands: Vec<Demand> = (0..256).map(demand).collect();
        Problem::new(&fabric, &demands, Slicing::OneInterval, choice).unwrap()
    }

    #[test]
    fn assigned_routes_have_no_larger_bound_than_the_target() {
        let problem = rotation(RouteChoice::AnyOrder);
        let first = problem.with_routes(&vec![0; 256]);
        let target = 92;
        assert!(classic_bound(&first) > target);
        let routes = |seed| {
            let mut budget = Budget::of_moves(2_000_000);
            assign(&problem, target, seed, 50_000, &mut budget)
        };
        // The least of a few: phases are counted by the users of single resources only.
        assert!((1..=4).any(|seed| lower_bound(&problem.with_routes(&routes(seed))).0 <= target));
        assert_eq!(routes(1), routes(1));
    }

    #[test]
    fn costs_kept_up_to_date_are_those_counted_anew() {
        let problem = rotation(RouteChoice::TwoBends);
        let mut kept = Assignment::new(&problem, 80);
        let cost = |search: &Assignment| -> i64 {
            let single = search.states.iter().map(|state| state.cost).chain(search.job_costs.iter().copied());
            // Pairs are counted here by looking at every two jobs.
            let resources: Vec<HashSet<u32>> = search
                .routes
                .iter()
                .zip(problem.jobs())
                .map(|(&route, job)| job.routes[route].uses.iter().map(|held| held.resource).collect())
                .collect();
            let meets = |one: usize, other: usize| !resources[one].is_disjoint(&resources[other]);
            let jobs = resources.len();
            let pairs =
                (0..jobs).map(|one| (0..one).filter(|&other| meets(one, other)).count()).sum::<usize>();
            single.sum::<i64>() + PAIR * pairs as i64
        };
        let mut expected = cost(&kept);
        for step in 0..300 {
            let random = draw(5, 0, Purpose::Search, step);
            let job = (random >> 32) as usize % 256;
            let (old, choices) = (kept.routes[job], problem.jobs()[job].routes.len());
            let change = kept.change(job, random as u32 as usize % choices);
            if step % 3 == 0 {
                kept.change_back(job, old);
            } else {
                expected += change;
            }
            assert_eq!(cost(&kept), expected);
            if step % 30 == 0 {
                let mut anew = Assignment::new(&problem, 80);
                for (job, &route) in kept.routes.iter().enumerate() {
                    anew.change(job, route);
                }
                assert_eq!(cost(&anew), expected);
            }
        }
    }

    #[test]
    fn random_numbers_are_exponential() {
        let numbers: Vec<f64> =
            (0..100_000).map(|index| exponential(draw(1, 0, Purpose::Search, index))).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.06, "{mean}");
        let beyond = numbers.iter().filter(|&&number| number > 3.0).count() as f64 / 1e5;
        assert!((beyond - (-3_f64).exp()).abs() < 0.01, "{beyond}");
    }
}
