//! Schedules that look the same when dimensions are exchanged.

use super::{Budget, Incumbent, Method, Schedule, Task, joint};
use crate::schedule::Quotient;

/// The [`Joint`](super::MethodName::Joint) search in the quotient by all symmetries, exchanges of dimensions included:
/// a packet that goes first along x has a twin that goes first along y.
pub(super) struct Exchanged;

impl Method for Exchanged {
    const NAME: &'static str = "exchanged";
    const SUMMARY: &'static str =
        "as joint, among schedules that stay the same when dimensions are exchanged";

    fn applies(task: &Task) -> bool {
        joint::Joint::applies(task) && Quotient::with_exchanges(task.fabric(), task.problem()).is_some()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let Some(quotient) = Quotient::with_exchanges(task.fabric(), task.problem()) else { return };
        let mut report = |progress| incumbent.report(progress);
        let found = joint::search_in(task, &[Some(quotient)], budget, &mut report);
        incumbent.offer(Schedule::new(found), task);
    }
}
