//! Numbers as planes: one plane per binary digit, the lowest first, a number per router.

use super::{Vector, words};
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Words and vectors.
pub(crate) trait Lanes:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl<B> Lanes for B where
    B: Copy + BitAnd<Output = B> + BitOr<Output = B> + BitXor<Output = B> + Not<Output = B>
{
}

/// Adds a carry to a digit; what is carried on is left in it.
#[inline(always)]
pub(crate) fn half_add<B: Lanes>(digit: &mut B, carry: &mut B) {
    let before = *digit;
    *digit = before ^ *carry;
    *carry = before & *carry;
}

/// Takes a borrow from a digit; what is borrowed further on is left in it.
#[inline(always)]
pub(crate) fn half_subtract<B: Lanes>(digit: &mut B, borrow: &mut B) {
    let before = *digit;
    *digit = before ^ *borrow;
    *borrow = *borrow & !before;
}

/// The sum of three digits, and what is carried on.
#[inline(always)]
pub(crate) fn full_add<B: Lanes>(a: B, b: B, c: B) -> (B, B) {
    (a ^ b ^ c, (a & b) | (c & (a ^ b)))
}

/// Adds one where `carry` says; where that overflows.
#[inline(always)]
pub(crate) fn count_up<'a, B: Lanes + 'a>(number: impl IntoIterator<Item = &'a mut B>, mut carry: B) -> B {
    for digit in number {
        half_add(digit, &mut carry);
    }
    carry
}

/// Takes one where `borrow` says; where nothing was left.
#[inline(always)]
pub(crate) fn count_down<'a, B: Lanes + 'a>(number: impl IntoIterator<Item = &'a mut B>, mut borrow: B) -> B {
    for digit in number {
        half_subtract(digit, &mut borrow);
    }
    borrow
}

/// As [`count_up`], for numbers so long that most carries end soon.
#[inline(always)]
pub(crate) fn count_up_long<'a, V: Vector>(number: impl IntoIterator<Item = &'a mut V>, mut carry: V) {
    for digit in number {
        if !carry.any() {
            break;
        }
        half_add(digit, &mut carry);
    }
}

/// Where a number is above another one, given where it was without its digit `bit`, the highest so far.
#[inline(always)]
pub(crate) fn above_with<B: Lanes>(above: B, most: u32, bit: usize, digit: B) -> B {
    if most >> bit & 1 == 1 { above & digit } else { above | digit }
}

/// Where a number is above another one.
#[inline(always)]
pub(crate) fn above<V: Vector>(number: &[V], most: u32) -> V {
    let mut above = V::zero();
    for (bit, &digit) in number.iter().enumerate() {
        above = above_with(above, most, bit, digit);
    }
    above
}

/// The number whose bits one lane has in some planes, the lowest first.
pub(crate) fn number_at<V: Vector>(planes: impl Iterator<Item = V>, lane: usize) -> u64 {
    let bit_of = |plane: V| words(&[plane])[lane / 64] >> (lane % 64) & 1;
    planes.enumerate().map(|(bit, plane)| bit_of(plane) << bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Words;

    /// Lane k of 64 has the number k of six digits.
    fn numbers() -> [Words<1>; 6] {
        let digit = |bit: usize| (0..64).map(|lane: u64| (lane >> bit & 1) << lane).sum::<u64>();
        std::array::from_fn(|bit| Vector::splat(digit(bit)))
    }

    fn lanes(set: impl Fn(u64) -> bool) -> u64 {
        (0..64).map(|lane| u64::from(set(lane)) << lane).sum()
    }

    #[test]
    fn lanes_count_and_compare_as_numbers_do() {
        let word = |plane: Words<1>| words(&[plane])[0];
        let some = lanes(|lane| lane % 3 != 1);
        for (up, change) in [(true, 1), (false, 63)] {
            let mut changed = numbers();
            let over = if up {
                count_up(&mut changed, Vector::splat(some))
            } else {
                count_down(&mut changed, Vector::splat(some))
            };
            for lane in 0..64 {
                let by = if some >> lane & 1 == 1 { change } else { 0 };
                assert_eq!(number_at(changed.into_iter(), lane as usize), (lane + by) % 64);
            }
            let end = if up { 63 } else { 0 };
            assert_eq!(word(over), lanes(|lane| lane == end && some >> lane & 1 == 1));
            let mut long = numbers();
            count_up_long(&mut long, Vector::splat(some));
            assert!(!up || long.map(word) == changed.map(word));
        }
        for most in 0..64 {
            assert_eq!(word(above(&numbers(), most)), lanes(|lane| lane > u64::from(most)), "{most}");
        }
        for [a, b, c] in [[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0]] {
            assert_eq!(full_add(a, b, c), ((a + b + c) & 1, (a + b + c) >> 1));
        }
    }
}
