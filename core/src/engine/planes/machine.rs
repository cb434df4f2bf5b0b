//! A network in planes: all blocks, and the loop over cycles.

use super::{
    arbitration_planes::ArbitrationPlanes,
    batch_sources::BatchSources,
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, QUEUES, Widths, X_QUEUES, XRow, Y_QUEUES,
        YRow,
    },
    cycle::Rules,
    injection::{Injection, Packets},
    lanes::{Position, Rotation, SWEPT, Tiling, columns, rows},
    occupation::Occupation,
    registers::Registers,
};
use crate::{
    bits::{Available, Vector, words_mut},
    engine::{
        Network, Outcome,
        protocol::{Clock, Engine},
    },
    fabric::{Direction, NodeId},
    router::{Arbitration, ChannelScheme, RouterConfig},
    routing::Came,
    traffic::Workload,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Routers of the general engine that take as long as one takes here.
pub(super) const FASTER: usize = 8;

/// Kinds of networks: any, and those whose numbers the compiler knows ([`Rules::USUAL`], [`Rules::PUBLISHED`]).
pub(super) const ANY: u8 = 0;
pub(super) const USUAL: u8 = 1;
pub(super) const PUBLISHED: u8 = 2;

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
    pub(super) pace: Pace,
}

/// How far a machine goes at once, and by what means.
#[derive(Clone)]
pub(super) struct Pace {
    /// Threads that do a cycle side by side, each for some rows of blocks.
    pub threads: Option<Arc<ThreadPool>>,
    /// The first cycle that is not run before somebody looks again.
    pub until: u64,
    /// The cycle whose packets have been started before it began.
    pub started: u64,
    /// Whether rows send and receive in one sweep.
    pub sweeps: bool,
    /// Whether the last sweep moved anything, or something has come that may move.
    pub moves: bool,
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
pub(crate) trait AnyMachine: Engine {
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

impl<V: Vector, const K: usize> Machine<V, K> {
    /// Prepares a network for a workload.
    pub(super) fn new(proof: Available<V>, network: &Network, plan: &Plan<'_>) -> Self {
        let shape = network.fabric().shape();
        let router = network.router();
        let tiling = Tiling::new(shape, V::BITS, plan.copies);
        let registers = router.variant.facts().registers;
        let rules = rules::<K>(router, &tiling, plan);
        let widths = rules.widths;
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
            counters: vec![[zero; QUEUES]; blocks * widths.counter],
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
            pace: Pace {
                threads: None,
                until: 0,
                started: u64::MAX,
                sweeps: !registers && tiling.y.tile() > 2 && injection.places.len() >= SWEPT,
                moves: true,
            },
            injection,
            tiling,
            rules,
            length: plan.length,
        };
        machine.load_arbitration(&router.arbitration);
        let alone = !plan.totals && !plan.fingerprints && !plan.latencies && !machine.pace.sweeps;
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

    pub(super) fn directions(&self) -> usize {
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
    pub(super) fn progress(&self) -> (u64, u64) {
        match &self.batch_sources {
            Some(batch_sources) if self.in_batches => batch_sources.packets(),
            _ => self.injection.packets(),
        }
    }

    /// Whether all packets have been taken.
    #[inline(always)]
    pub(super) fn is_exhausted(&self) -> bool {
        match &self.batch_sources {
            Some(batch_sources) if self.in_batches => batch_sources.is_exhausted(),
            _ => self.injection.is_exhausted(),
        }
    }

    /// The rules, and the numbers of blocks in x and y; known to the compiler but in networks of any [kind](ANY).
    #[inline(always)]
    pub(super) fn constants<const KIND: u8>(&self) -> (Rules, usize, usize) {
        match KIND {
            USUAL => (Rules { hops: self.rules.hops, ..Rules::USUAL }, 1, 1),
            PUBLISHED => (Rules { hops: self.rules.hops, ..Rules::PUBLISHED }, 1, 1),
            _ => (self.rules, self.columns.len(), self.rows.len()),
        }
    }

    /// Whether a cycle is one sweep.
    #[inline(always)]
    pub(super) fn is_swept(&self) -> bool {
        self.pace.sweeps && self.pace.threads.is_none()
    }

    /// Cycles that a packet alone needs at most.
    pub(super) fn reach(&self) -> u64 {
        u64::from(self.tiling.x.size + self.tiling.y.size + self.length)
    }

    /// Parts of a cycle that threads do side by side.
    #[inline(always)]
    pub(super) fn parts(&self) -> usize {
        self.pace.threads.as_ref().map_or(1, |threads| threads.current_num_threads())
    }

    /// The kind of this network; see [`constants`](Self::constants).
    #[inline(always)]
    pub(super) fn kind(&self) -> u8 {
        let own = self.constants::<ANY>();
        match V::BITS >= 256 {
            true if own == self.constants::<USUAL>() => USUAL,
            true if own == self.constants::<PUBLISHED>() => PUBLISHED,
            _ => ANY,
        }
    }
}

/// What the planes of a network stand for, before it is known whether a dateline exempts anything.
fn rules<const K: usize>(router: &RouterConfig, tiling: &Tiling, plan: &Plan<'_>) -> Rules {
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
    Rules {
        widths,
        offset: (1 << (widths.occupancy - 1)) - buffer as usize,
        // A header counts as all ones; the flit behind it as `length - 2`.
        skip: if length < 2 { 0 } else { ((1_usize << counter) - 2) ^ (length as usize - 2) },
        hops: plan.totals,
        registers: router.variant.facts().registers,
        exempt: false,
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
        self.pace.threads = if threads > 1 { pool() } else { None };
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
        self.pace.sweeps = self.rows.len() > 2;
    }

    #[cfg(test)]
    fn corrupt(&mut self, node: NodeId) {
        let place = self.place(0, node) as usize;
        let row = place / V::BITS / self.columns.len();
        let plane = std::slice::from_mut(&mut self.rows[row].below);
        words_mut(plane)[place % V::BITS / 64] ^= 1 << (place % 64);
    }
}
