use crate::{
    fabric::{Direction, Fabric, NodeId},
    traffic::RouteBook,
};
use std::collections::HashMap;

/// Routes that came from elsewhere, each a walk over working links.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routes::by_source::ListedRoutes;
/// use flitloom_core::traffic::RouteBook;
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let routes = ListedRoutes::new(&fabric, [(0, 5, &[0, 4, 5][..])]).unwrap();
/// assert_eq!(routes.hops(0, 5).map(|hops| hops.len()), Some(2));
/// assert!(!routes.covers(5, 0));
/// assert_eq!(ListedRoutes::new(&fabric, [(0, 5, &[0, 5][..])]).unwrap_err(), 0);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListedRoutes {
    /// Where the steps of a pair begin and end.
    places: HashMap<(NodeId, NodeId), (usize, usize)>,
    steps: Vec<Direction>,
}

impl ListedRoutes {
    /// Routes given as source, destination and the nodes on the way, both ends included.
    ///
    /// # Errors
    /// The index of the first route that does not lead from its source to its destination over working
    /// links, or is the second one of its pair.
    pub fn new<'n>(
        fabric: &Fabric,
        routes: impl IntoIterator<Item = (NodeId, NodeId, &'n [NodeId])>,
    ) -> Result<Self, usize> {
        let mut listed = Self { places: HashMap::new(), steps: Vec::new() };
        let known = |node: NodeId| (node as usize) < fabric.shape().nodes();
        for (index, (source, destination, nodes)) in routes.into_iter().enumerate() {
            let ends = nodes.first() == Some(&source) && nodes.last() == Some(&destination);
            if !ends || !nodes.iter().all(|&node| known(node) && fabric.node_works(node)) {
                return Err(index);
            }
            let first = listed.steps.len();
            for pair in nodes.windows(2) {
                let leads =
                    |&direction: &Direction| fabric.working_neighbour(pair[0], direction) == Some(pair[1]);
                let mut directions = (0..fabric.shape().directions()).map(Direction::from_index);
                listed.steps.push(directions.find(leads).ok_or(index)?);
            }
            if listed.places.insert((source, destination), (first, listed.steps.len())).is_some() {
                return Err(index);
            }
        }
        Ok(listed)
    }
}

impl RouteBook for ListedRoutes {
    fn covers(&self, source: NodeId, destination: NodeId) -> bool {
        self.places.contains_key(&(source, destination))
    }

    fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>> {
        let &(first, end) = self.places.get(&(source, destination))?;
        Some(self.steps[first..end].to_vec())
    }
}
