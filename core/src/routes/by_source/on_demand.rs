use super::{Choices, KeepGoing, System, TableError, share};
use crate::fabric::{Direction, Fabric, LinkId, NodeId};
use crate::routing::{
    DependencyGraph, Flow, Route, Rules, TurnPolicy, TurnSet, candidate_routes, route_links,
};
use crate::traffic::{Purpose, draw};
use std::collections::HashSet;

named! {
    /// How far the rules are used to get around failures.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Regime {
        /// No first and last steps.
        Plain = "plain",
        /// First and last steps with the turns of the published rule.
        DirectionSets = "direction-sets",
        /// First and last steps with every turn that can never be part of a cycle.
        ClosedForm = "closed-form",
        /// These and further turns, one after the other, that an exact test admits.
        Exact = "exact",
        /// Further turns where a pair needs them and an exact test admits them.
        OnDemand = "on-demand",
    }
}

/// The pairs of working nodes that a regime leaves without a legal deadlock-free route.
///
/// # Errors
/// There are too many nodes, or `keep_going` stopped the work.
pub fn serves(
    fabric: &Fabric,
    rules: &Rules,
    regime: Regime,
    keep_going: KeepGoing<'_>,
) -> Result<Vec<(NodeId, NodeId)>, TableError> {
    let mut under = |rules: Rules, policy| {
        let system = System::new(fabric.clone(), rules, policy)?;
        Ok(Choices::found(&system, keep_going)?.unserved().to_vec())
    };
    match regime {
        Regime::Plain => under(rules.clone().without_steps(), TurnPolicy::None),
        Regime::DirectionSets => under(rules.clone(), TurnPolicy::DirectionSets),
        Regime::ClosedForm => under(rules.clone(), TurnPolicy::ClosedForm),
        Regime::Exact => under(rules.clone(), TurnPolicy::Exact),
        Regime::OnDemand => on_demand_while(fabric, rules, keep_going).map(|(_, unserved)| unserved),
    }
}

/// Rounds of turns on demand; in each, pairs that were left out before go first.
const ROUNDS: u32 = 40;
/// Rounds in which every route is chosen anew.
const CHOSEN_ROUNDS: u32 = 12;
/// Systems with more nodes keep all turns in the order of directions.
const CHOSEN_NODES: usize = 256;

/// A system whose turns serve as many pairs as possible, and the pairs it still leaves out.
///
/// Starts from the turns that can never be part of a cycle; each pair without a route then gets the
/// turns of its shortest candidate route that an exact reachability test admits. Pairs left out go
/// first in the next round.
///
/// Where that leaves pairs out, on up to 256 nodes, the test is about the dependencies that are used:
/// pairs choose routes one after the other, those left out first, each the shortest that closes no
/// cycle with the routes before it, and turns that then could close one are withheld, also in the order
/// of directions.
///
/// # Errors
/// There are too many nodes.
///
/// ```
/// use flitloom_core::{fabric::{Fabric, Shape}, routing::Rules, routes::by_source::on_demand};
/// let mut fabric = Fabric::new(Shape::torus(&[4, 2, 2, 2])?);
/// fabric.fail_node(3)?;
/// let (_, unserved) = on_demand(&fabric, &Rules::angara(4))?;
/// assert!(unserved.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn on_demand(fabric: &Fabric, rules: &Rules) -> Result<(System, Vec<(NodeId, NodeId)>), TableError> {
    on_demand_while(fabric, rules, &mut |_| true)
}

/// As [`on_demand`]; `keep_going` is told the fraction done and stops the work by returning false.
///
/// # Errors
/// There are too many nodes, or the work was stopped.
pub fn on_demand_while(
    fabric: &Fabric,
    rules: &Rules,
    keep_going: KeepGoing<'_>,
) -> Result<(System, Vec<(NodeId, NodeId)>), TableError> {
    let system = System::new(fabric.clone(), rules.clone(), TurnPolicy::ClosedForm)?;
    // Without failures the ordered route of every pair is legal.
    let healthy = fabric.is_healthy();
    let mut order = if healthy {
        Vec::new()
    } else {
        Choices::found(&system, &mut share(keep_going, 0.0, 0.8))?.unserved().to_vec()
    };
    if order.is_empty() {
        return Ok((system, order));
    }
    let all = TurnSet::all_same_sign(fabric, rules);
    let mut best = (system.turns().clone(), order.clone());
    for round in 0..ROUNDS {
        let mut turns = system.turns().clone();
        let mut graph = DependencyGraph::of_rules(fabric, rules, &turns);
        let (mut left, mut served) = (Vec::new(), Vec::new());
        for &pair in &order {
            if !keep_going(0.8 + 0.1 * f64::from(round) / f64::from(ROUNDS)) {
                return Err(TableError::Interrupted);
            }
            let way = serve(fabric, rules, &all, &mut turns, &mut graph, pair);
            if way { served.push(pair) } else { left.push(pair) }
        }
        let done = left.is_empty();
        if left.len() < best.1.len() {
            best = (turns, left.clone());
        }
        if done {
            break;
        }
        // The others follow in an order of their own each round.
        served.sort_by_cached_key(|&(a, b)| draw(u64::from(round), a, Purpose::Table, b.into()));
        order = left.into_iter().chain(served).collect();
    }
    let (mut turns, mut left) = best;
    if !left.is_empty() && system.nodes() <= CHOSEN_NODES && rules.flow() == Flow::Bubble {
        let (chosen, still) = chosen_routes(&system, &all, &left, &mut share(keep_going, 0.9, 1.0))?;
        if still.len() < left.len() {
            (turns, left) = (chosen, still);
        }
    }
    Ok((System::with_turns(fabric.clone(), rules.clone(), turns)?, left))
}

/// Chooses a route for every pair so that the dependencies of all chosen routes close no cycle; returns
/// the turns that may be taken together with them, and the pairs left out.
fn chosen_routes(
    system: &System,
    all: &TurnSet,
    hard: &[(NodeId, NodeId)],
    keep_going: KeepGoing<'_>,
) -> Result<(TurnSet, Vec<(NodeId, NodeId)>), TableError> {
    let (fabric, rules) = (system.fabric(), system.rules());
    let works = || (0..system.nodes() as NodeId).filter(|&node| fabric.node_works(node));
    let pairs = works().flat_map(|a| works().filter(move |&b| b != a).map(move |b| (a, b)));
    let candidates: Vec<((NodeId, NodeId), Vec<Turns>)> = pairs
        .map(|(a, b)| {
            let found = candidate_routes(fabric, rules, all, a, b);
            ((a, b), found.iter().map(|(route, _)| turns_of(fabric, rules, a, route)).collect())
        })
        // Pairs that no turns can help are left out anyway.
        .filter(|(_, ways): &(_, Vec<Turns>)| !ways.is_empty())
        .collect();
    let hopeless =
        hard.iter().copied().filter(|&(a, b)| candidate_routes(fabric, rules, all, a, b).is_empty());
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // Stable: the hard pairs first.
    let hardest: HashSet<(NodeId, NodeId)> = hard.iter().copied().collect();
    order.sort_by_key(|&index| !hardest.contains(&candidates[index].0));
    let mut best: Option<(DependencyGraph, Vec<usize>)> = None;
    for round in 0..CHOSEN_ROUNDS {
        let mut graph = straight(fabric);
        let mut left = Vec::new();
        let mut served = Vec::new();
        for &index in &order {
            if !keep_going(f64::from(round) / f64::from(CHOSEN_ROUNDS)) {
                return Err(TableError::Interrupted);
            }
            let way = candidates[index].1.iter().any(|turns| admit(&mut graph, turns));
            if way { served.push(index) } else { left.push(index) }
        }
        if best.as_ref().is_none_or(|(_, least)| left.len() < least.len()) {
            best = Some((graph, left.clone()));
        }
        if left.is_empty() {
            break;
        }
        order = left.into_iter().chain(served).collect();
    }
    let Some((mut graph, left)) = best else { return Ok((system.turns().clone(), hard.to_vec())) };
    let mut turns = TurnSet::none(fabric);
    // Whatever closes no cycle stays permitted, for the sake of balance.
    for link in fabric.working_links() {
        let (node, along) = fabric.link_ends(link);
        let Some(here) = fabric.working_neighbour(node, along) else { continue };
        for &out in rules.order() {
            if out == along || out == along.opposite() || !fabric.link_works(here, out) {
                continue;
            }
            let ordered = rules.rank(along) < rules.rank(out);
            if !ordered && !all.contains(link, out) {
                continue;
            }
            match (admit(&mut graph, &[(link, out)]), ordered) {
                (true, false) => turns.insert(link, out),
                (false, true) => turns.withhold(link, out),
                _ => {}
            }
        }
    }
    let mut unserved: Vec<_> = left.into_iter().map(|index| candidates[index].0).chain(hopeless).collect();
    unserved.sort_unstable();
    Ok((turns, unserved))
}

/// The turns of a route as (link, direction out).
type Turns = Vec<(LinkId, Direction)>;

fn turns_of(fabric: &Fabric, rules: &Rules, source: NodeId, route: &Route) -> Turns {
    let hops: Vec<Direction> = route.directions(rules).collect();
    let links = route_links(fabric, source, hops.iter().copied()).map_or_else(Vec::new, |walk| walk.0);
    links
        .iter()
        .zip(hops.windows(2))
        .filter(|(_, hop)| hop[0] != hop[1])
        .map(|(&link, hop)| (link, hop[1]))
        .collect()
}

/// The dependencies within rings alone.
fn straight(fabric: &Fabric) -> DependencyGraph {
    let mut graph = DependencyGraph::new(fabric, 1);
    for link in fabric.working_links() {
        let (node, along) = fabric.link_ends(link);
        if fabric.working_neighbour(node, along).is_some_and(|here| fabric.link_works(here, along)) {
            graph.insert(link, 0, along, 0);
        }
    }
    graph
}

/// Adds turns to the dependencies unless one of them would close a cycle; says whether they are in.
fn admit(graph: &mut DependencyGraph, turns: &[(LinkId, Direction)]) -> bool {
    graph.try_insert_all(turns.iter().map(|&(link, out)| (link, 0, out, 0)))
}

/// Admits the turns of one of a pair's candidate routes; says whether the pair is served.
fn serve(
    fabric: &Fabric,
    rules: &Rules,
    all: &TurnSet,
    turns: &mut TurnSet,
    graph: &mut DependencyGraph,
    (source, destination): (NodeId, NodeId),
) -> bool {
    candidate_routes(fabric, rules, all, source, destination).iter().any(|(_, needed)| {
        let mut added: Vec<(LinkId, Direction)> = Vec::new();
        for &(link, out) in
            needed.iter().filter(|&&(link, out)| !turns.contains(link, out)).collect::<Vec<_>>()
        {
            if !turns.try_insert(graph, link, out) {
                for (link, out) in added {
                    turns.remove(link, out);
                    graph.remove(link, 0, out, 0);
                }
                return false;
            }
            added.push((link, out));
        }
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routes::failures::without;
    use proptest::prelude::*;

    fn served(fabric: impl Iterator<Item = Fabric>, regime: Regime) -> (usize, usize) {
        let all: Vec<Fabric> = fabric.collect();
        let rules = Rules::angara(all[0].shape().dimensions());
        (
            all.iter()
                .filter(|fabric| serves(fabric, &rules, regime, &mut |_| true).unwrap().is_empty())
                .count(),
            all.len(),
        )
    }

    #[test]
    fn single_failures_of_the_desmos_torus() {
        let healthy = Fabric::new(Shape::torus(&[4, 2, 2, 2]).unwrap());
        let nodes = || (0..32).map(|node| without(&healthy, &[node]));
        assert_eq!(served(nodes(), Regime::Plain), (4, 32));
        assert_eq!(served(nodes(), Regime::DirectionSets), (29, 32));
        assert_eq!(served(nodes(), Regime::ClosedForm), (32, 32));
        let cables = || {
            healthy.working_links().filter_map(|link| {
                let (a, direction) = healthy.link_ends(link);
                let b = healthy.working_neighbour(a, direction)?;
                let mut broken = healthy.clone();
                (direction.index() % 2 == 0).then(|| broken.fail_cable(a, b).map(|()| broken).unwrap())
            })
        };
        assert_eq!(served(cables(), Regime::Plain), (32, 80));
        assert_eq!(served(cables(), Regime::ClosedForm), (80, 80));
    }

    #[test]
    fn diagonal_failures_need_other_turns_withheld() {
        // Two nodes that are neighbours of the same two: turns alone serve all but 12 pairs.
        let healthy = Fabric::new(Shape::torus(&[8, 8]).unwrap());
        let fabric = without(&healthy, &[5 + 8, 4 + 2 * 8]);
        let rules = Rules::angara(2);
        let (system, left) = on_demand(&fabric, &rules).unwrap();
        assert_eq!(left, []);
        assert!(system.turns().withheld().count() > 0);
        let graph = DependencyGraph::of_rules(&fabric, &rules, system.turns());
        assert!(graph.order(true).is_ok());
        assert_eq!(Choices::found(&system, &mut |_| true).unwrap().unserved(), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn turns_on_demand_never_deadlock_and_never_serve_less(
            sizes in prop::collection::vec(2_u32..=5, 2..=3),
            failed in prop::collection::vec(0_u32..1000, 1..4),
        ) {
            let healthy = Fabric::new(Shape::torus(&sizes).unwrap());
            let failed: Vec<u32> = failed.into_iter().map(|node| node % healthy.shape().nodes() as u32).collect();
            let fabric = without(&healthy, &failed);
            let rules = Rules::angara(sizes.len());
            let (system, left) = on_demand(&fabric, &rules).unwrap();
            let graph = DependencyGraph::of_rules(&fabric, &rules, system.turns());
            prop_assert!(graph.order(true).is_ok());
            let before = serves(&fabric, &rules, Regime::ClosedForm, &mut |_| true).unwrap();
            prop_assert!(left.len() <= before.len());
            let now = Choices::found(&system, &mut |_| true).unwrap();
            prop_assert!(now.unserved().len() <= left.len());
        }
    }
}
