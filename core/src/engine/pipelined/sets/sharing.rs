//! Queues that share the places of a port: what happens to one of them decides whether the others are full.

use super::{
    super::{buffers::Behind, rules::Rules},
    common::Common,
    state::{NOBODY, View},
};
use crate::bits::ones;
use std::ops::Range;

impl View<'_> {
    /// A flit goes to a queue behind an output.
    #[inline(always)]
    pub(super) fn fill(&mut self, common: &Common, output: usize, channel: usize) {
        let (known, port) =
            (&mut self.known[(output << self.layout.channel_bits) + channel], &mut self.outputs[output]);
        let owned = common.owned[channel];
        let was_short = port.common >= common.places;
        known.add(1);
        if !known.reserve(false) {
            port.common += u32::from(known.used() > owned);
        }
        self.look_at(common, output, channel, was_short);
    }

    /// A place of a queue behind an output has become free; it is kept for a packet under way that has no other.
    #[inline(always)]
    pub(super) fn return_place(
        &mut self,
        common: &Common,
        output: usize,
        channel: usize,
        waits_for_tail: bool,
    ) {
        let (known, port) =
            (&mut self.known[(output << self.layout.channel_bits) + channel], &mut self.outputs[output]);
        let was_short = port.common >= common.places;
        let filled = known.used();
        known.remove();
        if known.owner != NOBODY && known.used() == 0 {
            known.reserve(true);
        } else {
            port.common -= u32::from(filled > common.owned[channel]);
        }
        port.free |= u64::from(waits_for_tail && known.tail_sent() && known.used() == 0) << channel;
        self.look_at(common, output, channel, was_short);
    }

    /// Whether channels are full after something happened to one of them.
    #[inline(always)]
    fn look_at(&mut self, common: &Common, output: usize, channel: usize, was_short: bool) {
        if was_short == (self.outputs[output].common >= common.places) {
            self.look_at_one(common, output, channel);
        } else {
            for channel in 0..common.owned.len() {
                self.look_at_one(common, output, channel);
            }
        }
    }

    #[inline(always)]
    fn look_at_one(&mut self, common: &Common, output: usize, channel: usize) {
        let (known, port) =
            (&self.known[(output << self.layout.channel_bits) + channel], &mut self.outputs[output]);
        let used = known.used();
        let has_no_place = used >= common.owned[channel] && port.common >= common.places;
        let is_full = !known.is_reserved() && (has_no_place || used >= common.most);
        if is_full == (port.full >> channel & 1 == 1) {
            return;
        }
        port.full ^= 1 << channel;
        if known.owner != NOBODY {
            self.let_send(known.owner, !is_full);
        }
    }

    /// The owner of a channel may send from now on, or not any more.
    fn let_send(&mut self, owner: u32, may_send: bool) {
        let state = &mut self.lanes[owner as usize];
        state.may_send = may_send;
        let (port, has_flits) = (state.port, state.count > 0);
        if may_send {
            self.ask(owner, port, has_flits);
        } else {
            let router = self.inputs[(owner >> self.layout.channel_bits) as usize].router;
            self.stop_asking(owner, router as usize, port.into());
        }
    }

    /// Something happens to the queue of a channel behind an output, whereupon those that have channels there may or may
    /// not send.
    #[inline(always)]
    pub(super) fn share(
        &mut self,
        out: usize,
        channel: usize,
        rules: &Rules,
        happens: impl FnOnce(&mut Behind),
    ) {
        let Some(behind) = self.shared.take() else { return };
        let before = behind.in_common(&rules.policy, out, channel);
        happens(behind);
        let free = behind.free(out);
        self.outputs[out].free = free;
        if behind.in_common(&rules.policy, out, channel) == before {
            self.renew(behind, out, channel, rules);
        } else {
            for channel in ones(!free & u64::MAX >> (64 - rules.channels)) {
                self.renew(behind, out, channel, rules);
            }
        }
        self.shared = Some(behind);
    }

    /// A cycle goes by, in which round trips that are not over may fill channels, and empty none.
    pub(super) fn pass_time(&mut self, outputs: Range<u32>, rules: &Rules) {
        let Some(behind) = self.shared.take() else { return };
        for out in outputs.start as usize..outputs.end as usize {
            for channel in ones(!behind.free(out) & u64::MAX >> (64 - rules.channels)) {
                let owner = self.known[(out << self.layout.channel_bits) + channel].owner;
                if owner != NOBODY
                    && self.lanes[owner as usize].may_send
                    && behind.channel(out, channel).used > 0
                {
                    self.renew(behind, out, channel, rules);
                }
            }
        }
        self.shared = Some(behind);
    }

    /// Whether the owner of a channel may send.
    #[inline(always)]
    fn renew(&mut self, behind: &Behind, output: usize, channel: usize, rules: &Rules) {
        let owner = self.known[(output << self.layout.channel_bits) + channel].owner;
        if owner == NOBODY {
            return;
        }
        let may_send = !behind.is_full(&rules.policy, output, channel);
        if self.lanes[owner as usize].may_send != may_send {
            self.let_send(owner, may_send);
        }
    }
}
