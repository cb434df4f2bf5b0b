//! The state of one block of routers, as planes: one bit per router.
//!
//! Queues, in this order everywhere: `X` queues (+x in channels 0 and 1, -x in channels 0 and 1),
//! `Y` queues (+y in channels 0 to 2, -y in channels 0 to 2), and the processor queue. "+x" is the
//! direction of travel. Dimension order and datelines rule all other queues out.
//!
//! Output channels are labelled by the channel of the queue that sends, so that one label holds for
//! a packet's whole stay in a router; on a link that crosses a dateline the receiver counts one up. A packet
//! from the processor whose crossing does not count has the last label of its port, which no other has there.

use super::arbiter::{pairs, triples};
use crate::bits::Vector;

/// X queues.
pub(super) const X_QUEUES: usize = 4;
/// Y queues.
pub(super) const Y_QUEUES: usize = 6;
/// Queues fed by links.
pub(super) const LINK_QUEUES: usize = X_QUEUES + Y_QUEUES;
/// All queues, the processor's last.
pub(super) const QUEUES: usize = LINK_QUEUES + 1;

/// Most headers one queue may hold.
pub const MAX_HEADERS: u32 = 4;

/// Orders that change while the network runs.
#[derive(Clone, Copy)]
pub(super) struct Precedence<V> {
    /// Output +-x, label 0: straight on, processor.
    pub x: [[V; pairs(2)]; 2],
    /// Output +-y, label 0: straight on, from +x, from -x, processor.
    pub y0: [[V; pairs(4)]; 2],
    /// Output +-y, label 1: straight on, from +x, from -x.
    pub y1: [[V; pairs(3)]; 2],
    /// Processor, label 0: from +x, -x, +y, -y, processor.
    pub p0: [V; pairs(5)],
    /// Processor, label 1: from +x, -x, +y, -y.
    pub p1: [V; pairs(4)],
    /// Processor, label 2: from +y, -y.
    pub p2: [V; pairs(2)],
    /// Labels of output +-x: 0, 1.
    pub label_x: [[V; pairs(2)]; 2],
    /// Labels of output +-y: 0, 1, 2.
    pub label_y: [[V; pairs(3)]; 2],
    /// Labels of the processor output: 0, 1, 2.
    pub label_p: [V; pairs(3)],
}

/// Settings that do not change while the network runs.
#[derive(Clone, Copy)]
pub(super) struct Settings<V> {
    /// Orientations of the contenders of [`Precedence::y0`].
    pub y0: [[V; triples(4)]; 2],
    /// Orientations of the contenders of [`Precedence::y1`].
    pub y1: [[V; triples(3)]; 2],
    /// Orientations of the contenders of [`Precedence::p0`].
    pub p0: [V; triples(5)],
    /// Orientations of the contenders of [`Precedence::p1`].
    pub p1: [V; triples(4)],
    /// Per output port (+x, -x, +y, -y, P): how it chooses among its channels.
    pub schemes: [Scheme<V>; 5],
}

/// How an output port chooses among its channels.
#[derive(Clone, Copy)]
pub(super) struct Scheme<V> {
    /// The order begins anew at the channel used last; otherwise it is fixed.
    pub rotating: V,
    /// The channel used last comes last; otherwise first.
    pub used_last: V,
    /// Channels ascend.
    pub ascending: V,
}

/// Planes of fixed number. `K` planes hold the occupancy of a queue.
#[derive(Clone, Copy)]
pub(super) struct Block<V, const K: usize> {
    /// Flits per queue, offset so that the highest plane in use means "full".
    pub occupancy: [[V; K]; LINK_QUEUES],
    /// Output owned by an X queue: straight on, +y, -y, processor.
    pub owned_x: [[V; 4]; X_QUEUES],
    /// Output owned by a Y queue: straight on, processor.
    pub owned_y: [[V; 2]; Y_QUEUES],
    /// Output owned by the processor queue: +x, -x, +y, -y, processor.
    pub owned_p: [V; 5],
    /// First header of an X queue: it turns or arrives here; it arrives here.
    pub route_x: [[V; 2]; X_QUEUES],
    /// First header of a Y queue: it arrives here.
    pub route_y: [V; Y_QUEUES],
    /// Orders.
    pub precedence: Precedence<V>,
    /// Flit-hops per router modulo 4.
    pub hops: [V; 2],
}

/// The packet a processor sends.
#[derive(Clone, Copy)]
pub(super) struct Packet<V> {
    /// It has flits left.
    pub ready: V,
    /// Its output: +x, -x, +y, -y, processor.
    pub output: [V; 5],
}

/// One bit of header data of the first header of every X queue.
pub(super) type XRow<V> = [V; X_QUEUES];

/// One bit of header data in y: y of the destination, or the tag.
pub(super) type YRow<V> = [V; Y_QUEUES];

/// One bit of header data on the links of one dimension, plus and minus.
pub(super) type LinkRow<V> = [V; 2];

/// One bit per register: of the outputs +-x with labels 0 and 1, of +-y with labels 0 to 2, of the processor's with
/// labels 0 to 2.
#[derive(Clone, Copy)]
pub(super) struct Labels<V> {
    pub x: [[V; 2]; 2],
    pub y: [[V; 3]; 2],
    pub p: [V; 3],
}

/// An operation on every plane of two sets of labels. No closures: they would not be compiled for the instruction set of
/// the task that they end up in.
macro_rules! labels_by {
    ($(#[$doc:meta])* $name:ident, $a:ident, $b:ident, $with:expr) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(&self, other: &Self) -> Self {
            let mut made = *self;
            for d in 0..2 {
                for c in 0..2 {
                    let ($a, $b) = (self.x[d][c], other.x[d][c]);
                    made.x[d][c] = $with;
                }
                for c in 0..3 {
                    let ($a, $b) = (self.y[d][c], other.y[d][c]);
                    made.y[d][c] = $with;
                }
            }
            for c in 0..3 {
                let ($a, $b) = (self.p[c], other.p[c]);
                made.p[c] = $with;
            }
            made
        }
    };
}

impl<V: Vector> Labels<V> {
    /// Nothing anywhere.
    #[inline(always)]
    pub(super) fn none() -> Self {
        let zero = V::zero();
        Self { x: [[zero; 2]; 2], y: [[zero; 3]; 2], p: [zero; 3] }
    }

    labels_by!(/// What is in both.
        and, a, b, a & b);
    labels_by!(/// What is in these and not in others.
        and_not, a, b, a & !b);
    labels_by!(/// What is in any of both.
        or, a, b, a | b);

    /// Calls a function with every plane.
    pub(super) fn planes(&mut self, visit: &mut impl FnMut(&mut V)) {
        let Self { x, y, p } = self;
        x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        y.as_flattened_mut().iter_mut().for_each(&mut *visit);
        p.iter_mut().for_each(visit);
    }
}

/// Flits on the links of a block.
#[derive(Clone, Copy)]
pub(super) struct Links<V> {
    /// Per X direction: labels 0 and 1, "is a header".
    pub x: [[V; 3]; 2],
    /// Per Y direction: labels 0 to 2, "is a header".
    pub y: [[V; 4]; 2],
}

impl<V: Vector> Links<V> {
    /// The labels that send, and whether a header goes over +x, -x, +y, -y.
    #[inline(always)]
    pub(super) fn of(sent: &Labels<V>, is_head: [V; 4]) -> Self {
        let Labels { x: [[a0, a1], [b0, b1]], y: [[c0, c1, c2], [d0, d1, d2]], .. } = *sent;
        let [a, b, c, d] = is_head;
        Self { x: [[a0, a1, a], [b0, b1, b]], y: [[c0, c1, c2, c], [d0, d1, d2, d]] }
    }
}

/// What a block shows its neighbours: which of its queues are full.
#[derive(Clone, Copy)]
pub(super) struct Full<V> {
    /// Per X direction.
    pub x: [[V; 2]; 2],
    /// Per Y direction.
    pub y: [[V; 3]; 2],
}

/// What happened to the routers of a block in a cycle.
#[derive(Clone, Copy)]
pub(super) struct Events<V> {
    /// A tail was ejected.
    pub delivered: V,
    /// A tail left the processor queue.
    pub sent: V,
    /// Four more flit-hops.
    pub four_hops: V,
}

/// Numbers of planes that depend on the network and the packet length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    /// Bits of an x coordinate.
    pub x: usize,
    /// Bits of a y coordinate.
    pub y: usize,
    /// Planes in use of a queue's occupancy.
    pub occupancy: usize,
    /// Bits of the down-counter of a packet's flits.
    pub counter: usize,
    /// Headers a queue can hold.
    pub headers: usize,
    /// Bits of a packet's tag, which names its source; zero for no tags.
    pub tag: usize,
}

impl Widths {
    /// Bits of header data in x: the sign of y, x and y of the destination, the tag.
    pub(super) fn x_data(self) -> usize {
        1 + self.x + self.y_data()
    }

    /// Bits of header data in y: y of the destination, the tag.
    pub(super) fn y_data(self) -> usize {
        self.y + self.tag
    }

    /// Rows of the headers behind the first one in X queues: two of the route, then data.
    pub(super) fn more_x(self) -> usize {
        (self.headers - 1) * (2 + self.x_data())
    }

    /// Rows of the headers behind the first one in Y queues: one of the route, then data.
    pub(super) fn more_y(self) -> usize {
        (self.headers - 1) * (1 + self.y_data())
    }

    /// Rows that say how many headers each queue holds.
    pub(super) fn used(self) -> usize {
        if self.headers == 1 { 0 } else { self.headers }
    }
}

impl<V: Vector, const K: usize> Block<V, K> {
    /// A block without flits, its queues holding `offset` by definition.
    pub(super) fn empty(precedence: Precedence<V>, offset: usize) -> Self {
        let occupancy = std::array::from_fn(|bit| if offset >> bit & 1 == 1 { V::ones() } else { V::zero() });
        Self {
            occupancy: [occupancy; LINK_QUEUES],
            owned_x: [[V::zero(); 4]; X_QUEUES],
            owned_y: [[V::zero(); 2]; Y_QUEUES],
            owned_p: [V::zero(); 5],
            route_x: [[V::zero(); 2]; X_QUEUES],
            route_y: [V::zero(); Y_QUEUES],
            precedence,
            hops: [V::zero(); 2],
        }
    }
}
