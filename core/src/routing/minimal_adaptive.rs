//! Fully adaptive minimal routing by local credits (Duato 1993): all channels but the escapes are
//! adaptive, and the one with the most space is taken. With one adaptive channel it is `sa`.

use super::{
    At, Header, Output, Place, Seen,
    claims::{About, Claims, Function},
    escape,
};

/// `ma`.
pub(super) struct MinimalAdaptive;

impl About for MinimalAdaptive {
    const NAME: &'static str = "ma";
    const LONG_NAME: &'static str = "minimal-adaptive";
    const SUMMARY: &'static str = "as sa, with all channels but the two escapes adaptive";

    fn claims(_place: Place, bubble: bool) -> Claims {
        escape::claims(bubble)
    }
}

impl Function for MinimalAdaptive {
    fn options(place: Place, at: At, header: &Header, may: impl FnMut(Output)) {
        escape::options(place, at, header, escape::CHANNELS..place.rule.channels(), may);
    }

    #[inline(always)]
    fn choice(place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
        escape::choice(place, at, header, seen, escape::CHANNELS..place.rule.channels(), |_, _| 0)
    }
}
