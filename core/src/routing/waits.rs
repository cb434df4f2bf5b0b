use super::components::{components, shortest_cycle};
use crate::fabric::{Fabric, LinkId};

/// One virtual channel of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel {
    /// The link.
    pub link: LinkId,
    /// The virtual channel on it.
    pub channel: u8,
}

impl Channel {
    /// Its name on a torus or mesh: `(0,3)+x`, with `vc` where a link has several.
    pub fn name(self, fabric: &Fabric, several: bool) -> String {
        let (node, direction) = fabric.link_ends(self.link);
        let shape = fabric.shape();
        let name = format!("{}{}", shape.describe(node), shape.direction_name(direction));
        if several { format!("{name} vc{}", self.channel) } else { name }
    }
}

/// Which channels a packet may wait for while it holds another one, on any network.
///
/// ```
/// use flitloom_core::routing::{Channel, Waits};
/// // Three links in a ring, with one channel each.
/// let ring = |drained| Waits::new(3, 1, [(0, 1), (1, 2), (2, 0)], drained).order();
/// assert_eq!(ring(None).unwrap_err(), [0, 1, 2].map(|link| Channel { link, channel: 0 }));
/// assert_eq!(ring(Some(1)), Ok(vec![0; 3]));
/// ```
#[derive(Clone, Debug)]
pub struct Waits {
    channels: u32,
    first: Vec<u32>,
    targets: Vec<u32>,
    drained: Option<u32>,
}

impl Waits {
    /// From the channels of each link and the dependencies in ascending order, channels as `link * channels + channel`.
    ///
    /// A cycle whose channels are alike modulo `drained` is one ring of one direction that the bubble rule keeps
    /// draining.
    pub fn new(
        links: usize,
        channels: u32,
        edges: impl IntoIterator<Item = (u32, u32)>,
        drained: Option<u32>,
    ) -> Self {
        let vertices = links * channels as usize;
        let mut first = Vec::with_capacity(vertices + 1);
        let mut targets = Vec::new();
        for (from, to) in edges {
            first.resize(first.len().max(from as usize + 1), targets.len() as u32);
            targets.push(to);
        }
        first.resize(vertices + 1, targets.len() as u32);
        Self { channels, first, targets, drained }
    }

    /// What a channel may wait for, in ascending order.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.targets[self.first[vertex] as usize..self.first[vertex + 1] as usize]
    }

    /// All dependencies, in ascending order.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.first.len() as u32 - 1).flat_map(|from| self.of(from).iter().map(move |&to| (from, to)))
    }

    /// The exact deadlock test: a rank for every channel, which each dependency raises or leaves within one ring that
    /// is kept draining, or a shortest cycle of channels each of which can wait for the next.
    ///
    /// A strongly connected component of several channels is harmless exactly when it lies inside one such ring
    /// (Dally and Seitz 1988). Linear in the dependencies, and where there is a cycle the search for a shortest one.
    ///
    /// # Errors
    /// The cycle.
    pub fn order(&self) -> Result<Vec<u32>, Vec<Channel>> {
        let vertices = self.first.len() - 1;
        let of = |vertex| self.of(vertex).iter().copied();
        let ranks = components(vertices, of);
        let alike = |from: u32, to: u32| ranks[from as usize] == ranks[to as usize];
        let drains = |from: u32, to: u32| self.drained.is_some_and(|drained| from % drained == to % drained);
        let suspects = self.edges().filter(|&(from, to)| alike(from, to) && !drains(from, to));
        match shortest_cycle(vertices, suspects, |from| of(from).filter(move |&to| alike(from, to))) {
            None => Ok(ranks),
            Some(cycle) => Err(cycle.into_iter().map(|vertex| self.channel(vertex)).collect()),
        }
    }

    fn channel(&self, vertex: u32) -> Channel {
        Channel { link: vertex / self.channels, channel: (vertex % self.channels) as u8 }
    }
}
