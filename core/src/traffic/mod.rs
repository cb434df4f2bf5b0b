//! Who sends what to whom, when: patterns, collectives, open-loop loads and packet lists.

mod collective;
mod demand;
mod destinations;
mod load;
mod message_graph;
mod operation;
mod outstanding;
mod packet;
mod pattern;
mod random;
mod routes;
mod source;
mod sources;
mod workload;

pub use collective::Collective;
pub use demand::Demand;
pub use destinations::{AmongError, Destinations};
pub use load::{OpenLoad, Process, Profile};
pub(crate) use message_graph::Message;
pub use message_graph::{
    GoalError, GraphError, GraphProgress, MessageGraph, Operation, OperationKind, RouteOfPair, parse_goal,
};
pub use operation::{CollectiveOperation, Group, OperationError};
pub(crate) use outstanding::Outstanding;
pub use packet::{Packet, PacketError};
pub use pattern::{Pattern, PatternError};
pub(crate) use random::DRAWS;
pub(crate) use random::{Numbers, below, draw_all, draws};
pub use random::{Purpose, draw, draw_below};
pub use routes::{RouteBook, Routes};
pub use source::{Guide, PacketSource, Way};
pub use sources::Sources;
pub use workload::{PacketList, Workload, WorkloadError};
