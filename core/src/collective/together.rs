use crate::{
    fabric::{Network, NodeId, walk::Ways},
    flow::{
        demands::Demand,
        loads::{fullest, of_paths},
    },
    power::power_of,
    traffic::{Purpose, draw},
};

/// What a hop costs, beside what one chunk more costs its link.
const HOP: i64 = 1 << 4;
/// What it costs a full link, per chunk above that.
const FULL: i64 = 1 << 32;
/// What it costs a link that is just full, and how steeply that rises.
const RISE: f64 = 320.0;
const STEEP: u32 = 40;
/// Times that all nodes are tried without a better load before this ends.
const PATIENCE: u32 = 6;

/// Lowers the load of the fullest link, at best to `goal`: all chunks from one node, or all to one node, get new
/// paths together, which is a flow from that node, and the cheapest one can be found.
///
/// A single chunk often finds no better way where the links around are equally full; all of a node's together
/// do, as each takes what another one leaves. At most so many `searches` for shortest ways are spent.
pub(super) fn reroute_together(
    graph: &Network,
    demands: &[Demand],
    paths: &mut [Vec<u32>],
    goal: u64,
    mut searches: u64,
    seed: u64,
) -> u64 {
    let mut load: Vec<u64> = of_paths(graph.links().len(), paths);
    let backwards = graph.reversed();
    let mut of_node: [Vec<Vec<u32>>; 2] = [vec![Vec::new(); graph.nodes()], vec![Vec::new(); graph.nodes()]];
    for (number, demand) in (0..).zip(demands).filter(|(_, demand)| demand.source != demand.destination) {
        of_node[0][demand.source as usize].push(number);
        of_node[1][demand.destination as usize].push(number);
    }
    let mut best = (fullest(&load), paths.to_vec());
    let mut idle = 0;
    for round in 0.. {
        if best.0 <= goal || idle >= PATIENCE {
            break;
        }
        idle += 1;
        let mut turns: Vec<(usize, NodeId)> =
            (0..2).flat_map(|side| (0..graph.nodes() as NodeId).map(move |node| (side, node))).collect();
        turns.sort_by_cached_key(|&(side, node)| draw(seed, node, Purpose::Search, 2 * round + side as u64));
        for (side, node) in turns {
            let own = &of_node[side][node as usize];
            if searches < own.len() as u64 {
                idle = PATIENCE;
                break;
            }
            searches -= own.len() as u64;
            let far = |&number: &u32| {
                let demand = demands[number as usize];
                if side == 0 { demand.destination } else { demand.source }
            };
            let ends: Vec<NodeId> = own.iter().map(far).collect();
            let taken = own.iter().flat_map(|&number| &paths[number as usize]);
            taken.for_each(|&link| load[link as usize] -= 1);
            let graph = if side == 0 { graph } else { &backwards };
            let flow = Flow::new(graph, &load, best.0 - 1, own.len() as u64);
            let ways = flow.cheapest(node, &ends);
            for (&number, mut way) in own.iter().zip(ways.into_iter().flatten()) {
                if side == 1 {
                    way.reverse();
                }
                paths[number as usize] = way;
            }
            let taken = own.iter().flat_map(|&number| &paths[number as usize]);
            taken.for_each(|&link| load[link as usize] += 1);
            let now = fullest(&load);
            if now < best.0 {
                best = (now, paths.to_vec());
                idle = 0;
                if now <= goal {
                    break;
                }
            }
        }
    }
    paths.clone_from_slice(&best.1);
    best.0
}

/// The cheapest flow from a node, one way after the other (Ford and Fulkerson 1962), with costs that rise with
/// the load of a link.
struct Flow<'a> {
    graph: &'a Network,
    /// What the others carry, by link.
    load: &'a [u64],
    own: Vec<u64>,
    /// By load, what one chunk more costs a link.
    prices: Vec<i64>,
    /// By node, the distance so far: with it no cost is negative (Edmonds and Karp 1972).
    potential: Vec<i64>,
}

impl<'a> Flow<'a> {
    fn new(graph: &'a Network, load: &'a [u64], full: u64, chunks: u64) -> Self {
        let price = |load: u64| match load.checked_sub(full) {
            Some(above) => HOP + FULL * (above as i64 + 1),
            None => HOP + (RISE * power_of((load + 1) as f64 / full as f64, STEEP)) as i64,
        };
        let most = fullest(load) + chunks;
        let prices = (0..=most).map(price).collect();
        Self { graph, load, own: vec![0; load.len()], prices, potential: vec![0; graph.nodes()] }
    }

    /// Ways from a node to all of the ends, in their order; `None` if one cannot be reached.
    fn cheapest(mut self, from: NodeId, ends: &[NodeId]) -> Option<Vec<Vec<u32>>> {
        let mut wanted = vec![0_u32; self.graph.nodes()];
        ends.iter().for_each(|&end| wanted[end as usize] += 1);
        for _ in ends {
            let end = self.send(from, &wanted)?;
            wanted[end as usize] -= 1;
        }
        ends.iter().map(|&end| self.take(from, end)).collect()
    }

    /// Sends a chunk to the cheapest of the wanted nodes, which is returned; others may give it their ways.
    fn send(&mut self, from: NodeId, wanted: &[u32]) -> Option<NodeId> {
        let Self { load, own, prices, potential, .. } = &*self;
        let graph = self.graph;
        // An arc is twice its link, and one more where a chunk is taken off it.
        let arcs = |node: NodeId| {
            let reduced =
                move |next: NodeId, price: i64| price + potential[node as usize] - potential[next as usize];
            let load = |link: u32| (load[link as usize] + own[link as usize]) as usize;
            let more = graph.out(node).iter().map(move |&link| {
                let next = graph.links()[link as usize].1;
                (2 * link, next, reduced(next, prices[load(link)]))
            });
            let taken = graph.into(node).iter().filter(|&&link| own[link as usize] > 0);
            more.chain(taken.map(move |&link| {
                let next = graph.links()[link as usize].0;
                (2 * link + 1, next, reduced(next, -prices[load(link) - 1]))
            }))
        };
        let mut ways = Ways::new(graph.nodes());
        let mut end = None;
        ways.find(from, arcs, |node, _| {
            end = (wanted[node as usize] > 0).then_some(node);
            end.is_none()
        });
        let end = end?;
        let farthest = ways.cost[end as usize];
        self.potential.iter_mut().zip(&ways.cost).for_each(|(known, &cost)| *known += cost.min(farthest));
        let mut at = end;
        while at != from {
            let arc = ways.over[at as usize];
            let (tail, head) = graph.links()[arc as usize / 2];
            if arc % 2 == 1 {
                self.own[arc as usize / 2] -= 1;
                at = head;
            } else {
                self.own[arc as usize / 2] += 1;
                at = tail;
            }
        }
        Some(end)
    }

    /// A way of the flow to a node, taken off it. There are no circles, since every hop costs something.
    fn take(&mut self, from: NodeId, end: NodeId) -> Option<Vec<u32>> {
        let mut way = Vec::new();
        let mut at = end;
        while at != from {
            let &link = self.graph.into(at).iter().max_by_key(|&&link| self.own[link as usize])?;
            self.own[link as usize] = self.own[link as usize].checked_sub(1)?;
            way.push(link);
            at = self.graph.links()[link as usize].0;
        }
        way.reverse();
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three nodes in a row, each joined to the next by two links; a node that only the middle one knows.
    fn graph() -> Network {
        Network::new(vec![true; 4], vec![(0, 1), (0, 1), (1, 2), (1, 2), (0, 3), (3, 2)])
    }

    #[test]
    fn chunks_of_a_node_share_the_links_out_of_it() {
        let graph = graph();
        let demands = vec![Demand { source: 0, destination: 2 }; 3];
        // All on the same links at first; three ways have no link in common.
        let mut paths = vec![vec![0, 2]; 3];
        assert_eq!(reroute_together(&graph, &demands, &mut paths, 1, 100, 1), 1);
        let mut links = paths.concat();
        links.sort_unstable();
        assert_eq!(links, [0, 1, 2, 3, 4, 5]);
        for path in &paths {
            assert_eq!(graph.links()[path[0] as usize].1, graph.links()[path[1] as usize].0);
        }
        // Without searches nothing changes.
        let mut paths = vec![vec![0, 2]; 3];
        assert_eq!(reroute_together(&graph, &demands, &mut paths, 1, 2, 1), 3);
        assert_eq!(paths, vec![vec![0, 2]; 3]);
    }

    #[test]
    fn later_chunks_push_earlier_ones_aside() {
        // The short way over node 1 is the only one to node 2; node 3 has one of its own as well.
        let graph = Network::new(vec![true; 5], vec![(0, 1), (1, 2), (1, 3), (0, 4), (4, 3)]);
        let demands = [Demand { source: 0, destination: 3 }, Demand { source: 0, destination: 2 }];
        let mut paths = vec![vec![0, 2], vec![0, 1]];
        assert_eq!(reroute_together(&graph, &demands, &mut paths, 1, 100, 1), 1);
        assert_eq!(paths, [vec![3, 4], vec![0, 1]]);
    }
}
