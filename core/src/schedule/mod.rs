//! Searching when to send: schedules in which no packet ever waits, and how good they could be.
//!
//! A [`Problem`] says which resources every packet holds and when after its start. Its duration can
//! not fall below [`classic_bound`] and [`lower_bound`]; [`greedy`] gives a schedule at once and
//! [`solve`] searches for one at the bound. [`verify`] checks a finished plan by other means.
//! [`genetic`] is the cup-stacking papers' search, in which packets may wait.

mod aligned;
mod assign;
mod bounds;
mod busy;
mod candidates;
mod choice;
mod crowding;
mod dependent;
mod domains;
mod ejection;
pub mod genetic;
mod greedy;
mod group;
mod joint;
mod load;
mod neighbours;
mod operations;
mod plan;
mod problem;
mod routes;
mod separation;
mod solve;
mod spread;
mod symmetry;
mod timeline;
mod verify;

pub use aligned::staircases;
pub use bounds::{classic_bound, distance_bound, lower_bound};
pub use candidates::candidates;
pub use dependent::{Dependencies, chain_bound, tighten};
pub use domains::{Contention, Domains};
pub use ejection::Budget;
pub use greedy::{duration_of, greedy};
pub use group::Group;
pub use load::load_bound;
pub use operations::Operation;
pub use plan::{PlannedPacket, packet_list, planned_packets};
pub use problem::{Demand, Job, Problem, Route, ScheduleError, Slicing, Use};
pub use routes::{Path, RouteChoice};
pub use separation::{Separation, dependencies, separate};
pub use solve::{Progress, Solution, check_size, proven_bound, solve};
pub use spread::{Spread, spread};
pub use symmetry::Quotient;
pub use timeline::Placement;
pub use verify::{PlanError, check_route, other_route, verify};
