//! The nodes' packets: which are started when, and their headers' data as planes.
//!
//! Work is done per packet only. A node without a packet waits in a wheel of start cycles; one that
//! has just sent a tail takes its next packet at once if that has started.

use super::{
    block::Packet,
    lanes::{Axis, Tiling},
    vector::{Vector, words_mut},
};
use crate::{
    fabric::{NodeId, Sign},
    routing::dimension_order,
    save::{Archive, SaveError},
    traffic::{PacketSource, Workload},
};

/// Slots of the wheel; later starts go round again.
const SLOTS: usize = 1024;
const NONE: u32 = u32::MAX;

/// A packet that has entered the processor queue, kept while tags are in use.
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    /// Its source, counted over all copies.
    pub source: u32,
    /// Where it goes.
    pub destination: NodeId,
    /// Its start.
    pub start: u64,
}

/// Where the processors' packets are kept.
pub struct Packets<'a, V> {
    /// Per block.
    pub packets: &'a mut [Packet<V>],
    /// Their data, in so many rows per block.
    pub data: &'a mut [V],
    /// Rows per block.
    pub rows: usize,
}

impl<V: Vector> Packets<'_, V> {
    /// The last packet of a router once more.
    #[inline(always)]
    fn again(&mut self, place: usize) {
        let (block, lane) = (place / V::BITS, place % V::BITS);
        words_mut(std::slice::from_mut(&mut self.packets[block].ready))[lane / 64] |= 1 << (lane % 64);
    }

    /// Writes the packet of one router: from the lowest bit its output and its data.
    #[inline(always)]
    fn write(&mut self, place: usize, mut header: u64) {
        let (block, lane) = (place / V::BITS, place % V::BITS);
        let (word, bit) = (lane / 64, lane % 64);
        let packet = &mut self.packets[block];
        words_mut(std::slice::from_mut(&mut packet.ready))[word] |= 1 << bit;
        for plane in &mut packet.output {
            put::<V>(plane, word, bit, header);
            header >>= 1;
        }
        for row in &mut self.data[block * self.rows..][..self.rows] {
            put::<V>(row, word, bit, header);
            header >>= 1;
        }
    }
}

#[inline(always)]
fn put<V: Vector>(plane: &mut V, word: usize, bit: usize, value: u64) {
    let word = &mut words_mut(std::slice::from_mut(plane))[word];
    *word = *word & !(1 << bit) | (value & 1) << bit;
}

/// All nodes of all copies.
#[derive(Clone)]
pub struct Feed {
    workload: Workload,
    x: Axis,
    y: Axis,
    nodes: usize,
    /// Bit of every node: `block * bits + lane`.
    pub places: Vec<u32>,
    /// Delay added to every start of a node's packets; empty for none.
    delays: Vec<u64>,
    /// Per copy, added to every start once for each packet of the node before it.
    intervals: Vec<u64>,
    /// Whether the packets are known in advance: delays and intervals apply to them, and most go where
    /// the last one of their node went.
    repeats: bool,
    /// Destination of a node's last packet, where they repeat; else empty.
    destinations: Vec<NodeId>,
    taken: Vec<u32>,
    next_start: Vec<u64>,
    wheel: Vec<u32>,
    /// Next node in the same slot of the wheel.
    behind: Vec<u32>,
    waiting: usize,
    /// Packets taken, per copy.
    pub loaded: Vec<u64>,
    /// Sum of their starts, per copy, modulo 2^64.
    pub start_sum: Vec<u64>,
    /// Bits of a tag, zero for none.
    pub tag_bits: usize,
    /// Packets taken since tags came into use.
    pub log: Vec<Loaded>,
}

impl Feed {
    /// The nodes of a tiling, before [`reset`](Self::reset).
    pub fn new(workload: &Workload, tiling: &Tiling) -> Self {
        let (nodes, copies) = (tiling.nodes(), tiling.copies as usize);
        let all = nodes * copies;
        let repeats = workload.count().is_some();
        let places: Vec<u32> =
            (0..all).map(|node| tiling.place(node / nodes, (node % nodes) as NodeId)).collect();
        Self {
            workload: workload.clone(),
            x: tiling.x,
            y: tiling.y,
            nodes,
            places,
            delays: Vec::new(),
            intervals: vec![0; copies],
            destinations: if repeats { vec![NONE; all] } else { Vec::new() },
            repeats,
            taken: vec![0; all],
            next_start: vec![0; all],
            wheel: vec![NONE; SLOTS],
            behind: vec![NONE; all],
            waiting: 0,
            loaded: vec![0; copies],
            start_sum: vec![0; copies],
            tag_bits: 0,
            log: Vec::new(),
        }
    }

    /// What is sent.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Back to cycle 0.
    pub fn reset(&mut self) {
        self.taken.fill(0);
        self.wheel.fill(NONE);
        self.loaded.fill(0);
        self.start_sum.fill(0);
        self.tag_bits = 0;
        self.log.clear();
        self.waiting = 0;
        for node in 0..self.taken.len() {
            self.next_start[node] = self.start_after(node, 0);
            if self.next_start[node] != u64::MAX {
                self.wait(node as u32);
            }
        }
    }

    /// The state as fields; `ready` are the nodes that have a packet at their router.
    pub fn archive(&mut self, archive: &mut Archive, ready: &[bool]) -> Result<(), SaveError> {
        archive.slice("packets taken", &mut self.taken)?;
        archive.slice("next starts", &mut self.next_start)?;
        archive.slice("packets loaded", &mut self.loaded)?;
        archive.slice("sum of starts", &mut self.start_sum)?;
        let nobody = Loaded { source: 0, destination: 0, start: 0 };
        archive.column("log of sources", &mut self.log, &nobody, |loaded| &mut loaded.source)?;
        archive.column("log of destinations", &mut self.log, &nobody, |loaded| &mut loaded.destination)?;
        archive.column("log of starts", &mut self.log, &nobody, |loaded| &mut loaded.start)?;
        if !archive.is_reading() {
            return Ok(());
        }
        self.check_restored()?;
        self.forget_destinations();
        self.wheel.fill(NONE);
        self.waiting = 0;
        for (node, _) in ready.iter().enumerate().filter(|&(_, &ready)| !ready) {
            if self.next_start[node] != u64::MAX {
                self.wait(node as u32);
            }
        }
        Ok(())
    }

    /// Nothing restored may lead outside the workload.
    fn check_restored(&self) -> Result<(), SaveError> {
        let nodes = self.nodes as u32;
        let logged = self.log.iter().find(|loaded| loaded.source >= nodes || loaded.destination >= nodes);
        if let Some(loaded) = logged {
            return Err(SaveError::Value {
                field: "log",
                value: loaded.source.max(loaded.destination).into(),
            });
        }
        if !self.repeats {
            return Ok(());
        }
        for (node, (&taken, &start)) in self.taken.iter().zip(&self.next_start).enumerate() {
            let beyond =
                taken > 0 && self.workload.packet_at(node as NodeId, u64::from(taken) - 1, start).is_none();
            if beyond || start != self.start_after(node, 0) {
                return Err(SaveError::Value { field: "packets taken", value: taken.into() });
            }
        }
        Ok(())
    }

    /// The planes of the packets were made anew.
    pub fn forget_destinations(&mut self) {
        self.destinations.fill(NONE);
    }

    /// Delays all packets of a node, counted over all copies.
    pub fn set_delay(&mut self, node: usize, delay: u64) {
        if self.delays.is_empty() {
            self.delays = vec![0; self.taken.len()];
        }
        self.delays[node] = delay;
    }

    /// Delays packet number k of every node of a copy by k intervals.
    pub fn set_interval(&mut self, copy: usize, interval: u64) {
        self.intervals[copy] = interval;
    }

    /// Bytes of the state of all nodes.
    pub fn bytes(&self) -> usize {
        let words = self.places.len() + self.destinations.len() + self.taken.len() + self.behind.len();
        4 * (words + self.wheel.len()) + 8 * (self.next_start.len() + self.delays.len())
    }

    /// Whether all packets have been taken.
    pub fn is_exhausted(&self) -> bool {
        self.waiting == 0
    }

    /// The earliest start of a waiting node at or after `cycle`.
    pub fn next_event(&self, cycle: u64) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let in_slot = |slot: usize| {
            let mut node = self.wheel[slot];
            std::iter::from_fn(move || {
                let here = (node != NONE).then_some(node)?;
                node = self.behind[here as usize];
                Some(self.next_start[here as usize])
            })
        };
        let soon = (cycle..cycle + SLOTS as u64)
            .find(|&start| in_slot(start as usize % SLOTS).any(|other| other == start));
        soon.or_else(|| (0..SLOTS).flat_map(in_slot).min())
    }

    /// Starts the packets that are due at `cycle`.
    #[inline(always)]
    pub fn start_due<V: Vector>(&mut self, cycle: u64, packets: &mut Packets<'_, V>) {
        let mut node = std::mem::replace(&mut self.wheel[cycle as usize % SLOTS], NONE);
        while node != NONE {
            let next = self.behind[node as usize];
            self.waiting -= 1;
            if self.next_start[node as usize] <= cycle {
                self.take(node, packets);
            } else {
                self.wait(node);
            }
            node = next;
        }
    }

    /// A node has sent its packet; the next one starts now or waits for its time.
    #[inline(always)]
    pub fn sent<V: Vector>(&mut self, node: u32, next_cycle: u64, packets: &mut Packets<'_, V>) {
        let start = self.next_start[node as usize];
        if start <= next_cycle {
            self.take(node, packets);
        } else if start != u64::MAX {
            self.wait(node);
        }
    }

    #[inline(always)]
    fn wait(&mut self, node: u32) {
        let slot = &mut self.wheel[self.next_start[node as usize] as usize % SLOTS];
        self.behind[node as usize] = std::mem::replace(slot, node);
        self.waiting += 1;
    }

    /// Start of the packet that follows those taken.
    #[inline(always)]
    fn start_after(&self, all: usize, from: u64) -> u64 {
        let (node, number) = ((all % self.nodes) as NodeId, self.taken[all]);
        let Some(start) = self.workload.next_start(node, number.into(), from) else { return u64::MAX };
        if !self.repeats {
            return start;
        }
        let interval = self.intervals[all / self.nodes];
        start + self.delays.get(all).copied().unwrap_or(0) + u64::from(number) * interval
    }

    #[inline(always)]
    fn take<V: Vector>(&mut self, all: u32, packets: &mut Packets<'_, V>) {
        let index = all as usize;
        let (copy, node) = (index / self.nodes, (index % self.nodes) as NodeId);
        let (number, start) = (self.taken[index], self.next_start[index]);
        let packet = self.workload.packet_at(node, number.into(), start);
        let destination = packet.map_or(node, |packet| packet.destination);
        self.taken[index] = number + 1;
        self.next_start[index] = self.start_after(index, start + 1);
        self.loaded[copy] += 1;
        self.start_sum[copy] = self.start_sum[copy].wrapping_add(start);
        if self.tag_bits > 0 {
            self.log.push(Loaded { source: all, destination, start });
        }
        let place = self.places[index] as usize;
        if let Some(last) = self.destinations.get_mut(index)
            && std::mem::replace(last, destination) == destination
        {
            return packets.again(place);
        }
        let mut header = self.header(node, destination);
        if self.tag_bits > 0 {
            header |= self.tag(all) << (6 + self.x.bits() + self.y.bits());
        }
        packets.write(place, header);
    }

    /// The tag of a source: its number, and a bit that says that it is known.
    pub fn tag(&self, all: u32) -> u64 {
        u64::from(all) | 1 << (self.tag_bits - 1)
    }

    /// A packet at its source: its output (+x, -x, +y, -y, P), the sign of y, then x and y of the
    /// destination.
    #[inline(always)]
    fn header(&self, source: NodeId, destination: NodeId) -> u64 {
        let (from_x, from_y) = (source % self.x.size, source / self.x.size);
        let (to_x, to_y) = (destination % self.x.size, destination / self.x.size);
        let sign = |axis: &Axis, from, to| dimension_order::sign(axis.size, axis.wraps, from, to);
        let (x, y) = (sign(&self.x, from_x, to_x), sign(&self.y, from_y, to_y));
        let minus = |sign: Option<Sign>| u64::from(sign == Some(Sign::Minus));
        let output = if x.is_some() {
            minus(x)
        } else if y.is_some() {
            2 + minus(y)
        } else {
            4
        };
        1 << output | minus(y) << 5 | u64::from(to_x) << 6 | u64::from(to_y) << (6 + self.x.bits())
    }
}
