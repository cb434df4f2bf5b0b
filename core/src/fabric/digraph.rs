use super::{
    Direction, Fabric, FabricError, NodeId,
    walk::{self, Ways},
};
use std::collections::HashSet;

/// Any directed graph of nodes and links; parallel links are listed as often as they exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digraph {
    works: Vec<bool>,
    links: Vec<(NodeId, NodeId)>,
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    /// Sizes of the grid the nodes lie on, if any.
    sizes: Vec<u32>,
}

impl Digraph {
    /// A graph of the given links between nodes that all work.
    ///
    /// ```
    /// use flitloom_core::fabric::Digraph;
    /// let ring = Digraph::new(vec![true; 3], vec![(0, 1), (1, 2), (2, 0)]);
    /// assert_eq!(ring.distances(1), [2, 0, 1]);
    /// ```
    pub fn new(works: Vec<bool>, links: Vec<(NodeId, NodeId)>) -> Self {
        let (mut out, mut into) = (vec![Vec::new(); works.len()], vec![Vec::new(); works.len()]);
        for (link, &(from, to)) in (0..).zip(&links) {
            out[from as usize].push(link);
            into[to as usize].push(link);
        }
        Self { works, links, out, into, sizes: Vec::new() }
    }

    /// The working nodes and links of a torus or mesh, with so many parallel links per dimension.
    pub fn of_fabric(fabric: &Fabric, widths: &[u32]) -> Self {
        let shape = fabric.shape();
        let works = (0..shape.nodes() as NodeId).map(|node| fabric.node_works(node)).collect();
        let mut links = Vec::new();
        for node in 0..shape.nodes() as NodeId {
            for direction in (0..shape.directions()).map(Direction::from_index) {
                if let Some(other) = fabric.working_neighbour(node, direction) {
                    let width = widths.get(direction.dimension()).copied().unwrap_or(1);
                    links.extend((0..width).map(|_| (node, other)));
                }
            }
        }
        Self::new(works, links).on_grid(shape.sizes())
    }

    /// Nodes joined by cables, a link each way, and by links that lead one way, without what has failed; each stands as
    /// often as it exists.
    ///
    /// ```
    /// use flitloom_core::fabric::Digraph;
    /// let star = Digraph::of_cables(4, &[(0, 1), (0, 2), (0, 3)], &[(3, 2)], &[], &[(3, 0)])?;
    /// assert_eq!(star.links(), [(0, 1), (1, 0), (0, 2), (2, 0), (3, 2)]);
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    ///
    /// # Errors
    /// A node does not exist, or a failed cable is none of the cables.
    pub fn of_cables(
        nodes: NodeId,
        cables: &[(NodeId, NodeId)],
        one_way: &[(NodeId, NodeId)],
        failed_nodes: &[NodeId],
        failed_cables: &[(NodeId, NodeId)],
    ) -> Result<Self, FabricError> {
        let ends = cables.iter().chain(one_way).flat_map(|&(a, b)| [a, b]);
        if let Some(node) = ends.chain(failed_nodes.iter().copied()).find(|&node| node >= nodes) {
            return Err(no_node(node, nodes));
        }
        let both = cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        let links = both.chain(one_way.iter().copied()).collect();
        Self::new(vec![true; nodes as usize], links).without(failed_nodes, failed_cables)
    }

    /// The same graph, whose nodes lie on a grid of these sizes.
    pub fn on_grid(self, sizes: &[u32]) -> Self {
        Self { sizes: sizes.to_vec(), ..self }
    }

    /// The same graph less nodes, and less all cables between pairs of neighbours.
    ///
    /// # Errors
    /// A node does not exist, or a cable joins no neighbours.
    pub fn without(
        self,
        failed_nodes: &[NodeId],
        failed_cables: &[(NodeId, NodeId)],
    ) -> Result<Self, FabricError> {
        let nodes = self.nodes() as NodeId;
        let mut works = self.works;
        for &node in failed_nodes {
            *works.get_mut(node as usize).ok_or(no_node(node, nodes))? = false;
        }
        let known: HashSet<_> = self.links.iter().copied().collect();
        let joins = |&&(a, b): &&(NodeId, NodeId)| known.contains(&(a, b)) || known.contains(&(b, a));
        if let Some(&(a, b)) = failed_cables.iter().find(|cable| !joins(cable)) {
            return Err(FabricError::NotNeighbours(a, b));
        }
        let dead: HashSet<_> = failed_cables.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        let alive = |&(from, to): &(NodeId, NodeId)| {
            works[from as usize] && works[to as usize] && !dead.contains(&(from, to))
        };
        let links = self.links.into_iter().filter(alive).collect();
        Ok(Self::new(works, links).on_grid(&self.sizes))
    }

    /// Nodes that exist, whether they work or not.
    pub fn nodes(&self) -> usize {
        self.works.len()
    }

    /// Nodes that work, in ascending order.
    pub fn working(&self) -> Vec<NodeId> {
        (0..self.nodes() as NodeId).filter(|&node| self.works[node as usize]).collect()
    }

    /// All links, as (from, to).
    pub fn links(&self) -> &[(NodeId, NodeId)] {
        &self.links
    }

    /// Links that leave a node.
    pub fn out(&self, node: NodeId) -> &[u32] {
        &self.out[node as usize]
    }

    /// Links that end at a node.
    pub fn into(&self, node: NodeId) -> &[u32] {
        &self.into[node as usize]
    }

    /// The same graph with every link the other way round, under the same index.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let links = self.links.iter().map(|&(from, to)| (to, from)).collect();
        Self::new(self.works.clone(), links).on_grid(&self.sizes)
    }

    /// Sizes of the grid the nodes lie on, the first fastest; empty if they lie on none.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Hops from a node to every node; `u32::MAX` where no way leads.
    pub fn distances(&self, from: NodeId) -> Vec<u32> {
        let next = |node| self.out(node).iter().map(|&link| self.links[link as usize].1);
        walk::distances(self.nodes(), from, u32::MAX, next).0
    }

    /// Finds the shortest ways from a node under lengths of links, up to `target` if one is given.
    pub fn find_ways(
        &self,
        ways: &mut Ways<f64>,
        source: NodeId,
        target: Option<NodeId>,
        length: impl Fn(u32) -> f64,
    ) {
        let length = &length;
        let leaving =
            |node| self.out(node).iter().map(move |&link| (link, self.links[link as usize].1, length(link)));
        ways.find(source, leaving, |node, _| Some(node) != target);
    }

    /// The links to a node on the ways from `source`, in order; `None` if no way leads there.
    pub fn path(&self, ways: &Ways<f64>, source: NodeId, target: NodeId) -> Option<Vec<u32>> {
        ways.path(source, target, |link| self.links[link as usize].0)
    }
}

fn no_node(node: NodeId, nodes: NodeId) -> FabricError {
    FabricError::Node { node: node.into(), last: nodes.saturating_sub(1) }
}
