//! A network in planes: all blocks, and the loop over cycles.

use super::{
    block::{Block, Events, Full, LINK_QUEUES, QUEUES, Widths, X_QUEUES},
    cycle::{Receiver, Rules, Sender, receive_x, receive_y, send},
    feed::Feed,
    genes::Genes,
    lanes::{Position, Rotation, Tiling, columns, rows},
    occupation::Occupation,
    vector::{Task, Vector, words},
};
use crate::{
    engine::{Network, Outcome, SimulationError, fingerprint, general::Options},
    fabric::NodeId,
    router::{Arbitration, ChannelScheme},
    traffic::Workload,
};
use std::sync::atomic::Ordering;

/// Cycles between two looks at the interrupt flag.
const CHECK_EVERY: u64 = 4096;

/// Why a run ended without an outcome.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A limit of the options was met.
    Simulation(SimulationError),
    /// Nothing can move: the general engine says why.
    Stuck,
    /// Packets under way at the stop were older than the tags.
    TagsTooYoung,
}

/// A network in planes of one vector type; `K` planes hold the occupancy of a queue.
pub struct Machine<'w, V: Vector, const K: usize> {
    pub(super) tiling: Tiling,
    pub(super) rules: Rules,
    pub(super) length: u32,
    columns: Vec<Position<V>>,
    rows: Vec<Position<V>>,
    /// Bits moved to the next lane: x up, x down, y up, y down.
    rotations: [Rotation<V>; 4],
    genes: Genes<V>,
    pub(super) blocks: Vec<Block<V, K>>,
    pub(super) counters: Vec<V>,
    pub(super) slots: Vec<V>,
    slots_used: Vec<V>,
    pub(super) packets: Vec<V>,
    pub(super) links: Vec<V>,
    full: Vec<Full<V>>,
    events: Vec<Events<V>>,
    pub(super) scratch: Vec<V>,
    pub(super) feed: Feed<'w>,
    occupation: Option<Occupation<V>>,
    pub(super) ejected_tags: Vec<V>,
    fingerprints: bool,
    outcomes: Vec<Outcome>,
    /// Sum of the cycles of all deliveries per copy, modulo 2^64.
    delivery_sum: Vec<u64>,
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
    /// Whether the first and last cycle of every link are kept.
    pub occupation: bool,
}

/// A machine of any vector type.
pub trait Engine: Send {
    /// Simulates from an empty network; one outcome per copy.
    fn run(&mut self, options: &Options) -> Result<&[Outcome], Failure>;
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

fn zeros<V: Vector>(count: usize) -> Vec<V> {
    vec![V::zero(); count]
}

impl<'w, V: Vector, const K: usize> Machine<'w, V, K> {
    /// Prepares a network for a workload.
    pub fn new(network: &Network, plan: &Plan<'w>) -> Self {
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
        let feed = Feed::new(plan.workload, &tiling, V::BITS);
        let copies = tiling.copies as usize;
        let mut machine = Self {
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
            counters: zeros(blocks * QUEUES * counter),
            slots: zeros(blocks * widths.slots()),
            slots_used: zeros(blocks * widths.slots_used()),
            packets: zeros(blocks * widths.packet()),
            links: zeros(blocks * widths.links()),
            full: vec![Full { x: [[V::zero(); 2]; 2], y: [[V::zero(); 3]; 2] }; blocks],
            events: vec![Events { delivered: V::zero(), sent: V::zero(), four_hops: V::zero() }; blocks],
            scratch: zeros(widths.x_link().max(widths.y_link())),
            occupation: plan.occupation.then(|| Occupation::new(blocks)),
            ejected_tags: Vec::new(),
            fingerprints: plan.fingerprints,
            outcomes: vec![Outcome::default(); copies],
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

    fn place(&self, copy: usize, node: NodeId) -> u32 {
        self.feed.places[copy * self.tiling.nodes() + node as usize]
    }

    #[inline(always)]
    fn reset(&mut self) {
        self.set_tag_bits(0);
        self.blocks.clear();
        let offset = self.rules.offset;
        self.blocks.extend(self.genes.initial.iter().map(|&precedence| Block::empty(precedence, offset)));
        self.counters.fill(V::ones());
        self.slots_used.fill(V::zero());
        self.packets.fill(V::zero());
        self.full.fill(Full { x: [[V::zero(); 2]; 2], y: [[V::zero(); 3]; 2] });
        self.outcomes.fill(Outcome::default());
        self.delivery_sum.fill(0);
        if let Some(occupation) = &mut self.occupation {
            occupation.reset();
        }
        self.feed.reset();
    }

    /// All blocks send.
    #[inline(always)]
    fn send_all(&mut self, cycle: u64) -> (bool, V) {
        let Self { tiling, rules, columns, rows, rotations, genes, blocks, full, events, .. } = self;
        let widths = rules.widths;
        let (wide, high) = (columns.len(), rows.len());
        let (mut moved, mut ejected) = (V::zero(), V::zero());
        for (by, row) in rows.iter().enumerate() {
            for (bx, column) in columns.iter().enumerate() {
                let index = by * wide + bx;
                let mut behind = full[index];
                if bx + 1 < wide {
                    behind.x[0] = full[index + 1].x[0];
                } else {
                    rotations[1].apply(&full[index + 1 - wide].x[0], &mut behind.x[0]);
                }
                if bx > 0 {
                    behind.x[1] = full[index - 1].x[1];
                } else {
                    rotations[0].apply(&full[index + wide - 1].x[1], &mut behind.x[1]);
                }
                if by + 1 < high {
                    behind.y[0] = full[index + wide].y[0];
                } else {
                    rotations[3].apply(&full[bx].y[0], &mut behind.y[0]);
                }
                if by > 0 {
                    behind.y[1] = full[index - wide].y[1];
                } else {
                    rotations[2].apply(&full[(high - 1) * wide + bx].y[1], &mut behind.y[1]);
                }
                let sender = Sender {
                    block: &mut blocks[index],
                    counters: &mut self.counters[index * QUEUES * widths.counter..]
                        [..QUEUES * widths.counter],
                    slots: &mut self.slots[index * widths.slots()..][..widths.slots()],
                    slots_used: &mut self.slots_used[index * widths.slots_used()..][..widths.slots_used()],
                    packet: &mut self.packets[index * widths.packet()..][..widths.packet()],
                    links: &mut self.links[index * widths.links()..][..widths.links()],
                };
                let tags = match widths.tag {
                    0 => &mut [][..],
                    tag => &mut self.ejected_tags[index * 3 * tag..][..3 * tag],
                };
                let sent = send(sender, tags, genes.settings(index), &behind, column, row, rules);
                let (block_events, sends, ejects) = sent;
                events[index] = block_events;
                ejected = ejected | ejects;
                moved = moved | sends[0] | sends[1] | sends[2] | sends[3] | ejects;
                if let Some(occupation) = &mut self.occupation {
                    occupation.record(index, cycle, sends);
                }
            }
        }
        debug_assert_eq!(tiling.blocks(), events.len());
        (moved.any(), ejected)
    }

    /// All blocks receive.
    #[inline(always)]
    fn receive_all(&mut self) {
        let Self { rules, columns, rows, rotations, blocks, full, links, scratch, .. } = self;
        let widths = rules.widths;
        let (wide, high, stride) = (columns.len(), rows.len(), widths.links());
        let (x_link, y_link) = (widths.x_link(), widths.y_link());
        for (by, row) in rows.iter().enumerate() {
            for (bx, column) in columns.iter().enumerate() {
                let index = by * wide + bx;
                let mut receiver = Receiver {
                    block: &mut blocks[index],
                    slots: &mut self.slots[index * widths.slots()..][..widths.slots()],
                    slots_used: &mut self.slots_used[index * widths.slots_used()..][..widths.slots_used()],
                    full: &mut full[index],
                };
                // Flits that travel up come from below, those that travel down from above.
                for (d, edge, inside, around) in [
                    (0, bx == 0, index.wrapping_sub(1), index + wide - 1),
                    (1, bx + 1 == wide, index + 1, (index + 1).wrapping_sub(wide)),
                ] {
                    let from = if edge { around } else { inside };
                    let mut link = &links[from * stride + d * x_link..][..x_link];
                    if edge {
                        rotations[d].apply(link, &mut scratch[..x_link]);
                        link = &scratch[..x_link];
                    }
                    receive_x(&mut receiver, d, link, column, row, widths);
                }
                for (e, edge, inside, around) in [
                    (0, by == 0, index.wrapping_sub(wide), (high - 1) * wide + bx),
                    (1, by + 1 == high, index + wide, bx),
                ] {
                    let from = if edge { around } else { inside };
                    let mut link = &links[from * stride + 2 * x_link + e * y_link..][..y_link];
                    if edge {
                        rotations[2 + e].apply(link, &mut scratch[..y_link]);
                        link = &scratch[..y_link];
                    }
                    receive_y(&mut receiver, e, link, row, widths);
                }
            }
        }
    }

    /// Counts what happened and feeds the nodes that sent a tail.
    #[inline(always)]
    fn account(&mut self, cycle: u64, ejected: V) -> u64 {
        let Self { events, feed, outcomes, delivery_sum, packets, rules, tiling, .. } = self;
        let (stride, per_copy) = (rules.widths.packet(), tiling.words_per_copy());
        let mut all_delivered = 0;
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
                let count =
                    |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
                let tails = count(&delivered[range.clone()]);
                outcome.packets_delivered += tails;
                delivery_sum[copy] = delivery_sum[copy].wrapping_add(tails.wrapping_mul(cycle));
                outcome.flit_hops += 4 * count(&four_hops[range]);
                all_delivered += tails;
            }
            if self.fingerprints {
                for place in bits(delivered) {
                    let node = feed.node_at(index * V::BITS + place) as usize;
                    let outcome = &mut outcomes[node / tiling.nodes()];
                    let share = fingerprint(cycle, (node % tiling.nodes()) as NodeId);
                    outcome.fingerprint = outcome.fingerprint.wrapping_add(share);
                }
            }
            for place in bits(words(std::slice::from_ref(&event.sent))) {
                let node = feed.node_at(index * V::BITS + place);
                feed.sent(node, cycle + 1, packets, stride);
            }
        }
        all_delivered
    }

    #[inline(always)]
    fn run_inside(&mut self, options: &Options, tags_from: u64) -> Result<(), Failure> {
        self.reset();
        let limit = options.cycle_limit.unwrap_or(u64::MAX);
        let stop = options.stop_at.unwrap_or(u64::MAX);
        let mut next_check = CHECK_EVERY;
        let mut delivered = 0;
        let mut cycle = 0;
        while cycle < stop {
            if cycle >= limit {
                let delivered = self.outcomes.iter().map(|outcome| outcome.packets_delivered).sum();
                return Err(Failure::Simulation(SimulationError::CycleLimit { cycles: limit, delivered }));
            }
            if cycle >= next_check {
                next_check = cycle + CHECK_EVERY;
                if options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                    return Err(Failure::Simulation(SimulationError::Interrupted(cycle)));
                }
            }
            if self.rules.widths.tag == 0 && cycle >= tags_from {
                self.begin_tags();
            }
            self.feed.start_due(cycle, &mut self.packets, self.rules.widths.packet());
            if delivered == self.feed.loaded.iter().sum::<u64>() {
                match self.feed.next_event(cycle) {
                    Some(start) => cycle = start,
                    None => break,
                }
                continue;
            }
            let (moved, ejected) = self.send_all(cycle);
            // What could be granted was granted in this cycle, and still nothing moved: only a new
            // packet can change anything.
            if !moved && self.feed.is_exhausted() {
                return Err(Failure::Stuck);
            }
            self.receive_all();
            delivered += self.account(cycle, ejected);
            cycle += 1;
        }
        self.finish(options)
    }

    #[inline(always)]
    fn finish(&mut self, options: &Options) -> Result<(), Failure> {
        let per_copy = self.tiling.words_per_copy();
        let under_way = match self.rules.widths.tag {
            0 => None,
            _ => Some(self.starts_under_way()?),
        };
        for (copy, outcome) in self.outcomes.iter_mut().enumerate() {
            let range = copy * per_copy..(copy + 1) * per_copy;
            let count = |plane: V| {
                let plane = [plane];
                words(&plane)[range.clone()].iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
            };
            let mut waiting = 0;
            let mut partial = 0;
            for (index, block) in self.blocks.iter().enumerate() {
                let widths = self.rules.widths;
                let counters = &self.counters[index * QUEUES * widths.counter..][..QUEUES * widths.counter];
                let counter = |queue: usize| &counters[queue * widths.counter..][..widths.counter];
                let head = |queue: usize| counter(queue).iter().fold(V::ones(), |all, &bit| all & bit);
                waiting += count(self.packets[index * widths.packet()] & head(QUEUES - 1));
                outcome.flit_hops += count(block.hops[0]) + 2 * count(block.hops[1]);
                // Flits of packets whose tail is still to come.
                let mut ejecting = |queue: usize, owned: V| {
                    let under_way = owned & !head(queue);
                    partial += count(under_way) * u64::from(self.length - 1);
                    for (bit, &plane) in counter(queue).iter().enumerate() {
                        partial -= count(under_way & plane) << bit;
                    }
                };
                block.owned_x.iter().enumerate().for_each(|(q, owned)| ejecting(q, owned[3]));
                block.owned_y.iter().enumerate().for_each(|(q, owned)| ejecting(X_QUEUES + q, owned[1]));
                ejecting(LINK_QUEUES, block.owned_p[4]);
            }
            outcome.packets_injected = self.feed.loaded[copy] - waiting;
            outcome.flits_delivered = outcome.packets_delivered * u64::from(self.length) + partial;
            let starts = self.feed.start_sum[copy];
            let open = under_way.as_ref().map_or(0, |sums: &Vec<u64>| sums[copy]);
            outcome.latency_sum = self.delivery_sum[copy].wrapping_sub(starts.wrapping_sub(open));
            outcome.cycles = match options.stop_at {
                Some(stop) => stop,
                None => outcome.duration.saturating_sub(1),
            };
        }
        Ok(())
    }
}

/// The set bits of words, in order.
#[inline(always)]
fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(index * 64 + bit)
        })
    })
}

/// A run, compiled for the vector's instruction set.
struct Run<'a, 'w, V: Vector, const K: usize> {
    machine: &'a mut Machine<'w, V, K>,
    options: &'a Options<'a>,
    tags_from: u64,
}

impl<V: Vector, const K: usize> Task for Run<'_, '_, V, K> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.machine.run_inside(self.options, self.tags_from)
    }
}

impl<V: Vector, const K: usize> Engine for Machine<'_, V, K> {
    fn run(&mut self, options: &Options) -> Result<&[Outcome], Failure> {
        // Tags are needed only for the packets under way at a stop, so they begin shortly before;
        // if packets turn out to be older than that, earlier.
        let reach = u64::from(self.tiling.x.size + self.tiling.y.size + self.length);
        let mut last = 16 * reach;
        loop {
            let tags_from = options.stop_at.map_or(u64::MAX, |stop| stop.saturating_sub(last));
            match V::enter(Run { machine: self, options, tags_from }) {
                Ok(()) => return Ok(&self.outcomes),
                Err(Failure::TagsTooYoung) => last = last.saturating_mul(16),
                Err(failure) => return Err(failure),
            }
        }
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
            + of(&self.slots)
            + of(&self.slots_used)
            + of(&self.packets)
            + of(&self.links)
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
