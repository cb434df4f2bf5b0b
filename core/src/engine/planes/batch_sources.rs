//! Packets that all senders send alike, as planes: the same number from every sender, each sender's to one destination, all
//! available from the same cycle on but for delays and intervals.
//!
//! That is what a genetic search simulates over and over. Headers are written once, the routers of every delay are
//! a plane, and packets that wait at their sources are numbers in planes, so that feeding a block takes a few
//! operations per cycle, whoever sends.

use super::{
    block::{Events, Packet},
    injection::{Injection, Packets},
    lanes::{Router, Tiling},
};
use crate::{
    bits::{Vector, count_down, count_ones, words, words_mut},
    engine::lateness,
    fabric::NodeId,
    traffic::{PacketList, Workload},
};

/// Delays with a plane of their own.
const MOST_DELAYS: u64 = 1 << 13;
/// Copies that have a word at least in the longest vector.
const MOST_COPIES: usize = 8;

/// What is counted of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    /// Packets delivered.
    pub packets: u64,
    /// See [`Outcome::lateness`](crate::engine::Outcome::lateness).
    pub lateness: u128,
}

/// The packets of all copies.
#[derive(Clone)]
pub(super) struct BatchSources<V> {
    /// Packets of every sender.
    number: u64,
    /// Cycle of the first ones, without delays.
    first: u64,
    blocks: usize,
    words_per_copy: usize,
    /// Per copy, its lanes.
    lanes: Vec<V>,
    /// Per copy, cycles between consecutive packets of a sender.
    intervals: Vec<u64>,
    /// Per block, the routers that send.
    senders: Vec<V>,
    /// Per bit.
    delays: Vec<u64>,
    /// Per delay and block, the senders with that delay.
    of_delay: Vec<V>,
    /// Senders with longer delays.
    beyond: usize,
    /// Per block, the packets that wait at each router: a number, its lowest bit first.
    waiting: Vec<V>,
    /// Bits of such a number.
    bits: usize,
    /// Packets of all copies, those taken and those delivered.
    all: u64,
    taken: u64,
    gone: u64,
    /// Per copy.
    pub delivered: Vec<Delivered>,
}

/// Packets of every sender, and their first start; `None` if senders differ, or have several destinations.
fn alike(list: &PacketList, nodes: usize) -> Option<(u64, u64)> {
    let mut found = None;
    for node in 0..nodes as NodeId {
        let packets = list.of(node);
        let Some(first) = packets.first() else { continue };
        let same = |packet: &crate::traffic::Packet| {
            packet.start == first.start && packet.destination == first.destination
        };
        let kind = (packets.len() as u64, first.start);
        if !packets.iter().all(same) || *found.get_or_insert(kind) != kind {
            return None;
        }
    }
    found
}

impl<V: Vector> BatchSources<V> {
    /// The packets of a workload, their headers written; `None` if they are of another kind.
    pub(super) fn new(
        workload: &Workload,
        tiling: &Tiling,
        injection: &Injection,
        packets: &mut Packets<'_, V>,
    ) -> Option<Self> {
        let Workload::Packets(list) = workload else { return None };
        let (nodes, blocks, copies) = (tiling.nodes(), tiling.blocks(), tiling.copies as usize);
        let (number, first) = alike(list, nodes)?;
        let words_per_copy = tiling.words_per_copy();
        let lanes = (0..copies).map(|copy| {
            let mut lanes = [V::zero()];
            words_mut(&mut lanes)[copy * words_per_copy..(copy + 1) * words_per_copy].fill(u64::MAX);
            lanes[0]
        });
        let bits = (u64::BITS - number.leading_zeros()) as usize;
        let mut batch_sources = Self {
            number,
            first,
            blocks,
            words_per_copy,
            lanes: lanes.collect(),
            intervals: vec![0; copies],
            senders: vec![V::zero(); blocks],
            delays: vec![0; blocks * V::BITS],
            of_delay: vec![V::zero(); blocks],
            beyond: 0,
            waiting: vec![V::zero(); blocks * bits],
            bits,
            all: list.len() as u64 * copies as u64,
            taken: 0,
            gone: 0,
            delivered: vec![Delivered::default(); copies],
        };
        for (index, &place) in injection.places.iter().enumerate() {
            let node = (index % nodes) as NodeId;
            let Some(packet) = list.of(node).first() else { continue };
            let router =
                Router { copy: (index / nodes) as u32, x: node % tiling.x.size, y: node / tiling.x.size };
            flip(&mut batch_sources.senders[place as usize / V::BITS], place);
            flip(&mut batch_sources.of_delay[place as usize / V::BITS], place);
            packets.write(place as usize, injection.common.header(router, packet.destination), packets.rows);
        }
        Some(batch_sources)
    }

    /// Delays all packets of a router.
    pub(super) fn set_delay(&mut self, place: u32, delay: u64) {
        let block = place as usize / V::BITS;
        let lane = place as usize % V::BITS;
        if words(&self.senders[block..][..1])[lane / 64] >> (lane % 64) & 1 == 0 {
            return;
        }
        let old = std::mem::replace(&mut self.delays[place as usize], delay);
        for delay in [old, delay] {
            if delay >= MOST_DELAYS {
                continue;
            }
            let row = delay as usize * self.blocks;
            if self.of_delay.len() <= row {
                self.of_delay.resize(row + self.blocks, V::zero());
            }
            flip(&mut self.of_delay[row + block], place);
        }
        self.beyond += usize::from(delay >= MOST_DELAYS);
        self.beyond -= usize::from(old >= MOST_DELAYS);
    }

    /// Delays packet number k of every sender of a copy by k intervals.
    pub(super) fn set_interval(&mut self, copy: usize, interval: u64) {
        self.intervals[copy] = interval;
    }

    /// Whether this covers the delays and intervals as they are.
    pub(super) fn fit(&self) -> bool {
        self.beyond == 0 && (self.number == 1 || self.intervals.iter().all(|&interval| interval > 0))
    }

    /// Back to cycle 0.
    #[inline(always)]
    pub(super) fn reset(&mut self) {
        self.waiting.fill(V::zero());
        (self.taken, self.gone) = (0, 0);
        self.delivered.fill(Delivered::default());
    }

    /// Packets taken and delivered in all copies.
    #[inline(always)]
    pub(super) fn packets(&self) -> (u64, u64) {
        (self.taken, self.gone)
    }

    /// Whether all packets have been taken.
    #[inline(always)]
    pub(super) fn is_exhausted(&self) -> bool {
        self.taken == self.all
    }

    /// The first packet number of a copy whose start in a cycle is possible, and how many more are.
    #[inline(always)]
    fn numbers(&self, copy: usize, since: u64) -> (u64, u64) {
        let longest = (self.of_delay.len() / self.blocks) as u64 - 1;
        let interval = self.intervals[copy].max(1);
        let from = if since <= longest { 0 } else { (since - longest).div_ceil(interval) };
        let until = if since < interval { 1 } else { self.number.min(since / interval + 1) };
        (from, until.saturating_sub(from))
    }

    /// The earliest start at or after `cycle`.
    pub(super) fn next_event(&self, cycle: u64) -> Option<u64> {
        let longest = (self.of_delay.len() / self.blocks) as u64 - 1;
        let widest = self.intervals.iter().max()? * (self.number - 1);
        (cycle.max(self.first)..=self.first + longest + widest).find(|&cycle| {
            (0..self.lanes.len()).any(|copy| {
                let (from, count) = self.numbers(copy, cycle - self.first);
                (from..from + count).any(|number| {
                    let delay = (cycle - self.first - number * self.intervals[copy]) as usize;
                    let row = &self.of_delay[delay * self.blocks..][..self.blocks];
                    row.iter().any(|&routers| (routers & self.lanes[copy]).any())
                })
            })
        })
    }

    /// Counts what was delivered in a cycle.
    #[inline(always)]
    pub(super) fn count(&mut self, events: &[Events<V>], cycle: u64) {
        let per_copy = self.words_per_copy;
        for (copy, delivered) in self.delivered.iter_mut().enumerate() {
            let mut tails = 0;
            for event in events {
                let all = words(std::slice::from_ref(&event.delivered));
                tails += count_ones(&all[copy * per_copy..(copy + 1) * per_copy]);
            }
            if tails > 0 {
                delivered.packets += tails;
                delivered.lateness = delivered.lateness.saturating_add(lateness(cycle, tails));
                self.gone += tails;
            }
        }
    }

    /// Starts the packets of a cycle; routers without a packet take one that waits.
    #[inline(always)]
    pub(super) fn start(&mut self, cycle: u64, packets: &mut [Packet<V>]) {
        if self.taken == self.all {
            return;
        }
        if let Some(since) = cycle.checked_sub(self.first) {
            let mut numbers = [(0, 0); MOST_COPIES];
            let mut most = 0;
            for (copy, numbers) in numbers[..self.lanes.len()].iter_mut().enumerate() {
                *numbers = self.numbers(copy, since);
                most = most.max(numbers.1);
            }
            // Those of all copies together, one packet number after the other.
            for turn in 0..most {
                for block in 0..self.blocks {
                    let mut starts = V::zero();
                    for (copy, &(from, count)) in numbers[..self.lanes.len()].iter().enumerate() {
                        if turn < count {
                            let delay = since - (from + turn) * self.intervals[copy];
                            let routers = self.of_delay[delay as usize * self.blocks + block];
                            starts = starts | (routers & self.lanes[copy]);
                        }
                    }
                    for bit in &mut self.waiting[block * self.bits..][..self.bits] {
                        let old = *bit;
                        *bit = old ^ starts;
                        starts = starts & old;
                    }
                }
            }
        }
        for (block, packet) in packets.iter_mut().enumerate() {
            let waiting = &mut self.waiting[block * self.bits..][..self.bits];
            let mut some = V::zero();
            for &mut bit in &mut *waiting {
                some = some | bit;
            }
            let takes = some & !packet.ready;
            if !takes.any() {
                continue;
            }
            packet.ready = packet.ready | takes;
            count_down(waiting, takes);
            self.taken += count_ones(words(&[takes]));
        }
    }
}

/// Turns one bit of a plane.
fn flip<V: Vector>(plane: &mut V, place: u32) {
    let lane = place as usize % V::BITS;
    words_mut(std::slice::from_mut(plane))[lane / 64] ^= 1 << (lane % 64);
}
