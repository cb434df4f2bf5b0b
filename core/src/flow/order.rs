//! Dependencies of channels and lanes that are added one by one and never close a cycle.

use crate::fabric::Graph;

/// Virtual lanes for data that a table may use: the last of 16 is that of management.
pub const MAX_LANES: usize = 15;

/// Lanes that links have where so many are used: 8, or all. Service levels that are lanes count modulo this number.
///
/// ```
/// use flitloom_core::flow::order::lanes_of_links;
/// assert_eq!([1, 8, 9, 15].map(lanes_of_links), [8, 8, 15, 15]);
/// ```
pub fn lanes_of_links(lanes: usize) -> usize {
    if lanes <= FEW_LANES { FEW_LANES } else { MAX_LANES }
}

/// Lanes that a byte has bits for.
const FEW_LANES: usize = 8;

/// A graph of (channel, lane) in which every dependency goes up in an order that is kept as it grows
/// (Pearce and Kelly 2006, A dynamic topological sort algorithm for directed acyclic graphs).
///
/// ```
/// use flitloom_core::{fabric::Graph, flow::order::Dependencies};
/// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
/// let mut dependencies = Dependencies::new(&ring, 2);
/// assert!(dependencies.add((0, 0), (2, 0)));
/// assert!(dependencies.add((2, 0), (4, 0)));
/// assert!(!dependencies.add((4, 0), (0, 0)));
/// assert!(dependencies.add((4, 0), (0, 1)));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub struct Dependencies {
    ports: usize,
    places: Vec<u8>,
    /// Lanes are numbers of so many bits: 3 or 4.
    bits: u32,
    /// The channels that may follow one and those that may come before it, by channel and place.
    following: Vec<u32>,
    preceding: Vec<u32>,
    /// Words of lanes per vertex, a bit per place and lane.
    words: usize,
    /// By channel and lane: next lanes at each place.
    present: Vec<u64>,
    /// The same backwards: lanes before at each place.
    arriving: Vec<u64>,
    /// By channel and place: lanes that are the next one, too.
    constant: Vec<u16>,
    /// A bit per channel, place, lane and next lane.
    refused: Vec<u64>,
    vertices: Vec<Vertex>,
    /// Whether the ranks are an order; else all that is added stays until they are.
    ordered: bool,
    round: u32,
    /// Dependencies added since the last [`keep`](Self::keep).
    fresh: Vec<(Lane, Lane)>,
    work: u64,
    forward: Found,
    backward: Found,
    ranks: Vec<u32>,
}

/// Where a channel and lane stands in the order, and when it was last met.
#[derive(Clone, Copy)]
struct Vertex {
    rank: u32,
    mark: u32,
}

/// What lies before or behind a new dependency; kept so that nothing is allocated.
#[derive(Default)]
struct Found {
    vertices: Vec<u32>,
    /// Rank and vertex.
    sorted: Vec<u64>,
}

type Lane = (u32, u8);

/// How the lanes at each place stand in words.
#[derive(Clone, Copy)]
struct Words<'a> {
    present: &'a [u64],
    words: usize,
    bits: u32,
}

impl Dependencies {
    /// No dependencies of so many lanes yet.
    pub fn new(graph: &Graph, lanes: usize) -> Self {
        let ports =
            (0..graph.switches() as u32).map(|switch| graph.outgoing(switch).len()).max().unwrap_or(0);
        let slots = graph.channels() * ports;
        let (mut following, mut preceding) = (vec![u32::MAX; slots], vec![u32::MAX; slots]);
        for channel in 0..graph.channels() {
            let (from, to) = graph.ends(channel as u32);
            let row = channel * ports..(channel + 1) * ports;
            following[row.clone()].iter_mut().zip(graph.outgoing(to)).for_each(|(slot, &next)| *slot = next);
            let arrive = graph.outgoing(from).iter().map(|back| back ^ 1);
            preceding[row].iter_mut().zip(arrive).for_each(|(slot, before)| *slot = before);
        }
        let bits = lanes_of_links(lanes).next_power_of_two().ilog2();
        let vertices = 0..(graph.channels() << bits) as u32;
        let words = (ports << bits).div_ceil(u64::BITS as usize);
        Self {
            ports,
            places: (0..graph.channels() as u32).map(|channel| graph.place(channel) as u8).collect(),
            following,
            preceding,
            bits,
            words,
            present: vec![0; vertices.len() * words],
            arriving: vec![0; vertices.len() * words],
            constant: vec![0; slots],
            refused: vec![0; (slots << bits << bits).div_ceil(u64::BITS as usize)],
            vertices: vertices.map(|rank| Vertex { rank, mark: 0 }).collect(),
            ordered: true,
            round: 0,
            fresh: Vec::new(),
            work: 0,
            forward: Found::default(),
            backward: Found::default(),
            ranks: Vec::new(),
        }
    }

    /// No dependencies of so many lanes yet, and many to come at once: all are added until
    /// [`put_in_order`](Self::put_in_order).
    ///
    /// ```
    /// use flitloom_core::{fabric::Graph, flow::order::Dependencies};
    /// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
    /// let mut dependencies = Dependencies::unordered(&ring, 1);
    /// assert!(dependencies.add((2, 0), (4, 0)) && dependencies.add((0, 0), (2, 0)));
    /// assert!(dependencies.put_in_order());
    /// assert!(!dependencies.add((4, 0), (0, 0)));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn unordered(graph: &Graph, lanes: usize) -> Self {
        Self { ordered: false, ..Self::new(graph, lanes) }
    }

    /// Finds an order for all that was added; false if there is none (Kahn 1962).
    pub fn put_in_order(&mut self) -> bool {
        let mut before: Vec<u32> = self
            .arriving
            .chunks(self.words.max(1))
            .map(|words| words.iter().map(|word| word.count_ones()).sum())
            .collect();
        let mut order = std::mem::take(&mut self.forward);
        order.vertices = (0..before.len() as u32).filter(|&vertex| before[vertex as usize] == 0).collect();
        let lanes = Words { present: &self.present, words: self.words, bits: self.bits };
        order.spread(self.ports, &self.following, lanes, |there| {
            before[there as usize] -= 1;
            Some(before[there as usize] == 0)
        });
        for (rank, &vertex) in (0..).zip(&order.vertices) {
            self.vertices[vertex as usize].rank = rank;
        }
        self.ordered = order.vertices.len() == self.vertices.len();
        self.forward = order;
        self.keep();
        self.ordered
    }

    /// Adds a dependency unless it closes a cycle; whether it is there now.
    pub fn add(&mut self, from: Lane, to: Lane) -> bool {
        let (word, bit) = self.onwards(from, to);
        if self.present[word] & bit != 0 {
            return true;
        }
        if !self.ordered {
            self.flip(from, to);
            return true;
        }
        if self.refuses(from, to) {
            return false;
        }
        if !self.make_room(self.vertex(from), self.vertex(to)) {
            // With nothing fresh to take back, it will close a cycle for ever.
            if self.fresh.is_empty() {
                self.refuse(from, to);
            }
            return false;
        }
        self.flip(from, to);
        self.fresh.push((from, to));
        true
    }

    /// Lanes, a bit each, on which one channel is known to follow another on the same lane.
    pub fn lanes(&self, from: u32, to: u32) -> u16 {
        self.constant[self.slot(from, to)]
    }

    /// The same, and lanes on which that is known to close a cycle.
    pub fn constant(&self, from: u32, to: u32) -> (u16, u16) {
        let refused = |lane: u8| u16::from(self.refuses((from, lane), (to, lane))) << lane;
        (self.lanes(from, to), (0..1 << self.bits).fold(0, |set, lane| set | refused(lane)))
    }

    /// Whether a dependency is known to close a cycle.
    pub fn refuses(&self, from: Lane, to: Lane) -> bool {
        let (word, bit) = self.refusal(from, to);
        self.refused[word] & bit != 0
    }

    /// Channels and lanes that were looked at so far.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Keeps what was added.
    pub fn keep(&mut self) {
        self.fresh.clear();
    }

    /// Takes back what was added since the last [`keep`](Self::keep).
    pub fn take_back(&mut self) {
        self.take_back_to(0);
    }

    /// How many dependencies were added since the last [`keep`](Self::keep).
    pub fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// Takes back what was added since so many were fresh.
    ///
    /// ```
    /// use flitloom_core::{fabric::Graph, flow::order::Dependencies};
    /// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
    /// let mut dependencies = Dependencies::new(&ring, 1);
    /// assert!(dependencies.add((0, 0), (2, 0)) && dependencies.add((2, 0), (4, 0)));
    /// dependencies.take_back_to(1);
    /// assert_eq!((dependencies.fresh(), dependencies.lanes(2, 4)), (1, 0));
    /// # Ok::<(), flitloom_core::fabric::FabricError>(())
    /// ```
    pub fn take_back_to(&mut self, fresh: usize) {
        while self.fresh.len() > fresh {
            if let Some((from, to)) = self.fresh.pop() {
                self.flip(from, to);
            }
        }
    }

    /// Takes back what was added, and remembers whether a dependency closes a cycle even so.
    pub fn take_back_for(&mut self, from: Lane, to: Lane) {
        self.take_back();
        if !self.make_room(self.vertex(from), self.vertex(to)) {
            self.refuse(from, to);
        }
    }

    fn slot(&self, from: u32, to: u32) -> usize {
        from as usize * self.ports + usize::from(self.places[to as usize])
    }

    fn vertex(&self, (channel, lane): Lane) -> u32 {
        channel << self.bits | u32::from(lane)
    }

    /// Word and bit of a lane at a place of a vertex.
    fn word(&self, vertex: u32, place: u8, lane: u8) -> (usize, u64) {
        let bit = usize::from(place) << self.bits | usize::from(lane);
        (vertex as usize * self.words + bit / u64::BITS as usize, 1 << (bit % u64::BITS as usize))
    }

    /// Word and bit of a dependency at its first channel.
    fn onwards(&self, from: Lane, to: Lane) -> (usize, u64) {
        self.word(self.vertex(from), self.places[to.0 as usize], to.1)
    }

    /// Puts a dependency in, or takes it out.
    fn flip(&mut self, from: Lane, to: Lane) {
        let (word, bit) = self.onwards(from, to);
        self.present[word] ^= bit;
        let (word, bit) = self.word(self.vertex(to), self.places[from.0 as usize ^ 1], from.1);
        self.arriving[word] ^= bit;
        if from.1 == to.1 {
            let slot = self.slot(from.0, to.0);
            self.constant[slot] ^= 1 << from.1;
        }
    }

    /// Word and bit of a dependency that closes a cycle.
    fn refusal(&self, from: Lane, to: Lane) -> (usize, u64) {
        let lanes = usize::from(from.1) << self.bits | usize::from(to.1);
        let bit = self.slot(from.0, to.0) << self.bits << self.bits | lanes;
        (bit / u64::BITS as usize, 1 << (bit % u64::BITS as usize))
    }

    fn refuse(&mut self, from: Lane, to: Lane) {
        let (word, bit) = self.refusal(from, to);
        self.refused[word] |= bit;
    }

    /// Reorders so that `from` stands before `to`; false if `to` leads to `from`.
    fn make_room(&mut self, from: u32, to: u32) -> bool {
        let (high, low) = (self.vertices[from as usize].rank, self.vertices[to as usize].rank);
        if from == to {
            return false;
        }
        if high < low {
            return true;
        }
        self.round += 1;
        self.work += 1;
        let mut found = std::mem::take(&mut self.forward);
        let lanes = Words { present: &self.present, words: self.words, bits: self.bits };
        let behind = found.collect(to, self.ports, &self.following, lanes, |there| {
            if there == from {
                return None;
            }
            let vertex = &mut self.vertices[there as usize];
            let new = vertex.rank < high && vertex.mark != self.round;
            if new {
                vertex.mark = self.round;
                self.work += 1;
            }
            Some(new)
        });
        self.forward = found;
        if !behind {
            return false;
        }
        let mut found = std::mem::take(&mut self.backward);
        let lanes = Words { present: &self.arriving, ..lanes };
        found.collect(from, self.ports, &self.preceding, lanes, |there| {
            let vertex = &mut self.vertices[there as usize];
            let new = vertex.rank > low && vertex.mark != self.round;
            if new {
                vertex.mark = self.round;
            }
            Some(new)
        });
        self.backward = found;
        self.work += self.backward.vertices.len() as u64;
        self.backward.sort(&self.vertices);
        self.forward.sort(&self.vertices);
        merge(&self.backward.sorted, &self.forward.sorted, &mut self.ranks);
        let moved = self.backward.sorted.iter().chain(&self.forward.sorted);
        for (&entry, &rank) in moved.zip(&self.ranks) {
            self.vertices[entry as u32 as usize].rank = rank;
        }
        true
    }
}

impl Found {
    /// Collects what is reached from a vertex over the neighbours of channels, as far as `meet` says that
    /// something is new; false if `meet` knows enough.
    fn collect(
        &mut self,
        start: u32,
        ports: usize,
        neighbours: &[u32],
        lanes: Words<'_>,
        meet: impl FnMut(u32) -> Option<bool>,
    ) -> bool {
        self.vertices.clear();
        self.vertices.push(start);
        self.spread(ports, neighbours, lanes, meet)
    }

    /// The same from all vertices that are there.
    fn spread(
        &mut self,
        ports: usize,
        neighbours: &[u32],
        Words { present, words, bits }: Words<'_>,
        mut meet: impl FnMut(u32) -> Option<bool>,
    ) -> bool {
        let mut head = 0;
        while let Some(&here) = self.vertices.get(head) {
            head += 1;
            let words = here as usize * words..(here as usize + 1) * words;
            let mut start = (here >> bits) as usize * ports;
            for &lanes in &present[words] {
                let mut lanes = lanes;
                while lanes != 0 {
                    let bit = lanes.trailing_zeros();
                    lanes &= lanes - 1;
                    let neighbour = neighbours[start + (bit >> bits) as usize];
                    let there = neighbour << bits | bit & ((1 << bits) - 1);
                    match meet(there) {
                        None => return false,
                        Some(true) => self.vertices.push(there),
                        Some(false) => {}
                    }
                }
                start += (u64::BITS >> bits) as usize;
            }
        }
        true
    }

    fn sort(&mut self, vertices: &[Vertex]) {
        self.sorted.clear();
        let ranked = |&vertex: &u32| u64::from(vertices[vertex as usize].rank) << 32 | u64::from(vertex);
        self.sorted.extend(self.vertices.iter().map(ranked));
        self.sorted.sort_unstable();
    }
}

/// The ranks of two ascending lists in ascending order.
fn merge(mut one: &[u64], mut other: &[u64], ranks: &mut Vec<u32>) {
    ranks.clear();
    while let ([first, one_rest @ ..], [second, other_rest @ ..]) = (one, other) {
        if first < second {
            ranks.push((first >> 32) as u32);
            one = one_rest;
        } else {
            ranks.push((second >> 32) as u32);
            other = other_rest;
        }
    }
    ranks.extend(one.iter().chain(other).map(|entry| (entry >> 32) as u32));
}
