use super::{Direction, FabricError, NodeId, Sign, circulant::Circulant};
use std::sync::Arc;

/// Largest number of dimensions.
pub const MAX_DIMENSIONS: usize = 6;
/// Largest number of routers.
pub const MAX_NODES: u64 = 1 << 20;

/// The dimension and the step of two opposite directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub dimension: usize,
    pub step: u32,
}

/// The directions of a product with full meshes or circulants; without any there are two per dimension, of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meshes {
    /// Per dimension, whether all nodes of a line are linked.
    pub full: Vec<bool>,
    /// Per dimension, the circulant that it is.
    pub circulants: Vec<Option<Arc<Circulant>>>,
    /// Pairs of opposite directions, and per dimension the first one.
    pub axes: Vec<Axis>,
    pub first_axis: Vec<u8>,
    /// Those of them that close rings.
    pub rings: usize,
}

named! {
    /// Which way dimension order goes to the opposite place of a ring, as far either way. Twisted tori and circulants have
    /// rules of their own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub enum Ties {
        /// Plus from even coordinates and minus from odd ones, so that half of the packets go either way.
        Balanced = "balanced",
        /// Over the wrap-around link (cup-stacking-extended-2023, Table 4).
        #[default]
        Wrap = "wrap",
    }
}

impl Ties {
    /// Whether packets from a coordinate of a ring go plus to the opposite one.
    #[inline(always)]
    pub const fn go_plus(self, size: u32, from: u32) -> bool {
        match self {
            Self::Balanced => from.is_multiple_of(2),
            Self::Wrap => from >= size / 2,
        }
    }
}

/// Sizes of a torus or mesh and whether each dimension wraps around; a torus may be [twisted](Shape::twisted).
///
/// A dimension of size 2 is one pair of links: it never wraps, since the wrap-around link would
/// double the direct one (`wraps` is false for it whatever was asked).
///
/// ```
/// use flitloom_core::fabric::{Direction, Shape, Sign};
/// let torus = Shape::torus(&[16, 16])?;
/// assert_eq!(torus.nodes(), 256);
/// assert_eq!(torus.coordinates(17), vec![1, 1]);
/// assert_eq!(torus.neighbour(0, Direction::new(0, Sign::Minus)), Some(15));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    sizes: Vec<u32>,
    pub(super) wraps: Vec<bool>,
    /// Of a twisted torus: the size of its short dimensions.
    pub(super) short: Option<u32>,
    /// Of a product with full meshes or circulants.
    pub(super) meshes: Option<Box<Meshes>>,
    ties: Ties,
    strides: Vec<u32>,
    /// Per dimension: the reciprocals of stride and size, for [`divide`].
    reciprocals: Vec<[u64; 2]>,
    nodes: u32,
}

const FRACTION: u32 = 40;

/// 2^40 divided by a number, rounded up.
pub(crate) fn reciprocal(number: u32) -> u64 {
    (1_u64 << FRACTION).div_ceil(u64::from(number))
}

/// The quotient of a number below 2^20 and another one up to 2^20, by its reciprocal: too large by less
/// than 2^20 / 2^40, so it never reaches the next whole number.
#[inline(always)]
pub(crate) fn divide(number: u32, reciprocal: u64) -> u32 {
    ((u64::from(number) * reciprocal) >> FRACTION) as u32
}

impl Shape {
    /// A shape from sizes and wrap flags (one per dimension).
    ///
    /// # Errors
    /// The number of dimensions, a size or the number of routers is out of range.
    pub fn new(sizes: &[u32], wraps: &[bool]) -> Result<Self, FabricError> {
        if sizes.is_empty() || sizes.len() > MAX_DIMENSIONS || sizes.len() != wraps.len() {
            return Err(FabricError::Dimensions(sizes.len()));
        }
        let mut strides = Vec::with_capacity(sizes.len());
        let mut nodes = 1_u64;
        for (dimension, &size) in sizes.iter().enumerate() {
            if size < 2 {
                return Err(FabricError::Size { dimension, size });
            }
            strides.push(nodes as u32);
            nodes = nodes.saturating_mul(u64::from(size));
            if nodes > MAX_NODES {
                let all = sizes.iter().fold(1_u64, |product, &size| product.saturating_mul(size.into()));
                return Err(FabricError::Nodes(all));
            }
        }
        let wraps = sizes.iter().zip(wraps).map(|(&size, &wrap)| wrap && size > 2).collect();
        let pairs = strides.iter().zip(sizes);
        let reciprocals = pairs.map(|(&stride, &size)| [reciprocal(stride), reciprocal(size)]).collect();
        Ok(Self {
            sizes: sizes.to_vec(),
            wraps,
            short: None,
            meshes: None,
            ties: Ties::default(),
            strides,
            reciprocals,
            nodes: nodes as u32,
        })
    }

    /// A torus: every dimension wraps.
    ///
    /// # Errors
    /// As [`Shape::new`].
    pub fn torus(sizes: &[u32]) -> Result<Self, FabricError> {
        Self::new(sizes, &vec![true; sizes.len()])
    }

    /// A mesh: no dimension wraps.
    ///
    /// # Errors
    /// As [`Shape::new`].
    pub fn mesh(sizes: &[u32]) -> Result<Self, FabricError> {
        Self::new(sizes, &vec![false; sizes.len()])
    }

    /// The same with another rule for ties.
    #[must_use]
    pub fn with_ties(self, ties: Ties) -> Self {
        Self { ties, ..self }
    }

    /// Which way dimension order goes to the opposite place of a ring.
    #[inline(always)]
    pub fn ties(&self) -> Ties {
        self.ties
    }

    /// Number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> usize {
        self.sizes.len()
    }

    /// Number of routers.
    #[inline]
    pub fn nodes(&self) -> usize {
        self.nodes as usize
    }

    /// Number of link directions: `2 * dimensions`, more where dimensions are full meshes or circulants.
    #[inline]
    pub fn directions(&self) -> usize {
        2 * self.axes()
    }

    /// Sizes of all dimensions.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Size of one dimension.
    #[inline]
    pub fn size(&self, dimension: usize) -> u32 {
        self.sizes[dimension]
    }

    /// Whether a dimension has wrap-around links (never for size 2).
    #[inline]
    pub fn wraps(&self, dimension: usize) -> bool {
        self.wraps[dimension]
    }

    /// Distance in node index between neighbours along a dimension.
    #[inline]
    pub fn stride(&self, dimension: usize) -> u32 {
        self.strides[dimension]
    }

    /// Coordinate of a node along one dimension.
    #[inline]
    pub fn coordinate(&self, node: NodeId, dimension: usize) -> u32 {
        let [stride, size] = self.reciprocals[dimension];
        let along = divide(node, stride);
        along - divide(along, size) * self.sizes[dimension]
    }

    /// All coordinates of a node, first dimension first.
    pub fn coordinates(&self, node: NodeId) -> Vec<u32> {
        (0..self.dimensions()).map(|dimension| self.coordinate(node, dimension)).collect()
    }

    /// All nodes in the order of their coordinates, the first dimension most significant.
    ///
    /// ```
    /// use flitloom_core::fabric::Shape;
    /// assert_eq!(Shape::torus(&[2, 3])?.nodes_by_coordinates(), [0, 2, 4, 1, 3, 5]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn nodes_by_coordinates(&self) -> Vec<NodeId> {
        (0..self.dimensions()).fold(vec![0], |nodes, dimension| {
            let along = (0..self.size(dimension)).map(|coordinate| coordinate * self.stride(dimension));
            nodes.iter().flat_map(|node| along.clone().map(move |step| node + step)).collect()
        })
    }

    /// The node at the given coordinates (each below its size).
    pub fn node(&self, coordinates: &[u32]) -> NodeId {
        coordinates.iter().zip(&self.strides).map(|(&coordinate, &stride)| coordinate * stride).sum()
    }

    /// The neighbour in a direction, or `None` at the rim of a mesh dimension.
    pub fn neighbour(&self, node: NodeId, direction: Direction) -> Option<NodeId> {
        let (dimension, step) = (self.dimension_of(direction), self.step_of(direction));
        let (size, stride) = (self.sizes[dimension], self.strides[dimension]);
        let coordinate = self.coordinate(node, dimension);
        // Half way round a full mesh or circulant both senses lead to the same node, which the plus sense does
        // below it.
        let closes = self.wraps[dimension] || self.is_stepped(dimension) && 2 * step != size;
        match direction.sign() {
            Sign::Plus if coordinate + step < size => Some(node + step * stride),
            Sign::Plus if closes => Some(self.turned(node - (size - step) * stride, dimension)),
            Sign::Minus if coordinate >= step => Some(node - step * stride),
            Sign::Minus if closes => Some(self.turned(node + (size - step) * stride, dimension)),
            _ => None,
        }
    }

    /// Links on a minimal way between two nodes.
    pub fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        if self.is_twisted() {
            return self.ways(from, to)[0].iter().map(|hops| hops.unsigned_abs()).sum();
        }
        (0..self.dimensions())
            .map(|dimension| {
                let (a, b) = (self.coordinate(from, dimension), self.coordinate(to, dimension));
                if let Some(circulant) = self.circulant(dimension) {
                    return circulant.distance(a, b);
                }
                let direct = if self.is_full(dimension) { u32::from(a != b) } else { a.abs_diff(b) };
                if self.wraps[dimension] { direct.min(self.sizes[dimension] - direct) } else { direct }
            })
            .sum()
    }

    /// Most hops of a minimal way in one dimension of a shape without twist, at least 1: half around a ring, a
    /// line from end to end, one in a full mesh, all steps of the longest way in a circulant.
    ///
    /// ```
    /// use flitloom_core::fabric::Shape;
    /// assert_eq!(Shape::torus(&[8, 4])?.reach(), 4);
    /// assert_eq!(Shape::new(&[8, 6], &[true, false])?.reach(), 5);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn reach(&self) -> u32 {
        let hops = |dimension: usize| match self.sizes[dimension] {
            _ if self.is_full(dimension) => 1,
            _ if self.circulant(dimension).is_some() => self.circulant(dimension).map_or(1, Circulant::reach),
            size if self.wraps[dimension] => size / 2,
            size => size - 1,
        };
        (0..self.dimensions()).map(hops).max().unwrap_or(1).max(1)
    }

    /// Human-readable coordinates of a node, as `(x,y,...)`.
    pub fn describe(&self, node: NodeId) -> String {
        let coordinates: Vec<String> = self.coordinates(node).iter().map(u32::to_string).collect();
        format!("({})", coordinates.join(","))
    }

    /// Directions of all ports, in the order of input-port lists: `+last, ..., +x, -last, ..., -x`
    /// (N, E, S, W in two dimensions); in a full mesh or circulant the longest shift of a sense comes first.
    pub fn port_order(&self) -> Vec<Direction> {
        [Sign::Plus, Sign::Minus]
            .into_iter()
            .flat_map(|sign| (0..self.axes()).rev().map(move |axis| Direction::new(axis, sign)))
            .collect()
    }
}

/// The sizes.
impl AsRef<[u32]> for Shape {
    fn as_ref(&self) -> &[u32] {
        &self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_quotients_and_remainders() {
        for sizes in [
            vec![1 << 20],
            vec![1 << 19, 2],
            vec![1023, 1025],
            vec![3, 7, 11, 13, 17],
            vec![2; 6],
            vec![2, 524_287],
        ] {
            let shape = Shape::torus(&sizes).unwrap();
            for node in 0..shape.nodes() as NodeId {
                let mut rest = node;
                for (dimension, &size) in sizes.iter().enumerate() {
                    assert_eq!(shape.coordinate(node, dimension), rest % size);
                    rest /= size;
                }
            }
        }
    }

    #[test]
    fn neighbours_are_mutual_in_every_shape() {
        for (sizes, wraps) in
            [(vec![2], vec![true]), (vec![3, 4], vec![true, false]), (vec![2, 3, 5], vec![true; 3])]
        {
            let shape = Shape::new(&sizes, &wraps).unwrap();
            for node in 0..shape.nodes() as NodeId {
                assert_eq!(shape.node(&shape.coordinates(node)), node);
                for direction in (0..shape.directions()).map(Direction::from_index) {
                    if let Some(other) = shape.neighbour(node, direction) {
                        assert_eq!(shape.neighbour(other, direction.opposite()), Some(node));
                        assert_eq!(shape.distance(node, other), 1);
                    }
                }
            }
        }
    }

    #[test]
    fn size_two_is_one_pair_of_links() {
        let shape = Shape::torus(&[2]).unwrap();
        assert_eq!(shape.neighbour(0, Direction::new(0, Sign::Plus)), Some(1));
        assert_eq!(shape.neighbour(0, Direction::new(0, Sign::Minus)), None);
    }

    #[test]
    fn absurd_shapes_are_refused() {
        assert_eq!(Shape::torus(&[]), Err(FabricError::Dimensions(0)));
        assert_eq!(Shape::torus(&[4, 1]), Err(FabricError::Size { dimension: 1, size: 1 }));
        assert!(matches!(Shape::torus(&[u32::MAX; 6]), Err(FabricError::Nodes(_))));
        assert!(Shape::torus(&[1024, 1024]).is_ok());
    }
}
