//! What is planned, and the plan.

use super::{Bound, CollectiveKind, Move, Orbit, moves::reversed};

use crate::fabric::NodeId;

/// What is to be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub kind: CollectiveKind,
    /// Chunks per member, per pair for an all-to-all, in all for a broadcast or reduce.
    pub chunks: u32,
    /// The root, where the operation has one.
    pub root: NodeId,
    /// Steps a chunk spends on a link besides the one in which it enters it.
    pub latency: u32,
    /// Seed of everything random.
    pub seed: u64,
}

/// What happens, as orbits or move by move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All nodes do the same, shifted; one orbit after the other.
    Orbits(Vec<Orbit>),
    /// Every move by itself.
    Moves(Vec<Move>),
}

/// A plan with its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Steps until the last chunk has arrived.
    pub steps: u32,
    /// A lower bound on the steps of any plan.
    pub bound: Bound,
    /// What happens.
    pub schedule: Schedule,
}

impl Plan {
    /// The same plan backwards in time and over links the other way round, nothing added up.
    pub(super) fn backwards(self, latency: u32) -> Self {
        let Self { steps, bound, schedule } = self;
        let schedule = match schedule {
            Schedule::Moves(moves) => Schedule::Moves(reversed(&moves, latency, false)),
            orbits @ Schedule::Orbits(_) => orbits,
        };
        Self { steps, bound, schedule }
    }
}
