//! Dimension-order routing: first along x, then y, ..., always minimal; along a circulant first by its longest step.
//!
//! Ties at distance exactly `N/2` of a wrapping dimension go by the shape's [`Ties`]. Usually they take the way that
//! wraps around: a coordinate below `N/2` goes minus, any other plus. Only this rule gives the largest link loads
//! (7 for bit-rotation and perfect shuffle, 8 for tornado on 16x16) that the best published
//! durations need (cup-stacking-extended-2023, Table 4).

use crate::fabric::{Direction, Displacement, Fabric, LinkId, NodeId, Shape, Sign, Ties};

/// The output direction at `here` for a packet to `destination`, or `None` when it has arrived.
///
/// ```
/// use flitloom_core::{fabric::Shape, routing::dimension_order};
/// let torus = Shape::torus(&[16, 16])?;
/// assert_eq!(dimension_order::next(&torus, 0, 8).unwrap().to_string(), "-x");
/// assert_eq!(dimension_order::next(&torus, 8, 0).unwrap().to_string(), "+x");
/// assert_eq!(dimension_order::next(&torus, 5, 5), None);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn next(shape: &Shape, here: NodeId, destination: NodeId) -> Option<Direction> {
    if shape.is_twisted() {
        return shape.directions_of(&hops(shape, here, destination)).next();
    }
    (0..shape.dimensions()).find_map(|dimension| {
        let (from, to) = (shape.coordinate(here, dimension), shape.coordinate(destination, dimension));
        along(shape, dimension, from, to).map(|(direction, _)| direction)
    })
}

/// The direction of travel within one dimension without a twist and the hops in it, or `None` when the
/// coordinates are equal. In a circulant these are the hops of the longest step that there are on the way; those of
/// others follow.
///
/// ```
/// use flitloom_core::{fabric::{Factor, Shape}, routing::dimension_order};
/// let product = Shape::product(&[Factor::Ring(8), Factor::Full(8)])?;
/// let hops = |dimension| dimension_order::along(&product, dimension, 0, 5).map(|(_, hops)| hops);
/// assert_eq!((hops(0), hops(1)), (Some(3), Some(1)));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[inline]
pub fn along(shape: &Shape, dimension: usize, from: u32, to: u32) -> Option<(Direction, u32)> {
    if shape.is_stepped(dimension) {
        return shape.along_steps(dimension, from, to);
    }
    let size = shape.size(dimension);
    let sign = sign(size, shape.wraps(dimension), shape.ties(), from, to)?;
    let (near, far) = if sign == Sign::Plus { (from, to) } else { (to, from) };
    let hops = if far >= near { far - near } else { far + size - near };
    Some((shape.direction(dimension, sign), hops))
}

/// The hops of the whole way, per dimension.
///
/// Of several shortest displacements each dimension takes the one that goes plus from the upper half of the
/// coordinates and minus from the lower one, where the way enters it; so it is on every node of the way.
///
/// ```
/// use flitloom_core::{fabric::Shape, routing::dimension_order};
/// let twisted = Shape::twisted(&[4, 8])?;
/// // Half way round the long dimension is once round the short one.
/// assert_eq!(dimension_order::hops(&twisted, 0, 16)[..2], [-4, 0]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn hops(shape: &Shape, source: NodeId, destination: NodeId) -> Displacement {
    let mut ways = shape.ways(source, destination);
    let mut here = source;
    for dimension in 0..shape.dimensions() {
        if ways.len() == 1 {
            break;
        }
        let upper = shape.coordinate(here, dimension) >= shape.size(dimension) / 2;
        let hops = ways.iter().map(|way| way[dimension]);
        let chosen = if upper { hops.max() } else { hops.min() }.unwrap_or(0);
        ways.retain(|way| way[dimension] == chosen);
        here = shape.moved(here, dimension, chosen);
    }
    ways[0]
}

/// The sign of travel within one dimension, or `None` when the coordinates are equal.
#[inline]
pub fn sign(size: u32, wraps: bool, ties: Ties, from: u32, to: u32) -> Option<Sign> {
    nearer(size, wraps, from, to, || ties.go_plus(size, from))
}

/// The same, where `plus` says which way is taken to the opposite place of a ring, as far either way.
#[inline]
pub(crate) fn nearer(
    size: u32,
    wraps: bool,
    from: u32,
    to: u32,
    plus: impl FnOnce() -> bool,
) -> Option<Sign> {
    if from == to {
        return None;
    }
    if !wraps {
        return Some(if to > from { Sign::Plus } else { Sign::Minus });
    }
    let ahead = if to > from { to - from } else { to + size - from };
    let plus = match (2 * ahead).cmp(&size) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => plus(),
    };
    Some(if plus { Sign::Plus } else { Sign::Minus })
}

/// The links of the whole way from `source` to `destination`, in order.
///
/// ```
/// use flitloom_core::{fabric::{Fabric, Shape}, routing::dimension_order};
/// let fabric = Fabric::new(Shape::mesh(&[4, 4])?);
/// assert_eq!(dimension_order::path(&fabric, 0, 5).count(), 2);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn path(fabric: &Fabric, source: NodeId, destination: NodeId) -> impl Iterator<Item = LinkId> + '_ {
    let shape = fabric.shape();
    let mut here = source;
    let mut known = shape.is_twisted().then(|| shape.directions_of(&hops(shape, source, destination)));
    std::iter::from_fn(move || {
        let direction = match &mut known {
            Some(known) => known.next()?,
            None => next(shape, here, destination)?,
        };
        let link = fabric.link(here, direction);
        // Minimal routing never leaves the shape, so the neighbour exists.
        here = shape.neighbour(here, direction)?;
        Some(link)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_ties_load_both_senses_alike() {
        let loads = |ties, size: u32| {
            let fabric = Fabric::new(Shape::torus(&[size]).unwrap().with_ties(ties));
            let mut loads = vec![0; fabric.shape().nodes() * fabric.shape().directions()];
            for (source, destination) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                path(&fabric, source, destination).for_each(|link| loads[link as usize] += 1);
            }
            loads
        };
        // Of 8 nodes the way to the opposite one has 4 hops, and all others together 1 + 2 + 3 either way.
        assert_eq!(loads(Ties::Balanced, 8), [8; 16]);
        assert_eq!(loads(Ties::Wrap, 8).into_iter().max(), Some(10));
        // Of 6, not every link can have as much.
        assert_eq!(loads(Ties::Balanced, 6), [5, 4, 4, 5, 5, 4, 4, 5, 5, 4, 4, 5]);
    }

    #[test]
    fn ways_are_minimal_in_every_shape() {
        let shapes = [
            Shape::torus(&[16]),
            Shape::new(&[5, 4], &[true, false]),
            Shape::torus(&[2, 3, 4]),
            Shape::twisted(&[4, 8]),
            Shape::twisted(&[4, 2, 4]),
        ];
        let shapes = shapes.map(Result::unwrap);
        let balanced = shapes.clone().map(|shape| shape.with_ties(Ties::Balanced));
        for shape in shapes.into_iter().chain(balanced) {
            let fabric = Fabric::new(shape);
            let nodes = fabric.shape().nodes() as NodeId;
            for (source, destination) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                let links: Vec<LinkId> = path(&fabric, source, destination).collect();
                assert_eq!(links.len() as u32, fabric.shape().distance(source, destination));
                // Whoever asks at every node goes the same way.
                let mut here = source;
                for link in links {
                    let direction = next(fabric.shape(), here, destination).unwrap();
                    assert_eq!(fabric.link(here, direction), link);
                    here = fabric.shape().neighbour(here, direction).unwrap();
                }
                assert_eq!(here, destination);
            }
        }
    }
}
