use super::{BySource, Method};
use crate::fabric::NodeId;
use crate::routes::by_source::{Choices, KeepGoing, Made, NO_ROUTE, System, TableError, TieBreak, share};
use std::collections::BTreeMap;

pub(super) const METHOD: Method = Method {
    by_source: Some(BySource {
        headers: |system, request, keep_going| {
            let traffic = request.traffic.as_deref();
            Ok(headers(system, traffic, request.unique_first, None, keep_going)?
                .unwrap_or_else(|| Vec::new().into()))
        },
        searches: true,
    }),
    ..Method::any("sssp", "single-source shortest paths (angara-routing-2021, Algorithms 3 and 4)")
};

/// When the generator may give up: its table is then certainly worse than one that is known.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// Largest load of the known table.
    pub max_load: u64,
    /// Prices of the links.
    pub prices: Vec<u64>,
    /// Cost of every pair on its cheapest route at these prices.
    pub cheapest: u128,
}

impl Limit {
    /// By how much the cost may exceed that of cheapest routes before the average at the prices, and so
    /// some load, is above the largest load.
    fn slack(&self) -> u128 {
        let sum: u128 = self.prices.iter().map(|&price| u128::from(price)).sum();
        (u128::from(self.max_load) * sum).saturating_sub(self.cheapest)
    }
}

/// The shortest-path generator (angara-routing-2021, Algorithms 3 and 4): unique routes first, then
/// groups of pairs by turns, length and source, each routed over the links least loaded so far.
///
/// `unique` leaves the first stage out when false, for Figure 4. Nodes come in the order of their
/// coordinates, edges of the routing graph in the order in which the paper lists them. The search in
/// the routing graph finds the cheapest of a pair's shortest legal routes; here these are listed once,
/// in the order in which that search prefers them, and compared.
///
/// `None` if some link is bound to get more than the limit.
pub(super) fn headers(
    system: &System,
    traffic: Option<&[u64]>,
    unique: bool,
    limit: Option<&Limit>,
    keep_going: KeepGoing<'_>,
) -> Result<Option<Made>, TableError> {
    let mut builder = Builder::new(system, traffic, limit, &mut share(keep_going, 0.0, 0.0))?;
    let groups = builder.groups(unique, keep_going)?;
    let total = groups.len() as f64;
    for (done, mut waiting) in groups.into_values().enumerate() {
        waiting.sort_by_key(|demand| builder.place[demand.destination as usize]);
        while !waiting.is_empty() {
            if !keep_going(done as f64 / total) {
                return Err(TableError::Interrupted);
            }
            builder.build(&mut waiting);
        }
        if builder.hopeless() {
            return Ok(None);
        }
    }
    Ok(Some(Made { headers: builder.headers, bound: None, calls: Some(builder.calls) }))
}

/// A pair that waits for its route.
#[derive(Clone, Copy)]
struct Demand {
    source: NodeId,
    destination: NodeId,
    /// Its number among the pairs with a choice; [`NO_CHOICE`] if it has none.
    number: u32,
}

const NO_CHOICE: u32 = u32::MAX;
/// Pairs between two looks at whether to go on.
const LOOK: usize = 1 << 14;

/// Pairs by turns, length and place of the source.
type Groups = BTreeMap<(usize, usize, u32), Vec<Demand>>;

struct Builder<'a> {
    system: &'a System,
    traffic: Option<&'a [u64]>,
    limit: Option<&'a Limit>,
    choices: Choices,
    ties: TieBreak,
    /// Place of every node in the order of coordinates, the first dimension most significant.
    place: Vec<u32>,
    headers: Vec<u32>,
    loads: Vec<u64>,
    /// Number of the call in which each link was last taken.
    taken: Vec<u64>,
    calls: u64,
    /// Cost at the prices of the limit above that of cheapest routes.
    excess: u128,
    slack: u128,
    largest: u64,
}

impl<'a> Builder<'a> {
    fn new(
        system: &'a System,
        traffic: Option<&'a [u64]>,
        limit: Option<&'a Limit>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Self, TableError> {
        let choices = Choices::found(system, keep_going)?.all_served()?;
        let ties = TieBreak::new(system, &choices);
        let shape = system.fabric().shape();
        let nodes = system.nodes();
        let mut place = vec![0; nodes];
        for (number, node) in (0..).zip(shape.nodes_by_coordinates()) {
            place[node as usize] = number;
        }
        let links = nodes * shape.directions();
        Ok(Self {
            system,
            traffic,
            limit,
            choices,
            ties,
            place,
            headers: vec![NO_ROUTE; nodes * nodes],
            loads: vec![0; links],
            taken: vec![0; links],
            calls: 0,
            excess: 0,
            slack: limit.map_or(0, Limit::slack),
            largest: 0,
        })
    }

    /// Routes pairs without a choice if they come first, and groups all others.
    fn groups(&mut self, unique: bool, keep_going: KeepGoing<'_>) -> Result<Groups, TableError> {
        let nodes = self.system.nodes();
        let mut groups = Groups::new();
        for index in 0..self.choices.headers.len() {
            let header = self.choices.headers[index];
            if index.is_multiple_of(LOOK) && !keep_going(0.0) {
                return Err(TableError::Interrupted);
            }
            if header == NO_ROUTE {
                continue;
            }
            let (source, destination) = ((index / nodes) as NodeId, (index % nodes) as NodeId);
            let demand = Demand { source, destination, number: NO_CHOICE };
            let walk = self.walk(demand, 0);
            if unique {
                self.apply(demand, &walk, header);
            } else {
                let key = (turns(&walk), walk.len(), self.place[source as usize]);
                groups.entry(key).or_default().push(demand);
            }
        }
        for (number, pair) in (0..).zip(&self.choices.pairs) {
            if (number as usize).is_multiple_of(LOOK) && !keep_going(0.0) {
                return Err(TableError::Interrupted);
            }
            let walks = || (0..pair.count).map(|choice| self.choices.walk(pair, choice));
            let least = walks().map(turns).min().unwrap_or(0);
            let key = (least, self.choices.walk(pair, 0).len(), self.place[pair.source as usize]);
            let demand = Demand { source: pair.source, destination: pair.destination, number };
            groups.entry(key).or_default().push(demand);
        }
        Ok(groups)
    }

    /// One call of `BUILD_SSSP`: finds the cheapest route of every waiting pair of a group, and applies
    /// a greedy set of those that share no channel; the others go on waiting.
    fn build(&mut self, waiting: &mut Vec<Demand>) {
        self.calls += 1;
        let found: Vec<u16> = waiting.iter().map(|&demand| self.cheapest(demand)).collect();
        let mut found = found.into_iter();
        waiting.retain(|&demand| {
            let Some(choice) = found.next() else { return true };
            let walk = self.walk(demand, choice);
            if self.system.links(demand.source, &walk).any(|link| self.taken[link as usize] == self.calls) {
                return true;
            }
            for link in self.system.links(demand.source, &walk) {
                self.taken[link as usize] = self.calls;
            }
            let header = match self.choices.pairs.get(demand.number as usize) {
                Some(pair) => self.choices.header(pair, choice),
                None => self.choices.headers[self.index(demand)],
            };
            self.apply(demand, &walk, header);
            false
        });
    }

    /// The number of a pair's cheapest route, the one that the search meets first among equals.
    fn cheapest(&self, demand: Demand) -> u16 {
        let Some(pair) = self.choices.pairs.get(demand.number as usize) else { return 0 };
        let cost = |choice: u16| -> u64 {
            let links = self.system.links(pair.source, self.choices.walk(pair, choice));
            links.map(|link| self.loads[link as usize]).sum()
        };
        let order = self.ties.order(demand.number, pair, &self.choices);
        order.iter().copied().min_by_key(|&choice| cost(choice)).unwrap_or(0)
    }

    fn walk(&self, demand: Demand, choice: u16) -> Vec<u8> {
        match self.choices.pairs.get(demand.number as usize) {
            Some(pair) => self.choices.walk(pair, choice).to_vec(),
            None => {
                let header = self.choices.headers[self.index(demand)];
                self.system.walk(header).map(|hop| hop.index() as u8).collect()
            }
        }
    }

    fn index(&self, demand: Demand) -> usize {
        demand.source as usize * self.system.nodes() + demand.destination as usize
    }

    fn apply(&mut self, demand: Demand, walk: &[u8], header: u32) {
        let index = self.index(demand);
        let weight = self.traffic.map_or(1, |traffic| traffic[index]);
        self.headers[index] = header;
        for link in self.system.links(demand.source, walk) {
            self.loads[link as usize] += weight;
            self.largest = self.largest.max(self.loads[link as usize]);
        }
        let (Some(limit), Some(pair)) = (self.limit, self.choices.pairs.get(demand.number as usize)) else {
            return;
        };
        let price = |walk: &[u8]| -> u64 {
            self.system.links(demand.source, walk).map(|link| limit.prices[link as usize]).sum()
        };
        let least = (0..pair.count).map(|choice| price(self.choices.walk(pair, choice))).min().unwrap_or(0);
        self.excess += u128::from(price(walk) - least) * u128::from(weight);
    }

    /// Whether the table is bound to load some link with more than the limit: one already has more, or
    /// cheapest routes for all that wait would leave too high an average.
    fn hopeless(&self) -> bool {
        self.limit.is_some_and(|limit| self.largest > limit.max_load || self.excess > self.slack)
    }
}

fn turns(walk: &[u8]) -> usize {
    walk.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Direction, Fabric, LinkId, Shape};
    use crate::routes::by_source::{Quality, on_demand};
    use crate::routing::{RoutingEdge, RoutingGraph, Rules};
    use proptest::prelude::*;

    /// Algorithm 4 word for word, in the routing graph: the links of the route to every destination.
    fn build_sssp(
        graph: &RoutingGraph,
        base: u64,
        loads: &[u64],
        source: NodeId,
        wanted: &[NodeId],
    ) -> Vec<Vec<LinkId>> {
        let mut distance = vec![u64::MAX; graph.vertices()];
        let mut parent = vec![(u32::MAX, RoutingEdge::NO_LINK); graph.vertices()];
        distance[graph.begin(source) as usize] = 0;
        let (mut level, mut processed) = (vec![graph.begin(source)], 0);
        while !level.is_empty() && processed < wanted.len() {
            let mut next = Vec::new();
            for &vertex in &level {
                for edge in graph.edges(vertex) {
                    let end = edge.link == RoutingEdge::NO_LINK;
                    let weight = base + if end { 0 } else { loads[edge.link as usize] };
                    let tentative = distance[vertex as usize] + weight;
                    if tentative < distance[edge.target as usize] {
                        if distance[edge.target as usize] == u64::MAX {
                            processed += usize::from(end && wanted.contains(&graph.node(edge.target)));
                            next.push(edge.target);
                        }
                        distance[edge.target as usize] = tentative;
                        parent[edge.target as usize] = (vertex, edge.link);
                    }
                }
            }
            level = next;
        }
        let route = |&to: &NodeId| {
            let (mut links, mut vertex) = (Vec::new(), graph.end(to));
            while vertex != graph.begin(source) {
                let (before, link) = parent[vertex as usize];
                links.extend((link != RoutingEdge::NO_LINK).then_some(link));
                vertex = before;
            }
            links.reverse();
            links
        };
        wanted.iter().map(route).collect()
    }

    fn damaged(sizes: &[u32], failed: &[(bool, u32)]) -> System {
        let mut fabric = Fabric::new(Shape::torus(sizes).unwrap());
        for &(node, index) in failed {
            let links = fabric.shape().nodes() * fabric.shape().directions();
            let (a, direction) = fabric.link_ends(index % links as u32);
            if node {
                fabric.fail_node(a).unwrap();
            } else if let Some(b) = fabric.shape().neighbour(a, direction) {
                fabric.fail_cable(a, b).unwrap();
            }
        }
        on_demand(&fabric, &Rules::angara(sizes.len())).unwrap().0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn finds_the_routes_of_the_search_in_the_routing_graph(
            sizes in prop::collection::vec(2_u32..=5, 1..=4)
                .prop_filter("small", |sizes| sizes.iter().product::<u32>() <= 48),
            failed in prop::collection::vec((any::<bool>(), 0_u32..1000), 0..3),
            unique in any::<bool>(),
        ) {
            let system = damaged(&sizes, &failed);
            let Ok(mut builder) = Builder::new(&system, None, None, &mut |_| true) else { return Ok(()) };
            let graph = RoutingGraph::new(system.fabric(), system.rules(), system.turns());
            let mut calls = 0;
            for mut waiting in builder.groups(unique, &mut |_| true).unwrap().into_values() {
                waiting.sort_by_key(|demand| builder.place[demand.destination as usize]);
                while !waiting.is_empty() {
                    let before = waiting.clone();
                    let wanted: Vec<NodeId> = waiting.iter().map(|demand| demand.destination).collect();
                    let expected = build_sssp(&graph, 1 << 32, &builder.loads, waiting[0].source, &wanted);
                    calls += 1;
                    builder.build(&mut waiting);
                    let mut taken: Vec<LinkId> = Vec::new();
                    for (demand, links) in before.iter().zip(&expected) {
                        // Greedy: applied if it crosses no route applied before it.
                        let applied = links.iter().all(|link| !taken.contains(link));
                        let header = builder.headers[builder.index(*demand)];
                        prop_assert_eq!(header != NO_ROUTE, applied);
                        if applied {
                            let walk: Vec<u8> = system.walk(header).map(|hop: Direction| hop.index() as u8).collect();
                            let found: Vec<LinkId> = system.links(demand.source, &walk).collect();
                            prop_assert_eq!(&found, links, "{} to {}", demand.source, demand.destination);
                            taken.extend(links);
                        }
                    }
                }
            }
            prop_assert_eq!(calls, builder.calls);
            let loads = Quality::of(&system, &builder.headers, None).loads;
            prop_assert_eq!(loads, builder.loads);
        }

        #[test]
        fn gives_up_only_when_it_is_worse(
            sizes in prop::collection::vec(2_u32..=5, 2..=3),
            failed in prop::collection::vec((any::<bool>(), 0_u32..1000), 0..3),
            prices in prop::collection::vec(0_u64..100, 1000),
            slack in 0_u64..6,
        ) {
            let system = damaged(&sizes, &failed);
            let choices = Choices::found(&system, &mut |_| true).unwrap();
            let Ok(choices) = choices.all_served() else { return Ok(()) };
            let Made { headers, .. } = headers(&system, None, true, None, &mut |_| true).unwrap().unwrap();
            let best = Quality::of(&system, &headers, None).max_load;
            let links = system.nodes() * system.fabric().shape().directions();
            let prices: Vec<u64> = (0..links).map(|link| prices[link % prices.len()]).collect();
            let cost = |source: NodeId, walk: &[u8]| -> u64 {
                system.links(source, walk).map(|link| prices[link as usize]).sum()
            };
            let mut cheapest = 0;
            for (index, &header) in choices.headers.iter().enumerate().filter(|entry| *entry.1 != NO_ROUTE) {
                let walk: Vec<u8> = system.walk(header).map(|hop| hop.index() as u8).collect();
                cheapest += u128::from(cost((index / system.nodes()) as NodeId, &walk));
            }
            for pair in &choices.pairs {
                let costs = (0..pair.count).map(|choice| cost(pair.source, choices.walk(pair, choice)));
                cheapest += u128::from(costs.min().unwrap());
            }
            let max_load = (best + 3).saturating_sub(slack);
            let limit = Limit { max_load, prices: prices.clone(), cheapest };
            let again = super::headers(&system, None, true, Some(&limit), &mut |_| true).unwrap();
            match again {
                None => prop_assert!(best > max_load),
                Some(same) => prop_assert_eq!(same.headers, headers),
            }
        }
    }
}
