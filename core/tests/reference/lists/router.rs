//! The state of a router, and how flits and credits get into it.

use super::super::{
    allocators::{Allocator, Request},
    breach::Breach,
    buffers::Behind,
    flit::{Flit, Packets, Ways},
    network::Place,
    numbers::Numbers,
    priority::Priority,
    rules::Rules,
    seen::State,
    stage::Stage,
    wiring::End,
};
use std::collections::VecDeque;

/// A queue of flits behind an input port, of one channel.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub queue: VecDeque<Flit>,
    pub ways: Ways,
    pub priority: i32,
    /// Its own port and channel.
    pub at: (u16, u16),
    /// The output port and channel that it has.
    pub port: u16,
    pub channel: u16,
    pub state: State,
    pub holds: bool,
}

/// What all routers share while they work.
pub(super) struct World<'a> {
    pub now: u32,
    pub rules: &'a Rules,
    pub packets: &'a mut Packets,
    pub numbers: &'a mut dyn Numbers,
    /// Per output port of all routers the flits known behind it.
    pub load: &'a mut [u32],
    /// A flit was sent for which there is no place.
    pub breach: &'a mut Option<Breach>,
}

/// Credit messages of an input port: channels, the last one of each message marked.
pub(super) type Messages = VecDeque<u16>;
/// The mark of the last channel of a message.
pub(super) const LAST: u16 = 1 << 15;

/// A router.
#[derive(Clone, Debug)]
pub(super) struct Router {
    pub number: u32,
    /// The number of its first output port among all.
    pub first_output: u32,
    /// By port and channel.
    pub inputs: Vec<Input>,
    /// By output port.
    pub behind: Behind,
    pub routing: Stage<u16>,
    pub awaiting_vc: Vec<u16>,
    pub awaiting_switch: Vec<u16>,
    pub holders: Vec<u16>,
    pub crossbar: Stage<(u16, Flit)>,
    pub output: Vec<VecDeque<Flit>>,
    /// By input port.
    pub credits: Vec<Messages>,
    /// Output ports with flits, input ports with credits.
    pub busy_outputs: Vec<u16>,
    pub busy_credits: Vec<u16>,
    /// By input port the step of its last credit.
    credited: Vec<u32>,
    steps: u32,
    pub channel_allocator: Allocator,
    pub switch_allocator: Allocator,
    pub speculative_allocator: Option<Box<Allocator>>,
    /// Per input sub-port the turn among its channels.
    pub turns: Vec<u16>,
    pub input_held: Vec<bool>,
    pub output_held: Vec<bool>,
    /// With piggyback, per output port and class: the channel whose turn it is.
    pub piggyback_turns: Vec<i32>,
    /// What arrives in this cycle, with ports.
    pub flits_arriving: Vec<(u16, Flit)>,
    pub credits_arriving: Vec<(u16, u16)>,
    pub scratch: Scratch,
}

/// What is only used within a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub requests: Vec<Request>,
    pub speculative: Vec<Request>,
    /// Who is put forward: by pair of sub-ports its input channel.
    pub forward: Vec<Option<(u16, i64)>>,
    pub forward_speculative: Vec<Option<(u16, i64)>>,
    pub asked: Vec<u32>,
    pub asked_speculative: Vec<u32>,
    /// By input channel the output that it won.
    pub crossing: Vec<Option<u16>>,
    /// Winners that have no output channel yet, and headers one of whose ways is not eligible.
    pub failed: Vec<u16>,
    pub barred: Vec<u16>,
    /// Lists that are being worked off, kept for their memory.
    pub given: Vec<u16>,
    pub crossed: Vec<u16>,
    pub held: Vec<(u16, bool)>,
}

impl Router {
    /// A router without flits.
    pub(super) fn new(number: u32, rules: &Rules) -> Self {
        let channels = rules.channels;
        let ports = rules.wiring.inputs(number).len();
        let outputs = rules.wiring.outputs(number).len();
        let input = |index: usize| Input {
            queue: VecDeque::new(),
            state: State::Idle,
            holds: false,
            at: ((index / channels) as u16, (index % channels) as u16),
            port: 0,
            channel: 0,
            priority: 0,
            ways: Ways::default(),
        };
        let (inner, outer) = (ports * rules.input_speedup, outputs * rules.output_speedup);
        let (all, targets) = (ports * channels, outputs * channels);
        Self {
            number,
            first_output: rules.wiring.output(number, 0) as u32,
            inputs: (0..all).map(input).collect(),
            behind: Behind::new(&rules.policy, outputs, channels, rules.waits_for_tail, |port| {
                rules.least_round_trip(number, port)
            }),
            routing: Stage::default(),
            awaiting_vc: Vec::new(),
            awaiting_switch: Vec::new(),
            holders: Vec::new(),
            crossbar: Stage::default(),
            output: vec![VecDeque::new(); outputs],
            credits: vec![VecDeque::new(); ports],
            busy_outputs: Vec::new(),
            busy_credits: Vec::new(),
            credited: vec![0; ports],
            steps: 0,
            channel_allocator: Allocator::new(rules.channel_allocator, all, targets),
            switch_allocator: Allocator::new(rules.switch_allocator, inner, outer),
            speculative_allocator: rules
                .speculative_allocator
                .map(|kind| Box::new(Allocator::new(kind, inner, outer))),
            turns: (0..inner).map(|sub| (sub % rules.input_speedup % rules.channels) as u16).collect(),
            input_held: vec![false; inner],
            output_held: vec![false; outer],
            piggyback_turns: vec![channels as i32 - 1; outputs * rules.classes],
            flits_arriving: Vec::new(),
            credits_arriving: Vec::new(),
            scratch: Scratch {
                forward: vec![None; inner * outer],
                forward_speculative: vec![None; if rules.is_speculative { inner * outer } else { 0 }],
                crossing: vec![None; all],
                ..Scratch::default()
            },
        }
    }

    /// Output ports with a flit that waits because the queue of its channel is full.
    pub(super) fn stopped_outputs<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = u16> + 'a {
        let waits =
            self.inputs.iter().filter(|input| input.state == State::Active && !input.queue.is_empty());
        let is_full = |input: &&Input| {
            self.behind.is_full(&rules.policy, usize::from(input.port), usize::from(input.channel))
        };
        waits.filter(is_full).map(|input| input.port)
    }

    /// Lets in what arrives in this cycle.
    pub(super) fn arrive(&mut self, world: &mut World<'_>) {
        let channels = world.rules.channels;
        if self.flits_arriving.len() > 1 {
            self.flits_arriving.sort_unstable_by_key(|arriving| arriving.0);
        }
        let mut arriving = std::mem::take(&mut self.flits_arriving);
        for (port, mut flit) in arriving.drain(..) {
            let index = usize::from(port) * channels + usize::from(flit.channel);
            flit.hops += 1;
            match world.rules.priority {
                Priority::LocalAge => flit.priority = i32::MAX - world.now as i32,
                Priority::HopCount => flit.priority = i32::from(flit.hops),
                _ => {}
            }
            let input = &mut self.inputs[index];
            input.queue.push_back(flit);
            input.set_priority(world.rules);
            match input.state {
                State::Idle => self.begin(index as u16, world),
                State::Active if input.queue.len() == 1 => {
                    if input.holds {
                        self.holders.push(index as u16);
                    } else {
                        self.awaiting_switch.push(index as u16);
                    }
                }
                _ => {}
            }
        }
        self.flits_arriving = arriving;
        self.behind.set_time(world.now);
        for (port, channel) in self.credits_arriving.drain(..) {
            self.behind.credit(&world.rules.policy, usize::from(port), usize::from(channel));
            world.load[self.first_output as usize + usize::from(port)] -= 1;
        }
    }

    /// Begins with the packet at the front of a queue.
    pub(super) fn begin(&mut self, index: u16, world: &mut World<'_>) {
        let input = &mut self.inputs[usize::from(index)];
        let rules = world.rules;
        if rules.routing_delay > 0 {
            input.state = State::Routing;
            self.routing.waiting.push(index);
            return;
        }
        let packet = input.queue[0].packet;
        input.ways = world.packets[packet].ahead;
        if rules.cuts_by_next_port {
            let ways = self.cut_by_next_port(index, packet, world);
            self.inputs[usize::from(index)].ways = ways;
        }
        self.wait(index, rules);
    }

    /// The way out of this router with the channels that stand for the output port of the next one, whose way is
    /// computed now. In front of a node they stand for the port of this one, but for packets from nodes of this
    /// router, which may use all.
    fn cut_by_next_port(&self, index: u16, packet: u32, world: &mut World<'_>) -> Ways {
        let rules = world.rules;
        let packet = &mut world.packets[packet];
        let here = packet.ahead;
        let Some(way) = here.iter().next() else { return here };
        let outputs = rules.wiring.outputs(self.number);
        let entry = self.inputs[usize::from(index)].at.0;
        let mut ports = outputs.len();
        if let End::Router(router, entry) = outputs[usize::from(way.port)].end {
            let (port, channels) = (usize::from(entry), rules.range(packet.kind));
            let place = Place { router, port, enters: false, channel: 0, channels, load: world.load };
            packet.ahead = rules.ways(&place, packet, world.numbers);
            ports = rules.wiring.outputs(router).len();
        } else if matches!(rules.wiring.inputs(self.number)[usize::from(entry)].end, End::Node(_)) {
            return here;
        }
        let range = packet.ahead.iter().next().map_or((0, 0), |next| (next.first.into(), next.last.into()));
        here.within(packet.ahead.part_of(range, ports))
    }

    /// Waits for an output channel.
    pub(super) fn wait(&mut self, index: u16, rules: &Rules) {
        self.inputs[usize::from(index)].state = State::Waiting;
        if rules.is_speculative {
            self.awaiting_switch.push(index);
        }
        if !rules.is_piggyback {
            self.awaiting_vc.push(index);
        }
    }

    /// Notes that a place of an input channel has become free.
    #[inline]
    pub(super) fn free_place(&mut self, port: u16, channel: u16) {
        let messages = &mut self.credits[usize::from(port)];
        if self.credited[usize::from(port)] == self.steps {
            // The same message as the one before.
            if let Some(before) = messages.back_mut() {
                *before &= !LAST;
            }
        } else if messages.is_empty() {
            self.busy_credits.push(port);
        }
        self.credited[usize::from(port)] = self.steps;
        messages.push_back(channel | LAST);
    }

    /// A step begins.
    #[inline]
    pub(super) fn count_step(&mut self) {
        self.steps = self.steps.wrapping_add(1);
    }

    /// Whether steps and sending would change nothing.
    pub(super) fn is_at_rest(&self) -> bool {
        self.busy_outputs.is_empty()
            && self.busy_credits.is_empty()
            && self.routing.is_empty()
            && self.awaiting_vc.is_empty()
            && self.awaiting_switch.is_empty()
            && self.holders.is_empty()
            && self.crossbar.is_empty()
    }
}

impl Input {
    /// Sets the priority after the queue has changed; an empty one keeps what it has.
    pub(super) fn set_priority(&mut self, rules: &Rules) {
        let priorities = self.queue.iter().map(|flit| flit.priority);
        let priority = match rules.priority {
            Priority::None => None,
            Priority::QueueLength => (!self.queue.is_empty()).then_some(self.queue.len() as i32),
            Priority::LocalAge => self.queue.front().map(|flit| flit.priority),
            _ if rules.donates => priorities.max(),
            _ => self.queue.front().map(|flit| flit.priority),
        };
        self.priority = priority.unwrap_or(self.priority);
    }
}
