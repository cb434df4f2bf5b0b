//! Hop-bytes as a quadratic assignment: robust tabu search (Taillard 1991) within a population whose members are crossed.

use super::{
    dice::Dice,
    loads,
    problem::{Finalists, Problem, Watch},
};
use crate::{
    bits::{Vector, VectorWork, with_longest},
    fabric::NodeId,
};
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// Places up to which all exchanges of two are kept.
pub(super) const MOST_PLACES: usize = 256;
/// Members of a population, and exchanges of one of them per place.
const MEMBERS: usize = 20;
const LENGTH: u64 = 30;
/// Children without a gain, per member, after which a population begins anew.
const PATIENCE: usize = 3;
/// Populations, and parts of what the best one cost to find, without a gain, after which a search ends.
const POPULATIONS: u32 = 4;
const LONGER: u64 = 6;

/// Whole numbers of the matrices: 32 bits where sums fit.
trait Number:
    Copy
    + Default
    + Ord
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + SubAssign
    + Into<i64>
{
    const MOST: Self;
    fn of(value: i64) -> Self;
}

impl Number for i32 {
    const MOST: Self = Self::MAX;
    fn of(value: i64) -> Self {
        value as Self
    }
}

impl Number for i64 {
    const MOST: Self = Self::MAX;
    fn of(value: i64) -> Self {
        value
    }
}

/// The problem: units both ways between ranks, hops between places. Ranks without traffic hold the places left over.
struct Matrices<N> {
    ranks: usize,
    places: usize,
    units: Vec<N>,
    hops: Vec<N>,
}

/// The state of a search: the place of every rank, and what exchanges of two would cost.
struct State<N> {
    place: Vec<u32>,
    cost: i64,
    /// What a rank costs at a place, by rank and place.
    at: Vec<N>,
    /// What the exchange of two ranks adds, by the lower and the higher one.
    change: Vec<N>,
    /// Until when a rank may not come back to a place.
    tabu: Vec<u32>,
    /// Differences of rows for the exchange done last.
    units: Vec<N>,
    hops: Vec<N>,
    along: Vec<N>,
}

/// Whether the matrices of this problem are small, and hops are as many there as back.
pub(super) fn applies(problem: &Problem) -> bool {
    let slots = problem.slots;
    let length = |one: NodeId, other: NodeId| problem.ways.length(one, other);
    (2..=MOST_PLACES).contains(&slots.len())
        && slots.iter().all(|&one| slots.iter().all(|&other| length(one, other) == length(other, one)))
}

/// Searches from the best placements known and from random ones, and tells `finalists` the best; what it spent.
pub(super) fn search(
    problem: &Problem,
    dice: &mut Dice,
    effort: u64,
    bound: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    let divisor = problem.demand.divisor();
    let ranks = 0..problem.demand.ranks() as u32;
    let busiest = ranks.map(|rank| problem.demand.totals(rank)).map(|(sent, received)| sent + received).max();
    let slots = problem.slots;
    let hops = slots.iter().flat_map(|&one| slots.iter().map(move |&other| problem.ways.length(one, other)));
    let farthest = u64::from(hops.max().unwrap_or(0));
    // Every number is at most six times what a rank can cost at a place.
    if (busiest.unwrap_or(0) / divisor).saturating_mul(6 * farthest) < i32::MAX as u64 {
        Population::<i32>::new(problem).run(problem, dice, effort, bound, watch, finalists)
    } else {
        Population::<i64>::new(problem).run(problem, dice, effort, bound, watch, finalists)
    }
}

impl<N: Number> Matrices<N> {
    fn new(problem: &Problem) -> Self {
        let (ranks, places) = (problem.demand.ranks(), problem.slots.len());
        let divisor = problem.demand.divisor();
        let mut units = vec![N::default(); places * places];
        for rank in 0..ranks {
            for peer in problem.demand.peers(rank as u32) {
                let both = (peer.sent + peer.received) / divisor;
                units[rank * places + peer.rank as usize] = N::of(both as i64);
            }
        }
        let hops = problem.slots.iter().flat_map(|&one| {
            problem.slots.iter().map(move |&other| N::of(i64::from(problem.ways.length(one, other))))
        });
        Self { ranks, places, units, hops: hops.collect() }
    }

    #[inline(always)]
    fn row(&self, rank: usize) -> &[N] {
        &self.units[rank * self.places..][..self.places]
    }

    #[inline(always)]
    fn hops_from(&self, place: u32) -> &[N] {
        &self.hops[place as usize * self.places..][..self.places]
    }
}

impl<N: Number> State<N> {
    fn new(matrices: &Matrices<N>) -> Self {
        let places = matrices.places;
        let none = vec![N::default(); places];
        Self {
            place: (0..places as u32).collect(),
            cost: 0,
            at: vec![N::default(); places * places],
            change: vec![N::default(); places * places],
            tabu: vec![0; places * places],
            units: none.clone(),
            hops: none.clone(),
            along: none,
        }
    }

    /// Begins at a placement.
    #[inline(always)]
    fn begin(&mut self, matrices: &Matrices<N>, place: &[u32]) {
        let places = matrices.places;
        self.place.copy_from_slice(place);
        self.tabu.fill(0);
        self.at.fill(N::default());
        let mut twice = 0;
        for rank in 0..matrices.ranks {
            let costs = &mut self.at[rank * places..][..places];
            for (peer, units) in matrices.row(rank).iter().enumerate() {
                if *units > N::default() {
                    let hops = matrices.hops_from(place[peer]);
                    costs.iter_mut().zip(hops).for_each(|(cost, hops)| *cost += *units * *hops);
                }
            }
            twice += costs[place[rank] as usize].into();
        }
        self.cost = twice / 2;
        for one in 0..matrices.ranks {
            for other in one + 1..places {
                self.count(matrices, one, other);
            }
        }
    }

    /// Counts what an exchange adds anew.
    #[inline(always)]
    fn count(&mut self, matrices: &Matrices<N>, one: usize, other: usize) {
        let places = matrices.places;
        let (here, there) = (self.place[one] as usize, self.place[other] as usize);
        let between = matrices.units[one * places + other] * matrices.hops[here * places + there];
        self.change[one * places + other] =
            self.at[one * places + there] + self.at[other * places + here] + between + between
                - self.at[one * places + here]
                - self.at[other * places + there];
    }

    /// The exchange that adds least, of those that bring no rank back too soon or that are better than all before.
    #[inline(always)]
    fn choose(&self, matrices: &Matrices<N>, now: u32, least: i64) -> Option<(usize, usize)> {
        let places = matrices.places;
        let mut best = N::MOST;
        let mut chosen = None;
        for one in 0..matrices.ranks {
            let row = &self.change[one * places..][one + 1..places];
            // Most rows have nothing that would be chosen.
            if row.iter().fold(N::MOST, |least, change| least.min(*change)) >= best {
                continue;
            }
            for (offset, change) in row.iter().enumerate() {
                if *change >= best {
                    continue;
                }
                let other = one + 1 + offset;
                let (here, there) = (self.place[one] as usize, self.place[other] as usize);
                let free = self.tabu[one * places + there] < now || self.tabu[other * places + here] < now;
                if free || self.cost + (*change).into() < least {
                    best = *change;
                    chosen = Some((one, other));
                }
            }
        }
        chosen
    }

    /// Exchanges two ranks and brings all numbers up to date.
    #[inline(always)]
    fn exchange(&mut self, matrices: &Matrices<N>, one: usize, other: usize) {
        let places = matrices.places;
        self.cost += self.change[one * places + other].into();
        self.place.swap(one, other);
        let (hops, back) = (matrices.hops_from(self.place[one]), matrices.hops_from(self.place[other]));
        for place in 0..places {
            self.along[place] = hops[place] - back[place];
        }
        for rank in 0..places {
            self.units[rank] = matrices.units[one * places + rank] - matrices.units[other * places + rank];
            self.hops[rank] = self.along[self.place[rank] as usize];
        }
        for rank in 0..places {
            let units = self.units[rank];
            if units != N::default() {
                let row = &mut self.at[rank * places..][..places];
                row.iter_mut().zip(&self.along).for_each(|(cost, along)| *cost += units * *along);
            }
        }
        for rank in 0..matrices.ranks {
            let (units, hops) = (self.units[rank], self.hops[rank]);
            let row = &mut self.change[rank * places..][rank + 1..places];
            let others = self.units[rank + 1..].iter().zip(&self.hops[rank + 1..]);
            row.iter_mut().zip(others).for_each(|(change, (u, h))| *change -= (units - *u) * (hops - *h));
        }
        for moved in [one, other] {
            for rank in (0..places).filter(|rank| *rank != moved) {
                if rank.min(moved) < matrices.ranks {
                    self.count(matrices, rank.min(moved), rank.max(moved));
                }
            }
        }
    }
}

/// One tabu search, compiled for the instructions of the processor.
struct Improve<'a, 'w, N> {
    matrices: &'a Matrices<N>,
    state: &'a mut State<N>,
    /// Where it begins; becomes the best one seen.
    place: &'a mut [u32],
    dice: &'a mut Dice,
    watch: &'a mut Watch<'w>,
    /// Exchanges that it may do.
    length: u64,
    /// What the best one costs, and the exchanges done.
    least: &'a mut i64,
    steps: &'a mut u64,
}

impl<N: Number> VectorWork for Improve<'_, '_, N> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { matrices, state, place, dice, watch, length, least, steps } = self;
        let places = matrices.places;
        state.begin(matrices, place);
        *least = state.cost;
        for now in 1..=length {
            if watch.stopped() {
                break;
            }
            *steps = now;
            let Some((one, other)) = state.choose(matrices, now as u32, *least) else { continue };
            for rank in [one, other] {
                let back = rank * places + state.place[rank] as usize;
                state.tabu[back] = now as u32 + (places * 9 / 10 + dice.below(places / 5 + 4)) as u32;
            }
            state.exchange(matrices, one, other);
            if state.cost < *least {
                *least = state.cost;
                place.copy_from_slice(&state.place);
            }
        }
    }
}

struct Population<N> {
    matrices: Matrices<N>,
    state: State<N>,
    members: Vec<(i64, Vec<u32>)>,
    spent: u64,
}

impl<N: Number> Population<N> {
    fn new(problem: &Problem) -> Self {
        let matrices = Matrices::new(problem);
        let state = State::new(&matrices);
        Self { matrices, state, members: Vec::new(), spent: 0 }
    }

    fn run(
        mut self,
        problem: &Problem,
        dice: &mut Dice,
        effort: u64,
        bound: u64,
        watch: &mut Watch,
        finalists: &mut Finalists,
    ) -> u64 {
        let places = self.matrices.places;
        let mut starts: Vec<Vec<u32>> =
            finalists.best.iter().rev().map(|(_, nodes)| self.places_of(problem, nodes)).collect();
        let begin = watch.done;
        let (mut best, mut stale) = (finalists.best[0].0.hops, 0);
        let (mut populations, mut found) = (0, 0);
        while self.spent + self.each() * (places as u64) < effort && best > bound && !watch.stopped() {
            let mut place = match starts.pop() {
                Some(start) => start,
                None if self.members.len() < MEMBERS => {
                    let mut place: Vec<u32> = (0..places as u32).collect();
                    dice.shuffle(&mut place);
                    place
                }
                None => self.child(dice),
            };
            let cost = self.improve(&mut place, dice, effort, watch);
            let hops = cost as u64 * problem.demand.divisor();
            finalists.now = begin + (1.0 - begin) * self.spent as f64 / effort as f64;
            watch.done = finalists.now;
            if hops < best {
                (populations, found) = (0, self.spent);
            }
            if hops <= best {
                best = hops;
                let nodes: Vec<NodeId> =
                    place[..self.matrices.ranks].iter().map(|place| problem.slots[*place as usize]).collect();
                let loads = loads::channel_loads(problem.ways, problem.demand, &nodes);
                finalists.offer(problem, loads::score(&loads), &nodes);
            }
            stale = if self.join(cost, place) { 0 } else { stale + 1 };
            if stale > PATIENCE * MEMBERS {
                // All are alike.
                stale = 0;
                self.members.clear();
                populations += 1;
                if populations >= POPULATIONS && self.spent >= LONGER * found {
                    break;
                }
            }
        }
        self.spent
    }

    /// What an exchange costs: a step along a row goes over several numbers at once.
    fn each(&self) -> u64 {
        let places = self.matrices.places as u64;
        places * places / 24 + 2 * places
    }

    /// The places of a placement; ranks without traffic get those left over.
    fn places_of(&self, problem: &Problem, nodes: &[NodeId]) -> Vec<u32> {
        let mut taken = vec![false; self.matrices.places];
        let mut place: Vec<u32> = Vec::with_capacity(taken.len());
        for node in nodes {
            let free = (0..taken.len()).find(|place| problem.slots[*place] == *node && !taken[*place]);
            let free = free.unwrap_or_default();
            taken[free] = true;
            place.push(free as u32);
        }
        place.extend((0..taken.len() as u32).filter(|place| !taken[*place as usize]));
        place
    }

    /// Tabu search from a placement, which becomes the best one seen; what that costs.
    fn improve(&mut self, place: &mut [u32], dice: &mut Dice, effort: u64, watch: &mut Watch) -> i64 {
        let places = self.matrices.places;
        let each = self.each();
        self.spent += each * places as u64;
        let most = effort.saturating_sub(self.spent) / each;
        let (mut least, mut steps) = (0, 0);
        with_longest(Improve {
            matrices: &self.matrices,
            state: &mut self.state,
            place,
            dice,
            watch,
            length: most.min(LENGTH * places as u64),
            least: &mut least,
            steps: &mut steps,
        });
        self.spent += each * steps;
        least
    }

    /// A placement with what two members have in common, and of the rest what one of them has.
    fn child(&self, dice: &mut Dice) -> Vec<u32> {
        let count = self.members.len();
        let one = dice.below(count);
        let other = (one + 1 + dice.below(count - 1)) % count;
        let (one, other) = (&self.members[one].1, &self.members[other].1);
        let places = one.len();
        let none = u32::MAX;
        let mut child = vec![none; places];
        let mut taken = vec![false; places];
        for rank in (0..places).filter(|rank| one[*rank] == other[*rank]) {
            child[rank] = one[rank];
            taken[one[rank] as usize] = true;
        }
        let mut order: Vec<usize> = (0..places).filter(|rank| child[*rank] == none).collect();
        dice.shuffle(&mut order);
        for rank in order {
            let mut both = [one[rank], other[rank]];
            dice.shuffle(&mut both);
            if let Some(place) = both.into_iter().find(|place| !taken[*place as usize]) {
                child[rank] = place;
                taken[place as usize] = true;
            }
        }
        let mut left: Vec<u32> = (0..places as u32).filter(|place| !taken[*place as usize]).collect();
        dice.shuffle(&mut left);
        child.iter_mut().filter(|place| **place == none).zip(left).for_each(|(place, free)| *place = free);
        child
    }

    /// Takes a placement in, for the worst one; not if one that costs as much is almost the same.
    fn join(&mut self, cost: i64, place: Vec<u32>) -> bool {
        let ranks = self.matrices.ranks;
        let apart = |other: &[u32]| (0..ranks).filter(|rank| other[*rank] != place[*rank]).count();
        if self.members.iter().any(|(other, placed)| *other == cost && apart(placed) * 20 < ranks) {
            return false;
        }
        if self.members.len() >= MEMBERS {
            let worst = (0..self.members.len()).max_by_key(|at| self.members[*at].0).unwrap_or(0);
            if self.members[worst].0 <= cost {
                return false;
            }
            self.members.swap_remove(worst);
        }
        self.members.push((cost, place));
        true
    }
}
