//! A cycle in pieces: rows of blocks that threads do side by side.
//!
//! Whatever a block changes in a phase of the cycle is its own, and what it reads of others none of
//! them changes in that phase: sending, it reads which of their queues are full; receiving, it reads
//! what they sent.

use super::{
    arbitration_planes::ArbitrationPlanes,
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, QUEUES, X_QUEUES, XRow, Y_QUEUES, YRow,
    },
    cycle::{More, Rules, Sender, send},
    injection::{self, Common, Counting, Packets},
    lanes::{Position, Rotation},
    occupation::Uses,
    receive::{Incoming, Receiver, receive_x, receive_y},
    registers::{Crossing, Registers, cross, send_registers},
};
use crate::bits::{Available, Task, Vector};

/// What does not change in a cycle.
#[derive(Clone, Copy)]
pub(super) struct Fixed<'a, V: Vector> {
    pub proof: Available<V>,
    pub rules: Rules,
    /// Blocks in x and y.
    pub wide: usize,
    pub high: usize,
    pub cycle: u64,
    pub columns: &'a [Position<V>],
    pub rows: &'a [Position<V>],
    pub rotations: [Rotation<V>; 4],
}

/// What does not change while blocks send.
#[derive(Clone, Copy)]
pub(super) struct Settled<'a, V: Vector> {
    pub fixed: Fixed<'a, V>,
    pub arbitration_planes: &'a ArbitrationPlanes<V>,
    pub full: &'a [Full<V>],
    pub packet_rows: &'a [V],
    /// Per block, if there are any; see [`send`].
    pub exempt: &'a [[V; 4]],
}

/// What does not change while flits go from queues into registers.
#[derive(Clone, Copy)]
pub(super) struct Still<'a, V: Vector> {
    pub fixed: Fixed<'a, V>,
    pub arbitration_planes: &'a ArbitrationPlanes<V>,
    pub exempt: &'a [[V; 4]],
}

/// What does not change while blocks receive.
#[derive(Clone, Copy)]
pub(super) struct Sent<'a, V: Vector> {
    pub fixed: Fixed<'a, V>,
    pub counting: Counting,
    pub events: &'a [Events<V>],
    pub common: &'a Common,
    pub links: &'a [Links<V>],
    pub x_links: &'a [LinkRow<V>],
    pub y_links: &'a [LinkRow<V>],
}

/// Rows of blocks, with what sending and receiving change of them.
pub(super) struct Rows<'a, V: Vector, const K: usize> {
    pub first: usize,
    pub rows: usize,
    pub blocks: &'a mut [Block<V, K>],
    pub x_rows: &'a mut [XRow<V>],
    pub y_rows: &'a mut [YRow<V>],
    pub more_x: &'a mut [[V; X_QUEUES]],
    pub more_y: &'a mut [[V; Y_QUEUES]],
    pub used: &'a mut [[V; LINK_QUEUES]],
}

/// Rows of blocks that send.
pub(super) struct Sending<'a, V: Vector, const K: usize> {
    pub of: Rows<'a, V, K>,
    pub counters: &'a mut [[V; QUEUES]],
    pub packets: &'a mut [Packet<V>],
    pub links: &'a mut [Links<V>],
    pub x_links: &'a mut [LinkRow<V>],
    pub y_links: &'a mut [LinkRow<V>],
    pub ejected_tags: &'a mut [[V; 3]],
    pub events: &'a mut [Events<V>],
    pub registers: &'a mut [Registers<V>],
    pub uses: Option<Uses<'a, V>>,
}

/// Rows of blocks whose flits go from queues into registers.
pub(super) struct Filling<'a, V: Vector, const K: usize> {
    pub of: Rows<'a, V, K>,
    pub counters: &'a mut [[V; QUEUES]],
    pub packets: &'a mut [Packet<V>],
    pub events: &'a mut [Events<V>],
    pub registers: &'a mut [Registers<V>],
    pub full: &'a mut [Full<V>],
}

/// Rows of blocks that receive, after which what they sent is counted and their nodes are fed.
pub(super) struct Receiving<'a, V: Vector, const K: usize> {
    pub of: Rows<'a, V, K>,
    pub full: &'a mut [Full<V>],
    pub injection: &'a mut [injection::Row],
    pub packets: &'a mut [Packet<V>],
    pub packet_rows: &'a mut [V],
}

/// Both parts of a struct of slices, from both parts of each.
macro_rules! both {
    ($($field:ident: $parts:expr),+ $(,)?) => {{
        $(let $field = $parts;)+
        (Self { $($field: $field.0),+ }, Self { $($field: $field.1),+ })
    }};
}

impl<V: Vector, const K: usize> Rows<'_, V, K> {
    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        both! {
            first: (self.first, self.first + rows),
            rows: (rows, self.rows - rows),
            blocks: self.blocks.split_at_mut(count),
            x_rows: self.x_rows.split_at_mut(count * widths.x_data()),
            y_rows: self.y_rows.split_at_mut(count * widths.y_data()),
            more_x: self.more_x.split_at_mut(count * widths.more_x()),
            more_y: self.more_y.split_at_mut(count * widths.more_y()),
            used: self.used.split_at_mut(count * widths.used()),
        }
    }
}

/// Part `index` of rows kept together for all blocks.
#[inline(always)]
fn part<T>(rows: &mut [T], index: usize, each: usize) -> &mut [T] {
    &mut rows[index * each..][..each]
}

impl<V: Vector, const K: usize> Sending<'_, V, K> {
    /// They send, in as many parts as there are threads; what was moved and ejected.
    #[inline(never)]
    pub(super) fn send_in_parts(self, others: &Settled<'_, V>, parts: usize) -> (V, V) {
        if parts == 1 {
            return V::enter(others.fixed.proof, Send { rows: self, others });
        }
        let half = parts / 2;
        let at = self.of.rows * half / parts;
        let (before, behind) = self.split_at(at, &others.fixed);
        let (a, b) =
            rayon::join(|| before.send_in_parts(others, half), || behind.send_in_parts(others, parts - half));
        (a.0 | b.0, a.1 | b.1)
    }

    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        both! {
            of: self.of.split_at(rows, fixed),
            counters: self.counters.split_at_mut(count * widths.counter),
            packets: self.packets.split_at_mut(count),
            links: self.links.split_at_mut(count),
            x_links: self.x_links.split_at_mut(count * widths.x_data()),
            y_links: self.y_links.split_at_mut(count * widths.y_data()),
            ejected_tags: self.ejected_tags.split_at_mut(count * widths.tag),
            events: self.events.split_at_mut(count),
            registers: self.registers.split_at_mut(if fixed.rules.registers { count } else { 0 }),
            uses: match self.uses.map(|uses| uses.split_at(count)) {
                Some((before, behind)) => (Some(before), Some(behind)),
                None => (None, None),
            },
        }
    }

    /// One row.
    pub(super) fn row(self, row: usize, fixed: &Fixed<'_, V>) -> Self {
        self.split_at(row, fixed).1.split_at(1, fixed).0
    }

    /// They send; what was moved and ejected.
    #[inline(always)]
    pub(super) fn send(mut self, others: &Settled<'_, V>) -> (V, V) {
        let Settled { fixed, arbitration_planes, full, packet_rows, exempt } = *others;
        let Fixed { rules, wide, high, cycle, columns, rows, rotations, .. } = fixed;
        let widths = rules.widths;
        let (mut moved, mut ejected) = (V::zero(), V::zero());
        for own in 0..self.of.rows {
            let by = self.of.first + own;
            for bx in 0..wide {
                // Its place in the whole, and among these.
                let (index, own) = (by * wide + bx, own * wide + bx);
                let mut behind = full[index];
                if bx + 1 < wide {
                    behind.x[0] = full[index + 1].x[0];
                } else {
                    for c in 0..2 {
                        behind.x[0][c] = rotations[1].apply(full[index + 1 - wide].x[0][c]);
                    }
                }
                if bx > 0 {
                    behind.x[1] = full[index - 1].x[1];
                } else {
                    for c in 0..2 {
                        behind.x[1][c] = rotations[0].apply(full[index + wide - 1].x[1][c]);
                    }
                }
                if by + 1 < high {
                    behind.y[0] = full[index + wide].y[0];
                } else {
                    for c in 0..3 {
                        behind.y[0][c] = rotations[3].apply(full[bx].y[0][c]);
                    }
                }
                if by > 0 {
                    behind.y[1] = full[index - wide].y[1];
                } else {
                    for c in 0..3 {
                        behind.y[1][c] = rotations[2].apply(full[(high - 1) * wide + bx].y[1][c]);
                    }
                }
                let sender = Sender {
                    block: &mut self.of.blocks[own],
                    counters: part(self.counters, own, widths.counter),
                    x_rows: part(self.of.x_rows, own, widths.x_data()),
                    y_rows: part(self.of.y_rows, own, widths.y_data()),
                    more: More {
                        x: part(self.of.more_x, own, widths.more_x()),
                        y: part(self.of.more_y, own, widths.more_y()),
                        used: part(self.of.used, own, widths.used()),
                    },
                    packet: &mut self.packets[own],
                    packet_rows: &packet_rows[index * widths.x_data()..][..widths.x_data()],
                    links: &mut self.links[own],
                    x_links: part(self.x_links, own, widths.x_data()),
                    y_links: part(self.y_links, own, widths.y_data()),
                    ejected_tags: part(self.ejected_tags, own, widths.tag),
                };
                let (settings, place) = (arbitration_planes.settings(index), (&columns[bx], &rows[by]));
                let exempt = exempt_of(exempt, index, &rules);
                let (mut block_events, sends, ejects) = if rules.registers {
                    let registers = &mut self.registers[own];
                    send_registers(sender, registers, settings, &behind, &exempt, place, &rules)
                } else {
                    send(sender, settings, &behind, &exempt, place, &rules)
                };
                if rules.registers {
                    // What has left the processor's queue was noted before.
                    block_events.sent = self.events[own].sent;
                }
                self.events[own] = block_events;
                ejected = ejected | ejects;
                moved = moved | sends[0] | sends[1] | sends[2] | sends[3] | ejects;
                if let Some(uses) = &mut self.uses {
                    uses.record(own, cycle, sends);
                }
            }
        }
        (moved, ejected)
    }
}

/// What [`send`] calls exempt of a block.
#[inline(always)]
fn exempt_of<V: Vector>(exempt: &[[V; 4]], index: usize, rules: &Rules) -> [V; 4] {
    if rules.exempt { exempt[index] } else { [V::zero(); 4] }
}

impl<V: Vector, const K: usize> Filling<'_, V, K> {
    /// Flits go into registers, in as many parts as there are threads; whether any do.
    #[inline(never)]
    pub(super) fn fill_in_parts(self, others: &Still<'_, V>, parts: usize) -> V {
        if parts == 1 {
            return V::enter(others.fixed.proof, Fill { rows: self, others });
        }
        let half = parts / 2;
        let at = self.of.rows * half / parts;
        let (before, behind) = self.split_at(at, &others.fixed);
        let (a, b) =
            rayon::join(|| before.fill_in_parts(others, half), || behind.fill_in_parts(others, parts - half));
        a | b
    }

    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        both! {
            of: self.of.split_at(rows, fixed),
            counters: self.counters.split_at_mut(count * widths.counter),
            packets: self.packets.split_at_mut(count),
            events: self.events.split_at_mut(count),
            registers: self.registers.split_at_mut(count),
            full: self.full.split_at_mut(count),
        }
    }

    /// Flits go into registers; whether any do.
    #[inline(always)]
    pub(super) fn fill(self, others: &Still<'_, V>) -> V {
        let Still { fixed: Fixed { rules, wide, .. }, arbitration_planes, exempt } = *others;
        let widths = rules.widths;
        let mut moved = V::zero();
        for own in 0..self.of.rows * wide {
            let index = self.of.first * wide + own;
            let crossing = Crossing {
                block: &mut self.of.blocks[own],
                counters: part(self.counters, own, widths.counter),
                minus_y: &self.of.x_rows[own * widths.x_data()],
                packet: &mut self.packets[own],
                registers: &mut self.registers[own],
                full: &mut self.full[own],
            };
            let (moves, sent) = cross(
                crossing,
                arbitration_planes.settings(index),
                &exempt_of(exempt, index, &rules),
                &rules,
            );
            moved = moved | moves;
            self.events[own].sent = sent;
        }
        moved
    }
}

struct Fill<'a, V: Vector, const K: usize> {
    rows: Filling<'a, V, K>,
    others: &'a Still<'a, V>,
}

impl<V: Vector, const K: usize> Task for Fill<'_, V, K> {
    type Output = V;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.rows.fill(self.others)
    }
}

impl<V: Vector, const K: usize> Receiving<'_, V, K> {
    /// They receive, in as many parts as there are threads.
    #[inline(never)]
    pub(super) fn receive_in_parts(self, sent: &Sent<'_, V>, parts: usize) {
        if parts == 1 {
            return V::enter(sent.fixed.proof, Receive { rows: self, sent });
        }
        let half = parts / 2;
        let at = self.of.rows * half / parts;
        let (before, behind) = self.split_at(at, &sent.fixed);
        rayon::join(|| before.receive_in_parts(sent, half), || behind.receive_in_parts(sent, parts - half));
    }

    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        both! {
            of: self.of.split_at(rows, fixed),
            full: self.full.split_at_mut(count),
            injection: self.injection.split_at_mut(rows),
            packets: self.packets.split_at_mut(count),
            packet_rows: self.packet_rows.split_at_mut(count * widths.x_data()),
        }
    }

    /// One row.
    pub(super) fn row(self, row: usize, fixed: &Fixed<'_, V>) -> Self {
        self.split_at(row, fixed).1.split_at(1, fixed).0
    }

    /// They receive, and what they sent is counted.
    #[inline(always)]
    pub(super) fn receive(mut self, sent: &Sent<'_, V>) {
        let Sent {
            fixed: Fixed { rules, wide, high, columns, rows, rotations, .. },
            links,
            x_links,
            y_links,
            ..
        } = *sent;
        let widths = rules.widths;
        let (x_data, y_data) = (widths.x_data(), widths.y_data());
        for own in 0..self.of.rows {
            let by = self.of.first + own;
            let row = &rows[by];
            for (bx, column) in columns[..wide].iter().enumerate() {
                let (index, own) = (by * wide + bx, own * wide + bx);
                let mut receiver = Receiver {
                    block: &mut self.of.blocks[own],
                    x_rows: part(self.of.x_rows, own, x_data),
                    y_rows: part(self.of.y_rows, own, y_data),
                    more: More {
                        x: part(self.of.more_x, own, widths.more_x()),
                        y: part(self.of.more_y, own, widths.more_y()),
                        used: part(self.of.used, own, widths.used()),
                    },
                    full: &mut self.full[own],
                };
                // Flits that travel up come from below, those that travel down from above.
                let below = if bx == 0 { index + wide - 1 } else { index - 1 };
                let above = if bx + 1 == wide { index + 1 - wide } else { index + 1 };
                let incoming = Incoming {
                    flits: [&links[below].x[0], &links[above].x[1]],
                    data: [&x_links[below * x_data..][..x_data], &x_links[above * x_data..][..x_data]],
                    rotations: [
                        (bx == 0).then_some(&rotations[0]),
                        (bx + 1 == wide).then_some(&rotations[1]),
                    ],
                };
                receive_x(&mut receiver, &incoming, column, row, widths);
                let below = if by == 0 { (high - 1) * wide + bx } else { index - wide };
                let above = if by + 1 == high { bx } else { index + wide };
                let incoming = Incoming {
                    flits: [&links[below].y[0], &links[above].y[1]],
                    data: [&y_links[below * y_data..][..y_data], &y_links[above * y_data..][..y_data]],
                    rotations: [
                        (by == 0).then_some(&rotations[2]),
                        (by + 1 == high).then_some(&rotations[3]),
                    ],
                };
                receive_y(&mut receiver, &incoming, row, widths);
            }
        }
        self.count(sent);
    }

    #[inline(always)]
    fn count(&mut self, sent: &Sent<'_, V>) {
        let Sent { fixed: Fixed { rules, wide, cycle, .. }, counting, events, common, .. } = *sent;
        let each = rules.widths.x_data();
        for (own, row) in self.injection.iter_mut().enumerate() {
            let (first, at) = (own * wide, (self.of.first + own) * wide);
            let mut packets = Packets {
                packets: &mut self.packets[first..][..wide],
                data: &mut self.packet_rows[first * each..][..wide * each],
                rows: each,
            };
            row.count(common, &events[at..][..wide], cycle, counting, &mut packets);
        }
    }
}

struct Send<'a, V: Vector, const K: usize> {
    rows: Sending<'a, V, K>,
    others: &'a Settled<'a, V>,
}

struct Receive<'a, V: Vector, const K: usize> {
    rows: Receiving<'a, V, K>,
    sent: &'a Sent<'a, V>,
}

impl<V: Vector, const K: usize> Task for Send<'_, V, K> {
    type Output = (V, V);

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.rows.send(self.others)
    }
}

impl<V: Vector, const K: usize> Task for Receive<'_, V, K> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.rows.receive(self.sent);
    }
}
