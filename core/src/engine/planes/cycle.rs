//! One cycle of one block of routers, free of branches on data.
//!
//! [`send`] is everything a router decides by itself and by its neighbours' full queues: queue
//! selection, channel selection and departures. [`receive`] is everything that comes over its links.
//! All blocks send before any receives, so every decision sees the state at the start of the cycle.

// Queues are numbered across several arrays.
#![allow(clippy::needless_range_loop)]

use super::{
    arbiter::{first2, first3, grant2, grant3, grant4, grant5},
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, Precedence, QUEUES, Scheme, Settings,
        Widths, X_QUEUES, XRow, Y_QUEUES, YRow,
    },
    lanes::{Position, Rotation},
    vector::Vector,
};

/// Constants of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Numbers of planes.
    pub widths: Widths,
    /// Occupancy of an empty queue.
    pub offset: usize,
    /// Bits of the down-counter to flip when a header leaves, besides counting down.
    pub skip: usize,
    /// Flit-hops are counted.
    pub hops: bool,
}

impl Rules {
    /// The papers' network: 16 by 16 routers with buffers of four flits, packets of eight.
    pub const USUAL: Self = Self {
        widths: Widths { x: 4, y: 4, occupancy: 3, counter: 3, headers: 1, tag: 0 },
        offset: 0,
        skip: 0,
        hops: true,
    };
}

/// The planes of a block that [`send`] changes.
pub struct Sender<'a, V, const K: usize> {
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
pub struct More<'a, V> {
    /// In X queues.
    pub x: &'a mut [[V; X_QUEUES]],
    /// In Y queues.
    pub y: &'a mut [[V; Y_QUEUES]],
    /// Row `i`: the queue holds more than `i` headers.
    pub used: &'a mut [[V; LINK_QUEUES]],
}

#[inline(always)]
fn or_all<V: Vector, const N: usize>(planes: [V; N]) -> V {
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

#[inline(always)]
fn add_three<V: Vector>(a: V, b: V, c: V) -> (V, V) {
    (a ^ b ^ c, (a & b) | (c & (a ^ b)))
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
struct Requests<V> {
    x: [[V; 4]; X_QUEUES],
    y: [[V; 2]; Y_QUEUES],
    p: [V; 5],
}

/// Queue selection for all output channels; owners are updated.
#[inline(always)]
fn select_queues<V: Vector, const K: usize>(
    block: &mut Block<V, K>,
    asks: &Requests<V>,
    settings: &Settings<V>,
) {
    let Block { owned_x: ox, owned_y: oy, owned_p: op, precedence, .. } = block;
    let Precedence { x, y0, y1, p0, p1, p2, .. } = precedence;
    each!(D in [0, 1] {
        let idle = !(ox[2 * D][0] | op[D]);
        let g = grant2([asks.x[2 * D][0] & idle, asks.p[D] & idle], &mut x[D]);
        ox[2 * D][0] = ox[2 * D][0] | g[0];
        op[D] = op[D] | g[1];
        // The only contender finds its output idle, or owns it and does not ask.
        ox[2 * D + 1][0] = ox[2 * D + 1][0] | asks.x[2 * D + 1][0];
    });
    each!(E in [0, 1] {
        let turn = 1 + E;
        let idle = !or_all([oy[3 * E][0], ox[0][turn], ox[2][turn], op[2 + E]]);
        let asking = [asks.y[3 * E][0], asks.x[0][turn], asks.x[2][turn], asks.p[2 + E]];
        let g = grant4(mask(asking, idle), &mut y0[E], &settings.y0[E]);
        oy[3 * E][0] = oy[3 * E][0] | g[0];
        ox[0][turn] = ox[0][turn] | g[1];
        ox[2][turn] = ox[2][turn] | g[2];
        op[2 + E] = op[2 + E] | g[3];

        let idle = !or_all([oy[3 * E + 1][0], ox[1][turn], ox[3][turn]]);
        let asking = [asks.y[3 * E + 1][0], asks.x[1][turn], asks.x[3][turn]];
        let g = grant3(mask(asking, idle), &mut y1[E], &settings.y1[E]);
        oy[3 * E + 1][0] = oy[3 * E + 1][0] | g[0];
        ox[1][turn] = ox[1][turn] | g[1];
        ox[3][turn] = ox[3][turn] | g[2];

        oy[3 * E + 2][0] = oy[3 * E + 2][0] | asks.y[3 * E + 2][0];
    });
    let idle = !or_all([ox[0][3], ox[2][3], oy[0][1], oy[3][1], op[4]]);
    let asking = [asks.x[0][3], asks.x[2][3], asks.y[0][1], asks.y[3][1], asks.p[4]];
    let g = grant5(mask(asking, idle), p0, &settings.p0);
    ox[0][3] = ox[0][3] | g[0];
    ox[2][3] = ox[2][3] | g[1];
    oy[0][1] = oy[0][1] | g[2];
    oy[3][1] = oy[3][1] | g[3];
    op[4] = op[4] | g[4];

    let idle = !or_all([ox[1][3], ox[3][3], oy[1][1], oy[4][1]]);
    let asking = [asks.x[1][3], asks.x[3][3], asks.y[1][1], asks.y[4][1]];
    let g = grant4(mask(asking, idle), p1, &settings.p1);
    ox[1][3] = ox[1][3] | g[0];
    ox[3][3] = ox[3][3] | g[1];
    oy[1][1] = oy[1][1] | g[2];
    oy[4][1] = oy[4][1] | g[3];

    let idle = !(oy[2][1] | oy[5][1]);
    let g = grant2([asks.y[2][1] & idle, asks.y[5][1] & idle], p2);
    oy[2][1] = oy[2][1] | g[0];
    oy[5][1] = oy[5][1] | g[1];
}

/// Whether each queue's front flit is a header, and whether it is a tail.
#[inline(always)]
fn fronts<V: Vector>(counters: &[[V; QUEUES]]) -> ([V; QUEUES], [V; QUEUES]) {
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
            let old = row[QUEUE];
            row[QUEUE] = old ^ borrow[QUEUE];
            borrow[QUEUE] = borrow[QUEUE] & !old;
        });
        if flip >> index & 1 == 1 {
            each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
                row[QUEUE] = row[QUEUE] ^ (leaves[QUEUE] & head[QUEUE]);
            });
        }
    }
}

/// Everything a block decides in a cycle. `behind` are the full queues its links lead to. Returns
/// the events, per direction the routers that send a flit over the link, and those that eject one.
#[inline(always)]
pub fn send<V: Vector, const K: usize>(
    sender: Sender<'_, V, K>,
    settings: &Settings<V>,
    behind: &Full<V>,
    column: &Position<V>,
    row: &Position<V>,
    rules: &Rules,
) -> (Events<V>, [V; 4], V) {
    let Sender { block, counters, x_rows, y_rows, more, packet, packet_rows, .. } = sender;
    let Sender { links, x_links, y_links, ejected_tags, .. } = sender;
    let widths = rules.widths;

    // What is at the front of each queue.
    let (head, tail) = fronts(counters);
    let mut ready = [V::zero(); QUEUES];
    // The papers' buffers of four flits.
    if widths.occupancy == 3 && rules.offset == 0 {
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            let occupancy = &block.occupancy[QUEUE];
            ready[QUEUE] = occupancy[0] | occupancy[1] | occupancy[2];
        });
    } else {
        for queue in 0..LINK_QUEUES {
            let occupancy = &block.occupancy[queue];
            ready[queue] = occupancy[widths.occupancy - 1];
            for bit in 0..widths.occupancy - 1 {
                let plane = if rules.offset >> bit & 1 == 0 { occupancy[bit] } else { !occupancy[bit] };
                ready[queue] = ready[queue] | plane;
            }
        }
    }
    ready[QUEUES - 1] = packet.ready;

    let mut asks =
        Requests { x: [[V::zero(); 4]; X_QUEUES], y: [[V::zero(); 2]; Y_QUEUES], p: [V::zero(); 5] };
    let minus_y = x_rows[0];
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
    select_queues(block, &asks, settings);

    // Channel selection: owned, a flit ready, and space behind.
    let Block { owned_x: ox, owned_y: oy, owned_p: op, precedence, .. } = block;
    let mut send_x = [[V::zero(); 2]; 2];
    each!(D in [0, 1] {
        let crosses = if D == 0 { column.above } else { column.below };
        let full = behind.x[D];
        let candidates = [
            ((ox[2 * D][0] & ready[2 * D]) | (op[D] & ready[10])) & !crosses.select(full[1], full[0]),
            ox[2 * D + 1][0] & ready[2 * D + 1] & !full[1],
        ];
        send_x[D] = choose2(candidates, &mut precedence.label_x[D], &settings.schemes[D]);
    });
    let mut send_y = [[V::zero(); 3]; 2];
    each!(E in [0, 1] {
        let (crosses, turn) = (if E == 0 { row.above } else { row.below }, 1 + E);
        let full = behind.y[E];
        let y = 3 * E;
        let candidates = [
            or_all([
                oy[y][0] & ready[4 + y],
                ox[0][turn] & ready[0],
                ox[2][turn] & ready[2],
                op[2 + E] & ready[10],
            ]) & !crosses.select(full[1], full[0]),
            or_all([oy[y + 1][0] & ready[5 + y], ox[1][turn] & ready[1], ox[3][turn] & ready[3]])
                & !crosses.select(full[2], full[1]),
            oy[y + 2][0] & ready[6 + y] & !full[2],
        ];
        send_y[E] = choose3(candidates, &mut precedence.label_y[E], &settings.schemes[2 + E]);
    });
    let candidates = [
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
    let send_p = choose3(candidates, &mut precedence.label_p, &settings.schemes[4]);

    // Departures.
    let mut flow_x = [[V::zero(); 4]; X_QUEUES];
    each!(X in [0, 1, 2, 3] {
        let (d, c) = (X / 2, X % 2);
        flow_x[X] =
            [ox[X][0] & send_x[d][c], ox[X][1] & send_y[0][c], ox[X][2] & send_y[1][c], ox[X][3] & send_p[c]];
    });
    let mut flow_y = [[V::zero(); 2]; Y_QUEUES];
    each!(Y in [0, 1, 2, 3, 4, 5] {
        let (e, c) = (Y / 3, Y % 3);
        flow_y[Y] = [oy[Y][0] & send_y[e][c], oy[Y][1] & send_p[c]];
    });
    let flow_p: [V; 5] = [
        op[0] & send_x[0][0],
        op[1] & send_x[1][0],
        op[2] & send_y[0][0],
        op[3] & send_y[1][0],
        op[4] & send_p[0],
    ];
    let mut leaves = [V::zero(); QUEUES];
    each!(X in [0, 1, 2, 3] {
        leaves[X] = or_all(flow_x[X]);
    });
    each!(Y in [0, 1, 2, 3, 4, 5] {
        leaves[4 + Y] = or_all(flow_y[Y]);
    });
    leaves[10] = or_all(flow_p);

    // Links: which label sends, and the data of the header if it is one.
    let sends = [or_all(send_x[0]), or_all(send_x[1]), or_all(send_y[0]), or_all(send_y[1])];
    each!(D in [0, 1] {
        let flows = [flow_x[2 * D][0], flow_x[2 * D + 1][0], flow_p[D]];
        let is_head = or_all([flows[0] & head[2 * D], flows[1] & head[2 * D + 1], flows[2] & head[10]]);
        links.x[D] = [send_x[D][0], send_x[D][1], is_head];
    });
    for ((link, row), &own) in x_links.iter_mut().zip(x_rows.iter()).zip(packet_rows) {
        each!(D in [0, 1] {
            link[D] = (flow_x[2 * D][0] & row[2 * D])
                | (flow_x[2 * D + 1][0] & row[2 * D + 1])
                | (flow_p[D] & own);
        });
    }
    each!(E in [0, 1] {
        let mut is_head = flow_p[2 + E] & head[10];
        each!(C in [0, 1, 2] {
            is_head = is_head | (flow_y[3 * E + C][0] & head[4 + 3 * E + C]);
        });
        each!(X in [0, 1, 2, 3] {
            is_head = is_head | (flow_x[X][1 + E] & head[X]);
        });
        links.y[E] = [send_y[E][0], send_y[E][1], send_y[E][2], is_head];
    });
    let to_y = x_rows[1 + widths.x..].iter().zip(&packet_rows[1 + widths.x..]);
    for ((link, row), (from_x, &own)) in y_links.iter_mut().zip(y_rows.iter()).zip(to_y) {
        each!(E in [0, 1] {
            let mut value = flow_p[2 + E] & own;
            each!(C in [0, 1, 2] {
                value = value | (flow_y[3 * E + C][0] & row[3 * E + C]);
            });
            each!(X in [0, 1, 2, 3] {
                value = value | (flow_x[X][1 + E] & from_x[X]);
            });
            link[E] = value;
        });
    }
    if widths.tag > 0 {
        let tag = 1 + widths.x + widths.y;
        let (from_x, from_y) = (x_rows[tag..].iter().zip(&packet_rows[tag..]), &y_rows[widths.y..]);
        for ((kept, (x, &own)), y) in ejected_tags.iter_mut().zip(from_x).zip(from_y) {
            for c in 0..2 {
                for q in [c, 2 + c] {
                    kept[c] = (flow_x[q][3] & head[q]).select(x[q], kept[c]);
                }
            }
            each!(C in [0, 1, 2] {
                for q in [C, 3 + C] {
                    kept[C] = (flow_y[q][1] & head[4 + q]).select(y[q], kept[C]);
                }
            });
            kept[0] = (flow_p[4] & head[10]).select(own, kept[0]);
        }
    }

    // Tails free their outputs.
    let mut delivered = V::zero();
    each!(X in [0, 1, 2, 3] {
        delivered = delivered | (flow_x[X][3] & tail[X]);
        let stays = !(leaves[X] & tail[X]);
        for output in &mut ox[X] {
            *output = *output & stays;
        }
    });
    each!(Y in [0, 1, 2, 3, 4, 5] {
        delivered = delivered | (flow_y[Y][1] & tail[4 + Y]);
        let stays = !(leaves[4 + Y] & tail[4 + Y]);
        for output in &mut oy[Y] {
            *output = *output & stays;
        }
    });
    delivered = delivered | (flow_p[4] & tail[10]);
    let sent = leaves[10] & tail[10];
    for output in op.iter_mut() {
        *output = *output & !sent;
    }
    packet.ready = packet.ready & !sent;

    // Queues lose their front flits.
    each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
        let mut borrow = leaves[QUEUE];
        for bit in &mut block.occupancy[QUEUE][..widths.occupancy] {
            let old = *bit;
            *bit = old ^ borrow;
            borrow = borrow & !old;
        }
    });
    count_down(counters, &leaves, &head, rules.skip);
    if widths.headers > 1 {
        let mut gone = [V::zero(); LINK_QUEUES];
        each!(QUEUE in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            gone[QUEUE] = leaves[QUEUE] & head[QUEUE];
        });
        advance_headers(block, x_rows, y_rows, more, &gone, widths);
    }

    // Count flit-hops modulo 4 in place; every fourth is an event.
    let mut four_hops = V::zero();
    if rules.hops {
        let [ones, twos] = block.hops;
        let (ones, carry0) = add_three(ones, sends[0], sends[1]);
        let (ones, carry1) = add_three(ones, sends[2], sends[3]);
        let (twos, fours) = add_three(twos, carry0, carry1);
        block.hops = [ones, twos];
        four_hops = fours;
    }

    (Events { delivered, sent, four_hops }, sends, or_all(send_p))
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

/// The planes of a block that [`receive_x`] and [`receive_y`] change.
pub struct Receiver<'a, V, const K: usize> {
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

#[inline(always)]
fn add<V: Vector>(occupancy: &mut [V], comes: V) {
    let mut carry = comes;
    for bit in occupancy {
        let old = *bit;
        *bit = old ^ carry;
        carry = carry & old;
    }
}

/// Where a queue keeps the header that comes: in its first slot, unless that is in use. Further
/// slots are filled by `further`, called with their index.
#[inline(always)]
fn slots_for<V: Vector>(
    comes: V,
    queue: usize,
    used: &mut [[V; LINK_QUEUES]],
    further: &mut [V; super::MAX_HEADERS as usize],
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
pub struct Incoming<'a, V: Vector, const N: usize> {
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
pub fn receive_x<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    incoming: &Incoming<'_, V, 3>,
    column: &Position<V>,
    row: &Position<V>,
    widths: Widths,
) {
    let Receiver { block, x_rows, more, full, .. } = receiver;
    let mut further = [[V::zero(); super::MAX_HEADERS as usize]; X_QUEUES];
    let mut first = [V::zero(); X_QUEUES];
    each!(D in [0, 1] {
        let crossed = if D == 0 { column.below } else { column.above };
        let [zero, one, is_head] = *incoming.flits[D];
        let (zero, one) = (incoming.moved(D, zero), incoming.moved(D, one));
        let is_head = incoming.moved(D, is_head);
        let comes = [zero & !crossed, one | (zero & crossed)];
        each!(C in [0, 1] {
            let queue = 2 * D + C;
            first[queue] = slots_for(comes[C] & is_head, queue, more.used, &mut further[queue]);
            let occupancy = &mut block.occupancy[queue][..widths.occupancy];
            add(occupancy, comes[C]);
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
pub fn receive_y<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    incoming: &Incoming<'_, V, 4>,
    row: &Position<V>,
    widths: Widths,
) {
    let Receiver { block, y_rows, more, full, .. } = receiver;
    let mut further = [[V::zero(); super::MAX_HEADERS as usize]; Y_QUEUES];
    let mut first = [V::zero(); Y_QUEUES];
    each!(E in [0, 1] {
        let crossed = if E == 0 { row.below } else { row.above };
        let [zero, one, two, is_head] = *incoming.flits[E];
        let (zero, one) = (incoming.moved(E, zero), incoming.moved(E, one));
        let (two, is_head) = (incoming.moved(E, two), incoming.moved(E, is_head));
        let comes = [zero & !crossed, crossed.select(zero, one), two | (one & crossed)];
        each!(C in [0, 1, 2] {
            let queue = 3 * E + C;
            first[queue] =
                slots_for(comes[C] & is_head, X_QUEUES + queue, more.used, &mut further[queue]);
            let occupancy = &mut block.occupancy[X_QUEUES + queue][..widths.occupancy];
            add(occupancy, comes[C]);
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
