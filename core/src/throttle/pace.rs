use super::{
    Ask, Claims, Parameter, Seen, Surroundings,
    rule::{AtWork, Rule, number},
};
use crate::{
    fabric::NodeId,
    visit::{Visited, Visitor},
};
use std::ops::Range;

/// A node begins a packet every so many cycles at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// Cycles from one grant to the next.
    pub interval: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { interval: 64 }
    }
}

impl Rule for Pace {
    const NAME: &'static str = "pace";
    const SUMMARY: &'static str = "a node begins a packet every so many cycles at most";
    const PARAMETERS: &'static [Parameter] = &[Parameter::new("interval", "a number of cycles, 1 to 2^40")];
    type AtWork = PaceState;

    fn set(&mut self, _interval: &str, value: &str) -> Option<()> {
        self.interval = number(value, 1, 1 << 40)?;
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![Some(self.interval.to_string())]
    }

    fn claims(self) -> Claims {
        Claims { signals: false, sums: false, may_starve: false }
    }

    fn begin(self, around: Surroundings) -> PaceState {
        PaceState { interval: self.interval, next: vec![0; around.shape.nodes()] }
    }
}

/// [`Pace`] in a network.
#[derive(Clone, Debug)]
pub struct PaceState {
    interval: u64,
    /// Per node: the first cycle in which a packet may begin.
    next: Vec<u64>,
}

impl PaceState {
    /// Per node: the first cycle in which a packet may begin.
    pub(crate) fn next(&self) -> &[u64] {
        &self.next
    }
}

impl AtWork for PaceState {
    fn may_begin(&self, cycle: u64, ask: &Ask, _seen: &impl Seen) -> bool {
        cycle >= self.next[ask.node as usize]
    }

    fn granted(&mut self, cycle: u64, node: NodeId) {
        self.next[node as usize] = cycle + self.interval;
    }

    fn part(&self, nodes: Range<usize>) -> Self {
        Self { interval: self.interval, next: self.next[nodes].to_vec() }
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { interval: _, next } = self;
        visitor.numbers("next starts of nodes", next)
    }
}
