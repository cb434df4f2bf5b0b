//! All-to-all on tori, every packet in step with rotating slots.
//!
//! Dense traffic leaves no room for the gaps of arbitrary start times. Here a packet that travels
//! forward along all dimensions starts at its node's diagonal (the sum of its coordinates), modulo a
//! pitch that divides all sizes and is no shorter than a packet. Every forward link and every port
//! then sees these packets at one phase only: each ring carries slots that rotate at one hop per
//! cycle, and a packet that leaves a slot frees it for another that begins there at once. Backward
//! packets mirror this on the opposite links; one such pair of quadrants makes an epoch, and the
//! epochs follow each other.
//!
//! What suits is said once (`kind`), as are the classes of nodes that slots pass together (`travel`) and how epochs
//! follow each other (`joined`). What differs is how the packets of an epoch find their slots: `sweep` anywhere (`trains` where
//! two dimensions have rings of several slots), `lanes` and `octants` where a ring holds one slot only.

mod joined;
mod kind;
mod lanes;
mod octants;
mod sweep;
mod travel;

use super::{Budget, Incumbent, Method, Progress, Schedule, Task};
use crate::schedule::Placement;
use kind::{AllToAll, Starts};
pub use octants::{OctantPair, octant_pair};

/// Told now and then the best schedule so far, packets that are left over in the one tried now, and moves left.
type Told<'a> = dyn FnMut(Option<&Starts>, usize, u64) + 'a;

/// A way to fill slots: start and path of every packet, if the network suits it.
type Filling = fn(&AllToAll, u64, &mut Budget, &mut Told) -> Option<Starts>;

/// With any number of bends; the first that suits.
const STAIRCASES: [Filling; 3] = [lanes::exchange, octants::exchange, sweep::staircases];

/// All-to-all traffic in step with rotating slots, on the given routes or on minimal ones with any number of
/// bends.
///
/// Where the slots of two dimensions meet, the packets in them may change places without any port,
/// so that a packet only has to begin wherever another one ends for all slots to be used. Kinds
/// that fit: one packet per ordered pair, all equally long, on a whole torus whose sizes have a common
/// divisor that is a multiple of the packet length, or of up to a quarter more.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Budget, Problem, Slicing, distance_bound, solve, verify};
/// use flitloom_core::traffic::{CollectiveOperation, Group};
/// let fabric = Fabric::new(Shape::torus(&[8, 8])?);
/// let demands = CollectiveOperation::AllToAll.phases(&Group::all(fabric.shape()), 3)?.remove(0);
/// let problem = Problem::over_any_minimal_route(&fabric, &demands)?;
/// let mut budget = Budget::of_moves(10_000);
/// let found = solve(&fabric, &problem, 1, &mut budget, &mut |_| ()).ok_or("does not fit")?;
/// let packets = found.packets(&demands, Slicing::OneInterval, &problem);
/// assert!(verify(&fabric, &packets)? >= distance_bound(&fabric, &demands));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub(super) struct Slots;

impl Method for Slots {
    const NAME: &'static str = "slots";
    const SUMMARY: &'static str =
        "all-to-all on tori: packets in step with slots that rotate around the rings";

    fn applies(task: &Task) -> bool {
        let problem = task.problem();
        let suits = |kind| problem.has_any_minimal_route() || sweep::keeps_classes(&kind);
        !problem.is_in_phases() && AllToAll::of(task.fabric(), problem).is_some_and(suits)
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let problem = task.problem();
        let Some(kind) = AllToAll::of(task.fabric(), problem) else { return };
        let moves = budget.moves;
        let bound = task.bound();
        // Minimal routes hold as many links as the one that stands for them.
        let duration = |starts: &Starts| {
            let ends = problem.jobs().iter().zip(starts).map(|(job, start)| start.0 + job.routes[0].span);
            ends.max().unwrap_or(0)
        };
        let mut told = |best: Option<&Starts>, unplaced, moves| {
            let best = best.map_or(u32::MAX, duration);
            incumbent.report(Progress { best, bound, target: bound, unplaced, moves });
        };
        let staircase = |filling: &Filling| {
            budget.moves = moves;
            filling(&kind, task.seed(), budget, &mut told)
        };
        let found = match problem.has_any_minimal_route() {
            true => STAIRCASES.iter().find_map(staircase),
            false => sweep::in_order(&kind, task.seed(), budget, &mut told),
        };
        let Some(found) = found else { return };
        let placements = found.iter().map(|&(start, _)| Placement { route: 0, start }).collect();
        let mut schedule = Schedule::new(placements);
        if problem.has_any_minimal_route() {
            schedule.routed = Some(problem.with_paths(found.into_iter().map(|(_, path)| path.into())));
        }
        let best = schedule.duration(problem);
        incumbent.offer(schedule, task);
        incumbent.report(Progress { best, bound: 0, target: best, unplaced: 0, moves: budget.moves });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, Shape},
        schedule::{Demand, MethodName, Problem, RouteChoice, Slicing, search},
        traffic::{CollectiveOperation, Group},
    };

    fn problem_of(fabric: &Fabric, demands: &[Demand]) -> Problem {
        Problem::new(fabric, demands, Slicing::OneInterval, RouteChoice::BalancedTies).unwrap()
    }

    fn exchange_of(fabric: &Fabric, length: u32) -> Vec<Demand> {
        let shape = fabric.shape();
        CollectiveOperation::AllToAll.phases(&Group::all(shape), length - 1).unwrap().remove(0)
    }

    /// In order, by slots alone.
    fn all_to_all(
        fabric: &Fabric,
        problem: &Problem,
        seed: u64,
        budget: &mut Budget,
    ) -> Option<Vec<Placement>> {
        let task = Task::new(fabric, problem, seed);
        if !Slots::applies(&task) {
            return None;
        }
        let mut told = |_| ();
        let found = search(&task, &[(MethodName::Slots, 1.0)], Incumbent::new(&task, &mut told), budget);
        found.map(|found| found.schedule.placements)
    }

    fn limited(moves: u64) -> Budget<'static> {
        Budget::of_moves(moves)
    }

    #[test]
    fn a_stop_leaves_a_complete_schedule() {
        let fabric = Fabric::new(Shape::torus(&[8, 8]).unwrap());
        let problem = problem_of(&fabric, &exchange_of(&fabric, 4));
        let mut budget = Budget::new(1 << 40, &|_| true);
        assert!(all_to_all(&fabric, &problem, 1, &mut budget).is_some());
    }

    #[test]
    fn other_traffic_and_networks_are_left_alone() {
        let none = |shape: Shape, length, keep: usize| {
            let fabric = Fabric::new(shape);
            let mut demands = exchange_of(&fabric, length);
            demands.truncate(keep);
            all_to_all(&fabric, &problem_of(&fabric, &demands), 1, &mut limited(1000)).is_none()
        };
        assert!(none(Shape::mesh(&[8, 8]).unwrap(), 8, usize::MAX));
        assert!(none(Shape::torus(&[4, 4]).unwrap(), 8, usize::MAX), "rings shorter than a packet");
        assert!(none(Shape::torus(&[8, 8]).unwrap(), 5, usize::MAX), "slots mostly padding");
        assert!(none(Shape::torus(&[8, 8]).unwrap(), 4, 100), "not every pair");
        assert!(!none(Shape::torus(&[8, 8]).unwrap(), 4, usize::MAX));
    }
}
