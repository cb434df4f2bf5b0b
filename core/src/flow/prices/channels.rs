//! Prices of channels: what no table can go below, where planes and balanced halves say too little.

use crate::fabric::{Graph, walk::Ways};
use crate::flow::cuts::consider;
use crate::flow::{loads::send, proof::CutBound};
use rayon::prelude::*;

/// Channels that may be looked at in all; a second or two.
const WORK: usize = 100_000_000;
/// Most rounds of prices.
const ROUNDS: usize = 200;
/// Rounds without a better bound after which steps become shorter.
const PATIENCE: usize = 12;
/// Prices of the proof are whole numbers up to this one.
const WHOLE: f64 = (1 << 20) as f64;
/// Rounds between looks for cuts.
const BETWEEN: usize = 8;

/// The way to a root: a channel per switch, and the switches in the order of their distances, the root first.
struct Tree {
    next: Vec<u32>,
    order: Vec<u32>,
    /// Sum of the distances of all hosts.
    sum: f64,
}

/// A bound on the fullest channel, with prices of channels where one is more than a hundredth below `load`, which is
/// that of some table.
///
/// Whatever way packets go, the loads of channels times their prices are at least the distances at these
/// prices; so the fullest channel carries at least their sum over that of the prices (the dual of the maximum
/// concurrent flow; Shahrokhi and Matula 1990). Prices rise where shortest ways crowd, so that a cut shows as
/// dear channels, and is taken instead where it says as much. Ends when the bound is `load`.
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::{bounds::bound, prices::tightened}};
/// // Two triangles that share a switch: 2 x 3 pairs go each way between a triangle and the rest.
/// let graph = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)])?;
/// assert_eq!(tightened(&graph, bound(&graph, None), 8).value, 3);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn tightened(graph: &Graph, bound: CutBound, load: u64) -> CutBound {
    if 100 * load.saturating_sub(bound.value) <= bound.value {
        return bound;
    }
    let found = priced(graph, None, load);
    if found.value > bound.value { found } else { bound }
}

/// Pairs that count, as a number from a switch to a root times one of the root.
#[derive(Clone, Copy)]
struct Weights<'a> {
    graph: &'a Graph,
    /// By `root * switches + switch`; without it every pair of hosts counts once.
    pairs: Option<&'a [u64]>,
}

impl<'a> Weights<'a> {
    fn from(self, root: u32, switch: u32) -> u64 {
        match self.pairs {
            Some(pairs) => pairs[root as usize * self.graph.switches() + switch as usize],
            None => self.graph.hosts(switch).into(),
        }
    }

    fn of(self, root: u32) -> u64 {
        if self.pairs.is_some() { 1 } else { self.graph.hosts(root).into() }
    }

    /// The channels that end at a switch, where they begin, and their prices.
    fn back<C: Copy>(self, switch: u32, prices: &'a [C]) -> impl Iterator<Item = (u32, u32, C)> + 'a {
        self.graph.outgoing(switch).iter().map(move |&leaving| {
            let channel = leaving ^ 1;
            (channel, self.graph.ends(channel).0, prices[channel as usize])
        })
    }

    fn counts(self, root: u32) -> bool {
        self.of(root) > 0 && (0..self.graph.switches() as u32).any(|switch| self.from(root, switch) > 0)
    }
}

/// The bound by prices, for pairs by `root * switches + switch of the source` or for all.
pub(crate) fn priced(graph: &Graph, pairs: Option<&[u64]>, load: u64) -> CutBound {
    let weights = Weights { graph, pairs };
    let hosted: Vec<u32> = (0..graph.switches() as u32).filter(|&switch| weights.counts(switch)).collect();
    let (channels, per_round) = (graph.channels(), hosted.len() * graph.channels());
    if channels == 0 || per_round == 0 {
        return CutBound::none();
    }
    let rounds = (WORK / per_round).min(ROUNDS);
    let mut prices = vec![1.0_f64; channels];
    let mut best = (0.0, prices.clone());
    let (mut step, mut stale) = (0.5, 0);
    let mut cut = CutBound::none();
    let parts = graph.parts();
    for round in 0..rounds {
        let trees: Vec<Tree> = hosted.par_iter().map(|&root| tree(weights, root, &prices)).collect();
        let total: f64 = prices.iter().sum();
        let value =
            hosted.iter().zip(&trees).map(|(&root, tree)| tree.sum * weights.of(root) as f64).sum::<f64>()
                / total;
        if value > best.0 * (1.0 + 1e-5) {
            stale = 0;
        } else {
            stale += 1;
        }
        if value > best.0 {
            best = (value, prices.clone());
        }
        if pairs.is_none() && round % BETWEEN == BETWEEN - 1 {
            let found = trees.iter().map(|tree| sweep(graph, &tree.order));
            let tightest = found.zip(&trees).max_by(|a, b| a.0.0.total_cmp(&b.0.0));
            if let Some(((_, near), tree)) = tightest {
                let mut side = vec![false; graph.switches()];
                tree.order[..near].iter().for_each(|&switch| side[switch as usize] = true);
                consider(graph, &mut cut, &side, "a part of the fabric", &parts);
            }
        }
        if cut.value.max(best.0 as u64) >= load {
            break;
        }
        let loads = loads(weights, &hosted, &trees);
        if stale >= PATIENCE {
            (step, stale) = (step * 0.7, 0);
        }
        for (price, load) in prices.iter_mut().zip(loads) {
            *price *= growth(step * ((load as f64 / value).min(3.0) - 1.0));
        }
        let highest = prices.iter().copied().fold(0.0, f64::max);
        prices.iter_mut().for_each(|price| *price = (*price / highest).max(1e-9));
    }
    let whole: Vec<u64> = best.1.iter().map(|price| (price * WHOLE).round() as u64).collect();
    let total: u128 = whole.iter().map(|&price| u128::from(price)).sum();
    let sum: u128 =
        hosted.par_iter().map(|&root| distances(weights, root, &whole) * u128::from(weights.of(root))).sum();
    let by_prices = CutBound {
        value: u64::try_from(sum.div_ceil(total.max(1))).unwrap_or(0),
        pairs: u64::try_from(sum).unwrap_or(u64::MAX),
        channels: u64::try_from(total).unwrap_or(u64::MAX),
        side: Vec::new(),
        prices: whole,
        proof: "the distances of all pairs at prices of channels over their sum".into(),
    };
    if cut.value >= by_prices.value { cut } else { by_prices }
}

/// The tightest cut between the first of some switches, all that ways join, and the others: pairs of hosts per channel, and how many
/// are first.
fn sweep(graph: &Graph, order: &[u32]) -> (f64, usize) {
    let mut inside = vec![false; graph.switches()];
    let (mut hosts, mut channels, mut best) = (0_u64, 0_i64, (0.0, 0));
    let all: u64 = order.iter().map(|&switch| u64::from(graph.hosts(switch))).sum();
    for (place, &switch) in order.iter().enumerate() {
        inside[switch as usize] = true;
        hosts += u64::from(graph.hosts(switch));
        for &channel in graph.outgoing(switch) {
            channels += if inside[graph.ends(channel).1 as usize] { -1 } else { 1 };
        }
        let ratio = (hosts * (all - hosts)) as f64 / channels as f64;
        if channels > 0 && ratio > best.0 {
            best = (ratio, place + 1);
        }
    }
    best
}

/// Shortest ways to a root.
fn tree<'a>(weights: Weights<'a>, root: u32, prices: &'a [f64]) -> Tree {
    let mut ways = Ways::new(weights.graph.switches());
    let (mut order, mut sum) = (Vec::with_capacity(weights.graph.switches()), 0.0);
    ways.find(
        root,
        |here| weights.back(here, prices),
        |here, far| {
            order.push(here);
            sum += far * weights.from(root, here) as f64;
            true
        },
    );
    Tree { next: ways.over, order, sum }
}

/// Pairs of hosts on every channel, if all go by their trees.
fn loads(weights: Weights<'_>, roots: &[u32], trees: &[Tree]) -> Vec<u64> {
    let graph = weights.graph;
    let mut loads = vec![0_u64; graph.channels()];
    let mut below = vec![0_u64; graph.switches()];
    for (&root, tree) in roots.iter().zip(trees) {
        let own = weights.of(root);
        below.iter_mut().zip(0..).for_each(|(below, switch)| *below = weights.from(root, switch) * own);
        send(tree.order.iter().skip(1).rev().copied(), &mut below, &mut loads, |switch, _| {
            let channel = tree.next[switch as usize];
            Some((channel, graph.ends(channel).1))
        });
    }
    loads
}

/// The distances of all hosts to a root at whole prices, added.
fn distances<'a>(weights: Weights<'a>, root: u32, prices: &'a [u64]) -> u128 {
    let mut sum = 0_u128;
    Ways::new(weights.graph.switches()).find(
        root,
        |here| weights.back(here, prices),
        |here, far| {
            sum += u128::from(far) * u128::from(weights.from(root, here));
            true
        },
    );
    sum
}

/// About e to the power of `x`, by operations that round alike everywhere (the Padé approximant of order two): positive
/// for every `x`, and rising where |x| is below three.
fn growth(x: f64) -> f64 {
    let even = 1.0 + x * x / 12.0;
    (even + x / 2.0) / (even - x / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a path cuts are all there is, and prices find the one in the middle.
    #[test]
    fn prices_find_the_cut_of_a_path() {
        let cables: Vec<(u32, u32)> = (0..7).map(|switch| (switch, switch + 1)).collect();
        let path = Graph::new(vec![1; 8], &cables).unwrap();
        let found = priced(&path, None, u64::MAX);
        assert_eq!((found.value, found.side.len()), (16, 4));
    }

    /// No cut of a five-ring says more than 6 / 2, and no table does with less than the distances ask for.
    #[test]
    fn whole_prices_prove_what_they_say() {
        let cables: Vec<(u32, u32)> = (0..5).map(|switch| (switch, (switch + 1) % 5)).collect();
        let ring = Graph::new(vec![3, 1, 2, 1, 1], &cables).unwrap();
        let found = priced(&ring, None, u64::MAX);
        let whole = found.pairs.div_ceil(found.channels);
        assert_eq!(whole, found.value);
        // Brute force over both ways of every pair of switches, loads of one sense.
        let pairs: Vec<(u32, u32)> =
            (0..5).flat_map(|a| (0..5).map(move |b| (a, b))).filter(|(a, b)| a != b).collect();
        let least = (0..1_u32 << 20)
            .map(|senses| {
                let mut loads = [0_u32; 10];
                for (index, &(from, to)) in pairs.iter().enumerate() {
                    let weight = ring.hosts(from) * ring.hosts(to);
                    let (mut here, step) = (from, if senses >> index & 1 == 1 { 1 } else { 4 });
                    while here != to {
                        loads[(here * 2 + u32::from(step == 1)) as usize] += weight;
                        here = (here + step) % 5;
                    }
                }
                loads.into_iter().max().unwrap()
            })
            .min();
        assert!(u64::from(least.unwrap()) >= found.value, "{least:?} {}", found.value);
    }
}
