//! New ways for single pairs that have no level: several entries change at once.

use super::both_ways::BothWays;
use std::{cmp::Reverse, collections::BinaryHeap};

/// How much longer than the shortest such a way may be; with trees it may be longer the longer a pair has waited.
const LONGER: u32 = 4;

/// What a search for a way knows of a channel.
#[derive(Clone, Copy)]
struct Known {
    round: u32,
    cost: u32,
    before: u32,
    hops: u32,
}

/// Kept so that nothing is allocated.
struct Room {
    known: Vec<Known>,
    round: u32,
    open: BinaryHeap<Reverse<(u32, u32)>>,
}

/// An entry: destination, switch, channel.
type Entry = (usize, u32, u32);

impl BothWays<'_> {
    /// Gives pairs without a level new ways that are legal in a lane, where that costs less than it brings.
    pub(super) fn find_ways(&mut self) {
        let unknown = Known { round: 0, cost: 0, before: 0, hops: 0 };
        let known = vec![unknown; self.search.graph.channels()];
        let mut room = Room { known, round: 0, open: BinaryHeap::new() };
        for (one, other) in self.pairs() {
            if self.common(one, other) != 0 {
                continue;
            }
            let mut best: Option<(f64, Vec<Entry>)> = None;
            for lane in 0..self.turns.lanes {
                let (cost, changes) = self.try_lane((one, other), lane, &mut room);
                if let Some(cost) = cost
                    && cost < best.as_ref().map_or(-1e-12, |best| best.0)
                {
                    let next = &self.search.table.next;
                    let switches = self.search.graph.switches();
                    let made = changes.iter().map(|&(destination, switch, _)| {
                        (destination, switch, next[destination * switches + switch as usize])
                    });
                    best = Some((cost, made.collect()));
                }
                self.point_all(changes.into_iter().rev());
            }
            if let Some((_, entries)) = best {
                self.point_all(entries.into_iter());
            }
        }
    }

    fn point_all(&mut self, entries: impl Iterator<Item = Entry>) {
        entries.for_each(|(destination, switch, hop)| self.point(destination, switch, hop));
    }

    /// Makes both ways of a pair legal in a lane: what that costs, if it can be done, and the entries before.
    fn try_lane(
        &mut self,
        (one, other): (usize, usize),
        lane: usize,
        room: &mut Room,
    ) -> (Option<f64>, Vec<Entry>) {
        let switches = self.search.graph.switches();
        let mut changes = Vec::new();
        let mut cost = 0.0;
        for (from, to) in [(one, other), (other, one)] {
            for place in 0..self.at[to].len() {
                let destination = self.at[to][place] as usize;
                if self.legal[destination * switches + from] >> lane & 1 == 1 {
                    continue;
                }
                let Some(way) = self.legal_way(destination, from as u32, lane, room) else {
                    return (None, changes);
                };
                // From the destination on, so that no loop is closed on the way.
                for hop in way {
                    let switch = self.search.graph.ends(hop).0;
                    let old = self.search.table.next[destination * switches + switch as usize];
                    if old != hop {
                        cost += self.cost(destination, switch, hop);
                        self.point(destination, switch, hop);
                        changes.push((destination, switch, old));
                    }
                }
            }
        }
        (Some(cost).filter(|_| self.common(one, other) >> lane & 1 == 1), changes)
    }

    /// A way that is legal in a lane, its last channel first, over entries that few hosts send through where it is not
    /// the one of the table.
    fn legal_way(&self, destination: usize, from: u32, lane: usize, room: &mut Room) -> Option<Vec<u32>> {
        let graph = self.search.graph;
        let root = self.search.table.roots[destination];
        let start = destination * graph.switches();
        let distances = &self.search.distances[self.search.row[destination] as usize * graph.switches()..];
        let waiting = if self.turns.keeps_trees() { u32::from(self.weight_of(from, root)) } else { 0 };
        let most = u32::from(distances[from as usize]) + LONGER + waiting;
        let step = |channel: u32| {
            let place = start + graph.ends(channel).0 as usize;
            if self.search.table.next[place] == channel {
                1
            } else {
                4 + 2 * self.search.below[place] / self.mean
            }
        };
        room.round += 1;
        room.open.clear();
        for &channel in graph.outgoing(from) {
            room.meet(channel, Known { round: room.round, cost: step(channel), before: u32::MAX, hops: 1 });
        }
        while let Some(Reverse((cost, channel))) = room.open.pop() {
            let Known { cost: least, hops, .. } = room.known[channel as usize];
            let at = graph.ends(channel).1;
            if cost != least {
                continue;
            }
            if at == root {
                return room.way(channel).filter(|way| is_simple(way.iter().map(|&hop| graph.ends(hop).0)));
            }
            for &next in graph.outgoing(at) {
                let rest = u32::from(distances[graph.ends(next).1 as usize]);
                if self.turns.turn(channel, next) >> lane & 1 == 1 && hops + 1 + rest <= most {
                    let cost = cost + step(next);
                    room.meet(next, Known { round: room.round, cost, before: channel, hops: hops + 1 });
                }
            }
        }
        None
    }
}

impl Room {
    /// Remembers a way to a channel if it is the cheapest so far.
    fn meet(&mut self, channel: u32, found: Known) {
        let known = &mut self.known[channel as usize];
        if known.round != self.round || found.cost < known.cost {
            *known = found;
            self.open.push(Reverse((found.cost, channel)));
        }
    }

    /// The channels up to one, backwards.
    fn way(&self, last: u32) -> Option<Vec<u32>> {
        let before = |&channel: &u32| Some(self.known[channel as usize].before).filter(|&at| at != u32::MAX);
        Some(std::iter::successors(Some(last), before).collect())
    }
}

/// Whether no switch stands twice.
fn is_simple(switches: impl Iterator<Item = u32>) -> bool {
    let mut all: Vec<u32> = switches.collect();
    all.sort_unstable();
    all.windows(2).all(|two| two[0] != two[1])
}
