//! Nodes send the packets that wait at them, flit by flit.

use super::{
    breach::Breach,
    cycle::{Cycle, NodePorts, Shared},
    flit::Flit,
    network::Place,
    source::Source,
    terminals::Terminals,
};
use crate::bits::ones;

impl Terminals {
    /// What routers work with now.
    #[inline]
    pub(super) fn at<'a>(&'a mut self, source: &'a mut impl Source, shared: &'a mut Shared) -> Cycle<'a> {
        let Self { now, rules, packets, .. } = self;
        Cycle { now: *now, rules, packets, numbers: source.numbers(), shared }
    }

    /// Every node with a packet for a subnet of this number sends at most one flit.
    pub(super) fn inject<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        subnet: usize,
    ) {
        if self.classes == 1 && R::BODIES_ARE_BITS {
            self.inject_one_class(source, routers, shared, subnet);
            return;
        }
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let node = word * 64 + bit;
                self.send(source, routers, shared, (subnet, node));
                let classes = self.classes;
                let all = &self.waiting[node * classes..(node + 1) * classes];
                if all.iter().all(|waiting| waiting.size == 0) {
                    self.at_work[word] &= !(1 << bit);
                }
            }
        }
    }

    /// Every source of the only class sends at most one flit, and bodies are bits.
    fn inject_one_class<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        subnet: usize,
    ) {
        let (now, counts) = (self.now, self.counts_rates());
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let node = word * 64 + bit;
                let waiting = &mut self.waiting[node];
                if waiting.next == 0 || usize::from(waiting.subnet) != subnet {
                    self.send_only_class(source, routers, shared, (subnet, node));
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
    fn send<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        (subnet, node): (usize, usize),
    ) {
        let classes = self.classes;
        if classes == 1 {
            self.send_only_class(source, routers, shared, (subnet, node));
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
                let found = self.free_channel(source, shared, (subnet, node, class), waiting.packet);
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
        self.send_first(source, routers, shared, (subnet, node, class), channel);
    }

    /// A source of one class sends at most one flit.
    fn send_only_class<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        (subnet, node): (usize, usize),
    ) {
        let waiting = &self.waiting[node];
        if waiting.size == 0 || usize::from(waiting.subnet) != subnet {
            return;
        }
        let known = if waiting.next > 0 { Some(waiting.channel) } else { waiting.chosen };
        if let Some(channel) = known {
            if !shared.sources.is_full(&self.rules.policy, node, usize::from(channel)) {
                self.send_first(source, routers, shared, (subnet, node, 0), channel);
            }
            return;
        }
        let found = self.free_channel(source, shared, (subnet, node, 0), waiting.packet);
        self.waiting[node].chosen = found;
        if let Some(channel) = found {
            self.send_first(source, routers, shared, (subnet, node, 0), channel);
        }
    }

    /// The channel that a header at the front of a class would take.
    fn free_channel(
        &mut self,
        source: &mut impl Source,
        shared: &Shared,
        (subnet, node, class): (usize, usize, usize),
        packet: u32,
    ) -> Option<u16> {
        let rules = &self.rules;
        let known = (rules.channels, rules.range(self.packets[packet].kind));
        let to = self.packets[packet].destination;
        let mut range = rules.network.entry_channels(&rules.wiring, to, known, source.numbers());
        if rules.cuts_by_next_port {
            range = self.first_part(source, shared, node, packet);
        }
        let (a, b) = range;
        let known = &shared.sources;
        let last = self.last_channel[(subnet * self.nodes + node) * self.classes + class];
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
    fn first_part(
        &mut self,
        source: &mut impl Source,
        shared: &Shared,
        node: usize,
        packet: u32,
    ) -> (u32, u32) {
        let (router, port) = self.rules.wiring.entries[node];
        let packet = &mut self.packets[packet];
        let channels = self.rules.range(packet.kind);
        let load = &shared.load;
        let place = Place { router, port: usize::from(port), enters: true, channel: 0, channels, load };
        packet.ahead = self.rules.ways(&place, packet, source.numbers());
        let ports = self.rules.wiring.outputs(router).len();
        packet.ahead.part_of(channels, ports)
    }

    fn send_first<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        (subnet, node, class): (usize, usize, usize),
        channel: u16,
    ) {
        let classes = self.classes;
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
            source.leave(node, class, packet);
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
                packet.ahead = self.rules.ways(&place, packet, source.numbers());
            }
        }
        sources.send(&self.rules.policy, node, usize::from(channel), flit.is_tail());
        if self.counts_rates() {
            let facts = &mut self.facts[class];
            facts.sent_flits.counts[node] += 1;
            if flit.is_head() {
                facts.sent_packets.counts[node] += 1;
            }
        }
        routers.inject_flit(node as u32, &flit, &mut self.at(source, shared));
    }
}
