//! Nodes take flits.

use super::{
    cycle::{Event, NodePorts, Shared},
    flit::{Flit, Kind},
    source::Source,
    terminals::{Counting, Terminals},
    waiting::Reply,
};

impl Terminals {
    /// Nodes take the flits that reached them, and give their places back.
    pub(super) fn retire<S: Source, R: NodePorts>(
        &mut self,
        source: &mut S,
        routers: &mut R,
        shared: &mut Shared,
        arrived: &[(u32, Flit)],
    ) {
        for (node, flit) in arrived {
            self.retire_flit(source, shared, *node, *flit);
            routers.eject_flit(*node, flit, &self.at(source, shared));
        }
    }

    /// A flit has arrived.
    #[inline]
    fn retire_flit(&mut self, source: &mut impl Source, shared: &mut Shared, node: u32, flit: Flit) {
        self.standstill = 0;
        let (now, counts) = (self.now, self.counts_rates());
        if shared.records.wants.flits {
            shared.records.events.push(Event::Ejected(node, self.packets.seen(&flit)));
        }
        self.packets.arrive(flit.packet);
        let packet = &mut self.packets[flit.packet];
        packet.head_arrival = if flit.is_head() { now } else { packet.head_arrival };
        let class = usize::from(packet.class);
        let facts = &mut self.facts[class];
        facts.in_flight -= 1;
        self.created_in_flight[class] -= u64::from(packet.created);
        facts.measured_in_flight -= u64::from(packet.is_measured);
        let delay = u64::from(now - flit.injected);
        if facts.slowest_flit < 0 || facts.flit.most < delay {
            facts.slowest_flit = i64::from(packet.first_flit + flit.index());
        }
        facts.flit.add(delay);
        if counts {
            facts.delivered_flits.counts[node as usize] += 1;
        }
        source.arrived(now, node, packet, &flit);
        if flit.is_tail() {
            self.retire_packet(source, node, flit, counts);
        }
    }

    /// The last flit of a packet has arrived.
    fn retire_packet(&mut self, source: &mut impl Source, node: u32, flit: Flit, counts: bool) {
        let now = self.now;
        let packet = self.packets[flit.packet];
        let facts = &mut self.facts[usize::from(packet.class)];
        if counts {
            facts.delivered_packets.counts[node as usize] += 1;
        }
        if self.counting == Counting::All || packet.is_measured {
            facts.hops.add(u64::from(flit.hops));
            let network = u64::from(now - packet.injected);
            // A delay from sending on is held against the largest from making on, as BookSim2 does.
            if facts.slowest_packet < 0 || facts.packet.most < network {
                facts.slowest_packet = i64::from(packet.number);
            }
            facts.packet.add(u64::from(now - packet.created));
            facts.network.add(network);
            facts.fragmentation.add(u64::from(now - packet.head_arrival - (packet.size - 1)));
        }
        source.delivered(now, node, &packet, flit.hops);
        let reply = match packet.kind {
            Kind::ReadRequest => Some(Kind::ReadReply),
            Kind::WriteRequest => Some(Kind::WriteReply),
            _ => None,
        };
        if let Some(kind) = reply {
            let is_measured = packet.is_measured;
            self.replies[node as usize].push_back(Reply { to: packet.source, time: now, is_measured, kind });
        }
        self.packets.remove(flit.packet);
    }
}
