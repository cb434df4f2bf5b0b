use super::{
    channels::{BufferedFlit, EJECTION, HEAD, SLOT_SHIFT, TAIL, Taken},
    deadlock,
    layout::{CHOICE_BITS, Layout, NONE},
    observe,
    state::{Feed, PacketState, State},
};
use crate::{
    engine::{
        Network, Options, Outcome, SimulationError, fingerprint, lateness,
        protocol::{Clock, Engine, Motion, Rest, advance},
    },
    fabric::Direction,
    probe::{Flit, Probe},
    save::{Archive, SaveError},
    traffic::{Routes, Sources, WorkloadError},
};
use std::{cmp::Reverse, sync::Arc};

/// A simulation under way.
#[derive(Clone)]
pub(super) struct Run<const SHIFT: u32, const BASIC: bool> {
    network: Network,
    layout: Arc<Layout>,
    state: State,
    rules: SliceRules,
    outcome: Outcome,
    /// The cycle under way.
    cycle: u64,
}

/// What nodes do when they have received a packet; see [`Options`].
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceRules {
    reinitialise: bool,
    interlock: bool,
}

impl From<&Options<'_>> for SliceRules {
    fn from(options: &Options) -> Self {
        Self { reinitialise: options.reinitialise_slices, interlock: options.interlock_slices }
    }
}

impl<P: Probe, const SHIFT: u32, const BASIC: bool> Motion<P> for Run<SHIFT, BASIC> {
    #[inline(always)]
    fn decide(&mut self, cycle: u64, probe: &mut P) -> bool {
        self.cycle = cycle;
        let mut changed = self.top_up();
        let asked = if P::ARBITRATION { self.state.channels.requested.clone() } else { Vec::new() };
        changed |= self.select_queues();
        if P::BLOCKED {
            self.report_blocked(probe);
        }
        self.select_channels();
        if P::ARBITRATION {
            let State { channels, packets, moves, .. } = &self.state;
            observe::queue_selections(&self.layout, channels, packets, &asked, cycle, probe);
            observe::channel_selections(&self.layout, channels, packets, moves, cycle, probe);
        }
        changed || !self.state.moves.is_empty() || self.state.on_links > 0
    }

    #[inline(always)]
    fn arrive(&mut self, _cycle: u64, probe: &mut P) {
        if self.rules.reinitialise || self.rules.interlock {
            observe::receivers(
                &self.layout,
                &self.state.channels,
                &self.state.moves,
                &mut self.state.receivers,
            );
        }
        self.move_flits(probe);
    }

    #[inline(always)]
    fn account(&mut self, _cycle: u64, _probe: &mut P) {
        if self.rules.reinitialise || self.rules.interlock {
            self.receive();
        }
    }

    fn rest(&self, cycle: u64) -> Rest {
        match self.state.wakes.peek() {
            // Nothing can change before the next packet starts.
            Some(&Reverse((start, _))) => Rest::Until(start.max(cycle + 1)),
            None if self.state.inside == 0 => Rest::Finished,
            None => Rest::Stuck,
        }
    }
}

impl<P: Probe, const SHIFT: u32, const BASIC: bool> Engine<P> for Run<SHIFT, BASIC> {
    fn advance(&mut self, cycle: &mut u64, until: u64, probe: &mut P) -> Option<Rest> {
        advance(self, cycle, until, probe)
    }

    fn routers(&self) -> usize {
        self.layout.nodes
    }

    fn delivered(&self) -> u64 {
        self.outcome.packets_delivered
    }

    fn check(&self, cycle: u64) -> Result<(), SimulationError> {
        deadlock::check(&self.network, &self.layout, &self.state, cycle)
    }

    fn finished(&self, cycle: u64) -> Result<(), SimulationError> {
        // With nothing under way, nobody may still wait for a packet to arrive.
        let waits = |node: &u32| self.state.sources.next_start(*node) != u64::MAX;
        let mut waiting = (0..self.layout.nodes as u32).filter(waits);
        match waiting.next() {
            None => Ok(()),
            Some(node) => Err(SimulationError::Interlocked { cycle, node, count: 1 + waiting.count() }),
        }
    }

    fn stuck(&self, cycle: u64, _options: &Options) -> SimulationError {
        deadlock::report(&self.network, &self.layout, &self.state, cycle)
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        let mut outcome = self.outcome.clone();
        outcome.cycles = clock.cycle;
        if clock.finished {
            outcome.cycles = outcome.duration.saturating_sub(1);
            outcome.makespan = self.state.sources.makespan().map_err(WorkloadError::from)?;
        }
        Ok(outcome)
    }

    fn occupancy(&self) -> Vec<u16> {
        let (layout, directions) = (&self.layout, self.layout.ports - 1);
        let mut flits = Vec::with_capacity(layout.nodes * directions * layout.channels);
        for node in 0..layout.nodes {
            for direction in (0..directions).map(Direction::from_index) {
                // Flits come in through the port that faces where they came from.
                let port = direction.opposite().index();
                let first = node * layout.queues + port * layout.channels;
                let queues = &self.state.channels.queues[first..first + layout.channels];
                flits.extend(queues.iter().map(|queue| queue.ready()));
            }
        }
        flits
    }

    fn copy(&self) -> Box<dyn Engine<P>> {
        Box::new(self.clone())
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        self.outcome.fields(archive)?;
        self.state.fields(&self.layout, archive)
    }
}

impl<const SHIFT: u32, const BASIC: bool> Run<SHIFT, BASIC> {
    pub fn new(
        network: Network,
        layout: Arc<Layout>,
        sources: Sources,
        longest: u32,
        rules: SliceRules,
    ) -> Self {
        let state = State::new(&layout, sources, longest);
        Self { network, layout, state, rules, outcome: Outcome::default(), cycle: 0 }
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
        while self.state.channels.queues[queue].held() < self.layout.buffer {
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
            self.state.inside += 1;
            let mut channels =
                self.state.channels.as_mut::<SHIFT, BASIC>(&self.layout, steps_of(&self.state.routes));
            channels.reserve_feed(queue);
            channels.arrive(queue, flit, &mut self.state.packets);
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
        // An interlocked node looks again when a packet for it arrives.
        let taken = self.state.sources.taken(node as u32);
        if self.rules.interlock && !self.state.interlock.may_take(node as u32, taken) {
            return None;
        }
        let (number, packet) = self.state.sources.take(node as u32, self.cycle)?;
        let State { sources, routes, .. } = &mut self.state;
        let route = sources.route(node as u32, number, packet.destination, routes);
        let (route, first_channel) = route.unwrap_or((NONE, 0));
        let wakes = &mut self.state.wakes;
        // Taking the last packet of a message may let others start.
        self.state.sources.refresh(&mut |node, start| wakes.push(Reverse((start, node))));
        let slot = self.state.place(PacketState {
            destination: packet.destination,
            source: node as u32,
            length: packet.length,
            slice: packet.slice,
            number,
            start: packet.start,
            route,
            first_channel,
        });
        Some(Feed { slot, left: packet.length })
    }

    /// Step 2: every requested output channel without owner gets one; true if any did.
    fn select_queues(&mut self) -> bool {
        let mut channels =
            self.state.channels.as_mut::<SHIFT, BASIC>(&self.layout, steps_of(&self.state.routes));
        let mut any = false;
        // Bubbles may refuse everybody; such a request stays.
        let mut refused = 0;
        while channels.requested.len() > refused {
            let output = channels.requested[refused];
            if channels.grant(output, &mut self.state.packets) {
                channels.requested.swap_remove(refused);
                any = true;
            } else {
                refused += 1;
            }
        }
        any
    }

    /// Step 3: every output port that can send chooses a channel.
    fn select_channels(&mut self) {
        let (layout, state) = (&*self.layout, &mut self.state);
        let (rows, choices) = (&mut state.rows[..], &layout.choices[..]);
        let channels = layout.channels;
        state.moves.clear();
        let words = (rows.len() << SHIFT).div_ceil(64);
        for (word, masks) in state.channels.masks[..words].iter().enumerate() {
            let sendable = masks.ready & masks.space;
            let mut ports = any_channel::<SHIFT>(sendable);
            while ports != 0 {
                let place = ports.trailing_zeros();
                ports &= ports - 1;
                let first = (word * 64) as u32 + place;
                let port = (first >> SHIFT) as usize;
                let mask = (sendable >> place) as usize & ((1 << (1 << SHIFT)) - 1);
                let choice = choices[(usize::from(rows[port]) << channels) + mask];
                rows[port] = choice >> CHOICE_BITS;
                state.moves.push(first | u32::from(choice) & ((1 << CHOICE_BITS) - 1));
            }
        }
    }

    fn report_blocked<P: Probe>(&self, probe: &mut P) {
        let (layout, state) = (&*self.layout, &self.state);
        let directions = layout.ports - 1;
        for index in 0..state.rows.len() {
            let (node, port) = (index / layout.ports, index % layout.ports);
            let (ready, sendable) = state.channels.port_masks(layout, index);
            if port < directions && ready != 0 && sendable == 0 {
                probe.link_blocked(self.cycle, (node * directions + port) as u32);
            }
        }
    }

    /// The rules that act when a node has received a packet.
    fn receive(&mut self) {
        let nodes = std::mem::take(&mut self.state.receivers);
        for &node in &nodes {
            let node = node as usize;
            if self.rules.reinitialise {
                let ports = node * self.layout.ports..(node + 1) * self.layout.ports;
                self.state.rows[ports.clone()].copy_from_slice(&self.layout.first_rows[ports.clone()]);
                let shift = self.layout.channel_shift;
                for output in &mut self.state.channels.outputs[ports.start << shift..ports.end << shift] {
                    output.rotation = 0;
                }
            }
            if self.rules.interlock {
                self.state.interlock.count(node as u32);
                self.state.feeding[node / 64] |= 1 << (node % 64);
            }
        }
        self.state.receivers = nodes;
    }

    /// Step 4: the selected flits move. Everything was decided before, and no flit arrives in a
    /// queue that could have sent without it, so the order of the moves does not matter.
    fn move_flits<P: Probe>(&mut self, probe: &mut P) {
        let layout = &*self.layout;
        let moves = std::mem::take(&mut self.state.moves);
        let mut hops = 0;
        let mut channels = self.state.channels.as_mut::<SHIFT, BASIC>(layout, steps_of(&self.state.routes));
        let first_feed = layout.feed(0);
        for &output in &moves {
            let Taken { flit, queue, upstream, behind } = channels.take(output, &mut self.state.packets);
            if upstream >= first_feed {
                let node = upstream - first_feed;
                self.state.feeding[node as usize / 64] |= 1 << (node % 64);
                if flit & HEAD != 0 {
                    self.outcome.packets_injected += 1;
                    if P::ACTIVE {
                        probe.packet_injected(self.cycle, describe(&self.state.packets, flit));
                    }
                }
            }
            if flit & TAIL != 0 {
                channels.reborrow().free(output, queue, &mut self.state.packets);
            }
            if behind & EJECTION != 0 {
                let node = behind & !EJECTION;
                if P::ACTIVE {
                    probe.flit_ejected(self.cycle, node, describe(&self.state.packets, flit));
                }
                self.state.inside -= 1;
                self.outcome.flits_delivered += 1;
                self.outcome.duration = self.cycle + 2;
                if flit & TAIL != 0 {
                    let slot = flit >> SLOT_SHIFT;
                    self.outcome.packets_delivered += 1;
                    self.outcome.latency_sum += self.cycle - self.state.packets[slot as usize].start;
                    self.outcome.lateness += lateness(self.cycle);
                    let share = fingerprint(self.cycle, node);
                    self.outcome.fingerprint = self.outcome.fingerprint.wrapping_add(share);
                    self.state.free_slots.push(slot);
                    if self.state.sources.listens() {
                        let slice = self.state.packets[slot as usize].slice;
                        let wakes = &mut self.state.wakes;
                        let wake = |node, start: u64| wakes.push(Reverse((start.max(self.cycle + 1), node)));
                        self.state.sources.delivered(slice, self.cycle, wake);
                    }
                }
                continue;
            }
            hops += 1;
            if P::ACTIVE {
                let (link, channel) = layout.link(output);
                probe.flit_crosses(self.cycle, link, channel, describe(&self.state.packets, flit));
            }
            channels.reserve(output, behind, &mut self.state.packets);
            if BASIC || layout.latency == 1 {
                channels.arrive(behind as usize, flit, &mut self.state.packets);
            } else {
                let due = (self.cycle + layout.latency as u64 - 1) % layout.latency as u64;
                self.state.wheel[due as usize].push((behind, flit));
                self.state.on_links += 1;
            }
        }
        self.outcome.flit_hops += hops;
        self.state.moves = moves;
        if !BASIC && layout.latency > 1 {
            let mut channels =
                self.state.channels.as_mut::<SHIFT, BASIC>(layout, steps_of(&self.state.routes));
            let due = &mut self.state.wheel[(self.cycle % layout.latency as u64) as usize];
            self.state.on_links -= due.len() as u64;
            for (queue, flit) in due.drain(..) {
                channels.arrive(queue as usize, flit, &mut self.state.packets);
            }
        }
    }
}

/// Direction indices of all given routes.
fn steps_of(routes: &Option<Arc<Routes>>) -> &[u8] {
    routes.as_ref().map_or(&[], |routes| routes.steps())
}

fn describe(packets: &[PacketState], flit: BufferedFlit) -> Flit {
    packets[(flit >> SLOT_SHIFT) as usize].describe(flit)
}

/// The first channel of every port that has any of its channels in `mask`.
fn any_channel<const SHIFT: u32>(mask: u64) -> u64 {
    let pairs = mask | mask >> 1;
    let fours = pairs | pairs >> 2;
    if SHIFT == 2 { fours & 0x1111_1111_1111_1111 } else { (fours | fours >> 4) & 0x0101_0101_0101_0101 }
}
