//! What routers see of their neighbours, as shifts of whole planes.

use crate::{
    engine::planes::vector::Vector,
    fabric::{Direction, NodeId, Shape},
};

/// Words of zeros before and behind a plane, so that a shift may read beyond its ends.
pub(super) const MARGIN: usize = 10;

/// Planes over the whole network, one bit per node.
#[derive(Clone, Debug)]
pub(super) struct Planes {
    words: Vec<u64>,
    stride: usize,
}

impl Planes {
    /// So many planes of so many words.
    pub fn new(planes: usize, words: usize) -> Self {
        let stride = words + 2 * MARGIN;
        Self { words: vec![0; planes * stride], stride }
    }

    /// A plane with its margins.
    #[inline(always)]
    pub fn with_margins(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride..][..self.stride]
    }

    /// The words of a plane.
    #[inline(always)]
    pub fn plane(&self, plane: usize) -> &[u64] {
        &self.words[plane * self.stride + MARGIN..][..self.stride - 2 * MARGIN]
    }

    /// The words of a plane, to be changed.
    #[inline(always)]
    pub fn plane_mut(&mut self, plane: usize) -> &mut [u64] {
        let stride = self.stride;
        &mut self.words[plane * stride + MARGIN..][..stride - 2 * MARGIN]
    }
}

/// The links of one direction: a node's neighbour is a fixed number of nodes ahead, or, across the
/// wrap-around link, another fixed number.
#[derive(Clone, Debug)]
pub(super) struct Links {
    direct: Part,
    wrap: Part,
}

#[derive(Clone, Debug)]
struct Part {
    /// Neighbour minus node.
    distance: i32,
    /// Nodes with such a neighbour.
    nodes: Vec<u64>,
}

impl Part {
    /// Moves the bits of the neighbours to the nodes.
    #[inline(always)]
    fn read<V: Vector>(&self, plane: &[u64], word: usize) -> V {
        let nodes = V::load(&self.nodes[word..]);
        if !nodes.any() {
            return V::zero();
        }
        let bits = (self.distance & 63) as u64;
        let first = (word + MARGIN).wrapping_add_signed((self.distance >> 6) as isize);
        let low = V::load(&plane[first..]).shift_right(V::splat(bits));
        let high = V::load(&plane[first + 1..]).shift_left(V::splat(64 - bits));
        (low | high) & nodes
    }
}

impl Links {
    /// The links of a direction, in planes of so many words.
    pub fn new(shape: &Shape, direction: Direction, words: usize) -> Self {
        let none = || Part { distance: 0, nodes: vec![0; words] };
        let mut links = Self { direct: none(), wrap: none() };
        for node in 0..shape.nodes() as NodeId {
            let Some(other) = shape.neighbour(node, direction) else { continue };
            let distance = other as i32 - node as i32;
            let ahead = distance.unsigned_abs() == shape.stride(direction.dimension());
            let part = if ahead { &mut links.direct } else { &mut links.wrap };
            part.distance = distance;
            part.nodes[node as usize / 64] |= 1 << (node % 64);
        }
        links
    }

    /// At every node of a vector of words, the bit of its neighbour in this direction.
    #[inline(always)]
    pub fn seen<V: Vector>(&self, plane: &[u64], word: usize) -> V {
        self.direct.read::<V>(plane, word) | self.wrap.read::<V>(plane, word)
    }

    /// Of the nodes of a word, those whose link wraps around.
    #[inline(always)]
    pub fn wrapping(&self, word: usize) -> u64 {
        self.wrap.nodes[word]
    }

    /// From a node to its neighbour, without and with wrapping around.
    #[inline(always)]
    pub fn distances(&self) -> [i32; 2] {
        [self.direct.distance, self.wrap.distance]
    }

    /// The neighbour of a node that has one.
    pub fn neighbour(&self, node: usize) -> usize {
        let wraps = self.wrap.nodes[node / 64] >> (node % 64) & 1;
        node.wrapping_add_signed(self.distances()[wraps as usize] as isize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::planes::vector::Words;

    #[test]
    fn planes_shift_as_the_links_lead() {
        for (sizes, wraps) in [
            (vec![5], vec![true]),
            (vec![16, 16], vec![true, true]),
            (vec![7, 40], vec![true, false]),
            (vec![130, 3], vec![true, true]),
            (vec![2, 3, 4, 5], vec![true; 4]),
        ] {
            let shape = Shape::new(&sizes, &wraps).unwrap();
            let words = shape.nodes().div_ceil(64).next_multiple_of(8);
            let mut planes = Planes::new(3, words);
            for node in (0..shape.nodes()).filter(|node| node * node % 7 < 3) {
                planes.plane_mut(1)[node / 64] |= 1 << (node % 64);
            }
            let set = |plane: &[u64], node: usize| plane[node / 64] >> (node % 64) & 1 == 1;
            for direction in (0..shape.directions()).map(Direction::from_index) {
                let links = Links::new(&shape, direction, words);
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
