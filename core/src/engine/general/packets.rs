//! The packets in the network, in slots.

use super::layout::RouteWord;
use crate::probe::{Departure, Flit, Windows};
use std::hint::select_unpredictable;

/// What a header needs to go on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub way: RouteWord,
    /// The packet behind it in the queue that holds its tail, if there is one.
    pub next: u32,
}

/// What is told of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    pub number: u64,
    pub start: u64,
    /// The cycle in which its header left the processor queue, where windows are kept.
    pub injected: u64,
    pub source: u32,
    pub destination: u32,
    pub slice: u32,
    pub length: u32,
    /// Where the rest of its given route begins; [`NONE`](super::layout::NONE) for dimension order.
    pub route: u32,
    /// Virtual channel of its first link, before a dateline.
    pub first_channel: u8,
}

impl Packet {
    /// A flit of the packet as probes see it.
    pub(super) fn describe(&self, head: bool, tail: bool) -> Flit {
        let Self { source, number, start, slice, .. } = *self;
        Flit { source, number, start, slice, head, tail }
    }
}

/// The header of a packet leaves the processor queue with a number among all of this part, where windows are kept.
#[inline(never)]
pub(super) fn leave_source(windows: &mut Option<Box<Windows>>, line: usize, packet: &mut Packet, cycle: u64) {
    packet.injected = cycle;
    if let Some(windows) = windows {
        let Packet { number, start, length, .. } = *packet;
        windows.leave(line, Departure { number, cycle, start, length });
    }
}

/// Words of a packet that goes to another part.
pub(super) const PACKED: usize = 7;

/// All that is known of a packet, on its way to another part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub number: u64,
    start: u64,
    injected: u64,
    pub source: u32,
    pub destination: u32,
    slice: u32,
    length: u32,
    pub route: u32,
    first_channel: u8,
    pub way: RouteWord,
}

impl Packed {
    #[inline(always)]
    pub(super) fn words(self) -> [u64; PACKED] {
        let Self { number, start, injected, source, destination, slice, length, route, first_channel, way } =
            self;
        let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            number,
            start,
            injected,
            both(source, destination),
            both(slice, length),
            both(route, way),
            first_channel.into(),
        ]
    }

    /// From so many words.
    #[inline(always)]
    pub(super) fn from_words(words: &[u64]) -> Self {
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        Self {
            number: words[0],
            start: words[1],
            injected: words[2],
            source: low(words[3]),
            destination: high(words[3]),
            slice: low(words[4]),
            length: high(words[4]),
            route: low(words[5]),
            way: high(words[5]),
            first_channel: words[6] as u8,
        }
    }
}

/// All slots. Slot 0 is never given out: what must not be written anywhere is written there.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    pub headers: Vec<Header>,
    pub packets: Vec<Packet>,
    pub free: Vec<u32>,
}

impl Packets {
    pub(super) fn new() -> Self {
        Self { headers: vec![Header::default()], packets: vec![Packet::default()], free: Vec::new() }
    }

    /// A slot for a packet.
    #[inline(always)]
    pub(super) fn place(&mut self, way: RouteWord, packet: Packet) -> u32 {
        let header = Header { way, next: 0 };
        if let Some(slot) = self.free.pop() {
            self.headers[slot as usize] = header;
            self.packets[slot as usize] = packet;
            slot
        } else {
            self.headers.push(header);
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        }
    }

    /// The packet of a slot, to be put into a slot of another part.
    #[inline(always)]
    pub(super) fn pack(&self, slot: u32) -> Packed {
        let &Packet { number, start, injected, source, destination, slice, length, route, first_channel } =
            self.packet(slot);
        let way = self.way(slot);
        Packed { number, start, injected, source, destination, slice, length, route, first_channel, way }
    }

    /// A slot for a packet of another part.
    #[inline(always)]
    pub(super) fn unpack(&mut self, packed: Packed) -> u32 {
        let Packed { number, start, injected, source, destination, slice, length, route, first_channel, way } =
            packed;
        let packet =
            Packet { number, start, injected, source, destination, slice, length, route, first_channel };
        self.place(way, packet)
    }

    /// The packet of a slot has left.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline(always)]
    pub(super) fn packet(&self, slot: u32) -> &Packet {
        &self.packets[slot as usize]
    }

    #[inline(always)]
    pub(super) fn packet_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.packets[slot as usize]
    }

    #[inline(always)]
    pub(super) fn way(&self, slot: u32) -> RouteWord {
        self.headers[slot as usize].way
    }

    #[inline(always)]
    fn next(&self, slot: u32) -> u32 {
        self.headers[slot as usize].next
    }

    /// Packets in the network.
    pub(super) fn inside(&self) -> usize {
        self.packets.len() - 1 - self.free.len()
    }
}

/// The packets of a queue whose header has entered it and whose tail has not left it, in order. A
/// packet lies in several queues at once, but has others behind it only in that of its tail.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fifo {
    /// 0 for none.
    pub front: u32,
    /// With [`AGAIN`] set, the front packet has come round (on a given route) and is also the last.
    pub last: u32,
}

pub(super) const AGAIN: u32 = 1 << 31;

impl Fifo {
    /// The packets in order; one that has come round is there twice.
    pub(super) fn slots(self, packets: &Packets) -> Vec<u32> {
        let (end, again) = (self.last & !AGAIN, self.last & AGAIN != 0);
        let mut slots = Vec::new();
        if self.front == 0 {
            return slots;
        }
        slots.push(self.front);
        let mut slot = self.front;
        // No more than there are, whatever a restored state says.
        while (slot != end || again && slots.len() == 1) && slots.len() <= packets.packets.len() {
            slot = packets.next(slot);
            slots.push(slot);
        }
        slots
    }

    /// A header enters; true if it is at the front.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u32, headers: &mut [Header]) -> bool {
        let first = self.front == 0;
        headers[if first { 0 } else { (self.last & !AGAIN) as usize }].next = slot;
        self.last = slot | u32::from(slot == self.front) << 31;
        self.front = if first { slot } else { self.front };
        first
    }

    /// The tail of the front packet leaves; true if another one is behind it.
    #[inline(always)]
    pub(super) fn pop(&mut self, headers: &[Header]) -> bool {
        let more = self.last != self.front;
        self.front = select_unpredictable(more, headers[self.front as usize].next, 0);
        self.last &= !AGAIN;
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_order_even_if_one_comes_round() {
        let (mut packets, mut queue) = (Packets::new(), Fifo::default());
        let [a, b] = [(); 2].map(|()| packets.place(0, Packet::default()));
        assert!(queue.push(a, &mut packets.headers));
        assert!(!queue.push(a, &mut packets.headers));
        assert!(queue.pop(&packets.headers));
        assert_eq!(queue.front, a);
        assert!(!queue.push(b, &mut packets.headers) && !queue.push(a, &mut packets.headers));
        assert!(queue.pop(&packets.headers));
        assert_eq!(queue.front, b);
        assert!(queue.pop(&packets.headers));
        assert_eq!(queue.front, a);
        assert!(!queue.pop(&packets.headers));
        assert_eq!(queue.front, 0);
    }
}
