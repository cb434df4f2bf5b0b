use super::{Direction, Fabric, LinkId, NodeId, Shape};
use std::collections::HashSet;

/// A map of the nodes that keeps neighbours: dimensions are exchanged, shifted and reflected.
///
/// ```
/// use flitloom_core::fabric::{Shape, Symmetry};
/// let shape = Shape::torus(&[4, 4])?;
/// // Coordinates (1, 2) go to (2, 1).
/// assert_eq!(Symmetry::exchanges(&shape)[0].node(&shape, 1 + 4 * 2), 2 + 4);
/// assert_eq!(Symmetry::candidates(&shape).len(), 8 * 8);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symmetry {
    /// Per dimension a shift, and whether coordinate `c` goes to `shift - c` rather than `shift + c`.
    parts: Vec<(u32, bool)>,
    /// Per dimension the one whose coordinate it takes.
    order: Vec<usize>,
}

impl Symmetry {
    /// The map that moves nothing.
    pub fn identity(shape: &Shape) -> Self {
        Self { parts: vec![(0, false); shape.dimensions()], order: (0..shape.dimensions()).collect() }
    }

    /// All exchanges of dimensions that are alike, without shifts and reflections, but for the identity.
    pub fn exchanges(shape: &Shape) -> Vec<Self> {
        let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
        for dimension in 0..shape.dimensions() {
            let alike = |&other: &usize| {
                (shape.size(other), shape.wraps(other)) == (shape.size(dimension), shape.wraps(dimension))
            };
            let longer = |order: &Vec<usize>| -> Vec<Vec<usize>> {
                let free = (0..shape.dimensions()).filter(alike).filter(|other| !order.contains(other));
                free.map(|other| [&order[..], &[other]].concat()).collect()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        let identity = Self::identity(shape);
        let all = orders.into_iter().map(|order| Self { order, ..identity.clone() });
        all.filter(|other| *other != identity).collect()
    }

    /// Whether it takes a dimension to another one.
    pub fn is_exchange(&self) -> bool {
        self.order.iter().enumerate().any(|(dimension, &from)| dimension != from)
    }

    /// Where it takes a node.
    pub fn node(&self, shape: &Shape, node: NodeId) -> NodeId {
        let parts = self.parts.iter().zip(&self.order);
        if shape.is_twisted() {
            let new = parts.map(|(&(shift, reflect), &from)| {
                let old = i64::from(shape.coordinate(node, from));
                i64::from(shift) + if reflect { -old } else { old }
            });
            return shape.node_beyond(&new.collect::<Vec<_>>());
        }
        parts
            .enumerate()
            .map(|(dimension, (&(shift, reflect), &from))| {
                let (size, old) = (shape.size(dimension), shape.coordinate(node, from));
                let new = if reflect { shift + size - old } else { shift + old };
                new % size * shape.stride(dimension)
            })
            .sum()
    }

    /// Where it takes a link.
    pub fn link(&self, fabric: &Fabric, link: LinkId) -> LinkId {
        let (node, direction) = fabric.link_ends(link);
        let from = direction.dimension();
        let along = self.order.iter().position(|&other| other == from).unwrap_or(from);
        let direction = Direction::new(along, direction.sign());
        let direction = if self.parts[along].1 { direction.opposite() } else { direction };
        fabric.link(self.node(fabric.shape(), node), direction)
    }

    /// First `self`, then `other`.
    #[must_use]
    pub fn then(&self, other: &Self, shape: &Shape) -> Self {
        let composed = other.parts.iter().zip(&other.order).map(|(&b, &from)| {
            let a = self.parts[from];
            let shift = i64::from(b.0) + if b.1 { -i64::from(a.0) } else { a.0.into() };
            (shift, (a.1 != b.1, self.order[from]))
        });
        let (shifts, rest): (Vec<i64>, Vec<(bool, usize)>) = composed.unzip();
        let shifts = shape.coordinates(shape.node_beyond(&shifts));
        let (reflections, order): (Vec<bool>, Vec<usize>) = rest.into_iter().unzip();
        Self { parts: shifts.into_iter().zip(reflections).collect(), order }
    }

    /// The shifts and reflections of a shape: all of them, or only those in one dimension and the complement when
    /// there are too many.
    pub fn candidates(shape: &Shape) -> Vec<Self> {
        const MANY: u64 = 1 << 17;
        let order = (0..shape.dimensions()).collect::<Vec<_>>();
        let of_dimension = |dimension: usize| -> Vec<(u32, bool)> {
            let size = shape.size(dimension);
            if shape.wraps(dimension) {
                (0..size).flat_map(|shift| [(shift, false), (shift, true)]).collect()
            } else {
                vec![(0, false), (size - 1, true)]
            }
        };
        let all: Vec<Vec<(u32, bool)>> = (0..shape.dimensions()).map(of_dimension).collect();
        let number = all.iter().fold(1_u64, |product, parts| product.saturating_mul(parts.len() as u64));
        if number <= MANY {
            return all.iter().fold(vec![Self { parts: Vec::new(), order }], |partial, parts| {
                partial
                    .iter()
                    .flat_map(|symmetry| {
                        parts.iter().map(move |&part| {
                            let mut longer = symmetry.clone();
                            longer.parts.push(part);
                            longer
                        })
                    })
                    .collect()
            });
        }
        let complement = (0..shape.dimensions()).map(|dimension| (shape.size(dimension) - 1, true));
        let mut some = vec![Self { parts: complement.collect(), order }];
        for (dimension, parts) in all.iter().enumerate() {
            some.extend(parts.iter().map(|&part| {
                let mut symmetry = Self::identity(shape);
                symmetry.parts[dimension] = part;
                symmetry
            }));
        }
        some
    }

    /// All products of a group and one more element, up to a little over `largest` elements.
    pub fn closure(shape: &Shape, group: &[Self], added: &Self, largest: usize) -> Vec<Self> {
        let mut elements = group.to_vec();
        let mut known: HashSet<Self> = elements.iter().cloned().collect();
        let mut generators = group.to_vec();
        generators.push(added.clone());
        let mut next = 0;
        while next < elements.len() && elements.len() <= largest {
            for generator in &generators {
                let product = elements[next].then(generator, shape);
                if known.insert(product.clone()) {
                    elements.push(product);
                }
            }
            next += 1;
        }
        elements
    }

    /// The orbits of nodes under a group: the number of its orbit for every node, by first members.
    pub fn orbits_of_nodes(shape: &Shape, group: &[Self]) -> Vec<u32> {
        orbits(shape.nodes(), group, |symmetry, node| symmetry.node(shape, node as NodeId) as usize)
    }

    /// The orbits of links, those of failed or missing ones included.
    pub fn orbits_of_links(fabric: &Fabric, group: &[Self]) -> Vec<u32> {
        let links = fabric.shape().nodes() * fabric.shape().directions();
        orbits(links, group, |symmetry, link| symmetry.link(fabric, link as LinkId) as usize)
    }

    /// The orbits of ordered pairs of nodes; the pair of `a` and `b` has the number `a * nodes + b`.
    pub fn orbits_of_pairs(shape: &Shape, group: &[Self]) -> Vec<u32> {
        let nodes = shape.nodes();
        orbits(nodes * nodes, group, |symmetry, pair| {
            let image = |node: usize| symmetry.node(shape, node as NodeId) as usize;
            image(pair / nodes) * nodes + image(pair % nodes)
        })
    }
}

fn orbits(count: usize, group: &[Symmetry], image: impl Fn(&Symmetry, usize) -> usize) -> Vec<u32> {
    let mut numbers = vec![u32::MAX; count];
    let mut next = 0;
    for first in 0..count {
        if numbers[first] == u32::MAX {
            numbers[first] = next;
            group.iter().for_each(|symmetry| numbers[image(symmetry, first)] = next);
            next += 1;
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shifts, reflections and exchanges, composed.
    fn some(shape: &Shape) -> Vec<Symmetry> {
        let exchanges = [vec![Symmetry::identity(shape)], Symmetry::exchanges(shape)].concat();
        let shifted = Symmetry::candidates(shape);
        let composed = |exchange: &Symmetry| {
            shifted.iter().step_by(3).map(|other| exchange.then(other, shape)).collect::<Vec<_>>()
        };
        exchanges.iter().flat_map(composed).collect()
    }

    #[test]
    fn links_go_where_their_ends_go() {
        let shapes = [
            Shape::torus(&[4, 4]),
            Shape::mesh(&[3, 3, 2]),
            Shape::new(&[3, 4, 3], &[true, false, true]),
            Shape::twisted(&[2, 4, 2]),
            Shape::twisted(&[3, 6]),
        ];
        for shape in shapes.map(Result::unwrap) {
            let fabric = Fabric::new(shape.clone());
            for symmetry in some(&shape) {
                let images: HashSet<NodeId> =
                    (0..shape.nodes() as NodeId).map(|node| symmetry.node(&shape, node)).collect();
                assert_eq!(images.len(), shape.nodes());
                for node in 0..shape.nodes() as NodeId {
                    for direction in (0..shape.directions()).map(Direction::from_index) {
                        let image = fabric.link_ends(symmetry.link(&fabric, fabric.link(node, direction)));
                        assert_eq!(image.0, symmetry.node(&shape, node));
                        let end = shape.neighbour(node, direction).map(|end| symmetry.node(&shape, end));
                        assert_eq!(shape.neighbour(image.0, image.1), end, "{symmetry:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_do_one_after_the_other() {
        let shape = Shape::torus(&[3, 4, 4]).unwrap();
        let all = some(&shape);
        for (one, other) in all.iter().zip(all.iter().rev()).step_by(7) {
            let product = one.then(other, &shape);
            for node in 0..shape.nodes() as NodeId {
                assert_eq!(product.node(&shape, node), other.node(&shape, one.node(&shape, node)));
            }
        }
    }

    #[test]
    fn orbits_are_what_burnside_counts() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        let fabric = Fabric::new(shape.clone());
        let identity = Symmetry::identity(&shape);
        let mut group = vec![identity];
        for added in [Symmetry::exchanges(&shape)[0].clone(), Symmetry::candidates(&shape)[18].clone()] {
            group = Symmetry::closure(&shape, &group, &added, usize::MAX);
        }
        let count = |numbers: Vec<u32>| numbers.into_iter().max().unwrap() as usize + 1;
        // The mean number of elements that a member of the group leaves where they are.
        let (nodes, links) = (shape.nodes() as u32, (shape.nodes() * shape.directions()) as u32);
        let fixed = |node: &dyn Fn(&Symmetry) -> usize| group.iter().map(node).sum::<usize>() / group.len();
        let of_nodes =
            |symmetry: &Symmetry| (0..nodes).filter(|&node| symmetry.node(&shape, node) == node).count();
        assert_eq!(count(Symmetry::orbits_of_nodes(&shape, &group)), fixed(&of_nodes));
        let of_links =
            |symmetry: &Symmetry| (0..links).filter(|&link| symmetry.link(&fabric, link) == link).count();
        assert_eq!(count(Symmetry::orbits_of_links(&fabric, &group)), fixed(&of_links));
        let of_pairs = |symmetry: &Symmetry| of_nodes(symmetry).pow(2);
        assert_eq!(count(Symmetry::orbits_of_pairs(&shape, &group)), fixed(&of_pairs));
    }
}
