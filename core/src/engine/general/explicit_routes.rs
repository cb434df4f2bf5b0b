//! Where the routers of a network do not know the way: every packet brings that of dimension order.

use crate::{
    engine::Network,
    fabric::{Direction, Fabric, NodeId},
    routing::{RoutingFunction, dimension_order},
    traffic::{PacketSource, RouteBook, Workload},
};
use std::sync::Arc;

/// Ways of dimension order.
#[derive(Debug)]
struct Ways(Fabric);

impl RouteBook for Ways {
    fn covers(&self, source: NodeId, destination: NodeId) -> bool {
        let works = |node, direction| self.0.link_works(node, direction);
        dimension_order::path(&self.0, source, destination).all(|link| {
            let (node, direction) = self.0.link_ends(link);
            works(node, direction)
        })
    }

    fn hops(&self, source: NodeId, destination: NodeId) -> Option<Vec<Direction>> {
        let path = dimension_order::path(&self.0, source, destination);
        Some(path.map(|link| self.0.link_ends(link).1).collect())
    }
}

/// The workload with the ways of its packets, where a coordinate does not say in which sense a ring is taken:
/// on twisted tori.
pub(super) fn by_dimension_order(network: &Network, workload: &Workload) -> Option<Workload> {
    let given = workload.routes().is_some() || workload.book().is_some();
    let routers = network.router().routing == RoutingFunction::DimensionOrder;
    if given || !routers || !network.fabric().shape().is_twisted() {
        return None;
    }
    let book: Arc<dyn RouteBook> = Arc::new(Ways(network.fabric().clone()));
    Some(workload.clone().with_book(&book))
}
