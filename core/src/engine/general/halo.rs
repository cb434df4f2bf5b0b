//! Where a part of the network ends.

use super::layout::Layout;

/// What a part sees of a row of another part: before its own rows (side 0) or behind them (1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Halo {
    pub side: usize,
    pub row: usize,
    /// Port that leads across, and the port of the others that leads here.
    pub out: usize,
    pub back: usize,
    /// First node of the own row at the edge, and of the others' row.
    pub own: isize,
    pub others: isize,
}

impl Layout {
    /// The halo a direction leads into, if there is one.
    #[inline(always)]
    pub(super) fn halo_of(&self, direction: usize) -> Option<Halo> {
        self.halos().find(|halo| halo.out == direction)
    }

    /// The borders there are.
    pub(super) fn halos(&self) -> impl Iterator<Item = Halo> + use<> {
        let row = self.row.unwrap_or(0);
        let last = self.shape.dimensions() - 1;
        let (plus, minus) = (2 * last, 2 * last + 1);
        let round = self.shape.wraps(last);
        let (nodes, end) = (self.nodes as isize, self.first + self.nodes);
        let before = Halo { side: 0, row, out: minus, back: plus, own: 0, others: -(row as isize) };
        let behind = Halo { side: 1, row, out: plus, back: minus, own: nodes - row as isize, others: nodes };
        let some = [
            (row > 0 && (round || self.first > 0)).then_some(before),
            (row > 0 && (round || end < self.shape.nodes())).then_some(behind),
        ];
        some.into_iter().flatten()
    }
}
