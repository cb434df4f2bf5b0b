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

/// The best lower bound on the duration: [`lower_bound`], and where routes can be chosen what
/// [`load_bound`] gives and what follows when all links of a kind are full.
///
/// Of problems with more than [`Problem::MAX_STARTS`] possible starts it is the classic bound.
pub fn proven_bound(fabric: &Fabric, problem: &Problem) -> u32 {
    if problem.starts() > Problem::MAX_STARTS {
        return classic_bound(problem);
    }
    let bound = lower_bound(problem).0;
    match problem.has_fixed_routes() {
        true => bound,
        false => crowded_bound(fabric, problem, bound.max(loaded_bound(problem))),
    }
}

fn loaded_bound(problem: &Problem) -> u32 {
    // Behind the last flit of the busiest resource: the rest of a way, one cycle at least.
    let local = problem.jobs().iter().flat_map(|job| &job.routes).any(|route| route.path.is_empty());
    load_bound(problem) as u32 + if local { 1 } else { 2 }
}
