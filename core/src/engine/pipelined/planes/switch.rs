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
    records::{BEHIND, CHANNEL, DIGITS, FLITS, IDLE, Known, Lane, OCCUPIED, OUTPUT, READY, TAIL_SENT, TURN},
    state::Planes,
};
use crate::bits::{Task, Vector, half_add, half_subtract, words};

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

impl<V: Vector> Planes<V> {
    /// Flits that arrive go to their queues, and credits to the outputs.
    #[inline(always)]
    pub(super) fn queue_inputs<const D: usize>(&mut self) {
        for number in 0..PORTS * self.layout.vectors {
            let flits = self.links.arriving[number];
            if flits.any() {
                let lane = &mut self.lanes[number];
                let begins = flits & lane[IDLE];
                lane[IDLE] = lane[IDLE] & !flits;
                lane[OCCUPIED] = lane[OCCUPIED] | flits;
                let mut carry = flits;
                for digit in &mut lane[FLITS..FLITS + D] {
                    half_add(digit, &mut carry);
                }
                note(&mut self.changes.begun, begins, self.layout.first_of(number));
            }
            let credits = self.links.credited[number];
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
                if self.options.waits_for_tail {
                    let mut is_left = credits & known[TAIL_SENT];
                    for bit in 0..D {
                        let digit = known[bit];
                        is_left = is_left & if self.options.places >> bit & 1 == 1 { digit } else { !digit };
                    }
                    note(&mut self.changes.vacated, is_left, self.layout.first_of(number));
                }
                note(&mut self.changes.emptied, was_full, self.layout.first_of(number));
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

    /// Matches the switch with so many sub-ports in all, and so many per port.
    #[inline(always)]
    fn cross<const N: usize, const S: usize, const D: usize>(
        &mut self,
        block: usize,
        turns: &mut Turns<V, N>,
    ) {
        let (asks, any) = self.requests::<N, S>(block);
        let tick = self.links.tick;
        if !any.any() {
            for port in 0..PORTS {
                for vector in (block..self.layout.vectors).step_by(self.layout.blocks) {
                    self.links.sent_in(tick, port)[vector] = V::zero();
                    self.links.credits_in(tick, port)[vector] = V::zero();
                }
            }
            self.leaving.iter_mut().for_each(|all| all.now[block] = [V::zero(); PORTS]);
            return;
        }
        let matched = turns.decide(&asks, self.options.input_first, self.options.iterations);
        let mut carried = [[V::zero(); CHANNEL]; N];
        for port in 0..PORTS {
            let mut wins = [V::zero(); S];
            for sub in 0..S {
                for &output in OUTPUTS[port] {
                    wins[sub] = wins[sub] | matched[port * S + sub][output];
                }
            }
            if (if S == 1 { wins[0] } else { wins[0] | wins[S - 1] }).any() {
                let behind_turn = self.candidates::<N, S>(block, port, &matched);
                self.send::<N, S, D>((block, port), &wins, &behind_turn, &mut carried);
            } else {
                for vector in (block..self.layout.vectors).step_by(self.layout.blocks) {
                    self.links.credits_in(tick, port)[vector] = V::zero();
                }
            }
        }
        for output in 0..PORTS {
            self.leave_by::<N, D>(block, output, &matched, &carried);
        }
    }

    /// Which outputs sub-ports ask for, and where any does.
    #[inline(always)]
    fn requests<const N: usize, const S: usize>(&self, block: usize) -> ([[V; PORTS]; N], V) {
        let (vectors, blocks) = (self.layout.vectors, self.layout.blocks);
        let mut asks = [[V::zero(); PORTS]; N];
        let mut any = V::zero();
        for port in 0..PORTS {
            let mut all = [[V::zero(); PORTS]; S];
            let (mut group, mut vector) = (0, block);
            while vector < vectors {
                let lane = &self.lanes[port * vectors + vector];
                let may = lane[READY] & lane[OCCUPIED];
                any = any | may;
                for sub in 0..S {
                    let may = if S == 1 { may } else { may & self.layout.subs[group * S + sub] };
                    for &output in OUTPUTS[port] {
                        all[sub][output] = all[sub][output] | (may & lane[OUTPUT + output]);
                    }
                }
                vector += blocks;
                group += 1;
            }
            for sub in 0..S {
                for &output in OUTPUTS[port] {
                    asks[port * S + sub][output] = self.layout.spread(all[sub][output]);
                }
            }
        }
        (asks, any)
    }

    /// The channels that ask for the output that their sub-port has won, and where one at the turn or behind it does.
    #[inline(always)]
    fn candidates<const N: usize, const S: usize>(
        &mut self,
        block: usize,
        port: usize,
        matched: &[[V; PORTS]; N],
    ) -> [V; S] {
        let (vectors, blocks) = (self.layout.vectors, self.layout.blocks);
        let mut behind_turn = [V::zero(); S];
        let (mut group, mut vector) = (0, block);
        while vector < vectors {
            let lane = &self.lanes[port * vectors + vector];
            let mut asks = V::zero();
            for &output in OUTPUTS[port] {
                let mut won = [V::zero(); S];
                for sub in 0..S {
                    won[sub] = matched[port * S + sub][output];
                }
                asks = asks | (self.layout.of_subs(group, won) & lane[OUTPUT + output]);
            }
            let asks = asks & lane[READY] & lane[OCCUPIED];
            self.asking[group] = asks;
            let class = self.layout.class_of::<S>(group);
            behind_turn[class] = behind_turn[class] | (asks & lane[TURN]);
            vector += blocks;
            group += 1;
        }
        for class in 0..S {
            behind_turn[class] = self.layout.spread_alike::<S>(behind_turn[class]);
        }
        behind_turn
    }

    /// The first channel from the turn on that asks sends a flit; the digits of their output channels.
    #[inline(always)]
    fn send<const N: usize, const S: usize, const D: usize>(
        &mut self,
        (block, port): (usize, usize),
        wins: &[V; S],
        behind_turn: &[V; S],
        carried: &mut [[V; CHANNEL]; N],
    ) {
        let (vectors, blocks, channel_bits) =
            (self.layout.vectors, self.layout.blocks, self.layout.channel_bits);
        let credits = self.links.slot_of_credits(self.links.tick);
        let mut earlier = [V::zero(); S];
        let mut digits = [[V::zero(); CHANNEL]; S];
        let (mut group, mut vector) = (0, block);
        while vector < vectors {
            let number = port * vectors + vector;
            let class = self.layout.class_of::<S>(group);
            let lane = &mut self.lanes[number];
            let candidates = self.asking[group] & (lane[TURN] | !behind_turn[class]);
            let before = self.layout.before::<S>(candidates) | earlier[class];
            earlier[class] = earlier[class] | self.layout.spread_alike::<S>(candidates);
            let won = candidates & !before;
            lane[TURN] = before | (lane[TURN] & !self.layout.of_subs(group, *wins));
            self.links.credits[credits + number] = won;
            if won.any() {
                for bit in 0..channel_bits {
                    let digit = won & lane[DIGITS + bit];
                    for sub in 0..S {
                        let digit = if S == 1 { digit } else { digit & self.layout.subs[group * S + sub] };
                        digits[sub][bit] = digits[sub][bit] | digit;
                    }
                }
                let tails = leave::<V, D>(lane, won, self.options.left_bits);
                if tails.any() {
                    lane[IDLE] = lane[IDLE] | (tails & !lane[OCCUPIED]);
                    lane[READY] = lane[READY] & !tails;
                    for &output in OUTPUTS[port] {
                        lane[OUTPUT + output] = lane[OUTPUT + output] & !tails;
                    }
                    for bit in 0..channel_bits {
                        lane[DIGITS + bit] = lane[DIGITS + bit] & !tails;
                    }
                    note(&mut self.changes.tails, tails, self.layout.first_of(number));
                }
            }
            vector += blocks;
            group += 1;
        }
        for sub in 0..S {
            for bit in 0..channel_bits {
                carried[port * S + sub][bit] = self.layout.spread(digits[sub][bit]);
            }
        }
    }

    /// Flits leave by an output, in the channels whose digits were carried to it.
    #[inline(always)]
    fn leave_by<const N: usize, const D: usize>(
        &mut self,
        block: usize,
        output: usize,
        matched: &[[V; PORTS]; N],
        carried: &[[V; CHANNEL]; N],
    ) {
        let (vectors, blocks, channel_bits) =
            (self.layout.vectors, self.layout.blocks, self.layout.channel_bits);
        let sent = self.links.slot_of_sent(self.links.tick);
        let mut leaving = V::zero();
        let mut digits = [V::zero(); CHANNEL];
        for input in 0..N {
            let matched = matched[input][output];
            leaving = leaving | matched;
            for bit in 0..channel_bits {
                digits[bit] = digits[bit] | (matched & carried[input][bit]);
            }
        }
        if let Some(all) = &mut self.leaving {
            all.now[block][output] = leaving;
        }
        let (mut group, mut vector) = (0, block);
        while vector < vectors {
            let number = output * vectors + vector;
            let mut leaves = leaving & self.layout.exists[group];
            for bit in 0..channel_bits {
                leaves = leaves & !(digits[bit] ^ self.layout.numbers[group][bit]);
            }
            self.links.sent[sent + number] = leaves;
            if leaves.any() {
                let full = fill::<V, D>(&mut self.known[number], leaves);
                note(&mut self.changes.filled, full, self.layout.first_of(number));
            }
            vector += blocks;
            group += 1;
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
