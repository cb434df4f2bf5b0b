//! What routers that work in turn put on links, where it is seen when every flit leaves.

use super::{
    super::routers::{Cycle, Event, Records},
    beside::InTurn,
    state::{HEAD, PACKET, Sets, TAIL, View},
};
use crate::{bits::ones, fabric::LinkId};

/// The mark of the last credit of a message.
pub(super) const LAST: u16 = 1 << 15;

impl View<'_> {
    /// Notes that a place of an input channel has become free.
    pub(super) fn free_place(&mut self, lane: u32) {
        let port = (lane >> self.layout.channel_bits) as usize;
        let channel = (lane & ((1 << self.layout.channel_bits) - 1)) as u16;
        let (router, step) = (self.inputs[port].router as usize, self.leaving.step);
        let InTurn { credits, credited, routers, .. } = &mut *self.in_turn;
        let messages = &mut credits[port];
        if credited[port] == step {
            // The same message as the one before.
            if let Some(before) = messages.back_mut() {
                *before &= !LAST;
            }
        } else if messages.is_empty() {
            routers[router].busy_inputs.push(port as u32);
        }
        credited[port] = step;
        messages.push_back(channel | LAST);
    }
}

impl Sets {
    /// Routers put on their links what leaves in this cycle.
    pub(super) fn send_in_turn(&mut self, cycle: &mut Cycle<'_>) {
        for word in 0..self.at_work.len() {
            for bit in ones(self.at_work[word]) {
                let number = word * 64 + bit;
                if self.layout.is_staged {
                    self.note_blocked(number, cycle);
                    self.send_flits(number, cycle);
                    self.send_credits(number, cycle.now);
                }
                if self.is_at_rest(number) {
                    self.at_work[word] &= !(1 << bit);
                }
            }
        }
    }

    /// Notes output ports with a flit that waits because the queue of its channel is full.
    fn note_blocked(&self, number: usize, cycle: &mut Cycle<'_>) {
        let Records { wants, events, .. } = &mut cycle.shared.records;
        if !wants.blocked {
            return;
        }
        let router = &self.routers[number];
        let lanes = router.first_input << self.layout.channel_bits
            ..(router.first_input + router.inputs) << self.layout.channel_bits;
        for lane in lanes {
            let state = &self.lanes[lane as usize];
            if state.count == 0 || state.may_send || !self.is_active(number, lane) {
                continue;
            }
            events.push(Event::Blocked((router.first_output + u32::from(state.port)) as LinkId));
        }
    }

    /// Of every output port one flit.
    fn send_flits(&mut self, number: usize, cycle: &mut Cycle<'_>) {
        let now = cycle.now;
        let packets = &*cycle.packets;
        let Records { links, wants, events } = &mut cycle.shared.records;
        let Self { outputs, in_turn, flits, .. } = self;
        let InTurn { routers, outputs: queues, .. } = in_turn;
        let mut flits = flits.view();
        routers[number].busy_outputs.retain(|&output| {
            let at = output as usize;
            let Some((channel, flit)) = queues[at].pop_front() else { return false };
            let far = &outputs[at].far;
            if let Some(links) = links {
                links.add(at, now.into());
            }
            if wants.flits && far.is_wired && !far.is_node {
                let seen = packets.seen_as(flit & PACKET, flit & HEAD != 0, flit & TAIL != 0);
                events.push(Event::Crosses(at as LinkId, channel as u8, seen));
            }
            if far.is_wired {
                flits.push(now + far.delay, far.leaves, far.first + channel, flit);
            }
            !queues[at].is_empty()
        });
    }

    /// Of every input port one message of credits.
    fn send_credits(&mut self, number: usize, now: u32) {
        let Self { inputs, in_turn, credits, .. } = self;
        let InTurn { routers, credits: queues, .. } = in_turn;
        let mut under_way = credits.view();
        routers[number].busy_inputs.retain(|&port| {
            let (far, queue) = (&inputs[port as usize].far, &mut queues[port as usize]);
            while let Some(channel) = queue.pop_front() {
                under_way.push(now + far.delay, far.leaves, far.first + u32::from(channel & !LAST), 0);
                if channel & LAST != 0 {
                    break;
                }
            }
            !queue.is_empty()
        });
    }
}
