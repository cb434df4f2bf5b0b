use super::components::{components, shortest_cycle};
use crate::fabric::{Direction, Fabric, LinkId, NodeId, walk};
use fixedbitset::FixedBitSet;

/// One virtual channel of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel {
    /// The link.
    pub link: LinkId,
    /// The virtual channel on it.
    pub channel: u8,
}

/// The channel dependency graph: which channel a packet may hold while it waits for which next
/// (Dally and Seitz 1988).
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{DependencyGraph, Rules, TurnSet, Verdict};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let rules = Rules::angara(2);
/// let graph = DependencyGraph::of_rules(&fabric, &rules, &TurnSet::none(&fabric));
/// assert!(matches!(graph.verdict(true), Verdict::DeadlockFree(_)));
/// assert!(matches!(graph.verdict(false), Verdict::Deadlock(_)), "rings need the bubble rule");
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DependencyGraph {
    fabric: Fabric,
    channels: u32,
    targets: Vec<LinkId>,
    edges: FixedBitSet,
}

/// Answer of the deadlock test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A rank for every vertex: each dependency goes to a higher rank or stays, at equal rank,
    /// within one ring of one direction that the bubble rule keeps draining.
    DeadlockFree(Vec<u32>),
    /// A shortest cycle of channels, each of which can wait for the next.
    Deadlock(Vec<Channel>),
}

impl DependencyGraph {
    /// A graph without dependencies.
    pub fn new(fabric: &Fabric, channels: u8) -> Self {
        let channels = u32::from(channels);
        let directions = fabric.shape().directions();
        let links = fabric.shape().nodes() * directions;
        let targets = (0..links as LinkId)
            .map(|link| {
                let (node, direction) = fabric.link_ends(link);
                fabric.shape().neighbour(node, direction).unwrap_or(NodeId::MAX)
            })
            .collect();
        let edges = FixedBitSet::with_capacity(links * directions * (channels * channels) as usize);
        Self { fabric: fabric.clone(), channels, targets, edges }
    }

    /// Adds the dependency of a channel on the channel `next` of the link that leaves its end
    /// in direction `out`.
    pub fn insert(&mut self, link: LinkId, channel: u8, out: Direction, next: u8) {
        let edge = self.edge(link, channel, out, next);
        self.edges.insert(edge);
    }

    /// As [`insert`](Self::insert), unless the channel turned into can already come to wait for the
    /// other; says whether the dependency is in.
    pub fn try_insert(&mut self, link: LinkId, channel: u8, out: Direction, next: u8) -> bool {
        let from = self.vertex(Channel { link, channel });
        let end = self.targets[link as usize];
        if end != NodeId::MAX
            && self.reaches(self.vertex(Channel { link: self.fabric.link(end, out), channel: next }), from)
        {
            return false;
        }
        self.insert(link, channel, out, next);
        true
    }

    /// Adds all of the given dependencies, or none if one of them would close a cycle; says whether they
    /// are in.
    pub fn try_insert_all(&mut self, steps: impl IntoIterator<Item = (LinkId, u8, Direction, u8)>) -> bool {
        let mut added = Vec::new();
        for (link, channel, out, next) in steps {
            if self.contains(link, channel, out, next) {
                continue;
            }
            if !self.try_insert(link, channel, out, next) {
                for (link, channel, out, next) in added {
                    self.remove(link, channel, out, next);
                }
                return false;
            }
            added.push((link, channel, out, next));
        }
        true
    }

    /// Takes a dependency out again.
    pub fn remove(&mut self, link: LinkId, channel: u8, out: Direction, next: u8) {
        let edge = self.edge(link, channel, out, next);
        self.edges.set(edge, false);
    }

    /// Whether a dependency is present.
    pub fn contains(&self, link: LinkId, channel: u8, out: Direction, next: u8) -> bool {
        self.edges.contains(self.edge(link, channel, out, next))
    }

    /// Number of vertices, [`vertex`](Self::vertex) being below it.
    pub fn vertices(&self) -> usize {
        self.targets.len() * self.channels as usize
    }

    /// Index of a channel.
    pub fn vertex(&self, channel: Channel) -> u32 {
        channel.link * self.channels + u32::from(channel.channel)
    }

    /// Channel of an index.
    pub fn channel(&self, vertex: u32) -> Channel {
        Channel { link: vertex / self.channels, channel: (vertex % self.channels) as u8 }
    }

    /// The channels a channel depends on.
    pub fn targets(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        let width = self.width();
        let here = self.targets[(vertex / self.channels) as usize];
        let first = here.wrapping_mul(width);
        let start = (vertex * width) as usize;
        (0..width)
            .filter(move |&edge| self.edges.contains(start + edge as usize))
            .map(move |edge| first + edge)
    }

    /// Whether a channel can come, through dependencies, to wait for another one.
    pub fn reaches(&self, from: u32, to: u32) -> bool {
        walk::reaches(self.vertices(), from, |vertex| self.targets(vertex), |vertex| vertex == to)
    }

    /// A rank for every vertex: no dependency goes to a lower one, and equal ranks wait for each other.
    pub fn ranks(&self) -> Vec<u32> {
        components(self.vertices(), |vertex| self.targets(vertex))
    }

    /// As [`try_insert`](Self::try_insert), for many turns: `ranks`, which have to be those of the graph
    /// and stay so, limit the search to what lies between the two links.
    pub fn try_insert_ranked(&mut self, ranks: &mut Vec<u32>, link: LinkId, out: Direction) -> bool {
        let from = self.vertex(Channel { link, channel: 0 });
        let end = self.targets[link as usize];
        if end == NodeId::MAX {
            return false;
        }
        let into = self.vertex(Channel { link: self.fabric.link(end, out), channel: 0 });
        let (low, high) = (ranks[into as usize], ranks[from as usize]);
        if low == high || low < high && self.reaches_below(into, from, ranks) {
            return false;
        }
        self.insert(link, 0, out, 0);
        if low < high {
            *ranks = self.ranks();
        }
        true
    }

    /// Whether a channel reaches another over ranks up to that one's.
    fn reaches_below(&self, from: u32, to: u32, ranks: &[u32]) -> bool {
        let rank = ranks[to as usize];
        let below = |target: &u32| ranks[*target as usize] <= rank;
        let next = |vertex| self.targets(vertex).filter(below);
        walk::reaches(self.vertices(), from, next, |vertex| ranks[vertex as usize] == rank)
    }

    /// The exact deadlock test.
    ///
    /// With the bubble rule a strongly connected component of several channels is harmless exactly
    /// when it lies inside one ring of one direction; without it every component must be a single
    /// channel. Linear in the graph, and for a dangerous graph the search for a shortest cycle.
    pub fn verdict(&self, bubble: bool) -> Verdict {
        let ranks = self.ranks();
        let dangerous = |from: u32, to: u32| {
            ranks[from as usize] == ranks[to as usize] && !(bubble && self.in_one_ring(from, to))
        };
        let suspects = (0..self.vertices() as u32)
            .flat_map(|from| self.targets(from).map(move |to| (from, to)))
            .filter(|&(from, to)| dangerous(from, to));
        let within = |from: u32| {
            let rank = ranks[from as usize];
            let ranks = &ranks;
            self.targets(from).filter(move |&to| ranks[to as usize] == rank)
        };
        match shortest_cycle(self.vertices(), suspects, within) {
            None => Verdict::DeadlockFree(ranks),
            Some(cycle) => Verdict::Deadlock(cycle.into_iter().map(|vertex| self.channel(vertex)).collect()),
        }
    }

    /// Channels by name: `(0,3)+x`, with `vc` where there are several.
    pub fn names(&self, channels: &[Channel]) -> Vec<String> {
        channels.iter().map(|&channel| self.describe_channel(channel)).collect()
    }

    /// One channel as text.
    pub fn describe_channel(&self, channel: Channel) -> String {
        let (node, direction) = self.fabric.link_ends(channel.link);
        let shape = self.fabric.shape();
        let name = format!("{}{}", shape.describe(node), shape.direction_name(direction));
        if self.channels > 1 { format!("{name} vc{}", channel.channel) } else { name }
    }

    /// Whether two channels lie in one ring of one direction; equal rank puts consecutive channels
    /// of one direction into the same ring.
    fn in_one_ring(&self, from: u32, to: u32) -> bool {
        let directions = self.fabric.shape().directions() as u32 * self.channels;
        from % directions == to % directions
    }

    fn width(&self) -> u32 {
        self.fabric.shape().directions() as u32 * self.channels
    }

    fn edge(&self, link: LinkId, channel: u8, out: Direction, next: u8) -> usize {
        let vertex = link * self.channels + u32::from(channel);
        (vertex * self.width() + out.index() as u32 * self.channels + u32::from(next)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routing::{Flow, Rules, TurnSet};

    #[test]
    fn three_rules_are_certified_and_each_needs_its_means() {
        for sizes in [vec![2], vec![3], vec![4, 4], vec![5, 2, 3], vec![4, 2, 2, 2]] {
            let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            let none = TurnSet::none(&fabric);
            let n = sizes.len();
            for rules in [Rules::angara(n), Rules::dimension_order(n), Rules::dateline(n)] {
                let graph = DependencyGraph::of_rules(&fabric, &rules, &none);
                let bubble = rules.flow() == Flow::Bubble;
                assert!(
                    matches!(graph.verdict(bubble), Verdict::DeadlockFree(_)),
                    "{sizes:?} {}",
                    rules.name()
                );
            }
            let bare = Rules::named("unrestricted", n).unwrap();
            let graph = DependencyGraph::of_rules(&fabric, &bare, &none);
            let rings = (0..n).any(|dimension| fabric.shape().wraps(dimension));
            assert_eq!(matches!(graph.verdict(false), Verdict::Deadlock(_)), rings, "{sizes:?}");
        }
    }

    #[test]
    fn the_cycle_found_is_a_shortest_one() {
        let fabric = Fabric::new(Shape::torus(&[4, 4, 4]).unwrap());
        let rules = Rules::angara(3);
        let turns = TurnSet::all_same_sign(&fabric, &rules);
        let graph = DependencyGraph::of_rules(&fabric, &rules, &turns);
        let Verdict::Deadlock(cycle) = graph.verdict(true) else { panic!("a cycle was planted") };
        // No cycle of positive hops closes before one ring length is spent in each of two dimensions.
        assert_eq!(cycle.len(), 8, "{:?}", graph.names(&cycle));
        for (index, &channel) in cycle.iter().enumerate() {
            let next = graph.vertex(cycle[(index + 1) % cycle.len()]);
            assert!(graph.targets(graph.vertex(channel)).any(|target| target == next));
        }
    }
}
