use super::{KeepGoing, Program, System, TableError};
use crate::fabric::{LinkId, Sign};
use crate::flow::prices::{Slope, scale, whole};
use crate::power::power_of;

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
        (0..system.fabric().shape().dimensions())
            .map(|dimension| Self::along(system, dimension))
            .fold(Self { numerator: 0, denominator: 1, proof: "rings" }, Self::max)
    }

    /// What one dimension has to carry.
    fn along(system: &System, dimension: usize) -> Self {
        let shape = system.fabric().shape();
        let (nodes, size) = (system.nodes() as u128, u128::from(shape.size(dimension)));
        let (numerator, denominator) = if !shape.wraps(dimension) {
            ((size / 2) * (size - size / 2) * nodes, size)
        } else if size % 2 == 0 {
            (nodes * size, 8)
        } else {
            (nodes * (size * size - 1), 8 * size)
        };
        Self { numerator, denominator, proof: "rings" }
    }

    /// Prices of all links that prove the [closed form](Self::closed_form): one along the dimension that says most,
    /// of a mesh across its middle.
    pub(crate) fn closed_form_prices(system: &System) -> Vec<u64> {
        let (fabric, shape) = (system.fabric(), system.fabric().shape());
        let best = Self::closed_form(system);
        let dimension = (0..shape.dimensions()).find(|&dimension| Self::along(system, dimension) == best);
        let dimension = dimension.unwrap_or(0);
        let price = |link: LinkId| {
            let (node, direction) = fabric.link_ends(link);
            let upper = shape.coordinate(node, dimension) + u32::from(direction.sign() == Sign::Plus);
            let priced = shape.wraps(dimension) || upper == shape.size(dimension) / 2;
            u64::from(direction.dimension() == dimension && priced)
        };
        (0..(system.nodes() * shape.directions()) as LinkId).map(price).collect()
    }

    /// The dual bound: at any prices on the links, no table is cheaper than every pair on its cheapest
    /// route, so the largest load is at least that cost over the sum of all prices.
    ///
    /// Prices start from a power of the given loads and climb for `rounds` steps along the loads of the
    /// cheapest routes, as far as would lift the bound to `enough` if it were linear (Polyak 1969);
    /// fewer if the bound comes to say `enough`.
    ///
    /// Returns the prices of the rows that prove it, too.
    ///
    /// # Errors
    /// `keep_going`, which is told the fraction of the rounds, ended the climb by returning false.
    pub fn dual(
        program: &Program,
        row_loads: &[u64],
        rounds: u32,
        enough: u64,
        keep_going: KeepGoing<'_>,
    ) -> Result<(Self, Vec<u64>), TableError> {
        let sizes: Vec<f64> = program.sizes.iter().map(|&size| size as f64).collect();
        let per_link = |loads: &[u64]| -> Vec<f64> {
            loads.iter().zip(&sizes).map(|(&load, &size)| load as f64 / size).collect()
        };
        let mut response = vec![0; sizes.len()];
        let mut best = (Self { numerator: 0, denominator: 1, proof: "dual" }, Vec::new());
        // Shares of the rows in the sum of all prices, and the best seen so far.
        let (mut shares, mut leading) = (Vec::new(), Vec::new());
        let mut evaluate = |shares: &[f64], best: &mut (Self, Vec<u64>)| {
            let prices = whole_prices(shares, &sizes);
            let numerator = program.respond(&prices, &mut response);
            let denominator: u128 = prices
                .iter()
                .zip(&program.sizes)
                .map(|(&price, &size)| u128::from(price) * u128::from(size))
                .sum();
            let bound = Self { numerator, denominator: denominator.max(1), proof: "dual" };
            let better = bound.value() > best.0.value();
            if better {
                *best = (bound, prices);
            }
            (better, bound.value(), per_link(&response))
        };
        let loads = per_link(row_loads);
        let top = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for exponent in [4, 8, 16, 32, 64, 128] {
            shares =
                loads.iter().zip(&sizes).map(|(load, size)| power_of(load / top, exponent) * size).collect();
            if evaluate(&shares, &mut best).0 {
                leading.clone_from(&shares);
            }
        }
        shares.clone_from(&leading);
        scale(&mut shares);
        for round in 0..rounds {
            if !keep_going(f64::from(round) / f64::from(rounds)) {
                return Err(TableError::Interrupted);
            }
            if best.0.ceil() >= enough {
                break;
            }
            let (better, value, loads) = evaluate(&shares, &mut best);
            if better {
                leading.clone_from(&shares);
            } else if round % 64 == 63 {
                // Too far: on from the best prices with shorter steps.
                shares.clone_from(&leading);
                scale(&mut shares);
                continue;
            }
            let slope = Slope::of(&loads);
            if slope.square <= 0.0 {
                break;
            }
            slope.climb(&mut shares, &loads, 1.5 / f64::from(1 + round / 64) * (enough as f64 - value));
        }
        Ok(best)
    }
}

/// Whole prices of the links of every row, from the shares of the rows in their sum.
fn whole_prices(shares: &[f64], sizes: &[f64]) -> Vec<u64> {
    let prices: Vec<f64> = shares.iter().zip(sizes).map(|(share, size)| share / size).collect();
    whole(&prices, f64::from(1 << 24))
}
