//! What a run is made for.

use super::Options;
use crate::{
    bits::InstructionSet,
    save::{Archive, SaveError},
};

/// Which engine a run is on; the outcome does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Every feature.
    General,
    /// One bit per router; see [`planes::supports`](super::planes::supports).
    Planes,
    /// Pipelined routers, another model: see [`Simulation::pipelined`](super::Simulation::pipelined).
    Pipelined,
}

impl EngineKind {
    /// All engines of routers of one cycle.
    pub const OF_ONE_CYCLE: [Self; 2] = [Self::General, Self::Planes];

    /// The engine of a saved state of routers of one cycle.
    pub fn of_saved(state: &[u8]) -> Option<Self> {
        let mut archive = Archive::reading(state[..state.len().min(64)].to_vec());
        let mut number = 0_u8;
        archive.number("engine", &mut number).ok()?;
        Self::OF_ONE_CYCLE.into_iter().find(|&kind| kind as u8 == number)
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Planes => "planes",
            Self::Pipelined => "pipelined",
        }
    }

    /// The engine as a field, of those between which there is a choice.
    pub(super) fn fields(self, archive: &mut Archive) -> Result<(), SaveError> {
        if self == Self::Pipelined {
            return Ok(());
        }
        let mut kind = self as u8;
        archive.number("engine", &mut kind)?;
        if kind == self as u8 {
            Ok(())
        } else {
            Err(SaveError::Value { field: "engine", value: kind.into() })
        }
    }
}

/// What a [`Simulation`](super::Simulation) is made for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup<'a> {
    /// The engine of routers of one cycle; without one the fastest that covers the case.
    pub engine: Option<EngineKind>,
    /// The vectors; without any the best ones.
    pub set: Option<InstructionSet>,
    /// Whether first and last cycle and flits of every link are kept.
    pub links: bool,
    /// Whether [`Outcome::latency_sum`](super::Outcome::latency_sum) is exact in any cycle; otherwise only when everything is
    /// delivered or at `options.stop_at`.
    pub latencies: bool,
    /// Cycles of the windows in which it is told what happened, if it is to be told; the general engine
    /// tells.
    pub windows: Option<u64>,
    /// Threads, each with a part of the network; one each for as many rows at most. What comes out
    /// does not depend on their number; 0 is 1. Pipelined routers are in one part if single flits are recorded, an option
    /// needs the order of all routers, or they are planes, which one thread runs faster than four threads other forms.
    pub parts: usize,
    /// Input ports of pipelined routers from which on a part of their own is worth it, if not the usual number.
    pub ports_of_a_part: Option<usize>,
    /// The rules the nodes follow, and the stop if it is known; limits are given to
    /// [`run`](super::Simulation::run).
    pub options: Options<'a>,
}
