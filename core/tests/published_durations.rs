//! Durations on the 16x16 torus: those of the plain router, which an independent prototype of its text
//! printed, and those of the published router, which are the published ones in every cell
//! (cup-stacking-2022, Table 2; cup-stacking-extended-2023, Table 2).

use crate::common::sampled;
use crate::reference::{self, Crossing, End, Lines, Rules, What};
use flitloom_core::{
    engine::{Network, general, stack},
    fabric::{Fabric, Shape},
    probe::LinkOccupation,
    router::{Arbitration, ChannelScheme, North, RouterConfig, Variant},
    routing::Datelines,
    traffic::{Collective, Destinations, Pattern, Workload},
};
use rayon::prelude::*;

fn shape() -> Shape {
    Shape::torus(&[16, 16]).unwrap()
}

fn destinations(name: &str) -> Destinations {
    Pattern::from_name(name, &shape()).unwrap().destinations(&shape(), 0).unwrap()
}

fn network(router: RouterConfig) -> Network {
    Network::new(Fabric::new(shape()), router).unwrap()
}

/// Duration, largest occupation of a link and span of the network in the general engine.
fn run(router: RouterConfig, name: &str, payload: u32) -> (u64, u64, u64) {
    let collective = Collective { payload, ..Collective::default() };
    let packets = collective.packet_list(shape().nodes(), &destinations(name)).unwrap();
    let mut links = LinkOccupation::new(shape().nodes() * shape().directions());
    let workload = Workload::Packets(packets);
    let outcome = general::simulate(&network(router), &workload, &Default::default(), &mut links).unwrap();
    (outcome.duration, links.effective_thickness(), links.span())
}

#[test]
fn whole_packets_take_the_time_of_the_plain_router() {
    for (name, short, thickness, middle, long) in [
        ("bcmp", 65, 45, 114, 212),
        ("brev", 103, 100, 194, 376),
        ("brot", 92, 70, 165, 326),
        ("shfl", 95, 68, 246, 528),
        ("torn", 67, 64, 123, 235),
        ("trns", 74, 64, 130, 242),
    ] {
        let of = |payload| run(RouterConfig::default(), name, payload);
        assert_eq!((of(7).0, of(7).1), (short, thickness), "{name}, 8 flits");
        assert_eq!(of(14).0, middle, "{name}, 15 flits");
        assert_eq!(of(28).0, long, "{name}, 29 flits");
    }
}

/// By pattern: durations of packets of 8, 15 and 29 flits, T_e of those of 8, two slices of 8 flits under
/// C00 to C09 and four under C00, all as published.
type Row = (&'static str, [u64; 3], u64, [u64; 10], u64);

const PUBLISHED: [Row; 6] = [
    ("bcmp", [65, 109, 193], 62, [104, 102, 104, 102, 104, 91, 101, 101, 91, 91], 181),
    ("brev", [108, 199, 381], 105, [179, 194, 179, 194, 172, 208, 173, 173, 208, 208], 326),
    ("brot", [91, 178, 363], 86, [147, 155, 147, 155, 176, 146, 189, 189, 146, 148], 259),
    ("shfl", [95, 243, 427], 90, [152, 154, 152, 154, 161, 147, 159, 159, 147, 150], 269),
    ("torn", [67, 123, 235], 64, [131, 131, 131, 131, 131, 138, 131, 131, 138, 138], 259),
    ("trns", [74, 130, 242], 71, [138, 138, 138, 138, 138, 137, 138, 138, 137, 137], 266),
];

fn published(scheme: ChannelScheme) -> RouterConfig {
    RouterConfig {
        variant: Variant::Registers,
        datelines: Datelines::CHECKERBOARD,
        north: North::Minus,
        arbitration: Arbitration::uniform(scheme),
        ..RouterConfig::default()
    }
}

/// Duration and span of the network in the reference.
fn reference(scheme: ChannelScheme, name: &str, collective: &Collective) -> (u64, u64) {
    let list = collective.packet_list(shape().nodes(), &destinations(name)).unwrap();
    let packets: Vec<_> = (0..shape().nodes() as u32).map(|node| list.of(node).to_vec()).collect();
    // What is no number of the router stands in the rules alone.
    let router = RouterConfig { arbitration: Arbitration::uniform(scheme), ..RouterConfig::default() };
    let rules = Rules {
        crossing: Crossing::Registered,
        lines: Lines::Checkerboard,
        north_is_minus: true,
        ..Rules::default()
    };
    let run = reference::simulate(&network(router), &packets, &rules);
    assert_eq!(run.end, End::Delivered);
    let crossings = run.events.iter().filter(|event| matches!(event.what, What::Crosses { .. }));
    let cycles: Vec<u64> = crossings.map(|event| event.cycle).collect();
    // The cycle of the last flit sent to P, plus 1; a run of the plain router takes one cycle more.
    (run.totals.duration - 1, cycles.iter().max().unwrap() - cycles.iter().min().unwrap())
}

#[test]
fn whole_packets_take_the_published_time() {
    for (name, single, span, _, _) in PUBLISHED {
        for (payload, duration) in [7, 14, 28].into_iter().zip(single) {
            let collective = Collective { payload, ..Collective::default() };
            let (engine, _, engine_span) = run(published(ChannelScheme::C00), name, payload);
            let slow = reference(ChannelScheme::C00, name, &collective);
            assert_eq!((engine, engine_span), slow, "{name}, {payload}");
            assert_eq!(engine, duration, "{name}, {payload}");
            assert!(payload != 7 || engine_span == span, "{name}: {engine_span}");
        }
    }
}

/// The words of the papers, the largest occupation of a link, give other values than the printed ones.
#[test]
fn occupations_of_links_are_not_what_was_printed() {
    let ours = PUBLISHED.map(|(name, ..)| run(published(ChannelScheme::C00), name, 7).1);
    assert_eq!(ours, [46, 104, 69, 85, 64, 64]);
}

/// Every interval from 8 to the duration of one slice under C00; the engine finds the best one, and the
/// reference takes the same time at it and at its neighbours.
#[test]
fn slices_take_the_published_time() {
    let mut cells = Vec::new();
    for (name, [one, ..], _, two, four) in PUBLISHED {
        let schemes = ChannelScheme::PUBLISHED.into_iter().zip(two);
        cells.extend(schemes.map(|(scheme, value)| (name, one, 2, scheme, value)));
        cells.push((name, one, 4, ChannelScheme::C00, four));
    }
    assert_eq!(cells.len(), 66);
    let wrong = |&(name, one, slices, scheme, value): &(&str, u64, u32, ChannelScheme, u64)| {
        let collective = Collective { payload: 7 * slices, slices, ..Collective::default() };
        let intervals: Vec<u64> = (8..=one).collect();
        let network = network(published(scheme));
        let to = destinations(name);
        let outcomes = stack(&network, &collective, &to, &intervals, &Default::default(), &|| ()).unwrap();
        let durations: Vec<u64> = outcomes.iter().map(|outcome| outcome.duration).collect();
        let best = (0..durations.len()).min_by_key(|&index| durations[index]).unwrap();
        let near = best.saturating_sub(1)..(best + 2).min(durations.len());
        let slow = near.clone().map(|index| {
            reference(scheme, name, &Collective { interval: intervals[index], ..collective.clone() }).0
        });
        let slow: Vec<u64> = slow.collect();
        (durations[best] != value || slow != durations[near]).then(|| {
            format!("{name}, {slices} slices, {scheme}: {} and {slow:?}, not {value}", durations[best])
        })
    };
    let cells: Vec<_> = sampled(cells, 4).collect();
    let wrong: Vec<String> = cells.par_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
