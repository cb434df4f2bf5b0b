//! First and last cycle in which flits cross each link, as planes of the cycle's bits.

use super::vector::{Vector, words};

/// Cycles of the four links of every router.
pub struct Occupation<V> {
    blocks: usize,
    /// Per block and direction: the link was used.
    used: Vec<V>,
    /// Per bit, block and direction.
    first: Vec<V>,
    /// Per bit, block and direction.
    last: Vec<V>,
}

impl<V: Vector> Occupation<V> {
    /// No link used.
    pub fn new(blocks: usize) -> Self {
        Self { blocks, used: vec![V::zero(); 4 * blocks], first: Vec::new(), last: Vec::new() }
    }

    /// Forgets everything.
    #[inline(always)]
    pub fn reset(&mut self) {
        for planes in [&mut self.used, &mut self.first, &mut self.last] {
            planes.fill(V::zero());
        }
    }

    /// Flits cross the links of a block.
    #[inline(always)]
    pub fn record(&mut self, block: usize, cycle: u64, sends: [V; 4]) {
        let stride = 4 * self.blocks;
        let needed = (64 - cycle.leading_zeros()) as usize * stride;
        if self.last.len() < needed {
            self.first.resize(needed, V::zero());
            self.last.resize(needed, V::zero());
        }
        for (direction, sends) in sends.into_iter().enumerate() {
            let index = 4 * block + direction;
            let begins = sends & !self.used[index];
            self.used[index] = self.used[index] | sends;
            for (bit, plane) in self.last.iter_mut().skip(index).step_by(stride).enumerate() {
                *plane = if cycle >> bit & 1 == 1 { *plane | sends } else { *plane & !sends };
            }
            if begins.any() {
                for (bit, plane) in self.first.iter_mut().skip(index).step_by(stride).enumerate() {
                    if cycle >> bit & 1 == 1 {
                        *plane = *plane | begins;
                    }
                }
            }
        }
    }

    /// First and last cycle of a link, if it was used.
    pub fn cycles(&self, block: usize, lane: usize, direction: usize) -> Option<(u64, u64)> {
        let index = 4 * block + direction;
        let bit_of = |plane: &V| words(std::slice::from_ref(plane))[lane / 64] >> (lane % 64) & 1;
        let value = |planes: &[V]| {
            let bits = planes.iter().skip(index).step_by(4 * self.blocks);
            bits.enumerate().map(|(bit, plane)| bit_of(plane) << bit).sum()
        };
        (bit_of(&self.used[index]) == 1).then(|| (value(&self.first), value(&self.last)))
    }
}
