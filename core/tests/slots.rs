//! All-to-all in step with rotating slots: free of conflicts, of minimal routes, and near the bounds.

use crate::common::sampled;
use flitloom_core::{
    fabric::{Fabric, Shape},
    schedule::{
        Budget, Demand, Incumbent, MethodName, Placement, PlannedPacket, Problem, RouteChoice, Slicing,
        Solution, Task, classic_bound, distance_bound, planned_packets, search, solve, verify,
    },
    traffic::{CollectiveOperation, Group},
};

fn exchange_of(fabric: &Fabric, length: u32) -> Vec<Demand> {
    let shape = fabric.shape();
    CollectiveOperation::AllToAll.phases(&Group::all(shape), length - 1).unwrap().remove(0)
}

/// On routes in order, by slots alone.
fn in_order(fabric: &Fabric, problem: &Problem, moves: u64) -> Vec<Placement> {
    let task = Task::new(fabric, problem, 1);
    assert!(MethodName::Slots.applies(&task));
    let mut told = |_| ();
    let incumbent = Incumbent::new(&task, &mut told);
    let found = search(&task, &[(MethodName::Slots, 1.0)], incumbent, &mut Budget::of_moves(moves));
    found.unwrap().schedule.placements
}

/// On minimal routes with any number of bends.
fn staircases(fabric: &Fabric, demands: &[Demand], moves: u64) -> Vec<PlannedPacket> {
    let problem = Problem::over_any_minimal_route(fabric, demands).unwrap();
    let mut budget = Budget::of_moves(moves);
    let found: Solution = solve(fabric, &problem, 1, &mut budget, &mut |_| ()).unwrap();
    found.packets(demands, Slicing::OneInterval, &problem)
}

#[test]
fn schedules_have_no_conflicts_and_stay_near_the_load() {
    // Sizes, packet length, moves, and how far above the bound it may end, in per cent.
    let cases: [(&[u32], u32, u64, u32); 6] = [
        (&[16], 8, 10_000, 15),
        (&[8, 8], 4, 100_000, 35),
        (&[12, 6], 5, 20_000, 60),
        (&[16, 8], 8, 50_000, 15),
        (&[4, 4, 4], 2, 50_000, 20),
        (&[16, 16], 8, 100_000, 6),
    ];
    for (sizes, length, moves, above) in sampled(cases, 3) {
        let fabric = Fabric::new(Shape::torus(sizes).unwrap());
        let demands = exchange_of(&fabric, length);
        let problem =
            Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::BalancedTies).unwrap();
        let placements = in_order(&fabric, &problem, moves);
        let packets = planned_packets(&demands, Slicing::OneInterval, &problem, &placements);
        let duration = verify(&fabric, &packets).unwrap();
        let bound = u64::from(classic_bound(&problem));
        assert!(bound <= duration, "{sizes:?}");
        assert!(100 * duration <= u64::from(100 + above) * bound, "{sizes:?}: {duration} over {bound}");
        assert_eq!(in_order(&fabric, &problem, moves), placements);
    }
}

#[test]
fn staircases_are_minimal_and_free_of_conflicts() {
    let cases = [
        (vec![4, 4, 4], 2, 20_000),
        (vec![8, 8], 8, 100_000),
        (vec![12, 6], 5, 5_000),
        (vec![8, 8], 4, 50_000),
    ];
    for (sizes, length, moves) in sampled(cases, 2) {
        let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
        let demands = exchange_of(&fabric, length);
        let packets = staircases(&fabric, &demands, moves);
        let duration = verify(&fabric, &packets).unwrap();
        let bound = distance_bound(&fabric, &demands);
        assert!(bound <= duration && 10 * duration <= 18 * bound, "{sizes:?}: {duration} over {bound}");
        for (packet, demand) in packets.iter().zip(&demands) {
            assert_eq!((packet.source, packet.destination), (demand.source, demand.destination));
            assert_eq!(packet.path.len() as u32, fabric.shape().distance(demand.source, demand.destination));
        }
    }
}

#[test]
fn rings_of_one_slot_are_nearly_filled() {
    // Sizes, packet length, moves, and the longest duration allowed.
    let cases: [(&[u32], u32, u64, u64); 4] = [
        (&[5, 5], 5, 20_000, 152),
        (&[8, 8], 8, 500_000, 570),
        (&[4, 4], 4, 20_000, 75),
        (&[12, 6], 6, 1, 760),
    ];
    for (sizes, length, moves, longest) in sampled(cases, 3) {
        let fabric = Fabric::new(Shape::torus(sizes).unwrap());
        let demands = exchange_of(&fabric, length);
        let packets = staircases(&fabric, &demands, moves);
        let duration = verify(&fabric, &packets).unwrap();
        assert!(
            distance_bound(&fabric, &demands) <= duration && duration <= longest,
            "{sizes:?}: {duration}"
        );
        assert_eq!(staircases(&fabric, &demands, moves), packets);
    }
}

#[test]
fn trains_nearly_fill_rings_of_several_slots() {
    // Sizes, packet length, moves, and the longest duration allowed.
    let cases: [(&[u32], u32, u64, u64); 3] =
        [(&[16, 16], 8, 1, 4240), (&[8, 8], 4, 50_000, 325), (&[12, 12], 3, 1, 730)];
    for (sizes, length, moves, longest) in sampled(cases, 3) {
        let fabric = Fabric::new(Shape::torus(sizes).unwrap());
        let demands = exchange_of(&fabric, length);
        let packets = staircases(&fabric, &demands, moves);
        let duration = verify(&fabric, &packets).unwrap();
        let bound = distance_bound(&fabric, &demands);
        assert!(bound <= duration && duration <= longest, "{sizes:?}: {duration} over {bound}");
        assert_eq!(staircases(&fabric, &demands, moves), packets);
    }
}

#[test]
fn octants_nearly_fill_all_links_of_a_cube() {
    let fabric = Fabric::new(Shape::torus(&[8, 8, 8]).unwrap());
    let demands = exchange_of(&fabric, 8);
    let packets = staircases(&fabric, &demands, 1000);
    let duration = verify(&fabric, &packets).unwrap();
    let bound = distance_bound(&fabric, &demands);
    assert!(bound <= duration && duration <= 4190, "{duration} over {bound}");
    for (packet, demand) in packets.iter().zip(&demands) {
        let distance = fabric.shape().distance(demand.source, demand.destination);
        assert_eq!((packet.destination, packet.path.len() as u32), (demand.destination, distance));
    }
}

#[test]
fn searches_tell_how_far_they_are() {
    // Offset by offset, and in lanes.
    for (sizes, length, moves) in [(vec![12, 6], 5, 50_000), (vec![8, 8], 4, 50_000), (vec![8, 8], 8, 20_000)]
    {
        let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
        let problem = Problem::over_any_minimal_route(&fabric, &exchange_of(&fabric, length)).unwrap();
        let mut told = Vec::new();
        let mut tell = |progress| told.push(progress);
        let found = solve(&fabric, &problem, 1, &mut Budget::of_moves(moves), &mut tell).unwrap();
        assert!(told.len() > 50, "{sizes:?}: {}", told.len());
        assert!(told.iter().is_sorted_by(|one, next| one.best >= next.best && one.moves >= next.moves));
        assert_eq!(told.last().map(|last| last.best), Some(found.duration));
        assert!(told.iter().all(|now| now.bound == found.bound && now.moves <= moves));
    }
}
