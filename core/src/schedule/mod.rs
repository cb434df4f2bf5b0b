//! Searching when to send: schedules in which no packet ever waits, and how good they could be.
//!
//! A [`Problem`] says which resources every packet holds and when after its start. Its duration can
//! not fall below [`classic_bound`] and [`lower_bound`]; [`greedy`] gives a schedule at once and
//! [`solve`] searches for one at the bound. [`verify`] checks a finished plan by other means.

mod bounds;
mod methods;
mod occupancy;
mod plan;
mod problem;

pub use bounds::{
    Contention, Domains, candidates, chain_bound, classic_bound, distance_bound, load_bound, lower_bound,
    proven_bound,
};
pub use methods::{Budget, Progress, Solution, check_size, greedy, solve, staircases, tighten};
pub use plan::{
    PlanError, PlannedPacket, Separation, Spread, check_route, dependencies, other_route, packet_list,
    planned_packets, separate, spread, verify,
};
pub use problem::{
    Demand, Dependencies, Job, Path, Placement, Problem, Quotient, Route, RouteChoice, ScheduleError,
    Slicing, Use, duration_of,
};
