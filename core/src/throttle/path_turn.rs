use super::{
    Ask, Claims, Following, Parameter, RegisterSettings, Registers, Seen, Sums, Surroundings,
    rule::{AtWork, Rule, either, number},
};
use crate::{
    fabric::{Direction, NodeId, Shape},
    save::{Archive, SaveError},
};
use std::ops::Range;

/// Path and turn: a header waits while a buffer on its own way to its turn is known to be busy, or one
/// of the first two behind the turn; never longer than the release.
///
/// Next to the registers of every output there are turn registers: for every pair of a direction d and a
/// direction e of the next dimension, bit k says whether the router k + 1 hops ahead in d saw, when it
/// was told, a busy buffer among the first two in e. (Our own; with more than two dimensions the first
/// two that a packet uses count, if one follows the other.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PathTurn {
    /// A packet is never held longer, in cycles; packet length times the largest size without a value.
    pub release: Option<u64>,
    /// A queue with at most so many free places is busy, in flits; without a value the depth of queues less
    /// the packet length, but at least half the depth.
    pub margin: Option<u16>,
    /// Buffers behind the turn that are looked at; 2 without a value.
    pub behind: Option<u16>,
    /// One update per link and cycle (`link=shared`), else one per channel (`dedicated`); turn registers have
    /// links of their own.
    pub shared: bool,
}

impl Rule for PathTurn {
    const NAME: &'static str = "pt";
    const SUMMARY: &'static str =
        "no header leaves while a buffer of its own way is busy, as far as its turn";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("release", "a number of cycles, 1 to 2^40"),
        Parameter::new("margin", "a number of flits, 0 to 1024"),
        Parameter::new("behind", "a number of hops, 0 to 1024"),
        Parameter::new("link", "shared or dedicated"),
    ];
    const CLAIMS: Claims = Claims { signals: true, sums: false, may_starve: false };
    type AtWork = PathTurnState;

    fn set(&mut self, parameter: &str, value: &str) -> Option<()> {
        match parameter {
            "release" => self.release = Some(number(value, 1, 1 << 40)?),
            "margin" => self.margin = Some(number(value, 0, 1024)? as u16),
            "behind" => self.behind = Some(number(value, 0, 1024)? as u16),
            _ => self.shared = either(value, "shared", "dedicated")?,
        }
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![
            self.release.map(|release| release.to_string()),
            self.margin.map(|margin| margin.to_string()),
            self.behind.map(|behind| behind.to_string()),
            self.shared.then(|| "shared".to_owned()),
        ]
    }

    fn begin(self, around: Surroundings) -> PathTurnState {
        let release = u64::from(around.longest) * u64::from(around.largest());
        let rest = u32::from(around.buffer).saturating_sub(around.longest) as u16;
        let margin = rest.max(around.buffer / 2);
        let settings = RegisterSettings {
            margin: self.margin.unwrap_or(margin),
            length: around.half(),
            shared: self.shared,
            following: Following::Datelines,
        };
        let behind = u32::from(self.behind.unwrap_or(BEHIND_TURN));
        PathTurnState::new(around, settings, self.release.unwrap_or(release), behind)
    }

    fn margin(self) -> Option<u16> {
        self.margin
    }
}

/// [`PathTurn`] in a network.
#[derive(Clone, Debug)]
pub struct PathTurnState {
    registers: Registers,
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
    shape: Shape,
    /// The nodes that it knows of, numbered from 0.
    nodes: Range<usize>,
    length: usize,
    /// Words of one turn register.
    words: usize,
    /// Per node and direction and sign of the next dimension.
    turns: Vec<u64>,
    next: Vec<u64>,
}

/// Buffers behind the turn that are looked at, if nobody says how many.
const BEHIND_TURN: u16 = 2;

impl PathTurnState {
    fn new(around: Surroundings, settings: RegisterSettings, release: u64, behind: u32) -> Self {
        let words = usize::from(settings.length).div_ceil(64);
        let turns = vec![0; around.shape.nodes() * around.shape.directions() * 2 * words];
        Self {
            registers: Registers::new(around, settings),
            release,
            behind,
            shape: around.shape.clone(),
            nodes: 0..around.shape.nodes(),
            length: settings.length.into(),
            words,
            next: turns.clone(),
            turns,
        }
    }

    /// How its registers are told.
    pub fn settings(&self) -> RegisterSettings {
        self.registers.settings()
    }

    /// Cycles after which a header is let go.
    pub fn release(&self) -> u64 {
        self.release
    }

    /// Buffers behind a turn that are looked at.
    pub fn behind(&self) -> u32 {
        self.behind
    }

    /// The directions of the dimension after that of `direction`.
    fn turned(direction: Direction) -> [Direction; 2] {
        let plus = 2 * (direction.dimension() + 1);
        [Direction::from_index(plus), Direction::from_index(plus + 1)]
    }

    /// Words of the turn registers of a node.
    fn turns_of_node(&self) -> usize {
        self.shape.directions() * 2 * self.words
    }

    fn place(&self, node: NodeId, direction: Direction, turn: usize) -> usize {
        ((node as usize * self.shape.directions() + direction.index()) * 2 + turn) * self.words
    }

    fn is_busy(&self, ask: &Ask) -> bool {
        if self.registers.busy_ahead(ask.node, ask.direction, ask.channel, ask.hops) > 0 {
            return true;
        }
        let Some(turn) = ask.turn else { return false };
        let bit = ask.hops as usize - 1;
        let sign = Self::turned(ask.direction).iter().position(|&direction| direction == turn);
        sign.is_some_and(|sign| {
            let first = self.place(ask.node, ask.direction, sign);
            bit < self.length && self.turns[first + bit / 64] >> (bit % 64) & 1 == 1
        })
    }
}

impl AtWork for PathTurnState {
    const ASKS_THE_WAY: bool = true;

    fn observe(&mut self, _cycle: u64, _sums: Sums, seen: &impl Seen) {
        let (dimensions, channels) = (self.shape.dimensions(), self.registers.channels());
        let first = self.nodes.start as NodeId;
        for node in 0..self.nodes.len() as NodeId {
            for direction in (0..2 * (dimensions - 1)).map(Direction::from_index) {
                let Some(other) = self.shape.neighbour(first + node, direction) else { continue };
                let other = other - first;
                for (sign, turn) in Self::turned(direction).into_iter().enumerate() {
                    let busy = |channel| self.registers.busy_ahead(other, turn, channel, self.behind) > 0;
                    let mut carry = u64::from((0..channels).any(busy));
                    let (to, from) = (self.place(node, direction, sign), self.place(other, direction, sign));
                    for word in 0..self.words {
                        let ahead = self.turns[from + word];
                        self.next[to + word] = ahead << 1 | carry;
                        carry = ahead >> 63;
                    }
                    if !self.length.is_multiple_of(64) {
                        self.next[to + self.words - 1] &= (1 << (self.length % 64)) - 1;
                    }
                }
            }
        }
        std::mem::swap(&mut self.turns, &mut self.next);
        self.registers.observe(seen);
    }

    /// Whether the way is not known to be busy, or the packet has waited long enough.
    fn may_begin(&self, cycle: u64, ask: &Ask, _seen: &impl Seen) -> bool {
        cycle - ask.since >= self.release || !self.is_busy(ask)
    }

    /// Whether no register shows anything.
    fn at_rest(&self) -> bool {
        self.registers.is_clear() && self.turns.iter().all(|&word| word == 0)
    }

    // Turn registers lie along all dimensions but the last, within a row.
    fn part(&self, nodes: Range<usize>) -> Self {
        let turns = self.turns[nodes.start * self.turns_of_node()..nodes.end * self.turns_of_node()].to_vec();
        Self {
            registers: self.registers.part(nodes.clone()),
            shape: self.shape.clone(),
            nodes,
            next: turns.clone(),
            turns,
            ..*self
        }
    }

    fn tell(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
        self.registers.tell(direction, first, row, words);
    }

    fn listen(&mut self, side: usize, words: &[u64]) {
        self.registers.listen(side, words);
    }

    fn copy_nodes(&mut self, to: usize, other: &Self, from: usize, nodes: usize) {
        let own = self.turns_of_node();
        self.registers.copy_nodes(to, &other.registers, from, nodes);
        self.turns[to * own..(to + nodes) * own]
            .copy_from_slice(&other.turns[from * own..(from + nodes) * own]);
    }

    fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self {
            registers,
            release: _,
            behind: _,
            shape: _,
            nodes: _,
            length: _,
            words: _,
            turns,
            next: _,
        } = self;
        registers.fields(archive)?;
        archive.slice("turn registers", turns)
    }
}
