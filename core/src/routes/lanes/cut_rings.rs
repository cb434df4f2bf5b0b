//! Few lanes on tori: dimension order with every ring cut at one place, another one for every lane.

use super::{Assignment, DimensionOrder, Forwarding, Mode, NO_CHANNEL, PairLanes};
use crate::fabric::Graph;

/// Tables that one lane is enough for, balanced over `lanes` of them; `None` where failed cables leave a pair without
/// a lane, or where the grid is twisted.
///
/// A torus with its rings cut is a mesh, on which dimension order needs one lane (Dally and Seitz 1987). A
/// destination takes the lane in whose mesh it is nearest to all switches. Ways that failed cables break go round
/// them where that closes no cycle.
pub(crate) fn cut_rings(
    graph: &Graph,
    order: &DimensionOrder,
    roots: &[u32],
    lanes: usize,
    mode: Mode,
) -> Option<(Forwarding, PairLanes)> {
    if !order.is_plain() {
        return None;
    }
    let switches = graph.switches();
    // On few lanes the shortest ways are not always the most even ones.
    let [near, even] = [near_cuts(order, roots, lanes), even_cuts(order, lanes)]
        .map(|cuts| on_meshes(graph, order, roots, &cuts));
    let Meshes { most, chosen, ideal, table } = if even.most < near.most { even } else { near };
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

/// Ways of dimension order on meshes, one per lane.
struct Meshes {
    /// Pairs on the fullest channel.
    most: u64,
    /// Lane of every destination.
    chosen: Vec<usize>,
    /// Channels before ways went round what is missing.
    ideal: Vec<u32>,
    table: Forwarding,
}

fn on_meshes(graph: &Graph, order: &DimensionOrder, roots: &[u32], cuts: &[Vec<u32>]) -> Meshes {
    let switches = graph.switches();
    let chosen = nearest(graph, order, roots, cuts);
    let mut next = vec![NO_CHANNEL; roots.len() * switches];
    for (destination, row) in next.chunks_mut(switches).enumerate() {
        let (root, cut) = (roots[destination], &cuts[chosen[destination]]);
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
    let most = table.max_load(graph);
    Meshes { most, chosen, ideal, table }
}

/// Where every ring is cut, by lane and dimension: at equal distances.
fn even_cuts(order: &DimensionOrder, lanes: usize) -> Vec<Vec<u32>> {
    let sizes = order.placed().grid.sizes();
    let cut = |lane: usize, size: u32| lane as u32 * size / lanes as u32;
    (0..lanes).map(|lane| sizes.iter().map(|&size| cut(lane, size)).collect()).collect()
}

/// The same, such that switches, each in the mesh where it is nearest to all others, are about as near as lanes allow:
/// chosen one after the other, then anew as long as that helps.
fn near_cuts(order: &DimensionOrder, roots: &[u32], lanes: usize) -> Vec<Vec<u32>> {
    let sizes = order.placed().grid.sizes();
    // A few places per ring, so that all their combinations can be tried.
    let places = PLACES >> sizes.len().saturating_sub(3).min(2);
    let mut open: Vec<Vec<u32>> = vec![Vec::new()];
    for (dimension, &size) in sizes.iter().enumerate() {
        let count = if order.placed().grid.wraps(dimension) { size.min(places) } else { 1 };
        let longer = |cut: &Vec<u32>| {
            let cut = cut.clone();
            (0..count).map(move |place| [&cut[..], &[place * size / count]].concat())
        };
        open = open.iter().flat_map(longer).collect();
    }
    let far: Vec<Vec<u64>> = open
        .iter()
        .map(|cut| roots.iter().map(|&root| order.distances_within(root, cut)).collect())
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut last = u64::MAX;
    loop {
        for lane in 0..lanes {
            let others: Vec<u64> = (0..roots.len())
                .map(|root| {
                    let others = chosen.iter().enumerate().filter(|&(other, _)| other != lane);
                    others.map(|(_, &cut)| far[cut][root]).min().unwrap_or(u64::MAX)
                })
                .collect();
            let sum = |cut: &usize| far[*cut].iter().zip(&others).map(|(&a, &b)| a.min(b)).sum::<u64>();
            let best = (0..open.len()).min_by_key(sum).unwrap_or(0);
            match chosen.get_mut(lane) {
                Some(cut) => *cut = best,
                None => chosen.push(best),
            }
        }
        let nearest = |root: usize| chosen.iter().map(|&cut| far[cut][root]).min().unwrap_or(0);
        let now = (0..roots.len()).map(nearest).sum::<u64>();
        if now >= last {
            return chosen.into_iter().map(|cut| open[cut].clone()).collect();
        }
        last = now;
    }
}

/// Places per ring that are tried, in up to three dimensions.
const PLACES: u32 = 8;

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
    let mut reached = vec![root];
    // At first only entries without a channel are pointed elsewhere.
    for forced in [false, true] {
        reached = graph.met_backwards(reached, |channel, there| {
            let hop = &mut row[there as usize];
            let new = !stands[there as usize] && (forced || *hop == channel || *hop == NO_CHANNEL);
            if new {
                *hop = channel;
                stands[there as usize] = true;
            }
            new
        });
    }
    row.iter_mut().zip(&stands).filter(|(_, stands)| !**stands).for_each(|(hop, _)| *hop = NO_CHANNEL);
}
