//! Bit planes as a form of routers.

use super::{
    super::{
        breach::Breach,
        flit::{Flit, Packets},
        routers::{Cycle, NodePorts, Routers, Shared},
        rules::Rules,
        seen::Seen,
        sets::Sets,
        source::Source,
        waiting::Waiting,
    },
    leaving::Leaving,
    records::{COUNT, FLITS, NODE},
    state::Planes,
    switch::{Receive, Step},
};
use crate::{
    bits::{Vector, words, words_mut},
    save::Archive,
    visit::Visited,
};
use std::fmt;

impl<V: Vector> fmt::Debug for Planes<V> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("routers as planes")
    }
}

impl<V: Vector> NodePorts for Planes<V> {
    const BODIES_ARE_BITS: bool = true;

    fn inject_flit(&mut self, node: u32, flit: &Flit, cycle: &mut Cycle<'_>) {
        let packets = &mut *cycle.packets;
        packets.note_sent(flit, cycle.now);
        let (node, channel) = (node as usize, usize::from(flit.channel));
        if flit.is_head() {
            let packet = &mut packets[flit.packet];
            // All routers of the way.
            packet.hops = self.mesh.routers_between(node, packet.destination as usize);
            self.queues.learn(flit.packet, self.options.head(packet));
            self.queues
                .enter(node * self.layout.all + (NODE << self.layout.span_bits) + channel, flit.packet);
        }
        self.inject_body(node, channel);
    }

    #[inline]
    fn inject_body(&mut self, node: usize, channel: usize) {
        words_mut(self.links.enter_in(2))[channel * self.layout.words + node / 64] |= 1 << (node % 64);
    }

    /// The credit follows from the arrival.
    #[inline]
    fn eject_flit(&mut self, node: u32, flit: &Flit, _cycle: &Cycle<'_>) {
        if flit.is_tail() {
            self.queues.leave(self.layout.queue_of_node(node as usize, flit.channel.into()));
        }
    }
}

impl<S: Source, V: Vector> Routers<S> for Planes<V> {
    fn receive(&mut self, cycle: &mut Cycle<'_>, arrived: &mut Vec<(u32, Flit)>) {
        let Cycle { rules, packets, shared, .. } = cycle;
        V::enter(self.proof, Receive { all: self, rules, packets, sources: &mut shared.sources, arrived });
    }

    fn step(&mut self, cycle: &mut Cycle<'_>, _steps: u32) -> Option<Breach> {
        if self.leaving.as_ref().is_some_and(|leaving| leaving.is_full(cycle.now)) {
            Routers::<S>::settle(self, cycle.shared, cycle.rules);
        }
        V::enter(self.proof, Step(self, cycle.now));
        None
    }

    fn is_quiet(&self) -> bool {
        self.links.has_no_credits()
    }

    /// Of meshes with dimension order whose nodes take everything: nobody waits in a circle.
    fn see(&self, _rules: &Rules) -> Option<Seen> {
        None
    }

    fn count_links(&mut self) {
        self.leaving = Some(Leaving::new(self.layout.blocks));
    }

    fn settle(&mut self, shared: &mut Shared, rules: &Rules) {
        if let (Some(leaving), Some(links)) = (&mut self.leaving, &mut shared.records.links) {
            leaving.add_to((self.layout.words, rules.wiring.outputs(0).len()), links);
        }
    }

    fn queued(&self, router: usize, port: usize, channel: usize, rules: &Rules) -> usize {
        let ports = rules.wiring.inputs(router as u32).len();
        let port = if port + 1 == ports { NODE } else { port };
        let (vector, word) = self.layout.vector_of(port, channel, router);
        let digits = words(&self.lanes[vector][FLITS..][..COUNT]);
        let digit = |place: usize| (digits[place * V::WORDS + word] >> (router % 64) & 1) << place;
        (0..COUNT).map(digit).sum::<u64>() as usize
    }

    /// They are saved as sets.
    fn visit(&mut self, _rules: &Rules, _packets: &Packets, _archive: &mut Archive) -> Visited {
        Ok(())
    }

    fn as_sets(&mut self, cycle: &mut Cycle<'_>) -> Option<Sets> {
        Routers::<S>::settle(self, cycle.shared, cycle.rules);
        Some(self.to_sets(cycle))
    }

    fn take_sets(&mut self, sets: &Sets, waiting: &[Waiting], cycle: &mut Cycle<'_>) {
        let mut planes = Self::new(cycle.rules, self.proof);
        planes.leaving = self.leaving.is_some().then(|| Leaving::new(planes.layout.blocks));
        planes.resume(sets, waiting, cycle);
        *self = planes;
    }

    fn form(&self) -> &'static str {
        "planes"
    }
}
