//! The nodes' packets: which are started when, and their headers' data as planes.
//!
//! Work is done per packet only. A node without a packet waits in a wheel of start cycles; one that
//! has just sent a tail takes its next packet at once if that has started. Every row of blocks has a
//! injection of its own, in which nodes are known by their bits, so that rows can be fed side by side. The
//! packets of a cycle are listed before they are taken, without branches on who has one.

use super::{
    block::{Events, Packet},
    lanes::{Axis, Router, Tiling},
};
use crate::{
    bits::{Vector, count_ones, words, words_mut},
    engine::{fingerprint, lateness},
    fabric::{NodeId, divide, reciprocal},
    save::{Archive, SaveError},
    traffic::{OpenLoad, PacketSource, Workload},
};

/// Slots of the wheel; later starts go round again.
const SLOTS: usize = 512;
const NONE: u32 = u32::MAX;
/// Entries that may be written behind those of a list.
const SLACK: usize = 2;
/// Words of the longest vector.
const MOST_WORDS: usize = 8;

/// A packet that has entered the processor queue, kept while tags are in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    /// Its source, counted over all copies.
    pub source: u32,
    /// Where it goes.
    pub destination: NodeId,
    /// Its start.
    pub start: u64,
}

/// What is counted of the packets of some nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    /// Packets taken.
    pub loaded: u64,
    /// Sum of their starts, modulo 2^64.
    pub start_sum: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Sum of the cycles of their deliveries, modulo 2^64.
    pub delivery_sum: u64,
    /// Flit-hops, in fours.
    pub flit_hops: u64,
    /// See [`Outcome::fingerprint`](crate::engine::Outcome::fingerprint).
    pub fingerprint: u64,
    /// See [`Outcome::lateness`](crate::engine::Outcome::lateness).
    pub lateness: u128,
}

impl Account {
    /// Both together.
    #[must_use]
    pub(super) fn with(self, other: &Self) -> Self {
        Self {
            loaded: self.loaded + other.loaded,
            start_sum: self.start_sum.wrapping_add(other.start_sum),
            delivered: self.delivered + other.delivered,
            delivery_sum: self.delivery_sum.wrapping_add(other.delivery_sum),
            flit_hops: self.flit_hops + other.flit_hops,
            fingerprint: self.fingerprint.wrapping_add(other.fingerprint),
            lateness: self.lateness.saturating_add(other.lateness),
        }
    }
}

/// What is done when a cycle is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    /// Fingerprints are computed.
    pub fingerprints: bool,
    /// The packets of the next cycle start.
    pub start: bool,
}

/// Where the processors' packets of a row of blocks are kept.
pub(super) struct Packets<'a, V> {
    /// Per block.
    pub packets: &'a mut [Packet<V>],
    /// Their data, in so many rows per block.
    pub data: &'a mut [V],
    /// Rows per block.
    pub rows: usize,
}

impl<V: Vector> Packets<'_, V> {
    /// The last packet of a router once more.
    #[inline(always)]
    fn again(&mut self, bit: usize) {
        let (block, lane) = (bit / V::BITS, bit % V::BITS);
        words_mut(std::slice::from_mut(&mut self.packets[block].ready))[lane / 64] |= 1 << (lane % 64);
    }

    /// Writes the packet of one router: from the lowest bit its output and so many rows of data.
    #[inline(always)]
    pub(super) fn write(&mut self, bit: usize, mut header: u64, rows: usize) {
        let (block, lane) = (bit / V::BITS, bit % V::BITS);
        let (word, bit) = (lane / 64, lane % 64);
        let packet = &mut self.packets[block];
        words_mut(std::slice::from_mut(&mut packet.ready))[word] |= 1 << bit;
        for plane in &mut packet.output {
            put::<V>(plane, word, bit, header);
            header >>= 1;
        }
        for row in &mut self.data[block * self.rows..][..rows] {
            put::<V>(row, word, bit, header);
            header >>= 1;
        }
    }
}

#[inline(always)]
fn put<V: Vector>(plane: &mut V, word: usize, bit: usize, value: u64) {
    let word = &mut words_mut(std::slice::from_mut(plane))[word];
    *word = *word & !(1 << bit) | (value & 1) << bit;
}

/// Appends the set bits of a vector to a list of so many entries; the entries there are then. No
/// closures here, which are not compiled for the vector's instruction set.
#[inline(always)]
pub(super) fn list_ones<V: Vector>(vector: &V, list: &mut [u16], mut count: usize) -> usize {
    let mut first = 0;
    for &word in words(std::slice::from_ref(vector)) {
        let mut left = word;
        // Few words have more than two.
        for _ in 0..SLACK {
            list[count] = first + left.trailing_zeros() as u16;
            count += usize::from(left != 0);
            left &= left.wrapping_sub(1);
        }
        while left != 0 {
            list[count] = first + left.trailing_zeros() as u16;
            count += 1;
            left &= left - 1;
        }
        first += 64;
    }
    count
}

/// What all nodes have in common.
#[derive(Clone)]
pub(super) struct Common {
    workload: Workload,
    tiling: Tiling,
    /// Nodes of one network.
    nodes: usize,
    /// Reciprocal of the size in x.
    per_x: u64,
    /// Per copy, added to every start once for each packet of the node before it.
    intervals: Vec<u64>,
    /// Whether the packets are known in advance: delays and intervals apply to them, and most go where
    /// the last one of their node went.
    repeats: bool,
    /// Whether packets are drawn several at a time.
    draws_at_once: bool,
    /// Rows of data that differ from packet to packet.
    rows: usize,
    /// Whether packets taken are logged.
    logs: bool,
}

/// A node, in the row of its block.
#[derive(Clone, Copy)]
struct Node {
    /// Start of the packet that follows those taken.
    next_start: u64,
    /// Packets taken.
    taken: u32,
    /// Next node in the same slot of the wheel.
    behind: u32,
}

/// The injection of one row of blocks.
#[derive(Clone)]
pub(super) struct Row {
    /// Its number.
    number: u32,
    /// Per bit.
    nodes: Vec<Node>,
    /// Destination of a node's last packet, where they repeat; else empty.
    destinations: Vec<NodeId>,
    /// Start of a node's last packet, where packets under way may be asked for; else empty.
    starts: Vec<u64>,
    /// Delay added to every start of a node's packets; empty for none.
    delays: Vec<u64>,
    wheel: Vec<u32>,
    waiting: usize,
    /// Nodes that take a packet in a cycle.
    due: Vec<u32>,
    /// Bits of a block with an event, and those of them that wait.
    ones: Vec<u16>,
    later: Vec<u16>,
    /// Packets taken since tags came into use.
    pub log: Vec<Loaded>,
    /// Per copy.
    pub accounts: Vec<Account>,
}

/// All nodes of all copies.
#[derive(Clone)]
pub(super) struct Injection {
    /// What they have in common.
    pub common: Common,
    /// Bit of every node: `block * bits + lane`.
    pub places: Vec<u32>,
    /// By row of blocks.
    pub rows: Vec<Row>,
}

impl Injection {
    /// The nodes of a tiling, before [`reset`](Self::reset), with so many rows of header data; `starts`
    /// says whether those of the last packets are kept.
    pub(super) fn new(workload: &Workload, tiling: &Tiling, rows: usize, starts: bool) -> Self {
        let (nodes, copies) = (tiling.nodes(), tiling.copies as usize);
        let repeats = workload.count().is_some();
        let places =
            (0..nodes * copies).map(|node| tiling.place(node / nodes, (node % nodes) as NodeId)).collect();
        let (bits, block) = (tiling.bits_of_row(), tiling.bits_of_block());
        let row = |number| Row {
            number,
            nodes: vec![Node { next_start: u64::MAX, taken: 0, behind: NONE }; bits],
            destinations: if repeats { vec![NONE; bits] } else { Vec::new() },
            starts: if starts { vec![0; bits] } else { Vec::new() },
            delays: Vec::new(),
            wheel: vec![NONE; SLOTS],
            waiting: 0,
            due: vec![0; bits],
            ones: vec![0; block + SLACK],
            later: vec![0; block],
            log: Vec::new(),
            accounts: vec![Account::default(); copies],
        };
        Self {
            common: Common {
                workload: workload.clone(),
                tiling: tiling.clone(),
                nodes,
                per_x: reciprocal(tiling.x.size),
                intervals: vec![0; copies],
                repeats,
                draws_at_once: matches!(workload, Workload::Load(load) if load.draws_at_once()),
                rows,
                logs: false,
            },
            places,
            rows: (0..tiling.y.tile()).map(row).collect(),
        }
    }

    /// Row and bit of a node, counted over all copies.
    fn at(&self, all: usize) -> (usize, usize) {
        let (place, bits) = (self.places[all] as usize, self.common.tiling.bits_of_row());
        (place / bits, place % bits)
    }

    /// Back to cycle 0.
    pub(super) fn reset(&mut self) {
        let Self { common, places, rows } = self;
        common.logs = false;
        for row in &mut *rows {
            row.wheel.fill(NONE);
            row.waiting = 0;
            row.log.clear();
            row.accounts.fill(Account::default());
        }
        let bits = common.tiling.bits_of_row();
        for (all, &place) in places.iter().enumerate() {
            let (row, bit) = (&mut rows[place as usize / bits], place as usize % bits);
            row.nodes[bit].taken = 0;
            row.nodes[bit].next_start = row.start_after(common, all, bit, 0);
            if row.nodes[bit].next_start != u64::MAX {
                row.wait(bit);
            }
        }
    }

    /// The state as fields; `ready` are the nodes that have a packet at their router.
    pub(super) fn archive(&mut self, archive: &mut Archive, ready: &[bool]) -> Result<(), SaveError> {
        let at: Vec<_> = (0..self.places.len()).map(|all| self.at(all)).collect();
        let mut taken: Vec<u32> = at.iter().map(|&(row, bit)| self.rows[row].nodes[bit].taken).collect();
        let mut starts: Vec<u64> =
            at.iter().map(|&(row, bit)| self.rows[row].nodes[bit].next_start).collect();
        archive.slice("packets taken", &mut taken)?;
        archive.slice("next starts", &mut starts)?;
        // Those of nodes that never took any are not kept.
        let mut last: Vec<u64> =
            at.iter().filter_map(|&(row, bit)| self.rows[row].starts.get(bit).copied()).collect();
        archive.slice("last starts", &mut last)?;
        let mut log = self.whole_log();
        let nobody = Loaded { source: 0, destination: 0, start: 0 };
        archive.column("log of sources", &mut log, &nobody, |loaded| &mut loaded.source)?;
        archive.column("log of destinations", &mut log, &nobody, |loaded| &mut loaded.destination)?;
        archive.column("log of starts", &mut log, &nobody, |loaded| &mut loaded.start)?;
        if !archive.is_reading() {
            return Ok(());
        }
        for (node, &(row, bit)) in at.iter().enumerate() {
            let row = &mut self.rows[row];
            (row.nodes[bit].taken, row.nodes[bit].next_start) = (taken[node], starts[node]);
            if let Some(start) = row.starts.get_mut(bit) {
                *start = last[node];
            }
            row.destinations.fill(NONE);
        }
        self.check_restored(&log)?;
        self.keep(log);
        for row in &mut self.rows {
            row.wheel.fill(NONE);
            row.waiting = 0;
        }
        for (&(row, bit), _) in at.iter().zip(ready).filter(|&(_, &ready)| !ready) {
            if self.rows[row].nodes[bit].next_start != u64::MAX {
                self.rows[row].wait(bit);
            }
        }
        Ok(())
    }

    /// Nothing restored may lead outside the workload.
    fn check_restored(&self, log: &[Loaded]) -> Result<(), SaveError> {
        let nodes = self.common.nodes as u32;
        let logged = log.iter().find(|loaded| loaded.source >= nodes || loaded.destination >= nodes);
        if let Some(loaded) = logged {
            return Err(SaveError::Value {
                field: "log",
                value: loaded.source.max(loaded.destination).into(),
            });
        }
        if !self.common.repeats {
            return Ok(());
        }
        for node in 0..self.places.len() {
            let (row, bit) = self.at(node);
            let Node { taken, next_start: start, .. } = self.rows[row].nodes[bit];
            let workload = &self.common.workload;
            let beyond =
                taken > 0 && workload.packet_at(node as NodeId, u64::from(taken) - 1, start).is_none();
            if beyond || start != self.rows[row].start_after(&self.common, node, bit, 0) {
                return Err(SaveError::Value { field: "packets taken", value: taken.into() });
            }
        }
        Ok(())
    }

    /// Delays all packets of a node, counted over all copies.
    pub(super) fn set_delay(&mut self, node: usize, delay: u64) {
        let (row, bit) = self.at(node);
        let row = &mut self.rows[row];
        if row.delays.is_empty() {
            row.delays = vec![0; row.nodes.len()];
        }
        row.delays[bit] = delay;
    }

    /// Delays packet number k of every node of a copy by k intervals.
    pub(super) fn set_interval(&mut self, copy: usize, interval: u64) {
        self.common.intervals[copy] = interval;
    }

    /// Logs the packets taken from now on, and the last ones of some nodes with their destinations.
    pub(super) fn begin_log(&mut self, last: &[(usize, NodeId)]) {
        self.common.logs = true;
        for &(source, destination) in last {
            let (row, bit) = self.at(source);
            let row = &mut self.rows[row];
            let start = row.starts.get(bit).copied().unwrap_or_default();
            row.log.push(Loaded { source: source as u32, destination, start });
        }
    }

    /// Logs no more.
    pub(super) fn end_log(&mut self) {
        self.common.logs = false;
        self.rows.iter_mut().for_each(|row| row.log.clear());
    }

    /// Cycles that the next packets of the nodes have waited, on average.
    pub(super) fn mean_lag(&self, cycle: u64) -> u64 {
        let nodes = self.rows.iter().flat_map(|row| &row.nodes);
        let lag: u64 = nodes.map(|node| cycle.saturating_sub(node.next_start)).sum();
        lag / self.places.len() as u64
    }

    /// The log of all rows; packets of a node are in order.
    pub(super) fn whole_log(&self) -> Vec<Loaded> {
        self.rows.iter().flat_map(|row| row.log.iter().copied()).collect()
    }

    /// Entries of the log.
    pub(super) fn logged(&self) -> usize {
        let mut logged = 0;
        for row in &self.rows {
            logged += row.log.len();
        }
        logged
    }

    /// Keeps this log, in which the packets of a node are in order, and logs on.
    pub(super) fn keep(&mut self, log: Vec<Loaded>) {
        self.rows.iter_mut().for_each(|row| row.log.clear());
        for loaded in log {
            let (row, _) = self.at(loaded.source as usize);
            self.rows[row].log.push(loaded);
        }
    }

    /// Whether packets taken are logged, after the state was restored.
    pub(super) fn set_logs(&mut self, logs: bool) {
        self.common.logs = logs;
    }

    /// Bytes of the state of all nodes.
    pub(super) fn bytes(&self) -> usize {
        fn of<T>(items: &[T]) -> usize {
            size_of_val(items)
        }
        let rows = self.rows.iter().map(|row| {
            of(&row.nodes)
                + of(&row.destinations)
                + of(&row.starts)
                + of(&row.delays)
                + of(&row.wheel)
                + of(&row.due)
                + of(&row.ones)
                + of(&row.later)
                + of(&row.accounts)
        });
        of(&self.places) + rows.sum::<usize>()
    }

    /// What is counted of a copy.
    pub(super) fn account(&self, copy: usize) -> Account {
        self.rows.iter().fold(Account::default(), |sum, row| sum.with(&row.accounts[copy]))
    }

    /// Packets taken and delivered in all copies.
    #[inline(always)]
    pub(super) fn packets(&self) -> (u64, u64) {
        let (mut loaded, mut delivered) = (0, 0);
        for row in &self.rows {
            for account in &row.accounts {
                loaded += account.loaded;
                delivered += account.delivered;
            }
        }
        (loaded, delivered)
    }

    /// Whether all packets have been taken.
    pub(super) fn is_exhausted(&self) -> bool {
        self.rows.iter().all(|row| row.waiting == 0)
    }

    /// The earliest start of a waiting node at or after `cycle`.
    pub(super) fn next_event(&self, cycle: u64) -> Option<u64> {
        let start = self.rows.iter().filter_map(|row| row.next_event(cycle)).min()?;
        // A start that a changed state puts into the past is never due, and must not stop the clock.
        Some(if start < cycle { cycle + 1 } else { start })
    }

    /// Starts the packets that are due at `cycle`.
    #[inline(never)]
    pub(super) fn start_due<V: Vector>(&mut self, cycle: u64, packets: &mut Packets<'_, V>) {
        let Self { common, rows, .. } = self;
        let each = packets.packets.len() / rows.len();
        for (number, row) in rows.iter_mut().enumerate() {
            let mut packets = Packets {
                packets: &mut packets.packets[number * each..][..each],
                data: &mut packets.data[number * each * packets.rows..][..each * packets.rows],
                rows: packets.rows,
            };
            let due = row.due(cycle, 0);
            row.take_all(common, due, &mut packets);
        }
    }
}

impl Row {
    fn next_event(&self, cycle: u64) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        // Lists of a state that somebody changed may lead round in circles.
        let in_slot = |slot: usize| {
            let mut node = self.wheel[slot];
            std::iter::from_fn(move || {
                let here = self.nodes.get(node as usize)?;
                node = here.behind;
                Some(here.next_start)
            })
            .take(self.nodes.len())
        };
        let soon = (cycle..cycle + SLOTS as u64)
            .find(|&start| in_slot(start as usize % SLOTS).any(|other| other == start));
        soon.or_else(|| (0..SLOTS).flat_map(in_slot).min())
    }

    /// Lists the nodes that wait for `cycle` behind `count` others; how many there are then.
    #[inline(always)]
    fn due(&mut self, cycle: u64, mut count: usize) -> usize {
        let mut node = std::mem::replace(&mut self.wheel[cycle as usize % SLOTS], NONE);
        let mut most = self.nodes.len();
        while node != NONE && most > 0 {
            most -= 1;
            let Node { behind, next_start, .. } = self.nodes[node as usize];
            self.waiting -= 1;
            if next_start <= cycle {
                self.due[count] = node;
                count += 1;
            } else {
                self.wait(node as usize);
            }
            node = behind;
        }
        count
    }

    /// Some nodes of a block have sent their packets; those whose next one has started by `cycle` are
    /// listed behind `count` others, the rest wait. How many are listed then.
    #[inline(always)]
    fn sent<V: Vector>(&mut self, block: usize, sent: &V, cycle: u64, mut count: usize) -> usize {
        let ones = list_ones(sent, &mut self.ones, 0);
        let mut later = 0;
        for &lane in &self.ones[..ones] {
            let bit = block * V::BITS + usize::from(lane);
            let starts = self.nodes[bit].next_start <= cycle;
            self.due[count] = bit as u32;
            self.later[later] = lane;
            count += usize::from(starts);
            later += usize::from(!starts);
        }
        for index in 0..later {
            let bit = block * V::BITS + usize::from(self.later[index]);
            if self.nodes[bit].next_start != u64::MAX {
                self.wait(bit);
            }
        }
        count
    }

    #[inline(always)]
    fn wait(&mut self, bit: usize) {
        let node = &mut self.nodes[bit];
        let slot = &mut self.wheel[node.next_start as usize % SLOTS];
        node.behind = std::mem::replace(slot, bit as u32);
        self.waiting += 1;
    }

    /// Counts what its blocks did in a cycle; those whose packets were sent take the next ones.
    #[inline(always)]
    pub(super) fn count<V: Vector>(
        &mut self,
        common: &Common,
        events: &[Events<V>],
        cycle: u64,
        counting: Counting,
        packets: &mut Packets<'_, V>,
    ) {
        let per_copy = common.tiling.words_per_copy();
        for (copy, account) in self.accounts.iter_mut().enumerate() {
            let range = copy * per_copy..(copy + 1) * per_copy;
            let (mut tails, mut hops) = (0, 0);
            for event in events {
                tails += count_ones(&words(std::slice::from_ref(&event.delivered))[range.clone()]);
                hops += count_ones(&words(std::slice::from_ref(&event.four_hops))[range.clone()]);
            }
            account.delivered += tails;
            account.flit_hops += 4 * hops;
            account.delivery_sum = account.delivery_sum.wrapping_add(tails.wrapping_mul(cycle));
            if tails > 0 {
                account.lateness = account.lateness.saturating_add(lateness(cycle, tails));
            }
        }
        let mut due = 0;
        for (block, event) in events.iter().enumerate() {
            if counting.fingerprints {
                let ones = list_ones(&event.delivered, &mut self.ones, 0);
                for &lane in &self.ones[..ones] {
                    let router = common.tiling.router_at(block as u32, self.number, lane.into());
                    let share = fingerprint(cycle, router.node(&common.tiling));
                    let account = &mut self.accounts[router.copy as usize];
                    account.fingerprint = account.fingerprint.wrapping_add(share);
                }
            }
            due = self.sent(block, &event.sent, cycle + 1, due);
        }
        if counting.start {
            due = self.due(cycle + 1, due);
        }
        self.take_all(common, due, packets);
    }

    /// The nodes listed take a packet each.
    #[inline(always)]
    fn take_all<V: Vector>(&mut self, common: &Common, due: usize, packets: &mut Packets<'_, V>) {
        if due == 0 {
            return;
        }
        match &common.workload {
            Workload::Load(load) if common.draws_at_once => self.take_drawn(common, load, due, packets),
            workload => {
                for index in 0..due {
                    let bit = self.due[index] as usize;
                    let router = common.router::<V>(self.number, bit);
                    let node = router.node(&common.tiling);
                    let Node { next_start: start, taken: number, .. } = self.nodes[bit];
                    let packet = workload.packet_at(node, number.into(), start);
                    let destination = packet.map_or(node, |packet| packet.destination);
                    let after = workload.next_start(node, u64::from(number) + 1, start + 1);
                    let after = self.late(common, router.copy as usize, bit, number + 1, after);
                    self.take(common, bit, router, destination, after, packets);
                }
            }
        }
    }

    /// As many packets as a vector has words are drawn side by side.
    #[inline(always)]
    fn take_drawn<V: Vector>(
        &mut self,
        common: &Common,
        load: &OpenLoad,
        due: usize,
        packets: &mut Packets<'_, V>,
    ) {
        let (mut nodes, mut numbers) = ([0; MOST_WORDS], [0; MOST_WORDS]);
        let (mut others, mut waits) = ([0; MOST_WORDS], [0; MOST_WORDS]);
        for first in (0..due).step_by(V::WORDS) {
            let count = V::WORDS.min(due - first);
            for index in 0..count {
                let bit = self.due[first + index] as usize;
                nodes[index] = common.router::<V>(self.number, bit).node(&common.tiling).into();
                numbers[index] = self.nodes[bit].taken.into();
            }
            let drawn = load.drawn(V::load(&nodes), V::load(&numbers));
            drawn.0.store(&mut others);
            drawn.1.store(&mut waits);
            for index in 0..count {
                let bit = self.due[first + index] as usize;
                let (node, number) = (nodes[index] as NodeId, numbers[index] + 1);
                let destination = others[index] as NodeId + NodeId::from(others[index] >= nodes[index]);
                let from = self.nodes[bit].next_start + 1;
                let after = load.start_drawn(node, number, from, waits[index]).unwrap_or(u64::MAX);
                let router = common.router::<V>(self.number, bit);
                self.take(common, bit, router, destination, after, packets);
            }
        }
    }

    /// A node takes a packet; the one after that starts then.
    #[inline(always)]
    fn take<V: Vector>(
        &mut self,
        common: &Common,
        bit: usize,
        router: Router,
        destination: NodeId,
        after: u64,
        packets: &mut Packets<'_, V>,
    ) {
        let entry = &mut self.nodes[bit];
        let start = std::mem::replace(&mut entry.next_start, after);
        entry.taken += 1;
        if let Some(last) = self.starts.get_mut(bit) {
            *last = start;
        }
        let account = &mut self.accounts[router.copy as usize];
        account.loaded += 1;
        account.start_sum = account.start_sum.wrapping_add(start);
        if common.logs {
            self.log.push(Loaded { source: common.number(router), destination, start });
        }
        if let Some(last) = self.destinations.get_mut(bit)
            && std::mem::replace(last, destination) == destination
        {
            return packets.again(bit);
        }
        packets.write(bit, common.header(router, destination), common.rows);
    }

    /// Start of the packet that follows those taken by a node, counted over all copies.
    fn start_after(&self, common: &Common, all: usize, bit: usize, from: u64) -> u64 {
        let (copy, node) = (all / common.nodes, all % common.nodes);
        let number = self.nodes[bit].taken;
        let start = common.workload.next_start(node as NodeId, number.into(), from);
        self.late(common, copy, bit, number, start)
    }

    /// When the packet of a number starts, delays and intervals included.
    #[inline(always)]
    fn late(&self, common: &Common, copy: usize, bit: usize, number: u32, start: Option<u64>) -> u64 {
        match start {
            None => u64::MAX,
            Some(start) if !common.repeats => start,
            Some(start) => {
                let interval = common.intervals[copy];
                start + self.delays.get(bit).copied().unwrap_or(0) + u64::from(number) * interval
            }
        }
    }
}

impl Common {
    #[inline(always)]
    fn router<V: Vector>(&self, row: u32, bit: usize) -> Router {
        self.tiling.router_at((bit / V::BITS) as u32, row, (bit % V::BITS) as u32)
    }

    /// Number of a router, counted over all copies.
    #[inline(always)]
    fn number(&self, router: Router) -> u32 {
        router.copy * self.nodes as u32 + router.node(&self.tiling)
    }

    /// A packet at its source: its output (+x, -x, +y, -y, P), the sign of y, then x and y of the
    /// destination. Free of branches.
    #[inline(always)]
    pub(super) fn header(&self, from: Router, destination: NodeId) -> u64 {
        let Tiling { x, y, .. } = &self.tiling;
        let to_y = divide(destination, self.per_x);
        let to_x = destination - to_y * x.size;
        let (minus_x, minus_y) = (minus(x, from.x, to_x), minus(y, from.y, to_y));
        let (in_x, in_y) = (u64::from(from.x != to_x), u64::from(from.y != to_y));
        let output = in_x << u64::from(minus_x)
            | (in_y & !in_x) << (2 + u64::from(minus_y))
            | (!in_x & !in_y & 1) << 4;
        let minus_y = u64::from(minus_y) & in_y;
        output | minus_y << 5 | u64::from(to_x) << 6 | u64::from(to_y) << (6 + x.bits())
    }
}

/// Whether the way between two coordinates that differ goes minus: the rule of
/// [`dimension_order::sign`](crate::routing::dimension_order::sign) without branches.
#[inline(always)]
fn minus(axis: &Axis, from: u32, to: u32) -> bool {
    let size = axis.size;
    let ahead = to.wrapping_sub(from);
    let ahead = if to < from { ahead.wrapping_add(size) } else { ahead };
    let round = (2 * ahead > size) | ((2 * ahead == size) & !axis.ties.go_plus(size, from));
    if axis.wraps { round } else { to < from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bits::Words,
        fabric::{Sign, Ties},
        routing::dimension_order,
        traffic::PacketList,
    };

    #[test]
    fn signs_without_branches_are_those_of_dimension_order() {
        for size in 1..=17 {
            for (wraps, ties) in
                [(true, Ties::Balanced), (true, Ties::Wrap), (false, Ties::Balanced), (false, Ties::Wrap)]
            {
                let axis = Axis { size, lanes: 1, wraps, ties };
                for (from, to) in pairs(size) {
                    if let Some(sign) = dimension_order::sign(size, wraps, ties, from, to) {
                        assert_eq!(minus(&axis, from, to), sign == Sign::Minus, "{axis:?} {from} {to}");
                    }
                }
            }
        }
    }

    fn pairs(size: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..size).flat_map(move |a| (0..size).map(move |b| (a, b)))
    }

    #[test]
    fn headers_hold_the_coordinates_of_any_size() {
        for sizes in [[2, 7], [7, 2], [3, 5], [16, 16], [1000, 3], [3, 1000], [1021, 67]] {
            let shape = crate::fabric::Shape::mesh(&sizes).unwrap();
            let tiling = Tiling::new(&shape, 64, 1);
            let nodes = shape.nodes() as NodeId;
            let workload = Workload::Packets(PacketList::default());
            let common = Injection::new(&workload, &tiling, 0, false).common;
            for destination in (0..nodes).step_by(1 + nodes as usize / 999).chain([nodes - 1]) {
                let header = common.header(Router { copy: 0, x: 0, y: 0 }, destination);
                let (x, y) = (destination % sizes[0], destination / sizes[0]);
                assert_eq!(header >> 6, u64::from(x) | u64::from(y) << tiling.x.bits());
                let output = if x > 0 {
                    0
                } else if y > 0 {
                    2
                } else {
                    4
                };
                assert_eq!(header & 63, 1 << output, "{sizes:?} {destination}");
            }
        }
    }

    #[test]
    fn every_set_bit_is_listed_once_in_order() {
        for words in [[0, 0, 0, 0], [1, 0, u64::MAX, 1 << 63], [5, 7, 0x8000_0000_0000_0001, 0x70]] {
            let mut vector = [Words::<4>::splat(0)];
            words_mut(&mut vector).copy_from_slice(&words);
            let mut list = vec![0; 256 + SLACK];
            let count = list_ones(&vector[0], &mut list, 0);
            let expected: Vec<u16> =
                (0..256).filter(|bit| words[usize::from(bit / 64)] >> (bit % 64) & 1 == 1).collect();
            assert_eq!(list[..count], expected);
        }
    }
}
