//! Where lanes do not suffice for balanced tables: fewer different ways, at a higher load.

use super::lanes::{balance_within, up_down};
use super::{
    DimensionOrder, Effort, Forwarding, ForwardingRequest, MAX_LANES, Mode, PairLanes, balance, lane,
};
use crate::fabric::Graph;

/// Tables for fabrics whose balanced tables find no lanes: the best of those that are known to be served.
///
/// All hosts of a switch share their ways at first, as if it had one; where even that takes too many lanes, ways
/// climb and descend (up*/down*), one root per lane, which serves every graph. Then entries are pointed
/// elsewhere as far as all pairs keep their lanes.
pub(super) fn served(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    start: &Forwarding,
    request: ForwardingRequest,
    target: u64,
    modes: &[Mode],
) -> (Forwarding, PairLanes) {
    let enough = (target as f64 * (1.0 + request.slack)).floor() as u64;
    let limit = request.lanes.clamp(1, MAX_LANES);
    let finish = |table: Forwarding, lanes: PairLanes| {
        balance_within(graph, table, order, lanes, (target, enough), request.tries, limit)
    };
    let shared = Shared::new(graph, start);
    let found = modes.iter().find_map(|&mode| shared.lane(graph, order, mode, request, target));
    if let Some((table, lanes)) = found {
        let next = shared.expand(&table.next, graph.switches());
        let levels = shared.expand(&lanes.levels, graph.switches());
        return finish(start.replaced(next), lanes.with_levels(levels));
    }
    let lanes = if request.reversible { 1 } else { limit };
    let (table, levels) = up_down(graph, start.roots.clone(), lanes);
    let used = usize::from(levels.iter().copied().max().unwrap_or(0)) + 1;
    let mode = modes.first().copied().unwrap_or(Mode::Portable);
    finish(start.replaced(table.next), PairLanes::constant(graph, mode, levels, used))
}

/// A destination for every switch with hosts.
struct Shared {
    start: Forwarding,
    /// The shared destination of every one.
    of: Vec<usize>,
}

impl Shared {
    fn new(graph: &Graph, whole: &Forwarding) -> Self {
        let switches = graph.switches();
        let mut place = vec![usize::MAX; switches];
        let (mut roots, mut next, mut demand) = (Vec::new(), Vec::new(), Vec::<u32>::new());
        let mut of = Vec::with_capacity(whole.roots.len());
        for (destination, &root) in whole.roots.iter().enumerate() {
            let shared = &mut place[root as usize];
            if *shared == usize::MAX {
                *shared = roots.len();
                roots.push(root);
                next.extend_from_slice(whole.row(destination));
                demand.extend(std::iter::repeat_n(0, switches));
            }
            of.push(*shared);
            for (switch, sum) in demand[*shared * switches..].iter_mut().take(switches).enumerate() {
                *sum += whole.demand(graph, destination, switch as u32);
            }
        }
        Self { start: Forwarding::new(switches, roots, next).with_demand(demand), of }
    }

    /// Balanced tables that find lanes, with as few ways off dimension order as that takes.
    fn lane(
        &self,
        graph: &Graph,
        order: Option<&DimensionOrder>,
        mode: Mode,
        request: ForwardingRequest,
        target: u64,
    ) -> Option<(Forwarding, PairLanes)> {
        let enough = (target as f64 * (1.0 + request.slack)).floor() as u64;
        // Dimension order as it is, the last, needs fewest lanes.
        let attempts: &[Option<f64>] = match order {
            Some(_) => &[Some(0.1), Some(0.5), Some(2.0), Some(8.0), None],
            None => &[Some(0.0)],
        };
        attempts.iter().find_map(|&exception| {
            let mut table = self.start.clone();
            if let Some(exception) = exception {
                let effort = Effort { exception, tries: request.tries, enough, longer: false };
                balance(graph, &mut table, target, order, effort);
            }
            let load = table.loads(graph).into_iter().max().unwrap_or(0);
            lane(graph, &table, order, mode, request, target..=load)
        })
    }

    /// Rows of shared destinations as those of all.
    fn expand<T: Copy>(&self, shared: &[T], switches: usize) -> Vec<T> {
        self.of.iter().flat_map(|&row| &shared[row * switches..(row + 1) * switches]).copied().collect()
    }
}
