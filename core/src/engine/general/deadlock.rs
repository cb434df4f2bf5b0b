//! Deadlock as a fact: queues whose flits can never move again, whatever the nodes still send.

use super::{
    layout::{Layout, Place},
    record::Record,
    state::State,
};
use crate::{
    bits::Vector,
    engine::{DeadlockReport, Network, SimulationError, WaitingChannel},
    fabric::{Direction, NodeId},
};
use std::collections::HashSet;

/// Who waits for whom. Queues are numbered node by node, within a node by the port they face and
/// the channel, those of the processor last.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    queues: Vec<Waiting>,
}

/// A queue.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Flits in it, and with those on their way to it.
    ready: u32,
    held: u32,
    /// Output channel (of its node) its front packet wants or owns.
    target: Option<usize>,
    /// Whether it owns it; else the queue that does.
    granted: bool,
    owner: Option<usize>,
    /// The queue behind the output channel, unless it is the processor's.
    behind: Option<usize>,
    /// Places the next flit needs behind it.
    needed: u32,
    /// Of a queue behind a link, the owner of the output channel that feeds it.
    feeder: Option<usize>,
}

/// The number of a queue in a snapshot.
fn number(layout: &Layout, node: usize, queue: usize) -> usize {
    let port = usize::from(layout.port_of_queue[queue]);
    node * layout.queues + port * layout.channels + queue - usize::from(layout.first_queue[port])
}

impl Snapshot {
    pub(super) fn new<V: Vector, R: Record>(layout: &Layout, state: &State<V, R>) -> Self {
        let mut queues = vec![Waiting::default(); layout.nodes * layout.queues];
        let asking: HashSet<(Place, usize)> = state
            .requests
            .asking
            .items()
            .iter()
            .filter_map(|&place| Some((place, state.choice(layout, place)?)))
            .collect();
        for node in 0..layout.nodes {
            let of_node = |queue| number(layout, node, queue);
            for queue in 0..layout.queues {
                let waiting = &mut queues[of_node(queue)];
                if layout.is_processor(queue) {
                    waiting.ready = state.feeds.queued(layout.line(node, queue));
                    waiting.held = waiting.ready;
                } else {
                    waiting.ready = state.queues.count(layout, node, queue, false);
                    waiting.held = state.queues.count(layout, node, queue, true);
                }
            }
            for output in 0..layout.outputs {
                let record = state.output(layout, Place::new(node, output));
                let owner = (record.owner() as usize).checked_sub(1);
                let mut behind = None;
                if output < layout.link_outputs
                    && layout.shape.neighbour(node as NodeId, direction(layout, output)).is_some()
                {
                    let next = layout.links[layout.port_of_output(output)].neighbour(node);
                    let number = number(layout, next, usize::from(layout.queue_behind[output]));
                    queues[number].feeder = owner.map(of_node);
                    behind = Some(number);
                }
                for queue in 0..layout.queues {
                    let granted = owner == Some(queue);
                    // Or it will do so at the beginning of the next cycle.
                    let asks = || asking.contains(&(Place::new(node, queue), output));
                    if !granted && !record.requests(layout.bit_of_queue(node, output, queue)) && !asks() {
                        continue;
                    }
                    let mut needed = 1;
                    let whole = if granted {
                        layout.cut_through && state.fresh.bit(output, node)
                    } else {
                        layout.cut_through || layout.grant_needs_room
                    };
                    if whole {
                        let slot = state.fifo(layout, Place::new(node, queue)).front;
                        needed = state.packets.packet(slot).length;
                        if layout.bubble && !granted && layout.enters_ring(queue, output) {
                            needed += state.demands.longest;
                        }
                    }
                    let waiting = &mut queues[of_node(queue)];
                    waiting.target = Some(output);
                    waiting.granted = granted;
                    waiting.owner = owner.map(of_node);
                    waiting.behind = behind;
                    waiting.needed = needed;
                }
            }
        }
        Self { queues }
    }

    /// Per queue, whether its front flit (present or still to come) will move some day. Least fixed
    /// point: start from ejection and free space, add whatever waits only for what moves.
    fn can_move(&self, layout: &Layout) -> Vec<bool> {
        let mut moving = vec![false; self.queues.len()];
        loop {
            let mut changed = false;
            for queue in 0..moving.len() {
                if !moving[queue] && self.moves_next(layout, &moving, queue) {
                    moving[queue] = true;
                    changed = true;
                }
            }
            if !changed {
                return moving;
            }
        }
    }

    fn moves_next(&self, layout: &Layout, moving: &[bool], queue: usize) -> bool {
        let this = &self.queues[queue];
        if this.ready == 0 {
            // Empty: flits come as soon as its feeder moves; without an owner there is nothing to wait for.
            return this.held > 0 || this.feeder.is_none_or(|feeder| moving[feeder]);
        }
        let goes_on = |next: usize| layout.buffer - self.queues[next].held >= this.needed || moving[next];
        match this.owner {
            _ if this.granted => this.behind.is_none_or(goes_on),
            Some(owner) => moving[owner],
            // An output channel without owner is only refused for lack of a bubble or of room.
            None => !(layout.bubble || layout.grant_needs_room) || this.behind.is_none_or(goes_on),
        }
    }

    /// What a stuck queue waits for.
    fn waits_for(&self, queue: usize) -> Option<usize> {
        let this = &self.queues[queue];
        if this.ready == 0 {
            this.feeder
        } else if this.granted {
            this.behind
        } else {
            this.owner.or(this.behind)
        }
    }
}

fn direction(layout: &Layout, output: usize) -> Direction {
    Direction::from_index(layout.port_of_output(output))
}

/// Looks for queues that are stuck while the rest of the network still moves.
pub(super) fn check(
    network: &Network,
    layout: &Layout,
    snapshot: &Snapshot,
    cycle: u64,
) -> Result<(), SimulationError> {
    let moving = snapshot.can_move(layout);
    if snapshot.queues.iter().zip(&moving).any(|(queue, &moves)| queue.ready > 0 && !moves) {
        Err(report(network, layout, snapshot, cycle))
    } else {
        Ok(())
    }
}

/// Names the cycle of waiting channels.
pub(super) fn report(network: &Network, layout: &Layout, snapshot: &Snapshot, cycle: u64) -> SimulationError {
    let moving = snapshot.can_move(layout);
    let all = 0..snapshot.queues.len();
    let stuck = |&queue: &usize| snapshot.queues[queue].ready > 0 && !moving[queue];
    let stuck_flits = all.clone().filter(stuck).map(|queue| u64::from(snapshot.queues[queue].ready)).sum();
    // Follow the waiting from any stuck queue until it closes.
    let mut order = vec![usize::MAX; snapshot.queues.len()];
    let mut trail = Vec::new();
    let mut next = all.clone().find(stuck);
    while let Some(queue) = next {
        if order[queue] != usize::MAX {
            trail.drain(..order[queue]);
            break;
        }
        order[queue] = trail.len();
        trail.push(queue);
        next = snapshot.waits_for(queue);
    }
    let channels: Vec<WaitingChannel> =
        trail.iter().map(|&queue| describe(layout, snapshot, queue)).collect();
    let shape = network.fabric().shape();
    let names: Vec<String> = channels
        .iter()
        .chain(channels.first())
        .map(|channel| {
            let port = channel
                .arrived_along
                .map_or_else(|| "P".to_owned(), |direction| shape.direction_name(direction));
            format!("{}{port} vc{}", shape.describe(channel.node), channel.channel)
        })
        .collect();
    let text = names.join(" -> ");
    let directions = (0..shape.directions()).map(Direction::from_index);
    let directions = directions.map(|direction| shape.direction_name(direction)).collect();
    SimulationError::Deadlock(Box::new(DeadlockReport { cycle, channels, text, stuck_flits, directions }))
}

fn describe(layout: &Layout, snapshot: &Snapshot, queue: usize) -> WaitingChannel {
    let (node, place) = (queue / layout.queues, queue % layout.queues);
    let port = (place / layout.channels).min(layout.directions);
    let channel = place - port * layout.channels;
    let target = snapshot.queues[queue].target;
    WaitingChannel {
        node: node as NodeId,
        // Flits come in through the port that faces where they came from.
        arrived_along: (port < layout.directions).then(|| Direction::from_index(port).opposite()),
        channel: channel as u8,
        wants: target.filter(|&output| output < layout.link_outputs).map(|output| direction(layout, output)),
        wants_channel: target.map_or(0, |output| (output % layout.channels) as u8),
    }
}
