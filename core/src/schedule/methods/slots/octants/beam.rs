use super::{
    deal::{Hops, LINES},
    stage::Stage,
};
use crate::{
    schedule::Budget,
    traffic::{Purpose, draw, draw_below},
};
use std::{collections::HashSet, rc::Rc};

/// Complete states that are enough to go on from.
const ENOUGH: usize = 20;

/// Packets of one octant in flight and waiting, as far as what follows depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Hops left of the packets in flight, four bits per dimension; 0 where there is none.
    pub flying: [u16; 3],
    /// Per class of the stage, bits of the packets that wait.
    waiting: [u32; 4],
    /// Per class, one more than the time of the last start.
    pub started: [u16; 4],
    /// Per class, when the last packet to it arrives.
    pub ended: [u16; 4],
    /// Cycles of lanes, and passages of nodes, that were not used.
    idle: u16,
    skipped: u16,
    /// Of the packets that wait: unequal hops, surplus of hops per class.
    rigid: i32,
    surplus: [i16; 4],
    /// Hops to come per dimension.
    work: [i16; 3],
    /// Sum of a random number per packet sent, the same for equal hops.
    sent: u64,
    cost: i32,
    key: u64,
    step: Step,
}

/// How a state came from the one a cycle before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of that state among those kept.
    parent: u32,
    /// Class of the stage and number of the packet that starts, if any.
    start: Option<(u8, u8)>,
    /// Per packet in flight its dimension; 3 where there is none.
    along: [u8; 3],
}

/// A beam through one stage: how the states of every cycle came about, and the last ones.
pub(super) struct Segment {
    pub stage: Rc<Stage>,
    /// Time of the first states.
    pub begin: u32,
    steps: Vec<Vec<Step>>,
    pub states: Vec<State>,
}

/// A packet of the class of sources, its number in the pool, when it starts, and the dimensions of its hops.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub class: u32,
    pub number: usize,
    pub start: u32,
    pub way: Vec<u8>,
}

/// What a beam prefers; the weights differ from one to the next.
#[derive(Clone, Copy, Debug)]
struct Manner {
    seed: u64,
    idle: i32,
    skipped: i32,
    rigid: i32,
    unequal: i32,
    surplus: i32,
    noise: u64,
}

impl Manner {
    fn new(seed: u64, run: u64) -> Self {
        let random = |what, below| draw_below(seed, what, Purpose::Search, run, below) as i32;
        Self {
            seed: draw(seed, 0, Purpose::Search, run),
            idle: 4 + random(1, 24),
            skipped: 20 + random(2, 60),
            rigid: random(3, 10),
            unequal: random(4, 6),
            surplus: random(5, 5),
            noise: 1 + random(6, 40) as u64,
        }
    }

    fn cost(&self, state: &State) -> i32 {
        let mean = state.work.iter().sum::<i16>() / 3;
        let unequal: i16 = state.work.iter().map(|work| (work - mean).abs()).sum();
        let surplus: i16 = state.surplus.iter().map(|surplus| surplus.abs()).sum();
        let random = stirred(state.key ^ self.seed) >> 33;
        self.idle * i32::from(state.idle)
            + self.skipped * i32::from(state.skipped)
            + self.rigid * state.rigid / 8
            + self.unequal * i32::from(unequal)
            + self.surplus * i32::from(surplus)
            + (random % self.noise) as i32
    }
}

impl State {
    /// Nothing in flight.
    pub(super) fn empty() -> Self {
        Self {
            flying: [0; 3],
            waiting: [0; 4],
            started: [0; 4],
            ended: [0; 4],
            idle: 0,
            skipped: 0,
            rigid: 0,
            surplus: [0; 4],
            work: [0; 3],
            sent: 0,
            cost: 0,
            key: 0,
            step: Step { parent: 0, start: None, along: [3; 3] },
        }
    }

    /// The same at the beginning of a stage, all of its packets waiting.
    fn enters(&self, stage: &Stage, time: u32) -> Self {
        let mut state = Self { flying: self.flying, ..Self::empty() };
        for flying in self.flying.map(unpacked) {
            state.work.iter_mut().zip(flying).for_each(|(work, hops)| *work += i16::from(hops));
            let length = u32::from(flying.iter().sum::<u8>());
            if let Some(place) = stage.place(stage.class_at(time + length)) {
                state.ended[place] = state.ended[place].max((time + length) as u16);
            }
        }
        for (place, packets) in stage.packets.iter().enumerate() {
            state.waiting[place] = u32::MAX >> (32 - packets.len());
            for packet in packets {
                state.work.iter_mut().zip(packet.hops).for_each(|(work, hops)| *work += i16::from(hops));
                state.rigid += rigidity(packet.hops);
                state.surplus[place] += surplus(packet.hops);
            }
        }
        state
    }

    pub(super) fn is_complete(&self) -> bool {
        self.waiting == [0; 4]
    }
}

/// A hash that only has to tell states apart.
fn stirred(key: u64) -> u64 {
    let key = (key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// How unequal the hops are: later they fit less often.
fn rigidity(hops: Hops) -> i32 {
    let [sum, most] = [hops.iter().sum(), hops.iter().copied().max().unwrap_or(0)].map(i32::from);
    (3 * most - sum) * (3 * most - sum)
}

/// Hops above the mean of six.
fn surplus(hops: Hops) -> i16 {
    i16::from(hops.iter().sum::<u8>()) - 6
}

pub(super) fn packed([x, y, z]: Hops) -> u16 {
    u16::from(x) | u16::from(y) << 4 | u16::from(z) << 8
}

fn unpacked(hops: u16) -> Hops {
    [hops & 15, hops >> 4 & 15, hops >> 8].map(|hops| hops as u8)
}

/// Whether the lanes can suffice: for every number of cycles to come, the hops that must be made
/// in them along one dimension, or along two.
fn may_fly(flying: [u16; 3]) -> bool {
    let hops = flying.map(unpacked).map(|hops| hops.map(i32::from));
    let left = hops.map(|hops| hops.iter().sum::<i32>());
    let longest = left.iter().copied().max().unwrap_or(0);
    (1..=longest).all(|cycles| {
        (0..3).all(|dimension| {
            let (mut along, mut across) = (0, 0);
            for (hops, left) in hops.iter().zip(left) {
                let inside = left.min(cycles);
                along += (inside - (left - hops[dimension])).max(0);
                across += (inside - hops[dimension]).max(0);
            }
            along <= cycles && across <= 2 * cycles
        })
    })
}

/// Gives every way in which the packets in flight can go on for a cycle, each along another dimension.
fn fly(state: State, give: &mut impl FnMut(State)) {
    if !may_fly(state.flying) {
        return;
    }
    let options = state.flying.map(|flying| {
        let hops = unpacked(flying);
        [0, 1, 2, 3].map(|dimension: usize| match hops.get(dimension) {
            Some(&hops) => hops > 0,
            None => flying == 0,
        })
    });
    let choices = |packet: usize| (0..4_u8).filter(move |&along| options[packet][usize::from(along)]);
    let differ = |a: u8, b: u8| a == 3 || a != b;
    for a in choices(0) {
        for b in choices(1).filter(|&b| differ(a, b)) {
            for c in choices(2).filter(|&c| differ(a, c) && differ(b, c)) {
                let mut next = state;
                next.step.along = [a, b, c];
                for (flying, along) in next.flying.iter_mut().zip([a, b, c]) {
                    if along < 3 {
                        *flying -= 1 << (4 * along);
                        next.work[usize::from(along)] -= 1;
                    } else {
                        next.idle += 1;
                    }
                }
                if may_fly(next.flying) {
                    give(next);
                }
            }
        }
    }
}

/// A beam from the last states of the stage before, with so many states of every cycle; `None` if it ends before
/// all packets have started.
pub(super) fn beam(
    stage: Rc<Stage>,
    from: &[State],
    begin: u32,
    width: usize,
    (seed, run): (u64, u64),
    budget: &mut Budget,
) -> Option<Segment> {
    let manner = Manner::new(seed, run);
    let mut states: Vec<State> = from.iter().map(|state| state.enters(&stage, begin)).collect();
    let mut steps: Vec<Vec<Step>> = Vec::new();
    let mut time = begin;
    loop {
        let complete = states.iter().filter(|state| state.is_complete()).count();
        if complete >= ENOUGH || complete > 0 && complete == states.len() {
            return Some(Segment { stage, begin, steps, states });
        }
        if budget.is_over() {
            budget.moves = 0;
            return None;
        }
        budget.moves = budget.moves.saturating_sub(1 + states.len() as u64 / 4);
        let mut next: Vec<State> = Vec::with_capacity(16 * width);
        for (state, parent) in states.iter().zip(0..) {
            let step = Step { parent, start: None, along: [3; 3] };
            stage.starts(&State { step, ..*state }, time, &mut |state| {
                fly(state, &mut |mut state| {
                    let mut flying = state.flying;
                    flying.sort_unstable();
                    let [a, b, c] = flying.map(u64::from);
                    state.key = stirred(state.sent ^ (a | b << 16 | c << 32));
                    state.cost = manner.cost(&state);
                    next.push(state);
                });
            });
        }
        // The same state comes about in several ways.
        let ample = 3 * width;
        if next.len() > ample {
            next.select_nth_unstable_by_key(ample, |state| (state.cost, state.key));
            next.truncate(ample);
        }
        next.sort_unstable_by_key(|state| (state.cost, state.key, state.step.parent));
        let mut seen = HashSet::with_capacity(width);
        next.retain(|state| seen.len() < width && seen.insert(state.key));
        if next.is_empty() {
            return None;
        }
        steps.push(next.iter().map(|state| state.step).collect());
        states = next;
        time += 1;
        if time > u32::from(u16::MAX) - 4 * LINES {
            return None;
        }
    }
}

impl Stage {
    /// Gives the states after each packet that may start now, and that without a start.
    fn starts(&self, state: &State, time: u32, give: &mut impl FnMut(State)) {
        let class = self.class_at(time);
        let here = self.place(class).filter(|&place| time >= self.free_from[place]);
        let Some(place) = here.filter(|&place| state.waiting[place] != 0) else { return give(*state) };
        let mut waiting = state.waiting[place];
        if waiting.count_ones() * LINES + time + LINES <= self.deadlines[place] {
            give(State { skipped: state.skipped + 1, ..*state });
        }
        let Some(free) = state.flying.iter().position(|&flying| flying == 0) else { return };
        let ends = state.flying.map(|flying| unpacked(flying).iter().sum::<u8>());
        while waiting != 0 {
            let number = waiting.trailing_zeros();
            waiting &= waiting - 1;
            let packet = &self.packets[place][number as usize];
            let length = packet.hops.iter().sum::<u8>();
            let end = time + u32::from(length);
            let there = self.place(self.class_at(end));
            // Of equal packets the first one goes first; two cannot end at once.
            let comes_later = packet.equal & state.waiting[place] & ((1 << number) - 1) != 0;
            if comes_later || ends.contains(&length) || there.is_none_or(|there| end < self.open_from[there])
            {
                continue;
            }
            let mut next = *state;
            next.step.start = Some((place as u8, number as u8));
            next.flying[free] = packed(packet.hops);
            next.waiting[place] ^= 1 << number;
            next.started[place] = time as u16 + 1;
            if let Some(there) = there {
                next.ended[there] = next.ended[there].max(end as u16);
            }
            next.rigid -= rigidity(packet.hops);
            next.surplus[place] -= surplus(packet.hops);
            let kind = (place as u64) << 16 | u64::from(packed(packet.hops));
            next.sent = next.sent.wrapping_add(draw(0, 0, Purpose::Search, kind));
            give(next);
        }
    }
}

impl Segment {
    /// Keeps the given states of the last ones only.
    pub(super) fn keep(&mut self, wanted: impl Fn(&State) -> bool) {
        let flags: Vec<bool> = self.states.iter().map(wanted).collect();
        let mut flag = flags.iter();
        self.states.retain(|_| flag.next().copied().unwrap_or(false));
        if let Some(last) = self.steps.last_mut() {
            let mut flag = flags.iter();
            last.retain(|_| flag.next().copied().unwrap_or(false));
        }
    }

    /// When the last states are.
    pub(super) fn end(&self) -> u32 {
        self.begin + self.steps.len() as u32
    }
}

/// The packets of a side, read backwards from one of the last states of its segments; `None` if the
/// packets that are still in flight find no way.
pub(super) fn packets(segments: &[Rc<Segment>]) -> Option<Vec<Sent>> {
    let last = segments.last()?;
    let (landing, state) = land(&last.states)?;
    let mut at = state;
    let mut path: Vec<(Step, u32, &Rc<Stage>)> = Vec::new();
    for segment in segments.iter().rev() {
        for (cycle, steps) in segment.steps.iter().enumerate().rev() {
            let step = steps[at];
            path.push((step, segment.begin + cycle as u32, &segment.stage));
            at = step.parent as usize;
        }
    }
    path.reverse();
    let ends = landing.into_iter().zip(last.end()..);
    path.extend(ends.map(|(along, time)| (Step { parent: 0, start: None, along }, time, &last.stage)));
    let mut sent: Vec<Sent> = Vec::new();
    // Per place in flight: the packet and its hops left.
    let mut flying: [Option<(usize, u8)>; 3] = [None; 3];
    for (step, time, stage) in path {
        if let Some((place, number)) = step.start {
            let packet = &stage.packets[usize::from(place)][usize::from(number)];
            let free = flying.iter().position(Option::is_none)?;
            flying[free] = Some((sent.len(), packet.hops.iter().sum()));
            let class = stage.classes[usize::from(place)];
            sent.push(Sent { class, number: packet.number, start: time, way: Vec::new() });
        }
        for (place, along) in flying.iter_mut().zip(step.along).filter(|(_, along)| *along < 3) {
            let (packet, left) = (*place)?;
            sent[packet].way.push(along);
            *place = (left > 1).then_some((packet, left - 1));
        }
    }
    Some(sent)
}

/// Dimensions, cycle by cycle, in which what is in flight in one of the states comes down.
fn land(states: &[State]) -> Option<(Vec<[u8; 3]>, usize)> {
    fn down(state: State) -> Option<Vec<[u8; 3]>> {
        if state.flying == [0; 3] {
            return Some(Vec::new());
        }
        let mut found = None;
        fly(state, &mut |next| {
            if found.is_none() {
                found = down(next).map(|mut rest| {
                    rest.insert(0, next.step.along);
                    rest
                });
            }
        });
        found
    }
    states.iter().enumerate().find_map(|(number, state)| down(*state).map(|way| (way, number)))
}
