//! A cycle in pieces: rows of blocks that threads do side by side.
//!
//! Whatever a block changes in a phase of the cycle is its own, and what it reads of others none of
//! them changes in that phase: sending, it reads which of their queues are full; receiving, it reads
//! what they sent.

use super::{
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, QUEUES, X_QUEUES, XRow, Y_QUEUES, YRow,
    },
    cycle::{Incoming, More, Receiver, Rules, Sender, receive_x, receive_y, send},
    genes::Genes,
    lanes::{Position, Rotation},
    occupation::Uses,
    vector::{Available, Task, Vector},
};

/// What does not change in a cycle.
#[derive(Clone, Copy)]
pub struct Fixed<'a, V: Vector> {
    pub proof: Available<V>,
    pub rules: Rules,
    /// Blocks in x and y.
    pub wide: usize,
    pub high: usize,
    pub cycle: u64,
    pub columns: &'a [Position<V>],
    pub rows: &'a [Position<V>],
    pub rotations: &'a [Rotation<V>; 4],
}

/// What does not change while blocks send.
#[derive(Clone, Copy)]
pub struct Settled<'a, V: Vector> {
    pub fixed: Fixed<'a, V>,
    pub genes: &'a Genes<V>,
    pub full: &'a [Full<V>],
    pub packet_rows: &'a [V],
}

/// What does not change while blocks receive.
#[derive(Clone, Copy)]
pub struct Sent<'a, V: Vector> {
    pub fixed: Fixed<'a, V>,
    pub links: &'a [Links<V>],
    pub x_links: &'a [LinkRow<V>],
    pub y_links: &'a [LinkRow<V>],
}

/// Rows of blocks that send.
pub struct Sending<'a, V: Vector, const K: usize> {
    pub first: usize,
    pub rows: usize,
    pub blocks: &'a mut [Block<V, K>],
    pub counters: &'a mut [[V; QUEUES]],
    pub x_rows: &'a mut [XRow<V>],
    pub y_rows: &'a mut [YRow<V>],
    pub more_x: &'a mut [[V; X_QUEUES]],
    pub more_y: &'a mut [[V; Y_QUEUES]],
    pub used: &'a mut [[V; LINK_QUEUES]],
    pub packets: &'a mut [Packet<V>],
    pub links: &'a mut [Links<V>],
    pub x_links: &'a mut [LinkRow<V>],
    pub y_links: &'a mut [LinkRow<V>],
    pub ejected_tags: &'a mut [[V; 3]],
    pub events: &'a mut [Events<V>],
    pub uses: Option<Uses<'a, V>>,
}

/// Rows of blocks that receive.
pub struct Receiving<'a, V: Vector, const K: usize> {
    pub first: usize,
    pub rows: usize,
    pub blocks: &'a mut [Block<V, K>],
    pub x_rows: &'a mut [XRow<V>],
    pub y_rows: &'a mut [YRow<V>],
    pub more_x: &'a mut [[V; X_QUEUES]],
    pub more_y: &'a mut [[V; Y_QUEUES]],
    pub used: &'a mut [[V; LINK_QUEUES]],
    pub full: &'a mut [Full<V>],
}

/// Part `index` of rows kept together for all blocks.
#[inline(always)]
fn part<T>(rows: &mut [T], index: usize, each: usize) -> &mut [T] {
    &mut rows[index * each..][..each]
}

impl<V: Vector, const K: usize> Sending<'_, V, K> {
    /// They send, in as many parts as there are threads; what was moved and ejected.
    #[inline(never)]
    pub fn send_in_parts(self, others: &Settled<'_, V>, parts: usize) -> (V, V) {
        if parts == 1 {
            return V::enter(others.fixed.proof, Send { rows: self, others });
        }
        let half = parts / 2;
        let at = self.rows * half / parts;
        let (before, behind) = self.split_at(at, &others.fixed);
        let (a, b) =
            rayon::join(|| before.send_in_parts(others, half), || behind.send_in_parts(others, parts - half));
        (a.0 | b.0, a.1 | b.1)
    }

    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        let blocks = self.blocks.split_at_mut(count);
        let counters = self.counters.split_at_mut(count * widths.counter);
        let x_rows = self.x_rows.split_at_mut(count * widths.x_data());
        let y_rows = self.y_rows.split_at_mut(count * widths.y_data());
        let more_x = self.more_x.split_at_mut(count * widths.more_x());
        let more_y = self.more_y.split_at_mut(count * widths.more_y());
        let used = self.used.split_at_mut(count * widths.used());
        let packets = self.packets.split_at_mut(count);
        let links = self.links.split_at_mut(count);
        let x_links = self.x_links.split_at_mut(count * widths.x_data());
        let y_links = self.y_links.split_at_mut(count * widths.y_data());
        let ejected_tags = self.ejected_tags.split_at_mut(count * widths.tag);
        let events = self.events.split_at_mut(count);
        let uses = match self.uses.map(|uses| uses.split_at(count)) {
            Some((before, behind)) => (Some(before), Some(behind)),
            None => (None, None),
        };
        let before = Self {
            first: self.first,
            rows,
            blocks: blocks.0,
            counters: counters.0,
            x_rows: x_rows.0,
            y_rows: y_rows.0,
            more_x: more_x.0,
            more_y: more_y.0,
            used: used.0,
            packets: packets.0,
            links: links.0,
            x_links: x_links.0,
            y_links: y_links.0,
            ejected_tags: ejected_tags.0,
            events: events.0,
            uses: uses.0,
        };
        let behind = Self {
            first: self.first + rows,
            rows: self.rows - rows,
            blocks: blocks.1,
            counters: counters.1,
            x_rows: x_rows.1,
            y_rows: y_rows.1,
            more_x: more_x.1,
            more_y: more_y.1,
            used: used.1,
            packets: packets.1,
            links: links.1,
            x_links: x_links.1,
            y_links: y_links.1,
            ejected_tags: ejected_tags.1,
            events: events.1,
            uses: uses.1,
        };
        (before, behind)
    }

    /// They send; what was moved and ejected.
    #[inline(always)]
    pub fn send(mut self, others: &Settled<'_, V>) -> (V, V) {
        let Settled { fixed, genes, full, packet_rows } = *others;
        let Fixed { rules, wide, high, cycle, columns, rows, rotations, .. } = fixed;
        let widths = rules.widths;
        let (mut moved, mut ejected) = (V::zero(), V::zero());
        for own in 0..self.rows {
            let by = self.first + own;
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
                    block: &mut self.blocks[own],
                    counters: part(self.counters, own, widths.counter),
                    x_rows: part(self.x_rows, own, widths.x_data()),
                    y_rows: part(self.y_rows, own, widths.y_data()),
                    more: More {
                        x: part(self.more_x, own, widths.more_x()),
                        y: part(self.more_y, own, widths.more_y()),
                        used: part(self.used, own, widths.used()),
                    },
                    packet: &mut self.packets[own],
                    packet_rows: &packet_rows[index * widths.x_data()..][..widths.x_data()],
                    links: &mut self.links[own],
                    x_links: part(self.x_links, own, widths.x_data()),
                    y_links: part(self.y_links, own, widths.y_data()),
                    ejected_tags: part(self.ejected_tags, own, widths.tag),
                };
                let sent = send(sender, genes.settings(index), &behind, &columns[bx], &rows[by], &rules);
                let (block_events, sends, ejects) = sent;
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

impl<V: Vector, const K: usize> Receiving<'_, V, K> {
    /// They receive, in as many parts as there are threads.
    #[inline(never)]
    pub fn receive_in_parts(self, sent: &Sent<'_, V>, parts: usize) {
        if parts == 1 {
            return V::enter(sent.fixed.proof, Receive { rows: self, sent });
        }
        let half = parts / 2;
        let at = self.rows * half / parts;
        let (before, behind) = self.split_at(at, &sent.fixed);
        rayon::join(|| before.receive_in_parts(sent, half), || behind.receive_in_parts(sent, parts - half));
    }

    /// The first so many rows, and the others.
    fn split_at(self, rows: usize, fixed: &Fixed<'_, V>) -> (Self, Self) {
        let (count, widths) = (rows * fixed.wide, fixed.rules.widths);
        let blocks = self.blocks.split_at_mut(count);
        let x_rows = self.x_rows.split_at_mut(count * widths.x_data());
        let y_rows = self.y_rows.split_at_mut(count * widths.y_data());
        let more_x = self.more_x.split_at_mut(count * widths.more_x());
        let more_y = self.more_y.split_at_mut(count * widths.more_y());
        let used = self.used.split_at_mut(count * widths.used());
        let full = self.full.split_at_mut(count);
        let before = Self {
            first: self.first,
            rows,
            blocks: blocks.0,
            x_rows: x_rows.0,
            y_rows: y_rows.0,
            more_x: more_x.0,
            more_y: more_y.0,
            used: used.0,
            full: full.0,
        };
        let behind = Self {
            first: self.first + rows,
            rows: self.rows - rows,
            blocks: blocks.1,
            x_rows: x_rows.1,
            y_rows: y_rows.1,
            more_x: more_x.1,
            more_y: more_y.1,
            used: used.1,
            full: full.1,
        };
        (before, behind)
    }

    /// They receive.
    #[inline(always)]
    pub fn receive(self, sent: &Sent<'_, V>) {
        let Sent {
            fixed: Fixed { rules, wide, high, columns, rows, rotations, .. },
            links,
            x_links,
            y_links,
        } = *sent;
        let widths = rules.widths;
        let (x_data, y_data) = (widths.x_data(), widths.y_data());
        for own in 0..self.rows {
            let by = self.first + own;
            let row = &rows[by];
            for (bx, column) in columns[..wide].iter().enumerate() {
                let (index, own) = (by * wide + bx, own * wide + bx);
                let mut receiver = Receiver {
                    block: &mut self.blocks[own],
                    x_rows: part(self.x_rows, own, x_data),
                    y_rows: part(self.y_rows, own, y_data),
                    more: More {
                        x: part(self.more_x, own, widths.more_x()),
                        y: part(self.more_y, own, widths.more_y()),
                        used: part(self.used, own, widths.used()),
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
