//! Routes and levels searched together, such that both directions of a pair are on one level.
//!
//! Every lane has a set of turns without a circle that exists before any route does. A pair has a level where the ways
//! there and back are legal in one lane. Entries are pointed elsewhere until all pairs have one and no channel carries
//! more than it must; then turns that no pair uses make room for others.

use super::turns::Turns;
use super::{DimensionOrder, Effort, Forwarding, Graph, NO_CHANNEL, Search, halvings};
use crate::routes::lanes::MANY;
use crate::traffic::{Purpose, draw};

/// How many more times turns are chosen anew where all pairs have their levels.
const STAGES_TO_BALANCE: u32 = 3;

/// How a search goes about it.
#[derive(Clone, Copy)]
struct Pace {
    /// Sweeps before turns are chosen anew.
    sweeps: u32,
    /// What a pair without a level costs at first, and the cost that is taken half as often as none on its ways, in
    /// that of a pair more on a channel that carries the target.
    homeless: f64,
    hot: f64,
    /// How steeply the cost of a channel rises with its load.
    power: u32,
}

/// A short search, one for any tables, and one for the largest.
const BRISK: Pace = Pace { sweeps: 12, homeless: 12.0, hot: 4.0, power: 16 };
const QUIET: Pace = Pace { sweeps: 48, homeless: 3.0, hot: 1.0, power: 32 };
const SHORT: Pace = Pace { sweeps: 12, ..QUIET };
/// How much longer than the shortest ways may become.
const DETOUR: u16 = 2;
/// Tables with a level for every pair of switches, the same there and back.
pub(crate) struct LeveledBothWays {
    /// The tables.
    pub(crate) table: Forwarding,
    /// Service level by `destination * switches + switch of the source`.
    pub(crate) levels: Vec<u8>,
    /// Lanes in use.
    pub(crate) lanes: usize,
    /// Pairs on the fullest channel.
    pub(crate) load: u64,
}

/// Searches routes and levels together from tables without levels; `None` if pairs without one are left.
///
/// `target` is the bound and `enough` a load that is good enough; turns are chosen anew up to `stages` times. A `brisk`
/// search goes by two sets of turns, without trees for pairs that no other way joins in a lane. The first lane leaves
/// the turns of a given tree to multicast.
pub(crate) fn both_ways(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    table: &Forwarding,
    (lanes, tree): (usize, Option<&[u32]>),
    (target, enough): (u64, u64),
    (stages, tries): (u64, u64),
    brisk: bool,
) -> Option<LeveledBothWays> {
    if let Some(one) = on_one_lane(graph, table) {
        return Some(one);
    }
    let order = order.filter(|order| order.is_plain());
    let cut = order.map(|order| Turns::cut_rings(graph, order, lanes, !brisk, tree));
    let mut best: Option<LeveledBothWays> = None;
    let good = |best: &Option<LeveledBothWays>| best.as_ref().is_some_and(|best| best.load <= enough);
    let search = |mut turns: Turns, best: &mut Option<LeveledBothWays>| {
        turns.extend(graph, None, 1);
        let found = BothWays::new(graph, table, turns, brisk).run(target.max(1), enough, (stages, tries));
        let better = |found: &LeveledBothWays| best.as_ref().is_none_or(|best| found.load < best.load);
        if let Some(found) = found.filter(better) {
            *best = Some(found);
        }
    };
    if let Some(cut) = cut {
        search(cut, &mut best);
    }
    if best.is_none() || brisk && !good(&best) {
        search(Turns::numbered(graph, lanes, tree), &mut best);
    }
    best
}

/// Pairs of hosts from a switch to a destination, in the mean over those that have any.
fn mean_demand(graph: &Graph, table: &Forwarding) -> u32 {
    let switches = graph.switches() as u32;
    let (mut pairs, mut sum) = (0, 0);
    for row in 0..table.roots.len() {
        for demand in (0..switches).map(|switch| u64::from(table.demand(graph, row, switch))) {
            pairs += u64::from(demand > 0);
            sum += demand;
        }
    }
    sum.div_ceil(pairs.max(1)).max(1) as u32
}

/// The tables as they are where one lane is enough for them.
fn on_one_lane(graph: &Graph, table: &Forwarding) -> Option<LeveledBothWays> {
    let mut turns = Turns::none(graph, 1);
    let mut sends = vec![false; graph.switches()];
    for (destination, &root) in table.roots.iter().enumerate() {
        let row = table.row(destination);
        (0..).zip(&mut sends).for_each(|(switch, sends)| *sends = graph.hosts(switch) > 0);
        for switch in table.towards(graph, destination) {
            let hop = row[switch as usize];
            // Nobody sends through switches that no host is behind.
            if switch == root || !sends[switch as usize] {
                continue;
            }
            let there = graph.ends(hop).1;
            sends[there as usize] = true;
            if there != root {
                turns.allow(hop, row[there as usize], 0);
            }
        }
    }
    let levels = vec![0; table.next.len()];
    turns.put_in_order().then(|| LeveledBothWays {
        load: table.max_load(graph),
        table: table.clone(),
        levels,
        lanes: 1,
    })
}

pub(super) struct BothWays<'a> {
    pub(super) search: Search<'a>,
    pub(super) turns: Turns,
    pace: Pace,
    /// Pairs of hosts per switch and destination, at least one.
    pub(super) mean: u32,
    /// Destinations of every switch.
    pub(super) at: Vec<Vec<u32>>,
    all: u16,
    /// Lanes in which the way from a switch is legal, by `destination * switches + switch`.
    pub(super) legal: Vec<u16>,
    /// Lanes in which all ways from a switch with hosts to the destinations of another one are, by
    /// `switch * switches + other switch`.
    joint: Vec<u16>,
    /// What a pair costs while it has no level, by its lower switch and its higher one.
    weight: Vec<u16>,
    /// Pairs without a level.
    pub(super) homeless: usize,
    /// What one of them costs.
    pub(super) price: f64,
    /// Switches whose legal lanes a change changes, the one whose entry it is first.
    changed: Vec<(u32, u16)>,
    /// By switch whether its way to the destination at hand meets a full channel, and whether a pair without a level
    /// takes it.
    wanted: Vec<(bool, bool)>,
    tosses: u64,
}

impl<'a> BothWays<'a> {
    fn new(graph: &'a Graph, table: &Forwarding, turns: Turns, brisk: bool) -> Self {
        let effort = Effort { exception: 0.0, tries: 0, enough: 0, longer: false, gently: false };
        let search = Search::new(graph, table, None, effort);
        let switches = graph.switches();
        let mut at = vec![Vec::new(); switches];
        for (destination, &root) in table.roots.iter().enumerate() {
            at[root as usize].push(destination as u32);
        }
        let pace = match table.next.len() {
            _ if brisk => BRISK,
            size if size <= MANY => QUIET,
            _ => SHORT,
        };
        let mut made = Self {
            search,
            at,
            pace,
            mean: mean_demand(graph, table),
            all: ((1_u32 << turns.lanes) - 1) as u16,
            turns,
            legal: Vec::new(),
            joint: Vec::new(),
            weight: vec![1; switches * switches],
            homeless: 0,
            price: 0.0,
            changed: Vec::new(),
            wanted: vec![(false, false); switches],
            tosses: 0,
        };
        made.look_at_all();
        made
    }

    /// Finds the legal lanes of all ways.
    fn look_at_all(&mut self) {
        let graph = self.search.graph;
        let (table, switches) = (&self.search.table, graph.switches());
        self.legal = vec![self.all; table.next.len()];
        for (destination, &root) in table.roots.iter().enumerate() {
            let (start, row) = (destination * switches, table.row(destination));
            for switch in table.towards(graph, destination).into_iter().rev().filter(|&at| at != root) {
                let hop = row[switch as usize];
                let there = graph.ends(hop).1;
                if there != root {
                    self.legal[start + switch as usize] =
                        self.legal[start + there as usize] & self.turns.turn(hop, row[there as usize]);
                }
            }
        }
        self.joint = vec![self.all; switches * switches];
        for from in (0..switches).filter(|&switch| graph.hosts(switch as u32) > 0) {
            for to in 0..switches {
                self.joint[from * switches + to] = self.lanes_to(from, to, None);
            }
        }
        self.homeless = self.pairs().filter(|&(one, other)| self.common(one, other) == 0).count();
    }

    /// Pairs of switches.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let switches = self.search.graph.switches();
        (0..switches).flat_map(move |one| (one + 1..switches).map(move |other| (one, other)))
    }

    /// Lanes that both directions of a pair may have.
    pub(super) fn common(&self, one: usize, other: usize) -> u16 {
        let switches = self.search.graph.switches();
        self.joint[one * switches + other] & self.joint[other * switches + one]
    }

    /// What a pair costs while it has no level.
    pub(super) fn weight_of(&self, one: u32, other: u32) -> u16 {
        self.weight[one.min(other) as usize * self.search.graph.switches() + one.max(other) as usize]
    }

    /// Lanes of all ways from a switch to the destinations of another, or what they would be with others for one.
    fn lanes_to(&self, from: usize, to: usize, instead: Option<(u32, u16)>) -> u16 {
        let switches = self.search.graph.switches();
        self.at[to].iter().fold(self.all, |lanes, &destination| match instead {
            Some((other, legal)) if other == destination => lanes & legal,
            _ => lanes & self.legal[destination as usize * switches + from],
        })
    }

    /// Sweeps and new turns in turns, until all pairs have a level and the load is good enough.
    fn run(&mut self, target: u64, enough: u64, (stages, tries): (u64, u64)) -> Option<LeveledBothWays> {
        let mut best: Option<LeveledBothWays> = None;
        let mut left = STAGES_TO_BALANCE;
        for stage in 0..stages {
            self.press(target, enough);
            let (levels, used, homeless) = self.levels();
            let load = self.search.largest();
            if homeless == 0 && best.as_ref().is_none_or(|best| load < best.load) {
                best = Some(self.leveled(&levels, load));
            }
            let done = best.as_ref().is_some_and(|best| best.load <= enough || left == 0);
            // Only large tables are given up.
            let large = self.search.table.next.len() > MANY;
            if done || self.search.tries > tries && (large || best.is_some()) {
                break;
            }
            left -= u32::from(best.is_some());
            let before = std::mem::replace(&mut self.turns, used);
            self.turns.extend(self.search.graph, Some(&before), stage + 2);
            self.look_at_all();
        }
        best
    }

    /// Sweeps over all entries, ever more quietly, and new ways for single pairs.
    fn press(&mut self, target: u64, enough: u64) {
        let pace = self.pace;
        let mut power = pace.power;
        let few = self.search.table.roots.len();
        let mut last = (usize::MAX, u64::MAX);
        for round in 0..pace.sweeps {
            let largest = self.search.largest();
            if self.homeless == 0 {
                if largest <= enough || power > 256 {
                    return;
                }
                // Few entries can be changed then: those of the fullest channels.
                power = if (0, largest) < last { power.max(32) } else { 2 * power };
            }
            last = (self.homeless, largest);
            self.search.price(target, power);
            let unit = self.search.one_more(target) * f64::from(self.mean);
            self.price = if self.homeless == 0 { 1e200 } else { pace.homeless * unit };
            if self.homeless > 0 && self.homeless <= few * 8 && (round % 4 == 3 || self.homeless <= few) {
                self.find_ways();
            }
            let cooler = 1.0 - f64::from(round) / f64::from(pace.sweeps);
            let level = target.max((largest - largest / 100).saturating_sub(1));
            self.sweep(level, pace.hot * unit * cooler);
            self.press_the_homeless();
        }
    }

    /// Pairs that are still without a level cost more from now on.
    fn press_the_homeless(&mut self) {
        if self.homeless == 0 {
            return;
        }
        let switches = self.search.graph.switches();
        for (one, other) in self.pairs() {
            if self.common(one, other) == 0 {
                let weight = &mut self.weight[one * switches + other];
                *weight = weight.saturating_add(1);
            }
        }
    }

    /// Every destination once: entries on ways that meet a channel with a load above `level`, and, with some chance
    /// where they cost more, those on ways of pairs without a level.
    fn sweep(&mut self, level: u64, heat: f64) {
        let graph = self.search.graph;
        let switches = graph.switches();
        for destination in 0..self.search.table.roots.len() {
            let root = self.search.table.roots[destination];
            let row = self.search.row[destination] as usize * switches;
            self.look_at(destination, level);
            for switch in (0..switches as u32).filter(|&switch| switch != root) {
                let (full, homeless) = self.wanted[switch as usize];
                let old = self.search.table.next[destination * switches + switch as usize];
                if !(full || homeless) || old == NO_CHANNEL {
                    continue;
                }
                let here = self.search.distances[row + switch as usize];
                let mut best: Option<(f64, u32)> = None;
                for &hop in graph.outgoing(switch) {
                    let there = self.search.distances[row + graph.ends(hop).1 as usize];
                    if hop == old || there.saturating_add(1) > here + DETOUR {
                        continue;
                    }
                    let mut cost = self.cost(destination, switch, hop);
                    if homeless {
                        self.tosses += 1;
                        cost -= heat * halvings(draw(self.tosses, 0, Purpose::Table, 0) as u32);
                    }
                    if cost < -1e-12 && best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, hop));
                    }
                }
                if let Some((_, hop)) = best {
                    self.point(destination, switch, hop);
                }
            }
        }
    }

    /// What is wanted of the ways to a destination.
    fn look_at(&mut self, destination: usize, level: u64) {
        let graph = self.search.graph;
        let switches = graph.switches();
        self.wanted.fill((false, false));
        let table = &self.search.table;
        let (row, root) = (table.row(destination), table.roots[destination]);
        if self.search.loads.iter().any(|&load| load > level) {
            for switch in table.towards(graph, destination).into_iter().rev().filter(|&at| at != root) {
                let hop = row[switch as usize];
                let full = self.search.loads[hop as usize] > level;
                self.wanted[switch as usize].0 = full || self.wanted[graph.ends(hop).1 as usize].0;
            }
        }
        if self.homeless == 0 {
            return;
        }
        for from in 0..switches {
            if self.common(from, root as usize) != 0 {
                continue;
            }
            let mut at = from;
            while at != root as usize && !std::mem::replace(&mut self.wanted[at].1, true) {
                at = graph.ends(row[at]).1 as usize;
            }
        }
    }

    /// What it costs to point an entry elsewhere; infinite if that closes a loop.
    pub(super) fn cost(&mut self, destination: usize, switch: u32, hop: u32) -> f64 {
        let cost = self.search.change(destination, switch, hop);
        if cost == f64::INFINITY {
            return cost;
        }
        match self.gained(destination, switch, hop) {
            0 => cost,
            gained => cost + self.price * gained as f64,
        }
    }

    /// By how much the weight of pairs without a level grows, and whose legal lanes change.
    fn gained(&mut self, destination: usize, switch: u32, hop: u32) -> i64 {
        let graph = self.search.graph;
        let (start, root) = (destination * graph.switches(), self.search.table.roots[destination]);
        let next = &self.search.table.next;
        let there = graph.ends(hop).1;
        let lanes = if there == root {
            self.all
        } else {
            self.legal[start + there as usize] & self.turns.turn(hop, next[start + there as usize])
        };
        let mut changed = std::mem::take(&mut self.changed);
        changed.clear();
        changed.push((switch, lanes));
        let (mut gained, mut head) = (0, 0);
        while let Some(&(at, lanes)) = changed.get(head) {
            let hop = if head == 0 { hop } else { next[start + at as usize] };
            head += 1;
            gained += self.gained_by(destination as u32, at as usize, lanes);
            for &back in graph.outgoing(at) {
                let (before, arriving) = (graph.ends(back).1, back ^ 1);
                if before != root && next[start + before as usize] == arriving {
                    let lanes = lanes & self.turns.turn(arriving, hop);
                    if lanes != self.legal[start + before as usize] {
                        changed.push((before, lanes));
                    }
                }
            }
        }
        self.changed = changed;
        gained
    }

    /// The same of one pair.
    fn gained_by(&self, destination: u32, from: usize, legal: u16) -> i64 {
        if self.search.graph.hosts(from as u32) == 0 {
            return 0;
        }
        let switches = self.search.graph.switches();
        let to = self.search.table.roots[destination as usize] as usize;
        let back = self.joint[to * switches + from];
        let is = self.joint[from * switches + to] & back == 0;
        let will_be = self.lanes_to(from, to, Some((destination, legal))) & back == 0;
        let weight = i64::from(self.weight[from.min(to) * switches + from.max(to)]);
        (i64::from(will_be) - i64::from(is)) * weight
    }

    /// Points an entry elsewhere.
    pub(super) fn point(&mut self, destination: usize, switch: u32, hop: u32) {
        self.gained(destination, switch, hop);
        self.search.redirect(destination, switch, hop, usize::MAX, u64::MAX);
        let switches = self.search.graph.switches();
        let to = self.search.table.roots[destination] as usize;
        for place in 0..self.changed.len() {
            let (from, legal) = self.changed[place];
            let from = from as usize;
            self.legal[destination * switches + from] = legal;
            if self.search.graph.hosts(from as u32) == 0 {
                continue;
            }
            let was = self.common(from, to) == 0;
            self.joint[from * switches + to] = self.lanes_to(from, to, None);
            let is = self.common(from, to) == 0;
            self.homeless = self.homeless + usize::from(is) - usize::from(was);
        }
    }

    /// The tables with levels, on as few lanes as there are different ones.
    fn leveled(&self, pairs: &[u8], load: u64) -> LeveledBothWays {
        let switches = self.search.graph.switches();
        let mut renamed = [u8::MAX; 16];
        let mut lanes = 0;
        for (one, other) in self.pairs() {
            let name = &mut renamed[usize::from(pairs[one * switches + other] & 15)];
            if pairs[one * switches + other] != u8::MAX && *name == u8::MAX {
                *name = lanes;
                lanes += 1;
            }
        }
        let table = self.search.table.clone();
        let levels = table.roots.iter().flat_map(|&root| {
            (0..switches).map(move |from| match pairs[from * switches + root as usize] {
                u8::MAX => 0,
                level => renamed[usize::from(level)],
            })
        });
        LeveledBothWays { levels: levels.collect(), table, lanes: usize::from(lanes).max(1), load }
    }
}
