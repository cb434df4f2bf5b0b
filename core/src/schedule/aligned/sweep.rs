use super::epoch::Epoch;
use crate::{
    fabric::Direction,
    schedule::{Placement, Use, bounds::classic_bound},
    traffic::{Purpose, draw},
};

/// What the choices of a sweep depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    pub seed: u64,
    /// Cycles by which the slots of the backward quadrant are shifted.
    pub offset: u32,
}

/// A pass over time that places the jobs of an epoch, and can be continued in different manners.
///
/// Whenever a free slot passes a diagonal, the best waiting job there takes it: one whose later
/// legs begin where another packet has just left their slots (so that no slot travels empty), that
/// ends where the next packet may enter at once, and after which many waiting jobs would fit.
#[derive(Clone)]
pub(super) struct Sweep<'e> {
    epoch: &'e Epoch,
    pitch: u32,
    time: u32,
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
    placements: Vec<Option<Placement>>,
    left: usize,
    duration: u32,
}

impl<'e> Sweep<'e> {
    /// Before the first cycle.
    pub fn new(epoch: &'e Epoch, pitch: u32) -> Self {
        let spans = epoch.problem.jobs().iter().map(|job| job.routes[0].span);
        // Twice what the loads need, and a turn of the rings.
        let latest = 2 * classic_bound(&epoch.problem) + epoch.lines;
        let horizon = (latest + spans.max().unwrap_or(0) + pitch) as usize;
        let longest = epoch.orbits.iter().flat_map(|orbit| &orbit.legs).map(|leg| leg.1).max().unwrap_or(0);
        let resources = epoch.problem.resources();
        let mut sweep = Self {
            epoch,
            pitch,
            time: 0,
            latest,
            horizon,
            taken: vec![false; resources * horizon],
            waiting: vec![Vec::new(); 2 * epoch.lines as usize],
            beginning: vec![0; resources * (longest as usize + 1)],
            longest,
            placements: vec![None; epoch.orbits.len()],
            left: epoch.orbits.len(),
            duration: 0,
        };
        for (job, orbit) in epoch.orbits.iter().enumerate() {
            let list = u32::from(orbit.backward) * epoch.lines + orbit.diagonal;
            sweep.waiting[list as usize].push(job as u32);
            let index = sweep.begins(orbit.legs[0], orbit.diagonal);
            sweep.beginning[index] += 1;
        }
        sweep
    }

    /// Goes on until all jobs are placed or `until` is reached; whether all are placed.
    pub fn advance(&mut self, manner: Manner, until: u32) -> bool {
        while self.left > 0 && self.time < until.min(self.latest) {
            let phase = self.time % self.pitch;
            for backward in [false, true] {
                // The diagonals that slots pass in this cycle.
                let first = if backward { manner.offset + self.pitch - phase } else { phase } % self.pitch;
                for diagonal in (first..self.epoch.lines).step_by(self.pitch as usize) {
                    self.start_one(manner, backward, diagonal);
                }
            }
            self.time += 1;
        }
        self.left == 0
    }

    /// Number of jobs that still wait.
    pub fn left(&self) -> usize {
        self.left
    }

    /// When the last packet placed is complete.
    pub fn duration(&self) -> u32 {
        self.duration
    }

    /// The placements of a complete pass.
    pub fn placements(&self) -> Option<Vec<Placement>> {
        self.placements.iter().copied().collect()
    }

    fn begins(&self, (direction, hops): (u32, u32), diagonal: u32) -> usize {
        ((direction * self.epoch.lines + diagonal) * (self.longest + 1) + hops) as usize
    }

    fn is_taken(&self, resource: u32, time: u32) -> bool {
        self.taken[resource as usize * self.horizon + time as usize]
    }

    /// Whether a port is free for a whole packet of the given length.
    fn port_is_free(&self, port: u32, time: u32, length: u32) -> bool {
        // All packets are equally long: one in the way covers one of the ends.
        !self.is_taken(port, time) && !self.is_taken(port, time + length - 1)
    }

    fn start_one(&mut self, manner: Manner, backward: bool, diagonal: u32) {
        let list = (u32::from(backward) * self.epoch.lines + diagonal) as usize;
        let best = self.waiting[list]
            .iter()
            .enumerate()
            .filter_map(|(index, &job)| Some((self.cost(manner.seed, job as usize)?, index)))
            .min();
        if let Some((_, index)) = best {
            let job = self.waiting[list].swap_remove(index) as usize;
            self.place(job);
        }
    }

    /// How badly a job fits now; `None` if something it needs is taken.
    fn cost(&self, seed: u64, job: usize) -> Option<i64> {
        let Self { epoch, time, .. } = *self;
        let description = &epoch.problem.jobs()[job];
        let [injection, links @ .., ejection] = &description.routes[0].uses[..] else { return None };
        let length = description.length;
        let free = self.port_is_free(injection.resource, time, length)
            && links.iter().all(|held| !self.is_taken(held.resource, time + held.offset))
            && self.port_is_free(ejection.resource, time + ejection.offset, length);
        if !free {
            return None;
        }
        let orbit = &epoch.orbits[job];
        let (mut hops, mut empty, mut blocked) = (0, 0, 0);
        for (number, leg) in orbit.legs.iter().enumerate() {
            // A first leg in the first dimension takes what comes; others could have waited.
            if number > 0 || Direction::from_index(leg.0 as usize).dimension() > 0 {
                empty += self.empty_before(&links[hops as usize], orbit.backward, time);
            }
            hops += leg.1;
            let port = injection.resource - orbit.diagonal + orbit.after(hops, epoch.lines);
            blocked += i64::from(!self.port_is_free(port, time + hops, length));
        }
        let successors = match orbit.legs[..] {
            [(direction, first), (_, next), ..] => {
                let there = orbit.after(first, epoch.lines);
                i64::from(self.beginning[self.begins((direction, next), there)])
            }
            _ => 0,
        };
        let weight = 8 + (seed % 24) as i64;
        let random = draw(seed, time, Purpose::Search, job as u64) % 16;
        Some(80 * (empty + blocked) - weight * successors + random as i64)
    }

    /// For how many hops before a link its slot travels empty, up to a dozen.
    fn empty_before(&self, held: &Use, backward: bool, time: u32) -> i64 {
        const FAR: u32 = 12;
        let lines = self.epoch.lines;
        let (kind, diagonal) = (held.resource / lines * lines, held.resource % lines);
        let at = time + held.offset;
        let before = (1..=FAR.min(at)).take_while(|&hops| {
            let back = hops % lines;
            let there = (diagonal + if backward { back } else { lines - back }) % lines;
            !self.is_taken(kind + there, at - hops)
        });
        before.count() as i64
    }

    fn place(&mut self, job: usize) {
        let time = self.time;
        let description = &self.epoch.problem.jobs()[job];
        let uses = &description.routes[0].uses;
        for (index, held) in uses.iter().enumerate() {
            let port = index == 0 || index + 1 == uses.len();
            let from = held.resource as usize * self.horizon + (time + held.offset) as usize;
            self.taken[from..from + if port { description.length as usize } else { 1 }].fill(true);
        }
        let orbit = &self.epoch.orbits[job];
        let index = self.begins(orbit.legs[0], orbit.diagonal);
        self.beginning[index] -= 1;
        self.placements[job] = Some(Placement { route: 0, start: time });
        self.left -= 1;
        self.duration = self.duration.max(time + description.routes[0].span);
    }
}
