//! What a fabric of switches and cables without coordinates is: a torus or mesh, where every switch
//! stands in it, what is missing and what is plugged wrong.
//!
//! Opposite sides of cycles of four cables are parallel, and cables that meet without being sides of such
//! a cycle go straight on; this sorts cables into dimensions. Ways around that close give the sizes.
//! Everything is then verified cable by cable, and switches that disagree with their neighbours are placed
//! again by them.

mod axes;
mod classes;
mod edges;
mod place;

use super::Grid;
use edges::{Edges, MAX_NEIGHBOURS};
use place::Placement;
use std::collections::{BTreeMap, BTreeSet};

/// A fabric recognised as a torus, a mesh or a twisted torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognition {
    /// The positions there are.
    pub grid: Grid,
    /// Position of every switch.
    pub positions: Vec<u32>,
    /// Positions without a switch.
    pub missing_switches: Vec<u32>,
    /// Pairs of neighbouring switches without a cable, other than those swapped cables leave behind.
    pub missing_cables: Vec<(u32, u32)>,
    /// Cables that join switches which are no neighbours.
    pub misfits: Vec<(u32, u32)>,
    /// Pairs of misfits that exchanged an end: the two cables as they are and as they should be.
    pub swaps: Vec<[(u32, u32); 4]>,
}

/// Finds the torus or mesh a fabric is, `None` if it is none or nobody can be sure.
///
/// The same fabric gets the same coordinates whatever order its cables are listed in; where several are
/// equally good the order of the switches decides. A ring of four is the same graph as a mesh of two by
/// two, and the fewest dimensions are reported, unless `sizes` say otherwise.
///
/// ```
/// use flitloom_core::fabric::recognise;
/// // A torus of 3x5 switches whose cable between the switches 0 and 1 is missing.
/// let cables: Vec<(u32, u32)> = (0..15)
///     .flat_map(|n| [(n, n - n % 3 + (n + 1) % 3), (n, (n + 3) % 15)])
///     .filter(|&cable| cable != (0, 1))
///     .collect();
/// let found = recognise(15, &cables, None).unwrap();
/// assert_eq!(found.grid.sizes(), [3, 5]);
/// assert_eq!(found.missing_cables, [(0, 1)]);
/// ```
pub fn recognise(switches: usize, cables: &[(u32, u32)], sizes: Option<&[u32]>) -> Option<Recognition> {
    let edges = Edges::new(switches, cables);
    if switches < 2 || edges.around.iter().any(|list| list.len() > MAX_NEIGHBOURS) {
        return None;
    }
    let mut best = attempt(&edges, &edges, sizes);
    if best.as_ref().is_none_or(|found| !found.misfits.is_empty()) {
        for left_out in doubtful(&edges) {
            let firm: Vec<(u32, u32)> = edges
                .ends
                .iter()
                .enumerate()
                .filter(|(edge, _)| !left_out.contains(edge))
                .map(|(_, &ends)| ends)
                .collect();
            let found = attempt(&edges, &Edges::new(switches, &firm), sizes);
            // Every misfit needs an explanation: two of them that exchanged an end are one accident.
            let faults = |found: &Recognition| {
                (
                    found.misfits.len() - found.swaps.len(),
                    found.missing_switches.len() + found.missing_cables.len(),
                )
            };
            best = [best, found].into_iter().flatten().min_by_key(faults);
        }
    }
    best
}

/// Sets of edges to recognise a fabric without: a cable plugged wrong shifts what hangs on it, and stands
/// in more or fewer squares than the others.
fn doubtful(edges: &Edges) -> Vec<Vec<usize>> {
    let squares = edges.squares();
    let support = classes::support(edges, &squares);
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    support.iter().for_each(|&count| *counts.entry(count).or_default() += 1);
    let usual = counts.iter().max_by_key(|&(_, &count)| count).map_or(0, |(&support, _)| support);
    let weak = (0..support.len()).filter(|&edge| 2 * support[edge] < usual).collect();
    let mut odd: Vec<usize> = (0..support.len()).filter(|&edge| support[edge] != usual).collect();
    odd.sort_by_key(|&edge| (std::cmp::Reverse(support[edge].abs_diff(usual)), edge));
    // Small fabrics are quickly tried, and in them the accidents weigh most.
    odd.truncate(20_000 / edges.around.len().max(200));
    let pairs = if edges.around.len() > 100 { 0 } else { odd.len().min(20) };
    let mut sets = vec![weak];
    sets.extend(odd.iter().map(|&edge| vec![edge]));
    for one in 0..pairs {
        sets.extend(odd[one + 1..pairs].iter().map(|&other| vec![odd[one], other]));
    }
    sets
}

/// Recognises the fabric from the cables of `firm` and verifies it with all of `edges`.
fn attempt(edges: &Edges, firm: &Edges, sizes: Option<&[u32]>) -> Option<Recognition> {
    let switches = edges.around.len();
    let squares = firm.squares();
    let support = classes::support(firm, &squares);
    let classes = classes::classes(firm, &squares, &support);
    let (grid, wanted) = axes::axes(firm, &classes, &support, sizes)?;
    let mut placement = Placement::new(edges, &grid, &wanted);
    placement.mend();
    if placement.unplaced() > 0 {
        return None;
    }
    let misfits = placement.misfits();
    let (grid, positions) = axes::natural(&grid, &placement.positions, sizes.is_some())?;
    let found = compare(edges, grid, positions, misfits);
    let (lost, cables) = (found.missing_switches.len(), edges.ends.len());
    let plausible = found.misfits.len() <= 2.max(cables / 16)
        && 4 * lost <= switches.max(4)
        && 4 * found.missing_cables.len() <= cables.max(4);
    plausible.then_some(found)
}

/// What the grid has and the fabric has not.
fn compare(edges: &Edges, grid: Grid, positions: Vec<u32>, misfits: Vec<(u32, u32)>) -> Recognition {
    let mut occupants = vec![Grid::NONE; grid.positions()];
    positions.iter().enumerate().for_each(|(switch, &position)| occupants[position as usize] = switch as u32);
    let missing_switches =
        (0..occupants.len() as u32).filter(|&position| occupants[position as usize] == Grid::NONE).collect();
    let around = grid.neighbours();
    let ports = 2 * grid.dimensions();
    let mut missing: BTreeSet<(u32, u32)> = BTreeSet::new();
    for (place, &beside) in around.iter().enumerate() {
        let here = occupants[place / ports];
        let there = if beside == Grid::NONE { Grid::NONE } else { occupants[beside as usize] };
        if here < there && there != Grid::NONE && edges.between(here, there).is_none() {
            missing.insert((here, there));
        }
    }
    let mut swaps = Vec::new();
    let mut used = vec![false; misfits.len()];
    for (first, &(a, b)) in misfits.iter().enumerate() {
        for (second, &(c, d)) in misfits.iter().enumerate().skip(first + 1) {
            for [one, other] in [[(a, c), (b, d)], [(a, d), (b, c)]] {
                let sorted = |(p, q): (u32, u32)| (p.min(q), p.max(q));
                let (one, other) = (sorted(one), sorted(other));
                if !used[first] && !used[second] && missing.contains(&one) && missing.contains(&other) {
                    missing.remove(&one);
                    missing.remove(&other);
                    (used[first], used[second]) = (true, true);
                    swaps.push([(a, b), (c, d), one, other]);
                }
            }
        }
    }
    let missing_cables = missing.into_iter().collect();
    Recognition { grid, positions, missing_switches, missing_cables, misfits, swaps }
}
