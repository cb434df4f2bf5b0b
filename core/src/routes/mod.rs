//! Tables of routes, each an encoding of the same thing: by source, a route for every pair of nodes, or by destination,
//! a port at every switch and a lane for every service level. One check judges both.

pub mod by_destination;
pub mod by_source;
pub mod check;
pub mod failures;
pub mod lanes;
pub mod methods;
pub mod verdict;
