use super::{Route, Rules, TurnSet};
use crate::fabric::{Direction, Fabric, LinkId, MAX_DIMENSIONS, NodeId};

/// The links of a walk, or `None` if it leaves the working fabric.
pub fn route_links(
    fabric: &Fabric,
    source: NodeId,
    directions: impl Iterator<Item = Direction>,
) -> Option<(Vec<LinkId>, NodeId)> {
    let mut here = source;
    let mut links = Vec::new();
    for direction in directions {
        links.push(fabric.link(here, direction));
        here = fabric.working_neighbour(here, direction)?;
    }
    Some((links, here))
}

/// All legal routes of least length between two different nodes, each once; empty if there is none.
///
/// A legal route is a first step or none, a sign per dimension, and a last step or none, so that at
/// most `(n+1)^2 2^n` candidates exist; turns of the steps against the order of directions have to
/// be in `turns`. "Least" is among legal routes over working links; around failures that can be
/// more than the distance.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{Rules, TurnPolicy, TurnSet, legal_routes};
/// let fabric = Fabric::new(Shape::torus(&[4, 2])?);
/// let rules = Rules::angara(2);
/// let turns = TurnSet::of(TurnPolicy::ClosedForm, &fabric, &rules);
/// // From (0,0) to (2,1): +x2 +y, +y +x2, or with -x: +y -x2.
/// assert_eq!(legal_routes(&fabric, &rules, &turns, 0, 6).len(), 3);
/// assert_eq!(legal_routes(&fabric, &rules.clone().without_steps(), &turns, 0, 6).len(), 2);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn legal_routes(
    fabric: &Fabric,
    rules: &Rules,
    turns: &TurnSet,
    source: NodeId,
    destination: NodeId,
) -> Vec<Route> {
    search(fabric, rules, turns, source, destination, false)
}

/// A route and the turns against the order that it needs.
pub type Candidate = (Route, Vec<(LinkId, Direction)>);

/// All routes between two different nodes that use only the given turns against the order, of any
/// length, shortest and with the fewest such turns first.
pub fn candidate_routes(
    fabric: &Fabric,
    rules: &Rules,
    turns: &TurnSet,
    source: NodeId,
    destination: NodeId,
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = search(fabric, rules, turns, source, destination, true)
        .into_iter()
        .map(|route| {
            let hops: Vec<Direction> = route.directions(rules).collect();
            let links =
                route_links(fabric, source, hops.iter().copied()).map_or_else(Vec::new, |walk| walk.0);
            let against = |&index: &usize| rules.rank(hops[index]) > rules.rank(hops[index + 1]);
            let needed =
                (0..hops.len() - 1).filter(against).map(|index| (links[index], hops[index + 1])).collect();
            (route, needed)
        })
        .collect();
    candidates.sort_by_key(|(route, needed)| (route.length(), needed.len()));
    candidates
}

fn search(
    fabric: &Fabric,
    rules: &Rules,
    turns: &TurnSet,
    source: NodeId,
    destination: NodeId,
    every_length: bool,
) -> Vec<Route> {
    if source == destination || !fabric.node_works(source) || !fabric.node_works(destination) {
        return Vec::new();
    }
    let steps = |steps: &[Direction]| -> Vec<Option<Direction>> {
        std::iter::once(None).chain(steps.iter().copied().map(Some)).collect()
    };
    let (firsts, lasts) = (steps(rules.first_steps()), steps(rules.last_steps()));
    let mut search = Search {
        fabric,
        rules,
        turns,
        source,
        every_length,
        best: u32::MAX,
        found: Vec::new(),
        walks: Vec::new(),
    };
    for &first in &firsts {
        let Some(from) = step_from(fabric, source, first) else { continue };
        for &last in &lasts {
            // The last step goes from the neighbour against it into the destination.
            let back = last.map(Direction::opposite);
            let Some(to) = step_from(fabric, destination, back) else { continue };
            if last.is_some_and(|last| !fabric.link_works(to, last)) {
                continue;
            }
            search.middles(first, last, from, to);
        }
    }
    search.found
}

fn step_from(fabric: &Fabric, node: NodeId, step: Option<Direction>) -> Option<NodeId> {
    step.map_or(Some(node), |direction| {
        fabric.shape().neighbour(node, direction).filter(|&other| fabric.node_works(other))
    })
}

struct Search<'a> {
    fabric: &'a Fabric,
    rules: &'a Rules,
    turns: &'a TurnSet,
    source: NodeId,
    every_length: bool,
    best: u32,
    found: Vec<Route>,
    walks: Vec<Vec<Direction>>,
}

impl Search<'_> {
    /// Tries every choice of signs between the two steps.
    fn middles(&mut self, first: Option<Direction>, last: Option<Direction>, from: NodeId, to: NodeId) {
        let shape = self.fabric.shape();
        let mut ahead = [0_i32; MAX_DIMENSIONS];
        let mut free = Vec::new();
        for (dimension, ahead) in ahead.iter_mut().enumerate().take(shape.dimensions()) {
            let gap = shape.coordinate(to, dimension) as i32 - shape.coordinate(from, dimension) as i32;
            *ahead = gap;
            if gap != 0 && shape.wraps(dimension) {
                free.push(dimension);
                *ahead = gap.rem_euclid(shape.size(dimension) as i32);
            }
        }
        for signs in 0..1_u32 << free.len() {
            let mut route = Route { first, hops: ahead, last };
            for (bit, &dimension) in free.iter().enumerate() {
                if signs >> bit & 1 == 1 {
                    route.hops[dimension] -= shape.size(dimension) as i32;
                }
            }
            if route.length() <= self.best {
                self.consider(route);
            }
        }
    }

    fn consider(&mut self, route: Route) {
        let walk: Vec<Direction> = route.directions(self.rules).collect();
        let middle =
            &walk[usize::from(route.first.is_some())..walk.len() - usize::from(route.last.is_some())];
        // A step that repeats its neighbour in the middle is that middle, one hop longer.
        let repeats = middle.is_empty()
            || route.first.is_some_and(|first| first == middle[0])
            || route.last.is_some_and(|last| last == middle[middle.len() - 1]);
        if repeats && (route.first.is_some() || route.last.is_some()) || !self.walkable(&walk) {
            return;
        }
        if !self.every_length && (walk.len() as u32) < self.best {
            self.best = walk.len() as u32;
            self.found.clear();
            self.walks.clear();
        }
        if !self.walks.contains(&walk) {
            self.walks.push(walk);
            self.found.push(route);
        }
    }

    /// Whether all links work and every turn against the order is permitted.
    fn walkable(&self, walk: &[Direction]) -> bool {
        let mut here = self.source;
        let mut arrived: Option<(NodeId, Direction)> = None;
        for &direction in walk {
            if let Some((before, along)) = arrived {
                let link = self.fabric.link(before, along);
                if along == direction.opposite() || !self.turns.permits(self.rules, link, along, direction) {
                    return false;
                }
            }
            let Some(next) = self.fabric.working_neighbour(here, direction) else { return false };
            arrived = Some((here, direction));
            here = next;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routing::{RoutingGraph, TurnPolicy};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn agrees_with_the_routing_graph(
            sizes in prop::collection::vec(2_u32..=5, 1..=4).prop_filter("small", |sizes| sizes.iter().product::<u32>() <= 60),
            failed in prop::collection::vec((any::<bool>(), 0_u32..1000), 0..4),
            policy in 0_usize..4,
            angara in any::<bool>(),
        ) {
            let n = sizes.len();
            let mut fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            for (node, index) in failed {
                if node {
                    fabric.fail_node(index % fabric.shape().nodes() as u32).unwrap();
                } else {
                    let (a, direction) = fabric.link_ends(index % (fabric.shape().nodes() * 2 * n) as u32);
                    if let Some(b) = fabric.shape().neighbour(a, direction) {
                        fabric.fail_cable(a, b).unwrap();
                    }
                }
            }
            let rules = if angara { Rules::angara(n) } else { Rules::dimension_order(n) };
            let turns = TurnSet::of(TurnPolicy::NAMES[policy].1, &fabric, &rules);
            let graph = RoutingGraph::new(&fabric, &rules, &turns);
            for source in (0..fabric.shape().nodes() as NodeId).filter(|&node| fabric.node_works(node)) {
                let distances = graph.distances(source);
                for destination in (0..fabric.shape().nodes() as NodeId).filter(|&node| node != source) {
                    let routes = legal_routes(&fabric, &rules, &turns, source, destination);
                    let length = routes.first().map(Route::length);
                    prop_assert_eq!(length, distances[destination as usize]);
                    let walks = length.map_or(0, |length| graph.walks(source, destination, length));
                    prop_assert_eq!(routes.len(), walks, "{} to {}", source, destination);
                    for route in &routes {
                        let (_, end) = route_links(&fabric, source, route.directions(&rules)).unwrap();
                        prop_assert_eq!(end, destination);
                        let hops: Vec<_> = route.directions(&rules).collect();
                        prop_assert_eq!(rules.violation(&hops), None);
                    }
                }
            }
        }
    }
}
