//! First and last cycle in which flits cross each link, and how many do, as planes of the bits.

use super::{tags::value, vector::Vector};

/// Use of the four links of every router.
#[derive(Clone)]
pub struct Occupation<V> {
    blocks: usize,
    /// Per block and direction: the link was used.
    used: Vec<V>,
    /// Per bit, block and direction.
    first: Vec<V>,
    /// Per bit, block and direction.
    last: Vec<V>,
    /// Per bit, block and direction.
    flits: Vec<V>,
}

impl<V: Vector> Occupation<V> {
    /// No link used.
    pub fn new(blocks: usize) -> Self {
        Self {
            blocks,
            used: vec![V::zero(); 4 * blocks],
            first: Vec::new(),
            last: Vec::new(),
            flits: Vec::new(),
        }
    }

    /// Forgets everything.
    #[inline(always)]
    pub fn reset(&mut self) {
        for planes in [&mut self.used, &mut self.first, &mut self.last, &mut self.flits] {
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
            let (mut carry, mut at) = (sends, index);
            while carry.any() {
                if at >= self.flits.len() {
                    self.flits.resize(self.flits.len() + stride, V::zero());
                }
                let plane = self.flits[at];
                self.flits[at] = plane ^ carry;
                carry = plane & carry;
                at += stride;
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
        let used = value([self.used[index]].into_iter(), lane) == 1;
        used.then(|| (self.number(&self.first, index, lane), self.number(&self.last, index, lane)))
    }

    /// Flits that crossed a link.
    pub fn flits(&self, block: usize, lane: usize, direction: usize) -> u64 {
        self.number(&self.flits, 4 * block + direction, lane)
    }

    fn number(&self, planes: &[V], index: usize, lane: usize) -> u64 {
        value(planes.iter().skip(index).step_by(4 * self.blocks).copied(), lane)
    }
}
