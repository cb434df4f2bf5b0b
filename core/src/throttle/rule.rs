use super::{Ask, Claims, Seen, Sums, Surroundings};
use crate::{
    fabric::{Direction, NodeId},
    visit::{Visited, Visitor},
};
use std::ops::Range;

/// A throttle with its parameters, each in a file of its own. Its default has those that are not given.
pub trait Rule: Copy + Default {
    /// Its short name.
    const NAME: &'static str;
    /// What it does, in a line.
    const SUMMARY: &'static str;
    /// Its parameters, the first of which may come without its name.
    const PARAMETERS: &'static [Parameter];

    /// What it is in a network.
    type AtWork: AtWork;

    /// Sets a parameter; `None` if it cannot have that value.
    fn set(&mut self, parameter: &str, value: &str) -> Option<()>;

    /// Values in the order of [`PARAMETERS`](Self::PARAMETERS); `None` for one that goes by the network.
    fn values(self) -> Vec<Option<String>>;

    /// What it claims with its parameters.
    fn claims(self) -> Claims;

    /// Its state in an empty network.
    fn begin(self, around: Surroundings) -> Self::AtWork;

    /// Free places up to which a queue is busy, in flits, if it goes by them; buffers must be deeper.
    fn margin(self) -> Option<u16> {
        None
    }
}

/// A parameter of a throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be: "a number of flits, 0 to 1024".
    pub values: &'static str,
    /// Whether it is all that follows the name of the rule, whatever that holds.
    pub is_text: bool,
}

impl Parameter {
    /// A parameter that may be so.
    pub const fn new(name: &'static str, values: &'static str) -> Self {
        Self { name, values, is_text: false }
    }

    /// A parameter that is all that follows the name of its rule.
    pub const fn text(name: &'static str, values: &'static str) -> Self {
        Self { name, values, is_text: true }
    }
}

/// A throttle at work: what it knows in this cycle.
pub trait AtWork: Clone {
    /// Whether it goes by the hops of a header and where it turns ([`Ask::hops`], [`Ask::turn`]).
    const ASKS_THE_WAY: bool = false;

    /// Looks at the network, once per cycle before VC allocation, with every router as it is at the
    /// start of the cycle.
    fn observe(&mut self, _cycle: u64, _sums: Sums, _seen: &impl Seen) {}

    /// Whether a header may be a candidate of VC allocation in this cycle.
    fn may_begin(&self, _cycle: u64, _ask: &Ask, _seen: &impl Seen) -> bool {
        true
    }

    /// Whether headers may begin in this cycle, where that is the same for all of them.
    fn all_may_begin(&self, _cycle: u64) -> Option<bool> {
        None
    }

    /// Whether a node may take its packet of a number (from 0) from its source.
    fn may_take(&self, _node: NodeId, _number: u64) -> bool {
        true
    }

    /// A header was granted its first output in this cycle.
    fn granted(&mut self, _cycle: u64, _node: NodeId) {}

    /// A node received the last flit of a packet.
    fn received(&mut self, _node: NodeId) {}

    /// Whether cycles in which the network is empty may be left out: nothing it knows would change.
    fn at_rest(&self) -> bool {
        true
    }

    /// What it knows of some of the nodes, whole rows, which are numbered from 0.
    fn part(&self, _nodes: Range<usize>) -> Self {
        self.clone()
    }

    /// What a row of nodes, from `first` on, tells the row of another part that is a hop against a direction.
    fn send_halo(&self, _direction: Direction, _first: usize, _row: usize, _words: &mut Vec<u64>) {}

    /// Takes what the row before (0) or behind (1) told, which is in another part.
    fn receive_halo(&mut self, _side: usize, _words: &[u64]) {}

    /// Whether it goes by sums over the whole network in a cycle; in others it does not matter what they are,
    /// but for headers that are held.
    fn asks_for_sums(&self, _cycle: u64) -> bool {
        false
    }

    /// Whether a header was held since it last went by that.
    fn has_held(&self) -> bool {
        false
    }

    /// Shows what it knows to a visitor.
    ///
    /// # Errors
    /// What is restored does not fit.
    fn visit(&mut self, _visitor: &mut impl Visitor) -> Visited {
        Ok(())
    }
}

/// A whole number within bounds.
pub(super) fn number(value: &str, least: u64, most: u64) -> Option<u64> {
    value.parse().ok().filter(|number| (least..=most).contains(number))
}

/// Whether a value is `yes`, which it must be if it is not `no`.
pub(super) fn either(value: &str, yes: &str, no: &str) -> Option<bool> {
    [(yes, true), (no, false)].into_iter().find_map(|(name, is)| (value == name).then_some(is))
}
