//! The slow, obvious pipelined router, as BookSim2 has it: one struct per flit, plain loops over every port and channel
//! in every cycle. It is written for reading, shares nothing with the engine, and covers meshes and tori with
//! buffers of each channel's own, one class of packets and one subnet.
//!
//! A cycle `t`:
//!
//! 1. Sinks take what their link delivers, sources the credits for them.
//! 2. Sources make packets, nodes ascending.
//! 3. Every source sends at most one flit.
//! 4. Sinks give one credit back per flit.
//! 5. Routers, ascending, take what arrives and do their internal steps ([`router`]).
//! 6. Routers send the first flit of every output queue and the first credit message of every input port.
//!
//! What is put on a link of latency L in cycle t is received at the start of cycle t + L + 1.

mod allocators;
mod behind;
mod closed;
mod messages;
mod numbers;
mod router;
mod routing;
mod settings;

use behind::Behind;
use closed::Closed;
pub use closed::Starts;
use messages::Messages;
pub use messages::{Operation, What};
use numbers::Numbers;
use router::Router;
use routing::Way;
use settings::Settings;
use std::collections::VecDeque;

/// Latency between a node and its router.
const NODE_LATENCY: usize = 1;
/// Priorities are counted down from here.
const MOST: i64 = (1 << 31) - 1;

struct Packet {
    source: usize,
    destination: usize,
    /// Its flits.
    size: usize,
    /// The operation that it belongs to, if any.
    send: Option<usize>,
    created: usize,
    injected: usize,
    head: usize,
    hops: usize,
    /// Where a packet goes first that does not go straight.
    middle: usize,
    /// Whether it uses the upper half of the channels.
    upper_half: bool,
    /// The ways in the router that comes next, if they are computed ahead.
    ahead: Vec<Way>,
}

#[derive(Clone)]
struct Flit {
    packet: usize,
    is_head: bool,
    is_tail: bool,
    channel: usize,
    priority: i64,
    /// Routers that it entered.
    hops: i64,
}

/// A node, as source and as sink.
struct Node {
    /// The packet under way, how many of its flits were sent, and its channel.
    packet: Option<(usize, usize, usize)>,
    /// The first cycle for which it was not yet asked for a packet.
    asked: usize,
    last_channel: Option<usize>,
    behind: Vec<Behind>,
    arriving: VecDeque<(usize, Flit)>,
    credits: VecDeque<(usize, Vec<usize>)>,
}

/// What is known of a packet once its tail has arrived: packet, source, destination, created, injected, head, tail,
/// hops.
pub type Record = [usize; 8];

pub struct Network<'a> {
    settings: Settings,
    /// Where packets come from that no process makes.
    closed: Option<Closed<'a>>,
    messages: Option<Messages<'a>>,
    numbers: Numbers,
    now: usize,
    packets: Vec<Packet>,
    nodes: Vec<Node>,
    routers: Vec<Router>,
    in_flight: usize,
    steps: f64,
    log: Vec<Record>,
}

/// The packets of a run, in the order of their arrival: sources make packets for so many cycles, then the network
/// empties. `None` if it does not within 20,000 further cycles.
pub fn run(words: &str, cycles: usize) -> Option<Vec<Record>> {
    let mut network = Network::new(words);
    while network.now < cycles {
        network.cycle(true);
    }
    network.empty()
}

/// The packets of closed sources, of which a node makes none while so many of its own are under way.
pub fn run_closed(words: &str, limit: usize, starts: Starts<'_>) -> Option<Vec<Record>> {
    let mut network = Network::new(words);
    let nodes = network.nodes.len();
    network.closed = Some(Closed::new(nodes, limit, starts));
    while network.in_flight > 0 || network.closed.as_ref().is_some_and(Closed::has_more) {
        if network.now > 20_000 {
            return None;
        }
        network.cycle(true);
    }
    network.empty()
}

/// The packets of operations that wait for each other, on nodes of their ranks, in packets of so many flits beside the
/// header; and the cycle in which all operations are complete.
pub fn run_messages(
    words: &str,
    operations: &[Operation],
    nodes: &[usize],
    payload: usize,
) -> Option<(Vec<Record>, usize)> {
    let mut network = Network::new(words);
    network.messages = Some(Messages::new(operations, nodes, payload));
    while network.in_flight > 0 || !network.messages.as_ref().is_some_and(Messages::are_sent) {
        if network.now > 20_000 {
            return None;
        }
        network.cycle(true);
    }
    let end = network.messages.as_mut().and_then(Messages::end);
    network.empty().zip(end)
}

/// What arrives now of what is on its way.
fn due<T>(under_way: &mut VecDeque<(usize, T)>, now: usize) -> Option<T> {
    let is_due = under_way.front().is_some_and(|(when, _)| *when == now);
    if is_due { under_way.pop_front().map(|(_, what)| what) } else { None }
}

impl Network<'_> {
    fn new(words: &str) -> Self {
        let settings = Settings::read(words);
        let node = || Node {
            packet: None,
            asked: 0,
            last_channel: None,
            behind: vec![Behind::default(); settings.channels],
            arriving: VecDeque::new(),
            credits: VecDeque::new(),
        };
        Self {
            closed: None,
            messages: None,
            numbers: Numbers::new(settings.seed),
            now: 0,
            packets: Vec::new(),
            nodes: (0..settings.nodes()).map(|_| node()).collect(),
            routers: (0..settings.nodes()).map(|_| Router::new(&settings)).collect(),
            in_flight: 0,
            steps: 0.0,
            log: Vec::new(),
            settings,
        }
    }

    /// The packets, once all have arrived.
    fn empty(mut self) -> Option<Vec<Record>> {
        let begin = self.now;
        while self.in_flight > 0 {
            if self.now > begin + 20_000 {
                return None;
            }
            self.cycle(false);
        }
        Some(self.log)
    }

    fn cycle(&mut self, sources_work: bool) {
        let now = self.now;
        let mut retiring = Vec::new();
        for (number, node) in self.nodes.iter_mut().enumerate() {
            while let Some(flit) = due(&mut node.arriving, now) {
                retiring.push((number, flit));
            }
            while let Some(channels) = due(&mut node.credits, now) {
                for channel in channels {
                    node.behind[channel].credit(self.settings.wait_for_tail_credit);
                }
            }
        }
        if sources_work {
            (0..self.nodes.len()).for_each(|node| self.generate(node));
        }
        (0..self.nodes.len()).for_each(|node| self.send_from_source(node));
        for (node, flit) in retiring {
            self.retire(node, &flit);
        }
        self.steps += self.settings.internal_speedup;
        let steps = self.steps.floor();
        self.steps -= steps;
        for router in 0..self.routers.len() {
            self.arrive(router);
            (0..steps as usize).for_each(|_| self.step(router));
        }
        (0..self.routers.len()).for_each(|router| self.send_from_router(router));
        self.now += 1;
    }

    fn generate(&mut self, node: usize) {
        if let Some(closed) = &mut self.closed {
            let next = closed.next(node).filter(|next| next.0 <= self.now);
            if let Some((start, destination)) = next.filter(|_| self.nodes[node].packet.is_none()) {
                closed.make(node, start);
                self.make(node, destination, start);
            }
            return;
        }
        if let Some(messages) = &mut self.messages {
            let next = self.nodes[node].packet.is_none().then(|| messages.take(node, self.now)).flatten();
            if let Some(messages::Part { send, destination, size, start }) = next {
                self.make(node, destination, start);
                let made = self.packets.last_mut().expect("it was made just now");
                (made.size, made.send) = (size, Some(send));
            }
            return;
        }
        while self.nodes[node].packet.is_none() && self.nodes[node].asked <= self.now {
            let created = self.nodes[node].asked;
            self.nodes[node].asked += 1;
            if self.numbers.fraction() >= self.settings.rate {
                continue;
            }
            let destination = self.destination(node);
            // The subnet is drawn, though there is only one.
            self.numbers.upto(0);
            self.make(node, destination, created);
        }
    }

    fn make(&mut self, source: usize, destination: usize, created: usize) {
        self.nodes[source].packet = Some((self.packets.len(), 0, 0));
        self.in_flight += 1;
        self.packets.push(Packet {
            source,
            destination,
            size: self.settings.packet_size,
            send: None,
            created,
            injected: 0,
            head: 0,
            hops: 0,
            middle: 0,
            upper_half: false,
            ahead: Vec::new(),
        });
    }

    fn destination(&mut self, node: usize) -> usize {
        let (settings, radix) = (&self.settings, self.settings.radix);
        let shifted = |by: usize| {
            let there: Vec<usize> = settings.coordinates(node).iter().map(|x| (x + by) % radix).collect();
            settings.node(&there)
        };
        match settings.traffic.as_str() {
            "uniform" => self.numbers.upto(settings.nodes() - 1),
            "tornado" => shifted(radix.div_ceil(2) - 1),
            "neighbor" => shifted(1),
            "diagonal" if self.numbers.upto(2) == 0 => (node + 1) % settings.nodes(),
            "diagonal" => node,
            other => panic!("{other} is not known here"),
        }
    }

    fn send_from_source(&mut self, number: usize) {
        let node = &mut self.nodes[number];
        let Some((packet, sent, channel)) = node.packet else { return };
        let is_full = |channel: usize| node.behind[channel].used >= self.settings.places;
        let channels = self.settings.channels;
        let channel = if sent > 0 {
            Some(channel).filter(|&channel| !is_full(channel))
        } else {
            let is_free = |channel: &usize| !node.behind[*channel].owned && !is_full(*channel);
            match node.last_channel {
                None => Some(0).filter(is_free),
                Some(last) => (1..=channels).map(|step| (last + step) % channels).find(is_free),
            }
        };
        let Some(channel) = channel else { return };
        let is_head = sent == 0;
        let is_tail = sent + 1 == self.packets[packet].size;
        let created = self.packets[packet].created as i64;
        let priority = match self.settings.priority.as_str() {
            "age" => MOST - created,
            "network_age" => MOST - self.now as i64,
            _ => 0,
        };
        if is_head {
            node.behind[channel].take();
            node.last_channel = Some(channel);
        }
        node.behind[channel].send(is_tail, self.settings.wait_for_tail_credit);
        node.packet = (!is_tail).then_some((packet, sent + 1, channel));
        let processor = self.settings.ports() - 1;
        let when = self.now + NODE_LATENCY + 1;
        let flit = Flit { packet, is_head, is_tail, channel, priority, hops: 0 };
        self.routers[number].arriving[processor].push_back((when, flit));
        if is_head {
            self.packets[packet].injected = self.now;
            if self.settings.routing_delay == 0 {
                self.packets[packet].ahead = self.ways(number, (processor, channel), packet);
            }
        }
    }

    fn retire(&mut self, node: usize, flit: &Flit) {
        let processor = self.settings.ports() - 1;
        let when = self.now + NODE_LATENCY + 1 + self.settings.credit_delay;
        self.routers[node].credits_arriving[processor].push_back((when, vec![flit.channel]));
        let packet = &mut self.packets[flit.packet];
        assert_eq!(packet.destination, node);
        if flit.is_head {
            packet.head = self.now;
        }
        if flit.is_tail {
            self.in_flight -= 1;
            let Packet { source, destination, created, injected, head, hops, send, .. } = *packet;
            if let Some(closed) = &mut self.closed {
                closed.arrived(source, self.now);
            }
            if let (Some(messages), Some(send)) = (&mut self.messages, send) {
                messages.arrived(send, self.now);
            }
            self.log.push([flit.packet, source, destination, created, injected, head, self.now, hops]);
        }
    }

    fn send_from_router(&mut self, number: usize) {
        let (settings, processor) = (&self.settings, self.settings.ports() - 1);
        for port in 0..settings.ports() {
            let latency = if port == processor { NODE_LATENCY } else { settings.latency };
            let when = self.now + latency + 1;
            let flit = self.routers[number].output[port].pop_front();
            let message = self.routers[number].credits[port].pop_front();
            if port == processor {
                self.nodes[number].arriving.extend(flit.map(|flit| (when, flit)));
                self.nodes[number].credits.extend(message.map(|message| (when, message)));
                continue;
            }
            // What comes in by a port comes from the neighbour to which it leads.
            let there = &mut self.routers[settings.neighbour(number, port)];
            let entry = Settings::opposite(port);
            there.arriving[entry].extend(flit.map(|flit| (when, flit)));
            let counts = when + settings.credit_delay;
            there.credits_arriving[entry].extend(message.map(|message| (counts, message)));
        }
    }
}
