//! Balancing: entries are re-pointed one by one until no channel carries more than the bound.

use super::{DimensionOrder, Forwarding, NO_CHANNEL};
use crate::fabric::{Graph, UNREACHABLE};
use crate::power::power_of;
use std::collections::HashMap;

/// How hard to balance.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Price of a hop against dimension order, in fullest channels per pair of hosts.
    pub exception: f64,
    /// Entries that may be tried.
    pub tries: u64,
    /// A largest load that is good enough.
    pub enough: u64,
}

/// Lowers the largest load of a table towards `target` without lengthening any way.
///
/// Convex costs of the loads (Fortz and Thorup 2000): the channels near the maximum are relieved, the
/// fullest first, by the best other hop of an entry whose packets cross them.
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
    let mut search = Search::new(graph, table, order, effort);
    if order.is_none() {
        for power in [2, 4, 8, 16, 32, 64] {
            search.sweep(target, power);
        }
    }
    search.relieve(target.max(1), effort.enough.max(target));
    *table = search.best;
}

struct Search<'a> {
    graph: &'a Graph,
    order: Option<&'a DimensionOrder>,
    effort: Effort,
    table: Forwarding,
    best: Forwarding,
    best_load: u64,
    distances: HashMap<u32, Vec<u16>>,
    /// Hosts that send through an entry, by `destination * switches + switch`.
    below: Vec<u32>,
    loads: Vec<u64>,
    cost: Vec<f64>,
    tries: u64,
    /// Places of switches on the way at hand.
    on_way: Vec<(u32, u32)>,
    way: u32,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, table: &Forwarding, order: Option<&'a DimensionOrder>, effort: Effort) -> Self {
        let switches = graph.switches();
        let mut below = vec![0_u32; table.next.len()];
        for destination in 0..table.roots.len() {
            let row = table.row(destination);
            let start = destination * switches;
            let towards = table.towards(graph, destination);
            towards.iter().for_each(|&switch| below[start + switch as usize] = graph.hosts(switch));
            for &switch in towards.iter().filter(|&&switch| switch != table.roots[destination]) {
                let hosts = below[start + switch as usize];
                below[start + graph.ends(row[switch as usize]).1 as usize] += hosts;
            }
        }
        let loads = table.loads(graph);
        let distances = table.roots.iter().map(|&root| (root, graph.distances_to(root))).collect();
        Self {
            graph,
            order,
            effort,
            best: table.clone(),
            best_load: loads.iter().copied().max().unwrap_or(0),
            table: table.clone(),
            distances,
            below,
            loads,
            cost: Vec::new(),
            tries: 0,
            on_way: vec![(0, 0); switches],
            way: 0,
        }
    }

    fn largest(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }

    /// Costs (load / target)^power; loads never grow beyond twice the largest.
    fn price(&mut self, target: u64, power: u32) {
        let most = 2 * self.largest() + 2;
        self.cost = (0..=most).map(|load| power_of(load as f64 / target as f64, power).min(1e250)).collect();
    }

    fn cost(&self, load: u64) -> f64 {
        self.cost.get(load as usize).copied().unwrap_or(1e250)
    }

    /// Remembers the table if its largest load is the lowest so far.
    fn note(&mut self) -> u64 {
        let largest = self.largest();
        if largest < self.best_load {
            self.best_load = largest;
            self.best = self.table.clone();
        }
        largest
    }

    /// Every entry once.
    fn sweep(&mut self, target: u64, power: u32) {
        self.price(target.max(1), power);
        for switch in 0..self.graph.switches() as u32 {
            for destination in 0..self.table.roots.len() {
                if let Some((change, channel)) = self.better(destination, switch)
                    && change < -1e-12
                {
                    self.redirect(destination, switch, channel);
                }
            }
        }
        self.note();
    }

    fn relieve(&mut self, target: u64, enough: u64) {
        let mut power = 16;
        let mut stale = 0;
        let mut last = (u64::MAX, usize::MAX);
        while self.tries < self.effort.tries {
            let largest = self.note();
            if largest <= enough {
                return;
            }
            let level = target.max(largest - 1 - (largest - target) / 2);
            let mut full: Vec<u32> = (0..self.loads.len() as u32)
                .filter(|&channel| self.loads[channel as usize] > level)
                .collect();
            let now = (largest, self.loads.iter().filter(|&&load| load == largest).count());
            if now >= last {
                stale += 1;
                if stale == 3 {
                    stale = 0;
                    power *= 2;
                    if power > 256 {
                        return;
                    }
                }
            } else {
                stale = 0;
                last = now;
            }
            self.price(target, power);
            full.sort_by_key(|&channel| std::cmp::Reverse(self.loads[channel as usize]));
            for channel in full {
                self.relieve_channel(channel, level);
                if enough > target && self.largest() <= enough {
                    break;
                }
            }
        }
    }

    fn relieve_channel(&mut self, channel: u32, level: u64) {
        let switches = self.graph.switches();
        let from = self.graph.ends(channel).0;
        for destination in 0..self.table.roots.len() {
            if self.loads[channel as usize] <= level || self.tries >= self.effort.tries {
                return;
            }
            if self.table.next[destination * switches + from as usize] != channel {
                continue;
            }
            let mut upstream = vec![from];
            let mut head = 0;
            let mut best: Option<(f64, u32, u32)> = None;
            while let Some(&switch) = upstream.get(head) {
                head += 1;
                if let Some((change, hop)) = self.better(destination, switch)
                    && best.is_none_or(|(least, ..)| change < least)
                {
                    best = Some((change, switch, hop));
                }
                for &back in self.graph.outgoing(switch) {
                    let before = self.graph.ends(back).1;
                    if self.table.next[destination * switches + before as usize] == back ^ 1 {
                        upstream.push(before);
                    }
                }
            }
            if let Some((change, switch, hop)) = best
                && change < -1e-12
            {
                self.redirect(destination, switch, hop);
            }
        }
    }

    /// The best other hop of an entry and the change of the cost.
    fn better(&mut self, destination: usize, switch: u32) -> Option<(f64, u32)> {
        let switches = self.graph.switches();
        let start = destination * switches;
        let old = self.table.next[start + switch as usize];
        let root = self.table.roots[destination];
        let hosts = u64::from(self.below[start + switch as usize]);
        if old == NO_CHANNEL || switch == root || hosts == 0 {
            return None;
        }
        let graph = self.graph;
        let here = self.distances[&root][switch as usize];
        if here == UNREACHABLE {
            return None;
        }
        // Relief of the old way up to every switch on it.
        self.way += 1;
        let mut relief = Vec::with_capacity(here as usize + 1);
        let mut at = switch;
        let mut sum = 0.0;
        while at != root {
            let channel = self.table.next[start + at as usize];
            let load = self.loads[channel as usize];
            sum += self.cost(load - hosts) - self.cost(load);
            relief.push(sum);
            at = graph.ends(channel).1;
            self.on_way[at as usize] = (self.way, relief.len() as u32);
        }
        let mut best: Option<(f64, u32)> = None;
        for &hop in graph.outgoing(switch) {
            let next = graph.ends(hop).1;
            if hop == old || self.distances[&root][next as usize] + 1 != here {
                continue;
            }
            self.tries += 1;
            let (mut at, mut channel, mut change) = (next, hop, 0.0);
            loop {
                let load = self.loads[channel as usize];
                change += self.cost(load + hosts) - self.cost(load);
                let (way, steps) = self.on_way[at as usize];
                if way == self.way {
                    change += relief[steps as usize - 1];
                    break;
                }
                channel = self.table.next[start + at as usize];
                at = graph.ends(channel).1;
            }
            if let Some(order) = self.order {
                let exception = |channel: u32| u8::from(!order.is_ordered(channel, switch, root));
                let gained = f64::from(exception(hop)) - f64::from(exception(old));
                change += self.effort.exception * hosts as f64 * gained;
            }
            if best.is_none_or(|(least, _)| change < least) {
                best = Some((change, hop));
            }
        }
        best
    }

    fn redirect(&mut self, destination: usize, switch: u32, hop: u32) {
        let start = destination * self.graph.switches();
        let root = self.table.roots[destination];
        let hosts = self.below[start + switch as usize];
        let mut at = switch;
        while at != root {
            let channel = self.table.next[start + at as usize];
            self.loads[channel as usize] -= u64::from(hosts);
            at = self.graph.ends(channel).1;
            self.below[start + at as usize] -= hosts;
        }
        self.table.next[start + switch as usize] = hop;
        at = switch;
        while at != root {
            let channel = self.table.next[start + at as usize];
            self.loads[channel as usize] += u64::from(hosts);
            at = self.graph.ends(channel).1;
            self.below[start + at as usize] += hosts;
        }
    }
}
