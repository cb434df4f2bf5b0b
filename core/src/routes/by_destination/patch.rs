//! Repairs in which no pair gets another level, or few do: other hops where a cable or a switch is gone.

mod through;

use super::{Before, NO_CHANNEL, check::lanes_of, lanes_of_links, way};
use crate::{fabric::Graph, flow::order::Dependencies};
use std::collections::{HashMap, HashSet};
use through::{Through, folded, rows};

/// Orders of missing entries that are tried.
const ORDERS: usize = 24;
/// How often switches turn away so that others can.
const DEPTH: u32 = 3;
/// Switches times changes that are tried at most, for each choice of lanes.
const MOST_TRIED: usize = 16_000_000;

/// Entries in place of those that are missing.
#[derive(Clone, Debug)]
pub struct Patched {
    /// Channel by `destination * switches + switch`.
    pub next: Vec<u32>,
    /// Service levels, as before but for pairs that need another one.
    pub levels: Vec<u8>,
    /// Entries, by `destination * switches + switch`, that had a way and change before all others, round by round.
    pub rounds: Vec<Vec<u32>>,
    /// Which of the choices of lanes sufficed.
    pub choice: usize,
}

/// Entries in place of some that are missing; `None` if there are none, or if the tables before can deadlock.
///
/// No mixture of old and new entries can deadlock or send a packet round. Where no port is, the entry of the next
/// switch changes first, in a round before, or switches that forwarded to this one turn away, in rounds before.
/// Pairs keep their levels, or get one of the lanes of the first of `choices` with which that is possible, both
/// directions the same one. Such pairs must have it, and packets with old ones be gone, before entries change.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Before, NO_CHANNEL, patch}};
/// let full = Graph::new(vec![1; 3], &[(0, 1), (1, 2)])?;
/// // The cable between the first and the last switch is gone.
/// let next = [NO_CHANNEL, 1, NO_CHANNEL, 0, NO_CHANNEL, 3, NO_CHANNEL, 2, NO_CHANNEL];
/// let before = Before { next: &next, levels: &[0; 9], lost_next: &[], lost_levels: &[] };
/// let found = patch(&full, &[0, 1, 2], before, 8, &[2, 6], None).unwrap();
/// assert_eq!((found.next[2], found.next[6]), (3, 0));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn patch(
    graph: &Graph,
    roots: &[u32],
    before: Before<'_>,
    lanes: usize,
    missing: &[u32],
    choices: Option<&[Vec<u8>]>,
) -> Option<Patched> {
    let mut patch = Patch::new(graph, roots, before, lanes);
    if !patch.know(before) {
        return None;
    }
    let Some(choices) = choices else {
        return patch.search(missing.to_vec()).then(|| patch.patched(before, 0));
    };
    choices.iter().enumerate().find_map(|(choice, lanes)| {
        patch.allowed = Some(lanes);
        patch.search(missing.to_vec()).then(|| patch.patched(before, choice))
    })
}

/// Another entry of a switch.
type Change = (u32, u32);
/// Changes with the busiest channel's load and the length of the way.
type Choice = (i64, usize, Vec<Change>);
/// How much has changed: entries, and those that had a way.
type Mark = (usize, usize, usize);

/// An entry with a way that got another one.
struct First {
    row: usize,
    switch: u32,
    /// Switches behind it on both ways.
    ways: Vec<u32>,
}

/// Tables that are patched, destination by destination.
struct Patch<'a> {
    graph: &'a Graph,
    roots: &'a [u32],
    /// Entries before.
    old: &'a [u32],
    switches: usize,
    fold: usize,
    next: Vec<u32>,
    /// Lane by destination and switch of the source, [`SILENT`](through::SILENT) where no host sends.
    lanes: Vec<u8>,
    /// Lanes that pairs may get; none where they keep theirs.
    allowed: Option<&'a [u8]>,
    rows_of: HashMap<u32, Vec<u32>>,
    /// Place, and the lane before, of pairs that got another one.
    moves: Vec<(usize, u8)>,
    dependencies: Dependencies,
    loads: Vec<i64>,
    first: Vec<First>,
    /// Place, and the entry before, of what has changed.
    changed: Vec<(usize, u32)>,
    /// Changes that may still be tried.
    left: usize,
    through: Through,
}

impl<'a> Patch<'a> {
    fn new(graph: &'a Graph, roots: &'a [u32], before: Before<'a>, lanes: usize) -> Self {
        let fold = lanes_of_links(lanes);
        let mut rows_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for (row, &root) in (0..).zip(roots) {
            rows_of.entry(root).or_default().push(row);
        }
        Self {
            graph,
            roots,
            old: before.next,
            switches: graph.switches(),
            fold,
            next: before.next.to_vec(),
            lanes: folded(graph, before.levels, fold),
            allowed: None,
            rows_of,
            moves: Vec::new(),
            dependencies: Dependencies::unordered(graph, lanes),
            loads: vec![0; graph.channels()],
            first: Vec::new(),
            changed: Vec::new(),
            left: 0,
            through: Through::default(),
        }
    }

    /// Takes what all packets wait for before, those for destinations that are gone included; false if that has a
    /// cycle.
    fn know(&mut self, before: Before<'_>) -> bool {
        let lost = folded(self.graph, before.lost_levels, self.fold);
        let lanes = std::mem::take(&mut self.lanes);
        for (next, lanes) in rows(before.next, &lanes, self.switches) {
            self.through.find(self.graph, next, lanes);
            self.collect(next);
            for (&hop, hosts) in next.iter().zip(&self.through.hosts).filter(|(hop, _)| **hop != NO_CHANNEL) {
                self.loads[hop as usize] += hosts;
            }
        }
        for (next, lanes) in rows(before.lost_next, &lost, self.switches) {
            self.through.find(self.graph, next, lanes);
            self.collect(next);
        }
        self.lanes = lanes;
        self.dependencies.put_in_order()
    }

    /// Adds what packets wait for on their way by some entries.
    fn collect(&mut self, next: &[u32]) {
        for (switch, &hop) in next.iter().enumerate().filter(|(_, hop)| **hop != NO_CHANNEL) {
            let behind = next[self.graph.ends(hop).1 as usize];
            if behind != NO_CHANNEL {
                let missing = self.through.lanes[switch] & !self.dependencies.lanes(hop, behind);
                for lane in lanes_of(missing) {
                    self.dependencies.add((hop, lane), (behind, lane));
                }
            }
        }
    }

    /// Patches all that is missing, in several orders; if that fails, all is as it was.
    fn search(&mut self, mut missing: Vec<u32>) -> bool {
        self.left = MOST_TRIED / self.switches.max(1);
        // Entries through which most packets go have the fewest ports.
        missing.sort_by_cached_key(|&place| {
            let (row, switch) = self.place(place);
            self.look(row);
            std::cmp::Reverse(self.through.lanes[switch as usize].count_ones())
        });
        for _ in 0..ORDERS {
            let stuck = (0..missing.len()).find(|&number| {
                let (row, switch) = self.place(missing[number]);
                !self.mend(row, switch)
            });
            let Some(stuck) = stuck else { return true };
            // What found no port comes before all others.
            missing[..=stuck].rotate_right(1);
            self.take_back(0);
            self.forget((0, 0, 0));
            if self.left == 0 {
                break;
            }
        }
        false
    }

    fn place(&self, place: u32) -> (usize, u32) {
        (place as usize / self.switches, (place as usize % self.switches) as u32)
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.next[row * self.switches..(row + 1) * self.switches]
    }

    fn at(&self, row: usize, switch: u32) -> usize {
        row * self.switches + switch as usize
    }

    fn head(&self, hop: u32) -> u32 {
        self.graph.ends(hop).1
    }

    fn marked(&self) -> Mark {
        (self.dependencies.fresh(), self.changed.len(), self.first.len())
    }

    /// Has all entries as they were at a mark.
    fn forget(&mut self, (dependencies, changed, first): Mark) {
        let rows: HashSet<usize> =
            self.changed[changed..].iter().map(|&(place, _)| place / self.switches).collect();
        rows.iter().for_each(|&row| self.count(row, -1));
        while self.changed.len() > changed {
            if let Some((place, was)) = self.changed.pop() {
                self.next[place] = was;
            }
        }
        rows.iter().for_each(|&row| self.count(row, 1));
        self.first.truncate(first);
        self.dependencies.take_back_to(dependencies);
    }

    /// Gives pairs the lanes that they had before some moves.
    fn take_back(&mut self, moves: usize) {
        while self.moves.len() > moves {
            if let Some((place, lane)) = self.moves.pop() {
                self.lanes[place] = lane;
            }
        }
    }

    fn look(&mut self, row: usize) {
        let all = row * self.switches..(row + 1) * self.switches;
        self.through.find(self.graph, &self.next[all.clone()], &self.lanes[all]);
    }

    /// Counts pairs to a destination in the loads of channels.
    fn count(&mut self, row: usize, times: i64) {
        self.look(row);
        let all = row * self.switches..(row + 1) * self.switches;
        for (&hop, hosts) in self.next[all].iter().zip(&self.through.hosts) {
            if hop != NO_CHANNEL {
                self.loads[hop as usize] += times * hosts;
            }
        }
    }

    /// The channels from a switch to a destination; `None` where there is no way.
    fn way(&self, row: usize, switch: u32) -> Option<Vec<u32>> {
        let root = self.roots[row];
        let found: Vec<u32> = way(self.graph, self.row(row), root, switch).collect();
        (found.last().map_or(switch, |&hop| self.head(hop)) == root).then_some(found)
    }

    /// Gives an entry the hop behind which the busiest channel has the least load; false for none.
    fn mend(&mut self, row: usize, switch: u32) -> bool {
        if self.next[self.at(row, switch)] != NO_CHANNEL || self.turn(row, switch, DEPTH) {
            return true;
        }
        self.allowed.is_some()
            && [Self::choices, Self::detours].iter().any(|kind| {
                let choices = kind(self, row, switch);
                choices.iter().any(|(_, _, changes)| {
                    let moves = self.moves.len();
                    let taken = self.take(row, changes, Self::settled);
                    if !taken {
                        self.take_back(moves);
                    }
                    taken
                })
            })
    }

    /// Gives an entry another hop, if need be after others that turn away, which may need that, too.
    fn turn(&mut self, row: usize, switch: u32, depth: u32) -> bool {
        let choices = self.choices(row, switch);
        if choices.iter().any(|(_, _, changes)| self.take(row, changes, Self::fits)) {
            return true;
        }
        let detours = self.detours(row, switch);
        detours.iter().any(|(_, _, changes)| self.take(row, changes, Self::fits))
            || depth > 0 && self.left > 0 && self.alone(row, switch, depth - 1)
    }

    /// Gives an entry a hop when switches that forwarded to it have turned away, as many as can.
    fn alone(&mut self, row: usize, switch: u32, depth: u32) -> bool {
        let before = self.marked();
        let graph = self.graph;
        for &back in graph.outgoing(switch) {
            let there = graph.ends(back).1;
            let hop = self.next[self.at(row, there)];
            if hop != NO_CHANNEL && self.head(hop) == switch {
                self.turn(row, there, depth);
            }
        }
        if self.turn(row, switch, 0) {
            return true;
        }
        self.forget(before);
        false
    }

    /// Hops of a switch with a way to a destination, the best first.
    fn choices(&self, row: usize, switch: u32) -> Vec<Choice> {
        let mut found: Vec<Choice> = self
            .graph
            .outgoing(switch)
            .iter()
            .filter_map(|&hop| {
                let way = self.way(row, self.head(hop))?;
                if way.iter().any(|&one| self.head(one) == switch) {
                    return None;
                }
                let most = way.iter().chain([&hop]).map(|&one| self.loads[one as usize]).max()?;
                Some((most, way.len(), vec![(switch, hop)]))
            })
            .collect();
        found.sort();
        found
    }

    /// The same where the next switch gets another hop first.
    fn detours(&self, row: usize, switch: u32) -> Vec<Choice> {
        let mut found = Vec::new();
        for &hop in self.graph.outgoing(switch) {
            let there = self.head(hop);
            if there == self.roots[row] {
                continue;
            }
            for (most, length, mut changes) in self.choices(row, there) {
                let onwards = self.head(changes[0].1);
                let back = |way: &[u32]| way.iter().any(|&one| self.head(one) == switch);
                if onwards != switch && !self.way(row, onwards).is_some_and(|way| back(&way)) {
                    changes.push((switch, hop));
                    found.push((most.max(self.loads[hop as usize]), length + 1, changes));
                }
            }
        }
        found.sort();
        found
    }

    /// Changes entries of a destination; false, and no change, if packets could wait in a circle, as `fits` says of the
    /// switches whose entries have changed.
    fn take(
        &mut self,
        row: usize,
        changes: &[Change],
        fits: impl Fn(&mut Self, usize, &[u32]) -> bool,
    ) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let before = self.dependencies.fresh();
        let places: Vec<usize> = changes.iter().map(|&(switch, _)| self.at(row, switch)).collect();
        let kept: Vec<u32> = places.iter().map(|&place| self.next[place]).collect();
        let ways: Vec<Vec<u32>> = changes.iter().map(|&(switch, _)| self.behind(row, switch)).collect();
        self.count(row, -1);
        places.iter().zip(changes).for_each(|(&place, &(_, hop))| self.next[place] = hop);
        let switches: Vec<u32> = changes.iter().map(|&(switch, _)| switch).collect();
        let taken = fits(self, row, &switches);
        if !taken {
            places.iter().zip(&kept).for_each(|(&place, &was)| self.next[place] = was);
            self.dependencies.take_back_to(before);
        }
        self.count(row, 1);
        if taken {
            self.changed.extend(places.into_iter().zip(kept.iter().copied()));
            for ((mut ways, was), switch) in ways.into_iter().zip(kept).zip(switches) {
                if was != NO_CHANNEL {
                    ways.extend(self.behind(row, switch));
                    self.first.push(First { row, switch, ways });
                }
            }
        }
        taken
    }

    /// The switches behind one along its route to a destination, which may go round where no packet comes.
    fn behind(&self, row: usize, switch: u32) -> Vec<u32> {
        way(self.graph, self.row(row), self.roots[row], switch).map(|hop| self.head(hop)).collect()
    }

    fn add(&mut self, hop: u32, behind: u32, lanes: u16) -> bool {
        let missing = lanes & !self.dependencies.lanes(hop, behind);
        lanes_of(missing).all(|lane| self.dependencies.add((hop, lane), (behind, lane)))
    }

    /// Whether all that comes through some switches may wait for what is behind them.
    fn fits(&mut self, row: usize, switches: &[u32]) -> bool {
        self.look(row);
        switches.iter().all(|&switch| {
            let Some(way) = self.way(row, switch) else { return false };
            let graph = self.graph;
            let arrive = graph.outgoing(switch).iter().all(|&back| {
                let there = graph.ends(back).1;
                let lanes = self.through.lanes[there as usize];
                let comes = self.next[self.at(row, there)] == back ^ 1;
                !comes || way.first().is_none_or(|&hop| self.add(back ^ 1, hop, lanes))
            });
            arrive
                && way.windows(2).all(|pair| {
                    let lanes = self.through.lanes[graph.ends(pair[0]).0 as usize];
                    self.add(pair[0], pair[1], lanes)
                })
        })
    }

    /// Whether all that comes through some switches may wait for what is behind them, on some lane.
    fn settled(&mut self, row: usize, switches: &[u32]) -> bool {
        (0..self.switches as u32).all(|source| {
            if self.graph.hosts(source) == 0 || source == self.roots[row] {
                return true;
            }
            let Some(way) = self.way(row, source) else { return true };
            let comes =
                switches.contains(&source) || way.iter().any(|&hop| switches.contains(&self.head(hop)));
            !comes || self.settles(row, source)
        })
    }

    /// Whether packets of a source can wait for what is behind it, if need be on another lane.
    fn settles(&mut self, row: usize, source: u32) -> bool {
        let kept = self.lanes[self.at(row, source)];
        if self.takes(&[(row, source)], kept) {
            return true;
        }
        let root = self.roots[row];
        let pairs = |rows: Option<&Vec<u32>>, other: u32| -> Vec<(usize, u32)> {
            rows.into_iter().flatten().map(|&row| (row as usize, other)).collect()
        };
        let mut both = pairs(self.rows_of.get(&root), source);
        both.extend(pairs(self.rows_of.get(&source), root));
        let allowed = self.allowed.unwrap_or_default();
        let Some(&lane) = allowed.iter().find(|&&lane| lane != kept && self.takes(&both, lane)) else {
            return false;
        };
        for (other, switch) in both {
            let place = self.at(other, switch);
            self.moves.push((place, self.lanes[place]));
            self.lanes[place] = lane;
        }
        true
    }

    /// Has packets wait for what is behind them, by old and new entries; false if they cannot.
    fn takes(&mut self, pairs: &[(usize, u32)], lane: u8) -> bool {
        let before = self.dependencies.fresh();
        let fits = pairs.iter().all(|&(row, source)| {
            let all = row * self.switches..(row + 1) * self.switches;
            let ways = [&self.next[all.clone()], &self.old[all]]
                .map(|entries| way(self.graph, entries, self.roots[row], source).collect::<Vec<u32>>());
            ways.iter().all(|way| way.windows(2).all(|pair| self.add(pair[0], pair[1], 1 << lane)))
        });
        if !fits {
            self.dependencies.take_back_to(before);
        }
        fits
    }

    fn patched(&self, before: Before<'_>, choice: usize) -> Patched {
        let mut levels = before.levels.to_vec();
        self.moves.iter().for_each(|&(place, _)| levels[place] = self.lanes[place]);
        Patched { next: self.next.clone(), levels, rounds: self.rounds(), choice }
    }

    /// Entries with a way that change, in rounds in which no packet meets two of a destination.
    fn rounds(&self) -> Vec<Vec<u32>> {
        let mut found: Vec<Vec<u32>> = Vec::new();
        let mut last: HashMap<usize, (usize, HashSet<u32>, HashSet<u32>)> = HashMap::new();
        for &First { row, switch, ref ways } in &self.first {
            let (number, together, seen) = last.entry(row).or_default();
            if seen.contains(&switch) || ways.iter().any(|there| together.contains(there)) {
                *number += 1;
                together.clear();
                seen.clear();
            }
            together.insert(switch);
            seen.extend(ways);
            if *number == found.len() {
                found.push(Vec::new());
            }
            found[*number].push(self.at(row, switch) as u32);
        }
        found.iter_mut().for_each(|places| places.sort_unstable());
        found
    }
}
