//! Simple adaptive routing (scaling-effects-2007): of two directions, the one whose adaptive channel
//! has more free space.

use super::{
    At, Header, Output, Place, Seen,
    claims::{About, Claims, Function},
    escape,
};
use std::ops::Range;

/// `sa`.
pub(super) struct SimpleAdaptive;

const ADAPTIVE: Range<u8> = escape::CHANNELS..escape::CHANNELS + 1;

impl About for SimpleAdaptive {
    const NAME: &'static str = "sa";
    const LONG_NAME: &'static str = "simple-adaptive";
    const SUMMARY: &'static str = "the adaptive channel with more space, else an escape in dimension order";

    fn claims(_place: Place, bubble: bool) -> Claims {
        escape::claims(bubble)
    }
}

impl Function for SimpleAdaptive {
    fn options(place: Place, at: At, header: &Header, may: impl FnMut(Output)) {
        escape::options(place, at, header, ADAPTIVE, may);
    }

    #[inline(always)]
    fn choice(place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
        escape::choice(place, at, header, seen, ADAPTIVE, |_, _| 0)
    }
}
