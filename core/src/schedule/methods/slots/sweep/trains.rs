//! Epochs of two-dimensional tori whose rings hold several slots: packets hand their places on.
//!
//! A *train* is all slots that pass classes of nodes together: after a cycle each has reached the next class. A node
//! has two links ahead, one per dimension, so that a train carries two packets from each node of the class where it
//! is. A schedule loses nothing as long as a packet starts wherever one ends and the two under way never need the
//! same link. The latter depends on their hops alone: the one that ends sooner takes its x hops while the other one
//! takes y hops and the other way round. So the other one must have as many of both, and keeps the difference.
//!
//! Beams over time choose who starts where one ends. They are narrow at first, since there is much to choose from,
//! and wide at the end. Later ones begin from a state of the best schedule.

use super::{epoch::Epoch, pass::Start};
use crate::{
    fabric::Direction,
    schedule::Budget,
    traffic::{Purpose, draw, draws},
};

/// States that are kept of a cycle while many packets wait, and of those of the end.
const WIDTHS: [usize; 2] = [20, 300];
/// The same in the first beam once the budget is spent.
const HURRIED: usize = 8;
/// Cycles of a beam after which it tells how far it is.
const TOLD: u32 = 32;
/// Of the packets that fit where one ends, how many are followed.
const FOLLOWED: usize = 3;
/// Where the end begins, in parts of all packets that still wait.
const END: usize = 5;
/// Beams from the beginning before others begin from states of the best schedule.
const FRESH: u64 = 6;
/// Most trains, both sides together.
const TRAINS: usize = 8;
/// Most packets of an epoch that differ.
const PACKETS: usize = 20_000;
/// Cycles around the present one in which ports are remembered.
const REACH: u32 = 128;

/// Hops that are left in both dimensions.
type Hops = [u8; 2];

/// A packet of an epoch: the job's number there, and its hops.
#[derive(Clone, Copy, Debug)]
struct Packet {
    orbit: u32,
    hops: Hops,
}

/// An epoch as packets by side and class.
pub(super) struct Exchange<'e> {
    epoch: &'e Epoch,
    pitch: u32,
    length: u32,
    /// Trains of a side.
    trains: u32,
    packets: Vec<Packet>,
    /// Where those of a side and class begin.
    groups: Vec<usize>,
}

/// One train: what is under way in it, and the cycles, modulo [`REACH`], of its starts and ends.
#[derive(Clone, Copy, Debug, Default)]
struct Train {
    under_way: [Hops; 2],
    starts: u128,
    ends: u128,
}

/// A partial schedule.
#[derive(Clone)]
struct State {
    waiting: Vec<u64>,
    trains: [Train; TRAINS],
    left: usize,
    /// Cycles of links without a packet.
    idle: u32,
    /// The last arrival.
    last: u32,
    /// The last one of its starts in the beam's list.
    history: u32,
}

/// A start of a beam: the one before it, the packet, and when.
#[derive(Clone, Copy, Debug)]
struct Event {
    before: u32,
    packet: u32,
    time: u32,
}

/// What a beam likes: packets that differ in their dimensions first, short ones first, chance.
#[derive(Clone, Copy, Debug)]
struct Manner {
    seed: u64,
    skewed: i64,
    short: i64,
    noise: u64,
}

impl Manner {
    fn drawn(seed: u64, count: u64) -> Self {
        let random = |number, values: &[i64]| {
            values[(draw(seed, number, Purpose::Search, count) % values.len() as u64) as usize]
        };
        Self {
            seed: draw(seed, 0, Purpose::Search, count),
            skewed: random(1, &[1, 2, 4]),
            short: random(2, &[2, 4, 6, 8, 12, 20]),
            noise: random(3, &[1, 4, 16, 64]) as u64,
        }
    }
}

fn total(hops: Hops) -> u32 {
    u32::from(hops[0]) + u32::from(hops[1])
}

/// What is left of the later of two packets when the other one ends; `None` if they need one link at the same time
/// or end together.
fn left_over(one: Hops, other: Hops) -> Option<Hops> {
    let (sooner, later) = if total(one) < total(other) { (one, other) } else { (other, one) };
    let rest = [later[0].checked_sub(sooner[1])?, later[1].checked_sub(sooner[0])?];
    (total(one) != total(other)).then_some(rest)
}

/// The dimensions in which the packets of a train hop next.
fn next_dimensions([first, second]: [Hops; 2]) -> [usize; 2] {
    let alone = |hops: Hops| usize::from(hops[1] > hops[0]);
    match (total(first), total(second)) {
        (0, _) => [0, alone(second)],
        (_, 0) => [alone(first), 0],
        // The one that ends sooner decides: what it leaves suits the other one.
        (one, two) if one <= two => {
            let dimension = usize::from(first[0] == 0);
            [dimension, 1 - dimension]
        }
        _ => {
            let dimension = usize::from(second[0] == 0);
            [1 - dimension, dimension]
        }
    }
}

impl Train {
    fn is_full(&self) -> bool {
        self.under_way.iter().all(|&hops| total(hops) > 0)
    }

    fn carried(&self) -> u32 {
        self.under_way.iter().map(|&hops| u32::from(total(hops) > 0)).sum()
    }

    /// The packet that is under way alone.
    fn alone(&self) -> Option<Hops> {
        self.under_way.into_iter().find(|&hops| total(hops) > 0)
    }

    /// Puts a packet into a free place.
    fn enter(&mut self, hops: Hops) -> usize {
        let place = usize::from(total(self.under_way[0]) > 0);
        self.under_way[place] = hops;
        place
    }

    /// One hop of both; their dimensions.
    fn hop(&mut self) -> [usize; 2] {
        let dimensions = next_dimensions(self.under_way);
        for (hops, dimension) in self.under_way.iter_mut().zip(dimensions) {
            hops[dimension] = hops[dimension].saturating_sub(1);
        }
        dimensions
    }
}

impl<'e> Exchange<'e> {
    /// `None` for other networks than those with two dimensions and several slots in a ring, or too large ones.
    pub(super) fn new(epoch: &'e Epoch, pitch: u32) -> Option<Self> {
        let length = epoch.problem.jobs().first()?.length;
        let trains = epoch.lines / pitch;
        let fits = trains > 1 && 2 * trains as usize <= TRAINS && epoch.orbits.len() <= PACKETS;
        let dimension = |direction: u32| Direction::from_index(direction as usize).dimension();
        if !fits || epoch.orbits.iter().flat_map(|orbit| &orbit.legs).any(|leg| dimension(leg.0) > 1) {
            return None;
        }
        let mut by_group = vec![Vec::new(); 2 * epoch.lines as usize];
        for (number, orbit) in (0..).zip(&epoch.orbits) {
            let mut hops = [0; 2];
            for &(direction, along) in &orbit.legs {
                hops[dimension(direction)] = u8::try_from(along).ok()?;
            }
            let group = u32::from(orbit.backward) * epoch.lines + orbit.diagonal;
            by_group[group as usize].push(Packet { orbit: number, hops });
            if total(hops) + 2 * length >= REACH / 2 {
                return None;
            }
        }
        let ends = by_group.iter().scan(0, |end, packets| {
            *end += packets.len();
            Some(*end)
        });
        let groups = std::iter::once(0).chain(ends).collect();
        Some(Self { epoch, pitch, length, trains, packets: by_group.concat(), groups })
    }

    fn all_trains(&self) -> usize {
        2 * self.trains as usize
    }

    /// The side of a train, and the class where it is.
    fn place(&self, train: usize, time: u32) -> (usize, u32) {
        let lines = self.epoch.lines;
        let (side, number) = (train / self.trains as usize, train as u32 % self.trains);
        let class = if side == 0 { time % lines } else { lines - time % lines };
        (side, (class + number * self.pitch) % lines)
    }

    /// Whether a port of the nodes where a train is at a time is taken by a packet of the other side.
    fn is_taken(&self, ports: impl Fn(usize) -> u128, train: usize, time: u32) -> bool {
        let (side, class) = self.place(train, time);
        let others = (1 - side) * self.trains as usize;
        // A train of the other side is there every so many cycles.
        let lines = self.epoch.lines;
        (others..others + self.trains as usize).any(|other| {
            let ahead = match self.place(other, time) {
                (0, there) => (class + lines - there) % lines,
                (_, there) => (there + lines - class) % lines,
            };
            let taken = |time: u32| ports(other) >> (time % REACH) & 1 == 1;
            ahead < self.length && taken(time + ahead)
                || lines - ahead < self.length && taken(time + REACH - (lines - ahead))
        })
    }

    fn start(&self) -> State {
        let mut waiting = vec![0; self.packets.len().div_ceil(64)];
        for packet in 0..self.packets.len() {
            waiting[packet / 64] |= 1 << (packet % 64);
        }
        let trains = [Train::default(); TRAINS];
        State { waiting, trains, left: self.packets.len(), idle: 0, last: 0, history: u32::MAX }
    }

    /// Packets that fit into a train at a time, with what speaks against each.
    fn fitting(
        &self,
        state: &State,
        manner: &Manner,
        chance: impl Fn(u64) -> u64,
        (train, time): (usize, u32),
        found: &mut Vec<(i64, u32)>,
    ) {
        found.clear();
        if state.left == 0
            || state.trains[train].is_full()
            || self.is_taken(|train| state.trains[train].starts, train, time)
        {
            return;
        }
        let (side, class) = self.place(train, time);
        let group = side * self.epoch.lines as usize + class as usize;
        let alone = state.trains[train].alone();
        // Per number of hops, whether a packet may end then: not computed yet, no, yes.
        let mut open = [0_u8; REACH as usize];
        for number in self.groups[group]..self.groups[group + 1] {
            if state.waiting[number / 64] >> (number % 64) & 1 == 0 {
                continue;
            }
            let hops = self.packets[number].hops;
            let Some(rest) = alone.map_or(Some(hops), |alone| left_over(alone, hops)) else { continue };
            let end = time + total(hops);
            let open = &mut open[total(hops) as usize];
            if *open == 0 {
                // Where one ends, another one is to start.
                let closed = state.trains[train].ends >> (end % REACH) & 1 == 1
                    || self.is_taken(|train| state.trains[train].ends, train, end)
                    || self.is_taken(|train| state.trains[train].starts, train, end);
                *open = if closed { 1 } else { 2 };
            }
            if *open == 1 {
                continue;
            }
            let skew = |[x, y]: Hops| (i64::from(x) - i64::from(y)).abs();
            let random = (chance(number as u64) % manner.noise) as i64;
            let against = manner.skewed * (skew(rest) - skew(hops)) + manner.short * i64::from(total(hops));
            found.push((against + random, number as u32));
        }
        if found.len() > FOLLOWED {
            found.select_nth_unstable(FOLLOWED);
            found.truncate(FOLLOWED);
        }
    }

    /// Lets a packet start.
    fn put(&self, state: &mut State, train: usize, time: u32, number: u32) {
        let packet = number as usize;
        let hops = self.packets[packet].hops;
        state.waiting[packet / 64] &= !(1 << (packet % 64));
        state.left -= 1;
        let end = time + total(hops);
        state.last = state.last.max(end);
        let train = &mut state.trains[train];
        train.enter(hops);
        train.starts |= 1 << (time % REACH);
        train.ends |= 1 << (end % REACH);
    }

    /// The next cycle.
    fn go_on(&self, state: &mut State, time: u32) {
        // What is behind is forgotten, for its place is needed ahead.
        let forgotten = 1_u128 << ((time + REACH / 2) % REACH);
        for train in &mut state.trains[..self.all_trains()] {
            train.hop();
            train.starts &= !forgotten;
            train.ends &= !forgotten;
        }
    }

    /// The train of a packet that starts at a time.
    fn train_of(&self, packet: u32, time: u32) -> usize {
        let orbit = &self.epoch.orbits[self.packets[packet as usize].orbit as usize];
        (0..self.all_trains())
            .find(|&train| self.place(train, time) == (usize::from(orbit.backward), orbit.diagonal))
            .unwrap_or(0)
    }

    /// Goes on from a state before a time; the starts from there on, and when the last packet arrives. `None` if that
    /// is no sooner than `limit`. Without one it is never broken off, but becomes narrow.
    fn beam(
        &self,
        from: (State, u32),
        manner: &Manner,
        limit: u32,
        budget: &mut Budget,
        told: &mut dyn FnMut(usize, u64),
    ) -> Option<(Vec<(u32, u32)>, u32)> {
        let (first, mut time) = from;
        let mut events: Vec<Event> = Vec::new();
        let mut states = vec![State { history: u32::MAX, ..first }];
        let mut found = Vec::new();
        loop {
            let left = states.iter().map(|state| state.left).min()?;
            if left == 0 {
                break;
            }
            let hurried = budget.is_over();
            if time > limit || hurried && limit < u32::MAX {
                return None;
            }
            if time.is_multiple_of(TOLD) {
                told(left, budget.moves);
            }
            let width = if hurried { HURRIED } else { WIDTHS[usize::from(left * END < self.packets.len())] };
            for train in 0..self.all_trains() {
                let chance = draws(manner.seed, time * TRAINS as u32 + train as u32, Purpose::Search);
                let mut next: Vec<(u64, u32, Option<u32>)> = Vec::with_capacity(FOLLOWED * states.len());
                for (number, state) in (0..).zip(&states) {
                    let own = |index: u64| chance(u64::from(number) << 32 | index);
                    self.fitting(state, manner, own, (train, time), &mut found);
                    let carried = state.trains[train].carried();
                    let key = |carried: u32, index: u64| {
                        u64::from(state.idle + 2 - carried) << 32 | own(index) >> 32
                    };
                    let follow = |&(_, packet): &(i64, u32)| {
                        (key(carried + 1, u64::from(!packet)), number, Some(packet))
                    };
                    next.extend(found.iter().map(follow));
                    // Where few fit, none may be better.
                    if found.len() < FOLLOWED {
                        next.push((key(carried, u64::MAX), number, None));
                    }
                }
                let kept = if train + 1 == self.all_trains() { width } else { 4 * width };
                if next.len() > kept {
                    next.select_nth_unstable(kept);
                    next.truncate(kept);
                }
                let continued = next.into_iter().map(|(key, parent, packet)| {
                    let mut state = states[parent as usize].clone();
                    state.idle = (key >> 32) as u32;
                    if let Some(packet) = packet {
                        self.put(&mut state, train, time, packet);
                        events.push(Event { before: state.history, packet, time });
                        state.history = events.len() as u32 - 1;
                    }
                    state
                });
                states = continued.collect();
            }
            budget.spend(states.len() as u64 / 4);
            states.retain(|state| state.last < limit);
            for state in &mut states {
                self.go_on(state, time);
            }
            time += 1;
        }
        let best = states.into_iter().filter(|state| state.left == 0).min_by_key(|state| state.last)?;
        let mut starts = Vec::new();
        let mut at = best.history;
        while let Some(event) = events.get(at as usize) {
            starts.push((event.time, event.packet));
            at = event.before;
        }
        starts.reverse();
        Some((starts, best.last))
    }

    /// The state before a time of a schedule.
    fn state_at(&self, starts: &[(u32, u32)], until: u32) -> State {
        let mut state = self.start();
        let mut ahead = starts.iter().peekable();
        for time in 0..until {
            while let Some(&(_, packet)) = ahead.next_if(|start| start.0 == time) {
                self.put(&mut state, self.train_of(packet, time), time, packet);
            }
            let carried: u32 = state.trains[..self.all_trains()].iter().map(Train::carried).sum();
            state.idle += 2 * self.all_trains() as u32 - carried;
            self.go_on(&mut state, time);
        }
        state
    }

    /// Start and directions of every orbit.
    fn written(&self, starts: &[(u32, u32)]) -> Vec<Start> {
        let mut written: Vec<Start> = vec![(0, Vec::new()); self.epoch.orbits.len()];
        let mut trains = [Train::default(); TRAINS];
        let mut carried = [[None; 2]; TRAINS];
        let mut ahead = starts.iter().peekable();
        let last = starts.last().map_or(0, |start| start.0);
        for time in 0..=last + REACH {
            while let Some(&(_, number)) = ahead.next_if(|start| start.0 == time) {
                let (packet, train) = (self.packets[number as usize], self.train_of(number, time));
                carried[train][trains[train].enter(packet.hops)] = Some(packet.orbit as usize);
                written[packet.orbit as usize].0 = time;
            }
            for (train, carried) in trains.iter_mut().zip(&mut carried) {
                let dimensions = train.hop();
                for ((orbit, dimension), hops) in carried.iter_mut().zip(dimensions).zip(train.under_way) {
                    let Some(number) = *orbit else { continue };
                    let legs = &self.epoch.orbits[number].legs;
                    let along =
                        |leg: &&(u32, u32)| Direction::from_index(leg.0 as usize).dimension() == dimension;
                    written[number].1.extend(legs.iter().find(along).map(|leg| leg.0));
                    if total(hops) == 0 {
                        *orbit = None;
                    }
                }
            }
        }
        written
    }

    /// A short schedule, and when its last packet arrives.
    pub(super) fn shortest(
        &self,
        seed: u64,
        budget: &mut Budget,
        told: &mut dyn FnMut(usize, u64),
    ) -> Option<(u64, Vec<Start>)> {
        let mut best: Option<(Vec<(u32, u32)>, u32)> = None;
        for count in 0.. {
            if best.is_some() && budget.is_over() {
                break;
            }
            let manner = Manner::drawn(seed, count);
            let limit = best.as_ref().map_or(u32::MAX, |best| best.1);
            let (mut cut, mut before) = (0, &[][..]);
            if let Some((starts, last)) = best.as_ref().filter(|_| count >= FRESH) {
                // The end can seldom be better than the states long before it allow.
                cut = last - (draw(seed, 4, Purpose::Search, count) % u64::from(last / 2)) as u32 - 1;
                before = &starts[..starts.partition_point(|start| start.0 < cut)];
            }
            let from = (self.state_at(before, cut), cut);
            if let Some((starts, last)) = self.beam(from, &manner, limit, budget, told) {
                best = Some(([before, &starts].concat(), last));
            }
        }
        let (starts, last) = best?;
        Some((last.into(), self.written(&starts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_is_what_the_hops_leave() {
        // Hop by hop, no two packets of a train ever take the same dimension.
        for numbers in 0..6_u32.pow(4) {
            let digit = |place: u32| (numbers / 6_u32.pow(place) % 6) as u8;
            let (one, other) = ([digit(0), digit(1)], [digit(2), digit(3)]);
            if total(one) == 0 || total(other) == 0 || total(one) == total(other) {
                continue;
            }
            let mut train = Train::default();
            train.enter(one);
            train.enter(other);
            let mut clash = false;
            while train.is_full() {
                let before = train.under_way;
                let dimensions = train.hop();
                clash |= dimensions[0] == dimensions[1]
                    || (0..2).any(|place| before[place][dimensions[place]] == 0);
            }
            let rest = left_over(one, other);
            assert_eq!(rest.is_none(), clash, "{one:?} {other:?}");
            if rest.is_some() {
                assert_eq!(train.alone(), rest, "{one:?} {other:?}");
            }
        }
    }
}
