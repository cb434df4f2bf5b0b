//! Which channels the bytes of a pair of nodes use.

use crate::{
    fabric::{Fabric, LinkId, NodeId, Shape},
    routing::dimension_order,
};

/// The ways of all pairs of nodes, by dimension order or listed; one channel is one direction of one link.
pub struct Ways {
    shape: Shape,
    /// Per dimension, start and destination: channels of the way, for the node whose coordinate there is 0.
    segments: Vec<Vec<Vec<LinkId>>>,
    /// Of listed ways, per pair: where its channels stand in `listed`. Empty by dimension order on plain networks.
    starts: Vec<u32>,
    listed: Vec<LinkId>,
    coordinates: Vec<u32>,
    channels: Vec<u32>,
    /// Channels that a way has at most.
    reach: u64,
}

impl Ways {
    /// Nodes up to which ways are listed: those of a twisted torus, and those that tables say.
    pub const MAX_LISTED_NODES: usize = 1024;

    /// Ways by dimension order on a network without failed parts.
    pub fn new(shape: Shape) -> Self {
        let fabric = Fabric::new(shape.clone());
        let mut ways = Self::without(shape, &fabric);
        if ways.shape.is_twisted() {
            ways.list(&fabric);
        } else {
            ways.segments =
                (0..ways.shape.dimensions()).map(|dimension| segments(&fabric, dimension)).collect();
            let longest = ways.segments.iter().filter_map(|along| along.iter().map(Vec::len).max());
            ways.reach = longest.sum::<usize>() as u64;
        }
        ways
    }

    /// Ways that tables say: the channels of the pair (from, to) stand in `listed` from `starts[from * nodes + to]` on,
    /// up to the next start.
    ///
    /// # Panics
    ///
    /// There is not one start per pair and one behind the last.
    pub fn listed(shape: Shape, starts: Vec<u32>, listed: Vec<LinkId>) -> Self {
        let fabric = Fabric::new(shape.clone());
        assert_eq!(starts.len(), shape.nodes() * shape.nodes() + 1);
        let mut ways = Self { starts, listed, ..Self::without(shape, &fabric) };
        ways.measure();
        ways
    }

    fn without(shape: Shape, fabric: &Fabric) -> Self {
        let dimensions = shape.dimensions();
        let mut channels = vec![0; dimensions];
        for link in fabric.working_links() {
            channels[shape.dimension_of(fabric.link_ends(link).1)] += 1;
        }
        let coordinates = (0..shape.nodes() as NodeId).flat_map(|node| shape.coordinates(node)).collect();
        let (segments, starts, listed) = (Vec::new(), Vec::new(), Vec::new());
        Self { segments, starts, listed, coordinates, channels, shape, reach: 0 }
    }

    fn measure(&mut self) {
        let longest = self.starts.windows(2).map(|pair| pair[1] - pair[0]).max();
        self.reach = u64::from(longest.unwrap_or(0));
    }

    fn list(&mut self, fabric: &Fabric) {
        let nodes = self.shape.nodes() as NodeId;
        self.starts.push(0);
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            self.listed.extend(dimension_order::path(fabric, from, to));
            self.starts.push(self.listed.len() as u32);
        }
        self.measure();
    }

    /// The network.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Numbers that channels may have: below this.
    pub fn numbers(&self) -> usize {
        self.shape.nodes() * self.shape.directions()
    }

    /// How many channels each dimension has.
    pub fn channels(&self) -> &[u32] {
        &self.channels
    }

    /// Channels that a way has at most.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// Channels of the way.
    #[inline]
    pub fn length(&self, from: NodeId, to: NodeId) -> u32 {
        if self.starts.is_empty() {
            let dimensions = self.segments.len();
            let a = &self.coordinates[from as usize * dimensions..][..dimensions];
            let b = &self.coordinates[to as usize * dimensions..][..dimensions];
            let along = |d: usize| self.segments[d][(a[d] * self.shape.size(d) + b[d]) as usize].len();
            return (0..dimensions).map(along).sum::<usize>() as u32;
        }
        let pair = from as usize * self.shape.nodes() + to as usize;
        self.starts[pair + 1] - self.starts[pair]
    }

    /// Calls `visit` with every channel of the way.
    #[inline]
    pub fn each(&self, from: NodeId, to: NodeId, mut visit: impl FnMut(LinkId)) {
        if from == to {
            return;
        }
        if !self.starts.is_empty() {
            let pair = from as usize * self.shape.nodes() + to as usize;
            let channels = self.starts[pair] as usize..self.starts[pair + 1] as usize;
            self.listed[channels].iter().for_each(|channel| visit(*channel));
            return;
        }
        let dimensions = self.segments.len();
        let directions = self.shape.directions() as u32;
        let a = &self.coordinates[from as usize * dimensions..][..dimensions];
        let b = &self.coordinates[to as usize * dimensions..][..dimensions];
        let mut here = from;
        for dimension in 0..dimensions {
            let (start, end) = (a[dimension], b[dimension]);
            if start == end {
                continue;
            }
            let stride = self.shape.stride(dimension);
            let base = here - start * stride;
            let size = self.shape.size(dimension);
            for channel in &self.segments[dimension][(start * size + end) as usize] {
                visit(base * directions + channel);
            }
            here = base + end * stride;
        }
    }
}

fn segments(fabric: &Fabric, dimension: usize) -> Vec<Vec<LinkId>> {
    let shape = fabric.shape();
    let (size, stride) = (shape.size(dimension), shape.stride(dimension));
    let way = |from: u32, to: u32| {
        let mut here = from * stride;
        let mut channels = Vec::new();
        if let Some((direction, hops)) = dimension_order::along(shape, dimension, from, to) {
            for _ in 0..hops {
                channels.push(fabric.link(here, direction));
                here = shape.neighbour(here, direction).unwrap_or(here);
            }
        }
        channels
    };
    (0..size).flat_map(|from| (0..size).map(move |to| (from, to))).map(|(from, to)| way(from, to)).collect()
}
