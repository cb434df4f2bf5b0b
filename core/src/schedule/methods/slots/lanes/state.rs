use super::{ports::last_start, quadrants::Exchange};
use crate::traffic::{Purpose, draw};

/// What a search prefers: all weights are in 16ths of an idle hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Manner {
    /// Seed of the random part.
    pub seed: u64,
    /// Weight of every hop for which a lane is empty.
    pub idle: i32,
    /// Weight of every cycle that an injection port has lost, or will lose by changing sides.
    pub lost: i32,
    /// Weight of the squares of those, in 16ths of the other weights.
    pub uneven: i32,
    /// Weight of the squares of the cycles by which a port comes too close to the horizon, likewise.
    pub near: i32,
    /// How many cycles before the horizon that is.
    pub reach: i32,
    /// Weight of unequal hops of packets that wait: later they fit less often.
    pub rigid: i32,
    /// Largest random part.
    pub noise: u32,
}

impl Manner {
    /// Cost of a port that is through so many cycles before the horizon; `None` if it is late.
    fn nearness(&self, spare: i32) -> Option<i32> {
        let short = (self.reach - spare).max(0);
        (spare >= 0).then_some(self.near * short * short / 16)
    }
}

/// How a state came from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub side: u8,
    /// Number of the packet that started.
    pub packet: Option<u8>,
    /// The dimension in which the only packet on its way then made one hop.
    pub along: u8,
}

/// A partial schedule of an exchange, as far as what follows depends on it.
///
/// Each side has two lanes, one per dimension, that meet at every diagonal: two packets on their way
/// share them without loss, whatever the order of their hops, as long as the one that ends first
/// leaves the other one hops in the dimension that it does not use itself.
#[derive(Clone, Debug)]
pub(super) struct State<const LINES: usize> {
    /// Packets not yet sent, by side and diagonal.
    waiting: [[u64; LINES]; 2],
    /// Per diagonal, the cycles from now on in which the ejection port is taken.
    leaving: [u64; LINES],
    /// Per diagonal, from when on the injection port is free.
    entry: [u16; LINES],
    /// The same of the ejection port, as far as it is known.
    exit: [u16; LINES],
    /// Packets that have not arrived, by side and diagonal.
    due: [[u8; LINES]; 2],
    /// What the injection and ejection ports cost, by diagonal, and bits of those to be weighed anew.
    costs: [[i32; LINES]; 2],
    changed: [u32; 2],
    /// Per side, the hops left of the packet that is on its way while a lane is free.
    pub lone: [[u8; 2]; 2],
    /// Per side, when a lane is free.
    next: [u16; 2],
    /// Per side, hops for which a lane was empty.
    idle: [u16; 2],
    left: u16,
    /// Sum over the packets sent of the differences between their hops per dimension.
    rigid: i32,
    /// When the last packet so far has arrived.
    pub last: u16,
    /// When the next lane is free.
    pub time: u16,
    /// Number in the list of kept states.
    pub parent: u32,
    pub step: Step,
    score: i32,
    /// Tells states apart that differ in what may follow.
    key: u64,
    /// Sum of a random number per packet sent, the same for equal numbers of hops.
    waiting_key: u64,
}

/// A side that has nothing left to do.
const DONE: u16 = u16::MAX;

impl<const LINES: usize> State<LINES> {
    /// Before the first packet.
    pub(super) fn start(exchange: &Exchange) -> Self {
        let mut state = Self {
            waiting: [[0; LINES]; 2],
            leaving: [0; LINES],
            entry: [0; LINES],
            exit: [0; LINES],
            due: [[0; LINES]; 2],
            costs: [[0; LINES]; 2],
            changed: [u32::MAX; 2],
            lone: [[0; 2]; 2],
            next: [0; 2],
            idle: [0; 2],
            left: 0,
            rigid: 0,
            last: 0,
            time: 0,
            parent: u32::MAX,
            step: Step { side: 0, packet: None, along: 0 },
            score: 0,
            key: 0,
            waiting_key: 0,
        };
        for side in 0..2 {
            for line in 0..exchange.lines as usize {
                let number = exchange.packets(side, line).len();
                state.waiting[side][line] = if number == 0 { 0 } else { u64::MAX >> (64 - number) };
                state.left += number as u16;
                for hops in exchange.packets(side, line) {
                    state.due[side][exchange.after(side, line, u32::from(hops[0] + hops[1]))] += 1;
                }
            }
        }
        state
    }

    /// Whether everything has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.left == 0 && self.lone == [[0; 2]; 2]
    }

    /// The side whose lane is free now.
    pub(super) fn side(&self) -> usize {
        usize::from(self.next[1] < self.next[0])
    }

    /// Two per cycle: the forward side first.
    pub(super) fn layer(&self) -> usize {
        2 * self.time as usize + self.side()
    }

    /// Weighs all ports anew, for another manner or horizon.
    pub(super) fn forget(&mut self) {
        self.changed = [u32::MAX; 2];
    }

    /// Best first; equal states have equal keys.
    pub(super) fn key(&self) -> (i32, u64) {
        (self.score, self.key)
    }

    /// Gives every state that may follow within a horizon.
    pub(super) fn expand(
        &self,
        exchange: &Exchange,
        manner: &Manner,
        horizon: u16,
        found: &mut impl FnMut(&mut Self),
    ) {
        let (side, time) = (self.side(), self.time);
        let line = exchange.line(side, time.into());
        let [x, y] = self.lone[side];
        let rest = x + y;
        let mut give = |state: &mut Self| {
            if state.judge(exchange, manner, horizon).is_some() {
                found(state);
            }
        };
        let mut waiting = if self.entry[line] <= time { self.waiting[side][line] } else { 0 };
        while waiting != 0 {
            let packet = waiting.trailing_zeros();
            waiting &= waiting - 1;
            let [a, b] = exchange.packets(side, line)[packet as usize];
            let hops = a + b;
            // The first to end leaves hops to the other one in both dimensions.
            let shared = if hops < rest { b <= x && a <= y } else { hops > rest && y <= a && x <= b };
            let (first, last) = (hops.min(rest), hops.max(rest));
            if rest > 0
                && !(shared && self.may_leave(exchange, side, first) && self.may_leave(exchange, side, last))
            {
                continue;
            }
            let mut next = self.clone();
            next.waiting[side][line] ^= 1 << packet;
            next.left -= 1;
            next.changed[0] |= 1 << line;
            next.entry[line] = time + exchange.length as u16;
            next.rigid += i32::from(a.abs_diff(b));
            // Packets with equally many hops are as good as each other, but for the lanes.
            let index = (side * LINES + line) as u64 * 64 + u64::from(hops);
            next.waiting_key = next.waiting_key.wrapping_add(draw(0, 0, Purpose::Search, index));
            next.step = Step { side: side as u8, packet: Some(packet as u8), along: 0 };
            if rest == 0 {
                next.lone[side] = [a, b];
                next.alone(exchange, side, &mut give);
                continue;
            }
            next.lone[side] = if hops < rest { [x - b, y - a] } else { [a - y, b - x] };
            next.next[side] = time + u16::from(first);
            if next.leaves(exchange, side, first) && next.may_leave(exchange, side, last) {
                give(&mut next);
            }
        }
        let mut next = self.clone();
        next.step = Step { side: side as u8, packet: None, along: 0 };
        if rest > 0 {
            next.alone(exchange, side, &mut give);
        } else if self.waiting[side] == [0; LINES] {
            next.next[side] = DONE;
            give(&mut next);
        } else {
            next.idle[side] += 2;
            next.next[side] = time + 1;
            give(&mut next);
        }
    }

    /// One hop of the only packet on its way.
    fn alone(mut self, exchange: &Exchange, side: usize, give: &mut impl FnMut(&mut Self)) {
        let hops = self.lone[side];
        self.idle[side] += 1;
        self.next[side] = self.time + 1;
        if hops[0] + hops[1] == 1 && !self.leaves(exchange, side, 1) {
            return;
        }
        for (along, &left) in hops.iter().enumerate() {
            if left > 0 {
                let mut next = self.clone();
                next.lone[side][along] -= 1;
                next.step.along = along as u8;
                give(&mut next);
            }
        }
    }

    fn leaves(&mut self, exchange: &Exchange, side: usize, hops: u8) -> bool {
        let free = self.may_leave(exchange, side, hops);
        let line = exchange.line(side, u32::from(self.time) + u32::from(hops));
        self.leaving[line] |= flits(exchange) << hops;
        self.due[side][line] -= 1;
        self.changed[1] |= 1 << line;
        let end = self.time + u16::from(hops);
        self.exit[line] = self.exit[line].max(end + exchange.length as u16);
        self.last = self.last.max(end);
        free
    }

    fn may_leave(&self, exchange: &Exchange, side: usize, hops: u8) -> bool {
        let line = exchange.line(side, u32::from(self.time) + u32::from(hops));
        self.leaving[line] & (flits(exchange) << hops) == 0
    }

    /// Goes on to the next free lane and weighs what was lost; `None` if the rest no longer fits.
    fn judge(&mut self, exchange: &Exchange, manner: &Manner, horizon: u16) -> Option<()> {
        let time = self.next[0].min(self.next[1]);
        if time != DONE {
            if time > horizon {
                return None;
            }
            let passed = u32::from(time - self.time);
            self.leaving.iter_mut().for_each(|taken| *taken = taken.checked_shr(passed).unwrap_or(0));
            self.time = time;
        }
        if self.last > horizon {
            return None;
        }
        let mut score = -manner.rigid * self.rigid;
        for side in 0..2 {
            if u32::from(self.idle[side]) + exchange.work[side] > 2 * u32::from(horizon) {
                return None;
            }
            score += manner.idle * i32::from(self.idle[side]);
        }
        let mut key = self.waiting_key;
        for line in 0..exchange.lines as usize {
            // A port that waits comes to be later.
            if self.changed[0] >> line & 1 == 1 || self.entry[line] < self.time {
                self.costs[0][line] = self.injection_cost(exchange, manner, horizon, line)?;
            }
            if self.changed[1] >> line & 1 == 1 || self.exit[line] <= self.time {
                self.costs[1][line] = self.ejection_cost(exchange, manner, horizon, line)?;
            }
            score += self.costs[0][line] + self.costs[1][line];
            key = stirred(key ^ u64::from(self.entry[line].max(self.time)) ^ (self.leaving[line] << 16));
        }
        self.changed = [0; 2];
        for side in 0..2 {
            let [x, y] = self.lone[side].map(u64::from);
            key = stirred(key ^ x << 32 ^ y << 16 ^ u64::from(self.next[side]));
        }
        self.key = key;
        let random = draw(manner.seed, 0, Purpose::Search, key) >> 33;
        self.score = score + (random % u64::from(manner.noise)) as i32;
        Some(())
    }
}

/// Costs of ports; `None` if one is too late.
impl<const LINES: usize> State<LINES> {
    fn injection_cost(&self, exchange: &Exchange, manner: &Manner, horizon: u16, line: usize) -> Option<i32> {
        let left = [0, 1].map(|side| self.waiting[side][line].count_ones());
        let (mut end, mut before) = (i32::from(self.entry[line]), exchange.number(line) as i32);
        let mut cost = 0;
        if left != [0, 0] {
            let free_from = self.entry[line].max(self.time);
            end = last_start(exchange, line, free_from.into(), left) as i32;
            before -= 1;
            // The last one makes a hop at least.
            cost = manner.nearness(i32::from(horizon) - 1 - end)?;
        }
        let lost = end - exchange.lines as i32 * before;
        Some(cost + manner.lost * lost + manner.uneven * lost * lost / 16)
    }

    fn ejection_cost(&self, exchange: &Exchange, manner: &Manner, horizon: u16, line: usize) -> Option<i32> {
        let due = [0, 1].map(|side| u32::from(self.due[side][line]));
        if due == [0, 0] {
            return Some(0);
        }
        let free_from = self.exit[line].max(self.time + 1);
        manner.nearness(i32::from(horizon) - last_start(exchange, line, free_from.into(), due) as i32)
    }
}

/// A step of a hash that only has to tell states apart.
fn stirred(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
}

/// A packet's flits, one bit each.
fn flits(exchange: &Exchange) -> u64 {
    u64::MAX >> (64 - exchange.length)
}
