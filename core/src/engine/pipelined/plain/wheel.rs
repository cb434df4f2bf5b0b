//! What is on its way, by the cycle in which it arrives.

/// Lists of what arrives in each of the next cycles, for routers and for nodes, in fixed places.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    mask: u32,
    /// The lists stand this far apart, as a power of two.
    list_bits: u32,
    counts: Vec<u32>,
    items: Vec<u64>,
}

impl Wheel {
    /// Lists for so many cycles, a power of two, and at most so many things in each.
    pub(super) fn new(cycles: u32, most: usize) -> Self {
        let lists = 2 * cycles as usize;
        let list_bits = most.next_power_of_two().trailing_zeros();
        Self { mask: cycles - 1, list_bits, counts: vec![0; lists], items: vec![0; lists << list_bits] }
    }

    /// The lists as slices.
    #[inline(always)]
    pub(super) fn view(&mut self) -> WheelView<'_> {
        let Self { mask, list_bits, counts, items } = self;
        WheelView { mask: *mask, list_bits: *list_bits, counts, items }
    }

    /// How much arrives in a cycle.
    pub(super) fn count(&self, time: u32) -> usize {
        let list = 2 * (time & self.mask) as usize;
        (self.counts[list] + self.counts[list + 1]) as usize
    }

    /// Exchanges what arrives in a cycle with an empty list.
    pub(super) fn take(&mut self, time: u32, is_node: bool, into: &mut Vec<u64>) {
        let list = (2 * (time & self.mask) + u32::from(is_node)) as usize;
        let first = list << self.list_bits;
        into.clear();
        into.extend_from_slice(&self.items[first..first + self.counts[list] as usize]);
        self.counts[list] = 0;
    }
}

/// Lists as slices, to put something on.
pub(super) struct WheelView<'a> {
    mask: u32,
    list_bits: u32,
    counts: &'a mut [u32],
    items: &'a mut [u64],
}

impl WheelView<'_> {
    /// Something that arrives at a place in some cycle.
    #[inline(always)]
    pub(super) fn push(&mut self, time: u32, is_node: bool, place: u32, what: u32) {
        let list = (2 * (time & self.mask) + u32::from(is_node)) as usize;
        let count = &mut self.counts[list];
        self.items[(list << self.list_bits) + *count as usize] = u64::from(place) << 32 | u64::from(what);
        *count += 1;
    }
}
