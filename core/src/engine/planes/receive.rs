//! What comes over the links of one block of routers in a cycle.
//!
//! On a link that crosses a dateline labels go one up, and the last one, which only packets have that do not rise there,
//! stands for channel 0.

// Queues are numbered across several arrays.
#![allow(clippy::needless_range_loop)]

use super::{
    block::{Block, Full, LINK_QUEUES, LinkRow, MAX_HEADERS, Widths, X_QUEUES, XRow, Y_QUEUES, YRow},
    cycle::{More, each},
    lanes::{Position, Rotation},
};
use crate::bits::{Vector, count_up};

/// The planes of a block that [`receive_x`] and [`receive_y`] change.
pub(super) struct Receiver<'a, V, const K: usize> {
    /// Planes of fixed number.
    pub block: &'a mut Block<V, K>,
    /// Data of the first headers of X queues.
    pub x_rows: &'a mut [XRow<V>],
    /// Data of the first headers of Y queues.
    pub y_rows: &'a mut [YRow<V>],
    /// Further headers.
    pub more: More<'a, V>,
    /// Which queues are full.
    pub full: &'a mut Full<V>,
}

/// Where a queue keeps the header that comes: in its first slot, unless that is in use. Further
/// slots are filled by `further`, called with their index.
#[inline(always)]
fn slots_for<V: Vector>(
    comes: V,
    queue: usize,
    used: &mut [[V; LINK_QUEUES]],
    further: &mut [V; MAX_HEADERS as usize],
) -> V {
    if used.is_empty() {
        return comes;
    }
    let mut free_before = V::ones();
    for (index, row) in used.iter_mut().enumerate() {
        let here = comes & free_before & !row[queue];
        free_before = row[queue];
        row[queue] = row[queue] | here;
        further[index] = here;
    }
    further[0]
}

/// What comes over the links of one dimension, from below (travelling plus) and from above.
pub(super) struct Incoming<'a, V: Vector, const N: usize> {
    /// Labels and "is a header".
    pub flits: [&'a [V; N]; 2],
    /// Header data.
    pub data: [&'a [LinkRow<V>]; 2],
    /// How bits move by a lane, where a tile ends.
    pub rotations: [Option<&'a Rotation<V>>; 2],
}

impl<V: Vector, const N: usize> Incoming<'_, V, N> {
    #[inline(always)]
    fn moved(&self, way: usize, plane: V) -> V {
        match self.rotations[way] {
            None => plane,
            Some(rotation) => rotation.apply(plane),
        }
    }
}

/// What comes over the x links.
#[inline(always)]
pub(super) fn receive_x<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    incoming: &Incoming<'_, V, 3>,
    column: &Position<V>,
    row: &Position<V>,
    widths: Widths,
) {
    let Receiver { block, x_rows, more, full, .. } = receiver;
    let mut further = [[V::zero(); MAX_HEADERS as usize]; X_QUEUES];
    let mut first = [V::zero(); X_QUEUES];
    each!(D in [0, 1] {
        let crossed = if D == 0 { column.below } else { column.above };
        let [zero, one, is_head] = *incoming.flits[D];
        let (zero, one) = (incoming.moved(D, zero), incoming.moved(D, one));
        let is_head = incoming.moved(D, is_head);
        let comes = [crossed.select(one, zero), crossed.select(zero, one)];
        each!(C in [0, 1] {
            let queue = 2 * D + C;
            first[queue] = slots_for(comes[C] & is_head, queue, more.used, &mut further[queue]);
            let occupancy = &mut block.occupancy[queue][..widths.occupancy];
            count_up(&mut *occupancy, comes[C]);
            full.x[D][C] = occupancy[widths.occupancy - 1];
        });
    });
    // One pass over the data: keep it, and compare it with the own coordinates.
    let (mut turns, mut arrives) = ([V::ones(); 2], [V::ones(); 2]);
    let rows = x_rows.iter_mut().zip(incoming.data[0]).zip(incoming.data[1]);
    for (bit, ((row_of, plus), minus)) in rows.enumerate() {
        let data = [incoming.moved(0, plus[0]), incoming.moved(1, minus[1])];
        each!(X in [0, 1, 2, 3] {
            row_of[X] = first[X].select(data[X / 2], row_of[X]);
        });
        if bit > widths.x {
            if let Some(&own) = row.coordinate.get(bit - widths.x - 1) {
                arrives = [arrives[0] & !(data[0] ^ own), arrives[1] & !(data[1] ^ own)];
            }
        } else if bit > 0 {
            let own = column.coordinate[bit - 1];
            turns = [turns[0] & !(data[0] ^ own), turns[1] & !(data[1] ^ own)];
        }
    }
    each!(X in [0, 1, 2, 3] {
        let [turned, arrived] = block.route_x[X];
        block.route_x[X] = [first[X].select(turns[X / 2], turned), first[X].select(arrives[X / 2], arrived)];
    });
    if widths.headers > 1 {
        for (index, rows) in more.x.chunks_exact_mut(2 + widths.x_data()).enumerate() {
            each!(X in [0, 1, 2, 3] {
                let here = further[X][index + 1];
                rows[0][X] = here.select(turns[X / 2], rows[0][X]);
                rows[1][X] = here.select(arrives[X / 2], rows[1][X]);
                for (row, data) in rows[2..].iter_mut().zip(incoming.data[X / 2]) {
                    row[X] = here.select(incoming.moved(X / 2, data[X / 2]), row[X]);
                }
            });
        }
    }
}

/// What comes over the y links.
#[inline(always)]
pub(super) fn receive_y<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    incoming: &Incoming<'_, V, 4>,
    row: &Position<V>,
    widths: Widths,
) {
    let Receiver { block, y_rows, more, full, .. } = receiver;
    let mut further = [[V::zero(); MAX_HEADERS as usize]; Y_QUEUES];
    let mut first = [V::zero(); Y_QUEUES];
    each!(E in [0, 1] {
        let crossed = if E == 0 { row.below } else { row.above };
        let [zero, one, two, is_head] = *incoming.flits[E];
        let (zero, one) = (incoming.moved(E, zero), incoming.moved(E, one));
        let (two, is_head) = (incoming.moved(E, two), incoming.moved(E, is_head));
        let comes =
            [crossed.select(two, zero), crossed.select(zero, one), crossed.select(one, two)];
        each!(C in [0, 1, 2] {
            let queue = 3 * E + C;
            first[queue] =
                slots_for(comes[C] & is_head, X_QUEUES + queue, more.used, &mut further[queue]);
            let occupancy = &mut block.occupancy[X_QUEUES + queue][..widths.occupancy];
            count_up(&mut *occupancy, comes[C]);
            full.y[E][C] = occupancy[widths.occupancy - 1];
        });
    });
    let mut arrives = [V::ones(); 2];
    let rows = y_rows.iter_mut().zip(incoming.data[0]).zip(incoming.data[1]);
    for (bit, ((row_of, plus), minus)) in rows.enumerate() {
        let data = [incoming.moved(0, plus[0]), incoming.moved(1, minus[1])];
        each!(Y in [0, 1, 2, 3, 4, 5] {
            row_of[Y] = first[Y].select(data[Y / 3], row_of[Y]);
        });
        if let Some(&own) = row.coordinate.get(bit) {
            arrives = [arrives[0] & !(data[0] ^ own), arrives[1] & !(data[1] ^ own)];
        }
    }
    each!(Y in [0, 1, 2, 3, 4, 5] {
        block.route_y[Y] = first[Y].select(arrives[Y / 3], block.route_y[Y]);
    });
    if widths.headers > 1 {
        for (index, rows) in more.y.chunks_exact_mut(1 + widths.y_data()).enumerate() {
            each!(Y in [0, 1, 2, 3, 4, 5] {
                let here = further[Y][index + 1];
                rows[0][Y] = here.select(arrives[Y / 3], rows[0][Y]);
                for (row, data) in rows[1..].iter_mut().zip(incoming.data[Y / 3]) {
                    row[Y] = here.select(incoming.moved(Y / 3, data[Y / 3]), row[Y]);
                }
            });
        }
    }
}
