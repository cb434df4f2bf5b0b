//! The state of the general engine as fields, in the order of the nodes: the same for vectors of any
//! width. What follows from other fields is not written down.

use super::{
    crossing::{Crossing, Due},
    layout::{Layout, Place},
    packets::{AGAIN, Fifo, Header, Packet, Packets},
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::{Vector, above_with},
    save::{Archive, SaveError},
    visit::{self, Saved, State as _, Visited, Visitor, below},
};

impl<V: Vector, R: Record> State<V, R> {
    /// Saves or restores everything that outlives a cycle.
    pub(super) fn archive(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        self.visit(&mut Saved::new(archive, layout.nodes))?;
        if archive.is_reading() {
            self.check_restored(layout)?;
            self.packets.find_ways(layout);
            self.derive(layout);
            self.restore_throttle(layout);
        }
        Ok(())
    }

    /// Nothing restored may lead outside the network.
    fn check_restored(&self, layout: &Layout) -> Result<(), SaveError> {
        let slots = self.packets.check(layout)?;
        if let Some(registers) = &self.registers {
            below("packets in registers", slots, registers.slots.iter().copied())?;
        }
        if let Some(control) = &self.injection_control {
            let outputs = control.output.iter().map(|&output| output.into());
            below("outputs wanted", layout.link_outputs, outputs)?;
        }
        below("packets at fronts", slots, self.fifos.iter().map(|fifo| fifo.front))?;
        below("packets at ends", slots, self.fifos.iter().map(|fifo| fifo.last & !AGAIN))?;
        below("output channels", layout.queues + 1, self.outputs.iter().map(|output| output.owner()))?;
        below("output channels", layout.ports(), self.outputs.iter().map(|output| output.rotation()))?;
        for (index, output) in self.outputs.iter().enumerate() {
            let (node, place) = (index / layout.outputs, index % layout.outputs);
            let requested = (0..R::REQUESTS as u32).any(|bit| output.requests(bit));
            if (requested || output.owner() > 0) && !layout.leads_on(node, place) {
                return Err(SaveError::Value { field: "output channels", value: index as u64 });
            }
            let known = (0..layout.queues).map(|queue| layout.bit_of_queue(node, place, queue));
            let known = known.filter(|&bit| output.requests(bit)).count();
            if (0..R::REQUESTS as u32).filter(|&bit| output.requests(bit)).count() != known {
                return Err(SaveError::Value { field: "output channels", value: index as u64 });
            }
        }
        let crossings = || self.wheel.iter().flat_map(|due| &due.crossings);
        below("headers on links", slots, crossings().map(|crossing| crossing.slot))?;
        below("queues ahead", layout.nodes, crossings().map(|crossing| crossing.to.node() as u32))?;
        below("queues ahead", layout.link_queues, crossings().map(|crossing| crossing.to.index() as u32))?;
        let flits = || self.wheel.iter().flat_map(|due| &due.flits);
        below("queues of flits", layout.link_queues, flits().map(|flits| flits.0))?;
        below("words of flits", layout.nodes.div_ceil(64), flits().map(|flits| flits.1))
    }

    /// Makes what follows from other fields.
    pub(super) fn derive(&mut self, layout: &Layout) {
        let count_bits = self.queues.count_bits;
        self.queues.full_any = R::Set::default();
        for block in 0..self.blocks {
            let word = block * V::WORDS;
            let mut any = R::Set::default();
            for queue in 0..layout.link_queues {
                let planes = queue * count_bits..(queue + 1) * count_bits;
                let mut some = V::zero();
                for &count in &self.queues.counts.block(block)[planes.clone()] {
                    some = some | count;
                }
                self.queues.nonempty.block_mut(block)[queue] = some;
                let held = if layout.latency > 1 { &self.queues.held } else { &self.queues.counts };
                let mut full = V::zero();
                for (bit, &count) in held.block(block)[planes].iter().enumerate() {
                    full = above_with(full, self.queues.most, bit, count);
                    if layout.headers_wait {
                        count.store(&mut self.queues.levels.plane_mut(queue * count_bits + bit)[word..]);
                    }
                }
                full.store(&mut self.queues.full.plane_mut(queue)[word..]);
                any |= R::Set::of(queue, full.any());
            }
            self.any[block].full = any;
            self.any[block].parked = R::Set::default();
            self.requests.parked.block_mut(block).fill(V::zero());
            self.queues.full_any |= any;
        }
        self.requests.asking.clear();
        self.requests.headers.clear();
        self.requests.wanted.clear();
        for node in 0..layout.nodes {
            let mut asked = R::Set::default();
            for output in 0..layout.outputs {
                let record = self.outputs[node * layout.outputs + output];
                for queue in 0..layout.queues {
                    let asks = record.requests(layout.bit_of_queue(node, output, queue));
                    asked |= R::Set::of(queue, asks);
                }
                let place = Place::new(node, output);
                let passed = self.registers.as_ref().is_some_and(|registers| registers.holds_tail(place));
                if passed {
                    // The queue is at its next packet, though the output channel is not free.
                    continue;
                }
                if let Some(queue) = (record.owner() as usize).checked_sub(1) {
                    asked |= R::Set::of(queue, true);
                    self.set_owner(node, output, queue);
                } else if record.is_requested() {
                    self.requests.wanted.reserve(1);
                    self.requests.wanted.put(Place::new(node, output), true);
                }
            }
            for queue in (0..layout.queues).filter(|&queue| !asked.has(queue)) {
                self.requests.asking.reserve(1);
                let front = self.fifos[node * layout.queues + queue].front;
                let place = Place::new(node, queue);
                let pending = !self.demands.reconsiders
                    && self
                        .injection_control
                        .as_ref()
                        .is_some_and(|control| control.is_pending(layout, place));
                self.requests.asking.put(place, front != 0 && !pending);
            }
        }
    }
}

impl<V: Vector, R: Record> visit::State for State<V, R> {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self {
            // What it was made of.
            proof: _,
            demands: _,
            blocks: _,
            left_bits: _,
            // What follows.
            own,
            pairs: _,
            any: _,
            requests,
            // What does not outlive a cycle.
            moving,
            watched,
            before: _,
            news: _,
            // The rest.
            outcome,
            queues,
            left,
            fresh,
            last,
            outputs,
            fifos,
            packets,
            sources,
            routes,
            feeds,
            wheel,
            on_links,
            registers,
            ahead,
            injection_control,
            links,
            windows,
        } = self;
        visitor.follow(&[own, &requests.parked, &watched.ready, &watched.sendable]);
        visitor.follow(&[&moving.leaves, &moving.heads, &moving.tails, &moving.sent]);
        visitor.whole(|archive| outcome.fields(archive))?;
        queues.visit(visitor)?;
        visitor.bits("flits left", left)?;
        visitor.bits("headers not sent", fresh)?;
        visitor.bits("channels used last", last)?;
        visitor.numbers("output channels", outputs)?;
        // Packets have other slots in every part.
        visitor.whole(|archive| {
            archive.fixed("packets at fronts", fifos, |Fifo { front, last: _ }| front)?;
            archive.fixed("packets at ends", fifos, |Fifo { front: _, last }| last)?;
            packets.fields(archive)
        })?;
        sources.visit(routes, visitor)?;
        feeds.visit(sources, visitor)?;
        visitor.whole(|archive| {
            wheel.iter_mut().try_for_each(|due| due.fields(archive))?;
            archive.number("flits on links", on_links)
        })?;
        registers.as_deref_mut().map_or(Ok(()), |registers| registers.visit(visitor))?;
        ahead.as_mut().map_or(Ok(()), |ahead| ahead.visit(visitor))?;
        injection_control.as_deref_mut().map_or(Ok(()), |control| control.visit(visitor))?;
        links.as_mut().map_or(Ok(()), |links| links.visit(visitor))?;
        visitor.whole(|archive| {
            let Some(windows) = windows else { return Ok(()) };
            windows.count_messages(sources);
            windows.fields(archive)
        })
    }
}

impl Due {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { crossings, flits } = self;
        let mut headers: Vec<_> = crossings.iter().map(|&crossing| (crossing, crossing.to.pack())).collect();
        let empty = (Crossing::default(), 0);
        archive.column("headers on links", &mut headers, &empty, |header| &mut header.0.slot)?;
        archive.column("queues ahead", &mut headers, &empty, |header| &mut header.1)?;
        *crossings =
            headers.iter().map(|&(header, to)| Crossing { to: Place::unpack(to), ..header }).collect();
        archive.column("queues of flits", flits, &(0, 0, 0), |flits| &mut flits.0)?;
        archive.column("words of flits", flits, &(0, 0, 0), |flits| &mut flits.1)?;
        archive.column("flits on links", flits, &(0, 0, 0), |flits| &mut flits.2)
    }
}

impl Packets {
    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { headers, packets, free } = self;
        let empty = Packet::default();
        archive.list("free slots", free)?;
        // Every field of a packet is a column.
        let Packet {
            number: _,
            start: _,
            injected: _,
            source: _,
            destination: _,
            slice: _,
            length: _,
            route: _,
            first_channel: _,
        } = empty;
        archive.column("numbers", packets, &empty, |packet| &mut packet.number)?;
        archive.column("starts", packets, &empty, |packet| &mut packet.start)?;
        archive.column("injections", packets, &empty, |packet| &mut packet.injected)?;
        archive.column("sources", packets, &empty, |packet| &mut packet.source)?;
        archive.column("slices", packets, &empty, |packet| &mut packet.slice)?;
        archive.column("lengths", packets, &empty, |packet| &mut packet.length)?;
        archive.column("routes", packets, &empty, |packet| &mut packet.route)?;
        archive.column("first channels", packets, &empty, |packet| &mut packet.first_channel)?;
        let mut destinations: Vec<u32> = packets.iter().map(|packet| packet.destination).collect();
        archive.list("destinations", &mut destinations)?;
        // The way follows.
        archive.column("packets behind", headers, &Header::default(), |Header { way: _, next }| next)?;
        let slots = packets.len();
        for (field, given) in [("destinations", destinations.len()), ("packets behind", headers.len())] {
            if given != slots {
                return Err(SaveError::Length { field, given: given as u64, needed: slots as u64 });
            }
        }
        packets.iter_mut().zip(destinations).for_each(|(packet, to)| packet.destination = to);
        Ok(())
    }

    /// Nothing restored may lead outside the network; the number of slots.
    fn check(&self, layout: &Layout) -> Result<usize, SaveError> {
        let Self { headers, packets, free } = self;
        let slots = packets.len();
        if slots == 0 {
            return Err(SaveError::Length { field: "numbers", given: 0, needed: 1 });
        }
        let nodes = layout.shape.nodes();
        below("free slots", slots, free.iter().copied())?;
        below("sources", nodes, packets.iter().map(|packet| packet.source))?;
        below("destinations", nodes, packets.iter().map(|packet| packet.destination))?;
        below("packets behind", slots, headers.iter().map(|header| header.next))?;
        below("first channels", layout.channels, packets.iter().map(|packet| packet.first_channel.into()))?;
        if free.len() >= slots {
            let (given, needed) = (free.len() as u64, slots as u64 - 1);
            return Err(SaveError::Length { field: "free slots", given, needed });
        }
        Ok(slots)
    }

    /// Ways follow from sources and destinations.
    fn find_ways(&mut self, layout: &Layout) {
        for (header, packet) in self.headers.iter_mut().zip(&self.packets) {
            header.way = layout.way(packet.source as usize, packet.destination as usize);
        }
    }
}
