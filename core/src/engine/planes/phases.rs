//! What a machine does in a cycle: all blocks send, then all receive, or rows do both in one sweep.

use super::{
    injection::{Counting, Packets},
    lanes::Rotation,
    machine::{ANY, Machine, PUBLISHED, PacketTags, USUAL},
    occupation::Occupation,
    row_partition::{Filling, Fixed, Receiving, Rows, Sending, Sent, Settled, Still},
};
use crate::{
    bits::{Task, Vector, words},
    engine::protocol::{Motion, Quiescence, advance},
    probe::Probe,
};

/// Pieces of a phase per thread, so that threads that come late leave some to others.
const PIECES: usize = 3;
/// Cycles of a sweep through all rows.
const CYCLES: usize = 4;
/// Rows by which a cycle of a sweep is behind the one before it.
const LAG: usize = 4;
/// What does not change in a cycle.
macro_rules! fixed {
    ($machine:ident, $kind:expr, $cycle:expr) => {{
        let (rules, wide, high) = $machine.constants::<{ $kind }>();
        Fixed {
            proof: $machine.proof,
            rules,
            wide,
            high,
            cycle: $cycle,
            columns: &$machine.columns,
            rows: &$machine.rows,
            rotations: if $kind == ANY { $machine.rotations } else { Rotation::usual(&$machine.rotations) },
        }
    }};
}

/// All rows of blocks.
macro_rules! all_rows {
    ($machine:ident, $high:expr) => {
        Rows {
            first: 0,
            rows: $high,
            blocks: &mut $machine.blocks,
            x_rows: &mut $machine.x_rows,
            y_rows: &mut $machine.y_rows,
            more_x: &mut $machine.more_x,
            more_y: &mut $machine.more_y,
            used: &mut $machine.used,
        }
    };
}

/// All rows as they send, and what does not change while they do.
macro_rules! sending {
    ($machine:ident, $fixed:expr) => {{
        let fixed = $fixed;
        let rows = Sending {
            of: all_rows!($machine, fixed.high),
            counters: &mut $machine.counters,
            packets: &mut $machine.packets,
            links: &mut $machine.links,
            x_links: &mut $machine.x_links,
            y_links: &mut $machine.y_links,
            ejected_tags: &mut $machine.ejected_tags,
            events: &mut $machine.events,
            registers: &mut $machine.registers,
            uses: $machine.occupation.as_mut().map(Occupation::all),
        };
        let packet_rows = &$machine.packet_rows;
        let exempt = &$machine.exempt;
        (
            rows,
            Settled {
                fixed,
                arbitration_planes: &$machine.arbitration_planes,
                full: &$machine.full,
                packet_rows,
                exempt,
            },
        )
    }};
}

/// All rows as they receive, and what does not change while they do.
macro_rules! receiving {
    ($machine:ident, $fixed:expr, $start:expr) => {{
        let fixed = $fixed;
        let rows = Receiving {
            of: all_rows!($machine, fixed.high),
            full: &mut $machine.full,
            injection: if $machine.in_batches { &mut [] } else { &mut $machine.injection.rows },
            packets: &mut $machine.packets,
            packet_rows: &mut $machine.packet_rows,
        };
        let sent = Sent {
            fixed,
            counting: Counting { fingerprints: $machine.fingerprints, start: $start },
            events: &$machine.events,
            common: &$machine.injection.common,
            links: &$machine.links,
            x_links: &$machine.x_links,
            y_links: &$machine.y_links,
        };
        (rows, sent)
    }};
}

impl<V: Vector, const K: usize> Machine<V, K> {
    /// All blocks send, in as many parts; with registers, flits go into them first.
    #[inline(always)]
    fn send_all<const KIND: u8>(&mut self, cycle: u64) -> (bool, V) {
        let (rules, _, high) = self.constants::<KIND>();
        let pieces = self.parts_of_phase(high);
        if let Some(occupation) = &mut self.occupation {
            occupation.reserve(cycle);
        }
        let mut filled = V::zero();
        if rules.registers {
            let fixed = fixed!(self, KIND, cycle);
            let rows = Filling {
                of: all_rows!(self, fixed.high),
                counters: &mut self.counters,
                packets: &mut self.packets,
                events: &mut self.events,
                registers: &mut self.registers,
                full: &mut self.full,
            };
            let others = Still { fixed, arbitration_planes: &self.arbitration_planes, exempt: &self.exempt };
            filled = if KIND == ANY { rows.fill_in_parts(&others, pieces) } else { rows.fill(&others) };
        }
        let (rows, others) = sending!(self, fixed!(self, KIND, cycle));
        // Where the compiler knows the numbers, there is one block.
        let (moved, ejected) =
            if KIND == ANY { rows.send_in_parts(&others, pieces) } else { rows.send(&others) };
        ((moved | filled).any(), ejected)
    }

    /// All blocks receive and what they sent is counted, in as many parts.
    #[inline(always)]
    fn receive_all<const KIND: u8>(&mut self, cycle: u64) {
        let (_, _, high) = self.constants::<KIND>();
        let pieces = self.parts_of_phase(high);
        let start = self.note_ejected(cycle);
        let (rows, sent) = receiving!(self, fixed!(self, KIND, cycle), start);
        if KIND == ANY {
            rows.receive_in_parts(&sent, pieces);
        } else {
            rows.receive(&sent);
        }
        if let Some(batch_sources) = &mut self.batch_sources
            && self.in_batches
        {
            batch_sources.count(&self.events, cycle);
            if start {
                batch_sources.start(cycle + 1, &mut self.packets);
            }
        }
    }

    /// Every row sends and receives while it is at hand: it receives when its neighbours have sent, and no
    /// row that has yet to send looks at it. The next cycle follows some rows behind, where its neighbours
    /// have received, and begins two rows further, so that it is behind all the way round.
    fn sweep(&mut self, cycle: u64, cycles: usize) {
        let (_, _, high) = self.constants::<ANY>();
        if let Some(occupation) = &mut self.occupation {
            occupation.reserve(cycle + cycles as u64 - 1);
        }
        let (loaded, _) = self.injection.packets();
        let mut moved = V::zero();
        let mut ejected = [V::zero(); CYCLES];
        for turn in 0..=high + LAG * (cycles - 1) {
            for (ahead, ejected) in ejected[..cycles].iter_mut().enumerate() {
                let Some(step) = turn.checked_sub(LAG * ahead).filter(|&step| step <= high) else { continue };
                let now = cycle + ahead as u64;
                let row = |step: usize| (2 * ahead + step) % high;
                if step == high {
                    self.receive_row(row(high - 1), now);
                    self.receive_row(row(0), now);
                    continue;
                }
                let (rows, others) = sending!(self, fixed!(self, ANY, now));
                let of_row = rows.row(row(step), &others.fixed).send_in_parts(&others, 1);
                moved = moved | of_row.0;
                *ejected = *ejected | of_row.1;
                if step >= 2 {
                    self.receive_row(row(step - 1), now);
                }
            }
        }
        for (now, ejected) in (cycle..).zip(&ejected[..cycles]) {
            self.ejected = *ejected;
            self.note_ejected(now);
        }
        self.pace.moves =
            moved.any() || !self.injection.is_exhausted() || self.injection.packets().0 > loaded;
    }

    fn receive_row(&mut self, row: usize, cycle: u64) {
        let start = cycle + 1 < self.pace.until;
        let (rows, sent) = receiving!(self, fixed!(self, ANY, cycle), start);
        rows.row(row, &sent.fixed).receive_in_parts(&sent, 1);
    }

    /// Whether one sweep may do the cycles from one on: packets are to come, the last of which is not delivered
    /// before the last of these cycles, and tags stay as they are.
    fn sweeps_on(&self, cycle: u64) -> bool {
        let (end, PacketTags { from, check }) = (cycle + CYCLES as u64, self.tags);
        let changes = |at: u64| cycle < at && at < end;
        let same = !changes(from) && !check.is_some_and(changes);
        let counts = CYCLES <= self.length as usize + 1 && !self.injection.is_exhausted();
        self.is_swept() && same && end <= self.pace.until && counts
    }

    /// Notes who ejected a flit; whether the packets of the next cycle start.
    #[inline(always)]
    fn note_ejected(&mut self, cycle: u64) -> bool {
        let per_copy = self.tiling.words_per_copy();
        for (duration, words) in self.durations.iter_mut().zip(words(&[self.ejected]).chunks_exact(per_copy))
        {
            if words.iter().any(|&word| word != 0) {
                *duration = cycle + 2;
            }
        }
        let start = cycle + 1 < self.pace.until;
        if start {
            self.pace.started = cycle + 1;
        }
        start
    }

    /// Pieces of a phase of so many rows.
    #[inline(always)]
    fn parts_of_phase(&self, high: usize) -> usize {
        let parts = self.parts();
        if parts == 1 { 1 } else { (PIECES * parts).min(high) }
    }
}

/// Some cycles, compiled for the vector's instruction set.
pub(super) struct Span<'a, V: Vector, const K: usize> {
    pub machine: &'a mut Machine<V, K>,
    pub cycle: &'a mut u64,
    pub until: u64,
}

impl<V: Vector, const K: usize> Task for Span<'_, V, K> {
    type Output = Option<Quiescence>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { machine, cycle, until } = self;
        while machine.sweeps_on(*cycle) {
            if !machine.decide(*cycle, None) {
                return Some(machine.rest(*cycle));
            }
            machine.sweep(*cycle, CYCLES);
            machine.account(*cycle);
            *cycle += CYCLES as u64;
        }
        advance(machine, cycle, until, None)
    }
}

/// All blocks send; `KIND` as in [`Machine::constants`].
struct SendAll<'a, V: Vector, const K: usize, const KIND: u8> {
    machine: &'a mut Machine<V, K>,
    cycle: u64,
}

impl<V: Vector, const K: usize, const KIND: u8> Task for SendAll<'_, V, K, KIND> {
    type Output = (bool, V);

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.machine.send_all::<KIND>(self.cycle)
    }
}

/// All blocks receive.
struct ReceiveAll<'a, V: Vector, const K: usize, const KIND: u8> {
    machine: &'a mut Machine<V, K>,
    cycle: u64,
}

impl<V: Vector, const K: usize, const KIND: u8> Task for ReceiveAll<'_, V, K, KIND> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.machine.receive_all::<KIND>(self.cycle);
    }
}

impl<V: Vector, const K: usize> Motion for Machine<V, K> {
    #[inline(always)]
    fn decide(&mut self, cycle: u64, _probe: Option<&mut dyn Probe>) -> bool {
        if self.rules.widths.tag == 0 {
            if cycle >= self.tags.from {
                self.begin_tags();
            }
        } else if self.tags.check.is_some_and(|at| cycle >= at) {
            self.check_tags(cycle);
        }
        if self.pace.started != cycle {
            match &mut self.batch_sources {
                Some(batch_sources) if self.in_batches => batch_sources.start(cycle, &mut self.packets),
                _ => {
                    let rows = self.rules.widths.x_data();
                    let mut packets =
                        Packets { packets: &mut self.packets, data: &mut self.packet_rows, rows };
                    self.injection.start_due(cycle, &mut packets);
                }
            }
            self.pace.moves = true;
        }
        let (loaded, delivered) = self.progress();
        if loaded == delivered {
            return false;
        }
        if self.is_swept() {
            return self.pace.moves;
        }
        // Functions of their own, since compilers take long over one for everything. PacketTags change
        // the rules under way.
        let (proof, kind) = (self.proof, self.kind());
        let (moved, ejected) = match kind {
            USUAL => V::enter(proof, SendAll::<V, K, USUAL> { machine: self, cycle }),
            PUBLISHED => V::enter(proof, SendAll::<V, K, PUBLISHED> { machine: self, cycle }),
            _ => V::enter(proof, SendAll::<V, K, ANY> { machine: self, cycle }),
        };
        self.ejected = ejected;
        // What could be granted was granted in this cycle, and still nothing moved: only a new
        // packet can change anything.
        moved || !self.is_exhausted()
    }

    #[inline(always)]
    fn arrive(&mut self, cycle: u64) {
        let proof = self.proof;
        match self.kind() {
            _ if self.is_swept() => self.sweep(cycle, 1),
            USUAL => V::enter(proof, ReceiveAll::<V, K, USUAL> { machine: self, cycle }),
            PUBLISHED => V::enter(proof, ReceiveAll::<V, K, PUBLISHED> { machine: self, cycle }),
            _ => V::enter(proof, ReceiveAll::<V, K, ANY> { machine: self, cycle }),
        }
    }

    #[inline(always)]
    fn account(&mut self, _cycle: u64) {
        self.forget_delivered();
    }

    fn rest(&self, cycle: u64) -> Quiescence {
        let (loaded, delivered) = self.progress();
        if delivered < loaded {
            return Quiescence::Stuck;
        }
        let next = match &self.batch_sources {
            Some(batch_sources) if self.in_batches => batch_sources.next_event(cycle),
            _ => self.injection.next_event(cycle),
        };
        next.map_or(Quiescence::Finished, Quiescence::Until)
    }
}
