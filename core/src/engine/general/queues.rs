//! The queues of routers: how many flits they hold, and what neighbours see of that.

use super::{demands::Demands, layout::Layout, record::Record};
use crate::{
    bits::{Blocks, Planes, Vector},
    visit::{Visited, Visitor},
};

/// Flits in queues. Planes over the network are read by neighbours; in a part, with the rows before and behind it.
#[derive(Clone)]
pub(super) struct Queues<V: Vector, R: Record> {
    /// Bits of a count.
    pub count_bits: usize,
    /// Per queue behind a link: flits in it, bit by bit.
    pub counts: Blocks<V>,
    /// The same with the flits on their way to it, where links take more than one cycle.
    pub held: Blocks<V>,
    /// Per queue: it holds a flit. The processor queue does while it has a packet.
    pub nonempty: Blocks<V>,
    /// Per queue behind a link: it holds more than `most` flits.
    pub full: Planes,
    /// Most flits of a queue that takes another one, or, where a grant needs room, another packet.
    pub most: u32,
    /// Whether a full queue is one without room for a packet, so that a look at one bit grants.
    pub by_room: bool,
    /// Queues of which any is full.
    pub full_any: R::Set,
    /// Per queue behind a link and bit of its count: flits in it and on their way to it, where whole packets
    /// have to fit; in a part, those of the rows before and behind in any case.
    pub levels: Planes,
}

impl<V: Vector, R: Record> Queues<V, R> {
    pub(super) fn new(layout: &Layout, demands: &Demands) -> Self {
        let blocks = layout.nodes.div_ceil(V::BITS);
        let count_bits = (32 - layout.buffer.leading_zeros()) as usize;
        let planes = |planes| Blocks::new(blocks, planes, V::zero());
        let counts = layout.link_queues * count_bits;
        let room = demands.uniform.filter(|_| layout.grant_needs_room).unwrap_or(1);
        let has_levels = layout.headers_wait || layout.is_part;
        let mut queues = Self {
            count_bits,
            counts: planes(counts),
            held: planes(if layout.latency > 1 { counts } else { 0 }),
            nonempty: planes(layout.queues),
            full: Planes::new(layout.link_queues, layout.extent),
            most: layout.buffer.saturating_sub(room),
            by_room: layout.grant_needs_room && demands.uniform.is_some() && !layout.bubble,
            full_any: Default::default(),
            levels: Planes::new(if has_levels { counts } else { 0 }, layout.extent),
        };
        for block in 0..blocks {
            queues.nonempty.block_mut(block)[layout.link_queues..].fill(V::ones());
        }
        queues
    }

    /// Flits in a queue behind a link and on their way to it, of a node of this part or, as given, of the row
    /// before or behind it.
    #[inline(always)]
    pub(super) fn held_by(&self, layout: &Layout, node: usize, queue: usize) -> u32 {
        if node < layout.nodes {
            return self.count(layout, node, queue, true);
        }
        let bit = |bit| u32::from(self.levels.bit(queue * self.count_bits + bit, node as isize)) << bit;
        (0..self.count_bits).map(bit).sum()
    }

    /// Flits in a queue behind a link, or with those on their way to it.
    #[inline(always)]
    pub(super) fn count(&self, layout: &Layout, node: usize, queue: usize, held: bool) -> u32 {
        let planes = if held && layout.latency > 1 { &self.held } else { &self.counts };
        let bits =
            (0..self.count_bits).map(|bit| u32::from(planes.bit(queue * self.count_bits + bit, node)) << bit);
        bits.sum()
    }

    /// The counts; all else follows from them.
    pub(super) fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { counts, held, count_bits: _, nonempty, full, most: _, by_room: _, full_any: _, levels } =
            self;
        visitor.follow(&[nonempty, full, levels]);
        visitor.bits("flits in queues", counts)?;
        visitor.bits("flits in and before queues", held)
    }
}
