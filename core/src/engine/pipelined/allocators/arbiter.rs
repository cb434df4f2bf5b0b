//! Arbiters: one of several, by priority, then in an order that they remember.

use crate::{save::Archive, visit::Visited};
use std::cmp::Reverse;

named! {
    /// In which order an arbiter chooses among equals.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ArbiterKind {
        /// From a turn on, which becomes the place after the winner.
        RoundRobin = "round_robin",
        /// Who won longest ago; at first the highest place.
        Matrix = "matrix",
    }
}

/// What decides between two: the largest wins.
pub(super) type Key = (i64, Reverse<i64>);

/// Several arbiters of one kind over the same number of places.
#[derive(Clone, Debug)]
pub(super) struct Arbiters {
    kind: ArbiterKind,
    places: usize,
    /// One turn per arbiter, or per arbiter and place when it won last.
    memory: Vec<i64>,
    clock: i64,
}

impl Arbiters {
    pub(super) fn new(kind: ArbiterKind, arbiters: usize, places: usize) -> Self {
        let memory = match kind {
            ArbiterKind::RoundRobin => vec![0; arbiters],
            ArbiterKind::Matrix => {
                (0..arbiters).flat_map(|_| (0..places as i64).map(|place| -place)).collect()
            }
        };
        Self { kind, places, memory, clock: 1 }
    }

    /// What is remembered.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { kind: _, places: _, memory, clock } = self;
        archive.slice("memory of arbiters", memory)?;
        archive.number("clock of arbiters", clock)
    }

    /// What decides about a place.
    #[inline(always)]
    pub(super) fn key(&self, arbiter: u32, place: u32, priority: i64) -> Key {
        let wait = match self.kind {
            ArbiterKind::RoundRobin => {
                i64::from(behind(place, self.memory[arbiter as usize] as u32, self.places))
            }
            ArbiterKind::Matrix => self.memory[arbiter as usize * self.places + place as usize],
        };
        (priority, Reverse(wait))
    }

    /// Learns who won.
    #[inline(always)]
    pub(super) fn won(&mut self, arbiter: u32, place: u32) {
        match self.kind {
            ArbiterKind::RoundRobin => {
                self.memory[arbiter as usize] = i64::from(after(place, self.places));
            }
            ArbiterKind::Matrix => {
                self.memory[arbiter as usize * self.places + place as usize] = self.clock;
                self.clock += 1;
            }
        }
    }
}

/// How far a place is behind the turn, on a circle of so many places.
pub(in super::super) fn behind(place: u32, turn: u32, places: usize) -> u32 {
    if place >= turn { place - turn } else { place + places as u32 - turn }
}

/// The place after this one on a circle.
pub(in super::super) fn after(place: u32, places: usize) -> u32 {
    if place as usize + 1 == places { 0 } else { place + 1 }
}
