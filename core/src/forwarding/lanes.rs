//! Virtual lanes: a service level for every pair and, where needed, tables that map it to lanes hop by hop.

use super::{Dependencies, DimensionOrder, Forwarding, LaneRule, MAX_LANES, NO_CHANNEL, SERVICE_LEVELS};
use crate::fabric::Graph;
use rayon::prelude::*;

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
///
/// With `reversible` both ways between two switches have the same level.
pub fn lane(
    graph: &Graph,
    table: &Forwarding,
    order: Option<&DimensionOrder>,
    mode: Mode,
    lanes: usize,
    reversible: bool,
) -> Laned {
    let lanes = lanes.clamp(1, MAX_LANES);
    let guide = order;
    let order = order.filter(|order| mode == Mode::Tables && order.levels() < SERVICE_LEVELS && lanes >= 2);
    let attempt = |turn: Turn| {
        let mut assignment = Assignment::new(graph, table, order, mode, lanes);
        if reversible {
            assignment.run_both_ways(turn);
        } else {
            assignment.run(turn, guide);
        }
        assignment
    };
    let turns: &[Turn] = match guide.filter(|_| !reversible && mode == Mode::Portable) {
        _ if table.next.len() > MANY => &[Turn::Destination],
        None => &[Turn::Destination, Turn::Longest],
        Some(_) => &[Turn::Destination, Turn::Ordered],
    };
    let attempts: Vec<Assignment> = turns.par_iter().map(|&turn| attempt(turn)).collect();
    match attempts.into_iter().min_by_key(|assignment| (assignment.left, assignment.highest)) {
        Some(best) if !best.left => Laned::Done(best.finish()),
        _ => Laned::Left,
    }
}

/// Tables with more entries are laned once, without a choice.
const MANY: usize = 1 << 21;
/// Channels and lanes that may be looked at per entry; eight lanes are nearly full long before.
const WORK_PER_ENTRY: u64 = 300;

/// Which pairs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Destination by destination, from far to near.
    Destination,
    /// All pairs with long ways before those with short ones.
    Longest,
    /// Pairs on ways of dimension order by the datelines they cross, then the others.
    Ordered,
}

/// An entry nobody has needed yet.
const OPEN: u8 = u8::MAX;

struct Assignment<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    order: Option<&'a DimensionOrder>,
    mode: Mode,
    limit: usize,
    /// Channels and lanes it may look at.
    limit_of_work: u64,
    dependencies: Dependencies<'a>,
    levels: Vec<u8>,
    /// Pairs that have their level.
    settled: Vec<bool>,
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
            limit_of_work: WORK_PER_ENTRY * table.next.len() as u64,
            dependencies: Dependencies::new(graph),
            levels: vec![0; table.next.len()],
            settled: vec![false; table.next.len()],
            entries,
            start,
            highest: 0,
            left: false,
        }
    }

    fn run(&mut self, turn: Turn, guide: Option<&DimensionOrder>) {
        let switches = self.graph.switches();
        let mut rest: Vec<(u32, u32, u32)> = Vec::new();
        let mut path = Vec::new();
        for destination in 0..self.table.roots.len() as u32 {
            for source in self.table.towards(self.graph, destination as usize) {
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
                let late = match turn {
                    Turn::Destination => 0,
                    Turn::Longest => u32::MAX - path.len() as u32,
                    Turn::Ordered => match guide.map(|order| order.level(self.graph, &path)) {
                        Some((level, true)) => u32::from(level),
                        _ => u32::MAX - path.len() as u32,
                    },
                };
                if turn == Turn::Destination && self.order.is_none() {
                    if !self.settle(&mut path, destination, source) {
                        return;
                    }
                } else {
                    rest.push((late, destination, source));
                }
            }
        }
        rest.sort_by_key(|&(late, ..)| late);
        for (_, destination, source) in rest {
            self.walk(source, destination, &mut path);
            if !self.settle(&mut path, destination, source) {
                return;
            }
        }
    }

    /// Levels that are the same there and back.
    fn run_both_ways(&mut self, turn: Turn) {
        let switches = self.graph.switches();
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); switches];
        for (destination, &root) in self.table.roots.iter().enumerate() {
            rows[root as usize].push(destination as u32);
        }
        let mut pairs: Vec<(usize, usize, Vec<Vec<u32>>)> = Vec::new();
        for a in 0..switches {
            for b in (a + 1..switches).filter(|&b| !rows[a].is_empty() && !rows[b].is_empty()) {
                let mut paths = Vec::new();
                for (source, destinations) in [(a, &rows[b]), (b, &rows[a])] {
                    for &destination in destinations {
                        let mut path = Vec::new();
                        if self.walk(source as u32, destination, &mut path) {
                            paths.push(path);
                        }
                    }
                }
                paths.sort_unstable();
                paths.dedup();
                pairs.push((a, b, paths));
            }
        }
        if turn == Turn::Longest {
            let longest = |paths: &Vec<Vec<u32>>| paths.iter().map(Vec::len).max();
            pairs.sort_by_key(|(_, _, paths)| std::cmp::Reverse(longest(paths)));
        }
        for (a, b, paths) in pairs {
            let found = self.find_for_all(&paths).filter(|_| self.dependencies.work() <= self.limit_of_work);
            let Some(level) = found else {
                self.left = true;
                return;
            };
            for (source, destinations) in [(a, &rows[b]), (b, &rows[a])] {
                for &destination in destinations {
                    self.levels[destination as usize * switches + source] = level;
                }
            }
        }
    }

    /// The first level that takes several paths.
    fn find_for_all(&mut self, paths: &[Vec<u32>]) -> Option<u8> {
        if self.mode == Mode::Portable {
            return self.find_constant(paths);
        }
        let own = self.order.map_or(0, DimensionOrder::levels) as u8;
        let datelines = self.order.and_then(|order| {
            let mut levels = paths.iter().map(|path| order.level(self.graph, path).0);
            let first = levels.next()?;
            levels.all(|level| level == first).then_some(first)
        });
        datelines.into_iter().chain(own..SERVICE_LEVELS as u8).find(|&level| self.place_all(paths, level))
    }

    /// Gives a pair its level, unless it has one; false if there is none.
    fn settle(&mut self, path: &mut Vec<u32>, destination: u32, source: u32) -> bool {
        let switches = self.graph.switches();
        let place = destination as usize * switches + source as usize;
        if self.settled[place] {
            return true;
        }
        let Some(level) = self.find(path).filter(|_| self.dependencies.work() <= self.limit_of_work) else {
            self.left = true;
            return false;
        };
        if self.mode == Mode::Portable {
            // Whoever joins the way later adds nothing to wait for.
            for &channel in path.iter() {
                let place = destination as usize * switches + self.graph.ends(channel).0 as usize;
                if !self.settled[place] {
                    self.settled[place] = true;
                    self.levels[place] = level;
                }
            }
        } else {
            self.levels[place] = level;
        }
        true
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
    fn find(&mut self, path: &Vec<u32>) -> Option<u8> {
        let own = self.order.map_or(0, DimensionOrder::levels);
        if let Some(order) = self.order {
            let level = order.level(self.graph, path).0;
            if self.place(path, level) {
                return Some(level);
            }
        }
        if self.mode == Mode::Portable {
            return self.find_constant(std::slice::from_ref(path));
        }
        (own as u8..SERVICE_LEVELS as u8)
            .find(|&level| !self.is_hopeless(path, level) && self.place(path, level))
    }

    /// Whether the tables filled so far are known to close a cycle on a path at a level.
    fn is_hopeless(&self, path: &[u32], level: u8) -> bool {
        let mut before: Option<(u32, u8)> = None;
        path.iter().any(|&channel| {
            let lane = self.entries[self.slot(before.map(|hop| hop.0), channel)][level as usize];
            let refused = matches!(before, Some(before) if before.1 != OPEN)
                && lane != OPEN
                && before.is_some_and(|before| self.dependencies.refuses(before, (channel, lane)));
            before = Some((channel, lane));
            refused
        })
    }

    /// The first lane that can be kept on whole paths, one that asks for nothing new before all others.
    fn find_constant(&mut self, paths: &[Vec<u32>]) -> Option<u8> {
        let (mut there, mut never) = (((1_u16 << self.limit) - 1) as u8, 0);
        for hops in paths.iter().flat_map(|path| path.windows(2)) {
            let (present, refused) = self.dependencies.constant(hops[0], hops[1]);
            there &= present;
            never |= refused;
        }
        if there != 0 {
            return Some(there.trailing_zeros() as u8);
        }
        (0..self.limit as u8).filter(|lane| never >> lane & 1 == 0).find(|&lane| self.place_all(paths, lane))
    }

    fn place(&mut self, path: &Vec<u32>, level: u8) -> bool {
        self.place_all(std::slice::from_ref(path), level)
    }

    /// Adds paths at a level, filling open entries of its tables with the first lane that closes no cycle.
    fn place_all(&mut self, paths: &[Vec<u32>], level: u8) -> bool {
        let mut opened: Vec<usize> = Vec::new();
        let mut highest = 0;
        for path in paths {
            let mut before: Option<(u32, u8)> = None;
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
                    match before {
                        Some(before) if known < limit => {
                            self.dependencies.take_back_for(before, (channel, known));
                        }
                        _ => self.dependencies.take_back(),
                    }
                    opened.into_iter().for_each(|slot| self.entries[slot][level as usize] = OPEN);
                    return false;
                };
                if known == OPEN {
                    self.entries[slot][level as usize] = lane;
                    opened.push(slot);
                }
                highest = highest.max(lane);
                before = Some((channel, lane));
            }
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
