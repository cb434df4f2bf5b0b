use super::{Move, matching::augment};
use crate::{
    fabric::{Network, NodeId},
    traffic::{Purpose, draw},
};
use fixedbitset::FixedBitSet;

/// Chunks that every member must get, by the node that has each at first.
pub(super) struct Spreading<'a> {
    /// The network.
    pub graph: &'a Network,
    /// Nodes that must get all chunks and pass them on.
    pub members: &'a [NodeId],
    /// Per chunk the member that has it at first.
    pub origins: &'a [NodeId],
    /// Steps on a link besides the one in which it is busy.
    pub latency: u32,
}

/// Spreads all chunks by growth: in every step each node takes over each of its incoming links a chunk
/// that it lacks, all different, rare ones first; nodes with the most to receive per link choose first.
///
/// Returns moves that cannot be wrong, but may take more steps than needed; other `seed`s give others.
/// Gives up, with `None`, once it is clear that more than `limit` steps are needed.
pub(super) fn spread(problem: &Spreading<'_>, limit: u32, seed: u64) -> Option<Vec<Move>> {
    let graph = problem.graph;
    let mut state = State::new(problem);
    for (item, &origin) in problem.origins.iter().enumerate() {
        state.here[origin as usize].insert(item);
    }
    let links_of = |node: NodeId| graph.into(node).len().max(1) as u32;
    let mut left: u64 = problem.members.iter().map(|&node| u64::from(state.missing[node as usize])).sum();
    let mut moves: Vec<Move> = Vec::with_capacity(left as usize);
    let mut order = problem.members.to_vec();
    let mut landed = 0;
    for step in 0.. {
        if left == 0 {
            break;
        }
        while landed < moves.len() && moves[landed].step + 1 + problem.latency <= step {
            let moved = moves[landed];
            state.here[graph.links()[moved.link as usize].1 as usize].insert(moved.item as usize);
            landed += 1;
        }
        state.shake(seed, step);
        let random = |node: NodeId| draw(seed, 1, Purpose::Search, u64::from(step) << 32 | u64::from(node));
        let need = |node: NodeId| state.missing[node as usize].div_ceil(links_of(node));
        let hardest = order.iter().map(|&node| need(node)).max().unwrap_or(0);
        if step + hardest + problem.latency > limit {
            return None;
        }
        let poor: Vec<bool> = (0..graph.nodes() as NodeId)
            .map(|node| state.missing[node as usize] > 0 && need(node) + 1 >= hardest)
            .collect();
        order.sort_by_cached_key(|&node| {
            let share = u64::from(state.missing[node as usize]) * 1024 / u64::from(links_of(node));
            (std::cmp::Reverse(share), random(node))
        });
        let before = moves.len();
        for &node in &order {
            if state.missing[node as usize] > 0 {
                for (link, item) in state.choose(graph, node, graph.into(node), &poor) {
                    moves.push(Move { step, link, item, adds: false });
                }
            }
        }
        if moves.len() == before && landed == moves.len() {
            return None;
        }
        left -= (moves.len() - before) as u64;
    }
    Some(moves)
}

/// Who has what, and what is on its way.
pub(super) struct State {
    /// Per node the chunks it can send.
    pub here: Vec<FixedBitSet>,
    /// Per node the chunks it has or will have.
    coming: Vec<FixedBitSet>,
    /// Per node how many are still to come.
    pub missing: Vec<u32>,
    /// Per chunk the nodes that have it or will have it.
    copies: Vec<u32>,
    /// Per chunk a little chance.
    noise: Vec<u32>,
}

impl State {
    /// Nothing can be sent yet; every chunk will be at its origin.
    pub(super) fn new(problem: &Spreading<'_>) -> Self {
        let (nodes, items) = (problem.graph.nodes(), problem.origins.len());
        let empty = FixedBitSet::with_capacity(items);
        let mut state = Self {
            here: vec![empty.clone(); nodes],
            coming: vec![empty; nodes],
            missing: vec![0; nodes],
            copies: vec![1; items],
            noise: vec![0; items],
        };
        for &node in problem.members {
            state.missing[node as usize] = items as u32;
        }
        for (item, &origin) in problem.origins.iter().enumerate() {
            state.coming[origin as usize].insert(item);
            state.missing[origin as usize] -= 1;
        }
        state
    }

    /// Other little chances, for a step. How much there is beside rarity differs from seed to seed.
    pub(super) fn shake(&mut self, seed: u64, step: u32) {
        let spice = [1, 4, 12, 2, 30][(seed % 5) as usize];
        for (item, noise) in (0..).zip(&mut self.noise) {
            let random = draw(seed, 0, Purpose::Search, u64::from(step) << 32 | item);
            *noise = (random >> 32) as u32 % (4 * spice);
        }
    }

    /// A different chunk for as many of the incoming `links` as possible, cheap ones first; marked as coming.
    pub(super) fn choose(
        &mut self,
        graph: &Network,
        node: NodeId,
        links: &[u32],
        poor: &[bool],
    ) -> Vec<(u32, u32)> {
        let count = links.len().min(self.missing[node as usize] as usize);
        let followers: Vec<usize> = graph
            .out(node)
            .iter()
            .map(|&link| graph.links()[link as usize].1 as usize)
            .filter(|&next| poor[next])
            .collect();
        let mut candidates: Vec<Vec<(u64, u32)>> = Vec::with_capacity(links.len());
        for &link in links {
            let from = graph.links()[link as usize].0 as usize;
            let mut best: Vec<(u64, u32)> = Vec::with_capacity(count + 1);
            for item in self.here[from].difference(&self.coming[node as usize]) {
                let useful =
                    followers.iter().filter(|&&next| !self.coming[next].contains(item)).count() as u64;
                let price =
                    (1 << 20) + 4 * u64::from(self.copies[item]) + u64::from(self.noise[item]) - 16 * useful;
                if best.len() < count || best.last().is_some_and(|&(worst, _)| price < worst) {
                    let place = best.partition_point(|&(other, _)| other <= price);
                    best.insert(place, (price, item as u32));
                    best.truncate(count);
                }
            }
            candidates.push(best);
        }
        // Chunks in order of price, each to a link that can bring it.
        let mut all: Vec<(u64, u32)> = candidates.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let takes = |link: usize, item: u32| candidates[link].iter().any(|&(_, other)| other == item);
        let mut chosen = vec![None; links.len()];
        let mut found = 0;
        for &(_, item) in &all {
            if found == count {
                break;
            }
            found += usize::from(augment(item, &mut chosen, &mut vec![false; links.len()], &takes));
        }
        let chosen = links.iter().zip(chosen).filter_map(|(&link, item)| item.map(|item: u32| (link, item)));
        let chosen: Vec<(u32, u32)> = chosen.collect();
        for &(_, item) in &chosen {
            self.coming[node as usize].insert(item as usize);
            self.copies[item as usize] += 1;
            self.missing[node as usize] -= 1;
        }
        chosen
    }
}
