use super::{
    CollectiveError, CollectiveKind, Plan, Request, Torus, plan_demands, plan_graph, plan_repaired,
    plan_torus,
};
use crate::{
    fabric::{Digraph, Fabric, NodeId, Shape},
    flow::demands::Demand,
};

/// Where an operation takes place: a torus, plain or twisted, a mesh, a product with full meshes, or any graph, with
/// failed parts and parallel links.
///
/// ```
/// use flitloom_core::collective::{CollectiveKind, Place, Request, Schedule};
/// let place = Place { sizes: vec![8, 8], wraps: vec![true; 2], ..Place::default() };
/// let request = Request { kind: CollectiveKind::AllGather, chunks: 1, root: 0, latency: 0, seed: 1 };
/// assert!(matches!(place.plan(None, &request)?.0.schedule, Schedule::Orbits(_)));
/// let broken = Place { failed_cables: vec![(0, 1)], ..place };
/// let (plan, graph) = broken.plan(None, &request)?;
/// assert_eq!((plan.steps, plan.bound.steps), (21, 21)); // 63 chunks over three links
/// assert_eq!(graph.map(|graph| graph.links().len()), Some(254));
/// # Ok::<(), flitloom_core::collective::CollectiveError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Sizes of all dimensions.
    pub sizes: Vec<u32>,
    /// Per dimension whether it wraps around (of no consequence for size 2).
    pub wraps: Vec<bool>,
    /// Whether it is twisted.
    pub twisted: bool,
    /// Per dimension whether it is a full mesh; none given: none is.
    pub full: Vec<bool>,
    /// Parallel links per dimension; none given: one each.
    pub widths: Vec<u32>,
    /// Nodes that do not work.
    pub failed_nodes: Vec<NodeId>,
    /// Pairs of neighbours whose cable does not work.
    pub failed_cables: Vec<(NodeId, NodeId)>,
    /// The cables of a network that is no grid; `sizes` is its number of nodes then, and nothing else is said.
    pub cables: Vec<(NodeId, NodeId)>,
    /// Its links that lead one way, from the first node to the second.
    pub one_way: Vec<(NodeId, NodeId)>,
}

impl Place {
    /// Whether its links are listed.
    fn is_listed(&self) -> bool {
        !self.cables.is_empty() || !self.one_way.is_empty()
    }

    /// The group of its nodes, if it is a torus; failures do not count.
    ///
    /// # Errors
    /// It cannot be a torus though it should be.
    pub fn torus(&self) -> Result<Option<Torus>, CollectiveError> {
        if self.is_listed() {
            return Ok(None);
        }
        let wraps = self.sizes.iter().zip(&self.wraps).all(|(&size, &wraps)| wraps || size == 2);
        if self.twisted && !wraps {
            return Err(CollectiveError::TwistedMesh);
        }
        if wraps { self.closed().map(Some) } else { Ok(None) }
    }

    /// The group of its nodes with all lines closed to rings.
    fn closed(&self) -> Result<Torus, CollectiveError> {
        if self.full.contains(&true) {
            Torus::product(&self.sizes, &self.full, &self.widths)
        } else {
            Torus::new(&self.sizes, self.twisted, &self.widths)
        }
    }

    /// Its working nodes and links.
    ///
    /// # Errors
    /// The sizes, widths or failures are impossible.
    pub fn graph(&self) -> Result<Digraph, CollectiveError> {
        if self.is_listed() {
            let nodes = self.sizes.iter().product();
            let (cables, one_way) = (&self.cables, &self.one_way);
            return Ok(Digraph::of_cables(nodes, cables, one_way, &self.failed_nodes, &self.failed_cables)?);
        }
        if self.twisted
            && let Some(torus) = self.torus()?
        {
            return torus.without(&self.failed_nodes, &self.failed_cables);
        }
        // Checks sizes and widths as for a torus.
        let closed = self.closed()?;
        if self.full.contains(&true) {
            let open = (0..self.sizes.len())
                .filter(|&dimension| self.sizes[dimension] > 2 && !self.wraps[dimension]);
            let closing = open.flat_map(|dimension| closed.closing(dimension));
            let cables: Vec<_> = closing.chain(self.failed_cables.iter().copied()).collect();
            return closed.without(&self.failed_nodes, &cables);
        }
        let mut fabric = Fabric::new(Shape::new(&self.sizes, &self.wraps)?);
        self.failed_nodes.iter().try_for_each(|&node| fabric.fail_node(node))?;
        self.failed_cables.iter().try_for_each(|&(a, b)| fabric.fail_cable(a, b))?;
        Ok(Digraph::of_fabric(&fabric, &self.widths))
    }

    /// The best plan found: as orbits where all nodes of a whole torus take part alike, move by move
    /// elsewhere, then with the graph that its links belong to. Without `members` all working nodes take part.
    ///
    /// # Errors
    /// The place or the request is impossible, or a member cannot be reached.
    pub fn plan(
        &self,
        members: Option<&[NodeId]>,
        request: &Request,
    ) -> Result<(Plan, Option<Digraph>), CollectiveError> {
        let whole = members.is_none() && self.failed_nodes.is_empty() && self.failed_cables.is_empty();
        if whole
            && !request.kind.has_root()
            && let Some(torus) = self.torus()?
        {
            return Ok((plan_torus(&torus, request)?, None));
        }
        let graph = self.graph()?;
        let working = graph.working();
        let members = members.unwrap_or(&working);
        // With many nodes missing, the paths of the whole torus are no good start.
        let most = 4 * members.len() > 3 * graph.nodes();
        let plan = match self.torus()?.filter(|_| most && request.kind == CollectiveKind::AllToAll) {
            Some(torus) => plan_repaired(&torus, &graph, members, request)?,
            None => plan_graph(&graph, members, request)?,
        };
        Ok((plan, Some(graph)))
    }

    /// A plan for chunks that each go from one node to another; item `i` is demand `i`.
    ///
    /// # Errors
    /// The place is impossible, or a demand cannot be served.
    pub fn plan_demands(
        &self,
        demands: &[Demand],
        latency: u32,
        seed: u64,
    ) -> Result<(Plan, Digraph), CollectiveError> {
        let graph = self.graph()?;
        let plan = plan_demands(&graph, demands, latency, seed)?;
        Ok((plan, graph))
    }
}
