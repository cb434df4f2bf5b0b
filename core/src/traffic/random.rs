//! Random numbers from a counter: any draw is a function of (seed, node, purpose, index) alone, so
//! results depend on no order of evaluation and nothing has to be stored to continue a stream.

use crate::{bits::Vector, fabric::NodeId};

/// What a random number is for; streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Time between two packets of a load.
    Gap = 1,
    /// Destination of a packet.
    Destination = 2,
    /// Shuffling of nodes into pairs or permutations.
    Shuffle = 3,
    /// Whether a packet goes to the hotspot.
    Hotspot = 4,
    /// Order and ties in the search for routing tables.
    Table = 5,
    /// A choice of a schedule search.
    Search = 6,
    /// Value of a gene.
    GeneValue = 7,
    /// Which genes mutate.
    Mutation = 8,
    /// Which genes cross over.
    Crossover = 9,
    /// Order of chromosomes of equal score.
    Tie = 10,
    /// How often the genes of a child mutate.
    MutationRate = 11,
    /// By how much a node is late.
    Delay = 12,
    /// What a packet's way leaves to chance.
    Route = 13,
    /// Time to the next packet of a load, by the cycle in which the wait begins.
    Wait = 20,
    /// Whether a packet of a load whose rate changes is generated.
    Thinning = 21,
    /// Class of traffic that a packet belongs to.
    Class = 22,
    /// Turns of allocators that draw.
    Arbiter = 23,
}

/// How many values a draw has, 2^64, for probabilities as shares of all draws.
pub(crate) const DRAWS: f64 = 18_446_744_073_709_551_616.0;

/// A uniform 64-bit number: SplitMix64's finaliser (Steele, Lea and Flood 2014), applied to a keyed
/// counter twice.
///
/// ```
/// use flitloom_core::traffic::{draw, Purpose};
/// assert_eq!(draw(1, 2, Purpose::Gap, 3), draw(1, 2, Purpose::Gap, 3));
/// assert_ne!(draw(1, 2, Purpose::Gap, 3), draw(1, 2, Purpose::Gap, 4));
/// ```
pub fn draw(seed: u64, node: NodeId, purpose: Purpose, index: u64) -> u64 {
    draw_all(seed, u64::from(node), purpose, index)
}

/// Numbers modulo 2^64, one or several side by side: what draws are made of.
pub(crate) trait Numbers: Copy {
    /// The same number everywhere.
    fn all(number: u64) -> Self;
    /// Sums.
    fn plus(self, other: Self) -> Self;
    /// Products.
    fn times(self, other: Self) -> Self;
    /// Exclusive or, bit by bit.
    fn xor(self, other: Self) -> Self;
    /// Shifted right by so many bits, below 64.
    fn shifted(self, bits: u32) -> Self;
}

impl Numbers for u64 {
    #[inline(always)]
    fn all(number: u64) -> Self {
        number
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn shifted(self, bits: u32) -> Self {
        self >> bits
    }
}

/// Vectors are numbers side by side.
impl<V: Vector> Numbers for V {
    #[inline(always)]
    fn all(number: u64) -> Self {
        Self::splat(number)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Vector::plus(self, other)
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Vector::times(self, other)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn shifted(self, bits: u32) -> Self {
        self.shift_right(Self::splat(bits.into()))
    }
}

/// [`draw`] for many indices.
pub(crate) fn draws(seed: u64, node: NodeId, purpose: Purpose) -> impl Fn(u64) -> u64 {
    let key = key(seed, u64::from(node), purpose);
    move |index| numbered(key, index)
}

/// [`draw`] for several nodes and indices side by side.
#[inline(always)]
pub(crate) fn draw_all<N: Numbers>(seed: u64, nodes: N, purpose: Purpose, indices: N) -> N {
    numbered(key(seed, nodes, purpose), indices)
}

#[inline(always)]
fn key<N: Numbers>(seed: u64, nodes: N, purpose: Purpose) -> N {
    let stream = nodes.times(N::all(1 << 8)).plus(N::all(purpose as u64));
    mix(N::all(seed).xor(mix(stream)))
}

#[inline(always)]
fn numbered<N: Numbers>(key: N, indices: N) -> N {
    mix(key.plus(indices.times(N::all(GOLDEN))))
}

/// Draws as numbers below `bound`; see [`draw_below`].
#[inline(always)]
pub(crate) fn below<N: Numbers>(drawn: N, bound: u32) -> N {
    let (bound, high) = (N::all(bound.into()), drawn.shifted(32));
    let low = drawn.plus(high.times(N::all(u64::MAX << 32)));
    high.times(bound).plus(low.times(bound).shifted(32)).shifted(32)
}

/// A uniform number below `bound` (at least 1), by multiplication; the bias is below 2^-32.
pub fn draw_below(seed: u64, node: NodeId, purpose: Purpose, index: u64, bound: u32) -> u32 {
    below(draw(seed, node, purpose, index), bound) as u32
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix<N: Numbers>(value: N) -> N {
    let value = value.plus(N::all(GOLDEN));
    let value = value.xor(value.shifted(30)).times(N::all(0xbf58_476d_1ce4_e5b9));
    let value = value.xor(value.shifted(27)).times(N::all(0x94d0_49bb_1331_11eb));
    value.xor(value.shifted(31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_draws_cover_their_range_evenly() {
        let mut counts = [0_u32; 10];
        for index in 0..100_000 {
            counts[draw_below(7, 3, Purpose::Destination, index, 10) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }

    #[test]
    fn bounded_draws_are_the_high_halves_of_products() {
        let drawn = (0..1000).map(|index| draw(5, 1, Purpose::Search, index));
        for drawn in drawn.chain([0, 1, u64::MAX, u64::MAX << 32, u64::MAX >> 32]) {
            for bound in [1, 2, 1023, 1 << 20, u32::MAX] {
                assert_eq!(u128::from(below(drawn, bound)), (u128::from(drawn) * u128::from(bound)) >> 64);
            }
        }
    }
}
