//! Packets in motion on tables by destination: wormhole switching with lanes and credits on any graph.

use super::check::{Hop, LANES, LaneRule};
use super::{Forwarding, NO_CHANNEL};
use crate::fabric::Graph;
use std::collections::{BTreeSet, VecDeque};

/// What a host sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPacket {
    /// Number of the host, counted by switch.
    pub source: u32,
    /// Row of the table, which is where it goes.
    pub destination: u32,
    /// Flits, at least one.
    pub flits: u32,
    /// First cycle in which it may leave its host.
    pub start: u64,
}

/// What links and switches are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    /// Flits that a switch can hold per channel that arrives and lane, at least one.
    pub buffer: u32,
    /// Cycles from one switch to the next, at least one.
    pub latency: u32,
}

/// How a motion ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MotionEnd {
    /// Everything has arrived.
    Delivered,
    /// Nothing can ever move again: channels and lanes that wait for each other in a cycle.
    Deadlock(Vec<Hop>),
    /// The limit of cycles was reached.
    Limit,
}

/// What was seen of packets in motion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Motion {
    /// How it ended.
    pub end: MotionEnd,
    /// One more than the last cycle in which something arrived.
    pub cycles: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Packets that no entry leads to their destination; they were not sent.
    pub unreachable: u64,
    /// Sum of cycles from the start of a packet to the arrival of its last flit.
    pub latency_sum: u128,
    /// The longest of these times.
    pub latency_max: u64,
    /// Flits that crossed every channel.
    pub flits: Vec<u64>,
}

/// Sends packets over a graph until everything has arrived, nothing can move, or for `limit` cycles.
///
/// Every host sends its packets in the order given, a flit per cycle, and receives a flit per cycle. A
/// channel carries a flit per cycle; its lanes take turns. A header asks for the lane that tables and
/// levels name; whoever asked first gets it and keeps it until its tail has passed. `levels` is as in
/// [`check`](super::check).
///
/// ```
/// use flitloom_core::{fabric::Graph, forwarding::*};
/// let path = Graph::new(vec![1; 3], &[(0, 1), (1, 2)])?;
/// let table = Forwarding::shortest(&path, vec![0, 1, 2]);
/// let packet = HostPacket { source: 0, destination: 2, flits: 4, start: 0 };
/// let links = Links { buffer: 4, latency: 1 };
/// let motion = send(&path, &table, None, &LaneRule::Identity(1), &[packet], links, 100);
/// // Two hops, and a flit per cycle into the host.
/// assert_eq!((motion.end, motion.cycles, motion.flits), (MotionEnd::Delivered, 6, vec![4, 0, 4, 0]));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn send(
    graph: &Graph,
    table: &Forwarding,
    levels: Option<&[u8]>,
    rule: &LaneRule,
    packets: &[HostPacket],
    links: Links,
    limit: u64,
) -> Motion {
    let mut state = State::new(graph, table, levels, rule, packets, links);
    state.run(limit);
    state.motion
}

/// No queue, no output.
const NONE: u32 = u32::MAX;

/// Packets in line at one place: behind a channel and lane, or in a host.
#[derive(Clone, Debug, Default)]
struct Queue {
    packets: VecDeque<u32>,
    /// Flits that have arrived and not left.
    flits: u32,
    /// Flits that have arrived or are on their way, and not left.
    taken: u32,
    /// Flits of the first packet that have left.
    left: u32,
    /// What the first packet has asked for.
    wants: u32,
}

/// A channel's lane, or the way into a destination.
#[derive(Clone, Debug)]
struct Output {
    owner: u32,
    asking: VecDeque<u32>,
}

/// Queues are numbered `channel * LANES + lane`, then by host; outputs alike, then by destination.
struct State<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    levels: Option<&'a [u8]>,
    rule: &'a LaneRule,
    packets: &'a [HostPacket],
    links: Links,
    /// First number of a host, or of a destination.
    base: usize,
    host_switch: Vec<u32>,
    first_host: Vec<u32>,
    places: Vec<u8>,
    queues: Vec<Queue>,
    outputs: Vec<Output>,
    /// Lanes of every channel that somebody owns, then destinations.
    owned: Vec<u16>,
    /// The lane that every channel used last.
    last: Vec<u8>,
    /// Queues with a header in front that has asked for nothing.
    fresh: Vec<u32>,
    /// Outputs that may have to be given to somebody.
    changed: Vec<u32>,
    /// By cycle modulo their number: queues at which a flit arrives.
    arriving: Vec<Vec<u32>>,
    under_way: u64,
    /// Hosts whose next packet is not ready.
    sleeping: BTreeSet<(u64, u32)>,
    remaining: u64,
    cycle: u64,
    motion: Motion,
}

impl<'a> State<'a> {
    fn new(
        graph: &'a Graph,
        table: &'a Forwarding,
        levels: Option<&'a [u8]>,
        rule: &'a LaneRule,
        packets: &'a [HostPacket],
        links: Links,
    ) -> Self {
        let links = Links { buffer: links.buffer.max(1), latency: links.latency.max(1) };
        let base = graph.channels() * LANES;
        let host_switch: Vec<u32> = (0..graph.switches() as u32)
            .flat_map(|switch| std::iter::repeat_n(switch, graph.hosts(switch) as usize))
            .collect();
        let mut first_host = vec![0; graph.switches()];
        for switch in 1..graph.switches() {
            first_host[switch] = first_host[switch - 1] + graph.hosts(switch as u32 - 1);
        }
        let idle = Queue { wants: NONE, ..Queue::default() };
        let mut queues = vec![idle; base + host_switch.len()];
        let reached: Vec<Vec<bool>> = (0..table.roots.len())
            .map(|destination| {
                let mut reached = vec![false; graph.switches()];
                let order = table.towards(graph, destination);
                order.iter().for_each(|&switch| reached[switch as usize] = true);
                reached
            })
            .collect();
        let mut unreachable = 0;
        for (number, packet) in packets.iter().enumerate() {
            if reached[packet.destination as usize][host_switch[packet.source as usize] as usize] {
                queues[base + packet.source as usize].packets.push_back(number as u32);
            } else {
                unreachable += 1;
            }
        }
        let motion = Motion {
            end: MotionEnd::Delivered,
            cycles: 0,
            delivered: 0,
            unreachable,
            latency_sum: 0,
            latency_max: 0,
            flits: vec![0; graph.channels()],
        };
        let places = (0..graph.channels() as u32).map(|channel| graph.place(channel) as u8).collect();
        let mut state = Self {
            graph,
            table,
            levels,
            rule,
            packets,
            links,
            base,
            first_host,
            places,
            outputs: vec![Output { owner: NONE, asking: VecDeque::new() }; base + table.roots.len()],
            owned: vec![0; graph.channels() + table.roots.len()],
            last: vec![0; graph.channels()],
            fresh: Vec::new(),
            changed: Vec::new(),
            arriving: vec![Vec::new(); links.latency as usize + 1],
            under_way: 0,
            sleeping: BTreeSet::new(),
            remaining: packets.len() as u64 - unreachable,
            cycle: 0,
            motion,
            queues,
            host_switch,
        };
        (0..state.host_switch.len() as u32).for_each(|host| state.wake(host));
        state
    }

    /// Lets the next packet of a host ask for its way, now or when it may start.
    fn wake(&mut self, host: u32) {
        let number = self.base as u32 + host;
        let Some(&packet) = self.queues[number as usize].packets.front() else { return };
        let start = self.packets[packet as usize].start;
        if start <= self.cycle { self.fresh.push(number) } else { _ = self.sleeping.insert((start, host)) }
    }

    fn run(&mut self, limit: u64) {
        let mut sends: Vec<(u32, u32)> = Vec::new();
        while self.remaining > 0 {
            if self.cycle >= limit {
                self.motion.end = MotionEnd::Limit;
                return;
            }
            self.arrive();
            self.ask();
            self.choose(&mut sends);
            if sends.is_empty() && self.under_way == 0 {
                let Some(&(start, _)) = self.sleeping.first() else {
                    self.motion.end = MotionEnd::Deadlock(self.waits());
                    return;
                };
                self.cycle = start;
                continue;
            }
            for &(queue, output) in &sends {
                self.forward(queue as usize, output as usize);
            }
            self.cycle += 1;
        }
    }

    fn arrive(&mut self) {
        while let Some(&(start, host)) = self.sleeping.first()
            && start <= self.cycle
        {
            self.sleeping.pop_first();
            self.wake(host);
        }
        let turn = (self.cycle % self.arriving.len() as u64) as usize;
        let mut arrived = std::mem::take(&mut self.arriving[turn]);
        self.under_way -= arrived.len() as u64;
        for number in arrived.drain(..) {
            let queue = &mut self.queues[number as usize];
            queue.flits += 1;
            if queue.flits == 1 && queue.left == 0 && queue.wants == NONE {
                self.fresh.push(number);
            }
        }
        self.arriving[turn] = arrived;
    }

    /// Headers in front ask for their outputs; free outputs are given to those who asked first.
    fn ask(&mut self) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable();
        for number in fresh.drain(..) {
            let output = self.wanted(number);
            self.queues[number as usize].wants = output;
            self.outputs[output as usize].asking.push_back(number);
            self.changed.push(output);
        }
        self.fresh = fresh;
        for number in self.changed.drain(..) {
            let output = &mut self.outputs[number as usize];
            if output.owner == NONE
                && let Some(first) = output.asking.pop_front()
            {
                output.owner = first;
                match (number as usize).checked_sub(self.base) {
                    None => self.owned[number as usize / LANES] |= 1 << (number as usize % LANES),
                    Some(destination) => self.owned[self.graph.channels() + destination] = 1,
                }
            }
        }
    }

    /// The output that the first packet of a queue needs next.
    fn wanted(&self, number: u32) -> u32 {
        let packet = &self.packets[self.queues[number as usize].packets[0] as usize];
        let destination = packet.destination as usize;
        let source = self.host_switch[packet.source as usize];
        let (switch, arrived) = match (number as usize).checked_sub(self.base) {
            None => {
                let channel = number / LANES as u32;
                (self.graph.ends(channel).1, usize::from(self.places[channel as usize ^ 1]))
            }
            Some(host) => {
                let port = host - self.first_host[source as usize] as usize;
                (source, self.graph.outgoing(source).len() + port)
            }
        };
        if self.table.roots[destination] == switch {
            return (self.base + destination) as u32;
        }
        let channel = self.table.row(destination)[switch as usize];
        debug_assert_ne!(channel, NO_CHANNEL);
        let level = self.levels.map_or(0, |levels| {
            usize::from(levels[destination * self.host_switch.len() + packet.source as usize])
        });
        let out = usize::from(self.places[channel as usize]);
        let lane = self.rule.lane(self.graph, switch, arrived, out, level);
        channel * LANES as u32 + u32::from(lane)
    }

    /// Which queue sends a flit to which output in this cycle.
    fn choose(&mut self, sends: &mut Vec<(u32, u32)>) {
        sends.clear();
        for channel in 0..self.graph.channels() {
            let owned = self.owned[channel];
            if owned == 0 {
                continue;
            }
            let last = u32::from(self.last[channel]) + 1;
            for turn in 0..LANES as u32 {
                let lane = (last + turn) % LANES as u32;
                if owned >> lane & 1 == 0 {
                    continue;
                }
                let output = channel * LANES + lane as usize;
                let owner = self.outputs[output].owner;
                if self.can_send(owner) && self.queues[output].taken < self.links.buffer {
                    self.last[channel] = lane as u8;
                    sends.push((owner, output as u32));
                    break;
                }
            }
        }
        for destination in 0..self.table.roots.len() {
            let output = self.base + destination;
            if self.owned[self.graph.channels() + destination] != 0
                && self.can_send(self.outputs[output].owner)
            {
                sends.push((self.outputs[output].owner, output as u32));
            }
        }
    }

    fn can_send(&self, queue: u32) -> bool {
        queue as usize >= self.base || self.queues[queue as usize].flits > 0
    }

    fn forward(&mut self, number: usize, output: usize) {
        let queue = &mut self.queues[number];
        let packet = queue.packets[0];
        let HostPacket { flits, start, .. } = self.packets[packet as usize];
        queue.left += 1;
        if number < self.base {
            queue.flits -= 1;
            queue.taken -= 1;
        }
        let (is_header, is_tail) = (queue.left == 1, queue.left >= flits);
        if is_tail {
            queue.packets.pop_front();
            queue.left = 0;
            queue.wants = NONE;
            let ready = queue.flits > 0;
            match number.checked_sub(self.base) {
                Some(host) => {
                    // It asks in the next cycle.
                    self.cycle += 1;
                    self.wake(host as u32);
                    self.cycle -= 1;
                }
                None if ready => self.fresh.push(number as u32),
                None => {}
            }
            self.outputs[output].owner = NONE;
            self.changed.push(output as u32);
        }
        match output.checked_sub(self.base) {
            None => {
                let (channel, lane) = (output / LANES, output % LANES);
                self.motion.flits[channel] += 1;
                if is_tail {
                    self.owned[channel] &= !(1 << lane);
                }
                let next = &mut self.queues[output];
                next.taken += 1;
                if is_header {
                    next.packets.push_back(packet);
                }
                let when = (self.cycle + u64::from(self.links.latency)) % self.arriving.len() as u64;
                self.arriving[when as usize].push(output as u32);
                self.under_way += 1;
            }
            Some(destination) if is_tail => {
                self.owned[self.graph.channels() + destination] = 0;
                self.remaining -= 1;
                let motion = &mut self.motion;
                motion.delivered += 1;
                motion.cycles = self.cycle + 1;
                motion.latency_sum += u128::from(self.cycle + 1 - start);
                motion.latency_max = motion.latency_max.max(self.cycle + 1 - start);
            }
            Some(_) => {}
        }
    }

    /// Channels and lanes that wait for each other, found by following any of them.
    fn waits(&self) -> Vec<Hop> {
        let held =
            |number: &usize| !self.queues[*number].packets.is_empty() && self.queues[*number].flits > 0;
        let Some(mut at) = (0..self.base).find(held) else { return Vec::new() };
        let mut order = vec![NONE; self.queues.len()];
        let mut path = Vec::new();
        while order[at] == NONE {
            order[at] = path.len() as u32;
            path.push(at);
            let wanted = self.queues[at].wants as usize;
            // Behind the output stands what is in the way, or its owner has nothing to send yet.
            at = match self.queues.get(wanted) {
                Some(queue) if queue.flits > 0 && wanted < self.base => wanted,
                _ => match self.outputs.get(wanted).map(|output| output.owner) {
                    Some(owner) if owner != NONE => owner as usize,
                    _ => return Vec::new(),
                },
            };
        }
        path[order[at] as usize..]
            .iter()
            .filter(|&&number| number < self.base)
            .map(|&number| Hop { channel: (number / LANES) as u32, lane: (number % LANES) as u8 })
            .collect()
    }
}
