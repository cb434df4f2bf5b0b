use super::{
    Ask, Claims, Following, Parameter, RegisterSettings, Registers, Seen, Sums, Surroundings,
    rule::{AtWork, Rule, either, number},
};
use crate::{
    fabric::Direction,
    visit::{Visited, Visitor},
};
use std::ops::Range;

/// State-propagation throttling (state-propagation-throttling-2015, Section 4): no header leaves while a
/// buffer on the line ahead is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Spth {
    /// A queue with at most so many free places is busy, in flits.
    pub margin: u16,
    /// Hops looked ahead; half the largest size without a value.
    pub length: Option<u16>,
    /// Only the channel of the packet's first hop is looked at (`watch=own`), else all (`any`).
    pub own: bool,
    /// One update per link and cycle (`link=shared`), else one per channel (`dedicated`).
    pub shared: bool,
}

impl Rule for Spth {
    const NAME: &'static str = "spth";
    const SUMMARY: &'static str = "no header leaves while a buffer on the line ahead is busy";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::new("margin", "a number of flits, 0 to 1024"),
        Parameter::new("length", "a number of hops, 1 to 1024"),
        Parameter::new("watch", "own or any"),
        Parameter::new("link", "shared or dedicated"),
    ];
    type AtWork = SpthState;

    fn set(&mut self, parameter: &str, value: &str) -> Option<()> {
        match parameter {
            "margin" => self.margin = number(value, 0, 1024)? as u16,
            "length" => self.length = Some(number(value, 1, 1024)? as u16),
            "watch" => self.own = either(value, "own", "any")?,
            _ => self.shared = either(value, "shared", "dedicated")?,
        }
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![
            Some(self.margin.to_string()),
            self.length.map(|length| length.to_string()),
            Some(if self.own { "own" } else { "any" }.to_owned()),
            Some(if self.shared { "shared" } else { "dedicated" }.to_owned()),
        ]
    }

    fn claims(self) -> Claims {
        Claims { signals: true, sums: false, may_starve: true }
    }

    fn begin(self, around: Surroundings) -> SpthState {
        let settings = RegisterSettings {
            margin: self.margin,
            length: self.length.unwrap_or(around.half()),
            shared: self.shared,
            following: Following::Never,
        };
        SpthState { registers: Registers::new(around, settings), own: self.own }
    }

    fn margin(self) -> Option<u16> {
        Some(self.margin)
    }
}

/// [`Spth`] in a network.
#[derive(Clone, Debug)]
pub struct SpthState {
    registers: Registers,
    own: bool,
}

impl SpthState {
    /// How its registers are told.
    pub fn settings(&self) -> RegisterSettings {
        self.registers.settings()
    }

    /// Whether it looks at the channel of the first hop alone.
    pub fn is_own(&self) -> bool {
        self.own
    }
}

impl AtWork for SpthState {
    fn observe(&mut self, _cycle: u64, _sums: Sums, seen: &impl Seen) {
        self.registers.observe(seen);
    }

    /// Whether no buffer on the line ahead is known to be busy.
    fn may_begin(&self, _cycle: u64, ask: &Ask, _seen: &impl Seen) -> bool {
        let busy = |channel| self.registers.any(ask.node, ask.direction, channel);
        if self.own { !busy(ask.channel) } else { !(0..self.registers.channels()).any(busy) }
    }

    /// Whether no register shows anything.
    fn at_rest(&self) -> bool {
        self.registers.is_clear()
    }

    fn part(&self, nodes: Range<usize>) -> Self {
        Self { registers: self.registers.part(nodes), own: self.own }
    }

    fn send_halo(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
        self.registers.send_halo(direction, first, row, words);
    }

    fn receive_halo(&mut self, side: usize, words: &[u64]) {
        self.registers.receive_halo(side, words);
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { registers, own: _ } = self;
        registers.visit(visitor)
    }
}
