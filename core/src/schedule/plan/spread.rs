use crate::{
    schedule::{Job, Placement, Problem, Route},
    traffic::{Purpose, draw},
};

/// Where spare time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Duration that may not be exceeded, in cycles.
    pub target: u32,
    /// Gaps from this many cycles on need no widening; the largest delay of a node or some more.
    pub reach: u32,
    /// Moves per job.
    pub sweeps: u32,
    /// Seed of the order of moves.
    pub seed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    at: i64,
    job: u32,
    before: u32,
}

/// Shifts jobs within the target so that gaps widen where links have time to spare.
///
/// Two jobs that follow each other with a gap of g cycles collide if the first is late by more than
/// the second and the gap; for delays uniform in 0..J the expected collision grows with (J - g)^3.
/// The sum of these over all neighbours on a link or ejection port, and of the same term between the
/// end of every job and the target, is lowered job by job, with noise that fades. Jobs of one node
/// are late together and have no gap to widen; neighbours over several links count once.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, Placement, Problem, RouteChoice, Slicing, Spread, spread};
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source| Demand { source, destination: 3, length: 4, slices: 1 };
/// let problem =
///     Problem::new(&fabric, &[demand(1), demand(2)], Slicing::Free, RouteChoice::DimensionOrder)?;
/// let tight = [Placement { route: 0, start: 0 }, Placement { route: 0, start: 5 }];
/// let settings = Spread { target: 13, reach: 4, sweeps: 50, seed: 1 };
/// let wide = spread(&problem, &tight, settings);
/// assert!(wide[0].start.abs_diff(wide[1].start) > 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn spread(problem: &Problem, placements: &[Placement], settings: Spread) -> Vec<Placement> {
    let jobs = problem.jobs().len();
    let mut table = Table::new(problem, placements, settings);
    let highest = table.penalties.first().copied().unwrap_or(0);
    let moves = u64::from(settings.sweeps) * jobs as u64;
    for number in 0..moves {
        let random = draw(settings.seed, 0, Purpose::Search, number);
        let job = ((u128::from(random) * jobs as u128) >> 64) as usize;
        // The noise falls with the square of what is left; the last tenth has none.
        let left = (moves - number).saturating_sub(moves / 10);
        let share = (u128::from(left) * 1000 / u128::from(moves)) as u64;
        table.shift(job, 2 * highest * share * share / 1_000_000, random);
    }
    table.placed
}

struct Table<'p> {
    problem: &'p Problem,
    settings: Spread,
    penalties: Vec<u64>,
    held: Vec<Vec<Held>>,
    placed: Vec<Placement>,
    sources: Vec<u32>,
    blocked: Vec<i32>,
    costs: Vec<u64>,
}

impl<'p> Table<'p> {
    fn new(problem: &'p Problem, placements: &[Placement], settings: Spread) -> Self {
        let cells = settings.target as usize + 2;
        let reach = u64::from(settings.reach);
        let source = |job: &Job| job.routes[0].uses.first().map_or(0, |held| held.resource);
        let mut table = Self {
            problem,
            settings,
            penalties: (0..reach).map(|gap| (reach - gap).pow(3)).collect(),
            held: vec![Vec::new(); problem.resources()],
            placed: placements.to_vec(),
            sources: problem.jobs().iter().map(source).collect(),
            blocked: vec![0; cells],
            costs: vec![0; cells],
        };
        for (job, &placement) in placements.iter().enumerate() {
            table.place(job, placement);
        }
        table
    }

    fn route(&self, job: usize) -> &'p Route {
        &self.problem.jobs()[job].routes[self.placed[job].route as usize]
    }

    fn place(&mut self, job: usize, placement: Placement) {
        self.placed[job] = placement;
        let mut before = u32::MAX;
        for held in &self.route(job).uses {
            let at = i64::from(placement.start + held.offset);
            self.held[held.resource as usize].push(Held { at, job: job as u32, before });
            before = held.resource;
        }
    }

    fn remove(&mut self, job: usize) {
        for held in &self.route(job).uses {
            self.held[held.resource as usize].retain(|other| other.job != job as u32);
        }
    }

    /// Moves one job to a start of least penalty plus noise below `noise`.
    fn shift(&mut self, job: usize, noise: u64, random: u64) {
        let old = self.placed[job];
        let Some(last) = self.settings.target.checked_sub(self.route(job).span) else { return };
        self.remove(job);
        self.assess(job, last);
        let mut sum = 0;
        let mut best = (u64::MAX, old.start);
        for start in 0..=last {
            sum += self.blocked[start as usize];
            if sum == 0 {
                let salt = draw(random, 0, Purpose::Search, start.into());
                let extra = ((u128::from(salt) * u128::from(noise)) >> 64) as u64;
                let cost = self.costs[start as usize] + extra;
                // Equal costs keep the start as it is.
                if cost < best.0 || (cost == best.0 && start == old.start) {
                    best = (cost, start);
                }
            }
        }
        self.place(job, Placement { start: best.1, ..old });
    }

    /// For every start up to `last`: steps in the number of jobs in the way, and the penalty.
    fn assess(&mut self, job: usize, last: u32) {
        let cells = last as usize + 1;
        self.blocked[..=cells].fill(0);
        let reach = self.settings.reach;
        for (start, cost) in self.costs[..cells].iter_mut().enumerate() {
            *cost = self.penalties.get(last as usize - start).copied().unwrap_or(0);
        }
        let length = i64::from(self.problem.jobs()[job].length);
        let end = cells as i64;
        let mut before = u32::MAX;
        for held in &self.route(job).uses {
            let offset = i64::from(held.offset);
            for other in &self.held[held.resource as usize] {
                // Companions over consecutive links meet at one distance: count them once.
                if other.before == before && before != u32::MAX {
                    continue;
                }
                let theirs = i64::from(self.problem.jobs()[other.job as usize].length);
                let ahead = other.at - offset - length;
                let behind = other.at + theirs - offset;
                let (from, to) = ((ahead + 1).clamp(0, end), behind.clamp(0, end));
                self.blocked[from as usize] += 1;
                self.blocked[to as usize] -= 1;
                if self.sources[other.job as usize] == self.sources[job] {
                    continue;
                }
                for (gap, &penalty) in (0..i64::from(reach)).zip(&self.penalties) {
                    for start in [ahead - gap, behind + gap] {
                        if (0..end).contains(&start) {
                            self.costs[start as usize] += penalty;
                        }
                    }
                }
            }
            before = held.resource;
        }
    }
}
