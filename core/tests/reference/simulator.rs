//! The state of the network and its cycle.

mod congestion;
mod registers;
mod routing;
mod selection;

use super::rules::{self, Port};
use super::{
    Crossing, End, Event, Hold, Lines, PacketRecord, Route, Routing, Rules, Run, Stuck, Throttle, Totals,
    What,
};
use flitloom_core::engine::{Network, fingerprint};
use flitloom_core::fabric::{NodeId, Shape};
use flitloom_core::router::RouterConfig;
use flitloom_core::traffic::{Packet, Purpose, draw};
use std::{collections::VecDeque, rc::Rc};

/// One flit, with all that is known about its packet.
#[derive(Clone, Debug)]
struct Flit {
    source: NodeId,
    number: u64,
    destination: NodeId,
    length: u32,
    start: u64,
    /// When it comes to its P queue: not before any packet that its node sends before it.
    available: u64,
    index: u32,
    hops: u32,
    route: Option<Rc<Route>>,
    /// By dimension, or step of it: whether it has crossed the link between the ends of the ring.
    crossed: Vec<bool>,
    /// When it came to the front of its P queue.
    at_front: Option<u64>,
    /// What was drawn for its packet's way.
    drawn: u64,
    /// Datelines crossed (since it was at the node in between, if it goes by one).
    lines: usize,
    /// It has been at the node in between, or does not go by one.
    straight: bool,
}

impl Flit {
    fn is_header(&self) -> bool {
        self.index == 0
    }

    fn is_tail(&self) -> bool {
        self.index + 1 == self.length
    }
}

/// An input queue, with the flits on the link towards it.
#[derive(Clone, Debug, Default)]
struct Queue {
    flits: VecDeque<Flit>,
    in_flight: VecDeque<(u64, Flit)>,
    owns_an_output: bool,
}

/// An output channel: the input queue (port, channel) that owns it, and its list of input ports.
#[derive(Clone, Debug, Default)]
struct Output {
    owner: Option<(Port, usize)>,
    list: Vec<Port>,
    /// The owner's header has left.
    under_way: bool,
    /// With output registers: the flit in it.
    register: Option<Flit>,
    /// With output registers: the tail has left the owner's queue.
    tail_taken: bool,
}

#[derive(Clone, Debug)]
struct Router {
    /// By input port and channel.
    queues: Vec<Vec<Queue>>,
    /// By output port and channel.
    outputs: Vec<Vec<Output>>,
    /// By output port.
    channel_used_last: Vec<usize>,
    /// By P queue: flits that have not entered it yet.
    waiting: Vec<VecDeque<Flit>>,
    /// Tails ejected here.
    received: u64,
}

/// A flit chosen to move: from an input queue to an output channel of the same router.
struct Send {
    node: NodeId,
    from: (Port, usize),
    to: (Port, usize),
}

/// A link, looked up once.
#[derive(Clone, Copy, Debug)]
struct Link {
    to: NodeId,
    dateline: bool,
    wraps_around: bool,
}

struct Simulator<'a> {
    shape: &'a Shape,
    config: &'a RouterConfig,
    rules: &'a Rules,
    channels: usize,
    /// The processor port, also the number of link ports.
    p: Port,
    longest_packet: usize,
    routers: Vec<Router>,
    cycle: u64,
    run: Run,
    /// By node: when the header of the packet with this number left, and when it arrived.
    injected: Vec<Vec<u64>>,
    heads: Vec<Vec<u64>>,
    knowledge: congestion::Knowledge,
    /// By link port: its dimension, the distance it spans, and whether it looks up.
    sides: Vec<(usize, u32, bool)>,
    /// Per port, whether its links close rings.
    closing: Vec<bool>,
    /// By node and link port: what the rules say of the link.
    links: Vec<Vec<Option<Link>>>,
    /// By node and destination: the port that dimension order takes.
    ways: Vec<Vec<Port>>,
    hold: Option<&'a mut dyn Hold>,
}

/// Simulates until everything is delivered or nothing can move again. `packets` holds the packets of
/// every node in the order in which it sends them.
pub fn simulate(network: &Network, packets: &[Vec<Packet>], rules: &Rules) -> Run {
    simulate_with_routes(network, packets, None, rules)
}

/// As [`simulate`], with a given route for every packet.
pub fn simulate_with_routes(
    network: &Network,
    packets: &[Vec<Packet>],
    routes: Option<&[Vec<Route>]>,
    rules: &Rules,
) -> Run {
    run(Simulator::new(network, packets, routes, rules))
}

/// As [`simulate`], with a throttle from elsewhere.
pub fn simulate_held(network: &Network, packets: &[Vec<Packet>], rules: &Rules, hold: &mut dyn Hold) -> Run {
    let mut simulator = Simulator::new(network, packets, None, rules);
    simulator.hold = Some(hold);
    run(simulator)
}

fn run(mut simulator: Simulator) -> Run {
    loop {
        if simulator.is_empty() {
            simulator.run.end = End::Delivered;
            break;
        }
        if !simulator.step() {
            simulator.run.end = simulator.standstill();
            break;
        }
        simulator.cycle += 1;
    }
    simulator.run.events.sort();
    simulator.run.stuck = simulator.stuck();
    simulator.run
}

fn links(shape: &Shape) -> Vec<Vec<Option<Link>>> {
    let closing = rules::closing(shape);
    let link = |node: NodeId, port: Port| {
        rules::neighbour(shape, node, port).map(|to| Link {
            to,
            dateline: closing[port] && rules::dateline(shape, node, port),
            wraps_around: closing[port] && rules::wraps_around(shape, node, port),
        })
    };
    let of = |node| (0..rules::sides(shape).len()).map(|port| link(node, port)).collect();
    (0..shape.nodes() as NodeId).map(of).collect()
}

fn ways(shape: &Shape, rules: &Rules) -> Vec<Vec<Port>> {
    let nodes = 0..shape.nodes() as NodeId;
    let of = |here| nodes.clone().map(|to| rules::route(shape, here, to, rules)).collect();
    nodes.clone().map(of).collect()
}

impl<'a> Simulator<'a> {
    fn new(
        network: &'a Network,
        packets: &[Vec<Packet>],
        routes: Option<&[Vec<Route>]>,
        rules: &'a Rules,
    ) -> Self {
        let (shape, config) = (network.fabric().shape(), network.router());
        let channels = config.channels as usize;
        let p = rules::sides(shape).len();
        let flits_of = |(node, packets): (usize, &Vec<Packet>)| {
            let mut waiting = vec![VecDeque::new(); if rules.p_queue_per_direction { p } else { 1 }];
            let mut available = 0;
            for (packet, number) in packets.iter().zip(0..) {
                let &Packet { destination, length, start, .. } = packet;
                let source = node as NodeId;
                available = start.max(available);
                let route = routes.map(|routes| Rc::new(routes[node][number as usize].clone()));
                let first_hop = match &route {
                    None => rules::route(shape, source, destination, rules),
                    Some(route) => route.ports.first().copied().unwrap_or(p),
                };
                let queue = if rules.p_queue_per_direction { first_hop % p } else { 0 };
                waiting[queue].extend((0..length).map(|index| Flit {
                    source,
                    number,
                    destination,
                    length,
                    start,
                    available,
                    index,
                    hops: 0,
                    route: route.clone(),
                    crossed: vec![false; p / 2],
                    at_front: None,
                    drawn: draw(rules.seed, source, Purpose::Route, number),
                    lines: 0,
                    straight: false,
                }));
            }
            waiting
        };
        let routers = packets.iter().enumerate().map(flits_of).map(|waiting| Router {
            queues: (0..=p)
                .map(|port| vec![Queue::default(); if port == p { channels.max(p) } else { channels }])
                .collect(),
            outputs: vec![vec![Output::default(); channels]; p + 1],
            channel_used_last: Vec::new(),
            waiting,
            received: 0,
        });
        let routers = routers.collect();
        let run = Run {
            end: End::Delivered,
            totals: Totals::default(),
            events: Vec::new(),
            packets: Vec::new(),
            injections: Vec::new(),
            stuck: Vec::new(),
        };
        let longest_packet = packets.iter().flatten().map(|packet| packet.length as usize).max().unwrap_or(0);
        let injected: Vec<_> = packets.iter().map(|packets| vec![0; packets.len()]).collect();
        let heads = injected.clone();
        let mut simulator = Self {
            shape,
            config,
            rules,
            channels,
            p,
            longest_packet,
            routers,
            cycle: 0,
            run,
            injected,
            heads,
            knowledge: congestion::Knowledge::default(),
            sides: rules::sides(shape),
            closing: rules::closing(shape),
            links: links(shape),
            ways: ways(shape, rules),
            hold: None,
        };
        simulator.knowledge = simulator.knowledge();
        for node in simulator.nodes() {
            simulator.initialise(node);
        }
        simulator
    }

    /// Sets the lists of a router and the channels its ports used last to what they are at first.
    fn initialise(&mut self, node: NodeId) {
        let ports = self.p + 1;
        let given = &self.config.arbitration.port_lists;
        let router = &mut self.routers[node as usize];
        router.channel_used_last = vec![0; ports];
        for port in 0..ports {
            for channel in 0..self.channels {
                let first = ((node as usize * ports + port) * self.channels + channel) * ports;
                let mut list = if given.is_empty() {
                    rules::first_list(self.shape, self.rules.north_is_minus)
                } else {
                    given[first..first + ports].iter().map(|&port| port as Port).collect()
                };
                if !self.rules.lists_from_front {
                    list.reverse();
                }
                router.outputs[port][channel].list = list;
            }
        }
    }

    /// The node behind a port, if there is a link.
    fn neighbour(&self, node: NodeId, port: Port) -> Option<NodeId> {
        self.links[node as usize][port].map(|link| link.to)
    }

    fn dateline(&self, node: NodeId, port: Port) -> bool {
        self.links[node as usize][port].is_some_and(|link| link.dateline)
    }

    fn wraps_around(&self, node: NodeId, port: Port) -> bool {
        self.links[node as usize][port].is_some_and(|link| link.wraps_around)
    }

    fn nodes(&self) -> std::ops::Range<NodeId> {
        0..self.routers.len() as NodeId
    }

    fn is_empty(&self) -> bool {
        self.routers.iter().all(|router| {
            let mut queues = router.queues.iter().flatten();
            router.waiting.iter().all(VecDeque::is_empty)
                && router.outputs.iter().flatten().all(|output| output.register.is_none())
                && queues.all(|queue| queue.flits.is_empty() && queue.in_flight.is_empty())
        })
    }

    /// One cycle. Returns whether anything moved, was granted, is in flight or is still to come.
    fn step(&mut self) -> bool {
        match self.rules.crossing {
            Crossing::Direct => self.step_directly(),
            Crossing::Registered => self.step_with_registers(),
        }
    }

    fn step_directly(&mut self) -> bool {
        self.arrivals();
        self.top_up();
        self.observe();
        let granted = self.select_queues();
        let sends = self.select_channels();
        let moved = !sends.is_empty();
        let received_before: Vec<u64> = self.routers.iter().map(|router| router.received).collect();
        for send in sends {
            self.move_flit(&send);
        }
        for node in self.nodes() {
            let received = self.routers[node as usize].received != received_before[node as usize];
            if self.rules.slices.reinitialise && received {
                self.initialise(node);
            }
        }
        moved || granted || self.in_flight() || self.to_come() || self.throttled()
    }

    /// Why nothing moves and nothing ever will.
    fn standstill(&self) -> End {
        if self
            .routers
            .iter()
            .any(|router| router.queues.iter().flatten().any(|queue| !queue.flits.is_empty()))
        {
            return End::Deadlock { cycle: self.cycle };
        }
        let mut waiting = self
            .nodes()
            .filter(|&node| self.routers[node as usize].waiting.iter().any(|waiting| !waiting.is_empty()));
        let first = waiting.next().unwrap();
        End::Interlocked { first, count: 1 + waiting.count() }
    }

    fn in_flight(&self) -> bool {
        self.routers.iter().any(|router| {
            let mut queues = router.queues.iter().flatten();
            queues.any(|queue| !queue.in_flight.is_empty())
        })
    }

    /// Whether a P queue with space waits for the start of a packet.
    fn to_come(&self) -> bool {
        self.routers.iter().any(|router| {
            router.waiting.iter().zip(&router.queues[self.p]).any(|(waiting, queue)| {
                let space = queue.flits.len() < self.config.buffer as usize;
                space && waiting.front().is_some_and(|flit| flit.available > self.cycle)
            })
        })
    }

    /// Whether a header may be held now and let go later, although nothing moves.
    fn throttled(&self) -> bool {
        let fronts = |node: NodeId| {
            let queues = &self.routers[node as usize].queues[self.p];
            queues.iter().filter_map(|queue| queue.flits.front()).any(|flit| flit.is_header())
        };
        (self.hold.is_some() || self.rules.throttle != Throttle::None) && self.nodes().any(fronts)
    }

    fn arrivals(&mut self) {
        for queue in self.routers.iter_mut().flat_map(|router| router.queues.iter_mut().flatten()) {
            while queue.in_flight.front().is_some_and(|&(arrival, _)| arrival == self.cycle) {
                let (_, flit) = queue.in_flight.pop_front().unwrap();
                queue.flits.push_back(flit);
            }
        }
    }

    fn top_up(&mut self) {
        for (node, router) in self.routers.iter_mut().enumerate() {
            for (waiting, queue) in router.waiting.iter_mut().zip(&mut router.queues[self.p]) {
                let queue = &mut queue.flits;
                while queue.len() < self.config.buffer as usize
                    && waiting.front().is_some_and(|flit| {
                        let locked = self.rules.slices.interlock
                            && router.received < flit.number
                            && flit.destination as usize != node;
                        flit.available <= self.cycle && !locked
                    })
                {
                    queue.extend(waiting.pop_front());
                }
                if let Some(flit) = queue.front_mut() {
                    flit.at_front.get_or_insert(self.cycle);
                }
            }
        }
    }

    fn stuck(&self) -> Vec<Stuck> {
        let mut stuck = Vec::new();
        for node in self.nodes() {
            let router = &self.routers[node as usize];
            for (port, queues) in router.queues.iter().enumerate() {
                for (channel, queue) in queues.iter().enumerate() {
                    if let Some(front) = queue.flits.front() {
                        let wants = self.needs(node, (port, channel), front);
                        let owner = router.outputs[wants.0][wants.1].owner;
                        let flits = queue.flits.len() as u64;
                        stuck.push(Stuck { node, queue: (port, channel), wants, owner, flits });
                    }
                }
            }
        }
        stuck
    }

    fn move_flit(&mut self, send: &Send) {
        let &Send { node, from, to } = send;
        let router = &mut self.routers[node as usize];
        let queue = &mut router.queues[from.0][from.1];
        let mut flit = queue.flits.pop_front().unwrap();
        router.outputs[to.0][to.1].under_way = !flit.is_tail();
        if flit.is_tail() {
            queue.owns_an_output = false;
            router.outputs[to.0][to.1].owner = None;
        }
        if from.0 == self.p && flit.is_header() {
            self.injected[flit.source as usize][flit.number as usize] = self.cycle;
            self.run.totals.packets_injected += 1;
            self.run.injections.push(self.cycle);
            self.note_in_flight(1);
        }
        if to.0 == self.p {
            self.eject(node, &flit);
        } else {
            let Flit { source, number, index, .. } = flit;
            let (link, channel) = (node * self.p as u32 + to.0 as u32, to.1 as u8);
            let what = What::Crosses { link, channel, source, number, index };
            self.run.events.push(Event { cycle: self.cycle, what });
            self.run.totals.flit_hops += 1;
            if self.wraps_around(node, to.0) {
                flit.crossed[to.0 / 2] = true;
            }
            self.note_way(&mut flit, node, to);
            flit.hops += 1;
            let neighbour = self.neighbour(node, to.0).unwrap();
            let downstream = &mut self.routers[neighbour as usize].queues[rules::facing(to.0)][to.1];
            downstream.in_flight.push_back((self.cycle + u64::from(self.config.latency), flit));
        }
    }

    fn eject(&mut self, node: NodeId, flit: &Flit) {
        let &Flit { source, number, destination, length, start, index, hops, .. } = flit;
        let cycle = self.cycle;
        self.run.events.push(Event { cycle, what: What::Ejected { node, source, number, index } });
        let totals = &mut self.run.totals;
        totals.flits_delivered += 1;
        totals.cycles = cycle + 1;
        totals.duration = cycle + 2;
        if flit.is_header() {
            self.heads[source as usize][number as usize] = cycle;
        }
        if flit.is_tail() {
            totals.packets_delivered += 1;
            self.routers[node as usize].received += 1;
            totals.latency_sum += cycle - start;
            totals.lateness += u128::from(cycle).pow(4);
            totals.fingerprint = totals.fingerprint.wrapping_add(fingerprint(cycle, node));
            let injected = self.injected[source as usize][number as usize];
            let head = self.heads[source as usize][number as usize];
            let record = PacketRecord {
                source,
                number,
                destination,
                length,
                start,
                injected,
                head,
                tail: cycle,
                hops,
            };
            self.run.packets.push(record);
            self.note_in_flight(-1);
        }
    }
}
