//! A throttle at work: which headers wait for it, and what it knows.

use super::{
    holding::Rule,
    layout::{Layout, Place},
};
use crate::{
    bits::{Blocks, Vector},
    fabric::{Direction, NodeId},
    throttle::Sums,
    visit::{State, Visited, Visitor},
};

/// A throttle at work.
#[derive(Clone)]
pub(super) struct Throttling<V> {
    pub rule: Rule<V>,
    /// Whether it is asked in words: headers wait by direction and go in dimension order.
    pub in_words: bool,
    /// Per processor queue: its header is pending, ...
    pub pending: Blocks<V>,
    /// ... and requests its output channel.
    pub requests: Blocks<V>,
    /// Per processor queue of all nodes: since when its pending header is at the front, and the output
    /// channel it wants.
    pub since: Vec<u64>,
    pub output: Vec<u8>,
    /// Whether a header was held in the last cycle.
    pub held: bool,
    pub cycle: u64,
    /// Sums over the whole network, of which this is a part, for the next look at it.
    pub sums: Option<Sums>,
}

impl<V: Vector> Throttling<V> {
    pub(super) fn new(rule: Rule<V>, layout: &Layout, blocks: usize, ordered: bool) -> Self {
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
    pub(super) fn at_rest(&self) -> bool {
        self.rule.at_rest()
    }

    /// A header of a processor queue was granted an output channel.
    pub(super) fn granted(&mut self, layout: &Layout, place: Place) {
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
    pub(super) fn tell(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        match &self.rule {
            Rule::State(state) => state.tell(Direction::from_index(direction), first as usize, row, words),
            Rule::Lines(lines) => lines.signals.tell(direction, first, row, words),
            Rule::Paths(paths) => paths.signals.tell(direction, first, row, words),
            Rule::Bends(bends) => bends.tell(direction, first, row, words),
            Rule::Pauses(_) | Rule::Useful(_) => {}
        }
    }

    /// Takes what a row of another part told.
    pub(super) fn listen(&mut self, side: usize, words: &[u64]) {
        match &mut self.rule {
            Rule::State(state) => state.listen(side, words),
            Rule::Lines(lines) => lines.signals.listen(side, words),
            Rule::Paths(paths) => paths.signals.listen(side, words),
            Rule::Bends(bends) => bends.listen(side, words),
            Rule::Pauses(_) | Rule::Useful(_) => {}
        }
    }

    /// Whether the header of a queue is pending.
    pub(super) fn is_pending(&self, layout: &Layout, place: Place) -> bool {
        layout.is_processor(place.index())
            && self.pending.bit(place.index() - layout.link_queues, place.node())
    }
}

impl<V: Vector> State for Throttling<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What it was made of, and the sums of a cycle.
        let Self { in_words: _, sums: _, rule, pending, requests, since, output, held, cycle } = self;
        visitor.bits("headers that wait", pending)?;
        visitor.bits("headers that request", requests)?;
        visitor.numbers("headers at the front since", since)?;
        visitor.numbers("outputs wanted", output)?;
        visitor.any("headers were held", held)?;
        visitor.same(|archive| archive.number("cycle of the throttle", cycle))?;
        rule.visit(visitor)
    }
}
