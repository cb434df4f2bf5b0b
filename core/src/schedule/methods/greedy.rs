use super::{Budget, Incumbent, Method, Schedule, Task};
use crate::schedule::{Job, Placement, Problem, classic_bound, occupancy::Occupancy};

/// One pass of list scheduling.
pub(super) struct Greedy;

impl Method for Greedy {
    const NAME: &'static str = "greedy";
    const SUMMARY: &'static str = "one pass: the longest packets first, each as early as it can";

    fn applies(task: &Task) -> bool {
        !task.problem().is_in_phases() && !task.problem().has_any_minimal_route()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, _budget: &mut Budget) {
        incumbent.offer(Schedule::new(greedy(task.problem())), task);
    }
}

/// List scheduling: jobs with the longest span first, each at the earliest free start over its
/// routes. Fast, and usually 7 to 35 % above the lower bound.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, Problem, RouteChoice, Slicing, duration_of, greedy};
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source| Demand { source, destination: 3, length: 4, slices: 1 };
/// let problem =
///     Problem::new(&fabric, &[demand(1), demand(2)], Slicing::Free, RouteChoice::DimensionOrder)?;
/// assert_eq!(duration_of(&problem, &greedy(&problem)), 11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn greedy(problem: &Problem) -> Vec<Placement> {
    let jobs = problem.jobs();
    // One job after the other always fits.
    let horizon = jobs.iter().map(|job| u64::from(shortest(job))).sum::<u64>();
    let mut horizon = horizon.min(4 * u64::from(classic_bound(problem)) + 64) as u32;
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(shortest(&jobs[job])));
    loop {
        let mut occupancy = Occupancy::new(problem, None);
        let complete = order.iter().all(|&job| {
            let best = (0..jobs[job].routes.len() as u32)
                .filter_map(|route| {
                    let start = occupancy.earliest(job, route, horizon, None)?;
                    Some((start + occupancy.route(job, route).span, route, start))
                })
                .min();
            match best {
                Some((_, route, start)) => occupancy.place(job, Placement { route, start }, 1),
                None => return false,
            }
            true
        });
        if complete {
            return occupancy.placed().iter().flatten().copied().collect();
        }
        horizon *= 2;
    }
}

fn shortest(job: &Job) -> u32 {
    job.routes.iter().map(|route| route.span).min().unwrap_or(0)
}
