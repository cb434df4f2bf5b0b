use super::{BySource, Method};
use crate::fabric::{Direction, LinkId, NodeId};
use crate::routes::by_source::{KeepGoing, Made, NO_ROUTE, Request, System, TableError};
use crate::routing::{Route, RoutingEdge, RoutingGraph, legal_routes};

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource { headers, searches: false }),
    ..Method::any("bfs", "breadth-first search (angara-routing-2021, Algorithms 1 and 2)")
};

/// The breadth-first generator (angara-routing-2021, Algorithms 1 and 2).
///
/// Reading of what the paper leaves open: a vertex is ordered within its level by the sum of the
/// weights of its outgoing edges, ties by the order in which it was reached; equally remote next
/// sources by their coordinates.
fn headers(system: &System, request: &Request, keep_going: KeepGoing<'_>) -> Result<Made, TableError> {
    let traffic = request.traffic.as_deref();
    let graph = RoutingGraph::new(system.fabric(), system.rules(), system.turns());
    let nodes = system.nodes();
    let mut table = Table::new(system, traffic);
    let mut waiting = system.fabric().shape().nodes_by_coordinates();
    waiting.retain(|&node| system.fabric().node_works(node));
    let mut parent = vec![NONE; graph.vertices()];
    let mut source = waiting.first().copied();
    let total = waiting.len() as f64;
    while let Some(from) = source {
        if !keep_going(1.0 - waiting.len() as f64 / total) {
            return Err(TableError::Interrupted);
        }
        tree(&graph, from, &table.loads, &mut parent);
        for to in (0..nodes as NodeId).filter(|&to| to != from && system.fabric().node_works(to)) {
            table.apply(from, to, walk_back(&graph, &parent, from, to));
        }
        waiting.retain(|&node| node != from);
        // The first of the most remote nodes.
        source =
            waiting.iter().copied().rev().max_by_key(|&node| system.fabric().shape().distance(from, node));
    }
    Made::of(table.headers, &table.unserved)
}

/// Marks vertices that were not reached.
const NONE: (u32, LinkId) = (u32::MAX, LinkId::MAX);

fn tree(graph: &RoutingGraph, source: NodeId, loads: &[u64], parent: &mut [(u32, LinkId)]) {
    parent.fill(NONE);
    let begin = graph.begin(source);
    parent[begin as usize] = (begin, LinkId::MAX);
    let mut level = vec![begin];
    while !level.is_empty() {
        let weight = |vertex: &u32| -> u64 {
            let links = graph.edges(*vertex).iter().filter(|edge| edge.link != RoutingEdge::NO_LINK);
            links.map(|edge| loads[edge.link as usize]).sum()
        };
        level.sort_by_cached_key(weight);
        let mut next = Vec::new();
        for vertex in level {
            for edge in graph.edges(vertex) {
                if parent[edge.target as usize] == NONE {
                    parent[edge.target as usize] = (vertex, edge.link);
                    next.push(edge.target);
                }
            }
        }
        level = next;
    }
}

/// The links from the root of a tree to the end vertex of a node; empty if it was not reached.
fn walk_back(graph: &RoutingGraph, parent: &[(u32, LinkId)], from: NodeId, to: NodeId) -> Vec<LinkId> {
    let mut links = Vec::new();
    let mut vertex = graph.end(to);
    while vertex != graph.begin(from) && parent[vertex as usize] != NONE {
        let (before, link) = parent[vertex as usize];
        if link != RoutingEdge::NO_LINK {
            links.push(link);
        }
        vertex = before;
    }
    links.reverse();
    links
}

/// A table that is being filled, with the loads so far.
struct Table<'a> {
    system: &'a System,
    traffic: Option<&'a [u64]>,
    headers: Vec<u32>,
    unserved: Vec<(NodeId, NodeId)>,
    loads: Vec<u64>,
}

impl<'a> Table<'a> {
    fn new(system: &'a System, traffic: Option<&'a [u64]>) -> Self {
        let nodes = system.nodes();
        let loads = vec![0; nodes * system.fabric().shape().directions()];
        Self { system, traffic, headers: vec![NO_ROUTE; nodes * nodes], unserved: Vec::new(), loads }
    }

    /// Writes a route down and adds it to the loads.
    fn apply(&mut self, from: NodeId, to: NodeId, links: Vec<LinkId>) {
        if links.is_empty() {
            self.unserved.push((from, to));
            return;
        }
        let pair = from as usize * self.system.nodes() + to as usize;
        for &link in &links {
            self.loads[link as usize] += self.traffic.map_or(1, |traffic| traffic[pair]);
        }
        let hops: Vec<Direction> = links.iter().map(|&link| self.system.fabric().link_ends(link).1).collect();
        self.headers[pair] = header_of(self.system, from, to, &hops);
    }
}

/// The header of a legal walk.
fn header_of(system: &System, from: NodeId, to: NodeId, hops: &[Direction]) -> u32 {
    let ordered = |middle: &[Direction]| system.rules().clone().without_steps().violation(middle).is_none();
    let first = [None, hops.first().copied().filter(|step| system.rules().first_steps().contains(step))];
    let last = [None, hops.last().copied().filter(|step| system.rules().last_steps().contains(step))];
    for (first, last) in [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, b)| (first[a], last[b])) {
        let start = usize::from(first.is_some());
        let end = hops.len() - usize::from(last.is_some());
        if start <= end && ordered(&hops[start..end]) {
            let mut route = Route { first, last, ..Route::default() };
            for hop in &hops[start..end] {
                route.hops[hop.dimension()] += if hop.index() % 2 == 0 { 1 } else { -1 };
            }
            return system.layout().pack(&route);
        }
    }
    // The routing graph yields legal walks only; any legal route of the pair stands in.
    let routes = legal_routes(system.fabric(), system.rules(), system.turns(), from, to);
    routes.first().map_or(NO_ROUTE, |route| system.layout().pack(route))
}
