//! One cycle of one block of routers, free of branches on data.
//!
//! [`send`] is everything a router decides by itself and by its neighbours' full queues: queue
//! selection, channel selection and departures. [`receive`] is everything that comes over its links.
//! All blocks send before any receives, so every decision sees the state at the start of the cycle.

// Queues are numbered across several arrays.
#![allow(clippy::needless_range_loop)]

use super::{
    arbiter::{first, grant},
    block::{
        Block, Events, Full, LINK_QUEUES, P_ROUTE, Precedence, QUEUES, Scheme, Settings, Widths, X_LINK,
        X_QUEUES, X_ROUTE, Y_LINK, Y_QUEUES, Y_ROUTE,
    },
    lanes::Position,
    vector::Vector,
};

/// Constants of a run.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Numbers of planes.
    pub widths: Widths,
    /// Occupancy of an empty queue.
    pub offset: usize,
    /// Bits of the down-counter to flip when a header leaves, besides counting down.
    pub skip: usize,
}

/// The planes of a block that [`send`] changes.
pub struct Sender<'a, V, const K: usize> {
    /// Planes of fixed number.
    pub block: &'a mut Block<V, K>,
    /// Flits behind the front flit of its packet, `widths.counter` planes per queue: all ones for a
    /// header, zero for a tail.
    pub counters: &'a mut [V],
    /// Headers in the queues, `widths.headers` slots per queue.
    pub slots: &'a mut [V],
    /// Slots in use, where queues can hold several headers.
    pub slots_used: &'a mut [V],
    /// The processor's packet.
    pub packet: &'a mut [V],
    /// The four links: +x, -x, +y, -y.
    pub links: &'a mut [V],
}

#[inline(always)]
fn or_all<V: Vector, const N: usize>(planes: [V; N]) -> V {
    let mut all = planes[0];
    for &plane in &planes[1..] {
        all = all | plane;
    }
    all
}

/// Which labels of an output port may send: one at most.
#[inline(always)]
fn choose<V: Vector, const N: usize, const PAIRS: usize>(
    candidates: [V; N],
    order: &mut [V; PAIRS],
    scheme: &Scheme<V>,
) -> [V; N] {
    let chosen = first(candidates, order);
    let moved = or_all(candidates) & scheme.rotating;
    let fixed = !moved;
    let to_front = moved & !scheme.used_last;
    let to_back = moved & scheme.used_last;
    if N == 2 {
        order[0] = (order[0] & fixed) | (chosen[0] & to_front) | (chosen[1] & to_back);
    } else {
        let third = moved & scheme.ascending;
        order[0] = (order[0] & fixed) | (chosen[0] & to_front) | (chosen[1] & to_back) | (chosen[2] & third);
        order[1] = (order[1] & fixed)
            | (chosen[0] & to_front)
            | (chosen[2] & to_back)
            | (chosen[1] & moved & !scheme.ascending);
        order[2] = (order[2] & fixed) | (chosen[1] & to_front) | (chosen[2] & to_back) | (chosen[0] & third);
    }
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
    for d in 0..2 {
        let idle = !(ox[2 * d][0] | op[d]);
        let g = grant([asks.x[2 * d][0] & idle, asks.p[d] & idle], &mut x[d], &[]);
        ox[2 * d][0] = ox[2 * d][0] | g[0];
        op[d] = op[d] | g[1];
        // The only contender finds its output idle, or owns it and does not ask.
        ox[2 * d + 1][0] = ox[2 * d + 1][0] | asks.x[2 * d + 1][0];
    }
    for e in 0..2 {
        let turn = 1 + e;
        let idle = !or_all([oy[3 * e][0], ox[0][turn], ox[2][turn], op[2 + e]]);
        let asking = [asks.y[3 * e][0], asks.x[0][turn], asks.x[2][turn], asks.p[2 + e]];
        let g = grant(asking.map(|ask| ask & idle), &mut y0[e], &settings.y0[e]);
        oy[3 * e][0] = oy[3 * e][0] | g[0];
        ox[0][turn] = ox[0][turn] | g[1];
        ox[2][turn] = ox[2][turn] | g[2];
        op[2 + e] = op[2 + e] | g[3];

        let idle = !or_all([oy[3 * e + 1][0], ox[1][turn], ox[3][turn]]);
        let asking = [asks.y[3 * e + 1][0], asks.x[1][turn], asks.x[3][turn]];
        let g = grant(asking.map(|ask| ask & idle), &mut y1[e], &settings.y1[e]);
        oy[3 * e + 1][0] = oy[3 * e + 1][0] | g[0];
        ox[1][turn] = ox[1][turn] | g[1];
        ox[3][turn] = ox[3][turn] | g[2];

        oy[3 * e + 2][0] = oy[3 * e + 2][0] | asks.y[3 * e + 2][0];
    }
    let idle = !or_all([ox[0][3], ox[2][3], oy[0][1], oy[3][1], op[4]]);
    let asking = [asks.x[0][3], asks.x[2][3], asks.y[0][1], asks.y[3][1], asks.p[4]];
    let g = grant(asking.map(|ask| ask & idle), p0, &settings.p0);
    ox[0][3] = ox[0][3] | g[0];
    ox[2][3] = ox[2][3] | g[1];
    oy[0][1] = oy[0][1] | g[2];
    oy[3][1] = oy[3][1] | g[3];
    op[4] = op[4] | g[4];

    let idle = !or_all([ox[1][3], ox[3][3], oy[1][1], oy[4][1]]);
    let asking = [asks.x[1][3], asks.x[3][3], asks.y[1][1], asks.y[4][1]];
    let g = grant(asking.map(|ask| ask & idle), p1, &settings.p1);
    ox[1][3] = ox[1][3] | g[0];
    ox[3][3] = ox[3][3] | g[1];
    oy[1][1] = oy[1][1] | g[2];
    oy[4][1] = oy[4][1] | g[3];

    let idle = !(oy[2][1] | oy[5][1]);
    let g = grant([asks.y[2][1] & idle, asks.y[5][1] & idle], p2, &[]);
    oy[2][1] = oy[2][1] | g[0];
    oy[5][1] = oy[5][1] | g[1];
}

/// Everything a block decides in a cycle. `behind` are the full queues its links lead to;
/// `ejected_tags` keeps the tag of the last header ejected per label, where tags are in use.
/// Returns the events, per direction the routers that send a flit over the link, and those that
/// eject one.
#[inline(always)]
pub fn send<V: Vector, const K: usize>(
    sender: Sender<'_, V, K>,
    ejected_tags: &mut [V],
    settings: &Settings<V>,
    behind: &Full<V>,
    column: &Position<V>,
    row: &Position<V>,
    rules: &Rules,
) -> (Events<V>, [V; 4], V) {
    let Sender { block, counters, slots, slots_used, packet, links } = sender;
    let widths = rules.widths;
    let (x_slot, y_slot, headers) = (widths.x_slot(), widths.y_slot(), widths.headers);
    let (x_data, y_bits) = (widths.x_data(), widths.y_data());
    let (x_slots, y_slots) = slots.split_at_mut(X_QUEUES * headers * x_slot);

    // What is at the front of each queue.
    let mut ready = [V::zero(); QUEUES];
    let mut head = [V::ones(); QUEUES];
    let mut tail = [V::ones(); QUEUES];
    for queue in 0..QUEUES {
        for &bit in &counters[queue * widths.counter..][..widths.counter] {
            head[queue] = head[queue] & bit;
            tail[queue] = tail[queue] & !bit;
        }
    }
    for queue in 0..LINK_QUEUES {
        let occupancy = &block.occupancy[queue];
        let mut some = occupancy[K - 1];
        for bit in 0..K - 1 {
            some =
                some | if K == 3 || rules.offset >> bit & 1 == 0 { occupancy[bit] } else { !occupancy[bit] };
        }
        ready[queue] = some;
    }
    ready[QUEUES - 1] = packet[0];

    let front_x = |owned: &[[V; 4]; 4], q: usize| ready[q] & head[q] & !or_all(owned[q]);
    let front_y = |owned: &[[V; 2]; 6], q: usize| ready[4 + q] & head[4 + q] & !or_all(owned[q]);
    let asks = Requests {
        x: std::array::from_fn(|q| {
            let slot = &x_slots[q * headers * x_slot..][..x_slot];
            let (front, turns, arrives, minus) = (front_x(&block.owned_x, q), slot[0], slot[1], slot[2]);
            let turning = front & turns;
            let to_y = turning & !arrives;
            [front & !turns, to_y & !minus, to_y & minus, turning & arrives]
        }),
        y: std::array::from_fn(|q| {
            let arrives = y_slots[q * headers * y_slot];
            let front = front_y(&block.owned_y, q);
            [front & !arrives, front & arrives]
        }),
        p: {
            let front = ready[10] & head[10] & !or_all(block.owned_p);
            std::array::from_fn(|output| front & packet[1 + output])
        },
    };
    select_queues(block, &asks, settings);

    // Channel selection: owned, a flit ready, and space behind.
    let Block { owned_x: ox, owned_y: oy, owned_p: op, precedence, .. } = block;
    let mut send_x = [[V::zero(); 2]; 2];
    for d in 0..2 {
        let crosses = if d == 0 { column.above } else { column.below };
        let full = behind.x[d];
        let candidates = [
            ((ox[2 * d][0] & ready[2 * d]) | (op[d] & ready[10])) & !crosses.select(full[1], full[0]),
            ox[2 * d + 1][0] & ready[2 * d + 1] & !full[1],
        ];
        send_x[d] = choose(candidates, &mut precedence.label_x[d], &settings.schemes[d]);
    }
    let mut send_y = [[V::zero(); 3]; 2];
    for e in 0..2 {
        let (crosses, turn) = (if e == 0 { row.above } else { row.below }, 1 + e);
        let full = behind.y[e];
        let from_x = |q: usize| ox[q][turn] & ready[q];
        let from_y = |c: usize| oy[3 * e + c][0] & ready[4 + 3 * e + c];
        let candidates = [
            or_all([from_y(0), from_x(0), from_x(2), op[2 + e] & ready[10]])
                & !crosses.select(full[1], full[0]),
            or_all([from_y(1), from_x(1), from_x(3)]) & !crosses.select(full[2], full[1]),
            from_y(2) & !full[2],
        ];
        send_y[e] = choose(candidates, &mut precedence.label_y[e], &settings.schemes[2 + e]);
    }
    let send_p = {
        let from_x = |q: usize| ox[q][3] & ready[q];
        let from_y = |q: usize| oy[q][1] & ready[4 + q];
        let candidates = [
            or_all([from_x(0), from_x(2), from_y(0), from_y(3), op[4] & ready[10]]),
            or_all([from_x(1), from_x(3), from_y(1), from_y(4)]),
            from_y(2) | from_y(5),
        ];
        choose(candidates, &mut precedence.label_p, &settings.schemes[4])
    };

    // Departures.
    let flow_x: [[V; 4]; X_QUEUES] = std::array::from_fn(|q| {
        let (d, c) = (q / 2, q % 2);
        [ox[q][0] & send_x[d][c], ox[q][1] & send_y[0][c], ox[q][2] & send_y[1][c], ox[q][3] & send_p[c]]
    });
    let flow_y: [[V; 2]; Y_QUEUES] = std::array::from_fn(|q| {
        let (e, c) = (q / 3, q % 3);
        [oy[q][0] & send_y[e][c], oy[q][1] & send_p[c]]
    });
    let flow_p: [V; 5] = [
        op[0] & send_x[0][0],
        op[1] & send_x[1][0],
        op[2] & send_y[0][0],
        op[3] & send_y[1][0],
        op[4] & send_p[0],
    ];
    let mut leaves = [V::zero(); QUEUES];
    for q in 0..X_QUEUES {
        leaves[q] = or_all(flow_x[q]);
    }
    for q in 0..Y_QUEUES {
        leaves[4 + q] = or_all(flow_y[q]);
    }
    leaves[10] = or_all(flow_p);

    // Links: which label sends, and the data of the header if it is one.
    let sends = [or_all(send_x[0]), or_all(send_x[1]), or_all(send_y[0]), or_all(send_y[1])];
    let (x_links, y_links) = links.split_at_mut(2 * widths.x_link());
    for d in 0..2 {
        let link = &mut x_links[d * widths.x_link()..][..widths.x_link()];
        let flows = [flow_x[2 * d][0], flow_x[2 * d + 1][0], flow_p[d]];
        link[0] = send_x[d][0];
        link[1] = send_x[d][1];
        link[2] = or_all([flows[0] & head[2 * d], flows[1] & head[2 * d + 1], flows[2] & head[10]]);
        let from0 = &x_slots[2 * d * headers * x_slot + X_ROUTE..][..x_data];
        let from1 = &x_slots[(2 * d + 1) * headers * x_slot + X_ROUTE..][..x_data];
        let from_p = &packet[P_ROUTE..][..x_data];
        let data = &mut link[X_LINK..][..x_data];
        for bit in 0..x_data {
            data[bit] = (flows[0] & from0[bit]) | (flows[1] & from1[bit]) | (flows[2] & from_p[bit]);
        }
    }
    let y_of_x = X_ROUTE + 1 + widths.x;
    for e in 0..2 {
        let link = &mut y_links[e * widths.y_link()..][..widths.y_link()];
        let turn = 1 + e;
        let straight: [V; 3] = std::array::from_fn(|c| flow_y[3 * e + c][0]);
        let turned: [V; 4] = std::array::from_fn(|q| flow_x[q][turn]);
        let own = flow_p[2 + e];
        link[0] = send_y[e][0];
        link[1] = send_y[e][1];
        link[2] = send_y[e][2];
        let mut is_head = own & head[10];
        for c in 0..3 {
            is_head = is_head | (straight[c] & head[4 + 3 * e + c]);
        }
        for q in 0..4 {
            is_head = is_head | (turned[q] & head[q]);
        }
        link[3] = is_head;
        let from_y: [&[V]; 3] =
            std::array::from_fn(|c| &y_slots[(3 * e + c) * headers * y_slot + Y_ROUTE..][..y_bits]);
        let from_x: [&[V]; 4] = std::array::from_fn(|q| &x_slots[q * headers * x_slot + y_of_x..][..y_bits]);
        let from_p = &packet[P_ROUTE + 1 + widths.x..][..y_bits];
        let data = &mut link[Y_LINK..][..y_bits];
        for bit in 0..y_bits {
            let mut value = own & from_p[bit];
            for c in 0..3 {
                value = value | (straight[c] & from_y[c][bit]);
            }
            for q in 0..4 {
                value = value | (turned[q] & from_x[q][bit]);
            }
            data[bit] = value;
        }
    }

    if widths.tag > 0 {
        let tag = widths.tag;
        let labels: [[(usize, V); 5]; 3] = [
            [(0, flow_x[0][3]), (2, flow_x[2][3]), (4, flow_y[0][1]), (7, flow_y[3][1]), (10, flow_p[4])],
            [(1, flow_x[1][3]), (3, flow_x[3][3]), (5, flow_y[1][1]), (8, flow_y[4][1]), (0, V::zero())],
            [(6, flow_y[2][1]), (9, flow_y[5][1]), (0, V::zero()), (0, V::zero()), (0, V::zero())],
        ];
        for (label, flows) in labels.into_iter().enumerate() {
            for (queue, flow) in flows {
                let from = match queue {
                    0..4 => &x_slots[queue * headers * x_slot + x_slot - tag..][..tag],
                    10 => &packet[P_ROUTE + x_data - tag..][..tag],
                    _ => &y_slots[(queue - X_QUEUES) * headers * y_slot + y_slot - tag..][..tag],
                };
                let ejects = flow & head[queue];
                for (kept, &new) in ejected_tags[label * tag..][..tag].iter_mut().zip(from) {
                    *kept = ejects.select(new, *kept);
                }
            }
        }
    }

    // Tails free their outputs.
    let mut delivered = V::zero();
    for q in 0..X_QUEUES {
        delivered = delivered | (flow_x[q][3] & tail[q]);
        let stays = !(leaves[q] & tail[q]);
        for output in &mut ox[q] {
            *output = *output & stays;
        }
    }
    for q in 0..Y_QUEUES {
        delivered = delivered | (flow_y[q][1] & tail[4 + q]);
        let stays = !(leaves[4 + q] & tail[4 + q]);
        for output in &mut oy[q] {
            *output = *output & stays;
        }
    }
    delivered = delivered | (flow_p[4] & tail[10]);
    let sent = leaves[10] & tail[10];
    for output in op.iter_mut() {
        *output = *output & !sent;
    }
    packet[0] = packet[0] & !sent;

    // Queues lose their front flits.
    for queue in 0..LINK_QUEUES {
        let mut borrow = leaves[queue];
        for bit in &mut block.occupancy[queue] {
            let old = *bit;
            *bit = old ^ borrow;
            borrow = borrow & !old;
        }
    }
    for queue in 0..QUEUES {
        let mut borrow = leaves[queue];
        let skip = borrow & head[queue];
        for (index, bit) in counters[queue * widths.counter..][..widths.counter].iter_mut().enumerate() {
            let old = *bit;
            *bit = old ^ borrow;
            borrow = borrow & !old;
            if rules.skip >> index & 1 == 1 {
                *bit = *bit ^ skip;
            }
        }
    }
    if headers > 1 {
        for queue in 0..LINK_QUEUES {
            let gone = leaves[queue] & head[queue];
            let (slots, width) = if queue < X_QUEUES {
                (&mut x_slots[queue * headers * x_slot..][..headers * x_slot], x_slot)
            } else {
                (&mut y_slots[(queue - X_QUEUES) * headers * y_slot..][..headers * y_slot], y_slot)
            };
            for index in 0..(headers - 1) * width {
                slots[index] = gone.select(slots[index + width], slots[index]);
            }
            let used = &mut slots_used[queue * headers..][..headers];
            for index in 0..headers {
                let next = if index + 1 < headers { used[index + 1] } else { V::zero() };
                used[index] = gone.select(next, used[index]);
            }
        }
    }

    // Count flit-hops modulo 4 in place; every fourth is an event.
    let [ones, twos] = block.hops;
    let three = |a: V, b: V, c: V| (a ^ b ^ c, (a & b) | (c & (a ^ b)));
    let (ones, carry0) = three(ones, sends[0], sends[1]);
    let (ones, carry1) = three(ones, sends[2], sends[3]);
    let (twos, four_hops) = three(twos, carry0, carry1);
    block.hops = [ones, twos];

    (Events { delivered, sent, four_hops }, sends, or_all(send_p))
}

/// The planes of a block that [`receive`] changes.
pub struct Receiver<'a, V, const K: usize> {
    /// Planes of fixed number.
    pub block: &'a mut Block<V, K>,
    /// Headers in the queues.
    pub slots: &'a mut [V],
    /// Slots in use, where queues can hold several headers.
    pub slots_used: &'a mut [V],
    /// Which queues are full.
    pub full: &'a mut Full<V>,
}

/// Puts the header on a link into the slots of a queue; `known` are the route planes, `data` the
/// rest of a slot.
#[inline(always)]
fn store<V: Vector>(slots: &mut [V], used: &mut [V], comes: V, known: &[V], data: &[V], headers: usize) {
    let width = known.len() + data.len();
    if headers == 1 {
        let (route, rest) = slots.split_at_mut(known.len());
        for (slot, &new) in route.iter_mut().zip(known) {
            *slot = comes.select(new, *slot);
        }
        for (slot, &new) in rest.iter_mut().zip(data) {
            *slot = comes.select(new, *slot);
        }
        return;
    }
    let mut free_before = V::ones();
    for index in 0..headers {
        let here = comes & free_before & !used[index];
        free_before = used[index];
        let slot = &mut slots[index * width..][..width];
        for (slot, &new) in slot.iter_mut().zip(known.iter().chain(data)) {
            *slot = here.select(new, *slot);
        }
        used[index] = used[index] | here;
    }
}

#[inline(always)]
fn equals<V: Vector>(data: &[V], own: &[V]) -> V {
    let mut equal = V::ones();
    for (&bit, &own) in data.iter().zip(own) {
        equal = equal & !(bit ^ own);
    }
    equal
}

#[inline(always)]
fn add<V: Vector, const K: usize>(occupancy: &mut [V; K], comes: V) {
    let mut carry = comes;
    for bit in occupancy {
        let old = *bit;
        *bit = old ^ carry;
        carry = carry & old;
    }
}

/// What comes over an x link (`d`: 0 for +x, 1 for -x).
#[inline(always)]
pub fn receive_x<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    d: usize,
    link: &[V],
    column: &Position<V>,
    row: &Position<V>,
    widths: Widths,
) {
    let crossed = if d == 0 { column.below } else { column.above };
    let (headers, width) = (widths.headers, widths.x_slot());
    let link = &link[..widths.x_link()];
    let comes = [link[0] & !crossed, link[1] | (link[0] & crossed)];
    let data = &link[X_LINK..];
    let turns = equals(&data[1..1 + widths.x], &column.coordinate);
    let arrives = equals(&data[1 + widths.x..], &row.coordinate);
    for c in 0..2 {
        let queue = 2 * d + c;
        let slots = &mut receiver.slots[queue * headers * width..][..headers * width];
        let used: &mut [V] =
            if headers > 1 { &mut receiver.slots_used[queue * headers..][..headers] } else { &mut [] };
        store(slots, used, comes[c] & link[2], &[turns, arrives], data, headers);
        add(&mut receiver.block.occupancy[queue], comes[c]);
        receiver.full.x[d][c] = receiver.block.occupancy[queue][K - 1];
    }
}

/// What comes over a y link (`e`: 0 for +y, 1 for -y).
#[inline(always)]
pub fn receive_y<V: Vector, const K: usize>(
    receiver: &mut Receiver<'_, V, K>,
    e: usize,
    link: &[V],
    row: &Position<V>,
    widths: Widths,
) {
    let crossed = if e == 0 { row.below } else { row.above };
    let (headers, width) = (widths.headers, widths.y_slot());
    let link = &link[..widths.y_link()];
    let comes = [link[0] & !crossed, crossed.select(link[0], link[1]), link[2] | (link[1] & crossed)];
    let data = &link[Y_LINK..];
    let arrives = equals(data, &row.coordinate);
    let (_, y_slots) = receiver.slots.split_at_mut(X_QUEUES * headers * widths.x_slot());
    for c in 0..3 {
        let queue = 3 * e + c;
        let slots = &mut y_slots[queue * headers * width..][..headers * width];
        let used: &mut [V] = if headers > 1 {
            &mut receiver.slots_used[(X_QUEUES + queue) * headers..][..headers]
        } else {
            &mut []
        };
        store(slots, used, comes[c] & link[3], &[arrives], data, headers);
        let occupancy = &mut receiver.block.occupancy[X_QUEUES + queue];
        add(occupancy, comes[c]);
        receiver.full.y[e][c] = occupancy[K - 1];
    }
}
