//! Boxes of free nodes for jobs that share a torus or mesh, and streams of such jobs.

use crate::fabric::{NodeId, Shape};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

/// Nodes along the first dimension at most: as many bits as a row has.
pub const MAX_ROW: u32 = 128;

/// Which of several free boxes a job gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The first free corner, by node number.
    First,
    /// The corner with most sides that touch taken nodes, or the rim of a mesh, all over; the first one of these.
    Contact,
}

/// Which nodes of a torus or mesh are taken, one bit per node.
///
/// ```
/// use flitloom_core::{fabric::Shape, placement::{Fit, Floor}};
/// let mut floor = Floor::new(Shape::torus(&[4, 4])?).unwrap();
/// let corner = floor.find(&[4, 2], Fit::First).unwrap();
/// floor.take(corner, &[4, 2]);
/// assert_eq!((corner, floor.free()), (0, 8));
/// assert_eq!(floor.find(&[4, 2], Fit::First), Some(8));
/// assert_eq!(floor.find(&[1, 4], Fit::First), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Floor {
    shape: Shape,
    /// Free nodes, a row along the first dimension each.
    rows: Vec<u128>,
    /// Bits that a row has.
    all: u128,
}

impl Floor {
    /// A floor without jobs; none if rows are too long or the torus is twisted.
    pub fn new(shape: Shape) -> Option<Self> {
        if shape.size(0) > MAX_ROW || shape.is_twisted() {
            return None;
        }
        let all = u128::MAX >> (MAX_ROW - shape.size(0));
        let rows = vec![all; shape.nodes() / shape.size(0) as usize];
        Some(Self { shape, rows, all })
    }

    /// Nodes that nobody has.
    pub fn free(&self) -> usize {
        self.rows.iter().map(|row| row.count_ones() as usize).sum()
    }

    /// Takes a node for good, e.g. one that failed.
    pub fn close(&mut self, node: NodeId) {
        let size = self.shape.size(0);
        self.rows[(node / size) as usize] &= !(1 << (node % size));
    }

    /// The corner of a free box with these sides.
    pub fn find(&self, sides: &[u32], fit: Fit) -> Option<NodeId> {
        if sides.iter().zip(self.shape.sizes()).any(|(side, size)| side > size) {
            return None;
        }
        let mut corners = boxes(&self.shape, self.all, &self.rows, sides);
        if fit == Fit::Contact && corners.iter().any(|row| *row != 0) {
            self.keep_touching(&mut corners, sides);
        }
        let row = corners.iter().position(|row| *row != 0)?;
        Some(row as NodeId * self.shape.size(0) + corners[row].trailing_zeros())
    }

    /// Leaves the corners with most sides in full contact.
    fn keep_touching(&self, corners: &mut [u128], sides: &[u32]) {
        let taken: Vec<u128> = self.rows.iter().map(|row| !row & self.all).collect();
        // Numbers of sides in contact as bit planes, units first.
        let mut planes = vec![vec![0u128; corners.len()]; 4];
        for dimension in 0..sides.len() {
            let size = self.shape.size(dimension);
            if sides[dimension] == size {
                continue;
            }
            let mut slab = sides.to_vec();
            slab[dimension] = 1;
            let full = boxes(&self.shape, self.all, &taken, &slab);
            // The side ahead and the one behind, and from which corner on each is the rim of a mesh.
            for (ahead, rim) in [(sides[dimension], size - sides[dimension]), (size - 1, 0)] {
                let mut carry = shifted(&self.shape, self.all, &full, dimension, ahead, true);
                if !self.shape.wraps(dimension) {
                    // What lies outside counts as taken.
                    fill(&self.shape, &mut carry, dimension, rim, self.all);
                }
                for plane in &mut planes {
                    for (bits, carry) in plane.iter_mut().zip(&mut carry) {
                        (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
                    }
                }
            }
        }
        for plane in planes.iter().rev() {
            if corners.iter().zip(plane).any(|(corner, bits)| corner & bits != 0) {
                corners.iter_mut().zip(plane).for_each(|(corner, bits)| *corner &= bits);
            }
        }
    }

    /// Takes the nodes of a box.
    pub fn take(&mut self, corner: NodeId, sides: &[u32]) {
        self.flip(corner, sides);
    }

    /// Gives the nodes of a box back.
    pub fn release(&mut self, corner: NodeId, sides: &[u32]) {
        self.flip(corner, sides);
    }

    fn flip(&mut self, corner: NodeId, sides: &[u32]) {
        let (size, start) = (self.shape.size(0), corner % self.shape.size(0));
        let run = u128::MAX >> (MAX_ROW - sides[0]);
        let bits = (run << start | if start == 0 { 0 } else { run >> (size - start) }) & self.all;
        let rows: u32 = sides[1..].iter().product();
        for mut index in 0..rows {
            let mut node = corner - start;
            for (dimension, side) in sides.iter().enumerate().skip(1) {
                let stride = self.shape.stride(dimension);
                let here = self.shape.coordinate(corner, dimension);
                let there = (here + index % side) % self.shape.size(dimension);
                node = node - here * stride + there * stride;
                index /= side;
            }
            self.rows[(node / size) as usize] ^= bits;
        }
    }
}

/// Corners from which all nodes of a box are set.
fn boxes(shape: &Shape, all: u128, rows: &[u128], sides: &[u32]) -> Vec<u128> {
    let mut now = rows.to_vec();
    for (dimension, side) in sides.iter().enumerate() {
        // A window of `wide` is one of `wide - step` and the same again `step` ahead.
        let mut wide = 1;
        while wide < *side {
            let step = wide.min(side - wide);
            let ahead = shifted(shape, all, &now, dimension, step, false);
            now.iter_mut().zip(ahead).for_each(|(now, ahead)| *now &= ahead);
            wide += step;
        }
    }
    now
}

/// The bits that lie so many nodes ahead; nothing lies behind the rim of a mesh, unless `around` is asked for.
fn shifted(shape: &Shape, all: u128, rows: &[u128], dimension: usize, ahead: u32, around: bool) -> Vec<u128> {
    let (size, around) = (shape.size(dimension), around || shape.wraps(dimension));
    if dimension == 0 {
        return rows
            .iter()
            .map(|row| row >> ahead | if around { row << (size - ahead) & all } else { 0 })
            .collect();
    }
    let stride = (shape.stride(dimension) / shape.size(0)) as usize;
    (0..rows.len())
        .map(|row| {
            let here = (row / stride) as u32 % size;
            let there = here + ahead;
            if there >= size && !around {
                return 0;
            }
            rows[row - here as usize * stride + (there % size) as usize * stride]
        })
        .collect()
}

/// Sets the bits of all nodes with one coordinate.
fn fill(shape: &Shape, rows: &mut [u128], dimension: usize, place: u32, all: u128) {
    let stride = (shape.stride(dimension) / shape.size(0)) as usize;
    for (number, row) in rows.iter_mut().enumerate() {
        if dimension == 0 {
            *row |= 1 << place;
        } else if (number / stride) as u32 % shape.size(dimension) == place {
            *row = all;
        }
    }
}

/// A job of a stream.
#[derive(Clone, Debug)]
pub struct StreamJob {
    /// Sides of the boxes it may have, the one to be tried first first.
    pub boxes: Vec<Vec<u32>>,
    /// When it comes.
    pub arrival: u64,
    /// How long it keeps its nodes.
    pub time: u64,
}

/// When and where a job of a stream began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// When.
    pub start: u64,
    /// The corner of its box.
    pub corner: NodeId,
    /// Which of its boxes.
    pub chosen: u32,
}

/// What a stream did.
pub struct Streamed {
    /// Per job; none for jobs that fit nowhere even on an empty floor.
    pub begun: Vec<Option<Begun>>,
    /// Jobs that were looked at, whether there was room for them or not.
    pub decisions: u64,
}

/// Which of the jobs that wait is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The one that came first.
    Arrival,
    /// The one with the most nodes; of equal ones the one that came first.
    Largest,
}

/// Runs a stream: whenever jobs come or end, the first `window` waiting ones are tried in their turn.
///
/// Jobs stand in the order of their arrivals. `should_stop` is asked now and then; a stream that is stopped has no
/// starts for the jobs left.
pub fn stream(
    floor: &Floor,
    jobs: &[StreamJob],
    (turn, window): (Turn, usize),
    fit: Fit,
    should_stop: &dyn Fn() -> bool,
) -> Streamed {
    let nodes = |job: usize| jobs[job].boxes[0].iter().product::<u32>();
    let mut empty = floor.clone();
    let mut done = Streamed { begun: vec![None; jobs.len()], decisions: 0 };
    let mut ends: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let mut waiting: Vec<usize> = Vec::new();
    // Boxes that are not free, and cannot be before a job ends.
    let mut full: BTreeSet<&[u32]> = BTreeSet::new();
    let (mut next, mut now) = (0, 0);
    while next < jobs.len() || !ends.is_empty() {
        let coming = jobs.get(next).map_or(u64::MAX, |job| job.arrival);
        let ending = ends.peek().map_or(u64::MAX, |end| end.0.0);
        now = coming.min(ending).max(now);
        while let Some(Reverse((end, job))) = ends.peek().copied().filter(|end| end.0.0 <= now) {
            ends.pop();
            if let Some(begun) = done.begun[job].filter(|_| end <= now) {
                empty.release(begun.corner, &jobs[job].boxes[begun.chosen as usize]);
                full.clear();
            }
        }
        while next < jobs.len() && jobs[next].arrival <= now {
            // What fits on no empty floor would wait for ever.
            if jobs[next].boxes.iter().any(|sides| floor.find(sides, Fit::First).is_some()) {
                let place = match turn {
                    Turn::Arrival => waiting.len(),
                    Turn::Largest => waiting.partition_point(|&other| nodes(other) >= nodes(next)),
                };
                waiting.insert(place, next);
            }
            next += 1;
        }
        let mut at = 0;
        let mut looked = 0;
        while at < waiting.len() && looked < window && empty.free() > 0 {
            let job = waiting[at];
            looked += 1;
            done.decisions += 1;
            let found = jobs[job].boxes.iter().enumerate().find_map(|(chosen, sides)| {
                if full.contains(sides.as_slice()) {
                    return None;
                }
                let Some(corner) = empty.find(sides, fit) else {
                    full.insert(sides);
                    return None;
                };
                Some(Begun { start: now, corner, chosen: chosen as u32 })
            });
            let Some(begun) = found else {
                at += 1;
                continue;
            };
            empty.take(begun.corner, &jobs[job].boxes[begun.chosen as usize]);
            done.begun[job] = Some(begun);
            ends.push(Reverse((now + jobs[job].time.max(1), job)));
            waiting.remove(at);
            looked -= 1;
        }
        if should_stop() {
            break;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::dice::Dice;

    fn cells(shape: &Shape, corner: NodeId, sides: &[u32]) -> Option<Vec<NodeId>> {
        let start = shape.coordinates(corner);
        let mut nodes = Vec::new();
        for mut index in 0..sides.iter().product() {
            let mut place = start.clone();
            for (dimension, side) in sides.iter().enumerate() {
                place[dimension] += index % side;
                index /= side;
                if place[dimension] >= shape.size(dimension) && !shape.wraps(dimension) {
                    return None;
                }
                place[dimension] %= shape.size(dimension);
            }
            nodes.push(shape.node(&place));
        }
        Some(nodes)
    }

    #[test]
    fn boxes_are_those_found_cell_by_cell() {
        let mut dice = Dice::new(5);
        for (sizes, wraps) in
            [(vec![5, 4, 3], vec![true, true, false]), (vec![6, 3], vec![false, true]), (vec![7], vec![true])]
        {
            let shape = Shape::new(&sizes, &wraps).unwrap();
            for _ in 0..200 {
                let mut floor = Floor::new(shape.clone()).unwrap();
                let mut taken = vec![false; shape.nodes()];
                for _ in 0..dice.below(6) {
                    let node = dice.below(shape.nodes());
                    taken[node] = true;
                    floor.close(node as NodeId);
                }
                let sides: Vec<u32> =
                    sizes.iter().map(|size| 1 + dice.below(*size as usize) as u32).collect();
                let fits = |corner: NodeId| {
                    cells(&shape, corner, &sides).filter(|nodes| nodes.iter().all(|n| !taken[*n as usize]))
                };
                let first = (0..shape.nodes() as NodeId).find(|corner| fits(*corner).is_some());
                assert_eq!(floor.find(&sides, Fit::First), first);
                let Some(corner) = floor.find(&sides, Fit::Contact) else {
                    assert!(first.is_none());
                    continue;
                };
                // Nobody touches with more sides.
                let touching = |corner: NodeId| {
                    let sides_of = (0..sizes.len()).flat_map(|d| [(d, false), (d, true)]);
                    sides_of
                        .filter(|(d, back)| {
                            let mut slab = sides.clone();
                            slab[*d] = 1;
                            let mut place = shape.coordinates(corner);
                            if sides[*d] == sizes[*d] {
                                return false;
                            }
                            let there = if *back { place[*d] + sizes[*d] - 1 } else { place[*d] + sides[*d] };
                            let outside = if *back { place[*d] == 0 } else { there >= sizes[*d] };
                            if outside && !shape.wraps(*d) {
                                return true;
                            }
                            place[*d] = there % sizes[*d];
                            cells(&shape, shape.node(&place), &slab)
                                .is_some_and(|nodes| nodes.iter().all(|node| taken[*node as usize]))
                        })
                        .count()
                };
                assert!(fits(corner).is_some());
                let most =
                    (0..shape.nodes() as NodeId).filter(|c| fits(*c).is_some()).map(touching).max().unwrap();
                assert_eq!(touching(corner), most);
                let before = floor.free();
                floor.take(corner, &sides);
                assert_eq!(floor.free(), before - sides.iter().product::<u32>() as usize);
                assert!(cells(&shape, corner, &sides).unwrap().iter().all(|node| {
                    let size = shape.size(0);
                    floor.rows[(node / size) as usize] >> (node % size) & 1 == 0
                }));
                floor.release(corner, &sides);
                assert_eq!((floor.free(), floor.find(&sides, Fit::First)), (before, first));
            }
        }
    }

    #[test]
    fn streams_wait_for_room() {
        let floor = Floor::new(Shape::torus(&[4, 4]).unwrap()).unwrap();
        let job = |sides: &[u32], arrival, time| StreamJob { boxes: vec![sides.to_vec()], arrival, time };
        let jobs = [
            job(&[4, 3], 0, 10),
            job(&[4, 2], 0, 5),
            job(&[4, 1], 1, 3),
            job(&[5, 1], 1, 3),
            job(&[4, 4], 2, 1),
        ];
        let starts = |turn, window| {
            let done = stream(&floor, &jobs, (turn, window), Fit::First, &|| false);
            done.begun.iter().map(|begun| begun.map(|begun| begun.start)).collect::<Vec<_>>()
        };
        // The third one passes the second only if it is looked at.
        assert_eq!(starts(Turn::Arrival, 4), [Some(0), Some(10), Some(1), None, Some(15)]);
        assert_eq!(starts(Turn::Arrival, 1), [Some(0), Some(10), Some(10), None, Some(15)]);
        // The last one has the most nodes, and is tried before the others that wait.
        assert_eq!(starts(Turn::Largest, 1), [Some(0), Some(11), Some(11), None, Some(10)]);
    }
}
