//! The simple graph under a fabric, and its cycles of four.

use std::collections::BTreeMap;

/// More neighbours than a switch of a torus of six dimensions and a few swapped cables can have.
pub(super) const MAX_NEIGHBOURS: usize = 16;

/// Switches and pairs of neighbours; parallel cables count once.
pub(super) struct Edges {
    /// Both ends of every edge, the lower first.
    pub(super) ends: Vec<(u32, u32)>,
    /// Neighbours of every switch in ascending order, with the edges to them.
    pub(super) around: Vec<Vec<(u32, u32)>>,
}

impl Edges {
    pub(super) fn new(switches: usize, cables: &[(u32, u32)]) -> Self {
        let mut ends: Vec<(u32, u32)> =
            cables.iter().filter(|(a, b)| a != b).map(|&(a, b)| (a.min(b), a.max(b))).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut around = vec![Vec::new(); switches];
        for (edge, &(a, b)) in ends.iter().enumerate() {
            around[a as usize].push((b, edge as u32));
            around[b as usize].push((a, edge as u32));
        }
        around.iter_mut().for_each(|list| list.sort_unstable());
        Self { ends, around }
    }

    /// The edge between two switches.
    pub(super) fn between(&self, a: u32, b: u32) -> Option<u32> {
        let list = &self.around[a as usize];
        list.binary_search_by_key(&b, |&(other, _)| other).ok().map(|place| list[place].1)
    }

    /// All cycles of four switches, each once, as its corners in order.
    pub(super) fn squares(&self) -> Vec<[u32; 4]> {
        let mut squares = Vec::new();
        for lowest in 0..self.around.len() as u32 {
            let mut between: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for &(side, _) in self.around[lowest as usize].iter().filter(|&&(side, _)| side > lowest) {
                for &(far, _) in self.around[side as usize].iter().filter(|&&(far, _)| far > lowest) {
                    between.entry(far).or_default().push(side);
                }
            }
            for (far, sides) in between {
                for (place, &p) in sides.iter().enumerate() {
                    squares.extend(sides[place + 1..].iter().map(|&q| [lowest, p, far, q]));
                }
            }
        }
        squares
    }
}
