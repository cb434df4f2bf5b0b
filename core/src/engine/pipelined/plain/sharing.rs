//! Queues that share the places of a port: what happens to one of them decides whether the others are full.

use super::{
    super::{buffers::Behind, rules::Rules},
    state::{NOBODY, View},
};

impl View<'_> {
    /// Something happens to the queues behind an output, whereupon those that have its channels may or may not send.
    pub(super) fn share(&mut self, output: u32, rules: &Rules, happens: impl FnOnce(&mut Behind)) {
        let Some(behind) = self.shared.take() else { return };
        happens(behind);
        self.outputs[output as usize].free = behind.free(output as usize);
        for channel in 0..rules.channels {
            let owner = self.known[((output as usize) << self.channel_bits) + channel].owner;
            if owner == NOBODY {
                continue;
            }
            let may_send = !behind.is_full(&rules.policy, output as usize, channel);
            let state = &mut self.lanes[owner as usize];
            if state.may_send == may_send {
                continue;
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
        self.shared = Some(behind);
    }
}
