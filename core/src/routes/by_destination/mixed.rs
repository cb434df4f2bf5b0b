//! Packets while every entry of every switch, and every level, is of either of two sets of tables.

use super::{MAX_LANES, NO_CHANNEL, check::lanes_of, table::standing};
use crate::{fabric::Graph, flow::order::Dependencies};

/// One of two sets of tables.
#[derive(Clone, Copy, Debug)]
pub struct MixedTables<'a> {
    /// Channel by `destination * switches + switch`.
    pub next: &'a [u32],
    /// Service level by `destination * senders + sender`.
    pub levels: &'a [u8],
}

/// Who sends: the switch of each, and the switch of every destination.
#[derive(Clone, Copy, Debug)]
pub struct Senders<'a> {
    /// The switch that each sends from.
    pub at: &'a [u32],
    /// The switch of every destination.
    pub roots: &'a [u32],
}

/// What mixtures of two sets of tables do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mixed {
    /// Destinations whose packets can go round in a circle.
    pub circles: Vec<u32>,
    /// Destinations, and senders, that both sets serve and a mixture may not.
    pub lost: Vec<(u32, u32)>,
    /// Pairs that the first set, and the second, do not serve.
    pub unserved: [u64; 2],
    /// Pairs that both serve, on different levels.
    pub moved: u64,
    /// Whether any pair has different levels.
    pub differs: bool,
    /// Whether channels and lanes never wait for each other in a circle.
    pub acyclic: bool,
}

/// Entries and levels that change together.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Destinations whose entries change.
    pub rows: Vec<u32>,
    /// Destinations and senders whose level changes.
    pub pairs: Vec<(u32, u32)>,
}

/// Judges mixtures of tables whose lanes are levels modulo those of the links.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Forwarding, MixedTables, Senders, mixed}};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3]);
/// let tables = MixedTables { next: &table.next, levels: &[0; 16] };
/// let found = mixed(&ring, Senders { at: &[0, 1, 2, 3], roots: &table.roots }, [tables; 2], 8);
/// assert_eq!((found.moved, found.unserved, found.circles.len()), (0, [0, 0], 0));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn mixed(graph: &Graph, senders: Senders<'_>, tables: [MixedTables<'_>; 2], lanes: usize) -> Mixed {
    let (mut packets, mut found) = (Packets::new(graph, senders, lanes), Mixed::default());
    let mut dependencies = Dependencies::unordered(graph, lanes);
    for row in 0..senders.roots.len() {
        let parts = tables.map(|each| each.row(row, graph.switches(), senders.at.len()));
        let root = senders.roots[row];
        if packets.follow(parts, root) {
            found.circles.push(row as u32);
        }
        let serves = parts.map(|part| standing(graph, part.next, root));
        let nowhere = packets.nowhere(parts.map(|part| part.next), root);
        for (sender, &at) in senders.at.iter().enumerate().filter(|(_, at)| **at != root) {
            let by = [0, 1].map(|one: usize| serves[one][at as usize]);
            by.iter().zip(&mut found.unserved).for_each(|(&served, count)| *count += u64::from(!served));
            let moves = parts[0].levels[sender] != parts[1].levels[sender];
            found.differs |= moves;
            if by == [true; 2] {
                found.moved += u64::from(moves);
                if nowhere[at as usize] {
                    found.lost.push((row as u32, sender as u32));
                }
            }
        }
        packets
            .waits(parts.map(|part| part.next), |from, to, lane| dependencies.add((from, lane), (to, lane)));
    }
    found.acyclic = dependencies.put_in_order();
    found
}

/// As many changes on the way to other tables as may lie beside all else that there is: the tables then; `None` for
/// none. Some that do not go together are tried by halves, down to so many as `smallest`.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::*};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3]);
/// let mut other = table.next.clone();
/// // From the third switch to the first one the other way round.
/// other[2] = if other[2] == 4 { 3 } else { 4 };
/// let [now, aim] = [&table.next, &other].map(|next| MixedTables { next, levels: &[0; 16] });
/// let senders = Senders { at: &[0, 1, 2, 3], roots: &table.roots };
/// let change = Change { rows: vec![0], pairs: vec![] };
/// assert_eq!(together(&ring, senders, now, aim, &[change], 1, 8).map(|found| found.0), Some(other.clone()));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn together(
    graph: &Graph,
    senders: Senders<'_>,
    now: MixedTables<'_>,
    aim: MixedTables<'_>,
    changes: &[Change],
    smallest: usize,
    lanes: usize,
) -> Option<(Vec<u32>, Vec<u8>)> {
    let mut packets = Packets::new(graph, senders, lanes);
    let mut dependencies = Dependencies::unordered(graph, lanes);
    for (row, &root) in senders.roots.iter().enumerate() {
        let parts = [now.row(row, graph.switches(), senders.at.len()); 2];
        packets.follow(parts, root);
        packets
            .waits(parts.map(|part| part.next), |from, to, lane| dependencies.add((from, lane), (to, lane)));
    }
    if !dependencies.put_in_order() {
        return None;
    }
    let (next, levels) = (now.next.to_vec(), now.levels.to_vec());
    let mut taking = Taking { packets, dependencies, now, aim, next, levels, taken: false };
    taking.add(changes, smallest);
    taking.taken.then_some((taking.next, taking.levels))
}

/// What is there beside managers, and where managers may be.
#[derive(Clone, Copy, Debug)]
pub struct Management<'a> {
    /// Channels with their lanes of which one can wait for the other.
    pub known: &'a [[(u32, u8); 2]],
    /// The switch of every place, and the destinations there.
    pub places: &'a [(u32, Vec<u32>)],
    /// Lanes, a bit each, of packets from and to managers.
    pub lanes: u16,
    /// The switch of every destination.
    pub roots: &'a [u32],
    /// Channel by `destination * switches + switch`, by either set.
    pub to_hosts: [&'a [u32]; 2],
    /// Channel by `switch * switches + switch`: the way to a switch itself.
    pub to_switches: [&'a [u32]; 2],
}

/// Places at which one manager, who sends to all hosts and switches and hears of them, closes a circle of channels
/// that wait for each other; all of them if there is one without managers.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Forwarding, Management, unsafe_places}};
/// let path = Graph::new(vec![1; 3], &[(0, 1), (1, 2)])?;
/// let table = Forwarding::shortest(&path, vec![0, 1, 2]);
/// let next = [&table.next[..]; 2];
/// let places = [(0, vec![0])];
/// let beside = Management {
///     known: &[], places: &places, lanes: 1, roots: &[0, 1, 2], to_hosts: next, to_switches: next,
/// };
/// assert!(unsafe_places(&path, beside, 8).is_empty());
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn unsafe_places(graph: &Graph, beside: Management<'_>, lanes: usize) -> Vec<u32> {
    let switches = graph.switches();
    let senders = Senders { at: &[], roots: beside.roots };
    let mut packets = Packets::new(graph, senders, lanes);
    let mut dependencies = Dependencies::unordered(graph, lanes);
    beside.known.iter().for_each(|&[from, to]| _ = dependencies.add(from, to));
    if !dependencies.put_in_order() {
        return (0..beside.places.len() as u32).collect();
    }
    let everywhere: Vec<u32> = (0..switches as u32).collect();
    let mut fits = |(at, own): &(u32, Vec<u32>)| {
        let mut sent = |tables: [&[u32]; 2], row: usize, root: u32, starts: &[u32]| {
            let next = tables.map(|next| &next[row * switches..(row + 1) * switches]);
            let starts = starts.iter().copied().filter(|&switch| switch != root).collect();
            packets.follow_from(next, starts, beside.lanes);
            packets.waits(next, |from, to, lane| dependencies.add((from, lane), (to, lane)))
        };
        let mut rows = beside.roots.iter().copied().enumerate();
        let fits = rows.all(|(row, root)| sent(beside.to_hosts, row, root, &[*at]))
            && (0..switches).all(|there| sent(beside.to_switches, there, there as u32, &[*at]))
            && own
                .iter()
                .all(|&row| sent(beside.to_hosts, row as usize, beside.roots[row as usize], &everywhere));
        dependencies.take_back();
        fits
    };
    (0..).zip(beside.places).filter(|(_, place)| !fits(place)).map(|(number, _)| number).collect()
}

/// Tables that change as far as they can.
struct Taking<'a> {
    packets: Packets<'a>,
    dependencies: Dependencies,
    now: MixedTables<'a>,
    aim: MixedTables<'a>,
    next: Vec<u32>,
    levels: Vec<u8>,
    taken: bool,
}

impl Taking<'_> {
    fn add(&mut self, changes: &[Change], smallest: usize) {
        if changes.is_empty() || self.takes(changes) {
            return;
        }
        if changes.len() > smallest {
            let (one, other) = changes.split_at(changes.len() / 2);
            self.add(one, smallest);
            self.add(other, smallest);
        }
    }

    /// Makes changes; false, and all is as it was, if they close a circle.
    fn takes(&mut self, changes: &[Change]) -> bool {
        let (switches, senders) = (self.packets.graph.switches(), self.packets.senders.at.len());
        let mut rows: Vec<u32> = Vec::new();
        let mut before: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut pairs: Vec<(usize, u8)> = Vec::new();
        for change in changes {
            for &row in &change.rows {
                let all = row as usize * switches..(row as usize + 1) * switches;
                before.push((all.start, self.next[all.clone()].to_vec()));
                self.next[all.clone()].copy_from_slice(&self.aim.next[all]);
            }
            for &(row, sender) in &change.pairs {
                let place = row as usize * senders + sender as usize;
                pairs.push((place, self.levels[place]));
                self.levels[place] = self.aim.levels[place];
            }
            rows.extend(change.rows.iter().copied().chain(change.pairs.iter().map(|&(row, _)| row)));
        }
        rows.sort_unstable();
        rows.dedup();
        let then = MixedTables { next: &self.next, levels: &self.levels };
        let stands = rows.iter().all(|&row| {
            let parts = [self.now, then].map(|each| each.row(row as usize, switches, senders));
            let circle = self.packets.follow(parts, self.packets.senders.roots[row as usize]);
            !circle
                && self.packets.waits(parts.map(|part| part.next), |from, to, lane| {
                    self.dependencies.add((from, lane), (to, lane))
                })
        });
        if stands {
            self.dependencies.keep();
            self.taken = true;
            return true;
        }
        self.dependencies.take_back();
        before.iter().rev().for_each(|(start, was)| {
            self.next[*start..start + switches].copy_from_slice(was);
        });
        pairs.iter().rev().for_each(|&(place, level)| self.levels[place] = level);
        false
    }
}

impl<'a> MixedTables<'a> {
    /// Entries and levels of a destination.
    fn row(self, row: usize, switches: usize, senders: usize) -> MixedTables<'a> {
        Self {
            next: &self.next[row * switches..(row + 1) * switches],
            levels: &self.levels[row * senders..(row + 1) * senders],
        }
    }
}

/// Packets to a destination, by entries of either of two sets.
struct Packets<'a> {
    graph: &'a Graph,
    senders: Senders<'a>,
    /// Lanes of the links.
    fold: u8,
    /// Lanes, a bit each, of packets that can come to every switch.
    lanes: Vec<u16>,
    waiting: Vec<u32>,
    /// Switches that packets can come to, those that nothing more comes to first.
    order: Vec<u32>,
}

impl<'a> Packets<'a> {
    fn new(graph: &'a Graph, senders: Senders<'a>, lanes: usize) -> Self {
        let switches = graph.switches();
        Self {
            graph,
            senders,
            fold: lanes.clamp(1, MAX_LANES) as u8,
            lanes: vec![0; switches],
            waiting: vec![0; switches],
            order: Vec::new(),
        }
    }

    /// Where entries of either set lead from a switch.
    fn hops(&self, next: [&[u32]; 2], switch: u32) -> impl Iterator<Item = u32> + use<> {
        let [one, other] = next.map(|next| next[switch as usize]);
        [one, if other == one { NO_CHANNEL } else { other }].into_iter().filter(|&hop| hop != NO_CHANNEL)
    }

    /// Follows all packets; whether some can go round in a circle.
    fn follow(&mut self, parts: [MixedTables<'_>; 2], root: u32) -> bool {
        self.lanes.fill(0);
        for (sender, &at) in self.senders.at.iter().enumerate().filter(|(_, at)| **at != root) {
            for part in parts {
                self.lanes[at as usize] |= 1 << (part.levels[sender] % self.fold);
            }
        }
        let starts =
            (0..self.lanes.len() as u32).filter(|&switch| self.lanes[switch as usize] != 0).collect();
        self.spread(parts.map(|part| part.next), starts)
    }

    /// Follows packets that some switches send on some lanes; whether some can go round in a circle.
    fn follow_from(&mut self, next: [&[u32]; 2], starts: Vec<u32>, lanes: u16) -> bool {
        self.lanes.fill(0);
        starts.iter().for_each(|&switch| self.lanes[switch as usize] = lanes);
        self.spread(next, starts)
    }

    /// Follows packets from switches whose lanes are known.
    fn spread(&mut self, next: [&[u32]; 2], mut met: Vec<u32>) -> bool {
        let graph = self.graph;
        // How many entries lead to a switch from switches that packets come to.
        self.waiting.fill(u32::MAX);
        met.iter().for_each(|&switch| self.waiting[switch as usize] = 0);
        let mut done = 0;
        while let Some(&switch) = met.get(done) {
            done += 1;
            for hop in self.hops(next, switch) {
                let there = graph.ends(hop).1;
                if self.waiting[there as usize] == u32::MAX {
                    self.waiting[there as usize] = 0;
                    met.push(there);
                }
                self.waiting[there as usize] += 1;
            }
        }
        self.order.clear();
        self.order.extend(met.iter().copied().filter(|&switch| self.waiting[switch as usize] == 0));
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            for hop in self.hops(next, switch) {
                let there = graph.ends(hop).1 as usize;
                self.lanes[there] |= self.lanes[switch as usize];
                self.waiting[there] -= 1;
                if self.waiting[there] == 0 {
                    self.order.push(there as u32);
                }
            }
        }
        let circle = self.order.len() < met.len();
        if circle {
            self.settle(next, met);
        }
        circle
    }

    /// Lanes where packets go round.
    fn settle(&mut self, next: [&[u32]; 2], met: Vec<u32>) {
        let mut changed = true;
        while changed {
            changed = false;
            for &switch in &met {
                for hop in self.hops(next, switch) {
                    let there = self.graph.ends(hop).1 as usize;
                    let lanes = self.lanes[there] | self.lanes[switch as usize];
                    changed |= lanes != self.lanes[there];
                    self.lanes[there] = lanes;
                }
            }
        }
        self.order = met;
    }

    /// Hands on what waits for what: two channels and a lane; false as soon as that says so.
    fn waits(&self, next: [&[u32]; 2], mut each: impl FnMut(u32, u32, u8) -> bool) -> bool {
        self.order.iter().all(|&switch| {
            let lanes = self.lanes[switch as usize];
            self.hops(next, switch).all(|hop| {
                self.hops(next, self.graph.ends(hop).1)
                    .all(|behind| lanes_of(lanes).all(|lane| each(hop, behind, lane)))
            })
        })
    }

    /// By switch whether packets can end where no entry leads on.
    fn nowhere(&self, next: [&[u32]; 2], root: u32) -> Vec<bool> {
        let mut found: Vec<bool> = (0..self.graph.switches())
            .map(|switch| switch != root as usize && next.iter().any(|next| next[switch] == NO_CHANNEL))
            .collect();
        // Behind what is met last is all that packets come to from there.
        let mut changed = true;
        while changed {
            changed = false;
            for &switch in self.order.iter().rev().filter(|&&switch| switch != root) {
                if !found[switch as usize]
                    && self.hops(next, switch).any(|hop| found[self.graph.ends(hop).1 as usize])
                {
                    found[switch as usize] = true;
                    changed = true;
                }
            }
        }
        found
    }
}
