//! O1TURN (Seo et al. 2005): each packet takes the dimensions in ascending or in descending order,
//! drawn with equal odds. The two orders have channels of their own, so neither can wait for the other.

use super::{At, Header, Options, Place, RoutingFunction, dimension_order};

/// The next hop in the packet's order.
pub fn options(place: Place, at: At, header: &Header) -> Options {
    let shape = place.shape;
    let descending = header.drawn & 1 == 1;
    let sign = |dimension: usize| {
        let [from, to] = [at.node, header.destination].map(|node| shape.coordinate(node, dimension));
        dimension_order::sign(shape.size(dimension), shape.wraps(dimension), from, to)
            .map(|sign| crate::fabric::Direction::new(dimension, sign))
    };
    let count = shape.dimensions();
    let direction = (0..count).find_map(|k| sign(if descending { count - 1 - k } else { k }));
    // The descending order uses the upper half of the channels needed.
    let half = RoutingFunction::O1Turn.claims(place, false).channels / 2;
    let start = at.along.is_none() && descending && direction.is_some();
    place.follow(at, if start { half } else { at.channel }, direction)
}
