//! The two subtractive generators of Knuth, The Art of Computer Programming, volume 2, section 3.6 (2002),
//! as integers: x[n] = x[n-100] - x[n-37] mod 2^30 and u[n] = u[n-100] + u[n-37] mod 2^52.

use crate::{
    bits::{Vector, VectorWork, with_longest},
    engine::pipelined::Numbers,
};

/// The long lag.
const LONG: usize = 100;
/// The short lag.
const SHORT: usize = 37;
/// Values that are made at once; only the first hundred of them are used.
const BATCH: usize = 1009;
/// Most values of one run of the recurrence.
const MOST: usize = 1024;
/// Separation of the streams of different seeds.
const SEPARATION: u32 = 70;
/// The seed of generators that were never seeded.
const UNSEEDED: u32 = 314_159;

/// One generator: whole numbers of some bits whose lagged values are added or subtracted.
#[derive(Clone, Debug)]
struct Lagged {
    mask: u64,
    adds: bool,
    state: [u64; LONG],
    batch: [u64; LONG],
    used: usize,
    is_seeded: bool,
    /// Where the recurrence runs.
    room: Box<[u64; ROOM]>,
}

impl Lagged {
    /// A generator that was not seeded yet: its state is nothing but zeros until it is.
    fn new(bits: u32, adds: bool) -> Self {
        let mask = (1 << bits) - 1;
        Self {
            mask,
            adds,
            state: [0; LONG],
            batch: [0; LONG],
            used: LONG,
            is_seeded: false,
            room: Box::new([0; ROOM]),
        }
    }

    fn combine(&self, older: u64, newer: u64) -> u64 {
        (if self.adds { older + newer } else { older.wrapping_sub(newer) }) & self.mask
    }

    /// Runs the recurrence so far: the state becomes the hundred values behind.
    fn advance(&mut self, by: usize) {
        with_longest(Advance { state: &mut self.state, room: &mut self.room, by, adds: self.adds });
        for value in &mut self.state {
            *value &= self.mask;
        }
    }

    /// The state of a seed: a polynomial raised to the power that the seed says, by squares and products.
    fn seed(&mut self, seed: u32) {
        let seed = u64::from(seed) & ((1 << 30) - 1);
        let mut x = [0u64; 2 * LONG - 1];
        let mut start = if self.adds { 2 * (seed + 2) } else { (seed + 2) & (self.mask - 1) };
        for value in &mut x[..LONG] {
            *value = start;
            start <<= 1;
            if start > self.mask {
                start -= self.mask - 1;
            }
        }
        x[1] += 1;
        let (mut bits, mut left) = (seed, SEPARATION - 1);
        while left > 0 {
            for at in (1..LONG).rev() {
                x[2 * at] = x[at];
                x[2 * at - 1] = 0;
            }
            for at in (LONG..2 * LONG - 1).rev() {
                x[at - (LONG - SHORT)] = self.combine(x[at - (LONG - SHORT)], x[at]);
                x[at - LONG] = self.combine(x[at - LONG], x[at]);
            }
            if bits & 1 == 1 {
                x.copy_within(0..LONG, 1);
                x[0] = x[LONG];
                x[SHORT] = self.combine(x[SHORT], x[LONG]);
            }
            if bits > 0 {
                bits >>= 1;
            } else {
                left -= 1;
            }
        }
        for (at, &value) in x[..LONG].iter().enumerate() {
            self.state[(at + LONG - SHORT) % LONG] = value;
        }
        self.advance(10 * (2 * LONG - 1));
        self.used = LONG;
        self.is_seeded = true;
    }

    #[inline]
    fn next(&mut self) -> u64 {
        if self.used == LONG {
            self.refill();
        }
        self.used += 1;
        self.batch[self.used - 1]
    }

    #[cold]
    fn refill(&mut self) {
        if !self.is_seeded {
            self.seed(UNSEEDED);
        }
        self.batch = self.state;
        self.advance(BATCH);
        self.used = 0;
    }
}

/// Values that the recurrence makes at once; no more than the short lag, as none of them needs another one.
const AT_ONCE: usize = 32;

/// The values before, and those that are made of them.
const ROOM: usize = LONG + MOST + AT_ONCE;

/// Runs the recurrence so far. Values wrap at more bits than they have, which those that they have do not see.
struct Advance<'a> {
    state: &'a mut [u64; LONG],
    room: &'a mut [u64; ROOM],
    by: usize,
    adds: bool,
}

impl VectorWork for Advance<'_> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let values = self.room;
        let mut left = self.by;
        while left > 0 {
            let by = left.min(MOST);
            values[..LONG].copy_from_slice(self.state);
            let mut first = 0;
            while first < by {
                for at in (first..first + AT_ONCE).step_by(V::WORDS) {
                    let (older, newer) = (V::load(&values[at..]), V::load(&values[at + LONG - SHORT..]));
                    let value =
                        if self.adds { older.plus(newer) } else { older.plus(!newer).plus(V::splat(1)) };
                    value.store(&mut values[at + LONG..]);
                }
                first += AT_ONCE;
            }
            self.state.copy_from_slice(&values[by..][..LONG]);
            left -= by;
        }
    }
}

/// Both generators, as one seed sets them.
#[derive(Clone, Debug)]
pub(super) struct Generators {
    whole: Lagged,
    fractions: Lagged,
}

/// Generators that were not seeded yet.
impl Default for Generators {
    fn default() -> Self {
        Self { whole: Lagged::new(30, false), fractions: Lagged::new(52, true) }
    }
}

impl Numbers for Generators {
    #[inline]
    fn upto(&mut self, most: u32) -> u32 {
        // Whole numbers have 30 bits.
        self.whole.next() as u32 % most.saturating_add(1)
    }
}

impl Generators {
    /// Seeds both.
    pub(super) fn seed(&mut self, seed: u32) {
        self.whole.seed(seed);
        self.fractions.seed(seed);
    }

    /// Runs something with another seed and puts the states back, but not what is left of the batches. Of generators
    /// that were not seeded before, these states are zeros, and so is what they give then.
    pub(super) fn aside<T>(&mut self, seed: u32, run: impl FnOnce(&mut Self) -> T) -> T {
        let kept = (self.whole.state, self.fractions.state);
        self.seed(seed);
        let result = run(self);
        (self.whole.state, self.fractions.state) = kept;
        result
    }

    /// Whether a fraction is below one given as so many parts of 2^52.
    #[inline]
    pub(super) fn is_below(&mut self, parts: u64) -> bool {
        self.fractions.next() < parts
    }

    /// A fraction below 1.
    pub(super) fn fraction(&mut self) -> f64 {
        self.fractions.next() as f64 / (1u64 << 52) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH, Lagged, UNSEEDED};

    /// Knuth prints what a right implementation gives after seed 310952: 2010 numbers 1010 times (or the other
    /// way round) end in 995235265, and for fractions in 0.36410514377569680455.
    #[test]
    fn values_printed_by_knuth() {
        let (mut whole, mut fractions) = (Lagged::new(30, false), Lagged::new(52, true));
        whole.seed(310_952);
        fractions.seed(310_952);
        whole.advance(2009 * BATCH);
        assert_eq!(whole.state[0], 995_235_265);
        for _ in 0..2009 {
            fractions.advance(BATCH);
        }
        assert_eq!(fractions.state[0] as f64 / (1u64 << 52) as f64, 0.364_105_143_775_696_8);
        assert_ne!(UNSEEDED, 310_952);
    }
}
