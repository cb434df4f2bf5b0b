use super::{Program, System};

/// A lower bound on the largest load of any table of legal shortest routes, as an exact fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Numerator of the bound.
    pub numerator: u128,
    /// Denominator of the bound, positive.
    pub denominator: u128,
    /// How it was proven: `rings` (closed form) or `dual` (prices on the links).
    pub proof: &'static str,
}

impl Bound {
    /// The least integer that is not below the bound.
    pub fn ceil(&self) -> u64 {
        self.numerator.div_ceil(self.denominator) as u64
    }

    /// The bound itself, for display.
    pub fn value(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The stronger of two bounds.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        // Cross products fit: numerators and denominators stay below 2^63 after scaling.
        if other.value() > self.value() { other } else { self }
    }

    /// Closed form for a healthy system with one packet per pair: every dimension has to carry all
    /// hops along it, a mesh dimension all pairs across its cuts.
    ///
    /// A ring of even size d loads its links with at least `N d / 8`, of odd size with
    /// `N (d^2 - 1) / (8 d)`; the cut of a mesh dimension after i of d nodes with `i (d - i) N / d`.
    pub fn closed_form(system: &System) -> Self {
        let shape = system.fabric().shape();
        let nodes = system.nodes() as u128;
        (0..shape.dimensions())
            .map(|dimension| {
                let size = u128::from(shape.size(dimension));
                let (numerator, denominator) = if !shape.wraps(dimension) {
                    ((size / 2) * (size - size / 2) * nodes, size)
                } else if size % 2 == 0 {
                    (nodes * size, 8)
                } else {
                    (nodes * (size * size - 1), 8 * size)
                };
                Self { numerator, denominator, proof: "rings" }
            })
            .fold(Self { numerator: 0, denominator: 1, proof: "rings" }, Self::max)
    }

    /// The dual bound: at any prices on the links, no table is cheaper than every pair on its cheapest
    /// route, so the largest load is at least that cost over the sum of all prices.
    ///
    /// Prices start from powers of the given loads and follow them through `rounds` best responses
    /// (fictitious play), fewer if the bound comes to say `enough`.
    pub fn dual(program: &Program, row_loads: &[u64], rounds: u32, enough: u64) -> Self {
        let per_link = |loads: &[u64]| -> Vec<f64> {
            loads.iter().zip(&program.sizes).map(|(&load, &size)| load as f64 / size as f64).collect()
        };
        let mut average = per_link(row_loads);
        let mut response = vec![0; program.sizes.len()];
        let mut best = Self { numerator: 0, denominator: 1, proof: "dual" };
        let mut best_power = 8;
        let mut evaluate = |average: &[f64], power: i32| {
            let prices = prices(average, power);
            let numerator = program.respond(&prices, &mut response);
            let denominator: u128 = prices
                .iter()
                .zip(&program.sizes)
                .map(|(&price, &size)| u128::from(price) * u128::from(size))
                .sum();
            (Self { numerator, denominator: denominator.max(1), proof: "dual" }, per_link(&response))
        };
        for power in [4, 8, 16, 32, 64, 128] {
            let (bound, _) = evaluate(&average, power);
            if bound.value() > best.value() {
                (best, best_power) = (bound, power);
            }
        }
        for round in 0..rounds {
            if best.ceil() >= enough {
                break;
            }
            let power = best_power << (4 * round / rounds.max(1)).min(4);
            let (bound, loads) = evaluate(&average, power);
            best = best.max(bound);
            let share = 1.0 / f64::from(round + 8);
            for (mean, load) in average.iter_mut().zip(loads) {
                *mean += share * (load - *mean);
            }
        }
        best
    }
}

/// Integer prices proportional to a power of the loads.
fn prices(loads: &[f64], power: i32) -> Vec<u64> {
    let top = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    loads.iter().map(|load| ((load / top).powi(power) * f64::from(1 << 24)).round() as u64).collect()
}
