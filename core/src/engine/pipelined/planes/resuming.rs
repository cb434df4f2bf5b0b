//! Planes taken up from sets.

use super::{
    super::{
        routers::Cycle,
        rules::Rules,
        sets::{HEAD, Lane, NO_PORT, NOBODY as NO_LANE, PACKET, Sets, TAIL},
        waiting::Waiting,
        wiring::End,
    },
    matching::PORTS,
    records::{
        BEHIND, CHANNEL, COUNT, DIGITS, FLIGHT, FLITS, IDLE, LEFT, NODE, OCCUPIED, OUTPUT, Owned, READY,
        TAIL_SENT, TURN,
    },
    saving::{Numbering, VirtualChannel},
    state::Planes,
};
use crate::bits::{Vector, words_mut};

/// Where the flits of a queue come from: an input channel of the router before it, or a source with so many flits left.
#[derive(Clone, Copy)]
enum Upstream {
    Lane(usize),
    Source(u32, u32),
}

/// Which flits are where, of sets.
struct Flits<'a> {
    sets: &'a Sets,
    rules: &'a Rules,
    waiting: &'a [Waiting],
    /// By input channel, and by node and channel: flits in the queue, and then those on their way to it.
    lanes: Vec<Vec<u32>>,
    nodes: Vec<Vec<u32>>,
    /// Whether an input channel has an output channel.
    is_active: Vec<bool>,
}

impl<'a> Flits<'a> {
    fn new(sets: &'a Sets, waiting: &'a [Waiting], now: u32, rules: &'a Rules) -> Self {
        let room = 1 << sets.layout.place_bits;
        let in_queue = |(lane, queue): (&Lane, &[u32])| {
            let place = |at: u32| queue[(lane.head + at) as usize % room];
            (0..lane.count).map(place).collect::<Vec<u32>>()
        };
        let mut lanes: Vec<_> = sets.lanes.iter().zip(sets.queues.chunks(room)).map(in_queue).collect();
        let mut nodes = vec![Vec::new(); rules.wiring.nodes() << sets.layout.channel_bits];
        for (_, is_node, item) in sets.flits.clone().take_all(now) {
            let to = if is_node { &mut nodes } else { &mut lanes };
            to[(item >> 32) as usize].push(item as u32);
        }
        let mut is_active: Vec<_> = sets.lanes.iter().map(|lane| !lane.is_idle).collect();
        for router in &sets.routers {
            for &lane in router.to_be_routed.iter().chain(&router.routing).chain(&router.waiting) {
                is_active[lane as usize] = false;
            }
        }
        Self { sets, rules, waiting, lanes, nodes, is_active }
    }

    /// Who sends to the channel behind an output port.
    fn owner(&self, output_channel: usize) -> Option<Upstream> {
        let owner = self.sets.known[output_channel].owner;
        (owner != NO_LANE).then_some(Upstream::Lane(owner as usize))
    }

    fn upstream(&self, lane: usize) -> Option<Upstream> {
        let bits = self.sets.layout.channel_bits;
        let (port, channel) = (&self.sets.inputs[lane >> bits], lane & ((1 << bits) - 1));
        match self.rules.wiring.inputs(port.router)[port.local as usize].end {
            End::Router(there, output) => {
                self.owner((self.rules.wiring.output(there, output.into()) << bits) + channel)
            }
            End::Node(node) => {
                let classes = self.waiting.len() / self.rules.wiring.nodes();
                let all = &self.waiting[node as usize * classes..][..classes];
                let sends =
                    |one: &&Waiting| one.size > 0 && one.next > 0 && usize::from(one.channel) == channel;
                let sending = all.iter().find(sends);
                sending.map(|one| Upstream::Source(one.packet, one.size.saturating_sub(one.next)))
            }
            End::Nothing => None,
        }
    }

    /// The packet at the front of an input channel, which may have sent on all flits that it had.
    fn front(&self, mut lane: usize) -> Option<u32> {
        for _ in 0..=self.lanes.len() {
            if let Some(flit) = self.lanes[lane].first() {
                return Some(flit & PACKET);
            }
            match self.upstream(lane).filter(|_| !self.sets.lanes[lane].is_idle)? {
                Upstream::Lane(before) => lane = before,
                Upstream::Source(packet, _) => return Some(packet),
            }
        }
        None
    }

    /// Flits of the packet at the front that have not left an input channel.
    fn left(&self, mut lane: usize) -> u32 {
        let mut left = 0;
        for _ in 0..=self.lanes.len() {
            for flit in &self.lanes[lane] {
                left += 1;
                if flit & TAIL != 0 {
                    return left;
                }
            }
            match self.upstream(lane) {
                Some(Upstream::Lane(before)) => lane = before,
                Some(Upstream::Source(_, more)) => return left + more,
                None => break,
            }
        }
        left
    }

    /// The packets that have entered a queue, or been given it, and not left.
    fn packets(&self, flits: &[u32], upstream: Option<Upstream>) -> Vec<u32> {
        let mut packets: Vec<u32> = Vec::new();
        for flit in flits {
            if packets.is_empty() || flit & HEAD != 0 {
                packets.push(flit & PACKET);
            }
        }
        if flits.last().is_none_or(|flit| flit & TAIL != 0) {
            packets.extend(match upstream {
                Some(Upstream::Lane(lane)) => self.front(lane),
                Some(Upstream::Source(packet, _)) => Some(packet),
                None => None,
            });
        }
        packets
    }
}

/// Sets the bit of a router in a plane of the channels of a port.
fn set(planes: &mut [u64], words: usize, channel: usize, router: usize) {
    planes[channel * words + router / 64] |= 1 << (router % 64);
}

impl<V: Vector> Planes<V> {
    /// Becomes what sets are, from routers without flits. What packets know becomes what planes tell them.
    pub(super) fn resume(&mut self, sets: &Sets, waiting: &[Waiting], cycle: &mut Cycle<'_>) {
        let rules = cycle.rules;
        self.links.tick = sets.leaving.cycle;
        let numbering = self.numbering(rules);
        for place in 0..cycle.packets.places() as u32 {
            self.queues.learn(place, self.options.head(&cycle.packets[place]));
        }
        let flits = Flits::new(sets, waiting, cycle.now, rules);
        for vc in numbering.virtual_channels(self.layout.nodes) {
            let entered = flits.packets(&flits.lanes[vc.lane], flits.upstream(vc.lane));
            self.enter_all(vc.queue, &entered, cycle);
            self.take_input(&flits, &vc, numbering);
            self.take_output(sets, &vc, numbering);
            if vc.port == NODE {
                let place = (vc.router << self.layout.span_bits) + vc.channel;
                let entered = flits.packets(&flits.nodes[place], flits.owner(vc.lane));
                self.enter_all(self.layout.nodes * self.layout.all + place, &entered, cycle);
            }
        }
        for (router, one) in sets.routers.iter().enumerate() {
            for &lane in one.to_be_routed.iter().chain(&one.routing) {
                self.changes.begun.push(router, self.channel_of_lane(lane, numbering).number);
            }
            for &lane in &one.waiting {
                self.take_waiting(sets, &self.channel_of_lane(lane, numbering), numbering);
            }
            self.take_turns(sets, router, numbering);
        }
        self.take_links(sets, numbering, cycle);
        self.take_leaving(sets, numbering, cycle);
    }

    /// The channel of a number in sets.
    fn channel_of_lane(&self, lane: u32, numbering: Numbering) -> VirtualChannel {
        let (port, channel) =
            ((lane >> self.layout.span_bits) as usize, lane as usize % (1 << self.layout.span_bits));
        numbering.vc(port / numbering.ports, port % numbering.ports, channel)
    }

    fn enter_all(&mut self, queue: usize, packets: &[u32], cycle: &mut Cycle<'_>) {
        for &packet in packets {
            self.queues.enter(queue, packet);
            let known = &mut cycle.packets[packet];
            known.hops = self.mesh.routers_between(known.source as usize, known.destination as usize);
        }
    }

    /// What an input channel does.
    fn take_input(&mut self, flits: &Flits<'_>, vc: &VirtualChannel, numbering: Numbering) {
        let (sets, bit) = (flits.sets, vc.router % 64);
        let lane = sets.lanes[vc.lane];
        let sub = vc.channel % numbering.sub_ports;
        let sub_port = (vc.router * numbering.ports + vc.local) * numbering.sub_ports + sub;
        let turn = usize::from(sets.turns[sub_port]);
        let mut known = None;
        let mut planes = vec![(IDLE, !lane.is_idle), (OCCUPIED, lane.count > 0), (TURN, vc.channel >= turn)];
        planes.extend((0..COUNT).map(|digit| (FLITS + digit, lane.count >> digit & 1 == 1)));
        if flits.is_active[vc.lane] {
            let (output, channel) = (numbering.port(lane.port.into()), usize::from(lane.channel));
            let behind = flits.left(vc.lane).saturating_sub(1);
            planes.extend([(READY, lane.may_send), (OUTPUT + output, true)]);
            planes.extend((0..CHANNEL).map(|digit| (DIGITS + digit, channel >> digit & 1 == 1)));
            planes.extend((0..LEFT).map(|digit| (BEHIND + digit, behind >> digit & 1 == 1)));
            known = Some((output << self.layout.span_bits) + channel);
        }
        // Routers without flits are idle.
        let words = self.planes_of(vc.number, vc.router);
        planes.iter().for_each(|&(plane, is_set)| words[plane * V::WORDS] ^= u64::from(is_set) << bit);
        let record = &mut self.queues.records[vc.queue];
        record.accepts = numbering.turn_of_planes(sets.accepts[vc.lane]);
        record.known = known.unwrap_or(0) as u8;
    }

    /// An input channel waits for an output channel.
    fn take_waiting(&mut self, sets: &Sets, vc: &VirtualChannel, numbering: Numbering) {
        let port = sets.lanes[vc.lane].port;
        if port != NO_PORT {
            let at = vc.router * PORTS + numbering.port(port.into());
            self.outputs.wait(at, vc.number);
        }
    }

    /// What is known of an output channel.
    fn take_output(&mut self, sets: &Sets, vc: &VirtualChannel, numbering: Numbering) {
        let (known, bit) = (sets.known[vc.lane], vc.router % 64);
        let owned = &mut self.outputs.owned[vc.queue];
        *owned = Owned { grants: numbering.turn_of_planes(sets.grants[vc.lane]), ..*owned };
        if known.owner != NO_LANE {
            self.outputs.owned[vc.queue].owner = self.channel_of_lane(known.owner, numbering).number as u8;
        }
        let (vector, word) = self.layout.vector_of(vc.port, vc.channel, vc.router);
        let space = self.options.places - known.used().min(self.options.places);
        // Routers without flits have all places.
        let changed = space ^ self.options.places;
        let planes = words_mut(&mut self.known[vector]);
        for digit in 0..COUNT {
            planes[digit * V::WORDS + word] ^= u64::from(changed >> digit & 1) << bit;
        }
        if self.options.waits_for_tail {
            planes[TAIL_SENT * V::WORDS + word] |= u64::from(known.tail_sent()) << bit;
        }
        let (from, to) = (&sets.outputs[vc.lane >> self.layout.span_bits], vc.router * PORTS + vc.port);
        (self.outputs.ports[to].free, self.outputs.ports[to].full) = (from.free as u16, from.full as u16);
    }

    /// The turns of the switch at a router.
    fn take_turns(&mut self, sets: &Sets, router: usize, numbering: Numbering) {
        let (ports, rows) = (numbering.ports, numbering.ports * numbering.sub_ports);
        let of_byte = |byte: u8| byte.trailing_zeros() as usize % 8;
        let mut grants = vec![0; PORTS];
        for local in 0..ports {
            let turn = match sets.layout.is_small {
                true => of_byte(sets.grant_bytes[router][local]),
                false => sets.switch_grants[router * ports + local].into(),
            };
            grants[numbering.port(local)] = numbering.row_of_planes(turn);
        }
        let mut accepts = vec![0; PORTS * numbering.sub_ports];
        for row in 0..rows {
            let turn = match sets.layout.is_small {
                true => of_byte(sets.accept_bytes[router][row]),
                false => sets.switch_accepts[router * rows + row].into(),
            };
            accepts[numbering.row_of_planes(row)] = numbering.port(turn);
        }
        let (block, first) = self.layout.block_of(router);
        // Planes of several channels in a vector have turns each.
        for word in (first..V::WORDS).step_by(self.layout.words) {
            let at = (word, router % 64);
            match self.single.get_mut(block) {
                Some(turns) => turns.set_of_router(at, &grants, &accepts),
                None => self.double[block].set_of_router(at, &grants, &accepts),
            }
        }
    }

    /// Flits and credits on their way.
    fn take_links(&mut self, sets: &Sets, numbering: Numbering, cycle: &Cycle<'_>) {
        let (now, rules, each) = (cycle.now, cycle.rules, self.layout.words);
        for (time, is_node, item) in sets.flits.clone().take_all(now) {
            let (ahead, place) = (time - now, (item >> 32) as u32);
            let vc = self.channel_of_lane(place, numbering);
            let sent =
                match (is_node, rules.wiring.inputs(vc.router as u32)[vc.local.min(numbering.ports - 1)].end)
                {
                    (true, _) => Some(((place >> self.layout.span_bits) as usize, NODE)),
                    (false, End::Router(from, port)) => Some((from as usize, usize::from(port))),
                    (false, _) => None,
                };
            match sent {
                Some((router, output)) if ahead < FLIGHT => {
                    let tick = self.links.tick.wrapping_add(ahead).wrapping_sub(FLIGHT);
                    set(words_mut(self.links.sent_in(tick, output)), each, vc.channel, router);
                }
                None => {
                    set(words_mut(self.links.enter_in(ahead)), each, vc.channel, vc.router);
                }
                Some(_) => {}
            }
        }
        let delay = 2 + self.links.credit_delay;
        for (time, is_node, item) in sets.credits.clone().take_all(now) {
            let (ahead, place) = (time - now, (item >> 32) as u32);
            let vc = self.channel_of_lane(place, numbering);
            let (late, router, input) = match (
                is_node,
                rules.wiring.outputs(vc.router as u32)[vc.local.min(numbering.ports - 1)].end,
            ) {
                (true, _) => (2, (place >> self.layout.span_bits) as usize, NODE),
                (false, End::Router(there, port)) => (delay, there as usize, usize::from(port)),
                (false, _) => (delay, vc.router, PORTS),
            };
            let tick = self.links.tick.wrapping_add(ahead).wrapping_sub(late);
            set(words_mut(self.links.credits_in(tick, input)), each, vc.channel, router);
        }
    }

    /// What leaves next, and by which links anything has left.
    fn take_leaving(&mut self, sets: &Sets, numbering: Numbering, cycle: &Cycle<'_>) {
        let (Some(leaving), Some(links)) = (&mut self.leaving, &cycle.shared.records.links) else { return };
        let mark = |planes: &mut [[V; PORTS]], output: usize| {
            let (router, output) = (output / numbering.ports, numbering.port(output % numbering.ports));
            let (block, first) = (router / 64 / V::WORDS, router / 64 % V::WORDS);
            for word in (first..V::WORDS).step_by(self.layout.words) {
                words_mut(&mut planes[block][output..=output])[word] |= 1 << (router % 64);
            }
        };
        for &output in sets.leaves_next.iter().flatten() {
            mark(&mut leaving.now, output as usize);
        }
        for output in (0..links.flits.len()).filter(|&output| links.flits[output] > 0) {
            mark(&mut leaving.ever, output);
        }
    }
}
