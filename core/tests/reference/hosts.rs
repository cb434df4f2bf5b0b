//! Packets on tables by destination, flit by flit: plain loops over every queue and channel in every cycle.
//!
//! A queue stands behind every channel and lane, and in every host. One cycle `t`:
//!
//! 1. A flit sent in cycle `t - latency` is in its queue. A header at the front of a queue that has asked for
//!    nothing asks for the output that the table names, with the lane of its service level; in a host when its
//!    start has come.
//! 2. An output without owner is given to whoever asked first, of several in a cycle to the lowest queue:
//!    channels in their order, lanes ascending, then hosts.
//! 3. Every channel takes the first lane after the one used last whose owner has a flit and behind which there
//!    was room at the start of the cycle, flits on their way counted; every destination takes a flit of its
//!    owner. All chosen flits move at once; a tail frees its output for the next cycle.

use flitloom_core::{
    fabric::Graph,
    forwarding::{Forwarding, HostPacket, Links},
};
use std::collections::VecDeque;

/// What was seen; `stuck` if nothing could ever move again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    pub stuck: bool,
    pub cycles: u64,
    pub delivered: u64,
    pub latencies: Vec<u64>,
    pub flits: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Flit {
    packet: usize,
    index: u32,
    here: u64,
}

/// A channel's lane, or the way into a destination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Lane(usize, usize),
    Home(usize),
}

#[derive(Clone, Default)]
struct Queue {
    flits: VecDeque<Flit>,
    /// When its first packet asked, and for what.
    asked: Option<(u64, Output)>,
}

/// Sends packets whose ways exist; `lane(destination, source)` is the lane of a pair on all channels.
pub fn send(
    graph: &Graph,
    table: &Forwarding,
    lane: impl Fn(usize, usize) -> usize,
    lanes: usize,
    packets: &[HostPacket],
    links: Links,
) -> Sent {
    let channels = graph.channels();
    let home: Vec<usize> = (0..graph.switches())
        .flat_map(|switch| (0..graph.hosts(switch as u32)).map(move |_| switch))
        .collect();
    let mut queues = vec![Queue::default(); channels * lanes + home.len()];
    for (number, packet) in packets.iter().enumerate() {
        let flits = (0..packet.flits).map(|index| Flit { packet: number, index, here: packet.start });
        queues[channels * lanes + packet.source as usize].flits.extend(flits);
    }
    let mut owners = vec![None; channels * lanes + table.roots.len()];
    let place = |output| match output {
        Output::Lane(channel, lane) => channel * lanes + lane,
        Output::Home(destination) => channels * lanes + destination,
    };
    let mut last = vec![0; channels];
    let mut sent = Sent { flits: vec![0; channels], ..Sent::default() };
    sent.latencies = vec![0; packets.len()];
    for cycle in 0.. {
        for (number, queue) in queues.iter_mut().enumerate() {
            let Some(flit) = queue.flits.front().filter(|flit| flit.here <= cycle) else { continue };
            if flit.index > 0 || queue.asked.is_some() {
                continue;
            }
            let packet = packets[flit.packet];
            let (to, from) = (packet.destination as usize, packet.source as usize);
            let switch = if number < channels * lanes {
                graph.ends((number / lanes) as u32).1 as usize
            } else {
                home[from]
            };
            let output = if table.roots[to] as usize == switch {
                Output::Home(to)
            } else {
                Output::Lane(table.row(to)[switch] as usize, lane(to, from))
            };
            queue.asked = Some((cycle, output));
        }
        for (output, owner) in owners.iter_mut().enumerate().filter(|(_, owner)| owner.is_none()) {
            let asking = queues.iter().enumerate().filter_map(|(number, queue)| {
                let (when, wanted) = queue.asked?;
                (place(wanted) == output).then_some((when, number))
            });
            *owner = asking.min().map(|(_, number)| number);
        }
        let has_flit = |number: usize| queues[number].flits.front().is_some_and(|flit| flit.here <= cycle);
        let mut moves: Vec<(usize, Output)> = Vec::new();
        for (channel, last) in last.iter_mut().enumerate() {
            let first = *last + 1;
            for lane in (0..lanes).map(|step| (first + step) % lanes) {
                let behind = channel * lanes + lane;
                if let Some(owner) = owners[behind]
                    && has_flit(owner)
                    && queues[behind].flits.len() < links.buffer as usize
                {
                    *last = lane;
                    moves.push((owner, Output::Lane(channel, lane)));
                    break;
                }
            }
        }
        for destination in 0..table.roots.len() {
            if let Some(owner) = owners[channels * lanes + destination].filter(|&owner| has_flit(owner)) {
                moves.push((owner, Output::Home(destination)));
            }
        }
        let to_come = queues.iter().flat_map(|queue| &queue.flits).any(|flit| flit.here > cycle);
        if moves.is_empty() && !to_come {
            sent.stuck = queues.iter().any(|queue| !queue.flits.is_empty());
            return sent;
        }
        for (number, output) in moves {
            let flit = queues[number].flits.pop_front().expect("it has a flit");
            let packet = packets[flit.packet];
            let is_tail = flit.index + 1 == packet.flits;
            if is_tail {
                queues[number].asked = None;
                owners[place(output)] = None;
            }
            match output {
                Output::Lane(channel, _) => {
                    sent.flits[channel] += 1;
                    let here = cycle + u64::from(links.latency);
                    queues[place(output)].flits.push_back(Flit { here, ..flit });
                }
                Output::Home(_) if is_tail => {
                    sent.delivered += 1;
                    sent.cycles = cycle + 1;
                    sent.latencies[flit.packet] = cycle + 1 - packet.start;
                }
                Output::Home(_) => {}
            }
        }
    }
    sent
}
