//! Planes made sets, and sets made planes: routers are saved as sets, whatever form they have.

use super::{
    super::{
        flit::Packets,
        network::Place,
        numbers::NotDrawn,
        routers::Cycle,
        rules::Rules,
        sets::{HEAD, Known, NO_PORT, NOBODY as NO_LANE, PACKET, Sets, TAIL, turn},
        wiring::End,
    },
    matching::PORTS,
    records::{
        BEHIND, CHANNEL, COUNT, DIGITS, FIELDS, FLIGHT, FLITS, IDLE, NOBODY, NODE, OUTPUT, READY, TAIL_SENT,
        TURN,
    },
    state::Planes,
};
use crate::bits::{Vector, words};

/// A channel of a port of a router, and its numbers in planes and in sets.
#[derive(Clone, Copy)]
pub(super) struct VirtualChannel {
    pub router: usize,
    /// Ports of planes, the last of which leads to the node, and of sets.
    pub port: usize,
    pub local: usize,
    pub channel: usize,
    /// Among the channels of the router's ports in planes, and of all routers.
    pub number: usize,
    pub queue: usize,
    /// Among the channels of all ports in sets.
    pub lane: usize,
}

/// Ports, rows and channels of one router as planes and sets number them.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    pub ports: usize,
    pub channels: usize,
    span_bits: u32,
    all: usize,
    pub sub_ports: usize,
}

impl Numbering {
    /// The port of sets.
    pub(super) fn local(&self, port: usize) -> usize {
        port.min(self.ports - 1)
    }

    /// The port of planes.
    pub(super) fn port(&self, local: usize) -> usize {
        if local + 1 == self.ports { NODE } else { local }
    }

    /// The turn among input sub-ports that sets have.
    fn row(&self, row: usize) -> usize {
        let (port, sub) = (row / self.sub_ports, row % self.sub_ports);
        // Planes have ports between those of the only dimension and the node's, which nothing uses.
        let sub = if port + 1 >= self.ports && port < NODE { 0 } else { sub };
        self.local(port) * self.sub_ports + sub
    }

    /// The turn among input sub-ports that planes have.
    pub(super) fn row_of_planes(&self, row: usize) -> usize {
        self.port(row / self.sub_ports) * self.sub_ports + row % self.sub_ports
    }

    /// The turn of sets behind a channel, of one that planes have; they count from 1, and 0 is none.
    fn turn(&self, turn: u8) -> u16 {
        let Some(number) = usize::from(turn).checked_sub(1) else { return 0 };
        let (port, channel) = (number >> self.span_bits, number & ((1 << self.span_bits) - 1));
        ((self.local(port) * self.channels + channel + 1) % (self.ports * self.channels)) as u16
    }

    /// The turn that planes have.
    pub(super) fn turn_of_planes(&self, turn: u16) -> u8 {
        let Some(before) = usize::from(turn).checked_sub(1) else { return 0 };
        let (port, channel) = (self.port(before / self.channels), before % self.channels);
        ((port << self.span_bits) + channel + 1) as u8
    }

    /// A channel of a port.
    pub(super) fn vc(&self, router: usize, local: usize, channel: usize) -> VirtualChannel {
        let port = self.port(local);
        let number = (port << self.span_bits) + channel;
        let lane = ((router * self.ports + local) << self.span_bits) + channel;
        VirtualChannel { router, port, local, channel, number, queue: router * self.all + number, lane }
    }

    /// All channels of all ports.
    pub(super) fn virtual_channels(self, routers: usize) -> impl Iterator<Item = VirtualChannel> {
        (0..routers).flat_map(move |router| {
            (0..self.ports)
                .flat_map(move |local| (0..self.channels).map(move |channel| self.vc(router, local, channel)))
        })
    }
}

/// The flits of packets one behind the other, of the first from one of its flits on.
fn flits(packets: &[u32], first: u32, table: &Packets) -> Vec<u32> {
    let mut all = Vec::new();
    for (at, &packet) in packets.iter().enumerate() {
        let size = table[packet].size;
        for index in if at == 0 { first } else { 0 }..size {
            let head = if index == 0 { HEAD } else { 0 };
            let tail = if index + 1 == size { TAIL } else { 0 };
            all.push(packet | head | tail);
        }
    }
    all
}

impl<V: Vector> Planes<V> {
    pub(super) fn numbering(&self, rules: &Rules) -> Numbering {
        Numbering {
            ports: rules.wiring.inputs(0).len(),
            channels: self.layout.channels,
            span_bits: self.layout.span_bits,
            all: self.layout.all,
            sub_ports: rules.input_speedup,
        }
    }

    /// A number whose digits stand in planes of a channel of an input port.
    fn digits_of(&self, vc: &VirtualChannel, first: usize, count: usize) -> usize {
        let (vector, word) = self.layout.vector_of(vc.port, vc.channel, vc.router);
        let planes = words(&self.lanes[vector][first..first + count]);
        (0..count).map(|at| (planes[at * V::WORDS + word] >> (vc.router % 64) & 1) as usize * (1 << at)).sum()
    }

    /// Whether a plane of the channels of a port has the bit of a router.
    fn has(&self, planes: &[V], channel: usize, router: usize) -> bool {
        words(planes)[channel * self.layout.words + router / 64] >> (router % 64) & 1 == 1
    }

    /// The same routers as sets. What packets know is what it would be if they had been so all the time.
    pub(super) fn to_sets(&self, cycle: &mut Cycle<'_>) -> Sets {
        let rules = cycle.rules;
        let is_counted = self.leaving.is_some();
        let mut sets = if is_counted { Sets::counting(rules) } else { Sets::new(rules, false) };
        (sets.leaving.cycle, sets.leaving.step) = (self.links.tick, self.links.tick);
        let numbering = self.numbering(rules);
        self.give_lists(&mut sets, rules, numbering);
        self.give_nodes(&mut sets, cycle);
        for vc in numbering.virtual_channels(self.layout.nodes) {
            self.give_queue(&mut sets, &vc, cycle);
            self.give_input(&mut sets, &vc, numbering, cycle);
            self.give_output(&mut sets, &vc, numbering);
            self.give_credits(&mut sets, &vc, cycle);
        }
        for router in 0..self.layout.nodes {
            self.give_turns(&mut sets, router, numbering);
        }
        sets
    }

    /// Who waits, and what leaves next.
    fn give_lists(&self, sets: &mut Sets, rules: &Rules, numbering: Numbering) {
        for (router, number) in self.changes.begun.iter() {
            let (port, channel) =
                (number >> self.layout.span_bits, number & ((1 << self.layout.span_bits) - 1));
            let vc = numbering.vc(router as usize, numbering.local(port as usize), channel as usize);
            sets.routers[router as usize].to_be_routed.push(vc.lane as u32);
        }
        for vc in numbering.virtual_channels(self.layout.nodes) {
            let outputs = &self.outputs.ports[vc.router * PORTS..][..PORTS];
            let waits =
                |output: &usize| outputs[*output].waiting[vc.number / 64] >> (vc.number % 64) & 1 == 1;
            let Some(output) = (0..PORTS).find(waits) else { continue };
            sets.routers[vc.router].waiting.push(vc.lane as u32);
            sets.lanes[vc.lane].port = numbering.local(output) as u16;
        }
        for (at, router) in sets.routers.iter_mut().enumerate() {
            router.old = (router.to_be_routed.len(), router.waiting.len());
            sets.at_work[at / 64] |= u64::from(router.old != (0, 0)) << (at % 64);
        }
        let (Some(leaving), Some(next)) = (&self.leaving, &mut sets.leaves_next) else { return };
        for router in 0..self.layout.nodes {
            let (block, word) = self.layout.block_of(router);
            for local in 0..numbering.ports {
                let output = numbering.port(local);
                if words(&leaving.now[block][output..=output])[word] >> (router % 64) & 1 == 1 {
                    next.push(rules.wiring.output(router as u32, local) as u32);
                }
            }
        }
    }

    /// What a packet knows whose header is at a router, in a channel behind an input port with or without having been
    /// routed, or has left its last router.
    fn know(&self, packet: u32, router: usize, at: Option<(&VirtualChannel, bool)>, cycle: &mut Cycle<'_>) {
        let Cycle { rules, packets, shared, .. } = cycle;
        let packet = &mut packets[packet];
        let channels = rules.range(packet.kind);
        let is_ahead = rules.routing_delay == 0;
        if is_ahead {
            let place = Place {
                router: router as u32,
                port: at.map_or(0, |(vc, _)| vc.local),
                enters: at.is_none_or(|(vc, _)| vc.port == NODE),
                channel: at.map_or(channels.0, |(vc, _)| vc.channel as u32),
                channels,
                load: &shared.load,
            };
            // Dimension order on a mesh draws nothing.
            packet.ahead = rules.ways(&place, packet, &mut NotDrawn);
        }
        if let Some((_, is_routed)) = at {
            // Planes count all routers of the way at its beginning.
            let left = self.mesh.routers_between(router, packet.destination as usize);
            packet.hops = (packet.hops + u16::from(is_ahead || is_routed)).saturating_sub(left);
        }
    }

    /// Flits on their way to nodes, and what packets know whose headers have passed all routers.
    fn give_nodes(&self, sets: &mut Sets, cycle: &mut Cycle<'_>) {
        for node in 0..self.layout.nodes {
            for channel in 0..self.layout.channels {
                let place = (node << self.layout.span_bits) + channel;
                let packets = self.queues.packets(self.layout.nodes * self.layout.all + place);
                let Some(&first) = packets.first() else { continue };
                for &packet in &packets {
                    self.know(packet, node, None, cycle);
                }
                let mut flits = flits(&packets, cycle.packets[first].delivered, cycle.packets).into_iter();
                for ahead in 0..FLIGHT {
                    if self.has(self.links.sent_before(FLIGHT - ahead, NODE), channel, node)
                        && let Some(flit) = flits.next()
                    {
                        sets.flits.view().push(cycle.now + ahead, true, place as u32, flit);
                    }
                }
            }
        }
    }

    /// The flits of a queue, and on their way to it.
    fn give_queue(&self, sets: &mut Sets, vc: &VirtualChannel, cycle: &mut Cycle<'_>) {
        let packets = self.queues.packets(vc.queue);
        let Some(&first) = packets.first() else { return };
        let is_active = self.digits_of(vc, OUTPUT, PORTS) != 0;
        let size = cycle.packets[first].size;
        let left = if is_active { self.digits_of(vc, BEHIND, FIELDS - BEHIND) as u32 + 1 } else { size };
        let all = flits(&packets, size.saturating_sub(left), cycle.packets);
        let count = self.digits_of(vc, FLITS, COUNT);
        let mut known = all.iter().copied();
        for place in 0..count {
            sets.queues[(vc.lane << sets.layout.place_bits) + place] = known.next().unwrap_or(0);
        }
        let mut arriving = 0;
        for ahead in 0..FLIGHT {
            let is_on_its_way = match cycle.rules.wiring.inputs(vc.router as u32)[vc.local].end {
                End::Router(from, port) => {
                    self.has(self.links.sent_before(FLIGHT - ahead, port.into()), vc.channel, from as usize)
                }
                _ if ahead > 1 => false,
                _ => self.has(self.links.entering_in(ahead), vc.channel, vc.router),
            };
            if is_on_its_way && let Some(flit) = known.next() {
                sets.flits.view().push(cycle.now + ahead, false, vc.lane as u32, flit);
                arriving += 1;
            }
        }
        let is_new = sets.routers[vc.router].to_be_routed.contains(&(vc.lane as u32));
        for (place, flit) in all.into_iter().enumerate().take(count + arriving) {
            if flit & HEAD != 0 {
                let is_routed = place == 0 && count > 0 && !is_new;
                self.know(flit & PACKET, vc.router, Some((vc, is_routed)), cycle);
            }
        }
    }

    /// What an input channel does.
    fn give_input(&self, sets: &mut Sets, vc: &VirtualChannel, numbering: Numbering, cycle: &Cycle<'_>) {
        let count = self.digits_of(vc, FLITS, COUNT);
        let output = (0..PORTS).find(|&output| self.digits_of(vc, OUTPUT + output, 1) == 1);
        let may_send = self.digits_of(vc, READY, 1) == 1;
        let lane = &mut sets.lanes[vc.lane];
        lane.count = count as u32;
        lane.is_idle = self.digits_of(vc, IDLE, 1) == 1;
        lane.may_send = may_send;
        let record = &self.queues.records[vc.queue];
        sets.accepts[vc.lane] = numbering.turn(record.accepts);
        if let Some(output) = output {
            lane.port = numbering.local(output) as u16;
            lane.channel = self.digits_of(vc, DIGITS, CHANNEL) as u8;
            let port = lane.port;
            sets.view().ask(vc.lane as u32, port, may_send && count > 0);
        }
        let lane = &mut sets.lanes[vc.lane];
        if lane.port != NO_PORT {
            let (first, last) = cycle.rules.range(cycle.packets[record.front].kind);
            (lane.first, lane.last) = (first as u8, last as u8);
        }
        // Every channel of a sub-port has the bit from the turn on.
        if vc.channel < numbering.sub_ports {
            let turns = (vc.channel..self.layout.channels).step_by(numbering.sub_ports);
            let set =
                |channel: &usize| self.digits_of(&VirtualChannel { channel: *channel, ..*vc }, TURN, 1) == 1;
            let turn = turns.clone().find(set).unwrap_or(vc.channel);
            let sub_port = vc.router * numbering.ports + vc.local;
            sets.turns[sub_port * numbering.sub_ports + vc.channel] = turn as u8;
        }
    }

    /// What is known of an output channel.
    fn give_output(&self, sets: &mut Sets, vc: &VirtualChannel, numbering: Numbering) {
        let owned = self.outputs.owned[vc.queue];
        let (vector, word) = self.layout.vector_of(vc.port, vc.channel, vc.router);
        let planes = words(&self.known[vector]);
        let bit = |plane: usize| (planes[plane * V::WORDS + word] >> (vc.router % 64) & 1) as u32;
        let space: u32 = (0..COUNT).map(|plane| bit(plane) << plane).sum();
        let known = &mut sets.known[vc.lane];
        *known = Known::new(NO_LANE, self.options.places - space, false, bit(TAIL_SENT) == 1);
        if owned.owner != NOBODY {
            let (port, channel) = (
                usize::from(owned.owner) >> self.layout.span_bits,
                usize::from(owned.owner) % (1 << self.layout.span_bits),
            );
            known.owner = numbering.vc(vc.router, numbering.local(port), channel).lane as u32;
        }
        sets.grants[vc.lane] = numbering.turn(owned.grants);
        if vc.channel == 0 {
            let (from, to) =
                (&self.outputs.ports[vc.router * PORTS + vc.port], vc.lane >> self.layout.span_bits);
            (sets.outputs[to].free, sets.outputs[to].full) = (from.free.into(), from.full.into());
        }
    }

    /// Credits on their way from an input channel, and from the node to the output channel that leads to it.
    fn give_credits(&self, sets: &mut Sets, vc: &VirtualChannel, cycle: &Cycle<'_>) {
        let is_node = vc.port == NODE;
        let link = &cycle.rules.wiring.inputs(vc.router as u32)[vc.local];
        let to = match link.end {
            End::Router(there, port) => {
                (cycle.rules.wiring.output(there, port.into()) << self.layout.span_bits) + vc.channel
            }
            _ => (vc.router << self.layout.span_bits) + vc.channel,
        };
        let delay = 2 + self.links.credit_delay;
        let mut push = |late: u32, age: u32, input: usize, is_node: bool, to: usize| {
            if self.has(self.links.credits_before(age, input), vc.channel, vc.router) {
                sets.credits.view().push(cycle.now + late - age, is_node, to as u32, 0);
                sets.credits_under_way += 1;
            }
        };
        for age in 1..=if is_node { 2 } else { delay } {
            push(if is_node { 2 } else { delay }, age, vc.port, is_node, to);
        }
        if is_node {
            (1..=delay).for_each(|age| push(delay, age, PORTS, false, vc.lane));
        }
    }

    /// The turns of the switch at a router.
    fn give_turns(&self, sets: &mut Sets, router: usize, numbering: Numbering) {
        let (block, word) = self.layout.block_of(router);
        let at = (word, router % 64);
        let (grants, accepts) = match self.single.get(block) {
            Some(turns) => turns.of_router(at),
            None => self.double[block].of_router(at),
        };
        for local in 0..numbering.ports {
            let grant = numbering.row(grants[numbering.port(local)]);
            if sets.layout.is_small {
                sets.grant_bytes[router][local] = turn(grant as u32);
            } else {
                sets.switch_grants[router * numbering.ports + local] = grant as u8;
            }
        }
        let rows = numbering.ports * numbering.sub_ports;
        for row in 0..rows {
            let accept = numbering.local(accepts[numbering.row_of_planes(row)]);
            if sets.layout.is_small {
                sets.accept_bytes[router][row] = turn(accept as u32);
            } else {
                sets.switch_accepts[router * rows + row] = accept as u8;
            }
        }
    }
}
