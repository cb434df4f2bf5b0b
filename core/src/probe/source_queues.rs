//! How busy source queues are: whether every node gets rid of what it generates.

use crate::save::{Archive, SaveError, plain_record};
use std::ops::Range;

/// Slots at most.
const SLOTS: u64 = 64;

/// The header that left a queue last.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    /// The number behind that of its packet; 0 if none has left.
    next: u64,
    /// The cycle in which it left.
    cycle: u64,
    /// The cycle in which its packet was generated.
    start: u64,
    /// Flits of its packet.
    length: u32,
}

plain_record!(Left { next: u64, cycle: u64, start: u64, length: u32 });

/// A header that leaves a source queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Number of its packet among those of its source.
    pub number: u64,
    /// The cycle in which it leaves.
    pub cycle: u64,
    /// The cycle in which its packet was generated.
    pub start: u64,
    /// Flits of its packet.
    pub length: u32,
}

/// What nodes generate, and how busy the queues are in which it waits to enter the network, in at most 64
/// slots of equal length; when they are full, pairs are added.
///
/// A queue is busy in a cycle in which a packet waits in it, or in which its last header left less than the
/// length of its packet ago. A queue that is busy in every cycle and sends less than is generated grows.
/// Works at headers only: the busy cycles of a packet are counted in the slot in which its header leaves.
///
/// ```
/// use flitloom_core::probe::{Departure, SourceQueues};
/// let mut queues = SourceQueues::new(1, 1, 1, 10);
/// queues.leave(0, Departure { number: 0, cycle: 5, start: 3, length: 8 });
/// queues.leave(0, Departure { number: 1, cycle: 15, start: 4, length: 8 });
/// // From cycle 3 to 12, then from 13 to 22.
/// assert_eq!((queues.sent(), queues.busy()), (&[1, 1][..], &[10, 10][..]));
/// ```
#[derive(Clone, Debug)]
pub struct SourceQueues {
    nodes: usize,
    queues: usize,
    destinations: usize,
    cycles: u64,
    slots: usize,
    /// By slot, node and queue.
    generated: Vec<u32>,
    sent: Vec<u32>,
    busy: Vec<u64>,
    /// By slot and destination: flits.
    generated_for: Vec<u64>,
    /// By node and queue.
    left: Vec<Left>,
}

impl SourceQueues {
    /// Those of so many nodes with so many queues each, which send to so many destinations; slots begin with
    /// so many cycles.
    #[must_use]
    pub fn new(nodes: usize, queues: usize, destinations: usize, cycles: u64) -> Self {
        Self {
            nodes,
            queues,
            destinations,
            cycles: cycles.max(1),
            slots: 0,
            generated: Vec::new(),
            sent: Vec::new(),
            busy: Vec::new(),
            generated_for: Vec::new(),
            left: vec![Left::default(); nodes * queues],
        }
    }

    /// A queue gets a packet.
    #[inline]
    pub fn add(&mut self, queue: usize, cycle: u64) {
        let at = self.slot(cycle) * self.left.len() + queue;
        self.generated[at] = self.generated[at].saturating_add(1);
    }

    /// Flits are generated for a destination.
    #[inline]
    pub fn add_for(&mut self, destination: usize, cycle: u64, flits: u32) {
        let at = self.slot(cycle) * self.destinations + destination;
        self.generated_for[at] = self.generated_for[at].saturating_add(flits.into());
    }

    /// A header leaves a queue, by its number among all.
    #[inline]
    pub fn leave(&mut self, queue: usize, Departure { number, cycle, start, length }: Departure) {
        let at = self.slot(cycle) * self.left.len() + queue;
        self.sent[at] = self.sent[at].saturating_add(1);
        let left = &mut self.left[queue];
        let busy = (cycle + u64::from(length)).saturating_sub(start.max(left.free()));
        self.busy[at] = self.busy[at].saturating_add(busy);
        *left = Left { next: number.saturating_add(1), cycle, start, length };
    }

    /// The slot of a cycle.
    #[inline]
    fn slot(&mut self, cycle: u64) -> usize {
        while cycle / self.cycles >= SLOTS {
            self.fold();
        }
        let slot = (cycle / self.cycles) as usize;
        if slot >= self.slots {
            self.resize(slot + 1);
        }
        slot
    }

    fn resize(&mut self, slots: usize) {
        self.slots = slots;
        let queues = slots * self.left.len();
        self.generated.resize(queues, 0);
        self.sent.resize(queues, 0);
        self.busy.resize(queues, 0);
        self.generated_for.resize(slots * self.destinations, 0);
    }

    /// Adds pairs of slots.
    #[inline(never)]
    fn fold(&mut self) {
        let width = self.left.len();
        add_pairs(&mut self.generated, width, u32::saturating_add);
        add_pairs(&mut self.sent, width, u32::saturating_add);
        add_pairs(&mut self.busy, width, u64::saturating_add);
        add_pairs(&mut self.generated_for, self.destinations, u64::saturating_add);
        self.cycles = self.cycles.saturating_mul(2);
        self.slots = self.slots.div_ceil(2);
    }

    /// Closes what ended before a cycle.
    pub(super) fn close(&mut self, cycle: u64) {
        if let Some(last) = cycle.checked_sub(1) {
            self.slot(last);
        }
    }

    /// The number behind that of the packet that left a queue last, 0 if none has, and the cycle in which it was
    /// generated.
    pub(super) fn left(&self, queue: usize) -> (u64, u64) {
        (self.left[queue].next, self.left[queue].start)
    }

    /// Queues of a node.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Slots that have begun.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Cycles of a slot.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Packets generated by slot, node and queue.
    #[must_use]
    pub fn generated(&self) -> &[u32] {
        &self.generated
    }

    /// Headers that left, by slot, node and queue.
    #[must_use]
    pub fn sent(&self) -> &[u32] {
        &self.sent
    }

    /// Busy cycles by slot, node and queue, of packets whose header has left.
    #[must_use]
    pub fn busy(&self) -> &[u64] {
        &self.busy
    }

    /// Flits generated for every node, by slot and node.
    #[must_use]
    pub fn generated_for(&self) -> &[u64] {
        &self.generated_for
    }

    /// The same with what is busy before a cycle, given the starts of the packets at the fronts of queues, or
    /// `u64::MAX`.
    #[must_use]
    pub(super) fn busy_before(&self, now: u64, fronts: impl Iterator<Item = u64>) -> Vec<u64> {
        let (mut busy, width) = (self.busy.clone(), self.left.len());
        for (queue, (left, start)) in self.left.iter().zip(fronts).enumerate() {
            // A header that left later was busy later, too.
            if left.next > 0 && left.cycle >= now {
                continue;
            }
            let (free, at) = (left.free(), |cycle: u64| (cycle / self.cycles) as usize * width + queue);
            if let Some(busy) = busy.get_mut(at(left.cycle)).filter(|_| free > now) {
                *busy = busy.saturating_sub(free - now);
            } else if let Some(busy) = busy.get_mut(at(now.saturating_sub(1))).filter(|_| start < now) {
                *busy = busy.saturating_add(now - start.max(free));
            }
        }
        busy
    }

    /// What a part of the network goes on from; what was seen in all of them is kept by the first.
    pub(super) fn part(&self, nodes: Range<usize>) -> Self {
        let of_part = nodes.start * self.queues..nodes.end * self.queues;
        let mut part = Self::new(nodes.len(), self.queues, self.destinations, self.cycles);
        part.resize(self.slots);
        part.left.copy_from_slice(&self.left[of_part.clone()]);
        let (to, from) = ((0..of_part.len(), of_part.len()), (of_part, self.left.len()));
        copy_columns(&mut part.generated, to.clone(), &self.generated, from.clone());
        copy_columns(&mut part.sent, to.clone(), &self.sent, from.clone());
        copy_columns(&mut part.busy, to, &self.busy, from);
        if nodes.start == 0 {
            part.generated_for.copy_from_slice(&self.generated_for);
        }
        part
    }

    /// Takes up what was seen in a part, whose first node has a number.
    pub(super) fn adopt(&mut self, mut part: Self, first: usize) {
        while self.cycles < part.cycles {
            self.fold();
        }
        while part.cycles < self.cycles {
            part.fold();
        }
        let slots = self.slots.max(part.slots);
        self.resize(slots);
        part.resize(slots);
        let own = first * self.queues..(first + part.nodes) * self.queues;
        self.left[own.clone()].copy_from_slice(&part.left);
        let (to, from) = ((own, self.left.len()), (0..part.left.len(), part.left.len()));
        copy_columns(&mut self.generated, to.clone(), &part.generated, from.clone());
        copy_columns(&mut self.sent, to.clone(), &part.sent, from.clone());
        copy_columns(&mut self.busy, to, &part.busy, from);
        self.generated_for
            .iter_mut()
            .zip(&part.generated_for)
            .for_each(|(own, part)| *own = own.saturating_add(*part));
    }

    /// What was seen as fields.
    pub(super) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let mut slots = self.slots as u64;
        archive.number("cycles of a slot", &mut self.cycles)?;
        archive.number("slots", &mut slots)?;
        if self.cycles == 0 {
            return Err(SaveError::Value { field: "cycles of a slot", value: 0 });
        }
        if slots > SLOTS {
            return Err(SaveError::Value { field: "slots", value: slots });
        }
        self.resize(slots as usize);
        let Self {
            nodes: _,
            queues: _,
            destinations: _,
            cycles: _,
            slots: _,
            generated,
            sent,
            busy,
            generated_for,
            left,
        } = self;
        archive.slice("packets generated by slot", generated)?;
        archive.slice("headers sent by slot", sent)?;
        archive.slice("busy cycles by slot", busy)?;
        archive.slice("flits generated for nodes", generated_for)?;
        archive.slice("headers that left last", left)
    }
}

impl Left {
    /// The cycle from which the queue is busy only if something waits.
    #[inline(always)]
    fn free(&self) -> u64 {
        self.cycle.saturating_add(self.length.into())
    }
}

fn add_pairs<T: Copy>(values: &mut Vec<T>, width: usize, add: fn(T, T) -> T) {
    let slots = values.len().checked_div(width).unwrap_or(0);
    for (to, from) in (0..slots).map(|slot| (slot / 2 * width, slot * width)) {
        for at in 0..width {
            let value = values[from + at];
            values[to + at] = if from % (2 * width) == 0 { value } else { add(values[to + at], value) };
        }
    }
    values.truncate(slots.div_ceil(2) * width);
}

/// Copies a range of columns, given the width of both tables.
fn copy_columns<T: Copy>(
    to: &mut [T],
    (own, width): (Range<usize>, usize),
    from: &[T],
    (of, other_width): (Range<usize>, usize),
) {
    if own.is_empty() {
        return;
    }
    for (to, from) in to.chunks_exact_mut(width).zip(from.chunks_exact(other_width)) {
        to[own.clone()].copy_from_slice(&from[of.clone()]);
    }
}
