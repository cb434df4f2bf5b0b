//! Walks over graphs, whatever their vertices and arcs are: level by level, and by cost.

use super::MAX_DIMENSIONS;
use fixedbitset::FixedBitSet;
use std::{cmp::Ordering, collections::BinaryHeap, ops::Add};

/// The vertices that a walk meets level by level (breadth-first), in this order.
///
/// `meet` is told both ends of every arc that is looked at, says whether the second one is new, and remembers it.
///
/// ```
/// use flitloom_core::fabric::walk::met;
/// let mut seen = [true, false, false, false];
/// let order = met(0, |here| [(here + 1) % 4, (here + 3) % 4], |_, there| {
///     !std::mem::replace(&mut seen[there as usize], true)
/// });
/// assert_eq!(order, [0, 1, 3, 2]);
/// ```
pub fn met<I: IntoIterator<Item = u32>>(
    start: u32,
    next: impl FnMut(u32) -> I,
    meet: impl FnMut(u32, u32) -> bool,
) -> Vec<u32> {
    met_from(vec![start], next, meet)
}

/// The same from several vertices, which come first.
pub fn met_from<I: IntoIterator<Item = u32>>(
    starts: Vec<u32>,
    mut next: impl FnMut(u32) -> I,
    meet: impl FnMut(u32, u32) -> bool,
) -> Vec<u32> {
    met_over(starts, |here| next(here).into_iter().map(move |there| (here, there)), meet)
}

/// The same over arcs with a name each, as (arc, end), of which `meet` is told instead.
pub fn met_over<A, I: IntoIterator<Item = (A, u32)>>(
    starts: Vec<u32>,
    mut arcs: impl FnMut(u32) -> I,
    mut meet: impl FnMut(A, u32) -> bool,
) -> Vec<u32> {
    let mut order = starts;
    let mut head = 0;
    while let Some(&here) = order.get(head) {
        head += 1;
        for (arc, there) in arcs(here) {
            if meet(arc, there) {
                order.push(there);
            }
        }
    }
    order
}

/// Arcs from a start to every vertex, `far` where no way leads, and the vertices in the order in which they are met.
///
/// ```
/// use flitloom_core::fabric::walk::distances;
/// let (distances, order) = distances(5, 0, u32::MAX, |here| (here < 3).then_some(here + 1));
/// assert_eq!(distances, [0, 1, 2, 3, u32::MAX]);
/// assert_eq!(order, [0, 1, 2, 3]);
/// ```
pub fn distances<T, I>(vertices: usize, start: u32, far: T, next: impl FnMut(u32) -> I) -> (Vec<T>, Vec<u32>)
where
    T: Copy + PartialEq + From<u8> + Add<Output = T>,
    I: IntoIterator<Item = u32>,
{
    let mut distances = vec![far; vertices];
    distances[start as usize] = T::from(0);
    let order = met(start, next, |here, there| {
        let new = distances[there as usize] == far;
        if new {
            distances[there as usize] = distances[here as usize] + T::from(1);
        }
        new
    });
    (distances, order)
}

/// Signed hops along every dimension.
pub type Hops = [i16; MAX_DIMENSIONS];

/// All shortest ways from a start to every vertex, as hops along the dimensions. Vertices come in an `order` in which
/// those before a vertex on its ways stand before it, the start first; arcs come as (end, dimension, hops).
///
/// ```
/// use flitloom_core::fabric::walk::{displacements, distances};
/// // A ring of four: two ways lead to the vertex opposite.
/// let arcs = |here: u32| [((here + 1) % 4, 0, 1), ((here + 3) % 4, 0, -1)];
/// let (distances, order) = distances(4, 0, u32::MAX, |here| arcs(here).map(|arc| arc.0));
/// let ways = displacements(&order, &distances, arcs);
/// assert_eq!(ways[2].iter().map(|way| way[0]).collect::<Vec<_>>(), [2, -2]);
/// ```
pub fn displacements<I>(order: &[u32], distances: &[u32], arcs: impl Fn(u32) -> I) -> Vec<Vec<Hops>>
where
    I: IntoIterator<Item = (u32, usize, i16)>,
{
    let mut ways: Vec<Vec<Hops>> = vec![Vec::new(); distances.len()];
    order.first().into_iter().for_each(|&start| ways[start as usize].push([0; MAX_DIMENSIONS]));
    for &here in order {
        // All that lead here are known: their ends are nearer by one.
        let here = here as usize;
        for (next, dimension, hops) in arcs(here as u32) {
            let next = next as usize;
            if distances[next] != distances[here] + 1 {
                continue;
            }
            for way in 0..ways[here].len() {
                let mut longer = ways[here][way];
                longer[dimension] += hops;
                if !ways[next].contains(&longer) {
                    ways[next].push(longer);
                }
            }
        }
    }
    ways
}

/// Whether a way leads from a vertex to one of the ends.
///
/// ```
/// use flitloom_core::fabric::walk::reaches;
/// assert!(reaches(9, 1, |here| (here < 4).then_some(2 * here), |there| there == 4));
/// assert!(!reaches(9, 1, |here| (here < 4).then_some(2 * here), |there| there == 8));
/// ```
pub fn reaches<I: IntoIterator<Item = u32>>(
    vertices: usize,
    from: u32,
    mut next: impl FnMut(u32) -> I,
    is_end: impl Fn(u32) -> bool,
) -> bool {
    let mut seen = FixedBitSet::with_capacity(vertices);
    let mut open = vec![from];
    while let Some(here) = open.pop() {
        if is_end(here) {
            return true;
        }
        open.extend(next(here).into_iter().filter(|&there| !seen.put(there as usize)));
    }
    false
}

/// What arcs cost: whole numbers or floats.
pub trait Cost: Copy + PartialOrd + Add<Output = Self> {
    /// Nothing.
    const ZERO: Self;
    /// More than any way.
    const INFINITE: Self;

    /// Which of two costs is the lower one.
    fn order(self, other: Self) -> Ordering;
}

macro_rules! cost {
    ($type:ty, $infinite:expr, $order:path) => {
        impl Cost for $type {
            const ZERO: Self = 0 as Self;
            const INFINITE: Self = $infinite;

            fn order(self, other: Self) -> Ordering {
                $order(&self, &other)
            }
        }
    };
}

cost!(f64, f64::INFINITY, f64::total_cmp);
cost!(u64, u64::MAX, u64::cmp);
cost!(i64, i64::MAX, i64::cmp);

/// A vertex that waits to be visited, nearest first, of equally near ones the lower.
struct Reached<C> {
    cost: C,
    vertex: u32,
}

impl<C: Cost> PartialEq for Reached<C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<C: Cost> Eq for Reached<C> {}

impl<C: Cost> Ord for Reached<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.order(self.cost).then(other.vertex.cmp(&self.vertex))
    }
}

impl<C: Cost> PartialOrd for Reached<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Cheapest ways from one vertex (Dijkstra 1959).
///
/// ```
/// use flitloom_core::fabric::walk::Ways;
/// // A triangle with an expensive side, as (arc, end, cost).
/// let arcs = [vec![(0, 1, 5_u64), (1, 2, 1)], vec![], vec![(2, 1, 1)]];
/// let mut ways = Ways::new(3);
/// let mut order = Vec::new();
/// ways.find(0, |here| arcs[here as usize].iter().copied(), |here, _| {
///     order.push(here);
///     true
/// });
/// assert_eq!(ways.cost, [0, 2, 1]);
/// assert_eq!(ways.path(0, 1, |arc| [0, 0, 2][arc as usize]), Some(vec![1, 2]));
/// assert_eq!(order, [0, 2, 1]);
/// ```
pub struct Ways<C> {
    /// Per vertex what the cheapest way costs.
    pub cost: Vec<C>,
    /// Per vertex the arc over which it is reached; `u32::MAX` at the start and where no way leads.
    pub over: Vec<u32>,
    queue: BinaryHeap<Reached<C>>,
}

impl<C: Cost> Ways<C> {
    /// Room for a graph of so many vertices.
    pub fn new(vertices: usize) -> Self {
        Self { cost: vec![C::INFINITE; vertices], over: vec![u32::MAX; vertices], queue: BinaryHeap::new() }
    }

    /// Finds the ways from `start`; arcs come as (arc, end, cost).
    ///
    /// `settle` is told the vertices by their costs, the start first, and says whether to go on: what was not told is
    /// not final.
    pub fn find<I: IntoIterator<Item = (u32, u32, C)>>(
        &mut self,
        start: u32,
        mut arcs: impl FnMut(u32) -> I,
        mut settle: impl FnMut(u32, C) -> bool,
    ) {
        self.cost.fill(C::INFINITE);
        self.over.fill(u32::MAX);
        self.queue.clear();
        self.cost[start as usize] = C::ZERO;
        self.queue.push(Reached { cost: C::ZERO, vertex: start });
        while let Some(Reached { cost, vertex }) = self.queue.pop() {
            if cost > self.cost[vertex as usize] {
                continue;
            }
            if !settle(vertex, cost) {
                return;
            }
            for (arc, there, length) in arcs(vertex) {
                let through = cost + length;
                if through < self.cost[there as usize] {
                    self.cost[there as usize] = through;
                    self.over[there as usize] = arc;
                    self.queue.push(Reached { cost: through, vertex: there });
                }
            }
        }
    }

    /// The arcs from the start to a vertex, in order, where `tail` says at which vertex one begins; `None` if no way
    /// leads there.
    pub fn path(&self, start: u32, target: u32, tail: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut here = target;
        while here != start {
            let arc = self.over[here as usize];
            if arc == u32::MAX {
                return None;
            }
            path.push(arc);
            here = tail(arc);
        }
        path.reverse();
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against Floyd and Warshall's algorithm, on random graphs with arcs that cost nothing, too.
        #[test]
        fn cheapest_ways_are_cheapest(
            arcs in proptest::collection::vec((0_u32..7, 0_u32..7, 0_u64..4), 0..30),
            start in 0_u32..7,
        ) {
            let mut least = [[1_000_u64; 7]; 7];
            (0..7).for_each(|vertex| least[vertex][vertex] = 0);
            for &(a, b, cost) in &arcs {
                let known = &mut least[a as usize][b as usize];
                *known = cost.min(*known);
            }
            for (by, a, b) in (0..343).map(|n| (n / 49, n / 7 % 7, n % 7)) {
                least[a][b] = least[a][b].min(least[a][by] + least[by][b]);
            }
            let leaving = |here: u32| {
                let numbered = (0_u32..).zip(&arcs);
                numbered.filter(move |(_, arc)| arc.0 == here).map(|(arc, &(_, there, cost))| (arc, there, cost))
            };
            let (mut whole, mut float) = (Ways::new(7), Ways::new(7));
            let (mut order, mut costs) = (Vec::new(), Vec::new());
            whole.find(start, leaving, |here, cost| {
                order.push(here);
                costs.push(cost);
                true
            });
            prop_assert!(costs.is_sorted());
            let mut settled = order.iter();
            let fractions = |here| leaving(here).map(|(arc, there, cost)| (arc, there, cost as f64));
            float.find(start, fractions, |here, _| settled.next() == Some(&here));
            prop_assert_eq!(settled.next(), None);
            prop_assert_eq!(&whole.over, &float.over);
            let (hops, _) = distances(7, start, u32::MAX, |here| leaving(here).map(|arc| arc.1));
            for there in 0..7_u32 {
                let known = least[start as usize][there as usize];
                let reached = known < 1_000;
                prop_assert_eq!(whole.cost[there as usize], if reached { known } else { u64::MAX });
                prop_assert_eq!(order.contains(&there), reached);
                prop_assert_eq!(hops[there as usize] != u32::MAX, reached);
                let next = |here| leaving(here).map(|arc| arc.1);
                prop_assert_eq!(reaches(7, start, next, |vertex| vertex == there), reached);
                let path = whole.path(start, there, |arc| arcs[arc as usize].0);
                let cost = path.map(|path| path.iter().map(|&arc| arcs[arc as usize].2).sum::<u64>());
                prop_assert_eq!(cost, reached.then_some(known));
            }
        }
    }
}
