//! The comparison of an engine with the reference model.

use super::{Case, Recorder};
use crate::reference::{self, End, Event, Run, Totals};
use flitloom_core::{
    engine::{DeadlockReport, Outcome, SimulationError, WaitingChannel},
    fabric::Direction,
};
use std::collections::BTreeSet;

/// What the reference model says of a case.
pub fn reference(case: &Case) -> Run {
    reference::simulate_with_routes(&case.network(), &case.packets(), case.routes().as_deref(), &case.rules())
}

/// Whether an engine did what the reference model did: the same end, the same totals, and the same
/// events, flit for flit and cycle for cycle.
///
/// # Errors
/// The first difference, in words.
pub fn compare(
    case: &Case,
    expected: &Run,
    result: &Result<Outcome, SimulationError>,
    seen: &Recorder,
) -> Result<(), String> {
    let events = seen.events(&case.packets())?;
    match (expected.end, result) {
        (End::Delivered, Ok(outcome)) => {
            same_events(&expected.events, &events)?;
            same("totals", &expected.totals, &totals(outcome))
        }
        (End::Deadlock { .. }, Err(SimulationError::Deadlock(report))) => {
            // An engine may notice while other flits still move, or pass over cycles in which nothing
            // does: compare the cycles with moves until it stopped.
            same_events(&with_moves(&expected.events, report.cycle), &with_moves(&events, report.cycle))?;
            let stuck: u64 = expected.stuck.iter().map(|queue| queue.flits).sum();
            if report.cycle > last_move(&expected.events) {
                same("stuck flits", &stuck, &report.stuck_flits)?;
            }
            is_a_cycle(case, expected, report)
        }
        (
            End::Interlocked { first, count },
            Err(SimulationError::Interlocked { node, count: locked, .. }),
        ) => {
            same_events(&expected.events, &events)?;
            same("interlocked nodes", &(first, count), &(*node, *locked))
        }
        (end, result) => Err(format!("expected {end:?}, got {result:?}")),
    }
}

/// An engine's totals in the reference model's form.
pub fn totals(outcome: &Outcome) -> Totals {
    Totals {
        duration: outcome.duration,
        cycles: outcome.cycles,
        packets_delivered: outcome.packets_delivered,
        flits_delivered: outcome.flits_delivered,
        flit_hops: outcome.flit_hops,
        packets_injected: outcome.packets_injected,
        latency_sum: outcome.latency_sum,
        fingerprint: outcome.fingerprint,
        lateness: outcome.lateness,
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}

fn same_events(expected: &[Event], got: &[Event]) -> Result<(), String> {
    let first = expected.iter().zip(got).position(|(a, b)| a != b).unwrap_or(expected.len().min(got.len()));
    same("first different event", &expected.get(first), &got.get(first))
}

/// The last cycle in which a flit moved.
pub fn last_move(events: &[Event]) -> u64 {
    events.iter().rfind(|event| event.what.is_move()).map_or(0, |event| event.cycle)
}

/// The events of cycles before `end` in which a flit moves.
fn with_moves(events: &[Event], end: u64) -> Vec<Event> {
    let cycles: BTreeSet<u64> =
        events.iter().filter(|event| event.what.is_move()).map(|event| event.cycle).collect();
    let kept = events.iter().filter(|event| event.cycle < end && cycles.contains(&event.cycle));
    kept.cloned().collect()
}

/// Every channel of the report is one that is stuck in the reference model and wants the same, and
/// the next one is what it waits for: the queue that owns the output it wants, or, if that is
/// itself, the queue behind it.
fn is_a_cycle(case: &Case, expected: &Run, report: &DeadlockReport) -> Result<(), String> {
    let processor = case.shape.directions();
    let queue = |channel: &WaitingChannel| {
        let side = channel.arrived_along.map_or(processor, |direction| direction.opposite().index());
        (side, channel.channel as usize)
    };
    if report.channels.is_empty() {
        return Err("a deadlock without channels".to_owned());
    }
    for (channel, next) in report.channels.iter().zip(report.channels.iter().cycle().skip(1)) {
        let own = queue(channel);
        let stuck = expected.stuck.iter().find(|stuck| (stuck.node, stuck.queue) == (channel.node, own));
        let Some(stuck) = stuck else { return Err(format!("{channel:?} is not stuck")) };
        let wants = (channel.wants.map_or(processor, Direction::index), channel.wants_channel as usize);
        same("what a stuck queue wants", &stuck.wants, &wants)?;
        let waits_for = match (stuck.owner, channel.wants) {
            (Some(owner), _) if owner != own => Some((channel.node, owner)),
            (_, Some(direction)) => case
                .shape
                .neighbour(channel.node, direction)
                .map(|node| (node, (direction.opposite().index(), wants.1))),
            (_, None) => None,
        };
        same("what a stuck queue waits for", &waits_for, &Some((next.node, queue(next))))?;
    }
    Ok(())
}
