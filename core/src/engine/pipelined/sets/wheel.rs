//! What is on its way, by the cycle in which it arrives.

use crate::{
    save::{Archive, SaveError},
    visit::{Visited, below},
};

/// Lists of what arrives in each of the next cycles, for routers and for nodes, in fixed places.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Wheel {
    mask: u32,
    /// The lists stand this far apart, as a power of two.
    list_bits: u32,
    counts: Vec<u32>,
    items: Vec<u64>,
}

impl Wheel {
    /// Lists for so many cycles, a power of two, and at most so many things in each.
    pub(in super::super) fn new(cycles: u32, most: usize) -> Self {
        let lists = 2 * cycles as usize;
        let list_bits = most.next_power_of_two().trailing_zeros();
        Self { mask: cycles - 1, list_bits, counts: vec![0; lists], items: vec![0; lists << list_bits] }
    }

    /// What is on its way.
    pub(in super::super) fn fields(&mut self, archive: &mut Archive) -> Visited {
        let Self { mask: _, list_bits, counts, items } = self;
        archive.slice("numbers on their way", counts)?;
        let most = 1 << *list_bits;
        below("numbers on their way", most + 1, counts.iter().copied())?;
        let lists = || {
            counts
                .iter()
                .zip(0..)
                .map(|(&count, list)| list << *list_bits..(list << *list_bits) + count as usize)
        };
        let mut all: Vec<u64> = lists().flat_map(|list| items[list].iter().copied()).collect();
        let needed = all.len() as u64;
        archive.list("on their way", &mut all)?;
        if all.len() as u64 != needed {
            return Err(SaveError::Length { field: "on their way", given: all.len() as u64, needed });
        }
        let mut left = &all[..];
        for list in lists() {
            let (these, rest) = left.split_at(list.len());
            items[list].copy_from_slice(these);
            left = rest;
        }
        Ok(())
    }

    /// Places that something is on its way to, routers or nodes, and what that is.
    pub(in super::super) fn all(&self, is_node: bool) -> impl Iterator<Item = (u32, u32)> {
        let lists = self.counts.iter().enumerate().skip(usize::from(is_node)).step_by(2);
        let items = lists.flat_map(|(list, &count)| &self.items[list << self.list_bits..][..count as usize]);
        items.map(|&item| ((item >> 32) as u32, item as u32))
    }

    /// For how many cycles there are lists.
    pub(in super::super) fn cycles(&self) -> u32 {
        self.mask + 1
    }

    /// Takes out all that is on its way from a cycle on: the cycle in which it arrives, whether at a node, and what.
    pub(in super::super) fn take_all(&mut self, now: u32) -> Vec<(u32, bool, u64)> {
        let (mut all, mut list) = (Vec::new(), Vec::new());
        for time in (0..=self.mask).map(|ahead| now + ahead) {
            for is_node in [false, true] {
                self.take(time, is_node, &mut list);
                all.extend(list.iter().map(|&item| (time, is_node, item)));
            }
        }
        all
    }

    /// Sorts what arrives in each cycle, where nobody sees the order.
    pub(super) fn sort(&mut self) {
        for (list, &count) in self.counts.iter().enumerate() {
            self.items[list << self.list_bits..][..count as usize].sort_unstable();
        }
    }

    /// The lists as slices.
    #[inline(always)]
    pub(in super::super) fn view(&mut self) -> WheelView<'_> {
        let Self { mask, list_bits, counts, items } = self;
        WheelView { mask: *mask, list_bits: *list_bits, counts, items }
    }

    /// How much arrives in a cycle.
    pub(in super::super) fn count(&self, time: u32) -> usize {
        let list = 2 * (time & self.mask) as usize;
        (self.counts[list] + self.counts[list + 1]) as usize
    }

    /// Exchanges what arrives in a cycle with an empty list.
    pub(in super::super) fn take(&mut self, time: u32, is_node: bool, into: &mut Vec<u64>) {
        let list = (2 * (time & self.mask) + u32::from(is_node)) as usize;
        let first = list << self.list_bits;
        into.clear();
        into.extend_from_slice(&self.items[first..first + self.counts[list] as usize]);
        self.counts[list] = 0;
    }
}

/// Lists as slices, to put something on.
pub(in super::super) struct WheelView<'a> {
    mask: u32,
    list_bits: u32,
    counts: &'a mut [u32],
    items: &'a mut [u64],
}

impl WheelView<'_> {
    /// Something that arrives at a place in some cycle.
    #[inline(always)]
    pub(in super::super) fn push(&mut self, time: u32, is_node: bool, place: u32, what: u32) {
        let list = (2 * (time & self.mask) + u32::from(is_node)) as usize;
        let count = &mut self.counts[list];
        self.items[(list << self.list_bits) + *count as usize] = u64::from(place) << 32 | u64::from(what);
        *count += 1;
    }
}
