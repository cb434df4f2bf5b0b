//! First and last cycle in which flits cross each link, and how many do, as planes of the bits.

use super::{tags::value, vector::Vector};
use crate::save::{Archive, SaveError};

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

    /// The numbers of planes as fields; restored, planes are made.
    pub fn archive_bits(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let stride = 4 * self.blocks;
        for (field, planes) in [("bits of cycles", &mut self.last), ("bits of flits", &mut self.flits)] {
            let mut bits = (planes.len() / stride) as u8;
            archive.number(field, &mut bits)?;
            if bits > 64 {
                return Err(SaveError::Value { field, value: bits.into() });
            }
            planes.resize(usize::from(bits) * stride, V::zero());
        }
        self.first.resize(self.last.len(), V::zero());
        Ok(())
    }

    /// All planes of one block.
    pub fn planes(&mut self, block: usize, visit: &mut impl FnMut(&mut V)) {
        let stride = 4 * self.blocks;
        let Self { blocks: _, used, first, last, flits } = self;
        for planes in [used, first, last, flits] {
            for bit in planes.chunks_exact_mut(stride) {
                bit[4 * block..][..4].iter_mut().for_each(&mut *visit);
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
