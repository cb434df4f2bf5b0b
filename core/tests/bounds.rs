//! Lower bounds held against what random networks take.

use crate::common::{CaseSpace, cases};
use flitloom_core::{
    engine::{Bottleneck, Options, general, lower_bound},
    probe::NoProbe,
    router::ProcessorQueues,
    routing::dimension_order,
    traffic::{Packet, Workload},
};
use proptest::prelude::*;

/// Few packets over long ways, so that ways count as much as loads.
fn sparse() -> CaseSpace {
    CaseSpace { packets_per_node: 1, last_start: 10, sizes: 2..=9, ..CaseSpace::default() }
}

/// A visit of something that carries one flit per cycle: earliest arrival, flits, way behind.
type Visit = (u64, u64, u64);

/// What all visits take that come later than some time, or then with at least some way behind them, for the worst
/// such time and way.
fn longest(visits: &[Visit]) -> u64 {
    let behind = |&(time, _, way): &Visit| {
        let those = || visits.iter().filter(move |visit| (visit.0, visit.2) >= (time, way));
        let flits: u64 = those().map(|visit| visit.1).sum();
        time + flits + those().map(|visit| visit.2).min().unwrap_or(0) + 1
    };
    visits.iter().map(behind).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(cases(512))]

    /// The bound is that of the worst resource, counted one by one, and it is told of which.
    #[test]
    fn the_bottleneck_is_the_worst_resource(
        case in prop_oneof![CaseSpace::default().packet_lists(), sparse().packet_lists()],
    ) {
        let (network, workload) = (case.network(), case.workload());
        let Workload::Packets(packets) = &workload else { unreachable!() };
        if packets.routes().is_some() {
            return Ok(());
        }
        let (fabric, router) = (network.fabric(), network.router());
        let latency = u64::from(router.latency);
        let mut visits: Vec<(Bottleneck, Vec<Visit>)> = Vec::new();
        let mut visit = |at: Bottleneck, visit: Visit| match visits.iter_mut().find(|entry| entry.0 == at) {
            Some(entry) => entry.1.push(visit),
            None => visits.push((at, vec![visit])),
        };
        let mut paths = Vec::new();
        for (source, &Packet { destination, length, start, .. }) in packets.iter() {
            let (hops, flits) = (u64::from(fabric.shape().distance(source, destination)), u64::from(length));
            paths.push(start + hops * latency + flits + 1);
            if router.processor_queues == ProcessorQueues::One {
                visit(Bottleneck::Injection(source), (start, flits, hops * latency));
            }
            visit(Bottleneck::Ejection(destination), (start + hops * latency, flits, 0));
            for (passed, link) in (0..).zip(dimension_order::path(fabric, source, destination)) {
                visit(Bottleneck::Link(link), (start + passed * latency, flits, (hops - passed) * latency));
            }
        }
        let bound = lower_bound(&network, packets);
        let of_path = paths.into_iter().max().unwrap_or(0);
        let expected = visits.iter().map(|entry| longest(&entry.1)).max().unwrap_or(0).max(of_path);
        prop_assert_eq!(bound.duration, expected);
        match bound.bottleneck {
            // The way of one packet is named before what it shares with others.
            Some(Bottleneck::Path { .. }) => prop_assert_eq!(of_path, expected),
            Some(at) => {
                prop_assert!(of_path < expected);
                let there = visits.iter().find(|entry| entry.0 == at).map(|entry| longest(&entry.1));
                prop_assert_eq!(there, Some(expected));
            }
            None => prop_assert_eq!(packets.len(), 0),
        }
    }

    #[test]
    fn no_run_is_shorter_than_its_bound(
        case in prop_oneof![CaseSpace::default().packet_lists(), sparse().packet_lists()],
    ) {
        let (network, workload) = (case.network(), case.workload());
        let Workload::Packets(packets) = &workload else { unreachable!() };
        let bound = lower_bound(&network, packets);
        let outcome = general::simulate(&network, &workload, &Options::default(), &mut NoProbe);
        if let Ok(outcome) = outcome {
            prop_assert!(bound.duration <= outcome.duration, "{bound:?} above {}", outcome.duration);
            // A packet alone meets its bound, where buffers are deep enough to keep links busy.
            if packets.len() == 1 && case.router.latency == 1 && case.router.buffer >= 2 {
                prop_assert_eq!(bound.duration, outcome.duration);
            }
        }
    }
}
