use super::choices::Pair;
use super::{Choices, System};
use crate::fabric::{LinkId, NodeId, walk};
use crate::routing::RoutingGraph;

/// Which of a pair's routes the search of angara-routing-2021, Algorithm 4, prefers among equal ones.
///
/// The search relaxes the edges of one level after the other, and a vertex keeps the first of its
/// cheapest parents. Vertices are met in the same order whatever the weights are, so that among
/// cheapest routes the one wins whose last vertex was met first, then the one before it, and so on.
pub(crate) struct TieBreak {
    /// Numbers of routes, the preferred first; beside the lists of the choices, or one list per pair.
    order: Vec<u16>,
    /// Start of every pair's own list; empty if the lists of the choices are used.
    own: Vec<u32>,
}

impl TieBreak {
    /// The preferences of all pairs with a choice.
    pub(crate) fn new(system: &System, choices: &Choices) -> Self {
        let graph = RoutingGraph::new(system.fabric(), system.rules(), system.turns());
        let mut met = Order { graph: &graph, source: NodeId::MAX, number: Vec::new() };
        let mut ties = Self { order: Vec::new(), own: Vec::new() };
        if choices.uniform {
            ties.order = vec![u16::MAX; choices.list_entries()];
        }
        for pair in &choices.pairs {
            let start = choices.list(pair) as usize;
            if choices.uniform && ties.order[start] != u16::MAX {
                continue;
            }
            met.start(pair.source);
            let mut ordered: Vec<(Vec<u32>, u16)> = (0..pair.count)
                .map(|choice| {
                    let links: Vec<LinkId> = system.links(pair.source, choices.walk(pair, choice)).collect();
                    (met.key(&links), choice)
                })
                .collect();
            ordered.sort_unstable();
            let ordered = ordered.into_iter().map(|(_, choice)| choice);
            if choices.uniform {
                ties.order.splice(start..start + usize::from(pair.count), ordered);
            } else {
                ties.own.push(ties.order.len() as u32);
                ties.order.extend(ordered);
            }
        }
        ties
    }

    /// The numbers of a pair's routes, the preferred first.
    pub(crate) fn order(&self, number: u32, pair: &Pair, choices: &Choices) -> &[u16] {
        let start = self.own.get(number as usize).copied().unwrap_or(choices.list(pair)) as usize;
        &self.order[start..start + usize::from(pair.count)]
    }
}

/// The order in which a search from one source meets the vertices of the routing graph.
struct Order<'a> {
    graph: &'a RoutingGraph,
    source: NodeId,
    number: Vec<u32>,
}

impl Order<'_> {
    fn start(&mut self, source: NodeId) {
        if self.source == source {
            return;
        }
        self.source = source;
        self.number.clear();
        self.number.resize(self.graph.vertices(), u32::MAX);
        let begin = self.graph.begin(source);
        self.number[begin as usize] = 0;
        let mut met = 0;
        let next = |vertex| self.graph.edges(vertex).iter().map(|edge| edge.target);
        walk::met(begin, next, |_, there| {
            let new = self.number[there as usize] == u32::MAX;
            if new {
                met += 1;
                self.number[there as usize] = met;
            }
            new
        });
    }

    /// Numbers of the vertices of a walk from its end to its begin; of several paths of the walk, those
    /// of the preferred one.
    fn key(&self, links: &[LinkId]) -> Vec<u32> {
        // Vertices of each level with those they can come from.
        let mut levels: Vec<Vec<(u32, Vec<u32>)>> = vec![vec![(self.graph.begin(self.source), Vec::new())]];
        for &link in links {
            let mut level: Vec<(u32, Vec<u32>)> = Vec::new();
            for &(vertex, _) in levels.last().into_iter().flatten() {
                for edge in self.graph.edges(vertex).iter().filter(|edge| edge.link == link) {
                    match level.iter_mut().find(|(target, _)| *target == edge.target) {
                        Some((_, parents)) => parents.push(vertex),
                        None => level.push((edge.target, vec![vertex])),
                    }
                }
            }
            levels.push(level);
        }
        let mut key = Vec::with_capacity(levels.len());
        let mut allowed: Option<Vec<u32>> = None;
        for level in levels.iter().rev() {
            let known = |vertex: &u32| allowed.as_ref().is_none_or(|allowed| allowed.contains(vertex));
            let best = level
                .iter()
                .filter(|(vertex, _)| known(vertex))
                .min_by_key(|entry| self.number[entry.0 as usize]);
            let Some((vertex, parents)) = best else { break };
            key.push(self.number[*vertex as usize]);
            allowed = Some(parents.clone());
        }
        key
    }
}
