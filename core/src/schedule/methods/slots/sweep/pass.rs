use super::epoch::Epoch;
use crate::{
    fabric::MAX_DIMENSIONS,
    schedule::classic_bound,
    traffic::{Purpose, draw},
};

/// Which minimal routes packets take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    /// The given legs, one after the other.
    InOrder,
    /// Any order of the hops: where another packet holds one slot, the other one.
    Staircase,
}

/// What the choices of a pass depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// Seed of the random part of every cost.
    pub seed: u64,
    /// What its bits say is the weight of each other part.
    pub weights: u64,
}

/// Start cycle of a job, and the direction of each of its hops.
pub(super) type Start = (u32, Vec<u32>);

/// A pass over time that places the jobs of an epoch, and can be continued in different manners.
///
/// Whenever a free slot passes a diagonal, the waiting job that fits best takes it (`fit.rs`).
#[derive(Clone)]
pub(super) struct Pass<'e> {
    pub(super) epoch: &'e Epoch,
    pub(super) pitch: u32,
    ways: Ways,
    pub(super) time: u32,
    /// Last start that is tried.
    latest: u32,
    horizon: usize,
    /// Per resource and cycle: taken. Of links, where all jobs keep step, only a slot's first cycle.
    taken: Vec<bool>,
    /// Waiting jobs by quadrant and diagonal.
    waiting: Vec<Vec<u32>>,
    /// Number of them by direction, diagonal and hops of the first leg.
    beginning: Vec<u32>,
    longest: u32,
    starts: Vec<Option<Start>>,
    left: usize,
    duration: u32,
    lateness: u64,
}

impl<'e> Pass<'e> {
    /// Before the first cycle.
    pub(super) fn new(epoch: &'e Epoch, pitch: u32, ways: Ways) -> Self {
        let spans = epoch.problem.jobs().iter().map(|job| job.routes[0].span);
        // Twice what the loads need, and a turn of the rings.
        let latest = 2 * classic_bound(&epoch.problem) + epoch.lines;
        let horizon = (latest + spans.max().unwrap_or(0) + 2 * pitch) as usize;
        let longest = epoch.orbits.iter().flat_map(|orbit| &orbit.legs).map(|leg| leg.1).max().unwrap_or(0);
        let resources = epoch.problem.resources();
        let mut sweep = Self {
            epoch,
            pitch,
            ways,
            time: 0,
            latest,
            horizon,
            taken: vec![false; resources * horizon],
            waiting: vec![Vec::new(); 2 * epoch.lines as usize],
            beginning: vec![0; resources * (longest as usize + 1)],
            longest,
            starts: vec![None; epoch.orbits.len()],
            left: epoch.orbits.len(),
            duration: 0,
            lateness: 0,
        };
        for (job, orbit) in epoch.orbits.iter().enumerate() {
            let list = sweep.list(orbit.backward, orbit.diagonal);
            sweep.waiting[list].push(job as u32);
            let index = sweep.begins(orbit.legs[0], orbit.diagonal);
            sweep.beginning[index] += 1;
        }
        sweep
    }

    /// Goes on until all jobs are placed or `until` is reached; whether all are placed.
    pub(super) fn advance(&mut self, manner: Manner, until: u32) -> bool {
        let mut way = Vec::new();
        while self.left > 0 && self.time < until.min(self.latest) {
            let phase = self.time % self.pitch;
            for backward in [false, true] {
                // The diagonals that slots pass in this cycle.
                let first = if backward { self.pitch - phase } else { phase } % self.pitch;
                for diagonal in (first..self.epoch.lines).step_by(self.pitch as usize) {
                    self.start_one(manner, backward, diagonal, &mut way);
                }
            }
            self.time += 1;
        }
        self.left == 0
    }

    /// Number of jobs that still wait.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// How bad a complete pass is. With legs in order, its duration; else the sum of the squares of
    /// all arrivals, which tells more than the few packets at the end.
    pub(super) fn badness(&self) -> u64 {
        match self.ways {
            Ways::InOrder => self.duration.into(),
            Ways::Staircase => self.lateness,
        }
    }

    /// The starts of a complete pass.
    pub(super) fn into_starts(self) -> Option<Vec<Start>> {
        self.starts.into_iter().collect()
    }

    fn list(&self, backward: bool, diagonal: u32) -> usize {
        (u32::from(backward) * self.epoch.lines + diagonal) as usize
    }

    fn begins(&self, (direction, hops): (u32, u32), diagonal: u32) -> usize {
        ((direction * self.epoch.lines + diagonal) * (self.longest + 1) + hops) as usize
    }

    /// Number of jobs that wait on a diagonal.
    pub(super) fn waiting_at(&self, backward: bool, diagonal: u32) -> usize {
        self.waiting[self.list(backward, diagonal)].len()
    }

    /// Number of waiting jobs that begin with a leg on a diagonal.
    pub(super) fn beginning_with(&self, leg: (u32, u32), diagonal: u32) -> u32 {
        self.beginning[self.begins(leg, diagonal)]
    }

    pub(super) fn is_taken(&self, resource: u32, time: u32) -> bool {
        self.taken[resource as usize * self.horizon + time as usize]
    }

    /// Whether a port is free for a whole packet of the given length.
    pub(super) fn port_is_free(&self, port: u32, time: u32, length: u32) -> bool {
        // All packets are equally long: one in the way covers one of the ends.
        !self.is_taken(port, time) && !self.is_taken(port, time + length - 1)
    }

    fn start_one(&mut self, manner: Manner, backward: bool, diagonal: u32, way: &mut Vec<u32>) {
        let list = self.list(backward, diagonal);
        let mut best: Option<(i64, usize)> = None;
        for (index, &job) in self.waiting[list].iter().enumerate() {
            let job = job as usize;
            if self.ends_are_free(job) && self.find_way(job, manner.seed, way) {
                let cost = match self.ways {
                    Ways::InOrder => self.cost_in_order(manner, job),
                    Ways::Staircase => self.cost_of_staircase(manner, job),
                };
                if best.is_none_or(|best| (cost, index) < best) {
                    best = Some((cost, index));
                }
            }
        }
        if let Some((_, index)) = best {
            let job = self.waiting[list].swap_remove(index) as usize;
            self.find_way(job, manner.seed, way);
            self.place(job, way);
        }
    }

    fn ends_are_free(&self, job: usize) -> bool {
        let description = &self.epoch.problem.jobs()[job];
        let ends = [description.routes[0].uses.first(), description.routes[0].uses.last()];
        ends.into_iter()
            .flatten()
            .all(|port| self.port_is_free(port.resource, self.time + port.offset, description.length))
    }

    /// The directions of the hops of a job that starts now; whether it finds its way through.
    fn find_way(&self, job: usize, seed: u64, way: &mut Vec<u32>) -> bool {
        let (orbit, lines) = (&self.epoch.orbits[job], self.epoch.lines);
        way.clear();
        let free = |direction: u32, hops: u32| {
            !self.is_taken(direction * lines + orbit.after(hops, lines), self.time + hops)
        };
        if self.ways == Ways::InOrder {
            for &(direction, hops) in &orbit.legs {
                way.extend(std::iter::repeat_n(direction, hops as usize));
            }
            return way.iter().zip(0..).all(|(&direction, hops)| free(direction, hops));
        }
        let mut left = [0; 2 * MAX_DIMENSIONS];
        for &(direction, hops) in &orbit.legs {
            left[direction as usize] = hops;
        }
        let random = draw(seed, self.time, Purpose::Search, job as u64);
        let total = orbit.legs.iter().map(|leg| leg.1).sum();
        for hops in 0..total {
            let mut open = orbit
                .legs
                .iter()
                .map(|leg| leg.0)
                .filter(|&direction| left[direction as usize] > 0 && free(direction, hops));
            // The first dimension first, the last one first, or at random.
            let chosen = match random % 3 {
                0 => open.next(),
                1 => open.next_back(),
                _ if random >> (8 + hops % 48) & 1 == 0 => open.next(),
                _ => open.next_back(),
            };
            let Some(direction) = chosen else { return false };
            left[direction as usize] -= 1;
            way.push(direction);
        }
        true
    }

    fn place(&mut self, job: usize, way: &[u32]) {
        let (time, lines, horizon) = (self.time, self.epoch.lines, self.horizon);
        let description = &self.epoch.problem.jobs()[job];
        let (orbit, uses) = (&self.epoch.orbits[job], &description.routes[0].uses);
        for port in [uses.first(), uses.last()].into_iter().flatten() {
            let from = port.resource as usize * horizon + (time + port.offset) as usize;
            self.taken[from..from + description.length as usize].fill(true);
        }
        for (&direction, hops) in way.iter().zip(0..) {
            let link = direction * lines + orbit.after(hops, lines);
            self.taken[link as usize * horizon + (time + hops) as usize] = true;
        }
        let index = self.begins(orbit.legs[0], orbit.diagonal);
        self.beginning[index] -= 1;
        self.starts[job] = Some((time, way.to_vec()));
        self.left -= 1;
        self.duration = self.duration.max(time + description.routes[0].span);
        let end = u64::from(time) + way.len() as u64;
        self.lateness += end * end;
    }
}
