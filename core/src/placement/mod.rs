//! Where each rank sits: which node a rank of an application is put on, so that the fullest channel carries least.
//!
//! [`Demand`] is who sends how much to whom, [`Ways`] which channels that uses; [`fullest_channel`] says what no
//! placement can be better than, and [`search`](fn@search) tries structured placements first and then anneals.
//!
//! ```
//! use flitloom_core::{fabric::Shape, placement::{Demand, Problem, Watch, Ways, fullest_channel, search}};
//! let ways = Ways::new(Shape::torus(&[4, 4])?);
//! // A ring of 16 ranks, one unit to each neighbour.
//! let rows: Vec<_> = (0..16).flat_map(|r| [(r, (r + 1) % 16, 1), (r, (r + 15) % 16, 1)]).collect();
//! let demand = Demand::new(16, &rows)?;
//! let slots: Vec<u32> = (0..16).collect();
//! let problem = Problem { ways: &ways, demand: &demand, slots: &slots, axes: vec![16], by_hops: false };
//! let bound = fullest_channel(&ways, &demand, &[], 1)?;
//! let found = search(&problem, &bound, 1, 100_000, &mut Watch::new(&|_| false));
//! assert_eq!((found.row_major.fullest, found.score.fullest, bound.value), (1, 1, 1));
//! assert_eq!(found.score.hops, 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anneal;
mod assignment;
mod bounds;
mod demand;
mod dice;
mod floor;
mod layout;
mod layouts;
mod linear;
mod loads;
mod polish;
mod problem;
mod search;
mod ways;

pub use bounds::{Axis, AxisKind, Bound, Proof, fullest_channel, least_hops};
pub use demand::{Demand, DemandError, Peer};
pub use floor::{Begun, Fit, Floor, MAX_ROW, StreamJob, Streamed, Turn, stream};
pub use loads::{Score, channel_loads, fullest_port, score};
pub use problem::{Problem, Watch};
pub use search::{Found, search};
pub use ways::{Listed, Ways};
