//! Valiant's randomised routing (Valiant and Brebner 1981): in dimension order to a node drawn for the
//! packet, and from there in dimension order to its destination. Each phase has channels of its own,
//! so the channel of a packet says which phase it is in.

use super::{At, Header, Options, Place, RoutingFunction, dimension_order};
use crate::fabric::NodeId;

/// The next hop of the phase the packet is in.
pub fn options(place: Place, at: At, header: &Header) -> Options {
    let nodes = place.shape.nodes() as u128;
    let between = ((u128::from(header.drawn) * nodes) >> 64) as NodeId;
    let half = RoutingFunction::Valiant.claims(place, false).channels / 2;
    if header.source == header.destination {
        return place.follow(at, at.channel, None);
    }
    let first_phase = at.channel < half;
    if first_phase && at.node != between {
        let direction = dimension_order::next(place.shape, at.node, between);
        return place.follow(at, at.channel, direction);
    }
    let direction = dimension_order::next(place.shape, at.node, header.destination);
    place.follow(at, if first_phase && direction.is_some() { half } else { at.channel }, direction)
}
