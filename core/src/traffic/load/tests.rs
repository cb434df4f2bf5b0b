//! Starts of packets are distributed as the processes say.

use super::*;
use crate::{fabric::Shape, traffic::Pattern};

fn load(process: Process, profile: Profile, length: u32, cycles: u64) -> OpenLoad {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let random = Pattern::Random.destinations(&shape, 5).unwrap();
    OpenLoad::shaped(random, process, profile, length, cycles, 9).unwrap()
}

fn starts(load: &OpenLoad, node: NodeId) -> Vec<u64> {
    let (mut starts, mut from) = (Vec::new(), 0);
    while let Some(start) = load.start(node, starts.len() as u64, from) {
        starts.push(start);
        from = start + 1;
    }
    starts
}

#[test]
fn the_rate_is_met() {
    for process in Process::ALL {
        for rate in [0.01, 0.3, 0.8] {
            let load = load(process, Profile::constant(rate).unwrap(), 4, 400_000);
            let measured = starts(&load, 3).len() as f64 * 4.0 / 400_000.0;
            assert!((measured / rate - 1.0).abs() < 0.06, "{process} {rate}: {measured}");
        }
    }
}

/// Intervals of the gap process: at least the length and one, geometric above, length / rate in the mean.
#[test]
fn gaps_are_geometric() {
    let load = load(Process::Gap, Profile::constant(0.2).unwrap(), 8, 4_000_000);
    let starts = starts(&load, 1);
    let intervals: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(intervals.iter().min(), Some(&9));
    let count = intervals.len() as f64;
    let mean = intervals.iter().sum::<u64>() as f64 / count;
    assert!((mean / 40.0 - 1.0).abs() < 0.01, "{mean}");
    // An idle node starts with probability 1/32.
    let at_once = intervals.iter().filter(|&&interval| interval == 9).count() as f64 / count;
    assert!((at_once * 32.0 - 1.0).abs() < 0.06, "{at_once}");
}

#[test]
fn a_ramp_has_its_rate_at_every_time() {
    for process in Process::ALL {
        let ramp = Profile::new(&[(0, 0.0), (100_000, 0.0), (400_000, 0.6), (500_000, 0.6)]).unwrap();
        let load = load(process, ramp, 5, 500_000);
        let mut counts = [0_u32; 10];
        for node in 0..16 {
            for start in starts(&load, node) {
                counts[(start / 50_000) as usize] += 1;
            }
        }
        assert_eq!(counts[..2], [0, 0]);
        for (tenth, &count) in counts.iter().enumerate().skip(2) {
            let middle = (tenth as f64 + 0.5) * 50_000.0;
            let rate = if tenth < 8 { (middle - 100_000.0) / 300_000.0 * 0.6 } else { 0.6 };
            let measured = f64::from(count) * 5.0 / (16.0 * 50_000.0);
            assert!((measured - rate).abs() < 0.04 * rate + 0.002, "{process} {tenth}: {measured} {rate}");
        }
    }
}

#[test]
fn a_certain_packet_comes_every_cycle() {
    let load = load(Process::Bernoulli, Profile::constant(1.0).unwrap(), 1, 100);
    assert!((0..100).all(|cycle| load.start(1, cycle, cycle) == Some(cycle)));
    assert_eq!(load.start(1, 100, 100), None);
}

/// Waits longer than all numbered pieces go on.
#[test]
fn very_low_rates_are_met() {
    let load = load(Process::Bernoulli, Profile::constant(1e-5).unwrap(), 10, 1 << 33);
    let count = starts(&load, 2).len() as f64;
    let expected = (1_u64 << 33) as f64 * 1e-6;
    assert!((count / expected - 1.0).abs() < 0.04, "{count} {expected}");
}

#[test]
fn an_impulse_interrupts_the_background() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let transpose = Pattern::Transpose.destinations(&shape, 1).unwrap();
    for process in Process::ALL {
        let plain = load(process, Profile::constant(0.4).unwrap(), 4, 4000);
        let impulse = plain.clone().with_impulse(transpose.clone(), 1000, 5, 16);
        for node in 0..16 {
            let (before, all) = (starts(&plain, node), starts(&impulse, node));
            let first = all.iter().position(|&start| start >= 1000).unwrap();
            assert_eq!(all[..first], before[..first]);
            assert_eq!(all[first..first + 5], [1000; 5]);
            assert!(all[first + 5] >= 1020, "{process}: {:?}", &all[first..first + 7]);
            let pause = process.pause(4);
            assert!(all[first + 5..].windows(2).all(|pair| pair[1] - pair[0] > pause));
            let packet = |number| impulse.packet_at(node, number as u64, 1000);
            let to = transpose.of(node, 0);
            assert!((first..first + 5).all(|number| packet(number).destination == to));
            let after = (first + 5..all.len()).filter(|&number| packet(number).destination != node);
            assert!(after.count() > 50);
        }
    }
}

/// Whatever packets do is as before, but for where those go that are generated from a change on.
#[test]
fn changes_lead_elsewhere() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let [transpose, tornado] =
        [Pattern::Transpose, Pattern::Tornado].map(|pattern| pattern.destinations(&shape, 1).unwrap());
    let plain = load(Process::Gap, Profile::constant(0.4).unwrap(), 4, 4000);
    // In any order.
    let changes = vec![(3000, tornado.clone()), (1000, transpose.clone())];
    let changing = plain.clone().changing(changes).with_impulse(tornado.clone(), 2000, 3, 16);
    let plain = plain.with_impulse(tornado.clone(), 2000, 3, 16);
    assert_eq!(changing.destinations().count(), 4);
    for node in 0..16 {
        let own = starts(&changing, node);
        assert_eq!(own, starts(&plain, node));
        for (number, &start) in (0..).zip(&own) {
            let to = changing.packet_at(node, number, start).destination;
            let expected = match start {
                2000 => tornado.of(node, number),
                0..1000 => plain.packet_at(node, number, start).destination,
                1000..3000 => transpose.of(node, number),
                _ => tornado.of(node, number),
            };
            assert_eq!(to, expected, "packet {number} of node {node} in cycle {start}");
        }
    }
}

#[test]
fn what_cannot_be_reached_is_refused() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let random = || Pattern::Random.destinations(&shape, 5).unwrap();
    let profile = |rate| Profile::constant(rate).unwrap();
    assert!(OpenLoad::shaped(random(), Process::Gap, profile(8.0 / 9.0), 8, 10, 1).is_ok());
    for rate in [0.9, 1.0] {
        let error = OpenLoad::shaped(random(), Process::Gap, profile(rate), 8, 10, 1).unwrap_err();
        assert!(matches!(error, WorkloadError::GapRate { .. }), "{error}");
    }
    assert!(matches!(Profile::constant(0.0), Err(WorkloadError::Rate(_))));
    assert!(matches!(Profile::new(&[]), Err(WorkloadError::Rate(_))));
    assert!(matches!(Profile::new(&[(0, f64::NAN)]), Err(WorkloadError::Rate(_))));
}

/// Nodes that are left out generate nothing, of an impulse neither, and all others what they did before.
#[test]
fn nodes_that_are_left_out_are_silent() {
    let shape = Shape::torus(&[4, 4]).unwrap();
    let transpose = Pattern::Transpose.destinations(&shape, 1).unwrap();
    for process in Process::ALL {
        let all = load(process, Profile::constant(0.4).unwrap(), 4, 2000);
        for all in [all.clone(), all.with_impulse(transpose.clone(), 900, 3, 16)] {
            let some = all.clone().without(&[3, 7], 16);
            for node in 0..16 {
                let silent = [3, 7].contains(&node);
                assert_eq!(some.sends(node), !silent);
                assert_eq!(starts(&some, node), if silent { vec![] } else { starts(&all, node) });
            }
        }
        let closed = load(process, Profile::constant(0.4).unwrap(), 4, 2000).closed(2).unwrap();
        let some = closed.clone().without(&[3], 16);
        assert_eq!(some.start_with_room(3, 0, 0, 5), None);
        assert_eq!(some.start_with_room(4, 0, 0, 5), closed.start_with_room(4, 0, 0, 5));
    }
}
