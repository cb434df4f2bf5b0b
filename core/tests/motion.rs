//! Packets on tables by destination, held against a slow simulator flit by flit on random graphs and products.

use crate::common::cases;
use crate::reference::hosts;
use flitloom_core::{
    fabric::Graph,
    forwarding::{Forwarding, HostPacket, LaneRule, Links, MotionEnd, send},
    traffic::{Purpose, draw_below},
};
use proptest::{collection::vec, prelude::*};

/// A graph with its packets, and how many lanes by how many service levels.
#[derive(Clone, Debug)]
struct Case {
    hosts: Vec<u32>,
    cables: Vec<(u32, u32)>,
    lanes: u8,
    /// Of the service levels of pairs.
    seed: u64,
    links: Links,
    packets: Vec<(u32, u32, u32, u64)>,
}

/// Rings, products of paths and rings, and any other graphs, some of them in pieces and with parallel cables.
fn cables() -> impl Strategy<Value = (u32, Vec<(u32, u32)>)> {
    let ring = |size: u32| (0..size).map(move |node| (node, (node + 1) % size));
    let product = (2..=4_u32, 3..=4_u32).prop_map(move |(width, height)| {
        let across = (0..height).flat_map(|y| (1..width).map(move |x| (y * width + x - 1, y * width + x)));
        let along = (0..width).flat_map(|x| ring(height).map(move |(a, b)| (a * width + x, b * width + x)));
        (width * height, across.chain(along).collect())
    });
    let rings = (3..=9_u32).prop_map(move |size| (size, ring(size).collect()));
    let any = (2..=9_u32).prop_flat_map(|switches| {
        let cable = (0..switches, 1..switches).prop_map(move |(a, by)| (a, (a + by) % switches));
        (Just(switches), vec(cable, 1..=16))
    });
    prop_oneof![2 => rings, 1 => product, 2 => any]
}

fn networks() -> impl Strategy<Value = Case> {
    cables().prop_flat_map(|(switches, cables)| {
        let hosts = vec(prop_oneof![1 => Just(0_u32), 4 => Just(1), 2 => 2..=3_u32], switches as usize)
            .prop_map(|mut hosts| {
                hosts[0] = hosts[0].max(1);
                hosts
            });
        let links = (1..=6_u32, 1..=4_u32).prop_map(|(buffer, latency)| Links { buffer, latency });
        let packet = (any::<u32>(), any::<u32>(), 1..=9_u32, prop_oneof![2 => Just(0), 1 => 0..90_u64]);
        // Every host sends to the one so many further on, all at once; or anybody to anybody.
        let together = (1..=4_u32, 1..=4_u32, 3..=9_u32).prop_map(|(by, count, flits)| {
            let hosts =
                (0..3 * 16).flat_map(move |host| (0..count).map(move |_| (host, host + by, flits, 0)));
            hosts.collect()
        });
        let packets = prop_oneof![vec(packet, 0..=60), together];
        (Just(cables), hosts, 1..=4_u8, any::<u64>(), links, packets).prop_map(
            |(cables, hosts, lanes, seed, links, packets)| Case {
                hosts,
                cables,
                lanes,
                seed,
                links,
                packets,
            },
        )
    })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn packets_move_as_in_the_reference(case in networks(), spread in any::<bool>()) {
        let Case { hosts, cables, lanes, seed, links, packets } = case;
        let graph = Graph::new(hosts.clone(), &cables).unwrap();
        let all = hosts.iter().sum::<u32>();
        // A row per host, at its switch.
        let roots: Vec<u32> = (0..).zip(&hosts).flat_map(|(switch, &hosts)| vec![switch; hosts as usize]).collect();
        let table = if spread {
            Forwarding::spread(&graph, roots.clone())
        } else {
            Forwarding::shortest(&graph, roots.clone())
        };
        let packets: Vec<HostPacket> = packets
            .into_iter()
            .map(|(from, to, flits, start)| HostPacket { source: from % all, destination: to % all, flits, start })
            .collect();
        let levels: Vec<u8> =
            (0..all * all).map(|pair| draw_below(seed, pair, Purpose::Shuffle, 0, 16) as u8).collect();
        let rule = LaneRule::Identity(lanes);
        let motion = send(&graph, &table, Some(&levels), &rule, &packets, links, u64::MAX);

        let near: Vec<Vec<u16>> = roots.iter().map(|&root| graph.distances_to(root)).collect();
        let reached = |packet: &HostPacket| {
            near[packet.destination as usize][roots[packet.source as usize] as usize] < u16::MAX
        };
        let served: Vec<HostPacket> = packets.iter().copied().filter(reached).collect();
        let lane = |to: usize, from: usize| usize::from(levels[to * all as usize + from] % lanes);
        let expected = hosts::send(&graph, &table, lane, lanes.into(), &served, links);
        prop_assert_eq!(motion.unreachable as usize, packets.len() - served.len());
        prop_assert_eq!(matches!(motion.end, MotionEnd::Deadlock(_)), expected.stuck);
        prop_assert_eq!(&motion.flits, &expected.flits);
        prop_assert_eq!((motion.cycles, motion.delivered), (expected.cycles, expected.delivered));
        prop_assert_eq!(motion.latency_sum, expected.latencies.iter().map(|&cycles| u128::from(cycles)).sum());
        prop_assert_eq!(motion.latency_max, expected.latencies.iter().copied().max().unwrap_or(0));
        if let MotionEnd::Deadlock(hops) = &motion.end {
            // Channels that wait for each other follow each other, round in a circle.
            prop_assert!(!hops.is_empty());
            for (hop, next) in hops.iter().zip(hops.iter().cycle().skip(1)) {
                prop_assert_eq!(graph.ends(hop.channel).1, graph.ends(next.channel).0);
            }
        }
    }
}

/// The random cases contain deadlocks and waits for lanes.
#[test]
fn some_cases_get_stuck() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut stuck = 0;
    for _ in 0..300 {
        let case = networks().new_tree(&mut runner).unwrap().current();
        let graph = Graph::new(case.hosts.clone(), &case.cables).unwrap();
        let roots: Vec<u32> =
            (0..).zip(&case.hosts).flat_map(|(switch, &hosts)| vec![switch; hosts as usize]).collect();
        let all = roots.len() as u32;
        let packets: Vec<HostPacket> = case
            .packets
            .iter()
            .map(|&(from, to, flits, start)| HostPacket {
                source: from % all,
                destination: to % all,
                flits,
                start,
            })
            .collect();
        let table = Forwarding::shortest(&graph, roots);
        let motion = send(&graph, &table, None, &LaneRule::Identity(1), &packets, case.links, u64::MAX);
        stuck += usize::from(matches!(motion.end, MotionEnd::Deadlock(_)));
    }
    assert!((5..150).contains(&stuck), "{stuck} of 300");
}
