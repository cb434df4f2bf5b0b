//! Where drawn numbers come from.

use crate::{
    save::Archive,
    traffic::{Purpose, draw},
    visit::Visited,
};

/// What routing functions and allocators draw from.
pub(crate) trait Numbers {
    /// A whole number of 0 to `most`.
    fn upto(&mut self, most: u32) -> u32;
}

/// Where nothing is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotDrawn;

impl Numbers for NotDrawn {
    fn upto(&mut self, _most: u32) -> u32 {
        debug_assert!(false, "a number is drawn where none is");
        0
    }
}

/// Numbers from a counter, as everywhere else in flitloom.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    seed: u64,
    drawn: u64,
}

impl Counter {
    /// None drawn yet.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// How many were drawn.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { seed: _, drawn } = self;
        archive.number("numbers drawn", drawn)
    }
}

impl Numbers for Counter {
    fn upto(&mut self, most: u32) -> u32 {
        self.drawn += 1;
        let drawn = u128::from(draw(self.seed, 0, Purpose::Arbiter, self.drawn));
        ((drawn * (u128::from(most) + 1)) >> 64) as u32
    }
}
