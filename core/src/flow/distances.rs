//! The sum of all distances over all channels.

use super::proof::{CutBound, Prover};
use crate::fabric::Graph;

pub(super) const BOUND: Prover = Prover { name: "distances", prove: |graph, _placed| by_distance(graph) };

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{MAX_PORTS, UNREACHABLE};
    use proptest::prelude::*;

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
