//! Ways that find no lane are bent to other neighbours, and balanced again.

use super::{Assignment, NO_CHANNEL, OPEN};
use crate::routes::by_destination::{Effort, Guard, SERVICE_LEVELS, balance_guarded, way};

impl Assignment<'_> {
    /// Gives pairs without a level one by pointing entries on their ways elsewhere; channels carry more than
    /// `most` pairs afterwards only where nothing else helps.
    pub(super) fn bend(&mut self, most: u64) {
        let mut loads = self.table.loads(self.graph);
        let mut path = Vec::new();
        let mut left: Vec<(usize, u32, u32)> = std::mem::take(&mut self.left)
            .into_iter()
            .map(|(destination, source)| {
                self.walk(source, destination, &mut path);
                (path.len(), destination, source)
            })
            .collect();
        // Those near the destination first: others may lead over them.
        left.sort_unstable();
        let (step, far) = (most.div_ceil(400), most.saturating_add(most / 20));
        let mut most = most;
        loop {
            let before = left.len();
            left.retain(|&(_, destination, source)| !self.find_way(destination, source, &mut loads, most));
            self.left.clear();
            if left.is_empty() || left.len() == before && most == u64::MAX {
                break;
            }
            if left.len() == before {
                most = if most >= far { u64::MAX } else { most + step };
            }
        }
        self.left = left.into_iter().map(|(_, destination, source)| (destination, source)).collect();
    }

    /// Gives a pair a level, if need be by pointing the entry of its source or of a switch on its way elsewhere.
    fn find_way(&mut self, destination: u32, source: u32, loads: &mut [u64], most: u64) -> bool {
        let mut path = Vec::new();
        self.walk(source, destination, &mut path);
        if self.settle(&mut path, destination, source) || self.turn_away(destination, source, loads, most) {
            return true;
        }
        let switches: Vec<u32> = path[1..].iter().map(|&channel| self.graph.ends(channel).0).collect();
        switches.into_iter().any(|switch| {
            self.turn_away(destination, switch, loads, most) && {
                self.walk(source, destination, &mut path);
                self.settle(&mut path, destination, source)
            }
        })
    }

    /// Points the entry of a switch elsewhere, such that all behind it keep their levels, and gives its own
    /// pair one if it has none.
    fn turn_away(&mut self, destination: u32, switch: u32, loads: &mut [u64], most: u64) -> bool {
        let start = destination as usize * self.graph.switches();
        let (row, root) = (self.table.row(destination as usize), self.table.roots[destination as usize]);
        let old = self.way(row, root, row[switch as usize]);
        let behind = self.behind(row, switch);
        let counts = |switch| u64::from(self.table.demand(self.graph, destination as usize, switch));
        let hosts: u64 = behind.iter().map(|&(switch, _)| counts(switch)).sum();
        old.iter().for_each(|&channel| loads[channel as usize] -= hosts);
        let mut ways: Vec<Vec<u32>> = self
            .graph
            .outgoing(switch)
            .iter()
            .filter(|&&hop| {
                let there = self.graph.ends(hop).1;
                let leads = there == root || row[there as usize] != NO_CHANNEL;
                hop != old[0] && leads && behind.iter().all(|&(switch, _)| switch != there)
            })
            .map(|&hop| self.way(row, root, hop))
            .filter(|way| way.iter().all(|&channel| loads[channel as usize] + hosts <= most))
            .collect();
        ways.sort_by_key(Vec::len);
        let fits = |way: &Vec<u32>| self.all_keep(&behind, start, way) && self.has_level(start, switch, way);
        let Some(way) = ways.into_iter().find(fits) else {
            old.iter().for_each(|&channel| loads[channel as usize] += hosts);
            return false;
        };
        way.iter().for_each(|&channel| loads[channel as usize] += hosts);
        self.table.next[start + switch as usize] = way[0];
        true
    }

    /// The channels of a way that begins with a hop and follows a table's row.
    fn way(&self, row: &[u32], root: u32, hop: u32) -> Vec<u32> {
        std::iter::once(hop).chain(way(self.graph, row, root, self.graph.ends(hop).1)).collect()
    }

    /// Switches from which a destination is reached over one, and that one, each with the channel by which its
    /// packets arrive there.
    fn behind(&self, row: &[u32], switch: u32) -> Vec<(u32, u32)> {
        let mut found = vec![(switch, NO_CHANNEL)];
        let mut head = 0;
        while let Some(&(here, arrives)) = found.get(head) {
            head += 1;
            for &back in self.graph.outgoing(here) {
                let there = self.graph.ends(back).1;
                if row[there as usize] == back ^ 1 {
                    found.push((there, if arrives == NO_CHANNEL { back ^ 1 } else { arrives }));
                }
            }
        }
        found
    }

    /// Whether all switches behind one can keep the levels they have on a new way from there.
    fn all_keep(&mut self, behind: &[(u32, u32)], start: usize, way: &[u32]) -> bool {
        let mut kept = 0_u16;
        let mut fits = true;
        for &(switch, arrives) in behind {
            let place = start + switch as usize;
            if fits && self.settled[place] && self.graph.hosts(switch) > 0 {
                kept |= 1 << self.levels[place];
                fits = arrives == NO_CHANNEL || self.follows(self.levels[place], arrives, way[0]);
            }
        }
        fits = fits
            && (0..SERVICE_LEVELS as u8)
                .filter(|level| kept >> level & 1 != 0)
                .all(|level| self.all_follow(level, way));
        self.decide(fits)
    }

    /// Gives a switch without a level one on a way, if it has hosts.
    fn has_level(&mut self, start: usize, switch: u32, way: &[u32]) -> bool {
        let place = start + switch as usize;
        if self.settled[place] || self.graph.hosts(switch) == 0 {
            return true;
        }
        let own = self.own() as u8;
        let level = (own..own + self.limit as u8).find(|&level| {
            let fits = self.all_follow(level, way);
            self.decide(fits)
        });
        if let Some(level) = level {
            self.highest = self.highest.max(level - own);
            self.levels[place] = level;
            self.settled[place] = true;
        }
        level.is_some()
    }

    fn decide(&mut self, fits: bool) -> bool {
        if fits {
            self.dependencies.keep();
        } else {
            self.dependencies.take_back();
        }
        fits
    }

    fn all_follow(&mut self, level: u8, way: &[u32]) -> bool {
        way.windows(2).all(|hops| self.follows(level, hops[0], hops[1]))
    }

    /// Whether a channel may follow another at a level whose lanes do not depend on the port in.
    fn follows(&mut self, level: u8, before: u32, channel: u32) -> bool {
        if usize::from(level) >= self.own() + self.limit {
            return false;
        }
        let lane = |channel: u32| self.entries[self.slot(None, channel)][usize::from(level)];
        let (first, second) = (lane(before), lane(channel));
        first != OPEN && second != OPEN && self.dependencies.add((before, first), (channel, second))
    }

    /// Balances again, towards `target`, as far as all pairs can keep their levels.
    pub(super) fn balance(&mut self, target: u64, enough: u64, tries: u64) {
        let graph = self.graph;
        let mut table = self.table.clone();
        let effort = Effort { exception: 0.0, tries, enough, longer: false, gently: false };
        balance_guarded(graph, &mut table, target, None, effort, Some(self));
        self.table = table;
    }
}

impl Guard for Assignment<'_> {
    fn allows(&mut self, destination: usize, row: &[u32], switch: u32, hop: u32) -> bool {
        let way = self.way(row, self.table.roots[destination], hop);
        let behind = self.behind(row, switch);
        self.all_keep(&behind, destination * row.len(), &way)
    }
}
