//! Pipelined routers with flitloom's own networks, packets and numbers, as the one loop over cycles knows them.

use super::{
    breach::Breach,
    config::{Config, Replies},
    config_error::ConfigError,
    division::Division,
    feed::Feed,
    flit::Packets,
    measures::ClassFacts,
    networks::{Grid, Switched},
    routers::Wanted,
    rules::Rules,
    run::Run,
    subnet::Subnet,
    terminals::Terminals,
};
use crate::{
    engine::{
        Options, Outcome, Rank, Setup, SimulationError,
        protocol::{Clock, Cycles, Engine, Quiescence},
    },
    fabric::{Graph, Shape},
    fault::Fault,
    probe::{Events, LinkOccupation, Probe, Windows},
    routing::{ChannelRule, RoutingFunction},
    save::{Archive, SaveError},
    traffic::{PacketSource, Workload, WorkloadError},
};
use std::any::Any;

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
    /// What a file of BookSim2 describes, with its routing function.
    Described(&'a Rules),
}

/// Pipelined routers in motion, and what is known of them beside what every [`Simulation`](crate::engine::Simulation)
/// knows.
#[derive(Debug)]
pub struct Pipeline {
    run: Run<Feed>,
    division: Division,
}

impl Pipeline {
    /// Routers at the beginning of a run, of a workload whose nodes are those of the network, and a probe of so many
    /// output ports that listens to them.
    pub(in crate::engine) fn new<P: Probe>(
        config: &Config,
        place: &Place<'_>,
        workload: &Workload,
        setup: &Setup<'_>,
        rank: Option<Rank>,
        probe: impl FnOnce(usize) -> P,
    ) -> Result<(Self, P), SimulationError> {
        let rules = Self::rules(config, place, workload, setup.options.seed)?;
        let probe = probe(rules.wiring.all_outputs());
        let pipeline = Self::begun(rules, config.replies, workload, setup, rank, probe.wants())?;
        Ok((pipeline, probe))
    }

    /// The rules of routers at a place.
    fn rules(
        config: &Config,
        place: &Place<'_>,
        workload: &Workload,
        seed: u64,
    ) -> Result<Rules, SimulationError> {
        if config.cuts_by_next_port && !matches!(place, Place::Described(_)) {
            let problem = "divides channels as routing functions of BookSim2's networks do";
            return Err(ConfigError::from(Fault::at("noq", problem, "leave it out")).into());
        }
        let (config, latency, replies) = (config.clone(), config.latency, config.replies);
        let mut rules = match *place {
            Place::Described(rules) => Ok(rules.clone()),
            Place::Grid(shape, function, rule) => {
                let (grid, wiring) = Grid::new(shape, function, rule, seed, latency);
                Rules::new(config, grid, wiring)
            }
            Place::Graph(graph, switched) => {
                Rules::new(config, switched.clone(), switched.wiring(graph, latency))
            }
        }?;
        rules.largest = workload.longest().max(replies.map_or(1, |replies| replies.length));
        Ok(rules)
    }

    /// Routers of which something is wanted to be told.
    fn begun(
        rules: Rules,
        replies: Option<Replies>,
        workload: &Workload,
        setup: &Setup<'_>,
        rank: Option<Rank>,
        wants: Events,
    ) -> Result<Self, SimulationError> {
        let seed = setup.options.seed;
        let ends = (rules.wiring.nodes(), rules.channels);
        let feed = Feed::new(workload, ends, setup.windows, replies, seed);
        let single_flits = !feed.exits.is_empty() || Packets::are_many(rules.largest, rules.wiring.nodes());
        let mut subnet = Subnet::new(&rules, Wanted { records: wants.flits, single_flits, links: true });
        subnet.shared.records.wants = wants;
        let mut run = Run::new(rules, vec![subnet], feed);
        let division = Division::new(&mut run, (setup.parts, setup.ports_of_a_part), rank)?;
        Ok(Self { run, division })
    }

    /// Goes on at a cycle before which nothing has happened that is not known; windows that have ended are closed.
    fn set_time(&mut self, cycle: u64) {
        self.run.terminals.now = cycle as u32;
        self.run.source.close(cycle);
    }

    /// What it means that nothing is under way; `None` if something is.
    fn rest(&self) -> Option<Quiescence> {
        let Terminals { rules, now, replies, .. } = &self.run.terminals;
        if self.run.terminals.in_flight() > 0
            || !self.run.is_empty()
            || replies.iter().any(|all| !all.is_empty())
        {
            return None;
        }
        match self.run.source.next_start() {
            None => Some(Quiescence::Finished),
            // Which cycles have a step more depends on how many there were.
            Some(_) if rules.internal_speedup.fract() != 0.0 => None,
            Some(start) => (start > u64::from(*now)).then_some(Quiescence::Until(start)),
        }
    }

    /// Packets that wait for each other, given what is known of why.
    fn blocked(&self, cycle: u64) -> Option<SimulationError> {
        let queues = self.run.find_deadlock()?;
        Some(SimulationError::Blocked { cycle, queues, stuck_flits: self.run.terminals.in_flight() })
    }

    /// What must not happen has.
    fn broken(&mut self, breach: Breach, cycle: u64) -> SimulationError {
        if let Err(lost) = self.join() {
            return lost;
        }
        match breach {
            Breach::Lost => SimulationError::Lost,
            Breach::Deadlock => self.stuck(cycle, &Options::default()),
            Breach::SharedPlace | Breach::PlacePerOwner | Breach::ChannelTwice => SimulationError::Overflow,
        }
    }

    /// What was measured of packets, and then of replies if there are any, since the beginning.
    #[must_use]
    pub fn facts(&self) -> &[ClassFacts] {
        &self.run.terminals.facts
    }

    /// Number of an input port of a router among all.
    #[must_use]
    pub fn input(&self, router: u32, port: usize) -> usize {
        self.run.terminals.rules.wiring.input(router, port)
    }

    /// Number of an output port of a router among all.
    #[must_use]
    pub fn output(&self, router: u32, port: usize) -> usize {
        self.run.terminals.rules.wiring.output(router, port)
    }

    /// The form of its routers: `planes` or `sets`. It decides how fast they are, and nothing else.
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

impl Cycles for Pipeline {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        probe: &mut dyn Probe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        self.set_time(*cycle);
        self.division.begin(&mut self.run, until - *cycle)?;
        let _watch = self.division.watch();
        while *cycle < until {
            self.division.wait(&mut self.run);
            if let Some(rest) = self.rest() {
                return Ok(Some(rest));
            }
            self.division.cycle(&mut self.run);
            self.run.subnets[0].shared.records.show_probe(*cycle, probe);
            *cycle += 1;
            self.run.source.close(*cycle);
            if let Some(breach) = self.run.terminals.breach.take() {
                return Err(self.broken(breach, *cycle));
            }
            if self.stands_still() {
                break;
            }
        }
        Ok(None)
    }

    fn routers(&self) -> usize {
        self.run.routers_as_fast()
    }

    fn delivered(&self) -> u64 {
        self.run.source.totals.packets_delivered
    }

    fn last_cycle(&self) -> u64 {
        (u32::MAX - LOOK_EVERY).into()
    }

    fn check_every(&self) -> u64 {
        LOOK_EVERY.into()
    }

    fn stands_still(&self) -> bool {
        let standstill = self.run.terminals.standstill;
        standstill > 0 && standstill.is_multiple_of(LOOK_STANDING)
    }

    fn pauses(&self, told: bool) -> Result<bool, SimulationError> {
        Ok(self.division.any(told)?)
    }

    fn join(&mut self) -> Result<(), SimulationError> {
        let joined = self.division.join(&mut self.run);
        self.run.subnets[0].settle(&self.run.terminals.rules);
        Ok(joined?)
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        self.blocked(cycle).map_or(Ok(()), Err)
    }

    fn finished(&self, _cycle: u64) -> Result<(), SimulationError> {
        self.run.source.makespan().map(|_| ()).map_err(|error| WorkloadError::from(error).into())
    }

    fn stuck(&self, cycle: u64, _options: &Options) -> SimulationError {
        let stuck_flits = self.run.terminals.in_flight();
        let unknown = SimulationError::Blocked { cycle, queues: Vec::new(), stuck_flits };
        self.blocked(cycle).unwrap_or(unknown)
    }
}

impl Engine for Pipeline {
    fn parts(&self) -> usize {
        self.division.parts()
    }

    /// Of requests where packets are answered. Delays count from the start of a packet to the arrival of its tail, less
    /// the two cycles that [`Outcome`] does not count.
    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        let feed = &self.run.source;
        let links = self.run.subnets[0].shared.records.links.iter();
        let all: u64 = links.flat_map(|links| links.flits.iter()).sum();
        let delivered: u64 = self.facts().iter().map(|facts| facts.flit.count).sum();
        let is_finished = self.rest() == Some(Quiescence::Finished);
        Ok(Outcome {
            cycles: clock.cycle,
            packets_injected: feed.injected,
            flit_hops: all.saturating_sub(delivered),
            makespan: if is_finished { feed.makespan().ok().flatten() } else { None },
            ..feed.totals.clone()
        })
    }

    /// Of every output port of all routers.
    fn links(&self) -> Option<LinkOccupation> {
        self.run.subnets[0].shared.records.links.clone()
    }

    fn windows(&mut self, cycle: u64) -> Option<&mut Windows> {
        let Run { source, terminals, .. } = &mut self.run;
        let Terminals { waiting, replies, packets, classes, .. } = terminals;
        let first = |node: usize| {
            let sent = waiting[node * *classes + 1];
            let waits = (sent.size > 0 && sent.next == 0).then(|| packets[sent.packet].created);
            waits.or_else(|| replies[node].front().map(|reply| reply.time))
        };
        source.close(cycle);
        source.windows(first)
    }

    /// By input port of all routers and channel.
    fn occupancy(&self) -> Vec<u16> {
        let (routers, rules) = (&self.run.subnets[0].routers, &self.run.terminals.rules);
        let ports = (0..rules.wiring.routers())
            .flat_map(|router| (0..rules.wiring.inputs(router as u32).len()).map(move |port| (router, port)));
        let queues =
            ports.flat_map(|(router, port)| (0..rules.channels).map(move |channel| (router, port, channel)));
        queues.map(|(router, port, channel)| routers.queued(router, port, channel, rules) as u16).collect()
    }

    fn itself(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn copy(&self) -> Box<dyn Engine> {
        Box::new(Self { run: self.run.clone(), division: self.division.clone() })
    }

    /// In how many parts it goes on is no part of the state.
    fn fields(&mut self, clock: &mut Clock, archive: &mut Archive) -> Result<(), SaveError> {
        self.set_time(clock.cycle);
        self.run.fields(archive)?;
        archive.flag("finished", &mut clock.finished)?;
        let mut next_check = clock.next_check as u32;
        archive.number("next look", &mut next_check)?;
        clock.next_check = next_check.into();
        clock.cycle = self.run.terminals.now.into();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{lists::Lists, sets::Sets},
        *,
    };
    use crate::{
        booksim,
        drawn::drawn,
        engine::Simulation,
        probe::{Film, NoProbe, PacketRecords},
        routing::Datelines,
        traffic::{OpenLoad, Packet, PacketList, Pattern},
    };
    use proptest::{prelude::*, sample::select};
    use std::cell::Cell;

    const OPTIONS: &[(&str, &[&str])] = &[
        (
            "vc_allocator",
            &["islip", "islip(2)", "separable_input_first", "wavefront", "separable_output_first", "pim"],
        ),
        ("sw_allocator", &["islip", "separable_input_first", "wavefront", "max_size"]),
        ("vc_buf_size", &["1", "2", "4", "8", "150"]),
        ("buffer_policy", &["private", "private", "shared", "dynamic"]),
        ("st_final_delay", &["1", "1", "2"]),
        ("hold_switch_for_packet", &["0", "0", "1"]),
        ("routing_delay", &["0", "1", "2"]),
        ("credit_delay", &["0", "1", "3"]),
        ("input_speedup", &["1", "1", "2"]),
        ("speculative", &["0", "0", "1"]),
        ("wait_for_tail_credit", &["0", "1"]),
        ("vc_busy_when_full", &["0", "1"]),
        ("priority", &["none", "none", "age", "local_age"]),
    ];

    /// Everything that can be asked of a run, once it has run on to a cycle or to its end.
    fn look<P: Probe>(run: &mut Simulation<P>, stop: Option<u64>) -> String {
        let ended = run.run(&Options { stop_at: stop, cycle_limit: Some(100_000), ..Options::default() });
        let (queued, totals, links) = (run.occupancy(), run.totals(), run.links());
        let windows = run.windows().map(|windows| format!("{:?}", windows.closed()));
        let (now, facts) = (run.now(), run.pipeline().map(Pipeline::facts));
        format!("{ended:?} {now} {totals:?} {facts:?} {links:?} {windows:?} {queued:?}\n")
    }

    /// The same after some cycles and at its end.
    fn looks<P: Probe>(run: &mut Simulation<P>) -> String {
        [Some(23), Some(61), None].map(|stop| look(run, stop)).concat()
    }

    /// What is recorded of single flits.
    fn records(run: &Simulation<(PacketRecords, Film)>) -> String {
        let (packets, film) = run.probe().clone();
        format!("{:?} {film:?}", packets.into_sorted())
    }

    /// A run at its beginning with routers that are lists, and the same records.
    fn in_lists<P: Probe + Clone>(begun: &Simulation<P>) -> Simulation<P> {
        let Pipeline { run, division } = begun.pipeline().unwrap();
        let (mut run, division) = (run.clone(), division.clone());
        let lists = Lists::new(&run.terminals.rules);
        run.subnets[0].routers = Box::new(lists);
        Simulation::on(Pipeline { run, division }, begun.workload(), begun.probe().clone())
    }

    /// A run at its beginning with routers that are sets.
    fn in_sets(begun: &Simulation) -> Simulation {
        let Pipeline { run, division } = begun.pipeline().unwrap();
        let (mut run, division) = (run.clone(), division.clone());
        let rules = run.terminals.rules.clone();
        let sets = Sets::make(&rules, Wanted { links: true, ..Wanted::default() });
        run.subnets = vec![Subnet::of(&rules, sets)];
        run.subnets[0].count_links(&rules);
        Simulation::on(Pipeline { run, division }, begun.workload(), NoProbe)
    }

    /// The form of the routers of a run.
    fn form(run: &Simulation) -> &'static str {
        run.pipeline().map_or("", Pipeline::form)
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
    fn routers_do_what_lists_do_in_networks_of_our_own() {
        let (all, ran) = (drawn(300), Cell::new(0));
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
            let mut options = booksim::Options::default();
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
            let setup =
                Setup { windows, options: Options { seed, ..Options::default() }, ..Setup::default() };
            let Ok(config) = options.config() else { return Ok(()) };
            let config = Config { latency, replies, ..config };
            let begin = |setup: &Setup| Simulation::pipelined(&config, &place, &workload, setup);
            let Ok(mut ours) = begin(&setup) else { return Ok(()) };
            // Where single flits are recorded routers work in turn.
            let probe = |links| (PacketRecords::default(), Film::new(links));
            let mut recorded =
                Simulation::pipelined_observed(&config, &place, &workload, &setup, None, probe).unwrap();
            let mut lists = in_lists(&recorded);
            let expected = looks(&mut lists);
            prop_assert_eq!(looks(&mut ours), &expected[..]);
            prop_assert_eq!(looks(&mut recorded), expected);
            prop_assert_eq!(records(&recorded), records(&lists));
            ran.set(ran.get() + 1);
            Ok(())
        });
        assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
        assert!(ran.get() * 6 > all, "{ran:?}");
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
            let mut options = booksim::Options::default();
            let answered = [("classes", "2"), ("use_read_write", "1"), ("num_vcs", "16")];
            let classes = answered.into_iter().filter(|_| reply.is_some());
            for (name, value) in chosen.into_iter().chain(classes) {
                prop_assert!(options.set(name, value));
            }
            let rule = ChannelRule::new(1, Datelines::BOTH);
            let place = Place::Grid(&shape, RoutingFunction::DimensionOrder, rule);
            let workload = workloads(&shape, seed, length, kind);
            let replies = reply.map(|length| Replies { length, places: None });
            let setup = Setup { windows, options: Options { seed, ..Options::default() }, ..Setup::default() };
            let config = options.config().map_err(|error| TestCaseError::fail(error.text))?;
            let config = Config { replies, ..config };
            let begin = || Simulation::pipelined(&config, &place, &workload, &setup).unwrap();
            let mut planes = begin();
            prop_assert_eq!(form(&planes), "planes");
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
                prop_assert_eq!(form(&restored), "planes");
            }
        }
    }

    #[test]
    fn routers_and_lists_name_the_same_deadlock() {
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
            "hold_switch_for_packet=1",
            "st_final_delay=2",
        ];
        for rest in rest {
            let mut options = booksim::Options::default();
            for word in ["num_vcs=1", "vc_buf_size=4", rest] {
                let (name, value) = word.split_once('=').unwrap_or_default();
                assert!(options.set(name, value));
            }
            let config = options.config().unwrap();
            let begun = Simulation::pipelined(&config, &place, &workload, &Setup::default()).unwrap();
            let stop = |mut run: Simulation| (run.run(&Options::default()), run.now());
            let (theirs, then) = stop(in_lists(&begun));
            let (ours, when) = stop(begun);
            let queues = match &ours {
                Err(SimulationError::Blocked { queues, .. }) => queues.len(),
                _ => 0,
            };
            assert_eq!(queues, 7, "{rest} {ours:?}");
            assert_eq!((ours, when), (theirs, then), "{rest}");
        }
    }
}
