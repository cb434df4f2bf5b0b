//! What is to be scheduled: jobs, the routes each may take, which wait for which, and what is symmetric.

mod phases;
mod placement;
mod quotient;
pub(crate) mod routes;

pub use crate::traffic::Demand;
pub use phases::Dependencies;
pub use placement::{Placement, duration_of};
pub use quotient::Quotient;
pub use routes::{Path, RouteChoice};

use crate::{
    fabric::{Fabric, LinkId, NodeId},
    fault::Fault,
};

/// How the slices of one message follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Slicing {
    /// At one interval for all nodes, the best one. Back to back (interval = slice length) is never
    /// worse than another interval: the slices of a message then hold every resource in one piece
    /// that is no longer than their sum.
    #[default]
    OneInterval,
    /// At the given interval in cycles.
    Interval(u32),
    /// Each slice at its own time.
    Free,
}

/// What can be wrong with a scheduling problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// A node that does not exist.
    Node {
        /// Index of the demand.
        packet: usize,
        /// The node that was named.
        node: NodeId,
        /// Highest valid index.
        last: NodeId,
    },
    /// No route that works.
    Unreachable {
        /// Index of the demand.
        packet: usize,
        /// Its source.
        source_node: NodeId,
        /// Its destination.
        destination: NodeId,
    },
    /// A packet without flits or slices, or a far too long one.
    Length {
        /// Index of the demand.
        packet: usize,
        /// Its slices.
        slices: u32,
        /// Its slice length.
        length: u32,
    },
    /// Slices that overlap.
    Interval {
        /// The interval.
        interval: u32,
        /// The slice length.
        length: u32,
    },
    /// Too much to schedule.
    TooMuch(u64),
    /// A start, or all slices of a message at their interval, beyond what is counted in cycles.
    TooLate {
        /// Cycles it would last.
        cycles: u64,
        /// The most there may be.
        most: u32,
    },
    /// Too many links and ports.
    TooManyUses(u64),
    /// Too much to search.
    TooManyStarts {
        /// Packets, or messages of slices at one interval.
        packets: usize,
        /// Their possible starts.
        starts: u64,
    },
    /// Nothing to schedule.
    Empty,
}

crate::fault::displays_fault!(ScheduleError);

impl ScheduleError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        let (problem, advice) = match self {
            Self::Node { packet, node, last } => {
                (format!("packet {packet}: node {node} does not exist"), format!("nodes are 0 to {last}"))
            }
            Self::Unreachable { packet, source_node, destination } => (
                format!("packet {packet} from node {source_node} to node {destination} has no working route"),
                String::new(),
            ),
            Self::Length { packet, slices, length } => (
                format!("packet {packet}: {slices} slices of {length} flits"),
                format!("at least one slice of one flit, at most {} flits in all", Demand::MAX_LENGTH),
            ),
            Self::Interval { interval, length } => (
                format!("the interval is {interval} cycles, shorter than a slice of {length} flits"),
                "slices would overlap".into(),
            ),
            Self::TooMuch(flits) => (
                format!("{flits} flits have to be sent in all"),
                format!("at most {} can be scheduled", Problem::MAX_FLITS),
            ),
            Self::TooLate { cycles, most } => {
                (format!("a message would last {cycles} cycles"), format!("at most {most} can be scheduled"))
            }
            Self::TooManyUses(uses) => (
                format!("the packets may hold links and ports {uses} times in all"),
                format!("at most {} can be scheduled", Problem::MAX_USES),
            ),
            Self::TooManyStarts { packets, starts } => (
                format!("{packets} packets have some {starts} possible starts"),
                format!("at most {} are searched, so take method greedy", Problem::MAX_STARTS),
            ),
            Self::Empty => ("there is no packet to schedule".into(), String::new()),
        };
        Fault::somewhere(problem, advice)
    }
}

/// That a job holds `resource` during `[start + offset, start + offset + length)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Index of the resource.
    pub resource: u32,
    /// Cycles after the start of the job.
    pub offset: u32,
}

/// One way to do a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Everything the job holds, in the order in which it takes it.
    pub uses: Vec<Use>,
    /// Cycles from the start to completion: an unhindered packet takes `hops + length + 1`.
    pub span: u32,
    /// The links travelled.
    pub path: Path,
}

/// Something that is placed as one: a packet, or the slices of one message at a fixed interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Cycles for which each use lasts.
    pub length: u32,
    /// The routes to choose from, at least one.
    pub routes: Vec<Route>,
    /// The demand it belongs to, and the number of its first slice there.
    pub origin: (usize, u32),
}

/// Jobs that must hold their resources one at a time.
///
/// A packet of L flits injected at cycle t over h links holds its injection port during [t, t+L),
/// its k-th link (from 0) during [t+k, t+k+L), its ejection port during [t+h, t+h+L), and is
/// complete at t+h+L+1. If no resource is ever held twice at once, no packet ever waits: buffers,
/// virtual channels and arbitration cannot change a cycle.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::schedule::{Demand, Problem, RouteChoice, Slicing};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let demand = Demand { source: 0, destination: 5, length: 8, slices: 2 };
/// let problem = Problem::new(&fabric, &[demand], Slicing::OneInterval, RouteChoice::DimensionOrder)?;
/// assert_eq!(problem.jobs()[0].routes[0].span, 2 + 16 + 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    resources: usize,
    jobs: Vec<Job>,
    dependencies: Option<Dependencies>,
    any_minimal_route: bool,
}

impl Problem {
    /// Largest number of flits in all.
    pub const MAX_FLITS: u64 = 1 << 30;
    /// Largest number of links and ports that all packets hold on all their routes.
    pub const MAX_USES: u64 = 1 << 26;
    /// Largest number of possible starts of all packets that is searched.
    pub const MAX_STARTS: u64 = 1 << 31;

    /// The problem of sending `demands` over a fabric.
    ///
    /// # Errors
    /// A demand is out of range or has no working route, or the interval is too short.
    pub fn new(
        fabric: &Fabric,
        demands: &[Demand],
        slicing: Slicing,
        choice: RouteChoice,
    ) -> Result<Self, ScheduleError> {
        if demands.is_empty() {
            return Err(ScheduleError::Empty);
        }
        let mut jobs = Vec::with_capacity(demands.len());
        let (mut flits, mut uses) = (0_u64, 0_u64);
        for (packet, demand) in demands.iter().enumerate() {
            check(fabric, packet, demand, slicing)?;
            flits += u64::from(demand.length) * u64::from(demand.slices);
            let paths = choice.paths(fabric, demand.source, demand.destination);
            if paths.is_empty() {
                let (source_node, destination) = (demand.source, demand.destination);
                return Err(ScheduleError::Unreachable { packet, source_node, destination });
            }
            let hops: u64 = paths.iter().map(|path| path.len() as u64 + 2).sum();
            let times = if slicing == Slicing::OneInterval { 1 } else { u64::from(demand.slices) };
            uses += hops * times;
            if uses > Self::MAX_USES {
                return Err(ScheduleError::TooManyUses(uses));
            }
            jobs.extend(jobs_of(fabric, packet, demand, slicing, &paths));
        }
        if flits > Self::MAX_FLITS {
            return Err(ScheduleError::TooMuch(flits));
        }
        Ok(Self::from_parts(resources_of(fabric), jobs))
    }

    /// The problem of sending `demands`, each as one packet over any minimal route. Only one of them is listed.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn over_any_minimal_route(fabric: &Fabric, demands: &[Demand]) -> Result<Self, ScheduleError> {
        let problem = Self::new(fabric, demands, Slicing::OneInterval, RouteChoice::BalancedTies)?;
        Ok(Self { any_minimal_route: true, ..problem })
    }

    /// The same jobs, some of which wait for others.
    #[must_use]
    pub fn in_phases(self, dependencies: Dependencies) -> Self {
        Self { dependencies: Some(dependencies), ..self }
    }

    /// A problem from its parts.
    pub(crate) fn from_parts(resources: usize, jobs: Vec<Job>) -> Self {
        Self { resources, jobs, dependencies: None, any_minimal_route: false }
    }

    /// Number of resources: all links, then all injection ports, then all ejection ports.
    pub fn resources(&self) -> usize {
        self.resources
    }

    /// The jobs, in the order of the demands.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Number of messages of which the jobs are slices.
    pub fn messages(&self) -> usize {
        self.jobs.iter().map(|job| job.origin.0 + 1).max().unwrap_or(0)
    }

    /// What waits for what, if anything does.
    pub fn dependencies(&self) -> Option<&Dependencies> {
        self.dependencies.as_ref()
    }

    /// Whether jobs wait for others.
    pub fn is_in_phases(&self) -> bool {
        self.dependencies.is_some()
    }

    /// Whether packets may take minimal routes that are not listed.
    pub fn has_any_minimal_route(&self) -> bool {
        self.any_minimal_route
    }

    /// Ends and length of every job, seen from its ports.
    pub(super) fn demands(&self, fabric: &Fabric) -> Vec<Demand> {
        let nodes = fabric.shape().nodes() as u32;
        let links = nodes * fabric.shape().directions() as u32;
        let demand = |job: &Job| {
            let uses = &job.routes[0].uses;
            let port = |held: Option<&Use>| held.map_or(0, |held| (held.resource - links) % nodes);
            Demand {
                source: port(uses.first()),
                destination: port(uses.last()),
                length: job.length,
                slices: 1,
            }
        };
        self.jobs.iter().map(demand).collect()
    }

    /// Whether no job has more than one route.
    pub fn has_fixed_routes(&self) -> bool {
        !self.any_minimal_route && self.jobs.iter().all(|job| job.routes.len() == 1)
    }

    /// The same jobs, each over the given path between its ports, which is as long as its first route.
    pub(super) fn with_paths(&self, paths: impl Iterator<Item = Path>) -> Self {
        let jobs = self.jobs.iter().zip(paths).map(|(job, path)| {
            let (first, span) = (&job.routes[0], job.routes[0].span);
            let links = path.iter().zip(0..).map(|(&resource, offset)| Use { resource, offset });
            let ports = [first.uses.first(), first.uses.last()].map(|port| port.copied().into_iter());
            let [injection, ejection] = ports;
            let uses = injection.chain(links).chain(ejection).collect();
            Job { length: job.length, routes: vec![Route { uses, span, path }], origin: job.origin }
        });
        Self {
            resources: self.resources,
            jobs: jobs.collect(),
            dependencies: self.dependencies.clone(),
            any_minimal_route: false,
        }
    }

    /// The same jobs with only the given route of each.
    pub fn with_routes(&self, chosen: &[usize]) -> Self {
        self.restricted(chosen.iter().map(std::slice::from_ref))
    }

    /// The same jobs with only the given routes of each.
    pub(crate) fn with_choices(&self, chosen: &[Vec<usize>]) -> Self {
        self.restricted(chosen.iter().map(Vec::as_slice))
    }

    fn restricted<'c>(&self, chosen: impl Iterator<Item = &'c [usize]>) -> Self {
        let jobs = self.jobs.iter().zip(chosen).map(|(job, routes)| Job {
            length: job.length,
            routes: routes.iter().map(|&route| job.routes[route].clone()).collect(),
            origin: job.origin,
        });
        Self {
            resources: self.resources,
            jobs: jobs.collect(),
            dependencies: self.dependencies.clone(),
            any_minimal_route: self.any_minimal_route,
        }
    }
}

/// All links, then all injection ports, then all ejection ports.
pub(crate) fn resources_of(fabric: &Fabric) -> usize {
    fabric.shape().nodes() * (fabric.shape().directions() + 2)
}

fn check(fabric: &Fabric, packet: usize, demand: &Demand, slicing: Slicing) -> Result<(), ScheduleError> {
    let last = fabric.shape().nodes() as NodeId - 1;
    for node in [demand.source, demand.destination] {
        if node > last {
            return Err(ScheduleError::Node { packet, node, last });
        }
    }
    let flits = u64::from(demand.length) * u64::from(demand.slices);
    if flits == 0 || flits > u64::from(Demand::MAX_LENGTH) {
        let (slices, length) = (demand.slices, demand.length);
        return Err(ScheduleError::Length { packet, slices, length });
    }
    if let Slicing::Interval(interval) = slicing {
        if interval < demand.length && demand.slices > 1 {
            return Err(ScheduleError::Interval { interval, length: demand.length });
        }
        let extent = u64::from(interval) * u64::from(demand.slices);
        if extent > u64::from(Demand::MAX_LENGTH) {
            return Err(ScheduleError::TooLate { cycles: extent, most: Demand::MAX_LENGTH });
        }
    }
    Ok(())
}

fn jobs_of(fabric: &Fabric, packet: usize, demand: &Demand, slicing: Slicing, paths: &[Path]) -> Vec<Job> {
    let (length, copies, interval) = match slicing {
        Slicing::OneInterval => (demand.length * demand.slices, 1, 0),
        Slicing::Interval(interval) if interval == demand.length => (demand.length * demand.slices, 1, 0),
        Slicing::Interval(interval) => (demand.length, demand.slices, interval),
        Slicing::Free => (demand.length, 1, 0),
    };
    let routes: Vec<Route> =
        paths.iter().map(|path| route(fabric, demand, path, length, copies, interval)).collect();
    let jobs = if slicing == Slicing::Free { demand.slices } else { 1 };
    (0..jobs).map(|slice| Job { length, routes: routes.clone(), origin: (packet, slice) }).collect()
}

pub(crate) fn route(
    fabric: &Fabric,
    demand: &Demand,
    path: &[LinkId],
    length: u32,
    copies: u32,
    interval: u32,
) -> Route {
    let shape = fabric.shape();
    let links = (shape.nodes() * shape.directions()) as u32;
    let hops = path.len() as u32;
    let mut uses = Vec::with_capacity((path.len() + 2) * copies as usize);
    for copy in 0..copies {
        let base = copy * interval;
        uses.push(Use { resource: links + demand.source, offset: base });
        uses.extend(path.iter().zip(base..).map(|(&resource, offset)| Use { resource, offset }));
        let ejection = links + shape.nodes() as u32 + demand.destination;
        uses.push(Use { resource: ejection, offset: base + hops });
    }
    Route { uses, span: hops + (copies - 1) * interval + length + 1, path: path.into() }
}
