//! What links allow: the mean load of every link, by going through everything that patterns and routing functions
//! may draw.

use super::{
    flit::{Kind, Packet, Ways},
    numbers::Numbers,
    routing::{Place, Routing},
    run::Run,
    wiring::End,
};

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

impl Run {
    /// What a unit of the injection rate means, the same rate for all classes.
    pub(super) fn demand(&self) -> Demand {
        let mut flits = 0.0;
        for class in &self.classes {
            flits += class.packets_per_rate
                * match class.messages {
                    Some((sizes, writes)) => {
                        let sizes = sizes.map(f64::from);
                        (1.0 - writes) * (sizes[0] + sizes[1]) + writes * (sizes[2] + sizes[3])
                    }
                    None => class.mean_size(),
                };
        }
        Demand { flits, fullest: self.fullest() }
    }

    fn fullest(&self) -> Option<f64> {
        let rules = &self.rules;
        let goes_by_load = match &rules.network {
            Some(network) => network.goes_by_load(),
            None => rules.routing == Routing::AdaptiveXyYx,
        };
        let has_messages = self.classes.iter().any(|class| class.messages.is_some());
        if goes_by_load || has_messages && self.subnets.len() > 1 {
            return None;
        }
        let outputs = rules.wiring.all_outputs();
        let mut loads = Loads { links: vec![0.0; outputs + self.nodes], nothing: vec![0; outputs], ways: 0 };
        let mut numbers = Numbers::default();
        for (class, node) in self.classes.iter().flat_map(|class| (0..self.nodes).map(move |at| (class, at)))
        {
            let rate = class.packets_per_rate / self.subnets.len() as f64;
            let node = node as u32;
            let nodes = self.nodes as u32;
            let to = |numbers: &mut Numbers| class.pattern.destination(node, nodes, numbers);
            match class.messages {
                None => {
                    let flits = rate * class.mean_size();
                    self.add(&mut loads, &mut numbers, flits, |numbers| (Kind::Any, node, to(numbers)))?;
                }
                Some((sizes, writes)) => {
                    let [read, reply, write, done] = sizes.map(f64::from);
                    let asked = rate * ((1.0 - writes) * read + writes * write);
                    let told = rate * ((1.0 - writes) * reply + writes * done);
                    self.add(&mut loads, &mut numbers, asked, |numbers| {
                        (Kind::ReadRequest, node, to(numbers))
                    })?;
                    self.add(&mut loads, &mut numbers, told, |numbers| (Kind::ReadReply, to(numbers), node))?;
                }
            }
        }
        Some(loads.links.into_iter().fold(0.0, f64::max))
    }

    /// Adds flits of which every packet draws its ends and its way; none if these cannot be gone through.
    fn add(
        &self,
        loads: &mut Loads,
        numbers: &mut Numbers,
        flits: f64,
        mut ends: impl FnMut(&mut Numbers) -> (Kind, u32, u32),
    ) -> Option<()> {
        let mut links = Vec::new();
        numbers.begin_all();
        loop {
            let (kind, from, to) = ends(numbers);
            links.clear();
            self.walk(&loads.nothing, numbers, (kind, from, to), &mut links)?;
            loads.ways += 1;
            let share = flits * numbers.chance();
            loads.links[self.rules.wiring.all_outputs() + from as usize] += share;
            for &link in &links {
                loads.links[link] += share;
            }
            if loads.ways > MOST {
                return None;
            }
            if !numbers.next_of_all() {
                return Some(());
            }
        }
    }

    /// The output ports on the way of a packet; none if it has a choice or no end.
    fn walk(
        &self,
        nothing: &[u32],
        numbers: &mut Numbers,
        (kind, source, destination): (Kind, u32, u32),
        links: &mut Vec<usize>,
    ) -> Option<()> {
        let rules = &self.rules;
        let mut packet = Packet {
            number: 0,
            first_flit: 0,
            source,
            destination,
            class: 0,
            slice: 0,
            priority: 0,
            kind,
            size: 1,
            created: 0,
            injected: 0,
            head_arrival: 0,
            delivered: 0,
            is_measured: false,
            middle: 0,
            phase: 0,
            hops: 0,
            ahead: Ways::default(),
        };
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
