//! The closed list of throttles.

use super::{Ask, AtWork, Claims, Parameter, Rule, Seen, Sums, Surroundings};
use crate::{
    fabric::{Direction, NodeId},
    fault::Fault,
    names::UnknownName,
    visit::{Visited, Visitor},
};
use std::{fmt, ops::Range, str::FromStr};

/// What is wrong with a throttle's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrottleError {
    /// No such throttle.
    Unknown(String),
    /// A parameter it does not have.
    Parameter {
        /// Its name.
        throttle: &'static str,
        /// What was given.
        given: String,
        /// What it has.
        known: String,
    },
    /// A parameter with a value it cannot have.
    Value {
        /// Its name.
        throttle: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// What was given.
        given: String,
        /// What it may be.
        needed: &'static str,
    },
}

crate::fault::displays_fault!(ThrottleError);

impl ThrottleError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Unknown(name) => {
                UnknownName::of("throttle", "the throttles are", name, Throttle::NAMES).fault()
            }
            Self::Parameter { throttle, given, known } => {
                Fault::somewhere(format!("throttle {throttle} has no parameter {given:?}"), known)
            }
            Self::Value { throttle, parameter, given, needed } => Fault::somewhere(
                format!("throttle {throttle}: {parameter} is {given:?}"),
                format!("it must be {needed}"),
            ),
        }
    }
}

macro_rules! throttles {
    ($($(#[cfg($condition:meta)])? $module:ident::$name:ident: $doc:literal,)+) => {
        /// A throttle with its parameters.
        ///
        /// ```
        /// use flitloom_core::throttle::{Spth, Throttle};
        /// let throttle: Throttle = "spth:margin=8".parse()?;
        /// assert_eq!(throttle, Spth { margin: 8, length: None, own: false, shared: false }.into());
        /// assert_eq!("spth:8".parse(), Ok(throttle));
        /// let error = "spth:depth=8".parse::<Throttle>().unwrap_err().to_string();
        /// assert!(error.contains("margin, length, watch, link"), "{error}");
        /// # Ok::<(), flitloom_core::throttle::ThrottleError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
        pub enum Throttle {
            /// `none`: nobody waits.
            #[default]
            None,
            $(#[doc = $doc] $(#[cfg($condition)])? $name(super::$module::$name),)+
        }

        impl Throttle {
            /// Names in the order of [`all`](Self::all).
            pub const NAMES: &'static [&'static str] =
                &["none", $($(#[cfg($condition)])? super::$module::$name::NAME,)+];

            /// One of each, with the default parameters.
            pub fn all() -> Vec<Self> {
                vec![Self::None, $($(#[cfg($condition)])? super::$module::$name::default().into(),)+]
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "none",
                    $($(#[cfg($condition)])? Self::$name(_) => super::$module::$name::NAME,)+
                }
            }

            /// What it does, in a line.
            pub fn summary(self) -> &'static str {
                match self {
                    Self::None => "nobody waits",
                    $($(#[cfg($condition)])? Self::$name(_) => super::$module::$name::SUMMARY,)+
                }
            }

            /// What it claims.
            pub fn claims(self) -> Claims {
                match self {
                    Self::None => Claims::default(),
                    $($(#[cfg($condition)])? Self::$name(rule) => rule.claims(),)+
                }
            }

            /// Its parameters, the first of which may come without its name.
            pub fn parameters(self) -> &'static [Parameter] {
                match self {
                    Self::None => &[],
                    $($(#[cfg($condition)])? Self::$name(_) => super::$module::$name::PARAMETERS,)+
                }
            }

            /// Free places up to which a queue is busy, in flits, if it goes by them; buffers must be
            /// deeper.
            pub fn margin(self) -> Option<u16> {
                match self {
                    Self::None => None,
                    $($(#[cfg($condition)])? Self::$name(rule) => rule.margin(),)+
                }
            }

            fn set(&mut self, parameter: &str, value: &str) -> Option<()> {
                match self {
                    Self::None => None,
                    $($(#[cfg($condition)])? Self::$name(rule) => rule.set(parameter, value),)+
                }
            }

            fn values(self) -> Vec<Option<String>> {
                match self {
                    Self::None => Vec::new(),
                    $($(#[cfg($condition)])? Self::$name(rule) => rule.values(),)+
                }
            }

            /// Its state in an empty network.
            pub fn state(self, around: Surroundings) -> State {
                match self {
                    Self::None => State::None,
                    $($(#[cfg($condition)])? Self::$name(rule) => State::$name(rule.begin(around)),)+
                }
            }
        }

        $($(#[cfg($condition)])? impl From<super::$module::$name> for Throttle {
            fn from(rule: super::$module::$name) -> Self {
                Self::$name(rule)
            }
        })+

        /// A throttle at work: what it knows in this cycle.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "a simulation has one, and looks at it every cycle")]
        pub enum State {
            /// [`Throttle::None`].
            None,
            $(#[doc = $doc] $(#[cfg($condition)])? $name(<super::$module::$name as Rule>::AtWork),)+
        }

        impl State {
            /// Looks at the network, once per cycle before VC allocation, with every router as it is at
            /// the start of the cycle.
            pub fn observe(&mut self, cycle: u64, sums: Sums, seen: &impl Seen) {
                match self {
                    Self::None => {}
                    $($(#[cfg($condition)])? Self::$name(state) => state.observe(cycle, sums, seen),)+
                }
            }

            /// Whether a header may be a candidate of VC allocation in this cycle.
            pub fn may_begin(&self, cycle: u64, ask: &Ask, seen: &impl Seen) -> bool {
                match self {
                    Self::None => true,
                    $($(#[cfg($condition)])? Self::$name(state) => state.may_begin(cycle, ask, seen),)+
                }
            }

            /// Whether it goes by the hops of a header and where it turns ([`Ask::hops`], [`Ask::turn`]).
            pub fn asks_the_way(&self) -> bool {
                match self {
                    Self::None => false,
                    $($(#[cfg($condition)])?
                    Self::$name(_) => <super::$module::$name as Rule>::AtWork::ASKS_THE_WAY,)+
                }
            }

            /// Whether headers may begin in this cycle, where that is the same for all of them.
            pub(crate) fn all_may_begin(&self, cycle: u64) -> Option<bool> {
                match self {
                    Self::None => Some(true),
                    $($(#[cfg($condition)])? Self::$name(state) => state.all_may_begin(cycle),)+
                }
            }

            /// Whether a node may take its packet of a number (from 0) from its source.
            pub fn may_take(&self, node: NodeId, number: u64) -> bool {
                match self {
                    Self::None => true,
                    $($(#[cfg($condition)])? Self::$name(state) => state.may_take(node, number),)+
                }
            }

            /// A header was granted its first output in this cycle.
            pub fn granted(&mut self, cycle: u64, node: NodeId) {
                match self {
                    Self::None => {}
                    $($(#[cfg($condition)])? Self::$name(state) => state.granted(cycle, node),)+
                }
            }

            /// A node received the last flit of a packet.
            pub fn received(&mut self, node: NodeId) {
                match self {
                    Self::None => {}
                    $($(#[cfg($condition)])? Self::$name(state) => state.received(node),)+
                }
            }

            /// What it knows of some of the nodes, which are numbered from 0.
            pub(crate) fn part(&self, nodes: Range<usize>) -> Self {
                match self {
                    Self::None => Self::None,
                    $($(#[cfg($condition)])? Self::$name(state) => Self::$name(state.part(nodes)),)+
                }
            }

            /// What a row of nodes tells that of another part, a hop against a direction.
            pub(crate) fn send_halo(&self, direction: Direction, first: usize, row: usize, words: &mut Vec<u64>) {
                match self {
                    Self::None => {}
                    $($(#[cfg($condition)])? Self::$name(state) => state.send_halo(direction, first, row, words),)+
                }
            }

            /// Takes what the row before (0) or behind (1) told.
            pub(crate) fn receive_halo(&mut self, side: usize, words: &[u64]) {
                match self {
                    Self::None => {}
                    $($(#[cfg($condition)])? Self::$name(state) => state.receive_halo(side, words),)+
                }
            }

            /// Whether it goes by sums over the whole network in a cycle.
            pub(crate) fn asks_for_sums(&self, cycle: u64) -> bool {
                match self {
                    Self::None => false,
                    $($(#[cfg($condition)])? Self::$name(state) => state.asks_for_sums(cycle),)+
                }
            }

            /// Whether a header was held since it last went by that.
            pub(crate) fn has_held(&self) -> bool {
                match self {
                    Self::None => false,
                    $($(#[cfg($condition)])? Self::$name(state) => state.has_held(),)+
                }
            }

            /// Shows what it knows to a visitor.
            pub(crate) fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
                match self {
                    Self::None => Ok(()),
                    $($(#[cfg($condition)])? Self::$name(state) => state.visit(visitor),)+
                }
            }

            /// Whether cycles in which the network is empty may be left out: nothing it knows would
            /// change.
            pub fn at_rest(&self) -> bool {
                match self {
                    Self::None => true,
                    $($(#[cfg($condition)])? Self::$name(state) => state.at_rest(),)+
                }
            }
        }
    };
}

throttles! {
    interlock::Interlock: "`interlock`: a node sends its packet number k (from 0) only after it has received \
                           k packets (cup-stacking-extended-2023, 7.2, T10).",
    spth::Spth: "`spth`: state-propagation throttling: no header leaves while a buffer on the line ahead is \
                 busy (state-propagation-throttling-2015).",
    alo::Alo: "`alo`: at least one of the useful channels must be free (Baydal, Lopez and Duato 2005).",
    pace::Pace: "`pace`: a node begins a packet every so many cycles at most.",
    global::Global: "`global`: nobody begins while as many packets are in flight in the whole network (after \
                     Thottethodi, Lebeck and Mukherjee 2001).",
    path_turn::PathTurn: "`pt`: path and turn: no header leaves while a buffer of its own way is busy, as far \
                          as its turn and just behind it.",
    when::When: "`when`: headers leave while an expression over the state of their router holds.",
    #[cfg(test)]
    even_cycles::EvenCycles: "`even`: headers leave in even cycles only.",
}

impl FromStr for Throttle {
    type Err = ThrottleError;

    fn from_str(text: &str) -> Result<Self, ThrottleError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let found = Self::all().into_iter().find(|throttle| throttle.name() == name);
        let mut throttle = found.ok_or_else(|| ThrottleError::Unknown(name.to_owned()))?;
        let known = throttle.parameters();
        if let Some(parameter) = known.first().filter(|parameter| parameter.is_text) {
            throttle.set(parameter.name, rest).ok_or_else(|| throttle.wrong(parameter, rest))?;
            return Ok(throttle);
        }
        for (place, part) in rest.split(',').enumerate().filter(|(_, part)| !part.is_empty()) {
            let (given, value) = match part.split_once('=') {
                Some((given, value)) => (given, value),
                None => (known.first().filter(|_| place == 0).map_or(part, |first| first.name), part),
            };
            let Some(parameter) = known.iter().find(|parameter| parameter.name == given) else {
                let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let (throttle, given) = (throttle.name(), given.to_owned());
                return Err(ThrottleError::Parameter { throttle, given, known: format!("it has {known}") });
            };
            throttle.set(parameter.name, value).ok_or_else(|| throttle.wrong(parameter, value))?;
        }
        Ok(throttle)
    }
}

impl Throttle {
    /// Whether its name alone says what it does; else it is what a text says that follows.
    pub fn stands_alone(self) -> bool {
        self.parameters().iter().all(|parameter| !parameter.is_text)
    }

    fn wrong(self, parameter: &Parameter, given: &str) -> ThrottleError {
        let (throttle, given) = (self.name(), given.to_owned());
        ThrottleError::Value { throttle, parameter: parameter.name, given, needed: parameter.values }
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())?;
        let given = self.parameters().iter().zip(self.values());
        for (place, (parameter, value)) in
            given.filter_map(|(parameter, value)| Some((parameter, value?))).enumerate()
        {
            if parameter.is_text {
                return write!(out, ":{value}");
            }
            write!(out, "{}{}={value}", if place == 0 { ':' } else { ',' }, parameter.name)?;
        }
        Ok(())
    }
}
