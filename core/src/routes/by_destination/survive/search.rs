//! Annealing: an entry, the level of a pair, or two numbers of a lane are changed, as long as that leaves few pairs.

use super::super::{Forwarding, search::halvings};
use super::{
    answer::{SurviveRequest, Surviving},
    orders::Orders,
    tree::{Lanes, Marks, Premises, Tree},
};
use crate::fabric::Graph;
use crate::traffic::{Purpose, draw};
use std::sync::atomic::{AtomicBool, Ordering};

/// Stages of falling heat, and by how much it falls: from 1 to 0.1, in pairs that are taken half as often as none.
const STAGES: u64 = 200;
const COOLER: f64 = 0.988_553;
/// The stage at which many pairs without a legal way end the search.
const HOPELESS: u64 = 100;
/// How often levels, and ways that are not legal, are changed, in moves; numbers once in two moves per destination.
const LEVELS: u64 = 25;
const PRESSING: u64 = 4;
/// What a pair without a legal way costs at first, in pairs that a backup port leaves; also a pair above the load, squared.
const ILLEGAL: f64 = 20.0;
const ABOVE: f64 = 1.0;
/// Moves that cost so much load are not looked at any further.
const TOO_MUCH: f64 = 3.0;

pub(super) struct Search<'a> {
    request: SurviveRequest,
    premises: Premises<'a>,
    orders: Orders,
    trees: Vec<Tree>,
    marks: Vec<Marks>,
    /// Pairs that count, by `destination * switches + switch`.
    demand: Vec<i64>,
    /// Destinations at every switch.
    at: Vec<Vec<u32>>,
    loads: Vec<i64>,
    /// Pairs by cable that backup ports leave.
    left: Vec<i64>,
    /// Pairs between two switches in the mean, of hosts and of those that count.
    unit: (f64, f64),
    price: Price,
    /// Trees and what is known of them while a move is tried.
    other: Tree,
    others: Vec<Marks>,
    differences: Vec<(u32, i64)>,
    drawn: u64,
    looks: u64,
}

/// What there is to be paid at a stage.
#[derive(Default)]
struct Price {
    heat: f64,
    illegal: f64,
    above: f64,
    /// How far costs of cables are roots instead of the numbers of pairs.
    bent: f64,
}

impl Price {
    fn at(stage: u64, heat: f64) -> Self {
        let late = stage as f64 / STAGES as f64;
        let rising = (1.25 * late).min(1.0);
        let (illegal, above) = (ILLEGAL * (1.0 + 3.0 * rising), ABOVE * (1.0 + 7.0 * rising));
        Self { heat, illegal, above, bent: (1.2 * late).min(0.8) }
    }

    /// That of the pairs which are left without a cable: few on many cables cost more than many on few.
    fn of_left(&self, pairs: f64) -> f64 {
        pairs * (1.0 - self.bent) + 4.0 * pairs.sqrt() * self.bent
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(graph: &'a Graph, table: &Forwarding, request: SurviveRequest) -> Option<Self> {
        let switches = graph.switches();
        let rows = table.roots.iter().enumerate();
        let trees: Option<Vec<_>> = rows.map(|(row, &root)| Tree::new(graph, root, table.row(row))).collect();
        let trees = trees?;
        let mut at = vec![Vec::new(); switches];
        (0..).zip(&table.roots).for_each(|(row, &root)| at[root as usize].push(row));
        let mut drawn = 0;
        let orders = Orders::new(graph, request.lanes, || {
            drawn += 1;
            draw(request.seed, 0, Purpose::Table, drawn)
        });
        let sending: Vec<u32> =
            (0..switches as u32).map(|switch| graph.hosts(switch)).filter(|&hosts| hosts > 0).collect();
        let demand: Vec<i64> = (0..trees.len())
            .flat_map(|row| (0..switches as u32).map(move |switch| (row, switch)))
            .map(|(row, switch)| i64::from(table.demand(graph, row, switch)))
            .collect();
        let counted = demand.iter().filter(|&&pairs| pairs > 0).count().max(1) as f64;
        let unit = (
            f64::from(sending.iter().sum::<u32>()) / sending.len().max(1) as f64,
            demand.iter().sum::<i64>() as f64 / counted,
        );
        let premises = Premises {
            graph,
            rise: orders.rise(graph),
            levels: vec![0; switches * switches],
            lanes: ((1_u32 << request.lanes) - 1) as Lanes,
        };
        let mut search = Self {
            request,
            premises,
            orders,
            marks: vec![Marks::default(); trees.len()],
            trees,
            demand,
            at,
            loads: vec![0; graph.channels()],
            left: vec![0; graph.channels() / 2],
            unit: (unit.0.max(1.0), unit.1.max(1.0)),
            price: Price::at(0, 1.0),
            other: Tree::default(),
            others: Vec::new(),
            differences: Vec::new(),
            drawn,
            looks: 0,
        };
        search.choose_levels();
        Some(search)
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        draw(self.request.seed, 0, Purpose::Table, self.drawn)
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.draw()) * end as u128) >> 64) as usize
    }

    /// What a move may cost.
    fn patience(&mut self) -> f64 {
        self.price.heat * halvings(self.draw() as u32)
    }

    /// One of some lanes, or of all if there are none.
    fn one_of(&mut self, lanes: Lanes) -> u8 {
        let lanes = if lanes == 0 { self.premises.lanes } else { lanes };
        let mut left = lanes;
        for _ in 0..self.below(lanes.count_ones() as usize) {
            left &= left - 1;
        }
        left.trailing_zeros() as u8
    }

    /// The lanes in which all ways between two switches are legal.
    fn common(&self, one: usize, other: usize) -> Lanes {
        let legal = |destinations: &[u32], from: usize| {
            let marks = destinations.iter().map(|&row| self.marks[row as usize].legal[from]);
            marks.fold(self.premises.lanes, |common, legal| common & legal)
        };
        legal(&self.at[one], other) & legal(&self.at[other], one)
    }

    /// Gives every pair a level in which it is legal, if there is one.
    fn choose_levels(&mut self) {
        let switches = self.premises.graph.switches();
        self.look_at_all();
        for one in 0..switches {
            for other in one + 1..switches {
                let level = self.one_of(self.common(one, other));
                self.level(one, other, level);
            }
        }
        self.look_at_all();
    }

    fn level(&mut self, one: usize, other: usize, level: u8) -> u8 {
        let switches = self.premises.graph.switches();
        self.premises.levels[other * switches + one] = level;
        std::mem::replace(&mut self.premises.levels[one * switches + other], level)
    }

    /// Marks of all trees, loads, and pairs that are left.
    fn look_at_all(&mut self) {
        let graph = self.premises.graph;
        self.loads.fill(0);
        self.left.fill(0);
        for row in 0..self.trees.len() {
            let (tree, marks) = (&self.trees[row], &mut self.marks[row]);
            marks.look(&self.premises, tree);
            for from in (0..graph.switches()).filter(|&from| from as u32 != tree.root) {
                self.left[tree.next[from] as usize / 2] += i64::from(marks.lost[from]);
                let pairs = self.demand[row * graph.switches() + from];
                let mut at = from as u32;
                while at != tree.root {
                    let channel = tree.next[at as usize];
                    self.loads[channel as usize] += pairs;
                    at = graph.ends(channel).1;
                }
            }
        }
    }

    fn illegal(&self) -> u32 {
        self.marks.iter().map(|marks| marks.illegal).sum()
    }

    /// What a channel costs with a load.
    fn above(&self, load: i64) -> f64 {
        let above = (load - self.request.load as i64).max(0) as f64 / self.unit.1;
        self.price.above * above * above
    }

    /// Adds pairs to the channels of a way; what that costs.
    fn load(&mut self, row: usize, from: u32, first: Option<u32>, pairs: i64) -> f64 {
        let (mut at, mut first, mut cost) = (from, first, 0.0);
        while at != self.trees[row].root {
            let channel = first.take().unwrap_or_else(|| self.trees[row].next[at as usize]);
            let before = self.loads[channel as usize];
            self.loads[channel as usize] = before + pairs;
            cost += self.above(before + pairs) - self.above(before);
            at = self.premises.graph.ends(channel).1;
        }
        cost
    }

    /// Notes by how much pairs that are left differ from tree to tree, or from marks to marks.
    fn differ(differences: &mut Vec<(u32, i64)>, (old, was): (&Tree, &Marks), (new, is): (&Tree, &Marks)) {
        for from in (0..old.next.len()).filter(|&from| from as u32 != old.root) {
            let (one, other) = (old.next[from] / 2, new.next[from] / 2);
            let (before, after) = (i64::from(was.lost[from]), i64::from(is.lost[from]));
            if one == other && before != after {
                differences.push((one, after - before));
            } else if one != other {
                differences.push((one, -before));
                differences.push((other, after));
            }
        }
    }

    /// Adds what was noted, or takes it away again; what that costs.
    fn take(&mut self, sign: i64) -> f64 {
        let mut cost = 0.0;
        for &(cable, pairs) in &self.differences {
            let left = &mut self.left[cable as usize];
            let before = *left as f64 / self.unit.0;
            *left += sign * pairs;
            cost += self.price.of_left(*left as f64 / self.unit.0) - self.price.of_left(before);
        }
        cost
    }

    /// What more pairs without a legal way cost.
    fn more_illegal(&self, before: u32, after: u32) -> f64 {
        self.price.illegal * (f64::from(after) - f64::from(before)) / self.unit.0
    }

    /// An entry, or the level, of some pair whose way is not legal, if there is one.
    fn try_illegal(&mut self) {
        let switches = self.premises.graph.switches();
        let rows: Vec<usize> = (0..self.trees.len()).filter(|&row| self.marks[row].illegal > 0).collect();
        if rows.is_empty() {
            return;
        }
        let row = rows[self.below(rows.len())];
        let root = self.trees[row].root;
        let levels = &self.premises.levels[root as usize * switches..];
        let legal = |from: usize| self.marks[row].legal[from] >> levels[from] & 1 == 1;
        let sources: Vec<u32> = (0..switches as u32)
            .filter(|&from| !legal(from as usize) && self.premises.graph.hosts(from) > 0)
            .collect();
        let source = sources[self.below(sources.len())];
        if self.below(4) == 0 {
            return self.try_level(root as usize, source as usize);
        }
        let on_way: Vec<u32> =
            (0..switches as u32).filter(|&at| self.trees[row].leads_through(source, at)).collect();
        let switch = on_way[self.below(on_way.len())];
        self.try_entry(row, switch);
    }

    /// Points an entry elsewhere.
    fn try_entry(&mut self, row: usize, switch: u32) {
        let graph = self.premises.graph;
        let (switches, root) = (graph.switches(), self.trees[row].root);
        let ports = graph.outgoing(switch);
        let channel = ports[self.below(ports.len())];
        let there = graph.ends(channel).1;
        let tree = &self.trees[row];
        if switch == root || channel == tree.next[switch as usize] || tree.leads_through(there, switch) {
            return;
        }
        let behind = (0..switches).filter(|&from| tree.leads_through(from as u32, switch));
        let pairs: i64 = behind.map(|from| self.demand[row * switches + from]).sum();
        let patience = self.patience();
        let cost = self.load(row, switch, None, -pairs) + self.load(row, switch, Some(channel), pairs);
        let marks = &self.marks[row];
        let broken = u32::from(marks.left_by(&self.premises, switch, channel));
        let least = cost + self.more_illegal(marks.illegal, broken);
        if least <= patience + TOO_MUCH && self.look(row, switch, channel, patience - cost) {
            return;
        }
        self.load(row, switch, Some(channel), -pairs);
        self.load(row, switch, None, pairs);
    }

    /// Looks at a tree with another entry, and takes it if that does not cost too much.
    fn look(&mut self, row: usize, switch: u32, channel: u32, patience: f64) -> bool {
        let (mut tree, mut marks) = (std::mem::take(&mut self.other), self.others.pop().unwrap_or_default());
        tree.become_with(self.premises.graph, &self.trees[row], switch, channel);
        marks.look(&self.premises, &tree);
        self.looks += 1;
        self.differences.clear();
        let (old, was) = (&self.trees[row], &self.marks[row]);
        Self::differ(&mut self.differences, (old, was), (&tree, &marks));
        let cost = self.more_illegal(was.illegal, marks.illegal) + self.take(1);
        let taken = cost <= patience;
        if taken {
            std::mem::swap(&mut self.trees[row], &mut tree);
            std::mem::swap(&mut self.marks[row], &mut marks);
        } else {
            self.take(-1);
        }
        self.other = tree;
        self.others.push(marks);
        taken
    }

    /// Looks at trees again after their premises changed; whether that is taken.
    fn look_again(&mut self, rows: &[u32]) -> bool {
        self.differences.clear();
        self.looks += rows.len() as u64;
        let mut cost = 0.0;
        let mut others = std::mem::take(&mut self.others);
        others.resize_with(rows.len().max(others.len()), Marks::default);
        for (&row, marks) in rows.iter().zip(&mut others) {
            let (tree, was) = (&self.trees[row as usize], &self.marks[row as usize]);
            marks.look(&self.premises, tree);
            Self::differ(&mut self.differences, (tree, was), (tree, marks));
            cost += self.more_illegal(was.illegal, marks.illegal);
        }
        cost += self.take(1);
        let taken = cost <= self.patience();
        if taken {
            for (&row, marks) in rows.iter().zip(&mut others) {
                std::mem::swap(&mut self.marks[row as usize], marks);
            }
        } else {
            self.take(-1);
        }
        self.others = others;
        taken
    }

    /// Gives a pair another level.
    fn try_level(&mut self, one: usize, other: usize) {
        let switches = self.premises.graph.switches();
        if one == other || self.at[one].is_empty() || self.at[other].is_empty() {
            return;
        }
        let was = self.premises.levels[one * switches + other];
        let legal = self.common(one, other) & !(1 << was);
        // Levels in which it is not legal are only tried now and then.
        if legal == 0 && (self.premises.lanes == 1 || self.below(8) != 0) {
            return;
        }
        let level = self.one_of(if legal == 0 { self.premises.lanes & !(1 << was) } else { legal });
        self.level(one, other, level);
        let rows: Vec<u32> = self.at[one].iter().chain(&self.at[other]).copied().collect();
        if !self.look_again(&rows) {
            self.level(one, other, was);
        }
    }

    /// Exchanges two numbers next to each other in a lane, until a cable joins their switches.
    fn try_numbers(&mut self, rows: &[u32]) {
        let lane = self.below(self.orders.0.len());
        let place = loop {
            let place = self.below(self.premises.graph.switches() - 1);
            if self.orders.exchange(&mut self.premises, lane, place) {
                break place;
            }
        };
        if !self.look_again(rows) {
            self.orders.exchange(&mut self.premises, lane, place);
        }
    }

    /// Runs through all stages; whether all pairs have legal ways at the end.
    pub(super) fn run(&mut self, interrupt: &AtomicBool) -> bool {
        let rows: Vec<u32> = (0..self.trees.len() as u32).collect();
        let switches = self.premises.graph.switches();
        let (mut heat, mut moves) = (1.0, 0_u64);
        for stage in 0..STAGES {
            let hopeless = stage == HOPELESS && self.illegal() as usize > rows.len() / 8;
            if hopeless || interrupt.load(Ordering::Relaxed) {
                return false;
            }
            self.price = Price::at(stage, heat);
            while self.looks < self.request.looks * (stage + 1) / STAGES {
                moves += 1;
                let (one, other) = (self.below(switches), self.below(switches));
                match moves {
                    _ if moves.is_multiple_of(2 * rows.len() as u64) => self.try_numbers(&rows),
                    _ if moves.is_multiple_of(LEVELS) => self.try_level(one, other),
                    _ if moves.is_multiple_of(PRESSING) => self.try_illegal(),
                    _ => {
                        let row = self.below(rows.len());
                        self.try_entry(row, one as u32);
                    }
                }
            }
            heat *= COOLER;
        }
        self.illegal() == 0
    }

    /// What was found, for the destinations of a table.
    pub(super) fn found(&self, table: &Forwarding) -> Surviving {
        let levels = self.trees.iter().flat_map(|tree| {
            let switches = tree.next.len();
            self.premises.levels[tree.root as usize * switches..][..switches].iter().copied()
        });
        Surviving {
            table: table.replaced(self.trees.iter().flat_map(|tree| tree.next.iter().copied()).collect()),
            levels: levels.collect(),
            orders: self.orders.0.clone(),
            left: self.left.iter().map(|&pairs| pairs as u64).collect(),
        }
    }
}
