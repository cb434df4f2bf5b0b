use super::choices::Pair;
use super::{Bound, Choices, Program, System, TableError};
use crate::fabric::NodeId;
use crate::traffic::{Purpose, draw};

/// Work of one search for the bound, in hops of routes looked at.
const WORK: u64 = 12_000_000;
/// Work spent on evenness once the largest load is settled.
const POLISH_WORK: u64 = 80_000;

/// A balanced table: every pair picks, against a convex cost of the loads, the best of its legal
/// shortest routes; pairs are ripped up and routed again until the largest load meets the bound or
/// the work is spent. Returns the headers and the bound.
///
/// The cost of a load l is `l^p`: p = 8 first, then 32 and 128, which press on the largest load
/// alone; when that stalls a few pairs are re-routed at random. A last pass lowers the fourth moment
/// at unchanged largest load.
pub(crate) fn headers(
    system: &System,
    traffic: Option<&[u64]>,
    seed: u64,
    effort: u32,
    keep_going: &mut dyn FnMut(f64) -> bool,
) -> Result<(Vec<u32>, Bound), TableError> {
    if traffic.is_none()
        && let Some(headers) = super::rings::headers(system)
    {
        return Ok((headers, Bound::closed_form(system)));
    }
    let mut choices = Choices::new(system).all_served()?;
    let plain = choices.uniform && traffic.is_none();
    let mut bound = if plain {
        Bound::closed_form(system)
    } else {
        Bound { numerator: 0, denominator: 1, proof: "dual" }
    };
    let mut search = Search::new(system, &mut choices, traffic, seed, u64::from(effort.max(1)));
    search.place_all();
    search.sweep_at(8, 1, bound.ceil(), keep_going)?;
    if search.max_load() > bound.ceil() {
        let mut prover = Prover { program: Program::new(system, search.choices, traffic), plain, bound };
        search.improve(&mut prover, keep_going)?;
        bound = prover.bound;
    }
    search.polish(bound.ceil(), keep_going)?;
    Ok((choices.chosen_headers(), bound))
}

/// Raises the bound from the loads of ever better tables.
struct Prover {
    program: Program,
    plain: bool,
    bound: Bound,
}

impl Prover {
    /// The least load still possible, proven anew if the search is above it.
    fn target(&mut self, search: &Search) -> u64 {
        let max_load = search.max_load();
        if max_load > self.bound.ceil() {
            let row_loads = Program::row_loads(search.system, self.plain, &search.loads);
            let rounds = (8_000_000 / (self.program.rows.len() as u32 + 1)).clamp(10, 400);
            self.bound = self.bound.max(Bound::dual(&self.program, &row_loads, rounds, max_load));
        }
        self.bound.ceil()
    }
}

struct Search<'a> {
    system: &'a System,
    choices: &'a mut Choices,
    traffic: Option<&'a [u64]>,
    loads: Vec<u64>,
    /// What one more route costs on each link, at the current cost.
    prices: Vec<f32>,
    /// The node at the end of each link, small enough to stay in the nearest cache.
    next: Vec<u16>,
    directions: usize,
    cost: Cost,
    seed: u64,
    draws: u64,
    work: u64,
    /// Factor on the work that may be spent.
    effort: u64,
    /// Work at which the current stage ends.
    limit: u64,
}

impl<'a> Search<'a> {
    fn new(
        system: &'a System,
        choices: &'a mut Choices,
        traffic: Option<&'a [u64]>,
        seed: u64,
        effort: u64,
    ) -> Self {
        let loads = super::loads::Quality::of(system, &choices.headers, traffic).loads;
        // Pairs that share a list stay together, the lists in random order.
        let mut keyed: Vec<(u64, Pair)> = choices
            .pairs
            .iter()
            .map(|pair| (draw(seed, choices.list(pair), Purpose::Table, 0), *pair))
            .collect();
        keyed.sort_unstable_by_key(|(key, pair)| (*key, pair.source, pair.destination));
        choices.pairs = keyed.into_iter().map(|(_, pair)| pair).collect();
        let prices = vec![0.0; loads.len()];
        let next = (0..loads.len() as u32).map(|link| system.next(link) as u16).collect();
        Self {
            system,
            choices,
            traffic,
            loads,
            prices,
            next,
            directions: system.fabric().shape().directions(),
            cost: Cost::Table(Vec::new()),
            seed,
            draws: 0,
            work: 0,
            effort,
            limit: u64::MAX,
        }
    }

    fn weight(&self, source: NodeId, destination: NodeId) -> u64 {
        self.traffic
            .map_or(1, |traffic| traffic[source as usize * self.system.nodes() + destination as usize])
    }

    fn max_load(&self) -> u64 {
        self.loads.iter().copied().max().unwrap_or(0)
    }

    fn fourth_moment(&self) -> f64 {
        let mean = self.loads.iter().sum::<u64>() as f64 / self.system.channels().max(1) as f64;
        self.loads.iter().filter(|&&load| load > 0).map(|&load| (load as f64 - mean).powi(4)).sum()
    }

    fn change(&mut self, number: u32, choice: u16, add: bool) {
        let pair = &self.choices.pairs[number as usize];
        let weight = self.traffic.map_or(1, |traffic| {
            traffic[pair.source as usize * self.system.nodes() + pair.destination as usize]
        });
        let mut here = pair.source as usize;
        for &direction in self.choices.walk(pair, choice) {
            let link = here * self.directions + usize::from(direction);
            let load = &mut self.loads[link];
            *load = if add { *load + weight } else { *load - weight };
            self.prices[link] = self.cost.of(*load, 1) as f32;
            here = usize::from(self.next[link]);
        }
    }

    /// Places every pair once, greedily.
    fn place_all(&mut self) {
        let scale = self.expected_load();
        self.charge(Cost::power(8, scale, self.traffic.is_some()));
        for number in 0..self.choices.pairs.len() as u32 {
            self.place(number);
        }
    }

    /// Makes a cost the current one.
    fn charge(&mut self, cost: Cost) {
        for (price, &load) in self.prices.iter_mut().zip(&self.loads) {
            *price = cost.of(load, 1) as f32;
        }
        self.cost = cost;
    }

    fn expected_load(&self) -> u64 {
        let placed: u64 = self.loads.iter().sum();
        let waiting: u64 = self
            .choices
            .pairs
            .iter()
            .map(|pair| self.weight(pair.source, pair.destination) * self.choices.walk(pair, 0).len() as u64)
            .sum();
        2 * (placed + waiting) / self.system.channels().max(1) as u64 + self.max_load() + 1
    }

    /// Adds a pair that is in no load on its cheapest route.
    fn place(&mut self, number: u32) {
        let pair = self.choices.pairs[number as usize];
        let weight = self.weight(pair.source, pair.destination);
        self.draws += 1;
        let turn = draw(self.seed, 0, Purpose::Table, self.draws) as u16 % pair.count;
        let (mut best, mut least) = (pair.chosen, f64::INFINITY);
        for choice in (turn..pair.count).chain(0..turn) {
            let walk = self.choices.walk(&pair, choice);
            let sum = if self.traffic.is_none() {
                let mut here = pair.source as usize;
                let mut sum = 0.0_f32;
                for &direction in walk {
                    let link = here * self.directions + usize::from(direction);
                    sum += self.prices[link];
                    here = usize::from(self.next[link]);
                }
                f64::from(sum)
            } else {
                let links = self.system.links(pair.source, walk);
                links.map(|link| self.cost.of(self.loads[link as usize], weight)).sum()
            };
            self.work += walk.len() as u64;
            if sum < least {
                (best, least) = (choice, sum);
            }
        }
        self.choices.pairs[number as usize].chosen = best;
        self.change(number, best, true);
    }

    /// Rips up and re-routes every pair with a link of at least the given load; returns how many
    /// changed.
    fn sweep(&mut self, least: u64) -> usize {
        let mut changed = 0;
        for number in 0..self.choices.pairs.len() as u32 {
            let pair = self.choices.pairs[number as usize];
            if least > 0 {
                let walk = self.choices.walk(&pair, pair.chosen);
                self.work += walk.len() as u64;
                if self.system.links(pair.source, walk).all(|link| self.loads[link as usize] < least) {
                    continue;
                }
            }
            self.change(number, pair.chosen, false);
            self.place(number);
            changed += usize::from(self.choices.pairs[number as usize].chosen != pair.chosen);
        }
        changed
    }

    fn sweep_at(
        &mut self,
        power: i32,
        sweeps: u32,
        target: u64,
        keep_going: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), TableError> {
        for _ in 0..sweeps {
            if self.max_load() <= target || self.work >= self.limit {
                break;
            }
            if !keep_going(self.work as f64 / (WORK * self.effort) as f64) {
                return Err(TableError::Interrupted);
            }
            self.charge(Cost::power(power, self.max_load(), self.traffic.is_some()));
            // High powers only feel the links that are nearly the fullest.
            let least = if power >= 32 { self.max_load() - self.max_load() / 32 } else { 0 };
            let (before, changed) = (self.max_load(), self.sweep(least));
            // Few changes that help nothing: the next power does more.
            if changed == 0 || self.max_load() >= before && changed * 50 < self.choices.pairs.len() {
                break;
            }
        }
        Ok(())
    }

    /// Presses on the largest load until it meets the bound or the work is spent.
    fn improve(
        &mut self,
        prover: &mut Prover,
        keep_going: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(), TableError> {
        let mut best = (self.max_load(), self.fourth_moment(), self.chosen());
        self.limit = self.work + WORK * self.effort;
        let mut stalled = 0;
        if self.choices.pairs.is_empty() {
            return Ok(());
        }
        while best.0 > prover.target(self) && self.work < self.limit {
            if stalled > 0 {
                self.shake();
            }
            // Large systems start with the cheap sweeps, which skip all but the fullest links.
            let first = if stalled == 0 && self.choices.pairs.len() > 100_000 { 1 } else { 0 };
            for &(power, sweeps) in &[(8, 3), (32, 4), (128, 6)][first..] {
                self.sweep_at(power, sweeps, prover.bound.ceil(), keep_going)?;
                if stalled < 2 && self.max_load() < best.0 {
                    prover.target(self);
                }
            }
            let moment = self.fourth_moment();
            stalled += 1;
            if (self.max_load(), moment) < (best.0, best.1) {
                stalled = if self.max_load() < best.0 { 0 } else { stalled };
                best = (self.max_load(), moment, self.chosen());
            } else {
                self.restore(&best.2);
            }
        }
        self.restore(&best.2);
        Ok(())
    }

    /// Lowers the fourth moment without raising the largest load.
    fn polish(&mut self, target: u64, keep_going: &mut dyn FnMut(f64) -> bool) -> Result<(), TableError> {
        if self.traffic.is_some()
            || self.choices.pairs.is_empty()
            || self.max_load() * self.system.channels() as u64 == self.loads.iter().sum::<u64>()
        {
            return Ok(());
        }
        let mean = self.loads.iter().sum::<u64>() as f64 / self.system.channels().max(1) as f64;
        let mut best = (self.max_load(), self.fourth_moment(), self.chosen());
        self.limit = self.work + POLISH_WORK * self.effort;
        while self.work < self.limit {
            if !keep_going(1.0) {
                return Err(TableError::Interrupted);
            }
            self.charge(Cost::moment(best.0, mean));
            loop {
                let changed = self.sweep(0);
                let moment = self.fourth_moment();
                if (self.max_load(), moment) < (best.0, best.1) {
                    best = (self.max_load(), moment, self.chosen());
                } else {
                    break;
                }
                if changed == 0 || self.work >= self.limit {
                    break;
                }
            }
            if self.work >= self.limit {
                break;
            }
            self.restore(&best.2);
            self.shake();
            self.sweep_at(128, 2, target.max(best.0), keep_going)?;
        }
        self.restore(&best.2);
        Ok(())
    }

    /// Re-routes about one pair in twenty at random.
    fn shake(&mut self) {
        for number in 0..self.choices.pairs.len() as u32 {
            self.draws += 1;
            let drawn = draw(self.seed, 3, Purpose::Table, self.draws);
            let pair = self.choices.pairs[number as usize];
            if drawn.is_multiple_of(20) {
                let choice = (drawn >> 32) as u16 % pair.count;
                self.change(number, pair.chosen, false);
                self.choices.pairs[number as usize].chosen = choice;
                self.change(number, choice, true);
            }
        }
    }

    fn chosen(&self) -> Vec<u16> {
        self.choices.pairs.iter().map(|pair| pair.chosen).collect()
    }

    fn restore(&mut self, chosen: &[u16]) {
        for (number, &choice) in chosen.iter().enumerate() {
            let before = self.choices.pairs[number].chosen;
            if before != choice {
                self.change(number as u32, before, false);
                self.choices.pairs[number].chosen = choice;
                self.change(number as u32, choice, true);
            }
        }
    }
}

/// Cost of adding a weight to a load.
enum Cost {
    /// Looked up by load, for weight 1.
    Table(Vec<f64>),
    /// Difference of powers of the load over a scale.
    Power { power: i32, scale: f64 },
}

impl Cost {
    fn power(power: i32, scale: u64, weighted: bool) -> Self {
        let scale = scale.max(1);
        if weighted {
            return Self::Power { power, scale: scale as f64 };
        }
        let raised = |load: u64| (load as f64 / scale as f64).powi(power);
        Self::Table((0..=2 * scale + 2).map(|load| raised(load + 1) - raised(load)).collect())
    }

    fn moment(max_load: u64, mean: f64) -> Self {
        let raised = |load: u64| (load as f64 - mean).powi(4);
        Self::Table((0..max_load).map(|load| raised(load + 1) - raised(load)).collect())
    }

    #[inline]
    fn of(&self, load: u64, weight: u64) -> f64 {
        match self {
            Self::Table(marginal) => marginal.get(load as usize).copied().unwrap_or(f64::INFINITY),
            Self::Power { power, scale } => {
                ((load + weight) as f64 / scale).powi(*power) - (load as f64 / scale).powi(*power)
            }
        }
    }
}
