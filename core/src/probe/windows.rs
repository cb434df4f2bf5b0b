use super::{Departure, Histogram, SourceQueues};
use crate::{
    fabric::NodeId,
    save::{Archive, SaveError},
    traffic::{Outstanding, PacketSource, Sources, Workload},
    visit::{Saved, State as _, copy_nodes},
};
use std::ops::Range;

/// What happened in some cycles in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Flits of the packets that their sources generated (started), sent or not; a packet of a list that
    /// starts before its predecessor comes with it. Of a message graph those of the messages that may start.
    pub generated_flits: u64,
    /// Packets whose header left the processor queue of its router.
    pub injected_packets: u64,
    /// Flits ejected.
    pub ejected_flits: u64,
    /// Packets whose tail was ejected.
    pub delivered_packets: u64,
    /// Sum of their ages: from generation to the tail's ejection, plus 2, in cycles.
    pub age_sum: u64,
    /// Sum of their network ages: from the cycle in which the header leaves the processor queue.
    pub network_age_sum: u64,
    /// Largest age.
    pub age_max: u64,
    /// Largest network age.
    pub network_age_max: u64,
    /// At the end: packets whose header has left the processor queue and whose tail is not ejected.
    pub in_flight: u64,
}

impl Window {
    /// Adds what happened in another part of the network.
    fn merge(&mut self, other: &Self) {
        let &Self {
            generated_flits,
            injected_packets,
            ejected_flits,
            delivered_packets,
            age_sum,
            network_age_sum,
            age_max,
            network_age_max,
            in_flight,
        } = other;
        self.generated_flits += generated_flits;
        self.injected_packets += injected_packets;
        self.ejected_flits += ejected_flits;
        self.delivered_packets += delivered_packets;
        self.age_sum += age_sum;
        self.network_age_sum += network_age_sum;
        self.age_max = self.age_max.max(age_max);
        self.network_age_max = self.network_age_max.max(network_age_max);
        self.in_flight = self.in_flight.wrapping_add(in_flight);
    }
}

/// Totals of a run that windows are differences of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets whose header left the processor queue.
    pub injected_packets: u64,
    /// Flits ejected.
    pub ejected_flits: u64,
    /// Packets whose tail was ejected.
    pub delivered_packets: u64,
}

impl Counted {
    fn merge(&mut self, other: Self) {
        let Self { injected_packets, ejected_flits, delivered_packets } = other;
        self.injected_packets += injected_packets;
        self.ejected_flits += ejected_flits;
        self.delivered_packets += delivered_packets;
    }
}

/// A delivered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The cycle in which its tail is ejected.
    pub cycle: u64,
    /// Its source.
    pub source: NodeId,
    /// The cycle in which it was generated.
    pub start: u64,
    /// The cycle in which its header left the processor queue.
    pub injected: u64,
}

/// A run in windows of equal length, and, over a stretch of cycles, how old packets grow and whose
/// packets arrive. Works at heads and tails only.
///
/// Packets that wait in unbounded source queues are counted by a second copy of every node's generator,
/// so that memory does not grow with them.
///
/// ```
/// use flitloom_core::{probe::{Counted, Delivery, Windows}, traffic::{Packet, PacketList, Workload}};
/// let packet = Packet { destination: 1, length: 8, start: 3, slice: 0 };
/// let workload = Workload::Packets(PacketList::from_nodes([vec![packet], vec![]])?);
/// let mut windows = Windows::new(&workload, 2, 10);
/// windows.deliver(Delivery { cycle: 12, source: 0, start: 3, injected: 4 });
/// windows.close(20, Counted { injected_packets: 1, ejected_flits: 8, delivered_packets: 1 });
/// let window = windows.closed()[0];
/// assert_eq!((window.generated_flits, window.age_sum, window.network_age_max), (8, 11, 10));
/// # Ok::<(), flitloom_core::traffic::WorkloadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windows {
    workload: Workload,
    /// Flits of every packet, if all have the same.
    length: Option<u32>,
    cycles: u64,
    /// The first cycle behind the present window.
    end: u64,
    closed: Vec<Window>,
    present: Window,
    before: Counted,
    /// The first node whose generator is here.
    first: NodeId,
    /// Per node: packets generated before the present window, and the start of the next one.
    generated: Vec<u64>,
    next_start: Vec<u64>,
    /// Where sources are closed; and whether a delivery makes room at its source at once.
    outstanding: Option<Outstanding>,
    makes_room: bool,
    /// The stretch that is measured.
    from: u64,
    to: u64,
    generated_in_stretch: u64,
    delivered_by_source: Vec<u64>,
    ages: Histogram,
    network_ages: Histogram,
    delivered_of_stretch: u64,
    queues: SourceQueues,
    /// Whether the packets of a node go to several queues, so that others tell which gets one.
    sorted: bool,
    /// Starts of the packets at the fronts of source queues, if others than the generators tell them.
    fronts: Vec<u64>,
}

impl Windows {
    /// Windows of so many cycles, at least one; everything is measured until another stretch is set.
    pub fn new(workload: &Workload, nodes: usize, cycles: u64) -> Self {
        Self::of_part(workload, nodes, 0..nodes, cycles, 1)
    }

    /// The same for what some of the nodes generate and deliver, which have so many source queues each.
    pub(crate) fn of_part(
        workload: &Workload,
        nodes: usize,
        part: Range<usize>,
        cycles: u64,
        queues: usize,
    ) -> Self {
        let first = |node| workload.next_start(node, 0, 0).unwrap_or(u64::MAX);
        Self {
            length: workload.uniform_length(),
            cycles: cycles.max(1),
            end: cycles.max(1),
            closed: Vec::new(),
            present: Window::default(),
            before: Counted::default(),
            first: part.start as NodeId,
            outstanding: Outstanding::new(workload, part.len()),
            makes_room: true,
            generated: vec![0; part.len()],
            queues: SourceQueues::new(part.len(), queues, nodes, slot_cycles(cycles)),
            sorted: queues > 1,
            fronts: Vec::new(),
            next_start: part.map(|node| first(node as NodeId)).collect(),
            from: 0,
            to: u64::MAX,
            generated_in_stretch: 0,
            delivered_by_source: vec![0; nodes],
            ages: Histogram::default(),
            network_ages: Histogram::default(),
            delivered_of_stretch: 0,
            workload: workload.clone(),
        }
    }

    /// The same where deliveries make no room at closed sources: [`make_room`](Self::make_room) is called instead.
    pub(crate) fn with_room_told(self) -> Self {
        Self { makes_room: false, ..self }
    }

    /// The same where all that a node generates goes to the first of its source queues.
    pub(crate) fn with_first_queues(self) -> Self {
        Self { sorted: false, ..self }
    }

    /// Measures a stretch of cycles, in place of what was measured before. It begins with the present
    /// window or later: packets that were generated in earlier ones are not counted again.
    pub fn measure(&mut self, from: u64, to: u64) {
        self.from = from;
        self.to = to;
        self.generated_in_stretch = 0;
        self.delivered_of_stretch = 0;
        self.delivered_by_source.fill(0);
        self.ages = Histogram::default();
        self.network_ages = Histogram::default();
    }

    /// The first cycle behind the present window.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A packet is delivered in the present window.
    #[inline(always)]
    pub fn deliver(&mut self, Delivery { cycle, source, start, injected }: Delivery) {
        let (age, network_age) = (cycle + 2 - start, cycle + 2 - injected);
        self.present.age_sum += age;
        self.present.network_age_sum += network_age;
        self.present.age_max = self.present.age_max.max(age);
        self.present.network_age_max = self.present.network_age_max.max(network_age);
        let stretch = self.from..self.to;
        if stretch.contains(&cycle) {
            self.delivered_by_source[source as usize] += 1;
            self.network_ages.add(network_age);
        }
        if stretch.contains(&start) {
            self.delivered_of_stretch += 1;
            self.ages.add(age);
        }
        let nodes = self.first..self.first + self.generated.len() as NodeId;
        if self.outstanding.is_some() && self.makes_room && nodes.contains(&source) {
            self.make_room(source, cycle);
        }
    }

    /// A header leaves a source queue, by its number among all.
    #[inline(always)]
    pub fn leave(&mut self, queue: usize, departure: Departure) {
        self.queues.leave(queue, departure);
    }

    /// A source queue gets a packet of which the generators do not tell.
    #[inline(always)]
    pub(crate) fn add(&mut self, queue: usize, cycle: u64) {
        self.queues.add(queue, cycle);
    }

    /// Flits are generated for a node of which the generators do not tell.
    pub(crate) fn add_for(&mut self, destination: usize, cycle: u64, flits: u32) {
        self.queues.add_for(destination, cycle, flits);
    }

    /// The number behind that of the packet that left a source queue last, 0 if none has.
    pub(crate) fn next_to_leave(&self, queue: usize) -> u64 {
        self.queues.left(queue).0
    }

    /// Takes the starts of the packets at the fronts of all source queues, `u64::MAX` for none.
    pub(crate) fn set_fronts(&mut self, fronts: Vec<u64>) {
        self.fronts = fronts;
    }

    /// What nodes generated and sent, but for [`busy`](Self::busy).
    pub fn queues(&self) -> &SourceQueues {
        &self.queues
    }

    /// Busy cycles by slot, node and queue, those of packets that wait at the end of the last window included.
    pub fn busy(&self) -> Vec<u64> {
        let now = self.end - self.cycles;
        if self.fronts.len() == self.generated.len() * self.queues.queues() {
            return self.queues.busy_before(now, self.fronts.iter().copied());
        }
        self.queues.busy_before(now, (0..self.generated.len()).map(|node| self.front(node)))
    }

    /// The start of the packet at the front of the only source queue of a node, or `u64::MAX`.
    pub(crate) fn front(&self, node: usize) -> u64 {
        let (number, before) = self.queues.left(node * self.queues.queues());
        if self.outstanding.is_some() {
            return u64::MAX;
        }
        let from = if number == 0 { 0 } else { before + 1 };
        self.workload.next_start(self.first + node as NodeId, number, from).unwrap_or(u64::MAX)
    }

    /// A closed source may generate its next packet, for a delivery in the present window.
    #[inline(never)]
    pub(crate) fn make_room(&mut self, source: NodeId, cycle: u64) {
        if self.outstanding.is_none() {
            return;
        }
        let node = (source - self.first) as usize;
        // Only the last deliveries are remembered: what they made room for is generated before.
        self.present.generated_flits += self.generate_at(node, cycle + 1);
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.delivered(node, cycle);
        }
        if self.next_start[node] == u64::MAX {
            self.next_start[node] = self.start_after(node, 0);
        }
    }

    /// Closes all windows that end at a cycle or before it, given the totals of what happened before
    /// that cycle; in the windows behind the first nothing did.
    #[inline(never)]
    pub fn close(&mut self, cycle: u64, counted: Counted) {
        while self.end <= cycle {
            let (end, before) = (self.end, self.before);
            let generated: u64 = (0..self.generated.len()).map(|node| self.generate_at(node, end)).sum();
            self.present.generated_flits += generated;
            self.present.injected_packets = counted.injected_packets.saturating_sub(before.injected_packets);
            self.present.ejected_flits = counted.ejected_flits.saturating_sub(before.ejected_flits);
            self.present.delivered_packets =
                counted.delivered_packets.saturating_sub(before.delivered_packets);
            // In a part, as many may arrive that began in others.
            self.present.in_flight = counted.injected_packets.wrapping_sub(counted.delivered_packets);
            self.before = counted;
            self.closed.push(std::mem::take(&mut self.present));
            self.queues.close(end);
            self.end = end.saturating_add(self.cycles);
        }
    }

    /// Counts anew what a message graph has generated: its messages wait for deliveries, so that no second generator
    /// tells of them.
    pub(crate) fn count_messages(&mut self, sources: &Sources) {
        let Some(messages) = sources.messages() else { return };
        self.closed.iter_mut().for_each(|window| window.generated_flits = 0);
        self.generated_in_stretch = 0;
        let nodes = self.first..self.first + self.generated.len() as NodeId;
        for message in messages.into_iter().filter(|message| nodes.contains(&message.node)) {
            if let Some(window) = self.closed.get_mut((message.start / self.cycles) as usize) {
                window.generated_flits += message.flits;
                let is_measured = (self.from..self.to).contains(&message.start);
                self.generated_in_stretch += if is_measured { message.packets } else { 0 };
            }
        }
    }

    /// Flits that a node generates from where its generator stands to a cycle.
    #[inline(always)]
    fn generate_at(&mut self, node: usize, end: u64) -> u64 {
        let mut flits = 0;
        let named = self.first + node as NodeId;
        while self.next_start[node] < end {
            let (start, number) = (self.next_start[node], self.generated[node]);
            let packet = self.workload.packet_at(named, number, start);
            let length = self.length.or(packet.map(|packet| packet.length)).unwrap_or(0);
            flits += u64::from(length);
            if let Some(packet) = packet {
                self.queues.add_for(packet.destination as usize, start, length);
            }
            if !self.sorted {
                self.queues.add(node * self.queues.queues(), start);
            }
            self.generated_in_stretch += u64::from((self.from..self.to).contains(&start));
            self.generated[node] = number + 1;
            if let Some(outstanding) = &mut self.outstanding {
                outstanding.started(node, start);
            }
            self.next_start[node] = self.start_after(node, start + 1);
        }
        flits
    }

    /// Start of the next packet of a node, at `from` at the earliest.
    #[inline(always)]
    fn start_after(&self, node: usize, from: u64) -> u64 {
        let (named, number) = (self.first + node as NodeId, self.generated[node]);
        match &self.outstanding {
            None => self.workload.next_start(named, number, from).unwrap_or(u64::MAX),
            Some(outstanding) => outstanding.next_start(&self.workload, node, named, number),
        }
    }

    /// The totals at the beginning of the present window.
    pub(crate) fn before(&self) -> Counted {
        self.before
    }

    /// Cycles of a window.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// All windows that have ended.
    pub fn closed(&self) -> &[Window] {
        &self.closed
    }

    /// The stretch that is measured: its first cycle, and the first one behind it.
    pub fn stretch(&self) -> (u64, u64) {
        (self.from, self.to)
    }

    /// Per node: packets from it that were delivered within the stretch.
    pub fn delivered_by_source(&self) -> &[u64] {
        &self.delivered_by_source
    }

    /// Ages of the packets generated in the stretch, as far as they are delivered.
    pub fn ages(&self) -> &Histogram {
        &self.ages
    }

    /// Network ages of the packets delivered within the stretch: they say something of saturated networks,
    /// too, which deliver packets of earlier times.
    pub fn network_ages(&self) -> &Histogram {
        &self.network_ages
    }

    /// Packets generated in the stretch, in closed windows, and how many of all its packets are
    /// delivered.
    pub fn of_stretch(&self) -> (u64, u64) {
        (self.generated_in_stretch, self.delivered_of_stretch)
    }

    /// At the beginning of a run: takes up what was seen in the parts of the network, with the totals of each,
    /// in which nothing has happened since the windows it has closed.
    pub(crate) fn gather(&mut self, parts: Vec<(Self, Counted)>) {
        let end = parts.iter().map(|(part, _)| part.end).max().unwrap_or(self.end);
        for (mut part, counted) in parts {
            part.close(end - self.cycles, counted);
            self.end = end;
            (self.from, self.to) = (part.from, part.to);
            self.closed.resize(part.closed.len(), Window::default());
            self.closed.iter_mut().zip(&part.closed).for_each(|(own, part)| own.merge(part));
            self.present.merge(&part.present);
            self.before.merge(part.before);
            let nodes = part.first as usize..part.first as usize + part.generated.len();
            if let (Some(own), Some(part)) = (&mut self.outstanding, &part.outstanding) {
                let (mut part, all) = (part.clone(), self.generated.len());
                copy_nodes(own, nodes.start, &mut part, 0..nodes.len(), [all, nodes.len()]);
            }
            self.generated[nodes.clone()].copy_from_slice(&part.generated);
            self.next_start[nodes].copy_from_slice(&part.next_start);
            self.generated_in_stretch += part.generated_in_stretch;
            self.delivered_of_stretch += part.delivered_of_stretch;
            let by_source = self.delivered_by_source.iter_mut().zip(&part.delivered_by_source);
            by_source.for_each(|(own, part)| *own += part);
            self.ages.merge(&part.ages);
            self.network_ages.merge(&part.network_ages);
            self.queues.adopt(part.queues, part.first as usize);
            self.fronts.append(&mut part.fronts);
        }
    }

    /// What a part of the network goes on from, given its totals so far; what was seen in all of them is
    /// kept by the first.
    pub(crate) fn part(&self, nodes: Range<usize>, before: Counted) -> Self {
        let first = nodes.start as NodeId;
        let (queues, fronts) = (self.queues.part(nodes.clone()), Vec::new());
        let (generated, next_start) =
            (self.generated[nodes.clone()].to_vec(), self.next_start[nodes.clone()].to_vec());
        let outstanding = self.outstanding.as_ref().map(|outstanding| outstanding.part(nodes));
        if first == 0 {
            return Self {
                first,
                generated,
                next_start,
                outstanding,
                before,
                queues,
                fronts,
                ..self.clone()
            };
        }
        let Self { from, to, end, cycles, .. } = *self;
        Self {
            workload: self.workload.clone(),
            length: self.length,
            cycles,
            end,
            closed: vec![Window::default(); self.closed.len()],
            present: Window::default(),
            before,
            first,
            outstanding,
            makes_room: self.makes_room,
            generated,
            next_start,
            from,
            to,
            generated_in_stretch: 0,
            delivered_by_source: vec![0; self.delivered_by_source.len()],
            ages: Histogram::default(),
            network_ages: Histogram::default(),
            delivered_of_stretch: 0,
            queues,
            sorted: self.sorted,
            fronts,
        }
    }

    /// What was seen as fields.
    ///
    /// # Errors
    /// What is restored does not fit.
    pub fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self {
            workload: _,
            length: _,
            first: _,
            makes_room: _,
            sorted: _,
            fronts: _,
            cycles,
            end,
            closed,
            present,
            before,
            generated,
            next_start,
            outstanding,
            from,
            to,
            generated_in_stretch,
            delivered_by_source,
            ages,
            network_ages,
            delivered_of_stretch,
            queues,
        } = self;
        let given = *cycles;
        archive.number("cycles of a window", cycles)?;
        if *cycles != given {
            return Err(SaveError::Value { field: "cycles of a window", value: *cycles });
        }
        archive.number("end of the window", end)?;
        archive_windows(closed, archive)?;
        if *end != (closed.len() as u64 + 1).saturating_mul(*cycles) {
            return Err(SaveError::Value { field: "end of the window", value: *end });
        }
        let mut one = vec![*present];
        archive_windows(&mut one, archive)?;
        *present = one.first().copied().unwrap_or_default();
        let Counted { injected_packets, ejected_flits, delivered_packets } = before;
        archive.number("injected before", injected_packets)?;
        archive.number("ejected before", ejected_flits)?;
        archive.number("delivered before", delivered_packets)?;
        archive.slice("packets generated", generated)?;
        archive.slice("starts of generators", next_start)?;
        if let Some(outstanding) = outstanding {
            outstanding.visit(&mut Saved::new(archive, generated.len()))?;
        }
        archive.number("first cycle measured", from)?;
        archive.number("cycle behind those measured", to)?;
        archive.number("generated in the stretch", generated_in_stretch)?;
        archive.number("delivered of the stretch", delivered_of_stretch)?;
        archive.slice("delivered by source", delivered_by_source)?;
        ages.fields("ages", archive)?;
        network_ages.fields("network ages", archive)?;
        queues.fields(archive)
    }
}

/// Cycles of a slot in the beginning: long windows are several slots, so that short runs have enough of them.
fn slot_cycles(window: u64) -> u64 {
    const LONG: u64 = 100;
    let halves = std::iter::successors(Some(window.max(1)), |&cycles| {
        (cycles > LONG && cycles.is_multiple_of(2)).then_some(cycles / 2)
    });
    halves.last().unwrap_or(1)
}

fn archive_windows(windows: &mut Vec<Window>, archive: &mut Archive) -> Result<(), SaveError> {
    let empty = Window::default();
    archive.column("flits generated", windows, &empty, |window| &mut window.generated_flits)?;
    archive.column("packets injected", windows, &empty, |window| &mut window.injected_packets)?;
    archive.column("flits ejected", windows, &empty, |window| &mut window.ejected_flits)?;
    archive.column("packets delivered", windows, &empty, |window| &mut window.delivered_packets)?;
    archive.column("sums of ages", windows, &empty, |window| &mut window.age_sum)?;
    archive.column("sums of network ages", windows, &empty, |window| &mut window.network_age_sum)?;
    archive.column("largest ages", windows, &empty, |window| &mut window.age_max)?;
    archive.column("largest network ages", windows, &empty, |window| &mut window.network_age_max)?;
    archive.column("packets in flight", windows, &empty, |window| &mut window.in_flight)
}
