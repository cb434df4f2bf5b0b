use super::{PacketSource, Workload};
use crate::{
    fabric::NodeId,
    visit::{State, Visited, Visitor},
};
use std::ops::Range;

/// Nodes that generate no packet while so many of their packets are outstanding (generated, and the tail
/// not ejected): when each may generate its next one.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    limit: usize,
    /// Per node: packets delivered, the cycles of the last `limit` deliveries by their number, and the
    /// cycle after the last start.
    delivered: Vec<u64>,
    ends: Vec<u64>,
    from: Vec<u64>,
}

impl Outstanding {
    /// Those of some nodes at the beginning; `None` where nothing limits a workload.
    pub(crate) fn new(workload: &Workload, nodes: usize) -> Option<Self> {
        let limit = workload.outstanding()? as usize;
        Some(Self { limit, delivered: vec![0; nodes], ends: vec![0; nodes * limit], from: vec![0; nodes] })
    }

    /// A node, which the workload knows by another number, generated a packet.
    pub(crate) fn started(&mut self, node: usize, start: u64) {
        self.from[node] = start + 1;
    }

    /// The tail of a packet from a node was ejected.
    pub(crate) fn delivered(&mut self, node: usize, cycle: u64) {
        let number = self.delivered[node];
        self.ends[node * self.limit + number as usize % self.limit] = cycle;
        self.delivered[node] = number + 1;
    }

    /// Start of packet `number` of a node; `u64::MAX` if there is none, or as long as too many are
    /// outstanding.
    pub(crate) fn next_start(&self, workload: &Workload, node: usize, named: NodeId, number: u64) -> u64 {
        let limit = self.limit as u64;
        // In the cycle behind the delivery that makes room.
        let least = match number.checked_sub(limit) {
            None => 0,
            Some(before) if before < self.delivered[node] => {
                self.ends[node * self.limit + (before % limit) as usize] + 1
            }
            Some(_) => return u64::MAX,
        };
        workload.start_with_room(named, number, self.from[node], least).unwrap_or(u64::MAX)
    }

    /// What is known of some of the nodes.
    pub(crate) fn part(&self, nodes: Range<usize>) -> Self {
        let Self { limit, delivered, ends, from } = self;
        Self {
            limit: *limit,
            delivered: delivered[nodes.clone()].to_vec(),
            ends: ends[nodes.start * limit..nodes.end * limit].to_vec(),
            from: from[nodes].to_vec(),
        }
    }
}

impl State for Outstanding {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { limit: _, delivered, ends, from } = self;
        visitor.numbers("packets delivered by source", delivered)?;
        visitor.numbers("cycles of deliveries", ends)?;
        visitor.numbers("cycles after starts", from)
    }
}
