//! Repair after a failure: few entries change, and old and new ones may stand side by side meanwhile.

use super::{
    DimensionOrder, Effort, Forwarding, ForwardingRequest, Guard, MAX_LANES, NO_CHANNEL, balance_guarded,
    lanes_of_links, table::standing, way,
};
use crate::fabric::{Graph, UNREACHABLE};
use crate::flow::demands::{Pairs, first_bound};
use crate::flow::order::Dependencies;
use crate::routes::lanes;

/// Tables of before a failure, in the numbers of what is left; the lane of a packet is its service level
/// modulo [those of the links](lanes_of_links).
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
    /// Entries, by `destination * switches + switch`, that must be changed before all others, round by round.
    pub rounds: Vec<Vec<u32>>,
    /// Entries through which no host sends any more, to be changed when all else is and old packets are gone.
    pub last: Vec<u32>,
    /// Whether both directions of all pairs of switches have one level, before and after.
    pub both_ways: bool,
}

/// The round of an entry that follows all [`Repaired::rounds`].
const LATE: u8 = u8::MAX;

/// Repairs tables with constant lanes such that no mixture of old and new entries can deadlock or loop;
/// `None` if the old tables could deadlock themselves, or if no such repair was found.
///
/// Packets of all pairs may meet old and new entries in any mixture, but sources must have their new
/// levels, and packets with old ones be gone, before the first entry is changed; and the entries of
/// [`Repaired::rounds`] are changed before all others, a round after the other: those through which a switch that
/// has lost its only way gets a new one, and which led to that switch themselves. Where no level moves and there
/// are no such entries, any order will do. Switches through which no host sends any more come last.
///
/// Of the request its lanes, tries and slack count: how far above the bound is good enough, as a fraction of it.
/// Pairs change their levels only where a cable is gone, or where the load stays above that otherwise. Where both
/// directions of all pairs have one level, they change together, and only where a cable is gone.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::*};
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
    demand: Option<&Pairs>,
    request: ForwardingRequest<'_>,
) -> Option<Repaired> {
    let switches = graph.switches();
    let mut table = Forwarding::new(switches, roots, before.next.to_vec());
    let pairs = lanes::levels_both_ways(&table, before.levels, |switch| graph.hosts(switch) > 0);
    let mut mixture = Mixture::new(graph, request.lanes.clamp(1, MAX_LANES), pairs);
    let none = vec![LATE; switches];
    let rows = before.next.chunks(switches).zip(before.levels.chunks(switches));
    let lost = before.lost_next.chunks(switches).zip(before.lost_levels.chunks(switches));
    for (next, levels) in rows.chain(lost) {
        mixture.turn();
        let row = Row { old: next, new: next, rounds: &none };
        for source in (0..switches).filter(|&source| graph.hosts(source as u32) > 0) {
            mixture.add(row, source as u32, levels[source] % mixture.fold);
        }
    }
    if !mixture.dependencies.put_in_order() {
        return None;
    }
    let mut levels = before.levels.to_vec();
    let mut rounds = vec![LATE; before.next.len()];
    for destination in 0..table.roots.len() {
        mend(&mut mixture, &mut table, destination, before.next, &mut rounds, &mut levels)?;
    }
    let value = first_bound(graph, order.map(DimensionOrder::placed), &table.roots, demand).value;
    let enough = request.enough(value);
    if let Some(demand) = demand {
        table = table.with_demand(demand.pairs.clone());
    }
    let effort = Effort { exception: 0.0, tries: request.tries, enough, longer: false, gently: false };
    let best = levels.clone();
    let mut keeper = Keeper { mixture, old: before.next, levels, rounds: &rounds, moves: false, best };
    // Service levels change only where entries alone do not do.
    for moves in [false, true] {
        keeper.moves = moves;
        balance_guarded(graph, &mut table, value, order, effort, Some(&mut keeper));
        if table.max_load(graph) <= enough {
            break;
        }
    }
    let levels = keeper.best;
    let last = serve_the_rest(graph, &mut table);
    let ahead =
        rounds.iter().filter(|&&round| round != LATE).max().map_or(0, |&round| usize::from(round) + 1);
    let mut ordered: Vec<Vec<u32>> = vec![Vec::new(); ahead];
    for (place, &round) in rounds.iter().enumerate().filter(|&(_, &round)| round != LATE) {
        ordered[usize::from(round)].push(place as u32);
    }
    let both_ways = keeper.mixture.pairs.is_some();
    Some(Repaired { table, levels, rounds: ordered, last, both_ways })
}

/// Points entries whose cable is gone elsewhere until all hosts reach the destination, with other levels for pairs
/// that need them; `None` if that cannot be done entry by entry.
fn mend(
    mixture: &mut Mixture<'_>,
    table: &mut Forwarding,
    destination: usize,
    all_old: &[u32],
    all_rounds: &mut [u8],
    all_levels: &mut [u8],
) -> Option<()> {
    let graph = mixture.graph;
    let root = table.roots[destination];
    let switches = graph.switches();
    let start = destination * switches;
    let all = start..start + switches;
    let old = &all_old[all.clone()];
    if old.iter().enumerate().all(|(switch, &hop)| hop != NO_CHANNEL || switch == root as usize) {
        return Some(());
    }
    let distances = graph.distances_to(root);
    loop {
        let standing = standing(graph, table.row(destination), table.roots[destination]);
        let row = &table.next[all.clone()];
        let cut_off = cut_off(graph, row, &standing, &distances);
        if !cut_off.contains(&true) {
            return Some(());
        }
        let (switch, ahead) = next_to_mend(graph, row, &standing, &cut_off, &distances)?;
        let mut hops: Vec<u32> = graph.outgoing(switch as u32).to_vec();
        hops.retain(|&hop| standing[graph.ends(hop).1 as usize]);
        hops.sort_by_key(|&hop| (distances[graph.ends(hop).1 as usize], hop));
        let mut try_hop = |hop: u32| {
            table.next[start + switch] = hop;
            let (new, rounds) = (&table.next[all.clone()], &mut all_rounds[all.clone()]);
            rounds[switch] =
                if ahead { round_of(graph, Row { old, new, rounds }, switch as u32)? } else { LATE };
            Some(Row { old, new, rounds })
                .filter(|&row| mixture.stands(row, switch as u32, &all_levels[all.clone()]))
                .map(|_| ())
        };
        if hops.iter().any(|&hop| try_hop(hop).is_some()) {
            continue;
        }
        table.next[start + switch] = *hops.first()?;
        let (new, rounds) = (&table.next[all.clone()], &mut all_rounds[all.clone()]);
        if ahead {
            rounds[switch] = round_of(graph, Row { old, new, rounds }, switch as u32)?;
        }
        let rows = Rows { old: all_old, new: &table.next, rounds: all_rounds, switches };
        mixture.turn();
        for source in mixture.behind(rows.row(destination), switch as u32) {
            let level = all_levels[start + source as usize] % mixture.fold;
            if graph.hosts(source) > 0 && !mixture.add(rows.row(destination), source, level) {
                mixture.move_level(rows, (source, root), destination, all_levels)?;
            }
        }
    }
}

/// The nearest broken entry beside a way that stands, so that those behind it stand then, too, and whether it goes ahead
/// of all others: where all neighbours forwarded to the broken switches, one of those behind them does.
fn next_to_mend(
    graph: &Graph,
    row: &[u32],
    standing: &[bool],
    cut_off: &[bool],
    distances: &[u16],
) -> Option<(usize, bool)> {
    let stands = |&hop: &u32| standing[graph.ends(hop).1 as usize];
    let beside = |broken: bool| {
        (0..row.len())
            .filter(|&switch| (row[switch] == NO_CHANNEL) == broken && cut_off[switch])
            .filter(|&switch| graph.outgoing(switch as u32).iter().any(stands))
            .min_by_key(|&switch| (distances[switch], switch))
    };
    match beside(true) {
        Some(switch) => Some((switch, false)),
        None => Some((beside(false)?, true)),
    }
}

/// Switches from which a row leads nowhere though there is a way, as far as hosts send through them.
fn cut_off(graph: &Graph, row: &[u32], standing: &[bool], distances: &[u16]) -> Vec<bool> {
    let mut cut_off = vec![false; row.len()];
    for source in (0..row.len()).filter(|&switch| graph.hosts(switch as u32) > 0) {
        let mut at = source;
        while !standing[at] && !cut_off[at] && distances[at] != UNREACHABLE {
            cut_off[at] = true;
            match row[at] {
                NO_CHANNEL => break,
                hop => at = graph.ends(hop).1 as usize,
            }
        }
    }
    cut_off
}

/// The first round in which a switch can turn to its new hop: after those on its new way whose old ways led through it.
fn round_of(graph: &Graph, row: Row<'_>, switch: u32) -> Option<u8> {
    let mut round = 0;
    let mut at = graph.ends(row.new[switch as usize]).1;
    for _ in 0..row.old.len() {
        let here = at as usize;
        if row.new[here] != row.old[here] && leads_through(graph, row.old, at, switch) {
            round = round.max(row.rounds[here].checked_add(1).filter(|&round| round != LATE)?);
        }
        match row.new[here] {
            NO_CHANNEL => break,
            hop => at = graph.ends(hop).1,
        }
    }
    Some(round)
}

/// Whether entries lead from a switch through another.
fn leads_through(graph: &Graph, row: &[u32], from: u32, through: u32) -> bool {
    from == through || way(graph, row, u32::MAX, from).any(|channel| graph.ends(channel).1 == through)
}

/// Gives switches from which no host sends shortest ways to what stands; these entries.
fn serve_the_rest(graph: &Graph, table: &mut Forwarding) -> Vec<u32> {
    let mut served = Vec::new();
    let switches = graph.switches();
    for destination in 0..table.roots.len() {
        let start = destination * switches;
        if !table
            .row(destination)
            .iter()
            .enumerate()
            .any(|(switch, &hop)| hop == NO_CHANNEL && switch != table.roots[destination] as usize)
        {
            continue;
        }
        let mut standing = standing(graph, table.row(destination), table.roots[destination]);
        let stand = (0..switches as u32).filter(|&switch| standing[switch as usize]).collect();
        graph.met_backwards(stand, |channel, there| {
            let new = !std::mem::replace(&mut standing[there as usize], true);
            if new {
                table.next[start + there as usize] = channel;
                served.push((start + there as usize) as u32);
            }
            new
        });
    }
    served
}

/// Refuses changes by which a mixture could deadlock or loop.
struct Keeper<'a, 'b> {
    mixture: Mixture<'a>,
    old: &'b [u32],
    levels: Vec<u8>,
    rounds: &'b [u8],
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
        let row = Row { old: &self.old[all.clone()], new: &new, rounds: &self.rounds[all.clone()] };
        let levels = &mut self.levels[all];
        self.mixture.stands(row, switch, levels)
            || self.moves
                && self.mixture.pairs.is_none()
                && self.mixture.stands_on_others(row, switch, levels)
    }

    fn best_so_far(&mut self) {
        self.best.clone_from(&self.levels);
    }
}

/// What may wait for what while entries are old or new.
struct Mixture<'a> {
    graph: &'a Graph,
    lanes: usize,
    /// Lanes of the links.
    fold: u8,
    /// Destinations by switch, where both directions of pairs have one level.
    pairs: Option<Vec<Vec<u32>>>,
    dependencies: Dependencies,
    /// Channels and lanes whose ways to the destination at hand are in already, for packets that know that this
    /// many rounds are over, or more.
    seen: Vec<(u32, u8)>,
    turn: u32,
}

impl<'a> Mixture<'a> {
    fn new(graph: &'a Graph, lanes: usize, pairs: Option<Vec<Vec<u32>>>) -> Self {
        let fold = lanes_of_links(lanes);
        let (dependencies, seen) =
            (Dependencies::unordered(graph, lanes), vec![(0, 0); graph.channels() * fold]);
        Self { graph, lanes, fold: fold as u8, pairs, dependencies, seen, turn: 0 }
    }

    /// Gives packets from a switch to another another level: to the destination at hand or, where both directions of
    /// pairs have one level, all that the two send each other; what a refusal has added stays.
    fn move_level(
        &mut self,
        rows: Rows<'_>,
        (from, to): (u32, u32),
        destination: usize,
        levels: &mut [u8],
    ) -> Option<()> {
        let moved: Vec<(usize, u32)> = match &self.pairs {
            None => vec![(destination, from)],
            Some(pairs) => {
                let sent =
                    |to: u32, from: u32| pairs[to as usize].iter().map(move |&row| (row as usize, from));
                sent(to, from).chain(sent(from, to)).collect()
            }
        };
        let lanes = self.lanes as u8;
        let fits = |&lane: &u8| {
            moved.iter().all(|&(destination, from)| {
                self.turn();
                self.add(rows.row(destination), from, lane)
            })
        };
        let lane = (0..lanes).find(fits)?;
        moved
            .iter()
            .for_each(|&(destination, from)| levels[destination * rows.switches + from as usize] = lane);
        self.turn();
        Some(())
    }

    /// Goes on to another destination.
    fn turn(&mut self) {
        self.turn += 1;
    }

    /// Adds all that packets of a source can wait for on a lane, unless that closes a cycle.
    fn add(&mut self, row: Row<'_>, source: u32, lane: u8) -> bool {
        let stands = self.follow(row, row.hops(source, 0).collect(), lane);
        if stands {
            self.dependencies.keep();
        }
        stands
    }

    /// Adds all that packets can wait for from some channels on, each with the rounds that are over, unless that closes
    /// a cycle; all that is not kept is taken back then.
    fn follow(&mut self, row: Row<'_>, mut stack: Vec<(u32, u8)>, lane: u8) -> bool {
        let fold = usize::from(self.fold);
        let place = |channel: u32| channel as usize * fold + usize::from(lane);
        let mut entered: Vec<usize> = Vec::new();
        while let Some((channel, over)) = stack.pop() {
            if !meet(&mut self.seen[place(channel)], self.turn, over) {
                continue;
            }
            entered.push(place(channel));
            for (following, over) in row.hops(self.graph.ends(channel).1, over) {
                if !self.dependencies.add((channel, lane), (following, lane)) {
                    self.dependencies.take_back();
                    entered.into_iter().for_each(|place| self.seen[place] = (0, 0));
                    return false;
                }
                stack.push((following, over));
            }
        }
        true
    }

    /// Whether all sources behind a switch can keep their levels with its new entry; keeps what that adds.
    fn stands(&mut self, row: Row<'_>, switch: u32, levels: &[u8]) -> bool {
        self.turn();
        let mut lanes = 0_u16;
        for source in self.behind(row, switch).into_iter().filter(|&source| self.graph.hosts(source) > 0) {
            lanes |= 1 << (levels[source as usize] % self.fold);
        }
        // From every channel that enters the switch on, old or new.
        for lane in (0..self.fold).filter(|lane| lanes >> lane & 1 != 0) {
            for &back in self.graph.outgoing(switch) {
                let (before, arriving) = (self.graph.ends(back).1, back ^ 1);
                if !row.hops(before, 0).any(|(channel, _)| channel == arriving) {
                    continue;
                }
                let leaving = row.new[switch as usize];
                if !self.dependencies.add((arriving, lane), (leaving, lane)) {
                    self.dependencies.take_back();
                    return false;
                }
            }
            if !self.follow(row, vec![(row.new[switch as usize], row.rounds[switch as usize])], lane) {
                return false;
            }
        }
        self.dependencies.keep();
        true
    }

    /// Whether all sources behind a switch have a level with its new entry, those that need it another one;
    /// what a refusal has added stays, and only makes later answers more careful.
    fn stands_on_others(&mut self, row: Row<'_>, switch: u32, levels: &mut [u8]) -> bool {
        self.turn();
        let mut moved: Vec<(usize, u8)> = Vec::new();
        for source in self.behind(row, switch).into_iter().filter(|&source| self.graph.hosts(source) > 0) {
            let level = levels[source as usize];
            if self.add(row, source, level % self.fold) {
                continue;
            }
            match (0..self.lanes as u8).find(|&lane| self.add(row, source, lane)) {
                Some(lane) => moved.push((source as usize, lane)),
                None => return false,
            }
        }
        moved.into_iter().for_each(|(source, level)| levels[source] = level);
        true
    }

    /// Switches from which a packet may come to one, and that one.
    fn behind(&self, row: Row<'_>, switch: u32) -> Vec<u32> {
        let mut known = vec![false; row.old.len()];
        known[switch as usize] = true;
        self.graph.met_backwards(vec![switch], |back, there| {
            let new = !known[there as usize] && row.hops(there, 0).any(|(channel, _)| channel == back);
            known[there as usize] |= new;
            new
        })
    }
}

/// Whether a channel was not yet met in this turn by packets that know of no more rounds.
fn meet(seen: &mut (u32, u8), turn: u32, over: u8) -> bool {
    let new = seen.0 != turn || over < seen.1;
    if new {
        *seen = (turn, over);
    }
    new
}

/// The entries of all destinations.
#[derive(Clone, Copy)]
struct Rows<'r> {
    old: &'r [u32],
    new: &'r [u32],
    rounds: &'r [u8],
    switches: usize,
}

impl<'r> Rows<'r> {
    fn row(self, destination: usize) -> Row<'r> {
        let all = destination * self.switches..(destination + 1) * self.switches;
        Row { old: &self.old[all.clone()], new: &self.new[all.clone()], rounds: &self.rounds[all] }
    }
}

/// The entries of a destination by switch, before and after, and the round in which each is changed.
#[derive(Clone, Copy)]
struct Row<'r> {
    old: &'r [u32],
    new: &'r [u32],
    rounds: &'r [u8],
}

impl<'r> Row<'r> {
    /// Where a switch may forward a packet that has met an entry of round `over` when it was changed already, so
    /// that all rounds before are over; each hop with what the packet knows then.
    fn hops(self, switch: u32, over: u8) -> impl Iterator<Item = (u32, u8)> {
        let switch = switch as usize;
        let (old, new, round) = (self.old[switch], self.new[switch], self.rounds[switch]);
        let changed = new != old;
        let stays = (old, if changed && round < over { None } else { Some(over) });
        let turns = (new, if changed { Some(over.max(round)) } else { None });
        [stays, turns]
            .into_iter()
            .filter(|&(channel, _)| channel != NO_CHANNEL)
            .filter_map(|(channel, over)| Some((channel, over?)))
    }
}
