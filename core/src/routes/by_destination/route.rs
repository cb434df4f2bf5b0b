//! From a fabric to tables that load: start, balance, lanes.

use super::fallback::{Fallback, Shared};
use super::{
    DimensionOrder, Effort, Forwarding, ForwardingRequest, LeveledBothWays, MAX_LANES, Mode, PairLanes,
    Rising, balance, balance_closely, both_ways, lane,
};
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

/// Of smaller tables those with levels for both ways are searched on several numbers of lanes.
const SMALL: usize = 1 << 15;
const FEW_LANES: [usize; 3] = [2, 3, 4];
/// How often turns are chosen anew in these searches, and on all lanes.
const FEW_STAGES: u64 = 3;
const STAGES: u64 = 24;
/// How many times the entries of other searches they may try, most of which are refused at once.
const TRIES_BOTH_WAYS: u64 = 4;

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

/// Balanced tables, made one after another as they are needed: shortest ways first, then dearer exceptions that leave
/// more pairs on dimension order and need fewer lanes.
struct Candidates<'a> {
    graph: &'a Graph,
    order: Option<&'a DimensionOrder>,
    start: &'a Forwarding,
    gently: bool,
    request: ForwardingRequest<'a>,
    /// Per attempt: what an exception costs, and whether ways may become longer.
    attempts: &'static [(f64, bool)],
    /// The tables of the first attempts, with their loads.
    tables: Vec<(Forwarding, u64)>,
}

impl<'a> Candidates<'a> {
    fn new(
        graph: &'a Graph,
        order: Option<&'a DimensionOrder>,
        start: &'a Forwarding,
        gently: bool,
        request: ForwardingRequest<'a>,
    ) -> Self {
        let attempts: &[(f64, bool)] = match order {
            Some(_) => &[(0.1, true), (0.5, false), (2.0, false), (8.0, false)],
            None => &[(0.0, true), (0.0, false)],
        };
        Self { graph, order, start, gently, request, attempts, tables: Vec::new() }
    }

    /// Whether lanes of ever other tables would take longer than all the rest.
    fn many(&self) -> bool {
        self.start.next.len() > MANY
    }

    /// Balances the tables of the next attempt.
    fn balance_next(&mut self, bound: &CutBound) {
        let Self { graph, order, start, gently, request, .. } = *self;
        let (exception, longer) = self.attempts[self.tables.len()];
        let enough = request.enough(bound.value);
        let mut table = start.clone();
        let effort = Effort { exception, tries: request.tries, enough, longer, gently };
        balance(graph, &mut table, bound.value, order, effort);
        let load = table.max_load(graph);
        self.tables.push((table, load));
    }

    /// Tables whose pairs have one level in both directions: those in which the hosts of a switch share their ways
    /// first, as if it had one, since few ways have to agree on a level then.
    fn both_ways(&mut self, bound: &CutBound, fallback: &Fallback<'_>) -> Made {
        let Self { graph, start, request, .. } = *self;
        let (table, balanced) = self.tables[0].clone();
        let small = start.next.len() <= SMALL;
        let good = request.enough(bound.value).max(balanced + balanced / 200);
        let shared = Shared::new(graph, start);
        let mut best = (shared.start.roots.len() < start.roots.len())
            .then(|| self.shared_both_ways(&shared, (bound.value, good), fallback))
            .flatten();
        let enough = |best: &Option<Made>| best.as_ref().is_some_and(|best| best.load <= good);
        if best.is_none() || small && !enough(&best) {
            let found = self.search_both_ways(&table, (bound.value, good));
            let better = |found: &LeveledBothWays| best.as_ref().is_none_or(|best| found.load < best.load);
            if let Some(LeveledBothWays { table, levels, lanes, .. }) = found.filter(better) {
                let lanes = PairLanes::constant(graph, Mode::Portable, levels, lanes);
                best = Some(Made::new(graph, (table, lanes), false));
            }
        }
        let made = best.unwrap_or_else(|| Made::new(graph, fallback.certain(Mode::Portable), true));
        // Lanes laid afterwards are seldom better, but soon tried; they leave no turns to a tree.
        let laid = (small && made.load > good && request.tree.is_none())
            .then(|| self.best(Mode::Portable, made.load, bound, fallback));
        laid.filter(|laid| laid.load < made.load).unwrap_or(made)
    }

    /// The same where the hosts of a switch share their ways and levels, balanced apart as far as levels allow.
    fn shared_both_ways(
        &self,
        shared: &Shared,
        (target, good): (u64, u64),
        fallback: &Fallback<'_>,
    ) -> Option<Made> {
        let Self { graph, order, start, gently, request, .. } = *self;
        let (exception, longer) = self.attempts[0];
        let mut table = shared.start.clone();
        let effort =
            Effort { exception, tries: request.tries, enough: request.enough(target), longer, gently };
        balance(graph, &mut table, target, order, effort);
        let LeveledBothWays { table, levels, lanes, .. } = self.search_both_ways(&table, (target, good))?;
        let table = start.replaced(shared.expand(&table.next, graph.switches()));
        let levels = shared.expand(&levels, graph.switches());
        let lanes = PairLanes::constant(graph, Mode::Portable, levels, lanes);
        Some(Made::new(graph, fallback.finish(table, lanes), false))
    }

    /// Routes and levels searched together from some tables, on few lanes where these are as good as many.
    fn search_both_ways(&self, table: &Forwarding, (target, good): (u64, u64)) -> Option<LeveledBothWays> {
        let Self { graph, order, request, .. } = *self;
        let small = table.next.len() <= SMALL;
        let most = request.lanes.clamp(1, MAX_LANES);
        let few: &[usize] = if small { &FEW_LANES } else { &[] };
        let few = few.iter().copied().filter(|&lanes| lanes < most).map(|lanes| (lanes, FEW_STAGES, false));
        // A brisk search sometimes finds what others do not.
        let last = [(most, STAGES, false), (most, STAGES, true)].into_iter().take(1 + usize::from(small));
        let mut best: Option<LeveledBothWays> = None;
        for (lanes, stages, brisk) in few.chain(last) {
            let effort = (stages, TRIES_BOTH_WAYS * request.tries);
            let lanes = (lanes, request.tree);
            let found = both_ways(graph, order, table, lanes, (target, good), effort, brisk);
            let better = |found: &LeveledBothWays| best.as_ref().is_none_or(|best| found.load < best.load);
            if let Some(found) = found.filter(better) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.load <= good) {
                break;
            }
        }
        best
    }

    /// The best of one mode below a load, short of lanes or not.
    fn best(&mut self, mode: Mode, below: u64, bound: &CutBound, fallback: &Fallback<'_>) -> Made {
        let graph = self.graph;
        let balanced = self.tables[0].1;
        // Half a per cent above the best balanced tables, the first, is not worth other lanes.
        let good = |best: u64| (bound.value + 2).max(best + best.div_ceil(200));
        let mut best: Option<Made> = None;
        let attempts = if self.many() { 1 } else { self.attempts.len() };
        for attempt in 0..attempts {
            if attempt == self.tables.len() {
                self.balance_next(bound);
            }
            let (table, load) = &self.tables[attempt];
            if attempt > 0 && *table == self.tables[attempt - 1].0
                || best.as_ref().map_or(below, |best| best.load) <= *load
            {
                continue;
            }
            let most = good(balanced).max(*load);
            if let Some(laned) = lane(graph, table, self.order, mode, self.request, bound.value..=most) {
                let found = Made::new(graph, laned, false);
                if best.as_ref().is_none_or(|best| found.load < best.load) {
                    best = Some(found);
                }
                if best.as_ref().is_some_and(|best| best.load <= good(balanced)) {
                    break;
                }
            }
        }
        best.unwrap_or_else(|| {
            let certain = Made::new(graph, fallback.certain(mode), true);
            let enough = self.many() || certain.load <= good(balanced);
            let shared = if enough { None } else { fallback.shared(mode) };
            let shared = shared.map(|shared| Made::new(graph, shared, true));
            shared.filter(|shared| shared.load < certain.load).unwrap_or(certain)
        })
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
    request: ForwardingRequest<'_>,
) -> LanedForwarding {
    let least = first_bound(graph, order.map(DimensionOrder::placed), &roots, demand);
    let (method, Start { table: mut start, gently, rising }) =
        methods::start(request.method, graph, order, &roots);
    if let Some(old) = old {
        start.adopt(graph, old);
    }
    if let Some(demand) = demand {
        start = start.with_demand(demand.pairs.clone());
    }
    if let Some(rising) = rising {
        return on_rising_lanes(graph, start, rising, (least, demand), (method.name, request));
    }
    let mut candidates = Candidates::new(graph, order, &start, gently, request);
    candidates.balance_next(&least);
    let balanced_load = candidates.tables[0].1;
    // Repairs go as far as their slack, and need no better bound.
    let bound = match old {
        Some(_) => least.clone(),
        None => tight_bound(graph, least.clone(), demand, balanced_load),
    };
    let fallback = Fallback { graph, order, start: &start, request, target: bound.value };
    let mut made = |mode: Mode, below: u64| {
        if request.reversible && mode == Mode::Portable {
            candidates.both_ways(&bound, &fallback)
        } else {
            candidates.best(mode, below, &bound, &fallback)
        }
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

/// Tables on shortest ways, which need no other lanes however they are balanced.
fn on_rising_lanes(
    graph: &Graph,
    start: Forwarding,
    rising: Rising,
    (least, demand): (CutBound, Option<&Pairs>),
    (method, request): (&'static str, ForwardingRequest<'_>),
) -> LanedForwarding {
    let mut table = start;
    let effort = Effort {
        exception: 0.0,
        tries: request.tries,
        enough: request.enough(least.value),
        longer: false,
        gently: false,
    };
    balance_closely(graph, &mut table, least.value, effort);
    let load = table.max_load(graph);
    let lanes = PairLanes::rising(rising, table.next.len());
    LanedForwarding {
        lanes,
        method,
        bound: tight_bound(graph, least, demand, load),
        balanced: load,
        short_of_lanes: false,
        other: None,
        table,
    }
}
