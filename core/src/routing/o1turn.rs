//! O1TURN (Seo et al. 2005): each packet takes the dimensions in ascending or in descending order,
//! drawn with equal odds. The two orders have channels of their own, so neither can wait for the other.

use super::{
    At, Header, Output, Place,
    claims::{About, Claims, Oblivious},
};

/// `o1turn`.
pub(super) struct O1Turn;

impl About for O1Turn {
    const NAME: &'static str = "o1turn";
    const LONG_NAME: &'static str = "orthogonal-one-turn";
    const SUMMARY: &'static str = "dimensions in ascending or descending order, drawn for every packet";

    fn claims(place: Place, bubble: bool) -> Claims {
        Claims { draws: true, ..Claims::in_layers(place, bubble, 2) }
    }
}

impl Oblivious for O1Turn {
    fn next(place: Place, at: At, header: &Header) -> Output {
        let descending = header.drawn & 1 == 1;
        let count = place.shape.dimensions();
        let dimension = |k: usize| if descending { count - 1 - k } else { k };
        let direction = (0..count).find_map(|k| place.way(dimension(k), at.node, header.destination));
        // The descending order uses the upper half of the channels needed.
        let begins = at.along.is_none() && descending && direction.is_some();
        place.follow(at, if begins { place.dateline_channels() } else { at.channel }, direction)
    }
}
