use super::{Direction, FabricError, LinkId, NodeId, Shape};
use fixedbitset::FixedBitSet;

/// A shape with its failed nodes and links: everything that physically exists and works.
///
/// ```
/// use flitloom_core::fabric::{Direction, Fabric, Shape, Sign};
/// let mut fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// fabric.fail_cable(0, 1)?;
/// assert!(!fabric.link_works(0, Direction::new(0, Sign::Plus)));
/// assert!(!fabric.link_works(1, Direction::new(0, Sign::Minus)));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    shape: Shape,
    failed_nodes: FixedBitSet,
    failed_links: FixedBitSet,
}

impl Fabric {
    /// A fabric without failures.
    pub fn new(shape: Shape) -> Self {
        let (nodes, directions) = (shape.nodes(), shape.directions());
        Self {
            shape,
            failed_nodes: FixedBitSet::with_capacity(nodes),
            failed_links: FixedBitSet::with_capacity(nodes * directions),
        }
    }

    /// The shape without its failures.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Index of the link that leaves `node` in `direction`.
    pub fn link(&self, node: NodeId, direction: Direction) -> LinkId {
        node * self.shape.directions() as u32 + direction.index() as u32
    }

    /// Node and direction of a link index.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, Direction) {
        let directions = self.shape.directions() as u32;
        (link / directions, Direction::from_index((link % directions) as usize))
    }

    /// Marks a node as failed, with all its links.
    ///
    /// # Errors
    /// The node does not exist.
    pub fn fail_node(&mut self, node: NodeId) -> Result<(), FabricError> {
        self.check(node)?;
        self.failed_nodes.insert(node as usize);
        Ok(())
    }

    /// Marks the cable between two neighbours as failed, in both directions.
    ///
    /// # Errors
    /// A node does not exist, or the two are not neighbours.
    pub fn fail_cable(&mut self, a: NodeId, b: NodeId) -> Result<(), FabricError> {
        self.check(a)?;
        self.check(b)?;
        let direction = (0..self.shape.directions())
            .map(Direction::from_index)
            .find(|&direction| self.shape.neighbour(a, direction) == Some(b))
            .ok_or(FabricError::NotNeighbours(a, b))?;
        let (there, back) = (self.link(a, direction), self.link(b, direction.opposite()));
        self.failed_links.insert(there as usize);
        self.failed_links.insert(back as usize);
        Ok(())
    }

    /// Whether a node works.
    pub fn node_works(&self, node: NodeId) -> bool {
        !self.failed_nodes.contains(node as usize)
    }

    /// Whether the link that leaves `node` in `direction` exists and works, with both its ends.
    pub fn link_works(&self, node: NodeId, direction: Direction) -> bool {
        self.working_neighbour(node, direction).is_some()
    }

    /// The neighbour over a working link.
    pub fn working_neighbour(&self, node: NodeId, direction: Direction) -> Option<NodeId> {
        let other = self.shape.neighbour(node, direction)?;
        let works = self.node_works(node)
            && self.node_works(other)
            && !self.failed_links.contains(self.link(node, direction) as usize);
        works.then_some(other)
    }

    /// Whether nothing has failed.
    pub fn is_healthy(&self) -> bool {
        self.failed_nodes.is_clear() && self.failed_links.is_clear()
    }

    /// Nodes that failed, in ascending order.
    pub fn failed_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.failed_nodes.ones().map(|node| node as NodeId)
    }

    /// Cables that failed on their own account, as pairs of neighbours in ascending order.
    pub fn failed_cables(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.failed_links.ones().filter_map(|link| {
            let (a, direction) = self.link_ends(link as LinkId);
            self.shape.neighbour(a, direction).filter(|&b| a < b).map(|b| (a, b))
        })
    }

    /// The same fabric with a node or a cable working again; links at other failures stay down.
    #[must_use]
    pub fn repaired(&self, node: Option<NodeId>, cable: Option<(NodeId, NodeId)>) -> Self {
        let mut mended = self.clone();
        if let Some(node) = node {
            mended.failed_nodes.set(node as usize, false);
        }
        for direction in (0..self.shape.directions()).map(Direction::from_index) {
            if let Some((a, b)) = cable
                && self.shape.neighbour(a, direction) == Some(b)
            {
                mended.failed_links.set(self.link(a, direction) as usize, false);
                mended.failed_links.set(self.link(b, direction.opposite()) as usize, false);
            }
        }
        mended
    }

    /// All working links in ascending order of their index.
    pub fn working_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        (0..(self.shape.nodes() * self.shape.directions()) as LinkId).filter(|&link| {
            let (node, direction) = self.link_ends(link);
            self.link_works(node, direction)
        })
    }

    fn check(&self, node: NodeId) -> Result<(), FabricError> {
        let last = self.shape.nodes() as NodeId - 1;
        if node > last { Err(FabricError::Node { node: node.into(), last }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_node_takes_its_links_along() {
        let mut fabric = Fabric::new(Shape::torus(&[4, 2]).unwrap());
        let all = fabric.working_links().count();
        assert_eq!(all, 24);
        fabric.fail_node(0).unwrap();
        assert_eq!(fabric.working_links().count(), all - 2 * 3);
        assert!(!fabric.is_healthy());
    }

    #[test]
    fn a_cable_joins_neighbours() {
        let mut fabric = Fabric::new(Shape::mesh(&[4]).unwrap());
        assert_eq!(fabric.fail_cable(0, 3), Err(FabricError::NotNeighbours(0, 3)));
        assert_eq!(fabric.fail_cable(0, 9), Err(FabricError::Node { node: 9, last: 3 }));
    }
}
