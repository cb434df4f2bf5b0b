//! The cycle of routers with output registers: queues and crossbar, then, by the room that leaves, the links.
//!
//! A register belongs to every label of an output port ([`super::block`]). It says what its flit is; the data of a
//! header stay in the queue the header came from, since no other header reaches that queue's front before
//! it has left the register: the flits behind it fill the queue. That takes packets at least as long as the buffer.

use super::{
    block::{Block, Events, Full, Labels, Links, Packet, QUEUES, Settings, X_QUEUES},
    cycle::{
        Data, Flows, Rules, Sender, choose_labels, count_hops, depart, each, fronts, keep_tags, or_all,
        owned_flits, queue_flits, requests, select_queues, write_links,
    },
    lanes::Position,
};
use crate::bits::Vector;

/// Headers in registers, by where they came from.
#[derive(Clone, Copy)]
pub(super) struct Headers<V> {
    pub of_queues: [V; QUEUES],
    pub of_processor: V,
}

/// The output registers of a block: which hold a flit, and which of those a header, which a tail.
#[derive(Clone, Copy)]
pub(super) struct Registers<V> {
    pub full: Labels<V>,
    pub head: Labels<V>,
    pub tail: Labels<V>,
}

impl<V: Vector> Registers<V> {
    /// All empty.
    #[inline(always)]
    pub(super) fn empty() -> Self {
        Self { full: Labels::none(), head: Labels::none(), tail: Labels::none() }
    }

    /// The queues and the processors whose header is in a register.
    #[inline(always)]
    pub(super) fn headers<const K: usize>(&self, block: &Block<V, K>, exempt: [V; 4]) -> Headers<V> {
        let waiting = self.full.and(&self.head);
        let flows = Flows::of(block, &waiting, &exempt);
        let leaves = flows.leaves();
        Headers { of_queues: leaves, of_processor: leaves[QUEUES - 1] }
    }

    /// Per label of the processor's port, the registers with a tail, and those with another flit.
    #[inline(always)]
    pub(super) fn ejecting(&self) -> [[V; 2]; 3] {
        let mut planes = [[V::zero(); 2]; 3];
        each!(LABEL in [0, 1, 2] {
            let (full, tail) = (self.full.p[LABEL], self.tail.p[LABEL]);
            planes[LABEL] = [full & tail, full & !tail];
        });
        planes
    }

    /// Calls a function with every plane.
    pub(super) fn planes(&mut self, visit: &mut impl FnMut(&mut V)) {
        self.full.planes(visit);
        self.head.planes(visit);
        self.tail.planes(visit);
    }
}

/// What [`cross`] changes of a block.
pub(super) struct Crossing<'a, V, const K: usize> {
    pub block: &'a mut Block<V, K>,
    pub counters: &'a mut [[V; QUEUES]],
    pub minus_y: &'a [V; X_QUEUES],
    pub packet: &'a mut Packet<V>,
    pub registers: &'a mut Registers<V>,
    pub full: &'a mut Full<V>,
}

/// VC allocation, and flits into the registers. Returns the routers where a flit moves, and those whose processor's
/// packet has left its queue.
#[inline(always)]
pub(super) fn cross<V: Vector, const K: usize>(
    crossing: Crossing<'_, V, K>,
    settings: &Settings<V>,
    exempt: &[V; 4],
    rules: &Rules,
) -> (V, V) {
    let Crossing { block, counters, minus_y, packet, registers, full } = crossing;
    let (head, tail) = fronts(counters);
    let ready = queue_flits(block, packet, rules);
    let asks = requests(block, minus_y, packet, &ready, &head);
    let held = registers.full.and(&registers.tail);
    select_queues(block, &asks, settings, exempt, &held);

    let flits = owned_flits(block, &ready, exempt);
    let taken = flits.and_not(&registers.full);
    let flows = Flows::of(block, &taken, exempt);
    let headers = flows.within(&head).into_labels(exempt);
    let tails = flows.within(&tail).into_labels(exempt);
    // What an empty register says of its flit does not matter.
    registers.head = registers.head.and_not(&taken).or(&headers);
    registers.tail = registers.tail.and_not(&taken).or(&tails);
    registers.full = registers.full.or(&taken);

    let leaves = flows.leaves();
    let sent = depart(block, packet, counters, &leaves, (&head, &tail), rules);
    let top = rules.widths.occupancy - 1;
    each!(D in [0, 1] {
        each!(C in [0, 1] {
            full.x[D][C] = block.occupancy[2 * D + C][top];
        });
        each!(C in [0, 1, 2] {
            full.y[D][C] = block.occupancy[X_QUEUES + 3 * D + C][top];
        });
    });
    (or_all(leaves), sent)
}

/// What goes over the links, by the room there is. Returns the events but for what has left the processor's queue, per
/// direction the routers that send a flit over the link, and those that eject one.
#[inline(always)]
pub(super) fn send_registers<V: Vector, const K: usize>(
    sender: Sender<'_, V, K>,
    registers: &mut Registers<V>,
    settings: &Settings<V>,
    behind: &Full<V>,
    exempt: &[V; 4],
    (column, row): (&Position<V>, &Position<V>),
    rules: &Rules,
) -> (Events<V>, [V; 4], V) {
    let Sender { block, x_rows, y_rows, packet_rows, links, x_links, y_links, ejected_tags, .. } = sender;
    let widths = rules.widths;
    let sent = choose_labels(&registers.full, &mut block.precedence, settings, behind, column, row);
    registers.full = registers.full.and_not(&sent);
    let heads = sent.and(&registers.head);
    let is_head = [or_all(heads.x[0]), or_all(heads.x[1]), or_all(heads.y[0]), or_all(heads.y[1])];
    *links = Links::of(&sent, is_head);
    // A header's label still belongs to the queue it came from, where its data are.
    let headers = Flows::of(block, &heads, exempt);
    let data = Data { x: x_rows, y: y_rows, packet: packet_rows };
    write_links(&headers, &data, x_links, y_links, widths);
    if widths.tag > 0 {
        keep_tags(&headers, &data, ejected_tags, widths);
    }
    let [p0, p1, p2] = sent.and(&registers.tail).p;
    let sends = [or_all(sent.x[0]), or_all(sent.x[1]), or_all(sent.y[0]), or_all(sent.y[1])];
    let four_hops = count_hops(block, sends, rules);
    (Events { delivered: or_all([p0, p1, p2]), sent: V::zero(), four_hops }, sends, or_all(sent.p))
}
