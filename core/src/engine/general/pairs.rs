//! The pairs of a queue and an output channel that occur, and who of them is the owner.

use super::record::Set;
use crate::bits::Vector;

/// One plane per pair, allotted at its first grant, so that every routing function gets those it
/// uses. They are listed by output channel.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    queues: usize,
    /// Per output channel and queue: the plane, or [`NONE`].
    plane: Vec<u16>,
    /// Per output channel: where its pairs begin in `list`; and the end.
    first: Vec<u32>,
    /// Plane and queue.
    list: Vec<(u16, u16)>,
}

const NONE: u16 = u16::MAX;

impl Pairs {
    pub(super) fn new(queues: usize, outputs: usize) -> Self {
        Self { queues, plane: vec![NONE; queues * outputs], first: vec![0; outputs + 1], list: Vec::new() }
    }

    /// The plane of a pair that has one.
    #[inline(always)]
    pub(super) fn plane(&self, output: usize, queue: usize) -> Option<usize> {
        let plane = self.plane[output * self.queues + queue];
        (plane != NONE).then_some(plane.into())
    }

    /// The pairs of an output channel: planes and queues.
    #[inline(always)]
    pub(super) fn of_output(&self, output: usize) -> &[(u16, u16)] {
        &self.list[self.first[output] as usize..self.first[output + 1] as usize]
    }

    /// Routers in which the owner of an output channel has a flit, and those in which it has an owner.
    #[inline(always)]
    pub(super) fn ready<V: Vector>(&self, output: usize, own: &[V], nonempty: &[V]) -> (V, V) {
        let (mut ready, mut owner) = (V::zero(), V::zero());
        for &(plane, queue) in self.of_output(output) {
            let own = own[usize::from(plane)];
            ready = ready | own & nonempty[usize::from(queue)];
            owner = owner | own;
        }
        (ready, owner)
    }

    /// Flits that are taken of an output channel's owner leave its queue, and with a tail it is free; of
    /// `leaves` those queues count that are in `any`.
    #[inline(always)]
    pub(super) fn leave<V: Vector, S: Set>(
        &self,
        output: usize,
        taken: V,
        at_tail: V,
        own: &mut [V],
        leaves: &mut [V],
        any: &mut S,
    ) {
        for &(plane, queue) in self.of_output(output) {
            let (plane, queue) = (usize::from(plane), usize::from(queue));
            let others = if any.has(queue) { leaves[queue] } else { V::zero() };
            leaves[queue] = others | own[plane] & taken;
            *any |= S::of(queue, true);
            own[plane] = own[plane] & !at_tail;
        }
    }

    /// Gives a pair a plane.
    pub(super) fn allot(&mut self, output: usize, queue: usize) -> usize {
        let plane = self.list.len();
        self.plane[output * self.queues + queue] = plane as u16;
        self.list.insert(self.first[output + 1] as usize, (plane as u16, queue as u16));
        for first in &mut self.first[output + 1..] {
            *first += 1;
        }
        plane
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_listed_by_output() {
        let mut pairs = Pairs::new(5, 4);
        assert_eq!(pairs.plane(3, 1), None);
        assert_eq!(
            [pairs.allot(3, 1), pairs.allot(0, 2), pairs.allot(3, 4), pairs.allot(1, 0)],
            [0, 1, 2, 3]
        );
        assert_eq!(pairs.of_output(0), [(1, 2)]);
        assert_eq!(pairs.of_output(1), [(3, 0)]);
        assert_eq!(pairs.of_output(2), []);
        assert_eq!(pairs.of_output(3), [(0, 1), (2, 4)]);
        assert_eq!(pairs.plane(3, 4), Some(2));
    }
}
