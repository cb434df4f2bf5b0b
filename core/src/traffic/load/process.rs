//! When a node may start a packet.

use super::profile::WHOLE;
use crate::{
    names::UnknownName,
    traffic::{DRAWS, WorkloadError},
};
use std::{fmt, str::FromStr};

/// How starts of packets follow each other at a node.
///
/// ```
/// use flitloom_core::traffic::Process;
/// assert_eq!("gap".parse(), Ok(Process::Gap));
/// assert!("poisson".parse::<Process>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Process {
    /// `bernoulli`: in every cycle a packet starts with probability rate / length, also while others
    /// wait.
    #[default]
    Bernoulli,
    /// `gap`: an idle node starts a packet with probability 1 / g, g = length (1 - rate) / rate, and is
    /// then not idle for as many cycles as the packet has flits (scaling-effects-2007, Eq. 1). After a
    /// start in cycle t the next draw is in cycle t + length + 1: the mean interval is length / rate.
    Gap,
}

impl Process {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bernoulli, Self::Gap];
    /// Their names in the same order.
    pub const NAMES: [&'static str; 2] = ["bernoulli", "gap"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The probability of a start in a cycle, as a share of all draws.
    pub(super) fn probability(self, rate: f64, length: u32) -> Result<u64, WorkloadError> {
        let length = f64::from(length);
        let probability = match self {
            Self::Bernoulli => rate / length,
            Self::Gap if rate * (length + 1.0) > length => {
                return Err(WorkloadError::GapRate { rate, most: length / (length + 1.0) });
            }
            Self::Gap => rate / (length * (1.0 - rate)),
        };
        Ok((probability * DRAWS) as u64)
    }

    /// Cycles behind the one after a start in which no packet starts.
    #[inline(always)]
    pub(super) fn pause(self, length: u32) -> u64 {
        match self {
            Self::Bernoulli => 0,
            Self::Gap => length.into(),
        }
    }

    /// Whether a start at the largest rate is one at a share (of [`WHOLE`]) of that rate.
    #[inline(always)]
    pub(super) fn takes(self, drawn: u64, share: u64, most: f64) -> bool {
        let drawn = drawn >> 2;
        match self {
            Self::Bernoulli => drawn < share,
            // With s the share and m the largest rate, the probabilities are as s (1 - m) to 1 - s m.
            Self::Gap => {
                let most = (most * WHOLE as f64) as u64;
                let rest = WHOLE - ((u128::from(share) * u128::from(most)) >> 62) as u64;
                u128::from(drawn) * u128::from(rest) < u128::from(share) * u128::from(WHOLE - most)
            }
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Process {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let known = Self::ALL.into_iter().find(|process| process.name() == name);
        known.ok_or_else(|| UnknownName::of("process", "the processes are", name, &Self::NAMES))
    }
}
