//! What a subnet carries besides packets on the level of their own direction, and whether that can deadlock.

use super::check::{Edge, LANES, vertex, waits_both_ways};
use super::{Forwarding, LaneRule};
use crate::fabric::Graph;
use crate::routing::{Channel, Waits};
use rayon::prelude::*;

/// What is known of traffic besides that of pairs of hosts.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// The host of every destination; hosts are numbered by switch.
    pub owners: &'a [u32],
    /// Hosts that exchange packets with all others; empty if any single one may be the manager.
    pub managers: &'a [u32],
    /// Service level of these packets.
    pub manager_level: u8,
    /// Routes to the LIDs of switches, which answer monitors, as far as they are others than those to their hosts.
    pub switches: &'a Forwarding,
    /// By multicast tree the channels on which switches forward its packets.
    pub trees: &'a [Vec<u32>],
    /// Service level of multicast.
    pub multicast_level: u8,
}

/// Whether each kind of traffic can deadlock beside that of pairs of hosts, and beside the kinds before it that cannot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BesideVerdict {
    /// A shortest cycle where packets of a pair may have the level of the other direction; empty if there is none.
    pub both_ways: Vec<Channel>,
    /// The same with the packets of multicast trees.
    pub multicast: Vec<Channel>,
    /// The same with those of managers: of all that are named, or of the first place that is not safe.
    pub managers: Vec<Channel>,
    /// Hosts that were tried as the only manager.
    pub places: Vec<u32>,
    /// Those of them whose packets close a cycle.
    pub unsafe_places: Vec<u32>,
}

/// Places of a manager that are tried; of more hosts so many are taken at equal distances.
const PLACES: usize = 1024;

/// Judges both directions on one level, then multicast, then managers, each beside those before it that are free of
/// deadlock; `pairs` is what packets on the level of their own direction wait for, without a cycle.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::{Beside, Forwarding, LaneRule, beside, uses}};
/// let ring = Graph::new(vec![1; 5], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])?;
/// let (table, rule) = (Forwarding::shortest(&ring, vec![0, 1, 2, 3, 4]), LaneRule::Identity(2));
/// // Pairs whose way leads over the cable between switches 4 and 0 have level 1.
/// let apart = |pair: usize| (pair / 5).abs_diff(pair % 5);
/// let levels: Vec<u8> = (0..25).map(|pair| u8::from(apart(pair) > 2)).collect();
/// let pairs = uses(&ring, &table, Some(&levels), &rule).waits;
/// let judged = |managers: &[u32]| {
///     let owners = &[0, 1, 2, 3, 4];
///     let switches = &Forwarding::shortest(&ring, Vec::new());
///     let request = Beside { owners, managers, manager_level: 0, switches, trees: &[], multicast_level: 0 };
///     beside(&ring, &table, Some(&levels), &rule, &pairs, request)
/// };
/// // One manager alone lacks a pair that would close the ring on level 0; two have both.
/// assert_eq!((judged(&[]).both_ways.len(), judged(&[]).unsafe_places.len()), (0, 0));
/// assert_eq!(judged(&[0, 4]).managers.len(), 5);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn beside(
    graph: &Graph,
    table: &Forwarding,
    levels: Option<&[u8]>,
    rule: &LaneRule,
    pairs: &Waits,
    request: Beside<'_>,
) -> BesideVerdict {
    let mut known = Known { graph, table, rule, edges: pairs.edges().collect() };
    let mut verdict = BesideVerdict::default();
    if let Some(levels) = levels {
        verdict.both_ways = known.add(waits_both_ways(graph, table, levels, rule, request.owners));
    }
    let trees = request.trees.iter().flat_map(|tree| known.tree(tree, request.multicast_level.into()));
    let trees = trees.collect();
    verdict.multicast = known.add(trees);
    let of_host = |host: u32| known.manager(&request, host);
    if !request.managers.is_empty() {
        let all = request.managers.iter().flat_map(|&host| of_host(host)).collect();
        verdict.managers = known.add(all);
        return verdict;
    }
    let hosts = graph.all_hosts() as u32;
    verdict.places = (0..hosts).step_by((hosts as usize).div_ceil(PLACES).max(1)).collect();
    let waits = known.waits(&known.edges);
    let Ok(ranks) = waits.order() else { return verdict };
    let closes = |&host: &u32| closes_a_cycle(&waits, &ranks, &of_host(host));
    verdict.unsafe_places = verdict.places.par_iter().copied().filter(closes).collect();
    if let Some(&first) = verdict.unsafe_places.first() {
        let more = of_host(first);
        verdict.managers = known.add(more);
    }
    verdict
}

/// Traffic that is free of deadlock so far.
struct Known<'a> {
    graph: &'a Graph,
    table: &'a Forwarding,
    rule: &'a LaneRule,
    /// What its packets wait for, in ascending order.
    edges: Vec<Edge>,
}

impl Known<'_> {
    fn waits(&self, edges: &[Edge]) -> Waits {
        Waits::new(self.graph.channels(), LANES as u32, edges.iter().copied(), None)
    }

    /// Adds what more packets wait for unless that closes a cycle, which comes back then.
    fn add(&mut self, more: Vec<Edge>) -> Vec<Channel> {
        let mut edges = [&self.edges[..], &more].concat();
        edges.sort_unstable();
        edges.dedup();
        match self.waits(&edges).order() {
            Ok(_) => {
                self.edges = edges;
                Vec::new()
            }
            Err(cycle) => cycle,
        }
    }

    /// The lane of a packet on a channel, behind the channel and the lane that it arrived on unless it is of a host.
    /// Switches without hosts send their own packets as those of their first port.
    fn lane(&self, arrived: Option<(u32, u8)>, channel: u32, level: usize) -> u8 {
        let switch = self.graph.ends(channel).0;
        let hosts =
            if self.graph.hosts(switch) > 0 { (self.graph.outgoing(switch).len(), 0) } else { (0, 0) };
        let row = arrived.map_or(hosts, |(arrived, before)| (self.graph.place(arrived ^ 1), before));
        self.rule.lane(self.graph, switch, row, self.graph.place(channel), level)
    }

    /// What the packets of a manager wait for, to and from all hosts and switches.
    fn manager(&self, request: &Beside<'_>, host: u32) -> Vec<Edge> {
        let level = usize::from(request.manager_level);
        let mut edges = Vec::new();
        for (destination, &owner) in request.owners.iter().enumerate() {
            if owner == host {
                let sources = 0..self.graph.switches() as u32;
                sources.for_each(|source| self.walk(self.table, source, destination, level, &mut edges));
            }
        }
        let own = request.owners.iter().position(|&owner| owner == host);
        if let Some(at) = own.map(|destination| self.table.roots[destination]) {
            for table in [self.table, request.switches] {
                (0..table.roots.len()).for_each(|to| self.walk(table, at, to, level, &mut edges));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Adds what a packet waits for on its way, if that leads to the destination.
    fn walk(&self, table: &Forwarding, source: u32, destination: usize, level: usize, edges: &mut Vec<Edge>) {
        let mut before: Option<(u32, u8)> = None;
        let channels: Vec<u32> = table.way(self.graph, destination, source).collect();
        let arrives = channels.last().map(|&last| self.graph.ends(last).1);
        for &channel in channels.iter().filter(|_| arrives == Some(table.roots[destination])) {
            let lane = self.lane(before, channel, level);
            edges.extend(before.map(|(arrived, own)| (vertex(arrived, own), vertex(channel, lane))));
            before = Some((channel, lane));
        }
    }

    /// What the packets of a multicast tree wait for, which every host may send.
    fn tree(&self, channels: &[u32], level: usize) -> Vec<Edge> {
        let mut forwards = vec![false; self.graph.channels()];
        channels.iter().for_each(|&channel| forwards[channel as usize] = true);
        let onwards = |switch: u32, arrived: Option<u32>| {
            let leaves = move |&channel: &u32| arrived.is_none_or(|arrived| channel != arrived ^ 1);
            self.graph.outgoing(switch).iter().copied().filter(leaves)
        };
        let mut edges = Vec::new();
        let mut met = vec![0_u16; self.graph.channels()];
        let hosts = (0..self.graph.switches() as u32).filter(|&switch| self.graph.hosts(switch) > 0);
        let mut open: Vec<(u32, u8)> = hosts
            .flat_map(|switch| onwards(switch, None))
            .filter(|&channel| forwards[channel as usize])
            .map(|channel| (channel, self.lane(None, channel, level)))
            .collect();
        while let Some((channel, lane)) = open.pop() {
            if met[channel as usize] >> lane & 1 != 0 {
                continue;
            }
            met[channel as usize] |= 1 << lane;
            for next in onwards(self.graph.ends(channel).1, Some(channel)) {
                if forwards[next as usize] {
                    let to = self.lane(Some((channel, lane)), next, level);
                    edges.push((vertex(channel, lane), vertex(next, to)));
                    open.push((next, to));
                }
            }
        }
        edges
    }
}

/// Whether dependencies close a cycle with others that stand in an order.
fn closes_a_cycle(waits: &Waits, ranks: &[u32], more: &[Edge]) -> bool {
    let of = |vertex: u32| {
        let first = more.partition_point(|edge| edge.0 < vertex);
        let own = more[first..].iter().take_while(move |edge| edge.0 == vertex).map(|edge| edge.1);
        waits.of(vertex).iter().copied().chain(own)
    };
    // Every cycle has a dependency against the order.
    let against = more.iter().filter(|edge| ranks[edge.0 as usize] >= ranks[edge.1 as usize]);
    let (mut left, mut entered) = (vec![false; ranks.len()], vec![false; ranks.len()]);
    for &(_, start) in against {
        if left[start as usize] {
            continue;
        }
        entered[start as usize] = true;
        let mut stack = vec![(start, of(start))];
        while let Some((here, next)) = stack.last_mut() {
            match next.next() {
                None => {
                    left[*here as usize] = true;
                    stack.pop();
                }
                Some(there) if left[there as usize] => {}
                Some(there) if entered[there as usize] => return true,
                Some(there) => {
                    entered[there as usize] = true;
                    stack.push((there, of(there)));
                }
            }
        }
    }
    false
}

/// The channels of the tree that OpenSM builds for a group of all hosts: from the switch with the smallest largest
/// distance to hosts, the first one of several, on shortest ways over the lowest ports; `ports` has the port at which
/// each channel leaves.
///
/// ```
/// use flitloom_core::{fabric::Graph, routes::by_destination::multicast_tree};
/// let ring = Graph::new(vec![1; 4], &[(0, 1), (1, 2), (2, 3), (3, 0)])?;
/// // From switch 0: to 1 and 3, and to 2 over the lower port of switch 0, that to switch 1.
/// assert_eq!(multicast_tree(&ring, &[1, 2, 1, 2, 1, 2, 1, 2]), [0, 1, 2, 3, 6, 7]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn multicast_tree(graph: &Graph, ports: &[u8]) -> Vec<u32> {
    if graph.switches() == 0 {
        return Vec::new();
    }
    let root = center(graph);
    let mut arrives: Vec<Option<u32>> = vec![None; graph.switches()];
    let mut met = vec![root];
    let mut head = 0;
    while let Some(&here) = met.get(head) {
        head += 1;
        let mut leaving = graph.outgoing(here).to_vec();
        leaving.sort_by_key(|&channel| ports[channel as usize]);
        for channel in leaving {
            let there = graph.ends(channel).1;
            if there != root && arrives[there as usize].is_none() {
                arrives[there as usize] = Some(channel);
                met.push(there);
            }
        }
    }
    // Branches without hosts are cut off.
    let mut needed: Vec<bool> = (0..graph.switches() as u32).map(|switch| graph.hosts(switch) > 0).collect();
    let mut channels = Vec::new();
    for &switch in met.iter().rev() {
        if let Some(channel) = arrives[switch as usize].filter(|_| needed[switch as usize]) {
            needed[graph.ends(channel).0 as usize] = true;
            channels.extend([channel & !1, channel | 1]);
        }
    }
    channels.sort_unstable();
    channels
}

/// The first switch from which the farthest host is nearest.
pub(super) fn center(graph: &Graph) -> u32 {
    let switches = 0..graph.switches() as u32;
    let with_hosts: Vec<u32> = switches.clone().filter(|&switch| graph.hosts(switch) > 0).collect();
    let far: Vec<u16> = switches
        .clone()
        .into_par_iter()
        .map(|switch| {
            let distances = graph.distances_to(switch);
            with_hosts.iter().map(|&host| distances[host as usize]).max().unwrap_or(0)
        })
        .collect();
    switches.min_by_key(|&switch| far[switch as usize]).unwrap_or(0)
}
