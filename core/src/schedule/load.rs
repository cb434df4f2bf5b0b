use super::{Problem, Route};

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
            let price = |route: &Route| -> f64 {
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
