use super::TableError;
use crate::fabric::{Fabric, NodeId};
use crate::routing::{Rules, TurnSet, candidate_routes};

/// The pairs of working nodes that some way to make tables leaves without a route under given rules.
pub type LeftOutUnder<'a> = dyn Fn(&Rules) -> Result<Vec<(NodeId, NodeId)>, TableError> + 'a;

/// The rules with the two ways along some dimensions exchanged so that every pair is served: along as few
/// dimensions as possible, the first of these; `None` if there are none.
///
/// An order of positive before negative directions forbids a packet to go down before it goes up, however
/// short the way around a gap; which way is up is a matter of counting. `unserved` are the pairs that the
/// rules as they are leave out; every answer was tried with `left_out`.
///
/// # Errors
/// Those of `left_out`.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::Rules;
/// use flitloom_core::routes::by_source::{mirrored, on_demand};
/// let mut fabric = Fabric::new(Shape::torus(&[4, 2, 2, 2])?);
/// for node in 28..32 {
///     fabric.fail_node(node)?;
/// }
/// // From node 4 to node 24 every way goes down along y before it goes up along z or u.
/// let left_out = |rules: &Rules| on_demand(&fabric, rules).map(|(_, left)| left);
/// let rules = Rules::angara(4);
/// let unserved = left_out(&rules)?;
/// assert_eq!((unserved.len(), unserved.contains(&(4, 24))), (192, true));
/// let found = mirrored(&fabric, &rules, &unserved, &left_out)?.unwrap();
/// assert_eq!(found.name(), "angara-y");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn mirrored(
    fabric: &Fabric,
    rules: &Rules,
    unserved: &[(NodeId, NodeId)],
    left_out: &LeftOutUnder,
) -> Result<Option<Rules>, TableError> {
    let dimensions = fabric.shape().dimensions();
    let mut choices: Vec<Vec<usize>> = (1..1_u32 << dimensions)
        .map(|chosen| (0..dimensions).filter(|dimension| chosen >> dimension & 1 == 1).collect())
        .collect();
    choices.sort_by_key(Vec::len);
    for along in choices {
        let changed = rules.clone().mirrored(&along);
        let all = TurnSet::all_same_sign(fabric, &changed);
        // What no turns can serve need not be tried.
        let hopeless = |&(a, b): &(NodeId, NodeId)| candidate_routes(fabric, &changed, &all, a, b).is_empty();
        if !unserved.iter().any(hopeless) && left_out(&changed)?.is_empty() {
            return Ok(Some(changed));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routes::by_source::on_demand;
    use crate::routing::DependencyGraph;

    #[test]
    fn every_allocation_of_the_first_nodes_is_served() {
        let mut needed = 0;
        for allocated in 2..32 {
            let mut fabric = Fabric::new(Shape::torus(&[4, 2, 2, 2]).unwrap());
            for node in allocated..32 {
                fabric.fail_node(node).unwrap();
            }
            let mut rules = Rules::angara(4);
            let left_out = |rules: &Rules| on_demand(&fabric, rules).map(|(_, left)| left);
            let unserved = left_out(&rules).unwrap();
            if !unserved.is_empty() {
                needed += 1;
                rules = mirrored(&fabric, &rules, &unserved, &left_out).unwrap().unwrap();
            }
            let (system, left) = on_demand(&fabric, &rules).unwrap();
            assert_eq!(left, [], "{allocated}");
            let graph = DependencyGraph::of_rules(&fabric, &rules, system.turns());
            assert!(graph.order(true).is_ok(), "{allocated}");
        }
        assert_eq!(needed, 22);
    }

    #[test]
    fn a_network_in_two_parts_is_given_up_at_once() {
        let mut fabric = Fabric::new(Shape::mesh(&[4, 2]).unwrap());
        fabric.fail_node(1).unwrap();
        fabric.fail_node(5).unwrap();
        let never = |_: &Rules| -> Result<Vec<(NodeId, NodeId)>, TableError> { unreachable!("cannot help") };
        assert_eq!(mirrored(&fabric, &Rules::angara(2), &[(0, 2)], &never), Ok(None));
    }
}
