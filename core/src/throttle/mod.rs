//! Who must wait before injecting, and what it knows when it decides.
//!
//! A throttle acts on the header at the front of a processor queue only: a held header is no candidate
//! of queue selection in this cycle. Through traffic is never held, nor a packet that was granted.

mod alo;
mod global;
mod interlock;
mod pacing;
mod path_turn;
mod registers;
mod spth;

pub use alo::Alo;
pub use global::Global;
pub use interlock::Interlock;
pub use pacing::Pacing;
pub use path_turn::PathTurn;
pub use registers::{Following, RegisterSettings, Registers};
pub use spth::Spth;

use crate::{
    fabric::{Direction, NodeId, Shape},
    routing::ChannelRule,
    save::{Archive, SaveError},
};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// A throttle with its parameters.
///
/// ```
/// use flitloom_core::throttle::Throttle;
/// let throttle: Throttle = "spth:margin=8".parse()?;
/// assert_eq!(throttle, Throttle::Spth { margin: 8, length: None, own: false, shared: false });
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
    /// `interlock`: a node sends its packet number k (from 0) only after it has received k packets
    /// (cup-stacking-extended-2023, 7.2, T10).
    Interlock,
    /// `spth`: state-propagation throttling: no header leaves while a buffer on the line ahead is busy
    /// (state-propagation-throttling-2015).
    Spth {
        /// A queue with at most so many free places is busy, in flits.
        margin: u16,
        /// Hops looked ahead; half the largest size without a value.
        length: Option<u16>,
        /// Only the channel of the packet's first hop is looked at (`watch=own`), else all (`any`).
        own: bool,
        /// One update per link and cycle (`link=shared`), else one per channel (`dedicated`).
        shared: bool,
    },
    /// `alo`: at least one of the useful channels must be free (Baydal, Lopez and Duato 2005).
    Alo {
        /// The channel of the first hop is the only useful one (`useful=own`), else all of its
        /// direction are (`any`).
        own: bool,
    },
    /// `pace`: a node begins a packet every so many cycles at most.
    Pace {
        /// Cycles from one grant to the next.
        interval: u64,
    },
    /// `global`: nobody begins while as many packets are in flight in the whole network (after
    /// Thottethodi, Lebeck and Mukherjee 2001).
    Global {
        /// Packets in flight; tuned at run time without a value.
        threshold: Option<u64>,
    },
    /// `pt`: path and turn: no header leaves while a buffer of its own way is busy, as far as its turn
    /// and just behind it.
    PathTurn {
        /// A packet is never held longer, in cycles; packet length times the largest size without a
        /// value.
        release: Option<u64>,
    },
}

/// What is wrong with a throttle's text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ThrottleError {
    /// No such throttle.
    #[error("unknown throttle {0:?}; the throttles are {names}", names = Throttle::NAMES.join(", "))]
    Unknown(String),
    /// A parameter it does not have.
    #[error("throttle {throttle} has no parameter {given:?}; {known}")]
    Parameter {
        /// Its name.
        throttle: &'static str,
        /// What was given.
        given: String,
        /// What it has.
        known: String,
    },
    /// A parameter with a value it cannot have.
    #[error("throttle {throttle}: {parameter} is {given:?}; {needed}")]
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

/// What a throttle claims of itself; the tests of the list check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// It goes by what other routers tell, one hop per cycle.
    pub signals: bool,
    /// It goes by sums over the whole network.
    pub sums: bool,
    /// It may hold a header for ever while the network is busy enough.
    pub may_starve: bool,
}

/// The network a throttle works in.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Its shape.
    pub shape: &'a Shape,
    /// Its channels and datelines.
    pub rule: ChannelRule,
    /// Depth of its buffers in flits.
    pub buffer: u16,
    /// Flits of its longest packet.
    pub longest: u32,
}

/// What routers see at the start of a cycle.
pub trait Seen {
    /// Free space of the queue behind an output channel in flits, as the flow control knows it; `None`
    /// without a link.
    fn free(&self, node: NodeId, direction: Direction, channel: u8) -> Option<u16>;
    /// Whether that queue is empty, with nothing on its way to it.
    fn is_empty(&self, node: NodeId, direction: Direction, channel: u8) -> bool;
    /// Whether an output channel has an owner.
    fn owned(&self, node: NodeId, direction: Direction, channel: u8) -> bool;
}

/// Sums over the whole network at the start of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets whose header has left its processor queue and whose tail is not ejected.
    pub in_flight: u64,
    /// Flits ejected so far.
    pub ejected: u64,
    /// Whether a header was held since the sums were last taken.
    pub held: bool,
}

/// A header at the front of a processor queue that wants to leave over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its node.
    pub node: NodeId,
    /// Direction of its first hop.
    pub direction: Direction,
    /// Channel of its first hop.
    pub channel: u8,
    /// Hops in that direction.
    pub hops: u32,
    /// Direction it turns into after them.
    pub turn: Option<Direction>,
    /// First cycle in which it was at the front of its queue after the top-up.
    pub since: u64,
}

impl Throttle {
    /// One of each, with the default parameters.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Interlock,
        Self::Spth { margin: 0, length: None, own: false, shared: false },
        Self::Alo { own: true },
        Self::Pace { interval: 64 },
        Self::Global { threshold: None },
        Self::PathTurn { release: None },
    ];

    /// Names in the order of [`ALL`](Self::ALL).
    pub const NAMES: [&'static str; 7] = ["none", "interlock", "spth", "alo", "pace", "global", "pt"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[match self {
            Self::None => 0,
            Self::Interlock => 1,
            Self::Spth { .. } => 2,
            Self::Alo { .. } => 3,
            Self::Pace { .. } => 4,
            Self::Global { .. } => 5,
            Self::PathTurn { .. } => 6,
        }]
    }

    /// What it claims.
    pub fn claims(self) -> Claims {
        let (signals, sums, may_starve) = match self {
            Self::None | Self::Pace { .. } => (false, false, false),
            Self::Interlock | Self::Alo { .. } => (false, false, true),
            Self::Spth { .. } => (true, false, true),
            Self::Global { .. } => (false, true, true),
            Self::PathTurn { .. } => (true, false, false),
        };
        Claims { signals, sums, may_starve }
    }

    /// Its parameters by name, the first one also without.
    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::None | Self::Interlock => &[],
            Self::Spth { .. } => &["margin", "length", "watch", "link"],
            Self::Alo { .. } => &["useful"],
            Self::Pace { .. } => &["interval"],
            Self::Global { .. } => &["threshold"],
            Self::PathTurn { .. } => &["release"],
        }
    }

    /// Sets one parameter; the error says what its value may be.
    fn set(&mut self, parameter: &'static str, value: &str) -> Result<(), &'static str> {
        const FLITS: &str = "it must be a number of flits, 0 to 1024";
        const HOPS: &str = "it must be a number of hops, 1 to 1024";
        const CYCLES: &str = "it must be a number of cycles, 1 to 2^40";
        const PACKETS: &str = "it must be a number of packets, at least 1, or tuned";
        let either = |yes, no, needed| match value {
            _ if value == yes => Ok(true),
            _ if value == no => Ok(false),
            _ => Err(needed),
        };
        let number = |least: u64, most: u64, needed| match value.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(needed),
        };
        match (self, parameter) {
            (Self::Spth { margin, .. }, "margin") => *margin = number(0, 1024, FLITS)? as u16,
            (Self::Spth { length, .. }, "length") => *length = Some(number(1, 1024, HOPS)? as u16),
            (Self::Spth { own, .. }, "watch") => *own = either("own", "any", "it must be own or any")?,
            (Self::Spth { shared, .. }, "link") => {
                *shared = either("shared", "dedicated", "it must be shared or dedicated")?;
            }
            (Self::Alo { own }, _) => *own = either("own", "any", "it must be own or any")?,
            (Self::Pace { interval }, _) => *interval = number(1, 1 << 40, CYCLES)?,
            (Self::Global { threshold }, _) if value == "tuned" => *threshold = None,
            (Self::Global { threshold }, _) => *threshold = Some(number(1, u64::MAX, PACKETS)?),
            (Self::PathTurn { release }, _) => *release = Some(number(1, 1 << 40, CYCLES)?),
            _ => {}
        }
        Ok(())
    }

    /// Its state in an empty network.
    pub fn state(self, around: Surroundings) -> State {
        let half = around.shape.sizes().iter().max().map_or(1, |size| (size / 2).max(1)) as u16;
        let nodes = around.shape.nodes();
        match self {
            Self::None => State::None,
            Self::Interlock => State::Interlock(Interlock::default()),
            Self::Spth { margin, length, own, shared } => {
                let settings = RegisterSettings {
                    margin,
                    length: length.unwrap_or(half),
                    shared,
                    following: Following::Never,
                };
                State::Spth(Spth::new(around, settings, own))
            }
            Self::Alo { own } => State::Alo(Alo::new(around.rule.channels(), own)),
            Self::Pace { interval } => State::Pace(Pacing::new(nodes, interval)),
            Self::Global { threshold } => State::Global(Global::new(around, threshold)),
            Self::PathTurn { release } => {
                let largest = u64::from(around.shape.sizes().iter().copied().max().unwrap_or(1));
                let release = release.unwrap_or(u64::from(around.longest) * largest);
                let margin = u32::from(around.buffer).saturating_sub(around.longest) as u16;
                let settings =
                    RegisterSettings { margin, length: half, shared: false, following: Following::Datelines };
                State::PathTurn(PathTurn::new(around, settings, release))
            }
        }
    }
}

impl FromStr for Throttle {
    type Err = ThrottleError;

    fn from_str(text: &str) -> Result<Self, ThrottleError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let found = Self::ALL.into_iter().find(|throttle| throttle.name() == name);
        let mut throttle = found.ok_or_else(|| ThrottleError::Unknown(name.to_owned()))?;
        let known = throttle.parameters();
        for (place, part) in rest.split(',').enumerate().filter(|(_, part)| !part.is_empty()) {
            let (given, value) = match part.split_once('=') {
                Some((given, value)) => (given, value),
                None => (if place == 0 { known.first().copied().unwrap_or(part) } else { part }, part),
            };
            let Some(&parameter) = known.iter().find(|&&parameter| parameter == given) else {
                let known = match known {
                    [] => "it has none".to_owned(),
                    _ => format!("it has {}", known.join(", ")),
                };
                let (throttle, given) = (throttle.name(), given.to_owned());
                return Err(ThrottleError::Parameter { throttle, given, known });
            };
            throttle.set(parameter, value).map_err(|needed| ThrottleError::Value {
                throttle: throttle.name(),
                parameter,
                given: value.to_owned(),
                needed,
            })?;
        }
        Ok(throttle)
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = |yes: bool, a: &'static str, b: &'static str| if yes { a } else { b };
        match *self {
            Self::None | Self::Interlock => out.write_str(self.name()),
            Self::Spth { margin, length, own, shared } => {
                write!(out, "spth:margin={margin}")?;
                if let Some(length) = length {
                    write!(out, ",length={length}")?;
                }
                write!(out, ",watch={}", which(own, "own", "any"))?;
                write!(out, ",link={}", which(shared, "shared", "dedicated"))
            }
            Self::Alo { own } => write!(out, "alo:useful={}", which(own, "own", "any")),
            Self::Pace { interval } => write!(out, "pace:interval={interval}"),
            Self::Global { threshold: Some(threshold) } => write!(out, "global:threshold={threshold}"),
            Self::Global { threshold: None } => out.write_str("global:threshold=tuned"),
            Self::PathTurn { release: Some(release) } => write!(out, "pt:release={release}"),
            Self::PathTurn { release: None } => out.write_str("pt"),
        }
    }
}

/// A throttle at work: what it knows in this cycle.
#[derive(Clone, Debug)]
pub enum State {
    /// [`Throttle::None`].
    None,
    /// [`Throttle::Interlock`].
    Interlock(Interlock),
    /// [`Throttle::Spth`].
    Spth(Spth),
    /// [`Throttle::Alo`].
    Alo(Alo),
    /// [`Throttle::Pace`].
    Pace(Pacing),
    /// [`Throttle::Global`].
    Global(Global),
    /// [`Throttle::PathTurn`].
    PathTurn(PathTurn),
}

impl State {
    /// Looks at the network, once per cycle before queue selection, with every router as it is at the
    /// start of the cycle.
    pub fn observe(&mut self, cycle: u64, sums: Sums, seen: &impl Seen) {
        match self {
            Self::None | Self::Interlock(_) | Self::Alo(_) | Self::Pace(_) => {}
            Self::Spth(spth) => spth.observe(seen),
            Self::Global(global) => global.observe(cycle, sums),
            Self::PathTurn(path_turn) => path_turn.observe(seen),
        }
    }

    /// Whether a header may be a candidate of queue selection in this cycle.
    pub fn may_begin(&self, cycle: u64, ask: &Ask, seen: &impl Seen) -> bool {
        match self {
            Self::None | Self::Interlock(_) => true,
            Self::Spth(spth) => spth.may_begin(ask),
            Self::Alo(alo) => alo.may_begin(ask, seen),
            Self::Pace(pacing) => pacing.may_begin(cycle, ask.node),
            Self::Global(global) => global.may_begin(cycle),
            Self::PathTurn(path_turn) => path_turn.may_begin(cycle, ask),
        }
    }

    /// Whether it goes by the hops of a header and where it turns ([`Ask::hops`], [`Ask::turn`]).
    pub fn asks_the_way(&self) -> bool {
        matches!(self, Self::PathTurn(_))
    }

    /// Whether a node may take its packet of a number (from 0) from its source.
    pub fn may_take(&self, node: NodeId, number: u64) -> bool {
        match self {
            Self::Interlock(interlock) => interlock.may_take(node, number),
            _ => true,
        }
    }

    /// A header was granted its first output in this cycle.
    pub fn granted(&mut self, cycle: u64, node: NodeId) {
        if let Self::Pace(pacing) = self {
            pacing.granted(cycle, node);
        }
    }

    /// A node received the last flit of a packet.
    pub fn received(&mut self, node: NodeId) {
        if let Self::Interlock(interlock) = self {
            interlock.count(node);
        }
    }

    /// What it knows, as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        match self {
            Self::None | Self::Alo(_) => Ok(()),
            Self::Interlock(interlock) => interlock.fields(archive),
            Self::Spth(spth) => spth.fields(archive),
            Self::Pace(pacing) => pacing.fields(archive),
            Self::Global(global) => global.fields(archive),
            Self::PathTurn(path_turn) => path_turn.fields(archive),
        }
    }

    /// Whether cycles in which the network is empty may be left out: nothing it knows would change.
    pub fn at_rest(&self) -> bool {
        match self {
            Self::None | Self::Interlock(_) | Self::Alo(_) | Self::Pace(_) => true,
            Self::Spth(spth) => spth.at_rest(),
            Self::Global(global) => global.at_rest(),
            Self::PathTurn(path_turn) => path_turn.at_rest(),
        }
    }
}
