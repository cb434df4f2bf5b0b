//! What routers know of traffic ahead, who must wait before injecting, and adaptive routing: bit by
//! bit, as it is written.
//!
//! A **register** of n bits belongs to every link output (direction d, channel v) of a router. Once
//! per cycle, between the top-up and step 2, from the old registers of all routers: a register becomes
//! that of the router the link leads to, one place further, with "the queue behind my link is busy" as
//! bit 0. Busy is a queue with at most so many free places, the margin, at the start of the cycle.
//!
//! A **throttle** keeps headers at the front of a P queue out of step 2 for a cycle.

use super::{
    super::{Lines, Routing, Throttle, View, Waiting, Watch},
    Flit, Port, Simulator, rules,
};
use flitloom_core::fabric::NodeId;

/// Bits of one register, bit 0 first.
type Register = Vec<bool>;

/// By router, direction and channel.
type Registers = Vec<Vec<Vec<Register>>>;

/// What a throttle remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Knowledge {
    /// Of the throttle, by router, direction and channel.
    registers: Registers,
    /// The same of the routing function.
    ahead: Registers,
    /// By router, direction and direction turned into.
    turns: Vec<Vec<Vec<Register>>>,
    /// With shared links: by router and direction, the channel that is looked at first.
    pointers: Vec<Vec<usize>>,
    /// By router: the first cycle in which a packet may begin again.
    next_begin: Vec<u64>,
    /// Packets whose header has left its P queue and whose tail has not been ejected.
    in_flight: i64,
    /// Samples of `in_flight`, one every N cycles.
    samples: Vec<i64>,
    /// Whether a header was held back in this period.
    held_in_period: bool,
    held_in_cycle: bool,
    tuner: Tuner,
}

/// How a threshold for the whole network tunes itself.
#[derive(Clone, Debug, Default)]
struct Tuner {
    /// In hundredths of a packet, so that sums of it are exact.
    threshold: i64,
    ejected_at_last: u64,
    last: Option<u64>,
    best: (u64, i64),
    periods_below_half: u32,
}

impl Simulator<'_> {
    /// The margin, length and kind of the throttle's registers.
    fn watch(&self) -> Option<Watch> {
        match self.rules.throttle {
            Throttle::Spth { watch, .. } | Throttle::Pt { watch, .. } => Some(watch),
            _ => None,
        }
    }

    /// The same of the routing function's.
    fn watch_ahead(&self) -> Option<Watch> {
        // All hops that a packet may have left in a direction.
        let most = |dimension: usize| {
            let size = self.shape.sizes()[dimension];
            if rules::wraps(self.shape, dimension) { size / 2 } else { size - 1 }
        };
        let length = (0..self.shape.dimensions()).map(most).max().unwrap();
        let watch = Watch { margin: 0, length: length as usize, shared: false, following: false };
        (self.rules.routing == Routing::CrossLine).then_some(watch)
    }

    pub(super) fn knowledge(&self) -> Knowledge {
        let nodes = self.routers.len();
        let [length, ahead] =
            [self.watch(), self.watch_ahead()].map(|watch| watch.map_or(0, |watch| watch.length));
        let buffers = (self.p * nodes * self.channels) as i64;
        Knowledge {
            registers: vec![vec![vec![vec![false; length]; self.channels]; self.p]; nodes],
            ahead: vec![vec![vec![vec![false; ahead]; self.channels]; self.p]; nodes],
            turns: vec![vec![vec![vec![false; length]; self.p]; self.p]; nodes],
            pointers: vec![vec![0; self.p]; nodes],
            next_begin: vec![0; nodes],
            tuner: Tuner { threshold: buffers, ..Tuner::default() },
            ..Knowledge::default()
        }
    }

    fn busy(&self, node: NodeId, direction: Port, channel: usize, margin: usize) -> bool {
        self.neighbour(node, direction).is_some()
            && self.depth() - self.occupied(node, direction, channel) <= margin
    }

    fn view<T>(&self, look: impl FnOnce(&View) -> T) -> T {
        let free = |node: NodeId, port: Port, channel: usize| {
            self.neighbour(node, port)?;
            Some(self.depth() - self.occupied(node, port, channel))
        };
        let owned = |node: NodeId, port: Port, channel: usize| {
            self.routers[node as usize].outputs[port][channel].owner.is_some()
        };
        look(&View { free: &free, owned: &owned })
    }

    /// Once per cycle, before step 2.
    pub(super) fn observe(&mut self) {
        if let Some(hold) = self.hold.take() {
            let held = std::mem::take(&mut self.knowledge.held_in_cycle);
            let sums = (self.knowledge.in_flight as u64, self.run.totals.flits_delivered, held);
            self.view(|view| hold.observe(self.cycle, sums, view));
            self.hold = Some(hold);
        }
        if let Some(watch) = self.watch() {
            let registers = self.next_registers(&watch, &self.knowledge.registers.clone());
            if let Throttle::Pt { behind, .. } = self.rules.throttle {
                self.knowledge.turns = self.next_turns(watch.length, behind);
            }
            self.knowledge.registers = registers;
        }
        if let Some(watch) = self.watch_ahead() {
            self.knowledge.ahead = self.next_registers(&watch, &self.knowledge.ahead.clone());
        }
        let period = u64::from(self.shape.sizes()[0]);
        if let Throttle::Global { tune, .. } = self.rules.throttle {
            if self.cycle.is_multiple_of(period) {
                self.knowledge.samples.push(self.knowledge.in_flight);
            }
            if tune && self.cycle > 0 && self.cycle.is_multiple_of(3 * period) {
                self.tune();
            }
        }
    }

    fn next_registers(&mut self, watch: &Watch, old: &Registers) -> Registers {
        let mut next = old.clone();
        for node in self.nodes() {
            for (direction, own) in next[node as usize].iter_mut().enumerate() {
                let wanted: Vec<Register> = (0..self.channels)
                    .map(|channel| self.next_register(node, direction, channel, watch, old))
                    .collect();
                if !watch.shared {
                    *own = wanted;
                    continue;
                }
                // One update per link and cycle; what the own handshake shows is always known.
                for (register, wanted) in own.iter_mut().zip(&wanted) {
                    register[0] = wanted[0];
                }
                let first = self.knowledge.pointers[node as usize][direction];
                let turn = (0..self.channels).map(|step| (first + step) % self.channels);
                let old = &old[node as usize][direction];
                if let Some(channel) =
                    turn.into_iter().find(|&channel| wanted[channel][1..] != old[channel][1..])
                {
                    own[channel].clone_from(&wanted[channel]);
                    self.knowledge.pointers[node as usize][direction] = (channel + 1) % self.channels;
                }
            }
        }
        next
    }

    fn next_register(
        &self,
        node: NodeId,
        direction: Port,
        channel: usize,
        watch: &Watch,
        old: &Registers,
    ) -> Register {
        let mut register = vec![self.busy(node, direction, channel, watch.margin)];
        if let Some(other) = self.neighbour(node, direction) {
            // What counts for a packet that goes straight on.
            let counts = self.rules.lines != Lines::WrapOnly || self.wraps_around(other, direction);
            let rises = watch.following && counts && self.dateline(other, direction);
            let there = if rises { (channel + 1).min(self.channels - 1) } else { channel };
            register.extend(&old[other as usize][direction][there]);
        }
        register.resize(watch.length, false);
        register
    }

    /// Turn registers: bit 0 says that the next router sees busy queues close behind the turn.
    fn next_turns(&self, length: usize, behind: usize) -> Vec<Vec<Vec<Register>>> {
        let mut next = self.knowledge.turns.clone();
        for node in self.nodes() {
            for (d, e) in (0..self.p).flat_map(|d| (0..self.p).map(move |e| (d, e))) {
                let Some(other) = self.neighbour(node, d) else { continue };
                let there = &self.knowledge.registers[other as usize][e];
                let busy = there.iter().any(|register| register.iter().take(behind).any(|&bit| bit));
                let mut register = vec![busy];
                register.extend(&self.knowledge.turns[other as usize][d][e]);
                register.truncate(length);
                next[node as usize][d][e] = register;
            }
        }
        next
    }

    /// At the end of a period of 3N cycles.
    fn tune(&mut self) {
        let buffers = (self.p * self.routers.len() * self.channels) as i64;
        let (ejected, held) = (self.run.totals.flits_delivered, self.knowledge.held_in_period);
        let tuner = &mut self.knowledge.tuner;
        let now = ejected - tuner.ejected_at_last;
        tuner.ejected_at_last = ejected;
        if tuner.last.is_some_and(|last| (now as f64) < 0.75 * last as f64) {
            tuner.threshold -= 4 * buffers;
        } else if held {
            tuner.threshold += buffers;
        }
        tuner.threshold = tuner.threshold.max(buffers);
        tuner.last = Some(now);
        if now > tuner.best.0 {
            tuner.best = (now, tuner.threshold);
        }
        tuner.periods_below_half = if 2 * now < tuner.best.0 { tuner.periods_below_half + 1 } else { 0 };
        if tuner.periods_below_half == 5 {
            tuner.threshold = tuner.best.1;
            tuner.best.0 = now;
            tuner.periods_below_half = 0;
        }
        self.knowledge.held_in_period = false;
    }

    /// Whether the header at the front of a P queue, which asks for an output, is kept from being a
    /// candidate in this cycle.
    pub(super) fn is_held(&self, node: NodeId, flit: &Flit, (direction, channel): (Port, usize)) -> bool {
        let here = node as usize;
        if direction == self.p {
            return false;
        }
        if let Some(hold) = &self.hold {
            let (hops, turn) = self.straight(node, flit, direction);
            let waiting =
                Waiting { node, output: (direction, channel), hops, turn, since: flit.at_front.unwrap() };
            return self.view(|view| hold.holds(self.cycle, &waiting, view));
        }
        let registers = &self.knowledge.registers[here][direction];
        match self.rules.throttle {
            Throttle::None => false,
            Throttle::Spth { own: false, .. } => registers.iter().flatten().any(|&bit| bit),
            Throttle::Spth { own: true, .. } => registers[channel].iter().any(|&bit| bit),
            Throttle::Alo { own } => {
                let free = |&channel: &usize| {
                    let owner = self.routers[here].outputs[direction][channel].owner;
                    owner.is_none() && self.occupied(node, direction, channel) == 0
                };
                !if own { free(&channel) } else { (0..self.channels).any(|channel| free(&channel)) }
            }
            Throttle::Pace { .. } => self.cycle < self.knowledge.next_begin[here],
            Throttle::Global { threshold, tune } => {
                let period = u64::from(self.shape.sizes()[0]);
                // A sample is in force from N cycles after it was taken.
                let Some(index) = (self.cycle / period).checked_sub(1) else { return false };
                let limit = if tune {
                    self.knowledge.tuner.threshold
                } else {
                    (threshold as i64).saturating_mul(100)
                };
                100 * self.knowledge.samples[index as usize] >= limit
            }
            Throttle::Pt { release, .. } => {
                if self.cycle - flit.at_front.unwrap() >= release {
                    return false;
                }
                let (hops, turn) = self.straight(node, flit, direction);
                // There are turn registers for pairs of dimensions.
                let next = turn.filter(|next| next / 2 != direction / 2);
                registers[channel].iter().take(hops).any(|&bit| bit)
                    || next.is_some_and(|turn| {
                        self.knowledge.turns[here][direction][turn].get(hops - 1) == Some(&true)
                    })
            }
        }
    }

    /// The hops a packet that leaves in a direction has to go in it, and the direction it turns into after
    /// them: the first of the others that lead nearer. A direction that leads away is left after a hop.
    /// Where a route is given, it says both.
    fn straight(&self, node: NodeId, flit: &Flit, direction: Port) -> (usize, Option<Port>) {
        if let Some(route) = &flit.route {
            let ahead = &route.ports[flit.hops as usize..];
            let hops = ahead.iter().take_while(|&&port| port == direction).count();
            return (hops, ahead.get(hops).copied());
        }
        let way = self.hops_left(node, flit.destination);
        match way.iter().find(|&&(port, _)| port == direction) {
            None => (1, None),
            Some(&(_, hops)) => {
                let turn = way.iter().find(|&&(port, _)| port != direction);
                (hops, turn.map(|&(port, _)| port))
            }
        }
    }

    /// The directions a packet still has to go, in order, with the hops in each.
    pub(super) fn hops_left(&self, node: NodeId, destination: NodeId) -> Vec<(Port, usize)> {
        let mut way: Vec<(Port, usize)> = Vec::new();
        let mut here = node;
        while here != destination {
            let port = self.ways[here as usize][destination as usize];
            match way.last_mut() {
                Some((last, hops)) if *last == port => *hops += 1,
                _ => way.push((port, 1)),
            }
            here = self.neighbour(here, port).unwrap();
        }
        way
    }

    /// A header was held, or granted, or left, or a tail was ejected.
    pub(super) fn note_held(&mut self) {
        self.knowledge.held_in_period = true;
        self.knowledge.held_in_cycle = true;
    }

    pub(super) fn note_granted(&mut self, node: NodeId) {
        if let Some(hold) = &mut self.hold {
            hold.granted(self.cycle, node);
        }
        if let Throttle::Pace { interval } = self.rules.throttle {
            self.knowledge.next_begin[node as usize] = self.cycle + interval;
        }
    }

    pub(super) fn note_in_flight(&mut self, change: i64) {
        self.knowledge.in_flight += change;
    }

    /// Adaptive routing: the output a header wants in this cycle, if any. Channels 0 and 1 are the
    /// escape, 2 is adaptive.
    pub(super) fn adaptive(&self, node: NodeId, queue: (Port, usize), flit: &Flit) -> Option<(Port, usize)> {
        let way = self.productive(node, flit.destination);
        if way.is_empty() {
            return Some((self.p, if queue.0 == self.p { 0 } else { queue.1 }));
        }
        let outputs = &self.routers[node as usize].outputs;
        let free =
            |output: (Port, usize)| self.config.buffer as usize - self.occupied(node, output.0, output.1);
        // All channels from 2 on are adaptive with ma, only that one with the others.
        let last = if self.rules.routing == Routing::MinimalAdaptive { self.channels } else { 3 };
        let adaptive = way
            .iter()
            .flat_map(|&(direction, hops)| (2..last).map(move |channel| ((direction, channel), hops)));
        let mut best: Option<((Port, usize), (usize, usize))> = None;
        for (output, hops) in adaptive {
            let direction = output.0;
            if outputs[direction][output.1].owner.is_some() || free(output) < flit.length as usize {
                continue;
            }
            let busy = match self.rules.routing {
                Routing::CrossLine => {
                    let register = &self.knowledge.ahead[node as usize][direction][2];
                    register.iter().take(hops).filter(|&&bit| bit).count()
                }
                _ => 0,
            };
            let cost = (busy, usize::MAX - free(output));
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((output, cost));
            }
        }
        if let Some((output, _)) = best {
            return Some(output);
        }
        let direction = way[0].0;
        let crosses = self.wraps_around(node, direction);
        let channel = usize::from(flit.crossed[direction / 2] || crosses);
        outputs[direction][channel].owner.is_none().then_some((direction, channel))
    }

    /// Directions that lead nearer, x first, with the hops left in them.
    fn productive(&self, node: NodeId, destination: NodeId) -> Vec<(Port, usize)> {
        // In dimension order a packet takes exactly the productive directions; of a circulant's steps one after the
        // other.
        let mut way = self.hops_left(node, destination);
        way.dedup_by_key(|&mut (port, _)| self.sides[port].0);
        way
    }
}
