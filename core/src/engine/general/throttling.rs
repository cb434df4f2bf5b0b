//! Who must wait before injecting: a header that a throttle holds requests nothing.
//!
//! Headers at the front of processor queues that want to leave over a link and own no output channel are
//! *pending*. Once per cycle the throttle says who of them may begin; those request their output channel,
//! the requests of others are taken back. Through traffic is never held.

use super::{
    holding::Rule,
    layout::{Layout, NONE, Place},
    record::Record,
    state::{Blocks, State},
};
use crate::{
    engine::planes::vector::{Vector, words, words_mut},
    fabric::{Direction, NodeId},
    save::{Archive, SaveError},
    throttle::{Ask, AtWork, Seen, Sums},
};

/// A throttle at work.
#[derive(Clone)]
pub(super) struct Throttling<V> {
    rule: Rule<V>,
    /// Whether it is asked in words: headers wait by direction and go in dimension order.
    in_words: bool,
    /// Per processor queue: its header is pending, ...
    pending: Blocks<V>,
    /// ... and requests its output channel.
    requests: Blocks<V>,
    /// Per processor queue of all nodes: since when its pending header is at the front, and the output
    /// channel it wants.
    since: Vec<u64>,
    output: Vec<u8>,
    /// Whether a header was held in the last cycle.
    held: bool,
    pub cycle: u64,
    /// Sums over the whole network, of which this is a part, for the next look at it.
    sums: Option<Sums>,
}

impl<V: Vector> Throttling<V> {
    pub fn new(rule: Rule<V>, layout: &Layout, blocks: usize, ordered: bool) -> Self {
        let planes = || Blocks::new(blocks, layout.processor_queues, V::zero());
        let lines = layout.nodes * layout.processor_queues;
        Self {
            in_words: ordered
                && layout.processor_queues > 1
                && !matches!(rule, Rule::State(_) | Rule::Bends(_)),
            rule,
            pending: planes(),
            requests: planes(),
            since: vec![0; lines],
            output: vec![0; lines],
            held: false,
            cycle: 0,
            sums: None,
        }
    }

    /// Whether idle cycles may be left out.
    pub fn at_rest(&self) -> bool {
        self.rule.at_rest()
    }

    /// A header of a processor queue was granted an output channel.
    pub fn granted(&mut self, layout: &Layout, place: Place) {
        let queue = place.index() - layout.link_queues;
        self.pending.set(queue, place.node(), false);
        self.requests.set(queue, place.node(), false);
        match &mut self.rule {
            Rule::State(state) => state.granted(self.cycle, place.node() as NodeId),
            Rule::Pauses(pauses) => pauses.granted(self.cycle, place.node() as NodeId),
            Rule::Lines(_) | Rule::Paths(_) | Rule::Bends(_) | Rule::Useful(_) => {}
        }
    }

    /// What the registers of a row show a hop against a direction, from its first node on.
    pub fn tell(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        match &self.rule {
            Rule::State(state) => state.tell(Direction::from_index(direction), first as usize, row, words),
            Rule::Lines(lines) => lines.signals.tell(direction, first, row, words),
            Rule::Paths(paths) => paths.signals.tell(direction, first, row, words),
            Rule::Bends(bends) => bends.tell(direction, first, row, words),
            Rule::Pauses(_) | Rule::Useful(_) => {}
        }
    }

    /// Takes what a row of another part told.
    pub fn listen(&mut self, side: usize, words: &[u64]) {
        match &mut self.rule {
            Rule::State(state) => state.listen(side, words),
            Rule::Lines(lines) => lines.signals.listen(side, words),
            Rule::Paths(paths) => paths.signals.listen(side, words),
            Rule::Bends(bends) => bends.listen(side, words),
            Rule::Pauses(_) | Rule::Useful(_) => {}
        }
    }

    /// Copies what is known of so many nodes between a whole network and a part of it.
    pub fn copy_nodes(&mut self, layout: &Layout, to: usize, other: &Self, from: usize, nodes: usize) {
        let queues = layout.processor_queues;
        self.rule.copy_nodes(to, &other.rule, from, nodes);
        self.pending.copy_nodes(to, &other.pending, from, nodes);
        self.requests.copy_nodes(to, &other.requests, from, nodes);
        let (own, others) = (to * queues..(to + nodes) * queues, from * queues..(from + nodes) * queues);
        self.since[own.clone()].copy_from_slice(&other.since[others.clone()]);
        self.output[own].copy_from_slice(&other.output[others]);
        self.held |= other.held;
        self.cycle = other.cycle;
    }

    /// Whether the header of a queue is pending.
    pub fn is_pending(&self, layout: &Layout, place: Place) -> bool {
        layout.is_processor(place.index())
            && self.pending.bit(place.index() - layout.link_queues, place.node())
    }

    /// Everything it knows.
    pub fn archive(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        let words = layout.nodes.div_ceil(64);
        let Self { rule, in_words: _, pending, requests, since, output, held, cycle, sums: _ } = self;
        pending.archive("headers that wait", words, archive)?;
        requests.archive("headers that request", words, archive)?;
        archive.slice("headers at the front since", since)?;
        archive.slice("outputs wanted", output)?;
        archive.flag("headers were held", held)?;
        archive.number("cycle of the throttle", cycle)?;
        if let Some(&output) = output.iter().find(|&&output| usize::from(output) >= layout.link_outputs) {
            return Err(SaveError::Value { field: "outputs wanted", value: output.into() });
        }
        match rule {
            Rule::State(state) => state.fields(archive),
            Rule::Lines(lines) => lines.signals.archive(words, archive),
            Rule::Paths(paths) => paths.archive(layout, archive),
            Rule::Bends(bends) => bends.archive(words, archive),
            Rule::Pauses(pauses) => pauses.archive(archive),
            Rule::Useful(_) => Ok(()),
        }
    }
}

impl<V: Vector, R: Record> State<V, R> {
    /// A header at the front of a processor queue wants to leave over an output channel.
    #[inline(never)]
    pub fn wait_for_throttle(&mut self, layout: &Layout, place: Place, output: usize) {
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
    pub fn tell_throttle_again(&mut self, layout: &Layout) {
        let Some(throttling) = &self.throttling else { return };
        let places = (0..layout.nodes)
            .flat_map(|node| (layout.link_queues..layout.queues).map(move |queue| Place::new(node, queue)));
        let mut waiting: Vec<Place> = places.filter(|&place| throttling.is_pending(layout, place)).collect();
        waiting.sort_by_key(|place| throttling.since[layout.line(place.node(), place.index())]);
        waiting.into_iter().for_each(|place| self.tell_throttle(layout, place));
    }

    /// The throttle looks at the network.
    #[inline(always)]
    pub fn observe_for_throttle(&mut self, layout: &Layout, cycle: u64) {
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
    pub fn hold_all(&mut self, layout: &Layout) -> bool {
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
                        useful.may(layout, pending, block, queue, &self.pairs, self.own.block(block))
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
    pub fn sums_of_part(&self, cycle: u64) -> Option<[u64; 3]> {
        let throttling = self.throttling.as_ref()?;
        let Rule::State(state) = &throttling.rule else { return None };
        if !state.asks_for_sums(cycle) {
            return None;
        }
        let Sums { in_flight, ejected, held } = self.sums(throttling.held || state.has_held());
        Some([in_flight, ejected, held.into()])
    }

    /// Takes those over the whole.
    pub fn take_sums(&mut self, [in_flight, ejected, held]: [u64; 3]) {
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
            let mut bits = bits;
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let place = Place::new(word * 64 + bit as usize, layout.link_queues + queue);
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
    pub fn come_to_front(&mut self, layout: &Layout, place: Place) {
        let Some(throttling) = &mut self.throttling else { return };
        if !throttling.is_pending(layout, place) {
            throttling.pending.set(place.index() - layout.link_queues, place.node(), true);
            throttling.since[layout.line(place.node(), place.index())] = throttling.cycle;
        }
    }

    /// Whether no header of a node may leave it, whichever link it chooses, and one was held in this cycle.
    #[inline(always)]
    pub fn holds_everything(&self, node: usize) -> bool {
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
    pub fn lets_begin(&mut self, layout: &Layout, place: Place, output: usize) -> bool {
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
            let mut bits = bits;
            self.wanted.reserve(bits.count_ones() as usize);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let place = Place::new(word * 64 + bit as usize, layout.link_queues + queue);
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
