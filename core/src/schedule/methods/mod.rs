//! How schedules are found.

mod budget;
mod ejection;
mod greedy;
mod joint;
mod slots;
mod solve;
mod tighten;

pub use budget::Budget;
pub use greedy::greedy;
pub use slots::staircases;
pub use solve::{Progress, Solution, check_size, solve};
pub use tighten::tighten;
