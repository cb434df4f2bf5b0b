//! Which packets are under way at a stop.
//!
//! The cycle needs no identity of packets, and neither do totals: the sum of latencies is the sum of
//! delivery cycles less the sum of starts. When a run is stopped with packets under way, their starts
//! have to be left out, so headers carry the number of their source, which it writes once, ahead of all
//! its packets: at first, until it is seen that the network is not saturated, and again some time before
//! the stop; all the time in a saturated network, where some packets are under way for thousands of cycles.
//! Packets with the same source and destination stay in order, so those under way are the last ones their
//! source has taken.

use super::{
    block::{LINK_QUEUES, QUEUES, Widths, X_QUEUES, Y_QUEUES},
    injection::Loaded,
    machine::{Machine, TagsTooYoung, heads},
    registers::Registers,
};
use crate::{
    bits::{Vector, number_at, words_mut},
    fabric::NodeId,
};
use std::collections::HashMap;

fn mask(bits: usize) -> u64 {
    (1 << bits) - 1
}

/// Rows in groups of `from` (at least 1), cut or filled up to groups of `to`.
fn widen<T: Copy>(rows: &[T], from: usize, to: usize, empty: T) -> Vec<T> {
    let groups = rows.chunks_exact(from);
    groups.flat_map(|group| (0..to).map(|index| group.get(index).copied().unwrap_or(empty))).collect()
}

impl<V: Vector, const K: usize> Machine<V, K> {
    /// Headers carry tags from now on; those that have left their sources already have none.
    #[cold]
    pub(super) fn begin_tags(&mut self) {
        let waiting: Vec<_> = (0..self.injection.places.len())
            .filter_map(|all| Some((all, self.header_at_source(self.injection.places[all])?.1)))
            .collect();
        self.set_tag_bits(self.tag_bits_needed());
        self.injection.begin_log(&waiting);
    }

    /// Sees whether tags are needed before the last cycles: where packets do not wait long at their sources,
    /// the network is not saturated, and those under way at the stop will have been so for a short time.
    #[cold]
    pub(super) fn check_tags(&mut self, cycle: u64) {
        self.tags.check = None;
        let reach = self.reach();
        if 8 * self.injection.mean_lag(cycle) >= reach {
            return;
        }
        // Little's law: the mean time a packet is under way, and some for the slowest.
        let (loaded, delivered) = self.injection.packets();
        let latency = (loaded - delivered) * cycle / u64::max(delivered, 1);
        let from = self.stop.saturating_sub((10 * latency).max(8 * reach));
        if from > cycle {
            self.tags.from = from;
            self.set_tag_bits(0);
            self.injection.end_log();
        }
    }

    /// Bits of a tag: the number of a source, and one that says that it is known.
    pub(super) fn tag_bits_needed(&self) -> usize {
        let nodes = self.injection.places.len();
        (usize::BITS - (nodes - 1).leading_zeros()) as usize + 1
    }

    /// Changes the width of tags.
    pub(super) fn set_tag_bits(&mut self, tag: usize) {
        let old = self.rules.widths;
        if old.tag == tag {
            return;
        }
        self.rules.widths.tag = tag;
        let (new, blocks) = (self.rules.widths, self.tiling.blocks());
        let zero = V::zero();
        self.x_rows = widen(&self.x_rows, old.x_data(), new.x_data(), [zero; X_QUEUES]);
        self.packet_rows = widen(&self.packet_rows, old.x_data(), new.x_data(), zero);
        self.more_x = widen(&self.more_x, 2 + old.x_data(), 2 + new.x_data(), [zero; X_QUEUES]);
        self.y_rows = match old.y_data() {
            0 => vec![[zero; Y_QUEUES]; blocks * new.y_data()],
            width => widen(&self.y_rows, width, new.y_data(), [zero; Y_QUEUES]),
        };
        self.more_y = widen(&self.more_y, 1 + old.y_data(), 1 + new.y_data(), [zero; Y_QUEUES]);
        self.x_links = vec![[zero; 2]; blocks * new.x_data()];
        self.y_links = vec![[zero; 2]; blocks * new.y_data()];
        self.write_tags();
        self.ejected_tags = vec![[zero; 3]; blocks * tag];
    }

    /// Every packet at its source has the tag of that source.
    fn write_tags(&mut self) {
        let Widths { tag, .. } = self.rules.widths;
        let (each, first) = (self.rules.widths.x_data(), self.rules.widths.x_data() - tag);
        for (all, &place) in self.injection.places.iter().enumerate().filter(|_| tag > 0) {
            let (block, lane) = (place as usize / V::BITS, place as usize % V::BITS);
            let value = all | 1 << (tag - 1);
            let rows = &mut self.packet_rows[block * each..][first..each];
            for (bit, row) in rows.iter_mut().enumerate() {
                let word = &mut words_mut(std::slice::from_mut(row))[lane / 64];
                *word |= (value as u64 >> bit & 1) << (lane % 64);
            }
        }
    }

    /// Tag and destination of the packet that waits at its source with its header, which may be in a register there.
    fn header_at_source(&self, place: u32) -> Option<(u64, NodeId)> {
        let widths = self.rules.widths;
        let (block, lane) = (place as usize / V::BITS, place as usize % V::BITS);
        let counters = &self.counters[block * widths.counter..][..widths.counter];
        let mut waits = self.packets[block].ready & heads(counters, QUEUES - 1);
        if let Some(registers) = self.registers.get(block) {
            waits = waits | registers.headers(&self.blocks[block], self.exempt_at(block)).of_processor;
        }
        let rows = &self.packet_rows[block * widths.x_data()..][..widths.x_data()];
        (number_at([waits].into_iter(), lane) == 1)
            .then(|| self.of_x_header(number_at(rows.iter().copied(), lane)))
    }

    /// Tag and destination of a header in x: the sign, x, y, the tag.
    fn of_x_header(&self, data: u64) -> (u64, NodeId) {
        let widths = self.rules.widths;
        let (x, rest) = (data >> 1 & mask(widths.x), data >> (1 + widths.x));
        (rest >> widths.y, ((rest & mask(widths.y)) * u64::from(self.tiling.x.size) + x) as NodeId)
    }

    /// Sum of the starts of all packets taken but not delivered, per copy.
    #[cold]
    pub(super) fn starts_under_way(&self) -> Result<Vec<u64>, TagsTooYoung> {
        let nodes = self.tiling.nodes() as u32;
        let mut sums = vec![0_u64; self.tiling.copies as usize];
        for loaded in self.under_way()? {
            let sum = &mut sums[(loaded.source / nodes) as usize];
            *sum = sum.wrapping_add(loaded.start);
        }
        Ok(sums)
    }

    /// Forgets the packets that were delivered, now and then, so that long runs need no more memory
    /// than what is under way.
    #[inline(always)]
    pub(super) fn forget_delivered(&mut self) {
        if self.rules.widths.tag > 0 && self.injection.logged() > self.log_limit {
            self.keep_under_way();
        }
    }

    #[cold]
    fn keep_under_way(&mut self) {
        if let Ok(mut under_way) = self.under_way() {
            under_way.reverse();
            self.injection.keep(under_way);
        }
        self.log_limit = 2 * self.injection.logged() + 16 * self.injection.places.len();
    }

    /// The packets taken but not delivered, the last one first.
    fn under_way(&self) -> Result<Vec<Loaded>, TagsTooYoung> {
        let mut counts: HashMap<(u32, u32), u64> = HashMap::new();
        let nodes = self.tiling.nodes() as u32;
        for (all, &place) in self.injection.places.iter().enumerate() {
            let here = all as u32 % nodes;
            for (tag, destination) in self.headers_at(here, place as usize) {
                let known = 1 << (self.rules.widths.tag - 1);
                if tag & known == 0 {
                    return Err(TagsTooYoung);
                }
                let source = (tag & !known) as u32;
                *counts.entry((source, destination)).or_default() += 1;
            }
        }
        let mut found = Vec::new();
        for loaded in self.injection.whole_log().into_iter().rev() {
            if let Some(left @ 1..) = counts.get_mut(&(loaded.source, loaded.destination)) {
                *left -= 1;
                found.push(loaded);
            }
        }
        Ok(found)
    }

    /// Tag and destination of every packet whose header is at a router, or was ejected there before
    /// its tail.
    fn headers_at(&self, here: u32, place: usize) -> Vec<(u64, u32)> {
        let widths = self.rules.widths;
        let (index, lane) = (place / V::BITS, place % V::BITS);
        let block = &self.blocks[index];
        let counters = &self.counters[index * widths.counter..][..widths.counter];
        let x_rows = &self.x_rows[index * widths.x_data()..][..widths.x_data()];
        let y_rows = &self.y_rows[index * widths.y_data()..][..widths.y_data()];
        let more_x = &self.more_x[index * widths.more_x()..][..widths.more_x()];
        let more_y = &self.more_y[index * widths.more_y()..][..widths.more_y()];
        let is_head = (1_u64 << widths.counter) - 1;
        let counter = |queue: usize| number_at(counters.iter().map(|row| row[queue]), lane);
        let size = u64::from(self.tiling.x.size);
        let own_x = u64::from(here) % size;
        let x_header = |data: u64| self.of_x_header(data);
        // Data of a y header: y, the tag.
        let y_header = |data: u64| (data >> widths.y, ((data & mask(widths.y)) * size + own_x) as u32);
        let mut found = Vec::new();

        for queue in 0..LINK_QUEUES {
            // A restored state may say anything: no more is looked at than there is.
            let held = number_at(block.occupancy[queue].into_iter(), lane);
            let flits = held.saturating_sub(self.rules.offset as u64);
            if flits == 0 {
                continue;
            }
            // Flits in front of the first header, then one header per packet length.
            let front = counter(queue);
            let ahead = if front == is_head { 0 } else { front + 1 };
            let headers = flits.saturating_sub(ahead).div_ceil(self.length.into()) as usize;
            let headers = headers.min(widths.headers);
            for slot in 0..headers {
                found.push(if queue < X_QUEUES {
                    let each = 2 + widths.x_data();
                    x_header(match slot {
                        0 => number_at(x_rows.iter().map(|row| row[queue]), lane),
                        _ => number_at(
                            more_x[(slot - 1) * each..slot * each][2..].iter().map(|row| row[queue]),
                            lane,
                        ),
                    })
                } else {
                    let (queue, each) = (queue - X_QUEUES, 1 + widths.y_data());
                    y_header(match slot {
                        0 => number_at(y_rows.iter().map(|row| row[queue]), lane),
                        _ => number_at(
                            more_y[(slot - 1) * each..slot * each][1..].iter().map(|row| row[queue]),
                            lane,
                        ),
                    })
                });
            }
        }
        found.extend(self.header_at_source(place as u32));
        let registers = self.registers.get(index);
        // The data of headers in registers are still in the queues they came from.
        if let Some(headers) = registers.map(|registers| registers.headers(block, self.exempt_at(index))) {
            for queue in
                (0..LINK_QUEUES).filter(|&queue| number_at([headers.of_queues[queue]].into_iter(), lane) == 1)
            {
                found.push(match queue.checked_sub(X_QUEUES) {
                    None => x_header(number_at(x_rows.iter().map(|row| row[queue]), lane)),
                    Some(queue) => y_header(number_at(y_rows.iter().map(|row| row[queue]), lane)),
                });
            }
        }

        found.extend(self.ejecting_at(here, place));
        found
    }

    /// Tag and destination of every packet of which a flit was ejected here, before its tail.
    fn ejecting_at(&self, here: u32, place: usize) -> Vec<(u64, u32)> {
        let widths = self.rules.widths;
        let (index, lane) = (place / V::BITS, place % V::BITS);
        let block = &self.blocks[index];
        let counters = &self.counters[index * widths.counter..][..widths.counter];
        let is_head = (1_u64 << widths.counter) - 1;
        let counter = |queue: usize| number_at(counters.iter().map(|row| row[queue]), lane);
        let registers = self.registers.get(index);
        let mut found = Vec::new();
        // Owners of the processor output, and their labels.
        let x_owners = (0..X_QUEUES).map(|queue| (queue, block.owned_x[queue][3], queue % 2));
        let y_owners = (0..Y_QUEUES).map(|queue| (X_QUEUES + queue, block.owned_y[queue][1], queue % 3));
        let own = [(QUEUES - 1, block.owned_p[4], 0)];
        let tags = &self.ejected_tags[index * widths.tag..][..widths.tag];
        let ejected = |label: usize| (number_at(tags.iter().map(|row| row[label]), lane), here);
        let holds = |plane: V| number_at([plane].into_iter(), lane) == 1;
        for (queue, owned, label) in x_owners.chain(y_owners).chain(own) {
            let header_waits =
                registers.is_some_and(|registers| holds(registers.full.p[label] & registers.head.p[label]));
            if holds(owned) && counter(queue) != is_head && !header_waits {
                found.push(ejected(label));
            }
        }
        // Tails in registers, which nobody owns.
        let tails = registers.map(Registers::ejecting).into_iter().flatten().zip(0..);
        found.extend(tails.filter(|&([tail, _], _)| holds(tail)).map(|(_, label)| ejected(label)));
        found
    }

    /// See [`exempt`](Machine::exempt).
    fn exempt_at(&self, block: usize) -> [V; 4] {
        self.exempt.get(block).copied().unwrap_or([V::zero(); 4])
    }
}
