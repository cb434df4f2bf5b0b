//! A router: what arrives, and an internal step, in which everything is decided from the state at its beginning.

use super::{
    Flit, MOST, Network, Way,
    allocators::{Allocator, Ask, Match},
    behind::Behind,
    due,
    settings::Settings,
};
use std::collections::{HashMap, VecDeque};

/// Priorities below all others.
const BELOW: i64 = -(1 << 40);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Routing,
    Waiting,
    /// With output port and channel.
    Active(usize, usize),
}

/// A queue of flits with what is known of the packet in front.
struct Input {
    queue: VecDeque<Flit>,
    state: State,
    ways: Vec<Way>,
    priority: i64,
    holds: bool,
}

/// Port and channel of an input.
type At = (usize, usize);

/// A stage of several cycles that takes in everything that waits when it is empty.
struct Stage<T> {
    waiting: Vec<T>,
    inside: Vec<T>,
    done_at: usize,
}

impl<T> Stage<T> {
    fn new() -> Self {
        Self { waiting: Vec::new(), inside: Vec::new(), done_at: 0 }
    }

    /// What the stage is done with in this step.
    fn pass(&mut self, now: usize, cycles: usize) -> Vec<T> {
        if self.inside.is_empty() && !self.waiting.is_empty() {
            self.inside = std::mem::take(&mut self.waiting);
            self.done_at = now + cycles - 1;
        }
        if now >= self.done_at { std::mem::take(&mut self.inside) } else { Vec::new() }
    }
}

pub struct Router {
    pub arriving: Vec<VecDeque<(usize, Flit)>>,
    /// Credits with the cycle from which they count.
    pub credits_arriving: Vec<VecDeque<(usize, Vec<usize>)>>,
    pub output: Vec<VecDeque<Flit>>,
    pub credits: Vec<VecDeque<Vec<usize>>>,
    inputs: Vec<Vec<Input>>,
    behind: Vec<Vec<Behind>>,
    routing: Stage<At>,
    to_be_given: Vec<At>,
    to_cross: Vec<At>,
    holders: Vec<At>,
    crossbar: Stage<(usize, Flit)>,
    vc_allocator: Allocator,
    sw_allocator: Allocator,
    spec_allocator: Option<Allocator>,
    /// Per sub-port of an input.
    turns: Vec<usize>,
    input_held: Vec<bool>,
    output_held: Vec<bool>,
}

/// One who asks for a connection of the crossbar.
struct Crossing {
    at: At,
    inner: usize,
    output: usize,
    outer: usize,
    speculates: bool,
}

impl Router {
    pub fn new(settings: &Settings) -> Self {
        let (ports, channels) = (settings.ports(), settings.channels);
        let (inner, outer) = (ports * settings.input_speedup, ports * settings.output_speedup);
        let input = || Input {
            queue: VecDeque::new(),
            state: State::Idle,
            ways: Vec::new(),
            priority: 0,
            holds: false,
        };
        let separate = settings.speculative && settings.spec_allocator != "prio";
        Self {
            arriving: vec![VecDeque::new(); ports],
            credits_arriving: vec![VecDeque::new(); ports],
            output: vec![VecDeque::new(); ports],
            credits: vec![VecDeque::new(); ports],
            inputs: (0..ports).map(|_| (0..channels).map(|_| input()).collect()).collect(),
            behind: vec![vec![Behind::default(); channels]; ports],
            routing: Stage::new(),
            to_be_given: Vec::new(),
            to_cross: Vec::new(),
            holders: Vec::new(),
            crossbar: Stage::new(),
            vc_allocator: Allocator::new(&settings.vc_allocator, ports * channels, ports * channels),
            sw_allocator: Allocator::new(&settings.sw_allocator, inner, outer),
            spec_allocator: separate.then(|| Allocator::new(&settings.spec_allocator, inner, outer)),
            turns: (0..inner).map(|sub| sub % settings.input_speedup).collect(),
            input_held: vec![false; inner],
            output_held: vec![false; outer],
        }
    }

    /// Flits known behind an output.
    pub fn load(&self, port: usize) -> usize {
        self.behind[port].iter().map(|channel| channel.used).sum()
    }

    fn input(&mut self, (port, channel): At) -> &mut Input {
        &mut self.inputs[port][channel]
    }

    fn is_full(&self, settings: &Settings, port: usize, channel: usize) -> bool {
        self.behind[port][channel].used >= settings.places
    }

    fn has_room(&self, settings: &Settings, port: usize) -> bool {
        settings.output_places.is_none_or(|places| self.output[port].len() < places)
    }

    /// The priority of an input channel follows its queue, but for an empty one.
    fn set_priority(&mut self, settings: &Settings, at: At) {
        let input = self.input(at);
        let Some(first) = input.queue.front() else { return };
        input.priority = match settings.priority.as_str() {
            "queue_length" => input.queue.len() as i64,
            "local_age" => first.priority,
            _ if settings.donates => input.queue.iter().map(|flit| flit.priority).max().unwrap(),
            _ => first.priority,
        };
    }
}

impl Network<'_> {
    /// Takes flits and credits that arrive in this cycle.
    pub fn arrive(&mut self, number: usize) {
        let now = self.now;
        for port in 0..self.settings.ports() {
            while let Some(mut flit) = due(&mut self.routers[number].arriving[port], now) {
                let at = (port, flit.channel);
                flit.hops += 1;
                match self.settings.priority.as_str() {
                    "local_age" => flit.priority = MOST - now as i64,
                    "hop_count" => flit.priority = flit.hops,
                    _ => {}
                }
                let router = &mut self.routers[number];
                let input = router.input(at);
                assert!(input.queue.len() < self.settings.places, "a queue overflows");
                input.queue.push_back(flit);
                let (state, is_alone, holds) = (input.state, input.queue.len() == 1, input.holds);
                router.set_priority(&self.settings, at);
                match state {
                    State::Idle => self.begin(number, at),
                    State::Active(..) if is_alone && holds => router.holders.push(at),
                    State::Active(..) if is_alone => router.to_cross.push(at),
                    _ => {}
                }
            }
        }
        let waits = self.settings.wait_for_tail_credit;
        let Router { credits_arriving, behind, .. } = &mut self.routers[number];
        for (messages, behind) in credits_arriving.iter_mut().zip(behind) {
            while let Some(channels) = due(messages, now) {
                channels.into_iter().for_each(|channel| behind[channel].credit(waits));
            }
        }
    }

    /// An input channel begins with the packet in front of its queue.
    fn begin(&mut self, number: usize, at: At) {
        let router = &mut self.routers[number];
        let packet = router.input(at).queue[0].packet;
        self.packets[packet].hops += 1;
        if self.settings.routing_delay > 0 {
            router.input(at).state = State::Routing;
            router.routing.waiting.push(at);
        } else {
            router.input(at).ways = self.packets[packet].ahead.clone();
            self.wait(number, at);
        }
    }

    /// An input channel whose ways are known asks for an output channel.
    fn wait(&mut self, number: usize, at: At) {
        let router = &mut self.routers[number];
        router.input(at).state = State::Waiting;
        router.to_be_given.push(at);
        if self.settings.speculative {
            router.to_cross.push(at);
        }
    }

    /// One internal step.
    pub fn step(&mut self, number: usize) {
        let (now, settings) = (self.now, &self.settings);
        let router = &mut self.routers[number];
        let routed = router.routing.pass(now, settings.routing_delay);
        let through = router.crossbar.pass(now, settings.crossbar_delay);
        let asking = std::mem::take(&mut router.to_be_given);
        let holding = std::mem::take(&mut router.holders);
        let crossing = std::mem::take(&mut router.to_cross);
        let given = self.decide_channels(number, &asking);
        let router = &self.routers[number];
        let may_go_on: Vec<bool> = holding
            .iter()
            .map(|&(port, channel)| match router.inputs[port][channel].state {
                State::Active(output, behind) => !router.is_full(&self.settings, output, behind),
                _ => false,
            })
            .collect();
        let won = self.decide_switch(number, &crossing, &given);

        for at in routed {
            let packet = self.routers[number].input(at).queue[0].packet;
            let ways = self.ways(number, at, packet);
            self.routers[number].input(at).ways = ways;
            self.wait(number, at);
        }
        for at in asking {
            let router = &mut self.routers[number];
            let Some(&(output, channel)) = given.get(&at) else {
                router.to_be_given.push(at);
                continue;
            };
            router.behind[output][channel].take();
            router.input(at).state = State::Active(output, channel);
            if !self.settings.speculative {
                router.to_cross.push(at);
            }
        }
        let mut sent_by = Vec::new();
        for (at, may_send) in holding.into_iter().zip(may_go_on) {
            let State::Active(output, _) = self.routers[number].input(at).state else { unreachable!() };
            if may_send && self.routers[number].has_room(&self.settings, output) {
                let is_tail = self.send(number, at, &mut sent_by);
                if !is_tail && !self.routers[number].input(at).queue.is_empty() {
                    self.routers[number].holders.push(at);
                    continue;
                }
            } else {
                self.routers[number].to_cross.push(at);
            }
            self.hold(number, at, output, false);
        }
        for at in crossing {
            let Some(&output) = won.get(&at) else {
                self.routers[number].to_cross.push(at);
                continue;
            };
            let is_tail = self.send(number, at, &mut sent_by);
            if is_tail || self.routers[number].input(at).queue.is_empty() {
                continue;
            }
            if self.settings.holds {
                self.hold(number, at, output, true);
                self.routers[number].holders.push(at);
            } else {
                self.routers[number].to_cross.push(at);
            }
        }
        let router = &mut self.routers[number];
        for (output, flit) in through {
            router.output[output].push_back(flit);
        }
        for port in 0..self.settings.ports() {
            let channels: Vec<usize> = sent_by.iter().filter(|at| at.0 == port).map(|at| at.1).collect();
            if !channels.is_empty() {
                router.credits[port].push_back(channels);
            }
        }
    }

    fn sub_ports(&self, (port, channel): At, output: usize) -> (usize, usize) {
        let Settings { input_speedup, output_speedup, .. } = self.settings;
        (port * input_speedup + channel % input_speedup, output * output_speedup + port % output_speedup)
    }

    fn hold(&mut self, number: usize, at: At, output: usize, holds: bool) {
        let (inner, outer) = self.sub_ports(at, output);
        let router = &mut self.routers[number];
        router.input_held[inner] = holds;
        router.output_held[outer] = holds;
        router.input(at).holds = holds;
    }

    /// VC allocation: who is given which output port and channel.
    fn decide_channels(&mut self, number: usize, asking: &[At]) -> HashMap<At, (usize, usize)> {
        if asking.is_empty() {
            return HashMap::new();
        }
        let (settings, router) = (&self.settings, &mut self.routers[number]);
        let requester = |(port, channel): At| match settings.shuffles {
            true => channel * settings.ports() + port,
            false => port * settings.channels + channel,
        };
        let mut asks = Vec::new();
        for &at in asking {
            let input = &router.inputs[at.0][at.1];
            for way in &input.ways {
                for channel in way.channels() {
                    let behind = &router.behind[way.port][channel];
                    if behind.owned || settings.busy_when_full && behind.used >= settings.places {
                        continue;
                    }
                    let lowered = if settings.prefers_empty && behind.used > 0 { BELOW } else { 0 };
                    asks.push(Ask {
                        requester: requester(at),
                        resource: way.port * settings.channels + channel,
                        inner: way.rank + lowered,
                        outer: input.priority,
                    });
                }
            }
        }
        let matched = router.vc_allocator.allocate(&asks, &mut self.numbers);
        let of = |at: &At| matched.iter().find(|pair| pair.0 == requester(*at)).map(|pair| pair.1);
        let output = |resource: usize| (resource / settings.channels, resource % settings.channels);
        asking.iter().filter_map(|at| Some((*at, output(of(at)?)))).collect()
    }

    /// Those who ask for connections, and the output of every one; those of whom one output was refused.
    fn who_crosses(&self, number: usize, crossing: &[At]) -> (Vec<Crossing>, Vec<At>) {
        let (settings, router) = (&self.settings, &self.routers[number]);
        let (mut asks, mut failed) = (Vec::new(), Vec::new());
        for &at in crossing {
            let input = &router.inputs[at.0][at.1];
            // Every way is a request of its own, even if two lead to the same output.
            let (ways, speculates) = match input.state {
                State::Active(port, channel) => {
                    (&vec![Way { port, first: channel, last: channel, rank: 0 }], false)
                }
                _ => (&input.ways, true),
            };
            for &way in ways {
                let output = way.port;
                let (inner, outer) = self.sub_ports(at, output);
                let may = match input.state {
                    State::Active(_, channel) => {
                        !router.is_full(settings, output, channel) && router.has_room(settings, output)
                    }
                    _ => self.may_speculate(number, way),
                };
                if may && !router.input_held[inner] && !router.output_held[outer] {
                    asks.push(Crossing { at, inner, output, outer, speculates });
                } else if speculates && !may {
                    failed.push(at);
                }
            }
        }
        (asks, failed)
    }

    fn may_speculate(&self, number: usize, way: Way) -> bool {
        let (settings, router, output) = (&self.settings, &self.routers[number], way.port);
        if !settings.check_eligible {
            return !settings.check_credit;
        }
        let mut free = way.channels().filter(|&channel| !router.behind[output][channel].owned);
        router.has_room(settings, output)
            && free.any(|channel| !settings.check_credit || !router.is_full(settings, output, channel))
    }

    /// Switch allocation: whose first flit goes on, to which output.
    fn decide_switch(
        &mut self,
        number: usize,
        crossing: &[At],
        given: &HashMap<At, (usize, usize)>,
    ) -> HashMap<At, usize> {
        if crossing.is_empty() {
            return HashMap::new();
        }
        let (asks, failed) = self.who_crosses(number, crossing);
        let separate = self.routers[number].spec_allocator.is_some();
        let (certain, speculative): (Vec<&Crossing>, Vec<&Crossing>) =
            asks.iter().partition(|ask| !(ask.speculates && separate));
        let certain = self.put_forward(number, &certain);
        let speculative = self.put_forward(number, &speculative);
        let numbers = &mut self.numbers;
        let router = &mut self.routers[number];
        let requests = |list: &[(&Crossing, i64)]| -> Vec<Ask> {
            let ask = |&(one, priority): &(&Crossing, i64)| Ask {
                requester: one.inner,
                resource: one.outer,
                inner: priority,
                outer: priority,
            };
            list.iter().map(ask).collect()
        };
        let matched: Match = router.sw_allocator.allocate(&requests(&certain), numbers);
        let also: Match = match &mut router.spec_allocator {
            Some(allocator) => allocator.allocate(&requests(&speculative), numbers),
            None => Match::new(),
        };
        let mut winners = HashMap::new();
        for inner in 0..self.settings.ports() * self.settings.input_speedup {
            let of = |list: &[(&Crossing, i64)], pairs: &Match| {
                let outer = pairs.iter().find(|pair| pair.0 == inner)?.1;
                let one = list.iter().find(|(one, _)| (one.inner, one.outer) == (inner, outer))?.0;
                Some((one.at, one.output, outer, one.speculates))
            };
            let is_masked = |outer: usize| match self.settings.mask_by_requests {
                true => certain.iter().any(|(one, _)| one.outer == outer),
                false => matched.iter().any(|pair| pair.1 == outer),
            };
            let winner = of(&certain, &matched)
                .or_else(|| of(&speculative, &also).filter(|&(_, _, outer, _)| !is_masked(outer)));
            let Some((at, output, _, speculates)) = winner.filter(|won| !failed.contains(&won.0)) else {
                continue;
            };
            router.turns[inner] = (at.1 + self.settings.input_speedup) % self.settings.channels;
            let may_go = !speculates
                || given.get(&at).is_some_and(|&(port, channel)| {
                    port == output && !router.is_full(&self.settings, port, channel)
                });
            if may_go {
                winners.insert(at, output);
            }
        }
        winners
    }

    /// Of several channels of a sub-port that ask for the same output sub-port, one is put forward.
    fn put_forward<'a>(&self, number: usize, asks: &[&'a Crossing]) -> Vec<(&'a Crossing, i64)> {
        let router = &self.routers[number];
        let channels = self.settings.channels;
        let mut best: Vec<(&Crossing, i64)> = Vec::new();
        for &one in asks {
            let mut priority = router.inputs[one.at.0][one.at.1].priority;
            if one.speculates && router.spec_allocator.is_none() {
                priority += BELOW;
            }
            let after_turn = |one: &Crossing| (one.at.1 + channels - router.turns[one.inner]) % channels;
            let same =
                |(other, _): &&mut (&Crossing, i64)| (other.inner, other.outer) == (one.inner, one.outer);
            match best.iter_mut().find(same) {
                None => best.push((one, priority)),
                Some(other) => {
                    let is_better =
                        priority > other.1 || priority == other.1 && after_turn(one) < after_turn(other.0);
                    if is_better {
                        *other = (one, priority);
                    }
                }
            }
        }
        best
    }

    /// The first flit of an active channel goes into the crossbar; true if it was a tail.
    fn send(&mut self, number: usize, at: At, sent_by: &mut Vec<At>) -> bool {
        let router = &mut self.routers[number];
        let State::Active(output, channel) = router.input(at).state else { unreachable!() };
        let mut flit = router.input(at).queue.pop_front().expect("a flit to send");
        router.set_priority(&self.settings, at);
        flit.channel = channel;
        sent_by.push(at);
        router.behind[output][channel].send(flit.is_tail, self.settings.wait_for_tail_credit);
        router.crossbar.waiting.push((output, flit.clone()));
        if self.settings.routing_delay == 0 && flit.is_head && output < self.settings.ports() - 1 {
            let next = self.settings.neighbour(number, output);
            self.packets[flit.packet].ahead =
                self.ways(next, (Settings::opposite(output), channel), flit.packet);
        }
        if flit.is_tail {
            let input = self.routers[number].input(at);
            input.state = State::Idle;
            if !input.queue.is_empty() {
                self.begin(number, at);
            }
        }
        flit.is_tail
    }
}
