//! What no table can go below: cuts and distances.

mod hardest;

use crate::fabric::{Graph, Placed};
pub use hardest::hardest_cut;
pub(crate) use hardest::measure;

/// A lower bound on the largest number of pairs of hosts on a channel, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutBound {
    /// The bound: pairs divided by channels, rounded up.
    pub value: u64,
    /// Pairs of hosts (or hops of all pairs) that must cross.
    pub pairs: u64,
    /// Channels they share.
    pub channels: u64,
    /// The switches on the side the pairs come from; empty if all distances are counted instead.
    pub side: Vec<u32>,
    /// Prices of the channels in whole numbers, where pairs and channels are counted at these; else empty.
    pub prices: Vec<u64>,
    /// What the proof is in words.
    pub proof: String,
}

impl CutBound {
    /// What is known of any fabric.
    pub(crate) fn none() -> Self {
        Self { value: 0, pairs: 0, channels: 1, side: Vec::new(), prices: Vec::new(), proof: String::new() }
    }
}

/// The best of the cuts along planes of the grid, around single switches and over balanced parts, and of
/// the sum of all distances over all channels.
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::cuts::bound};
/// let path = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3)])?;
/// assert_eq!(bound(&path, None).value, 4);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn bound(graph: &Graph, placed: Option<&Placed>) -> CutBound {
    let parts = graph.parts();
    let whole = graph.hosts_by_part(&parts);
    let mut best = by_distance(graph);
    let mut starts: Vec<(f64, Vec<bool>, String)> = Vec::new();
    if let Some(placed) = placed {
        starts.extend(planes(graph, placed, &parts));
    }
    // Around single switches a cut is its cables; only the best of them need to be looked at.
    let mut single: Vec<(f64, u32)> = (0..graph.switches() as u32)
        .filter(|&switch| !graph.outgoing(switch).is_empty())
        .map(|switch| {
            let hosts = u64::from(graph.hosts(switch));
            let cut = Cut {
                pairs: hosts * (whole[parts[switch as usize] as usize] - hosts),
                channels: graph.outgoing(switch).len() as u64,
            };
            (cut.ratio(), switch)
        })
        .collect();
    single.sort_by(|a, b| b.0.total_cmp(&a.0));
    for &(ratio, switch) in single.iter().take(REFINED) {
        let mut side = vec![false; graph.switches()];
        side[switch as usize] = true;
        starts.push((ratio, side, "the switch".into()));
    }
    starts.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, side, name) in starts.iter().take(1) {
        consider(graph, &mut best, side, name, &parts);
    }
    let mut refined: Vec<Vec<bool>> = starts.into_iter().take(REFINED).map(|(_, side, _)| side).collect();
    if placed.is_none() {
        refined.extend(halves(graph));
    }
    for mut side in refined {
        refine(graph, &mut side, &parts);
        consider(graph, &mut best, &side, "a part of the fabric", &parts);
    }
    best
}

/// Cuts that are refined.
const REFINED: usize = 4;

struct Cut {
    pairs: u64,
    channels: u64,
}

impl Cut {
    /// Only pairs that some way joins cross a cut.
    fn of(graph: &Graph, side: &[bool], parts: &[u32]) -> Option<Self> {
        let mut inside = vec![0_u64; parts.len()];
        let mut outside = inside.clone();
        for (switch, &part) in parts.iter().enumerate() {
            let sums = if side[switch] { &mut inside } else { &mut outside };
            sums[part as usize] += u64::from(graph.hosts(switch as u32));
        }
        let channels = (0..graph.channels() as u32)
            .filter(|&channel| {
                let (from, to) = graph.ends(channel);
                side[from as usize] && !side[to as usize]
            })
            .count() as u64;
        let pairs = inside.iter().zip(&outside).map(|(inside, outside)| inside * outside).sum();
        (channels > 0).then_some(Self { pairs, channels })
    }

    fn ratio(&self) -> f64 {
        self.pairs as f64 / self.channels as f64
    }
}

pub(crate) fn consider(graph: &Graph, best: &mut CutBound, side: &[bool], name: &str, parts: &[u32]) {
    let Some(cut) = Cut::of(graph, side, parts) else { return };
    let value = cut.pairs.div_ceil(cut.channels);
    if value > best.value {
        let side = (0..side.len() as u32).filter(|&switch| side[switch as usize]).collect();
        let (prices, proof) = (Vec::new(), name.into());
        *best = CutBound { value, pairs: cut.pairs, channels: cut.channels, side, prices, proof };
    }
}

fn by_distance(graph: &Graph) -> CutBound {
    let mut roots: Vec<u32> = (0..graph.switches() as u32).filter(|&root| graph.hosts(root) > 0).collect();
    roots.sort_by_key(|&root| graph.hosts(root));
    let alike = roots.chunk_by(|&one, &other| graph.hosts(one) == graph.hosts(other));
    let hops = alike
        .flat_map(|roots| roots.chunks(TOGETHER))
        .map(|roots| distances_together(graph, roots) * u64::from(graph.hosts(roots[0])))
        .sum::<u64>();
    let channels = (graph.channels() as u64).max(1);
    let proof = "the distances of all pairs over all channels".into();
    let (side, prices) = (Vec::new(), Vec::new());
    CutBound { value: hops.div_ceil(channels), pairs: hops, channels, side, prices, proof }
}

/// Switches from which distances are found at the same time.
const TOGETHER: usize = 256;

/// The sum of the distances from some switches to all hosts, a bit per switch (Then et al. 2014, The More the
/// Merrier: Efficient Multi-Source Graph Traversal).
fn distances_together(graph: &Graph, roots: &[u32]) -> u64 {
    type Roots = [u64; TOGETHER / 64];
    const NONE: Roots = [0; TOGETHER / 64];
    let mut seen = vec![NONE; graph.switches()];
    let (mut here, mut next) = (vec![NONE; graph.switches()], vec![NONE; graph.switches()]);
    let (mut active, mut coming) = (roots.to_vec(), Vec::new());
    for (number, &root) in roots.iter().enumerate() {
        seen[root as usize][number / 64] |= 1 << (number % 64);
        here[root as usize] = seen[root as usize];
    }
    let mut sum = 0;
    for distance in 1.. {
        for &switch in &active {
            let from = std::mem::replace(&mut here[switch as usize], NONE);
            for &channel in graph.outgoing(switch) {
                let there = graph.ends(channel).1;
                let (known, to) = (&seen[there as usize], &mut next[there as usize]);
                let before = *to;
                for word in 0..to.len() {
                    to[word] |= from[word] & !known[word];
                }
                if before == NONE && *to != NONE {
                    coming.push(there);
                }
            }
        }
        for &switch in &coming {
            let new = &next[switch as usize];
            seen[switch as usize].iter_mut().zip(new).for_each(|(seen, new)| *seen |= new);
            let count: u32 = new.iter().map(|word| word.count_ones()).sum();
            sum += distance * u64::from(count) * u64::from(graph.hosts(switch));
        }
        active.clear();
        if coming.is_empty() {
            break;
        }
        std::mem::swap(&mut active, &mut coming);
        std::mem::swap(&mut here, &mut next);
    }
    sum
}

/// Arcs of about half the planes of every dimension against the rest.
fn planes(graph: &Graph, placed: &Placed, parts: &[u32]) -> Vec<(f64, Vec<bool>, String)> {
    let mut cuts = Vec::new();
    let grid = &placed.grid;
    for dimension in 0..grid.dimensions() {
        let size = grid.sizes()[dimension];
        let name = ["x", "y", "z", "u", "v", "w"][dimension];
        let widths = if grid.wraps(dimension) { (size / 4).max(1)..=size / 2 } else { 1..=size - 1 };
        for width in widths {
            let begins = if grid.wraps(dimension) { 0..size } else { 0..1 };
            for begin in begins {
                let inside = |coordinate: u32| (coordinate + size - begin) % size < width;
                let side: Vec<bool> = (0..graph.switches() as u32)
                    .map(|switch| inside(placed.places[switch as usize][dimension]))
                    .collect();
                if let Some(cut) = Cut::of(graph, &side, parts) {
                    let last = (begin + width - 1) % size;
                    cuts.push((cut.ratio(), side, format!("the planes {name} = {begin} to {last}")));
                }
            }
        }
    }
    cuts
}

/// Nearest halves around some switches.
fn halves(graph: &Graph) -> Vec<Vec<bool>> {
    let switches = graph.switches();
    (0..switches)
        .step_by(switches.div_ceil(8).max(1))
        .map(|start| {
            let distances = graph.distances_to(start as u32);
            let mut order: Vec<usize> = (0..switches).collect();
            order.sort_by_key(|&switch| distances[switch]);
            let mut side = vec![false; switches];
            order[..switches / 2].iter().for_each(|&switch| side[switch] = true);
            side
        })
        .collect()
}

/// Moves single switches to the other side while that makes the cut tighter.
fn refine(graph: &Graph, side: &mut [bool], parts: &[u32]) {
    let Some(cut) = Cut::of(graph, side, parts) else { return };
    let (mut channels, mut pairs, mut best) = (cut.channels as i64, cut.pairs, cut.ratio());
    let whole = graph.hosts_by_part(parts);
    let mut inside = vec![0_u64; whole.len()];
    for (switch, &part) in parts.iter().enumerate().filter(|&(switch, _)| side[switch]) {
        inside[part as usize] += u64::from(graph.hosts(switch as u32));
    }
    for _ in 0..20 {
        let mut moved = false;
        for switch in 0..graph.switches() as u32 {
            let here = side[switch as usize];
            let same = graph
                .outgoing(switch)
                .iter()
                .filter(|&&channel| side[graph.ends(channel).1 as usize] == here)
                .count() as i64;
            let change = 2 * same - graph.outgoing(switch).len() as i64;
            let hosts = u64::from(graph.hosts(switch));
            let part = parts[switch as usize] as usize;
            let (now, all) = (inside[part], whole[part]);
            let then = if here { now - hosts } else { now + hosts };
            let pairs_then = pairs - now * (all - now) + then * (all - then);
            let ratio = pairs_then as f64 / (channels + change) as f64;
            if channels + change > 0 && ratio > best {
                inside[part] = then;
                (side[switch as usize], pairs, channels, best) =
                    (!here, pairs_then, channels + change, ratio);
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{MAX_PORTS, UNREACHABLE};
    use proptest::prelude::*;

    /// Pairs that no way joins cross no cut: two rings of four in one file have the bound of one.
    #[test]
    fn a_fabric_in_two_parts_has_the_bound_of_the_worse() {
        let ring = |first: u32| (0..4).map(move |switch| (first + switch, first + (switch + 1) % 4));
        let apart = Graph::new(vec![3; 8], &ring(0).chain(ring(4)).collect::<Vec<_>>()).unwrap();
        let alone = Graph::new(vec![3; 4], &ring(0).collect::<Vec<_>>()).unwrap();
        assert_eq!(bound(&apart, None).value, bound(&alone, None).value);
        assert_eq!(apart.pairs_apart(), 2 * 12 * 12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn distances_together_are_those_one_by_one(
            hosts in prop::collection::vec(0_u32..3, 1..400),
            ends in prop::collection::vec((0_usize..400, 0_usize..400), 0..700),
        ) {
            let mut ports: Vec<u64> = hosts.iter().map(|&hosts| hosts.into()).collect();
            let mut cables = Vec::new();
            for (a, b) in ends.into_iter().map(|(a, b)| (a % hosts.len(), b % hosts.len())) {
                if a != b && ports[a].max(ports[b]) < MAX_PORTS {
                    ports[a] += 1;
                    ports[b] += 1;
                    cables.push((a as u32, b as u32));
                }
            }
            let graph = Graph::new(hosts.clone(), &cables).unwrap();
            let mut hops = 0;
            for (root, &weight) in hosts.iter().enumerate() {
                for (&distance, &hosts) in graph.distances_to(root as u32).iter().zip(&hosts) {
                    if distance != UNREACHABLE {
                        hops += u64::from(distance) * u64::from(hosts) * u64::from(weight);
                    }
                }
            }
            prop_assert_eq!(by_distance(&graph).pairs, hops);
        }
    }
}
