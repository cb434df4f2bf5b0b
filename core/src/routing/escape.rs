//! Minimal adaptive routing over escape channels (Duato 1993; scaling-effects-2007, Section 2): an
//! adaptive channel in any direction that leads nearer, or an escape channel in dimension order.
//!
//! In an escape channel a packet goes in channel 0 of a dimension up to the wrap line and in channel 1
//! over it and after, whatever channels it was in before. How a way goes within one dimension is fixed
//! at the source, and each hop shortens it, so the source's coordinate tells whether the wrap line lies
//! behind. Along a circulant packets take its steps in order, in all channels.

use super::{
    At, Header, Line, Output, Place, Seen,
    claims::{Claims, Freedom},
};
use crate::fabric::{Direction, Sign};
use std::{cmp::Reverse, ops::Range};

/// Escape channels; the adaptive ones follow.
pub(super) const CHANNELS: u8 = 2;

/// What all of these claim.
pub(super) fn claims(bubble: bool) -> Claims {
    Claims {
        minimal: true,
        oblivious: false,
        draws: false,
        watches: None,
        channels: CHANNELS + 1,
        freedom: (!bubble).then_some(Freedom::Escape(CHANNELS)),
    }
}

/// The escape channel of a hop.
fn escape(place: Place, at: At, header: &Header, direction: Direction) -> u8 {
    if !place.shape.closes(direction) {
        return 0;
    }
    let dimension = place.shape.dimension_of(direction);
    let coordinate = |node| place.shape.coordinate(node, dimension);
    let behind = if place.shape.steps(dimension).is_some() {
        steps_behind(place, at, header, direction)
    } else if direction.sign() == Sign::Plus {
        coordinate(at.node) < coordinate(header.source)
    } else {
        coordinate(at.node) > coordinate(header.source)
    };
    let crosses = Line::crossed(place.shape, at.node, direction) == Some(Line::Wrap);
    u8::from(behind || crosses)
}

/// The same of a step of a circulant: packets make its hops one after the other, so those that are made tell where in
/// its ring they began.
fn steps_behind(place: Place, at: At, header: &Header, direction: Direction) -> bool {
    let dimension = place.shape.dimension_of(direction);
    let [from, here, to] =
        [header.source, at.node, header.destination].map(|node| place.shape.coordinate(node, dimension));
    let [whole, left] = [from, here].map(|from| place.shape.hops_of_step(direction, from, to).unwrap_or(0));
    let made = whole - left;
    let Some((ring, here)) = place.shape.ring_through(at.node, direction) else { return false };
    if direction.sign() == Sign::Plus { here < made } else { here + made >= ring }
}

/// The adaptive channels of every productive direction, then the escape.
pub(super) fn options(
    place: Place,
    at: At,
    header: &Header,
    adaptive: Range<u8>,
    mut may: impl FnMut(Output),
) {
    let mut first = None;
    for (direction, _) in place.productive(at.node, header.destination) {
        first = first.or(Some(direction));
        for channel in adaptive.clone() {
            may(Output { direction: Some(direction), channel });
        }
    }
    let channel = first.map_or(at.channel, |direction| escape(place, at, header, direction));
    may(Output { direction: first, channel });
}

/// Of the adaptive channels that have no owner and room for the packet, the one with the least
/// `cost(direction, hops)`, then the most free space, then the first; else the escape if it has no owner.
#[inline(always)]
pub(super) fn choice(
    place: Place,
    at: At,
    header: &Header,
    seen: &impl Seen,
    adaptive: Range<u8>,
    cost: impl Fn(Direction, u32) -> u32,
) -> Option<Output> {
    let rank = |(direction, channel, hops)| (cost(direction, hops), Reverse(seen.free(direction, channel)));
    let mut first = None;
    let mut best: Option<(Direction, u8, u32)> = None;
    for (direction, hops) in place.productive(at.node, header.destination) {
        first = first.or(Some(direction));
        for channel in adaptive.clone() {
            let fits = !seen.owned(direction, channel) && seen.has_room(direction, channel, header.length);
            let other = (direction, channel, hops);
            // Ranks are looked at only where there is a choice.
            if fits && best.is_none_or(|best| rank(other) < rank(best)) {
                best = Some(other);
            }
        }
    }
    let Some(direction) = first else { return Some(Output { direction: None, channel: at.channel }) };
    let best = best.map(|(direction, channel, _)| Output { direction: Some(direction), channel });
    best.or_else(|| {
        let channel = escape(place, at, header, direction);
        (!seen.owned(direction, channel)).then_some(Output { direction: Some(direction), channel })
    })
}
