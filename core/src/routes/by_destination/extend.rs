//! More destinations for hosts that have tables: further LIDs, on other ways where lanes are left.

use super::{DimensionOrder, Effort, Forwarding, LanedForwarding, balance};
use crate::fabric::Graph;
use crate::routes::lanes::fit_rows;

/// Adds destinations on the switches of others, `extra` by their numbers, behind all there are.
///
/// The first of every one make a table of their own, balanced by itself, then the second, and so on; its
/// ways begin over channels that the tables before use least. A destination whose ways find no lane beside
/// those that are settled takes the ways of the one it was added for. Of the lanes so many may be used; where
/// both directions of pairs have one level, a further destination has that of the first.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{ForwardingRequest, extend, forward}};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let made = forward(&ring, None, vec![0, 1, 2, 3], None, None, ForwardingRequest::default());
/// let more = extend(&ring, None, made, &[0, 1, 2, 3], (8, false), 10_000);
/// assert_eq!(more.table.roots, [0, 1, 2, 3, 0, 1, 2, 3]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn extend(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    made: LanedForwarding,
    extra: &[u32],
    (lanes, reversible): (usize, bool),
    tries: u64,
) -> LanedForwarding {
    let switches = graph.switches();
    let mut rank = vec![0_usize; made.table.roots.len()];
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for (place, &destination) in extra.iter().enumerate() {
        let layer = rank[destination as usize];
        rank[destination as usize] += 1;
        if layer == layers.len() {
            layers.push(Vec::new());
        }
        layers[layer].push(place);
    }
    let mut used = made.table.loads(graph);
    let mut rows: Vec<u32> = vec![0; extra.len() * switches];
    for layer in layers {
        let roots: Vec<u32> = layer.iter().map(|&place| made.table.roots[extra[place] as usize]).collect();
        let mut table = Forwarding::spread_over(graph, roots, used.clone());
        let target = made.bound.value;
        let effort = Effort { exception: 0.1, tries, enough: target, longer: false, gently: false };
        balance(graph, &mut table, target, order, effort);
        used.iter_mut().zip(table.loads(graph)).for_each(|(used, load)| *used += load);
        for (row, &place) in layer.iter().enumerate() {
            rows[place * switches..(place + 1) * switches].copy_from_slice(table.row(row));
        }
    }
    let LanedForwarding { table, lanes: chosen, method, bound, balanced, short_of_lanes, other } = made;
    let (table, lanes) = fit_rows(graph, table, order, chosen, extra, &rows, (lanes, reversible));
    LanedForwarding { table, lanes, method, bound, balanced, short_of_lanes, other }
}
