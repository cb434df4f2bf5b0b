//! Who must wait before injecting: a header that a throttle holds requests nothing.
//!
//! Headers at the front of processor queues that want to leave over a link and own no output channel are
//! *pending*. Once per cycle the throttle says who of them may begin; those request their output channel,
//! the requests of others are taken back. Through traffic is never held.

use super::super::{
    injection_control::InjectionControl,
    layout::{Layout, NONE, Place},
    queues::Queues,
    record::Record,
    state::State,
    throttles::{Around, Flits, InWords, Owners},
};
use crate::{
    bits::{Vector, ones, words, words_mut},
    fabric::{Direction, NodeId},
    throttle::{Ask, Seen, Sums},
};

impl<V: Vector, R: Record> State<V, R> {
    /// A header at the front of a processor queue wants to leave over an output channel.
    #[inline(never)]
    pub(in crate::engine::general) fn wait_for_throttle(
        &mut self,
        layout: &Layout,
        place: Place,
        output: usize,
    ) {
        let Some(control) = &mut self.injection_control else { return };
        let line = layout.line(place.node(), place.index());
        control.output[line] = output as u8;
        control.since[line] = control.cycle;
        control.pending.set(place.index() - layout.link_queues, place.node(), true);
        self.update_throttle(layout, place);
    }

    /// A rule that keeps something of the header that waits in a processor queue is told of it.
    fn update_throttle(&mut self, layout: &Layout, place: Place) {
        let keeps = |control: &mut Box<InjectionControl<V>>| control.rule.keeps_headers();
        let Some(mut control) = self.injection_control.take_if(keeps) else { return };
        let (since, output) = control.waits_for(layout, place);
        let ask = self.question(layout, place, output, since);
        control.rule.wait(layout, place, &ask);
        self.injection_control = Some(control);
    }

    /// The same for all headers, in the order in which they came.
    pub(in crate::engine::general) fn restore_throttle(&mut self, layout: &Layout) {
        let Some(control) = &self.injection_control else { return };
        let places = (0..layout.nodes)
            .flat_map(|node| (layout.link_queues..layout.queues).map(move |queue| Place::new(node, queue)));
        let mut waiting: Vec<Place> = places.filter(|&place| control.is_pending(layout, place)).collect();
        waiting.sort_by_key(|place| control.since[layout.line(place.node(), place.index())]);
        waiting.into_iter().for_each(|place| self.update_throttle(layout, place));
    }

    /// The throttle looks at the network.
    #[inline(always)]
    pub(in crate::engine::general) fn observe_for_throttle(&mut self, layout: &Layout, cycle: u64) {
        let Some(mut control) = self.injection_control.take() else { return };
        control.cycle = cycle;
        let InjectionControl { rule, since, output, held, sums, .. } = &mut *control;
        let sums = sums.take().unwrap_or_else(|| self.sums(*held));
        rule.observe(&View { state: self, layout, cycle, sums, since, output });
        control.held = false;
        self.injection_control = Some(control);
    }

    /// The throttle says who of the pending headers may begin; those request. True if anybody waits.
    #[inline(always)]
    pub(in crate::engine::general) fn hold_all(&mut self, layout: &Layout) -> bool {
        let Some(mut control) = self.injection_control.take() else { return false };
        let (mut waits, mut holds) = (false, control.held);
        for block in 0..self.blocks {
            for queue in 0..layout.processor_queues {
                let pending = control.pending.block(block)[queue];
                if !pending.any() {
                    continue;
                }
                waits = true;
                if self.demands.reconsiders {
                    // They were asked when they chose.
                    continue;
                }
                let around = self.around(layout, &control);
                let may = match control.rule.may(&around, pending, block, queue) {
                    Some(may) => may,
                    None => self.ask_each(layout, &control, pending, block, queue),
                };
                holds |= (pending & !may).any();
                let requests = &mut control.requests.block_mut(block)[queue];
                let change = *requests ^ may;
                *requests = may;
                if change.any() {
                    self.change_requests(layout, &control.output, change, may, block, queue);
                }
            }
        }
        control.held = holds;
        self.injection_control = Some(control);
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
    pub(in crate::engine::general) fn sums_of_part(&self, cycle: u64) -> Option<[u64; 3]> {
        let control = self.injection_control.as_ref()?;
        let has_held = control.rule.asks_for_sums(cycle)?;
        let Sums { in_flight, ejected, held } = self.sums(control.held || has_held);
        Some([in_flight, ejected, held.into()])
    }

    /// Takes those over the whole.
    pub(in crate::engine::general) fn take_sums(&mut self, [in_flight, ejected, held]: [u64; 3]) {
        if let Some(control) = &mut self.injection_control {
            control.sums = Some(Sums { in_flight, ejected, held: held > 0 });
        }
    }

    /// Of pending headers those that may begin, asked one by one.
    #[inline(never)]
    fn ask_each(
        &self,
        layout: &Layout,
        control: &InjectionControl<V>,
        pending: V,
        block: usize,
        queue: usize,
    ) -> V {
        let mut may = V::zero();
        let (from, to) = (words(std::slice::from_ref(&pending)), words_mut(std::slice::from_mut(&mut may)));
        for ((word, &bits), may) in (block * V::WORDS..).zip(from).zip(to) {
            for bit in ones(bits) {
                let place = Place::new(word * 64 + bit, layout.link_queues + queue);
                let (_, output) = control.waits_for(layout, place);
                *may |= u64::from(self.may_begin(layout, control, place, output)) << bit;
            }
        }
        may
    }

    fn may_begin(&self, layout: &Layout, control: &InjectionControl<V>, place: Place, output: usize) -> bool {
        control.rule.may_begin(&self.around(layout, control), place, output)
    }

    /// What a throttle at work may look at.
    #[inline(always)]
    fn around<'s>(&'s self, layout: &'s Layout, control: &'s InjectionControl<V>) -> View<'s, V, R> {
        let InjectionControl { since, output, cycle, .. } = control;
        View { state: self, layout, cycle: *cycle, sums: Sums::default(), since, output }
    }

    /// Where headers choose anew in every cycle: one is at the front of a processor queue.
    pub(in crate::engine::general) fn come_to_front(&mut self, layout: &Layout, place: Place) {
        let Some(control) = &mut self.injection_control else { return };
        if !control.is_pending(layout, place) {
            control.pending.set(place.index() - layout.link_queues, place.node(), true);
            control.since[layout.line(place.node(), place.index())] = control.cycle;
        }
    }

    /// Whether no header of a node may leave it, whichever link it chooses, and one was held in this cycle.
    #[inline(always)]
    pub(in crate::engine::general) fn holds_everything(&self, node: usize) -> bool {
        self.injection_control
            .as_ref()
            .is_some_and(|control| control.held && control.rule.holds_everything(control.cycle, node))
    }

    /// The same one chose an output channel that is a link: whether it may begin.
    pub(in crate::engine::general) fn lets_begin(
        &mut self,
        layout: &Layout,
        place: Place,
        output: usize,
    ) -> bool {
        let Some(control) = &self.injection_control else { return true };
        let may = self.may_begin(layout, control, place, output);
        if let Some(control) = &mut self.injection_control {
            control.held |= !may;
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
            self.requests.wanted.reserve(bits.count_ones() as usize);
            for bit in ones(bits) {
                let place = Place::new(word * 64 + bit, layout.link_queues + queue);
                let output = usize::from(outputs[layout.line(place.node(), place.index())]);
                let request = layout.bit_of_queue(place.node(), output, place.index());
                let record = &mut self.outputs[place.node() * layout.outputs + output];
                if may >> bit & 1 == 1 {
                    self.requests.wanted.put(Place::new(place.node(), output), record.is_idle());
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

/// What a throttle looks at: what routers see of their outputs, and which headers wait.
struct View<'s, V: Vector, R: Record> {
    state: &'s State<V, R>,
    layout: &'s Layout,
    cycle: u64,
    /// Where it observes.
    sums: Sums,
    /// As in [`InjectionControl`].
    since: &'s [u64],
    output: &'s [u8],
}

impl<V: Vector, R: Record> Around<V> for View<'_, V, R> {
    #[inline(always)]
    fn layout(&self) -> &Layout {
        self.layout
    }

    #[inline(always)]
    fn cycle(&self) -> u64 {
        self.cycle
    }

    #[inline(always)]
    fn flits(&self) -> Flits<'_, V> {
        let State { blocks, ref queues, .. } = *self.state;
        let Queues { counts, held, levels, count_bits, .. } = queues;
        let held = if self.layout.latency > 1 { held } else { counts };
        Flits { held, levels, blocks, bits: *count_bits }
    }

    #[inline(always)]
    fn owners(&self, block: usize) -> Owners<'_, V> {
        let registers = self.state.registers.as_deref();
        Owners {
            pairs: &self.state.pairs,
            own: self.state.own.block(block),
            registers: registers.map(|all| (all.full.block(block), all.tail.block(block))),
        }
    }

    fn sums(&self) -> Sums {
        self.sums
    }

    #[inline(always)]
    fn waits_for(&self, place: Place) -> (u64, usize) {
        let line = self.layout.line(place.node(), place.index());
        (self.since[line], self.output[line].into())
    }

    fn first_hop(&self, place: Place, output: usize) -> Ask {
        self.state.first_hop(self.layout, place, output, self.waits_for(place).0)
    }

    fn path(&self, place: Place, output: usize) -> Ask {
        self.state.question(self.layout, place, output, self.waits_for(place).0)
    }
}

impl<V: Vector, R: Record> View<'_, V, R> {
    fn held(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u32> {
        self.layout.shape.neighbour(self.layout.first as NodeId + node, direction)?;
        let next = self.layout.links[direction.index()].neighbour(node as usize);
        let output = direction.index() * self.layout.channels + usize::from(channel);
        Some(self.state.queues.held_by(self.layout, next, self.layout.queue_behind[output].into()))
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
        !self.state.queues.nonempty.bit(self.layout.queue_behind[output].into(), next)
    }

    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool {
        let output = direction.index() * self.layout.channels + usize::from(channel);
        self.state.output(self.layout, Place::new(node as usize, output)).owner() != 0
    }
}
