//! Annealing: exchanges of two ranks, or of a rank and a free place, on loads or on hops.

use super::{
    dice::Dice,
    loads,
    problem::{Finalists, Problem, Watch},
};
use crate::fabric::NodeId;

/// Nobody has the place.
const FREE: u32 = u32::MAX;
/// One, as energies and temperatures have it.
const ONE: i64 = 1 << 20;

/// Who has which place, and which places are near.
pub(super) struct Board<'a> {
    problem: &'a Problem<'a>,
    /// The place of every rank, and the rank of every place.
    place: Vec<u32>,
    pub(super) holder: Vec<u32>,
    pub(super) nodes: Vec<NodeId>,
    /// The places of every node.
    places: Vec<Vec<u32>>,
}

impl<'a> Board<'a> {
    pub(super) fn new(problem: &'a Problem<'a>, nodes: &[NodeId]) -> Self {
        let mut places = vec![Vec::new(); problem.ways.shape().nodes()];
        for (place, node) in problem.slots.iter().enumerate() {
            places[*node as usize].push(place as u32);
        }
        let mut holder = vec![FREE; problem.slots.len()];
        let mut place = Vec::with_capacity(nodes.len());
        for (rank, node) in nodes.iter().enumerate() {
            let free = places[*node as usize].iter().copied().find(|place| holder[*place as usize] == FREE);
            let free = free.unwrap_or_default();
            holder[free as usize] = rank as u32;
            place.push(free);
        }
        Self { problem, place, holder, nodes: nodes.to_vec(), places }
    }

    /// A place worth a try for a rank: next to a partner, next to its own, or anywhere.
    pub(super) fn target(&self, rank: u32, dice: &mut Dice) -> Option<u32> {
        let peers = self.problem.demand.peers(rank);
        let node = match dice.below(4) {
            0 | 1 if !peers.is_empty() => {
                let partner = self.nodes[peers[dice.below(peers.len())].rank as usize];
                let near = self.problem.ways.near(partner);
                near[dice.below(near.len())]
            }
            2 => {
                let near = self.problem.ways.near(self.nodes[rank as usize]);
                near[dice.below(near.len())]
            }
            _ => self.problem.slots[dice.below(self.problem.slots.len())],
        };
        let places = &self.places[node as usize];
        let place = *places.get(dice.below(places.len().max(1)))?;
        let there = self.problem.slots[place as usize];
        (!self.problem.ways.are_alike(there, self.nodes[rank as usize])).then_some(place)
    }

    pub(super) fn exchange(&mut self, rank: u32, target: u32) -> u32 {
        let other = self.holder[target as usize];
        let source = self.place[rank as usize];
        self.put(rank, target);
        self.holder[source as usize] = other;
        if other != FREE {
            self.put(other, source);
        }
        source
    }

    /// Visits every channel of what a rank exchanges with all others, or with all but one, with its units.
    fn each_way(&self, rank: u32, without: u32, visit: &mut impl FnMut(usize, u64)) {
        let node = self.nodes[rank as usize];
        for peer in self.problem.demand.peers(rank).iter().filter(|peer| peer.rank != without) {
            let there = self.nodes[peer.rank as usize];
            for (from, to, units) in [(node, there, peer.sent), (there, node, peer.received)] {
                if units > 0 {
                    self.problem.ways.each(from, to, |channel| visit(channel as usize, units));
                }
            }
        }
    }

    /// The same for two ranks that change places, if there are two.
    pub(super) fn each_way_of_both(&self, rank: u32, other: u32, mut visit: impl FnMut(usize, u64)) {
        self.each_way(rank, FREE, &mut visit);
        if other != FREE {
            self.each_way(other, rank, &mut visit);
        }
    }

    fn put(&mut self, rank: u32, place: u32) {
        self.place[rank as usize] = place;
        self.holder[place as usize] = rank;
        self.nodes[rank as usize] = self.problem.slots[place as usize];
    }
}

/// Powers of loads relative to a reference, as energies.
struct Powers {
    table: Vec<i64>,
    shift: u32,
}

impl Powers {
    fn new(reference: u64, power: u32) -> Self {
        let mut shift = 0;
        while reference >> shift > 1 << 14 {
            shift += 1;
        }
        let unit = (reference >> shift).max(1);
        let table = (0..=3 * unit)
            .map(|load| {
                // Fixed point with 24 bits behind the point.
                let base = u128::from((load << 24) / unit);
                let mut value = u128::from(1u32 << 24);
                for _ in 0..power {
                    value = (value * base) >> 24;
                }
                (value >> 4) as i64
            })
            .collect();
        Self { table, shift }
    }

    #[inline]
    fn of(&self, load: u64) -> i64 {
        self.table[((load >> self.shift) as usize).min(self.table.len() - 1)]
    }
}

struct Loaded {
    loads: Vec<u64>,
    powers: Powers,
    energy: i64,
    touched: u64,
}

impl Loaded {
    /// Adds (or takes away) what two ranks that change places exchange with all others, or one if there is no other.
    fn weigh_both(&mut self, board: &Board, rank: u32, other: u32, add: bool) {
        let Self { loads, powers, energy, touched } = self;
        board.each_way_of_both(rank, other, |channel, units| {
            let before = loads[channel];
            let after = if add { before + units } else { before - units };
            loads[channel] = after;
            *energy += powers.of(after) - powers.of(before);
            *touched += 1;
        });
    }

    fn refer(&mut self, fullest: u64, power: u32) {
        self.powers = Powers::new(fullest.max(1), power);
        self.energy = self.loads.iter().map(|load| self.powers.of(*load)).sum();
    }
}

/// Anneals the sum of powers of loads; tells `finalists` what is better than all before. What it spent.
#[expect(clippy::too_many_arguments, reason = "one call per round of the strategy")]
pub(super) fn loads(
    problem: &Problem,
    start: &[NodeId],
    dice: &mut Dice,
    effort: u64,
    power: u32,
    bound: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    let ranks = problem.demand.ranks();
    let mut board = Board::new(problem, start);
    let reserve = most_touched(problem);
    let loads = loads::channel_loads(problem.ways, problem.demand, start);
    let mut fullest = loads.iter().copied().max().unwrap_or(0);
    let mut state = Loaded { loads, powers: Powers::new(fullest.max(1), power), energy: 0, touched: 0 };
    state.refer(fullest, power);
    let mut hot = Vec::new();
    let (mut tries, mut accepted, mut looked) = (0u64, 0u64, 0u64);
    // From a fifth of a fullest channel down to a two-hundredth.
    let (warm, cold) = (ONE / 3, ONE / 128);
    let mut temperature = warm;
    let block = effort / 256 + 1;
    let mut next = block;
    while state.touched + reserve <= effort && !watch.stopped() {
        if tries >= looked {
            hot = hot_ranks(&board, &state.loads);
            state.touched += problem.demand.entries() as u64;
            looked = tries + 4 * ranks as u64;
        }
        tries += 1;
        state.touched += 1;
        while state.touched >= next {
            // Falls by the same factor in every block: (cold / warm)^(1 / 256), as a fraction.
            temperature = (temperature - temperature / 68).max(cold);
            next += block;
        }
        let rank = if hot.is_empty() || dice.below(2) == 0 {
            dice.below(ranks) as u32
        } else {
            hot[dice.below(hot.len())]
        };
        let Some(target) = board.target(rank, dice) else { continue };
        let other = board.holder[target as usize];
        let before = state.energy;
        state.weigh_both(&board, rank, other, false);
        let source = board.exchange(rank, target);
        state.weigh_both(&board, rank, other, true);
        let worse = state.energy - before;
        // A quarter of -log2 is about a third of -ln.
        if worse > 0 && worse > (temperature * dice.exponential()) >> 16 {
            state.weigh_both(&board, rank, other, false);
            board.exchange(rank, source);
            state.weigh_both(&board, rank, other, true);
            continue;
        }
        accepted += 1;
        if worse >= 0 && !accepted.is_multiple_of(16) {
            continue;
        }
        // A channel above the reference has an energy above one.
        if state.energy <= ONE * i64::from(u16::MAX) && worse < 0 || accepted.is_multiple_of(16) {
            let score = loads::score(&state.loads);
            state.touched += state.loads.len() as u64 / 8;
            finalists.now = watch.done + 0.4 / 6.0 * state.touched as f64 / effort.max(1) as f64;
            finalists.offer(problem, score, &board.nodes);
            if score.fullest < fullest {
                fullest = score.fullest;
                state.refer(fullest, power);
                if fullest <= bound {
                    break;
                }
            }
        }
    }
    state.touched
}

/// What a try can touch: two ranks taken away, put elsewhere and back, and two looks at all.
fn most_touched(problem: &Problem) -> u64 {
    16 * problem.demand.most_peers() * problem.ways.reach()
        + problem.demand.entries() as u64
        + problem.ways.numbers() as u64 / 8
        + 1
}

/// Ranks whose traffic uses a channel within a fiftieth of the fullest.
fn hot_ranks(board: &Board, loads: &[u64]) -> Vec<u32> {
    let fullest = loads.iter().copied().max().unwrap_or(0);
    let limit = fullest - fullest / 50;
    let problem = board.problem;
    let mut hot = Vec::new();
    for rank in 0..problem.demand.ranks() as u32 {
        let mut found = false;
        for peer in problem.demand.peers(rank) {
            let (here, there) = (board.nodes[rank as usize], board.nodes[peer.rank as usize]);
            let mut visit = |channel: u32| found |= loads[channel as usize] >= limit;
            if peer.sent > 0 {
                problem.ways.each(here, there, &mut visit);
            }
            if peer.received > 0 {
                problem.ways.each(there, here, &mut visit);
            }
            if found {
                hot.push(rank);
                break;
            }
        }
    }
    hot
}

/// How many more hop-bytes are accepted: less and less, from twice what a rank sends to a partner.
pub(super) struct Heat {
    temperature: i64,
    cold: i64,
    block: u64,
    next: u64,
}

impl Heat {
    pub(super) fn new(problem: &Problem, effort: u64) -> Self {
        let ranks = problem.demand.ranks();
        let sent = (0..ranks as u32).map(|rank| problem.demand.totals(rank).0);
        let mean = sent.sum::<u64>() / ranks as u64;
        let peers = (problem.demand.entries() / ranks).max(1) as u64;
        let unit = (mean / peers).max(1) as i64;
        let block = effort / 256 + 1;
        Self { temperature: (2 * unit) << 8, cold: (unit / 16) << 8, block, next: block }
    }

    /// Falls with what is spent of the effort.
    pub(super) fn cool(&mut self, touched: u64) {
        while touched >= self.next {
            self.temperature = (self.temperature - self.temperature / 72).max(self.cold);
            self.next += self.block;
        }
    }

    pub(super) fn accepts(&self, worse: i64, dice: &mut Dice) -> bool {
        worse <= 0 || i128::from(worse) << 24 <= i128::from(self.temperature) * i128::from(dice.exponential())
    }
}

/// Anneals hop-bytes. What it spent.
pub(super) fn hops(
    problem: &Problem,
    start: &[NodeId],
    dice: &mut Dice,
    effort: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    let ways = problem.ways;
    let ranks = problem.demand.ranks();
    let mut board = Board::new(problem, start);
    let cost = |board: &Board, rank: u32, without: u32| -> i64 {
        let node = board.nodes[rank as usize];
        let peers = problem.demand.peers(rank).iter().filter(|peer| peer.rank != without);
        peers
            .map(|peer| {
                let there = board.nodes[peer.rank as usize];
                peer.sent as i64 * i64::from(ways.length(node, there))
                    + peer.received as i64 * i64::from(ways.length(there, node))
            })
            .sum()
    };
    let peers = (problem.demand.entries() / ranks).max(1) as u64;
    let mut heat = Heat::new(problem, effort);
    let mut touched = 0;
    let mut hops: i64 = (0..ranks as u32).map(|rank| cost(&board, rank, FREE)).sum::<i64>() / 2;
    let mut least = (hops, board.nodes.clone());
    let reserve = 2 + 4 * problem.demand.most_peers();
    while touched + reserve <= effort && !watch.stopped() {
        touched += 2;
        heat.cool(touched);
        let rank = dice.below(ranks) as u32;
        let Some(target) = board.target(rank, dice) else { continue };
        let other = board.holder[target as usize];
        let of_both = |board: &Board| {
            cost(board, rank, other) + if other == FREE { 0 } else { cost(board, other, rank) }
        };
        let before = of_both(&board);
        let source = board.exchange(rank, target);
        let worse = of_both(&board) - before;
        touched += 2 * (problem.demand.peers(rank).len() as u64 + peers);
        if !heat.accepts(worse, dice) {
            board.exchange(rank, source);
            continue;
        }
        hops += worse;
        if hops < least.0 {
            least.0 = hops;
            least.1.clone_from(&board.nodes);
        }
    }
    let loads = loads::channel_loads(problem.ways, problem.demand, &least.1);
    finalists.offer(problem, loads::score(&loads), &least.1);
    touched
}
