//! The state of one block of routers, as planes: one bit per router.
//!
//! Queues, in this order everywhere: `X` queues (+x in channels 0 and 1, -x in channels 0 and 1),
//! `Y` queues (+y in channels 0 to 2, -y in channels 0 to 2), and the processor queue. "+x" is the
//! direction of travel. Dimension order and datelines rule all other queues out.
//!
//! Output channels are labelled by the channel of the queue that sends, so that one label holds for
//! a packet's whole stay in a router; on a link that crosses a dateline the receiver counts one up.

use super::{
    arbiter::{pairs, triples},
    vector::Vector,
};

/// X queues.
pub const X_QUEUES: usize = 4;
/// Y queues.
pub const Y_QUEUES: usize = 6;
/// Queues fed by links.
pub const LINK_QUEUES: usize = X_QUEUES + Y_QUEUES;
/// All queues, the processor's last.
pub const QUEUES: usize = LINK_QUEUES + 1;

/// Orders that change while the network runs.
#[derive(Clone, Copy)]
pub struct Precedence<V> {
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
pub struct Settings<V> {
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
pub struct Scheme<V> {
    /// The order begins anew at the channel used last; otherwise it is fixed.
    pub rotating: V,
    /// The channel used last comes last; otherwise first.
    pub used_last: V,
    /// Channels ascend.
    pub ascending: V,
}

/// Planes of fixed number. `K` planes hold the occupancy of a queue.
#[derive(Clone, Copy)]
pub struct Block<V, const K: usize> {
    /// Flits per queue, offset so that the highest plane means "full".
    pub occupancy: [[V; K]; LINK_QUEUES],
    /// Output owned by an X queue: straight on, +y, -y, processor.
    pub owned_x: [[V; 4]; X_QUEUES],
    /// Output owned by a Y queue: straight on, processor.
    pub owned_y: [[V; 2]; Y_QUEUES],
    /// Output owned by the processor queue: +x, -x, +y, -y, processor.
    pub owned_p: [V; 5],
    /// Orders.
    pub precedence: Precedence<V>,
    /// Flit-hops per router modulo 4.
    pub hops: [V; 2],
}

/// What a block shows its neighbours: which of its queues are full.
#[derive(Clone, Copy)]
pub struct Full<V> {
    /// Per X direction.
    pub x: [[V; 2]; 2],
    /// Per Y direction.
    pub y: [[V; 3]; 2],
}

/// What happened to the routers of a block in a cycle.
#[derive(Clone, Copy)]
pub struct Events<V> {
    /// A tail was ejected.
    pub delivered: V,
    /// A tail left the processor queue.
    pub sent: V,
    /// Four more flit-hops.
    pub four_hops: V,
}

/// Numbers of planes that depend on the network and the packet length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Bits of an x coordinate.
    pub x: usize,
    /// Bits of a y coordinate.
    pub y: usize,
    /// Bits of the down-counter of a packet's flits.
    pub counter: usize,
    /// Headers a queue can hold.
    pub headers: usize,
    /// Bits of a packet's tag, which names its source; zero for no tags.
    pub tag: usize,
}

/// Slot planes before the header's data in an X queue: "turns or arrives here", "arrives here".
pub const X_ROUTE: usize = 2;
/// Slot planes before the header's data in a Y queue: "arrives here".
pub const Y_ROUTE: usize = 1;
/// Processor planes before the header's data: "has flits", and the output (+x, -x, +y, -y, P).
pub const P_ROUTE: usize = 6;
/// Link planes before the header's data in x: labels 0 and 1, "is a header".
pub const X_LINK: usize = 3;
/// Link planes before the header's data in y: labels 0 to 2, "is a header".
pub const Y_LINK: usize = 4;

impl Widths {
    /// Header data on an x link: the sign of y, x and y of the destination, the tag.
    pub fn x_data(self) -> usize {
        1 + self.x + self.y_data()
    }

    /// Header data on a y link: y of the destination, the tag.
    pub fn y_data(self) -> usize {
        self.y + self.tag
    }

    /// Planes of one header slot of an X queue.
    pub fn x_slot(self) -> usize {
        X_ROUTE + self.x_data()
    }

    /// Planes of one header slot of a Y queue.
    pub fn y_slot(self) -> usize {
        Y_ROUTE + self.y_data()
    }

    /// Planes of an x link.
    pub fn x_link(self) -> usize {
        X_LINK + self.x_data()
    }

    /// Planes of a y link.
    pub fn y_link(self) -> usize {
        Y_LINK + self.y_data()
    }

    /// Planes of the processor's packet.
    pub fn packet(self) -> usize {
        P_ROUTE + self.x_data()
    }

    /// Planes of all four links of a block.
    pub fn links(self) -> usize {
        2 * (self.x_link() + self.y_link())
    }

    /// Planes of all header slots of a block.
    pub fn slots(self) -> usize {
        self.headers * (X_QUEUES * self.x_slot() + Y_QUEUES * self.y_slot())
    }

    /// Planes that say how many header slots of each queue are in use.
    pub fn slots_used(self) -> usize {
        if self.headers == 1 { 0 } else { self.headers * LINK_QUEUES }
    }
}

impl<V: Vector, const K: usize> Block<V, K> {
    /// A block without flits, its queues holding `offset` by definition.
    pub fn empty(precedence: Precedence<V>, offset: usize) -> Self {
        let occupancy = std::array::from_fn(|bit| if offset >> bit & 1 == 1 { V::ones() } else { V::zero() });
        Self {
            occupancy: [occupancy; LINK_QUEUES],
            owned_x: [[V::zero(); 4]; X_QUEUES],
            owned_y: [[V::zero(); 2]; Y_QUEUES],
            owned_p: [V::zero(); 5],
            precedence,
            hops: [V::zero(); 2],
        }
    }
}
