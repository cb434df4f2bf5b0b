//! Routers, nodes and the links between them.

use crate::fabric::Graph;
use std::collections::BTreeMap;

/// What a link leads to, or where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A port of a router.
    Router(u32, u16),
    /// A node.
    Node(u32),
    /// Nothing: the port is not wired.
    Nothing,
}

/// The far end of a link, and its latency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub end: End,
    pub latency: u32,
}

/// A network of routers, each with input and output ports numbered on their own.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// By router the number of its first input port and of its first output port among all, and the ends.
    first_input: Vec<u32>,
    first_output: Vec<u32>,
    inputs: Vec<Link>,
    outputs: Vec<Link>,
    /// By node: router and port that its flits enter.
    pub entries: Vec<(u32, u16)>,
    /// By node: router and port that leads to it.
    pub exits: Vec<(u32, u16)>,
}

impl Wiring {
    /// Routers with so many input and output ports, without links.
    pub(crate) fn new(nodes: usize, ports: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (mut first_input, mut first_output) = (vec![0], vec![0]);
        let (mut inputs, mut outputs) = (0, 0);
        for (incoming, outgoing) in ports {
            inputs += incoming;
            outputs += outgoing;
            first_input.push(inputs as u32);
            first_output.push(outputs as u32);
        }
        let nothing = Link { end: End::Nothing, latency: 0 };
        Self {
            first_input,
            first_output,
            inputs: vec![nothing; inputs],
            outputs: vec![nothing; outputs],
            entries: vec![(0, 0); nodes],
            exits: vec![(0, 0); nodes],
        }
    }

    /// How many routers there are.
    pub(crate) fn routers(&self) -> usize {
        self.first_input.len() - 1
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.entries.len()
    }

    /// The links that enter a router, by port.
    pub(crate) fn inputs(&self, router: u32) -> &[Link] {
        let router = router as usize;
        &self.inputs[self.first_input[router] as usize..self.first_input[router + 1] as usize]
    }

    /// The links that leave a router, by port.
    pub(crate) fn outputs(&self, router: u32) -> &[Link] {
        let router = router as usize;
        &self.outputs[self.first_output[router] as usize..self.first_output[router + 1] as usize]
    }

    /// The number of an output port among all.
    pub(crate) fn output(&self, router: u32, port: usize) -> usize {
        self.first_output[router as usize] as usize + port
    }

    /// The number of an input port among all.
    pub(crate) fn input(&self, router: u32, port: usize) -> usize {
        self.first_input[router as usize] as usize + port
    }

    /// Input ports of all routers.
    pub(crate) fn all_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Output ports of all routers.
    pub(crate) fn all_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The most ports that a router has on one side.
    pub(crate) fn most_ports(&self) -> usize {
        let most = |first: &[u32]| first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        most(&self.first_input).max(most(&self.first_output)) as usize
    }

    /// The longest latency.
    pub(crate) fn longest(&self) -> u32 {
        self.inputs.iter().chain(&self.outputs).map(|link| link.latency).max().unwrap_or(1)
    }

    /// A link from an output port of a router to an input port of another.
    pub(crate) fn connect(&mut self, from: (u32, usize), to: (u32, usize), latency: u32) {
        let out = self.output(from.0, from.1);
        self.outputs[out] = Link { end: End::Router(to.0, to.1 as u16), latency };
        let into = self.first_input[to.0 as usize] as usize + to.1;
        self.inputs[into] = Link { end: End::Router(from.0, from.1 as u16), latency };
    }

    /// A node enters at a port of a router and leaves by one.
    pub(crate) fn attach(&mut self, node: u32, entry: (u32, usize), exit: (u32, usize), latency: u32) {
        self.entries[node as usize] = (entry.0, entry.1 as u16);
        self.exits[node as usize] = (exit.0, exit.1 as u16);
        let into = self.first_input[entry.0 as usize] as usize + entry.1;
        self.inputs[into] = Link { end: End::Node(node), latency };
        let out = self.output(exit.0, exit.1);
        self.outputs[out] = Link { end: End::Node(node), latency };
    }

    /// Links between routers by their two ends, in the order of output ports, with these ports.
    fn links(&self) -> BTreeMap<(u32, u32), Vec<(u32, usize)>> {
        let mut links: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for router in 0..self.routers() as u32 {
            for (port, link) in self.outputs(router).iter().enumerate() {
                if let End::Router(next, _) = link.end {
                    links.entry((router, next)).or_default().push((router, port));
                }
            }
        }
        links
    }

    /// The two routers of every cable, if all links between routers are cables: as many lead back, and a node enters
    /// and leaves at one router.
    pub(crate) fn cables(&self) -> Option<Vec<(u32, u32)>> {
        let links = self.links();
        let count = |ends| links.get(&ends).map_or(0, Vec::len);
        let leads_back = |(a, b)| a != b && count((a, b)) == count((b, a));
        let is_host = |(entry, exit): (&(u32, u16), &(u32, u16))| entry.0 == exit.0;
        if !links.keys().copied().all(leads_back) || !self.entries.iter().zip(&self.exits).all(is_host) {
            return None;
        }
        let one_way = links.iter().filter(|((a, b), _)| a < b);
        Some(one_way.flat_map(|(&ends, all)| std::iter::repeat_n(ends, all.len())).collect())
    }

    /// Router and output port of every channel of a graph whose switches are the routers: of parallel cables the first
    /// is the first one.
    pub(crate) fn outputs_of(&self, graph: &Graph) -> Vec<Option<(u32, usize)>> {
        let mut links: BTreeMap<_, _> =
            self.links().into_iter().map(|(ends, all)| (ends, all.into_iter())).collect();
        let channels = 0..graph.channels() as u32;
        channels.map(|channel| links.get_mut(&graph.ends(channel))?.next()).collect()
    }
}
