//! Forwarding by destination on any fabric of switches and cables: balanced tables, virtual lanes that
//! keep them free of deadlock, lower bounds, and the check of anybody's tables.

mod bounds;
mod check;
mod demand;
mod dimension_order;
mod dump;
mod extend;
mod fallback;
mod lanes;
mod levels;
mod lines;
pub mod methods;
mod order;
mod prices;
mod repair;
mod request;
mod route;
mod search;
mod shifts;
mod table;

pub use bounds::{CutBound, bound};
pub use check::{Hop, LaneRule, Verdict, check};
pub use demand::{Demand, bound_for};
pub use dimension_order::DimensionOrder;
pub use dump::{DumpReader, LidTable};
pub use extend::extend;
pub use lanes::{PairLanes, lane};
pub use levels::{LevelReader, LevelTable};
pub use lines::DumpError;
pub use order::Dependencies;
pub use prices::tightened;
pub use repair::{Before, Repaired, repair};
pub use request::{ForwardingRequest, Mode};
pub use route::{LanedForwarding, forward};
pub use search::{Effort, balance};
pub use shifts::ShiftLoads;
pub use table::{Forwarding, NO_CHANNEL};

/// Service levels an InfiniBand packet can carry.
pub const SERVICE_LEVELS: usize = 16;
/// Virtual lanes for data that a table may use.
pub const MAX_LANES: usize = 8;
