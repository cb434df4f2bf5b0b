//! Tables by destination on any fabric of switches and cables: balanced, with lanes that keep them free of deadlock,
//! repaired, extended, and anybody's checked.

mod beside;
mod check;
mod dimension_order;
mod dump;
mod extend;
mod fallback;
mod levels;
mod lines;
mod mixed;
mod patch;
mod repair;
mod request;
mod route;
mod search;
mod shifts;
mod survive;
mod table;

pub use super::lanes::{PairLanes, lane};
pub use crate::flow::order::{MAX_LANES, lanes_of_links};
pub use beside::{Beside, BesideVerdict, beside, multicast_tree};
pub use check::{LaneRule, SERVICE_LEVELS, check, uses};
pub use dimension_order::DimensionOrder;
pub use dump::{DumpReader, LidTable};
pub use extend::extend;
pub use levels::{LevelReader, LevelTable};
pub use lines::DumpError;
pub use mixed::{Change, Management, Mixed, MixedTables, Senders, mixed, together, unsafe_places};
pub use patch::{Patched, patch};
pub use repair::{Before, Repaired, repair};
pub use request::{ForwardingRequest, Mode, Rising};
pub use route::{LanedForwarding, forward};
pub use search::{Effort, balance};
pub(crate) use search::{Guard, LeveledBothWays, balance_closely, balance_guarded, both_ways};
pub use shifts::ShiftLoads;
pub use survive::{MOST_SWITCHES, SurviveRequest, Surviving, survive};
pub(crate) use table::way;
pub use table::{Forwarding, NO_CHANNEL};
