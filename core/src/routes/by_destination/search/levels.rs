//! Levels of pairs, and the turns that they leave to others.

use super::both_ways::BothWays;
use super::turns::Turns;

/// No level.
const NONE: u8 = u8::MAX;

impl BothWays<'_> {
    /// The level of every pair, by `switch * switches + switch`; the turns in use; and pairs without a level.
    ///
    /// Pairs with the least choice come first, and take the lane that asks for the fewest new turns. Pairs that have no
    /// legal lane take one whose turns in use close no circle with theirs.
    pub(super) fn levels(&self) -> (Vec<u8>, Turns, usize) {
        let graph = self.search.graph;
        let switches = graph.switches();
        let mut used = self.turns.only_kept(graph);
        let mut levels = vec![NONE; switches * switches];
        let mut set = |(one, other): (usize, usize), lane: usize| {
            levels[one * switches + other] = lane as u8;
            levels[other * switches + one] = lane as u8;
        };
        let mut homeless = Vec::new();
        let mut by_choice: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.turns.lanes + 1];
        for (one, other) in self.pairs() {
            by_choice[self.common(one, other).count_ones() as usize].push((one as u32, other as u32));
        }
        let mut turns = Vec::new();
        for (choice, pairs) in by_choice.into_iter().enumerate() {
            for (one, other) in pairs {
                let pair = (one as usize, other as usize);
                if choice == 0 {
                    homeless.push(pair);
                    continue;
                }
                self.turns_of(pair, &mut turns);
                if !turns.is_empty() || self.are_joined(pair) {
                    let lane = fewest(&turns, &used, self.common(pair.0, pair.1));
                    turns.iter().for_each(|&(channel, next)| {
                        used.allow(channel, next, lane);
                    });
                    set(pair, lane);
                }
            }
        }
        if !used.put_in_order() {
            return (levels, used, usize::MAX);
        }
        let mut left = 0;
        for pair in homeless {
            self.turns_of(pair, &mut turns);
            match fit(&turns, &mut used) {
                Some(lane) => set(pair, lane),
                None => left += 1,
            }
        }
        (levels, used, left)
    }

    /// Whether a pair of switches has hosts that send to each other.
    fn are_joined(&self, (one, other): (usize, usize)) -> bool {
        let hosts = |switch: usize| self.search.graph.hosts(switch as u32) > 0;
        hosts(one) && !self.at[other].is_empty() || hosts(other) && !self.at[one].is_empty()
    }

    /// The turns of all ways between two switches, in both directions.
    fn turns_of(&self, (one, other): (usize, usize), turns: &mut Vec<(u32, u32)>) {
        turns.clear();
        let graph = self.search.graph;
        for (from, to) in [(one, other), (other, one)] {
            if graph.hosts(from as u32) == 0 {
                continue;
            }
            for &destination in &self.at[to] {
                let mut last = None;
                for channel in self.search.table.way(graph, destination as usize, from as u32) {
                    turns.extend(last.replace(channel).map(|before| (before, channel)));
                }
            }
        }
    }
}

/// A lane that takes turns without a circle, those that ask for the fewest new ones first.
fn fit(turns: &[(u32, u32)], used: &mut Turns) -> Option<usize> {
    let mut lanes: Vec<usize> = (0..used.lanes).collect();
    lanes.sort_by_key(|&lane| {
        turns.iter().filter(|&&(channel, next)| used.turn(channel, next) >> lane & 1 == 0).count()
    });
    lanes.into_iter().find(|&lane| used.allow_all(turns, lane))
}

/// The lane, of several, that has most of some turns already.
fn fewest(turns: &[(u32, u32)], used: &Turns, lanes: u16) -> usize {
    let mut new = [0_u32; 16];
    for &(channel, next) in turns {
        let mut missing = lanes & !used.turn(channel, next);
        while missing != 0 {
            new[missing.trailing_zeros() as usize] += 1;
            missing &= missing - 1;
        }
    }
    (0..used.lanes).filter(|lane| lanes >> lane & 1 == 1).min_by_key(|&lane| new[lane]).unwrap_or(0)
}
