//! Planes over a whole network or a part of it, with margins that a shift may read.

use crate::visit::NodeBits;

/// Words before and behind a plane that stay clear, so that a shift may read beyond its ends.
const MARGIN: usize = 10;

/// Planes over the whole network or a part of it, one bit per node.
#[derive(Clone, Debug)]
pub(crate) struct Planes {
    words: Vec<u64>,
    stride: usize,
    margin: usize,
    /// Words of a plane without its margins.
    of_nodes: usize,
}

/// The words of a plane, and those before and behind them that a shift may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub words: usize,
    /// Words before them.
    pub margin: usize,
    behind: usize,
}

impl Extent {
    /// With places for so many nodes of other parts before and behind.
    pub(crate) fn new(words: usize, others: [usize; 2]) -> Self {
        let [margin, behind] = others.map(|others| MARGIN + others.div_ceil(64));
        Self { words, margin, behind }
    }
}

impl Planes {
    /// So many planes.
    pub(crate) fn new(planes: usize, extent: Extent) -> Self {
        let Extent { words, margin, behind } = extent;
        let stride = margin + words + behind;
        Self { words: vec![0; planes * stride], stride, margin, of_nodes: words }
    }

    /// A plane with its margins.
    #[inline(always)]
    pub(crate) fn with_margins(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride..][..self.stride]
    }

    /// The words of a plane.
    #[inline(always)]
    pub(crate) fn plane(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride + self.margin..][..self.of_nodes]
    }

    /// The words of a plane, to be changed.
    #[inline(always)]
    pub(crate) fn plane_mut(&mut self, plane: usize) -> &mut [u64] {
        &mut self.words[plane * self.stride + self.margin..][..self.of_nodes]
    }

    /// So many planes from one on, each with its margins.
    #[inline(always)]
    pub(crate) fn several(&self, first: usize, count: usize) -> &[u64] {
        &self.words[first * self.stride..][..count * self.stride]
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(crate) fn several_mut(&mut self, first: usize, count: usize) -> &mut [u64] {
        &mut self.words[first * self.stride..][..count * self.stride]
    }

    /// Words of a plane with its margins.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Words before those of a plane.
    #[inline(always)]
    pub(crate) fn margin(&self) -> usize {
        self.margin
    }

    /// The bit of a node, or of a node of another part before or behind.
    #[inline(always)]
    pub(crate) fn bit(&self, plane: usize, node: isize) -> bool {
        let place = (self.margin as isize * 64 + node) as usize;
        self.words[plane * self.stride + place / 64] >> (place % 64) & 1 == 1
    }

    /// So many bits from a node on, at most 64.
    #[inline(always)]
    pub(crate) fn bits(&self, plane: usize, node: isize, count: usize) -> u64 {
        let place = (self.margin as isize * 64 + node) as usize;
        bits(&self.words[plane * self.stride..][..self.stride], place, count)
    }

    /// Whether any bit of a plane is set.
    pub(crate) fn any(&self, plane: usize) -> bool {
        self.plane(plane).iter().any(|&word| word != 0)
    }

    /// Sets so many bits from a node on, at most 64.
    #[inline(always)]
    pub(crate) fn set_bits(&mut self, plane: usize, node: isize, count: usize, value: u64) {
        let place = (self.margin as isize * 64 + node) as usize;
        set_bits(&mut self.words[plane * self.stride..][..self.stride], place, count, value);
    }
}

impl NodeBits for Planes {
    fn planes(&self) -> usize {
        self.words.len() / self.stride
    }

    fn word_of(&mut self, plane: usize, word: usize) -> &mut u64 {
        &mut self.words[plane * self.stride + self.margin + word]
    }
}

/// So many bits of words from a place on, at most 64.
#[inline(always)]
pub(crate) fn bits(words: &[u64], place: usize, count: usize) -> u64 {
    let (word, shift) = (place / 64, place % 64);
    let mut value = words[word] >> shift;
    if shift + count > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & u64::MAX >> (64 - count)
}

/// Sets so many bits of words from a place on, at most 64.
#[inline(always)]
pub(crate) fn set_bits(words: &mut [u64], place: usize, count: usize, value: u64) {
    let (word, shift) = (place / 64, place % 64);
    let mask = u64::MAX >> (64 - count);
    words[word] = words[word] & !(mask << shift) | value << shift;
    if shift + count > 64 {
        words[word + 1] = words[word + 1] & !(mask >> (64 - shift)) | value >> (64 - shift);
    }
}

/// Beginnings and lengths of spans of at most 64 bits.
#[inline(always)]
pub(crate) fn spans(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(64).map(move |first| (first, (count - first).min(64)))
}
