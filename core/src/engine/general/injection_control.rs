//! Who must wait before injecting: a header that a throttle holds requests nothing.
//!
//! Headers at the front of processor queues that want to leave over a link and own no output channel are
//! *pending*. Once per cycle the throttle says who of them may begin; those request their output channel,
//! the requests of others are taken back. Through traffic is never held.

use super::{
    holding::Rule,
    layout::{Layout, NONE, Place},
    masks::Owners,
    record::Record,
    state::State,
    throttling::Throttling,
};
use crate::{
    bits::{Vector, ones, words, words_mut},
    fabric::{Direction, NodeId},
    throttle::{Ask, AtWork, Seen, Sums},
};

impl<V: Vector, R: Record> State<V, R> {
    /// A header at the front of a processor queue wants to leave over an output channel.
    #[inline(never)]
    pub(super) fn wait_for_throttle(&mut self, layout: &Layout, place: Place, output: usize) {
        let Some(throttling) = &mut self.throttling else { return };
        let line = layout.line(place.node(), place.index());
        throttling.output[line] = output as u8;
        throttling.since[line] = throttling.cycle;
        throttling.pending.set(place.index() - layout.link_queues, place.node(), true);
        self.tell_throttle(layout, place);
    }

    /// A rule that keeps something of the header that waits in a processor queue is told of it.
    fn tell_throttle(&mut self, layout: &Layout, place: Place) {
        let keeps = |throttling: &mut Box<Throttling<V>>| {
            throttling.in_words && matches!(throttling.rule, Rule::Paths(_))
        };
        let Some(mut throttling) = self.throttling.take_if(keeps) else { return };
        if let Rule::Paths(paths) = &mut throttling.rule {
            let line = layout.line(place.node(), place.index());
            let ask = self.question(layout, place, throttling.output[line].into(), throttling.since[line]);
            paths.wait(layout, place, &ask);
        }
        self.throttling = Some(throttling);
    }

    /// The same for all headers, in the order in which they came.
    pub(super) fn tell_throttle_again(&mut self, layout: &Layout) {
        let Some(throttling) = &self.throttling else { return };
        let places = (0..layout.nodes)
            .flat_map(|node| (layout.link_queues..layout.queues).map(move |queue| Place::new(node, queue)));
        let mut waiting: Vec<Place> = places.filter(|&place| throttling.is_pending(layout, place)).collect();
        waiting.sort_by_key(|place| throttling.since[layout.line(place.node(), place.index())]);
        waiting.into_iter().for_each(|place| self.tell_throttle(layout, place));
    }

    /// The throttle looks at the network.
    #[inline(always)]
    pub(super) fn observe_for_throttle(&mut self, layout: &Layout, cycle: u64) {
        let Some(mut throttling) = self.throttling.take() else { return };
        let blocks = self.blocks;
        throttling.cycle = cycle;
        let Throttling { rule, since, held, sums, .. } = &mut *throttling;
        let counts = if layout.latency > 1 { &self.held } else { &self.counts };
        match rule {
            Rule::State(state) => {
                let sums = sums.take().unwrap_or_else(|| self.sums(*held));
                state.observe(cycle, sums, &View { state: self, layout });
            }
            Rule::Lines(lines) => lines.signals.step(layout, counts, &self.levels, blocks, self.count_bits),
            Rule::Paths(paths) => {
                paths.tell_turns(layout, cycle, blocks);
                paths.signals.step(layout, counts, &self.levels, blocks, self.count_bits);
                paths.let_go(layout, cycle, since);
            }
            Rule::Bends(bends) => bends.step(layout, counts, &self.levels, blocks, self.count_bits),
            Rule::Pauses(pauses) => pauses.wake(cycle),
            Rule::Useful(useful) => useful.look(layout, counts, &self.levels, blocks, self.count_bits),
        }
        throttling.held = false;
        self.throttling = Some(throttling);
    }

    /// The throttle says who of the pending headers may begin; those request. True if anybody waits.
    #[inline(always)]
    pub(super) fn hold_all(&mut self, layout: &Layout) -> bool {
        let Some(mut throttling) = self.throttling.take() else { return false };
        let (cycle, blocks) = (throttling.cycle, self.blocks);
        let (mut waits, mut holds) = (false, throttling.held);
        let all = match &throttling.rule {
            Rule::State(state) => state.all_may_begin(cycle),
            _ => None,
        };
        for block in 0..blocks {
            for queue in 0..layout.processor_queues {
                let pending = throttling.pending.block(block)[queue];
                if !pending.any() {
                    continue;
                }
                waits = true;
                if self.demands.reconsiders {
                    // They were asked when they chose.
                    continue;
                }
                let may = match (&throttling.rule, all) {
                    (Rule::Lines(lines), _) if throttling.in_words => {
                        lines.may(pending, queue, block * V::WORDS)
                    }
                    (Rule::Paths(paths), _) if throttling.in_words => {
                        paths.may(layout, pending, block, queue)
                    }
                    (Rule::Useful(useful), _) if throttling.in_words => {
                        let registers = self.registers.as_deref();
                        let owners = Owners {
                            pairs: &self.pairs,
                            own: self.own.block(block),
                            registers: registers.map(|all| (all.full.block(block), all.tail.block(block))),
                        };
                        useful.may(layout, pending, block, queue, &owners)
                    }
                    (Rule::Pauses(pauses), _) => pauses.may(pending, block),
                    (Rule::State(_), Some(true)) => pending,
                    (Rule::State(_), Some(false)) => V::zero(),
                    _ => self.ask_each(layout, &throttling, pending, block, queue),
                };
                holds |= (pending & !may).any();
                let requests = &mut throttling.requests.block_mut(block)[queue];
                let change = *requests ^ may;
                *requests = may;
                if change.any() {
                    self.change_requests(layout, &throttling.output, change, may, block, queue);
                }
            }
        }
        throttling.held = holds;
        self.throttling = Some(throttling);
        waits
    }

    /// Sums over this network.
    fn sums(&self, held: bool) -> Sums {
        Sums {
            // More may arrive in a part than began there.
            in_flight: self.outcome.packets_injected.wrapping_sub(self.outcome.packets_delivered),
            ejected: self.outcome.flits_delivered,
            held,
        }
    }

    /// In a cycle in which the throttle goes by sums over the whole network, those over this part.
    pub(super) fn sums_of_part(&self, cycle: u64) -> Option<[u64; 3]> {
        let throttling = self.throttling.as_ref()?;
        let Rule::State(state) = &throttling.rule else { return None };
        if !state.asks_for_sums(cycle) {
            return None;
        }
        let Sums { in_flight, ejected, held } = self.sums(throttling.held || state.has_held());
        Some([in_flight, ejected, held.into()])
    }

    /// Takes those over the whole.
    pub(super) fn take_sums(&mut self, [in_flight, ejected, held]: [u64; 3]) {
        if let Some(throttling) = &mut self.throttling {
            throttling.sums = Some(Sums { in_flight, ejected, held: held > 0 });
        }
    }

    /// Of pending headers those that may begin, asked one by one.
    #[inline(never)]
    fn ask_each(
        &self,
        layout: &Layout,
        throttling: &Throttling<V>,
        pending: V,
        block: usize,
        queue: usize,
    ) -> V {
        let mut may = V::zero();
        let (from, to) = (words(std::slice::from_ref(&pending)), words_mut(std::slice::from_mut(&mut may)));
        for ((word, &bits), may) in (block * V::WORDS..).zip(from).zip(to) {
            for bit in ones(bits) {
                let place = Place::new(word * 64 + bit, layout.link_queues + queue);
                let output = throttling.output[layout.line(place.node(), place.index())].into();
                *may |= u64::from(self.may_begin(layout, throttling, place, output)) << bit;
            }
        }
        may
    }

    fn may_begin(&self, layout: &Layout, throttling: &Throttling<V>, place: Place, output: usize) -> bool {
        let since = throttling.since[layout.line(place.node(), place.index())];
        match &throttling.rule {
            Rule::State(state) => {
                let ask = if state.asks_the_way() {
                    self.question(layout, place, output, since)
                } else {
                    self.first_hop(layout, place, output, since)
                };
                state.may_begin(throttling.cycle, &ask, &View { state: self, layout })
            }
            Rule::Lines(lines) => {
                lines.may_begin(place.node(), layout.port_of_output(output), output % layout.channels)
            }
            Rule::Paths(paths) => {
                let ask = self.question(layout, place, output, since);
                paths.may_begin(layout, throttling.cycle, &ask)
            }
            Rule::Bends(bends) => {
                let ask = self.question(layout, place, output, since);
                bends.may_begin(throttling.cycle, &ask)
            }
            Rule::Pauses(pauses) => pauses.may_begin(place.node()),
            Rule::Useful(useful) => {
                let ask = self.first_hop(layout, place, output, since);
                useful.alo.may_begin(throttling.cycle, &ask, &View { state: self, layout })
            }
        }
    }

    /// Where headers choose anew in every cycle: one is at the front of a processor queue.
    pub(super) fn come_to_front(&mut self, layout: &Layout, place: Place) {
        let Some(throttling) = &mut self.throttling else { return };
        if !throttling.is_pending(layout, place) {
            throttling.pending.set(place.index() - layout.link_queues, place.node(), true);
            throttling.since[layout.line(place.node(), place.index())] = throttling.cycle;
        }
    }

    /// Whether no header of a node may leave it, whichever link it chooses, and one was held in this cycle.
    #[inline(always)]
    pub(super) fn holds_everything(&self, node: usize) -> bool {
        self.throttling.as_ref().is_some_and(|throttling| {
            throttling.held
                && match &throttling.rule {
                    Rule::State(state) => state.all_may_begin(throttling.cycle) == Some(false),
                    Rule::Pauses(pauses) => !pauses.may_begin(node),
                    _ => false,
                }
        })
    }

    /// The same one chose an output channel that is a link: whether it may begin.
    pub(super) fn lets_begin(&mut self, layout: &Layout, place: Place, output: usize) -> bool {
        let Some(throttling) = &self.throttling else { return true };
        let may = self.may_begin(layout, throttling, place, output);
        if let Some(throttling) = &mut self.throttling {
            throttling.held |= !may;
        }
        may
    }

    /// Headers of a processor queue request their output channels, or take that back.
    #[inline(never)]
    fn change_requests(
        &mut self,
        layout: &Layout,
        outputs: &[u8],
        change: V,
        may: V,
        block: usize,
        queue: usize,
    ) {
        let (change, may) = (words(std::slice::from_ref(&change)), words(std::slice::from_ref(&may)));
        for ((word, &bits), &may) in (block * V::WORDS..).zip(change).zip(may) {
            self.wanted.reserve(bits.count_ones() as usize);
            for bit in ones(bits) {
                let place = Place::new(word * 64 + bit, layout.link_queues + queue);
                let output = usize::from(outputs[layout.line(place.node(), place.index())]);
                let request = layout.bit_of_queue(place.node(), output, place.index());
                let record = &mut self.outputs[place.node() * layout.outputs + output];
                if may >> bit & 1 == 1 {
                    self.wanted.put(Place::new(place.node(), output), record.is_idle());
                    *record = record.ask(request);
                } else {
                    *record = record.withdraw(request);
                }
            }
        }
    }

    /// What a throttle is asked about the header at the front of a processor queue.
    fn question(&self, layout: &Layout, place: Place, output: usize, since: u64) -> Ask {
        let node = place.node();
        let slot = self.fifo(layout, place).front;
        let direction = Direction::from_index(layout.port_of_output(output));
        let packet = self.packets.packet(slot);
        let (hops, turn) = match &self.routes {
            Some(routes) if packet.route != NONE => {
                // The first step was taken with the request.
                let steps = routes.steps().get(packet.route as usize..).unwrap_or_default();
                let straight =
                    steps.iter().take_while(|&&step| usize::from(step) == direction.index()).count();
                let next = steps.get(straight).map(|&step| usize::from(step));
                let turn = next.filter(|&next| next < layout.directions).map(Direction::from_index);
                (straight as u32 + 1, turn)
            }
            _ => layout.straight(node, direction, self.packets.way(slot)),
        };
        Ask { hops, turn, ..self.first_hop(layout, place, output, since) }
    }

    /// The same as far as its first hop.
    fn first_hop(&self, layout: &Layout, place: Place, output: usize, since: u64) -> Ask {
        Ask {
            node: place.node() as NodeId,
            direction: Direction::from_index(layout.port_of_output(output)),
            channel: (output % layout.channels) as u8,
            hops: 0,
            turn: None,
            since,
        }
    }
}

/// What routers see of their outputs.
struct View<'s, V: Vector, R: Record> {
    state: &'s State<V, R>,
    layout: &'s Layout,
}

impl<V: Vector, R: Record> View<'_, V, R> {
    fn held(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u32> {
        self.layout.shape.neighbour(self.layout.first as NodeId + node, direction)?;
        let next = self.layout.links[direction.index()].neighbour(node as usize);
        let output = direction.index() * self.layout.channels + usize::from(channel);
        Some(self.state.held_by(self.layout, next, self.layout.queue_behind[output].into()))
    }
}

impl<V: Vector, R: Record> Seen for View<'_, V, R> {
    fn free(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u16> {
        self.held(node, direction, channel).map(|held| (self.layout.buffer - held) as u16)
    }

    fn is_empty(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        let output = direction.index() * self.layout.channels + usize::from(channel);
        let next = self.layout.links[direction.index()].neighbour(node as usize);
        if self.layout.latency > 1 || next >= self.layout.nodes {
            return self.held(node, direction, channel) == Some(0);
        }
        !self.state.nonempty.bit(self.layout.queue_behind[output].into(), next)
    }

    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        let output = direction.index() * self.layout.channels + usize::from(channel);
        self.state.output(self.layout, Place::new(node as usize, output)).owner() != 0
    }
}
