use super::CollectiveError;
use crate::fabric::{Factor, Lines, Network, NodeId, Shape, Sign, walk};

/// Largest number of nodes of a torus whose plans are kept as orbits.
pub const MAX_ORBIT_NODES: u64 = 1 << 16;
/// Most links that leave a node of a product.
pub const MAX_PORTS: usize = 1 << 10;

/// Links of one direction, one per node: every node `v` has a link to `v + element`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    /// The dimension it runs along.
    pub dimension: usize,
    /// Its sense along the dimension.
    pub sign: Sign,
    /// By how much it changes the coordinate: 1, or up to the size less 1 along a full mesh.
    pub step: u32,
    /// Number among the parallel links of the same direction, from 0.
    pub lane: u32,
    /// Where node 0's link leads.
    pub element: NodeId,
}

/// A torus, plain or twisted, or a product of rings and full meshes, as a commutative group with its links as generators.
///
/// Nodes are numbered as in [`Shape`](crate::fabric::Shape), the first dimension fastest. In a twisted torus a
/// step over the edge of a short dimension also moves half of every long one (Camara, Moreto, Vallejo
/// et al. 2010: sizes K x K x 2K and K x 2K x 2K). A dimension of size 2 has one link per node unless
/// the twist makes its two senses differ. Along a full mesh every node has a link to every other one of its line.
///
/// ```
/// use flitloom_core::{collective::Torus, fabric::Lines};
/// let torus = Torus::new(&Lines::rings(&[4, 4, 8], true))?;
/// let east = torus.generators()[0].element;
/// // Four steps along a short dimension end half way round the long one: z = 4.
/// assert_eq!((0..4).fold(0, |node, _| torus.add(node, east)), 4 * 16);
/// # Ok::<(), flitloom_core::collective::CollectiveError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torus {
    shape: Shape,
    /// Per dimension whether it is a full mesh.
    full: Vec<bool>,
    generators: Vec<Generator>,
}

impl Torus {
    /// The group of the nodes of a network of rings and full meshes, if it is one; failures do not count.
    ///
    /// # Errors
    /// Sizes or numbers of links are out of range.
    pub fn of(network: &Network) -> Result<Option<Self>, CollectiveError> {
        let torus = network.lines().map(Self::new).transpose()?;
        Ok(torus.filter(|_| network.lines().is_some_and(Lines::are_closed)))
    }

    /// The group of nodes along lines, all of which are closed to rings where they are no full meshes.
    ///
    /// ```
    /// use flitloom_core::{collective::Torus, fabric::{Factor, Lines}};
    /// // Full meshes of 8 and of 4 nodes, and a ring: 7 + 3 + 2 links leave a node.
    /// let factors = vec![Factor::Full(8), Factor::Full(4), Factor::Ring(6)];
    /// let product = Torus::new(&Lines { factors, widths: vec![], twisted: false })?;
    /// assert_eq!(product.generators().len(), 12);
    /// assert_eq!(product.distances(&product.neighbours()).into_iter().max(), Some(5));
    /// # Ok::<(), flitloom_core::collective::CollectiveError>(())
    /// ```
    ///
    /// # Errors
    /// A size or number of links is out of range, the sizes have no twist, or a node would have more than
    /// [`MAX_PORTS`] links.
    pub fn new(lines: &Lines) -> Result<Self, CollectiveError> {
        let (sizes, widths) = (lines.sizes(), &lines.widths);
        let nodes = sizes.iter().fold(1_u64, |product, &size| product.saturating_mul(size.into()));
        if sizes.is_empty() || sizes.iter().any(|&size| size < 2) || nodes > MAX_ORBIT_NODES {
            return Err(CollectiveError::Sizes { nodes });
        }
        if !widths.is_empty() && widths.len() != sizes.len() {
            return Err(CollectiveError::Widths { given: widths.len(), needed: sizes.len() });
        }
        if let Some(&width) = widths.iter().find(|&&width| !(1..=64).contains(&width)) {
            return Err(CollectiveError::Width(width));
        }
        let shape = if lines.twisted { Shape::twisted(&sizes) } else { Shape::torus(&sizes) }?;
        let full = lines.factors.iter().map(|factor| !lines.twisted && matches!(factor, Factor::Full(_)));
        let mut torus = Self { shape, full: full.collect(), generators: Vec::new() };
        for dimension in 0..sizes.len() {
            torus.add_generators(dimension, widths.get(dimension).copied().unwrap_or(1));
        }
        match torus.generators.len() {
            ports if ports > MAX_PORTS => Err(CollectiveError::Ports(ports)),
            _ => Ok(torus),
        }
    }

    fn add_generators(&mut self, dimension: usize, lanes: u32) {
        let (size, stride) = (self.sizes()[dimension], self.shape.stride(dimension));
        let links: Vec<(Sign, u32, NodeId)> = if self.full[dimension] {
            (1..size).map(|step| (Sign::Plus, step, step * stride)).collect()
        } else {
            let back = self.negative(stride);
            let ring = [(Sign::Plus, 1, stride), (Sign::Minus, 1, back)];
            ring[..1 + usize::from(back != stride)].to_vec()
        };
        for (sign, step, element) in links {
            let lanes = (0..lanes).map(|lane| Generator { dimension, sign, step, lane, element });
            self.generators.extend(lanes);
        }
    }

    /// Sizes of all dimensions.
    pub fn sizes(&self) -> &[u32] {
        self.shape.sizes()
    }

    /// Whether it is twisted.
    pub fn is_twisted(&self) -> bool {
        self.shape.is_twisted()
    }

    /// Whether a dimension is a full mesh.
    pub fn is_full(&self, dimension: usize) -> bool {
        self.full[dimension]
    }

    /// Parallel links of a dimension.
    pub fn width(&self, dimension: usize) -> u32 {
        let along = self.generators.iter().filter(|generator| generator.dimension == dimension);
        along.map(|generator| generator.lane + 1).max().unwrap_or(1)
    }

    /// A coordinate of a node.
    pub fn digit(&self, node: NodeId, dimension: usize) -> u32 {
        self.shape.coordinate(node, dimension)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.shape.nodes()
    }

    /// The generators: the links that leave every node.
    pub fn generators(&self) -> &[Generator] {
        &self.generators
    }

    /// The generator whose links run the other way along those of the given one.
    pub fn opposite(&self, generator: usize) -> usize {
        let wanted = &self.generators[generator];
        let back = self.negative(wanted.element);
        let found = self.generators.iter().position(|other| {
            other.dimension == wanted.dimension && other.lane == wanted.lane && other.element == back
        });
        found.unwrap_or(generator)
    }

    /// The sum of two nodes as elements of the group.
    pub fn add(&self, a: NodeId, b: NodeId) -> NodeId {
        self.combined(|dimension| i64::from(self.digit(a, dimension)) + i64::from(self.digit(b, dimension)))
    }

    /// The element that undoes the given one.
    pub fn negative(&self, node: NodeId) -> NodeId {
        self.combined(|dimension| -i64::from(self.digit(node, dimension)))
    }

    fn combined(&self, coordinate: impl Fn(usize) -> i64) -> NodeId {
        let coordinates: Vec<i64> = (0..self.shape.dimensions()).map(coordinate).collect();
        self.shape.node_beyond(&coordinates)
    }

    /// Per generator the node after every node.
    pub fn neighbours(&self) -> Vec<Vec<NodeId>> {
        let after = |generator: &Generator| {
            (0..self.nodes() as NodeId).map(|node| self.add(node, generator.element)).collect()
        };
        self.generators.iter().map(after).collect()
    }

    /// Distance of every node from node 0, in hops.
    pub fn distances(&self, neighbours: &[Vec<NodeId>]) -> Vec<u32> {
        let next = |node: NodeId| neighbours.iter().map(move |after| after[node as usize]);
        walk::distances(self.nodes(), 0, u32::MAX, next).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_negative_and_addition_commutes() {
        for (sizes, twisted) in
            [(vec![4, 4, 8], true), (vec![2, 4], true), (vec![3, 6, 6], true), (vec![3, 5], false)]
        {
            let torus = Torus::new(&Lines::rings(&sizes, twisted)).unwrap();
            for a in 0..torus.nodes() as NodeId {
                assert_eq!(torus.add(a, torus.negative(a)), 0);
                for b in 0..torus.nodes() as NodeId {
                    assert_eq!(torus.add(a, b), torus.add(b, a));
                }
            }
            for generator in 0..torus.generators().len() {
                assert_eq!(torus.opposite(torus.opposite(generator)), generator);
            }
        }
    }

    #[test]
    fn size_two_has_one_link_unless_the_twist_makes_two_of_it() {
        let torus = |sizes: &[u32], twisted| Torus::new(&Lines::rings(sizes, twisted));
        assert_eq!(torus(&[2, 3], false).unwrap().generators().len(), 3);
        assert_eq!(torus(&[2, 4], true).unwrap().generators().len(), 4);
        let wide = Lines { widths: vec![2, 1], ..Lines::rings(&[4, 4], false) };
        assert_eq!(Torus::new(&wide).unwrap().generators().len(), 6);
        assert!(torus(&[4, 4, 4], true).is_err());
        assert!(torus(&[4, 6, 8], true).is_err());
    }
}
