use super::{Demand, Graph};
use crate::power::power_of;
use crate::{
    fabric::NodeId,
    traffic::{Purpose, draw, draw_below},
};
use std::{cmp::Ordering, collections::BinaryHeap};

/// A node in the queue of Dijkstra's algorithm, nearest first.
#[derive(PartialEq)]
struct Reached {
    cost: f64,
    node: NodeId,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shortest ways from one node under lengths of links (Dijkstra 1959).
pub struct Ways {
    /// Per node its distance.
    pub cost: Vec<f64>,
    /// Per node the link over which it is reached; `u32::MAX` at the start and where no way leads.
    pub over: Vec<u32>,
    queue: BinaryHeap<Reached>,
}

impl Ways {
    /// Room for a graph of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { cost: vec![f64::INFINITY; nodes], over: vec![u32::MAX; nodes], queue: BinaryHeap::new() }
    }

    /// Finds the ways from `source`, up to `target` if one is given.
    pub fn find(
        &mut self,
        graph: &Graph,
        source: NodeId,
        target: Option<NodeId>,
        length: impl Fn(u32) -> f64,
    ) {
        self.cost.fill(f64::INFINITY);
        self.over.fill(u32::MAX);
        self.queue.clear();
        self.cost[source as usize] = 0.0;
        self.queue.push(Reached { cost: 0.0, node: source });
        while let Some(Reached { cost, node }) = self.queue.pop() {
            if Some(node) == target {
                return;
            }
            if cost > self.cost[node as usize] {
                continue;
            }
            for &link in graph.out(node) {
                let next = graph.links()[link as usize].1;
                let through = cost + length(link);
                if through < self.cost[next as usize] {
                    self.cost[next as usize] = through;
                    self.over[next as usize] = link;
                    self.queue.push(Reached { cost: through, node: next });
                }
            }
        }
    }

    /// The links to a node, in order; `None` if no way leads there.
    pub fn path(&self, graph: &Graph, source: NodeId, target: NodeId) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut node = target;
        while node != source {
            let link = self.over[node as usize];
            if link == u32::MAX {
                return None;
            }
            path.push(link);
            node = graph.links()[link as usize].0;
        }
        path.reverse();
        Some(path)
    }
}

/// Chooses one path per demand so that the fullest link carries as few as possible, at best `goal`.
///
/// Paths given are kept at first (empty ones are found); then demands over the fullest links are moved to
/// the way with the least rise of a steep sum over all links, until nothing improves or `moves` are used
/// up. Returns the paths and the load of the fullest link, or the first demand that no way serves.
pub fn balance_paths(
    graph: &Graph,
    demands: &[Demand],
    mut paths: Vec<Vec<u32>>,
    goal: u64,
    moves: u64,
    seed: u64,
) -> Result<(Vec<Vec<u32>>, u64), Demand> {
    paths.resize(demands.len(), Vec::new());
    let mut load = vec![0_i64; graph.links().len()];
    paths.iter().flatten().for_each(|&link| load[link as usize] += 1);
    let mut ways = Ways::new(graph.nodes());
    let mut order: Vec<u32> = (0..demands.len() as u32).collect();
    order.retain(|&number| paths[number as usize].is_empty());
    order.sort_by_cached_key(|&number| draw(seed, 0, Purpose::Search, number.into()));
    let scale = goal.max(1) as f64;
    for number in order {
        let Demand { source, destination } = demands[number as usize];
        if source == destination {
            continue;
        }
        ways.find(graph, source, Some(destination), |link| 1.0 + load[link as usize] as f64 / scale);
        let path = ways.path(graph, source, destination).ok_or(demands[number as usize])?;
        path.iter().for_each(|&link| load[link as usize] += 1);
        paths[number as usize] = path;
    }
    let fullest = |load: &[i64]| load.iter().copied().max().unwrap_or(0);
    let mut best = (fullest(&load), paths.clone());
    let mut used = 0;
    // How much more one path more costs a full link; more and more, if nothing improves.
    let mut power = (fullest(&load) / 16).clamp(16, 1 << 16) as u32;
    let mut idle = 0;
    let mut round = 0;
    while best.0 > goal as i64 && used < moves && idle < 12 {
        round += 1;
        let limit = fullest(&load) as f64;
        // What one more path costs a link; a hop always costs a little.
        let price = |load: i64| {
            let share = |load: i64| power_of(load as f64 / limit, power);
            share(load + 1) - share(load) + 1e-9
        };
        let prices_upto: Vec<f64> = (0..=limit as i64 + 1).map(price).collect();
        // The highest sixteenth of what is too much, two levels at least.
        let excess = fullest(&load) - goal as i64;
        let threshold = (goal as i64).max(fullest(&load) - (excess / 16).max(2));
        let mut full: Vec<u32> = (0..load.len() as u32)
            .filter(|&link| load[link as usize] > threshold.min(fullest(&load) - 1))
            .collect();
        full.sort_by_key(|&link| std::cmp::Reverse(load[link as usize]));
        let is_full: Vec<bool> = (0..load.len() as u32).map(|link| full.contains(&link)).collect();
        let mut through: Vec<Vec<u32>> = vec![Vec::new(); load.len()];
        for (number, path) in (0..).zip(&paths) {
            for &link in path.iter().filter(|&&link| is_full[link as usize]) {
                through[link as usize].push(number);
            }
        }
        let before: Vec<i64> =
            vec![fullest(&load), load.iter().filter(|&&load| load as f64 >= limit).count() as i64];
        for &link in &full {
            let users = &mut through[link as usize];
            let mut turn = 0;
            while !users.is_empty() && load[link as usize] > threshold && used < moves {
                let pick = draw_below(seed, link, Purpose::Search, (round << 24) | turn, users.len() as u32);
                turn += 1;
                used += 1;
                let number = users.swap_remove(pick as usize) as usize;
                if !paths[number].contains(&link) {
                    continue;
                }
                let Demand { source, destination } = demands[number];
                paths[number].iter().for_each(|&link| load[link as usize] -= 1);
                let at =
                    |link: u32| prices_upto[(load[link as usize].max(0) as usize).min(prices_upto.len() - 1)];
                let old: f64 = paths[number].iter().map(|&link| at(link)).sum();
                ways.find(graph, source, Some(destination), at);
                let new =
                    ways.path(graph, source, destination).filter(|_| ways.cost[destination as usize] < old);
                if let Some(new) = new {
                    paths[number] = new;
                }
                paths[number].iter().for_each(|&link| load[link as usize] += 1);
            }
        }
        let after = vec![fullest(&load), load.iter().filter(|&&load| load as f64 >= limit).count() as i64];
        if after[0] < best.0 {
            best = (after[0], paths.clone());
        }
        if after < before {
            idle = 0;
        } else {
            idle += 1;
            if idle % 3 == 0 {
                power = (2 * power).min(1 << 16);
            }
        }
    }
    Ok((best.1, best.0.max(0) as u64))
}
