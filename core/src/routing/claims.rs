//! What a routing function says of itself, and what it answers: what its file implements.

use super::{At, Header, Output, Place, Seen};

/// What a routing function says of itself.
pub(super) trait About {
    /// Its short name.
    const NAME: &'static str;
    /// Its name written out.
    const LONG_NAME: &'static str;
    /// What it does, in a line.
    const SUMMARY: &'static str;

    /// What it claims where it is used; `bubble` says whether the bubble rule is in force.
    fn claims(place: Place, bubble: bool) -> Claims;
}

/// A routing function, each in a file of its own.
pub(super) trait Function: About {
    /// Calls `may` with every output a header may ask for in some state of the network, in the order of
    /// preference, the processor's alone when it has arrived.
    fn options(place: Place, at: At, header: &Header, may: impl FnMut(Output));

    /// The output a header asks for in this cycle; `None` for nothing this time.
    fn choice(place: Place, at: At, header: &Header, seen: &impl Seen) -> Option<Output>;
}

/// A routing function that goes by the packet alone.
pub(super) trait Oblivious: About {
    /// The one output a header may ask for.
    fn next(place: Place, at: At, header: &Header) -> Output;
}

impl<F: Oblivious> Function for F {
    fn options(place: Place, at: At, header: &Header, mut may: impl FnMut(Output)) {
        may(F::next(place, at, header));
    }

    fn choice(place: Place, at: At, header: &Header, _seen: &impl Seen) -> Option<Output> {
        Some(F::next(place, at, header))
    }
}

/// What keeps a function free of deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// Its channels are never waited for in a circle.
    Acyclic,
    /// The bubble rule lets every ring drain.
    Bubble,
    /// A header that gets no adaptive channel may always ask for one of the first so many channels, and
    /// those are never waited for in a circle (Duato 1993). A waiting packet must fit in one queue, so
    /// it needs cut-through.
    Escape(u8),
}

/// What a function claims of itself on a shape; the tests of the list check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Every hop leads nearer to the destination.
    pub minimal: bool,
    /// The way depends on the packet alone, not on the traffic.
    pub oblivious: bool,
    /// It goes by the number drawn for the packet.
    pub draws: bool,
    /// It goes by what routers ahead tell of this channel, hop by hop.
    pub watches: Option<u8>,
    /// Virtual channels it needs.
    pub channels: u8,
    /// What keeps it free of deadlock with that many channels, if it says so.
    pub freedom: Option<Freedom>,
}

impl Claims {
    /// Those of an oblivious function that keeps the channels of dimension order so many times: it is
    /// free as long as no ring closes.
    pub(super) fn in_layers(place: Place, bubble: bool, layers: u8) -> Self {
        let free = !bubble && !place.rings_close();
        Self {
            minimal: true,
            oblivious: true,
            draws: false,
            watches: None,
            channels: layers * place.dateline_channels(),
            freedom: free.then_some(Freedom::Acyclic),
        }
    }
}
