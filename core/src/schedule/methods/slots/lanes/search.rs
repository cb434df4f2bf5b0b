use super::{
    quadrants::Exchange,
    state::{Manner, State},
};
use crate::{
    schedule::Budget,
    traffic::{Purpose, draw, draw_below},
};

/// States that are kept of those at the same time.
const WIDTH: usize = 200;
/// The same in the first beam once the budget is spent.
const HURRIED: usize = 12;
/// Attempts from the beginning; later ones start from a state of the best schedule.
const FRESH: u64 = 5;

/// A search for short schedules of one exchange: beams, each of which keeps the most promising
/// partial schedules of every cycle, from the beginning and then from states of the best schedule.
pub(super) struct Search<'e, const LINES: usize> {
    exchange: &'e Exchange,
    seed: u64,
    attempts: u64,
    horizon: u16,
    manner: Manner,
    /// The states of the best schedule, in order.
    pub best: Vec<State<LINES>>,
    kept: Vec<State<LINES>>,
    layers: Vec<Vec<State<LINES>>>,
}

impl<'e, const LINES: usize> Search<'e, LINES> {
    /// With nothing found yet.
    pub(super) fn new(exchange: &'e Exchange, seed: u64) -> Self {
        let busiest =
            (0..exchange.lines as usize).map(|line| exchange.number(line) as u32).max().unwrap_or(0);
        let work = exchange.work[0].max(exchange.work[1]) / 2 + exchange.length * busiest;
        // Long enough for any beam to find room.
        let horizon = (4 * work + 4 * exchange.lines).min(u32::from(u16::MAX) / 2) as u16;
        let manner = Manner { seed, idle: 8, lost: 16, uneven: 1, near: 8, reach: 16, rigid: 2, noise: 32 };
        let (best, kept, layers) = (Vec::new(), Vec::new(), Vec::new());
        Self { exchange, seed, attempts: 0, horizon, manner, best, kept, layers }
    }

    /// When the last packet of the best schedule has arrived; `None` before there is one.
    pub(super) fn end(&self) -> Option<u16> {
        self.best.last().map(|state| state.last)
    }

    /// One more beam; whether it led to a schedule that is not worse. Four kept states take a move; the
    /// first beam is never broken off, but becomes narrow.
    pub(super) fn attempt(&mut self, budget: &mut Budget) -> bool {
        let count = self.attempts;
        self.attempts += 1;
        let random = |purpose, below: usize| {
            draw_below(self.seed, purpose, Purpose::Search, count, below as u32) as usize
        };
        let mut manner = self.manner;
        manner.seed = draw(self.seed, 0, Purpose::Search, count);
        if count > 0 && count.is_multiple_of(2) {
            manner.idle = [2, 8, 16, 32][random(1, 4)];
            manner.lost = [8, 12, 16, 24][random(2, 4)];
            manner.uneven = [0, 1, 2, 3][random(3, 4)];
            manner.noise = [16, 32, 48, 64][random(4, 4)];
            manner.near = [4, 8, 12, 16][random(7, 4)];
            manner.reach = [8, 12, 16, 20][random(8, 4)];
        }
        let cut = match self.best.len() {
            0 => 0,
            _ if count < FRESH => 0,
            // The end can seldom be better than the states long before it allow.
            states => random(5, states),
        };
        let first = self.best.is_empty();
        let from = match self.best.get(cut) {
            Some(state) => state.clone(),
            None => State::start(self.exchange),
        };
        let found = self.beam(from, &manner, first, budget);
        if let Some(last) = found {
            self.manner = manner;
            self.horizon = self.kept[last].last;
            let mut path = Vec::new();
            let mut at = last as u32;
            while let Some(state) = self.kept.get(at as usize) {
                path.push(state.clone());
                at = state.parent;
            }
            self.best.truncate(cut);
            self.best.extend(path.into_iter().rev());
        }
        found.is_some()
    }

    /// The complete schedule that is found first, as the number of its last state; at equal times the
    /// better one.
    fn beam(
        &mut self,
        mut from: State<LINES>,
        manner: &Manner,
        first: bool,
        budget: &mut Budget,
    ) -> Option<usize> {
        self.kept.clear();
        self.layers.iter_mut().for_each(Vec::clear);
        self.layers.resize_with(2 * (self.horizon as usize + 1), Vec::new);
        from.parent = u32::MAX;
        from.forget();
        let start = from.layer();
        self.layers.get_mut(start)?.push(from);
        for layer in start..self.layers.len() {
            let mut states = std::mem::take(&mut self.layers[layer]);
            if states.is_empty() {
                continue;
            }
            let over = budget.is_over();
            if over && !first {
                return None;
            }
            let width = if over { HURRIED } else { WIDTH };
            let keyed = states.iter().zip(0..).map(|(state, number)| (state.key(), number));
            let mut order: Vec<((i32, u64), u32)> = keyed.collect();
            // The best of those that are as good as equal.
            order.sort_unstable_by_key(|&((score, key), number)| (key, score, number));
            order.dedup_by_key(|entry| entry.0.1);
            order.sort_unstable();
            order.truncate(width);
            budget.spend(1 + order.len() as u64 / 4);
            for (_, index) in order {
                let number = self.kept.len() as u32;
                let state = &states[index as usize];
                self.kept.push(state.clone());
                if state.is_complete() {
                    return Some(number as usize);
                }
                let layers = &mut self.layers;
                state.expand(self.exchange, manner, self.horizon, &mut |next| {
                    next.parent = number;
                    layers[next.layer()].push(next.clone());
                });
            }
            states.clear();
            self.layers[layer] = states;
        }
        None
    }
}
