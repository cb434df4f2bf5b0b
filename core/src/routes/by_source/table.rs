use super::System;
use crate::fabric::{Direction, LinkId, NodeId};
use crate::routing::Route;
use crate::traffic::RouteBook;

/// Header of a pair that has no route: a node to itself, or a failed end.
pub const NO_ROUTE: u32 = u32::MAX;

/// One route per ordered pair of working nodes, as packed headers.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{Rules, TurnPolicy};
/// use flitloom_core::routes::{by_source::{Request, System, route}, methods::Method};
/// let fabric = Fabric::new(Shape::torus(&[4, 2])?);
/// let system = System::new(fabric, Rules::angara(2), TurnPolicy::ClosedForm)?;
/// let balanced = flitloom_core::names::find(&Method::by_source(), "balanced")?;
/// let answer = route(system, balanced, &Request::default(), &mut |_| true)?;
/// assert_eq!(answer.quality.max_load, 4);
/// assert_eq!(answer.table.nodes(0, 5).unwrap().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    system: System,
    headers: Vec<u32>,
}

impl Table {
    /// A table from its headers, source-major; every header must walk over working links.
    pub(crate) fn new(system: System, headers: Vec<u32>) -> Self {
        Self { system, headers }
    }

    /// A table from headers that came from elsewhere, source-major.
    ///
    /// # Errors
    /// The index of the first header that does not lead from its source to its destination, or the
    /// number of headers if that is not `nodes * nodes`.
    pub fn from_headers(system: System, headers: Vec<u32>) -> Result<Self, usize> {
        let (nodes, directions) = (system.nodes(), system.fabric().shape().directions());
        if headers.len() != nodes * nodes {
            return Err(headers.len());
        }
        for (pair, &header) in headers.iter().enumerate().filter(|entry| *entry.1 != NO_ROUTE) {
            let route = system.layout().unpack(header);
            let known = [route.first, route.last].iter().flatten().all(|step| step.index() < directions);
            let mut here = (pair / nodes) as NodeId;
            let arrives = known
                && system.layout().pack(&route) == header
                && route.directions(system.rules()).all(|hop| {
                    here = system.next(system.fabric().link(here, hop));
                    here != NodeId::MAX
                })
                && here as usize == pair % nodes;
            if !arrives {
                return Err(pair);
            }
        }
        Ok(Self { system, headers })
    }

    /// The system it is for.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// All headers, `source * nodes + destination`.
    pub fn headers(&self) -> &[u32] {
        &self.headers
    }

    /// The header of a pair, [`NO_ROUTE`] if it has none.
    pub fn header(&self, source: NodeId, destination: NodeId) -> u32 {
        self.headers[source as usize * self.system.nodes() + destination as usize]
    }

    /// The route of a pair.
    pub fn route(&self, source: NodeId, destination: NodeId) -> Option<Route> {
        let header = self.header(source, destination);
        (header != NO_ROUTE).then(|| self.system.layout().unpack(header))
    }

    /// The directions of a pair's hops.
    pub fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>> {
        Some(self.route(source, destination)?.directions(self.system.rules()).collect())
    }

    /// The links of a pair's route.
    pub fn links(&self, source: NodeId, destination: NodeId) -> Option<Vec<LinkId>> {
        let walk: Vec<u8> = self.hops(source, destination)?.iter().map(|hop| hop.index() as u8).collect();
        Some(self.system.links(source, &walk).collect())
    }

    /// The nodes of a pair's route, both ends included.
    pub fn nodes(&self, source: NodeId, destination: NodeId) -> Option<Vec<NodeId>> {
        let mut nodes = vec![source];
        nodes.extend(self.links(source, destination)?.iter().map(|&link| self.system.next(link)));
        Some(nodes)
    }
}

impl RouteBook for Table {
    fn covers(&self, source: NodeId, destination: NodeId) -> bool {
        let known = |node: NodeId| (node as usize) < self.system.nodes();
        known(source) && known(destination) && self.header(source, destination) != NO_ROUTE
    }

    fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>> {
        self.covers(source, destination).then(|| Self::hops(self, source, destination))?
    }
}
