//! Who holds what when, and who meets whom.

mod apart;
mod busy;
mod neighbours;

pub(crate) use apart::apart;
pub(crate) use neighbours::{MOST_MEETINGS, Neighbours};

use super::{
    bounds::Domains,
    problem::{Placement, Problem, Route},
};
use busy::Busy;
use neighbours::first_options;

/// A route of a job that may be in use.
#[derive(Clone, Copy, Debug)]
struct State {
    /// First cycle and the one behind the last; far in the past when it is not in use.
    start: i32,
    end: i32,
    weight: i32,
}

impl State {
    const UNUSED: Self = Self { start: i32::MIN / 2, end: i32::MIN / 2, weight: 0 };
}

/// A placed route in the way of another one: of its starts in `[from, to)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// The placed route, as a number over all jobs.
    pub option: u32,
    /// What the job was placed with.
    pub weight: i32,
    pub from: i32,
    pub to: i32,
}

/// An option on a resource.
#[derive(Clone, Copy, Debug)]
struct Held {
    option: u32,
    offset: u32,
    /// The resource it takes before this one; `u32::MAX` for the first.
    before: u32,
}

/// Which job holds which resource when; jobs are placed and removed at will.
#[derive(Clone, Debug)]
pub(crate) struct Occupancy<'p> {
    problem: &'p Problem,
    neighbours: Option<&'p Neighbours>,
    first: Vec<u32>,
    job_of: Vec<u32>,
    state: Vec<State>,
    /// Who holds a resource; kept only without neighbours.
    held: Vec<Vec<Held>>,
    busy: Busy,
    once: Vec<bool>,
    placed: Vec<Option<Placement>>,
    profile: Vec<i32>,
}

impl<'p> Occupancy<'p> {
    /// Nothing is held. With `neighbours`, conflicts are found much faster.
    pub(super) fn new(problem: &'p Problem, neighbours: Option<&'p Neighbours>) -> Self {
        let first = first_options(problem);
        let job_of: Vec<u32> = first
            .windows(2)
            .enumerate()
            .flat_map(|(job, options)| (options[0]..options[1]).map(move |_| job as u32))
            .collect();
        let lists = if neighbours.is_none() { problem.resources() } else { 0 };
        Self {
            problem,
            neighbours,
            state: vec![State::UNUSED; job_of.len()],
            first,
            job_of,
            held: vec![Vec::new(); lists],
            once: problem.jobs().iter().map(|job| job.routes.iter().all(holds_once)).collect(),
            busy: Busy::new(problem.resources()),
            placed: vec![None; problem.jobs().len()],
            profile: Vec::new(),
        }
    }

    pub(super) fn placed(&self) -> &[Option<Placement>] {
        &self.placed
    }

    /// The job of a route that is given as a number over all jobs.
    pub(super) fn job_of(&self, option: u32) -> u32 {
        self.job_of[option as usize]
    }

    pub(super) fn route(&self, job: usize, route: u32) -> &'p Route {
        &self.problem.jobs()[job].routes[route as usize]
    }

    /// Places a job; whoever is in the way must have been removed before.
    pub(super) fn place(&mut self, job: usize, placement: Placement, weight: i32) {
        let length = self.problem.jobs()[job].length;
        let option = self.first[job] + placement.route;
        let mut before = u32::MAX;
        for held in &self.route(job, placement.route).uses {
            self.busy.set(held.resource, placement.start + held.offset, length, true);
            if self.neighbours.is_none() {
                self.held[held.resource as usize].push(Held { option, offset: held.offset, before });
                before = held.resource;
            }
        }
        let start = placement.start as i32;
        self.state[option as usize] = State { start, end: start + length as i32, weight };
        self.placed[job] = Some(placement);
    }

    pub(super) fn remove(&mut self, job: usize) -> Option<Placement> {
        let placement = self.placed[job].take()?;
        let length = self.problem.jobs()[job].length;
        let option = self.first[job] + placement.route;
        for held in &self.route(job, placement.route).uses {
            self.busy.set(held.resource, placement.start + held.offset, length, false);
            if self.neighbours.is_none() {
                let list = &mut self.held[held.resource as usize];
                let own = |other: &Held| other.option == option && other.offset == held.offset;
                if let Some(index) = list.iter().position(own) {
                    list.swap_remove(index);
                }
            }
        }
        self.state[option as usize] = State::UNUSED;
        Some(placement)
    }

    /// Calls `visit` with all placed routes that a route of a job can meet, and some that lie far in the
    /// past; without neighbours perhaps several times for one meeting.
    pub(super) fn meetings(&self, job: usize, route: u32, mut visit: impl FnMut(Meeting)) {
        let length = self.problem.jobs()[job].length as i32;
        let mut meet = |option: u32, shift: i32| {
            let State { start, end, weight } = self.state[option as usize];
            visit(Meeting { option, weight, from: start + shift - length + 1, to: end + shift });
        };
        match self.neighbours {
            Some(neighbours) => {
                for meeting in neighbours.of(job, route) {
                    meet(meeting.option, meeting.shift);
                }
            }
            None => {
                let mut before = u32::MAX;
                for held in &self.route(job, route).uses {
                    for other in &self.held[held.resource as usize] {
                        // Companions over consecutive links meet at one distance: count them once.
                        if other.before != before || before == u32::MAX {
                            meet(other.option, other.offset as i32 - held.offset as i32);
                        }
                    }
                    before = held.resource;
                }
            }
        }
    }

    /// Sum of the weights of the placed jobs in the way, for every start from 0 to `last`.
    pub(super) fn conflicts(&mut self, job: usize, route: u32, last: u32) -> &[i32] {
        let end = last as i32 + 1;
        let mut profile = std::mem::take(&mut self.profile);
        profile.clear();
        profile.resize(end as usize + 1, 0);
        self.meetings(job, route, |Meeting { weight, from, to, .. }| {
            let (from, to) = (from.max(0), to.min(end));
            if from < to {
                profile[from as usize] += weight;
                profile[to as usize] -= weight;
            }
        });
        let mut sum = 0;
        for value in &mut profile {
            sum += *value;
            *value = sum;
        }
        self.profile = profile;
        &self.profile[..end as usize]
    }

    /// The placed jobs that overlap a placement, each once, in ascending order.
    pub(super) fn in_the_way(&self, job: usize, placement: Placement, out: &mut Vec<u32>) {
        out.clear();
        let start = placement.start as i32;
        self.meetings(job, placement.route, |meeting| {
            if meeting.from <= start && start < meeting.to {
                out.push(self.job_of(meeting.option));
            }
        });
        out.sort_unstable();
        out.dedup();
    }

    /// Whether a job holds every resource of its routes only once.
    pub(super) fn holds_once(&self, job: usize) -> bool {
        self.once[job]
    }

    /// Earliest free start of a job on one route within `last`, if any; it may be placed on
    /// that route if it [holds nothing twice](Self::holds_once).
    pub(super) fn earliest(
        &mut self,
        job: usize,
        route: u32,
        last: u32,
        domains: Option<&Domains>,
    ) -> Option<u32> {
        let blocked = self.blocked(job, route, last);
        let mut words = 0..=last as usize / 64;
        words.find_map(|index| {
            let free = free_word(blocked, domains, job, last, index);
            (free != 0).then(|| index as u32 * 64 + free.trailing_zeros())
        })
    }

    /// Latest free start of a job on one route within `last`, if any; it may be placed on
    /// that route if it [holds nothing twice](Self::holds_once).
    pub(super) fn latest(
        &mut self,
        job: usize,
        route: u32,
        last: u32,
        domains: Option<&Domains>,
    ) -> Option<u32> {
        let blocked = self.blocked(job, route, last);
        let mut words = (0..=last as usize / 64).rev();
        words.find_map(|index| {
            let free = free_word(blocked, domains, job, last, index);
            (free != 0).then(|| index as u32 * 64 + 63 - free.leading_zeros())
        })
    }

    /// The blocked starts of a job that is not placed, or is placed on this route.
    fn blocked(&mut self, job: usize, route: u32, last: u32) -> &[u64] {
        let description = &self.problem.jobs()[job];
        let own = self.placed[job].map(|placement| placement.start);
        self.busy.blocked(&description.routes[route as usize].uses, description.length, last, own)
    }
}

fn holds_once(route: &Route) -> bool {
    let mut resources: Vec<u32> = route.uses.iter().map(|held| held.resource).collect();
    resources.sort_unstable();
    resources.windows(2).all(|pair| pair[0] != pair[1])
}

/// Sixty-four starts of a job: those that are allowed, free and not beyond `last`.
fn free_word(blocked: &[u64], domains: Option<&Domains>, job: usize, last: u32, index: usize) -> u64 {
    let allowed = domains.map_or(u64::MAX, |domains| domains.row(job).get(index).copied().unwrap_or(0));
    let within = if last as usize / 64 == index { u64::MAX >> (63 - last % 64) } else { u64::MAX };
    !blocked[index] & allowed & within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        schedule::{Demand, RouteChoice, Slicing},
        traffic::{Purpose, draw_below},
    };
    use std::collections::HashSet;

    #[test]
    fn conflicts_are_the_overlaps_counted_cycle_by_cycle() {
        let fabric = Fabric::new(Shape::torus(&[4, 5]).unwrap());
        let demands: Vec<Demand> = (0..60)
            .map(|number| Demand {
                source: number % 20,
                destination: draw_below(3, number, Purpose::Destination, 0, 20),
                length: 2 + number % 3 * 4,
                slices: 2,
            })
            .collect();
        for slicing in [Slicing::OneInterval, Slicing::Interval(13)] {
            let problem = Problem::new(&fabric, &demands, slicing, RouteChoice::TwoBends).unwrap();
            let neighbours = Neighbours::new(&problem, usize::MAX).unwrap();
            assert!(Neighbours::new(&problem, 10).is_none());
            let mut fast = Occupancy::new(&problem, Some(&neighbours));
            let mut slow = Occupancy::new(&problem, None);
            let once = |job: usize| {
                problem.jobs()[job].routes.iter().all(|route| {
                    let resources: HashSet<u32> = route.uses.iter().map(|held| held.resource).collect();
                    resources.len() == route.uses.len()
                })
            };
            // Slices at a given interval are one job, which takes everything once per slice.
            assert_eq!(once(0), slicing == Slicing::OneInterval);
            // Per resource and cycle the job that holds it.
            let mut holders = vec![vec![None; 400]; problem.resources()];
            let cycles = |job: usize, placement: Placement| {
                let length = problem.jobs()[job].length;
                let uses = &problem.jobs()[job].routes[placement.route as usize].uses;
                let of_use = move |held: &super::super::Use| {
                    let from = placement.start + held.offset;
                    let resource = held.resource as usize;
                    (from..from + length).map(move |cycle| (resource, cycle as usize))
                };
                uses.iter().flat_map(of_use).collect::<Vec<_>>()
            };
            for (job, description) in problem.jobs().iter().enumerate() {
                assert_eq!(fast.holds_once(job), once(job));
                for route in 0..description.routes.len() as u32 {
                    let (mut first, mut last) = (None, None);
                    for start in 0..=200 {
                        let placement = Placement { route, start };
                        let mut others: Vec<u32> = cycles(job, placement)
                            .iter()
                            .filter_map(|&(at, cycle)| holders[at][cycle])
                            .collect();
                        others.sort_unstable();
                        others.dedup();
                        let mut found = Vec::new();
                        for occupancy in [&mut fast, &mut slow] {
                            occupancy.in_the_way(job, placement, &mut found);
                            assert_eq!(found, others);
                            let weight = occupancy.conflicts(job, route, 200)[start as usize];
                            assert_eq!(weight > 0, !others.is_empty());
                        }
                        if others.is_empty() {
                            first = first.or(Some(start));
                            last = Some(start);
                        }
                    }
                    assert_eq!(fast.earliest(job, route, 200, None), first);
                    assert_eq!(slow.latest(job, route, 200, None), last);
                }
                let route = draw_below(5, job as u32, Purpose::Search, 0, description.routes.len() as u32);
                if let Some(start) = fast.earliest(job, route, 200, None) {
                    let placement = Placement { route, start };
                    cycles(job, placement)
                        .into_iter()
                        .for_each(|(at, cycle)| holders[at][cycle] = Some(job as u32));
                    fast.place(job, placement, 1);
                    slow.place(job, placement, 1);
                    if fast.holds_once(job) {
                        // A placed job is not in its own way.
                        assert_eq!(fast.earliest(job, route, 200, None), Some(start));
                    }
                }
                if job % 7 == 6 {
                    let old = fast.remove(job - 3);
                    assert_eq!(slow.remove(job - 3), old);
                    holders.iter_mut().flatten().for_each(|holder| {
                        if *holder == Some(job as u32 - 3) {
                            *holder = None;
                        }
                    });
                }
            }
        }
    }
}
