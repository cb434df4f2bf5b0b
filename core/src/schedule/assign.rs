use super::{Budget, Problem, Route};
use crate::traffic::{Purpose, draw};

/// Moves of an ejection search in whose time one route is changed here.
pub(super) const COST: u64 = 100;

/// Chooses one route per job so that no resource alone makes a schedule of `target` cycles
/// impossible.
///
/// A resource that its users reach after their *heads* and leave before their *tails* needs
/// `head + flits + tail` cycles for the users whose heads and tails are at least that long. A local
/// search takes a resource that needs more than the target and gives one of its users the route
/// after which the excess over all resources is least; that job then keeps its route for some steps.
/// Loads alone are no guide: a busy link in the middle of many long routes cannot be used early or
/// late. `None` if the budget is spent first.
pub(super) fn assign(problem: &Problem, target: u32, seed: u64, budget: &mut Budget) -> Option<Vec<usize>> {
    let mut search = Assignment::new(problem, target, seed);
    let mut affected = Vec::new();
    let mut step = 0;
    while !search.violated.is_empty() {
        if budget.moves < COST || (step % 16 == 0 && (budget.should_stop)()) {
            budget.moves = 0;
            return None;
        }
        budget.moves -= COST;
        step += 1;
        search.step(step, &mut affected);
    }
    Some(search.routes)
}

/// A job on a resource: cycles before and behind it, and on it.
#[derive(Clone, Copy, Debug)]
struct User {
    job: u32,
    head: u32,
    tail: u32,
    length: u32,
}

struct Assignment<'p> {
    problem: &'p Problem,
    target: i64,
    seed: u64,
    routes: Vec<usize>,
    users: Vec<Vec<User>>,
    excess: Vec<i64>,
    violated: Vec<u32>,
    /// Place of a resource among the violated ones.
    place: Vec<u32>,
    kept_until: Vec<u64>,
    weights: Vec<i64>,
}

impl<'p> Assignment<'p> {
    fn new(problem: &'p Problem, target: u32, seed: u64) -> Self {
        let resources = problem.resources();
        let mut this = Self {
            problem,
            target: target.into(),
            seed,
            routes: vec![0; problem.jobs().len()],
            users: vec![Vec::new(); resources],
            excess: vec![0; resources],
            violated: Vec::new(),
            place: vec![u32::MAX; resources],
            kept_until: vec![0; problem.jobs().len()],
            weights: vec![1; resources],
        };
        // In random order, each over the resources least used so far.
        let mut order: Vec<usize> = (0..problem.jobs().len()).collect();
        order.sort_by_key(|&job| draw(seed, job as u32, Purpose::Search, 0));
        for job in order {
            let crowd = |route: &Route| -> u64 {
                route.uses.iter().map(|held| (this.users[held.resource as usize].len() as u64).pow(3)).sum()
            };
            let routes = &problem.jobs()[job].routes;
            let best = (0..routes.len()).min_by_key(|&route| crowd(&routes[route])).unwrap_or(0);
            this.add(job, best);
        }
        for resource in 0..resources as u32 {
            this.renew(resource);
        }
        this
    }

    fn add(&mut self, job: usize, route: usize) {
        self.routes[job] = route;
        let Route { uses, span, .. } = &self.problem.jobs()[job].routes[route];
        let length = self.problem.jobs()[job].length;
        for held in uses {
            let tail = span - held.offset - length;
            self.users[held.resource as usize].push(User {
                job: job as u32,
                head: held.offset,
                tail,
                length,
            });
        }
    }

    fn take_out(&mut self, job: usize) {
        for held in &self.problem.jobs()[job].routes[self.routes[job]].uses {
            let users = &mut self.users[held.resource as usize];
            if let Some(index) =
                users.iter().position(|user| user.job == job as u32 && user.head == held.offset)
            {
                users.swap_remove(index);
            }
        }
    }

    /// By how many cycles a resource alone exceeds the target.
    fn excess_of(&self, resource: u32) -> i64 {
        let users = &self.users[resource as usize];
        let mut flits = 0;
        let (mut head, mut tail) = (0, 0);
        for user in users {
            flits += i64::from(user.length);
            head = head.max(user.head);
            tail = tail.max(user.tail);
        }
        if flits + i64::from(head) + i64::from(tail) <= self.target {
            return 0;
        }
        let mut most = 0;
        for first in users {
            if i64::from(first.head) + flits + i64::from(tail) <= self.target {
                continue;
            }
            for last in users {
                let ends = i64::from(first.head) + i64::from(last.tail);
                if ends + flits <= self.target.max(most) {
                    continue;
                }
                let inside: i64 = users
                    .iter()
                    .filter(|user| user.head >= first.head && user.tail >= last.tail)
                    .map(|user| i64::from(user.length))
                    .sum();
                most = most.max(ends + inside);
            }
        }
        (most - self.target).max(0)
    }

    fn renew(&mut self, resource: u32) {
        let excess = self.excess_of(resource);
        let index = resource as usize;
        self.excess[index] = excess;
        let place = self.place[index];
        if excess > 0 && place == u32::MAX {
            self.place[index] = self.violated.len() as u32;
            self.violated.push(resource);
        } else if excess == 0 && place != u32::MAX {
            self.violated.swap_remove(place as usize);
            if let Some(&moved) = self.violated.get(place as usize) {
                self.place[moved as usize] = place;
            }
            self.place[index] = u32::MAX;
        }
    }

    /// The resources whose users change when a job changes its route.
    fn affected(&self, job: usize, route: usize, out: &mut Vec<u32>) {
        out.clear();
        let routes = &self.problem.jobs()[job].routes;
        let (old, new) = (&routes[self.routes[job]], &routes[route]);
        let differs = |one: &Route, other: &Route| -> Vec<u32> {
            let same = one.span == other.span;
            let left = one.uses.iter().filter(|held| !(same && other.uses.contains(held)));
            left.map(|held| held.resource).collect()
        };
        out.extend(differs(old, new));
        out.extend(differs(new, old));
        out.sort_unstable();
        out.dedup();
    }

    fn step(&mut self, step: u64, affected: &mut Vec<u32>) {
        const MOST_TRIED: usize = 60;
        let random = draw(self.seed, 1, Purpose::Search, step);
        let resource = self.violated[(random >> 32) as usize % self.violated.len()];
        let mut choices: Vec<(usize, usize)> = Vec::new();
        for user in &self.users[resource as usize] {
            let job = user.job as usize;
            let routes = 0..self.problem.jobs()[job].routes.len();
            choices.extend(routes.filter(|&route| route != self.routes[job]).map(|route| (job, route)));
        }
        let skip = choices.len().div_ceil(MOST_TRIED).max(1);
        let mut best: Option<(i64, u64, usize, usize)> = None;
        for (index, &(job, route)) in choices.iter().enumerate().skip(random as usize % skip).step_by(skip) {
            self.affected(job, route, affected);
            let old = self.routes[job];
            self.take_out(job);
            self.add(job, route);
            let change: i64 = affected
                .iter()
                .map(|&r| (self.excess_of(r) - self.excess[r as usize]) * self.weights[r as usize])
                .sum();
            self.take_out(job);
            self.add(job, old);
            if self.kept_until[job] > step {
                continue;
            }
            let tie = draw(random, index as u32, Purpose::Search, step);
            let candidate = (change, tie, job, route);
            if best.is_none_or(|best| candidate < best) {
                best = Some(candidate);
            }
        }
        let Some((change, _, job, route)) = best else { return };
        if change >= 0 {
            for &resource in &self.violated {
                self.weights[resource as usize] += 1;
            }
        }
        self.affected(job, route, affected);
        self.take_out(job);
        self.add(job, route);
        for &resource in affected.iter() {
            self.renew(resource);
        }
        self.kept_until[job] = step + 2 + (random & 3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        schedule::{Demand, RouteChoice, Slicing, classic_bound},
        traffic::Pattern,
    };

    #[test]
    fn assigned_routes_have_no_larger_bound_than_the_target() {
        let shape = Shape::torus(&[16, 16]).unwrap();
        let fabric = Fabric::new(shape.clone());
        let to = Pattern::BitRotation.destinations(&shape, 0).unwrap();
        let demand = |source| Demand { source, destination: to.of(source, 0), length: 8, slices: 2 };
        let demands: Vec<Demand> = (0..256).map(demand).collect();
        let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::AnyOrder).unwrap();
        let first = problem.with_routes(&vec![0; 256]);
        let target = 90;
        assert!(classic_bound(&first) > target);
        let routes = |seed| {
            let mut budget = Budget { moves: 2_000_000, should_stop: &|| false };
            assign(&problem, target, seed, &mut budget).unwrap()
        };
        assert!(classic_bound(&problem.with_routes(&routes(1))) <= target);
        assert_eq!(routes(1), routes(1));
        // Less than the load bound is out of reach.
        let mut budget = Budget { moves: 100_000, should_stop: &|| false };
        assert!(assign(&problem, 60, 1, &mut budget).is_none());
    }
}
