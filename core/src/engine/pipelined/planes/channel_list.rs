//! Lists of channels of routers, written without a branch.

use crate::bits::ones;

/// Bits of the number of a channel.
const NUMBER: u32 = 8;
/// Entries of a word that are written in any case.
const ANYWAY: usize = 3;

/// Routers, each with a number of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelList {
    items: Vec<u32>,
    len: usize,
}

/// The first router of a word, and a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstOfWord(u32);

impl FirstOfWord {
    pub(super) fn new(router: usize, number: usize) -> Self {
        Self((router << NUMBER | number) as u32)
    }
}

impl ChannelList {
    /// A list with room for so many.
    pub(super) fn new(most: usize) -> Self {
        Self { items: vec![0; most + ANYWAY], len: 0 }
    }

    /// Adds the routers of a word.
    #[inline(always)]
    pub(super) fn note(&mut self, mut word: u64, FirstOfWord(vector_of): FirstOfWord) {
        let many = word.count_ones() as usize;
        // What is beyond the end is written over by the next.
        for item in &mut self.items[self.len..][..ANYWAY] {
            *item = vector_of + (word.trailing_zeros() << NUMBER);
            word &= word.wrapping_sub(1);
        }
        if word != 0 {
            for (bit, item) in ones(word).zip(&mut self.items[self.len + ANYWAY..]) {
                *item = vector_of + ((bit as u32) << NUMBER);
            }
        }
        self.len += many;
    }

    #[inline(always)]
    pub(super) fn push(&mut self, router: usize, number: usize) {
        self.items[self.len] = FirstOfWord::new(router, number).0;
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.items[..self.len].iter().map(|&item| (item >> NUMBER, item & ((1 << NUMBER) - 1)))
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}
