//! Switches on the positions of a grid: doubtful ones are taken up and placed again by their neighbours.

use super::edges::Edges;
use crate::fabric::{Grid, walk};
use std::collections::BTreeMap;

pub(super) struct Placement<'a> {
    edges: &'a Edges,
    around: Vec<u32>,
    ports: usize,
    /// Position of every switch, [`Grid::NONE`] if it has none.
    pub(super) positions: Vec<u32>,
    occupants: Vec<u32>,
}

impl<'a> Placement<'a> {
    /// Places switches where they are said to be; of two at one position the first stays.
    pub(super) fn new(edges: &'a Edges, grid: &Grid, wanted: &[Option<u32>]) -> Self {
        let mut placement = Self {
            edges,
            around: grid.neighbours(),
            ports: 2 * grid.dimensions(),
            positions: vec![Grid::NONE; wanted.len()],
            occupants: vec![Grid::NONE; grid.positions()],
        };
        for (switch, position) in wanted.iter().enumerate() {
            if let Some(position) = *position
                && placement.occupants[position as usize] == Grid::NONE
            {
                placement.put(switch as u32, position);
            }
        }
        placement
    }

    fn put(&mut self, switch: u32, position: u32) {
        self.positions[switch as usize] = position;
        self.occupants[position as usize] = switch;
    }

    fn take(&mut self, switch: u32) {
        let position = std::mem::replace(&mut self.positions[switch as usize], Grid::NONE);
        if position != Grid::NONE {
            self.occupants[position as usize] = Grid::NONE;
        }
    }

    fn next_to(&self, position: u32) -> &[u32] {
        &self.around[position as usize * self.ports..(position as usize + 1) * self.ports]
    }

    /// Whether both ends of an edge are placed, and whether one step apart.
    fn fits(&self, a: u32, b: u32) -> Option<bool> {
        let (a, b) = (self.positions[a as usize], self.positions[b as usize]);
        (a != Grid::NONE && b != Grid::NONE).then(|| self.next_to(a).contains(&b))
    }

    /// Edges between placed switches that are not one step apart.
    pub(super) fn misfits(&self) -> Vec<(u32, u32)> {
        self.edges.ends.iter().copied().filter(|&(a, b)| self.fits(a, b) == Some(false)).collect()
    }

    /// Number of switches without a position.
    pub(super) fn unplaced(&self) -> usize {
        self.positions.iter().filter(|&&position| position == Grid::NONE).count()
    }

    /// Takes up doubtful switches and places them again until nothing gets better.
    pub(super) fn mend(&mut self) {
        let mut best = (usize::MAX, self.positions.clone());
        for _ in 0..8 {
            self.doubt();
            self.flood();
            let faults = 4 * self.unplaced() + self.misfits().len();
            if faults >= best.0 {
                break;
            }
            best = (faults, self.positions.clone());
            if faults == 0 {
                break;
            }
        }
        self.occupants.fill(Grid::NONE);
        self.positions = best.1;
        for switch in 0..self.positions.len() {
            if self.positions[switch] != Grid::NONE {
                self.occupants[self.positions[switch] as usize] = switch as u32;
            }
        }
    }

    /// Keeps the largest part whose edges agree, without switches that disagree with their neighbours.
    fn doubt(&mut self) {
        let switches = self.positions.len();
        for switch in 0..switches as u32 {
            let answers: Vec<bool> = self.edges.around[switch as usize]
                .iter()
                .filter_map(|&(other, _)| self.fits(switch, other))
                .collect();
            let agreeing = answers.iter().filter(|&&fits| fits).count();
            if agreeing <= answers.len() - agreeing {
                self.take(switch);
            }
        }
        let mut part = vec![u32::MAX; switches];
        let mut largest = (0, 0);
        for start in 0..switches {
            if part[start] != u32::MAX || self.positions[start] == Grid::NONE {
                continue;
            }
            part[start] = start as u32;
            let around = |here: u32| self.edges.around[here as usize].iter().map(|&(other, _)| other);
            let found = walk::met(start as u32, around, |here, other| {
                let new = part[other as usize] == u32::MAX && self.fits(here, other) == Some(true);
                if new {
                    part[other as usize] = start as u32;
                }
                new
            });
            if found.len() > largest.0 {
                largest = (found.len(), start as u32);
            }
        }
        for switch in (0..switches).filter(|&switch| part[switch] != largest.1) {
            self.take(switch as u32);
        }
    }

    /// Places switches one after the other, those first whose neighbours leave the least doubt.
    fn flood(&mut self) {
        let mut open: Vec<u32> = (0..self.positions.len() as u32)
            .filter(|&switch| self.positions[switch as usize] == Grid::NONE)
            .collect();
        for least in [2, 1] {
            loop {
                let mut found: Vec<Candidate> =
                    open.iter().filter_map(|&switch| self.candidate(switch)).collect();
                found.retain(|candidate| candidate.margin >= least && candidate.votes >= least);
                found.sort_by_key(|candidate| (-candidate.margin, -candidate.votes, candidate.switch));
                let Some(best) = found.first().map(|candidate| candidate.margin) else { break };
                for candidate in found {
                    let free = self.occupants[candidate.position as usize] == Grid::NONE;
                    if candidate.margin == best && free {
                        self.put(candidate.switch, candidate.position);
                    }
                }
                open.retain(|&switch| self.positions[switch as usize] == Grid::NONE);
            }
        }
    }

    /// The free position that most neighbours of a switch lie beside, and fewest others.
    fn candidate(&self, switch: u32) -> Option<Candidate> {
        let list = &self.edges.around[switch as usize];
        let mut votes: BTreeMap<u32, i32> = BTreeMap::new();
        for &(other, _) in list {
            let there = self.positions[other as usize];
            if there != Grid::NONE {
                for &beside in self.next_to(there) {
                    if beside != Grid::NONE && self.occupants[beside as usize] == Grid::NONE {
                        *votes.entry(beside).or_default() += 1;
                    }
                }
            }
        }
        let placed =
            |position: u32| position != Grid::NONE && self.occupants[position as usize] != Grid::NONE;
        let mut order: Vec<(i32, i32, u32)> = votes
            .into_iter()
            .map(|(position, votes)| {
                let beside =
                    self.next_to(position).iter().filter(|&&position| placed(position)).count() as i32;
                (3 * votes - beside, votes, position)
            })
            .collect();
        order.sort_unstable_by_key(|&(score, votes, position)| (-score, -votes, position));
        let &(score, votes, position) = order.first()?;
        let margin = order.get(1).map_or(votes, |&(second, ..)| score - second);
        Some(Candidate { margin, votes, switch, position })
    }
}

/// Where a switch may stand: by how much it is better than the next position, and how many neighbours
/// of the switch are beside it.
struct Candidate {
    margin: i32,
    votes: i32,
    switch: u32,
    position: u32,
}
