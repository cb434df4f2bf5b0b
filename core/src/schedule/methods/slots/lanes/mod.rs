//! All-to-all on two-dimensional tori whose rings hold one slot each.
//!
//! All forward packets then pass a diagonal at the same time, and all nodes of a diagonal do the same.
//! What is left is a puzzle of two lanes per side, one per dimension, and one port per diagonal:
//! whenever a packet leaves its lane, another one from the same diagonal can take it. Ports are the
//! bottleneck: forward and backward slots pass a node at different times, so that a node that
//! turns from one side to the other and back loses the length of a packet. Good schedules let every
//! node stay on a side for many packets, while the diagonals on each side suit each other's distances.

mod ports;
mod quadrants;
mod search;
mod state;

use super::{
    Told,
    joined::{Joined, Packet, last_arrival},
    kind::{AllToAll, Starts},
    travel::Travel,
};
use crate::schedule::{Budget, Demand};
use quadrants::{Division, Exchange, is_minus};
use search::Search;

/// Most diagonals.
const MOST_LINES: u32 = 16;
/// Divisions between the quadrants of which the best is kept, and attempts at each.
const DIVISIONS: u64 = 2;
const TRIALS: usize = 3;
/// Most attempts.
const MOST_ATTEMPTS: u64 = 3000;

/// Start and path of every packet; `None` if not every ring holds one slot, or several of the same diagonals.
pub(super) fn exchange(kind: &AllToAll, seed: u64, budget: &mut Budget, told: &mut Told) -> Option<Starts> {
    let AllToAll { length, lines, .. } = *kind;
    let shape = kind.fabric.shape();
    let one_slot = length <= lines && lines <= length + length / 4 && lines <= MOST_LINES;
    // Sets of packets are words, and so are the cycles ahead in which a port is taken.
    let few = shape.nodes() <= 3 * 64
        && shape.dimensions() == 2
        && shape.size(0) / 2 + shape.size(1) / 2 + length <= 64;
    match lines {
        _ if !one_slot || !few => None,
        0..=8 => search::<8>(kind, seed, budget, told),
        _ => search::<16>(kind, seed, budget, told),
    }
}

fn search<const LINES: usize>(
    kind: &AllToAll,
    seed: u64,
    budget: &mut Budget,
    told: &mut Told,
) -> Option<Starts> {
    let AllToAll { fabric, lines, length, .. } = *kind;
    let (shape, demands) = (fabric.shape(), kind.demands());
    let divisions: Vec<Division> = (0..DIVISIONS)
        .map(|number| Division::new(shape, lines, length, seed.wrapping_add(number << 32)))
        .collect();
    let mut found: Vec<[Search<LINES>; 2]> = divisions
        .iter()
        .map(|division| [0, 1].map(|epoch| Search::new(&division.exchanges[epoch], seed + epoch as u64)))
        .collect();
    let end = |searches: &[Search<LINES>; 2]| -> Option<u32> {
        searches.iter().map(|search| search.end().map(u32::from)).sum()
    };
    for (number, searches) in found.iter_mut().enumerate() {
        for trial in 0..TRIALS {
            // There has to be one schedule, at least.
            if number + trial == 0 || !budget.is_over() {
                for search in searches.iter_mut() {
                    search.attempt(budget);
                }
            }
        }
    }
    let complete = (0..found.len()).filter_map(|number| Some((end(&found[number])?, number)));
    let (_, chosen) = complete.min()?;
    let division = &divisions[chosen];
    let mut searches = found.swap_remove(chosen);
    let join = |searches: &[Search<LINES>; 2]| -> Option<Starts> {
        let mut schedule = Joined::new(kind);
        for (epoch, search) in searches.iter().enumerate() {
            let packets = packets(&division.exchanges[epoch], &search.best);
            // Any even turn of the diagonals keeps the exchange; some begin sooner behind the one before.
            let turns = (0..lines).filter(|turn| epoch > 0 && turn.is_multiple_of(2) || *turn == 0);
            let own: Vec<Vec<Packet>> = turns
                .map(|turned| placed(kind, &schedule, division, &demands, epoch, turned, &packets))
                .collect();
            schedule.append(own.into_iter())?;
        }
        schedule.starts()
    };
    let mut best = join(&searches)?;
    for _ in 0..MOST_ATTEMPTS {
        for epoch in 0..2 {
            // Equally long schedules differ in how well they join.
            if !budget.is_over() && searches[epoch].attempt(budget) {
                let other = join(&searches)?;
                if last_arrival(&other) < last_arrival(&best) {
                    best = other;
                }
            }
        }
        told(Some(&best), 0, budget.moves);
    }
    Some(best)
}

/// The travel of the packets of an epoch and side.
fn travel(epoch: usize, side: usize) -> Travel {
    Travel([0, 1].map(|dimension| is_minus(epoch, side, dimension)).into())
}

/// Start and dimensions of the hops of a packet, by side, diagonal and number.
type Packets = [Vec<Vec<(u32, Vec<u8>)>>; 2];

/// Reads a schedule from its states.
fn packets<const LINES: usize>(exchange: &Exchange, states: &[state::State<LINES>]) -> Packets {
    let mut packets: Packets = [0, 1].map(|side| {
        let empty = |line| vec![(0, Vec::new()); exchange.packets(side, line).len()];
        (0..exchange.lines as usize).map(empty).collect()
    });
    let mut lone: [Option<(usize, usize)>; 2] = [None; 2];
    for (before, after) in states.iter().zip(states.iter().skip(1)) {
        let (side, step) = (usize::from(after.step.side), after.step);
        let [x, y] = before.lone[side].map(usize::from);
        let line = exchange.line(side, before.time.into());
        let mut go = |(line, number): (usize, usize), hops: [usize; 2]| {
            let way = &mut packets[side][line][number].1;
            way.extend(std::iter::repeat_n(0, hops[0]).chain(std::iter::repeat_n(1, hops[1])));
        };
        let single = if step.along == 0 { [1, 0] } else { [0, 1] };
        match (step.packet, lone[side]) {
            (None, None) => {}
            (None, Some(only)) => go(only, single),
            (Some(number), None) => {
                lone[side] = Some((line, number.into()));
                go((line, number.into()), single);
            }
            (Some(number), Some(other)) => {
                let own = (line, usize::from(number));
                let [a, b] = exchange.packets(side, line)[own.1].map(usize::from);
                // The one that ends first uses one dimension after the other, the other one crosswise.
                if a + b < x + y {
                    go(own, [a, b]);
                    let way = &mut packets[side][other.0][other.1].1;
                    way.extend(std::iter::repeat_n(1, a).chain(std::iter::repeat_n(0, b)));
                } else {
                    go(other, [x, y]);
                    let way = &mut packets[side][own.0][own.1].1;
                    way.extend(std::iter::repeat_n(1, x).chain(std::iter::repeat_n(0, y)));
                    lone[side] = Some(own);
                }
            }
        }
        if let Some(number) = step.packet {
            packets[side][line][usize::from(number)].0 = before.time.into();
        }
        if after.lone[side] == [0, 0] {
            lone[side] = None;
        }
    }
    packets
}

/// All packets of an epoch, with diagonals turned.
fn placed(
    kind: &AllToAll,
    schedule: &Joined,
    division: &Division,
    demands: &[Demand],
    epoch: usize,
    turned: u32,
    packets: &Packets,
) -> Vec<Packet> {
    let shape = kind.fabric.shape();
    let travels = [0, 1].map(|side| travel(epoch, side));
    let mut own = Vec::new();
    for (job, demand) in demands.iter().enumerate() {
        let Some(place) = division.place(shape, demand).filter(|place| place.epoch == epoch) else {
            continue;
        };
        let line = (travels[0].class(shape, kind.lines, demand.source) + turned) % kind.lines;
        let (start, way) = &packets[place.side][line as usize][place.number];
        let way = travels[place.side].way(way.iter().map(|&dimension| dimension.into()));
        own.push(schedule.packet(job, *start, demand.source, &way));
    }
    own
}
