//! Switch allocation, in words: which flits are sent, from the state at the beginning of the cycle.

use super::super::{
    layout::Layout,
    output_arbiter::PerChannel,
    record::{Any, Record, Set},
    state::State,
};
use crate::{
    bits::{self, Vector, count_ones, full_add, words},
    router::MAX_CHANNELS,
};

impl<V: Vector, R: Record> State<V, R> {
    /// Chooses the flits that are sent; true if there are any.
    #[inline(always)]
    pub(in crate::engine::general) fn allocate_switch(&mut self, layout: &Layout) -> bool {
        self.sent_any = R::Set::default();
        let mut ejected = 0;
        for block in 0..self.blocks {
            ejected += match layout.channels {
                3 => self.allocate_switch_of_block::<3>(layout, block),
                4 => self.allocate_switch_of_block::<4>(layout, block),
                _ => self.allocate_switch_of_block::<0>(layout, block),
            };
        }
        self.outcome.flits_delivered += ejected;
        !self.sent_any.is_empty()
    }

    /// Returns the flits that are ejected. Compiled for so many channels; 0 for any number.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "a channel indexes several arrays")]
    fn allocate_switch_of_block<const CHANNELS: usize>(&mut self, layout: &Layout, block: usize) -> u64 {
        let channels = if CHANNELS == 0 { layout.channels } else { CHANNELS };
        let word = block * V::WORDS;
        let nonempty = self.nonempty.block(block);
        let own = self.own.block_mut(block);
        let leaves = self.leaves.block_mut(block);
        let (fresh, left) = (self.fresh.block_mut(block), self.left.block_mut(block));
        let (heads, tails) = (self.heads.block_mut(block), self.tails.block_mut(block));
        let last = self.last.block_mut(block);
        let (count_bits, left_bits) = (self.count_bits, self.left_bits);
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
            for channel in 0..channels {
                if owned >> channel & 1 == 0 {
                    continue;
                }
                let output = port * channels + channel;
                let (ready, owner) = self.pairs.ready(output, own, nonempty);
                if !owner.any() {
                    after.owned = after.owned & !R::Set::of(output, true);
                }
                candidates[channel] = ready;
                any = any | ready;
            }
            if self.demands.watched {
                self.ready.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&candidates[..channels]);
            }
            // Where a grant needs room, a packet fits as a whole from its grant on.
            if any.any() && port < layout.directions && !layout.grant_needs_room {
                any = V::zero();
                for channel in 0..channels {
                    let output = port * channels + channel;
                    let behind = usize::from(layout.queue_behind[output]);
                    let mut fits = V::ones();
                    if self.full_any.has(behind) {
                        fits = !layout.links[port].seen::<V>(self.full.with_margins(behind), word);
                    }
                    if layout.headers_wait {
                        // A header goes on only if its whole packet fits: flits behind the link plus
                        // flits left, less one, are fewer than the buffer holds.
                        let (mut carry, mut fewer) = (V::zero(), V::ones());
                        for bit in 0..=count_bits {
                            let mut sum = carry;
                            if bit < count_bits {
                                let level = self.levels.with_margins(behind * count_bits + bit);
                                let level = layout.links[port].seen::<V>(level, word);
                                let more =
                                    if bit < left_bits { left[output * left_bits + bit] } else { V::zero() };
                                (sum, carry) = full_add(level, more, carry);
                            }
                            let limit = layout.buffer - 1;
                            fewer = if limit >> bit & 1 == 1 { !sum | fewer } else { !sum & fewer };
                        }
                        fits = fits & (fewer | !fresh[output]);
                    }
                    candidates[channel] = candidates[channel] & fits;
                    any = any | candidates[channel];
                }
            }
            if self.demands.watched {
                self.sendable.block_mut(block)[port * channels..][..channels]
                    .copy_from_slice(&candidates[..channels]);
            }
            if !any.any() {
                continue;
            }
            let mut used: PerChannel<V> = [V::zero(); MAX_CHANNELS as usize];
            for channel in 0..channels {
                used[channel] = last[port * channels + channel];
            }
            let chosen =
                layout.schemes.arbitrate(port, word, channels, &candidates, &used, &fresh[port * channels..]);
            for channel in 0..channels {
                let (output, sent) = (port * channels + channel, chosen[channel]);
                // Some channel of the port sends where any can.
                last[output] = used[channel] & !any | sent;
                if !sent.any() {
                    continue;
                }
                sent.store(&mut self.sent.plane_mut(output)[word..]);
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
        let mut silent = before.sent & !after.sent;
        while !silent.is_empty() {
            V::zero().store(&mut self.sent.plane_mut(silent.pop())[word..]);
        }
        self.sent_any |= after.sent;
        self.any[block] = after;
        self.outcome.flit_hops += hops;
        ejected
    }
}

/// Counts the flits taken of the packets in an output channel, where `left` are those still to come less
/// one; returns where tails were among them. Where all packets are `uniform`, the next one is counted.
#[inline(always)]
pub(in crate::engine::general) fn take_flits<V: Vector>(left: &mut [V], taken: V, uniform: Option<u32>) -> V {
    let at_tail = bits::count_down(&mut *left, taken);
    if let Some(length) = uniform {
        // The counter of a tail went below zero: all bits are set.
        for (bit, plane) in left.iter_mut().enumerate() {
            if (length - 1) >> bit & 1 == 0 {
                *plane = *plane & !at_tail;
            }
        }
    }
    at_tail
}
