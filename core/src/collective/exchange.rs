use super::{
    Orbit, OrbitKind, Row, Torus,
    balance::{PASSES, balanced, shortest_ways},
};
use crate::{
    fabric::{NodeId, Sign, walk::Hops},
    flow::loads::{fullest, of_paths},
};

/// No item.
const NONE: u32 = u32::MAX;
/// Free steps of a generator that are tried before others are exchanged for one.
const TRIES: usize = 8;

/// An all-to-all of `chunks` chunks per pair: every offset takes a shortest way, and edges of the
/// bipartite graph of offsets and generators are coloured with steps.
///
/// A torus is a commutative group, so the order of the hops of an offset is free: an open shop with
/// unit operations, whose least makespan is the largest of all loads and hop counts (Koenig's theorem
/// on edge colouring). With link latency the steps come from list scheduling instead.
///
/// ```
/// use flitloom_core::{collective::{Torus, exchange}, fabric::Lines};
/// let orbit = exchange(&Torus::new(&Lines::rings(&[8, 8], false))?, 1, 0, 1);
/// assert_eq!(orbit.steps, 64); // 256 hops per node over 4 links
/// assert_eq!(exchange(&Torus::new(&Lines::rings(&[4, 4, 8], true))?, 3, 0, 1).steps, 220);
/// # Ok::<(), flitloom_core::collective::CollectiveError>(())
/// ```
pub fn exchange(torus: &Torus, chunks: u32, latency: u32, seed: u64) -> Orbit {
    let neighbours = torus.neighbours();
    let distances = torus.distances(&neighbours);
    let ways = shortest_ways(torus, &neighbours, &distances);
    let total: u64 = distances.iter().map(|&distance| u64::from(distance)).sum::<u64>() * u64::from(chunks);
    let goal = total.div_ceil(torus.generators().len() as u64);
    let widths: Vec<u32> = (0..torus.sizes().len()).map(|dimension| torus.width(dimension)).collect();
    let passes = if torus.is_twisted() { PASSES } else { 0 };
    let chosen = balanced(&ways, chunks, &widths, goal, passes, seed);
    let items = machines(torus, &widths, &chosen, chunks);
    let rows = if latency == 0 {
        coloured(&items, neighbours.len())
    } else {
        listed(&items, neighbours.len(), latency)
    };
    let steps = rows.iter().map(|row: &(u32, u32, u32)| row.0 + 1 + latency).max().unwrap_or(0);
    let row = |(step, generator, item): (u32, u32, u32)| Row {
        step,
        generator,
        offset: (item / chunks) as NodeId,
        chunk: item % chunks,
    };
    let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
    rows.sort_unstable();
    Orbit { kind: OrbitKind::Exchange, steps, rows }
}

/// Per item the generators of its hops; parallel links take hops in turn.
fn machines(torus: &Torus, widths: &[u32], chosen: &[Hops], chunks: u32) -> Vec<Vec<u32>> {
    let first = |dimension: usize, sign: Sign, step: u32| {
        let same = |generator: &super::Generator| {
            (generator.dimension, generator.sign, generator.step) == (dimension, sign, step)
        };
        torus.generators().iter().position(same).unwrap_or(0)
    };
    let mut turn = vec![0_u32; torus.generators().len()];
    let of = |(item, hops): (usize, &Hops)| {
        let mut list = Vec::new();
        for (dimension, &width) in widths.iter().enumerate() {
            let hops = hops[dimension];
            let (first, count) = if torus.is_full(dimension) {
                let step = torus.digit(item as u32 / chunks, dimension);
                (first(dimension, Sign::Plus, step), u16::from(step > 0))
            } else {
                let sign = if hops < 0 { Sign::Minus } else { Sign::Plus };
                (first(dimension, sign, 1), hops.unsigned_abs())
            };
            for _ in 0..count {
                list.push(first as u32 + turn[first]);
                turn[first] = (turn[first] + 1) % width;
            }
        }
        list
    };
    chosen.iter().enumerate().map(of).collect()
}

/// Steps for all hops, as (step, generator, item): no generator and no item twice in a step, with as
/// few steps as the largest load or number of hops.
fn coloured(items: &[Vec<u32>], generators: usize) -> Vec<(u32, u32, u32)> {
    let hops = items.iter().map(Vec::len).max().unwrap_or(0);
    let steps = fullest(&of_paths::<usize>(generators, items)).max(hops);
    let mut colouring = Colouring {
        steps,
        at: vec![NONE; generators * steps],
        hops: items.iter().map(|list| Vec::with_capacity(list.len())).collect(),
        busy: vec![NONE; steps],
        next: vec![0; generators],
    };
    // Offsets with many hops first, while there is most freedom.
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&item| std::cmp::Reverse(items[item].len()));
    for item in order {
        for &generator in &items[item] {
            colouring.place(item as u32, generator as usize);
        }
    }
    let hops = colouring.hops.into_iter().enumerate();
    hops.flat_map(|(item, hops)| {
        hops.into_iter().map(move |(step, generator)| (step, generator, item as u32))
    })
    .collect()
}

struct Colouring {
    steps: usize,
    /// Per generator and step the item that moves.
    at: Vec<u32>,
    /// Per item its hops so far: (step, generator).
    hops: Vec<Vec<(u32, u32)>>,
    /// Per step, the last item placed that moves in it; hops of an item are placed one after the other.
    busy: Vec<u32>,
    /// Per generator a step below which it is busy throughout.
    next: Vec<usize>,
}

impl Colouring {
    /// Gives one more hop a step.
    fn place(&mut self, item: u32, generator: usize) {
        let row = generator * self.steps;
        let mut next = self.next[generator];
        while next + 1 < self.steps && self.at[row + next] != NONE {
            next += 1;
        }
        self.next[generator] = next;
        let free = (next..self.steps).filter(|&step| self.at[row + step] == NONE);
        let fitting = free.take(TRIES).find(|&step| self.busy[step] != item);
        let step = fitting.unwrap_or_else(|| self.exchange(item, next as u32) as usize);
        self.at[row + step] = item;
        self.busy[step] = item;
        self.hops[item as usize].push((step as u32, generator as u32));
    }

    /// Index of the hop of an item in a step.
    fn hop_at(&self, item: u32, step: u32) -> Option<usize> {
        self.hops[item as usize].iter().position(|&(busy, _)| busy == step)
    }

    /// Frees step `a` of an item by exchanging two steps along a chain of hops; gives `a`.
    fn exchange(&mut self, item: u32, a: u32) -> u32 {
        // An item has fewer hops so far than there are steps: one of the first is free.
        let Some(b) = self.busy.iter().position(|&by| by != item) else { return a };
        let b = b as u32;
        self.busy[b as usize] = item;
        let mut moving = item;
        let mut hop = self.hop_at(item, a);
        while let Some(place) = hop {
            let generator = self.hops[moving as usize][place].1 as usize;
            let (at_a, at_b) = (generator * self.steps + a as usize, generator * self.steps + b as usize);
            let displaced = self.at[at_b];
            self.hops[moving as usize][place].0 = b;
            self.at[at_b] = moving;
            self.at[at_a] = displaced;
            if displaced == NONE {
                self.next[generator] = self.next[generator].min(a as usize);
                break;
            }
            // The displaced item may have had another hop in step `a`: find it before the clash.
            hop = self.hop_at(displaced, a);
            let own = self.hops[displaced as usize]
                .iter()
                .position(|&(step, by)| step == b && by as usize == generator);
            if let Some(own) = own {
                self.hops[displaced as usize][own].0 = a;
            }
            moving = displaced;
        }
        a
    }
}

/// Steps for all hops when an item must wait `latency` steps after each of its hops: in every step each
/// generator takes the item with the most hops left.
fn listed(items: &[Vec<u32>], generators: usize, latency: u32) -> Vec<(u32, u32, u32)> {
    let mut left: Vec<Vec<u32>> = items.to_vec();
    let mut ready = vec![0_u32; items.len()];
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); generators];
    for (item, list) in items.iter().enumerate() {
        let mut distinct = list.clone();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.into_iter().for_each(|generator| waiting[generator as usize].push(item as u32));
    }
    let mut rows = Vec::new();
    let mut missing: usize = items.iter().map(Vec::len).sum();
    let mut step = 0;
    while missing > 0 {
        for turn in 0..generators {
            let generator = (turn + step as usize) % generators;
            let can = |&place: &usize| ready[waiting[generator][place] as usize] <= step;
            let rest = |&place: &usize| left[waiting[generator][place] as usize].len();
            let Some(place) = (0..waiting[generator].len()).filter(can).max_by_key(rest) else { continue };
            let item = waiting[generator][place];
            let list = &mut left[item as usize];
            if let Some(hop) = list.iter().position(|&other| other as usize == generator) {
                list.swap_remove(hop);
            }
            if !list.contains(&(generator as u32)) {
                waiting[generator].swap_remove(place);
            }
            ready[item as usize] = step + 1 + latency;
            rows.push((step, generator as u32, item));
            missing -= 1;
        }
        step += 1;
    }
    rows
}
