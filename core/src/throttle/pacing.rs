use crate::fabric::NodeId;

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

    /// A header of a node was granted.
    pub fn granted(&mut self, cycle: u64, node: NodeId) {
        self.next[node as usize] = cycle + self.interval;
    }
}
