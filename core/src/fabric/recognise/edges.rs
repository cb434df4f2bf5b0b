//! The simple graph under a fabric, and its cycles of four.

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

    /// All cycles of four switches, each once.
    pub(super) fn squares(&self) -> Vec<Square> {
        let (mut squares, mut ways) = (Vec::new(), Vec::new());
        for lowest in 0..self.around.len() as u32 {
            // Ways of two edges by where they end, each with the switch between.
            ways.clear();
            for &(side, near) in self.around[lowest as usize].iter().filter(|&&(side, _)| side > lowest) {
                let beyond = self.around[side as usize].iter().filter(|&&(far, _)| far > lowest);
                ways.extend(beyond.map(|&(far, beyond)| (far, side, near, beyond)));
            }
            ways.sort_unstable();
            for together in ways.chunk_by(|one, other| one.0 == other.0) {
                for (place, &(far, p, near_p, beyond_p)) in together.iter().enumerate() {
                    squares.extend(together[place + 1..].iter().map(|&(_, q, near_q, beyond_q)| Square {
                        corners: [lowest, p, far, q],
                        sides: [near_p, beyond_p, beyond_q, near_q],
                    }));
                }
            }
        }
        squares
    }
}

/// A cycle of four switches: its corners in order, and the edge from every one to the next.
pub(super) struct Square {
    pub(super) corners: [u32; 4],
    pub(super) sides: [u32; 4],
}
