//! The check of anybody's tables: who is reached, what loads the channels, and whether they can deadlock.

use super::Forwarding;
use crate::bits::ones;
use crate::fabric::Graph;
use crate::routes::check::judge;
use crate::routes::verdict::{Problem, Problems, Rejection, SHOWN, Uses, Verdict};
use crate::routing::Waits;
use rayon::prelude::*;

/// Service levels an InfiniBand packet can carry.
pub const SERVICE_LEVELS: usize = 16;
/// Virtual lanes a channel can have.
pub(crate) const LANES: usize = 16;

/// Which virtual lane a packet takes on a channel.
#[derive(Clone, Debug)]
pub enum LaneRule {
    /// The service level is the lane, of so many lanes: `vl = sl mod lanes`.
    Identity(u8),
    /// Tables of the switches. The table of a switch has a row for every channel that arrives (in the order
    /// of [`Graph::outgoing`]), then one for every host, each with an entry per channel that leaves.
    Tables {
        /// Where the table of every switch begins.
        start: Vec<usize>,
        /// Lanes by service level.
        entries: Vec<[u8; SERVICE_LEVELS]>,
    },
    /// Packets of hosts leave on lane 0, and the lane rises by one at some switches that they pass, up to the last.
    Rising {
        /// By switch whether it rises there.
        switches: Vec<bool>,
        /// Lanes there are.
        lanes: u8,
    },
}

impl LaneRule {
    /// The lane on the `out`-th channel of a switch for a packet of a service level that came in `arrived`, on the lane
    /// `before` unless that is a host.
    pub(crate) fn lane(
        &self,
        graph: &Graph,
        switch: u32,
        (arrived, before): (usize, u8),
        out: usize,
        level: usize,
    ) -> u8 {
        match self {
            Self::Identity(lanes) => (level % usize::from(*lanes)) as u8,
            Self::Tables { start, entries } => {
                entries[start[switch as usize] + arrived * graph.outgoing(switch).len() + out][level]
            }
            Self::Rising { .. } if arrived >= graph.outgoing(switch).len() => 0,
            Self::Rising { switches, lanes } => {
                (before + u8::from(switches[switch as usize])).min(lanes.saturating_sub(1))
            }
        }
    }
}

/// The verdict of all checks on tables by destination: what their routes [use](uses), judged.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Forwarding, LaneRule, check}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let table = Forwarding::shortest(&ring, vec![0, 1, 2, 3, 4]);
/// let verdict = check(&ring, &table, None, &LaneRule::Identity(1));
/// assert_eq!((verdict.cycle().len(), verdict.problem_count(), verdict.uses.lanes), (5, 0, 1));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn check(graph: &Graph, table: &Forwarding, levels: Option<&[u8]>, rule: &LaneRule) -> Verdict {
    judge(uses(graph, table, levels, rule))
}

/// What the routes of tables by destination use.
///
/// `levels` holds the service level by `destination * hosts + host`; hosts are numbered by switch. Without it every
/// packet has level 0. A pair without a route is one of hosts, where one of the second host's destinations at least is
/// not reached, those on one switch left out. The work is proportional to destinations times switches: on every
/// channel of a destination's tree travels the set of (level, lane) its packets have.
pub fn uses(graph: &Graph, table: &Forwarding, levels: Option<&[u8]>, rule: &LaneRule) -> Uses {
    let context = Context::new(graph, table, levels, rule);
    match rule {
        LaneRule::Identity(_) => context.uses::<Levels>(),
        LaneRule::Tables { .. } | LaneRule::Rising { .. } => context.uses::<LevelsAndLanes>(),
    }
}

/// What packets wait for if those of a pair have either its own level or that of the other direction, in ascending
/// order; `owners` has the host of every destination.
pub(super) fn waits_both_ways(
    graph: &Graph,
    table: &Forwarding,
    levels: &[u8],
    rule: &LaneRule,
    owners: &[u32],
) -> Vec<Edge> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); graph.all_hosts() as usize];
    for (destination, &owner) in (0..).zip(owners) {
        rows[owner as usize].push(destination);
    }
    let replies = Some(Replies { owners, rows });
    let context = Context { replies, ..Context::new(graph, table, Some(levels), rule) };
    match rule {
        LaneRule::Identity(_) => context.edges(&context.seen::<Levels>().next),
        LaneRule::Tables { .. } | LaneRule::Rising { .. } => {
            context.edges(&context.seen::<LevelsAndLanes>().next)
        }
    }
}

/// A channel and lane, as `channel * LANES + lane`, and one that may be waited for there.
pub(super) type Edge = (u32, u32);

/// Whose packets have the levels of the other direction, too.
struct Replies<'a> {
    owners: &'a [u32],
    /// Destinations of every host.
    rows: Vec<Vec<u32>>,
}

impl<'a> Context<'a> {
    fn new(graph: &'a Graph, table: &'a Forwarding, levels: Option<&'a [u8]>, rule: &'a LaneRule) -> Self {
        let switches = graph.switches();
        let mut first_host = vec![0_usize; switches + 1];
        for switch in 0..switches {
            first_host[switch + 1] = first_host[switch] + graph.hosts(switch as u32) as usize;
        }
        let ports = (0..switches as u32).map(|switch| graph.outgoing(switch).len()).max().unwrap_or(0);
        let places: Vec<u8> =
            (0..graph.channels() as u32).map(|channel| graph.place(channel) as u8).collect();
        Self { graph, table, levels, rule, first_host, ports, places, replies: None }
    }
}

struct Context<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    levels: Option<&'a [u8]>,
    rule: &'a LaneRule,
    first_host: Vec<usize>,
    ports: usize,
    places: Vec<u8>,
    replies: Option<Replies<'a>>,
}

/// A set of (level, lane) of packets.
trait Packets: Copy + Default + Send + Sync {
    fn insert(&mut self, level: u8, lane: impl FnOnce() -> u8);
    fn join(&mut self, other: Self);
    /// The same packets on another channel, by what makes of a level and its lane here the lane there.
    fn onwards(self, lane: impl Fn(usize, u8) -> u8) -> Self;
    /// Lanes of a level where a level has its lane.
    fn lanes(self, level: usize, lane: impl FnOnce() -> u8) -> u16;
}

/// Levels alone: each has the same lane everywhere.
type Levels = u16;

impl Packets for Levels {
    fn insert(&mut self, level: u8, _lane: impl FnOnce() -> u8) {
        *self |= 1 << level;
    }

    fn join(&mut self, other: Self) {
        *self |= other;
    }

    fn onwards(self, _lane: impl Fn(usize, u8) -> u8) -> Self {
        self
    }

    fn lanes(self, level: usize, lane: impl FnOnce() -> u8) -> u16 {
        if self >> level & 1 != 0 { 1 << lane() } else { 0 }
    }
}

/// A set of lanes per level.
type LevelsAndLanes = [u16; SERVICE_LEVELS];

impl Packets for LevelsAndLanes {
    fn insert(&mut self, level: u8, lane: impl FnOnce() -> u8) {
        self[usize::from(level)] |= 1 << lane();
    }

    fn join(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn onwards(self, lane: impl Fn(usize, u8) -> u8) -> Self {
        std::array::from_fn(|level| {
            lanes_of(self[level]).map(|before| lane(level, before)).fold(0, |lanes, lane| lanes | 1 << lane)
        })
    }

    fn lanes(self, level: usize, _lane: impl FnOnce() -> u8) -> u16 {
        self[level]
    }
}

/// A channel and lane as one number.
pub(super) fn vertex(channel: u32, lane: u8) -> u32 {
    channel * LANES as u32 + u32::from(lane)
}

/// The lanes of a set.
pub(super) fn lanes_of(set: u16) -> impl Iterator<Item = u8> {
    ones(set.into()).map(|lane| lane as u8)
}

/// What was seen on the trees of some destinations.
struct Seen<P> {
    /// Packets that went from a channel to the `out`-th channel of the next switch.
    next: Vec<P>,
    /// Packets on every channel.
    on: Vec<P>,
    loads: Vec<u64>,
    unreachable: u64,
    examples: Vec<(u32, u32)>,
    /// Per switch, packets of the destination at hand that have arrived, and from how many hosts.
    packets: Vec<P>,
    below: Vec<u64>,
    /// Twice the number of the destination from 1 on where it is reached, one more where it is not.
    mark: Vec<u32>,
    /// The first destination of the last host, from 1 on, that a switch does not reach.
    lost: Vec<u32>,
    /// Switches of the destination's tree, each behind the one it forwards to.
    order: Vec<u32>,
    way: Vec<u32>,
}

impl<P: Packets> Seen<P> {
    fn new(context: &Context<'_>) -> Self {
        let (channels, switches) = (context.graph.channels(), context.graph.switches());
        Self {
            next: vec![P::default(); channels * context.ports],
            on: vec![P::default(); channels],
            loads: vec![0; channels],
            unreachable: 0,
            examples: Vec::new(),
            packets: vec![P::default(); switches],
            below: vec![0; switches],
            mark: vec![0; switches],
            lost: vec![0; switches],
            order: Vec::new(),
            way: Vec::new(),
        }
    }

    fn merged(mut self, other: Self) -> Self {
        self.next.iter_mut().zip(&other.next).for_each(|(mine, theirs)| mine.join(*theirs));
        self.on.iter_mut().zip(&other.on).for_each(|(mine, theirs)| mine.join(*theirs));
        self.loads.iter_mut().zip(&other.loads).for_each(|(mine, theirs)| *mine += theirs);
        self.unreachable += other.unreachable;
        self.examples.extend(other.examples);
        self
    }

    /// Follows packets to a destination, one of a host whose first is `first_of_host`.
    fn follow(&mut self, context: &Context<'_>, first_of_host: usize, destination: usize) {
        let Context { graph, table, rule, .. } = *context;
        let (row, root) = (table.row(destination), table.roots[destination]);
        let reached = self.put_in_order(graph, row, root, destination);
        if self.order.len() + 1 < graph.switches() {
            for switch in (0..graph.switches() as u32).filter(|&switch| self.mark[switch as usize] != reached)
            {
                let host = first_of_host as u32 + 1;
                if std::mem::replace(&mut self.lost[switch as usize], host) == host {
                    continue;
                }
                self.unreachable += u64::from(graph.hosts(switch));
                if graph.hosts(switch) > 0 && self.examples.len() < SHOWN {
                    self.examples.push((switch, destination as u32));
                }
            }
        }
        let hosts = context.first_host[graph.switches()];
        for &switch in self.order.iter().rev() {
            let channel = row[switch as usize];
            let mut packets = std::mem::take(&mut self.packets[switch as usize]);
            let first = context.first_host[switch as usize];
            for host in first..context.first_host[switch as usize + 1] {
                let own = context.levels.map_or(0, |levels| levels[destination * hosts + host]);
                for level in std::iter::once(own).chain(context.replies(destination, host)) {
                    packets.insert(level, || {
                        let arrived = graph.outgoing(switch).len() + host - first;
                        rule.lane(graph, switch, (arrived, 0), context.place(channel), level.into())
                    });
                }
            }
            let own = u64::from(table.demand(graph, destination, switch));
            let count = std::mem::take(&mut self.below[switch as usize]) + own;
            self.loads[channel as usize] += count;
            self.on[channel as usize].join(packets);
            let there = graph.ends(channel).1;
            if there != root {
                let out = context.place(row[there as usize]);
                self.next[channel as usize * context.ports + out].join(packets);
                let arrived = context.place(channel ^ 1);
                let onwards =
                    packets.onwards(|level, before| rule.lane(graph, there, (arrived, before), out, level));
                self.packets[there as usize].join(onwards);
                self.below[there as usize] += count;
            }
        }
    }

    /// Puts the switches that reach a destination in order; returns their mark.
    fn put_in_order(&mut self, graph: &Graph, row: &[u32], root: u32, destination: usize) -> u32 {
        let reached = 2 * (destination as u32 + 1);
        let lost = reached + 1;
        self.order.clear();
        self.mark[root as usize] = reached;
        for switch in 0..graph.switches() as u32 {
            let mut at = switch;
            while self.mark[at as usize] < reached {
                // Whoever comes here again went round in a circle.
                self.mark[at as usize] = lost;
                self.way.push(at);
                let channel = row[at as usize];
                if channel as usize >= graph.channels() || graph.ends(channel).0 != at {
                    break;
                }
                at = graph.ends(channel).1;
            }
            if self.mark[at as usize] == reached {
                self.way.iter().for_each(|&switch| self.mark[switch as usize] = reached);
                self.order.extend(self.way.iter().rev());
            }
            self.way.clear();
        }
        reached
    }
}

impl Context<'_> {
    fn place(&self, channel: u32) -> usize {
        self.places[channel as usize].into()
    }

    /// The levels of the other direction that packets from a host to a destination may have.
    fn replies(&self, destination: usize, host: usize) -> impl Iterator<Item = u8> {
        let hosts = self.first_host[self.graph.switches()];
        self.replies.iter().zip(self.levels).flat_map(move |(replies, levels)| {
            let owner = replies.owners[destination] as usize;
            replies.rows[host].iter().map(move |&row| levels[row as usize * hosts + owner])
        })
    }

    /// What was seen on the trees of all destinations.
    fn seen<P: Packets>(&self) -> Seen<P> {
        let destinations = self.table.by_host();
        let chunk = destinations.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        destinations
            .into_par_iter()
            .with_min_len(chunk)
            .fold(
                || Seen::<P>::new(self),
                |mut seen, of_host| {
                    of_host.clone().for_each(|destination| seen.follow(self, of_host.start, destination));
                    seen
                },
            )
            .reduce(|| Seen::new(self), Seen::merged)
    }

    fn uses<P: Packets>(&self) -> Uses {
        let destinations = self.table.by_host();
        let hosts = destinations.iter().map(|of_host| self.graph.hosts(self.table.roots[of_host.start]));
        let pairs: u64 =
            hosts.map(|beside| self.first_host[self.graph.switches()] as u64 - u64::from(beside)).sum();
        let seen = self.seen::<P>();
        let mut examples = seen.examples;
        examples.sort_unstable_by_key(|&(source, destination)| (destination, source));
        examples.truncate(SHOWN);
        let missing = examples.into_iter().map(|(source_node, destination)| Problem {
            source_node,
            destination,
            rejection: Rejection::Missing,
        });
        let (mut levels, mut lanes) = (0_u16, 0_u16);
        for packets in &seen.on {
            for level in 0..SERVICE_LEVELS {
                // Without tables a level has one lane, wherever it is asked for.
                let of_level = packets.lanes(level, || self.rule.lane(self.graph, 0, (0, 0), 0, level));
                levels |= u16::from(of_level != 0) << level;
                lanes |= of_level;
            }
        }
        Uses {
            routes: pairs.saturating_sub(seen.unreachable),
            broken: Problems::default(),
            missing: Problems { count: seen.unreachable, first: missing.collect() },
            loads: seen.loads,
            lanes: lanes.count_ones(),
            levels: levels.count_ones(),
            waits: Waits::new(self.graph.channels(), LANES as u32, self.edges(&seen.next), None),
        }
    }

    /// What packets on every channel and lane wait for.
    fn edges<P: Packets>(&self, next: &[P]) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        for channel in 0..self.graph.channels() as u32 {
            let begin = edges.len();
            let switch = self.graph.ends(channel).1;
            let arrived = self.place(channel ^ 1);
            for (out, &following) in self.graph.outgoing(switch).iter().enumerate() {
                let packets = next[channel as usize * self.ports + out];
                for level in 0..SERVICE_LEVELS {
                    // Without tables a level has one lane, wherever it is asked for.
                    let own = || self.rule.lane(self.graph, switch, (arrived, 0), out, level);
                    edges.extend(lanes_of(packets.lanes(level, own)).map(|before| {
                        let to = self.rule.lane(self.graph, switch, (arrived, before), out, level);
                        (vertex(channel, before), vertex(following, to))
                    }));
                }
            }
            edges[begin..].sort_unstable();
        }
        edges.dedup();
        edges
    }
}
