use super::{
    Options, deadlock,
    layout::{Layout, NONE},
    state::{BufferedFlit, Feed, HEAD, PROCESSOR, PacketState, SLOT_SHIFT, State, TAIL},
};
use crate::{
    engine::{Network, Outcome, SimulationError, fingerprint},
    probe::{Flit, Probe},
    traffic::Sources,
};
use std::{cmp::Reverse, sync::atomic::Ordering};

/// Cycles between two looks at the interrupt flag, and for local deadlocks.
const CHECK_EVERY: u64 = 4096;

/// A simulation under way.
pub(super) struct Run<'a> {
    network: &'a Network,
    layout: &'a Layout,
    state: State<'a>,
    cycle: u64,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    pub fn new(network: &'a Network, layout: &'a Layout, sources: Sources<'a>) -> Self {
        let state = State::new(layout, sources);
        Self { network, layout, state, cycle: 0, outcome: Outcome::default() }
    }

    /// Runs to the end.
    pub fn until<P: Probe>(mut self, options: &Options, probe: &mut P) -> Result<Outcome, SimulationError> {
        let limit = options.cycle_limit.unwrap_or(u64::MAX);
        let stop = options.stop_at.unwrap_or(u64::MAX);
        let mut next_check = CHECK_EVERY;
        while self.cycle < stop {
            if self.cycle >= limit {
                let delivered = self.outcome.packets_delivered;
                return Err(SimulationError::CycleLimit { cycles: limit, delivered });
            }
            if self.cycle >= next_check {
                next_check = self.cycle + CHECK_EVERY;
                if options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    return Err(SimulationError::Interrupted(self.cycle));
                }
                deadlock::check(self.network, self.layout, &self.state, self.cycle)?;
            }
            let changed = self.top_up() | self.select_queues();
            if P::BLOCKED {
                self.report_blocked(probe);
            }
            self.select_channels();
            if changed || !self.state.moves.is_empty() || self.state.on_links > 0 {
                self.take_flits(probe);
                self.bring_flits(probe);
                self.cycle += 1;
            } else if let Some(&Reverse((start, _))) = self.state.wakes.peek() {
                // Nothing can change before the next packet starts.
                self.cycle = start.max(self.cycle + 1);
            } else if self.state.inside == 0 {
                break;
            } else {
                return Err(deadlock::report(self.network, self.layout, &self.state, self.cycle));
            }
        }
        self.outcome.cycles = match options.stop_at {
            Some(stop) => stop,
            None => self.outcome.duration.saturating_sub(1),
        };
        Ok(self.outcome)
    }

    /// Step 1: tops the processor queues up; true if any flit came.
    fn top_up(&mut self) -> bool {
        while let Some(&Reverse((start, node))) = self.state.wakes.peek() {
            if start > self.cycle {
                break;
            }
            self.state.wakes.pop();
            self.state.feeding[node as usize / 64] |= 1 << (node % 64);
        }
        let mut any = false;
        for word in 0..self.state.feeding.len() {
            let mut bits = std::mem::take(&mut self.state.feeding[word]);
            while bits != 0 {
                any |= self.top_up_node(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        any
    }

    fn top_up_node(&mut self, node: usize) -> bool {
        let queue = node * self.layout.queues + self.layout.queues - 1;
        let mut any = false;
        while self.state.queues[queue].held < self.layout.buffer {
            let mut feed = self.state.feeds[node];
            if feed.left == 0 {
                match self.next_packet(node) {
                    Some(next) => feed = next,
                    None => break,
                }
            }
            let length = self.state.packets[feed.slot as usize].length;
            let mut flit = feed.slot << SLOT_SHIFT;
            if feed.left == length {
                flit |= HEAD;
            }
            if feed.left == 1 {
                flit |= TAIL;
            }
            feed.left -= 1;
            self.state.feeds[node] = feed;
            self.state.queues[queue].held += 1;
            self.state.inside += 1;
            self.arrive(queue, flit);
            any = true;
        }
        any
    }

    /// Takes the next packet of a node if it has started; otherwise waits for its start.
    fn next_packet(&mut self, node: usize) -> Option<Feed> {
        let start = self.state.sources.next_start(node as u32);
        if start > self.cycle {
            // No slot marks a node that already waits for its wake.
            let waits = std::mem::replace(&mut self.state.feeds[node].slot, NONE) == NONE;
            if start != u64::MAX && !waits {
                self.state.wakes.push(Reverse((start, node as u32)));
            }
            return None;
        }
        let (number, packet) = self.state.sources.take(node as u32)?;
        let slot = self.state.place(PacketState {
            destination: packet.destination,
            source: node as u32,
            length: packet.length,
            slice: packet.slice,
            number,
            start: packet.start,
        });
        Some(Feed { slot, left: packet.length })
    }

    /// Step 2: every requested output channel without owner gets one; true if any did.
    fn select_queues(&mut self) -> bool {
        let mut requested = std::mem::take(&mut self.state.requested);
        for &output in &requested {
            self.grant(output);
        }
        let any = !requested.is_empty();
        requested.clear();
        self.state.requested = requested;
        any
    }

    fn grant(&mut self, output: u32) {
        let (layout, state) = (self.layout, &mut self.state);
        let index = output as usize;
        let (port, channel) = (index >> layout.channel_shift, index & ((1 << layout.channel_shift) - 1));
        let list = layout.port_list(port, channel);
        let requests = state.requests[index];
        let mut place = state.rotation[index] as usize;
        while requests >> list[place] & 1 == 0 {
            place = if place + 1 == list.len() { 0 } else { place + 1 };
        }
        let granted = list[place] as usize;
        state.rotation[index] = if place + 1 == list.len() { 0 } else { place as u8 + 1 };

        // Of several channels of one input port, the lowest is granted.
        let first = state.ports[port].node as usize * layout.queues + granted * layout.channels;
        let last = if granted + 1 == layout.ports { first + 1 } else { first + layout.channels };
        let mut asking = (first..last).filter(|&queue| state.queues[queue].target == output);
        let Some(queue) = asking.next() else { return };
        if asking.next().is_none() {
            state.requests[index] &= !(1 << granted);
        }
        state.owners[index] = queue as u32;
        state.queues[queue].granted = true;
        if self.has_space(output, queue) {
            self.set_sendable(output);
        }
    }

    /// Whether the front flit of a queue finds space behind an output channel.
    fn has_space(&self, output: u32, queue: usize) -> bool {
        let (layout, state) = (self.layout, &self.state);
        let port = &state.ports[(output >> layout.channel_shift) as usize];
        if port.downstream == NONE {
            return true;
        }
        let behind = port.downstream + (output & ((1 << layout.channel_shift) - 1));
        let space = layout.buffer - state.queues[behind as usize].held;
        if layout.cut_through {
            let front = self.front(queue);
            if front & HEAD != 0 {
                return u32::from(space) >= state.packets[(front >> SLOT_SHIFT) as usize].length;
            }
        }
        space > 0
    }

    fn front(&self, queue: usize) -> BufferedFlit {
        self.state.rings[queue * self.layout.buffer as usize + self.state.queues[queue].head as usize]
    }

    fn set_sendable(&mut self, output: u32) {
        let shift = self.layout.channel_shift;
        let port = (output >> shift) as usize;
        self.state.ports[port].sendable |= 1 << (output & ((1 << shift) - 1));
        self.state.active[port / 64] |= 1 << (port % 64);
    }

    fn clear_sendable(&mut self, output: u32) {
        let shift = self.layout.channel_shift;
        let port = (output >> shift) as usize;
        let sendable = &mut self.state.ports[port].sendable;
        *sendable &= !(1 << (output & ((1 << shift) - 1)));
        if *sendable == 0 {
            self.state.active[port / 64] &= !(1 << (port % 64));
        }
    }

    /// Step 3: every output port that can send chooses a channel.
    fn select_channels(&mut self) {
        let (layout, state) = (self.layout, &mut self.state);
        state.moves.clear();
        for (word, &bits) in state.active.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let port = &mut state.ports[index];
                port.last = layout.choose(port.choice_base, port.last, port.sendable);
                state.moves.push((index as u32) << layout.channel_shift | u32::from(port.last));
            }
        }
    }

    fn report_blocked<P: Probe>(&self, probe: &mut P) {
        let (layout, state) = (self.layout, &self.state);
        for (index, port) in state.ports.iter().enumerate() {
            if port.link == NONE || port.sendable != 0 {
                continue;
            }
            let first = index << layout.channel_shift;
            let waiting = state.owners[first..first + layout.channels]
                .iter()
                .any(|&owner| owner != NONE && state.queues[owner as usize].ready > 0);
            if waiting {
                probe.link_blocked(self.cycle, port.link);
            }
        }
    }

    /// Step 4, first half: the selected flits leave their queues.
    fn take_flits<P: Probe>(&mut self, probe: &mut P) {
        let moves = std::mem::take(&mut self.state.moves);
        self.state.moving.clear();
        for &output in &moves {
            let queue = self.state.owners[output as usize] as usize;
            let flit = self.front(queue);
            self.state.moving.push(flit);
            let buffer = self.layout.buffer;
            let taken = &mut self.state.queues[queue];
            taken.head = if taken.head + 1 == buffer { 0 } else { taken.head + 1 };
            taken.ready -= 1;
            let was_full = taken.held == buffer;
            taken.held -= 1;
            let (upstream, ready) = (taken.upstream, taken.ready);
            if flit & TAIL != 0 {
                taken.granted = false;
                taken.target = NONE;
                self.free(output);
                if ready > 0 {
                    self.request(queue);
                }
            } else if ready == 0 {
                self.clear_sendable(output);
            }
            if upstream & PROCESSOR != 0 {
                let node = upstream & !PROCESSOR;
                self.state.feeding[node as usize / 64] |= 1 << (node % 64);
                if flit & HEAD != 0 {
                    self.outcome.packets_injected += 1;
                    if P::ACTIVE {
                        probe.packet_injected(self.cycle, self.describe(flit));
                    }
                }
            } else if was_full || self.layout.cut_through {
                self.space_behind(upstream);
            }
        }
        self.state.moves = moves;
    }

    /// An output channel lost its owner.
    fn free(&mut self, output: u32) {
        self.state.owners[output as usize] = NONE;
        self.clear_sendable(output);
        if self.state.requests[output as usize] != 0 {
            self.state.requested.push(output);
        }
    }

    /// The queue behind an output channel has more space than before.
    fn space_behind(&mut self, output: u32) {
        let owner = self.state.owners[output as usize];
        if owner == NONE || self.state.queues[owner as usize].ready == 0 {
            return;
        }
        if self.has_space(output, owner as usize) {
            self.set_sendable(output);
        }
    }

    /// Step 4, second half: the selected flits reach the next queues or the processors.
    fn bring_flits<P: Probe>(&mut self, probe: &mut P) {
        let layout = self.layout;
        let moves = std::mem::take(&mut self.state.moves);
        let moving = std::mem::take(&mut self.state.moving);
        let slot = (self.cycle % layout.latency as u64) as usize;
        for (&output, &flit) in moves.iter().zip(&moving) {
            let port = self.state.ports[(output >> layout.channel_shift) as usize];
            if port.downstream == NONE {
                self.eject(port.node, flit, probe);
                continue;
            }
            let channel = output & ((1 << layout.channel_shift) - 1);
            self.outcome.flit_hops += 1;
            if P::ACTIVE {
                probe.flit_crosses(self.cycle, port.link, channel as u8, self.describe(flit));
            }
            let queue = (port.downstream + channel) as usize;
            let behind = &mut self.state.queues[queue];
            behind.held += 1;
            if behind.held == layout.buffer {
                self.clear_sendable(output);
            }
            if layout.latency == 1 {
                self.arrive(queue, flit);
            } else {
                let due = (slot + layout.latency - 1) % layout.latency;
                self.state.wheel[due].push((queue as u32, flit));
                self.state.on_links += 1;
            }
        }
        self.state.moves = moves;
        self.state.moving = moving;
        if layout.latency > 1 {
            let mut due = std::mem::take(&mut self.state.wheel[slot]);
            self.state.on_links -= due.len() as u64;
            for (queue, flit) in due.drain(..) {
                self.arrive(queue as usize, flit);
            }
            self.state.wheel[slot] = due;
        }
    }

    /// A flit enters a queue.
    fn arrive(&mut self, queue: usize, flit: BufferedFlit) {
        let buffer = self.layout.buffer;
        let entered = &mut self.state.queues[queue];
        let mut place = entered.head + entered.ready;
        if place >= buffer {
            place -= buffer;
        }
        entered.ready += 1;
        let (first, granted, target) = (entered.ready == 1, entered.granted, entered.target);
        self.state.rings[queue * buffer as usize + place as usize] = flit;
        if first {
            if target == NONE {
                self.request(queue);
            } else if granted && self.has_space(target, queue) {
                self.set_sendable(target);
            }
        }
    }

    /// The front flit of a queue is a header: it requests its output channel.
    fn request(&mut self, queue: usize) {
        let layout = self.layout;
        let slot = self.front(queue) >> SLOT_SHIFT;
        let destination = self.state.packets[slot as usize].destination as usize;
        let node = queue / layout.queues;
        let port_of_queue = (queue % layout.queues) / layout.channels;
        let channel = self.state.queues[queue].channel as usize;
        let (port, channel) = layout.route(node, channel, destination);
        let output = (node * layout.ports + port) << layout.channel_shift | channel;
        self.state.queues[queue].target = output as u32;
        let requests = &mut self.state.requests[output];
        if *requests == 0 && self.state.owners[output] == NONE {
            self.state.requested.push(output as u32);
        }
        *requests |= 1 << port_of_queue;
    }

    fn eject<P: Probe>(&mut self, node: u32, flit: BufferedFlit, probe: &mut P) {
        if P::ACTIVE {
            probe.flit_ejected(self.cycle, node, self.describe(flit));
        }
        self.state.inside -= 1;
        self.outcome.flits_delivered += 1;
        self.outcome.duration = self.cycle + 2;
        if flit & TAIL != 0 {
            let slot = flit >> SLOT_SHIFT;
            self.outcome.packets_delivered += 1;
            self.outcome.latency_sum += self.cycle - self.state.packets[slot as usize].start;
            self.outcome.fingerprint = self.outcome.fingerprint.wrapping_add(fingerprint(self.cycle, node));
            self.state.free_slots.push(slot);
        }
    }

    fn describe(&self, flit: BufferedFlit) -> Flit {
        let packet = &self.state.packets[(flit >> SLOT_SHIFT) as usize];
        Flit {
            source: packet.source,
            number: packet.number,
            start: packet.start,
            slice: packet.slice,
            head: flit & HEAD != 0,
            tail: flit & TAIL != 0,
        }
    }
}
