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
//! That takes long, and the result is the same for everybody: it is `stored`.

mod beam;
mod deal;
mod pair;
mod stage;
mod stored;

use super::{
    Told,
    joined::{Joined, Packet},
    kind::{AllToAll, Starts},
    travel::{Travel, class_after},
};
use crate::{
    fabric::NodeId,
    schedule::{Budget, Demand},
};
use beam::Sent;
use deal::{Deal, LINES, offset_number};
use pair::Pair;
use stored::{EQUAL, MIXED};

/// Pools of the forward sides and turns of the dimensions, in the order in which pairs of octants follow each
/// other with the least loss.
const SEQUENCE: [(usize, usize); 4] = [(1, 0), (1, 2), (0, 0), (1, 1)];

/// Two pairs of opposite octants: all others are these, turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OctantPair {
    /// Travel with the same sign in all dimensions.
    Equal,
    /// Travel with another sign in one dimension.
    Mixed,
}

/// Searches for what all nodes of 8x8x8 send in a pair of opposite octants of an all-to-all, and when, within so
/// many cycles of their ports; 1,024 would be without any loss. The text is what this crate stores.
///
/// At most so many `beams` are spent, which keep `width` states of every cycle, and no more than the budget; fewer
/// cycles need more of both.
///
/// ```
/// use flitloom_core::schedule::{Budget, OctantPair, octant_pair};
/// let mut budget = Budget::of_moves(10_000);
/// assert_eq!(octant_pair(OctantPair::Mixed, 1024, (1, 10), 1, &mut budget), None);
/// ```
pub fn octant_pair(
    pair: OctantPair,
    cycles: u32,
    (beams, width): (u64, usize),
    seed: u64,
    budget: &mut Budget,
) -> Option<String> {
    let pools = Deal::new().pools;
    let pair = match pair {
        OctantPair::Equal => Pair::new(&pools[0], &pools[3]),
        OctantPair::Mixed => Pair::new(&pools[1], &pools[2]),
    };
    pair.search(cycles, (beams, width), seed, budget).map(|sent| stored::written(&sent))
}

/// Start and path of every packet; `None` if the network is of another kind.
pub(super) fn exchange(
    kind: &AllToAll,
    _seed: u64,
    _budget: &mut Budget,
    _told: &mut Told,
) -> Option<Starts> {
    let shape = kind.fabric.shape();
    let is_cube = shape.dimensions() == 3 && (0..3).all(|dimension| shape.size(dimension) == LINES);
    if !is_cube || kind.length + 1 < LINES {
        return None;
    }
    joined(kind, &stored::read(MIXED)?, &stored::read(EQUAL)?)
}

/// All pairs of octants, one after the other.
fn joined(kind: &AllToAll, mixed: &[Vec<Sent>; 2], equal: &[Vec<Sent>; 2]) -> Option<Starts> {
    let (deal, demands) = (Deal::new(), kind.demands());
    let mut schedule = Joined::new(kind);
    for (pool, turns) in SEQUENCE {
        let sent = by_packet(&deal, pool, if pool == 0 { equal } else { mixed });
        let epoch = Epoch { deal: &deal, pool, turns, sent };
        let shifts: Vec<Vec<Packet>> =
            (0..LINES).map(|shifted| epoch.placed(kind, &schedule, &demands, shifted)).collect();
        schedule.append(shifts.into_iter())?;
    }
    schedule.starts()
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
    /// All packets, with the classes shifted.
    fn placed(&self, kind: &AllToAll, schedule: &Joined, demands: &[Demand], shifted: u32) -> Vec<Packet> {
        let shape = kind.fabric.shape();
        let octants = [0, 1, 2, 3, 4, 5, 6, 7];
        let travels = octants.map(|octant: u8| Travel((0..3).map(|bit| octant >> bit & 1 == 1).collect()));
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
            let travel = &travels[usize::from(place.octant)];
            // The sides count in opposite ways.
            let class = class_after(travel.class(shape, LINES, demand.source), shifted, side == 1, LINES);
            let (start, way) = &self.sent[side][class as usize][place.number];
            let way = travel.way(way.iter().map(|&along| (usize::from(along) + self.turns) % 3));
            own.push(schedule.packet(job, *start, demand.source, &way));
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fabric::{Fabric, LinkId, Shape},
        schedule::{PlannedPacket, Problem, verify},
        traffic::{CollectiveOperation, Group},
    };

    #[test]
    fn a_pair_that_is_found_takes_the_place_of_a_stored_one() {
        let fabric = Fabric::new(Shape::torus(&[8, 8, 8]).unwrap());
        let all = Group::all(fabric.shape());
        let demands = CollectiveOperation::AllToAll.phases(&all, 7).unwrap().remove(0);
        let problem = Problem::over_any_minimal_route(&fabric, &demands).unwrap();
        let mut budget = Budget::of_moves(u64::MAX);
        let text = octant_pair(OctantPair::Equal, 1200, (40, 50), 1, &mut budget).unwrap();
        let found = stored::read(&text).unwrap();
        let kind = AllToAll::of(&fabric, &problem).unwrap();
        let starts = joined(&kind, &stored::read(MIXED).unwrap(), &found).unwrap();
        let packet = |(demand, (start, path)): (&Demand, (u32, Vec<LinkId>))| PlannedPacket {
            source: demand.source,
            destination: demand.destination,
            start: start.into(),
            length: 8,
            slice: 0,
            path,
        };
        let packets: Vec<PlannedPacket> = demands.iter().zip(starts).map(packet).collect();
        assert!(verify(&fabric, &packets).unwrap() < 4190 + 200);
    }
}
