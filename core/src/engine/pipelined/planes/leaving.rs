//! How many flits left by every output port, and when: digits in planes, told now and then.

use super::matching::PORTS;
use crate::{
    bits::{Vector, half_add, ones, words},
    probe::LinkOccupation,
};

/// Digits of a number of cycles.
const DIGITS: usize = 8;
/// Most cycles that are counted before they are told.
const MOST: u32 = (1 << DIGITS) - 1;

/// What left by the output ports of all routers since it was told, by block and output.
#[derive(Clone, Debug)]
pub(super) struct Leaving<V> {
    /// Of the last cycle.
    pub now: Vec<[V; PORTS]>,
    counts: Vec<[[V; DIGITS]; PORTS]>,
    /// In which cycle since then a flit left last.
    last: Vec<[[V; DIGITS]; PORTS]>,
    /// Where any flit has ever left.
    pub ever: Vec<[V; PORTS]>,
    /// Block, output and cycle of ports where the first one left, and which of their routers.
    firsts: Vec<(usize, usize, u32, V)>,
    /// The first of the cycles, and how many there were.
    first: u32,
    cycles: u32,
}

impl<V: Vector> Leaving<V> {
    /// Of so many blocks, without flits.
    pub(super) fn new(blocks: usize) -> Self {
        let (none, zeros) = ([V::zero(); PORTS], [[V::zero(); DIGITS]; PORTS]);
        Self {
            now: vec![none; blocks],
            counts: vec![zeros; blocks],
            last: vec![zeros; blocks],
            ever: vec![none; blocks],
            firsts: Vec::new(),
            first: 0,
            cycles: 0,
        }
    }

    /// Whether those of the cycle before this one cannot be counted unless the others are told.
    pub(super) fn is_full(&self, now: u32) -> bool {
        self.cycles == MOST || self.cycles > 0 && self.first + self.cycles != now
    }

    /// Counts what left before this cycle and leaves in it.
    #[inline(always)]
    pub(super) fn count(&mut self, now: u32) {
        if self.cycles == 0 {
            self.first = now;
        }
        self.cycles += 1;
        for block in 0..self.now.len() {
            for output in 0..PORTS {
                let left = self.now[block][output];
                if !left.any() {
                    continue;
                }
                let fresh = left & !self.ever[block][output];
                if fresh.any() {
                    self.ever[block][output] = self.ever[block][output] | left;
                    self.firsts.push((block, output, now, fresh));
                }
                let mut carry = left;
                for digit in &mut self.counts[block][output] {
                    half_add(digit, &mut carry);
                }
                for (place, digit) in self.last[block][output].iter_mut().enumerate() {
                    let is_set = (self.cycles - 1) >> place & 1 == 1;
                    *digit = if is_set { *digit | left } else { *digit & !left };
                }
            }
        }
    }

    /// Tells what was counted; the planes of a channel have so many words, and links are ports of routers in their order.
    pub(super) fn add_to(&mut self, (planes, ports): (usize, usize), links: &mut LinkOccupation) {
        let link = |block: usize, output: usize, word: usize, bit: usize| {
            let output = output.min(ports - 1);
            ((block * V::WORDS + word) * 64 + bit) * ports + output
        };
        let each = planes.min(V::WORDS);
        for (block, output, cycle, routers) in self.firsts.drain(..) {
            for (word, &bits) in words(&[routers])[..each].iter().enumerate() {
                for bit in ones(bits) {
                    links.first[link(block, output, word, bit)] = cycle.into();
                }
            }
        }
        for block in 0..self.now.len() {
            for output in 0..PORTS {
                let counts = words(&self.counts[block][output]);
                let last = words(&self.last[block][output]);
                for word in 0..each {
                    let any = (0..DIGITS).fold(0, |any, place| any | counts[place * V::WORDS + word]);
                    for bit in ones(any) {
                        let at = link(block, output, word, bit);
                        let number = |planes: &[u64]| {
                            (0..DIGITS)
                                .map(|place| (planes[place * V::WORDS + word] >> bit & 1) << place)
                                .sum::<u64>()
                        };
                        links.flits[at] += number(counts);
                        links.last[at] = u64::from(self.first) + number(last);
                    }
                }
                self.counts[block][output] = [V::zero(); DIGITS];
            }
        }
        self.cycles = 0;
    }
}
