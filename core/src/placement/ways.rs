//! Which channels the bytes of a pair of nodes use.

use crate::{
    fabric::{Direction, Fabric, FabricError, LinkId, Network, NodeId, Shape},
    routing::dimension_order,
};

/// Ways that are listed. From a node of row `rows[from]` to node `to` the channels, which are below `numbers`, stand in
/// `channels` from `starts[row * nodes + to]` on, up to the next start.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Per node its row: nodes of a row have the same ways.
    pub rows: Vec<u32>,
    /// One start per row and node, and one behind the last.
    pub starts: Vec<u32>,
    /// Channels of all ways.
    pub channels: Vec<LinkId>,
    /// Numbers that channels may have: below this.
    pub numbers: usize,
}

/// The ways of all pairs of nodes, by dimension order or listed; one channel is one direction of one link.
///
/// On networks of switches the nodes are hosts, which have an order and no grid.
pub struct Ways {
    /// The grid of the nodes, or any sizes in whose order hosts are.
    shape: Shape,
    has_grid: bool,
    /// Per dimension, start and destination: channels of the way, for the node whose coordinate there is 0.
    segments: Vec<Vec<Vec<LinkId>>>,
    /// Of listed ways, per pair: where its channels stand in `listed`. Empty by dimension order on plain networks.
    starts: Vec<u32>,
    listed: Vec<LinkId>,
    /// The row of every node, in `starts` and where there is no grid in `near`; empty if each has its own.
    rows: Vec<u32>,
    /// Numbers that channels may have: below this.
    numbers: usize,
    /// The nodes that are nearest, by row.
    near: Vec<Vec<NodeId>>,
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

    /// Ways that are listed. Where nodes have no grid, `order` are any sizes whose product is their number.
    ///
    /// # Errors
    /// The order cannot be.
    ///
    /// # Panics
    /// There is not one row per node, or not one start per row and node and one behind the last.
    pub fn listed(network: &Network, order: &[u32], listed: Listed) -> Result<Self, FabricError> {
        let grid = network.grid().ok().map(|fabric| fabric.shape().clone());
        let has_grid = grid.is_some();
        let shape = grid.map_or_else(|| Shape::mesh(order), Ok)?;
        let Listed { rows, starts, channels, numbers } = listed;
        let (nodes, count) = (shape.nodes(), rows.iter().max().map_or(0, |last| *last as usize + 1));
        assert_eq!((rows.len(), starts.len()), (nodes, count * nodes + 1));
        let fabric = Fabric::new(shape.clone());
        let of_network = Self::without(shape, &fabric);
        let mut ways = Self { has_grid, rows, starts, listed: channels, numbers, ..of_network };
        ways.measure();
        if !has_grid {
            ways.near = (0..count).map(|row| ways.nearest(row)).collect();
        }
        Ok(ways)
    }

    /// Hosts at a switch, and those at the least number of channels from there.
    fn nearest(&self, row: usize) -> Vec<NodeId> {
        let hosts = self.rows.len();
        let length = |to: usize| self.starts[row * hosts + to + 1] - self.starts[row * hosts + to];
        let here = |to: usize| self.rows[to] as usize == row;
        let least = (0..hosts).map(length).filter(|length| *length > 0).min();
        (0..hosts).filter(|to| here(*to) || Some(length(*to)) == least).map(|to| to as NodeId).collect()
    }

    fn without(shape: Shape, fabric: &Fabric) -> Self {
        let dimensions = shape.dimensions();
        let mut channels = vec![0; dimensions];
        for link in fabric.working_links() {
            channels[shape.dimension_of(fabric.link_ends(link).1)] += 1;
        }
        let coordinates = (0..shape.nodes() as NodeId).flat_map(|node| shape.coordinates(node)).collect();
        let beside = |node, direction| shape.neighbour(node, Direction::from_index(direction));
        let near = (0..shape.nodes() as NodeId)
            .map(|node| (0..shape.directions()).filter_map(|d| beside(node, d)).collect())
            .collect();
        let (segments, starts, listed, rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let numbers = shape.nodes() * shape.directions();
        let has_grid = true;
        Self {
            has_grid,
            segments,
            starts,
            listed,
            rows,
            numbers,
            near,
            coordinates,
            channels,
            shape,
            reach: 0,
        }
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

    /// Sizes in whose order nodes are; its links are those of the network where there is a [`grid`](Self::grid).
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The grid of the nodes.
    ///
    /// # Errors
    /// They are hosts of switches.
    pub fn grid(&self) -> Result<&Shape, FabricError> {
        self.has_grid.then_some(&self.shape).ok_or(FabricError::NoGrid)
    }

    /// Numbers that channels may have: below this.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// The nodes that are nearest to a node: its neighbours, or hosts of its switch and the nearest others.
    #[inline]
    pub fn near(&self, node: NodeId) -> &[NodeId] {
        &self.near[self.row(node)]
    }

    /// Whether ways from and to two nodes are the same: hosts of one switch.
    #[inline]
    pub fn are_alike(&self, one: NodeId, other: NodeId) -> bool {
        self.row(one) == self.row(other)
    }

    #[inline]
    fn row(&self, node: NodeId) -> usize {
        if self.rows.is_empty() { node as usize } else { self.rows[node as usize] as usize }
    }

    #[inline]
    fn pair(&self, from: NodeId, to: NodeId) -> usize {
        self.row(from) * self.shape.nodes() + to as usize
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
        let pair = self.pair(from, to);
        self.starts[pair + 1] - self.starts[pair]
    }

    /// Calls `visit` with every channel of the way.
    #[inline]
    pub fn each(&self, from: NodeId, to: NodeId, mut visit: impl FnMut(LinkId)) {
        if from == to {
            return;
        }
        if !self.starts.is_empty() {
            let pair = self.pair(from, to);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::Graph,
        placement::{Demand, fullest_channel, least_hops},
    };

    #[test]
    fn hosts_of_a_switch_have_the_same_ways() {
        // Hosts 0 and 1 at one switch, 2 at another one, one cable between them: channels 0 and 1.
        let graph = Graph::new(vec![2, 1], &[(0, 1)]).unwrap();
        let starts = vec![0, 0, 0, 1, 2, 3, 3];
        let listed = Listed { rows: vec![0, 0, 1], starts, channels: vec![0, 1, 1], numbers: 2 };
        let ways = Ways::listed(&Network::of_switches(graph), &[3], listed).unwrap();
        let channels = |from, to| {
            let mut found = Vec::new();
            ways.each(from, to, |channel| found.push(channel));
            found
        };
        assert_eq!(
            [channels(0, 2), channels(1, 2), channels(2, 1), channels(0, 1)],
            [vec![0], vec![0], vec![1], vec![]]
        );
        assert_eq!((ways.numbers(), ways.reach(), ways.length(2, 0)), (2, 1, 1));
        assert_eq!((ways.near(0), ways.near(2)), (&[0, 1, 2][..], &[0, 1, 2][..]));
        assert!(ways.are_alike(0, 1) && !ways.are_alike(1, 2));
        // The order of hosts says nothing of links, so the bounds of grids are refused.
        let demand = Demand::new(3, &[(0, 2, 1)]).unwrap();
        assert!(least_hops(&ways, &demand, 1).is_err() && fullest_channel(&ways, &demand, &[], 1).is_err());
    }
}
