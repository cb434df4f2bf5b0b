//! The plane engine held against the reference model on small random networks, with every instruction
//! set of this processor.

use crate::common::{self, Case, CaseSpace, cases, totals};
use crate::reference::End;
use flitloom_core::{
    bits::InstructionSet,
    engine::{self, Options, planes},
};
use proptest::prelude::*;

fn equal(case: &Case, stop: Option<u64>) -> Result<(), TestCaseError> {
    let (network, workload) = (case.network(), case.workload());
    prop_assume!(planes::supports(&network, &workload).is_ok());
    let expected = common::reference(case);
    // Cases that could deadlock are not covered.
    prop_assert_eq!(expected.end, End::Delivered);
    let expected = stop.map_or(expected.totals.clone(), |stop| expected.totals_before(stop));
    let options = Options { stop_at: stop, ..Options::default() };
    for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
        let outcome = engine::simulate_in_planes(&network, &workload, &options, set);
        prop_assert_eq!(outcome.as_ref().map(totals), Ok(expected.clone()), "{:?}", set);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn packet_lists_run_as_in_the_reference(case in CaseSpace::of_planes().packet_lists()) {
        equal(&case, None)?;
    }

    #[test]
    fn loads_run_as_in_the_reference(case in CaseSpace::of_planes().loads()) {
        equal(&case, None)?;
    }
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn a_simulation_can_stop_at_any_cycle(case in CaseSpace::of_planes().loads(), stop in 0..200_u64) {
        equal(&case, Some(stop))?;
    }
}
