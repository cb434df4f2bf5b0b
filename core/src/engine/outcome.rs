use super::{
    bell::Lost,
    pipelined::{BlockedQueue, Breach, ConfigError},
};
use crate::{
    fabric::{Direction, NodeId},
    fault::Fault,
    router::{FlowControl, RouterError},
    routing::RoutingFunction,
    save::{Archive, SaveError},
    throttle::Throttle,
    traffic::WorkloadError,
};

/// Totals of one simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Index of the cycle in which the last flit was ejected, plus 2; 0 if nothing was delivered.
    /// An unhindered packet of L flits over h hops takes h + L + 1.
    pub duration: u64,
    /// Cycles simulated.
    pub cycles: u64,
    /// Packets whose tail was ejected.
    pub packets_delivered: u64,
    /// Flits ejected.
    pub flits_delivered: u64,
    /// Flits that crossed a network link, counted once per link.
    pub flit_hops: u64,
    /// Packets whose header left the processor queue of its router.
    pub packets_injected: u64,
    /// Sum over delivered packets of (cycle of the tail's ejection - start cycle).
    pub latency_sum: u64,
    /// Order-independent fingerprint of all tail ejections (cycle and node); see [`fingerprint`].
    pub fingerprint: u64,
    /// Sum over delivered packets of [`lateness`] of the tail's ejection. Of two runs of equal
    /// duration, the one in which fewer packets are about as late as the last one has less.
    pub lateness: u128,
    /// Cycle in which the last operation of a message graph was complete; `None` for other
    /// workloads.
    pub makespan: Option<u64>,
}

impl Outcome {
    /// Adds what came of another part of the same run.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            duration,
            cycles,
            packets_delivered,
            flits_delivered,
            flit_hops,
            packets_injected,
            latency_sum,
            fingerprint,
            lateness,
            makespan,
        } = other;
        self.duration = self.duration.max(*duration);
        self.cycles = self.cycles.max(*cycles);
        self.packets_delivered += packets_delivered;
        self.flits_delivered += flits_delivered;
        self.flit_hops += flit_hops;
        self.packets_injected += packets_injected;
        self.latency_sum += latency_sum;
        self.fingerprint = self.fingerprint.wrapping_add(*fingerprint);
        self.lateness = self.lateness.saturating_add(*lateness);
        self.makespan = self.makespan.max(*makespan);
    }

    /// Totals as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self {
            duration,
            cycles,
            packets_delivered,
            flits_delivered,
            flit_hops,
            packets_injected,
            latency_sum,
            fingerprint,
            lateness,
            makespan,
        } = self;
        archive.number("duration", duration)?;
        archive.number("cycles", cycles)?;
        archive.number("packets delivered", packets_delivered)?;
        archive.number("flits delivered", flits_delivered)?;
        archive.number("flit-hops", flit_hops)?;
        archive.number("packets injected", packets_injected)?;
        archive.number("latency sum", latency_sum)?;
        archive.number("fingerprint", fingerprint)?;
        archive.number("lateness", lateness)?;
        archive.option("makespan", makespan)
    }
}

/// The share of one tail ejection in [`Outcome::fingerprint`]; shares are added modulo 2^64.
pub fn fingerprint(cycle: u64, node: NodeId) -> u64 {
    let key = cycle.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(node).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    let key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    key ^ (key >> 32)
}

/// The share of tail ejections of one cycle in [`Outcome::lateness`]: the fourth power of the cycle for each. From
/// cycle 2^32 on it, and what it is added to, stay at the largest number there is.
///
/// ```
/// use flitloom_core::engine::lateness;
/// assert_eq!(lateness(10, 2), 20_000);
/// assert_eq!(lateness(1 << 32, 1), u128::MAX);
/// ```
pub fn lateness(cycle: u64, tails: u64) -> u128 {
    u128::from(cycle).saturating_pow(4).saturating_mul(u128::from(tails))
}

/// A virtual channel that waits in a deadlock: the buffer it is, and what its front flit wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingChannel {
    /// Router that holds the buffer.
    pub node: NodeId,
    /// Direction in which the flits came into the buffer; `None` for the processor queue.
    pub arrived_along: Option<Direction>,
    /// Virtual channel of the buffer.
    pub channel: u8,
    /// Direction in which the front flit has to go on; `None` for the processor.
    pub wants: Option<Direction>,
    /// Virtual channel it needs there.
    pub wants_channel: u8,
}

/// A cycle of channels each of which waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockReport {
    /// Cycle in which it was found.
    pub cycle: u64,
    /// The cycle of waiting channels; the last waits for the first.
    pub channels: Vec<WaitingChannel>,
    /// The same, readable: `(0,3)+x vc0 -> (1,3)+x vc0 -> ...`.
    pub text: String,
    /// Flits that can never move again.
    pub stuck_flits: u64,
    /// Names of all directions, by their index.
    pub directions: Vec<String>,
}

/// What says the ways of packets, and so has none for some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Dimension order, which leads over failed parts.
    Routing,
    /// Given routes: those of tables.
    Routes,
}

/// Which of some pairs of nodes begin or end at a failed node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedEnds {
    /// None of them.
    None,
    /// Some, the first of them at this node.
    Some(NodeId),
    /// All, the first of them at this node.
    All(NodeId),
}

/// Why a simulation has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum SimulationError {
    /// The workload is for another number of nodes.
    Nodes {
        /// Nodes of the workload.
        given: usize,
        /// Nodes of the network.
        needed: usize,
    },
    /// A packet needs a failed node or link.
    Unreachable {
        /// Source of the first such pair.
        source_node: NodeId,
        /// Its destination.
        destination: NodeId,
        /// Number of source-destination pairs affected, as far as they were counted.
        count: usize,
        /// What to add to the number if it may be larger.
        more: &'static str,
        /// The pairs, at most 1000 of them.
        pairs: Vec<(NodeId, NodeId)>,
        /// What has no way for them.
        obstacle: Obstacle,
        /// Which of the listed pairs begin or end at a failed node.
        failed: FailedEnds,
        /// Whether the packets are those of a load, in which every node sends.
        load: bool,
    },
    /// Cut-through or bubble flow control, or grants that need room, with buffers that are too small for
    /// the packets.
    PacketTooLong {
        /// Buffer depth.
        buffer: u16,
        /// How flow is controlled.
        flow_control: FlowControl,
        /// Whether a grant needs room for the whole packet.
        grant_needs_room: bool,
        /// Buffer depth that would do.
        needed: u64,
        /// Length of the longest packet.
        length: u32,
    },
    /// A margin of a throttle at which every queue is busy, even an empty one.
    Margin {
        /// The margin.
        margin: u16,
        /// Depth of the queues, without output registers.
        depth: u16,
    },
    /// A throttle that goes by lines of routers, on a twisted torus.
    TwistedLines(Box<Throttle>),
    /// The same among full meshes or circulants.
    FullLines(Box<Throttle>),
    /// A message graph with several queues of the processor.
    GraphQueues,
    /// A given route does not lead to its destination.
    Route {
        /// Source of the packet.
        source_node: NodeId,
        /// Its number among the packets of its source.
        number: u64,
        /// Its destination.
        destination: NodeId,
    },
    /// Packets bring their routes, and the routers have a routing function of their own.
    RoutesGiven(RoutingFunction),
    /// A routing function on a network with failed parts.
    Failures(RoutingFunction),
    /// No flit can ever move again.
    Deadlock(Box<DeadlockReport>),
    /// Some packets in pipelined routers can never move again.
    Blocked {
        /// Cycle in which it was found.
        cycle: u64,
        /// Queues each of which waits for the next, and the last for the first; none if no flit has arrived for
        /// [so long](super::pipelined::Breach::STANDSTILL) that nothing else can be.
        queues: Vec<BlockedQueue>,
        /// Flits that were made and have not arrived.
        stuck_flits: u64,
    },
    /// Two flits took the last shared place of a queue.
    Overflow,
    /// Interlocked nodes wait for packets that nobody sends.
    Interlocked {
        /// Cycle from which nothing happens.
        cycle: u64,
        /// The first such node.
        node: NodeId,
        /// Number of such nodes.
        count: usize,
    },
    /// A throttle holds what is to be sent, though nothing is in the network.
    Held {
        /// Cycle in which that was seen.
        cycle: u64,
        /// The node that waits longest.
        node: NodeId,
        /// Since when.
        since: u64,
    },
    /// The limit of cycles was reached first.
    CycleLimit {
        /// The limit.
        cycles: u64,
        /// Packets delivered by then.
        delivered: u64,
    },
    /// Interrupted from outside.
    Interrupted(u64),
    /// The planes find nothing that can move, and do not say why.
    Stuck {
        /// The cycle in which they do.
        cycle: u64,
    },
    /// The engines do not agree, which is a fault of flitloom's.
    Disagreement {
        /// Where they do.
        cycle: u64,
    },
    /// Another process of the same run has failed.
    Lost,
    /// Pipelined routers that processes cannot share.
    Undivided {
        /// How many processes there are.
        ranks: usize,
        /// How many routers.
        routers: usize,
    },
    /// The workload is not valid.
    Workload(WorkloadError),
    /// The router is not valid.
    Router(RouterError),
    /// The pipelined router is not valid.
    Pipelined(ConfigError),
}

crate::fault::displays_fault!(SimulationError);

impl SimulationError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Nodes { given, needed } => {
                Fault::somewhere(format!("the workload is for {given} nodes, the network has {needed}"), "")
            }
            Self::Unreachable { source_node, destination, count, more, obstacle, failed, load, .. } => {
                let first = format!("from node {source_node} to node {destination}");
                let pairs = Unserved::new(*count, more, first);
                pairs.fault(obstacle, *failed, *load)
            }
            Self::PacketTooLong { buffer, flow_control, grant_needs_room, needed, length } => {
                let rule = if *grant_needs_room { " with grants that need room" } else { "" };
                let rules = format!("{} flow control{rule}", flow_control.name());
                packet_too_long(*buffer, &rules, *needed, *length)
            }
            Self::Margin { margin, depth } => too_wide(*margin, *depth),
            Self::TwistedLines(throttle) => lines_needed(
                throttle,
                "in a twisted torus lines do not end at the edge; take a throttle without signals (none, alo)",
            ),
            Self::FullLines(throttle) => lines_needed(
                throttle,
                "full meshes and circulants have no such lines; take a throttle without signals (none, alo)",
            ),
            Self::GraphQueues => Fault::of(
                "router.processor_queues",
                "is per-direction",
                "a message graph needs one queue, in whose order it sends",
            ),
            Self::Route { source_node, number, destination } => Fault::somewhere(
                format!(
                    "the route of packet {number} of node {source_node} does not lead to node {destination} over \
                     existing links"
                ),
                "",
            ),
            Self::RoutesGiven(routing) => Fault::of(
                "router.routing",
                format!("is {routing}, but the packets bring their routes (tables, plans)"),
                "only dimension order (do) leaves the way to them",
            ),
            Self::Failures(routing) => Fault::of(
                "router.routing",
                format!("is {routing}, which knows no failed parts"),
                "dimension order (do) runs where no packet needs one, and routing tables go around them",
            ),
            Self::Deadlock(report) => deadlocked(report),
            Self::Blocked { cycle, queues, stuck_flits } => blocked(*cycle, queues.len(), *stuck_flits),
            Self::Overflow => Fault::at(
                "router.output_speedup",
                "two flits took the last shared place of a queue",
                "give output_speedup 1, or buffer_policy private",
            ),
            Self::Interlocked { cycle, node, count } => interlocked(*cycle, *node, *count),
            Self::Held { cycle, node, since } => held(*cycle, *node, *since),
            Self::CycleLimit { cycles, delivered } => Fault::somewhere(
                format!("not finished after {cycles} cycles: {delivered} packets delivered"),
                "",
            ),
            Self::Interrupted(cycle) => Fault::somewhere(format!("interrupted at cycle {cycle}"), ""),
            Self::Stuck { cycle } => Fault::somewhere(
                format!("nothing can move at cycle {cycle}, and not everything is delivered"),
                "please report this case",
            ),
            Self::Disagreement { cycle } => Fault::somewhere(
                format!(
                    "the engines disagree at cycle {cycle}: one finds nothing that can move, the other does"
                ),
                "please report this case",
            ),
            Self::Lost => Fault::somewhere("another rank has failed", ""),
            Self::Undivided { ranks, routers } => undivided(*ranks, *routers),
            Self::Workload(error) => error.fault(),
            Self::Router(error) => error.fault(),
            Self::Pipelined(error) => error.fault().within("router"),
        }
    }
}

/// A margin of a throttle that no queue has room for.
fn too_wide(margin: u16, depth: u16) -> Fault {
    Fault::at(
        "throttle",
        format!("a margin of {margin} flits"),
        format!("it must be below the depth of the queues ({depth}), otherwise no node could ever inject"),
    )
}

/// A deadlock, proven by the cycle in which channels wait for each other.
fn deadlocked(report: &DeadlockReport) -> Fault {
    let DeadlockReport { cycle, stuck_flits, text, .. } = report;
    Fault::somewhere(
        format!(
            "deadlock at cycle {cycle}: {stuck_flits} flits can never move again, waiting in the cycle {text}"
        ),
        "more virtual channels (router.channels) or bubble flow control break such cycles",
    )
}

/// Packets in pipelined routers that wait for each other.
fn blocked(cycle: u64, queues: usize, stuck_flits: u64) -> Fault {
    let why = match queues {
        0 => format!("no flit has arrived for {} cycles", Breach::STANDSTILL),
        _ => format!("{queues} queues wait for each other, and {stuck_flits} flits have not arrived"),
    };
    Fault::somewhere(format!("deadlock in cycle {cycle}: {why}"), "")
}

/// Pipelined routers that processes cannot share.
fn undivided(ranks: usize, routers: usize) -> Fault {
    if ranks > routers {
        let problem = format!("{ranks} ranks for {routers} routers");
        return Fault::at("mpiexec", problem, "start at most as many");
    }
    let problem = format!("{ranks} ranks for pipelined routers whose options or records go by all of them");
    Fault::at("mpiexec", problem, "start one process, or leave such options and records out")
}

/// A buffer that is too small for the packets under its rules.
fn packet_too_long(buffer: u16, rules: &str, needed: u64, length: u32) -> Fault {
    let advice = format!("{rules} needs at least {needed} for packets of {length} flits");
    Fault::of("router.buffer", format!("is {buffer} flits"), advice)
}

/// A throttle whose signals go along lines that the network does not have.
fn lines_needed(throttle: &Throttle, advice: &'static str) -> Fault {
    Fault::of("throttle", format!("is {throttle}, which goes by what the routers of a line tell"), advice)
}

/// Nodes that wait for packets that nobody sends.
fn interlocked(cycle: u64, node: NodeId, count: usize) -> Fault {
    Fault::somewhere(
        format!(
            "slice interlocking: {count} nodes, the first of them {node}, wait from cycle {cycle} on for packets that \
             nobody sends"
        ),
        "it needs every node to receive as many packets as it sends",
    )
}

/// A throttle that lets nobody go.
fn held(cycle: u64, node: NodeId, since: u64) -> Fault {
    Fault::at(
        "throttle",
        format!(
            "holds the packet of node {node} from cycle {since} to cycle {cycle} though nothing is in the network"
        ),
        "a throttle must let a packet go at last where all queues are empty",
    )
}

/// Pairs that no route serves, in the words of a sentence.
struct Unserved {
    pairs: String,
    need: &'static str,
    end: &'static str,
    first: String,
}

impl Unserved {
    fn new(count: usize, more: &str, first: String) -> Self {
        match count {
            1 => Self { pairs: "1 pair of nodes".to_owned(), need: "needs", end: "begins or ends", first },
            _ => Self {
                pairs: format!("{count}{more} pairs of nodes"),
                need: "need",
                end: "begin or end",
                first: format!("the first {first}"),
            },
        }
    }

    /// What keeps their packets, and what to do.
    fn fault(&self, obstacle: &Obstacle, failed: FailedEnds, load: bool) -> Fault {
        let Self { pairs, need, end, first } = self;
        let (problem, advice) = match obstacle {
            Obstacle::Routing => (
                format!("{pairs} {need} a failed part, {first}"),
                "dimension-order routing cannot go around failures, routing tables can",
            ),
            Obstacle::Routes => (
                format!("no route is given for {pairs}, {first}"),
                "tables made for the same failures have routes for all pairs of working nodes",
            ),
        };
        let otherwise = if load {
            "give destinations that leave it out, or a pattern, whose packets go among the nodes that work"
        } else {
            "give traffic that leaves it out"
        };
        let leave = |node| format!("node {node} has failed, and no route leads to it: {otherwise}");
        match failed {
            FailedEnds::None => Fault::somewhere(problem, advice),
            FailedEnds::Some(node) => {
                Fault::somewhere(problem, format!("{}; for the others: {advice}", leave(node)))
            }
            FailedEnds::All(node) => {
                Fault::somewhere(format!("{pairs} {end} at a failed node, {first}"), leave(node))
            }
        }
    }
}

impl From<Lost> for SimulationError {
    fn from(_: Lost) -> Self {
        Self::Lost
    }
}

impl From<WorkloadError> for SimulationError {
    fn from(error: WorkloadError) -> Self {
        Self::Workload(error)
    }
}

impl From<ConfigError> for SimulationError {
    fn from(error: ConfigError) -> Self {
        Self::Pipelined(error)
    }
}

impl From<RouterError> for SimulationError {
    fn from(error: RouterError) -> Self {
        Self::Router(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with integers of any size.
    #[test]
    fn fingerprints_are_the_same_everywhere() {
        assert_eq!(fingerprint(0, 0), 0);
        assert_eq!(fingerprint(1, 0), 0x17fb_89ee_9dca_b42a);
        assert_eq!(fingerprint(0, 1), 0x3571_bf6a_698c_351c);
        assert_eq!(fingerprint(12345, 678), 0xd3ed_3abc_a37d_1cad);
    }
}
