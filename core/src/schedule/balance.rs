use super::Problem;

/// Chosen routes and the flits on the busiest link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// Index of the chosen route, per job.
    pub routes: Vec<usize>,
    /// Flits on the busiest link.
    pub load: u64,
    /// No choice of routes has a busiest link below this.
    pub bound: u64,
}

/// Chooses a route per job so that the busiest resource is as idle as possible.
///
/// Greedy with a convex cost per flit, then single jobs are taken out and routed anew until nothing
/// improves; the exponent rises so that the largest load counts more and more. The bound comes from
/// [`load_bound`]; the search ends as soon as it is reached.
pub fn balance(problem: &Problem) -> Balance {
    let bound = load_bound(problem);
    let mut loads = vec![0_u64; problem.resources()];
    let mut routes: Vec<Option<usize>> = vec![None; problem.jobs().len()];
    let mut best: Option<(u64, Vec<usize>)> = None;
    let unit = problem.jobs().iter().map(|job| job.length).max().unwrap_or(1);
    let unit = f64::from(unit);
    for exponent in [2, 8, 16, 32, 64] {
        for _ in 0..20 {
            let mut changed = false;
            for (job, description) in problem.jobs().iter().enumerate() {
                let length = u64::from(description.length);
                let old = routes[job];
                if let Some(old) = old {
                    description.routes[old].uses.iter().for_each(|held| {
                        loads[held.resource as usize] -= length;
                    });
                }
                let cost = |route: usize| -> f64 {
                    let uses = &description.routes[route].uses;
                    uses.iter()
                        .map(|held| {
                            let before = loads[held.resource as usize] as f64;
                            let after = before + length as f64;
                            (after / unit).powi(exponent) - (before / unit).powi(exponent)
                        })
                        .sum()
                };
                let mut chosen = old.map_or((f64::INFINITY, 0), |old| (cost(old) * (1.0 - 1e-9), old));
                for route in 0..description.routes.len() {
                    let candidate = cost(route);
                    if candidate < chosen.0 {
                        chosen = (candidate, route);
                    }
                }
                description.routes[chosen.1].uses.iter().for_each(|held| {
                    loads[held.resource as usize] += length;
                });
                changed |= old != Some(chosen.1);
                routes[job] = Some(chosen.1);
            }
            let load = loads.iter().copied().max().unwrap_or(0);
            if best.as_ref().is_none_or(|(least, _)| load < *least) {
                best = Some((load, routes.iter().flatten().copied().collect()));
            }
            if !changed || load <= bound {
                break;
            }
        }
    }
    let (load, routes) = best.unwrap_or_default();
    Balance { routes, load, bound }
}

/// A lower bound on the flits that the busiest resource must carry, whatever the routes.
///
/// For any non-negative prices `y` of the resources, the flits on the busiest one times the sum of
/// all prices is at least the total price of all flits, and that is at least what they pay on the
/// cheapest routes: `load >= sum(length * cheapest) / sum(y)`. The prices follow the loads of
/// those cheapest routes by multiplicative weights. All packets have one length in most problems; the
/// bound is then rounded up to a multiple of it.
pub fn load_bound(problem: &Problem) -> u64 {
    const ROUNDS: usize = 200;
    let jobs = problem.jobs();
    let length = jobs.iter().map(|job| job.length).max().unwrap_or(1);
    let same = jobs.iter().all(|job| job.length == length);
    let mut weights = vec![1.0_f64; problem.resources()];
    let mut best = 0.0_f64;
    for round in 0..ROUNDS {
        let mut loads = vec![0.0_f64; problem.resources()];
        let mut paid = 0.0;
        for job in jobs {
            let price = |route: &super::Route| -> f64 {
                route.uses.iter().map(|held| weights[held.resource as usize]).sum()
            };
            let cheapest = job
                .routes
                .iter()
                .map(|route| (price(route), route))
                .reduce(|a, b| if b.0 < a.0 { b } else { a });
            let Some((price, route)) = cheapest else { continue };
            paid += price * f64::from(job.length);
            for held in &route.uses {
                loads[held.resource as usize] += f64::from(job.length);
            }
        }
        best = best.max(paid / weights.iter().sum::<f64>());
        let largest = loads.iter().copied().fold(1.0, f64::max);
        let rate = 1.0 / (1.0 + round as f64).sqrt();
        let mut top = 0.0_f64;
        for (weight, load) in weights.iter_mut().zip(&loads) {
            *weight *= (rate * load / largest).exp();
            top = top.max(*weight);
        }
        weights.iter_mut().for_each(|weight| *weight /= top);
    }
    // A hair is left for rounding, far below one flit.
    let flits = (best * (1.0 - 1e-9) - 1e-6).ceil().max(0.0) as u64;
    if same { flits.next_multiple_of(u64::from(length)) } else { flits }
}
