//! Knuth's two subtractive generators (The Art of Computer Programming, volume 2, section 3.6, edition of 2002), one
//! value at a time.

use std::collections::VecDeque;

/// The last hundred values, oldest first; of every 1009 values the first hundred are used.
struct Generator {
    values: VecDeque<u64>,
    modulus: u64,
    sums: bool,
    used: usize,
}

impl Generator {
    fn combine(&self, one: u64, other: u64) -> u64 {
        let other = if self.sums { other } else { self.modulus - other };
        (one + other) % self.modulus
    }

    fn new(seed: u64, bits: u32, sums: bool) -> Self {
        let modulus = 1 << bits;
        let mut generator = Self { values: VecDeque::new(), modulus, sums, used: 0 };
        // A polynomial of degree below 100 that the seed determines ...
        let mut x = vec![0; 101];
        let mut term = if sums { 2 * (seed + 2) } else { (seed + 2) & (modulus - 2) };
        for value in &mut x[..100] {
            *value = term;
            term *= 2;
            if term >= modulus {
                term -= modulus - 2;
            }
        }
        x[1] += 1;
        // ... is squared for every bit of the seed, multiplied by z where it is set, and squared 69 times more.
        let (mut bits_left, mut times) = (seed, 69);
        while times > 0 {
            let mut square = vec![0; 200];
            for at in 0..100 {
                square[2 * at] = x[at];
            }
            for at in (100..199).rev() {
                square[at - 63] = generator.combine(square[at - 63], square[at]);
                square[at - 100] = generator.combine(square[at - 100], square[at]);
            }
            x = square[..101].to_vec();
            if bits_left % 2 == 1 {
                x.copy_within(0..100, 1);
                x[0] = x[100];
                x[37] = generator.combine(x[37], x[100]);
            }
            if bits_left > 0 { bits_left /= 2 } else { times -= 1 }
        }
        generator.values = (0..100).map(|at| x[(at + 37) % 100]).collect();
        for _ in 0..10 * 199 {
            generator.step();
        }
        generator
    }

    fn step(&mut self) -> u64 {
        let (first, later) = (self.values[0], self.values[63]);
        let next = self.combine(first, later);
        self.values.push_back(next);
        self.values.pop_front().unwrap()
    }

    fn next(&mut self) -> u64 {
        if self.used == 100 {
            for _ in 100..1009 {
                self.step();
            }
            self.used = 0;
        }
        self.used += 1;
        self.step()
    }
}

pub struct Numbers {
    whole: Generator,
    fractions: Generator,
}

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self { whole: Generator::new(seed, 30, false), fractions: Generator::new(seed, 52, true) }
    }

    /// A whole number of 0 to `most`.
    pub fn upto(&mut self, most: usize) -> usize {
        self.whole.next() as usize % (most + 1)
    }

    /// A fraction below 1.
    pub fn fraction(&mut self) -> f64 {
        self.fractions.next() as f64 / (1u64 << 52) as f64
    }
}
