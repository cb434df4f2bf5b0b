//! Minimal adaptive routing over escape channels (scaling-effects-2007, Section 2): the adaptive
//! channel in any productive direction, or an escape channel in dimension order.
//!
//! In an escape channel a packet goes in channel 0 of a dimension up to the wrap line and in channel 1
//! over it and after, whatever channels it was in before. How a way goes within one dimension is fixed
//! at the source, and each hop shortens it, so the source's coordinate tells whether the wrap line lies
//! behind.

use super::{At, Header, Line, Options, Output, Place, Seen, dimension_order};
use crate::fabric::{Direction, Sign};

/// The adaptive channel.
pub const ADAPTIVE: u8 = 2;
/// Two escape channels and the adaptive one.
pub const CHANNELS: u8 = 3;

/// Directions that lead nearer, first dimension first, with the hops left in them.
fn productive<'a>(
    place: Place<'a>,
    at: At,
    header: &'a Header,
) -> impl Iterator<Item = (Direction, u32)> + 'a {
    let shape = place.shape;
    (0..shape.dimensions()).filter_map(move |dimension| {
        let [from, to] = [at.node, header.destination].map(|node| shape.coordinate(node, dimension));
        let sign = dimension_order::sign(shape.size(dimension), shape.wraps(dimension), from, to)?;
        let size = shape.size(dimension);
        let hops = if sign == Sign::Plus { to + size - from } else { from + size - to } % size;
        Some((Direction::new(dimension, sign), hops))
    })
}

/// The escape channel of a hop.
fn escape(place: Place, at: At, header: &Header, direction: Direction) -> u8 {
    let dimension = direction.dimension();
    let [from, here] = [header.source, at.node].map(|node| place.shape.coordinate(node, dimension));
    let behind = if direction.sign() == Sign::Plus { here < from } else { here > from };
    let crosses = Line::crossed(place.shape, at.node, direction) == Some(Line::Wrap);
    u8::from(behind && place.shape.wraps(dimension) || crosses)
}

/// The adaptive channel of every productive direction, then the escape.
pub fn options(place: Place, at: At, header: &Header) -> Options {
    let mut options = Options::none();
    for (direction, _) in productive(place, at, header) {
        options.push(Some(direction), ADAPTIVE);
    }
    match productive(place, at, header).next() {
        Some((direction, _)) => options.push(Some(direction), escape(place, at, header, direction)),
        None => options.push(None, at.channel),
    }
    options
}

/// Of the directions whose adaptive channel has no owner and room for the packet, the one with the
/// least `cost`, then the most free space, then the first; else the escape if it has no owner.
pub fn choice(
    place: Place,
    at: At,
    header: &Header,
    seen: &impl Seen,
    cost: impl Fn(Direction, u32) -> u32,
) -> Option<Output> {
    let output = |direction, channel| Output { direction: Some(direction), channel };
    let best = productive(place, at, header)
        .filter(|&(direction, _)| {
            !seen.owned(direction, ADAPTIVE) && seen.free(direction, ADAPTIVE) >= header.length
        })
        .min_by_key(|&(direction, hops)| {
            (cost(direction, hops), std::cmp::Reverse(seen.free(direction, ADAPTIVE)))
        });
    if let Some((direction, _)) = best {
        return Some(output(direction, ADAPTIVE));
    }
    let Some((direction, _)) = productive(place, at, header).next() else {
        return Some(Output { direction: None, channel: at.channel });
    };
    let channel = escape(place, at, header, direction);
    (!seen.owned(direction, channel)).then(|| output(direction, channel))
}
