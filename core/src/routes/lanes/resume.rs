//! Lanes that exist already: tables are balanced within them.

use super::{
    Assignment, DimensionOrder, Forwarding, MAX_LANES, Mode, NO_CHANNEL, PairLanes, Rising, SERVICE_LEVELS,
    guides, starts,
};
use crate::fabric::Graph;
use crate::flow::loads::send;
use crate::flow::order::{Dependencies, lanes_of_links};

impl PairLanes {
    /// Constant lanes: every pair keeps the lane that is its service level.
    pub(crate) fn constant(graph: &Graph, mode: Mode, levels: Vec<u8>, lanes: usize) -> Self {
        let start = starts(graph);
        let entries = vec![identity(lanes_of_links(lanes)); start[graph.switches()]];
        Self { mode, levels, lanes, rising: Vec::new(), entries, start }
    }

    /// Lanes that rise at some switches, for so many pairs.
    pub(crate) fn rising(Rising { switches, lanes }: Rising, pairs: usize) -> Self {
        let (levels, rising) = (vec![0; pairs], switches);
        Self { mode: Mode::Rising, levels, lanes, rising, entries: Vec::new(), start: Vec::new() }
    }

    /// Whether every level has one lane, whatever the port in.
    fn is_constant(&self) -> bool {
        let identities = [1, MAX_LANES].map(|lanes| identity(lanes_of_links(lanes)));
        identities.iter().any(|identity| self.entries.iter().all(|entry| entry == identity))
    }

    /// The same lanes for other pairs.
    pub(crate) fn with_levels(self, levels: Vec<u8>) -> Self {
        Self { levels, ..self }
    }
}

/// The lanes of service levels where the level is the lane, of so many.
fn identity(lanes: usize) -> [u8; SERVICE_LEVELS] {
    std::array::from_fn(|level| (level % lanes) as u8)
}

/// The order whose levels the tables of switches begin with, as [`lane`](super::lane) decides it.
fn guide<'a>(
    order: Option<&'a DimensionOrder>,
    lanes: &PairLanes,
    limit: usize,
) -> Option<&'a DimensionOrder> {
    order.filter(|order| guides(order, lanes.mode, limit))
}

/// Balances tables whose lanes are chosen, as far as all pairs can keep their service levels; shorter ways
/// are taken where there are some.
pub(crate) fn balance_within(
    graph: &Graph,
    table: Forwarding,
    order: Option<&DimensionOrder>,
    lanes: PairLanes,
    (target, enough): (u64, u64),
    tries: u64,
    limit: usize,
) -> (Forwarding, PairLanes) {
    if lanes.mode == Mode::Tables && guide(order, &lanes, limit).is_none() && !lanes.is_constant() {
        // Lanes that depend on the port in are not changed once they are chosen.
        return (table, lanes);
    }
    let mut assignment = Assignment::resumed(graph, table, order, lanes, limit);
    assignment.balance(target, enough, tries);
    assignment.finish()
}

/// Adds rows to tables, each for the switch of another; those whose pairs find no lanes become copies of
/// the rows they were added for. Where both directions of pairs have one level, so have the new rows.
pub(crate) fn fit_rows(
    graph: &Graph,
    table: Forwarding,
    order: Option<&DimensionOrder>,
    lanes: PairLanes,
    extra: &[u32],
    rows: &[u32],
    (limit, reversible): (usize, bool),
) -> (Forwarding, PairLanes) {
    let switches = graph.switches();
    let mut assignment = Assignment::resumed(graph, table, order, lanes, limit);
    let known = assignment.table.roots.len();
    let roots: Vec<u32> = extra.iter().map(|&row| assignment.table.roots[row as usize]).collect();
    let table = std::mem::replace(&mut assignment.table, Forwarding::new(switches, Vec::new(), Vec::new()));
    assignment.table = table.with_rows(graph, &roots, rows);
    assignment.levels.resize(assignment.table.next.len(), 0);
    assignment.settled.resize(assignment.table.next.len(), false);
    let mut path = Vec::new();
    for (place, &model) in extra.iter().enumerate() {
        let destination = known + place;
        let fits = assignment.table.towards(graph, destination).into_iter().all(|source| {
            if graph.hosts(source) == 0 || !assignment.walk(source, destination as u32, &mut path) {
                return true;
            }
            if !reversible {
                return assignment.settle(&mut path, destination as u32, source);
            }
            let level = assignment.levels[model as usize * switches + source as usize];
            assignment.levels[destination * switches + source as usize] = level;
            assignment.settled[destination * switches + source as usize] = true;
            assignment.place(&path, level)
        });
        if !fits {
            let (from, to) = (model as usize * switches, destination * switches);
            assignment.table.next.copy_within(from..from + switches, to);
            assignment.levels.copy_within(from..from + switches, to);
        }
    }
    assignment.finish()
}

/// Destinations by switch, if all pairs of switches with hosts have one level in both directions.
pub(crate) fn levels_both_ways(
    table: &Forwarding,
    levels: &[u8],
    sends: impl Fn(u32) -> bool,
) -> Option<Vec<Vec<u32>>> {
    let switches = table.switches();
    let mut known: Vec<Option<u8>> = vec![None; switches * switches];
    let mut rows = vec![Vec::new(); switches];
    for (destination, &root) in table.roots.iter().enumerate() {
        rows[root as usize].push(destination as u32);
        for from in (0..switches as u32).filter(|&from| from != root && sends(from)) {
            let level = levels[destination * switches + from as usize];
            let pair = from.min(root) as usize * switches + from.max(root) as usize;
            if *known[pair].get_or_insert(level) != level {
                return None;
            }
        }
    }
    Some(rows)
}

impl<'a> Assignment<'a> {
    /// What is known where all pairs have their lanes, of which `limit` may be used from now on.
    fn resumed(
        graph: &'a Graph,
        table: Forwarding,
        order: Option<&'a DimensionOrder>,
        lanes: PairLanes,
        limit: usize,
    ) -> Self {
        let order = guide(order, &lanes, limit);
        let mut assignment = Self::new(graph, table, order, lanes.mode, limit);
        assignment.entries = lanes.entries;
        assignment.levels = lanes.levels;
        assignment.settled.fill(true);
        assignment.highest = lanes.lanes.saturating_sub(1) as u8;
        assignment.dependencies = Dependencies::unordered(graph, limit);
        assignment.add_all();
        assignment
    }

    /// Adds what the ways of all pairs wait for.
    fn add_all(&mut self) {
        let switches = self.graph.switches();
        let mut path = Vec::new();
        for destination in 0..self.table.roots.len() {
            let row = destination * switches..(destination + 1) * switches;
            // Destinations on one switch often share their ways.
            if destination > 0
                && self.table.roots[destination] == self.table.roots[destination - 1]
                && self.table.next[row.clone()] == self.table.next[row.start - switches..row.start]
                && self.levels[row.clone()] == self.levels[row.start - switches..row.start]
            {
                continue;
            }
            for source in (0..switches as u32).filter(|&source| self.graph.hosts(source) > 0) {
                if !self.walk(source, destination as u32, &mut path) {
                    continue;
                }
                let level = usize::from(self.levels[row.start + source as usize]);
                let mut before: Option<(u32, u8)> = None;
                for &channel in &path {
                    let slot = self.slot(before.map(|hop| hop.0), channel);
                    let hop = (channel, self.entries[slot][level]);
                    if let Some(before) = before {
                        self.dependencies.add(before, hop);
                    }
                    before = Some(hop);
                }
            }
        }
        let ordered = self.dependencies.put_in_order();
        debug_assert!(ordered, "lanes that exist are free of cycles");
    }
}

/// Up*/down* tables (Schroeder et al. 1991), which no graph refuses: a destination's ways climb towards the
/// root of its lane and then descend; every lane has a root of its own.
pub(crate) fn up_down(graph: &Graph, roots: Vec<u32>, lanes: usize) -> (Forwarding, Vec<u8>) {
    let switches = graph.switches();
    let trees = spread_roots(graph, lanes.max(1));
    let ranks: Vec<Vec<u32>> = trees.iter().map(|&root| ranks(graph, root)).collect();
    let mut places = roots.clone();
    places.sort_unstable();
    places.dedup();
    let mut next = vec![NO_CHANNEL; roots.len() * switches];
    let mut levels = vec![0; next.len()];
    let mut loads = vec![0_u64; graph.channels()];
    for (destination, &root) in roots.iter().enumerate() {
        let tree = places.partition_point(|&place| place < root) % ranks.len();
        let row = destination * switches..(destination + 1) * switches;
        levels[row.clone()].fill(tree as u8);
        climb_and_descend(graph, root, &ranks[tree], &mut next[row], &mut loads);
    }
    (Forwarding::new(switches, roots, next), levels)
}

/// Switches far from each other.
pub(crate) fn spread_roots(graph: &Graph, count: usize) -> Vec<u32> {
    let mut nearest = vec![u16::MAX; graph.switches()];
    let mut roots = Vec::new();
    // The first has most cables; what cannot be reached is served from elsewhere anyway.
    let mut root = (0..graph.switches() as u32)
        .max_by_key(|&switch| (graph.outgoing(switch).len(), std::cmp::Reverse(switch)));
    while let Some(here) = root.filter(|_| roots.len() < count) {
        roots.push(here);
        let distances = graph.distances_to(here);
        nearest
            .iter_mut()
            .zip(&distances)
            .for_each(|(nearest, &distance)| *nearest = (*nearest).min(distance));
        root = (0..graph.switches() as u32)
            .filter(|&switch| !matches!(nearest[switch as usize], 0 | u16::MAX))
            .max_by_key(|&switch| (nearest[switch as usize], std::cmp::Reverse(switch)));
    }
    roots
}

/// Breadth-first numbers from a root, then from the first switch of every other part.
fn ranks(graph: &Graph, root: u32) -> Vec<u32> {
    let mut ranks = vec![u32::MAX; graph.switches()];
    let mut count = 0;
    for start in std::iter::once(root).chain(0..graph.switches() as u32) {
        if ranks[start as usize] != u32::MAX {
            continue;
        }
        let mut rank = |switch: u32| {
            let new = ranks[switch as usize] == u32::MAX;
            if new {
                ranks[switch as usize] = count;
                count += 1;
            }
            new
        };
        rank(start);
        graph.met_backwards(vec![start], |_, there| rank(there));
    }
    ranks
}

/// The entries of one destination: down where only steps down lead there, else up.
fn climb_and_descend(graph: &Graph, root: u32, ranks: &[u32], next: &mut [u32], loads: &mut [u64]) {
    let far = u32::MAX;
    let mut cost = vec![far; ranks.len()];
    cost[root as usize] = 0;
    graph.met_backwards(vec![root], |channel, there| {
        let here = graph.ends(channel).1 as usize;
        let new = ranks[there as usize] < ranks[here] && cost[there as usize] == far;
        if new {
            cost[there as usize] = cost[here] + 1;
        }
        new
    });
    let descends: Vec<bool> = cost.iter().map(|&cost| cost != far).collect();
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    order.sort_unstable_by_key(|&switch| ranks[switch as usize]);
    for &switch in &order {
        if !descends[switch as usize] {
            let above = graph.outgoing(switch).iter().map(|&channel| graph.ends(channel).1);
            let above = above.filter(|&there| ranks[there as usize] < ranks[switch as usize]);
            let least = above.map(|there| cost[there as usize]).min().unwrap_or(far);
            cost[switch as usize] = least.saturating_add(1);
        }
    }
    order.retain(|&switch| switch != root && cost[switch as usize] != far);
    order.sort_by_key(|&switch| std::cmp::Reverse(cost[switch as usize]));
    let mut below: Vec<u64> = (0..ranks.len() as u32).map(|switch| graph.hosts(switch).into()).collect();
    send(order, &mut below, loads, |switch, loads| {
        let here = switch as usize;
        let leads = |&&channel: &&u32| {
            let there = graph.ends(channel).1 as usize;
            let down = ranks[there] > ranks[here];
            cost[there] != far
                && cost[there] + 1 == cost[here]
                && if descends[here] { down && descends[there] } else { !down }
        };
        let &hop = graph.outgoing(switch).iter().filter(leads).min_by_key(|&&hop| loads[hop as usize])?;
        next[here] = hop;
        Some((hop, graph.ends(hop).1))
    });
}
