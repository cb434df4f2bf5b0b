//! Who owns which output channel, in words.

use crate::{bits::Vector, engine::general::pairs::Pairs};

/// Who owns the output channels of a block.
pub(in crate::engine::general) struct Owners<'a, V> {
    pub pairs: &'a Pairs,
    /// Per pair of a queue and an output, where the queue owns the output.
    pub own: &'a [V],
    /// Per output, where its register holds a flit, and where that is a tail.
    pub registers: Option<(&'a [V], &'a [V])>,
}

impl<V: Vector> Owners<'_, V> {
    /// Where an output channel has an owner: until its tail has left, the register as well.
    #[inline(always)]
    pub(super) fn of(&self, output: usize) -> V {
        let mut taken = match self.registers {
            Some((full, tail)) => full[output] & tail[output],
            None => V::zero(),
        };
        for &(plane, _) in self.pairs.of_output(output) {
            taken = taken | self.own[usize::from(plane)];
        }
        taken
    }
}
