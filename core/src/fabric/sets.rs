//! Sets that are joined two by two.

/// Sets of numbered members, each named by its least member.
#[derive(Clone, Debug)]
pub(super) struct Sets(Vec<u32>);

impl Sets {
    /// A set of its own for each of so many members.
    pub(super) fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// The name of a member's set.
    pub(super) fn name(&mut self, member: u32) -> u32 {
        let mut at = member;
        while self.0[at as usize] != at {
            self.0[at as usize] = self.0[self.0[at as usize] as usize];
            at = self.0[at as usize];
        }
        at
    }

    /// Joins the sets of two members.
    pub(super) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.name(one), self.name(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
