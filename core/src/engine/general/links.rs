//! What routers see of their neighbours, as shifts of whole planes.

use super::halo::{Halo, place_of};
use crate::{
    bits::{Extent, Vector},
    fabric::{Direction, NodeId, Shape},
};
use std::ops::Range;

/// The links of one direction: a node's neighbour is a fixed number of nodes ahead, or, across the
/// wrap-around link, another fixed number; in a twisted torus one of several.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// Within the words of their nodes, `direct` leads ahead and `wrap` back.
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
    pub(super) fn read(&self, plane: &[u64]) -> V {
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
    /// see rows of other parts where their halos are.
    pub(super) fn new(
        shape: &Shape,
        direction: Direction,
        part: Range<usize>,
        halos: &[Halo],
        extent: Extent,
    ) -> Self {
        let Extent { words, margin, .. } = extent;
        let none = || Part { distance: 0, ahead: margin as isize, nodes: vec![0; words] };
        let mut links = Self { direct: none(), wrap: none(), more: Vec::new(), within: Some(margin) };
        let dimension = shape.dimension_of(direction);
        let stride = (shape.stride(dimension) * shape.step_of(direction)) as i32;
        for (own, node) in part.clone().enumerate() {
            let Some(other) = shape.neighbour(node as NodeId, direction) else { continue };
            let place = place_of(other as usize, own, direction, &part, halos);
            let distance = place as i32 - own as i32;
            let part = links.part_for(distance, stride, none);
            part.distance = distance;
            part.ahead = margin as isize + (distance >> 6) as isize;
            part.nodes[own / 64] |= 1 << (own % 64);
            if (own as isize + distance as isize) >> 6 != (own >> 6) as isize {
                links.within = None;
            }
        }
        if links.direct.distance < 0 || links.wrap.distance > 0 {
            std::mem::swap(&mut links.direct, &mut links.wrap);
        }
        if links.direct.distance < 0 || links.wrap.distance > 0 {
            // Both lead the same way.
            links.within = None;
        }
        links
    }

    /// The links that lead a number of nodes on.
    fn part_for(&mut self, distance: i32, stride: i32, none: impl Fn() -> Part) -> &mut Part {
        if distance.abs() == stride && (self.direct.distance == 0 || self.direct.distance == distance) {
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
    pub(super) fn glance<V: Vector>(&self, word: usize) -> Glance<'_, V> {
        if !self.more.is_empty() {
            return Glance::Scattered(self, word);
        }
        let Some(margin) = self.within else {
            return Glance::Across(self.direct.side(word), self.wrap.side(word));
        };
        Glance::Within {
            place: margin + word,
            right: V::splat(self.direct.distance.unsigned_abs().into()),
            ahead: V::load(&self.direct.nodes[word..]),
            left: V::splat(self.wrap.distance.unsigned_abs().into()),
            behind: V::load(&self.wrap.nodes[word..]),
        }
    }

    /// At every node of a vector of words, the bit of its neighbour in this direction.
    #[inline(always)]
    pub(super) fn seen<V: Vector>(&self, plane: &[u64], word: usize) -> V {
        self.glance::<V>(word).read(plane)
    }

    /// The neighbour of a node that has one; wrapped around if it is before a part.
    #[inline(always)]
    pub(super) fn neighbour(&self, node: usize) -> usize {
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
    use crate::{
        bits::{Planes, Words},
        fabric::{Factor, Steps},
    };

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
            Shape::product(&[Factor::Full(8), Factor::Full(9)]),
            Shape::product(&[Factor::Ring(5), Factor::Full(6), Factor::Line(3)]),
            Shape::product(&[Factor::Line(70), Factor::Full(5)]),
            Shape::product(&[Factor::Circulant(70, Steps::ascending([1, 9])), Factor::Ring(4)]),
            Shape::product(&[Factor::Line(3), Factor::Circulant(40, Steps::ascending([3, 8, 20]))]),
        ];
        for shape in shapes.map(Result::unwrap) {
            let words = shape.nodes().div_ceil(64).next_multiple_of(8);
            let extent = Extent::new(words, [0, 0]);
            let mut planes = Planes::new(3, extent);
            for node in (0..shape.nodes()).filter(|node| node * node % 7 < 3) {
                planes.plane_mut(1)[node / 64] |= 1 << (node % 64);
            }
            let set = |plane: &[u64], node: usize| plane[node / 64] >> (node % 64) & 1 == 1;
            for direction in (0..shape.directions()).map(Direction::from_index) {
                let links = Links::new(&shape, direction, 0..shape.nodes(), &[], extent);
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
