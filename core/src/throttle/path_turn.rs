use super::{
    Ask, Claims, Following, Parameter, RegisterSettings, Registers, Seen, Sums, Surroundings, Turns,
    rule::{AtWork, Rule, either, number},
};
use crate::{
    fabric::{Direction, NodeId},
    visit::{Visited, Visitor},
};
use std::ops::Range;

/// Path and turn: a header waits while a buffer on its own way to its turn is known to be busy, or one
/// of the first two behind the turn; never longer than the release.
///
/// Next to the registers of every output there are turn registers: for every pair of a direction d and a
/// direction e of another dimension, bit k says whether the router k + 1 hops ahead in d saw, when it
/// was told, a busy buffer among the first two in e. (Our own; with more than two dimensions the first
/// two that a packet uses count.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PathTurn {
    /// A packet is never held longer, in cycles; packet length times the largest size without a value, and
    /// four times that where a dimension is a line.
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

    fn claims(self) -> Claims {
        Claims { signals: true, sums: false, may_starve: false }
    }

    fn begin(self, around: Surroundings) -> PathTurnState {
        let rounds = if around.is_torus() { 1 } else { 4 };
        let release = rounds * u64::from(around.longest) * u64::from(around.largest());
        let rest = u32::from(around.buffer).saturating_sub(around.longest) as u16;
        let margin = rest.max(around.buffer / 2);
        let settings = RegisterSettings {
            margin: self.margin.unwrap_or(margin),
            length: around.reach(),
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
    turns: Turns,
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
}

/// Buffers behind the turn that are looked at, if nobody says how many.
const BEHIND_TURN: u16 = 2;

impl PathTurnState {
    fn new(around: Surroundings, settings: RegisterSettings, release: u64, behind: u32) -> Self {
        Self {
            registers: Registers::new(around, settings),
            turns: Turns::new(around.shape, settings.length),
            release,
            behind,
        }
    }

    /// How its registers are told.
    pub fn settings(&self) -> RegisterSettings {
        self.registers.settings()
    }

    /// Its turn registers.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Cycles after which a header is let go.
    pub fn release(&self) -> u64 {
        self.release
    }

    /// Buffers behind a turn that are looked at.
    pub fn behind(&self) -> u32 {
        self.behind
    }

    fn is_busy(&self, ask: &Ask) -> bool {
        self.registers.busy_ahead(ask.node, ask.direction, ask.channel, ask.hops) > 0
            || ask.turn.is_some_and(|turn| self.turns.is_busy(ask.node, ask.direction, ask.hops, turn))
    }
}

/// Whether a router sees a busy buffer among the first in a direction.
fn is_close(registers: &Registers, behind: u32, node: NodeId, direction: Direction) -> bool {
    (0..registers.channels()).any(|channel| registers.busy_ahead(node, direction, channel, behind) > 0)
}

impl AtWork for PathTurnState {
    const ASKS_THE_WAY: bool = true;

    fn observe(&mut self, _cycle: u64, _sums: Sums, seen: &impl Seen) {
        let (registers, behind) = (&self.registers, self.behind);
        self.turns.observe(|node, direction| is_close(registers, behind, node, direction));
        self.registers.observe(seen);
    }

    /// Whether the way is not known to be busy, or the packet has waited long enough.
    fn may_begin(&self, cycle: u64, ask: &Ask, _seen: &impl Seen) -> bool {
        cycle - ask.since >= self.release || !self.is_busy(ask)
    }

    /// Whether no register shows anything.
    fn at_rest(&self) -> bool {
        self.registers.is_clear() && self.turns.is_clear()
    }

    fn part(&self, nodes: Range<usize>) -> Self {
        Self { registers: self.registers.part(nodes.clone()), turns: self.turns.part(nodes), ..*self }
    }

    fn send_halo(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
        self.registers.send_halo(direction, first, row, words);
        let close = |node, turn| is_close(&self.registers, self.behind, node, turn);
        self.turns.send_halo(direction, first, row, close, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        let registers = self.turns.receive_halo(side, words);
        self.registers.receive_halo(side, registers);
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { registers, turns, release: _, behind: _ } = self;
        registers.visit(visitor)?;
        turns.visit(visitor)
    }
}
