//! A run of the pipelined router with flitloom's own networks, packets and numbers.

use super::{
    breach::Breach,
    config::Config,
    config_error::ConfigError,
    deadlock::BlockedQueue,
    feed::{Feed, Replies},
    measures::ClassFacts,
    networks::{Grid, Switched},
    routers::{Cycle, Routers, Wanted},
    rules::Rules,
    run::Run,
    subnet::Subnet,
    terminals::Terminals,
};
use crate::{
    engine::Outcome,
    fabric::{Graph, Shape},
    fault::Fault,
    probe::{Film, LinkOccupation, LinkTime, PacketRecord, PacketRecords, Windows},
    routing::{ChannelRule, RoutingFunction},
    save::{Archive, SaveError},
    traffic::{GraphError, PacketSource, Workload},
};
use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicBool, Ordering},
};

/// Cycles between two looks for packets that wait for each other, while others still move and while none does.
const LOOK_EVERY: u32 = 1 << 14;
/// As above.
const LOOK_STANDING: u32 = 256;

/// Fewer cycles are not worth cutting the routers into parts; and those after which parts are cut anew, then with what is
/// known of the ways of packets.
const BRIEF: u64 = 64;
/// As above.
const FIRST: u32 = 1 << 10;
/// What the work of nodes costs, in hops of a packet: making, sending and taking it.
const NODE_HOPS: f64 = 3.0;

/// Parts in which sets of channels are not faster than planes in one.
const PARTS_OF_SETS: usize = 4;

/// Most flits of the largest packet, times two packets of every node, for which sets of channels keep numbers.
const MOST_NUMBERS: u64 = 1 << 22;

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
    /// Whether it is kept when every packet was where.
    pub packets: bool,
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
    Deadlock(Vec<BlockedQueue>),
    /// Two flits took the last shared place of a queue.
    Overflow,
    /// Everything is delivered, and operations of a message graph wait for each other.
    Stuck(GraphError),
}

/// A run that somebody holds.
///
/// ```
/// use flitloom_core::{
///     engine::pipelined::{Config, Place, Setup, Simulation, Stop},
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
/// let mut run = Simulation::new(&Config::default(), &place, &workload, &setup)?;
/// assert_eq!(run.run(None, None, &false.into()), Stop::Done);
/// // Three routers of three cycles, four links of two, and two more flits.
/// assert_eq!(run.totals().duration, 3 * 3 + 4 * 2 + 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    run: Run<Feed>,
    is_finished: bool,
    next_look: u32,
    parts: usize,
}

/// The routers of a run, with records of what happens on links.
fn subnet(rules: &Rules, setup: &Setup, has_exits: bool) -> Subnet<Feed> {
    let numbers = u64::from(rules.largest) * 2 * rules.wiring.nodes() as u64;
    let sees_flits = setup.link_time || setup.packets || setup.film || has_exits;
    let single_flits = sees_flits || numbers > MOST_NUMBERS;
    let mut subnet = Subnet::new(rules, Wanted { single_flits, links: true });
    subnet.count_links(rules);
    let outputs = rules.wiring.all_outputs();
    subnet.shared.records.link_time = setup.link_time.then(|| LinkTime::new(outputs));
    if setup.packets || setup.film {
        let packets = setup.packets.then(PacketRecords::default);
        let film = setup.film.then(|| Film::new(outputs));
        subnet.shared.records.watch = Some(Box::new((packets, film)));
    }
    subnet
}

impl Simulation {
    /// Input ports of routers from which on a thread of their own is worth it.
    pub const PORTS_OF_A_THREAD: usize = 320;

    /// A run at its beginning, of a workload whose nodes are those of the network.
    ///
    /// # Errors
    /// A field of the routers has a value that is not known, or not together with others.
    pub fn new(
        config: &Config,
        place: &Place<'_>,
        workload: &Workload,
        setup: &Setup,
    ) -> Result<Self, ConfigError> {
        if config.cuts_by_next_port {
            let problem = "divides channels as routing functions of BookSim2's networks do";
            return Err(Fault::at("noq", problem, "leave it out").into());
        }
        let (config, latency) = (config.clone(), setup.latency);
        let mut rules = match *place {
            Place::Grid(shape, function, rule) => {
                let (grid, wiring) = Grid::new(shape, function, rule, setup.seed, latency);
                Rules::new(config, grid, wiring)
            }
            Place::Graph(graph, switched) => {
                Rules::new(config, switched.clone(), switched.wiring(graph, latency))
            }
        }?;
        rules.largest = workload.longest().max(setup.replies.map_or(1, |replies| replies.length));
        let ends = (rules.wiring.nodes(), rules.channels);
        let feed = Feed::new(workload, ends, setup.windows, setup.replies, setup.seed);
        let subnet = subnet(&rules, setup, !feed.exits.is_empty());
        let run = Run::new(rules, vec![subnet], feed);
        Ok(Self { run, is_finished: false, next_look: LOOK_EVERY, parts: 1 })
    }

    /// So many threads may run it from now on, with at least so many input ports of routers each. The routers are then
    /// run in parts, unless single flits are recorded, an option needs the order of all routers, or they are planes, which
    /// one thread runs faster than four threads other forms.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::pipelined::{Config, Place, Setup, Simulation},
    ///     fabric::Shape,
    ///     routing::{ChannelRule, Datelines, RoutingFunction},
    ///     traffic::{OpenLoad, Pattern, Workload},
    /// };
    /// let shape = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.3, 5, 500, 1)?);
    /// let rule = ChannelRule::new(4, Datelines::BOTH);
    /// let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
    /// let setup = Setup { latency: 1, seed: 1, ..Setup::default() };
    /// let begin = || Simulation::new(&Config::default(), &place, &load, &setup);
    /// let (mut one, mut two) = (begin()?, begin()?);
    /// two.divide(2, 100);
    /// assert_eq!((one.parts(), two.parts()), (1, 2));
    /// one.run(None, None, &false.into());
    /// two.run(None, None, &false.into());
    /// assert_eq!((one.totals(), one.links()), (two.totals(), two.links()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn divide(&mut self, threads: usize, ports: usize) {
        let rules = self.run.terminals.rules.clone();
        let most = (rules.wiring.all_inputs() / ports.max(1)).min(rules.wiring.routers()).max(1);
        let parts = threads.clamp(1, most);
        if parts > PARTS_OF_SETS
            && let Some(Some(sets)) = self.run.on_routers(|routers, cycle| routers.as_sets(cycle)).pop()
        {
            self.run.subnets[0].routers = Box::new(sets);
        }
        let is_divisible = self.run.subnets[0].routers.is_divisible(&rules);
        self.parts = if is_divisible { parts } else { 1 };
    }

    /// Runs until everything is delivered, or to a cycle; it may go on from where it stopped.
    pub fn run(&mut self, stop_at: Option<u64>, limit: Option<u64>, interrupt: &AtomicBool) -> Stop {
        let stop = self.go_on(stop_at, limit, interrupt);
        self.run.subnets[0].settle(&self.run.terminals.rules);
        stop
    }

    fn go_on(&mut self, stop_at: Option<u64>, limit: Option<u64>, interrupt: &AtomicBool) -> Stop {
        let most = u64::from(u32::MAX - LOOK_EVERY);
        let stop = stop_at.unwrap_or(u64::MAX).min(most);
        let limit = limit.unwrap_or(most);
        while !self.is_finished && u64::from(self.run.terminals.now) < stop {
            if u64::from(self.run.terminals.now) >= limit {
                return Stop::Limit;
            }
            if self.run.terminals.now.is_multiple_of(64) && interrupt.load(Ordering::Relaxed) {
                return Stop::Interrupted;
            }
            if self.parts > 1 && stop.min(limit) - u64::from(self.run.terminals.now) >= BRIEF {
                self.run_in_parts(stop, limit, interrupt);
            } else {
                if !self.skip(stop) {
                    self.run.cycle();
                }
                self.close();
            }
            match self.run.terminals.breach.take() {
                None => {}
                Some(Breach::Deadlock) => {
                    return Stop::Deadlock(self.run.find_deadlock().unwrap_or_default());
                }
                Some(Breach::SharedPlace | Breach::PlacePerOwner | Breach::ChannelTwice) => {
                    return Stop::Overflow;
                }
            }
            if self.stands() || self.run.terminals.now >= self.next_look {
                self.next_look = self.run.terminals.now + LOOK_EVERY;
                if let Some(circle) = self.run.find_deadlock() {
                    return Stop::Deadlock(circle);
                }
            }
        }
        self.makespan().map_or_else(Stop::Stuck, |_| Stop::Done)
    }

    /// Whether no flit has arrived for so long that it is to be looked for the reason.
    fn stands(&self) -> bool {
        self.run.terminals.standstill > 0 && self.run.terminals.standstill.is_multiple_of(LOOK_STANDING)
    }

    /// Runs in several threads until there is something to be looked at.
    fn run_in_parts(&mut self, stop: u64, limit: u64, interrupt: &AtomicBool) {
        let Terminals { rules, facts, now, .. } = &self.run.terminals;
        let hops = facts.iter().fold((0, 0), |all, one| (all.0 + one.hops.sum, all.1 + one.hops.count));
        let routers = rules.wiring.routers() as f64;
        let mean = if hops.1 > 0 { hops.0 as f64 / hops.1 as f64 } else { routers.sqrt() / 2.0 };
        let until = stop.min(limit).min(if *now < FIRST { FIRST.into() } else { u64::MAX });
        let rules = rules.clone();
        let (parts, of_nodes) = (self.parts, NODE_HOPS / mean.max(1.0));
        let mut divided = self.run.on_routers(|routers, cycle| routers.divide(cycle, parts, of_nodes));
        let Some(Some((divided, exchange, workers))) = divided.pop() else { return };
        self.run.subnets[0].routers = divided;
        let mut parts = std::thread::scope(|scope| {
            let _watch = exchange.watch();
            let threads: Vec<_> =
                workers.into_iter().map(|worker| scope.spawn(|| worker.run(&rules))).collect();
            let mut cycle = 0;
            // Whether credits are under way is known once all have run the same cycles.
            while exchange
                .wait(if self.run.terminals.in_flight() > 0 { u64::max(cycle, 1) - 1 } else { cycle })
                .is_ok()
            {
                if !self.skip(stop) {
                    exchange.begin(cycle, self.run.terminals.now);
                    self.run.cycle();
                    cycle += 1;
                }
                self.close();
                let now = self.run.terminals.now;
                if self.is_finished
                    || self.run.terminals.breach.is_some()
                    || self.stands()
                    || now >= self.next_look
                    || u64::from(now) >= until
                    || now.is_multiple_of(64) && interrupt.load(Ordering::Relaxed)
                {
                    break;
                }
            }
            exchange.end(cycle);
            let joined =
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.collect()
        });
        let join = |routers: &mut dyn Routers<Feed>, cycle: &mut Cycle<'_>| {
            routers.join(std::mem::take(&mut parts), cycle)
        };
        if let Some(Some(joined)) = self.run.on_routers(join).pop() {
            self.run.subnets[0].routers = joined;
        }
    }

    /// Closes the windows that end.
    fn close(&mut self) {
        self.run.source.close(self.run.terminals.now.into());
    }

    /// The state in bytes, from which [`restore`](Self::restore) takes it up again. What the run was made of is not in it,
    /// nor a film.
    #[must_use]
    pub fn save(&mut self) -> Vec<u8> {
        let mut archive = Archive::writing();
        // Nothing can go wrong while writing.
        let written = self.fields(&mut archive);
        debug_assert_eq!(written, Ok(()));
        archive.into_bytes()
    }

    /// Takes a saved state up in a run at its beginning that was made of the same things; on an error it must not be
    /// used any more.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::pipelined::{Config, Place, Setup, Simulation},
    ///     fabric::Shape,
    ///     routing::{ChannelRule, Datelines, RoutingFunction},
    ///     traffic::{OpenLoad, Pattern, Workload},
    /// };
    /// let shape = Shape::mesh(&[4, 4])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.3, 5, 500, 1)?);
    /// let rule = ChannelRule::new(1, Datelines::BOTH);
    /// let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
    /// let setup = Setup { latency: 1, seed: 1, ..Setup::default() };
    /// let begin = || Simulation::new(&Config::default(), &place, &load, &setup);
    /// let (mut first, mut second) = (begin()?, begin()?);
    /// first.run(Some(200), None, &false.into());
    /// second.restore(first.save())?;
    /// first.run(None, None, &false.into());
    /// second.run(None, None, &false.into());
    /// assert_eq!((first.totals(), first.links()), (second.totals(), second.links()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The bytes are not those of such a run.
    pub fn restore(&mut self, bytes: Vec<u8>) -> Result<(), SaveError> {
        let mut archive = Archive::reading(bytes);
        self.fields(&mut archive)?;
        archive.end()
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        // In how many parts it goes on is no part of the state.
        let Self { run, is_finished, next_look, parts: _ } = self;
        run.fields(archive)?;
        archive.flag("finished", is_finished)?;
        archive.number("next look", next_look)
    }

    /// Leaves out cycles in which nothing is under way; false if something is.
    fn skip(&mut self, stop: u64) -> bool {
        if self.run.terminals.in_flight() > 0
            || !self.run.is_empty()
            || self.run.terminals.replies.iter().any(|all| !all.is_empty())
        {
            return false;
        }
        match self.run.source.next_start() {
            None => self.is_finished = true,
            // Which cycles have a step more depends on how many there were.
            Some(_) if self.run.terminals.rules.internal_speedup.fract() != 0.0 => return false,
            Some(start) if start > u64::from(self.run.terminals.now) => {
                self.run.terminals.now = start.min(stop) as u32
            }
            Some(_) => return false,
        }
        true
    }

    /// The cycle that comes next.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.run.terminals.now.into()
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
        let feed = &self.run.source;
        let links = self.run.subnets[0].shared.records.links.iter().flat_map(|links| links.flits.iter());
        let all: u64 = links.sum();
        let delivered: u64 = self.run.terminals.facts.iter().map(|facts| facts.flit.count).sum();
        Outcome {
            cycles: self.run.terminals.now.into(),
            packets_injected: feed.injected,
            flit_hops: all.saturating_sub(delivered),
            makespan: self.makespan().ok().flatten(),
            ..feed.totals.clone()
        }
    }

    /// The cycle in which the last operation of a message graph was complete, once everything is delivered.
    fn makespan(&self) -> Result<Option<u64>, GraphError> {
        if self.is_finished { self.run.source.makespan() } else { Ok(None) }
    }

    /// What was measured of packets, and then of replies if there are any, since the beginning.
    #[must_use]
    pub fn facts(&self) -> &[ClassFacts] {
        &self.run.terminals.facts
    }

    /// First and last cycle and flits of every output port of all routers.
    #[must_use]
    pub fn links(&self) -> Option<&LinkOccupation> {
        self.run.subnets[0].shared.records.links.as_ref()
    }

    /// What every output port of all routers carried in every cycle, if that is kept. A port is blocked while the
    /// queue behind it is full for which a flit waits.
    #[must_use]
    pub fn link_time(&self) -> Option<&LinkTime> {
        self.run.subnets[0].shared.records.link_time.as_ref()
    }

    /// What is known of every delivered packet, replies among them, if that is kept. Flits are ejected in the cycle in
    /// which they leave their last router, and reach their node two cycles later.
    #[must_use]
    pub fn packets(&self) -> Option<Vec<PacketRecord>> {
        self.run.subnets[0].shared.records.watch.as_ref()?.0.clone().map(PacketRecords::into_sorted)
    }

    /// All that moved, if that is kept: links are output ports of all routers. A packet is injected when its header
    /// leaves its source, and ejected when it leaves its last router.
    #[must_use]
    pub fn film(&self) -> Option<&Film> {
        self.run.subnets[0].shared.records.watch.as_ref()?.1.as_ref()
    }

    /// Flits in the queue of a channel behind an input port of a router.
    #[must_use]
    pub fn queued(&self, router: u32, port: usize, channel: usize) -> usize {
        self.run.subnets[0].routers.queued(router as usize, port, channel, &self.run.terminals.rules)
    }

    /// Number of the first output port of a router among all.
    #[must_use]
    pub fn first_output(&self, router: u32) -> usize {
        self.run.terminals.rules.wiring.output(router, 0)
    }

    /// What happened in windows, if they are kept.
    pub fn windows(&mut self) -> Option<&mut Windows> {
        // Nothing more will happen in the last window of a finished run.
        let rest = if self.is_finished { self.run.source.window_cycles()? - 1 } else { 0 };
        let Run { source, terminals, .. } = &mut self.run;
        let Terminals { now, waiting, replies, packets, classes, .. } = terminals;
        let first = |node: usize| {
            let sent = waiting[node * *classes + 1];
            let waits = (sent.size > 0 && sent.next == 0).then(|| packets[sent.packet].created);
            waits.or_else(|| replies[node].front().map(|reply| reply.time))
        };
        source.close(u64::from(*now) + rest);
        source.windows(first)
    }

    /// In how many parts the routers are run, as long as that is worth it.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The form of its routers: `planes`, `sets` or `lists`. It decides how fast they are, and nothing else.
    #[must_use]
    pub fn form(&self) -> &'static str {
        self.run.subnets[0].routers.form()
    }

    /// Channels of a link, cut into the classes or lanes that the network needs.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.run.terminals.rules.channels
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sets::Sets, *};
    use crate::{
        booksim::Options,
        drawn::drawn,
        routing::Datelines,
        traffic::{OpenLoad, Packet, PacketList, Pattern},
    };
    use proptest::{prelude::*, sample::select};
    use std::cell::Cell;

    const OPTIONS: &[(&str, &[&str])] = &[
        (
            "vc_allocator",
            &["islip", "islip(2)", "separable_input_first", "wavefront", "separable_output_first"],
        ),
        ("sw_allocator", &["islip", "separable_input_first", "wavefront"]),
        ("vc_buf_size", &["1", "2", "4", "8"]),
        ("buffer_policy", &["private", "private", "shared", "dynamic"]),
        ("routing_delay", &["0", "1", "2"]),
        ("credit_delay", &["0", "1", "3"]),
        ("input_speedup", &["1", "1", "2"]),
        ("speculative", &["0", "0", "1"]),
        ("wait_for_tail_credit", &["0", "1"]),
        ("vc_busy_when_full", &["0", "1"]),
        ("priority", &["none", "none", "age", "local_age"]),
    ];

    /// Everything that can be asked of a run, once it has run on to a cycle or to its end.
    fn look(run: &mut Simulation, stop: Option<u64>) -> String {
        let ports = run.run.terminals.rules.wiring.inputs(0).len();
        let ended = run.run(stop, Some(100_000), &false.into());
        let queued: Vec<_> = (0..ports)
            .flat_map(|port| (0..run.channels()).map(move |channel| (port, channel)))
            .map(|(port, channel)| run.queued(0, port, channel))
            .collect();
        let windows = run.windows().map(|windows| format!("{:?}", windows.closed()));
        let (now, totals, facts, links) = (run.now(), run.totals(), run.facts(), run.links());
        format!("{ended:?} {now} {totals:?} {facts:?} {links:?} {windows:?} {queued:?}\n")
    }

    /// The same after some cycles and at its end.
    fn run(config: &Config, place: &Place<'_>, workload: &Workload, setup: &Setup) -> Option<String> {
        let mut run = Simulation::new(config, place, workload, setup).ok()?;
        Some([Some(23), Some(61), None].map(|stop| look(&mut run, stop)).concat())
    }

    /// A run at its beginning with routers that are sets.
    fn in_sets(begun: &Simulation) -> Simulation {
        let mut other = begun.clone();
        let rules = &begun.run.terminals.rules;
        let sets = Sets::make(rules, Wanted { single_flits: false, links: true }).unwrap();
        other.run.subnets = vec![Subnet::of(rules, sets)];
        other.run.subnets[0].count_links(rules);
        other
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        let made = [
            Shape::torus(&[4, 4]),
            Shape::torus(&[5]),
            Shape::torus(&[3, 2, 4]),
            Shape::mesh(&[4, 3]),
            Shape::mesh(&[2, 3, 2]),
        ];
        select(made.into_iter().flatten().collect::<Vec<_>>())
    }

    fn workloads(shape: &Shape, seed: u64, length: u32, kind: u8) -> Workload {
        let random = Pattern::Random.destinations(shape, seed).unwrap();
        if kind > 0 {
            let load = OpenLoad::new(random, f64::from(kind) * 0.15, length, 120, seed).unwrap();
            return Workload::Load(if kind > 3 { load.closed(kind.into()).unwrap() } else { load });
        }
        // All at once to a node half the network away, which is what fills rings.
        let nodes = shape.nodes() as u32;
        let packet = |node| Packet { destination: (node + nodes / 2) % nodes, length, start: 0, slice: 0 };
        let all = (0..nodes).map(|node| vec![packet(node), Packet { start: 1, ..packet(node) }]);
        Workload::Packets(PacketList::from_nodes(all).unwrap())
    }

    #[test]
    fn sets_do_what_lists_do_in_networks_of_our_own() {
        let (all, ran, sets) = (drawn(300), Cell::new(0), Cell::new(0));
        let options: Vec<_> = OPTIONS
            .iter()
            .map(|&(name, values)| select(values.to_vec()).prop_map(move |value| (name, value)))
            .collect();
        // One class on a ring lets packets wait for each other.
        let functions = select(vec![
            (RoutingFunction::DimensionOrder, 1, "1"),
            (RoutingFunction::DimensionOrder, 4, "4"),
            (RoutingFunction::O1Turn, 8, "8"),
            (RoutingFunction::Valiant, 8, "13"),
        ]);
        let rest = (1u64..1000, 1u32..12, 0u8..6, 1u32..4, select(vec![None, Some(40)]));
        let replies = select(vec![None, None, Some((2, None)), Some((5, Some(1)))]);
        let case = (shapes(), functions, options, rest, replies);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(all));
        let outcome = runner.run(&case, |(shape, (function, classes, channels), chosen, rest, replies)| {
            let (seed, length, kind, latency, windows) = rest;
            let mut options = Options::default();
            for (name, value) in chosen.into_iter().chain([("num_vcs", channels)]) {
                prop_assert!(options.set(name, value));
            }
            if replies.is_some() {
                for (name, value) in [("classes", "2"), ("use_read_write", "1")] {
                    prop_assert!(options.set(name, value));
                }
            }
            let place = Place::Grid(&shape, function, ChannelRule::new(classes, Datelines::BOTH));
            let workload = workloads(&shape, seed, length, kind);
            let replies = replies.map(|(length, places)| Replies { length, places });
            let setup = Setup { latency, seed, windows, replies, ..Setup::default() };
            let lists = Setup { link_time: true, ..setup };
            let Ok(config) = options.config() else { return Ok(()) };
            let Some(ours) = run(&config, &place, &workload, &setup) else { return Ok(()) };
            let made = Simulation::new(&config, &place, &workload, &setup);
            let is_sets = made.is_ok_and(|run| run.form() == "sets");
            sets.set(sets.get() + u32::from(is_sets));
            ran.set(ran.get() + 1);
            prop_assert_eq!(Some(ours), run(&config, &place, &workload, &lists));
            Ok(())
        });
        assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
        assert!(sets.get() * 3 > ran.get() && ran.get() * 6 > all, "{ran:?} {sets:?}");
    }

    /// What routers that are planes can do.
    const OF_PLANES: &[(&str, &[&str])] = &[
        ("vc_allocator", &["islip", "separable_input_first", "separable_output_first"]),
        ("sw_allocator", &["islip", "islip(2)", "separable_input_first", "separable_output_first"]),
        ("vc_buf_size", &["1", "2", "4", "8", "15", "16", "20", "100"]),
        ("routing_delay", &["0", "1"]),
        ("credit_delay", &["0", "1", "3"]),
        ("wait_for_tail_credit", &["0", "1"]),
        ("vc_busy_when_full", &["0", "1"]),
        ("num_vcs", &["2", "4", "8"]),
        ("input_speedup", &["1", "1", "2"]),
    ];

    fn meshes() -> impl Strategy<Value = Shape> {
        let made = [&[4, 3][..], &[70], &[9, 8], &[2, 40], &[24, 23]].map(Shape::mesh);
        select(made.into_iter().flatten().collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(drawn(60)))]
        #[test]
        fn planes_do_what_sets_do_in_meshes_of_our_own(
            shape in meshes(),
            chosen in OF_PLANES
                .iter()
                .map(|&(name, values)| select(values.to_vec()).prop_map(move |value| (name, value)))
                .collect::<Vec<_>>(),
            (seed, length, kind) in (1u64..1000, 1u32..12, 0u8..6),
            (windows, reply) in (select(vec![None, Some(40)]), select(vec![None, None, Some(2)])),
            (first, more) in (1u64..60, 1u64..60),
        ) {
            let mut options = Options::default();
            let answered = [("classes", "2"), ("use_read_write", "1"), ("num_vcs", "16")];
            let classes = answered.into_iter().filter(|_| reply.is_some());
            for (name, value) in chosen.into_iter().chain(classes) {
                prop_assert!(options.set(name, value));
            }
            let rule = ChannelRule::new(1, Datelines::BOTH);
            let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
            let workload = workloads(&shape, seed, length, kind);
            let replies = reply.map(|length| Replies { length, places: None });
            let setup = Setup { latency: 1, seed, windows, replies, ..Setup::default() };
            let config = options.config().map_err(|error| TestCaseError::fail(error.text))?;
            let begin = || Simulation::new(&config, &place, &workload, &setup).unwrap();
            let mut planes = begin();
            prop_assert_eq!(planes.form(), "planes");
            let (mut sets, mut restored) = (in_sets(&planes), begin());
            for stop in [Some(first), Some(first + more), Some(first + more + 7), None] {
                let expected = look(&mut sets, stop);
                prop_assert_eq!(&look(&mut planes, stop), &expected);
                prop_assert_eq!(look(&mut restored, stop), expected);
                let bytes = sets.save();
                prop_assert!(planes.save() == bytes);
                prop_assert!(restored.save() == bytes);
                restored = begin();
                prop_assert_eq!(restored.restore(bytes), Ok(()));
                prop_assert_eq!(restored.form(), "planes");
            }
        }
    }

    #[test]
    fn sets_and_lists_name_the_same_deadlock() {
        let ring = Shape::torus(&[7]).unwrap();
        // Each sends three hops ahead at once, in one class, so that every one waits for the next.
        let place = Place::Grid(&ring, RoutingFunction::DimensionOrder, ChannelRule::new(1, Datelines::BOTH));
        let packet = |node: u32| Packet { destination: (node + 3) % 7, length: 30, start: 0, slice: 0 };
        let all = PacketList::from_nodes((0..7u32).map(|node| vec![packet(node)])).unwrap();
        let workload = Workload::Packets(all);
        let rest = [
            "routing_delay=1",
            "routing_delay=0",
            "wait_for_tail_credit=1",
            "vc_busy_when_full=1",
            "buffer_policy=shared",
            "speculative=1",
        ];
        for rest in rest {
            let mut options = Options::default();
            for word in ["num_vcs=1", "vc_buf_size=4", rest] {
                let (name, value) = word.split_once('=').unwrap_or_default();
                assert!(options.set(name, value));
            }
            let config = options.config().unwrap();
            let setup = Setup { latency: 1, seed: 1, ..Setup::default() };
            let stop = |setup: Setup| {
                let mut run = Simulation::new(&config, &place, &workload, &setup).unwrap();
                (run.form(), run.run(None, None, &false.into()), run.now())
            };
            let (form, ours, when) = stop(setup);
            let (other, theirs, then) = stop(Setup { link_time: true, ..setup });
            assert!(form != "lists" && other == "lists", "{rest}");
            assert!(matches!(&ours, Stop::Deadlock(circle) if circle.len() == 7), "{rest} {ours:?}");
            assert_eq!((ours, when), (theirs, then), "{rest}");
        }
    }
}
