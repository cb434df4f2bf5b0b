//! Cross-line routing (scaling-effects-2007): of two directions, the one with fewer full adaptive
//! buffers on the line the packet still has to go in it.

use super::{
    At, Header, Output, Place, Seen,
    claims::{About, Claims, Function},
    escape,
};

/// `cl`.
pub(super) struct CrossLine;

/// The adaptive channel.
const ADAPTIVE: u8 = escape::CHANNELS;

impl About for CrossLine {
    const NAME: &'static str = "cl";
    const LONG_NAME: &'static str = "cross-line";
    const SUMMARY: &'static str = "as sa, where fewer buffers on the line ahead are full";

    fn claims(_place: Place, bubble: bool) -> Claims {
        Claims { watches: Some(ADAPTIVE), ..escape::claims(bubble) }
    }
}

impl Function for CrossLine {
    fn options(place: Place, at: At, header: &Header, may: impl FnMut(Output)) {
        escape::options(place, at, header, ADAPTIVE..ADAPTIVE + 1, may);
    }

    #[inline(always)]
    fn choice(place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
        escape::choice(place, at, header, seen, ADAPTIVE..ADAPTIVE + 1, |direction, hops| {
            seen.full_ahead(direction, ADAPTIVE, hops)
        })
    }
}
