//! Fat trees: which switches stand on which level, which of them are alike, and in which order hosts come.

use super::{Graph, sets::Sets, walk};
use fixedbitset::FixedBitSet;

/// A fat tree (folded Clos network): every cable joins two neighbouring levels, and the leaves, on level 0, have common
/// ancestors. Parts may be missing.
///
/// Switches of a level that lead up to the same ones are of one class, in whatever part of the tree they stand. Classes
/// below the same ones above are numbered, so that a number per level names a way up.
///
/// ```
/// use flitloom_core::fabric::{FatTree, Graph};
/// // Two spines above three leaves.
/// let cables: Vec<(u32, u32)> = (0..3).flat_map(|leaf| [(leaf, 3), (leaf, 4)]).collect();
/// let tree = FatTree::of(&Graph::new(vec![4, 4, 4, 0, 0], &cables)?).unwrap();
/// assert_eq!(tree.levels, [0, 0, 0, 1, 1]);
/// assert_eq!(tree.sizes(), [3, 2]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Level of every switch, [`FatTree::APART`] for one without any cable.
    pub levels: Vec<u16>,
    /// Switches with hosts, part of the tree by part: neighbours in this order share as many ancestors as they can.
    pub order: Vec<u32>,
    /// Number of every switch's class among those below the same ones.
    pub number: Vec<u32>,
    /// How many such classes there are above a switch.
    pub width: Vec<u32>,
    /// Ways up from a leaf to the level of a switch, other cables between the same two switches not counted.
    pub ways: Vec<u64>,
}

impl FatTree {
    /// The level of a switch that no cable joins to the tree.
    pub const APART: u16 = u16::MAX;

    /// The fat tree that a graph is, if it is one.
    pub fn of(graph: &Graph) -> Option<Self> {
        let switches = graph.switches();
        let most = (0..switches as u32).map(|switch| graph.hosts(switch)).max().unwrap_or(0);
        // Some hosts, for storage or service, may hang off switches above the leaves.
        [1, most.div_ceil(2)].into_iter().find_map(|least| {
            let leaves: Vec<u32> =
                (0..switches as u32).filter(|&switch| graph.hosts(switch) >= least.max(1)).collect();
            Self::above(graph, &leaves)
        })
    }

    fn above(graph: &Graph, leaves: &[u32]) -> Option<Self> {
        let levels = levels_above(graph, leaves);
        let level = |switch: u32| levels[switch as usize];
        let highest = highest(&levels);
        let flat = |channel: u32| {
            let (from, to) = graph.ends(channel);
            level(from) == level(to)
        };
        if highest == 0 || (0..graph.channels() as u32).any(flat) || !has_ancestors(graph, &levels, leaves) {
            return None;
        }
        let (number, width, ways) = classes(graph, &levels, highest);
        let order = order(graph, &levels, highest);
        Some(Self { levels, order, number, width, ways })
    }

    /// Switches on every level.
    pub fn sizes(&self) -> Vec<usize> {
        (0..=highest(&self.levels))
            .map(|at| self.levels.iter().filter(|&&level| level == at).count())
            .collect()
    }

    /// The channels that lead up from a switch.
    pub fn up<'a>(&'a self, graph: &'a Graph, switch: u32) -> impl Iterator<Item = u32> + 'a {
        let here = self.levels[switch as usize];
        let outgoing = graph.outgoing(switch).iter().copied();
        outgoing.filter(move |&channel| self.levels[graph.ends(channel).1 as usize] > here)
    }
}

/// The highest level of a switch of the tree.
fn highest(levels: &[u16]) -> u16 {
    levels.iter().copied().filter(|&level| level != FatTree::APART).max().unwrap_or(0)
}

/// Cables from every switch to the nearest leaf.
fn levels_above(graph: &Graph, leaves: &[u32]) -> Vec<u16> {
    let mut levels = vec![FatTree::APART; graph.switches()];
    leaves.iter().for_each(|&leaf| levels[leaf as usize] = 0);
    let around = |here| graph.outgoing(here).iter().map(|&channel| graph.ends(channel).1);
    walk::met_from(leaves.to_vec(), around, |here, there| {
        let new = levels[there as usize] == FatTree::APART;
        if new {
            levels[there as usize] = levels[here as usize] + 1;
        }
        new
    });
    levels
}

/// Whether every leaf has a common ancestor with most others.
fn has_ancestors(graph: &Graph, levels: &[u16], leaves: &[u32]) -> bool {
    let mut place = vec![usize::MAX; graph.switches()];
    leaves.iter().enumerate().for_each(|(number, &leaf)| place[leaf as usize] = number);
    let steps = |switch: u32, up: bool| {
        graph.outgoing(switch).iter().map(|&channel| graph.ends(channel).1).filter(move |&there| {
            let (here, there) = (levels[switch as usize], levels[there as usize]);
            if up { there > here } else { there < here }
        })
    };
    let mut below: Vec<Option<FixedBitSet>> = vec![None; graph.switches()];
    leaves.iter().all(|&leaf| {
        let mut seen = FixedBitSet::with_capacity(graph.switches());
        let above = walk::met(leaf, |here| steps(here, true), |_, there| !seen.put(there as usize));
        let mut relatives = FixedBitSet::with_capacity(leaves.len());
        // The highest first: they reach most.
        for &top in above.iter().rev() {
            if relatives.is_full() {
                break;
            }
            let leaves = below[top as usize].get_or_insert_with(|| {
                let mut seen = FixedBitSet::with_capacity(graph.switches());
                let found = walk::met(top, |here| steps(here, false), |_, there| !seen.put(there as usize));
                let places = found.iter().map(|&switch| place[switch as usize]);
                places.filter(|&place| place != usize::MAX).collect()
            });
            relatives.union_with(leaves);
        }
        4 * relatives.count_ones(..) >= 3 * leaves.len()
    })
}

/// Number, width and ways of every switch; see [`FatTree`].
fn classes(graph: &Graph, levels: &[u16], highest: u16) -> (Vec<u32>, Vec<u32>, Vec<u64>) {
    let switches = graph.switches();
    // A class is named by its least switch on the highest level that it leads to; `sets` joins those that belong
    // together from the top down.
    let mut sets = Sets::new(switches);
    let mut class: Vec<u32> = (0..switches as u32).collect();
    let mut groups: Vec<Vec<(u32, u32)>> = Vec::new();
    let on = |level: u16| (0..switches as u32).filter(move |&switch| levels[switch as usize] == level);
    for level in (0..highest).rev() {
        let above = |switch: u32| {
            let ends = graph.outgoing(switch).iter().map(|&channel| graph.ends(channel).1);
            ends.filter(|&there| levels[there as usize] > level)
        };
        for switch in on(level) {
            let mut parents = above(switch);
            if let Some(first) = parents.next() {
                parents.for_each(|other| sets.join(class[first as usize], class[other as usize]));
            }
        }
        // Classes above by the set that they are in now. A switch that has lost all its cables up is of none.
        let whole = |&parent: &u32| {
            level + 1 == highest
                || graph.outgoing(parent).iter().any(|&up| levels[graph.ends(up).1 as usize] > level + 1)
        };
        let mut members: Vec<(u32, u32)> = on(level + 1)
            .filter(whole)
            .map(|parent| (sets.name(class[parent as usize]), class[parent as usize]))
            .collect();
        members.sort_unstable();
        members.dedup();
        for switch in on(level) {
            if let Some(parent) = above(switch).next() {
                class[switch as usize] = sets.name(class[parent as usize]);
            }
        }
        groups.push(members);
    }
    groups.reverse();
    let (mut number, mut width, mut ways) = (vec![0; switches], vec![1; switches], vec![1; switches]);
    // From the leaves up: the ways to a class are those to the set it is in, times the classes there.
    let mut to_set: Vec<u64> = vec![1; switches];
    for (level, members) in groups.iter().enumerate() {
        let (mut count, mut place) = (vec![0_u32; switches], vec![0_u32; switches]);
        for &(set, member) in members {
            place[member as usize] = count[set as usize];
            count[set as usize] += 1;
        }
        for switch in on(level as u16) {
            let set = class[switch as usize] as usize;
            width[switch as usize] = count[set].max(1);
            ways[switch as usize] = to_set[set];
        }
        for switch in on(level as u16 + 1) {
            number[switch as usize] = place[class[switch as usize] as usize];
        }
        let mut next = to_set.clone();
        for &(set, member) in members {
            let count = count[set as usize].into();
            next[member as usize] = to_set[set as usize].saturating_mul(count);
        }
        to_set = next;
    }
    for switch in on(highest) {
        ways[switch as usize] = to_set[class[switch as usize] as usize];
    }
    (number, width, ways)
}

/// Switches with hosts, those with common ancestors on low levels side by side.
fn order(graph: &Graph, levels: &[u16], highest: u16) -> Vec<u32> {
    let switches = graph.switches() as u32;
    let mut sets = Sets::new(graph.switches());
    let mut keys: Vec<Vec<u32>> = vec![Vec::new(); graph.switches()];
    for level in 1..=highest {
        for channel in 0..graph.channels() as u32 {
            let (from, to) = graph.ends(channel);
            if levels[to as usize] == level && levels[from as usize] < level {
                sets.join(from, to);
            }
        }
        (0..switches).for_each(|switch| keys[switch as usize].push(sets.name(switch)));
    }
    let mut order: Vec<u32> = (0..switches).filter(|&switch| graph.hosts(switch) > 0).collect();
    // Hosts above the leaves come last.
    order.sort_by_cached_key(|&switch| {
        let of_tree: Vec<u32> = keys[switch as usize].iter().rev().copied().collect();
        (levels[switch as usize], of_tree, switch)
    });
    order
}
