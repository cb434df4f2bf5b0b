//! A load's rate over time.

use crate::traffic::WorkloadError;
use std::sync::Arc;

/// The largest share.
pub(super) const WHOLE: u64 = 1 << 62;

/// The rate of a load over time in flits per node and cycle: a straight line between any two points,
/// constant before the first and behind the last. Two points in one cycle are a step, which takes place
/// at the beginning of that cycle.
///
/// ```
/// use flitloom_core::traffic::Profile;
/// let ramp = Profile::new(&[(0, 0.0), (1000, 0.5)])?;
/// assert_eq!(ramp.most(), 0.5);
/// assert!(Profile::new(&[(100, 0.1), (50, 0.2)]).is_err());
/// # Ok::<(), flitloom_core::traffic::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    most: f64,
    pieces: Arc<[Piece]>,
}

/// A stretch on which the rate is a straight line, given as shares (of [`WHOLE`]) of the largest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: u64,
    share: u64,
    /// Change of the share per cycle, of 2^32.
    slope: i128,
}

impl Profile {
    /// The same rate for good.
    ///
    /// # Errors
    /// It is not above 0 and at most 1.
    pub fn constant(rate: f64) -> Result<Self, WorkloadError> {
        Self::new(&[(0, rate)])
    }

    /// A rate over time by its points: cycles and rates.
    ///
    /// # Errors
    /// There are no points, their cycles fall, a rate is not between 0 and 1, or all are 0.
    pub fn new(points: &[(u64, f64)]) -> Result<Self, WorkloadError> {
        if let Some(&(_, rate)) = points.iter().find(|(_, rate)| !(0.0..=1.0).contains(rate)) {
            return Err(WorkloadError::Rate(rate));
        }
        if let Some(pair) = points.windows(2).find(|pair| pair[0].0 > pair[1].0) {
            return Err(WorkloadError::Profile { cycle: pair[1].0, before: pair[0].0 });
        }
        let most = points.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
        if most <= 0.0 {
            return Err(WorkloadError::Rate(most));
        }
        // Division is correctly rounded everywhere; from here on only integers are used.
        let share = |rate: f64| (rate / most * WHOLE as f64) as u64;
        let piece = |(index, &(from, rate)): (usize, &(u64, f64))| {
            let share_here = share(rate);
            let slope = points.get(index + 1).filter(|next| next.0 > from).map_or(0, |&(to, next)| {
                ((i128::from(share(next)) - i128::from(share_here)) << 32) / i128::from(to - from)
            });
            Piece { from, share: share_here, slope }
        };
        let pieces = points.iter().enumerate().map(piece).collect();
        Ok(Self { most, pieces })
    }

    /// The largest rate, in flits per node and cycle.
    pub fn most(&self) -> f64 {
        self.most
    }

    /// The rate, if it never changes.
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| piece.share == WHOLE && piece.slope == 0)
    }

    /// The rate in a cycle as a share (of [`WHOLE`]) of the largest.
    #[inline(always)]
    pub(super) fn share(&self, cycle: u64) -> u64 {
        let piece = &self.pieces[self.piece(cycle)];
        let passed = i128::from(cycle.saturating_sub(piece.from));
        (i128::from(piece.share) + ((piece.slope * passed) >> 32)) as u64
    }

    /// The first cycle from one on in which the rate may be above 0; `None` if it stays 0.
    pub(super) fn next_above_zero(&self, cycle: u64) -> Option<u64> {
        let at = self.piece(cycle);
        let some = |piece: &Piece| piece.share > 0 || piece.slope > 0;
        if self.share(cycle) > 0 || some(&self.pieces[at]) {
            return Some(cycle);
        }
        self.pieces[at + 1..].iter().find(|piece| some(piece)).map(|piece| piece.from.max(cycle))
    }

    #[inline(always)]
    fn piece(&self, cycle: u64) -> usize {
        self.pieces.partition_point(|piece| piece.from <= cycle).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_lie_on_the_lines_between_points() {
        let profile =
            Profile::new(&[(10, 0.1), (20, 0.1), (20, 0.4), (60, 0.0), (100, 0.0), (100, 0.2)]).unwrap();
        let rate = |cycle| profile.share(cycle) as f64 / WHOLE as f64 * profile.most();
        for (cycle, expected) in [
            (0, 0.1),
            (10, 0.1),
            (19, 0.1),
            (20, 0.4),
            (40, 0.2),
            (50, 0.1),
            (70, 0.0),
            (100, 0.2),
            (1 << 40, 0.2),
        ] {
            assert!((rate(cycle) - expected).abs() < 1e-9, "{cycle}: {}", rate(cycle));
        }
        assert_eq!(
            [20, 59, 61, 99, 100].map(|cycle| profile.next_above_zero(cycle)),
            [20, 59, 100, 100, 100].map(Some)
        );
        let ended = Profile::new(&[(0, 0.3), (50, 0.3), (50, 0.0)]).unwrap();
        assert_eq!((ended.next_above_zero(49), ended.next_above_zero(50)), (Some(49), None));
        let ramp = Profile::new(&[(0, 0.0), (1 << 40, 1.0)]).unwrap();
        assert_eq!(ramp.share(1 << 39), WHOLE / 2);
        assert_eq!(ramp.next_above_zero(0), Some(0));
    }
}
