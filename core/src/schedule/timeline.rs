use super::{Domains, Problem, Route};

/// Where a job is placed: which of its routes, and its start cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Index into the job's routes.
    pub route: u32,
    /// Start cycle.
    pub start: u32,
}

/// A job on a resource from cycle `at` on.
#[derive(Clone, Copy, Debug)]
struct Held {
    at: i32,
    length: i32,
    job: u32,
    /// The resource the job takes before this one; `u32::MAX` for the first.
    before: u32,
}

/// Which job holds which resource when; jobs are placed and removed at will.
#[derive(Clone, Debug)]
pub(super) struct Timeline<'p> {
    problem: &'p Problem,
    held: Vec<Vec<Held>>,
    placed: Vec<Option<Placement>>,
    profile: Vec<i32>,
}

impl<'p> Timeline<'p> {
    /// An empty timeline for starts below `horizon`.
    pub fn new(problem: &'p Problem, horizon: u32) -> Self {
        Self {
            problem,
            held: vec![Vec::new(); problem.resources()],
            placed: vec![None; problem.jobs().len()],
            profile: vec![0; horizon as usize + 2],
        }
    }

    pub fn placed(&self) -> &[Option<Placement>] {
        &self.placed
    }

    pub fn route(&self, job: usize, route: u32) -> &'p Route {
        &self.problem.jobs()[job].routes[route as usize]
    }

    pub fn place(&mut self, job: usize, placement: Placement) {
        let length = self.problem.jobs()[job].length as i32;
        let mut before = u32::MAX;
        for held in &self.route(job, placement.route).uses {
            let at = (placement.start + held.offset) as i32;
            self.held[held.resource as usize].push(Held { at, length, job: job as u32, before });
            before = held.resource;
        }
        self.placed[job] = Some(placement);
    }

    pub fn remove(&mut self, job: usize) -> Option<Placement> {
        let placement = self.placed[job].take()?;
        for held in &self.route(job, placement.route).uses {
            let at = (placement.start + held.offset) as i32;
            let list = &mut self.held[held.resource as usize];
            if let Some(index) = list.iter().position(|other| other.job == job as u32 && other.at == at) {
                list.swap_remove(index);
            }
        }
        Some(placement)
    }

    /// Sum of the weights of the placed jobs in the way, for every start from 0 to `last`.
    pub fn conflicts(&mut self, job: usize, route: u32, last: u32, weights: &[i32]) -> &[i32] {
        let length = self.problem.jobs()[job].length as i32;
        let end = last as i32 + 1;
        self.profile[..=end as usize].fill(0);
        let mut before = u32::MAX;
        for held in &self.route(job, route).uses {
            let offset = held.offset as i32;
            for other in &self.held[held.resource as usize] {
                // Companions over consecutive links meet at one distance: count them once.
                if other.before == before && before != u32::MAX {
                    continue;
                }
                let from = (other.at - offset - length + 1).max(0);
                let to = (other.at - offset + other.length).min(end);
                if from < to {
                    let weight = weights[other.job as usize];
                    self.profile[from as usize] += weight;
                    self.profile[to as usize] -= weight;
                }
            }
            before = held.resource;
        }
        let mut sum = 0;
        for value in &mut self.profile[..end as usize] {
            sum += *value;
            *value = sum;
        }
        &self.profile[..end as usize]
    }

    /// How used the resources of a route are: the sum of the cubes of their numbers of jobs.
    pub fn load_cost(&self, job: usize, route: u32) -> i64 {
        let uses = &self.route(job, route).uses;
        uses.iter().map(|held| (self.held[held.resource as usize].len() as i64).pow(3)).sum()
    }

    /// The placed jobs that overlap a placement, each once, in ascending order.
    pub fn in_the_way(&self, job: usize, placement: Placement, out: &mut Vec<u32>) {
        out.clear();
        let length = self.problem.jobs()[job].length as i32;
        for held in &self.route(job, placement.route).uses {
            let at = (placement.start + held.offset) as i32;
            let overlapping = self.held[held.resource as usize]
                .iter()
                .filter(|other| other.at < at + length && at < other.at + other.length);
            out.extend(overlapping.map(|other| other.job));
        }
        out.sort_unstable();
        out.dedup();
    }

    /// Earliest free start of an unplaced job on one route within `last`, if any.
    pub fn earliest(
        &mut self,
        job: usize,
        route: u32,
        last: u32,
        domains: Option<&Domains>,
        weights: &[i32],
    ) -> Option<u32> {
        let profile = self.conflicts(job, route, last, weights);
        match domains {
            None => profile.iter().position(|&sum| sum == 0).map(|start| start as u32),
            Some(domains) => domains
                .starts(job)
                .take_while(|&start| start <= last)
                .find(|&start| profile[start as usize] == 0),
        }
    }

    /// Latest free start of an unplaced job on one route within `last`, if any.
    pub fn latest(
        &mut self,
        job: usize,
        route: u32,
        last: u32,
        domains: &Domains,
        weights: &[i32],
    ) -> Option<u32> {
        let profile = self.conflicts(job, route, last, weights);
        profile
            .iter()
            .enumerate()
            .rev()
            .find(|&(start, &sum)| sum == 0 && domains.allows(job, start as u32))
            .map(|(start, _)| start as u32)
    }
}
