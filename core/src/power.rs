/// A whole power of a number by repeated squaring: multiplications alone, which every machine rounds alike,
/// while `f64::powi` leaves its precision open.
pub(crate) fn power_of(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    loop {
        if left & 1 == 1 {
            result *= square;
        }
        left >>= 1;
        if left == 0 {
            return result;
        }
        square *= square;
    }
}

#[cfg(test)]
mod tests {
    use super::power_of;

    #[test]
    fn powers_are_exact_where_they_can_be() {
        assert_eq!(
            [0, 1, 2, 5, 8, 32].map(|exponent| power_of(3.0, exponent)),
            [0, 1, 2, 5, 8, 32].map(exact)
        );
        assert_eq!(power_of(-2.0, 3), -8.0);
    }

    fn exact(exponent: u32) -> f64 {
        3_u64.pow(exponent) as f64
    }
}
