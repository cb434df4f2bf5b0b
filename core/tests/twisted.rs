//! Twisted tori in the general engine, held against the reference model, whose links, ways and datelines there
//! are its own.

use crate::common::{self, Case, CaseSpace, Recorder, cases, compare};
use crate::reference::End;
use flitloom_core::{
    bits::InstructionSet,
    engine::{
        EngineKind, Setup, Simulation,
        general::{self, General},
    },
    fabric::{NodeId, Shape},
    router::RouterConfig,
    throttle::Throttle,
    traffic::Workload,
};
use proptest::prelude::*;

fn twisted() -> CaseSpace {
    CaseSpace {
        twisted: &[
            &[4, 8],
            &[2, 4],
            &[8, 4],
            &[2, 2, 4],
            &[3, 6],
            &[2, 4, 4],
            &[4, 2, 4],
            &[3, 3, 6],
            &[2, 8],
        ],
        throttles: false,
        given_routes: false,
        ..CaseSpace::default()
    }
}

/// Of the throttles, those that go by no lines of routers.
fn throttled(mut case: Case, throttle: &str) -> Case {
    case.throttle = throttle.parse().unwrap();
    if case.throttle != Throttle::None && !case.slices.interlock {
        // Nobody waits for ever.
        case.router.channels = case.router.channels.max(RouterConfig::channels_needed(&case.shape));
    } else {
        case.throttle = Throttle::None;
    }
    case
}

fn equal(case: &Case) -> Result<(), TestCaseError> {
    let (network, workload, expected) = (case.network(), case.workload(), common::reference(case));
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let (mut engine, mut seen) = (General::new(&network), Recorder::default());
        engine.set_vectors(set);
        let result = engine.run(&workload, &case.options(), &mut seen);
        compare(case, &expected, &result, &seen)
            .map_err(|difference| TestCaseError::fail(format!("{set:?}: {difference}")))?;
    }
    Ok(())
}

const THROTTLES: [&str; 4] = ["none", "alo", "alo:any", "pace:7"];

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn packet_lists_run_as_in_the_reference(
        case in twisted().packet_lists(),
        throttle in proptest::sample::select(&THROTTLES[..]),
    ) {
        equal(&throttled(case, throttle))?;
    }

    #[test]
    fn loads_run_as_in_the_reference(
        case in twisted().loads(),
        throttle in proptest::sample::select(&THROTTLES[..]),
    ) {
        equal(&throttled(case, throttle))?;
    }

    #[test]
    fn a_run_is_saved_in_any_cycle_and_taken_up_again(case in twisted().loads(), stop in 0..90_u64) {
        let (network, workload, options) = (case.network(), case.workload(), case.options());
        let setup = Setup { engine: Some(EngineKind::General), options, ..Setup::default() };
        let begin = || Simulation::new(&network, &workload, &setup).unwrap();
        let (mut whole, mut parted, mut other) = (begin(), begin(), begin());
        let ended = whole.run(&options);
        prop_assume!(ended.is_ok());
        let stopped = flitloom_core::engine::Options { stop_at: Some(stop), ..options };
        parted.run(&stopped).unwrap();
        other.restore(parted.save()).unwrap();
        other.run(&options).unwrap();
        prop_assert_eq!(other.totals().unwrap(), whole.totals().unwrap());
    }
}

/// Dimension order without deadlock, from every node to every other at once.
#[test]
fn all_to_all_arrives_with_the_channels_that_are_needed() {
    for sizes in twisted().twisted {
        let shape = Shape::twisted(sizes).unwrap();
        let nodes = shape.nodes() as NodeId;
        let packets: Vec<Vec<_>> = (0..nodes)
            .map(|node| {
                let packet = |by| flitloom_core::traffic::Packet {
                    destination: (node + by) % nodes,
                    length: 3,
                    start: 0,
                    slice: 0,
                };
                (1..nodes).map(packet).collect()
            })
            .collect();
        let router = RouterConfig { buffer: 1, ..RouterConfig::for_shape(&shape) };
        let fabric = flitloom_core::fabric::Fabric::new(shape);
        let network = flitloom_core::engine::Network::new(fabric, router).unwrap();
        let list = flitloom_core::traffic::PacketList::from_nodes(packets.clone()).unwrap();
        let (workload, mut probe) = (Workload::Packets(list), flitloom_core::probe::NoProbe);
        let outcome =
            general::simulate(&network, &workload, &flitloom_core::engine::Options::default(), &mut probe);
        let expected = crate::reference::simulate(&network, &packets, &crate::reference::Rules::default());
        assert_eq!(expected.end, End::Delivered, "{sizes:?}");
        assert_eq!(common::totals(&outcome.unwrap()), expected.totals, "{sizes:?}");
    }
}
