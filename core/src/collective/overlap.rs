use super::{
    Move,
    spread::{Spreading, State},
};
use crate::{
    fabric::{Network, NodeId},
    traffic::{Purpose, draw},
};
use std::collections::HashMap;

/// An all-reduce in which some sums spread while others still come together: the one is the mirror image of the
/// other, in time and with every link the other way.
///
/// From the step `released` on, the sum of an item is complete at its origin and spreads. It comes together as
/// its `partner` spreads, mirrored: both have one origin, and the steps `released` of both make the whole time.
/// A link that spreads something in the first half cannot do so, the other way, in the mirrored step of the
/// second: its end gains a step, and its start loses one. So nodes with few links get all they need from those
/// with links to spare.
pub(super) struct Overlap<'a> {
    /// Network, members, origin of every item, latency.
    pub spreading: Spreading<'a>,
    /// Per link the one the other way.
    pub opposite: &'a [u32],
    /// Steps in which something can leave.
    pub departures: u32,
    /// Per item the step from which on it spreads.
    pub released: &'a [u32],
    /// Per item the one that spreads as this one comes together.
    pub partner: &'a [u32],
}

/// How freely nodes give steps of theirs to others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// Seed of everything random.
    pub seed: u64,
    /// What a node keeps to spare, in eighths of what all nodes have on average.
    pub reserve: i64,
    /// How much more than the average a node may collect.
    pub ahead: i64,
}

/// Per link the one between the same nodes the other way; `None` if some link has none.
pub(super) fn opposites(graph: &Network) -> Option<Vec<u32>> {
    let mut between: HashMap<(NodeId, NodeId), Vec<u32>> = HashMap::new();
    for (link, &ends) in (0..).zip(graph.links()) {
        between.entry(ends).or_default().push(link);
    }
    let mut opposite = vec![0; graph.links().len()];
    for (&(from, to), links) in &between {
        let back = between.get(&(to, from)).filter(|back| back.len() == links.len())?;
        links.iter().zip(back).for_each(|(&link, &back)| opposite[link as usize] = back);
    }
    Some(opposite)
}

impl Overlap<'_> {
    /// All moves, if everybody gets everything in time.
    pub(super) fn moves(&self, manner: Manner) -> Option<Vec<Move>> {
        let mut moves = Growth::new(self).run(manner)?;
        let mirrored = |moved: &Move| Move {
            step: self.departures - 1 - moved.step,
            link: self.opposite[moved.link as usize],
            item: self.partner[moved.item as usize],
            adds: true,
        };
        let sums: Vec<Move> = moves.iter().map(mirrored).collect();
        moves.extend(sums);
        moves.sort_unstable();
        Some(moves)
    }
}

/// What spreads, step by step.
struct Growth<'a> {
    overlap: &'a Overlap<'a>,
    graph: &'a Network,
    state: State,
    /// Per step of the second half, from the last one backwards, the links that carry a mirrored move.
    blocked: Vec<Vec<bool>>,
    /// Per node the steps of its incoming links that are left in the second half, less the items it lacks.
    spare: Vec<i64>,
}

impl<'a> Growth<'a> {
    fn new(overlap: &'a Overlap<'a>) -> Self {
        let graph = overlap.spreading.graph;
        let state = State::new(&overlap.spreading);
        let spare = |node: NodeId| {
            // A step in the middle is shared.
            let steps = graph.into(node).len() as i64 * i64::from(overlap.departures) / 2;
            steps - i64::from(state.missing[node as usize])
        };
        let spare = (0..graph.nodes() as NodeId).map(spare).collect();
        let blocked = vec![vec![false; graph.links().len()]; overlap.departures.div_ceil(2) as usize];
        Self { overlap, graph, state, blocked, spare }
    }

    fn run(mut self, manner: Manner) -> Option<Vec<Move>> {
        let Overlap { ref spreading, opposite, departures, released, .. } = *self.overlap;
        let Spreading { graph, members, origins, latency } = *spreading;
        let average =
            members.iter().map(|&node| self.spare[node as usize]).sum::<i64>() / members.len() as i64;
        let (reserve, most) = (average * manner.reserve / 8, average + manner.ahead);
        let mut left: u64 = members.iter().map(|&node| u64::from(self.state.missing[node as usize])).sum();
        let mut moves: Vec<Move> = Vec::with_capacity(2 * left as usize);
        let mut order = members.to_vec();
        let mut landed = 0;
        for step in released.iter().copied().min()?..departures {
            for (item, &origin) in origins.iter().enumerate().filter(|&(item, _)| released[item] == step) {
                self.state.here[origin as usize].insert(item);
            }
            while landed < moves.len() && moves[landed].step + 1 + latency <= step {
                let moved = moves[landed];
                self.state.here[graph.links()[moved.link as usize].1 as usize].insert(moved.item as usize);
                landed += 1;
            }
            self.state.shake(manner.seed, step);
            let mirror = departures - 1 - step;
            let is_early = step < mirror;
            let lacking = |node: NodeId| self.state.missing[node as usize] > 0;
            let spare = members.iter().filter(|&&node| lacking(node)).map(|&node| self.spare[node as usize]);
            let least = spare.min()?;
            if !is_early && least < 0 {
                return None;
            }
            let is_poor = |node: NodeId| lacking(node) && self.spare[node as usize] <= least + 1;
            let poor: Vec<bool> = (0..graph.nodes() as NodeId).map(is_poor).collect();
            let random = |node: NodeId| draw(manner.seed, 1, Purpose::Search, tagged(step, node));
            order.sort_by_cached_key(|&node| (self.spare[node as usize], random(node)));
            for &node in &order {
                if self.state.missing[node as usize] == 0 {
                    continue;
                }
                let usable = |&&link: &&u32| match is_early {
                    true => {
                        let from = graph.links()[link as usize].0 as usize;
                        self.spare[from] > reserve && self.spare[node as usize] < most
                    }
                    false => !self.blocked[mirror as usize][link as usize],
                };
                let links: Vec<u32> = graph.into(node).iter().filter(usable).copied().collect();
                for (link, item) in self.state.choose(graph, node, &links, &poor) {
                    moves.push(Move { step, link, item, adds: false });
                    left -= 1;
                    self.spare[node as usize] += 1;
                    if step <= mirror {
                        self.blocked[step as usize][opposite[link as usize] as usize] = true;
                    }
                    if is_early {
                        self.spare[graph.links()[link as usize].0 as usize] -= 1;
                    }
                }
            }
            if left == 0 {
                return Some(moves);
            }
            if !is_early {
                self.pass(members, mirror, step == mirror);
            }
        }
        None
    }

    /// A step of the second half is over.
    fn pass(&mut self, members: &[NodeId], mirror: u32, is_shared: bool) {
        for &node in members {
            let links = self.graph.into(node);
            let is_free = |&&link: &&u32| !self.blocked[mirror as usize][link as usize];
            let passed = if is_shared { links.len() / 2 } else { links.iter().filter(is_free).count() };
            self.spare[node as usize] -= passed as i64;
        }
    }
}

fn tagged(step: u32, index: u32) -> u64 {
    u64::from(step) << 32 | u64::from(index)
}
