//! All-to-all on tori, every packet in step with rotating slots.
//!
//! Dense traffic leaves no room for the gaps of arbitrary start times. Here a packet that travels
//! forward along all dimensions starts at its node's diagonal (the sum of its coordinates), modulo a
//! pitch that divides all sizes and is no shorter than a packet. Every forward link and every port
//! then sees these packets at one phase only: each ring carries slots that rotate at one hop per
//! cycle, and a packet that leaves a slot frees it for another that begins there at once. Backward
//! packets mirror this on the opposite links; one such pair of quadrants makes an epoch, and the
//! epochs follow each other. `lanes` and `octants` go further where a ring holds one slot only.

mod epoch;
mod fit;
mod lanes;
mod octants;
mod sweep;

use super::{Budget, Incumbent, Method, Progress, Schedule, Task};
use crate::{
    fabric::{Direction, Fabric, LinkId, NodeId, Shape, common_divisor},
    schedule::{Placement, Problem, classic_bound},
    traffic::{Purpose, draw},
};
use epoch::Epoch;
pub use octants::{OctantPair, octant_pair};
use sweep::{Manner, Start, Sweep, Ways};

/// Start and path of every job.
type Starts = Vec<(u32, Vec<LinkId>)>;

/// All-to-all traffic in step with rotating slots, on the given routes or on minimal ones with any number of
/// bends.
///
/// Where the slots of two dimensions meet, the packets in them may change places without any port,
/// so that a packet only has to begin wherever another one ends for all slots to be used. Kinds
/// that fit: one packet per ordered pair, all equally long, on a whole torus whose sizes have a common
/// divisor that is a multiple of the packet length, or of up to a quarter more.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Budget, Problem, Slicing, distance_bound, solve, verify};
/// use flitloom_core::traffic::{CollectiveOperation, Group};
/// let fabric = Fabric::new(Shape::torus(&[8, 8])?);
/// let demands = CollectiveOperation::AllToAll.phases(&Group::all(fabric.shape()), 3)?.remove(0);
/// let problem = Problem::over_any_minimal_route(&fabric, &demands)?;
/// let mut budget = Budget::of_moves(10_000);
/// let found = solve(&fabric, &problem, 1, &mut budget, &mut |_| ()).ok_or("does not fit")?;
/// let packets = found.packets(&demands, Slicing::OneInterval, &problem);
/// assert!(verify(&fabric, &packets)? >= distance_bound(&fabric, &demands));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Slots;

impl Method for Slots {
    const NAME: &'static str = "slots";
    const SUMMARY: &'static str =
        "all-to-all on tori: packets in step with slots that rotate around the rings";

    fn applies(task: &Task) -> bool {
        let (fabric, problem) = (task.fabric(), task.problem());
        let splits =
            |(lines, _)| problem.has_any_minimal_route() || epoch::split(fabric, problem, lines).is_some();
        !problem.is_in_phases() && slots(fabric.shape(), problem).is_some_and(splits)
    }

    fn improve(task: &Task, incumbent: &mut Incumbent, budget: &mut Budget) {
        let problem = task.problem();
        let found = match problem.has_any_minimal_route() {
            true => staircases(task, budget),
            // A general search gets what is left.
            false => {
                let moves = budget.moves / 2;
                exchange(task.fabric(), problem, Ways::InOrder, task.seed(), moves, budget)
            }
        };
        let Some(found) = found else { return };
        let placements = found.iter().map(|&(start, _)| Placement { route: 0, start }).collect();
        let mut schedule = Schedule::new(placements);
        if problem.has_any_minimal_route() {
            schedule.routed = Some(problem.with_paths(found.into_iter().map(|(_, path)| path.into())));
        }
        let best = schedule.duration(problem);
        incumbent.offer(schedule, task);
        incumbent.report(Progress { best, bound: 0, target: best, unplaced: 0, moves: budget.moves });
    }
}

/// With any number of bends: where rings hold one slot only by ways of their own, else by sweeps.
fn staircases(task: &Task, budget: &mut Budget) -> Option<Starts> {
    let (fabric, problem, seed) = (task.fabric(), task.problem(), task.seed());
    slots(fabric.shape(), problem)?;
    let demands = problem.demands(fabric);
    let moves = budget.moves;
    lanes::exchange(fabric, problem, &demands, seed, budget)
        .or_else(|| octants::exchange(fabric, problem, &demands))
        .or_else(|| {
            budget.moves = moves;
            exchange(fabric, problem, Ways::Staircase, seed, moves, budget)
        })
}

/// Start and path of every job; at most `moves` are taken from the budget.
fn exchange(
    fabric: &Fabric,
    problem: &Problem,
    ways: Ways,
    seed: u64,
    moves: u64,
    budget: &mut Budget,
) -> Option<Starts> {
    let (lines, pitch) = slots(fabric.shape(), problem)?;
    let epochs = epoch::split(fabric, problem, lines)?;
    let share = (moves / epochs.len() as u64).min(MOST_MOVES);
    let mut found: Vec<Option<(u64, Vec<Start>)>> = vec![None; epochs.len()];
    // A little for every epoch first, so that a stop finds all of them improved.
    for (round, given) in (0..).zip([share / 16, share - share / 16]) {
        for (epoch, found) in epochs.iter().zip(&mut found) {
            if found.is_some() && budget.is_over() {
                continue;
            }
            let seed = seed.wrapping_add(round << 32);
            let other = budget.share(given, |share| shortest(epoch, pitch, ways, seed, share));
            *found = found.take().into_iter().chain(other).min_by_key(|found| found.0);
        }
    }
    let mut schedule = Joined::new(fabric, problem);
    for (epoch, found) in epochs.iter().zip(found) {
        let packets = schedule.packets(epoch, &found?.1);
        schedule.append(packets);
    }
    schedule.starts.into_iter().collect()
}

/// Stages of a sweep in the time that the loads need; the rest of it has stages of the same length.
const STAGES: u64 = 32;
/// Most moves that are spent on an epoch.
const MOST_MOVES: u64 = 5_000_000;

/// Diagonals and pitch; `None` if this is not one equally long packet per pair on a whole torus
/// whose rings hold a whole number of slots.
fn slots(shape: &Shape, problem: &Problem) -> Option<(u32, u32)> {
    let nodes = shape.nodes();
    let length = problem.jobs().first()?.length;
    let equal = problem
        .jobs()
        .iter()
        .all(|job| job.length == length && job.routes.len() == 1 && job.routes[0].uses.len() > 2);
    let wraps = (0..shape.dimensions()).all(|dimension| shape.wraps(dimension));
    if !equal || !wraps || shape.is_twisted() || problem.jobs().len() != nodes * (nodes - 1) {
        return None;
    }
    let lines = (0..shape.dimensions()).map(|dimension| shape.size(dimension)).reduce(common_divisor)?;
    // With more padding than a quarter, arbitrary starts are better.
    let pitch = (length..=length + length / 4).find(|&pitch| lines.is_multiple_of(pitch))?;
    Some((lines, pitch))
}

/// A short schedule of one epoch: a sweep in stages, each of which goes on in the manner that led to
/// the best schedule when carried through. Also returns how bad it is.
fn shortest(
    epoch: &Epoch,
    pitch: u32,
    ways: Ways,
    seed: u64,
    budget: &mut Budget,
) -> Option<(u64, Vec<Start>)> {
    let bound = classic_bound(&epoch.problem);
    let jobs = epoch.orbits.len() as u64;
    // A stage carries half of the jobs through, on average.
    let tries = (2 * budget.moves / (STAGES * jobs)).max(1);
    let mut sweep = Sweep::new(epoch, pitch, ways);
    let mut best: Option<(Sweep, Manner)> = None;
    'stages: for stage in 0.. {
        let proven = best.as_ref().map_or(draw(seed, 2, Purpose::Search, 0), |best| best.1.weights);
        for number in 0..tries {
            if best.is_some() && (budget.moves < sweep.left() as u64 || budget.is_over()) {
                break 'stages;
            }
            budget.spend(sweep.left() as u64);
            let random = |purpose| draw(seed, purpose, Purpose::Search, stage * tries + number);
            let mut manner = Manner { seed: random(0), weights: random(1) };
            if number % 2 == 1 {
                manner.weights = proven;
            }
            let mut whole = sweep.clone();
            let complete = whole.advance(manner, u32::MAX);
            if complete && best.as_ref().is_none_or(|best| whole.badness() < best.0.badness()) {
                best = Some((whole, manner));
            }
        }
        let until = (u64::from(bound) * (stage + 1) / STAGES) as u32;
        if sweep.advance(best.as_ref()?.1, until) {
            break;
        }
    }
    let best = best?.0;
    Some((best.badness(), best.into_starts()?))
}

/// Epochs one after the other, each as early as the ports and links before it allow.
struct Joined<'a> {
    fabric: &'a Fabric,
    problem: &'a Problem,
    starts: Vec<Option<(u32, Vec<LinkId>)>>,
    /// Per resource, when it is free for good.
    free_from: Vec<u32>,
}

impl<'a> Joined<'a> {
    fn new(fabric: &'a Fabric, problem: &'a Problem) -> Self {
        let starts = vec![None; problem.jobs().len()];
        Self { fabric, problem, starts, free_from: vec![0; problem.resources()] }
    }

    /// Job, start and path of the packets of an epoch.
    fn packets(&self, epoch: &Epoch, starts: &[Start]) -> Vec<(usize, u32, Vec<LinkId>)> {
        let links = (self.fabric.shape().nodes() * self.fabric.shape().directions()) as u32;
        let mut packets = Vec::new();
        for (orbit, (start, way)) in epoch.orbits.iter().zip(starts) {
            for &job in &orbit.members {
                let source = self.problem.jobs()[job as usize].routes[0].uses[0].resource - links;
                packets.push((job as usize, *start, follow(self.fabric, source, way)));
            }
        }
        packets
    }

    /// Everything that a job holds on a path, with offsets.
    fn held<'p>(&'p self, job: usize, path: &'p [LinkId]) -> impl Iterator<Item = (u32, u32)> + 'p {
        let uses = &self.problem.jobs()[job].routes[0].uses;
        let ports = [uses.first(), uses.last()].into_iter().flatten();
        ports.map(|held| (held.resource, held.offset)).chain(path.iter().copied().zip(0..))
    }

    /// The smallest shift that puts each of the packets behind what was there before.
    fn shift(&self, packets: &[(usize, u32, Vec<LinkId>)]) -> u32 {
        let late = packets.iter().flat_map(|(job, start, path)| {
            self.held(*job, path).map(move |(resource, offset)| {
                self.free_from[resource as usize].saturating_sub(start + offset)
            })
        });
        late.max().unwrap_or(0)
    }

    fn append(&mut self, packets: Vec<(usize, u32, Vec<LinkId>)>) {
        let shift = self.shift(&packets);
        for (job, start, path) in packets {
            let start = start + shift;
            let length = self.problem.jobs()[job].length;
            let held: Vec<(u32, u32)> = self.held(job, &path).collect();
            for (resource, offset) in held {
                let free = &mut self.free_from[resource as usize];
                *free = (*free).max(start + offset + length);
            }
            self.starts[job] = Some((start, path));
        }
    }
}

/// The links of a way.
fn follow(fabric: &Fabric, source: NodeId, way: &[u32]) -> Vec<LinkId> {
    let mut here = source;
    let hop = |&direction: &u32| {
        let direction = Direction::from_index(direction as usize);
        let link = fabric.link(here, direction);
        here = fabric.shape().neighbour(here, direction).unwrap_or(here);
        link
    };
    way.iter().map(hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        schedule::{
            Demand, MethodName, PlannedPacket, RouteChoice, Slicing, Solution, distance_bound,
            planned_packets, search, solve, verify,
        },
        traffic::{CollectiveOperation, Group},
    };

    fn problem_of(fabric: &Fabric, demands: &[Demand]) -> Problem {
        Problem::new(fabric, demands, Slicing::OneInterval, RouteChoice::BalancedTies).unwrap()
    }

    fn exchange_of(fabric: &Fabric, length: u32) -> Vec<Demand> {
        let shape = fabric.shape();
        CollectiveOperation::AllToAll.phases(&Group::all(shape), length - 1).unwrap().remove(0)
    }

    /// In order, by slots alone.
    fn all_to_all(
        fabric: &Fabric,
        problem: &Problem,
        seed: u64,
        budget: &mut Budget,
    ) -> Option<Vec<Placement>> {
        let task = Task::new(fabric, problem, seed);
        if !Slots::applies(&task) {
            return None;
        }
        let mut told = |_| ();
        let found = search(&task, &[(MethodName::Slots, 1.0)], Incumbent::new(&task, &mut told), budget);
        found.map(|found| found.schedule.placements)
    }

    /// With any number of bends.
    fn staircases(fabric: &Fabric, demands: &[Demand], seed: u64, moves: u64) -> Vec<PlannedPacket> {
        let problem = Problem::over_any_minimal_route(fabric, demands).unwrap();
        let found: Solution = solve(fabric, &problem, seed, &mut limited(moves), &mut |_| ()).unwrap();
        found.packets(demands, Slicing::OneInterval, &problem)
    }

    fn limited(moves: u64) -> Budget<'static> {
        Budget::of_moves(moves)
    }

    #[test]
    fn schedules_have_no_conflicts_and_stay_near_the_load() {
        // Sizes, packet length, moves, and how far above the bound it may end, in per cent.
        let cases: [(&[u32], u32, u64, u32); 6] = [
            (&[16], 8, 10_000, 15),
            (&[8, 8], 4, 100_000, 35),
            (&[12, 6], 5, 20_000, 60),
            (&[16, 8], 8, 50_000, 15),
            (&[4, 4, 4], 2, 50_000, 20),
            (&[16, 16], 8, 100_000, 6),
        ];
        for (sizes, length, moves, above) in cases {
            let fabric = Fabric::new(Shape::torus(sizes).unwrap());
            let demands = exchange_of(&fabric, length);
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
    fn staircases_are_minimal_and_free_of_conflicts() {
        for (sizes, length, moves) in [
            (vec![8, 8], 8, 100_000),
            (vec![8, 8], 4, 50_000),
            (vec![4, 4, 4], 2, 20_000),
            (vec![12, 6], 5, 5_000),
        ] {
            let fabric = Fabric::new(Shape::torus(&sizes).unwrap());
            let demands = exchange_of(&fabric, length);
            let packets = staircases(&fabric, &demands, 1, moves);
            let duration = verify(&fabric, &packets).unwrap();
            let bound = distance_bound(&fabric, &demands);
            assert!(bound <= duration && 10 * duration <= 18 * bound, "{sizes:?}: {duration} over {bound}");
            for (packet, demand) in packets.iter().zip(&demands) {
                assert_eq!((packet.source, packet.destination), (demand.source, demand.destination));
                assert_eq!(
                    packet.path.len() as u32,
                    fabric.shape().distance(demand.source, demand.destination)
                );
            }
        }
    }

    #[test]
    fn rings_of_one_slot_are_nearly_filled() {
        // Sizes, packet length, moves, and the longest duration allowed.
        let cases: [(&[u32], u32, u64, u64); 4] = [
            (&[8, 8], 8, 500_000, 570),
            (&[4, 4], 4, 20_000, 75),
            (&[5, 5], 5, 20_000, 152),
            (&[12, 6], 6, 1, 760),
        ];
        for (sizes, length, moves, longest) in cases {
            let fabric = Fabric::new(Shape::torus(sizes).unwrap());
            let demands = exchange_of(&fabric, length);
            let packets = staircases(&fabric, &demands, 1, moves);
            let duration = verify(&fabric, &packets).unwrap();
            assert!(
                distance_bound(&fabric, &demands) <= duration && duration <= longest,
                "{sizes:?}: {duration}"
            );
            assert_eq!(staircases(&fabric, &demands, 1, moves), packets);
        }
    }

    #[test]
    fn octants_nearly_fill_all_links_of_a_cube() {
        let fabric = Fabric::new(Shape::torus(&[8, 8, 8]).unwrap());
        let demands = exchange_of(&fabric, 8);
        let packets = staircases(&fabric, &demands, 1, 1000);
        let duration = verify(&fabric, &packets).unwrap();
        let bound = distance_bound(&fabric, &demands);
        assert!(bound <= duration && duration <= 4190, "{duration} over {bound}");
        for (packet, demand) in packets.iter().zip(&demands) {
            let distance = fabric.shape().distance(demand.source, demand.destination);
            assert_eq!((packet.destination, packet.path.len() as u32), (demand.destination, distance));
        }
    }

    #[test]
    fn a_stop_leaves_a_complete_schedule() {
        let fabric = Fabric::new(Shape::torus(&[8, 8]).unwrap());
        let problem = problem_of(&fabric, &exchange_of(&fabric, 4));
        let mut budget = Budget::new(1 << 40, &|_| true);
        assert!(all_to_all(&fabric, &problem, 1, &mut budget).is_some());
    }

    #[test]
    fn other_traffic_and_networks_are_left_alone() {
        let none = |shape: Shape, length, keep: usize| {
            let fabric = Fabric::new(shape);
            let mut demands = exchange_of(&fabric, length);
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
