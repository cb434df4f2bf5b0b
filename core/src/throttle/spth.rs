use super::{Ask, RegisterSettings, Registers, Seen, Surroundings};
use crate::save::{Archive, SaveError};

/// State-propagation throttling (state-propagation-throttling-2015, Section 4).
#[derive(Clone, Debug)]
pub struct Spth {
    registers: Registers,
    own: bool,
}

impl Spth {
    /// The throttle in an empty network; `own` looks at the channel of the first hop alone.
    pub fn new(around: Surroundings, settings: RegisterSettings, own: bool) -> Self {
        Self { registers: Registers::new(around, settings), own }
    }

    /// One cycle further.
    pub fn observe(&mut self, seen: &impl Seen) {
        self.registers.observe(seen);
    }

    /// How its registers are told.
    pub fn settings(&self) -> RegisterSettings {
        self.registers.settings()
    }

    /// Whether it looks at the channel of the first hop alone.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// What it knows, as fields.
    pub(crate) fn fields(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let Self { registers, own: _ } = self;
        registers.fields(archive)
    }

    /// Whether no buffer on the line ahead is known to be busy.
    pub fn may_begin(&self, ask: &Ask) -> bool {
        let busy = |channel| self.registers.any(ask.node, ask.direction, channel);
        if self.own { !busy(ask.channel) } else { !(0..self.registers.channels()).any(busy) }
    }

    /// Whether no register shows anything.
    pub fn at_rest(&self) -> bool {
        self.registers.is_clear()
    }
}
