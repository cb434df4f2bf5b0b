//! Placements whose node's bits are sums, modulo two, of the rank's bits: Gray codes, folds, mirrored digits, codes.

use super::{
    Score,
    dice::Dice,
    loads::Scorer,
    problem::{Finalists, Problem, Watch},
};
use crate::fabric::NodeId;

/// Changes without a gain, per bit, after which a climb begins anew.
const PATIENCE: u32 = 60;

/// Whether every node of a network whose sides are powers of two has one rank.
fn applies(problem: &Problem) -> bool {
    let shape = problem.ways.shape();
    let full = problem.slots.iter().enumerate().all(|(place, node)| place == *node as usize);
    full && problem.slots.len() == shape.nodes()
        && problem.demand.ranks() == shape.nodes()
        && shape.sizes().iter().all(|size| size.is_power_of_two())
}

/// Climbs from invertible matrices drawn at random, until `effort` channels were touched or the bound is met. What it
/// spent.
pub(super) fn search(
    problem: &Problem,
    dice: &mut Dice,
    effort: u64,
    bound: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    if !applies(problem) || problem.slots.len() < 2 {
        return 0;
    }
    let bits = problem.slots.len().trailing_zeros() as usize;
    let mut scorer = Scorer::new(problem.ways, problem.demand, effort);
    let mut nodes = vec![0; problem.slots.len()];
    let mut score = |images: &[NodeId], most: Option<&Score>, finalists: &mut Finalists| {
        for rank in 1..nodes.len() {
            // The image of a sum is the sum of the images.
            nodes[rank] = nodes[rank & (rank - 1)] ^ images[rank.trailing_zeros() as usize];
        }
        let limit = most.filter(|_| !problem.by_hops).map_or(u64::MAX, |most| most.fullest);
        let found = scorer.score(&nodes, limit);
        scorer.spend(nodes.len() as u64);
        if let Some(found) = found.filter(|found| problem.key(found) < problem.key(&finalists.best[0].0)) {
            finalists.offer(problem, found, &nodes);
        }
        (found, scorer.touched)
    };
    let mut spent = 0;
    while spent < effort && !problem.is_met(&finalists.best[0].0, bound) && !watch.stopped() {
        let mut images: Vec<NodeId> = (0..bits).map(|bit| 1 << bit).collect();
        dice.shuffle(&mut images);
        for _ in 0..2 * bits {
            change(&mut images, dice);
        }
        let (mut best, mut stale) = (None, 0);
        while stale < PATIENCE * bits as u32 && spent < effort && !watch.stopped() {
            let mut next = images.clone();
            for _ in 0..=dice.below(2) {
                change(&mut next, dice);
            }
            let found;
            (found, spent) = score(&next, best.as_ref(), finalists);
            stale += 1;
            let Some(found) = found else { continue };
            let gain = best.as_ref().map(|best| problem.key(&found).cmp(&problem.key(best)));
            if gain.is_none_or(|gain| gain.is_le()) {
                if gain.is_none_or(|gain| gain.is_lt()) {
                    stale = 0;
                }
                (images, best) = (next, Some(found));
            }
        }
    }
    spent
}

/// Exchanges or adds two columns, or adds two rows, of a matrix whose columns are `images`: it stays invertible.
fn change(images: &mut [NodeId], dice: &mut Dice) {
    let (a, b) = (dice.below(images.len()), dice.below(images.len()));
    if a == b {
        return;
    }
    match dice.below(3) {
        0 => images.swap(a, b),
        1 => images[a] ^= images[b],
        _ => images.iter_mut().for_each(|image| *image ^= (*image >> b & 1) << a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Shape,
        placement::{Demand, Ways},
    };

    #[test]
    fn a_binomial_tree_lies_on_cables() {
        // A ring of four is a square of two bits, so the tree of a 4x4x4 torus is a part of a cube of six.
        let ways = Ways::new(Shape::torus(&[4, 4, 4]).unwrap());
        let rows: Vec<_> = (1..64u32).flat_map(|r| [(r, r & (r - 1), 1), (r & (r - 1), r, 1)]).collect();
        let demand = Demand::new(64, &rows).unwrap();
        let slots: Vec<u32> = (0..64).collect();
        let problem = Problem { ways: &ways, demand: &demand, slots: &slots, axes: vec![64], by_hops: false };
        let worst = Score { fullest: u64::MAX, count: 0, hops: u64::MAX };
        let mut finalists = Finalists { best: vec![(worst, slots.clone())], now: 0.0, gained: 0.0 };
        let mut watch = Watch::new(&|_| false);
        search(&problem, &mut Dice::new(1), 50_000_000, 1, &mut watch, &mut finalists);
        let (score, nodes) = &finalists.best[0];
        assert_eq!((score.fullest, score.hops), (1, 126));
        let mut sorted = nodes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, slots);
        let shape = ways.shape();
        assert!(rows.iter().all(|row| shape.distance(nodes[row.0 as usize], nodes[row.1 as usize]) == 1));
    }
}
