//! The check of anybody's tables: who is reached, what loads the channels, and whether they can deadlock.

use super::{Forwarding, SERVICE_LEVELS};
use crate::fabric::Graph;
use crate::routing::components;
use rayon::prelude::*;
use std::collections::VecDeque;

/// Virtual lanes a channel can have.
pub(super) const LANES: usize = 16;

/// Which virtual lane a packet takes on a channel.
#[derive(Clone, Debug)]
pub enum LaneRule {
    /// The service level is the lane, of so many lanes: `vl = sl mod lanes`.
    Identity(u8),
    /// Tables of the switches. The table of a switch has a row for every channel that arrives (in the order
    /// of [`Graph::outgoing`]), then one for every host, each with an entry per channel that leaves.
    Tables {
        /// Where the table of every switch begins.
        start: Vec<usize>,
        /// Lanes by service level.
        entries: Vec<[u8; SERVICE_LEVELS]>,
    },
}

impl LaneRule {
    /// The lane on the `out`-th channel of a switch for a packet of a service level that came in `arrived`.
    pub(super) fn lane(&self, graph: &Graph, switch: u32, arrived: usize, out: usize, level: usize) -> u8 {
        match self {
            Self::Identity(lanes) => (level % usize::from(*lanes)) as u8,
            Self::Tables { start, entries } => {
                entries[start[switch as usize] + arrived * graph.outgoing(switch).len() + out][level]
            }
        }
    }
}

/// A channel and the lane on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The channel.
    pub channel: u32,
    /// The virtual lane.
    pub lane: u8,
}

/// What the check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// A shortest cycle of channels and lanes that can wait for each other, empty if there is none.
    pub cycle: Vec<Hop>,
    /// Ordered pairs of hosts without a way, those on one switch left out.
    pub unreachable: u64,
    /// The first hundred of them: switch of the source, number of the destination.
    pub examples: Vec<(u32, u32)>,
    /// Pairs of hosts on every channel.
    pub loads: Vec<u64>,
    /// Lanes that some pair uses.
    pub lanes: u32,
    /// Service levels that some pair uses.
    pub levels: u32,
}

/// Sources of a table: hosts that send alike.
///
/// `levels` holds the service level by `destination * hosts + host`; hosts are numbered by switch. Without
/// it every packet has level 0. The work is proportional to destinations times switches: on every channel
/// of a destination's tree travels the set of (level, lane) its packets have.
///
/// ```
/// use flitloom_core::{fabric::Graph, forwarding::{Forwarding, LaneRule, check}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3, 4]);
/// let verdict = check(&ring, &table, None, &LaneRule::Identity(1));
/// assert_eq!((verdict.cycle.len(), verdict.unreachable, verdict.lanes), (5, 0, 1));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn check(graph: &Graph, table: &Forwarding, levels: Option<&[u8]>, rule: &LaneRule) -> Verdict {
    let switches = graph.switches();
    let mut first_host = vec![0_usize; switches + 1];
    for switch in 0..switches {
        first_host[switch + 1] = first_host[switch] + graph.hosts(switch as u32) as usize;
    }
    let ports = (0..switches as u32).map(|switch| graph.outgoing(switch).len()).max().unwrap_or(0);
    let places: Vec<usize> = (0..graph.channels() as u32).map(|channel| graph.place(channel)).collect();
    let context = Context { graph, table, levels, rule, first_host, ports, places };
    let destinations = table.roots.len();
    let chunk = destinations.div_ceil(4 * rayon::current_num_threads()).max(1);
    let partial = (0..destinations)
        .into_par_iter()
        .with_min_len(chunk)
        .fold(
            || Seen::new(&context),
            |mut seen, destination| {
                seen.follow(&context, destination);
                seen
            },
        )
        .reduce(|| Seen::new(&context), Seen::merged);
    let mut examples = partial.examples;
    examples.sort_unstable_by_key(|&(source, destination)| (destination, source));
    examples.truncate(100);
    Verdict {
        cycle: context.cycle(&partial.next),
        unreachable: partial.unreachable,
        examples,
        loads: partial.loads,
        lanes: partial.used.lanes.count_ones(),
        levels: partial.used.levels.count_ones(),
    }
}

struct Context<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    levels: Option<&'a [u8]>,
    rule: &'a LaneRule,
    first_host: Vec<usize>,
    ports: usize,
    places: Vec<usize>,
}

/// A set of (level, lane): one lane set per level.
type Packets = [u16; SERVICE_LEVELS];

#[derive(Clone, Copy, Default)]
struct Used {
    lanes: u16,
    levels: u16,
}

/// What was seen on the trees of some destinations.
struct Seen {
    /// Packets that went from a channel to the `out`-th channel of the next switch.
    next: Vec<Packets>,
    loads: Vec<u64>,
    unreachable: u64,
    examples: Vec<(u32, u32)>,
    used: Used,
    /// Per channel, packets of the destination at hand.
    packets: Vec<Packets>,
    below: Vec<u64>,
    reached: Vec<bool>,
}

impl Seen {
    fn new(context: &Context<'_>) -> Self {
        let (channels, switches) = (context.graph.channels(), context.graph.switches());
        Self {
            next: vec![[0; SERVICE_LEVELS]; channels * context.ports],
            loads: vec![0; channels],
            unreachable: 0,
            examples: Vec::new(),
            used: Used::default(),
            packets: vec![[0; SERVICE_LEVELS]; channels],
            below: vec![0; switches],
            reached: vec![false; switches],
        }
    }

    fn merged(mut self, other: Self) -> Self {
        for (mine, theirs) in self.next.iter_mut().zip(&other.next) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
        }
        self.loads.iter_mut().zip(&other.loads).for_each(|(mine, theirs)| *mine += theirs);
        self.unreachable += other.unreachable;
        self.examples.extend(other.examples);
        self.used.lanes |= other.used.lanes;
        self.used.levels |= other.used.levels;
        self
    }

    fn follow(&mut self, context: &Context<'_>, destination: usize) {
        let Context { graph, table, .. } = *context;
        let row = table.row(destination);
        let root = table.roots[destination];
        let order = table.towards(graph, destination);
        self.reached.fill(false);
        for &switch in &order {
            self.reached[switch as usize] = true;
            self.below[switch as usize] = graph.hosts(switch).into();
        }
        if order.len() < graph.switches() {
            for switch in (0..graph.switches() as u32).filter(|&switch| !self.reached[switch as usize]) {
                self.unreachable += u64::from(graph.hosts(switch));
                if graph.hosts(switch) > 0 && self.examples.len() < 100 {
                    self.examples.push((switch, destination as u32));
                }
            }
        }
        for &switch in order.iter().filter(|&&switch| switch != root) {
            let channel = row[switch as usize];
            let hosts = self.below[switch as usize];
            self.loads[channel as usize] += hosts;
            self.below[graph.ends(channel).1 as usize] += hosts;
            self.packets[channel as usize] = self.gather(context, destination, switch, row);
        }
    }

    /// Packets on the channel a switch forwards to, from its hosts and from the channels that arrive.
    fn gather(&mut self, context: &Context<'_>, destination: usize, switch: u32, row: &[u32]) -> Packets {
        let Context { graph, rule, .. } = *context;
        let out = context.places[row[switch as usize] as usize];
        let degree = graph.outgoing(switch).len();
        let mut packets: Packets = [0; SERVICE_LEVELS];
        let first = context.first_host[switch as usize];
        let hosts = context.first_host[context.graph.switches()];
        for host in first..context.first_host[switch as usize + 1] {
            let level = context.levels.map_or(0, |levels| usize::from(levels[destination * hosts + host]));
            let lane = rule.lane(graph, switch, degree + host - first, out, level);
            packets[level] |= 1 << lane;
            self.used.levels |= 1 << level;
        }
        for (arrived, &back) in graph.outgoing(switch).iter().enumerate() {
            let channel = back ^ 1;
            let source = graph.ends(channel).0 as usize;
            if row[source] != channel || !self.reached[source] {
                continue;
            }
            let arriving = self.packets[channel as usize];
            let seen = &mut self.next[channel as usize * context.ports + out];
            for level in 0..SERVICE_LEVELS {
                if arriving[level] != 0 {
                    seen[level] |= arriving[level];
                    packets[level] |= 1 << rule.lane(graph, switch, arrived, out, level);
                }
            }
        }
        self.used.lanes |= packets.iter().fold(0, |all, lanes| all | lanes);
        packets
    }
}

impl Context<'_> {
    /// A shortest cycle of dependencies.
    fn cycle(&self, next: &[Packets]) -> Vec<Hop> {
        let vertices = self.graph.channels() * LANES;
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for channel in 0..self.graph.channels() as u32 {
            let switch = self.graph.ends(channel).1;
            let arrived = self.places[channel as usize ^ 1];
            for (out, &following) in self.graph.outgoing(switch).iter().enumerate() {
                let packets = &next[channel as usize * self.ports + out];
                for (level, &lanes) in packets.iter().enumerate().filter(|(_, lanes)| **lanes != 0) {
                    let to = self.rule.lane(self.graph, switch, arrived, out, level);
                    let from = (0..LANES as u32).filter(|lane| lanes & 1 << lane != 0);
                    edges.extend(from.map(|lane| {
                        (channel * LANES as u32 + lane, following * LANES as u32 + u32::from(to))
                    }));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let mut first = vec![0_usize; vertices + 1];
        edges.iter().for_each(|&(from, _)| first[from as usize + 1] += 1);
        for vertex in 0..vertices {
            first[vertex + 1] += first[vertex];
        }
        let targets =
            |vertex: u32| edges[first[vertex as usize]..first[vertex as usize + 1]].iter().map(|edge| edge.1);
        let component = components(vertices, targets);
        let mut size = vec![0_u32; vertices];
        component.iter().for_each(|&number| size[number as usize] += 1);
        let inside = |vertex: u32| size[component[vertex as usize] as usize] > 1;
        let cycle =
            shortest_cycle(vertices, |vertex| targets(vertex).filter(|&target| inside(target)), inside);
        cycle
            .into_iter()
            .map(|vertex| Hop { channel: vertex / LANES as u32, lane: (vertex % LANES as u32) as u8 })
            .collect()
    }
}

/// A shortest cycle through the vertices that lie on some cycle.
fn shortest_cycle<I: Iterator<Item = u32>>(
    vertices: usize,
    targets: impl Fn(u32) -> I,
    on_a_cycle: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut best: Vec<u32> = Vec::new();
    let mut parent = vec![(u32::MAX, u32::MAX); vertices];
    for start in (0..vertices as u32).filter(|&vertex| on_a_cycle(vertex)) {
        let mut queue = VecDeque::from([(start, 1)]);
        let mut closed = None;
        'search: while let Some((here, length)) = queue.pop_front() {
            if !best.is_empty() && length >= best.len() {
                break;
            }
            for there in targets(here) {
                if there == start {
                    closed = Some(here);
                    break 'search;
                }
                // Cycles through lower vertices were found before.
                if there > start && parent[there as usize].0 != start {
                    parent[there as usize] = (start, here);
                    queue.push_back((there, length + 1));
                }
            }
        }
        if let Some(mut here) = closed {
            best = vec![here];
            while here != start {
                here = parent[here as usize].1;
                best.push(here);
            }
            best.reverse();
        }
    }
    best
}

impl Verdict {
    /// Largest number of pairs on a channel.
    pub fn max_load(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }
}
