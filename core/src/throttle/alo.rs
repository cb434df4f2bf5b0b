use super::{
    Ask, Claims, Parameter, Seen, Surroundings,
    rule::{AtWork, Rule, either},
};

/// "At least one": a useful channel of the packet's direction must be free, that is, have no owner
/// and an empty buffer behind it (Baydal, Lopez and Duato 2005).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alo {
    /// The channel of the first hop is the only useful one (`useful=own`), else all of its direction are
    /// (`any`).
    pub own: bool,
}

impl Default for Alo {
    fn default() -> Self {
        Self { own: true }
    }
}

impl Rule for Alo {
    const NAME: &'static str = "alo";
    const SUMMARY: &'static str = "at least one useful channel must be free";
    const PARAMETERS: &'static [Parameter] = &[Parameter::new("useful", "own or any")];
    type AtWork = AloState;

    fn set(&mut self, _useful: &str, value: &str) -> Option<()> {
        self.own = either(value, "own", "any")?;
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![Some(if self.own { "own" } else { "any" }.to_owned())]
    }

    fn claims(self) -> Claims {
        Claims { signals: false, sums: false, may_starve: true }
    }

    fn begin(self, around: Surroundings) -> AloState {
        AloState { channels: around.rule.channels(), own: self.own }
    }
}

/// [`Alo`] on links of so many channels.
#[derive(Clone, Debug)]
pub struct AloState {
    channels: u8,
    own: bool,
}

impl AloState {
    /// Whether the channel of the first hop is the only useful one.
    pub(crate) fn is_own(&self) -> bool {
        self.own
    }
}

impl AtWork for AloState {
    fn may_begin(&self, _cycle: u64, ask: &Ask, seen: &impl Seen) -> bool {
        let free = |channel| {
            !seen.owned(ask.node, ask.direction, channel) && seen.is_empty(ask.node, ask.direction, channel)
        };
        if self.own { free(ask.channel) } else { (0..self.channels).any(free) }
    }
}
