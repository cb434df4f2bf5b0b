//! All-to-all on 8x8x8, whose rings hold one slot of eight cycles each.
//!
//! As in `lanes`, the class of a node is the sum of its coordinates, each with the sign of the octant's
//! travel, modulo eight: every hop leads one class up, and packets that start when slots pass their class
//! stay in step, whatever the order of their hops. All nodes of a class do the same. What is left of an
//! octant is one line of time with three lanes, one per dimension: at every time one class may start a
//! packet and one may arrive, and three are in flight if nothing is lost.
//!
//! Opposite octants go at the same time, on opposite links. A port serves one of them per turn of the
//! slots, so half of the classes are on either side. Links stay full only if packets start *and* end on
//! their side: six stages give every two residues of classes modulo four a time together. Offsets that may
//! go in several octants are dealt so that every stage is exactly full (`deal`); beams with all states of the
//! stage before find the order of the packets and of their hops (`beam`), and go back where they end (`pair`).

mod beam;
mod deal;
mod pair;
mod stage;

use super::{Joined, follow};
use crate::{
    fabric::{Direction, Fabric, LinkId, NodeId, Sign},
    schedule::{Budget, Demand, Problem},
};
use beam::Sent;
use deal::{Deal, offset_number};
use pair::Pair;

/// Classes, and nodes of a ring.
const LINES: u32 = 8;
/// Cycles in which a pair of octants is to be sent, and beams for each; 1,024 would be without loss.
const HORIZONS: [(u32, u64); 4] = [(1072, 200), (1056, 150), (1048, 200), (1044, 1000)];

/// An offset, or the signs of an octant, with the dimensions turned: the first becomes the second.
fn rotated([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, x, y]
}

/// Start and path of every packet; `None` if the network is of another kind, or the budget too small. The packets
/// are one per ordered pair of nodes, all of the given length.
pub(super) fn exchange(
    fabric: &Fabric,
    problem: &Problem,
    demands: &[Demand],
    seed: u64,
    budget: &mut Budget,
) -> Option<Vec<(u32, Vec<LinkId>)>> {
    let shape = fabric.shape();
    let length = problem.jobs().first()?.length;
    if shape.dimensions() != 3 || (0..3).any(|dimension| shape.size(dimension) != LINES) || length + 1 < LINES
    {
        return None;
    }
    let deal = Deal::new();
    // The mixed pair serves three times.
    let pairs = [Pair::new(&deal.pools[1], &deal.pools[2]), Pair::new(&deal.pools[0], &deal.pools[3])];
    let mut best: [Option<[Vec<Sent>; 2]>; 2] = [None, None];
    for (round, (horizon, beams)) in (0..).zip(HORIZONS) {
        for (pair, best) in pairs.iter().zip(&mut best) {
            let found = pair.search(horizon, beams, seed.wrapping_add(round << 32), budget);
            *best = found.or(best.take());
        }
    }
    let [mixed, equal] = best;
    let (mixed, equal) = (mixed?, equal?);
    let mut schedule = Joined::new(fabric, problem);
    for (pool, turns, sent) in [(0, 0, &equal), (1, 0, &mixed), (1, 1, &mixed), (1, 2, &mixed)] {
        let epoch = Epoch { deal: &deal, pool, turns, sent: by_packet(&deal, pool, sent) };
        let shifts = (0..LINES).map(|shifted| epoch.placed(fabric, demands, shifted));
        let own = shifts.min_by_key(|own| schedule.shift(own))?;
        schedule.append(own);
    }
    schedule.starts.into_iter().collect()
}

/// Start and dimensions of the hops, by side, class of the side and number in the pool.
type Table = [Vec<Vec<(u32, Vec<u8>)>>; 2];

fn by_packet(deal: &Deal, pool: usize, sent: &[Vec<Sent>; 2]) -> Table {
    [0, 1].map(|side| {
        let count = deal.pools[if side == 0 { pool } else { 3 - pool }].packets.len();
        let mut table = vec![vec![(0, Vec::new()); count]; LINES as usize];
        for sent in &sent[side] {
            table[sent.class as usize][sent.number] = (sent.start, sent.way.clone());
        }
        table
    })
}

/// A pair of octants, its dimensions turned so often.
struct Epoch<'d> {
    deal: &'d Deal,
    /// The pool of the forward side.
    pool: usize,
    turns: usize,
    sent: Table,
}

impl Epoch<'_> {
    /// Job, start and path of all packets, with the classes shifted.
    fn placed(&self, fabric: &Fabric, demands: &[Demand], shifted: u32) -> Vec<(usize, u32, Vec<LinkId>)> {
        let shape = fabric.shape();
        let coordinates = |node: NodeId| [0, 1, 2].map(|dimension| shape.coordinate(node, dimension));
        let mut own = Vec::new();
        for (job, demand) in demands.iter().enumerate() {
            let (from, to) = (coordinates(demand.source), coordinates(demand.destination));
            let offset = [0, 1, 2].map(|dimension| (to[dimension] + LINES - from[dimension]) % LINES);
            let Some(place) = self.deal.places[offset_number(offset)] else { continue };
            let side = match place.pool {
                pool if pool == self.pool => 0,
                pool if pool == 3 - self.pool => 1,
                _ => continue,
            };
            if place.turns != self.turns {
                continue;
            }
            let minus = |dimension: usize| place.octant >> dimension & 1 == 1;
            let signed = |(dimension, &c): (usize, &u32)| if minus(dimension) { LINES - c } else { c };
            let own_class = from.iter().enumerate().map(signed).sum::<u32>();
            // The sides count in opposite ways.
            let class = (own_class + if side == 0 { shifted } else { LINES - shifted }) % LINES;
            let (start, way) = &self.sent[side][class as usize][place.number];
            let direction = |&along: &u8| {
                let dimension = (usize::from(along) + self.turns) % 3;
                Direction::new(dimension, if minus(dimension) { Sign::Minus } else { Sign::Plus }).index()
                    as u32
            };
            let way: Vec<u32> = way.iter().map(direction).collect();
            own.push((job, *start, follow(fabric, demand.source, &way)));
        }
        own
    }
}
