//! First with fewer routes.

use super::{Budget, Incumbent, Method, Schedule, Task, joint, search};
use crate::{
    fabric::{Fabric, LinkId},
    schedule::{Placement, Problem},
};

/// The [`Joint`](super::MethodName::Joint) search over those routes that go through every dimension once, in any
/// order. They are few and soon searched.
pub(super) struct FewBends;

impl Method for FewBends {
    const NAME: &'static str = "few-bends";
    const SUMMARY: &'static str = "as joint, over the routes that go through every dimension once";

    fn applies(task: &Task) -> bool {
        let problem = task.problem();
        let chosen = || problem.jobs().iter().zip(few(task.fabric(), problem));
        joint::Joint::applies(task)
            && chosen().all(|(_, few)| !few.is_empty())
            && chosen().any(|(job, few)| few.len() < job.routes.len())
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let few = few(task.fabric(), task.problem());
        let problem = task.problem().with_choices(&few);
        let task_of_few = Task::new(task.fabric(), &problem, task.seed());
        let mut report = |progress| incumbent.report(progress);
        let inner = Incumbent::new(&task_of_few, &mut report);
        let found = search(&task_of_few, &[(super::MethodName::Joint, 1.0)], inner, budget);
        let Some(found) = found else { return };
        let placements = found.schedule.placements.into_iter().zip(&few);
        let named = placements
            .map(|(placement, few)| Placement { route: few[placement.route as usize] as u32, ..placement });
        incumbent.offer(Schedule::new(named.collect()), task);
    }
}

/// Per job the routes that go through every dimension once.
fn few(fabric: &Fabric, problem: &Problem) -> Vec<Vec<usize>> {
    let few_of = |job: &crate::schedule::Job| {
        (0..job.routes.len()).filter(|&route| is_straight(fabric, &job.routes[route].path)).collect()
    };
    problem.jobs().iter().map(few_of).collect()
}

/// Whether a path never comes back to a direction or dimension that it has left.
fn is_straight(fabric: &Fabric, path: &[LinkId]) -> bool {
    let mut dimensions: Vec<usize> = path.iter().map(|&link| fabric.link_ends(link).1.dimension()).collect();
    dimensions.dedup();
    let bends = dimensions.len();
    dimensions.sort_unstable();
    dimensions.dedup();
    dimensions.len() == bends
}
