use super::{
    components::components,
    waits::{Channel, Waits},
};
use crate::fabric::{Direction, Fabric, LinkId, NodeId, walk};
use fixedbitset::FixedBitSet;

/// The channel dependency graph: which channel a packet may hold while it waits for which next
/// (Dally and Seitz 1988).
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{DependencyGraph, Rules, TurnSet};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let rules = Rules::angara(2);
/// let graph = DependencyGraph::of_rules(&fabric, &rules, &TurnSet::none(&fabric));
/// assert!(graph.order(true).is_ok());
/// assert!(graph.order(false).is_err(), "rings need the bubble rule");
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DependencyGraph {
    fabric: Fabric,
    channels: u32,
    targets: Vec<LinkId>,
    edges: FixedBitSet,
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

    /// All dependencies as lists; with the `bubble` rule rings keep draining.
    pub fn waits(&self, bubble: bool) -> Waits {
        let edges = (0..self.vertices() as u32).flat_map(|from| self.targets(from).map(move |to| (from, to)));
        Waits::new(self.targets.len(), self.channels, edges, bubble.then(|| self.width()))
    }

    /// The exact deadlock test, as [`Waits::order`] has it.
    ///
    /// # Errors
    /// A shortest cycle.
    pub fn order(&self, bubble: bool) -> Result<Vec<u32>, Vec<Channel>> {
        self.waits(bubble).order()
    }

    /// Channels by name.
    pub fn names(&self, channels: &[Channel]) -> Vec<String> {
        channels.iter().map(|channel| channel.name(&self.fabric, self.channels > 1)).collect()
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
                assert!(graph.order(bubble).is_ok(), "{sizes:?} {}", rules.name());
            }
            let bare = Rules::named("unrestricted", n).unwrap();
            let graph = DependencyGraph::of_rules(&fabric, &bare, &none);
            let rings = (0..n).any(|dimension| fabric.shape().wraps(dimension));
            assert_eq!(graph.order(false).is_err(), rings, "{sizes:?}");
        }
    }

    #[test]
    fn the_cycle_found_is_a_shortest_one() {
        let fabric = Fabric::new(Shape::torus(&[4, 4, 4]).unwrap());
        let rules = Rules::angara(3);
        let turns = TurnSet::all_same_sign(&fabric, &rules);
        let graph = DependencyGraph::of_rules(&fabric, &rules, &turns);
        let cycle = graph.order(true).unwrap_err();
        // No cycle of positive hops closes before one ring length is spent in each of two dimensions.
        assert_eq!(cycle.len(), 8, "{:?}", graph.names(&cycle));
        for (index, &channel) in cycle.iter().enumerate() {
            let next = graph.vertex(cycle[(index + 1) % cycle.len()]);
            assert!(graph.targets(graph.vertex(channel)).any(|target| target == next));
        }
    }
}
