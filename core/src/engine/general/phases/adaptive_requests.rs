//! Which way, where it depends on the traffic: a header without an output chooses anew in every cycle,
//! so a request is one of a single cycle.

use super::super::{
    layout::{Layout, Place},
    record::Record,
    state::State,
};
use crate::{bits::Vector, fabric::Direction, routing};

/// No choice.
const NONE: u8 = u8::MAX;

impl<V: Vector, R: Record> State<V, R> {
    /// The registers of full buffers ahead follow the state at the start of a cycle.
    #[inline(always)]
    pub(in crate::engine::general) fn look_ahead(&mut self, layout: &Layout) {
        if let Some(ahead) = &mut self.ahead {
            let held = if layout.latency > 1 { &self.queues.held } else { &self.queues.counts };
            ahead.step(layout, held, &self.queues.levels, self.blocks, self.queues.count_bits);
        }
    }

    /// Every header at the front of a queue without an output chooses one, from the state at the start
    /// of the cycle, and requests it if nobody owns it.
    #[inline(never)]
    pub(in crate::engine::general) fn choose_adaptive_requests(&mut self, layout: &Layout) {
        let count = self.requests.asking.items().len();
        self.requests.chosen.resize(count, NONE);
        self.requests.wanted.reserve(count);
        for index in self.requests.headers.len()..count {
            self.requests.headers.push(self.header(layout, self.requests.asking.items()[index]));
        }
        let function = self.demands.function;
        let throttled = self.injection_control.is_some();
        for index in 0..count {
            let place = self.requests.asking.items()[index];
            let (node, queue) = (place.node(), place.index());
            let asks = throttled && layout.is_processor(queue);
            if asks {
                self.come_to_front(layout, place);
                let stays = self.requests.headers[index].destination as usize == layout.first + node;
                if !stays && self.holds_everything(node) {
                    self.requests.chosen[index] = NONE;
                    continue;
                }
            }
            let free = |&output: &usize| self.output(layout, Place::new(node, output)).owner() == 0;
            let output = self.choice_of(function, layout, place, &self.requests.headers[index]).filter(free);
            let leaves = |output| output < layout.link_outputs;
            let begins = |&output: &usize| !asks || !leaves(output) || self.lets_begin(layout, place, output);
            let Some(output) = output.filter(begins) else {
                self.requests.chosen[index] = NONE;
                continue;
            };
            self.requests.chosen[index] = output as u8;
            let bit = layout.bit_of_queue(node, output, queue);
            let record = &mut self.outputs[node * layout.outputs + output];
            self.requests.wanted.put(Place::new(node, output), record.is_idle());
            *record = record.ask(bit);
        }
    }

    /// Requests of this cycle that were not granted are taken back.
    #[inline(never)]
    pub(in crate::engine::general) fn withdraw(&mut self, layout: &Layout) {
        let mut kept = 0;
        for index in 0..self.requests.asking.items().len() {
            let place = self.requests.asking.items()[index];
            let (node, queue) = (place.node(), place.index());
            let output = self.requests.chosen.get(index).copied().unwrap_or(NONE);
            let mut granted = false;
            if output != NONE {
                let bit = layout.bit_of_queue(node, output.into(), queue);
                let record = &mut self.outputs[node * layout.outputs + usize::from(output)];
                granted = record.owner() as usize == queue + 1;
                *record = record.withdraw(bit);
            }
            self.requests.asking.keep(kept, place);
            if let Some(&header) = self.requests.headers.get(index) {
                self.requests.headers[kept] = header;
            }
            kept += usize::from(!granted);
        }
        self.requests.headers.truncate(kept);
        self.requests.asking.truncate(kept);
        self.requests.wanted.clear();
        self.requests.chosen.clear();
    }
}

/// What a router sees at the start of a cycle.
pub(in crate::engine::general) struct Router<'s, V: Vector, R: Record> {
    pub state: &'s State<V, R>,
    pub layout: &'s Layout,
    pub node: usize,
}

impl<V: Vector, R: Record> Router<'_, V, R> {
    #[inline(always)]
    fn output(&self, direction: Direction, channel: u8) -> usize {
        direction.index() * self.layout.channels + usize::from(channel)
    }
}

impl<V: Vector, R: Record> routing::Seen for Router<'_, V, R> {
    #[inline(always)]
    fn owned(&self, direction: Direction, channel: u8) -> bool {
        let place = Place::new(self.node, self.output(direction, channel));
        self.state.output(self.layout, place).owner() != 0
    }

    #[inline(always)]
    fn held(&self, direction: Direction, channel: u8) -> u32 {
        let next = self.layout.links[direction.index()].neighbour(self.node);
        let queue = self.layout.queue_behind[self.output(direction, channel)];
        self.state.queues.held_by(self.layout, next, queue.into())
    }

    #[inline(always)]
    fn free(&self, direction: Direction, channel: u8) -> u32 {
        self.layout.buffer - self.held(direction, channel)
    }

    #[inline(always)]
    fn has_room(&self, direction: Direction, channel: u8, flits: u32) -> bool {
        if self.state.queues.by_room {
            // All packets are of one length, and a full queue is one without room for it.
            let next = self.layout.links[direction.index()].neighbour(self.node);
            let queue = self.layout.queue_behind[self.output(direction, channel)];
            return !self.state.queues.full.bit(queue.into(), next as isize);
        }
        self.free(direction, channel) >= flits
    }

    #[inline(always)]
    fn full_ahead(&self, direction: Direction, _channel: u8, hops: u32) -> u32 {
        self.state.ahead.as_ref().map_or(0, |ahead| ahead.count(self.node, direction, hops))
    }
}
