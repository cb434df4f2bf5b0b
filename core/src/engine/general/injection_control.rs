//! A throttle at work: which headers wait for it, and what it knows.

use super::{
    layout::{Layout, Place},
    throttles::{InWords, Made, Throttle},
};
use crate::{
    bits::{Blocks, Vector},
    fabric::NodeId,
    throttle::{self, Sums},
    visit::{State, Visited, Visitor},
};

/// A throttle at work.
#[derive(Clone)]
pub(super) struct InjectionControl<V: Vector> {
    pub rule: Throttle<V>,
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

impl<V: Vector> InjectionControl<V> {
    pub(super) fn new(
        state: &throttle::State,
        layout: &Layout,
        blocks: usize,
        ordered: bool,
    ) -> Option<Self> {
        let planes = || Blocks::new(blocks, layout.processor_queues, V::zero());
        let lines = layout.nodes * layout.processor_queues;
        let by_direction = ordered && layout.processor_queues > 1;
        Some(Self {
            rule: Throttle::of(state, &Made { layout, blocks, ordered, by_direction })?,
            pending: planes(),
            requests: planes(),
            since: vec![0; lines],
            output: vec![0; lines],
            held: false,
            cycle: 0,
            sums: None,
        })
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
        self.rule.granted(self.cycle, place.node() as NodeId);
    }

    /// What the registers of a row show a hop against a direction, from its first node on.
    pub(super) fn send_halo(&self, direction: usize, first: isize, row: usize, words: &mut Vec<u64>) {
        self.rule.send_halo(direction, first, row, words);
    }

    /// Takes what a row of another part told.
    pub(super) fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.rule.receive_halo(side, words);
    }

    /// Since when the pending header of a processor queue waits, and the output channel it wants.
    pub(super) fn waits_for(&self, layout: &Layout, place: Place) -> (u64, usize) {
        let line = layout.line(place.node(), place.index());
        (self.since[line], self.output[line].into())
    }

    /// Whether the header of a queue is pending.
    pub(super) fn is_pending(&self, layout: &Layout, place: Place) -> bool {
        layout.is_processor(place.index())
            && self.pending.bit(place.index() - layout.link_queues, place.node())
    }
}

impl<V: Vector> State for InjectionControl<V> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // The sums of a cycle.
        let Self { sums: _, rule, pending, requests, since, output, held, cycle } = self;
        visitor.bits("headers that wait", pending)?;
        visitor.bits("headers that request", requests)?;
        visitor.numbers("headers at the front since", since)?;
        visitor.numbers("outputs wanted", output)?;
        visitor.any("headers were held", held)?;
        visitor.same(|archive| archive.number("cycle of the throttle", cycle))?;
        rule.visit(visitor)
    }
}
