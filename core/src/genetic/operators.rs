//! Initialisation, mutation and crossover: which genes get which values. All draws are functions of
//! the seed, the chromosome's place, the generation and the gene.

use super::{
    Beginning, Settings,
    case::{Gene, GeneSpace, list_number},
};
use crate::{
    bits::{Vector, VectorWork, with_longest, words},
    fabric::NodeId,
    router::ChannelScheme,
    traffic::{Purpose, draw, draw_all, draw_below},
};

/// A new value of a gene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub gene: u32,
    pub old: u32,
    pub new: u32,
}

/// Where the draws of one chromosome in one generation begin.
fn stream(generation: u32) -> u64 {
    u64::from(generation) << 32
}

/// Every gene anew.
pub(super) fn initialise(
    space: &GeneSpace,
    values: &[u32],
    settings: &Settings,
    place: usize,
    generation: u32,
    changes: &mut Vec<Change>,
) {
    changes.clear();
    let (seed, node) = (settings.seed, place as NodeId);
    let uniform =
        (settings.beginning == Beginning::Uniform).then(|| Uniform::new(space, settings, place, generation));
    for (gene, (&old, &count)) in values.iter().zip(&space.counts).enumerate() {
        let index = stream(generation) + gene as u64;
        let start = uniform.as_ref().and_then(|uniform| uniform.value(space.gene(gene)));
        let mutates = || draw(seed, node, Purpose::Mutation, index) <= threshold(settings.mutation_rate);
        let new = match start {
            Some(value) if !matches!(space.gene(gene), Gene::Delay(_)) || !mutates() => value,
            _ => {
                let step = if start.is_some() { step(space.gene(gene), settings) } else { 0 };
                let (first, count) = window(start.unwrap_or(0), count, step);
                first + draw_below(seed, node, Purpose::GeneValue, index, count)
            }
        };
        if new != old {
            changes.push(Change { gene: gene as u32, old, new });
        }
    }
}

/// Values that are the same everywhere.
struct Uniform {
    scheme: u32,
    order: Vec<u8>,
}

impl Uniform {
    fn new(space: &GeneSpace, settings: &Settings, place: usize, generation: u32) -> Self {
        // The last draws of the generation; genes take the first.
        let below = |count: u32, number: u32| {
            let index = stream(generation) + u64::from(u32::MAX - number);
            draw_below(settings.seed, place as NodeId, Purpose::GeneValue, index, count)
        };
        let mut left = space.default_list.clone();
        let order =
            (1..=left.len() as u32).rev().map(|count| left.remove(below(count, count) as usize)).collect();
        Self { scheme: below(ChannelScheme::PUBLISHED.len() as u32, 0), order }
    }

    /// The value of a gene; none if it begins at random.
    fn value(&self, gene: &Gene) -> Option<u32> {
        match gene {
            Gene::Interval => None,
            Gene::Delay(_) => Some(0),
            Gene::Scheme(..) => Some(self.scheme),
            Gene::PortList(_, meeting) => Some(list_number(meeting, &self.order)),
        }
    }
}

/// Largest change of a gene in one mutation.
fn step(gene: &Gene, settings: &Settings) -> u64 {
    match gene {
        Gene::Interval | Gene::Delay(_) => settings.timing_step,
        Gene::Scheme(..) | Gene::PortList(..) => 0,
    }
}

/// A probability as a share of all draws.
fn threshold(rate: f64) -> u64 {
    (rate * crate::traffic::DRAWS) as u64
}

/// First value and number of values that are at most `step` (0: any) from a value below `count`.
fn window(value: u32, count: u32, step: u64) -> (u32, u32) {
    let step = match step {
        0 => count,
        step => u32::try_from(step).unwrap_or(u32::MAX),
    };
    let first = value.saturating_sub(step);
    let last = value.saturating_add(step).min(count - 1);
    (first, last - first + 1)
}

/// Draws how many genes in a row stay as they are, each with the same probability.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// `survival[k]` is the probability (of 2^64) of more than `k` unchanged genes.
    survival: Vec<u64>,
}

impl Gaps {
    /// Genes looked at in one draw.
    const TABLE: usize = 1024;

    /// Gaps between genes that change with probability `rate`.
    pub(super) fn new(rate: f64) -> Self {
        // A product with a power of two is exact; from here on only integers are used.
        let stay = u64::MAX - (rate * crate::traffic::DRAWS) as u64;
        let survival = (0..Self::TABLE)
            .scan(u64::MAX, |left, _| {
                *left = ((u128::from(*left) * u128::from(stay)) >> 64) as u64;
                Some(*left)
            })
            .collect();
        Self { survival }
    }

    /// One for each rate that a child may draw.
    pub(super) fn levels(settings: &Settings) -> Vec<Self> {
        (0..settings.mutation_levels)
            .map(|level| Self::new(settings.mutation_rate / (1_u64 << (2 * level)) as f64))
            .collect()
    }
}

/// Some genes get other values, one at least.
pub(super) fn mutate(
    space: &GeneSpace,
    levels: &[Gaps],
    values: &[u32],
    settings: &Settings,
    place: usize,
    generation: u32,
    changes: &mut Vec<Change>,
) {
    changes.clear();
    let (seed, node) = (settings.seed, place as NodeId);
    let level = draw_below(seed, node, Purpose::MutationRate, generation.into(), levels.len() as u32);
    let gaps = &levels[level as usize];
    let change = |gene: usize| {
        let (first, count) = window(values[gene], space.counts[gene], step(space.gene(gene), settings));
        // One of the other values.
        let index = stream(generation) + gene as u64;
        let new = first + draw_below(seed, node, Purpose::GeneValue, index, count - 1);
        let new = if new < values[gene] { new } else { new + 1 };
        Change { gene: gene as u32, old: values[gene], new }
    };
    let (mut gene, mut draws) = (0, 0);
    while gene < values.len() {
        let drawn = draw(seed, node, Purpose::Mutation, stream(generation) + draws);
        let gap = gaps.survival.partition_point(|&left| drawn < left);
        draws += 1;
        gene += gap;
        if gap < Gaps::TABLE && gene < values.len() {
            changes.push(change(gene));
            gene += 1;
        }
    }
    if changes.is_empty() {
        let index = stream(generation) + u64::from(u32::MAX);
        changes.push(change(draw_below(seed, node, Purpose::Mutation, index, values.len() as u32) as usize));
    }
}

/// The first `count` pairs of ranks (from 0) that cross over: (0,1), (0,2), (1,2), (0,3) and so on.
pub(super) fn pairs(chromosomes: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..chromosomes).flat_map(|weaker| (0..weaker).map(move |stronger| (stronger, weaker))).take(count)
}

/// Genes of the stronger chromosome that the child of a pair takes over.
pub(super) fn cross(stronger: &[u32], child: &mut [u32], rate: f64, seed: u64, pair: usize, generation: u32) {
    let (threshold, pair, first) = (threshold(rate), pair as u64, stream(generation));
    with_longest(Cross { stronger, child, threshold, seed, pair, first });
}

/// A crossover, several genes at a time.
struct Cross<'a> {
    stronger: &'a [u32],
    child: &'a mut [u32],
    threshold: u64,
    seed: u64,
    pair: u64,
    /// Where the draws begin.
    first: u64,
}

impl VectorWork for Cross<'_> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { stronger, child, threshold, seed, pair, first } = self;
        let stronger = &stronger[..child.len()];
        let (least, one) = (V::splat(threshold), V::splat(1));
        let mut places = V::load(&[0, 1, 2, 3, 4, 5, 6, 7]);
        for begin in (0..child.len()).step_by(64 * V::WORDS) {
            // Gene `begin + turn * WORDS + word` is bit `turn` of a word.
            let mut crosses = V::zero();
            for turn in 0..64 {
                let indices = Vector::plus(places, V::splat(first));
                let drawn = draw_all(seed, V::splat(pair), Purpose::Crossover, indices);
                // The borrow of the threshold less the draw: whether that is above it.
                let less = Vector::plus(Vector::plus(least, !drawn), one);
                let above = (!least & drawn) | (!(least ^ drawn) & less);
                crosses = crosses | (!above).shift_right(V::splat(63)).shift_left(V::splat(turn));
                places = Vector::plus(places, V::splat(V::WORDS as u64));
                if begin + (turn as usize + 1) * V::WORDS >= child.len() {
                    break;
                }
            }
            for (word, &bits) in words(&[crosses]).iter().enumerate() {
                let mut left = bits;
                while left != 0 {
                    let gene = begin + left.trailing_zeros() as usize * V::WORDS + word;
                    if gene < child.len() {
                        child[gene] = stronger[gene];
                    }
                    left &= left - 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_the_published_order() {
        let expected = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4)];
        assert_eq!(pairs(50, 7).collect::<Vec<_>>(), expected);
        assert_eq!(pairs(4, 100).count(), 6);
    }

    #[test]
    fn steps_stay_within_their_limits() {
        assert_eq!(window(5, 100, 2), (3, 5));
        assert_eq!(window(1, 100, 2), (0, 4));
        assert_eq!(window(99, 100, 2), (97, 3));
        assert_eq!(window(40, 100, 0), (0, 100));
        assert_eq!(window(40, 100, u64::MAX), (0, 100));
    }

    #[test]
    fn gaps_have_the_mean_of_their_rate() {
        for rate in [0.1, 0.02] {
            let gaps = Gaps::new(rate);
            let total: usize = (0..20_000)
                .map(|index| {
                    let drawn = draw(3, 0, Purpose::Mutation, index);
                    gaps.survival.partition_point(|&left| drawn < left)
                })
                .sum();
            let mean = total as f64 / 20_000.0;
            assert!((mean * rate / (1.0 - rate) - 1.0).abs() < 0.05, "{rate}: {mean}");
        }
    }

    #[test]
    fn a_crossover_takes_every_gene_by_its_draw() {
        for (genes, rate) in [(0, 0.5), (1, 1.0), (7, 0.9), (600, 0.1), (5000, 0.4), (5000, 0.0)] {
            let stronger: Vec<u32> = (0..genes).map(|gene| 2 * gene + 1).collect();
            let mut child: Vec<u32> = (0..genes).map(|gene| 2 * gene).collect();
            cross(&stronger, &mut child, rate, 5, 3, 9);
            let drawn = |gene: u32| draw(5, 3, Purpose::Crossover, stream(9) + u64::from(gene));
            let expected = (0..genes).map(|gene| 2 * gene + u32::from(drawn(gene) <= threshold(rate)));
            assert_eq!(child, expected.collect::<Vec<_>>(), "{genes} {rate}");
        }
    }

    #[test]
    fn a_crossover_takes_over_its_share() {
        let stronger = vec![1; 100_000];
        for rate in [0.0, 0.1, 0.9, 1.0] {
            let mut child = vec![0; stronger.len()];
            cross(&stronger, &mut child, rate, 5, 0, 1);
            let share = child.iter().sum::<u32>() as f64 / child.len() as f64;
            assert!((share - rate).abs() < 0.01, "{rate}: {share}");
        }
    }
}
