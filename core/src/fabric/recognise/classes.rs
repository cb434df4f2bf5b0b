//! Which edges run along the same dimension, and which way.

use super::edges::{Edges, Square};
use std::collections::{BTreeMap, HashSet};

/// Sets of edges that are known to run along one dimension; each edge with the sense of its set.
pub(super) struct Classes {
    parent: Vec<u32>,
    /// Whether an edge runs (from its lower to its higher end) against its parent.
    against: Vec<bool>,
    members: Vec<Vec<u32>>,
}

impl Classes {
    fn new(edges: usize) -> Self {
        let parent: Vec<u32> = (0..edges as u32).collect();
        let members = parent.iter().map(|&edge| vec![edge]).collect();
        Self { parent, against: vec![false; edges], members }
    }

    /// The set of an edge and whether the edge runs against it.
    pub(super) fn find(&self, edge: u32) -> (u32, bool) {
        (self.parent[edge as usize], self.against[edge as usize])
    }

    /// Joins two sets; `against` says whether the second runs against the first.
    fn join(&mut self, mut first: u32, mut second: u32, against: bool) {
        if self.members[first as usize].len() < self.members[second as usize].len() {
            std::mem::swap(&mut first, &mut second);
        }
        let moved = std::mem::take(&mut self.members[second as usize]);
        for &edge in &moved {
            self.parent[edge as usize] = first;
            self.against[edge as usize] ^= against;
        }
        self.members[first as usize].extend(moved);
    }

    /// Whether edges of two sets meet at a switch.
    fn meet(&self, edges: &Edges, first: u32, second: u32) -> bool {
        let (one, other) = (&self.members[first as usize], &self.members[second as usize]);
        let (few, of) = if one.len() <= other.len() { (one, second) } else { (other, first) };
        few.iter().any(|&edge| {
            let (a, b) = edges.ends[edge as usize];
            let mut beside = [a, b].into_iter().flat_map(|end| &edges.around[end as usize]);
            beside.any(|&(_, near)| self.parent[near as usize] == of)
        })
    }

    /// The sets with at least `least` edges, the largest first.
    pub(super) fn large(&self, least: usize) -> Vec<u32> {
        let mut roots: Vec<u32> = (0..self.parent.len() as u32)
            .filter(|&edge| self.members[edge as usize].len() >= least)
            .collect();
        roots.sort_by_key(|&root| std::cmp::Reverse(self.members[root as usize].len()));
        roots
    }
}

/// Number of squares through every edge.
pub(super) fn support(edges: &Edges, squares: &[Square]) -> Vec<u32> {
    let mut support = vec![0; edges.ends.len()];
    for edge in squares.iter().flat_map(|square| square.sides) {
        support[edge as usize] += 1;
    }
    support
}

/// Edges sorted by dimension: opposite sides of squares are parallel, and two edges that meet without
/// being sides of a square go straight on.
pub(super) fn classes(edges: &Edges, squares: &[Square], support: &[u32]) -> Classes {
    let mut classes = parallel(edges, squares, support);
    let corners = corners(edges, squares);
    let meetings = straight_meetings(edges, &corners);
    while straight_round(edges, &corners, &meetings, &mut classes) {}
    classes
}

fn parallel(edges: &Edges, squares: &[Square], support: &[u32]) -> Classes {
    let mut classes = Classes::new(edges.ends.len());
    let weakest = |square: &Square| square.sides.map(|edge| support[edge as usize]).into_iter().min();
    let mut order: Vec<&Square> = squares.iter().collect();
    order.sort_by_cached_key(|square| std::cmp::Reverse(weakest(square)));
    for Square { corners, sides } in order {
        for place in 0..2 {
            let (first, first_against) = classes.find(sides[place]);
            let (second, second_against) = classes.find(sides[place + 2]);
            if first == second || classes.meet(edges, first, second) {
                continue;
            }
            // Around the square the two sides run in opposite senses.
            let up = corners[place] < corners[place + 1];
            let other_up = corners[place + 2] < corners[(place + 3) % 4];
            classes.join(first, second, first_against ^ second_against ^ (up == other_up));
        }
    }
    classes
}

/// Per switch and place of an edge, the places of the edges it forms a corner of a square with.
fn corners(edges: &Edges, squares: &[Square]) -> Vec<Vec<u32>> {
    let mut corners: Vec<Vec<u32>> = edges.around.iter().map(|list| vec![0; list.len()]).collect();
    for square in squares {
        for place in 0..4 {
            let here = square.corners[place] as usize;
            let find = |edge: u32| edges.around[here].iter().position(|&(_, there)| there == edge);
            if let (Some(one), Some(other)) = (find(square.sides[(place + 3) % 4]), find(square.sides[place]))
            {
                corners[here][one] |= 1 << other;
                corners[here][other] |= 1 << one;
            }
        }
    }
    corners
}

/// Pairs of edges that must go straight on at a switch: those of the only perfect matching among the
/// edges that form no corner.
fn straight_meetings(edges: &Edges, corners: &[Vec<u32>]) -> Vec<(u32, u32, u32)> {
    let mut meetings = Vec::new();
    for (switch, list) in edges.around.iter().enumerate() {
        let all = (1_u32 << list.len()) - 1;
        let mut partners: Vec<u32> =
            (0..list.len()).map(|place| all & !corners[switch][place] & !(1 << place)).collect();
        let mut left = all;
        while left != 0 {
            let component = component(&partners, left.trailing_zeros());
            left &= !component;
            let mut matched = Vec::new();
            let mut open = component;
            while let Some(leaf) =
                (0..list.len()).find(|&place| open & 1 << place != 0 && partners[place].count_ones() == 1)
            {
                let partner = partners[leaf].trailing_zeros();
                let gone = 1 << leaf | 1 << partner;
                open &= !gone;
                partners.iter_mut().for_each(|mask| *mask &= !gone);
                matched.push((switch as u32, list[leaf].1, list[partner as usize].1));
            }
            if open == 0 {
                meetings.extend(matched);
            }
        }
    }
    meetings
}

fn component(partners: &[u32], start: u32) -> u32 {
    let mut reached = 1 << start;
    loop {
        let more = (0..partners.len())
            .filter(|&place| reached & 1 << place != 0)
            .fold(reached, |all, place| all | partners[place]);
        if more == reached {
            return reached;
        }
        reached = more;
    }
}

#[derive(Default)]
struct Votes {
    along: u32,
    against: u32,
    refused: u32,
}

/// Joins the sets that most meetings say are one, each set once; whether any were joined.
fn straight_round(
    edges: &Edges,
    corners: &[Vec<u32>],
    meetings: &[(u32, u32, u32)],
    classes: &mut Classes,
) -> bool {
    let mut votes: BTreeMap<(u32, u32), Votes> = BTreeMap::new();
    let leaves = |switch: u32, edge: u32, against: bool| (edges.ends[edge as usize].0 == switch) ^ against;
    for &(switch, one, other) in meetings {
        let ((a, a_against), (b, b_against)) = (classes.find(one), classes.find(other));
        if a != b {
            let entry = votes.entry((a.min(b), a.max(b))).or_default();
            // Going straight on means that one edge arrives and the other leaves.
            if leaves(switch, one, a_against) == leaves(switch, other, b_against) {
                entry.against += 1;
            } else {
                entry.along += 1;
            }
        }
    }
    for (switch, list) in edges.around.iter().enumerate() {
        let found: Vec<u32> = list.iter().map(|&(_, edge)| classes.find(edge).0).collect();
        for (one, &a) in found.iter().enumerate() {
            for (other, &b) in found.iter().enumerate().skip(one + 1) {
                if a == b {
                    continue;
                }
                let crowded = found.iter().filter(|&&class| class == a || class == b).count() > 2;
                if (crowded || corners[switch][one] & 1 << other != 0)
                    && let Some(entry) = votes.get_mut(&(a.min(b), a.max(b)))
                {
                    entry.refused += 1;
                }
            }
        }
    }
    let mut order: Vec<(i64, (u32, u32), bool)> = votes
        .into_iter()
        .map(|(pair, votes)| {
            let (more, less) = (votes.along.max(votes.against), votes.along.min(votes.against));
            let score = i64::from(more) - 2 * i64::from(less) - 2 * i64::from(votes.refused);
            (score, pair, votes.against > votes.along)
        })
        .filter(|entry| entry.0 > 0)
        .collect();
    order.sort_by_key(|&(score, pair, _)| (-score, pair));
    // What many meetings say comes first: later rounds refuse what few of them say against it.
    let best = order.first().map_or(0, |entry| entry.0);
    let mut used = HashSet::new();
    for &(_, (a, b), against) in order.iter().take_while(|entry| 2 * entry.0 >= best) {
        if used.insert(a) {
            if used.insert(b) {
                classes.join(a, b, against);
            } else {
                used.remove(&a);
            }
        }
    }
    !order.is_empty()
}
