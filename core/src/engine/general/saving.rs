//! The state of the general engine as fields, in the order of the nodes: the same for vectors of any
//! width. What follows from other fields is not written down.

use super::{
    crossing::Crossing,
    feeds::{Backlog, Wheel},
    layout::{Layout, Place},
    packets::{AGAIN, Header, Packet, Packets},
    record::{Record, Set},
    state::State,
};
use crate::{
    bits::Vector,
    fabric::NodeId,
    save::{Archive, SaveError},
    throttle::AtWork,
};
use std::cmp::Reverse;

impl<V: Vector, R: Record> State<V, R> {
    /// Everything that outlives a cycle.
    pub fn archive(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        let words = layout.nodes.div_ceil(64);
        self.outcome.fields(archive)?;
        self.counts.archive("flits in queues", words, archive)?;
        self.held.archive("flits in and before queues", words, archive)?;
        self.left.archive("flits left", words, archive)?;
        self.fresh.archive("headers not sent", words, archive)?;
        self.last.archive("channels used last", words, archive)?;
        archive.slice("output channels", &mut self.outputs)?;
        archive.fixed("packets at fronts", &mut self.fifos, |fifo| &mut fifo.front)?;
        archive.fixed("packets at ends", &mut self.fifos, |fifo| &mut fifo.last)?;
        self.packets.archive(layout, archive)?;
        self.sources.fields(&mut self.routes, archive)?;
        self.archive_feeds(layout, archive)?;
        self.archive_wheel(archive)?;
        if let Some(registers) = &mut self.registers {
            registers.archive(words, self.packets.packets.len(), archive)?;
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.archive(words, archive)?;
        }
        if let Some(throttling) = &mut self.throttling {
            throttling.archive(layout, archive)?;
        }
        if let Some(links) = &mut self.links {
            links.archive(words, archive)?;
        }
        if let Some(windows) = &mut self.windows {
            windows.fields(archive)?;
        }
        if archive.is_reading() {
            self.check_restored(layout)?;
            self.derive(layout);
            self.tell_throttle_again(layout);
        }
        Ok(())
    }

    fn archive_feeds(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        let feeds = &mut self.feeds;
        let number = |place: &Place| layout.line(place.node(), place.index()) as u32;
        let mut free: Vec<u32> = feeds.free.items().iter().map(number).collect();
        free.sort_unstable();
        archive.list("processor queues to begin", &mut free)?;
        let mut waiting: Vec<NodeId> = feeds.wheel.nodes().collect();
        waiting.sort_unstable();
        archive.list("nodes that wait", &mut waiting)?;
        let mut wakes: Vec<(u64, u32)> = feeds.wakes.drain().map(|Reverse(wake)| wake).collect();
        wakes.sort_unstable();
        archive.column("wakes", &mut wakes, &(0, 0), |wake| &mut wake.0)?;
        archive.column("nodes to wake", &mut wakes, &(0, 0), |wake| &mut wake.1)?;
        archive.slice("nodes to top up", &mut feeds.look)?;
        archive.slice("nodes with a wake", &mut feeds.waiting)?;
        archive.fixed("flits unsent", &mut feeds.backlog, |Backlog { unsent, .. }| unsent)?;
        archive.fixed("flits in processor queues", &mut feeds.backlog, |Backlog { queued, .. }| queued)?;
        archive.fixed("packets before queues", &mut feeds.before, |before| &mut before.count)?;
        archive.fixed("numbers before queues", &mut feeds.before, |before| &mut before.number)?;
        archive.fixed("starts before queues", &mut feeds.before, |before| &mut before.start)?;
        feeds.interlock.fields(archive)?;
        if archive.is_reading() {
            let nodes = layout.nodes;
            let lazy = feeds.backlog.is_empty();
            below("processor queues to begin", nodes * layout.processor_queues, free.iter().copied())?;
            below("nodes that wait", if lazy { nodes } else { 0 }, waiting.iter().copied())?;
            below("nodes to wake", nodes, wakes.iter().map(|wake| wake.1))?;
            let last = feeds.look.last().copied().unwrap_or(0);
            let beyond =
                last.checked_shr((nodes % 64) as u32).filter(|_| !nodes.is_multiple_of(64)).unwrap_or(0);
            if beyond != 0 {
                return Err(SaveError::Value { field: "nodes to top up", value: beyond });
            }
            feeds.free.clear();
            feeds.free.reserve(free.len());
            for line in free {
                let (node, queue) =
                    (line as usize / layout.processor_queues, line as usize % layout.processor_queues);
                feeds.free.put(Place::new(node, layout.link_queues + queue), true);
            }
            waiting.dedup();
            feeds.wheel = Wheel::new(if lazy { nodes } else { 0 });
            for node in waiting {
                feeds.wheel.wait(node, self.sources.next_start(node));
            }
        }
        feeds.wakes.extend(wakes.into_iter().map(Reverse));
        Ok(())
    }

    fn archive_wheel(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let empty = (Crossing { to: Place::default(), slot: 0 }, 0);
        for due in &mut self.wheel {
            let mut headers: Vec<_> =
                due.crossings.iter().map(|&crossing| (crossing, crossing.to.pack())).collect();
            archive.column("headers on links", &mut headers, &empty, |header| &mut header.0.slot)?;
            archive.column("queues ahead", &mut headers, &empty, |header| &mut header.1)?;
            due.crossings =
                headers.iter().map(|&(header, to)| Crossing { to: Place::unpack(to), ..header }).collect();
            archive.column("queues of flits", &mut due.flits, &(0, 0, 0), |flits| &mut flits.0)?;
            archive.column("words of flits", &mut due.flits, &(0, 0, 0), |flits| &mut flits.1)?;
            archive.column("flits on links", &mut due.flits, &(0, 0, 0), |flits| &mut flits.2)?;
        }
        archive.number("flits on links", &mut self.on_links)
    }

    /// Nothing restored may lead outside the network.
    fn check_restored(&self, layout: &Layout) -> Result<(), SaveError> {
        let slots = self.packets.packets.len();
        below("packets at fronts", slots, self.fifos.iter().map(|fifo| fifo.front))?;
        below("packets at ends", slots, self.fifos.iter().map(|fifo| fifo.last & !AGAIN))?;
        below("output channels", layout.queues + 1, self.outputs.iter().map(|output| output.owner()))?;
        below("output channels", layout.ports(), self.outputs.iter().map(|output| output.rotation()))?;
        for (index, output) in self.outputs.iter().enumerate() {
            let (node, place) = (index / layout.outputs, index % layout.outputs);
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
    pub fn derive(&mut self, layout: &Layout) {
        let count_bits = self.count_bits;
        self.full_any = R::Set::default();
        for block in 0..self.blocks {
            let word = block * V::WORDS;
            let mut any = R::Set::default();
            for queue in 0..layout.link_queues {
                let planes = queue * count_bits..(queue + 1) * count_bits;
                let mut some = V::zero();
                for &count in &self.counts.block(block)[planes.clone()] {
                    some = some | count;
                }
                self.nonempty.block_mut(block)[queue] = some;
                let held = if layout.latency > 1 { &self.held } else { &self.counts };
                let mut full = V::zero();
                for (bit, &count) in held.block(block)[planes].iter().enumerate() {
                    full = if self.most >> bit & 1 == 1 { full & count } else { full | count };
                    if layout.headers_wait {
                        count.store(&mut self.levels.plane_mut(queue * count_bits + bit)[word..]);
                    }
                }
                full.store(&mut self.full.plane_mut(queue)[word..]);
                any |= R::Set::of(queue, full.any());
            }
            self.any[block].full = any;
            self.any[block].parked = R::Set::default();
            self.parked.block_mut(block).fill(V::zero());
            self.full_any |= any;
        }
        self.asking.clear();
        self.headers.clear();
        self.wanted.clear();
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
                    self.wanted.reserve(1);
                    self.wanted.put(Place::new(node, output), true);
                }
            }
            for queue in (0..layout.queues).filter(|&queue| !asked.has(queue)) {
                self.asking.reserve(1);
                let front = self.fifos[node * layout.queues + queue].front;
                let place = Place::new(node, queue);
                let pending = !self.demands.reconsiders
                    && self
                        .throttling
                        .as_ref()
                        .is_some_and(|throttling| throttling.is_pending(layout, place));
                self.asking.put(place, front != 0 && !pending);
            }
        }
    }
}

impl Packets {
    fn archive(&mut self, layout: &Layout, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { headers, packets, free } = self;
        archive.list("free slots", free)?;
        archive.column("numbers", packets, &Packet::default(), |packet| &mut packet.number)?;
        archive.column("starts", packets, &Packet::default(), |packet| &mut packet.start)?;
        archive.column("injections", packets, &Packet::default(), |packet| &mut packet.injected)?;
        archive.column("sources", packets, &Packet::default(), |packet| &mut packet.source)?;
        archive.column("slices", packets, &Packet::default(), |packet| &mut packet.slice)?;
        archive.column("lengths", packets, &Packet::default(), |packet| &mut packet.length)?;
        archive.column("routes", packets, &Packet::default(), |packet| &mut packet.route)?;
        archive.column("first channels", packets, &Packet::default(), |packet| &mut packet.first_channel)?;
        let mut destinations: Vec<u32> =
            headers.iter().map(|header| layout.destination(header.way) as u32).collect();
        archive.list("destinations", &mut destinations)?;
        archive.column("packets behind", headers, &Header::default(), |header| &mut header.next)?;
        if archive.is_reading() {
            let slots = packets.len();
            for (field, given) in [("destinations", destinations.len()), ("packets behind", headers.len())] {
                if given != slots {
                    return Err(SaveError::Length { field, given: given as u64, needed: slots as u64 });
                }
            }
            if slots == 0 {
                return Err(SaveError::Length { field: "numbers", given: 0, needed: 1 });
            }
            below("free slots", slots, free.iter().copied())?;
            below("sources", layout.shape.nodes(), packets.iter().map(|packet| packet.source))?;
            below("destinations", layout.shape.nodes(), destinations.iter().copied())?;
            below("packets behind", slots, headers.iter().map(|header| header.next))?;
            below(
                "first channels",
                layout.channels,
                packets.iter().map(|packet| packet.first_channel.into()),
            )?;
            if free.len() >= slots {
                return Err(SaveError::Length {
                    field: "free slots",
                    given: free.len() as u64,
                    needed: slots as u64 - 1,
                });
            }
            for ((header, packet), destination) in headers.iter_mut().zip(packets).zip(destinations) {
                header.way = layout.way(packet.source as usize, destination as usize);
                packet.destination = destination;
            }
        }
        Ok(())
    }
}

/// Every value is below a limit.
fn below(field: &'static str, limit: usize, mut values: impl Iterator<Item = u32>) -> Result<(), SaveError> {
    match values.find(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(value) => Err(SaveError::Value { field, value: value.into() }),
    }
}
