//! Tables of two-coloured graphs on lanes that rise from hop to hop: what they are proven by, checked by and run on.

use crate::tables_by_destination::sent;
use flitloom_core::fabric::Graph;
use flitloom_core::routes::by_destination::{
    ForwardingRequest, LaneRule, LanedForwarding, Mode, PairLanes, check, forward,
};
use flitloom_core::routes::methods::rising;
use proptest::prelude::*;

/// A graph of two sides with as many switches each: every switch of one is joined by some cables to those of the other.
fn two_sides(half: u32, degree: u32, seed: u64) -> Graph {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    let mut cables = Vec::new();
    for _ in 0..degree {
        let mut ends: Vec<u32> = (0..half).collect();
        for place in (1..half).rev() {
            ends.swap(place as usize, draw(place + 1) as usize);
        }
        cables.extend((0..half).map(|switch| (2 * switch, 2 * ends[switch as usize] + 1)));
    }
    Graph::new(vec![1; 2 * half as usize], &cables).unwrap()
}

fn made(graph: &Graph) -> LanedForwarding {
    let request = ForwardingRequest { method: Some("colours"), ..ForwardingRequest::default() };
    forward(graph, None, (0..graph.switches() as u32).collect(), None, None, request)
}

/// The hops of a packet: the switch each leaves, and its lane.
fn hops(graph: &Graph, made: &LanedForwarding, source: u32, destination: usize) -> Vec<(u32, usize)> {
    let PairLanes { rising, .. } = &made.lanes;
    let (mut at, mut lane, mut hops) = (source, 0, Vec::new());
    while at != made.table.roots[destination] {
        lane += usize::from(!hops.is_empty() && rising[at as usize]);
        hops.push((at, lane));
        at = graph.ends(made.table.row(destination)[at as usize]).1;
        assert!(hops.len() < graph.switches());
    }
    hops
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn numbers_by_lane_and_switch_rise_along_every_hop(half in 3_u32..20, degree in 1_u32..4, seed in 0_u64..1000) {
        let graph = two_sides(half, degree, seed);
        let made = made(&graph);
        prop_assert_eq!((made.method, made.lanes.mode), ("colours", Mode::Rising));
        let mut highest = 0;
        for destination in 0..made.table.roots.len() {
            let root = made.table.roots[destination];
            let far = graph.distances_to(root);
            for source in (0..graph.switches() as u32).filter(|&source| far[source as usize] != u16::MAX) {
                let hops = hops(&graph, &made, source, destination);
                prop_assert_eq!(hops.len(), usize::from(far[source as usize]), "ways are shortest");
                let number = |&(at, lane): &(u32, usize)| 2 * lane + usize::from(!made.lanes.rising[at as usize]);
                prop_assert!(hops.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])));
                highest = highest.max(hops.last().map_or(0, |hop| hop.1));
            }
        }
        prop_assert_eq!(made.lanes.lanes, highest + 1, "no lane is for nothing");
        let apart = graph.pairs_apart();
        let verdict = check(&graph, &made.table, None, &made.lanes.rule(&graph));
        prop_assert_eq!((verdict.cycle().len(), verdict.problem_count()), (0, apart));
        prop_assert_eq!(verdict.uses.lanes as usize, made.lanes.lanes);
        prop_assert_eq!(verdict.uses.max_load(), made.table.max_load(&graph));
    }

    #[test]
    fn no_lane_rises_on_fewer_lanes_where_the_other_colour_raises(half in 3_u32..20, degree in 1_u32..4, seed in 0_u64..1000) {
        let graph = two_sides(half, degree, seed);
        let roots: Vec<u32> = (0..graph.switches() as u32).collect();
        let found = rising(&graph, &roots).unwrap();
        let made = made(&graph);
        let other = |switches: Vec<bool>| {
            let rule = LaneRule::Rising { switches, lanes: 15 };
            check(&graph, &made.table, None, &rule).uses.lanes as usize
        };
        let turned = found.switches.iter().map(|&rises| !rises).collect();
        prop_assert_eq!(other(found.switches), found.lanes);
        prop_assert!(other(turned) >= found.lanes);
    }
}

#[test]
fn an_odd_cycle_is_named_and_a_tree_needs_no_second_lane() {
    let cables = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 1)];
    let graph = Graph::new(vec![1; 6], &cables).unwrap();
    let cycle = rising(&graph, &[0, 1, 2, 3, 4, 5]).unwrap_err();
    assert_eq!(cycle.len(), 5);
    let joined = |a: u32, b: u32| cables.contains(&(a, b)) || cables.contains(&(b, a));
    assert!((0..5).all(|place| joined(cycle[place], cycle[(place + 1) % 5])), "{cycle:?}");
    let star = Graph::new(vec![0, 1, 1, 1], &[(0, 1), (0, 2), (0, 3)]).unwrap();
    assert_eq!(rising(&star, &[1, 2, 3]).map(|found| found.lanes), Ok(1));
}

#[test]
fn packets_that_stand_still_on_one_lane_arrive_on_lanes_that_rise() {
    let ring: Vec<(u32, u32)> = (0..8).map(|switch| (switch, (switch + 1) % 8)).collect();
    let ring = Graph::new(vec![1; 8], &ring).unwrap();
    for graph in [ring, two_sides(12, 3, 5), two_sides(16, 3, 11)] {
        let made = made(&graph);
        let hosts = graph.switches() as u32;
        // Every host sends to all others at once, with packets that fill several buffers.
        let pairs = (0..hosts).flat_map(|from| (1..hosts).map(move |step| (from, (from + step) % hosts, 20)));
        let packets: Vec<_> = pairs.collect();
        let rule = made.lanes.rule(&graph);
        for links in [(2, 1), (4, 3)] {
            let (ended, mut run) = sent(&graph, &made.table, None, &rule, &packets, links);
            assert_eq!((ended, run.totals().unwrap().packets_delivered), (Ok(()), packets.len() as u64));
            let seen = run.links().unwrap();
            for (channel, load) in made.table.loads(&graph).into_iter().enumerate() {
                let channel = channel as u32;
                let at = run.pipeline().unwrap().output(graph.ends(channel).0, graph.place(channel));
                assert_eq!(seen.flits[at], 20 * load);
            }
        }
        let LaneRule::Rising { switches, lanes } = rule else { panic!("{rule:?}") };
        let one = LaneRule::Rising { switches, lanes: 1 };
        assert!(lanes > 1 && !check(&graph, &made.table, None, &one).cycle().is_empty());
        let (ended, _) = sent(&graph, &made.table, None, &one, &packets, (2, 1));
        assert!(ended.is_err());
    }
}

#[test]
fn tables_of_a_graph_with_translations_are_even() {
    // The double cover of a circulant: switch 2 a and 2 b + 1 are joined if b - a is one of the steps, modulo 61.
    let steps = [0, 3, 15, 23, 36];
    let cables: Vec<(u32, u32)> =
        (0..61).flat_map(|a| steps.map(|step| (2 * a, 2 * ((a + step) % 61) + 1))).collect();
    let graph = Graph::new(vec![1; 122], &cables).unwrap();
    let maps = graph.translations().unwrap();
    let joined = |a: u32, b: u32| graph.outgoing(a).iter().any(|&channel| graph.ends(channel).1 == b);
    for (there, map) in (0_u32..).zip(&maps) {
        assert_eq!(map[0], there);
        assert!(cables.iter().all(|&(a, b)| joined(map[a as usize], map[b as usize])));
        for other in &maps {
            let both: Vec<u32> = other.iter().map(|&switch| map[switch as usize]).collect();
            assert_eq!(both, maps[both[0] as usize], "they follow each other as one of them");
        }
    }
    let made = made(&graph);
    let loads = made.table.loads(&graph);
    assert_eq!((loads.iter().max(), made.bound.value), (Some(&83), 83));
}
