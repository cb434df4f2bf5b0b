//! Where lanes do not suffice for balanced tables: fewer different ways, at a higher load.

use super::{
    DimensionOrder, Effort, Forwarding, ForwardingRequest, MAX_LANES, Mode, PairLanes, balance, lane,
};
use crate::fabric::Graph;
use crate::routes::lanes::{balance_within, cut_rings, up_down};

/// Tables for fabrics whose balanced tables find no lanes: entries are pointed elsewhere at the end as far as all
/// pairs keep their lanes.
pub(crate) struct Fallback<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) order: Option<&'a DimensionOrder>,
    pub(crate) start: &'a Forwarding,
    pub(crate) request: ForwardingRequest<'a>,
    /// The bound.
    pub(crate) target: u64,
}

impl Fallback<'_> {
    /// All hosts of a switch share their ways, as if it had one; `None` if even that takes too many lanes.
    pub(crate) fn shared(&self, mode: Mode) -> Option<(Forwarding, PairLanes)> {
        let switches = self.graph.switches();
        let shared = Shared::new(self.graph, self.start);
        let (table, lanes) = shared.lane(self.graph, self.order, mode, self.request, self.target)?;
        let next = shared.expand(&table.next, switches);
        let levels = shared.expand(&lanes.levels, switches);
        Some(self.finish(self.start.replaced(next), lanes.with_levels(levels)))
    }

    /// Dimension order on rings that are cut, where failures leave all pairs a lane on it, or ways that climb and
    /// descend (up*/down*), one root per lane, which serve every graph: whichever loads less.
    pub(crate) fn certain(&self, mode: Mode) -> (Forwarding, PairLanes) {
        let lanes = if self.request.reversible { 1 } else { self.limit() };
        let roots = &self.start.roots;
        let (table, levels) = up_down(self.graph, roots.clone(), lanes);
        let used = usize::from(levels.iter().copied().max().unwrap_or(0)) + 1;
        let climbing = (table, PairLanes::constant(self.graph, mode, levels, used));
        let cut = self.order.and_then(|order| cut_rings(self.graph, order, roots, lanes, mode));
        let most =
            |made: &(Forwarding, PairLanes)| self.start.replaced(made.0.next.clone()).max_load(self.graph);
        let (table, lanes) = match cut {
            Some(cut) if most(&cut) < most(&climbing) => cut,
            _ => climbing,
        };
        self.finish(self.start.replaced(table.next), lanes)
    }

    fn limit(&self) -> usize {
        self.request.lanes.clamp(1, MAX_LANES)
    }

    pub(super) fn finish(&self, table: Forwarding, lanes: PairLanes) -> (Forwarding, PairLanes) {
        let enough = self.request.enough(self.target);
        let loads = (self.target, enough);
        balance_within(self.graph, table, self.order, lanes, loads, self.request.tries, self.limit())
    }
}

/// A destination for every switch with hosts.
pub(super) struct Shared {
    pub(super) start: Forwarding,
    /// The shared destination of every one.
    of: Vec<usize>,
}

impl Shared {
    pub(super) fn new(graph: &Graph, whole: &Forwarding) -> Self {
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
        request: ForwardingRequest<'_>,
        target: u64,
    ) -> Option<(Forwarding, PairLanes)> {
        let enough = request.enough(target);
        // Dimension order as it is, the last, needs fewest lanes.
        let attempts: &[Option<f64>] = match order {
            Some(_) => &[Some(0.1), Some(0.5), Some(2.0), Some(8.0), None],
            None => &[Some(0.0)],
        };
        attempts.iter().find_map(|&exception| {
            let mut table = self.start.clone();
            if let Some(exception) = exception {
                let effort = Effort { exception, tries: request.tries, enough, longer: false, gently: false };
                balance(graph, &mut table, target, order, effort);
            }
            let load = table.max_load(graph);
            lane(graph, &table, order, mode, request, target..=load)
        })
    }

    /// Rows of shared destinations as those of all.
    pub(super) fn expand<T: Copy>(&self, shared: &[T], switches: usize) -> Vec<T> {
        self.of.iter().flat_map(|&row| &shared[row * switches..(row + 1) * switches]).copied().collect()
    }
}
