//! States that somebody forged are refused, or what they say is run: never a panic, never a cycle without end.

use crate::common::{Case, CaseSpace, cases, forged};
use flitloom_core::engine::{EngineKind, Options, Setup, Simulation};
use proptest::prelude::*;

/// Runs a case for some cycles, and what is forged of its state a little longer.
fn check(case: &Case, engine: EngineKind, cycle: u64, numbers: &[[u64; 4]]) {
    let (network, workload) = (case.network(), case.workload());
    let setup = Setup {
        engine: Some(engine),
        links: true,
        latencies: true,
        windows: (engine == EngineKind::General).then_some(16),
        options: case.options(),
        ..Setup::default()
    };
    let begin = || Simulation::new(&network, &workload, &setup);
    let Ok(mut run) = begin() else { return };
    let stop = |cycle| Options { stop_at: Some(cycle), ..case.options() };
    if run.run(&stop(cycle)).is_err() {
        return;
    }
    let state = run.save();
    for numbers in numbers {
        let mut again = begin().unwrap();
        let changes = if numbers[0] % 2 == 0 { 2 } else { 4 };
        if again.restore(forged(&state, &numbers[..changes])).is_ok() {
            // What it comes to is its own affair.
            _ = again.run(&stop(again.now().min(cycle) + 100));
            _ = (again.totals(), again.occupancy(), again.links());
            _ = again.windows().map(|windows| windows.closed().len());
        }
    }
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn of_the_general_engine(
        case in prop_oneof![CaseSpace::default().packet_lists(), CaseSpace::default().loads()],
        cycle in 1_u64..60,
        numbers in proptest::collection::vec(any::<[u64; 4]>(), 8),
    ) {
        check(&case, EngineKind::General, cycle, &numbers);
    }

    #[test]
    fn of_the_planes(
        case in prop_oneof![CaseSpace::of_planes().packet_lists(), CaseSpace::of_planes().loads()],
        cycle in 1_u64..60,
        numbers in proptest::collection::vec(any::<[u64; 4]>(), 8),
    ) {
        check(&case, EngineKind::Planes, cycle, &numbers);
    }
}
