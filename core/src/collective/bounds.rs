use crate::{
    fabric::{Lines, Network, NodeId},
    flow::{
        cuts::{measure, narrowest_cuts},
        demands::Demand,
    },
};

/// Why no plan has fewer steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing has to move.
    Nothing,
    /// A chunk must go this far.
    Distance {
        /// Where it starts.
        from: NodeId,
        /// Where it ends.
        to: NodeId,
    },
    /// What must leave these nodes (or, for sums, enter them) shares the links that do.
    Cut {
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// All chunks together need so many hops, and all links are busy at best.
    Hops,
    /// As [`Proof::Hops`], with a length per link instead of one.
    Lengths {
        /// Per link its length.
        lengths: Vec<u64>,
    },
    /// The last chunk to leave the root must still reach the farthest node.
    Root {
        /// The farthest node.
        node: NodeId,
    },
    /// All chunks must enter a node at least its distance after the root has begun.
    Arrival {
        /// The node.
        node: NodeId,
    },
    /// Chunks for nodes at least so far away share the links of the root.
    Farthest {
        /// The distance, in hops.
        distance: u32,
    },
    /// Something of every sum, or every chunk from the one node to the other, leaves these nodes on its way, over
    /// links that it reaches only after some hops, and from which it has some left.
    Crossing {
        /// The nodes.
        nodes: Vec<NodeId>,
        /// Where it starts, inside.
        from: NodeId,
        /// Where it ends, outside.
        to: NodeId,
    },
    /// Every part needs a transfer per other node before anybody knows its sum, and as many after.
    Transfers,
}

/// A lower bound on the steps of any plan that forwards whole chunks, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// No plan has fewer steps.
    pub steps: u64,
    /// Why.
    pub proof: Proof,
}

impl Bound {
    /// No bound at all.
    pub fn nothing() -> Self {
        Self { steps: 0, proof: Proof::Nothing }
    }

    /// The stronger of two, this one if they are equal.
    #[must_use]
    pub fn or(self, steps: u64, proof: impl FnOnce() -> Proof) -> Self {
        if steps > self.steps { Self { steps, proof: proof() } } else { self }
    }
}

/// Flags of the given nodes.
pub(super) fn flags(nodes: usize, members: &[NodeId]) -> Vec<bool> {
    let mut flags = vec![false; nodes];
    members.iter().for_each(|&node| flags[node as usize] = true);
    flags
}

/// The bound of the longest way between two members, and the ways of each member's farthest one.
pub(super) fn distance_bound(graph: &Network, members: &[NodeId], latency: u32) -> Bound {
    let farthest = |&from: &NodeId| {
        let distances = graph.distances(from);
        let to = members.iter().copied().max_by_key(|&node| distances[node as usize]).unwrap_or(from);
        (u64::from(distances[to as usize]), from, to)
    };
    let longest = members.iter().map(farthest).max_by_key(|&(distance, ..)| distance);
    longest.map_or(Bound::nothing(), |(distance, from, to)| {
        Bound::nothing().or(distance * u64::from(1 + latency), || Proof::Distance { from, to })
    })
}

/// The bound of an all-gather: distances, and what must enter the poorest member.
pub(super) fn gather_bound(graph: &Network, members: &[NodeId], chunks: u32, latency: u32) -> Bound {
    let bound = distance_bound(graph, members, latency);
    let Some(poorest) = members.iter().copied().min_by_key(|&node| graph.into(node).len()) else {
        return bound;
    };
    let others: Vec<NodeId> = graph.working().into_iter().filter(|&node| node != poorest).collect();
    bound.or(cut_steps(graph, members, &others, chunks, latency), || Proof::Cut { nodes: others })
}

/// Steps that the chunks of the members inside a set need to leave it.
pub(super) fn cut_steps(
    graph: &Network,
    members: &[NodeId],
    inside: &[NodeId],
    chunks: u32,
    latency: u32,
) -> u64 {
    let (inside, leaving) = measure(graph, inside, &flags(graph.nodes(), members));
    if inside == 0 || leaving == 0 {
        0
    } else {
        (inside * u64::from(chunks)).div_ceil(leaving) + u64::from(latency)
    }
}

/// The bound of a broadcast of so many chunks.
pub(super) fn broadcast_bound(
    graph: &Network,
    members: &[NodeId],
    root: NodeId,
    chunks: u32,
    latency: u32,
) -> Bound {
    let distances = graph.distances(root);
    let (chunks, stretch) = (u64::from(chunks), u64::from(1 + latency));
    let way = |node: NodeId| u64::from(distances[node as usize]) * stretch;
    let out = graph.out(root).len().max(1) as u64;
    let mut bound = Bound::nothing();
    for &node in members.iter().filter(|&&node| node != root) {
        bound = bound.or(chunks.div_ceil(out) - 1 + way(node), || Proof::Root { node });
        let into = graph.into(node).len().max(1) as u64;
        bound = bound.or(chunks.div_ceil(into) - 1 + way(node), || Proof::Arrival { node });
    }
    bound
}

/// The bound of a scatter of so many chunks per member.
pub(super) fn scatter_bound(
    graph: &Network,
    members: &[NodeId],
    root: NodeId,
    chunks: u32,
    latency: u32,
) -> Bound {
    let distances = graph.distances(root);
    let mut far: Vec<u32> =
        members.iter().map(|&node| distances[node as usize]).filter(|&hops| hops > 0).collect();
    far.sort_unstable_by(|a, b| b.cmp(a));
    let out = graph.out(root).len().max(1) as u64;
    let mut bound = Bound::nothing();
    for (number, &distance) in (1_u64..).zip(&far) {
        let leaving = (number * u64::from(chunks)).div_ceil(out);
        let steps = leaving - 1 + u64::from(distance) * u64::from(1 + latency);
        bound = bound.or(steps, || Proof::Farthest { distance });
    }
    for &node in members.iter().filter(|&&node| node != root) {
        let into = graph.into(node).len().max(1) as u64;
        let steps = u64::from(chunks).div_ceil(into) - 1
            + u64::from(distances[node as usize]) * u64::from(1 + latency);
        bound = bound.or(steps, || Proof::Arrival { node });
    }
    bound
}

/// The bound of an all-reduce with `chunks` chunks per member.
pub(super) fn reduce_bound(graph: &Network, members: &[NodeId], chunks: u32, latency: u32) -> Bound {
    let (count, chunks) = (members.len() as u64, u64::from(chunks));
    let transfers = 2 * chunks * count * count.saturating_sub(1);
    let links = graph.links().len().max(1) as u64;
    let mut bound = distance_bound(graph, members, latency);
    bound = bound.or(transfers.div_ceil(links) + u64::from(latency).min(transfers), || Proof::Transfers);
    let is_member = flags(graph.nodes(), members);
    let distances: Vec<Vec<u32>> = (0..graph.nodes() as NodeId).map(|node| graph.distances(node)).collect();
    let farthest = members.iter().flat_map(|&node| members.iter().map(move |&to| (node, to)));
    let farthest = farthest.map(|(node, to)| distances[node as usize][to as usize]).max().unwrap_or(0);
    let longest = (2 * u64::from(farthest) + 1) * u64::from(1 + latency);
    for nodes in cuts(graph).into_iter().chain(narrowest_cuts(graph, members)) {
        let (members_inside, leaving) = measure(graph, &nodes, &is_member);
        let sums = chunks * count;
        let some = leaving > 0 && members_inside > 0 && members_inside < count;
        // Cuts with many links say little, and have many pairs of nodes.
        if some && sums.div_ceil(leaving) + longest > bound.steps {
            let (steps, from, to) = crossing(graph, &distances, &nodes, &is_member, sums, latency);
            bound = bound.or(steps, || Proof::Crossing { nodes, from, to });
        }
    }
    bound
}

/// Most steps that any member inside a set and one outside it need for something of each of so many sums, and
/// these two.
fn crossing(
    graph: &Network,
    distances: &[Vec<u32>],
    inside: &[NodeId],
    is_member: &[bool],
    sums: u64,
    latency: u32,
) -> (u64, NodeId, NodeId) {
    let contains = flags(graph.nodes(), inside);
    let leaves = |&&(from, to): &&(NodeId, NodeId)| contains[from as usize] && !contains[to as usize];
    let links: Vec<(NodeId, NodeId)> = graph.links().iter().filter(leaves).copied().collect();
    let outside = (0..graph.nodes() as NodeId).filter(|&to| is_member[to as usize] && !contains[to as usize]);
    let outside: Vec<NodeId> = outside.collect();
    let mut most = (0, 0, 0);
    for &from in inside.iter().filter(|&&from| is_member[from as usize]) {
        for &to in &outside {
            let ways = links.iter().map(|&link| way(distances, from, link, to, latency)).collect();
            most = most.max((shared_steps(ways, sums), from, to));
        }
    }
    most
}

/// Steps from one node to another over a link.
fn way(
    distances: &[Vec<u32>],
    from: NodeId,
    (tail, head): (NodeId, NodeId),
    to: NodeId,
    latency: u32,
) -> u64 {
    let hops = |a: NodeId, b: NodeId| u64::from(distances[a as usize][b as usize]);
    (hops(from, tail) + 1 + hops(head, to)) * u64::from(1 + latency)
}

/// The bound, or a better one from the chunks of one pair: its ways leave the source and enter the destination over
/// few links, and all but the shortest take longer.
fn or_pairs(mut bound: Bound, graph: &Network, targets: &[Vec<NodeId>], latency: u32) -> Bound {
    let mut counts: Vec<(NodeId, NodeId, u64)> = Vec::new();
    for (from, targets) in (0..).zip(targets) {
        let mut sorted = targets.clone();
        sorted.sort_unstable();
        counts.extend(sorted.chunk_by(|a, b| a == b).map(|same| (from, same[0], same.len() as u64)));
    }
    let distances: Vec<Vec<u32>> = if counts.iter().any(|&(_, _, count)| count > 1) {
        (0..graph.nodes() as NodeId).map(|node| graph.distances(node)).collect()
    } else {
        return bound;
    };
    for (from, to, count) in counts {
        // More than over one link alone they do not take.
        let alone = u64::from(distances[from as usize][to as usize]) * u64::from(1 + latency) + count - 1;
        if alone <= bound.steps {
            continue;
        }
        for (links, entering) in [(graph.out(from), false), (graph.into(to), true)] {
            let over =
                |&link: &u32| way(distances.as_slice(), from, graph.links()[link as usize], to, latency);
            let steps = shared_steps(links.iter().map(over).collect(), count);
            let nodes = || match entering {
                false => vec![from],
                true => graph.working().into_iter().filter(|&node| node != to).collect(),
            };
            bound = bound.or(steps, || Proof::Crossing { nodes: nodes(), from, to });
        }
    }
    bound
}

/// Steps in which so many things cross links, where a link carries one per step, but what crosses it is under way
/// for so many steps in all.
fn shared_steps(mut ways: Vec<u64>, things: u64) -> u64 {
    ways.sort_unstable();
    let mut sum = things;
    let with = |(count, way): (u64, u64)| {
        sum += way;
        sum.div_ceil(count) - 1
    };
    (1..).zip(ways).map(with).min().unwrap_or(0)
}

/// The bound of chunks that each go from one node to another: distances, sums of hops, cuts, and the ways of the
/// chunks of single pairs.
pub(super) fn exchange_bound(graph: &Network, demands: &[Demand], latency: u32) -> Bound {
    let mut bound = Bound::nothing();
    let targets = Demand::by_source(graph.nodes(), demands);
    let mut hops = 0;
    for (from, targets) in (0..).zip(&targets).filter(|(_, targets)| !targets.is_empty()) {
        let distances = graph.distances(from);
        for &to in targets {
            let distance = u64::from(distances[to as usize]);
            hops += distance;
            bound = bound.or(distance * u64::from(1 + latency), || Proof::Distance { from, to });
        }
    }
    let links = graph.links().len().max(1) as u64;
    bound = bound.or(hops.div_ceil(links) + u64::from(latency).min(hops), || Proof::Hops);
    for inside in cuts(graph) {
        let contains = flags(graph.nodes(), &inside);
        let crosses = |source: usize, target: NodeId| contains[source] && !contains[target as usize];
        let crossing: u64 = targets
            .iter()
            .enumerate()
            .map(|(source, targets)| targets.iter().filter(|&&target| crosses(source, target)).count() as u64)
            .sum();
        let (_, leaving) = measure(graph, &inside, &contains);
        if leaving > 0 && crossing > 0 {
            let steps = crossing.div_ceil(leaving) + u64::from(latency);
            bound = bound.or(steps, || Proof::Cut { nodes: inside });
        }
    }
    or_pairs(bound, graph, &targets, latency)
}

/// Sets of nodes whose borders are likely to be crowded: single nodes, all but one, arcs of planes.
fn cuts(graph: &Network) -> Vec<Vec<NodeId>> {
    let all = graph.working();
    let mut sets: Vec<Vec<NodeId>> = all.iter().map(|&node| vec![node]).collect();
    sets.extend(all.iter().map(|&node| all.iter().copied().filter(|&other| other != node).collect()));
    let mut stride = 1;
    for size in graph.lines().map_or_else(Vec::new, Lines::sizes) {
        for first in 0..size {
            for length in (size / 3).max(1)..=size.div_ceil(2) {
                let inside = |node: &NodeId| (node / stride % size + size - first) % size < length;
                sets.push(all.iter().copied().filter(inside).collect());
            }
        }
        stride *= size;
    }
    sets
}
