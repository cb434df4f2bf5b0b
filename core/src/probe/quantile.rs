//! Quantiles of the normal distribution.

/// Steps of the bisection: more change nothing.
const STEPS: u32 = 60;
/// Largest quantile that is told apart.
const MOST: f64 = 8.0;

/// The quantile of the normal distribution that is exceeded with a probability of at most one half.
pub(super) fn upper(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, MOST);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if tail(middle) > probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability that a normal variable exceeds a value from 0 on, by Simpson's rule over what is left of one
/// half, or by the continued fraction of Laplace far out.
fn tail(value: f64) -> f64 {
    let density = |at: f64| (-at * at / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if value > 3.0 {
        let fraction = (1..=60).rev().fold(value, |below, term| value + f64::from(term) / below);
        return density(value) / fraction;
    }
    let (pieces, step) = (200, value / 200.0);
    let inner = (1..pieces).map(|piece| {
        let weight = if piece % 2 == 1 { 4.0 } else { 2.0 };
        weight * density(f64::from(piece) * step)
    });
    0.5 - (density(0.0) + density(value) + inner.sum::<f64>()) * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::upper;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (probability, quantile) in
            [(0.5, 0.0), (0.025, 1.959_964), (0.002, 2.878_162), (1e-5, 4.264_891), (1e-7, 5.199_338)]
        {
            assert!((upper(probability) - quantile).abs() < 1e-6, "{probability}");
        }
    }
}
