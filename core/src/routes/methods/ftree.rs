//! D-mod-k on fat trees (Zahavi, Johnson, Kerbyson and Lang 2010, Optimized InfiniBand fat-tree routing for shift
//! all-to-all communication patterns): the number of a destination, digit by digit, chooses the way up. Hosts that
//! send to hosts a fixed number further on then share no channel in a whole tree.

use super::{DimensionOrder, Forwarding, Graph, Method, Start};
use crate::fabric::{FatTree, walk};
use crate::routes::by_destination::NO_CHANNEL;
use rayon::prelude::*;

pub(super) const METHOD: Method = Method {
    kind: "fat tree",
    by_destination: Some(start),
    ..Method::any(
        "ftree",
        "shift permutations and all pairs on fat trees: the number of the destination chooses the way up (d-mod-k)",
    )
};

fn start(graph: &Graph, _order: Option<&DimensionOrder>, roots: &[u32]) -> Option<Start> {
    let tree = FatTree::of(graph)?;
    // Destinations are numbered by the switch they hang off, with the same room for each.
    let room = roots.iter().map(|&root| graph.hosts(root)).max().unwrap_or(1).max(1);
    let mut first = vec![0_u64; graph.switches()];
    for (place, &root) in (0_u64..).zip(&tree.order) {
        first[root as usize] = place * u64::from(room);
    }
    let mut rows: Vec<(usize, u64)> = Vec::with_capacity(roots.len());
    for (row, &root) in roots.iter().enumerate() {
        rows.push((row, first[root as usize]));
        first[root as usize] += 1;
    }
    rows.sort_unstable_by_key(|&(row, number)| (roots[row], number));
    let switches = graph.switches();
    let made: Vec<Vec<u32>> = rows
        .par_chunk_by(|one, other| roots[one.0] == roots[other.0])
        .flat_map_iter(|of_root| {
            let ways = Ways::to(graph, &tree, roots[of_root[0].0]);
            of_root.iter().map(move |&(_, number)| ways.row(number))
        })
        .collect();
    let mut next = vec![NO_CHANNEL; roots.len() * switches];
    for (&(row, _), made) in rows.iter().zip(made) {
        next[row * switches..(row + 1) * switches].copy_from_slice(&made);
    }
    Some(Start { table: Forwarding::new(switches, roots.to_vec(), next), gently: true, rising: None })
}

/// Shortest ways up and down to a switch.
struct Ways {
    /// By switch: where its choices begin, and what chooses among them.
    choices: Vec<Choice>,
    /// The classes of the next switches that can be chosen, and the first of their channels.
    classes: Vec<(u32, u32)>,
    channels: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Choice {
    classes: (u32, u32),
    width: u64,
    ways: u64,
}

/// No distance.
const FAR: u32 = u32::MAX;

impl Ways {
    fn to(graph: &Graph, tree: &FatTree, root: u32) -> Self {
        let (hops, down) = distances(graph, tree, root);
        let (mut classes, mut channels) = (Vec::new(), Vec::new());
        let choices = (0..graph.switches() as u32).map(|switch| {
            let begin = classes.len() as u32;
            let here = switch as usize;
            if switch != root && hops[here] != FAR {
                let level = tree.levels[here];
                let nearer =
                    |&channel: &u32| hops[graph.ends(channel).1 as usize].saturating_add(1) == hops[here];
                let straight = |&channel: &u32| {
                    let there = graph.ends(channel).1 as usize;
                    (tree.levels[there] < level) == down[here] && (down[there] || !down[here])
                };
                // Only where failures leave no way up and then down it goes down and up again.
                let on = |&channel: &u32| nearer(&channel) && straight(&channel);
                let detour = !graph.outgoing(switch).iter().any(on);
                let class = |channel: u32| {
                    // Downwards all cables that lead on are alike.
                    if down[here] { 0 } else { tree.number[graph.ends(channel).1 as usize] }
                };
                let leading = graph.outgoing(switch).iter().copied();
                let mut nearer: Vec<(u32, u32)> = leading
                    .filter(|channel| nearer(channel) && (detour || straight(channel)))
                    .map(|channel| (class(channel), channel))
                    .collect();
                nearer.sort_unstable();
                for same in nearer.chunk_by(|one, other| one.0 == other.0) {
                    classes.push((same[0].0, channels.len() as u32));
                    channels.extend(same.iter().map(|&(_, channel)| channel));
                }
            }
            let width = if down[here] { 1 } else { u64::from(tree.width[here]) };
            Choice { classes: (begin, classes.len() as u32), width, ways: tree.ways[here] }
        });
        let choices = choices.collect();
        classes.push((0, channels.len() as u32));
        Self { choices, classes, channels }
    }

    /// The channels to a destination, by switch.
    fn row(&self, number: u64) -> Vec<u32> {
        let chosen = |choice: &Choice| {
            let (begin, end) = (choice.classes.0 as usize, choice.classes.1 as usize);
            if begin == end {
                return NO_CHANNEL;
            }
            let digit = (number / choice.ways % choice.width) as u32;
            // The class of this number, or the next there is.
            let classes = &self.classes[begin..end];
            let place = begin + classes.partition_point(|&(class, _)| class < digit) % classes.len();
            let cables = &self.channels[self.classes[place].1 as usize..self.classes[place + 1].1 as usize];
            cables[(number / choice.ways / choice.width % cables.len() as u64) as usize]
        };
        self.choices.iter().map(chosen).collect()
    }
}

/// Hops to a switch up and then down, and from where it is only down. Where failures leave no such way, the hops to
/// where there is one come first.
fn distances(graph: &Graph, tree: &FatTree, root: u32) -> (Vec<u32>, Vec<bool>) {
    let switches = graph.switches();
    let end = |channel: u32| graph.ends(channel).1;
    let (mut hops, _) = walk::distances(switches, root, FAR, |here| tree.up(graph, here).map(end));
    let down: Vec<bool> = hops.iter().map(|&hops| hops != FAR).collect();
    let mut falling: Vec<u32> = (0..switches as u32).collect();
    falling.sort_by_key(|&switch| std::cmp::Reverse(tree.levels[switch as usize]));
    for switch in falling {
        let above = tree.up(graph, switch).map(|channel| hops[end(channel) as usize]).min();
        if let Some(above) = above.filter(|&above| above != FAR && hops[switch as usize] == FAR) {
            hops[switch as usize] = above + 1;
        }
    }
    let mut known: Vec<u32> = (0..switches as u32).filter(|&switch| hops[switch as usize] != FAR).collect();
    known.sort_by_key(|&switch| hops[switch as usize]);
    let around = |here| graph.outgoing(here).iter().copied().map(end);
    walk::met_from(known, around, |here, there| {
        let new = hops[there as usize] == FAR;
        if new {
            hops[there as usize] = hops[here as usize] + 1;
        }
        new
    });
    (hops, down)
}
