use super::Torus;
use crate::{
    fabric::{
        MAX_DIMENSIONS, NodeId, Sign,
        walk::{self, Hops},
    },
    traffic::{Purpose, draw_below},
};

/// Random changes tried per offset with a choice, in every pass of [`balanced`].
const CHANGES: u64 = 60;
/// Passes at most.
pub(super) const PASSES: u64 = 40;

/// All shortest ways to every offset, as hops along the dimensions; the one hop along a full mesh does not count.
pub(super) fn shortest_ways(torus: &Torus, neighbours: &[Vec<NodeId>], distances: &[u32]) -> Vec<Vec<Hops>> {
    let mut order: Vec<NodeId> = (0..torus.nodes() as NodeId).collect();
    order.sort_by_key(|&node| distances[node as usize]);
    walk::displacements(&order, distances, |node| {
        let links = torus.generators().iter().zip(neighbours).filter(|(link, _)| link.lane == 0);
        links.map(move |(link, after)| {
            let hop = if link.sign == Sign::Plus { 1 } else { -1 };
            let hop = if torus.is_full(link.dimension) { 0 } else { hop };
            (after[node as usize], link.dimension, hop)
        })
    })
}

/// One shortest way for each of `chunks` chunks to every offset, such that the fullest direction
/// carries as little as this finds; item `offset * chunks + chunk`.
///
/// `widths` are the parallel links per dimension; `goal` is the load per link at which to stop. Without
/// `passes` only plain descent is used, which is exact where the choices along the dimensions are
/// independent: on plain tori.
pub(super) fn balanced(
    ways: &[Vec<Hops>],
    chunks: u32,
    widths: &[u32],
    goal: u64,
    passes: u64,
    seed: u64,
) -> Vec<Hops> {
    let mut choice: Vec<u32> = vec![0; ways.len() * chunks as usize];
    let mut load = [0_i64; 2 * MAX_DIMENSIONS];
    let width = |side: usize| i64::from(widths.get(side / 2).copied().unwrap_or(1));
    let open: Vec<u32> =
        (0..choice.len() as u32).filter(|&item| ways[(item / chunks) as usize].len() > 1).collect();
    for item in 0..choice.len() {
        add(&mut load, &ways[item / chunks as usize][0], 1);
    }
    // Descent in the sum of squares, in which the fullest side counts most.
    let mut changed = true;
    while changed {
        changed = false;
        for &item in &open {
            let options = &ways[(item / chunks) as usize];
            let old = choice[item as usize] as usize;
            let gain = |&way: &usize| change(&load, &options[way], Some(&options[old]), &width);
            let best = (0..options.len()).min_by_key(gain).unwrap_or(old);
            if gain(&best) < 0 {
                add(&mut load, &options[old], -1);
                add(&mut load, &options[best], 1);
                choice[item as usize] = best as u32;
                changed = true;
            }
        }
    }
    let fullest = |load: &[i64]| {
        load.iter().enumerate().map(|(side, load)| (load + width(side) - 1) / width(side)).max()
    };
    let mut best = (fullest(&load), choice.clone());
    let mut drawn = 0;
    let mut dice = |bound: u32| {
        drawn += 1;
        draw_below(seed, 0, Purpose::Search, drawn, bound)
    };
    for pass in 0..passes {
        if open.is_empty() || best.0.is_some_and(|fullest| fullest <= goal as i64) {
            break;
        }
        let tries = CHANGES * open.len() as u64;
        for number in 0..tries {
            let item = open[dice(open.len() as u32) as usize] as usize;
            let options = &ways[item / chunks as usize];
            let other = dice(options.len() as u32) as usize;
            let (old, new) = (&options[choice[item] as usize], &options[other]);
            // Threshold accepting: small losses at first, none at the end of a pass.
            let threshold = (tries - number) as i64 * (40 << (pass % 5)) / tries as i64;
            if change(&load, new, Some(old), &width) <= threshold {
                add(&mut load, old, -1);
                add(&mut load, new, 1);
                choice[item] = other as u32;
                let now = fullest(&load);
                if now < best.0 {
                    best = (now, choice.clone());
                    if now.is_some_and(|now| now <= goal as i64) {
                        break;
                    }
                }
            }
        }
    }
    let way = |(item, &way): (usize, &u32)| ways[item / chunks as usize][way as usize];
    best.1.iter().enumerate().map(way).collect()
}

/// Twice the side of a hop count: positive hops on the even, negative on the odd one.
fn sides(hops: &Hops) -> impl Iterator<Item = (usize, i64)> + '_ {
    let side =
        |(dimension, &hops): (usize, &i16)| (2 * dimension + usize::from(hops < 0), i64::from(hops.abs()));
    hops.iter().enumerate().map(side)
}

fn add(load: &mut [i64; 2 * MAX_DIMENSIONS], hops: &Hops, sign: i64) {
    sides(hops).for_each(|(side, hops)| load[side] += sign * hops);
}

/// Change of the sum of squared loads per link, when one way takes the place of another.
fn change(
    load: &[i64; 2 * MAX_DIMENSIONS],
    new: &Hops,
    old: Option<&Hops>,
    width: &impl Fn(usize) -> i64,
) -> i64 {
    let mut difference = [0_i64; 2 * MAX_DIMENSIONS];
    add(&mut difference, new, 1);
    if let Some(old) = old {
        add(&mut difference, old, -1);
    }
    let term = |(side, &change): (usize, &i64)| change * (2 * load[side] + change) / width(side);
    difference.iter().enumerate().filter(|(_, change)| **change != 0).map(term).sum()
}
