//! Nodes: what waits at them, what was measured of their packets.

use super::{
    breach::Breach,
    flit::{Packet, Packets},
    measures::ClassFacts,
    rules::Rules,
    waiting::{Reply, Waiting},
};
use std::{collections::VecDeque, sync::Arc};

/// What is counted of flits and packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Rates, and delays of all packets.
    All,
    /// Rates, and delays of the packets that are measured.
    Measured,
    /// Delays of the packets that are measured.
    Delays,
}

/// All nodes of a run.
#[derive(Clone, Debug)]
pub(crate) struct Terminals {
    pub rules: Arc<Rules>,
    pub nodes: usize,
    pub classes: usize,
    pub now: u32,
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
    pub counting: Counting,
    /// By class; the sums of cycles for which flits in flight were made.
    pub facts: Vec<ClassFacts>,
    pub created_in_flight: Vec<u64>,
    /// Cycles since a flit arrived.
    pub standstill: u32,
    /// What must not happen, if it has.
    pub breach: Option<Breach>,
}

impl Terminals {
    /// Nodes without packets, on so many subnets.
    pub(super) fn new(rules: Rules, subnets: usize) -> Self {
        let (nodes, classes) = (rules.wiring.nodes(), rules.classes);
        Self {
            nodes,
            classes,
            now: 0,
            packets: Packets::new(rules.largest, nodes),
            waiting: vec![Waiting::default(); nodes * classes],
            at_work: vec![0; nodes.div_ceil(64)],
            replies: vec![VecDeque::new(); nodes],
            sequence: vec![0; nodes],
            last_class: vec![0; nodes * subnets],
            last_channel: vec![None; nodes * subnets * classes],
            counting: Counting::All,
            facts: vec![ClassFacts::new(nodes); classes],
            created_in_flight: vec![0; classes],
            standstill: 0,
            breach: None,
            rules: Arc::new(rules),
        }
    }

    /// A packet waits at its node for a subnet; its class has a priority.
    #[inline]
    pub(crate) fn put(&mut self, packet: Packet, subnet: u16, priority: i32) {
        let (node, class, created) = (packet.source as usize, usize::from(packet.class), packet.created);
        let sequence = self.sequence[node];
        self.sequence[node] += 1;
        let priority = self.rules.priority.at_creation(priority, created, sequence);
        let size = packet.size;
        let facts = &mut self.facts[class];
        facts.in_flight += u64::from(size);
        facts.measured_in_flight += if packet.is_measured { u64::from(size) } else { 0 };
        self.created_in_flight[class] += u64::from(size) * u64::from(created);
        let packet = self.packets.add(Packet { priority, ..packet });
        let waiting = &mut self.waiting[node * self.classes + class];
        (waiting.packet, waiting.next, waiting.size) = (packet, 0, size);
        (waiting.subnet, waiting.priority) = (subnet, priority);
        self.at_work[node / 64] |= 1 << (node % 64);
    }

    /// Whether rates are counted.
    #[inline]
    pub(super) fn counts_rates(&self) -> bool {
        self.counting != Counting::Delays
    }

    /// Flits that were made and have not arrived.
    pub(crate) fn in_flight(&self) -> u64 {
        self.facts.iter().map(|facts| facts.in_flight).sum()
    }

    /// What must not happen, if it has, and in which cycle.
    pub(crate) fn take_breach(&mut self) -> Option<(Breach, u32)> {
        // Another process may be lost before the first cycle is over.
        Some((self.breach.take()?, self.now.saturating_sub(1)))
    }

    /// Empty once more, at cycle 0.
    pub(super) fn clear(&mut self) {
        self.now = 0;
        self.waiting.fill(Waiting::default());
        self.at_work.fill(0);
        self.replies.iter_mut().for_each(VecDeque::clear);
        self.facts.iter_mut().for_each(ClassFacts::clear);
        self.counting = Counting::All;
    }
}
