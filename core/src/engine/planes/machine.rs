//! A network in planes: all blocks, and the loop over cycles.

use super::{
    arbitration_planes::ArbitrationPlanes,
    batch_sources::BatchSources,
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, QUEUES, Widths, X_QUEUES, XRow, Y_QUEUES,
        YRow,
    },
    cycle::Rules,
    injection::{Counting, Injection, Packets},
    lanes::{Position, Rotation, SWEPT, Tiling, columns, rows},
    occupation::Occupation,
    registers::Registers,
    row_partition::{Filling, Fixed, Receiving, Rows, Sending, Sent, Settled, Still},
};
use crate::{
    bits::{Available, Task, Vector, count_ones, number_at, words, words_mut},
    engine::{
        Network, Options, Outcome, SimulationError,
        protocol::{Clock, Engine, Motion, Quiescence, advance, drive},
    },
    fabric::{Direction, NodeId},
    probe::{LinkOccupation, NoProbe},
    router::{Arbitration, ChannelScheme},
    routing::Came,
    save::{Archive, SaveError},
    traffic::Workload,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Pieces of a phase per thread, so that threads that come late leave some to others.
const PIECES: usize = 3;
/// Cycles of a sweep through all rows.
const CYCLES: usize = 4;
/// Rows by which a cycle of a sweep is behind the one before it.
const LAG: usize = 4;
/// Routers of the general engine that take as long as one takes here.
const FASTER: usize = 8;

/// Kinds of networks: any, and those whose numbers the compiler knows ([`Rules::USUAL`], [`Rules::PUBLISHED`]).
const ANY: u8 = 0;
const USUAL: u8 = 1;
const PUBLISHED: u8 = 2;

/// Packets under way are older than the tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagsTooYoung;

/// A network in planes of one vector type; `K` planes hold the occupancy of a queue.
#[derive(Clone)]
pub(super) struct Machine<V: Vector, const K: usize> {
    pub(super) proof: Available<V>,
    pub(super) tiling: Tiling,
    pub(super) rules: Rules,
    pub(super) length: u32,
    pub(super) columns: Vec<Position<V>>,
    pub(super) rows: Vec<Position<V>>,
    /// Bits moved to the next lane: x up, x down, y up, y down.
    pub(super) rotations: [Rotation<V>; 4],
    pub(super) arbitration_planes: ArbitrationPlanes<V>,
    pub(super) blocks: Vec<Block<V, K>>,
    pub(super) counters: Vec<[V; QUEUES]>,
    pub(super) x_rows: Vec<XRow<V>>,
    pub(super) packet_rows: Vec<V>,
    pub(super) y_rows: Vec<YRow<V>>,
    pub(super) more_x: Vec<[V; X_QUEUES]>,
    pub(super) more_y: Vec<[V; Y_QUEUES]>,
    pub(super) used: Vec<[V; LINK_QUEUES]>,
    pub(super) packets: Vec<Packet<V>>,
    pub(super) links: Vec<Links<V>>,
    pub(super) x_links: Vec<LinkRow<V>>,
    pub(super) y_links: Vec<LinkRow<V>>,
    pub(super) full: Vec<Full<V>>,
    pub(super) events: Vec<Events<V>>,
    /// Per block, if there are output registers.
    pub(super) registers: Vec<Registers<V>>,
    /// Per block, if there are crossings of datelines that do not count for packets from the processor: the routers
    /// where that is so, in the four directions.
    pub(super) exempt: Vec<[V; 4]>,
    pub(super) injection: Injection,
    pub(super) occupation: Option<Occupation<V>>,
    pub(super) ejected_tags: Vec<[V; 3]>,
    /// Instead of the injection, where nothing but deliveries is counted and all send alike; whether in this run.
    pub(super) batch_sources: Option<BatchSources<V>>,
    pub(super) in_batches: bool,
    pub(super) fingerprints: bool,
    pub(super) latencies: bool,
    pub(super) tags: PacketTags,
    /// Entries of the log at which it is cut down.
    pub(super) log_limit: usize,
    /// The cycle after the stop that is known in advance.
    pub(super) stop: u64,
    /// Per copy.
    pub(super) durations: Vec<u64>,
    pub(super) totals: Vec<Outcome>,
    /// Routers that eject a flit in the cycle under way.
    pub(super) ejected: V,
    pub(super) network: Network,
    /// Threads that do a cycle side by side, each for some rows of blocks.
    pub(super) threads: Option<Arc<ThreadPool>>,
    /// The first cycle that is not run before somebody looks again.
    pub(super) until: u64,
    /// The cycle whose packets have been started before it began.
    pub(super) started: u64,
    /// Whether rows send and receive in one sweep.
    pub(super) sweeps: bool,
    /// Whether the last sweep moved anything, or something has come that may move.
    pub(super) moves: bool,
}

/// What a machine needs to know.
pub(super) struct Plan<'w> {
    /// What is sent.
    pub workload: &'w Workload,
    /// Flits per packet.
    pub length: u32,
    /// Networks side by side, as far as they fit.
    pub copies: usize,
    /// Whether fingerprints are computed.
    pub fingerprints: bool,
    /// Whether sums of latencies are exact for stopped runs.
    pub latencies: bool,
    /// Whether the first and last cycle of every link are kept.
    pub occupation: bool,
    /// Whether all totals are counted.
    pub totals: bool,
}

/// A machine of any vector type.
pub(crate) trait AnyMachine: Engine<NoProbe> {
    /// Empties the network for a run that is to stop at a cycle, if that is known; with `tags`,
    /// headers carry tags from the beginning.
    fn begin(&mut self, stop_at: Option<u64>, tags: bool);
    /// Does every cycle in so many threads, as far as there are rows of blocks.
    fn set_threads(&mut self, threads: usize);
    /// Adds up the totals so far, one outcome per copy; false if sums of latencies are missing, since
    /// packets under way are older than the tags.
    fn add_up(&mut self, clock: &Clock) -> bool;
    /// What was added up last.
    fn totals_of_all(&self) -> &[Outcome];
    /// Networks side by side.
    fn copies(&self) -> usize;
    /// See [`Injection::set_delay`].
    fn set_delay(&mut self, copy: usize, node: NodeId, delay: u64);
    /// See [`Injection::set_interval`].
    fn set_interval(&mut self, copy: usize, interval: u64);
    /// See [`ArbitrationPlanes::set_scheme`].
    fn set_scheme(&mut self, copy: usize, node: NodeId, port: usize, scheme: ChannelScheme);
    /// See [`ArbitrationPlanes::set_port_list`].
    fn set_port_list(&mut self, copy: usize, node: NodeId, port: usize, channel: u8, list: &[u8]);
    /// First and last cycle of a link, if it was used and cycles are kept.
    fn link_cycles(&self, copy: usize, node: NodeId, direction: usize) -> Option<(u64, u64)>;
    /// Bytes of the state that changes while the network runs, and of its settings.
    fn bytes(&self) -> usize;
    /// Flips one bit of a plane: whether the link into a router along +y crosses a dateline.
    #[cfg(test)]
    fn corrupt(&mut self, node: NodeId);
    /// Sends and receives row by row, however small the network is.
    #[cfg(test)]
    fn set_sweeps(&mut self);
}

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
    /// Prepares a network for a workload.
    pub(super) fn new(proof: Available<V>, network: &Network, plan: &Plan<'_>) -> Self {
        let shape = network.fabric().shape();
        let router = network.router();
        let tiling = Tiling::new(shape, V::BITS, plan.copies);
        let registers = router.variant.facts().registers;
        let (length, buffer) = (plan.length, u32::from(router.buffer - router.variant.behind_queue()));
        let counter = (32 - (length - 1).leading_zeros()) as usize;
        let widths = Widths {
            x: tiling.x.bits(),
            y: tiling.y.bits(),
            // The highest bit is the buffer's size.
            occupancy: if buffer <= 1 << (K - 2) { K - 1 } else { K },
            counter,
            headers: buffer.div_ceil(length) as usize,
            tag: 0,
        };
        // A header counts as all ones; the flit behind it as `length - 2`.
        let skip = if length < 2 { 0 } else { ((1_usize << counter) - 2) ^ (length as usize - 2) };
        let rules = Rules {
            widths,
            offset: (1 << (widths.occupancy - 1)) - buffer as usize,
            skip,
            hops: plan.totals,
            registers,
            exempt: false,
        };
        let blocks = tiling.blocks();
        let injection = Injection::new(plan.workload, &tiling, widths.x_data(), plan.latencies);
        let exempt = exempt(network, blocks, &injection.places);
        let rules = Rules { exempt: !exempt.is_empty(), ..rules };
        let copies = tiling.copies as usize;
        let zero = V::zero();
        let mut machine = Self {
            proof,
            columns: columns(&tiling, router.channel_rule().datelines()),
            rows: rows(&tiling, router.channel_rule().datelines()),
            rotations: [
                Rotation::along_x(&tiling, false),
                Rotation::along_x(&tiling, true),
                Rotation::along_y(&tiling, false),
                Rotation::along_y(&tiling, true),
            ],
            arbitration_planes: ArbitrationPlanes::new(shape, router, blocks),
            blocks: Vec::with_capacity(blocks),
            counters: vec![[zero; QUEUES]; blocks * counter],
            x_rows: vec![[zero; X_QUEUES]; blocks * widths.x_data()],
            packet_rows: vec![zero; blocks * widths.x_data()],
            y_rows: vec![[zero; Y_QUEUES]; blocks * widths.y_data()],
            more_x: vec![[zero; X_QUEUES]; blocks * widths.more_x()],
            more_y: vec![[zero; Y_QUEUES]; blocks * widths.more_y()],
            used: vec![[zero; LINK_QUEUES]; blocks * widths.used()],
            packets: vec![Packet { ready: zero, output: [zero; 5] }; blocks],
            links: vec![Links { x: [[zero; 3]; 2], y: [[zero; 4]; 2] }; blocks],
            x_links: vec![[zero; 2]; blocks * widths.x_data()],
            y_links: vec![[zero; 2]; blocks * widths.y_data()],
            full: vec![Full { x: [[V::zero(); 2]; 2], y: [[V::zero(); 3]; 2] }; blocks],
            events: vec![Events { delivered: V::zero(), sent: V::zero(), four_hops: V::zero() }; blocks],
            registers: vec![Registers::empty(); if registers { blocks } else { 0 }],
            exempt,
            occupation: plan.occupation.then(|| Occupation::new(blocks)),
            ejected_tags: Vec::new(),
            batch_sources: None,
            in_batches: false,
            fingerprints: plan.fingerprints,
            latencies: plan.latencies,
            tags: PacketTags::NEVER,
            log_limit: 0,
            stop: u64::MAX,
            durations: vec![0; copies],
            totals: vec![Outcome::default(); copies],
            ejected: zero,
            network: network.clone(),
            threads: None,
            until: 0,
            started: u64::MAX,
            sweeps: !registers && tiling.y.tile() > 2 && injection.places.len() >= SWEPT,
            moves: true,
            injection,
            tiling,
            rules,
            length,
        };
        machine.load_arbitration(&router.arbitration);
        let alone = !plan.totals && !plan.fingerprints && !plan.latencies && !machine.sweeps;
        if alone {
            let rows = widths.x_data();
            let mut packets = Packets { packets: &mut machine.packets, data: &mut machine.packet_rows, rows };
            machine.batch_sources =
                BatchSources::new(plan.workload, &machine.tiling, &machine.injection, &mut packets);
        }
        machine
    }

    fn load_arbitration(&mut self, arbitration: &Arbitration) {
        let nodes = self.tiling.nodes();
        let places = self.injection.places.iter().enumerate();
        self.arbitration_planes
            .load(arbitration, places.map(|(index, &place)| ((index % nodes) as NodeId, place)));
    }

    fn directions(&self) -> usize {
        self.network.fabric().shape().directions()
    }

    fn place(&self, copy: usize, node: NodeId) -> u32 {
        self.injection.places[copy * self.tiling.nodes() + node as usize]
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.set_tag_bits(0);
        self.blocks.clear();
        let offset = self.rules.offset;
        self.blocks.extend(
            self.arbitration_planes.initial.iter().map(|&precedence| Block::empty(precedence, offset)),
        );
        self.counters.fill([V::ones(); QUEUES]);
        self.used.fill([V::zero(); LINK_QUEUES]);
        for packet in &mut self.packets {
            packet.ready = V::zero();
        }
        self.full.fill(Full { x: [[V::zero(); 2]; 2], y: [[V::zero(); 3]; 2] });
        self.registers.fill(Registers::empty());
        self.durations.fill(0);
        self.log_limit = 16 * self.injection.places.len();
        if let Some(occupation) = &mut self.occupation {
            occupation.reset();
        }
        self.in_batches = false;
        match &mut self.batch_sources {
            Some(batch_sources) if batch_sources.fit() => {
                batch_sources.reset();
                self.in_batches = true;
            }
            _ => self.injection.reset(),
        }
    }

    /// Packets taken and delivered in all copies.
    #[inline(always)]
    fn progress(&self) -> (u64, u64) {
        match &self.batch_sources {
            Some(batch_sources) if self.in_batches => batch_sources.packets(),
            _ => self.injection.packets(),
        }
    }

    /// Whether all packets have been taken.
    #[inline(always)]
    fn is_exhausted(&self) -> bool {
        match &self.batch_sources {
            Some(batch_sources) if self.in_batches => batch_sources.is_exhausted(),
            _ => self.injection.is_exhausted(),
        }
    }

    /// The rules, and the numbers of blocks in x and y; known to the compiler but in networks of any [kind](ANY).
    #[inline(always)]
    fn constants<const KIND: u8>(&self) -> (Rules, usize, usize) {
        match KIND {
            USUAL => (Rules { hops: self.rules.hops, ..Rules::USUAL }, 1, 1),
            PUBLISHED => (Rules { hops: self.rules.hops, ..Rules::PUBLISHED }, 1, 1),
            _ => (self.rules, self.columns.len(), self.rows.len()),
        }
    }

    /// All blocks send, in as many parts; with registers, flits go into them first.
    #[inline(always)]
    fn send_all<const KIND: u8>(&mut self, cycle: u64) -> (bool, V) {
        let (rules, _, high) = self.constants::<KIND>();
        let pieces = self.pieces(high);
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
        let pieces = self.pieces(high);
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
        self.moves = moved.any() || !self.injection.is_exhausted() || self.injection.packets().0 > loaded;
    }

    fn receive_row(&mut self, row: usize, cycle: u64) {
        let start = cycle + 1 < self.until;
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
        self.is_swept() && same && end <= self.until && counts
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
        let start = cycle + 1 < self.until;
        if start {
            self.started = cycle + 1;
        }
        start
    }

    /// Pieces of a phase of so many rows.
    #[inline(always)]
    fn pieces(&self, high: usize) -> usize {
        let parts = self.parts();
        if parts == 1 { 1 } else { (PIECES * parts).min(high) }
    }

    /// Whether a cycle is one sweep.
    #[inline(always)]
    fn is_swept(&self) -> bool {
        self.sweeps && self.threads.is_none()
    }

    /// Cycles that a packet alone needs at most.
    pub(super) fn reach(&self) -> u64 {
        u64::from(self.tiling.x.size + self.tiling.y.size + self.length)
    }

    /// Parts of a cycle that threads do side by side.
    #[inline(always)]
    fn parts(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.current_num_threads())
    }

    /// The kind of this network; see [`constants`](Self::constants).
    #[inline(always)]
    fn kind(&self) -> u8 {
        let own = self.constants::<ANY>();
        match V::BITS >= 256 {
            true if own == self.constants::<USUAL>() => USUAL,
            true if own == self.constants::<PUBLISHED>() => PUBLISHED,
            _ => ANY,
        }
    }

    /// The sum of latencies of a run that has stopped with packets under way that are older than the
    /// tags: the same run once more, with tags from the beginning.
    #[cold]
    fn latency_sum_from_the_beginning(&self, clock: &Clock) -> Result<u64, SimulationError> {
        let mut again = self.clone();
        again.begin(Some(self.stop), true);
        let options = Options { stop_at: Some(clock.cycle), ..Options::default() };
        drive(&mut again, &mut Clock::default(), &options, &mut NoProbe)?;
        again.sum_up(clock);
        Ok(again.totals[0].latency_sum)
    }

    /// Adds up what was counted; whether all sums of latencies that are wanted are known.
    fn sum_up(&mut self, clock: &Clock) -> bool {
        if let Some(batch_sources) = &self.batch_sources
            && self.in_batches
        {
            let copies = self.durations.iter().zip(&batch_sources.delivered);
            for (outcome, (&duration, delivered)) in self.totals.iter_mut().zip(copies) {
                *outcome = Outcome {
                    duration,
                    packets_delivered: delivered.packets,
                    lateness: delivered.lateness,
                    cycles: if clock.finished { duration.saturating_sub(1) } else { clock.cycle },
                    ..Outcome::default()
                };
            }
            return true;
        }
        let per_copy = self.tiling.words_per_copy();
        let under_way = match self.rules.widths.tag {
            0 => None,
            _ => self.starts_under_way().ok(),
        };
        let mut known = true;
        for (copy, outcome) in self.totals.iter_mut().enumerate() {
            let account = self.injection.account(copy);
            *outcome = Outcome {
                duration: self.durations[copy],
                packets_delivered: account.delivered,
                flit_hops: account.flit_hops,
                fingerprint: account.fingerprint,
                lateness: account.lateness,
                ..Outcome::default()
            };
            let range = copy * per_copy..(copy + 1) * per_copy;
            let mut waiting = 0;
            let mut partial = 0;
            for (index, block) in self.blocks.iter().enumerate() {
                let widths = self.rules.widths;
                let counters = &self.counters[index * widths.counter..][..widths.counter];
                let ready = self.packets[index].ready & heads(counters, QUEUES - 1);
                waiting += count_ones(&words(&[ready])[range.clone()]);
                for (bit, hops) in block.hops.iter().enumerate() {
                    outcome.flit_hops += count_ones(&words(std::slice::from_ref(hops))[range.clone()]) << bit;
                }
                for queue in 0..QUEUES {
                    let owned = match queue {
                        0..X_QUEUES => block.owned_x[queue][3],
                        X_QUEUES..LINK_QUEUES => block.owned_y[queue - X_QUEUES][1],
                        _ => block.owned_p[4],
                    };
                    // Flits of packets whose tail is still to come.
                    let under_way = owned & !heads(counters, queue);
                    partial += count_ones(&words(&[under_way])[range.clone()]) * u64::from(self.length - 1);
                    for (bit, row) in counters.iter().enumerate() {
                        partial -= count_ones(&words(&[under_way & row[queue]])[range.clone()]) << bit;
                    }
                }
                // What has left its queue for a register of the processor's port is not ejected.
                for label in self.registers.get(index).into_iter().flat_map(Registers::ejecting) {
                    let [tails, others] = label.map(|plane| count_ones(&words(&[plane])[range.clone()]));
                    partial += tails * u64::from(self.length - 1);
                    partial -= others;
                }
            }
            outcome.packets_injected = account.loaded - waiting;
            outcome.flits_delivered = outcome.packets_delivered * u64::from(self.length) + partial;
            let open = under_way.as_ref().map_or(0, |sums: &Vec<u64>| sums[copy]);
            let all_delivered = account.delivered == account.loaded;
            known &= all_delivered || under_way.is_some();
            outcome.latency_sum = if all_delivered || under_way.is_some() {
                account.delivery_sum.wrapping_sub(account.start_sum.wrapping_sub(open))
            } else {
                0
            };
            outcome.cycles = if clock.finished { outcome.duration.saturating_sub(1) } else { clock.cycle };
        }
        known || !self.latencies
    }
}

/// Routers where a packet from the processor does not rise on a link that crosses a dateline, although others do, per
/// block and direction; nothing where there are none.
fn exempt<V: Vector>(network: &Network, blocks: usize, places: &[u32]) -> Vec<[V; 4]> {
    let (shape, rule) = (network.fabric().shape(), network.router().channel_rule());
    let mut planes = vec![[V::zero(); 4]; blocks];
    let mut any = false;
    for (all, &place) in places.iter().enumerate() {
        let (node, lane) = ((all % shape.nodes()) as NodeId, place as usize % V::BITS);
        let of_block = &mut planes[place as usize / V::BITS];
        for (direction, plane) in of_block.iter_mut().enumerate().take(shape.directions()) {
            let rises = rule.rises(shape, node, Direction::from_index(direction));
            if rises.on(Came::Underway) && !rises.on(Came::Injected) {
                any = true;
                words_mut(std::slice::from_mut(plane))[lane / 64] |= 1 << (lane % 64);
            }
        }
    }
    if any { planes } else { Vec::new() }
}

/// Whether a header is at the front of a queue.
#[inline(always)]
pub(super) fn heads<V: Vector>(counters: &[[V; QUEUES]], queue: usize) -> V {
    let mut heads = V::ones();
    for row in counters {
        heads = heads & row[queue];
    }
    heads
}

/// Some cycles, compiled for the vector's instruction set.
struct Span<'a, V: Vector, const K: usize> {
    machine: &'a mut Machine<V, K>,
    cycle: &'a mut u64,
    until: u64,
}

impl<V: Vector, const K: usize> Task for Span<'_, V, K> {
    type Output = Option<Quiescence>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { machine, cycle, until } = self;
        while machine.sweeps_on(*cycle) {
            if !machine.decide(*cycle, &mut NoProbe) {
                return Some(Motion::<NoProbe>::rest(machine, *cycle));
            }
            machine.sweep(*cycle, CYCLES);
            machine.account(*cycle, &mut NoProbe);
            *cycle += CYCLES as u64;
        }
        advance(machine, cycle, until, &mut NoProbe)
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

/// When tags are in use.
#[derive(Clone, Copy)]
pub(super) struct PacketTags {
    /// From this cycle on.
    pub from: u64,
    /// The cycle in which it is seen whether they are needed already.
    pub check: Option<u64>,
}

impl PacketTags {
    const NEVER: Self = Self { from: u64::MAX, check: None };
    const ALWAYS: Self = Self { from: 0, check: None };

    /// PacketTags are needed only for the packets under way at a stop. Those are young ones, unless the network is
    /// saturated, where some wait for thousands of cycles: that is seen after a while.
    fn before(stop: u64, reach: u64) -> Self {
        Self { from: 0, check: (stop > 12 * reach).then_some(4 * reach) }
    }
}

impl<V: Vector, const K: usize> Motion<NoProbe> for Machine<V, K> {
    #[inline(always)]
    fn decide(&mut self, cycle: u64, _probe: &mut NoProbe) -> bool {
        if self.rules.widths.tag == 0 {
            if cycle >= self.tags.from {
                self.begin_tags();
            }
        } else if self.tags.check.is_some_and(|at| cycle >= at) {
            self.check_tags(cycle);
        }
        if self.started != cycle {
            match &mut self.batch_sources {
                Some(batch_sources) if self.in_batches => batch_sources.start(cycle, &mut self.packets),
                _ => {
                    let rows = self.rules.widths.x_data();
                    let mut packets =
                        Packets { packets: &mut self.packets, data: &mut self.packet_rows, rows };
                    self.injection.start_due(cycle, &mut packets);
                }
            }
            self.moves = true;
        }
        let (loaded, delivered) = self.progress();
        if loaded == delivered {
            return false;
        }
        if self.is_swept() {
            return self.moves;
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
    fn arrive(&mut self, cycle: u64, _probe: &mut NoProbe) {
        let proof = self.proof;
        match self.kind() {
            _ if self.is_swept() => self.sweep(cycle, 1),
            USUAL => V::enter(proof, ReceiveAll::<V, K, USUAL> { machine: self, cycle }),
            PUBLISHED => V::enter(proof, ReceiveAll::<V, K, PUBLISHED> { machine: self, cycle }),
            _ => V::enter(proof, ReceiveAll::<V, K, ANY> { machine: self, cycle }),
        }
    }

    #[inline(always)]
    fn account(&mut self, _cycle: u64, _probe: &mut NoProbe) {
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

impl<V: Vector, const K: usize> Engine<NoProbe> for Machine<V, K> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut NoProbe,
    ) -> Result<Option<Quiescence>, SimulationError> {
        let proof = self.proof;
        self.until = until;
        self.started = u64::MAX;
        let threads = self.threads.clone();
        let mut span = || V::enter(proof, Span { machine: self, cycle, until });
        Ok(match threads {
            None => span(),
            Some(threads) => threads.install(span),
        })
    }

    fn routers(&self) -> usize {
        self.injection.places.len() / FASTER / self.parts()
    }

    fn parts(&self) -> usize {
        self.parts()
    }

    fn delivered(&self) -> u64 {
        self.progress().1
    }

    fn check(&self, _cycle: u64) -> Result<(), SimulationError> {
        // Only networks that dimension order and datelines keep free of deadlock are covered.
        Ok(())
    }

    fn finished(&self, _cycle: u64) -> Result<(), SimulationError> {
        Ok(())
    }

    fn stuck(&self, cycle: u64, _options: &Options) -> SimulationError {
        SimulationError::Stuck { cycle }
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        if !self.sum_up(clock) && clock.cycle == self.stop {
            self.totals[0].latency_sum = self.latency_sum_from_the_beginning(clock)?;
        }
        Ok(self.totals[0].clone())
    }

    fn links(&self) -> Option<LinkOccupation> {
        let occupation = self.occupation.as_ref()?;
        let directions = self.directions();
        let mut links = LinkOccupation::new(self.tiling.nodes() * directions);
        for (index, place) in self.injection.places[..self.tiling.nodes()].iter().enumerate() {
            let (block, lane) = (*place as usize / V::BITS, *place as usize % V::BITS);
            for direction in 0..directions {
                if let Some((first, last)) = occupation.cycles(block, lane, direction) {
                    let link = index * directions + direction;
                    (links.first[link], links.last[link]) = (first, last);
                    links.flits[link] = occupation.flits(block, lane, direction);
                }
            }
        }
        Some(links)
    }

    fn occupancy(&self) -> Vec<u16> {
        let (directions, channels) = (self.directions(), usize::from(self.network.router().channels));
        let mut flits = vec![0; self.tiling.nodes() * directions * channels];
        for (index, place) in self.injection.places[..self.tiling.nodes()].iter().enumerate() {
            let (block, lane) = (*place as usize / V::BITS, *place as usize % V::BITS);
            for queue in 0..LINK_QUEUES {
                let (direction, channel) = match queue {
                    0..X_QUEUES => (queue / 2, queue % 2),
                    _ => (2 + (queue - X_QUEUES) / 3, (queue - X_QUEUES) % 3),
                };
                if direction < directions && channel < channels {
                    let held = number_at(self.blocks[block].occupancy[queue].into_iter(), lane);
                    flits[(index * directions + direction) * channels + channel] =
                        (held - self.rules.offset as u64) as u16;
                }
            }
        }
        flits
    }

    fn copy(&self) -> Box<dyn Engine<NoProbe>> {
        Box::new(self.clone())
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        self.archive(archive)
    }
}

impl<V: Vector, const K: usize> AnyMachine for Machine<V, K> {
    fn begin(&mut self, stop_at: Option<u64>, tags: bool) {
        self.reset();
        self.stop = stop_at.unwrap_or(u64::MAX);
        self.tags = match stop_at {
            _ if tags => PacketTags::ALWAYS,
            Some(stop) if self.latencies => PacketTags::before(stop, self.reach()),
            _ => PacketTags::NEVER,
        };
    }

    fn set_threads(&mut self, threads: usize) {
        let threads = threads.clamp(1, self.rows.len());
        // Without threads to be had, it goes on in one.
        let pool = || ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
        self.threads = if threads > 1 { pool() } else { None };
    }

    fn add_up(&mut self, clock: &Clock) -> bool {
        self.sum_up(clock)
    }

    fn totals_of_all(&self) -> &[Outcome] {
        &self.totals
    }

    fn copies(&self) -> usize {
        self.tiling.copies as usize
    }

    fn set_delay(&mut self, copy: usize, node: NodeId, delay: u64) {
        self.injection.set_delay(copy * self.tiling.nodes() + node as usize, delay);
        let place = self.place(copy, node);
        if let Some(batch_sources) = &mut self.batch_sources {
            batch_sources.set_delay(place, delay);
        }
    }

    fn set_interval(&mut self, copy: usize, interval: u64) {
        self.injection.set_interval(copy, interval);
        if let Some(batch_sources) = &mut self.batch_sources {
            batch_sources.set_interval(copy, interval);
        }
    }

    fn set_scheme(&mut self, copy: usize, node: NodeId, port: usize, scheme: ChannelScheme) {
        let place = self.place(copy, node);
        self.arbitration_planes.set_scheme(node, place, port, scheme);
    }

    fn set_port_list(&mut self, copy: usize, node: NodeId, port: usize, channel: u8, list: &[u8]) {
        let place = self.place(copy, node);
        self.arbitration_planes.set_port_list(node, place, port, channel, list);
    }

    fn link_cycles(&self, copy: usize, node: NodeId, direction: usize) -> Option<(u64, u64)> {
        let place = self.place(copy, node) as usize;
        self.occupation.as_ref()?.cycles(place / V::BITS, place % V::BITS, direction)
    }

    fn bytes(&self) -> usize {
        fn of<T>(items: &[T]) -> usize {
            std::mem::size_of_val(items)
        }
        of(&self.blocks)
            + of(&self.counters)
            + of(&self.x_rows)
            + of(&self.packet_rows)
            + of(&self.y_rows)
            + of(&self.more_x)
            + of(&self.more_y)
            + of(&self.used)
            + of(&self.packets)
            + of(&self.links)
            + of(&self.x_links)
            + of(&self.y_links)
            + of(&self.full)
            + of(&self.events)
            + of(&self.registers)
            + of(&self.exempt)
            + self.arbitration_planes.bytes()
            + self.injection.bytes()
    }

    #[cfg(test)]
    fn set_sweeps(&mut self) {
        self.sweeps = self.rows.len() > 2;
    }

    #[cfg(test)]
    fn corrupt(&mut self, node: NodeId) {
        let place = self.place(0, node) as usize;
        let row = place / V::BITS / self.columns.len();
        let plane = std::slice::from_mut(&mut self.rows[row].below);
        words_mut(plane)[place % V::BITS / 64] ^= 1 << (place % 64);
    }
}
