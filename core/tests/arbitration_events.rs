//! Lost arbitrations and the rules for slices, on cases small enough to be worked out by hand.

use flitloom_core::{
    engine::{
        Network, Options, SimulationError,
        general::{self, General},
    },
    fabric::{Fabric, Shape},
    probe::{ArbitrationCounts, ArbitrationUse, OutputChannel, PacketRecord, PacketRecords, Probe},
    router::{Arbitration, ChannelScheme, North, RouterConfig},
    throttle::Interlock,
    traffic::{Collective, Packet, PacketList, Pattern, Workload},
};

/// (source, destination, length, start, slice)
type Sent = (u32, u32, u32, u64, u32);

fn workload(nodes: u32, sent: &[Sent]) -> Workload {
    let of = |node: u32| sent.iter().filter(move |packet| packet.0 == node);
    let packet =
        |&(_, destination, length, start, slice): &Sent| Packet { destination, length, start, slice };
    let lists = (0..nodes).map(|node| of(node).map(packet).collect::<Vec<_>>());
    Workload::Packets(PacketList::from_nodes(lists).unwrap())
}

fn watch<P: Probe>(shape: Shape, sent: &[Sent], options: &Options, mut probe: P) -> P {
    let workload = workload(shape.nodes() as u32, sent);
    let network = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    general::simulate(&network, &workload, options, &mut probe).unwrap();
    probe
}

fn counts(shape: Shape, sent: &[Sent]) -> ArbitrationCounts {
    watch(shape, sent, &Options::default(), ArbitrationCounts::default())
}

fn line() -> Shape {
    Shape::mesh(&[3]).unwrap()
}

fn ring() -> Shape {
    Shape::torus(&[8]).unwrap()
}

#[test]
fn two_headers_for_one_channel_are_one_lost_selection() {
    // Both stand before the link from 1 to 2 in cycle 1; the packet from 0 comes first in the list.
    let both = |slice| [(0, 2, 2, 0, slice), (1, 2, 2, 1, 0)];
    let in_order = ArbitrationCounts { queue_in_order: 1, ..Default::default() };
    assert_eq!(counts(line(), &both(0)), in_order);
    let out_of_order = ArbitrationCounts { queue_out_of_order: 1, ..Default::default() };
    assert_eq!(counts(line(), &both(1)), out_of_order);
    // A header that finds the channel owned has lost no selection.
    assert_eq!(counts(line(), &[(0, 2, 2, 0, 0), (1, 2, 2, 0, 0)]), ArbitrationCounts::default());
}

#[test]
fn two_channels_of_one_port_lose_a_selection_per_cycle() {
    // From 3 over the dateline in channel 1, from 4 in channel 0, which C00 prefers for two flits.
    let both = |slice| [(3, 5, 2, 0, 0), (4, 5, 2, 1, slice)];
    let in_order = ArbitrationCounts { channel_in_order: 2, ..Default::default() };
    assert_eq!(counts(ring(), &both(0)), in_order);
    let out_of_order = ArbitrationCounts { channel_out_of_order: 2, ..Default::default() };
    assert_eq!(counts(ring(), &both(1)), out_of_order);
}

#[test]
fn a_full_buffer_blocks_its_link() {
    // Four flits from 0 wait at 1 from cycle 5 on; the first of them leaves in cycle 8.
    let seen = counts(line(), &[(0, 2, 8, 1, 0), (1, 2, 8, 0, 0)]);
    assert_eq!(seen, ArbitrationCounts { link_blocked: 4, ..Default::default() });
}

#[test]
fn only_contended_settings_are_used() {
    let ports = 3;
    let seen = watch(
        line(),
        &[(0, 2, 2, 0, 0), (1, 2, 2, 1, 0)],
        &Options::default(),
        ArbitrationUse::new(3, ports, 3),
    );
    assert_eq!(seen.port_lists.ones().collect::<Vec<_>>(), [ports * 3]);
    assert_eq!(seen.schemes.count_ones(..), 0);
    let seen = watch(
        ring(),
        &[(3, 5, 2, 0, 0), (4, 5, 2, 1, 0)],
        &Options::default(),
        ArbitrationUse::new(8, ports, 3),
    );
    assert_eq!(seen.port_lists.count_ones(..), 0);
    assert_eq!(seen.schemes.ones().collect::<Vec<_>>(), [4 * ports]);
}

fn arrival(records: &[PacketRecord], source: u32, number: u64) -> u64 {
    records.iter().find(|record| (record.source, record.number) == (source, number)).unwrap().tail_arrival
}

#[test]
fn re_initialisation_forgets_the_channel_used_last() {
    // The first packet from 3 leaves channel 1 as the one used last at 4; what 5 sends to 4 resets it.
    let sent = [(3, 5, 1, 0, 0), (5, 4, 1, 5, 0), (3, 5, 1, 9, 1), (4, 5, 1, 10, 1)];
    let run = |reinitialise_slices| {
        let options = Options { reinitialise_slices, ..Default::default() };
        watch(ring(), &sent, &options, PacketRecords::default()).into_sorted()
    };
    let plain = run(false);
    assert_eq!((arrival(&plain, 3, 1), arrival(&plain, 4, 0)), (11, 12));
    let reset = run(true);
    assert_eq!((arrival(&reset, 3, 1), arrival(&reset, 4, 0)), (12, 11));
}

#[test]
fn re_initialisation_turns_port_lists_back() {
    // At 1 the list is (from 0, own); the packet from 0 that wins first comes last until the reset.
    let sent = [(0, 2, 1, 0, 0), (2, 1, 1, 5, 0), (0, 2, 1, 9, 1), (1, 2, 1, 10, 0)];
    let run = |reinitialise_slices| {
        let options = Options { reinitialise_slices, ..Default::default() };
        watch(line(), &sent, &options, PacketRecords::default()).into_sorted()
    };
    let plain = run(false);
    assert_eq!((arrival(&plain, 0, 1), arrival(&plain, 1, 0)), (12, 11));
    let reset = run(true);
    assert_eq!((arrival(&reset, 0, 1), arrival(&reset, 1, 0)), (11, 12));
}

#[test]
fn interlocking_waits_for_a_packet() {
    let pair = || Shape::mesh(&[2]).unwrap();
    let sent = [(0, 1, 1, 0, 0), (0, 1, 1, 1, 1), (1, 0, 1, 10, 0), (1, 0, 1, 10, 1)];
    let options = Options { throttle: Interlock.into(), ..Default::default() };
    let records = watch(pair(), &sent, &options, PacketRecords::default()).into_sorted();
    // Node 0 receives in cycle 11; node 1 had received long before its own start.
    let injected: Vec<u64> = records.iter().map(|record| record.injected).collect();
    assert_eq!(injected, [0, 12, 10, 11]);

    let network = Network::new(Fabric::new(pair()), RouterConfig::default()).unwrap();
    let alone = workload(2, &sent[..2]);
    let result = general::simulate(&network, &alone, &options, &mut ArbitrationCounts::default());
    assert_eq!(result, Err(SimulationError::Interlocked { cycle: 2, node: 0, count: 1 }));
}

#[test]
fn arbitration_set_later_is_the_same_as_from_the_start() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let destinations = Pattern::BitReverse.destinations(&shape, 0).unwrap();
    let collective = Collective { payload: 14, slices: 2, interval: 9, ..Collective::default() };
    let workload = Workload::Packets(collective.packet_list(16, &destinations).unwrap());
    let (ports, channels) = (5, 3);
    let schemes: Vec<_> = (0..16 * ports).map(|port| ChannelScheme::PUBLISHED[port * 7 % 10]).collect();
    let mut port_lists = North::Plus.port_list(&shape).repeat(16 * ports * channels);
    for (index, list) in port_lists.chunks_mut(ports).enumerate() {
        list.rotate_left(index % ports);
        list.swap(0, index % ports);
    }
    let arbitration = Arbitration { schemes, port_lists };
    let router = RouterConfig { arbitration: arbitration.clone(), ..RouterConfig::default() };
    let run =
        |prepared: &General| prepared.run(&workload, &Options::default(), &mut ArbitrationCounts::default());
    let built = Network::new(Fabric::new(shape.clone()), router).unwrap();
    let expected = run(&General::new(&built)).unwrap();

    let plain = Network::new(Fabric::new(shape), RouterConfig::default()).unwrap();
    let mut prepared = General::new(&plain);
    assert_ne!(run(&prepared).unwrap().fingerprint, expected.fingerprint);
    prepared.set_arbitration(&arbitration).unwrap();
    assert_eq!(run(&prepared).unwrap(), expected);

    let mut prepared = General::new(&plain);
    for node in 0..16_u32 {
        for port in 0..ports as u8 {
            let place = node as usize * ports + usize::from(port);
            prepared.set_scheme(node, port.into(), arbitration.schemes[place]);
            for channel in 0..channels as u8 {
                let first = (place * channels + usize::from(channel)) * ports;
                let list = &arbitration.port_lists[first..first + ports];
                prepared.set_port_list(OutputChannel { node, port, channel }, list);
            }
        }
    }
    assert_eq!(run(&prepared).unwrap(), expected);
}
