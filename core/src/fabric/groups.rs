//! Dragonflies among graphs: which switches are a group.

use super::{Graph, sets::Sets};
use std::collections::BTreeMap;

/// Groups of switches that are all joined to each other, with cables between every two groups (Kim, Dally, Scott and
/// Abts 2008, Technology-driven, highly-scalable dragonfly topology).
///
/// ```
/// use flitloom_core::fabric::{Graph, Groups};
/// // Three groups of three switches, and a cable between every two groups.
/// let group = |first: u32| [(first, first + 1), (first + 1, first + 2), (first, first + 2)];
/// let cables: Vec<(u32, u32)> = [0, 3, 6].into_iter().flat_map(group).chain([(0, 3), (4, 6), (1, 7)]).collect();
/// let groups = Groups::of(&Graph::new(vec![1; 9], &cables)?).unwrap();
/// assert_eq!(groups.of, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
/// assert_eq!(groups.gates[&(0, 2)], [1]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The group of every switch.
    pub of: Vec<u32>,
    /// From one group to another one: the switches of the first with cables to the second, once per cable.
    pub gates: BTreeMap<(u32, u32), Vec<u32>>,
}

impl Groups {
    /// The groups of a graph, if it is a dragonfly in which no cable of a group is missing.
    pub fn of(graph: &Graph) -> Option<Self> {
        let switches = graph.switches() as u32;
        let mut around: Vec<Vec<u32>> = (0..switches)
            .map(|switch| graph.outgoing(switch).iter().map(|&channel| graph.ends(channel).1).collect())
            .collect();
        for list in &mut around {
            list.sort_unstable();
            list.dedup();
        }
        let common = |a: u32, b: u32| {
            let other = &around[b as usize];
            around[a as usize].iter().filter(|next| other.binary_search(next).is_ok()).count()
        };
        // By how many neighbours the ends have in common: two switches of a group have all its others.
        let mut cables: BTreeMap<usize, Vec<(u32, u32)>> = BTreeMap::new();
        for a in 0..switches {
            for &b in around[a as usize].iter().filter(|&&b| a < b) {
                cables.entry(common(a, b)).or_default().push((a, b));
            }
        }
        let mut sets = Sets::new(switches as usize);
        cables.into_iter().rev().take_while(|&(shared, _)| shared > 0).find_map(|(_, cables)| {
            cables.into_iter().for_each(|(a, b)| sets.join(a, b));
            Self::in_sets(graph, &mut sets, &around)
        })
    }

    fn in_sets(graph: &Graph, sets: &mut Sets, around: &[Vec<u32>]) -> Option<Self> {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        (0..graph.switches() as u32)
            .for_each(|switch| members.entry(sets.name(switch)).or_default().push(switch));
        let whole = |group: &Vec<u32>| {
            group.len() > 2
                && group.iter().all(|&switch| {
                    let inside = |next: &&u32| group.binary_search(next).is_ok();
                    around[switch as usize].iter().filter(inside).count() == group.len() - 1
                })
        };
        let count = members.len();
        if count < 3 || !members.values().all(whole) {
            return None;
        }
        let mut of = vec![0; graph.switches()];
        for (group, members) in (0..).zip(members.values()) {
            members.iter().for_each(|&switch| of[switch as usize] = group);
        }
        let mut gates: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for channel in 0..graph.channels() as u32 {
            let (from, to) = graph.ends(channel);
            let groups = (of[from as usize], of[to as usize]);
            if groups.0 != groups.1 {
                gates.entry(groups).or_default().push(from);
            }
        }
        (gates.len() == count * (count - 1)).then_some(Self { of, gates })
    }
}
