//! All-to-all on any torus with slots: a pass over time, in which every free slot takes the packet that fits best, or
//! beams of partial schedules where two dimensions have rings of several slots (`trains`).

mod epoch;
mod fit;
mod pass;
mod trains;

use super::{
    Told,
    joined::{Joined, Packet, last_arrival},
    kind::{AllToAll, Starts},
};
use crate::{
    schedule::{Budget, classic_bound},
    traffic::{Purpose, draw},
};
use epoch::{Epoch, split};
use pass::{Manner, Pass, Start, Ways};
use trains::Exchange;

/// Stages of a pass in the time that the loads need; the rest of it has stages of the same length.
const STAGES: u64 = 32;
/// Most moves that are spent on an epoch.
const MOST_MOVES: u64 = 5_000_000;

/// Whether the given routes are the same from all nodes of a class.
pub(super) fn keeps_classes(kind: &AllToAll) -> bool {
    split(kind).is_some()
}

/// On the given routes.
pub(super) fn in_order(kind: &AllToAll, seed: u64, budget: &mut Budget, told: &mut Told) -> Option<Starts> {
    // A general search gets what is left.
    let moves = budget.moves / 2;
    exchange(kind, Ways::InOrder, seed, moves, budget, told)
}

/// With any number of bends.
pub(super) fn staircases(kind: &AllToAll, seed: u64, budget: &mut Budget, told: &mut Told) -> Option<Starts> {
    let moves = budget.moves;
    exchange(kind, Ways::Staircase, seed, moves, budget, told)
}

/// At most `moves` are taken from the budget.
fn exchange(
    kind: &AllToAll,
    ways: Ways,
    seed: u64,
    moves: u64,
    budget: &mut Budget,
    told: &mut Told,
) -> Option<Starts> {
    let epochs = split(kind)?;
    let share = (moves / epochs.len() as u64).min(MOST_MOVES);
    let mut found: Vec<Option<(u64, Vec<Start>)>> = vec![None; epochs.len()];
    let trains: Vec<Exchange> = match ways {
        Ways::Staircase => epochs.iter().map_while(|epoch| Exchange::new(epoch, kind.pitch)).collect(),
        Ways::InOrder => Vec::new(),
    };
    // A little for every epoch first, so that a stop finds all of them improved.
    let mut best = None;
    for (round, given) in (0..).zip([share / 16, share - share / 16]) {
        for (number, epoch) in epochs.iter().enumerate() {
            if found[number].is_some() && budget.is_over() {
                continue;
            }
            let seed = seed.wrapping_add(round << 32);
            let left = budget.moves;
            // Of the time as of the moves, so that none of the epochs gets it all.
            let (from, to) = if round == 0 { (0.0, 1.0 / 16.0) } else { (1.0 / 16.0, 1.0) };
            let until = budget.until * (from + (to - from) * (number + 1) as f64 / epochs.len() as f64);
            let other = budget.share_until(given, until, |share| {
                let mut tried =
                    |unplaced, moves| told(best.as_ref(), unplaced, left - (given.min(left) - moves));
                match trains.get(number) {
                    Some(trains) => trains.shortest(seed, share, &mut tried),
                    None => shortest(epoch, kind.pitch, ways, seed, share, &mut tried),
                }
            });
            found[number] = found[number].take().into_iter().chain(other).min_by_key(|found| found.0);
            // A shorter epoch may leave the next one less room.
            let now = joined(kind, &epochs, &found);
            best = best.into_iter().chain(now).min_by_key(last_arrival);
        }
    }
    best
}

/// The epochs, one after the other.
fn joined(kind: &AllToAll, epochs: &[Epoch], found: &[Option<(u64, Vec<Start>)>]) -> Option<Starts> {
    let mut schedule = Joined::new(kind);
    for (epoch, found) in epochs.iter().zip(found) {
        let packets = packets(kind, &schedule, epoch, &found.as_ref()?.1);
        schedule.append(std::iter::once(packets))?;
    }
    schedule.starts()
}

/// The packets of an epoch.
fn packets(kind: &AllToAll, schedule: &Joined, epoch: &Epoch, starts: &[Start]) -> Vec<Packet> {
    let links = (kind.fabric.shape().nodes() * kind.fabric.shape().directions()) as u32;
    let of_orbit = epoch
        .orbits
        .iter()
        .zip(starts)
        .flat_map(|(orbit, start)| orbit.members.iter().map(move |&job| (job, start)));
    let packet = |(job, (start, way)): (u32, &Start)| {
        let source = kind.problem.jobs()[job as usize].routes[0].uses[0].resource - links;
        schedule.packet(job as usize, *start, source, way)
    };
    of_orbit.map(packet).collect()
}

/// A short schedule of one epoch: a pass in stages, each of which goes on in the manner that led to
/// the best schedule when carried through. Also returns how bad it is.
fn shortest(
    epoch: &Epoch,
    pitch: u32,
    ways: Ways,
    seed: u64,
    budget: &mut Budget,
    told: &mut dyn FnMut(usize, u64),
) -> Option<(u64, Vec<Start>)> {
    let bound = classic_bound(&epoch.problem);
    let jobs = epoch.orbits.len() as u64;
    // A stage carries half of the jobs through, on average.
    let tries = (2 * budget.moves / (STAGES * jobs)).max(1);
    let mut pass = Pass::new(epoch, pitch, ways);
    let mut best: Option<(Pass, Manner)> = None;
    'stages: for stage in 0.. {
        told(pass.left(), budget.moves);
        let proven = best.as_ref().map_or(draw(seed, 2, Purpose::Search, 0), |best| best.1.weights);
        for number in 0..tries {
            if best.is_some() && (budget.moves < pass.left() as u64 || budget.is_over()) {
                break 'stages;
            }
            budget.spend(pass.left() as u64);
            let random = |purpose| draw(seed, purpose, Purpose::Search, stage * tries + number);
            let mut manner = Manner { seed: random(0), weights: random(1) };
            if number % 2 == 1 {
                manner.weights = proven;
            }
            let mut whole = pass.clone();
            let complete = whole.advance(manner, u32::MAX);
            if complete && best.as_ref().is_none_or(|best| whole.badness() < best.0.badness()) {
                best = Some((whole, manner));
            }
        }
        let until = (u64::from(bound) * (stage + 1) / STAGES) as u32;
        if pass.advance(best.as_ref()?.1, until) {
            break;
        }
    }
    let best = best?.0;
    Some((best.badness(), best.into_starts()?))
}
