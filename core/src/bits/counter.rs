//! Numbers as planes: one bit plane per binary digit, the lowest first, a number per router.

use super::{Vector, words};

/// The number whose bits one lane has in some planes, the lowest first.
pub fn number_at<V: Vector>(planes: impl Iterator<Item = V>, lane: usize) -> u64 {
    let bit_of = |plane: V| words(&[plane])[lane / 64] >> (lane % 64) & 1;
    planes.enumerate().map(|(bit, plane)| bit_of(plane) << bit).sum()
}
