//! Deadlock as a fact: queues whose flits can never move again, whatever the nodes still send.

use super::{
    channels::{EJECTION, HEAD, SLOT_SHIFT},
    layout::{Layout, NONE},
    state::State,
};
use crate::{
    engine::{DeadlockReport, Network, SimulationError, WaitingChannel},
    fabric::{Direction, NodeId},
    routing::{Place, RoutingFunction},
};

/// Looks for queues that are stuck while the rest of the network still moves.
///
/// Nothing is looked at where the routing function claims to be free of deadlock.
pub(super) fn check(
    network: &Network,
    layout: &Layout,
    state: &State,
    cycle: u64,
) -> Result<(), SimulationError> {
    let function =
        if state.routes.is_some() { RoutingFunction::Given } else { RoutingFunction::DimensionOrder };
    let place = Place { shape: network.fabric().shape(), rule: network.router().channel_rule() };
    if function.is_deadlock_free(place, layout.bubble) {
        return Ok(());
    }
    let moving = can_move(layout, state);
    let stuck = |queue: usize| state.channels.queues[queue].ready() > 0 && !moving[queue];
    if (0..state.channels.queues.len()).any(stuck) {
        Err(report(network, layout, state, cycle))
    } else {
        Ok(())
    }
}

/// Names the cycle of waiting channels.
pub(super) fn report(network: &Network, layout: &Layout, state: &State, cycle: u64) -> SimulationError {
    let moving = can_move(layout, state);
    let stuck = |queue: usize| state.channels.queues[queue].ready() > 0 && !moving[queue];
    let stuck_flits = (0..state.channels.queues.len())
        .filter(|&queue| stuck(queue))
        .map(|queue| u64::from(state.channels.queues[queue].ready()));
    let mut report = DeadlockReport {
        cycle,
        channels: Vec::new(),
        text: String::new(),
        stuck_flits: stuck_flits.sum::<u64>(),
    };
    // Follow the waiting from any stuck queue until it closes.
    let mut order = vec![usize::MAX; state.channels.queues.len()];
    let mut trail = Vec::new();
    let mut next = (0..state.channels.queues.len()).find(|&queue| stuck(queue));
    while let Some(queue) = next {
        if order[queue] != usize::MAX {
            trail.drain(..order[queue]);
            break;
        }
        order[queue] = trail.len();
        trail.push(queue);
        next = waits_for(layout, state, queue);
    }
    report.channels = trail.iter().map(|&queue| describe(layout, state, queue)).collect();
    let shape = network.fabric().shape();
    let names: Vec<String> = report
        .channels
        .iter()
        .chain(report.channels.first())
        .map(|channel| {
            let port =
                channel.arrived_along.map_or_else(|| "P".to_owned(), |direction| direction.to_string());
            format!("{}{port} vc{}", shape.describe(channel.node), channel.channel)
        })
        .collect();
    report.text = names.join(" -> ");
    SimulationError::Deadlock(Box::new(report))
}

/// Per queue, whether its front flit (present or still to come) will move some day. Least fixed
/// point: start from ejection and free space, add whatever waits only for what moves.
fn can_move(layout: &Layout, state: &State) -> Vec<bool> {
    let mut moving = vec![false; state.channels.queues.len()];
    loop {
        let mut changed = false;
        for queue in 0..moving.len() {
            if !moving[queue] && moves_next(layout, state, &moving, queue) {
                moving[queue] = true;
                changed = true;
            }
        }
        if !changed {
            return moving;
        }
    }
}

fn moves_next(layout: &Layout, state: &State, moving: &[bool], queue: usize) -> bool {
    let this = &state.channels.queues[queue];
    if this.ready() == 0 {
        // Empty: flits come as soon as its feeder moves; without an owner there is nothing to wait for.
        return this.held() > 0 || feeder(layout, state, queue).is_none_or(|feeder| moving[feeder]);
    }
    if this.granted {
        return match behind(state, this.target) {
            None => true,
            Some(next) => fits(layout, state, queue, next) || moving[next],
        };
    }
    let owner = state.channels.outputs[this.target as usize].owner;
    if owner != NONE {
        return moving[owner as usize];
    }
    // An output channel without owner is only refused for the sake of a bubble.
    match behind(state, this.target) {
        Some(next) if layout.bubble => fits(layout, state, queue, next) || moving[next],
        _ => true,
    }
}

fn fits(layout: &Layout, state: &State, queue: usize, next: usize) -> bool {
    let space = u32::from(layout.buffer - state.channels.queues[next].held());
    let front = state.channels.front(layout, queue);
    let mut needed = 1;
    if layout.cut_through && front & HEAD != 0 {
        needed = state.packets[(front >> SLOT_SHIFT) as usize].length;
        let output = state.channels.queues[queue].target >> layout.channel_shift;
        let enters = !state.channels.queues[queue].granted && layout.enters_ring(queue, output);
        if layout.bubble && enters {
            needed += state.channels.longest;
        }
    }
    space >= needed
}

/// The queue behind an output channel; `None` for the processor.
fn behind(state: &State, output: u32) -> Option<usize> {
    let behind = state.channels.outputs[output as usize].behind;
    (behind & EJECTION == 0).then_some(behind as usize)
}

/// The queue whose flits come next into `queue`, if its feeding channel has an owner.
fn feeder(layout: &Layout, state: &State, queue: usize) -> Option<usize> {
    let upstream = state.channels.queues[queue].upstream;
    if upstream >= layout.feed(0) {
        return None;
    }
    let owner = state.channels.outputs[upstream as usize].owner;
    (owner != NONE).then_some(owner as usize)
}

/// What a stuck queue waits for.
fn waits_for(layout: &Layout, state: &State, queue: usize) -> Option<usize> {
    let this = &state.channels.queues[queue];
    if this.ready() == 0 {
        return feeder(layout, state, queue);
    }
    if this.granted {
        return behind(state, this.target);
    }
    match state.channels.outputs[this.target as usize].owner {
        NONE => behind(state, this.target),
        owner => Some(owner as usize),
    }
}

fn describe(layout: &Layout, state: &State, queue: usize) -> WaitingChannel {
    let (node, port, channel) = layout.place(queue);
    let directions = layout.ports - 1;
    let target = state.channels.queues[queue].target;
    let wants = if target == NONE { NONE } else { (target >> layout.channel_shift) % layout.ports as u32 };
    WaitingChannel {
        node: node as NodeId,
        // Flits come in through the port that faces where they came from.
        arrived_along: (port < directions).then(|| Direction::from_index(port).opposite()),
        channel: channel as u8,
        wants: ((wants as usize) < directions).then(|| Direction::from_index(wants as usize)),
        wants_channel: if target == NONE { 0 } else { (target & ((1 << layout.channel_shift) - 1)) as u8 },
    }
}
