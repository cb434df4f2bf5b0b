//! A network in planes: all blocks, and the loop over cycles.

use super::{
    block::{
        Block, Events, Full, LINK_QUEUES, LinkRow, Links, Packet, QUEUES, Widths, X_QUEUES, XRow, Y_QUEUES,
        YRow,
    },
    cycle::Rules,
    feed::{Feed, Packets},
    genes::Genes,
    lanes::{Position, Rotation, Tiling, columns, rows},
    occupation::Occupation,
    pieces::{Fixed, Receiving, Sending, Sent, Settled},
    tags::value,
    vector::{Available, Task, Vector, count_ones, words},
};
use crate::{
    engine::{
        Network, Options, Outcome, SimulationError, fingerprint, general, lateness,
        protocol::{Clock, Engine, Motion, Rest, advance},
    },
    fabric::NodeId,
    probe::{LinkOccupation, NoProbe},
    router::{Arbitration, ChannelScheme},
    save::{Archive, SaveError},
    traffic::Workload,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Pieces of a phase per thread, so that threads that come late leave some to others.
const PIECES: usize = 3;

/// Packets under way are older than the tags.
#[derive(Clone, Copy, Debug)]
pub struct TagsTooYoung;

/// A network in planes of one vector type; `K` planes hold the occupancy of a queue.
#[derive(Clone)]
pub struct Machine<V: Vector, const K: usize> {
    proof: Available<V>,
    pub(super) tiling: Tiling,
    pub(super) rules: Rules,
    pub(super) length: u32,
    columns: Vec<Position<V>>,
    rows: Vec<Position<V>>,
    /// Bits moved to the next lane: x up, x down, y up, y down.
    rotations: [Rotation<V>; 4],
    genes: Genes<V>,
    pub(super) blocks: Vec<Block<V, K>>,
    pub(super) counters: Vec<[V; QUEUES]>,
    pub(super) x_rows: Vec<XRow<V>>,
    pub(super) packet_rows: Vec<V>,
    pub(super) y_rows: Vec<YRow<V>>,
    pub(super) more_x: Vec<[V; X_QUEUES]>,
    pub(super) more_y: Vec<[V; Y_QUEUES]>,
    pub(super) used: Vec<[V; LINK_QUEUES]>,
    pub(super) packets: Vec<Packet<V>>,
    links: Vec<Links<V>>,
    pub(super) x_links: Vec<LinkRow<V>>,
    pub(super) y_links: Vec<LinkRow<V>>,
    pub(super) full: Vec<Full<V>>,
    events: Vec<Events<V>>,
    pub(super) feed: Feed,
    pub(super) occupation: Option<Occupation<V>>,
    pub(super) ejected_tags: Vec<[V; 3]>,
    fingerprints: bool,
    latencies: bool,
    pub(super) tags: Tags,
    /// Entries of the log at which it is cut down.
    pub(super) log_limit: usize,
    /// The cycle after the stop that is known in advance.
    pub(super) stop: u64,
    pub(super) outcomes: Vec<Outcome>,
    totals: Vec<Outcome>,
    /// Packets delivered in all copies.
    pub(super) delivered: u64,
    /// Routers that eject a flit in the cycle under way.
    ejected: V,
    network: Network,
    /// Threads that do a cycle side by side, each for some rows of blocks.
    threads: Option<Arc<ThreadPool>>,
    /// The first cycle that is not run before somebody looks again.
    until: u64,
    /// The cycle whose packets have been started before it began.
    started: u64,
    /// Sum of the cycles of all deliveries per copy, modulo 2^64.
    pub(super) delivery_sum: Vec<u64>,
}

/// What a machine needs to know.
pub struct Plan<'w> {
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
    /// See [`Feed::set_delay`].
    fn set_delay(&mut self, copy: usize, node: NodeId, delay: u64);
    /// See [`Feed::set_interval`].
    fn set_interval(&mut self, copy: usize, interval: u64);
    /// See [`Genes::set_scheme`].
    fn set_scheme(&mut self, copy: usize, node: NodeId, port: usize, scheme: ChannelScheme);
    /// See [`Genes::set_port_list`].
    fn set_port_list(&mut self, copy: usize, node: NodeId, port: usize, channel: u8, list: &[u8]);
    /// First and last cycle of a link, if it was used and cycles are kept.
    fn link_cycles(&self, copy: usize, node: NodeId, direction: usize) -> Option<(u64, u64)>;
    /// Bytes of the state that changes while the network runs, and of its settings.
    fn bytes(&self) -> usize;
    /// Flips one bit of a plane: whether the link into a router along +y crosses a dateline.
    #[cfg(test)]
    fn corrupt(&mut self, node: NodeId);
}

impl<V: Vector, const K: usize> Machine<V, K> {
    /// Prepares a network for a workload.
    pub fn new(proof: Available<V>, network: &Network, plan: &Plan<'_>) -> Self {
        let shape = network.fabric().shape();
        let router = network.router();
        let tiling = Tiling::new(shape, V::BITS, plan.copies);
        let (length, buffer) = (plan.length, u32::from(router.buffer));
        let counter = (32 - (length - 1).leading_zeros()) as usize;
        let widths = Widths {
            x: tiling.x.bits(),
            y: tiling.y.bits(),
            counter,
            headers: buffer.div_ceil(length) as usize,
            tag: 0,
        };
        // A header counts as all ones; the flit behind it as `length - 2`.
        let skip = if length < 2 { 0 } else { ((1_usize << counter) - 2) ^ (length as usize - 2) };
        let rules = Rules { widths, offset: (1 << (K - 1)) - buffer as usize, skip };
        let blocks = tiling.blocks();
        let feed = Feed::new(plan.workload, &tiling);
        let copies = tiling.copies as usize;
        let zero = V::zero();
        let mut machine = Self {
            proof,
            columns: columns(&tiling),
            rows: rows(&tiling),
            rotations: [
                Rotation::along_x(&tiling, false),
                Rotation::along_x(&tiling, true),
                Rotation::along_y(&tiling, false),
                Rotation::along_y(&tiling, true),
            ],
            genes: Genes::new(shape, router.channels, blocks),
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
            occupation: plan.occupation.then(|| Occupation::new(blocks)),
            ejected_tags: Vec::new(),
            fingerprints: plan.fingerprints,
            latencies: plan.latencies,
            tags: Tags::NEVER,
            log_limit: 0,
            stop: u64::MAX,
            outcomes: vec![Outcome::default(); copies],
            totals: vec![Outcome::default(); copies],
            delivered: 0,
            ejected: zero,
            network: network.clone(),
            threads: None,
            until: 0,
            started: u64::MAX,
            delivery_sum: vec![0; copies],
            feed,
            tiling,
            rules,
            length,
        };
        machine.load_arbitration(&router.arbitration);
        machine
    }

    fn load_arbitration(&mut self, arbitration: &Arbitration) {
        let nodes = self.tiling.nodes();
        let places = self.feed.places.iter().enumerate();
        self.genes.load(arbitration, places.map(|(index, &place)| ((index % nodes) as NodeId, place)));
    }

    fn directions(&self) -> usize {
        self.network.fabric().shape().directions()
    }

    fn place(&self, copy: usize, node: NodeId) -> u32 {
        self.feed.places[copy * self.tiling.nodes() + node as usize]
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.set_tag_bits(0);
        self.blocks.clear();
        let offset = self.rules.offset;
        self.blocks.extend(self.genes.initial.iter().map(|&precedence| Block::empty(precedence, offset)));
        self.counters.fill([V::ones(); QUEUES]);
        self.used.fill([V::zero(); LINK_QUEUES]);
        for packet in &mut self.packets {
            packet.ready = V::zero();
        }
        self.full.fill(Full { x: [[V::zero(); 2]; 2], y: [[V::zero(); 3]; 2] });
        self.outcomes.fill(Outcome::default());
        self.log_limit = 16 * self.feed.places.len();
        self.delivered = 0;
        self.delivery_sum.fill(0);
        if let Some(occupation) = &mut self.occupation {
            occupation.reset();
        }
        self.feed.reset();
    }

    /// The rules, and the numbers of blocks in x and y; known to the compiler in the usual case.
    #[inline(always)]
    fn constants<const USUAL: bool>(&self) -> (Rules, usize, usize) {
        if USUAL { (Rules::USUAL, 1, 1) } else { (self.rules, self.columns.len(), self.rows.len()) }
    }

    /// All blocks send, in as many parts.
    #[inline(always)]
    fn send_all<const USUAL: bool>(&mut self, cycle: u64) -> (bool, V) {
        let ((rules, wide, high), parts) = (self.constants::<USUAL>(), self.parts());
        if let Some(occupation) = &mut self.occupation {
            occupation.reserve(cycle);
        }
        let fixed = Fixed {
            proof: self.proof,
            rules,
            wide,
            high,
            cycle,
            columns: &self.columns,
            rows: &self.rows,
            rotations: &self.rotations,
        };
        let packet_rows = &self.packet_rows;
        let others = Settled { fixed, genes: &self.genes, full: &self.full, packet_rows };
        let rows = Sending {
            first: 0,
            rows: high,
            blocks: &mut self.blocks,
            counters: &mut self.counters,
            x_rows: &mut self.x_rows,
            y_rows: &mut self.y_rows,
            more_x: &mut self.more_x,
            more_y: &mut self.more_y,
            used: &mut self.used,
            packets: &mut self.packets,
            links: &mut self.links,
            x_links: &mut self.x_links,
            y_links: &mut self.y_links,
            ejected_tags: &mut self.ejected_tags,
            events: &mut self.events,
            uses: self.occupation.as_mut().map(Occupation::all),
        };
        let pieces = if parts == 1 { 1 } else { (PIECES * parts).min(high) };
        // Where the compiler knows the numbers, there is one block.
        let (moved, ejected) = if USUAL { rows.send(&others) } else { rows.send_in_parts(&others, pieces) };
        (moved.any(), ejected)
    }

    /// All blocks receive, in as many parts, while what they sent is counted.
    #[inline(always)]
    fn receive_all<const USUAL: bool>(&mut self, cycle: u64) {
        let ((rules, wide, high), parts) = (self.constants::<USUAL>(), self.parts());
        // Threads that receive need not wait for the one that starts the packets of the next cycle.
        let next = cycle + 1;
        let begins_tags = self.rules.widths.tag == 0 && next >= self.tags.from;
        let starts_next = parts > 1 && next < self.until && !begins_tags;
        let fixed = Fixed {
            proof: self.proof,
            rules,
            wide,
            high,
            cycle,
            columns: &self.columns,
            rows: &self.rows,
            rotations: &self.rotations,
        };
        let sent = Sent { fixed, links: &self.links, x_links: &self.x_links, y_links: &self.y_links };
        let rows = Receiving {
            first: 0,
            rows: high,
            blocks: &mut self.blocks,
            x_rows: &mut self.x_rows,
            y_rows: &mut self.y_rows,
            more_x: &mut self.more_x,
            more_y: &mut self.more_y,
            used: &mut self.used,
            full: &mut self.full,
        };
        let counting = Counting {
            events: &self.events,
            ejected: self.ejected,
            tiling: &self.tiling,
            fingerprints: self.fingerprints,
            feed: &mut self.feed,
            packets: Packets {
                packets: &mut self.packets,
                data: &mut self.packet_rows,
                rows: rules.widths.x_data(),
            },
            outcomes: &mut self.outcomes,
            delivery_sum: &mut self.delivery_sum,
            delivered: &mut self.delivered,
            cycle,
            start: starts_next,
        };
        if USUAL {
            rows.receive(&sent);
            counting.count();
        } else if parts == 1 {
            rows.receive_in_parts(&sent, 1);
            counting.count();
        } else {
            // Whoever counts has less time to receive.
            let proof = self.proof;
            rayon::join(
                || V::enter(proof, counting),
                || rows.receive_in_parts(&sent, (PIECES * parts).min(high)),
            );
        }
        if starts_next {
            self.started = cycle + 1;
        }
    }

    /// Parts of a cycle that threads do side by side.
    #[inline(always)]
    fn parts(&self) -> usize {
        self.threads.as_ref().map_or(1, |threads| threads.current_num_threads())
    }

    /// Whether the compiler knows the numbers of this network; see [`constants`](Self::constants).
    #[inline(always)]
    fn is_usual(&self) -> bool {
        V::BITS >= 256 && self.constants::<false>() == (Rules::USUAL, 1, 1)
    }

    fn sum_up(&mut self, clock: &Clock) -> bool {
        let per_copy = self.tiling.words_per_copy();
        let under_way = match self.rules.widths.tag {
            0 => None,
            _ => self.starts_under_way().ok(),
        };
        self.totals.clone_from(&self.outcomes);
        for (copy, outcome) in self.totals.iter_mut().enumerate() {
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
            }
            outcome.packets_injected = self.feed.loaded[copy] - waiting;
            outcome.flits_delivered = outcome.packets_delivered * u64::from(self.length) + partial;
            let starts = self.feed.start_sum[copy];
            let open = under_way.as_ref().map_or(0, |sums: &Vec<u64>| sums[copy]);
            let all_delivered = outcome.packets_delivered == self.feed.loaded[copy];
            outcome.latency_sum = if all_delivered || under_way.is_some() {
                self.delivery_sum[copy].wrapping_sub(starts.wrapping_sub(open))
            } else {
                0
            };
            outcome.cycles = if clock.finished { outcome.duration.saturating_sub(1) } else { clock.cycle };
        }
        self.rules.widths.tag == 0 || under_way.is_some()
    }
}

/// What is counted of a cycle, and what the nodes that sent a tail are fed.
struct Counting<'a, V: Vector> {
    events: &'a [Events<V>],
    ejected: V,
    tiling: &'a Tiling,
    fingerprints: bool,
    feed: &'a mut Feed,
    packets: Packets<'a, V>,
    outcomes: &'a mut [Outcome],
    delivery_sum: &'a mut [u64],
    delivered: &'a mut u64,
    cycle: u64,
    /// Whether the packets of the next cycle start.
    start: bool,
}

impl<V: Vector> Counting<'_, V> {
    #[inline(always)]
    fn count(self) {
        let Self { events, ejected, tiling, feed, mut packets, outcomes, delivery_sum, cycle, .. } = self;
        let per_copy = tiling.words_per_copy();
        for (outcome, words) in outcomes.iter_mut().zip(words(&[ejected]).chunks_exact(per_copy)) {
            if words.iter().any(|&word| word != 0) {
                outcome.duration = cycle + 2;
            }
        }
        for (index, event) in events.iter().enumerate() {
            let delivered = words(std::slice::from_ref(&event.delivered));
            let four_hops = words(std::slice::from_ref(&event.four_hops));
            for (copy, outcome) in outcomes.iter_mut().enumerate() {
                let range = copy * per_copy..(copy + 1) * per_copy;
                let tails = count_ones(&delivered[range.clone()]);
                outcome.packets_delivered += tails;
                if tails > 0 {
                    outcome.lateness += u128::from(tails) * lateness(cycle);
                }
                delivery_sum[copy] = delivery_sum[copy].wrapping_add(tails.wrapping_mul(cycle));
                outcome.flit_hops += 4 * count_ones(&four_hops[range]);
                *self.delivered += tails;
            }
            if self.fingerprints {
                for place in Ones::of(&event.delivered) {
                    let node = tiling.node_at(index, place) as usize;
                    let outcome = &mut outcomes[node / tiling.nodes()];
                    let share = fingerprint(cycle, (node % tiling.nodes()) as NodeId);
                    outcome.fingerprint = outcome.fingerprint.wrapping_add(share);
                }
            }
            for place in Ones::of(&event.sent) {
                let node = tiling.node_at(index, place);
                feed.sent(node, cycle + 1, &mut packets);
            }
        }
        if self.start {
            feed.start_due(cycle + 1, &mut packets);
        }
    }
}

impl<V: Vector> Task for Counting<'_, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.count();
    }
}

/// Whether a header is at the front of a queue.
#[inline(always)]
fn heads<V: Vector>(counters: &[[V; QUEUES]], queue: usize) -> V {
    let mut heads = V::ones();
    for row in counters {
        heads = heads & row[queue];
    }
    heads
}

/// The set bits of a vector, in order. No closures here, which are not compiled for the vector's
/// instruction set.
struct Ones<'a> {
    words: &'a [u64],
    index: usize,
    left: u64,
}

impl<'a> Ones<'a> {
    #[inline(always)]
    fn of<V: Vector>(vector: &'a V) -> Self {
        let words = words(std::slice::from_ref(vector));
        Self { words, index: 0, left: words[0] }
    }
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.index += 1;
            self.left = *self.words.get(self.index)?;
        }
        let bit = self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(self.index * 64 + bit)
    }
}

/// Some cycles, compiled for the vector's instruction set.
struct Span<'a, V: Vector, const K: usize> {
    machine: &'a mut Machine<V, K>,
    cycle: &'a mut u64,
    until: u64,
}

impl<V: Vector, const K: usize> Task for Span<'_, V, K> {
    type Output = Option<Rest>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        advance(self.machine, self.cycle, self.until, &mut NoProbe)
    }
}

/// All blocks send; `USUAL` as in [`Machine::constants`].
struct SendAll<'a, V: Vector, const K: usize, const USUAL: bool> {
    machine: &'a mut Machine<V, K>,
    cycle: u64,
}

impl<V: Vector, const K: usize, const USUAL: bool> Task for SendAll<'_, V, K, USUAL> {
    type Output = (bool, V);

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.machine.send_all::<USUAL>(self.cycle)
    }
}

/// All blocks receive.
struct ReceiveAll<'a, V: Vector, const K: usize, const USUAL: bool> {
    machine: &'a mut Machine<V, K>,
    cycle: u64,
}

impl<V: Vector, const K: usize, const USUAL: bool> Task for ReceiveAll<'_, V, K, USUAL> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.machine.receive_all::<USUAL>(self.cycle);
    }
}

/// When tags come into use.
#[derive(Clone, Copy)]
pub(super) struct Tags {
    /// At this cycle, or later by an estimate.
    pub from: u64,
    /// The time a packet alone needs at most, where an estimate is to be made.
    pub estimate: Option<u64>,
}

impl Tags {
    const NEVER: Self = Self { from: u64::MAX, estimate: None };
    const ALWAYS: Self = Self { from: 0, estimate: None };

    /// Tags are needed only for the packets under way at a stop, so they begin shortly before.
    fn before(stop: u64, reach: u64) -> Self {
        let from = (stop / 2).max(stop.saturating_sub(16 * reach));
        Self { from, estimate: Some(reach.min(stop / 8)) }
    }
}

impl<V: Vector, const K: usize> Motion<NoProbe> for Machine<V, K> {
    #[inline(always)]
    fn decide(&mut self, cycle: u64, _probe: &mut NoProbe) -> bool {
        if self.rules.widths.tag == 0 && cycle >= self.tags.from {
            if let Some(reach) = self.tags.estimate.take() {
                // Little's law: the mean time a packet is under way, and some for the slowest.
                let under_way = self.feed.loaded.iter().sum::<u64>() - self.delivered;
                let latency = under_way * cycle / u64::max(self.delivered, 1);
                self.tags.from = self.stop - (10 * latency).max(2 * reach).min(self.stop - cycle);
            }
            if cycle >= self.tags.from {
                self.begin_tags();
            }
        }
        if self.started != cycle {
            let rows = self.rules.widths.x_data();
            let mut packets = Packets { packets: &mut self.packets, data: &mut self.packet_rows, rows };
            self.feed.start_due(cycle, &mut packets);
        }
        if self.delivered == self.feed.loaded.iter().sum::<u64>() {
            return false;
        }
        // Functions of their own, since compilers take long over one for everything. Tags change
        // the rules under way.
        let (moved, ejected) = if self.is_usual() {
            V::enter(self.proof, SendAll::<V, K, true> { machine: self, cycle })
        } else {
            V::enter(self.proof, SendAll::<V, K, false> { machine: self, cycle })
        };
        self.ejected = ejected;
        // What could be granted was granted in this cycle, and still nothing moved: only a new
        // packet can change anything.
        moved || !self.feed.is_exhausted()
    }

    #[inline(always)]
    fn arrive(&mut self, cycle: u64, _probe: &mut NoProbe) {
        if self.is_usual() {
            V::enter(self.proof, ReceiveAll::<V, K, true> { machine: self, cycle });
        } else {
            V::enter(self.proof, ReceiveAll::<V, K, false> { machine: self, cycle });
        }
    }

    #[inline(always)]
    fn account(&mut self, _cycle: u64, _probe: &mut NoProbe) {
        self.forget_delivered();
    }

    fn rest(&self, cycle: u64) -> Rest {
        if self.delivered < self.feed.loaded.iter().sum() {
            return Rest::Stuck;
        }
        self.feed.next_event(cycle).map_or(Rest::Finished, Rest::Until)
    }
}

impl<V: Vector, const K: usize> Engine<NoProbe> for Machine<V, K> {
    fn advance(
        &mut self,
        cycle: &mut u64,
        until: u64,
        _probe: &mut NoProbe,
    ) -> Result<Option<Rest>, SimulationError> {
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
        self.feed.places.len() / self.parts()
    }

    fn parts(&self) -> usize {
        self.parts()
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn check(&self, _cycle: u64) -> Result<(), SimulationError> {
        // Only networks that dimension order and datelines keep free of deadlock are covered.
        Ok(())
    }

    fn finished(&self, _cycle: u64) -> Result<(), SimulationError> {
        Ok(())
    }

    fn stuck(&self, cycle: u64, options: &Options) -> SimulationError {
        let options = Options { stop_at: None, cycle_limit: Some(cycle + 2), ..*options };
        match general::simulate(&self.network, self.feed.workload(), &options, &mut NoProbe) {
            Err(error @ (SimulationError::Deadlock(_) | SimulationError::Interrupted(_))) => error,
            _ => SimulationError::Disagreement { cycle },
        }
    }

    fn totals(&mut self, clock: &Clock) -> Result<Outcome, SimulationError> {
        self.sum_up(clock);
        Ok(self.totals[0].clone())
    }

    fn links(&self) -> Option<LinkOccupation> {
        let occupation = self.occupation.as_ref()?;
        let directions = self.directions();
        let mut links = LinkOccupation::new(self.tiling.nodes() * directions);
        for (index, place) in self.feed.places[..self.tiling.nodes()].iter().enumerate() {
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
        for (index, place) in self.feed.places[..self.tiling.nodes()].iter().enumerate() {
            let (block, lane) = (*place as usize / V::BITS, *place as usize % V::BITS);
            for queue in 0..LINK_QUEUES {
                let (direction, channel) = match queue {
                    0..X_QUEUES => (queue / 2, queue % 2),
                    _ => (2 + (queue - X_QUEUES) / 3, (queue - X_QUEUES) % 3),
                };
                if direction < directions && channel < channels {
                    let held = value(self.blocks[block].occupancy[queue].into_iter(), lane);
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
        let reach = u64::from(self.tiling.x.size + self.tiling.y.size + self.length);
        self.stop = stop_at.unwrap_or(u64::MAX);
        self.tags = match stop_at {
            _ if tags => Tags::ALWAYS,
            Some(stop) if self.latencies => Tags::before(stop, reach),
            _ => Tags::NEVER,
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
        self.feed.set_delay(copy * self.tiling.nodes() + node as usize, delay);
    }

    fn set_interval(&mut self, copy: usize, interval: u64) {
        self.feed.set_interval(copy, interval);
    }

    fn set_scheme(&mut self, copy: usize, node: NodeId, port: usize, scheme: ChannelScheme) {
        let place = self.place(copy, node);
        self.genes.set_scheme(node, place, port, scheme);
    }

    fn set_port_list(&mut self, copy: usize, node: NodeId, port: usize, channel: u8, list: &[u8]) {
        let place = self.place(copy, node);
        self.genes.set_port_list(node, place, port, channel, list);
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
            + self.genes.bytes()
            + self.feed.bytes()
    }

    #[cfg(test)]
    fn corrupt(&mut self, node: NodeId) {
        let place = self.place(0, node) as usize;
        let row = place / V::BITS / self.columns.len();
        let plane = std::slice::from_mut(&mut self.rows[row].below);
        super::vector::words_mut(plane)[place % V::BITS / 64] ^= 1 << (place % 64);
    }
}
