//! The plane engine against the general engine, on random networks, loads and settings.

use flitloom_core::{
    bits::InstructionSet,
    engine::{
        Network, Options, Outcome, general,
        planes::{Planes, Settings, supports},
        simulate_in_planes,
    },
    fabric::{Fabric, NodeId, Shape},
    probe::{LinkOccupation, NoProbe},
    router::{Arbitration, ChannelScheme, North, RouterConfig, Variant},
    routing::Datelines,
    traffic::{Collective, OpenLoad, Packet, PacketList, Pattern, Purpose, Workload, draw_below},
};
use std::io::Write;

/// Random choices of one case.
struct Dice {
    seed: u64,
    throws: u64,
}

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.throws += 1;
        draw_below(self.seed, 0, Purpose::Shuffle, self.throws, bound as u32) as usize
    }

    fn one<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn shuffled(&mut self, count: usize) -> Vec<u8> {
        let mut list: Vec<u8> = (0..count as u8).collect();
        for last in (1..count).rev() {
            list.swap(last, self.below(last + 1));
        }
        list
    }
}

fn shape(dice: &mut Dice) -> Shape {
    let sizes = dice.one(&[
        vec![16, 16],
        vec![8, 8],
        vec![4, 4],
        vec![16, 8],
        vec![8, 32],
        vec![5, 7],
        vec![6, 12],
        vec![3, 4],
        vec![2, 8],
        vec![16],
        vec![11],
        vec![32, 2],
        vec![64, 4],
        vec![4, 64],
        vec![20, 12],
        vec![32, 32],
    ]);
    match dice.below(6) {
        0 => Shape::mesh(&sizes).unwrap(),
        1 => {
            let wraps: Vec<bool> = sizes.iter().map(|_| dice.below(2) == 0).collect();
            Shape::new(&sizes, &wraps).unwrap()
        }
        _ => Shape::torus(&sizes).unwrap(),
    }
}

fn arbitration(dice: &mut Dice, shape: &Shape, channels: u8) -> Arbitration {
    let ports = shape.directions() + 1;
    let outputs = shape.nodes() * ports;
    let schemes = match dice.below(2) {
        0 => vec![dice.one(&ChannelScheme::PUBLISHED)],
        _ => (0..outputs).map(|_| dice.one(&ChannelScheme::PUBLISHED)).collect(),
    };
    let port_lists = match dice.below(3) {
        0 => Vec::new(),
        _ => (0..outputs * channels as usize).flat_map(|_| dice.shuffled(ports)).collect(),
    };
    Arbitration { schemes, port_lists }
}

fn packets(dice: &mut Dice, shape: &Shape) -> PacketList {
    let nodes = shape.nodes();
    let length = dice.one(&[8, 8, 15, 4, 5, 1, 2, 3, 29, 100]);
    let (most, spread) = (1 + dice.below(4), dice.one(&[1, 20, 300, 3000]));
    let permutation = dice.below(2) == 0;
    let partner: Vec<usize> = (0..nodes).map(|_| dice.below(nodes)).collect();
    let all: Vec<Vec<Packet>> = (0..nodes)
        .map(|node| {
            let mut start = 0;
            (0..dice.below(most + 1))
                .map(|_| {
                    start += dice.below(spread) as u64;
                    let destination = if permutation { partner[node] } else { dice.below(nodes) };
                    Packet { destination: destination as NodeId, length, start, slice: 0 }
                })
                .collect()
        })
        .collect();
    PacketList::from_nodes(all).unwrap()
}

fn load(dice: &mut Dice, shape: &Shape) -> OpenLoad {
    let hotspot = Pattern::Hotspot { fraction: 0.2, target: dice.below(shape.nodes()) as NodeId };
    let pattern = dice.one(&[Pattern::Random, Pattern::Random, Pattern::RandomPair, hotspot]);
    let destinations = pattern.destinations(shape, dice.seed).unwrap();
    let rate = dice.one(&[0.02, 0.1, 0.3, 0.6, 1.0]);
    let length = dice.one(&[8, 8, 4, 1, 3, 16]);
    OpenLoad::new(destinations, rate, length, 20 + dice.below(200) as u64, dice.seed).unwrap()
}

/// A router without or with output registers, with any datelines and any north.
fn reading(dice: &mut Dice) -> RouterConfig {
    RouterConfig {
        variant: dice.one(&[Variant::Queues, Variant::Registers]),
        datelines: dice.one(&Datelines::NAMES).1,
        north: dice.one(&North::NAMES).1,
        ..RouterConfig::default()
    }
}

fn case(seed: u64) -> (Network, Workload) {
    let mut dice = Dice { seed, throws: 0 };
    let shape = shape(&mut dice);
    let channels = RouterConfig::channels_needed(&shape).max(dice.one(&[1, 3, 3, 3, 3, 4, 6]));
    let reading = reading(&mut dice);
    let least = if reading.variant == Variant::Registers { 2 } else { 1 };
    let router = RouterConfig {
        channels,
        buffer: dice.one(&[4, 4, 4, 1, 2, 3, 5, 8, 15, 16]).max(least),
        arbitration: arbitration(&mut dice, &shape, channels),
        ..reading
    };
    let workload = match dice.below(2) {
        0 => Workload::Packets(packets(&mut dice, &shape)),
        _ => Workload::Load(load(&mut dice, &shape)),
    };
    (Network::new(Fabric::new(shape), router).unwrap(), workload)
}

/// Which instruction sets these tests have run on; told past the capture of test output.
#[test]
fn instruction_sets_are_named() {
    let names: Vec<&str> = sets().map(InstructionSet::name).collect();
    assert!(names.starts_with(&["u64"]));
    writeln!(std::io::stderr(), "instruction sets: {}", names.join(", ")).unwrap();
}

fn sets() -> impl Iterator<Item = InstructionSet> {
    InstructionSet::ALL.into_iter().filter(|set| set.is_available())
}

fn general_outcome(network: &Network, workload: &Workload, options: &Options) -> Outcome {
    general::simulate(network, workload, options, &mut NoProbe).unwrap()
}

#[test]
fn outcomes_are_equal_bit_for_bit() {
    let (mut compared, mut registers) = (0, 0);
    for seed in 0..300 {
        let (network, workload) = case(seed);
        if supports(&network, &workload).is_err() {
            continue;
        }
        let expected = general_outcome(&network, &workload, &Options::default());
        for set in sets() {
            let outcome = simulate_in_planes(&network, &workload, &Options::default(), set).unwrap();
            assert_eq!(outcome, expected, "case {seed}, {set:?}, {:?}", network.fabric().shape());
        }
        compared += 1;
        registers += usize::from(network.router().variant == Variant::Registers);
    }
    assert!(compared > 180 && registers > 70, "{compared}, {registers}");
}

#[test]
fn stopped_runs_are_equal_bit_for_bit() {
    for seed in 1000..1080 {
        let (network, workload) = case(seed);
        if supports(&network, &workload).is_err() {
            continue;
        }
        let whole = general_outcome(&network, &workload, &Options::default()).cycles;
        for part in [3, 7] {
            let options = Options { stop_at: Some(whole * part / 8), ..Options::default() };
            let expected = general_outcome(&network, &workload, &options);
            for set in sets() {
                let outcome = simulate_in_planes(&network, &workload, &options, set).unwrap();
                assert_eq!(outcome, expected, "case {seed}, {set:?}, {:?}", network.fabric().shape());
            }
        }
    }
}

#[test]
fn links_are_occupied_in_the_same_cycles() {
    for seed in 2000..2040 {
        let (network, workload) = case(seed);
        let fabric = network.fabric();
        for set in sets() {
            let settings = Settings { set: Some(set), occupation: true, ..Settings::default() };
            let Ok(mut planes) = Planes::new(&network, &workload, settings) else { break };
            let mut probe = LinkOccupation::new(fabric.shape().nodes() * fabric.shape().directions());
            general::simulate(&network, &workload, &Options::default(), &mut probe).unwrap();
            planes.run(&Options::default()).unwrap();
            for link in fabric.working_links() {
                let (node, direction) = fabric.link_ends(link);
                let cycles = planes.link_cycles(0, node, direction);
                let occupation = cycles.map_or(0, |(first, last)| last - first + 1);
                assert_eq!(occupation, probe.occupation(link as usize), "case {seed}, {set:?}, link {link}");
            }
        }
    }
}

#[test]
fn settings_changed_in_place_equal_settings_built_in() {
    for seed in 3000..3012 {
        let mut dice = Dice { seed, throws: 0 };
        let shape = Shape::torus(&dice.one(&[[16, 16], [8, 8], [8, 16]])).unwrap();
        let (nodes, ports) = (shape.nodes(), 5);
        let list = packets(&mut dice, &shape);
        let reading = reading(&mut dice);
        let default = reading.north.port_list(&shape);
        let plain = Network::new(Fabric::new(shape.clone()), reading.clone()).unwrap();
        let workload = Workload::Packets(list.clone());
        for set in sets() {
            let settings = Settings { set: Some(set), networks: 8, ..Settings::default() };
            let Ok(mut planes) = Planes::new(&plain, &workload, settings) else { break };
            planes.run(&Options::default()).unwrap();
            let mut expected = Vec::new();
            for copy in 0..planes.networks() {
                let arbitration = arbitration(&mut dice, &shape, 3);
                let delays: Vec<u64> = (0..nodes).map(|_| dice.below(50) as u64).collect();
                for (node, &delay) in delays.iter().enumerate() {
                    planes.set_delay(copy, node as NodeId, delay);
                    for port in 0..ports {
                        planes.set_scheme(copy, node as NodeId, port, arbitration.scheme(node, port, ports));
                        for channel in 0..3 {
                            let at = ((node * ports + port) * 3 + channel) * ports;
                            let list = arbitration.port_lists.get(at..at + ports).unwrap_or(&default);
                            planes.set_port_list(copy, node as NodeId, port, channel as u8, list);
                        }
                    }
                }
                let delayed = (0..nodes as NodeId).map(|node| {
                    let delay = delays[node as usize];
                    list.of(node).iter().map(move |packet| Packet { start: packet.start + delay, ..*packet })
                });
                let delayed = Workload::Packets(PacketList::from_nodes(delayed).unwrap());
                let router = RouterConfig { arbitration, ..reading.clone() };
                let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
                expected.push(general_outcome(&network, &delayed, &Options::default()));
            }
            for _ in 0..2 {
                assert_eq!(planes.run(&Options::default()).unwrap(), expected, "case {seed}, {set:?}");
            }
        }
    }
}

/// Where all senders send alike and little is counted, packets are fed in another way.
#[test]
fn packets_in_volleys_equal_packets_of_single_nodes() {
    for seed in 4000..4020 {
        let mut dice = Dice { seed, throws: 0 };
        let shape = Shape::torus(&dice.one(&[[16, 16], [8, 8], [8, 16], [24, 24]])).unwrap();
        let patterns = [Pattern::Tornado, Pattern::Random, Pattern::Hotspot { fraction: 0.3, target: 5 }];
        let destinations = dice.one(&patterns).destinations(&shape, seed).unwrap();
        let slices = dice.one(&[1, 2, 5]);
        let collective = Collective { payload: 7 * slices, slices, ..Collective::default() };
        let list = collective.packet_list(shape.nodes(), &destinations).unwrap();
        let network = Network::new(Fabric::new(shape.clone()), reading(&mut dice)).unwrap();
        // Far delays, and packets of a node at the same time, are left to single nodes.
        let (far, intervals) = (dice.one(&[1, 50, 50, 9000]), [0, 1, 8, 40]);
        for set in sets() {
            let settings = Settings {
                set: Some(set),
                networks: 8,
                fingerprints: false,
                latencies: false,
                totals: false,
                ..Settings::default()
            };
            let mut planes = Planes::new(&network, &Workload::Packets(list.clone()), settings).unwrap();
            for round in 0..2 {
                let mut late = Vec::new();
                for copy in 0..planes.networks() {
                    let interval = intervals[dice.below(4 - round) + round];
                    planes.set_interval(copy, interval);
                    let delays: Vec<u64> = (0..shape.nodes()).map(|_| dice.below(far) as u64).collect();
                    let packets = delays.iter().zip(0..).map(|(&delay, node)| {
                        planes.set_delay(copy, node, delay);
                        let starts = (0..).map(move |number| delay + number * interval);
                        list.of(node).iter().zip(starts).map(|(packet, start)| Packet { start, ..*packet })
                    });
                    late.push(Workload::Packets(PacketList::from_nodes(packets).unwrap()));
                }
                for stop_at in [None, Some(60)] {
                    let options = Options { stop_at, ..Options::default() };
                    let found = planes.run(&options).unwrap();
                    for (found, late) in found.iter().zip(&late) {
                        let expected = general_outcome(&network, late, &options);
                        let counted = |outcome: &Outcome| {
                            (outcome.duration, outcome.packets_delivered, outcome.lateness)
                        };
                        assert_eq!(counted(found), counted(&expected), "case {seed}, {set:?}, {stop_at:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_wrong_setting_is_noticed() {
    let shape = Shape::torus(&[16, 16]).unwrap();
    let pattern = Pattern::Hotspot { fraction: 0.1, target: 100 };
    let destinations = pattern.destinations(&shape, 7).unwrap();
    let load = Workload::Load(OpenLoad::new(destinations, 0.3, 8, 200, 7).unwrap());
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let expected = general_outcome(&network, &load, &Options::default());
    for set in sets() {
        let settings = Settings { set: Some(set), ..Settings::default() };
        let mut planes = Planes::new(&network, &load, settings).unwrap();
        assert_eq!(planes.run(&Options::default()).unwrap()[0], expected);
        planes.set_port_list(0, 100, 4, 1, &[0, 1, 2, 3, 4]);
        assert_ne!(planes.run(&Options::default()).unwrap()[0], expected, "{set:?}: list");
        planes.set_port_list(0, 100, 4, 1, &[2, 0, 3, 1, 4]);
        planes.set_scheme(0, 100, 4, ChannelScheme::C09);
        assert_ne!(planes.run(&Options::default()).unwrap()[0], expected, "{set:?}: scheme");
        planes.set_scheme(0, 100, 4, ChannelScheme::C00);
        assert_eq!(planes.run(&Options::default()).unwrap()[0], expected, "{set:?}: restored");
    }
}

#[test]
fn limits_end_a_run_alike() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let destinations = Pattern::Random.destinations(&shape, 7).unwrap();
    let load = Workload::Load(OpenLoad::new(destinations, 0.5, 8, 400, 7).unwrap());
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let options = Options { cycle_limit: Some(300), ..Options::default() };
    let expected = general::simulate(&network, &load, &options, &mut NoProbe).unwrap_err();
    for set in sets() {
        assert_eq!(simulate_in_planes(&network, &load, &options, set).unwrap_err(), expected);
    }
}
