//! Walks over set bits.

/// The places of the set bits of a word, from the lowest on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ones(u64);

/// The places of the set bits of a word, from the lowest on.
#[inline(always)]
pub(crate) fn ones(word: u64) -> Ones {
    Ones(word)
}

impl Iterator for Ones {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_the_set_bits() {
        for word in [0, 1, u64::MAX, 1 << 63, 0x8001_0203_0405_0607] {
            let set: Vec<usize> = (0..64).filter(|place| word >> place & 1 == 1).collect();
            assert_eq!(ones(word).collect::<Vec<_>>(), set);
        }
    }
}
