//! Closed sources, packet by packet: when a node generates follows from when its packets arrive, and
//! given those starts the network does what the reference model does.

use crate::common::{self, Case, CaseSpace, Recorder, Traffic, cases, compare};
use flitloom_core::{
    engine::{general, planes},
    fabric::Shape,
    probe::PacketRecords,
    traffic::{OpenLoad, Packet, Pattern, Process, Profile, Workload, WorkloadError},
};
use proptest::prelude::*;

/// Rooms without deadlock, so that every packet arrives.
fn rooms() -> CaseSpace {
    CaseSpace {
        channels: 3..=4,
        slice_rules: false,
        given_routes: false,
        last_start: 300,
        ..CaseSpace::default()
    }
}

fn closed(case: &Case, process: Process, changes: bool, outstanding: u32) -> Option<OpenLoad> {
    let Traffic::Load { thousandths, length, cycles, seed, .. } = case.traffic else { return None };
    let to = Pattern::Random.destinations(&case.shape, seed).unwrap();
    let rate = f64::from(thousandths) / 1000.0;
    let last = if changes { rate / 3.0 } else { rate };
    let profile = Profile::new(&[(0, rate), (cycles, last)]).unwrap();
    let load = OpenLoad::shaped(to, process, profile, length, cycles, seed).ok()?;
    Some(load.closed(outstanding).unwrap())
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn packets_are_generated_as_others_arrive(
        case in rooms().loads(),
        gap in any::<bool>(),
        changes in any::<bool>(),
        outstanding in 1_u32..6,
    ) {
        let process = if gap { Process::Gap } else { Process::Bernoulli };
        let Some(load) = closed(&case, process, changes, outstanding) else { return Ok(()) };
        let workload = Workload::Load(load.clone());
        prop_assert!(planes::supports(&case.network(), &workload).is_err());
        let mut seen = (Recorder::default(), PacketRecords::default());
        let result = general::simulate(&case.network(), &workload, &case.options(), &mut seen);
        if result.is_err() {
            return Ok(());
        }
        let records = seen.1.into_sorted();
        let mut list = Vec::new();
        for node in 0..case.shape.nodes() as u32 {
            let own: Vec<_> = records.iter().filter(|record| record.source == node).collect();
            let mut arrivals: Vec<u64> = own.iter().map(|record| record.tail_arrival).collect();
            arrivals.sort_unstable();
            let mut from = 0;
            for number in 0..=own.len() {
                // So many have to arrive before it.
                let before = (number + 1).saturating_sub(outstanding as usize);
                let room = before.checked_sub(1).map_or(0, |last| arrivals[last] + 1);
                let expected = load.start_with_room(node, number as u64, from, room);
                prop_assert_eq!(expected, own.get(number).map(|record| record.generated));
                let Some(start) = expected else { break };
                let on_their_way = own[..=number].iter().filter(|record| record.tail_arrival >= start).count();
                prop_assert!(on_their_way <= outstanding as usize);
                from = start + 1;
                let destination = own[number].destination;
                list.push((node, Packet { destination, length: load.length(), start, slice: 0 }));
            }
        }
        // The network behaves as if these packets had been given.
        let case = Case { traffic: Traffic::Packets { list, routes: None }, ..case };
        compare(&case, &common::reference(&case), &result, &seen.0).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn one_at_a_time_crosses_an_empty_network() {
    // On a ring every node sends to the next one, over a link of its own.
    let shape = Shape::torus(&[8]).unwrap();
    let to = Pattern::Neighbour.destinations(&shape, 0).unwrap();
    let load = OpenLoad::new(to, 1.0, 4, 2000, 3).unwrap().closed(1).unwrap();
    let fabric = flitloom_core::fabric::Fabric::new(shape);
    let network = flitloom_core::engine::Network::new(fabric, Default::default()).unwrap();
    let mut records = PacketRecords::default();
    general::simulate(&network, &Workload::Load(load), &Default::default(), &mut records).unwrap();
    let own: Vec<_> = records.into_sorted().into_iter().filter(|record| record.source == 0).collect();
    assert!(own.len() > 100);
    // A hop and four flits, counted from the cycle of generation.
    assert!(own.iter().all(|record| record.tail_arrival - record.generated == 1 + 4 - 1));
    assert!(own.windows(2).all(|pair| pair[1].generated > pair[0].tail_arrival));
}

#[test]
fn limits_are_told() {
    let load = || {
        let to = Pattern::Random.destinations(&Shape::torus(&[4, 4]).unwrap(), 0).unwrap();
        OpenLoad::new(to, 0.5, 4, 100, 3).unwrap()
    };
    for outstanding in [0, OpenLoad::MOST_OUTSTANDING + 1] {
        assert_eq!(load().closed(outstanding).unwrap_err(), WorkloadError::Outstanding(outstanding));
    }
    let to = Pattern::Transpose.destinations(&Shape::torus(&[4, 4]).unwrap(), 0).unwrap();
    let error = load().with_impulse(to, 5, 2, 16).closed(1).unwrap_err();
    assert_eq!(error, WorkloadError::ClosedImpulse);
}
