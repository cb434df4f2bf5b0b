use super::{Orbit, OrbitKind, Row, Torus, matching::augment};
use crate::{
    fabric::NodeId,
    traffic::{Purpose, draw_below},
};

/// Restarts with other random orders before the best growth is taken as it is.
const ATTEMPTS: u64 = 200;

/// An all-gather of `chunks` chunks per node by growth: in every step each generator brings every node
/// one chunk it has not seen, of a node one hop further behind. Also gives the steps it aimed at.
///
/// Every step but the last should bring as many new chunks as there are generators; candidates go in
/// order of distance, at random within, and a matching gives each generator one of its own.
///
/// ```
/// use flitloom_core::{collective::{Torus, gather}, fabric::Lines};
/// let orbit = gather(&Torus::new(&Lines::rings(&[8, 8, 8], false))?, 1, 0, 1);
/// assert_eq!(orbit.steps, 86); // ceil(511 / 6)
/// assert_eq!(orbit.rows.len(), 511);
/// # Ok::<(), flitloom_core::collective::CollectiveError>(())
/// ```
pub fn gather(torus: &Torus, chunks: u32, latency: u32, seed: u64) -> Orbit {
    let neighbours = torus.neighbours();
    let opposite: Vec<usize> = (0..neighbours.len()).map(|generator| torus.opposite(generator)).collect();
    let distances = torus.distances(&neighbours);
    let farthest = distances.iter().copied().max().unwrap_or(0);
    let missing = (torus.nodes() - 1) as u64 * u64::from(chunks);
    let full = missing.div_ceil(neighbours.len() as u64) + u64::from(latency);
    let goal = full.max(u64::from(farthest) * u64::from(1 + latency));
    let mut best: Option<Orbit> = None;
    for attempt in 0..ATTEMPTS {
        let mut growth = Growth {
            neighbours: &neighbours,
            opposite: &opposite,
            distances: &distances,
            chunks,
            latency,
            state: vec![FAR; torus.nodes() * chunks as usize],
            pools: vec![Vec::new(); farthest as usize + 1],
            first: 0,
            dice: Dice { seed: seed.wrapping_add(attempt), drawn: 0 },
        };
        let found = growth.run();
        if best.as_ref().is_none_or(|best| found.steps < best.steps) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| u64::from(best.steps) <= goal) {
            break;
        }
    }
    best.unwrap_or(Orbit { kind: OrbitKind::Gather, steps: 0, rows: Vec::new() })
}

/// A growing set of chunks that every node has, as offsets of their origins.
struct Growth<'a> {
    neighbours: &'a [Vec<NodeId>],
    /// Per generator its opposite.
    opposite: &'a [usize],
    distances: &'a [u32],
    chunks: u32,
    latency: u32,
    /// Per item (offset, chunk), how far it is: [`FAR`], [`NEAR`], [`TAKEN`] or [`HERE`].
    state: Vec<u8>,
    /// Per distance, the items a neighbour has; some are taken by now.
    pools: Vec<Vec<u32>>,
    /// The first pool that may have items.
    first: usize,
    dice: Dice,
}

/// No neighbour has the item.
const FAR: u8 = 0;
/// A neighbour has the item.
const NEAR: u8 = 1;
/// A row brings the item.
const TAKEN: u8 = 2;
/// The item has arrived.
const HERE: u8 = 3;

struct Dice {
    seed: u64,
    drawn: u64,
}

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.drawn += 1;
        draw_below(self.seed, 0, Purpose::Search, self.drawn, bound as u32) as usize
    }
}

impl Growth<'_> {
    fn run(&mut self) -> Orbit {
        let mut missing = self.state.len() - self.chunks as usize;
        let mut rows = Vec::with_capacity(missing);
        // Items that arrive at the end of each of the last steps; the first are there at once.
        let mut arriving: Vec<Vec<u32>> = vec![Vec::new(); self.latency as usize + 1];
        arriving[0] = (0..self.chunks).collect();
        let mut step = 0;
        let slots = arriving.len();
        let mut last = 0;
        while missing > 0 {
            let here = std::mem::take(&mut arriving[step as usize % slots]);
            here.into_iter().for_each(|item| self.offer(item));
            let chosen = self.choose();
            for (generator, item) in chosen.into_iter().enumerate() {
                if let Some(item) = item {
                    self.state[item as usize] = TAKEN;
                    let (offset, chunk) = (item / self.chunks, item % self.chunks);
                    rows.push(Row { step, generator: generator as u32, offset, chunk });
                    arriving[step as usize % slots].push(item);
                    missing -= 1;
                    last = step;
                }
            }
            step += 1;
        }
        Orbit { kind: OrbitKind::Gather, steps: last + 1 + self.latency, rows }
    }

    /// An item has arrived everywhere: what it can be forwarded to become candidates.
    fn offer(&mut self, item: u32) {
        self.state[item as usize] = HERE;
        let (offset, chunk) = (item / self.chunks, item % self.chunks);
        for after in self.neighbours {
            let next = after[offset as usize];
            let candidate = next * self.chunks + chunk;
            if self.state[candidate as usize] == FAR {
                self.state[candidate as usize] = NEAR;
                let distance = self.distances[next as usize] as usize;
                self.pools[distance].push(candidate);
                self.first = self.first.min(distance);
            }
        }
    }

    /// Whether a generator can bring an item in this step.
    fn brings(&self, generator: usize, item: u32) -> bool {
        let (offset, chunk) = (item / self.chunks, item % self.chunks);
        let before = self.neighbours[self.opposite[generator]][offset as usize];
        self.state[(before * self.chunks + chunk) as usize] == HERE
    }

    /// One item for as many generators as possible, all different, near items first.
    fn choose(&mut self) -> Vec<Option<u32>> {
        let count = self.neighbours.len();
        let mut chosen = vec![None; count];
        let mut found = 0;
        let mut empty_so_far = true;
        for distance in self.first..self.pools.len() {
            let mut place = 0;
            while place < self.pools[distance].len() && found < count {
                let other = place + self.dice.below(self.pools[distance].len() - place);
                self.pools[distance].swap(place, other);
                let item = self.pools[distance][place];
                if self.state[item as usize] >= TAKEN {
                    self.pools[distance].swap_remove(place);
                } else {
                    place += 1;
                    let takes = |generator, item| self.brings(generator, item);
                    found += usize::from(augment(item, &mut chosen, &mut vec![false; count], &takes));
                }
            }
            if empty_so_far && self.pools[distance].is_empty() {
                self.first = distance + 1;
            } else {
                empty_so_far = false;
            }
            if found == count {
                break;
            }
        }
        chosen
    }
}
