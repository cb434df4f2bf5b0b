use super::bfs::{NONE, Table, walk_back};
use super::{Choices, NO_ROUTE, System, TableError};
use crate::fabric::{LinkId, NodeId};
use crate::routing::{RoutingEdge, RoutingGraph};
use std::collections::BTreeMap;

/// How often the single-source search ran (angara-routing-2021, Figure 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SsspCalls {
    /// Calls of `BUILD_SSSP`.
    pub calls: u64,
}

/// The shortest-path generator (angara-routing-2021, Algorithms 3 and 4): unique routes first, then
/// groups of pairs by turns, length and source, each routed over the links least loaded so far.
///
/// `unique` leaves the first stage out when false, for Figure 4.
pub(crate) fn headers(
    system: &System,
    traffic: Option<&[u64]>,
    unique: bool,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<(Vec<u32>, SsspCalls), TableError> {
    let graph = RoutingGraph::new(system.fabric(), system.rules(), system.turns());
    let choices = Choices::new(system).all_served()?;
    let nodes = system.nodes();
    let mut table = Table::new(system, traffic);
    // Pairs by (turns, length, source).
    let mut groups: BTreeMap<(usize, usize, NodeId), Vec<NodeId>> = BTreeMap::new();
    for (pair, &header) in choices.headers.iter().enumerate().filter(|entry| *entry.1 != NO_ROUTE) {
        let (from, to) = ((pair / nodes) as NodeId, (pair % nodes) as NodeId);
        let walk: Vec<u8> = system.walk(header).map(|hop| hop.index() as u8).collect();
        if unique {
            table.apply(from, to, system.links(from, &walk).collect());
        } else {
            groups.entry((turns(&walk), walk.len(), from)).or_default().push(to);
        }
    }
    for pair in &choices.pairs {
        let walks = || (0..pair.count).map(|choice| choices.walk(pair, choice));
        let least = walks().map(turns).min().unwrap_or(0);
        groups
            .entry((least, walks().next().map_or(0, <[u8]>::len), pair.source))
            .or_default()
            .push(pair.destination);
    }
    let mut search = Sssp::new(&graph, system);
    let mut calls = SsspCalls::default();
    let total = groups.len() as f64;
    for (done, ((_, _, source), mut waiting)) in groups.into_iter().enumerate() {
        if !keep_going(done as f64 / total) {
            return Err(TableError::Interrupted);
        }
        waiting.sort_unstable();
        while !waiting.is_empty() {
            search.run(source, &waiting, &table.loads);
            calls.calls += 1;
            // A greedy set of routes that share no channel, in the order of destinations.
            let mut taken: Vec<LinkId> = Vec::new();
            waiting.retain(|&to| {
                let links = walk_back(&graph, &search.parent, source, to);
                if links.iter().any(|link| taken.contains(link)) {
                    return true;
                }
                taken.extend(&links);
                table.apply(source, to, links);
                false
            });
        }
    }
    table.finish().map(|headers| (headers, calls))
}

fn turns(walk: &[u8]) -> usize {
    walk.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Algorithm 4: breadth-first search with relaxation. The initial weight of every edge, the square of
/// the number of nodes, keeps routes shortest, so that a level is settled when it is processed.
struct Sssp<'a> {
    graph: &'a RoutingGraph,
    base: u64,
    distance: Vec<u64>,
    parent: Vec<(u32, LinkId)>,
    wanted: Vec<bool>,
}

impl<'a> Sssp<'a> {
    fn new(graph: &'a RoutingGraph, system: &System) -> Self {
        Self {
            graph,
            base: (system.nodes() * system.nodes()) as u64,
            distance: vec![u64::MAX; graph.vertices()],
            parent: vec![NONE; graph.vertices()],
            wanted: vec![false; system.nodes()],
        }
    }

    fn run(&mut self, source: NodeId, destinations: &[NodeId], loads: &[u64]) {
        self.distance.fill(u64::MAX);
        self.parent.fill(NONE);
        self.wanted.fill(false);
        for &to in destinations {
            self.wanted[to as usize] = true;
        }
        let begin = self.graph.begin(source);
        self.distance[begin as usize] = 0;
        self.parent[begin as usize] = (begin, LinkId::MAX);
        let mut level = vec![begin];
        let mut missing = destinations.len();
        while !level.is_empty() && missing > 0 {
            let mut next = Vec::new();
            for vertex in level {
                for edge in self.graph.edges(vertex) {
                    // The edge into an end vertex costs one level like any other.
                    let weight =
                        if edge.link == RoutingEdge::NO_LINK { 0 } else { loads[edge.link as usize] };
                    let tentative = self.distance[vertex as usize] + self.base + weight;
                    let target = edge.target as usize;
                    if tentative < self.distance[target] {
                        if self.distance[target] == u64::MAX {
                            let node = self.graph.node(edge.target);
                            let end = edge.link == RoutingEdge::NO_LINK && self.wanted[node as usize];
                            missing -= usize::from(end);
                            next.push(edge.target);
                        }
                        self.distance[target] = tentative;
                        self.parent[target] = (vertex, edge.link);
                    }
                }
            }
            level = next;
        }
    }
}
