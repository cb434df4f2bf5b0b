use super::{Budget, Incumbent, MethodName, Progress, Schedule, Task};
use crate::{
    fabric::Fabric,
    schedule::{Demand, PlannedPacket, Problem, Slicing, planned_packets},
};

/// A method and the part of a budget it may spend, from 0 to 1.
pub type Share = (MethodName, f64);

/// Messages from which on a search over routes with two bends begins with fewer of them.
const MANY: usize = 1000;

/// A complete schedule of a problem with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The schedule.
    pub schedule: Schedule,
    /// Its duration in cycles.
    pub duration: u32,
    /// Proven lower bound on the duration of any schedule.
    pub bound: u32,
    /// Moves spent.
    pub moves: u64,
    /// Whether it was told to stop before its moves were spent.
    pub stopped: bool,
}

impl Solution {
    /// Whether no shorter schedule exists.
    pub fn is_optimal(&self) -> bool {
        self.duration == self.bound
    }

    /// The packets of the schedule of a problem of such demands.
    pub fn packets(&self, demands: &[Demand], slicing: Slicing, problem: &Problem) -> Vec<PlannedPacket> {
        planned_packets(demands, slicing, self.schedule.problem(problem), &self.schedule.placements)
    }
}

/// The methods that find short schedules of a task, and their shares.
///
/// All-to-all on tori goes with all packets in step with rotating slots, or offset by offset where rings are short; in
/// general, starts are searched by
/// ejection. Where routes can be chosen, they are searched together with the starts; where they are many,
/// those with few bends first, which are soon searched. Jobs in phases are moved by sweeps.
pub fn exact(task: &Task) -> Vec<Share> {
    let problem = task.problem();
    let choice = match () {
        () if problem.is_in_phases() => vec![(MethodName::Sweeps, 1.0)],
        () if problem.has_any_minimal_route() => vec![(MethodName::Slots, 1.0)],
        () if problem.has_fixed_routes() => {
            vec![(MethodName::Slots, 1.0), (MethodName::Turns, 0.3), (MethodName::Ejection, 1.0)]
        }
        () if problem.messages() >= MANY => vec![(MethodName::FewBends, 0.3), (MethodName::Joint, 0.7)],
        () => vec![(MethodName::Joint, 1.0)],
    };
    choice.into_iter().filter(|(method, _)| method.applies(task)).collect()
}

/// Lets methods have their shares of a budget, one after the other, until nothing shorter is possible;
/// `None` if none of them found a schedule.
///
/// The result is a function of the task, the shares and the moves, unless the budget's time ends it.
pub fn search(
    task: &Task,
    shares: &[Share],
    mut incumbent: Incumbent,
    budget: &mut Budget,
) -> Option<Solution> {
    let total = budget.moves;
    let mut until = 0.0;
    for &(method, share) in shares {
        until = f64::min(until + share * budget.until, budget.until);
        let moves = ((total as f64 * share) as u64).max(1);
        let may_go_on = incumbent.schedule().is_none() || !budget.is_over();
        if may_go_on && !incumbent.is_optimal() {
            budget.share_until(moves, until, |share| method.improve(task, &mut incumbent, share));
        }
    }
    let bound = task.bound();
    let (duration, schedule) = incumbent.into_best()?;
    let stopped = duration > bound && (budget.should_stop)(budget.until);
    Some(Solution { schedule, duration, bound, moves: total - budget.moves, stopped })
}

/// Searches for a schedule with the methods and shares of [`exact`]; `None` only if packets may take any minimal
/// route and are no all-to-all.
pub fn solve(
    fabric: &Fabric,
    problem: &Problem,
    seed: u64,
    budget: &mut Budget,
    on_progress: &mut dyn FnMut(Progress),
) -> Option<Solution> {
    let task = Task::new(fabric, problem, seed);
    search(&task, &exact(&task), Incumbent::new(&task, on_progress), budget)
}
