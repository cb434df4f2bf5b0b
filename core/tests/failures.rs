//! Networks with failed parts: packets that need none run as in the reference model, which also says who needs one.

use crate::common::{Case, CaseSpace, Recorder, Traffic, cases, compare, reference};
use crate::reference::way;
use flitloom_core::{
    engine::{Network, SimulationError, general},
    fabric::{Direction, Fabric, NodeId},
    traffic::{Purpose, draw_below},
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Failed cables and nodes.
struct Failures {
    cables: Vec<(NodeId, NodeId)>,
    nodes: Vec<NodeId>,
}

impl Failures {
    /// Up to three cables, and in one of three cases a node.
    fn draw(case: &Case, seed: u64) -> Self {
        let (shape, nodes) = (&case.shape, case.shape.nodes() as NodeId);
        let draw = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index, bound);
        let cable = |index: u64| {
            let node = draw(2 * index, nodes);
            let direction = Direction::from_index(draw(2 * index + 1, shape.directions() as u32) as usize);
            Some((node, shape.neighbour(node, direction)?))
        };
        let cables = (0..1 + u64::from(draw(100, 3))).filter_map(cable).collect();
        let nodes = if draw(101, 3) == 0 { vec![draw(102, nodes)] } else { Vec::new() };
        Self { cables, nodes }
    }

    fn network(&self, case: &Case) -> Network {
        let mut fabric = Fabric::new(case.shape.clone());
        self.cables.iter().for_each(|&(a, b)| fabric.fail_cable(a, b).unwrap());
        self.nodes.iter().for_each(|&node| fabric.fail_node(node).unwrap());
        Network::new(fabric, case.config()).unwrap()
    }

    /// Whether a packet needs a failed part.
    fn stop(&self, case: &Case, source: NodeId, destination: NodeId) -> bool {
        let nodes = way(&case.shape, source, destination, &case.rules());
        let failed = |pair: &[NodeId]| {
            self.cables.contains(&(pair[0], pair[1])) || self.cables.contains(&(pair[1], pair[0]))
        };
        nodes.iter().any(|node| self.nodes.contains(node)) || nodes.windows(2).any(failed)
    }
}

fn check(mut case: Case, seed: u64) -> Result<(), TestCaseError> {
    let failures = Failures::draw(&case, seed);
    let Traffic::Packets { list, .. } = &case.traffic else { unreachable!() };
    let stopped: BTreeSet<(NodeId, NodeId)> = list
        .iter()
        .map(|(source, packet)| (*source, packet.destination))
        .filter(|&(source, destination)| failures.stop(&case, source, destination))
        .collect();
    if !stopped.is_empty() {
        let mut seen = Recorder::default();
        let result =
            general::simulate(&failures.network(&case), &case.workload(), &case.options(), &mut seen);
        match result {
            Err(SimulationError::Unreachable { pairs, count, .. }) => {
                prop_assert_eq!(count, stopped.len());
                prop_assert_eq!(pairs.into_iter().collect::<BTreeSet<_>>(), stopped.clone());
            }
            other => return Err(TestCaseError::fail(format!("{other:?}, though {stopped:?} are cut"))),
        }
    }
    let Traffic::Packets { list, .. } = &mut case.traffic else { unreachable!() };
    list.retain(|(source, packet)| !stopped.contains(&(*source, packet.destination)));
    let (expected, mut seen) = (reference(&case), Recorder::default());
    let result = general::simulate(&failures.network(&case), &case.workload(), &case.options(), &mut seen);
    compare(&case, &expected, &result, &seen).map_err(TestCaseError::fail)
}

fn twisted() -> CaseSpace {
    CaseSpace { twisted: &[&[4, 8], &[8, 4], &[2, 2, 4], &[3, 6]], throttles: false, ..CaseSpace::default() }
}

fn without_routes(space: CaseSpace) -> impl Strategy<Value = Case> {
    CaseSpace { given_routes: false, ..space }.packet_lists()
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn what_needs_no_failed_part_runs_as_in_the_reference(
        case in prop_oneof![
            2 => without_routes(CaseSpace::default()),
            1 => without_routes(twisted()),
            1 => without_routes(CaseSpace::products()),
        ],
        seed in any::<u64>(),
    ) {
        check(case, seed)?;
    }
}
