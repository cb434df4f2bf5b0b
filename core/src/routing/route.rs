use super::Rules;
use crate::fabric::{Direction, MAX_DIMENSIONS, Shape, Sign};
use std::fmt;

/// One route as the router's header carries it: first step, signed hops per dimension, last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    /// Step before the ordered part.
    pub first: Option<Direction>,
    /// Hops of the ordered part per dimension; the sign is the direction bit.
    pub hops: [i32; MAX_DIMENSIONS],
    /// Step after the ordered part.
    pub last: Option<Direction>,
}

impl Route {
    /// The directions of all hops in order.
    pub fn directions<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = Direction> + 'a {
        let middle = rules.order().iter().flat_map(|&direction| {
            let hops = self.hops[direction.dimension()];
            let taken = (hops > 0) == (direction.sign() == Sign::Plus);
            std::iter::repeat_n(direction, if taken { hops.unsigned_abs() as usize } else { 0 })
        });
        self.first.into_iter().chain(middle).chain(self.last)
    }

    /// Number of hops.
    pub fn length(&self) -> u32 {
        let middle: u32 = self.hops.iter().map(|hops| hops.unsigned_abs()).sum();
        middle + u32::from(self.first.is_some()) + u32::from(self.last.is_some())
    }
}

/// A run-length text of hops, such as `+x2 -y`.
pub struct Hops<'a>(
    /// The hops.
    pub &'a [Direction],
);

impl fmt::Display for Hops<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, run) in self.0.chunk_by(|a, b| a == b).enumerate() {
            let gap = if index > 0 { " " } else { "" };
            write!(out, "{gap}{}", run[0])?;
            if run.len() > 1 {
                write!(out, "{}", run.len())?;
            }
        }
        Ok(())
    }
}

/// How routes of one shape are packed into 32 bits.
///
/// From the lowest bit: first step (4 bits, 0 none, else 1 + direction index), last step (4), one
/// direction bit per dimension (1 is minus), then the hop counts, each wide enough for its
/// dimension.
///
/// ```
/// use flitloom_core::{fabric::Shape, routing::{HeaderLayout, Route}};
/// let layout = HeaderLayout::new(&Shape::torus(&[4, 2, 2, 2])?).unwrap();
/// let route = Route { hops: [-2, 0, 1, 0, 0, 0], ..Route::default() };
/// assert_eq!(layout.unpack(layout.pack(&route)), route);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLayout {
    widths: Vec<u32>,
}

impl HeaderLayout {
    /// The layout for a shape, or `None` if a header would need more than 32 bits (never for up to
    /// 8192 nodes).
    pub fn new(shape: &Shape) -> Option<Self> {
        let widths: Vec<u32> = shape.sizes().iter().map(|&size| 32 - (size - 1).leading_zeros()).collect();
        let bits = 8 + widths.len() as u32 + widths.iter().sum::<u32>();
        (bits <= 32).then_some(Self { widths })
    }

    /// Bits of each hop count.
    pub fn widths(&self) -> &[u32] {
        &self.widths
    }

    /// The header of a route.
    pub fn pack(&self, route: &Route) -> u32 {
        let step = |step: Option<Direction>| step.map_or(0, |direction| direction.index() as u32 + 1);
        let mut header = step(route.first) | step(route.last) << 4;
        let mut shift = 8 + self.widths.len() as u32;
        for (dimension, &width) in self.widths.iter().enumerate() {
            let hops = route.hops[dimension];
            header |= u32::from(hops < 0) << (8 + dimension) | hops.unsigned_abs() << shift;
            shift += width;
        }
        header
    }

    /// The route of a header.
    pub fn unpack(&self, header: u32) -> Route {
        let step = |field: u32| (field > 0).then(|| Direction::from_index(field as usize - 1));
        let mut route = Route { first: step(header & 15), last: step(header >> 4 & 15), ..Route::default() };
        let mut shift = 8 + self.widths.len() as u32;
        for (dimension, &width) in self.widths.iter().enumerate() {
            let hops = (header >> shift & ((1 << width) - 1)) as i32;
            route.hops[dimension] = if header >> (8 + dimension) & 1 == 1 { -hops } else { hops };
            shift += width;
        }
        route
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_give_their_route_back(
            sizes in prop::collection::vec(2_u32..=9, 1..=4),
            fractions in prop::collection::vec(-1.0..1.0_f64, 4),
            first in 0_usize..9, last in 0_usize..9,
        ) {
            let shape = Shape::torus(&sizes).unwrap();
            let layout = HeaderLayout::new(&shape).unwrap();
            let step = |index: usize| (index > 0).then(|| Direction::from_index((index - 1) % shape.directions()));
            let mut route = Route { first: step(first), last: step(last), ..Route::default() };
            for (dimension, &size) in sizes.iter().enumerate() {
                route.hops[dimension] = (fractions[dimension] * f64::from(size)) as i32;
            }
            prop_assert_eq!(layout.unpack(layout.pack(&route)), route);
        }
    }

    #[test]
    fn every_shape_up_to_8192_nodes_fits() {
        for sizes in
            [vec![8191], vec![3; 6], vec![5, 5, 5, 5, 3, 3], vec![2; 6], vec![90, 91], vec![17, 17, 17]]
        {
            assert!(HeaderLayout::new(&Shape::torus(&sizes).unwrap()).is_some(), "{sizes:?}");
        }
    }

    #[test]
    fn hops_are_written_as_runs() {
        let [east, south] = [0, 3].map(Direction::from_index);
        assert_eq!(Hops(&[east, east, south]).to_string(), "+x2 -y");
    }
}
