//! Lists that are written without a branch.

/// A list that is written without branches: an entry that is not kept is overwritten by the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct List<T> {
    items: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> List<T> {
    /// Makes room for so many more.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, more: usize) {
        if self.items.len() <= self.len + more {
            self.items.resize((self.len + more + 1).next_power_of_two(), T::default());
        }
    }

    /// Adds an entry, for which there is room, if it is to be kept.
    #[inline(always)]
    pub(crate) fn put(&mut self, item: T, keep: bool) {
        self.items[self.len] = item;
        self.len += usize::from(keep);
    }

    /// Adds an entry, for which there is room.
    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        self.items[self.len] = item;
        self.len += 1;
    }

    /// Adds what belongs to the set bits of a word, from the lowest on; `item` is also asked for places beyond them.
    #[inline(always)]
    pub(crate) fn put_ones(&mut self, word: u64, item: impl Fn(usize) -> T) {
        /// Entries written at once: how many bits are set is hard to predict, but rarely more.
        const AT_ONCE: usize = 3;
        self.reserve(word.count_ones() as usize + AT_ONCE);
        let (mut place, mut rest) = (self.len, word);
        self.len += word.count_ones() as usize;
        while {
            for entry in &mut self.items[place..place + AT_ONCE] {
                *entry = item(rest.trailing_zeros() as usize);
                rest &= rest.wrapping_sub(1);
            }
            place += AT_ONCE;
            rest != 0
        } {}
    }

    #[inline(always)]
    pub(crate) fn items(&self) -> &[T] {
        &self.items[..self.len]
    }

    #[inline(always)]
    pub(crate) fn items_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }

    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Keeps an entry at the front, behind those kept before.
    #[inline(always)]
    pub(crate) fn keep(&mut self, kept: usize, item: T) {
        self.items[kept] = item;
    }

    /// Keeps the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_put_in_order_behind_what_is_there() {
        let mut list = List::default();
        let mut expected = Vec::new();
        for word in [0, 1, u64::MAX, 1 << 63, 0x8001_0203_0405_0607, 0xf, 0x1f] {
            list.put_ones(word, |bit| (word, bit));
            expected.extend(crate::bits::ones(word).map(|bit| (word, bit)));
            assert_eq!(list.items(), expected);
        }
    }
}
