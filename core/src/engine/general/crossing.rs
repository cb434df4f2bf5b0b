//! Headers and flits on links.

use super::layout::Place;

/// A header that crosses a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crossing {
    /// The queue it enters.
    pub to: Place,
    pub slot: u32,
}

/// Flits on links of a latency above one.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// Headers, ...
    pub crossings: Vec<Crossing>,
    /// ... and words of arriving flits, by plane (queue) and word.
    pub flits: Vec<(u32, u32, u64)>,
}
