use super::{NodeId, Shape, common_divisor};

/// A group of symmetries: the rotations of all rings by multiples of a period.
///
/// Every node is a shifted *corner*, the first node of its orbit; mesh dimensions stay as they are.
///
/// ```
/// use flitloom_core::fabric::{Shape, Shifts};
/// let shifts = Shifts::new(&Shape::torus(&[6, 4])?, 2);
/// // Coordinates (3, 2) come from (1, 0).
/// assert_eq!((shifts.corner(3 + 6 * 2), shifts.count()), (1, 6));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shifts {
    corners: Vec<NodeId>,
    count: u64,
}

impl Shifts {
    /// All shifts by multiples of the period; of a ring whose size it does not divide, by multiples of their
    /// greatest common divisor.
    pub fn new(shape: &Shape, period: u32) -> Self {
        let rings = (0..shape.dimensions()).filter(|&dimension| shape.wraps(dimension));
        // Where steps over an edge turn, what they add must be multiples of all periods.
        let turns = (0..shape.dimensions()).filter(|&ring| shape.is_twisted() && !shape.turns(ring));
        let halves = turns.map(|ring| shape.size(ring) / 2);
        let short = (0..shape.dimensions()).find(|&ring| shape.turns(ring)).map(|ring| shape.size(ring));
        let period = halves.chain(short).fold(period, |period, turn| common_divisor(turn, period));
        let periods: Vec<(usize, u32)> =
            rings.map(|ring| (ring, common_divisor(shape.size(ring), period))).collect();
        let corner = |node: NodeId| {
            let along = |&(ring, period): &(usize, u32)| {
                let coordinate = shape.coordinate(node, ring);
                (coordinate - coordinate % period) * shape.stride(ring)
            };
            node - periods.iter().map(along).sum::<u32>()
        };
        Self {
            corners: (0..shape.nodes() as NodeId).map(corner).collect(),
            count: periods.iter().map(|&(ring, period)| u64::from(shape.size(ring) / period)).product(),
        }
    }

    /// All shifts.
    pub fn all(shape: &Shape) -> Self {
        Self::new(shape, 1)
    }

    /// The first node of the orbit of a node.
    pub fn corner(&self, node: NodeId) -> NodeId {
        self.corners[node as usize]
    }

    /// Whether a node is the first of its orbit.
    pub fn is_corner(&self, node: NodeId) -> bool {
        self.corner(node) == node
    }

    /// The number of shifts, which is that of nodes in every orbit.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The corners of all nodes.
    pub fn corners(&self) -> &[NodeId] {
        &self.corners
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Symmetry;

    #[test]
    fn orbits_are_those_of_the_symmetries() {
        let shapes = [
            Shape::torus(&[6, 4]),
            Shape::mesh(&[3, 3]),
            Shape::new(&[3, 4, 6], &[true, false, true]),
            Shape::twisted(&[4, 8]),
            Shape::twisted(&[2, 4, 2]),
        ];
        for shape in shapes.map(Result::unwrap) {
            for period in 1..=4 {
                let shifts = Shifts::new(&shape, period);
                // Of all symmetries those that move corners onto nodes of their orbit by the same amount.
                let moved = |symmetry: &Symmetry| {
                    let to = symmetry.node(&shape, 0);
                    let by = |dimension| shape.coordinate(to, dimension);
                    shifts.corner(to) == 0
                        && (0..shape.nodes() as NodeId).all(|node| {
                            let sums = (0..shape.dimensions()).map(|dimension| {
                                i64::from(shape.coordinate(node, dimension) + by(dimension))
                            });
                            symmetry.node(&shape, node) == shape.node_beyond(&sums.collect::<Vec<_>>())
                        })
                };
                let group: Vec<Symmetry> = Symmetry::candidates(&shape).into_iter().filter(moved).collect();
                assert_eq!(group.len() as u64, shifts.count());
                let orbits = Symmetry::orbits_of_nodes(&shape, &group);
                for node in 0..shape.nodes() {
                    let first = orbits.iter().position(|&orbit| orbit == orbits[node]);
                    assert_eq!(first, Some(shifts.corner(node as NodeId) as usize));
                }
            }
        }
    }
}
