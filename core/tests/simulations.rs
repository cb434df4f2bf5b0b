//! Simulations that are held: run in pieces, copied and looked at, they do what one whole run does.

use crate::common::{Case, CaseSpace, Recorder, cases};
use flitloom_core::{
    bits::InstructionSet,
    engine::{EngineKind, Options, Outcome, Setup, Simulation, SimulationError, general},
    probe::{LinkOccupation, LinkTime, NoProbe, PacketRecords, Probe},
};
use proptest::{prelude::*, strategy::ValueTree};

fn whole<P: Probe>(case: &Case, probe: &mut P) -> Result<Outcome, SimulationError> {
    general::simulate(&case.network(), &case.workload(), &case.options(), probe)
}

/// Rings with a single channel of few flits under heavy load: many of these deadlock.
fn tight_rings() -> CaseSpace {
    CaseSpace {
        dimensions: 1..=2,
        sizes: 4..=7,
        channels: 1..=1,
        buffer: 1..=6,
        latency: 1..=2,
        slice_rules: false,
        throttles: false,
        packets_per_node: 8,
        lengths: 1..=8,
        last_start: 20,
        ..CaseSpace::default()
    }
}

/// What the planes cover.
fn flat() -> CaseSpace {
    CaseSpace { channels: 3..=4, ..CaseSpace::of_planes() }
}

proptest! {
    #![proptest_config(cases(192))]

    #[test]
    fn pieces_and_copies_are_the_whole(
        case in prop_oneof![CaseSpace::default().packet_lists(), CaseSpace::default().loads()],
        steps in proptest::collection::vec(1_u64..40, 1..12),
    ) {
        let mut expected = Recorder::default();
        let result = whole(&case, &mut expected);
        let held = Simulation::observed(&case.network(), &case.workload(), &case.options(), Recorder::default());
        let mut held = match held {
            Ok(held) => held,
            Err(error) => {
                prop_assert_eq!(Err(error), result);
                return Ok(());
            }
        };
        let mut cycle = 0;
        let mut failed = None;
        for step in steps {
            // The original goes no further: the copy takes its place.
            held = held.clone();
            cycle += step;
            failed = held.run(&Options { stop_at: Some(cycle), ..case.options() }).err();
            if failed.is_some() || held.is_finished() {
                break;
            }
            prop_assert!(held.now() >= cycle);
        }
        let ended = match failed {
            Some(error) => Err(error),
            None => held.run(&case.options()).and_then(|()| held.totals()),
        };
        prop_assert_eq!(ended, result);
        prop_assert_eq!(held.probe(), &expected);
    }

    #[test]
    fn what_is_saved_is_taken_up(
        case in prop_oneof![CaseSpace::default().packet_lists(), CaseSpace::default().loads()],
        steps in proptest::collection::vec(1_u64..40, 1..6),
    ) {
        let links = case.shape.nodes() * case.shape.directions();
        let probe = || (PacketRecords::default(), LinkTime::new(links));
        let mut expected = probe();
        let result = whole(&case, &mut expected);
        let begin = || Simulation::observed(&case.network(), &case.workload(), &case.options(), probe());
        let Ok(mut held) = begin() else { return Ok(()) };
        let mut cycle = 0;
        let mut failed = None;
        for step in steps {
            let mut restored = begin().unwrap();
            restored.restore(held.save()).unwrap();
            held = restored;
            cycle += step;
            failed = held.run(&Options { stop_at: Some(cycle), ..case.options() }).err();
            if failed.is_some() || held.is_finished() {
                break;
            }
        }
        let ended = match failed {
            Some(error) => Err(error),
            None => held.run(&case.options()).and_then(|()| held.totals()),
        };
        prop_assert_eq!(ended, result);
        let (packets, time) = held.probe();
        prop_assert_eq!(packets.clone().into_sorted(), expected.0.into_sorted());
        prop_assert_eq!(time, &expected.1);
    }

    #[test]
    fn a_deadlock_is_seen_if_and_only_if_there_is_one(case in tight_rings().packet_lists()) {
        let (network, workload) = (case.network(), case.workload());
        let mut held = Simulation::observed(&network, &workload, &Options::default(), NoProbe).unwrap();
        let mut first = None;
        let end = loop {
            if first.is_none() && held.check_deadlock().is_err() {
                first = Some(held.now());
            }
            let end = held.run(&Options { stop_at: Some(held.now() + 1), ..Options::default() });
            if end.is_err() || held.is_finished() {
                break end;
            }
        };
        let deadlock = matches!(end, Err(SimulationError::Deadlock(_)));
        prop_assert_eq!(deadlock, first.is_some(), "{:?}, first seen {:?}", end, first);
    }

    #[test]
    fn both_engines_show_the_same_state(
        case in prop_oneof![flat().packet_lists(), flat().loads()],
        stop in 1_u64..80,
    ) {
        let (network, workload) = (case.network(), case.workload());
        let mut seen = Vec::new();
        for engine in EngineKind::OF_ONE_CYCLE {
            let setup = Setup { engine: Some(engine), links: true, latencies: true, ..Setup::default() };
            let mut held = Simulation::new(&network, &workload, &setup).unwrap();
            held.run(&Options { stop_at: Some(stop), ..Options::default() }).unwrap();
            let middle = (held.totals(), held.occupancy(), held.links());
            held.run(&Options::default()).unwrap();
            seen.push((held.now(), middle, held.totals(), held.occupancy(), held.links()));
        }
        prop_assert_eq!(&seen[0], &seen[1]);
        let mut links = LinkOccupation::new(network.fabric().shape().nodes() * network.fabric().shape().directions());
        whole(&case, &mut links).unwrap();
        prop_assert_eq!(seen[0].4.as_ref(), Some(&links));
        prop_assert!(seen[0].3.iter().all(|&flits| flits == 0));
    }
}

/// A saved state of the planes is taken up with vectors of any width, and damage is refused.
#[test]
fn saved_planes_do_not_depend_on_vectors() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for links in [false, true] {
        let case = CaseSpace { last_start: 400, ..flat() }.loads().new_tree(&mut runner).unwrap().current();
        let (network, workload) = (case.network(), case.workload());
        let setup = |set| Setup {
            engine: Some(EngineKind::Planes),
            set: Some(set),
            links,
            latencies: links,
            ..Setup::default()
        };
        let sets = || InstructionSet::ALL.into_iter().filter(|set| set.is_available());
        let begin = |set| Simulation::new(&network, &workload, &setup(set)).unwrap();
        let saved: Vec<_> = sets()
            .map(|set| {
                let mut held = begin(set);
                held.run(&Options { stop_at: Some(30), ..Options::default() }).unwrap();
                held.save()
            })
            .collect();
        let mut whole = begin(InstructionSet::Word);
        whole.run(&Options::default()).unwrap();
        for set in sets() {
            for bytes in &saved {
                assert_eq!(bytes, &saved[0]);
                let mut held = begin(set);
                held.restore(bytes.clone()).unwrap();
                assert_eq!(held.now(), 30);
                held.run(&Options::default()).unwrap();
                assert_eq!((held.totals(), held.links()), (whole.totals(), whole.links()));
            }
            assert!(begin(set).restore(saved[0][1..].to_vec()).is_err());
            assert!(begin(set).restore(saved[0][..saved[0].len() - 1].to_vec()).is_err());
        }
    }
}

#[test]
fn an_interrupted_run_goes_on() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let case = flat().loads().new_tree(&mut runner).unwrap().current();
    let mut held = Simulation::new(&case.network(), &case.workload(), &Setup::default()).unwrap();
    let flag = std::sync::atomic::AtomicBool::new(true);
    let stopped = held.run(&Options { interrupt: Some(&flag), ..Options::default() });
    assert_eq!(stopped, Err(SimulationError::Interrupted(0)));
    held.run(&Options::default()).unwrap();
    assert_eq!(held.totals(), whole(&case, &mut NoProbe));
}

/// A saved state of the general engine is taken up with vectors of any width; every kind of router.
#[test]
fn a_saved_state_of_the_general_engine_does_not_depend_on_vectors() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let space = || CaseSpace { sizes: 2..=9, most_nodes: 200, ..CaseSpace::default() };
    for number in 0..24 {
        let strategy = if number % 2 == 0 { space().loads().boxed() } else { space().packet_lists().boxed() };
        let case = strategy.new_tree(&mut runner).unwrap().current();
        let (network, workload) = (case.network(), case.workload());
        let setup = |set| Setup {
            engine: Some(EngineKind::General),
            set: Some(set),
            links: true,
            options: case.options(),
            ..Setup::default()
        };
        let begin = |set| Simulation::new(&network, &workload, &setup(set)).unwrap();
        let mut whole = begin(InstructionSet::Word);
        let ended = whole.run(&case.options());
        let sets = || InstructionSet::ALL.into_iter().filter(|set| set.is_available());
        for (from, to) in sets().flat_map(|from| sets().map(move |to| (from, to))) {
            let mut first = begin(from);
            if first.run(&Options { stop_at: Some(25), ..case.options() }).is_err() {
                continue;
            }
            let mut second = begin(to);
            let bytes = first.save();
            second.restore(bytes.clone()).unwrap();
            assert_eq!((second.now(), second.occupancy()), (first.now(), first.occupancy()));
            assert_eq!(second.run(&case.options()), ended, "{from:?} to {to:?}: {case:?}");
            assert_eq!((second.totals(), second.links()), (whole.totals(), whole.links()));
            assert!(begin(to).restore(bytes[..bytes.len() - 1].to_vec()).is_err());
        }
    }
}
