//! One cycle of one block of routers, free of branches on data.
//!
//! [`send`] is everything a router decides by itself and by its neighbours' full queues: VC
//! allocation, switch allocation and departures. [`receive`](super::receive) is everything that comes over its links.
//! All blocks send before any receives, so every decision sees the state at the start of the cycle.

// Queues are numbered across several arrays.
#![allow(clippy::needless_range_loop)]

use super::{
    arbiter::{first2, first3, grant2, grant3, grant4, grant5},
    block::{
        Block, Events, Full, LINK_QUEUES, Labels, LinkRow, Links, Packet, Precedence, QUEUES, Scheme,
        Settings, Widths, X_QUEUES, XRow, Y_QUEUES, YRow,
    },
    lanes::Position,
};
use crate::bits::{self, Vector, full_add, half_subtract};

/// Constants of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Numbers of planes.
    pub widths: Widths,
    /// Occupancy of an empty queue.
    pub offset: usize,
    /// Bits of the down-counter to flip when a header leaves, besides counting down.
    pub skip: usize,
    /// Flit-hops are counted.
    pub hops: bool,
    /// There are output registers.
    pub registers: bool,
    /// There are crossings of datelines that do not count for packets from the processor.
    pub exempt: bool,
}

impl Rules {
    /// The papers' network: 16 by 16 routers with buffers of four flits, packets of eight.
    pub(super) const USUAL: Self = Self {
        widths: Widths { x: 4, y: 4, occupancy: 3, counter: 3, headers: 1, tag: 0 },
        offset: 0,
        skip: 0,
        hops: true,
        registers: false,
        exempt: false,
    };
    /// The same with the published router, whose queues have three flits.
    pub(super) const PUBLISHED: Self = Self { offset: 1, registers: true, exempt: true, ..Self::USUAL };
}

/// The planes of a block that [`send`] changes.
pub(super) struct Sender<'a, V, const K: usize> {
    /// Planes of fixed number.
    pub block: &'a mut Block<V, K>,
    /// Flits behind the front flit of its packet, lowest bit first: all ones for a header, zero for a
    /// tail.
    pub counters: &'a mut [[V; QUEUES]],
    /// Data of the first headers of X queues.
    pub x_rows: &'a mut [XRow<V>],
    /// Data of the first headers of Y queues.
    pub y_rows: &'a mut [YRow<V>],
    /// Further headers.
    pub more: More<'a, V>,
    /// The processor's packet, ...
    pub packet: &'a mut Packet<V>,
    /// ... and its data.
    pub packet_rows: &'a [V],
    /// Flits on the links.
    pub links: &'a mut Links<V>,
    /// Header data on the x links.
    pub x_links: &'a mut [LinkRow<V>],
    /// Header data on the y links.
    pub y_links: &'a mut [LinkRow<V>],
    /// Tag of the last header ejected per label.
    pub ejected_tags: &'a mut [[V; 3]],
}

/// Headers behind the first one of a queue, where queues can hold several.
pub(super) struct More<'a, V> {
    /// In X queues.
    pub x: &'a mut [[V; X_QUEUES]],
    /// In Y queues.
    pub y: &'a mut [[V; Y_QUEUES]],
    /// Row `i`: the queue holds more than `i` headers.
    pub used: &'a mut [[V; LINK_QUEUES]],
}

#[inline(always)]
pub(super) fn or_all<V: Vector, const N: usize>(planes: [V; N]) -> V {
    let mut all = planes[0];
    for &plane in &planes[1..] {
        all = all | plane;
    }
    all
}

#[inline(always)]
fn mask<V: Vector, const N: usize>(mut planes: [V; N], mask: V) -> [V; N] {
    for plane in &mut planes {
        *plane = *plane & mask;
    }
    planes
}

/// The body once for every value of a constant, so that planes stay in registers.
macro_rules! each {
    ($index:ident in [$($value:literal),+] $body:block) => {
        $({
            const $index: usize = $value;
            $body
        })+
    };
}
pub(super) use each;

/// Which of two labels of an output port may send: one at most.
#[inline(always)]
fn choose2<V: Vector>(candidates: [V; 2], order: &mut [V; 1], scheme: &Scheme<V>) -> [V; 2] {
    let chosen = first2(candidates, order);
    let moved = or_all(candidates) & scheme.rotating;
    let to_front = moved & !scheme.used_last;
    let to_back = moved & scheme.used_last;
    order[0] = (order[0] & !moved) | (chosen[0] & to_front) | (chosen[1] & to_back);
    chosen
}

/// Which of three labels of an output port may send: one at most.
#[inline(always)]
fn choose3<V: Vector>(candidates: [V; 3], order: &mut [V; 3], scheme: &Scheme<V>) -> [V; 3] {
    let chosen = first3(candidates, order);
    let moved = or_all(candidates) & scheme.rotating;
    let (fixed, third) = (!moved, moved & scheme.ascending);
    let to_front = moved & !scheme.used_last;
    let to_back = moved & scheme.used_last;
    let descending = moved & !scheme.ascending;
    order[0] = (order[0] & fixed) | (chosen[0] & to_front) | (chosen[1] & to_back) | (chosen[2] & third);
    order[1] = (order[1] & fixed) | (chosen[0] & to_front) | (chosen[2] & to_back) | (chosen[1] & descending);
    order[2] = (order[2] & fixed) | (chosen[1] & to_front) | (chosen[2] & to_back) | (chosen[0] & third);
    chosen
}

/// Requests of the front headers.
pub(super) struct Requests<V> {
    x: [[V; 4]; X_QUEUES],
    y: [[V; 2]; Y_QUEUES],
    p: [V; 5],
}

/// VC allocation for all output channels; owners are updated. Tails hold some labels that nobody owns. Where
/// packets from the processor do not rise on a link that crosses a dateline, they have the last label of its port:
/// no queue sends there with that one.
#[inline(always)]
pub(super) fn select_queues<V: Vector, const K: usize>(
    block: &mut Block<V, K>,
    asks: &Requests<V>,
    settings: &Settings<V>,
    exempt: &[V; 4],
    held: &Labels<V>,
) {
    let Block { owned_x: ox, owned_y: oy, owned_p: op, precedence, .. } = block;
    let Precedence { x, y0, y1, p0, p1, p2, .. } = precedence;
    each!(D in [0, 1] {
        let (rising, level) = (!exempt[D], exempt[D]);
        let idle = !or_all([ox[2 * D][0], op[D] & rising, held.x[D][0]]);
        let g = grant2([asks.x[2 * D][0] & idle, asks.p[D] & idle & rising], &mut x[D]);
        ox[2 * D][0] = ox[2 * D][0] | g[0];
        // The only contender finds its output idle, or owns it and does not ask.
        op[D] = or_all([op[D], g[1], asks.p[D] & level & !held.x[D][1]]);
        ox[2 * D + 1][0] = ox[2 * D + 1][0] | (asks.x[2 * D + 1][0] & !held.x[D][1]);
    });
    each!(E in [0, 1] {
        let turn = 1 + E;
        let (rising, level) = (!exempt[2 + E], exempt[2 + E]);
        let idle =
            !or_all([oy[3 * E][0], ox[0][turn], ox[2][turn], op[2 + E] & rising, held.y[E][0]]);
        let asking = [asks.y[3 * E][0], asks.x[0][turn], asks.x[2][turn], asks.p[2 + E] & rising];
        let g = grant4(mask(asking, idle), &mut y0[E], &settings.y0[E]);
        oy[3 * E][0] = oy[3 * E][0] | g[0];
        ox[0][turn] = ox[0][turn] | g[1];
        ox[2][turn] = ox[2][turn] | g[2];
        op[2 + E] = or_all([op[2 + E], g[3], asks.p[2 + E] & level & !held.y[E][2]]);

        let idle = !or_all([oy[3 * E + 1][0], ox[1][turn], ox[3][turn], held.y[E][1]]);
        let asking = [asks.y[3 * E + 1][0], asks.x[1][turn], asks.x[3][turn]];
        let g = grant3(mask(asking, idle), &mut y1[E], &settings.y1[E]);
        oy[3 * E + 1][0] = oy[3 * E + 1][0] | g[0];
        ox[1][turn] = ox[1][turn] | g[1];
        ox[3][turn] = ox[3][turn] | g[2];

        oy[3 * E + 2][0] = oy[3 * E + 2][0] | (asks.y[3 * E + 2][0] & !held.y[E][2]);
    });
    let idle = !or_all([ox[0][3], ox[2][3], oy[0][1], oy[3][1], op[4], held.p[0]]);
    let asking = [asks.x[0][3], asks.x[2][3], asks.y[0][1], asks.y[3][1], asks.p[4]];
    let g = grant5(mask(asking, idle), p0, &settings.p0);
    ox[0][3] = ox[0][3] | g[0];
    ox[2][3] = ox[2][3] | g[1];
    oy[0][1] = oy[0][1] | g[2];
    oy[3][1] = oy[3][1] | g[3];
    op[4] = op[4] | g[4];

    let idle = !or_all([ox[1][3], ox[3][3], oy[1][1], oy[4][1], held.p[1]]);
    let asking = [asks.x[1][3], asks.x[3][3], asks.y[1][1], asks.y[4][1]];
    let g = grant4(mask(asking, idle), p1, &settings.p1);
    ox[1][3] = ox[1][3] | g[0];
    ox[3][3] = ox[3][3] | g[1];
    oy[1][1] = oy[1][1] | g[2];
    oy[4][1] = oy[4][1] | g[3];

    let idle = !or_all([oy[2][1], oy[5][1], held.p[2]]);
    let g = grant2([asks.y[2][1] & idle, asks.y[5][1] & idle], p2);
    oy[2][1] = oy[2][1] | g[0];
    oy[5][1] = oy[5][1] | g[1];
}

/// Whether each queue's front flit is a header, and whether it is a tail.
#[inline(always)]
pub(super) fn fronts<V: Vector>(counters: &[[V; QUEUES]]) -> ([V; QUEUES], [V; QUEUES]) {
    #[inline(always)]
    fn of<V: Vector, const BITS: usize>(counters: &[[V; QUEUES]; BITS]) -> ([V; QUEUES], [V; QUEUES]) {
        let (mut head, mut some) = ([V::ones(); QUEUES], [V::zero(); QUEUES]);
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
            for bit in counters {
                head[QUEUE] = head[QUEUE] & bit[QUEUE];
                some[QUEUE] = some[QUEUE] | bit[QUEUE];
            }
            some[QUEUE] = !some[QUEUE];
        });
        (head, some)
    }
    // Unrolled for the usual lengths, so that everything stays in registers.
    if let Ok(three) = counters.try_into() {
        return of::<V, 3>(three);
    }
    if let Ok(four) = counters.try_into() {
        return of::<V, 4>(four);
    }
    let (mut head, mut tail) = ([V::ones(); QUEUES], [V::ones(); QUEUES]);
    for row in counters {
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
            head[QUEUE] = head[QUEUE] & row[QUEUE];
            tail[QUEUE] = tail[QUEUE] & !row[QUEUE];
        });
    }
    (head, tail)
}

/// Counts the flits that leave.
#[inline(always)]
fn count_down<V: Vector>(
    counters: &mut [[V; QUEUES]],
    leaves: &[V; QUEUES],
    head: &[V; QUEUES],
    flip: usize,
) {
    let mut borrow = *leaves;
    for (index, row) in counters.iter_mut().enumerate() {
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
            half_subtract(&mut row[QUEUE], &mut borrow[QUEUE]);
        });
        if flip >> index & 1 == 1 {
            each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
                row[QUEUE] = row[QUEUE] ^ (leaves[QUEUE] & head[QUEUE]);
            });
        }
    }
}

/// Whether each queue has a flit, the processor's last.
#[inline(always)]
pub(super) fn queue_flits<V: Vector, const K: usize>(
    block: &Block<V, K>,
    packet: &Packet<V>,
    rules: &Rules,
) -> [V; QUEUES] {
    let mut ready = [V::zero(); QUEUES];
    // The papers' buffers of four flits.
    if rules.widths.occupancy == 3 && rules.offset == 0 {
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            let occupancy = &block.occupancy[QUEUE];
            ready[QUEUE] = occupancy[0] | occupancy[1] | occupancy[2];
        });
    } else {
        for queue in 0..LINK_QUEUES {
            let occupancy = &block.occupancy[queue];
            ready[queue] = occupancy[rules.widths.occupancy - 1];
            for bit in 0..rules.widths.occupancy - 1 {
                let plane = if rules.offset >> bit & 1 == 0 { occupancy[bit] } else { !occupancy[bit] };
                ready[queue] = ready[queue] | plane;
            }
        }
    }
    ready[QUEUES - 1] = packet.ready;
    ready
}

/// What the headers at the front of queues ask for that own no output.
#[inline(always)]
pub(super) fn requests<V: Vector, const K: usize>(
    block: &Block<V, K>,
    minus_y: &XRow<V>,
    packet: &Packet<V>,
    ready: &[V; QUEUES],
    head: &[V; QUEUES],
) -> Requests<V> {
    let mut asks =
        Requests { x: [[V::zero(); 4]; X_QUEUES], y: [[V::zero(); 2]; Y_QUEUES], p: [V::zero(); 5] };
    each!(X in [0, 1, 2, 3] {
        let [turns, arrives] = block.route_x[X];
        let front = ready[X] & head[X] & !or_all(block.owned_x[X]);
        let turning = front & turns;
        let to_y = turning & !arrives;
        asks.x[X] = [front & !turns, to_y & !minus_y[X], to_y & minus_y[X], turning & arrives];
    });
    each!(Y in [0, 1, 2, 3, 4, 5] {
        let arrives = block.route_y[Y];
        let front = ready[4 + Y] & head[4 + Y] & !or_all(block.owned_y[Y]);
        asks.y[Y] = [front & !arrives, front & arrives];
    });
    let front = ready[10] & head[10] & !or_all(block.owned_p);
    each!(OUTPUT in [0, 1, 2, 3, 4] {
        asks.p[OUTPUT] = front & packet.output[OUTPUT];
    });
    asks
}

/// Labels whose owner has a flit.
#[inline(always)]
pub(super) fn owned_flits<V: Vector, const K: usize>(
    block: &Block<V, K>,
    ready: &[V; QUEUES],
    exempt: &[V; 4],
) -> Labels<V> {
    let Block { owned_x: ox, owned_y: oy, owned_p: op, .. } = block;
    let mut flits = Labels::none();
    each!(D in [0, 1] {
        let own = op[D] & ready[10];
        flits.x[D] = [
            (ox[2 * D][0] & ready[2 * D]) | (own & !exempt[D]),
            (ox[2 * D + 1][0] & ready[2 * D + 1]) | (own & exempt[D]),
        ];
    });
    each!(E in [0, 1] {
        let (y, turn) = (3 * E, 1 + E);
        let own = op[2 + E] & ready[10];
        flits.y[E] = [
            or_all([
                oy[y][0] & ready[4 + y],
                ox[0][turn] & ready[0],
                ox[2][turn] & ready[2],
                own & !exempt[2 + E],
            ]),
            or_all([oy[y + 1][0] & ready[5 + y], ox[1][turn] & ready[1], ox[3][turn] & ready[3]]),
            (oy[y + 2][0] & ready[6 + y]) | (own & exempt[2 + E]),
        ];
    });
    flits.p = [
        or_all([
            ox[0][3] & ready[0],
            ox[2][3] & ready[2],
            oy[0][1] & ready[4],
            oy[3][1] & ready[7],
            op[4] & ready[10],
        ]),
        or_all([ox[1][3] & ready[1], ox[3][3] & ready[3], oy[1][1] & ready[5], oy[4][1] & ready[8]]),
        (oy[2][1] & ready[6]) | (oy[5][1] & ready[9]),
    ];
    flits
}

/// Of the labels with a flit, those that send it: one at most per output port, with space behind.
#[inline(always)]
pub(super) fn choose_labels<V: Vector>(
    flits: &Labels<V>,
    precedence: &mut Precedence<V>,
    settings: &Settings<V>,
    behind: &Full<V>,
    column: &Position<V>,
    row: &Position<V>,
) -> Labels<V> {
    let mut sent = Labels::none();
    each!(D in [0, 1] {
        let crosses = if D == 0 { column.above } else { column.below };
        let full = behind.x[D];
        let candidates = [
            flits.x[D][0] & !crosses.select(full[1], full[0]),
            flits.x[D][1] & !crosses.select(full[0], full[1]),
        ];
        sent.x[D] = choose2(candidates, &mut precedence.label_x[D], &settings.schemes[D]);
    });
    each!(E in [0, 1] {
        let crosses = if E == 0 { row.above } else { row.below };
        let full = behind.y[E];
        let candidates = [
            flits.y[E][0] & !crosses.select(full[1], full[0]),
            flits.y[E][1] & !crosses.select(full[2], full[1]),
            flits.y[E][2] & !crosses.select(full[0], full[2]),
        ];
        sent.y[E] = choose3(candidates, &mut precedence.label_y[E], &settings.schemes[2 + E]);
    });
    sent.p = choose3(flits.p, &mut precedence.label_p, &settings.schemes[4]);
    sent
}

/// Per queue and output, where a flit goes: straight on, +y, -y, processor; straight on, processor; all five.
#[derive(Clone, Copy)]
pub(super) struct Flows<V> {
    pub x: [[V; 4]; X_QUEUES],
    pub y: [[V; 2]; Y_QUEUES],
    pub p: [V; 5],
}

impl<V: Vector> Flows<V> {
    /// From the owners of labels.
    #[inline(always)]
    pub(super) fn of<const K: usize>(block: &Block<V, K>, labels: &Labels<V>, exempt: &[V; 4]) -> Self {
        let Block { owned_x: ox, owned_y: oy, owned_p: op, .. } = block;
        let Labels { x: to_x, y: to_y, p: to_p } = labels;
        let zero = V::zero();
        let mut flows = Self { x: [[zero; 4]; X_QUEUES], y: [[zero; 2]; Y_QUEUES], p: [zero; 5] };
        each!(X in [0, 1, 2, 3] {
            let (d, c) = (X / 2, X % 2);
            flows.x[X] =
                [ox[X][0] & to_x[d][c], ox[X][1] & to_y[0][c], ox[X][2] & to_y[1][c], ox[X][3] & to_p[c]];
        });
        each!(Y in [0, 1, 2, 3, 4, 5] {
            let (e, c) = (Y / 3, Y % 3);
            flows.y[Y] = [oy[Y][0] & to_y[e][c], oy[Y][1] & to_p[c]];
        });
        flows.p = [
            op[0] & exempt[0].select(to_x[0][1], to_x[0][0]),
            op[1] & exempt[1].select(to_x[1][1], to_x[1][0]),
            op[2] & exempt[2].select(to_y[0][2], to_y[0][0]),
            op[3] & exempt[3].select(to_y[1][2], to_y[1][0]),
            op[4] & to_p[0],
        ];
        flows
    }

    /// Queues that lose a flit.
    #[inline(always)]
    pub(super) fn leaves(&self) -> [V; QUEUES] {
        let mut leaves = [V::zero(); QUEUES];
        each!(X in [0, 1, 2, 3] {
            leaves[X] = or_all(self.x[X]);
        });
        each!(Y in [0, 1, 2, 3, 4, 5] {
            leaves[4 + Y] = or_all(self.y[Y]);
        });
        leaves[10] = or_all(self.p);
        leaves
    }

    /// Those from queues in a set.
    #[inline(always)]
    pub(super) fn within(&self, set: &[V; QUEUES]) -> Self {
        let mut flows = *self;
        each!(X in [0, 1, 2, 3] {
            flows.x[X] = mask(flows.x[X], set[X]);
        });
        each!(Y in [0, 1, 2, 3, 4, 5] {
            flows.y[Y] = mask(flows.y[Y], set[4 + Y]);
        });
        flows.p = mask(flows.p, set[10]);
        flows
    }

    /// By the labels they belong to.
    #[inline(always)]
    pub(super) fn into_labels(self, exempt: &[V; 4]) -> Labels<V> {
        let Self { x, y, p } = self;
        let mut labels = Labels::none();
        each!(D in [0, 1] {
            labels.x[D] =
                [x[2 * D][0] | (p[D] & !exempt[D]), x[2 * D + 1][0] | (p[D] & exempt[D])];
        });
        each!(E in [0, 1] {
            let (q, turn, own) = (3 * E, 1 + E, p[2 + E]);
            labels.y[E] = [
                or_all([y[q][0], x[0][turn], x[2][turn], own & !exempt[2 + E]]),
                or_all([y[q + 1][0], x[1][turn], x[3][turn]]),
                y[q + 2][0] | (own & exempt[2 + E]),
            ];
        });
        labels.p = [
            or_all([x[0][3], x[2][3], y[0][1], y[3][1], p[4]]),
            or_all([x[1][3], x[3][3], y[1][1], y[4][1]]),
            y[2][1] | y[5][1],
        ];
        labels
    }

    /// Links that carry any of them: +x, -x, +y, -y.
    #[inline(always)]
    pub(super) fn on_links(&self) -> [V; 4] {
        let Self { x, y, p } = self;
        let mut links = [V::zero(); 4];
        each!(D in [0, 1] {
            links[D] = or_all([x[2 * D][0], x[2 * D + 1][0], p[D]]);
        });
        each!(E in [0, 1] {
            let straight = or_all([y[3 * E][0], y[3 * E + 1][0], y[3 * E + 2][0], p[2 + E]]);
            links[2 + E] =
                or_all([straight, x[0][1 + E], x[1][1 + E], x[2][1 + E], x[3][1 + E]]);
        });
        links
    }
}

/// Data of queues' first headers, and of the processor's packet.
pub(super) struct Data<'a, V> {
    pub x: &'a [XRow<V>],
    pub y: &'a [YRow<V>],
    pub packet: &'a [V],
}

/// The data of headers that go over links.
#[inline(always)]
pub(super) fn write_links<V: Vector>(
    flows: &Flows<V>,
    data: &Data<'_, V>,
    x_links: &mut [LinkRow<V>],
    y_links: &mut [LinkRow<V>],
    widths: Widths,
) {
    for ((link, row), &own) in x_links.iter_mut().zip(data.x).zip(data.packet) {
        each!(D in [0, 1] {
            link[D] = (flows.x[2 * D][0] & row[2 * D])
                | (flows.x[2 * D + 1][0] & row[2 * D + 1])
                | (flows.p[D] & own);
        });
    }
    let to_y = data.x[1 + widths.x..].iter().zip(&data.packet[1 + widths.x..]);
    for ((link, row), (from_x, &own)) in y_links.iter_mut().zip(data.y).zip(to_y) {
        each!(E in [0, 1] {
            let mut value = flows.p[2 + E] & own;
            each!(C in [0, 1, 2] {
                value = value | (flows.y[3 * E + C][0] & row[3 * E + C]);
            });
            each!(X in [0, 1, 2, 3] {
                value = value | (flows.x[X][1 + E] & from_x[X]);
            });
            link[E] = value;
        });
    }
}

/// The tags of headers that are ejected are kept per label.
#[inline(always)]
pub(super) fn keep_tags<V: Vector>(
    headers: &Flows<V>,
    data: &Data<'_, V>,
    ejected_tags: &mut [[V; 3]],
    widths: Widths,
) {
    let tag = 1 + widths.x + widths.y;
    let (from_x, from_y) = (data.x[tag..].iter().zip(&data.packet[tag..]), &data.y[widths.y..]);
    for ((kept, (x, &own)), y) in ejected_tags.iter_mut().zip(from_x).zip(from_y) {
        for c in 0..2 {
            for q in [c, 2 + c] {
                kept[c] = headers.x[q][3].select(x[q], kept[c]);
            }
        }
        each!(C in [0, 1, 2] {
            for q in [C, 3 + C] {
                kept[C] = headers.y[q][1].select(y[q], kept[C]);
            }
        });
        kept[0] = headers.p[4].select(own, kept[0]);
    }
}

/// Flits leave queues; tails free what they own. Returns the routers whose processor's packet has left.
#[inline(always)]
pub(super) fn depart<V: Vector, const K: usize>(
    block: &mut Block<V, K>,
    packet: &mut Packet<V>,
    counters: &mut [[V; QUEUES]],
    leaves: &[V; QUEUES],
    (head, tail): (&[V; QUEUES], &[V; QUEUES]),
    rules: &Rules,
) -> V {
    let Block { owned_x: ox, owned_y: oy, owned_p: op, .. } = block;
    each!(X in [0, 1, 2, 3] {
        let stays = !(leaves[X] & tail[X]);
        for output in &mut ox[X] {
            *output = *output & stays;
        }
    });
    each!(Y in [0, 1, 2, 3, 4, 5] {
        let stays = !(leaves[4 + Y] & tail[4 + Y]);
        for output in &mut oy[Y] {
            *output = *output & stays;
        }
    });
    let sent = leaves[10] & tail[10];
    for output in op.iter_mut() {
        *output = *output & !sent;
    }
    packet.ready = packet.ready & !sent;
    each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        bits::count_down(&mut block.occupancy[QUEUE][..rules.widths.occupancy], leaves[QUEUE]);
    });
    count_down(counters, leaves, head, rules.skip);
    sent
}

/// Counts flit-hops modulo 4 in place; every fourth is an event.
#[inline(always)]
pub(super) fn count_hops<V: Vector, const K: usize>(
    block: &mut Block<V, K>,
    sends: [V; 4],
    rules: &Rules,
) -> V {
    if !rules.hops {
        return V::zero();
    }
    let [ones, twos] = block.hops;
    let (ones, carry0) = full_add(ones, sends[0], sends[1]);
    let (ones, carry1) = full_add(ones, sends[2], sends[3]);
    let (twos, fours) = full_add(twos, carry0, carry1);
    block.hops = [ones, twos];
    fours
}

/// Everything a block decides in a cycle. `behind` are the full queues its links lead to, `exempt` the routers
/// whose processor's packets do not rise on a link that crosses a dateline. Returns the events, per direction the
/// routers that send a flit over the link, and those that eject one.
#[inline(always)]
pub(super) fn send<V: Vector, const K: usize>(
    sender: Sender<'_, V, K>,
    settings: &Settings<V>,
    behind: &Full<V>,
    exempt: &[V; 4],
    (column, row): (&Position<V>, &Position<V>),
    rules: &Rules,
) -> (Events<V>, [V; 4], V) {
    let Sender { block, counters, x_rows, y_rows, more, packet, packet_rows, .. } = sender;
    let Sender { links, x_links, y_links, ejected_tags, .. } = sender;
    let widths = rules.widths;

    let (head, tail) = fronts(counters);
    let ready = queue_flits(block, packet, rules);
    let asks = requests(block, &x_rows[0], packet, &ready, &head);
    select_queues(block, &asks, settings, exempt, &Labels::none());
    let flits = owned_flits(block, &ready, exempt);
    let sent = choose_labels(&flits, &mut block.precedence, settings, behind, column, row);

    let flows = Flows::of(block, &sent, exempt);
    let headers = flows.within(&head);
    let is_head = headers.on_links();
    *links = Links::of(&sent, is_head);
    let data = Data { x: x_rows, y: y_rows, packet: packet_rows };
    write_links(&flows, &data, x_links, y_links, widths);
    if widths.tag > 0 {
        keep_tags(&headers, &data, ejected_tags, widths);
    }

    let mut delivered = flows.p[4] & tail[10];
    each!(X in [0, 1, 2, 3] {
        delivered = delivered | (flows.x[X][3] & tail[X]);
    });
    each!(Y in [0, 1, 2, 3, 4, 5] {
        delivered = delivered | (flows.y[Y][1] & tail[4 + Y]);
    });
    let leaves = flows.leaves();
    let gone = depart(block, packet, counters, &leaves, (&head, &tail), rules);
    if widths.headers > 1 {
        let mut gone = [V::zero(); LINK_QUEUES];
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            gone[QUEUE] = leaves[QUEUE] & head[QUEUE];
        });
        advance_headers(block, x_rows, y_rows, more, &gone, widths);
    }
    let sends = [or_all(sent.x[0]), or_all(sent.x[1]), or_all(sent.y[0]), or_all(sent.y[1])];
    let four_hops = count_hops(block, sends, rules);
    (Events { delivered, sent: gone, four_hops }, sends, or_all(sent.p))
}

/// The first header of some queues has gone; those behind it move up.
#[inline(always)]
fn advance_headers<V: Vector, const K: usize>(
    block: &mut Block<V, K>,
    x_rows: &mut [XRow<V>],
    y_rows: &mut [YRow<V>],
    more: More<'_, V>,
    gone: &[V; LINK_QUEUES],
    widths: Widths,
) {
    let (x_rows_each, y_rows_each) = (2 + widths.x_data(), 1 + widths.y_data());
    for q in 0..X_QUEUES {
        for known in 0..2 {
            let next = more.x[known][q];
            block.route_x[q][known] = gone[q].select(next, block.route_x[q][known]);
        }
        for (row, next) in x_rows.iter_mut().zip(&more.x[2..]) {
            row[q] = gone[q].select(next[q], row[q]);
        }
        for index in 0..more.x.len() - x_rows_each {
            more.x[index][q] = gone[q].select(more.x[index + x_rows_each][q], more.x[index][q]);
        }
    }
    for q in 0..Y_QUEUES {
        let gone = gone[X_QUEUES + q];
        block.route_y[q] = gone.select(more.y[0][q], block.route_y[q]);
        for (row, next) in y_rows.iter_mut().zip(&more.y[1..]) {
            row[q] = gone.select(next[q], row[q]);
        }
        for index in 0..more.y.len() - y_rows_each {
            more.y[index][q] = gone.select(more.y[index + y_rows_each][q], more.y[index][q]);
        }
    }
    for index in 0..widths.headers {
        for queue in 0..LINK_QUEUES {
            let next = if index + 1 < widths.headers { more.used[index + 1][queue] } else { V::zero() };
            more.used[index][queue] = gone[queue].select(next, more.used[index][queue]);
        }
    }
}
