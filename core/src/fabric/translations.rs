//! Translations of a graph: maps of its switches that keep cables, one that takes the first switch to each, which follow
//! each other as maps of the same kind. Cayley graphs have them.

use super::Graph;
use std::collections::BTreeSet;

/// Larger graphs are not looked at.
const MOST: usize = 1 << 11;
/// Maps of the first switch to one beside it that are tried, and ways to pick one for each.
const MAPS: usize = 16;
const PICKS: usize = 1 << 12;

impl Graph {
    /// By switch the translation that takes the first one there, as where it takes every switch; `None` if none are found,
    /// or where cables are parallel or numbers of hosts differ.
    ///
    /// ```
    /// use flitloom_core::fabric::Graph;
    /// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
    /// assert_eq!(ring.translations().unwrap()[2], [2, 3, 4, 0, 1]);
    /// let path = Graph::new(vec![1; 3], &[(0, 1), (1, 2)])?;
    /// assert!(path.translations().is_none());
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn translations(&self) -> Option<Vec<Vec<u32>>> {
        let beside: Vec<Vec<u32>> = (0..self.switches() as u32)
            .map(|switch| {
                let ends = self.outgoing(switch).iter().map(|&channel| self.ends(channel).1);
                ends.collect::<BTreeSet<u32>>().into_iter().collect()
            })
            .collect();
        let first = beside.first().filter(|_| self.switches() <= MOST)?.len();
        let alike = |switch: u32| {
            self.outgoing(switch).len() == first
                && beside[switch as usize].len() == first
                && self.hosts(switch) == self.hosts(0)
        };
        if !(0..self.switches() as u32).all(alike) {
            return None;
        }
        let classes = Classes::new(beside);
        let to_neighbours: Vec<Vec<Vec<u32>>> = classes.beside[0]
            .iter()
            .map(|&there| {
                let mut found = Vec::new();
                classes.extend(&mut vec![there], &mut found);
                found
            })
            .collect();
        let few = |maps: &Vec<Vec<u32>>| (1..=MAPS).contains(&maps.len());
        if !to_neighbours.iter().all(few) {
            return None;
        }
        let picks = to_neighbours.iter().fold(1, |picks: usize, maps| picks.saturating_mul(maps.len()));
        (0..picks.min(PICKS)).find_map(|pick| {
            let mut rest = pick;
            let chosen: Vec<&[u32]> = to_neighbours
                .iter()
                .map(|maps| {
                    let own = &maps[rest % maps.len()];
                    rest /= maps.len();
                    &own[..]
                })
                .collect();
            closed(&chosen, self.switches())
        })
    }
}

/// What tells switches apart, once some are told apart.
struct Classes {
    beside: Vec<Vec<u32>>,
    /// Switches that tell all others apart, the first one before others, and the classes then.
    fixed: Vec<u32>,
    own: Vec<u32>,
}

impl Classes {
    fn new(beside: Vec<Vec<u32>>) -> Self {
        let mut found = Self { beside, fixed: vec![0], own: Vec::new() };
        loop {
            found.own = found.classes(&found.fixed);
            let mut place = vec![u32::MAX; found.own.len()];
            let twin = (0_u32..).zip(&found.own).find_map(|(switch, &class)| {
                let before = std::mem::replace(&mut place[class as usize], switch);
                (before != u32::MAX).then_some(before)
            });
            match twin {
                Some(switch) => found.fixed.push(switch),
                None => return found,
            }
        }
    }

    /// Classes of switches by what is around them, by numbers that do not depend on those of switches; those that are
    /// given are each in one of their own.
    fn classes(&self, fixed: &[u32]) -> Vec<u32> {
        let mut classes = vec![0_u32; self.beside.len()];
        for (class, &switch) in (1..).zip(fixed) {
            classes[switch as usize] = class;
        }
        let mut count = 0;
        loop {
            let around = |switch: usize| {
                let mut around: Vec<u32> =
                    self.beside[switch].iter().map(|&other| classes[other as usize]).collect();
                around.sort_unstable();
                (classes[switch], around)
            };
            let keys: Vec<(u32, Vec<u32>)> = (0..classes.len()).map(around).collect();
            let mut sorted: Vec<&(u32, Vec<u32>)> = keys.iter().collect();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() == count {
                return classes;
            }
            count = sorted.len();
            classes = keys.iter().map(|key| sorted.partition_point(|other| *other < key) as u32).collect();
        }
    }

    /// All maps that keep cables and take the first of the fixed switches to `images`, up to one more than [`MAPS`].
    fn extend(&self, images: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
        let classes = self.classes(images);
        if images.len() == self.fixed.len() {
            let mut back = vec![u32::MAX; classes.len()];
            (0..).zip(&classes).for_each(|(switch, &class)| back[class as usize] = switch);
            let map: Vec<u32> = self.own.iter().map(|&class| back[class as usize]).collect();
            if self.keeps_cables(&map) {
                found.push(map);
            }
            return;
        }
        let next = self.fixed[images.len()];
        let class = self.classes(&self.fixed[..images.len()])[next as usize];
        for switch in (0..classes.len() as u32).filter(|&switch| classes[switch as usize] == class) {
            if found.len() > MAPS {
                return;
            }
            images.push(switch);
            self.extend(images, found);
            images.pop();
        }
    }

    fn keeps_cables(&self, map: &[u32]) -> bool {
        let mut seen = vec![false; map.len()];
        let once =
            |&image: &u32| seen.get_mut(image as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        map.iter().all(once)
            && self.beside.iter().zip(map).all(|(others, &image)| {
                let joined = &self.beside[image as usize];
                others.iter().all(|&other| joined.binary_search(&map[other as usize]).is_ok())
            })
    }
}

/// All maps that some make when they follow each other, by where they take the first switch; `None` unless there is one for
/// each.
fn closed(some: &[&[u32]], switches: usize) -> Option<Vec<Vec<u32>>> {
    let mut maps: Vec<Vec<u32>> = vec![Vec::new(); switches];
    maps[0] = (0..switches as u32).collect();
    let mut met = vec![0_u32];
    let mut place = 0;
    while let Some(&here) = met.get(place) {
        place += 1;
        for first in some {
            let map: Vec<u32> = first.iter().map(|&switch| maps[here as usize][switch as usize]).collect();
            let there = map[0];
            if maps[there as usize].is_empty() {
                maps[there as usize] = map;
                met.push(there);
            } else if maps[there as usize] != map {
                return None;
            }
        }
    }
    (met.len() == switches).then_some(maps)
}
