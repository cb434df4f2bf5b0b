//! Universal globally adaptive load-balanced routing with what a router itself knows (UGAL-L, Singh
//! 2005), in dimension order: while a packet waits at its source it takes the short way or the one by
//! a node drawn for it, whichever has fewer flits waiting behind its first link, times its hops. The
//! first half of the long way and everything else have channels of their own, as in Valiant's.

use super::{
    At, Header, Output, Place, Seen,
    claims::{About, Claims, Function, Oblivious},
    valiant::{self, Valiant},
};
use crate::fabric::Direction;

/// `ugal`.
pub(super) struct Ugal;

impl About for Ugal {
    const NAME: &'static str = "ugal";
    const LONG_NAME: &'static str = "globally-adaptive";
    const SUMMARY: &'static str = "the short way, or one by a drawn node where less waits times the hops";

    fn claims(place: Place, bubble: bool) -> Claims {
        Claims { oblivious: false, ..Valiant::claims(place, bubble) }
    }
}

impl Function for Ugal {
    fn options(place: Place, at: At, header: &Header, mut may: impl FnMut(Output)) {
        if has_choice(place, at, header) {
            may(short(place, at, header));
        }
        may(Valiant::next(place, at, header));
    }

    fn choice(place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output> {
        let long = Valiant::next(place, at, header);
        if !has_choice(place, at, header) {
            return Some(long);
        }
        let short = short(place, at, header);
        let between = valiant::between(place, header);
        let hops = |from, to| u64::from(place.shape.distance(from, to));
        let waiting = |output: Output| {
            let of = |direction: Direction| {
                (0..place.rule.channels()).map(|channel| u64::from(seen.held(direction, channel))).sum()
            };
            output.direction.map_or(0, of)
        };
        let short_cost: u64 = waiting(short) * hops(header.source, header.destination);
        let long_hops = hops(header.source, between) + hops(between, header.destination);
        Some(if short_cost <= waiting(long) * long_hops { short } else { long })
    }
}

fn has_choice(place: Place, at: At, header: &Header) -> bool {
    let between = valiant::between(place, header);
    at.along.is_none() && header.source != header.destination && between != header.source
}

fn short(place: Place, at: At, header: &Header) -> Output {
    valiant::second_phase(place, at, header, place.dateline_channels())
}
