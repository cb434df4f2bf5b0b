//! Jobs in phases, without barriers between them.

use super::{Budget, Incumbent, Method, Schedule, Task};
use crate::{
    fabric::NodeId,
    schedule::{Dependencies, Placement, Problem, duration_of, occupancy::Occupancy},
    traffic::{Purpose, draw_below},
};
use std::collections::BinaryHeap;

/// Shortens a schedule of jobs that wait for each other: the incumbent, or one job behind the other.
///
/// Sweeps move every job as early, then as late as its neighbours in time allow; the latter opens
/// gaps for the next sweep. Between them all jobs are placed anew in the order of slightly shuffled
/// starts. Ends at the bound, or with the budget (one move per placement).
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{
///     Budget, Demand, Dependencies, Problem, RouteChoice, Slicing, chain_bound, solve,
/// };
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source, destination| Demand { source, destination, length: 4, slices: 1 };
/// let problem =
///     Problem::new(&fabric, &[demand(0, 1), demand(1, 2)], Slicing::Free, RouteChoice::DimensionOrder)?;
/// let problem = problem.in_phases(Dependencies::of_phases(&[(0, 1), (1, 2)], &[1, 1]));
/// let found = solve(&fabric, &problem, 1, &mut Budget::of_moves(100), &mut |_| ()).ok_or("no schedule")?;
/// assert_eq!(found.duration, chain_bound(&problem));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(super) struct Sweeps;

impl Method for Sweeps {
    const NAME: &'static str = "sweeps";
    const SUMMARY: &'static str =
        "jobs in phases: all as early, then as late as possible, then in another order";

    fn applies(task: &Task) -> bool {
        task.problem().is_in_phases()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let problem = task.problem();
        let Some(dependencies) = problem.dependencies() else { return };
        let search = Shifts { problem, dependencies };
        let begin = incumbent.schedule().map(|schedule| schedule.placements.clone());
        let mut best = begin.unwrap_or_else(|| one_by_one(problem));
        let mut current = best.clone();
        let mut round = 0;
        loop {
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
            if duration.min(shortest) <= task.bound() || budget.moves < spent || budget.is_over() {
                break;
            }
            budget.spend(spent);
            round += 1;
            let longest = problem.jobs().iter().map(|job| job.length).max().unwrap_or(1);
            let amount = 1 + longest * (1 + round % 8) / 2;
            let noise =
                |job: usize| draw_below(task.seed(), job as NodeId, Purpose::Search, round.into(), amount);
            let keys: Vec<u32> =
                best.iter().enumerate().map(|(job, placement)| placement.start + noise(job)).collect();
            current = search.anew(&best, &keys);
        }
        incumbent.offer(Schedule::new(best), task);
    }
}

/// Every job after all those before it in the list, which it may have to wait for.
fn one_by_one(problem: &Problem) -> Vec<Placement> {
    let mut start = 0;
    let placement = |job: &crate::schedule::Job| {
        let placement = Placement { route: 0, start };
        start += job.routes[0].span;
        placement
    };
    problem.jobs().iter().map(placement).collect()
}

struct Shifts<'p> {
    problem: &'p Problem,
    dependencies: &'p Dependencies,
}

impl<'p> Shifts<'p> {
    /// Every job to its earliest (or, within the duration, latest) start, by its start (or end).
    fn sweep(&self, placements: &[Placement], left: bool) -> Vec<Placement> {
        let duration = duration_of(self.problem, placements);
        let mut occupancy = Occupancy::new(self.problem, None);
        placements.iter().enumerate().for_each(|(job, &placement)| occupancy.place(job, placement, 1));
        let mut order: Vec<usize> = (0..placements.len()).collect();
        order.sort_by_key(|&job| placements[job].start);
        if !left {
            order.reverse();
        }
        for job in order {
            let old = placements[job];
            occupancy.remove(job);
            let start = if left {
                self.earliest(&mut occupancy, job, old.route, old.start)
            } else {
                self.latest(&mut occupancy, job, old, duration)
            };
            occupancy.place(job, Placement { start: start.unwrap_or(old.start), ..old }, 1);
        }
        occupancy.placed().iter().flatten().copied().collect()
    }

    fn earliest(&self, occupancy: &mut Occupancy<'p>, job: usize, route: u32, last: u32) -> Option<u32> {
        let ready = self.dependencies.ready(self.problem, occupancy.placed(), job);
        let profile = occupancy.conflicts(job, route, last);
        (ready..=last).find(|&start| profile[start as usize] == 0)
    }

    fn latest(&self, occupancy: &mut Occupancy<'p>, job: usize, old: Placement, end: u32) -> Option<u32> {
        let span = occupancy.route(job, old.route).span;
        let follower = |&other: &u32| occupancy.placed()[other as usize].map(|placement| placement.start + 1);
        let limit = self.dependencies.after[job].iter().filter_map(follower).min().unwrap_or(end).min(end);
        let last = limit.checked_sub(span)?;
        let profile = occupancy.conflicts(job, old.route, last);
        (old.start..=last).rev().find(|&start| profile[start as usize] == 0)
    }

    /// A new schedule: of the jobs whose needs are placed, always the one of least key.
    fn anew(&self, placements: &[Placement], keys: &[u32]) -> Vec<Placement> {
        let horizon = 2 * duration_of(self.problem, placements) + 16;
        let mut occupancy = Occupancy::new(self.problem, None);
        let mut missing: Vec<usize> = self.dependencies.before.iter().map(Vec::len).collect();
        let key = |job: usize| std::cmp::Reverse((keys[job], job));
        let mut open: BinaryHeap<_> = (0..missing.len()).filter(|&job| missing[job] == 0).map(key).collect();
        while let Some(std::cmp::Reverse((_, job))) = open.pop() {
            let old = placements[job];
            let span = occupancy.route(job, old.route).span;
            let last = horizon.saturating_sub(span);
            let Some(start) = self.earliest(&mut occupancy, job, old.route, last) else {
                return placements.to_vec();
            };
            occupancy.place(job, Placement { start, ..old }, 1);
            for &other in &self.dependencies.after[job] {
                missing[other as usize] -= 1;
                if missing[other as usize] == 0 {
                    open.push(key(other as usize));
                }
            }
        }
        occupancy.placed().iter().flatten().copied().collect()
    }
}
