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
