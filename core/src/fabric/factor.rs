//! Products of rings, lines and full meshes.

use super::{
    Direction, FabricError, Shape, Sign,
    shape::{Axis, Meshes},
};

/// Most directions of links.
pub const MAX_DIRECTIONS: usize = 64;

/// A dimension of a product, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// It wraps around.
    Ring(u32),
    /// It does not.
    Line(u32),
    /// Every node is linked to all others.
    Full(u32),
}

impl Factor {
    /// Its size.
    pub const fn size(self) -> u32 {
        match self {
            Self::Ring(size) | Self::Line(size) | Self::Full(size) => size,
        }
    }
}

impl Shape {
    /// A product: a full mesh of size k has the directions of the steps 1 to k/2, each in both senses. If k is
    /// even, both senses of the last one lead to the same node; the plus sense is that from its lower half.
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
    /// As [`Shape::new`], or there are too many directions.
    pub fn product(factors: &[Factor]) -> Result<Self, FabricError> {
        let sizes: Vec<u32> = factors.iter().map(|factor| factor.size()).collect();
        let wraps: Vec<bool> = factors.iter().map(|factor| matches!(factor, Factor::Ring(_))).collect();
        let mut shape = Self::new(&sizes, &wraps)?;
        // Two nodes are linked alike in a line and in a full mesh.
        let full: Vec<bool> =
            factors.iter().map(|factor| matches!(factor, Factor::Full(size) if *size > 2)).collect();
        let steps = |dimension: usize| if full[dimension] { sizes[dimension] / 2 } else { 1 };
        let count: u64 = (0..sizes.len()).map(|dimension| 2 * u64::from(steps(dimension))).sum();
        if count > MAX_DIRECTIONS as u64 {
            return Err(FabricError::Directions(count));
        }
        let axes: Vec<Axis> = (0..sizes.len())
            .flat_map(|dimension| (1..=steps(dimension)).map(move |step| Axis { dimension, step }))
            .collect();
        let first = |dimension| axes.iter().take_while(|axis| axis.dimension < dimension).count() as u8;
        let first_axis = (0..sizes.len()).map(first).collect();
        if full.contains(&true) {
            shape.meshes = Some(Box::new(Meshes { full, axes, first_axis }));
        }
        Ok(shape)
    }

    /// Pairs of opposite directions.
    pub(super) fn axes(&self) -> usize {
        self.meshes.as_ref().map_or(self.dimensions(), |meshes| meshes.axes.len())
    }

    /// Whether any dimension is a full mesh.
    #[inline]
    pub fn has_full(&self) -> bool {
        self.meshes.is_some()
    }

    /// Whether a dimension is a full mesh, of at least three nodes.
    #[inline]
    pub fn is_full(&self, dimension: usize) -> bool {
        self.meshes.as_ref().is_some_and(|meshes| meshes.full[dimension])
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
        let letter = Direction::new(dimension, Sign::Plus).letter();
        if step > 1 { format!("{sign}{step}{letter}") } else { format!("{sign}{letter}") }
    }
}

impl Meshes {
    fn axis(&self, direction: Direction) -> Axis {
        self.axes[direction.index() / 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{MAX_DIMENSIONS, MAX_NODES, NodeId, walk};

    fn products() -> Vec<Shape> {
        use Factor::{Full, Line, Ring};
        let all: [&[Factor]; 6] = [
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
        assert!(!full(3, 2).unwrap().has_full());
    }
}
