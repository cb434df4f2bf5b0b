use super::{
    Ask, Claims, Following, Parameter, RegisterSettings, Registers, Seen, Sums, Surroundings,
    rule::{AtWork, Rule, either, number},
};
use crate::{
    fabric::{Direction, NodeId, Shape, Sign},
    save::{Archive, SaveError},
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
    release: u64,
    /// Buffers behind a turn that are looked at.
    behind: u32,
    shape: Shape,
    /// The nodes that it knows of, numbered from 0.
    nodes: Range<usize>,
    length: usize,
    /// Words of one turn register.
    words: usize,
    /// Per node and direction and direction of another dimension.
    turns: Vec<u64>,
    next: Vec<u64>,
    /// Per node and direction: the node ahead, [`NONE`] without a link; those of the row before and of the
    /// row behind, which are in other parts, follow on its own.
    ahead: Vec<u32>,
    /// What turn registers of these rows are to be one hop further.
    told: [Vec<u64>; 2],
    /// Scratch, per node and direction: a buffer is busy among the first.
    close: Vec<bool>,
}

const NONE: u32 = u32::MAX;

/// Buffers behind the turn that are looked at, if nobody says how many.
const BEHIND_TURN: u16 = 2;

impl PathTurnState {
    fn new(around: Surroundings, settings: RegisterSettings, release: u64, behind: u32) -> Self {
        let words = usize::from(settings.length).div_ceil(64);
        let directions = around.shape.directions();
        let turns = vec![0; around.shape.nodes() * directions * (directions - 2) * words];
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
            ahead: ahead(around.shape, 0..around.shape.nodes()),
            told: [Vec::new(), Vec::new()],
            close: Vec::new(),
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

    /// The directions of the other dimensions.
    fn turned(&self, direction: Direction) -> impl Iterator<Item = Direction> + use<> {
        let all = (0..self.shape.directions()).map(Direction::from_index);
        all.filter(move |turn| turn.dimension() != direction.dimension())
    }

    /// Words of the turn registers of a direction of a node, of all its directions.
    fn of_direction(&self) -> usize {
        (self.shape.directions() - 2) * self.words
    }

    fn of_node(&self) -> usize {
        self.shape.directions() * self.of_direction()
    }

    /// Where the turn registers of a direction of a node begin.
    fn place(&self, node: NodeId, direction: Direction) -> usize {
        node as usize * self.of_node() + direction.index() * self.of_direction()
    }

    /// Whether a router sees a busy buffer among the first in a direction.
    fn is_close(&self, node: NodeId, direction: Direction) -> bool {
        let busy = |channel| self.registers.busy_ahead(node, direction, channel, self.behind) > 0;
        (0..self.registers.channels()).any(busy)
    }

    /// What the turn registers of a direction are to be at the router before a node, one hop further, given
    /// where that sees busy buffers.
    fn further(
        &self,
        node: NodeId,
        direction: Direction,
        close: impl Fn(Direction) -> bool,
        mut write: impl FnMut(u64),
    ) {
        for (turn, first) in self.turned(direction).zip((self.place(node, direction)..).step_by(self.words)) {
            let mut carry = u64::from(close(turn));
            for (word, &ahead) in (1..).zip(&self.turns[first..first + self.words]) {
                let used = if word == self.words { (self.length - 1) % 64 + 1 } else { 64 };
                write((ahead << 1 | carry) & u64::MAX >> (64 - used));
                carry = ahead >> 63;
            }
        }
    }

    /// Nodes of a row.
    fn row(&self) -> usize {
        self.shape.nodes() / self.shape.size(self.shape.dimensions() - 1) as usize
    }

    fn is_busy(&self, ask: &Ask) -> bool {
        if self.registers.busy_ahead(ask.node, ask.direction, ask.channel, ask.hops) > 0 {
            return true;
        }
        let Some(turn) = ask.turn else { return false };
        let bit = ask.hops as usize - 1;
        self.turned(ask.direction).position(|direction| direction == turn).is_some_and(|other| {
            let first = self.place(ask.node, ask.direction) + other * self.words;
            bit < self.length && self.turns[first + bit / 64] >> (bit % 64) & 1 == 1
        })
    }
}

/// The nodes ahead of some whole rows of a network.
fn ahead(shape: &Shape, nodes: Range<usize>) -> Vec<u32> {
    let (all, row) = (shape.nodes(), shape.nodes() / shape.size(shape.dimensions() - 1) as usize);
    let link = |node: usize, direction: Direction| {
        let other = match shape.neighbour(node as NodeId, direction) {
            None => return NONE,
            Some(other) => other as usize,
        };
        let other = match direction.sign() {
            _ if nodes.contains(&other) => other - nodes.start,
            Sign::Minus => nodes.len() + (other + row + all - nodes.start) % all,
            Sign::Plus => nodes.len() + row + (other + all - nodes.end % all) % all,
        };
        other as u32
    };
    let directions = || (0..shape.directions()).map(Direction::from_index);
    nodes
        .clone()
        .flat_map(|node| directions().map(move |direction| (node, direction)))
        .map(|(node, direction)| link(node, direction))
        .collect()
}

impl AtWork for PathTurnState {
    const ASKS_THE_WAY: bool = true;

    fn observe(&mut self, _cycle: u64, _sums: Sums, seen: &impl Seen) {
        let (mut next, mut close) = (std::mem::take(&mut self.next), std::mem::take(&mut self.close));
        let (nodes, directions) = (self.nodes.len(), self.shape.directions());
        let (row, size) = (self.row(), self.of_direction());
        let all = || (0..directions).map(Direction::from_index);
        close.clear();
        for node in 0..nodes as NodeId {
            close.extend(all().map(|direction| self.is_close(node, direction)));
        }
        for (link, &ahead) in self.ahead.iter().enumerate() {
            let ahead = match ahead {
                NONE => continue,
                ahead => ahead as usize,
            };
            let mut to = next[link * size..(link + 1) * size].iter_mut();
            let mut write = |word| {
                if let Some(to) = to.next() {
                    *to = word;
                }
            };
            if let Some(other) = ahead.checked_sub(nodes) {
                let told = self.told[other / row].get(other % row * size..).unwrap_or_default();
                (0..size).for_each(|word| write(told.get(word).copied().unwrap_or(0)));
            } else {
                let direction = Direction::from_index(link % directions);
                let close = |turn: Direction| close[ahead * directions + turn.index()];
                self.further(ahead as NodeId, direction, close, write);
            }
        }
        (self.next, self.close) = (std::mem::replace(&mut self.turns, next), close);
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

    fn part(&self, nodes: Range<usize>) -> Self {
        let ahead = ahead(&self.shape, nodes.clone());
        let turns = self.turns[nodes.start * self.of_node()..nodes.end * self.of_node()].to_vec();
        Self {
            registers: self.registers.part(nodes.clone()),
            shape: self.shape.clone(),
            nodes,
            next: turns.clone(),
            turns,
            ahead,
            told: [Vec::new(), Vec::new()],
            close: Vec::new(),
            ..*self
        }
    }

    fn tell(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
        self.registers.tell(direction, first, row, words);
        for node in first..first + row {
            let node = node as NodeId;
            self.further(node, direction, |turn| self.is_close(node, turn), |word| words.push(word));
        }
    }

    fn listen(&mut self, side: usize, words: &[u64]) {
        let turns = words.len().saturating_sub(self.row() * self.of_direction());
        let (registers, turns) = words.split_at(turns);
        self.registers.listen(side, registers);
        self.told[side].clear();
        self.told[side].extend_from_slice(turns);
    }

    fn copy_nodes(&mut self, to: usize, other: &Self, from: usize, nodes: usize) {
        let own = self.of_node();
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
            ahead: _,
            told: _,
            close: _,
        } = self;
        registers.fields(archive)?;
        archive.slice("turn registers", turns)
    }
}
