use crate::{
    schedule::{
        Budget, Domains, Placement, Problem,
        occupancy::{Neighbours, Occupancy},
    },
    traffic::{Purpose, draw},
};

/// How one ejection search differs from another.
#[derive(Clone, Copy, Debug)]
pub(in crate::schedule::methods) struct Manner {
    /// Seed of its random choices.
    pub seed: u64,
    /// Whether the job ejected last is placed first, or a random one.
    pub newest_first: bool,
    /// Moves between two compactions.
    pub period: u64,
    /// Whether equally good starts are taken from the side to which the next compaction goes, and an
    /// ejected job may return at once; otherwise they are drawn, and it may not.
    pub orderly: bool,
}

/// The ejection search at one target duration, which can be continued.
///
/// An unplaced job takes, among its allowed starts, one with the least weight of jobs in the way,
/// and ejects those. A job that had to eject grows heavier (guided search); an ejected one may not
/// return to the same start for a few moves. Every so often all jobs are compacted to the left or
/// to the right inside their filtered starts, which collects scattered gaps into usable ones.
#[derive(Debug)]
pub(in crate::schedule::methods) struct Fitting<'p> {
    problem: &'p Problem,
    domains: Domains,
    target: u32,
    manner: Manner,
    occupancy: Occupancy<'p>,
    unplaced: Vec<u32>,
    weights: Vec<i32>,
    tabu: Vec<(Placement, u64)>,
    moves: u64,
    best: Vec<Option<Placement>>,
    fewest: usize,
    rightward: bool,
}

impl<'p> Fitting<'p> {
    /// From an empty schedule.
    pub(crate) fn new(
        problem: &'p Problem,
        neighbours: Option<&'p Neighbours>,
        domains: Domains,
        target: u32,
        manner: Manner,
    ) -> Self {
        let jobs = problem.jobs().len();
        Self {
            problem,
            domains,
            target,
            manner,
            occupancy: Occupancy::new(problem, neighbours),
            unplaced: (0..jobs as u32).rev().collect(),
            weights: vec![1; jobs],
            tabu: vec![(Placement { route: 0, start: 0 }, 0); jobs],
            moves: 0,
            best: vec![None; jobs],
            fewest: jobs,
            rightward: false,
        }
    }

    /// Starts from a part of a schedule without conflicts; jobs that end too late stay unplaced.
    pub(crate) fn start_from(&mut self, placements: &[Option<Placement>]) {
        for (job, placement) in placements.iter().enumerate() {
            self.occupancy.remove(job);
            if let &Some(placement) = placement {
                let end = placement.start + self.occupancy.route(job, placement.route).span;
                if end <= self.target && self.domains.allows(job, placement.start) {
                    self.occupancy.place(job, placement, 1);
                }
            }
        }
        let placed = self.occupancy.placed();
        self.unplaced = (0..placed.len() as u32).filter(|&job| placed[job as usize].is_none()).collect();
        self.keep_best();
    }

    /// The schedule with the fewest unplaced jobs so far.
    pub(crate) fn best(&self) -> &[Option<Placement>] {
        &self.best
    }

    /// Fewest jobs that were unplaced at one time.
    pub(crate) fn fewest_unplaced(&self) -> usize {
        self.fewest
    }

    /// Searches until all jobs are placed or the budget ends.
    pub(crate) fn run(&mut self, budget: &mut Budget) -> Option<Vec<Placement>> {
        let mut victims = Vec::new();
        let mut ties = Vec::new();
        while !self.unplaced.is_empty() {
            if !budget.take() {
                return None;
            }
            self.moves += 1;
            if self.moves.is_multiple_of(self.manner.period) {
                self.compact();
                self.rightward = !self.rightward;
                self.keep_best();
                continue;
            }
            let random = draw(self.manner.seed, 0, Purpose::Search, self.moves);
            let waiting = self.unplaced.len();
            let index =
                if self.manner.newest_first { waiting - 1 } else { (random >> 40) as usize % waiting };
            let job = self.unplaced.swap_remove(index) as usize;
            let placement = self.cheapest(job, random, &mut ties);
            self.occupancy.in_the_way(job, placement, &mut victims);
            if !victims.is_empty() {
                self.make_heavier(job);
            }
            for &victim in &victims {
                if let Some(old) = self.occupancy.remove(victim as usize)
                    && !self.manner.orderly
                {
                    self.tabu[victim as usize] = (old, self.moves + 1 + (random & 3));
                }
                self.unplaced.push(victim);
            }
            self.occupancy.place(job, placement, self.weights[job]);
            if self.unplaced.len() < 50 {
                self.keep_best();
            }
        }
        Some(self.occupancy.placed().iter().flatten().copied().collect())
    }

    fn keep_best(&mut self) {
        if self.unplaced.len() < self.fewest {
            self.fewest = self.unplaced.len();
            self.best.clone_from_slice(self.occupancy.placed());
        }
    }

    fn make_heavier(&mut self, job: usize) {
        // The largest sum, a weight for each of 2^14 jobs on a resource, stays within 31 bits.
        const HEAVIEST: i32 = 1 << 16;
        self.weights[job] += 1;
        if self.weights[job] >= HEAVIEST {
            self.weights.iter_mut().for_each(|weight| *weight = (*weight / 2).max(1));
        }
    }

    fn cheapest(&mut self, job: usize, random: u64, ties: &mut Vec<Placement>) -> Placement {
        let (banned, until) = self.tabu[job];
        let mut least = i32::MAX;
        ties.clear();
        for route in 0..self.problem.jobs()[job].routes.len() as u32 {
            let Some(last) = self.target.checked_sub(self.occupancy.route(job, route).span) else { continue };
            let profile = self.occupancy.conflicts(job, route, last);
            for start in self.domains.starts(job).take_while(|&start| start <= last) {
                let cost = profile[start as usize];
                if cost <= least {
                    let placement = Placement { route, start };
                    if placement == banned && self.moves < until {
                        continue;
                    }
                    if cost < least {
                        ties.clear();
                        least = cost;
                    }
                    ties.push(placement);
                }
            }
        }
        // Only a banned start may be left.
        let chosen = match (self.manner.orderly, self.rightward) {
            (true, false) => ties.iter().min_by_key(|placement| placement.start),
            (true, true) => ties.iter().max_by_key(|placement| placement.start),
            _ if ties.is_empty() => None,
            _ => ties.get((random >> 8) as u32 as usize % ties.len()),
        };
        chosen.copied().unwrap_or(banned)
    }

    /// Moves every job to its earliest (or latest) free start, in the order of the starts, and
    /// places those for which a gap has opened.
    fn compact(&mut self) {
        let mut order: Vec<(u32, u32)> = self
            .occupancy
            .placed()
            .iter()
            .enumerate()
            .filter_map(|(job, placement)| placement.map(|placement| (placement.start, job as u32)))
            .collect();
        order.sort_unstable();
        if self.rightward {
            order.reverse();
        }
        for &(_, job) in &order {
            let (job, weight) = (job as usize, self.weights[job as usize]);
            let Some(old) = self.occupancy.placed()[job] else { continue };
            if !self.occupancy.holds_once(job) {
                self.occupancy.remove(job);
            }
            let start = self.gap(job, old.route).unwrap_or(old.start);
            if start != old.start || !self.occupancy.holds_once(job) {
                self.occupancy.remove(job);
                self.occupancy.place(job, Placement { start, ..old }, weight);
            }
        }
        let unplaced = std::mem::take(&mut self.unplaced);
        for job in unplaced {
            let routes = 0..self.problem.jobs()[job as usize].routes.len() as u32;
            let found = routes
                .filter_map(|route| Some(Placement { route, start: self.gap(job as usize, route)? }))
                .next();
            match found {
                Some(placement) => {
                    self.occupancy.place(job as usize, placement, self.weights[job as usize]);
                }
                None => self.unplaced.push(job),
            }
        }
    }

    fn gap(&mut self, job: usize, route: u32) -> Option<u32> {
        let last = self.target.checked_sub(self.occupancy.route(job, route).span)?;
        if self.rightward {
            self.occupancy.latest(job, route, last, Some(&self.domains))
        } else {
            self.occupancy.earliest(job, route, last, Some(&self.domains))
        }
    }
}
