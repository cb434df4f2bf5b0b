//! The ways to one destination: in which lanes they are legal, and what their backup ports leave.

use super::super::NO_CHANNEL;
use crate::fabric::Graph;

/// Lanes, as the bits of a number.
pub(super) type Lanes = u8;
/// Lanes that pairs may have.
pub(super) const LANES: usize = Lanes::BITS as usize;
/// Pairs of hosts by lane.
type Counts = [u16; LANES];

/// What changes of numbers change: channels that rise, and levels of pairs of switches.
pub(super) struct Premises<'a> {
    pub graph: &'a Graph,
    /// By channel, the lanes in which it leads to a switch of a higher number.
    pub rise: Vec<Lanes>,
    /// By `switch * switches + other switch`, the same there and back.
    pub levels: Vec<u8>,
    /// All lanes.
    pub lanes: Lanes,
}

/// The ways to a destination.
#[derive(Clone, Default)]
pub(super) struct Tree {
    pub root: u32,
    /// Channel by switch.
    pub next: Vec<u32>,
    /// Switches but the root, each behind the one it forwards to.
    order: Vec<u32>,
    /// The switches on the way from each, both ends included, as bits.
    way: Vec<u128>,
}

impl Tree {
    /// The tree of a row of a table; `None` if some switch has no way.
    pub(super) fn new(graph: &Graph, root: u32, row: &[u32]) -> Option<Self> {
        let mut tree = Self { root, next: row.to_vec(), order: Vec::new(), way: vec![0; graph.switches()] };
        let leads = |from: u32| {
            let mut at = from;
            for _ in row {
                if at == root {
                    return true;
                }
                match row[at as usize] {
                    NO_CHANNEL => return false,
                    channel => at = graph.ends(channel).1,
                }
            }
            at == root
        };
        (0..graph.switches() as u32).all(leads).then(|| {
            tree.arrange(graph);
            tree
        })
    }

    /// Takes a tree over with another channel at a switch.
    pub(super) fn become_with(&mut self, graph: &Graph, other: &Self, switch: u32, channel: u32) {
        self.clone_from(other);
        self.next[switch as usize] = channel;
        self.arrange(graph);
    }

    /// Whether the way from a switch leads through another one.
    pub(super) fn leads_through(&self, from: u32, switch: u32) -> bool {
        self.way[from as usize] >> switch & 1 == 1
    }

    fn arrange(&mut self, graph: &Graph) {
        self.order.clear();
        self.way.fill(0);
        self.way[self.root as usize] = 1 << self.root;
        let mut waiting = [0; 128];
        for switch in 0..graph.switches() as u32 {
            let (mut at, mut count) = (switch, 0);
            while self.way[at as usize] == 0 {
                waiting[count] = at;
                count += 1;
                at = graph.ends(self.next[at as usize]).1;
            }
            for &from in waiting[..count].iter().rev() {
                self.way[from as usize] = self.way[at as usize] | 1 << from;
                self.order.push(from);
                at = from;
            }
        }
    }
}

/// What is known of a tree.
#[derive(Clone, Default)]
pub(super) struct Marks {
    /// Lanes in which the way from a switch is legal, and those in which it also rises from the beginning.
    pub legal: Vec<Lanes>,
    rising: Vec<Lanes>,
    /// Pairs that the best backup port of a switch leaves without a legal way.
    pub lost: Vec<u16>,
    /// Pairs whose way is not legal in their lane.
    pub illegal: u32,
    /// Other pairs through every switch by lane, those whose numbers fell until there and those whose numbers rose
    /// before, and the lanes of both.
    counts: Vec<[Counts; 2]>,
    used: Vec<[Lanes; 2]>,
}

impl Marks {
    /// Looks at a tree.
    pub(super) fn look(&mut self, premises: &Premises, tree: &Tree) {
        let switches = premises.graph.switches();
        self.legal.resize(switches, 0);
        self.rising.resize(switches, 0);
        self.lost.resize(switches, 0);
        self.counts.resize(switches, [[0; LANES]; 2]);
        self.used.resize(switches, [0; 2]);
        self.find_legal(premises, tree);
        self.count(premises, tree);
        for &switch in &tree.order {
            self.lost[switch as usize] = self.left_by_backup(premises, tree, switch);
        }
    }

    /// Lanes of all ways, and what every switch sends itself.
    fn find_legal(&mut self, premises: &Premises, tree: &Tree) {
        let graph = premises.graph;
        let (root, switches) = (tree.root as usize, graph.switches());
        let levels = &premises.levels[root * switches..][..switches];
        (self.legal[root], self.rising[root], self.lost[root]) = (premises.lanes, premises.lanes, 0);
        (self.counts[root], self.used[root]) = ([[0; LANES]; 2], [0; 2]);
        self.illegal = 0;
        for &switch in &tree.order {
            let at = switch as usize;
            let channel = tree.next[at];
            let there = graph.ends(channel).1 as usize;
            let rise = premises.rise[channel as usize];
            self.rising[at] = rise & self.rising[there];
            self.legal[at] = self.rising[at] | !rise & self.legal[there];
            let (level, hosts) = (usize::from(levels[at]) % LANES, graph.hosts(switch));
            (self.counts[at], self.used[at]) = ([[0; LANES]; 2], [0; 2]);
            if self.legal[at] >> level & 1 == 0 {
                self.illegal += hosts;
            } else if hosts > 0 {
                self.counts[at][0][level] = hosts as u16;
                self.used[at][0] = 1 << level;
            }
        }
    }

    /// Pairs through a switch that no other port of it serves in their lanes: the fewest.
    fn left_by_backup(&self, premises: &Premises, tree: &Tree, switch: u32) -> u16 {
        if self.used[switch as usize] == [0; 2] {
            return 0;
        }
        let mut fewest: Option<u16> = None;
        for &channel in premises.graph.outgoing(switch) {
            let there = premises.graph.ends(channel).1;
            if channel == tree.next[switch as usize] || tree.leads_through(there, switch) {
                continue;
            }
            let left = self.left_by(premises, switch, channel);
            if left == 0 {
                return 0;
            }
            fewest = Some(fewest.map_or(left, |fewest| fewest.min(left)));
        }
        fewest.unwrap_or_else(|| self.counts[switch as usize].iter().flatten().sum())
    }

    /// Pairs through a switch that one of its ports does not serve in their lanes.
    pub(super) fn left_by(&self, premises: &Premises, switch: u32, channel: u32) -> u16 {
        let there = premises.graph.ends(channel).1 as usize;
        let rise = premises.rise[channel as usize];
        let up = rise & self.rising[there];
        let any = up | !rise & self.legal[there];
        let ([falling, rising], [fell, rose]) = (self.used[switch as usize], &self.counts[switch as usize]);
        sum(fell, falling & !any) + sum(rose, rising & !up)
    }

    /// Adds up what comes through every switch.
    fn count(&mut self, premises: &Premises, tree: &Tree) {
        for &switch in tree.order.iter().rev() {
            let at = switch as usize;
            let channel = tree.next[at];
            let there = premises.graph.ends(channel).1 as usize;
            let rise = premises.rise[channel as usize];
            let spread = &SPREAD[usize::from(rise)];
            let ([falling, rising], [fell, rose]) = (self.counts[at], self.used[at]);
            let [to_falling, to_rising] = &mut self.counts[there];
            for lane in 0..LANES {
                let turned = falling[lane] & spread[lane];
                to_rising[lane] += rising[lane] + turned;
                to_falling[lane] += falling[lane] - turned;
            }
            self.used[there][0] |= fell & !rise;
            self.used[there][1] |= rose | fell & rise;
        }
    }
}

/// The pairs of some lanes.
fn sum(counts: &Counts, mut lanes: Lanes) -> u16 {
    let mut pairs = 0;
    while lanes != 0 {
        pairs += counts[lanes.trailing_zeros() as usize % LANES];
        lanes &= lanes - 1;
    }
    pairs
}

/// All bits of the counts of some lanes.
const SPREAD: [Counts; 1 << LANES] = {
    let mut spread = [[0; LANES]; 1 << LANES];
    let mut lanes = 0;
    while lanes < spread.len() {
        let mut lane = 0;
        while lane < LANES {
            if lanes >> lane & 1 == 1 {
                spread[lanes][lane] = u16::MAX;
            }
            lane += 1;
        }
        lanes += 1;
    }
    spread
};
