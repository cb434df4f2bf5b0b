//! What no schedule can fall below, and the starts that are left for one of a given duration.

mod candidates;
mod chains;
mod classic;
mod crowding;
mod filter;
mod load;

pub use candidates::candidates;
pub use chains::chain_bound;
pub use classic::{classic_bound, distance_bound};
use crowding::crowded_bound;
pub(crate) use crowding::rotated;
pub use filter::{Contention, Domains};
pub use load::load_bound;

use super::problem::Problem;
use crate::fabric::Fabric;

impl Problem {
    /// Possible starts of all jobs in a schedule as short as the classic bound.
    pub fn starts(&self) -> u64 {
        u64::from(classic_bound(self)) * self.jobs().len() as u64
    }
}

/// The smallest duration that the [`Contention`] filter can not refute, and the starts it leaves.
///
/// The filter is monotone (what it refutes at T it refutes at T - 1), so the bound is found by
/// doubling steps from the classic bound and then halving.
pub fn lower_bound(problem: &Problem) -> (u32, Domains) {
    let contention = Contention::new(problem);
    let mut low = classic_bound(problem);
    let mut step = 1;
    // Some duration is always possible, one job after the other, so this ends.
    let mut best = loop {
        match contention.filter(problem, low) {
            Some(domains) => break (low, domains),
            None => low += step,
        }
        step *= 2;
    };
    let mut refuted = best.0.saturating_sub(step / 2);
    while best.0 > refuted + 1 {
        let middle = refuted + (best.0 - refuted) / 2;
        match contention.filter(problem, middle) {
            Some(domains) => best = (middle, domains),
            None => refuted = middle,
        }
    }
    best
}

/// A way to prove that no schedule of a problem is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`classic_bound`].
    Classic,
    /// [`lower_bound`].
    Filter,
    /// [`load_bound`], and the way behind the busiest resource.
    Load,
    /// What follows when all links of a kind are full.
    FullLinks,
    /// [`distance_bound`].
    Distance,
    /// [`chain_bound`].
    Chains,
}

/// A number of cycles that no schedule of a problem undercuts, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What proves it.
    pub bound: Bound,
    /// The least duration in cycles.
    pub cycles: u32,
}

impl Bound {
    /// All of them; each may build on what those before it have proven.
    pub const ALL: [Self; 6] =
        [Self::Classic, Self::Filter, Self::Load, Self::FullLinks, Self::Distance, Self::Chains];

    /// As users read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Filter => "filter",
            Self::Load => "load",
            Self::FullLinks => "full-links",
            Self::Distance => "distance",
            Self::Chains => "chains",
        }
    }

    /// The proof in a sentence.
    pub fn argument(self) -> &'static str {
        match self {
            Self::Classic => {
                "a port or link serves one flit a cycle, behind the shortest way to it and before the shortest way from it"
            }
            Self::Filter => {
                "for every shorter duration, windows in time on ports and links leave a packet without a start"
            }
            Self::Load => {
                "prices of ports and links show what the busiest one carries at least, whatever the routes"
            }
            Self::FullLinks => {
                "links of a kind would have to be full, and no route suits the phases in which packets may then start"
            }
            Self::Distance => {
                "all links together carry every flit over its distance, and ports what their nodes send and receive"
            }
            Self::Chains => {
                "what a node waits for comes one by one, and so does what waits for it: preemptive schedules of single ports and links"
            }
        }
    }

    /// Whether it says anything about problems of this kind, and does not need too much memory for it.
    pub fn applies(self, problem: &Problem) -> bool {
        match self {
            Self::Chains => problem.is_in_phases(),
            Self::Distance => problem.has_any_minimal_route(),
            _ if problem.is_in_phases() || problem.has_any_minimal_route() => false,
            Self::Classic => true,
            Self::Filter => problem.starts() <= Problem::MAX_STARTS,
            Self::Load | Self::FullLinks => {
                problem.starts() <= Problem::MAX_STARTS && !problem.has_fixed_routes()
            }
        }
    }

    /// What it proves of a problem to which it applies, given that at least `least` cycles are proven.
    pub fn prove(self, fabric: &Fabric, problem: &Problem, least: u32) -> Proof {
        let cycles = match self {
            Self::Classic => classic_bound(problem),
            Self::Filter => lower_bound(problem).0,
            Self::Load => loaded_bound(problem),
            Self::FullLinks => crowded_bound(fabric, problem, least),
            Self::Distance => {
                u32::try_from(distance_bound(fabric, &problem.demands(fabric))).unwrap_or(u32::MAX)
            }
            Self::Chains => chain_bound(problem),
        };
        Proof { bound: self, cycles }
    }
}

/// The best of all bounds that apply; of equal ones the first.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Bound, Demand, Problem, RouteChoice, Slicing, proof};
/// let fabric = Fabric::new(Shape::torus(&[8])?);
/// let demand = |source| Demand { source, destination: 3, length: 4, slices: 1 };
/// let problem =
///     Problem::new(&fabric, &[demand(1), demand(2)], Slicing::Free, RouteChoice::DimensionOrder)?;
/// let proof = proof(&fabric, &problem);
/// assert_eq!((proof.bound, proof.cycles), (Bound::Classic, 10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn proof(fabric: &Fabric, problem: &Problem) -> Proof {
    let nothing = Proof { bound: Bound::Classic, cycles: 0 };
    let applying = Bound::ALL.into_iter().filter(|bound| bound.applies(problem));
    applying.fold(nothing, |best, bound| {
        let other = bound.prove(fabric, problem, best.cycles);
        if other.cycles > best.cycles { other } else { best }
    })
}

/// The cycles of the best [`proof`].
pub fn proven_bound(fabric: &Fabric, problem: &Problem) -> u32 {
    proof(fabric, problem).cycles
}

fn loaded_bound(problem: &Problem) -> u32 {
    // Behind the last flit of the busiest resource: the rest of a way, one cycle at least.
    let local = problem.jobs().iter().flat_map(|job| &job.routes).any(|route| route.path.is_empty());
    load_bound(problem) as u32 + if local { 1 } else { 2 }
}
