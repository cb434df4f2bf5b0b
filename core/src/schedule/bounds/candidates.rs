use super::{Contention, crowding::crowded_phases};
use crate::{fabric::Fabric, schedule::Problem};

/// For every job and each of its routes the starts that may belong to a schedule of `target` cycles;
/// `None` if there is proven to be none.
///
/// Only starts that no such schedule has are missing: the [`Contention`] filter and the phases of full
/// links remove no others, and a route longer than what is left after a start cannot be taken then.
/// A route without any start is not taken.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, Problem, RouteChoice, Slicing, candidates};
/// let fabric = Fabric::new(Shape::torus(&[4])?);
/// let demand = Demand { source: 0, destination: 2, length: 4, slices: 1 };
/// let problem = Problem::new(&fabric, &[demand], Slicing::Free, RouteChoice::AnyOrder)?;
/// // Two hops either way round, four flits and one cycle to completion.
/// assert_eq!(candidates(&fabric, &problem, 8), Some(vec![vec![vec![0, 1], vec![0, 1]]]));
/// assert_eq!(candidates(&fabric, &problem, 6), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn candidates(fabric: &Fabric, problem: &Problem, target: u32) -> Option<Vec<Vec<Vec<u32>>>> {
    let domains = Contention::new(problem).filter(problem, target)?;
    // With one route per job the filter's windows say more than the phases of all links of a kind.
    let phases =
        if problem.has_fixed_routes() { Vec::new() } else { crowded_phases(fabric, problem, target)? };
    let starts = |job: usize| -> Vec<Vec<u32>> {
        let description = &problem.jobs()[job];
        let of_route = |route: usize| {
            let last = target.checked_sub(description.routes[route].span);
            let in_phase = |start: u32| {
                phases.iter().all(|left| left[job][route] >> (start % description.length) & 1 == 1)
            };
            let starts = domains.starts(job).filter(|&start| Some(start) <= last && in_phase(start));
            starts.collect()
        };
        (0..description.routes.len()).map(of_route).collect()
    };
    let all: Vec<_> = (0..problem.jobs().len()).map(starts).collect();
    all.iter().all(|routes| routes.iter().any(|starts| !starts.is_empty())).then_some(all)
}
