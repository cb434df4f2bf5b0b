use super::{
    Claims, Parameter, Surroundings,
    rule::{AtWork, Rule},
};
use crate::{
    fabric::NodeId,
    visit::{Visited, Visitor},
};

/// Slice interlocking: a node takes its packet number k (from 0) from its source only after it has
/// received k packets; one received in a cycle counts from the next (cup-stacking-extended-2023, 7.2,
/// T10). A packet to the node itself is not held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Interlock;

impl Rule for Interlock {
    const NAME: &'static str = "interlock";
    const SUMMARY: &'static str = "a node sends its packet number k only after it has received k packets";
    const PARAMETERS: &'static [Parameter] = &[];
    type AtWork = Received;

    fn set(&mut self, _parameter: &str, _value: &str) -> Option<()> {
        None
    }

    fn values(self) -> Vec<Option<String>> {
        Vec::new()
    }

    fn claims(self) -> Claims {
        Claims { signals: false, sums: false, may_starve: true }
    }

    fn begin(self, _around: Surroundings) -> Received {
        Received::default()
    }
}

/// [`Interlock`] in a network.
///
/// ```
/// use flitloom_core::throttle::{AtWork, Received};
/// let mut received = Received::default();
/// assert!(received.may_take(3, 0) && !received.may_take(3, 1));
/// received.received(3);
/// assert!(received.may_take(3, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Packets received, of nodes up to the last that received any.
    received: Vec<u64>,
}

impl AtWork for Received {
    fn may_take(&self, node: NodeId, number: u64) -> bool {
        number <= self.received.get(node as usize).copied().unwrap_or(0)
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { received } = self;
        if !visitor.divides() {
            return visitor.whole(|archive| archive.list("packets received", received));
        }
        received.resize(visitor.nodes(), 0);
        visitor.numbers("packets received", received)?;
        let known = received.iter().rposition(|&packets| packets > 0).map_or(0, |last| last + 1);
        received.truncate(known);
        Ok(())
    }

    fn received(&mut self, node: NodeId) {
        let needed = self.received.len().max(node as usize + 1);
        self.received.resize(needed, 0);
        self.received[node as usize] += 1;
    }
}
