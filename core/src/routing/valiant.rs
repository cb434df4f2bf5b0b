//! Valiant's randomised routing (Valiant and Brebner 1981): in dimension order to a node drawn for the
//! packet, and from there in dimension order to its destination. Each phase has channels of its own,
//! so the channel of a packet says which phase it is in.

use super::{
    At, Header, Output, Place,
    claims::{About, Claims, Oblivious},
    dimension_order,
};
use crate::fabric::NodeId;

/// `valiant`.
pub(super) struct Valiant;

impl About for Valiant {
    const NAME: &'static str = "valiant";
    const LONG_NAME: &'static str = "valiant-randomised";
    const SUMMARY: &'static str = "in dimension order to a node drawn for the packet, and on from there";

    fn claims(place: Place, bubble: bool) -> Claims {
        Claims { minimal: false, draws: true, ..Claims::in_layers(place, bubble, 2) }
    }
}

impl Oblivious for Valiant {
    /// The next hop of the phase the packet is in.
    fn next(place: Place, at: At, header: &Header) -> Output {
        if header.source == header.destination {
            return place.follow(at, at.channel, None);
        }
        let (half, between) = (place.dateline_channels(), between(place, header));
        let first_phase = at.channel < half;
        if first_phase && at.node != between {
            return place.follow(at, at.channel, dimension_order::next(place.shape, at.node, between));
        }
        second_phase(place, at, header, if first_phase { half } else { at.channel })
    }
}

/// The node a packet goes by.
pub(super) fn between(place: Place, header: &Header) -> NodeId {
    ((u128::from(header.drawn) * place.shape.nodes() as u128) >> 64) as NodeId
}

/// The next hop straight to the destination, from a channel of the second phase.
pub(super) fn second_phase(place: Place, at: At, header: &Header, channel: u8) -> Output {
    let direction = dimension_order::next(place.shape, at.node, header.destination);
    place.follow(at, if direction.is_some() { channel } else { at.channel }, direction)
}
