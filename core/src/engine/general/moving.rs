//! What moves in a cycle, and which headers ask for an output; nothing of it outlives the cycle or is saved.

use super::{
    crossing::Crossing,
    demands::Demands,
    layout::{Layout, Place},
    record::{Record, Set},
};
use crate::{
    bits::{Blocks, List, Planes, Vector, words},
    routing::Header,
};

fn planes<V: Vector>(layout: &Layout, planes: usize) -> Blocks<V> {
    Blocks::new(layout.nodes.div_ceil(V::BITS), planes, V::zero())
}

/// Headers that have no output channel yet. Which ones follows from the queues.
#[derive(Clone)]
pub(super) struct Requests<V: Vector> {
    /// Queues with a new header at the front.
    pub asking: List<Place>,
    /// Per entry of it, where headers choose in every cycle: the output channel chosen in this one.
    pub chosen: Vec<u8>,
    /// Of its first entries, then: their headers, which lie here in the order in which they are looked at.
    pub headers: Vec<Header>,
    /// Output channels without owner that are requested.
    pub wanted: List<Place>,
    /// Per output channel that is a link: it is requested and waits for room behind it.
    pub parked: Blocks<V>,
    /// Whether a requested output channel that is not granted is parked until there is room behind it,
    /// rather than looked at in every cycle.
    pub parks: bool,
}

impl<V: Vector> Requests<V> {
    pub(super) fn new(layout: &Layout, demands: &Demands, by_room: bool) -> Self {
        // Requests of a single cycle are not kept.
        let parks = by_room && !demands.reconsiders;
        Self {
            asking: List::default(),
            chosen: Vec::new(),
            headers: Vec::new(),
            wanted: List::default(),
            parked: planes(layout, if parks { layout.link_outputs } else { 0 }),
            parks,
        }
    }
}

/// Flits that leave their queues in a cycle, and the packets whose headers and tails are among them.
#[derive(Clone)]
pub(super) struct Moving<V: Vector, R: Record> {
    /// Per queue: a flit leaves it in this cycle.
    pub leaves: Blocks<V>,
    /// Per output channel: a header or a tail passes in this cycle.
    pub heads: Blocks<V>,
    pub tails: Blocks<V>,
    /// Per output channel: it sends a flit in this cycle; neighbours read it.
    pub sent: Planes,
    /// Outputs of which any sends, and queues which any flit enters.
    pub sent_any: R::Set,
    pub entered: R::Set,
    /// Headers that cross a link in this cycle.
    pub crossings: List<Crossing>,
    /// Scratch: output channels of a block that headers or tails pass.
    pub passed: List<Place>,
    /// Scratch: packets whose tails cross a halo of this part.
    pub leaving: Vec<u32>,
    /// Packets whose tail was ejected in this cycle, and where.
    pub delivered: Vec<(u32, u32)>,
}

impl<V: Vector, R: Record> Moving<V, R> {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            leaves: planes(layout, layout.queues),
            heads: planes(layout, layout.outputs),
            tails: planes(layout, layout.outputs),
            sent: Planes::new(layout.outputs, layout.extent),
            sent_any: Default::default(),
            entered: Default::default(),
            crossings: List::default(),
            passed: List::default(),
            leaving: Vec::new(),
            delivered: Vec::new(),
        }
    }
}

impl List<Place> {
    /// Lists the output channels of a set whose planes in a block have a bit, channel by channel.
    #[inline(always)]
    pub(super) fn list<V: Vector, S: Set>(&mut self, planes: &[V], block: usize, mut outputs: S) {
        self.clear();
        while !outputs.is_empty() {
            let output = outputs.pop();
            for (word, &bits) in (block * V::WORDS..).zip(words(std::slice::from_ref(&planes[output]))) {
                self.put_ones(bits, |bit| Place::new(word * 64 + bit, output));
            }
        }
    }
}

/// What probes ask for, where they do.
#[derive(Clone)]
pub(super) struct Watched<V: Vector> {
    /// Outputs whose owner has a flit, and those of them that could send it.
    pub ready: Blocks<V>,
    pub sendable: Blocks<V>,
    /// Output channels granted in this cycle.
    pub granted: Vec<Place>,
}

impl<V: Vector> Watched<V> {
    pub(super) fn new(layout: &Layout, watched: bool) -> Self {
        let outputs = if watched { layout.outputs } else { 0 };
        Self { ready: planes(layout, outputs), sendable: planes(layout, outputs), granted: Vec::new() }
    }
}
