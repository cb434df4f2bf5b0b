//! Repair after a failure: few entries change, and old and new ones may stand side by side meanwhile.

use super::demand::first_bound;
use super::search::{Guard, balance_guarded};
use super::{
    Demand, Dependencies, DimensionOrder, Effort, Forwarding, ForwardingRequest, MAX_LANES, NO_CHANNEL,
};
use crate::fabric::{Graph, UNREACHABLE};

/// Tables of before a failure, in the numbers of what is left; the lane of a packet is its service level
/// modulo [`MAX_LANES`].
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// Channel by `destination * switches + switch`, [`NO_CHANNEL`] where it is gone.
    pub next: &'a [u32],
    /// Service level by `destination * switches + switch of the source`.
    pub levels: &'a [u8],
    /// The same for destinations that are gone, to which packets may still be on their way.
    pub lost_next: &'a [u32],
    /// The same for destinations that are gone.
    pub lost_levels: &'a [u8],
}

/// Repaired tables.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The tables.
    pub table: Forwarding,
    /// Service levels as before, but for pairs that need another one.
    pub levels: Vec<u8>,
    /// Entries, by `destination * switches + switch`, that must be changed before all others.
    pub first: Vec<u32>,
}

/// Repairs tables with constant lanes such that no mixture of old and new entries can deadlock or loop;
/// `None` if the old tables could deadlock themselves, or if no such repair was found.
///
/// Packets of all pairs may meet old and new entries in any mixture, but sources must have their new
/// levels, and packets with old ones be gone, before the first entry is changed; and the entries of
/// [`Repaired::first`] are changed before all others: those through which a switch that has lost its only
/// way gets a new one, and which led to that switch themselves. Where no level moves and there are no such
/// entries, any order will do.
///
/// Of the request its lanes, tries and slack count: how far above the bound is good enough, as a fraction of it.
/// Pairs change their levels only where a cable is gone, or where the load stays above that otherwise.
///
/// ```
/// use flitloom_core::{fabric::Graph, forwarding::*};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let old = forward(&ring, None, vec![0, 1, 2, 3, 4], None, None, ForwardingRequest::default());
/// // The last cable fails.
/// let path = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4)])?;
/// let next: Vec<u32> = old.table.next.iter().map(|&hop| if hop < 8 { hop } else { NO_CHANNEL }).collect();
/// let before = Before { next: &next, levels: &old.lanes.levels, lost_next: &[], lost_levels: &[] };
/// let new = repair(&path, None, vec![0, 1, 2, 3, 4], before, None, ForwardingRequest::default()).unwrap();
/// assert_eq!(new.table.loads(&path), [4, 4, 6, 6, 6, 6, 4, 4]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn repair(
    graph: &Graph,
    order: Option<&DimensionOrder>,
    roots: Vec<u32>,
    before: Before<'_>,
    demand: Option<&Demand>,
    request: ForwardingRequest,
) -> Option<Repaired> {
    let lanes = request.lanes.clamp(1, MAX_LANES);
    let switches = graph.switches();
    let mut mixture = Mixture::new(graph);
    let none = vec![false; switches];
    let rows = before.next.chunks(switches).zip(before.levels.chunks(switches));
    let lost = before.lost_next.chunks(switches).zip(before.lost_levels.chunks(switches));
    for (next, levels) in rows.chain(lost) {
        mixture.turn();
        let row = Row { old: next, new: next, first: &none };
        for source in (0..switches).filter(|&source| graph.hosts(source as u32) > 0) {
            if !mixture.add(row, source as u32, levels[source] % MAX_LANES as u8) {
                return None;
            }
        }
    }
    let mut levels = before.levels.to_vec();
    let mut first = vec![false; before.next.len()];
    let mut table = Forwarding::new(switches, roots, before.next.to_vec());
    for destination in 0..table.roots.len() {
        let row = destination * switches..(destination + 1) * switches;
        let (old, first) = (&before.next[row.clone()], &mut first[row.clone()]);
        mend(&mut mixture, &mut table, destination, old, first, &mut levels[row], lanes)?;
    }
    let value = first_bound(graph, order, &table.roots, demand).value;
    let enough = (value as f64 * (1.0 + request.slack)).floor() as u64;
    if let Some(demand) = demand {
        table = table.with_demand(demand.pairs.clone());
    }
    let effort = Effort { exception: 0.0, tries: request.tries, enough, longer: false };
    let best = levels.clone();
    let mut keeper = Keeper { mixture, old: before.next, levels, first: &first, lanes, moves: false, best };
    // Service levels change only where entries alone do not do.
    for moves in [false, true] {
        keeper.moves = moves;
        balance_guarded(graph, &mut table, value, order, effort, Some(&mut keeper));
        if table.loads(graph).into_iter().max().unwrap_or(0) <= enough {
            break;
        }
    }
    let levels = keeper.best;
    let first = (0..first.len()).filter(|&place| first[place]).map(|place| place as u32).collect();
    Some(Repaired { table, levels, first })
}

/// Points the entries whose cable is gone elsewhere, with other levels for pairs that need them; `None` if
/// that cannot be done one entry at a time.
fn mend(
    mixture: &mut Mixture<'_>,
    table: &mut Forwarding,
    destination: usize,
    old: &[u32],
    first: &mut [bool],
    levels: &mut [u8],
    lanes: usize,
) -> Option<()> {
    let graph = mixture.graph;
    let root = table.roots[destination];
    let start = destination * old.len();
    if old.iter().enumerate().all(|(switch, &hop)| hop != NO_CHANNEL || switch == root as usize) {
        return Some(());
    }
    let distances = graph.distances_to(root);
    loop {
        let mut standing = vec![false; old.len()];
        table.towards(graph, destination).iter().for_each(|&switch| standing[switch as usize] = true);
        let lost = |switch: &usize| !standing[*switch] && distances[*switch] != UNREACHABLE;
        if !(0..old.len()).any(|switch| lost(&switch)) {
            return Some(());
        }
        // The nearest broken entry beside a way that stands; those behind it stand then, too.
        let hop_of = |switch: usize| {
            let leads = |&&hop: &&u32| standing[graph.ends(hop).1 as usize];
            let outgoing = graph.outgoing(switch as u32).iter().filter(leads);
            outgoing.copied().min_by_key(|&hop| (distances[graph.ends(hop).1 as usize], hop))
        };
        let beside = |broken: bool| {
            (0..old.len())
                .filter(|&switch| (table.next[start + switch] == NO_CHANNEL) == broken && lost(&switch))
                .filter_map(|switch| hop_of(switch).map(|hop| (switch, hop)))
                .min_by_key(|&(switch, _)| (distances[switch], switch))
        };
        let switch = match beside(true) {
            Some((switch, _)) => switch,
            // All neighbours forwarded to the broken switch: one of those behind it goes ahead.
            None => {
                let (switch, _) = beside(false)?;
                first[switch] = true;
                switch
            }
        };
        let mut hops: Vec<u32> = graph.outgoing(switch as u32).to_vec();
        hops.retain(|&hop| standing[graph.ends(hop).1 as usize]);
        hops.sort_by_key(|&hop| (distances[graph.ends(hop).1 as usize], hop));
        let row = start..start + old.len();
        let kept = hops.iter().copied().find(|&hop| {
            table.next[start + switch] = hop;
            mixture.stands(Row { old, new: &table.next[row.clone()], first }, switch as u32, levels)
        });
        if kept.is_some() {
            continue;
        }
        table.next[start + switch] = hops[0];
        let row = Row { old, new: &table.next[row], first };
        mixture.turn();
        for source in mixture.behind(row, switch as u32) {
            let level = &mut levels[source as usize];
            if graph.hosts(source) == 0 || mixture.add(row, source, *level % MAX_LANES as u8) {
                continue;
            }
            *level = (0..lanes.min(MAX_LANES) as u8).find(|&lane| mixture.add(row, source, lane))?;
        }
    }
}

/// Refuses changes by which a mixture could deadlock or loop.
struct Keeper<'a, 'b> {
    mixture: Mixture<'a>,
    old: &'b [u32],
    levels: Vec<u8>,
    first: &'b [bool],
    lanes: usize,
    /// Whether pairs may get other levels, not only keep those they have.
    moves: bool,
    /// The levels that belong to the best table so far.
    best: Vec<u8>,
}

impl Guard for Keeper<'_, '_> {
    fn allows(&mut self, destination: usize, row: &[u32], switch: u32, hop: u32) -> bool {
        let all = destination * row.len()..(destination + 1) * row.len();
        let mut new = row.to_vec();
        new[switch as usize] = hop;
        let row = Row { old: &self.old[all.clone()], new: &new, first: &self.first[all.clone()] };
        let levels = &mut self.levels[all];
        self.mixture.stands(row, switch, levels)
            || self.moves && self.mixture.stands_on_others(row, switch, levels, self.lanes)
    }

    fn best_so_far(&mut self) {
        self.best.clone_from(&self.levels);
    }
}

/// What may wait for what while entries are old or new.
struct Mixture<'a> {
    graph: &'a Graph,
    dependencies: Dependencies,
    /// Channels and lanes whose ways to the destination at hand are in already.
    seen: Vec<u32>,
    round: u32,
}

impl<'a> Mixture<'a> {
    fn new(graph: &'a Graph) -> Self {
        let seen = vec![0; graph.channels() * MAX_LANES];
        Self { graph, dependencies: Dependencies::new(graph), seen, round: 0 }
    }

    /// Goes on to another destination.
    fn turn(&mut self) {
        self.round += 1;
    }

    /// Adds all that packets of a source can wait for on a lane, unless that closes a cycle.
    fn add(&mut self, row: Row<'_>, source: u32, lane: u8) -> bool {
        let place = |channel: u32| channel as usize * MAX_LANES + usize::from(lane);
        let mut stack: Vec<u32> = Vec::new();
        let mut entered: Vec<usize> = Vec::new();
        let mut meet = |seen: &mut [u32], stack: &mut Vec<u32>, channel: u32, round: u32| {
            if seen[place(channel)] != round {
                seen[place(channel)] = round;
                entered.push(place(channel));
                stack.push(channel);
            }
        };
        for channel in row.hops(source) {
            meet(&mut self.seen, &mut stack, channel, self.round);
        }
        while let Some(channel) = stack.pop() {
            for following in row.following(self.graph, channel) {
                if !self.dependencies.add((channel, lane), (following, lane)) {
                    self.dependencies.take_back();
                    entered.into_iter().for_each(|place| self.seen[place] = 0);
                    return false;
                }
                meet(&mut self.seen, &mut stack, following, self.round);
            }
        }
        self.dependencies.keep();
        true
    }

    /// Whether all sources behind a switch can keep their levels with its new entry; keeps what that adds.
    fn stands(&mut self, row: Row<'_>, switch: u32, levels: &[u8]) -> bool {
        self.turn();
        let mut lanes = 0_u8;
        for source in self.behind(row, switch).into_iter().filter(|&source| self.graph.hosts(source) > 0) {
            lanes |= 1 << (levels[source as usize] % MAX_LANES as u8);
        }
        let place = |channel: u32, lane: u8| channel as usize * MAX_LANES + usize::from(lane);
        // From every channel that enters the switch on, old or new.
        for lane in (0..MAX_LANES as u8).filter(|lane| lanes >> lane & 1 != 0) {
            for &back in self.graph.outgoing(switch) {
                let (before, arriving) = (self.graph.ends(back).1, back ^ 1);
                if !row.hops(before).any(|channel| channel == arriving) {
                    continue;
                }
                let leaving = row.new[switch as usize];
                if !self.dependencies.add((arriving, lane), (leaving, lane)) {
                    self.dependencies.take_back();
                    return false;
                }
            }
            let mut stack = vec![row.new[switch as usize]];
            while let Some(channel) = stack.pop() {
                if std::mem::replace(&mut self.seen[place(channel, lane)], self.round) == self.round {
                    continue;
                }
                for following in row.following(self.graph, channel) {
                    if !self.dependencies.add((channel, lane), (following, lane)) {
                        self.dependencies.take_back();
                        return false;
                    }
                    stack.push(following);
                }
            }
        }
        self.dependencies.keep();
        true
    }

    /// Whether all sources behind a switch have a level with its new entry, those that need it another one;
    /// what a refusal has added stays, and only makes later answers more careful.
    fn stands_on_others(&mut self, row: Row<'_>, switch: u32, levels: &mut [u8], lanes: usize) -> bool {
        self.turn();
        let mut moved: Vec<(usize, u8)> = Vec::new();
        for source in self.behind(row, switch).into_iter().filter(|&source| self.graph.hosts(source) > 0) {
            let level = levels[source as usize];
            if self.add(row, source, level % MAX_LANES as u8) {
                continue;
            }
            match (0..lanes as u8).find(|&lane| self.add(row, source, lane)) {
                Some(lane) => moved.push((source as usize, lane)),
                None => return false,
            }
        }
        moved.into_iter().for_each(|(source, level)| levels[source] = level);
        true
    }

    /// Switches from which a packet may come to one, and that one.
    fn behind(&self, row: Row<'_>, switch: u32) -> Vec<u32> {
        let mut found = vec![switch];
        let mut known = vec![false; row.old.len()];
        known[switch as usize] = true;
        let mut head = 0;
        while let Some(&here) = found.get(head) {
            head += 1;
            for &back in self.graph.outgoing(here) {
                let there = self.graph.ends(back).1;
                if !known[there as usize] && row.hops(there).any(|channel| channel == back ^ 1) {
                    known[there as usize] = true;
                    found.push(there);
                }
            }
        }
        found
    }
}

/// The entries of a destination by switch, before and after, and which of them are changed first.
#[derive(Clone, Copy)]
struct Row<'r> {
    old: &'r [u32],
    new: &'r [u32],
    first: &'r [bool],
}

impl<'r> Row<'r> {
    /// Where a switch may forward to.
    fn hops(self, switch: u32) -> impl Iterator<Item = u32> {
        let (old, new) = (self.old[switch as usize], self.new[switch as usize]);
        [old, if new == old { NO_CHANNEL } else { new }].into_iter().filter(|&channel| channel != NO_CHANNEL)
    }

    /// Where packets on a channel may go on to: at entries that are changed first only the new way, if
    /// they came by an entry that was changed later.
    fn following(self, graph: &Graph, channel: u32) -> impl Iterator<Item = u32> {
        let (from, at) = graph.ends(channel);
        let (from, at) = (from as usize, at as usize);
        let later = !self.first[from] && self.old[from] != channel && self.first[at];
        self.hops(at as u32).filter(move |&hop| !later || hop == self.new[at])
    }
}
