use super::Budget;
use crate::{
    fabric::NodeId,
    schedule::{Dependencies, Placement, Problem, duration_of, occupancy::Timeline},
    traffic::{Purpose, draw_below},
};
use std::collections::BinaryHeap;

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
