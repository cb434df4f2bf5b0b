//! The router with an output register behind every output channel (`router.variant = registers`).
//!
//! In a cycle, after VC allocation, every output channel with an owner and an empty register takes a flit
//! of its owner's queue (the crossbar); then, from the state that leaves, every port sends one of its full
//! registers over its link. The flit is in the queue behind it when the next cycle begins. So the links
//! of cycle t + 1 belong to cycle t here. An output channel keeps its owner until the tail has left the
//! register, while the queue may go on to another one as soon as the tail has left the queue.

use super::{Crosses, registers::Registers, taken::take_flits};
use crate::{
    bits::{Vector, count_ones, words},
    engine::general::{
        crossing::Crossing,
        layout::{Layout, Place},
        output_arbiter::PerChannel,
        record::{Any, Record, Set},
        state::State,
    },
    router::MAX_CHANNELS,
};
use std::mem::take;

/// `registers`.
pub(super) struct Registered;

impl Registered {
    /// Does something with the registers and the rest of the state.
    #[inline(always)]
    fn with<V: Vector, R: Record, T: Default>(
        state: &mut State<V, R>,
        act: impl FnOnce(&mut State<V, R>, &mut Registers<V>) -> T,
    ) -> T {
        let Some(mut registers) = state.registers.take() else { return T::default() };
        let result = act(state, &mut registers);
        state.registers = Some(registers);
        result
    }
}

impl Crosses for Registered {
    const SENDS_LATE: bool = true;

    #[inline(always)]
    fn cross<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, cycle: u64) -> bool {
        Self::with(state, |state, registers| state.cross_all(layout, registers, cycle))
    }

    #[inline(always)]
    fn send_late<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout) -> bool {
        Self::with(state, |state, registers| state.send_all(layout, registers))
    }

    #[inline(always)]
    fn depart<V: Vector, R: Record>(state: &mut State<V, R>, layout: &Layout, _cycle: u64) {
        Self::with(state, |state, registers| state.depart_from_registers(layout, registers));
    }
}

impl<V: Vector, R: Record> State<V, R> {
    /// The crossbars; true if any flit moves.
    #[inline(always)]
    fn cross_all(&mut self, layout: &Layout, registers: &mut Registers<V>, cycle: u64) -> bool {
        let mut moves = false;
        for block in 0..self.blocks {
            if self.cross_block(registers, block) {
                moves = true;
                self.take_headers(layout, registers, block, cycle);
                self.leave_behind_tails(layout, block);
                if self.demands.exact_feed {
                    self.drain_processors(layout, block);
                }
            }
        }
        // What left the queues makes room for what is sent now.
        self.moving.sent_any = R::Set::default();
        self.moving.entered = R::Set::default();
        self.queues.full_any = R::Set::default();
        for block in 0..self.blocks {
            self.count_block(layout, block);
            self.any[block].leaves = R::Set::default();
        }
        moves
    }

    /// The choice of what is sent over the links, by what room there is; true if anything is.
    #[inline(always)]
    fn send_all(&mut self, layout: &Layout, registers: &mut Registers<V>) -> bool {
        let mut ejected = 0;
        for block in 0..self.blocks {
            ejected += self.send_block(layout, registers, block);
        }
        self.outcome.flits_delivered += ejected;
        !self.moving.sent_any.is_empty()
    }

    #[inline(always)]
    fn cross_block(&mut self, registers: &mut Registers<V>, block: usize) -> bool {
        let nonempty = self.queues.nonempty.block(block);
        let own = self.own.block_mut(block);
        let leaves = self.moving.leaves.block_mut(block);
        let (fresh, left) = (self.fresh.block_mut(block), self.left.block_mut(block));
        let (heads, tails) = (self.moving.heads.block_mut(block), self.moving.tails.block_mut(block));
        let (full, head) = (registers.full.block_mut(block), registers.head.block_mut(block));
        let tail = registers.tail.block_mut(block);
        let left_bits = self.left_bits;
        let none = R::Set::default();
        let mut after = Any { heads: none, tails: none, leaves: none, ..self.any[block] };
        let mut moves = false;
        let mut outputs = after.owned;
        while !outputs.is_empty() {
            let output = outputs.pop();
            let (ready, owner) = self.pairs.ready(output, own, nonempty);
            if !owner.any() {
                after.owned = after.owned & !R::Set::of(output, true);
            }
            let taken = ready & !full[output];
            if !taken.any() {
                continue;
            }
            moves = true;
            let left = &mut left[output * left_bits..(output + 1) * left_bits];
            let at_tail = take_flits(left, taken, self.demands.uniform);
            let at_head = taken & fresh[output];
            fresh[output] = fresh[output] & !taken | at_tail;
            full[output] = full[output] | taken;
            head[output] = head[output] & !taken | at_head;
            tail[output] = tail[output] & !taken | at_tail;
            heads[output] = at_head;
            tails[output] = at_tail;
            after.heads |= R::Set::of(output, at_head.any());
            after.tails |= R::Set::of(output, at_tail.any());
            self.pairs.leave(output, taken, at_tail, own, leaves, &mut after.leaves);
        }
        self.any[block] = after;
        moves
    }

    /// Headers that entered registers: whose packets pass from now on.
    fn take_headers(&mut self, layout: &Layout, registers: &mut Registers<V>, block: usize, cycle: u64) {
        let (mut passed, mut injected) = (take(&mut self.moving.passed), 0);
        passed.list(self.moving.heads.block(block), block, self.any[block].heads);
        for &place in passed.items() {
            let register = place.node() * layout.outputs + place.index();
            registers.slots[register] = self.pass_header(layout, place, cycle, &mut injected);
        }
        self.outcome.packets_injected += injected;
        self.moving.passed = passed;
    }

    /// Queues whose tail entered a register go on to their next packet.
    fn leave_behind_tails(&mut self, layout: &Layout, block: usize) {
        let lazy = !self.demands.exact_feed;
        self.moving.passed.list(self.moving.tails.block(block), block, self.any[block].tails);
        let count = self.moving.passed.items().len();
        self.requests.asking.reserve(count);
        self.feeds.free.reserve(count);
        for &place in self.moving.passed.items() {
            let (node, output) = (place.node(), place.index());
            let queue = self.outputs[node * layout.outputs + output].owner() as usize - 1;
            let more = self.fifos[node * layout.queues + queue].pop(&self.packets.headers);
            let place = Place::new(node, queue);
            self.requests.asking.put(place, more);
            self.feeds.free.put(place, lazy && layout.is_processor(queue));
        }
    }

    /// The registers that are sent; returns the flits ejected.
    #[inline(always)]
    fn send_block(&mut self, layout: &Layout, registers: &mut Registers<V>, block: usize) -> u64 {
        let (channels, word) = (layout.channels, block * V::WORDS);
        let last = self.last.block_mut(block);
        let (heads, tails) = (self.moving.heads.block_mut(block), self.moving.tails.block_mut(block));
        let full = registers.full.block_mut(block);
        let (head, tail) = (registers.head.block(block), registers.tail.block(block));
        let none = R::Set::default();
        let mut after = Any { sent: none, heads: none, tails: none, ..self.any[block] };
        let (mut hops, mut ejected) = (0, 0);
        for port in 0..=layout.directions {
            let mut candidates: PerChannel<V> = [V::zero(); MAX_CHANNELS as usize];
            let mut used = candidates;
            let mut any = V::zero();
            for channel in 0..channels {
                let output = port * channels + channel;
                let mut fits = V::ones();
                if port < layout.directions {
                    let behind = usize::from(layout.queue_behind[output]);
                    fits = !layout.links[port].seen::<V>(self.queues.full.with_margins(behind), word);
                }
                candidates[channel] = full[output] & fits;
                used[channel] = last[output];
                any = any | candidates[channel];
            }
            if self.demands.watched {
                self.watched.ready.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&full[port * channels..][..channels]);
                self.watched.sendable.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&candidates[..channels]);
            }
            if !any.any() {
                continue;
            }
            let fresh = [V::ones(); MAX_CHANNELS as usize];
            let chosen = layout.schemes.arbitrate(port, word, channels, &candidates, &used, &fresh);
            for channel in 0..channels {
                let (output, sent) = (port * channels + channel, chosen[channel]);
                last[output] = used[channel] & !any | sent;
                if !sent.any() {
                    continue;
                }
                sent.store(&mut self.moving.sent.plane_mut(output)[word..]);
                after.sent |= R::Set::of(output, true);
                *(if port < layout.directions { &mut hops } else { &mut ejected }) +=
                    count_ones(words(std::slice::from_ref(&sent)));
                full[output] = full[output] & !sent;
                heads[output] = sent & head[output];
                tails[output] = sent & tail[output];
                after.heads |= R::Set::of(output, heads[output].any());
                after.tails |= R::Set::of(output, tails[output].any());
            }
        }
        self.sent_are(block, after, hops);
        ejected
    }

    /// Finds where headers go that leave registers, and frees what tails leave.
    #[inline(always)]
    fn depart_from_registers(&mut self, layout: &Layout, registers: &Registers<V>) {
        self.moving.delivered.clear();
        for block in 0..self.blocks {
            let Any { heads, tails, .. } = self.any[block];
            let heads = heads & R::Set::below(layout.link_outputs);
            self.moving.passed.list(self.moving.heads.block(block), block, heads);
            self.moving.crossings.reserve(self.moving.passed.items().len());
            for &place in self.moving.passed.items() {
                let slot = registers.slots[place.node() * layout.outputs + place.index()];
                self.moving.crossings.push(Crossing { to: layout.behind_link(place), slot });
            }
            self.moving.passed.list(self.moving.tails.block(block), block, tails);
            self.requests.wanted.reserve(self.moving.passed.items().len());
            for &place in self.moving.passed.items() {
                let (node, output) = (place.node(), place.index());
                let record = &mut self.outputs[node * layout.outputs + output];
                *record = record.free();
                self.requests.wanted.put(place, record.is_requested());
                if output >= layout.link_outputs {
                    let slot = registers.slots[node * layout.outputs + output];
                    self.moving.delivered.push((node as u32, slot));
                }
            }
        }
    }
}
