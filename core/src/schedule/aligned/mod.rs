//! All-to-all on tori, every packet in step with rotating slots.
//!
//! Dense traffic leaves no room for the gaps of arbitrary start times. Here a packet that travels
//! forward along all dimensions starts at its node's diagonal (the sum of its coordinates), modulo a
//! pitch that divides all sizes and is no shorter than a packet. Every forward link and every port
//! then sees these packets at one phase only: each ring carries slots that rotate at one hop per
//! cycle, and a packet that leaves a slot frees it for another that begins there at once. Backward
//! packets mirror this on the opposite links; one such pair of quadrants makes an epoch, and the
//! epochs follow each other.

mod epoch;
mod sweep;

use super::{Budget, Placement, Problem, bounds::classic_bound};
use crate::{
    fabric::{Fabric, Shape},
    traffic::{Purpose, draw},
};
use epoch::Epoch;
use sweep::{Manner, Sweep};

/// A schedule of all-to-all traffic; `None` if the traffic or the network is of another kind.
///
pub(super) fn all_to_all(
    fabric: &Fabric,
    problem: &Problem,
    seed: u64,
    budget: &mut Budget,
) -> Option<Vec<Placement>> {
    let (lines, pitch) = slots(fabric.shape(), problem)?;
    let epochs = epoch::split(fabric, problem, lines)?;
    let mut schedule = Joined::new(problem);
    let moves = budget.moves / 2;
    for epoch in &epochs {
        let given = moves / epochs.len() as u64;
        let mut share = Budget { moves: given, should_stop: budget.should_stop };
        let starts = shortest(epoch, pitch, seed, &mut share)?;
        budget.moves -= given - share.moves;
        schedule.append(problem, epoch, &starts);
    }
    schedule.placements.into_iter().collect()
}

/// Stages of a sweep.
const STAGES: u64 = 16;
/// Most manners that are tried per stage.
const MOST_TRIES: u64 = 32;

/// Diagonals and pitch; `None` if this is not one equally long packet per pair on a whole torus
/// whose rings hold a whole number of slots.
fn slots(shape: &Shape, problem: &Problem) -> Option<(u32, u32)> {
    let nodes = shape.nodes();
    let length = problem.jobs().first()?.length;
    let equal = problem.jobs().iter().all(|job| job.length == length && job.routes[0].uses.len() > 2);
    let wraps = (0..shape.dimensions()).all(|dimension| shape.wraps(dimension));
    if !equal || !wraps || !problem.has_fixed_routes() || problem.jobs().len() != nodes * (nodes - 1) {
        return None;
    }
    let lines = (0..shape.dimensions()).map(|dimension| shape.size(dimension)).reduce(common_divisor)?;
    // With more padding than a quarter, arbitrary starts are better.
    let pitch = (length..=length + length / 4).find(|&pitch| lines.is_multiple_of(pitch))?;
    Some((lines, pitch))
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// A short schedule of one epoch: a sweep in stages, each of which goes on in the manner that led to
/// the shortest schedule when carried through.
fn shortest(epoch: &Epoch, pitch: u32, seed: u64, budget: &mut Budget) -> Option<Vec<Placement>> {
    let bound = classic_bound(&epoch.problem);
    let jobs = epoch.orbits.len() as u64;
    // A stage carries half of the jobs through, on average.
    let tries = (2 * budget.moves / (STAGES * jobs)).clamp(1, MOST_TRIES);
    let mut sweep = Sweep::new(epoch, pitch);
    let mut best: Option<(Sweep, Manner)> = None;
    for stage in 0..STAGES {
        for number in 0..tries {
            if best.is_some() && (budget.moves < sweep.left() as u64 || (budget.should_stop)()) {
                return best?.0.placements();
            }
            budget.moves = budget.moves.saturating_sub(sweep.left() as u64);
            // The slots can only be shifted before the first start.
            let offset =
                best.as_ref().filter(|_| stage > 0).map_or(number as u32 % pitch, |best| best.1.offset);
            let manner = Manner { seed: draw(seed, 0, Purpose::Search, stage * tries + number), offset };
            let mut whole = sweep.clone();
            let complete = whole.advance(manner, u32::MAX);
            if complete && best.as_ref().is_none_or(|best| whole.duration() < best.0.duration()) {
                best = Some((whole, manner));
            }
        }
        let until = (u64::from(bound) * (stage + 1) / STAGES) as u32;
        sweep.advance(best.as_ref()?.1, until);
    }
    best?.0.placements()
}

/// Epochs one after the other, each as early as the ports and links before it allow.
struct Joined {
    placements: Vec<Option<Placement>>,
    /// Per resource, when it is free for good.
    free_from: Vec<u32>,
}

impl Joined {
    fn new(problem: &Problem) -> Self {
        Self { placements: vec![None; problem.jobs().len()], free_from: vec![0; problem.resources()] }
    }

    fn append(&mut self, problem: &Problem, epoch: &Epoch, starts: &[Placement]) {
        let of_members = || {
            epoch.orbits.iter().zip(starts).flat_map(|(orbit, placement)| {
                orbit.members.iter().map(|&job| (job as usize, placement.start))
            })
        };
        let uses = |job: usize| problem.jobs()[job].routes[0].uses.iter();
        let mut first = vec![u32::MAX; self.free_from.len()];
        for (job, start) in of_members() {
            for held in uses(job) {
                let first = &mut first[held.resource as usize];
                *first = (*first).min(start + held.offset);
            }
        }
        let shift = self.free_from.iter().zip(&first).map(|(&free, &first)| free.saturating_sub(first)).max();
        let shift = shift.unwrap_or(0);
        for (job, start) in of_members() {
            let start = start + shift;
            self.placements[job] = Some(Placement { route: 0, start });
            for held in uses(job) {
                let free = &mut self.free_from[held.resource as usize];
                *free = (*free).max(start + held.offset + problem.jobs()[job].length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Demand, Group, Operation, RouteChoice, Slicing, planned_packets, verify};

    fn problem_of(fabric: &Fabric, demands: &[Demand]) -> Problem {
        Problem::new(fabric, demands, Slicing::OneInterval, RouteChoice::BalancedTies).unwrap()
    }

    fn exchange(fabric: &Fabric, length: u32) -> Vec<Demand> {
        let shape = fabric.shape();
        Operation::AllToAll.phases(shape, &Group::all(shape), length - 1).unwrap().remove(0)
    }

    fn limited(moves: u64) -> Budget<'static> {
        Budget { moves, should_stop: &|| false }
    }

    #[test]
    fn schedules_have_no_conflicts_and_stay_near_the_load() {
        // Sizes, packet length, moves, and how far above the bound it may end, in per cent.
        let cases: [(&[u32], u32, u64, u32); 6] = [
            (&[16], 8, 10_000, 10),
            (&[8, 8], 4, 100_000, 35),
            (&[12, 6], 5, 20_000, 60),
            (&[16, 8], 8, 50_000, 15),
            (&[4, 4, 4], 2, 50_000, 20),
            (&[16, 16], 8, 100_000, 6),
        ];
        for (sizes, length, moves, above) in cases {
            let fabric = Fabric::new(Shape::torus(sizes).unwrap());
            let demands = exchange(&fabric, length);
            let problem = problem_of(&fabric, &demands);
            let placements = all_to_all(&fabric, &problem, 1, &mut limited(moves)).unwrap();
            let packets = planned_packets(&demands, Slicing::OneInterval, &problem, &placements);
            let duration = verify(&fabric, &packets).unwrap();
            let bound = u64::from(classic_bound(&problem));
            assert!(bound <= duration, "{sizes:?}");
            assert!(100 * duration <= u64::from(100 + above) * bound, "{sizes:?}: {duration} over {bound}");
            assert_eq!(all_to_all(&fabric, &problem, 1, &mut limited(moves)), Some(placements));
        }
    }

    #[test]
    fn a_stop_leaves_a_complete_schedule() {
        let fabric = Fabric::new(Shape::torus(&[8, 8]).unwrap());
        let problem = problem_of(&fabric, &exchange(&fabric, 4));
        let mut budget = Budget { moves: 1 << 40, should_stop: &|| true };
        assert!(all_to_all(&fabric, &problem, 1, &mut budget).is_some());
    }

    #[test]
    fn other_traffic_and_networks_are_left_alone() {
        let none = |shape: Shape, length, keep: usize| {
            let fabric = Fabric::new(shape);
            let mut demands = exchange(&fabric, length);
            demands.truncate(keep);
            all_to_all(&fabric, &problem_of(&fabric, &demands), 1, &mut limited(1000)).is_none()
        };
        assert!(none(Shape::mesh(&[8, 8]).unwrap(), 8, usize::MAX));
        assert!(none(Shape::torus(&[4, 4]).unwrap(), 8, usize::MAX), "rings shorter than a packet");
        assert!(none(Shape::torus(&[8, 8]).unwrap(), 5, usize::MAX), "slots mostly padding");
        assert!(none(Shape::torus(&[8, 8]).unwrap(), 4, 100), "not every pair");
        assert!(!none(Shape::torus(&[8, 8]).unwrap(), 4, usize::MAX));
    }
}
