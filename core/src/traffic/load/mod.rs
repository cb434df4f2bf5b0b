//! Loads: every node generates packets at random, whatever the network does or, from closed sources, while
//! not too many of its packets are on their way.

mod process;
mod profile;
#[cfg(test)]
mod tests;
mod waits;

pub use process::Process;
pub use profile::Profile;

use super::{Destinations, Numbers, Packet, Purpose, RouteBook, WorkloadError, draw_all, draws};
use crate::fabric::NodeId;
use std::sync::Arc;
use waits::{TABLE, Waits};

/// Pieces of a long wait that have numbers of their own.
const PIECES: u64 = 64;

/// An open-loop load: every node generates packets at random, whatever the network does, until
/// `cycles`; packets that find the router busy wait in an unbounded source queue.
///
/// Its [`Process`] says when a node may start a packet, its [`Profile`] how often it does. Waiting times
/// are drawn from integer thresholds and are functions of the seed, the node and the packet's number or
/// the cycle in which the wait begins, so the same seed gives the same packets on any machine and
/// waiting packets need no memory.
///
/// [Closed](Self::closed), a node generates a packet only while few of its own are outstanding.
///
/// ```
/// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern}};
/// let shape = Shape::torus(&[8, 8])?;
/// let random = Pattern::Random.destinations(&shape, 1)?;
/// let load = OpenLoad::new(random, 0.4, 8, 1000, 1)?;
/// let first = load.packet(0, 0, 0).unwrap();
/// assert_eq!(first.length, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenLoad {
    destinations: Arc<Destinations>,
    length: u32,
    cycles: u64,
    seed: u64,
    process: Process,
    profile: Profile,
    /// Waits of a node at the largest rate.
    waits: Waits,
    impulse: Option<Impulse>,
    /// From which cycle on packets go elsewhere, in the order of cycles.
    changes: Arc<[(u64, Destinations)]>,
    outstanding: Option<u32>,
    book: Option<Arc<dyn RouteBook>>,
    /// Per node: whether it generates nothing.
    silent: Option<Arc<[bool]>>,
}

/// Packets that every node generates in one cycle.
#[derive(Clone, Debug)]
struct Impulse {
    at: u64,
    packets: u64,
    destinations: Arc<Destinations>,
    /// Per node: packets of the background before it.
    before: Arc<[u64]>,
}

impl OpenLoad {
    /// Most packets of a closed source that may be outstanding.
    pub const MOST_OUTSTANDING: u32 = 256;

    /// A load of `rate` flits per node and cycle in packets of `length` flits, generated in cycles
    /// `0..cycles`: in every cycle a node generates a packet with probability `rate / length`.
    ///
    /// # Errors
    /// The rate is not between 0 and 1 flit per node and cycle, or the length is out of range.
    pub fn new(
        destinations: Destinations,
        rate: f64,
        length: u32,
        cycles: u64,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let profile = Profile::constant(rate)?;
        Self::shaped(destinations, Process::Bernoulli, profile, length, cycles, seed)
    }

    /// A load of any process whose rate changes over time.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern, Process, Profile}};
    /// let shape = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let ramp = Profile::new(&[(0, 0.0), (1000, 0.5)])?;
    /// let load = OpenLoad::shaped(random, Process::Gap, ramp, 8, 1000, 1)?;
    /// assert!(load.start(0, 0, 0) > Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The process cannot reach the largest rate, or the length or the end is out of range.
    pub fn shaped(
        destinations: Destinations,
        process: Process,
        profile: Profile,
        length: u32,
        cycles: u64,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        if length == 0 || length > super::PacketList::MAX_LENGTH {
            return Err(WorkloadError::Payload(length));
        }
        if cycles > super::PacketList::MAX_START {
            return Err(WorkloadError::Start(cycles));
        }
        let waits = Waits::new(process.probability(profile.most(), length)?);
        let destinations = Arc::new(destinations);
        Ok(Self {
            destinations,
            length,
            cycles,
            seed,
            process,
            profile,
            waits,
            impulse: None,
            changes: Arc::default(),
            outstanding: None,
            book: None,
            silent: None,
        })
    }

    /// The same with an impulse: at the beginning of cycle `at` each of `nodes` nodes generates `packets`
    /// packets at once, and starts no packet of the background for as many cycles as they have flits
    /// (scaling-effects-2007, 4.5).
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern}};
    /// let shape = Shape::torus(&[8, 8])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let transpose = Pattern::Transpose.destinations(&shape, 1)?;
    /// let load = OpenLoad::new(random, 0.01, 8, 1000, 1)?.with_impulse(transpose, 20, 2, 64);
    /// let starts: Vec<_> = (0..3).map_while(|number| load.start(1, number, 0)).collect();
    /// assert!(starts.windows(2).any(|pair| pair == [20, 20]), "{starts:?}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_impulse(self, destinations: Destinations, at: u64, packets: u64, nodes: usize) -> Self {
        let before = |node| {
            let (mut count, mut from) = (0, 0);
            while let Some(start) = self.background(node, count, from).filter(|&start| start < at) {
                count += 1;
                from = start + 1;
            }
            count
        };
        let before = (0..nodes as NodeId).map(before).collect();
        let destinations = Arc::new(destinations);
        Self { impulse: Some(Impulse { at, packets, destinations, before }), ..self }
    }

    /// The same with packets that go elsewhere from some cycles on: those of the background that are generated
    /// then or later. Of two changes in one cycle the last counts.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern}};
    /// let shape = Shape::torus(&[8, 8])?;
    /// let [first, then] = [Pattern::Transpose, Pattern::BitComplement];
    /// let load = OpenLoad::new(first.destinations(&shape, 1)?, 0.5, 8, 1000, 1)?;
    /// let load = load.changing(vec![(500, then.destinations(&shape, 1)?)]);
    /// assert_eq!(load.packet_at(1, 0, 499).destination, 8);
    /// assert_eq!(load.packet_at(1, 9, 500).destination, 62);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn changing(self, mut changes: Vec<(u64, Destinations)>) -> Self {
        changes.sort_by_key(|&(cycle, _)| cycle);
        Self { changes: changes.into(), ..self }
    }

    /// The same from closed sources: a node generates no packet while `outstanding` of its packets are
    /// generated and their tails not ejected, and draws again from the cycle behind such an ejection on.
    ///
    /// ```
    /// use flitloom_core::{
    ///     engine::{Network, Options, general}, fabric::{Fabric, Shape}, probe::PacketRecords,
    ///     router::RouterConfig, traffic::{OpenLoad, Pattern, Workload},
    /// };
    /// let shape = Shape::torus(&[4, 4])?;
    /// let random = Pattern::Random.destinations(&shape, 1)?;
    /// let load = Workload::Load(OpenLoad::new(random, 0.9, 8, 500, 1)?.closed(1)?);
    /// let network = Network::new(Fabric::new(shape), RouterConfig::default())?;
    /// let mut records = PacketRecords::default();
    /// general::simulate(&network, &load, &Options::default(), &mut records)?;
    /// let records = records.into_sorted();
    /// let first: Vec<_> = records.iter().filter(|packet| packet.source == 0).collect();
    /// // One at a time: each starts after the last has arrived.
    /// assert!(first.windows(2).all(|pair| pair[0].tail_arrival < pair[1].generated));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No packet may be outstanding, or more than [`MOST_OUTSTANDING`](Self::MOST_OUTSTANDING); or there
    /// is an impulse, which waits for nothing.
    pub fn closed(self, outstanding: u32) -> Result<Self, WorkloadError> {
        if !(1..=Self::MOST_OUTSTANDING).contains(&outstanding) {
            return Err(WorkloadError::Outstanding(outstanding));
        }
        if self.impulse.is_some() {
            return Err(WorkloadError::ClosedImpulse);
        }
        Ok(Self { outstanding: Some(outstanding), ..self })
    }

    /// Packets of a node that may be outstanding at most, from closed sources.
    pub fn outstanding(&self) -> Option<u32> {
        self.outstanding
    }

    /// The same without the packets of some nodes, e.g. of those that have failed.
    ///
    /// ```
    /// use flitloom_core::{fabric::Shape, traffic::{OpenLoad, Pattern}};
    /// let shape = Shape::torus(&[4])?;
    /// let next = Pattern::Neighbour.destinations(&shape, 1)?;
    /// let load = OpenLoad::new(next, 0.4, 8, 1000, 1)?.without(&[0, 1], 4);
    /// assert_eq!((load.packet(1, 0, 0), load.packet(2, 0, 0).is_some()), (None, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn without(self, silent: &[NodeId], nodes: usize) -> Self {
        let silent = (0..nodes as NodeId).map(|node| silent.contains(&node)).collect();
        Self { silent: Some(silent), ..self }
    }

    /// Whether a node generates packets.
    #[inline(always)]
    pub fn sends(&self, node: NodeId) -> bool {
        self.silent.as_ref().is_none_or(|silent| !silent[node as usize])
    }

    /// Sends every packet over the route that a book has for it.
    pub fn with_book(self, book: Arc<dyn RouteBook>) -> Self {
        Self { book: Some(book), ..self }
    }

    /// Where the packets' routes are looked up, if they do not go by the network's routing function.
    pub fn book(&self) -> Option<&Arc<dyn RouteBook>> {
        self.book.as_ref()
    }

    /// Cycles in which packets are generated.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Flits per packet.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Where the packets go: those of the background, after its changes too, then those of the impulse if
    /// there is one.
    pub fn destinations(&self) -> impl Iterator<Item = &Destinations> {
        let changed = self.changes.iter().map(|(_, destinations)| destinations);
        let impulse = self.impulse.as_ref().map(|impulse| &*impulse.destinations);
        std::iter::once(&*self.destinations).chain(changed).chain(impulse)
    }

    /// Where packets of the background go that are generated in a cycle.
    #[inline(always)]
    fn destinations_in(&self, cycle: u64) -> &Destinations {
        let changed = self.changes.partition_point(|&(from, _)| from <= cycle);
        changed.checked_sub(1).map_or(&self.destinations, |last| &self.changes[last].1)
    }

    /// Packet number `index` of a node, generated at the earliest in cycle `from` (the cycle after
    /// its predecessor's); `None` when the load has ended by then.
    pub fn packet(&self, node: NodeId, index: u64, from: u64) -> Option<Packet> {
        Some(self.packet_at(node, index, self.start(node, index, from)?))
    }

    /// Packet `index` of a node, which is generated in cycle `start`.
    #[inline(always)]
    pub fn packet_at(&self, node: NodeId, index: u64, start: u64) -> Packet {
        let destinations = match &self.impulse {
            Some(impulse) if impulse.has(node, index) => &impulse.destinations,
            _ => self.destinations_in(start),
        };
        Packet { destination: destinations.of(node, index), length: self.length, start, slice: 0 }
    }

    /// Generation cycle of packet `index`, as in [`packet`](Self::packet).
    #[inline(always)]
    pub fn start(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        if !self.sends(node) {
            return None;
        }
        match &self.impulse {
            Some(impulse) if impulse.has(node, index) => Some(impulse.at),
            Some(impulse) if index >= impulse.before[node as usize] => {
                let rest = impulse.at + impulse.packets * u64::from(self.length);
                let first = index == impulse.before[node as usize] + impulse.packets;
                self.idle(node, index, if first { rest } else { from + self.pause(index) })
            }
            _ => self.background(node, index, from),
        }
    }

    /// Generation cycle of packet `index`, as in [`packet`](Self::packet), with room for it from cycle
    /// `least` on.
    pub fn start_with_room(&self, node: NodeId, index: u64, from: u64, least: u64) -> Option<u64> {
        if self.sends(node) { self.idle(node, index, (from + self.pause(index)).max(least)) } else { None }
    }

    fn background(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        self.idle(node, index, from + self.pause(index))
    }

    /// Cycles behind the one after a start in which no other packet starts.
    #[inline(always)]
    fn pause(&self, index: u64) -> u64 {
        if index > 0 { self.process.pause(self.length) } else { 0 }
    }

    /// The next start of a node that is idle from a cycle on.
    #[inline(always)]
    fn idle(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        if self.profile.is_constant() { self.steady(node, index, from) } else { self.varying(node, from) }
    }

    /// At a constant rate.
    #[inline(always)]
    fn steady(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        if from >= self.cycles {
            return None;
        }
        self.steady_drawn(node, index, from, self.gap(u64::from(node), index))
    }

    /// What says how long a node waits for a packet.
    #[inline(always)]
    fn gap<N: Numbers>(&self, node: N, index: N) -> N {
        draw_all(self.seed, node, Purpose::Gap, index.times(N::all(PIECES)))
    }

    /// At a constant rate, with the first draw.
    #[inline(always)]
    fn steady_drawn(&self, node: NodeId, index: u64, from: u64, drawn: u64) -> Option<u64> {
        let wait = self.waits.wait(drawn);
        let start = from + wait as u64;
        if wait < TABLE {
            return (start < self.cycles).then_some(start);
        }
        self.steady_on(node, index, start)
    }

    /// The same after a first wait without a start.
    #[cold]
    fn steady_on(&self, node: NodeId, index: u64, from: u64) -> Option<u64> {
        let numbered = draws(self.seed, node, Purpose::Gap);
        let mut start = from;
        // Each piece of a long wait takes its own number.
        for piece in 1..PIECES {
            if start >= self.cycles {
                return None;
            }
            let wait = self.waits.wait(numbered(index * PIECES + piece));
            start += wait as u64;
            if wait < TABLE {
                return (start < self.cycles).then_some(start);
            }
        }
        self.candidate(node, start)
    }

    /// Whether [`drawn`](Self::drawn) has what is to be known of packets: they go anywhere, at a constant
    /// rate.
    pub(crate) fn draws_at_once(&self) -> bool {
        let plain = self.impulse.is_none() && self.changes.is_empty() && self.silent.is_none();
        plain && self.profile.is_constant() && self.destinations.is_uniform()
    }

    /// For packets of some nodes, several side by side: where each goes, counted without its source, and
    /// the draw of the wait for the packet behind it.
    #[inline(always)]
    pub(crate) fn drawn<N: Numbers>(&self, nodes: N, numbers: N) -> (N, N) {
        let next = numbers.plus(N::all(1));
        (self.destinations.others(nodes, numbers), self.gap(nodes, next))
    }

    /// Generation cycle of packet `index` (not the first) whose wait is [`drawn`](Self::drawn).
    #[inline(always)]
    pub(crate) fn start_drawn(&self, node: NodeId, index: u64, from: u64, drawn: u64) -> Option<u64> {
        let from = from + self.pause(index);
        if from < self.cycles { self.steady_drawn(node, index, from, drawn) } else { None }
    }

    /// The next start at the largest rate, drawn by the cycle in which the wait begins.
    #[inline(always)]
    fn candidate(&self, node: NodeId, from: u64) -> Option<u64> {
        let timed = draws(self.seed, node, Purpose::Wait);
        let mut start = from;
        while start < self.cycles {
            let wait = self.waits.wait(timed(start));
            start += wait as u64;
            if wait < TABLE {
                return (start < self.cycles).then_some(start);
            }
        }
        None
    }

    /// At a rate that changes: starts at the largest rate are candidates, each of which is taken with
    /// the share that the rate of its cycle stands for (thinning; Lewis and Shedler 1979).
    fn varying(&self, node: NodeId, from: u64) -> Option<u64> {
        let take = draws(self.seed, node, Purpose::Thinning);
        let mut from = from;
        loop {
            from = self.profile.next_above_zero(from)?;
            let start = self.candidate(node, from)?;
            if self.process.takes(take(start), self.profile.share(start), self.profile.most()) {
                return Some(start);
            }
            from = start + 1;
        }
    }
}

impl Impulse {
    /// Whether a packet of a node belongs to it.
    #[inline(always)]
    fn has(&self, node: NodeId, index: u64) -> bool {
        index.wrapping_sub(self.before[node as usize]) < self.packets
    }
}
