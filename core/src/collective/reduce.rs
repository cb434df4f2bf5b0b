use super::{
    Move, Plan, Request, Schedule,
    bounds::reduce_bound,
    grown::gathered,
    moves::steps_of,
    overlap::{Manner, Overlap, opposites},
    spread::Spreading,
};
use crate::{
    fabric::{Network, NodeId},
    traffic::{Purpose, draw_below},
};

/// Growths that are tried, times items times links; and at least and at most so many.
const WORK: u64 = 16_000_000;
const ATTEMPTS: (u64, u64) = (16, 256);

/// An all-reduce: sums come together at one node each, and spread from there.
///
/// One half after the other is a plan, but nodes with few links then set the pace twice. So halves that overlap
/// are tried, in ever fewer steps.
pub(super) fn reduced(graph: &Network, backwards: &Network, members: &[NodeId], request: &Request) -> Plan {
    let Request { chunks, latency, .. } = *request;
    let bound = reduce_bound(graph, members, chunks, latency);
    let sums = gathered(backwards, members, request, true);
    let copies = gathered(graph, members, request, false);
    let steps = sums.steps + copies.steps;
    let moves = overlapped(graph, members, request, bound.steps as u32, steps).unwrap_or_else(|| {
        let after = moves_of(copies.schedule).into_iter();
        let after = after.map(|moved| Move { step: moved.step + sums.steps, ..moved });
        moves_of(sums.schedule).into_iter().chain(after).collect()
    });
    Plan { steps: steps_of(&moves, latency), bound, schedule: Schedule::Moves(moves) }
}

fn moves_of(schedule: Schedule) -> Vec<Move> {
    match schedule {
        Schedule::Moves(moves) => moves,
        Schedule::Orbits(_) => Vec::new(),
    }
}

/// Both halves at once in fewer than `most` steps, as few as are found, at best `least`.
fn overlapped(
    graph: &Network,
    members: &[NodeId],
    request: &Request,
    least: u32,
    most: u32,
) -> Option<Vec<Move>> {
    let Request { chunks, latency, seed, .. } = *request;
    let opposite = opposites(graph)?;
    let stretch = 1 + latency;
    let farthest = |&node: &NodeId| {
        let distances = graph.distances(node);
        members.iter().map(|&other| distances[other as usize]).max().unwrap_or(0)
    };
    let radius = stretch * members.iter().map(farthest).min()?;
    let work = members.len() as u64 * u64::from(chunks) * graph.links().len() as u64;
    let attempts = (WORK / work).clamp(ATTEMPTS.0, ATTEMPTS.1);
    let (mut low, mut high, mut failed) = (least, most, 0);
    let mut best = None;
    for attempt in 0..attempts {
        if high <= least {
            break;
        }
        let total = ((low + high) / 2).min(high - 1);
        let dice = Dice { seed, attempt };
        let departures = total.saturating_sub(latency);
        let arrangement = Arrangement::new(graph, members, chunks, (total, latency), radius, dice);
        let overlap = Overlap {
            spreading: Spreading { graph, members, origins: &arrangement.origins, latency },
            opposite: &opposite,
            departures,
            released: &arrangement.released,
            partner: &arrangement.partner,
        };
        let manner = Manner {
            seed: seed.wrapping_add(attempt),
            reserve: [2, 4, 6, 8][dice.below(4, 4)],
            ahead: [4, 12, i64::MAX / 2][dice.below(5, 3)],
        };
        if let Some(moves) = overlap.moves(manner) {
            (high, failed) = (total, 0);
            best = Some(moves);
        } else {
            failed += 1;
            if failed > attempts / 8 {
                (low, failed) = ((total + 1).min(high - 1), 0);
            }
        }
    }
    best
}

#[derive(Clone, Copy, Debug)]
struct Dice {
    seed: u64,
    attempt: u64,
}

impl Dice {
    fn below(self, what: NodeId, bound: usize) -> usize {
        draw_below(self.seed, what, Purpose::Search, self.attempt, bound as u32) as usize
    }
}

/// Where sums come together, and when they are complete.
#[derive(Default)]
struct Arrangement {
    origins: Vec<NodeId>,
    released: Vec<u32>,
    partner: Vec<u32>,
}

impl Arrangement {
    /// Pairs of sums, an early one and a late one, come together beside the nodes that half of the steps are
    /// too few for; others at those nodes, which then need not receive them; the rest everywhere else.
    fn new(
        graph: &Network,
        members: &[NodeId],
        chunks: u32,
        (total, latency): (u32, u32),
        radius: u32,
        dice: Dice,
    ) -> Self {
        let all = members.len() * chunks as usize;
        let lacks = |&node: &NodeId| {
            let reach = graph.into(node).len() * total.saturating_sub(latency) as usize / 2;
            let lack = (all - chunks as usize).saturating_sub(reach);
            (lack > 0).then_some((node, lack))
        };
        let lacking: Vec<(NodeId, usize)> = members.iter().filter_map(lacks).collect();
        let middle = total / 2;
        // Even the first sum needs some steps to come together.
        let length = middle.saturating_sub(radius) * [5, 6, 7, 8, 9][dice.below(1, 5)] / 8;
        let first = middle.saturating_sub(length).max(1);
        let pairs = if lacking.is_empty() { 0 } else { all * [4, 5, 6, 7, 8][dice.below(2, 5)] / 16 };
        let eighths = 1 + dice.below(3, 4);
        let mut found = Self::default();
        let mut sums = vec![0; graph.nodes()];
        for number in 0..pairs {
            let (node, _) = lacking[number % lacking.len()];
            let beside = graph.out(node);
            let spot = graph.links()[beside[number / lacking.len() % beside.len()] as usize].1;
            let spot = if members.binary_search(&spot).is_ok() { spot } else { node };
            let early = first + (number as u64 * u64::from(middle - first) / pairs as u64) as u32;
            found.pair(spot, early, total - early);
            sums[spot as usize] += 2;
        }
        let half = total.div_ceil(2);
        for &(node, lack) in &lacking {
            let own = chunks as usize + lack * eighths / 8;
            (0..own.min(all - found.origins.len())).for_each(|_| found.lone(node, half));
            sums[node as usize] = usize::MAX;
        }
        let mut order = members.to_vec();
        order.sort_by_cached_key(|&node| (sums[node as usize], dice.below(100 + node, 1 << 30)));
        for round in 0.. {
            for &node in &order {
                if found.origins.len() == all {
                    return found;
                }
                if sums[node as usize] <= round || sums[node as usize] == usize::MAX && round > all {
                    found.lone(node, half);
                }
            }
        }
        found
    }

    /// Two sums at a node, each of which comes together as the other one spreads.
    fn pair(&mut self, node: NodeId, early: u32, late: u32) {
        let first = self.origins.len() as u32;
        self.origins.extend([node, node]);
        self.released.extend([early, late]);
        self.partner.extend([first + 1, first]);
    }

    /// A sum that comes together as it spreads.
    fn lone(&mut self, node: NodeId, half: u32) {
        self.partner.push(self.origins.len() as u32);
        self.origins.push(node);
        self.released.push(half);
    }
}
