//! The traffic manager of BookSim2: which packets nodes make, when, and what is kept of them.

use super::{batch::Batch, classes::Class, numbers::Generators};
use crate::{
    engine::pipelined::{Counting, Flit, Kind, Numbers, Packet, Reply, Source, Terminals},
    probe::{Departure, SourceQueues},
};

/// What is known of a packet once its tail has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Its number in the order in which packets were made.
    pub packet: u32,
    /// Its class.
    pub class: u16,
    /// Where it comes from.
    pub source: u32,
    /// Where it goes.
    pub destination: u32,
    /// The cycle for which it was made.
    pub created: u32,
    /// The cycle in which its header was sent.
    pub injected: u32,
    /// The cycle in which its header arrived.
    pub head: u32,
    /// The cycle in which its tail arrived.
    pub tail: u32,
    /// Routers that it passed.
    pub hops: u16,
    /// Its flits.
    pub size: u32,
}

/// Makes the packets of a file of BookSim2.
#[derive(Clone, Debug)]
pub(super) struct TrafficManager {
    pub classes: Vec<Class>,
    pub numbers: Generators,
    pub subnets: u32,
    /// By kind of message.
    pub subnet_of: [u16; 4],
    pub counts_queuing: bool,
    pub next_packet: u32,
    pub next_flit: u32,
    /// The end of measuring, once it is over.
    pub drains_after: Option<u32>,
    pub is_on: bool,
    /// Records of packets, if they are kept.
    pub log: Option<Vec<PacketRecord>>,
    /// Cycles without an arrival after which a deadlock is suspected, and how often it was.
    pub patience: u32,
    pub warnings: u32,
    /// How many packets a node sends, where that is fixed.
    pub batch: Option<Batch>,
    /// The packet and the flit that arrived last.
    pub last_retired: Option<(u32, u32)>,
    /// How busy the queues of nodes and classes are, where a run is judged by them.
    pub queues: Option<Box<SourceQueues>>,
}

impl TrafficManager {
    /// At the beginning of a run on so many subnets.
    pub(super) fn new(classes: Vec<Class>, numbers: Generators, subnets: u32) -> Self {
        Self {
            classes,
            numbers,
            subnets,
            subnet_of: [0; 4],
            counts_queuing: true,
            next_packet: 0,
            next_flit: 0,
            drains_after: None,
            is_on: true,
            log: None,
            patience: 256,
            warnings: 0,
            batch: None,
            last_retired: None,
            queues: None,
        }
    }

    /// Another run begins; numbers go on.
    pub(super) fn restart(&mut self) {
        // Who waited for replies waits no longer.
        if let Some(batch) = &mut self.batch {
            batch.outstanding.fill(0);
        }
        for class in &mut self.classes {
            class.process.reset();
        }
        (self.drains_after, self.is_on) = (None, true);
    }

    fn generate(&mut self, at: &mut Terminals) {
        if let ([class], None, None) = (&self.classes[..], &self.batch, self.drains_after)
            && let (Some(parts), None) = (class.process.parts(), class.messages)
        {
            self.generate_alone(at, parts);
            return;
        }
        let classes = self.classes.len();
        for node in 0..at.nodes {
            for class in 0..classes {
                let place = node * classes + class;
                if at.waiting[place].size > 0 {
                    continue;
                }
                let mut is_made = false;
                while !is_made && at.waiting[place].asked <= at.now {
                    let time = at.waiting[place].asked;
                    // A reply takes no question.
                    if self.classes[class].messages.is_some() && self.reply(at, node, class) {
                        break;
                    }
                    is_made = self.ask(at, node, class, time);
                    at.waiting[place].asked += 1;
                }
                if self.drains_after.is_some_and(|end| at.waiting[place].asked > end) {
                    at.waiting[place].is_done = true;
                }
            }
        }
    }

    /// Nodes make packets of the only class, with a fixed probability, while nothing ends.
    fn generate_alone(&mut self, at: &mut Terminals, parts: u64) {
        let now = at.now;
        for word in 0..at.at_work.len() {
            let here = (at.nodes - 64 * word).min(64);
            let mut idle = !at.at_work[word] & u64::MAX >> (64 - here);
            while idle > 0 {
                let node = word * 64 + idle.trailing_zeros() as usize;
                idle &= idle - 1;
                let first = at.waiting[node].asked;
                let Some(time) = (first..=now).find(|_| self.numbers.is_below(parts)) else {
                    at.waiting[node].asked = now + 1;
                    continue;
                };
                at.waiting[node].asked = time + 1;
                self.make_one(at, node, 0, if self.counts_queuing { time } else { now });
            }
        }
    }

    /// Makes a packet that is no read or write.
    fn make_one(&mut self, at: &mut Terminals, node: usize, class: usize, time: u32) {
        let size = self.draw_size(class);
        let to = self.draw_destination(at, node, class);
        let is_measured = self.is_recorded(at, class, time);
        self.make_packet(at, (node, to), (class, Kind::Any), size, (time, is_measured));
    }

    /// Asks a class of a node for a cycle; true if it makes a packet.
    fn ask(&mut self, at: &mut Terminals, node: usize, class: usize, asked: u32) -> bool {
        let time = if self.counts_queuing { asked } else { at.now };
        let is_made = match &self.batch {
            Some(batch) => {
                let asks = batch.asks_for_more(at.sequence[node], node);
                // The batch manager of BookSim2 draws a size, which the packet does not get.
                if asks && self.classes[class].messages.is_none() {
                    self.draw_size(class);
                }
                asks
            }
            None => self.classes[class].process.fires(node, &mut self.numbers),
        };
        if !is_made {
            return false;
        }
        let Some((sizes, writes)) = self.classes[class].messages else {
            self.make_one(at, node, class, time);
            return true;
        };
        let kind = if self.numbers.fraction() < writes { Kind::WriteRequest } else { Kind::ReadRequest };
        let to = self.draw_destination(at, node, class);
        let is_measured = self.is_recorded(at, class, time);
        self.make_packet(at, (node, to), (class, kind), sizes[kind as usize], (time, is_measured));
        true
    }

    /// Makes the reply that a node owes first; false if it owes none.
    fn reply(&mut self, at: &mut Terminals, node: usize, class: usize) -> bool {
        let Some((sizes, _)) = self.classes[class].messages else { return false };
        let Some(reply) = at.replies[node].pop_front() else { return false };
        let Reply { to, time, is_measured, kind } = reply;
        // While something is measured it counts whether the class that answers is; later, what the request was.
        let is_measured =
            if self.measures_at(at, time) { self.classes[class].is_measured } else { is_measured };
        // A destination is drawn, though the reply has one.
        self.draw_destination(at, node, class);
        self.make_packet(at, (node, to), (class, kind), sizes[kind as usize], (time, is_measured));
        true
    }

    /// Whether a packet made at a time is measured.
    fn is_recorded(&self, at: &Terminals, class: usize, time: u32) -> bool {
        self.classes[class].is_measured && self.measures_at(at, time)
    }

    /// Whether packets made at a time are measured if their class is.
    fn measures_at(&self, at: &Terminals, time: u32) -> bool {
        at.counting == Counting::Measured || self.drains_after.is_some_and(|end| time < end)
    }

    fn draw_destination(&mut self, at: &Terminals, node: usize, class: usize) -> u32 {
        self.classes[class].pattern.destination(node as u32, at.nodes as u32, &mut self.numbers)
    }

    fn draw_size(&mut self, class: usize) -> u32 {
        let class = &self.classes[class];
        if let [(size, _)] = class.sizes[..] {
            return size;
        }
        let mut left = self.numbers.upto(class.weights - 1);
        for &(size, weight) in &class.sizes {
            if left < weight {
                return size;
            }
            left -= weight;
        }
        class.sizes[0].0
    }

    fn make_packet(
        &mut self,
        at: &mut Terminals,
        (node, to): (usize, u32),
        (class, kind): (usize, Kind),
        size: u32,
        (created, is_measured): (u32, bool),
    ) {
        let subnet = match kind {
            Kind::Any => self.numbers.upto(self.subnets - 1) as u16,
            _ => self.subnet_of[kind as usize],
        };
        let (number, first_flit) = (self.next_packet, self.next_flit);
        self.next_packet += 1;
        self.next_flit += size;
        if let Some(batch) = &mut self.batch {
            batch.outstanding[node] += u32::from(!kind.is_reply());
        }
        if let Some(queues) = &mut self.queues {
            queues.add(node * self.classes.len() + class, created.into());
            queues.add_for(to as usize, created.into(), size);
        }
        let packet = Packet::new((number, node as u32, to), (class as u16, kind), size, created);
        let packet = Packet { first_flit, is_measured, ..packet };
        at.put(packet, subnet, self.classes[class].priority);
    }
}

impl Source for TrafficManager {
    #[inline]
    fn numbers(&mut self) -> &mut dyn Numbers {
        &mut self.numbers
    }

    #[inline]
    fn make(&mut self, terminals: &mut Terminals) {
        let standstill = terminals.standstill;
        if standstill > 0 && standstill.is_multiple_of(self.patience + 1) {
            self.warnings += 1;
        }
        if self.is_on {
            self.generate(terminals);
        }
    }

    #[inline]
    fn leave(&mut self, node: usize, class: usize, packet: &Packet) {
        if let Some(queues) = &mut self.queues {
            let (number, cycle) = (packet.number.into(), packet.injected.into());
            let (start, length) = (packet.created.into(), packet.size);
            queues.leave(node * self.classes.len() + class, Departure { number, cycle, start, length });
        }
    }

    #[inline]
    fn arrived(&mut self, _now: u32, _node: u32, packet: &Packet, flit: &Flit) {
        self.last_retired = Some((packet.number, packet.first_flit + flit.index()));
    }

    #[inline]
    fn delivered(&mut self, now: u32, _node: u32, packet: &Packet, hops: u16) {
        if let Some(log) = &mut self.log {
            log.push(PacketRecord {
                packet: packet.number,
                class: packet.class,
                source: packet.source,
                destination: packet.destination,
                created: packet.created,
                injected: packet.injected,
                head: packet.head_arrival,
                tail: now,
                hops,
                size: packet.size,
            });
        }
        let is_answered = matches!(packet.kind, Kind::ReadRequest | Kind::WriteRequest);
        if let Some(batch) = self.batch.as_mut().filter(|_| !is_answered) {
            // A request is done when its reply is back.
            let asked = if packet.kind.is_reply() { packet.destination } else { packet.source };
            batch.outstanding[asked as usize] -= 1;
        }
    }
}
