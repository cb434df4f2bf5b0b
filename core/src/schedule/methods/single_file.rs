//! One job behind the other: a method for tests, whose name stands in the list and nowhere else.

use super::{Budget, Incumbent, Method, Schedule, Task};
use crate::schedule::Placement;

pub(super) struct SingleFile;

impl Method for SingleFile {
    const NAME: &'static str = "single-file";
    const SUMMARY: &'static str = "one job behind the other";

    fn applies(task: &Task) -> bool {
        !task.problem().is_in_phases()
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, _budget: &mut Budget) {
        let mut start = 0;
        let placements = task.problem().jobs().iter().map(|job| {
            let placement = Placement { route: 0, start };
            start += job.routes[0].span;
            placement
        });
        incumbent.offer(Schedule::new(placements.collect()), task);
    }
}
