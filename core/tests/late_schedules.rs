//! Plans for late nodes and operations without barriers, against the engine and exhaustive search.

use flitloom_core::{
    engine::{self, Network, SimulationError},
    fabric::{Direction, Fabric, LinkId, NodeId, Shape, Sign},
    router::RouterConfig,
    routing::{ChannelRule, Datelines, Line},
    schedule::{
        Budget, Demand, Dependencies, Placement, PlannedPacket, Problem, RouteChoice, Slicing, Spread,
        chain_bound, dependencies, duration_of, greedy, packet_list, planned_packets, separate, solve,
        spread, verify,
    },
    traffic::{CollectiveOperation, Group, Purpose, Workload, draw_below},
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn path(fabric: &Fabric, source: NodeId, hops: &[(usize, Sign)]) -> Vec<LinkId> {
    let mut here = source;
    hops.iter()
        .map(|&(dimension, sign)| {
            let direction = Direction::new(dimension, sign);
            let link = fabric.link(here, direction);
            here = fabric.shape().neighbour(here, direction).unwrap();
            link
        })
        .collect()
}

/// Four packets that turn around one square, each into the link the next one leaves by.
fn square(fabric: &Fabric) -> Vec<PlannedPacket> {
    use Sign::{Minus, Plus};
    let corners = [
        (0, 5, [(0, Plus), (1, Plus)]),
        (1, 4, [(1, Plus), (0, Minus)]),
        (5, 0, [(0, Minus), (1, Minus)]),
        (4, 1, [(1, Minus), (0, Plus)]),
    ];
    corners
        .into_iter()
        .map(|(source, destination, hops)| PlannedPacket {
            source,
            destination,
            length: 20,
            start: 0,
            slice: 0,
            path: path(fabric, source, &hops),
        })
        .collect()
}

fn run(fabric: &Fabric, packets: &[PlannedPacket], rule: ChannelRule, first: &[u8]) -> Result<u64, bool> {
    let (channels, datelines) = (rule.channels(), rule.datelines());
    let router = RouterConfig { channels, datelines, ..RouterConfig::for_shape(fabric.shape()) };
    let network = Network::new(fabric.clone(), router).unwrap();
    let workload = Workload::Packets(packet_list(fabric, packets, first).unwrap());
    match engine::simulate(&network, &workload, &Default::default()) {
        Ok(outcome) => Ok(outcome.duration),
        Err(error) => Err(matches!(error, SimulationError::Deadlock { .. })),
    }
}

#[test]
fn packets_in_a_square_deadlock_until_they_are_separated() {
    let fabric = Fabric::new(Shape::mesh(&[4, 4]).unwrap());
    let packets = square(&fabric);
    assert_eq!(run(&fabric, &packets, both(3), &[]), Err(true));
    let cycle = dependencies(&fabric, &packets, both(3), &[]).order(false).unwrap_err();
    assert_eq!(cycle.len(), 4);
    let found = separate(&fabric, &packets, Datelines::BOTH).unwrap();
    assert!(run(&fabric, &packets, both(found.channels), &found.first).is_ok());
}

/// A packet in the opposite order of dimensions begins above those in order; every dateline takes one more.
#[test]
fn separation_counts_the_datelines_of_a_way() {
    let fabric = Fabric::new(Shape::torus(&[4, 4]).unwrap());
    let plus = |dimension: usize, hops: usize| vec![(dimension, Sign::Plus); hops];
    let packet = |source, destination, hops: &[(usize, Sign)]| PlannedPacket {
        source,
        destination,
        length: 4,
        start: 0,
        slice: 0,
        path: path(&fabric, source, hops),
    };
    // Datelines lie between 1 and 2, and between 3 and 0: from node 5 = (1, 1), one is crossed along each way.
    let across = packet(5, 10, &[plus(1, 1), plus(0, 1)].concat());
    let inside = packet(0, 5, &[plus(1, 1), plus(0, 1)].concat());
    let along = packet(0, 2, &plus(0, 2));
    let found = |packets: &[PlannedPacket]| {
        let found = separate(&fabric, packets, Datelines::BOTH).unwrap();
        (found.channels, found.first)
    };
    assert_eq!(found(std::slice::from_ref(&along)), (3, vec![0]));
    assert_eq!(found(&[inside]), (4, vec![3]));
    assert_eq!(found(&[across.clone(), along.clone()]), (6, vec![3, 0]));
    // Who begins above the highest channel begins in the highest.
    let edges = |first: u8| {
        let graph = dependencies(&fabric, &[across.clone(), along.clone()], both(3), &[first, first]);
        let targets = |from| graph.targets(from).collect::<Vec<_>>();
        (0..graph.vertices() as u32).map(targets).collect::<Vec<_>>()
    };
    assert_eq!(edges(9), edges(2));
    assert_ne!(edges(9), edges(1));
}

fn both(channels: u8) -> ChannelRule {
    ChannelRule::new(channels, Datelines::BOTH)
}

/// Whether a packet goes up on a hop over a dateline, as docs/router.md says it of the reading by name.
fn goes_up(name: &str, line: Line, is_first: bool, is_odd: bool) -> bool {
    match name {
        "both" => true,
        "wrap" => line == Line::Wrap,
        "passing" => line == Line::Mid || !is_first,
        "checkerboard" => !(is_first && is_odd),
        other => panic!("{other} is not known here"),
    }
}

/// Whether a walk along dependencies comes back, by a depth-first search over the hops of the packets.
fn has_cycle(fabric: &Fabric, packets: &[PlannedPacket], name: &str, channels: u8, first: &[u8]) -> bool {
    let mut edges: BTreeMap<(LinkId, u8), BTreeSet<(LinkId, u8)>> = BTreeMap::new();
    for (packet, &first) in packets.iter().zip(first) {
        let mut channel = first;
        let mut before = None;
        for &link in &packet.path {
            let (node, direction) = fabric.link_ends(link);
            let is_odd = fabric.shape().coordinates(node).iter().sum::<u32>() % 2 == 1;
            let crossed = Line::crossed(fabric.shape(), node, direction);
            if crossed.is_some_and(|line| goes_up(name, line, before.is_none(), is_odd)) {
                channel = (channel + 1).min(channels - 1);
            }
            if let Some(before) = before {
                edges.entry(before).or_default().insert((link, channel));
            }
            before = Some((link, channel));
        }
    }
    // Vertices without a successor are taken away until none is left, or only circles and what leads to them.
    loop {
        let sinks: Vec<(LinkId, u8)> = edges
            .iter()
            .filter(|(_, next)| next.iter().all(|vertex| !edges.contains_key(vertex)))
            .map(|(&vertex, _)| vertex)
            .collect();
        if sinks.is_empty() {
            return !edges.is_empty();
        }
        sinks.iter().for_each(|vertex| drop(edges.remove(vertex)));
    }
}

fn random_demands(shape: &Shape, seed: u64, length: u32) -> Vec<Demand> {
    let nodes = shape.nodes() as u32;
    let demand = |source| {
        let destination = draw_below(seed, source, Purpose::Destination, 0, nodes);
        Demand { source, destination, length, slices: 1 }
    };
    (0..nodes).map(demand).collect()
}

/// The shortest schedule of jobs that wait for each other, by trying all starts.
fn exhaustive(problem: &Problem, phases: &[usize], ends: &[(NodeId, NodeId)], target: u32) -> bool {
    fn extend(
        problem: &Problem,
        phase_of: &[usize],
        ends: &[(NodeId, NodeId)],
        target: u32,
        starts: &mut Vec<u32>,
    ) -> bool {
        let job = starts.len();
        if job == ends.len() {
            return true;
        }
        let route = &problem.jobs()[job].routes[0];
        let Some(last) = target.checked_sub(route.span) else { return false };
        (0..=last).any(|start| {
            let fits = starts.iter().enumerate().all(|(other, &at)| {
                let theirs = &problem.jobs()[other];
                let arrived = at + theirs.routes[0].span - 1 <= start;
                let waits = phase_of[other] < phase_of[job] && ends[other].1 == ends[job].0;
                let free = theirs.routes[0].uses.iter().all(|their| {
                    route.uses.iter().all(|own| {
                        let (a, b) = (start + own.offset, at + their.offset);
                        own.resource != their.resource
                            || a >= b + theirs.length
                            || b >= a + problem.jobs()[job].length
                    })
                });
                free && (arrived || !waits)
            });
            starts.push(start);
            let found = fits && extend(problem, phase_of, ends, target, starts);
            starts.truncate(job);
            found
        })
    }
    let phase_of: Vec<usize> =
        phases.iter().enumerate().flat_map(|(phase, &jobs)| std::iter::repeat_n(phase, jobs)).collect();
    extend(problem, &phase_of, ends, target, &mut Vec::new())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn separated_packets_have_no_circle(
        seed in any::<u64>(), three in any::<bool>(), bends in any::<bool>(),
        (name, datelines) in prop::sample::select(Datelines::NAMES.to_vec()),
    ) {
        let shape = Shape::torus(if three { &[3, 4, 2] } else { &[5, 4] }).unwrap();
        let fabric = Fabric::new(shape.clone());
        let choice = if bends { RouteChoice::TwoBends } else { RouteChoice::AnyOrder };
        let demands = random_demands(&shape, seed, 4);
        let problem = Problem::new(&fabric, &demands, Slicing::Free, choice).unwrap();
        let placements: Vec<Placement> = problem.jobs().iter().enumerate().map(|(job, description)| {
            let routes = description.routes.len() as u32;
            Placement { route: draw_below(seed, job as u32, Purpose::Shuffle, 1, routes), start: 0 }
        }).collect();
        let packets = planned_packets(&demands, Slicing::Free, &problem, &placements);
        let usual = RouterConfig::for_shape(&shape).channels;
        let plain = vec![0; packets.len()];
        let free = dependencies(&fabric, &packets, ChannelRule::new(usual, datelines), &plain).order(false).is_ok();
        prop_assert_eq!(free, !has_cycle(&fabric, &packets, name, usual, &plain));
        let found = separate(&fabric, &packets, datelines).unwrap();
        prop_assert!(!has_cycle(&fabric, &packets, name, found.channels, &found.first));
        // All at once is as late as packets can be to each other.
        prop_assert!(run(&fabric, &packets, ChannelRule::new(found.channels, datelines), &found.first).is_ok());
    }

    #[test]
    fn spread_keeps_plans_free_of_conflicts(seed in any::<u64>(), slices in 1_u32..3, extra in 0_u32..6) {
        let shape = Shape::torus(&[5, 4]).unwrap();
        let fabric = Fabric::new(shape.clone());
        let mut demands = random_demands(&shape, seed, 3);
        demands.iter_mut().for_each(|demand| demand.slices = slices);
        let slicing = Slicing::Interval(5);
        let problem = Problem::new(&fabric, &demands, slicing, RouteChoice::DimensionOrder).unwrap();
        let packets = planned_packets(&demands, slicing, &problem, &greedy(&problem));
        let rigid = Problem::of_packets(&fabric, &packets, true).unwrap();
        prop_assert_eq!(rigid.jobs().len(), demands.len());
        let placements: Vec<Placement> = rigid
            .jobs()
            .iter()
            .map(|job| Placement { route: 0, start: packets[job.origin.0].start as u32 })
            .collect();
        let target = duration_of(&rigid, &placements) + extra;
        let settings = Spread { target, reach: 6, sweeps: 20, seed };
        let found = spread(&rigid, &placements, settings);
        prop_assert_eq!(&found, &spread(&rigid, &placements, settings));
        let mut wide = packets.clone();
        for (job, placement) in rigid.jobs().iter().zip(&found) {
            for slice in 0..slices as usize {
                wide[job.origin.0 + slice].start = u64::from(placement.start) + 5 * slice as u64;
            }
        }
        prop_assert!(verify(&fabric, &wide).unwrap() <= target.into());
    }

    #[test]
    fn chains_are_bounded_and_tightened(seed in any::<u64>(), length in 1_u32..3) {
        let fabric = Fabric::new(Shape::torus(&[3, 3]).unwrap());
        let random = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index, bound);
        let phases = [2, 1 + random(90, 2) as usize, 1];
        let jobs: usize = phases.iter().sum();
        let ends: Vec<(NodeId, NodeId)> =
            (0..jobs as u64).map(|job| (random(2 * job, 3), 2 + random(2 * job + 1, 3))).collect();
        let demands: Vec<Demand> = ends
            .iter()
            .map(|&(source, destination)| Demand { source, destination, length, slices: 1 })
            .collect();
        let problem =
            Problem::new(&fabric, &demands, Slicing::OneInterval, RouteChoice::DimensionOrder).unwrap();
        let order = Dependencies::of_phases(&ends, &phases);
        let problem = problem.in_phases(order.clone());
        let bound = chain_bound(&problem);
        prop_assert!(!exhaustive(&problem, &phases, &ends, bound - 1));
        let one_by_one: u32 = problem.jobs().iter().map(|job| job.routes[0].span).sum();
        let mut budget = Budget::of_moves(2_000);
        let found = solve(&fabric, &problem, seed, &mut budget, &mut |_| ()).unwrap().schedule.placements;
        prop_assert!(order.holds(&problem, &found));
        let packets = planned_packets(&demands, Slicing::OneInterval, &problem, &found);
        let duration = duration_of(&problem, &found);
        prop_assert_eq!(verify(&fabric, &packets), Ok(duration.into()));
        prop_assert!(exhaustive(&problem, &phases, &ends, duration));
        prop_assert!(duration <= one_by_one);
    }

    #[test]
    fn operations_of_any_group_deliver(seed in any::<u64>(), members in 2_usize..12, boxed in any::<bool>()) {
        let shape = Shape::torus(&[4, 3, 2]).unwrap();
        let random = |index, bound| draw_below(seed, 0, Purpose::Shuffle, index, bound);
        let mut chosen: BTreeSet<NodeId> = BTreeSet::new();
        if boxed {
            let columns: BTreeSet<u32> = (0..3).map(|index| random(index, 4)).collect();
            let rows: BTreeSet<u32> = (0..2).map(|index| random(10 + index, 3)).collect();
            columns.iter().for_each(|x| rows.iter().for_each(|y| chosen.extend([x + 4 * y, x + 4 * y + 12])));
        }
        let mut index = 100;
        while !boxed && chosen.len() < members {
            chosen.insert(random(index, 24));
            index += 1;
        }
        let chosen: Vec<NodeId> = chosen.into_iter().collect();
        let group = Group::new(&shape, &chosen);
        let mut listed = group.nodes();
        listed.sort_unstable();
        prop_assert_eq!(&listed, &chosen);
        // Who knows whose block; a phase uses what the phases before it delivered.
        let mut known: BTreeMap<NodeId, BTreeSet<NodeId>> =
            chosen.iter().map(|&node| (node, BTreeSet::from([node]))).collect();
        for phase in CollectiveOperation::AllGather.phases(&group, 2).unwrap() {
            let before = known.clone();
            for demand in phase {
                known.get_mut(&demand.destination).unwrap().extend(&before[&demand.source]);
            }
        }
        prop_assert!(known.values().all(|blocks| blocks.len() == chosen.len()));
        let root = chosen[random(7, chosen.len() as u32) as usize];
        let mut reached = BTreeSet::from([root]);
        for phase in (CollectiveOperation::Broadcast { root }).phases(&group, 2).unwrap() {
            let before = reached.clone();
            for demand in phase {
                prop_assert!(before.contains(&demand.source));
                reached.insert(demand.destination);
            }
        }
        prop_assert!(reached.iter().eq(chosen.iter()));
        let pairs = CollectiveOperation::AllToAll.phases(&group, 2).unwrap().remove(0);
        let pairs: BTreeSet<(NodeId, NodeId)> =
            pairs.iter().map(|demand| (demand.source, demand.destination)).collect();
        prop_assert_eq!(pairs.len(), chosen.len() * (chosen.len() - 1));
    }
}
