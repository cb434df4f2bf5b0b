//! The two subtractive generators of Knuth, The Art of Computer Programming, volume 2, section 3.6 (2002),
//! as integers: x[n] = x[n-100] - x[n-37] mod 2^30 and u[n] = u[n-100] + u[n-37] mod 2^52.

/// The long lag.
const LONG: usize = 100;
/// The short lag.
const SHORT: usize = 37;
/// Values that are made at once; only the first hundred of them are used.
const BATCH: usize = 1009;
/// Separation of the streams of different seeds.
const SEPARATION: u32 = 70;
/// The seed of generators that were never seeded.
pub(super) const UNSEEDED: u32 = 314_159;

/// One generator: whole numbers of some bits whose lagged values are added or subtracted.
#[derive(Clone, Debug)]
struct Lagged {
    mask: u64,
    adds: bool,
    state: [u64; LONG],
    batch: [u64; LONG],
    used: usize,
    is_seeded: bool,
}

impl Lagged {
    /// A generator that was not seeded yet: its state is nothing but zeros until it is.
    fn new(bits: u32, adds: bool) -> Self {
        let mask = (1 << bits) - 1;
        Self { mask, adds, state: [0; LONG], batch: [0; LONG], used: LONG, is_seeded: false }
    }

    fn combine(&self, older: u64, newer: u64) -> u64 {
        (if self.adds { older + newer } else { older.wrapping_sub(newer) }) & self.mask
    }

    /// Runs the recurrence: the first hundred values are the state, the last hundred become the next state.
    fn make(&mut self, values: &mut [u64]) {
        values[..LONG].copy_from_slice(&self.state);
        // As many at once as do not need each other.
        for at in (LONG..values.len()).step_by(SHORT) {
            let (older, made) = values.split_at_mut(at);
            let (far, near) = (&older[at - LONG..], &older[at - SHORT..]);
            for (value, (&far, &near)) in made.iter_mut().zip(far.iter().zip(near)) {
                *value = self.combine(far, near);
            }
        }
        let end = values.len();
        for place in 0..LONG {
            let newer = if place < SHORT { values[end + place - SHORT] } else { self.state[place - SHORT] };
            self.state[place] = self.combine(values[end + place - LONG], newer);
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
        let mut values = [0; 2 * LONG - 1];
        for _ in 0..10 {
            self.make(&mut values);
        }
        self.used = LONG;
        self.is_seeded = true;
    }

    fn next(&mut self) -> u64 {
        if self.used == LONG {
            if !self.is_seeded {
                self.seed(UNSEEDED);
            }
            let mut values = [0; BATCH];
            self.make(&mut values);
            self.batch.copy_from_slice(&values[..LONG]);
            self.used = 0;
        }
        self.used += 1;
        self.batch[self.used - 1]
    }
}

/// Both generators, as one seed sets them.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    whole: Lagged,
    fractions: Lagged,
    /// Instead of drawn numbers, all there are, one after the other: what was given since the beginning, each with
    /// the largest that it may be, and how many of these were asked for.
    all: Option<Vec<(u32, u32)>>,
    asked: usize,
}

impl Numbers {
    /// Generators that were not seeded yet.
    pub(super) fn new() -> Self {
        Self { whole: Lagged::new(30, false), fractions: Lagged::new(52, true), all: None, asked: 0 }
    }

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

    /// A whole number of 0 to `most`.
    pub(super) fn upto(&mut self, most: u32) -> u32 {
        if let Some(given) = &mut self.all {
            self.asked += 1;
            if self.asked > given.len() {
                given.push((0, most));
            }
            return given[self.asked - 1].0;
        }
        (self.whole.next() % (u64::from(most) + 1)) as u32
    }

    /// From now on whole numbers are not drawn: every sequence of them is given once.
    pub(super) fn begin_all(&mut self) {
        (self.all, self.asked) = (Some(Vec::new()), 0);
    }

    /// Goes on to the next sequence; false if there is none.
    pub(super) fn next_of_all(&mut self) -> bool {
        self.asked = 0;
        let Some(given) = &mut self.all else { return false };
        while let Some((value, most)) = given.pop() {
            if value < most {
                given.push((value + 1, most));
                return true;
            }
        }
        false
    }

    /// The probability of the sequence.
    pub(super) fn chance(&self) -> f64 {
        let given = self.all.iter().flatten();
        given.map(|&(_, most)| 1.0 / (f64::from(most) + 1.0)).product()
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
        let mut values = [0; BATCH];
        for _ in 0..=2009 {
            whole.make(&mut values);
        }
        assert_eq!(values[0], 995_235_265);
        for _ in 0..=2009 {
            fractions.make(&mut values);
        }
        assert_eq!(values[0] as f64 / (1u64 << 52) as f64, 0.364_105_143_775_696_8);
        assert_ne!(UNSEEDED, 310_952);
    }
}
