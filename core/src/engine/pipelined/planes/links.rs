//! Flits and credits on their way.

use super::{
    matching::PORTS,
    records::{FLIGHT, NODE, SLOTS},
};
use crate::bits::{Vector, words, words_mut};

/// What is under way, in slots by the cycle in which it left.
#[derive(Clone)]
pub(super) struct Links<V> {
    /// The cycle that comes next.
    pub tick: u32,
    pub credit_delay: u32,
    /// Vectors of a port.
    vectors: usize,
    credit_slots: u32,
    /// By slot, output and vector the flits that left; by slot, input and vector the credits that left, and then
    /// those of nodes; by slot and vector the flits of nodes.
    pub sent: Vec<V>,
    pub credits: Vec<V>,
    pub entering: Vec<V>,
    /// By input and vector what arrives, by output and vector the credits that do.
    pub arriving: Vec<V>,
    pub credited: Vec<V>,
}

/// Moves planes up by so many nodes. No bit leaves a plane, since nothing is sent over the edge.
#[inline(always)]
fn shift_up(from: &[u64], to: &mut [u64], by: usize) {
    let (skip, by, count) = (by / 64, by % 64, to.len());
    if skip >= count {
        to.fill(0);
        return;
    }
    let from = &from[..count];
    to[..skip].fill(0);
    if by == 0 {
        to[skip..].copy_from_slice(&from[..count - skip]);
        return;
    }
    to[skip] = from[0] << by;
    for at in 1..count - skip {
        to[at + skip] = from[at] << by | from[at - 1] >> (64 - by);
    }
}

/// Moves planes down by so many nodes.
#[inline(always)]
fn shift_down(from: &[u64], to: &mut [u64], by: usize) {
    let (skip, by, count) = (by / 64, by % 64, to.len());
    if skip >= count {
        to.fill(0);
        return;
    }
    let from = &from[..count];
    to[count - skip..].fill(0);
    if by == 0 {
        to[..count - skip].copy_from_slice(&from[skip..]);
        return;
    }
    for at in 0..count - skip - 1 {
        to[at] = from[at + skip] >> by | from[at + skip + 1] << (64 - by);
    }
    to[count - skip - 1] = from[count - 1] >> by;
}

impl<V: Vector> Links<V> {
    /// Links on which nothing is under way, with so many vectors of a port.
    pub(super) fn new(vectors: usize, credit_delay: u32) -> Self {
        let credit_slots = (3 + credit_delay).next_power_of_two();
        let zero = V::zero();
        Self {
            tick: 0,
            credit_delay,
            vectors,
            credit_slots,
            sent: vec![zero; SLOTS as usize * PORTS * vectors],
            credits: vec![zero; credit_slots as usize * (PORTS + 1) * vectors],
            entering: vec![zero; SLOTS as usize * vectors],
            arriving: vec![zero; PORTS * vectors],
            credited: vec![zero; PORTS * vectors],
        }
    }

    /// Where the flits stand that left all outputs in a cycle.
    #[inline(always)]
    pub(super) fn slot_of_sent(&self, tick: u32) -> usize {
        (tick % SLOTS) as usize * PORTS * self.vectors
    }

    /// Where the credits stand that left all inputs, and then those of nodes, in a cycle.
    #[inline(always)]
    pub(super) fn slot_of_credits(&self, tick: u32) -> usize {
        (tick & (self.credit_slots - 1)) as usize * (PORTS + 1) * self.vectors
    }

    /// The flits that left by an output in a cycle.
    #[inline(always)]
    pub(super) fn sent_in(&mut self, tick: u32, output: usize) -> &mut [V] {
        let first = self.slot_of_sent(tick) + output * self.vectors;
        &mut self.sent[first..][..self.vectors]
    }

    /// The flits that left by an output so many cycles before the next.
    #[inline(always)]
    pub(super) fn sent_before(&self, age: u32, output: usize) -> &[V] {
        let first = self.slot_of_sent(self.tick.wrapping_sub(age)) + output * self.vectors;
        &self.sent[first..][..self.vectors]
    }

    /// The credits that left by an input in a cycle, or those of nodes behind all inputs.
    #[inline(always)]
    pub(super) fn credits_in(&mut self, tick: u32, input: usize) -> &mut [V] {
        let first = self.slot_of_credits(tick) + input * self.vectors;
        &mut self.credits[first..][..self.vectors]
    }

    /// The same so many cycles before the next.
    #[inline(always)]
    pub(super) fn credits_before(&self, age: u32, input: usize) -> &[V] {
        let first = self.slot_of_credits(self.tick.wrapping_sub(age)) + input * self.vectors;
        &self.credits[first..][..self.vectors]
    }

    /// The flits of nodes that reach their routers so many cycles from now.
    #[inline(always)]
    pub(super) fn entering_in(&self, ahead: u32) -> &[V] {
        &self.entering[self.slot_of_entering(ahead)..][..self.vectors]
    }

    /// The same to be changed.
    #[inline(always)]
    pub(super) fn enter_in(&mut self, ahead: u32) -> &mut [V] {
        let first = self.slot_of_entering(ahead);
        &mut self.entering[first..][..self.vectors]
    }

    #[inline(always)]
    fn slot_of_entering(&self, ahead: u32) -> usize {
        (self.tick.wrapping_add(ahead) % SLOTS) as usize * self.vectors
    }

    /// Whether no credit is on its way.
    pub(super) fn has_no_credits(&self) -> bool {
        // Those of nodes take no longer than without a delay.
        let has_none =
            |age: u32, at: usize| words(self.credits_before(age, at)).iter().all(|&word| word == 0);
        (1..=2 + self.credit_delay)
            .all(|age| (0..PORTS + 1).filter(|&at| at != NODE || age <= 2).all(|at| has_none(age, at)))
    }

    /// What left routers and nodes reaches the other end of the link, in lines of so many nodes.
    #[inline(always)]
    pub(super) fn carry(&mut self, radix: usize) {
        let port = self.vectors;
        let sent = self.slot_of_sent(self.tick.wrapping_sub(FLIGHT));
        let left = self.slot_of_credits(self.tick.wrapping_sub(2 + self.credit_delay));
        // What leaves by a port enters by its partner, and so do the credits of an input: they reach the output that
        // leads to it.
        for (into, out, by) in [(1, 0, 1), (3, 2, radix)] {
            let flits = words(&self.sent[sent + out * port..][..port]);
            shift_up(flits, words_mut(&mut self.arriving[into * port..][..port]), by);
            let credits = words(&self.credits[left + out * port..][..port]);
            shift_up(credits, words_mut(&mut self.credited[into * port..][..port]), by);
            let flits = words(&self.sent[sent + into * port..][..port]);
            shift_down(flits, words_mut(&mut self.arriving[out * port..][..port]), by);
            let credits = words(&self.credits[left + into * port..][..port]);
            shift_down(credits, words_mut(&mut self.credited[out * port..][..port]), by);
        }
        let entering = self.slot_of_entering(0);
        for vector in 0..port {
            let entering = &mut self.entering[entering + vector];
            self.arriving[NODE * port + vector] = *entering;
            *entering = V::zero();
            self.credited[NODE * port + vector] = self.credits[left + PORTS * port + vector];
        }
    }

    /// Nodes give back at once what arrives.
    #[inline(always)]
    pub(super) fn credit_arrivals(&mut self) {
        let slot = self.slot_of_credits(self.tick) + PORTS * self.vectors;
        let sent = self.slot_of_sent(self.tick.wrapping_sub(FLIGHT)) + NODE * self.vectors;
        self.credits[slot..][..self.vectors].copy_from_slice(&self.sent[sent..][..self.vectors]);
    }
}
