//! Every packet brings its route; it says which way, and from which channel.

use super::{
    At, Header, Output, Place,
    claims::{About, Claims, Oblivious},
};

/// `given`.
pub(super) struct Given;

impl About for Given {
    const NAME: &'static str = "given";
    const LONG_NAME: &'static str = "given-routes";
    const SUMMARY: &'static str = "every packet brings its route";

    fn claims(_place: Place, _bubble: bool) -> Claims {
        Claims { minimal: false, oblivious: true, draws: false, watches: None, channels: 1, freedom: None }
    }
}

impl Oblivious for Given {
    fn next(place: Place, at: At, header: &Header) -> Output {
        let channel = if at.along.is_none() { header.first_channel } else { at.channel };
        place.follow(at, channel, header.step)
    }
}
