//! Products of rings, lines, full meshes and circulants.

use super::{
    Direction, FabricError, NodeId, Shape, Sign, Steps,
    circulant::Circulant,
    shape::{Axis, Meshes},
};
use std::{fmt, sync::Arc};

/// Most directions of links.
pub const MAX_DIRECTIONS: usize = 64;
/// Most rings of a product with circulants: its dimensions that wrap, and steps of which packets make several hops at
/// once. Each needs a channel beside the first.
pub const MAX_RINGS: usize = 7;

/// A dimension of a product, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// It wraps around.
    Ring(u32),
    /// It does not.
    Line(u32),
    /// Every node is linked to all others.
    Full(u32),
    /// A ring whose nodes are linked to those some steps ahead.
    Circulant(u32, Steps),
}

impl Factor {
    /// Its size.
    pub const fn size(self) -> u32 {
        match self {
            Self::Ring(size) | Self::Line(size) | Self::Full(size) | Self::Circulant(size, _) => size,
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring(size) => write!(out, "ring{size}"),
            Self::Line(size) => write!(out, "line{size}"),
            Self::Full(size) => write!(out, "full{size}"),
            Self::Circulant(size, steps) => write!(out, "circulant({size};{steps})"),
        }
    }
}

impl Shape {
    /// A product: a full mesh of size k has the directions of the steps 1 to k/2, a circulant those of its own steps,
    /// each in both senses. If the last step is k/2, both senses of it lead to the same node; the plus sense is that
    /// from the lower half.
    ///
    /// ```
    /// use flitloom_core::fabric::{Factor, Shape};
    /// let product = Shape::product(&[Factor::Full(4), Factor::Ring(8)])?;
    /// assert_eq!((product.directions(), product.distance(0, 3)), (6, 1));
    /// let over = product.across(0, 0, 3).unwrap();
    /// assert_eq!((product.direction_name(over), product.neighbour(0, over)), ("-x".to_owned(), Some(3)));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Shape::new`], steps of a circulant do not fit, or there are too many directions or rings.
    pub fn product(factors: &[Factor]) -> Result<Self, FabricError> {
        let sizes: Vec<u32> = factors.iter().map(|factor| factor.size()).collect();
        let wraps: Vec<bool> = factors.iter().map(|factor| matches!(factor, Factor::Ring(_))).collect();
        let mut shape = Self::new(&sizes, &wraps)?;
        // Two nodes are linked alike in a line and in a full mesh.
        let full: Vec<bool> =
            factors.iter().map(|factor| matches!(factor, Factor::Full(size) if *size > 2)).collect();
        let steps = |dimension: usize| match &factors[dimension] {
            Factor::Full(size) => (1..=size / 2).collect(),
            Factor::Circulant(_, steps) => steps.as_slice().to_vec(),
            _ => vec![1],
        };
        let count: u64 = (factors.iter())
            .map(|factor| match factor {
                Factor::Full(size) => u64::from(size / 2),
                Factor::Circulant(_, steps) => steps.as_slice().len() as u64,
                _ => 1,
            })
            .sum();
        if 2 * count > MAX_DIRECTIONS as u64 {
            return Err(FabricError::Directions(2 * count));
        }
        let axes: Vec<Axis> = (0..sizes.len())
            .flat_map(|dimension| steps(dimension).into_iter().map(move |step| Axis { dimension, step }))
            .collect();
        let first = |dimension| axes.iter().take_while(|axis| axis.dimension < dimension).count() as u8;
        let first_axis = (0..sizes.len()).map(first).collect();
        let circulants = factors.iter().map(|factor| match factor {
            Factor::Circulant(size, steps) => Circulant::new(*size, steps).map(|made| Some(Arc::new(made))),
            _ => Ok(None),
        });
        let circulants: Vec<_> = circulants.collect::<Result<_, _>>()?;
        if full.contains(&true) || circulants.iter().any(Option::is_some) {
            let mut meshes = Meshes { full, circulants, axes, first_axis, rings: 0 };
            let all = (0..meshes.axes.len()).map(|axis| Direction::new(axis, Sign::Plus));
            let closes = |direction: &Direction| meshes.closes(*direction, &shape.wraps);
            meshes.rings = all.filter(closes).count();
            if meshes.rings > MAX_RINGS {
                return Err(FabricError::Rings(meshes.rings));
            }
            shape.meshes = Some(Box::new(meshes));
        }
        Ok(shape)
    }

    /// Pairs of opposite directions.
    pub(super) fn axes(&self) -> usize {
        self.meshes.as_ref().map_or(self.dimensions(), |meshes| meshes.axes.len())
    }

    /// Whether any dimension is a full mesh or a circulant, so that links of several steps may run along it.
    #[inline]
    pub fn has_steps(&self) -> bool {
        self.meshes.is_some()
    }

    /// Whether a dimension is a full mesh, of at least three nodes.
    #[inline]
    pub fn is_full(&self, dimension: usize) -> bool {
        self.meshes.as_ref().is_some_and(|meshes| meshes.full[dimension])
    }

    /// Whether a dimension is a full mesh, of at least three nodes, or a circulant.
    #[inline]
    pub fn is_stepped(&self, dimension: usize) -> bool {
        self.is_full(dimension) || self.circulant(dimension).is_some()
    }

    /// The steps of a circulant, ascending; `None` for other dimensions.
    pub fn steps(&self, dimension: usize) -> Option<&[u32]> {
        self.circulant(dimension).map(Circulant::steps)
    }

    /// The circulant that a dimension is.
    #[inline]
    pub(super) fn circulant(&self, dimension: usize) -> Option<&Circulant> {
        self.meshes.as_ref().and_then(|meshes| meshes.circulants[dimension].as_deref())
    }

    /// The direction in which a packet goes from a coordinate of a full mesh or circulant to another one, and how many
    /// such hops follow each other.
    #[inline(never)]
    pub(crate) fn along_steps(&self, dimension: usize, from: u32, to: u32) -> Option<(Direction, u32)> {
        let Some(circulant) = self.circulant(dimension) else {
            return Some((self.across(dimension, from, to)?, 1));
        };
        let (step, sign, hops) = circulant.along(from, to)?;
        Some((Direction::new(self.first_axis(dimension) + step, sign), hops))
    }

    /// Hops in a direction, in either sense, on the way between two coordinates of a circulant.
    pub(crate) fn hops_of_step(&self, direction: Direction, from: u32, to: u32) -> Option<u32> {
        let meshes = self.meshes.as_ref()?;
        Some(self.circulant(self.dimension_of(direction))?.hops_of(meshes.step(direction), from, to))
    }

    /// Whether links of a direction close rings along which packets may make several hops at once, so that they need
    /// datelines or bubbles: dimensions that wrap, and steps of circulants but those that ways never repeat.
    ///
    /// ```
    /// use flitloom_core::fabric::{Direction, Factor, Shape, Steps};
    /// let circulant = |steps: &[u32]| Shape::product(&[Factor::Circulant(16, Steps::new(steps)?)]);
    /// let closes = |shape: &Shape| (0..shape.directions()).step_by(2).map(Direction::from_index)
    ///     .map(|direction| shape.closes(direction)).collect::<Vec<_>>();
    /// assert_eq!(closes(&circulant(&[1, 4])?), [true, true]);
    /// // One hop of 8 is the whole way across.
    /// assert_eq!(closes(&circulant(&[1, 8])?), [true, false]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn closes(&self, direction: Direction) -> bool {
        match &self.meshes {
            Some(meshes) => meshes.closes(direction, &self.wraps),
            None => self.wraps(direction.dimension()),
        }
    }

    /// Pairs of opposite directions that [close rings](Self::closes).
    pub fn rings(&self) -> usize {
        let wrapping = || self.wraps.iter().filter(|&&wraps| wraps).count();
        self.meshes.as_ref().map_or_else(wrapping, |meshes| meshes.rings)
    }

    /// The ring that links of a direction close, if they do: its nodes, and the place of a node in it, one more with
    /// every hop in the plus sense.
    pub fn ring_through(&self, node: NodeId, direction: Direction) -> Option<(u32, u32)> {
        if !self.closes(direction) {
            return None;
        }
        let dimension = self.dimension_of(direction);
        Some(match (self.circulant(dimension), &self.meshes) {
            (Some(circulant), Some(meshes)) => {
                circulant.ring(meshes.step(direction), self.coordinate(node, dimension))
            }
            _ => (self.ring(dimension), self.along(node, dimension)),
        })
    }

    /// The dimension that a direction runs along.
    #[inline]
    pub fn dimension_of(&self, direction: Direction) -> usize {
        self.meshes.as_ref().map_or(direction.dimension(), |meshes| meshes.axis(direction).dimension)
    }

    /// The direction of a dimension in which coordinates rise or fall by one.
    #[inline]
    pub fn direction(&self, dimension: usize, sign: Sign) -> Direction {
        Direction::new(self.first_axis(dimension), sign)
    }

    #[inline]
    fn first_axis(&self, dimension: usize) -> usize {
        self.meshes.as_ref().map_or(dimension, |meshes| meshes.first_axis[dimension].into())
    }

    /// How many coordinates a step in a direction moves.
    #[inline]
    pub fn step_of(&self, direction: Direction) -> u32 {
        self.meshes.as_ref().map_or(1, |meshes| meshes.axis(direction).step)
    }

    /// The direction from a coordinate of a full mesh to another one.
    #[inline(never)]
    pub fn across(&self, dimension: usize, from: u32, to: u32) -> Option<Direction> {
        if from == to {
            return None;
        }
        let (size, step) = (self.size(dimension), from.abs_diff(to));
        let straight = 2 * step <= size;
        let step = if straight { step } else { size - step };
        let sign = if (to > from) == straight { Sign::Plus } else { Sign::Minus };
        Some(Direction::new(self.first_axis(dimension) + step as usize - 1, sign))
    }

    /// The name of a direction: `+x`, or `+2x` if a step moves two coordinates.
    pub fn direction_name(&self, direction: Direction) -> String {
        let (dimension, step) = (self.dimension_of(direction), self.step_of(direction));
        let sign = if direction.sign() == Sign::Plus { '+' } else { '-' };
        let letter = Direction::new(dimension, Sign::Plus).axis();
        if step > 1 { format!("{sign}{step}{letter}") } else { format!("{sign}{letter}") }
    }
}

impl Meshes {
    fn axis(&self, direction: Direction) -> Axis {
        self.axes[direction.index() / 2]
    }

    /// The place of a direction among those of its dimension.
    fn step(&self, direction: Direction) -> usize {
        direction.index() / 2 - usize::from(self.first_axis[self.axis(direction).dimension])
    }

    fn closes(&self, direction: Direction, wraps: &[bool]) -> bool {
        let dimension = self.axis(direction).dimension;
        let circulant = self.circulants[dimension].as_ref();
        circulant.map_or(wraps[dimension], |circulant| circulant.is_ring(self.step(direction)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{MAX_DIMENSIONS, MAX_NODES, walk},
        routing::dimension_order,
    };

    fn products() -> Vec<Shape> {
        use Factor::{Circulant, Full, Line, Ring};
        let all: [&[Factor]; 12] = [
            &[Circulant(16, Steps::ascending([1, 4])), Ring(4)],
            &[Full(3), Circulant(12, Steps::ascending([2, 3, 6]))],
            &[Circulant(13, Steps::ascending([1, 5])), Circulant(6, Steps::ascending([2, 3]))],
            &[Line(2), Circulant(15, Steps::ascending([3, 5]))],
            &[Circulant(2, Steps::ascending([1])), Circulant(64, Steps::ascending([1, 7, 13, 20]))],
            &[Circulant(1000, Steps::ascending([1, 31]))],
            &[Full(8)],
            &[Full(5), Ring(4)],
            &[Line(3), Full(4), Full(3)],
            &[Full(2), Full(6)],
            &[Ring(5), Full(7)],
            &[Full(64)],
        ];
        all.iter().map(|factors| Shape::product(factors).unwrap()).collect()
    }

    #[test]
    fn links_of_full_meshes_join_all_pairs_once() {
        for shape in products() {
            for node in 0..shape.nodes() as NodeId {
                let all = (0..shape.directions()).map(Direction::from_index);
                let mut neighbours: Vec<NodeId> = Vec::new();
                for direction in all {
                    let Some(other) = shape.neighbour(node, direction) else { continue };
                    assert_eq!(shape.neighbour(other, direction.opposite()), Some(node));
                    let dimension = shape.dimension_of(direction);
                    let [here, there] = [node, other].map(|node| shape.coordinate(node, dimension));
                    if shape.is_full(dimension) {
                        assert_eq!(shape.across(dimension, here, there), Some(direction));
                    }
                    neighbours.push(other);
                }
                let count = neighbours.len();
                neighbours.sort_unstable();
                neighbours.dedup();
                assert_eq!(neighbours.len(), count);
                let linked = |other: &NodeId| shape.distance(node, *other) == 1;
                assert_eq!(neighbours, (0..shape.nodes() as NodeId).filter(linked).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn distances_are_those_that_are_walked() {
        for shape in products() {
            let next = |here| {
                let directions = (0..shape.directions()).map(Direction::from_index);
                let shape = &shape;
                directions.filter_map(move |direction| shape.neighbour(here, direction))
            };
            let walked = walk::distances(shape.nodes(), 0, u32::MAX, next).0;
            for (node, &distance) in walked.iter().enumerate() {
                assert_eq!(shape.distance(0, node as NodeId), distance);
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let full = |count: usize, size| Shape::product(&vec![Factor::Full(size); count]);
        assert_eq!(full(1, 66), Err(FabricError::Directions(66)));
        assert_eq!(full(1, 1), Err(FabricError::Size { dimension: 0, size: 1 }));
        assert_eq!(full(MAX_DIMENSIONS + 1, 2), Err(FabricError::Dimensions(MAX_DIMENSIONS + 1)));
        assert!(matches!(full(1, MAX_NODES as u32 + 1), Err(FabricError::Nodes(_))));
        assert!(!full(3, 2).unwrap().has_steps());
        let circulant =
            |size, steps: &[u32]| Shape::product(&[Factor::Circulant(size, Steps::new(steps)?)]).map(|_| ());
        let said = |size, steps: &[u32]| circulant(size, steps).unwrap_err().to_string();
        assert_eq!(circulant(12, &[5, 4, 6]), Ok(()));
        for (size, steps, words) in [
            (12, &[4, 6][..], "circulant(12;4,6) is in 2 parts, since its size and steps are multiples of 2"),
            (12, &[1, 0], "circulant(12;0,1) has the step 0; steps are different, from 1 to half the size"),
            (12, &[5, 7], "circulant(12;5,7) has the step 7; steps are"),
            (12, &[1, 5, 5], "circulant(12;1,5,5) has the step 5 twice; steps are"),
            (1, &[1], "dimension 0 has size 1"),
            (40, &[], "a circulant has no steps; 1 to 8 are possible"),
            (40, &[1, 2, 3, 4, 5, 6, 7, 8, 9], "a circulant has 9 steps; 1 to 8"),
        ] {
            assert!(said(size, steps).contains(words), "{}", said(size, steps));
        }
        let two = |factor| Shape::product(&[factor, Factor::Circulant(40, Steps::ascending([1, 3, 7, 12]))]);
        let most = two(Factor::Circulant(50, Steps::ascending([1, 4, 9])));
        assert_eq!(most.unwrap().rings(), MAX_RINGS);
        let more = two(Factor::Circulant(50, Steps::ascending([1, 4, 9, 15])));
        assert_eq!(more, Err(FabricError::Rings(8)));
        assert_eq!(two(Factor::Full(62)), Err(FabricError::Directions(70)));
    }

    /// A circulant of step 1 is a ring, one of all steps a full mesh.
    #[test]
    fn ways_of_rings_and_full_meshes_are_those_of_circulants() {
        for size in 4..=17 {
            let steps = |all: std::ops::RangeInclusive<u32>| {
                Steps::new(&all.collect::<Vec<_>>()).map(|steps| Factor::Circulant(size, steps))
            };
            let same = [(Factor::Ring(size), steps(1..=1)), (Factor::Full(size), steps(1..=size / 2))];
            for (plain, circulant) in same {
                let [plain, circulant] =
                    [plain, circulant.unwrap()].map(|one| Shape::product(&[one]).unwrap());
                assert_eq!((plain.rings(), plain.reach()), (circulant.rings(), circulant.reach()));
                for (from, to) in (0..size).flat_map(|from| (0..size).map(move |to| (from, to))) {
                    let [one, other] =
                        [&plain, &circulant].map(|shape| dimension_order::along(shape, 0, from, to));
                    assert_eq!(one, other, "{size}: {from} to {to}");
                    if let Some((direction, _)) = one {
                        assert_eq!(
                            plain.ring_through(from, direction),
                            circulant.ring_through(from, direction)
                        );
                    }
                }
            }
        }
    }

    /// Whatever the order in which the steps of a way are made, what is left of it stays the same, and no run goes
    /// over its ring's ends twice.
    #[test]
    fn ways_along_circulants_are_fixed() {
        for (size, steps) in
            [(16, vec![1, 4]), (18, vec![1, 5, 8]), (24, vec![3, 4, 12]), (21, vec![3, 6, 7])]
        {
            let shape = &Shape::product(&[Factor::Circulant(size, Steps::new(&steps).unwrap())]).unwrap();
            let axes = 0..steps.len();
            let axes: &[Direction] = &axes.map(|axis| Direction::new(axis, Sign::Plus)).collect::<Vec<_>>();
            for (from, to) in (0..size).flat_map(|from| (0..size).map(move |to| (from, to))) {
                let hops = |here| -> Vec<u32> {
                    axes.iter().map(|&axis| shape.hops_of_step(axis, here, to).unwrap()).collect()
                };
                let whole = hops(from);
                assert_eq!(whole.iter().sum::<u32>(), shape.distance(from, to));
                for (place, &axis) in axes.iter().enumerate().filter(|&(place, _)| whole[place] > 0) {
                    let (ring, _) = shape.ring_through(from, axis).unwrap_or((2, 0));
                    assert!(2 * whole[place] <= ring);
                    let nearer = [axis, axis.opposite()].into_iter().any(|direction| {
                        let mut left = whole.clone();
                        left[place] -= 1;
                        shape.neighbour(from, direction).is_some_and(|next| hops(next) == left)
                    });
                    assert!(nearer, "{size} {steps:?}: {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn places_in_rings_rise_with_every_step() {
        for shape in products() {
            for direction in (0..shape.directions()).step_by(2).map(Direction::from_index) {
                for node in 0..shape.nodes() as NodeId {
                    let Some((ring, place)) = shape.ring_through(node, direction) else { continue };
                    let next = shape.neighbour(node, direction).unwrap();
                    assert_eq!(shape.ring_through(next, direction), Some((ring, (place + 1) % ring)));
                }
            }
        }
    }
}
