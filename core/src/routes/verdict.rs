//! What the routes of a table use, and what a check finds in that: the same for every encoding.

use crate::fabric::{Direction, NodeId};
use crate::flow::loads::fullest;
use crate::routing::{Channel, Violation, Waits};
use thiserror::Error;

/// What is wrong with one route of a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("route from node {source_node} to node {destination}: {rejection}")]
pub struct Problem {
    /// Where it starts: a node, or a switch with hosts.
    pub source_node: NodeId,
    /// Where it leads: a node, or the number of a destination of tables by destination.
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

/// Pairs that have the same fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// How many.
    pub count: u64,
    /// The first [`SHOWN`] of them.
    pub first: Vec<Problem>,
}

/// How many of the pairs with a fault are kept.
pub const SHOWN: usize = 100;

impl Problems {
    /// One more.
    pub(crate) fn add(&mut self, problem: Problem) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(problem);
        }
    }
}

/// What the routes of a table use, found by following each of them once.
#[derive(Clone, Debug)]
pub struct Uses {
    /// Pairs whose route was looked at, or that have one.
    pub routes: u64,
    /// Routes that leave the network or break a rule of its routers.
    pub broken: Problems,
    /// Pairs without a route.
    pub missing: Problems,
    /// Pairs on every link.
    pub loads: Vec<u64>,
    /// Virtual channels that some pair uses.
    pub lanes: u32,
    /// Service levels that some pair uses.
    pub levels: u32,
    /// Which channels packets can wait for while they hold others.
    pub waits: Waits,
}

impl Uses {
    /// Most pairs on a link.
    pub fn max_load(&self) -> u64 {
        fullest(&self.loads)
    }
}

/// What one check finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It holds.
    Holds,
    /// Nothing can deadlock: a rank for every channel, which no dependency lowers.
    Ordered(Vec<u32>),
    /// A shortest cycle of channels that can wait for each other.
    Cycle(Vec<Channel>),
    /// Pairs for which it does not hold.
    Fails(Problems),
}

impl Finding {
    /// That it holds, unless there are problems.
    pub(crate) fn of(problems: &Problems) -> Self {
        if problems.count == 0 { Self::Holds } else { Self::Fails(problems.clone()) }
    }
}

/// What all checks find, and what they find it in.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What the routes use.
    pub uses: Uses,
    /// The finding of every check, by its name.
    pub findings: Vec<(&'static str, Finding)>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|(_, finding)| matches!(finding, Finding::Holds | Finding::Ordered(_)))
    }

    /// Pairs that have a fault; one with two counts twice.
    pub fn problem_count(&self) -> u64 {
        self.failures().map(|problems| problems.count).sum()
    }

    /// The first [`SHOWN`] of them.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.failures().flat_map(|problems| &problems.first).take(SHOWN)
    }

    fn failures(&self) -> impl Iterator<Item = &Problems> {
        self.findings.iter().filter_map(|(_, finding)| match finding {
            Finding::Fails(problems) => Some(problems),
            _ => None,
        })
    }

    /// A shortest cycle of channels that can wait for each other; empty if there is none.
    pub fn cycle(&self) -> &[Channel] {
        let cycles = self.findings.iter().find_map(|(_, finding)| match finding {
            Finding::Cycle(cycle) => Some(cycle),
            _ => None,
        });
        cycles.map_or(&[], Vec::as_slice)
    }

    /// The ranks that prove that there is none.
    pub fn ranks(&self) -> Option<&[u32]> {
        self.findings.iter().find_map(|(_, finding)| match finding {
            Finding::Ordered(ranks) => Some(ranks.as_slice()),
            _ => None,
        })
    }
}
