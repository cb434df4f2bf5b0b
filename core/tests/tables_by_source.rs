//! Routing tables of every method pass the independent check, and reach the published and proven
//! values.

use flitloom_core::fabric::{Direction, Fabric, NodeId, Shape};
use flitloom_core::names;
use flitloom_core::routes::by_source::{
    Answer, Bound, Choices, Program, Request, System, TableError, WalkChecker, check_table, on_demand, route,
};
use flitloom_core::routes::{methods::Method, verdict::Rejection};
use flitloom_core::routing::{DependencyGraph, Rules, TurnPolicy, TurnSet};
use flitloom_core::traffic::RouteBook;
use proptest::prelude::*;

fn torus(sizes: &[u32]) -> System {
    let fabric = Fabric::new(Shape::torus(sizes).unwrap());
    System::new(fabric, Rules::angara(sizes.len()), TurnPolicy::ClosedForm).unwrap()
}

/// A torus with failed nodes (true) and cables (false).
fn damaged(sizes: &[u32], failed: &[(bool, u32)]) -> Fabric {
    let mut fabric = Fabric::new(Shape::torus(sizes).unwrap());
    for &(node, index) in failed {
        let links = fabric.shape().nodes() * fabric.shape().directions();
        let (a, direction) = fabric.link_ends(index % links as u32);
        if node {
            fabric.fail_node(a).unwrap();
        } else if let Some(b) = fabric.shape().neighbour(a, direction) {
            fabric.fail_cable(a, b).unwrap();
        }
    }
    fabric
}

fn named(method: &str) -> &'static Method {
    names::find(&Method::by_source(), method).unwrap()
}

fn solve(system: System, method: &str) -> Answer {
    route(system, named(method), &Request::default(), &mut |_| true).unwrap()
}

#[test]
fn desmos_systems_reach_the_proven_optimum() {
    // Optimum of each system, and its even tables where they exist.
    for (sizes, best, least, sigma4) in [
        (&[2][..], 1, 1, 0.0),
        (&[4], 2, 2, 0.0),
        (&[4, 2], 4, 4, 0.0),
        (&[4, 2, 2], 10, 6, 1.75),
        (&[4, 2, 2, 2], 26, 9, 6.185),
    ] {
        let answer = solve(torus(sizes), "balanced");
        let quality = &answer.quality;
        assert_eq!((quality.max_load, quality.min_load), (best, least), "{sizes:?}");
        assert!(quality.sigma4 <= sigma4, "{sizes:?} {}", quality.sigma4);
        assert_eq!(answer.bound.ceil(), best, "{sizes:?}: the bound proves it");
    }
}

#[test]
fn perfect_loads_of_the_desmos_systems() {
    for (sizes, perfect, channels) in
        [(&[4, 2][..], 4.0, 24), (&[4, 2, 2], 8.0, 64), (&[4, 2, 2, 2], 16.0, 160)]
    {
        let answer = solve(torus(sizes), "bfs");
        assert_eq!(answer.quality.perfect_load, perfect);
        assert_eq!(answer.table.system().channels(), channels);
    }
}

#[test]
fn rings_meet_their_bound_exactly() {
    for (sizes, load) in
        [(&[8, 8][..], 64), (&[4, 4, 4], 32), (&[7, 7], 42), (&[8, 8, 8], 512), (&[5, 4], 12)]
    {
        let answer = solve(torus(sizes), "balanced");
        assert_eq!(answer.quality.max_load, load, "{sizes:?}");
        assert_eq!(answer.bound.ceil(), load, "{sizes:?}");
    }
}

#[test]
fn a_bound_is_never_above_any_table() {
    for sizes in [&[3, 2][..], &[4, 4, 2], &[2, 2, 2], &[5, 2, 2], &[6, 3], &[2, 4]] {
        for (name, _) in Method::by_source() {
            let answer = solve(torus(sizes), name);
            assert!(answer.bound.value() <= answer.quality.max_load as f64 + 1e-9, "{sizes:?} {name}");
            let mean: f64 = answer.quality.perfect_load;
            assert!(mean <= answer.quality.max_load as f64);
        }
    }
}

#[test]
fn shortest_paths_reach_the_published_largest_loads() {
    // angara-routing-2021, Table 2.
    for (sizes, load) in [(&[2][..], 1), (&[4], 2), (&[4, 2], 5), (&[4, 2, 2], 12), (&[4, 2, 2, 2], 28)] {
        assert_eq!(solve(torus(sizes), "sssp").quality.max_load, load, "{sizes:?}");
    }
}

#[test]
fn balanced_meets_the_bound_of_large_systems() {
    // Least loads by linear programming, rounded up.
    for (sizes, load) in
        [(&[6, 6, 6][..], 162), (&[4, 4, 4, 2], 64), (&[8, 6, 4, 2], 412), (&[6, 6, 6, 2], 347)]
    {
        let answer = solve(torus(sizes), "balanced");
        assert_eq!((answer.quality.max_load, answer.bound.ceil()), (load, load), "{sizes:?}");
        assert!(check_table(&answer.table, false, &mut |_| true).unwrap().verdict.passed());
    }
}

#[test]
fn weights_shift_the_balance() {
    // All traffic between two opposite corners of a ring: balance needs both ways around.
    let mut traffic = vec![0; 64];
    traffic[4] = 10;
    traffic[8 + 5] = 10;
    let request = Request { traffic: Some(traffic), ..Request::default() };
    let answer = route(torus(&[8]), named("balanced"), &request, &mut |_| true).unwrap();
    assert_eq!(answer.quality.max_load, 10);
    assert!(check_table(&answer.table, false, &mut |_| true).unwrap().verdict.passed());
    assert!(answer.bound.value() <= 10.0);
}

#[test]
fn planted_cycles_are_found() {
    // Full same-sign turns on three rings.
    let fabric = Fabric::new(Shape::torus(&[4, 4, 4]).unwrap());
    let rules = Rules::angara(3);
    let all = TurnSet::all_same_sign(&fabric, &rules);
    let graph = DependencyGraph::of_rules(&fabric, &rules, &all);
    assert!(graph.order(true).is_err());
    // A table whose routes turn from y back to x around one square of rings.
    let system = torus(&[4, 4]);
    let mut table = WalkChecker::new(&system);
    let node = |x: u32, y: u32| x + 4 * y;
    table.add_nodes(node(0, 0), node(2, 1), &[node(0, 0), node(1, 0), node(2, 0), node(2, 1)], None);
    table.add_nodes(node(2, 0), node(3, 2), &[node(2, 0), node(2, 1), node(2, 2), node(3, 2)], None);
    for start in 0..4 {
        // Two-ring mix-up: x rings at y = 0 and 2 are joined to y rings at x = 0 and 2 both ways.
        let ring = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (3, 2), (0, 2), (0, 3)];
        for offset in 0..8 {
            let at = |index: usize| node(ring[(index + offset) % 8].0, ring[(index + offset) % 8].1);
            if start == 0 {
                table.add_nodes(at(0), at(2), &[at(0), at(1), at(2)], None);
            }
        }
    }
    assert_eq!(table.finish().verdict.cycle().len(), 8);
}

#[test]
fn a_ring_needs_its_datelines() {
    for (name, safe) in [("dateline", true), ("unrestricted", false)] {
        let fabric = Fabric::new(Shape::torus(&[8]).unwrap());
        let system = System::new(fabric, Rules::named(name, 1).unwrap(), TurnPolicy::None).unwrap();
        let verdict = check_table(&solve(system, "dor").table, false, &mut |_| true).unwrap().verdict;
        assert_eq!((verdict.problem_count(), verdict.ranks().is_some()), (0, safe), "{name}");
    }
}

#[test]
fn every_kind_of_damage_is_named() {
    let system = torus(&[4, 2]);
    let judge = |source: NodeId, destination: NodeId, nodes: &[NodeId]| {
        let mut checker = WalkChecker::new(&system);
        checker.add_nodes(source, destination, nodes, None);
        checker.finish().verdict.problems().next().unwrap().rejection
    };
    assert_eq!(judge(0, 2, &[0, 2]), Rejection::Skip { hop: 0, from: 0, to: 2 });
    assert_eq!(judge(0, 2, &[0, 1]), Rejection::Ends { from: 0, to: 1 });
    assert_eq!(judge(0, 9, &[0, 9]), Rejection::NoSuchNode(9));
    assert!(matches!(judge(0, 1, &[0, 1, 5, 4, 0, 1]), Rejection::Rule(_)));
    let mut checker = WalkChecker::new(&system);
    let north = Direction::from_index(2);
    checker.add(4, 0, &[north], None);
    checker.add(0, 1, &[Direction::from_index(0)], Some(&[1]));
    checker.add(0, 4, &[north], None);
    checker.add(0, 4, &[north], None);
    let verdict = checker.finish().verdict;
    let kinds: Vec<_> = verdict.problems().take(3).map(|problem| problem.rejection).collect();
    assert_eq!(kinds[0], Rejection::Leaves { hop: 0, from: 4, direction: north });
    assert_eq!(kinds[1], Rejection::NoSuchChannel { hop: 0, channel: 1, channels: 1 });
    assert_eq!(kinds[2], Rejection::Twice);
    // The other pairs are missing.
    assert_eq!(verdict.problem_count(), 3 + 8 * 7 - 3);
}

#[test]
fn traffic_of_the_wrong_size_is_refused() {
    let request = Request { traffic: Some(vec![1; 5]), ..Request::default() };
    let error = route(torus(&[4]), named("balanced"), &request, &mut |_| true).unwrap_err();
    assert_eq!(error, TableError::TrafficSize { given: 5, needed: 16 });
    let request = Request { traffic: Some(vec![u64::MAX; 16]), ..Request::default() };
    assert_eq!(
        route(torus(&[4]), named("balanced"), &request, &mut |_| true).unwrap_err(),
        TableError::TrafficRange
    );
}

#[test]
fn the_symmetric_program_has_the_bound_of_the_full_one() {
    // Weight 1 everywhere is the unweighted problem without its symmetry.
    for sizes in [&[4, 2][..], &[4, 2, 2], &[3, 3, 2]] {
        let system = torus(sizes);
        let choices = Choices::found(&system, &mut |_| true).unwrap();
        let answer = solve(system.clone(), "balanced");
        let bounds: Vec<f64> = [None, Some(vec![1; system.nodes() * system.nodes()])]
            .into_iter()
            .map(|traffic| {
                let program = Program::new(&system, &choices, traffic.as_deref());
                let loads: Vec<u64> =
                    program.sizes.iter().map(|&size| size * answer.quality.max_load).collect();
                Bound::dual(&program, &loads, 2000, u64::MAX, &mut |_| true).unwrap().0.value()
            })
            .collect();
        assert!((bounds[0] - bounds[1]).abs() < 0.03 * bounds[0], "{sizes:?} {bounds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn balanced_is_never_worse_than_shortest_paths(
        sizes in prop::collection::vec(2_u32..=6, 1..=4).prop_filter("small", |sizes| sizes.iter().product::<u32>() <= 100),
        failed in prop::collection::vec((any::<bool>(), 0_u32..1000), 0..3),
        weighted in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let system = on_demand(&damaged(&sizes, &failed), &Rules::angara(sizes.len())).unwrap().0;
        let nodes = system.nodes();
        let traffic = weighted.then(|| (0..nodes * nodes).map(|pair| (pair as u64).wrapping_mul(seed | 1) >> 57).collect());
        let solve = |method| {
            let request = Request { seed, traffic: traffic.clone(), ..Request::default() };
            route(system.clone(), named(method), &request, &mut |_| true)
        };
        let Ok(answer) = solve("balanced") else { return Ok(()) };
        let (ours, other) = (&answer.quality, solve("sssp").unwrap().quality);
        prop_assert!(ours.max_load <= other.max_load, "{} > {}", ours.max_load, other.max_load);
        // Where the bound is not met, evenness decides between equal largest loads.
        if ours.max_load == other.max_load && ours.max_load > answer.bound.ceil() {
            prop_assert!(ours.sigma4 <= other.sigma4 * (1.0 + 1e-9));
        }
    }

    #[test]
    fn every_method_passes_the_check(
        sizes in prop::collection::vec(2_u32..=4, 1..=4).prop_filter("small", |sizes| sizes.iter().product::<u32>() <= 48),
        failed in prop::collection::vec((any::<bool>(), 0_u32..1000), 0..3),
        method in 0_usize..6,
        seed in any::<u64>(),
    ) {
        let fabric = damaged(&sizes, &failed);
        let (system, _) = on_demand(&fabric, &Rules::angara(sizes.len())).unwrap();
        let request = Request { seed, ..Request::default() };
        let method = Method::by_source()[method].1;
        match route(system, method, &request, &mut |_| true) {
            Ok(answer) => {
                let report = check_table(&answer.table, false, &mut |_| true).unwrap();
                prop_assert!(report.verdict.passed(), "{:?}", report.verdict.findings);
                prop_assert_eq!(&report.quality.loads, &answer.quality.loads);
                prop_assert!(answer.bound.value() <= answer.quality.max_load as f64 + 1e-9);
                let nodes = fabric.shape().nodes() - fabric.failed_nodes().count();
                prop_assert_eq!(report.verdict.uses.routes as usize, nodes * nodes.saturating_sub(1));
            }
            Err(TableError::Unserved { count, pairs, .. }) => prop_assert_eq!(count.min(1000), pairs.len()),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

/// Every method that searches looks at whether it is to go on, and ends at the look that says no.
#[test]
fn every_search_can_be_interrupted() {
    for (name, method) in Method::by_source() {
        if name == "dor" {
            continue;
        }
        let stopped_at = |last: u32| {
            let mut looks = 0;
            let result = route(torus(&[6, 6]), method, &Request::default(), &mut |_| {
                looks += 1;
                looks < last
            });
            (result, looks)
        };
        let (whole, all) = stopped_at(u32::MAX);
        assert!(whole.is_ok() && all >= 1, "{name}");
        for last in 1..=all.min(3) {
            let (stopped, looks) = stopped_at(last);
            assert!(matches!(stopped, Err(TableError::Interrupted)), "{name}, look {last} of {all}");
            assert_eq!(looks, last, "{name}");
        }
    }
}

#[test]
fn a_report_passes_if_nothing_is_wrong_and_nothing_can_deadlock() {
    // A ring: as it is, with a pair left out, without what keeps it from a deadlock, and with both faults.
    for (name, missing, passes) in [
        ("dateline", false, true),
        ("dateline", true, false),
        ("unrestricted", false, false),
        ("unrestricted", true, false),
    ] {
        let fabric = Fabric::new(Shape::torus(&[8]).unwrap());
        let system = System::new(fabric, Rules::named(name, 1).unwrap(), TurnPolicy::None).unwrap();
        let table = solve(system, "dor").table;
        let mut checker = WalkChecker::new(table.system());
        for source in 0..8 {
            for destination in (0..8).filter(|&node| node != source && !(missing && (source, node) == (3, 4)))
            {
                checker.add(source, destination, &table.hops(source, destination).unwrap(), None);
            }
        }
        let verdict = checker.finish().verdict;
        assert_eq!(verdict.problem_count(), u64::from(missing), "{name}");
        assert_eq!(verdict.passed(), passes, "{name} {missing}");
    }
}

#[test]
fn any_walk_may_turn_against_the_order() {
    let walk: [NodeId; 4] = [0, 3, 4, 1];
    for (name, problems) in [("unrestricted", 0), ("dimension-order", 1)] {
        let fabric = Fabric::new(Shape::mesh(&[3, 3]).unwrap());
        let system = System::new(fabric, Rules::named(name, 2).unwrap(), TurnPolicy::None).unwrap();
        let mut checker = WalkChecker::new(&system);
        checker.add_nodes(0, 1, &walk, None);
        // The other pairs have no route.
        assert_eq!(checker.finish().verdict.problem_count(), 9 * 8 - 1 + problems, "{name}");
    }
}

/// A first step against the order is a turn, which the rules know and the set of turns permits or not.
#[test]
fn turns_that_are_not_permitted_are_named() {
    for (policy, problems) in [(TurnPolicy::ClosedForm, 0), (TurnPolicy::None, 1)] {
        let fabric = Fabric::new(Shape::mesh(&[3, 3]).unwrap());
        let system = System::new(fabric, Rules::angara(2), policy).unwrap();
        let mut checker = WalkChecker::new(&system);
        checker.add_nodes(0, 4, &[0, 3, 4], None);
        let verdict = checker.finish().verdict;
        assert_eq!(verdict.problem_count(), 9 * 8 - 1 + problems);
        let turned = verdict.problems().any(|problem| matches!(problem.rejection, Rejection::Turn { .. }));
        assert_eq!(turned, problems == 1);
    }
}

#[test]
fn tables_cover_working_pairs_and_nothing_else() {
    let fabric = damaged(&[4, 2], &[(true, 0)]);
    let lost = (0..8).find(|&node| !fabric.node_works(node)).unwrap();
    let system = System::new(fabric, Rules::angara(2), TurnPolicy::ClosedForm).unwrap();
    let table = solve(system, "bfs").table;
    for source in 0..10 {
        for destination in 0..10 {
            let works = |node: NodeId| node < 8 && node != lost;
            let covered = works(source) && works(destination) && source != destination;
            assert_eq!(table.covers(source, destination), covered, "{source} {destination}");
            assert_eq!(RouteBook::hops(&table, source, destination).is_some(), covered);
        }
    }
}

#[test]
fn progress_rises_from_nothing_to_the_whole() {
    for (name, method) in Method::by_source() {
        // Routes in order, or by destination alone, cannot go around every failure.
        let healthy = matches!(name, "dor" | "coherent");
        let failed: &[_] = if healthy { &[] } else { &[(true, 40)] };
        let fabric = damaged(&[5, 3, 2], failed);
        let system = System::new(fabric, Rules::angara(3), TurnPolicy::ClosedForm).unwrap();
        let mut told = vec![0.0];
        let answer = route(system, method, &Request::default(), &mut |done| {
            told.push(done);
            true
        });
        assert!(answer.is_ok(), "{name}");
        assert!(told.len() > 1, "{name}");
        assert!(told.iter().all(|done| (0.0..=1.0).contains(done)), "{name}: {told:?}");
        // Searches end early, or begin anew with what they found; the proof of the bound comes after all.
        let searches = matches!(name, "balanced" | "genetic" | "sssp");
        let rising = told.windows(2).take_while(|pair| pair[0] <= pair[1]).map(|pair| pair[1]).last();
        assert!(searches || rising > Some(0.9), "{name}: {told:?}");
    }
}
