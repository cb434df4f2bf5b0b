//! Which packets are under way at a stop.
//!
//! The cycle needs no identity of packets, and neither do totals: the sum of latencies is the sum of
//! delivery cycles less the sum of starts. When a run is stopped with packets under way, their
//! starts have to be left out, so shortly before the stop headers begin to carry the number of
//! their source. Packets with the same source and destination stay in order, so those under way are
//! the last ones their source has taken.

use super::{
    block::{LINK_QUEUES, P_ROUTE, QUEUES, X_QUEUES, X_ROUTE, Y_ROUTE},
    machine::{Failure, Machine},
    vector::{Vector, words},
};
use std::collections::HashMap;

fn value<V: Vector>(planes: &[V], lane: usize) -> u64 {
    let bit_of = |plane: &V| words(std::slice::from_ref(plane))[lane / 64] >> (lane % 64) & 1;
    planes.iter().enumerate().map(|(bit, plane)| bit_of(plane) << bit).sum()
}

/// Copies rows of planes into rows of another width.
fn widen<V: Vector>(planes: &[V], from: usize, to: usize) -> Vec<V> {
    if from == 0 {
        return Vec::new();
    }
    let kept = from.min(to);
    let mut result = vec![V::zero(); planes.len() / from * to];
    for (target, source) in result.chunks_exact_mut(to).zip(planes.chunks_exact(from)) {
        target[..kept].copy_from_slice(&source[..kept]);
    }
    result
}

impl<V: Vector, const K: usize> Machine<'_, V, K> {
    /// Headers carry tags from now on; those already under way have none.
    #[cold]
    pub(super) fn begin_tags(&mut self) {
        let nodes = self.feed.places.len();
        // One bit more says that the tag is known.
        self.set_tag_bits((usize::BITS - (nodes - 1).leading_zeros()) as usize + 1);
    }

    /// Changes the width of tags.
    pub(super) fn set_tag_bits(&mut self, tag: usize) {
        let old = self.rules.widths;
        if old.tag == tag {
            return;
        }
        self.rules.widths.tag = tag;
        self.feed.tag_bits = tag;
        let (new, blocks) = (self.rules.widths, self.tiling.blocks());
        let x_planes = X_QUEUES * old.headers * old.x_slot();
        let mut slots = Vec::with_capacity(blocks * new.slots());
        for block in self.slots.chunks_exact(old.slots()) {
            let (x_slots, y_slots) = block.split_at(x_planes);
            slots.extend(widen(x_slots, old.x_slot(), new.x_slot()));
            slots.extend(widen(y_slots, old.y_slot(), new.y_slot()));
        }
        self.slots = slots;
        self.packets = widen(&self.packets, old.packet(), new.packet());
        self.links = vec![V::zero(); blocks * new.links()];
        self.scratch = vec![V::zero(); new.x_link().max(new.y_link())];
        self.ejected_tags = vec![V::zero(); blocks * 3 * tag];
    }

    /// Sum of the starts of all packets taken but not delivered, per copy.
    #[cold]
    pub(super) fn starts_under_way(&self) -> Result<Vec<u64>, Failure> {
        let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
        let nodes = self.tiling.nodes() as u32;
        for (all, &place) in self.feed.places.iter().enumerate() {
            let here = all as u32 % nodes;
            for (tag, destination) in self.headers_at(here, place as usize) {
                let known = 1 << (self.feed.tag_bits - 1);
                if tag & known == 0 {
                    return Err(Failure::TagsTooYoung);
                }
                *counts.entry(((tag & !known) as u32, destination)).or_default() += 1;
            }
        }
        let mut sums = vec![0_u64; self.tiling.copies as usize];
        for loaded in self.feed.log.iter().rev() {
            if let Some(left @ 1..) = counts.get_mut(&(loaded.source, loaded.destination)) {
                *left -= 1;
                let sum = &mut sums[(loaded.source / nodes) as usize];
                *sum = sum.wrapping_add(loaded.start);
            }
        }
        Ok(sums)
    }

    /// Tag and destination of every packet whose header is at a router, or was ejected there before
    /// its tail.
    fn headers_at(&self, here: u32, place: usize) -> Vec<(u64, u32)> {
        let widths = self.rules.widths;
        let (index, lane) = (place / V::BITS, place % V::BITS);
        let block = &self.blocks[index];
        let counters = &self.counters[index * QUEUES * widths.counter..][..QUEUES * widths.counter];
        let is_head = (1_u64 << widths.counter) - 1;
        let counter = |queue: usize| value(&counters[queue * widths.counter..][..widths.counter], lane);
        let (own_x, own_y) = (here % self.tiling.x.size, here / self.tiling.x.size);
        let node = |x: u64, y: u64| (y * u64::from(self.tiling.x.size) + x) as u32;
        let mut found = Vec::new();

        let slots = &self.slots[index * widths.slots()..][..widths.slots()];
        let (x_slots, y_slots) = slots.split_at(X_QUEUES * widths.headers * widths.x_slot());
        for queue in 0..LINK_QUEUES {
            let flits = value(&block.occupancy[queue], lane) - self.rules.offset as u64;
            if flits == 0 {
                continue;
            }
            // Flits in front of the first header, then one header per packet length.
            let front = counter(queue);
            let ahead = if front == is_head { 0 } else { front + 1 };
            let headers = flits.saturating_sub(ahead).div_ceil(self.length.into()) as usize;
            for slot in 0..headers {
                if queue < X_QUEUES {
                    let width = widths.x_slot();
                    let at = &x_slots[(queue * widths.headers + slot) * width..][..width];
                    let (x, rest) = at[X_ROUTE + 1..].split_at(widths.x);
                    let (y, tag) = rest.split_at(widths.y);
                    found.push((value(tag, lane), node(value(x, lane), value(y, lane))));
                } else {
                    let width = widths.y_slot();
                    let at = &y_slots[((queue - X_QUEUES) * widths.headers + slot) * width..][..width];
                    let (y, tag) = at[Y_ROUTE..].split_at(widths.y);
                    found.push((value(tag, lane), node(own_x.into(), value(y, lane))));
                }
            }
        }

        let packet = &self.packets[index * widths.packet()..][..widths.packet()];
        if value(&packet[..1], lane) == 1 && counter(QUEUES - 1) == is_head {
            let (x, rest) = packet[P_ROUTE + 1..].split_at(widths.x);
            let (y, tag) = rest.split_at(widths.y);
            found.push((value(tag, lane), node(value(x, lane), value(y, lane))));
        }

        let owners = [
            &[(0, block.owned_x[0][3]), (2, block.owned_x[2][3]), (4, block.owned_y[0][1])][..],
            &[(1, block.owned_x[1][3]), (3, block.owned_x[3][3]), (5, block.owned_y[1][1])][..],
            &[(6, block.owned_y[2][1]), (9, block.owned_y[5][1])][..],
        ];
        let more = [
            &[(7, block.owned_y[3][1]), (QUEUES - 1, block.owned_p[4])][..],
            &[(8, block.owned_y[4][1])][..],
            &[][..],
        ];
        for (label, queues) in owners.into_iter().zip(more).enumerate() {
            for &(queue, owned) in queues.0.iter().chain(queues.1) {
                if value(&[owned], lane) == 1 && counter(queue) != is_head {
                    let tags = &self.ejected_tags[(index * 3 + label) * widths.tag..][..widths.tag];
                    found.push((value(tags, lane), node(own_x.into(), own_y.into())));
                }
            }
        }
        found
    }
}
