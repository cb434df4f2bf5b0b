//! Round robin in planes: every router at once, each with an order of its own, exactly.
//!
//! For contenders `0..N` the state is one precedence bit per pair `j < k` ("j comes before k"), and
//! the constant cyclic order is one bit per triple `i < j < k` ("i, j, k follow in this order").
//! After a grant of `g`, the cyclic order starts behind `g`: a pair with `g` puts `g` last, and any
//! other pair follows the orientation of the triple.

use crate::bits::Vector;

/// Number of pairs of `n` contenders.
pub(super) const fn pairs(n: usize) -> usize {
    n * (n - 1) / 2
}

/// Number of triples of `n` contenders.
pub(super) const fn triples(n: usize) -> usize {
    if n < 3 { 0 } else { n * (n - 1) * (n - 2) / 6 }
}

// Written out, so that every plane is a constant index away and compilers have nothing to unroll.

/// The first of 2 contenders in precedence `b` that requests.
#[inline(always)]
pub(super) fn first2<V: Vector>(r: [V; 2], b: &[V; 1]) -> [V; 2] {
    let g0 = r[0] & (!r[1] | b[0]);
    let g1 = r[1] & !(r[0] & b[0]);
    [g0, g1]
}

/// The first of 3 contenders in precedence `b` that requests.
#[inline(always)]
pub(super) fn first3<V: Vector>(r: [V; 3], b: &[V; 3]) -> [V; 3] {
    let g0 = r[0] & (!r[1] | b[0]) & (!r[2] | b[1]);
    let g1 = r[1] & !(r[0] & b[0]) & (!r[2] | b[2]);
    let g2 = r[2] & !(r[0] & b[1]) & !(r[1] & b[2]);
    [g0, g1, g2]
}

/// Grants one of the requests `r` per router by the precedence `b` and rotates the orders of those
/// that granted. A request excludes a later one unless the later one comes before it; a granted
/// contender `k` of a pair leaves `j` before `k`, and any third one leaves their orientation `o`.
#[inline(always)]
pub(super) fn grant2<V: Vector>(r: [V; 2], b: &mut [V; 1]) -> [V; 2] {
    let g0 = r[0] & (!r[1] | b[0]);
    let g1 = r[1] & !(r[0] & b[0]);
    let none = !(r[0] | r[1]);
    b[0] = (b[0] & none) | g1;
    [g0, g1]
}

/// As [`grant2`], for 3 contenders.
#[inline(always)]
pub(super) fn grant3<V: Vector>(r: [V; 3], b: &mut [V; 3], o: &[V; 1]) -> [V; 3] {
    let g0 = r[0] & (!r[1] | b[0]) & (!r[2] | b[1]);
    let g1 = r[1] & !(r[0] & b[0]) & (!r[2] | b[2]);
    let g2 = r[2] & !(r[0] & b[1]) & !(r[1] & b[2]);
    let none = !(r[0] | r[1] | r[2]);
    b[0] = (b[0] & none) | g1 | (g2 & o[0]);
    b[1] = (b[1] & none) | g2 | (g1 & !o[0]);
    b[2] = (b[2] & none) | g2 | (g0 & o[0]);
    [g0, g1, g2]
}

/// As [`grant2`], for 4 contenders.
#[inline(always)]
pub(super) fn grant4<V: Vector>(r: [V; 4], b: &mut [V; 6], o: &[V; 4]) -> [V; 4] {
    let g0 = r[0] & (!r[1] | b[0]) & (!r[2] | b[1]) & (!r[3] | b[2]);
    let g1 = r[1] & !(r[0] & b[0]) & (!r[2] | b[3]) & (!r[3] | b[4]);
    let g2 = r[2] & !(r[0] & b[1]) & !(r[1] & b[3]) & (!r[3] | b[5]);
    let g3 = r[3] & !(r[0] & b[2]) & !(r[1] & b[4]) & !(r[2] & b[5]);
    let none = !(r[0] | r[1] | r[2] | r[3]);
    b[0] = (b[0] & none) | g1 | (g2 & o[0]) | (g3 & o[1]);
    b[1] = (b[1] & none) | g2 | (g1 & !o[0]) | (g3 & o[2]);
    b[2] = (b[2] & none) | g3 | (g1 & !o[1]) | (g2 & !o[2]);
    b[3] = (b[3] & none) | g2 | (g0 & o[0]) | (g3 & o[3]);
    b[4] = (b[4] & none) | g3 | (g0 & o[1]) | (g2 & !o[3]);
    b[5] = (b[5] & none) | g3 | (g0 & o[2]) | (g1 & o[3]);
    [g0, g1, g2, g3]
}

/// As [`grant2`], for 5 contenders.
#[inline(always)]
pub(super) fn grant5<V: Vector>(r: [V; 5], b: &mut [V; 10], o: &[V; 10]) -> [V; 5] {
    let g0 = r[0] & (!r[1] | b[0]) & (!r[2] | b[1]) & (!r[3] | b[2]) & (!r[4] | b[3]);
    let g1 = r[1] & !(r[0] & b[0]) & (!r[2] | b[4]) & (!r[3] | b[5]) & (!r[4] | b[6]);
    let g2 = r[2] & !(r[0] & b[1]) & !(r[1] & b[4]) & (!r[3] | b[7]) & (!r[4] | b[8]);
    let g3 = r[3] & !(r[0] & b[2]) & !(r[1] & b[5]) & !(r[2] & b[7]) & (!r[4] | b[9]);
    let g4 = r[4] & !(r[0] & b[3]) & !(r[1] & b[6]) & !(r[2] & b[8]) & !(r[3] & b[9]);
    let none = !(r[0] | r[1] | r[2] | r[3] | r[4]);
    b[0] = (b[0] & none) | g1 | (g2 & o[0]) | (g3 & o[1]) | (g4 & o[2]);
    b[1] = (b[1] & none) | g2 | (g1 & !o[0]) | (g3 & o[3]) | (g4 & o[4]);
    b[2] = (b[2] & none) | g3 | (g1 & !o[1]) | (g2 & !o[3]) | (g4 & o[5]);
    b[3] = (b[3] & none) | g4 | (g1 & !o[2]) | (g2 & !o[4]) | (g3 & !o[5]);
    b[4] = (b[4] & none) | g2 | (g0 & o[0]) | (g3 & o[6]) | (g4 & o[7]);
    b[5] = (b[5] & none) | g3 | (g0 & o[1]) | (g2 & !o[6]) | (g4 & o[8]);
    b[6] = (b[6] & none) | g4 | (g0 & o[2]) | (g2 & !o[7]) | (g3 & !o[8]);
    b[7] = (b[7] & none) | g3 | (g0 & o[3]) | (g1 & o[6]) | (g4 & o[9]);
    b[8] = (b[8] & none) | g4 | (g0 & o[4]) | (g1 & o[7]) | (g3 & !o[9]);
    b[9] = (b[9] & none) | g4 | (g0 & o[5]) | (g1 & o[8]) | (g2 & o[9]);
    [g0, g1, g2, g3, g4]
}

/// Precedence of a list of contenders, first to last: bit per pair.
pub(super) fn precedence_of(ranks: &[usize]) -> impl Iterator<Item = bool> + '_ {
    let n = ranks.len();
    (0..n).flat_map(move |j| (j + 1..n).map(move |k| ranks[j] < ranks[k]))
}

/// Orientation of a list of contenders: bit per triple.
pub(super) fn orientation_of(ranks: &[usize]) -> impl Iterator<Item = bool> + '_ {
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
    use crate::bits::{Words, words};

    /// Every cyclic order and every request against a list that is rotated.
    fn check<const N: usize, const PAIRS: usize, const TRIPLES: usize>(
        grant: impl Fn([Words<1>; N], &mut [Words<1>; PAIRS], &[Words<1>; TRIPLES]) -> [Words<1>; N],
    ) {
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
                let requests = std::array::from_fn(|i| plane(asks >> i & 1 == 1));
                let granted = grant(requests, &mut precedence, &orientation);
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
        check::<2, 1, 0>(|r, b, _| grant2(r, b));
        check::<3, 3, 1>(grant3);
        check::<4, 6, 4>(grant4);
        check::<5, 10, 10>(grant5);
    }
}
