//! Who sends what to whom, when: patterns, collectives, open-loop loads and packet lists.

mod collective;
mod load;
mod pattern;
mod random;
mod workload;

pub use collective::Collective;
pub use load::OpenLoad;
pub use pattern::{Destinations, Pattern, PatternError};
pub use random::{Purpose, draw, draw_below};
pub use workload::{Packet, PacketList, Sources, Workload, WorkloadError};
