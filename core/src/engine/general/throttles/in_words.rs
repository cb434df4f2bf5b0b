//! What a throttle in words is, and what it may look at.

use super::owners::Owners;
use crate::{
    bits::{Blocks, Planes, Vector},
    engine::general::layout::{Layout, Place},
    fabric::NodeId,
    throttle::{self, Ask, Seen, Sums},
    visit::State,
};

/// Flits in queues and on their way to them, bit by bit.
#[derive(Clone, Copy)]
pub(in crate::engine::general) struct Flits<'a, V> {
    /// Per queue behind a link.
    pub held: &'a Blocks<V>,
    /// The same of the rows of other parts.
    pub levels: &'a Planes,
    pub blocks: usize,
    /// Bits of a number.
    pub bits: usize,
}

/// The network around a throttle, as it is at the start of the cycle.
pub(in crate::engine::general) trait Around<V: Vector>: Seen {
    fn layout(&self) -> &Layout;
    fn cycle(&self) -> u64;
    fn flits(&self) -> Flits<'_, V>;
    /// Who owns the output channels of a block.
    fn owners(&self, block: usize) -> Owners<'_, V>;
    /// Sums over the whole network.
    fn sums(&self) -> Sums;
    /// Since when the pending header of a processor queue waits, and the output channel it wants.
    fn waits_for(&self, place: Place) -> (u64, usize);
    /// What is asked about a header that wants an output channel, as far as its first hop.
    fn first_hop(&self, place: Place, output: usize) -> Ask;
    /// The same with its hops to the first turn.
    fn path(&self, place: Place, output: usize) -> Ask;
}

/// What a throttle in words is made for.
pub(in crate::engine::general) struct Made<'a> {
    pub layout: &'a Layout,
    pub blocks: usize,
    /// All headers go in dimension order.
    pub ordered: bool,
    /// Moreover there is a processor queue per direction, so that a queue says where its header goes.
    pub by_direction: bool,
}

/// A throttle in words.
pub(in crate::engine::general) trait InWords<V: Vector>: Clone + State {
    /// It in words, if it is this one and has such a form there.
    fn of(state: &throttle::State, made: &Made<'_>) -> Option<Self>;

    /// Looks at the network, once per cycle.
    fn observe(&mut self, _around: &impl Around<V>) {}

    /// Of pending headers of a processor queue those that may begin; nothing if they are to be asked one by one.
    fn may(&self, around: &impl Around<V>, pending: V, block: usize, queue: usize) -> Option<V>;

    /// Whether a header may begin that wants an output channel.
    fn may_begin(&self, around: &impl Around<V>, place: Place, output: usize) -> bool;

    /// Whether no header of a node may begin, whichever link it chooses.
    fn holds_everything(&self, _cycle: u64, _node: usize) -> bool {
        false
    }

    /// Whether it keeps something of headers that wait, of which it is told by [`wait`](Self::wait).
    fn keeps_headers(&self) -> bool {
        false
    }

    /// A header waits in a processor queue.
    fn wait(&mut self, _layout: &Layout, _place: Place, _ask: &Ask) {}

    /// A header was granted its first output.
    fn granted(&mut self, _cycle: u64, _node: NodeId) {}

    /// Whether idle cycles may be left out.
    fn at_rest(&self) -> bool {
        true
    }

    /// What a row of nodes, from `first` on, shows the row of another part that is a hop against a direction.
    fn send_halo(&self, _direction: usize, _first: isize, _row: usize, _words: &mut Vec<u64>) {}

    /// Takes what a row of another part showed.
    fn receive_halo(&mut self, _side: usize, _words: &[u64]) {}

    /// In a cycle in which it goes by sums over the whole network: whether it held a header since the last one.
    fn asks_for_sums(&self, _cycle: u64) -> Option<bool> {
        None
    }
}
