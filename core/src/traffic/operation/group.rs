use crate::fabric::{NodeId, Shape};

/// The nodes that take part in a collective operation, as an array with one axis per ring.
///
/// Nodes that form a box (a set of coordinates per dimension) keep the dimensions as axes. Any other
/// set is one axis: a walk through the network that turns back at the end of every line, so that
/// followers are close to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    axes: Vec<Vec<NodeId>>,
}

impl Group {
    /// All nodes of a shape.
    pub fn all(shape: &Shape) -> Self {
        let line = |dimension| (0..shape.size(dimension)).map(move |c| c * shape.stride(dimension));
        Self { axes: (0..shape.dimensions()).map(|dimension| line(dimension).collect()).collect() }
    }

    /// The given nodes of a shape, in any order; nodes named twice count once.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::Group};
    /// let shape = Shape::torus(&[4, 4])?;
    /// assert_eq!(Group::new(&shape, &[5, 4, 9, 8]).sizes().collect::<Vec<_>>(), [2, 2]);
    /// assert_eq!(Group::new(&shape, &[0, 5, 9]).sizes().collect::<Vec<_>>(), [3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(shape: &Shape, nodes: &[NodeId]) -> Self {
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let axes: Vec<Vec<NodeId>> = (0..shape.dimensions())
            .map(|dimension| {
                let offset = |&node: &NodeId| shape.coordinate(node, dimension) * shape.stride(dimension);
                let mut offsets: Vec<NodeId> = nodes.iter().map(offset).collect();
                offsets.sort_unstable();
                offsets.dedup();
                offsets
            })
            .collect();
        if axes.iter().map(Vec::len).product::<usize>() == nodes.len() {
            return Self { axes };
        }
        nodes.sort_by_key(|&node| {
            let mut place = Vec::with_capacity(shape.dimensions());
            let mut reversed = false;
            for dimension in (0..shape.dimensions()).rev() {
                let own = shape.coordinate(node, dimension);
                let seen = if reversed { shape.size(dimension) - 1 - own } else { own };
                place.push(seen);
                reversed ^= own % 2 == 1;
            }
            place
        });
        Self { axes: vec![nodes] }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.axes.iter().map(Vec::len).product()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Nodes along every axis.
    pub fn sizes(&self) -> impl Iterator<Item = u32> + '_ {
        self.axes.iter().map(|axis| axis.len() as u32)
    }

    /// The node with the given place; places count the first axis fastest.
    pub fn node(&self, mut place: u32) -> NodeId {
        let mut node = 0;
        for axis in &self.axes {
            node += axis[place as usize % axis.len()];
            place /= axis.len() as u32;
        }
        node
    }

    /// All nodes by place.
    pub fn nodes(&self) -> Vec<NodeId> {
        (0..self.len() as u32).map(|place| self.node(place)).collect()
    }

    /// The place of a node.
    pub fn place(&self, node: NodeId) -> Option<u32> {
        (0..self.len() as u32).find(|&place| self.node(place) == node)
    }

    /// Smallest number of hops between two of the nodes; 0 for fewer than two.
    pub fn nearest(&self, shape: &Shape) -> u32 {
        let nodes = self.nodes();
        if nodes.len() == shape.nodes() {
            return u32::from(nodes.len() > 1);
        }
        let pairs = nodes
            .iter()
            .enumerate()
            .flat_map(|(first, &from)| nodes[first + 1..].iter().map(move |&to| shape.distance(from, to)));
        pairs.min().unwrap_or(0)
    }
}
