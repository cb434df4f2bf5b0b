//! Every throttle held against what it claims of itself, and inside the reference model against the
//! reference's own.

use crate::common::{CaseSpace, Recorder, THROTTLES, cases, compare, is_quick, sampled, totals, twin};
use crate::output_registers::seen as moves;
use crate::reference::{self, Crossing, End, Hold, Lines, Rules, View, Waiting};
use flitloom_core::{
    engine::{
        Network, Options,
        general::{self, General},
    },
    fabric::{Direction, Fabric, NodeId, Shape},
    probe::NoProbe,
    router::{Arbitration, ChannelScheme, FlowControl, ProcessorQueues, RouterConfig, Variant},
    routing::{ChannelRule, Datelines},
    throttle::{Ask, Global, Seen, State, Sums, Surroundings, Throttle},
    traffic::{Packet, PacketList, Purpose, Workload, draw, draw_below},
};
use proptest::prelude::*;

fn around(shape: &Shape) -> Surroundings<'_> {
    Surroundings { shape, rule: ChannelRule::new(3, Datelines::BOTH), buffer: 16, longest: 8 }
}

/// Every throttle, with all of its parameters in use.
fn variants() -> Vec<Throttle> {
    let more = [
        "spth:margin=8,length=3,watch=own,link=shared",
        "spth:margin=8,link=shared",
        "spth:margin=2,length=70",
        "alo:any",
        "pace:13",
        "global:12",
        "pt:release=30",
        "pt:release=30,margin=3,behind=70,link=shared",
        "pt:behind=4",
        "when:idle_channels >= 1",
        "when:since_granted >= 7",
        "when:in_flight < 12 or waited > 99",
        "when:in_flight + ejected // 1000 < 12",
    ];
    Throttle::all().into_iter().chain(more.map(|text| text.parse().unwrap())).collect()
}

#[test]
fn texts_and_throttles_belong_together() {
    for (throttle, name) in Throttle::all().into_iter().zip(Throttle::NAMES.iter().copied()) {
        assert_eq!(throttle.name(), name);
        assert_eq!(name.parse() == Ok(throttle), throttle.stands_alone(), "{name}");
    }
    for throttle in variants() {
        assert_eq!(throttle.to_string().parse(), Ok(throttle), "{throttle}");
    }
    for (text, part) in [
        ("best", "none, interlock, spth"),
        ("none:1", "it has none"),
        ("spth:margin=-1", "margin is \"-1\""),
        ("spth:margin=2000", "0 to 1024"),
        ("spth:8,9", "no parameter \"9\""),
        ("alo:useful=some", "own or any"),
        ("pace:interval=0", "cycles"),
        ("global:threshold=0", "packets"),
        ("when", "expression is \"\"; it must be an expression of at most 40"),
        ("when:fre >= 4", "names are free, empty, owned"),
        ("when:free >= 4,empty", "expression is \"free >= 4,empty\""),
    ] {
        let error = text.parse::<Throttle>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

/// A network in which every output looks as a function of its place says.
struct Looks<F>(F);

impl<F: Fn(NodeId, Direction, u8) -> (u16, bool)> Seen for Looks<F> {
    fn free(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u16> {
        Some((self.0)(node, direction, channel).0)
    }

    fn is_empty(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        (self.0)(node, direction, channel).0 == 16
    }

    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        (self.0)(node, direction, channel).1
    }
}

/// A header of node 0 of an 8x8 torus for node 27 = (3, 3).
fn ask(since: u64) -> Ask {
    let [east, north] = [0, 2].map(Direction::from_index);
    Ask { node: 0, direction: east, channel: 0, hops: 3, turn: Some(north), since }
}

/// Whether the header may begin in each of so many cycles in a network that always looks the same.
fn decisions(
    throttle: Throttle,
    cycles: u64,
    sums: Sums,
    looks: impl Fn(NodeId, Direction, u8) -> (u16, bool),
) -> Vec<bool> {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let mut state = throttle.state(around(&shape));
    let seen = Looks(looks);
    (0..cycles)
        .map(|cycle| {
            let sums = Sums { ejected: sums.ejected * cycle, ..sums };
            state.observe(cycle, sums, &seen);
            state.may_begin(cycle, &ask(0), &seen)
        })
        .collect()
}

const BUSY: Sums = Sums { in_flight: 1_000_000, ejected: 64, held: true };

#[test]
fn nobody_waits_in_an_empty_network() {
    for throttle in variants() {
        assert!(decisions(throttle, 40, Sums::default(), |_, _, _| (16, false)).iter().all(|&may| may));
    }
}

#[test]
fn who_may_starve_says_so() {
    for throttle in variants() {
        let full = decisions(throttle, 3000, BUSY, |_, _, _| (0, true));
        let taken = throttle.state(around(&Shape::torus(&[8, 8]).unwrap())).may_take(0, 1);
        let starves = !full[2000..].contains(&true) || !taken;
        assert_eq!(starves, throttle.claims().may_starve, "{throttle}");
    }
}

#[test]
fn who_needs_signals_or_sums_says_so() {
    for throttle in variants() {
        // Only what node 0 cannot see itself differs.
        let far = |node: NodeId, _, _| if node == 0 { (16, false) } else { (0, true) };
        let near = |_, _, _| (16, false);
        let [with, without] =
            [decisions(throttle, 60, Sums::default(), far), decisions(throttle, 60, Sums::default(), near)];
        assert_eq!(with != without, throttle.claims().signals, "{throttle}");
        let sums = [BUSY, Sums::default()].map(|sums| decisions(throttle, 60, sums, near));
        assert_eq!(sums[0] != sums[1], throttle.claims().sums, "{throttle}");
    }
}

/// After a busy time a throttle at rest decides as one that looked on at the empty network.
#[test]
fn idle_cycles_may_be_left_out_at_rest() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    for throttle in variants() {
        let mut state = throttle.state(around(&shape));
        for cycle in 0..50 {
            state.observe(cycle, BUSY, &Looks(|node: NodeId, _, _| (node as u16 % 17, true)));
        }
        let empty = Sums { in_flight: 0, held: false, ..BUSY };
        let idle = Looks(|_, _, _| (16, false));
        for cycle in 50..400 {
            state.observe(cycle, empty, &idle);
        }
        let tuned = throttle == Global { threshold: None }.into();
        assert_eq!(state.at_rest(), !tuned, "{throttle}");
        let (mut skipped, mut watched) = (state.clone(), state);
        for cycle in 400..1000 {
            watched.observe(cycle, empty, &idle);
        }
        if !tuned {
            let some = Looks(|node: NodeId, direction: Direction, channel| {
                let drawn = draw_below(
                    5,
                    node,
                    Purpose::Gap,
                    (direction.index() * 8) as u64 + u64::from(channel),
                    17,
                );
                (drawn as u16, drawn.is_multiple_of(3))
            });
            for cycle in 1000..1060 {
                let sums = Sums { in_flight: 9 + cycle % 7, ..BUSY };
                skipped.observe(cycle, sums, &some);
                watched.observe(cycle, sums, &some);
                let may = [&skipped, &watched].map(|state| state.may_begin(cycle, &ask(1000), &some));
                assert_eq!(may[0], may[1], "{throttle} in cycle {cycle}");
            }
        }
    }
}

/// A throttle of the core in the place of the reference's own.
struct Core(State);

struct Through<'a>(&'a View<'a>);

impl Seen for Through<'_> {
    fn free(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u16> {
        (self.0.free)(node, direction.index(), channel.into()).map(|free| free as u16)
    }

    fn is_empty(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        self.free(node, direction, channel) == Some(16)
    }

    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        (self.0.owned)(node, direction.index(), channel.into())
    }
}

impl Hold for Core {
    fn observe(&mut self, cycle: u64, (in_flight, ejected, held): (u64, u64, bool), view: &View) {
        self.0.observe(cycle, Sums { in_flight, ejected, held }, &Through(view));
    }

    fn holds(&self, cycle: u64, header: &Waiting, view: &View) -> bool {
        let ask = Ask {
            node: header.node,
            direction: Direction::from_index(header.output.0),
            channel: header.output.1 as u8,
            hops: header.hops as u32,
            turn: header.turn.map(Direction::from_index),
            since: header.since,
        };
        !self.0.may_begin(cycle, &ask, &Through(view))
    }

    fn granted(&mut self, cycle: u64, node: NodeId) {
        self.0.granted(cycle, node);
    }
}

/// Waves of packets to a few hot nodes and to others, enough to fill queues.
fn packets(shape: &Shape, seed: u64) -> Vec<Vec<Packet>> {
    let nodes = shape.nodes() as NodeId;
    let of = |node: NodeId| {
        let packet = |number: u64| {
            let drawn = draw(seed, node, Purpose::Destination, number);
            let destination = if drawn & 3 == 0 { nodes / 2 } else { (drawn >> 8) as NodeId % nodes };
            Packet { destination, length: 8, start: number / 4 * 150, slice: 0 }
        };
        (0..8).map(packet).collect()
    };
    (0..nodes).map(of).collect()
}

#[test]
fn throttles_hold_whom_the_reference_holds() {
    let shapes = [
        Shape::torus(&[6, 6]).unwrap(),
        Shape::torus(&[9]).unwrap(),
        Shape::new(&[5, 4], &[true, false]).unwrap(),
        Shape::torus(&[4, 3, 3]).unwrap(),
    ];
    let mut different = 0;
    for (shape, seed) in shapes.iter().zip(1..) {
        let router = RouterConfig {
            buffer: 16,
            channels: RouterConfig::for_shape(shape).channels,
            flow_control: FlowControl::CutThrough,
            arbitration: Arbitration::uniform(ChannelScheme::Packet),
            ..RouterConfig::default()
        };
        let rule = router.channel_rule();
        let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
        let packets = packets(shape, seed);
        let free = reference::simulate(&network, &packets, &Rules::t15(reference::Throttle::None));
        for throttle in sampled(variants(), 4) {
            let own = twin(throttle, shape, 16, 8);
            if own == reference::Throttle::None {
                continue;
            }
            let expected = reference::simulate(&network, &packets, &Rules::t15(own));
            let around = Surroundings { shape, rule, buffer: 16, longest: 8 };
            let mut core = Core(throttle.state(around));
            let rules = Rules::t15(reference::Throttle::None);
            let run = reference::simulate_held(&network, &packets, &rules, &mut core);
            assert!(run == expected, "{throttle} on {shape:?}: {:?}, {:?}", run.totals, expected.totals);
            different += usize::from(expected.totals != free.totals);
        }
    }
    let least = if is_quick() { 4 } else { 24 };
    assert!(different > least, "throttles make a difference in {different} cases");
}

/// Any throttle that is drawn, and those that go by one channel more often.
fn drawn() -> impl Strategy<Value = Throttle> {
    let one_channel = ["alo:own", "spth:margin=2,watch=own", "pt", "pt:margin=1,release=40"];
    let parsed = |text: &str| text.parse::<Throttle>().expect("texts are valid");
    prop_oneof![
        proptest::sample::select(THROTTLES.map(parsed).to_vec()),
        proptest::sample::select(one_channel.map(parsed).to_vec()),
    ]
}

/// Packets of few flits on rings, many of which begin right before the wrap.
fn short_rings() -> CaseSpace {
    CaseSpace {
        dimensions: 1..=3,
        sizes: 3..=7,
        packets_per_node: 8,
        last_start: 12,
        own_arbitration: false,
        slice_rules: false,
        throttles: false,
        given_routes: false,
        flow_controls: vec![FlowControl::Wormhole, FlowControl::CutThrough],
        ..CaseSpace::default()
    }
}

proptest! {
    #![proptest_config(cases(120))]

    /// Where the dateline at the wrap does not count for first hops, throttles know.
    #[test]
    fn throttles_look_at_the_channel_of_the_first_hop(
        case in short_rings().packet_lists(),
        throttle in drawn(),
        queues in proptest::sample::select(vec![ProcessorQueues::One, ProcessorQueues::PerDirection]),
    ) {
        let buffer = case.router.buffer.max(4);
        let router = RouterConfig {
            buffer,
            datelines: Datelines::WRAP_UNLESS_INJECTED,
            channels: RouterConfig::channels_needed(&case.shape).max(case.router.channels),
            processor_queues: queues,
            ..case.config()
        };
        let network = Network::new(Fabric::new(case.shape.clone()), router).unwrap();
        let longest = case.packets().iter().flatten().map(|packet| packet.length).max().unwrap_or(1);
        let rules = Rules {
            lines: Lines::WrapNotFirst,
            throttle: twin(throttle, &case.shape, buffer, longest),
            p_queue_per_direction: queues == ProcessorQueues::PerDirection,
            ..case.rules()
        };
        let expected = reference::simulate(&network, &case.packets(), &rules);
        let (options, mut seen) = (Options { throttle, ..Options::default() }, Recorder::default());
        let result = general::simulate(&network, &case.workload(), &options, &mut seen);
        prop_assert_eq!(compare(&case, &expected, &result, &seen), Ok(()));
    }

    /// The same in routers with output registers, whose queues are a flit shorter.
    #[test]
    fn throttles_hold_in_routers_with_output_registers_whom_the_reference_holds(
        case in CaseSpace {
            buffer: 2..=6,
            latency: 1..=1,
            flow_controls: vec![FlowControl::Wormhole],
            router_rules: false,
            ..short_rings()
        }.packet_lists(),
        throttle in drawn(),
        queues in proptest::sample::select(vec![ProcessorQueues::One, ProcessorQueues::PerDirection]),
    ) {
        // Above every margin that is given.
        let buffer = throttle.margin().map_or(case.router.buffer, |margin| case.router.buffer.max(margin + 2));
        let router = RouterConfig {
            variant: Variant::Registers,
            buffer,
            datelines: Datelines::WRAP_UNLESS_INJECTED,
            channels: RouterConfig::channels_needed(&case.shape).max(case.router.channels),
            processor_queues: queues,
            ..case.config()
        };
        let network = Network::new(Fabric::new(case.shape.clone()), router).unwrap();
        let longest = case.packets().iter().flatten().map(|packet| packet.length).max().unwrap_or(1);
        let rules = Rules {
            crossing: Crossing::Registered,
            lines: Lines::WrapNotFirst,
            throttle: twin(throttle, &case.shape, buffer - 1, longest),
            p_queue_per_direction: queues == ProcessorQueues::PerDirection,
            ..case.rules()
        };
        let expected = reference::simulate(&network, &case.packets(), &rules);
        prop_assert_eq!(expected.end, End::Delivered);
        let (options, mut recorder) = (Options { throttle, ..Options::default() }, Recorder::default());
        let outcome = General::new(&network).run(&case.workload(), &options, &mut recorder).unwrap();
        let events = recorder.events(&case.packets()).map_err(TestCaseError::fail)?;
        prop_assert_eq!(moves(events, 0), moves(expected.events, 1));
        prop_assert_eq!(outcome.packets_injected, outcome.packets_delivered);
    }
}

/// What was busy is told on after the last flit has left, and holds whoever begins in the empty network.
#[test]
fn signals_travel_on_in_an_empty_network() {
    let shape = Shape::torus(&[32]).unwrap();
    let router =
        RouterConfig { buffer: 16, flow_control: FlowControl::CutThrough, ..RouterConfig::for_shape(&shape) };
    let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
    let packet = |destination, start| Packet { destination, length: 2, start, slice: 0 };
    let duration_alone = 14 + 2 + 1;
    for text in ["spth:margin=15", "spth:margin=15,watch=own", "spth:margin=15,link=shared", "pt:margin=15"] {
        let throttle = text.parse().unwrap();
        let rules = Rules { throttle: twin(throttle, &shape, 16, 2), ..Rules::default() };
        let mut held = 0;
        // The first packet has arrived in cycle 6, behind eleven routers from which nothing comes.
        for start in 8..40 {
            let mut packets = vec![Vec::new(); 32];
            packets[12] = vec![packet(15, 0)];
            packets[2] = vec![packet(16, start)];
            let expected = reference::simulate(&network, &packets, &rules);
            let workload = Workload::Packets(PacketList::from_nodes(packets).unwrap());
            let options = Options { throttle, ..Options::default() };
            let outcome = general::simulate(&network, &workload, &options, &mut NoProbe).unwrap();
            assert_eq!(totals(&outcome), expected.totals, "{text}, a packet in cycle {start}");
            held += u32::from(outcome.duration > start + duration_alone);
        }
        assert!((3..20).contains(&held), "{text} holds {held} packets");
    }
}

/// One queue of the processor and one per direction are the same where every node sends in one direction.
#[test]
fn who_sends_in_one_direction_waits_alike_in_one_queue_and_in_several() {
    let shape = Shape::torus(&[4]).unwrap();
    let packet = |destination, start| Packet { destination, length: 2, start, slice: 0 };
    let mut packets = vec![Vec::new(); 4];
    packets[3] = vec![packet(1, 0); 3];
    packets[2] = vec![Packet { length: 8, ..packet(0, 0) }; 4];
    for throttle in ["alo", "spth:margin=8,watch=own", "pt", "pt:link=shared"] {
        let latency = |processor_queues| {
            let router = RouterConfig {
                channels: 4,
                buffer: 16,
                flow_control: FlowControl::CutThrough,
                datelines: Datelines::WRAP_UNLESS_INJECTED,
                processor_queues,
                ..RouterConfig::default()
            };
            let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
            let workload = Workload::Packets(PacketList::from_nodes(packets.clone()).unwrap());
            let options = Options { throttle: throttle.parse().unwrap(), ..Options::default() };
            let outcome = general::simulate(&network, &workload, &options, &mut NoProbe).unwrap();
            (outcome.duration, outcome.latency_sum)
        };
        assert_eq!(latency(ProcessorQueues::PerDirection), latency(ProcessorQueues::One), "{throttle}");
    }
}

/// In an empty network a packet is as fast with a throttle that has its defaults as without.
#[test]
fn a_lone_packet_begins_at_once() {
    let shape = Shape::torus(&[8, 8]).unwrap();
    let routers =
        (1..=8).flat_map(|buffer| [Variant::Queues, Variant::Registers].map(|variant| (buffer, variant)));
    for (buffer, variant) in routers.filter(|&(buffer, variant)| buffer > 1 || variant == Variant::Queues) {
        for length in [1, 2, 5, 40] {
            let router = RouterConfig { buffer, variant, ..RouterConfig::default() };
            let network = Network::new(Fabric::new(shape.clone()), router).unwrap();
            let mut packets = vec![Vec::new(); 64];
            packets[0] = vec![Packet { destination: 10, length, start: 0, slice: 0 }];
            let workload = Workload::Packets(PacketList::from_nodes(packets).unwrap());
            let duration = |throttle: Throttle| {
                let options = Options { throttle, ..Options::default() };
                general::simulate(&network, &workload, &options, &mut NoProbe).unwrap().duration
            };
            for throttle in Throttle::all().into_iter().chain(["pt:link=shared".parse().unwrap()]) {
                assert_eq!(
                    duration(throttle),
                    duration(Throttle::None),
                    "{throttle}, {length} flits, {variant:?} of {buffer}"
                );
            }
        }
    }
}

/// What somebody writes may hold packets for ever; a run says so, however it is divided.
#[test]
fn a_throttle_that_holds_everything_ends_a_run() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let network = Network::new(Fabric::new(shape.clone()), RouterConfig::default()).unwrap();
    let workload = Workload::Packets(PacketList::from_nodes(packets(&shape, 3)).unwrap());
    let run = |throttle: &str| {
        let options = Options { throttle: throttle.parse().unwrap(), ..Options::default() };
        general::simulate(&network, &workload, &options, &mut NoProbe)
            .map(|outcome| outcome.packets_delivered)
    };
    assert_eq!(run("when:waited > 5000"), Ok(16 * 8));
    let held = run("when:node != 5").unwrap_err().to_string();
    assert!(held.starts_with("throttle: holds the packet of node 5 from cycle 0 to cycle 10"), "{held}");
    // Others hold as long as they say.
    assert_eq!(run("pace:1100000"), Ok(16 * 8));
}
