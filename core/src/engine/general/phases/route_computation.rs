//! Which way: headers at the front of queues request their output channels.

use super::super::{
    layout::{Layout, NONE, Place},
    phases::adaptive_requests::Router,
    record::Record,
    state::State,
};
use crate::{
    bits::Vector,
    routing::{Header, RoutingFunction},
    traffic::{Purpose, Routes, draw},
};
use std::mem::take;

impl<V: Vector, R: Record> State<V, R> {
    /// Every queue with a new header at its front requests an output channel.
    #[inline(always)]
    pub(in crate::engine::general) fn compute_routes(&mut self, layout: &Layout) {
        if self.requests.asking.items().is_empty() {
            return;
        }
        if self.demands.reconsiders {
            self.choose_adaptive_requests(layout);
        } else if self.demands.function == RoutingFunction::DimensionOrder && !layout.has_lists() {
            self.request_each::<true>(layout);
        } else {
            self.request_each::<false>(layout);
        }
    }

    /// `PLAIN`: all packets in dimension order, the default list everywhere.
    #[inline(always)]
    fn request_each<const PLAIN: bool>(&mut self, layout: &Layout) {
        // Taken out, so that the compiler sees that nothing else writes to their lengths.
        let (mut asking, mut wanted) = (take(&mut self.requests.asking), take(&mut self.requests.wanted));
        wanted.reserve(asking.items().len());
        let throttled = self.injection_control.is_some();
        for &place in asking.items() {
            let (node, queue) = (place.node(), place.index());
            let slot = self.fifos[node * layout.queues + queue].front;
            let output = if PLAIN {
                layout.next_of(node, queue, self.packets.way(slot))
            } else {
                // A function that does not go by the traffic always answers.
                let Some(output) = self.choice(layout, place) else { continue };
                let packet = self.packets.packet_mut(slot);
                packet.route += u32::from(packet.route != NONE);
                output
            };
            if throttled && layout.is_processor(queue) && output < layout.link_outputs {
                self.wait_for_throttle(layout, place, output);
                continue;
            }
            let bit = if PLAIN { queue as u32 } else { layout.bit_of_queue(node, output, queue) };
            let record = &mut self.outputs[node * layout.outputs + output];
            wanted.put(Place::new(node, output), record.is_idle());
            *record = record.ask(bit);
        }
        asking.clear();
        (self.requests.asking, self.requests.wanted) = (asking, wanted);
    }

    /// The output channel that the header at the front of a queue chooses, if any.
    #[inline(always)]
    pub(in crate::engine::general) fn choice(&self, layout: &Layout, place: Place) -> Option<usize> {
        let (node, queue) = (place.node(), place.index());
        let slot = self.fifos[node * layout.queues + queue].front;
        let channel = layout.channel_of_queue[queue];
        let packet = self.packets.packet(slot);
        match (self.demands.function, &self.routes) {
            (RoutingFunction::Given, Some(routes)) if packet.route != NONE => {
                let channel = if layout.is_processor(queue) { packet.first_channel } else { channel };
                // Nothing follows the end, whatever a restored state says.
                let step = routes.steps().get(packet.route as usize).copied().unwrap_or(Routes::END);
                Some(layout.follow(node, queue, channel, step))
            }
            (RoutingFunction::Given | RoutingFunction::DimensionOrder, _) => {
                Some(layout.next_of(node, queue, self.packets.way(slot)))
            }
            (function, _) => self.choice_of(function, layout, place, &self.header(layout, place)),
        }
    }

    /// The header at the front of a queue.
    pub(in crate::engine::general) fn header(&self, layout: &Layout, place: Place) -> Header {
        let packet = self.packets.packet(self.fifo(layout, place).front);
        let drawn = if self.demands.draws {
            draw(self.demands.seed, packet.source, Purpose::Route, packet.number)
        } else {
            0
        };
        Header { drawn, ..Header::new(packet.source, packet.destination, packet.length) }
    }

    /// By a function that looks about or draws. Never inlined: it is large and has no use for vectors.
    #[inline(never)]
    pub(in crate::engine::general) fn choice_of(
        &self,
        function: RoutingFunction,
        layout: &Layout,
        place: Place,
        header: &Header,
    ) -> Option<usize> {
        let (node, queue) = (place.node(), place.index());
        let seen = Router { state: self, layout, node };
        let output = function.choice(layout.place(), layout.at(node, queue), header, &seen)?;
        let first = output.direction.map_or(layout.link_outputs, |port| port.index() * layout.channels);
        Some(first + usize::from(output.channel))
    }
}
