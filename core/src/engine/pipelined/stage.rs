//! A stage that takes everything in at once and is not a pipeline.

use crate::{
    save::{Archive, Plain},
    visit::Visited,
};

/// Things that wait for a stage, those in it, and the cycle in which it is done with them.
#[derive(Clone, Debug)]
pub(super) struct Stage<T> {
    pub waiting: Vec<T>,
    pub inside: Vec<T>,
    done: u32,
}

impl<T> Default for Stage<T> {
    fn default() -> Self {
        Self { waiting: Vec::new(), inside: Vec::new(), done: 0 }
    }
}

impl<T> Stage<T> {
    /// Whether nothing waits or is inside.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.inside.is_empty()
    }

    /// All that outlives a cycle.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Visited
    where
        T: Plain,
    {
        let Self { waiting, inside, done } = self;
        archive.list("waiting for a stage", waiting)?;
        archive.list("in a stage", inside)?;
        archive.number("end of a stage", done)
    }

    /// Takes in what waits if nothing is inside; true if the stage is done with what is inside.
    #[inline]
    pub(super) fn step(&mut self, now: u32, cycles: u32) -> bool {
        if self.inside.is_empty() {
            if self.waiting.is_empty() {
                return false;
            }
            std::mem::swap(&mut self.inside, &mut self.waiting);
            self.done = now + cycles - 1;
        }
        now >= self.done
    }
}
