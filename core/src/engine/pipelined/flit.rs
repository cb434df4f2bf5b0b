//! Packets and their flits.

use crate::{
    probe,
    save::{Archive, Plain, SaveError, plain_record},
    visit::{Visited, below},
};
use std::collections::VecDeque;

/// What kind of message a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ReadRequest,
    ReadReply,
    WriteRequest,
    WriteReply,
    Any,
}

impl Kind {
    /// How many there are.
    pub(crate) const COUNT: usize = 5;

    /// Whether it answers a request.
    pub(crate) fn is_reply(self) -> bool {
        matches!(self, Self::ReadReply | Self::WriteReply)
    }
}

impl Plain for Kind {
    const BYTES: usize = 1;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self as u8);
    }

    fn get(bytes: &[u8]) -> Self {
        let all = [Self::ReadRequest, Self::ReadReply, Self::WriteRequest, Self::WriteReply];
        all.get(usize::from(bytes[0])).copied().unwrap_or(Self::Any)
    }
}

/// A packet from its making to the retirement of its tail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub number: u32,
    pub first_flit: u32,
    pub source: u32,
    pub destination: u32,
    pub class: u16,
    /// Slice of its message, for the link-time record; of message graphs the send that it belongs to.
    pub slice: u32,
    /// What its flits get when it is made.
    pub priority: i32,
    pub kind: Kind,
    pub size: u32,
    pub created: u32,
    pub injected: u32,
    pub head_arrival: u32,
    /// Flits that arrived.
    pub delivered: u32,
    pub is_measured: bool,
    /// An intermediate node, and the phase of a way of several parts.
    pub middle: u32,
    pub phase: u8,
    /// Routers whose ways were computed, where they count it.
    pub hops: u16,
    /// The ways at the next router, where they are computed before it.
    pub ahead: Ways,
}

impl Packet {
    /// A packet of a class and kind that was made for a cycle.
    #[inline]
    pub(crate) fn new(
        (number, source, destination): (u32, u32, u32),
        (class, kind): (u16, Kind),
        size: u32,
        created: u32,
    ) -> Self {
        Self {
            number,
            first_flit: 0,
            source,
            destination,
            class,
            slice: 0,
            priority: 0,
            kind,
            size,
            created,
            injected: 0,
            head_arrival: 0,
            delivered: 0,
            is_measured: false,
            middle: 0,
            phase: 0,
            hops: 0,
            ahead: Ways::default(),
        }
    }
}

plain_record!(Packet {
    number: u32,
    first_flit: u32,
    source: u32,
    destination: u32,
    class: u16,
    slice: u32,
    priority: i32,
    kind: Kind,
    size: u32,
    created: u32,
    injected: u32,
    head_arrival: u32,
    delivered: u32,
    is_measured: bool,
    middle: u32,
    phase: u8,
    hops: u16,
    ahead: Ways,
});

/// One flit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flit {
    /// Place of its packet.
    pub packet: u32,
    /// Which of its packet it is, and a bit for the last one.
    place: u32,
    pub injected: u32,
    pub priority: i32,
    pub hops: u16,
    pub channel: u16,
}

plain_record!(Flit { packet: u32, place: u32, injected: u32, priority: i32, hops: u16, channel: u16 });

impl Flit {
    const TAIL: u32 = 1 << 31;

    /// A flit of a packet of so many, before it is sent.
    pub(crate) fn new(packet: u32, index: u32, size: u32, priority: i32) -> Self {
        let place = index | if index + 1 == size { Self::TAIL } else { 0 };
        Self { packet, place, injected: 0, priority, hops: 0, channel: 0 }
    }

    /// Which of its packet it is.
    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.place & !Self::TAIL
    }

    #[inline]
    pub(crate) fn is_head(&self) -> bool {
        self.place & !Self::TAIL == 0
    }

    #[inline]
    pub(crate) fn is_tail(&self) -> bool {
        self.place & Self::TAIL != 0
    }
}

/// A range of output channels that a packet may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    pub port: u16,
    pub first: u16,
    pub last: u16,
    pub rank: i16,
}

plain_record!(Way { port: u16, first: u16, last: u16, rank: i16 });

/// One of so many equal parts of channels; what does not divide is left out.
pub(crate) fn part((a, b): (u32, u32), parts: u32, number: u32) -> (u32, u32) {
    let width = (b - a + 1) / parts;
    assert!(width > 0, "{parts} parts of channels {a} to {b}");
    (a + number * width, a + (number + 1) * width - 1)
}

/// At most two ways, the higher rank first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ways {
    ways: [Way; 2],
    count: u8,
}

impl Plain for Ways {
    const BYTES: usize = 2 * Way::BYTES + 1;

    fn put(self, bytes: &mut Vec<u8>) {
        let Self { ways, count } = self;
        ways.put(bytes);
        count.put(bytes);
    }

    fn get(bytes: &[u8]) -> Self {
        // No more than there is room for, also where bytes are damaged.
        Self { ways: Plain::get(&bytes[..2 * Way::BYTES]), count: bytes[2 * Way::BYTES].min(2) }
    }
}

impl Ways {
    /// One way.
    #[inline]
    pub(crate) fn one(port: usize, first: u32, last: u32) -> Self {
        let mut ways = Self::default();
        ways.add(port, first, last, 0);
        ways
    }

    /// Adds a way, unless there is one of the same rank.
    #[inline]
    pub(crate) fn add(&mut self, port: usize, first: u32, last: u32, rank: i16) {
        if self.iter().any(|way| way.rank == rank) {
            return;
        }
        let at = usize::from(self.count);
        self.ways[at] = Way { port: port as u16, first: first as u16, last: last as u16, rank };
        self.count += 1;
        if at == 1 && self.ways[0].rank < rank {
            self.ways.swap(0, 1);
        }
    }

    /// Of channels, cut into as many equal parts as there are ports, those of the port of the first way.
    pub(crate) fn part_of(&self, channels: (u32, u32), ports: usize) -> (u32, u32) {
        part(channels, ports as u32, self.ways[0].port.into())
    }

    /// The same ways with other channels.
    pub(crate) fn within(mut self, (first, last): (u32, u32)) -> Self {
        for way in &mut self.ways {
            (way.first, way.last) = (first as u16, last as u16);
        }
        self
    }

    /// The ways, the higher rank first.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Way> {
        self.ways[..usize::from(self.count)].iter()
    }
}

/// Most flits of the largest packet, times two packets of every node, for which a number each is kept.
const MOST_NUMBERS: u64 = 1 << 22;

/// Packets by place; places of retired ones are used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
    /// By place and flit when it was sent, for flits that do not carry it; flits of the largest packet.
    sent: Vec<u32>,
    largest: u32,
    /// The same by place for flits that have not arrived, where there would be very many.
    under_way: Vec<VecDeque<u32>>,
    are_many: bool,
}

impl Packets {
    /// No packets yet, of so many nodes; the largest will have so many flits.
    pub(crate) fn new(largest: u32, nodes: usize) -> Self {
        Self { largest, are_many: Self::are_many(largest, nodes), ..Self::default() }
    }

    /// Whether so many flits may be under way that only queues of them are kept.
    pub(crate) fn are_many(largest: u32, nodes: usize) -> bool {
        u64::from(largest) * 2 * nodes as u64 > MOST_NUMBERS
    }

    /// All packets, and when their flits were sent, of a network of so many nodes and classes.
    pub(crate) fn fields(&mut self, nodes: usize, classes: usize, archive: &mut Archive) -> Visited {
        let Self { all, free, sent, largest, under_way, are_many } = self;
        if !archive.is_reading() {
            free.iter().for_each(|&place| all[place as usize].ahead = Ways::default());
        }
        archive.list("packets", all)?;
        archive.list("free places of packets", free)?;
        archive.list("cycles of sending", sent)?;
        if *are_many {
            under_way.resize(all.len(), VecDeque::new());
            archive.lists("cycles of sending of flits under way", &mut *under_way)?;
        }
        below("free places of packets", all.len(), free.iter().copied())?;
        below("packets", nodes, all.iter().flat_map(|packet| [packet.source, packet.destination]))?;
        below("packets", classes, all.iter().map(|packet| packet.class.into()))?;
        below("packets", *largest as usize + 1, all.iter().flat_map(|one| [one.size, one.delivered]))?;
        match sent.len() as u64 {
            given if given > all.len() as u64 * u64::from(*largest) => {
                Err(SaveError::Value { field: "cycles of sending", value: given })
            }
            _ => Ok(()),
        }
    }

    /// No flit may be of a packet that there is not, or in another channel than these.
    pub(crate) fn check<'a>(
        &self,
        field: &'static str,
        channels: usize,
        mut flits: impl Iterator<Item = &'a Flit>,
    ) -> Visited {
        let is_known = |flit: &Flit| {
            let packet = self.all.get(flit.packet as usize);
            packet.is_some_and(|packet| flit.index() < packet.size) && usize::from(flit.channel) < channels
        };
        match flits.find(|flit| !is_known(flit)) {
            None => Ok(()),
            Some(flit) => Err(SaveError::Value { field, value: flit.packet.into() }),
        }
    }

    /// The same packets, without the cycles in which their flits were sent.
    pub(crate) fn without_cycles(&self) -> Self {
        Self { all: self.all.clone(), largest: self.largest, are_many: self.are_many, ..Self::default() }
    }

    /// Puts what is known of a packet at its place.
    pub(crate) fn put(&mut self, place: u32, packet: Packet) {
        let at = place as usize;
        if at >= self.all.len() {
            self.all.resize(at + 1, packet);
        }
        self.all[at] = packet;
    }

    /// Takes over what routers change of a packet, from where its header is.
    pub(crate) fn learn(&mut self, place: u32, there: &Packet) {
        let packet = &mut self.all[place as usize];
        (packet.hops, packet.ahead) = (there.hops, there.ahead);
    }

    /// Places of packets.
    pub(crate) fn places(&self) -> usize {
        self.all.len()
    }

    /// Notes that a flit was sent.
    #[inline]
    pub(crate) fn note_sent(&mut self, flit: &Flit, now: u32) {
        self.note_sent_at(flit.packet, flit.index(), now);
    }

    /// Notes that a flit of a packet was sent.
    #[inline]
    pub(crate) fn note_sent_at(&mut self, packet: u32, index: u32, now: u32) {
        if self.are_many {
            self.keep_sent(packet, index, now);
            return;
        }
        let at = (packet * self.largest + index) as usize;
        if at >= self.sent.len() {
            self.sent.resize(self.all.len() * self.largest as usize, 0);
        }
        self.sent[at] = now;
    }

    #[cold]
    fn keep_sent(&mut self, packet: u32, index: u32, now: u32) {
        self.under_way.resize(self.all.len(), VecDeque::new());
        let queue = &mut self.under_way[packet as usize];
        if index == 0 {
            queue.clear();
        }
        queue.push_back(now);
    }

    /// A flit of a packet has arrived.
    #[inline]
    pub(crate) fn arrive(&mut self, place: u32) {
        self.all[place as usize].delivered += 1;
        if self.are_many {
            self.under_way[place as usize].pop_front();
        }
    }

    /// When a flit was sent, of those noted.
    #[inline]
    pub(crate) fn sent(&self, place: u32, index: u32) -> u32 {
        if self.are_many {
            let before = self.all[place as usize].delivered;
            let queue = self.under_way.get(place as usize);
            return queue.and_then(|queue| queue.get((index - before) as usize)).copied().unwrap_or(0);
        }
        self.sent[(place * self.largest + index) as usize]
    }

    /// The next flit of a packet to arrive, made of what its packet knows.
    #[inline]
    pub(crate) fn arriving(&self, place: u32, channel: u16) -> Flit {
        let packet = &self.all[place as usize];
        let mut flit = Flit::new(place, packet.delivered, packet.size, 0);
        flit.injected = self.sent(place, packet.delivered);
        (flit.hops, flit.channel) = (packet.hops, channel);
        flit
    }

    /// A flit that a node takes only now.
    pub(crate) fn taken(&self, flit: &Flit) -> Flit {
        if self.sent.is_empty() && self.under_way.is_empty() {
            *flit
        } else {
            self.arriving(flit.packet, flit.channel)
        }
    }

    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = packet;
            return place;
        }
        self.all.push(packet);
        self.all.len() as u32 - 1
    }

    pub(crate) fn remove(&mut self, place: u32) {
        self.all[place as usize].size = 0;
        self.free.push(place);
    }

    /// A flit as probes see it.
    pub(crate) fn seen(&self, flit: &Flit) -> probe::Flit {
        self.seen_as(flit.packet, flit.is_head(), flit.is_tail())
    }

    /// A flit of a packet as probes see it.
    pub(crate) fn seen_as(&self, place: u32, head: bool, tail: bool) -> probe::Flit {
        let packet = &self[place];
        probe::Flit {
            source: packet.source,
            number: packet.number.into(),
            start: packet.created.into(),
            slice: packet.slice,
            head,
            tail,
        }
    }

    /// All that were not removed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.all.iter().filter(|packet| packet.size > 0)
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;
    fn index(&self, place: u32) -> &Packet {
        &self.all[place as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    fn index_mut(&mut self, place: u32) -> &mut Packet {
        &mut self.all[place as usize]
    }
}
