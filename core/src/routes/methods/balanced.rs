//! Dimension order where switches have coordinates, else shortest ways over the channels with fewest pairs; then
//! balanced.

use super::{DimensionOrder, Forwarding, Graph, Method, Start};

pub(super) const METHOD: Method = Method {
    name: "balanced",
    kind: "any",
    about: "all pairs of hosts evenly on any fabric: dimension order or shortest routes, balanced",
    start: |graph, order, roots| Some(begin(graph, order, roots)),
};

pub(super) fn begin(graph: &Graph, order: Option<&DimensionOrder>, roots: &[u32]) -> Start {
    let roots = roots.to_vec();
    let table = match order {
        Some(order) => order.start(graph, roots),
        None => Forwarding::spread(graph, roots),
    };
    Start { table, gently: false }
}
