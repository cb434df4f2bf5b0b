//! Virtual lanes: a service level for every pair and, where needed, tables that map it to lanes hop by hop.

use super::{Dependencies, DimensionOrder, Forwarding, LaneRule, MAX_LANES, NO_CHANNEL, SERVICE_LEVELS};
use crate::fabric::Graph;

/// What may choose the lane of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The lane is the service level, the same on the whole way.
    Portable,
    /// Switches map level, port in and port out to a lane.
    Tables,
}

/// Levels and lanes of all pairs.
#[derive(Clone, Debug)]
pub struct PairLanes {
    /// How lanes are chosen.
    pub mode: Mode,
    /// Service level by `destination * switches + switch of the source`.
    pub levels: Vec<u8>,
    /// Number of lanes used: one more than the highest.
    pub lanes: usize,
    entries: Vec<[u8; SERVICE_LEVELS]>,
    start: Vec<usize>,
}

/// Outcome of an assignment.
#[derive(Clone, Debug)]
pub enum Laned {
    /// Every pair has its lanes.
    Done(PairLanes),
    /// A way from a switch to a destination found no lane.
    Left,
}

/// Gives every pair a service level such that channels and lanes can never wait for each other in a cycle.
pub fn lane(
    graph: &Graph,
    table: &Forwarding,
    order: Option<&DimensionOrder>,
    mode: Mode,
    lanes: usize,
) -> Laned {
    let lanes = lanes.clamp(1, MAX_LANES);
    let order = order.filter(|order| mode == Mode::Tables && order.levels() < SERVICE_LEVELS && lanes >= 2);
    let attempt = |longest_first: bool| {
        let mut assignment = Assignment::new(graph, table, order, mode, lanes);
        assignment.run(longest_first);
        assignment
    };
    let (by_destination, longest) = rayon::join(|| attempt(false), || attempt(true));
    let better = if (longest.left, longest.highest) < (by_destination.left, by_destination.highest) {
        longest
    } else {
        by_destination
    };
    if better.left { Laned::Left } else { Laned::Done(better.finish()) }
}

/// An entry nobody has needed yet.
const OPEN: u8 = u8::MAX;

struct Assignment<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    order: Option<&'a DimensionOrder>,
    mode: Mode,
    limit: usize,
    dependencies: Dependencies<'a>,
    levels: Vec<u8>,
    entries: Vec<[u8; SERVICE_LEVELS]>,
    start: Vec<usize>,
    highest: u8,
    left: bool,
}

impl<'a> Assignment<'a> {
    fn new(
        graph: &'a Graph,
        table: &'a Forwarding,
        order: Option<&'a DimensionOrder>,
        mode: Mode,
        limit: usize,
    ) -> Self {
        let mut start = vec![0];
        for switch in 0..graph.switches() as u32 {
            let degree = graph.outgoing(switch).len();
            start.push(start[switch as usize] + (degree + 1) * degree);
        }
        let mut entries = vec![[OPEN; SERVICE_LEVELS]; start[graph.switches()]];
        let own = order.map_or(0, DimensionOrder::levels);
        for switch in 0..graph.switches() as u32 {
            let outgoing = graph.outgoing(switch);
            let table = start[switch as usize]..start[switch as usize + 1];
            for (place, entry) in entries[table].iter_mut().enumerate() {
                let bit = order.and_then(|order| order.bit(outgoing[place % outgoing.len()]));
                for (level, lane) in entry.iter_mut().enumerate() {
                    if mode == Mode::Portable {
                        *lane = level as u8;
                    } else if level < own {
                        *lane = bit.map_or(0, |bit| (level >> bit & 1) as u8);
                    }
                }
            }
        }
        Self {
            graph,
            table,
            order,
            mode,
            limit,
            dependencies: Dependencies::new(graph),
            levels: vec![0; table.next.len()],
            entries,
            start,
            highest: 0,
            left: false,
        }
    }

    fn run(&mut self, longest_first: bool) {
        let switches = self.graph.switches();
        let mut rest: Vec<(u32, u32, u32)> = Vec::new();
        let mut path = Vec::new();
        for destination in 0..self.table.roots.len() as u32 {
            for source in 0..switches as u32 {
                if self.graph.hosts(source) == 0 || !self.walk(source, destination, &mut path) {
                    continue;
                }
                if let Some(order) = self.order {
                    let (level, ordered) = order.level(self.graph, &path);
                    if ordered && self.place(&path, level) {
                        self.levels[destination as usize * switches + source as usize] = level;
                        continue;
                    }
                }
                rest.push((path.len() as u32, destination, source));
            }
        }
        if longest_first {
            rest.sort_by_key(|&(length, destination, source)| {
                (std::cmp::Reverse(length), destination, source)
            });
        }
        for (_, destination, source) in rest {
            self.walk(source, destination, &mut path);
            match self.find(&path) {
                Some(level) => self.levels[destination as usize * switches + source as usize] = level,
                None => {
                    self.left = true;
                    return;
                }
            }
        }
    }

    /// The channels from a switch to a destination; false if there is no way or nothing to cross.
    fn walk(&self, source: u32, destination: u32, path: &mut Vec<u32>) -> bool {
        path.clear();
        let row = self.table.row(destination as usize);
        let root = self.table.roots[destination as usize];
        let mut at = source;
        while at != root {
            let channel = row[at as usize];
            if channel == NO_CHANNEL || path.len() > self.graph.switches() {
                return false;
            }
            path.push(channel);
            at = self.graph.ends(channel).1;
        }
        !path.is_empty()
    }

    /// The first level that takes a path.
    fn find(&mut self, path: &[u32]) -> Option<u8> {
        let own = self.order.map_or(0, DimensionOrder::levels);
        if let Some(order) = self.order {
            let level = order.level(self.graph, path).0;
            if self.place(path, level) {
                return Some(level);
            }
        }
        let last = if self.mode == Mode::Portable { self.limit } else { SERVICE_LEVELS };
        (own as u8..last as u8).find(|&level| self.place(path, level))
    }

    /// Adds a path at a level, filling open entries of its tables with the first lane that closes no cycle.
    fn place(&mut self, path: &[u32], level: u8) -> bool {
        let mut opened = Vec::new();
        let mut before: Option<(u32, u8)> = None;
        let mut highest = 0;
        for &channel in path {
            let slot = self.slot(before.map(|hop| hop.0), channel);
            let known = self.entries[slot][level as usize];
            let first = before.map_or(0, |hop| hop.1);
            let limit = self.limit as u8;
            let fitting = if known == OPEN {
                (first..limit).chain((0..first).rev()).find(|&lane| self.joins(before, (channel, lane)))
            } else {
                (known < limit && self.joins(before, (channel, known))).then_some(known)
            };
            let Some(lane) = fitting else {
                self.dependencies.take_back();
                opened.into_iter().for_each(|slot: usize| self.entries[slot][level as usize] = OPEN);
                return false;
            };
            if known == OPEN {
                self.entries[slot][level as usize] = lane;
                opened.push(slot);
            }
            highest = highest.max(lane);
            before = Some((channel, lane));
        }
        self.dependencies.keep();
        self.highest = self.highest.max(highest);
        true
    }

    fn joins(&mut self, before: Option<(u32, u8)>, hop: (u32, u8)) -> bool {
        before.is_none_or(|before| self.dependencies.add(before, hop))
    }

    fn slot(&self, arrived: Option<u32>, channel: u32) -> usize {
        let switch = self.graph.ends(channel).0;
        let degree = self.graph.outgoing(switch).len();
        let row = arrived.map_or(degree, |arrived| self.graph.place(arrived ^ 1));
        self.start[switch as usize] + row * degree + self.graph.place(channel)
    }

    fn finish(mut self) -> PairLanes {
        // Entries that no packet uses stay on the lane of the level, or the first.
        for entry in &mut self.entries {
            entry.iter_mut().filter(|lane| **lane == OPEN).for_each(|lane| *lane = 0);
        }
        PairLanes {
            mode: self.mode,
            levels: self.levels,
            lanes: usize::from(self.highest) + 1,
            entries: self.entries,
            start: self.start,
        }
    }
}

impl PairLanes {
    /// Lanes by service level for every pair of ports of every switch: first those of channels that arrive (in
    /// the order of [`Graph::outgoing`]), then of hosts, each with the channels that leave.
    pub fn tables(&self) -> (&[usize], &[[u8; SERVICE_LEVELS]]) {
        (&self.start, &self.entries)
    }

    /// The rule for the check.
    pub fn rule(&self, graph: &Graph) -> LaneRule {
        if self.mode == Mode::Portable {
            return LaneRule::Identity(MAX_LANES as u8);
        }
        let mut start = Vec::with_capacity(graph.switches());
        let mut entries = Vec::new();
        for switch in 0..graph.switches() as u32 {
            start.push(entries.len());
            let degree = graph.outgoing(switch).len();
            let table = &self.entries[self.start[switch as usize]..self.start[switch as usize + 1]];
            entries.extend_from_slice(&table[..degree * degree]);
            for _ in 0..graph.hosts(switch) {
                entries.extend_from_slice(&table[degree * degree..]);
            }
        }
        LaneRule::Tables { start, entries }
    }

    /// Levels as the check takes them, by `destination * hosts + host`.
    pub fn host_levels(&self, graph: &Graph) -> Vec<u8> {
        self.levels
            .chunks(graph.switches())
            .flat_map(|row| {
                row.iter().enumerate().flat_map(|(switch, &level)| {
                    std::iter::repeat_n(level, graph.hosts(switch as u32) as usize)
                })
            })
            .collect()
    }
}
