//! Two-coloured graphs on routers that change lanes from hop to hop: the lane rises by one at every switch of one colour
//! that a packet passes. Twice the lane, and one more on the way out of a switch that raises it not, is a number that
//! rises along every hop, so nothing waits in a circle, whichever ways packets take. Shortest ways need a lane for every
//! two hops of the longest.

use super::{DimensionOrder, Forwarding, Graph, Method, Rising, Start};
use crate::routes::by_destination::NO_CHANNEL;
use crate::traffic::{Purpose, draw};
use rayon::prelude::*;

pub(super) const METHOD: Method = Method {
    by_destination: Some(start),
    ..Method::any(
        "colours",
        "few lanes on two-coloured graphs: the lane rises at switches of one colour, on routers of your own",
    )
};

/// The switches of one colour, the one that asks for fewer lanes on shortest ways to some switches; or an odd cycle of
/// switches, where there are no two colours.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::methods::rising};
/// let ring = Graph::new(vec![1; 6], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])?;
/// // Three hops: from a switch that raises lanes it takes lanes 0, 0, 1, from another one 0, 1, 1.
/// let found = rising(&ring, &[0, 1, 2, 3, 4, 5]).unwrap();
/// assert_eq!((found.switches, found.lanes), (vec![true, false, true, false, true, false], 2));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn rising(graph: &Graph, roots: &[u32]) -> Result<Rising, Vec<u32>> {
    let colours = graph.two_colours()?;
    let parts = graph.parts();
    let count = parts.iter().max().map_or(0, |&last| last as usize + 1);
    let mut roots = roots.to_vec();
    roots.sort_unstable();
    roots.dedup();
    // By part and colour of the source, hops of the longest of the shortest ways.
    let none = || vec![[0_u16; 2]; count];
    let far = |mut far: Vec<[u16; 2]>, &root: &u32| {
        let part = parts[root as usize];
        for (switch, &hops) in graph.distances_to(root).iter().enumerate() {
            if parts[switch] == part && graph.hosts(switch as u32) > 0 {
                let longest = &mut far[part as usize][usize::from(colours[switch])];
                *longest = hops.max(*longest);
            }
        }
        far
    };
    let longer = |mut one: Vec<[u16; 2]>, other: Vec<[u16; 2]>| {
        one.iter_mut().zip(other).for_each(|(one, other)| {
            *one = [one[0].max(other[0]), one[1].max(other[1])];
        });
        one
    };
    let far = roots.par_iter().fold(none, far).reduce(none, longer);
    // Of ways of so many hops, the raises on those from a switch that raises and from one that does not.
    let raises = |own: u16, other: u16| usize::from((own.max(1) - 1) / 2).max(usize::from(other / 2));
    let most =
        |by_colour: &[u16; 2]| [(0, 1), (1, 0)].map(|(own, other)| raises(by_colour[own], by_colour[other]));
    let second: Vec<bool> = far.iter().map(most).map(|[first, second]| second < first).collect();
    let switches =
        colours.iter().zip(&parts).map(|(&colour, &part)| colour == second[part as usize]).collect();
    let lanes = 1 + far.iter().map(most).map(|[first, second]| first.min(second)).max().unwrap_or(0);
    Ok(Rising { switches, lanes })
}

fn start(graph: &Graph, _order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    let rising = rising(graph, roots).ok()?;
    let table = translated(graph, roots).unwrap_or_else(|| Forwarding::spread(graph, roots.to_vec()));
    Some(Start { table, gently: false, rising: Some(rising) })
}

/// Entries of the one tree that are pointed elsewhere in search of even loads.
const TRIES: u64 = 20_000;

/// Tables of a graph with translations, which take the tree to the first switch to all others: channels that translations
/// take to each other carry the same, so that there are few loads to even out. `None` without translations, where hosts are
/// at some switches only, or where no even tree is found.
fn translated(graph: &Graph, roots: &[u32]) -> Option<Forwarding> {
    let mut rows = vec![0_u32; graph.switches()];
    roots.iter().for_each(|&root| rows[root as usize] += 1);
    if graph.hosts(0) == 0 || rows.iter().any(|&of_root| of_root != rows[0] || of_root == 0) {
        return None;
    }
    let maps = graph.translations()?;
    let tree = even_tree(graph, &maps)?;
    let switches = graph.switches();
    let mut table = Forwarding::new(switches, roots.to_vec(), vec![NO_CHANNEL; roots.len() * switches]);
    for (row, &root) in table.next.chunks_mut(switches).zip(roots) {
        let map = &maps[root as usize];
        for (switch, &next) in tree.iter().enumerate().skip(1) {
            let (from, to) = (map[switch], map[next as usize]);
            let leads = |channel: &&u32| graph.ends(**channel).1 == to;
            row[from as usize] = graph.outgoing(from).iter().find(leads).copied().unwrap_or(NO_CHANNEL);
        }
    }
    Some(table)
}

/// By switch the next one on a shortest way to the first, such that channels which translations take to each other carry
/// as much in sum as others, as far as that can be; `None` if no such tree is found.
fn even_tree(graph: &Graph, maps: &[Vec<u32>]) -> Option<Vec<u32>> {
    let far = graph.distances_to(0);
    let beside: Vec<u32> = graph.outgoing(0).iter().map(|&channel| graph.ends(channel).1).collect();
    // By switch the hops that lead nearer, each with the channel of the first switch that a translation takes there.
    let hops: Vec<Vec<(u32, usize)>> = (0..graph.switches())
        .map(|switch| {
            let all = beside.iter().enumerate().map(|(kind, &there)| (maps[switch][there as usize], kind));
            all.filter(|&(there, _)| far[there as usize] < far[switch]).collect()
        })
        .collect();
    let mut order: Vec<u32> = (1..graph.switches() as u32).collect();
    order.sort_by_key(|&switch| std::cmp::Reverse(far[switch as usize]));
    let loads = |chosen: &[usize]| {
        let (mut below, mut loads) = (vec![1_u64; chosen.len()], vec![0_u64; beside.len()]);
        for &switch in &order {
            let (next, kind) = hops[switch as usize][chosen[switch as usize]];
            let own = below[switch as usize];
            loads[kind] += own;
            below[next as usize] += own;
        }
        loads
    };
    let uneven = |loads: &[u64]| loads.iter().map(|load| load * load).sum::<u64>();
    let mut chosen = vec![0; graph.switches()];
    let mut now = loads(&chosen);
    let enough = now.iter().sum::<u64>().div_ceil(now.len().max(1) as u64);
    for toss in 0..TRIES {
        if order.is_empty() || now.iter().max().is_none_or(|&most| most <= enough) {
            break;
        }
        let drawn = draw(toss, 0, Purpose::Table, 0);
        let switch = 1 + (drawn >> 32) as usize % order.len();
        let new = drawn as u32 as usize % hops[switch].len();
        let old = std::mem::replace(&mut chosen[switch], new);
        let then = loads(&chosen);
        if uneven(&then) <= uneven(&now) {
            now = then;
        } else {
            chosen[switch] = old;
        }
    }
    let next = |switch: usize| hops[switch].get(chosen[switch]).map_or(0, |&(next, _)| next);
    let is_even = now.iter().all(|&load| load <= enough);
    is_even.then(|| (0..graph.switches()).map(next).collect())
}
