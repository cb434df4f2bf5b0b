//! What a placement costs: loads of channels and ports, hop-bytes.

use super::{Demand, Ways};
use crate::{fabric::NodeId, flow::loads::fullest};

/// How good a placement is; less is better, the first field first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// Units on the fullest channel.
    pub fullest: u64,
    /// How many channels carry as much.
    pub count: u32,
    /// Sum of units times hops.
    pub hops: u64,
}

impl Score {
    /// As an order for those who want few hop-bytes first.
    pub fn by_hops(&self) -> (u64, u64, u32) {
        (self.hops, self.fullest, self.count)
    }
}

/// Units on every channel, by its number.
pub fn channel_loads(ways: &Ways, demand: &Demand, nodes: &[NodeId]) -> Vec<u64> {
    let mut loads = vec![0; ways.numbers()];
    for rank in 0..demand.ranks() as u32 {
        for peer in demand.peers(rank).iter().filter(|peer| peer.sent > 0) {
            ways.each(nodes[rank as usize], nodes[peer.rank as usize], |channel| {
                loads[channel as usize] += peer.sent;
            });
        }
    }
    loads
}

/// The largest number of units that one node sends to others, or receives.
pub fn fullest_port(demand: &Demand, nodes: &[NodeId], network: usize) -> u64 {
    let mut ports = vec![(0u64, 0u64); network];
    for rank in 0..demand.ranks() as u32 {
        let node = nodes[rank as usize];
        for peer in demand.peers(rank).iter().filter(|peer| nodes[peer.rank as usize] != node) {
            ports[node as usize].0 += peer.sent;
            ports[node as usize].1 += peer.received;
        }
    }
    ports.into_iter().map(|(sent, received)| sent.max(received)).max().unwrap_or(0)
}

/// The score of loads.
pub fn score(loads: &[u64]) -> Score {
    let fullest = fullest(loads);
    let count = loads.iter().filter(|load| **load == fullest).count() as u32;
    Score { fullest, count, hops: loads.iter().sum() }
}

/// Scores placements one after the other in the same memory.
pub(super) struct Scorer<'a> {
    ways: &'a Ways,
    demand: &'a Demand,
    loads: Vec<u64>,
    /// Channels touched so far: the effort.
    pub(super) touched: u64,
    /// How many may be touched.
    limit: u64,
}

impl<'a> Scorer<'a> {
    pub(super) fn new(ways: &'a Ways, demand: &'a Demand, limit: u64) -> Self {
        Self { ways, demand, loads: vec![0; ways.numbers()], touched: 0, limit }
    }

    /// Counts other work; false if that is more than is left.
    pub(super) fn spend(&mut self, work: u64) -> bool {
        let enough = self.touched + work <= self.limit;
        self.touched = self.limit.min(self.touched + work);
        enough
    }

    /// The score, or none as soon as a channel carries more than `most` or the effort is spent.
    pub(super) fn score(&mut self, nodes: &[NodeId], most: u64) -> Option<Score> {
        if !self.spend(self.loads.len() as u64 / 8 + 1) {
            return None;
        }
        self.loads.fill(0);
        let mut fullest = 0;
        for rank in 0..self.demand.ranks() as u32 {
            let peers = self.demand.peers(rank);
            if self.touched + peers.len() as u64 * self.ways.reach() > self.limit {
                return None;
            }
            for peer in peers.iter().filter(|peer| peer.sent > 0) {
                self.ways.each(nodes[rank as usize], nodes[peer.rank as usize], |channel| {
                    let load = &mut self.loads[channel as usize];
                    *load += peer.sent;
                    fullest = fullest.max(*load);
                    self.touched += 1;
                });
            }
            if fullest > most {
                return None;
            }
        }
        Some(score(&self.loads))
    }
}
