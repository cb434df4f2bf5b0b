//! Dependencies of channels and lanes that are added one by one and never close a cycle.

use super::MAX_LANES;
use crate::fabric::Graph;

/// A graph of (channel, lane) in which every dependency goes up in an order that is kept as it grows
/// (Pearce and Kelly 2006, A dynamic topological sort algorithm for directed acyclic graphs).
///
/// ```
/// use flitloom_core::{fabric::Graph, forwarding::Dependencies};
/// let ring = Graph::new(vec![1; 3], &[(0, 1), (1, 2), (2, 0)])?;
/// let mut dependencies = Dependencies::new(&ring);
/// assert!(dependencies.add((0, 0), (2, 0)));
/// assert!(dependencies.add((2, 0), (4, 0)));
/// assert!(!dependencies.add((4, 0), (0, 0)));
/// assert!(dependencies.add((4, 0), (0, 1)));
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub struct Dependencies<'a> {
    graph: &'a Graph,
    ports: usize,
    places: Vec<u8>,
    /// By channel and place of the next channel: bit `8 * lane + next lane`.
    present: Vec<u64>,
    refused: Vec<u64>,
    rank: Vec<u32>,
    mark: Vec<u32>,
    round: u32,
    /// Dependencies added since the last [`keep`](Self::keep).
    fresh: Vec<(usize, u64)>,
    work: u64,
    /// What lies before and behind a new dependency, and its ranks; kept so that nothing is allocated.
    found: (Vec<u32>, Vec<u32>, Vec<u32>),
}

type Lane = (u32, u8);

/// The lowest bit of every byte.
const BYTES: u64 = u64::MAX / 255;

impl<'a> Dependencies<'a> {
    /// No dependencies yet.
    pub fn new(graph: &'a Graph) -> Self {
        let ports =
            (0..graph.switches() as u32).map(|switch| graph.outgoing(switch).len()).max().unwrap_or(0);
        let vertices = graph.channels() * MAX_LANES;
        Self {
            graph,
            ports,
            places: (0..graph.channels() as u32).map(|channel| graph.place(channel) as u8).collect(),
            present: vec![0; graph.channels() * ports],
            refused: vec![0; graph.channels() * ports],
            rank: (0..vertices as u32).collect(),
            mark: vec![0; vertices],
            round: 0,
            fresh: Vec::new(),
            work: 0,
            found: (Vec::new(), Vec::new(), Vec::new()),
        }
    }

    /// Adds a dependency unless it closes a cycle; whether it is there now.
    pub fn add(&mut self, from: Lane, to: Lane) -> bool {
        let slot = from.0 as usize * self.ports + usize::from(self.places[to.0 as usize]);
        let bit = 1_u64 << (MAX_LANES as u8 * from.1 + to.1);
        if self.present[slot] & bit != 0 {
            return true;
        }
        if self.refused[slot] & bit != 0 {
            return false;
        }
        if !self.make_room(vertex(from), vertex(to)) {
            // With nothing fresh to take back, it will close a cycle for ever.
            if self.fresh.is_empty() {
                self.refused[slot] |= bit;
            }
            return false;
        }
        self.present[slot] |= bit;
        self.fresh.push((slot, bit));
        true
    }

    /// Sets of lanes, a bit each, on which one channel is known to follow another, and on which that is known
    /// to close a cycle.
    pub fn constant(&self, from: u32, to: u32) -> (u8, u8) {
        let slot = from as usize * self.ports + usize::from(self.places[to as usize]);
        let diagonal = |lanes: u64| {
            (0..MAX_LANES).fold(0, |set, lane| set | ((lanes >> (MAX_LANES * lane + lane) & 1) as u8) << lane)
        };
        (diagonal(self.present[slot]), diagonal(self.refused[slot]))
    }

    /// Whether a dependency is known to close a cycle.
    pub fn refuses(&self, from: Lane, to: Lane) -> bool {
        let slot = from.0 as usize * self.ports + usize::from(self.places[to.0 as usize]);
        self.refused[slot] >> (MAX_LANES as u8 * from.1 + to.1) & 1 != 0
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
        for (slot, bit) in self.fresh.drain(..) {
            self.present[slot] &= !bit;
        }
    }

    /// Takes back what was added, and remembers whether a dependency closes a cycle even so.
    pub fn take_back_for(&mut self, from: Lane, to: Lane) {
        self.take_back();
        if !self.make_room(vertex(from), vertex(to)) {
            let slot = from.0 as usize * self.ports + usize::from(self.places[to.0 as usize]);
            self.refused[slot] |= 1_u64 << (MAX_LANES as u8 * from.1 + to.1);
        }
    }

    /// Reorders so that `from` stands before `to`; false if `to` leads to `from`.
    fn make_room(&mut self, from: u32, to: u32) -> bool {
        let (high, low) = (self.rank[from as usize], self.rank[to as usize]);
        if from == to {
            return false;
        }
        if high < low {
            return true;
        }
        self.round += 1;
        self.work += 1;
        let (mut forward, mut backward, mut ranks) = std::mem::take(&mut self.found);
        forward.push(to);
        self.mark[to as usize] = self.round;
        let mut head = 0;
        while let Some(&here) = forward.get(head) {
            head += 1;
            let (channel, lane) = (here / MAX_LANES as u32, here % MAX_LANES as u32);
            let start = channel as usize * self.ports;
            for (place, &next) in self.graph.outgoing(self.graph.ends(channel).1).iter().enumerate() {
                let mut lanes = self.present[start + place] >> (MAX_LANES as u32 * lane) & 0xff;
                while lanes != 0 {
                    let there = next * MAX_LANES as u32 + lanes.trailing_zeros();
                    lanes &= lanes - 1;
                    if there == from {
                        forward.clear();
                        self.found = (forward, backward, ranks);
                        return false;
                    }
                    if self.rank[there as usize] < high && self.mark[there as usize] != self.round {
                        self.mark[there as usize] = self.round;
                        self.work += 1;
                        forward.push(there);
                    }
                }
            }
        }
        backward.push(from);
        self.mark[from as usize] = self.round;
        head = 0;
        while let Some(&here) = backward.get(head) {
            head += 1;
            let (channel, lane) = (here / MAX_LANES as u32, here % MAX_LANES as u32);
            let place = usize::from(self.places[channel as usize]);
            for &back in self.graph.outgoing(self.graph.ends(channel).0) {
                let before = back ^ 1;
                // A bit per lane before, each in a byte of its own.
                let mut firsts = self.present[before as usize * self.ports + place] >> lane & BYTES;
                while firsts != 0 {
                    let there = before * MAX_LANES as u32 + firsts.trailing_zeros() / MAX_LANES as u32;
                    firsts &= firsts - 1;
                    if self.rank[there as usize] > low && self.mark[there as usize] != self.round {
                        self.mark[there as usize] = self.round;
                        backward.push(there);
                    }
                }
            }
        }
        self.work += backward.len() as u64;
        backward.sort_unstable_by_key(|&vertex| self.rank[vertex as usize]);
        forward.sort_unstable_by_key(|&vertex| self.rank[vertex as usize]);
        ranks.extend(backward.iter().chain(&forward).map(|&vertex| self.rank[vertex as usize]));
        ranks.sort_unstable();
        for (&vertex, &rank) in backward.iter().chain(&forward).zip(&ranks) {
            self.rank[vertex as usize] = rank;
        }
        [&mut forward, &mut backward, &mut ranks].into_iter().for_each(Vec::clear);
        self.found = (forward, backward, ranks);
        true
    }
}

fn vertex((channel, lane): Lane) -> u32 {
    channel * MAX_LANES as u32 + u32::from(lane)
}
