//! Twisted tori: a step over the edge of a short dimension also moves half of every long one.

use super::{Direction, FabricError, MAX_DIMENSIONS, NodeId, Shape, Sign};

/// The size of the short dimensions of a torus that can be twisted: all others are multiples of it, and even.
fn short_size(sizes: &[u32]) -> Option<u32> {
    let short = sizes.iter().min().copied()?;
    let fits = |&size: &u32| size == short || size.is_multiple_of(short) && size.is_multiple_of(2);
    (sizes.iter().all(fits) && sizes.iter().any(|&size| size > short)).then_some(short)
}

/// Signed hops in every dimension.
pub type Displacement = [i32; MAX_DIMENSIONS];

impl Shape {
    /// A twisted torus: a step over the edge of a short dimension (the least size, K) also moves half of every
    /// long one (even multiples of K; Camara, Moreto, Vallejo et al. 2010, Twisted torus topologies for
    /// enhanced interconnection networks).
    ///
    /// ```
    /// use flitloom_core::fabric::{Direction, Shape, Sign};
    /// let twisted = Shape::twisted(&[4, 4, 8])?;
    /// let over = twisted.neighbour(3, Direction::new(0, Sign::Plus)).unwrap();
    /// assert_eq!(twisted.coordinates(over), [0, 0, 4]);
    /// assert_eq!(twisted.distance(0, over), 4);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Shape::new`], or the sizes have no twist.
    pub fn twisted(sizes: &[u32]) -> Result<Self, FabricError> {
        let mut shape = Self::torus(sizes)?;
        let short = short_size(sizes).ok_or_else(|| FabricError::Twist(sizes.to_vec()))?;
        // Its two senses differ even where the size is 2.
        shape.wraps.fill(true);
        shape.short = Some(short);
        Ok(shape)
    }

    /// Whether steps over the edges of short dimensions move long ones.
    #[inline]
    pub fn is_twisted(&self) -> bool {
        self.short.is_some()
    }

    /// Whether a step over the edge of a dimension moves others.
    pub(crate) fn turns(&self, dimension: usize) -> bool {
        self.short == Some(self.size(dimension))
    }

    /// Nodes that follow each other in a direction of a wrapping dimension before they repeat: twice the size
    /// where a step over the edge moves others.
    pub fn ring(&self, dimension: usize) -> u32 {
        if self.turns(dimension) { 2 * self.size(dimension) } else { self.size(dimension) }
    }

    /// The place of a node in its ring of a dimension: one more with every step in its plus direction.
    ///
    /// ```
    /// use flitloom_core::fabric::Shape;
    /// let twisted = Shape::twisted(&[4, 8])?;
    /// let behind = twisted.node(&[1, 4]);
    /// assert_eq!((twisted.ring(0), twisted.along(1, 0), twisted.along(behind, 0)), (8, 1, 5));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn along(&self, node: NodeId, dimension: usize) -> u32 {
        let coordinate = self.coordinate(node, dimension);
        let behind = |&long: &usize| !self.turns(long);
        let long = (0..self.dimensions()).find(behind).filter(|_| self.turns(dimension));
        let turned = long.is_some_and(|long| self.coordinate(node, long) >= self.size(long) / 2);
        if turned { coordinate + self.size(dimension) } else { coordinate }
    }

    /// Where a step over the edge of a dimension leads that would lead to a node without the twist.
    #[inline]
    pub(super) fn turned(&self, node: NodeId, dimension: usize) -> NodeId {
        if self.turns(dimension) { self.half_on(node) } else { node }
    }

    /// Half way round all long dimensions.
    fn half_on(&self, node: NodeId) -> NodeId {
        (0..self.dimensions()).filter(|&long| !self.turns(long)).fold(node, |node, long| {
            let half = self.size(long) / 2;
            let by = half * self.stride(long);
            if self.coordinate(node, long) < half { node + by } else { node - by }
        })
    }

    /// The node at coordinates that may lie outside of wrapping dimensions.
    pub fn node_beyond(&self, coordinates: &[i64]) -> NodeId {
        let mut turns = 0;
        let mut node = 0;
        for (dimension, &coordinate) in coordinates.iter().enumerate() {
            let size = i64::from(self.size(dimension));
            if self.turns(dimension) {
                turns += coordinate.div_euclid(size);
            }
            node += coordinate.rem_euclid(size) as u32 * self.stride(dimension);
        }
        if turns.rem_euclid(2) == 1 { self.half_on(node) } else { node }
    }

    /// The node so many hops on in a dimension, which must not lead over the rim of a mesh.
    pub(crate) fn moved(&self, node: NodeId, dimension: usize, hops: i32) -> NodeId {
        let mut coordinates: Vec<i64> = self.coordinates(node).iter().map(|&c| c.into()).collect();
        coordinates[dimension] += i64::from(hops);
        self.node_beyond(&coordinates)
    }

    /// All shortest displacements from one node to another: signed hops per dimension, which lead there in any
    /// order.
    ///
    /// ```
    /// use flitloom_core::fabric::Shape;
    /// let ways = |shape: Shape, to: &[u32]| shape.ways(0, shape.node(to)).len();
    /// assert_eq!(ways(Shape::torus(&[4, 8])?, &[2, 4]), 4);
    /// // Four steps round the short dimension end half way round the long one, too.
    /// assert_eq!(ways(Shape::twisted(&[4, 8])?, &[0, 4]), 4);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn ways(&self, from: NodeId, to: NodeId) -> Vec<Displacement> {
        let mut ways = vec![([0; MAX_DIMENSIONS], 0_i32)];
        let gap = |dimension| self.coordinate(to, dimension) as i32 - self.coordinate(from, dimension) as i32;
        let all = 0..self.dimensions();
        for dimension in all.clone().filter(|&dimension| self.turns(dimension)) {
            let (size, gap) = (self.size(dimension) as i32, gap(dimension));
            // More than once round is never shorter: twice round leads nowhere.
            let turns = [0, 1, -1].into_iter().filter(|turn| (gap + turn * size).abs() <= size);
            let longer = |(way, before): (Displacement, i32)| {
                turns.clone().map(move |turn| {
                    let mut way = way;
                    way[dimension] = gap + turn * size;
                    (way, before + turn)
                })
            };
            ways = ways.into_iter().flat_map(longer).collect();
        }
        for dimension in all.filter(|&dimension| !self.turns(dimension)) {
            let (size, gap) = (self.size(dimension) as i32, gap(dimension));
            let wraps = self.wraps(dimension);
            let longer = |(way, turns): (Displacement, i32)| {
                let ahead = if wraps { (gap + turns * (size / 2)).rem_euclid(size) } else { gap };
                let hops = match (2 * ahead).cmp(&size) {
                    _ if !wraps => [Some(ahead), None],
                    std::cmp::Ordering::Less => [Some(ahead), None],
                    std::cmp::Ordering::Equal => [Some(ahead), Some(-ahead)],
                    std::cmp::Ordering::Greater => [Some(ahead - size), None],
                };
                hops.into_iter().flatten().map(move |hops| {
                    let mut way = way;
                    way[dimension] = hops;
                    (way, turns)
                })
            };
            ways = ways.into_iter().flat_map(longer).collect();
        }
        let length = |way: &Displacement| way.iter().map(|hops| hops.unsigned_abs()).sum::<u32>();
        let least = ways.iter().map(|(way, _)| length(way)).min().unwrap_or(0);
        ways.into_iter().map(|(way, _)| way).filter(|way| length(way) == least).collect()
    }

    /// The directions of a displacement, dimension by dimension.
    pub(crate) fn directions_of(&self, way: &Displacement) -> impl Iterator<Item = Direction> + use<> {
        let way = *way;
        (0..self.dimensions()).flat_map(move |dimension| {
            let hops = way[dimension];
            let sign = if hops > 0 { Sign::Plus } else { Sign::Minus };
            std::iter::repeat_n(Direction::new(dimension, sign), hops.unsigned_abs() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::walk;

    fn shapes() -> Vec<Shape> {
        let twisted: [&[u32]; 7] =
            [&[4, 8], &[2, 2, 4], &[3, 6], &[3, 6, 3], &[4, 8, 8], &[4, 12], &[2, 8, 4]];
        let plain = [Shape::torus(&[4, 5]), Shape::new(&[3, 4, 2], &[false, true, true])];
        twisted.iter().map(|sizes| Shape::twisted(sizes)).chain(plain).map(Result::unwrap).collect()
    }

    /// Hops to every node, found by walking.
    fn distances(shape: &Shape, from: NodeId) -> Vec<u32> {
        let directions = || (0..shape.directions()).map(Direction::from_index);
        let next = |here| directions().filter_map(move |direction| shape.neighbour(here, direction));
        walk::distances(shape.nodes(), from, u32::MAX, next).0
    }

    /// Shortest walks from one node to all others, counted by their displacements.
    #[test]
    fn ways_are_all_shortest_displacements() {
        for shape in shapes() {
            let nodes = 0..shape.nodes() as NodeId;
            for from in [0, shape.nodes() as NodeId / 2 + 1] {
                let walked = distances(&shape, from);
                for to in nodes.clone() {
                    let distance = walked[to as usize];
                    assert_eq!(shape.distance(from, to), distance);
                    let ways = shape.ways(from, to);
                    // All displacements of that length that lead there, by brute force.
                    let mut all = vec![vec![0_i64; shape.dimensions()]];
                    for dimension in 0..shape.dimensions() {
                        let most = i64::from(distance);
                        all = all
                            .into_iter()
                            .flat_map(|way| {
                                (-most..=most).map(move |hops| {
                                    let mut longer = way.clone();
                                    longer[dimension] = hops;
                                    longer
                                })
                            })
                            .filter(|way| way.iter().map(|hops| hops.abs()).sum::<i64>() <= most)
                            .collect();
                    }
                    let leads = |way: &Vec<i64>| {
                        let mut here = Some(from);
                        for (dimension, &hops) in way.iter().enumerate() {
                            let sign = if hops > 0 { Sign::Plus } else { Sign::Minus };
                            for _ in 0..hops.abs() {
                                here = here
                                    .and_then(|node| shape.neighbour(node, Direction::new(dimension, sign)));
                            }
                        }
                        here == Some(to)
                    };
                    let expected = all.iter().filter(|way| leads(way)).count();
                    assert_eq!(ways.len(), expected, "{:?} {from} {to}", shape.sizes());
                }
            }
        }
    }

    #[test]
    fn rings_are_walked_place_by_place() {
        for shape in shapes() {
            for dimension in (0..shape.dimensions()).filter(|&dimension| shape.wraps(dimension)) {
                let plus = Direction::new(dimension, Sign::Plus);
                for node in 0..shape.nodes() as NodeId {
                    let next = shape.neighbour(node, plus).unwrap();
                    assert_eq!(
                        shape.along(next, dimension),
                        (shape.along(node, dimension) + 1) % shape.ring(dimension)
                    );
                    assert_eq!(shape.neighbour(next, plus.opposite()), Some(node));
                    assert_eq!(shape.moved(node, dimension, 1), next);
                }
                let round =
                    (0..shape.ring(dimension)).fold(0, |node, _| shape.neighbour(node, plus).unwrap());
                assert_eq!(round, 0);
            }
        }
    }

    #[test]
    fn sizes_without_a_twist_are_refused() {
        for sizes in [&[4, 4][..], &[4, 4, 6], &[3, 9], &[5]] {
            assert_eq!(Shape::twisted(sizes), Err(FabricError::Twist(sizes.to_vec())));
        }
    }
}
