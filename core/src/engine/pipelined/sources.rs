//! Sources: packets are made, wait, and are sent flit by flit.

use super::{
    flit::{Flit, Kind, Packet, Ways},
    patterns::Pattern,
    process::Process,
    routing::Place,
    run::Run,
};
use std::collections::VecDeque;

/// What a class of packets is like.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub pattern: Pattern,
    pub process: Process,
    /// Sizes with weights, and the sum of the weights.
    pub sizes: Vec<(u32, u32)>,
    pub weights: u32,
    pub priority: i32,
    pub is_measured: bool,
    /// With reads and writes: sizes by kind, and the share of writes.
    pub messages: Option<([u32; 4], f64)>,
    pub latency_limit: f64,
    pub warm_up: (f64, f64),
    pub stopping: (f64, f64),
}

/// A source of one class at a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    pub flits: VecDeque<Flit>,
    /// The channel that the header at the front found when it was looked at first; it keeps it.
    pub chosen: Option<u16>,
    /// The first cycle that was not asked for.
    pub asked: u32,
    /// Every cycle up to the end of measuring was asked for.
    pub is_done: bool,
}

/// A reply that a node owes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub to: u32,
    pub time: u32,
    pub is_measured: bool,
    pub kind: Kind,
}

impl Run {
    /// Nodes make packets.
    pub(super) fn generate(&mut self) {
        let classes = self.classes.len();
        for node in 0..self.nodes {
            for class in 0..classes {
                let at = node * classes + class;
                if !self.waiting[at].flits.is_empty() {
                    continue;
                }
                let mut is_made = false;
                while !is_made && self.waiting[at].asked <= self.now {
                    let time = self.waiting[at].asked;
                    // A reply takes no question.
                    if self.classes[class].messages.is_some() && self.reply(node, class) {
                        break;
                    }
                    is_made = self.ask(node, class, time);
                    self.waiting[at].asked += 1;
                }
                if self.drains_after.is_some_and(|end| self.waiting[at].asked > end) {
                    self.waiting[at].is_done = true;
                }
            }
        }
    }

    /// Asks a class of a node for a cycle; true if it makes a packet.
    fn ask(&mut self, node: usize, class: usize, asked: u32) -> bool {
        let time = if self.counts_queuing { asked } else { self.now };
        let Some((sizes, writes)) = self.classes[class].messages else {
            if !self.classes[class].process.fires(node, &mut self.numbers) {
                return false;
            }
            let size = self.draw_size(class);
            let to =
                self.classes[class].pattern.destination(node as u32, &self.rules.shape, &mut self.numbers);
            self.make(node, class, Kind::Any, size, to, time, self.is_recorded(class, time));
            return true;
        };
        if !self.classes[class].process.fires(node, &mut self.numbers) {
            return false;
        }
        let kind = if self.numbers.fraction() < writes { Kind::WriteRequest } else { Kind::ReadRequest };
        let to = self.classes[class].pattern.destination(node as u32, &self.rules.shape, &mut self.numbers);
        let measured = self.is_recorded(class, time);
        self.make(node, class, kind, sizes[kind as usize], to, time, measured);
        true
    }

    /// Makes the reply that a node owes first; false if it owes none.
    fn reply(&mut self, node: usize, class: usize) -> bool {
        let Some((sizes, _)) = self.classes[class].messages else { return false };
        let Some(reply) = self.replies[node].pop_front() else { return false };
        let Reply { to, time, is_measured, kind } = reply;
        let is_measured = is_measured || self.is_recorded(class, time);
        // A destination is drawn, though the reply has one.
        self.classes[class].pattern.destination(node as u32, &self.rules.shape, &mut self.numbers);
        self.make(node, class, kind, sizes[kind as usize], to, time, is_measured);
        true
    }

    /// Whether a packet made at a time is measured.
    fn is_recorded(&self, class: usize, time: u32) -> bool {
        self.classes[class].is_measured && (self.measures || self.drains_after.is_some_and(|end| time < end))
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

    #[expect(clippy::too_many_arguments, reason = "all that a packet is")]
    fn make(
        &mut self,
        node: usize,
        class: usize,
        kind: Kind,
        size: u32,
        to: u32,
        created: u32,
        is_measured: bool,
    ) {
        let subnet = match kind {
            Kind::Any => self.numbers.upto(self.subnets.len() as u32 - 1),
            _ => self.subnet_of[kind as usize],
        };
        let (number, first_flit) = (self.next_packet, self.next_flit);
        self.next_packet += 1;
        self.next_flit += size;
        let sequence = self.sequence[node];
        self.sequence[node] += 1;
        let packet = self.packets.add(Packet {
            number,
            first_flit,
            source: node as u32,
            destination: to,
            class: class as u16,
            kind,
            size,
            created,
            injected: 0,
            head_arrival: 0,
            delivered: 0,
            is_measured,
            subnet: subnet as u16,
            middle: 0,
            phase: 0,
            ahead: Ways::default(),
        });
        let facts = &mut self.facts[class];
        facts.in_flight += u64::from(size);
        self.created_in_flight[class] += u64::from(size) * u64::from(created);
        if is_measured {
            facts.measured_in_flight += u64::from(size);
        }
        let priority = self.rules.priority.at_creation(self.classes[class].priority, created, sequence);
        let flits = (0..size).map(|index| Flit {
            packet,
            index,
            injected: 0,
            priority,
            hops: 0,
            channel: 0,
            is_tail: index + 1 == size,
        });
        self.waiting[node * self.classes.len() + class].flits.extend(flits);
    }

    /// Every source sends at most one flit.
    pub(super) fn send(&mut self, subnet: usize, node: usize) {
        let classes = self.classes.len();
        let at = subnet * self.nodes + node;
        let last = self.last_class[at];
        let mut best: Option<(usize, i32, u16)> = None;
        let hold = self.rules.holds_switch
            && self.waiting[node * classes + last].flits.front().is_some_and(|flit| !flit.is_head());
        for step in 0..classes {
            let class = if hold { (last + step) % classes } else { (last + 1 + step) % classes };
            let Some(&flit) = self.waiting[node * classes + class].flits.front() else { continue };
            let packet = &self.packets[flit.packet];
            if usize::from(packet.subnet) != subnet || best.is_some_and(|(_, most, _)| flit.priority <= most)
            {
                continue;
            }
            let behind = &self.subnets[subnet].sources[node];
            let channel = if flit.is_head() {
                let at = node * classes + class;
                match self.waiting[at].chosen {
                    None => {
                        let range = self.rules.range(packet.kind);
                        let found = self.free_channel(subnet, node, class, range);
                        self.waiting[at].chosen = found;
                        found
                    }
                    Some(channel) => {
                        (!behind.is_full(&self.rules.policy, usize::from(channel))).then_some(channel)
                    }
                }
            } else {
                (!behind.is_full(&self.rules.policy, usize::from(flit.channel))).then_some(flit.channel)
            };
            if let Some(channel) = channel {
                best = Some((class, flit.priority, channel));
                if hold && step == 0 {
                    break;
                }
            }
        }
        let Some((class, _, channel)) = best else { return };
        self.send_first(subnet, node, class, channel);
    }

    /// The channel that a header at the front of a class would take.
    fn free_channel(&self, subnet: usize, node: usize, class: usize, range: (u32, u32)) -> Option<u16> {
        let behind = &self.subnets[subnet].sources[node];
        let (a, b) = range;
        let last = self.last_channel[(subnet * self.nodes + node) * self.classes.len() + class];
        let is_free = |channel: u32| {
            !behind.is_owned[channel as usize] && !behind.is_full(&self.rules.policy, channel as usize)
        };
        let count = b - a + 1;
        let found = match last.filter(|last| (a..=b).contains(last)) {
            None => is_free(a).then_some(a),
            Some(last) => (1..=count).map(|step| a + (last - a + step) % count).find(|&at| is_free(at)),
        };
        found.map(|channel| channel as u16)
    }

    fn send_first(&mut self, subnet: usize, node: usize, class: usize, channel: u16) {
        let classes = self.classes.len();
        let at = subnet * self.nodes + node;
        let waiting = &mut self.waiting[node * classes + class];
        let Some(mut flit) = waiting.flits.pop_front() else { return };
        waiting.chosen = None;
        flit.channel = channel;
        flit.injected = self.now;
        if let Some(next) = waiting.flits.front_mut().filter(|next| !next.is_head()) {
            next.channel = channel;
        }
        self.rules.priority.on_sending(&mut flit, self.now);
        self.last_class[at] = class;
        let behind = &mut self.subnets[subnet].sources[node];
        if flit.is_head() {
            self.last_channel[at * classes + class] = Some(u32::from(channel));
            behind.take(&self.rules.policy, usize::from(channel));
            let packet = &mut self.packets[flit.packet];
            packet.injected = self.now;
            if self.rules.routing_delay == 0 {
                let place = Place {
                    router: node as u32,
                    port: self.rules.shape.processor(),
                    channel: u32::from(channel),
                    channels: self.rules.range(packet.kind),
                    load: self.subnets[subnet].load(),
                };
                packet.ahead = self.rules.routing.ways(&self.rules.shape, &place, packet, &mut self.numbers);
            }
        }
        let behind = &mut self.subnets[subnet].sources[node];
        behind.send(&self.rules.policy, usize::from(channel), flit.is_tail);
        if self.counts() {
            let facts = &mut self.facts[class];
            facts.sent_flits.counts[node] += 1;
            if flit.is_head() {
                facts.sent_packets.counts[node] += 1;
            }
        }
        self.subnets[subnet].inject(node as u32, flit, self.now, &self.rules);
    }
}
