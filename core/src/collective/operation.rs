use super::CollectiveError;
use crate::names;
use std::str::FromStr;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// Everybody gets the chunks of everybody.
    AllGather,
    /// Everybody gets the sum of its own part.
    ReduceScatter,
    /// Everybody gets the sum of all parts.
    AllReduce,
    /// Everybody gets the chunks of the root.
    Broadcast,
    /// The root gets the sum.
    Reduce,
    /// Everybody gets its own chunks from the root.
    Scatter,
    /// The root gets the chunks of everybody.
    Gather,
    /// Everybody gets chunks of its own from everybody.
    AllToAll,
}

impl CollectiveKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllReduce,
        Self::Broadcast,
        Self::Reduce,
        Self::Scatter,
        Self::Gather,
        Self::AllToAll,
    ];

    /// Its name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::AllToAll => "all-to-all",
        }
    }

    /// Whether one node, the root, has another part in it than the others.
    pub const fn has_root(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Scatter | Self::Gather)
    }
}

impl FromStr for CollectiveKind {
    type Err = CollectiveError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        names::find(&Self::ALL.map(|kind| (kind.name(), kind)), name).map_err(CollectiveError::Name)
    }
}
