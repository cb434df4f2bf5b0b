//! Prices on channels as proofs: at any prices no way of sending is cheaper than every demand on its cheapest way, so
//! the fullest channel carries at least that cost over the sum of all prices (the dual of the maximum concurrent flow;
//! Shahrokhi and Matula 1990).
//!
//! Floats propose prices, and whole numbers prove: [`whole`] rounds them, and [`proven`] counts what those say. Prices
//! that are shares of the sum 1 climb by projected subgradients: [`Slope`] and [`project`].

mod channels;
mod lengths;

pub(crate) use channels::priced;
pub use channels::tightened;
pub(crate) use lengths::steep_lengths;
pub use lengths::{prove_load, proven_load};

/// Scales shares to the sum 1.
///
/// ```
/// let mut shares = [1.0, 3.0];
/// flitloom_core::flow::prices::scale(&mut shares);
/// assert_eq!(shares, [0.25, 0.75]);
/// ```
pub fn scale(shares: &mut [f64]) {
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum.max(f64::MIN_POSITIVE));
}

/// The nearest shares that are not negative and have the sum 1 (Held, Wolfe and Crowder 1974).
///
/// ```
/// let mut shares = [1.5, 0.75, -1.0];
/// flitloom_core::flow::prices::project(&mut shares);
/// assert_eq!(shares, [0.875, 0.125, 0.0]);
/// ```
pub fn project(shares: &mut [f64]) {
    let mut sorted = shares.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (count, share) in (1_u32..).zip(&sorted) {
        sum += share;
        let candidate = (sum - 1.0) / f64::from(count);
        if share - candidate > 0.0 {
            shift = candidate;
        }
    }
    shares.iter_mut().for_each(|share| *share = (*share - shift).max(0.0));
}

/// Where a bound rises: along the loads of cheapest ways, less their mean, since shares keep their sum.
#[derive(Clone, Copy, Debug)]
pub struct Slope {
    mean: f64,
    /// Sum of the squares of what differs from the mean; 0 where all loads are equal.
    pub square: f64,
}

impl Slope {
    /// The slope of loads.
    pub fn of(loads: &[f64]) -> Self {
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        Self { mean, square: loads.iter().map(|load| (load - mean) * (load - mean)).sum() }
    }

    /// Moves shares along their loads as far as would lift the bound by `gain` if it were linear (Polyak 1969), and
    /// back to the nearest shares.
    ///
    /// ```
    /// use flitloom_core::flow::prices::Slope;
    /// let (mut shares, loads) = ([0.5, 0.5], [3.0, 1.0]);
    /// Slope::of(&loads).climb(&mut shares, &loads, 0.5);
    /// assert_eq!(shares, [0.75, 0.25]);
    /// ```
    pub fn climb(self, shares: &mut [f64], loads: &[f64], gain: f64) {
        let length = gain / self.square;
        for (share, load) in shares.iter_mut().zip(loads) {
            *share += length * (load - self.mean);
        }
        project(shares);
    }
}

/// Prices as whole numbers, of which the highest is `highest`.
///
/// ```
/// use flitloom_core::flow::prices::whole;
/// assert_eq!(whole(&[0.5, 0.1, 0.0], 100.0), [100, 20, 0]);
/// ```
pub fn whole(prices: &[f64], highest: f64) -> Vec<u64> {
    let top = prices.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    prices.iter().map(|price| (price / top * highest).round() as u64).collect()
}

/// What the fullest channel carries at least, if all demands together cost `cost` on their cheapest ways, by the sum
/// of the prices of all channels.
///
/// ```
/// use flitloom_core::flow::prices::proven;
/// assert_eq!((proven(13, 4), proven(0, 0)), (4, 0));
/// ```
pub fn proven(cost: u128, prices: u128) -> u64 {
    u64::try_from(cost.div_ceil(prices.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The projection is the nearest point: from it no allowed direction leads nearer to where it came from.
        #[test]
        fn projections_are_nearest(given in proptest::collection::vec(-3.0_f64..3.0, 1..12)) {
            let mut shares = given.clone();
            project(&mut shares);
            prop_assert!(shares.iter().all(|&share| share >= 0.0));
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let away: Vec<f64> = given.iter().zip(&shares).map(|(given, share)| given - share).collect();
            let highest = away.iter().copied().fold(f64::MIN, f64::max);
            // What is taken off is the same wherever something is left, and no less elsewhere.
            for (away, _) in away.iter().zip(&shares).filter(|(_, share)| **share > 0.0) {
                prop_assert!((away - highest).abs() < 1e-12);
            }
        }
    }
}
