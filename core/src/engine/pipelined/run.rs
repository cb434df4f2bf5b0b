//! A run: what a cycle is.

use super::{
    batch::Batch,
    breach::Breach,
    classes::Class,
    feed::{Feed, wait_at_source},
    flit::{Flit, Kind, Packets},
    measures::ClassFacts,
    numbers::Numbers,
    routers::{Cycle, Shared},
    rules::Rules,
    sets::Sets,
    subnet::Subnet,
    waiting::{Reply, Waiting},
};
use crate::{
    probe::{Probe, SourceQueues},
    save::{Archive, SaveError},
    visit::{Visited, below},
};
use std::{collections::VecDeque, sync::Arc};

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

/// Networks, sources and sinks in motion.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub rules: Arc<Rules>,
    pub nodes: usize,
    pub numbers: Numbers,
    pub now: u32,
    pub classes: Vec<Class>,
    pub subnets: Vec<Subnet<Self>>,
    pub packets: Packets,
    /// By node and class.
    pub waiting: Vec<Waiting>,
    /// A bit per node where a packet waits.
    pub at_work: Vec<u64>,
    /// By node.
    pub replies: Vec<VecDeque<Reply>>,
    pub sequence: Vec<u32>,
    /// By subnet and node the class that sent last, and by class the channel used last.
    pub last_class: Vec<usize>,
    pub last_channel: Vec<Option<u32>>,
    /// By kind of message.
    pub subnet_of: [u32; 4],
    pub counts_queuing: bool,
    pub next_packet: u32,
    pub next_flit: u32,
    /// By class; the sums of cycles for which flits in flight were made.
    pub facts: Vec<ClassFacts>,
    pub created_in_flight: Vec<u64>,
    pub warms_up: bool,
    pub measures: bool,
    /// The end of measuring, once it is over.
    pub drains_after: Option<u32>,
    pub sources_work: bool,
    /// Records of packets, if they are kept.
    pub log: Option<Vec<PacketRecord>>,
    pub arrived: Vec<(u32, Flit)>,
    pub ends: Vec<usize>,
    /// Cycles since a flit arrived, after how many a deadlock is suspected, and how often it was.
    pub quiet: u32,
    pub patience: u32,
    pub warnings: u32,
    /// Cycles since a flit arrived.
    pub standstill: u32,
    /// What ends BookSim2.
    pub breach: Option<Breach>,
    /// How many packets a node sends, where that is fixed.
    pub batch: Option<Batch>,
    /// The packet and the flit that arrived last.
    pub last_retired: Option<(u32, u32)>,
    /// Where packets come from that no process makes.
    pub feed: Option<Box<Feed>>,
    /// How busy the queues of nodes and classes are, where a run is judged by them.
    pub queues: Option<Box<SourceQueues>>,
    /// By node and channel the flits that a node has not taken yet.
    pub exits: Vec<VecDeque<Flit>>,
}

impl Run {
    /// A run at its beginning.
    pub(super) fn new(
        rules: Rules,
        subnets: Vec<Subnet<Self>>,
        classes: Vec<Class>,
        numbers: Numbers,
    ) -> Self {
        let (nodes, count) = (rules.wiring.nodes(), classes.len());
        Self {
            nodes,
            numbers,
            now: 0,
            packets: Packets::new(rules.largest),
            waiting: vec![Waiting::default(); nodes * count],
            at_work: vec![0; nodes.div_ceil(64)],
            replies: vec![VecDeque::new(); nodes],
            sequence: vec![0; nodes],
            last_class: vec![0; nodes * subnets.len()],
            last_channel: vec![None; nodes * subnets.len() * count],
            subnets,
            subnet_of: [0; 4],
            counts_queuing: true,
            next_packet: 0,
            next_flit: 0,
            facts: vec![ClassFacts::new(nodes); count],
            created_in_flight: vec![0; count],
            warms_up: true,
            measures: false,
            drains_after: None,
            sources_work: true,
            log: None,
            arrived: Vec::new(),
            ends: Vec::new(),
            quiet: 0,
            patience: 256,
            warnings: 0,
            standstill: 0,
            breach: None,
            batch: None,
            last_retired: None,
            feed: None,
            queues: None,
            exits: Vec::new(),
            classes,
            rules: Arc::new(rules),
        }
    }

    /// All that outlives a cycle of a run of a workload.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self {
            rules,
            nodes,
            numbers,
            now,
            subnets,
            packets,
            waiting,
            at_work,
            replies,
            sequence,
            last_class,
            last_channel,
            facts,
            created_in_flight,
            quiet,
            standstill,
            feed,
            exits,
            // What it was made of.
            subnet_of: _,
            counts_queuing: _,
            patience: _,
            // What does not outlive a cycle.
            arrived: _,
            ends: _,
            breach: _,
            // What files of BookSim2 change, which are run in one go.
            classes: _,
            next_packet: _,
            next_flit: _,
            warms_up: _,
            measures: _,
            drains_after: _,
            sources_work: _,
            log: _,
            warnings: _,
            batch: _,
            last_retired: _,
            queues: _,
        } = self;
        archive.number("cycle", now)?;
        numbers.fields(archive)?;
        let rules = &**rules;
        // Routers of some forms are sets meanwhile.
        let mut sets: Vec<_> = (subnets.iter_mut())
            .map(|Subnet { routers, shared, .. }| {
                routers.as_sets(&mut Cycle { now: *now, rules, packets, numbers, shared })
            })
            .collect();
        packets.fields(*nodes, rules.classes, archive)?;
        for (subnet, sets) in subnets.iter_mut().zip(&mut sets) {
            subnet.visit(sets.as_mut(), rules, packets, archive)?;
        }
        archive.slice("packets at sources", waiting)?;
        archive.slice("sources at work", at_work)?;
        archive.lists("replies", &mut *replies)?;
        archive.slice("packets made", sequence)?;
        archive.slice("classes used last", last_class)?;
        archive.slice("channels of sources used last", last_channel)?;
        facts.iter_mut().try_for_each(|facts| facts.fields(archive))?;
        archive.slice("cycles of flits in flight", created_in_flight)?;
        archive.number("cycles without an arrival", quiet)?;
        archive.number("cycles of standstill", standstill)?;
        feed.as_mut().map_or(Ok(()), |feed| feed.fields(archive))?;
        archive.lists("flits not taken yet", &mut *exits)?;
        if archive.is_reading() {
            self.check_restored(sets.first().and_then(Option::as_ref))?;
        }
        let Self { now, rules, subnets, packets, numbers, waiting, .. } = self;
        for (Subnet { routers, shared, .. }, sets) in subnets.iter_mut().zip(sets) {
            if let Some(sets) = sets {
                routers.take_sets(&sets, waiting, &mut Cycle { now: *now, rules, packets, numbers, shared });
            }
        }
        Ok(())
    }

    /// Nothing restored may lead outside the network.
    fn check_restored(&self, sets: Option<&Sets>) -> Visited {
        let Self { rules, packets, waiting, exits, .. } = self;
        packets.check("flits not taken yet", rules.channels, exits.iter().flatten())?;
        let sending = || waiting.iter().filter(|waiting| waiting.size > 0);
        let chosen = waiting.iter().flat_map(|waiting| waiting.chosen);
        let channels = chosen.chain(sending().map(|waiting| waiting.channel));
        below("packets at sources", rules.channels, channels.map(u32::from))?;
        below("packets at sources", packets.places(), sending().map(|waiting| waiting.packet))?;
        below("packets at sources", 1, sending().map(|waiting| waiting.subnet.into()))?;
        below("replies", self.nodes, self.replies.iter().flatten().map(|reply| reply.to))?;
        if let Some(&class) = self.last_class.iter().find(|&&class| class >= rules.classes) {
            return Err(SaveError::Value { field: "classes used last", value: class as u64 });
        }
        below("channels used last", rules.channels, self.last_channel.iter().flatten().copied())?;
        self.feed.as_ref().map_or(Ok(()), |feed| feed.check_restored(packets))?;
        self.check_flits(sets)?;
        let is_right = |waiting: &&Waiting| {
            let size = packets[waiting.packet].size;
            waiting.next < waiting.size && waiting.size == size
        };
        let at_rest = self.at_work.iter().enumerate().all(|(word, &bits)| {
            bits.checked_shr((self.nodes - 64 * word) as u32).is_none_or(|beyond| beyond == 0)
        });
        if at_rest && sending().all(|waiting| is_right(&waiting)) {
            Ok(())
        } else {
            Err(SaveError::Value { field: "packets at sources", value: waiting.len() as u64 })
        }
    }

    /// A packet has no more flits than it has, wherever they are, and those in flight are counted.
    fn check_flits(&self, sets: Option<&Sets>) -> Visited {
        let Self { packets, waiting, subnets, facts, .. } = self;
        let wrong = |field: &'static str, value: u64| Err(SaveError::Value { field, value });
        let mut in_flight = vec![0; facts.len()];
        for packet in packets.iter() {
            in_flight[usize::from(packet.class)] += u64::from(packet.size.saturating_sub(packet.delivered));
        }
        if let Some(class) = (0..facts.len()).find(|&class| in_flight[class] != facts[class].in_flight) {
            return wrong("flits in flight", facts[class].in_flight);
        }
        let routers = sets.map_or(&*subnets[0].routers, |sets| sets);
        let Some(mut flits) = routers.under_way(packets.places()) else { return Ok(()) };
        for waiting in waiting.iter().filter(|waiting| waiting.size > 0) {
            flits[waiting.packet as usize] += waiting.size - waiting.next.min(waiting.size);
        }
        for (place, &flits) in flits.iter().enumerate() {
            let packet = &packets[place as u32];
            if flits > packet.size.saturating_sub(packet.delivered) {
                return wrong("flits of packets", flits.into());
            }
        }
        Ok(())
    }

    /// Whether rates are counted.
    pub(super) fn counts(&self) -> bool {
        self.warms_up || self.measures
    }

    /// Flits that were made and have not arrived.
    pub(super) fn in_flight(&self) -> u64 {
        self.facts.iter().map(|facts| facts.in_flight).sum()
    }

    /// Whether neither flits nor credits are left.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight() == 0 && self.subnets.iter().all(|subnet| subnet.routers.is_quiet())
    }

    /// Begins once more with empty sources at cycle 0; what allocators and numbers remember stays.
    pub(super) fn restart(&mut self) {
        self.now = 0;
        self.quiet = 0;
        self.waiting.fill(Waiting::default());
        self.at_work.fill(0);
        self.replies.iter_mut().for_each(VecDeque::clear);
        // Who waited for these replies waits no longer.
        if let Some(batch) = &mut self.batch {
            batch.outstanding.fill(0);
        }
        for class in &mut self.classes {
            class.process.reset();
        }
        self.facts.iter_mut().for_each(ClassFacts::clear);
        (self.warms_up, self.measures, self.drains_after, self.sources_work) = (true, false, None, true);
    }

    /// One cycle.
    pub(super) fn cycle(&mut self) {
        let now = self.now;
        if self.in_flight() > 0 {
            self.quiet += 1;
            self.standstill += 1;
            if self.standstill > Breach::STANDSTILL {
                self.breach = Some(Breach::Deadlock);
            }
            if self.quiet > self.patience {
                self.quiet = 0;
                self.warnings += 1;
            }
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        let mut ends = std::mem::take(&mut self.ends);
        let rules = self.rules.clone();
        let at = (now, &*rules);
        for subnet in &mut self.subnets {
            subnet.receive(at, &mut self.packets, &mut self.numbers, &mut arrived);
            ends.push(arrived.len());
        }
        if self.feed.is_some() {
            self.take_from_feed();
        } else if self.sources_work {
            self.generate();
        }
        let mut subnets = std::mem::take(&mut self.subnets);
        for (number, Subnet { routers, shared, .. }) in subnets.iter_mut().enumerate() {
            routers.inject(self, shared, number);
        }
        let mut from = 0;
        for (Subnet { routers, shared, .. }, mut end) in subnets.iter_mut().zip(ends.drain(..)) {
            if !self.exits.is_empty() {
                self.take_from_exits(&mut arrived);
                end = arrived.len();
            }
            routers.retire(self, shared, &arrived[from..end]);
            from = end;
        }
        arrived.clear();
        (self.arrived, self.ends) = (arrived, ends);
        for subnet in &mut subnets {
            let breach = subnet.step(at, &mut self.packets, &mut self.numbers);
            self.breach = breach.or(self.breach);
        }
        for subnet in &mut subnets {
            subnet.send(at, &mut self.packets, &mut self.numbers);
        }
        self.subnets = subnets;
        self.now += 1;
    }

    /// Nodes whose last packet has left take the next one of the workload, or a reply that they owe.
    fn take_from_feed(&mut self) {
        let Self { feed: Some(feed), waiting, packets, replies, facts, created_in_flight, .. } = self else {
            return;
        };
        let classes = self.classes.len();
        for node in 0..self.nodes {
            for class in 0..classes {
                let waiting = &mut waiting[node * classes + class];
                if waiting.size > 0 {
                    continue;
                }
                let taken = if class == 0 {
                    feed.take(node, self.now)
                } else {
                    feed.has_replied(node);
                    replies[node].pop_front().and_then(|reply| feed.reply(node, reply.to, reply.time))
                };
                let Some(packet) = taken else { continue };
                facts[class].in_flight += u64::from(packet.size);
                created_in_flight[class] += u64::from(packet.size) * u64::from(packet.created);
                let sequence = self.sequence[node];
                self.sequence[node] += 1;
                let priority = self.classes[class].priority;
                let priority = self.rules.priority.at_creation(priority, packet.created, sequence);
                wait_at_source(packets, waiting, packet, priority);
                self.at_work[node / 64] |= 1 << (node % 64);
            }
        }
    }

    /// Of the flits that reach nodes each node takes one; in place of those that arrived come those that are taken.
    fn take_from_exits(&mut self, arrived: &mut Vec<(u32, Flit)>) {
        let Self { feed: Some(feed), exits, packets, .. } = self else { return };
        let channels = self.rules.channels;
        for (node, flit) in arrived.drain(..) {
            exits[node as usize * channels + usize::from(flit.channel)].push_back(flit);
        }
        for node in 0..self.nodes {
            let first = self.now as usize % channels;
            for turn in 0..channels {
                let queue = &mut exits[node * channels + (first + turn) % channels];
                let Some(flit) = queue.front() else { continue };
                let kind = packets[flit.packet].kind;
                if flit.is_head() && !feed.accepts(node, kind) {
                    continue;
                }
                feed.owed[node] += u32::from(flit.is_head() && kind == Kind::ReadRequest);
                arrived.extend(queue.pop_front().map(|flit| (node as u32, flit)));
                break;
            }
        }
    }

    /// What routers work with now.
    pub(super) fn at<'a>(&'a mut self, shared: &'a mut Shared) -> Cycle<'a> {
        let Self { now, rules, packets, numbers, .. } = self;
        Cycle { now: *now, rules, packets, numbers, shared }
    }

    /// A flit has arrived.
    #[inline]
    pub(super) fn retire_flit(&mut self, shared: &mut Shared, node: u32, flit: Flit) {
        self.quiet = 0;
        self.standstill = 0;
        let (now, counts) = (self.now, self.counts());
        if let Some(watch) = &mut shared.records.watch {
            // It left its router two cycles ago.
            watch.flit_ejected(u64::from(now).saturating_sub(2), node, self.packets.seen(&flit));
        }
        let packet = &mut self.packets[flit.packet];
        packet.delivered += 1;
        let number = packet.first_flit + flit.index();
        self.last_retired = Some((packet.number, number));
        packet.head_arrival = if flit.is_head() { now } else { packet.head_arrival };
        let class = usize::from(packet.class);
        let facts = &mut self.facts[class];
        facts.in_flight -= 1;
        self.created_in_flight[class] -= u64::from(packet.created);
        facts.measured_in_flight -= u64::from(packet.is_measured);
        let delay = u64::from(now - flit.injected);
        if facts.slowest_flit < 0 || facts.flit.most < delay {
            facts.slowest_flit = i64::from(number);
        }
        facts.flit.add(delay);
        if counts {
            facts.delivered_flits.counts[node as usize] += 1;
        }
        if let Some(feed) = &mut self.feed {
            feed.arrived(now, node, packet, flit.is_tail());
        }
        if flit.is_tail() {
            self.retire_packet(node, flit, counts);
        }
    }

    /// The last flit of a packet has arrived.
    fn retire_packet(&mut self, node: u32, flit: Flit, counts: bool) {
        let now = self.now;
        let packet = self.packets[flit.packet];
        let facts = &mut self.facts[usize::from(packet.class)];
        if counts {
            facts.delivered_packets.counts[node as usize] += 1;
        }
        if self.warms_up || packet.is_measured {
            facts.hops.add(u64::from(flit.hops));
            let network = u64::from(now - packet.injected);
            // A delay from sending on is held against the largest from making on, as BookSim2 does.
            if facts.slowest_packet < 0 || facts.packet.most < network {
                facts.slowest_packet = i64::from(packet.number);
            }
            facts.packet.add(u64::from(now - packet.created));
            facts.network.add(network);
            facts.fragmentation.add(u64::from(now - packet.head_arrival - (packet.size - 1)));
        }
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
                hops: flit.hops,
                size: packet.size,
            });
        }
        let reply = match packet.kind {
            Kind::ReadRequest => Some(Kind::ReadReply),
            Kind::WriteRequest => Some(Kind::WriteReply),
            _ => None,
        };
        if let Some(batch) = self.batch.as_mut().filter(|_| reply.is_none()) {
            // A request is done when its reply is back.
            let asked = if packet.kind.is_reply() { packet.destination } else { packet.source };
            batch.outstanding[asked as usize] -= 1;
        }
        if let Some(kind) = reply {
            let is_measured = packet.is_measured;
            self.replies[node as usize].push_back(Reply { to: packet.source, time: now, is_measured, kind });
        }
        self.packets.remove(flit.packet);
    }
}
