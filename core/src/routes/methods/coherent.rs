use super::{BySource, Method};
use crate::fabric::{Direction, NodeId};
use crate::power::power_of;
use crate::routes::by_source::{KeepGoing, Made, NO_ROUTE, Request, System, TableError};
use crate::routing::{Route, TurnSet, legal_routes};

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource { headers, searches: false }),
    ..Method::any("coherent", "balanced under the condition that routes can be followed by destination alone")
};

/// Pairs between two looks at whether to go on.
const LOOK: usize = 256;

/// A table in which every route goes on, from each node it visits, as that node's own route does: what
/// forwarding by destination alone (such as linear forwarding tables) needs.
///
/// Pairs are placed by ascending length, each on its cheapest route whose rest is already in the table,
/// against the eighth power of the loads.
fn headers(system: &System, request: &Request, keep_going: KeepGoing<'_>) -> Result<Made, TableError> {
    let traffic = request.traffic.as_deref();
    let nodes = system.nodes();
    let works = |node: &NodeId| system.fabric().node_works(*node);
    // Steps against the order cannot be judged by destination alone; plain routes can.
    let rules = system.rules().clone().without_steps();
    let none = TurnSet::none(system.fabric());
    let mut pairs: Vec<(u32, NodeId, NodeId, Vec<Route>)> = Vec::new();
    let mut unserved = Vec::new();
    for source in (0..nodes as NodeId).filter(works) {
        if !keep_going(f64::from(source) / nodes as f64 / 2.0) {
            return Err(TableError::Interrupted);
        }
        for destination in (0..nodes as NodeId).filter(works).filter(|&node| node != source) {
            let routes = legal_routes(system.fabric(), &rules, &none, source, destination);
            match routes.first().map(Route::length) {
                Some(length) => pairs.push((length, destination, source, routes)),
                None => unserved.push((source, destination)),
            }
        }
    }
    pairs.sort_by_key(|pair| (pair.0, pair.1, pair.2));
    let mut headers = vec![NO_ROUTE; nodes * nodes];
    let mut loads = vec![0_u64; nodes * system.fabric().shape().directions()];
    let count = pairs.len();
    for (number, (_, destination, source, routes)) in pairs.into_iter().enumerate() {
        if number.is_multiple_of(LOOK) && !keep_going(0.5 + number as f64 / count as f64 / 2.0) {
            return Err(TableError::Interrupted);
        }
        let weight = traffic.map_or(1, |traffic| traffic[source as usize * nodes + destination as usize]);
        let best = routes
            .iter()
            .filter(|route| continues(system, &headers, source, destination, route))
            .map(|route| {
                let walk: Vec<u8> = route.directions(&rules).map(|hop| hop.index() as u8).collect();
                let links: Vec<_> = system.links(source, &walk).collect();
                let cost: f64 = links
                    .iter()
                    .map(|&link| {
                        let load = loads[link as usize] as f64;
                        power_of(load + weight as f64, 8) - power_of(load, 8)
                    })
                    .sum();
                (cost, route, links)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            None => unserved.push((source, destination)),
            Some((_, route, links)) => {
                headers[source as usize * nodes + destination as usize] = system.layout().pack(route);
                links.iter().for_each(|&link| loads[link as usize] += weight);
            }
        }
    }
    Made::of(headers, &unserved)
}

/// Whether the rest of a route after its first hop is the route of the node it gets to.
fn continues(system: &System, headers: &[u32], source: NodeId, destination: NodeId, route: &Route) -> bool {
    let hops: Vec<Direction> = route.directions(system.rules()).collect();
    let Some(next) = hops.first().and_then(|&hop| system.fabric().working_neighbour(source, hop)) else {
        return false;
    };
    if next == destination {
        return hops.len() == 1;
    }
    let header = headers[next as usize * system.nodes() + destination as usize];
    header != NO_ROUTE && system.walk(header).eq(hops[1..].iter().copied())
}
