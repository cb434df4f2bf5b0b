//! What all routers do at once: what arrives is taken in, the switch is matched, and flits cross it.

// No closure and no iterator adaptor works on vectors.
#![allow(clippy::needless_range_loop)]

use super::{
    super::{
        buffers::Behind,
        flit::{Flit, Packets},
        rules::Rules,
    },
    channel_list::{ChannelList, FirstOfWord},
    matching::{OUTPUTS, PORTS, Turns},
    state::{
        BEHIND, CHANNEL, DIGITS, FLIGHT, FLITS, IDLE, Known, Lane, NODE, OCCUPIED, OUTPUT, Planes, READY,
        SLOTS, TAIL_SENT, TURN,
    },
};
use crate::bits::{Task, Vector, half_add, half_subtract, words, words_mut};

/// What arrives at nodes and routers.
pub(super) struct Receive<'a, V: Vector> {
    pub all: &'a mut Planes<V>,
    pub rules: &'a Rules,
    pub packets: &'a Packets,
    pub sources: &'a mut Behind,
    pub arrived: &'a mut Vec<(u32, Flit)>,
}

/// The step of all routers in a cycle.
pub(super) struct Step<'a, V: Vector>(pub &'a mut Planes<V>, pub u32);

impl<V: Vector> Task for Receive<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.all.receive_all(self.rules, self.packets, self.sources, self.arrived);
    }
}

impl<V: Vector> Task for Step<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.step(self.1);
    }
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

impl<V: Vector> Planes<V> {
    /// What left routers and nodes reaches the other end of the link.
    #[inline(always)]
    pub(super) fn carry(&mut self) {
        let port = self.vectors;
        let sent = (self.tick.wrapping_sub(FLIGHT) % SLOTS) as usize * PORTS * port;
        let late = self.tick.wrapping_sub(2 + self.credit_delay) & (self.credit_slots - 1);
        let left = late as usize * (PORTS + 1) * port;
        // What leaves by a port enters by its partner, and so do the credits of an input: they reach the output that
        // leads to it.
        for (into, out, by) in [(1, 0, 1), (3, 2, self.radix)] {
            let flits = words(&self.sent[sent + out * port..][..port]);
            shift_up(flits, words_mut(&mut self.arriving[into * port..][..port]), by);
            let credits = words(&self.credits[left + out * port..][..port]);
            shift_up(credits, words_mut(&mut self.credited[into * port..][..port]), by);
            let flits = words(&self.sent[sent + into * port..][..port]);
            shift_down(flits, words_mut(&mut self.arriving[out * port..][..port]), by);
            let credits = words(&self.credits[left + into * port..][..port]);
            shift_down(credits, words_mut(&mut self.credited[out * port..][..port]), by);
        }
        for vector in 0..port {
            let entering = &mut self.entering[(self.tick % SLOTS) as usize * port + vector];
            self.arriving[NODE * port + vector] = *entering;
            *entering = V::zero();
            self.credited[NODE * port + vector] = self.credits[left + PORTS * port + vector];
        }
    }

    #[inline(always)]
    pub(super) fn queue_inputs<const D: usize>(&mut self) {
        for number in 0..PORTS * self.vectors {
            let flits = self.arriving[number];
            if flits.any() {
                let lane = &mut self.lanes[number];
                let begins = flits & lane[IDLE];
                lane[IDLE] = lane[IDLE] & !flits;
                lane[OCCUPIED] = lane[OCCUPIED] | flits;
                let mut carry = flits;
                for digit in &mut lane[FLITS..FLITS + D] {
                    half_add(digit, &mut carry);
                }
                note(&mut self.begun, begins, &self.first_of_words[number * V::WORDS..]);
            }
            let credits = self.credited[number];
            if credits.any() {
                let known = &mut self.known[number];
                let mut space = V::zero();
                for &digit in &known[..D] {
                    space = space | digit;
                }
                let was_full = credits & !space;
                let mut carry = credits;
                for digit in &mut known[..D] {
                    half_add(digit, &mut carry);
                }
                if self.waits_for_tail {
                    let mut is_left = credits & known[TAIL_SENT];
                    for bit in 0..D {
                        let digit = known[bit];
                        is_left = is_left & if self.places >> bit & 1 == 1 { digit } else { !digit };
                    }
                    note(&mut self.vacated, is_left, &self.first_of_words[number * V::WORDS..]);
                }
                note(&mut self.emptied, was_full, &self.first_of_words[number * V::WORDS..]);
            }
        }
    }

    /// The switch of all routers is matched, and flits cross it.
    #[inline(always)]
    pub(super) fn traverse_switch<const D: usize>(&mut self) {
        let (mut single, mut double) = (std::mem::take(&mut self.single), std::mem::take(&mut self.double));
        for block in 0..single.len() {
            self.cross::<PORTS, 1, D>(block, &mut single[block]);
        }
        for block in 0..double.len() {
            self.cross::<{ 2 * PORTS }, 2, D>(block, &mut double[block]);
        }
        (self.single, self.double) = (single, double);
    }

    /// The planes of all channels of a vector together, everywhere.
    #[inline(always)]
    fn spread(&self, mut plane: V) -> V {
        for &turn in &self.spreads[..self.spread_steps] {
            plane = plane | plane.permute(turn);
        }
        plane
    }

    /// The same of the channels of a sub-port each.
    #[inline(always)]
    fn spread_alike<const S: usize>(&self, mut plane: V) -> V {
        let steps = if S == 1 { self.spread_steps } else { self.spread_steps.saturating_sub(1) };
        for &turn in &self.spreads[..steps] {
            plane = plane | plane.permute(turn);
        }
        plane
    }

    /// Whether a channel of the vector before this one, of the same sub-port, has the bit.
    #[inline(always)]
    fn before<const S: usize>(&self, plane: V) -> V {
        let first = if S == 1 { 0 } else { 1 };
        if self.spread_steps <= first {
            return V::zero();
        }
        let mut all = plane;
        for &(turn, mask) in &self.ups[first..self.spread_steps] {
            all = all | (all.permute(turn) & mask);
        }
        let (turn, mask) = self.ups[first];
        all.permute(turn) & mask
    }

    /// Matches the switch with so many sub-ports in all, and so many per port.
    #[inline(always)]
    fn cross<const N: usize, const S: usize, const D: usize>(
        &mut self,
        block: usize,
        turns: &mut Turns<V, N>,
    ) {
        let (vectors, blocks) = (self.vectors, self.blocks);
        let mut asks = [[V::zero(); PORTS]; N];
        let mut any = V::zero();
        for port in 0..PORTS {
            let mut all = [[V::zero(); PORTS]; S];
            let mut group = 0;
            let mut vector = block;
            while vector < vectors {
                let lane = &self.lanes[port * vectors + vector];
                let may = lane[READY] & lane[OCCUPIED];
                any = any | may;
                for sub in 0..S {
                    let may = if S == 1 { may } else { may & self.subs[group * S + sub] };
                    for &output in OUTPUTS[port] {
                        all[sub][output] = all[sub][output] | (may & lane[OUTPUT + output]);
                    }
                }
                vector += blocks;
                group += 1;
            }
            for sub in 0..S {
                for &output in OUTPUTS[port] {
                    asks[port * S + sub][output] = self.spread(all[sub][output]);
                }
            }
        }
        let sent = (self.tick % SLOTS) as usize * PORTS * vectors;
        let credits = (self.tick & (self.credit_slots - 1)) as usize * (PORTS + 1) * vectors;
        if !any.any() {
            for number in (block..PORTS * vectors).step_by(blocks) {
                self.sent[sent + number] = V::zero();
                self.credits[credits + number] = V::zero();
            }
            self.leaving.iter_mut().for_each(|all| all.now[block] = [V::zero(); PORTS]);
            return;
        }
        let matched = turns.decide(&asks, self.input_first, self.iterations);
        let mut carried = [[V::zero(); CHANNEL]; N];
        for port in 0..PORTS {
            let mut wins = [V::zero(); S];
            for sub in 0..S {
                for &output in OUTPUTS[port] {
                    wins[sub] = wins[sub] | matched[port * S + sub][output];
                }
            }
            if !(if S == 1 { wins[0] } else { wins[0] | wins[S - 1] }).any() {
                for vector in (block..vectors).step_by(blocks) {
                    self.credits[credits + port * vectors + vector] = V::zero();
                }
                continue;
            }
            // The channels that ask for the output that was won: the first from the turn on.
            let mut behind_turn = [V::zero(); S];
            let (mut group, mut vector) = (0, block);
            while vector < vectors {
                let lane = &self.lanes[port * vectors + vector];
                let mut asks = V::zero();
                for &output in OUTPUTS[port] {
                    let mut won = matched[port * S][output];
                    if S > 1 {
                        won = (won & self.subs[group * S])
                            | (matched[port * S + S - 1][output] & self.subs[group * S + S - 1]);
                    }
                    asks = asks | (won & lane[OUTPUT + output]);
                }
                let asks = asks & lane[READY] & lane[OCCUPIED];
                self.asking[group] = asks;
                let class = if S > 1 && self.spread_steps == 0 { group % S } else { 0 };
                behind_turn[class] = behind_turn[class] | (asks & lane[TURN]);
                vector += blocks;
                group += 1;
            }
            for class in 0..S {
                behind_turn[class] = self.spread_alike::<S>(behind_turn[class]);
            }
            let mut earlier = [V::zero(); S];
            let mut digits = [[V::zero(); CHANNEL]; S];
            let (mut group, mut vector) = (0, block);
            while vector < vectors {
                let number = port * vectors + vector;
                let class = if S > 1 && self.spread_steps == 0 { group % S } else { 0 };
                let lane = &self.lanes[number];
                let candidates = self.asking[group] & (lane[TURN] | !behind_turn[class]);
                let before = self.before::<S>(candidates) | earlier[class];
                earlier[class] = earlier[class] | self.spread_alike::<S>(candidates);
                let won = candidates & !before;
                let mut wins_here = wins[0];
                if S > 1 {
                    wins_here =
                        (wins_here & self.subs[group * S]) | (wins[S - 1] & self.subs[group * S + S - 1]);
                }
                let lane = &mut self.lanes[number];
                lane[TURN] = before | (lane[TURN] & !wins_here);
                self.credits[credits + number] = won;
                if won.any() {
                    for bit in 0..self.channel_bits {
                        let digit = won & lane[DIGITS + bit];
                        for sub in 0..S {
                            let digit = if S == 1 { digit } else { digit & self.subs[group * S + sub] };
                            digits[sub][bit] = digits[sub][bit] | digit;
                        }
                    }
                    let tails = leave::<V, D>(lane, won, self.left_bits);
                    if tails.any() {
                        lane[IDLE] = lane[IDLE] | (tails & !lane[OCCUPIED]);
                        lane[READY] = lane[READY] & !tails;
                        for &output in OUTPUTS[port] {
                            lane[OUTPUT + output] = lane[OUTPUT + output] & !tails;
                        }
                        for bit in 0..self.channel_bits {
                            lane[DIGITS + bit] = lane[DIGITS + bit] & !tails;
                        }
                        note(&mut self.tails, tails, &self.first_of_words[number * V::WORDS..]);
                    }
                }
                vector += blocks;
                group += 1;
            }
            for sub in 0..S {
                for bit in 0..self.channel_bits {
                    carried[port * S + sub][bit] = self.spread(digits[sub][bit]);
                }
            }
        }
        for output in 0..PORTS {
            let mut leaving = V::zero();
            let mut digits = [V::zero(); CHANNEL];
            for input in 0..N {
                let matched = matched[input][output];
                leaving = leaving | matched;
                for bit in 0..self.channel_bits {
                    digits[bit] = digits[bit] | (matched & carried[input][bit]);
                }
            }
            if let Some(all) = &mut self.leaving {
                all.now[block][output] = leaving;
            }
            let (mut group, mut vector) = (0, block);
            while vector < vectors {
                let number = output * vectors + vector;
                let mut leaves = leaving & self.exists[group];
                for bit in 0..self.channel_bits {
                    leaves = leaves & !(digits[bit] ^ self.numbers[group][bit]);
                }
                self.sent[sent + number] = leaves;
                if leaves.any() {
                    let full = fill::<V, D>(&mut self.known[number], leaves);
                    note(&mut self.filled, full, &self.first_of_words[number * V::WORDS..]);
                }
                vector += blocks;
                group += 1;
            }
        }
    }
}

/// Flits leave a queue; those of them that are tails.
#[inline(always)]
fn leave<V: Vector, const D: usize>(lane: &mut Lane<V>, won: V, left_bits: usize) -> V {
    let mut borrow = won;
    let mut occupied = V::zero();
    for digit in &mut lane[FLITS..FLITS + D] {
        half_subtract(digit, &mut borrow);
        occupied = occupied | *digit;
    }
    lane[OCCUPIED] = occupied;
    let mut has_more = V::zero();
    for &digit in &lane[BEHIND..BEHIND + left_bits] {
        has_more = has_more | digit;
    }
    let mut borrow = won & has_more;
    for digit in &mut lane[BEHIND..BEHIND + left_bits] {
        half_subtract(digit, &mut borrow);
    }
    won & !has_more
}

/// Flits go to the queue behind an output channel; where it is full then.
#[inline(always)]
fn fill<V: Vector, const D: usize>(known: &mut Known<V>, leaves: V) -> V {
    let mut borrow = leaves;
    let mut space = V::zero();
    for digit in &mut known[..D] {
        half_subtract(digit, &mut borrow);
        space = space | *digit;
    }
    leaves & !space
}

/// Notes the routers and channels of a vector; every word of it has its first router and its channel.
#[inline(always)]
fn note<V: Vector>(list: &mut ChannelList, plane: V, first_of_words: &[FirstOfWord]) {
    if !plane.any() {
        return;
    }
    let plane = [plane];
    let (plane, first_of_words) = (words(&plane), &first_of_words[..V::WORDS]);
    for at in 0..V::WORDS {
        list.note(plane[at], first_of_words[at]);
    }
}
