//! The router with input queues alone (`router.variant = queues`): a flit crosses and is sent in the same cycle.

use super::{Crosses, taken::take_flits};
use crate::{
    bits::{Vector, count_ones, full_add, words},
    engine::general::{
        crossing::Crossing,
        layout::{Layout, Place},
        output_arbiter::PerChannel,
        queues::Queues,
        record::{Any, Record, Set},
        state::State,
    },
    router::MAX_CHANNELS,
};
use std::mem::take;

/// `queues`.
pub(super) struct Direct;

impl Crosses for Direct {
    #[inline(always)]
    fn cross<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, _cycle: u64) -> bool {
        state.allocate_switch(layout)
    }

    #[inline(always)]
    fn depart<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64) {
        state.depart_all(layout, cycle);
    }
}

/// What is known in a cycle of the queues behind links.
struct Ahead<'a, V: Vector, R: Record> {
    layout: &'a Layout,
    queues: &'a Queues<V, R>,
    left_bits: usize,
    /// The first word of the block that looks ahead.
    word: usize,
}

impl<V: Vector, R: Record> Ahead<'_, V, R> {
    /// Takes away the candidates of a port, one per channel, whose flit does not fit; what is left.
    #[inline(always)]
    fn keep_what_fits(&self, port: usize, candidates: &mut [V], left: &[V], fresh: &[V]) -> V {
        let first = port * candidates.len();
        let mut any = V::zero();
        for (output, candidate) in (first..).zip(candidates) {
            let left = &left[output * self.left_bits..(output + 1) * self.left_bits];
            *candidate = *candidate & self.fits(port, output, left, fresh[output]);
            any = any | *candidate;
        }
        any
    }

    /// Where the queue behind an output channel has room for what its owner sends next, of whose packet
    /// `left` flits are left, less one.
    #[inline(always)]
    fn fits(&self, port: usize, output: usize, left: &[V], fresh: V) -> V {
        let behind = usize::from(self.layout.queue_behind[output]);
        let mut fits = V::ones();
        if self.queues.full_any.has(behind) {
            fits = !self.layout.links[port].seen::<V>(self.queues.full.with_margins(behind), self.word);
        }
        if self.layout.headers_wait {
            fits = fits & (self.packet_fits(port, behind, left) | !fresh);
        }
        fits
    }

    /// Where a whole packet fits: flits behind the link plus flits left, less one, are fewer than the buffer
    /// holds.
    #[inline(always)]
    fn packet_fits(&self, port: usize, behind: usize, left: &[V]) -> V {
        let (mut carry, mut fewer) = (V::zero(), V::ones());
        let limit = self.layout.buffer - 1;
        for bit in 0..=self.queues.count_bits {
            let mut sum = carry;
            if bit < self.queues.count_bits {
                let level = self.queues.levels.with_margins(behind * self.queues.count_bits + bit);
                let level = self.layout.links[port].seen::<V>(level, self.word);
                let more = left.get(bit).copied().unwrap_or(V::zero());
                (sum, carry) = full_add(level, more, carry);
            }
            fewer = if limit >> bit & 1 == 1 { !sum | fewer } else { !sum & fewer };
        }
        fewer
    }
}

impl<V: Vector, R: Record> State<V, R> {
    /// Chooses the flits that are sent; true if there are any.
    #[inline(always)]
    pub(super) fn allocate_switch(&mut self, layout: &Layout) -> bool {
        self.moving.sent_any = R::Set::default();
        let mut ejected = 0;
        for block in 0..self.blocks {
            ejected += match layout.channels {
                3 => self.allocate_switch_of_block::<3>(layout, block),
                4 => self.allocate_switch_of_block::<4>(layout, block),
                _ => self.allocate_switch_of_block::<0>(layout, block),
            };
        }
        self.outcome.flits_delivered += ejected;
        !self.moving.sent_any.is_empty()
    }

    /// Returns the flits that are ejected. Compiled for so many channels; 0 for any number.
    #[inline(always)]
    fn allocate_switch_of_block<const CHANNELS: usize>(&mut self, layout: &Layout, block: usize) -> u64 {
        let channels = if CHANNELS == 0 { layout.channels } else { CHANNELS };
        let word = block * V::WORDS;
        let nonempty = self.queues.nonempty.block(block);
        let own = self.own.block_mut(block);
        let leaves = self.moving.leaves.block_mut(block);
        let (fresh, left) = (self.fresh.block_mut(block), self.left.block_mut(block));
        let (heads, tails) = (self.moving.heads.block_mut(block), self.moving.tails.block_mut(block));
        let last = self.last.block_mut(block);
        let left_bits = self.left_bits;
        let ahead = Ahead { layout, queues: &self.queues, left_bits, word };
        let before = self.any[block];
        let mut after =
            Any { owned: before.owned, full: before.full, parked: before.parked, ..Any::default() };
        let (mut hops, mut ejected) = (0, 0);
        for port in 0..=layout.directions {
            let mut candidates: PerChannel<V> = [V::zero(); MAX_CHANNELS as usize];
            let mut any = V::zero();
            let owned = before.owned.part(port * channels, channels);
            if owned == 0 && !self.demands.watched {
                continue;
            }
            for channel in (0..channels).filter(|channel| owned >> channel & 1 == 1) {
                let output = port * channels + channel;
                let (ready, owner) = self.pairs.ready(output, own, nonempty);
                if !owner.any() {
                    after.owned = after.owned & !R::Set::of(output, true);
                }
                candidates[channel] = ready;
                any = any | ready;
            }
            if self.demands.watched {
                self.watched.ready.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&candidates[..channels]);
            }
            // Where a grant needs room, a packet fits as a whole from its grant on.
            if any.any() && port < layout.directions && !layout.grant_needs_room {
                any = ahead.keep_what_fits(port, &mut candidates[..channels], left, fresh);
            }
            if self.demands.watched {
                self.watched.sendable.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&candidates[..channels]);
            }
            if !any.any() {
                continue;
            }
            let mut used: PerChannel<V> = [V::zero(); MAX_CHANNELS as usize];
            used[..channels].copy_from_slice(&last[port * channels..][..channels]);
            let chosen =
                layout.schemes.arbitrate(port, word, channels, &candidates, &used, &fresh[port * channels..]);
            for channel in 0..channels {
                let (output, sent) = (port * channels + channel, chosen[channel]);
                // Some channel of the port sends where any can.
                last[output] = used[channel] & !any | sent;
                if !sent.any() {
                    continue;
                }
                sent.store(&mut self.moving.sent.plane_mut(output)[word..]);
                after.sent |= R::Set::of(output, true);
                let flits = count_ones(words(std::slice::from_ref(&sent)));
                if port < layout.directions {
                    hops += flits;
                } else {
                    ejected += flits;
                }
                let left = &mut left[output * left_bits..(output + 1) * left_bits];
                let at_tail = take_flits(left, sent, self.demands.uniform);
                let head = sent & fresh[output];
                fresh[output] = fresh[output] & !sent | at_tail;
                heads[output] = head;
                tails[output] = at_tail;
                after.heads |= R::Set::of(output, head.any());
                after.tails |= R::Set::of(output, at_tail.any());
                self.pairs.leave(output, sent, at_tail, own, leaves, &mut after.leaves);
            }
        }
        self.sent_are(block, after, hops);
        ejected
    }

    /// Finds where headers go, and frees what tails leave.
    #[inline(always)]
    pub(super) fn depart_all(&mut self, layout: &Layout, cycle: u64) {
        self.moving.delivered.clear();
        for block in 0..self.blocks {
            let Any { heads, tails, .. } = self.any[block];
            if !heads.is_empty() {
                self.send_headers(layout, block, cycle);
            }
            if !tails.is_empty() {
                self.free_behind_tails(layout, block);
            }
            if self.demands.exact_feed {
                self.drain_processors(layout, block);
            }
        }
    }

    #[inline(always)]
    fn send_headers(&mut self, layout: &Layout, block: usize, cycle: u64) {
        let mut passed = take(&mut self.moving.passed);
        passed.list(self.moving.heads.block(block), block, self.any[block].heads);
        let mut crossings = take(&mut self.moving.crossings);
        crossings.reserve(passed.items().len());
        let (first, mut injected) = (crossings.items().len(), 0);
        // First where they come from (in the place of the slot) and where they go; those that are ejected are last, ...
        for &place in passed.items() {
            if place.index() < layout.link_outputs {
                crossings.push(Crossing { to: layout.behind_link(place), slot: place.pack() });
            }
        }
        // ... then who they are, in one loop of loads that do not wait for each other.
        for crossing in &mut crossings.items_mut()[first..] {
            crossing.slot = self.pass_header(layout, Place::unpack(crossing.slot), cycle, &mut injected);
        }
        for &place in &passed.items()[crossings.items().len() - first..] {
            self.pass_header(layout, place, cycle, &mut injected);
        }
        self.outcome.packets_injected += injected;
        (self.moving.passed, self.moving.crossings) = (passed, crossings);
    }

    #[inline(always)]
    fn free_behind_tails(&mut self, layout: &Layout, block: usize) {
        self.moving.passed.list(self.moving.tails.block(block), block, self.any[block].tails);
        let (passed, lazy) = (self.moving.passed.items(), !self.demands.exact_feed);
        let (outputs, fifos, headers) =
            (&mut self.outputs[..], &mut self.fifos[..], &self.packets.headers[..]);
        let (mut wanted, mut asking) = (take(&mut self.requests.wanted), take(&mut self.requests.asking));
        let mut free = take(&mut self.feeds.free);
        wanted.reserve(passed.len());
        asking.reserve(passed.len());
        free.reserve(passed.len());
        for &place in passed {
            let (node, output) = (place.node(), place.index());
            let record = &mut outputs[node * layout.outputs + output];
            let queue = record.owner() as usize - 1;
            *record = record.free();
            wanted.put(place, record.is_requested());
            let fifo = &mut fifos[node * layout.queues + queue];
            if output >= layout.link_outputs {
                self.moving.delivered.push((node as u32, fifo.front));
            }
            let more = fifo.pop(headers);
            let place = Place::new(node, queue);
            asking.put(place, more);
            free.put(place, lazy && layout.is_processor(queue));
        }
        (self.requests.wanted, self.requests.asking, self.feeds.free) = (wanted, asking, free);
    }
}
