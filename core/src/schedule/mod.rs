//! Searching when to send: schedules in which no packet ever waits, and how good they could be.
//!
//! A [`Problem`] says which resources every packet holds and when after its start. No schedule of it is
//! shorter than its [`proof`] says; [`greedy`] gives one at once and [`solve`] lets the methods of the room
//! search for one at the bound. [`verify`] checks a finished plan by other means.

mod bounds;
mod methods;
mod occupancy;
mod plan;
mod problem;

pub use bounds::{
    Bound, Contention, Domains, Proof, candidates, chain_bound, classic_bound, distance_bound, load_bound,
    lower_bound, proof, proven_bound,
};
pub use methods::{
    Budget, Incumbent, Method, MethodName, OctantPair, Progress, Schedule, Share, Solution, Task, check_size,
    exact, greedy, octant_pair, search, solve,
};
pub use plan::{
    PlanError, PlannedPacket, Separation, Spread, check_route, dependencies, other_route, packet_list,
    planned_packets, separate, spread, verify,
};
pub use problem::{
    Demand, Dependencies, Job, Path, Placement, Problem, Quotient, Route, RouteChoice, ScheduleError,
    Slicing, Use, duration_of,
};
