//! Windows against the records of single packets and flits, which count the same things another way.

use crate::common::{Case, CaseSpace, cases};
use flitloom_core::{
    engine::{Network, Options, Setup, Simulation, general},
    fabric::{Fabric, LinkId, NodeId, Shape},
    probe::{Flit, Histogram, PacketRecord, PacketRecords, Probe, Window},
    router::{ProcessorQueues, RouterConfig},
    traffic::{
        MessageGraph, Operation,
        OperationKind::{Compute, Receive, Send},
        PacketSource, Workload,
    },
};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// Cycles in which flits are ejected.
#[derive(Default)]
struct Ejections(Vec<u64>);

impl Probe for Ejections {
    fn flit_ejected(&mut self, cycle: u64, _node: NodeId, _flit: Flit) {
        self.0.push(cycle);
    }
}

/// Start and length of all packets, node by node; a packet of a list comes with its predecessors.
fn generated(workload: &Workload, nodes: usize) -> Vec<(u64, u32)> {
    let of = |node: NodeId| {
        let (mut packets, mut from, mut latest) = (Vec::new(), 0, 0);
        while let Some(start) = workload.next_start(node, packets.len() as u64, from) {
            let packet = workload.packet_at(node, packets.len() as u64, start).unwrap();
            latest = start.max(latest);
            packets.push((latest, packet.length));
            from = start + 1;
        }
        packets
    };
    (0..nodes as NodeId).flat_map(of).collect()
}

/// Headers by source queue: when each packet was there, when its header left, its flits.
type Departures = BTreeMap<(NodeId, usize), Vec<(u64, u64, u32)>>;

/// Departures, given the first links of packets where nodes have a queue per direction.
fn departures(
    case: &Case,
    workload: &Workload,
    records: &[PacketRecord],
    first: &HashMap<(NodeId, u64), usize>,
) -> Departures {
    let mut ordered = records.to_vec();
    ordered.sort_by_key(|record| (record.source, record.number));
    let mut departures = Departures::new();
    for record in ordered {
        let queue = match case.router.processor_queues {
            ProcessorQueues::One => 0,
            // A packet to its own node is in the first queue.
            ProcessorQueues::PerDirection => *first.get(&(record.source, record.number)).unwrap_or(&0),
        };
        let length = workload.packet_at(record.source, record.number, record.generated).unwrap().length;
        let queue = departures.entry((record.source, queue)).or_default();
        // A packet of a list that starts before its predecessor comes with it.
        let there = queue.last().map_or(0, |&(there, ..)| there).max(record.generated);
        queue.push((there, record.injected, length));
    }
    departures
}

/// Cycles before an end in which a queue is busy, one by one.
fn busy_cycles(queue: &[(u64, u64, u32)], end: u64) -> u64 {
    let is_busy = |&cycle: &u64| {
        queue.iter().any(|&(there, left, length)| (there..left + u64::from(length)).contains(&cycle))
    };
    (0..end).filter(is_busy).count() as u64
}

/// Two messages of a node, the second of which waits for a third that another node computes before.
#[test]
fn messages_are_counted_when_they_may_start() {
    let operation = |kind, requires: &[u32]| Operation { kind, requires: requires.to_vec() };
    let ranks = vec![
        vec![
            operation(Send { to: 1, flits: 40, tag: 0 }, &[]),
            operation(Receive { from: 1, flits: 0, tag: 1 }, &[]),
            operation(Send { to: 1, flits: 5, tag: 2 }, &[1]),
        ],
        vec![
            operation(Receive { from: 0, flits: 40, tag: 0 }, &[]),
            operation(Compute { cycles: 200 }, &[0]),
            operation(Send { to: 0, flits: 0, tag: 1 }, &[1]),
            operation(Receive { from: 0, flits: 5, tag: 2 }, &[]),
        ],
    ];
    let workload = Workload::Graph(MessageGraph::new(ranks, vec![9, 10], 16).unwrap());
    let network = Network::new(Fabric::new(Shape::torus(&[8, 8]).unwrap()), RouterConfig::default()).unwrap();
    for parts in [1, 2] {
        let setup = Setup { windows: Some(100), parts, ..Setup::default() };
        let mut held = Simulation::new(&network, &workload, &setup).unwrap();
        // That the second message may start is known before its cycle.
        held.run(&Options { stop_at: Some(100), ..Options::default() }).unwrap();
        let flits = |held: &mut Simulation| -> Vec<u64> {
            held.windows().unwrap().closed().iter().map(|window| window.generated_flits).collect()
        };
        assert_eq!(flits(&mut held), [43], "{parts} parts");
        assert_eq!(held.windows().unwrap().of_stretch(), (3, 3));
        held.run(&Options::default()).unwrap();
        // The first arrives in cycle 43; in cycle 244 a header goes one hop, and in cycle 247 the answer may start.
        assert_eq!(flits(&mut held), [43, 0, 1 + 6], "{parts} parts");
        assert_eq!(held.windows().unwrap().of_stretch(), (5, 5));
        assert_eq!(held.totals().unwrap().flits_delivered, 43 + 1 + 6);
    }
}

/// The first link of every packet.
#[derive(Default)]
struct FirstLinks(HashMap<(NodeId, u64), LinkId>);

impl Probe for FirstLinks {
    fn flit_crosses(&mut self, _cycle: u64, link: LinkId, _channel: u8, flit: Flit) {
        self.0.entry((flit.source, flit.number)).or_insert(link);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn windows_are_sums_over_packets(
        case in prop_oneof![CaseSpace::default().packet_lists(), CaseSpace::default().loads()],
        cycles in 1_u64..40,
        stretch in (0_u64..60, 0_u64..60),
        stop in 1_u64..80,
        outstanding in proptest::option::of(1_u32..4),
    ) {
        let (network, workload) = (case.network(), case.workload());
        let (workload, closed) = match (workload, outstanding) {
            (Workload::Load(load), Some(outstanding)) if !case.slices.interlock => {
                (Workload::Load(load.closed(outstanding).unwrap()), true)
            }
            (workload, _) => (workload, false),
        };
        let nodes = case.shape.nodes();
        let mut probe = (PacketRecords::default(), (Ejections::default(), FirstLinks::default()));
        if general::simulate(&network, &workload, &case.options(), &mut probe).is_err() {
            return Ok(());
        }
        let (records, (Ejections(ejections), FirstLinks(first_links))) = (probe.0.into_sorted(), probe.1);
        let first_links = first_links.into_iter().map(|(packet, link)| {
            (packet, network.fabric().link_ends(link).1.index())
        });
        let departures = departures(&case, &workload, &records, &first_links.collect());
        let queues = if case.router.processor_queues == ProcessorQueues::One { 1 } else { case.shape.directions() };
        let (first, end) = (stretch.0, stretch.0 + stretch.1);
        let setup = Setup { windows: Some(cycles), options: case.options(), ..Setup::default() };
        let mut held = Simulation::new(&network, &workload, &setup).unwrap();
        held.windows().unwrap().measure(first, end);
        held.run(&Options { stop_at: Some(stop), ..case.options() }).unwrap();
        let now = held.now();
        if now == stop && stop % cycles == 0 && !closed {
            let windows = held.windows().unwrap();
            let (busy, width) = (windows.busy(), nodes * queues);
            for (&(node, queue), departures) in &departures {
                let at = node as usize * queues + queue;
                let counted: u64 = busy.iter().skip(at).step_by(width).sum();
                prop_assert_eq!(counted, busy_cycles(departures, stop), "queue {} of {}", queue, node);
            }
        }
        // Taken up from what was saved.
        let bytes = held.save();
        let mut held = Simulation::new(&network, &workload, &setup).unwrap();
        held.restore(bytes).unwrap();
        held.run(&case.options()).unwrap();
        let windows = held.windows().unwrap();

        let count = windows.closed().len() as u64;
        let last = ejections.iter().copied().max().unwrap_or(0);
        prop_assert!(ejections.is_empty() || count * cycles > last, "{count} windows do not reach {last}");
        let length = workload.longest();
        let all = match closed {
            false => generated(&workload, nodes),
            true => records.iter().map(|record| (record.generated, length)).collect(),
        };
        for (number, window) in windows.closed().iter().enumerate() {
            let span = number as u64 * cycles..(number as u64 + 1) * cycles;
            let delivered: Vec<_> = records.iter().filter(|record| span.contains(&record.tail_arrival)).collect();
            let ages = || delivered.iter().map(|record| record.tail_arrival + 2 - record.generated);
            let network_ages = || delivered.iter().map(|record| record.tail_arrival + 2 - record.injected);
            let inside = |record: &&PacketRecord| {
                record.injected < span.end && record.tail_arrival >= span.end
            };
            let flits = all.iter().filter(|(start, _)| span.contains(start)).map(|&(_, length)| u64::from(length));
            let expected = Window {
                generated_flits: flits.sum(),
                injected_packets: records.iter().filter(|record| span.contains(&record.injected)).count() as u64,
                ejected_flits: ejections.iter().filter(|cycle| span.contains(cycle)).count() as u64,
                delivered_packets: delivered.len() as u64,
                age_sum: ages().sum(),
                network_age_sum: network_ages().sum(),
                age_max: ages().max().unwrap_or(0),
                network_age_max: network_ages().max().unwrap_or(0),
                in_flight: records.iter().filter(inside).count() as u64,
            };
            prop_assert_eq!(*window, expected, "window {}", number);
        }

        let (slots, busy, width) = (windows.queues(), windows.busy(), nodes * queues);
        prop_assert!(slots.sent().len() / width <= 64);
        let mut sent = vec![0; slots.sent().len()];
        let mut expected = vec![0; sent.len()];
        for (&(node, queue), departures) in &departures {
            for (index, &(_, left, _)) in departures.iter().enumerate() {
                let at = (left / slots.cycles()) as usize * width + node as usize * queues + queue;
                sent[at] += 1;
                expected[at] += busy_cycles(&departures[..=index], left + 100)
                    - busy_cycles(&departures[..index], left + 100);
            }
        }
        prop_assert_eq!(slots.sent(), sent);
        prop_assert_eq!(busy, expected);
        let added: u64 = slots.generated().iter().map(|&packets| u64::from(packets)).sum();
        prop_assert_eq!(added as usize, records.len());
        let mut generated_for = vec![0; slots.generated_for().len()];
                for record in &records {
            let length = workload.packet_at(record.source, record.number, record.generated).unwrap().length;
            let at = (record.generated / slots.cycles()) as usize * nodes + record.destination as usize;
            generated_for[at] += u64::from(length);
        }
        prop_assert_eq!(slots.generated_for(), generated_for);

        let stretch = first..end;
        let mut by_source = vec![0; nodes];
        let (mut ages, mut network_ages) = (Histogram::default(), Histogram::default());
        let mut measured = 0;
        for record in &records {
            if stretch.contains(&record.tail_arrival) {
                by_source[record.source as usize] += 1;
                network_ages.add(record.tail_arrival + 2 - record.injected);
            }
            if stretch.contains(&record.generated) {
                measured += 1;
                ages.add(record.tail_arrival + 2 - record.generated);
            }
        }
        prop_assert_eq!(windows.delivered_by_source(), by_source);
        let classes = |ages: &Histogram| ages.classes().collect::<Vec<_>>();
        prop_assert_eq!(classes(windows.ages()), classes(&ages));
        prop_assert_eq!(classes(windows.network_ages()), classes(&network_ages));
        prop_assert_eq!(windows.of_stretch(), (measured, measured));
    }
}
