use super::{Budget, Placement, Problem, duration_of, timeline::Timeline};
use crate::fabric::NodeId;
use crate::traffic::{Purpose, draw_below};
use std::collections::BinaryHeap;

/// Which jobs must have arrived before which may start; jobs are in an order that respects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    before: Vec<Vec<u32>>,
    after: Vec<Vec<u32>>,
}

impl Dependencies {
    /// A node sends a job of one phase when all jobs of earlier phases to it have arrived.
    ///
    /// `ends` are source and destination of every job in the order of the phases, `phases` the number
    /// of jobs of each.
    pub fn of_phases(ends: &[(NodeId, NodeId)], phases: &[usize]) -> Self {
        let nodes = ends.iter().map(|&(from, to)| from.max(to) as usize + 1).max().unwrap_or(0);
        let mut arrivals: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut before = Vec::with_capacity(ends.len());
        let mut first = 0;
        for &jobs in phases {
            let phase = first..(first + jobs).min(ends.len());
            before.extend(phase.clone().map(|job| arrivals[ends[job].0 as usize].clone()));
            phase.clone().for_each(|job| arrivals[ends[job].1 as usize].push(job as u32));
            first = phase.end;
        }
        before.resize(ends.len(), Vec::new());
        let mut after = vec![Vec::new(); ends.len()];
        for (job, needed) in before.iter().enumerate() {
            needed.iter().for_each(|&other| after[other as usize].push(job as u32));
        }
        Self { before, after }
    }

    /// First cycle in which a job may start: what it needs is there one cycle before completion.
    fn ready(&self, problem: &Problem, placed: &[Option<Placement>], job: usize) -> u32 {
        let arrival = |&other: &u32| {
            let placement = placed[other as usize]?;
            let route = &problem.jobs()[other as usize].routes[placement.route as usize];
            Some(placement.start + route.span - 1)
        };
        self.before[job].iter().filter_map(arrival).max().unwrap_or(0)
    }

    /// Whether every job starts after what it needs has arrived.
    pub fn holds(&self, problem: &Problem, placements: &[Placement]) -> bool {
        let placed: Vec<Option<Placement>> = placements.iter().copied().map(Some).collect();
        (0..placed.len()).all(|job| self.ready(problem, &placed, job) <= placements[job].start)
    }
}

/// A lower bound on the duration of jobs that wait for each other, in cycles.
///
/// Every job has a head (no earlier start) and a tail (what must follow its arrival). The jobs a job
/// waits for leave one ejection port one by one, those that wait for it enter by one injection port
/// one by one; so heads and tails grow along the chains. With them, every resource is a machine with
/// release times and tails, whose shortest preemptive schedule (Jackson 1955) is a lower bound.
pub fn chain_bound(problem: &Problem, dependencies: &Dependencies) -> u32 {
    let jobs = problem.jobs();
    let lengths: Vec<u32> = jobs.iter().map(|job| job.length).collect();
    let spans: Vec<u32> =
        jobs.iter().map(|job| job.routes.iter().map(|route| route.span).min().unwrap_or(0)).collect();
    // Hops of the shortest route, and whatever lies between the slices.
    let ways: Vec<u32> = spans.iter().zip(&lengths).map(|(span, length)| span - length - 1).collect();
    let mut heads = vec![0_u32; jobs.len()];
    for job in 0..jobs.len() {
        let arrivals = dependencies.before[job].iter().map(|&other| other as usize);
        heads[job] = one_by_one(arrivals.map(|other| (heads[other] + ways[other], lengths[other])));
    }
    // From arrival (one cycle before completion) to the end of everything.
    let mut tails = vec![1_u32; jobs.len()];
    for job in (0..jobs.len()).rev() {
        let followers = dependencies.after[job].iter().map(|&other| other as usize);
        let rest = one_by_one(followers.map(|other| (ways[other] + tails[other], lengths[other])));
        tails[job] = rest.max(1);
    }
    let mut users: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); problem.resources()];
    let mut bound = 0;
    for (number, job) in jobs.iter().enumerate() {
        bound = bound.max(heads[number] + spans[number] - 1 + tails[number]);
        let Some((first, others)) = job.routes.split_first() else { continue };
        for held in &first.uses {
            if others.iter().all(|route| route.uses.contains(held)) {
                let rest = spans[number] - 1 - held.offset - job.length + tails[number];
                users[held.resource as usize].push((heads[number] + held.offset, job.length, rest));
            }
        }
    }
    bound.max(users.iter_mut().map(|users| preemptive(users)).max().unwrap_or(0))
}

/// When a machine is done with jobs of given release and length.
fn one_by_one(jobs: impl Iterator<Item = (u32, u32)>) -> u32 {
    let mut jobs: Vec<(u32, u32)> = jobs.collect();
    jobs.sort_unstable();
    jobs.iter().fold(0, |done, &(release, length)| done.max(release) + length)
}

/// Jackson's preemptive schedule of (release, length, tail): always the longest tail that is there.
fn preemptive(jobs: &mut [(u32, u32, u32)]) -> u32 {
    jobs.sort_unstable();
    let mut open: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let (mut now, mut next, mut bound) = (0, 0, 0);
    while next < jobs.len() || !open.is_empty() {
        if open.is_empty() {
            now = now.max(jobs[next].0);
        }
        while let Some(&(_, length, tail)) = jobs.get(next).filter(|job| job.0 <= now) {
            open.push((tail, length));
            next += 1;
        }
        let Some((tail, left)) = open.pop() else { continue };
        let until = jobs.get(next).map_or(u32::MAX, |job| job.0);
        let worked = left.min(until - now);
        now += worked;
        if worked < left {
            open.push((tail, left - worked));
        } else {
            bound = bound.max(now + tail);
        }
    }
    bound
}

/// Shortens a schedule of jobs that wait for each other, without the barriers between phases.
///
/// Sweeps move every job as early, then as late as its neighbours in time allow; the latter opens
/// gaps for the next sweep. Between them all jobs are placed anew in the order of slightly shuffled
/// starts. The best schedule is kept; ends at `bound`, or with the budget (one move per placement).
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{
///     Budget, Demand, Dependencies, Placement, Problem, RouteChoice, Slicing, chain_bound, tighten,
/// };
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source, destination| Demand { source, destination, length: 4, slices: 1 };
/// let problem =
///     Problem::new(&fabric, &[demand(0, 1), demand(1, 2)], Slicing::Free, RouteChoice::DimensionOrder)?;
/// let order = Dependencies::of_phases(&[(0, 1), (1, 2)], &[1, 1]);
/// let slow = [Placement { route: 0, start: 3 }, Placement { route: 0, start: 20 }];
/// let mut budget = Budget { moves: 100, should_stop: &|| false };
/// let fast = tighten(&problem, &order, &slow, chain_bound(&problem, &order), 1, &mut budget);
/// assert_eq!(fast[1].start + 6, chain_bound(&problem, &order));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn tighten(
    problem: &Problem,
    dependencies: &Dependencies,
    placements: &[Placement],
    bound: u32,
    seed: u64,
    budget: &mut Budget,
) -> Vec<Placement> {
    let mut best = placements.to_vec();
    let mut current = best.clone();
    let mut round = 0;
    loop {
        let mut search = Shifts { problem, dependencies };
        current = search.sweep(&current, true);
        for _ in 0..2 {
            current = search.sweep(&current, false);
            current = search.sweep(&current, true);
        }
        let (shortest, duration) = (duration_of(problem, &best), duration_of(problem, &current));
        if duration <= shortest {
            best.clone_from(&current);
        }
        let spent = 6 * best.len() as u64;
        if duration.min(shortest) <= bound || budget.moves < spent || (budget.should_stop)() {
            return best;
        }
        budget.moves -= spent;
        round += 1;
        let longest = problem.jobs().iter().map(|job| job.length).max().unwrap_or(1);
        let amount = 1 + longest * (1 + round % 8) / 2;
        let noise = |job: usize| draw_below(seed, job as NodeId, Purpose::Search, round.into(), amount);
        let keys: Vec<u32> =
            best.iter().enumerate().map(|(job, placement)| placement.start + noise(job)).collect();
        current = search.anew(&best, &keys);
    }
}

struct Shifts<'p> {
    problem: &'p Problem,
    dependencies: &'p Dependencies,
}

impl<'p> Shifts<'p> {
    /// Every job to its earliest (or, within the duration, latest) start, by its start (or end).
    fn sweep(&mut self, placements: &[Placement], left: bool) -> Vec<Placement> {
        let duration = duration_of(self.problem, placements);
        let mut timeline = Timeline::new(self.problem, None);
        placements.iter().enumerate().for_each(|(job, &placement)| timeline.place(job, placement, 1));
        let mut order: Vec<usize> = (0..placements.len()).collect();
        order.sort_by_key(|&job| placements[job].start);
        if !left {
            order.reverse();
        }
        for job in order {
            let old = placements[job];
            timeline.remove(job);
            let start = if left {
                self.earliest(&mut timeline, job, old.route, old.start)
            } else {
                self.latest(&mut timeline, job, old, duration)
            };
            timeline.place(job, Placement { start: start.unwrap_or(old.start), ..old }, 1);
        }
        timeline.placed().iter().flatten().copied().collect()
    }

    fn earliest(&self, timeline: &mut Timeline<'p>, job: usize, route: u32, last: u32) -> Option<u32> {
        let ready = self.dependencies.ready(self.problem, timeline.placed(), job);
        let profile = timeline.conflicts(job, route, last);
        (ready..=last).find(|&start| profile[start as usize] == 0)
    }

    fn latest(&self, timeline: &mut Timeline<'p>, job: usize, old: Placement, end: u32) -> Option<u32> {
        let span = timeline.route(job, old.route).span;
        let follower = |&other: &u32| timeline.placed()[other as usize].map(|placement| placement.start + 1);
        let limit = self.dependencies.after[job].iter().filter_map(follower).min().unwrap_or(end).min(end);
        let last = limit.checked_sub(span)?;
        let profile = timeline.conflicts(job, old.route, last);
        (old.start..=last).rev().find(|&start| profile[start as usize] == 0)
    }

    /// A new schedule: of the jobs whose needs are placed, always the one of least key.
    fn anew(&mut self, placements: &[Placement], keys: &[u32]) -> Vec<Placement> {
        let horizon = 2 * duration_of(self.problem, placements) + 16;
        let mut timeline = Timeline::new(self.problem, None);
        let mut missing: Vec<usize> = self.dependencies.before.iter().map(Vec::len).collect();
        let key = |job: usize| std::cmp::Reverse((keys[job], job));
        let mut open: BinaryHeap<_> = (0..missing.len()).filter(|&job| missing[job] == 0).map(key).collect();
        while let Some(std::cmp::Reverse((_, job))) = open.pop() {
            let old = placements[job];
            let span = timeline.route(job, old.route).span;
            let last = horizon.saturating_sub(span);
            let Some(start) = self.earliest(&mut timeline, job, old.route, last) else {
                return placements.to_vec();
            };
            timeline.place(job, Placement { start, ..old }, 1);
            for &other in &self.dependencies.after[job] {
                missing[other as usize] -= 1;
                if missing[other as usize] == 0 {
                    open.push(key(other as usize));
                }
            }
        }
        timeline.placed().iter().flatten().copied().collect()
    }
}
