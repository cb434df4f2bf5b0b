//! Few lanes on tori: dimension order with every ring cut at one place, another one for every lane.

use super::{Assignment, DimensionOrder, Forwarding, Mode, NO_CHANNEL, PairLanes};
use crate::fabric::Graph;

/// Tables that one lane is enough for, balanced over `lanes` of them; `None` where failed cables leave a pair without
/// a lane, or where the grid is twisted.
///
/// A torus with its rings cut is a mesh, on which dimension order needs one lane (Dally and Seitz 1987). A
/// destination takes the lane in whose mesh it is nearest to all switches. Ways that failed cables break go round
/// them where that closes no cycle.
pub(in super::super) fn cut_rings(
    graph: &Graph,
    order: &DimensionOrder,
    roots: &[u32],
    lanes: usize,
    mode: Mode,
) -> Option<(Forwarding, PairLanes)> {
    let places = order.is_plain().then(|| cuts(order, lanes))?;
    let switches = graph.switches();
    let chosen = nearest(graph, order, roots, &places);
    let mut next = vec![NO_CHANNEL; roots.len() * switches];
    for (destination, row) in next.chunks_mut(switches).enumerate() {
        let (root, cut) = (roots[destination], &places[chosen[destination]]);
        for switch in (0..switches as u32).filter(|&switch| switch != root) {
            row[switch as usize] =
                order.hop_within(graph, (switch, root), cut, destination).unwrap_or(NO_CHANNEL);
        }
    }
    let ideal = next.clone();
    for (row, &root) in next.chunks_mut(switches).zip(roots) {
        reconnect(graph, root, row);
    }
    let table = Forwarding::new(switches, roots.to_vec(), next);
    let most = table.loads(graph).into_iter().max().unwrap_or(0);
    let mut assignment = Assignment::new(graph, table, None, Mode::Portable, lanes);
    let mut path = Vec::new();
    // Those that nothing breaks fit in their lanes, whatever comes first; the others come after all of them.
    for broken in [false, true] {
        for (destination, &lane) in chosen.iter().enumerate() {
            for source in assignment.table.towards(graph, destination) {
                let start = destination * switches;
                if graph.hosts(source) == 0
                    || assignment.settled[start + source as usize]
                    || !assignment.walk(source, destination as u32, &mut path)
                {
                    continue;
                }
                let kept = |&channel: &u32| ideal[start + graph.ends(channel).0 as usize] == channel;
                if path.iter().all(kept) == broken {
                    continue;
                }
                if assignment.place(&path, lane as u8) {
                    assignment.settle_way(&path, destination as u32, lane as u8);
                } else {
                    assignment.settle(&mut path, destination as u32, source);
                }
            }
        }
    }
    if !assignment.left.is_empty() {
        assignment.bend(most);
    }
    let (table, made) = assignment.left.is_empty().then(|| assignment.finish())?;
    Some((table, PairLanes::constant(graph, mode, made.levels, made.lanes)))
}

/// Where every ring is cut, by lane and dimension.
fn cuts(order: &DimensionOrder, lanes: usize) -> Vec<Vec<u32>> {
    let sizes = order.grid().sizes();
    let cut = |lane: usize, size: u32| lane as u32 * size / lanes as u32;
    (0..lanes).map(|lane| sizes.iter().map(|&size| cut(lane, size)).collect()).collect()
}

/// The lane of every destination: that with the least sum of distances, of several the one that the fewest have.
fn nearest(graph: &Graph, order: &DimensionOrder, roots: &[u32], places: &[Vec<u32>]) -> Vec<usize> {
    let mut of_root = vec![usize::MAX; graph.switches()];
    let mut taken = vec![0_usize; places.len()];
    roots
        .iter()
        .map(|&root| {
            let chosen = &mut of_root[root as usize];
            if *chosen == usize::MAX {
                let far = |lane: &usize| (order.distances_within(root, &places[*lane]), taken[*lane], *lane);
                *chosen = (0..places.len()).min_by_key(far).unwrap_or(0);
            }
            taken[*chosen] += 1;
            *chosen
        })
        .collect()
}

/// Points entries without a channel, and those that lead to them only, to neighbours from which the root is reached.
fn reconnect(graph: &Graph, root: u32, row: &mut [u32]) {
    let mut stands = vec![false; row.len()];
    stands[root as usize] = true;
    let mut queue = vec![root];
    let mut head = 0;
    // At first only entries without a channel are pointed elsewhere.
    for forced in [false, true] {
        if forced {
            head = 0;
        }
        while let Some(&here) = queue.get(head) {
            head += 1;
            for &back in graph.outgoing(here) {
                let there = graph.ends(back).1 as usize;
                if stands[there] || !forced && row[there] != back ^ 1 && row[there] != NO_CHANNEL {
                    continue;
                }
                row[there] = back ^ 1;
                stands[there] = true;
                queue.push(there as u32);
            }
        }
    }
    row.iter_mut().zip(&stands).filter(|(_, stands)| !**stands).for_each(|(hop, _)| *hop = NO_CHANNEL);
}
