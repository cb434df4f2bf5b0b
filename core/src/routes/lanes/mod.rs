//! Virtual lanes: a service level for every pair and, where needed, tables that map it to lanes hop by hop.

use super::by_destination::{
    DimensionOrder, Forwarding, ForwardingRequest, LaneRule, MAX_LANES, Mode, NO_CHANNEL, Rising,
    SERVICE_LEVELS,
};
use crate::fabric::Graph;
use crate::flow::order::Dependencies;
use std::ops::RangeInclusive;

mod bend;
mod both_ways;
mod cut_rings;
mod resume;

pub(crate) use cut_rings::cut_rings;
pub(crate) use resume::{balance_within, fit_rows, levels_both_ways, spread_roots, up_down};

/// Levels and lanes of all pairs.
#[derive(Clone, Debug)]
pub struct PairLanes {
    /// How lanes are chosen.
    pub mode: Mode,
    /// Service level by `destination * switches + switch of the source`.
    pub levels: Vec<u8>,
    /// Number of lanes used: one more than the highest.
    pub lanes: usize,
    /// By switch whether the lane rises there; empty where levels and tables say the lane.
    pub rising: Vec<bool>,
    entries: Vec<[u8; SERVICE_LEVELS]>,
    start: Vec<usize>,
}

/// Gives every pair a service level such that channels and lanes can never wait for each other in a cycle;
/// `None` if the lanes do not suffice.
///
/// Of the request its lanes count, and whether both ways between two switches have the same level. Ways that
/// find no lane are bent, and the tables balanced again, so they may come back changed: no channel carries
/// more pairs than `loads` says, where that can be, and its start is what to come near to.
pub fn lane(
    graph: &Graph,
    table: &Forwarding,
    order: Option<&DimensionOrder>,
    mode: Mode,
    request: ForwardingRequest<'_>,
    loads: RangeInclusive<u64>,
) -> Option<(Forwarding, PairLanes)> {
    let (lanes, reversible) = (request.lanes.clamp(1, MAX_LANES), request.reversible);
    let guide = order;
    let order = order.filter(|order| guides(order, mode, lanes));
    let constant = !reversible && (mode == Mode::Portable || order.is_some());
    let attempt = |table: &Forwarding, turn: Turn, work: u64| {
        let mut assignment = Assignment::new(graph, table.clone(), order, mode, lanes);
        assignment.limit_of_work = work * table.next.len() as u64;
        if reversible {
            assignment.run_both_ways(turn);
        } else {
            assignment.run(turn, guide, constant);
        }
        assignment
    };
    let many = table.next.len() > MANY;
    let turns: &[(Turn, u64)] = match guide {
        _ if many => &[(Turn::Destination, LITTLE_WORK)],
        // Healthy tori are done soon, and can be repaired most easily then.
        Some(_) if constant => &[(Turn::Destination, LITTLE_WORK), (Turn::Ordered, WORK)],
        _ => &[(Turn::Destination, WORK), (Turn::Longest, WORK)],
    };
    let mut attempts: Vec<Assignment> = Vec::new();
    for &(turn, work) in turns {
        attempts.push(attempt(table, turn, work));
        let few = |attempt: &Assignment| attempt.left.is_empty() && usize::from(attempt.highest) < FEW;
        if guide.is_some() && attempts.iter().any(few) {
            break;
        }
    }
    let mut best = attempts.into_iter().min_by_key(|attempt| (attempt.left.len(), attempt.highest))?;
    let bent = constant && !best.left.is_empty();
    if best.left.len() == table.next.len() {
        return None;
    }
    if bent {
        best.limit_of_work = u64::MAX;
        best.bend(*loads.end());
    }
    if !best.left.is_empty() {
        return None;
    }
    if bent {
        best.balance(*loads.start(), *loads.start(), request.tries);
    }
    let rounds = if constant && !many && !bent { ROUNDS } else { 0 };
    for _ in 0..rounds {
        if usize::from(best.highest) < FEW {
            break;
        }
        let next = attempt(&best.table, Turn::Emptying(&best.levels), WORK);
        if !next.left.is_empty() || next.highest > best.highest {
            break;
        }
        best = next;
    }
    Some(best.finish())
}

/// Where the table of every switch begins, and all end: a row for every channel that arrives and one for hosts, each
/// with an entry per channel that leaves.
fn starts(graph: &Graph) -> Vec<usize> {
    let mut start = vec![0];
    for switch in 0..graph.switches() as u32 {
        let degree = graph.outgoing(switch).len();
        start.push(start[switch as usize] + (degree + 1) * degree);
    }
    start
}

/// Whether levels of dimension order come first in the tables of switches.
fn guides(order: &DimensionOrder, mode: Mode, lanes: usize) -> bool {
    mode == Mode::Tables && order.levels() + lanes <= SERVICE_LEVELS && lanes >= 2
}

/// Tables with more entries are laned once, without a choice.
pub(crate) const MANY: usize = 1 << 21;
/// Channels and lanes that may be looked at per entry; eight lanes are nearly full long before.
const WORK: u64 = 300;
/// The same where another order may do.
const LITTLE_WORK: u64 = 12;

/// Lanes that are few enough to look no further; repairs need those that are left.
const FEW: usize = 6;
/// Looks for fewer lanes.
const ROUNDS: usize = 6;
/// One in so many pairs without a lane is too many to bend their ways.
const BENT: usize = 20;

/// Which pairs come first.
#[derive(Clone, Copy, Debug)]
enum Turn<'a> {
    /// Destination by destination, from far to near.
    Destination,
    /// All pairs with long ways before those with short ones.
    Longest,
    /// Pairs on ways of dimension order by the datelines they cross, then the others.
    Ordered,
    /// Those on high levels first (iterated greedy colouring, Culberson 1992): the same lanes suffice again, and
    /// often fewer do.
    Emptying(&'a [u8]),
}

/// An entry nobody has needed yet.
const OPEN: u8 = u8::MAX;

struct Assignment<'a> {
    graph: &'a Graph,
    table: Forwarding,
    order: Option<&'a DimensionOrder>,
    mode: Mode,
    limit: usize,
    /// Channels and lanes it may look at.
    limit_of_work: u64,
    dependencies: Dependencies,
    levels: Vec<u8>,
    /// Pairs that have their level.
    settled: Vec<bool>,
    entries: Vec<[u8; SERVICE_LEVELS]>,
    start: Vec<usize>,
    highest: u8,
    /// Destinations and sources without a level.
    left: Vec<(u32, u32)>,
}

impl<'a> Assignment<'a> {
    fn new(
        graph: &'a Graph,
        table: Forwarding,
        order: Option<&'a DimensionOrder>,
        mode: Mode,
        limit: usize,
    ) -> Self {
        let start = starts(graph);
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
                    } else if order.is_some() && level < own + limit {
                        *lane = (level - own) as u8;
                    }
                }
            }
        }
        Self {
            graph,
            order,
            mode,
            limit,
            limit_of_work: u64::MAX,
            dependencies: Dependencies::new(graph, limit),
            levels: vec![0; table.next.len()],
            settled: vec![false; table.next.len()],
            table,
            entries,
            start,
            highest: 0,
            left: Vec::new(),
        }
    }

    /// Levels of all pairs; goes on beyond pairs without one only if their ways can be bent.
    fn run(&mut self, turn: Turn, guide: Option<&DimensionOrder>, bend: bool) {
        let switches = self.graph.switches();
        let most_left = if bend { self.table.next.len() / BENT } else { 0 };
        let mut rest: Vec<(u32, u32, u32)> = Vec::new();
        let mut path = Vec::new();
        for destination in 0..self.table.roots.len() as u32 {
            for source in self.table.towards(self.graph, destination as usize) {
                if self.graph.hosts(source) == 0 || !self.walk(source, destination, &mut path) {
                    continue;
                }
                let place = destination as usize * switches + source as usize;
                if let Some(order) = self.order {
                    let (level, ordered) = order.level(self.graph, &path);
                    if ordered && self.place(&path, level) {
                        self.levels[place] = level;
                        self.settled[place] = true;
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
                    Turn::Emptying(levels) => u32::from(u8::MAX - levels[place]),
                };
                if matches!(turn, Turn::Destination) && self.order.is_none() {
                    if !self.settle(&mut path, destination, source) && self.gives_up(most_left) {
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
            if !self.settle(&mut path, destination, source) && self.gives_up(most_left) {
                return;
            }
        }
    }

    /// Whether too many pairs are left, or there was too much work; then all that follow are left.
    fn gives_up(&mut self, most_left: usize) -> bool {
        let gives_up = self.left.len() > most_left || self.dependencies.work() > self.limit_of_work;
        if gives_up {
            self.left = vec![(0, 0); self.table.next.len()];
        }
        gives_up
    }

    /// Gives a pair its level, unless it has one; false if there is none.
    fn settle(&mut self, path: &mut Vec<u32>, destination: u32, source: u32) -> bool {
        let switches = self.graph.switches();
        let place = destination as usize * switches + source as usize;
        let own = self.own();
        if self.settled[place] {
            return true;
        }
        let Some(level) = self.find(path).filter(|_| self.dependencies.work() <= self.limit_of_work) else {
            self.left.push((destination, source));
            return false;
        };
        if usize::from(level) >= own && usize::from(level) < own + self.limit {
            self.settle_way(path, destination, level);
        } else {
            self.levels[place] = level;
            self.settled[place] = true;
        }
        true
    }

    /// Gives all pairs along a way the level of a constant lane: whoever joins it later adds nothing to wait for.
    fn settle_way(&mut self, path: &[u32], destination: u32, level: u8) {
        let start = destination as usize * self.graph.switches();
        for &channel in path {
            let place = start + self.graph.ends(channel).0 as usize;
            if !self.settled[place] {
                self.settled[place] = true;
                self.levels[place] = level;
            }
        }
    }

    /// Levels of dimension order; those of constant lanes, if any, come next.
    fn own(&self) -> usize {
        self.order.map_or(0, DimensionOrder::levels)
    }

    /// The channels from a switch to a destination; false if there is no way or nothing to cross.
    fn walk(&self, source: u32, destination: u32, path: &mut Vec<u32>) -> bool {
        path.clear();
        path.extend(self.table.way(self.graph, destination as usize, source));
        path.last().is_some_and(|&last| self.graph.ends(last).1 == self.table.roots[destination as usize])
    }

    /// The first level that takes a path.
    fn find(&mut self, path: &Vec<u32>) -> Option<u8> {
        let own = self.own();
        if let Some(order) = self.order {
            let level = order.level(self.graph, path).0;
            if self.place(path, level) {
                return Some(level);
            }
        }
        let mut free = own;
        if self.mode == Mode::Portable || self.order.is_some() {
            if let Some(level) = self.find_constant(std::slice::from_ref(path)) {
                return Some(level);
            }
            free += self.limit;
        }
        let free = if self.mode == Mode::Portable { SERVICE_LEVELS } else { free };
        (free as u8..SERVICE_LEVELS as u8)
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

    /// The first level of a lane that can be kept on whole paths, one that asks for nothing new before all
    /// others.
    fn find_constant(&mut self, paths: &[Vec<u32>]) -> Option<u8> {
        let (mut there, mut never) = (((1_u32 << self.limit) - 1) as u16, 0);
        for hops in paths.iter().flat_map(|path| path.windows(2)) {
            let (present, refused) = self.dependencies.constant(hops[0], hops[1]);
            there &= present;
            never |= refused;
        }
        let own = self.own() as u8;
        if there != 0 {
            let lane = there.trailing_zeros() as u8;
            self.highest = self.highest.max(lane);
            return Some(own + lane);
        }
        let open = (0..self.limit as u8).filter(|lane| never >> lane & 1 == 0);
        open.map(|lane| own + lane).find(|&level| self.place_all(paths, level))
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

    fn finish(mut self) -> (Forwarding, PairLanes) {
        // Entries that no packet uses stay on the lane of the level, or the first.
        for entry in &mut self.entries {
            entry.iter_mut().filter(|lane| **lane == OPEN).for_each(|lane| *lane = 0);
        }
        let lanes = PairLanes {
            mode: self.mode,
            levels: self.levels,
            lanes: usize::from(self.highest) + 1,
            rising: Vec::new(),
            entries: self.entries,
            start: self.start,
        };
        (self.table, lanes)
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
        match self.mode {
            Mode::Portable => return LaneRule::Identity(MAX_LANES as u8),
            Mode::Rising => {
                return LaneRule::Rising { switches: self.rising.clone(), lanes: self.lanes as u8 };
            }
            Mode::Tables => {}
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
