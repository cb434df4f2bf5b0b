//! Random numbers of a search: a counter, so that the same seed has the same course everywhere.

use crate::traffic::{Purpose, draw};

/// Draws numbers one after the other.
pub(super) struct Dice {
    seed: u64,
    index: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, index: 0 }
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.index += 1;
        draw(self.seed, 0, Purpose::Search, self.index)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }

    /// About `-log2(u) * 2^16` for a uniform `u`: what a worse energy is held against, without floating point.
    pub(super) fn exponential(&mut self) -> i64 {
        let bits = self.bits() | 1;
        let zeros = bits.leading_zeros();
        let mantissa = ((bits << zeros) >> 47) & 0xffff;
        (i64::from(zeros) << 16) + 0x1_0000 - mantissa as i64
    }
}
