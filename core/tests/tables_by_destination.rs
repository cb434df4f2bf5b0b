//! Balance and lanes of tables by destination.

use crate::common::{cases, sampled};
use flitloom_core::booksim;
use flitloom_core::engine::pipelined::{BlockedQueue, Lanes, Place, Switched};
use flitloom_core::engine::{Options, Setup, Simulation, SimulationError};
use flitloom_core::fabric::{Direction, FatTree, Graph, Grid, NodeId, Placed, Shape};
use flitloom_core::flow::{bounds::bound, order::Dependencies};
use flitloom_core::routes::by_destination::*;
use flitloom_core::traffic::{Packet, PacketList, Workload};
use proptest::prelude::*;

fn draw(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize) % limit
}

/// A torus without some cables (by their number) and nodes.
fn torus(sizes: &[u32], cables: &[usize], nodes: &[NodeId]) -> (Graph, DimensionOrder) {
    let shape = Shape::torus(sizes).unwrap();
    let positions: Vec<NodeId> = (0..shape.nodes() as NodeId).filter(|node| !nodes.contains(node)).collect();
    let mut ends = Vec::new();
    for (index, &node) in positions.iter().enumerate() {
        for dimension in 0..sizes.len() {
            if let Some(other) = shape.neighbour(node, Direction::from_index(2 * dimension))
                && let Ok(there) = positions.binary_search(&other)
            {
                ends.push((index as u32, there as u32));
            }
        }
    }
    for &cable in cables {
        ends.swap_remove(cable % ends.len());
    }
    let graph = Graph::new(vec![1; positions.len()], &ends).unwrap();
    let grid = Grid::plain(sizes, &vec![true; sizes.len()]);
    let places = positions.iter().map(|&position| grid.coordinates(position)).collect();
    let order = DimensionOrder::new(&graph, Placed { grid, places });
    (graph, order)
}

/// Tables that the check passes: bound, largest load and lanes.
fn made(graph: &Graph, order: Option<&DimensionOrder>, mode: Option<Mode>) -> (u64, u64, usize) {
    let roots = (0..graph.switches() as u32).collect();
    let request = ForwardingRequest { mode, tries: 2_000_000, ..ForwardingRequest::default() };
    let made = forward(graph, order, roots, None, None, request);
    let levels = made.lanes.host_levels(graph);
    let verdict = check(graph, &made.table, Some(&levels), &made.lanes.rule(graph));
    assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, 0));
    assert!(made.bound.value <= verdict.uses.max_load(), "{:?}", made.bound);
    (made.bound.value, verdict.uses.max_load(), made.lanes.lanes)
}

#[test]
fn healthy_tori_reach_the_bound() {
    for (sizes, load, lanes) in [
        (&[4, 4, 4][..], 32, 1),
        (&[16, 16], 512, 2),
        (&[8, 8, 8], 512, 2),
        (&[6, 6, 4], 108, 2),
        (&[5, 5, 5], 75, 2),
        (&[4, 4, 4, 4], 128, 1),
        (&[8, 8, 4, 2], 512, 2),
    ] {
        let (graph, order) = torus(sizes, &[], &[]);
        assert_eq!(made(&graph, Some(&order), Some(Mode::Tables)), (load, load, lanes), "{sizes:?}");
    }
}

#[test]
fn healthy_8x8x8_needs_four_constant_lanes() {
    let (graph, order) = torus(&[8, 8, 8], &[], &[]);
    assert_eq!(made(&graph, Some(&order), None), (512, 512, 4));
}

#[test]
fn every_single_failure_is_served_within_six_lanes_and_two_routes_of_the_cut() {
    for sizes in [&[4, 4, 4][..], &[8, 8]] {
        let shape = Shape::torus(sizes).unwrap();
        for node in sampled(0..shape.nodes() as NodeId, 9) {
            let (graph, order) = torus(sizes, &[], &[node]);
            let (bound, load, lanes) = made(&graph, Some(&order), None);
            assert!(
                load <= bound + 2 && lanes <= 6,
                "{sizes:?} node {node}: {load} of {bound}, {lanes} lanes"
            );
        }
        for cable in sampled(0..shape.nodes() * sizes.len(), 9) {
            let (graph, order) = torus(sizes, &[cable], &[]);
            let (bound, load, lanes) = made(&graph, Some(&order), None);
            assert!(
                load <= bound + 2 && lanes <= 6,
                "{sizes:?} cable {cable}: {load} of {bound}, {lanes} lanes"
            );
        }
    }
}

#[test]
fn one_failure_in_8x8x8_needs_six_constant_lanes() {
    let (graph, order) = torus(&[8, 8, 8], &[], &[77]);
    let (bound, load, lanes) = made(&graph, Some(&order), Some(Mode::Portable));
    assert!(load <= bound + 1 && lanes <= 6, "{load} of {bound}, {lanes} lanes");
}

#[test]
fn many_failures_are_served_within_eight_lanes() {
    let mut state = 1;
    for (sizes, cables) in [(&[5, 5, 5][..], 18), (&[6, 6, 4], 21), (&[8, 8], 6), (&[7, 7, 5], 36)] {
        let nodes = sizes.iter().product::<u32>() as usize;
        let gone = [draw(&mut state, nodes) as NodeId, draw(&mut state, nodes) as NodeId];
        let lost: Vec<usize> = (0..cables).map(|_| draw(&mut state, 1 << 20)).collect();
        let (graph, order) = torus(sizes, &lost, &gone);
        for mode in [Mode::Portable, Mode::Tables] {
            let (bound, load, lanes) = made(&graph, Some(&order), Some(mode));
            assert!(load * 100 <= bound * 104 && lanes <= 8, "{sizes:?}: {load} of {bound}, {lanes} lanes");
        }
    }
}

/// Ways that find no lane are bent: with fewer lanes than the tables at hand need, they change, and the check
/// finds neither a cycle nor a pair without a way.
#[test]
fn ways_without_a_lane_are_bent() {
    let (graph, order) = torus(&[6, 6], &[3, 11, 40], &[14]);
    let start = order.start(&graph, (0..35).collect());
    let laned = |lanes| {
        let request = ForwardingRequest { lanes, ..ForwardingRequest::default() };
        lane(&graph, &start, Some(&order), Mode::Portable, request, 1..=u64::MAX)
    };
    let whole = |&lanes: &usize| laned(lanes).is_some_and(|(table, _)| table == start);
    let needed = (1..=8).find(whole).expect("eight lanes suffice");
    let (table, lanes) = laned(needed - 1).expect("ways bend");
    let changed = table.next.iter().zip(&start.next).filter(|(new, old)| new != old).count();
    let verdict = check(&graph, &table, Some(&lanes.host_levels(&graph)), &lanes.rule(&graph));
    assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, 0));
    assert!(changed > 0 && lanes.lanes < needed, "{changed} changed, {} of {needed} lanes", lanes.lanes);
}

/// However few the lanes, there are tables: the check finds neither a cycle nor a pair without a way, and no
/// more lanes than were allowed.
#[test]
fn no_fabric_is_refused_for_want_of_lanes() {
    let mut state = 1;
    for case in sampled(0..6, 2) {
        let sizes: &[u32] = [&[8][..], &[5, 5], &[4, 3, 3]][case % 3];
        let cables: Vec<usize> = (0..case).map(|_| draw(&mut state, 70)).collect();
        let (plain, order) = torus(sizes, &cables, &[]);
        let hosts: Vec<u32> = (0..plain.switches()).map(|_| draw(&mut state, 4) as u32).collect();
        let ends: Vec<(u32, u32)> =
            (0..plain.channels() as u32).step_by(2).map(|channel| plain.ends(channel)).collect();
        let graph = Graph::new(hosts.clone(), &ends).unwrap();
        let roots: Vec<u32> = hosts
            .iter()
            .enumerate()
            .flat_map(|(switch, &hosts)| std::iter::repeat_n(switch as u32, hosts as usize))
            .collect();
        for (lanes, mode) in [(1, None), (2, Some(Mode::Portable)), (2, Some(Mode::Tables)), (3, None)] {
            for (order, reversible) in [(Some(&order), false), (None, false), (Some(&order), true)] {
                let request =
                    ForwardingRequest { lanes, mode, reversible, tries: 100_000, ..Default::default() };
                let made = forward(&graph, order, roots.clone(), None, None, request);
                let levels = made.lanes.host_levels(&graph);
                let verdict = check(&graph, &made.table, Some(&levels), &made.lanes.rule(&graph));
                assert_eq!(
                    (verdict.cycle().len(), verdict.problem_count()),
                    (0, graph.pairs_apart()),
                    "{case}"
                );
                assert!(verdict.uses.lanes as usize <= lanes && made.lanes.lanes <= lanes, "{case} {lanes}");
                if let Some(mode) = mode {
                    assert_eq!(made.lanes.mode, mode);
                }
            }
        }
    }
}

/// Three levels of switches with 8 ports whose numbers are drawn at random, less some cables; hosts hang off the lowest.
fn fat_tree(seed: u64, lost: usize) -> (Graph, Vec<u32>) {
    let (half, mut state) = (4_u32, seed);
    let mut number: Vec<u32> = (0..80).collect();
    (1..80).rev().for_each(|place| number.swap(place, draw(&mut state, place + 1)));
    let mut ends = Vec::new();
    for (pod, low, high) in (0..64 * 2).map(|n| (n / 16, n / 4 % 4, n % 4)) {
        ends.push((number[(pod * half + low) as usize], number[(32 + pod * half + high) as usize]));
        ends.push((number[(32 + pod * half + high) as usize], number[(64 + high * half + low) as usize]));
    }
    for _ in 0..lost {
        ends.swap_remove(draw(&mut state, ends.len()));
    }
    let mut hosts = vec![0; 80];
    number[..32].iter().for_each(|&leaf| hosts[leaf as usize] = half);
    let roots = number[..32].iter().flat_map(|&leaf| [leaf; 4]).collect();
    (Graph::new(hosts, &ends).unwrap(), roots)
}

#[test]
fn a_fat_tree_is_balanced_perfectly_for_all_pairs_and_for_shifts() {
    for seed in 1..4 {
        let (graph, roots) = fat_tree(seed, 0);
        let tree = FatTree::of(&graph).unwrap();
        assert_eq!(tree.sizes(), [32, 32, 16]);
        let made = forward(&graph, None, roots.clone(), None, None, ForwardingRequest::default());
        let largest = made.table.loads(&graph).into_iter().max();
        assert_eq!((largest, made.bound.value, made.lanes.lanes, made.method), (Some(124), 124, 1, "ftree"));
        let shifts = ShiftLoads::of(&graph, &tree, &made.table);
        assert_eq!((shifts.mean, shifts.worst, shifts.shifts), (1.0, 1, 127));
        // Balance alone knows no shifts.
        let request = ForwardingRequest { method: Some("balanced"), ..ForwardingRequest::default() };
        let other = forward(&graph, None, roots, None, None, request);
        let uneven = ShiftLoads::of(&graph, &tree, &other.table);
        assert!(uneven.mean > shifts.mean && uneven.worst > shifts.worst);
    }
}

#[test]
fn fat_trees_less_some_cables_keep_to_one_lane_and_near_the_bound() {
    for seed in 1..12 {
        let (graph, roots) = fat_tree(seed, 5);
        let made = forward(&graph, None, roots, None, None, ForwardingRequest::default());
        let levels = made.lanes.host_levels(&graph);
        let verdict = check(&graph, &made.table, Some(&levels), &made.lanes.rule(&graph));
        assert_eq!((verdict.cycle().len(), verdict.problem_count(), verdict.uses.lanes), (0, 0, 1));
        assert_eq!(made.method, "ftree");
        assert!(20 * verdict.uses.max_load() <= 21 * made.bound.value, "{seed}: {}", verdict.uses.max_load());
        let shifts = ShiftLoads::of(&graph, &FatTree::of(&graph).unwrap(), &made.table);
        assert!(shifts.mean < 3.3, "{}", shifts.mean);
    }
}

#[test]
fn what_is_no_fat_tree_is_not_taken_for_one() {
    assert!(FatTree::of(&torus(&[4, 4], &[], &[]).0).is_none());
    // A ring with hosts at every second switch: far leaves have no common ancestor.
    let ring: Vec<(u32, u32)> = (0..12).map(|n| (n, (n + 1) % 12)).collect();
    let hosts: Vec<u32> = (0..12).map(|n| 1 - n % 2).collect();
    assert!(FatTree::of(&Graph::new(hosts, &ring).unwrap()).is_none());
}

#[test]
fn a_repair_changes_few_entries() {
    let (healthy, order) = torus(&[6, 6, 4], &[], &[]);
    let (graph, broken) = torus(&[6, 6, 4], &[430], &[]);
    let table = order.start(&healthy, (0..144).collect());
    // The last cable takes the number of the one that is gone.
    let (gone, last) = (430 * 2, healthy.channels() as u32 - 2);
    let old: Vec<u32> = table
        .next
        .iter()
        .map(|&channel| match channel {
            NO_CHANNEL => NO_CHANNEL,
            channel if channel / 2 * 2 == gone => NO_CHANNEL,
            channel if channel / 2 * 2 == last => gone + channel % 2,
            channel => channel,
        })
        .collect();
    let request = ForwardingRequest { slack: 0.02, ..ForwardingRequest::default() };
    let made = forward(&graph, Some(&broken), (0..144).collect(), Some(&old), None, request);
    let changed = made.table.next.iter().zip(&old).filter(|(new, old)| new != old).count();
    let largest = made.table.loads(&graph).into_iter().max().unwrap();
    assert!(largest * 100 <= made.bound.value * 102, "{largest} of {}", made.bound.value);
    assert!(100 * changed <= made.table.next.len(), "{changed} of {} changed", made.table.next.len());
}

/// A torus less one cable: the graph, its order, and the tables of before in its numbers, with their levels.
fn broken(
    sizes: &[u32],
    cable: usize,
    request: ForwardingRequest,
) -> (Graph, DimensionOrder, Vec<u32>, Vec<u8>) {
    let (healthy, order) = torus(sizes, &[], &[]);
    let roots: Vec<u32> = (0..healthy.switches() as u32).collect();
    let request = ForwardingRequest { mode: Some(Mode::Portable), ..request };
    let made = forward(&healthy, Some(&order), roots, None, None, request);
    // The last cable takes the number of the one that is gone.
    let (gone, last) = (2 * cable as u32, healthy.channels() as u32 - 2);
    let renamed = |&channel: &u32| match channel {
        NO_CHANNEL => NO_CHANNEL,
        channel if channel / 2 * 2 == gone => NO_CHANNEL,
        channel if channel / 2 * 2 == last => gone + channel % 2,
        channel => channel,
    };
    let (graph, order) = torus(sizes, &[cable], &[]);
    (graph, order, made.table.next.iter().map(renamed).collect(), made.lanes.levels)
}

/// The round in which every entry is changed.
fn rounds_of(made: &Repaired, entries: usize) -> Vec<usize> {
    let mut rounds = vec![made.rounds.len(); entries];
    for (round, places) in made.rounds.iter().enumerate() {
        places.iter().for_each(|&place| rounds[place as usize] = round);
    }
    made.last.iter().for_each(|&place| rounds[place as usize] = made.rounds.len() + 1);
    rounds
}

#[test]
fn no_mixture_of_old_and_repaired_tables_can_deadlock() {
    for (sizes, cable) in [(&[4, 4, 4][..], 17), (&[8, 8], 40), (&[6, 6, 4], 301), (&[5, 5, 5], 200)] {
        let (graph, order, next, old_levels) = broken(sizes, cable, ForwardingRequest::default());
        let request = ForwardingRequest { tries: 5_000_000, slack: 0.02, ..Default::default() };
        let made = repaired(&graph, &order, &next, &old_levels, request);
        let bound = bound(&graph, Some(order.placed())).value;
        let load = made.table.max_load(&graph);
        assert!(load * 50 <= bound * 51 + 50, "{load} of {bound}");
    }
}

/// Repaired tables, of which no mixture with the old ones has a cycle.
fn repaired(
    graph: &Graph,
    order: &DimensionOrder,
    next: &[u32],
    levels: &[u8],
    request: ForwardingRequest,
) -> Repaired {
    let roots: Vec<u32> = (0..graph.switches() as u32).collect();
    let before = Before { next, levels, lost_next: &[], lost_levels: &[] };
    let made = repair(graph, Some(order), roots.clone(), before, None, request).unwrap();
    let verdict = check(graph, &made.table, Some(&made.levels), &LaneRule::Identity(8));
    assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, 0));
    let mut state = 9;
    let rounds = rounds_of(&made, next.len());
    for turn in 0..40 {
        let parts = 1 + draw(&mut state, 4);
        let now = turn % (made.rounds.len() + 2);
        // All entries of the rounds before, and some of this one.
        let mut mixed = |place: usize| {
            let some = draw(&mut state, parts + 1) > 0;
            let new = rounds[place] < now || rounds[place] == now && some;
            if new { made.table.next[place] } else { next[place] }
        };
        let entries = (0..next.len()).map(&mut mixed).collect();
        let table = Forwarding::new(graph.switches(), roots.clone(), entries);
        let (cycle, _, _) = slow(graph, &table, &made.levels, 8);
        assert!(!cycle);
    }
    made
}

/// Whether both directions between all switches have one level.
fn is_both_ways(levels: &[u8], switches: usize) -> bool {
    (0..switches).all(|a| (0..switches).all(|b| levels[a * switches + b] == levels[b * switches + a]))
}

#[test]
fn a_repair_keeps_both_directions_on_one_level() {
    for (sizes, cable) in [(&[4, 4, 4][..], 17), (&[8, 8], 40), (&[5, 5, 5], 200)] {
        let both = ForwardingRequest { reversible: true, lanes: 6, tries: 5_000_000, ..Default::default() };
        let (graph, order, next, levels) = broken(sizes, cable, both);
        let switches = graph.switches();
        assert!(is_both_ways(&levels, switches));
        let request = ForwardingRequest { tries: 5_000_000, slack: 0.02, ..Default::default() };
        let made = repaired(&graph, &order, &next, &levels, request);
        assert!(is_both_ways(&made.levels, switches));
    }
}

#[test]
fn both_directions_on_one_level_cost_little_load() {
    let gone = |cables: usize, seed: u64| -> Vec<usize> {
        let mut state = seed;
        (0..cables / 20).map(|_| draw(&mut state, cables - cables / 20)).collect()
    };
    let few = [(&[4, 4, 4][..], 2, 6), (&[6, 6], 2, 8), (&[8, 8], 3, 12)];
    for (sizes, lanes, more) in [(&[4, 4, 4][..], 8, 4), (&[8, 8], 8, 4)].into_iter().chain(few) {
        let nodes: usize = sizes.iter().map(|&size| size as usize).product();
        let cables = nodes * sizes.len() - 2 * sizes.len();
        let (graph, order) = torus(sizes, &gone(cables, 3), &[5]);
        // Few lanes suffice where the places of switches are known.
        for order in [Some(&order), None].into_iter().take(if lanes < 8 { 1 } else { 2 }) {
            let roots: Vec<u32> = (0..graph.switches() as u32).collect();
            let request = ForwardingRequest {
                lanes,
                reversible: true,
                tries: 5_000_000,
                ..ForwardingRequest::default()
            };
            let made = forward(&graph, order, roots, None, None, request);
            assert_eq!(made.lanes.mode, Mode::Portable);
            assert!(is_both_ways(&made.lanes.levels, graph.switches()) && made.lanes.lanes <= lanes);
            let (cycle, lost, loads) = slow(&graph, &made.table, &made.lanes.levels, 8);
            assert_eq!((cycle, lost), (false, graph.pairs_apart()));
            let load = loads.into_iter().max().unwrap();
            assert!(
                load * 100 <= made.balanced * (100 + more) + 100,
                "{sizes:?} {lanes}: {load} of {}",
                made.balanced
            );
        }
    }
}

#[test]
fn several_hosts_at_switches_cost_no_more_on_one_level_than_each_direction_alone() {
    let mut state = 7;
    let (one, order) = torus(&[6, 6], &[11, 40], &[5]);
    let hosts: Vec<u32> = (0..one.switches()).map(|_| 1 + draw(&mut state, 4) as u32).collect();
    let graph = one.with_hosts(hosts);
    let switches = graph.switches() as u32;
    let roots: Vec<u32> =
        (0..switches).flat_map(|switch| std::iter::repeat_n(switch, graph.hosts(switch) as usize)).collect();
    for (lanes, more) in [(6, 3), (3, 12)] {
        let request = ForwardingRequest { lanes, reversible: true, tries: 5_000_000, ..Default::default() };
        let made = forward(&graph, Some(&order), roots.clone(), None, None, request);
        assert!(!made.short_of_lanes && made.lanes.lanes <= lanes);
        let level = |row: usize, from: u32| made.lanes.levels[row * switches as usize + from as usize];
        for (row, &root) in roots.iter().enumerate() {
            for (back, &from) in roots.iter().enumerate().filter(|&(_, &from)| from != root) {
                assert_eq!(level(row, from), level(back, root));
            }
        }
        let (cycle, lost, _) = slow(&graph, &made.table, &made.lanes.levels, 8);
        assert_eq!((cycle, lost), (false, 0));
        let load = made.table.max_load(&graph);
        assert!(load * 100 <= made.balanced * (100 + more), "{lanes}: {load} of {}", made.balanced);
    }
}

/// The least load of all tables: every way to lead all switches to each destination is tried.
fn least_load(graph: &Graph, roots: &[u32], most: u64) -> u64 {
    let switches = graph.switches() as u32;
    let mut known = std::collections::HashSet::from([vec![0_u64; graph.channels()]]);
    for &root in roots {
        let mut rows = vec![vec![NO_CHANNEL; graph.switches()]];
        for switch in (0..switches).filter(|&switch| switch != root) {
            let with = |row: &Vec<u32>| {
                let mut row = row.clone();
                graph
                    .outgoing(switch)
                    .iter()
                    .map(move |&hop| {
                        row[switch as usize] = hop;
                        row.clone()
                    })
                    .collect::<Vec<_>>()
            };
            rows = rows.iter().flat_map(with).collect();
        }
        let leads = |table: &Forwarding| table.towards(graph, 0).len() == graph.switches();
        let loads: std::collections::HashSet<Vec<u64>> = rows
            .into_iter()
            .map(|row| Forwarding::new(graph.switches(), vec![root], row))
            .filter(leads)
            .map(|table| table.loads(graph))
            .collect();
        let sum = |one: &Vec<u64>, other: &Vec<u64>| -> Vec<u64> {
            one.iter().zip(other).map(|(a, b)| a + b).collect()
        };
        known = known
            .iter()
            .flat_map(|one| loads.iter().map(move |other| sum(one, other)))
            .filter(|sums| sums.iter().all(|&load| load <= most))
            .collect();
    }
    known.iter().filter_map(|sums| sums.iter().copied().max()).min().unwrap()
}

/// Hosts per switch, cables, the bound and the least load.
type Bound = (&'static [u32], Vec<(u32, u32)>, u64, u64);

#[test]
fn bounds_count_that_a_destination_takes_one_port_of_a_switch() {
    let two = |cables: usize| vec![(0, 1); cables];
    let ring = vec![(0, 1), (1, 2), (2, 0)];
    let cases: [Bound; 6] = [
        (&[3, 3], two(2), 6, 6),
        (&[4, 4], two(3), 8, 8),
        (&[2, 4], two(2), 4, 4),
        (&[2, 2, 2], ring.clone(), 4, 4),
        (&[3, 3], two(4), 3, 3),
        (&[3, 3, 3], [ring, two(1)].concat(), 9, 9),
    ];
    for (hosts, cables, bound, least) in cases {
        let graph = Graph::new(hosts.to_vec(), &cables).unwrap();
        let roots: Vec<u32> = (0..)
            .zip(hosts)
            .flat_map(|(switch, &hosts)| std::iter::repeat_n(switch, hosts as usize))
            .collect();
        let made = forward(&graph, None, roots.clone(), None, None, ForwardingRequest::default());
        let load = made.table.max_load(&graph);
        assert_eq!(
            (made.bound.value, least_load(&graph, &roots, load)),
            (bound, least),
            "{hosts:?} {cables:?}"
        );
        assert_eq!(load, least);
    }
}

#[test]
fn dependencies_close_no_cycle_on_any_number_of_lanes() {
    let (graph, _) = torus(&[4, 3], &[], &[]);
    for lanes in [1, 3, 8, 9, 15] {
        let mut known = Dependencies::new(&graph, lanes);
        let vertex = |(channel, lane): (u32, u8)| channel * 16 + u32::from(lane);
        let mut behind: Vec<Vec<u32>> = vec![Vec::new(); graph.channels() * 16];
        let mut state = lanes as u64;
        for _ in 0..4000 {
            let from = draw(&mut state, graph.channels()) as u32;
            let next = graph.outgoing(graph.ends(from).1);
            let to = (next[draw(&mut state, next.len())], draw(&mut state, lanes) as u8);
            let from = (from, draw(&mut state, lanes) as u8);
            let mut open = vec![vertex(to)];
            let mut met = vec![false; behind.len()];
            while let Some(here) = open.pop() {
                if !std::mem::replace(&mut met[here as usize], true) {
                    open.extend(&behind[here as usize]);
                }
            }
            let fits = !met[vertex(from) as usize];
            assert_eq!(known.add(from, to), fits, "{lanes} lanes: {from:?} to {to:?}");
            known.keep();
            if fits {
                behind[vertex(from) as usize].push(vertex(to));
                assert!(from.1 != to.1 || known.lanes(from.0, to.0) >> from.1 & 1 == 1);
            } else {
                assert!(known.refuses(from, to));
            }
        }
    }
}

/// Rings that are cut leave some pairs no way beside failures; a tree in every lane does.
#[test]
fn few_pairs_without_a_way_in_any_cut_ring_do_not_cost_all_others_their_lanes() {
    let mut state = 1;
    let gone = draw(&mut state, 216) as NodeId;
    let cables: Vec<usize> = (0..642 / 20).map(|_| draw(&mut state, 1 << 31)).collect();
    let (graph, order) = torus(&[6, 6, 6], &cables, &[gone]);
    let roots: Vec<u32> = (0..graph.switches() as u32).collect();
    let request = ForwardingRequest { reversible: true, tries: 12_000_000, ..ForwardingRequest::default() };
    let made = forward(&graph, Some(&order), roots, None, None, request);
    assert_eq!((made.lanes.mode, made.short_of_lanes), (Mode::Portable, false));
    assert!(is_both_ways(&made.lanes.levels, graph.switches()));
    let (cycle, lost, loads) = slow(&graph, &made.table, &made.lanes.levels, 8);
    assert_eq!((cycle, lost), (false, 0));
    let load = loads.into_iter().max().unwrap();
    assert!(load * 100 <= made.balanced * 106, "{load} of {}", made.balanced);
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn both_directions_of_all_pairs_have_one_level_on_drawn_fabrics(
        sizes in prop::sample::select(vec![vec![4, 4], vec![5, 3], vec![3, 3, 3], vec![6, 5]]),
        lost in prop::collection::vec(0_usize..1000, 0..5),
        node in 0_u32..15,
        lanes in 2_usize..=8,
        as_graph in any::<bool>(),
        seed in 0_u64..1000,
    ) {
        let (plain, order) = torus(&sizes, &lost, &[node]);
        let mut state = seed;
        let hosts: Vec<u32> = (0..plain.switches()).map(|_| draw(&mut state, 3) as u32).collect();
        let ends: Vec<(u32, u32)> =
            (0..plain.channels() as u32).step_by(2).map(|channel| plain.ends(channel)).collect();
        let graph = Graph::new(hosts.clone(), &ends).unwrap();
        let roots: Vec<u32> =
            (0..).zip(&hosts).flat_map(|(switch, &hosts)| vec![switch; hosts as usize]).collect();
        let request = ForwardingRequest {
            mode: Some(Mode::Portable),
            lanes,
            reversible: true,
            tries: 1_000_000,
            ..ForwardingRequest::default()
        };
        let order = Some(&order).filter(|_| !as_graph);
        let made = forward(&graph, order, roots.clone(), None, None, request);
        let switches = graph.switches();
        for (one, &root) in roots.iter().enumerate() {
            for (other, &there) in roots.iter().enumerate() {
                let (to, back) = (one * switches + there as usize, other * switches + root as usize);
                prop_assert_eq!(made.lanes.levels[to], made.lanes.levels[back]);
            }
        }
        let levels = made.lanes.host_levels(&graph);
        let verdict = check(&graph, &made.table, Some(&levels), &made.lanes.rule(&graph));
        prop_assert_eq!(verdict.problem_count(), graph.pairs_apart());
        // Only the ways of hosts have levels.
        let mut waits = petgraph::graph::DiGraph::<(), ()>::new();
        (0..graph.channels() * 8).for_each(|_| _ = waits.add_node(()));
        for (destination, &root) in roots.iter().enumerate() {
            for source in (0..switches as u32).filter(|&source| graph.hosts(source) > 0) {
                let level = usize::from(made.lanes.levels[destination * switches + source as usize]);
                prop_assert!(level < lanes);
                let place = |channel: u32| petgraph::graph::NodeIndex::new(channel as usize * 8 + level);
                let (row, mut at, mut way) = (made.table.row(destination), source, Vec::new());
                while at != root && row[at as usize] != NO_CHANNEL {
                    way.push(row[at as usize]);
                    at = graph.ends(row[at as usize]).1;
                }
                way.windows(2).for_each(|hops| _ = waits.add_edge(place(hops[0]), place(hops[1]), ()));
            }
        }
        prop_assert!(!petgraph::algo::is_cyclic_directed(&waits));
    }
}

/// A graph less a switch, and tables of before in the numbers of what is left: rows, levels, and those of lost hosts.
struct Less {
    graph: Graph,
    roots: Vec<u32>,
    rows: (Vec<u32>, Vec<u8>),
    lost: (Vec<u32>, Vec<u8>),
}

fn less(ends: &[(u32, u32)], hosts: &[u32], roots: &[u32], switch: u32) -> Less {
    let healthy = Graph::new(hosts.to_vec(), ends).unwrap();
    let request = ForwardingRequest { mode: Some(Mode::Portable), ..ForwardingRequest::default() };
    let made = forward(&healthy, None, roots.to_vec(), None, None, request);
    let place = |at: u32| at - u32::from(at > switch);
    let stays = |&(a, b): &(u32, u32)| a != switch && b != switch;
    let left: Vec<(u32, u32)> =
        ends.iter().filter(|ends| stays(ends)).map(|&(a, b)| (place(a), place(b))).collect();
    let mut next_cable = 0..;
    let cables: Vec<Option<u32>> =
        ends.iter().map(|ends| stays(ends).then(|| next_cable.next()).flatten()).collect();
    let renamed = |channel: u32| match channel {
        NO_CHANNEL => NO_CHANNEL,
        channel => cables[channel as usize / 2].map_or(NO_CHANNEL, |cable| 2 * cable + channel % 2),
    };
    let hosts = (0..).zip(hosts).filter(|&(at, _)| at != switch).map(|(_, &hosts)| hosts).collect();
    let (mut rows, mut lost) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for (destination, &root) in roots.iter().enumerate() {
        let kept = if root == switch { &mut lost } else { &mut rows };
        for at in (0..healthy.switches()).filter(|&at| at != switch as usize) {
            kept.0.push(renamed(made.table.row(destination)[at]));
            kept.1.push(made.lanes.levels[destination * healthy.switches() + at]);
        }
    }
    let roots = roots.iter().filter(|&&root| root != switch).map(|&root| place(root)).collect();
    Less { graph: Graph::new(hosts, &left).unwrap(), roots, rows, lost }
}

#[test]
fn a_lost_switch_is_repaired_round_by_round() {
    let ring = |n: u32| (0..n).map(move |at| (at, (at + 1) % n));
    let grid: Vec<(u32, u32)> = (0..6)
        .flat_map(|y| ring(6).map(move |(a, b)| (6 * y + a, 6 * y + b)))
        .chain((0..6).flat_map(|x| ring(6).map(move |(a, b)| (6 * a + x, 6 * b + x))))
        .collect();
    // Four pods of two edge and two other switches, and four cores.
    let mut tree = Vec::new();
    for (pod, low, high) in (0..16).map(|n| (n / 4, n / 2 % 2, n % 2)) {
        tree.push((2 * pod + low, 8 + 2 * pod + high));
        tree.push((8 + 2 * pod + high, 16 + 2 * high + low));
    }
    let hosts: Vec<u32> = (0..20).map(|switch| if switch < 8 { 2 } else { 0 }).collect();
    let fabrics = [
        (grid, vec![1; 36], (0..36).collect::<Vec<u32>>(), 0..36),
        (tree, hosts, (0..16).map(|host| host / 2).collect(), 8..20),
    ];
    let (mut first, mut last) = (0, 0);
    for (ends, hosts, roots, switches) in fabrics {
        for switch in switches {
            let Less { graph, roots, rows, lost } = less(&ends, &hosts, &roots, switch);
            let before = Before { next: &rows.0, levels: &rows.1, lost_next: &lost.0, lost_levels: &lost.1 };
            let request = ForwardingRequest { tries: 100_000, ..Default::default() };
            let made = repair(&graph, None, roots.clone(), before, None, request).expect("a repair");
            let rounds = rounds_of(&made, rows.0.len());
            first += made.rounds.len();
            last += made.last.len();
            let mut state = u64::from(switch);
            for now in 0..made.rounds.len() + 2 {
                let mut entry = |place: usize| {
                    let new = rounds[place] < now || rounds[place] == now && draw(&mut state, 2) > 0;
                    if new { made.table.next[place] } else { rows.0[place] }
                };
                let entries = (0..rounds.len()).map(&mut entry).collect();
                let table = Forwarding::new(graph.switches(), roots.clone(), entries);
                assert!(!slow(&graph, &table, &made.levels, 8).0, "round {now} without {switch}");
            }
            assert_eq!(
                slow(&graph, &made.table, &made.levels, 8).1,
                0,
                "all hosts are served without {switch}"
            );
        }
    }
    assert!(first > 0 && last > 0, "some need several rounds");
}

#[test]
fn levels_can_be_the_same_there_and_back() {
    for (cables, nodes, mode) in
        [(&[][..], &[][..], Mode::Portable), (&[7], &[3], Mode::Portable), (&[7], &[], Mode::Tables)]
    {
        let (graph, order) = torus(&[5, 5], cables, nodes);
        let switches = graph.switches();
        let request =
            ForwardingRequest { mode: Some(mode), reversible: true, ..ForwardingRequest::default() };
        let made = forward(&graph, Some(&order), (0..switches as u32).collect(), None, None, request);
        let levels = &made.lanes.levels;
        assert!(is_both_ways(levels, switches));
        let verdict = check(&graph, &made.table, Some(levels), &made.lanes.rule(&graph));
        assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, 0));
    }
}

#[test]
fn a_fabric_without_coordinates_is_routed_too() {
    // Two rings of five, spoke by spoke: the Petersen graph, all distances at most two.
    let cables: Vec<(u32, u32)> =
        (0..5).flat_map(|n| [(n, (n + 1) % 5), (n, n + 5), (n + 5, (n + 2) % 5 + 5)]).collect();
    let graph = Graph::new(vec![1; 10], &cables).unwrap();
    // 150 hops on 30 channels.
    assert_eq!(made(&graph, None, None).1, 5);
    let hosts = Graph::new(vec![3; 10], &cables).unwrap();
    assert_eq!(bound(&hosts, None).value, 45);
}

/// Deadlock, reach and loads pair by pair, hop by hop.
fn slow(graph: &Graph, table: &Forwarding, levels: &[u8], lanes: u8) -> (bool, u64, Vec<u64>) {
    let mut loads = vec![0; graph.channels()];
    let mut dependencies = petgraph::graph::DiGraph::<(), ()>::new();
    (0..graph.channels() * 16).for_each(|_| _ = dependencies.add_node(()));
    let vertex =
        |channel: u32, lane: u8| petgraph::graph::NodeIndex::new(channel as usize * 16 + usize::from(lane));
    let mut unreachable = 0;
    for (destination, &root) in table.roots.iter().enumerate() {
        for source in 0..graph.switches() as u32 {
            let mut path = Vec::new();
            let mut at = source;
            while at != root && path.len() <= graph.switches() {
                match table.row(destination)[at as usize] {
                    NO_CHANNEL => break,
                    channel => {
                        path.push(channel);
                        at = graph.ends(channel).1;
                    }
                }
            }
            if at != root {
                unreachable += 1;
                continue;
            }
            let lane = levels[destination * graph.switches() + source as usize] % lanes;
            path.iter().for_each(|&channel| loads[channel as usize] += 1);
            for pair in path.windows(2) {
                dependencies.add_edge(vertex(pair[0], lane), vertex(pair[1], lane), ());
            }
        }
    }
    (petgraph::algo::is_cyclic_directed(&dependencies), unreachable, loads)
}

proptest! {
    #[test]
    fn the_check_equals_walking_every_pair(
        sizes in prop::sample::select(vec![vec![4, 4], vec![5, 3], vec![3, 3, 3], vec![7]]),
        spoilt in prop::collection::vec((0_usize..1000, 0_usize..1000, 0_usize..8), 0..6),
        lanes in 1_u8..4,
        seed in 0_u64..1000,
    ) {
        let (graph, order) = torus(&sizes, &[seed as usize % 7], &[]);
        let switches = graph.switches();
        let mut table = order.start(&graph, (0..switches as u32).collect());
        for (destination, switch, port) in spoilt {
            let (destination, switch) = (destination % switches, switch % switches);
            let hop = graph.outgoing(switch as u32).get(port).copied().unwrap_or(NO_CHANNEL);
            if table.roots[destination] as usize != switch {
                table.next[destination * switches + switch] = hop;
            }
        }
        let mut state = seed;
        let levels: Vec<u8> = (0..switches * switches).map(|_| draw(&mut state, 16) as u8).collect();
        let fast = check(&graph, &table, Some(&levels), &LaneRule::Identity(lanes));
        let (cyclic, unreachable, loads) = slow(&graph, &table, &levels, lanes);
        prop_assert_eq!((!fast.cycle().is_empty(), fast.problem_count(), &fast.uses.loads), (cyclic, unreachable, &loads));
        for (waiting, next) in fast.cycle().iter().zip(fast.cycle().iter().cycle().skip(1)) {
            prop_assert_eq!(graph.ends(waiting.link).1, graph.ends(next.link).0);
        }
    }
}

/// Sends packets (source, destination, flits) over tables until all have arrived, through pipelined routers with a
/// channel per lane.
pub fn sent(
    graph: &Graph,
    table: &Forwarding,
    levels: Option<&[u8]>,
    rule: &LaneRule,
    packets: &[(u32, u32, u32)],
    (buffer, latency): (u32, u32),
) -> (Result<(), SimulationError>, Simulation) {
    let hosts = graph.all_hosts() as usize;
    let mut lists = vec![Vec::new(); hosts];
    for &(source, destination, length) in packets {
        lists[source as usize].push(Packet { destination, length, start: 0, slice: 0 });
    }
    let workload = Workload::Packets(PacketList::from_nodes(lists).unwrap());
    let following: Vec<u32> = (0..hosts).flat_map(|row| table.row(row).to_vec()).collect();
    let lanes = match rule {
        LaneRule::Identity(lanes) => Lanes::Levels(*lanes),
        LaneRule::Tables { start, entries } => Lanes::Tables(start.clone(), entries.clone()),
        LaneRule::Rising { switches, lanes } => Lanes::Rising(switches.clone(), *lanes),
    };
    let switched =
        Switched::new(graph, &following, (0..hosts as u32).collect(), levels.map(<[u8]>::to_vec), lanes);
    let mut options = booksim::Options::default();
    for (name, value) in [("num_vcs", switched.lanes()), ("vc_buf_size", buffer)] {
        assert!(options.set(name, &value.to_string()));
    }
    let (mut config, place) = (options.config().unwrap(), Place::Graph(graph, &switched));
    config.latency = latency;
    let mut run = Simulation::pipelined(&config, &place, &workload, &Setup::default()).unwrap();
    let ended = run.run(&Options { cycle_limit: Some(100_000), ..Options::default() });
    (ended, run)
}

#[test]
fn packets_cross_the_channels_that_the_loads_count() {
    let (graph, order) = torus(&[5, 4], &[3], &[7]);
    let roots: Vec<u32> = (0..graph.switches() as u32).collect();
    for mode in [Mode::Portable, Mode::Tables] {
        let request = ForwardingRequest { mode: Some(mode), ..ForwardingRequest::default() };
        let made = forward(&graph, Some(&order), roots.clone(), None, None, request);
        let (levels, rule) = (made.lanes.host_levels(&graph), made.lanes.rule(&graph));
        let pairs = (0..19).flat_map(|from| (1..19).map(move |step| (from, (from + step) % 19, 3)));
        let packets: Vec<_> = pairs.collect();
        for links in [(1, 1), (4, 1), (8, 3)] {
            let (ended, mut run) = sent(&graph, &made.table, Some(&levels), &rule, &packets, links);
            assert_eq!((ended, run.totals().unwrap().packets_delivered), (Ok(()), packets.len() as u64));
            let seen = run.links().unwrap();
            for (channel, load) in made.table.loads(&graph).into_iter().enumerate() {
                let channel = channel as u32;
                let at = run.pipeline().unwrap().output(graph.ends(channel).0, graph.place(channel));
                assert_eq!(seen.flits[at], 3 * load);
            }
        }
    }
}

#[test]
fn a_packet_alone_takes_its_stages_its_links_and_its_flits() {
    let (graph, order) = torus(&[6, 5], &[], &[]);
    let table = order.start(&graph, (0..30).collect());
    for latency in 1..4 {
        for destination in 1..30 {
            let packet = (0, destination, 6);
            // With buffers for a round trip nothing stops.
            let links = (2 * latency + 8, latency);
            let (_, mut run) = sent(&graph, &table, None, &LaneRule::Identity(1), &[packet], links);
            let hops = u64::from(graph.distances_to(destination)[0]);
            assert_eq!(
                run.totals().unwrap().duration,
                3 * (hops + 1) + hops * u64::from(latency + 1) + 4 + 5
            );
        }
    }
}

#[test]
fn rings_of_one_lane_come_to_a_stop_where_the_check_sees_a_cycle() {
    let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]).unwrap();
    let table = Forwarding::shortest(&ring, (0..5).collect());
    let packets: Vec<_> = (0..5).map(|source| (source, (source + 2) % 5, 30)).collect();
    let verdict = check(&ring, &table, None, &LaneRule::Identity(1));
    let (ended, mut run) = sent(&ring, &table, None, &LaneRule::Identity(1), &packets, (2, 1));
    let Err(SimulationError::Blocked { queues, .. }) = ended else { panic!("{ended:?}") };
    let mut waits = Vec::new();
    for spot in queues {
        let BlockedQueue::Link(switch, port, channel) = spot else { panic!("{spot:?}") };
        assert_eq!(channel, 0);
        waits.push(ring.outgoing(switch)[usize::from(port)]);
    }
    waits.sort_unstable();
    let mut seen: Vec<u32> = verdict.cycle().iter().map(|waiting| waiting.link).collect();
    seen.sort_unstable();
    // The check's shortest cycle may be the one of the other sense.
    let other: Vec<u32> = seen.iter().map(|channel| channel ^ 1).collect();
    assert!([seen, other].contains(&waits), "{waits:?}");
    assert_eq!(run.totals().unwrap().packets_delivered, 0);
    // The same packets with lanes.
    let made = forward(&ring, None, (0..5).collect(), None, None, ForwardingRequest::default());
    let (levels, rule) = (made.lanes.host_levels(&ring), made.lanes.rule(&ring));
    let (ended, mut run) = sent(&ring, &made.table, Some(&levels), &rule, &packets, (2, 1));
    assert_eq!((ended, run.totals().unwrap().packets_delivered), (Ok(()), 5));
}

/// Whether the numbers of the switches on a way fall, then rise, where one switch takes another channel.
fn falls_and_rises(
    graph: &Graph,
    table: &Forwarding,
    order: &[u32],
    (destination, from): (usize, u32),
    instead: Option<(u32, u32)>,
) -> bool {
    let number = |switch| order.iter().position(|&other| other == switch);
    let (mut at, mut rose) = (from, false);
    for _ in 0..graph.switches() {
        if at == table.roots[destination] {
            return true;
        }
        let channel = match instead {
            Some((switch, channel)) if switch == at => channel,
            _ => table.row(destination)[at as usize],
        };
        let there = graph.ends(channel).1;
        let rises = number(at) < number(there);
        if rose && !rises {
            return false;
        }
        (at, rose) = (there, rises);
    }
    false
}

/// Cables that survive, when the claims of a search have been tried one by one.
fn survivors(looks: u64) -> usize {
    let cables: Vec<_> = (0..9).flat_map(|from| [(from, (from + 1) % 9), (from, (from + 2) % 9)]).collect();
    let mut hosts = vec![1; 9];
    hosts[4] = 0;
    let graph = Graph::new(hosts, &cables).unwrap();
    let roots: Vec<u32> = (0..9).filter(|&switch| switch != 4).collect();
    let start = Forwarding::spread(&graph, roots);
    let request = SurviveRequest { lanes: 4, load: start.max_load(&graph) + 1, seed: 1, looks };
    let found = survive(&graph, &start, request, &false.into()).unwrap();
    let (table, switches) = (&found.table, graph.switches());
    let by_host = found.levels.chunks(switches);
    let by_host: Vec<u8> = by_host.flat_map(|row| [&row[..4], &row[5..]].concat()).collect();
    let verdict = check(&graph, table, Some(&by_host), &LaneRule::Identity(4));
    assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, 0));
    assert!(found.is_certified(&graph));
    let level = |row: usize, from: u32| usize::from(found.levels[row * switches + from as usize]);
    for (row, &root) in table.roots.iter().enumerate() {
        for (other, &from) in table.roots.iter().enumerate().filter(|&(other, _)| other != row) {
            assert_eq!(level(row, from), level(other, root));
            let lane = &found.orders[level(row, from)];
            assert!(falls_and_rises(&graph, table, lane, (row, from), None));
        }
    }
    let serves = |row: usize, switch: u32, port: u32| {
        let through = |from: u32| {
            let mut at = from;
            while at != switch && at != table.roots[row] {
                at = graph.ends(table.row(row)[at as usize]).1;
            }
            at == switch
        };
        table.roots.iter().filter(|&&from| from != table.roots[row] && through(from)).all(|&from| {
            falls_and_rises(&graph, table, &found.orders[level(row, from)], (row, from), Some((switch, port)))
        })
    };
    for (cable, &left) in found.left.iter().enumerate() {
        let over = (0..table.roots.len()).flat_map(|row| (0..9).map(move |switch| (row, switch))).filter(
            |&(row, switch)| {
                switch != table.roots[row] && table.row(row)[switch as usize] as usize / 2 == cable
            },
        );
        let served = over.clone().filter(|&(row, switch)| {
            let ports = graph.outgoing(switch);
            ports.iter().any(|&port| port as usize / 2 != cable && serves(row, switch, port))
        });
        assert_eq!(left == 0, served.count() == over.count(), "cable {cable}");
    }
    // Other numbers do not certify the tables.
    let mut other = found.clone();
    other.orders.iter_mut().for_each(|order| order.reverse());
    assert!(!other.is_certified(&graph));
    found.left.iter().filter(|&&left| left == 0).count()
}

#[test]
fn cables_that_survive_have_a_legal_backup_port_for_every_entry() {
    let (few, many) = (survivors(200), survivors(40_000));
    assert!(few < many && many > 12, "{few} and {many} of 18");
}

#[test]
fn what_cannot_be_searched_for_survivors_gives_none() {
    let request = SurviveRequest { lanes: 2, load: 9, seed: 1, looks: 1_000 };
    let found = |cables: &[(u32, u32)], switches: u32, interrupt: bool| {
        let graph = Graph::new(vec![1; switches as usize], cables).unwrap();
        let table = Forwarding::shortest(&graph, (0..switches).collect());
        survive(&graph, &table, request, &interrupt.into())
    };
    assert!(found(&[(0, 1), (1, 2), (2, 0)], 3, false).is_some());
    assert!(found(&[(0, 1), (1, 2), (2, 0)], 3, true).is_none());
    assert!(found(&[(0, 1), (2, 3)], 4, false).is_none());
    let ring: Vec<_> =
        (0..MOST_SWITCHES as u32 + 1).map(|a| (a, (a + 1) % (MOST_SWITCHES as u32 + 1))).collect();
    assert!(found(&ring, MOST_SWITCHES as u32 + 1, false).is_none());
}

#[test]
fn entries_that_no_packet_meets_may_go_round() {
    // The cable between the two switches with hosts is gone.
    let left = Graph::new(vec![1, 1, 0, 0], &[(1, 2), (2, 3), (2, 0)]).unwrap();
    let next = [NO_CHANNEL, NO_CHANNEL, 2, 3, 5, NO_CHANNEL, 1, NO_CHANNEL];
    let before = Before { next: &next, levels: &[0; 8], lost_next: &[], lost_levels: &[] };
    let found = patch(&left, &[0, 1], before, 1, &[1], None).unwrap();
    assert_eq!((found.next[1], found.next[2], found.rounds), (0, 4, vec![vec![2]]));
}
