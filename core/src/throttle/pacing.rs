use crate::{
    fabric::NodeId,
    save::{Archive, SaveError},
};

/// A node begins a packet every so many cycles at most.
#[derive(Clone, Debug)]
pub struct Pacing {
    interval: u64,
    /// Per node: the first cycle in which a packet may begin.
    next: Vec<u64>,
}

impl Pacing {
    /// The throttle of so many nodes.
    pub fn new(nodes: usize, interval: u64) -> Self {
        Self { interval, next: vec![0; nodes] }
    }

    /// Whether the interval since the node's last grant is over.
    pub fn may_begin(&self, cycle: u64, node: NodeId) -> bool {
        cycle >= self.next[node as usize]
    }

    /// What it knows, as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { interval: _, next } = self;
        archive.slice("next starts of nodes", next)
    }

    /// A header of a node was granted.
    pub fn granted(&mut self, cycle: u64, node: NodeId) {
        self.next[node as usize] = cycle + self.interval;
    }
}
