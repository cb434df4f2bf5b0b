//! Balancing: entries are re-pointed one by one until no channel carries more than the bound.

mod both_ways;
mod levels;
mod turns;
mod ways;

use super::{DimensionOrder, Forwarding, NO_CHANNEL};
use crate::fabric::{Graph, UNREACHABLE};
use crate::flow::loads::fullest;
use crate::power::power_of;
use crate::traffic::{Purpose, draw};
pub(crate) use both_ways::{LeveledBothWays, both_ways};
use rayon::prelude::*;

/// How hard to balance.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Price of a hop against dimension order, in fullest channels per pair of hosts.
    pub exception: f64,
    /// Entries that may be tried.
    pub tries: u64,
    /// A largest load that is good enough.
    pub enough: u64,
    /// Whether ways may grow longer where nothing else helps.
    pub longer: bool,
    /// Whether only entries of channels above what is good enough are pointed elsewhere.
    pub gently: bool,
}

/// Lowers the largest load of a table towards `target`; ways grow no longer unless that is the only way to it.
///
/// Convex costs of the loads (Fortz and Thorup 2000): destination by destination, entries whose packets cross
/// channels near the maximum are pointed elsewhere where that is cheaper, the most promising first.
///
/// # Panics
/// Never for tables of the same graph.
pub fn balance(
    graph: &Graph,
    table: &mut Forwarding,
    target: u64,
    order: Option<&DimensionOrder>,
    effort: Effort,
) {
    balance_guarded(graph, table, target, order, effort, None);
}

/// The same, with somebody to ask before every change.
pub(crate) fn balance_guarded<'a>(
    graph: &'a Graph,
    table: &mut Forwarding,
    target: u64,
    order: Option<&'a DimensionOrder>,
    effort: Effort,
    guard: Option<&'a mut (dyn Guard + 'a)>,
) {
    let mut search = Search::new(graph, table, order, effort);
    search.guard = guard;
    let target = target.max(1);
    if order.is_none() && search.guard.is_none() && !effort.gently {
        for power in [2, 4, 8, 16, 32, 64] {
            search.price(target, power);
            search.sweep(0, 0);
            search.note();
        }
    }
    let enough = effort.enough.max(target);
    search.run(target, enough);
    let small = table.next.len() <= ANNEALED && !effort.gently;
    if order.is_none() && search.guard.is_none() && search.best_load > enough && small {
        let mut warm = Search::new(graph, &search.best, order, effort);
        warm.anneal(target, enough);
        search = warm;
    }
    *table = search.best;
}

/// The same for tables of any size, annealed where they are close to the target.
pub(crate) fn balance_closely(graph: &Graph, table: &mut Forwarding, target: u64, effort: Effort) {
    balance(graph, table, target, None, effort);
    let (target, enough) = (target.max(1), effort.enough.max(target));
    let mut search = Search::new(graph, table, None, effort);
    if search.best_load > enough && search.best_load <= target + CLOSE && table.next.len() > ANNEALED {
        search.anneal(target, enough);
        *table = search.best;
    }
}

/// Pairs above the target from which annealing comes down to it.
const CLOSE: u64 = 4;
/// Rounds from a smoothed table after the first.
const SMOOTHED: u32 = 3;
/// Tables with more entries are smoothed only where they stay more than two pairs above the bound.
const LARGE: usize = 1 << 17;

/// Tables with more entries are not annealed.
const ANNEALED: usize = 1 << 14;
/// Sweeps of annealing.
const SWEEPS: u32 = 200;
/// Cost, in squares of pairs, that is taken half as often as none: at the beginning, and from sweep to sweep.
const HOT: f64 = 0.75;
const COOLER: f64 = 0.988;

/// Hosts behind the first entries to be changed where few are to change.
const FEW: u32 = 32;

/// Who may refuse a change.
pub(crate) trait Guard {
    /// Whether an entry of a destination's table may be pointed to another hop.
    fn allows(&mut self, destination: usize, row: &[u32], switch: u32, hop: u32) -> bool;

    /// The table as it is now is the best so far, and what comes back unless a better one follows.
    fn best_so_far(&mut self) {}
}

/// A hop that promises to be cheaper: by how much about, the switch and the channel.
type Promise = (f64, u32, u32);

struct Search<'a> {
    graph: &'a Graph,
    order: Option<&'a DimensionOrder>,
    effort: Effort,
    table: Forwarding,
    best: Forwarding,
    best_load: u64,
    /// Row of distances of every destination.
    row: Vec<u32>,
    distances: Vec<u16>,
    /// Hosts that send through an entry, by `destination * switches + switch`.
    below: Vec<u32>,
    loads: Vec<u64>,
    cost: Vec<f64>,
    /// What one more pair costs on every channel.
    marginal: Vec<f64>,
    tries: u64,
    guard: Option<&'a mut (dyn Guard + 'a)>,
    /// Whether ways may grow longer.
    longer: bool,
    /// How often chance decided.
    tosses: u64,
    /// Entries through which fewer hosts send are left alone.
    least: u32,
    /// Places of switches on the way at hand.
    on_way: Vec<(u32, u32)>,
    way: u32,
    relief: Vec<f64>,
    /// What one more pair costs from a switch to the destination at hand, and whether it meets a full channel.
    rest: Vec<(f64, bool)>,
    known: Vec<u32>,
    visit: u32,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, table: &Forwarding, order: Option<&'a DimensionOrder>, effort: Effort) -> Self {
        let switches = graph.switches();
        let mut below = vec![0_u32; table.next.len()];
        below.par_chunks_mut(switches.max(1)).enumerate().for_each(|(destination, below)| {
            let row = table.row(destination);
            let towards = table.towards(graph, destination);
            for &switch in &towards {
                below[switch as usize] = table.demand(graph, destination, switch);
            }
            for &switch in towards.iter().filter(|&&switch| switch != table.roots[destination]) {
                let hosts = below[switch as usize];
                below[graph.ends(row[switch as usize]).1 as usize] += hosts;
            }
        });
        let mut roots = table.roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let row = table.roots.iter().map(|root| roots.partition_point(|other| other < root) as u32).collect();
        let distances = roots.par_iter().flat_map_iter(|&root| graph.distances_to(root)).collect();
        // What a switch forwards to a destination is on its channel; a root forwards nothing.
        let mut loads = vec![0_u64; graph.channels()];
        let entries = table.next.iter().zip(&below).enumerate();
        let forwards = |place: usize| place % switches != table.roots[place / switches] as usize;
        for (_, (&hop, &hosts)) in entries.filter(|&(place, (_, &hosts))| hosts > 0 && forwards(place)) {
            loads[hop as usize] += u64::from(hosts);
        }
        Self {
            graph,
            order,
            effort,
            best: table.clone(),
            best_load: fullest(&loads),
            table: table.clone(),
            row,
            distances,
            below,
            marginal: vec![0.0; loads.len()],
            loads,
            cost: Vec::new(),
            tries: 0,
            guard: None,
            longer: false,
            tosses: 0,
            least: 1,
            on_way: vec![(0, 0); switches],
            way: 0,
            relief: Vec::new(),
            rest: vec![(0.0, false); switches],
            known: vec![0; switches],
            visit: 0,
        }
    }

    fn largest(&self) -> u64 {
        fullest(&self.loads)
    }

    /// Costs (load / target)^power; loads never grow beyond twice the largest.
    fn price(&mut self, target: u64, power: u32) {
        let most = 2 * self.largest() + 2;
        self.cost = (0..=most).map(|load| power_of(load as f64 / target as f64, power).min(1e250)).collect();
        for channel in 0..self.loads.len() {
            self.marginal[channel] = self.one_more(self.loads[channel]);
        }
    }

    fn cost(&self, load: u64) -> f64 {
        self.cost.get(load as usize).copied().unwrap_or(1e250)
    }

    fn one_more(&self, load: u64) -> f64 {
        self.cost(load + 1) - self.cost(load)
    }

    /// Remembers the table if its largest load is the lowest so far.
    fn note(&mut self) -> u64 {
        let largest = self.largest();
        if largest < self.best_load {
            self.best_load = largest;
            self.best = self.table.clone();
            if let Some(guard) = &mut self.guard {
                guard.best_so_far();
            }
        }
        largest
    }

    /// Presses ever harder; where that is worth the time, again from where it led, smoothed and with longer
    /// ways.
    fn run(&mut self, target: u64, enough: u64) {
        for round in 0..=SMOOTHED {
            self.longer = round > 0 && self.effort.longer;
            if self.press(target, enough) || self.tries >= self.effort.tries {
                return;
            }
            let large = self.table.next.len() > LARGE;
            if self.guard.is_some() || self.effort.gently || large && self.best_load <= target + 2 {
                return;
            }
            self.price(target, 8);
            self.sweep(target * 95 / 100, 0);
        }
    }

    /// Whether the largest load is low enough in the end.
    fn press(&mut self, target: u64, enough: u64) -> bool {
        let mut power = if self.order.is_some() { 64 } else { 32 };
        let hardest = if target < 2000 { 256 } else { 1024 };
        let mut stale = 0;
        let mut last = (u64::MAX, usize::MAX);
        // Where less is good enough, few entries are to change: those of many hosts first.
        self.least = if enough > target { FEW } else { 1 };
        loop {
            let largest = self.note();
            if largest <= enough {
                return true;
            }
            if self.tries >= self.effort.tries {
                return false;
            }
            let level = enough.max(largest - 1 - (largest - target) / 2);
            let now = (largest, self.loads.iter().filter(|&&load| load == largest).count());
            if now >= last {
                stale += 1;
                if self.least > 1 {
                    stale = 0;
                    self.least /= 2;
                } else if stale == 2 {
                    stale = 0;
                    power *= 2;
                    if power > hardest {
                        return false;
                    }
                }
            } else {
                stale = 0;
                last = now;
            }
            self.price(target, power);
            self.sweep(level, enough);
        }
    }

    /// Entries are pointed elsewhere at random, ever more seldom where that makes loads less even (simulated
    /// annealing, Kirkpatrick et al. 1983): where all channels must carry the same, no single change helps.
    fn anneal(&mut self, target: u64, enough: u64) {
        let mut heat = HOT / (target as f64 * target as f64);
        for _ in 0..SWEEPS {
            if self.note() <= enough || self.tries >= self.effort.tries {
                return;
            }
            self.price(target, 2);
            self.stir(heat);
            heat *= COOLER;
        }
        self.note();
    }

    /// A change of every entry, taken with the probability that its cost has at a temperature.
    fn stir(&mut self, heat: f64) {
        let graph = self.graph;
        let switches = graph.switches();
        for destination in 0..self.table.roots.len() {
            let row = self.row[destination] as usize * switches;
            for switch in 0..switches {
                let place = destination * switches + switch;
                let (old, here) = (self.table.next[place], self.distances[row + switch]);
                if old == NO_CHANNEL || self.below[place] == 0 {
                    continue;
                }
                let nearer =
                    |hop: &u32| *hop != old && self.distances[row + graph.ends(*hop).1 as usize] < here;
                let count = graph.outgoing(switch as u32).iter().copied().filter(nearer).count();
                if count == 0 {
                    continue;
                }
                self.tosses += 1;
                let drawn = draw(self.tosses, 0, Purpose::Table, 0);
                let chosen = (drawn >> 32) as usize % count;
                let hop = graph.outgoing(switch as u32).iter().copied().filter(nearer).nth(chosen);
                let Some(hop) = hop else { continue };
                if self.change(destination, switch as u32, hop) < heat * halvings(drawn as u32) {
                    self.redirect(destination, switch as u32, hop, usize::MAX, u64::MAX);
                }
            }
        }
    }

    /// Every destination once: entries whose packets meet a channel with a load above `level`; ends early
    /// if no load is above `enough`.
    fn sweep(&mut self, level: u64, enough: u64) {
        let mut full = self.loads.iter().filter(|&&load| load > enough).count();
        let mut promises: Vec<Promise> = Vec::new();
        for destination in 0..self.table.roots.len() {
            self.look(destination, level, &mut promises);
            for &(_, switch, hop) in &promises {
                if self.change(destination, switch, hop) < -1e-12
                    && self.guard.as_mut().is_none_or(|guard| {
                        guard.allows(destination, self.table.row(destination), switch, hop)
                    })
                {
                    full = self.redirect(destination, switch, hop, full, enough);
                    if full == 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Hops to a destination that look cheaper than the present ones, the cheapest first.
    fn look(&mut self, destination: usize, level: u64, promises: &mut Vec<Promise>) {
        promises.clear();
        let graph = self.graph;
        let switches = graph.switches();
        let root = self.table.roots[destination];
        self.visit += 1;
        self.known[root as usize] = self.visit;
        self.rest[root as usize] = (0.0, false);
        let next = &self.table.next[destination * switches..(destination + 1) * switches];
        let below = &self.below[destination * switches..(destination + 1) * switches];
        let row = self.row[destination] as usize * switches;
        let distances = &self.distances[row..row + switches];
        let mut stack = Vec::new();
        for switch in 0..switches {
            let mut at = switch;
            while self.known[at] != self.visit && next[at] != NO_CHANNEL {
                stack.push(at);
                at = graph.ends(next[at]).1 as usize;
            }
            // What leads nowhere stays unknown.
            if self.known[at] != self.visit {
                stack.clear();
            }
            while let Some(before) = stack.pop() {
                let channel = next[before] as usize;
                let (rest, full) = self.rest[at];
                self.rest[before] = (rest + self.marginal[channel], full || self.loads[channel] > level);
                self.known[before] = self.visit;
                at = before;
            }
        }
        for switch in 0..switches {
            let (old, hosts, here) = (next[switch], below[switch], distances[switch]);
            if old == NO_CHANNEL || hosts < self.least || !self.rest[switch].1 || here == UNREACHABLE {
                continue;
            }
            let mut best: Option<Promise> = None;
            for &hop in graph.outgoing(switch as u32) {
                let there = graph.ends(hop).1 as usize;
                let step = distances[there].saturating_add(1);
                let lost = self.known[there] != self.visit;
                if hop == old || lost || step > here && !(self.longer && step <= here + 2) {
                    continue;
                }
                self.tries += 1;
                let price = self.marginal[hop as usize] + self.rest[there].0 - self.rest[switch].0
                    + self.exception(hop, old, switch as u32, root);
                if price < -1e-12 && best.is_none_or(|(least, ..)| price * f64::from(hosts) < least) {
                    best = Some((price * f64::from(hosts), switch as u32, hop));
                }
            }
            promises.extend(best);
        }
        promises.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    /// What leaving dimension order costs per pair.
    fn exception(&self, hop: u32, old: u32, switch: u32, root: u32) -> f64 {
        let Some(order) = self.order else { return 0.0 };
        let odd = |channel: u32| f64::from(u8::from(!order.is_ordered(channel, switch, root)));
        self.effort.exception * (odd(hop) - odd(old))
    }

    /// The change of the cost if an entry took another hop; infinite if that closes a loop.
    fn change(&mut self, destination: usize, switch: u32, hop: u32) -> f64 {
        let start = destination * self.graph.switches();
        let old = self.table.next[start + switch as usize];
        let root = self.table.roots[destination];
        let hosts = u64::from(self.below[start + switch as usize]);
        let graph = self.graph;
        self.tries += 1;
        // Relief of the old way up to every switch on it.
        self.way += 1;
        self.relief.clear();
        let mut at = switch;
        let mut sum = 0.0;
        while at != root {
            let channel = self.table.next[start + at as usize];
            let load = self.loads[channel as usize];
            sum += self.cost(load - hosts) - self.cost(load);
            self.relief.push(sum);
            at = graph.ends(channel).1;
            self.on_way[at as usize] = (self.way, self.relief.len() as u32);
        }
        let mut change = self.exception(hop, old, switch, root) * hosts as f64;
        let (mut at, mut channel) = (graph.ends(hop).1, hop);
        loop {
            let load = self.loads[channel as usize];
            change += self.cost(load + hosts) - self.cost(load);
            let (way, steps) = self.on_way[at as usize];
            if way == self.way {
                return change + self.relief[steps as usize - 1];
            }
            if at == switch {
                return f64::INFINITY;
            }
            channel = self.table.next[start + at as usize];
            at = graph.ends(channel).1;
        }
    }

    /// Changes an entry; the number of channels above `enough`, of which there were `full`.
    fn redirect(&mut self, destination: usize, switch: u32, hop: u32, mut full: usize, enough: u64) -> usize {
        let start = destination * self.graph.switches();
        let root = self.table.roots[destination];
        let hosts = self.below[start + switch as usize];
        let mut at = switch;
        while at != root {
            let channel = self.table.next[start + at as usize] as usize;
            let load = self.loads[channel] - u64::from(hosts);
            full -= usize::from(self.loads[channel] > enough && load <= enough);
            self.loads[channel] = load;
            self.marginal[channel] = self.one_more(load);
            at = self.graph.ends(channel as u32).1;
            self.below[start + at as usize] -= hosts;
        }
        self.table.next[start + switch as usize] = hop;
        at = switch;
        while at != root {
            let channel = self.table.next[start + at as usize] as usize;
            let load = self.loads[channel] + u64::from(hosts);
            full += usize::from(self.loads[channel] <= enough && load > enough);
            self.loads[channel] = load;
            self.marginal[channel] = self.one_more(load);
            at = self.graph.ends(channel as u32).1;
            self.below[start + at as usize] += hosts;
        }
        full
    }
}

/// How often 1 is halved down to a number drawn from 0 to 1, in 2^32nds; between powers of two on a straight line, which
/// is the same on every machine.
pub(super) fn halvings(drawn: u32) -> f64 {
    let drawn = drawn.max(1);
    let zeros = drawn.leading_zeros();
    f64::from(zeros) + 2.0 - f64::from(drawn << zeros) / f64::from(1_u32 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::bounds::bound;

    #[test]
    fn halvings_lie_near_the_logarithm() {
        for drawn in [1, 2, 3, 5, 1000, 12345, 1 << 30, 3 << 30, u32::MAX] {
            let exact = 32.0 - f64::from(drawn).log2();
            assert!((halvings(drawn) - exact).abs() < 0.09, "{drawn}: {} or {exact}", halvings(drawn));
        }
    }

    #[test]
    fn loads_are_even_where_every_switch_is_beside_all_others_of_its_row_and_column() {
        let cables: Vec<(u32, u32)> = (0..36_u32)
            .flat_map(|a| (a + 1..36).map(move |b| (a, b)))
            .filter(|(a, b)| (a / 6 == b / 6) != (a % 6 == b % 6))
            .collect();
        let graph = Graph::new(vec![1; 36], &cables).unwrap();
        let mut table = Forwarding::spread(&graph, (0..36).collect());
        let effort = Effort { exception: 0.0, tries: 12_000_000, enough: 6, longer: true, gently: false };
        balance(&graph, &mut table, bound(&graph, None).value, None, effort);
        assert!(table.is_shortest(&graph));
        // A pair of neighbours and five of others, each over two channels: nothing is left to spare.
        assert_eq!(table.loads(&graph), vec![6; 360]);
    }
}
