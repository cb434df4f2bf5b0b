//! How schedules are found: by methods, a file each, that are given one task, one incumbent and one budget.
//!
//! A [`Method`] is asked whether it applies to a [`Task`]; if so, it gives the [`Incumbent`] what it finds
//! until the [`Budget`] is over or nothing shorter is possible. A [`search`] lets several methods
//! have their shares of a budget, one after the other; [`exact`] says which.

mod budget;
mod ejection;
mod exchanged;
mod few_bends;
mod greedy;
mod incumbent;
mod joint;
mod list;
#[cfg(test)]
mod single_file;
mod slots;
mod strategy;
mod sweeps;
mod task;
mod turns;

pub use budget::Budget;
pub use greedy::greedy;
pub use incumbent::{Incumbent, Progress, Schedule};
pub use list::MethodName;
pub use slots::{OctantPair, octant_pair};
pub use strategy::{Share, Solution, exact, search, solve};
pub use task::{Task, check_size};

/// A way to find schedules.
pub trait Method {
    /// As users write it.
    const NAME: &'static str;
    /// What it does, in a line.
    const SUMMARY: &'static str;

    /// Whether it can do anything for a task.
    fn applies(task: &Task) -> bool;

    /// Looks for shorter schedules, and gives them to the incumbent, until the budget is over or the bound is
    /// reached. A method that applies finds a schedule even if the budget is over from the beginning,
    /// unless it says of itself that it begins with the incumbent.
    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget);
}
