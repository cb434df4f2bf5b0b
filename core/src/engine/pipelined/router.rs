//! The state of a router, and how flits and credits get into it.

use super::{
    allocators::{Allocator, Request},
    buffers::Behind,
    flit::{Flit, Packets, Ways},
    network::Rules,
    numbers::Numbers,
};
use std::collections::VecDeque;

/// What an input channel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Routing,
    /// For an output channel.
    Waiting,
    Active,
}

/// A queue of flits behind an input port, of one channel.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub queue: VecDeque<Flit>,
    pub state: State,
    pub holds: bool,
    pub port: u16,
    pub channel: u16,
    pub priority: i32,
    pub ways: Ways,
}

/// Things that wait for a stage, those in it, and the cycle in which it is done with them.
#[derive(Clone, Debug)]
pub(super) struct Stage<T> {
    pub waiting: Vec<T>,
    pub inside: Vec<T>,
    done: u32,
}

impl<T> Stage<T> {
    fn new() -> Self {
        Self { waiting: Vec::new(), inside: Vec::new(), done: 0 }
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.inside.is_empty()
    }

    /// Takes in what waits if nothing is inside; true if the stage is done with what is inside.
    pub(super) fn step(&mut self, now: u32, cycles: u32) -> bool {
        if self.inside.is_empty() {
            if self.waiting.is_empty() {
                return false;
            }
            std::mem::swap(&mut self.inside, &mut self.waiting);
            self.done = now + cycles - 1;
        }
        now >= self.done
    }
}

/// What all routers share while they work.
pub(super) struct World<'a> {
    pub now: u32,
    pub rules: &'a Rules,
    pub packets: &'a mut Packets,
    pub numbers: &'a mut Numbers,
    /// Per router and output port the flits known behind it.
    pub load: &'a mut [u32],
    /// A flit was sent for which there is no place.
    pub overflowed: &'a mut bool,
}

/// A router.
#[derive(Clone, Debug)]
pub(super) struct Router {
    pub number: u32,
    /// By port and channel.
    pub inputs: Vec<Input>,
    /// By output port.
    pub behind: Vec<Behind>,
    pub routing: Stage<u16>,
    pub to_be_given: Vec<u16>,
    pub to_cross: Vec<u16>,
    pub holders: Vec<u16>,
    pub crossbar: Stage<(u16, Flit)>,
    pub output: Vec<VecDeque<Flit>>,
    /// By input port: sets of channels.
    pub credits: Vec<VecDeque<u64>>,
    pub freed: Vec<u64>,
    pub channel_allocator: Allocator,
    pub switch_allocator: Allocator,
    pub speculative_allocator: Allocator,
    /// Per input sub-port the turn among its channels.
    pub turns: Vec<u16>,
    pub input_held: Vec<bool>,
    pub output_held: Vec<bool>,
    /// With piggyback, per output port and class: the channel whose turn it is.
    pub piggyback_turns: Vec<i32>,
    /// What arrives, by slot of the wheel and port.
    pub flits_arriving: Vec<Option<Flit>>,
    pub credits_arriving: Vec<u64>,
    /// Things inside that need steps.
    pub is_at_work: bool,
    pub scratch: Scratch,
}

/// What is only used within a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    pub requests: Vec<Request>,
    pub speculative: Vec<Request>,
    /// Who is put forward: sub-port pairs, by pair its input channel.
    pub forward: Vec<Option<(u16, i64)>>,
    pub forward_speculative: Vec<Option<(u16, i64)>>,
    pub asked: Vec<u32>,
    pub asked_speculative: Vec<u32>,
    pub crossing: Vec<Option<u16>>,
    /// Winners that have no output channel yet, and headers one of whose ways is not eligible.
    pub failed: Vec<u16>,
    pub barred: Vec<u16>,
}

impl Router {
    /// A router without flits.
    pub(super) fn new(number: u32, rules: &Rules) -> Self {
        let (ports, channels) = (rules.shape.ports(), rules.channels);
        let input = Input {
            queue: VecDeque::new(),
            state: State::Idle,
            holds: false,
            port: 0,
            channel: 0,
            priority: 0,
            ways: Ways::default(),
        };
        let (inner, outer) = (ports * rules.input_speedup, ports * rules.output_speedup);
        let all = ports * channels;
        Self {
            number,
            inputs: vec![input; all],
            behind: vec![Behind::new(&rules.policy, channels, rules.waits_for_tail); ports],
            routing: Stage::new(),
            to_be_given: Vec::new(),
            to_cross: Vec::new(),
            holders: Vec::new(),
            crossbar: Stage::new(),
            output: vec![VecDeque::new(); ports],
            credits: vec![VecDeque::new(); ports],
            freed: vec![0; ports],
            channel_allocator: Allocator::new(rules.channel_allocator, all, all),
            switch_allocator: Allocator::new(rules.switch_allocator, inner, outer),
            speculative_allocator: Allocator::new(
                rules.speculative_allocator.unwrap_or(rules.switch_allocator),
                inner,
                outer,
            ),
            turns: (0..inner).map(|sub| (sub % rules.input_speedup) as u16).collect(),
            input_held: vec![false; inner],
            output_held: vec![false; outer],
            piggyback_turns: vec![-1; ports * rules.classes],
            flits_arriving: vec![None; rules.slots * ports],
            credits_arriving: vec![0; rules.slots * ports],
            is_at_work: false,
            scratch: Scratch {
                forward: vec![None; inner * outer],
                forward_speculative: vec![None; inner * outer],
                crossing: vec![None; all],
                ..Scratch::default()
            },
        }
    }

    /// Lets in what arrives in this cycle.
    pub(super) fn arrive(&mut self, world: &mut World<'_>) {
        let (ports, channels) = (world.rules.shape.ports(), world.rules.channels);
        let slot = world.now as usize % world.rules.slots * ports;
        for port in 0..ports {
            let Some(mut flit) = self.flits_arriving[slot + port].take() else { continue };
            self.is_at_work = true;
            let index = port * channels + usize::from(flit.channel);
            flit.hops += 1;
            world.rules.priority.on_entering(&mut flit, world.now);
            let input = &mut self.inputs[index];
            input.queue.push_back(flit);
            input.set_priority(world.rules);
            match input.state {
                State::Idle => self.begin(index as u16, world),
                State::Active if input.queue.len() == 1 => {
                    if input.holds {
                        self.holders.push(index as u16);
                    } else {
                        self.to_cross.push(index as u16);
                    }
                }
                _ => {}
            }
        }
        for port in 0..ports {
            let mut set = std::mem::take(&mut self.credits_arriving[slot + port]);
            while set > 0 {
                let channel = set.trailing_zeros() as usize;
                set &= set - 1;
                self.behind[port].credit(&world.rules.policy, channel);
                world.load[self.number as usize * ports + port] -= 1;
            }
        }
    }

    /// Begins with the packet at the front of a queue.
    pub(super) fn begin(&mut self, index: u16, world: &World<'_>) {
        let input = &mut self.inputs[usize::from(index)];
        let rules = world.rules;
        if rules.routing_delay > 0 {
            input.state = State::Routing;
            self.routing.waiting.push(index);
            return;
        }
        input.ways = world.packets[input.queue[0].packet].ahead;
        input.state = State::Waiting;
        if rules.is_speculative {
            self.to_cross.push(index);
        }
        if !rules.is_piggyback {
            self.to_be_given.push(index);
        }
    }

    /// Whether steps and sending would change nothing.
    pub(super) fn is_at_rest(&self) -> bool {
        self.routing.is_empty()
            && self.to_be_given.is_empty()
            && self.to_cross.is_empty()
            && self.holders.is_empty()
            && self.crossbar.is_empty()
            && self.output.iter().all(VecDeque::is_empty)
            && self.credits.iter().all(VecDeque::is_empty)
    }
}

impl Input {
    /// Sets the priority after the queue has changed.
    pub(super) fn set_priority(&mut self, rules: &Rules) {
        if let Some(priority) = rules.priority.of_queue(&self.queue, rules.donates) {
            self.priority = priority;
        }
    }
}
