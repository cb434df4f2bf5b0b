use super::{KeepGoing, NO_ROUTE, Quality, System, Table, TableError};
use crate::fabric::{Direction, Fabric, LinkId, NodeId};
use crate::routes::check::judge;
use crate::routes::verdict::{Problem, Problems, Rejection, Uses, Verdict};
use crate::routing::{DependencyGraph, Flow, Rules};
use fixedbitset::FixedBitSet;

/// Result of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// What is wrong, and what the routes that could be followed use.
    pub verdict: Verdict,
    /// The balance of these routes.
    pub quality: Quality,
}

/// Checks routes one by one, whoever made them, and then their channel dependencies.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{Rules, TurnPolicy};
/// use flitloom_core::routes::by_source::{System, WalkChecker};
/// let system = System::new(Fabric::new(Shape::torus(&[4])?), Rules::angara(1), TurnPolicy::None)?;
/// let mut checker = WalkChecker::new(&system);
/// checker.add_nodes(0, 2, &[0, 2], None);
/// let report = checker.finish();
/// let message = "route from node 0 to node 2: hop 0 goes from 0 to 2, which are not neighbours";
/// assert_eq!(report.verdict.problems().next().unwrap().to_string(), message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WalkChecker<'a> {
    system: &'a System,
    any_turn: bool,
    withholds: bool,
    graph: DependencyGraph,
    seen: FixedBitSet,
    loads: Vec<u64>,
    routes: u64,
    longest: u32,
    /// A bit per virtual channel that some route uses.
    lanes: u64,
    broken: Problems,
    hops: Vec<Direction>,
}

impl<'a> WalkChecker<'a> {
    /// A checker that has seen no route yet.
    pub fn new(system: &'a System) -> Self {
        let nodes = system.nodes();
        Self {
            system,
            any_turn: system.rules().any_walk(),
            withholds: system.turns().withheld().next().is_some(),
            graph: DependencyGraph::new(system.fabric(), system.rules().flow().channels()),
            seen: FixedBitSet::with_capacity(nodes * nodes),
            loads: vec![0; nodes * system.fabric().shape().directions()],
            routes: 0,
            longest: 0,
            lanes: 0,
            broken: Problems::default(),
            hops: Vec::new(),
        }
    }

    /// A checker that does not hold routes against the turns of the system, for tables that bring none:
    /// whether the turns they take can close a cycle is found from the routes.
    #[must_use]
    pub fn with_any_turn(mut self) -> Self {
        self.any_turn = true;
        self
    }

    /// Checks a route given by its nodes, both ends included, and its virtual channels if they are
    /// not those of the rules.
    pub fn add_nodes(
        &mut self,
        source: NodeId,
        destination: NodeId,
        nodes: &[NodeId],
        channels: Option<&[u8]>,
    ) {
        let shape = self.system.fabric().shape();
        let mut hops = std::mem::take(&mut self.hops);
        hops.clear();
        let mut wrong = None;
        if let Some(&node) =
            [source, destination].iter().chain(nodes).find(|&&node| node as usize >= shape.nodes())
        {
            wrong = Some(Rejection::NoSuchNode(node));
        } else if nodes.first() != Some(&source) || nodes.last() != Some(&destination) {
            let end = |node: Option<&NodeId>| node.copied().unwrap_or(source);
            wrong = Some(Rejection::Ends { from: end(nodes.first()), to: end(nodes.last()) });
        } else {
            for (hop, ends) in nodes.windows(2).enumerate() {
                let along = (0..shape.directions())
                    .map(Direction::from_index)
                    .find(|&direction| shape.neighbour(ends[0], direction) == Some(ends[1]));
                match along {
                    Some(direction) => hops.push(direction),
                    None => {
                        wrong = Some(Rejection::Skip { hop, from: ends[0], to: ends[1] });
                        break;
                    }
                }
            }
        }
        match wrong {
            Some(rejection) => {
                self.routes += 1;
                self.visit(source, destination);
                self.reject(source, destination, rejection);
            }
            None => self.add(source, destination, &hops, channels),
        }
        self.hops = hops;
    }

    /// Checks a route given by the directions of its hops.
    pub fn add(&mut self, source: NodeId, destination: NodeId, hops: &[Direction], channels: Option<&[u8]>) {
        self.routes += 1;
        let again = self.visit(source, destination);
        let outcome = self.follow(source, destination, hops, channels);
        let rule = || self.system.rules().violation(hops).map(Rejection::from);
        let followed = outcome.is_ok();
        let turn = || self.forbidden_turn(source, hops).filter(|_| followed);
        let twice = again.then_some(Rejection::Twice);
        if let Some(rejection) = outcome.err().or_else(rule).or_else(turn).or(twice) {
            self.reject(source, destination, rejection);
        }
    }

    /// The first turn of a route over working links that is not permitted.
    fn forbidden_turn(&self, source: NodeId, hops: &[Direction]) -> Option<Rejection> {
        let (fabric, rules) = (self.system.fabric(), self.system.rules());
        let against = |pair: &[Direction]| rules.rank(pair[0]) > rules.rank(pair[1]);
        // Most routes take no turn that could be forbidden.
        if self.any_turn || !(self.withholds || hops.windows(2).any(against)) {
            return None;
        }
        let mut here = source;
        for (hop, pair) in hops.windows(2).enumerate() {
            let link = fabric.link(here, pair[0]);
            here = self.system.next(link);
            if !self.system.turns().permits(rules, link, pair[0], pair[1]) {
                return Some(Rejection::Turn { hop: hop + 1, node: here, along: pair[0], out: pair[1] });
            }
        }
        None
    }

    /// Marks a pair as given; says whether it was before.
    fn visit(&mut self, source: NodeId, destination: NodeId) -> bool {
        let nodes = self.system.nodes();
        let known = (source as usize) < nodes && (destination as usize) < nodes;
        known && self.seen.put(source as usize * nodes + destination as usize)
    }

    /// The report; pairs without a route are problems now.
    pub fn finish(self) -> CheckReport {
        let system = self.system;
        let (fabric, nodes) = (system.fabric(), system.nodes() as NodeId);
        let mut missing = Problems::default();
        for source_node in (0..nodes).filter(|&node| fabric.node_works(node)) {
            for destination in (0..nodes).filter(|&node| node != source_node && fabric.node_works(node)) {
                if !self.seen.contains((source_node * nodes + destination) as usize) {
                    missing.add(Problem { source_node, destination, rejection: Rejection::Missing });
                }
            }
        }
        let quality = Quality::new(system, self.loads.clone(), self.longest);
        let verdict = judge(Uses {
            routes: self.routes,
            broken: self.broken,
            missing,
            loads: self.loads,
            lanes: self.lanes.count_ones(),
            levels: 1,
            waits: self.graph.waits(system.rules().flow() == Flow::Bubble),
        });
        CheckReport { verdict, quality }
    }

    fn follow(
        &mut self,
        source: NodeId,
        destination: NodeId,
        hops: &[Direction],
        channels: Option<&[u8]>,
    ) -> Result<(), Rejection> {
        let (fabric, rules): (&Fabric, &Rules) = (self.system.fabric(), self.system.rules());
        let nodes = fabric.shape().nodes();
        if let Some(&node) = [source, destination].iter().find(|&&node| node as usize >= nodes) {
            return Err(Rejection::NoSuchNode(node));
        }
        if let Some(given) = channels.map(<[u8]>::len).filter(|&given| given != hops.len()) {
            return Err(Rejection::ChannelCount { given, hops: hops.len() });
        }
        let rule = rules.flow().channel_rule();
        let count = rule.channels();
        let mut here = source;
        for (hop, &direction) in hops.iter().enumerate() {
            let next = self.system.next(fabric.link(here, direction));
            if next == NodeId::MAX {
                return Err(match fabric.shape().neighbour(here, direction) {
                    None => Rejection::Leaves { hop, from: here, direction },
                    Some(to) => Rejection::Failed { hop, from: here, to },
                });
            }
            if let Some(channel) = channels.map(|channels| channels[hop]).filter(|&channel| channel >= count)
            {
                return Err(Rejection::NoSuchChannel { hop, channel, channels: count });
            }
            here = next;
        }
        if here != destination || hops.is_empty() {
            return Err(Rejection::Ends { from: source, to: here });
        }
        let mut here = source;
        let mut before: Option<(LinkId, Direction, u8)> = None;
        for (hop, &direction) in hops.iter().enumerate() {
            let link = fabric.link(here, direction);
            let (along, earlier) = before.map_or((None, 0), |(_, along, channel)| (Some(along), channel));
            let channel = match channels {
                Some(channels) => channels[hop],
                None => rule.after(fabric.shape(), earlier, here, along, direction),
            };
            if let Some((link, _, earlier)) = before {
                self.graph.insert(link, earlier, direction, channel);
            }
            self.loads[link as usize] += 1;
            self.lanes |= 1 << channel;
            before = Some((link, direction, channel));
            here = self.system.next(link);
        }
        self.longest = self.longest.max(hops.len() as u32);
        Ok(())
    }

    fn reject(&mut self, source_node: NodeId, destination: NodeId, rejection: Rejection) {
        self.broken.add(Problem { source_node, destination, rejection });
    }
}

/// Checks a table of our own the way any other is checked: hop by hop, and unless `any_turn` against
/// the turns of its system.
///
/// # Errors
/// `keep_going`, which is told the fraction done, stopped the check by returning false.
pub fn check_table(
    table: &Table,
    any_turn: bool,
    keep_going: KeepGoing<'_>,
) -> Result<CheckReport, TableError> {
    let system = table.system();
    let checker = WalkChecker::new(system);
    let mut checker = if any_turn { checker.with_any_turn() } else { checker };
    let nodes = system.nodes() as NodeId;
    let mut hops = Vec::new();
    for source in 0..nodes {
        if !keep_going(f64::from(source) / f64::from(nodes)) {
            return Err(TableError::Interrupted);
        }
        for destination in 0..nodes {
            let header = table.header(source, destination);
            if header != NO_ROUTE {
                hops.clear();
                hops.extend(system.layout().unpack(header).directions(system.rules()));
                checker.add(source, destination, &hops, None);
            }
        }
    }
    Ok(checker.finish())
}
