//! Vectors in blocks.

use super::{Vector, bits, words, words_mut};
use crate::visit::NodeBits;

/// Vectors in blocks: the same number of planes for every `V::BITS` nodes.
#[derive(Clone, Debug)]
pub(crate) struct Blocks<V> {
    vectors: Vec<V>,
    planes: usize,
}

impl<V: Vector> Blocks<V> {
    pub(crate) fn new(blocks: usize, planes: usize, value: V) -> Self {
        Self { vectors: vec![value; blocks * planes], planes }
    }

    #[inline(always)]
    pub(crate) fn block(&self, block: usize) -> &[V] {
        &self.vectors[block * self.planes..][..self.planes]
    }

    #[inline(always)]
    pub(crate) fn block_mut(&mut self, block: usize) -> &mut [V] {
        &mut self.vectors[block * self.planes..][..self.planes]
    }

    /// The word of a plane that holds a node.
    #[inline(always)]
    pub(crate) fn word_mut(&mut self, plane: usize, node: usize) -> &mut u64 {
        let (block, word) = (node / V::BITS, node % V::BITS / 64);
        &mut words_mut(&mut self.vectors)[(block * self.planes + plane) * V::WORDS + word]
    }

    /// The same, to be read.
    #[inline(always)]
    pub(crate) fn word(&self, plane: usize, node: usize) -> u64 {
        let (block, word) = (node / V::BITS, node % V::BITS / 64);
        words(&self.vectors)[(block * self.planes + plane) * V::WORDS + word]
    }

    /// The bit of a node.
    #[inline(always)]
    pub(crate) fn bit(&self, plane: usize, node: usize) -> bool {
        self.word(plane, node) >> (node % 64) & 1 == 1
    }

    /// Sets or clears the bit of a node.
    #[inline(always)]
    pub(crate) fn set(&mut self, plane: usize, node: usize, value: bool) {
        let word = self.word_mut(plane, node);
        *word = *word & !(1 << (node % 64)) | u64::from(value) << (node % 64);
    }

    /// So many bits of a plane from a node on, at most 64.
    #[inline(always)]
    pub(crate) fn bits(&self, plane: usize, node: usize, count: usize) -> u64 {
        let next = node / 64 * 64 + 64;
        let high = if node % 64 + count > 64 { self.word(plane, next) } else { 0 };
        bits(&[self.word(plane, node), high], node % 64, count)
    }

    /// Planes of a block.
    #[inline(always)]
    pub(crate) fn planes(&self) -> usize {
        self.planes
    }

    /// The same blocks with more planes, clear to begin with.
    pub(crate) fn widen(&mut self, blocks: usize, planes: usize) {
        let mut wider = Self::new(blocks, planes, V::zero());
        for block in 0..blocks {
            wider.block_mut(block)[..self.planes].copy_from_slice(self.block(block));
        }
        *self = wider;
    }
}

impl<V: Vector> NodeBits for Blocks<V> {
    fn planes(&self) -> usize {
        self.planes
    }

    fn word_of(&mut self, plane: usize, word: usize) -> &mut u64 {
        self.word_mut(plane, 64 * word)
    }
}
