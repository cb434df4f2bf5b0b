use super::{ChannelRule, Datelines};
use crate::{
    fabric::{Direction, Sign},
    fault::Fault,
    names::UnknownName,
};
use thiserror::Error;

/// How a network keeps the channels of one ring from waiting for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// One channel per link; a packet may only enter a ring that keeps a free slot afterwards (the
    /// bubble rule), so a ring never fills and always drains.
    Bubble,
    /// Virtual channels with nothing else to break cycles.
    Channels {
        /// Virtual channels per link, at least 1.
        count: u8,
        /// Whether a packet moves one channel up at each dateline; otherwise it stays in channel 0.
        datelines: bool,
    },
}

impl Flow {
    /// Virtual channels per link.
    pub const fn channels(self) -> u8 {
        match self {
            Self::Bubble => 1,
            Self::Channels { count, .. } => count,
        }
    }

    /// Which channel a packet uses after a hop.
    pub const fn channel_rule(self) -> ChannelRule {
        match self {
            Self::Channels { count, datelines: true } => ChannelRule::new(count, Datelines::BOTH),
            _ => ChannelRule::new(self.channels(), Datelines::NONE),
        }
    }
}

/// What a router accepts as a route: the rules as data.
///
/// A legal route is an optional first step, then hops in a fixed order of directions, then an
/// optional last step (angara-routing-2021, Section 2.1). Dimension order, the Angara router and
/// a torus with datelines are three values of this type.
///
/// ```
/// use flitloom_core::routing::Rules;
/// let rules = Rules::angara(2);
/// let order: Vec<String> = rules.order().iter().map(ToString::to_string).collect();
/// assert_eq!(order, ["+x", "+y", "-x", "-y"]);
/// assert!(rules.has_steps() && !Rules::dimension_order(2).has_steps());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    name: String,
    order: Vec<Direction>,
    ranks: Vec<u8>,
    direction_bits: bool,
    first_steps: Vec<Direction>,
    last_steps: Vec<Direction>,
    flow: Flow,
    any_walk: bool,
}

/// What can be wrong with rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// The order does not name every direction once.
    Order(usize),
    /// A first or last step along a dimension that does not exist.
    Step(&'static str),
    /// No virtual channel, or more than 16.
    Channels(u8),
    /// No such name.
    Unknown(String),
}

crate::fault::displays_fault!(RulesError);

impl RulesError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Order(directions) => {
                Fault::of("rules.order", format!("must name each of the {directions} directions once"), "")
            }
            Self::Step(steps) => {
                let field = if *steps == "first_steps" { "rules.first_steps" } else { "rules.last_steps" };
                Fault::of(field, "names a direction beyond the dimensions of the shape", "")
            }
            Self::Channels(given) => {
                Fault::of("rules.virtual_channels", format!("is {given}"), "it must be 1 to 16")
            }
            Self::Unknown(name) => {
                let fault = UnknownName::of("rules", "the rules are", name, &Rules::NAMES).fault();
                let more = "or angara-y and the like for angara mirrored along y";
                Fault { advice: format!("{}, {more}", fault.advice), ..fault }
            }
        }
    }
}

/// Which rule of the router a route breaks, and at which hop (from 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A hop goes back in the order of directions.
    #[error("direction order: hop {hop} goes {later} after {earlier}")]
    Order {
        /// The hop that breaks the rule.
        hop: usize,
        /// Direction of the hop before.
        earlier: Direction,
        /// Its own direction.
        later: Direction,
    },
    /// Both signs of one dimension.
    #[error("direction bits: hop {hop} goes {later} although an earlier hop went the other way")]
    DirectionBits {
        /// The hop that breaks the rule.
        hop: usize,
        /// Its direction.
        later: Direction,
    },
}

impl Rules {
    /// Names accepted by [`Rules::named`].
    pub const NAMES: [&'static str; 4] = ["angara", "dimension-order", "dateline", "unrestricted"];

    /// Rules from their parts.
    ///
    /// # Errors
    /// The order is not a permutation of the directions, a step does not exist, or the number of
    /// virtual channels is out of range.
    pub fn new(
        name: &str,
        order: Vec<Direction>,
        direction_bits: bool,
        first_steps: Vec<Direction>,
        last_steps: Vec<Direction>,
        flow: Flow,
    ) -> Result<Self, RulesError> {
        let mut ranks = vec![u8::MAX; order.len()];
        for (rank, direction) in order.iter().enumerate() {
            match ranks.get_mut(direction.index()) {
                Some(entry) if *entry == u8::MAX => *entry = rank as u8,
                _ => return Err(RulesError::Order(order.len())),
            }
        }
        if order.is_empty() || !order.len().is_multiple_of(2) {
            return Err(RulesError::Order(order.len()));
        }
        for (field, steps) in [("first_steps", &first_steps), ("last_steps", &last_steps)] {
            if steps.iter().any(|step| step.index() >= ranks.len()) {
                return Err(RulesError::Step(field));
            }
        }
        if !(1..=16).contains(&flow.channels()) {
            return Err(RulesError::Channels(flow.channels()));
        }
        let (name, any_walk) = (name.to_owned(), false);
        Ok(Self { name, order, ranks, direction_bits, first_steps, last_steps, flow, any_walk })
    }

    /// The same rules, if so asked without any rule about walks: a check accepts whatever the links allow
    /// and asks only for freedom from deadlock, while generators keep to the order.
    #[must_use]
    pub fn with_any_walk(mut self, any_walk: bool) -> Self {
        self.any_walk = any_walk;
        self
    }

    /// The Angara router: all positive directions, then all negative ones, direction bits, a
    /// positive first and a negative last step, bubble rule (angara-routing-2021, Section 2.1).
    pub fn angara(dimensions: usize) -> Self {
        let along = |sign| (0..dimensions).map(move |dimension| Direction::new(dimension, sign));
        let order: Vec<_> = along(Sign::Plus).chain(along(Sign::Minus)).collect();
        Self::built("angara", order, along(Sign::Plus).collect(), along(Sign::Minus).collect(), Flow::Bubble)
    }

    /// Plain dimension order, x first, with the bubble rule.
    pub fn dimension_order(dimensions: usize) -> Self {
        let order = (0..2 * dimensions).map(Direction::from_index).collect();
        Self::built("dimension-order", order, Vec::new(), Vec::new(), Flow::Bubble)
    }

    /// Dimension order on virtual channels, one higher at each dateline
    /// ([`Datelines::BOTH`]); `dimensions + 1` of them always suffice.
    pub fn dateline(dimensions: usize) -> Self {
        let flow = Flow::Channels { count: dimensions as u8 + 1, datelines: true };
        let order = (0..2 * dimensions).map(Direction::from_index).collect();
        Self::built("dateline", order, Vec::new(), Vec::new(), flow)
    }

    /// The rules of a name; `unrestricted` is dimension order for generators, but a check accepts
    /// any walk and asks only for an acyclic dependency graph without the bubble rule. `angara-y` is
    /// `angara` [mirrored](Self::mirrored) along y, and so on.
    ///
    /// # Errors
    /// No such name.
    pub fn named(name: &str, dimensions: usize) -> Result<Self, RulesError> {
        match name {
            "angara" => Ok(Self::angara(dimensions)),
            "dimension-order" => Ok(Self::dimension_order(dimensions)),
            "dateline" => Ok(Self::dateline(dimensions)),
            "unrestricted" => {
                let order = (0..2 * dimensions).map(Direction::from_index).collect();
                let flow = Flow::Channels { count: 1, datelines: false };
                Ok(Self::built(name, order, Vec::new(), Vec::new(), flow).with_any_walk(true))
            }
            _ => Self::mirrored_name(name, dimensions).ok_or_else(|| RulesError::Unknown(name.to_owned())),
        }
    }

    fn mirrored_name(name: &str, dimensions: usize) -> Option<Self> {
        let letters: Vec<char> = name.strip_prefix("angara-")?.chars().collect();
        let letter = |dimension| Direction::new(dimension, Sign::Plus).axis();
        let along: Vec<usize> =
            (0..dimensions).filter(|&dimension| letters.contains(&letter(dimension))).collect();
        // Each letter once, in their order.
        let known = along.iter().map(|&dimension| letter(dimension)).eq(letters.iter().copied());
        (known && !along.is_empty()).then(|| Self::angara(dimensions).mirrored(&along))
    }

    /// The same rules with the two ways along some dimensions exchanged: those of a machine whose
    /// coordinates along these dimensions are counted from the other end.
    ///
    /// ```
    /// use flitloom_core::routing::Rules;
    /// let rules = Rules::angara(2).mirrored(&[1]);
    /// let order: Vec<String> = rules.order().iter().map(ToString::to_string).collect();
    /// assert_eq!((rules.name(), order), ("angara-y", vec!["+x".into(), "-y".into(), "-x".into(), "+y".into()]));
    /// assert_eq!(Rules::named("angara-y", 2), Ok(rules));
    /// ```
    #[must_use]
    pub fn mirrored(mut self, dimensions: &[usize]) -> Self {
        let along = |direction: &Direction| dimensions.contains(&direction.dimension());
        for direction in self
            .order
            .iter_mut()
            .chain(&mut self.first_steps)
            .chain(&mut self.last_steps)
            .filter(|one| along(one))
        {
            *direction = direction.opposite();
        }
        for (rank, direction) in self.order.iter().enumerate() {
            self.ranks[direction.index()] = rank as u8;
        }
        let letters = dimensions.iter().map(|&dimension| Direction::new(dimension, Sign::Plus).axis());
        self.name = format!("{}-{}", self.name, letters.collect::<String>());
        self
    }

    fn built(
        name: &str,
        order: Vec<Direction>,
        first_steps: Vec<Direction>,
        last_steps: Vec<Direction>,
        flow: Flow,
    ) -> Self {
        let mut ranks = vec![0; order.len()];
        for (rank, direction) in order.iter().enumerate() {
            ranks[direction.index()] = rank as u8;
        }
        let (name, direction_bits, any_walk) = (name.to_owned(), true, false);
        Self { name, order, ranks, direction_bits, first_steps, last_steps, flow, any_walk }
    }

    /// The same rules without first and last steps.
    pub fn without_steps(mut self) -> Self {
        self.first_steps.clear();
        self.last_steps.clear();
        self
    }

    /// Name of the rules.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All directions in the order in which a route may use them.
    pub fn order(&self) -> &[Direction] {
        &self.order
    }

    /// Position of a direction in the order.
    pub fn rank(&self, direction: Direction) -> u8 {
        self.ranks[direction.index()]
    }

    /// Whether the middle of a route keeps to one sign per dimension.
    pub fn direction_bits(&self) -> bool {
        self.direction_bits
    }

    /// Directions a first step may take, whatever comes after it.
    pub fn first_steps(&self) -> &[Direction] {
        &self.first_steps
    }

    /// Directions a last step may take, whatever came before it.
    pub fn last_steps(&self) -> &[Direction] {
        &self.last_steps
    }

    /// Whether there are first or last steps at all.
    pub fn has_steps(&self) -> bool {
        !self.first_steps.is_empty() || !self.last_steps.is_empty()
    }

    /// Whether a check accepts any walk over working links.
    pub fn any_walk(&self) -> bool {
        self.any_walk
    }

    /// How rings are kept from blocking.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// Whether the first half of the order holds one direction of every dimension, as all positive ones
    /// before all negative ones.
    pub fn in_halves(&self) -> bool {
        self.order.iter().all(|&step| self.in_first_half(step) != self.in_first_half(step.opposite()))
    }

    /// Whether a direction comes in the first half of the order.
    pub fn in_first_half(&self, direction: Direction) -> bool {
        usize::from(self.rank(direction)) < self.order.len() / 2
    }

    /// The rule that a walk breaks, if it breaks one.
    ///
    /// A walk is legal if it can be read as first step, middle and last step. Whether its turns are
    /// free of deadlock is the dependency graph's business, not this function's.
    ///
    /// ```
    /// use flitloom_core::{fabric::Direction, routing::Rules};
    /// let [east, north] = [0, 2].map(Direction::from_index);
    /// assert_eq!(Rules::angara(2).violation(&[north, east, east]), None);
    /// let message = Rules::angara(2).violation(&[north, north, east]).unwrap().to_string();
    /// assert_eq!(message, "direction order: hop 2 goes +x after +y");
    /// ```
    pub fn violation(&self, hops: &[Direction]) -> Option<Violation> {
        if self.any_walk {
            return None;
        }
        let plain = self.middle_violation(hops, 0)?;
        let first = hops.first().is_some_and(|step| self.first_steps.contains(step));
        let last = hops.last().is_some_and(|step| self.last_steps.contains(step));
        let end = hops.len() - 1;
        // The reading that gets furthest names the rule.
        let mut found = plain;
        for (start, end) in [(first, false), (false, last), (first, last)]
            .into_iter()
            .filter(|&(first, last)| first || last)
            .map(|(first, last)| (usize::from(first), if last { end } else { end + 1 }))
        {
            match self.middle_violation(&hops[start..end.max(start)], start) {
                None => return None,
                Some(violation) => {
                    if violation.hop() > found.hop() {
                        found = violation;
                    }
                }
            }
        }
        Some(found)
    }

    fn middle_violation(&self, hops: &[Direction], offset: usize) -> Option<Violation> {
        let mut used = 0_u32;
        for (index, &later) in hops.iter().enumerate() {
            let hop = index + offset;
            if self.direction_bits && used & 1 << later.opposite().index() != 0 {
                return Some(Violation::DirectionBits { hop, later });
            }
            if index > 0 && self.rank(hops[index - 1]) > self.rank(later) {
                return Some(Violation::Order { hop, earlier: hops[index - 1], later });
            }
            used |= 1 << later.index();
        }
        None
    }
}

impl Violation {
    /// The hop that breaks the rule.
    pub const fn hop(&self) -> usize {
        match self {
            Self::Order { hop, .. } | Self::DirectionBits { hop, .. } => *hop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(text: &str) -> Vec<Direction> {
        text.split(' ')
            .map(|name| {
                Direction::from_index(
                    ["+x", "-x", "+y", "-y"].iter().position(|known| *known == name).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn steps_relax_only_the_ends() {
        let rules = Rules::angara(2);
        for legal in ["+x +y -x", "+y +x", "+x +x +y -y", "-x -y -x", "+y +x -y -x"] {
            assert_eq!(rules.violation(&walk(legal)), None, "{legal}");
        }
        for illegal in ["+y +y +x", "-y -x +x", "+x +x -x -x", "-x +x +x", "-y -x -x"] {
            assert!(rules.violation(&walk(illegal)).is_some(), "{illegal}");
            assert!(rules.clone().without_steps().violation(&walk(illegal)).is_some(), "{illegal}");
        }
    }

    #[test]
    fn named_rules_have_their_names() {
        for name in Rules::NAMES {
            assert_eq!(Rules::named(name, 3).unwrap().name(), name);
        }
    }

    #[test]
    fn a_name_lifts_no_rule() {
        let order = Rules::dimension_order(2).order().to_vec();
        let rules = Rules::new("unrestricted", order, true, vec![], vec![], Flow::Bubble).unwrap();
        assert!(rules.violation(&walk("+y +x")).is_some());
        assert_eq!(rules.with_any_walk(true).violation(&walk("+y +x")), None);
    }

    #[test]
    fn damaged_rules_are_refused() {
        let east = Direction::new(0, Sign::Plus);
        let make = |order, flow| Rules::new("x", order, true, vec![], vec![], flow);
        assert_eq!(make(vec![east, east], Flow::Bubble), Err(RulesError::Order(2)));
        let none = Flow::Channels { count: 0, datelines: false };
        assert_eq!(make(vec![east, east.opposite()], none), Err(RulesError::Channels(0)));
        assert!(matches!(Rules::named("best", 2), Err(RulesError::Unknown(_))));
    }
}
