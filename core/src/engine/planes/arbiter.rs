//! Round robin in planes: every router at once, each with an order of its own, exactly.
//!
//! For contenders `0..N` the state is one precedence bit per pair `j < k` ("j comes before k"), and
//! the constant cyclic order is one bit per triple `i < j < k` ("i, j, k follow in this order").
//! After a grant of `g`, the cyclic order starts behind `g`: a pair with `g` puts `g` last, and any
//! other pair follows the orientation of the triple.

use super::vector::Vector;

/// Index of the pair `j < k` of `n` contenders.
pub const fn pair(n: usize, j: usize, k: usize) -> usize {
    j * (2 * n - j - 1) / 2 + k - j - 1
}

/// Number of pairs of `n` contenders.
pub const fn pairs(n: usize) -> usize {
    n * (n - 1) / 2
}

/// Index of the triple `i < j < k` of `n` contenders.
pub const fn triple(n: usize, i: usize, j: usize, k: usize) -> usize {
    let rest = n - i;
    triples(n) - triples(rest) + pair(rest - 1, j - i - 1, k - i - 1)
}

/// Number of triples of `n` contenders.
pub const fn triples(n: usize) -> usize {
    if n < 3 { 0 } else { n * (n - 1) * (n - 2) / 6 }
}

/// The first contender in precedence that requests.
#[inline(always)]
pub fn first<V: Vector, const N: usize, const PAIRS: usize>(
    requests: [V; N],
    precedence: &[V; PAIRS],
) -> [V; N] {
    std::array::from_fn(|i| {
        let mut granted = requests[i];
        for (j, &request) in requests.iter().enumerate() {
            if j < i {
                granted = granted & !(request & precedence[pair(N, j, i)]);
            } else if j > i {
                // Not (request and not before) = the other request is absent or comes later.
                granted = granted & (!request | precedence[pair(N, i, j)]);
            }
        }
        granted
    })
}

/// Grants one request per router and rotates the orders of those that granted.
#[inline(always)]
pub fn grant<V: Vector, const N: usize, const PAIRS: usize, const TRIPLES: usize>(
    requests: [V; N],
    precedence: &mut [V; PAIRS],
    orientation: &[V; TRIPLES],
) -> [V; N] {
    let granted = first(requests, precedence);
    let mut any = requests[0];
    for &request in &requests[1..] {
        any = any | request;
    }
    for j in 0..N {
        for k in j + 1..N {
            let mut before = (precedence[pair(N, j, k)] & !any) | granted[k];
            for i in 0..N {
                if i < j {
                    before = before | (granted[i] & orientation[triple(N, i, j, k)]);
                } else if i > j && i < k {
                    before = before | (granted[i] & !orientation[triple(N, j, i, k)]);
                } else if i > k {
                    before = before | (granted[i] & orientation[triple(N, j, k, i)]);
                }
            }
            precedence[pair(N, j, k)] = before;
        }
    }
    granted
}

/// Precedence of a list of contenders, first to last: bit per pair.
pub fn precedence_of(ranks: &[usize]) -> impl Iterator<Item = bool> + '_ {
    let n = ranks.len();
    (0..n).flat_map(move |j| (j + 1..n).map(move |k| ranks[j] < ranks[k]))
}

/// Orientation of a list of contenders: bit per triple.
pub fn orientation_of(ranks: &[usize]) -> impl Iterator<Item = bool> + '_ {
    let n = ranks.len();
    let follows = |i: usize, j: usize, k: usize| {
        let (a, b, c) = (ranks[i], ranks[j], ranks[k]);
        // Going round once, exactly one of three steps leads back.
        usize::from(a < b) + usize::from(b < c) + usize::from(c < a) == 2
    };
    (0..n).flat_map(move |i| (i + 1..n).flat_map(move |j| (j + 1..n).map(move |k| follows(i, j, k))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planes::vector::{Words, words};

    /// Every cyclic order and every request against a list that is rotated.
    fn check<const N: usize, const PAIRS: usize, const TRIPLES: usize>() {
        let plane = |bit: bool| Words::<1>::splat(if bit { u64::MAX } else { 0 });
        let mut list: Vec<usize> = (0..N).collect();
        let mut state = 1_u64;
        for _ in 0..60 {
            for last in (1..N).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                list.swap(last, (state >> 33) as usize % (last + 1));
            }
            let ranks: Vec<usize> =
                (0..N).map(|i| list.iter().position(|&entry| entry == i).unwrap()).collect();
            let mut precedence: [Words<1>; PAIRS] =
                precedence_of(&ranks).map(plane).collect::<Vec<_>>().try_into().unwrap();
            let orientation: [Words<1>; TRIPLES] =
                orientation_of(&ranks).map(plane).collect::<Vec<_>>().try_into().unwrap();
            for _ in 0..40 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let asks = state >> 40;
                let granted: [_; N] =
                    grant(std::array::from_fn(|i| plane(asks >> i & 1 == 1)), &mut precedence, &orientation);
                let place = list.iter().position(|&entry| asks >> entry & 1 == 1);
                let chosen = place.map(|place| list[place]);
                for (i, &bits) in granted.iter().enumerate() {
                    assert_eq!(words(&[bits])[0] != 0, chosen == Some(i));
                }
                if let Some(place) = place {
                    list.rotate_left(place + 1);
                }
            }
        }
    }

    #[test]
    fn planes_rotate_lists_of_any_order() {
        check::<2, 1, 0>();
        check::<3, 3, 1>();
        check::<4, 6, 4>();
        check::<5, 10, 10>();
    }
}
