//! The routing function of dimension order: one dimension after the other, the first one first.

use super::{
    At, Header, Output, Place,
    claims::{About, Claims, Freedom, Oblivious},
    dimension_order::next,
};

/// `do`.
pub(super) struct DimensionOrder;

impl About for DimensionOrder {
    const NAME: &'static str = "do";
    const LONG_NAME: &'static str = "dimension-order";
    const SUMMARY: &'static str = "one dimension after the other, the first one first";

    fn claims(place: Place, bubble: bool) -> Claims {
        let claims = Claims::in_layers(place, bubble, 1);
        if bubble { Claims { channels: 1, freedom: Some(Freedom::Bubble), ..claims } } else { claims }
    }
}

impl Oblivious for DimensionOrder {
    fn next(place: Place, at: At, header: &Header) -> Output {
        place.follow(at, at.channel, next(place.shape, at.node, header.destination))
    }
}
