//! Tori and meshes without coordinates are found again: relabelled, shuffled, with parts missing and
//! cables swapped.

use crate::common::sampled;
use flitloom_core::fabric::{Direction, NodeId, Recognition, Shape, recognise};

/// Numbers that look random, from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for place in (1..list.len()).rev() {
            list.swap(place, self.below(place + 1));
        }
    }
}

/// A fabric as it lies in the machine room: nobody knows the coordinates.
struct Hidden {
    switches: usize,
    cables: Vec<(u32, u32)>,
    /// Where the switches really stand.
    truth: Vec<NodeId>,
    shape: Shape,
    missing_cables: usize,
}

fn hide(shape: Shape, percent: usize, switches: usize, swaps: usize, seed: u64) -> Hidden {
    let mut draw = Draw(seed);
    let nodes = shape.nodes();
    let mut order: Vec<NodeId> = (0..nodes as NodeId).collect();
    draw.shuffle(&mut order);
    let truth = order.split_off(switches);
    let mut label = vec![u32::MAX; nodes];
    truth.iter().enumerate().for_each(|(switch, &node)| label[node as usize] = switch as u32);
    let mut cables = Vec::new();
    for node in 0..nodes as NodeId {
        for dimension in 0..shape.dimensions() {
            let plus = Direction::from_index(2 * dimension);
            let other = shape.neighbour(node, plus);
            if let Some(other) = other
                && label[node as usize] != u32::MAX
                && label[other as usize] != u32::MAX
            {
                cables.push((label[node as usize], label[other as usize]));
            }
        }
    }
    draw.shuffle(&mut cables);
    let missing_cables = cables.len() * percent / 100;
    cables.truncate(cables.len() - missing_cables);
    for _ in 0..swaps {
        // Two cables without a common or neighbouring switch exchange an end.
        loop {
            let (one, other) = (draw.below(cables.len()), draw.below(cables.len()));
            let ((a, b), (c, d)) = (cables[one], cables[other]);
            let far = |p: u32, q: u32| shape.distance(truth[p as usize], truth[q as usize]) > 1;
            if one != other && far(a, c) && far(a, d) && far(b, c) && far(b, d) {
                (cables[one], cables[other]) = ((a, d), (c, b));
                break;
            }
        }
    }
    draw.shuffle(&mut cables);
    Hidden { switches: truth.len(), cables, truth, shape, missing_cables }
}

/// Sizes with every ring of four as two of two, since nobody can tell them apart.
fn normal(sizes: &[u32], wraps: impl Fn(usize) -> bool) -> Vec<(u32, bool)> {
    let mut list: Vec<(u32, bool)> = sizes
        .iter()
        .enumerate()
        .flat_map(|(dimension, &size)| match (size, wraps(dimension)) {
            (4, true) => vec![(2, false); 2],
            other => vec![other],
        })
        .collect();
    list.sort_unstable();
    list
}

fn is_right(hidden: &Hidden, found: &Recognition, swaps: usize) -> bool {
    let lost = hidden.shape.nodes() - hidden.switches;
    let shape = &hidden.shape;
    normal(found.grid.sizes(), |dimension| found.grid.wraps(dimension))
        == normal(shape.sizes(), |dimension| shape.wraps(dimension))
        && found.missing_switches.len() == lost
        && found.misfits.len() == 2 * swaps
        && found.swaps.len() == swaps
        && found.missing_cables.len() == hidden.missing_cables
        // Neighbours are neighbours: the distance of any two switches is the true one.
        && (0..hidden.switches.min(40)).all(|a| {
            (0..hidden.switches).step_by(7).all(|b| {
                shape.distance(hidden.truth[a], hidden.truth[b]) == distance(found, a, b)
            })
        })
}

fn distance(found: &Recognition, a: usize, b: usize) -> u32 {
    let (p, q) = (found.grid.coordinates(found.positions[a]), found.grid.coordinates(found.positions[b]));
    (0..p.len())
        .map(|dimension| {
            let direct = p[dimension].abs_diff(q[dimension]);
            let size = found.grid.sizes()[dimension];
            if found.grid.wraps(dimension) { direct.min(size - direct) } else { direct }
        })
        .sum()
}

/// Fabrics on which every trial succeeds: percent of cables missing, switches missing, swapped pairs.
fn all_right(shape: Shape, trials: &[(usize, usize, usize)], seeds: u64) {
    for &(percent, switches, swaps) in trials {
        for seed in 0..seeds {
            let hidden = hide(shape.clone(), percent, switches, swaps, seed);
            let found = recognise(hidden.switches, &hidden.cables, None);
            let found = found
                .unwrap_or_else(|| panic!("{shape:?} {percent} {switches} {swaps}: unsure, seed {seed}"));
            assert!(
                is_right(&hidden, &found, swaps),
                "{shape:?} {percent} {switches} {swaps} seed {seed}: {found:?}"
            );
        }
    }
}

#[test]
fn tori_with_failures_and_swapped_cables_are_recognised() {
    let trials = [(0, 0, 0), (1, 1, 0), (5, 2, 0), (0, 0, 1), (2, 1, 1)];
    for sizes in sampled([&[6, 6, 4][..], &[5, 5, 5], &[16, 16], &[8, 8, 2], &[4, 4, 4, 4], &[8, 8]], 2) {
        all_right(Shape::torus(sizes).unwrap(), &trials, 4);
    }
    all_right(Shape::torus(&[8, 8, 8]).unwrap(), &trials, 1);
    all_right(Shape::torus(&[3, 3, 3]).unwrap(), &trials[..3], 4);
    all_right(Shape::torus(&[40, 40]).unwrap(), &trials[..2], 1);
    // Ways close around the short dimension in many more places than around the long one.
    all_right(Shape::torus(&[8, 16, 32]).unwrap(), &[(0, 3, 0)], 6);
}

#[test]
fn meshes_with_failures_are_recognised() {
    all_right(Shape::mesh(&[16, 16]).unwrap(), &[(0, 0, 0), (2, 1, 0), (0, 0, 1)], 4);
    all_right(Shape::mesh(&[5, 6, 7]).unwrap(), &[(0, 0, 0), (5, 2, 0), (0, 0, 1)], 4);
    all_right(Shape::new(&[6, 5, 4], &[true, false, false]).unwrap(), &[(0, 0, 0), (3, 1, 0)], 4);
    for sizes in [&[9][..], &[3, 3], &[2]] {
        all_right(Shape::mesh(sizes).unwrap(), &[(0, 0, 0)], 2);
    }
}

#[test]
fn twisted_tori_are_recognised() {
    let place = |x: u32, y: u32, z: u32| x + 4 * y + 16 * z;
    let mut cables = Vec::new();
    for (x, y, z) in (0..128).map(|n| (n % 4, n / 4 % 4, n / 16)) {
        let over = |edge: bool| if edge { (z + 4) % 8 } else { z };
        cables.push((place(x, y, z), place((x + 1) % 4, y, over(x == 3))));
        cables.push((place(x, y, z), place(x, (y + 1) % 4, over(y == 3))));
        cables.push((place(x, y, z), place(x, y, (z + 1) % 8)));
    }
    for gone in [0, 4] {
        cables.truncate(cables.len() - gone);
        let found = recognise(128, &cables, None).unwrap();
        assert!(!found.grid.lattice().is_plain());
        assert_eq!((found.grid.positions(), found.missing_cables.len()), (128, gone));
    }
}

#[test]
fn what_is_no_torus_is_not_taken_for_one() {
    let star: Vec<(u32, u32)> = (1..9).map(|leaf| (0, leaf)).collect();
    assert_eq!(recognise(9, &star, None), None);
    let complete: Vec<(u32, u32)> = (0..9).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
    assert_eq!(recognise(9, &complete, None), None);
    for seed in 0..20 {
        // Six neighbours for each of 60 switches, drawn at random.
        let mut draw = Draw(seed);
        let mut ends: Vec<u32> = (0..360).map(|end| end % 60).collect();
        draw.shuffle(&mut ends);
        let cables: Vec<(u32, u32)> = ends.chunks(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(recognise(60, &cables, None), None, "seed {seed}");
    }
}

#[test]
fn the_order_of_the_cables_does_not_matter_and_sizes_may_be_told() {
    let hidden = hide(Shape::torus(&[4, 2, 2]).unwrap(), 0, 0, 0, 7);
    let mut cables = hidden.cables.clone();
    let found = recognise(16, &cables, None).unwrap();
    assert_eq!(found.grid.sizes(), [4, 4]);
    cables.reverse();
    cables.iter_mut().for_each(|(a, b)| std::mem::swap(a, b));
    assert_eq!(recognise(16, &cables, None), Some(found));
    let told = recognise(16, &cables, Some(&[4, 2, 2])).unwrap();
    assert_eq!(told.grid.sizes(), [4, 2, 2]);
    assert_eq!(recognise(16, &cables, Some(&[8, 2])), None);
}
