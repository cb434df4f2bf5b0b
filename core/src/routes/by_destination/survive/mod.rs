//! Tables after whose single failures of cables few pairs need another level: routes, levels, numbers of switches and a
//! backup port beside each entry, searched together.
//!
//! In every lane the switches have numbers. A way is legal in a lane where the numbers along it fall, then rise. No
//! channels of legal ways can wait for each other in a circle, however ways are changed, and the way back is legal where
//! the way there is (Up*/Down*, Schroeder et al. 1991, with an order per lane). So an entry whose cable is gone is
//! replaced, with no level moved, by another port behind which all pairs that come through are legal in their lanes.

mod answer;
mod orders;
mod search;
mod tree;

use super::Forwarding;
use crate::fabric::Graph;
pub use answer::{SurviveRequest, Surviving};
use search::Search;
use std::sync::atomic::AtomicBool;
use tree::LANES;

/// Switches of the largest fabrics that are searched.
pub const MOST_SWITCHES: usize = 128;

/// Searches tables that survive failures, from others; `None` if those do not serve all switches, if there are more than
/// [`MOST_SWITCHES`], if pairs without a legal way are left, or if it was interrupted.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Forwarding, SurviveRequest, survive}};
/// let full = Graph::new(vec![1; 4], &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])?;
/// let request = SurviveRequest { lanes: 2, load: 1, seed: 1, looks: 4_000 };
/// let found = survive(&full, &Forwarding::shortest(&full, vec![0, 1, 2, 3]), request, &false.into()).unwrap();
/// assert_eq!((found.left, found.table.max_load(&full)), (vec![0; 6], 1));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn survive(
    graph: &Graph,
    table: &Forwarding,
    request: SurviveRequest,
    interrupt: &AtomicBool,
) -> Option<Surviving> {
    let lanes = request.lanes.clamp(1, LANES);
    if !(2..=MOST_SWITCHES).contains(&graph.switches()) || table.roots.is_empty() {
        return None;
    }
    let mut search = Search::new(graph, table, SurviveRequest { lanes, ..request })?;
    let found = search.run(interrupt).then(|| search.found(table));
    debug_assert!(found.as_ref().is_none_or(|found| found.is_certified(graph)));
    found
}
