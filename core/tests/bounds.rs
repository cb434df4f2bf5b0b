//! Lower bounds held against what random networks take.

#[allow(dead_code, unused_imports, reason = "each test binary uses its part of the shared helpers")]
mod common;
#[allow(dead_code, unused_imports, reason = "each test binary uses its part of the shared helpers")]
mod reference;

use common::{CaseSpace, cases};
use flitloom_core::{
    engine::{Options, general, lower_bound},
    probe::NoProbe,
    traffic::Workload,
};
use proptest::prelude::*;

/// Few packets over long ways, so that ways count as much as loads.
fn sparse() -> CaseSpace {
    CaseSpace { packets_per_node: 1, last_start: 10, sizes: 2..=9, ..CaseSpace::default() }
}

proptest! {
    #![proptest_config(cases(512))]

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
