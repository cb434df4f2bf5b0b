use super::{NO_ROUTE, Quality, System, Table, TableError};
use crate::fabric::{Direction, Fabric, LinkId, NodeId};
use crate::routing::{DependencyGraph, Flow, Rules, Verdict, Violation};
use fixedbitset::FixedBitSet;
use thiserror::Error;

/// What is wrong with one route of a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("route from node {source_node} to node {destination}: {rejection}")]
pub struct Problem {
    /// Source of the pair.
    pub source_node: NodeId,
    /// Destination of the pair.
    pub destination: NodeId,
    /// What is wrong.
    pub rejection: Rejection,
}

/// The ways in which a route can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    /// No route although both ends work.
    #[error("missing; every pair of working nodes needs one")]
    Missing,
    /// A second route for the same pair.
    #[error("given twice; a deterministic table has one route per pair")]
    Twice,
    /// A node that does not exist.
    #[error("node {0} does not exist")]
    NoSuchNode(NodeId),
    /// Consecutive nodes that no link joins.
    #[error("hop {hop} goes from {from} to {to}, which are not neighbours")]
    Skip {
        /// Index of the hop.
        hop: usize,
        /// Where it starts.
        from: NodeId,
        /// Where it claims to go.
        to: NodeId,
    },
    /// A hop over the rim of a mesh dimension.
    #[error("hop {hop} leaves the network at node {from} along {direction}")]
    Leaves {
        /// Index of the hop.
        hop: usize,
        /// Where it starts.
        from: NodeId,
        /// Where it goes.
        direction: Direction,
    },
    /// A hop over a failed link or into a failed node.
    #[error("hop {hop} uses the failed link from {from} to {to}")]
    Failed {
        /// Index of the hop.
        hop: usize,
        /// Where it starts.
        from: NodeId,
        /// Where it goes.
        to: NodeId,
    },
    /// The route does not start or end where it should.
    #[error("runs from {from} to {to} instead")]
    Ends {
        /// First node of the route.
        from: NodeId,
        /// Last node of the route.
        to: NodeId,
    },
    /// A virtual channel that does not exist.
    #[error("hop {hop} uses virtual channel {channel}; there are {channels}")]
    NoSuchChannel {
        /// Index of the hop.
        hop: usize,
        /// The channel it names.
        channel: u8,
        /// Virtual channels per link.
        channels: u8,
    },
    /// A number of virtual channels different from the number of hops.
    #[error("{given} virtual channels for {hops} hops")]
    ChannelCount {
        /// Channels given.
        given: usize,
        /// Hops of the route.
        hops: usize,
    },
    /// A turn against the order that is not permitted, or one in it that is withheld.
    #[error("hop {hop} turns from {along} to {out} at node {node}, which the turns of the tables forbid")]
    Turn {
        /// Index of the hop behind the turn.
        hop: usize,
        /// Where it turns.
        node: NodeId,
        /// Direction of the hop before.
        along: Direction,
        /// Direction of the hop behind.
        out: Direction,
    },
    /// A rule of the router.
    #[error(transparent)]
    Rule(#[from] Violation),
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Routes looked at.
    pub routes: usize,
    /// Number of problems.
    pub problem_count: usize,
    /// The first hundred of them.
    pub problems: Vec<Problem>,
    /// Deadlock certificate or counterexample, over the routes that could be followed.
    pub verdict: Verdict,
    /// The channels of a counterexample by name, each waiting for the next one; empty for a certificate.
    pub cycle: Vec<String>,
    /// The balance of the routes that could be followed.
    pub quality: Quality,
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.problem_count == 0 && matches!(self.verdict, Verdict::DeadlockFree(_))
    }
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
/// assert_eq!(report.problems[0].to_string(), message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WalkChecker<'a> {
    system: &'a System,
    any_turn: bool,
    withholds: bool,
    graph: DependencyGraph,
    seen: FixedBitSet,
    loads: Vec<u64>,
    routes: usize,
    longest: u32,
    problem_count: usize,
    problems: Vec<Problem>,
    hops: Vec<Direction>,
}

const SHOWN: usize = 100;

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
            problem_count: 0,
            problems: Vec::new(),
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
    pub fn finish(mut self) -> CheckReport {
        let fabric = self.system.fabric();
        let nodes = self.system.nodes() as NodeId;
        for source in (0..nodes).filter(|&node| fabric.node_works(node)) {
            for destination in (0..nodes).filter(|&node| node != source && fabric.node_works(node)) {
                if !self.seen.contains((source * nodes + destination) as usize) {
                    self.reject(source, destination, Rejection::Missing);
                }
            }
        }
        let verdict = self.graph.verdict(self.system.rules().flow() == Flow::Bubble);
        let cycle = match &verdict {
            Verdict::Deadlock(cycle) => self.graph.names(cycle),
            Verdict::DeadlockFree(_) => Vec::new(),
        };
        CheckReport {
            routes: self.routes,
            problem_count: self.problem_count,
            problems: self.problems,
            verdict,
            cycle,
            quality: Quality::new(self.system, self.loads, self.longest),
        }
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
            before = Some((link, direction, channel));
            here = self.system.next(link);
        }
        self.longest = self.longest.max(hops.len() as u32);
        Ok(())
    }

    fn reject(&mut self, source_node: NodeId, destination: NodeId, rejection: Rejection) {
        self.problem_count += 1;
        if self.problems.len() < SHOWN {
            self.problems.push(Problem { source_node, destination, rejection });
        }
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
    keep_going: &mut dyn FnMut(f64) -> bool,
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
