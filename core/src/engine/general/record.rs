//! What an output channel knows of the queues of its router, in one integer.

use crate::{router::MAX_QUEUES, save::Plain};
use std::{
    hint::select_unpredictable,
    ops::{BitAnd, BitOr, BitOrAssign, Not},
};

/// An output channel: the queues that request it (one bit each, in the order of its port list, the
/// channels of a port ascending), its owner (0 for none, else one more than the queue), and the
/// place of its port list at which the next evaluation begins.
pub(super) trait Record: Plain + Send + Sync + 'static {
    /// Bits for requests.
    const REQUESTS: usize;
    /// Largest number of ports.
    const PORTS: usize;
    /// A set of queues or output channels of a router.
    type Set: Set;
    /// Nobody asks, nobody owns, the list begins at its front.
    const EMPTY: Self;

    /// Neither owned nor requested.
    fn is_idle(self) -> bool;
    /// Whether any queue requests it.
    fn is_requested(self) -> bool;
    /// Whether the queue of a bit requests it.
    fn requests(self, bit: u32) -> bool;
    /// The first request at or after a bit, going round.
    fn first_request(self, from: u32) -> u32;
    /// Where the evaluation of its port list begins.
    fn rotation(self) -> u32;
    /// 0 for none, else one more than the queue.
    fn owner(self) -> u32;
    /// With one more request.
    #[must_use]
    fn ask(self, bit: u32) -> Self;
    /// Without the request of a bit.
    #[must_use]
    fn withdraw(self, bit: u32) -> Self;
    /// Granted to the queue of a bit.
    #[must_use]
    fn grant(self, bit: u32, owner: u32, rotation: u32) -> Self;
    /// Without owner.
    #[must_use]
    fn free(self) -> Self;
    /// With its list back at the front.
    #[must_use]
    fn rewind(self) -> Self;
}

/// A set of small numbers.
pub(super) trait Set:
    Copy
    + Default
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + BitOrAssign
{
    /// A number alone, or nothing.
    fn of(number: usize, there: bool) -> Self;
    /// All numbers below a limit.
    fn below(limit: usize) -> Self;
    /// Whether a number is in it.
    fn has(self, number: usize) -> bool;
    /// Whether it is empty.
    fn is_empty(self) -> bool;
    /// Takes the lowest number out of one that is not empty.
    fn pop(&mut self) -> usize;
    /// So many bits from a number on, at most eight.
    fn part(self, from: usize, count: usize) -> u8;
}

macro_rules! set {
    ($word:ty) => {
        impl Set for $word {
            #[inline(always)]
            fn of(number: usize, there: bool) -> Self {
                Self::from(there) << number
            }

            #[inline(always)]
            fn below(limit: usize) -> Self {
                (1 << limit) - 1
            }

            #[inline(always)]
            fn has(self, number: usize) -> bool {
                self >> number & 1 == 1
            }

            #[inline(always)]
            fn is_empty(self) -> bool {
                self == 0
            }

            #[inline(always)]
            fn pop(&mut self) -> usize {
                let first = self.trailing_zeros() as usize;
                *self &= *self - 1;
                first
            }

            #[inline(always)]
            fn part(self, from: usize, count: usize) -> u8 {
                (self >> from) as u8 & ((1_u16 << count) - 1) as u8
            }
        }
    };
}
set!(u64);
set!(u128);

macro_rules! record {
    ($word:ty, $requests:literal, $owner:literal, $set:ty) => {
        impl Record for $word {
            type Set = $set;
            const REQUESTS: usize = $requests;
            const PORTS: usize = 1 << (<$word>::BITS - $requests - $owner);
            const EMPTY: Self = 0;

            #[inline(always)]
            fn is_idle(self) -> bool {
                self & ((1 << ($requests + $owner)) - 1) == 0
            }

            #[inline(always)]
            fn is_requested(self) -> bool {
                self & ((1 << $requests) - 1) != 0
            }

            #[inline(always)]
            fn requests(self, bit: u32) -> bool {
                self >> bit & 1 != 0
            }

            #[inline(always)]
            fn first_request(self, from: u32) -> u32 {
                let all = self & ((1 << $requests) - 1);
                let later = all >> from << from;
                select_unpredictable(later == 0, all, later).trailing_zeros()
            }

            #[inline(always)]
            fn rotation(self) -> u32 {
                (self >> ($requests + $owner)) as u32
            }

            #[inline(always)]
            fn owner(self) -> u32 {
                (self >> $requests) as u32 & ((1 << $owner) - 1)
            }

            #[inline(always)]
            fn ask(self, bit: u32) -> Self {
                self | 1 << bit
            }

            #[inline(always)]
            fn withdraw(self, bit: u32) -> Self {
                self & !(1 << bit)
            }

            #[inline(always)]
            fn grant(self, bit: u32, owner: u32, rotation: u32) -> Self {
                self & ((1 << $requests) - 1) & !(1 << bit)
                    | (owner as $word) << $requests
                    | (rotation as $word) << ($requests + $owner)
            }

            #[inline(always)]
            fn free(self) -> Self {
                self & !(((1 << $owner) - 1) << $requests)
            }

            #[inline(always)]
            fn rewind(self) -> Self {
                self & ((1 << ($requests + $owner)) - 1)
            }
        }
    };
}
record!(u32, 24, 5, u64);
record!(u64, 50, 6, u64);
record!(u128, 112, 8, u128);
const _: () = assert!(MAX_QUEUES <= u128::REQUESTS, "the widest record has room for all queues");

/// Planes of a block of which any bit may be set; all others are clear. What is not set costs
/// nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Any<S> {
    /// Output channels with an owner.
    pub owned: S,
    /// Output channels that send a flit, a header, a tail in this cycle.
    pub sent: S,
    pub heads: S,
    pub tails: S,
    /// Queues a flit leaves in this cycle, and queues that are full.
    pub leaves: S,
    pub full: S,
    /// Output channels that are parked.
    pub parked: S,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants_go_round<R: Record>() {
        let last = R::REQUESTS as u32 - 1;
        let asked = R::EMPTY.ask(2).ask(7).ask(last);
        assert!(asked.is_requested() && !asked.is_idle() && asked.requests(7) && !asked.requests(3));
        assert_eq!([0, 3, 8, last].map(|from| asked.first_request(from)), [2, 7, last, last]);
        assert_eq!(R::EMPTY.ask(2).first_request(5), 2);
        assert_eq!(asked.withdraw(2).first_request(0), 7);
        let granted = asked.grant(7, 8, 3);
        assert_eq!((granted.owner(), granted.rotation(), granted.requests(7)), (8, 3, false));
        assert_eq!(granted.first_request(3), last);
        let freed = granted.free();
        assert_eq!((freed.owner(), freed.rotation(), freed.is_requested()), (0, 3, true));
        assert_eq!(freed.rewind().rotation(), 0);
        assert!(R::EMPTY.ask(1).grant(1, 2, 7).free().is_idle());
    }

    #[test]
    fn records_of_every_width_do_the_same() {
        grants_go_round::<u32>();
        grants_go_round::<u64>();
        grants_go_round::<u128>();
    }
}
