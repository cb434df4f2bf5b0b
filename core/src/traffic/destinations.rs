use super::{Numbers, Purpose, below, draw, draw_all, draw_below};
use crate::{fabric::NodeId, fault::Fault};
use std::sync::Arc;

/// Where each packet of each node goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Destinations {
    /// One destination per node.
    Fixed(Vec<NodeId>),
    /// Drawn anew for every packet.
    Random {
        /// Number of nodes.
        nodes: NodeId,
        /// Seed of the draws.
        seed: u64,
        /// Threshold (of 2^64) below which a draw means the target, and the target.
        hotspot: Option<(u64, NodeId)>,
    },
    /// Drawn anew for every packet, from some of the nodes.
    Among(Among),
    /// Drawn anew for every packet, by weights of the pairs of nodes.
    Weighted(Weighted),
    /// Every packet belongs to one of several classes, which is drawn anew.
    Classes {
        /// Threshold (of 2^64) below which a draw means this class or one before it; where it goes.
        classes: Arc<[(u64, Destinations)]>,
        /// Seed of the draws.
        seed: u64,
    },
}

/// Why nothing can be drawn from the nodes that work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmongError {
    /// The target of a hotspot has failed.
    Target(NodeId),
    /// Fewer than two nodes work.
    Alone,
}

crate::fault::displays_fault!(AmongError);

impl AmongError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Target(node) => Fault::of(
                "traffic.hotspot_target",
                format!("is node {node}, which has failed"),
                "name one that works",
            ),
            Self::Alone => Fault::at("traffic.pattern", "random traffic needs two nodes that work", ""),
        }
    }
}

/// Destinations drawn from some of the nodes, as [`Destinations::Random`] draws them from all.
#[derive(Clone, Debug, PartialEq)]
pub struct Among {
    seed: u64,
    hotspot: Option<(u64, NodeId)>,
    /// The nodes that are drawn from, in order.
    members: Arc<[NodeId]>,
    /// Per node: how many of them come before it.
    before: Arc<[NodeId]>,
}

/// Destinations drawn by weights, each a share of those of its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    seed: u64,
    /// Per node: where its destinations begin.
    first: Arc<[usize]>,
    destinations: Arc<[NodeId]>,
    /// Threshold (of 2^64) below which a draw means this destination or one before it.
    thresholds: Arc<[u64]>,
}

impl Destinations {
    /// Destinations drawn by weights: how often packets of a node (row) go to every node (column),
    /// relative to each other. Packets of a node without weights go to itself.
    ///
    /// ```
    /// use flitloom_core::traffic::Destinations;
    /// let weights = [vec![0, 3, 1], vec![0, 0, 1], vec![0, 0, 0]];
    /// let destinations = Destinations::weighted(&weights, 1);
    /// let to_1 = (0..1000).filter(|&packet| destinations.of(0, packet) == 1).count();
    /// assert!((700..800).contains(&to_1));
    /// assert_eq!((destinations.of(1, 7), destinations.of(2, 7)), (2, 2));
    /// ```
    pub fn weighted(weights: &[Vec<u64>], seed: u64) -> Self {
        let (mut first, mut destinations, mut thresholds) = (vec![0], Vec::new(), Vec::new());
        for row in weights {
            let all: u128 = row.iter().map(|&weight| u128::from(weight)).sum();
            let mut passed = 0;
            for (to, &weight) in row.iter().enumerate().filter(|(_, weight)| **weight > 0) {
                passed += u128::from(weight);
                destinations.push(to as NodeId);
                thresholds.push(threshold(passed, all));
            }
            first.push(destinations.len());
        }
        Self::Weighted(Weighted {
            seed,
            first: first.into(),
            destinations: destinations.into(),
            thresholds: thresholds.into(),
        })
    }

    /// Several classes of traffic: where each goes, and how many packets belong to it, relative to the
    /// others.
    ///
    /// ```
    /// use flitloom_core::traffic::Destinations;
    /// let [left, right] = [vec![0, 0], vec![1, 1]].map(Destinations::Fixed);
    /// let mixed = Destinations::classes(vec![(1, left), (3, right)], 5);
    /// let to_1 = (0..1000).filter(|&packet| mixed.of(0, packet) == 1).count();
    /// assert!((700..800).contains(&to_1));
    /// ```
    pub fn classes(classes: Vec<(u64, Self)>, seed: u64) -> Self {
        let all: u128 = classes.iter().map(|&(weight, _)| u128::from(weight)).sum();
        let mut passed = 0;
        let classes = classes.into_iter().map(|(weight, destinations)| {
            passed += u128::from(weight);
            (threshold(passed, all.max(1)), destinations)
        });
        Self::Classes { classes: classes.collect(), seed }
    }

    /// The same on a network some nodes of which do not work: what is drawn from all nodes is drawn from
    /// those that do. Sources that do not work are left to who knows them.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::Pattern};
    /// let shape = Shape::torus(&[4])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?.among(&[true, false, true, true])?;
    /// assert!((0..100).all(|packet| [0, 3].contains(&random.of(2, packet))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The target of a hotspot does not work, or at most one node does.
    pub fn among(self, works: &[bool]) -> Result<Self, AmongError> {
        match self {
            Self::Random { seed, hotspot, .. } => {
                if let Some((_, target)) = hotspot.filter(|&(_, target)| !works[target as usize]) {
                    return Err(AmongError::Target(target));
                }
                let members: Arc<[_]> =
                    (0..).zip(works).filter_map(|(node, &works)| works.then_some(node)).collect();
                if members.len() < 2 {
                    return Err(AmongError::Alone);
                }
                let before = works.iter().scan(0, |passed, &works| {
                    let before = *passed;
                    *passed += NodeId::from(works);
                    Some(before)
                });
                Ok(Self::Among(Among { seed, hotspot, members, before: before.collect() }))
            }
            Self::Classes { classes, seed } => {
                let among = classes.iter().map(|(threshold, to)| Ok((*threshold, to.clone().among(works)?)));
                Ok(Self::Classes { classes: among.collect::<Result<_, AmongError>>()?, seed })
            }
            other => Ok(other),
        }
    }

    /// Destination of packet number `index` (from 0) of a node.
    #[inline(always)]
    pub fn of(&self, source: NodeId, index: u64) -> NodeId {
        match self {
            Self::Fixed(destinations) => destinations[source as usize],
            &Self::Random { nodes, seed, hotspot } => {
                if let Some((threshold, target)) = hotspot
                    && target != source
                    && (threshold == u64::MAX || draw(seed, source, Purpose::Hotspot, index) < threshold)
                {
                    return target;
                }
                // Uniform over the other nodes: skip the own index.
                let other = draw_below(seed, source, Purpose::Destination, index, nodes - 1);
                other + NodeId::from(other >= source)
            }
            Self::Among(among) => among.of(source, index),
            Self::Weighted(weighted) => weighted.of(source, index),
            Self::Classes { classes, seed } => Self::of_class(classes, *seed, source, index),
        }
    }

    #[inline(never)]
    fn of_class(classes: &[(u64, Self)], seed: u64, source: NodeId, index: u64) -> NodeId {
        let drawn = draw(seed, source, Purpose::Class, index);
        let class = classes.partition_point(|&(threshold, _)| threshold <= drawn);
        // The last threshold is one short of all draws.
        classes
            .get(class)
            .or(classes.last())
            .map_or(source, |(_, destinations)| destinations.of(source, index))
    }

    /// Whether all packets go to any other node alike.
    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self, Self::Random { hotspot: None, .. })
    }

    /// For packets of some nodes, where uniform ones go, counted without their sources.
    #[inline(always)]
    pub(crate) fn others<N: Numbers>(&self, sources: N, numbers: N) -> N {
        match self {
            &Self::Random { nodes, seed, .. } => {
                below(draw_all(seed, sources, Purpose::Destination, numbers), nodes - 1)
            }
            _ => N::all(0),
        }
    }

    /// Number of nodes they are for.
    pub fn nodes(&self) -> usize {
        match self {
            Self::Fixed(to) => to.len(),
            Self::Random { nodes, .. } => *nodes as usize,
            Self::Among(among) => among.before.len(),
            Self::Weighted(weighted) => weighted.first.len() - 1,
            Self::Classes { classes, .. } => {
                classes.first().map_or(0, |(_, destinations)| destinations.nodes())
            }
        }
    }

    /// Every pair of a source and a destination that may occur, among so many nodes; pairs may come
    /// several times.
    pub fn pairs(&self, nodes: usize) -> Box<dyn Iterator<Item = (NodeId, NodeId)> + '_> {
        let nodes = nodes as NodeId;
        match self {
            Self::Fixed(to) => Box::new((0..).zip(to.iter().copied())),
            Self::Random { .. } => {
                Box::new((0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to))))
            }
            Self::Among(among) => {
                let members = &*among.members;
                Box::new(members.iter().flat_map(move |&from| members.iter().map(move |&to| (from, to))))
            }
            Self::Weighted(weighted) => Box::new((0..nodes).flat_map(|from| weighted.pairs(from))),
            Self::Classes { classes, .. } => {
                Box::new(classes.iter().flat_map(move |(_, destinations)| destinations.pairs(nodes as usize)))
            }
        }
    }
}

impl Among {
    #[inline(never)]
    fn of(&self, source: NodeId, index: u64) -> NodeId {
        if let Some((threshold, target)) = self.hotspot
            && target != source
            && (threshold == u64::MAX || draw(self.seed, source, Purpose::Hotspot, index) < threshold)
        {
            return target;
        }
        let others = self.members.len() as u32 - 1;
        let other = draw_below(self.seed, source, Purpose::Destination, index, others);
        // Its own place is skipped.
        self.members[(other + NodeId::from(other >= self.before[source as usize])) as usize]
    }
}

impl Weighted {
    fn of(&self, source: NodeId, index: u64) -> NodeId {
        let range = self.first[source as usize]..self.first[source as usize + 1];
        let drawn = draw(self.seed, source, Purpose::Destination, index);
        let place = self.thresholds[range.clone()].partition_point(|&threshold| threshold <= drawn);
        let last = range.len().saturating_sub(1);
        self.destinations[range].get(place.min(last)).copied().unwrap_or(source)
    }

    fn pairs(&self, from: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let range = self.first[from as usize]..self.first[from as usize + 1];
        let itself = range.is_empty().then_some(from);
        self.destinations[range].iter().copied().chain(itself).map(move |to| (from, to))
    }
}

/// A share as a threshold of draws.
fn threshold(part: u128, all: u128) -> u64 {
    // Shares of 2^64 - 1, so that the whole fits; sums of weights are far below 2^64.
    (part * u128::from(u64::MAX) / all) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fabric::Shape, traffic::Pattern};

    /// Every destination drawn is among the pairs, and is drawn as often as its weight says.
    #[test]
    fn weights_and_classes_are_shares_of_packets() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        let weights: Vec<Vec<u64>> = (0..16)
            .map(|from| (0..16).map(|to| if from == 3 { 0 } else { (from * to) % 5 }).collect())
            .collect();
        let weighted = Destinations::weighted(&weights, 3);
        let transpose = Pattern::Transpose.destinations(&shape, 0).unwrap();
        let classes = Destinations::classes(vec![(1, transpose.clone()), (4, weighted.clone())], 8);
        for (destinations, share) in [(&weighted, 1.0), (&classes, 0.8)] {
            assert_eq!(destinations.nodes(), 16);
            let pairs: Vec<_> = destinations.pairs(16).collect();
            for (from, row) in weights.iter().enumerate() {
                let all: u64 = row.iter().sum();
                let mut counts = [0_u32; 16];
                for index in 0..20_000 {
                    let to = destinations.of(from as NodeId, index);
                    assert!(pairs.contains(&(from as NodeId, to)));
                    counts[to as usize] += 1;
                }
                let own = transpose.of(from as NodeId, 0) as usize;
                for to in (0..16).filter(|&to| all > 0 && (share == 1.0 || to != own)) {
                    let expected = row[to] as f64 / all as f64 * share * 20_000.0;
                    let near = 5.0 * expected.sqrt() + 1.0;
                    assert!((f64::from(counts[to]) - expected).abs() < near, "{from} {to}");
                }
            }
        }
        assert_eq!(weighted.of(3, 5), 3);
    }

    /// Each of the others that work is drawn as often as any, the target in its share, and where all nodes
    /// work every draw is that of [`Destinations::Random`].
    #[test]
    fn among_nodes_that_work_each_is_drawn_alike() {
        let shape = Shape::torus(&[4, 4]).unwrap();
        let hotspot = Pattern::Hotspot { fraction: 0.25, target: 9 };
        let dead: [NodeId; 3] = [0, 5, 15];
        let works: Vec<bool> = (0..16).map(|node| !dead.contains(&node)).collect();
        for (pattern, share) in [(Pattern::Random, 0.0), (hotspot.clone(), 0.25)] {
            let all = pattern.destinations(&shape, 3).unwrap();
            let same = all.clone().among(&[true; 16]).unwrap();
            let among = all.clone().among(&works).unwrap();
            assert_eq!(among.nodes(), 16);
            for source in (0..16).filter(|&node| works[node as usize]) {
                assert!((0..500).all(|index| same.of(source, index) == all.of(source, index)));
                let mut counts = [0_u32; 16];
                for index in 0..20_000 {
                    counts[among.of(source, index) as usize] += 1;
                }
                let share = if source == 9 { 0.0 } else { share };
                for to in 0..16 {
                    let drawn = works[to as usize] && to != source;
                    let even = if drawn { (1.0 - share) / 12.0 } else { 0.0 };
                    let expected: f64 = 20_000.0 * (even + if to == 9 { share } else { 0.0 });
                    let near = 5.0 * expected.sqrt();
                    assert!((f64::from(counts[to as usize]) - expected).abs() <= near, "{source} {to}");
                }
            }
            let pairs: Vec<_> = among.pairs(16).collect();
            assert_eq!(pairs.len(), 13 * 13);
            assert!(pairs.iter().all(|&(from, to)| works[from as usize] && works[to as usize]));
        }
        let aim = Pattern::Hotspot { fraction: 0.1, target: 5 }.destinations(&shape, 3).unwrap();
        assert_eq!(aim.among(&works), Err(AmongError::Target(5)));
        let random = Pattern::Random.destinations(&shape, 3).unwrap();
        let one: Vec<bool> = (0..16).map(|node| node == 3).collect();
        assert_eq!(random.among(&one), Err(AmongError::Alone));
    }
}
