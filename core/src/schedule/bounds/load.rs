use crate::schedule::{Problem, Route};

/// Prices are shares of this, the price of the dearest resource.
const ONE: u64 = 1 << 32;
/// Rounds of prices that are tried.
const ROUNDS: u64 = 200;

/// A lower bound on the flits that the busiest resource must carry, whatever the routes.
///
/// For any prices `y` of the resources, the flits on the busiest one times the sum of all prices is at
/// least the total price of all flits, and that is at least what they pay on the cheapest routes:
/// `load >= sum(length * cheapest) / sum(y)`, in whole numbers. The prices follow the loads of those
/// cheapest routes by multiplicative weights, in whole numbers too, so that the bound is the same on
/// every machine. All packets have one length in most problems; the bound is then rounded up to a
/// multiple of it.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, Problem, RouteChoice, Slicing, load_bound};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let demand = |source| Demand { source, destination: 5, length: 8, slices: 1 };
/// let problem = Problem::new(&fabric, &[demand(0), demand(1)], Slicing::Free, RouteChoice::AnyOrder)?;
/// assert_eq!(load_bound(&problem), 16, "one port receives both");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_bound(problem: &Problem) -> u64 {
    let jobs = problem.jobs();
    let length = jobs.iter().map(|job| job.length).max().unwrap_or(1);
    let same = jobs.iter().all(|job| job.length == length);
    let mut prices = vec![ONE; problem.resources()];
    let mut best = 0;
    for round in 0..ROUNDS {
        let mut loads = vec![0_u64; problem.resources()];
        let mut paid = 0_u128;
        for job in jobs {
            let price =
                |route: &Route| -> u64 { route.uses.iter().map(|held| prices[held.resource as usize]).sum() };
            // Of equally cheap routes the first.
            let Some(route) = job.routes.iter().min_by_key(|route| price(route)) else { continue };
            paid += u128::from(price(route)) * u128::from(job.length);
            for held in &route.uses {
                loads[held.resource as usize] += u64::from(job.length);
            }
        }
        let all: u128 = prices.iter().map(|&price| u128::from(price)).sum();
        best = best.max(paid.div_ceil(all.max(1)) as u64);
        raise(&mut prices, &loads, round);
    }
    if same { best.next_multiple_of(u64::from(length)) } else { best }
}

/// Multiplies every price by about `exp(rate * load / largest load)`, with the rate `1 / sqrt(1 + round)`,
/// and scales the dearest to one.
fn raise(prices: &mut [u64], loads: &[u64], round: u64) {
    let largest = loads.iter().copied().max().unwrap_or(0).max(1);
    // ONE / sqrt(1 + round), rounded down.
    let rate = ((u128::from(ONE) * u128::from(ONE)) / u128::from(1 + round)).isqrt();
    let part = |a: u128, b: u128| a * b / u128::from(ONE);
    let mut raised: Vec<u128> = Vec::with_capacity(prices.len());
    for (&price, &load) in prices.iter().zip(loads) {
        let x = rate * u128::from(load) / u128::from(largest);
        // The first terms of the exponential series.
        let (square, cube) = (part(x, x), part(part(x, x), x));
        let factor = u128::from(ONE) + x + square / 2 + cube / 6 + part(square, square) / 24;
        raised.push(u128::from(price) * factor);
    }
    let top = raised.iter().copied().max().unwrap_or(0).max(1);
    for (price, raised) in prices.iter_mut().zip(raised) {
        *price = (raised * u128::from(ONE) / top) as u64;
    }
}
