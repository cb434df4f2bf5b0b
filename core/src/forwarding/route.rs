//! From a fabric to tables that load: start, balance, lanes.

use super::{
    CutBound, DimensionOrder, Effort, Forwarding, Laned, MAX_LANES, Mode, PairLanes, balance, bound, lane,
};
use crate::fabric::Graph;

/// What is asked of tables.
#[derive(Clone, Copy, Debug)]
pub struct ForwardingRequest {
    /// How lanes may be chosen; `None` takes constant lanes where they suffice, else tables of the switches.
    pub mode: Option<Mode>,
    /// Lanes there are.
    pub lanes: usize,
    /// Entries the search may try.
    pub tries: u64,
    /// How far above the bound is good enough, as a fraction of it.
    pub slack: f64,
}

impl Default for ForwardingRequest {
    fn default() -> Self {
        Self { mode: None, lanes: MAX_LANES, tries: 60_000_000, slack: 0.0 }
    }
}

/// Tables with their lanes and the bound they are held against.
#[derive(Clone, Debug)]
pub struct LanedForwarding {
    /// The tables.
    pub table: Forwarding,
    /// Levels and lanes.
    pub lanes: PairLanes,
    /// The lower bound.
    pub bound: CutBound,
}

/// Balanced tables by destination with lanes that keep them free of deadlock; `None` if the lanes do not
/// suffice, even after paths were bent back to dimension order.
///
/// Entries of `old`, by `destination * switches + switch`, are kept where they still lead on a shortest way
/// and balance does not need them.
///
/// ```
/// use flitloom_core::{fabric::Graph, forwarding::{ForwardingRequest, forward}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let made = forward(&ring, None, vec![0, 1, 2, 3, 4], None, ForwardingRequest::default()).unwrap();
/// assert_eq!((made.bound.value, made.lanes.lanes), (3, 2));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn forward(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    roots: Vec<u32>,
    old: Option<&[u32]>,
    request: ForwardingRequest,
) -> Option<LanedForwarding> {
    let bound = bound(graph, order);
    let mut start = match order {
        Some(order) => order.start(graph, roots),
        None => Forwarding::shortest(graph, roots),
    };
    if let Some(old) = old {
        start.adopt(graph, old);
    }
    let enough = (bound.value as f64 * (1.0 + request.slack)).floor() as u64;
    let modes = match request.mode {
        Some(mode) => vec![mode],
        None => vec![Mode::Portable, Mode::Tables],
    };
    // Dearer exceptions leave more pairs on dimension order, whose lanes are known.
    for exception in if order.is_some() { &[0.1, 0.5, 2.0][..] } else { &[0.0] } {
        let mut table = start.clone();
        let effort = Effort { exception: *exception, tries: request.tries, enough };
        balance(graph, &mut table, bound.value, order, effort);
        for &mode in &modes {
            if let Laned::Done(lanes) = lane(graph, &table, order, mode, request.lanes) {
                return Some(LanedForwarding { table, lanes, bound });
            }
        }
    }
    None
}
