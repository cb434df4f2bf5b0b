//! First and last cycle in which flits cross each link, and how many do, as planes of the bits.

use crate::{
    bits::{Vector, count_up_long, number_at},
    save::{Archive, SaveError},
};

/// Use of the four links of every router.
#[derive(Clone)]
pub(super) struct Occupation<V> {
    /// Bits of cycles and of flits.
    bits: usize,
    /// Per block and direction: the link was used.
    used: Vec<V>,
    /// Per block, bit and direction.
    first: Vec<V>,
    /// Per block, bit and direction.
    last: Vec<V>,
    /// Per block, bit and direction.
    flits: Vec<V>,
}

/// The same of some blocks, to be changed.
pub(super) struct Uses<'a, V> {
    bits: usize,
    used: &'a mut [V],
    first: &'a mut [V],
    last: &'a mut [V],
    flits: &'a mut [V],
}

impl<V: Vector> Occupation<V> {
    /// No link used.
    pub(super) fn new(blocks: usize) -> Self {
        let used = vec![V::zero(); 4 * blocks];
        Self { bits: 0, used, first: Vec::new(), last: Vec::new(), flits: Vec::new() }
    }

    /// Forgets everything.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        for planes in [&mut self.used, &mut self.first, &mut self.last, &mut self.flits] {
            planes.fill(V::zero());
        }
    }

    /// Makes room for as many bits as what is known after a cycle may need.
    #[inline(always)]
    pub(super) fn reserve(&mut self, cycle: u64) {
        let bits = (64 - (cycle + 1).leading_zeros()) as usize;
        if bits > self.bits {
            self.widen(bits);
        }
    }

    #[inline(never)]
    fn widen(&mut self, bits: usize) {
        let (old, new) = (4 * self.bits, 4 * bits);
        let blocks = self.used.len() / 4;
        for planes in [&mut self.first, &mut self.last, &mut self.flits] {
            let mut wider = vec![V::zero(); blocks * new];
            for block in 0..blocks {
                wider[block * new..][..old].copy_from_slice(&planes[block * old..][..old]);
            }
            *planes = wider;
        }
        self.bits = bits;
    }

    /// All blocks.
    pub(super) fn all(&mut self) -> Uses<'_, V> {
        let Self { bits, used, first, last, flits } = self;
        Uses { bits: *bits, used, first, last, flits }
    }
}

impl<'a, V: Vector> Uses<'a, V> {
    /// The first so many blocks, and the others.
    pub(super) fn split_at(self, blocks: usize) -> (Self, Self) {
        let Self { bits, used, first, last, flits } = self;
        let split = |planes: &'a mut [V], each: usize| planes.split_at_mut(blocks * each);
        let (used, first) = (split(used, 4), split(first, 4 * bits));
        let (last, flits) = (split(last, 4 * bits), split(flits, 4 * bits));
        (
            Self { bits, used: used.0, first: first.0, last: last.0, flits: flits.0 },
            Self { bits, used: used.1, first: first.1, last: last.1, flits: flits.1 },
        )
    }

    /// Flits cross the links of a block.
    #[inline(always)]
    pub(super) fn record(&mut self, block: usize, cycle: u64, sends: [V; 4]) {
        let planes = block * 4 * self.bits..(block + 1) * 4 * self.bits;
        let (first, last) = (&mut self.first[planes.clone()], &mut self.last[planes.clone()]);
        let flits = &mut self.flits[planes];
        for (direction, sends) in sends.into_iter().enumerate() {
            let index = 4 * block + direction;
            let begins = sends & !self.used[index];
            self.used[index] = self.used[index] | sends;
            for (bit, plane) in last.iter_mut().skip(direction).step_by(4).enumerate() {
                *plane = if cycle >> bit & 1 == 1 { *plane | sends } else { *plane & !sends };
            }
            count_up_long(flits.iter_mut().skip(direction).step_by(4), sends);
            if begins.any() {
                for (bit, plane) in first.iter_mut().skip(direction).step_by(4).enumerate() {
                    if cycle >> bit & 1 == 1 {
                        *plane = *plane | begins;
                    }
                }
            }
        }
    }
}

impl<V: Vector> Occupation<V> {
    /// The number of planes as a field; restored, planes are made.
    pub(super) fn archive_bits(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let mut bits = self.bits as u8;
        archive.number("bits of cycles", &mut bits)?;
        if bits > 64 {
            return Err(SaveError::Value { field: "bits of cycles", value: bits.into() });
        }
        if archive.is_reading() {
            self.bits = bits.into();
            let planes = self.used.len() * self.bits;
            for all in [&mut self.first, &mut self.last, &mut self.flits] {
                *all = vec![V::zero(); planes];
            }
        }
        Ok(())
    }

    /// All planes of one block.
    pub(super) fn planes(&mut self, block: usize, visit: &mut impl FnMut(&mut V)) {
        self.used[4 * block..][..4].iter_mut().for_each(&mut *visit);
        let each = 4 * self.bits;
        for planes in [&mut self.first, &mut self.last, &mut self.flits] {
            planes[block * each..][..each].iter_mut().for_each(&mut *visit);
        }
    }

    /// First and last cycle of a link, if it was used.
    pub(super) fn cycles(&self, block: usize, lane: usize, direction: usize) -> Option<(u64, u64)> {
        let used = number_at([self.used[4 * block + direction]].into_iter(), lane) == 1;
        used.then(|| {
            (
                self.number(&self.first, block, lane, direction),
                self.number(&self.last, block, lane, direction),
            )
        })
    }

    /// Flits that crossed a link.
    pub(super) fn flits(&self, block: usize, lane: usize, direction: usize) -> u64 {
        self.number(&self.flits, block, lane, direction)
    }

    fn number(&self, planes: &[V], block: usize, lane: usize, direction: usize) -> u64 {
        let each = 4 * self.bits;
        number_at(planes[block * each..][..each].iter().skip(direction).step_by(4).copied(), lane)
    }
}
