//! Which way: headers at the front of queues request their output channels.

use super::{
    layout::{Layout, NONE, Place},
    record::Record,
    state::State,
};
use crate::{engine::planes::vector::Vector, traffic::Routes};

impl<V: Vector, R: Record> State<V, R> {
    /// Every queue with a new header at its front requests an output channel.
    #[inline(always)]
    pub fn request_all(&mut self, layout: &Layout) {
        if self.routes.is_none() && !layout.has_lists() {
            self.request_each::<true>(layout);
        } else {
            self.request_each::<false>(layout);
        }
    }

    /// `PLAIN`: all packets in dimension order, the default list everywhere.
    #[inline(always)]
    fn request_each<const PLAIN: bool>(&mut self, layout: &Layout) {
        self.wanted.reserve(self.asking.items().len());
        for &place in self.asking.items() {
            let (node, queue) = (place.node(), place.index());
            let slot = self.fifos[node * layout.queues + queue].front;
            let output = if PLAIN {
                layout.next(node, layout.channel_of_queue[queue], self.packets.way(slot))
            } else {
                let output = self.choice(layout, place);
                let packet = self.packets.packet_mut(slot);
                packet.route += u32::from(packet.route != NONE);
                output
            };
            let bit = if PLAIN { queue as u32 } else { layout.bit_of_queue(node, output, queue) };
            let record = &mut self.outputs[node * layout.outputs + output];
            self.wanted.put(Place::new(node, output), record.is_idle());
            *record = record.ask(bit);
        }
        self.asking.clear();
    }

    /// The output channel for the new header at the front of a queue.
    #[inline(always)]
    pub fn choice(&self, layout: &Layout, place: Place) -> usize {
        let (node, queue) = (place.node(), place.index());
        let slot = self.fifos[node * layout.queues + queue].front;
        let channel = layout.channel_of_queue[queue];
        let packet = self.packets.packet(slot);
        match &self.routes {
            Some(routes) if packet.route != NONE => {
                let channel = if queue == layout.processor() { packet.first_channel } else { channel };
                // Nothing follows the end, whatever a restored state says.
                let step = routes.steps().get(packet.route as usize).copied().unwrap_or(Routes::END);
                layout.follow(node, channel, step)
            }
            _ => layout.next(node, channel, self.packets.way(slot)),
        }
    }
}
