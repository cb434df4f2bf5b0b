//! Waiting times of a node that starts a packet with the same probability in every cycle.

use std::sync::Arc;

/// Entries of the table of waiting times; longer waits are drawn piecewise (they have no memory).
pub(super) const TABLE: usize = 4096;
/// Leading bits of a draw that say where in the table to look.
const GUIDE_BITS: u32 = 10;

/// A table by which a draw is turned into a waiting time, in integers: the same on any machine.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// `survival[k]` is the probability (of 2^64) that the next packet is more than `k` cycles away.
    survival: Arc<[u64]>,
    /// Per leading bits of a draw: the longest wait of any such draw; 0 behind the last.
    guide: Arc<[u16]>,
}

impl Waits {
    /// Those for a probability, as a share of all draws.
    pub(super) fn new(probability: u64) -> Self {
        let stay = u64::MAX - probability.min(u64::MAX - 1);
        let survival: Arc<[u64]> = (0..TABLE)
            .scan(u64::MAX, |left, _| {
                *left = ((u128::from(*left) * u128::from(stay)) >> 64) as u64;
                Some(*left)
            })
            .collect();
        let longest = |leading: u64| survival.partition_point(|&left| leading << (64 - GUIDE_BITS) < left);
        let guide = (0..1 << GUIDE_BITS).map(|leading| longest(leading) as u16).chain([0]).collect();
        Self { survival, guide }
    }

    /// Cycles more than one until the next packet; [`TABLE`] if there is none in so many.
    #[inline(always)]
    pub(super) fn wait(&self, drawn: u64) -> usize {
        let leading = (drawn >> (64 - GUIDE_BITS)) as usize;
        let (least, most) = (self.guide[leading + 1].into(), self.guide[leading].into());
        least + self.survival[least..most].partition_point(|&left| drawn < left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Purpose, draw};

    #[test]
    fn the_guide_does_not_change_a_wait() {
        for probability in [1 << 40, 1 << 57, 1 << 63, u64::MAX] {
            let waits = Waits::new(probability);
            let random = (0..1000).map(|index| draw(3, 0, Purpose::Gap, index));
            for drawn in random.chain([0, 1, u64::MAX, u64::MAX - 1]) {
                let whole = waits.survival.iter().position(|&left| drawn >= left).unwrap_or(TABLE);
                assert_eq!(waits.wait(drawn), whole, "{probability}: {drawn}");
            }
        }
    }
}
