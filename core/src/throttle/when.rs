use super::{
    Ask, Claims, Parameter, Seen, Sums, Surroundings,
    expression::Expression,
    rule::{AtWork, Rule},
};
use crate::{
    fabric::{Direction, NodeId},
    visit::{Visited, Visitor},
};
use std::ops::Range;

macro_rules! variables {
    ($first:ident: $first_doc:literal, $($name:ident: $doc:literal,)+) => {
        /// What an expression may use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "they are called so in expressions")]
        enum Variable {
            #[doc = $first_doc]
            $first,
            $(#[doc = $doc] $name,)+
        }

        impl Variable {
            const ALL: &'static [Self] = &[Self::$first, $(Self::$name,)+];
            const NAMES: &'static [&'static str] = &[stringify!($first), $(stringify!($name),)+];
        }

        /// What an expression must be.
        const NEEDED: &str = concat!(
            "an expression of at most 40 names, numbers and operators, such as free >= 4 and not owned; names are ",
            stringify!($first), $(", ", stringify!($name),)+
        );

        /// What may be used in the expression of [`When`], and what it is.
        pub const VARIABLES: &[(&str, &str)] = &[(stringify!($first), $first_doc), $((stringify!($name), $doc),)+];
    };
}

variables! {
    free: "free places of the queue behind the output channel of the first hop, in flits",
    empty: "1 if that queue is empty and nothing is on its way to it",
    owned: "1 if that output channel has an owner",
    idle_channels: "output channels in the direction of the first hop without an owner and with an empty queue behind",
    idle_outputs: "the same of all links of the node",
    outputs: "output channels of all links of the node",
    room: "free places of the queues behind all links of the node, in flits",
    hops: "hops in the first direction",
    turns: "1 if the packet turns into another direction after them",
    waited: "cycles that the packet has been at the front",
    since_granted: "cycles since the node's last packet was granted its first output channel; 1000000 before",
    cycle: "the number of the cycle",
    node: "the number of the node",
    nodes: "nodes of the network",
    channels: "channels per link",
    buffer: "depth of the queues behind links, in flits",
    in_flight: "packets in flight in the whole network",
    ejected: "flits ejected in the whole network so far",
}

/// A header may leave while an expression over the state of its router is not zero. Expressions have the syntax of
/// Python: numbers, [`VARIABLES`], `or`, `and`, `not`, comparisons, `+ - * // %` and parentheses.
///
/// ```
/// use flitloom_core::throttle::Throttle;
/// let throttle: Throttle = "when:free >= 4 and(waited>9 or not owned)".parse()?;
/// assert_eq!(throttle.to_string(), "when:free >= 4 and (waited > 9 or not owned)");
/// assert!(throttle.claims().may_starve && !throttle.claims().sums);
/// # Ok::<(), flitloom_core::throttle::ThrottleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct When {
    expression: Expression,
}

impl Default for When {
    /// That of [`Alo`](super::Alo).
    fn default() -> Self {
        Self::of("empty and not owned").expect("it is an expression")
    }
}

impl When {
    fn of(text: &str) -> Option<Self> {
        Some(Self { expression: Expression::parse(text, Variable::NAMES)? })
    }

    fn uses(self, variable: Variable) -> bool {
        self.expression.uses(variable as usize)
    }

    /// Whether sums over the whole network count.
    fn asks_for_sums(self) -> bool {
        self.uses(Variable::in_flight) || self.uses(Variable::ejected)
    }
}

/// What a header finds where every queue is full, long after it came.
fn full(variable: Variable) -> i64 {
    match variable {
        Variable::free
        | Variable::empty
        | Variable::idle_channels
        | Variable::idle_outputs
        | Variable::room => 0,
        Variable::owned | Variable::hops | Variable::turns => 1,
        Variable::outputs => 12,
        Variable::channels => 3,
        Variable::buffer => 16,
        Variable::node => 0,
        Variable::nodes => 64,
        Variable::in_flight => 1 << 20,
        Variable::waited | Variable::since_granted | Variable::cycle | Variable::ejected => 1 << 40,
    }
}

impl Rule for When {
    const NAME: &'static str = "when";
    const SUMMARY: &'static str = "headers leave while an expression over the state of their router holds";
    const PARAMETERS: &'static [Parameter] = &[Parameter::text("expression", NEEDED)];
    type AtWork = WhenState;

    fn set(&mut self, _expression: &str, value: &str) -> Option<()> {
        *self = Self::of(value)?;
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![Some(self.expression.text(Variable::NAMES))]
    }

    fn claims(self) -> Claims {
        let at_last = self.expression.value(|place| full(Variable::ALL[place]));
        Claims { signals: false, sums: self.asks_for_sums(), may_starve: at_last == 0 }
    }

    fn begin(self, around: Surroundings) -> WhenState {
        let nodes = around.shape.nodes();
        WhenState {
            rule: self,
            first: 0,
            nodes,
            directions: around.shape.directions(),
            channels: around.rule.channels(),
            buffer: around.buffer,
            sums: Sums::default(),
            granted: vec![u64::MAX; if self.uses(Variable::since_granted) { nodes } else { 0 }],
        }
    }
}

/// [`When`] in a network.
#[derive(Clone, Debug)]
pub struct WhenState {
    rule: When,
    /// The number of the first of its nodes, and of all nodes of the network.
    first: usize,
    nodes: usize,
    directions: usize,
    channels: u8,
    buffer: u16,
    sums: Sums,
    /// Per node, if it matters: the cycle of its last grant, the largest before.
    granted: Vec<u64>,
}

/// `since_granted` of a node that was granted nothing yet.
const LONG_AGO: i64 = 1_000_000;

impl WhenState {
    fn value(&self, variable: Variable, cycle: u64, ask: &Ask, seen: &impl Seen) -> i64 {
        let Ask { node, direction, channel, hops, turn, since } = *ask;
        let is_idle = |direction, channel| {
            seen.free(node, direction, channel).is_some()
                && seen.is_empty(node, direction, channel)
                && !seen.owned(node, direction, channel)
        };
        let idle_of = |direction| (0..self.channels).filter(|&channel| is_idle(direction, channel)).count();
        let directions = || (0..self.directions).map(Direction::from_index);
        let rooms = || {
            let of = move |direction| {
                (0..self.channels).filter_map(move |channel| seen.free(node, direction, channel))
            };
            directions().flat_map(of)
        };
        let found = match variable {
            Variable::free => seen.free(node, direction, channel).unwrap_or(0).into(),
            Variable::empty => seen.is_empty(node, direction, channel).into(),
            Variable::owned => seen.owned(node, direction, channel).into(),
            Variable::idle_channels => idle_of(direction) as u64,
            Variable::idle_outputs => directions().map(idle_of).sum::<usize>() as u64,
            Variable::outputs => rooms().count() as u64,
            Variable::room => rooms().map(u64::from).sum(),
            Variable::hops => hops.into(),
            Variable::turns => turn.is_some().into(),
            Variable::waited => cycle.saturating_sub(since),
            Variable::since_granted => match self.granted[node as usize] {
                u64::MAX => return LONG_AGO,
                granted => cycle.saturating_sub(granted),
            },
            Variable::cycle => cycle,
            Variable::node => u64::from(node) + self.first as u64,
            Variable::nodes => self.nodes as u64,
            Variable::channels => self.channels.into(),
            Variable::buffer => self.buffer.into(),
            Variable::in_flight => self.sums.in_flight,
            Variable::ejected => self.sums.ejected,
        };
        i64::try_from(found).unwrap_or(i64::MAX)
    }
}

impl AtWork for WhenState {
    const ASKS_THE_WAY: bool = true;

    fn observe(&mut self, _cycle: u64, sums: Sums, _seen: &impl Seen) {
        if self.rule.asks_for_sums() {
            self.sums = sums;
        }
    }

    fn may_begin(&self, cycle: u64, ask: &Ask, seen: &impl Seen) -> bool {
        self.rule.expression.value(|place| self.value(Variable::ALL[place], cycle, ask, seen)) != 0
    }

    fn granted(&mut self, cycle: u64, node: NodeId) {
        if let Some(last) = self.granted.get_mut(node as usize) {
            *last = cycle;
        }
    }

    fn part(&self, nodes: Range<usize>) -> Self {
        let granted = self.granted.get(nodes.clone()).map_or_else(Vec::new, <[u64]>::to_vec);
        Self { first: self.first + nodes.start, granted, ..self.clone() }
    }

    fn asks_for_sums(&self, _cycle: u64) -> bool {
        self.rule.asks_for_sums()
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // Sums are taken anew in every cycle.
        let Self { rule: _, first: _, nodes: _, directions: _, channels: _, buffer: _, sums: _, granted } =
            self;
        if granted.is_empty() { Ok(()) } else { visitor.numbers("last grants of nodes", granted) }
    }
}
