//! What could be done where failures leave pairs without a route, whatever way tables are made.

use super::by_source::TableError;
use crate::fabric::{Direction, Fabric, NodeId, walk};
use crate::routing::{Rules, TurnSet, candidate_routes};
use std::collections::HashMap;

/// Why a pair has no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// No working links connect the two.
    Disconnected,
    /// They are connected, but every way breaks a rule of the router.
    NoLegalRoute,
    /// Its legal routes need turns that could close a cycle of waiting channels.
    Deadlock,
}

/// One change that would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// Mend the cable between two nodes.
    Cable(NodeId, NodeId),
    /// Mend a node.
    Node(NodeId),
    /// Leave a node out of the allocation.
    Drop(NodeId),
}

/// What can be done when pairs cannot be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The first pair that is not served.
    pub first: (NodeId, NodeId),
    /// Why the first pair is not served.
    pub cause: Cause,
    /// Single changes each of which serves every pair, repairs first; if there are none, one greedy
    /// list of nodes to drop together.
    pub single: Vec<Repair>,
    /// Nodes whose joint removal serves every remaining pair; empty if a single change does.
    pub together: Vec<NodeId>,
}

/// The pairs of working nodes that some way to make tables leaves without a route in a fabric.
pub type LeftOut<'a> = dyn Fn(&Fabric) -> Result<Vec<(NodeId, NodeId)>, TableError> + 'a;

/// The smallest relaxation that serves every pair; every change was tried with `left_out`, which says
/// what the way in which the tables are to be made leaves out.
///
/// # Errors
/// Those of `left_out`.
pub fn advise(fabric: &Fabric, rules: &Rules, left_out: &LeftOut) -> Result<Option<Advice>, TableError> {
    let unserved = left_out(fabric)?;
    let Some(&first) = unserved.first() else { return Ok(None) };
    let cause = if !connected(fabric, first) {
        Cause::Disconnected
    } else if candidate_routes(fabric, rules, &TurnSet::all_same_sign(fabric, rules), first.0, first.1)
        .is_empty()
    {
        Cause::NoLegalRoute
    } else {
        Cause::Deadlock
    };
    let solved = |changed: &Fabric| left_out(changed).map(|left| left.is_empty());
    let mut single = Vec::new();
    for (a, b) in fabric.failed_cables() {
        if solved(&fabric.repaired(None, Some((a, b))))? {
            single.push(Repair::Cable(a, b));
        }
    }
    for node in fabric.failed_nodes() {
        if solved(&fabric.repaired(Some(node), None))? {
            single.push(Repair::Node(node));
        }
    }
    // Leaving a node out helps if it is an end of every pair that is not served.
    for node in [first.0, first.1] {
        if unserved.iter().all(|&(a, b)| a == node || b == node) && solved(&without(fabric, &[node]))? {
            single.push(Repair::Drop(node));
        }
    }
    let mut together = Vec::new();
    let mut left = unserved;
    while single.is_empty() && !left.is_empty() {
        let mut counts: HashMap<NodeId, usize> = HashMap::new();
        for &(a, b) in &left {
            *counts.entry(a).or_default() += 1;
            *counts.entry(b).or_default() += 1;
        }
        let Some((&worst, _)) = counts.iter().max_by_key(|&(&node, &count)| (count, std::cmp::Reverse(node)))
        else {
            break;
        };
        together.push(worst);
        left = left_out(&without(fabric, &together))?;
    }
    together.sort_unstable();
    Ok(Some(Advice { first, cause, single, together }))
}

pub(super) fn without(fabric: &Fabric, nodes: &[NodeId]) -> Fabric {
    let mut smaller = fabric.clone();
    for &node in nodes {
        // The nodes come from this fabric's own pairs.
        let _ = smaller.fail_node(node);
    }
    smaller
}

fn connected(fabric: &Fabric, (source, destination): (NodeId, NodeId)) -> bool {
    let next = |node| {
        let directions = (0..fabric.shape().directions()).map(Direction::from_index);
        directions.filter_map(move |out| fabric.working_neighbour(node, out))
    };
    walk::reaches(fabric.shape().nodes(), source, next, |node| node == destination)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::Shape;
    use crate::routes::by_source::{Regime, serves};

    #[test]
    fn advice_names_a_change_that_helps() {
        let mut fabric = Fabric::new(Shape::mesh(&[4]).unwrap());
        fabric.fail_cable(1, 2).unwrap();
        let rules = Rules::angara(1);
        let left_out = |fabric: &Fabric| serves(fabric, &rules, Regime::OnDemand, &mut |_| true);
        assert_eq!(left_out(&fabric).unwrap().len(), 8);
        let advice = advise(&fabric, &rules, &left_out).unwrap().unwrap();
        assert_eq!(advice.cause, Cause::Disconnected);
        assert_eq!(advice.single, [Repair::Cable(1, 2)]);
    }
}
