//! A run of the pipelined router with flitloom's own networks, packets and numbers.

use super::{
    build::{self, Ground},
    feed::{Feed, Replies},
    measures::ClassFacts,
    network::Subnet,
    networks::{Grid, Network, Switched},
    numbers::Numbers,
    options::{OptionError, Options},
    run::{Breach, Run},
    stuck::Spot,
};
use crate::{
    engine::Outcome,
    fabric::{Graph, Shape},
    probe::{Film, LinkOccupation, LinkTime, Windows},
    routing::{ChannelRule, RoutingFunction},
    traffic::Workload,
};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
};

/// Cycles between two looks for packets that wait for each other, while others still move and while none does.
const LOOK_EVERY: u32 = 1 << 14;
/// As above.
const LOOK_STANDING: u32 = 256;

/// A network that packets can be sent over.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// A torus or a mesh with a routing function whose ways depend on the packet alone.
    Grid(&'a Shape, RoutingFunction, ChannelRule),
    /// A graph with tables by destination.
    Graph(&'a Graph, &'a Switched),
}

/// How a run is set up beside the options of its routers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setup {
    /// Cycles from one router to the next.
    pub latency: u32,
    /// The seed of everything random.
    pub seed: u64,
    /// Cycles of a window, if windows are kept.
    pub windows: Option<u64>,
    /// Whether every packet is answered.
    pub replies: Option<Replies>,
    /// Whether it is kept what every link carries in every cycle.
    pub link_time: bool,
    /// Whether all that moves is kept.
    pub film: bool,
}

/// Why a run has not gone on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The cycle to stop at is reached, or everything is delivered.
    Done,
    /// The limit of cycles is reached.
    Limit,
    /// The flag was raised.
    Interrupted,
    /// Some packets can never move again: queues each of which waits for the next.
    Deadlock(Vec<Spot>),
    /// Two flits took the last shared place of a queue.
    Overflow,
}

/// A run that somebody holds.
///
/// ```
/// use flitloom_core::{
///     engine::pipelined::{Options, Place, Setup, Simulation, Stop},
///     fabric::Shape,
///     routing::{ChannelRule, Datelines, RoutingFunction},
///     traffic::{Packet, PacketList, Workload},
/// };
/// let shape = Shape::mesh(&[4, 4])?;
/// let packet = Packet { destination: 5, length: 3, start: 0, slice: 0 };
/// let nodes = (0..16).map(|node| if node == 0 { vec![packet] } else { vec![] });
/// let workload = Workload::Packets(PacketList::from_nodes(nodes)?);
/// let rule = ChannelRule::new(1, Datelines::BOTH);
/// let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
/// let setup = Setup { latency: 1, seed: 1, ..Setup::default() };
/// let mut run = Simulation::new(&Options::default(), &place, &workload, &setup)?;
/// assert_eq!(run.run(None, None, &false.into()), Stop::Done);
/// // Three routers of three cycles, four links of two, and two more flits.
/// assert_eq!(run.totals().duration, 3 * 3 + 4 * 2 + 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    run: Run,
    is_finished: bool,
    next_look: u32,
}

impl Simulation {
    /// A run at its beginning, of a workload whose nodes are those of the network.
    ///
    /// # Errors
    /// If an option has a value that is not known.
    pub fn new(
        options: &Options,
        place: &Place<'_>,
        workload: &Workload,
        setup: &Setup,
    ) -> Result<Self, OptionError> {
        let ground = match *place {
            Place::Grid(shape, function, rule) => {
                let (grid, wiring) = Grid::new(shape, function, rule, setup.seed, setup.latency);
                Ground::of(Network::Grid(grid), wiring)
            }
            Place::Graph(graph, switched) => {
                Ground::of(Network::Switched(switched.clone()), switched.wiring(graph, setup.latency))
            }
        };
        let mut run = build::run_on(options, ground, false)?;
        run.numbers = Numbers::counted(setup.seed);
        run.feed = Some(Box::new(Feed::new(workload, run.nodes, setup.windows, setup.replies)));
        if setup.replies.is_some_and(|replies| replies.places.is_some()) {
            run.exits = vec![VecDeque::new(); run.nodes * run.rules.channels];
        }
        // What waits for what, and links, are seen in routers with lists.
        run.subnets = vec![Subnet::with(&run.rules, None)];
        let outputs = run.rules.wiring.all_outputs();
        run.subnets[0].links = Some(LinkOccupation::new(outputs));
        run.subnets[0].link_time = setup.link_time.then(|| LinkTime::new(outputs));
        run.subnets[0].film = setup.film.then(|| Box::new(Film::new(outputs)));
        Ok(Self { run, is_finished: false, next_look: LOOK_EVERY })
    }

    /// Runs until everything is delivered, or to a cycle; it may go on from where it stopped.
    pub fn run(&mut self, stop_at: Option<u64>, limit: Option<u64>, interrupt: &AtomicBool) -> Stop {
        let most = u64::from(u32::MAX - LOOK_EVERY);
        let stop = stop_at.unwrap_or(u64::MAX).min(most);
        let limit = limit.unwrap_or(most);
        while !self.is_finished && u64::from(self.run.now) < stop {
            if u64::from(self.run.now) >= limit {
                return Stop::Limit;
            }
            if self.run.now.is_multiple_of(64) && interrupt.load(Ordering::Relaxed) {
                return Stop::Interrupted;
            }
            if !self.skip(stop) {
                self.run.cycle();
            }
            if let Some(feed) = &mut self.run.feed {
                feed.close(self.run.now.into());
            }
            match self.run.breach.take() {
                None => {}
                Some(Breach::Deadlock) => return Stop::Deadlock(self.run.find_stuck().unwrap_or_default()),
                Some(Breach::SharedPlace | Breach::ChannelTwice) => return Stop::Overflow,
            }
            let stands = self.run.standstill > 0 && self.run.standstill.is_multiple_of(LOOK_STANDING);
            if stands || self.run.now >= self.next_look {
                self.next_look = self.run.now + LOOK_EVERY;
                if let Some(circle) = self.run.find_stuck() {
                    return Stop::Deadlock(circle);
                }
            }
        }
        if self.is_finished
            && let (Some(stop), Some(feed)) = (stop_at, &mut self.run.feed)
        {
            feed.close(stop.min(most));
        }
        Stop::Done
    }

    /// Leaves out cycles in which nothing is under way; false if something is.
    fn skip(&mut self, stop: u64) -> bool {
        if self.run.in_flight() > 0
            || !self.run.is_empty()
            || self.run.replies.iter().any(|all| !all.is_empty())
        {
            return false;
        }
        let next = self.run.feed.as_ref().and_then(|feed| feed.next_start());
        match next {
            None => self.is_finished = true,
            Some(start) if start > u64::from(self.run.now) => self.run.now = start.min(stop) as u32,
            Some(_) => return false,
        }
        true
    }

    /// The cycle that comes next.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.run.now.into()
    }

    /// Whether everything is delivered.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// The totals so far, of requests where packets are answered. Delays count from the start of a packet to the
    /// arrival of its tail, less the two cycles that [`Outcome`] does not count.
    #[must_use]
    pub fn totals(&self) -> Outcome {
        let Some(feed) = &self.run.feed else { return Outcome::default() };
        let links = self.run.subnets[0].links.iter().flat_map(|links| links.flits.iter());
        let all: u64 = links.sum();
        let delivered: u64 = self.run.facts.iter().map(|facts| facts.flit.count).sum();
        Outcome {
            cycles: self.run.now.into(),
            packets_injected: feed.injected,
            flit_hops: all.saturating_sub(delivered),
            ..feed.totals.clone()
        }
    }

    /// What was measured of packets, and then of replies if there are any, since the beginning.
    #[must_use]
    pub fn facts(&self) -> &[ClassFacts] {
        &self.run.facts
    }

    /// First and last cycle and flits of every output port of all routers.
    #[must_use]
    pub fn links(&self) -> Option<&LinkOccupation> {
        self.run.subnets[0].links.as_ref()
    }

    /// What every output port of all routers carried in every cycle, if that is kept. A port is blocked while the
    /// queue behind it is full for which a flit waits.
    #[must_use]
    pub fn link_time(&self) -> Option<&LinkTime> {
        self.run.subnets[0].link_time.as_ref()
    }

    /// All that moved, if that is kept: links are output ports of all routers. A packet is injected when its header
    /// leaves its source, and ejected when it arrives at its node.
    #[must_use]
    pub fn film(&self) -> Option<&Film> {
        self.run.subnets[0].film.as_deref()
    }

    /// Flits in the queue of a channel behind an input port of a router.
    #[must_use]
    pub fn queued(&self, router: u32, port: usize, channel: usize) -> usize {
        let subnet = &self.run.subnets[0];
        subnet.routers[router as usize].inputs[port * self.run.rules.channels + channel].queue.len()
    }

    /// Number of the first output port of a router among all.
    #[must_use]
    pub fn first_output(&self, router: u32) -> usize {
        self.run.rules.wiring.output(router, 0)
    }

    /// What happened in windows, if they are kept.
    pub fn windows(&mut self) -> Option<&mut Windows> {
        self.run.feed.as_mut().and_then(|feed| feed.windows.as_mut())
    }

    /// Channels of a link, cut into the classes or lanes that the network needs.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.run.rules.channels
    }
}
