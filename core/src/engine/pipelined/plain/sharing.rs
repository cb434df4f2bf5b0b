//! Queues that share the places of a port: what happens to one of them decides whether the others are full.

use super::{
    super::{buffers::Behind, rules::Rules},
    state::{NOBODY, View},
};

impl View<'_> {
    /// Something happens to a queue behind an output, whereupon those that have channels there may or may not send.
    #[inline(always)]
    pub(super) fn share(
        &mut self,
        output: u32,
        channel: usize,
        rules: &Rules,
        happens: impl FnOnce(&mut Behind),
    ) {
        let Some(behind) = self.shared.take() else { return };
        let out = output as usize;
        let before = behind.all_share(&rules.policy, out);
        happens(behind);
        self.outputs[out].free = behind.free(out);
        if before.is_some() && before == behind.all_share(&rules.policy, out) {
            self.renew(behind, out, channel, rules);
        } else {
            self.renew_all(behind, out, rules);
        }
        self.shared = Some(behind);
    }

    #[cold]
    fn renew_all(&mut self, behind: &Behind, output: usize, rules: &Rules) {
        for channel in 0..rules.channels {
            self.renew(behind, output, channel, rules);
        }
    }

    /// Whether the owner of a channel may send.
    #[inline(always)]
    fn renew(&mut self, behind: &Behind, output: usize, channel: usize, rules: &Rules) {
        let owner = self.known[(output << self.channel_bits) + channel].owner;
        if owner == NOBODY {
            return;
        }
        let may_send = !behind.is_full(&rules.policy, output, channel);
        let state = &mut self.lanes[owner as usize];
        if state.may_send == may_send {
            return;
        }
        state.may_send = may_send;
        let (port, has_flits) = (state.port, state.count > 0);
        if may_send {
            self.ask(owner, port, has_flits);
        } else {
            let router = self.inputs[(owner >> self.channel_bits) as usize].router;
            self.stop_asking(owner, router as usize, port.into());
        }
    }
}
