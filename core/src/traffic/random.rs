//! Random numbers from a counter: any draw is a function of (seed, node, purpose, index) alone, so
//! results depend on no order of evaluation and nothing has to be stored to continue a stream.

use crate::fabric::NodeId;

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
    draws(seed, node, purpose)(index)
}

/// [`draw`] for many indices.
pub(crate) fn draws(seed: u64, node: NodeId, purpose: Purpose) -> impl Fn(u64) -> u64 {
    let key = mix(seed ^ mix((u64::from(node) << 8) | purpose as u64));
    move |index| mix(key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// A uniform number below `bound` (at least 1), by multiplication; the bias is below 2^-32.
pub fn draw_below(seed: u64, node: NodeId, purpose: Purpose, index: u64, bound: u32) -> u32 {
    ((u128::from(draw(seed, node, purpose, index)) * u128::from(bound)) >> 64) as u32
}

fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
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
}
