use crate::{
    fabric::NodeId,
    traffic::{Purpose, draw_below},
};

/// Classes, and nodes of a ring.
pub(super) const LINES: u32 = 8;

/// Hops per dimension, without signs.
pub(super) type Hops = [u8; 3];

/// Which of the stages of its octant a packet belongs to, seen from its source: with the residue above,
/// with that below, or with that opposite. Packets that stay at their residue may go to any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Above,
    Below,
    Opposite,
}

const GROUPS: [Group; 3] = [Group::Above, Group::Below, Group::Opposite];

/// An offset, or the signs of an octant, with the dimensions turned: the first becomes the second.
fn rotated([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, x, y]
}

/// What every node sends in one octant.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    pub packets: Vec<(Hops, Group)>,
}

/// Where the packet to an offset belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Bit per dimension: travels in minus direction.
    pub octant: u8,
    /// How often the octant is turned from that of its pool.
    pub turns: usize,
    /// The pool: the number of dimensions in minus direction.
    pub pool: usize,
    /// Number in the pool.
    pub number: usize,
}

/// The octants of the pools; all others are these, turned.
pub(super) const OCTANTS: [u8; 4] = [0b000, 0b100, 0b011, 0b111];

/// All offsets of an all-to-all exchange, dealt to the octants: those with no hops or half a turn in a
/// dimension may go in several. Turning the dimensions turns the deal.
pub(super) struct Deal {
    pub pools: [Pool; 4],
    /// By offset.
    pub places: Vec<Option<Place>>,
}

/// Offsets that differ by a turn of the dimensions.
struct Family {
    first: [u32; 3],
    /// One or three.
    members: usize,
    /// Octants of the first one that suit it.
    options: Vec<u8>,
    octant: u8,
    /// Per member.
    groups: [Group; 3],
}

impl Family {
    /// The members that belong to a pool, and how often they are turned.
    fn in_pools(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.members).filter_map(|turns| {
            let octant = (0..turns).fold(self.octant, |octant, _| turned_octant(octant));
            OCTANTS.iter().position(|&other| other == octant).map(|pool| (turns, pool))
        })
    }

    fn hops(&self, turns: usize) -> Hops {
        (0..turns).fold(self.first, |offset, _| rotated(offset)).map(|c| c.min(LINES - c) as u8)
    }

    fn may_choose_group(&self) -> bool {
        self.hops(0).iter().sum::<u8>().is_multiple_of(4)
    }
}

fn turned_octant(octant: u8) -> u8 {
    (octant << 1 | octant >> 2) & 0b111
}

/// Packets and hops per pool and kind of stage, and how far they are from what fills all stages.
#[derive(Clone, Copy, Default)]
struct Loads {
    counts: [[i32; 3]; 4],
    hops: [[[i32; 3]; 2]; 4],
}

impl Loads {
    fn change(&mut self, family: &Family, sign: i32) {
        for (turns, pool) in family.in_pools() {
            let group = family.groups[turns];
            self.counts[pool][group as usize] += sign;
            let kind = usize::from(group == Group::Opposite);
            for (sum, hops) in self.hops[pool][kind].iter_mut().zip(family.hops(turns)) {
                *sum += sign * i32::from(hops);
            }
        }
    }

    fn badness(&self) -> i32 {
        let square = |a: i32, b: i32| (a - b) * (a - b);
        let counts = self.counts.iter().map(|&[above, below, opposite]| {
            4 * (square(above, 21) + square(below, 21) + square(opposite, 22))
        });
        // Three packets are in flight at any time, one per direction: a third of all hops each.
        let hops = self.hops.iter().flat_map(|[near, opposite]| {
            near.iter()
                .map(move |&sum| square(sum, 84))
                .chain(opposite.iter().map(move |&sum| square(sum, 44)))
        });
        counts.sum::<i32>() + hops.sum::<i32>()
    }
}

/// Least badness: 511 packets for eight octants leave one octant a packet short.
const BEST: i32 = 4;

impl Deal {
    /// Threshold accepting (Dueck and Scheuer 1990), until all stages are filled exactly.
    pub(super) fn new() -> Self {
        // Found by trial: many others end a few hops away.
        const SEED: u64 = 140;
        const CHANGES: u64 = 400_000;
        let mut families = families();
        let mut loads = Loads::default();
        families.iter().for_each(|family| loads.change(family, 1));
        let free: Vec<usize> = (0..families.len())
            .filter(|&index| families[index].options.len() > 1 || families[index].may_choose_group())
            .collect();
        let mut badness = loads.badness();
        for count in 0..CHANGES {
            if badness <= BEST {
                break;
            }
            let random = |what: u32, below: usize| {
                draw_below(SEED, what as NodeId, Purpose::Search, count, below as u32) as usize
            };
            let heat = 10 * (CHANGES - count) / CHANGES;
            let moved: Vec<usize> =
                (0..1 + random(0, 3)).map(|which| free[random(1 + which as u32, free.len())]).collect();
            let before = (loads, moved.iter().map(|&index| kept(&families[index])).collect::<Vec<_>>());
            for (which, &index) in (0..).zip(&moved) {
                let family = &mut families[index];
                loads.change(family, -1);
                if family.may_choose_group() && random(20 + which, 2) == 0 {
                    family.groups[random(23 + which, family.members)] = GROUPS[random(26 + which, 3)];
                } else {
                    family.octant = family.options[random(29 + which, family.options.len())];
                }
                loads.change(family, 1);
            }
            let after = loads.badness();
            if after <= badness + random(11, heat as usize + 1) as i32 {
                badness = after;
            } else {
                loads = before.0;
                for (&index, old) in moved.iter().zip(before.1).rev() {
                    (families[index].octant, families[index].groups) = old;
                }
            }
        }
        Self::of(&families)
    }

    fn of(families: &[Family]) -> Self {
        let mut deal =
            Self { pools: Default::default(), places: vec![None; (LINES * LINES * LINES) as usize] };
        for family in families {
            for (turns, pool) in family.in_pools() {
                let packets = &mut deal.pools[pool].packets;
                let number = packets.len();
                packets.push((family.hops(turns), family.groups[turns]));
                let mut offset = (0..turns).fold(family.first, |offset, _| rotated(offset));
                let mut octant = OCTANTS[pool];
                // The same, turned on; the pools of equal signs are their own.
                for turns in 0..if matches!(octant, 0b000 | 0b111) { 1 } else { 3 } {
                    deal.places[offset_number(offset)] = Some(Place { octant, turns, pool, number });
                    (offset, octant) = (rotated(offset), turned_octant(octant));
                }
            }
        }
        deal
    }
}

fn kept(family: &Family) -> (u8, [Group; 3]) {
    (family.octant, family.groups)
}

pub(super) fn offset_number(offset: [u32; 3]) -> usize {
    offset.iter().rev().fold(0, |number, &c| number * LINES as usize + c as usize)
}

fn families() -> Vec<Family> {
    let mut families = Vec::new();
    let mut seen = vec![false; (LINES * LINES * LINES) as usize];
    for number in 1..LINES * LINES * LINES {
        let first = [number % LINES, number / LINES % LINES, number / LINES / LINES];
        if seen[number as usize] {
            continue;
        }
        let turned = [first, rotated(first), rotated(rotated(first))];
        turned.iter().for_each(|&offset| seen[offset_number(offset)] = true);
        let suits = |octant: &u8| {
            let sign = |(dimension, &c): (usize, &u32)| {
                c.is_multiple_of(LINES / 2) || (c > LINES / 2) == (octant >> dimension & 1 == 1)
            };
            // A family of one turns into itself, and so must its octant.
            first.iter().enumerate().all(sign)
                && (turned[0] != turned[1] || turned_octant(*octant) == *octant)
        };
        let options: Vec<u8> = (0..8).filter(suits).collect();
        let hops: u32 = first.iter().map(|&c| c.min(LINES - c)).sum();
        let group = match hops % 4 {
            3 => Group::Below,
            2 => Group::Opposite,
            _ => Group::Above,
        };
        let members = if turned[0] == turned[1] { 1 } else { 3 };
        let octant = options.first().copied().unwrap_or(0);
        families.push(Family { first, members, options, octant, groups: [group; 3] });
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_has_one_place_and_all_stages_are_full() {
        let deal = Deal::new();
        assert_eq!(deal.places.iter().flatten().count(), 511);
        let mut used = [0; 4];
        for (number, place) in (0_u32..).zip(&deal.places) {
            let Some(place) = place else { continue };
            used[place.pool] += 1;
            let offset = [number % 8, number / 8 % 8, number / 64];
            // What the pool says, turned, is the way to the offset.
            let hops = deal.pools[place.pool].packets[place.number].0;
            for dimension in 0..3 {
                let hops = u32::from(hops[(dimension + 3 - place.turns) % 3]);
                let end = if place.octant >> dimension & 1 == 1 { 8 - hops } else { hops } % 8;
                assert_eq!(end, offset[dimension], "{offset:?} {place:?}");
            }
        }
        // The mixed pools serve three octants each.
        let sizes = deal.pools.each_ref().map(|pool| pool.packets.len());
        assert_eq!(used, [sizes[0], 3 * sizes[1], 3 * sizes[2], sizes[3]]);
        for pool in &deal.pools {
            let sum = |opposite: bool, dimension: usize| -> u32 {
                let of = pool.packets.iter().filter(|packet| (packet.1 == Group::Opposite) == opposite);
                of.map(|packet| u32::from(packet.0[dimension])).sum()
            };
            assert_eq!([0, 1, 2].map(|dimension| sum(false, dimension)), [84; 3]);
            assert_eq!([0, 1, 2].map(|dimension| sum(true, dimension)), [44; 3]);
        }
    }
}
