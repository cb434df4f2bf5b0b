use crate::{
    fabric::NodeId,
    save::{Archive, SaveError},
};
use std::ops::Range;

/// Slice interlocking: a node takes its packet number k (from 0) from its source only after it has
/// received k packets; one received in a cycle counts from the next (cup-stacking-extended-2023, 7.2,
/// T10).
///
/// ```
/// use flitloom_core::throttle::Interlock;
/// let mut interlock = Interlock::default();
/// assert!(interlock.may_take(3, 0) && !interlock.may_take(3, 1));
/// interlock.count(3);
/// assert!(interlock.may_take(3, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interlock {
    /// Packets received, of nodes up to the last that received any.
    received: Vec<u64>,
}

impl Interlock {
    /// Whether a node may take its packet of a number.
    pub fn may_take(&self, node: NodeId, number: u64) -> bool {
        number <= self.received.get(node as usize).copied().unwrap_or(0)
    }

    /// What it knows, as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { received } = self;
        archive.list("packets received", received)
    }

    /// Takes over what another one knows of some nodes, whose first one has another number here.
    pub(crate) fn take_over(&mut self, other: &Self, nodes: Range<usize>, first: usize) {
        let end = nodes.end.min(other.received.len());
        if nodes.start < end {
            let known = &other.received[nodes.start..end];
            let needed = self.received.len().max(first + known.len());
            self.received.resize(needed, 0);
            self.received[first..first + known.len()].copy_from_slice(known);
        }
    }

    /// A node received the last flit of a packet.
    pub fn count(&mut self, node: NodeId) {
        let needed = self.received.len().max(node as usize + 1);
        self.received.resize(needed, 0);
        self.received[node as usize] += 1;
    }
}
