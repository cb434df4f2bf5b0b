//! The engine that is picked by itself gives what the general engine gives, also for options the
//! planes do not know.

use flitloom_core::{
    engine::{self, Network, general, planes},
    fabric::{Fabric, Shape},
    probe::NoProbe,
    router::RouterConfig,
    throttle::{Interlock, Throttle},
    traffic::{Collective, OpenLoad, Pattern, Workload},
};

#[test]
fn options_beyond_the_planes_go_to_the_general_engine() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let destinations = Pattern::BitReverse.destinations(&shape, 0).unwrap();
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let collective = Collective { payload: 28, slices: 4, interval: 20, ..Collective::default() };
    let workload = Workload::Packets(collective.packet_list(256, &destinations).unwrap());
    assert!(planes::supports(&network, &workload).is_ok() && planes::pays(&network, &workload));

    let mut durations = Vec::new();
    for (reinitialise_slices, interlock_slices) in [(false, false), (true, false), (false, true)] {
        let throttle = if interlock_slices { Interlock.into() } else { Throttle::None };
        let options = engine::Options { reinitialise_slices, throttle, ..Default::default() };
        let picked = engine::simulate(&network, &workload, &options).unwrap();
        assert_eq!(picked, general::simulate(&network, &workload, &options, &mut NoProbe).unwrap());
        durations.push(picked.duration);
    }
    // The options do change what happens, so that ignoring them would be seen.
    assert!(durations[1] != durations[0] && durations[2] != durations[0], "{durations:?}");
}

#[test]
fn without_latencies_a_stopped_run_has_all_other_totals() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let destinations = Pattern::BitReverse.destinations(&shape, 0).unwrap();
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let collective = Collective { payload: 28, slices: 4, interval: 20, ..Collective::default() };
    let workload = Workload::Packets(collective.packet_list(256, &destinations).unwrap());
    let settings = planes::Settings { latencies: false, ..planes::Settings::default() };
    let mut planes = planes::Planes::new(&network, &workload, settings).unwrap();
    for stop_at in [Some(90), None] {
        let options = engine::Options { stop_at, ..Default::default() };
        let all = general::simulate(&network, &workload, &options, &mut NoProbe).unwrap();
        assert!(all.latency_sum > 0);
        let latency_sum = if stop_at.is_some() { 0 } else { all.latency_sum };
        assert_eq!(planes.run(&options).unwrap()[0], engine::Outcome { latency_sum, ..all });
    }
}

/// Packets that are under way when a run is stopped are left out of its sum of latencies, however long
/// they have been waiting: far beyond saturation, and when the run has hardly begun.
#[test]
fn latencies_of_stopped_runs_are_exact_at_any_load() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let network = Network::new(Fabric::new(shape.clone()), RouterConfig::default()).unwrap();
    for rate in [0.05, 0.3, 0.9] {
        for stop in [20, 50, 100, 300, 1000] {
            let random = Pattern::Random.destinations(&shape, 1).unwrap();
            let load = Workload::Load(OpenLoad::new(random, rate, 8, stop, 1).unwrap());
            let options = engine::Options { stop_at: Some(stop), ..Default::default() };
            let picked = engine::simulate(&network, &load, &options).unwrap();
            let expected = general::simulate(&network, &load, &options, &mut NoProbe).unwrap();
            assert_eq!(picked, expected, "{rate} {stop}");
            assert!(picked.packets_injected > picked.packets_delivered);
        }
    }
}

/// What the planes do not cover goes to the general engine.
#[test]
fn planes_are_not_asked_for_what_they_do_not_cover() {
    let shape = Shape::torus(&[4, 4, 4]).unwrap();
    let random = Pattern::Random.destinations(&shape, 1).unwrap();
    let load = Workload::Load(OpenLoad::new(random, 0.1, 8, 10, 1).unwrap());
    let network = Network::new(Fabric::new(shape.clone()), RouterConfig::for_shape(&shape)).unwrap();
    assert_eq!(planes::supports(&network, &load), Err(planes::Unsupported::Dimensions(3)));
    let options = engine::Options::default();
    let outcome = engine::simulate_in_planes(&network, &load, &options, planes::best_set(&network, 1));
    assert_eq!(outcome, general::simulate(&network, &load, &options, &mut NoProbe));
}
