use super::fold::Fold;
use super::{Choices, KeepGoing, Program, System, TableError};
use crate::fabric::{LinkId, NodeId};
use crate::power::power_of;
use crate::traffic::{Purpose, draw};

/// Pairs between two looks at whether to go on.
const LOOK: u32 = 1 << 14;

/// Powers of the loads that are pressed on, each with its number of sweeps.
const POWERS: [(u32, u32); 5] = [(8, 3), (32, 4), (128, 6), (512, 6), (2048, 8)];
/// Systems with fewer pairs that have a choice start with a proof of the bound.
const PROVEN_FIRST: usize = 1000;
/// Work of one search for the bound, in hops of routes looked at.
const WORK: u64 = 12_000_000;
/// The same of a search on a folded system.
const FOLDED_WORK: u64 = 2_000_000;
/// Work spent on evenness once the largest load is settled.
const POLISH_WORK: u64 = 50_000;

/// Proves how low the largest load can be at all.
pub(crate) trait Prover {
    /// The least load still possible, as far as proven.
    fn proven(&self) -> u64;

    /// The same, proven anew if the search is above it.
    fn target(&mut self, search: &Search, keep_going: KeepGoing<'_>) -> Result<u64, TableError>;
}

/// A search among the choices of all pairs, with the loads that the current ones make.
pub(crate) struct Search<'a> {
    system: &'a System,
    pub choices: &'a mut Choices,
    traffic: Option<&'a [u64]>,
    /// Load of every link; of a folded system, of the links that leave its corners.
    loads: Vec<u64>,
    /// The links that count.
    links: Vec<LinkId>,
    fold: Option<&'a Fold>,
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
    /// A search that has only the fixed loads, of pairs without a choice, in its loads yet.
    ///
    /// On a folded system the pairs are those whose source is a corner, and each stands for its
    /// translates: a hop loads every link of its row once.
    pub(crate) fn new(
        system: &'a System,
        choices: &'a mut Choices,
        traffic: Option<&'a [u64]>,
        (fixed, fold): (&[u64], Option<&'a Fold>),
        seed: u64,
        effort: u64,
    ) -> Self {
        let loads = fixed.to_vec();
        shuffle_lists(choices, seed);
        let prices = vec![0.0; loads.len()];
        let counts = |link: &LinkId| {
            let (node, _) = system.fabric().link_ends(*link);
            system.next(*link) != NodeId::MAX && fold.is_none_or(|fold| fold.corner(node) == node)
        };
        let links: Vec<LinkId> = (0..loads.len() as LinkId).filter(counts).collect();
        let mut next = vec![0; loads.len()];
        for &link in &links {
            let end = system.next(link);
            next[link as usize] = fold.map_or(end, |fold| fold.corner(end)) as u16;
        }
        Self {
            system,
            choices,
            traffic,
            loads,
            links,
            fold,
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

    /// Largest load.
    pub(crate) fn max_load(&self) -> u64 {
        self.links.iter().map(|&link| self.loads[link as usize]).max().unwrap_or(0)
    }

    /// Sum of the fourth powers of the deviations of the loads from their mean.
    pub(crate) fn fourth_moment(&self) -> f64 {
        let mean = self.mean();
        self.links.iter().map(|&link| power_of(self.loads[link as usize] as f64 - mean, 4)).sum()
    }

    /// The problem as a linear program.
    pub(crate) fn program(&self) -> Program {
        Program::new(self.system, self.choices, self.traffic)
    }

    /// Prices of the links, from those of the program's rows.
    pub(crate) fn link_prices(&self, symmetric: bool, prices: &[u64]) -> Vec<u64> {
        Program::link_prices(self.system, symmetric, prices)
    }

    /// Loads of the rows of a program, symmetric or not.
    pub(crate) fn row_loads(&self, symmetric: bool) -> Vec<u64> {
        let Some(fold) = self.fold else {
            return Program::row_loads(self.system, symmetric, &self.loads);
        };
        let mut loads = vec![0; self.loads.len()];
        for &link in &self.links {
            loads[link as usize] = self.loads[link as usize] * fold.translates();
        }
        Program::row_loads(self.system, symmetric, &loads)
    }

    fn budget(&self) -> u64 {
        self.effort * if self.fold.is_some() { FOLDED_WORK } else { WORK }
    }

    fn total(&self) -> u64 {
        self.links.iter().map(|&link| self.loads[link as usize]).sum()
    }

    fn mean(&self) -> f64 {
        self.total() as f64 / self.links.len().max(1) as f64
    }

    fn change(&mut self, number: u32, choice: u16, add: bool) {
        let pair = self.choices.pairs[number as usize];
        let weight = self.weight(pair.source, pair.destination);
        let mut here = pair.source as usize;
        for &direction in self.choices.walk(&pair, choice) {
            let link = here * self.directions + usize::from(direction);
            let load = if add { self.loads[link] + weight } else { self.loads[link] - weight };
            self.loads[link] = load;
            self.prices[link] = match &self.cost {
                Cost::Table(marginal) => marginal.get(load as usize).copied().unwrap_or(f32::INFINITY),
                // Weighted routes are compared by their own cost.
                Cost::Power { .. } => 0.0,
            };
            here = usize::from(self.next[link]);
        }
    }

    /// Adds every pair on the route it has chosen.
    pub(crate) fn adopt(&mut self) {
        for number in 0..self.choices.pairs.len() as u32 {
            self.change(number, self.choices.pairs[number as usize].chosen, true);
        }
    }

    /// Places every pair once, greedily.
    pub(crate) fn place_all(&mut self) {
        let scale = self.expected_load();
        self.charge(Cost::power(8, scale, self.traffic.is_some()));
        for number in 0..self.choices.pairs.len() as u32 {
            self.place(number);
        }
    }

    /// Makes a cost the current one.
    fn charge(&mut self, cost: Cost) {
        if let Cost::Table(marginal) = &cost {
            for (price, &load) in self.prices.iter_mut().zip(&self.loads) {
                *price = marginal.get(load as usize).copied().unwrap_or(f32::INFINITY);
            }
        }
        self.cost = cost;
    }

    fn expected_load(&self) -> u64 {
        let placed = self.total();
        let waiting: u64 = self
            .choices
            .pairs
            .iter()
            .map(|pair| self.weight(pair.source, pair.destination) * self.choices.walk(pair, 0).len() as u64)
            .sum();
        2 * (placed + waiting) / self.links.len().max(1) as u64 + self.max_load() + 1
    }

    /// Adds a pair that is in no load on its cheapest route.
    fn place(&mut self, number: u32) {
        let pair = self.choices.pairs[number as usize];
        self.draws += 1;
        let turn = draw(self.seed, 0, Purpose::Table, self.draws) as u16 % pair.count;
        let (mut best, mut least) = (pair.chosen, f64::INFINITY);
        for choice in (turn..pair.count).chain(0..turn) {
            let walk = self.choices.walk(&pair, choice);
            let sum = match &self.cost {
                Cost::Table(_) => {
                    let mut here = pair.source as usize;
                    let mut sum = 0.0_f32;
                    for &direction in walk {
                        let link = here * self.directions + usize::from(direction);
                        sum += self.prices[link];
                        here = usize::from(self.next[link]);
                    }
                    f64::from(sum)
                }
                Cost::Power { power, scale } => {
                    let weight = self.weight(pair.source, pair.destination);
                    let raised = |load: u64| power_of(load as f64 / scale, *power);
                    let links = self.system.links(pair.source, walk).map(|link| self.loads[link as usize]);
                    links.map(|load| raised(load + weight) - raised(load)).sum()
                }
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
    fn sweep(&mut self, least: u64, keep_going: KeepGoing<'_>) -> Result<usize, TableError> {
        let mut changed = 0;
        for number in 0..self.choices.pairs.len() as u32 {
            if number.is_multiple_of(LOOK) && !keep_going(self.done()) {
                return Err(TableError::Interrupted);
            }
            let pair = self.choices.pairs[number as usize];
            if least > 0 {
                let mut here = pair.source as usize;
                let mut full = false;
                for &direction in self.choices.walk(&pair, pair.chosen) {
                    let link = here * self.directions + usize::from(direction);
                    full |= self.loads[link] >= least;
                    here = usize::from(self.next[link]);
                }
                self.work += self.choices.walk(&pair, pair.chosen).len() as u64;
                if !full {
                    continue;
                }
            }
            self.change(number, pair.chosen, false);
            self.place(number);
            changed += usize::from(self.choices.pairs[number as usize].chosen != pair.chosen);
        }
        Ok(changed)
    }

    /// Fraction of the work that is done.
    pub(crate) fn done(&self) -> f64 {
        self.work as f64 / self.budget() as f64
    }

    /// Sweeps at a power of the loads until the target is met or little changes.
    pub(crate) fn sweep_at(
        &mut self,
        power: u32,
        sweeps: u32,
        target: u64,
        keep_going: KeepGoing<'_>,
    ) -> Result<(), TableError> {
        for _ in 0..sweeps {
            if self.max_load() <= target || self.work >= self.limit {
                break;
            }
            if !keep_going(self.done()) {
                return Err(TableError::Interrupted);
            }
            self.charge(Cost::power(power, self.max_load(), self.traffic.is_some()));
            // High powers only feel the links that are nearly the fullest.
            let least = if power >= 32 {
                self.max_load() - self.max_load() / (u64::from(power) / 4).max(32)
            } else {
                0
            };
            let (before, changed) = (self.max_load(), self.sweep(least, keep_going)?);
            // Few changes that help nothing: the next power does more.
            if changed == 0 || self.max_load() >= before && changed * 50 < self.choices.pairs.len() {
                break;
            }
        }
        Ok(())
    }

    /// Presses on the largest load until it meets the bound or the work is spent.
    pub(crate) fn improve(
        &mut self,
        prover: &mut impl Prover,
        keep_going: KeepGoing<'_>,
    ) -> Result<(), TableError> {
        if self.choices.pairs.is_empty() {
            return Ok(());
        }
        let mut best = (self.max_load(), self.fourth_moment(), self.chosen());
        // On large systems a first round of sweeps is cheaper than a proof that comes too early.
        let mut target = prover.proven();
        if self.choices.pairs.len() < PROVEN_FIRST {
            target = prover.target(self, keep_going)?;
        }
        self.limit = self.work + self.budget();
        let mut stalled = 0_u32;
        while best.0 > target && self.work < self.limit {
            if stalled > 0 {
                self.shake();
            }
            // Large systems start with the cheap sweeps, which skip all but the fullest links.
            let first = if stalled == 0 && self.choices.pairs.len() > 100_000 { 1 } else { 0 };
            for &(power, sweeps) in &POWERS[first..] {
                // One route more or less is felt from powers of about the largest load on.
                if power <= 128 || u64::from(power) < 8 * best.0 {
                    self.sweep_at(power, sweeps, target, keep_going)?;
                }
            }
            let found = (self.max_load(), self.fourth_moment());
            let lower = found.0 < best.0;
            if lower || stalled == 0 {
                target = prover.target(self, keep_going)?;
            }
            stalled = if lower { 1 } else { stalled + 1 };
            if found < (best.0, best.1) {
                best = (found.0, found.1, self.chosen());
            } else {
                self.restore(&best.2);
            }
        }
        self.restore(&best.2);
        Ok(())
    }

    /// Lowers the fourth moment without raising the largest load.
    pub(crate) fn polish(&mut self, target: u64, keep_going: KeepGoing<'_>) -> Result<(), TableError> {
        if self.traffic.is_some()
            || self.choices.pairs.is_empty()
            || self.max_load() * self.links.len() as u64 == self.total()
        {
            return Ok(());
        }
        let mean = self.mean();
        let mut best = (self.max_load(), self.fourth_moment(), self.chosen());
        self.limit = self.work + POLISH_WORK * self.effort;
        while self.work < self.limit {
            if !keep_going(self.done().min(1.0)) {
                return Err(TableError::Interrupted);
            }
            self.charge(Cost::moment(best.0, mean));
            loop {
                let changed = self.sweep(0, keep_going)?;
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

/// Brings the pairs into the order of a search: those that share a list together, the lists in random
/// order.
fn shuffle_lists(choices: &mut Choices, seed: u64) {
    let mut place = vec![u32::MAX; choices.list_entries()];
    let mut lists = Vec::new();
    for pair in &choices.pairs {
        let list = choices.list(pair);
        if place[list as usize] == u32::MAX {
            place[list as usize] = 0;
            lists.push((draw(seed, list, Purpose::Table, 0), list));
        }
    }
    lists.sort_unstable();
    for (number, (_, list)) in (0..).zip(&lists) {
        place[*list as usize] = number;
    }
    let mut starts = vec![0_usize; lists.len() + 1];
    for pair in &choices.pairs {
        starts[place[choices.list(pair) as usize] as usize + 1] += 1;
    }
    for number in 1..starts.len() {
        starts[number] += starts[number - 1];
    }
    let mut ordered = choices.pairs.clone();
    for pair in &choices.pairs {
        let start = &mut starts[place[choices.list(pair) as usize] as usize];
        ordered[*start] = *pair;
        *start += 1;
    }
    choices.pairs = ordered;
}

/// Cost of adding a route to the loads of its links.
enum Cost {
    /// Cost of one more route by load, for unweighted pairs.
    Table(Vec<f32>),
    /// Difference of powers of the load over a scale.
    Power { power: u32, scale: f64 },
}

impl Cost {
    fn power(power: u32, scale: u64, weighted: bool) -> Self {
        let scale = scale.max(1);
        if weighted {
            return Self::Power { power, scale: scale as f64 };
        }
        let raised = |load: u64| power_of(load as f64 / scale as f64, power);
        Self::Table((0..=2 * scale + 2).map(|load| (raised(load + 1) - raised(load)) as f32).collect())
    }

    fn moment(max_load: u64, mean: f64) -> Self {
        let raised = |load: u64| power_of(load as f64 - mean, 4);
        Self::Table((0..max_load).map(|load| (raised(load + 1) - raised(load)) as f32).collect())
    }
}
