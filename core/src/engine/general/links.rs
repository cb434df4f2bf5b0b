//! What routers see of their neighbours, as shifts of whole planes.

use crate::{
    engine::planes::vector::Vector,
    fabric::{Direction, NodeId, Shape, Sign},
    save::{Archive, SaveError},
};
use std::ops::Range;

/// Words before and behind a plane that stay clear, so that a shift may read beyond its ends.
const MARGIN: usize = 10;

/// Planes over the whole network or a part of it, one bit per node.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    words: Vec<u64>,
    stride: usize,
    margin: usize,
}

/// The words of a plane, and those before and behind them that a shift may read, for so many nodes
/// of other parts on either side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub words: usize,
    pub margin: usize,
}

impl Extent {
    pub fn new(words: usize, others: usize) -> Self {
        Self { words, margin: MARGIN + others.div_ceil(64) }
    }
}

impl Planes {
    /// So many planes.
    pub fn new(planes: usize, extent: Extent) -> Self {
        let Extent { words, margin } = extent;
        let stride = words + 2 * margin;
        Self { words: vec![0; planes * stride], stride, margin }
    }

    /// A plane with its margins.
    #[inline(always)]
    pub fn with_margins(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride..][..self.stride]
    }

    /// The words of a plane.
    #[inline(always)]
    pub fn plane(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride + self.margin..][..self.stride - 2 * self.margin]
    }

    /// The words of a plane, to be changed.
    #[inline(always)]
    pub fn plane_mut(&mut self, plane: usize) -> &mut [u64] {
        let (stride, margin) = (self.stride, self.margin);
        &mut self.words[plane * stride + margin..][..stride - 2 * margin]
    }

    /// So many planes from one on, each with its margins.
    #[inline(always)]
    pub fn several(&self, first: usize, count: usize) -> &[u64] {
        &self.words[first * self.stride..][..count * self.stride]
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn several_mut(&mut self, first: usize, count: usize) -> &mut [u64] {
        &mut self.words[first * self.stride..][..count * self.stride]
    }

    /// Words of a plane with its margins.
    #[inline(always)]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Words before those of a plane.
    #[inline(always)]
    pub fn margin(&self) -> usize {
        self.margin
    }

    /// The bit of a node, or of a node of another part before or behind.
    #[inline(always)]
    pub fn bit(&self, plane: usize, node: isize) -> bool {
        let place = (self.margin as isize * 64 + node) as usize;
        self.words[plane * self.stride + place / 64] >> (place % 64) & 1 == 1
    }

    /// So many bits from a node on, at most 64.
    #[inline(always)]
    pub fn bits(&self, plane: usize, node: isize, count: usize) -> u64 {
        let place = (self.margin as isize * 64 + node) as usize;
        bits(&self.words[plane * self.stride..][..self.stride], place, count)
    }

    /// Copies the bits of so many nodes of the same plane.
    pub fn copy_bits(&mut self, plane: usize, to: usize, other: &Self, from: usize, nodes: usize) {
        for (first, count) in pieces(nodes) {
            let value = other.bits(plane, (from + first) as isize, count);
            self.set_bits(plane, (to + first) as isize, count, value);
        }
    }

    /// So many words of some planes as a field.
    pub fn archive(
        &mut self,
        field: &'static str,
        planes: Range<usize>,
        words: usize,
        archive: &mut Archive,
    ) -> Result<(), SaveError> {
        let mut all: Vec<u64> =
            planes.clone().flat_map(|plane| &self.plane(plane)[..words]).copied().collect();
        archive.slice(field, &mut all)?;
        for (plane, saved) in planes.zip(all.chunks(words)) {
            self.plane_mut(plane)[..words].copy_from_slice(saved);
        }
        Ok(())
    }

    /// Whether any bit of a plane is set.
    pub fn any(&self, plane: usize) -> bool {
        self.plane(plane).iter().any(|&word| word != 0)
    }

    /// Sets so many bits from a node on, at most 64.
    #[inline(always)]
    pub fn set_bits(&mut self, plane: usize, node: isize, count: usize, value: u64) {
        let place = (self.margin as isize * 64 + node) as usize;
        set_bits(&mut self.words[plane * self.stride..][..self.stride], place, count, value);
    }
}

/// So many bits of words from a place on, at most 64.
#[inline(always)]
pub(super) fn bits(words: &[u64], place: usize, count: usize) -> u64 {
    let (word, shift) = (place / 64, place % 64);
    let mut value = words[word] >> shift;
    if shift + count > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & u64::MAX >> (64 - count)
}

/// Sets so many bits of words from a place on, at most 64.
#[inline(always)]
pub(super) fn set_bits(words: &mut [u64], place: usize, count: usize, value: u64) {
    let (word, shift) = (place / 64, place % 64);
    let mask = u64::MAX >> (64 - count);
    words[word] = words[word] & !(mask << shift) | value << shift;
    if shift + count > 64 {
        words[word + 1] = words[word + 1] & !(mask >> (64 - shift)) | value >> (64 - shift);
    }
}

/// Beginnings and lengths of pieces of at most 64 bits.
#[inline(always)]
pub(super) fn pieces(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(64).map(move |first| (first, (count - first).min(64)))
}

/// The links of one direction: a node's neighbour is a fixed number of nodes ahead, or, across the
/// wrap-around link, another fixed number; in a twisted torus one of several.
#[derive(Clone, Debug)]
pub(super) struct Links {
    direct: Part,
    wrap: Part,
    /// Wrap-around links that lead by other numbers than those of `wrap`.
    more: Vec<Part>,
    /// Words before a plane, if all neighbours are in the words of their nodes.
    within: Option<usize>,
}

#[derive(Clone, Debug)]
struct Part {
    /// Neighbour minus node.
    distance: i32,
    /// From a word of a plane without margins to the first word the neighbours are in.
    ahead: isize,
    /// Nodes with such a neighbour.
    nodes: Vec<u64>,
}

impl Part {
    /// What a vector of words has of them.
    #[inline(always)]
    fn side<V: Vector>(&self, word: usize) -> Side<V> {
        let nodes = V::load(&self.nodes[word..]);
        let bits = (self.distance & 63) as u64;
        Side {
            nodes,
            any: nodes.any(),
            first: word.wrapping_add_signed(self.ahead),
            right: V::splat(bits),
            left: V::splat(64 - bits),
        }
    }
}

/// Of a vector of nodes, those whose neighbours are so many nodes away.
#[derive(Clone, Copy)]
pub(super) struct Side<V> {
    nodes: V,
    any: bool,
    /// The first word their neighbours are in, and how far the words move.
    first: usize,
    right: V,
    left: V,
}

impl<V: Vector> Side<V> {
    /// Moves the bits of the neighbours to the nodes.
    #[inline(always)]
    fn read(&self, plane: &[u64]) -> V {
        if !self.any {
            return V::zero();
        }
        let low = V::load(&plane[self.first..]).shift_right(self.right);
        let high = V::load(&plane[self.first + 1..]).shift_left(self.left);
        (low | high) & self.nodes
    }
}

/// The links of a vector of nodes, through which several planes are looked at.
#[derive(Clone, Copy)]
pub(super) enum Glance<'a, V> {
    /// All neighbours are in the words of their nodes: the place of those, and how far they move to nodes
    /// whose neighbours are ahead, and to others.
    Within { place: usize, right: V, ahead: V, left: V, behind: V },
    /// They are in other words, too.
    Across(Side<V>, Side<V>),
    /// They are by more than two numbers away, from the vector at a word.
    Scattered(&'a Links, usize),
}

impl<V: Vector> Glance<'_, V> {
    /// At every node, the bit of its neighbour in a plane with its margins.
    #[inline(always)]
    pub fn read(&self, plane: &[u64]) -> V {
        match self {
            Self::Within { place, right, ahead, left, behind } => {
                let words = V::load(&plane[*place..]);
                words.shift_right(*right) & *ahead | words.shift_left(*left) & *behind
            }
            Self::Across(direct, wrap) => direct.read(plane) | wrap.read(plane),
            Self::Scattered(links, word) => {
                let all = [&links.direct, &links.wrap].into_iter().chain(&links.more);
                all.fold(V::zero(), |seen, part| seen | part.side::<V>(*word).read(plane))
            }
        }
    }
}

impl Links {
    /// The links of a direction of the whole network, or of a part of it: some of its rows, which
    /// see the rows before and behind them.
    pub fn new(shape: &Shape, direction: Direction, part: Range<usize>, extent: Extent) -> Self {
        let Extent { words, margin } = extent;
        let none = || Part { distance: 0, ahead: margin as isize, nodes: vec![0; words] };
        let mut links = Self { direct: none(), wrap: none(), more: Vec::new(), within: Some(margin) };
        let stride = shape.stride(direction.dimension()) as i32;
        let between_parts = part.len() < shape.nodes() && direction.dimension() + 1 == shape.dimensions();
        for (own, node) in part.enumerate() {
            let Some(other) = shape.neighbour(node as NodeId, direction) else { continue };
            let mut distance = other as i32 - node as i32;
            if between_parts {
                // Rows of other parts follow on, whichever they are.
                distance = if direction.sign() == Sign::Plus { stride } else { -stride };
            }
            let part = links.part_for(distance, stride, none);
            part.distance = distance;
            part.ahead = margin as isize + (distance >> 6) as isize;
            part.nodes[own / 64] |= 1 << (own % 64);
            if (own as isize + distance as isize) >> 6 != (own >> 6) as isize {
                links.within = None;
            }
        }
        links
    }

    /// The links that lead a number of nodes on.
    fn part_for(&mut self, distance: i32, stride: i32, none: impl Fn() -> Part) -> &mut Part {
        if distance.abs() == stride {
            return &mut self.direct;
        }
        if self.wrap.distance == 0 || self.wrap.distance == distance {
            return &mut self.wrap;
        }
        self.within = None;
        let known = self.more.iter().position(|part| part.distance == distance);
        let place = known.unwrap_or(self.more.len());
        if known.is_none() {
            self.more.push(none());
        }
        &mut self.more[place]
    }

    /// The links of the nodes of a vector of words.
    #[inline(always)]
    pub fn glance<V: Vector>(&self, word: usize) -> Glance<'_, V> {
        if !self.more.is_empty() {
            return Glance::Scattered(self, word);
        }
        let Some(margin) = self.within else {
            return Glance::Across(self.direct.side(word), self.wrap.side(word));
        };
        let mut parts = (&self.direct, &self.wrap);
        if self.direct.distance < 0 {
            parts = (parts.1, parts.0);
        }
        Glance::Within {
            place: margin + word,
            right: V::splat(parts.0.distance.unsigned_abs().into()),
            ahead: V::load(&parts.0.nodes[word..]),
            left: V::splat(parts.1.distance.unsigned_abs().into()),
            behind: V::load(&parts.1.nodes[word..]),
        }
    }

    /// At every node of a vector of words, the bit of its neighbour in this direction.
    #[inline(always)]
    pub fn seen<V: Vector>(&self, plane: &[u64], word: usize) -> V {
        self.glance::<V>(word).read(plane)
    }

    /// The neighbour of a node that has one; wrapped around if it is before a part.
    #[inline(always)]
    pub fn neighbour(&self, node: usize) -> usize {
        let leads = |part: &Part| part.nodes[node / 64] >> (node % 64) & 1;
        let mut distance = [self.direct.distance, self.wrap.distance][leads(&self.wrap) as usize];
        if !self.more.is_empty()
            && let Some(part) = self.more.iter().find(|part| leads(part) == 1)
        {
            distance = part.distance;
        }
        node.wrapping_add_signed(distance as isize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planes::vector::Words;

    #[test]
    fn planes_shift_as_the_links_lead() {
        let shapes = [
            Shape::torus(&[5]),
            Shape::torus(&[16, 16]),
            Shape::new(&[7, 40], &[true, false]),
            Shape::torus(&[130, 3]),
            Shape::torus(&[2, 3, 4, 5]),
            Shape::twisted(&[4, 8]),
            Shape::twisted(&[4, 8, 8]),
            Shape::twisted(&[2, 4, 4, 2]),
        ];
        for shape in shapes.map(Result::unwrap) {
            let words = shape.nodes().div_ceil(64).next_multiple_of(8);
            let extent = Extent::new(words, 0);
            let mut planes = Planes::new(3, extent);
            for node in (0..shape.nodes()).filter(|node| node * node % 7 < 3) {
                planes.plane_mut(1)[node / 64] |= 1 << (node % 64);
            }
            let set = |plane: &[u64], node: usize| plane[node / 64] >> (node % 64) & 1 == 1;
            for direction in (0..shape.directions()).map(Direction::from_index) {
                let links = Links::new(&shape, direction, 0..shape.nodes(), extent);
                for node in 0..shape.nodes() {
                    let other = shape.neighbour(node as NodeId, direction);
                    let expected = other.is_some_and(|other| set(planes.plane(1), other as usize));
                    let word = node / 64;
                    let one: Words<1> = links.seen(planes.with_margins(1), word);
                    let eight: Words<8> = links.seen(planes.with_margins(1), word / 8 * 8);
                    let mut seen = [0; 8];
                    one.store(&mut seen);
                    assert_eq!(seen[0] >> (node % 64) & 1 == 1, expected);
                    eight.store(&mut seen);
                    assert_eq!(seen[word % 8] >> (node % 64) & 1 == 1, expected);
                    if let Some(other) = other {
                        assert_eq!(links.neighbour(node), other as usize);
                    }
                }
            }
        }
    }
}
