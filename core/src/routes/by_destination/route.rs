//! From a fabric to tables that load: start, balance, lanes.

use super::fallback::Fallback;
use super::{DimensionOrder, Effort, Forwarding, ForwardingRequest, Mode, PairLanes, balance, lane};
use crate::fabric::Graph;
use crate::flow::demands::{Pairs, first_bound, tight_bound};
use crate::flow::proof::CutBound;
use crate::routes::lanes::MANY;
use crate::routes::methods::{self, Start};

/// Tables with their lanes and the bound they are held against.
#[derive(Clone, Debug)]
pub struct LanedForwarding {
    /// The tables.
    pub table: Forwarding,
    /// Levels and lanes.
    pub lanes: PairLanes,
    /// The method they were made by.
    pub method: &'static str,
    /// The lower bound.
    pub bound: CutBound,
    /// Largest load of the tables that were balanced before anybody asked for lanes.
    pub balanced: u64,
    /// Whether the lanes did not suffice for balanced tables, and those were made that always find some.
    pub short_of_lanes: bool,
    /// Largest load of tables of the other mode, where both were made because portable ones are far from the balanced.
    pub other: Option<(Mode, u64)>,
}

/// Tables with their lanes, as good as one mode has them.
struct Made {
    load: u64,
    table: Forwarding,
    lanes: PairLanes,
    short: bool,
}

impl Made {
    fn new(graph: &Graph, (table, lanes): (Forwarding, PairLanes), short: bool) -> Self {
        Self { load: table.max_load(graph), table, lanes, short }
    }
}

/// Balanced tables by destination with lanes that keep them free of deadlock.
///
/// Where the lanes do not suffice for balanced tables, even after paths were bent back to dimension order, rings are
/// cut, or ways climb and descend (up*/down*), or hosts of a switch share their ways, whichever loads least: every
/// fabric gets tables, at a load that may be higher.
///
/// Entries of `old`, by `destination * switches + switch`, are kept where they still lead on a shortest way
/// and balance does not need them. With `demand` only its pairs count in loads and in the bound; all others
/// are served, too, within the same lanes.
///
/// A method of the request that does not suit the fabric gives way to the default.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{ForwardingRequest, forward}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let made = forward(&ring, None, vec![0, 1, 2, 3, 4], None, None, ForwardingRequest::default());
/// assert_eq!((made.bound.value, made.lanes.lanes), (3, 2));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn forward(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    roots: Vec<u32>,
    old: Option<&[u32]>,
    demand: Option<&Pairs>,
    request: ForwardingRequest,
) -> LanedForwarding {
    let least = first_bound(graph, order.map(DimensionOrder::placed), &roots, demand);
    let (method, Start { table: mut start, gently }) = methods::start(request.method, graph, order, &roots);
    if let Some(old) = old {
        start.adopt(graph, old);
    }
    if let Some(demand) = demand {
        start = start.with_demand(demand.pairs.clone());
    }
    // Shortest ways, and dearer exceptions that leave more pairs on dimension order, need fewer lanes.
    let attempts = match order {
        Some(_) => &[(0.1, true), (0.5, false), (2.0, false), (8.0, false)][..],
        None => &[(0.0, true), (0.0, false)],
    };
    // Half a per cent above the best balanced tables, the first, is not worth other lanes.
    let mut tables: Vec<(Forwarding, u64)> = Vec::new();
    let balanced = |start: &Forwarding, bound: &CutBound, (exception, longer): (f64, bool)| {
        let enough = request.enough(bound.value);
        let mut table = start.clone();
        let effort = Effort { exception, tries: request.tries, enough, longer, gently };
        balance(graph, &mut table, bound.value, order, effort);
        let load = table.max_load(graph);
        (table, load)
    };
    tables.push(balanced(&start, &least, attempts[0]));
    // Repairs go as far as their slack, and need no better bound.
    let bound = match old {
        Some(_) => least.clone(),
        None => tight_bound(graph, least.clone(), demand, tables[0].1),
    };
    let balanced_load = tables[0].1;
    let good = |best: u64| (bound.value + 2).max(best + best.div_ceil(200));
    let fallback = Fallback { graph, order, start: &start, request, target: bound.value };
    // Lanes of ever other tables would take longer than all the rest.
    let many = start.next.len() > MANY;
    // The best of one mode below a load, short of lanes or not.
    let mut made = |mode: Mode, below: u64| {
        let mut best: Option<Made> = None;
        let attempts = if many { &attempts[..1] } else { attempts };
        for (attempt, &effort) in attempts.iter().enumerate() {
            if attempt == tables.len() {
                tables.push(balanced(&start, &bound, effort));
            }
            let (table, load) = &tables[attempt];
            if attempt > 0 && *table == tables[attempt - 1].0
                || best.as_ref().map_or(below, |best| best.load) <= *load
            {
                continue;
            }
            let most = good(tables[0].1).max(*load);
            if let Some(laned) = lane(graph, table, order, mode, request, bound.value..=most) {
                let found = Made::new(graph, laned, false);
                if best.as_ref().is_none_or(|best| found.load < best.load) {
                    best = Some(found);
                }
                if best.as_ref().is_some_and(|best| best.load <= good(tables[0].1)) {
                    break;
                }
            }
        }
        best.unwrap_or_else(|| {
            let certain = Made::new(graph, fallback.certain(mode), true);
            let enough = many || certain.load <= good(balanced_load);
            let shared = if enough { None } else { fallback.shared(mode) };
            let shared = shared.map(|shared| Made::new(graph, shared, true));
            shared.filter(|shared| shared.load < certain.load).unwrap_or(certain)
        })
    };
    let first = request.mode.unwrap_or(Mode::Portable);
    let near = |load: u64, least: u64| 10 * load <= 11 * least;
    let mut best = made(first, u64::MAX);
    let mut other = None;
    if request.mode.is_none() && !near(best.load, balanced_load) {
        let mut tables = made(Mode::Tables, best.load);
        if !near(best.load, tables.load) {
            std::mem::swap(&mut best, &mut tables);
        }
        other = Some((tables.lanes.mode, tables.load));
    }
    let Made { load, table, lanes, short: short_of_lanes } = best;
    // The bound is the one that the check of these tables finds.
    let bound =
        if load == balanced_load && old.is_none() { bound } else { tight_bound(graph, least, demand, load) };
    LanedForwarding {
        table,
        lanes,
        method: method.name,
        bound,
        balanced: balanced_load,
        short_of_lanes,
        other,
    }
}
