//! What links allow: the mean load of every link, by going through everything that patterns and routing functions
//! may draw.

use super::traffic_manager::TrafficManager;
use crate::engine::pipelined::{End, HeaderPlace as Place, Kind, Numbers, Packet, Run};

/// The most ways that are gone through.
const MOST: u64 = 1 << 21;

/// What a unit of the injection rate means for nodes and links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Flits that a node sends, replies included.
    pub flits: f64,
    /// Flits over the fullest link. None if ways depend on the load, or if there are too many to go through.
    pub fullest: Option<f64>,
}

/// Loads that are being added up.
struct Loads {
    /// By output port of all routers, then by node those of its link into the network.
    links: Vec<f64>,
    nothing: Vec<u32>,
    ways: u64,
}

/// Every sequence of numbers that may be drawn, one after the other.
#[derive(Default)]
struct Every {
    /// What was given since the beginning of a sequence, each with the largest that it may be.
    given: Vec<(u32, u32)>,
    asked: usize,
}

impl Numbers for Every {
    fn upto(&mut self, most: u32) -> u32 {
        self.asked += 1;
        if self.asked > self.given.len() {
            self.given.push((0, most));
        }
        self.given[self.asked - 1].0
    }
}

impl Every {
    /// Goes on to the next sequence; false if there is none.
    fn advance(&mut self) -> bool {
        self.asked = 0;
        while let Some((value, most)) = self.given.pop() {
            if value < most {
                self.given.push((value + 1, most));
                return true;
            }
        }
        false
    }

    /// The probability of the sequence.
    fn chance(&self) -> f64 {
        self.given.iter().map(|&(_, most)| 1.0 / (f64::from(most) + 1.0)).product()
    }
}

/// What a unit of the injection rate means, the same rate for all classes.
pub(super) fn demand(run: &Run<TrafficManager>) -> Demand {
    let mut flits = 0.0;
    for class in &run.source.classes {
        flits += class.packets_per_rate
            * match class.messages {
                Some((sizes, writes)) => {
                    let sizes = sizes.map(f64::from);
                    (1.0 - writes) * (sizes[0] + sizes[1]) + writes * (sizes[2] + sizes[3])
                }
                None => class.mean_size(),
            };
    }
    Demand { flits, fullest: Ways { run }.fullest() }
}

/// The ways of packets in a run.
struct Ways<'a> {
    run: &'a Run<TrafficManager>,
}

impl Ways<'_> {
    fn fullest(&self) -> Option<f64> {
        let (source, terminals) = (&self.run.source, &self.run.terminals);
        let rules = &terminals.rules;
        let has_messages = source.classes.iter().any(|class| class.messages.is_some());
        if rules.network.goes_by_load() || has_messages && source.subnets > 1 {
            return None;
        }
        let outputs = rules.wiring.all_outputs();
        let mut loads =
            Loads { links: vec![0.0; outputs + terminals.nodes], nothing: vec![0; outputs], ways: 0 };
        for (class, node) in
            source.classes.iter().flat_map(|class| (0..terminals.nodes).map(move |at| (class, at)))
        {
            let rate = class.packets_per_rate / f64::from(source.subnets);
            let node = node as u32;
            let nodes = terminals.nodes as u32;
            let to = |numbers: &mut Every| class.pattern.destination(node, nodes, numbers);
            match class.messages {
                None => {
                    let flits = rate * class.mean_size();
                    self.add(&mut loads, flits, |numbers| (Kind::Any, node, to(numbers)))?;
                }
                Some((sizes, writes)) => {
                    let [read, reply, write, done] = sizes.map(f64::from);
                    let asked = rate * ((1.0 - writes) * read + writes * write);
                    let told = rate * ((1.0 - writes) * reply + writes * done);
                    self.add(&mut loads, asked, |numbers| (Kind::ReadRequest, node, to(numbers)))?;
                    self.add(&mut loads, told, |numbers| (Kind::ReadReply, to(numbers), node))?;
                }
            }
        }
        Some(loads.links.into_iter().fold(0.0, f64::max))
    }

    /// Adds flits of which every packet draws its ends and its way; none if these cannot be gone through.
    fn add(
        &self,
        loads: &mut Loads,
        flits: f64,
        mut ends: impl FnMut(&mut Every) -> (Kind, u32, u32),
    ) -> Option<()> {
        let mut links = Vec::new();
        let mut numbers = Every::default();
        loop {
            let (kind, from, to) = ends(&mut numbers);
            links.clear();
            self.walk(&loads.nothing, &mut numbers, (kind, from, to), &mut links)?;
            loads.ways += 1;
            let share = flits * numbers.chance();
            loads.links[self.run.terminals.rules.wiring.all_outputs() + from as usize] += share;
            for &link in &links {
                loads.links[link] += share;
            }
            if loads.ways > MOST {
                return None;
            }
            if !numbers.advance() {
                return Some(());
            }
        }
    }

    /// The output ports on the way of a packet; none if it has a choice or no end.
    fn walk(
        &self,
        nothing: &[u32],
        numbers: &mut Every,
        (kind, source, destination): (Kind, u32, u32),
        links: &mut Vec<usize>,
    ) -> Option<()> {
        let rules = &self.run.terminals.rules;
        let mut packet = Packet::new((0, source, destination), (0, kind), 1, 0);
        let channels = rules.range(kind);
        let (mut router, mut port) = rules.wiring.entries[source as usize];
        let (mut enters, mut channel) = (true, channels.0);
        while links.len() <= 4 * rules.wiring.routers() {
            let place = Place { router, port: port.into(), enters, channel, channels, load: nothing };
            let ways = rules.ways(&place, &mut packet, numbers);
            let way = *ways.iter().next()?;
            if ways.iter().any(|other| other.port != way.port) {
                return None;
            }
            links.push(rules.wiring.output(router, way.port.into()));
            match rules.wiring.outputs(router)[usize::from(way.port)].end {
                End::Router(there, entry) => (router, port) = (there, entry),
                End::Node(_) => return Some(()),
                End::Nothing => return None,
            }
            (enters, channel) = (false, way.first.into());
        }
        None
    }
}
