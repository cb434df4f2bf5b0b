//! Meshes of one or two dimensions with dimension order.

use super::{matching::PORTS, records::NODE};

/// The output by whether x is above and below, then y.
const TOWARDS: [u8; 16] = {
    let mut towards = [NODE as u8; 16];
    let mut at = 1;
    while at < 16 {
        towards[at] = at.trailing_zeros() as u8;
        at += 1;
    }
    towards
};

/// Where nodes are.
#[derive(Clone)]
pub(super) struct Mesh {
    /// Nodes in a line along the first dimension.
    pub radix: usize,
    /// By node its coordinates.
    places: Vec<(u8, u8)>,
}

impl Mesh {
    /// So many nodes in lines of so many.
    pub(super) fn new(nodes: usize, radix: usize) -> Self {
        let places = (0..nodes).map(|node| ((node % radix) as u8, (node / radix) as u8)).collect();
        Self { radix, places }
    }

    /// By output of a router the node at the other end, and the input there; the last leads to the router's own node.
    pub(super) fn beside(&self, node: usize) -> [(usize, usize); PORTS - 1] {
        let (nodes, radix) = (self.places.len() as isize, self.radix as isize);
        [(1, 1), (-1, 0), (radix, 3), (-radix, 2)]
            .map(|(step, port)| ((node as isize + step).rem_euclid(nodes) as usize, port))
    }

    /// Routers on the way from one to another, with both.
    pub(super) fn routers_between(&self, from: usize, to: usize) -> u16 {
        let ((x, y), (to_x, to_y)) = (self.places[from], self.places[to]);
        u16::from(x.abs_diff(to_x)) + u16::from(y.abs_diff(to_y)) + 1
    }

    /// The output by which a packet leaves a router.
    #[inline(always)]
    pub(super) fn output(&self, router: usize, to: usize) -> usize {
        let ((x, y), (to_x, to_y)) = (self.places[router], self.places[to]);
        let towards = usize::from(to_x > x)
            | usize::from(to_x < x) << 1
            | usize::from(to_y > y) << 2
            | usize::from(to_y < y) << 3;
        usize::from(TOWARDS[towards])
    }
}
