//! A throttle at work: which headers wait for it, and what it knows.

use super::{
    holding::Rule,
    layout::{Layout, Place},
};
use crate::{
    bits::{Blocks, Vector},
    fabric::{Direction, NodeId},
    save::{Archive, SaveError},
    throttle::Sums,
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
