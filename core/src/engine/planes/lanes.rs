//! Where each router has its bit: an LX x LY grid of lanes, each lane owning a tile of the network.
//!
//! A block is the same tile position of all lanes. A neighbour is in the next block at the same bit,
//! or, at a tile's edge, in the first block one lane further: a rotation of the bits.

use crate::{
    bits::{Vector, words_mut},
    fabric::{NodeId, Shape, Ties},
    routing::{Came, Datelines, Line},
};

/// Routers from which on a thread alone sends and receives row by row, since all of them are in no cache.
pub(super) const SWEPT: usize = 1 << 19;

/// One dimension cut into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Routers along the dimension.
    pub size: u32,
    /// Lanes along the dimension, a power of two.
    pub lanes: u32,
    /// Whether it has wrap-around links.
    pub wraps: bool,
    /// Which way packets go to the opposite place of a ring.
    pub ties: Ties,
}

impl Axis {
    /// Routers of one lane along the dimension.
    pub(super) fn tile(&self) -> u32 {
        self.size >> self.lanes.trailing_zeros()
    }

    /// Bits of a coordinate.
    pub(super) fn bits(&self) -> usize {
        (32 - (self.size - 1).leading_zeros()) as usize
    }

    /// Whether the link between coordinate `upper - 1` and `upper` crosses a dateline that counts.
    fn dateline_below(&self, upper: u32, datelines: Datelines) -> bool {
        self.wraps && datelines.at(Line::below(self.size, upper)).on(Came::Underway)
    }
}

/// The place of every router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Along x.
    pub x: Axis,
    /// Along y; of size 1 in one dimension.
    pub y: Axis,
    /// Independent networks side by side in one vector.
    pub copies: u32,
    /// Bits of a vector.
    bits: u32,
}

impl Tiling {
    /// The tiling of a shape of one or two dimensions for vectors of `bits`, with up to `copies`
    /// networks side by side as far as they fit.
    pub(super) fn new(shape: &Shape, bits: usize, copies: usize) -> Self {
        let axis = |dimension: usize| {
            let inside = dimension < shape.dimensions();
            let size = if inside { shape.size(dimension) } else { 1 };
            let lanes = (1 << size.trailing_zeros()).min(64);
            Axis { size, lanes, wraps: inside && shape.wraps(dimension), ties: shape.ties() }
        };
        let (mut x, mut y) = (axis(0), axis(1));
        let bits = bits as u32;
        // Where rows of blocks are swept, shorter ones stay longer in a cache.
        let swept = shape.nodes() >= SWEPT;
        while x.lanes * y.lanes > bits {
            // Square tiles have the fewest edges.
            let longer =
                if x.lanes == 1 || (y.lanes > 1 && (swept || y.tile() < x.tile())) { &mut y } else { &mut x };
            longer.lanes /= 2;
        }
        // Networks side by side have whole words of their own.
        let group = x.lanes * y.lanes;
        let copies = if group < 64 { 1 } else { (bits / group).min(copies as u32).max(1) };
        Self { x, y, copies, bits }
    }

    /// Lanes that hold routers.
    pub(super) fn lanes(&self) -> u32 {
        self.x.lanes * self.y.lanes * self.copies
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        (self.x.tile() * self.y.tile()) as usize
    }

    /// Routers of one network.
    pub(super) fn nodes(&self) -> usize {
        (self.x.size * self.y.size) as usize
    }

    /// Words of a vector that belong to one network.
    pub(super) fn words_per_copy(&self) -> usize {
        if self.copies == 1 { self.bits as usize / 64 } else { (self.x.lanes * self.y.lanes / 64) as usize }
    }

    /// The bit of a router, counted over all blocks: `block * bits + lane`.
    pub(super) fn place(&self, copy: usize, node: NodeId) -> u32 {
        let (x, y) = (node % self.x.size, node / self.x.size);
        let block = (y % self.y.tile()) * self.x.tile() + x % self.x.tile();
        let lane = (copy as u32 * self.y.lanes + y / self.y.tile()) * self.x.lanes + x / self.x.tile();
        block * self.bits + lane
    }
}

/// A router of one of several copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Router {
    /// Its copy.
    pub copy: u32,
    /// Its coordinates.
    pub x: u32,
    /// See `x`.
    pub y: u32,
}

impl Router {
    /// Its number in its copy.
    #[inline(always)]
    pub(super) fn node(self, tiling: &Tiling) -> NodeId {
        self.y * tiling.x.size + self.x
    }
}

impl Tiling {
    /// Bits of a block.
    pub(super) fn bits_of_block(&self) -> usize {
        self.bits as usize
    }

    /// Bits of a row of blocks.
    pub(super) fn bits_of_row(&self) -> usize {
        (self.x.tile() * self.bits) as usize
    }

    /// The router of a lane of a block.
    #[inline(always)]
    pub(super) fn router_at(&self, column: u32, row: u32, lane: u32) -> Router {
        // Numbers of lanes are powers of two.
        let (x_bits, y_bits) = (self.x.lanes.trailing_zeros(), self.y.lanes.trailing_zeros());
        let (lane_x, lane) = (lane & (self.x.lanes - 1), lane >> x_bits);
        let (lane_y, copy) = (lane & (self.y.lanes - 1), lane >> y_bits);
        Router { copy, x: lane_x * self.x.tile() + column, y: lane_y * self.y.tile() + row }
    }
}

/// How bits move by one lane along one dimension, cyclically.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Inside words.
    Inside,
    /// From word to word as well.
    Across,
    /// By whole groups of 16 bits.
    Groups,
}

/// Bits moved by one lane along one dimension, cyclically.
#[derive(Clone, Copy)]
pub(super) struct Rotation<V: Vector> {
    main: V,
    carry: V,
    /// Where the main shift's bits are taken; elsewhere the carried ones. Of groups, whence they come.
    keep: V,
    order: V::Order,
    down: bool,
    way: Way,
}

impl<V: Vector> Rotation<V> {
    /// Moves bits to the next lane along x, or to the previous one.
    pub(super) fn along_x(tiling: &Tiling, down: bool) -> Self {
        Self::inside_words(1, tiling.x.lanes, down)
    }

    /// Moves bits to the next lane along y, or to the previous one.
    pub(super) fn along_y(tiling: &Tiling, down: bool) -> Self {
        let (row, group) = (tiling.x.lanes, tiling.x.lanes * tiling.y.lanes);
        if V::MOVES_GROUPS && row.is_multiple_of(16) {
            return Self::of_groups((row / 16) as usize, (group / 16) as usize, down);
        }
        if group <= 64 {
            return Self::inside_words(row, group, down);
        }
        let order = V::order(|word| turned(word, 1, (group / 64) as usize, down));
        Self::by(row, 64 - row, V::ones(), order, down, Way::Across)
    }

    /// Rotates as many groups of 16 bits by `step`.
    fn of_groups(step: usize, groups: usize, down: bool) -> Self {
        let mut from = [V::zero()];
        for number in 0..V::BITS / 16 {
            let source = turned(number, step, groups, down) as u64;
            words_mut(&mut from)[number / 4] |= source << (16 * (number % 4));
        }
        Self::by(0, 0, from[0], V::order(|word| word), down, Way::Groups)
    }

    /// Rotates groups of `group` bits by `step`.
    fn inside_words(step: u32, group: u32, down: bool) -> Self {
        let kept = |bit: u32| if down { bit % group < group - step } else { bit % group >= step };
        let keep = (0..64).filter(|&bit| kept(bit)).fold(0, |mask, bit| mask | 1_u64 << bit);
        Self::by(step, group - step, V::splat(keep), V::order(|word| word), down, Way::Inside)
    }

    fn by(main: u32, carry: u32, keep: V, order: V::Order, down: bool, way: Way) -> Self {
        let counts = |count: u32| V::splat(count.into());
        Self { main: counts(main), carry: counts(carry), keep, order, down, way }
    }

    /// The rotations of the papers' network, which move 16 lanes in x and as many in y; as they are, but the
    /// compiler knows in what way.
    #[inline(always)]
    pub(super) fn usual(all: &[Self; 4]) -> [Self; 4] {
        let along_y = if V::MOVES_GROUPS { Way::Groups } else { Way::Across };
        let [x_up, x_down, y_up, y_down] = *all;
        [
            Self { down: false, way: Way::Inside, ..x_up },
            Self { down: true, way: Way::Inside, ..x_down },
            Self { down: false, way: along_y, ..y_up },
            Self { down: true, way: along_y, ..y_down },
        ]
    }

    /// The moved bits.
    #[inline(always)]
    pub(super) fn apply(&self, source: V) -> V {
        match (self.way, self.down) {
            (Way::Inside, false) => {
                self.keep.select(source.shift_left(self.main), source.shift_right(self.carry))
            }
            (Way::Inside, true) => {
                self.keep.select(source.shift_right(self.main), source.shift_left(self.carry))
            }
            (Way::Across, false) => {
                source.shift_left(self.main) | source.permute(self.order).shift_right(self.carry)
            }
            (Way::Across, true) => {
                source.shift_right(self.main) | source.permute(self.order).shift_left(self.carry)
            }
            (Way::Groups, _) => source.move_groups(self.keep),
        }
    }
}

/// Whence element `number` comes when every `cycle` of them are turned by `step`.
fn turned(number: usize, step: usize, cycle: usize, down: bool) -> usize {
    let (base, number) = (number / cycle * cycle, number % cycle);
    base + (number + if down { step } else { cycle - step }) % cycle
}

/// What every router of one tile column (or row) knows of its own place, as planes.
#[derive(Clone, Debug)]
pub(super) struct Position<V> {
    /// The link to the coordinate below crosses a dateline.
    pub below: V,
    /// The link to the coordinate above crosses a dateline.
    pub above: V,
    /// Own coordinate, lowest bit first.
    pub coordinate: Vec<V>,
}

/// The positions of all tile columns.
pub(super) fn columns<V: Vector>(tiling: &Tiling, datelines: Datelines) -> Vec<Position<V>> {
    positions(&tiling.x, datelines, |lane| lane % tiling.x.lanes)
}

/// The positions of all tile rows.
pub(super) fn rows<V: Vector>(tiling: &Tiling, datelines: Datelines) -> Vec<Position<V>> {
    positions(&tiling.y, datelines, |lane| lane / tiling.x.lanes % tiling.y.lanes)
}

fn positions<V: Vector>(axis: &Axis, datelines: Datelines, lane_of: impl Fn(u32) -> u32) -> Vec<Position<V>> {
    (0..axis.tile())
        .map(|offset| {
            let plane = |holds: &dyn Fn(u32) -> bool| {
                let mut plane = [V::zero()];
                for lane in 0..V::BITS as u32 {
                    let bit = u64::from(holds(lane_of(lane) * axis.tile() + offset));
                    words_mut(&mut plane)[lane as usize / 64] |= bit << (lane % 64);
                }
                plane[0]
            };
            Position {
                below: plane(&|coordinate| axis.dateline_below(coordinate, datelines)),
                above: plane(&|coordinate| axis.dateline_below((coordinate + 1) % axis.size, datelines)),
                coordinate: (0..axis.bits())
                    .map(|bit| plane(&|coordinate| coordinate >> bit & 1 == 1))
                    .collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn lanes_are_the_bits_of_a_vector_that_hold_routers() {
        let cases: [(&[u32], usize, usize); 6] = [
            (&[8, 8], 64, 1),
            (&[12, 6], 256, 2),
            (&[16, 16], 512, 3),
            (&[8, 8], 512, 5),
            (&[10], 64, 1),
            (&[32, 4], 512, 9),
        ];
        for (sizes, bits, copies) in cases {
            let shape = Shape::torus(sizes).unwrap();
            let tiling = Tiling::new(&shape, bits, copies);
            let nodes = 0..shape.nodes() as NodeId;
            let used: HashSet<u32> = (0..tiling.copies as usize)
                .flat_map(|copy| nodes.clone().map(move |node| (copy, node)))
                .map(|(copy, node)| tiling.place(copy, node) % bits as u32)
                .collect();
            assert_eq!(tiling.lanes() as usize, used.len(), "{sizes:?} in {bits} bits");
        }
    }
}
