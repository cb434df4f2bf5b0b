//! One subnet: routers, the links between them, and what sources know of their routers.

use super::{
    allocators::AllocatorKind,
    buffers::{Behind, Policy},
    flit::{Flit, Kind, Packets},
    numbers::Numbers,
    priority::Priority,
    router::{Router, World},
    routing::Routing,
    shape::Shape,
};
use std::collections::VecDeque;

/// Added to what goes behind everything else.
pub(super) const SWITCH_LAST: i64 = i32::MIN as i64;

/// The rules of all routers.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub shape: Shape,
    pub channels: usize,
    pub classes: usize,
    pub routing: Routing,
    /// First and last channel by kind of message.
    pub ranges: [(u32, u32); 5],
    pub policy: Policy,
    pub waits_for_tail: bool,
    pub busy_when_full: bool,
    pub prefers_empty: bool,
    pub donates: bool,
    pub shuffles: bool,
    pub holds_switch: bool,
    pub is_speculative: bool,
    pub is_piggyback: bool,
    pub checks_eligibility: bool,
    pub checks_credits: bool,
    pub masks_by_requests: bool,
    pub channel_allocator: AllocatorKind,
    pub switch_allocator: AllocatorKind,
    /// `None`: the switch allocator, with a low priority.
    pub speculative_allocator: Option<AllocatorKind>,
    pub priority: Priority,
    pub input_speedup: usize,
    pub output_speedup: usize,
    pub internal_speedup: f64,
    pub routing_delay: u32,
    pub crossbar_delay: u32,
    pub credit_delay: u32,
    pub output_places: Option<usize>,
    /// Latency of links between routers.
    pub latency: u32,
    /// Cycles that the wheels of what is on links know.
    pub slots: usize,
}

impl Rules {
    /// The channels of a kind of message.
    pub(super) fn range(&self, kind: Kind) -> (u32, u32) {
        self.ranges[kind as usize]
    }
}

/// Routers and links.
#[derive(Clone, Debug)]
pub(super) struct Subnet {
    routers: Vec<Router>,
    load: Vec<u32>,
    neighbours: Vec<u32>,
    /// What sources know of the queues of their router, and credits on their way to them, by slot and node.
    pub sources: Vec<Behind>,
    source_credits: Vec<u64>,
    /// Flits on their way to sinks, by slot and node.
    sinks: Vec<Option<Flit>>,
    steps: f64,
}

impl Subnet {
    /// A network without flits.
    pub(super) fn new(rules: &Rules) -> Self {
        let (nodes, ports) = (rules.shape.nodes(), rules.shape.ports());
        Self {
            routers: (0..nodes as u32).map(|number| Router::new(number, rules)).collect(),
            load: vec![0; nodes * ports],
            neighbours: (0..nodes * ports)
                .map(|at| match at % ports {
                    port if port == rules.shape.processor() => (at / ports) as u32,
                    port => rules.shape.neighbour((at / ports) as u32, port),
                })
                .collect(),
            sources: vec![Behind::new(&rules.policy, rules.channels, rules.waits_for_tail); nodes],
            source_credits: vec![0; rules.slots * nodes],
            sinks: vec![None; rules.slots * nodes],
            steps: 0.0,
        }
    }

    /// Per router and output port the flits known behind it.
    pub(super) fn load(&self) -> &[u32] {
        &self.load
    }

    /// Takes the flits that reach sinks, with their nodes, and gives sources their credits.
    pub(super) fn receive(&mut self, now: u32, rules: &Rules, arrived: &mut Vec<(u32, Flit)>) {
        let nodes = self.sources.len();
        let slot = now as usize % rules.slots * nodes;
        for node in 0..nodes {
            if let Some(flit) = self.sinks[slot + node].take() {
                arrived.push((node as u32, flit));
            }
            let mut set = std::mem::take(&mut self.source_credits[slot + node]);
            while set > 0 {
                self.sources[node].credit(&rules.policy, set.trailing_zeros() as usize);
                set &= set - 1;
            }
        }
    }

    /// Whether no credit waits or is on its way.
    pub(super) fn has_no_credits(&self) -> bool {
        self.source_credits.iter().all(|&set| set == 0)
            && self.routers.iter().all(|router| {
                router.credits.iter().all(VecDeque::is_empty)
                    && router.credits_arriving.iter().all(|&set| set == 0)
            })
    }

    /// A source sends a flit.
    pub(super) fn inject(&mut self, node: u32, flit: Flit, now: u32, rules: &Rules) {
        let ports = rules.shape.ports();
        let slot = (now as usize + 2) % rules.slots * ports + rules.shape.processor();
        self.routers[node as usize].flits_arriving[slot] = Some(flit);
        self.routers[node as usize].is_at_work = true;
    }

    /// A sink gives a place back.
    pub(super) fn give_back(&mut self, node: u32, channel: u16, now: u32, rules: &Rules) {
        let ports = rules.shape.ports();
        let slot = (now + 2 + rules.credit_delay) as usize % rules.slots * ports + rules.shape.processor();
        self.routers[node as usize].credits_arriving[slot] |= 1 << channel;
    }

    /// All routers do their steps of a cycle; true if a flit was sent for which there is no place.
    pub(super) fn work(
        &mut self,
        now: u32,
        rules: &Rules,
        packets: &mut Packets,
        numbers: &mut Numbers,
    ) -> bool {
        self.steps += rules.internal_speedup;
        let mut steps = 0;
        while self.steps >= 1.0 {
            self.steps -= 1.0;
            steps += 1;
        }
        let mut overflowed = false;
        let mut world =
            World { now, rules, packets, numbers, load: &mut self.load, overflowed: &mut overflowed };
        for router in &mut self.routers {
            router.arrive(&mut world);
            if router.is_at_work {
                for _ in 0..steps {
                    router.step(&mut world);
                }
            }
        }
        overflowed
    }

    /// Puts what routers send on the links.
    pub(super) fn send(&mut self, now: u32, rules: &Rules) {
        let (ports, processor, nodes) = (rules.shape.ports(), rules.shape.processor(), self.sources.len());
        let slots = rules.slots;
        for node in 0..nodes {
            if !self.routers[node].is_at_work {
                continue;
            }
            for port in 0..ports {
                let there = self.neighbours[node * ports + port] as usize;
                if let Some(flit) = self.routers[node].output[port].pop_front() {
                    if port == processor {
                        self.sinks[(now as usize + 2) % slots * nodes + node] = Some(flit);
                    } else {
                        let slot = (now + rules.latency + 1) as usize % slots * ports + (port ^ 1);
                        self.routers[there].flits_arriving[slot] = Some(flit);
                        self.routers[there].is_at_work = true;
                    }
                }
                if let Some(set) = self.routers[node].credits[port].pop_front() {
                    if port == processor {
                        self.source_credits[(now as usize + 2) % slots * nodes + node] |= set;
                    } else {
                        let late = now + rules.latency + 1 + rules.credit_delay;
                        let slot = late as usize % slots * ports + (port ^ 1);
                        self.routers[there].credits_arriving[slot] |= set;
                    }
                }
            }
            if self.routers[node].is_at_rest() {
                self.routers[node].is_at_work = false;
            }
        }
    }
}
