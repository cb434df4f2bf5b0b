//! Schedules against what was not written for them: the engine, the verifier and exhaustive search.

use crate::common::sampled;
use flitloom_core::{
    engine::{self, Network},
    fabric::{Fabric, NodeId, Shape},
    router::{Arbitration, ChannelScheme, RouterConfig},
    schedule::{
        Bound, Budget, Contention, Demand, Dependencies, Incumbent, Job, MethodName, Placement, PlanError,
        Problem, RouteChoice, ScheduleError, Slicing, Solution, Task, candidates, classic_bound, load_bound,
        lower_bound, packet_list, planned_packets, proven_bound, search, solve, verify,
    },
    traffic::{CollectiveOperation, Group, Pattern, Purpose, Workload, draw_below},
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn permutation(shape: &Shape, name: &str, length: u32, slices: u32) -> Vec<Demand> {
    let to = Pattern::from_name(name, shape).unwrap().destinations(shape, 0).unwrap();
    let demand = |source| Demand { source, destination: to.of(source, 0), length, slices };
    (0..shape.nodes() as NodeId).map(demand).collect()
}

fn found(fabric: &Fabric, problem: &Problem, seed: u64, moves: u64) -> Solution {
    solve(fabric, problem, seed, &mut Budget::of_moves(moves), &mut |_| ()).unwrap()
}

/// The engine's duration of a plan under one arbitration scheme at every port.
fn simulated(fabric: &Fabric, workload: &Workload, scheme: ChannelScheme, channels: u8) -> u64 {
    let usual = RouterConfig::for_shape(fabric.shape());
    let arbitration = Arbitration { schemes: vec![scheme], ..usual.arbitration.clone() };
    let router = RouterConfig { channels: usual.channels.max(channels), arbitration, ..usual };
    let network = Network::new(fabric.clone(), router).unwrap();
    engine::simulate(&network, workload, &Default::default()).unwrap().duration
}

fn check_plan(
    fabric: &Fabric,
    demands: &[Demand],
    slicing: Slicing,
    choice: RouteChoice,
    moves: u64,
) -> Solution {
    let problem = Problem::new(fabric, demands, slicing, choice).unwrap();
    let found = found(fabric, &problem, 1, moves);
    let packets = planned_packets(demands, slicing, &problem, &found.schedule.placements);
    assert_eq!(packets.len() as u32, demands.iter().map(|demand| demand.slices).sum::<u32>());
    assert_eq!(verify(fabric, &packets), Ok(found.duration.into()));
    assert!(found.duration >= found.bound);
    let workload = Workload::Packets(packet_list(fabric, &packets, &[]).unwrap());
    for scheme in [ChannelScheme::C00, ChannelScheme::C05, ChannelScheme::C09] {
        assert_eq!(simulated(fabric, &workload, scheme, 3), u64::from(found.duration));
    }
    found
}

/// On 4x4 there are fifteen others, the nearest one hop away and the farthest four.
#[test]
fn bounds_of_operations_are_those_counted_by_hand() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let group = Group::all(&shape);
    let bound = |operation: CollectiveOperation| operation.bound(&shape, &group, 7);
    assert_eq!(bound(CollectiveOperation::AllToAll), 15 * 8 + 2);
    assert_eq!(bound(CollectiveOperation::AllGather), 15 * 7 + 1 + 2);
    assert_eq!(bound(CollectiveOperation::ReduceScatter), 15 * 7 + 1 + 2);
    assert_eq!(bound(CollectiveOperation::AllReduce), 2 * 15 * 7 + 1 + 2);
    assert_eq!(bound(CollectiveOperation::Broadcast { root: 5 }), 7 + 1 + 4 + 1);
}

#[test]
fn intervals_at_which_slices_overlap_are_refused() {
    let fabric = Fabric::new(Shape::torus(&[4, 4]).unwrap());
    let problem = |slices, interval| {
        let demand = Demand { source: 0, destination: 1, length: 5, slices };
        Problem::new(&fabric, &[demand], Slicing::Interval(interval), RouteChoice::DimensionOrder).map(drop)
    };
    assert_eq!(problem(2, 4), Err(ScheduleError::Interval { interval: 4, length: 5 }));
    assert_eq!(problem(2, 5), Ok(()));
    assert_eq!(problem(1, 4), Ok(()));
    // Both slices end within the cycles that there are.
    assert_eq!(problem(2, Demand::MAX_LENGTH / 2), Ok(()));
    let cycles = u64::from(Demand::MAX_LENGTH) + 2;
    let late = ScheduleError::TooLate { cycles, most: Demand::MAX_LENGTH };
    assert_eq!(problem(2, Demand::MAX_LENGTH / 2 + 1), Err(late));
}

/// A packet of five flits over one hop takes 1 + 5 + 1 cycles; who waits for it goes on one cycle before.
#[test]
fn a_phase_begins_when_what_it_needs_has_arrived() {
    let fabric = Fabric::new(Shape::torus(&[4]).unwrap());
    let pairs = [(0, 1), (1, 2)];
    let demands = pairs.map(|(source, destination)| Demand { source, destination, length: 5, slices: 1 });
    let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
    let order = Dependencies::of_phases(&pairs, &[1, 1]);
    let holds = |first, second| {
        let placements = [first, second].map(|start| Placement { route: 0, start });
        order.holds(&problem, &placements)
    };
    assert!(holds(0, 6) && holds(3, 9) && holds(0, 60));
    assert!(!holds(0, 5) && !holds(3, 6) && !holds(1, 0));
}

#[test]
fn two_slices_on_16x16_reach_the_bound_and_run_as_planned() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let fabric = Fabric::new(shape.clone());
    // Optima proven independently by constraint programming.
    let proven = [("bcmp", 74), ("brev", 132), ("brot", 120), ("shfl", 120), ("torn", 131), ("trns", 132)];
    for (name, optimum) in proven {
        let demands = permutation(&shape, name, 8, 2);
        let problem =
            Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
        assert_eq!(lower_bound(&problem).0, optimum, "{name}");
        if !["brot", "shfl"].contains(&name) {
            let moves = 100_000;
            let choice = RouteChoice::DimensionOrder;
            let found = check_plan(&fabric, &demands, Slicing::OneInterval, choice, moves);
            assert_eq!(found.duration, optimum, "{name}");
        }
    }
}

#[test]
fn chosen_routes_make_schedules_shorter_and_never_longer() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let fabric = Fabric::new(shape.clone());
    // The bounds for dimension order are 74, 132, 120 and 132.
    let cases = [
        ("bcmp", RouteChoice::TwoBends, 74),
        ("brev", RouteChoice::AnyOrder, 74),
        ("shfl", RouteChoice::TwoBends, 84),
        ("trns", RouteChoice::TwoBends, 69),
    ];
    for (name, choice, at_most) in sampled(cases, 2) {
        let demands = permutation(&shape, name, 8, 2);
        let found = check_plan(&fabric, &demands, Slicing::OneInterval, choice, 150_000);
        assert!(found.duration <= at_most, "{name}: {}", found.duration);
        assert_eq!(found, check_plan(&fabric, &demands, Slicing::OneInterval, choice, 150_000));
    }
}

#[test]
fn small_problems_are_not_searched_among_symmetric_schedules_only() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let fabric = Fabric::new(shape.clone());
    let demands = permutation(&shape, "brot", 8, 2);
    // Proven optimal by CP-SAT; a schedule that is its own complement takes 48 cycles.
    let found = check_plan(&fabric, &demands, Slicing::OneInterval, RouteChoice::AnyOrder, 500_000);
    assert_eq!(found.duration, 42);
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let fabric = Fabric::new(shape.clone());
    let demands = permutation(&shape, "shfl", 8, 1);
    let problem = Problem::new(&fabric, &demands, Slicing::Free, RouteChoice::AnyOrder).unwrap();
    assert_eq!(found(&fabric, &problem, 5, 3_000), found(&fabric, &problem, 5, 3_000));
}

#[test]
fn all_to_all_on_4x4_is_optimal() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let fabric = Fabric::new(shape.clone());
    let demands = CollectiveOperation::AllToAll.phases(&Group::all(&shape), 7).unwrap().remove(0);
    let found = check_plan(&fabric, &demands, Slicing::OneInterval, RouteChoice::BalancedTies, 100_000);
    assert_eq!(found.duration, found.bound);
}

#[test]
fn operations_deliver_to_everyone() {
    for sizes in [vec![4, 3], vec![5], vec![2, 3, 4]] {
        let shape = Shape::torus(&sizes).unwrap();
        let nodes = shape.nodes();
        let group = Group::all(&shape);
        // Blocks known by every node: all-gather must spread all of them, a phase at a time.
        let mut known: Vec<Vec<bool>> =
            (0..nodes).map(|own| (0..nodes).map(|b| b == own).collect()).collect();
        for phase in CollectiveOperation::AllGather.phases(&group, 3).unwrap() {
            let before = known.clone();
            for demand in phase {
                let block = (0..nodes).filter(|&block| before[demand.source as usize][block]);
                block.for_each(|block| known[demand.destination as usize][block] = true);
            }
        }
        assert!(known.iter().flatten().all(|&known| known));
        let mut reached = vec![false; nodes];
        reached[1] = true;
        for phase in (CollectiveOperation::Broadcast { root: 1 }).phases(&group, 3).unwrap() {
            let before = reached.clone();
            for demand in phase {
                assert!(before[demand.source as usize], "{sizes:?}: {demand:?} sends what it has not");
                reached[demand.destination as usize] = true;
            }
        }
        assert!(reached.iter().all(|&reached| reached), "{sizes:?}");
    }
}

#[test]
fn the_verifier_finds_what_is_broken() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let fabric = Fabric::new(shape.clone());
    let demands = permutation(&shape, "trns", 8, 1);
    let problem = Problem::new(&fabric, &demands, Slicing::Free, RouteChoice::DimensionOrder).unwrap();
    let found = found(&fabric, &problem, 1, 10_000);
    let packets = planned_packets(&demands, Slicing::Free, &problem, &found.schedule.placements);
    let mut unison = packets.clone();
    unison.iter_mut().for_each(|packet| packet.start = 0);
    assert!(matches!(verify(&fabric, &unison), Err(PlanError::Conflict { cycle: 0.., .. })));
    let mut cut = packets.clone();
    cut[1].path.pop();
    assert!(matches!(verify(&fabric, &cut), Err(PlanError::End { packet: 1, .. })));
    let mut twice = packets.clone();
    twice.push(packets[1].clone());
    assert!(matches!(verify(&fabric, &twice), Err(PlanError::Conflict { .. })));
    let mut broken = fabric.clone();
    broken.fail_node(2).unwrap();
    assert!(matches!(verify(&broken, &packets), Err(PlanError::Node(..) | PlanError::Route { .. })));
}

/// The optimum by trying all routes and starts: exact, slow and obvious.
fn exhaustive(problem: &Problem, target: u32, chosen: &mut Vec<(usize, u32)>) -> bool {
    let job = chosen.len();
    let jobs = problem.jobs();
    if job == jobs.len() {
        return true;
    }
    jobs[job].routes.iter().enumerate().any(|(number, route)| {
        let Some(last) = target.checked_sub(route.span) else { return false };
        (0..=last).any(|start| {
            let free = chosen.iter().enumerate().all(|(other, &(taken, at))| {
                jobs[other].routes[taken].uses.iter().all(|theirs| {
                    route.uses.iter().all(|own| {
                        let (a, b) = (start + own.offset, at + theirs.offset);
                        own.resource != theirs.resource
                            || a >= b + jobs[other].length
                            || b >= a + jobs[job].length
                    })
                })
            });
            chosen.push((number, start));
            let found = free && exhaustive(problem, target, chosen);
            chosen.truncate(job);
            found
        })
    })
}

#[test]
fn bounds_of_full_rings_never_exceed_the_optimum() {
    let mut beyond_the_load = 0;
    // Size of the ring, length of the packets, and how far each node sends.
    let cases: [(u32, u32, &[u32]); 7] = [
        (4, 2, &[2]),
        (4, 3, &[2]),
        (4, 2, &[2, 2]),
        (4, 3, &[2, 2]),
        (5, 2, &[1, 2]),
        (8, 3, &[4]),
        (8, 4, &[4]),
    ];
    for (size, length, distances) in cases {
        let fabric = Fabric::new(Shape::torus(&[size]).unwrap());
        let to =
            |source, distance| Demand { source, destination: (source + distance) % size, length, slices: 1 };
        let demands: Vec<Demand> = distances
            .iter()
            .flat_map(|&distance| (0..size).map(move |source| to(source, distance)))
            .collect();
        let problem = Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::AnyOrder).unwrap();
        let bound = proven_bound(&fabric, &problem);
        assert!(!exhaustive(&problem, bound - 1, &mut Vec::new()), "{size} {length} {distances:?}");
        let load = load_bound(&problem) as u32 + 2;
        beyond_the_load += u32::from(bound > load.max(lower_bound(&problem).0));
    }
    assert!(beyond_the_load > 0);
}

/// The duration of the shortest schedule, by trying all.
fn optimum(problem: &Problem) -> u32 {
    (1..).find(|&target| exhaustive(problem, target, &mut Vec::new())).unwrap()
}

/// Small problems of all kinds, with the demands of each: fixed routes, chosen ones, slices, all-to-all, phases.
fn small_problems() -> Vec<(Fabric, Vec<Demand>, Slicing, Problem)> {
    let torus = |sizes: &[u32]| Fabric::new(Shape::torus(sizes).unwrap());
    let demands = |pairs: &[(u32, u32)], length, slices| -> Vec<Demand> {
        pairs.iter().map(|&(source, destination)| Demand { source, destination, length, slices }).collect()
    };
    let crossing: [(u32, u32); 4] = [(0, 5), (1, 5), (4, 1), (1, 4)];
    let all: Vec<(u32, u32)> =
        (0..3).flat_map(|from| (0..3).filter(move |&to| to != from).map(move |to| (from, to))).collect();
    let mut problems = Vec::new();
    for (choice, slicing, slices) in [
        (RouteChoice::DimensionOrder, Slicing::OneInterval, 1),
        (RouteChoice::DimensionOrder, Slicing::Free, 2),
        (RouteChoice::DimensionOrder, Slicing::Interval(3), 2),
        (RouteChoice::AnyOrder, Slicing::OneInterval, 1),
        (RouteChoice::TwoBends, Slicing::OneInterval, 1),
    ] {
        let pairs = if slices == 2 { &crossing[..3] } else { &crossing };
        let fabric = torus(&[4, 3]);
        let demands = demands(pairs, 2, slices);
        let problem = Problem::new(&fabric, &demands, slicing, choice).unwrap();
        problems.push((fabric, demands, slicing, problem));
    }
    // Two hops in one dimension come apart where a route may bend twice.
    let fabric = torus(&[5, 4]);
    let far = demands(&[(0, 7), (1, 7), (5, 2)], 2, 1);
    let problem = Problem::new(&fabric, &far, Slicing::OneInterval, RouteChoice::TwoBends).unwrap();
    problems.push((fabric, far, Slicing::OneInterval, problem));
    // The same when x and y are exchanged.
    let fabric = torus(&[4, 4]);
    let mirrored = demands(&[(1, 6), (4, 9), (1, 9), (4, 6)], 2, 1);
    let problem = Problem::new(&fabric, &mirrored, Slicing::OneInterval, RouteChoice::AnyOrder).unwrap();
    problems.push((fabric, mirrored, Slicing::OneInterval, problem));
    // Rings of three nodes hold one slot: all-to-all, on given routes and on any.
    for any in [false, true] {
        let (fabric, demands) = (torus(&[3]), demands(&all, 3, 1));
        let choice = RouteChoice::BalancedTies;
        let problem = match any {
            true => Problem::over_any_minimal_route(&fabric, &demands),
            false => Problem::new(&fabric, &demands, Slicing::OneInterval, choice),
        };
        problems.push((fabric, demands, Slicing::OneInterval, problem.unwrap()));
    }
    let (fabric, chain) = (torus(&[8]), demands(&[(0, 1), (2, 1), (1, 3), (1, 4)], 2, 1));
    let ends: Vec<(u32, u32)> = chain.iter().map(|demand| (demand.source, demand.destination)).collect();
    let problem = Problem::new(&fabric, &chain, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
    let problem = problem.in_phases(Dependencies::of_phases(&ends, &[2, 2]));
    problems.push((fabric, chain, Slicing::OneInterval, problem));
    problems
}

#[test]
fn methods_and_bounds_keep_their_word_on_every_small_problem() {
    let mut applied = BTreeSet::new();
    let mut bounds = BTreeSet::new();
    for (number, (fabric, demands, slicing, problem)) in small_problems().iter().enumerate() {
        // Without its phases a problem can only be done sooner.
        let optimum = optimum(problem);
        let own = || Bound::ALL.into_iter().filter(|bound| bound.applies(problem));
        for bound in own() {
            let proof = bound.prove(fabric, problem, 0);
            assert!(problem.is_in_phases() || proof.cycles <= optimum, "{number}: {}", bound.name());
            bounds.insert(bound.name());
        }
        let task = Task::new(fabric, problem, 3);
        assert_eq!(task.bound(), own().map(|bound| bound.prove(fabric, problem, 0).cycles).max().unwrap());
        for &method in MethodName::ALL {
            if !method.applies(&task) {
                continue;
            }
            applied.insert(method.name());
            let mut lengths = Vec::new();
            // All it wants, hardly anything, an interruption at once, and one a little later.
            let asked = std::cell::Cell::new(0);
            let later = |_: f64| {
                asked.set(asked.get() + 1);
                asked.get() > 3
            };
            let budgets = [
                Budget::of_moves(20_000),
                Budget::of_moves(1),
                Budget::new(20_000, &|_| true),
                Budget::new(20_000, &later),
            ];
            for mut budget in budgets {
                let mut told = |_| ();
                let incumbent = Incumbent::new(&task, &mut told);
                let found = search(&task, &[(method, 1.0)], incumbent, &mut budget);
                let found = found.unwrap_or_else(|| panic!("{number}: {} finds nothing", method.name()));
                let packets = found.packets(demands, *slicing, problem);
                assert_eq!(
                    verify(fabric, &packets),
                    Ok(found.duration.into()),
                    "{number}: {}",
                    method.name()
                );
                assert!(optimum <= found.duration && task.bound() <= found.duration);
                if let Some(order) = problem.dependencies() {
                    assert!(order.holds(problem, &found.schedule.placements));
                }
                lengths.push(found.duration);
            }
            assert!(lengths[0] <= *lengths.iter().min().unwrap(), "{number}: {}", method.name());
        }
        let found = solve(fabric, problem, 3, &mut Budget::of_moves(50_000), &mut |_| ()).unwrap();
        if !problem.is_in_phases() && !problem.has_any_minimal_route() {
            assert_eq!(found.duration, optimum, "{number}");
        }
    }
    assert_eq!(applied.len(), MethodName::ALL.len(), "{applied:?}");
    assert_eq!(bounds.len(), Bound::ALL.len(), "{bounds:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn bounds_never_exceed_the_optimum_and_the_search_finds_it(
        seed in any::<u64>(), packets in 2_u32..6, length in 1_u32..4, mixed in any::<bool>(),
        slicing in prop_oneof![
            Just(Slicing::OneInterval), Just(Slicing::Free), (4_u32..7).prop_map(Slicing::Interval)
        ],
    ) {
        let shape = Shape::torus(&[4, 3]).unwrap();
        let fabric = Fabric::new(shape);
        let random = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index, bound);
        let demands: Vec<Demand> = (0..packets)
            .map(|index| {
                let index = u64::from(index);
                Demand {
                    source: random(4 * index, 3),
                    destination: 3 + random(4 * index + 1, 5),
                    length: if mixed { 1 + random(4 * index + 2, 3) } else { length },
                    slices: if packets < 4 { 1 + random(4 * index + 3, 2) } else { 1 },
                }
            })
            .collect();
        let problem = Problem::new(&fabric, &demands, slicing, RouteChoice::DimensionOrder).unwrap();
        let bound = lower_bound(&problem).0;
        prop_assert!(classic_bound(&problem) <= bound);
        let found = check_plan(&fabric, &demands, slicing, RouteChoice::DimensionOrder, 100_000);
        prop_assert!(exhaustive(&problem, found.duration, &mut Vec::new()));
        // Nothing below the bound exists, and every start of a schedule found is allowed.
        prop_assert!(!exhaustive(&problem, bound - 1, &mut Vec::new()));
        let domains = Contention::new(&problem).filter(&problem, found.duration).unwrap();
        for (job, placement) in found.schedule.placements.iter().enumerate() {
            prop_assert!(domains.allows(job, placement.start));
        }
        let starts = candidates(&fabric, &problem, found.duration).unwrap();
        for (of_job, placement) in starts.iter().zip(&found.schedule.placements) {
            prop_assert!(of_job[placement.route as usize].contains(&placement.start));
        }
        prop_assert_eq!(starts.len(), found.schedule.placements.len());
        if found.duration > found.bound {
            prop_assert!(!exhaustive(&problem, found.duration - 1, &mut Vec::new()));
        }
    }

    #[test]
    fn chosen_routes_stay_above_the_load_bound(seed in any::<u64>(), three in any::<bool>()) {
        let shape = Shape::torus(if three { &[3, 4, 2] } else { &[5, 4] }).unwrap();
        let fabric = Fabric::new(shape.clone());
        let nodes = shape.nodes() as u32;
        let demands: Vec<Demand> = (0..nodes)
            .map(|source| {
                let destination = draw_below(seed, source, Purpose::Destination, 0, nodes);
                Demand { source, destination, length: 3, slices: 1 }
            })
            .collect();
        for choice in [RouteChoice::AnyOrder, RouteChoice::TwoBends] {
            let problem = Problem::new(&fabric, &demands, Slicing::Free, choice).unwrap();
            let bound = load_bound(&problem);
            let found = found(&fabric, &problem, 1, 500);
            let chosen: Vec<usize> = found.schedule.placements.iter().map(|placement| placement.route as usize).collect();
            let random = |draw: u32| -> Vec<usize> {
                let route = |(job, of): (usize, &Job)| {
                    let routes = of.routes.len() as u32;
                    draw_below(seed, job as u32, Purpose::Search, draw.into(), routes) as usize
                };
                problem.jobs().iter().enumerate().map(route).collect()
            };
            for routes in (0..50).map(random).chain([chosen]) {
                let mut loads = vec![0; problem.resources()];
                for (job, &route) in problem.jobs().iter().zip(&routes) {
                    job.routes[route].uses.iter().for_each(|held| loads[held.resource as usize] += 3);
                }
                prop_assert!(loads.into_iter().max() >= Some(bound));
                prop_assert!(u64::from(classic_bound(&problem.with_routes(&routes))) > bound);
            }
            let packets = planned_packets(&demands, Slicing::Free, &problem, &found.schedule.placements);
            prop_assert_eq!(verify(&fabric, &packets), Ok(found.duration.into()));
        }
    }
}
