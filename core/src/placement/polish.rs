//! Fewer hop-bytes of a placement whose fullest channel cannot be lower.

use super::{
    Score,
    anneal::{Board, Heat},
    dice::Dice,
    loads,
    problem::{Finalists, Problem, Watch},
};
use crate::fabric::NodeId;

/// What a unit above the limit costs, in hops of a unit: placements beyond it may be passed, and are left again.
const DETOUR: u64 = 4;

/// Loads of channels, their units above a limit, and how many channels are at the limit.
struct Bounded {
    loads: Vec<u64>,
    limit: u64,
    excess: u64,
    full: u32,
    hops: u64,
    touched: u64,
}

impl Bounded {
    fn new(loads: Vec<u64>, score: Score) -> Self {
        let full = loads.iter().filter(|load| **load == score.fullest).count() as u32;
        Self { loads, limit: score.fullest, excess: 0, full, hops: score.hops, touched: 0 }
    }

    /// Adds (or takes away) what two ranks that change places exchange with all others, or one if there is no other.
    fn weigh_both(&mut self, board: &Board, rank: u32, other: u32, add: bool) {
        board.each_way_of_both(rank, other, |channel, units| self.change(channel, units, add));
    }

    fn change(&mut self, channel: usize, units: u64, add: bool) {
        let limit = self.limit;
        let load = &mut self.loads[channel];
        let before = *load;
        *load = if add { before + units } else { before - units };
        self.hops = if add { self.hops + units } else { self.hops - units };
        self.excess = self.excess + load.saturating_sub(limit) - before.saturating_sub(limit);
        self.full = self.full + u32::from(*load == limit) - u32::from(before == limit);
        self.touched += 1;
    }

    fn cost(&self) -> i64 {
        (self.hops + DETOUR * self.excess) as i64
    }
}

/// Anneals hop-bytes and units above the fullest channel of the start; tells `finalists` the best placement that
/// has none of these, and no more channels that are as full. What it spent.
pub(super) fn search(
    problem: &Problem,
    start: &[NodeId],
    dice: &mut Dice,
    effort: u64,
    watch: &mut Watch,
    finalists: &mut Finalists,
) -> u64 {
    let ranks = problem.demand.ranks();
    let mut board = Board::new(problem, start);
    let loads = loads::channel_loads(problem.ways, problem.demand, start);
    let score = loads::score(&loads);
    let mut state = Bounded::new(loads, score);
    let mut best = (score, start.to_vec());
    let reserve = 16 * problem.demand.most_peers() * problem.ways.reach() + 1;
    let mut heat = Heat::new(problem, effort);
    while state.touched + reserve <= effort && !watch.stopped() {
        state.touched += 1;
        heat.cool(state.touched);
        let rank = dice.below(ranks) as u32;
        let Some(target) = board.target(rank, dice) else { continue };
        let other = board.holder[target as usize];
        let before = state.cost();
        state.weigh_both(&board, rank, other, false);
        let source = board.exchange(rank, target);
        state.weigh_both(&board, rank, other, true);
        let worse = state.cost() - before;
        if !heat.accepts(worse, dice) {
            state.weigh_both(&board, rank, other, false);
            board.exchange(rank, source);
            state.weigh_both(&board, rank, other, true);
            continue;
        }
        if state.excess == 0 && (state.full, state.hops) < (best.0.count, best.0.hops) {
            best.0 = Score { fullest: state.limit, count: state.full, hops: state.hops };
            best.1.clone_from(&board.nodes);
        }
    }
    finalists.offer(problem, best.0, &best.1);
    state.touched
}
