//! Where each router has its bit: an LX x LY grid of lanes, each lane owning a tile of the network.
//!
//! A block is the same tile position of all lanes. A neighbour is in the next block at the same bit,
//! or, at a tile's edge, in the first block one lane further: a rotation of the bits.

use super::vector::Vector;
use crate::{
    fabric::{NodeId, Shape},
    routing::{Datelines, Line},
};

/// One dimension cut into lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Routers along the dimension.
    pub size: u32,
    /// Lanes along the dimension, a power of two.
    pub lanes: u32,
    /// Whether it has wrap-around links.
    pub wraps: bool,
}

impl Axis {
    /// Routers of one lane along the dimension.
    pub fn tile(&self) -> u32 {
        self.size >> self.lanes.trailing_zeros()
    }

    /// Bits of a coordinate.
    pub fn bits(&self) -> usize {
        (32 - (self.size - 1).leading_zeros()) as usize
    }

    /// Whether the link between coordinate `upper - 1` and `upper` crosses a dateline.
    fn dateline_below(&self, upper: u32) -> bool {
        self.wraps && Datelines::BOTH.at(Line::below(self.size, upper)).ever()
    }
}

/// The place of every router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
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
    pub fn new(shape: &Shape, bits: usize, copies: usize) -> Self {
        let axis = |dimension: usize| {
            let inside = dimension < shape.dimensions();
            let size = if inside { shape.size(dimension) } else { 1 };
            let lanes = (1 << size.trailing_zeros()).min(64);
            Axis { size, lanes, wraps: inside && shape.wraps(dimension) }
        };
        let (mut x, mut y) = (axis(0), axis(1));
        let bits = bits as u32;
        // Where rows of blocks are swept, shorter ones stay longer in a cache.
        let swept = shape.nodes() >= super::machine::SWEPT;
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
    pub fn lanes(&self) -> u32 {
        self.x.lanes * self.y.lanes * self.copies
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        (self.x.tile() * self.y.tile()) as usize
    }

    /// Routers of one network.
    pub fn nodes(&self) -> usize {
        (self.x.size * self.y.size) as usize
    }

    /// Words of a vector that belong to one network.
    pub fn words_per_copy(&self) -> usize {
        if self.copies == 1 { self.bits as usize / 64 } else { (self.x.lanes * self.y.lanes / 64) as usize }
    }

    /// The bit of a router, counted over all blocks: `block * bits + lane`.
    pub fn place(&self, copy: usize, node: NodeId) -> u32 {
        let (x, y) = (node % self.x.size, node / self.x.size);
        let block = (y % self.y.tile()) * self.x.tile() + x % self.x.tile();
        let lane = (copy as u32 * self.y.lanes + y / self.y.tile()) * self.x.lanes + x / self.x.tile();
        block * self.bits + lane
    }
}

/// A router of one of several copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
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
    pub fn node(self, tiling: &Tiling) -> NodeId {
        self.y * tiling.x.size + self.x
    }
}

impl Tiling {
    /// Bits of a block.
    pub fn bits_of_block(&self) -> usize {
        self.bits as usize
    }

    /// Bits of a row of blocks.
    pub fn bits_of_row(&self) -> usize {
        (self.x.tile() * self.bits) as usize
    }

    /// The router of a lane of a block.
    #[inline(always)]
    pub fn router_at(&self, column: u32, row: u32, lane: u32) -> Router {
        // Numbers of lanes are powers of two.
        let (x_bits, y_bits) = (self.x.lanes.trailing_zeros(), self.y.lanes.trailing_zeros());
        let (lane_x, lane) = (lane & (self.x.lanes - 1), lane >> x_bits);
        let (lane_y, copy) = (lane & (self.y.lanes - 1), lane >> y_bits);
        Router { copy, x: lane_x * self.x.tile() + column, y: lane_y * self.y.tile() + row }
    }
}

/// Bits moved by one lane along one dimension, cyclically.
#[derive(Clone, Copy)]
pub struct Rotation<V: Vector> {
    main: V,
    carry: V,
    /// Where the main shift's bits are taken; elsewhere the carried ones.
    keep: V,
    order: V::Order,
    down: bool,
    /// Bits go from word to word.
    across: bool,
}

impl<V: Vector> Rotation<V> {
    /// Moves bits to the next lane along x, or to the previous one.
    pub fn along_x(tiling: &Tiling, down: bool) -> Self {
        Self::inside_words(1, tiling.x.lanes, down)
    }

    /// Moves bits to the next lane along y, or to the previous one.
    pub fn along_y(tiling: &Tiling, down: bool) -> Self {
        let (row, group) = (tiling.x.lanes, tiling.x.lanes * tiling.y.lanes);
        if group <= 64 {
            return Self::inside_words(row, group, down);
        }
        let words = (group / 64) as usize;
        let order = V::order(|word| {
            let (base, word) = (word / words * words, word % words);
            base + if down { (word + 1) % words } else { (word + words - 1) % words }
        });
        Self::by(row, 64 - row, u64::MAX, order, down, true)
    }

    /// Rotates groups of `group` bits by `step`.
    fn inside_words(step: u32, group: u32, down: bool) -> Self {
        let kept = |bit: u32| if down { bit % group < group - step } else { bit % group >= step };
        let keep = (0..64).filter(|&bit| kept(bit)).fold(0, |mask, bit| mask | 1_u64 << bit);
        Self::by(step, group - step, keep, V::order(|word| word), down, false)
    }

    fn by(main: u32, carry: u32, keep: u64, order: V::Order, down: bool, across: bool) -> Self {
        let counts = |count: u32| V::splat(count.into());
        Self { main: counts(main), carry: counts(carry), keep: V::splat(keep), order, down, across }
    }

    /// The moved bits.
    #[inline(always)]
    pub fn apply(&self, source: V) -> V {
        match (self.across, self.down) {
            (false, false) => self.keep.select(source.shift_left(self.main), source.shift_right(self.carry)),
            (false, true) => self.keep.select(source.shift_right(self.main), source.shift_left(self.carry)),
            (true, false) => {
                source.shift_left(self.main) | source.permute(self.order).shift_right(self.carry)
            }
            (true, true) => source.shift_right(self.main) | source.permute(self.order).shift_left(self.carry),
        }
    }
}

/// What every router of one tile column (or row) knows of its own place, as planes.
#[derive(Clone, Debug)]
pub struct Position<V> {
    /// The link to the coordinate below crosses a dateline.
    pub below: V,
    /// The link to the coordinate above crosses a dateline.
    pub above: V,
    /// Own coordinate, lowest bit first.
    pub coordinate: Vec<V>,
}

/// The positions of all tile columns.
pub fn columns<V: Vector>(tiling: &Tiling) -> Vec<Position<V>> {
    positions(&tiling.x, |lane| lane % tiling.x.lanes)
}

/// The positions of all tile rows.
pub fn rows<V: Vector>(tiling: &Tiling) -> Vec<Position<V>> {
    positions(&tiling.y, |lane| lane / tiling.x.lanes % tiling.y.lanes)
}

fn positions<V: Vector>(axis: &Axis, lane_of: impl Fn(u32) -> u32) -> Vec<Position<V>> {
    (0..axis.tile())
        .map(|offset| {
            let plane = |holds: &dyn Fn(u32) -> bool| {
                let mut plane = [V::zero()];
                for lane in 0..V::BITS as u32 {
                    let bit = u64::from(holds(lane_of(lane) * axis.tile() + offset));
                    super::vector::words_mut(&mut plane)[lane as usize / 64] |= bit << (lane % 64);
                }
                plane[0]
            };
            Position {
                below: plane(&|coordinate| axis.dateline_below(coordinate)),
                above: plane(&|coordinate| axis.dateline_below((coordinate + 1) % axis.size)),
                coordinate: (0..axis.bits())
                    .map(|bit| plane(&|coordinate| coordinate >> bit & 1 == 1))
                    .collect(),
            }
        })
        .collect()
}
