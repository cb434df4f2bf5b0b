//! Packets of all hosts on their way to one destination.

use crate::{fabric::Graph, routes::by_destination::NO_CHANNEL};

/// No host sends from there.
pub(super) const SILENT: u8 = u8::MAX;

/// What comes through every switch on the way to a destination.
#[derive(Default)]
pub(super) struct Through {
    /// Lanes, a bit each, of packets that come through a switch.
    pub(super) lanes: Vec<u16>,
    /// Hosts whose packets do.
    pub(super) hosts: Vec<i64>,
    waiting: Vec<u32>,
    ready: Vec<u32>,
}

impl Through {
    /// Follows the entries of a destination from all switches.
    pub(super) fn find(&mut self, graph: &Graph, next: &[u32], lanes: &[u8]) {
        let bit = |&lane: &u8| if lane == SILENT { 0 } else { 1 << lane };
        self.lanes.clear();
        self.lanes.extend(lanes.iter().map(bit));
        self.hosts.clear();
        self.hosts.extend((0..next.len() as u32).map(|switch| i64::from(graph.hosts(switch))));
        self.waiting.clear();
        self.waiting.resize(next.len(), 0);
        let head = |hop: u32| graph.ends(hop).1 as usize;
        next.iter().filter(|&&hop| hop != NO_CHANNEL).for_each(|&hop| self.waiting[head(hop)] += 1);
        self.ready.clear();
        self.ready.extend((0..next.len() as u32).filter(|&switch| self.waiting[switch as usize] == 0));
        let mut done = 0;
        while let Some(&switch) = self.ready.get(done) {
            done += 1;
            let here = switch as usize;
            if next[here] == NO_CHANNEL {
                continue;
            }
            let there = head(next[here]);
            self.lanes[there] |= self.lanes[here];
            self.hosts[there] += self.hosts[here];
            self.waiting[there] -= 1;
            if self.waiting[there] == 0 {
                self.ready.push(there as u32);
            }
        }
    }
}

/// Lanes by destination and switch of the source, [`SILENT`] where no host sends.
pub(super) fn folded(graph: &Graph, levels: &[u8], fold: usize) -> Vec<u8> {
    let switches = graph.switches();
    let lane = |(place, &level): (usize, &u8)| match graph.hosts((place % switches) as u32) {
        0 => SILENT,
        _ => level % fold as u8,
    };
    levels.iter().enumerate().map(lane).collect()
}

/// Entries and lanes, destination by destination.
pub(super) fn rows<'b>(
    next: &'b [u32],
    lanes: &'b [u8],
    switches: usize,
) -> impl Iterator<Item = (&'b [u32], &'b [u8])> {
    next.chunks(switches.max(1)).zip(lanes.chunks(switches.max(1)))
}
