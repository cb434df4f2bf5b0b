//! Where the channels of ports stand in planes.

use super::{
    channel_list::FirstOfWord,
    matching::PORTS,
    records::{CHANNEL, FIELDS},
};
use crate::bits::{Vector, words_mut};

/// Nodes, ports, channels and vectors, and the masks and orders that follow from them.
#[derive(Clone)]
pub(super) struct Layout<V: Vector> {
    pub nodes: usize,
    pub channels: usize,
    pub channel_bits: usize,
    /// The numbers of the channels of a port, a power of two, and of all ports.
    pub span_bits: u32,
    pub all: usize,
    /// Planes of a plane. The planes of the channels of a port stand one behind the other, in so many vectors: several
    /// in a vector, or each in so many vectors.
    pub words: usize,
    pub vectors: usize,
    pub blocks: usize,
    /// By word of the planes of all ports its first router, and the input or output channel.
    pub first_of_words: Vec<FirstOfWord>,
    /// Where the first word of an input channel stands among those of the planes of all, and how far behind it another
    /// word of the same plane is.
    pub first_words: Vec<u32>,
    pub further: Vec<u32>,
    /// What turns vectors by planes: by half a vector, by a quarter of it and so on to one plane; and what moves them
    /// up by one plane, by two and so on.
    pub spread_steps: usize,
    pub spreads: [V::Order; 3],
    pub ups: [(V::Order, V); 3],
    /// By vector of a port the planes of the channels of each sub-port, those that exist, and the digits of the channels.
    pub subs: Vec<V>,
    pub exists: Vec<V>,
    pub numbers: Vec<[V; CHANNEL]>,
}

/// A vector whose words are set where something holds.
fn vector<V: Vector>(holds: impl Fn(usize) -> bool) -> V {
    let mut vector = V::zero();
    for (at, word) in words_mut(std::slice::from_mut(&mut vector)).iter_mut().enumerate() {
        *word = if holds(at) { u64::MAX } else { 0 };
    }
    vector
}

impl<V: Vector> Layout<V> {
    /// That of so many nodes and channels of a port, with so many sub-ports per input.
    pub(super) fn new(nodes: usize, channels: usize, input_speedup: usize) -> Self {
        let words = nodes.div_ceil(64).next_power_of_two();
        let words = if words < V::WORDS { words } else { nodes.div_ceil(V::BITS) * V::WORDS };
        let (together, blocks) = ((V::WORDS / words).max(1), words.div_ceil(V::WORDS));
        let groups = channels.div_ceil(together);
        let vectors = groups * blocks;
        let span_bits = channels.next_power_of_two().trailing_zeros();
        let all = PORTS << span_bits;
        let turned = |by: usize| V::order(|word| (word + V::WORDS - by % V::WORDS) % V::WORDS);
        let up = |step: usize| (turned(words << step), vector(|word| word >= words << step));
        let channel_of = |group: usize, word: usize| group * together + word / words;
        let first_of_word = |word: usize| {
            let (port, word) = (word / (vectors * V::WORDS), word % (vectors * V::WORDS));
            FirstOfWord::new(word % words * 64, (port << span_bits) + word / words)
        };
        let first_word = |number: usize| {
            let (port, word) = (number >> span_bits, number % (1 << span_bits) * words);
            ((port * vectors + word / V::WORDS) * FIELDS * V::WORDS + word % V::WORDS) as u32
        };
        let further = |word: usize| (word / V::WORDS * FIELDS * V::WORDS + word % V::WORDS) as u32;
        let sub = |at: usize| {
            let (group, sub) = (at / input_speedup, at % input_speedup);
            vector(|word| channel_of(group, word) % input_speedup == sub)
        };
        let numbers =
            |group: usize| std::array::from_fn(|bit| vector(|word| channel_of(group, word) >> bit & 1 == 1));
        Self {
            nodes,
            channels,
            channel_bits: (channels - 1).checked_ilog2().map_or(0, |bits| bits as usize + 1),
            span_bits,
            all,
            words,
            vectors,
            blocks,
            first_of_words: (0..PORTS * vectors * V::WORDS).map(first_of_word).collect(),
            first_words: (0..all).map(first_word).collect(),
            further: (0..words).map(further).collect(),
            spread_steps: together.trailing_zeros() as usize,
            spreads: std::array::from_fn(|step| turned(V::WORDS >> (step + 1))),
            ups: std::array::from_fn(up),
            subs: (0..groups * input_speedup).map(sub).collect(),
            exists: (0..groups).map(|group| vector(|word| channel_of(group, word) < channels)).collect(),
            numbers: (0..groups).map(numbers).collect(),
        }
    }

    /// The port and the channel of a number among the channels of a router.
    #[inline(always)]
    pub(super) fn port_and_channel(&self, number: usize) -> (usize, usize) {
        (number >> self.span_bits, number & ((1 << self.span_bits) - 1))
    }

    /// The queue of a channel to a node, behind those of all input channels.
    #[inline(always)]
    pub(super) fn queue_of_node(&self, node: usize, channel: usize) -> usize {
        self.nodes * self.all + (node << self.span_bits) + channel
    }

    /// The vector of a channel of a port at a router, and the word there.
    #[inline(always)]
    pub(super) fn vector_of(&self, port: usize, channel: usize, router: usize) -> (usize, usize) {
        let word = channel * self.words + router / 64;
        (port * self.vectors + word / V::WORDS, word % V::WORDS)
    }

    /// The first word of a plane's vectors that is that of a router where planes of channels are alike: block, word.
    pub(super) fn block_of(&self, router: usize) -> (usize, usize) {
        (router / 64 / V::WORDS, router / 64 % V::WORDS)
    }

    /// The first router and the channel of every word of a vector.
    #[inline(always)]
    pub(super) fn first_of(&self, vector: usize) -> &[FirstOfWord] {
        &self.first_of_words[vector * V::WORDS..]
    }

    /// The planes of all channels of a vector together, everywhere.
    #[inline(always)]
    pub(super) fn spread(&self, mut plane: V) -> V {
        for &turn in &self.spreads[..self.spread_steps] {
            plane = plane | plane.permute(turn);
        }
        plane
    }

    /// The same of the channels of a sub-port each.
    #[inline(always)]
    pub(super) fn spread_alike<const S: usize>(&self, mut plane: V) -> V {
        let steps = if S == 1 { self.spread_steps } else { self.spread_steps.saturating_sub(1) };
        for &turn in &self.spreads[..steps] {
            plane = plane | plane.permute(turn);
        }
        plane
    }

    /// Whether a channel of the vector before this one, of the same sub-port, has the bit.
    #[inline(always)]
    pub(super) fn before<const S: usize>(&self, plane: V) -> V {
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

    /// The sub-port of the channels of a vector that turns are kept for, if they are all of one.
    #[inline(always)]
    pub(super) fn class_of<const S: usize>(&self, group: usize) -> usize {
        if S > 1 && self.spread_steps == 0 { group % S } else { 0 }
    }

    /// By sub-port the planes of a vector's channels, put together to those of the vector.
    #[inline(always)]
    pub(super) fn of_subs<const S: usize>(&self, group: usize, by_sub: [V; S]) -> V {
        if S == 1 {
            return by_sub[0];
        }
        (by_sub[0] & self.subs[group * S]) | (by_sub[S - 1] & self.subs[group * S + S - 1])
    }
}
