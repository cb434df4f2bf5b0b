//! Any graph of routers and nodes, from a text: `router 0 node 0 node 1 router 1 5` gives router 0 two nodes and a
//! link of latency 5 to router 1. Routing takes the cheapest way by latency.

use super::super::options::{OptionError, Options};
use super::named;
use crate::engine::pipelined::{HeaderPlace as Place, Network, Numbers, Packet, Ways, Wiring};
use std::collections::BTreeMap;

/// A graph with a table of ports.
#[derive(Clone, Debug)]
pub(super) struct Any {
    /// By router and node.
    table: Vec<u16>,
    nodes: usize,
}

/// What a text says: by router its links to routers, with latencies; by node its router.
#[derive(Default)]
struct Graph {
    routers: BTreeMap<u32, BTreeMap<u32, u32>>,
    nodes: BTreeMap<u32, u32>,
}

fn wrong<T>(text: String) -> Result<T, OptionError> {
    Err(OptionError { option: "network_file", text })
}

impl Graph {
    fn read(text: &str) -> Result<Self, OptionError> {
        let mut graph = Self::default();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<_> = line.split_whitespace().collect();
            let mut items: Vec<(&str, u32, Option<u32>)> = Vec::new();
            for word in words.chunk_by(|_, next| next.parse::<u32>().is_ok()) {
                let numbers: Option<Vec<u32>> = word[1..].iter().map(|part| part.parse().ok()).collect();
                match (word[0], numbers.as_deref()) {
                    (kind @ ("router" | "node"), Some(&[one])) => items.push((kind, one, None)),
                    ("router", Some(&[one, latency])) if latency <= 1 << 16 => {
                        items.push(("router", one, Some(latency)));
                    }
                    ("node", Some(&[_, _])) => {
                        let text = "has a latency, which BookSim2 takes for a link to a router; leave it out";
                        return wrong(format!("line {}: {:?} {text}", number + 1, word.join(" ")));
                    }
                    _ => return wrong(format!("line {}: {:?} is not a link", number + 1, word.join(" "))),
                }
            }
            let Some(&("router", head, None)) = items.first() else {
                if items.is_empty() {
                    continue;
                }
                return wrong(format!("line {} does not begin with a router", number + 1));
            };
            graph.routers.entry(head).or_default();
            for &(kind, other, latency) in &items[1..] {
                if kind == "node" {
                    if graph.nodes.insert(other, head).is_some() {
                        return wrong(format!("line {}: node {other} has a router already", number + 1));
                    }
                    continue;
                }
                let back = graph.routers.entry(other).or_default();
                back.entry(head).or_insert(1);
                let there = graph.routers.entry(head).or_default();
                match latency {
                    Some(latency) => _ = there.insert(other, latency),
                    None => _ = there.entry(other).or_insert(1),
                }
            }
        }
        let numbered = |keys: Vec<u32>| keys.iter().enumerate().all(|(at, &key)| at as u32 == key);
        if graph.nodes.is_empty()
            || !numbered(graph.routers.keys().copied().collect())
            || !numbered(graph.nodes.keys().copied().collect())
        {
            return wrong("routers and nodes are not numbered from 0 without gaps".into());
        }
        Ok(graph)
    }
}

impl Any {
    pub(super) fn new(options: &Options) -> Result<(Self, Wiring), OptionError> {
        named(options, &[("min", ())], options.text("topology"))?;
        let graph = Graph::read(options.text("network_file"))?;
        let (count, nodes) = (graph.routers.len(), graph.nodes.len());
        let mut own = vec![Vec::new(); count];
        for (&node, &router) in &graph.nodes {
            own[router as usize].push(node);
        }
        let radix = |router: usize| own[router].len() + graph.routers[&(router as u32)].len();
        let mut wiring = Wiring::new(nodes, (0..count).map(|router| (radix(router), radix(router))));
        let port_to = |router: u32, other: u32| {
            let before = graph.routers[&router].range(..other).count();
            own[router as usize].len() + before
        };
        for (router, own) in own.iter().enumerate() {
            for (port, &node) in own.iter().enumerate() {
                let at = (router as u32, port);
                wiring.attach(node, at, at, 1);
            }
        }
        for (&router, links) in &graph.routers {
            for (&other, &latency) in links {
                wiring.connect((router, port_to(router, other)), (other, port_to(other, router)), latency);
            }
        }
        let mut table = Vec::with_capacity(count * nodes);
        for router in 0..count as u32 {
            let first = Self::first_hops(&graph, router);
            for (&node, &there) in &graph.nodes {
                table.push(match first[there as usize] {
                    _ if there == router => wiring.exits[node as usize].1,
                    Some(next) => port_to(router, next) as u16,
                    None => return wrong(format!("no way leads from router {router} to node {node}")),
                });
            }
        }
        Ok((Self { table, nodes }, wiring))
    }

    /// The first router on the cheapest way to every router; of equal ways the one found first, the nearest and
    /// lowest routers being looked at first.
    fn first_hops(graph: &Graph, from: u32) -> Vec<Option<u32>> {
        let count = graph.routers.len();
        let (mut cost, mut before) = (vec![u64::MAX; count], vec![None; count]);
        let mut is_done = vec![false; count];
        cost[from as usize] = 0;
        let mut order = Vec::new();
        while let Some(near) =
            (0..count).filter(|&at| !is_done[at] && cost[at] < u64::MAX).min_by_key(|&at| cost[at])
        {
            is_done[near] = true;
            order.push(near);
            for (&next, &latency) in &graph.routers[&(near as u32)] {
                let through = cost[near] + u64::from(latency);
                if through < cost[next as usize] {
                    cost[next as usize] = through;
                    before[next as usize] = Some(near);
                }
            }
        }
        let mut first = vec![None; count];
        for at in order {
            first[at] = match before[at] {
                Some(near) if near == from as usize => Some(at as u32),
                Some(near) => first[near],
                None => None,
            };
        }
        first
    }
}

impl Network for Any {
    fn ways(
        &self,
        _wiring: &Wiring,
        place: &Place<'_>,
        packet: &mut Packet,
        _numbers: &mut dyn Numbers,
    ) -> Ways {
        let port = self.table[place.router as usize * self.nodes + packet.destination as usize];
        Ways::one(port.into(), place.channels.0, place.channels.1)
    }

    fn draws(&self) -> bool {
        true
    }
}
