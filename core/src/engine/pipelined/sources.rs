//! Sources: packets are made, wait, and are sent flit by flit.

use super::{
    breach::Breach,
    flit::{Flit, Kind, Packet, Ways},
    routers::{NodePorts, Nodes, Shared},
    routing::Place,
    run::Run,
    waiting::Reply,
};
use crate::{bits::ones, probe::Departure};

impl Nodes for Run {
    fn inject<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, subnet: usize) {
        if self.classes.len() == 1 && R::BODIES_ARE_BITS {
            self.inject_one_class(routers, shared, subnet);
            return;
        }
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let node = word * 64 + bit;
                self.send(routers, shared, subnet, node);
                let classes = self.classes.len();
                let all = &self.waiting[node * classes..(node + 1) * classes];
                if all.iter().all(|waiting| waiting.size == 0) {
                    self.at_work[word] &= !(1 << bit);
                }
            }
        }
    }

    fn retire<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, arrived: &[(u32, Flit)]) {
        for (node, flit) in arrived {
            self.retire_flit(shared, *node, *flit);
            routers.eject_flit(*node, flit, &self.at(shared));
        }
    }
}

impl Run {
    /// Nodes make packets.
    pub(super) fn generate(&mut self) {
        let classes = self.classes.len();
        if let ([class], None, None) = (&self.classes[..], &self.batch, self.drains_after)
            && let (Some(parts), None) = (class.process.parts(), class.messages)
        {
            self.generate_alone(parts);
            return;
        }
        for node in 0..self.nodes {
            for class in 0..classes {
                let at = node * classes + class;
                if self.waiting[at].size > 0 {
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

    /// Nodes make packets of the only class, with a fixed probability, while nothing ends.
    fn generate_alone(&mut self, parts: u64) {
        let now = self.now;
        for word in 0..self.at_work.len() {
            let here = (self.nodes - 64 * word).min(64);
            let mut idle = !self.at_work[word] & u64::MAX >> (64 - here);
            while idle > 0 {
                let node = word * 64 + idle.trailing_zeros() as usize;
                idle &= idle - 1;
                let first = self.waiting[node].asked;
                let Some(time) = (first..=now).find(|_| self.numbers.is_below(parts)) else {
                    self.waiting[node].asked = now + 1;
                    continue;
                };
                self.waiting[node].asked = time + 1;
                self.make_one(node, 0, if self.counts_queuing { time } else { now });
            }
        }
    }

    /// Makes a packet that is no read or write.
    fn make_one(&mut self, node: usize, class: usize, time: u32) {
        let size = self.draw_size(class);
        let nodes = self.nodes as u32;
        let to = self.classes[class].pattern.destination(node as u32, nodes, &mut self.numbers);
        self.make(node, class, Kind::Any, size, to, time, self.is_recorded(class, time));
    }

    /// Asks a class of a node for a cycle; true if it makes a packet.
    fn ask(&mut self, node: usize, class: usize, asked: u32) -> bool {
        let time = if self.counts_queuing { asked } else { self.now };
        let is_made = match &self.batch {
            Some(batch) => {
                let asks = batch.asks_for_more(self.sequence[node], node);
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
            self.make_one(node, class, time);
            return true;
        };
        let nodes = self.nodes as u32;
        let kind = if self.numbers.fraction() < writes { Kind::WriteRequest } else { Kind::ReadRequest };
        let to = self.classes[class].pattern.destination(node as u32, nodes, &mut self.numbers);
        let measured = self.is_recorded(class, time);
        self.make(node, class, kind, sizes[kind as usize], to, time, measured);
        true
    }

    /// Makes the reply that a node owes first; false if it owes none.
    fn reply(&mut self, node: usize, class: usize) -> bool {
        let Some((sizes, _)) = self.classes[class].messages else { return false };
        let Some(reply) = self.replies[node].pop_front() else { return false };
        let Reply { to, time, is_measured, kind } = reply;
        // While something is measured it counts whether the class that answers is; later, what the request was.
        let is_measured = if self.measures_at(time) { self.classes[class].is_measured } else { is_measured };
        let nodes = self.nodes as u32;
        // A destination is drawn, though the reply has one.
        self.classes[class].pattern.destination(node as u32, nodes, &mut self.numbers);
        self.make(node, class, kind, sizes[kind as usize], to, time, is_measured);
        true
    }

    /// Whether a packet made at a time is measured.
    fn is_recorded(&self, class: usize, time: u32) -> bool {
        self.classes[class].is_measured && self.measures_at(time)
    }

    /// Whether packets made at a time are measured if their class is.
    fn measures_at(&self, time: u32) -> bool {
        self.measures || self.drains_after.is_some_and(|end| time < end)
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
        if let Some(batch) = &mut self.batch {
            batch.outstanding[node] += u32::from(!kind.is_reply());
        }
        let priority = self.rules.priority.at_creation(self.classes[class].priority, created, sequence);
        let packet = self.packets.add(Packet {
            number,
            first_flit,
            source: node as u32,
            destination: to,
            class: class as u16,
            slice: 0,
            priority,
            kind,
            size,
            created,
            injected: 0,
            head_arrival: 0,
            delivered: 0,
            is_measured,
            middle: 0,
            phase: 0,
            hops: 0,
            ahead: Ways::default(),
        });
        if let Some(queues) = &mut self.queues {
            queues.add(node * self.classes.len() + class, created.into());
            queues.add_for(to as usize, created.into(), size);
        }
        let facts = &mut self.facts[class];
        facts.in_flight += u64::from(size);
        self.created_in_flight[class] += u64::from(size) * u64::from(created);
        if is_measured {
            facts.measured_in_flight += u64::from(size);
        }
        let waiting = &mut self.waiting[node * self.classes.len() + class];
        (waiting.packet, waiting.next, waiting.size) = (packet, 0, size);
        (waiting.subnet, waiting.priority) = (subnet as u16, priority);
        self.at_work[node / 64] |= 1 << (node % 64);
    }

    /// Every source of the only class sends at most one flit, and bodies are bits.
    fn inject_one_class<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, subnet: usize) {
        let (now, counts) = (self.now, self.counts());
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let node = word * 64 + bit;
                let waiting = &mut self.waiting[node];
                if waiting.next == 0 || usize::from(waiting.subnet) != subnet {
                    self.send_only_class(routers, shared, subnet, node);
                    if self.waiting[node].size == 0 {
                        self.at_work[word] &= !(1 << bit);
                    }
                    continue;
                }
                let channel = usize::from(waiting.channel);
                if shared.sources.is_full(&self.rules.policy, node, channel) {
                    continue;
                }
                self.packets.note_sent_at(waiting.packet, waiting.next, now);
                waiting.next += 1;
                routers.inject_body(node, channel);
                self.facts[0].sent_flits.counts[node] += u64::from(counts);
                if waiting.next == waiting.size {
                    waiting.size = 0;
                    self.at_work[word] &= !(1 << bit);
                    shared.sources.send(&self.rules.policy, node, channel, true);
                } else {
                    shared.sources.send(&self.rules.policy, node, channel, false);
                }
            }
        }
    }

    /// A source sends at most one flit.
    fn send<R: NodePorts>(&mut self, routers: &mut R, shared: &mut Shared, subnet: usize, node: usize) {
        let classes = self.classes.len();
        if classes == 1 {
            self.send_only_class(routers, shared, subnet, node);
            return;
        }
        let at = subnet * self.nodes + node;
        let last = self.last_class[at];
        let mut best: Option<(usize, i32, u16)> = None;
        let held = &self.waiting[node * classes + last];
        let hold = self.rules.holds_switch && held.size > 0 && held.next > 0;
        for step in 0..classes {
            let class = if hold { (last + step) % classes } else { (last + 1 + step) % classes };
            let at = node * classes + class;
            let waiting = &self.waiting[at];
            if waiting.size == 0
                || usize::from(waiting.subnet) != subnet
                || best.is_some_and(|(_, most, _)| waiting.priority <= most)
            {
                continue;
            }
            let known = &shared.sources;
            let may_go = |channel: u16| {
                (!known.is_full(&self.rules.policy, node, usize::from(channel))).then_some(channel)
            };
            let priority = waiting.priority;
            let channel = if waiting.next > 0 {
                may_go(waiting.channel)
            } else if let Some(channel) = waiting.chosen {
                may_go(channel)
            } else {
                let found = self.free_channel(shared, (subnet, node, class), waiting.packet);
                self.waiting[at].chosen = found;
                found
            };
            if let Some(channel) = channel {
                best = Some((class, priority, channel));
                if hold && step == 0 {
                    break;
                }
            }
        }
        let Some((class, _, channel)) = best else { return };
        self.send_first(routers, shared, (subnet, node, class), channel);
    }

    /// A source of one class sends at most one flit.
    fn send_only_class<R: NodePorts>(
        &mut self,
        routers: &mut R,
        shared: &mut Shared,
        subnet: usize,
        node: usize,
    ) {
        let waiting = &self.waiting[node];
        if waiting.size == 0 || usize::from(waiting.subnet) != subnet {
            return;
        }
        let known = if waiting.next > 0 { Some(waiting.channel) } else { waiting.chosen };
        if let Some(channel) = known {
            if !shared.sources.is_full(&self.rules.policy, node, usize::from(channel)) {
                self.send_first(routers, shared, (subnet, node, 0), channel);
            }
            return;
        }
        let found = self.free_channel(shared, (subnet, node, 0), waiting.packet);
        self.waiting[node].chosen = found;
        if let Some(channel) = found {
            self.send_first(routers, shared, (subnet, node, 0), channel);
        }
    }

    /// The channel that a header at the front of a class would take.
    fn free_channel(
        &mut self,
        shared: &Shared,
        (subnet, node, class): (usize, usize, usize),
        packet: u32,
    ) -> Option<u16> {
        let mut range = self.rules.range(self.packets[packet].kind);
        let to = self.packets[packet].destination;
        if let Some(network) = &self.rules.network {
            let known = (self.rules.channels, range);
            range = network.entry_channels(&self.rules.wiring, to, known, &mut self.numbers);
        } else if !self.rules.shape.wraps {
            range = self.rules.routing.part(&self.rules.shape, to, 0, range);
        }
        if self.rules.cuts_by_next_port {
            range = self.first_part(shared, node, packet);
        }
        let (a, b) = range;
        let known = &shared.sources;
        let last = self.last_channel[(subnet * self.nodes + node) * self.classes.len() + class];
        let is_free = |channel: u32| {
            !known.channel(node, channel as usize).is_owned
                && !known.is_full(&self.rules.policy, node, channel as usize)
        };
        let count = b - a + 1;
        let found = match last.filter(|last| (a..=b).contains(last)) {
            None => is_free(a).then_some(a),
            Some(last) => (1..=count).map(|step| a + (last - a + step) % count).find(|&at| is_free(at)),
        };
        found.map(|channel| channel as u16)
    }

    /// The channels that lead to the output port of the first router.
    fn first_part(&mut self, shared: &Shared, node: usize, packet: u32) -> (u32, u32) {
        let (router, port) = self.rules.wiring.entries[node];
        let packet = &mut self.packets[packet];
        let channels = self.rules.range(packet.kind);
        let load = &shared.load;
        let place = Place { router, port: usize::from(port), enters: true, channel: 0, channels, load };
        packet.ahead = self.rules.ways(&place, packet, &mut self.numbers);
        let ports = self.rules.wiring.outputs(router).len();
        packet.ahead.part_of(channels, ports)
    }

    fn send_first<R: NodePorts>(
        &mut self,
        routers: &mut R,
        shared: &mut Shared,
        (subnet, node, class): (usize, usize, usize),
        channel: u16,
    ) {
        let classes = self.classes.len();
        let at = subnet * self.nodes + node;
        let waiting = &mut self.waiting[node * classes + class];
        let mut flit = Flit::new(waiting.packet, waiting.next, waiting.size, waiting.priority);
        waiting.next += 1;
        if waiting.next == waiting.size {
            waiting.size = 0;
        }
        waiting.chosen = None;
        waiting.channel = channel;
        flit.channel = channel;
        flit.injected = self.now;
        self.rules.priority.on_sending(&mut flit, self.now);
        self.last_class[at] = class;
        let Shared { sources, load, .. } = shared;
        if flit.is_head() {
            self.last_channel[at * classes + class] = Some(u32::from(channel));
            // Another class has taken it since this one chose it.
            if sources.channel(node, usize::from(channel)).is_owned {
                self.breach = Some(Breach::ChannelTwice);
            }
            sources.take(&self.rules.policy, node, usize::from(channel));
            if !sources.has_limit(&self.rules.policy, node) {
                self.breach = Some(Breach::PlacePerOwner);
            }
            let packet = &mut self.packets[flit.packet];
            packet.injected = self.now;
            if let Some(feed) = &mut self.feed {
                feed.leave(node, class, packet);
            }
            if let Some(queues) = &mut self.queues {
                let (number, cycle) = (packet.number.into(), packet.injected.into());
                let (start, length) = (packet.created.into(), packet.size);
                queues.leave(node * classes + class, Departure { number, cycle, start, length });
            }
            if self.rules.routing_delay == 0 && !self.rules.cuts_by_next_port {
                let (router, port) = self.rules.wiring.entries[node];
                let place = Place {
                    router,
                    port: usize::from(port),
                    enters: true,
                    channel: u32::from(channel),
                    channels: self.rules.range(packet.kind),
                    load,
                };
                packet.hops += 1;
                packet.ahead = self.rules.ways(&place, packet, &mut self.numbers);
            }
        }
        sources.send(&self.rules.policy, node, usize::from(channel), flit.is_tail());
        if self.counts() {
            let facts = &mut self.facts[class];
            facts.sent_flits.counts[node] += 1;
            if flit.is_head() {
                facts.sent_packets.counts[node] += 1;
            }
        }
        routers.inject_flit(node as u32, &flit, &mut self.at(shared));
    }
}
