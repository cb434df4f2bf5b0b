use super::PlannedPacket;
use crate::{
    fabric::{Direction, Fabric, LinkId, NodeId},
    router::{MAX_CHANNELS, RouterConfig},
    routing::{ChannelRule, Datelines, DependencyGraph, Hop, Line, walk},
};
use std::collections::BTreeMap;

/// Virtual channels for the packets of a plan that keep late nodes from a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separation {
    /// Virtual channels per link that the router needs.
    pub channels: u8,
    /// Channel in which every packet enters its first link (one higher across a dateline).
    pub first: Vec<u8>,
}

/// Which channel a packet may hold while it waits for which next, over the routes of a plan.
///
/// It is what can happen when nodes are late; on time, no packet ever waits. Packet `i` begins in
/// channel `first[i]` (0 beyond the end) and goes one up at every dateline that counts, to the last.
pub fn dependencies(
    fabric: &Fabric,
    packets: &[PlannedPacket],
    rule: ChannelRule,
    first: &[u8],
) -> DependencyGraph {
    let channels = rule.channels();
    let mut graph = DependencyGraph::new(fabric, channels);
    for (index, packet) in packets.iter().enumerate() {
        let channel = first.get(index).copied().unwrap_or(0).min(channels - 1);
        for (link, own, out, next) in steps(fabric, &packet.path, channel, rule) {
            graph.insert(link, own, out, next);
        }
    }
    graph
}

/// Finds channels under which the dependencies have no cycle; `None` if 8 channels do not suffice.
///
/// The router counts `datelines`; whatever counts, a packet takes at most one channel per dateline it
/// crosses. Routes in dimension order begin in channel 0, those in the opposite order (YX) above all
/// of the former's channels: both kinds are free of deadlock by themselves (Dally and Seitz 1988), and they
/// never share a channel. Any other route takes the lowest channels that leave the graph without a
/// cycle. The whole is tested at the end.
///
/// ```
/// use flitloom_core::fabric::{Direction, Fabric, Shape, Sign};
/// use flitloom_core::routing::Datelines;
/// use flitloom_core::schedule::{PlannedPacket, separate};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let (x, y) = (Direction::new(0, Sign::Plus), Direction::new(1, Sign::Plus));
/// let path = vec![fabric.link(0, y), fabric.link(4, x)];
/// let packet = PlannedPacket { source: 0, destination: 5, length: 8, start: 0, slice: 0, path };
/// assert_eq!(separate(&fabric, &[packet], Datelines::BOTH).map(|found| found.first), Some(vec![3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn separate(fabric: &Fabric, packets: &[PlannedPacket], datelines: Datelines) -> Option<Separation> {
    let rule = ChannelRule::new(MAX_CHANNELS, datelines);
    let usual = RouterConfig::for_shape(fabric.shape()).channels;
    let mut routes: BTreeMap<(NodeId, &[LinkId]), Option<u8>> = BTreeMap::new();
    let mut graph = DependencyGraph::new(fabric, MAX_CHANNELS);
    for packet in packets {
        let path = packet.path.as_slice();
        let first = match order(fabric, path) {
            Order::Ascending => Some(0),
            Order::Descending if usual + crossings(fabric, path) < MAX_CHANNELS => Some(usual),
            _ => None,
        };
        if routes.insert((packet.source, path), first).is_none()
            && let Some(channel) = first
        {
            for (link, own, out, next) in steps(fabric, path, channel, rule) {
                graph.insert(link, own, out, next);
            }
        }
    }
    for ((_, path), first) in &mut routes {
        if first.is_none() {
            let highest = MAX_CHANNELS.checked_sub(1 + crossings(fabric, path))?;
            *first = Some(
                (0..=highest).find(|&channel| graph.try_insert_all(steps(fabric, path, channel, rule)))?,
            );
        }
    }
    let first: Vec<u8> = packets
        .iter()
        .map(|packet| routes.get(&(packet.source, packet.path.as_slice())).copied().flatten().unwrap_or(0))
        .collect();
    let highest = packets.iter().zip(&first).map(|(packet, first)| first + crossings(fabric, &packet.path));
    let channels = highest.max().unwrap_or(0).max(usual - 1) + 1;
    let graph = dependencies(fabric, packets, ChannelRule::new(channels, datelines), &first);
    graph.order(false).is_ok().then_some(Separation { channels, first })
}

#[derive(PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    Other,
}

fn order(fabric: &Fabric, path: &[LinkId]) -> Order {
    let dimension = |&link: &LinkId| fabric.link_ends(link).1.dimension();
    if path.is_sorted_by_key(dimension) {
        Order::Ascending
    } else if path.iter().rev().is_sorted_by_key(dimension) {
        Order::Descending
    } else {
        Order::Other
    }
}

fn crossings(fabric: &Fabric, path: &[LinkId]) -> u8 {
    let crosses = |&&link: &&LinkId| {
        let (node, direction) = fabric.link_ends(link);
        Line::crossed(fabric.shape(), node, direction).is_some()
    };
    path.iter().filter(crosses).count().min(usize::from(MAX_CHANNELS)) as u8
}

/// The dependencies of one route: a link, its channel, the direction of the next link, its channel.
fn steps<'a>(
    fabric: &'a Fabric,
    path: &'a [LinkId],
    first: u8,
    rule: ChannelRule,
) -> impl Iterator<Item = (LinkId, u8, Direction, u8)> + 'a {
    let directions = path.iter().map(|&link| fabric.link_ends(link).1);
    let source = path.first().map_or(0, |&link| fabric.link_ends(link).0);
    let hops = walk(fabric, rule, source, first, directions);
    let mut before: Option<Hop> = None;
    hops.filter_map(move |hop| {
        let earlier = before.replace(hop)?;
        Some((earlier.link, earlier.channel, hop.direction, hop.channel))
    })
}
