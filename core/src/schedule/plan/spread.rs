use crate::{
    schedule::{
        Job, Placement, Problem,
        occupancy::{Meeting, Occupancy},
    },
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
    occupancy: Occupancy<'p>,
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
        let mut occupancy = Occupancy::new(problem, None);
        placements.iter().enumerate().for_each(|(job, &placement)| occupancy.place(job, placement, 1));
        Self {
            problem,
            settings,
            penalties: (0..reach).map(|gap| (reach - gap).pow(3)).collect(),
            occupancy,
            placed: placements.to_vec(),
            sources: problem.jobs().iter().map(source).collect(),
            blocked: vec![0; cells],
            costs: vec![0; cells],
        }
    }

    /// Moves one job to a start of least penalty plus noise below `noise`.
    fn shift(&mut self, job: usize, noise: u64, random: u64) {
        let old = self.placed[job];
        let span = self.problem.jobs()[job].routes[old.route as usize].span;
        let Some(last) = self.settings.target.checked_sub(span) else { return };
        self.occupancy.remove(job);
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
        self.placed[job].start = best.1;
        self.occupancy.place(job, self.placed[job], 1);
    }

    /// For every start up to `last`: steps in the number of jobs in the way, and the penalty.
    fn assess(&mut self, job: usize, last: u32) {
        let Self { occupancy, penalties, sources, blocked, costs, .. } = self;
        let cells = last as usize + 1;
        blocked[..=cells].fill(0);
        for (start, cost) in costs[..cells].iter_mut().enumerate() {
            *cost = penalties.get(last as usize - start).copied().unwrap_or(0);
        }
        let end = cells as i32;
        occupancy.meetings(job, self.placed[job].route, |Meeting { option, from, to, .. }| {
            blocked[from.clamp(0, end) as usize] += 1;
            blocked[to.clamp(0, end) as usize] -= 1;
            if sources[occupancy.job_of(option) as usize] == sources[job] {
                return;
            }
            for (gap, &penalty) in (0..).zip(penalties.iter()) {
                for start in [from - 1 - gap, to + gap] {
                    if (0..end).contains(&start) {
                        costs[start as usize] += penalty;
                    }
                }
            }
        });
    }
}
